/* suppose.c - streams with one hypothetical improvement; see suppose.h. */
#include "target/gemmini/rewrite/suppose.h"

#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

/* ---- operands in one bank ---- */

enum { WEIGHTS = 1, ACTIVATIONS = 2 }; /* roles of a load's rows */

typedef struct banks {
  gm_stream *stream;
  uint32_t rows;  /* rows of the unchanged scratchpad */
  size_t *writer; /* by row: 1 + the load that wrote it last; 0: none */
  uint8_t *role;  /* by command: roles of each load */
  gm_change *change;
} banks;

/* The roles of all loads that wrote these rows; also adds the role `more` to them. */
static int roles_of(banks *b, const gm_touch *t, int more) {
  int roles = 0;
  for (uint32_t k = 0; k < t->rows; k++) {
    uint32_t row = t->first + k * t->stride;
    size_t w = row < b->rows ? b->writer[row] : 0;
    if (!w) return ACTIVATIONS; /* in the accumulator, or written before the stream: it stays in place */
    roles |= b->role[w - 1] |= (uint8_t)more;
  }
  return roles;
}

/* Follows the places of data. The first pass finds the roles. With `move`, weights go to the upper half of the
 * scratchpad. False for streams that cannot be analysed. */
static bool follow_rows(banks *b, bool move) {
  gm_stream *s = b->stream;
  gm_decoder d = {.config = s->config};
  gm_access a;
  const char *why;
  int weights_bank = -1;
  memset(b->writer, 0, b->rows * sizeof *b->writer);
  for (size_t i = 0; i < s->n; i++) {
    gm_event *e = &s->event[i];
    if (!gm_decode_access(&d, e, &a, &why)) return false;
    for (int t = 0; gm_is_load(e->funct) && t < a.n_writes; t++)
      for (uint32_t k = 0; k < a.write[t].rows; k++)
        if (a.write[t].first + k < b->rows) b->writer[a.write[t].first + k] = i + 1;
    if (gm_is_load(e->funct) && move && b->role[i] == WEIGHTS) e->rs2 += b->rows;
    if (e->funct == GM_PRELOAD) {
      weights_bank = gm_bank_of(s->config, e->rs1);
      if (a.n_reads && roles_of(b, &a.read[0], WEIGHTS) == WEIGHTS && move) e->rs1 += b->rows;
    }
    if (!gm_is_compute(e->funct)) continue;
    if (!d.registers.execute.weight_stationary) return false; /* both operands enter together */
    for (int t = 0; t < a.n_reads; t++) roles_of(b, &a.read[t], ACTIVATIONS);
    if (!move && weights_bank >= 0 && gm_bank_of(s->config, e->rs1) == weights_bank && !b->change->count++)
      b->change->first = i;
  }
  return true;
}

gm_config gm_with_more_banks(const gm_config *c) {
  gm_config more = *c;
  more.spad_bytes *= 2;
  more.spad_banks *= 2;
  return more;
}

tw_status gm_suppose_separate_banks(gm_stream *s, gm_change *change, tw_error *error) {
  banks b = {.stream = s, .rows = (uint32_t)gm_spad_rows(s->config) / 2, .change = change};
  *change = (gm_change){0};
  b.writer = tw_new(b.rows, sizeof *b.writer);
  b.role = tw_new(s->n + 1, sizeof *b.role);
  tw_status status = b.writer && b.role ? TW_OK : tw_no_memory(error, "the analysis");
  if (status == TW_OK && (!follow_rows(&b, false) || !follow_rows(&b, true)))
    status = tw_fail(error, TW_FAILED, "the operands of the products cannot be analysed");
  free(b.writer);
  free(b.role);
  return status;
}

/* ---- the core ---- */

tw_status gm_suppose_bare_core(gm_stream *s, gm_change *change, tw_error *error) {
  (void)error;
  uint32_t longest = 0;
  *change = (gm_change){0};
  for (size_t i = 0; i < s->n; i++) {
    gm_event *e = &s->event[i];
    if (e->gap <= GM_COMMAND_GAP) continue;
    if (e->gap > longest) {
      longest = e->gap;
      change->first = i;
    }
    change->count++;
    e->gap = GM_COMMAND_GAP;
  }
  return TW_OK;
}

/* ---- loads ---- */

typedef struct known_load { /* identifies equal loads */
  uint64_t address, size, registers;
} known_load;

static known_load describe_load(const gm_event *e, const gm_load_registers *r) {
  static const uint64_t ODD = 0x9e3779b97f4a7c15ull;
  uint32_t scale;
  memcpy(&scale, &r->scale, sizeof scale);
  const uint64_t fields[] = {r->stride, scale, r->shrink, (uint64_t)r->block_stride, (uint64_t)r->pixel_repeats};
  known_load k = {.address = e->rs1, .size = e->rs2 >> 32};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) k.registers = (k.registers ^ fields[i]) * ODD;
  return k;
}

/* Is it in the table? Adds it if not. Address 0 marks free entries. */
static bool seen_before(known_load *table, size_t slots, known_load k) {
  size_t at = (size_t)((k.address ^ k.size << 7 ^ k.registers) * 0x9e3779b97f4a7c15ull >> 20) & (slots - 1);
  for (; table[at].address; at = (at + 1) & (slots - 1))
    if (table[at].address == k.address && table[at].size == k.size && table[at].registers == k.registers) return true;
  table[at] = k;
  return false;
}

tw_status gm_suppose_everything_stays(gm_stream *s, gm_change *change, tw_error *error) {
  gm_decoder d = {.config = s->config};
  gm_access a;
  const char *why;
  size_t slots = 16;
  *change = (gm_change){0};
  while (slots < 2 * s->n) slots *= 2;
  known_load *table = tw_new(slots, sizeof *table);
  if (!table) return tw_no_memory(error, "the analysis");
  for (size_t i = 0; i < s->n; i++) {
    gm_event *e = &s->event[i];
    uint64_t offset;
    if (!gm_decode_access(&d, e, &a, &why)) break;
    if (!gm_is_load(e->funct) || !e->rs1 || gm_is_acc(gm_local(e->rs2))) continue;
    int o = gm_stream_operand(s, e->rs1, 1, &offset);
    if (o < 0 || s->operand[o].is_output) continue;
    if (!seen_before(table, slots, describe_load(e, &d.registers.load[gm_load_state(e->funct)]))) continue;
    e->dead = true;
    if (!change->count++) change->first = i;
  }
  free(table);
  return TW_OK;
}
