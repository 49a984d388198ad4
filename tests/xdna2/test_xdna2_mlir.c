/* Array programs as MLIR-AIE text: what is written, and that reading it back gives the same program: the same cycles
 * and the same bits. */
#include "test.h"

#include "base/random.h"
#include "mlir_aie/read.h"
#include "target/xdna2/array/gemm_array.h"
#include "target/xdna2/mlir/write.h"
#include "xdna2_array.h"

static xd_config machine;

static int setup(void **state) {
  machine = machine_config();
  return 0;
}

static xd_gemm gemm_of(const char *name, tw_tile tile, int64_t m, int64_t n, int64_t k) {
  const xd_kernel *kernel = xd_find_kernel(&machine, name, TW_TYPE_NONE, TW_TYPE_NONE, TW_TYPE_NONE, TW_TYPE_NONE);
  assert_non_null(kernel);
  return xd_gemm_default(&machine, kernel, &tile, m, n, k);
}

static tw_status write_gemm(const xd_gemm *g, char **text, tw_error *error) {
  xd_program p;
  if (xd_gemm_program(&machine, g, &p, error) != TW_OK) fail_msg("%s", error->text);
  const tw_status status = xd_mlir_write(&machine, &p, "a test", text, error);
  xd_program_free(&p);
  return status;
}

static void expect_line(const char *text, const char *line) {
  if (!strstr(text, line)) fail_msg("\"%s\" is missing in:\n%s", line, text);
}

/* ---- the writer ---- */

static void a_gemm_is_written_in_object_fifo_form(void **state) {
  xd_gemm g = gemm_of("int8", (tw_tile){32, 16, 32, 2}, 128, 64, 4096);
  g.columns = 2;
  char *text;
  tw_error error;
  if (write_gemm(&g, &text, &error) != TW_OK) fail_msg("%s", error.text);
  expect_line(text, "aie.device(npu2_2col) {");
  expect_line(text, "func.func private @matmul_i8_16x16x32(memref<256xi8>, memref<512xi8>, memref<1024xi32>, i32) "
                    "attributes {link_with = \"int8.o\"}");
  expect_line(text, "aie.objectfifo @a_in_0(%shim_0_0, {%mem_0_1}, 2 : i32) : !aie.objectfifo<memref<1024xi8>>");
  expect_line(text,
              "aie.objectfifo @a_0(%mem_0_1 dimensionsToStream [<size = 4, stride = 128>, <size = 2, stride = 8>, "
              "<size = 8, stride = 16>, <size = 8, stride = 1>], {%tile_0_2, %tile_1_2}, 2 : i32)");
  expect_line(text, "aie.objectfifo.link [@a_in_0] -> [@a_0, @a_1]([] [0, 512])");
  expect_line(text, "aie.objectfifo.link [@c_0_0, @c_0_1, @c_0_2, @c_0_3] -> [@c_out_0]([0, 1024, 2048, 3072] [])");
  expect_line(text, "arith.constant 256 : index"); /* steps of K: a parameter of the program, a constant here */
  expect_line(text, "arith.constant 16 : i32");    /* the second sub-tile's first row */
  expect_line(text,
              "aie.runtime_sequence @sequence(%a: memref<524288xi8>, %b: memref<262144xi8>, %c: memref<8192xi32>)");
  /* 4096 rows are more than the second dimension's field holds */
  expect_line(text, "(%b[0, 0, 0, 32][1, 4096, 1, 32][0, 64, 0, 1]) {id = 2 : i64, metadata = @b_in_1}");
  expect_line(text, "{id = 0 : i64, issue_token = true, metadata = @c_out_0}");
  expect_line(text, "aiex.npu.dma_wait {symbol = @c_out_1}");
  free(text);
}

static void more_than_two_copies_are_written_as_a_list(void **state) {
  xd_gemm g = gemm_of("atb", (tw_tile){32, 32, 32, 2}, 128, 64, 64);
  g.columns = 2;
  g.copies[0] = 3;
  char *text;
  tw_error error;
  if (write_gemm(&g, &text, &error) != TW_OK) fail_msg("%s", error.text);
  expect_line(text, "{%tile_0_2, %tile_1_2}, [2, 3, 3]) : !aie.objectfifo<memref<512xbf16>>");
  expect_line(text, "@c_0_0(%tile_0_2, {%mem_0_1}, [1, 2]) : !aie.objectfifo<memref<1024xbf16>>");
  expect_line(text, "%scratch_0_2 = aie.buffer(%tile_0_2) {sym_name = \"scratch_0_2\"} : memref<576xi8>");
  expect_line(text, "@b_in_0(%shim_0_0, {%mem_0_1}, 2 : i32) : !aie.objectfifo<memref<1152xi8>>"); /* bfp16 */
  free(text);
}

/* Where object FIFOs have no words: buffers, locks, circuits, rings of descriptors. */
static void the_rest_is_written_with_descriptors(void **state) {
  xd_gemm g = gemm_of("int8", (tw_tile){16, 16, 16, 1}, 128, 64, 64);
  char *text;
  tw_error error;
  g.columns = 2;
  g.depth = 2; /* links that distribute, to cores that reorder */
  if (write_gemm(&g, &text, &error) != TW_OK) fail_msg("%s", error.text);
  assert_null(strstr(text, "aie.objectfifo"));
  expect_line(text, "%a_in_0_0_0_1 = aie.buffer(%mem_0_1) {sym_name = \"a_in_0_0_0_1\"} : memref<1024xi8>");
  expect_line(text, "%a_0_free_0_2 = aie.lock(%tile_0_2, 0) {init = 2 : i32, sym_name = \"a_0_free_0_2\"}");
  expect_line(text, "aie.flow(%mem_0_1, DMA : 0, %tile_1_2, DMA : 0)");
  expect_line(text, "aie.use_lock(%a_0_full_0_2, AcquireGreaterEqual, 1)");
  expect_line(text, "%memtile_dma_0_1 = aie.memtile_dma(%mem_0_1) {");
  expect_line(text, "%dma_1 = aie.dma_start(S2MM, 0, ^bb1, ^bb");
  expect_line(text, "aie.shim_dma_allocation @shim_0_out_0(%shim_0_0, MM2S, 0)");
  expect_line(text, "metadata = @shim_0_out_0}");
  free(text);
  xd_gemm small = gemm_of("int8", (tw_tile){32, 16, 32, 1}, 20, 64, 64); /* DMA fills tiles of A in part */
  small.rows = 1;
  small.columns = 2;
  if (write_gemm(&small, &text, &error) != TW_OK) fail_msg("%s", error.text);
  expect_line(
      text, "aie.dma_bd(%a_in_0_0_0_1 : memref<512xi8>, 0, 320, [<size = 20, stride = 16>, <size = 16, stride = 1>])");
  free(text);
}

/* ---- the round trip ---- */

/* Random operands; bfp16 as random bytes, but for exponents that give numbers of moderate size. */
static void fill_operands(const xd_gemm *g, void *operand[XD_GEMM_OPERANDS]) {
  int64_t bytes[XD_GEMM_OPERANDS];
  tw_random r;
  tw_random_seed(&r, 11);
  xd_gemm_bytes(g, bytes);
  for (int i = 0; i < XD_GEMM_OPERANDS; i++) {
    uint8_t *x = operand[i] = calloc(1, (size_t)bytes[i] + 8);
    assert_non_null(x);
    const tw_type type = i == XD_GEMM_A ? g->kernel->a : g->kernel->b;
    for (int64_t b = 0; i < XD_GEMM_C && b < bytes[i]; b++)
      x[b] = (uint8_t)(type == TW_BFP16 && b % 9 == 0  ? tw_random_between(&r, 120, 134)
                       : type == TW_BF16 && b % 2 == 1 ? tw_random_between(&r, 0, 1) * 128 + 63
                                                       : tw_random_between(&r, 0, 255));
  }
}

static xd_run_result run(const xd_program *p, void *const *external) {
  const xd_run_options options = {.cost = xd_cost_of(&machine), .external = external};
  xd_run_result r;
  tw_error error;
  if (xd_run(&machine, p, &options, &r, &error) != TW_OK) fail_msg("%s", error.text);
  return r;
}

static void check_round_trip(const xd_gemm *g) {
  void *operand[XD_GEMM_OPERANDS];
  int64_t bytes[XD_GEMM_OPERANDS];
  xd_program p;
  xd_mlir_design d;
  const xd_mlir_options options = {.rounding = g->rounding, .shift = g->shift};
  tw_error error;
  char *text, *again;
  if (xd_gemm_program(&machine, g, &p, &error) != TW_OK) fail_msg("%s", error.text);
  if (xd_mlir_write(&machine, &p, "a test", &text, &error) != TW_OK) fail_msg("%s", error.text);
  if (xd_mlir_read(&machine, text, &options, &d, &error) != TW_OK) fail_msg("%s\n%s", error.text, text);
  fill_operands(g, operand);
  xd_gemm_bytes(g, bytes);
  void *expected = malloc((size_t)bytes[XD_GEMM_C]);
  const xd_run_result first = run(&p, operand);
  memcpy(expected, operand[XD_GEMM_C], (size_t)bytes[XD_GEMM_C]);
  memset(operand[XD_GEMM_C], TW_POISON, (size_t)bytes[XD_GEMM_C]);
  const xd_run_result second = run(&d.program, operand);
  if (first.cycles != second.cycles) fail_msg("%.17g cycles, read back %.17g:\n%s", first.cycles, second.cycles, text);
  assert_true(first.calls == second.calls && first.events == second.events);
  assert_true(first.call_cycles == second.call_cycles && first.wait_input_cycles == second.wait_input_cycles);
  assert_true(first.read_bytes == second.read_bytes && first.written_bytes == second.written_bytes);
  assert_memory_equal(expected, operand[XD_GEMM_C], (size_t)bytes[XD_GEMM_C]);
  if (xd_mlir_write(&machine, &d.program, "a test", &again, &error) != TW_OK) fail_msg("%s", error.text);
  assert_string_equal(text, again);
  for (int i = 0; i < XD_GEMM_OPERANDS; i++) free(operand[i]);
  free(expected);
  free(text);
  free(again);
  xd_mlir_free(&d);
  xd_program_free(&p);
}

static void integer_gemms_come_back(void **state) {
  for (int columns = 1; columns <= 8; columns++) {
    xd_gemm g = gemm_of("int8", (tw_tile){16, 16, 16, 1}, 64, 2 * columns * 16, 64);
    g.columns = columns;
    check_round_trip(&g);
  }
  xd_gemm deep = gemm_of("int8", (tw_tile){64, 24, 32, 2}, 256, 192, 192),
          odd = gemm_of("int8", (tw_tile){16, 16, 32, 1}, 200, 204, 100),
          shallow = gemm_of("int8", (tw_tile){16, 64, 16, 1}, 128, 256, 64); /* one step of K, some tiles of C */
  deep.columns = 6;
  deep.depth = 2;
  deep.copies[0] = 3;
  check_round_trip(&deep);
  odd.columns = 3; /* the last macro-tiles and the last step of K are moved back, zeros come from a page */
  check_round_trip(&odd);
  check_round_trip(&shallow);
}

/* Of a column-major B, whose steps of K are one long run or several. */
static void column_major_gemms_come_back(void **state) {
  for (int steps = 1; steps <= 3; steps += 2) {
    xd_gemm g = gemm_of("int8", (tw_tile){16, 32, 32, 1}, 128, 256, 32 * steps);
    g.columns = 4;
    g.b_transposed = true;
    check_round_trip(&g);
    g.k += 12; /* comes in slices */
    check_round_trip(&g);
  }
}

static void walks_with_steps_of_one_come_back(void **state) {
  xd_gemm thin = gemm_of("int8", (tw_tile){32, 8, 32, 1}, 128, 64, 64); /* one block of k */
  thin.columns = 2;
  check_round_trip(&thin);
  thin.depth = 2;
  thin.columns = 4;
  thin.n = 128;
  check_round_trip(&thin);
}

static void narrowed_gemms_come_back(void **state) {
  for (int wide = 0; wide < 2; wide++) {
    xd_gemm g = gemm_of(wide ? "int8-narrow16" : "int8-narrow", (tw_tile){32, 32, 16, 2}, 128, 64, 96);
    g.columns = 2;
    g.shift = 7;
    g.rounding = TW_ROUND_FLOOR;
    check_round_trip(&g);
  }
}

static void gemms_of_all_kernels_come_back(void **state) {
  for (size_t i = 0; i < machine.n_kernels; i++) {
    const xd_kernel *k = &machine.kernel[i];
    const tw_tile tile = {4 * xd_unit_m(k), 32, 2 * xd_unit_n(k), 2};
    xd_gemm g = gemm_of(k->name, tile, 4 * tile.m, 4 * tile.n, 64);
    g.columns = 2;
    check_round_trip(&g);
  }
}

static void covers_come_back(void **state) {
  xd_gemm g = gemm_of("int8", (tw_tile){64, 32, 32, 1}, 256, 64, 64);
  g.columns = 2;
  g.cover = (xd_cover){4, 1, 2, false, 0};
  check_round_trip(&g);
}

static void deep_gemms_of_few_columns_come_back(void **state) {
  for (int columns = 1; columns <= 3; columns++)
    for (int copies = 1; copies <= 3; copies++) { /* buffers that do and do not come round within a step of K */
      xd_gemm g = gemm_of("int8", (tw_tile){32, 16, 16, 2}, 256, 4 * columns * 16, 32 * 5);
      g.columns = columns;
      g.depth = 2;
      g.copies[0] = copies;
      g.copies[1] = 4 - copies;
      check_round_trip(&g);
    }
  xd_gemm bf16 = gemm_of("atb", (tw_tile){32, 32, 32, 2}, 256, 128, 128);
  bf16.columns = 2;
  bf16.depth = 2;
  check_round_trip(&bf16);
}

/* Sizes below a macro-tile: every combination of what is less than T_MC, T_N and T_K, down to 1. */
static void small_gemms_come_back(void **state) {
  const struct {
    int64_t m, n, k;
  } sizes[] = {{1, 32, 32}, {20, 32, 16}, {64, 12, 32}, {64, 4, 40}, {32, 32, 4}, {3, 8, 12}, {1, 100, 64}, {70, 4, 8}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    xd_gemm g = gemm_of("int8", (tw_tile){32, 32, 32, 1}, sizes[i].m, sizes[i].n, sizes[i].k);
    g.rows = g.m < 128 ? 1 : 4;
    g.columns = g.n < 64 ? 1 : 2;
    check_round_trip(&g);
    if (g.rows > 1 || g.k % 32) continue;
    g.b_transposed = true;
    check_round_trip(&g);
  }
  static const char *const kernels[] = {"atb",          "int8-narrow",  "int8-int4",
                                        "ternary-int4", "ternary-int8", "ternary-registers"};
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    const xd_kernel *k = xd_find_kernel(&machine, kernels[i], TW_TYPE_NONE, TW_TYPE_NONE, TW_TYPE_NONE, TW_TYPE_NONE);
    const tw_tile tile = {2 * xd_unit_m(k), 32, 2 * xd_unit_n(k), 1};
    xd_gemm g = gemm_of(kernels[i], tile, 5, 3 * tile.n, 64);
    g.rows = 1;
    g.columns = 3;
    check_round_trip(&g);
  }
}

/* Whatever designs there are, they have words in one of the two forms. */
static void random_gemms_come_back(void **state) {
  enum { TRIES = 400, LEAST = 60 };
  tw_random r;
  int written = 0;
  tw_random_seed(&r, 3);
  for (int i = 0; i < TRIES; i += example_stride()) {
    const xd_kernel *k = &machine.kernel[tw_random_below(&r, machine.n_kernels)];
    const int64_t rho = (int64_t)1 << tw_random_below(&r, 3);
    const tw_tile tile = {rho * xd_unit_m(k) * tw_random_between(&r, 1, 2), xd_unit_k(k) * tw_random_between(&r, 1, 3),
                          xd_unit_n(k) * tw_random_between(&r, 1, 3), rho};
    xd_gemm g = gemm_of(k->name, tile, tw_random_between(&r, 1, 300), 4 * tw_random_between(&r, 1, 100),
                        4 * tw_random_between(&r, 1, 60));
    xd_program p;
    g.rows = (int)tw_random_between(&r, 1, 4);
    g.columns = (int)tw_random_between(&r, 1, 8);
    g.depth = (int)tw_random_between(&r, 1, 3);
    g.b_transposed = tw_random_below(&r, 2) != 0;
    for (int c = 0; c < 3; c++) g.copies[c] = (int)tw_random_between(&r, 1, 3);
    if (g.c == TW_I8 || g.c == TW_I16) g.shift = 6;
    if (xd_gemm_program(&machine, &g, &p, NULL) != TW_OK) continue; /* the choices do not fit each other */
    xd_program_free(&p);
    check_round_trip(&g);
    written++;
  }
  assert_true(written * example_stride() >= LEAST);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_gemm_is_written_in_object_fifo_form),
      cmocka_unit_test(more_than_two_copies_are_written_as_a_list),
      cmocka_unit_test(the_rest_is_written_with_descriptors),
      cmocka_unit_test(integer_gemms_come_back),
      cmocka_unit_test(column_major_gemms_come_back),
      cmocka_unit_test(walks_with_steps_of_one_come_back),
      cmocka_unit_test(narrowed_gemms_come_back),
      cmocka_unit_test(gemms_of_all_kernels_come_back),
      cmocka_unit_test(covers_come_back),
      cmocka_unit_test(deep_gemms_of_few_columns_come_back),
      cmocka_unit_test(small_gemms_come_back),
      cmocka_unit_test(random_gemms_come_back),
  };
  return cmocka_run_group_tests(tests, setup, NULL);
}
