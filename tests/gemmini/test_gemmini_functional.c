/* Every Gemmini command does to memory, scratchpad and accumulator what the RTL does, bit for bit.
 *
 * Single claims first, with expectations written out; then long random programs against a naive model of one
 * element at a time that shares no code with the machine; then every refusal, by its message. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"
#include "configurations.h"
#include "target/gemmini/machine/functional_private.h" /* to choose among kernels; the rest is functional.h */

/* ---- a machine with three arrays ---- */

enum { A_BASE = 0x80010000, B_BASE = 0x80030000, C_BASE = 0x80050000, ARRAY_BYTES = 0x10000, MAX_DIM = 64 };
enum { ACC = 0x80000000, ACCUMULATE = 0x40000000, FULL = 0x20000000 };

typedef struct machine {
  gm_config config;
  uint8_t a[ARRAY_BYTES], b[ARRAY_BYTES], c[ARRAY_BYTES]; /* a and b are read-only to the DMA */
  rv64_region region[3];
  rv64_memory memory;
  gm_arch *arch;
  char why[256];
  uint64_t random;
} machine;

static uint32_t draw(machine *m) { /* xorshift64* */
  m->random ^= m->random >> 12, m->random ^= m->random << 25, m->random ^= m->random >> 27;
  return (uint32_t)(m->random * 2685821657736338717u >> 32);
}
static int draw_below(machine *m, int n) { return (int)(draw(m) % (uint32_t)n); }

static void fill(machine *m, uint8_t *bytes) {
  for (size_t i = 0; i < ARRAY_BYTES; i += 4) {
    uint32_t x = draw(m);
    if (m->config.input_type == TW_BF16 || m->config.input_type == TW_F16) {
      /* two elements from 2^-3 to 2^4, of both signs; seldom a zero, a denormal, an infinity or a NaN */
      const int exponent = m->config.input_type == TW_BF16 ? 7 : 10, bias = m->config.input_type == TW_BF16 ? 127 : 15;
      uint32_t pair[2];
      for (int h = 0; h < 2; h++) {
        pair[h] = (draw(m) & 0x8000) | (uint32_t)(bias - 3 + draw_below(m, 8)) << exponent |
                  (draw(m) & ((1u << exponent) - 1));
        if (draw_below(m, 60) == 0) pair[h] &= (draw(m) & 0x8000) | 0x3f;
        if (draw_below(m, 2000) == 0) pair[h] |= (1u << 15) - (1u << exponent);
      }
      x = pair[0] | pair[1] << 16;
    }
    if (m->config.input_type == TW_F32) { /* of like size, so that sums round in every step */
      x = tw_bits_of(((float)(int32_t)x) * 0x1p-28f);
      if (draw_below(m, 50) == 0) x = 0x80000000; /* -0 */
      if (draw_below(m, 50) == 0) x = 0;
    }
    memcpy(bytes + i, &x, 4);
  }
}

static machine *new_machine(bool real) {
  machine *m = calloc(1, sizeof *m);
  m->random = 88172645463325252u;
  m->config = (gm_config){.dim = 16,
                          .input_type = TW_I8,
                          .acc_type = TW_I32,
                          .spad_bytes = 16384,
                          .spad_banks = 4,
                          .acc_bytes = 16384,
                          .acc_banks = 2,
                          .mesh_output_bits = 20,
                          .dma_max_bytes = 64,
                          .max_block_cols = 64,
                          .has_mvin_scale = true,
                          .has_relu = true,
                          .has_max_pool = true,
                          .has_pixel_repeats = true,
                          .ex_read_from_acc = true,
                          .ex_write_to_spad = true,
                          .ex_adds_d = true,
                          .acc_read_full_width = true,
                          .acc_read_small_width = true};
  if (real) {
    m->config.dim = 4, m->config.input_type = m->config.acc_type = TW_F32, m->config.mesh_output_bits = 32;
    m->config.mvin_scales_acc = true, m->config.max_block_cols = 16;
  }
  m->region[0] = (rv64_region){.name = "A", .base = A_BASE, .size = ARRAY_BYTES, .rights = RV64_READ, .host = m->a};
  m->region[1] = (rv64_region){.name = "B", .base = B_BASE, .size = ARRAY_BYTES, .rights = RV64_READ, .host = m->b};
  m->region[2] =
      (rv64_region){.name = "C", .base = C_BASE, .size = ARRAY_BYTES, .rights = RV64_READ | RV64_WRITE, .host = m->c};
  m->memory = (rv64_memory){.n_regions = 3, .region = m->region};
  m->arch = gm_arch_new(&m->config, &m->memory);
  assert_non_null(m->arch);
  fill(m, m->a);
  fill(m, m->b);
  fill(m, m->c);
  return m;
}

static void free_machine(machine *m) {
  gm_arch_free(m->arch);
  free(m);
}

/* ---- commands ---- */

static uint64_t local(uint32_t address, int rows, int cols) {
  return (uint64_t)address | (uint64_t)cols << 32 | (uint64_t)rows << 48;
}

static gm_command config_ex(bool ws, int activation, bool at, bool bt, int a_stride, int c_stride, int shift,
                            float scale) {
  return (gm_command){.funct = GM_CONFIG,
                      .rs1 = (uint64_t)tw_bits_of(scale) << 32 | (uint64_t)a_stride << 16 | (uint64_t)bt << 9 |
                             (uint64_t)at << 8 | (uint64_t)activation << 3 | (uint64_t)ws << 2 | GM_CONFIG_EX,
                      .rs2 = (uint64_t)c_stride << 48 | (uint32_t)shift};
}
static gm_command config_ld(int id, uint64_t stride, float scale, bool shrink, int block_stride) {
  return (gm_command){.funct = GM_CONFIG,
                      .rs1 = (uint64_t)tw_bits_of(scale) << 32 | (uint64_t)block_stride << 16 | 1 << 8 |
                             (uint64_t)id << 3 | (uint64_t)shrink << 2 | GM_CONFIG_LD,
                      .rs2 = stride};
}
static gm_command config_st(uint32_t stride, int activation, float scale) {
  return (gm_command){.funct = GM_CONFIG,
                      .rs1 = (uint64_t)activation << 2 | GM_CONFIG_ST,
                      .rs2 = (uint64_t)tw_bits_of(scale) << 32 | stride};
}
typedef struct pooling {
  int stride, size, out_dim, out_rows, out_cols, rows, cols, upper, left;
} pooling;
static gm_command config_pool(uint32_t stride, int activation, float scale, pooling p) {
  gm_command c = config_st(stride, activation, scale);
  c.rs1 |= (uint64_t)p.stride << 4 | (uint64_t)p.size << 6 | (uint64_t)p.upper << 8 | (uint64_t)p.left << 10 |
           (uint64_t)p.out_dim << 24 | (uint64_t)p.out_rows << 32 | (uint64_t)p.out_cols << 40 |
           (uint64_t)p.rows << 48 | (uint64_t)p.cols << 56;
  return c;
}
static gm_command mvin(int id, uint64_t from, uint32_t to, int rows, int cols) {
  static const uint8_t funct[3] = {GM_MVIN, GM_MVIN2, GM_MVIN3};
  return (gm_command){.funct = funct[id], .rs1 = from, .rs2 = local(to, rows, cols)};
}
static gm_command mvout(uint64_t to, uint32_t from, int rows, int cols) {
  return (gm_command){.funct = GM_MVOUT, .rs1 = to, .rs2 = local(from, rows, cols)};
}
static gm_command preload(uint64_t bd, uint64_t c) { return (gm_command){.funct = GM_PRELOAD, .rs1 = bd, .rs2 = c}; }
static gm_command compute(bool preloaded, uint64_t a, uint64_t bd) {
  return (gm_command){.funct = preloaded ? GM_COMPUTE_PRELOADED : GM_COMPUTE_ACCUMULATED, .rs1 = a, .rs2 = bd};
}

static void apply(machine *m, gm_command c) {
  m->why[0] = '\0';
  if (!gm_arch_apply(m->arch, &c, m->why)) fail_msg("funct %d: %s", c.funct, m->why);
}

static void refuses(machine *m, gm_command c, const char *message) {
  m->why[0] = '\0';
  if (gm_arch_apply(m->arch, &c, m->why)) fail_msg("funct %d is not refused, but should be: %s", c.funct, message);
  if (!strstr(m->why, message)) fail_msg("\"%s\" does not say \"%s\"", m->why, message);
}

static int8_t spad_at(const machine *m, int row, int col) {
  return ((const int8_t *)gm_arch_spad_row(m->arch, (size_t)row))[col];
}
static int32_t acc_at(const machine *m, int row, int col) {
  return ((const int32_t *)gm_arch_acc_row(m->arch, (size_t)row))[col];
}
static float real_at(const void *row, int col) { return ((const float *)row)[col]; }

/* ---- mvin ---- */

static void mvin_copies_blocks_and_leaves_the_rest_of_a_row_alone(void **state) {
  machine *m = new_machine(false);
  apply(m, config_ld(0, 100, 1, false, 20));
  int8_t before = spad_at(m, 25, 8);
  apply(m, mvin(0, A_BASE + 3, 5, 3, 40)); /* blocks of 16, 16 and 8 columns at rows 5, 25 and 45 */
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 40; c++)
      assert_int_equal(spad_at(m, 5 + r + 20 * (c / 16), c % 16), (int8_t)m->a[3 + 100 * r + c]);
  assert_int_equal(spad_at(m, 45, 8), before); /* never written: both are what was there at power-up */
  gm_memory_use use = gm_arch_memory_use(m->arch);
  assert_int_equal(use.spad_rows, 9);
  assert_int_equal(use.spad_end, 48);
  assert_int_equal(use.acc_rows, 0);
  free_machine(m);
}

static void mvin_scale_rounds_ties_to_even_and_saturates(void **state) {
  machine *m = new_machine(false);
  static const struct {
    int8_t in;
    float scale;
    int8_t out;
  } cases[] = {{1, 0.5f, 0},         {3, 0.5f, 2},          {5, 0.5f, 2},       {-1, 0.5f, 0},   {-3, 0.5f, -2},
               {-5, 0.5f, -2},       {7, 0.5f, 4},          {127, 2, 127},      {-128, 2, -128}, {100, 1.27f, 127},
               {-100, 1.285f, -128}, {-128, -1, 127},       {85, 1.5f, 127},    {84, 1.5f, 126}, {10, NAN, 127},
               {10, INFINITY, 127},  {-10, INFINITY, -128}, {0, INFINITY, 127}, {77, 0, 0},      {127, 1e30f, 127},
               {1, 0.49999997f, 0},  {1, 0.50000006f, 1},   {-77, 1, -77}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    m->a[0] = (uint8_t)cases[i].in;
    apply(m, config_ld(1, 16, cases[i].scale, false, 16));
    apply(m, mvin(1, A_BASE, 7, 1, 1));
    if (spad_at(m, 7, 0) != cases[i].out)
      fail_msg("%d * %g: %d, not %d", cases[i].in, (double)cases[i].scale, spad_at(m, 7, 0), cases[i].out);
  }
  free_machine(m);
}

static void mvin_of_address_zero_writes_zeros_and_stride_zero_repeats_a_row(void **state) {
  machine *m = new_machine(false);
  apply(m, config_ld(2, 0, 1, false, 16));
  apply(m, mvin(2, A_BASE + 64, 0, 16, 16));
  for (int r = 0; r < 16; r++) assert_memory_equal(gm_arch_spad_row(m->arch, (size_t)r), m->a + 64, 16);
  apply(m, mvin(2, 0, 4, 2, 20)); /* rows 4 and 5, and 4 columns of rows 20 and 21 */
  for (int c = 0; c < 16; c++) assert_int_equal(spad_at(m, 5, c), 0);
  for (int c = 0; c < 16; c++) assert_int_equal(spad_at(m, 6, c), (int8_t)m->a[64 + c]);
  for (int c = 0; c < 4; c++) assert_int_equal(spad_at(m, 21, c), 0);
  assert_int_not_equal(spad_at(m, 21, 4), 0);
  free_machine(m);
}

/* Pixels of 3 bytes, 5 to a row: row r gets pixels r to r + 4. Rows before the first, and before the middle, are left
 * out (PixelRepeater.scala). */
static void repeated_pixels_fill_rows_with_their_neighbours(void **state) {
  machine *m = new_machine(false);
  gm_command repeats = config_ld(1, 3, 1, false, 16);
  repeats.rs1 += 4 << 8;
  apply(m, repeats);
  static const int first[] = {100, 0, 512}; /* of 1024 rows */
  const int8_t before = spad_at(m, 511, 3), last = spad_at(m, 115, 3);
  for (int i = 0; i < 3; i++) {
    apply(m, mvin(1, A_BASE, (uint32_t)first[i], 16, 3));
    for (int r = 0; r < 16; r++)
      for (int pixel = 0; pixel < 5 && r + pixel < 16; pixel++)
        for (int c = 0; c < 3; c++)
          assert_int_equal(spad_at(m, first[i] + r, 3 * pixel + c), (int8_t)m->a[3 * (r + pixel) + c]);
  }
  assert_int_equal(spad_at(m, 98, 6), (int8_t)m->a[0]);
  assert_int_equal(spad_at(m, 511, 3), before);
  assert_int_equal(spad_at(m, 115, 3), last);
  refuses(m, mvin(1, A_BASE, 0, 16, 4), "mvin2: pixel_repeats = 5 pixels of 4 columns exceed a row of 16");
  refuses(m, mvin(1, A_BASE, ACC, 16, 3), "mvin2: pixel_repeats = 5 is unsupported into the accumulator; use 1");
  free_machine(m);
}

static void mvin_into_the_accumulator_takes_32_bits_unscaled_or_8_bits_scaled_and_may_add(void **state) {
  machine *m = new_machine(false);
  int32_t big[3] = {INT32_MAX, -5, 7};
  memcpy(m->a, big, sizeof big);
  apply(m, config_ld(0, 64, 3.0f, false, 16)); /* the scale does not apply */
  apply(m, mvin(0, A_BASE, ACC | 9, 1, 3));
  assert_int_equal(acc_at(m, 9, 0), INT32_MAX);
  assert_int_equal(acc_at(m, 9, 1), -5);
  m->b[0] = 1, m->b[1] = (uint8_t)-7, m->b[2] = 100;
  apply(m, config_ld(1, 64, 2.0f, true, 16));
  apply(m, mvin(1, B_BASE, ACC | ACCUMULATE | 9, 1, 3));
  assert_int_equal(acc_at(m, 9, 0), INT32_MIN + 1); /* 2^31 - 1 + 2 wraps */
  assert_int_equal(acc_at(m, 9, 1), -19);
  assert_int_equal(acc_at(m, 9, 2), 134); /* 200 saturates to 127 before it is added */
  apply(m, mvin(0, 0, ACC | ACCUMULATE | 9, 1, 3));
  assert_int_equal(acc_at(m, 9, 2), 134);
  apply(m, mvin(0, 0, ACC | 9, 1, 2));
  assert_int_equal(acc_at(m, 9, 0), 0);
  assert_int_equal(acc_at(m, 9, 2), 134);
  free_machine(m);
}

static void real_mvin_scales_knows_one_nan_and_no_negative_zero(void **state) {
  machine *m = new_machine(true);
  static const uint32_t in[4] = {0x80000000, 0xffc12345, 0x7f800000, 0x00000001}; /* -0, a NaN, infinity, denormal */
  static const uint32_t out[4] = {0x00000000, 0x7fc00000, 0x7f800000, 0x00000001};
  static const uint32_t minus_infinity = 0xff800000;
  memcpy(m->a, in, sizeof in);
  for (int i = 0; i < 4; i++) memcpy(m->b + 4 * i, &minus_infinity, 4);
  apply(m, config_ld(0, 16, 1, false, 4));
  apply(m, mvin(0, A_BASE, 3, 1, 4));
  assert_memory_equal(gm_arch_spad_row(m->arch, 3), out, sizeof out);
  apply(m, mvin(0, A_BASE, ACC | 3, 1, 4));
  assert_memory_equal(gm_arch_acc_row(m->arch, 3), out, sizeof out);
  apply(m, mvin(0, B_BASE, ACC | ACCUMULATE | 3, 1, 4));
  static const uint32_t sum[4] = {0xff800000, 0x7fc00000, 0x7fc00000, 0xff800000};
  assert_memory_equal(gm_arch_acc_row(m->arch, 3), sum, sizeof sum);
  free_machine(m);
}

/* ---- mvout ---- */

static void mvout_applies_relu_before_the_scale_and_rounds_to_even(void **state) {
  machine *m = new_machine(false);
  static const struct {
    int32_t in;
    int activation;
    float scale;
    int8_t out;
  } cases[] = {{5, 0, 0.5f, 2},
               {7, 0, 0.5f, 4},
               {-5, 0, 0.5f, -2},
               {300, 0, 1, 127},
               {-300, 0, 1, -128},
               {-300, GM_RELU, 1, 0},
               {300, GM_RELU, 0.25f, 75},
               {-8, GM_RELU, -1, 0},
               {8, GM_RELU, -1, -8},
               {16777217, 0, 0x1p-20f, 16},
               {INT32_MAX, 0, 1, 127},
               {INT32_MIN, 0, -1, 127},
               {1, 0, NAN, 127},
               {-1, 0, INFINITY, -128},
               {16777219, 0, 0x1p-18f, 64},
               {-1000000, 0, 1e-4f, -100}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    memcpy(m->a, &cases[i].in, 4);
    apply(m, config_ld(0, 64, 1, false, 16));
    apply(m, mvin(0, A_BASE, ACC | 3, 1, 1));
    apply(m, config_st(64, cases[i].activation, cases[i].scale));
    apply(m, mvout(C_BASE, ACC | 3, 1, 1));
    if ((int8_t)m->c[0] != cases[i].out)
      fail_msg("%d * %g: %d, not %d", cases[i].in, (double)cases[i].scale, (int8_t)m->c[0], cases[i].out);
    apply(m, mvout(C_BASE + 8, ACC | FULL | 3, 1, 1)); /* full width: neither */
    assert_memory_equal(m->c + 8, m->a, 4);
  }
  free_machine(m);
}

static void mvout_writes_its_columns_and_nothing_else(void **state) {
  machine *m = new_machine(false);
  apply(m, config_ld(0, 64, 1, false, 16));
  apply(m, mvin(0, A_BASE, 100, 16, 64));
  uint8_t before[ARRAY_BYTES];
  memcpy(before, m->c, sizeof before);
  apply(m, config_st(200, 0, 1));
  apply(m, mvout(C_BASE + 10, 100, 5, 37));
  for (int i = 0; i < ARRAY_BYTES; i++) {
    int row = (i - 10) / 200, col = (i - 10) % 200;
    bool written = i >= 10 && row < 5 && col < 37;
    assert_int_equal(m->c[i], written ? m->a[64 * row + col] : before[i]);
  }
  free_machine(m);
}

static void config_st_with_all_ones_keeps_the_scale(void **state) {
  machine *m = new_machine(false);
  apply(m, config_st(16, 0, 0.25f));
  apply(m, config_st(32, 0, tw_float_of(0xffffffff)));
  assert_true(gm_arch_registers(m->arch)->store.acc_scale == 0.25f);
  assert_int_equal(gm_arch_registers(m->arch)->store.stride, 32);
  free_machine(m);
}

static void pooling_takes_the_largest_and_counts_the_padding_as_zero(void **state) {
  machine *m = new_machine(false);
  enum { ROWS = 5, COLS = 6, CHANNELS = 3, OUT_DIM = 4, STRIDE = 7 };
  for (int i = 0; i < ROWS * COLS * 16; i++) m->a[i] = (uint8_t)(m->a[i] | 0x80); /* negative: the padding wins */
  apply(m, config_ld(0, 16, 1, true, 16));
  for (int r = 0; r < ROWS * COLS; r++) apply(m, mvin(0, A_BASE + 16 * (uint64_t)r, ACC | (uint32_t)(40 + r), 1, 16));
  pooling p = {.stride = 2,
               .size = 3,
               .out_dim = OUT_DIM,
               .out_rows = 3,
               .out_cols = 3,
               .rows = ROWS,
               .cols = COLS,
               .upper = 1,
               .left = 2};
  apply(m, config_pool(STRIDE, 0, 0.75f, p));
  apply(m, mvout(C_BASE, ACC | 40, 0, CHANNELS));
  for (int pr = 0; pr < 3; pr++)
    for (int pc = 0; pc < 3; pc++)
      for (int ch = 0; ch < CHANNELS; ch++) {
        int best = -1000;
        for (int y = 2 * pr - 1; y < 2 * pr + 2; y++)
          for (int x = 2 * pc - 2; x < 2 * pc + 1; x++) {
            int value = 0;
            if (y >= 0 && x >= 0 && y < ROWS && x < COLS)
              value = (int)rint(0.75 * (int8_t)m->a[16 * (y * COLS + x) + ch]);
            if (value > best) best = value;
          }
        assert_int_equal((int8_t)m->c[(pr * OUT_DIM + pc) * STRIDE + ch], best);
      }
  /* pool_size alone: an image, row by row, into one that is wider */
  p.stride = 0, p.rows = 2, p.cols = 3;
  apply(m, config_pool(8, 0, 1, p));
  apply(m, mvout(C_BASE + 512, ACC | 40, 0, 5));
  for (int i = 0; i < 6; i++) assert_memory_equal(m->c + 512 + 8 * (i / 3 * OUT_DIM + i % 3), m->a + 16 * i, 5);
  free_machine(m);
}

/* ---- compute ---- */

static void load_tiles(machine *m) { /* A at rows 0.., B at rows 64.. of the scratchpad */
  apply(m, config_ld(0, 16, 1, false, 16));
  for (uint32_t t = 0; t < 4; t++) apply(m, mvin(0, A_BASE + 256 * t, 16 * t, 16, 16));
  for (uint32_t t = 0; t < 4; t++) apply(m, mvin(0, B_BASE + 256 * t, 64 + 16 * t, 16, 16));
}

static void weights_stay_until_the_next_preloaded_compute(void **state) {
  machine *m = new_machine(false);
  load_tiles(m);
  apply(m, config_ex(true, 0, false, false, 1, 1, 0, 1));
  apply(m, preload(local(64, 16, 16), local(ACC | 0, 16, 16)));
  apply(m, compute(true, local(0, 16, 16), local(GM_GARBAGE, 16, 16)));
  apply(m, preload(local(GM_GARBAGE, 16, 16), local(ACC | ACCUMULATE | 0, 16, 16)));
  apply(m, compute(false, local(16, 16, 16), local(GM_GARBAGE, 16, 16)));
  apply(m, preload(local(80, 16, 16), local(ACC | ACCUMULATE | 0, 16, 16))); /* new weights, not yet used */
  apply(m, compute(false, local(32, 16, 16), local(GM_GARBAGE, 16, 16)));
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 16; j++) {
      int32_t sum = 0;
      for (int k = 0; k < 16; k++)
        sum += ((int8_t)m->a[16 * i + k] + (int8_t)m->a[256 + 16 * i + k] + (int8_t)m->a[512 + 16 * i + k]) *
               (int8_t)m->b[16 * k + j];
      assert_int_equal(acc_at(m, i, j), sum);
    }
  free_machine(m);
}

static void output_stationary_sums_wrap_at_20_bits_and_round_to_even_when_shifted(void **state) {
  machine *m = new_machine(false);
  memset(m->a, 127, 256);
  memset(m->b, 127, 256);
  load_tiles(m);
  for (int times = 1; times <= 5; times++) {
    apply(m, config_ex(false, 0, false, false, 1, 1, 0, 1));
    for (int t = 0; t < times; t++) {
      apply(m, preload(local(GM_GARBAGE, 16, 16), local(t == times - 1 ? ACC | 8 : GM_GARBAGE, 16, 16)));
      apply(m, compute(t == 0, local(0, 16, 16), local(64, 16, 16)));
    }
    int sum = times * 16 * 127 * 127;
    assert_int_equal(acc_at(m, 8, 0), (sum + (1 << 19)) % (1 << 20) - (1 << 19));
    assert_int_equal(acc_at(m, 23, 15), acc_at(m, 8, 0));
  }
  static const struct {
    int8_t d;
    int shift, out;
  } cases[] = {{5, 1, 2},  {7, 1, 4},   {-5, 1, -2},  {-7, 1, -4},   {6, 2, 2},    {10, 2, 2},     {-6, 2, -2},
               {-1, 3, 0}, {127, 7, 1}, {-128, 8, 0}, {-128, 7, -1}, {100, 31, 0}, {-100, 0, -100}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    m->a[1024] = (uint8_t)cases[i].d;
    apply(m, mvin(0, A_BASE + 1024, 200, 1, 1));
    apply(m, config_ex(false, 0, false, false, 1, 1, cases[i].shift, 1));
    apply(m, preload(local(200, 1, 1), local(300, 1, 1)));
    apply(m, compute(true, local(0, 16, 16), local(GM_GARBAGE, 16, 16)));
    assert_int_equal(spad_at(m, 300, 0), cases[i].out);
  }
  free_machine(m);
}

/* ---- random programs against a naive model ---- */

typedef struct model {
  bool real;
  tw_type input;
  int dim, bytes;                                 /* of an input element */
  double spad[1024][MAX_DIM], acc[1024][MAX_DIM]; /* every value of both types is exact in a double */
  double weights[MAX_DIM][MAX_DIM], sums[MAX_DIM][MAX_DIM], next[MAX_DIM][MAX_DIM];
  uint8_t memory[ARRAY_BYTES]; /* C */
} model;

static double canonical(double x) { return isnan(x) ? (double)NAN : x; }
static double naive_fma(const model *n, double a, double b, double c) {
  return n->real ? canonical((double)fmaf((float)a, (float)b, (float)c)) : a * b + c;
}
static double naive_wrap(double x, int bits) {
  double range = ldexp(1, bits);
  return x - range * floor((x + range / 2) / range);
}
static double naive_add(const model *n, double a, double b) {
  return n->real ? canonical((double)((float)a + (float)b)) : naive_wrap(a + b, 32);
}
static double naive_saturate(double x) { return x > 127 ? 127 : x < -128 ? -128 : x; }
/* Rounded to even, and saturated: a sum of the smallest width keeps its sign. */
static double naive_shift(double x, int shift, int bits) {
  const double limit = ldexp(1, bits - 1), y = rint(ldexp(x, -shift)) + 0.0;
  return y > limit - 1 ? limit - 1 : y < -limit ? -limit : y;
}
/* To nearest even in a type of 16 bits, by the definition of its numbers. */
static double naive_round(const model *n, double x) {
  if (n->input != TW_BF16 && n->input != TW_F16) return x;
  const int significand = n->input == TW_BF16 ? 8 : 11, least = n->input == TW_BF16 ? -126 : -14;
  if (isnan(x) || isinf(x) || x == 0) return canonical(x);
  const int exponent = ilogb(x) < least ? least : ilogb(x);
  const double y = ldexp(rint(ldexp(x, significand - 1 - exponent)), exponent - significand + 1);
  const double limit = n->input == TW_BF16 ? 0x1p128 : 0x1p16;
  return fabs(y) >= limit ? copysign(INFINITY, x) : y;
}
static double naive_decode(const model *n, uint16_t code) {
  const int bits = n->input == TW_BF16 ? 7 : 10, bias = n->input == TW_BF16 ? 127 : 15;
  const int field = code >> bits & ((1 << (15 - bits)) - 1), fraction = code & ((1 << bits) - 1);
  double x = ldexp(field ? fraction + (1 << bits) : fraction, (field ? field : 1) - bias - bits);
  if (field == (1 << (15 - bits)) - 1) x = fraction ? (double)NAN : (double)INFINITY;
  return code & 0x8000 ? -x : x;
}
static uint16_t naive_encode(const model *n, double x) {
  for (uint32_t code = 0; code < 0x8000; code++) { /* the value is one of the type's */
    if (isnan(x)) return n->input == TW_BF16 ? 0x7fc0 : 0x7e00;
    if (naive_decode(n, (uint16_t)code) == fabs(x)) return (uint16_t)(code | (signbit(x) ? 0x8000 : 0));
  }
  fail_msg("%g is not a number of the type", x);
  return 0;
}
static double naive_scale(const model *n, double x, float scale) {
  float product = (float)x * scale;
  if (n->real) return canonical((double)product + 0.0); /* no negative zero */
  return isnan(product) ? 127 : naive_saturate(rint((double)product)) + 0.0;
}

/* mvin of an element of the input's type. */
static double naive_scale_input(const model *n, double x, float scale) {
  if (n->bytes != 2) return naive_scale(n, x, scale);
  return canonical(naive_round(n, x * naive_round(n, (double)scale) + 0.0));
}

static double element(const model *n, const uint8_t *bytes, bool wide) {
  if (n->bytes == 2 && !wide) {
    uint16_t code;
    memcpy(&code, bytes, 2);
    return naive_decode(n, code);
  }
  if (n->real) {
    float x;
    memcpy(&x, bytes, 4);
    return (double)x;
  }
  int32_t x = (int8_t)*bytes;
  if (wide) memcpy(&x, bytes, 4);
  return x;
}

/* Rows of the local memories that a random program uses; mostly the low ones, so that commands meet. */
static int draw_row(machine *m, int room) { return draw_below(m, draw_below(m, 4) ? 64 : 1024 - room); }

static void random_mvin(machine *m, model *n) {
  int id = draw_below(m, 3), rows = 1 + draw_below(m, n->dim), bytes = n->bytes;
  const gm_config *config = &m->config;
  bool acc = draw(m) & 1, shrink = draw(m) & 1, add = draw(m) & 1, zeros = draw_below(m, 5) == 0;
  if (acc && zeros && bytes != 4) shrink = false;
  bool wide = acc && !shrink;
  int most = config->max_block_cols; /* into the accumulator: one packet */
  const int packet = config->dma_max_bytes / (wide ? 4 : bytes);
  if (acc && most > packet) most = n->dim > packet ? n->dim : packet;
  if (most > 4 * n->dim) most = 4 * n->dim;
  int cols = 1 + draw_below(m, most), block_stride = rows + draw_below(m, 20);
  uint64_t stride = draw_below(m, 6) ? (uint64_t)draw_below(m, 400) : 0;
  if (bytes == 2) stride &= ~(uint64_t)1;
  static const float scales[] = {1, 1, 1, 0.5f, 0.1f, -1.5f, 3, 0.007f};
  float scale = config->has_mvin_scale ? scales[draw_below(m, 8)] : 1;
  int room = 3 * block_stride + rows, row = draw_row(m, room), start = draw_below(m, 1000) * bytes;
  const uint8_t *from = draw(m) & 1 ? m->a : m->b;
  uint64_t address = (from == m->a ? A_BASE : B_BASE) + (uint64_t)start;
  apply(m, config_ld(id, stride, scale, shrink, block_stride));
  apply(m, mvin(id, zeros ? 0 : address, (acc ? ACC : 0) | (add ? ACCUMULATE : 0) | (uint32_t)row, rows, cols));
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < cols; c++) {
      double x = 0;
      if (!zeros) {
        x = element(n, from + start + (size_t)r * stride + (size_t)(c * (wide ? 4 : bytes)), wide);
        const bool scaled = wide ? n->real && config->mvin_scales_acc : config->has_mvin_scale;
        if (scaled) x = wide ? naive_scale(n, x, scale) : naive_scale_input(n, x, scale);
      }
      int to = row + r + c / n->dim * block_stride;
      double *cell = acc ? &n->acc[to][c % n->dim] : &n->spad[to][c % n->dim];
      *cell = acc && add ? naive_add(n, *cell, x) : x;
    }
}

static void put(const model *n, uint8_t *to, double x, bool wide) {
  if (n->bytes == 2 && !wide) {
    uint16_t y = naive_encode(n, x);
    memcpy(to, &y, 2);
  } else if (n->real) {
    float y = (float)x;
    memcpy(to, &y, 4);
  } else if (wide) {
    int32_t y = (int32_t)x;
    memcpy(to, &y, 4);
  } else {
    *to = (uint8_t)(int8_t)x;
  }
}

static double naive_read_acc(const model *n, int row, int col, bool relu, float scale) {
  double x = n->acc[row][col];
  return naive_round(n, naive_scale(n, relu && x < 0 ? 0 : x, scale));
}

static void random_mvout(machine *m, model *n) {
  const gm_config *config = &m->config;
  bool acc = draw(m) & 1, full = acc && (draw(m) & 1), relu = draw(m) & 1;
  full = full && config->acc_read_full_width;
  relu = relu && config->has_relu;
  static const float scales[] = {1, 0.5f, 0.01f, 0.003f, -0.02f, 1e-4f};
  float scale = scales[draw_below(m, 6)];
  int rows = 1 + draw_below(m, n->dim), cols = 1 + draw_below(m, full ? n->dim : m->config.max_block_cols);
  int row = draw_row(m, 4 * n->dim + m->config.max_block_cols), start = draw_below(m, 1000),
      bytes = full ? 4 : n->bytes;
  uint32_t stride = (uint32_t)draw_below(m, 400);
  apply(m, config_st(stride, relu ? GM_RELU : 0, scale));
  apply(m, mvout(C_BASE + (uint64_t)start, (acc ? ACC : 0) | (full ? FULL : 0) | (uint32_t)row, rows, cols));
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < cols; c++) {
      int from = row + r + c / n->dim * n->dim, col = c % n->dim;
      double x = !acc ? n->spad[from][col] : full ? n->acc[from][col] : naive_read_acc(n, from, col, relu, scale);
      put(n, n->memory + start + (size_t)r * stride + (size_t)(c * bytes), x, full);
    }
}

typedef struct setting {
  bool ws, at, bt, relu;
  int a_stride, c_stride, shift;
  float scale;
} setting;

typedef struct random_operand {
  bool garbage, acc, transposed;
  int row, rows, cols, stride; /* rows, cols as the array takes them */
} random_operand;

static random_operand draw_operand(machine *m, const model *n, int stride, bool transposed, bool may_be_garbage) {
  random_operand o = {.garbage = may_be_garbage && draw_below(m, 3) == 0,
                      .acc = draw_below(m, 4) == 0 && m->config.ex_read_from_acc,
                      .transposed = transposed,
                      .stride = stride,
                      .rows = n->dim,
                      .cols = n->dim};
  if (draw(m) & 1) o.rows = 1 + draw_below(m, n->dim), o.cols = 1 + draw_below(m, n->dim);
  o.row = draw_row(m, n->dim * stride);
  return o;
}
static uint64_t encode(random_operand o) {
  return local(o.garbage ? GM_GARBAGE : (o.acc ? ACC : 0) | (uint32_t)o.row, o.rows, o.cols);
}
static double operand_at(const model *n, const setting *s, random_operand o, int i, int j) {
  if (o.garbage || i >= o.rows || j >= o.cols) return 0;
  int row = o.row + (o.transposed ? j : i) * o.stride, col = o.transposed ? i : j;
  return o.acc ? naive_read_acc(n, row, col, s->relu, s->scale) : n->spad[row][col];
}

static void naive_store(model *n, const setting *s, random_operand c, bool add, int i, int j, double x) {
  int row = c.row + i * c.stride;
  if (c.acc) {
    n->acc[row][j] = add ? naive_add(n, n->acc[row][j], x) : x;
    return;
  }
  x = n->real ? naive_round(n, x) : naive_saturate(x);
  n->spad[row][j] = s->relu && x < 0 ? 0 : x;
}

static random_operand draw_result(machine *m, const model *n, const setting *s, bool needed, bool *add) {
  random_operand c = draw_operand(m, n, s->ws ? s->c_stride : 1, false, !needed);
  c.acc = draw_below(m, 3) != 0 || !m->config.ex_write_to_spad;
  *add = c.acc && (draw(m) & 1);
  return c;
}

/* One group of commands that start with a preloaded compute. */
static void random_matmuls(machine *m, model *n, const setting *s) {
  int count = 1 + draw_below(m, 4);
  for (int t = 0; t < count; t++) {
    bool add, preloaded = t == 0;
    random_operand pre = draw_operand(m, n, 1, s->ws && s->bt, s->ws ? !preloaded : true);
    random_operand a = draw_operand(m, n, s->a_stride, s->at, false);
    random_operand bd = draw_operand(m, n, 1, !s->ws && s->bt, true);
    if (s->ws && (!m->config.ex_adds_d || n->bytes == 2)) bd.garbage = true;
    if (!s->ws && n->bytes == 2) pre.garbage = true;
    random_operand c = draw_result(m, n, s, s->ws || t == count - 1, &add);
    if (!s->ws && t < count - 1) c.garbage = true;
    if (s->ws && !s->at && !s->bt) { /* rows of C beyond those fed need not come */
      int fed = bd.garbage || a.rows > bd.rows ? a.rows : bd.rows;
      if (c.rows > fed) c.rows = fed;
    }
    for (int i = 0; i < n->dim; i++)
      for (int j = 0; j < n->dim; j++) n->next[i][j] = operand_at(n, s, pre, i, j);
    if (preloaded) memcpy(s->ws ? n->weights : n->sums, n->next, sizeof n->next);
    double results[MAX_DIM][MAX_DIM];
    for (int i = 0; i < n->dim; i++)
      for (int j = 0; j < n->dim; j++) {
        double x = s->ws ? operand_at(n, s, bd, i, j) : n->sums[i][j];
        for (int k = 0; k < n->dim; k++)
          if (s->ws)
            x = naive_fma(n, operand_at(n, s, a, i, k), n->weights[k][j], x);
          else if (!bd.garbage)
            x = naive_fma(n, operand_at(n, s, a, i, k), operand_at(n, s, bd, k, j), x);
        if (!n->real) x = naive_wrap(x, m->config.mesh_output_bits);
        if (!s->ws) n->sums[i][j] = x;
        if (!s->ws)
          x = n->real ? (double)((float)x * ldexpf(1, -s->shift)) + 0.0
                      : naive_shift(x, s->shift, m->config.mesh_output_bits);
        results[i][j] = x;
      }
    apply(m, preload(encode(pre), encode(c) | (add && !c.garbage ? ACCUMULATE : 0)));
    apply(m, compute(preloaded, encode(a), encode(bd)));
    if (c.garbage) continue;
    for (int i = 0; i < c.rows; i++)
      for (int j = 0; j < c.cols; j++) naive_store(n, s, c, add, i, j, results[i][j]);
  }
}

static setting random_setting(machine *m) {
  static const bool modes[6][3] = {{true, false, false}, {true, false, false},  {true, true, false},
                                   {true, false, true},  {false, false, false}, {false, true, true}}; /* ws, at, bt */
  const bool *mode = modes[draw_below(m, 6)];
  const gm_dataflow only = m->config.dataflow;
  while (only != GM_BOTH_DATAFLOWS && mode[0] != (only == GM_WEIGHT_STATIONARY_ONLY)) mode = modes[draw_below(m, 6)];
  static const float scales[] = {1, 0.01f, 0.5f, -0.03f};
  setting s = {.ws = mode[0],
               .at = mode[1],
               .bt = mode[2],
               .relu = (draw(m) & 1) && m->config.has_relu,
               .a_stride = 1 + draw_below(m, 3),
               .c_stride = mode[0] ? 1 + draw_below(m, 3) : 1,
               .shift = draw_below(m, 12),
               .scale = scales[draw_below(m, 4)]};
  return s;
}

static bool differs(double x, double y) {
  if (isnan(x) || isnan(y)) return !(isnan(x) && isnan(y));
  return x != y || (x == 0 && signbit(x) != signbit(y));
}

static void compare(const machine *m, const model *n) {
  for (int r = 0; r < 1024; r++)
    for (int c = 0; c < n->dim; c++) {
      double x = element(n, (const uint8_t *)gm_arch_spad_row(m->arch, (size_t)r) + c * n->bytes, false);
      if (differs(x, n->spad[r][c])) fail_msg("scratchpad row %d column %d: %.9g, not %.9g", r, c, x, n->spad[r][c]);
      x = n->real ? (double)real_at(gm_arch_acc_row(m->arch, (size_t)r), c) : acc_at(m, r, c);
      if (differs(x, n->acc[r][c])) fail_msg("accumulator row %d column %d: %.9g, not %.9g", r, c, x, n->acc[r][c]);
    }
  if (memcmp(m->c, n->memory, ARRAY_BYTES)) fail_msg("memory differs");
}

/* Programs of `groups` groups of commands. Memories have 1024 rows each. */
static void programs_on(gm_config config, bool portable, int groups, uint64_t seed) {
  const bool real = config.acc_type == TW_F32;
  machine *m = new_machine(real);
  const int bytes = gm_input_bytes(&config);
  config.spad_bytes = 1024 * config.dim * bytes;
  config.acc_bytes = 1024 * config.dim * 4;
  m->config = config;
  if (bytes == 2) fill(m, m->a), fill(m, m->b);
  gm_arch_free(m->arch);
  m->arch = gm_arch_new(&m->config, &m->memory);
  m->arch->kernels = gm_choose_kernels(config.dim, portable);
  m->random = seed;
  model *n = calloc(1, sizeof *n);
  n->real = real, n->dim = m->config.dim, n->bytes = bytes, n->input = config.input_type;
  memcpy(n->memory, m->c, ARRAY_BYTES);
  for (int r = 0; r < 1024; r++)
    for (int c = 0; c < n->dim; c++) {
      n->spad[r][c] = element(n, (const uint8_t *)gm_arch_spad_row(m->arch, (size_t)r) + c * bytes, false);
      n->acc[r][c] = element(n, (const uint8_t *)gm_arch_acc_row(m->arch, (size_t)r) + 4 * c, true);
    }
  for (int group = 0; group < groups; group++) {
    for (int i = draw_below(m, 6); i > 0; i--) random_mvin(m, n);
    setting s = random_setting(m);
    apply(m, config_ex(s.ws, s.relu ? GM_RELU : 0, s.at, s.bt, s.a_stride, s.c_stride, s.shift, s.scale));
    for (int i = draw_below(m, 4); i > 0; i--) random_matmuls(m, n, &s);
    for (int i = draw_below(m, 4); i > 0; i--) random_mvout(m, n);
    compare(m, n);
  }
  free(n);
  free_machine(m);
}

static void random_programs(bool real, int dim, bool portable, uint64_t seed) {
  machine *m = new_machine(real);
  gm_config config = m->config;
  free_machine(m);
  config.dim = dim;
  config.max_block_cols = 64 / (real ? 4 : 1);
  programs_on(config, portable, 400, seed);
}

/* Machines of the generator's parameter space, each with what it has. */
static void all_configurations_agree_with_the_naive_model(void **state) {
  assert_true(CONFIGURATIONS >= 35);
  for (size_t i = 0; i < CONFIGURATIONS; i++) {
    const gm_config config = config_of(&configurations[i]);
    const int groups = config.dim <= 16 ? 50 : config.dim <= 32 ? 12 : 3;
    programs_on(config, false, groups, (i + 1) * 0x9e3779b97f4a7c15u);
  }
}

/* What a machine lacks ends the program, with the key of the machine file. */
static void parts_that_are_not_there_are_refused(void **state) {
  machine *m = new_machine(false);
  gm_config *c = &m->config;
  c->has_relu = c->has_max_pool = c->has_pixel_repeats = c->has_mvin_scale = false;
  c->ex_read_from_acc = c->ex_write_to_spad = c->ex_adds_d = c->acc_read_full_width = false;
  c->dataflow = GM_WEIGHT_STATIONARY_ONLY;
  refuses(m, config_ex(false, 0, false, false, 1, 1, 0, 1), "weight-stationary only");
  c->dataflow = GM_OUTPUT_STATIONARY_ONLY;
  refuses(m, config_ex(true, 0, false, false, 1, 1, 0, 1), "output-stationary only");
  c->dataflow = GM_BOTH_DATAFLOWS;
  refuses(m, config_ex(true, GM_RELU, false, false, 1, 1, 0, 1), "has_relu = 0");
  refuses(m, config_st(16, GM_RELU, 1), "has_relu = 0");
  refuses(m, config_pool(16, 0, 1, (pooling){.stride = 1, .size = 2}), "has_max_pool = 0");
  refuses(m, config_ld(0, 16, 0.5f, false, 16), "has_mvin_scale = 0");
  gm_command repeats = config_ld(0, 16, 1, false, 16);
  repeats.rs1 = (repeats.rs1 & ~UINT64_C(0xff00)) | 2 << 8;
  refuses(m, repeats, "has_pixel_repeats = 0");
  apply(m, config_ex(true, 0, false, false, 1, 1, 0, 1));
  apply(m, config_st(16, 0, 1));
  refuses(m, preload(local(ACC, 16, 16), local(ACC, 16, 16)), "ex_read_from_acc = 0");
  refuses(m, preload(local(0, 16, 16), local(32, 16, 16)), "ex_write_to_spad = 0");
  apply(m, preload(local(0, 16, 16), local(ACC, 16, 16)));
  refuses(m, compute(true, local(16, 16, 16), local(32, 16, 16)), "ex_adds_d = 0");
  refuses(m, mvout(C_BASE, ACC | FULL, 16, 16), "acc_read_full_width = 0");
  c->acc_read_full_width = true, c->acc_read_small_width = false;
  refuses(m, mvout(C_BASE, ACC, 16, 16), "acc_read_small_width = 0");
  free_machine(m);
  m = new_machine(true); /* 4 x 4; elements of 16 bits */
  m->config.input_type = TW_BF16;
  gm_arch_free(m->arch);
  m->arch = gm_arch_new(&m->config, &m->memory);
  apply(m, config_ex(true, 0, false, false, 1, 1, 0, 1));
  apply(m, preload(local(0, 4, 4), local(ACC, 4, 4)));
  refuses(m, compute(true, local(16, 4, 4), local(32, 4, 4)), "the 16 bits of D");
  apply(m, compute(true, local(16, 4, 4), local(GM_GARBAGE, 4, 4)));
  apply(m, config_ex(false, 0, false, false, 1, 1, 0, 1));
  refuses(m, preload(local(0, 4, 4), local(ACC, 4, 4)), "preload: the array would take the 16 bits of D");
  free_machine(m);
}

static void random_integer_programs_agree_with_the_naive_model(void **state) {
  for (uint64_t seed = 1; seed <= 3; seed++) {
    random_programs(false, 16, false, seed * 0x9e3779b97f4a7c15u);
    if (seed == 1) random_programs(false, 16, true, 0xbf58476d1ce4e5b9u); /* the loops of processors without AVX2 */
    random_programs(false, 8, false, seed * 0x94d049bb133111ebu);
  }
}

static void random_real_programs_agree_with_the_naive_model(void **state) {
  for (uint64_t seed = 1; seed <= 3; seed++) {
    random_programs(true, 4, false, seed * 0xd1b54a32d192ed03u);
    random_programs(true, 4, true, seed * 0xeb44accab455d165u);
    random_programs(true, 8, false, seed * 0x8cb92ba72f3d8dd7u);
  }
}

/* Every form of a kernel that this processor can run gives the bits of the portable one, at every size. */
static void all_forms_of_a_kernel_give_the_same_bits(void **state) {
  machine *m = new_machine(false);
  for (int dim = 4; dim <= GM_MAX_DIM; dim *= 2) {
    const gm_kernels *portable = gm_choose_kernels(dim, true), *best = gm_choose_kernels(dim, false);
    int n = dim * dim;
    int8_t a[64 * 64];
    static int16_t weights[64 * 64], packed[64 * 64];
    static int32_t x[64 * 64], y[64 * 64];
    for (int round = 0; round < 8; round++) {
      for (int i = 0; i < n; i++) a[i] = (int8_t)draw(m), x[i] = y[i] = (int32_t)draw(m);
      if (round == 0) memset(a, -128, sizeof a);
      portable->pack(dim, a, weights);
      best->pack(dim, a, packed); /* each as it likes them */
      if (round)                  /* else the largest sums there are */
        for (int i = 0; i < n; i++) a[i] = (int8_t)draw(m);
      int rows = 1 + draw_below(m, dim);
      portable->multiply(dim, rows, a, weights, round % 2 ? x : NULL, x);
      best->multiply(dim, rows, a, packed, round % 2 ? y : NULL, y);
      assert_memory_equal(x, y, (size_t)n * 4); /* rows beyond `rows` are as they were */
      static const float factors[] = {1, -0.5f, 1e-3f, 1e30f, NAN, INFINITY, 0x1p-24f, 0.5f};
      int8_t p[64], q[64];
      for (int i = 0; i < n; i += dim) {
        portable->scale(dim, x + i, round & 1 ? 0 : INT32_MIN, factors[round], p);
        best->scale(dim, x + i, round & 1 ? 0 : INT32_MIN, factors[round], q);
        assert_memory_equal(p, q, (size_t)dim);
      }
    }
  }
  free_machine(m);
}

/* ---- refusals ---- */

static void what_reset_leaves_open_is_refused(void **state) {
  machine *m = new_machine(false);
  refuses(m, mvin(0, A_BASE, 0, 1, 1), "mvin: requires a config_ld of its state before it");
  apply(m, config_ld(1, 16, 1, false, 16));
  refuses(m, mvin(2, A_BASE, 0, 1, 1), "mvin3: requires a config_ld of its state before it");
  refuses(m, mvout(C_BASE, 0, 1, 1), "mvout: requires a config_st before it");
  refuses(m, preload(local(0, 16, 16), local(ACC, 16, 16)), "preload: requires a config_ex before it");
  refuses(m, compute(true, local(0, 16, 16), local(GM_GARBAGE, 16, 16)), "requires a preload that names C");
  free_machine(m);
}

static void features_the_machine_lacks_are_refused_by_name(void **state) {
  machine *m = new_machine(false);
  refuses(m, config_ex(true, GM_LAYERNORM, false, false, 1, 1, 0, 1), "config_ex: activation layer normalization");
  refuses(m, config_ex(true, GM_IGELU, false, false, 1, 1, 0, 1), "config_ex: activation I-GELU");
  refuses(m, config_st(16, GM_IGELU, 1), "config_st: activation I-GELU");
  refuses(m, (gm_command){.funct = GM_CONFIG, .rs1 = GM_CONFIG_BERT, .rs2 = 0}, "config_norm: normalization");
  refuses(m, config_ex(true, 0, true, true, 1, 1, 0, 1), "weight-stationary cannot transpose both");
  refuses(m, config_ex(false, 0, false, true, 1, 1, 0, 1), "output-stationary can transpose B only if");
  refuses(m, config_ex(true, 0, false, false, 1, 1, 32, 1), "in_shift = 32");
  refuses(m, config_ld(3, 16, 1, false, 16), "unknown state 3");
  refuses(m, config_pool(16, 0, 1, (pooling){.stride = 1}), "config_st: pool_stride requires pool_size");
  apply(m, config_st(16, 0, 1));
  refuses(m, mvout(C_BASE, ACC | 1 << 26, 1, 1), "normalization (layernorm, softmax");
  for (uint8_t funct = GM_LOOP_WS; funct <= GM_LOOP_WS_STRIDES_DC; funct++)
    refuses(m, (gm_command){.funct = funct, .rs1 = 0, .rs2 = 0}, "a hardware loop must be unrolled");
  refuses(m, (gm_command){.funct = GM_LOOP_CONV, .rs1 = 0, .rs2 = 0}, "a hardware loop must be unrolled");
  refuses(m, (gm_command){.funct = GM_COUNTER, .rs1 = 0, .rs2 = 0}, "this model has no time");
  refuses(m, (gm_command){.funct = GM_MVOUT_SPAD, .rs1 = 0, .rs2 = 0}, "mvout_spad");
  refuses(m, (gm_command){.funct = 22, .rs1 = 0, .rs2 = 0}, "funct 22: no such command");
  apply(m, (gm_command){.funct = GM_FLUSH, .rs1 = 0, .rs2 = 0});
  free_machine(m);
}

static void sizes_and_rows_out_of_range_are_refused(void **state) {
  machine *m = new_machine(false); /* 1024 scratchpad rows, 256 accumulator rows */
  apply(m, config_ld(0, 16, 1, false, 16));
  refuses(m, mvin(0, A_BASE, 0, 17, 1), "mvin: 17 rows: must be from 1 to 16");
  refuses(m, mvin(0, A_BASE, 0, 0, 1), "mvin: 0 rows");
  refuses(m, mvin(0, A_BASE, 0, 1, 65), "mvin: 65 columns: must be from 1 to 64");
  refuses(m, mvin(0, A_BASE, ACC, 1, 17),
          "17 columns of 4-byte data into the accumulator; the DMA's packet holds at most 16");
  refuses(m, mvin(0, A_BASE, GM_GARBAGE, 1, 1), "mvin: the destination is the garbage address");
  apply(m, mvin(0, A_BASE, 1023, 1, 16));
  refuses(m, mvin(0, A_BASE, 1023, 2, 16), "mvin: scratchpad row 1024 does not exist; the last is 1023");
  refuses(m, mvin(0, A_BASE, 1000, 16, 32), "mvin: scratchpad row 1031 does not exist");
  refuses(m, mvin(0, A_BASE, ACC | 241, 16, 16), "mvin: accumulator row 256 does not exist; the last is 255");
  apply(m, config_ld(0, 16, 1, false, 8));
  refuses(m, mvin(0, A_BASE, 0, 9, 17), "block_stride 8 is less than 9 rows");
  apply(m, config_ld(0, 16, 1, true, 16));
  refuses(m, mvin(0, 0, ACC, 4, 16), "zeros into the accumulator with shrink");

  apply(m, config_st(64, 0, 1));
  refuses(m, mvout(C_BASE, 0, 17, 1), "mvout: 17 rows");
  refuses(m, mvout(C_BASE, 0, 1, 65), "mvout: 65 columns");
  refuses(m, mvout(C_BASE, ACC | FULL, 1, 17), "mvout: 17 columns of full-width data; at most 16");
  refuses(m, mvout(C_BASE, GM_GARBAGE, 1, 1), "mvout: the source is the garbage address");
  refuses(m, mvout(C_BASE, 1000, 1, 64), "mvout: scratchpad row 1048 does not exist");
  pooling p = {.stride = 1, .size = 1, .out_dim = 1, .out_rows = 1, .out_cols = 1, .rows = 16, .cols = 17};
  apply(m, config_pool(64, 0, 1, p));
  refuses(m, mvout(C_BASE, ACC, 1, 17), "mvout: 17 columns with pooling; at most 16 are supported");
  refuses(m, mvout(C_BASE, ACC | FULL, 1, 16), "full-width accumulator data cannot be pooled");
  p.stride = 2, p.size = 2, p.out_rows = 8, p.out_cols = 8;
  apply(m, config_pool(64, 0, 1, p));
  refuses(m, mvout(C_BASE, ACC, 1, 16), "mvout: accumulator row 256 does not exist");
  p.out_rows = 0;
  apply(m, config_pool(64, 0, 1, p));
  refuses(m, mvout(C_BASE, ACC, 1, 16), "pooling to 0 rows or columns");

  apply(m, config_ex(true, 0, false, false, 4, 0, 0, 1));
  refuses(m, preload(local(0, 17, 16), local(ACC, 16, 16)),
          "preload: B of 17 rows and 16 columns; at most 16 are supported");
  refuses(m, preload(local(1009, 16, 16), local(ACC, 16, 16)), "preload: scratchpad row 1024 does not exist");
  refuses(m, preload(local(0, 16, 16), local(ACC, 2, 16)), "C with a c_stride of 0");
  apply(m, config_ex(true, 0, false, false, 4, 2, 0, 1));
  refuses(m, preload(local(0, 16, 16), local(ACC | 226, 16, 16)), "preload: accumulator row 256 does not exist");
  apply(m, preload(local(0, 16, 16), local(ACC | 225, 16, 16)));
  refuses(m, compute(true, local(964, 16, 16), local(GM_GARBAGE, 16, 16)), "scratchpad row 1024 does not exist");
  free_machine(m);
}

static void what_the_array_leaves_to_chance_is_refused(void **state) {
  machine *m = new_machine(false);
  uint64_t tile = local(0, 16, 16), to = local(ACC, 16, 16), garbage = local(GM_GARBAGE, 16, 16);
  load_tiles(m);
  apply(m, config_ex(true, 0, false, false, 1, 1, 0, 1));
  apply(m, preload(tile, to));
  refuses(m, compute(false, tile, garbage), "compute_accumulated: the array holds no weights");
  apply(m, preload(garbage, to));
  refuses(m, compute(true, tile, garbage), "compute_preloaded: the array holds no weights");
  apply(m, preload(tile, to));
  refuses(m, preload(tile, to), "preload: the previous preload, which named a C, had no compute");
  refuses(m, config_ex(true, 0, false, false, 1, 1, 0, 1), "config_ex: not allowed between a preload and its compute");
  refuses(m, compute(true, garbage, tile), "A is the garbage address");
  refuses(m, compute(true, tile, garbage), "requires a preload that names C");
  apply(m, preload(tile, to));
  refuses(m, compute(true, local(0, 8, 16), garbage),
          "C has 16 rows, but A and D have only 8; the array may not produce more");
  apply(m, preload(tile, to));
  apply(m, compute(true, local(0, 8, 16), tile)); /* D has them */
  apply(m, preload(tile, local(ACC, 4, 16)));
  apply(m, compute(true, local(0, 1, 16), garbage)); /* the array always takes four */
  apply(m, preload(tile, garbage));
  apply(m, preload(tile, to)); /* the one before named no C */
  apply(m, compute(true, tile, garbage));

  apply(m, config_ex(false, 0, false, false, 1, 1, 0, 1));
  apply(m, preload(garbage, to));
  refuses(m, compute(false, tile, tile), "the array holds no partial sums");
  apply(m, preload(garbage, to));
  apply(m, compute(true, tile, tile));
  apply(m, preload(garbage, to));
  refuses(m, compute(false, tile, tile), "the partial sums were moved to C");
  apply(m, preload(garbage, to));
  refuses(m, compute(true, garbage, tile), "A is the garbage address");
  apply(m, config_ex(false, 0, false, false, 1, 2, 0, 1));
  refuses(m, preload(garbage, to), "output-stationary results need a c_stride of 1, not 2");
  free_machine(m);
}

static void dma_outside_an_array_names_the_array_and_the_distance(void **state) {
  machine *m = new_machine(false);
  apply(m, config_ld(0, 16, 1, false, 16));
  apply(m, config_st(16, 0, 1));
  apply(m, mvin(0, A_BASE + ARRAY_BYTES - 16, 0, 1, 16));
  refuses(m, mvin(0, A_BASE + ARRAY_BYTES - 13, 0, 1, 16),
          "mvin: reads 16 bytes at A + 65523, which is 3 beyond the end of A (65536 bytes)");
  refuses(m, mvin(0, A_BASE + ARRAY_BYTES - 16, 0, 2, 16),
          "16 bytes at 0x80020000, which is not mapped: 0 bytes after the end of");
  refuses(m, mvout(C_BASE + ARRAY_BYTES - 13, 0, 1, 16),
          "mvout: writes 16 bytes at C + 65523, which is 3 beyond the end of C (65536 bytes)");
  refuses(m, mvout(B_BASE + 5, 0, 1, 16), "mvout: writes 16 bytes at B + 5, which is not writable");
  refuses(m, mvin(0, 0x1000, 0, 1, 16), "mvin: reads 16 bytes at 0x1000, which is not mapped");
  refuses(m, mvout(C_BASE + ARRAY_BYTES + 100, 0, 1, 1), "100 bytes after the end of C");
  apply(m, config_ld(0, (uint64_t)-16, 1, false, 16)); /* downwards */
  apply(m, mvin(0, A_BASE + 16, 0, 2, 16));
  assert_memory_equal(gm_arch_spad_row(m->arch, 1), m->a, 16);
  refuses(m, mvin(0, A_BASE + 16, 0, 3, 16), "which is not mapped");
  refuses(m, mvin(0, UINT64_MAX - 3, 0, 1, 16), "which is not mapped");
  m->region[2].rights = RV64_WRITE;
  gm_arch_free(m->arch);
  m->arch = gm_arch_new(&m->config, &m->memory);
  apply(m, config_ld(0, 16, 1, false, 16));
  refuses(m, mvin(0, C_BASE, 0, 1, 16), "mvin: reads 16 bytes at C + 0, which is not readable");
  free_machine(m);
}

static void registers_follow_the_configuration_commands(void **state) {
  machine *m = new_machine(false);
  apply(m, config_ex(true, GM_RELU, true, false, 3, 5, 7, 2));
  gm_command strides = config_ex(false, 0, false, false, 8, 9, 1, 4);
  strides.rs1 |= 1 << 7; /* set_only_strides */
  apply(m, strides);
  const gm_registers *r = gm_arch_registers(m->arch);
  assert_true(r->execute.weight_stationary && r->execute.a_transposed && !r->execute.b_transposed);
  assert_int_equal(r->execute.activation, GM_RELU);
  assert_int_equal(r->execute.a_stride, 8);
  assert_int_equal(r->execute.c_stride, 9);
  assert_int_equal(r->execute.in_shift, 7);
  assert_true(r->execute.acc_scale == 2);
  apply(m, config_ld(2, 12345678901, 0.5f, true, 77));
  assert_true(r->load[2].stride == 12345678901 && r->load[2].scale == 0.5f && r->load[2].shrink);
  assert_int_equal(r->load[2].block_stride, 77);
  assert_false(r->load[1].configured);
  gm_registers copy = *r;
  gm_command st = config_st(99, GM_RELU, 3);
  assert_true(gm_registers_apply(&copy, &m->config, &st, m->why));
  assert_int_equal(copy.store.stride, 99);
  assert_false(r->store.configured);
  free_machine(m);
}

/* Whatever a program sends, the machine does it or says why not; the sanitizers watch. */
static void any_bits_are_done_or_refused(void **state) {
  static const uint8_t functs[] = {GM_CONFIG,
                                   GM_CONFIG,
                                   GM_MVIN,
                                   GM_MVIN2,
                                   GM_MVOUT,
                                   GM_PRELOAD,
                                   GM_PRELOAD,
                                   GM_COMPUTE_PRELOADED,
                                   GM_COMPUTE_PRELOADED,
                                   GM_COMPUTE_ACCUMULATED};
  static const uint32_t bases[] = {0, A_BASE, B_BASE, C_BASE, A_BASE, C_BASE, C_BASE, 0xfffffff0};
  for (int real = 0; real < 2; real++) {
    machine *m = new_machine(real);
    int done = 0;
    for (int i = 0; i < 200000; i++) {
      gm_command c = {.funct = functs[draw_below(m, 10)]};
      uint64_t sizes = local(0, draw_below(m, m->config.dim + 2), draw_below(m, draw(m) & 1 ? m->config.dim + 2 : 70));
      uint32_t kind = draw(m) & (ACC | ACCUMULATE | FULL), row = (uint32_t)draw_below(m, draw(m) & 1 ? 200 : 1100);
      uint32_t place = draw_below(m, 5) ? kind | row : draw_below(m, 3) ? GM_GARBAGE : draw(m);
      if (c.funct == GM_CONFIG) {
        c.rs1 = (uint64_t)draw(m) << 32 | (draw(m) & 0x000f03ff) | (uint64_t)draw_below(m, 20) << 16;
        c.rs2 = (uint64_t)draw_below(m, 3) << 48 | (uint64_t)draw_below(m, 100);
        if ((c.rs1 & 3) == GM_CONFIG_ST) c.rs1 &= ~(uint64_t)(draw_below(m, 4) ? 0x3f0 : 0); /* seldom pooling */
      } else if (c.funct == GM_MVIN || c.funct == GM_MVIN2 || c.funct == GM_MVOUT) {
        c.rs1 = bases[draw_below(m, 8)] + (draw_below(m, 50) ? (uint64_t)draw_below(m, 40000) : 0);
        c.rs2 = place | sizes;
      } else {
        c.rs1 = (uint64_t)(draw_below(m, 4) ? row : place) | local(0, m->config.dim, m->config.dim);
        c.rs2 = place | sizes;
      }
      if (draw_below(m, 200) == 0) c.rs2 = (uint64_t)draw(m) << 32 | draw(m);
      m->why[0] = '\0';
      bool ok = gm_arch_apply(m->arch, &c, m->why);
      done += ok;
      if (!ok) assert_int_not_equal(m->why[0], '\0');
    }
    assert_in_range(done, 20000, 180000); /* the mixture reaches both sides */
    free_machine(m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mvin_copies_blocks_and_leaves_the_rest_of_a_row_alone),
      cmocka_unit_test(mvin_scale_rounds_ties_to_even_and_saturates),
      cmocka_unit_test(mvin_of_address_zero_writes_zeros_and_stride_zero_repeats_a_row),
      cmocka_unit_test(repeated_pixels_fill_rows_with_their_neighbours),
      cmocka_unit_test(mvin_into_the_accumulator_takes_32_bits_unscaled_or_8_bits_scaled_and_may_add),
      cmocka_unit_test(real_mvin_scales_knows_one_nan_and_no_negative_zero),
      cmocka_unit_test(mvout_applies_relu_before_the_scale_and_rounds_to_even),
      cmocka_unit_test(mvout_writes_its_columns_and_nothing_else),
      cmocka_unit_test(config_st_with_all_ones_keeps_the_scale),
      cmocka_unit_test(pooling_takes_the_largest_and_counts_the_padding_as_zero),
      cmocka_unit_test(weights_stay_until_the_next_preloaded_compute),
      cmocka_unit_test(output_stationary_sums_wrap_at_20_bits_and_round_to_even_when_shifted),
      cmocka_unit_test(random_integer_programs_agree_with_the_naive_model),
      cmocka_unit_test(random_real_programs_agree_with_the_naive_model),
      cmocka_unit_test(all_configurations_agree_with_the_naive_model),
      cmocka_unit_test(parts_that_are_not_there_are_refused),
      cmocka_unit_test(all_forms_of_a_kernel_give_the_same_bits),
      cmocka_unit_test(what_reset_leaves_open_is_refused),
      cmocka_unit_test(features_the_machine_lacks_are_refused_by_name),
      cmocka_unit_test(sizes_and_rows_out_of_range_are_refused),
      cmocka_unit_test(what_the_array_leaves_to_chance_is_refused),
      cmocka_unit_test(dma_outside_an_array_names_the_array_and_the_distance),
      cmocka_unit_test(registers_follow_the_configuration_commands),
      cmocka_unit_test(any_bits_are_done_or_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
