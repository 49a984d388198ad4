/* work.c - recovers the computation of a design: kernel, tiles and cores of its program. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "mlir_aie/execute.h"
#include "target/xdna2/array/execute.h"
#include "target/xdna2/array/kernel.h"

/* The first call that multiplies; NULL if there is none. */
static const xd_op *product_of(const xd_program *p) {
  for (size_t c = 0; c < p->cores.n; c++)
    for (size_t i = 0; i < p->cores.at[c].ops.n; i++) {
      const xd_op *op = &p->cores.at[c].ops.at[i];
      if (op->kind == XD_CALL && (op->call.micro || op->call.macs)) return op;
    }
  return NULL;
}

static bool has_products(const xd_program *p) {
  for (size_t c = 0; c < p->cores.n; c++)
    for (size_t i = 0; i < p->cores.at[c].ops.n; i++)
      if (p->cores.at[c].ops.at[i].kind == XD_SCALAR && p->cores.at[c].ops.at[i].scalar.kind == XD_SCALAR_MULTIPLY &&
          p->cores.at[c].ops.at[i].scalar.cycles)
        return true;
  return false;
}

/* ---- designs of our own form ---- */

/* Steps of K in the memory tile's object that feeds A. */
static int depth_of(const xd_program *p, const xd_op *product, const xd_gemm *g) {
  const int fifo = p->ports.at[product->argument[0].port].fifo;
  const int64_t tile8 = g->tile.m * g->tile.k * xd_gemm_shape_of(g).a_bytes8;
  for (size_t i = 0; i < p->links.n; i++) {
    const xd_link *l = &p->links.at[i];
    for (int j = 0; j < l->n_out; j++)
      if (l->out[j] == fifo) return (int)(p->fifos.at[l->in[0]].bytes * 8 / l->n_out / tile8);
  }
  return 1;
}

/* True if the bytes are consecutive in memory, whatever the number of dimensions. */
static bool is_linear(const xd_pattern *q) {
  int64_t bytes = q->dim[0].size;
  for (int d = 1; d < q->n_dims; bytes *= q->dim[d++].size)
    if (q->dim[d].size > 1 && q->dim[d].stride != bytes) return false;
  return true;
}

/* True if tiles of B are stored in rows of the matrix: a task moves many runs. */
static bool has_parts(const xd_program *p) {
  int external = 0, b = -1;
  for (size_t i = 0; i < p->buffers.n; i++)
    if (p->buffers.at[i].external && external++ == XD_GEMM_B) b = (int)i;
  for (size_t i = 0; i < p->descriptors.n; i++)
    if (p->descriptors.at[i].buffer == b && !is_linear(&p->descriptors.at[i].pattern)) return true;
  return false;
}

static void find_gemm(const xd_config *c, const xd_program *p, const xd_op *product, const tw_problem *problem,
                      xd_gemm *g) {
  const xd_call *call = &product->call;
  const tw_tile tile = {.m = call->rows, .k = call->k, .n = call->n, .rho = call->rows / call->m};
  *g = xd_gemm_default(c, call->micro, &tile, tw_problem_int(problem, "m"), tw_problem_int(problem, "n"),
                       tw_problem_int(problem, "k"));
  g->rows = g->columns = 1;
  for (size_t i = 0; i < p->cores.n; i++) {
    const xd_place t = p->cores.at[i].tile;
    if (t.column >= g->columns) g->columns = t.column + 1;
    if (t.row - 1 > g->rows) g->rows = t.row - 1;
  }
  g->cover = call->cover;
  g->rounding = call->rounding;
  g->shift = call->shift;
  g->depth = depth_of(p, product, g);
  g->b_transposed = tw_problem_int(problem, "b_transposed");
  g->group = tw_problem_int(problem, "group");
  g->in_rows = call->micro->b == TW_BFP16 && has_parts(p);
}

/* ---- sizes ---- */

static tw_status check_arguments(const xd_program *p, const int64_t expected[XD_GEMM_OPERANDS], tw_error *error) {
  static const char *const name[] = {"A", "B", "C", "the page of zeros"};
  int n = 0;
  for (size_t i = 0; i < p->buffers.n; i++) {
    const xd_buffer *b = &p->buffers.at[i];
    if (!b->external) continue;
    if (n == XD_GEMM_OPERANDS || (n < XD_GEMM_ZEROS && b->bytes != expected[n]))
      return tw_fail(error, TW_USAGE, "argument %d of the runtime sequence has %" PRId64 " bytes, but %s has %" PRId64,
                     n, b->bytes, n == XD_GEMM_OPERANDS ? "a GEMM" : name[n], n == XD_GEMM_OPERANDS ? 0 : expected[n]);
    n++;
  }
  if (n >= XD_GEMM_ZEROS) return TW_OK;
  return tw_fail(error, TW_USAGE,
                 "the runtime sequence has %d arguments; a GEMM has A, B, C and optionally a page of zeros", n);
}

static bool is_packed(tw_type t) { return t == TW_BFP16 || t == TW_I4 || t == TW_TERNARY; }

static tw_status fail_types(const tw_problem *problem, const char *what, tw_error *error) {
  return tw_fail(error, TW_USAGE, "the design computes %s, but the problem is a=%s b=%s c=%s acc=%s", what,
                 tw_type_name(tw_problem_type(problem, "a")), tw_type_name(tw_problem_type(problem, "b")),
                 tw_type_name(tw_problem_type(problem, "c")), tw_type_name(tw_problem_type(problem, "acc")));
}

static tw_status fail_function(const tw_problem *problem, int function, tw_error *error) {
  char what[100];
  snprintf(what, sizeof what, "a=%s b=%s c=%s", tw_type_name(xd_mlir_functions[function].a),
           tw_type_name(xd_mlir_functions[function].b), tw_type_name(xd_mlir_functions[function].c));
  return fail_types(problem, what, error);
}

static tw_status own_work(const xd_config *c, const xd_program *p, const xd_op *product, const tw_problem *problem,
                          xd_mlir_work *out, tw_error *error) {
  const xd_kernel *k = product->call.micro;
  const tw_type want[] = {tw_problem_type(problem, "a"), tw_problem_type(problem, "b"), tw_problem_type(problem, "c"),
                          tw_problem_type(problem, "acc")};
  const tw_type has[] = {k->a, k->b, k->c, k->acc};
  for (int i = 0; i < 4; i++)
    if (want[i] != TW_TYPE_NONE && want[i] != has[i]) {
      char what[100];
      snprintf(what, sizeof what, "a=%s b=%s c=%s acc=%s", tw_type_name(has[0]), tw_type_name(has[1]),
               tw_type_name(has[2]), tw_type_name(has[3]));
      return fail_types(problem, what, error);
    }
  find_gemm(c, p, product, problem, &out->gemm);
  out->peak = xd_peak_macs(c, k);
  out->packed = is_packed(k->a) || is_packed(k->b) || is_packed(k->c);
  if (!out->packed) return TW_OK;
  tw_status status = xd_gemm_check(c, &out->gemm, error);
  return status;
}

tw_status xd_mlir_work_of(const xd_config *c, const xd_mlir_design *d, const tw_problem *problem, xd_mlir_work *out,
                          tw_error *error) {
  const xd_op *product = product_of(&d->program);
  int64_t bytes[XD_GEMM_OPERANDS] = {0};
  *out = (xd_mlir_work){0};
  if (!d->runs) return tw_fail(error, TW_USAGE, "the design has no runtime sequence");
  if (d->unknown)
    return tw_fail(error, TW_USAGE,
                   "%d call(s) have only a given time, so nothing can be checked; leave out the op, or state what they "
                   "compute (--kernel NAME=gemm)",
                   d->unknown);
  if (!product && has_products(&d->program)) { /* by scalar code */
    out->peak = 1;
    tw_operand operand[TW_OPERANDS_MAX];
    problem->op->operands(problem, operand);
    for (int i = 0; i < XD_GEMM_ZEROS; i++) bytes[i] = (int64_t)operand[i].bytes;
    return check_arguments(&d->program, bytes, error);
  }
  if (!product) return tw_fail(error, TW_USAGE, "the design has no kernel that multiplies");
  if (product->call.micro) {
    const tw_status status = own_work(c, &d->program, product, problem, out, error);
    if (status != TW_OK) return status;
  }
  for (int i = 0; i < XD_MLIR_FUNCTIONS && !product->call.micro; i++) {
    if (strcmp(xd_mlir_functions[i].name, product->call.function->name) != 0) continue;
    if (xd_mlir_functions[i].a != tw_problem_type(problem, "a") ||
        xd_mlir_functions[i].b != tw_problem_type(problem, "b") ||
        xd_mlir_functions[i].c != tw_problem_type(problem, "c"))
      return fail_function(problem, i, error);
    out->peak = product->call.macs;
    if (xd_mlir_functions[i].c == TW_BF16) out->step = product->call.k;
  }
  if (out->packed) {
    xd_gemm_bytes(&out->gemm, bytes);
  } else {
    tw_operand operand[TW_OPERANDS_MAX];
    problem->op->operands(problem, operand);
    for (int i = 0; i < XD_GEMM_ZEROS; i++) bytes[i] = (int64_t)operand[i].bytes;
  }
  return check_arguments(&d->program, bytes, error);
}
