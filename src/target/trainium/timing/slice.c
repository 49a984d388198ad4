/* slice.c - from random elements of the outputs back to all instructions on which they depend.
 *
 * A slice may be too large, but not too small: an instruction that overwrites a part of a tensor depends on the
 * previous writer. */
#include <stdlib.h>

#include "base/random.h"
#include "target/trainium/timing/hazards.h"

/* Is the byte at offset `at` from the region's start in the region? `d`: the first dimension to walk. */
static bool holds(const trn_region *r, int d, int64_t at) {
  const int64_t bytes = trn_element_bytes(r->type);
  if (d == r->n_dims) return at >= 0 && at < bytes;
  int64_t low = 0, high = bytes - 1;
  for (int k = d + 1; k < r->n_dims; k++) *(r->stride[k] < 0 ? &low : &high) += (r->size[k] - 1) * r->stride[k];
  for (int64_t i = 0; i < r->size[d]; i++) {
    const int64_t rest = at - i * r->stride[d];
    if (rest >= low && rest <= high && holds(r, d + 1, rest)) return true;
  }
  return false;
}

/* False if no instruction writes the byte. */
static bool mark_writers(const trn_program *p, int tensor, int64_t at, uint8_t *needed) {
  bool any = false;
  for (size_t i = 0; i < p->n_instructions; i++) {
    const trn_region *r = &p->instruction[i].operand[0];
    if (r->is_written && r->tensor == tensor && holds(r, 0, at - r->offset)) needed[i] = any = true;
  }
  return any;
}

static bool mark_outputs(const trn_program *p, uint64_t seed, uint8_t *needed) {
  tw_random r;
  bool *is_output = calloc(p->n_tensors + 1, sizeof *is_output), all = is_output != NULL;
  tw_random_seed(&r, seed);
  for (size_t i = 0; i < p->n_instructions && all; i++) is_output[p->instruction[i].operand[0].tensor] = true;
  for (size_t t = 0; t < p->n_tensors && all; t++) {
    const trn_tensor *x = &p->tensor[t];
    if (!x->is_argument || x->memory != TRN_HBM || !is_output[t]) continue;
    for (int part = 0; part < TRN_SLICE_PARTS && all; part++) {
      const int64_t from = x->bytes * part / TRN_SLICE_PARTS, to = x->bytes * (part + 1) / TRN_SLICE_PARTS;
      if (from < to) all = mark_writers(p, (int)t, tw_random_between(&r, from, to - 1), needed);
    }
  }
  free(is_output);
  return all;
}

/* Marks the instructions that marked instructions need, and counts them; false if an access needs data that no
 * region describes. */
static bool mark_needed(const trn_program *p, const trn_hazards *h, uint8_t *needed, size_t *n) {
  *n = 0;
  /* an instruction that overwrites a part of a needed result is needed, too */
  for (size_t i = 0; i < p->n_instructions; i++)
    for (size_t k = h->first[i]; k < h->end[i]; k++) {
      const int from = h->edge[k].instruction, tensor = p->instruction[i].operand[0].tensor;
      needed[i] |= needed[from] && p->instruction[from].operand[0].tensor == tensor;
    }
  for (size_t i = p->n_instructions; i-- > 0;) {
    const trn_instruction *in = &p->instruction[i];
    if (!needed[i]) continue;
    ++*n;
    if (in->opcode == TRN_ACCUMULATOR_READ && in->engine == TRN_SCALAR && !in->is_first) return false;
    for (size_t k = h->first[i]; k < h->end[i]; k++) {
      const int from = h->edge[k].instruction;
      if (!h->edge[k].is_order || p->instruction[from].operand[0].tensor == in->operand[0].tensor) needed[from] = 1;
    }
  }
  return true;
}

tw_status trn_slice(const trn_program *p, uint64_t seed, uint8_t **out, tw_error *error) {
  trn_hazards h = {0};
  size_t n;
  uint8_t *needed = calloc(p->n_instructions + 1, 1);
  *out = NULL;
  if (!needed) return tw_no_memory(error, NULL);
  const bool is_known = mark_outputs(p, seed, needed);
  const tw_status status = is_known ? trn_find_program_hazards(p, &h, error) : TW_OK;
  if (is_known && status == TW_OK && mark_needed(p, &h, needed, &n) && n < p->n_instructions / 2)
    *out = needed;
  else
    free(needed);
  trn_hazards_free(&h);
  return status;
}
