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

/* Calls with any arguments. */
static const int plain[] = {
    /* files allowed by Landlock, and open files */
    SYS_read, SYS_write, SYS_close, SYS_lseek, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_pread64, SYS_pwrite64,
    SYS_readv, SYS_writev, SYS_ftruncate, SYS_fallocate, SYS_getdents64, SYS_faccessat, SYS_readlinkat, SYS_getcwd,
    SYS_chdir, SYS_unlinkat, SYS_renameat, SYS_renameat2, SYS_mkdirat, SYS_umask, SYS_fsync, SYS_dup, SYS_dup3,
    SYS_pipe2, SYS_fadvise64, SYS_statfs, SYS_fstatfs, SYS_pselect6, SYS_ppoll,
#if defined SYS_faccessat2
    SYS_faccessat2,
#endif
#if defined SYS_open /* machines with the older calls */
    SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_unlink, SYS_rmdir, SYS_rename, SYS_mkdir, SYS_dup2, SYS_pipe,
    SYS_select, SYS_poll, SYS_fork, SYS_vfork, SYS_arch_prctl, SYS_time, SYS_getrlimit,
#endif
    /* memory */
    SYS_mmap, SYS_munmap, SYS_mprotect, SYS_brk, SYS_mremap, SYS_msync, SYS_membarrier,
    /* programs that are parts of a compiler, and their threads */
    SYS_execve, SYS_wait4, SYS_waitid, SYS_exit, SYS_exit_group, SYS_set_tid_address, SYS_set_robust_list, SYS_futex,
    SYS_sched_yield, SYS_getcpu,
#if defined SYS_rseq
    SYS_rseq,
#endif
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_restart_syscall,
    /* readable information */
    SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_uname, SYS_sysinfo,
    SYS_getrusage, SYS_times, SYS_gettimeofday, SYS_nanosleep, SYS_getrandom};

static const tw_call_rule calls[] = {
    /* files allowed by Landlock, and open files */
    {SYS_openat, OPENING(2)},
#if defined SYS_open /* machines with the older calls */
    {SYS_open, OPENING(1)},
#endif
    {SYS_fcntl,
     {{.argument = 1,
       .n = 9,
       .value = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW}}}},
    {SYS_ioctl, {{.argument = 1, .n = 4, .value = {TCGETS, TIOCGWINSZ, FIONREAD, FIOCLEX}}}},
    /* memory */
    TW_CALL_MADVISE,
    /* programs that are parts of a compiler, and their threads */
    {SYS_clone, {{.argument = 0, .n = 1, .mask = NAMESPACES_AND_FOREIGN, .value = {0}}}},
    TW_CALL_SCHED_GETAFFINITY,
    {SYS_prctl, {{.argument = 0, .n = 2, .value = {PR_SET_NAME, PR_GET_NAME}}}},
    {SYS_prlimit64, {{.argument = 0, .n = 1, .value = {0}}}}, /* its own */
    /* readable information */
    TW_CALL_OF_OWN_CLOCK(SYS_clock_gettime),
    TW_CALL_OF_OWN_CLOCK(SYS_clock_getres),
    TW_CALL_OF_OWN_CLOCK(SYS_clock_nanosleep)};

const tw_profile tw_tool_profile = {.who = "compilers",
                                    .plain = plain,
                                    .n_plain = sizeof plain / sizeof *plain,
                                    .call = calls,
                                    .n_calls = sizeof calls / sizeof *calls};
