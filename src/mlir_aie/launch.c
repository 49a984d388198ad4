/* launch.c - a design without an op: the caller gives the arguments of its runtime sequence and judges the results.
 * Without arguments all are zeros, and the run shows only time, locks, routes and capacities. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "mlir_aie/execute.h"
#include "target/xdna2/array/execute.h"

enum { ARGUMENTS = 64 };

/* The numbers among them, in their places. */
static tw_status read_values(const tw_raw_launch *l, int64_t value[ARGUMENTS], tw_error *error) {
  if (l->n > ARGUMENTS) return tw_fail(error, TW_USAGE, "more than %d arguments", ARGUMENTS);
  for (size_t i = 0; i < l->n; i++) {
    if (l->argument[i].at >= 0)
      return tw_fail(error, TW_USAGE, "argument %zu: arguments of a design have no byte offset; leave out @BYTE:", i);
    value[i] = l->argument[i].is_data ? 0 : (int64_t)(int32_t)l->argument[i].value;
  }
  return TW_OK;
}

/* The arguments' bytes, word-aligned and a little longer, as the simulator requires; zeros for arguments that are
 * not given. */
static tw_status make_memory(const xd_mlir_design *d, const tw_raw_launch *l, void *memory[ARGUMENTS], size_t *n,
                             tw_error *error) {
  for (size_t i = 0; i < d->program.buffers.n; i++) {
    const xd_buffer *b = &d->program.buffers.at[i];
    if (!b->external) continue;
    const int at = b->argument;
    const tw_raw_argument *a = l->n && (size_t)at < l->n ? &l->argument[at] : NULL;
    if (l->n && (!a || !a->is_data || a->bytes != (size_t)b->bytes))
      return tw_fail(error, TW_USAGE, "argument %d of the runtime sequence is an array of %" PRId64 " bytes%s", at,
                     b->bytes,
                     a && a->is_data ? "; the given arguments differ"
                                     : ", and the command has no --arg in=, out= or inout= for it");
    if (*n == ARGUMENTS || !(memory[*n] = tw_new((size_t)b->bytes + 8, 1))) return tw_no_memory(error, NULL);
    if (a) memcpy(memory[*n], a->data, a->bytes);
    ++*n;
  }
  return TW_OK;
}

static void take_results(const xd_mlir_design *d, const tw_raw_launch *l, void *const memory[]) {
  for (size_t i = 0, n = 0; i < d->program.buffers.n; i++) {
    const xd_buffer *b = &d->program.buffers.at[i];
    if (!b->external) continue;
    const tw_raw_argument *a = (size_t)b->argument < l->n ? &l->argument[b->argument] : NULL;
    if (a && a->writable) memcpy(a->data, memory[n], a->bytes);
    n++;
  }
}

static void say(const xd_mlir_design *d, tw_raw_launch *l) {
  if (d->unknown)
    snprintf(l->note, sizeof l->note,
             "not checked, no data: %d call(s) are of functions with only a given time; only time, locks, routes and "
             "capacities are checked",
             d->unknown);
  else if (l->n)
    snprintf(l->note, sizeof l->note, "moved and computed; compare the results yourself");
  else
    snprintf(l->note, sizeof l->note,
             "not checked: all arrays are zeros; give its arguments (--arg in=FILE, out=FILE:BYTES), or an op");
  if (d->devices)
    snprintf(l->note + strlen(l->note), sizeof l->note - strlen(l->note), "; %d other device(s) are ignored",
             d->devices);
  if (d->placed)
    snprintf(l->note + strlen(l->note), sizeof l->note - strlen(l->note),
             "; %d tile(s) were placed here, not by mlir-aie", d->placed);
  if (d->skipped)
    snprintf(l->note + strlen(l->note), sizeof l->note - strlen(l->note), "; %d trace op(s) are ignored", d->skipped);
}

tw_status xd_mlir_launch(const xd_config *c, const char *text, tw_raw_launch *l, tw_measurement *out, tw_error *error) {
  int64_t value[ARGUMENTS] = {0};
  void *memory[ARGUMENTS] = {NULL};
  size_t n = 0;
  xd_mlir_design d;
  const xd_work none = {0, 1};
  tw_status status = read_values(l, value, error);
  if (status != TW_OK) return status;
  const xd_mlir_options options = {.raw = true, .n_values = l->n, .value = value};
  status = xd_mlir_read(c, text, &options, &d, error);
  if (status != TW_OK) return status;
  if (!d.runs) status = tw_fail(error, TW_USAGE, "the design has no runtime sequence");
  for (size_t i = 0; i < l->n && status == TW_OK; i++)
    if (d.unknown && l->argument[i].writable)
      status = tw_fail(error, TW_USAGE, "functions with only a given time produce no data; leave out argument %zu", i);
  if (status == TW_OK) status = make_memory(&d, l, memory, &n, error);
  if (status == TW_OK) status = xd_measure_run(c, &d.program, &none, memory, NULL, out, error);
  if (status == TW_FAILED) xd_mlir_locate(&d, error);
  if (status == TW_OK) {
    take_results(&d, l, memory);
    say(&d, l);
  }
  for (size_t i = 0; i < n; i++) free(memory[i]);
  xd_mlir_free(&d);
  return status;
}
