/* Designs of GEMMs for tests: made, run with data and without, and refused. */
#ifndef TW_TESTS_XDNA2_GEMM_H
#define TW_TESTS_XDNA2_GEMM_H

#include "test.h"

#include "target/xdna2/array/gemm_array.h"
#include "xdna2_array.h"

static xd_config machine;

static inline int setup(void **state) {
  machine = machine_config();
  return 0;
}

static inline const xd_kernel *kernel(const char *name) {
  const xd_kernel *k = xd_find_kernel(&machine, name, TW_TYPE_NONE, TW_TYPE_NONE, TW_TYPE_NONE, TW_TYPE_NONE);
  assert_non_null(k);
  return k;
}

static inline xd_gemm gemm_of(const char *name, tw_tile tile, int64_t m, int64_t n, int64_t k) {
  return xd_gemm_default(&machine, kernel(name), &tile, m, n, k);
}

/* Runs with data, then without; the same time must come of both. */
static inline xd_run_result run(const xd_gemm *g, void *a, void *b, void *c) {
  xd_program p;
  xd_run_result r, timing;
  tw_error error;
  int64_t bytes[XD_GEMM_OPERANDS];
  xd_gemm_bytes(g, bytes);
  void *zeros = calloc(1, (size_t)bytes[XD_GEMM_ZEROS] + 1);
  if (xd_gemm_program(&machine, g, &p, &error) != TW_OK) fail_msg("%s", error.text);
  xd_run_options options = {.cost = analytic_cost(&machine), .external = (void *[]){a, b, c, zeros}};
  if (xd_run(&machine, &p, &options, &r, &error) != TW_OK) fail_msg("%s", error.text);
  options.timing_only = true;
  if (xd_run(&machine, &p, &options, &timing, &error) != TW_OK) fail_msg("%s", error.text);
  assert_memory_equal(&r, &timing, sizeof r);
  xd_program_free(&p);
  free(zeros);
  return r;
}

static inline void refused(xd_gemm g, const char *part) {
  xd_program p;
  tw_error error = {0};
  if (xd_gemm_program(&machine, &g, &p, &error) == TW_OK) fail_msg("not refused; should say '%s'", part);
  if (!strstr(error.text, part) || strchr(error.text, '\n')) fail_msg("'%s' does not say '%s'", error.text, part);
}

#endif
