/* merge.c - neuronx-cc splits a loop over independent iterations, so that an instruction of few elements does the work of
 * several iterations at once: the maxima of four tiles are one instruction, and so are the copies of four transposes in a
 * bank and the stores of eight tiles. All that it needs must be there, which makes iterations wait for each other.
 *
 * Candidates have one line of the source. Two instructions may be merged if no path leads from one to the other: then
 * they have the same depth, the number of candidates of the line on the longest path to them. After each line the order
 * is made anew, by the least number in the program first, so that what comes next sees paths through merged
 * instructions.
 *
 * If iterations continue each other in every operand, their merged instruction is merely longer. Otherwise, as in
 * overlapping windows and reductions, the loop becomes a dimension of the merged instruction. Then all iterations of the
 * innermost loop must fit, as a published profile shows. */
#include "target/trainium/timing/compiler.h"

#include <string.h>

#include "base/blocks.h"
#include "base/heap.h"

enum {
  ELEMENTS_MAX = 512,        /* elements of a partition that one instruction steps over: a bank of PSUM */
  TRANSFER_BYTES_MAX = 4096, /* bytes of a partition that one transfer moves: the traces have 8 x 512 and 2 x 2048 */
  KEYS_MAX = 64,
  INSTRUCTIONS_MAX = 1 << 18, /* longer programs are not merged, because each line costs a walk over the program */
};

typedef struct merger {
  trn_compiled *c;
  const trn_hazards *h;
  size_t n, n_loops;
  uint8_t *key; /* 0: no candidate */
  int *pieces;  /* for each loop, the number of the line's candidates that do not continue the previous candidate */
  int *depth, *next /* member */, *waiting, *open;
  tw_heap ready; /* nodes */
} merger;

/* The largest number of instructions like this one that can be merged. */
static int64_t most_of(const trn_compiled *c, const trn_instruction *in) {
  if (in->opcode != TRN_DMA) return ELEMENTS_MAX / (in->elements > 0 ? in->elements : 1);
  for (int k = 0; k < in->n_operands; k++) {
    const trn_region *r = &in->operand[k];
    if (c->program->tensor[r->tensor].memory != TRN_HBM)
      return TRANSFER_BYTES_MAX / (trn_region_elements(r) * trn_element_bytes(r->type));
  }
  return 0;
}

static bool is_candidate(const trn_compiled *c, size_t i) {
  const trn_instruction *in = &c->program->instruction[i];
  if (c->is_removed[i] || in->is_spill || in->block || in->line <= 0 || in->first_wait >= 0 || most_of(c, in) < 2)
    return false;
  for (int k = 0; k < in->n_operands; k++)
    if (in->operand[k].is_pointer) return false; /* the scalar operand differs between iterations */
  return in->opcode != TRN_MATMUL && in->opcode != TRN_PE_TRANSPOSE && in->opcode != TRN_MEMSET;
}

static bool are_alike(const trn_instruction *a, const trn_instruction *b) {
  return a->line == b->line && a->opcode == b->opcode && a->elements == b->elements && a->engine == b->engine &&
         a->n_operands == b->n_operands;
}

/* Whether each operand begins where the operand of the previous iteration ends, or is in another tensor. */
static bool continues(const trn_instruction *before, const trn_instruction *in) {
  bool all = in->opcode != TRN_REDUCE; /* its iterations always need a dimension */
  for (int k = 0; k < in->n_operands; k++) {
    const trn_region *a = &before->operand[k], *b = &in->operand[k];
    all &= a->tensor != b->tensor || b->offset == a->offset + trn_region_elements(a) * trn_element_bytes(a->type);
  }
  return all;
}

/* Drops the candidates of a line in loops that would become a dimension of the instruction and do not fit. */
static void drop_long_loops(merger *m, int key) {
  const trn_program *p = m->c->program;
  memset(m->pieces, 0, m->n_loops * sizeof *m->pieces);
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0, before = 0; i < m->n; i++) {
      const trn_instruction *in = &p->instruction[i];
      if (m->key[i] != key || !in->scope || in->opcode == TRN_DMA) continue;
      int *pieces = &m->pieces[p->scope[in->scope].loop];
      if (!pass)
        *pieces += !*pieces || !continues(&p->instruction[before], in);
      else if (*pieces > most_of(m->c, in))
        m->key[i] = 0;
      before = i;
    }
}

/* Numbers the lines with candidates from 1; returns their number. */
static int find_keys(merger *m) {
  size_t sample[KEYS_MAX];
  int keys = 0;
  for (size_t i = 0; i < m->n; i++) {
    if (!is_candidate(m->c, i)) continue;
    int k = 0;
    while (k < keys && !are_alike(&m->c->program->instruction[sample[k]], &m->c->program->instruction[i])) k++;
    if (k == KEYS_MAX) continue;
    if (k == keys) sample[keys++] = i;
    m->key[i] = (uint8_t)(k + 1);
  }
  return keys;
}

/* Calls for each member of a node. */
#define EACH_MEMBER(m, i, node) for (int i = (node); i >= 0; i = (m)->next[i]) /* NOLINT(bugprone-macro-parentheses) */

static void find_depths(merger *m, int key) {
  for (size_t p = 0; p < m->n; p++) {
    const int node = m->c->order[p];
    if (m->c->leader[node] != node) continue;
    int depth = 0;
    EACH_MEMBER(m, i, node)
    for (size_t k = m->h->first[i]; k < m->h->end[i]; k++) {
      const int from = m->c->leader[m->h->edge[k].instruction];
      if (from != node && m->depth[from] > depth) depth = m->depth[from];
    }
    m->depth[node] = depth + (m->key[node] == key);
  }
}

/* Merges neighbours of the same depth; true if it merged any. */
static bool join(merger *m, int key, int at_most) {
  int *last = m->open, *count = m->waiting; /* for each depth the last open node, and its number of members */
  bool joined = false;
  for (size_t d = 0; d <= m->n; d++) last[d] = -1;
  for (size_t p = 0; p < m->n; p++) {
    const int i = m->c->order[p];
    if (m->key[i] != key) continue;
    const int d = m->depth[i], open = last[d];
    if (open < 0 || count[d] >= at_most || count[d] >= most_of(m->c, &m->c->program->instruction[i])) {
      last[d] = i;
      count[d] = 1;
      continue;
    }
    int tail = open;
    while (m->next[tail] >= 0) tail = m->next[tail];
    m->next[tail] = i;
    m->c->leader[i] = open;
    m->c->members[open]++;
    count[d]++;
    joined = true;
  }
  return joined;
}

/* Orders instructions by the least possible number, with the members of a group together. */
static void make_order(merger *m) {
  memset(m->waiting, 0, m->n * sizeof *m->waiting);
  for (size_t i = 0; i < m->n; i++)
    for (size_t k = m->h->first[i]; k < m->h->end[i]; k++)
      if (m->c->leader[m->h->edge[k].instruction] != m->c->leader[i]) m->waiting[m->c->leader[i]]++;
  for (size_t i = 0; i < m->n; i++)
    if (m->c->leader[i] == (int)i && !m->waiting[i]) tw_heap_push(&m->ready, (tw_heap_entry){0, 0, (int)i});
  for (size_t placed = 0; placed < m->n;) { /* no group waits for itself */
    const int node = tw_heap_pop(&m->ready).value;
    EACH_MEMBER(m, i, node) m->c->order[placed++] = i;
    EACH_MEMBER(m, i, node)
    for (size_t k = m->h->first_successor[i]; k < m->h->first_successor[i + 1]; k++) {
      const int to = m->c->leader[m->h->successor[k]];
      if (to != node && --m->waiting[to] == 0) tw_heap_push(&m->ready, (tw_heap_entry){0, 0, to});
    }
  }
}

tw_status trn_merge_iterations(trn_compiled *c, const trn_hazards *h, int at_most, tw_error *error) {
  merger m = {.c = c, .h = h, .n = c->program->n_instructions};
  trn_forget_groups(c);
  if (at_most < 2 || m.n > INSTRUCTIONS_MAX) return TW_OK;
  tw_blocks memory = {0};
  m.key = tw_blocks_take(&memory, m.n + 1);
  for (size_t k = 0; k < c->program->n_scopes; k++)
    if ((size_t)c->program->scope[k].loop >= m.n_loops) m.n_loops = (size_t)c->program->scope[k].loop + 1;
  m.pieces = tw_blocks_take(&memory, (m.n_loops + 1) * sizeof *m.pieces);
  m.ready.entry = tw_blocks_take(&memory, (m.n + 1) * sizeof *m.ready.entry);
  int *each = tw_blocks_take(&memory, 4 * (m.n + 1) * sizeof *each);
  tw_status status = TW_OK;
  if (!m.key || !m.pieces || !m.ready.entry || !each) {
    status = tw_no_memory(error, "the timing of a kernel");
  } else {
    m.depth = each, m.next = each + m.n + 1, m.waiting = m.next + m.n + 1, m.open = m.waiting + m.n + 1;
    for (size_t i = 0; i < m.n; i++) m.next[i] = -1;
    const int keys = find_keys(&m);
    for (int key = 1; key <= keys; key++) {
      drop_long_loops(&m, key);
      find_depths(&m, key);
      if (join(&m, key, at_most)) make_order(&m);
    }
  }
  tw_blocks_free(&memory);
  return status;
}
