/* confine.c - see confine.h.
 *
 * The filter (seccomp) lists what is allowed, never what is forbidden, and is the same for all threads; those that OpenMP
 * needs were made before. Loading the kernel's shared object must come after, since loading runs its code: the one file
 * that may be "opened" is the descriptor ARENA_KERNEL, which the trap's handler hands out when the loader asks for
 * ARENA_KERNEL_NAME; the system never sees the call. */
#define _GNU_SOURCE
#include "target/x86/runner/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static arena_results *noted;

#if defined __x86_64__

/* ---- limits ---- */

static void limit(int what, uint64_t most) {
  const struct rlimit r = {.rlim_cur = most, .rlim_max = most};
  setrlimit((__rlimit_resource_t)what, &r);
}

static void set_limits(const arena_orders *o) {
  limit(RLIMIT_CORE, 1); /* no core: files have at least a page, and 1 turns collectors of cores away, too (core(5)) */
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NPROC, 0); /* root passes it by; the filter stops root, too */
  limit(RLIMIT_MSGQUEUE, 0);
  limit(RLIMIT_MEMLOCK, 0);
  limit(RLIMIT_CPU, o->seconds);
#if !defined __SANITIZE_ADDRESS__ /* whose shadow takes terabytes of addresses */
  limit(RLIMIT_AS, o->memory);
#endif
}

/* No access to any path, if the kernel has Landlock: a second wall behind the filter. */
static void use_landlock(void) {
  const struct landlock_ruleset_attr all = {.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1};
  const long rules = syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
  if (rules < 0) return;
  syscall(SYS_landlock_restrict_self, rules, 0);
  close((int)rules);
}

/* ---- what ends it ---- */

/* At once: nothing runs that a kernel has registered. */
static void end(void) { syscall(SYS_exit_group, 1); }

static void on_fault(int signal, siginfo_t *info, void *context) {
  (void)context;
  noted->address = (uint64_t)(uintptr_t)info->si_addr;
  noted->signal = (uint32_t)signal;
  end();
}

/* Answers the loader; everything else is the end. */
static void on_trap(int signal, siginfo_t *info, void *context) {
  (void)signal;
  greg_t *const r = ((ucontext_t *)context)->uc_mcontext.gregs;
  if (info->si_syscall == SYS_openat && noted->stage == ARENA_LOADING &&
      strcmp((const char *)r[REG_RSI], ARENA_KERNEL_NAME) == 0) {
    r[REG_RAX] = ARENA_KERNEL;
    return;
  }
  if (info->si_syscall == SYS_newfstatat && r[REG_R10] == AT_EMPTY_PATH && *(const char *)r[REG_RSI] == '\0') {
    const long result = syscall(SYS_fstat, r[REG_RDI], r[REG_RDX]);
    r[REG_RAX] = result < 0 ? -errno : result;
    return;
  }
  noted->refused = (uint32_t)info->si_syscall + 1;
  end();
}

static void catch_signals(void) {
  enum { STACK = 64 << 10 };
  static char stack[STACK];
  const stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
  static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};
  struct sigaction a = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND};
  sigaltstack(&alternative, NULL);
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigaction(faults[i], &a, NULL);
  a.sa_sigaction = on_trap;
  a.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSYS, &a, NULL);
}

/* ---- the filter ---- */

static const int allowed[] = {
    /* memory */
    SYS_mmap, SYS_munmap, SYS_mprotect, SYS_madvise, SYS_brk, SYS_mremap,
    /* threads that there are */
    SYS_futex, SYS_sched_yield, SYS_gettid, SYS_getpid, SYS_set_robust_list, SYS_rseq, SYS_membarrier, SYS_getcpu,
    SYS_sched_getaffinity, SYS_restart_syscall,
    /* the loader, on descriptors that are open */
    SYS_read, SYS_pread64, SYS_fstat, SYS_close,
    /* the time: the library has a clock of its own */
    SYS_clock_gettime, SYS_gettimeofday, SYS_time,
    /* the end, and the way back from a signal */
    SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_exit, SYS_exit_group};
enum { ALLOWED = sizeof allowed / sizeof *allowed, FILTER_MAX = 4 * ALLOWED + 32 };

typedef struct program {
  struct sock_filter step[FILTER_MAX];
  unsigned short n;
} program;

static void add(program *p, unsigned code, uint32_t k, int if_true, int if_false) {
  p->step[p->n++] = (struct sock_filter){(unsigned short)code, (unsigned char)if_true, (unsigned char)if_false, k};
}

static void add_load(program *p, size_t offset) { add(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0); }

/* A thread of this process may be sent a stop, which is how a run ends, and what abort() sends. */
static void allow_signals_to_itself(program *p) {
  add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 7);
  add_load(p, offsetof(struct seccomp_data, args[0]));
  add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)getpid(), 0, 4);
  add_load(p, offsetof(struct seccomp_data, args[2]));
  add(p, BPF_JMP | BPF_JEQ | BPF_K, SIGSTOP, 1, 0);
  add(p, BPF_JMP | BPF_JEQ | BPF_K, SIGABRT, 0, 1);
  add(p, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
  add(p, BPF_RET | BPF_K, SECCOMP_RET_TRAP, 0, 0);
}

static const char *set_filter(void) {
  static program p;
  enum { X32 = 0x40000000 };
  add_load(&p, offsetof(struct seccomp_data, arch));
  add(&p, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
  add(&p, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
  add_load(&p, offsetof(struct seccomp_data, nr));
  add(&p, BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1);
  add(&p, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
  for (int i = 0; i < ALLOWED; i++) {
    add(&p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)allowed[i], 0, 1);
    add(&p, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
  }
  allow_signals_to_itself(&p);
  add(&p, BPF_RET | BPF_K, SECCOMP_RET_TRAP, 0, 0);
  const struct sock_fprog filter = {.len = p.n, .filter = p.step};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "this system does not let a process give up its rights";
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) != 0)
    return "this system has no filter for system calls (seccomp)";
  return NULL;
}

const char *confine(const arena_orders *o, arena_results *results) {
  noted = results;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "this system does not let a process give up its rights";
  set_limits(o);
  use_landlock();
  catch_signals();
  return set_filter();
}

#else

const char *confine(const arena_orders *o, arena_results *results) {
  (void)o;
  noted = results;
  return "kernels are confined on x86-64 with Linux only";
}

#endif
