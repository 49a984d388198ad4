/* races.c - finds iterations of a parallel loop that read data which another iteration has written. neuronx-cc takes
 * the iterations of nl.affine_range in any order, splits and merges them.
 *
 * Only sums may cross iterations: matrix products in PSUM, and sums in place, element by element. */
#include "target/trainium/timing/hazards.h"

/* The two different iterations of one loop that hold a and b; false: no loop has them. */
static bool are_apart(const trn_program *p, int a, int b, trn_scope *of_a, trn_scope *of_b) {
  while (a != b) { /* a scope comes after its parent */
    const trn_scope x = p->scope[a], y = p->scope[b];
    if (x.loop == y.loop && x.parent == y.parent) {
      *of_a = x;
      *of_b = y;
      return true;
    }
    if (a > b)
      a = x.parent;
    else
      b = y.parent;
  }
  return false;
}

/* True if an instruction adds to the values that it reads. */
static bool is_sum(const trn_instruction *in) {
  bool reads_result = false;
  for (int k = 1; k < in->n_operands; k++) reads_result |= in->operand[k].tensor == in->operand[0].tensor;
  return reads_result && in->opcode == TRN_TENSOR_TENSOR;
}

static tw_status check_edges(const trn_program *p, const trn_hazards *h, tw_error *error) {
  for (size_t i = 0; i < p->n_instructions; i++)
    for (size_t k = h->first[i]; k < h->end[i]; k++) {
      const trn_instruction *to = &p->instruction[i], *from = &p->instruction[h->edge[k].instruction];
      trn_scope reader, writer;
      if (h->edge[k].is_order || !to->scope || !from->scope || (is_sum(to) && to->line == from->line)) continue;
      if (are_apart(p, to->scope, from->scope, &reader, &writer))
        return tw_fail(error, TW_FAILED,
                       "line %d: %s reads what line %d wrote in another iteration of the affine_range in line %d "
                       "(iterations %d and %d); iterations may run in any order: use sequential_range",
                       to->line, trn_opcode_name(to->opcode), from->line, reader.line, reader.iteration,
                       writer.iteration);
    }
  return TW_OK;
}

tw_status trn_check_races(const trn_program *p, tw_error *error) {
  trn_hazards h;
  if (p->n_scopes < 2) return TW_OK;
  tw_status status = trn_find_program_hazards(p, &h, error);
  if (status == TW_OK) status = check_edges(p, &h, error);
  trn_hazards_free(&h);
  return status;
}
