/* result.c - see search.h and result.h. */
#include "search/result.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/strings.h"

void tw_search_result_clear(tw_search_result *r) {
  free(r->source);
  free(r->start_source);
  free(r->rung);
  free(r->exchange);
  free(r->notes);
  free(r->how);
  *r = (tw_search_result){0};
}

void tw_search_result_free(tw_search_result *r) {
  if (!r) return;
  tw_search_result_clear(r);
  free(r);
}

void tw_search_result_note(tw_search_result *r, const char *format, ...) {
  char line[2400];
  va_list list;
  va_start(list, format);
  vsnprintf(line, sizeof line, format, list);
  va_end(list);
  tw_text text = {0};
  tw_text_add(&text, "%s%s\n", r->notes ? r->notes : "", line);
  char *notes = tw_text_take(&text);
  if (!notes) return;
  free(r->notes);
  r->notes = notes;
}

const char *tw_search_result_source(const tw_search_result *r) { return r->source; }
const tw_schedule *tw_search_result_schedule(const tw_search_result *r) {
  return r->has_schedule ? &r->schedule : NULL;
}
const tw_measurement *tw_search_result_best(const tw_search_result *r) { return &r->best; }
const tw_measurement *tw_search_result_start(const tw_search_result *r) { return r->start_source ? &r->start : NULL; }
const char *tw_search_result_start_source(const tw_search_result *r) { return r->start_source; }
tw_cost_from tw_search_result_cost_from(const tw_search_result *r) { return r->cost_from; }
const tw_bound *tw_search_result_bound(const tw_search_result *r) { return &r->bound; }
double tw_search_result_error(const tw_search_result *r) { return r->error; }
const char *tw_search_result_coverage(const tw_search_result *r) { return r->coverage; }
const tw_rung *tw_search_result_rung(const tw_search_result *r, size_t index) {
  return index < r->n_rungs ? &r->rung[index] : NULL;
}
const tw_model_call *tw_search_result_model_call(const tw_search_result *r, size_t index) {
  return index < r->n_exchanges ? &r->exchange[index] : NULL;
}
int tw_search_result_samples(const tw_search_result *r) { return r->samples; }
int tw_search_result_correct(const tw_search_result *r) { return r->correct; }
int tw_search_result_recalled(const tw_search_result *r) { return r->recalled; }
int tw_search_result_slower(const tw_search_result *r) { return r->slower; }
double tw_search_result_seconds(const tw_search_result *r) { return r->wall_seconds; }
bool tw_search_result_is_baseline(const tw_search_result *r) { return r->is_baseline; }
bool tw_search_result_is_rewritten(const tw_search_result *r) { return r->how && r->how->rewritten; }
const char *tw_search_result_notes(const tw_search_result *r) { return r->notes ? r->notes : ""; }
