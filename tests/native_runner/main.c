/* main.c - the runner of test_native.c: calls kernel(operands as the arena describes them, how many, where they
 * lie). */
#include <dlfcn.h>

#include "native/runner/process.h"

typedef void any_kernel(const tw_arena_array *, uint32_t n, void *const at[]);

typedef struct runner {
  tw_native process;
  any_kernel *kernel;
} runner;

static void compute(void *context, uint32_t set) {
  runner *r = context;
  void *at[TW_OPERANDS_MAX];
  const uint32_t n = r->process.orders->n_operands;
  for (uint32_t i = 0; i < n; i++) at[i] = tw_native_operand(&r->process, i, set);
  r->kernel(r->process.orders->operand, n, at);
}

int main(void) {
  static runner r;
  if (!tw_native_open(&r.process)) return 2;
  tw_native_confine(&r.process);
  *(void **)&r.kernel = dlsym(tw_native_load(&r.process), "kernel");
  if (!r.kernel) tw_native_give_up(&r.process, "the source defines no function `kernel`");
  tw_native_serve(&r.process, &(tw_native_work){.compute = compute, .context = &r});
}
