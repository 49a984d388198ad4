/* test_device_profile.c - what a process keeps that runs a device's driver (native/runner/device.c): nothing of other
 * processes. */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "native/runner/device.c"

/* Each fails as if the system did not know it. */
static int allowed_about(pid_t process) {
  struct rlimit limit;
  struct sched_param parameter;
  struct timespec t = {0};
  cpu_set_t set;
  const clockid_t clock = (clockid_t)(~(unsigned)process << 3 | 2); /* its CPU clock */
  int allowed = 0;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  allowed |= (syscall(SYS_sched_getaffinity, process, sizeof set, &set) >= 0 || errno != ENOSYS) << 0;
  allowed |= (syscall(SYS_sched_setaffinity, process, sizeof set, &set) >= 0 || errno != ENOSYS) << 1;
  allowed |= (syscall(SYS_sched_getparam, process, &parameter) >= 0 || errno != ENOSYS) << 2;
  allowed |= (syscall(SYS_sched_getscheduler, process) >= 0 || errno != ENOSYS) << 3;
  allowed |= (syscall(SYS_prlimit64, process, RLIMIT_CPU, NULL, &limit) >= 0 || errno != ENOSYS) << 4;
  allowed |= (syscall(SYS_clock_gettime, clock, &t) >= 0 || errno != ENOSYS) << 5;
  allowed |= (syscall(SYS_clock_getres, clock, &t) >= 0 || errno != ENOSYS) << 6;
  return allowed;
}

static int exit_status_of(bool of_parent) {
  int status;
  const pid_t child = fork();
  if (child == 0) {
    static const char *const devices[] = {NULL};
    if (tw_confine_device(devices, 0)) _exit(255);
    if (of_parent) _exit(allowed_about(getppid()));
    /* its own clock has a fixed name */
    _exit((allowed_about(0) & 31) == 31 && (allowed_about(getpid()) & 31) == 31 ? 1 : 0);
  }
  waitpid(child, &status, 0);
  assert_true(WIFEXITED(status));
  if (WEXITSTATUS(status) == 255) skip(); /* a system that cannot confine */
  return WEXITSTATUS(status);
}

static void other_processes_cannot_be_looked_at(void **state) { assert_int_equal(exit_status_of(true), 0); }

static void its_own_process_can(void **state) { assert_int_equal(exit_status_of(false), 1); }

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(other_processes_cannot_be_looked_at),
                                     cmocka_unit_test(its_own_process_can)};
  return cmocka_run_group_tests_name("device profile", tests, NULL, NULL);
}
