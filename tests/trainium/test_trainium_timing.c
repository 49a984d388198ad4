/* The timing model of Trainium: programs whose times follow from published laws and from the machine file. */
#include "target/trainium/timing/timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/trainium/timing/machine.h"
#include "test.h"

static trn_config trn2;

static int load(void **state) {
  tw_error error;
  return trn_config_load("trn2", &trn2, &error) == TW_OK ? 0 : -1;
}

static int tensor(trn_program *p, trn_memory memory, int64_t bytes) {
  return trn_program_add_tensor(p, &(trn_tensor){.memory = memory,
                                                 .type = TW_F32,
                                                 .partitions = memory == TRN_HBM ? 1 : 128,
                                                 .bytes = bytes,
                                                 .address = -1,
                                                 .line = 10 + (int)p->n_tensors});
}

/* `n` neighbours of f32 in each of 128 partitions. */
static trn_region part(int t, int64_t first, int64_t n) {
  return (trn_region){.tensor = t,
                      .is_read = true,
                      .type = TW_F32,
                      .partitions = 128,
                      .partition_step = 1,
                      .offset = 4 * first,
                      .n_dims = 1,
                      .size = {n},
                      .stride = {4}};
}

static trn_region out(trn_region r) {
  r.is_written = true;
  r.is_read = false;
  return r;
}

/* Rows of a matrix in HBM. */
static trn_region rows(int t, int64_t n, int64_t columns) {
  return (trn_region){.tensor = t,
                      .is_read = true,
                      .type = TW_F32,
                      .partitions = 1,
                      .n_dims = 2,
                      .size = {n, columns},
                      .stride = {4 * columns, 4}};
}

static int add(trn_program *p, trn_opcode opcode, trn_engine engine, int64_t n, int operands, const trn_region *r) {
  trn_instruction in = {.opcode = opcode,
                        .engine = engine,
                        .line = 100 + (int)p->n_instructions,
                        .elements = n,
                        .partitions = 128,
                        .passes = 1,
                        .n_operands = operands,
                        .first_wait = -1};
  if (opcode == TRN_MATMUL) in.columns = 128;
  memcpy(in.operand, r, (size_t)operands * sizeof *r);
  return trn_program_add(p, &in);
}
#define OPERANDS(...)                                                                                                  \
  (int)(sizeof((trn_region[]){__VA_ARGS__}) / sizeof(trn_region)), (trn_region[]) { __VA_ARGS__ }

static trn_timing timed(const trn_program *p, trn_compiler compiler) {
  trn_timing t;
  tw_error error;
  const tw_status status = trn_time(&trn2, p, &compiler, &t, &error);
  if (status != TW_OK) fail_msg("%s", error.text);
  return t;
}

static void near(double value, double expected) {
  if (fabs(value - expected) > 0.5) fail_msg("%.2f, not %.2f", value, expected);
}

static void dependent_instructions_follow_each_other_after_the_semaphore(void **state) {
  trn_program p = {0};
  const int a = tensor(&p, TRN_SBUF, 2048), b = tensor(&p, TRN_SBUF, 2048), c = tensor(&p, TRN_SBUF, 2048);
  add(&p, TRN_COPY, TRN_VECTOR, 512, OPERANDS(out(part(b, 0, 512)), part(a, 0, 512)));
  add(&p, TRN_COPY, TRN_VECTOR, 512, OPERANDS(out(part(c, 0, 512)), part(b, 0, 512)));
  trn_timing t = timed(&p, trn_compiler_none);
  /* [VOY] tensor_copy f32 in SBUF: 160.5 + 0.5207 N = 427; the law of issue and completion gives 419 */
  near(t.end[0], (0.5 * 512 + 60) / 0.96 + trn2.vector.done_ns);
  near(t.start[1], t.end[0] + trn2.sync.handoff_ns);
  trn_timing_free(&t);
  trn_program_free(&p);
}

static void engines_run_in_parallel_and_slices_do_not_depend_on_each_other(void **state) {
  trn_program p = {0};
  const int a = tensor(&p, TRN_SBUF, 4096), b = tensor(&p, TRN_SBUF, 4096);
  add(&p, TRN_COPY, TRN_VECTOR, 512, OPERANDS(out(part(b, 0, 512)), part(a, 0, 512)));
  add(&p, TRN_COPY, TRN_SCALAR, 512, OPERANDS(out(part(b, 512, 512)), part(a, 512, 512)));
  trn_timing t = timed(&p, trn_compiler_none);
  near(t.start[0], 0);
  near(t.start[1], 0);
  near(t.device, fmax(t.end[0], t.end[1]));
  trn_timing_free(&t);
  /* One element of the other half: the second waits for the first. */
  p.instruction[1].operand[1].offset -= 4;
  p.instruction[1].operand[1].tensor = b;
  t = timed(&p, trn_compiler_none);
  near(t.start[1], t.end[0] + trn2.sync.handoff_ns);
  trn_timing_free(&t);
  trn_program_free(&p);
}

/* [ARCH] NeuronCore-v2: Vector and GpSimd cannot access SBUF in parallel. */
static void vector_and_gpsimd_take_turns_in_sbuf_if_they_share_a_port(void **state) {
  trn_program p = {0};
  const int a = tensor(&p, TRN_SBUF, 2048), b = tensor(&p, TRN_SBUF, 2048), psum = tensor(&p, TRN_PSUM, 2048);
  add(&p, TRN_COPY, TRN_GPSIMD, 512, OPERANDS(out(part(a, 0, 512)), part(a, 0, 512)));
  add(&p, TRN_COPY, TRN_VECTOR, 512, OPERANDS(out(part(b, 0, 512)), part(b, 0, 512)));
  trn_timing t = timed(&p, trn_compiler_none);
  near(t.start[0], 0);
  near(t.start[1], 0);
  trn_timing_free(&t);
  trn2.gpsimd.shares_port = true;
  t = timed(&p, trn_compiler_none);
  const double vector = (0.5 * 512 + 60) / 0.96, gpsimd = (512 + 150) / 1.2; /* either may be first */
  near(t.start[0] + t.start[1], t.start[0] > 0 ? vector : gpsimd);
  trn_timing_free(&t);
  for (int k = 0; k < 2; k++) p.instruction[1].operand[k].tensor = psum;
  t = timed(&p, trn_compiler_none);
  near(t.start[0] + t.start[1], 0);
  trn2.gpsimd.shares_port = false;
  trn_timing_free(&t);
  trn_program_free(&p);
}

static void an_engine_issues_before_the_instruction_before_is_complete(void **state) {
  trn_program p = {0};
  const int a = tensor(&p, TRN_SBUF, 4096), b = tensor(&p, TRN_SBUF, 4096);
  add(&p, TRN_REDUCE, TRN_VECTOR, 512, OPERANDS(out(part(b, 0, 1)), part(a, 0, 512)));
  add(&p, TRN_REDUCE, TRN_VECTOR, 512, OPERANDS(out(part(b, 1, 1)), part(a, 0, 512)));
  trn_timing t = timed(&p, trn_compiler_none);
  near(t.start[1], (512 + 60) / 0.96); /* [TRC] 597 ns between starts, 685 ns each */
  assert_true(t.end[0] > t.start[1]);
  trn_timing_free(&t);
  trn_program_free(&p);
}

static void transfers_take_their_packets_over_sixteen_engines(void **state) {
  trn_program p = {0};
  const int hbm = tensor(&p, TRN_HBM, 128 * 4096), sbuf = tensor(&p, TRN_SBUF, 4096);
  add(&p, TRN_DMA, TRN_SYNC, 1024, OPERANDS(out(part(sbuf, 0, 1024)), rows(hbm, 128, 1024)));
  trn_timing t = timed(&p, trn_compiler_none);
  const double packet = trn2.dma.packet_ns + 4096 / trn2.dma.engine_gbs;
  near(t.end[0] - t.start[0], trn2.dma.hardware_read_large_ns + 8 * packet);
  near(t.device, t.end[0] + trn2.dma.notice_ns);
  assert_int_equal(t.hbm_read, 128 * 4096);
  assert_int_equal(t.n_spans, 2);
  trn_timing_free(&t);
  /* A transfer to elements of 2 bytes reads as many bytes of HBM. */
  p.instruction[0].operand[0].type = TW_BF16;
  p.instruction[0].operand[0].stride[0] = 2;
  t = timed(&p, trn_compiler_none);
  near(t.end[0] - t.start[0], trn2.dma.hardware_read_large_ns + 8 * packet);
  trn_timing_free(&t);
  p.instruction[0].operand[0] = out(part(sbuf, 0, 1024));
  /* The same bytes as elements of 4 bytes: 1024 times the packets. */
  p.instruction[0].operand[1].stride[1] = 512 * 4;
  p.instruction[0].operand[1].stride[0] = 4;
  t = timed(&p, trn_compiler_none);
  near(t.end[0] - t.start[0], trn2.dma.hardware_read_ns + 8 * 1024 * (trn2.dma.packet_ns + 4 / trn2.dma.engine_gbs));
  trn_timing_free(&t);
  /* Descriptors that were written before the launch need a trigger, too. On trn2 it takes as long as the trigger of a
   * software descriptor. */
  add(&p, TRN_DMA, TRN_SYNC, 1024, OPERANDS(out(rows(hbm, 128, 1024)), part(sbuf, 0, 1024)));
  p.instruction[1].operand[1].tensor = tensor(&p, TRN_SBUF, 4096);
  p.instruction[1].operand[0].tensor = tensor(&p, TRN_HBM, 128 * 4096);
  t = timed(&p, trn_compiler_none);
  near(t.start[1], trn2.dma.hardware_issue_ns);
  trn_timing_free(&t);
  t = timed(&p, (trn_compiler){.static_dma = true, .look_ahead = 1});
  near(t.start[1], trn2.dma.static_issue_ns);
  near(t.start[1], trn2.dma.software_issue_ns);
  trn_timing_free(&t);
  trn_program_free(&p);
}

static void software_descriptors_join_rows_that_are_neighbours(void **state) {
  trn_program p = {0};
  const int hbm = tensor(&p, TRN_HBM, 128 * 2048), sbuf = tensor(&p, TRN_SBUF, 2048);
  add(&p, TRN_DMA, TRN_GPSIMD, 512, OPERANDS(out(part(sbuf, 0, 512)), rows(hbm, 128, 512)));
  p.instruction[0].is_software_dma = true;
  trn_timing t = timed(&p, trn_compiler_none);
  /* [TRC] 64 packets of 4096 bytes, not 128 of 2048 */
  const double packet = trn2.dma.packet_ns + 4096 / trn2.dma.engine_gbs;
  near(t.end[0] - t.start[0], trn2.dma.software_read_ns + 4 * packet);
  near(t.start[0], trn2.dma.software_prepare_ns);
  trn_timing_free(&t);
  trn_program_free(&p);
}

static void matmul(trn_program *p, int psum, int stationary, int moving, tw_type type) {
  trn_region c = out(part(psum, 0, 512)), a = part(stationary, 0, 128), b = part(moving, 0, 512);
  a.type = b.type = type;
  a.stride[0] = b.stride[0] = tw_type_bits(type) / 8;
  add(p, TRN_MATMUL, TRN_TENSOR, 512, OPERANDS(c, a, b));
}

static void the_array_runs_at_half_rate_until_a_window_was_busy(void **state) {
  trn_program p = {0};
  const int psum = tensor(&p, TRN_PSUM, 2048), a = tensor(&p, TRN_SBUF, 512), b = tensor(&p, TRN_SBUF, 2048);
  for (int i = 0; i < 100; i++) matmul(&p, psum, a, b, TW_BF16);
  trn_timing t = timed(&p, trn_compiler_none);
  /* [TRC] bf16, 512 rows: 426 ns at half rate, 215 at the full one. */
  near(t.start[3] - t.start[2], 2 * 512 / 2.4 + trn2.tensor.issue_ns);
  near(t.start[60] - t.start[59], 512 / 2.4 + trn2.tensor.issue_ns);
  /* The first window is half over when the program starts; the array is in use for nearly all of the rest. */
  assert_true(t.start[5] < trn2.tensor.window_phase_ns + trn2.tensor.window_ns);
  for (int i = 1; i < 100; i++)
    if (t.start[i] > trn2.tensor.window_phase_ns + trn2.tensor.window_ns + 500)
      assert_true(t.start[i] - t.start[i - 1] < 220);
  trn_timing_free(&t);
  /* A rest of two windows brings the clock down. */
  trn_clock clock = trn_clock_start(&trn2.tensor);
  double now = trn_clock_run(&clock, 0, 20000, 1);
  assert_true(clock.rate >= 1);
  now += 3 * trn2.tensor.window_ns;
  near(trn_clock_run(&clock, now, 100, 1) - now, 200);
  /* Half the rows do not raise it. */
  clock = trn_clock_start(&trn2.tensor);
  near(trn_clock_run(&clock, 0, 20000, 0.5), 40000);
  trn_program_free(&p);
}

static void f32_multiplies_twice_at_half_speed(void **state) {
  trn_program p = {0};
  trn_config saved = trn2;
  trn2.tensor.slow_rate = 1; /* without the ramp */
  const int psum = tensor(&p, TRN_PSUM, 2048), a = tensor(&p, TRN_SBUF, 512), b = tensor(&p, TRN_SBUF, 2048);
  for (int i = 0; i < 4; i++) matmul(&p, psum, a, b, TW_F32);
  trn_timing t = timed(&p, trn_compiler_none);
  near(t.start[3] - t.start[2], 4 * 512 / 2.4 + 2 * trn2.tensor.issue_ns); /* [TRC] 2 x 428 */
  trn2 = saved;
  trn_timing_free(&t);
  trn_program_free(&p);
}

static void a_change_of_function_loads_a_table(void **state) {
  trn_program p = {0};
  const int a = tensor(&p, TRN_SBUF, 2048), b = tensor(&p, TRN_SBUF, 2048);
  const char *const function[] = {"exp", "exp", "square", "exp", "rsqrt"};
  for (int i = 0; i < 5; i++) {
    add(&p, TRN_ACTIVATION, TRN_SCALAR, 512, OPERANDS(out(part(b, 0, 512)), part(a, 0, 512)));
    p.instruction[i].function = function[i];
  }
  trn_timing t = timed(&p, trn_compiler_none);
  assert_int_equal(t.table_loads, 2);
  near(t.start[0], trn2.scalar.table_ns);
  near(t.start[1] - t.start[0], 512 / 1.2 + trn2.scalar.sbuf_ns + trn2.scalar.pointer_ns); /* [TRC] 611 */
  near(t.start[4] - t.start[3], t.start[1] - t.start[0] + trn2.scalar.table_ns);
  trn_timing_free(&t);
  trn_program_free(&p);
}

/* Three tensors of half of SBUF are written, then read twice in turn: by Belady's rule each leaves and returns once. */
static void tensors_that_do_not_fit_move_to_hbm_and_back(void **state) {
  trn_program p = {.is_older = true};
  const int64_t half = trn2.memory.sbuf_bytes / 2 / 4096 * 4096;
  const int psum = tensor(&p, TRN_PSUM, 2048);
  int large[3];
  for (int i = 0; i < 3; i++) {
    large[i] = tensor(&p, TRN_SBUF, half);
    add(&p, TRN_MEMSET, TRN_VECTOR, half / 4, OPERANDS(out(part(large[i], 0, half / 4))));
  }
  for (int i = 0; i < 6; i++)
    add(&p, TRN_COPY, TRN_VECTOR, 512, OPERANDS(out(part(psum, 0, 512)), part(large[i % 3], 0, 512)));
  trn_timing t = timed(&p, trn_compiler_usual);
  const int64_t moved = 128 * half;
  assert_int_equal(t.spilled_bytes, t.hbm_read + t.hbm_written);
  assert_int_equal(t.hbm_written, 3 * moved);
  assert_int_equal(t.hbm_read, 3 * moved);
  assert_true(t.most_used[TRN_SBUF] <= trn2.memory.sbuf_bytes);
  trn_timing_free(&t);
  p.is_older = false;
  tw_error error;
  assert_int_equal(trn_time(&trn2, &p, &trn_compiler_usual, &t, &error), TW_FAILED);
  trn_program_free(&p);
}

/* Three loaded tiles of half of SBUF, read twice in turn: a tile that returns is loaded again, and nothing is stored. */
static void loaded_tiles_that_do_not_fit_are_loaded_again(void **state) {
  trn_program p = {.is_older = true};
  const int64_t half = trn2.memory.sbuf_bytes / 2 / 4096 * 4096;
  const int psum = tensor(&p, TRN_PSUM, 2048), hbm = tensor(&p, TRN_HBM, 128 * half);
  int large[3];
  for (int i = 0; i < 3; i++) {
    large[i] = tensor(&p, TRN_SBUF, half);
    add(&p, TRN_DMA, TRN_SYNC, half / 4, OPERANDS(out(part(large[i], 0, half / 4)), rows(hbm, 128, half / 4)));
  }
  for (int i = 0; i < 6; i++)
    add(&p, TRN_COPY, TRN_VECTOR, 512, OPERANDS(out(part(psum, 0, 512)), part(large[i % 3], 0, 512)));
  trn_compiler compiler = trn_compiler_usual;
  compiler.remove_loads = false;
  trn_timing t = timed(&p, compiler);
  assert_int_equal(t.spilled_bytes, 0);
  assert_int_equal(t.hbm_written, 0);
  assert_int_equal(t.hbm_read, (3 + 3) * 128 * half);
  trn_timing_free(&t);
  trn_program_free(&p);
}

/* [NKB] A kernel that fills tiles long before it reads them spills, although another order would fit. */
static void program_order_decides_what_spills(void **state) {
  enum { TILES = 64 };
  trn_program p = {.is_older = true};
  const int64_t bytes = trn2.memory.sbuf_bytes / 32;
  const int psum = tensor(&p, TRN_PSUM, 2048);
  int tile[TILES];
  for (int i = 0; i < TILES; i++) {
    tile[i] = tensor(&p, TRN_SBUF, bytes);
    add(&p, TRN_MEMSET, TRN_VECTOR, 512, OPERANDS(out(part(tile[i], 0, 512))));
  }
  for (int i = 0; i < TILES; i++)
    add(&p, TRN_COPY, TRN_VECTOR, 512, OPERANDS(out(part(psum, 0, 512)), part(tile[i], 0, 512)));
  const int scope = trn_program_add_scope(&p, &(trn_scope){0});
  for (size_t i = 0; i < p.n_instructions; i++) p.instruction[i].scope = scope;
  trn_timing t = timed(&p, trn_compiler_usual);
  const int64_t excess = 128 * (TILES - 32) * bytes;
  assert_true(t.spilled_bytes >= 2 * excess && t.spilled_bytes <= 4 * excess);
  assert_true(t.spilled.is_older);
  assert_true(t.most_used[TRN_SBUF] <= trn2.memory.sbuf_bytes);
  trn_timing_free(&t);
  tw_error error;
  p.is_older = false;
  assert_int_equal(trn_time(&trn2, &p, &trn_compiler_usual, &t, &error), TW_FAILED);
  trn_program_free(&p);
}

/* In the older dialect the traces of trn2 have an order that fits a look-ahead of eight. In the newer dialect neuronx-cc may
 * reorder all instructions: nl.no_reorder exists to forbid it (NKI documentation), and nine published gemms have the times
 * of loads in the order of need. A machine without hardware descriptors has static ones, which wait for their own data
 * alone. */
static void transfers_pass_those_that_wait(void **state) {
  trn_program p = {.is_older = true};
  enum { WAITING = 16 };
  const int slow = tensor(&p, TRN_SBUF, 65536), hbm = tensor(&p, TRN_HBM, 128 * 65536);
  add(&p, TRN_MEMSET, TRN_VECTOR, 16384, OPERANDS(out(part(slow, 0, 16384))));
  for (int i = 0; i < WAITING; i++)
    add(&p, TRN_DMA, TRN_SYNC, 1024,
        OPERANDS(out(rows(tensor(&p, TRN_HBM, 128 * 4096), 128, 1024)), part(slow, 1024 * i, 1024)));
  const int free_one =
      add(&p, TRN_DMA, TRN_SYNC, 1024, OPERANDS(out(part(tensor(&p, TRN_SBUF, 4096), 0, 1024)), rows(hbm, 128, 1024)));
  const double written = 16384 * trn2.vector.memset / 0.96;
  trn_compiler compiler = trn_compiler_usual;
  compiler.merge_iterations = false;
  trn_timing t = timed(&p, compiler);
  assert_true(t.start[free_one] > written); /* the eight transfers of the look-ahead wait */
  trn_timing_free(&t);
  p.is_older = false;
  t = timed(&p, compiler);
  assert_true(t.start[free_one] < written / 2);
  trn_timing_free(&t);
  compiler.schedule_program = false;
  t = timed(&p, compiler);
  assert_true(t.start[free_one] > written);
  trn_timing_free(&t);
  trn2.dma.hardware = false;
  t = timed(&p, compiler);
  trn2.dma.hardware = true;
  assert_true(t.start[free_one] == 0);
  trn_timing_free(&t);
  trn_program_free(&p);
}

/* kernel_14 of nki-autotune loads each operand of 1024 products into one tile. Its published time, 1366 us, is that of
 * its 2048 descriptors; with one place for the tile it would be 5384 us. */
static void a_tile_that_a_transfer_overwrites_gets_another_place(void **state) {
  trn_program p = {0};
  enum { LOADS = 4 };
  const int tile = tensor(&p, TRN_SBUF, 65536), sums = tensor(&p, TRN_SBUF, 64), hbm = tensor(&p, TRN_HBM, 128 * 65536);
  for (int i = 0; i < LOADS; i++) {
    add(&p, TRN_DMA, TRN_SYNC, 16384, OPERANDS(out(part(tile, 0, 16384)), rows(hbm, 128, 16384)));
    add(&p, TRN_REDUCE, TRN_VECTOR, 16384, OPERANDS(out(part(sums, i, 1)), part(tile, 0, 16384)));
  }
  trn_compiler compiler = trn_compiler_usual;
  compiler.remove_loads = false;
  trn_timing t = timed(&p, compiler);
  assert_true(t.start[2] < t.start[1] && t.start[4] < t.start[1]); /* SBUF has room for three tiles */
  assert_true(t.start[6] > t.end[1]);
  assert_true(t.most_used[TRN_SBUF] > 3 * 65536 && t.most_used[TRN_SBUF] <= trn2.memory.sbuf_bytes);
  trn_timing_free(&t);
  p.instruction[2].operand[0].size[0] /= 2; /* the other half stays */
  t = timed(&p, compiler);
  assert_true(t.start[2] > t.end[1]);
  trn_timing_free(&t);
  p.instruction[2].operand[0].size[0] *= 2;
  p.is_older = true;
  t = timed(&p, compiler);
  assert_true(t.start[2] > t.end[1]);
  trn_timing_free(&t);
  trn_program_free(&p);
}

/* "Prevent the scheduler from reordering operations in this region" (NKI documentation of nl.no_reorder), in both
 * dialects; instructions of different engines may overlap, and the end of a transfer is not awaited. */
static void an_engine_keeps_the_order_of_a_block_without_reordering(void **state) {
  const bool older[] = {false, true};
  for (size_t k = 0; k < 2; k++) {
    trn_program p = {.is_older = older[k]};
    int ready[4], t[4];
    const int slow = tensor(&p, TRN_SBUF, 65536), hbm = tensor(&p, TRN_HBM, 128 * 8192);
    for (int i = 0; i < 4; i++) ready[i] = tensor(&p, TRN_SBUF, 8192);
    add(&p, TRN_MEMSET, TRN_VECTOR, 16384, OPERANDS(out(part(slow, 0, 16384))));
    const int waits = add(&p, TRN_ACTIVATION, TRN_SCALAR, 64, OPERANDS(out(part(ready[0], 0, 64)), part(slow, 0, 64)));
    const int next = add(&p, TRN_ACTIVATION, TRN_SCALAR, 64, OPERANDS(out(part(ready[1], 0, 64))));
    const int beside = add(&p, TRN_MEMSET, TRN_GPSIMD, 64, OPERANDS(out(part(ready[2], 0, 64))));
    const int outside = add(&p, TRN_ACTIVATION, TRN_SCALAR, 64, OPERANDS(out(part(ready[3], 0, 64))));
    for (int i = 0; i < 4; i++)
      t[i] = add(&p, TRN_DMA, TRN_SYNC, 2048,
                 OPERANDS(out(part(tensor(&p, TRN_SBUF, 8192), 0, 2048)), rows(hbm, 128, 2048)));
    trn_compiler compiler = trn_compiler_usual;
    compiler.remove_loads = false;
    trn_timing free_order = timed(&p, compiler);
    assert_true(free_order.start[next] < free_order.start[waits]);
    const int block[] = {waits, next, beside, t[0], t[1]};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) p.instruction[block[i]].block = 1;
    p.instruction[t[2]].block = p.instruction[t[3]].block = 2;
    trn_timing kept = timed(&p, compiler);
    assert_true(kept.start[next] > kept.start[waits]);
    assert_true(kept.start[outside] < kept.start[waits] && kept.start[beside] < kept.start[waits]);
    assert_true(kept.start[t[1]] >= kept.start[t[0]] && kept.start[t[1]] < kept.end[t[0]]);
    trn_timing_free(&free_order);
    trn_timing_free(&kept);
    trn_program_free(&p);
  }
}

static void a_tensor_that_does_not_fit_is_named_with_its_line(void **state) {
  trn_program p = {0};
  tw_error error;
  trn_timing t;
  const int a = tensor(&p, TRN_SBUF, 4);
  int psum[9];
  for (int i = 0; i < 9; i++) {
    psum[i] = tensor(&p, TRN_PSUM, 2048);
    add(&p, TRN_MEMSET, TRN_VECTOR, 512, OPERANDS(out(part(psum[i], 0, 512))));
  }
  for (int i = 0; i < 8; i++) add(&p, TRN_REDUCE, TRN_VECTOR, 512, OPERANDS(out(part(a, 0, 1)), part(psum[i], 0, 512)));
  assert_int_equal(trn_time(&trn2, &p, &trn_compiler_usual, &t, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "line 19:"));
  assert_non_null(strstr(error.text, "PSUM"));
  assert_int_equal(trn_time(&trn2, &p, &trn_compiler_none, &t, &error), TW_OK); /* without addresses */
  trn_timing_free(&t);
  /* in the older dialect one of nine tensors makes room for the ninth; none is read after it returns */
  p.is_older = true;
  t = timed(&p, trn_compiler_usual);
  assert_int_equal(t.spilled_bytes, 2 * 128 * 2048);
  assert_int_equal(t.spilled.n_instructions, p.n_instructions + 2);
  trn_timing_free(&t);
  p.is_older = false;
  trn_program_free(&p);
  const int large = tensor(&p, TRN_SBUF, trn2.memory.sbuf_bytes + 4);
  add(&p, TRN_MEMSET, TRN_VECTOR, 512, OPERANDS(out(part(large, 0, 512))));
  assert_int_equal(trn_time(&trn2, &p, &trn_compiler_usual, &t, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "line 10:"));
  trn_program_free(&p);
}

/* Tiles of 2048 bytes of PSUM in turn: Vector writes one, Scalar reads it. */
static void tiles_in_turn(trn_program *p, int n) {
  const int a = tensor(p, TRN_SBUF, 4);
  for (int i = 0; i < n; i++) {
    const int tile = tensor(p, TRN_PSUM, 2048);
    add(p, TRN_MEMSET, TRN_VECTOR, 64, OPERANDS(out(part(tile, 0, 64))));
    add(p, TRN_COPY, TRN_SCALAR, 4096, OPERANDS(out(part(a, 0, 1)), part(tile, 0, 512)));
  }
}

static void bytes_that_are_used_again_wait_for_their_last_reader(void **state) {
  trn_program p = {0};
  tiles_in_turn(&p, 20);
  const trn_compiler addresses = {.allocate = true, .look_ahead = 1};
  trn_timing t = timed(&p, addresses);
  assert_int_equal(t.most_used[TRN_PSUM], 8 * 2048);
  int64_t used = 0, n = 0;
  for (size_t k = 0; k < t.n_changes; k++) { /* a tile takes its bank, then frees it */
    assert_true(!k || t.change[k].at >= t.change[k - 1].at);
    if (t.change[k].memory != TRN_PSUM) continue;
    used += t.change[k].bytes;
    n++;
    assert_true(used >= 0);
  }
  assert_true(n == 40 && used == 0);
  for (int i = 0; i < 20; i++) {
    if (i < 8) assert_true(t.start[2 * i] < t.end[1]);
    /* The ninth tile has the bytes of the first. */
    if (i >= 8) assert_true(t.start[2 * i] >= t.end[2 * (i - 8) + 1] + trn2.sync.handoff_ns - 0.5);
  }
  trn_timing_free(&t);
  t = timed(&p, trn_compiler_none); /* without addresses Vector never waits */
  assert_true(t.start[38] < t.end[3]);
  trn_timing_free(&t);
  trn_program_free(&p);
}

static void look_ahead_takes_what_is_ready(void **state) {
  trn_program p = {0};
  const int hbm = tensor(&p, TRN_HBM, 128 * 2048), a = tensor(&p, TRN_SBUF, 2048), b = tensor(&p, TRN_SBUF, 2048),
            c = tensor(&p, TRN_SBUF, 2048);
  add(&p, TRN_DMA, TRN_SYNC, 512, OPERANDS(out(part(a, 0, 512)), rows(hbm, 128, 512)));
  add(&p, TRN_REDUCE, TRN_VECTOR, 512, OPERANDS(out(part(c, 0, 1)), part(a, 0, 512)));
  add(&p, TRN_REDUCE, TRN_VECTOR, 512, OPERANDS(out(part(c, 1, 1)), part(b, 0, 512)));
  trn_timing t = timed(&p, trn_compiler_none);
  assert_true(t.start[2] > t.start[1]);
  const double in_order = t.device;
  trn_timing_free(&t);
  t = timed(&p, (trn_compiler){.look_ahead = 2});
  assert_true(t.start[2] < t.start[1]);
  assert_true(t.device < in_order - 500);
  trn_timing_free(&t);
  trn_program_free(&p);
}

static void copies_that_need_not_be_are_removed(void **state) {
  trn_program p = {0};
  const int psum = tensor(&p, TRN_PSUM, 2048), copy = tensor(&p, TRN_SBUF, 2048), sum = tensor(&p, TRN_SBUF, 4),
            cast = tensor(&p, TRN_SBUF, 1024);
  add(&p, TRN_MEMSET, TRN_VECTOR, 512, OPERANDS(out(part(psum, 0, 512))));
  add(&p, TRN_COPY, TRN_SCALAR, 512, OPERANDS(out(part(copy, 0, 512)), part(psum, 0, 512)));
  add(&p, TRN_REDUCE, TRN_VECTOR, 512, OPERANDS(out(part(sum, 0, 1)), part(copy, 0, 512)));
  trn_region narrow = out(part(cast, 0, 512));
  narrow.type = TW_BF16;
  narrow.stride[0] = 2;
  add(&p, TRN_COPY, TRN_SCALAR, 512, OPERANDS(narrow, part(psum, 0, 512)));
  trn_timing t = timed(&p, (trn_compiler){.remove_copies = true, .look_ahead = 1});
  assert_int_equal(t.copies_removed, 1);
  near(t.start[2], t.end[0] + trn2.sync.handoff_ns);
  trn_timing_free(&t);
  /* The array reads SBUF only. */
  const int result = tensor(&p, TRN_PSUM, 2048);
  matmul(&p, result, copy, copy, TW_F32);
  t = timed(&p, (trn_compiler){.remove_copies = true, .look_ahead = 1});
  assert_int_equal(t.copies_removed, 0);
  trn_timing_free(&t);
  trn_program_free(&p);
}

/* A product is read from PSUM beside an operand in SBUF, and a row that was broadcast by a product if it has one reader. */
static void readers_read_psum_beside_an_operand_in_sbuf(void **state) {
  for (int readers = 1; readers <= 2; readers++)
    for (int is_spread = 0; is_spread < 2; is_spread++) {
      trn_program p = {0};
      const int psum = tensor(&p, TRN_PSUM, 2048), row = tensor(&p, TRN_SBUF, 2048), a = tensor(&p, TRN_SBUF, 2048),
                product = tensor(&p, TRN_SBUF, 2048);
      matmul(&p, psum, a, a, TW_F32);
      const int copy = add(&p, TRN_COPY, TRN_SCALAR, 512, OPERANDS(out(part(row, 0, 512)), part(psum, 0, 512)));
      p.instruction[copy].is_spread = is_spread;
      for (int i = 0; i < readers; i++)
        add(&p, TRN_TENSOR_TENSOR, TRN_VECTOR, 512,
            OPERANDS(out(part(product, 0, 512)), part(a, 0, 512), part(row, 0, 512)));
      trn_timing t = timed(&p, (trn_compiler){.remove_copies = true, .look_ahead = 1});
      assert_int_equal(t.copies_removed, !is_spread || readers == 1);
      trn_timing_free(&t);
      trn_program_free(&p);
    }
}

/* Four iterations that multiply the same tiles, each for a sum of its own. They are iterations of one loop, or each of
 * a run of its own, as in an outer loop. */
static trn_program products(bool is_innermost) {
  trn_program p = {.is_older = true};
  const int a = tensor(&p, TRN_SBUF, 2048), b = tensor(&p, TRN_SBUF, 2048), sum = tensor(&p, TRN_SBUF, 16);
  for (int i = 0; i < 4; i++) {
    const int product = tensor(&p, TRN_SBUF, 2048);
    const int scope = trn_program_add_scope(&p, &(trn_scope){0, is_innermost ? 1 : 1 + i, i, 10});
    const int first = add(&p, TRN_TENSOR_TENSOR, TRN_VECTOR, 512,
                          OPERANDS(out(part(product, 0, 512)), part(a, 0, 512), part(b, 0, 512)));
    add(&p, TRN_REDUCE, TRN_VECTOR, 512, OPERANDS(out(part(sum, i, 1)), part(product, 0, 512)));
    for (int k = 0; k < 2; k++) {
      p.instruction[first + k].line = 50 + k;
      p.instruction[first + k].scope = scope;
    }
  }
  return p;
}

static void a_product_that_each_iteration_repeats_is_computed_once(void **state) {
  const trn_compiler removes = {.remove_copies = true, .look_ahead = 1};
  trn_program p = products(true);
  trn_timing t = timed(&p, removes);
  assert_int_equal(t.copies_removed, 3);
  near(t.start[3], t.start[1] + (512 + 60) / 0.96); /* the second sum reads the first product */
  trn_timing_free(&t);
  p.is_older = false; /* the compiler of the newer dialect changes no loop */
  t = timed(&p, removes);
  assert_int_equal(t.copies_removed, 0);
  trn_timing_free(&t);
  p.is_older = true;
  p.instruction[4].operand[2].offset = 4; /* the third product has other factors than the second and the fourth */
  p.instruction[4].operand[2].size[0] = 511;
  t = timed(&p, removes);
  assert_int_equal(t.copies_removed, 1);
  trn_timing_free(&t);
  add(&p, TRN_MEMSET, TRN_VECTOR, 1, OPERANDS(out(part(0, 0, 1)))); /* a factor changes */
  t = timed(&p, removes);
  assert_int_equal(t.copies_removed, 0);
  trn_timing_free(&t);
  trn_program_free(&p);
  p = products(false);
  t = timed(&p, removes);
  assert_int_equal(t.copies_removed, 0);
  trn_timing_free(&t);
  trn_program_free(&p);
}

/* Operands of an instruction start at one partition: a copy to other partitions is needed. */
static void a_copy_to_other_partitions_stays(void **state) {
  trn_program p = {0};
  const int a = tensor(&p, TRN_SBUF, 2048), copy = tensor(&p, TRN_SBUF, 2048), sum = tensor(&p, TRN_SBUF, 4);
  trn_region to = out(part(copy, 0, 512)), from = part(a, 0, 512), again = part(copy, 0, 512);
  to.partitions = from.partitions = again.partitions = 64;
  add(&p, TRN_COPY, TRN_SCALAR, 512, OPERANDS(to, from));
  add(&p, TRN_REDUCE, TRN_VECTOR, 512, OPERANDS(out(part(sum, 0, 1)), again));
  for (int first = 0; first <= 64; first += 64) {
    p.instruction[0].operand[1].first_partition = first;
    trn_timing t = timed(&p, (trn_compiler){.remove_copies = true, .look_ahead = 1});
    assert_int_equal(t.copies_removed, first == 0);
    trn_timing_free(&t);
  }
  trn_program_free(&p);
}

/* [NKB] On a trn1, profiles show no instruction of GpSimd that the source does not ask for. A reciprocal of 64 elements or
 * more is eight times faster on Scalar (NKI documentation), and Scalar's busy times in two profiles contain it. */
static void shared_ports_decide_engines_of_the_older_dialect(void **state) {
  trn_program p = {.is_older = true};
  const int a = tensor(&p, TRN_SBUF, 2048), b = tensor(&p, TRN_SBUF, 2048);
  for (int i = 0; i < 4; i++)
    add(&p, TRN_TENSOR_TENSOR, TRN_ENGINE_ANY, 512,
        OPERANDS(out(part(tensor(&p, TRN_SBUF, 2048), 0, 512)), part(a, 0, 512), part(b, 0, 512)));
  add(&p, TRN_RECIPROCAL, TRN_ENGINE_ANY, 63, OPERANDS(out(part(tensor(&p, TRN_SBUF, 2048), 0, 63)), part(a, 0, 63)));
  add(&p, TRN_RECIPROCAL, TRN_ENGINE_ANY, 64, OPERANDS(out(part(tensor(&p, TRN_SBUF, 2048), 0, 64)), part(a, 0, 64)));
  trn_timing t = timed(&p, trn_compiler_usual);
  assert_true(t.busy[TRN_GPSIMD] > 0);
  assert_true(t.busy[TRN_SCALAR] == 0);
  trn_timing_free(&t);
  trn2.gpsimd.shares_port = true;
  t = timed(&p, trn_compiler_usual);
  trn2.gpsimd.shares_port = false;
  assert_true(t.busy[TRN_GPSIMD] == 0);
  near(t.busy[TRN_VECTOR], 4 * (512 + 60) / 0.96 + (63 * trn2.vector.reciprocal + 60) / 0.96);
  near(t.busy[TRN_SCALAR], 64 / 1.2 + trn2.scalar.sbuf_ns);
  trn_timing_free(&t);
  trn_program_free(&p);
}

static void each_slice_of_a_copied_tensor_is_judged_alone(void **state) {
  trn_program p = {0};
  const int first = tensor(&p, TRN_PSUM, 2048), second = tensor(&p, TRN_PSUM, 2048), copy = tensor(&p, TRN_SBUF, 4096),
            sum = tensor(&p, TRN_SBUF, 8);
  add(&p, TRN_MEMSET, TRN_VECTOR, 512, OPERANDS(out(part(first, 0, 512))));
  add(&p, TRN_MEMSET, TRN_VECTOR, 512, OPERANDS(out(part(second, 0, 512))));
  add(&p, TRN_COPY, TRN_SCALAR, 512, OPERANDS(out(part(copy, 0, 512)), part(first, 0, 512)));
  add(&p, TRN_COPY, TRN_SCALAR, 512, OPERANDS(out(part(copy, 512, 512)), part(second, 0, 512)));
  add(&p, TRN_REDUCE, TRN_VECTOR, 512, OPERANDS(out(part(sum, 0, 1)), part(copy, 0, 512)));
  add(&p, TRN_REDUCE, TRN_VECTOR, 512, OPERANDS(out(part(sum, 1, 1)), part(copy, 512, 512)));
  const trn_compiler removes = {.remove_copies = true, .look_ahead = 1};
  trn_timing t = timed(&p, removes);
  assert_int_equal(t.copies_removed, 2);
  trn_timing_free(&t);
  add(&p, TRN_REDUCE, TRN_VECTOR, 2, OPERANDS(out(part(sum, 0, 1)), part(copy, 511, 2))); /* of both */
  t = timed(&p, removes);
  assert_int_equal(t.copies_removed, 0);
  trn_timing_free(&t);
  p.n_instructions--;
  add(&p, TRN_MEMSET, TRN_VECTOR, 1, OPERANDS(out(part(second, 5, 1)))); /* the source changes */
  t = timed(&p, removes);
  assert_int_equal(t.copies_removed, 1);
  trn_timing_free(&t);
  trn_program_free(&p);
}

static void small_instructions_of_iterations_become_one(void **state) {
  trn_program p = {.is_older = true};
  const int a = tensor(&p, TRN_SBUF, 2048);
  int sum[4], result[4];
  for (int i = 0; i < 4; i++) {
    sum[i] = tensor(&p, TRN_SBUF, 4);
    result[i] = tensor(&p, TRN_SBUF, 4);
    add(&p, TRN_REDUCE, TRN_VECTOR, 512, OPERANDS(out(part(sum[i], 0, 1)), part(a, 0, 512)));
    add(&p, TRN_RECIPROCAL, TRN_VECTOR, 1, OPERANDS(out(part(result[i], 0, 1)), part(sum[i], 0, 1)));
    p.instruction[2 * i].line = 1;
    p.instruction[2 * i + 1].line = 2;
  }
  const trn_compiler merges = {.merge_iterations = true, .look_ahead = 1};
  trn_timing t = timed(&p, merges);
  /* One reciprocal of four elements, after the last reduction. */
  for (int i = 0; i < 4; i++) near(t.start[2 * i + 1], t.end[6] + trn2.sync.handoff_ns);
  near(t.end[1] - t.start[1], (4 * 6 + 60) / 0.96 + trn2.vector.done_ns);
  trn_timing_free(&t);
  /* An iteration that needs the one before stays by itself. */
  for (int i = 1; i < 4; i++) {
    trn_instruction *in = &p.instruction[2 * i];
    in->operand[2] = part(result[i - 1], 0, 1);
    in->n_operands = 3;
  }
  t = timed(&p, merges);
  for (int i = 1; i < 4; i++) assert_true(t.start[2 * i + 1] > t.end[2 * i - 1]);
  trn_timing_free(&t);
  trn_program_free(&p);
}

/* Busy time of Vector for `n` iterations of a loop with products of `width` elements, `step` apart in one tensor. */
static double busy_of_products(int n, int width, int step) {
  trn_program p = {.is_older = true};
  const int image = tensor(&p, TRN_SBUF, 4 * (n * step + width)), factor = tensor(&p, TRN_SBUF, 4 * n * width);
  for (int i = 0; i < n; i++) {
    const int product = tensor(&p, TRN_SBUF, 4 * width);
    add(&p, TRN_TENSOR_TENSOR, TRN_VECTOR, width,
        OPERANDS(out(part(product, 0, width)), part(image, i * step, width), part(factor, i * width, width)));
    p.instruction[i].line = 1;
    p.instruction[i].scope = trn_program_add_scope(&p, &(trn_scope){.loop = 1, .iteration = i});
  }
  trn_timing t = timed(&p, (trn_compiler){.merge_iterations = true, .look_ahead = 1});
  const double busy = t.busy[TRN_VECTOR];
  trn_timing_free(&t);
  trn_program_free(&p);
  return busy;
}

static void windows_become_one_instruction_if_the_loop_fits(void **state) {
  near(busy_of_products(128, 3, 1), (128 * 3 + 60) / 0.96);
  near(busy_of_products(256, 3, 1), 256 * (3 + 60) / 0.96);
  near(busy_of_products(1024, 3, 3), (1024 * 3 + 7 * 60) / 0.96); /* 170 iterations an instruction: neighbours */
}

/* Nine stores of 128 columns: 4096 bytes of each partition are one transfer. Columns that are neighbours make long packets. */
static void small_transfers_of_iterations_become_one(void **state) {
  for (int apart = 0; apart < 2; apart++) {
    trn_program p = {.is_older = true};
    const int hbm = tensor(&p, TRN_HBM, 128 * 4 * 9 * 256), a = tensor(&p, TRN_SBUF, 9 * 512);
    add(&p, TRN_MEMSET, TRN_VECTOR, 9 * 128, OPERANDS(out(part(a, 0, 9 * 128))));
    for (int i = 0; i < 9; i++) {
      trn_region to = rows(hbm, 128, 128);
      to.stride[0] = 4 * 9 * 256;
      to.offset = (int64_t)i * 4 * (apart ? 256 : 128);
      add(&p, TRN_DMA, TRN_SYNC, 128, OPERANDS(out(to), part(a, 128 * i, 128)));
      p.instruction[1 + i].line = 1;
    }
    const trn_compiler merges = {.merge_iterations = true, .static_dma = true, .look_ahead = 1};
    trn_timing t = timed(&p, merges), alone = timed(&p, (trn_compiler){.static_dma = true, .look_ahead = 1});
    for (int i = 1; i < 8; i++) near(t.end[1 + i], t.end[1]);
    assert_true(t.end[9] > t.end[1] && t.hbm_written == alone.hbm_written);
    near(alone.dma_busy, 9 * 8 * (trn2.dma.packet_ns + 512 / trn2.dma.engine_gbs));
    if (apart)
      near(t.dma_busy, alone.dma_busy);
    else
      near(t.dma_busy, 8 * (2 * trn2.dma.packet_ns + 9 * 512 / trn2.dma.engine_gbs));
    trn_timing_free(&t);
    trn_timing_free(&alone);
    trn_program_free(&p);
  }
}

static void what_is_in_sbuf_is_not_loaded_again(void **state) {
  trn_program p = {0};
  const int hbm = tensor(&p, TRN_HBM, 128 * 2048), sum = tensor(&p, TRN_SBUF, 8);
  int tile[2];
  for (int i = 0; i < 2; i++) {
    tile[i] = tensor(&p, TRN_SBUF, 2048);
    add(&p, TRN_DMA, TRN_SYNC, 512, OPERANDS(out(part(tile[i], 0, 512)), rows(hbm, 128, 512)));
    add(&p, TRN_REDUCE, TRN_VECTOR, 512, OPERANDS(out(part(sum, i, 1)), part(tile[i], 0, 512)));
  }
  const trn_compiler removes = {.remove_loads = true, .allocate = true, .look_ahead = 1};
  trn_timing t = timed(&p, removes);
  assert_int_equal(t.loads_removed, 1);
  assert_int_equal(t.hbm_read, 128 * 2048);
  near(t.start[3] - t.start[1], (512 + 60) / 0.96);
  trn_timing_free(&t);
  /* Other rows, a tile that changes, a matrix that the kernel writes. */
  p.instruction[2].operand[1].offset = 4;
  t = timed(&p, removes);
  assert_int_equal(t.loads_removed, 0);
  trn_timing_free(&t);
  p.instruction[2].operand[1].offset = 0;
  add(&p, TRN_MEMSET, TRN_VECTOR, 1, OPERANDS(out(part(tile[0], 0, 1))));
  t = timed(&p, removes);
  assert_int_equal(t.loads_removed, 0);
  trn_timing_free(&t);
  p.n_instructions--;
  add(&p, TRN_DMA, TRN_SYNC, 512, OPERANDS(out(rows(hbm, 128, 512)), part(tile[0], 0, 512)));
  t = timed(&p, removes);
  assert_int_equal(t.loads_removed, 0);
  trn_timing_free(&t);
  trn_program_free(&p);
}

/* Loads `tensors` of `tiles` tiles of 4096 bytes of a partition in turn, twice; each load has a tile of its own. */
static trn_timing passes(int tensors, int tiles) {
  trn_program p = {0};
  const int psum = tensor(&p, TRN_PSUM, 2048);
  int hbm[2];
  for (int i = 0; i < tensors; i++) hbm[i] = tensor(&p, TRN_HBM, (int64_t)128 * 4096 * tiles);
  for (int pass = 0; pass < 2; pass++)
    for (int k = 0; k < tensors * tiles; k++) {
      const int tile = tensor(&p, TRN_SBUF, 4096);
      trn_region from = rows(hbm[k / tiles], 128, 1024);
      from.offset = (int64_t)128 * 4096 * (k % tiles);
      add(&p, TRN_DMA, TRN_SYNC, 1024, OPERANDS(out(part(tile, 0, 1024)), from));
      add(&p, TRN_COPY, TRN_VECTOR, 512, OPERANDS(out(part(psum, 0, 512)), part(tile, 0, 512)));
    }
  trn_timing t = timed(&p, (trn_compiler){.remove_loads = true, .allocate = true, .look_ahead = 1});
  trn_program_free(&p);
  return t;
}

static void operands_that_a_loop_loads_again_stay_as_far_as_they_fit(void **state) {
  const int most = (int)(trn2.memory.sbuf_bytes / 4096 * 3 / 4);
  trn_timing t = passes(2, most * 3 / 4); /* each fits, but not both */
  assert_in_range(t.loads_removed, most / 2, most);
  assert_int_equal(t.hbm_read, (int64_t)128 * 4096 * (4 * (most * 3 / 4) - (int)t.loads_removed));
  trn_timing_free(&t);
  t = passes(1, most * 3 / 2); /* does not fit: a profile of transpose_matmul reads all of it in each pass */
  assert_int_equal(t.loads_removed, 0);
  trn_timing_free(&t);
}

static void what_is_needed_first_is_loaded_first(void **state) {
  trn_program p = {0};
  const int hbm = tensor(&p, TRN_HBM, 128 * 2048), a = tensor(&p, TRN_SBUF, 2048), b = tensor(&p, TRN_SBUF, 2048),
            sum = tensor(&p, TRN_SBUF, 8);
  add(&p, TRN_DMA, TRN_SYNC, 512, OPERANDS(out(part(a, 0, 512)), rows(hbm, 128, 512)));
  add(&p, TRN_DMA, TRN_SYNC, 512, OPERANDS(out(part(b, 0, 512)), rows(hbm, 128, 512)));
  add(&p, TRN_REDUCE, TRN_VECTOR, 512, OPERANDS(out(part(sum, 0, 1)), part(b, 0, 512)));
  add(&p, TRN_REDUCE, TRN_VECTOR, 512, OPERANDS(out(part(sum, 1, 1)), part(a, 0, 512)));
  trn_timing t = timed(&p, (trn_compiler){.look_ahead = 2});
  assert_true(t.start[1] < t.start[0]);
  trn_timing_free(&t);
  trn_program_free(&p);
}

static void arguments_have_software_descriptors(void **state) {
  trn_program p = {0};
  const int hbm = tensor(&p, TRN_HBM, 128 * 4096), sbuf = tensor(&p, TRN_SBUF, 4096);
  add(&p, TRN_DMA, TRN_SYNC, 1024, OPERANDS(out(part(sbuf, 0, 1024)), rows(hbm, 128, 1024)));
  p.tensor[hbm].is_argument = true;
  trn_timing t = timed(&p, trn_compiler_usual);
  near(t.start[0], trn2.dma.software_prepare_ns);
  trn_timing_free(&t);
  p.tensor[hbm].is_argument = false;
  t = timed(&p, trn_compiler_usual);
  near(t.start[0], 0);
  trn_timing_free(&t);
  trn_program_free(&p);
}

static void the_engine_that_is_free_first_takes_what_several_can(void **state) {
  trn_program p = {0};
  const int a = tensor(&p, TRN_SBUF, 2048), b = tensor(&p, TRN_SBUF, 8 * 2048);
  for (int i = 0; i < 8; i++)
    add(&p, TRN_COPY, TRN_ENGINE_ANY, 512, OPERANDS(out(part(b, 512 * i, 512)), part(a, 0, 512)));
  trn_timing t = timed(&p, trn_compiler_none);
  assert_true(t.busy[TRN_VECTOR] > 0 && t.busy[TRN_SCALAR] == 0);
  const double one = t.device;
  trn_timing_free(&t);
  t = timed(&p, (trn_compiler){.choose_engines = true, .look_ahead = 1});
  assert_true(t.busy[TRN_SCALAR] > 0 && t.device < 0.8 * one);
  trn_timing_free(&t);
  trn_program_free(&p);
}

static void waits_of_a_trace_replace_regions(void **state) {
  trn_program p = {0};
  const int a = tensor(&p, TRN_SBUF, 2048), b = tensor(&p, TRN_SBUF, 2048), c = tensor(&p, TRN_SBUF, 2048);
  int wait[] = {0, 1};
  add(&p, TRN_COPY, TRN_VECTOR, 512, OPERANDS(out(part(b, 0, 512)), part(a, 0, 512)));
  add(&p, TRN_COPY, TRN_SCALAR, 512, OPERANDS(out(part(c, 0, 512)), part(b, 0, 512)));
  add(&p, TRN_REDUCE, TRN_GPSIMD, 512, OPERANDS(out(part(a, 0, 1)), part(c, 0, 512)));
  p.wait = wait;
  for (int i = 0; i < 3; i++) p.instruction[i].first_wait = 0;
  p.instruction[2].n_waits = 2;
  trn_timing t = timed(&p, trn_compiler_none);
  near(t.start[1], 0);
  /* Two producers: the first is a wait of its own. */
  near(t.start[2], fmax(t.end[1], t.end[0] + trn2.sync.wait_gpsimd_ns) + trn2.sync.handoff_ns);
  trn_timing_free(&t);
  tw_error error;
  wait[1] = 2;
  p.instruction[1].n_waits = 2;
  p.instruction[2].n_waits = 1;
  p.instruction[2].first_wait = 0;
  wait[0] = 1;
  assert_int_equal(trn_time(&trn2, &p, &trn_compiler_none, &t, &error), TW_FAILED); /* a circle */
  p.wait = NULL;
  trn_program_free(&p);
}

static tw_status parse(const char *text, const char *origin, trn_config *out, tw_error *error) {
  return tw_config_read(&trn_config_schema, text, origin, NULL, out, NULL, error);
}

static void machine_files_are_complete_or_rejected_with_the_line(void **state) {
  trn_config c;
  tw_error error;
  assert_int_equal(trn_config_load("trn1", &c, &error), TW_OK);
  assert_false(c.dma.hardware);
  assert_int_equal(trn_config_load("trn9", &c, &error), TW_USAGE);
  assert_int_equal(parse("name = x\n[memory]\n", "f", &c, &error), TW_USAGE); /* keys of the machine are missing */
  assert_non_null(strstr(error.text, "f:2"));
  static const char machine[] = "name = x\nsummary = s\nerror = 0\nerror_of = e\nlaunch_ns = 1\n";
  char text[256];
  snprintf(text, sizeof text, "%s[memry]\n", machine);
  assert_int_equal(parse(text, "f", &c, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "f:6"));
  assert_int_equal(parse(machine, "f", &c, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "[memory]"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(machine_files_are_complete_or_rejected_with_the_line),
      cmocka_unit_test(dependent_instructions_follow_each_other_after_the_semaphore),
      cmocka_unit_test(engines_run_in_parallel_and_slices_do_not_depend_on_each_other),
      cmocka_unit_test(vector_and_gpsimd_take_turns_in_sbuf_if_they_share_a_port),
      cmocka_unit_test(an_engine_issues_before_the_instruction_before_is_complete),
      cmocka_unit_test(transfers_take_their_packets_over_sixteen_engines),
      cmocka_unit_test(software_descriptors_join_rows_that_are_neighbours),
      cmocka_unit_test(the_array_runs_at_half_rate_until_a_window_was_busy),
      cmocka_unit_test(f32_multiplies_twice_at_half_speed),
      cmocka_unit_test(a_change_of_function_loads_a_table),
      cmocka_unit_test(tensors_that_do_not_fit_move_to_hbm_and_back),
      cmocka_unit_test(loaded_tiles_that_do_not_fit_are_loaded_again),
      cmocka_unit_test(program_order_decides_what_spills),
      cmocka_unit_test(transfers_pass_those_that_wait),
      cmocka_unit_test(a_tile_that_a_transfer_overwrites_gets_another_place),
      cmocka_unit_test(an_engine_keeps_the_order_of_a_block_without_reordering),
      cmocka_unit_test(a_tensor_that_does_not_fit_is_named_with_its_line),
      cmocka_unit_test(bytes_that_are_used_again_wait_for_their_last_reader),
      cmocka_unit_test(look_ahead_takes_what_is_ready),
      cmocka_unit_test(copies_that_need_not_be_are_removed),
      cmocka_unit_test(readers_read_psum_beside_an_operand_in_sbuf),
      cmocka_unit_test(a_copy_to_other_partitions_stays),
      cmocka_unit_test(shared_ports_decide_engines_of_the_older_dialect),
      cmocka_unit_test(a_product_that_each_iteration_repeats_is_computed_once),
      cmocka_unit_test(each_slice_of_a_copied_tensor_is_judged_alone),
      cmocka_unit_test(small_instructions_of_iterations_become_one),
      cmocka_unit_test(windows_become_one_instruction_if_the_loop_fits),
      cmocka_unit_test(small_transfers_of_iterations_become_one),
      cmocka_unit_test(what_is_in_sbuf_is_not_loaded_again),
      cmocka_unit_test(operands_that_a_loop_loads_again_stay_as_far_as_they_fit),
      cmocka_unit_test(what_is_needed_first_is_loaded_first),
      cmocka_unit_test(arguments_have_software_descriptors),
      cmocka_unit_test(the_engine_that_is_free_first_takes_what_several_can),
      cmocka_unit_test(waits_of_a_trace_replace_regions),
  };
  return cmocka_run_group_tests(tests, load, NULL);
}
