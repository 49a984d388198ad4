/* plain_rows.c - layernorm and softmax of rows of any length, on any machine: a block for each row, which it reads once
 * for each pass; functions of any number of elements; and reductions, by the tile kernel of the empty schedule.
 * kernels/plain_layernorm.cu.in, plain_softmax.cu.in and plain_elementwise.cu.in are the kernels. If tile kernels support a problem, the plainest tile kernel is the baseline. */
#include <string.h>

#include "gpu/common/rows_language.h"
#include "gpu/nvidia/reduce.h"
#include "op/layernorm.h"
#include "target/cuda/plain.h"

static void set_layernorm(tw_slots *s, const tw_problem *p) {
  const tw_norm norm = (tw_norm)tw_problem_int(p, "norm");
  const double dropout = tw_problem_real(p, "dropout");
  tw_slots_flag(s, "residual", tw_problem_int(p, "residual"));
  tw_slots_flag(s, "about_zero", norm != TW_NORM_LAYER);
  tw_slots_flag(s, "abs", norm == TW_NORM_ABS);
  tw_slots_flag(s, "l2", norm == TW_NORM_L2);
  tw_slots_flag(s, "weight", tw_problem_int(p, "affine"));
  tw_slots_flag(s, "bias", tw_problem_int(p, "affine") && norm == TW_NORM_LAYER);
  tw_slots_flag(s, "grouped", tw_problem_int(p, "groups") > 1 || tw_problem_int(p, "span") > 1);
  tw_slots_number(s, "groups", tw_problem_int(p, "groups"));
  tw_slots_number(s, "span", tw_problem_int(p, "span"));
  tw_slots_flag(s, "inner", tw_problem_int(p, "inner") > 1);
  tw_slots_flag(s, "dropout", dropout > 0);
  tw_slots_number(s, "threshold", (unsigned)(dropout * 0x1p32));
}

bool cuda_has_plain_rows(const tw_problem *p) {
  return (strcmp(p->op->name, "layernorm") == 0 && !tw_problem_int(p, "quantize")) ||
         strcmp(p->op->name, "softmax") == 0 || strcmp(p->op->name, "elementwise") == 0 ||
         strcmp(p->op->name, "reduce") == 0;
}

static tw_status plain_reduce(const tw_problem *p, char **source, tw_error *error) {
  tw_text t = {0};
  const tw_status status = tw_tile_reduce_plain(p, &t, error);
  *source = status == TW_OK ? tw_text_take(&t) : NULL;
  tw_text_free(&t);
  return status != TW_OK || *source ? status : tw_no_memory(error, "the source of a kernel");
}

tw_status cuda_plain_rows(const tw_problem *p, char **source, tw_error *error) {
  if (strcmp(p->op->name, "reduce") == 0) return plain_reduce(p, source, error);
  const cuda_plain_words a = cuda_plain_words_of(tw_problem_type(p, "a"));
  const bool softmax = strcmp(p->op->name, "softmax") == 0, elementwise = strcmp(p->op->name, "elementwise") == 0;
  tw_slots s = {0};
  tw_slots_text(&s, "stored", a.stored);
  tw_slots_text(&s, "load", a.load);
  tw_slots_text(&s, "store", a.store);
  if (elementwise) {
    tw_tile_elementwise_slots(p, &s);
    return cuda_plain_fill(&s, "cuda/kernels/plain_elementwise.cu.in", source, error);
  }
  if (softmax) tw_slots_flag(&s, "log", tw_problem_int(p, "log"));
  if (!softmax) set_layernorm(&s, p);
  return cuda_plain_fill(&s, softmax ? "cuda/kernels/plain_softmax.cu.in" : "cuda/kernels/plain_layernorm.cu.in",
                         source, error);
}
