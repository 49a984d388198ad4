/* Register layouts of the matrix instructions: against a walk that counts instead of dividing, the tables of the CDNA4
 * manual, the assembler's operand sizes, and the published peak rates. */
#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/cdna/layout/mfma.h"

static const cdna_mfma *instruction(const char *name) {
  const cdna_mfma *i = cdna_mfma_find(name);
  if (!i) fail_msg("no instruction %s", name);
  return i;
}

static cdna_fragment fragment(const cdna_mfma *i, cdna_operand operand, cdna_type type) {
  cdna_fragment f;
  if (!cdna_fragment_of(i, operand, type, &f)) fail_msg("%s has no %s", i->name, cdna_operand_name(operand));
  return f;
}

/* Calls `check` for every operand of every instruction in every type. */
static int for_all(void (*check)(const cdna_mfma *, cdna_operand, const cdna_fragment *)) {
  int checked = 0;
  const cdna_mfma *i;
  for (size_t at = 0; (i = cdna_mfma_at(at)); at++)
    for (int operand = 0; operand < CDNA_OPERANDS; operand++) {
      const bool is_open = i->fields == CDNA_FIELDS_FORMATS && operand <= CDNA_B;
      for (int type = is_open ? CDNA_FP8 : CDNA_F8F6F4; type <= (is_open ? CDNA_FP4 : CDNA_F8F6F4); type++) {
        cdna_fragment f;
        if (!cdna_fragment_of(i, (cdna_operand)operand, (cdna_type)type, &f)) continue;
        check(i, (cdna_operand)operand, &f);
        checked++;
      }
    }
  return checked;
}

static void check_bijection(const cdna_mfma *i, cdna_operand operand, const cdna_fragment *f) {
  const int all = f->blocks * f->rows * f->columns;
  if (all != CDNA_LANES * f->items) fail_msg("%s %s: %d elements", i->name, cdna_operand_name(operand), all);
  for (int block = 0; block < f->blocks; block++)
    for (int row = 0; row < f->rows; row++)
      for (int column = 0; column < f->columns; column++) {
        const cdna_slot s = cdna_fragment_slot(f, (cdna_position){block, row, column});
        const cdna_position p = cdna_fragment_position(f, s);
        if (s.lane < 0 || s.lane >= CDNA_LANES || s.item < 0 || s.item >= f->items || p.block != block ||
            p.row != row || p.column != column)
          fail_msg("%s %s: %d %d %d is in lane %d item %d", i->name, cdna_operand_name(operand), block, row, column,
                   s.lane, s.item);
      }
  for (int lane = 0; lane < CDNA_LANES; lane++)
    for (int item = 0; item < f->items; item++) {
      const cdna_slot s = cdna_fragment_slot(f, cdna_fragment_position(f, (cdna_slot){lane, item}));
      if (s.lane != lane || s.item != item) fail_msg("%s %s: lane %d", i->name, cdna_operand_name(operand), lane);
    }
}

static void every_layout_is_a_bijection(void **state) {
  /* A, B and C of 68; 28 sparse ones have an index; two f8f6f4 have four more types of A and B, and two scales */
  assert_int_equal(for_all(check_bijection), 3 * 68 + 28 + 2 * (2 * 4 + 2));
}

/* ---- the second derivation: registers are filled in order, nothing is divided ---- */

static void expect(const cdna_mfma *i, cdna_operand operand, const cdna_fragment *f, cdna_position p, int lane,
                   int item) {
  const cdna_slot s = cdna_fragment_slot(f, p);
  if (s.lane != lane || s.item != item)
    fail_msg("%s %s: block %d row %d column %d is in lane %d item %d, expected lane %d item %d", i->name,
             cdna_operand_name(operand), p.block, p.row, p.column, s.lane, s.item, lane, item);
}

/* AMD's calculator: the lanes take the rows of A (columns of B) of block after block, then go on with the next k. */
static void walk_input(const cdna_mfma *i, cdna_operand operand, const cdna_fragment *f) {
  const bool is_b = operand == CDNA_B || operand == CDNA_SCALE_B;
  const int outer = is_b ? i->n : i->m, all_k = is_b ? f->rows : f->columns;
  const bool is_halved = f->items * f->bits == 256; /* CDNA4's 8 registers: each half of K by itself */
  for (int half = 0, k0 = 0, item0 = 0; half < (is_halved ? 2 : 1); half++) {
    const int items = is_halved ? f->items / 2 : f->items;
    int lane = 0, k = k0;
    while (lane < CDNA_LANES) {
      for (int block = 0; block < i->blocks; block++)
        for (int x = 0; x < outer; x++, lane++)
          for (int e = 0; e < items; e++) {
            const cdna_position p = {block, is_b ? k + e : x, is_b ? x : k + e};
            expect(i, operand, f, p, lane, item0 + e);
          }
      k += items;
    }
    k0 = k;
    item0 += items;
    if (half == (is_halved ? 1 : 0) && k != all_k) fail_msg("%s %s: %d of k", i->name, cdna_operand_name(operand), k);
  }
}

/* ... outputs: stripes of 4 rows (1 of f64), a lane a column, side by side until the 64 lanes are full: first the same
 * stripe of as many blocks as there is room for all stripes of, then the next stripe; then the next 4 items. */
static void walk_output(const cdna_mfma *i, cdna_operand operand, const cdna_fragment *f) {
  const int height = i->c == CDNA_F64 ? 1 : 4;
  int together = 1, item0 = 0;
  while (together * 2 * i->m * i->n <= CDNA_LANES * height) together *= 2;
  for (int first = 0; first < i->blocks; first += together)
    for (int row0 = 0; row0 < i->m; item0 += height)
      for (int lane = 0; lane < CDNA_LANES; row0 += height)
        for (int block = first; block < first + together; block++, lane += i->n)
          for (int row = 0; row < height; row++)
            for (int column = 0; column < i->n; column++)
              expect(i, operand, f, (cdna_position){block, row0 + row, column}, lane + column, item0 + row);
  assert_int_equal(item0, f->items);
}

static void walk(const cdna_mfma *i, cdna_operand operand, const cdna_fragment *f) {
  (operand == CDNA_C ? walk_output : walk_input)(i, operand, f);
}

static void layouts_follow_from_filling_registers_in_order(void **state) { for_all(walk); }

/* ---- the manual's tables ---- */

/* The first k in a register of lanes 0, 16, 32 and 48. */
static void tables_of_k_are_those_of_the_manual(void **state) {
  static const struct {
    const char *name;
    cdna_operand operand;
    cdna_type type;
    int reg, k[4];
  } rows[] = {
      /* CDNA4, 7.1.5.1 */
      {"v_mfma_f32_16x16x128_f8f6f4", CDNA_A, CDNA_FP4, 0, {0, 32, 64, 96}},
      {"v_mfma_f32_16x16x128_f8f6f4", CDNA_A, CDNA_FP6, 0, {0, 32, 64, 96}},
      {"v_mfma_f32_16x16x128_f8f6f4", CDNA_B, CDNA_BF6, 3, {16, 48, 80, 112}},
      {"v_mfma_f32_16x16x128_f8f6f4", CDNA_A, CDNA_FP8, 0, {0, 16, 32, 48}},
      {"v_mfma_f32_16x16x128_f8f6f4", CDNA_B, CDNA_BF8, 4, {64, 80, 96, 112}},
      {"v_mfma_f32_32x32x64_f8f6f4", CDNA_A, CDNA_FP4, 0, {0, 0, 32, 32}},
      {"v_mfma_f32_32x32x64_f8f6f4", CDNA_A, CDNA_FP6, 3, {16, 16, 48, 48}},
      {"v_mfma_f32_32x32x64_f8f6f4", CDNA_B, CDNA_FP8, 0, {0, 0, 16, 16}},
      {"v_mfma_f32_32x32x64_f8f6f4", CDNA_B, CDNA_FP8, 4, {32, 32, 48, 48}},
      {"v_mfma_f32_16x16x32_bf16", CDNA_A, CDNA_F8F6F4, 3, {6, 14, 22, 30}},
      {"v_mfma_f32_32x32x16_f16", CDNA_B, CDNA_F8F6F4, 2, {4, 4, 12, 12}},
      {"v_mfma_i32_16x16x64_i8", CDNA_A, CDNA_F8F6F4, 1, {4, 20, 36, 52}},
      {"v_mfma_i32_32x32x32_i8", CDNA_B, CDNA_F8F6F4, 3, {12, 12, 28, 28}},
      /* tables 34 and 36 */
      {"v_smfmac_f32_16x16x32_f16", CDNA_B, CDNA_F8F6F4, 1, {2, 10, 18, 26}},
      {"v_smfmac_f32_32x32x16_bf16", CDNA_B, CDNA_F8F6F4, 3, {6, 6, 14, 14}},
      {"v_smfmac_i32_16x16x64_i8", CDNA_B, CDNA_F8F6F4, 2, {8, 24, 40, 56}},
      {"v_smfmac_f32_32x32x32_fp8_bf8", CDNA_B, CDNA_F8F6F4, 1, {4, 4, 20, 20}},
      /* 7.5.1.3 */
      {"v_smfmac_f32_16x16x64_bf16", CDNA_B, CDNA_F8F6F4, 3, {6, 14, 22, 30}},
      {"v_smfmac_f32_16x16x64_bf16", CDNA_B, CDNA_F8F6F4, 4, {32, 40, 48, 56}},
      {"v_smfmac_f32_32x32x32_f16", CDNA_B, CDNA_F8F6F4, 5, {18, 18, 26, 26}},
      {"v_smfmac_f32_16x16x128_fp8_fp8", CDNA_B, CDNA_F8F6F4, 6, {72, 88, 104, 120}},
      {"v_smfmac_i32_32x32x64_i8", CDNA_B, CDNA_F8F6F4, 4, {32, 32, 48, 48}},
  };
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    const cdna_fragment f = fragment(instruction(rows[r].name), rows[r].operand, rows[r].type);
    for (int lanes = 0; lanes < 4; lanes++) {
      const cdna_position p = cdna_fragment_position(&f, (cdna_slot){16 * lanes, 32 * rows[r].reg / f.bits});
      assert_int_equal(32 * rows[r].reg % f.bits, 0);
      assert_int_equal(rows[r].operand == CDNA_A ? p.column : p.row, rows[r].k[lanes]);
      assert_int_equal(rows[r].operand == CDNA_A ? p.row : p.column, f.outer == 32 ? 16 * (lanes & 1) : 0);
    }
  }
}

static void results_lie_as_published(void **state) {
  const cdna_fragment small = fragment(instruction("v_mfma_f32_16x16x16_f16"), CDNA_C, CDNA_F8F6F4),
                      large = fragment(instruction("v_mfma_f32_32x32x8_f16"), CDNA_C, CDNA_F8F6F4),
                      tiny = fragment(instruction("v_mfma_f32_4x4x4_16b_f16"), CDNA_C, CDNA_F8F6F4),
                      two = fragment(instruction("v_mfma_f32_32x32x4_2b_f16"), CDNA_C, CDNA_F8F6F4),
                      dbl = fragment(instruction("v_mfma_f64_16x16x4_f64"), CDNA_C, CDNA_F8F6F4),
                      four = fragment(instruction("v_mfma_f64_4x4x4_4b_f64"), CDNA_C, CDNA_F8F6F4);
  for (int lane = 0; lane < CDNA_LANES; lane++)
    for (int r = 0; r < 16; r++) {
      const cdna_position l = cdna_fragment_position(&large, (cdna_slot){lane, r});
      assert_int_equal(l.row, 8 * (r / 4) + 4 * (lane / 32) + r % 4);
      assert_int_equal(l.column, lane % 32);
      const cdna_position b = cdna_fragment_position(&two, (cdna_slot){lane, 16 + r});
      assert_int_equal(b.block, 1);
      assert_int_equal(b.row, l.row);
      if (r >= 4) continue;
      const cdna_position x = cdna_fragment_position(&four, (cdna_slot){lane, 0}); /* AMD lab notes */
      assert_int_equal(x.row, lane / 16);
      assert_int_equal(x.block, lane % 16 / 4);
      assert_int_equal(x.column, lane % 4);
      const cdna_position s = cdna_fragment_position(&small, (cdna_slot){lane, r});
      assert_int_equal(s.row, 4 * (lane / 16) + r);
      assert_int_equal(s.column, lane % 16);
      const cdna_position t = cdna_fragment_position(&tiny, (cdna_slot){lane, r});
      assert_int_equal(t.block, lane / 4);
      assert_int_equal(t.row, r);
      assert_int_equal(t.column, lane % 4);
      const cdna_position d = cdna_fragment_position(&dbl, (cdna_slot){lane, r});
      assert_int_equal(d.row, 4 * r + lane / 16);
      assert_int_equal(d.column, lane % 16);
    }
}

static void scales_belong_to_rows_and_runs_of_32(void **state) {
  const cdna_fragment a = fragment(instruction("v_mfma_scale_f32_16x16x128_f8f6f4"), CDNA_SCALE_A, CDNA_FP8),
                      b = fragment(instruction("v_mfma_scale_f32_32x32x64_f8f6f4"), CDNA_SCALE_B, CDNA_FP8);
  for (int lane = 0; lane < CDNA_LANES; lane++) {
    const cdna_position p = cdna_fragment_position(&a, (cdna_slot){lane, 0});
    assert_int_equal(p.row, lane % 16);
    assert_int_equal(p.column, lane / 16);
    const cdna_position q = cdna_fragment_position(&b, (cdna_slot){lane, 0});
    assert_int_equal(q.column, lane % 32);
    assert_int_equal(q.row, lane / 32);
  }
}

static void indices_lie_beside_the_items_that_they_place(void **state) {
  static const struct {
    const char *name;
    int items, sets;
  } rows[] = {{"v_smfmac_f32_16x16x32_f16", 4, 4},       {"v_smfmac_f32_32x32x16_bf16", 4, 4},
              {"v_smfmac_i32_16x16x64_i8", 8, 2},        {"v_smfmac_f32_32x32x32_fp8_fp8", 8, 2},
              {"v_smfmac_f32_16x16x64_bf16", 8, 2},      {"v_smfmac_f32_32x32x32_f16", 8, 2},
              {"v_smfmac_f32_16x16x128_fp8_bf8", 16, 1}, {"v_smfmac_i32_32x32x64_i8", 16, 1}};
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    const cdna_mfma *i = instruction(rows[r].name);
    const cdna_fragment a = fragment(i, CDNA_A, CDNA_F8F6F4), index = fragment(i, CDNA_INDEX, CDNA_F8F6F4);
    assert_int_equal(a.items, rows[r].items);
    assert_int_equal(index.registers, 1);
    for (int lane = 0; lane < CDNA_LANES; lane++)
      for (int item = 0; item < a.items; item++) {
        const cdna_position p = cdna_fragment_position(&a, (cdna_slot){lane, item});
        const cdna_slot s = cdna_fragment_slot(&index, p);
        assert_int_equal(s.lane, lane);
        assert_int_equal(s.item, item);
      }
    for (int abid = 0; abid < 16; abid++) {
      assert_int_equal(cdna_index_bit(i, 0, abid), abid % rows[r].sets * 32 / rows[r].sets);
      assert_int_equal(cdna_index_bit(i, 1, abid), 0);
    }
  }
}

static void items_of_6_bits_cross_registers(void **state) {
  const cdna_fragment f = fragment(instruction("v_mfma_f32_32x32x64_f8f6f4"), CDNA_A, CDNA_FP6);
  assert_int_equal(f.items, 32);
  assert_int_equal(f.registers, 6);
  assert_int_equal(cdna_item_bit(&f, 5), 30); /* bits 30 and 31 of the first register, 0 to 3 of the second */
}

static void broadcasts_are_the_calculators(void **state) {
  const cdna_mfma *four = instruction("v_mfma_f32_16x16x4_4b_f16"), *sixteen = instruction("v_mfma_f32_4x4x4_16b_f16");
  for (int lane = 0; lane < CDNA_LANES; lane++) {
    const int b[8] = {lane,      lane % 32,      lane % 32 + 32, (lane + 16) % 64,
                      lane % 16, lane % 16 + 16, lane % 16 + 32, lane % 16 + 48};
    for (int blgp = 0; blgp < 8; blgp++) assert_int_equal(cdna_lane_of_b(lane, blgp), b[blgp]);
    assert_int_equal(cdna_lane_of_a(four, lane, 0, 0), lane);
    assert_int_equal(cdna_lane_of_a(four, lane, 2, 1), 16 + lane % 16); /* the manual's examples: one group */
    assert_int_equal(cdna_lane_of_a(four, lane, 2, 3), 48 + lane % 16);
    /* smaller groups: matrix_calculator.py -a cdna3 -i v_mfma_f32_4x4x4_16b_f16 -A -R --cbsz 2 --abid 1, and the
     * like */
    assert_int_equal(cdna_lane_of_a(four, lane, 1, 1), lane / 32 * 32 + 16 + lane % 16);
    assert_int_equal(cdna_lane_of_a(sixteen, lane, 2, 1), lane / 16 * 16 + 4 + lane % 4);
    assert_int_equal(cdna_lane_of_a(sixteen, lane, 3, 5), lane / 32 * 32 + 20 + lane % 4);
  }
  /* CBSZ=1, ABID=1 on v_mfma_f32_32x32x1_2b_f32: A[1,i,0] stands for A[b,i,0] */
  const cdna_mfma *i = instruction("v_mfma_f32_32x32x1_2b_f32");
  const cdna_fragment a = fragment(i, CDNA_A, CDNA_F8F6F4);
  for (int block = 0; block < 2; block++)
    for (int row = 0; row < 32; row++) {
      const int lane = cdna_lane_of_a(i, cdna_fragment_slot(&a, (cdna_position){block, row, 0}).lane, 1, 1);
      const cdna_position p = cdna_fragment_position(&a, (cdna_slot){lane, 0});
      assert_int_equal(p.block, 1);
      assert_int_equal(p.row, row);
    }
  assert_true(cdna_broadcast_is_defined(i, 1, 1));
  assert_false(cdna_broadcast_is_defined(i, 2, 0)); /* it has two blocks */
  assert_false(cdna_broadcast_is_defined(i, 1, 2));
  assert_true(cdna_broadcast_is_defined(instruction("v_mfma_i32_4x4x4_16b_i8"), 4, 15));
  assert_false(cdna_broadcast_is_defined(instruction("v_mfma_i32_4x4x4_16b_i8"), 5, 0));
}

/* ---- the list ---- */

/* Registers of A, B and C, as llvm-mc 22 prints them. */
static void operands_take_the_registers_that_the_assembler_wants(void **state) {
  static const struct {
    int a, b, c;
    const char *names;
  } rows[] = {
      {1, 1, 32, "f32_32x32x1_2b_f32 i32_32x32x4_2b_i8"},
      {1, 1, 16, "f32_16x16x1_4b_f32 f32_32x32x2_f32 i32_16x16x4_4b_i8"},
      {1, 1, 4, "f32_4x4x1_16b_f32 f32_16x16x4_f32 i32_4x4x4_16b_i8"},
      {2, 2, 32, "f32_32x32x4_2b_f16 f32_32x32x4_2b_bf16"},
      {2, 2, 16,
       "f32_32x32x4_xf32 f32_16x16x4_4b_f16 f32_32x32x8_f16 i32_32x32x16_i8 f32_16x16x4_4b_bf16 f32_32x32x8_bf16 "
       "f32_32x32x16_bf8_bf8 f32_32x32x16_bf8_fp8 f32_32x32x16_fp8_bf8 f32_32x32x16_fp8_fp8"},
      {2, 2, 8, "f64_16x16x4_f64"},
      {2, 2, 4,
       "f32_16x16x8_xf32 f32_4x4x4_16b_f16 f32_16x16x16_f16 i32_16x16x32_i8 f32_4x4x4_16b_bf16 f32_16x16x16_bf16 "
       "f32_16x16x32_bf8_bf8 f32_16x16x32_bf8_fp8 f32_16x16x32_fp8_bf8 f32_16x16x32_fp8_fp8"},
      {2, 2, 2, "f64_4x4x4_4b_f64"},
      {4, 4, 4, "f32_16x16x32_bf16 i32_16x16x64_i8 f32_16x16x32_f16"},
      {4, 4, 16, "f32_32x32x16_bf16 i32_32x32x32_i8 f32_32x32x16_f16"},
      {8, 8, 4, "f32_16x16x128_f8f6f4"},
      {8, 8, 16, "f32_32x32x64_f8f6f4"},
      {2, 4, 4,
       "f32_16x16x32_f16 f32_16x16x32_bf16 i32_16x16x64_i8 f32_16x16x64_bf8_bf8 f32_16x16x64_bf8_fp8 "
       "f32_16x16x64_fp8_bf8 f32_16x16x64_fp8_fp8"},
      {2, 4, 16,
       "f32_32x32x16_f16 f32_32x32x16_bf16 i32_32x32x32_i8 f32_32x32x32_bf8_bf8 f32_32x32x32_bf8_fp8 "
       "f32_32x32x32_fp8_bf8 f32_32x32x32_fp8_fp8"},
      {4, 8, 4,
       "f32_16x16x64_bf16 i32_16x16x128_i8 f32_16x16x128_bf8_bf8 f32_16x16x128_bf8_fp8 f32_16x16x128_fp8_bf8 "
       "f32_16x16x128_fp8_fp8 f32_16x16x64_f16"},
      {4, 8, 16,
       "f32_32x32x32_bf16 i32_32x32x64_i8 f32_32x32x64_bf8_bf8 f32_32x32x64_bf8_fp8 f32_32x32x64_fp8_bf8 "
       "f32_32x32x64_fp8_fp8 f32_32x32x32_f16"},
  };
  int found = 0, of[CDNA_ARCHES] = {0};
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    char *names = strdup(rows[r].names), *rest = NULL;
    for (char *word = strtok_r(names, " ", &rest); word; word = strtok_r(NULL, " ", &rest), found++) {
      char name[64];
      snprintf(name, sizeof name, "v_%s_%s", rows[r].a == rows[r].b ? "mfma" : "smfmac", word);
      const cdna_mfma *i = instruction(name);
      for (int arch = 0; arch < CDNA_ARCHES; arch++) of[arch] += i->passes[arch] > 0;
      assert_int_equal(cdna_mfma_is_sparse(i), rows[r].a != rows[r].b);
      assert_int_equal(fragment(i, CDNA_A, CDNA_FP8).registers, rows[r].a);
      assert_int_equal(fragment(i, CDNA_B, CDNA_FP8).registers, rows[r].b);
      assert_int_equal(fragment(i, CDNA_C, CDNA_FP8).registers, rows[r].c);
    }
    free(names);
  }
  assert_int_equal(found, 68);
  assert_null(cdna_mfma_at(68));
  assert_int_equal(of[CDNA3], 46);
  assert_int_equal(of[CDNA4], 66);
  assert_null(cdna_mfma_find("v_mfma_scale_f32_16x16x16_f16"));
  assert_null(cdna_mfma_find("v_mfma_f32_16x16x16"));
}

/* Multiply-accumulates of a CU (4 SIMDs) and cycle: AMD's data sheets of MI300X and MI355X. */
static void passes_give_the_published_peak(void **state) {
  static const struct {
    const char *name;
    cdna_arch arch;
    cdna_type a, b;
    int macs;
  } rows[] = {
      {"v_mfma_f32_16x16x16_bf16", CDNA3, CDNA_BF16, CDNA_BF16, 1024},
      {"v_mfma_f32_32x32x8_f16", CDNA3, CDNA_F16, CDNA_F16, 1024},
      {"v_mfma_f32_32x32x16_fp8_fp8", CDNA3, CDNA_FP8, CDNA_FP8, 2048},
      {"v_mfma_f32_16x16x4_f32", CDNA3, CDNA_F32, CDNA_F32, 128},
      {"v_mfma_f64_16x16x4_f64", CDNA3, CDNA_F64, CDNA_F64, 128},
      {"v_mfma_f32_16x16x32_bf16", CDNA4, CDNA_BF16, CDNA_BF16, 2048},
      {"v_mfma_f32_16x16x128_f8f6f4", CDNA4, CDNA_FP8, CDNA_FP8, 4096},
      {"v_mfma_f32_16x16x128_f8f6f4", CDNA4, CDNA_FP4, CDNA_BF8, 4096},
      {"v_mfma_f32_16x16x128_f8f6f4", CDNA4, CDNA_FP4, CDNA_FP6, 8192},
      {"v_mfma_f32_32x32x64_f8f6f4", CDNA4, CDNA_FP4, CDNA_FP4, 8192},
      {"v_mfma_f64_16x16x4_f64", CDNA4, CDNA_F64, CDNA_F64, 64},
  };
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    const cdna_mfma *i = instruction(rows[r].name);
    const int passes = cdna_mfma_passes(i, rows[r].arch, rows[r].a, rows[r].b);
    assert_int_equal(4 * cdna_mfma_macs(i) / (4 * passes), rows[r].macs);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_layout_is_a_bijection),
      cmocka_unit_test(layouts_follow_from_filling_registers_in_order),
      cmocka_unit_test(tables_of_k_are_those_of_the_manual),
      cmocka_unit_test(results_lie_as_published),
      cmocka_unit_test(scales_belong_to_rows_and_runs_of_32),
      cmocka_unit_test(indices_lie_beside_the_items_that_they_place),
      cmocka_unit_test(items_of_6_bits_cross_registers),
      cmocka_unit_test(broadcasts_are_the_calculators),
      cmocka_unit_test(operands_take_the_registers_that_the_assembler_wants),
      cmocka_unit_test(passes_give_the_published_peak),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
