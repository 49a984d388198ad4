/* execute.c - tw_gemm_plan_execute: arguments, workspaces, parts. */
#define _GNU_SOURCE
#include <string.h>

#include "base/sized.h"
#include "target/x86/loops.h"
#include "target/x86/threads.h"

/* ---- workspaces ---- */

static int take_workspace(x86_workspaces *w) {
  pthread_mutex_lock(&w->lock);
  const uint64_t all = w->n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << w->n) - 1;
  while ((w->taken & all) == all) pthread_cond_wait(&w->returned, &w->lock);
  const int index = __builtin_ctzll(~w->taken);
  w->taken |= UINT64_C(1) << index;
  pthread_mutex_unlock(&w->lock);
  return index;
}

static void return_workspace(x86_workspaces *w, int index) {
  pthread_mutex_lock(&w->lock);
  w->taken &= ~(UINT64_C(1) << index);
  pthread_cond_signal(&w->returned);
  pthread_mutex_unlock(&w->lock);
}

/* ---- arguments ---- */

static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
  return a && b && x < y + b_bytes && y < x + a_bytes;
}

static size_t matrix_bytes(int64_t rows, int64_t columns, int64_t pitch, tw_type type) {
  return (size_t)((rows - 1) * pitch + columns) * (size_t)tw_type_bits(type) / 8;
}

static tw_status check_overlap(const tw_gemm_plan *p, const tw_gemm_operands *o, tw_error *error) {
  const tw_gemm_spec *s = &p->spec;
  const size_t c_bytes = matrix_bytes(s->m, s->n, s->ldc, s->c), real = sizeof(float);
  const struct {
    const char *name;
    const void *data;
    size_t bytes;
  } others[] = {
      {"a", o->a, s->a_transposed ? matrix_bytes(s->k, s->m, s->lda, s->a) : matrix_bytes(s->m, s->k, s->lda, s->a)},
      {"packed_b", o->packed_b, tw_gemm_packed_bytes(p)},
      {"bias", o->bias, (size_t)s->n * real},
      {"row_scale", o->row_scale, (size_t)s->m * real},
      {"column_scale", o->column_scale, (size_t)s->n * real}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (overlap(o->c, c_bytes, others[i].data, others[i].bytes))
      return tw_fail(error, TW_USAGE, "tw_gemm_plan_execute: c overlaps %s", others[i].name);
  return TW_OK;
}

static tw_status check_operands(const tw_gemm_plan *p, const tw_gemm_operands *o, tw_error *error) {
  if (!o->a) return tw_fail(error, TW_USAGE, "tw_gemm_plan_execute: a is NULL");
  if (!o->packed_b) return tw_fail(error, TW_USAGE, "tw_gemm_plan_execute: packed_b is NULL");
  if (!o->c) return tw_fail(error, TW_USAGE, "tw_gemm_plan_execute: c is NULL");
  if ((uintptr_t)o->packed_b % TW_GEMM_ALIGNMENT)
    return tw_fail(error, TW_USAGE, "tw_gemm_plan_execute: packed_b is not aligned to %d bytes", TW_GEMM_ALIGNMENT);
  if (memcmp(o->packed_b, &p->layout, sizeof p->layout) != 0)
    return tw_fail(error, TW_USAGE,
                   "tw_gemm_plan_execute: packed_b was not packed by a plan of this n, k, types and kernel");
  if (p->spec.c == TW_I32 && (o->bias || o->row_scale || o->column_scale))
    return tw_fail(error, TW_USAGE, "tw_gemm_plan_execute: %s is unsupported with c=i32; use c=f32",
                   o->bias        ? "bias"
                   : o->row_scale ? "row_scale"
                                  : "column_scale");
  return check_overlap(p, o, error);
}

/* ---- parts ---- */

typedef struct execution {
  const tw_gemm_plan *p;
  const tw_gemm_operands *o;
  char *workspace; /* of member 0 */
  x86_deal deal;
} execution;

static void run_member(void *context, int member) {
  execution *x = context;
  char *const workspace = x->workspace + (size_t)member * x->p->bytes_per_thread;
  for (int i, from = 0; (i = x86_next_part(&x->deal, member, &from)) >= 0;) x86_run_part(x->p, x->o, workspace, i);
}

static void run_parts(const tw_gemm_plan *p, const tw_gemm_operands *o, char *workspace) {
  execution x; /* not set to zero: large */
  x.p = p, x.o = o, x.workspace = workspace;
  x86_deal_parts(&x.deal, p);
  if (p->threads == 1)
    run_member(&x, 0);
  else
    x86_run_on_threads(p->threads, run_member, &x);
}

tw_status tw_gemm_plan_execute(const tw_gemm_plan *p, const tw_gemm_operands *given, tw_error *error) {
  tw_gemm_operands operands;
  const tw_gemm_operands *const o = &operands;
  if (!p) return tw_fail(error, TW_USAGE, "tw_gemm_plan_execute: the plan is NULL");
  if (!given) return tw_fail(error, TW_USAGE, "tw_gemm_plan_execute: the operands are NULL");
  tw_status status = tw_sized_take("tw_gemm_operands", given, &operands, sizeof operands, error);
  if (status == TW_OK) status = check_operands(p, o, error);
  if (status != TW_OK) return status;
  const int index = take_workspace(p->workspaces);
  char *workspace = p->workspaces->memory + (size_t)index * (size_t)p->spec.threads * p->bytes_per_thread;
  run_parts(p, o, workspace);
  return_workspace(p->workspaces, index);
  return TW_OK;
}
