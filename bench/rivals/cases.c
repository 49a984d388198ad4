/* cases.c - the table of kinds, and the shapes: those for which the project's goals are set (docs/lab/2026-11-x86-libraries.md). */
#include "bench/rivals/cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const bench_kind kinds[] = {
    {"f32", "a=f32 b=f32 c=f32", X86_F32, 0, false},
    {"bf16", "a=bf16 b=bf16 c=f32", X86_BF16, 0, false},
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

typedef bool matches(const bench_case *, const char *word);

static bool is_kind(const bench_case *c, const char *word) { return strcmp(c->kind->name, word) == 0; }

static bool is_shape(const bench_case *c, const char *word) {
  char text[96];
  snprintf(text, sizeof text, "%" PRId64 "x%" PRId64 "x%" PRId64, c->m, c->n, c->k);
  return strcmp(word, text) == 0 || (strcmp(word, "decode") == 0 && bench_is_decode(c)) ||
         (strcmp(word, "prefill") == 0 && !bench_is_decode(c)) || (strcmp(word, "small") == 0 && bench_is_small(c));
}

static bool has_threads(const bench_case *c, const char *word) { return atoi(word) == c->threads; }

static bool any(const char *list, const bench_case *c, matches *match) {
  char copy[512], *rest = NULL;
  if (!list) return true;
  snprintf(copy, sizeof copy, "%s", list);
  for (char *w = strtok_r(copy, ",", &rest); w; w = strtok_r(NULL, ",", &rest))
    if (match(c, w)) return true;
  return false;
}

/* Is there a case of the whole set for each word? */
static bool known(const char *list, const bench_case *all, size_t n, matches *match, char unknown[64]) {
  char copy[512], *rest = NULL;
  if (!list) return true;
  snprintf(copy, sizeof copy, "%s", list);
  for (char *w = strtok_r(copy, ",", &rest); w; w = strtok_r(NULL, ",", &rest)) {
    size_t i = 0;
    while (i < n && !match(&all[i], w)) i++;
    if (i < n) continue;
    snprintf(unknown, 64, "%s", w);
    return false;
  }
  return true;
}

size_t bench_cases(const bench_choice *choice, int cores, bench_case out[CASES_MAX], char unknown[64]) {
  static bench_case all[CASES_MAX];
  size_t n = 0, kept = 0;
  for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
      for (int threads = 1; threads <= (cores > 1 ? 2 : 1); threads++)
        all[n++] = (bench_case){&kinds[kind], shapes[s][0], shapes[s][1], shapes[s][2], threads};
  if (!known(choice->kinds, all, n, is_kind, unknown) || !known(choice->shapes, all, n, is_shape, unknown) ||
      !known(choice->threads, all, n, has_threads, unknown))
    return 0;
  for (size_t i = 0; i < n; i++)
    if (any(choice->kinds, &all[i], is_kind) && any(choice->shapes, &all[i], is_shape) &&
        any(choice->threads, &all[i], has_threads))
      out[kept++] = all[i];
  return kept;
}

void bench_problem(const bench_case *c, char *buffer, size_t size) {
  snprintf(buffer, size, "m=%" PRId64 " n=%" PRId64 " k=%" PRId64 " threads=%d %s", c->m, c->n, c->k, c->threads,
           c->kind->types);
}
