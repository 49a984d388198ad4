/* operand.c - checks and places the operands A and B in the scratchpad. */
#include "target/gemmini/schedule/operand.h"

#include <ctype.h>
#include <stdio.h>

const char *gm_hold_name(gm_hold hold) {
  return hold == GM_STREAM ? "streamed" : hold == GM_PANEL ? "held as a panel" : "held whole";
}

int gm_widest_load(const gm_config *c) { return gm_max(1, c->dma_max_bytes / (c->dim * gm_input_bytes(c))); }

static tw_status check(const gm_config *config, const gm_operand *o, tw_error *error) {
  const gm_operand_plan *p = o->plan;
  const int widest = gm_widest_load(config), low = tolower(o->name);
  if (p->width < 1 || p->width > widest)
    return tw_fail(error, TW_USAGE, "an mvin moves %d to %d columns", config->dim, config->dim * widest);
  if (p->hold == GM_PANEL && !o->outer)
    return tw_fail(error, TW_USAGE, "a resident panel of %c requires its tile loop outside; use '%s'", o->name,
                   o->outer_step);
  if (p->buffers < 1 || p->buffers > 3) return tw_fail(error, TW_USAGE, "%c has 1, 2 or 3 buffers", o->name);
  if (p->hold == GM_STREAM && o->prefetch >= p->buffers)
    return tw_fail(error, TW_USAGE, "loads %d step%s ahead need %d buffers of %c; use 'buffers %c=%d' first",
                   o->prefetch, o->prefetch == 1 ? "" : "s", o->prefetch + 1, o->name, low, o->prefetch + 1);
  if (p->hold == GM_PANEL && o->prefetch >= p->buffers * o->steps)
    return tw_fail(error, TW_USAGE,
                   "loads %d step%s ahead would overwrite the panel of %c in use; use 'buffers %c=2' or shorter steps",
                   o->prefetch, o->prefetch == 1 ? "" : "s", o->name, low);
  return TW_OK;
}

static int count_slots(const gm_operand *o) {
  switch (o->plan->hold) {
  case GM_STREAM: return o->plan->buffers;
  case GM_PANEL: return gm_min(o->plan->buffers, o->tiles) * o->steps;
  default: return o->tiles * o->steps;
  }
}

static tw_status place_in_banks(const gm_config *config, const gm_operand *o, tw_error *error) {
  const int bank_rows = gm_spad_bank_rows(config), *bank = o->plan->bank, n = o->plan->n_banks;
  gm_operand_layout *l = o->layout;
  for (int i = 0; i < n; i++)
    if (bank[i] < 0 || bank[i] >= config->spad_banks)
      return tw_fail(error, TW_USAGE, "expected scratchpad banks 0 to %d (found %d)", config->spad_banks - 1, bank[i]);
  l->banks = n;
  l->base = bank[0] * bank_rows;
  l->bank_stride = n > 1 ? (bank[1] - bank[0]) * bank_rows : 0;
  const long per_bank = (long)gm_ceil_div(l->slots, l->banks) * l->chunk_rows;
  if (per_bank > bank_rows)
    return tw_fail(error, TW_USAGE,
                   "%c needs %ld rows in each of its %d bank%s, but a bank has %d; use smaller tiles or more banks",
                   o->name, per_bank, l->banks, l->banks == 1 ? "" : "s", bank_rows);
  return TW_OK;
}

static bool share_a_bank(const gm_operand_plan *a, const gm_operand_plan *b) {
  for (int i = 0; i < a->n_banks; i++)
    for (int j = 0; j < b->n_banks; j++)
      if (a->bank[i] == b->bank[j]) return true;
  return false;
}

tw_status gm_operands_place(const gm_config *config, const gm_operand *a, const gm_operand *b, size_t *bytes,
                            tw_error *error) {
  gm_operand_layout *la = a->layout, *lb = b->layout;
  tw_status status = check(config, a, error);
  if (status == TW_OK) status = check(config, b, error);
  if (status != TW_OK) return status;
  la->slots = count_slots(a);
  lb->slots = count_slots(b);
  const long need = (long)la->slots * la->chunk_rows + (long)lb->slots * lb->chunk_rows;
  const int rows = gm_spad_rows(config), row_bytes = config->dim * gm_input_bytes(config);
  if (need > rows)
    return tw_fail(error, TW_USAGE,
                   "A and B need %ld KiB of scratchpad, but the machine has %d; use smaller tiles or fewer buffers, or "
                   "keep less resident",
                   need * row_bytes / 1024, config->spad_bytes / 1024);
  *bytes = (size_t)need * (size_t)row_bytes;
  if ((a->plan->n_banks == 0) != (b->plan->n_banks == 0))
    return tw_fail(error, TW_USAGE,
                   "banks are given for one of A and B; give banks for both, as in 'banks a=0,2 b=1,3'");
  if (a->plan->n_banks == 0) {
    la->base = 0;
    la->banks = lb->banks = 1;
    lb->base = la->slots * la->chunk_rows;
    return TW_OK;
  }
  if (share_a_bank(a->plan, b->plan))
    return tw_fail(error, TW_USAGE, "A and B share a bank; give them different banks, as in 'banks a=0,2 b=1,3'");
  status = place_in_banks(config, a, error);
  return status != TW_OK ? status : place_in_banks(config, b, error);
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
