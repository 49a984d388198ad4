/* confine.c - see confine.h.
 *
 * The mechanism is base/confine.h; here is the profile: computing. The filter is the same for all threads; OpenMP's
 * threads were made before. Loading the kernel's shared object must come after, since loading runs code: the one file
 * that may be "opened" is the descriptor TW_ARENA_KERNEL, which the trap's handler hands out when the loader asks for
 * TW_ARENA_KERNEL_NAME; the system never sees the call. */
#define _GNU_SOURCE
#include "native/runner/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/confine.h"

static tw_arena_results *noted;

#if defined __x86_64__

/* ---- limits ---- */

static void limit(int what, uint64_t most) {
  const struct rlimit r = {.rlim_cur = most, .rlim_max = most};
  setrlimit((__rlimit_resource_t)what, &r);
}

static void set_limits(const tw_arena_orders *o) {
  limit(RLIMIT_CORE, 1); /* no core dumps: files have at least a page, and 1 also stops core collectors (core(5)) */
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NPROC, 0); /* root ignores the limit; the filter stops root, too */
  limit(RLIMIT_MSGQUEUE, 0);
  limit(RLIMIT_MEMLOCK, 0);
  limit(RLIMIT_CPU, o->seconds);
#if !defined __SANITIZE_ADDRESS__ /* the sanitizer's shadow memory takes terabytes of addresses */
  limit(RLIMIT_AS, o->memory);
#endif
}

/* ---- the clock without system calls ---- */

static uintptr_t clock_pages, clock_end; /* where they were; 0: unknown */

/* Unmaps the pages from which functions of the C library read times without a system call, and without rdtsc for
 * coarse clocks. Systems without /proc keep them. */
static void remove_clock(void) {
#if !defined __SANITIZE_ADDRESS__ /* the sanitizer's runtime reads the clock in this process */
  FILE *maps = fopen("/proc/self/maps", "re");
  char line[256];
  unsigned long first, end;
  while (maps && fgets(line, sizeof line, maps)) {
    if (!strstr(line, "[vvar") || sscanf(line, "%lx-%lx", &first, &end) != 2) continue;
    if (munmap((void *)first, end - first) != 0) continue;
    clock_pages = clock_pages ? clock_pages : first;
    clock_end = end;
  }
  if (maps) fclose(maps);
#endif
}

/* ---- what ends it ---- */

/* Ends at once, so that no handler runs that a kernel has registered. */
static void end(void) { syscall(SYS_exit_group, 1); }

/* rdtsc or rdtscp, which the C library's clocks execute, too. */
static bool reads_clock(const uint8_t *code) {
  return code[0] == 0x0F && (code[1] == 0x31 || (code[1] == 0x01 && code[2] == 0xF9));
}

static void on_fault(int signal, siginfo_t *info, void *context) {
  const uint8_t *code = (const uint8_t *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
  /* a fault without an address: of an instruction that was fetched, so its bytes can be read */
  if (signal == SIGSEGV && info->si_code == SI_KERNEL && reads_clock(code)) {
    noted->refused = TW_ARENA_READS_CLOCK;
    end();
  }
  const uintptr_t address = (uintptr_t)info->si_addr;
  if (signal == SIGSEGV && address >= clock_pages && address < clock_end) {
    noted->refused = TW_ARENA_READS_CLOCK;
    end();
  }
  noted->address = address;
  noted->signal = (uint32_t)signal;
  end();
}

/* Answers the loader; any other call ends the process. */
static void on_trap(int signal, siginfo_t *info, void *context) {
  (void)signal;
  greg_t *const r = ((ucontext_t *)context)->uc_mcontext.gregs;
  if (info->si_syscall == SYS_openat && noted->stage == TW_ARENA_LOADING &&
      strcmp((const char *)r[REG_RSI], TW_ARENA_KERNEL_NAME) == 0) {
    r[REG_RAX] = TW_ARENA_KERNEL;
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

/* Calls with any arguments. */
static const int plain[] = {
    /* memory */
    SYS_mmap, SYS_munmap, SYS_mprotect, SYS_brk, SYS_mremap,
    /* existing threads */
    SYS_sched_yield, SYS_gettid, SYS_getpid, SYS_set_robust_list, SYS_rseq, SYS_membarrier, SYS_getcpu,
    SYS_restart_syscall,
    /* the loader, on descriptors that are open */
    SYS_read, SYS_pread64, SYS_fstat, SYS_close,
#if defined __SANITIZE_ADDRESS__ /* the sanitizer asks for the signal stack before a function that does not return */
    SYS_sigaltstack,
#endif
    /* ending, and returning from a signal */
    SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_exit, SYS_exit_group};

static const tw_call_rule calls[] = {
    /* memory */
    TW_CALL_MADVISE,
    /* existing threads: no wait with a time limit, which would be a clock */
    TW_CALL_SCHED_GETAFFINITY,
    {SYS_futex, {{.argument = 3, .n = 1, .value = {0}}, {.argument = 3, .upper = true, .n = 1, .value = {0}}}},
    {SYS_futex,
     {{.argument = 1,
       .mask = FUTEX_CMD_MASK,
       .n = 5,
       .value = {FUTEX_WAKE, FUTEX_WAKE_BITSET, FUTEX_REQUEUE, FUTEX_CMP_REQUEUE, FUTEX_WAKE_OP}}}},
#if defined __SANITIZE_ADDRESS__ /* the sanitizer's runtime reads the clock; kernels cannot (TW_ARENA_READS_CLOCK) */
    TW_CALL_OF_OWN_CLOCK(SYS_clock_gettime),
#endif
};
enum { CALLS = sizeof calls / sizeof *calls };

const char *tw_confine_computing(const tw_arena_orders *o, tw_arena_results *results) {
  static tw_call_rule all[CALLS + 1];
  static tw_error error;
  tw_confinement *c = NULL;
  memcpy(all, calls, sizeof calls);
  /* A thread of this process may receive a stop, which ends a run, and the signal of abort(). */
  all[CALLS] = (tw_call_rule){
      SYS_tgkill,
      {{.argument = 0, .n = 1, .value = {(uint32_t)getpid()}}, {.argument = 2, .n = 2, .value = {SIGSTOP, SIGABRT}}}};
  const tw_profile profile = {.who = "kernels",
                              .plain = plain,
                              .n_plain = sizeof plain / sizeof *plain,
                              .call = all,
                              .n_calls = CALLS + 1,
                              .refusal = TW_REFUSAL_TRAP,
                              .all_threads = true,
                              .paths_may_lack = true};
  noted = results;
  if (tw_confinement_make(&profile, NULL, 0, &c, &error) != TW_OK) return error.text;
  remove_clock();
  set_limits(o);
  catch_signals();
  return tw_confine(c) ? NULL
                       /* c is never freed: it is in use until the process ends */
                       : "this system does not let a process give up its rights";
}

#else

const char *tw_confine_computing(const tw_arena_orders *o, tw_arena_results *results) {
  (void)o;
  noted = results;
  return "kernels are confined on x86-64 with Linux only";
}

#endif
