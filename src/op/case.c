/* case.c - a problem with its inputs and its expected outputs. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pages.h"
#include "base/parallel.h"
#include "op/ops.h"

enum { ALIGNMENT = 64 };

/* Memory must hold the case, a copy for the machine that runs it, and the arrays of the reference. The problem is
 * rejected before the system begins to swap or to kill processes. */
static tw_status check_room(const tw_case *c, tw_error *error) {
  double bytes = 0, room = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGE_SIZE);
  for (size_t i = 0; i < c->n_operands; i++) bytes += 4 * (double)c->operand[i].bytes;
  if (bytes <= room) return TW_OK;
  char text[512];
  tw_problem_print(c->problem, text, sizeof text);
  return tw_fail(
      error, TW_USAGE,
      "%s is too large; checking it takes about %.1f GB of memory, and this computer has %.1f GB; choose smaller sizes",
      text, bytes * 1e-9, room * 1e-9);
}

/* Operands whose memory is not written yet. */
static tw_status new_operands(const tw_problem *problem, uint64_t seed, tw_case *made, tw_error *error) {
  *made = (tw_case){.problem = problem, .seed = seed};
  tw_status status = problem->op->validate(problem, error);
  if (status != TW_OK) return status;
  made->n_operands = problem->op->operands(problem, made->operand);
  status = check_room(made, error);
  for (size_t i = 0; status == TW_OK && i < made->n_operands; i++) {
    size_t bytes = made->operand[i].bytes;
    made->buffer[i] = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    if (made->buffer[i])
      tw_wish_large_pages(made->buffer[i], bytes);
    else
      status =
          tw_fail(error, TW_NO_MEMORY, "out of memory: %zu MB for operand %s", bytes / 1000000, made->operand[i].name);
  }
  if (status != TW_OK) tw_case_free(made);
  return status;
}

tw_status tw_case_copy(const tw_case *from, const tw_problem *problem, tw_case *out, tw_error *error) {
  const tw_status status = new_operands(problem, from->seed, out, error);
  for (size_t i = 0; status == TW_OK && i < out->n_operands; i++)
    memcpy(out->buffer[i], from->buffer[i], out->operand[i].bytes);
  out->has_expected = status == TW_OK && from->has_expected;
  return status;
}

tw_status tw_case_make_inputs(const tw_problem *problem, uint64_t seed, tw_case *out, tw_error *error) {
  tw_case made;
  const tw_status status = new_operands(problem, seed, &made, error);
  if (status != TW_OK) return status;
  for (size_t i = 0; i < made.n_operands && !tw_is_stop_asked(); i++)
    memset(made.buffer[i], TW_POISON, made.operand[i].bytes); /* gaps between the rows of outputs stay poisoned */
  const tw_stop *before = tw_parallel_until(tw_stop_of_thread());
  if (!tw_is_stop_asked()) problem->op->inputs(problem, seed, made.buffer);
  tw_parallel_until(before);
  if (tw_is_stop_asked()) {
    tw_case_free(&made);
    return tw_fail(error, TW_INTERRUPTED, "interrupted while inputs are made");
  }
  *out = made;
  return TW_OK;
}

tw_status tw_case_make(const tw_problem *problem, uint64_t seed, int threads, tw_case *out, tw_error *error) {
  const tw_status status = tw_case_make_inputs(problem, seed, out, error);
  if (status != TW_OK) return status;
  const tw_stop *before = tw_parallel_until(tw_stop_of_thread());
  problem->op->reference(problem, out->buffer, threads > 0 ? threads : 1);
  tw_parallel_until(before);
  if (tw_is_stop_asked()) {
    tw_case_free(out);
    return tw_fail(error, TW_INTERRUPTED, "interrupted while expected outputs are computed");
  }
  out->has_expected = true;
  return TW_OK;
}

void tw_case_free(tw_case *c) {
  for (size_t i = 0; i < c->n_operands; i++) {
    free(c->buffer[i]);
    c->buffer[i] = NULL;
  }
  c->n_operands = 0;
}
