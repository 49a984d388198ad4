/* study.c - runs, records and analyses a program, or rejects it; see rewrite.h. */
#include "target/gemmini/rewrite/rewrite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/gemmini/rewrite/diagnose.h"
#include "target/gemmini/rewrite/expand.h"
#include "target/gemmini/rewrite/program.h"

/* Do the commands alone give the program's result? Then they may be rewritten. If not, TW_FAILED with the reason. */
static tw_status understand(tw_program *p, const tw_case *other, bool *wrong, tw_error *error) {
  gm_decoder d = {.config = p->stream.config};
  gm_access a;
  const char *why;
  tw_status status = gm_stream_compare(&p->stream, other, wrong, error);
  if (status == TW_OK && gm_has_hardware_loops(&p->stream)) status = gm_expand_loops(&p->stream, error);
  if (status == TW_OK) status = gm_stream_replay(&p->stream, other, error);
  for (size_t i = 0; status == TW_OK && i < p->stream.n; i++)
    if (!gm_decode_access(&d, &p->stream.event[i], &a, &why))
      status = tw_fail(error, TW_FAILED, "command %zu: %s", i + 1, why);
  return status;
}

tw_status gm_study(const tw_target *target, const tw_problem *problem, const char *source, size_t length, bool trust,
                   uint64_t seed, int jobs, const tw_stop *stop, tw_program **out, tw_error *error) {
  tw_program *p = calloc(1, sizeof *p);
  tw_case data = {0}, other = {0};
  tw_error why = {0};
  bool wrong = false;
  if (!p) return tw_no_memory(error, "the program");
  p->problem = *problem;
  p->jobs = jobs;
  tw_status status = tw_case_make(&p->problem, seed, jobs, &data, error);
  if (status == TW_OK) status = tw_case_make(&p->problem, seed + 1, jobs, &other, error);
  if (status == TW_OK)
    status = gm_stream_capture(target->config, &p->problem, source, length, trust, &data, stop, &p->stream, error);
  if (status == TW_OK) status = understand(p, &other, &wrong, &why);
  if (wrong) {
    tw_fail(error, TW_FAILED, "on other inputs: %s", why.text);
  } else if (status == TW_FAILED && why.text[0]) {
    snprintf(p->fixed, sizeof p->fixed, "%.299s", why.text);
    status = TW_OK;
  } else if (status != TW_OK && why.text[0] && error) {
    *error = why;
  }
  tw_case_free(&data);
  tw_case_free(&other);
  if (status != TW_OK)
    gm_forget(p);
  else
    *out = p;
  return status;
}

tw_status gm_diagnose_program(const tw_program *p, int jobs, tw_diagnosis *d, tw_error *error) {
  tw_status status = gm_diagnose(&p->stream, jobs, d, error);
  memcpy(d->fixed, p->fixed, sizeof d->fixed);
  return status;
}

void gm_forget(tw_program *p) {
  if (!p) return;
  gm_stream_free(&p->stream);
  free(p);
}
