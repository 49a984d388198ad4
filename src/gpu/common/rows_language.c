/* rows_language.c - see rows_language.h. */
#include "gpu/common/rows_language.h"

#define PLAN tw_tile_rows_plan

static const tw_verb rotary_verbs[] = {
    {.name = "heads",
     .usage = "heads 2",
     .help = "Set the number of heads for each thread; heads share angles.",
     .needs = 1,
     .argument = {TW_NUMBER("", PLAN, heads, 1, 16)}},
    {.name = "threads",
     .usage = "threads 256",
     .help = "Set the threads of a thread block.",
     .needs = 1,
     .argument = {TW_NUMBER("", PLAN, threads, 32, 1024)}},
    {.name = "streaming|once",
     .usage = "streaming",
     .help = "Let loads and stores bypass the caches.",
     .sets = TW_FIELD(PLAN, once)},
};
const tw_language tw_tile_rotary_language = {"rotary on GPUs", sizeof rotary_verbs / sizeof *rotary_verbs,
                                             rotary_verbs};

static const tw_verb gate_verbs[] = {
    {.name = "chunks",
     .usage = "chunks 2",
     .help = "Set the number of 16-byte chunks that a thread computes at a time.",
     .needs = 1,
     .argument = {TW_NUMBER("", PLAN, each, 1, 16)}},
    {.name = "threads",
     .usage = "threads 256",
     .help = "Set the threads of a thread block.",
     .needs = 1,
     .argument = {TW_NUMBER("", PLAN, threads, 32, 1024)}},
    {.name = "streaming",
     .usage = "streaming",
     .help = "Let loads and stores bypass the caches.",
     .sets = TW_FIELD(PLAN, once)},
};
const tw_language tw_tile_gate_language = {"gate, elementwise and cumsum on GPUs",
                                           sizeof gate_verbs / sizeof *gate_verbs, gate_verbs};

static const tw_verb row_verbs[] = {
    {.name = "row",
     .usage = "row warps=4",
     .help = "Set the warps that keep one row in registers.",
     .needs = 1,
     .argument = {TW_NUMBER("warps", PLAN, warps, 1, 32)}},
    {.name = "block",
     .usage = "block rows=2",
     .help = "Set the rows of a thread block.",
     .needs = 1,
     .argument = {TW_NUMBER("rows", PLAN, rows, 1, 32)}},
    {.name = "streaming|once",
     .usage = "streaming",
     .help = "Let loads and stores bypass the caches.",
     .sets = TW_FIELD(PLAN, once)},
};
const tw_language tw_tile_row_language = {"rows on GPUs", sizeof row_verbs / sizeof *row_verbs, row_verbs};

void tw_tile_rows_offers(tw_menu_builder *m, const tw_tile_context *c) {
  (void)c;
  static const char loads[] = "loads in flight hide memory latency",
                    small[] = "more blocks fit a processor: one computes while another loads";
  for (int i = 1; i <= 32; i *= 2) {
    tw_menu_offer(m, "heads", loads, "heads %d", i);
    tw_menu_offer(m, "chunks", loads, "chunks %d", i);
    tw_menu_offer(m, "threads", small, "threads %d", 32 * i);
    tw_menu_offer(m, "row", loads, "row warps=%d", i);
    tw_menu_offer(m, "block", small, "block rows=%d", i);
  }
  tw_menu_offer(m, "streaming", "data that is used once does not displace other data in the caches", "streaming");
}

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
