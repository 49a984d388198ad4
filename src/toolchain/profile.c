/* profile.c - the system calls that compilers, assemblers and linkers are left with.
 *
 * What is not listed fails as if the system did not know it: sockets, tracing, mounts, namespaces, keys, BPF, perf,
 * io_uring, userfaultfd, shared memory, signals to anyone, and what changes files by name without opening them (rights,
 * owners, times, truncation), which Landlock does not see or did not always see. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>

#include "toolchain/internal.h"

#define NAMESPACES_AND_FOREIGN                                                                                         \
  (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |         \
   CLONE_PTRACE | CLONE_UNTRACED | CLONE_PARENT)

/* O_TRUNC is allowed only with opening for writing: before Landlock 3, systems would truncate readable files. */
#define OPENING(index)                                                                                                 \
  {                                                                                                                    \
    {                                                                                                                  \
      .argument = (index), .n = 5, .mask = O_ACCMODE | O_TRUNC, .value = {                                             \
        O_RDONLY,                                                                                                      \
        O_WRONLY,                                                                                                      \
        O_RDWR,                                                                                                        \
        O_WRONLY | O_TRUNC,                                                                                            \
        O_RDWR | O_TRUNC                                                                                               \
      }                                                                                                                \
    }                                                                                                                  \
  }

static const tw_call_rule calls[] = {
    /* files allowed by Landlock, and open files */
    {SYS_read, {{0}}},
    {SYS_write, {{0}}},
    {SYS_close, {{0}}},
    {SYS_lseek, {{0}}},
    {SYS_openat, OPENING(2)},
    {SYS_fstat, {{0}}},
    {SYS_newfstatat, {{0}}},
    {SYS_statx, {{0}}},
    {SYS_pread64, {{0}}},
    {SYS_pwrite64, {{0}}},
    {SYS_readv, {{0}}},
    {SYS_writev, {{0}}},
    {SYS_ftruncate, {{0}}},
    {SYS_fallocate, {{0}}},
    {SYS_getdents64, {{0}}},
    {SYS_faccessat, {{0}}},
    {SYS_readlinkat, {{0}}},
    {SYS_getcwd, {{0}}},
    {SYS_chdir, {{0}}},
    {SYS_unlinkat, {{0}}},
    {SYS_renameat, {{0}}},
    {SYS_renameat2, {{0}}},
    {SYS_mkdirat, {{0}}},
    {SYS_umask, {{0}}},
    {SYS_fsync, {{0}}},
    {SYS_dup, {{0}}},
    {SYS_dup3, {{0}}},
    {SYS_pipe2, {{0}}},
    {SYS_fadvise64, {{0}}},
    {SYS_statfs, {{0}}},
    {SYS_fstatfs, {{0}}},
    {SYS_pselect6, {{0}}},
    {SYS_ppoll, {{0}}},
#if defined SYS_faccessat2
    {SYS_faccessat2, {{0}}},
#endif
#if defined SYS_open /* machines with the older calls */
    {SYS_open, OPENING(1)},
    {SYS_stat, {{0}}},
    {SYS_lstat, {{0}}},
    {SYS_access, {{0}}},
    {SYS_readlink, {{0}}},
    {SYS_unlink, {{0}}},
    {SYS_rmdir, {{0}}},
    {SYS_rename, {{0}}},
    {SYS_mkdir, {{0}}},
    {SYS_dup2, {{0}}},
    {SYS_pipe, {{0}}},
    {SYS_select, {{0}}},
    {SYS_poll, {{0}}},
    {SYS_fork, {{0}}},
    {SYS_vfork, {{0}}},
    {SYS_arch_prctl, {{0}}},
    {SYS_time, {{0}}},
    {SYS_getrlimit, {{0}}},
#endif
    {SYS_fcntl,
     {{.argument = 1,
       .n = 9,
       .value = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW}}}},
    {SYS_ioctl, {{.argument = 1, .n = 4, .value = {TCGETS, TIOCGWINSZ, FIONREAD, FIOCLEX}}}},
    /* memory */
    {SYS_mmap, {{0}}},
    {SYS_munmap, {{0}}},
    {SYS_mprotect, {{0}}},
    {SYS_brk, {{0}}},
    {SYS_mremap, {{0}}},
    TW_CALL_MADVISE,
    {SYS_msync, {{0}}},
    {SYS_membarrier, {{0}}},
    /* programs that are parts of a compiler, and their threads */
    {SYS_clone, {{.argument = 0, .n = 1, .mask = NAMESPACES_AND_FOREIGN, .value = {0}}}},
    {SYS_execve, {{0}}},
    {SYS_wait4, {{0}}},
    {SYS_waitid, {{0}}},
    {SYS_exit, {{0}}},
    {SYS_exit_group, {{0}}},
    {SYS_set_tid_address, {{0}}},
    {SYS_set_robust_list, {{0}}},
    {SYS_futex, {{0}}},
    {SYS_sched_yield, {{0}}},
    TW_CALL_SCHED_GETAFFINITY,
    {SYS_getcpu, {{0}}},
#if defined SYS_rseq
    {SYS_rseq, {{0}}},
#endif
    {SYS_prctl, {{.argument = 0, .n = 2, .value = {PR_SET_NAME, PR_GET_NAME}}}},
    {SYS_prlimit64, {{.argument = 0, .n = 1, .value = {0}}}}, /* its own */
    {SYS_rt_sigaction, {{0}}},
    {SYS_rt_sigprocmask, {{0}}},
    {SYS_rt_sigreturn, {{0}}},
    {SYS_sigaltstack, {{0}}},
    {SYS_restart_syscall, {{0}}},
    /* readable information */
    {SYS_getpid, {{0}}},
    {SYS_gettid, {{0}}},
    {SYS_getppid, {{0}}},
    {SYS_getuid, {{0}}},
    {SYS_geteuid, {{0}}},
    {SYS_getgid, {{0}}},
    {SYS_getegid, {{0}}},
    {SYS_uname, {{0}}},
    {SYS_sysinfo, {{0}}},
    {SYS_getrusage, {{0}}},
    {SYS_times, {{0}}},
    TW_CALL_OF_OWN_CLOCK(SYS_clock_gettime),
    TW_CALL_OF_OWN_CLOCK(SYS_clock_getres),
    {SYS_gettimeofday, {{0}}},
    {SYS_nanosleep, {{0}}},
    TW_CALL_OF_OWN_CLOCK(SYS_clock_nanosleep),
    {SYS_getrandom, {{0}}},
};

const tw_profile tw_tool_profile = {.who = "compilers", .call = calls, .n_calls = sizeof calls / sizeof *calls};
