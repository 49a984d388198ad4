/* rows_language.c - see rows_language.h. */
#include "gpu/common/rows_language.h"

#include "gpu/common/verbs.h"

#define PLAN tw_tile_rows_plan

#define STEPS "1, 2, 4, 8, 16, 32"
#define LOADS "loads in flight hide memory latency"
#define SMALL "more blocks fit a processor: one computes while another loads"

#define STREAMING                                                                                                      \
  {                                                                                                                    \
    TW_FLAG_RENAMED("streaming", "once", "Let loads and stores bypass the caches.", PLAN, once),                       \
        .why = "data that is used once does not displace other data in the caches"                                     \
  }
#define THREADS TW_TILE_THREADS(PLAN, "32, 64, 128, 256, 512, 1024", SMALL)

static const tw_verb rotary_verbs[] = {
    {TW_NUMBERED("heads", "heads 2", "Set the number of heads for each thread; heads share angles.", PLAN, heads, 1,
                 16),
     .offers = STEPS, .why = LOADS},
    THREADS,
    STREAMING,
};
const tw_language tw_tile_rotary_language = {TW_LANGUAGE("rotary on GPUs", rotary_verbs)};

static const tw_verb gate_verbs[] = {
    {TW_NUMBERED("chunks", "chunks 2", "Set the number of 16-byte chunks that a thread computes at a time.", PLAN, each,
                 1, 16),
     .offers = STEPS, .why = LOADS},
    THREADS,
    STREAMING,
};
const tw_language tw_tile_gate_language = {TW_LANGUAGE("gate, elementwise and cumsum on GPUs", gate_verbs)};

static const tw_verb row_verbs[] = {
    {TW_VERB("row", "row warps=4", "Set the warps that keep one row in registers.", 1,
             TW_NUMBER("warps", PLAN, warps, 1, 32)),
     .offers = "warps=1, warps=2, warps=4, warps=8, warps=16, warps=32", .why = LOADS},
    {TW_VERB("block", "block rows=2", "Set the rows of a thread block.", 1, TW_NUMBER("rows", PLAN, rows, 1, 32)),
     .offers = "rows=1, rows=2, rows=4, rows=8, rows=16, rows=32", .why = SMALL},
    STREAMING,
};
const tw_language tw_tile_row_language = {TW_LANGUAGE("rows on GPUs", row_verbs)};

tw_status tw_tile_check_threads(const tw_tile_machine *machine, int threads, tw_error *error) {
  if (threads % machine->warp_threads == 0 && threads <= machine->block_threads) return TW_OK;
  return tw_fail(error, TW_USAGE, "unsupported threads %d; expected a multiple of %d up to %d", threads,
                 machine->warp_threads, machine->block_threads);
}

int tw_tile_type_bytes(tw_type t) { return tw_type_bits(t) / 8; }

int tw_tile_piece(tw_type t, int64_t n) {
  const int chunk = TW_TILE_CHUNK / tw_tile_type_bytes(t);
  return n % chunk ? 1 : chunk;
}
