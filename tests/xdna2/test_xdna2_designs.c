/* Designs that others wrote, in mlir-aie's object-FIFO form, through the target as `tilewright run` takes them; and
 * what is refused: one line each, with the line of the text. */
#include "test.h"

#include "xdna2_designs.h"
#include "xdna2_refusals.h"

static void designs_of_others_are_correct(void **state) {
  const char *const vector[] = {"m=64", "n=1", "k=96", "a=i16", "b=i16", "c=i32"};
  tw_error error;
  if (run_square(one_core, &error) != TW_OK) fail_msg("%s", error.text);
  if (run(matrix_vector, vector, 6, &error) != TW_OK) fail_msg("%s", error.text);
}

/* As IRON writes it: the reader places the tiles, around those that have coordinates. */
static void tiles_without_coordinates_are_placed(void **state) {
  static const char *const core[] = {"<CoreTile>(?, ?)", "<CoreTile>(?, 2)", "<CoreTile>(3, ?)", "<CoreTile>(0, 2)"};
  tw_error error;
  for (size_t i = 0; i < COUNT(core); i++) {
    char tile[64];
    snprintf(tile, sizeof tile, "aie.logical_tile%s", core[i]);
    char *shim = replaced(one_core, "aie.tile(0, 0)", "aie.logical_tile<ShimNOCTile>(?, ?)"),
         *memory = replaced(shim, "aie.tile(0, 1)", i & 1 ? "aie.logical_tile<MemTile>(?, 1)" : "aie.tile(0, 1)"),
         *text = replaced(memory, "aie.tile(0, 2)", tile);
    if (run_square(text, &error) != TW_OK) fail_msg("%s: %s", core[i], error.text);
    free(shim), free(memory), free(text);
  }
  static const refusal list[] = {
      {"aie.tile(0, 2)", "aie.logical_tile<CoreTile>(8, ?)", "no place for %tile: no tile of its kind", NULL},
      {"aie.tile(0, 2)", "aie.logical_tile<CoreTile>(0, 1)", "no place for %tile: no tile of its kind", NULL},
      {"aie.tile(0, 2)", "aie.logical_tile<CoreTile>(0, 99)", "unknown tile (0, 63)", NULL},
      {"aie.tile(0, 1)", "aie.logical_tile<MemTile>(?, 0)", "no place for %mem: no tile of its kind", NULL},
      {"aie.tile(0, 0)", "aie.logical_tile<ShimPLTile>(?, ?)", "expected aie.logical_tile<CoreTile>", NULL},
      {"aie.tile(0, 0)", "aie.logical_tile<ShimNOCTile>(?; ?)", "expected , (found \";\")", NULL},
  };
  for (size_t i = 0; i < COUNT(list); i++) expect_refusal(one_core, &list[i]);
}

/* ---- what is refused ---- */

static void text_that_is_no_mlir_is_refused(void **state) {
  static const refusal list[] = {
      {"link_with = \"mm.o\"}", "link_with = \"mm.o}", "a string does not end on its line", NULL},
      {"aie.tile(0, 0)", "aie.tile(0, 99999999999999999999)", "does not fit in 64 bits", NULL},
      {"aie.tile(0, 0)", "aie.tile(0, 0x8000000000000000)", "does not fit in 64 bits", NULL},
      {"aie.tile(0, 0)", "aie.tile(0 0)", "expected , (found \"0\")", NULL},
      {"aie.tile(0, 0)", "aie.tile(, 0)", "expected a number", NULL},
      {"      aie.end\n    } {stack_size", "      aie.end\n    {stack_size", "unsupported operation '{' in a core",
       "{stack_size"},
      {"%zero to", "%nothing to", "%nothing is not defined above", NULL},
      {"@zero_i32(%c0)", "@nothing(%c0)", "function @nothing is not declared above", NULL},
      {"metadata = @inA}", "metadata = @nothing}", "unknown object FIFO @nothing; expected one from above", NULL},
      {"memref<1024xi8>", "memref<0xi8>", "0 is out of range; expected 1 to", NULL},
      {"memref<1024xi8>", "memref<99999999x99999999xi8>", "less than 2^40 elements", NULL},
      {"memref<1024xi8>", "memref<1024xi7>", "unsupported element type 'i7'", NULL},
      {"memref<1024xi8>", "memref<1024>", "expected sizes and an element type, as in memref<32x64xi8>", NULL},
      {"    }\n  }\n}\n", "", "the text ends within the runtime sequence",
       "      aiex.npu.dma_wait {symbol = @outC}\n"},
      {"  }\n}\n", "  }\n}\nmodule {}\n", "after the end of the module: \"module\"", "module {}"},
      {"aie.device(npu2) {", "aie.device(xcvc1902) {",
       "unsupported device 'xcvc1902'; expected npu1, npu2 or npuN_Mcol", NULL},
      {"aie.device(npu2) {", "aie.device(npu2_9col) {", "unsupported device 'npu2_9col'", NULL},
  };
  for (size_t i = 0; i < COUNT(list); i++) {
    if (strcmp(list[i].part, "    }\n  }\n}\n") != 0) {
      expect_refusal(one_core, &list[i]);
      continue;
    }
    /* the line behind the last */
    char *bad = replaced(one_core, list[i].part, list[i].by), line[32];
    tw_error error;
    assert_int_equal(run_square(bad, &error), TW_FAILED);
    snprintf(line, sizeof line, "line %d: ", line_of(bad, list[i].where) + 1);
    if (strncmp(error.text, line, strlen(line)) != 0 || !strstr(error.text, list[i].message))
      fail_msg("%s", error.text);
    free(bad);
  }
}

/* How far K goes is a word of the core's memory, which the host writes. */
static void run_time_parameters_turn_loops(void **state) {
  char *buffer =
      replaced(one_core, "    %core = aie.core",
               "    %rtp = aie.buffer(%tile) {sym_name = \"rtp_0_2\", use_write_rtp = true} : memref<16xi32>\n"
               "    %core = aie.core");
  char *load = replaced(buffer, "        scf.for %k = %zero to %two step %one {\n",
                        "        %word = memref.load %rtp[%one] : memref<16xi32>\n"
                        "        %steps = arith.index_cast %word : i32 to index\n"
                        "        scf.for %k = %zero to %steps step %one {\n");
  char *text = replaced(load, "      aiex.npu.dma_memcpy_nd(%C",
                        "      aiex.npu.rtp_write(@rtp_0_2, 1, 2)\n      aiex.npu.dma_memcpy_nd(%C");
  char *older = replaced(text, "rtp_write(@rtp_0_2, 1, 2)", "rtp_write(0, 2, 1, 2) {buffer_sym_name = \"rtp_0_2\"}");
  tw_error error;
  if (run_square(text, &error) != TW_OK) fail_msg("%s", error.text);
  if (run_square(older, &error) != TW_OK) fail_msg("%s", error.text);
  static const refusal list[] = {
      {"      aiex.npu.rtp_write(@rtp_0_2, 1, 2)\n", "",
       "element 1 of rtp is the bound of this loop, but no aiex.npu.rtp_write of the sequence", "to %steps step"},
      {"(@rtp_0_2, 1, 2)", "(@rtp_0_2, 0, 2)",
       "element 1 of rtp is the bound of this loop, but no aiex.npu.rtp_write of the sequence", "to %steps step"},
      {"(@rtp_0_2, 1, 2)\n", "(@rtp_0_2, 1, 2)\n      aiex.npu.rtp_write(\"rtp_0_2\", 1, 3)\n",
       "element 1 of rtp_0_2 is written a second time", "1, 3)"},
      {"(@rtp_0_2, 1, 2)", "(@rtp_0_3, 1, 2)", "unknown buffer rtp_0_3", NULL},
      {"(@rtp_0_2, 1, 2)", "(@rtp_0_2, 1, 2147483648)", "a run-time parameter has 32 bits", NULL},
      {"%rtp[%one]", "%rtp[%ever]", "element 9223372036854775807 of a buffer of 16", NULL},
      {"%zero to %steps", "%one to %steps", "a loop to a run-time parameter must start at 0 with step 1", NULL},
      {"memref.load %rtp[%one]", "memref.load %c0[%one]", "the type differs from the type of its alias", NULL},
  };
  for (size_t i = 0; i < COUNT(list); i++) expect_refusal(text, &list[i]);
  char *few = replaced(text, "(@rtp_0_2, 1, 2)", "(@rtp_0_2, 1, 1)"); /* half of K: the rest stays behind */
  assert_int_equal(run_square(few, &error), TW_FAILED);
  char *const texts[] = {buffer, load, text, older, few};
  for (size_t i = 0; i < COUNT(texts); i++) free(texts[i]);
}

static void what_is_not_taken_is_named(void **state) {
  static const refusal list[] = {
      {"    %core = aie.core", "    aie.flow(%shim, DMA : 0, %mem, DMA : 0)\n    %core = aie.core",
       "unsupported mix of object FIFOs with locks, flows and DMA programs", "aie.flow"},
      {"    %core = aie.core", "    aie.cascade_flow(%mem, %tile)\n    %core = aie.core",
       "unsupported operation 'aie.cascade_flow' in a device", "aie.cascade_flow"},
      {"      aie.end\n", "      aie.put_cascade(%x : i512)\n      aie.end\n",
       "unsupported operation 'aie.put_cascade' in a core", "aie.put_cascade"},
      {"      aiex.npu.dma_wait", "      aiex.npu.write32 {value = 1 : i32}\n      aiex.npu.dma_wait",
       "unsupported register 0x0 of tile (0, 0); expected", "aiex.npu.write32"},
      {"{stack_size = 1024 : i32}", "{elf_file = \"core.elf\"}", "unsupported attribute 'elf_file' on 'aie.core'",
       NULL},
      {"2 : i32) : !aie.objectfifo<memref<1024xi8>>",
       "2 : i32) {repeat_count = 2 : i32} : !aie.objectfifo<memref<1024xi8>>",
       "unsupported attribute 'repeat_count' on 'aie.objectfifo'", NULL},
      {"@matmul_i8_i32(memref", "@convolve(memref", "function @matmul_i8_i32 is not declared above",
       "func.call @matmul"},
      {"issue_token = true}", "issue_token = true, packet = 1 : i32}",
       "unsupported attribute 'packet' on 'dma_memcpy_nd'", "packet = 1"},
  };
  for (size_t i = 0; i < COUNT(list); i++) expect_refusal(one_core, &list[i]);
}

static void tiles_that_do_not_exist_are_refused(void **state) {
  static const refusal list[] = {
      {"aie.tile(0, 0)", "aie.tile(8, 0)", "unknown tile (8, 0): npu2 has columns 0 to 7", NULL},
      {"aie.tile(0, 2)", "aie.tile(0, 6)", "rows 0 to 5", NULL},
      {"aie.core(%tile)", "aie.core(%mem)", "%mem is not a tile with a core", NULL},
      {"{%tile}, 2 : i32)", "{%core}, 2 : i32)", "%core is not defined above", NULL},
  };
  for (size_t i = 0; i < COUNT(list); i++) expect_refusal(one_core, &list[i]);
  char *old = replaced(one_core, "aie.device(npu2) {", "aie.device(npu1_1col) {");
  static const refusal beyond = {"aie.tile(0, 1)", "aie.tile(1, 1)",
                                 "unknown tile (1, 1): npu1_1col has columns 0 to 0", NULL};
  expect_refusal(old, &beyond);
  free(old);
}

static void missing_acquires_and_releases_are_refused(void **state) {
  static const refusal list[] = {
      {"          aie.objectfifo.release @memA(Consume, 1)\n", "",
       "each iteration of the loop keeps 1 more object(s) of @memA (acquired in line 28); a "
       "release is missing",
       "scf.for %k"},
      {"        aie.objectfifo.release @memC(Produce, 1)\n", "",
       "object(s) of @memC (acquired in line 24); a release is missing", "scf.for %i"},
      {"@memB(Consume, 1)\n        }",
       "@memB(Consume, 1)\n          aie.objectfifo.release @memB(Consume, 1)\n        }",
       "1 object(s) of @memB are released, but 0 are held; an acquire is missing",
       "          aie.objectfifo.release @memB(Consume, 1)\n        }"},
      {"          func.call @matmul", "          aie.objectfifo.release @memA(Consume, 1)\n          func.call @matmul",
       "an object of @memA is used after its release; an acquire is missing", "          func.call @matmul"},
      {"acquire @memA(Consume, 1)", "acquire @memA(Consume, 4)", "each iteration of the loop keeps 3 more",
       "scf.for %k"},
      {"access %a[0]", "access %a[1]", "%a holds no object 1", NULL},
      {"acquire @memC(Produce, 1)", "acquire @memC(Consume, 1)", "core (0,2) is not a consumer of object FIFO @memC",
       NULL},
      {"acquire @memA(Consume, 1)", "acquire @inA(Consume, 1)", "core (0,2) is not a consumer of object FIFO @inA",
       NULL},
  };
  for (size_t i = 0; i < COUNT(list); i++) expect_refusal(one_core, &list[i]);
}

static void two_writers_are_refused(void **state) {
  static const refusal list[] = {
      {"aie.objectfifo @memB(%mem toStream", "aie.objectfifo @memA(%mem toStream",
       "object FIFO @memA is defined twice, here and in line 10: two writers", NULL},
      {"func.call @matmul_i8_i32(%a0, %b0, %c0) : (memref<32x32xi8>, memref<32x32xi8>, memref<32x32xi32>)",
       "func.call @zero_i8(%a0) : (memref<32x32xi8>)", "function @zero_i8 is not declared above", NULL},
      {"[@memC] -> [@outC]", "[@memC] -> [@memA]", "object FIFO @memA is in two links", NULL},
      {"func.func private @zero_i32(memref<32x32xi32>)", "func.func private @zero_i32(memref<32x32xi8>)",
       "the types of the call differ from the declaration of @zero_i32", "func.call @zero"},
  };
  for (size_t i = 0; i < COUNT(list); i++) expect_refusal(one_core, &list[i]);
  char *clears = replaced(one_core, "    %shim = aie.tile",
                          "    func.func private @zero_i8(memref<32x32xi8>)\n    %shim = aie.tile");
  static const refusal writer = {
      "          func.call @matmul",
      "          func.call @zero_i8(%a0) : (memref<32x32xi8>) -> ()\n          func.call @matmul",
      "memA_0 has two writers: core (0,2) S2MM 0 and core (0,2)", "aie.objectfifo @memA"};
  expect_refusal(clears, &writer);
  free(clears);
}

static void descriptors_beyond_their_limits_are_refused(void **state) {
  static const refusal list[] = {
      {"[2, 2, 32, 32][2048, 32, 64, 1]) {id = 0", "[2, 2, 32, 32][2048, 32, 64, 1]) {id = 16", "descriptors 0 to 15",
       NULL},
      {"[2, 2, 32, 32][0, 32, 64, 1]", "[300, 2, 32, 32][0, 32, 64, 1]", "a task runs 300 times; expected 1 to 256",
       NULL},
      {"[2, 2, 32, 32][0, 32, 64, 1]", "[2, 2, 2000, 2][0, 32, 64, 1]", "runs of 2 bytes", NULL},
      {"[2, 2, 32, 32][0, 32, 64, 1]", "[2, 2, 2000, 4][0, 32, 64, 1]",
       "dimension 1 has 2000 steps, but the field holds 1023", NULL},
      {"[2, 2, 32, 32][0, 32, 64, 1]", "[2, 2, 32, 32][0, 32, 66, 1]",
       "a stride of 66 bytes; expected a multiple of words of 4", NULL},
      {"[2, 2, 32, 32][0, 32, 64, 1]", "[2, 2, 32, 32][0, 32, 8388608, 1]", "dimension 1 has a stride of 8388608 bytes",
       NULL},
      {"%A[0, 0, 0, 0]", "%A[0, 0, 0, 4000]", "of A, which has 4096", NULL},
      {"[2, 2, 32, 32][0, 32, 64, 1]", "[2, 2, 32][0, 32, 64, 1]", "needs four offsets, sizes and strides", NULL},
      {"[<size = 4, stride = 256>, <size = 4, stride = 8>, <size = 8, stride = 32>, <size = 8, stride = 1>], {%tile}, "
       "2",
       "[<size = 4, stride = 256>, <size = 4, stride = 8>, <size = 8, stride = 32>, <size = 2, stride = 4>, <size = 4, "
       "stride "
       "= 1>], {%tile}, 2",
       "more than 4 dimensions", NULL},
      {"<size = 8, stride = 32>, <size = 8, stride = 1>], {%tile}, 2",
       "<size = 8, stride = 32>, <size = 4, stride = 1>], {%tile}, 2",
       "the walk of @memA at memory (0,1) has 512 bytes, but a transfer there has 1024", NULL},
      {"<size = 4, stride = 256>", "<size = 4, stride = 1048576>", "has a stride of 1048576 bytes", NULL},
  };
  for (size_t i = 0; i < COUNT(list); i++) expect_refusal(one_core, &list[i]);
}

static void what_does_not_fit_is_refused(void **state) {
  static const refusal list[] = {
      {"%core = aie.core", "%big = aie.buffer(%tile) {sym_name = \"big\"} : memref<60000xi8>\n    %core = aie.core",
       "core (0,2): buffers need 72288 bytes", "aie.tile(0, 2)"},
      {"@inA(%shim, {%mem}, 2 : i32)", "@inA(%shim, {%mem}, 60 : i32)",
       "memory (0,1) needs 124 buffer descriptors for even channels, but has 24", "aie.tile(0, 1)"},
      {"{%tile}, [2, 2])", "{%tile}, [2, 2, 2])", "expected ]", NULL},
      {"{%tile}, [2, 2])", "{%tile}, [2, 65])", "65 is out of range; expected 1 to 64", NULL},
      {"[@inB] -> [@memB]([] [])", "[@inA] -> [@memB]([] [])", "object FIFO @inA is in two links", NULL},
      {"    aie.objectfifo.link [@inA] -> [@memA]([] [])\n", "",
       "object FIFO @inA ends in memory (0,1), but no link continues it", "aie.objectfifo @inA"},
      {"func.func private @matmul_i8_i32(memref<32x32xi8>, memref<32x32xi8>",
       "func.func private @matmul_i8_i32(memref<32x32xi8>, memref<16x32xi8>",
       "the types of the call differ from the declaration of @matmul_i8_i32", "func.call @matmul"},
  };
  for (size_t i = 0; i < COUNT(list); i++) expect_refusal(one_core, &list[i]);
}

static void tasks_with_too_many_dimensions_are_refused(void **state) {
  char *bad =
      replaced(matrix_vector, "[<size = 2, stride = 3072>, ", "[<size = 2, stride = 3072>, <size = 1, stride = 1>, ");
  tw_error error;
  assert_int_equal(run_square(bad, &error), TW_FAILED);
  if (!strstr(error.text, ": more than 4 dimensions")) fail_msg("%s", error.text);
  free(bad);
}

static void sizes_and_types_must_be_the_problems(void **state) {
  const char *const larger[] = {"m=128", "n=64", "k=64", "a=i8", "b=i8", "c=i32"};
  const char *const other[] = {"m=64", "n=64", "k=64", "a=bf16", "b=bf16", "c=bf16"};
  tw_error error;
  assert_int_equal(run(one_core, larger, 6, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "argument 0 of the runtime sequence has 4096 bytes, but A has 8192"));
  assert_int_equal(run(one_core, other, 6, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "the design computes a=i8 b=i8 c=i32, but the problem is a=bf16"));
  char *wrong = replaced(one_core, "%B[0, 0, 0, 0][2, 2, 32, 32][32, 2048, 64, 1]",
                         "%B[0, 0, 0, 0][2, 2, 32, 32][32, 2048, 32, 1]");
  assert_int_equal(run_square(wrong, &error), TW_FAILED); /* a wrong stride: rows of B come in a wrong order */
  assert_non_null(strstr(error.text, "wrong result"));
  free(wrong);
}

static void numbers_may_be_hexadecimal(void **state) {
  tw_error error;
  char *hexadecimal = replaced(one_core, "%tile = aie.tile(0, 2)", "%tile = aie.tile(0x0, 0x2)");
  char *sizes = replaced(hexadecimal, "[2, 2, 32, 32][32, 2048, 64, 1]", "[0x2, 2, 0x20, 32][0x20, 0x800, 0x40, 0x1]");
  if (run_square(sizes, &error) != TW_OK) fail_msg("%s", error.text);
  free(sizes);
  free(hexadecimal);
}

static void deadlocks_are_found(void **state) {
  static const refusal waits = {"      aiex.npu.dma_memcpy_nd(%B", "      // aiex.npu.dma_memcpy_nd(%B",
                                "deadlock at cycle", "aie.objectfifo @inB"};
  char *bad = replaced(one_core, "      aiex.npu.dma_memcpy_nd(0, 0, %B", "      // aiex.npu.dma_memcpy_nd(0, 0, %B");
  expect_refusal(bad, &waits); /* B never comes */
  free(bad);
  /* two cores, each of which waits for the other's object before it gives its own */
  char *cycle = replaced(one_core, "    aie.objectfifo @inB",
                         "    %far = aie.tile(2, 4)\n"
                         "    aie.objectfifo @there(%tile, {%far}, 1 : i32) : !aie.objectfifo<memref<16xi32>>\n"
                         "    aie.objectfifo @back(%far, {%tile}, 1 : i32) : !aie.objectfifo<memref<16xi32>>\n"
                         "    aie.objectfifo @inB");
  char *other =
      replaced(cycle, "    %core = aie.core(%tile) {\n",
               "    %other = aie.core(%far) {\n"
               "      %x = aie.objectfifo.acquire @there(Consume, 1) : !aie.objectfifosubview<memref<16xi32>>\n"
               "      aie.objectfifo.release @there(Consume, 1)\n"
               "      %y = aie.objectfifo.acquire @back(Produce, 1) : !aie.objectfifosubview<memref<16xi32>>\n"
               "      aie.objectfifo.release @back(Produce, 1)\n"
               "      aie.end\n"
               "    }\n"
               "    %core = aie.core(%tile) {\n"
               "      %x = aie.objectfifo.acquire @back(Consume, 1) : !aie.objectfifosubview<memref<16xi32>>\n"
               "      aie.objectfifo.release @back(Consume, 1)\n"
               "      %y = aie.objectfifo.acquire @there(Produce, 1) : !aie.objectfifosubview<memref<16xi32>>\n"
               "      aie.objectfifo.release @there(Produce, 1)\n");
  /* B comes through its memory tile to the core no more: the channel is the cycle's */
  char *without_b = replaced(other, "{%tile}, [2, 2]) : ", "{%far}, [2, 2]) : ");
  char *no_acquire = replaced(without_b,
                              "          %b = aie.objectfifo.acquire @memB(Consume, 1) : "
                              "!aie.objectfifosubview<memref<32x32xi8>>\n",
                              "");
  char *no_access =
      replaced(no_acquire,
               "          %b0 = aie.objectfifo.subview.access %b[0] : !aie.objectfifosubview<memref<32x32xi8>> -> "
               "memref<32x32xi8>\n",
               "");
  char *no_release = replaced(no_access, "          aie.objectfifo.release @memB(Consume, 1)\n", "");
  char *called = replaced(no_release, "(%a0, %b0, %c0)", "(%a0, %a0, %c0)");
  char *drained =
      replaced(called, "      aie.objectfifo.release @there(Consume, 1)\n",
               "      aie.objectfifo.release @there(Consume, 1)\n"
               "      %b = aie.objectfifo.acquire @memB(Consume, 1) : !aie.objectfifosubview<memref<32x32xi8>>\n"
               "      aie.objectfifo.release @memB(Consume, 1)\n");
  tw_error error;
  assert_int_equal(run_square(drained, &error), TW_FAILED);
  if (!strstr(error.text, "deadlock") || !strstr(error.text, "a cycle of") || strncmp(error.text, "line ", 5) != 0)
    fail_msg("%s", error.text);
  char *const texts[] = {cycle, other, without_b, no_acquire, no_access, no_release, called, drained};
  for (size_t i = 0; i < COUNT(texts); i++) free(texts[i]);
}

static void loops_nest_eight_deep_and_no_deeper(void **state) {
  char text[8192] = "", close[1024] = "";
  for (int i = 0; i < 9; i++) {
    char line[128];
    snprintf(line, sizeof line, "      scf.for %%l%d = %%zero to %%one step %%one {\n", i);
    strcat(text, line);
    strcat(close, "      }\n");
  }
  strcat(text, close);
  strcat(text, "      %ever = arith.constant 9223372036854775807 : index\n");
  const refusal r = {"      %ever = arith.constant 9223372036854775807 : index\n", text, "loops nest more than 8 deep",
                     "scf.for %l8"};
  expect_refusal(one_core, &r);
}

static void loops_that_wait_for_nothing_are_short(void **state) {
  static const refusal list[] = {
      {"        func.call @zero_i32(%c0) : (memref<32x32xi32>) -> ()\n",
       "        scf.for %z = %zero to %ever step %one {\n          func.call @zero_i32(%c0) : (memref<32x32xi32>) -> "
       "()\n        }\n",
       "a loop of more than 67108864 iterations without an acquire", "scf.for %z"},
      {"        func.call @zero_i32(%c0) : (memref<32x32xi32>) -> ()\n",
       "        %many = arith.constant 20000 : index\n        scf.for %y = %zero to %many step %one {\n"
       "          scf.for %z = %zero to %many step %one {\n            func.call @zero_i32(%c0) : (memref<32x32xi32>) "
       "-> ()\n"
       "          }\n        }\n",
       "a loop of more than 67108864 iterations without an acquire", "scf.for %y"},
  };
  for (size_t i = 0; i < COUNT(list); i++) expect_refusal(one_core, &list[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(designs_of_others_are_correct),
      cmocka_unit_test(tiles_without_coordinates_are_placed),
      cmocka_unit_test(text_that_is_no_mlir_is_refused),
      cmocka_unit_test(run_time_parameters_turn_loops),
      cmocka_unit_test(what_is_not_taken_is_named),
      cmocka_unit_test(tiles_that_do_not_exist_are_refused),
      cmocka_unit_test(missing_acquires_and_releases_are_refused),
      cmocka_unit_test(two_writers_are_refused),
      cmocka_unit_test(descriptors_beyond_their_limits_are_refused),
      cmocka_unit_test(what_does_not_fit_is_refused),
      cmocka_unit_test(tasks_with_too_many_dimensions_are_refused),
      cmocka_unit_test(sizes_and_types_must_be_the_problems),
      cmocka_unit_test(numbers_may_be_hexadecimal),
      cmocka_unit_test(deadlocks_are_found),
      cmocka_unit_test(loops_nest_eight_deep_and_no_deeper),
      cmocka_unit_test(loops_that_wait_for_nothing_are_short),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
