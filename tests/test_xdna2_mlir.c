/* Array programs as MLIR-AIE text: what is written. */
#include "test.h"

#include "target/xdna2/array/gemm.h"
#include "target/xdna2/mlir/write.h"
#include "xdna2_array.h"

static xd_config machine;

static int setup(void **state) {
  (void)state;
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
  (void)state;
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
  (void)state;
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

static void what_mlir_aie_refuses_is_not_written(void **state) {
  (void)state;
  xd_gemm g = gemm_of("int8", (tw_tile){16, 16, 16, 1}, 128, 64, 64);
  char *text;
  tw_error error;
  g.columns = 2;
  g.depth = 2;
  assert_int_equal(write_gemm(&g, &text, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "the link of a_in_0 distributes and its consumers reorder"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_gemm_is_written_in_object_fifo_form),
      cmocka_unit_test(more_than_two_copies_are_written_as_a_list),
      cmocka_unit_test(what_mlir_aie_refuses_is_not_written),
  };
  return cmocka_run_group_tests(tests, setup, NULL);
}
