/* Weights of 4 and 2 bits on the simulated array: what is packed and unpacked is what src/format holds, and GEMMs are
 * exact. */
#include "test.h"

#include <math.h>
#include <stdio.h>

#include "base/random.h"
#include "op/element.h"
#include "target/xdna2/array/pack.h"
#include "xdna2_gemm.h"

static const char *const names[] = {"int8-int4", "ternary-int8", "ternary-int4", "ternary-registers"};
enum { NAMES = sizeof names / sizeof *names };

/* ---- weights ---- */

/* Random weights as the format library makes them: k x n, row-major, scale 1. */
static int8_t *weights_of(tw_type type, int64_t k, int64_t n, uint64_t seed) {
  const tw_packing packing = {.format = tw_format_of_type(type)};
  const size_t columns = (size_t)n;
  float *x = malloc((size_t)(k * n) * sizeof *x);
  int8_t *out = malloc((size_t)(k * n));
  tw_packed_size size;
  tw_random r;
  tw_error error;
  tw_random_seed(&r, seed);
  if (tw_format_sizes(&packing, (size_t)k, columns, &size, &error) != TW_OK) fail_msg("%s", error.text);
  uint8_t *codes = malloc(size.codes), *scales = malloc(size.scales + 1);
  for (int64_t i = 0; i < k * n; i++) x[i] = (float)tw_random_between(&r, -3, 3) / 3;
  tw_format_encode(&packing, (size_t)k, columns, x, columns, codes, scales, NULL);
  for (int64_t i = 0; i < k; i++) ((float *)(void *)scales)[i] = 1;
  tw_format_decode(&packing, (size_t)k, columns, codes, scales, x, columns, NULL);
  for (int64_t i = 0; i < k * n; i++) out[i] = (int8_t)x[i];
  free(codes), free(scales), free(x);
  return out;
}

/* Element (k, n) of a tile as the multiplier finds it. */
static int element(const xd_gemm *g, const uint8_t *tile, int64_t k, int64_t n) {
  const int s = g->kernel->vmac[1], t = g->kernel->vmac[2];
  const int64_t at = (k / s * (g->tile.n / t) + n / t) * s * t + k % s * t + n % t;
  if (xd_multiplied_b(g->kernel) == TW_I8) return (int8_t)tile[at];
  return ((tile[at / 2] >> at % 2 * 4 & 15) ^ 8) - 8;
}

static void check_tile(const xd_gemm *g, const int8_t *b, const uint8_t *tile) {
  for (int64_t k = 0; k < g->tile.k; k++)
    for (int64_t n = 0; n < g->tile.n; n++)
      if (element(g, tile, k, n) != b[k * g->n + n])
        fail_msg("%s: B[%d][%d] is %d and should be %d", g->kernel->name, (int)k, (int)n, element(g, tile, k, n),
                 b[k * g->n + n]);
}

static void what_is_unpacked_is_what_the_formats_hold(void **state) {
  for (int i = 0; i < 3; i++) { /* the fourth has no buffer of what is unpacked */
    xd_gemm g = gemm_of(names[i], (tw_tile){32, 96, 64, 1}, 32, 64, 96);
    int64_t bytes[XD_GEMM_OPERANDS];
    g.rows = g.columns = 1;
    xd_gemm_bytes(&g, bytes);
    assert_int_equal(bytes[XD_GEMM_B], 96 * 64 * (g.kernel->b == TW_I4 ? 4 : 2) / 8);
    int8_t *b = weights_of(g.kernel->b, g.k, g.n, 5 + (uint64_t)i);
    uint8_t *packed = malloc((size_t)bytes[XD_GEMM_B]), *unpacked = malloc(96 * 64);
    xd_pack_weights(&g, b, packed);
    const xd_call call = {.m = 1, .k = 96, .n = 64};
    if (g.kernel->scratch_b == TW_TYPE_NONE) memcpy(unpacked, packed, (size_t)bytes[XD_GEMM_B]);
    if (g.kernel->scratch_b == TW_I8) xd_function_find("unpack_i8")->run(&call, (uint8_t *[]){packed, unpacked});
    if (g.kernel->scratch_b == TW_I4) xd_function_find("unpack_i4")->run(&call, (uint8_t *[]){packed, unpacked});
    check_tile(&g, b, unpacked);
    free(b), free(packed), free(unpacked);
  }
}

/* ---- products ---- */

/* Of a sum: itself, or shifted down, rounded and saturated. */
static int64_t result_of(const xd_gemm *g, int64_t sum) {
  if (g->c == TW_I32) return sum;
  const double scaled = ldexp((double)sum, -g->shift), most = g->c == TW_I8 ? INT8_MAX : INT16_MAX;
  return (int64_t)fmax(-most - 1, fmin(most, g->rounding == TW_ROUND_FLOOR ? floor(scaled) : rint(scaled)));
}

/* How many results are saturated. */
static int check_product(const xd_gemm *g) {
  const size_t element = (size_t)tw_type_bits(g->c) / 8;
  int64_t bytes[XD_GEMM_OPERANDS];
  int saturated = 0;
  xd_gemm_bytes(g, bytes);
  int8_t *a = malloc((size_t)(g->m * g->k)), *b = weights_of(g->kernel->b, g->k, g->n, 9);
  uint8_t *packed = malloc((size_t)bytes[XD_GEMM_B]);
  void *c = malloc((size_t)(g->m * g->n) * element);
  tw_random r;
  tw_random_seed(&r, 7);
  for (int64_t i = 0; i < g->m * g->k; i++) a[i] = (int8_t)tw_random_between(&r, -128, 127);
  memset(c, 0xA5, (size_t)(g->m * g->n) * element);
  xd_pack_weights(g, b, packed);
  run(g, a, packed, c);
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < g->n; j++) {
      int64_t sum = 0;
      for (int64_t p = 0; p < g->k; p++) sum += a[i * g->k + p] * b[p * g->n + j];
      const int64_t expected = result_of(g, sum), got = (int64_t)tw_element(g->c, c, i * g->n + j);
      saturated += expected != sum && (expected == INT8_MAX || expected == INT16_MAX);
      if (got != expected)
        fail_msg("%s, %dx%dx%d, tile %dx%dx%d: C[%d][%d] is %d and should be %d", g->kernel->name, (int)g->m, (int)g->n,
                 (int)g->k, (int)g->tile.m, (int)g->tile.k, (int)g->tile.n, (int)i, (int)j, (int)got, (int)expected);
    }
  free(a), free(b), free(packed), free(c);
  return saturated;
}

/* Sums of ternary weights have deviations of about 60 sqrt(k), of int4 of 350 sqrt(k): shifts that leave some beyond
 * the range. */
static void products_are_narrowed(void **state) {
  for (int i = 0; i < NAMES; i++)
    for (int wide = 0; wide < 2; wide++)
      for (int down = 0; down < 2; down++) {
        char name[64];
        snprintf(name, sizeof name, "%s-narrow%s", names[i], wide ? "16" : "");
        xd_gemm g = gemm_of(name, (tw_tile){64, 32, 64, 2}, 256, 384, 192);
        g.columns = 6;
        g.rounding = down ? TW_ROUND_FLOOR : TW_ROUND_EVEN;
        const bool four = g.kernel->b == TW_I4;
        g.shift = wide ? 0 : four ? 6 : 3;
        const int saturated = check_product(&g);
        if (!wide) assert_true(saturated > 0 && saturated < 256 * 384 / 2);
        g.m = 70, g.n = 100, g.k = 156, g.rows = g.columns = 1; /* sizes that do not divide */
        g.shift = wide ? 5 : 7;
        check_product(&g);
        g.m = 5, g.n = 12; /* and small ones */
        g.tile.rho = 1;
        check_product(&g);
      }
}

static void products_are_exact(void **state) {
  for (int i = 0; i < NAMES; i++)
    for (int depth = 1; depth <= 3; depth++) {
      xd_gemm g = gemm_of(names[i], (tw_tile){64, 32, 64, depth == 2 ? 2 : 1}, 256, 384, 192);
      g.columns = 3;
      g.depth = depth;
      check_product(&g);
      g.columns = 6, g.rows = depth;
      check_product(&g);
    }
}

static void products_of_sizes_that_do_not_divide_are_exact(void **state) {
  static const int64_t m[] = {65, 70, 127}, n[] = {65, 100, 127}, k[] = {68, 100, 156};
  for (int i = 0; i < NAMES; i++)
    for (int j = 0; j < 9; j += example_stride()) {
      xd_gemm g = gemm_of(names[i], (tw_tile){32, 32, 32, 1}, m[j % 3], n[j / 3], k[(i + j) % 3]);
      g.rows = g.columns = 2;
      g.depth = 1 + j % 2;
      check_product(&g);
    }
}

static void small_products_are_exact(void **state) {
  static const int64_t m[] = {1, 9}, n[] = {1, 5, 40, 200}, k[] = {4, 20, 64};
  for (int i = 0; i < NAMES; i++)
    for (int j = 0; j < 24; j += example_stride()) {
      xd_gemm g = gemm_of(names[i], (tw_tile){32, 32, 64, 1}, m[j / 12], n[j / 3 % 4], k[j % 3]);
      g.rows = 1;
      g.columns = n[j / 3 % 4] == 200 ? 2 : 1;
      check_product(&g);
    }
}

/* The steps of K are one, an odd and an even number; FIFOs, and descriptors and locks. */
static void products_with_hidden_unpacking_are_exact(void **state) {
  for (int i = 1; i < 3; i++) {
    char name[64];
    for (int steps = 1; steps <= 5; steps++) {
      xd_gemm g = gemm_of(names[i], (tw_tile){64, 64, 64, 1 + steps % 2}, 256, 384, 64 * steps);
      g.hide_unpacking = true;
      g.columns = 3;
      check_product(&g);
      g.k -= 28, g.m = 260, g.n = 300; /* sizes that do not divide */
      check_product(&g);
    }
    snprintf(name, sizeof name, "%s-narrow", names[i]);
    xd_gemm g = gemm_of(name, (tw_tile){32, 32, 64, 1}, 20, 100, 96); /* and small ones */
    g.hide_unpacking = true;
    g.rows = g.columns = 1;
    g.shift = 3;
    check_product(&g);
  }
}

/* ---- time and refusals ---- */

static xd_run_result timed(const char *name, int64_t m) {
  const tw_tile tile = {m > 16 ? 64 : 16, 64, 64, 1};
  const xd_run_options options = {.timing_only = true, .cost = analytic_cost(&machine)};
  xd_gemm g = gemm_of(name, tile, m, 4096, 1024);
  xd_program p;
  xd_run_result r;
  tw_error error;
  if (m < 64) g.rows = 1;
  if (xd_gemm_program(&machine, &g, &p, &error) || xd_run(&machine, &p, &options, &r, &error))
    fail_msg("%s", error.text);
  xd_program_free(&p);
  return r;
}

/* Codes of 2 bits are worth their unpacking where memory bounds; to cores they are work, less of it where the
 * multiplier takes int4. */
static void fewer_bytes_help_where_memory_bounds(void **state) {
  assert_true(timed("ternary-int8", 16).cycles < timed("int8", 16).cycles);
  const xd_run_result eight = timed("ternary-int8", 1024), four = timed("ternary-int4", 1024),
                      plain = timed("int8", 1024);
  assert_true(eight.call_cycles > plain.call_cycles && four.call_cycles < eight.call_cycles);
  assert_true(eight.read_bytes == four.read_bytes && 2 * eight.read_bytes <= plain.read_bytes);
}

static double call_cycles(const xd_gemm *g) {
  const xd_run_options options = {.timing_only = true, .cost = xd_cost_of(&machine)};
  xd_program p;
  xd_run_result r;
  tw_error error;
  if (xd_gemm_program(&machine, g, &p, &error) || xd_run(&machine, &p, &options, &r, &error))
    fail_msg("%s", error.text);
  xd_program_free(&p);
  return r.call_cycles;
}

/* A core's cycles: all steps but the last have calls that unpack, as the core's scheduler has them. */
static void hidden_unpacking_takes_the_scheduled_time(void **state) {
  enum { STEPS = 8 };
  for (int i = 1; i < 3; i++)
    for (int deep = 0; deep < 2; deep++) { /* a vector for each cluster, and twice as many */
      const tw_tile tile = {deep ? 32 : 64, 64, 64, 1};
      const xd_core_mac mac = i == 1 ? XD_CORE_I8 : XD_CORE_I8_I4;
      const xd_core_kernel k = xd_core_kernel_of(mac, XD_CORE_C_32, (int)tile.m, 64, 64);
      double hidden, plain, pass;
      xd_gemm g = gemm_of(names[i], tile, tile.m, 64, STEPS * 64);
      g.rows = g.columns = 1;
      const double before = call_cycles(&g);
      g.hide_unpacking = true;
      assert_int_equal(xd_core_hidden_cycles(&k, &hidden, NULL), TW_OK);
      assert_int_equal(xd_core_cycles(&k, &plain, NULL), TW_OK);
      assert_int_equal(xd_core_pass_cycles(i == 1 ? XD_PASS_UNPACK_I8 : XD_PASS_UNPACK_I4, 64 * 64, &pass, NULL),
                       TW_OK);
      assert_float_equal(before - call_cycles(&g), (STEPS - 1) * (plain + pass - hidden), 1e-6);
      assert_true(call_cycles(&g) < before);
    }
}

static void wrong_tiles_are_refused(void **state) {
  xd_gemm hiding = gemm_of("ternary-registers", (tw_tile){64, 64, 64, 1}, 512, 512, 512);
  hiding.hide_unpacking = true;
  refused(hiding, "hide_unpacking: kernel ternary-registers has no buffer of unpacked codes");
  hiding = gemm_of("ternary-int8", (tw_tile){96, 32, 32, 3}, 512, 512, 512);
  hiding.hide_unpacking = true;
  refused(hiding, "hide_unpacking: 4 vectors of 256 codes in a tile of B are not a multiple of rho=3");
  refused(gemm_of("ternary-int8", (tw_tile){16, 16, 16, 1}, 512, 512, 512), "kernel ternary-int8 needs multiples of "
                                                                            "16x32x16");
  refused(gemm_of("ternary-registers", (tw_tile){16, 32, 16, 1}, 512, 512, 512), "needs multiples of 32x32x8");
  refused(gemm_of("ternary-int4", (tw_tile){16, 8, 32, 1}, 512, 512, 512), "needs multiples of 8x16x32");
  refused(gemm_of("int8-int4", (tw_tile){16, 16, 16, 1}, 512, 512, 512), "needs multiples of 8x16x32");
  refused(gemm_of("ternary-int8", (tw_tile){64, 128, 128, 1}, 1024, 1024, 512),
          "core (0,2): buffers need 106496 bytes and the stack 1024, but the tile has 65536");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(what_is_unpacked_is_what_the_formats_hold, setup),
      cmocka_unit_test_setup(products_are_exact, setup),
      cmocka_unit_test_setup(products_of_sizes_that_do_not_divide_are_exact, setup),
      cmocka_unit_test_setup(small_products_are_exact, setup),
      cmocka_unit_test_setup(products_with_hidden_unpacking_are_exact, setup),
      cmocka_unit_test_setup(hidden_unpacking_takes_the_scheduled_time, setup),
      cmocka_unit_test_setup(products_are_narrowed, setup),
      cmocka_unit_test_setup(fewer_bytes_help_where_memory_bounds, setup),
      cmocka_unit_test_setup(wrong_tiles_are_refused, setup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
