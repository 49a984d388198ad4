/* verdict.c - see verdict.h. The process's own note is used only as a reason, because the process has ended in any
 * case. */
#include "native/verdict.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Forbidden actions of kernels, and their names: numbers are Linux's. */
static const struct call {
  long number;
  const char *name, *what;
} calls[] = {
#if defined __x86_64__
    {SYS_open, "open", "open a file"},
    {SYS_fork, "fork", "start a process"},
    {SYS_vfork, "vfork", "start a process"},
    {SYS_unlink, "unlink", "remove a file"},
    {SYS_time, "time", "read a clock"},
#endif
    {SYS_openat, "openat", "open a file"},
    {SYS_write, "write", "write to a file"},
    {SYS_clone, "clone", "start a process or a thread"},
    {SYS_clone3, "clone3", "start a process or a thread"},
    {SYS_execve, "execve", "run a program"},
    {SYS_socket, "socket", "use the network"},
    {SYS_connect, "connect", "use the network"},
    {SYS_kill, "kill", "send a signal"},
    {SYS_tgkill, "tgkill", "send a signal"},
    {SYS_ptrace, "ptrace", "look into another process"},
    {SYS_process_vm_readv, "process_vm_readv", "look into another process"},
    {SYS_sched_getaffinity, "sched_getaffinity", "look into another process"},
    {SYS_clock_gettime, "clock_gettime", "read a clock"},
    {SYS_gettimeofday, "gettimeofday", "read a clock"},
    {SYS_rt_sigaction, "rt_sigaction", "catch signals"},
    {SYS_futex, "futex", "wait with a time limit"},
    {SYS_nanosleep, "nanosleep", "sleep"},
    {SYS_clock_nanosleep, "clock_nanosleep", "sleep"},
    {SYS_setrlimit, "setrlimit", "change its limits"},
    {SYS_prlimit64, "prlimit64", "change its limits"},
    {SYS_memfd_create, "memfd_create", "make a file"},
};

static tw_status refused(long number, tw_error *error) {
  if (number == TW_ARENA_READS_CLOCK - 1)
    return tw_fail(error, TW_FAILED,
                   "the kernel tried to read a clock (rdtsc, or a function that uses it); it may only compute");
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    if (calls[i].number == number)
      return tw_fail(error, TW_FAILED, "the kernel tried to %s (system call %s); it may only compute", calls[i].what,
                     calls[i].name);
  return tw_fail(error, TW_FAILED, "the kernel made system call %ld; it may only compute", number);
}

/* The array whose guard page contains `address`. */
static bool is_behind(const tw_arena_array *x, uint64_t base, uint64_t address, uint64_t *bytes) {
  if (!x->bytes || address < base + x->at) return false;
  const uint64_t offset = (address - base - x->at) % x->pitch;
  *bytes = offset - x->bytes + 1;
  return (address - base - x->at) / x->pitch < x->sets && offset >= x->bytes && offset < x->bytes + 2 * TW_ARENA_PAGE;
}

static bool is_inside(const tw_arena_array *x, uint64_t base, uint64_t address) {
  return x->bytes && address >= base + x->at && (address - base - x->at) / x->pitch < x->sets &&
         (address - base - x->at) % x->pitch < x->bytes;
}

static uint64_t base_of(const tw_arena_results *r, const tw_arena_array *x) {
  return x->is_output ? r->outputs : r->inputs;
}

static tw_status faulted(const tw_arena_orders *o, const tw_arena_results *r, int number, tw_error *error) {
  const uint32_t n = number == SIGSEGV || number == SIGBUS ? o->n_operands : 0;
  uint64_t bytes;
  for (uint32_t i = 0; i < n; i++)
    if (is_inside(&o->operand[i], base_of(r, &o->operand[i]), r->address))
      return tw_fail(error, TW_FAILED,
                     o->operand[i].is_output ? "the kernel makes its output %s inaccessible"
                                             : "the kernel writes to its input %s",
                     o->operand[i].name);
  for (uint32_t i = 0; i < n; i++)
    if (is_behind(&o->operand[i], base_of(r, &o->operand[i]), r->address, &bytes))
      return tw_fail(error, TW_FAILED, "the kernel accesses memory %" PRIu64 " byte%s after %s", bytes,
                     bytes == 1 ? "" : "s", o->operand[i].name);
  if (number == SIGSEGV || number == SIGBUS)
    return tw_fail(error, TW_FAILED,
                   "the kernel died of %s at address 0x%" PRIx64 " (its memory is limited to %" PRIu64 " MiB)",
                   number == SIGSEGV ? "a segmentation fault" : "a bus error", r->address, o->memory >> 20);
  return tw_fail(error, TW_FAILED, "the kernel died of signal %d (%s)", number, strsignal(number));
}

tw_status tw_sandbox_verdict(const tw_arena_orders *o, const tw_arena_results *r, int status, double limit,
                             tw_error *error) {
  if (limit > 0) return tw_fail(error, TW_FAILED, "the kernel did not end within %.3g s", limit);
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))
    return tw_fail(error, TW_FAILED, "the kernel exceeded %" PRIu64 " s of processor time, or the system's memory",
                   o->seconds);
  if (r->refused) return refused((long)r->refused - 1, error);
  if (r->signal) return faulted(o, r, (int)r->signal, error);
  if (WIFSIGNALED(status)) return faulted(o, r, WTERMSIG(status), error);
  return tw_fail(error, TW_FAILED, "the kernel ended its process (exit status %d) instead of computing",
                 WEXITSTATUS(status));
}
