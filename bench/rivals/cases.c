/* cases.c - the table of kinds, and the shapes: those for which the project's goals are set (docs/lab/2026-11-x86-libraries.md). */
#include "bench/rivals/cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const bench_kind kinds[] = {
    {"f32", "a=f32 b=f32 c=f32", X86_F32, 0, false},
    {"bf16", "a=bf16 b=bf16 c=f32", X86_BF16, 0, false},
    {"bf16>bf16", "a=bf16 b=bf16 c=bf16", X86_BF16, 0, false},
    {"u8s8", "a=u8 b=i8 c=i32", X86_U8S8, 0, false},
    {"s8s8", "a=i8 b=i8 c=i32", X86_U8S8, 0, false},
    {"bf16*mxfp4", "a=bf16 b=mxfp4 c=f32", X86_BF16, 0.95, false},
    {"bf16*i4:g32", "a=bf16 b=i4 group=32 c=f32", X86_BF16, 0.95, false},
    {"bf16*i4:g128", "a=bf16 b=i4 group=128 c=f32", X86_BF16, 0.95, false},
    {"bf16*ternary", "a=bf16 b=ternary c=f32", X86_BF16, 0.95, false},
    {"bf16*i8:g32", "a=bf16 b=i8 group=32 c=f32", X86_BF16, 0.95, false},
    {"bf16*bfp16", "a=bf16 b=bfp16 c=f32", X86_BF16, 0.95, false},
    {"bf16*mxfp6", "a=bf16 b=mxfp6 c=f32", X86_BF16, 0.95, false},
    {"bf16*mxfp8", "a=bf16 b=mxfp8 c=f32", X86_BF16, 0.95, false},
    {"a8*mxfp4", "a=bf16 a_rounding=groups b=mxfp4 c=f32", X86_U8S8, 0.70, true},
    {"a8*i4:g32", "a=bf16 a_rounding=groups b=i4 group=32 c=f32", X86_U8S8, 0.70, true},
    {"a8*i4:g128", "a=bf16 a_rounding=groups b=i4 group=128 c=f32", X86_U8S8, 0.85, true},
    {"a8*ternary", "a=bf16 a_rounding=rows b=ternary c=f32", X86_U8S8, 0.90, true},
};

enum { CHOSEN_MAX = 64 }; /* kinds, shapes, numbers of threads */

static const int64_t shapes[][3] = {
    {64, 64, 64},       {256, 256, 256},    {1024, 1024, 1024}, {12544, 64, 256}, {512, 4096, 4096}, {2048, 2048, 2048},
    {512, 11008, 4096}, {4096, 4096, 4096}, {1, 4096, 4096},    {4, 4096, 4096},  {1, 11008, 4096},  {16, 2112, 7168},
};

const bench_kind *bench_kind_at(size_t index) { return index < sizeof kinds / sizeof *kinds ? &kinds[index] : NULL; }

const bench_kind *bench_kind_named(const char *name) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
  return NULL;
}

bool bench_is_decode(const bench_case *c) { return c->m <= DECODE_ROWS; }
bool bench_is_small(const bench_case *c) { return c->m == c->n && c->m <= 256; }

bool bench_same(const bench_case *a, const bench_case *b) {
  return a->kind == b->kind && a->m == b->m && a->n == b->n && a->k == b->k && a->threads == b->threads;
}

/* ---- the choice ---- */

typedef bool use_word(void *context, const char *word);

/* Calls `use` for each word of a comma-separated list. False: it refused one, which is then in `unknown`. */
static bool each(const char *list, use_word *use, void *context, char unknown[64]) {
  char copy[2048], *rest = NULL;
  snprintf(copy, sizeof copy, "%s", list);
  for (char *w = strtok_r(copy, ",", &rest); w; w = strtok_r(NULL, ",", &rest)) {
    if (use(context, w)) continue;
    snprintf(unknown, 64, "%s", w);
    return false;
  }
  return true;
}

typedef struct chosen {
  const bench_kind *kind[CHOSEN_MAX];
  int64_t shape[CHOSEN_MAX][3];
  int threads[CHOSEN_MAX];
  size_t kinds, shapes, counts;
  int cores;
} chosen;

static bool use_kind(void *context, const char *word) {
  chosen *x = context;
  const bench_kind *kind = bench_kind_named(word);
  if (!kind || x->kinds == CHOSEN_MAX) return false;
  x->kind[x->kinds++] = kind;
  return true;
}

static bool add_shape(chosen *x, const int64_t shape[3]) {
  if (x->shapes == CHOSEN_MAX) return false;
  memcpy(x->shape[x->shapes++], shape, sizeof *x->shape);
  return true;
}

/* A word for several of the table, or any shape. */
static bool use_shape(void *context, const char *word) {
  chosen *x = context;
  const size_t before = x->shapes;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const bench_case c = {.m = shapes[i][0], .n = shapes[i][1]};
    const bool meant = strcmp(word, "all") == 0 || (strcmp(word, "decode") == 0 && bench_is_decode(&c)) ||
                       (strcmp(word, "prefill") == 0 && !bench_is_decode(&c)) ||
                       (strcmp(word, "small") == 0 && bench_is_small(&c));
    if (meant && !add_shape(x, shapes[i])) return false;
  }
  if (x->shapes > before) return true;
  int64_t s[3];
  int end = 0;
  return sscanf(word, "%" SCNd64 "x%" SCNd64 "x%" SCNd64 "%n", &s[0], &s[1], &s[2], &end) == 3 && !word[end] &&
         s[0] > 0 && s[1] > 0 && s[2] > 0 && add_shape(x, s);
}

static bool use_threads(void *context, const char *word) {
  chosen *x = context;
  const int n = atoi(word);
  if (n < 1 || n > x->cores || x->counts == CHOSEN_MAX) return false;
  x->threads[x->counts++] = n;
  return true;
}

size_t bench_cases(const bench_choice *choice, int cores, bench_case out[CASES_MAX], char unknown[64]) {
  static chosen x;
  size_t n = 0;
  x = (chosen){.cores = cores};
  if (!each(choice->shapes ? choice->shapes : "all", use_shape, &x, unknown) || !each(choice->threads ? choice->threads
                                                                                      : cores > 1     ? "1,2"
                                                                                                      : "1",
                                                                                      use_threads, &x, unknown))
    return 0;
  if (choice->kinds && !each(choice->kinds, use_kind, &x, unknown)) return 0;
  for (size_t i = 0; !choice->kinds && i < sizeof kinds / sizeof *kinds; i++) x.kind[x.kinds++] = &kinds[i];
  for (size_t kind = 0; kind < x.kinds; kind++)
    for (size_t s = 0; s < x.shapes; s++)
      for (size_t t = 0; t < x.counts && n < CASES_MAX; t++)
        out[n++] = (bench_case){x.kind[kind], x.shape[s][0], x.shape[s][1], x.shape[s][2], x.threads[t]};
  if (n < x.kinds * x.shapes * x.counts)
    fprintf(stderr, "bench_x86_rivals: too many cases (%zu); only the first %zu are measured\n",
            x.kinds * x.shapes * x.counts, n);
  return n;
}

void bench_problem(const bench_case *c, char *buffer, size_t size) {
  snprintf(buffer, size, "m=%" PRId64 " n=%" PRId64 " k=%" PRId64 " threads=%d %s", c->m, c->n, c->k, c->threads,
           c->kind->types);
}
