/* Whole-array GEMMs on the simulated array give the bits that their definition gives: row-major loops here, tiles, DMA
 * and locks there. */
#include "test.h"

#include <math.h>
#include <stdio.h>

#include "base/random.h"
#include "target/xdna2/array/pack.h"
#include "target/xdna2/array/reference.h"
#include "target/xdna2/core_design.h"
#include "target/xdna2/rate.h"
#include "xdna2_gemm.h"

/* ---- integers ---- */

static int64_t sum_i8(const xd_gemm *g, const int8_t *a, const int8_t *b, int64_t i, int64_t j) {
  int64_t sum = 0;
  for (int64_t p = 0; p < g->k; p++) sum += a[i * g->k + p] * b[g->b_transposed ? j * g->k + p : p * g->n + j];
  return sum;
}

static int64_t narrowed(const xd_gemm *g, int64_t sum, int bits) {
  const double scaled = ldexp((double)sum, -g->shift), most = ldexp(1, bits - 1) - 1;
  return (int64_t)fmax(-most - 1, fmin(most, g->rounding == TW_ROUND_FLOOR ? floor(scaled) : rint(scaled)));
}

/* Where sums are kept in C: rounded after each step of K, the last of which is moved back and meets zeros. */
static int64_t stepped(const xd_gemm *g, const int8_t *a, const int8_t *b, int64_t i, int64_t j, int bits) {
  const int64_t step = g->depth * g->tile.k, last = (g->k - 1) / step * step;
  int64_t sum = 0;
  for (int64_t p = 0; p < last + step; p += g->tile.k) {
    const int64_t from = p < last ? p : p + g->k - last - step;
    int64_t wide = sum * ((int64_t)1 << g->shift);
    for (int64_t q = from > last || p < last ? from : last; q < from + g->tile.k; q++)
      wide += a[i * g->k + q] * b[g->b_transposed ? j * g->k + q : q * g->n + j];
    sum = narrowed(g, wide, bits);
  }
  return sum;
}

static void check_i8(const xd_gemm *g) {
  const int bits = g->c == TW_I32 ? 32 : g->c == TW_I16 ? 16 : 8;
  int8_t *a = malloc((size_t)(g->m * g->k)), *b = malloc((size_t)(g->k * g->n));
  char *c = malloc((size_t)(g->m * g->n * bits / 8));
  tw_random r;
  tw_random_seed(&r, 7);
  for (int64_t i = 0; i < g->m * g->k; i++) a[i] = (int8_t)tw_random_between(&r, -128, 127);
  for (int64_t i = 0; i < g->k * g->n; i++) b[i] = (int8_t)tw_random_between(&r, -128, 127);
  memset(c, 0xA5, (size_t)(g->m * g->n * bits / 8));
  run(g, a, b, c);
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < g->n; j++) {
      const int64_t sum = sum_i8(g, a, b, i, j), at = i * g->n + j;
      const int64_t got = bits == 32   ? ((int32_t *)(void *)c)[at]
                          : bits == 16 ? ((int16_t *)(void *)c)[at]
                                       : ((int8_t *)c)[at];
      const int64_t expected = bits == 32               ? sum
                               : xd_gemm_narrow_sums(g) ? stepped(g, a, b, i, j, bits)
                                                        : narrowed(g, sum, bits);
      if (got != expected)
        fail_msg("%dx%dx%d, tile %dx%dx%d: C[%d][%d] is %d and should be %d", (int)g->m, (int)g->n, (int)g->k,
                 (int)g->tile.m, (int)g->tile.k, (int)g->tile.n, (int)i, (int)j, (int)got, (int)expected);
    }
  free(a);
  free(b);
  free(c);
}

static void int8_gemms_are_exact(void **state) {
  for (int columns = 1; columns <= 8; columns++) {
    xd_gemm g = gemm_of("int8", (tw_tile){16, 16, 16, 1}, 128, 2 * columns * 16, 64);
    g.columns = columns;
    check_i8(&g);
    g.rows = columns % 4 + 1;
    check_i8(&g);
  }
}

static void asymmetric_tiles_and_longer_runs_are_exact(void **state) {
  for (int rho = 1; rho <= 4; rho *= 2)
    for (int depth = 1; depth <= 4; depth++) {
      xd_gemm g = gemm_of("int8", (tw_tile){64, 24, 32, rho}, 256, 192, 192);
      g.columns = 3;
      g.depth = depth;
      check_i8(&g);
    }
}

static void sizes_that_do_not_divide_are_exact(void **state) {
  const int64_t m[] = {64, 65, 127, 200}, n[] = {96, 100, 188, 204}, k[] = {32, 36, 60, 100};
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      xd_gemm g = gemm_of("int8", (tw_tile){16, 16, 32, 1}, m[i], n[j], k[(i + j) % 4]);
      g.columns = 3;
      g.depth = 1 + i % 2;
      check_i8(&g);
    }
}

/* Less than a macro-tile: DMA fills tiles in part. */
static void small_sizes_are_exact(void **state) {
  static const int64_t m[] = {1, 7, 16, 17, 31}, n[] = {4, 12, 16, 28, 100}, k[] = {4, 12, 16, 28, 100};
  for (int i = 0; i < 125; i += example_stride()) {
    xd_gemm g = gemm_of("int8", (tw_tile){32, 16, 32, 1}, m[i / 25], n[i / 5 % 5], k[i % 5]);
    g.rows = 1;
    g.columns = n[i / 5 % 5] == 100 ? 3 : 1;
    check_i8(&g);
  }
  xd_gemm few_columns = gemm_of("int8", (tw_tile){16, 16, 32, 2}, 256, 20, 96);
  few_columns.tile.m = 32;
  few_columns.columns = 1;
  few_columns.depth = 3;
  check_i8(&few_columns);
  xd_gemm narrow = gemm_of("int8-narrow", (tw_tile){16, 16, 32, 1}, 5, 28, 40);
  narrow.rows = narrow.columns = 1;
  narrow.depth = 2;
  narrow.shift = 6;
  check_i8(&narrow);
}

static void column_major_b_is_exact(void **state) {
  for (int depth = 1; depth <= 3; depth++)
    for (int rho = 1; rho <= 2; rho++) {
      xd_gemm g = gemm_of("int8", (tw_tile){32, 24, 48, rho}, 140, 210, 144);
      g.b_transposed = true;
      g.depth = depth;
      g.columns = 4;
      check_i8(&g);
      g.columns = 1, g.n = 44; /* fewer than the tile has */
      check_i8(&g);
    }
  xd_gemm narrow = gemm_of("int8-narrow", (tw_tile){16, 16, 32, 1}, 5, 100, 64);
  narrow.b_transposed = true;
  narrow.rows = 1, narrow.columns = 3;
  narrow.shift = 6;
  check_i8(&narrow);
}

/* Slices from the whole T_K down to a word; zeros behind B where there is less than a step. */
static void column_major_b_of_any_k_is_exact(void **state) {
  static const int64_t k[] = {16, 20, 68, 100, 140, 156, 168, 184};
  for (size_t i = 0; i < sizeof k / sizeof *k; i++)
    for (int depth = 1; depth <= 3; depth++) {
      xd_gemm g = gemm_of("int8", (tw_tile){32, 24, 48, 2}, 140, 210, k[i]);
      g.b_transposed = true;
      g.depth = depth;
      g.columns = 4;
      if (k[i] < 24 * depth && depth > 1) continue; /* less than a step is one of T_K */
      check_i8(&g);
      g.rows = g.columns = 1, g.n = 44, g.m = 9, g.tile.rho = 1; /* fewer than the tile has */
      check_i8(&g);
    }
}

/* The same problem with B by rows and by columns: longer runs in DDR, a shuffle more for each block in the core. */
static void column_major_b_comes_in_longer_runs(void **state) {
  const xd_run_options options = {.timing_only = true, .cost = xd_cost_of(&machine)};
  xd_run_result r[2];
  for (int turned = 0; turned < 2; turned++) {
    xd_gemm g = gemm_of("int8", (tw_tile){96, 64, 48, 1}, 768, 768, 768);
    xd_program p;
    tw_error error;
    g.b_transposed = turned;
    g.depth = 4;
    if (xd_gemm_program(&machine, &g, &p, &error) || xd_run(&machine, &p, &options, &r[turned], &error))
      fail_msg("%s", error.text);
    xd_program_free(&p);
  }
  assert_true(r[1].read_bytes == r[0].read_bytes);
  assert_true(r[1].ddr_busy_cycles < r[0].ddr_busy_cycles);
  assert_true(r[1].call_cycles >= r[0].call_cycles);
}

static void results_are_narrowed(void **state) {
  for (int wide = 0; wide < 2; wide++)
    for (int shift = 0; shift < 12; shift += 5) {
      xd_gemm g = gemm_of(wide ? "int8-narrow16" : "int8-narrow", (tw_tile){32, 32, 16, 2}, 128, 64, 96);
      g.columns = 2;
      g.shift = shift;
      g.rounding = shift == 5 ? TW_ROUND_FLOOR : TW_ROUND_EVEN;
      check_i8(&g);
    }
}

static void sums_may_be_kept_in_the_result(void **state) {
  for (int wide = 0; wide < 2; wide++)
    for (int depth = 1; depth <= 2; depth++) {
      xd_gemm g = gemm_of(wide ? "int8-acc16" : "int8-acc8", (tw_tile){32, 24, 16, 2}, 150, 72, 100);
      g.columns = 2;
      g.depth = depth;
      g.shift = wide ? 3 : 10;
      g.rounding = depth == 2 ? TW_ROUND_FLOOR : TW_ROUND_EVEN;
      check_i8(&g);
      g.b_transposed = true;
      check_i8(&g);
    }
}

/* ---- bf16 and bfp16: against reference.h ---- */

/* To 4 bits with the scales of groups along k, as the op's inputs have them. */
static void quantize(const xd_gemm *g, float *b) {
  const tw_packing packing = {.format = tw_format_at(TW_FORMAT_I4), .group = g->group};
  float *line = malloc((size_t)g->k * 4);
  uint8_t *codes = malloc((size_t)g->k), *scales = malloc((size_t)g->k * 4);
  for (int64_t n = 0; n < g->n; n++) {
    for (int64_t k = 0; k < g->k; k++) line[k] = g->b_transposed ? b[n * g->k + k] : b[k * g->n + n];
    assert_int_equal(tw_format_encode(&packing, 1, (size_t)g->k, line, (size_t)g->k, codes, scales, NULL), TW_OK);
    assert_int_equal(tw_format_decode(&packing, 1, (size_t)g->k, codes, scales, line, (size_t)g->k, NULL), TW_OK);
    for (int64_t k = 0; k < g->k; k++) *(g->b_transposed ? &b[n * g->k + k] : &b[k * g->n + n]) = line[k];
  }
  free(line), free(codes), free(scales);
}

static void check_bfp(const xd_gemm *g) {
  int64_t bytes[XD_GEMM_OPERANDS];
  xd_gemm_bytes(g, bytes);
  const size_t m = (size_t)g->m, n = (size_t)g->n, k = (size_t)g->k;
  float *a = malloc(m * k * 4), *b = malloc(k * n * 4), *c = malloc(m * n * 4);
  float *got = malloc(m * n * 4);
  uint8_t *da = calloc(1, (size_t)bytes[0]), *db = calloc(1, (size_t)bytes[1]), *dc = malloc((size_t)bytes[2]);
  tw_random r;
  tw_error error;
  tw_random_seed(&r, 11);
  for (size_t i = 0; i < m * k; i++)
    a[i] = tw_bf16_to_f32(tw_f32_to_bf16((float)ldexp(tw_random_real(&r) - 0.5, (int)tw_random_below(&r, 6))));
  for (size_t i = 0; i < k * n; i++) b[i] = (float)ldexp(tw_random_real(&r) - 0.5, (int)tw_random_below(&r, 6));
  memset(dc, 0xA5, (size_t)bytes[2]);
  if (g->kernel->a == TW_BFP16)
    xd_pack_a(g, a, da);
  else
    for (size_t i = 0; i < m * k; i++) ((uint16_t *)(void *)da)[i] = tw_f32_to_bf16(a[i]);
  if (g->kernel->b == TW_BFP16) {
    xd_pack_b(g, b, db);
  } else if (g->kernel->b == TW_I4) {
    quantize(g, b);
    assert_int_equal(xd_pack_scaled_weights(g, b, db, &error), TW_OK);
    assert_int_equal(xd_round_scales(g, b, &error), TW_OK);
  } else
    for (size_t i = 0; i < k * n; i++) b[i] = tw_bf16_to_f32(((uint16_t *)(void *)db)[i] = tw_f32_to_bf16(b[i]));
  run(g, da, db, dc);
  assert_int_equal(xd_gemm_reference(g, a, b, c, &error), TW_OK);
  if (g->c == TW_BFP16)
    xd_unpack_c(g, dc, got);
  else if (g->c == TW_F32)
    memcpy(got, dc, m * n * 4);
  else
    for (size_t i = 0; i < m * n; i++) got[i] = tw_bf16_to_f32(((uint16_t *)(void *)dc)[i]);
  for (size_t i = 0; i < m * n; i++)
    if (memcmp(&got[i], &c[i], 4) != 0 && got[i] != c[i])
      fail_msg("%s, tile %dx%dx%d, rho %d: C[%d][%d] is %.9g and should be %.9g", g->kernel->name, (int)g->tile.m,
               (int)g->tile.k, (int)g->tile.n, (int)g->tile.rho, (int)(i / n), (int)(i % n), (double)got[i],
               (double)c[i]);
  free(a), free(b), free(c), free(got), free(da), free(db), free(dc);
}

static void all_configurations_are_exact_in_both_modes(void **state) {
  static const char *const names[] = {"atb", "atb-bfp16", "atb-bf16acc", "mlir-aie"};
  for (int i = 0; i < 4; i++)
    for (int mode = 0; mode < 2; mode++)
      for (int rho = 1; rho <= 2; rho++) {
        xd_gemm g = gemm_of(names[i], (tw_tile){32, 24, 32, rho}, 128, 192, 96);
        g.columns = 3;
        g.depth = rho;
        g.rounding = mode ? TW_ROUND_FLOOR : TW_ROUND_EVEN;
        check_bfp(&g);
        g.columns = 6;
        g.depth = 1;
        check_bfp(&g);
      }
}

static void bfp16_of_sizes_that_do_not_divide(void **state) {
  xd_gemm packed = gemm_of("atb-bfp16", (tw_tile){16, 16, 16, 1}, 50, 40, 40);
  packed.columns = 2;
  check_bfp(&packed);
  xd_gemm rows = gemm_of("atb", (tw_tile){16, 16, 16, 1}, 70, 44, 74);
  rows.depth = 2;
  rows.columns = 2;
  check_bfp(&rows);
  xd_gemm few = gemm_of("atb", (tw_tile){32, 16, 32, 1}, 3, 20, 74);
  few.rows = few.columns = 1;
  check_bfp(&few);
}

/* Both operands in bf16 and row-major: exact products in f32 or bf16 sums, and products of rounded blocks. */
static void bf16_is_exact_or_rounded_by_eights(void **state) {
  static const char *const names[] = {"bf16", "bf16-f32", "bf16-emulated", "bf16-acc16"};
  for (int i = 0; i < 4; i++)
    for (int mode = 0; mode < 2; mode++) {
      xd_gemm g = gemm_of(names[i], (tw_tile){32, 24, 32, 1 + mode}, 140, 200, 106);
      g.columns = 3;
      g.depth = 1 + mode;
      g.rounding = mode ? TW_ROUND_FLOOR : TW_ROUND_EVEN;
      check_bfp(&g);
      g.rows = g.columns = 1, g.m = 3, g.n = 20, g.tile.rho = 1; /* fewer than the tile has */
      check_bfp(&g);
    }
}

/* Slices where k is no multiple of the step, more steps in L2, small products. */
static void column_major_bf16_is_turned(void **state) {
  static const char *const names[] = {"bf16", "bf16-f32", "bf16-emulated", "bf16-acc16"};
  for (int i = 0; i < 4; i++)
    for (int mode = 0; mode < 3; mode++) {
      xd_gemm g = gemm_of(names[i], (tw_tile){32, 24, 32, 1}, 140, 200, mode == 1 ? 96 : 112);
      g.b_transposed = true;
      g.columns = 3;
      g.cover = xd_gemm_own_cover(&g);
      g.depth = 1 + (mode == 1);
      if (mode == 1) g.tile.rho = 2;
      if (mode == 2) g.rows = g.columns = 1, g.m = 5, g.n = 20, g.k = 24;
      check_bfp(&g);
    }
}

/* Scales of whole columns and of groups; remainders on all sides; both orders of B. */
static void weights_of_4_bits_are_scaled(void **state) {
  static const struct { int64_t k, group; } cases[] = {{96, 0}, {106, 0}, {112, 32}, {192, 16}, {160, 160}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int turned = 0; turned < 2; turned++) {
      xd_gemm g = gemm_of("atb-int4", (tw_tile){32, 48, 32, 2}, 140, 200, cases[i].k);
      g.group = cases[i].group;
      g.columns = 3;
      g.b_transposed = turned;
      g.depth = 1 + turned;
      g.rounding = turned ? TW_ROUND_FLOOR : TW_ROUND_EVEN;
      check_bfp(&g);
      g.cover = (xd_cover){1, 4, 1, false, 0};
      check_bfp(&g);
    }
  xd_gemm g = gemm_of("atb-int4", (tw_tile){32, 48, 32, 2}, 128, 256, 96);
  g.group = 24;
  refused(g, "k=96, group=24: both must be multiples of 16");
}

/* Elements use 16 bits as far as sums allow. With shifts, the sums have more bits than binary32, and some of the
 * results saturate. */
static void int16_is_exact(void **state) {
  enum { M = 70, N = 72, K = 42 };
  static int16_t a[M * K], b[K * N];
  static int32_t c[M * N];
  const int shifts[] = {-1, 0, 1, 9, 16}; /* -1: 32 bits */
  tw_random r;
  tw_random_seed(&r, 3);
  for (int i = 0; i < M * K; i++) a[i] = (int16_t)tw_random_between(&r, -5000, 5000);
  for (int i = 0; i < K * N; i++) b[i] = (int16_t)tw_random_between(&r, -5000, 5000);
  for (int i = 0; i < 10; i++) {
    const bool turned = i % 2, narrow = shifts[i / 2] >= 0;
    xd_gemm g = gemm_of(narrow ? "i16-narrow" : "i16", (tw_tile){16, 12, 32, 2}, M, N, K);
    g.columns = 2;
    g.b_transposed = turned;
    g.shift = narrow ? shifts[i / 2] : 0;
    memset(c, 0xA5, sizeof c);
    run(&g, a, b, c);
    int saturated = 0;
    for (int at = 0; at < M * N; at++) {
      int64_t sum = 0;
      for (int p = 0; p < K; p++) sum += a[at / N * K + p] * b[turned ? at % N * K + p : p * N + at % N];
      const int64_t x = narrow ? narrowed(&g, sum, 16) : sum;
      assert_int_equal(narrow ? ((int16_t *)c)[at] : c[at], x);
      saturated += narrow && (x == INT16_MAX || x == INT16_MIN);
    }
    assert_true(shifts[i / 2] == 9 ? saturated > 100 && saturated < M * N - 100 : true);
  }
}

/* Parts of a tile in rows of the matrix: whole words of 36 bytes, blocks across the ends of parts; remainders. */
static void bfp16_in_rows_of_the_matrix(void **state) {
  static const char *const names[] = {"atb", "atb-bfp16", "atb-bf16acc"};
  for (int i = 0; i < 3; i++) {
    xd_gemm g = gemm_of(names[i], (tw_tile){32, 32, 32, 1}, 128, 130, 104);
    g.columns = 4;
    g.in_rows = true;
    check_bfp(&g);
    g.tile = (tw_tile){32, 32, 64, 2};
    g.columns = 2;
    g.depth = names[i][3] ? 1 : 2;
    check_bfp(&g);
  }
  xd_gemm g = gemm_of("atb-bfp16", (tw_tile){32, 24, 32, 1}, 128, 128, 96);
  g.in_rows = true;
  refused(g, "layout rows: parts of 24 and 32 elements of bfp16 are no whole words; make k and n of the tile multiples "
             "of 32");
  g = gemm_of("atb-bfp16", (tw_tile){32, 32, 32, 1}, 128, 128, 96);
  g.in_rows = true;
  g.columns = g.depth = 2;
  refused(g, "layout rows with fewer columns than rows requires depth 1 (found 2)");
  g = gemm_of("int8", (tw_tile){32, 32, 32, 1}, 128, 256, 96);
  g.in_rows = true;
  refused(g, "layout rows is for bfp16 operands; kernel int8 has none");
}

/* Rows of macro-tiles that are in flight between waits: four, then two at a time. */
static void groups_are_awaited_before_the_next_begin(void **state) {
  static const struct { int64_t m, groups[4]; } cases[] = {{128 * 3, {3}}, {128 * 4, {4}}, {128 * 7 - 5, {4, 2, 1}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    xd_gemm g = gemm_of("atb", (tw_tile){32, 32, 32, 1}, cases[i].m, 64, 100);
    g.columns = 2;
    g.await_groups = true;
    if (i != 2) g.k = 96, g.in_rows = true;
    if (i == 2) {
      refused(g, "await_groups: k=100 requires too many descriptors; make it a multiple of 32");
      g.k = 96;
    }
    check_bfp(&g);
    xd_program p;
    tw_error error;
    assert_int_equal(xd_gemm_program(&machine, &g, &p, &error), TW_OK);
    int64_t waits = 0, begun = 0, ended = 0; /* begun and ended: tasks of C since the last wait for all of them */
    for (size_t at = 0; at < p.sequence.n; at++) {
      const xd_command *k = &p.sequence.at[at];
      begun += k->kind == XD_START && k->token;
      ended += k->kind == XD_AWAIT;
      assert_false(k->kind == XD_START && ended); /* all or none are awaited */
      if (!ended || ended < begun) continue;
      assert_int_equal(begun, cases[i].groups[waits++] * g.columns);
      begun = ended = 0;
    }
    assert_int_equal(begun, 0);
    assert_int_equal(cases[i].groups[waits], 0);
    xd_program_free(&p);
  }
}

/* ---- covers ---- */

/* Blocks of bfp16 lie as the clusters want them; what is computed is the same. */
static void clusters_of_any_shape_are_exact(void **state) {
  static const char *const kernels[] = {"int8", "int8-narrow", "atb", "atb-bfp16", "atb-bf16acc", "bf16-emulated"};
  static const xd_cover covers[] = {{1, 1, 2, false, 0}, {1, 2, 1, false, 0}, {2, 1, 4, false, 0}, {2, 2, 2, false, 0},
                                    {1, 3, 1, false, 0}, {4, 1, 1, false, 0}, {1, 4, 3, false, 0}};
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    for (size_t j = 0; j < sizeof covers / sizeof *covers; j++) {
      const int64_t columns = covers[j].columns == 3 ? 48 : 64;
      xd_gemm g = gemm_of(kernels[i], (tw_tile){64, 24, columns, 2}, 256, 2 * columns, 96);
      g.columns = 2;
      g.cover = covers[j];
      g.shift = g.c == TW_I8 ? 7 : 0;
      if (g.kernel->a == TW_I8)
        check_i8(&g);
      else
        check_bfp(&g);
    }
}

static double micro(const char *name, xd_cover cover) {
  return xd_micro_cycles(&machine, kernel(name), cover, 32, 64, 128);
}

static double scheduled(const char *name, int unroll) {
  xd_core_kernel k;
  xd_core_result r;
  tw_error error;
  assert_true(xd_core_call(kernel(name), 32, 64, 128, &k));
  k.way = unroll > 1 ? XD_CORE_UNROLLED : XD_CORE_IN_TURN;
  k.unroll = unroll;
  assert_int_equal(xd_core_schedule(&k, &r, &error), TW_OK);
  return r.cycles;
}

/* int8 costs its schedule; what is fitted (atb: four clusters unrolled) is scaled by what schedules of both covers
 * say. */
static void covers_cost_what_their_schedules_say(void **state) {
  const xd_kernel *atb = kernel("atb");
  const double fitted = 32.0 * 64 * 128 / 512 / xd_micro_efficiency(&machine, atb, 64);
  for (int unroll = 1; unroll <= 4; unroll *= 2) {
    const xd_cover cover = {2, 2, unroll, false, 0};
    assert_true(micro("int8", cover) == scheduled("int8", unroll));
    assert_true(fabs(micro("atb", cover) / (fitted * scheduled("atb", unroll) / scheduled("atb", 4)) - 1) < 1e-12);
  }
  /* six clusters in a row are four and two, in each of two rows: not three times four */
  const double one_row = xd_micro_cycles(&machine, kernel("int8"), (xd_cover){2, 2, 4, false, 0}, 16, 64, 96),
               in_threes = xd_micro_cycles(&machine, kernel("int8"), (xd_cover){2, 2, 4, false, 0}, 16, 64, 192);
  assert_true(xd_micro_cycles(&machine, kernel("int8"), (xd_cover){2, 2, 4, false, 0}, 32, 64, 96) == 2 * one_row);
  assert_true(in_threes < 2 * one_row);
  assert_true(micro("int8", (xd_cover){2, 2, 4, false, 0}) < micro("int8", (xd_cover){2, 2, 1, false, 0}));
  assert_true(micro("atb", (xd_cover){2, 2, 4, false, 0}) < micro("atb", (xd_cover){2, 2, 1, false, 0}));
  assert_true(micro("atb", (xd_cover){1, 1, 1, false, 0}) > micro("atb", (xd_cover){2, 2, 1, false, 0}));
  assert_true(micro("mlir-aie", xd_cover_of(kernel("mlir-aie"))) > 0);
  tw_error error = {0};
  assert_int_equal(xd_cover_check(kernel("mlir-aie"), (xd_cover){1, 2, 1, false, 0}, 32, 64, 128, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "kernel mlir-aie is not scheduled: its clusters are 2x2, unrolled 1 times"));
}

/* ---- what is refused ---- */

static void wrong_gemms_are_refused(void **state) {
  refused(gemm_of("atb-bf16acc", (tw_tile){16, 16, 16, 1}, 512, 512, 512), "must be a multiple of 512 elements");
  refused(gemm_of("int8", (tw_tile){64, 64, 64, 3}, 512, 512, 512), "rho 3: kernel int8 needs multiples of 16x8x16");
  refused(gemm_of("int8", (tw_tile){64, 60, 64, 1}, 512, 512, 512), "tile 64x60x64");
  refused(gemm_of("int8", (tw_tile){64, 64, 64, 1}, 200, 512, 512),
          "m=200 is less than the 256 that the array computes at a time; make tiles smaller, or use one row of cores");
  refused(gemm_of("int8", (tw_tile){64, 64, 64, 1}, 512, 500, 512), "n=500 is less than the 512");
  refused(gemm_of("atb", (tw_tile){16, 16, 16, 1}, 512, 500, 12),
          "k=12 is less than the 16 that the array computes at a "
          "time; make tiles or the depth smaller, or add zeros");
  refused(gemm_of("int8", (tw_tile){64, 64, 64, 1}, 512, 512, 510),
          "k: a row of 510 bytes is not a multiple of the DMA's words of 4 bytes");
  refused(gemm_of("int8", (tw_tile){64, 128, 64, 1}, 512, 1024, 512),
          "core (0,2): buffers need 65536 bytes and the stack 1024, but the tile has 65536");
  xd_gemm deep = gemm_of("int8", (tw_tile){64, 64, 64, 1}, 512, 512, 4096);
  deep.depth = 60;
  refused(deep, "memory (0,1): buffers need 630784 bytes, but the tile has 524288");
}

/* Nine products of parts keep 24 bits: results are as near as sums in f32 are. Without the
 * third parts they are not. */
static void f32_keeps_24_bits(void **state) {
  enum { M = 70, N = 140, K = 100 };
  static float a[M * K], b[K * N], c[M * N];
  const xd_gemm g = gemm_of("f32", (tw_tile){16, 24, 16, 2}, M, N, K);
  double worst = 0;
  tw_random r;
  tw_random_seed(&r, 3);
  for (int i = 0; i < M * K; i++) a[i] = (float)ldexp(tw_random_real(&r) - 0.5, (int)tw_random_below(&r, 20) - 10);
  for (int i = 0; i < K * N; i++) b[i] = (float)ldexp(tw_random_real(&r) - 0.5, (int)tw_random_below(&r, 20) - 10);
  run(&g, a, b, c);
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      double exact = 0, size = 0;
      for (int p = 0; p < K; p++) {
        exact += (double)a[i * K + p] * b[p * N + j];
        size += fabs((double)a[i * K + p] * b[p * N + j]);
      }
      worst = fmax(worst, fabs(c[i * N + j] - exact) / size);
    }
  if (!(worst > 0 && worst < 0x1p-19)) fail_msg("2^%.2f", log2(worst)); /* 2^-16.7 without the third parts */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(int8_gemms_are_exact, setup),
      cmocka_unit_test_setup(f32_keeps_24_bits, setup),
      cmocka_unit_test_setup(asymmetric_tiles_and_longer_runs_are_exact, setup),
      cmocka_unit_test_setup(sizes_that_do_not_divide_are_exact, setup),
      cmocka_unit_test_setup(small_sizes_are_exact, setup),
      cmocka_unit_test_setup(column_major_b_is_exact, setup),
      cmocka_unit_test_setup(column_major_b_of_any_k_is_exact, setup),
      cmocka_unit_test_setup(column_major_b_comes_in_longer_runs, setup),
      cmocka_unit_test_setup(results_are_narrowed, setup),
      cmocka_unit_test_setup(sums_may_be_kept_in_the_result, setup),
      cmocka_unit_test_setup(all_configurations_are_exact_in_both_modes, setup),
      cmocka_unit_test_setup(bfp16_of_sizes_that_do_not_divide, setup),
      cmocka_unit_test_setup(bf16_is_exact_or_rounded_by_eights, setup),
      cmocka_unit_test_setup(weights_of_4_bits_are_scaled, setup),
      cmocka_unit_test_setup(column_major_bf16_is_turned, setup),
      cmocka_unit_test_setup(int16_is_exact, setup),
      cmocka_unit_test_setup(bfp16_in_rows_of_the_matrix, setup),
      cmocka_unit_test_setup(groups_are_awaited_before_the_next_begin, setup),
      cmocka_unit_test_setup(clusters_of_any_shape_are_exact, setup),
      cmocka_unit_test_setup(covers_cost_what_their_schedules_say, setup),
      cmocka_unit_test_setup(wrong_gemms_are_refused, setup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
