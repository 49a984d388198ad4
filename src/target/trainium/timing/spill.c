/* spill.c - walks a program in order. When a memory is full, the tensor whose next access is last moves out of it, unless a
 * copy is there, and is loaded to a new place before that access: Belady's rule. Copies of PSUM are in SBUF, copies of SBUF
 * in HBM. A tile that one transfer loaded from an argument is loaded again: a published profile of a GEMM on a trn1 reads
 * 9.06 GB and spills nothing. neuronx-cc spills in the older dialect; which tensors it chooses is not documented. */
#include "target/trainium/timing/compiler.h"

#include "base/blocks.h"

typedef struct state {
  int place, copy;             /* its tensors in the memory and outside; -1: none */
  size_t next, used;           /* instructions of its next access (SIZE_MAX: none) and of its last one */
  bool is_changed;             /* since it was copied; a tensor in HBM: by any instruction */
  const trn_instruction *load; /* the only write to it, from HBM that no instruction changes; NULL: none */
} state;

typedef struct spiller {
  trn_program *out;
  state *tensor;
  trn_memory memory;
  int *resident; /* tensors in the memory */
  size_t n_resident;
  int64_t bytes, limit, moved;
} spiller;

static trn_region whole(const trn_tensor *t, int index, bool is_written) {
  const int64_t size = trn_element_bytes(t->type);
  return (trn_region){.tensor = index,
                      .is_written = is_written,
                      .is_read = !is_written,
                      .type = t->type,
                      .partitions = t->partitions,
                      .n_dims = 1,
                      .size = {t->bytes / size},
                      .stride = {size}};
}

static bool add_transfer(spiller *s, int to, int from, const trn_instruction *at) {
  const trn_tensor *t = s->out->tensor;
  const bool by_dma = s->memory == TRN_SBUF;
  const int64_t bytes = t[to].bytes > t[from].bytes ? t[to].bytes : t[from].bytes; /* of HBM, or of a partition */
  s->moved += by_dma ? bytes : bytes * t[to].partitions;
  return trn_program_add(s->out, &(trn_instruction){.opcode = by_dma ? TRN_DMA : TRN_COPY,
                                                    .engine = by_dma ? TRN_SYNC : TRN_ENGINE_ANY,
                                                    .line = at->line,
                                                    .is_spill = true,
                                                    .elements = bytes / trn_element_bytes(t[to].type),
                                                    .partitions = by_dma ? 1 : t[to].partitions,
                                                    .n_operands = 2,
                                                    .operand = {whole(&t[to], to, true), whole(&t[from], from, false)},
                                                    .first_wait = -1}) >= 0;
}

static void leave(spiller *s, size_t k) {
  state *t = &s->tensor[s->resident[k]];
  s->bytes -= s->out->tensor[t->place].bytes;
  t->place = -1;
  s->resident[k] = s->resident[--s->n_resident];
}

/* Makes room for a tensor that instruction i needs. */
static tw_status make_room(spiller *s, int64_t bytes, size_t i, const trn_instruction *at, tw_error *error) {
  while (s->bytes + bytes > s->limit) {
    size_t victim = SIZE_MAX;
    for (size_t k = 0; k < s->n_resident; k++) {
      const state *t = &s->tensor[s->resident[k]];
      if (t->used == i || s->out->tensor[t->place].address >= 0) continue;
      if (victim == SIZE_MAX || t->next > s->tensor[s->resident[victim]].next) victim = k;
    }
    if (victim == SIZE_MAX)
      return tw_fail(error, TW_FAILED, "line %d: the operands do not fit in %s", at->line, trn_memory_name(s->memory));
    state *t = &s->tensor[s->resident[victim]];
    if (t->is_changed && !t->load) {
      trn_tensor copy = s->out->tensor[t->place];
      copy.memory = s->memory == TRN_SBUF ? TRN_HBM : TRN_SBUF;
      if (copy.memory == TRN_HBM) copy.bytes *= copy.partitions, copy.partitions = 1;
      if (t->copy < 0) t->copy = trn_program_add_tensor(s->out, &copy);
      if (t->copy < 0 || !add_transfer(s, t->copy, t->place, at)) return tw_no_memory(error, NULL);
      t->is_changed = false;
    }
    leave(s, victim);
  }
  return TW_OK;
}

static tw_status add_instruction(spiller *s, const trn_instruction *in, size_t i, const size_t *next, tw_error *error) {
  trn_instruction placed = *in;
  for (int k = 0; k < in->n_operands; k++) s->tensor[in->operand[k].tensor].used = i;
  for (int k = 0; k < in->n_operands; k++) {
    const int index = in->operand[k].tensor;
    state *t = &s->tensor[index];
    trn_tensor own = s->out->tensor[index];
    if (own.memory != s->memory) continue;
    if (t->place < 0) {
      const tw_status status = make_room(s, own.bytes, i, in, error);
      if (status != TW_OK) return status;
      t->place = t->copy < 0 && !t->load ? index : trn_program_add_tensor(s->out, &own);
      if (t->place < 0 || (t->copy >= 0 && !add_transfer(s, t->place, t->copy, in))) return tw_no_memory(error, NULL);
      trn_instruction again = t->load ? *t->load : *in;
      again.operand[0].tensor = t->place;
      if (t->load && trn_program_add(s->out, &again) < 0) return tw_no_memory(error, NULL);
      s->resident[s->n_resident++] = index;
      s->bytes += own.bytes;
    }
    placed.operand[k].tensor = t->place;
    t->next = next[k];
    if (!in->operand[k].is_written) continue;
    const bool loads = s->memory == TRN_SBUF && in->opcode == TRN_DMA && in->n_operands == 2 && !t->is_changed;
    t->load = loads && t->copy < 0 && !s->tensor[in->operand[1].tensor].is_changed ? in : NULL;
    t->is_changed = true;
  }
  if (trn_program_add(s->out, &placed) < 0) return tw_no_memory(error, NULL);
  for (size_t k = s->n_resident; k-- > 0;)
    if (s->tensor[s->resident[k]].next == SIZE_MAX) leave(s, k);
  return TW_OK;
}

tw_status trn_spill(const trn_program *p, trn_memory memory_of, int64_t limit, trn_program *out, int64_t *moved,
                    tw_error *error) {
  tw_blocks memory = {0};
  spiller s = {.out = out, .memory = memory_of, .limit = limit};
  size_t *next = tw_blocks_take(&memory, p->n_instructions * sizeof *next * TRN_OPERANDS_MAX + 1);
  s.tensor = tw_blocks_take(&memory, p->n_tensors * sizeof *s.tensor + 1);
  s.resident = tw_blocks_take(&memory, p->n_tensors * sizeof *s.resident + 1);
  *out = (trn_program){.is_older = p->is_older, .keeps_loops = p->keeps_loops};
  tw_status status = next && s.tensor && s.resident ? TW_OK : tw_no_memory(error, NULL);
  for (size_t t = 0; t < p->n_tensors && status == TW_OK; t++) {
    s.tensor[t] = (state){.place = -1, .copy = -1, .next = SIZE_MAX, .used = SIZE_MAX};
    if (trn_program_add_tensor(out, &p->tensor[t]) < 0) status = tw_no_memory(error, NULL);
  }
  for (size_t k = 1; k < p->n_scopes && status == TW_OK; k++)
    if (trn_program_add_scope(out, &p->scope[k]) < 0) status = tw_no_memory(error, NULL);
  for (size_t i = p->n_instructions; i-- > 0 && status == TW_OK;) {
    const trn_instruction *in = &p->instruction[i];
    for (int k = 0; k < in->n_operands; k++)
      next[i * TRN_OPERANDS_MAX + (size_t)k] = s.tensor[in->operand[k].tensor].next;
    for (int k = 0; k < in->n_operands; k++) {
      state *t = &s.tensor[in->operand[k].tensor];
      t->next = i;
      t->is_changed |= in->operand[k].is_written && p->tensor[in->operand[k].tensor].memory == TRN_HBM;
    }
  }
  for (size_t i = 0; i < p->n_instructions && status == TW_OK; i++)
    status = add_instruction(&s, &p->instruction[i], i, next + i * TRN_OPERANDS_MAX, error);
  *moved += s.moved;
  tw_blocks_free(&memory);
  if (status != TW_OK) trn_program_free(out);
  return status;
}
