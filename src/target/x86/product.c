/* product.c - see gemm/product.h. */
#include "gemm/product.h"

#include "base/parallel.h"
#include "target/x86/loops.h"
#include "target/x86/pack.h"
#include "target/x86/tune/apply.h"

typedef struct x86_product {
  const tw_gemm_plan *plan;
  const void *b;
  float scale;
  char *memory;
  tw_gemm_operands operands;
  char *workspaces;
  int64_t together, groups; /* number of panels that are packed together; number of such groups in each block of k */
  atomic_int next_packing, packed_so_far;
  x86_deal deal;
} x86_product;

_Static_assert(sizeof(tw_gemm_plan) <= sizeof(tw_product_plan) && sizeof(x86_product) <= sizeof(tw_product),
               "the structs of gemm/product.h hold those of this target");
static const tw_gemm_plan *plan_of(const tw_product_plan *p) { return (const void *)p; }

enum {
  FEW_ROWS = 512, /* with at most this number of rows, packed B is not written to memory and read back */
  ROWS_OF_A_THREAD = 64,
  SMALL = 1 << 27, /* multiply-adds */
  TASKS_OF_A_THREAD = 2
};

/* Where several threads share many rows, each would pack the same columns. In a small product that takes less time than
 * to wait for each other and to fetch what another core has packed: on 16 cores of an Intel server 128^3 takes 12
 * instead of 24 us, 384^3 102 instead of 168. From 768^3 on both take the same time. */
static x86_b_mode b_mode(const tw_gemm_spec *s) {
  if (s->m > FEW_ROWS) return X86_B_PACKED;
  const bool small = s->m * s->n * s->k <= SMALL;
  return s->threads == 1 || s->m <= ROWS_OF_A_THREAD || small ? X86_B_STORED : X86_B_PACKED_FOR_ROWS;
}

tw_status tw_product_plan_make(const tw_gemm_spec *s, tw_product_plan *out, tw_error *error) {
  return x86_describe(s, NULL, b_mode(s), (void *)out, error);
}

int tw_product_threads(const tw_product_plan *p) { return plan_of(p)->threads; }

/* Bytes of B that all threads pack together. */
static size_t packed_bytes(const tw_gemm_plan *p) {
  const size_t bytes = p->packs_b ? 0 : tw_gemm_packed_bytes(p);
  return (bytes + TW_GEMM_ALIGNMENT - 1) / TW_GEMM_ALIGNMENT * TW_GEMM_ALIGNMENT;
}

size_t tw_product_bytes(const tw_product_plan *plan) {
  const tw_gemm_plan *p = plan_of(plan);
  return packed_bytes(p) + (size_t)p->threads * p->bytes_per_thread;
}

/* Few panels are packed one at a time, so that all threads have some. */
void tw_product_begin(tw_product *product, const tw_product_plan *plan, const void *a, const void *b, void *c,
                      float scale, char *memory) {
  x86_product *x = (void *)product; /* all fields are set, and no more: the struct is large */
  const tw_gemm_plan *p = x->plan = plan_of(plan);
  x->b = b, x->scale = scale, x->memory = memory;
  x->operands = (tw_gemm_operands){.a = a, .packed_b = memory, .c = c};
  x->workspaces = x->memory + packed_bytes(p);
  x86_deal_parts(&x->deal, p);
  if (p->packs_b) return;
  x->together = X86_PANELS_AT_ONCE;
  while (x->together > 1 && x86_panels(p) * p->blocks < x->together * p->threads * TASKS_OF_A_THREAD) x->together /= 2;
  x->groups = x86_ceil_div(x86_panels(p), x->together);
  atomic_init(&x->next_packing, 0);
  atomic_init(&x->packed_so_far, 0);
}

static void pack(x86_product *x, int64_t task) {
  const tw_gemm_plan *p = x->plan;
  const int64_t block = task / x->groups, panel = task % x->groups * x->together;
  x86_pack_panels(p, x->b, x->scale, block, panel, x86_min(x->together, x86_panels(p) - panel),
                  x->memory + x86_panel_at(p, block, panel));
}

static void wait_for(const atomic_int *done, int64_t tasks) {
  enum { LOOKS = 2000 };
  for (int looks = 0; atomic_load(done) < tasks;) tw_look_again(&looks, LOOKS);
}

static void pack_together(x86_product *x) {
  const int64_t tasks = x->groups * x->plan->blocks;
  for (int64_t i; (i = atomic_fetch_add(&x->next_packing, 1)) < tasks; atomic_fetch_add(&x->packed_so_far, 1))
    pack(x, i);
  wait_for(&x->packed_so_far, tasks);
}

void tw_product_compute(tw_product *product, int member) {
  x86_product *x = (void *)product;
  const tw_gemm_plan *p = x->plan;
  if (!p->packs_b) pack_together(x);
  char *const workspace = x->workspaces + (size_t)member * p->bytes_per_thread;
  for (int i, from = 0; (i = x86_next_part(&x->deal, member, &from)) >= 0;)
    x86_run_part_on(p, &x->operands, x->b, x->scale, workspace, i);
}
