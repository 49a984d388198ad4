/* main.c - the process in which kernels run that nobody trusts: tilewright-x86-runner. Started by tune/sandbox.c alone.
 *
 *   map orders and results; make the threads; confine; load the kernel; pack B
 *   stop; for each order: compute the first sets of C from those of A; stop
 *
 * It is a program of its own and not a fork: there is nothing in its memory that a kernel could learn from. Whatever it
 * says of itself, the library measures and checks from outside, while it is stopped. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/pages.h"
#include "target/x86/cpu.h"
#include "target/x86/runner/confine.h"
#include "target/x86/tune/apply.h"

typedef void whole_gemm(const void *, const void *, void *, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int);
typedef size_t whole_packed_bytes(int64_t, int64_t);
typedef void whole_pack(const void *, void *, int64_t, int64_t, int64_t);

/* What was loaded: a whole product, or a plan with the kernel. */
typedef struct runner {
  const arena_orders *orders;
  char *inputs, *outputs;
  arena_results *results;
  whole_gemm *gemm;
  whole_packed_bytes *packed_bytes;
  whole_pack *pack;
  tw_gemm_planned *plan;
  char *packed;
  size_t stride, copies, next;
} runner;

/* Sent to this thread alone, which stops before the call returns, and the others with it. One for the whole process could
 * be taken by another thread, and this one go on for a while. */
static void stop(void) { syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), SIGSTOP); }

/* The library reads the message and ends the process. */
static _Noreturn void give_up(runner *r, const char *why) {
  snprintf(r->results->message, sizeof r->results->message, "%s", why);
  for (;;) stop();
}

/* ---- the arena ---- */

static char *map_all(int file, uint64_t bytes, int protection) {
  void *p = mmap(NULL, bytes, protection, MAP_SHARED, file, 0);
  return p == MAP_FAILED ? NULL : p;
}

/* The pages before and behind each array become untouchable. */
static void guard(char *base, const arena_array *x) {
  for (uint32_t i = 0; x->bytes && i < x->sets; i++)
    mprotect(base + (x->at - arena_slack(x->bytes)) + (i + 1) * x->stride - ARENA_PAGE, ARENA_PAGE, PROT_NONE);
}

static bool map_arena(runner *r) {
  const arena_orders *first = (const void *)map_all(ARENA_ORDERS, ARENA_PAGE, PROT_READ);
  if (!first || first->version != ARENA_VERSION || first->size != sizeof *first) return false;
  r->inputs = map_all(ARENA_ORDERS, first->orders_bytes, PROT_READ);
  r->outputs = map_all(ARENA_RESULTS, first->results_bytes, PROT_READ | PROT_WRITE);
  if (!r->inputs || !r->outputs) return false;
  r->orders = (const void *)r->inputs;
  r->results = (void *)r->outputs;
  r->results->inputs = (uint64_t)(uintptr_t)r->inputs;
  r->results->outputs = (uint64_t)(uintptr_t)r->outputs;
  guard(r->inputs, &r->orders->a);
  guard(r->inputs, &r->orders->b);
  guard(r->inputs, &r->orders->bias);
  guard(r->outputs, &r->orders->c);
  mprotect(r->outputs + ARENA_PAGE, ARENA_PAGE, PROT_NONE);
  return true;
}

static const void *input(const runner *r, const arena_array *x, uint32_t set) {
  return x->bytes ? r->inputs + x->at + (x->sets > 1 ? set : 0) * x->stride : NULL;
}

/* ---- the kernel ---- */

static void make_threads(int threads) {
  int n = 0;
  omp_set_dynamic(0);
#pragma omp parallel num_threads(threads) reduction(+ : n)
  n++;
  (void)n;
}

static void make_plan(runner *r, const x86_kernel *kernel, const x86_blocks *blocks) {
  const x86_tuned tuned = {.kernel = kernel, .blocks = *blocks};
  tw_error error;
  if (x86_plan(&r->orders->spec, &tuned, &r->plan, &error) != TW_OK) give_up(r, error.text);
}

static void load(runner *r) {
  r->results->stage = ARENA_LOADING;
  void *object = dlopen(ARENA_KERNEL_NAME, RTLD_NOW | RTLD_LOCAL);
  if (!object) give_up(r, dlerror());
  const x86_kernel *const *kernel = dlsym(object, "tilewright_kernel");
  const x86_blocks *blocks = dlsym(object, "tilewright_blocks");
  *(void **)&r->gemm = dlsym(object, "gemm");
  *(void **)&r->packed_bytes = dlsym(object, "gemm_packed_bytes");
  *(void **)&r->pack = dlsym(object, "gemm_pack");
  if (r->gemm) return;
  if (kernel && blocks)
    make_plan(r, *kernel, blocks);
  else
    give_up(r, "the source defines no function `gemm`");
}

static void pack(runner *r) {
  const tw_gemm_spec *s = &r->orders->spec;
  const void *b = input(r, &r->orders->b, 0);
  r->results->stage = ARENA_PACKING;
  const bool packs = !r->gemm || (r->packed_bytes && r->pack);
  if (!packs && r->orders->copies <= 1) return;
  /* Weights in turn are weights in turn for those as well that take B as it is. */
  const size_t bytes = !packs    ? r->orders->b.bytes
                       : r->gemm ? r->packed_bytes(s->n, s->k)
                                 : tw_gemm_packed_bytes(r->plan);
  r->stride = (bytes + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
  r->copies = r->orders->copies;
  if (!bytes || !(r->packed = tw_new_pages(r->stride * r->copies))) give_up(r, "no memory for the packed weights");
  if (!packs)
    memcpy(r->packed, b, bytes);
  else if (r->gemm)
    r->pack(b, r->packed, s->n, s->k, s->ldb);
  else
    tw_gemm_pack(r->plan, b, r->packed, NULL);
  for (size_t i = 1; i < r->copies; i++) memcpy(r->packed + i * r->stride, r->packed, r->stride);
}

static void compute(runner *r, uint32_t set) {
  const tw_gemm_spec *s = &r->orders->spec;
  const char *b = r->packed ? r->packed + r->next * r->stride : NULL;
  if (r->packed && ++r->next == r->copies) r->next = 0;
  const void *a = input(r, &r->orders->a, set);
  void *c = r->outputs + r->orders->c.at + set * r->orders->c.stride;
  if (r->gemm) {
    r->gemm(a, b ? b : input(r, &r->orders->b, 0), c, s->m, s->n, s->k, s->lda, s->ldb, s->ldc, s->threads);
    return;
  }
  const tw_gemm_operands o = {.a = a, .packed_b = b, .c = c, .bias = input(r, &r->orders->bias, 0)};
  tw_gemm_execute(r->plan, &o, NULL);
}

int main(void) {
  static runner r;
  if (!tw_drop_capabilities() || !map_arena(&r)) return 2; /* before there are threads, which would keep theirs */
  x86_this_cpu();
  make_threads(r.orders->spec.threads);
  const char *why = confine(r.orders, r.results);
  if (why) give_up(&r, why);
  load(&r);
  pack(&r);
  r.results->stage = ARENA_READY;
  for (stop(); r.orders->command == ARENA_RUN; stop()) {
    for (uint32_t i = 0; i < r.orders->run_sets; i++) compute(&r, i);
  }
  _exit(0);
}
