/* The instruction stream of a built program is the one that was measured: instructions between the marks against the
 * column `instructions` of the yardstick.
 *
 * The yardstick counted from one reading of the instruction counter to the next, with readings of the cycle counter
 * between them, in a main into which the kernel was pasted. Here the kernel is a function: its call, and the registers
 * that it saves, are between the marks, up to 20 instructions. What differs by more does so because what surrounds the
 * kernel differs from the yardstick's, which is not known in detail: what is kept in registers over the kernel changes
 * what the compiler keeps there (docs/explain/compilers.md). */
#include <math.h>

#include "gemmini_yardstick.h"
#include "target/gemmini/build.h"
#include "target/gemmini/core/rv64.h"

enum { READINGS = 2, CALL_MOST = 20 };

static uint64_t take_command(void *context, uint64_t cycle, uint32_t instruction, uint64_t rs1, uint64_t rs2,
                             rv64_answer *answer, char why[256]) {
  (void)instruction, (void)rs1, (void)rs2, (void)answer, (void)why;
  ++*(int *)context;
  return cycle;
}

static rv64_result run(const char *elf, size_t size, int *commands) {
  rv64_memory memory;
  rv64_result result;
  tw_error error = {0};
  const rv64_ports ports = {.context = commands, .command = take_command};
  const rv64_options options = {.max_cycles = 10000000};
  must(rv64_memory_load(elf, size, "program", &memory, &error), &error);
  must(rv64_run(&memory, &ports, &options, &result, &error), &error);
  rv64_memory_free(&memory);
  return result;
}

static void instruction_counts_are_the_measured_ones(void **state) {
  size_t n, same = 0, close = 0;
  double sum = 0, worst = 0;
  yardstick *all = yardstick_load(&n);
  gm_config config = gemmini_config("gemmini-16x16-int8");
  for (size_t i = 0; i < n; i++) {
    char *elf = NULL;
    size_t size = 0;
    int commands = 0;
    tw_error error = {0};
    must(gm_build(&config, &all[i].problem, all[i].source, all[i].length, false, &elf, &size, &error), &error);
    rv64_result result = run(elf, size, &commands);
    free(elf);
    if (result.stop != RV64_EXITED) fail_msg("%s: %s", all[i].program, result.why);
    assert_true(commands > 0);
    long difference = (long)result.instructions + READINGS - all[i].instructions;
    double relative = fabs((double)difference) / (double)all[i].instructions;
    if (difference)
      print_message("%-32s %6ld  %+5ld  %+.2f%%\n", all[i].program, all[i].instructions, difference,
                    100.0 * (double)difference / (double)all[i].instructions);
    same += difference >= 0 && difference <= CALL_MOST;
    close += relative <= 0.003;
    sum += relative;
    worst = relative > worst ? relative : worst;
  }
  print_message("%zu of %zu the same but for a call, %zu within 0.3%%; mean %.2f%%, worst %.2f%%\n", same, n, close,
                100 * sum / (double)n, 100 * worst);
  assert_true(same >= 40);
  assert_true(close >= 42);
  assert_true(sum / (double)n <= 0.007);
  assert_true(worst <= 0.11);
  yardstick_free(all, n);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(instruction_counts_are_the_measured_ones)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
