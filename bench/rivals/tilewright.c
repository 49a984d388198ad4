/* tilewright.c - this library as one of those that are compared: what tw_gemm_plan_create chooses. */
#include <stdio.h>

#include "bench/rivals/rival.h"
#include "target/x86/bench.h"
#include "tilewright/gemm.h"

static tw_gemm_plan *plan;
static const rival_case *job;

const char *rival_start(void) { return NULL; }

const char *rival_open(const rival_case *c, rival_ready *ready) {
  static tw_error error;
  const tw_gemm_spec spec = x86_spec_of(c->problem);
  if (tw_gemm_plan_create(&spec, &plan, &error) != TW_OK) return error.text;
  job = c;
  ready->weight_bytes = (tw_gemm_packed_bytes(plan) + TW_GEMM_ALIGNMENT - 1) / TW_GEMM_ALIGNMENT * TW_GEMM_ALIGNMENT;
  ready->output = c->gemm.c;
  snprintf(ready->what, sizeof ready->what, "%s", tw_gemm_plan_kernel(plan));
  return NULL;
}

void rival_pack(void *packed) { tw_gemm_pack(plan, job->b, packed, NULL); }

void rival_run(const void *packed, void *c) {
  const tw_gemm_operands o = {.size = sizeof o, .a = job->a, .packed_b = packed, .c = c};
  tw_gemm_plan_execute(plan, &o, NULL);
}

void rival_close(void) { tw_gemm_plan_destroy(plan); }
