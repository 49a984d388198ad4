/* Designs without an op, as `tilewright run FILE.mlir --arg ... -t xdna2` takes them: scalar code of cores,
 * shared-memory FIFOs, packets, initial values, channels that repeat, functions of which only the time is given,
 * arguments that are numbers. The data that come out are compared, element by element, with what the design says. */
#include <stdio.h>
#include <string.h>

#include "test.h"

#include "tilewright/extend/op.h"
#include "tilewright/extend/target.h"

enum { N = 16 };
typedef struct arrays {
  int32_t in[N], out[N];
} arrays;

static tw_status launch_with(const char *text, size_t n, tw_raw_argument *argument, tw_raw_launch *l, tw_measurement *m,
                             tw_error *error) {
  const tw_target *t = tw_target_find("xdna2");
  *l = (tw_raw_launch){.n = n, .argument = argument};
  assert_non_null(t->launcher);
  return t->launcher->run(t, text, strlen(text), l, m, error);
}

/* On the numbers 1 to 16; fails the test if it does not run. */
static tw_measurement launch(const char *text, arrays *a) {
  tw_raw_launch l;
  tw_measurement m;
  tw_error error;
  for (int i = 0; i < N; i++) a->in[i] = i + 1;
  memset(a->out, 0x5a, sizeof a->out);
  tw_raw_argument argument[] = {{.at = -1, .is_data = true, .data = a->in, .bytes = sizeof a->in},
                                {.at = -1, .is_data = true, .data = a->out, .bytes = sizeof a->out, .writable = true}};
  if (launch_with(text, 2, argument, &l, &m, &error) != TW_OK) fail_msg("%s", error.text);
  return m;
}

static void expect_refused(const char *text, const char *message) {
  tw_raw_launch l;
  tw_measurement m;
  tw_error error;
  if (launch_with(text, 0, NULL, &l, &m, &error) == TW_OK) fail_msg("it is taken, but should be refused: %s", message);
  if (!strstr(error.text, message)) fail_msg("it should be refused by \"%s\", not: %s", message, error.text);
}

#define TILES                                                                                                          \
  "module {\n  aie.device(npu2) {\n    %s = aie.tile(0, 0)\n    %m = aie.tile(0, 1)\n    %t = aie.tile(0, 2)\n"        \
  "    %u = aie.tile(0, 3)\n"
#define SEQUENCE                                                                                                       \
  "    aie.runtime_sequence(%a: memref<16xi32>, %b: memref<16xi32>) {\n"                                               \
  "      aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 0 : i64, metadata = @out} : "           \
  "memref<16xi32>\n"                                                                                                   \
  "      aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 1 : i64, metadata = @in} : "            \
  "memref<16xi32>\n      aiex.npu.dma_wait {symbol = @out}\n    }\n  }\n}\n"
#define CONSTANTS                                                                                                      \
  "      %c0 = arith.constant 0 : index\n      %c1 = arith.constant 1 : index\n      %c16 = arith.constant 16 : "      \
  "index\n"                                                                                                            \
  "      %k3 = arith.constant 3 : i32\n"
#define ACQUIRE(name, side, view)                                                                                      \
  "      %v" view " = aie.objectfifo.acquire @" name "(" side                                                          \
  ", 1) : !aie.objectfifosubview<memref<16xi32>>\n      %" view " = aie.objectfifo.subview.access %v" view             \
  "[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>\n"
#define FIFO(name, from, to)                                                                                           \
  "    aie.objectfifo @" name "(%" from ", {%" to "}, 2 : i32) : !aie.objectfifo<memref<16xi32>>\n"
#define CORE_BEGIN(tile, in, out)                                                                                      \
  "    %core_" tile " = aie.core(%" tile ") {\n" CONSTANTS ACQUIRE(in, "Consume", "x") ACQUIRE(out, "Produce", "y")
#define CORE_END(in, out)                                                                                              \
  "      aie.objectfifo.release @" in "(Consume, 1)\n      aie.objectfifo.release @" out                               \
  "(Produce, 1)\n      aie.end\n    }\n"
#define ONE_CORE(before, body)                                                                                         \
  TILES FIFO("in", "s", "t") FIFO("out", "t", "s") before CORE_BEGIN("t", "in", "out") body CORE_END("in", "out")      \
      SEQUENCE
#define LOOP(body) "      scf.for %i = %c0 to %c16 step %c1 {\n" body "      }\n"
#define LOAD "        %e = memref.load %x[%i] : memref<16xi32>\n"
#define STORE(value) "        memref.store %" value ", %y[%i] : memref<16xi32>\n"

static void scalar_code_computes(void **state) {
  arrays a;
  launch(ONE_CORE("", LOOP(LOAD "        %f = arith.muli %e, %k3 : i32\n" STORE("f"))), &a);
  for (int i = 0; i < N; i++) assert_int_equal(a.out[i], 3 * (i + 1));
}

static void scalar_code_of_conditions(void **state) {
  arrays a;
  launch(
      ONE_CORE(
          "",
          "      %zero = arith.constant 0 : i32\n      %one = arith.constant 1 : i32\n"
          "      %sum = scf.for %i = %c0 to %c16 step %c1 iter_args(%s0 = %zero) -> (i32) {\n" LOAD
          "        %odd = arith.andi %e, %one : i32\n        %is = arith.cmpi ne, %odd, %zero : i32\n"
          "        %v = scf.if %is -> (i32) {\n          %n = arith.addi %s0, %e : i32\n          scf.yield %n : i32\n"
          "        } else {\n          scf.yield %s0 : i32\n        }\n" STORE(
              "v") "        scf.yield %v : i32\n      }\n"
                   "      affine.for %j = 0 to 16 step 15 {\n        memref.store %sum, %y[%j] : memref<16xi32>\n      "
                   "}\n"),
      &a);
  int32_t sum = 0;
  for (int i = 0; i < N; i++) {
    sum += (i + 1) % 2 ? i + 1 : 0;
    if (i && i != 15) assert_int_equal(a.out[i], sum);
  }
  assert_int_equal(a.out[0], 64);
  assert_int_equal(a.out[15], 64);
  expect_refused(ONE_CORE("", LOOP("        %e = memref.load %x[%c16] : memref<16xi32>\n" STORE("e"))),
                 "loads element 16 of in, which has 16");
  expect_refused(ONE_CORE("", LOOP(LOAD "        %f = arith.ceildivsi %e, %k3 : i32\n" STORE("f"))),
                 "unsupported operation 'arith.ceildivsi' in a core");
}

/* Two neighbours: the second adds what a table of initial values says. */
static void neighbours_share_memory(void **state) {
  arrays a;
  launch(TILES FIFO("in", "s", "t") FIFO("mid", "t", "u") FIFO(
             "out", "u",
             "s") "    %table = aie.buffer(%u) {sym_name = \"table\"} : memref<16xi32> = dense<[10, 20, 30, 40, 50, "
                  "60, 70, 80, 90, 100, 110, "
                  "120, 130, 140, 150, 160]>\n    %minus = aie.buffer(%t) : memref<2xi32> = dense<-7>\n" CORE_BEGIN(
                      "t", "in", "mid") LOOP(LOAD "        %w = memref.load %minus[%c1] : memref<2xi32>\n        %f = "
                                                  "arith.addi %e, %w : i32\n" STORE("f")) CORE_END("in", "mid")
                      CORE_BEGIN("u", "mid", "out") LOOP(LOAD "        %w = memref.load %table[%i] : memref<16xi32>\n  "
                                                              "      %f = arith.addi %e, %w : i32\n" STORE("f"))
                          CORE_END("mid", "out") SEQUENCE,
         &a);
  for (int i = 0; i < N; i++) assert_int_equal(a.out[i], i + 1 - 7 + 10 * (i + 1));
  expect_refused(TILES "    %table = aie.buffer(%t) : memref<4xi32> = dense<[1, 2, 3]>\n" FIFO("in", "s", "t")
                     FIFO("out", "t", "s") CORE_BEGIN("t", "in", "out") CORE_END("in", "out") SEQUENCE,
                 "line 7: an initial value has 3 elements; expected 4");
}

/* A function that nobody knows is refused, until the text says how long it takes; or what it computes. */
static void functions_may_be_unknown(void **state) {
  static const char design[] =
      ONE_CORE("    func.func private @mystery(memref<16xi32>, memref<16xi32>, i32)\n",
               "      func.call @mystery(%x, %y, %k3) : (memref<16xi32>, memref<16xi32>, i32) -> ()\n");
  char text[4096];
  tw_raw_launch l;
  tw_measurement m, longer;
  tw_error error;
  expect_refused(design, "unknown function @mystery");
  snprintf(text, sizeof text, "%s\n//: kernel-cycles mystery=500\n", design);
  if (launch_with(text, 0, NULL, &l, &m, &error) != TW_OK) fail_msg("%s", error.text);
  assert_non_null(
      strstr(l.note, "not checked, no data: 1 call(s) are of functions with only a given time; only time,"));
  snprintf(text, sizeof text, "%s\n//: kernel-cycles mystery=1500\n", design);
  assert_int_equal(launch_with(text, 0, NULL, &l, &longer, &error), TW_OK);
  assert_true(longer.cycles - m.cycles == 1000);
  snprintf(text, sizeof text, "%s\n//: kernel-cycles mystery=none\n", design);
  expect_refused(text, "expected NAME=CYCLES with CYCLES of at least 1");
  snprintf(text, sizeof text, "%s\n//: kernel mystery=gemm,d=4\n", design);
  expect_refused(text, "unknown key d=4; expected a=TYPE, c=TYPE or block=RxSxT");
  int32_t out[N];
  tw_raw_argument argument[] = {{.at = -1, .is_data = true, .data = out, .bytes = sizeof out, .writable = true}};
  snprintf(text, sizeof text, "%s\n//: kernel-cycles mystery=500\n", design);
  assert_int_equal(launch_with(text, 1, argument, &l, &m, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "functions with only a given time produce no data; leave out argument"));
}

/* i16 x i16 in 4x2 by 2x2, row-major: what a function of another name computes is said. */
static void functions_may_be_named(void **state) {
  static const char design[] =
      TILES "    func.func private @fancy(memref<4x4xi16>, memref<4x4xi16>, memref<16xi32>)\n"
            "    func.func private @clear(memref<16xi32>)\n    %w = aie.buffer(%t) : memref<4x4xi16> = dense<[[1, 2, "
            "3, 4], [0, 1, 0, 0], [5, 0, 0, 0], [0, 0, 0, 2]]>\n"
            "    %v = aie.buffer(%t) : memref<4x4xi16> = dense<[[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, -1, 0], [1, 0, 0, "
            "1]]>\n" FIFO("in", "s", "t") FIFO("out", "t", "s")
                CORE_BEGIN("t", "in", "out") "      func.call @clear(%y) : (memref<16xi32>) -> ()\n"
                                             "      func.call @fancy(%w, %v, %y) : (memref<4x4xi16>, memref<4x4xi16>, "
                                             "memref<16xi32>) -> ()\n" CORE_END("in", "out") SEQUENCE
      "//: kernel fancy=gemm\n//: kernel clear=zero_i32\n";
  static const int32_t expected[N] = {5, 2, -3, 5, 0, 1, 0, 0, 5, 0, 0, 5, 2, 0, 0, 2};
  arrays a;
  launch(design, &a);
  assert_memory_equal(a.out, expected, sizeof expected);
}

/* Through the memory tile by packets of two numbers, which one channel of it sends in turn to two channels of the core;
 * and back from a chain that runs twice. */
#define LOCK(name, tile, n) "    %" name " = aie.lock(%" tile ") {init = " n " : i32}\n"
#define BUFFER(name, tile) "    %" name " = aie.buffer(%" tile ") : memref<8xi32>\n"
#define BLOCK(take, buffer, give, more)                                                                                \
  "{\n        aie.use_lock(%" take ", AcquireGreaterEqual, 1)\n        aie.dma_bd(%" buffer " : memref<8xi32>)" more   \
  "\n        aie.use_lock(%" give ", Release, 1)\n      }"
#define PACKET(n) " {packet = #aie.packet_info<pkt_type = 0, pkt_id = " n ">}"
static const char packets[] = TILES BUFFER("m0", "m") BUFFER("m1", "m") BUFFER("t0", "t") BUFFER("t1", "t") BUFFER(
    "r", "t") LOCK("mf0", "m", "1") LOCK("mx0", "m", "0") LOCK("mf1", "m", "1") LOCK("mx1", "m", "0")
    LOCK("tf0", "t", "1") LOCK("tx0", "t", "0") LOCK("tf1", "t", "1") LOCK("tx1", "t", "0") LOCK("rf", "t", "1") LOCK(
        "rx", "t",
        "0") "    aie.flow(%s, DMA : 0, %m, DMA : 0)\n    aie.flow(%t, DMA : 0, %s, DMA : 0)\n"
             "    aie.packet_flow(3) {\n      aie.packet_source<%m, DMA : 0>\n      aie.packet_dest<%t, DMA : 0>\n    "
             "}\n"
             "    aie.packet_flow(5) {\n      aie.packet_source<%m, DMA : 0>\n      aie.packet_dest<%t, DMA : 1>\n    "
             "}\n"
             "    %dm = aie.memtile_dma(%m) {\n      %0 = aie.dma(S2MM, 0) [" BLOCK("mf0", "m0", "mx0", "") ", " BLOCK(
                 "mf1", "m1", "mx1",
                 "") "]\n"
                     "      %1 = aie.dma(MM2S, 0) [" BLOCK("mx0", "m0", "mf0", PACKET("5")) ", " BLOCK(
                         "mx1", "m1", "mf1",
                         PACKET(
                             "3")) "]\n      aie.end\n    }\n"
                                   "    %dt = aie.mem(%t) {\n      %0 = aie.dma(S2MM, 0) [" BLOCK(
                                       "tf0", "t0", "tx0",
                                       "") "]\n      %1 = aie.dma(S2MM, 1) [" BLOCK("tf1", "t1", "tx1",
                                                                                    "") "]\n"
                                                                                        "      %2 = aie.dma(MM2S, 0) "
                                                                                        "{loop = false, repeat_count = "
                                                                                        "1} [" BLOCK(
                                                                                            "rx", "r", "rf",
                                                                                            "") "]\n      aie.end\n    "
                                                                                                "}\n"
                                                                                                "    %c = aie.core(%t) "
                                                                                                "{\n      %c0 = "
                                                                                                "arith.constant 0 : "
                                                                                                "index\n      %c1 = "
                                                                                                "arith.constant 1 : "
                                                                                                "index\n      %c8 = "
                                                                                                "arith.constant 8 : "
                                                                                                "index\n"
                                                                                                "      "
                                                                                                "aie.use_lock(%tx0, "
                                                                                                "AcquireGreaterEqual, "
                                                                                                "1)\n      "
                                                                                                "aie.use_lock(%tx1, "
                                                                                                "AcquireGreaterEqual, "
                                                                                                "1)\n"
                                                                                                "      "
                                                                                                "aie.use_lock(%rf, "
                                                                                                "AcquireGreaterEqual, "
                                                                                                "1)\n      scf.for %i "
                                                                                                "= %c0 to %c8 step %c1 "
                                                                                                "{\n        %e = "
                                                                                                "memref.load %t0[%i] : "
                                                                                                "memref<8xi32>\n"
                                                                                                "        memref.store "
                                                                                                "%e, %r[%i] : "
                                                                                                "memref<8xi32>\n      "
                                                                                                "}\n      "
                                                                                                "aie.use_lock(%rx, "
                                                                                                "Release, 1)\n      "
                                                                                                "aie.use_lock(%rf, "
                                                                                                "AcquireGreaterEqual, "
                                                                                                "1)\n"
                                                                                                "      scf.for %i = "
                                                                                                "%c0 to %c8 step %c1 "
                                                                                                "{\n        %e = "
                                                                                                "memref.load %t1[%i] : "
                                                                                                "memref<8xi32>\n       "
                                                                                                " memref.store %e, "
                                                                                                "%r[%i] : "
                                                                                                "memref<8xi32>\n      "
                                                                                                "}\n"
                                                                                                "      "
                                                                                                "aie.use_lock(%rx, "
                                                                                                "Release, 1)\n      "
                                                                                                "aie.end\n    }\n"
                                                                                                "    "
                                                                                                "aie.shim_dma_"
                                                                                                "allocation @in(%s, "
                                                                                                "MM2S, 0)\n    "
                                                                                                "aie.shim_dma_"
                                                                                                "allocation @out(%s, "
                                                                                                "S2MM, 0)\n" SEQUENCE;

static void packets_go_where_their_number_says(void **state) {
  arrays a;
  launch(packets, &a);
  for (int i = 0; i < N; i++) assert_int_equal(a.out[i], i < 8 ? i + 9 : i - 7); /* 3 is the second half */
}

/* The sequence by registers, in loops, and as tasks of a channel: the same design four times. */
#define COPY                                                                                                           \
  TILES FIFO("in", "s", "t") FIFO(                                                                                     \
      "out", "t",                                                                                                      \
      "s") "    %core = aie.core(%t) {\n" CONSTANTS                                                                    \
           "      scf.for %n = %c0 to %c16 step %c1 {\n" ACQUIRE("in", "Consume", "x") ACQUIRE("out", "Produce", "y")  \
               LOOP(LOAD STORE("e")) "      aie.objectfifo.release @in(Consume, 1)\n"                                  \
                                     "      aie.objectfifo.release @out(Produce, 1)\n      }\n      aie.end\n    }\n"  \
                                     "    aie.runtime_sequence(%a: memref<16xi32>, %b: memref<16xi32>) {\n"
#define BACK                                                                                                           \
  "      aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 0 : i64, metadata = @out} : "           \
  "memref<16xi32>\n"
#define END "      aiex.npu.dma_wait {symbol = @out}\n    }\n  }\n}\n"

static void sequences_may_be_written_in_many_ways(void **state) {
  static const char *const texts[] = {
      COPY BACK
      "      aiex.npu.writebd {bd_id = 5 : i32, buffer_length = 16 : i32, buffer_offset = 0 : i32, column = 0 : i32, "
      "row = 0 : i32, d0_size = 4 : i32, d0_stride = 3 : i32, d1_size = 4 : i32, d1_stride = 0 : i32}\n"
      "      aiex.npu.address_patch {addr = 118948 : ui32, arg_idx = 0 : i32, arg_plus = 0 : i32}\n"
      "      aiex.npu.write32 {address = 0x1D214 : ui32, column = 0 : i32, row = 0 : i32, value = 5 : ui32}\n" END,
      COPY BACK
      "      %t0 = aiex.dma_configure_task(%s, MM2S, 0) {\n        aie.dma_bd(%a : memref<16xi32>, 0, 16, [<size = 4, "
      "stride = 1>, <size = 4, stride = 4>])\n        aie.end\n      }\n      aiex.dma_start_task(%t0)\n" END,
      COPY
      "      %c0 = arith.constant 0 : i64\n      %c1 = arith.constant 1 : i64\n      %c4 = arith.constant 4 : i64\n"
      "      scf.for %i = %c0 to %c4 step %c1 {\n        %j = arith.muli %i, %c1 : i64\n"
      "        aiex.npu.dma_memcpy_nd(%a[0, 0, 0, %j][1, 1, 4, 1][0, 0, 4, 1]) {metadata = @in} : memref<16xi32>\n     "
      " }\n" BACK END,
  };
  for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
    arrays a;
    launch(texts[t], &a);
    for (int i = 0; i < N; i++) assert_int_equal(a.out[i], i / 4 + i % 4 * 4 + 1); /* turned */
  }
  expect_refused(
      COPY "      aiex.npu.write32 {address = 0x32000 : ui32, column = 0 : i32, row = 2 : i32, value = 1 : ui32}\n" END,
      "unsupported register 0x32000 of tile (0, 2); expected the queue of a shim or a buffer");
}

/* A number that the caller gives: how many words move. */
static void arguments_may_be_numbers(void **state) {
  static const char design[] =
      TILES FIFO("in", "s", "t") FIFO("out", "t", "s") CORE_BEGIN("t", "in", "out") LOOP(LOAD STORE("e"))
          CORE_END("in", "out") "    aie.runtime_sequence(%a: memref<32xi32>, %b: memref<16xi32>, %from: i32) {\n"
                                "      aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 0 : i64, "
                                "metadata = @out} : memref<16xi32>\n"
                                "      aiex.npu.dma_memcpy_nd(%a[0, 0, 0, %from][1, 1, 1, 16][0, 0, 0, 1]) {id = 1 : "
                                "i64, metadata = @in} : memref<32xi32>\n"
                                "      aiex.npu.dma_wait {symbol = @out}\n    }\n  }\n}\n";
  int32_t in[32], out[N];
  tw_raw_launch l;
  tw_measurement m;
  tw_error error;
  for (int i = 0; i < 32; i++) in[i] = 100 + i;
  tw_raw_argument argument[] = {{.at = -1, .is_data = true, .data = in, .bytes = sizeof in},
                                {.at = -1, .is_data = true, .data = out, .bytes = sizeof out, .writable = true},
                                {.at = -1, .bytes = 4, .value = 5}};
  if (launch_with(design, 3, argument, &l, &m, &error) != TW_OK) fail_msg("%s", error.text);
  for (int i = 0; i < N; i++) assert_int_equal(out[i], 105 + i);
  expect_refused(design, "is a number: run the design without an op and give its arguments");
  argument[1].bytes = 60;
  assert_int_equal(launch_with(design, 3, argument, &l, &m, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "argument 1 of the runtime sequence is an array of 64 bytes"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scalar_code_computes),     cmocka_unit_test(scalar_code_of_conditions),
      cmocka_unit_test(neighbours_share_memory),  cmocka_unit_test(functions_may_be_unknown),
      cmocka_unit_test(functions_may_be_named),   cmocka_unit_test(packets_go_where_their_number_says),
      cmocka_unit_test(arguments_may_be_numbers), cmocka_unit_test(sequences_may_be_written_in_many_ways),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
