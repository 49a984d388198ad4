/* Matrix instructions, executed: every one of both machines, in every format, with every broadcast, sparse and scaled,
 * against sums in double of values that this test decodes by itself. All data are such that nothing is rounded. */
#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/random.h"
#include "target/cdna/emulator/emulator.h"
#include "target/cdna/layout/mfma.h"

/* A wave, its registers, and a program without code. */
static struct {
  cdna_program program;
  cdna_object object;
  cdna_group group;
  const cdna_lane_kit *group_kit;
  cdna_wave wave;
  uint32_t v[CDNA_ROWS][CDNA_LANES];
  tw_random random;
} s;

enum { A = 0, B = 32, C = 64, D = 128, INDEX = 200, SCALE_A = 201, SCALE_B = 202 };

static int setup(void **state) {
  s.program.object = &s.object;
  s.program.pool = calloc(1, 1 << 20); /* zero is an empty pool */
  s.program.kit = s.wave.kit = cdna_kit();
  s.wave.program = &s.program;
  s.wave.group = &s.group;
  s.wave.v = s.v;
  tw_random_seed(&s.random, 1);
  return s.program.pool ? 0 : -1;
}

static int teardown(void **state) {
  cdna_program_free(&s.program);
  free(s.group.kept);
  return 0;
}

static const cdna_instruction *instruction(cdna_arch arch, const char *name) {
  size_t n;
  const cdna_instruction *all = cdna_instructions(&n);
  for (size_t i = 0; i < n; i++)
    if (!strcmp(all[i].name, name) && all[i].arches >> arch & 1) return &all[i];
  fail_msg("%s is not decoded", name);
  return NULL;
}

/* ---- values ---- */

/* A code's value, from its bits: sign, exponent, fraction. NaN for what is none. */
static double decode(cdna_arch arch, cdna_type type, uint32_t code) {
  static const struct {
    int exponent, fraction;
  } shapes[CDNA_TYPES] = {[CDNA_F16] = {5, 10}, [CDNA_BF16] = {8, 7}, [CDNA_FP8] = {4, 3}, [CDNA_BF8] = {5, 2},
                          [CDNA_FP6] = {2, 3},  [CDNA_BF6] = {3, 2},  [CDNA_FP4] = {2, 1}};
  const int e = shapes[type].exponent, f = shapes[type].fraction;
  const bool fnuz = arch == CDNA3 && (type == CDNA_FP8 || type == CDNA_BF8);
  const int bias = (1 << (e - 1)) - (fnuz ? 0 : 1), exponent = (int)(code >> f) & ((1 << e) - 1);
  const int fraction = (int)code & ((1 << f) - 1), top = (1 << e) - 1;
  const double sign = code >> (e + f) & 1 ? -1 : 1;
  if (fnuz && code == 0x80) return NAN;
  if (!fnuz && type == CDNA_FP8 && exponent == top && fraction == 7) return NAN;
  if (!fnuz && (type == CDNA_BF8 || type == CDNA_F16 || type == CDNA_BF16) && exponent == top)
    return fraction ? NAN : sign * INFINITY;
  return sign * (exponent ? ldexp((1 << f) + fraction, exponent - bias - f) : ldexp(fraction, 1 - bias - f));
}

/* By trying all; remembered. */
static uint32_t code_of(cdna_arch arch, cdna_type type, double value) {
  static uint32_t known[CDNA_ARCHES][CDNA_TYPES][9]; /* code + 1 */
  uint32_t *at = &known[arch][type][(int)(2 * value) + 4];
  if (!*at)
    while (decode(arch, type, (*at)++) != value) {}
  return *at - 1;
}

/* A small value and its code: multiples of 1/2 up to 2 (integers in integers). */
static double draw(cdna_arch arch, cdna_type type, uint64_t *code) {
  if (type == CDNA_I8) {
    const int value = (int)tw_random_below(&s.random, 256) - 128;
    *code = (uint8_t)value;
    return value;
  }
  const double value = ((double)tw_random_below(&s.random, 9) - 4) / 2;
  if (type == CDNA_F64)
    memcpy(code, &value, sizeof value);
  else if (type == CDNA_F32 || type == CDNA_XF32)
    *code = tw_bits_of((float)value);
  else
    *code = code_of(arch, type, value);
  return value;
}

static void put(int row, int lane, int bit, int bits, uint64_t code) {
  for (int i = 0; i < bits; i++) {
    uint32_t *word = &s.v[row + (bit + i) / 32][lane];
    *word = (*word & ~(1u << (bit + i) % 32)) | (uint32_t)(code >> i & 1) << (bit + i) % 32;
  }
}

static uint64_t get(int row, int lane, int bit, int bits) {
  uint64_t code = 0;
  for (int i = 0; i < bits; i++) code |= (uint64_t)(s.v[row + (bit + i) / 32][lane] >> (bit + i) % 32 & 1) << i;
  return code;
}

/* ---- one instruction ---- */

typedef struct question {
  cdna_arch arch;
  const cdna_mfma *m;
  cdna_type a, b;
  int cbsz, abid, blgp;
  bool scaled;
  int select[2]; /* the byte of the scales */
} question;

static double held_a[CDNA_LANES][64], held_b[CDNA_LANES][64]; /* by lane and item */

static void fill(const question *q, cdna_operand operand, cdna_type type, int row, double held[CDNA_LANES][64]) {
  cdna_fragment f;
  assert_true(cdna_fragment_of(q->m, operand, type, &f));
  for (int lane = 0; lane < CDNA_LANES; lane++)
    for (int item = 0; item < f.items; item++) {
      uint64_t code;
      held[lane][item] = draw(q->arch, type, &code);
      put(row, lane, item * f.bits, f.bits, code);
    }
}

/* What the manual says is read for [block][row][column]: at its slot, in the lane that the fields put in its place. */
static double element(const question *q, cdna_operand operand, cdna_type type, cdna_position p) {
  cdna_fragment f;
  cdna_fragment_of(q->m, operand, type, &f);
  const cdna_slot at = cdna_fragment_slot(&f, p);
  int lane = at.lane;
  const bool permutes = q->m->fields == CDNA_FIELDS_BROADCAST || q->m->fields == CDNA_FIELDS_BLGP;
  if (operand == CDNA_A && q->m->fields == CDNA_FIELDS_BROADCAST && q->cbsz)
    lane = cdna_fragment_slot(&f, (cdna_position){p.block >> q->cbsz << q->cbsz | q->abid, p.row, p.column}).lane;
  static const int period[] = {64, 32, 32, 64, 16, 16, 16, 16}, first[] = {0, 0, 32, 16, 0, 16, 32, 48};
  if (operand == CDNA_B && permutes) lane = (lane % period[q->blgp] + first[q->blgp]) % 64;
  double value = (operand == CDNA_A ? held_a : held_b)[lane][at.item];
  if (q->m->fields == CDNA_FIELDS_NEGATE && q->blgp >> (operand == CDNA_B) & 1) value = -value;
  return value;
}

static int scale_of(const question *q, bool is_a, int outer, int block) {
  if (!q->scaled) return 0;
  const int lane = outer + (is_a ? q->m->m : q->m->n) * block;
  return (int)(s.v[is_a ? SCALE_A : SCALE_B][lane] >> (8 * q->select[!is_a]) & 0xFF) - 127;
}

static double product_sum(const question *q, int block, int i, int j) {
  const cdna_mfma *m = q->m;
  double sum = 0;
  if (cdna_mfma_is_sparse(m)) {
    cdna_fragment index;
    cdna_fragment_of(m, CDNA_INDEX, CDNA_TYPES, &index);
    for (int k = 0; k < m->k / 2; k++) {
      const cdna_slot at = cdna_fragment_slot(&index, (cdna_position){0, i, k});
      const int place = (int)get(INDEX, at.lane, cdna_index_bit(m, q->cbsz, q->abid) + 2 * at.item, 2);
      sum += element(q, CDNA_A, q->a, (cdna_position){0, i, k}) *
             element(q, CDNA_B, q->b, (cdna_position){0, k / 2 * 4 + place, j});
    }
    return sum;
  }
  for (int k = 0; k < m->k; k++)
    sum += ldexp(element(q, CDNA_A, q->a, (cdna_position){block, i, k}) *
                     element(q, CDNA_B, q->b, (cdna_position){block, k, j}),
                 scale_of(q, true, i, k / 32) + scale_of(q, false, j, k / 32));
  return sum;
}

static void encode(const question *q, uint32_t word[4]) {
  const int op = instruction(q->arch, q->m->name)->opcode, c = cdna_mfma_is_sparse(q->m) ? INDEX : C;
  word[2] = 0xD3800000u | (uint32_t)(op << 16 | q->abid << 11 | q->cbsz << 8 | D);
  word[3] = (uint32_t)q->blgp << 29 | (uint32_t)((256 + c) << 18 | (256 + B) << 9 | (256 + A));
  word[0] = 0xD3AC0000u | (uint32_t)((q->select[0] & 1) << 11 | (q->select[1] & 1) << 12);
  word[1] = (uint32_t)((q->select[0] >> 1) << 27 | (q->select[1] >> 1) << 28 | (256 + SCALE_B) << 9 | (256 + SCALE_A));
  if (q->scaled) word[2] |= 1u << 11; /* ABID[0] */
}

static void execute(const question *q) {
  uint32_t word[4];
  cdna_code code;
  cdna_op op = {0};
  encode(q, word);
  if (s.object.arch != q->arch || s.group_kit != s.wave.kit) { /* a workgroup has one architecture and one kit */
    free(s.group.kept);
    s.group.kept = NULL;
  }
  s.object.arch = q->arch;
  s.group_kit = s.wave.kit;
  const char *why = q->scaled ? cdna_decode(q->arch, word, 4, &code) : cdna_decode(q->arch, word + 2, 2, &code);
  if (why) fail_msg("%s: %s", q->m->name, why);
  if (!cdna_lower_mfma(&s.program, &code, &op)) fail_msg("%s: %s", q->m->name, op.why ? op.why : "not executed");
  op.run(&s.wave, &op);
}

static void check(const question *q) {
  const cdna_mfma *m = q->m;
  cdna_fragment c;
  double held_c[CDNA_LANES][64];
  cdna_fragment_of(m, CDNA_C, CDNA_TYPES, &c);
  fill(q, CDNA_A, q->a, A, held_a);
  fill(q, CDNA_B, q->b, B, held_b);
  for (int lane = 0; lane < CDNA_LANES; lane++) {
    uint32_t index = 0; /* two different ones of each four, in order */
    for (int pair = 0; pair < 8; pair++) {
      const uint32_t first = (uint32_t)tw_random_below(&s.random, 3);
      index |= (first | (uint32_t)tw_random_between(&s.random, first + 1, 3) << 2) << 4 * pair;
    }
    s.v[INDEX][lane] = index;
    for (int row = SCALE_A; row <= SCALE_B; row++)
      for (int byte = 0; byte < 4; byte++) put(row, lane, 8 * byte, 8, 124 + tw_random_below(&s.random, 7));
    for (int item = 0; item < c.items; item++) {
      uint64_t code;
      held_c[lane][item] = draw(q->arch, m->c == CDNA_I32 ? CDNA_I8 : m->c, &code);
      if (m->c == CDNA_I32) code = (uint32_t)(int32_t)held_c[lane][item];
      put(cdna_mfma_is_sparse(m) ? D : C, lane, item * c.bits, c.bits, code);
    }
  }
  execute(q);
  for (int block = 0; block < m->blocks; block++)
    for (int i = 0; i < m->m; i++)
      for (int j = 0; j < m->n; j++) {
        const cdna_slot at = cdna_fragment_slot(&c, (cdna_position){block, i, j});
        const double before = held_c[at.lane][at.item];
        const double expected =
            product_sum(q, block, i, j) + (m->fields == CDNA_FIELDS_NEGATE && q->blgp & 4 ? -before : before);
        const uint64_t bits = get(D, at.lane, at.item * c.bits, c.bits);
        double actual;
        if (m->c == CDNA_F64)
          memcpy(&actual, &bits, sizeof actual);
        else
          actual = m->c == CDNA_I32 ? (double)(int32_t)bits : (double)tw_float_of((uint32_t)bits);
        if (actual != expected)
          fail_msg("%s %s x %s cbsz %d abid %d blgp %d%s: D[%d][%d][%d] is %g, not %g", m->name, cdna_type_name(q->a),
                   cdna_type_name(q->b), q->cbsz, q->abid, q->blgp, q->scaled ? " scaled" : "", block, i, j, actual,
                   expected);
      }
}

/* ---- tests ---- */

static void every_instruction_multiplies_exactly(void **state) {
  const cdna_mfma *m;
  int checked = 0;
  for (int arch = 0; arch < CDNA_ARCHES; arch++)
    for (size_t i = 0; (m = cdna_mfma_at(i)); i++) {
      if (!m->passes[arch] || m->fields == CDNA_FIELDS_FORMATS) continue;
      check(&(question){.arch = (cdna_arch)arch, .m = m, .a = m->a, .b = m->b});
      checked++;
    }
  assert_int_equal(checked, 46 + 64);
}

static void fields_permute_broadcast_negate_and_choose(void **state) {
  const cdna_mfma *m;
  for (size_t i = 0; (m = cdna_mfma_at(i)); i++) {
    if (!m->passes[CDNA4]) continue;
    question q = {.arch = CDNA4, .m = m, .a = m->a, .b = m->b};
    if (m->fields == CDNA_FIELDS_BLGP || m->fields == CDNA_FIELDS_BROADCAST || m->fields == CDNA_FIELDS_NEGATE)
      for (q.blgp = 1; q.blgp < 8; q.blgp++) check(&q);
    q.blgp = 0;
    if (m->fields == CDNA_FIELDS_BROADCAST)
      for (q.cbsz = 1; 1 << q.cbsz <= m->blocks; q.cbsz++)
        for (q.abid = 0; q.abid < 1 << q.cbsz; q.abid += 3) check(&q); /* partial ones, too */
    q.cbsz = 0;
    if (m->fields == CDNA_FIELDS_INDEX)
      for (q.abid = 1; q.abid < 4; q.abid++) check(&q);
  }
}

static void f8f6f4_takes_every_pair_of_formats_with_and_without_scales(void **state) {
  static const char *const names[] = {"v_mfma_f32_16x16x128_f8f6f4", "v_mfma_f32_32x32x64_f8f6f4"};
  for (int n = 0; n < 2; n++)
    for (int a = 0; a < 5; a++)
      for (int b = 0; b < 5; b++)
        for (int scaled = 0; scaled < 2; scaled++)
          check(&(question){.arch = CDNA4,
                            .m = cdna_mfma_find(names[n]),
                            .a = (cdna_type)(CDNA_FP8 + a),
                            .b = (cdna_type)(CDNA_FP8 + b),
                            .cbsz = a,
                            .blgp = b,
                            .scaled = scaled,
                            .select = {(a + b) & 3, (a + 2 * b + 1) & 3}});
}

/* Each code of A times 1, alone in its row: the value of the code. NaN and infinity among them. */
static void every_code_of_8_bits_and_less_has_its_value(void **state) {
  static const struct {
    cdna_arch arch;
    const char *name;
    cdna_type type;
    int cbsz, blgp;
  } rows[] = {
      {CDNA3, "v_mfma_f32_16x16x32_fp8_fp8", CDNA_FP8, 0, 0}, {CDNA3, "v_mfma_f32_16x16x32_bf8_bf8", CDNA_BF8, 0, 0},
      {CDNA4, "v_mfma_f32_16x16x32_fp8_fp8", CDNA_FP8, 0, 0}, {CDNA4, "v_mfma_f32_16x16x32_bf8_bf8", CDNA_BF8, 0, 0},
      {CDNA4, "v_mfma_f32_16x16x128_f8f6f4", CDNA_FP6, 2, 2}, {CDNA4, "v_mfma_f32_16x16x128_f8f6f4", CDNA_BF6, 3, 3},
      {CDNA4, "v_mfma_f32_16x16x128_f8f6f4", CDNA_FP4, 4, 4}};
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    const question q = {.arch = rows[r].arch,
                        .m = cdna_mfma_find(rows[r].name),
                        .a = rows[r].type,
                        .b = rows[r].type,
                        .cbsz = rows[r].cbsz,
                        .blgp = rows[r].blgp};
    cdna_fragment a, b;
    uint64_t one = 0;
    cdna_fragment_of(q.m, CDNA_A, q.a, &a);
    cdna_fragment_of(q.m, CDNA_B, q.b, &b);
    while (decode(q.arch, q.b, (uint32_t)one) != 1) one++;
    for (uint32_t first = 0; first < 1u << a.bits; first += 16) {
      memset(s.v, 0, sizeof s.v);
      for (int i = 0; i < 16; i++) {
        const cdna_slot at = cdna_fragment_slot(&a, (cdna_position){0, i, 5});
        put(A, at.lane, at.item * a.bits, a.bits, first + (uint32_t)i);
        const cdna_slot to = cdna_fragment_slot(&b, (cdna_position){0, 5, i});
        put(B, to.lane, to.item * b.bits, b.bits, one);
      }
      execute(&q);
      for (int i = 0; i < 16; i++) {
        const double expected = decode(q.arch, q.a, first + (uint32_t)i);
        const float actual = tw_float_of(s.v[D + i % 4][16 * (i / 4)]);
        if (isnan(expected) ? !isnan(actual) : actual != expected)
          fail_msg("%s on %d: code %u is %g, not %g", rows[r].name, rows[r].arch, first + (unsigned)i, actual,
                   expected);
      }
    }
  }
}

/* A zero that is not stored is not multiplied: infinity at its place leaves the sum finite. */
static void sparse_instructions_read_what_their_indices_name(void **state) {
  const question q = {.arch = CDNA3, .m = cdna_mfma_find("v_smfmac_f32_16x16x32_f16"), .a = CDNA_F16, .b = CDNA_F16};
  memset(s.v, 0, sizeof s.v);
  for (int lane = 0; lane < CDNA_LANES; lane++) {
    s.v[INDEX][lane] = 0x44; /* the first two of each four */
    for (int r = 0; r < 2; r++) s.v[A + r][lane] = 0x3C003C00;
    for (int r = 0; r < 4; r++) s.v[B + r][lane] = r % 2 ? 0x7C007C00 : 0x3C003C00;
  }
  execute(&q);
  for (int lane = 0; lane < CDNA_LANES; lane++)
    for (int r = 0; r < 4; r++) assert_true(tw_float_of(s.v[D + r][lane]) == 16);
}

static void scales_reach_from_2_to_the_minus_127_to_127_and_nan(void **state) {
  const question q = {.arch = CDNA4,
                      .m = cdna_mfma_find("v_mfma_f32_16x16x128_f8f6f4"),
                      .a = CDNA_FP4,
                      .b = CDNA_FP4,
                      .cbsz = 4,
                      .blgp = 4,
                      .scaled = true};
  static const struct {
    uint32_t a, b;
    double expected;
  } rows[] = {{127, 127, 768}, {254, 0, 768}, {0, 254, 768}, {254, 10, 768 * 1024.0}, {7, 127, 768 * 0x1p-120}};
  for (size_t r = 0; r <= sizeof rows / sizeof *rows; r++) {
    memset(s.v, 0, sizeof s.v);
    const bool nan = r == sizeof rows / sizeof *rows;
    for (int lane = 0; lane < CDNA_LANES; lane++) {
      for (int i = 0; i < 4; i++) {
        s.v[A + i][lane] = 0x77777777; /* 6 */
        s.v[B + i][lane] = 0x22222222; /* 1 */
      }
      s.v[SCALE_A][lane] = nan ? 0xFF : rows[r].a;
      s.v[SCALE_B][lane] = nan ? 127 : rows[r].b;
    }
    execute(&q);
    if (nan)
      assert_true(isnan(tw_float_of(s.v[D][0])));
    else
      assert_true(tw_float_of(s.v[D + 3][63]) == rows[r].expected);
  }
}

/* As llvm-mc 22 encodes it, with ABID's lowest bit set, and prints it. */
static void scaled_instructions_decode_as_assembled(void **state) {
  static const uint32_t word[] = {0xd3ac0800, 0x100395c9, 0xd3ad0c80, 0x85024100};
  cdna_code code;
  tw_text text = {0};
  assert_null(cdna_decode(CDNA4, word, 4, &code));
  cdna_print(&code, &text);
  char *line = tw_text_take(&text);
  assert_string_equal(line, "v_mfma_scale_f32_16x16x128_f8f6f4 v[128:131], v[0:3], v[32:35], v[64:67], v201, v202 "
                            "op_sel:[1,0,0] op_sel_hi:[0,1,0] cbsz:4 blgp:4");
  free(line);
}

static void fields_that_mean_nothing_are_refused(void **state) {
  static const struct {
    const char *name;
    int cbsz, abid, blgp;
  } rows[] = {{"v_mfma_f32_16x16x128_f8f6f4", 5, 0, 0}, {"v_mfma_f32_16x16x128_f8f6f4", 0, 0, 7},
              {"v_mfma_f32_32x32x1_2b_f32", 2, 0, 0},   {"v_mfma_f32_32x32x1_2b_f32", 1, 2, 0},
              {"v_mfma_f32_4x4x4_16b_f16", 5, 0, 0},    {"v_mfma_f32_32x32x8_f16", 0, 0, 1}, /* supports none of them */
              {"v_mfma_i32_16x16x64_i8", 1, 0, 0},      {"v_mfma_f32_32x32x16_fp8_fp8", 0, 1, 0},
              {"v_mfma_f32_32x32x2_f32", 1, 0, 0},      {"v_mfma_f64_16x16x4_f64", 0, 1, 0},
              {"v_smfmac_f32_16x16x64_f16", 0, 0, 4}};
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    const question q = {.arch = CDNA4,
                        .m = cdna_mfma_find(rows[r].name),
                        .cbsz = rows[r].cbsz,
                        .abid = rows[r].abid,
                        .blgp = rows[r].blgp};
    uint32_t word[4];
    cdna_code code;
    cdna_op op = {0};
    encode(&q, word);
    s.object.arch = q.arch;
    if (cdna_decode(q.arch, word + 2, 2, &code)) continue; /* not even decoded */
    assert_false(cdna_lower_mfma(&s.program, &code, &op));
    assert_non_null(op.why);
  }
}

/* ---- the published sums of CDNA3 (emulator/fused.h), in integers ---- */

/* (-1)^negative * significand * 2^(exponent - fraction), of a code as it lies in the register. */
typedef struct number {
  bool negative, special;
  int64_t significand;
  int exponent, fraction;
} number;

static number number_of(cdna_type type, uint32_t code) {
  static const struct {
    int exponent, fraction, bias;
  } shape[CDNA_TYPES] = {[CDNA_F16] = {5, 10, 15}, [CDNA_BF16] = {8, 7, 127}, [CDNA_FP8] = {4, 3, 8},
                         [CDNA_BF8] = {5, 2, 16},  [CDNA_F32] = {8, 23, 127}, [CDNA_XF32] = {8, 23, 127}};
  const int f = shape[type].fraction, bits = shape[type].exponent;
  if (type == CDNA_XF32) code = code >> 13 << 13;
  const int e = (int)(code >> f) & ((1 << bits) - 1);
  number n = {.negative = code >> (f + bits) & 1,
              .special = type == CDNA_FP8 || type == CDNA_BF8 ? code == 0x80 : e == (1 << bits) - 1,
              .significand = (int64_t)(code & ((1u << f) - 1)) | (e ? 1ll << f : 0),
              .exponent = (e ? e : 1) - shape[type].bias,
              .fraction = f};
  if (!n.significand) n.exponent = -126;
  return n;
}

/* v * 2^shift; to the right toward zero or downward. */
static __int128 moved(__int128 v, int shift, bool down) {
  if (shift >= 0) return v * ((__int128)1 << shift);
  if (shift < -120) return v < 0 && down ? -1 : 0;
  return v < 0 && !down ? -(-v >> -shift) : v >> -shift;
}

/* To nearest even, from a sum in units of 2^unit. */
static float rounded_sum(__int128 sum, int unit) {
  const bool negative = sum < 0;
  unsigned __int128 v = (unsigned __int128)(negative ? -sum : sum);
  int drop = 0;
  while (v >> drop >> 24) drop++;
  if (unit + drop < -149) drop = -149 - unit;
  if (drop > 126) return negative ? -0.0f : 0.0f;
  if (drop > 0) {
    const unsigned __int128 rest = v & (((unsigned __int128)1 << drop) - 1), half = (unsigned __int128)1 << (drop - 1);
    v >>= drop;
    if (rest > half || (rest == half && v & 1)) v++;
  } else {
    drop = 0;
  }
  const float f = (float)ldexp((double)(uint64_t)v, unit + drop);
  return negative ? -f : f;
}

typedef struct partial {
  __int128 sum; /* in units of 2^(exponent - 24) */
  int exponent;
} partial;

static partial cut_and_add(const number *a, const number *b, int n, int step) {
  partial p = {0, -1000};
  for (int k = 0; k < n; k += step)
    if (a[k].exponent + b[k].exponent > p.exponent) p.exponent = a[k].exponent + b[k].exponent;
  for (int k = 0; k < n; k += step) {
    const __int128 product = (__int128)a[k].significand * b[k].significand;
    const int unit = a[k].exponent + b[k].exponent - a[k].fraction - b[k].fraction;
    const __int128 part = moved(product, unit - (p.exponent - 24), false);
    p.sum += a[k].negative != b[k].negative ? -part : part;
  }
  return p;
}

static float published_sum(cdna_type a_type, const number *a, const number *b, int n, float c) {
  const bool eight = a_type == CDNA_FP8 || a_type == CDNA_BF8;
  const number addend = number_of(CDNA_F32, tw_bits_of(c));
  partial p = cut_and_add(a, b, n, eight ? 2 : 1);
  if (eight) {
    const partial q = cut_and_add(a + 1, b + 1, n - 1, 2);
    const int e = p.exponent > q.exponent ? p.exponent : q.exponent;
    p = (partial){moved(p.sum, p.exponent - e, true) + moved(q.sum, q.exponent - e, true), e};
  }
  const int e = p.exponent > addend.exponent ? p.exponent : addend.exponent;
  const __int128 sum = moved(p.sum, p.exponent - e + 7, true);
  __int128 plus = addend.negative ? -(__int128)addend.significand : addend.significand;
  plus = eight && addend.exponent < e - 25 ? 0 : moved(plus, addend.exponent - 23 - (e - 24), true);
  return rounded_sum(sum + plus * 128, e - 31);
}

/* Codes at random, their exponents within `spread` of the middle; now and then zero. */
static uint32_t random_code(cdna_type type, int spread) {
  const uint32_t r = (uint32_t)tw_random_next(&s.random);
  const uint32_t e = (uint32_t)tw_random_below(&s.random, (uint64_t)spread);
  if (!tw_random_below(&s.random, 12)) return 0;
  switch (type) {
  case CDNA_F16: return (r & 0x83FF) | (e % 30) << 10;
  case CDNA_BF16: return (r & 0x807F) | (uint32_t)(127 - spread / 2 + (int)e) << 7;
  case CDNA_FP8:
  case CDNA_BF8: return (r & 0xFF) == 0x80 ? 0 : r & 0xFF;
  default: return (r & 0x807FFFFF) | (uint32_t)(127 - spread / 2 + (int)e) << 23;
  }
}

static void check_published_sums(const cdna_mfma *m, int spread) {
  const question q = {.arch = CDNA3, .m = m, .a = m->a, .b = m->b};
  const int group = m->a == CDNA_XF32 ? 4 : m->a == CDNA_FP8 || m->a == CDNA_BF8 ? 16 : m->k < 8 ? m->k : 8;
  cdna_fragment f[3];
  cdna_fragment_of(m, CDNA_A, m->a, &f[0]);
  cdna_fragment_of(m, CDNA_B, m->b, &f[1]);
  cdna_fragment_of(m, CDNA_C, CDNA_TYPES, &f[2]);
  static const int row[] = {A, B, C};
  const cdna_type type[] = {m->a, m->b, CDNA_F32};
  for (int o = 0; o < 3; o++)
    for (int lane = 0; lane < CDNA_LANES; lane++)
      for (int item = 0; item < f[o].items; item++)
        put(row[o], lane, item * f[o].bits, f[o].bits, random_code(type[o], o == 2 ? 2 * spread : spread));
  execute(&q);
  for (int block = 0; block < m->blocks; block++)
    for (int i = 0; i < m->m; i++)
      for (int j = 0; j < m->n; j++) {
        number a[64], b[64];
        for (int k = 0; k < m->k; k++) {
          const cdna_slot of_a = cdna_fragment_slot(&f[0], (cdna_position){block, i, k}),
                          of_b = cdna_fragment_slot(&f[1], (cdna_position){block, k, j});
          a[k] = number_of(m->a, (uint32_t)get(A, of_a.lane, of_a.item * f[0].bits, f[0].bits));
          b[k] = number_of(m->b, (uint32_t)get(B, of_b.lane, of_b.item * f[1].bits, f[1].bits));
        }
        const cdna_slot of_c = cdna_fragment_slot(&f[2], (cdna_position){block, i, j});
        float expected = tw_float_of(s.v[C + of_c.item][of_c.lane]);
        for (int k = 0; k < m->k; k += group) expected = published_sum(m->a, a + k, b + k, group, expected);
        const float actual = tw_float_of(s.v[D + of_c.item][of_c.lane]);
        if (actual != expected)
          fail_msg("%s: D[%d][%d] is %a, not %a", m->name, i, j, (double)actual, (double)expected);
      }
}

static void sums_of_cdna3_follow_the_published_rules(void **state) {
  static const char *const isa[] = {"portable", "avx2", "avx512"};
  const cdna_mfma *m;
  int checked = 0;
  for (int k = 0; k < 3; k++) {
    setenv("TILEWRIGHT_CDNA_ISA", isa[k], 1);
    s.program.kit = s.wave.kit = cdna_kit();
    for (size_t i = 0; (m = cdna_mfma_at(i)); i++) {
      if (!m->passes[CDNA3] || cdna_mfma_is_sparse(m) || m->c != CDNA_F32 || m->a == CDNA_F32) continue;
      /* close together, so that all is in the fast loops; and far apart, so that none is (but of f16, fp8) */
      for (int round = 0; round < 3; round++) check_published_sums(m, round == 2 ? 110 : round ? 40 : 8);
      checked++;
    }
  }
  unsetenv("TILEWRIGHT_CDNA_ISA");
  s.program.kit = s.wave.kit = cdna_kit();
  assert_int_equal(checked, 3 * (5 + 5 + 8 + 2));
}

/* What the rules differ in from one fma after the other, by hand: 2^24 + 1 + 1 - 2^24 in a group, of which the ones lie
 * just within 24 bits; and cut off a bit further. */
static void cdna3_cuts_what_lies_far_below_its_group(void **state) {
  const cdna_mfma *m = cdna_mfma_find("v_mfma_f32_16x16x16_bf16");
  const question q = {.arch = CDNA3, .m = m, .a = m->a, .b = m->b};
  for (int bit = 24; bit <= 25; bit++) {
    memset(s.v, 0, sizeof s.v);
    const uint32_t large = (uint32_t)(127 + bit) << 7, one = 127u << 7;
    for (int lane = 0; lane < 16; lane++) { /* k = 0 to 3 of row and column `lane` */
      put(A, lane, 0, 16, large), put(A, lane, 16, 16, one), put(A, lane, 32, 16, one),
          put(A, lane, 48, 16, large | 0x8000);
      for (int k = 0; k < 4; k++) put(B, lane, 16 * k, 16, one);
    }
    execute(&q);
    assert_true(tw_float_of(s.v[D][0]) == (bit == 24 ? 2.0f : 0.0f));
  }
  /* not finite */
  put(A, 0, 0, 16, 0x7F80);
  execute(&q);
  assert_true(isinf(tw_float_of(s.v[D][0])));
  put(A, 0, 16, 16, 0xFF80);
  execute(&q);
  assert_true(isnan(tw_float_of(s.v[D][0])));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_of_cdna3_follow_the_published_rules),
      cmocka_unit_test(cdna3_cuts_what_lies_far_below_its_group),
      cmocka_unit_test(every_instruction_multiplies_exactly),
      cmocka_unit_test(fields_permute_broadcast_negate_and_choose),
      cmocka_unit_test(f8f6f4_takes_every_pair_of_formats_with_and_without_scales),
      cmocka_unit_test(every_code_of_8_bits_and_less_has_its_value),
      cmocka_unit_test(sparse_instructions_read_what_their_indices_name),
      cmocka_unit_test(scales_reach_from_2_to_the_minus_127_to_127_and_nan),
      cmocka_unit_test(scaled_instructions_decode_as_assembled),
      cmocka_unit_test(fields_that_mean_nothing_are_refused),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
