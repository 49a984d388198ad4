/* results.h - measurements of `bench_x86_rivals`, kept as one CSV file that is only ever appended to: a run that was cut off
 * goes on where it stood. */
#ifndef TW_BENCH_RESULTS_H
#define TW_BENCH_RESULTS_H

#include "bench/rivals/cases.h"

typedef struct bench_result { /* one library on one case */
  bench_case c;
  char library[48], how[64];
  double seconds, median; /* of a call: the best of all rounds; the median of the rounds' medians */
  double paired;          /* this library's time over tilewright's, the median over rounds; 0: unknown */
  double weight_bytes;    /* of packed weights */
  double peak,
      bandwidth; /* of the machine with as many threads, then: operations and bytes a second; bandwidth 0: not asked */
  double error;  /* of C: root mean square over that of the exact result */
} bench_result;

typedef struct bench_results {
  size_t n, room;
  bench_result *item;
} bench_results;

double bench_operations(const bench_case *); /* 2 m n k */

/* Of several measurements of a library on a case the fastest counts, of the machine's rates the highest. */
bool bench_results_add(bench_results *, const bench_result *);
/* A missing file is no results; lines of kinds that are not known (any more) are passed over. */
bool bench_results_read(const char *path, bench_results *out);
/* Appends one case's results at once. */
bool bench_results_append(const char *path, const bench_result *, size_t n);
bool bench_results_have(const bench_results *, const bench_case *);
void bench_results_free(bench_results *);

#endif
