/* Memory tiles pad with zeros what they send: as attributes of object FIFOs and in descriptors, to the bit and in time;
 * and what the hardware's fields do not hold. */
#include "xdna2_explicit_design.h"
#include "xdna2_padded_design.h"
#include "xdna2_refusals.h"

static const char *const short_k[] = {"m=64", "n=64", "k=48", "a=i8", "b=i8", "c=i32"};

static void object_fifos_pad(void **state) {
  tw_error error;
  if (run(padded_fifos, short_k, 6, &error) != TW_OK) fail_msg("%s", error.text);
  /* zeros at other places than B's: k does not meet k */
  char *wrong = replaced(padded_fifos, "<const_pad_before = 4, const_pad_after = 4>]",
                         "<const_pad_before = 8, const_pad_after = 0>]");
  assert_int_equal(run(wrong, short_k, 6, &error), TW_FAILED);
  if (!strstr(error.text, "wrong result")) fail_msg("%s", error.text);
  free(wrong);
}

/* The text, through `n` replacements; the caller frees it. */
static char *rewritten(const char *text, const char *const change[][2], size_t n) {
  char *out = replaced(text, change[0][0], change[0][1]);
  for (size_t i = 1; i < n; i++) {
    char *next = replaced(out, change[i][0], change[i][1]);
    free(out);
    out = next;
  }
  return out;
}

#define BLOCKS "[<size = 4, stride = 256>, <size = 4, stride = 8>, <size = 8, stride = 32>, <size = 8, stride = 1>]"

/* A padded in the older syntax, B in the newer; the rest of one core's design without object FIFOs as it was. */
static const char *const to_padded[][2] = {
    {"@zero_i32(memref", "@zero_scalar_i32(memref"},
    {"@matmul_i8_i32(memref", "@matmul_scalar_i8_i32(memref"},
    {"call @zero_i32(", "call @zero_scalar_i32("},
    {"call @matmul_i8_i32(", "call @matmul_scalar_i8_i32("},
    {"call @matmul_i8_i32(", "call @matmul_scalar_i8_i32("},
    {"%la = aie.buffer(%mem) : memref<1024xi8>", "%la = aie.buffer(%mem) : memref<768xi8>"},
    {"%lb = aie.buffer(%mem) : memref<1024xi8>", "%lb = aie.buffer(%mem) : memref<768xi8>"},
    {"(%la : memref<1024xi8>, 0, 1024)", "(%la : memref<768xi8>, 0, 768)"},
    {"(%lb : memref<1024xi8>, 0, 1024)", "(%lb : memref<768xi8>)"},
    {"(%la : memref<1024xi8>, 0, 1024, " BLOCKS ")",
     "(%la : memref<768xi8>, 0, 1024, [<size = 32, stride = 24>, <size = 24, stride = 1>], [<const_pad_before = 0, "
     "const_pad_after = 0>, <const_pad_before = 0, const_pad_after = 8>])"},
    {"(%lb : memref<1024xi8>, 0, 1024, " BLOCKS ")",
     "(%lb : memref<768xi8> offset = 0 len = 1024 sizes = [24, 32] strides = [32, 1] pad [<const_pad_before = 0, "
     "const_pad_after = 8>, <const_pad_before = 0, const_pad_after = 0>])"},
    {", 0, 1024, [<size = 4, stride = 256>, <size = 8, stride = 8>, <size = 4, stride = 64>, <size = 8, stride = 1>])",
     ")"},
    {"%A: memref<4096xi8>, %B: memref<4096xi8>", "%A: memref<3072xi8>, %B: memref<3072xi8>"},
    {"%A[0, 0, 0, 0][2, 2, 32, 32][0, 32, 64, 1]) {id = 1 : i64, metadata = @inA} : memref<4096xi8>",
     "%A[0, 0, 0, 0][2, 2, 32, 24][0, 24, 48, 1]) {id = 1 : i64, metadata = @inA} : memref<3072xi8>"},
    {"%B[0, 0, 0, 0][2, 2, 32, 32][32, 2048, 64, 1]) {id = 2 : i64, metadata = @inB} : memref<4096xi8>",
     "%B[0, 0, 0, 0][2, 2, 24, 32][32, 1536, 64, 1]) {id = 2 : i64, metadata = @inB} : memref<3072xi8>"},
    {"%A[0, 0, 0, 2048][2, 2, 32, 32][0, 32, 64, 1]) {id = 3 : i64, metadata = @inA} : memref<4096xi8>",
     "%A[0, 0, 0, 1536][2, 2, 32, 24][0, 24, 48, 1]) {id = 3 : i64, metadata = @inA} : memref<3072xi8>"},
    {"%B[0, 0, 0, 0][2, 2, 32, 32][32, 2048, 64, 1]) {id = 4 : i64, metadata = @inB} : memref<4096xi8>",
     "%B[0, 0, 0, 0][2, 2, 24, 32][32, 1536, 64, 1]) {id = 4 : i64, metadata = @inB} : memref<3072xi8>"},
};

static void descriptors_pad(void **state) {
  tw_error error;
  char *text = rewritten(explicit_core, to_padded, COUNT(to_padded));
  if (run(text, short_k, 6, &error) != TW_OK) fail_msg("%s", error.text);
  free(text);
}

static void fifos_that_pad_wrongly_are_refused(void **state) {
  static const refusal list[] = {
      {"<const_pad_before = 4, const_pad_after = 4>]", "<const_pad_before = 4, const_pad_after = 8>]",
       "the walk of @memA has 1152 bytes with its zeros, but an object has 1024", NULL},
      {"<const_pad_before = 4, const_pad_after = 4>]", "<const_pad_before = 2, const_pad_after = 6>]",
       "of memory (0,1) MM2S 0 pads with 2 and 6 bytes of zeros; a DMA moves words of 4", NULL},
      {"[<const_pad_before = 0, const_pad_after = 0>, <const_pad_before = 4", "[<const_pad_before = 4",
       "padding has 1 dimensions, but the walk has 2", NULL},
      {"padDimensions = #aie<bd_pad_layout_array[", "padDimensions = #aie<bd_dim_layout_array[",
       "expected bd_pad_layout_array", NULL},
      {"<size = 32, stride = 24>, <size = 24, stride = 1>", "<size = 32, stride = 28>, <size = 24, stride = 1>",
       "reaches bytes 0 to 891 of inA_0, which has 768", NULL},
      {"const_pad_after = 4>]>}", "const_pad_after = 4>]>, padValue = 3 : i32}",
       "unsupported attribute 'padValue' on 'aie.objectfifo'", NULL},
      {"const_pad_before = 0,", "const_pad_before = -1,", "-1 is out of range; expected 0 to", NULL},
  };
  for (size_t i = 0; i < COUNT(list); i++) expect_refusal(padded_fifos, &list[i]);
}

#define PAD_A "[<const_pad_before = 0, const_pad_after = 0>, <const_pad_before = 0, const_pad_after = 8>]"

static void descriptors_that_pad_wrongly_are_refused(void **state) {
  static const refusal list[] = {
      {"768xi8>, 0, 1024, [<size = 32, stride = 24>, <size = 24, stride = 1>], " PAD_A,
       "768xi8>, 0, 1536, [<size = 32, stride = 24>, <size = 24, stride = 1>], [<const_pad_before = 0, "
       "const_pad_after = 32>, <const_pad_before = 0, const_pad_after = 0>]",
       "of memory (0,1) MM2S 0 pads dimension 1 with 0 and 32 zeros; the fields hold 31", NULL},
      {"768xi8>, 0, 1024, [<size = 32, stride = 24>, <size = 24, stride = 1>], " PAD_A,
       "768xi8>, 0, 1024, [<size = 3, stride = 256>, <size = 4, stride = 8>, <size = 8, stride = 24>, <size = 8, "
       "stride "
       "= 1>], [<const_pad_before = 0, const_pad_after = 1>, <const_pad_before = 0, const_pad_after = 0>, "
       "<const_pad_before = 0, const_pad_after = 0>, <const_pad_before = 0, const_pad_after = 0>]",
       "of memory (0,1) MM2S 0 pads dimension 3 with zeros; the innermost 3 can be padded", NULL},
      {"const_pad_after = 8>])", "const_pad_after = 4>])",
       "the descriptor's length is 1024, but its walk has 896 elements", NULL},
      {"(%la : memref<768xi8>, 0, 768)",
       "(%la : memref<768xi8>, 0, 768, [<size = 32, stride = 24>, <size = 20, stride = 1>], [<const_pad_before = 0, "
       "const_pad_after = 0>, <const_pad_before = 0, const_pad_after = 4>])",
       "of memory (0,1) S2MM 0 pads with zeros; only MM2S channels of memory tiles can", NULL},
      {"(%c0 : memref<32x32xi32>, 0, 1024)",
       "(%c0 : memref<32x32xi32>, 0, 1024, [<size = 31, stride = 32>, <size = 32, stride = 1>], [<const_pad_before = "
       "0, const_pad_after = 1>, <const_pad_before = 0, const_pad_after = 0>])",
       "of core (0,2) MM2S 0 pads with zeros; only MM2S channels of memory tiles can", NULL},
      {" = aie.dma_start(MM2S, 0, ^bb3, ^bb4)", " = aie.dma_start(MM2S, 0, ^bb3, ^bb4) {pad_value = 7 : i32}",
       "unsupported attribute 'pad_value' on 'aie.dma_start'", NULL},
  };
  char *text = rewritten(explicit_core, to_padded, COUNT(to_padded));
  for (size_t i = 0; i < COUNT(list); i++) expect_refusal(text, &list[i]);
  free(text);
}

static void shims_do_not_pad(void **state) {
  static const refusal r = {
      "    aiex.npu.dma_wait",
      "    %t = aiex.dma_configure_task_for @inA {\n"
      "      aie.dma_bd(%A : memref<64x48xi8>, 0, 1024, [<size = 32, stride = 48>, <size = 24, stride = 1>], "
      "[<const_pad_before = 0, const_pad_after = 0>, <const_pad_before = 0, const_pad_after = 8>])\n"
      "      aie.end\n    }\n"
      "    aiex.npu.dma_wait",
      "a shim's DMA does not pad", "      aie.dma_bd(%A"};
  expect_refusal(padded_fifos, &r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(object_fifos_pad),
      cmocka_unit_test(descriptors_pad),
      cmocka_unit_test(fifos_that_pad_wrongly_are_refused),
      cmocka_unit_test(descriptors_that_pad_wrongly_are_refused),
      cmocka_unit_test(shims_do_not_pad),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
