/* bench_blas.c - sgemm of libtilewright-blas beside tw_gemm, which packs B at each call too, and OpenBLAS, turn by turn
 * in one run.
 *
 *   bench_blas [threads=1] [rounds=15] [slice=0.02] [alpha=1] [beta=0] [pad=0] [below=R] [sizes=N,...] [MxNxK[:TT]]...
 *
 * TT: transposes, N or T for each of A and B. `pad`: unused elements after each row. `sizes`: every product of these
 * sizes (at most 16), with all transposes, beside OpenBLAS only. `below`: prints only products whose ratio to OpenBLAS
 * is below R; the last line counts all.
 *
 * A turn is a slice of time and at least two calls; its time is the fastest call's. Numbers are GFLOP/s by the median
 * turn; ratios are medians over rounds of the ratio within a round. Above 1 the library is faster. OpenBLAS is loaded
 * by name, or by the path in TILEWRIGHT_OPENBLAS; the first line names the CPU that its kernels are for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
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
enum { PAUSE = 150000000 /* ns */, ROUNDS_MAX = 99, CASES_MAX = 1 << 14, CONTESTANTS = 4 };
static const char *const names[CONTESTANTS] = {"blas", "tw_gemm", "packed", "openblas"};

typedef struct setting {
  int threads, rounds, pad;
  double slice, below;
  float alpha, beta;
  bool alone; /* sgemm and OpenBLAS only */
} setting;

typedef struct shape {
  int m, n, k;
  bool ta, tb;
} shape;

typedef struct contest {
  shape s;
  int lda, ldb, ldc;
  const setting *set;
  float *a, *b, *c, *packed;
  tw_gemm_plan *plan;
  sgemm_function *rival;
} contest;

static void call_blas(const contest *x, sgemm_function *f) { /* by columns: the transposed product */
  const shape *s = &x->s;
  f(s->tb ? "T" : "N", s->ta ? "T" : "N", &s->n, &s->m, &s->k, &x->set->alpha, x->b, &x->ldb, x->a, &x->lda,
    &x->set->beta, x->c, &x->ldc);
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
static double time_turn(const contest *x, int who) {
  const int threads = x->set->threads;
  const double work = 5e-8 + 2e-11 * x->s.m * x->s.n * x->s.k; /* seconds of a call, about 100 GFLOP/s */
  const int together = work < 2e-5 ? (int)(2e-5 / work) + 1 : 1;
  const double start = clock_of(threads);
  double best = INFINITY;
  for (int turns = 0; turns < 2 || clock_of(threads) - start < x->set->slice; turns++) {
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

static int prepare(contest *x) {
  const shape *s = &x->s;
  const setting *set = x->set;
  x->lda = (s->ta ? s->m : s->k) + set->pad, x->ldb = (s->tb ? s->k : s->n) + set->pad, x->ldc = s->n + set->pad;
  x->a = filled((size_t)(s->ta ? s->k : s->m) * (size_t)x->lda);
  x->b = filled((size_t)(s->tb ? s->n : s->k) * (size_t)x->ldb);
  x->c = filled((size_t)s->m * (size_t)x->ldc);
  if (!x->a || !x->b || !x->c) return 3;
  if (set->alone) return 0;
  const tw_gemm_spec spec = {.size = sizeof spec,
                             .m = s->m,
                             .n = s->n,
                             .k = s->k,
                             .a_transposed = s->ta,
                             .b_transposed = s->tb,
                             .lda = x->lda,
                             .ldb = x->ldb,
                             .ldc = x->ldc,
                             .alpha = set->alpha,
                             .beta = set->beta,
                             .threads = set->threads};
  tw_error error;
  void *packed = NULL;
  if (tw_gemm_plan_create(&spec, &x->plan, &error) != TW_OK) return fprintf(stderr, "bench_blas: %s\n", error.text), 1;
  if (tw_memory_alloc(tw_gemm_packed_bytes(x->plan), &packed, &error) != TW_OK) return 3;
  x->packed = packed;
  return 0;
}

static double turn[CONTESTANTS][ROUNDS_MAX];

static void take_turns(const contest *x, const int *list, int n) {
  const setting *set = x->set;
  for (int i = 0; i < n; i++) call(x, list[i] == 2 ? 1 : list[i]);
  for (int round = 0; round < set->rounds; round++)
    for (int i = 0; i < n; i++) {
      const int who = list[(i + round) % n];
      if (set->threads > 1) nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
      turn[who][round] = time_turn(x, who);
    }
}

static double ratio_of(int who, int rounds) {
  double ratio[ROUNDS_MAX];
  for (int r = 0; r < rounds; r++) ratio[r] = turn[who][r] / turn[0][r];
  return median(ratio, rounds);
}

static void print_row(const contest *x, const int *list, int n) {
  const shape *s = &x->s;
  const int rounds = x->set->rounds;
  printf("%5dx%5dx%5d %c%c %d", s->m, s->n, s->k, s->ta ? 'T' : 'N', s->tb ? 'T' : 'N', x->set->threads);
  for (int i = 0; i < n; i++) {
    double sorted[ROUNDS_MAX];
    memcpy(sorted, turn[list[i]], sizeof sorted);
    printf("  %s %7.1f", names[list[i]], 2e-9 * s->m * s->n * s->k / median(sorted, rounds));
  }
  for (int i = 1; i < n; i++) printf("  /%s %.3f", names[list[i]], ratio_of(list[i], rounds));
  printf("\n");
  fflush(stdout);
}

typedef struct tally {
  int rows, below;
  double logs; /* of OpenBLAS's ratios */
} tally;

static int measure(const shape *s, const setting *set, sgemm_function *rival, tally *t) {
  static const int all[CONTESTANTS] = {0, 1, 2, 3}, two[] = {0, 3};
  const int *const list = set->alone ? two : all, n = (set->alone ? 2 : CONTESTANTS) - !rival;
  contest x = {.s = *s, .set = set, .rival = rival};
  const int status = prepare(&x);
  if (status) return status;
  take_turns(&x, list, n);
  const double ratio = rival ? ratio_of(CONTESTANTS - 1, set->rounds) : 0;
  t->rows++, t->below += ratio < set->below, t->logs += log(ratio);
  if (ratio < set->below || set->below == 0) print_row(&x, list, n);
  free(x.a), free(x.b), free(x.c);
  tw_memory_free(x.packed);
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

static bool parse_setting(const char *word, setting *s) {
  return sscanf(word, "threads=%d", &s->threads) == 1 || sscanf(word, "rounds=%d", &s->rounds) == 1 ||
         sscanf(word, "slice=%lf", &s->slice) == 1 || sscanf(word, "alpha=%f", &s->alpha) == 1 ||
         sscanf(word, "beta=%f", &s->beta) == 1 || sscanf(word, "pad=%d", &s->pad) == 1 ||
         sscanf(word, "below=%lf", &s->below) == 1;
}

/* Adds all products of the sizes in `text`, with all transposes. False: a size is wrong, or there are too many. */
static bool add_products(const char *text, shape *shapes, int *n) {
  enum { SIZES_MAX = 16 };
  int size[SIZES_MAX], sizes = 0;
  for (char *end = NULL; !end || *end; text = end + 1) {
    const long value = strtol(text, &end, 10);
    if (sizes == SIZES_MAX || value < 1 || value > INT_MAX || (*end && *end != ',')) return false;
    size[sizes++] = (int)value;
  }
  const int products = sizes * sizes * sizes * 4;
  if (products > CASES_MAX - *n) return false;
  for (int i = 0; i < products; i++) {
    const int at = i / 4;
    shapes[(*n)++] = (shape){size[at / sizes / sizes], size[at / sizes % sizes], size[at % sizes], i & 2, i & 1};
  }
  return true;
}

int main(int argc, char *argv[]) {
  static const char *const usual[] = {"64x64x64",          "128x128x128",    "256x256x256",       "384x384x384",
                                      "512x512x512",       "768x768x768",    "1024x1024x1024",    "2048x2048x2048",
                                      "256x256x256:NT",    "256x256x256:TN", "1024x1024x1024:NT", "1024x1024x1024:TN",
                                      "1024x1024x1024:TT", "512x4096x4096",  "4096x512x512",      "12544x64x256",
                                      "64x4096x1024",      "16x4096x4096",   "4096x16x4096",      "1x4096x4096",
                                      "4096x1x4096",       "1000x1000x10",   "300x301x302:TT"};
  setting set = {.threads = 1, .rounds = 15, .slice = 0.02, .alpha = 1};
  int n = 0;
  static shape shapes[CASES_MAX];
  for (int i = 1; i < argc; i++) {
    if (parse_setting(argv[i], &set)) continue;
    const bool scans = strncmp(argv[i], "sizes=", strlen("sizes=")) == 0;
    set.alone = set.alone || scans;
    if (!(scans ? add_products(argv[i] + strlen("sizes="), shapes, &n)
                : n < CASES_MAX && parse_shape(argv[i], &shapes[n++])))
      return fprintf(stderr,
                     "usage: bench_blas [threads=N] [rounds=N] [slice=SECONDS] [alpha=X] [beta=X] [pad=N] [below=R] "
                     "[sizes=N,... (at most 16)] [MxNxK[:TT]]... (at most %d products)\n",
                     CASES_MAX),
             2;
  }
  if (set.rounds < 1 || set.rounds > ROUNDS_MAX || set.threads < 1 || set.pad < 0)
    return fprintf(stderr, "bench_blas: rounds must be 1 to %d, threads at least 1, pad at least 0\n", ROUNDS_MAX), 2;
  for (size_t i = 0; n == 0 && i < sizeof usual / sizeof *usual; i++)
    if (!parse_shape(usual[i], &shapes[i])) return 2;
  if (n == 0) n = (int)(sizeof usual / sizeof *usual);
  sgemm_function *rival = load_rival(set.threads);
  tally t = {0};
  for (int i = 0; i < n; i++) {
    const int status = measure(&shapes[i], &set, rival, &t);
    if (status) return status;
  }
  if (rival) printf("%d products, %d below %.2f, geometric mean %.3f\n", t.rows, t.below, set.below, exp(t.logs / n));
  return 0;
}
