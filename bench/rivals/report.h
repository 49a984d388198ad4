/* report.h - what the measurements say: a table, the goals, a chart. */
#ifndef TW_BENCH_REPORT_H
#define TW_BENCH_REPORT_H

#include "bench/rivals/results.h"

/* Prints the table on standard output and writes it to DIRECTORY/table.txt, the chart to DIRECTORY/chart.svg. */
bool bench_report(const bench_results *, const char *directory);

/* chart.c: every case a row, every library a dot at the part that it reaches of what the machine can do. */
bool bench_chart(const bench_results *, const char *path);

/* The least time that peak and (decode) bandwidth allow for a case, with tilewright's packed weights. */
double bench_bound(const bench_result *own);

/* tilewright's result for each case, and the best rival's: NULL if none computed it. */
const bench_result *bench_own(const bench_results *, size_t index); /* NULL past the last case */
const bench_result *bench_best_rival(const bench_results *, const bench_case *);

#endif
