/* rotary.c - plans a kernel for rotary position embedding (op/rotary.c); kernels/rotary.cuh.in is the kernel. A thread keeps 16 bytes
 * of cos and sin and rotates this part of `heads` neighbouring heads: all loads are in flight before the first is used. */
#include "base/template.h"
#include "gpu/common/rows_language.h"

enum { THREADS_USUAL = 256 };

static tw_status settle_rotary(const tw_tile_machine *machine, const tw_problem *p, void *settled, tw_error *error) {
  tw_tile_rows_plan *plan = settled;
  TW_REJECT_IF(tw_problem_int(p, "transposed"), "unsupported transposed=1: the tuned kernel has positions first");
  const int64_t d = tw_problem_int(p, "d"), h = tw_problem_int(p, "h"),
                size = tw_tile_type_bytes(tw_problem_type(p, "a"));
  const int64_t chunk = TW_TILE_CHUNK / size, chunks = d / 2 / chunk;
  TW_REJECT_IF(d % (2 * chunk), "unsupported d=%lld; a thread rotates 16 bytes of each half of a head, %lld elements",
               (long long)d, (long long)chunk);
  TW_REJECT_IF(tw_problem_int(p, "ldx") % chunk,
               "unsupported ldx=%lld; a thread reads 16 bytes at a time, so expected a multiple of %lld",
               (long long)tw_problem_int(p, "ldx"), (long long)chunk);
  if (!plan->heads) plan->heads = 1;
  if (!plan->threads) plan->threads = THREADS_USUAL;
  TW_REJECT_IF(h % plan->heads, "unsupported heads %d; it must divide h=%lld", plan->heads, (long long)h);
  const tw_status status = tw_tile_check_threads(machine, plan->threads, error);
  if (status != TW_OK) return status;
  const int64_t items = tw_problem_int(p, "b") * tw_problem_int(p, "s") * (h / plan->heads) * chunks;
  plan->chunks = 2 * plan->heads;
  plan->block_threads = plan->threads;
  plan->blocks = (items + plan->threads - 1) / plan->threads;
  return plan->blocks < INT32_MAX ? TW_OK
                                  : tw_fail(error, TW_USAGE, "more than 2^31 blocks; use more heads or threads");
}

static void slots(const tw_tile_machine *machine, const tw_problem *p, const void *settled, tw_slots *s) {
  (void)machine;
  const tw_tile_rows_plan *plan = settled;
  const tw_type type = tw_problem_type(p, "a");
  tw_slots_text(s, "type", tw_tile_type_word(type));
  tw_slots_number(s, "pair", 2 * TW_TILE_CHUNK / tw_tile_type_bytes(type));
  tw_slots_text(s, "once", plan->once ? "_once" : NULL);
  tw_slots_number_or_empty(s, "pitch", tw_problem_int(p, "ldx"));
  tw_slots_flag(s, "interleaved", tw_problem_int(p, "interleaved"));
}

const tw_tile_family tw_tile_rotary = {.language = &tw_tile_rotary_language,
                                       .plan_size = sizeof(tw_tile_rows_plan),
                                       .settle = settle_rotary,
                                       .kernel = "gpu/common/kernels/rotary.cuh.in",
                                       .slots = slots};
