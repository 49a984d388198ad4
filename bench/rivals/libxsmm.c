/* libxsmm.c - libxsmm 1.x: kernels that are made at run time for one small product each, which reduce over blocks of k;
 * packing and the loops around them are the caller's, as in its own samples.
 *
 * It is column-major: what it calls A is our B, what it calls B our A. Packed weights: for each panel of COLUMNS
 * columns, for each block of k, [k / group][COLUMNS][group], with group elements of k to 32 bits. A stays where it is. */
#include <libxsmm.h>
#include <stdio.h>
#include <string.h>

#include "bench/rivals/rival.h"
#include "op/element.h"

enum { COLUMNS = 64, BLOCK_MOST = 512, ROWS_MOST = 64 };

static const rival_case *job;
static int64_t block, rows, group, element; /* of k; of a tile; elements in 32 bits; bytes of one */
static libxsmm_xmmfunction kernel;

const char *rival_start(void) {
  libxsmm_init();
  return NULL;
}

/* The largest divisor of n that is a multiple of `step` and at most `most`; 0 if there is none. */
static int64_t part_of(int64_t n, int64_t step, int64_t most) {
  for (int64_t p = most / step * step; p >= step; p -= step)
    if (n % p == 0) return p;
  return 0;
}

static bool dispatch(const tw_gemm *g) {
  const libxsmm_blasint m = COLUMNS, n = (libxsmm_blasint)rows, k = (libxsmm_blasint)block;
  const libxsmm_blasint stride_a = (libxsmm_blasint)(block * COLUMNS * element),
                        stride_b = (libxsmm_blasint)(block * element);
  const libxsmm_blasint lda = COLUMNS, ldb = (libxsmm_blasint)g->k, ldc = (libxsmm_blasint)g->n;
  const float one = 1, zero = 0;
  const int i_one = 1, i_zero = 0, flags = LIBXSMM_GEMM_FLAG_VNNI_A, none = LIBXSMM_GEMM_FLAG_NONE;
  kernel.xmm = NULL;
  if (g->a == TW_F32)
    kernel.smrs =
        libxsmm_smmdispatch_reducebatch_strd(m, n, k, stride_a, stride_b, &lda, &ldb, &ldc, &one, &zero, &none, NULL);
  else if (g->a == TW_BF16)
    kernel.bsmrs =
        libxsmm_bsmmdispatch_reducebatch_strd(m, n, k, stride_a, stride_b, &lda, &ldb, &ldc, &one, &zero, &flags, NULL);
  else if (g->a == TW_U8)
    kernel.subimrs = libxsmm_subimmdispatch_reducebatch_strd(m, n, k, stride_a, stride_b, &lda, &ldb, &ldc, &i_one,
                                                             &i_zero, &flags, NULL);
  else
    kernel.ssbimrs = libxsmm_ssbimmdispatch_reducebatch_strd(m, n, k, stride_a, stride_b, &lda, &ldb, &ldc, &i_one,
                                                             &i_zero, &flags, NULL);
  return kernel.xmm != NULL;
}

const char *rival_open(const rival_case *c, rival_ready *ready) {
  const tw_gemm *g = &c->gemm;
  const bool integers = (g->a == TW_U8 || g->a == TW_I8) && g->b == TW_I8 && g->c == TW_I32;
  if (!integers && !((g->a == TW_F32 || g->a == TW_BF16) && g->b == g->a && g->c == TW_F32))
    return "libxsmm does not know these types";
  if (g->n % COLUMNS) return "n is no multiple of 64";
  job = c;
  element = tw_type_bits(g->b) / 8;
  group = 4 / element;
  block = part_of(g->k, group, BLOCK_MOST);
  rows = part_of(g->m, 1, ROWS_MOST);
  if (!block) return "k is no multiple of 32 bits";
  if (!dispatch(g)) return "libxsmm makes no kernel";
  ready->weight_bytes = (size_t)(g->k * g->n * element);
  ready->output = g->c;
  snprintf(ready->what, sizeof ready->what, "brgemm %s %dx%dx%d", libxsmm_get_target_arch(), (int)rows, COLUMNS,
           (int)block);
  return NULL;
}

void rival_pack(void *packed) {
  const tw_gemm *g = &job->gemm;
  char *to = packed;
  for (int64_t column = 0; column < g->n; column += COLUMNS)
    for (int64_t p = 0; p < g->k; p += group)
      for (int64_t j = column; j < column + COLUMNS; j++)
        for (int64_t q = p; q < p + group; q++, to += element)
          memcpy(to, (const char *)job->b + (q * g->n + j) * element, (size_t)element);
}

void rival_run(const void *packed, void *c) {
  const tw_gemm *g = &job->gemm;
  const unsigned long long blocks = (unsigned long long)(g->k / block);
  const int64_t panels = g->n / COLUMNS, tiles = g->m / rows, all = panels * tiles;
  /* Neighbours share a panel of the weights: each is read from memory once. */
#pragma omp parallel for num_threads(job->threads) schedule(static) if (job->threads > 1)
  for (int64_t t = 0; t < all; t++) {
    const int64_t panel = t / tiles, row = t % tiles * rows;
    const char *b = (const char *)packed + panel * COLUMNS * g->k * element;
    const char *a = (const char *)job->a + row * g->k * element;
    char *to = (char *)c + (row * g->n + panel * COLUMNS) * 4;
    if (g->a == TW_F32)
      kernel.smrs((const float *)(const void *)b, (const float *)(const void *)a, (float *)(void *)to, &blocks);
    else if (g->a == TW_BF16)
      kernel.bsmrs((const libxsmm_bfloat16 *)(const void *)b, (const libxsmm_bfloat16 *)(const void *)a,
                   (float *)(void *)to, &blocks);
    else if (g->a == TW_U8)
      kernel.subimrs(b, (const unsigned char *)a, (int *)(void *)to, &blocks);
    else
      kernel.ssbimrs(b, a, (int *)(void *)to, &blocks);
  }
}

void rival_close(void) {}
