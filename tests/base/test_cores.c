/* test_cores.c - cores that the process may use: allowed cores, and control groups read from made-up systems. */
#define _GNU_SOURCE
#include "test.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cores.h"
#include "base/files.h"

/* Writes ROOT/PATH, with the folders before it. */
static void put(const char *root, const char *path, const char *text) {
  char full[512];
  tw_error error;
  assert_true(snprintf(full, sizeof full, "%s/%s", root, path) < (int)sizeof full);
  char *name = strrchr(full, '/');
  *name = '\0';
  assert_int_equal(tw_directory_make(full, &error), TW_OK);
  *name = '/';
  FILE *f = fopen(full, "w");
  assert_non_null(f);
  assert_true(fputs(text, f) >= 0);
  assert_int_equal(fclose(f), 0);
}

static tw_core_limits limits_with(const char *groups, const char *path, const char *limit, const char *path2,
                                  const char *limit2) {
  char *root;
  tw_error error;
  assert_int_equal(tw_directory_temporary(&root, &error), TW_OK);
  if (groups) put(root, "proc/self/cgroup", groups);
  if (path) put(root, path, limit);
  if (path2) put(root, path2, limit2);
  const tw_core_limits l = tw_core_limits_under(root);
  tw_directory_remove(root);
  free(root);
  return l;
}

static double quota_with(const char *groups, const char *path, const char *limit, const char *path2,
                         const char *limit2) {
  return limits_with(groups, path, limit, path2, limit2).quota;
}

static void quota_of_version_2(void **state) {
  const char *const max = "sys/fs/cgroup/cpu.max", *const job = "sys/fs/cgroup/a/job/cpu.max";
  assert_float_equal(quota_with(NULL, NULL, NULL, NULL, NULL), 0, 0);
  assert_float_equal(quota_with("0::/\n", max, "max 100000\n", NULL, NULL), 0, 0);
  assert_float_equal(quota_with("0::/\n", max, "250000 100000\n", NULL, NULL), 2.5, 0);
  assert_float_equal(quota_with("0::/a/job\n", job, "400000 100000\n", NULL, NULL), 4, 0);
  /* the least of all groups above, and groups that are not seen here */
  assert_float_equal(quota_with("0::/a/job\n", job, "400000 100000\n", "sys/fs/cgroup/a/cpu.max", "150000 50000\n"), 3,
                     0);
  assert_float_equal(quota_with("0::/outside/x\n", max, "100000 100000\n", NULL, NULL), 1, 0);
  /* malformed files are no limit */
  assert_float_equal(quota_with("0::/\n", max, "100000 0\n", NULL, NULL), 0, 0);
  assert_float_equal(quota_with("0::/\n", max, "\n", NULL, NULL), 0, 0);
  assert_float_equal(quota_with("nonsense\n0:\n", max, "100000 100000\n", NULL, NULL), 0, 0);
}

static void quota_of_version_1(void **state) {
  const char *const groups = "11:memory:/job\n4:cpu,cpuacct:/job\n";
  const char *const quota = "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us";
  const char *const period = "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us";
  assert_float_equal(quota_with(groups, quota, "-1\n", period, "100000\n"), 0, 0);
  assert_float_equal(quota_with(groups, quota, "300000\n", period, "100000\n"), 3, 0);
  assert_float_equal(quota_with(groups, quota, "300000\n", NULL, NULL), 0, 0);
  assert_float_equal(quota_with("4:cpuset:/job\n", quota, "300000\n", period, "100000\n"), 0, 0);
}

static void never_more_threads_than_cores(void **state) {
  static const struct {
    int allowed;
    double quota;
    int cores;
  } cases[] = {{16, 0, 16}, {16, 4, 4}, {16, 3.9, 3}, {16, 0.5, 1}, {2, 8, 2}, {1, 0, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tw_core_limits l = {.allowed = cases[i].allowed, .quota = cases[i].quota};
    assert_int_equal(tw_cores_within(&l), cases[i].cores);
  }
}

/* As under taskset: in a process of its own, because the limit stays. */
static void cores_follow_the_allowed_set(void **state) {
  const pid_t child = fork();
  if (child == 0) {
    cpu_set_t set, one;
    if (sched_getaffinity(0, sizeof set, &set) != 0) _exit(2);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
      if (CPU_ISSET((size_t)i, &set)) CPU_SET((size_t)i, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) _exit(3);
    const tw_core_limits l = tw_core_limits_under("/nowhere");
    _exit(tw_cores() == 1 && l.allowed == 1 && l.online >= 1 ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

/* Kinds of cores are counted among the allowed ones. A list of one kind alone says nothing. */
static void kinds_of_cores(void **state) {
  cpu_set_t set;
  assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
  int first = 0;
  while (!CPU_ISSET((size_t)first, &set)) first++;
  char fast[32], rest[64];
  snprintf(fast, sizeof fast, "%d\n", first);
  snprintf(rest, sizeof rest, "%d-%d,%d\n", first + 1, CPU_SETSIZE + 9, CPU_SETSIZE + 20);
  const tw_core_limits l = limits_with(NULL, "sys/devices/cpu_core/cpus", fast, "sys/devices/cpu_atom/cpus", rest);
  assert_int_equal(l.efficient, CPU_COUNT(&set) - 1);
  assert_int_equal(l.performance, CPU_COUNT(&set) > 1 ? 1 : 0);
  assert_int_equal(limits_with(NULL, "sys/devices/cpu_core/cpus", fast, NULL, NULL).performance, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quota_of_version_2),
      cmocka_unit_test(quota_of_version_1),
      cmocka_unit_test(never_more_threads_than_cores),
      cmocka_unit_test(cores_follow_the_allowed_set),
      cmocka_unit_test(kinds_of_cores),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
