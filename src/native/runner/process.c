/* process.c - see process.h. */
#define _GNU_SOURCE
#include "native/runner/process.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/confine.h"
#include "native/runner/confine.h"

/* Sent only to this thread, which stops before the call returns, together with all other threads. Another thread
 * could receive a signal for the whole process, while this one continues for a while. */
static void stop(void) { syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), SIGSTOP); }

void tw_native_give_up(tw_native *n, const char *why) {
  snprintf(n->results->message, sizeof n->results->message, "%s", why);
  for (;;) stop();
}

/* ---- the arena ---- */

static void *map_all(int file, uint64_t bytes, int protection) {
  void *p = mmap(NULL, bytes, protection, MAP_SHARED, file, 0);
  return p == MAP_FAILED ? NULL : p;
}

static char *base_of(const tw_native *n, const tw_arena_array *x) {
  return x->is_output ? (char *)n->results : (char *)(uintptr_t)n->orders;
}

/* The page after an array. */
static char *guard_of(const tw_native *n, const tw_arena_array *x, uint32_t set) {
  return base_of(n, x) + x->at - tw_arena_slack(x->bytes) + (set + 1) * x->pitch - TW_ARENA_PAGE;
}

static void guard(const tw_native *n, const tw_arena_array *x) {
  for (uint32_t i = 0; i < x->sets; i++) mprotect(guard_of(n, x, i), TW_ARENA_PAGE, PROT_NONE);
}

/* The system reads a set of signals there, or answers that it cannot: the filter permits this call. */
void tw_native_check_guards(tw_native *n) {
  enum { SET_BYTES = 8 };
  for (uint32_t i = 0; i < n->orders->n_operands; i++)
    for (uint32_t set = 0; set < n->orders->operand[i].sets; set++)
      if (syscall(SYS_rt_sigprocmask, SIG_BLOCK, guard_of(n, &n->orders->operand[i], set), NULL, SET_BYTES) == 0)
        tw_native_give_up(n, "the kernel makes the guard page after an operand accessible");
}

/* rdtsc becomes a fault, in threads that are made from now on, too. A kernel could see by the time of a load that its
 * weights are new, and keep what it made of old ones. */
static void hide_clock(void) {
#if defined __x86_64__ && !defined __SANITIZE_ADDRESS__ /* the sanitizer's runtime reads the clock in this process */
  prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
#endif
}

bool tw_native_open(tw_native *n) {
  const tw_arena_orders *first = map_all(TW_ARENA_ORDERS, TW_ARENA_PAGE, PROT_READ);
  if (!tw_drop_capabilities()) return false; /* before threads exist, because threads would keep their capabilities */
  hide_clock();
  if (!first || first->version != TW_ARENA_VERSION || first->size != sizeof *first) return false;
  n->orders = map_all(TW_ARENA_ORDERS, first->orders_bytes, PROT_READ);
  n->results = map_all(TW_ARENA_RESULTS, first->results_bytes, PROT_READ | PROT_WRITE);
  if (!n->orders || !n->results) return false;
  n->results->inputs = (uint64_t)(uintptr_t)n->orders;
  n->results->outputs = (uint64_t)(uintptr_t)n->results;
  for (uint32_t i = 0; i < n->orders->n_operands; i++) guard(n, &n->orders->operand[i]);
  mprotect((char *)n->results + TW_ARENA_PAGE, TW_ARENA_PAGE, PROT_NONE);
  return true;
}

void *tw_native_operand(const tw_native *n, size_t operand, uint32_t set) {
  const tw_arena_array *x = &n->orders->operand[operand];
  return x->bytes ? base_of(n, x) + x->at + (x->sets > 1 ? set : 0) * x->pitch : NULL;
}

/* ---- the kernel ---- */

void tw_native_confine(tw_native *n) {
  const char *why = tw_confine_computing(n->orders, n->results);
  if (why) tw_native_give_up(n, why);
}

void *tw_native_load(tw_native *n) {
  n->results->stage = TW_ARENA_LOADING;
  void *object = dlopen(TW_ARENA_KERNEL_NAME, RTLD_NOW | RTLD_LOCAL);
  if (!object) tw_native_give_up(n, dlerror());
  n->results->stage = TW_ARENA_PREPARING;
  return object;
}

void tw_native_serve(tw_native *n, const tw_native_work *w) {
  n->results->stage = TW_ARENA_READY;
  for (stop(); n->orders->command != TW_ARENA_QUIT; stop()) {
    const uint32_t sets = n->orders->run_sets;
    if (n->orders->command == TW_ARENA_PREPARE && w->prepare) w->prepare(w->context, sets);
    for (uint32_t i = 0; n->orders->command == TW_ARENA_RUN && i < sets; i++) w->compute(w->context, i);
  }
  _exit(0);
}
