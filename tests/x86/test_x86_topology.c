/* test_x86_topology.c - plans follow the caches that hwloc tells of, here of machines that it makes up
 * (HWLOC_SYNTHETIC). Each is asked by a process of its own, since a process asks once. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/parallel.h"
#include "tilewright/gemm.h"

enum { TEXT = 2048 };

/* Of a product whose sums wait between blocks of k. `isa`: the largest instruction set that is used. */
static void plan_there(const char *topology, const char *isa, char text[TEXT]) {
  setenv("HWLOC_SYNTHETIC", topology, 1);
  setenv("TILEWRIGHT_GEMM_ISA", isa, 1);
  const tw_gemm_spec s = {
      .size = sizeof s, .m = 2048, .n = 1 << 18, .k = 1 << 13, .a = TW_BF16, .b = TW_BF16, .c = TW_BF16, .threads = 1};
  tw_gemm_plan *plan;
  tw_error error;
  if (tw_gemm_plan_create(&s, &plan, &error) != TW_OK) {
    snprintf(text, TEXT, "%s", error.text);
    return;
  }
  tw_gemm_plan_print(plan, text, TEXT);
  tw_gemm_plan_destroy(plan);
}

static void plan_on(const char *topology, const char *isa, char text[TEXT]) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    memset(text, 0, TEXT);
    plan_there(topology, isa, text);
    _exit(write(ends[1], text, TEXT) == TEXT ? 0 : 1);
  }
  assert_true(child > 0);
  close(ends[1]);
  assert_int_equal(read(ends[0], text, TEXT), TEXT);
  close(ends[0]);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

/* The number behind " NAME=". */
static long value_of(const char *text, const char *name) {
  const char *at = strstr(text, name);
  if (!at) fail_msg("'%s' does not say '%s'", text, name);
  return strtol(at + strlen(name), NULL, 10);
}

/* Sums take half of a core's part of the last cache: of a cache that every core has for itself, all of it is that part,
 * however many cores the machine has. */
static void test_part_of_the_last_cache(void **state) {
  char own[TEXT], shared[TEXT];
  plan_on("pack:2 l3:32(size=32MB) l2:1(size=1MB) l1d:1(size=48kB) core:1 pu:1", "avx512bf16", own);
  plan_on("pack:2 l3:1(size=32MB) l2:32(size=1MB) l1d:1(size=48kB) core:1 pu:1", "avx512bf16", shared);
  const long cores = tw_cores() < 32 ? tw_cores() : 32;
  const long room_own = value_of(own, " nc=") * value_of(own, " mc="),
             room_shared = value_of(shared, " nc=") * value_of(shared, " mc=");
  const long sums = 32 * 1000 * 1000 / 2 / 4, panel = 32 * value_of(own, " mc=");
  assert_in_range(room_own, sums - panel, sums);
  assert_in_range(room_shared, sums / cores - panel, sums / cores);
}

/* A block of A in place takes at most two and a half times L2, a packed one as much. */
static void test_block_follows_l2(void **state) {
  char small[TEXT], large[TEXT];
  plan_on("pack:1 l3:1(size=32MB) l2:2(size=512kB) l1d:1(size=48kB) core:1 pu:1", "avx512bf16", small);
  plan_on("pack:1 l3:1(size=32MB) l2:2(size=2MB) l1d:1(size=48kB) core:1 pu:1", "avx512bf16", large);
  assert_true(value_of(small, " mc=") < value_of(large, " mc="));
}

/* The panels by which AMX multiplies a strip fill half of L2. */
static void test_panels_of_a_strip_follow_l2(void **state) {
  char small[TEXT], large[TEXT];
  plan_on("pack:1 l3:1(size=32MB) l2:2(size=2MB) l1d:1(size=48kB) core:1 pu:1", "amx", small);
  plan_on("pack:1 l3:1(size=32MB) l2:2(size=8MB) l1d:1(size=48kB) core:1 pu:1", "amx", large);
  if (!strstr(small, "amx")) skip();
  assert_true(value_of(small, " nc=") < value_of(large, " nc="));
  assert_int_equal(value_of(small, " mc="), 32);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_part_of_the_last_cache),
                                     cmocka_unit_test(test_block_follows_l2),
                                     cmocka_unit_test(test_panels_of_a_strip_follow_l2)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
