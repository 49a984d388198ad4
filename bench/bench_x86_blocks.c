/* bench_x86_blocks.c - one product with many choices of blocks and parts, each in turns with what the library chooses.
 *
 *   bench_x86_blocks MxNxK a=TYPE [b=TYPE c=TYPE threads=N rounds=3 seconds=0.05] [KEY=VALUE,VALUE...]...
 *
 * The keys are those of a schedule, mc nc kc rho panels parts=ROWSxCOLUMNS, and
 *
 *   a_from=place,packed     A is read in place, or packed
 *   sums=c,own              sums of all but the last block of k wait in C, or in memory of the thread
 *   pages=small,large       packed B and workspaces in pages of 4 KiB or 2 MiB
 *
 * Every combination is timed. A line has the median time, the rate, the library's time over it (the median over rounds; above
 * 1 the choice is faster), and how the threads spent the time: the mean share at work, and the share that passed until the
 * last thread began. B is packed before, and not timed. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/pages.h"
#include "target/x86/choose.h"
#include "target/x86/loops.h"
#include "target/x86/pack.h"
#include "target/x86/rates.h"
#include "target/x86/threads.h"
#include "target/x86/tune/apply.h"
#include "tilewright/gemm.h"

enum { ROUNDS_MAX = 32, VALUES_MAX = 16, THREADS_MAX = 256, KEYS = 9, LINE = 160 };

typedef struct key {
  const char *name;
  int n, value[VALUES_MAX], more[VALUES_MAX]; /* more: of parts */
} key;
enum { MC, NC, KC, RHO, PANELS, PARTS, A_FROM, SUMS, PAGES };
static key keys[KEYS] = {{.name = "mc"},    {.name = "nc"},     {.name = "kc"},   {.name = "rho"},  {.name = "panels"},
                         {.name = "parts"}, {.name = "a_from"}, {.name = "sums"}, {.name = "pages"}};

typedef struct plan { /* one choice, ready to run */
  tw_gemm_plan p;
  bool large;
  char *packed, *workspace;
} plan;

static struct {
  tw_gemm_spec spec;
  int threads, rounds;
  double seconds;
  char *a, *b, *c;
} given = {.rounds = 3, .seconds = 0.05};

/* ---- memory ---- */

static char *pages(size_t bytes, bool large) {
  const size_t whole = (bytes + TW_LARGE_PAGE - 1) / TW_LARGE_PAGE * TW_LARGE_PAGE;
  char *memory = aligned_alloc(TW_LARGE_PAGE, whole);
  if (!memory) {
    fprintf(stderr, "bench_x86_blocks: out of memory\n");
    exit(3);
  }
  madvise(memory, whole, large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return memory;
}

static char *filled(size_t elements, tw_type type) {
  const size_t bytes = elements * (size_t)tw_type_bits(type) / 8;
  char *memory = tw_new_pages(bytes);
  uint32_t x = 1;
  for (size_t i = 0; memory && i < elements; i++) {
    x = x * 1664525 + 1013904223;
    const float value = (float)(x >> 16) / 65536 - 0.5f;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (type == TW_F32) memcpy(memory + i * 4, &value, 4);
    if (type == TW_BF16) memcpy(memory + i * 2, (char *)&bits + 2, 2);
    if (type == TW_U8 || type == TW_I8) memory[i] = (char)(x >> 24);
  }
  return memory;
}

/* ---- plans ---- */

static bool make(plan *out, const x86_blocks *blocks, bool own_sums, bool large) {
  tw_error error;
  const x86_kernel *kernel;
  if (x86_choose_kernel(&given.spec, &kernel, &error) != TW_OK)
    return fprintf(stderr, "bench_x86_blocks: %s\n", error.text), false;
  const x86_tuned tuned = {.kernel = kernel, .blocks = blocks ? *blocks : (x86_blocks){0}};
  *out = (plan){.large = large};
  tw_gemm_plan *p = &out->p;
  if (x86_describe(&given.spec, blocks ? &tuned : NULL, X86_B_PACKED, p, &error) != TW_OK)
    return fprintf(stderr, "bench_x86_blocks: %s\n", error.text), false;
  if (own_sums && p->blocks > 1) {
    p->plain = p->sums_in_c = false;
    p->sums_at = p->bytes_per_thread;
    p->bytes_per_thread += (size_t)(p->mc * x86_ceil_div(p->nc, kernel->columns) * kernel->columns) * X86_UNIT;
  }
  out->packed = pages(tw_gemm_packed_bytes(p), large);
  out->workspace = pages(p->bytes_per_thread * (size_t)given.threads, large);
  x86_begin_packed(p, out->packed);
  const int64_t groups = x86_ceil_div(x86_panels(p), X86_PANELS_AT_ONCE), tasks = groups * p->blocks;
#pragma omp parallel for num_threads(given.threads) schedule(dynamic, 1)
  for (int64_t i = 0; i < tasks; i++) {
    const int64_t panel = i % groups * X86_PANELS_AT_ONCE;
    x86_pack_panels(p, given.b, 1, i / groups, panel, x86_min(X86_PANELS_AT_ONCE, x86_panels(p) - panel),
                    out->packed + x86_panel_at(p, i / groups, panel));
  }
  return true;
}

static void drop(plan *x) { free(x->packed), free(x->workspace); }

typedef struct shares {
  double busy, late;
} shares;

typedef struct execution {
  const plan *x;
  tw_gemm_operands o;
  x86_deal deal;
} execution;
static double begun[THREADS_MAX], ended[THREADS_MAX];

static void run_member(void *context, int member) {
  execution *e = context;
  const tw_gemm_plan *p = &e->x->p;
  begun[member] = tw_now();
  for (int i, from = 0; (i = x86_next_part(&e->deal, member, &from)) >= 0;)
    x86_run_part(p, &e->o, e->x->workspace + (size_t)member * p->bytes_per_thread, i);
  ended[member] = tw_now();
}

static double run(const plan *x, shares *out) {
  const tw_gemm_plan *p = &x->p;
  execution e = {.x = x, .o = {.size = sizeof e.o, .a = given.a, .packed_b = x->packed, .c = given.c}};
  const double start = tw_now(), began = x86_now_of(p->threads); /* one thread: processor time */
  x86_deal_parts(&e.deal, p);
  x86_run_on_threads(p->threads, run_member, &e);
  const double took = x86_now_of(p->threads) - began, all = tw_now() - start;
  *out = (shares){0};
  for (int i = 0; i < p->threads; i++) {
    out->busy += (ended[i] - begun[i]) / all / p->threads;
    out->late = fmax(out->late, (begun[i] - start) / all);
  }
  return took;
}

/* The best of a slice of time, and how its threads spent it. */
static double turn(const plan *x, shares *out) {
  double best = 1e300;
  const double start = tw_now();
  for (int i = 0; i < 2 || tw_now() - start < given.seconds; i++) {
    shares s;
    const double now = run(x, &s);
    if (now >= best) continue;
    best = now;
    *out = s;
  }
  return best;
}

/* ---- arguments ---- */

static bool is(const char *word, size_t length, const char *name) {
  return length == strlen(name) && strncmp(word, name, length) == 0;
}

/* One value of key `index`, `length` characters. */
static bool parse_value(int index, const char *word, size_t length, key *k) {
  int value = atoi(word), more = 0;
  const bool number = value > 0, place = is(word, length, "place"), packed = is(word, length, "packed");
  if (index == A_FROM) value = packed ? X86_PACK_A : X86_READ_A_IN_PLACE;
  if (index == SUMS) value = is(word, length, "own");
  if (index == PAGES) value = is(word, length, "large");
  const bool known = index == A_FROM  ? place || packed
                     : index == SUMS  ? value || is(word, length, "c")
                     : index == PAGES ? value || is(word, length, "small")
                     : index == PARTS ? sscanf(word, "%dx%d", &value, &more) == 2 && value > 0 && more > 0
                                      : number;
  if (!known || k->n == VALUES_MAX) return false;
  k->value[k->n] = value;
  k->more[k->n++] = more;
  return true;
}

static bool parse_key(const char *word) {
  for (int i = 0; i < KEYS; i++) {
    key *k = &keys[i];
    const size_t length = strlen(k->name);
    if (strncmp(word, k->name, length) != 0 || word[length] != '=') continue;
    for (word += length; *word; word += 1 + strcspn(word + 1, ","))
      if (!parse_value(i, word + 1, strcspn(word + 1, ","), k)) return false;
    return true;
  }
  return false;
}

static bool parse_type(const char *word, const char *name, tw_type *out) {
  static const tw_type types[] = {TW_F32, TW_BF16, TW_U8, TW_I8, TW_I32};
  const size_t length = strlen(name);
  if (strncmp(word, name, length) != 0 || word[length] != '=') return false;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strcmp(word + length + 1, tw_type_name(types[i])) == 0) return *out = types[i], true;
  return false;
}

static bool parse(int argc, char **argv) {
  tw_gemm_spec *s = &given.spec;
  *s = (tw_gemm_spec){.size = sizeof *s};
  if (argc < 2 || sscanf(argv[1], "%" SCNd64 "x%" SCNd64 "x%" SCNd64, &s->m, &s->n, &s->k) != 3) return false;
  for (int i = 2; i < argc; i++)
    if (!parse_type(argv[i], "a", &s->a) && !parse_type(argv[i], "b", &s->b) && !parse_type(argv[i], "c", &s->c) &&
        sscanf(argv[i], "threads=%d", &given.threads) != 1 && sscanf(argv[i], "rounds=%d", &given.rounds) != 1 &&
        sscanf(argv[i], "seconds=%lf", &given.seconds) != 1 && !parse_key(argv[i]))
      return false;
  if (!s->a) s->a = TW_F32;
  if (!s->b) s->b = s->a == TW_U8 ? TW_I8 : s->a;
  if (!s->c) s->c = s->b == TW_I8 ? TW_I32 : TW_F32;
  if (!given.threads) given.threads = omp_get_max_threads();
  s->threads = given.threads;
  return given.threads > 0 && given.threads <= THREADS_MAX && given.rounds > 0 && given.rounds <= ROUNDS_MAX;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *value) {
  qsort(value, (size_t)given.rounds, sizeof *value, by_value);
  return value[given.rounds / 2];
}

static void compare(const plan *usual, const plan *x) {
  double time[ROUNDS_MAX], ratio[ROUNDS_MAX];
  shares own = {0}, other;
  char text[512];
  run(x, &own);
  for (int r = 0; r < given.rounds; r++) {
    const double before = x == usual ? 0 : turn(usual, &other);
    time[r] = turn(x, &own);
    ratio[r] = x == usual ? 1 : before / time[r];
  }
  const double t = median(time);
  tw_gemm_plan_print(&x->p, text, sizeof text);
  printf("%9.1f us %8.0f GFLOP/s  x%.3f  busy %.2f late %.2f  %s%s %s\n", t * 1e6,
         2e-9 * (double)(given.spec.m * given.spec.n * given.spec.k) / t, median(ratio), own.busy, own.late,
         x->p.plain ? "" : "own sums ", x->large ? "large pages" : "small pages", strstr(text, "mc="));
  fflush(stdout);
}

int main(int argc, char **argv) {
  if (!parse(argc, argv)) {
    fprintf(stderr,
            "usage: bench_x86_blocks MxNxK a=TYPE [b=TYPE c=TYPE threads=N rounds=N seconds=S] [KEY=VALUE,...]...\n"
            "  keys: mc nc kc rho panels parts=RxC a_from=place,packed sums=c,own pages=small,large\n");
    return 2;
  }
  const tw_gemm_spec *s = &given.spec;
  given.a = filled((size_t)(s->m * s->k), s->a), given.b = filled((size_t)(s->k * s->n), s->b);
  given.c = tw_new_pages((size_t)(s->m * s->n) * 4);
  if (!given.a || !given.b || !given.c) return fprintf(stderr, "bench_x86_blocks: out of memory\n"), 3;
  plan usual, x;
  if (!make(&usual, NULL, false, false)) return 2;
  printf("%" PRId64 "x%" PRId64 "x%" PRId64 " %s threads=%d\n", s->m, s->n, s->k, usual.p.kernel->name, given.threads);
  compare(&usual, &usual);
  long combinations = 1;
  for (int i = 0; i < KEYS; i++) combinations *= keys[i].n > 0 ? keys[i].n : 1;
  for (long at = 0; at < combinations; at++) {
    int chosen[KEYS] = {0}, more = 0;
    long rest = at;
    for (int i = 0; i < KEYS; i++) {
      if (!keys[i].n) continue;
      chosen[i] = keys[i].value[rest % keys[i].n];
      if (i == PARTS) more = keys[i].more[rest % keys[i].n];
      rest /= keys[i].n;
    }
    const x86_blocks blocks = {.mc = chosen[MC],
                               .nc = chosen[NC],
                               .kc = chosen[KC],
                               .rho = chosen[RHO],
                               .panels = chosen[PANELS],
                               .threads_m = chosen[PARTS],
                               .threads_n = more,
                               .a = (x86_a_choice)chosen[A_FROM]};
    if (combinations == 1 && memcmp(&blocks, &(x86_blocks){0}, sizeof blocks) == 0 && !chosen[SUMS] && !chosen[PAGES])
      break;
    if (!make(&x, &blocks, chosen[SUMS], chosen[PAGES])) return 2;
    compare(&usual, &x);
    drop(&x);
  }
  drop(&usual);
  return 0;
}
