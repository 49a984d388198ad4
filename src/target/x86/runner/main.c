/* main.c - tilewright-x86-runner: the process in which kernels of gemm run. tune/measure.c starts it through
 * native/sandbox.h; native/runner/process.h lists its permissions. The kernel is a whole product, or a plan with its
 * innermost function. */
#include <dlfcn.h>
#include <omp.h>
#include <signal.h>
#include <string.h>

#include "base/pages.h"
#include "native/runner/process.h"
#include "target/x86/cpu.h"
#include "target/x86/runner/registers.h"
#include "target/x86/runner/task.h"
#include "target/x86/threads.h"
#include "target/x86/tune/apply.h"

typedef size_t whole_packed_bytes(int64_t, int64_t);
typedef uintptr_t word; /* an argument */

enum { A, B, D }; /* operands; C is the last one */

typedef struct runner {
  tw_native process;
  const x86_task *task;
  x86_function *gemm, *pack; /* of a whole product */
  whole_packed_bytes *packed_bytes;
  tw_gemm_plan *plan;
  char *packed;
  size_t bytes, stride; /* bytes of the weights of a set */
  bool packs;
  uint64_t settings;    /* of all threads before the kernel was loaded */
  sigset_t blocked;     /* signals that the calling thread blocks, before the kernel was loaded */
  _Atomic bool differs; /* true if the settings of a thread have changed */
} runner;

static void do_nothing(void *context, int member) { (void)context, (void)member; }

/* Nothing can start threads later: neither OpenMP, for whole products, nor plans. Nor can a clock be read. */
static void make_threads(int threads) {
  int n = 0;
  omp_set_dynamic(0);
#pragma omp parallel num_threads(threads) reduction(+ : n)
  n++;
  (void)n;
  x86_keep_team();
  if (threads > 1) x86_run_on_threads(threads, do_nothing, NULL);
}

static void make_plan(runner *r, const x86_kernel *kernel, const x86_blocks *blocks) {
  const x86_tuned tuned = {.kernel = kernel, .blocks = *blocks};
  tw_error error;
  if (x86_plan(&r->task->spec, &tuned, &r->plan, &error) != TW_OK) tw_native_give_up(&r->process, error.text);
}

static void load(runner *r) {
  void *object = tw_native_load(&r->process);
  const x86_kernel *const *kernel = dlsym(object, "tilewright_kernel");
  const x86_blocks *blocks = dlsym(object, "tilewright_blocks");
  *(void **)&r->gemm = dlsym(object, "gemm");
  *(void **)&r->packed_bytes = dlsym(object, "gemm_packed_bytes");
  *(void **)&r->pack = dlsym(object, "gemm_pack");
  if (r->gemm) return;
  if (kernel && blocks)
    make_plan(r, *kernel, blocks);
  else
    tw_native_give_up(&r->process, "the source defines no function `gemm`");
}

/* Allocates the weights of all sets; kernels that read B in place get copies. A single set needs no copy. */
static void make_room(runner *r) {
  const tw_gemm_spec *s = &r->task->spec;
  r->packs = !r->gemm || (r->packed_bytes && r->pack);
  if (!r->packs && r->task->copies <= 1) return;
  r->bytes = !r->packs ? r->process.orders->operand[B].bytes
             : r->gemm ? r->packed_bytes(s->n, s->k)
                       : tw_gemm_packed_bytes(r->plan);
  r->stride = (r->bytes + TW_ARENA_ALIGNMENT - 1) / TW_ARENA_ALIGNMENT * TW_ARENA_ALIGNMENT;
  if (!r->bytes || r->bytes > SIZE_MAX / 2 / r->task->copies ||
      !(r->packed = tw_new_pages(r->stride * r->task->copies)))
    tw_native_give_up(&r->process, "no memory for the packed weights");
}

/* The settings that a kernel must restore: rounding, flushing of subnormals and exceptions of SSE and x87, and flags by
 * which string instructions run backwards and unaligned accesses fault. The flags are cleared for the code that
 * follows. */
static uint64_t settings(void) {
#ifdef __x86_64__
  enum { BACKWARDS = 1 << 10, ALIGNED = 1 << 18 };
  const uint64_t all = __builtin_ia32_readeflags_u64(), flags = all & (BACKWARDS | ALIGNED);
  uint16_t x87;
  if (flags) __builtin_ia32_writeeflags_u64(all & ~(uint64_t)(BACKWARDS | ALIGNED));
  __asm__("fnstcw %0" : "=m"(x87));
  return (__builtin_ia32_stmxcsr() & 0xffc0) | (uint64_t)x87 << 16 | flags << 32;
#else
  return 0;
#endif
}

/* Calls a function on each thread of the kernel's team. */
static void on_all_threads(runner *r, void (*function)(void *context, int member)) {
  const int threads = r->process.orders->threads;
  if (!r->gemm && threads > 1) {
    x86_run_on_threads(threads, function, r);
    return;
  }
#pragma omp parallel num_threads(threads)
  function(r, omp_get_thread_num());
}

static void compare_settings(void *context, int member) {
  runner *r = context;
  (void)member;
  if (settings() != r->settings) r->differs = true;
}

static void check_settings(runner *r) {
  on_all_threads(r, compare_settings);
  if (r->differs)
    tw_native_give_up(
        &r->process,
        "the kernel changes rounding, exceptions or subnormals of floating-point arithmetic, or leaves the "
        "direction or alignment flag set");
}

static void call(runner *r, x86_function *f, const word arguments[X86_ARGUMENTS]) {
  if (!x86_call_keeps_registers(f, arguments))
    tw_native_give_up(&r->process, "the kernel changes registers that a function must keep: rbx, rbp, rsp, r12 to r15");
}

/* The current contents of B become the weights of the set. Settings of all threads are checked here, too, because calls
 * are timed. */
static void pack(void *context, uint32_t set) {
  runner *r = context;
  const tw_gemm_spec *s = &r->task->spec;
  const void *b = tw_native_operand(&r->process, B, 0);
  check_settings(r);
  tw_native_check_guards(&r->process);
  if (!r->packed || set >= r->task->copies) return;
  char *to = r->packed + set * r->stride;
  if (!r->packs)
    memcpy(to, b, r->bytes);
  else if (r->gemm)
    call(r, r->pack, (word[X86_ARGUMENTS]){(word)b, (word)to, (word)s->n, (word)s->k, (word)s->ldb});
  else
    tw_gemm_pack(r->plan, b, to, NULL);
}

/* Fills the stack with NaN, for kernels that read it without writing first and expect zeros. */
static __attribute__((noinline)) void dirty_stack(void *context, int member) {
  enum { BYTES = 256 << 10 };
  (void)context, (void)member;
  volatile char room[BYTES];
  memset((char *)room, TW_POISON, BYTES);
  __asm__ volatile("" : : "r"(room) : "memory");
}

/* Registers of x87 must be empty, or the caller's `long double` is NaN: MMX without emms fills them. */
static bool leaves_x87_registers(void) {
#ifdef __SSE__
  struct {
    uint16_t control, a, status, b, tags, c;
    uint32_t pointers[4];
  } state;
  __asm__ volatile("fnstenv %0\n\tfldenv %0" : "=m"(state)); /* storing also masks exceptions */
  return state.tags != 0xffff;
#else
  return false;
#endif
}

static sigset_t blocked_signals(void) {
  sigset_t now;
  memset(&now, 0, sizeof now); /* the system sets a part */
  sigprocmask(SIG_SETMASK, NULL, &now);
  return now;
}

static void multiply(void *context, uint32_t set);

static void compute(void *context, uint32_t set) {
  runner *r = context;
  if (r->task->dirty) on_all_threads(r, dirty_stack);
  multiply(context, set);
  compare_settings(r, 0);
  if (r->task->dirty || r->differs) check_settings(r);
  if (r->task->dirty && leaves_x87_registers())
    tw_native_give_up(&r->process, "the kernel leaves values in x87 or MMX registers; end with emms");
  if (r->task->dirty) {
    tw_native_check_guards(&r->process);
    const sigset_t blocked = blocked_signals();
    if (memcmp(&blocked, &r->blocked, sizeof blocked) != 0)
      tw_native_give_up(&r->process, "the kernel changes which signals are blocked");
  }
}

/* Until `compute` looks at the alignment flag, nothing may access memory unaligned, as the sanitizer's code at the end
 * of a function with arrays does. */
__attribute__((no_sanitize_address)) static void multiply(void *context, uint32_t set) {
  runner *r = context;
  const tw_gemm_spec *s = &r->task->spec;
  const size_t last = r->process.orders->n_operands - 1;
  const char *b = r->packed ? r->packed + set * r->stride : NULL;
  const void *a = tw_native_operand(&r->process, A, set);
  void *c = tw_native_operand(&r->process, last, set);
  if (r->gemm) {
    const void *weights = b ? b : tw_native_operand(&r->process, B, 0);
    call(r, r->gemm,
         (word[X86_ARGUMENTS]){(word)a, (word)weights, (word)c, (word)s->m, (word)s->n, (word)s->k, (word)s->lda,
                               (word)s->ldb, (word)s->ldc, (word)s->threads});
    return;
  }
  const void *bias = last == D ? NULL : tw_native_operand(&r->process, D, 0);
  const tw_gemm_operands o = {.size = sizeof o, .a = a, .packed_b = b, .c = c, .bias = bias};
  call(r, (x86_function *)tw_gemm_plan_execute, (word[X86_ARGUMENTS]){(word)r->plan, (word)&o});
}

int main(void) {
  static runner r;
  if (!tw_native_open(&r.process)) return 2;
  r.task = (const void *)r.process.orders->task;
  x86_cpu_is(&r.task->cpu);
  make_threads(r.process.orders->threads);
  tw_native_confine(&r.process);
  r.settings = settings();
  r.blocked = blocked_signals();
  load(&r);
  make_room(&r);
  pack(&r, 0);
  tw_native_serve(&r.process, &(tw_native_work){.compute = compute, .prepare = pack, .context = &r});
}
