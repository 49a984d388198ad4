/* bench_blas.c - sgemm of libtilewright-blas beside tw_gemm, which packs B at each call too, and OpenBLAS, turn by turn in one run.
 *
 *   bench_blas [threads=1] [rounds=15] [slice=0.02] [MxNxK[:TT]]...     TT: transposes, N or T for each of A and B
 *
 * A turn is a slice of time and at least two calls; its time is the fastest call's. Numbers are GFLOP/s by the median
 * turn; ratios are medians over rounds of the ratio within a round. Above 1 the library is faster. OpenBLAS is loaded by
 * name, or by the path in TILEWRIGHT_OPENBLAS; the first line names the CPU that its kernels are for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/random.h"
#include "tilewright/gemm.h"

typedef void sgemm_function(const char *, const char *, const int *, const int *, const int *, const float *,
                            const float *, const int *, const float *, const int *, const float *, float *,
                            const int *);
extern sgemm_function sgemm_;

/* Idle threads of one library spin, and would have the cores of the next one: OpenBLAS's for 2^28 cycles. */
enum { PAUSE = 150000000 /* ns */, ROUNDS_MAX = 99, CASES_MAX = 64, CONTESTANTS = 4 };
static const char *const names[CONTESTANTS] = {"blas", "tw_gemm", "packed", "openblas"};
static const float one = 1, zero = 0;

typedef struct shape {
  int m, n, k;
  bool ta, tb;
} shape;

typedef struct contest {
  shape s;
  float *a, *b, *c, *packed;
  tw_gemm_plan *plan;
  sgemm_function *rival;
} contest;

static void call_blas(const contest *x, sgemm_function *f) { /* by columns: the transposed product */
  const shape *s = &x->s;
  const int lda = s->ta ? s->m : s->k, ldb = s->tb ? s->k : s->n;
  f(s->tb ? "T" : "N", s->ta ? "T" : "N", &s->n, &s->m, &s->k, &one, x->b, &ldb, x->a, &lda, &zero, x->c, &s->n);
}

static void call(const contest *x, int who) {
  const tw_gemm_operands o = {.size = sizeof o, .a = x->a, .packed_b = x->packed, .c = x->c};
  switch (who) {
  case 0: call_blas(x, sgemm_); break;
  case 1: tw_gemm_pack(x->plan, x->b, x->packed, NULL); /* fall through */
  case 2: tw_gemm_plan_execute(x->plan, &o, NULL); break;
  default: call_blas(x, x->rival);
  }
}

/* One thread is timed by its processor time, which other programs on the machine do not lengthen. */
static double clock_of(int threads) {
  struct timespec t;
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Calls that take less than the clock's own time are timed several together. */
static double time_turn(const contest *x, int who, int threads, double slice) {
  const double work = 2e-11 * x->s.m * x->s.n * x->s.k; /* seconds at 100 GFLOP/s */
  const int together = work < 2e-5 ? (int)(2e-5 / work) + 1 : 1;
  const double start = clock_of(threads);
  double best = INFINITY;
  for (int turns = 0; turns < 2 || clock_of(threads) - start < slice; turns++) {
    const double begin = clock_of(threads);
    for (int i = 0; i < together; i++) call(x, who);
    best = fmin(best, (clock_of(threads) - begin) / together);
  }
  return best;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *value, int n) {
  qsort(value, (size_t)n, sizeof *value, by_value);
  return value[n / 2];
}

static float *filled(size_t n) {
  float *x = aligned_alloc(64, (n * sizeof *x + 63) / 64 * 64);
  tw_random r;
  tw_random_seed(&r, n);
  for (size_t i = 0; x && i < n; i++) x[i] = (float)tw_random_between(&r, -100, 100) / 100;
  return x;
}

static int measure(const shape *s, int threads, int rounds, double slice, sgemm_function *rival) {
  contest x = {.s = *s, .rival = rival};
  const tw_gemm_spec spec = {.size = sizeof spec,
                             .m = s->m,
                             .n = s->n,
                             .k = s->k,
                             .a_transposed = s->ta,
                             .b_transposed = s->tb,
                             .threads = threads};
  tw_error error;
  if (tw_gemm_plan_create(&spec, &x.plan, &error) != TW_OK) return fprintf(stderr, "bench_blas: %s\n", error.text), 1;
  x.a = filled((size_t)s->m * (size_t)s->k), x.b = filled((size_t)s->k * (size_t)s->n);
  x.c = filled((size_t)s->m * (size_t)s->n);
  void *packed = NULL;
  if (!x.a || !x.b || !x.c || tw_memory_alloc(tw_gemm_packed_bytes(x.plan), &packed, &error) != TW_OK) return 3;
  x.packed = packed;
  static double turn[CONTESTANTS][ROUNDS_MAX];
  const int n = rival ? CONTESTANTS : CONTESTANTS - 1;
  for (int who = 0; who < n; who++) call(&x, who == 2 ? 1 : who);
  for (int round = 0; round < rounds; round++)
    for (int i = 0; i < n; i++) {
      const int who = (i + round) % n;
      nanosleep(&(struct timespec){.tv_nsec = threads == 1 ? 0 : PAUSE}, NULL);
      turn[who][round] = time_turn(&x, who, threads, slice);
    }
  printf("%5dx%5dx%5d %c%c %d", s->m, s->n, s->k, s->ta ? 'T' : 'N', s->tb ? 'T' : 'N', threads);
  for (int who = 0; who < n; who++) {
    double sorted[ROUNDS_MAX];
    memcpy(sorted, turn[who], sizeof sorted);
    printf("  %s %7.1f", names[who], 2e-9 * s->m * s->n * s->k / median(sorted, rounds));
  }
  for (int who = 1; who < n; who++) {
    double ratio[ROUNDS_MAX];
    for (int r = 0; r < rounds; r++) ratio[r] = turn[who][r] / turn[0][r];
    printf("  /%s %.3f", names[who], median(ratio, rounds));
  }
  printf("\n");
  fflush(stdout);
  free(x.a), free(x.b), free(x.c);
  tw_memory_free(packed);
  tw_gemm_plan_destroy(x.plan);
  return 0;
}

static bool parse_shape(const char *word, shape *s) {
  char ta = 'N', tb = 'N';
  const int n = sscanf(word, "%dx%dx%d:%c%c", &s->m, &s->n, &s->k, &ta, &tb);
  s->ta = ta == 'T', s->tb = tb == 'T';
  return (n == 3 || n == 5) && s->m > 0 && s->n > 0 && s->k > 0;
}

/* Both read their variables when they are first called. */
static sgemm_function *load_rival(int threads) {
  char number[16];
  snprintf(number, sizeof number, "%d", threads);
  setenv("TILEWRIGHT_NUM_THREADS", number, 1);
  setenv("OPENBLAS_NUM_THREADS", number, 1);
  const char *path = getenv("TILEWRIGHT_OPENBLAS");
  void *library = dlopen(path ? path : "libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  void *found = library ? dlsym(library, "sgemm_") : NULL;
  if (!found) fprintf(stderr, "bench_blas: without OpenBLAS: %s\n", dlerror());
  char *(*core)(void) = NULL;
  if (found) *(void **)&core = dlsym(library, "openblas_get_corename");
  if (core) printf("OpenBLAS's kernels: %s\n", core());
  return (sgemm_function *)found;
}

int main(int argc, char *argv[]) {
  static const char *const usual[] = {"64x64x64",          "128x128x128",    "256x256x256",       "384x384x384",
                                      "512x512x512",       "768x768x768",    "1024x1024x1024",    "2048x2048x2048",
                                      "256x256x256:NT",    "256x256x256:TN", "1024x1024x1024:NT", "1024x1024x1024:TN",
                                      "1024x1024x1024:TT", "512x4096x4096",  "4096x512x512",      "12544x64x256",
                                      "64x4096x1024",      "16x4096x4096",   "4096x16x4096",      "1x4096x4096",
                                      "4096x1x4096",       "1000x1000x10",   "300x301x302:TT"};
  int threads = 1, rounds = 15, n = 0;
  double slice = 0.02;
  shape shapes[CASES_MAX];
  for (int i = 1; i < argc; i++) {
    if (sscanf(argv[i], "threads=%d", &threads) == 1 || sscanf(argv[i], "rounds=%d", &rounds) == 1 ||
        sscanf(argv[i], "slice=%lf", &slice) == 1)
      continue;
    if (n == CASES_MAX || !parse_shape(argv[i], &shapes[n++]))
      return fprintf(stderr, "usage: bench_blas [threads=N] [rounds=N] [slice=SECONDS] [MxNxK[:TT]]...\n"), 2;
  }
  if (rounds < 1 || rounds > ROUNDS_MAX || threads < 1)
    return fprintf(stderr, "bench_blas: rounds are 1 to %d\n", ROUNDS_MAX), 2;
  for (size_t i = 0; n == 0 && i < sizeof usual / sizeof *usual; i++)
    if (!parse_shape(usual[i], &shapes[i])) return 2;
  if (n == 0) n = (int)(sizeof usual / sizeof *usual);
  sgemm_function *rival = load_rival(threads);
  for (int i = 0; i < n; i++) {
    const int status = measure(&shapes[i], threads, rounds, slice, rival);
    if (status) return status;
  }
  return 0;
}
