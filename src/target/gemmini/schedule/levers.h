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
 *   pipeline                    levers that only pay together: two buffers of everything in banks of their own, loads one
 *                               step ahead, loads and stores spread
 *
 * A lever is a field of gm_levers, a row of GM_LEVERS and its rule in gm_levers_check. */
#ifndef TW_GEMMINI_LEVERS_H
#define TW_GEMMINI_LEVERS_H

#include "target/gemmini/schedule/operand.h"
#include "tilewright/extend/menu.h"

enum { GM_CONFIGS, GM_ADDRESSES }; /* of gm_levers.hoist */

/* The first member of each plan. */
typedef struct gm_levers {
  gm_operand_plan a, b;
  int c_buffers;     /* 1 or 2 tiles of C in the accumulator */
  bool c_split;      /* the two are in different accumulator banks */
  int store_width;   /* width of an mvout in blocks */
  bool overwrite;    /* the first step along k overwrites, so that no fill is needed (not with bias) */
  bool fill_ahead;   /* a fill happens during the previous tile, after its stores */
  int prefetch;      /* steps between a load and its use; 0: loads are immediately before their use */
  int spread_loads;  /* pairs from one row of loads to the next; 0: all before the pairs */
  int spread_stores; /* likewise for the stores of the previous tile; 0: tiles are stored when complete */
  /* configs: once, not for every tile; addresses (gemm): operands are computed once with their size fields, and pairs
   * add small constants */
  bool hoist[2];
  /* gemm: a row of blocks is stored as soon as it is complete, not during the next tile. If there is one buffer and
   * c_split, rows of blocks alternate between two accumulator banks, so that stores do not read the bank that is
   * written */
  bool early_stores;
  bool hardware_loop; /* the hardware does everything inside the tile loops */
} gm_levers;

static inline bool gm_fills_ahead(const gm_levers *l) { return l->fill_ahead && !l->overwrite; }

/* The context of the levers' functions: the first member of the context of a family's language. */
typedef struct gm_lever_context {
  const gm_config *config;
  int widest_store; /* blocks of an mvout */
  bool has_bias;
} gm_lever_context;

/* clang-format off: one row per line */
#define GM_HOLD(name_, field_) TW_CHOICE(name_, gm_levers, field_, 0, "stream|panel|whole")
#define GM_SPREAD                                                                                                      \
  TW_NUMBER("loads", gm_levers, spread_loads, 0, 4096), TW_NUMBER("stores", gm_levers, spread_stores, 0, 4096)
#define GM_LEVERS                                                                                                      \
  {TW_VERB("keep_resident|hold", "keep_resident a=panel, keep_resident b=whole",                                       \
           "Keep an operand in the scratchpad while the other streams.", 1, GM_HOLD("a", a.hold),                      \
           GM_HOLD("b", b.hold))},                                                                                     \
      {TW_VERB("buffers", "buffers a=2 b=2 c=2", "Set the number of buffers of each operand and of C.", 1,             \
               TW_NUMBER("a", gm_levers, a.buffers, 1, 3), TW_NUMBER("b", gm_levers, b.buffers, 1, 3),                 \
               TW_NUMBER("c", gm_levers, c_buffers, 1, 2))},                                                           \
      {TW_VERB("banks", "banks a=0,2 b=1,3 c=0,1", "Place buffers in scratchpad banks and accumulator halves.", 1,     \
               TW_READ("a", gm_levers, a, gm_read_banks), TW_READ("b", gm_levers, b, gm_read_banks),                   \
               TW_READ("c", gm_levers, c_split, gm_read_split))},                                                      \
      {TW_VERB("width", "width a=64 b=64 c=64", "Set the columns of a load (mvin) and of a store (mvout).", 1,         \
               TW_READ("a", gm_levers, a.width, gm_read_width), TW_READ("b", gm_levers, b.width, gm_read_width),       \
               TW_READ("c", gm_levers, store_width, gm_read_width))},                                                  \
      {TW_FLAG("overwrite", "Let the first step along k overwrite C, so that no zeros are loaded.", gm_levers,         \
               overwrite),                                                                                             \
       .why = "the first step overwrites the accumulator: no zeros to move in"},                                       \
      {TW_VERB("fill", "fill prefetch", "Load zeros or bias during the previous tile.", 1,                             \
               TW_CHOICE("", gm_levers, fill_ahead, 1, "prefetch=ahead"))},                                            \
      {TW_VERB("prefetch", "prefetch 1", "Issue loads this many steps before their use.", 1,                           \
               TW_NUMBER("", gm_levers, prefetch, 0, 2)),                                                              \
       .offers = "1, 2", .why = "loads issued one step early overlap with computes; two steps hide longer waits"},     \
  {                                                                                                                    \
    TW_VERB("spread", "spread loads=16 stores=16", "Put this many computes between two loads and between two stores.", \
            1, GM_SPREAD)                                                                                              \
  }
/* clang-format on */

bool gm_read_banks(const void *context, const tw_argument *, const char *text, void *operand);
bool gm_read_split(const void *context, const tw_argument *, const char *text, void *is_split);
bool gm_read_width(const void *context, const tw_argument *, const char *text, void *width);
/* Elements into blocks, rounded up; never more than `most`. */
bool gm_read_blocks(const gm_config *, const char *text, int most, int *blocks);
/* Levers of the empty schedule. */
gm_levers gm_levers_plain(const gm_config *);
/* `pipeline`, for the tables of the families; rejected on machines with fewer than four banks. */
void gm_pipeline(const void *context, void *levers);
tw_status gm_then_four_banks(const void *context, void *plan, unsigned given, tw_error *);
/* The rules of levers that are only legal together with others. */
tw_status gm_levers_check(const gm_lever_context *, const gm_levers *, tw_error *);
/* "A streamed (2), B held whole (1), C in 2 buffers; loads 1 step ahead". Returns buffer. */
char *gm_levers_print(const gm_levers *, char buffer[120]);
void gm_offer_levers(tw_menu_builder *, const gm_lever_context *, const gm_levers *);

#endif
