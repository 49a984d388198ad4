/* device.c - see device.h. Loading a kernel and running it are under this profile; opening the device is not, since for
 * that drivers start programs and make files. Code on a device is not under any profile: this is for what it makes of
 * the process where it reaches its memory, and for what a hostile object makes of the driver that loads it. */
#if !defined _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "native/runner/device.h"

#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/confine.h"

enum { PATHS_MAX = 64 };

#if defined __x86_64__

/* Files that drivers read: descriptions of the system and of themselves, and libraries that they load late. */
static const char *const read_only[] = {
    "/sys",         "/proc/self", "/proc/devices", "/proc/driver", "/proc/cpuinfo",    "/proc/stat",  "/proc/meminfo",
    "/proc/sys/vm", "/usr",       "/lib",          "/lib64",       "/etc/ld.so.cache", "/etc/nvidia", NULL};

/* Calls with any arguments. */
static const int plain[] = {
    /* memory */
    SYS_mmap, SYS_munmap, SYS_mprotect, SYS_brk, SYS_mremap, SYS_mincore, SYS_mlock, SYS_munlock, SYS_get_mempolicy,
    SYS_set_mempolicy, SYS_mbind,
    /* its threads */
    SYS_futex, SYS_sched_yield, SYS_gettid, SYS_getpid, SYS_getppid, SYS_set_robust_list, SYS_rseq, SYS_membarrier,
    SYS_getcpu, SYS_restart_syscall, SYS_exit,
    /* opening files that the paths below allow, and using open files */
    SYS_ioctl, SYS_read, SYS_readv, SYS_pread64, SYS_write, SYS_writev, SYS_lseek, SYS_close, SYS_fstat, SYS_stat,
    SYS_lstat, SYS_newfstatat, SYS_statx, SYS_fstatfs, SYS_access, SYS_faccessat, SYS_readlink, SYS_readlinkat,
    SYS_getcwd, SYS_getdents64, SYS_dup, SYS_pipe, SYS_pipe2, SYS_eventfd2, SYS_poll, SYS_ppoll, SYS_select,
    SYS_pselect6, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_wait, SYS_epoll_pwait,
    /* information about the system and the user */
    SYS_uname, SYS_sysinfo, SYS_getrusage, SYS_times, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getrlimit,
    SYS_getrandom,
    /* time */
    SYS_nanosleep, SYS_gettimeofday, SYS_time, SYS_pause,
    /* signals to itself */
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_exit_group};

static const tw_call_rule calls[] = {
    /* memory */
    TW_CALL_MADVISE,
    /* its threads: clone3 cannot be distinguished from starting a process; C libraries then use clone */
    {SYS_clone,
     {{.argument = 0,
       .n = 1,
       .mask = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND,
       .value = {CLONE_VM | CLONE_THREAD | CLONE_SIGHAND}}}},
    {SYS_prctl, {{.argument = 0, .n = 2, .value = {PR_SET_NAME, PR_GET_NAME}}}},
    /* opening files that the paths below allow, and using open files */
    {SYS_openat,
     {{.argument = 2, .n = 2, .mask = O_ACCMODE | O_CREAT | O_TRUNC | O_TMPFILE, .value = {O_RDONLY, O_RDWR}}}},
    {SYS_open,
     {{.argument = 1, .n = 2, .mask = O_ACCMODE | O_CREAT | O_TRUNC | O_TMPFILE, .value = {O_RDONLY, O_RDWR}}}},
    {SYS_fcntl, {{.argument = 1, .n = 6, .value = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL}}}},
    /* time */
    TW_CALL_OF_OWN_CLOCK(SYS_clock_gettime),
    TW_CALL_OF_OWN_CLOCK(SYS_clock_getres),
    TW_CALL_OF_OWN_CLOCK(SYS_clock_nanosleep)};

enum { CALLS = sizeof calls / sizeof *calls };

/* Calls with a process number: allowed only for this process, which is 0 or its own number. */
static const int by_number[] = {SYS_sched_getaffinity, SYS_sched_setaffinity, SYS_sched_getparam,
                                SYS_sched_getscheduler};
enum { BY_NUMBER = sizeof by_number / sizeof *by_number, MORE_CALLS = BY_NUMBER + 4 };

static size_t add_paths(tw_path_rule *path, size_t n, const char *prefix, glob_t *found) {
  char pattern[256];
  snprintf(pattern, sizeof pattern, "%s*", prefix);
  if (glob(pattern, 0, NULL, found) != 0) return n;
  for (size_t i = 0; i < found->gl_pathc && n < PATHS_MAX; i++)
    path[n++] = (tw_path_rule){found->gl_pathv[i], TW_PATH_READ | TW_PATH_WRITE | TW_PATH_DEVICE};
  return n;
}

const char *tw_confine_device(const char *const devices[], int channel) {
  static tw_call_rule all[CALLS + MORE_CALLS];
  static tw_error error;
  static glob_t found[8]; /* in use until the process ends, as the confinement is */
  tw_path_rule path[PATHS_MAX];
  tw_confinement *c = NULL;
  size_t n = 0;
  memcpy(all, calls, sizeof calls);
  all[CALLS] = (tw_call_rule){SYS_sendto, {{.argument = 0, .n = 1, .value = {(uint32_t)channel}}}};
  all[CALLS + 1] = (tw_call_rule){SYS_recvfrom, {{.argument = 0, .n = 1, .value = {(uint32_t)channel}}}};
  all[CALLS + 2] = (tw_call_rule){
      SYS_tgkill,
      {{.argument = 0, .n = 1, .value = {(uint32_t)getpid()}}, {.argument = 2, .n = 1, .value = {SIGABRT}}}};
  const uint32_t self = (uint32_t)getpid();
  size_t more = CALLS + 3;
  for (size_t i = 0; i < BY_NUMBER; i++)
    all[more++] = (tw_call_rule){by_number[i], {{.argument = 0, .n = 2, .value = {0, self}}}};
  all[more++] = (tw_call_rule){SYS_prlimit64,
                               {{.argument = 0, .n = 2, .value = {0, self}}, {.argument = 2, .n = 1, .value = {0}}}};
  for (const char *const *p = read_only; *p; p++) path[n++] = (tw_path_rule){*p, TW_PATH_READ};
  for (size_t i = 0; i < sizeof found / sizeof *found && devices[i]; i++) n = add_paths(path, n, devices[i], &found[i]);
  const tw_profile profile = {.who = "the driver of a device",
                              .plain = plain,
                              .n_plain = sizeof plain / sizeof *plain,
                              .call = all,
                              .n_calls = more,
                              .refusal = TW_REFUSAL_ERROR,
                              .all_threads = true};
  if (tw_confinement_make(&profile, path, n, &c, &error) != TW_OK) return error.text;
  /* c is never freed, as it stays in use */
  return tw_confine(c) ? NULL : "this system does not let a process give up its rights";
}

#else

const char *tw_confine_device(const char *const devices[], int channel) {
  (void)devices, (void)channel;
  return "drivers are confined on x86-64 with Linux only";
}

#endif
