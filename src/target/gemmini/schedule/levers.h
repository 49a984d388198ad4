/* levers.h - the steps that every kernel has, as rows for a family's table (tilewright/verb.h) and as offers of its
 * menu.
 *
 *   hold a=stream|panel|whole b=...
 *   buffers a=2 b=2 c=2
 *   banks a=0,2 b=1,3 c=0,1     c=0,1: the two accumulator buffers in different banks; c=0: side by side
 *   width a=64 b=64 c=64        columns of an mvin of A, of B, of an mvout
 *   overwrite                   the first step overwrites C: no fill with zeros
 *   fill ahead                  zeros or bias are loaded during the previous tile, after the stores
 *   prefetch 1                  steps that loads are ahead of their use
 *   spread loads=16 stores=16   pairs between two loads, two stores
 *
 * They set the fields a, b, c_buffers, c_split, store_width, overwrite, fill_ahead, prefetch, spread_loads,
 * spread_stores, which gm_plan and gm_conv_plan both have. */
#ifndef TW_GEMMINI_LEVERS_H
#define TW_GEMMINI_LEVERS_H

#include "target/gemmini/schedule/operand.h"
#include "tilewright/extend/menu.h"

/* The context of the levers' functions: the first member of the context of a family's language. */
typedef struct gm_lever_context {
  const gm_config *config;
  int widest_store; /* blocks of an mvout */
} gm_lever_context;

/* clang-format off: one row per line */
#define GM_HOLD(name_, plan, field_) TW_CHOICE(name_, plan, field_, 0, "stream|panel|whole")
#define GM_SPREAD(plan)                                                                                                \
  TW_NUMBER("loads", plan, spread_loads, 0, 4096), TW_NUMBER("stores", plan, spread_stores, 0, 4096)
#define GM_LEVERS(plan)                                                                                                \
  {TW_VERB("keep_resident|hold", "keep_resident a=panel, keep_resident b=whole",                                       \
           "Keep an operand in the scratchpad while the other streams.", 1, GM_HOLD("a", plan, a.hold),                \
           GM_HOLD("b", plan, b.hold))},                                                                               \
      {TW_VERB("buffers", "buffers a=2 b=2 c=2", "Set the number of buffers of each operand and of C.", 1,             \
               TW_NUMBER("a", plan, a.buffers, 1, 3), TW_NUMBER("b", plan, b.buffers, 1, 3),                           \
               TW_NUMBER("c", plan, c_buffers, 1, 2))},                                                                \
      {TW_VERB("banks", "banks a=0,2 b=1,3 c=0,1", "Place buffers in scratchpad banks and accumulator halves.", 1,     \
               TW_READ("a", plan, a, gm_read_banks), TW_READ("b", plan, b, gm_read_banks),                             \
               TW_READ("c", plan, c_split, gm_read_split))},                                                           \
      {TW_VERB("width", "width a=64 b=64 c=64", "Set the columns of a load (mvin) and of a store (mvout).", 1,         \
               TW_READ("a", plan, a.width, gm_read_width), TW_READ("b", plan, b.width, gm_read_width),                 \
               TW_READ("c", plan, store_width, gm_read_width))},                                                       \
      {TW_FLAG("overwrite", "Let the first step along k overwrite C, so that no zeros are loaded.", plan, overwrite),  \
       .why = "the first step overwrites the accumulator: no zeros to move in"},                                       \
      {TW_VERB("fill", "fill prefetch", "Load zeros or bias during the previous tile.", 1,                             \
               TW_CHOICE("", plan, fill_ahead, 1, "prefetch=ahead"))},                                                 \
      {TW_VERB("prefetch", "prefetch 1", "Issue loads this many steps before their use.", 1,                           \
               TW_NUMBER("", plan, prefetch, 0, 2)),                                                                   \
       .offers = "1, 2", .why = "loads issued one step early overlap with computes; two steps hide longer waits"},     \
  {                                                                                                                    \
    TW_VERB("spread", "spread loads=16 stores=16", "Put this many computes between two loads and between two stores.", \
            1, GM_SPREAD(plan))                                                                                        \
  }
/* clang-format on */

bool gm_read_banks(const void *context, const tw_argument *, const char *text, void *operand);
bool gm_read_split(const void *context, const tw_argument *, const char *text, void *is_split);
bool gm_read_width(const void *context, const tw_argument *, const char *text, void *width);
/* Elements into blocks, rounded up; never more than `most`. */
bool gm_read_blocks(const gm_config *, const char *text, int most, int *blocks);
/* `pipeline`: two buffers of both operands, in separate banks; rejected on machines with fewer than four. */
void gm_pipeline_operands(gm_operand_plan *a, gm_operand_plan *b);
tw_status gm_then_four_banks(const void *context, void *plan, unsigned given, tw_error *);

/* Are loads, are stores already spread? Is there a fill? */
void gm_offer_levers(tw_menu_builder *, const gm_lever_context *, bool loads, bool stores, bool fills);

#endif
