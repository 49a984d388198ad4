/* cases.h - what `bench_x86_rivals` measures: kinds of products x shapes x threads. */
#ifndef TW_BENCH_CASES_H
#define TW_BENCH_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/x86/kernel.h"

enum { CASES_MAX = 1024, DECODE_ROWS = 16 };

typedef struct bench_kind {
  const char *name;          /* "bf16*mxfp4" */
  const char *types;         /* keys of gemm */
  x86_arithmetic arithmetic; /* whose peak is the measure */
  double goal;               /* of that peak, on prefill shapes; 0: as fast as the best rival */
  bool rounds_a;             /* A becomes int8 on its way in */
} bench_kind;

typedef struct bench_case {
  const bench_kind *kind;
  int64_t m, n, k;
  int threads;
} bench_case;

/* A subset, by comma-separated lists; NULL: everything. */
typedef struct bench_choice {
  const char *kinds;   /* names */
  const char *shapes;  /* "all", "prefill", "decode", "small", or any: "512x4096x4096" */
  const char *threads; /* any number up to that of cores; NULL: 1 and 2 */
} bench_choice;

const bench_kind *bench_kind_named(const char *name); /* NULL if there is none */
const bench_kind *bench_kind_at(size_t index);        /* NULL past the last */
bool bench_is_decode(const bench_case *);
bool bench_is_small(const bench_case *); /* fits the caches: 64^3, 256^3 */
bool bench_same(const bench_case *, const bench_case *);

/* In the order in which they are measured. Returns how many; 0 if the choice names nothing that there is: then *unknown is
 * the word. */
size_t bench_cases(const bench_choice *, int cores, bench_case out[CASES_MAX], char unknown[64]);

/* "gemm"'s words without the op: "m=.. n=.. k=.. threads=.. a=.. b=.. c=..". */
void bench_problem(const bench_case *, char *buffer, size_t size);

#endif
