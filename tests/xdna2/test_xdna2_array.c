/* The array simulator moves every byte as its descriptors say, computes what cores compute, and refuses what the
 * hardware would not do, with the tile and the number. */
#include "test.h"

#include <stdio.h>

#include "target/xdna2/array/walk.h"
#include "xdna2_array.h"

static xd_config machine;

static int setup(void **state) {
  machine = machine_config();
  return 0;
}

static xd_run_result must_run(const xd_program *p, void *const external[]) {
  xd_run_result r;
  tw_error error;
  const xd_run_options options = {.timing_only = !external, .cost = analytic_cost(&machine), .external = external};
  if (xd_run(&machine, p, &options, &r, &error) != TW_OK) fail_msg("%s", error.text);
  return r;
}

/* ---- moving ---- */

static void a_pattern_is_walked_from_anywhere(void **state) {
  const xd_pattern p = {2, 3, {{4, 1, 0, 0}, {3, 10, 1, 1}, {2, 40, 0, 1}}};
  uint8_t memory[128], whole[60], expected[60] = {0};
  for (int i = 0; i < 128; i++) memory[i] = (uint8_t)i;
  assert_int_equal(xd_pattern_bytes(&p), 60);
  for (int outer = 0; outer < 2; outer++) /* the third, and first and last of each five, are padding */
    for (int inner = 0; inner < 3; inner++)
      for (int i = 0; i < 4; i++)
        expected[outer * 20 + (inner + 1) * 4 + i] = (uint8_t)(2 + outer * 40 + inner * 10 + i);
  xd_walk_read(&p, 0, memory, 0, 60, whole);
  assert_memory_equal(whole, expected, 60);
  for (int64_t from = 0; from < 60; from++)
    for (int64_t n = 0; from + n <= 60; n++) {
      uint8_t part[60];
      xd_walk_read(&p, 0, memory, from, n, part);
      assert_memory_equal(part, expected + from, (size_t)n);
    }
}

static void writing_undoes_reading(void **state) {
  const xd_pattern p = {0, 4, {{8, 1, 0, 0}, {8, 32, 0, 0}, {4, 8, 0, 0}, {2, 256, 0, 0}}};
  uint8_t from[512], stream[512], to[512] = {0};
  for (int i = 0; i < 512; i++) from[i] = (uint8_t)(i * 7 + i / 256);
  xd_walk_read(&p, 0, from, 0, 512, stream);
  assert_memory_not_equal(stream, from, 512);
  for (int64_t at = 0; at < 512; at += 24) xd_walk_write(&p, 0, to, at, at + 24 < 512 ? 24 : 512 - at, stream + at);
  assert_memory_equal(to, from, 512);
}

static void objects_are_split_and_joined(void **state) {
  xd_program p = {0};
  tw_error error;
  const int in = add_external(&p, "in", 96), out = add_external(&p, "out", 96);
  const xd_place other_memory = {1, 1}, other_shim = {1, 0};
  add_fifo(&p, "whole", 24, small_shim, small_memory, 2);
  add_fifo(&p, "low", 8, small_memory, other_memory, 2);
  add_fifo(&p, "high", 16, small_memory, other_memory, 2);
  add_fifo(&p, "swapped", 24, other_memory, other_shim, 2);
  const xd_link split = {.n_in = 1, .in = {0}, .n_out = 2, .out = {1, 2}, .offset = {0, 8}},
                join = {.n_in = 2, .in = {1, 2}, .n_out = 1, .out = {3}, .offset = {16, 0}};
  XD_ADD(&p, links, &split);
  XD_ADD(&p, links, &join);
  if (xd_lower(&machine, &p, &error) != TW_OK) fail_msg("%s", error.text);
  add_task(&p, p.fifos.at[3].sink[0], out, xd_linear(0, 96), true);
  add_task(&p, p.fifos.at[0].source, in, xd_linear(0, 96), false);
  add_await(&p, p.fifos.at[3].sink[0]);
  if (xd_number_descriptors(&machine, &p, &error) != TW_OK || xd_check(&machine, &p, &error) != TW_OK)
    fail_msg("%s", error.text);
  uint8_t from[96], to[96] = {0};
  for (int i = 0; i < 96; i++) from[i] = (uint8_t)(i + 1);
  must_run(&p, (void *[]){from, to});
  /* a joined object leaves part by part, in the order of its FIFOs: low, then high */
  assert_memory_equal(to, from, 96);
  xd_program_free(&p);
}

/* ---- computing ---- */

static void a_core_multiplies(void **state) {
  xd_program p = small_gemm(&machine);
  tw_error error;
  int8_t a[SMALL_M][SMALL_K], b[SMALL_K][SMALL_N];
  int32_t c[SMALL_M][SMALL_N];
  for (int i = 0; i < SMALL_A; i++) a[i / SMALL_K][i % SMALL_K] = (int8_t)(i * 37 + 11);
  for (int i = 0; i < SMALL_B; i++) b[i / SMALL_N][i % SMALL_N] = (int8_t)(i * 91 - 5);
  memset(c, 0xA5, sizeof c);
  if (small_lower(&machine, &p, &error) != TW_OK) fail_msg("%s", error.text);
  const xd_run_result with_data = must_run(&p, (void *[]){a, b, c});
  for (int i = 0; i < SMALL_M; i++)
    for (int j = 0; j < SMALL_N; j++) {
      int32_t sum = 0;
      for (int k = 0; k < SMALL_K; k++) sum += a[i][k] * b[k][j];
      assert_int_equal(c[i][j], sum);
    }
  const xd_run_result timing = must_run(&p, NULL);
  assert_memory_equal(&with_data, &timing, sizeof timing); /* the same events at the same times */
  assert_int_equal(timing.calls, 4); /* two products, each tile zeroed; the core is ahead by one tile */
  assert_true(timing.read_bytes == SMALL_A + SMALL_B && timing.written_bytes == SMALL_C);
  xd_program_free(&p);
}

/* ---- time ---- */

/* Bytes through a memory tile and back, as cycles. */
static double cycles_of_copy(int64_t bytes, int columns) {
  xd_program p = {0};
  tw_error error;
  int sinks[8];
  const int in = add_external(&p, "in", bytes), out = add_external(&p, "out", bytes);
  for (int i = 0; i < columns; i++) {
    add_fifo(&p, "in", 4096, (xd_place){i, 0}, (xd_place){i, 1}, 2);
    add_fifo(&p, "out", 4096, (xd_place){i, 1}, (xd_place){i, 0}, 2);
    add_forward(&p, 2 * i, 2 * i + 1);
  }
  if (xd_lower(&machine, &p, &error) != TW_OK) fail_msg("%s", error.text);
  for (int i = 0; i < columns; i++) {
    sinks[i] = p.fifos.at[2 * i + 1].sink[0];
    add_task(&p, sinks[i], out, xd_linear(bytes / columns * i, bytes / columns), true);
    add_task(&p, p.fifos.at[2 * i].source, in, xd_linear(bytes / columns * i, bytes / columns), false);
  }
  for (int i = 0; i < columns; i++) add_await(&p, sinks[i]);
  if (xd_number_descriptors(&machine, &p, &error) != TW_OK || xd_check(&machine, &p, &error) != TW_OK)
    fail_msg("%s", error.text);
  const double cycles = must_run(&p, NULL).cycles;
  xd_program_free(&p);
  return cycles;
}

static double cycles_at(double bytes, int mbs) { return bytes / (mbs * 1e6) * machine.clock_mhz * 1e6; }

static void a_stream_alone_has_its_own_limit(void **state) {
  const double more = cycles_of_copy(1 << 21, 1) - cycles_of_copy(1 << 20, 1);
  const double alone = cycles_at(1 << 20, machine.array.ddr_stream_mbs);
  assert_true(more > alone && more < 1.03 * alone); /* and a few cycles for each descriptor */
}

static void columns_share_the_bandwidth_of_ddr(void **state) {
  const double more = cycles_of_copy(1 << 24, 8) - cycles_of_copy(1 << 23, 8);
  const double both = cycles_at(2.0 * (1 << 23), machine.array.ddr_mbs);
  assert_true(more > 0.999 * both && more < 1.01 * both);
}

/* ---- what is refused before it runs ---- */

/* Changes a program before it is lowered, or after. */
typedef void change(xd_program *);

static void refused(change *before, change *after, const char *part) {
  xd_program p = small_gemm(&machine);
  tw_error error = {0};
  if (before) before(&p);
  tw_status status = small_lower(&machine, &p, &error);
  if (status == TW_OK && after) {
    after(&p);
    status = xd_check(&machine, &p, &error);
  }
  if (status == TW_OK) {
    xd_run_result r;
    const xd_run_options options = {.timing_only = true, .cost = analytic_cost(&machine)};
    status = xd_run(&machine, &p, &options, &r, &error);
  }
  if (status == TW_OK) fail_msg("not refused; should say '%s'", part);
  if (!strstr(error.text, part) || strchr(error.text, '\n')) fail_msg("'%s' does not say '%s'", error.text, part);
  xd_program_free(&p);
}

static xd_descriptor *descriptor_in(xd_program *p, xd_tile_kind kind, xd_direction direction) {
  for (size_t i = 0; i < p->descriptors.n; i++) {
    const xd_channel *c = &p->channels.at[p->descriptors.at[i].channel];
    if (xd_kind_of(c->tile) == kind && c->direction == direction) return &p->descriptors.at[i];
  }
  fail_msg("there is no such descriptor");
  return NULL;
}

static void much_l1(xd_program *p) { xd_own_port(p, small_core, "scratch", 62 << 10); }
static void much_l2(xd_program *p) {
  p->fifos.at[0].consumer[0].depth = p->fifos.at[1].producer.depth = 6;
  p->fifos.at[0].bytes = p->fifos.at[1].bytes = 100 << 10;
  p->fifos.at[1].producer.n_dims = 0;
}
static void deep(xd_program *p) { p->fifos.at[1].consumer[0].depth = 17; }
static void more_channels(xd_program *p) {
  add_fifo(p, "third", 64, small_memory, small_core, 1);
  add_fifo(p, "third_in", 64, (xd_place){1, 0}, small_memory, 1);
  add_forward(p, 7, 6);
}
static void many_locks(xd_program *p) {
  for (int i = 0; i < 17; i++) XD_ADD(p, locks, &((xd_lock){.name = "extra", .tile = small_core}));
}
static void large_lock(xd_program *p) { p->locks.at[0].initial = 64; }
static void odd_run(xd_program *p) { descriptor_in(p, XD_MEMORY, XD_MM2S)->pattern.dim[0].size = 6; }
static void odd_stride(xd_program *p) { descriptor_in(p, XD_MEMORY, XD_MM2S)->pattern.dim[1].stride = 18; }
static void outside(xd_program *p) { descriptor_in(p, XD_MEMORY, XD_MM2S)->pattern.dim[3].stride = 256; }
static void outside_ddr(xd_program *p) { descriptor_in(p, XD_SHIM, XD_MM2S)->pattern.dim[1].stride = SMALL_K + 4; }
static void many_dims(xd_program *p) {
  xd_descriptor *d = descriptor_in(p, XD_COMPUTE, XD_S2MM);
  d->pattern = (xd_pattern){0, 4, {{8, 1, 0, 0}, {2, 16, 0, 0}, {2, 32, 0, 0}, {2, 64, 0, 0}}};
}
static void long_dim(xd_program *p) {
  descriptor_in(p, XD_COMPUTE, XD_S2MM)->pattern = (xd_pattern){0, 2, {{2048, 1, 0, 0}, {1, 4, 0, 0}}};
}
static void long_step(xd_program *p) {
  xd_descriptor *d = descriptor_in(p, XD_COMPUTE, XD_S2MM);
  d->pattern = (xd_pattern){0, 2, {{8, 1, 0, 0}, {2, 1 << 16, 0, 0}}};
}
static void padding_core(xd_program *p) { descriptor_in(p, XD_COMPUTE, XD_MM2S)->pattern.dim[0].after = 4; }
static void high_number(xd_program *p) { descriptor_in(p, XD_COMPUTE, XD_MM2S)->id = 16; }
static void wrong_half(xd_program *p) { descriptor_in(p, XD_MEMORY, XD_MM2S)->id = 40; }
static void same_number(xd_program *p) {
  descriptor_in(p, XD_COMPUTE, XD_MM2S)->id = descriptor_in(p, XD_COMPUTE, XD_S2MM)->id;
}
static void no_acquire(xd_program *p) { descriptor_in(p, XD_MEMORY, XD_MM2S)->acquire.lock = -1; }
static void no_release(xd_program *p) { descriptor_in(p, XD_COMPUTE, XD_S2MM)->release.lock = -1; }
static void second_writer(xd_program *p) {
  xd_descriptor d = *descriptor_in(p, XD_COMPUTE, XD_S2MM);
  for (size_t i = 0; i < p->descriptors.n; i++)
    if (p->descriptors.at[i].channel != d.channel &&
        xd_same_place(p->channels.at[p->descriptors.at[i].channel].tile, small_core) &&
        p->channels.at[p->descriptors.at[i].channel].direction == XD_S2MM)
      p->descriptors.at[i].buffer = d.buffer;
}
static void core_writes_input(xd_program *p) {
  p->cores.at[0].ops.at[6].argument[2].port = p->cores.at[0].ops.at[6].argument[0].port;
}
static void small_argument(xd_program *p) { p->cores.at[0].ops.at[6].call.k = 32; }
static void loops_open(xd_program *p) { p->cores.at[0].ops.n--; }
static void far_tile(xd_program *p) { p->fifos.at[1].consumer[0].tile.column = 8; }
static void crowded(xd_program *p) {
  for (int i = 0; i < 5; i++) { /* south of (0,2) there are four links, and C takes one */
    add_fifo(p, "down", 64, (xd_place){0, 5}, (xd_place){0, 1}, 1);
    xd_fifo_port(p, 6 + 2 * i, (xd_place){0, 5});
    add_fifo(p, "on", 64, (xd_place){0, 1}, (xd_place){0, 0}, 1);
    add_forward(p, 6 + 2 * i, 7 + 2 * i);
  }
  machine.array.dma_out[XD_COMPUTE] = machine.array.dma_in[XD_SHIM] = 9;
  machine.array.dma_in[XD_MEMORY] = machine.array.dma_out[XD_MEMORY] = 9;
}
static void depth_zero(xd_program *p) { p->fifos.at[4].producer.depth = 0; }
static void unequal_link(xd_program *p) { p->fifos.at[1].bytes = 96; }
static void empty(xd_program *p) { p->fifos.at[2].bytes = 0; }
static void shim_dims(xd_program *p) { p->fifos.at[0].producer.n_dims = 1; }

static void what_the_hardware_lacks_is_refused(void **state) {
  refused(much_l1, NULL, "core (0,2): buffers need 66560 bytes and the stack 1024, but the tile has 65536");
  refused(much_l2, NULL, "memory (0,1): buffers need 616960 bytes, but the tile has 524288");
  refused(deep, NULL, "core (0,2) needs 21 buffer descriptors, but has 16");
  refused(more_channels, NULL, "core (0,2) needs 3 S2MM channels, but has 2");
  refused(NULL, many_locks, "core (0,2) needs 23 locks, but has 16");
  refused(NULL, large_lock, "begins with 64; locks hold 0 to 63");
  refused(NULL, high_number, "descriptor 16 of core (0,2) MM2S 0: the tile has descriptors 0 to 15");
  refused(NULL, wrong_half, "out of reach; even channels use descriptors 0 to 23, odd channels 24 to 47");
  refused(NULL, same_number, "the number is used twice");
  refused(far_tile, NULL, "is at column 8, row 2, which is outside of the array (columns 0 to 7, rows 0 to 5)");
  refused(crowded, NULL, "the switch of core (0,2) has 5 circuits to the south, but 4 links");
  machine = machine_config();
}

static void wrong_descriptors_are_refused(void **state) {
  refused(NULL, odd_run, "runs of 6 bytes from byte 0, but a DMA moves words of 4");
  refused(NULL, odd_stride, "dimension 1 has a stride of 18 bytes; expected a multiple of words of 4, 1 to 131072");
  refused(NULL, outside, "reaches bytes 0 to 383 of a_in_0, which has 256");
  refused(NULL, outside_ddr, "reaches bytes 0 to 571 of A, which has 512");
  refused(NULL, many_dims, "walks 4 dimensions, but the tile's DMA has 3");
  refused(NULL, long_dim, "dimension 0 has 512 steps, but the field holds 255");
  refused(NULL, long_step, "stride of 65536 bytes; expected a multiple of words of 4, 1 to 8192");
  refused(NULL, padding_core, "pads with zeros; only MM2S channels of memory tiles can");
}

static void wrong_fifos_are_refused(void **state) {
  refused(depth_zero, NULL, "FIFO c has depth 0 at core (0,2)");
  refused(unequal_link, NULL, "the link of a_in: objects of 256 bytes are linked to objects of 96 bytes");
  refused(empty, NULL, "FIFO b_in has objects of 0 bytes");
  refused(shim_dims, NULL, "FIFO a_in has dims at shim (0,0)");
}

static void unlocked_sharing_is_refused(void **state) {
  refused(NULL, no_acquire,
          "memory (0,1) MM2S 0 moves a_in_0, which memory (0,1) S2MM 0 uses too, without acquiring a lock");
  refused(NULL, no_release, "core (0,2) S2MM 0 moves a_0, which core (0,2) uses too, without releasing a lock");
  refused(NULL, second_writer, "a_0 has two writers: core (0,2) S2MM");
  refused(NULL, core_writes_input, "a_0 has two writers: core (0,2) S2MM 0 and core (0,2)");
  refused(NULL, small_argument, "core (0,2) calls matmul_i8 on bytes 0 to 511 of a, which has 256");
  refused(NULL, loops_open, "core (0,2): 1 loops have no end");
}

/* ---- what goes wrong while it runs ---- */

static void remove_op(xd_program *p, size_t at) {
  xd_core *core = &p->cores.at[0];
  memmove(core->ops.at + at, core->ops.at + at + 1, (--core->ops.n - at) * sizeof *core->ops.at);
}
static void forgets_acquire(xd_program *p) { remove_op(p, 4); }
static void forgets_release(xd_program *p) { remove_op(p, 7); }
static void keeps_result(xd_program *p) { remove_op(p, 10); }
static void never_starts(xd_program *p) {
  memmove(p->sequence.at + 1, p->sequence.at + 2, (--p->sequence.n - 1) * sizeof *p->sequence.at);
}
static void too_many_tasks(xd_program *p) {
  const xd_command a = p->sequence.at[1];
  for (int i = 0; i < 20; i++) XD_ADD(p, sequence, &a);
}
static void reuses_descriptor(xd_program *p) {
  p->descriptors.at[p->sequence.at[2].descriptor].id = p->descriptors.at[p->sequence.at[1].descriptor].id;
}
static void unset_parameter(xd_program *p) { p->cores.at[0].ops.at[3].parameter = 0; }

static void faults_while_running_are_reported(void **state) {
  refused(NULL, forgets_acquire, "core (0,2) calls matmul_i8 on object 0 of a, but holds 0; an acquire is missing");
  refused(NULL, forgets_release, "core (0,2) acquires 3 of the 2 objects of a at once; a release is missing");
  refused(NULL, keeps_result, "waits for lock c_full of core (0,2) (0, needs 1), which nobody releases");
  refused(NULL, never_starts, "shim (0,0) MM2S 0 was never started");
  refused(NULL, too_many_tasks, "the queue of shim (0,0) MM2S 0 holds 8; await earlier tasks first");
  refused(NULL, reuses_descriptor, "which a task of shim (0,0) MM2S 0 still uses; await that task first");
  refused(NULL, unset_parameter, "core (0,2) waits for its parameter 0, which the sequence has not set");
}

/* Two cores, each of which waits for an object of the other before it makes its own. */
static void a_cycle_of_locks_is_reported(void **state) {
  xd_program p = {0};
  tw_error error = {0};
  const xd_place left = {0, 2}, right = {1, 2};
  add_fifo(&p, "to_right", 64, left, right, 1);
  add_fifo(&p, "to_left", 64, right, left, 1);
  for (int i = 0; i < 2; i++) {
    xd_core core = {.tile = i ? right : left};
    add_op(&core, XD_ACQUIRE, xd_fifo_port(&p, 1 - i, core.tile), 1);
    add_op(&core, XD_ACQUIRE, xd_fifo_port(&p, i, core.tile), 1);
    add_op(&core, XD_RELEASE, xd_fifo_port(&p, i, core.tile), 1);
    add_op(&core, XD_RELEASE, xd_fifo_port(&p, 1 - i, core.tile), 1);
    XD_ADD(&p, cores, &core);
  }
  add_fifo(&p, "out", 64, left, small_shim, 1);
  xd_fifo_port(&p, 2, left);
  const int out = add_external(&p, "out", 64);
  if (xd_lower(&machine, &p, &error) != TW_OK) fail_msg("%s", error.text);
  xd_op give = {.kind = XD_RELEASE, .count = 1, .parameter = -1}, take = give;
  bool failed = false;
  take.kind = XD_ACQUIRE;
  give.port = take.port = xd_fifo_port(&p, 2, left);
  xd_append(&p.cores.at[0].ops, sizeof take, &take, &failed);
  xd_append(&p.cores.at[0].ops, sizeof give, &give, &failed);
  add_task(&p, p.fifos.at[2].sink[0], out, xd_linear(0, 64), true);
  add_await(&p, p.fifos.at[2].sink[0]);
  xd_number_descriptors(&machine, &p, &error);
  if (xd_check(&machine, &p, &error) != TW_OK) fail_msg("%s", error.text);
  xd_run_result r;
  const xd_run_options options = {.timing_only = true, .cost = analytic_cost(&machine)};
  assert_int_equal(xd_run(&machine, &p, &options, &r, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "core (0,2) waits for lock to_left_full of core (0,2) (0, needs 1)"));
  assert_non_null(strstr(error.text, "core (1,2) waits for lock to_right_full of core (1,2) (0, needs 1)"));
  assert_non_null(strstr(error.text, ": a cycle of 6"));
  xd_program_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(a_pattern_is_walked_from_anywhere, setup),
      cmocka_unit_test_setup(writing_undoes_reading, setup),
      cmocka_unit_test_setup(objects_are_split_and_joined, setup),
      cmocka_unit_test_setup(a_core_multiplies, setup),
      cmocka_unit_test_setup(a_stream_alone_has_its_own_limit, setup),
      cmocka_unit_test_setup(columns_share_the_bandwidth_of_ddr, setup),
      cmocka_unit_test_setup(what_the_hardware_lacks_is_refused, setup),
      cmocka_unit_test_setup(wrong_descriptors_are_refused, setup),
      cmocka_unit_test_setup(wrong_fifos_are_refused, setup),
      cmocka_unit_test_setup(unlocked_sharing_is_refused, setup),
      cmocka_unit_test_setup(faults_while_running_are_reported, setup),
      cmocka_unit_test_setup(a_cycle_of_locks_is_reported, setup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
