/* attention_slots.h - the slots that all attention kernels have. */
#ifndef TW_GPU_ATTENTION_SLOTS_H
#define TW_GPU_ATTENTION_SLOTS_H

#include <math.h>

#include "base/template.h"
#include "op/attention.h"

/* type, scale, d, causal, batches */
static inline void tw_tile_attention_slots(tw_slots *s, const tw_attention *a) {
  tw_slots_text(s, "type", tw_type_name(a->type));
  tw_slots_format(s, "scale", "%.9g", 1 / sqrt((double)a->d));
  tw_slots_number(s, "d", a->d);
  tw_slots_number(s, "causal", a->causal);
  tw_slots_number(s, "batches", a->batches);
}

/* window, keys_seen, lowest: of a sliding window; softcap, tokens, lengths, page */
static inline void tw_tile_attention_mask_slots(tw_slots *s, const tw_attention *a) {
  tw_slots_flag(s, "window", a->window != 0);
  tw_slots_number(s, "keys_seen", a->window);
  tw_slots_text(s, "lowest", a->window ? "w.first" : "0");
  tw_slots_flag(s, "softcap", a->softcap > 0);
  tw_slots_flag(s, "tokens", a->tokens > 0);
  tw_slots_flag(s, "lengths", a->has_lengths);
  tw_slots_number_or_empty(s, "page", a->page);
}

#endif
