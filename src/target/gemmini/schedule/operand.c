/* operand.c - checks and places the operands A and B in the scratchpad. */
#include "target/gemmini/schedule/operand.h"

#include <ctype.h>
#include <stdio.h>

const char *gm_hold_name(gm_hold hold) {
  return hold == GM_STREAM ? "streamed" : hold == GM_PANEL ? "held as a panel" : "held whole";
}

int gm_widest_load(const gm_config *c) { return gm_max(1, c->dma_max_bytes / (c->dim * gm_input_bytes(c))); }

tw_status gm_operand_check(const gm_config *config, const gm_operand_plan *p, const gm_operand_use *use,
                           tw_error *error) {
  const int widest = gm_widest_load(config), low = tolower(use->name);
  if (p->width < 1 || p->width > widest)
    return tw_fail(error, TW_USAGE, "an mvin moves %d to %d columns", config->dim, config->dim * widest);
  if (p->hold == GM_PANEL && !use->outer)
    return tw_fail(error, TW_USAGE, "a resident panel of %c requires its tile loop outside; use '%s'", use->name,
                   use->outer_step);
  if (p->buffers < 1 || p->buffers > 3) return tw_fail(error, TW_USAGE, "%c has 1, 2 or 3 buffers", use->name);
  if (p->hold == GM_STREAM && use->prefetch >= p->buffers)
    return tw_fail(error, TW_USAGE, "loads %d step%s ahead need %d buffers of %c; use 'buffers %c=%d' first",
                   use->prefetch, use->prefetch == 1 ? "" : "s", use->prefetch + 1, use->name, low, use->prefetch + 1);
  if (p->hold == GM_PANEL && use->prefetch >= p->buffers * use->steps)
    return tw_fail(error, TW_USAGE,
                   "loads %d step%s ahead would overwrite the panel of %c in use; use 'buffers %c=2' or shorter steps",
                   use->prefetch, use->prefetch == 1 ? "" : "s", use->name, low);
  return TW_OK;
}

int gm_operand_slots(const gm_operand_plan *p, const gm_operand_use *use) {
  switch (p->hold) {
  case GM_STREAM: return p->buffers;
  case GM_PANEL: return gm_min(p->buffers, use->tiles) * use->steps;
  default: return use->tiles * use->steps;
  }
}

static tw_status place_in_banks(const gm_config *config, const gm_operand_plan *p, char name, gm_operand_layout *l,
                                tw_error *error) {
  const int bank_rows = gm_spad_bank_rows(config);
  for (int i = 0; i < p->n_banks; i++)
    if (p->bank[i] < 0 || p->bank[i] >= config->spad_banks)
      return tw_fail(error, TW_USAGE, "expected scratchpad banks 0 to %d (found %d)", config->spad_banks - 1,
                     p->bank[i]);
  l->banks = p->n_banks;
  l->base = p->bank[0] * bank_rows;
  l->bank_stride = p->n_banks > 1 ? (p->bank[1] - p->bank[0]) * bank_rows : 0;
  const long per_bank = (long)gm_ceil_div(l->slots, l->banks) * l->chunk_rows;
  if (per_bank > bank_rows)
    return tw_fail(error, TW_USAGE,
                   "%c needs %ld rows in each of its %d bank%s, but a bank has %d; use smaller tiles or more banks",
                   name, per_bank, l->banks, l->banks == 1 ? "" : "s", bank_rows);
  return TW_OK;
}

static bool share_a_bank(const gm_operand_plan *a, const gm_operand_plan *b) {
  for (int i = 0; i < a->n_banks; i++)
    for (int j = 0; j < b->n_banks; j++)
      if (a->bank[i] == b->bank[j]) return true;
  return false;
}

tw_status gm_operands_place(const gm_config *config, const gm_operand_plan *a, const gm_operand_plan *b,
                            gm_operand_layout *la, gm_operand_layout *lb, size_t *bytes, tw_error *error) {
  const long need = (long)la->slots * la->chunk_rows + (long)lb->slots * lb->chunk_rows;
  const int rows = gm_spad_rows(config), row_bytes = config->dim * gm_input_bytes(config);
  if (need > rows)
    return tw_fail(error, TW_USAGE,
                   "A and B need %ld KiB of scratchpad, but the machine has %d; use smaller tiles or fewer buffers, or "
                   "keep less resident",
                   need * row_bytes / 1024, config->spad_bytes / 1024);
  *bytes = (size_t)need * (size_t)row_bytes;
  if ((a->n_banks == 0) != (b->n_banks == 0))
    return tw_fail(error, TW_USAGE,
                   "banks are given for one of A and B; give banks for both, as in 'banks a=0,2 b=1,3'");
  if (a->n_banks == 0) {
    la->base = 0;
    la->banks = lb->banks = 1;
    lb->base = la->slots * la->chunk_rows;
    return TW_OK;
  }
  if (share_a_bank(a, b))
    return tw_fail(error, TW_USAGE, "A and B share a bank; give them different banks, as in 'banks a=0,2 b=1,3'");
  const tw_status status = place_in_banks(config, a, 'A', la, error);
  return status != TW_OK ? status : place_in_banks(config, b, 'B', lb, error);
}

int gm_slot_row(const gm_operand_layout *l, int slot) {
  return l->base + slot % l->banks * l->bank_stride + slot / l->banks * l->chunk_rows;
}

void gm_slot_text(const gm_operand_layout *l, const char *slot, char *out, size_t size) {
  char base[32] = "";
  if (l->base || l->slots == 1) snprintf(base, sizeof base, l->slots == 1 ? "%d" : "%d + ", l->base);
  if (l->slots == 1)
    snprintf(out, size, "%s", base);
  else if (l->banks == 1)
    snprintf(out, size, "%s%s * %d", base, slot, l->chunk_rows);
  else if (l->slots <= l->banks)
    snprintf(out, size, "%s%s * %d", base, slot, l->bank_stride);
  else
    snprintf(out, size, "%s%s %% %d * %d + %s / %d * %d", base, slot, l->banks, l->bank_stride, slot, l->banks,
             l->chunk_rows);
}
