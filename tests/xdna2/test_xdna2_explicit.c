/* Designs without object FIFOs: locks, circuits and DMA programs of their own, as others write them and as mlir-aie
 * prints them; and what is refused, with the line of the text. */
#include "xdna2_explicit_design.h"
#include "xdna2_refusals.h"

static void explicit_designs_are_correct(void **state) {
  tw_error error;
  if (run_square(explicit_core, &error) != TW_OK) fail_msg("%s", error.text);
}

/* Loops as blocks and branches; what lowering leaves behind; both ways to name a shim's channel. */
static void what_mlir_aie_prints_is_taken(void **state) {
  char *begin = replaced(explicit_core, "        scf.for %k = %zero to %two step %two {\n",
                         "        cf.br ^bb1(%zero : index)\n"
                         "      ^bb1(%k: index):  // 2 preds: ^bb0, ^bb2\n"
                         "        %more = arith.cmpi slt, %k, %two : index\n"
                         "        cf.cond_br %more, ^bb2, ^bb3\n"
                         "      ^bb2:  // pred: ^bb1\n");
  char *loop = replaced(begin, "        }\n        aie.use_lock(%c_full, Release, 1)\n",
                        "        %next = arith.addi %k, %two : index\n"
                        "        cf.br ^bb1(%next : index)\n"
                        "      ^bb3:\n"
                        "        aie.use_lock(%c_full, Release, 1)\n");
  char *global = replaced(loop, "    %shim = aie.tile(0, 0)\n",
                          "    memref.global \"public\" @inA : memref<1024xi8>\n"
                          "    %shim = aie.tile(0, 0) {controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 15>}\n");
  char *packets = replaced(global, "    aie.shim_dma_allocation @inB",
                           "    aie.packet_flow(15) {\n      aie.packet_source<%shim, TileControl : 0>\n"
                           "      aie.packet_dest<%shim, South : 0>\n    } {keep_pkt_header = true}\n"
                           "    aie.shim_dma_allocation @inB");
  tw_error error;
  if (run_square(packets, &error) != TW_OK) fail_msg("%s", error.text);
  static const refusal list[] = {
      {"cf.br ^bb1(%next : index)", "cf.br ^bb7(%next : index)", "expected block ^bb7 after the branch in line",
       "      ^bb3:"},
      {"cf.br ^bb1(%zero : index)", "cf.br ^bb7(%zero : index)", "expected block ^bb7 after the branch in line",
       "^bb1(%k"},
      {"arith.addi %k, %two", "arith.addi %two, %two", "a loop that does not advance by a constant",
       "cf.br ^bb1(%next"},
      {"        cf.br ^bb1(%next : index)\n", "", "on does not return to ^bb1", "      ^bb3:"},
  };
  for (size_t i = 0; i < COUNT(list); i++) expect_refusal(packets, &list[i]);
  char *const texts[] = {begin, loop, global, packets};
  for (size_t i = 0; i < COUNT(texts); i++) free(texts[i]);
}

#define A_ACQUIRED "          aie.use_lock(%a_full, AcquireGreaterEqual, 1)\n"
#define A_RELEASED "          aie.use_lock(%a_free, Release, 1)\n"
#define LB_FILLED "      aie.dma_bd(%lb : memref<1024xi8>, 0, 1024)\n"
#define LB_ACQUIRED "      aie.use_lock(%lb_free, AcquireGreaterEqual, 1)\n"
#define LB_RELEASED "      aie.use_lock(%lb_full, Release, 1)\n"

static void missing_acquires_and_releases_are_found(void **state) {
  static const refusal list[] = {
      {A_ACQUIRED, "", "core (0,2) uses a0, but does not hold it; an acquire is missing",
       "func.call @matmul_i8_i32(%a0"},
      {A_RELEASED, "", "each iteration of the loop around this line keeps 1 more of the buffers from a0 on; a",
       "          aie.use_lock(%b_free, Release)"},
      {"        aie.use_lock(%c_full, Release, 1)\n", "",
       "each iteration of the loop around this line keeps 1 more of the buffers from c0 on; a",
       "          aie.use_lock(%b_free, Release)"},
      {"%c_full, Release, 1)\n      }", "%c_free, Release, 1)\n      }",
       "releases lock c_free, on which a DMA waits; expected that it acquires it", "%c_free, Release, 1)\n      }"},
      {"(%a1, %b1, %c0)", "(%a0, %b1, %c0)", "uses a0, but does not hold it; an acquire is missing", NULL},
      {A_ACQUIRED, "          aie.use_lock(%a_full, AcquireGreaterEqual, 3)\n", "holds 3 of the 2 buffers", NULL},
      {"          func.call @matmul_i8_i32(%a1, %b1, %c0) : (memref<32x32xi8>, memref<32x32xi8>, memref<32x32xi32>) -> "
       "()\n" A_RELEASED "          aie.use_lock(%b_free, Release)\n        }\n",
       "        }\n", "a release is missing", "          aie.use_lock(%b_full, AcquireGreaterEqual)"},
      {LB_ACQUIRED, "", "memory (0,1) S2MM 2 moves lb, which memory (0,1) MM2S 2 uses too, without acquiring a lock",
       "aie.flow(%shim, DMA : 1"},
      {LB_RELEASED, "", "without releasing a lock", "aie.flow(%shim, DMA : 1"},
      {"init = 2 : i32, sym_name = \"a_free\"", "init = 3 : i32, sym_name = \"a_free\"",
       "lock a_free begins with 3, but core (0,2) S2MM 0 has 2 buffers", NULL},
  };
  for (size_t i = 0; i < COUNT(list); i++) expect_refusal(explicit_core, &list[i]);
}

static void turns_must_come_round(void **state) {
  static const refusal r = {
      "          aie.use_lock(%a_full, AcquireGreaterEqual, 1)\n          aie.use_lock(%b_full, AcquireGreaterEqual)\n"
      "          func.call @matmul_i8_i32(%a1, %b1, %c0) : (memref<32x32xi8>, memref<32x32xi8>, memref<32x32xi32>) -> "
      "()\n          aie.use_lock(%a_free, Release, 1)\n          aie.use_lock(%b_free, Release)\n",
      "", "advances by 1 of the 2 buffers from a0 on, so the next iteration works on other buffers",
      "          aie.use_lock(%b_free, Release, 1)"};
  expect_refusal(explicit_core, &r);
}

static void two_writers_and_wrong_ends_are_refused(void **state) {
  static const refusal list[] = {
      {"%mem, DMA : 2)", "%mem, DMA : 0)", "memory (0,1) S2MM 0 ends two flows", "%shim, DMA : 1, %mem, DMA : 0)"},
      {LB_FILLED, "      aie.dma_bd(%la : memref<1024xi8>, 0, 1024)\n", "la has two writers", "%la = "},
      {"    aie.flow(%mem, DMA : 2, %tile, DMA : 1)\n", "", "memory (0,1) MM2S 2 is on 0 circuits", "%mem = "},
      {"%mem, DMA : 0, %tile, DMA : 0", "%mem, DMA : 0, %tile, Core : 0",
       "unsupported end 'Core' of a flow; expected DMA", NULL},
      {LB_FILLED, "      aie.dma_bd(%b0 : memref<32x32xi8>, 0, 1024)\n", "%b0 is in core (0,2), not in memory (0,1)",
       NULL},
      {"@zero_i32(%c0)", "@zero_i32(%lc)", "%lc is in memory (0,1), not in core (0,2)", NULL},
      {"aie.use_lock(%c_free, Acq", "aie.use_lock(%la_free, Acq", "lock %la_free is in memory (0,1)", NULL},
      {"    aie.shim_dma_allocation @inB(MM2S, 1, 0)\n", "", "unknown object FIFO @inB; expected one from above",
       "id = 2"},
      {"@outC(S2MM, 0, 0)", "@outC(S2MM, 0, 9)", "9 is out of range; expected 0 to 7", NULL},
      {"@inA(%shim, MM2S, 0)", "@inA(%mem, MM2S, 0)", "memory (0,1) is not a shim", NULL},
  };
  for (size_t i = 0; i < COUNT(list); i++) expect_refusal(explicit_core, &list[i]);
}

static void programs_of_channels_must_hang_together(void **state) {
  static const refusal list[] = {
      {"      aie.dma_bd(%lc : memref<1024xi32>)\n", "",
       "a descriptor must acquire before aie.dma_bd and release after it", "      aie.use_lock(%lc_full, Release, 1)"},
      {"      aie.next_bd ^bb5\n", "", "block ^bb5 has neither aie.next_bd nor aie.end",
       "      aie.dma_bd(%lc : memref<1024xi32>)"},
      {"aie.next_bd ^bb11", "aie.next_bd ^bb77", "unknown block ^bb77", "%lb : memref<1024xi8>, 0, 1024, ["},
      {"aie.next_bd ^bb11", "aie.next_bd ^bb9", "block ^bb9 belongs to two channels",
       "%lb : memref<1024xi8>, 0, 1024)"},
      {"      aie.next_bd ^bb1\n    ^bb3:", "      aie.next_bd ^bb2\n    ^bb3:", "do not return to the first",
       "%a1 : memref"},
      {LB_FILLED, LB_FILLED LB_FILLED, "a second descriptor in a block", LB_FILLED "      aie.use_lock"},
      {"S2MM, 2, ^bb9", "S2MM, 0, ^bb9", "memory (0,1) S2MM 0 is started twice", NULL},
      {"      %4 = aie.dma_start(S2MM, 2, ^bb9, ^bb10)\n", "", "block ^bb8 is not the next block of the program",
       "MM2S, 1, ^bb7"},
      {"^bb9, ^bb10)", "^bb9, ^bb10, repeat_count = 300)", "300 is out of range; expected 0 to 255", NULL},
      {"aie.mem(%tile)", "aie.mem(%mem)", "memory (0,1) has no aie.mem", NULL},
      {"    ^bb6:\n", "", "'aie.dma_start' follows the end of its block", "aie.dma_start(MM2S, 1"},
      {"      aie.next_bd ^bb5\n    ^bb6:\n", "", "aie.dma_start within a descriptor's block", "aie.dma_start(MM2S, 1"},
      {"      aie.next_bd ^bb5\n", "      aie.next_bd ^bb5\n      aie.next_bd ^bb3\n", "'aie.next_bd' follows the end",
       "      aie.next_bd ^bb3\n    ^bb6:"},
      {"^bb3, ^bb4)", "^bb3, ^bb2)", "block ^bb2 is not the next block of the program", NULL},
      {"      aie.use_lock(%lc_free, Release, 1)", "      aie.use_lock(%lc_free, Release, 7)",
       "lc: its descriptors take 1 from lock lc_free per turn and release 7", "%lc = "},
      {"      aie.dma_bd(%lc : memref<1024xi32>)", "      aie.dma_bd(%lc : memref<1024xi16>)",
       "the type differs from the type of its alias", NULL},
      {"%zero = arith.constant 0 : index", "%mem = arith.constant 0 : index", "%mem is defined twice", NULL},
      {"aie.mem(%tile)", "aie.shim_dma(%shim)", "unsupported operation 'aie.shim_dma' in a device", NULL},
  };
  for (size_t i = 0; i < COUNT(list); i++) {
    if (i != 5) expect_refusal(explicit_core, &list[i]);
    if (i != 5) continue;
    char *bad = replaced(explicit_core, list[i].part, list[i].by);
    tw_error error;
    assert_int_equal(run_square(bad, &error), TW_FAILED);
    assert_non_null(strstr(error.text, list[i].message));
    free(bad);
  }
}

static void limits_are_checked(void **state) {
  static const refusal list[] = {
      {"0, 1024) {bd_id = 0", "512, 1024) {bd_id = 0", "reaches bytes 512 to 1535 of la, which has 1024", NULL},
      {"0, 1024) {bd_id = 0", "0, 1022) {bd_id = 0", "a DMA moves words of 4", NULL},
      {"bd_id = 0 : i32, next", "bd_id = 77 : i32, next", "the tile has descriptors 0 to 47", NULL},
      {"%lc : memref<1024xi32>)", "%lc : memref<1024xi32>) {bd_id = 1 : i32}", "odd channels 24 to 47", NULL},
      {"stride = 256>, <size = 4", "stride = 1256>, <size = 4", "reaches bytes", NULL},
      {"stride = 8>, <size = 8", "stride = 7>, <size = 8", "a stride of 7 bytes", NULL},
      {"1024, [<size = 4, stride", "512, [<size = 4, stride", "the descriptor's length is 512, but its walk has 1024",
       NULL},
      {"init = 1 : i32", "init = 64 : i32", "a lock begins with 64; locks hold 0 to 63", NULL},
      {"aie.lock(%tile, 4)", "aie.lock(%tile, 16)", "16 is out of range; expected 0 to 15", NULL},
      {"aie.lock(%tile, 4)", "aie.lock(%tile, 3)", "core (0,2) has two locks 3", "%c_free = "},
      {"S2MM, 2, ^bb9", "S2MM, 9, ^bb9", "memory (0,1) needs 10 S2MM channels, but has 6", "%mem = "},
      {"    %la = aie.buffer(%mem)", "    %large = aie.buffer(%mem) : memref<1024x1024xi8>\n    %la = aie.buffer(%mem)",
       "memory (0,1): buffers need 1054720 bytes, but the tile has 524288", "%mem = "},
      {"%la = aie.buffer(%mem)", "%la = aie.buffer(%shim)", "%shim is not a tile with memory", NULL},
  };
  for (size_t i = 0; i < COUNT(list); i++) expect_refusal(explicit_core, &list[i]);
}

static void what_is_not_taken_is_named(void **state) {
  static const refusal list[] = {
      {"%c_free, AcquireGreaterEqual, 1", "%c_free, Acquire, 1",
       "Acquire (until the lock is equal) is supported only for barriers, which aiex.set_lock", NULL},
      {"    aie.flow(%mem, DMA : 2, %tile, DMA : 1)\n",
       "    aie.packet_flow(1) {\n      aie.packet_source<%mem, DMA : 2>\n      aie.packet_dest<%tile, DMA : 1>\n    "
       "}\n",
       "sends no packets, but no packet flow from there has that number", "aie.packet_flow"},
      {"    aie.flow(%mem, DMA : 2, %tile, DMA : 1)\n",
       "    aie.packet_flow(1) {\n      aie.packet_source<%tile, Core : 0>\n      aie.packet_dest<%shim, DMA : 1>\n   "
       " "
       "}\n",
       "unsupported packets from or to Core", "aie.packet_flow"},
      {"    aie.mem(%tile)",
       "    aie.objectfifo @x(%shim, {%tile}, 2 : i32) : !aie.objectfifo<memref<4xi8>>\n"
       "    aie.mem(%tile)",
       "never acquires object FIFO @x", "aie.objectfifo"},
      {"      aie.end\n    }\n    aie.memtile_dma",
       "      memref.store %zero, %c0[%zero] : memref<32x32xi32>\n"
       "      aie.end\n    }\n    aie.memtile_dma",
       "1 indices, but 2 dimensions", "memref.store"},
  };
  for (size_t i = 0; i < COUNT(list); i++) expect_refusal(explicit_core, &list[i]);
}

/* A lock cycle: the core waits for B, whose task never comes because the host waits for C. */
static void deadlocks_are_found(void **state) {
  char *bad = replaced(explicit_core, "id = 4 : i64, metadata = @inB", "id = 4 : i64, metadata = @inA"), *cycle;
  tw_error error;
  assert_int_equal(run_square(bad, &error), TW_FAILED);
  if (!strstr(error.text, "deadlock") || strncmp(error.text, "line ", 5) != 0) fail_msg("%s", error.text);
  cycle = replaced(explicit_core, LB_ACQUIRED LB_FILLED LB_RELEASED,
                   "      aie.use_lock(%lb_full, AcquireGreaterEqual, 1)\n" LB_FILLED
                   "      aie.use_lock(%lb_free, Release, 1)\n");
  assert_int_equal(run_square(cycle, &error), TW_FAILED);
  if (!strstr(error.text, "deadlock") || !strstr(error.text, "lb_full")) fail_msg("%s", error.text);
  free(bad);
  free(cycle);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(explicit_designs_are_correct),
      cmocka_unit_test(what_mlir_aie_prints_is_taken),
      cmocka_unit_test(missing_acquires_and_releases_are_found),
      cmocka_unit_test(turns_must_come_round),
      cmocka_unit_test(two_writers_and_wrong_ends_are_refused),
      cmocka_unit_test(programs_of_channels_must_hang_together),
      cmocka_unit_test(limits_are_checked),
      cmocka_unit_test(what_is_not_taken_is_named),
      cmocka_unit_test(deadlocks_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
