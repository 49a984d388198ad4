/* gemm_block_scaled_hand_scheduled.c - a GEMM of two operands of blocks with scales whose loop is the machine's own; gemm_block_scaled.h has its steps.
 *
 * Kernels before the main one pack both operands: codes row by row, k along them, and beside them the scales as lanes of
 * products take them: those of a block's tile at a step of k lie together, 1024 bytes for each group that copies them. So
 * the main one copies codes as any other tile, and scales with one copy of a lane more a step. */
#include <inttypes.h>
#include <string.h>

#include "tile/gemm_block_scaled.h"
#include "tile/gemm_epilogue.h"
#include "tile/gemm_multistage.h"

#define PLAN tw_tile_block_scaled_plan

enum { GROUPS_M = 2, GROUPS_N = 2, GROUPS = GROUPS_M * GROUPS_N, ROW = 128, PIECE = 1024, BLOCK = 32 };

static int bits_of(tw_type t) { return t == TW_MXFP4 ? 4 : 8; }
/* k of a tile, and of a matrix instruction. */
static int step_of(tw_type t) { return ROW * 8 / bits_of(t); }
static int deep_of(const PLAN *p) { return p->side == 16 ? 128 : 64; }

static tw_tile_loop loop_of(tw_type type, const PLAN *p) {
  const int bytes = ROW;
  return (tw_tile_loop){
      .operand = {{.type = type, .fragments = p->m / GROUPS_M / p->side, .bytes = p->m * bytes, .row_bytes = bytes},
                  {.type = type, .fragments = p->n / GROUPS_N / p->side, .bytes = p->n * bytes, .row_bytes = bytes}},
      .side = p->side,
      .depth = step_of(type) / deep_of(p),
      .groups = GROUPS,
      .stages = p->stages,
      .scaled = true};
}

tw_status tw_tile_block_scaled_settle_hand_scheduled(const tw_tile_machine *machine, const tw_gemm *g, PLAN *p,
                                                     tw_error *error) {
  const tw_type type = tw_tile_block_scaled_left(g);
  if (!machine->loop || type != g->b || (type != TW_MXFP4 && type != TW_MXFP8))
    return tw_fail(error, TW_USAGE, "hand_scheduled requires both operands as mxfp4 or both as mxfp8 (found %s and %s)",
                   tw_type_name(type), tw_type_name(g->b));
  const int step = step_of(type), scales = step / BLOCK;
  if (p->side != 16 && p->side != 32) return tw_fail(error, TW_USAGE, "unsupported mfma; expected 16 or 32");
  if (p->groups != GROUPS || p->ahead != 1)
    return tw_fail(error, TW_USAGE, "hand_scheduled requires waves 4, without register_prefetch");
  if (p->m % (GROUPS_M * p->side) || p->n % (GROUPS_N * p->side) || p->m * scales % PIECE || p->n * scales % PIECE ||
      (p->m + p->n) * scales > PIECE * GROUPS)
    return tw_fail(
        error, TW_USAGE,
        "hand_scheduled with %s requires multiples of %d rows and columns, together at most %d (found %d x %d)",
        tw_type_name(type), PIECE / scales, PIECE * GROUPS / scales, p->m, p->n);
  p->deep = (g->k + step - 1) / step * step;
  p->columns = (g->n + p->n - 1) / p->n * p->n;
  p->shared_bytes = p->stages * ((int64_t)(p->m + p->n) * ROW + GROUPS * PIECE);
  if (p->shared_bytes > machine->shared_bytes)
    return tw_fail(error, TW_USAGE,
                   "%d stages need %" PRId64 " bytes of shared memory, which exceeds %" PRId64
                   "; use fewer stages or smaller tiles",
                   p->stages, p->shared_bytes, machine->shared_bytes);
  if (p->split > p->deep / step)
    return tw_fail(error, TW_USAGE, "split_k %d exceeds the steps of k=%" PRId64 " (%d each); use a smaller number",
                   p->split, g->k, step);
  const tw_tile_loop loop = loop_of(type, p);
  return machine->loop(machine, &loop, NULL, error);
}

/* ---- the kernels ---- */

/* Where in the workspace what is packed lies. */
typedef struct places {
  int64_t rows, codes[2], scales[2], parts; /* rows: of A, as whole tiles */
} places;

static int64_t whole(int64_t bytes) { return (bytes + 255) / 256 * 256; }

static places places_of(const tw_gemm *g, const PLAN *p) {
  const int64_t pitch = p->deep * bits_of(g->b) / 8, blocks = p->deep / BLOCK;
  places at = {.rows = (g->m + p->m - 1) / p->m * p->m};
  at.codes[1] = whole(g->m * pitch);
  at.scales[0] = at.codes[1] + whole(g->n * pitch);
  at.scales[1] = at.scales[0] + whole(at.rows * blocks);
  at.parts = at.scales[1] + whole(p->columns * blocks);
  return at;
}

static void write_launch(tw_text *t, const tw_tile_machine *machine, const tw_gemm *g, const PLAN *p,
                         const places *at) {
  tw_text_add(t, "//: let       BM = %d, BN = %d, GROUPS = %d, STAGES = %d, SPLIT = %d\n", p->m, p->n, GROUPS,
              p->stages, p->split);
  tw_text_add(t, "//: let       DEEP = %" PRId64 "\n//: require   k <= DEEP && m <= %" PRId64 " && n <= %" PRId64 "\n",
              p->deep, at->rows, p->columns);
  tw_text_add(t, "//: workspace %" PRId64 "%s\n", at->parts, p->split > 1 ? " + SPLIT * m * n * 4" : "");
  for (int i = 0; i < 2; i++)
    tw_text_add(t,
                "//: before    pack_%s\n//: grid      ceildiv(%" PRId64 " * (DEEP / %d), 256)\n//: block     256\n"
                "//: args      %c, workspace(%" PRId64 "), workspace(%" PRId64 "), %c, k, ld%c\n",
                i ? "b" : "a", i ? p->columns : at->rows, BLOCK, "AB"[i], at -> codes[i], at -> scales[i], "mn"[i],
                "ab"[i]);
  tw_text_add(t,
              "//: kernel    gemm\n//: grid      ceildiv(m, BM) * ceildiv(n, BN) * SPLIT\n//: block     GROUPS * %d\n"
              "//: shared    %" PRId64 "\n//: args      ",
              machine->group_threads, p->shared_bytes);
  for (int i = 0; i < 2; i++)
    tw_text_add(t, "workspace(%" PRId64 "), workspace(%" PRId64 "), ", at->codes[i], at->scales[i]);
  if (p->split > 1)
    tw_text_add(t, "workspace(%" PRId64 "), m, n, n", at->parts);
  else
    tw_text_add(t, "C, m, n, ldc");
  if (p->split == 1) tw_tile_result_arguments(t, g);
  if (p->split > 1) {
    tw_text_add(t, "\n");
    tw_tile_parts_launch(t, g, at->parts);
  }
  tw_text_add(t, "\n");
}

static void write_packers(tw_text *t, const tw_gemm *g) {
  const char *type = tw_type_name(g->b);
  tw_text_add(t,
              "TW_KERNEL(256, 1) pack_a(const %s *a, u8 *codes, u8 *scales, int m, int k, int lda) {\n"
              "  mx_pack_rows<%s, product, BM, GROUPS_M, BK, 0x%xu>(a, %s, codes, scales, m, k, DEEP);\n}\n",
              tw_tile_type_word(tw_tile_block_scaled_stored(g)), type, tw_tile_block_scaled_addend(g),
              g->a_transposed ? "1, lda" : "lda, 1");
  tw_text_add(t,
              "TW_KERNEL(256, 1) pack_b(const float *b, u8 *codes, u8 *scales, int n, int k, int ldb) {\n"
              "  mx_pack_rows<%s, product, BN, GROUPS_N, BK, 0>(b, %s, codes, scales, n, k, DEEP);\n}\n\n",
              type, g->b_transposed ? "ldb, 1" : "1, ldb");
}

/* The loop, by the names of loop.h. */
static void write_loop(tw_text *t, const tw_tile_machine *machine, const tw_gemm *g, const PLAN *p) {
  const tw_tile_loop loop = loop_of(g->b, p);
  const int step = step_of(g->b);
  tw_text_add(t, "  const u32 copied = (u32)(__UINTPTR_TYPE__)as.at + (u32)group * 1024;\n");
  tw_tile_loop_operand_write(machine, &loop, 'a', true, t, NULL);
  tw_tile_loop_operand_write(machine, &loop, 'b', true, t, NULL);
  tw_text_add(
      t,
      "  /* the first groups copy A's scales, the next ones B's */\n"
      "  constexpr int OF_A = BM * %d / 1024, OF_B = BN * %d / 1024;\n"
      "  const bool is_a = group < OF_A;\n"
      "  const u32 scale_step = is_a ? BM * %d : BN * %d, scale_lane = (u32)thread_of_group() * 16u;\n"
      "  const i64 tile = (i64)(is_a ? p.row : p.col) * (DEEP / %d) + begin;\n"
      "  const u64 scale_at = (u64)(is_a ? scales_a : scales_b) + (u64)(tile * scale_step) + "
      "(u64)(is_a ? group : group - OF_A) * 1024;\n"
      "  u32x4 scale_matrix = {(u32)scale_at, (u32)(scale_at >> 32) & 0xffffu, group < OF_A + OF_B ? 1024u : 0, "
      "0x00020000};\n"
      "  const u32 scales_at = (u32)(__UINTPTR_TYPE__)bs.at + decltype(bs)::bytes;\n"
      "  const u32 a_scale = scales_at + (u32)(group / GROUPS_N) * (ROWS * %d) + (u32)thread_of_group() * %du;\n"
      "  const u32 b_scale = scales_at + BM * %d + (u32)(group %% GROUPS_N) * (COLS * %d) + "
      "(u32)thread_of_group() * %du;\n",
      step / BLOCK, step / BLOCK, step / BLOCK, step / BLOCK, step, step / BLOCK, tw_tile_loop_scales(&loop, 0),
      step / BLOCK, step / BLOCK, tw_tile_loop_scales(&loop, 1));
  machine->loop(machine, &loop, t, NULL); /* the plan has asked whether it can */
}

void tw_tile_block_scaled_write_hand_scheduled(const tw_tile_machine *machine, const tw_gemm *g, const PLAN *p,
                                               tw_text *t) {
  const places at = places_of(g, p);
  const bool split = p->split > 1;
  const int step = step_of(g->b);
  char swizzle[2][TW_TILE_SWIZZLE];
  for (int i = 0; i < 2; i++) {
    const tw_tile_access access = {.rows = i ? p->n : p->m, .row_bytes = ROW, .side = p->side, .element_bytes = 1};
    machine->swizzle(machine, &access, swizzle[i]);
  }
  write_launch(t, machine, g, p, &at);
  tw_text_add(
      t,
      "#include \"%s\"\nusing namespace tw;\n\nusing product = mx_product_of<%d>;\n"
      "constexpr int BK = %d, PITCH = DEEP * %d / 8; /* bytes: of a row of a tile, of a packed operand */\n"
      "constexpr int GROUPS_M = %d, GROUPS_N = %d, ROWS = BM / GROUPS_M, COLS = BN / GROUPS_N; /* of a group */\n"
      "using a_tile = shared<u8, BM, BK, %s>;\nusing b_tile = shared<u8, BN, BK, %s>;\n\n",
      machine->header, p->side, ROW, bits_of(g->b), GROUPS_M, GROUPS_N, swizzle[0], swizzle[1]);
  tw_tile_result_write(t, g);
  write_packers(t, g);
  tw_text_add(t,
              "TW_KERNEL(GROUPS * group_threads, 1) gemm(const u8 *codes_a, const u8 *scales_a, const u8 *codes_b, "
              "const u8 *scales_b, %s *c, int m, int n, int ldc",
              split ? "float" : tw_tile_type_word(g->c));
  if (!split) tw_tile_result_parameters(t, g);
  tw_text_add(t,
              ") {\n  arena memory;\n  const auto as = memory.take<many<a_tile, STAGES>>();\n"
              "  const auto bs = memory.take<many<b_tile, STAGES>>();\n"
              "  const int part = block_of_grid() %% SPLIT, begin = DEEP / %d * part / SPLIT;\n"
              "  const int steps = DEEP / %d * (part + 1) / SPLIT - begin;\n",
              step, step);
  if (split) tw_text_add(t, "  c += (i64)part * m * n;\n");
  tw_text_add(
      t,
      "  const place p = place_of_chips<%d, %d, %d>(block_of_grid() / SPLIT, (m + BM - 1) / BM, (n + BN - 1) / BN);\n"
      "  const int row = p.row * BM, col = p.col * BN;\n"
      "  const int group = group_of_block(), own_row = group / GROUPS_N * ROWS, own_col = group %% GROUPS_N * COLS;\n"
      "  copier<a_tile, GROUPS, false> from_a(codes_a, PITCH, row, m, PITCH);\n"
      "  copier<b_tile, GROUPS, false> from_b(codes_b, PITCH, col, n, PITCH);\n"
      "  acc<product, ROWS / product::side, COLS / product::side> sums;\n",
      p->window, p->chunk, machine->chips);
  write_loop(t, machine, g, p);
  if (!split) {
    tw_text_add(t, "  const result finish{row + own_row, col + own_col, m, n");
    tw_tile_result_names(t, g);
    tw_text_add(t, "};\n");
  }
  tw_text_add(t, "  put<%s>(c, ldc, sums, row + own_row, col + own_col, m, n, %s);\n}\n",
              g->n % 4 == 0 && (split || g->ldc % 4 == 0) ? "true" : "false", split ? "as_is()" : "finish");
  if (split) tw_tile_parts_write(t, g);
}
