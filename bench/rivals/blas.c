/* blas.c - a BLAS: cblas_sgemm of a shared library, by the name RIVAL_LIBRARY or what the environment variable RIVAL_PATH
 * says. It has no packed weights: B is as it came. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/rivals/rival.h"
#include "target/x86/cpu.h"

typedef void sgemm(int order, int a_transposed, int b_transposed, int m, int n, int k, float alpha, const float *a,
                   int lda, const float *b, int ldb, float beta, float *c, int ldc);
typedef void set_threads(int);

enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111 }; /* the BLAS standard's C interface, appendix B */

static sgemm *multiply;
static set_threads *threads;
static const rival_case *job;

const char *rival_start(void) {
  static char why[300];
  const char *path = getenv(RIVAL_PATH);
  /* A CPU that is younger than the library gets generic kernels (OpenBLAS 0.3.21: 30 GFLOP/s instead of 150) unless it is told
   * which to take. In BLIS kinds of CPU are numbers, and 0 is Skylake-X. */
  if (x86_this_cpu()->has[X86_AVX512]) {
    setenv("BLIS_ARCH_TYPE", "0", 0);
    setenv("OPENBLAS_CORETYPE", "SKYLAKEX", 0);
  }
  void *library = dlopen(path ? path : RIVAL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(why, sizeof why, "%.250s", dlerror());
    return why;
  }
  *(void **)&multiply = dlsym(library, "cblas_sgemm");
  *(void **)&threads = dlsym(library, "openblas_set_num_threads");
  if (!threads) *(void **)&threads = dlsym(library, "bli_thread_set_num_threads");
  return multiply ? NULL : "the library has no cblas_sgemm";
}

const char *rival_open(const rival_case *c, rival_ready *ready) {
  const tw_gemm *g = &c->gemm;
  if (g->a != TW_F32 || g->b != TW_F32 || g->c != TW_F32) return "f32 alone";
  if (threads) threads(c->threads);
  job = c;
  ready->weight_bytes = ((size_t)(g->k * g->n) * sizeof(float) + 63) / 64 * 64;
  ready->output = TW_F32;
  snprintf(ready->what, sizeof ready->what, "sgemm");
  return NULL;
}

void rival_pack(void *packed) { memcpy(packed, job->b, (size_t)(job->gemm.k * job->gemm.n) * sizeof(float)); }

void rival_run(const void *packed, void *c) {
  const tw_gemm *g = &job->gemm;
  const int m = (int)g->m, n = (int)g->n, k = (int)g->k;
  multiply(ROW_MAJOR, NOT_TRANSPOSED, NOT_TRANSPOSED, m, n, k, 1, job->a, k, packed, n, 0, c, n);
}

void rival_close(void) {}
