/* The clocked model against single effects measured on the RTL (gemmini-facts, sections 2 and 3): commands go
 * straight to the port, one a cycle, without a core. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/embedded.h"
#include "base/random.h"
#include "target/gemmini/config.h"
#include "target/gemmini/machine/internal.h"

#define SPAD(bank, row) ((uint32_t)((bank)*4096 + (row)))
#define ACC(bank, row) (0x80000000u | (uint32_t)((bank)*512 + (row)))
#define ACCUMULATE 0x40000000u

typedef struct bench {
  gm_config config;
  rv64_memory memory;
  rv64_region region;
  gm_machine *machine;
  rv64_ports ports;
  uint64_t cycle;
} bench;

static const uint64_t BASE = 0x80000000;

static uint64_t size_fields(int cols, int rows) { return (uint64_t)rows << 48 | (uint64_t)cols << 32; }

/* Returns the answer. */
static uint64_t issue(bench *b, int funct, uint64_t rs1, uint64_t rs2) {
  char why[256] = "";
  rv64_answer answer = {0, 0};
  uint64_t taken = b->ports.command(b->machine, b->cycle, (uint32_t)funct << 25 | 0x7b, rs1, rs2, &answer, why);
  if (taken == UINT64_MAX) fail_msg("%s", why);
  b->cycle = taken + 1;
  if (answer.cycle > b->cycle) b->cycle = answer.cycle;
  return answer.value;
}

static uint64_t fence(bench *b) {
  char why[256] = "";
  uint64_t done = b->ports.fence(b->machine, b->cycle, why);
  if (done == UINT64_MAX) fail_msg("%s", why);
  return b->cycle = done;
}

static uint64_t one(void) {
  float f = 1.0f;
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}

static void config_ld(bench *b, int id, uint64_t stride) {
  issue(b, GM_CONFIG, one() << 32 | UINT64_C(16) << 16 | UINT64_C(1) << 8 | (uint64_t)id << 3 | GM_CONFIG_LD, stride);
}
static void config_ex(bench *b) {
  issue(b, GM_CONFIG, one() << 32 | UINT64_C(1) << 16 | 1 << 2 | GM_CONFIG_EX, UINT64_C(1) << 48);
}
static void config_st(bench *b, uint64_t stride) { issue(b, GM_CONFIG, GM_CONFIG_ST, one() << 32 | stride); }
static void mvin(bench *b, uint64_t offset, uint32_t to, int cols, int rows) {
  issue(b, GM_MVIN, BASE + offset, size_fields(cols, rows) | to);
}
static void mvin_zero(bench *b, uint32_t to, int cols, int rows) { issue(b, GM_MVIN, 0, size_fields(cols, rows) | to); }
static void mvout(bench *b, uint64_t offset, uint32_t from, int cols, int rows) {
  issue(b, GM_MVOUT, BASE + offset, size_fields(cols, rows) | from);
}
static void pair(bench *b, uint32_t a, uint32_t w, uint32_t c, int a_rows) {
  issue(b, GM_PRELOAD, size_fields(16, 16) | w, size_fields(16, a_rows) | c);
  issue(b, gm_is_garbage(w) ? GM_COMPUTE_ACCUMULATED : GM_COMPUTE_PRELOADED, size_fields(16, a_rows) | a,
        size_fields(16, 16) | GM_GARBAGE);
}

static int setup(void **state) {
  bench *b = calloc(1, sizeof *b);
  tw_error e = {0};
  const struct tw_embedded *file = tw_embedded_find("gemmini/configs/gemmini-16x16-int8.txt");
  assert_non_null(file);
  assert_int_equal(gm_config_parse((const char *)file->data, file->name, &b->config, &e), TW_OK);
  b->region = (rv64_region){
      .name = "data", .base = BASE, .size = 1 << 22, .rights = RV64_READ | RV64_WRITE, .host = calloc(1, 1 << 22)};
  b->memory.n_regions = 1;
  b->memory.region = &b->region;
  b->machine = gm_machine_new(&b->config, &b->memory, &e);
  assert_non_null(b->machine);
  b->ports = gm_machine_ports(b->machine);
  b->cycle = 100;
  config_ld(b, 0, 64);
  config_ex(b);
  config_st(b, 64);
  fence(b);
  *state = b;
  return 0;
}

static int teardown(void **state) {
  bench *b = *state;
  gm_machine_free(b->machine);
  free(b->region.in_flight);
  free(b->region.host);
  free(b);
  return 0;
}

/* Cycles per command of a long run of them, their data in the L2. */
static double per_mvin(bench *b, int cols, int rows, uint64_t offset, uint32_t to) {
  for (int i = 0; i < 4; i++) mvin(b, offset, to, cols, rows);
  fence(b);
  uint64_t start = b->cycle;
  for (int i = 0; i < 64; i++) mvin(b, offset, to, cols, rows);
  return (double)(fence(b) - start) / 64;
}

static double per_mvout(bench *b, int cols, int rows, uint32_t from) {
  for (int i = 0; i < 4; i++) mvout(b, 0, from, cols, rows);
  fence(b);
  uint64_t start = b->cycle;
  for (int i = 0; i < 64; i++) mvout(b, 0, from, cols, rows);
  return (double)(fence(b) - start) / 64;
}

static uint64_t pairs(bench *b, uint32_t a, uint32_t w, uint32_t c, int rows, int n) {
  uint64_t start = b->cycle;
  for (int i = 0; i < n; i++) pair(b, a, w, c, rows);
  return fence(b) - start;
}

static void near(const char *what, double got, double measured, double tolerance) {
  print_message("%-44s %8.1f  RTL %8.1f  %+5.1f%%\n", what, got, measured, 100 * (got / measured - 1));
  if (got < measured * (1 - tolerance) || got > measured * (1 + tolerance))
    fail_msg("%s: %.1f, measured %.1f", what, got, measured);
}

static void loads_take_what_the_rtl_takes(void **state) {
  bench *b = *state;
  near("mvin 64x16", per_mvin(b, 64, 16, 0, SPAD(0, 0)), 64.6, 0.04);
  near("mvin 32x16", per_mvin(b, 32, 16, 0, SPAD(0, 0)), 32.6, 0.06);
  near("mvin 16x16", per_mvin(b, 16, 16, 0, SPAD(0, 0)), 18.1, 0.08);
  near("mvin 48x16", per_mvin(b, 48, 16, 0, SPAD(0, 0)), 81, 0.04);
  near("mvin 64x16 at 16 bytes", per_mvin(b, 64, 16, 16, SPAD(0, 0)), 81, 0.04);
  near("mvin 64x4", per_mvin(b, 64, 4, 0, SPAD(0, 0)), 22,
       0.25); /* not understood: the same four lines again and again? */
  near("mvin i32 16x16 to the accumulator", per_mvin(b, 16, 16, 0, ACC(0, 0)), 66, 0.04);
}

static void zero_fills_take_a_row_a_cycle(void **state) {
  bench *b = *state;
  uint64_t start = b->cycle;
  for (int i = 0; i < 64; i++) mvin_zero(b, ACC(0, 0), 16, 16);
  near("mvin of zeros 16x16", (double)(fence(b) - start) / 64, 16.5, 0.05);
}

static void stores_take_what_the_rtl_takes(void **state) {
  bench *b = *state;
  mvin_zero(b, SPAD(0, 0), 64, 16);
  near("mvout 16x16 from the accumulator", per_mvout(b, 16, 16, ACC(0, 0)), 25.5, 0.05);
  near("mvout 32x16", per_mvout(b, 32, 16, ACC(0, 0)), 55.7, 0.05);
  near("mvout 64x16", per_mvout(b, 64, 16, ACC(0, 0)), 114, 0.05);
  near("mvout full i32 16x16", per_mvout(b, 16, 16, ACC(0, 0) | 0x20000000u), 66, 0.05);
  near("mvout 16x16 from the scratchpad", per_mvout(b, 16, 16, SPAD(0, 0)), 17.2, 0.08);
}

static void pairs_take_what_the_rtl_takes(void **state) {
  bench *b = *state;
  near("64 pairs, A and B in two banks", (double)pairs(b, SPAD(0, 0), SPAD(1, 0), ACC(0, 0), 16, 64), 1097, 0.02);
  near("pair, A and B in one bank", (double)pairs(b, SPAD(0, 0), SPAD(0, 16), ACC(0, 0), 16, 64) / 64, 32.5, 0.05);
  near("pair, weights reused, 4 rows", (double)pairs(b, SPAD(0, 0), GM_GARBAGE, ACC(0, 0), 4, 64) / 64, 8.8, 0.10);
  near("pair, weights reused, 16 rows", (double)pairs(b, SPAD(0, 0), GM_GARBAGE, ACC(0, 0), 16, 64) / 64, 17.1, 0.05);
}

static void conflicts_cost_what_they_cost_on_the_rtl(void **state) {
  bench *b = *state;
  for (int same = 0; same < 2; same++) {
    mvin(b, 0, SPAD(3, 0), 64, 16);
    fence(b);
    uint64_t start = b->cycle;
    for (int i = 0; i < 64; i++) {
      pair(b, SPAD(0, 0), SPAD(1, 0), ACC(0, 0), 16);
      if (i % 4 == 0) mvin(b, 0, same ? SPAD(0, 1024) : SPAD(2, 0), 64, 16);
    }
    near(same ? "64 pairs, 16 mvins into A's bank" : "64 pairs, 16 mvins elsewhere", (double)(fence(b) - start),
         same ? 2121 : 1098, 0.05);
  }
  for (int kind = 0; kind < 3; kind++) { /* same bank, other bank, same bank overwriting */
    uint64_t start = b->cycle;
    for (int i = 0; i < 64; i++) {
      pair(b, SPAD(0, 0), SPAD(1, 0), ACC(0, 0) | (kind == 2 ? 0 : ACCUMULATE), 16);
      if (i % 4 == 0) mvout(b, 0, kind == 1 ? ACC(1, 64) : ACC(0, 64), 16, 16);
    }
    static const char *const what[] = {"16 mvouts from the bank accumulated to", "16 mvouts from the other bank",
                                       "16 mvouts from the bank overwritten"};
    static const double rtl[] = {1470, 1097, 1115};
    near(what[kind], (double)(fence(b) - start), rtl[kind], 0.05);
  }
}

/* Whenever a config_ex comes, also in the cycle in which the last result leaves the array: both complete. */
static void a_config_may_come_at_any_time(void **state) {
  bench *b = *state;
  config_ex(b);
  for (uint64_t wait = 0; wait < 120; wait++) {
    pair(b, SPAD(0, 0), SPAD(1, 0), SPAD(2, 0), 16);
    b->cycle += wait;
    config_ex(b);
    fence(b);
  }
}

/* Products that add to both accumulator banks, stores from there and from the scratchpad, and loads, in any order. */
static gm_counters mixture(uint64_t seed, bool looks_each_cycle) {
  void *state;
  setup(&state);
  bench *b = state;
  b->machine->loads_accumulate = looks_each_cycle;
  tw_random random;
  tw_random_seed(&random, seed);
  const uint64_t start = b->cycle;
  for (int i = 0; i < 60; i++) {
    const uint32_t bank = (uint32_t)tw_random_below(&random, 2), row = 16 * (uint32_t)tw_random_below(&random, 4);
    const int rows = 1 + (int)tw_random_below(&random, 16);
    switch (tw_random_below(&random, 5)) {
    case 0: mvout(b, 64 * row, ACC(bank, row), 16 * (1 + (int)tw_random_below(&random, 4)), rows); break;
    case 1: mvout(b, 1 << 16, SPAD(2 * bank, row), 64, rows); break;
    case 2: mvin(b, 1 << 17, SPAD(2 * bank, 16 * row), 64, 16); break;
    default: pair(b, SPAD(0, row), SPAD(1, row), ACC(bank, row) | ACCUMULATE, rows); break;
    }
    if (i == 40 && seed % 2) mvin_zero(b, ACC(bank, row) | ACCUMULATE, 16, rows);
    if (tw_random_below(&random, 8) == 0) b->cycle += tw_random_below(&random, 100);
  }
  const gm_counters counters = gm_machine_finish(b->machine, start, fence(b));
  teardown(&state);
  return counters;
}

/* What the storer settles in advance comes out as where it looks at the banks in each cycle, which it does once a load
 * has been about to add to them. */
static void rows_settled_in_advance_come_at_the_same_time(void **state) {
  for (uint64_t seed = 0; seed < 40; seed++) {
    const gm_counters ahead = mixture(seed, false), stepped = mixture(seed, true);
    assert_memory_equal(&ahead, &stepped, sizeof ahead);
  }
}

/* ---- event counters ---- */

enum { RESET = 1, THAW = 2, FREEZE = 4, EXTERNAL = 1 << 31 }; /* rs1 of an access */
static uint64_t count_of(bench *b, unsigned counter) { return issue(b, GM_COUNTER, counter << 4, 0); }
static void count(bench *b, unsigned counter, unsigned event, uint64_t external) {
  issue(b, GM_COUNTER, external | event << 12 | 8 | counter << 4, 0);
}

static void work(bench *b) {
  for (int i = 0; i < 6; i++) mvin(b, (uint64_t)i * 1024, SPAD(i & 1, 16 * i), 16, 16);
  for (int i = 0; i < 12; i++) pair(b, SPAD(i & 1, 16 * (i % 6)), SPAD(2, 0), ACC(0, 16 * i), 16);
  for (int i = 0; i < 6; i++) mvout(b, 65536 + (uint64_t)i * 1024, ACC(0, 16 * i), 16, 16);
}

/* Against counts that are made in another way: rows that enter the array, commands, cycles. */
static void events_are_counted(void **state) {
  enum { EXECUTES = 24, FULL = 41, ACTIVE = 42 };
  bench *b = *state;
  count(b, 0, EXECUTES, 0);
  count(b, 1, 9, 0); /* loads: rows but the first of each */
  count(b, 2, ACTIVE, 0);
  count(b, 3, FULL, 0);
  for (unsigned i = 4; i < 8; i++) count(b, i, i, 0); /* three of the seven combinations of busy controllers */
  const uint64_t start = b->cycle;
  gm_machine_start(b->machine, start);
  const uint64_t loads = count_of(b, 1), full = count_of(b, 3);
  assert_int_equal(loads, 0);
  work(b);
  const uint64_t end = fence(b);
  const gm_counters c = gm_machine_finish(b->machine, start, end);
  const uint64_t rows = c.array_busy + c.array_preload; /* the first of 16 is read while the controller still decides */
  assert_int_equal(count_of(b, 0), rows + c.bank_conflict - rows / 16);
  assert_true(count_of(b, 1) >= 6 * 15);
  const uint64_t active = count_of(b, 2), asked = b->cycle;
  assert_true(active > 0 && active < end - start);
  assert_true(count_of(b, 4) + count_of(b, 5) + count_of(b, 6) + count_of(b, 7) > 0);
  const uint64_t cycles = count_of(b, 3) - full + c.commands; /* a cycle without a command to take, or one with */
  assert_true(cycles + 40 > asked - start && cycles < asked - start + 40);
}

/* Exactly one of MAIN_* is high while a controller is busy, and no more cycles than the station is. */
static void the_busy_controllers_are_counted_once(void **state) {
  bench *b = *state;
  uint64_t sum = 0;
  for (unsigned i = 0; i < 7; i++) count(b, i, i + 1, 0);
  count(b, 7, 42, 0);
  work(b);
  fence(b);
  for (unsigned i = 0; i < 7; i++) sum += count_of(b, i);
  const uint64_t station = count_of(b, 7);
  assert_true(sum > 0 && sum <= station + 8 && station <= sum + 40);
}

static void counters_freeze_and_reset(void **state) {
  bench *b = *state;
  count(b, 0, 42, 0);
  count(b, 7, 1, EXTERNAL);
  assert_int_equal(count_of(b, 7), 0);
  work(b);
  assert_true(count_of(b, 7) <= (uint64_t)b->config.rs_load);
  for (int i = 0; i < 8; i++) mvin(b, (uint64_t)i * 1024, SPAD(0, 16 * i), 16, 16);
  assert_true(count_of(b, 7) >= 2); /* loads in the station */
  issue(b, GM_COUNTER, FREEZE, 0);
  const uint64_t frozen = count_of(b, 0);
  assert_true(frozen > 0);
  fence(b);
  assert_int_equal(count_of(b, 0), frozen);
  issue(b, GM_COUNTER, THAW, 0);
  assert_true(count_of(b, 0) > frozen);
  assert_int_equal(count_of(b, 7), 0);
  issue(b, GM_COUNTER, RESET, 0);
  assert_int_equal(count_of(b, 0), 0);
}

static void other_events_are_refused(void **state) {
  bench *b = *state;
  char why[256] = "";
  rv64_answer answer = {0, 0};
  const uint32_t access = (uint32_t)GM_COUNTER << 25 | 0x7b;
  assert_true(b->ports.command(b->machine, b->cycle, access, 8 | 15 << 12, 0, &answer, why) == UINT64_MAX);
  assert_non_null(strstr(why, "event 15 is not modelled; use 1 to 9"));
}

static void more_banks_than_it_holds_are_refused(void **state) {
  const bench *b = *state;
  for (int of_acc = 0; of_acc < 2; of_acc++) {
    gm_config c = b->config;
    tw_error e = {0};
    *(of_acc ? &c.acc_banks : &c.spad_banks) = 2 * GM_BANKS;
    assert_null(gm_machine_new(&c, &b->memory, &e));
    assert_non_null(
        strstr(e.text, "banks, queues, latencies or requests in flight exceed the simulator's limits (internal.h)"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(more_banks_than_it_holds_are_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(events_are_counted, setup, teardown),
      cmocka_unit_test_setup_teardown(the_busy_controllers_are_counted_once, setup, teardown),
      cmocka_unit_test_setup_teardown(counters_freeze_and_reset, setup, teardown),
      cmocka_unit_test_setup_teardown(other_events_are_refused, setup, teardown),
      cmocka_unit_test(rows_settled_in_advance_come_at_the_same_time),
      cmocka_unit_test_setup_teardown(a_config_may_come_at_any_time, setup, teardown),
      cmocka_unit_test_setup_teardown(loads_take_what_the_rtl_takes, setup, teardown),
      cmocka_unit_test_setup_teardown(zero_fills_take_a_row_a_cycle, setup, teardown),
      cmocka_unit_test_setup_teardown(stores_take_what_the_rtl_takes, setup, teardown),
      cmocka_unit_test_setup_teardown(pairs_take_what_the_rtl_takes, setup, teardown),
      cmocka_unit_test_setup_teardown(conflicts_cost_what_they_cost_on_the_rtl, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
