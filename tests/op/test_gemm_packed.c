/* test_gemm_packed.c - operands of codes and scales: AITER's order is the one of its functions, written here as they are
 * there (a view of six dimensions, permuted), and a wrong place of a byte is a wrong result. The order of registers is the
 * one of the PTX ISA's figures of mma.m16n8k16, from the thread and register to the weight. */
#include "op_fixture.h"

#include <math.h>

#include "base/random.h"
#include "op/gemm_packed.h"

enum { N = 48, K = 320, BLOCKS = K / 32, PADDED = 256, PADDED_BLOCKS = 16 };

static void fill(uint64_t seed, float x[N * K]) {
  tw_random r;
  tw_random_seed_stream(&r, seed, 1);
  for (int i = 0; i < N * K; i++) x[i] = (float)ldexp(tw_random_real(&r) * 2 - 1, (int)tw_random_below(&r, 9) - 4);
}

/* shuffle_weight(x, layout=(16, 16)) of bytes: x.view(N/16, 16, bytes/32, 2, 16).permute(0, 2, 3, 1, 4) */
static void shuffle_weight(const uint8_t *from, uint8_t *to) {
  enum { BYTES = K / 2 };
  for (int a = 0; a < N / 16; a++)
    for (int c = 0; c < BYTES / 32; c++)
      for (int d = 0; d < 2; d++)
        for (int b = 0; b < 16; b++)
          for (int e = 0; e < 16; e++) *to++ = from[((a * 16 + b) * (BYTES / 32) + c) * 32 + d * 16 + e];
}

/* e8m0_shuffle: padded to 256 rows and 8 blocks, view(rows/32, 2, 16, blocks/8, 2, 4).permute(0, 3, 5, 2, 4, 1) */
static void e8m0_shuffle(const uint8_t *from, uint8_t *to) {
  for (int a = 0; a < PADDED / 32; a++)
    for (int d = 0; d < PADDED_BLOCKS / 8; d++)
      for (int f = 0; f < 4; f++)
        for (int c = 0; c < 16; c++)
          for (int e = 0; e < 2; e++)
            for (int b = 0; b < 2; b++) {
              const int row = a * 32 + b * 16 + c, block = d * 8 + e * 4 + f;
              *to++ = row < N && block < BLOCKS ? from[row * BLOCKS + block] : 0xff;
            }
}

static tw_gemm_packed planes_of(const char *text) {
  const tw_problem p = op_problem(text);
  const tw_gemm g = tw_gemm_of(&p);
  tw_gemm_packed out;
  tw_error error;
  if (tw_gemm_packed_of(&g, 'b', &out, &error) != TW_OK) fail_msg("%s", error.text);
  return out;
}

static void the_order_is_that_of_aiter(void **state) {
  static float x[N * K];
  static double row[K], plain_row[K];
  static uint8_t codes[N * K / 2], scales[N * BLOCKS], expected[N * K / 2], expected_scales[PADDED * PADDED_BLOCKS],
      shuffled[N * K / 2], shuffled_scales[PADDED * PADDED_BLOCKS];
  fill(3, x);
  const tw_gemm_packed plain = planes_of("gemm m=4 n=48 k=320 a=bf16 b=mxfp4 c=f32 acc=f32 packed=1");
  const tw_gemm_packed aiter = planes_of("gemm m=4 n=48 k=320 a=bf16 b=mxfp4 c=f32 acc=f32 packed=1 shuffle=aiter");
  tw_gemm_fill_planes(&plain, x, codes, scales);
  tw_gemm_fill_planes(&aiter, x, shuffled, shuffled_scales);
  assert_int_equal(tw_gemm_code_operand(&aiter, "B").bytes, sizeof shuffled);
  assert_int_equal(tw_gemm_scale_operand(&aiter, "SB").bytes, sizeof shuffled_scales);
  shuffle_weight(codes, expected);
  e8m0_shuffle(scales, expected_scales);
  assert_memory_equal(shuffled, expected, sizeof expected);
  assert_memory_equal(shuffled_scales, expected_scales, sizeof expected_scales);
  for (int i = 0; i < N; i++) {
    tw_gemm_unpack_row(&aiter, shuffled, shuffled_scales, i, row);
    tw_gemm_unpack_row(&plain, codes, scales, i, plain_row);
    assert_memory_equal(row, plain_row, sizeof row);
  }
}

/* Thread, product and register of the units of 16 rows, in memory's order, and the place of their codes in the word. */
static void expect_registers(const char *type, int bits, const char *keys) {
  static float x[N * 384];
  static double row[384];
  static uint8_t shuffled[N * 384 / 2], scales[N * 384 / 32 * 4];
  char text[160];
  const int k = 384, unit = 256 / bits;
  tw_random r;
  tw_random_seed_stream(&r, 8, 1);
  for (int i = 0; i < N * k; i++)
    x[i] = (float)ldexp((int)tw_random_below(&r, 13) - 6, (int)(tw_random_below(&r, 3) + (unsigned)(i / 32 % 7)));
  snprintf(text, sizeof text, "gemm m=4 n=48 k=384 a=bf16 b=%s c=f32 acc=f32 packed=1 %s", type, keys);
  const tw_gemm_packed plain = planes_of(text);
  snprintf(text, sizeof text, "gemm m=4 n=48 k=384 a=bf16 b=%s c=f32 acc=f32 packed=1 %s shuffle=mma", type, keys);
  const tw_gemm_packed units = planes_of(text);
  static uint8_t codes[N * 384 / 2], row_scales[sizeof scales];
  tw_gemm_fill_planes(&plain, x, codes, row_scales);
  memset(shuffled, 0xff, sizeof shuffled); /* is overwritten */
  tw_gemm_fill_planes(&units, x, shuffled, scales);
  assert_int_equal(tw_gemm_code_operand(&units, "B").bytes, N * k * bits / 8);
  for (int tile = 0; tile < N / 16; tile++)
    for (int u = 0; u < k / unit; u++)
      for (int t = 0; t < 32; t++)
        for (int j = 0; j < unit / 16; j++)
          for (int reg = 0; reg < 4; reg++)
            for (int half = 0; half < 2; half++) {
              const int of = tile * 16 + t / 4 + reg % 2 * 8, at = u * unit + j * 16 + t % 4 * 2 + half + reg / 2 * 8;
              const uint8_t *words = shuffled + (tile * (k / unit) + u) * 512 + t * 16;
              const int word = bits == 4 ? j : j / 4 * 2 + reg / 2;
              const int bit = half * 16 + (bits == 4 ? reg * 4 : reg % 2 * 8 + 6 - j % 4 * 2);
              const int found = words[word * 4 + bit / 8] >> bit % 8 & ((1 << bits) - 1);
              const uint8_t *line = codes + of * k * bits / 8;
              const int right = bits == 4 ? line[at / 2] >> at % 2 * 4 & 15
                                          : line[at / 128 * 32 + at % 32] >> (6 - at % 128 / 32 * 2) & 3;
              if (found != right) fail_msg("%s: row %d, weight %d is %d and should be %d", type, of, at, found, right);
            }
  const int words = (int)units.row.row_scales / 4; /* of a row */
  for (int word = 0; word < N * words; word++) {   /* 16 rows, first along k */
    const int of = word / (16 * words) * 16 + word % 16, at = word / 16 % words;
    assert_memory_equal(scales + word * 4, row_scales + (of * words + at) * 4, 4);
  }
  for (int i = 0; i < N; i++) {
    double plain_row[384];
    tw_gemm_unpack_row(&units, shuffled, scales, i, row);
    tw_gemm_unpack_row(&plain, codes, row_scales, i, plain_row);
    assert_memory_equal(row, plain_row, sizeof row);
  }
}
static void the_order_of_registers_is_that_of_the_instruction(void **state) {
  expect_registers("i4", 4, "group=64");
  expect_registers("mxfp4", 4, "");
  expect_registers("ternary", 2, "");
}

/* A problem has the result of a problem whose operands are the numbers that its codes stand for. */
static void codes_multiply_as_their_numbers(void **state) {
  op_run packed, plain;
  void *buffer[TW_OPERANDS_MAX];
  tw_error error = {0};
  op_run_make(&packed, "gemm m=20 n=64 k=256 a=mxfp4 b=mxfp4 c=f32 acc=f32 bias=row packed=1 shuffle=aiter", 5);
  op_run_make(&plain, "gemm m=20 n=64 k=256 a=mxfp4 b=mxfp4 c=f32 acc=f32 bias=row b_transposed=1", 5);
  const tw_gemm g = tw_gemm_of(&packed.problem);
  double row[256];
  for (int operand = 0; operand < 2; operand++) {
    tw_gemm_packed planes;
    assert_int_equal(tw_gemm_packed_of(&g, operand ? 'b' : 'a', &planes, &error), TW_OK);
    for (int64_t i = 0; i < planes.rows; i++) {
      tw_gemm_unpack_row(&planes, packed.data.buffer[operand], packed.data.buffer[2 + operand], i, row);
      for (int p = 0; p < 256; p++) ((float *)plain.data.buffer[operand])[i * 256 + p] = (float)row[p];
    }
  }
  memcpy(plain.data.buffer[2], packed.data.buffer[4], 64 * sizeof(float)); /* the bias */
  memcpy(buffer, plain.data.buffer, sizeof buffer);
  plain.problem.op->reference(&plain.problem, buffer, 1);
  for (int i = 0; i < 20 * 64; i++) op_put(&packed, 5, i, (double)((const float *)plain.data.buffer[3])[i]);
  if (packed.problem.op->compare(&packed.problem, packed.data.buffer, packed.actual, &error) != TW_OK)
    fail_msg("%s", error.text);
  op_run_free(&packed);
  op_run_free(&plain);
}

static void impossible_orders_are_refused(void **state) {
  op_expect_refused("gemm m=4 n=48 k=320 a=bf16 b=mxfp4 c=f32 acc=f32 shuffle=aiter", "requires packed=1");
  op_expect_refused("gemm m=4 n=48 k=320 a=bf16 b=mxfp8 c=f32 acc=f32 packed=1 shuffle=aiter",
                    "requires packed=1, b=mxfp4");
  op_expect_refused("gemm m=4 n=40 k=320 a=bf16 b=mxfp4 c=f32 acc=f32 packed=1 shuffle=aiter", "n a multiple of 16");
  op_expect_refused("gemm m=4 n=48 k=96 a=bf16 b=mxfp4 c=f32 acc=f32 packed=1 shuffle=aiter",
                    "found a=bf16 b=mxfp4 n=48 k=96");
  op_expect_refused("gemm m=4 n=48 k=320 a=bf16 b=i4 c=f32 acc=f32 packed=1 shuffle=aiter",
                    "requires packed=1, b=mxfp4");
  op_expect_refused("gemm m=4 n=48 k=320 a=bf16 b=i4 c=f32 acc=f32 shuffle=mma", "shuffle=mma requires packed=1");
  op_expect_refused("gemm m=4 n=48 k=320 a=bf16 b=i8 c=f32 acc=f32 packed=1 shuffle=mma", "b=i4, ternary or mxfp4");
  op_expect_refused("gemm m=4 n=48 k=320 a=mxfp4 b=mxfp4 c=f32 acc=f32 packed=1 shuffle=mma", "a of real numbers");
  op_expect_refused("gemm m=4 n=40 k=320 a=bf16 b=i4 c=f32 acc=f32 packed=1 shuffle=mma", "n a multiple of 16");
  op_expect_refused("gemm m=4 n=48 k=320 a=bf16 b=ternary c=f32 acc=f32 packed=1 shuffle=mma", "k a multiple of 128");
  op_expect_refused("gemm m=4 n=48 k=320 a=mxfp4 b=mxfp4 c=f32 acc=f32 packed=1 a_transposed=1", "rows without gaps");
  op_expect_refused("gemm m=4 n=48 k=320 a=mxfp4 b=mxfp4 c=f32 acc=f32 packed=1 lda=352", "rows without gaps");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_order_is_that_of_aiter), cmocka_unit_test(the_order_of_registers_is_that_of_the_instruction),
      cmocka_unit_test(codes_multiply_as_their_numbers), cmocka_unit_test(impossible_orders_are_refused)};
  return cmocka_run_group_tests_name("gemm, codes and scales", tests, NULL, NULL);
}
