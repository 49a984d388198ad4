/* gemm.c - the programs of the GEMM's cores, and the whole program; gemm_fifos.c has its FIFOs, gemm_sequence.c its
 * tasks. */
#include "target/xdna2/array/gemm_array.h"

#include <stdio.h>
#include <string.h>

#include "target/xdna2/array/check.h"
#include "target/xdna2/array/kernel.h"
#include "target/xdna2/array/lower.h"

static bool is_staged(const xd_gemm *g) { return xd_gemm_staging(g) > 0; }

/* ---- cores ---- */

/* Ports of a core; -1: the kernel does not need the port. */
typedef struct core_ports {
  int a, b, c, sums, scratch, staging, words;
  int unpacked[2]; /* with hidden unpacking, one is multiplied while the other is filled */
} core_ports;

static core_ports ports_of(const xd_gemm *g, const xd_gemm_shape *s, const xd_gemm_fifos *f, xd_place t,
                           xd_program *p) {
  core_ports q = {xd_fifo_port(p, f->a[t.row - 2], t),
                  xd_fifo_port(p, f->b[t.column], t),
                  xd_fifo_port(p, f->c[t.column][t.row - 2], t),
                  -1,
                  -1,
                  -1,
                  -1,
                  {-1, -1}};
  if (s->accumulators) q.sums = xd_own_port(p, t, "sums", s->accumulators * g->tile.m * g->tile.n);
  if (g->kernel->scratch_a) q.scratch = xd_own_port(p, t, "scratch", xd_gemm_scratch(g));
  if (is_staged(g)) q.staging = xd_own_port(p, t, "staging", g->tile.m * g->tile.n);
  if (g->kernel->scratch_b != TW_TYPE_NONE) q.unpacked[0] = xd_own_port(p, t, "unpacked", xd_gemm_unpacked(g));
  if (g->hide_unpacking) q.unpacked[1] = xd_own_port(p, t, "unpacked_next", xd_gemm_unpacked(g));
  if (g->runtime_sizes) q.words = xd_own_words(p, t, "sizes", xd_gemm_parameters(g));
  return q;
}

static void add_op(xd_core *core, xd_op_kind kind, int port, int64_t count, xd_program *p) {
  const xd_op op = {.kind = kind, .port = port, .count = count, .parameter = -1};
  xd_append(&core->ops, sizeof op, &op, &p->failed);
}

static void add_argument(xd_op *op, int port, int64_t offset) {
  op->argument[op->n_arguments].port = port;
  op->argument[op->n_arguments++].offset = offset;
}

static xd_op call_of(const xd_gemm *g, const char *function, int64_t m, int64_t k, int64_t n) {
  return (xd_op){.kind = XD_CALL,
                 .parameter = -1,
                 .call = {.function = xd_function_find(function),
                          .m = (int)m,
                          .k = (int)k,
                          .n = (int)n,
                          .rows = (int)g->tile.m,
                          .rounding = g->rounding,
                          .shift = g->shift,
                          .traced = g->trace > 0}};
}

static void add_zero(const xd_gemm *g, xd_core *core, int port, int64_t bytes, xd_program *p) {
  xd_op op = call_of(g, "zero", 1, 1, bytes);
  add_argument(&op, port, 0);
  xd_append(&core->ops, sizeof op, &op, &p->failed);
}

const char *xd_gemm_function(const xd_kernel *k, bool turns_b) {
  if (k->a == TW_I8) {
    const tw_type b = xd_multiplied_b(k);
    return b == TW_I4         ? "matmul_i8_i4"
           : b == TW_TERNARY  ? "matmul_i8_codes"
           : k->acc == TW_I8  ? turns_b ? "matmul_i8_i8_turned" : "matmul_i8_i8"
           : k->acc == TW_I16 ? turns_b ? "matmul_i8_i16_turned" : "matmul_i8_i16"
           : turns_b          ? "matmul_i8_turned"
                              : "matmul_i8";
  }
  if (k->a == TW_F32) return turns_b ? "matmul_f32_turned" : "matmul_f32";
  if (k->a == TW_I16 && k->acc == TW_I16) return turns_b ? "matmul_i16_i16_turned" : "matmul_i16_i16";
  if (k->a == TW_I16) return turns_b ? "matmul_i16_turned" : "matmul_i16";
  if (k->b == TW_BF16)
    return k->acc == TW_F32     ? turns_b ? "matmul_bf16_lanes_f32_turned" : "matmul_bf16_lanes_f32"
           : k->vmac_issues > 1 ? turns_b ? "matmul_bf16_lanes_turned" : "matmul_bf16_lanes"
           : turns_b            ? "matmul_bf16_emulated_turned"
                                : "matmul_bf16_emulated";
  if (k->a == TW_BF16) return k->scratch_a ? "matmul_bf16_bfp16" : "matmul_bf16_registers";
  return k->acc == TW_BF16 ? "matmul_bfp16_staged" : "matmul_bfp16";
}

const char *xd_gemm_hiding_function(const xd_kernel *k) {
  return k->scratch_b == TW_I4 ? "matmul_i8_i4_unpack" : "matmul_i8_unpack";
}

/* Unpacks 2-bit codes to the multiplier's operands, once for all sub-tiles of A; then the next codes may arrive. */
static void add_unpack(const xd_gemm *g, const core_ports *q, xd_core *core, xd_program *p) {
  const tw_type to = g->kernel->scratch_b;
  const char *function = to == TW_BFP16 ? "unpack_i4_bfp16" : to == TW_I4 ? "unpack_i4" : "unpack_i8";
  xd_op op = call_of(g, function, 1, g->tile.k, g->tile.n);
  op.call.cover = g->cover;
  add_argument(&op, q->b, 0);
  add_argument(&op, q->unpacked[0], 0);
  xd_append(&core->ops, sizeof op, &op, &p->failed);
  add_op(core, XD_RELEASE, q->b, 1, p);
}

/* Sub-tile `i` of a step of K, by the tile of B of port `b`. Meanwhile, a part of B's next tile is unpacked to port
 * `next`, if that is not -1. */
static void add_matmul(const xd_gemm *g, const xd_gemm_shape *s, const core_ports *q, int i, int b, int next,
                       xd_core *core, xd_program *p) {
  const int64_t rows = g->tile.m / g->tile.rho, band = i * rows * g->tile.n;
  const char *function =
      next >= 0 ? xd_gemm_hiding_function(g->kernel) : xd_gemm_function(g->kernel, xd_gemm_turns_b(g));
  xd_op op = call_of(g, function, rows, g->tile.k, g->tile.n);
  xd_set_micro(&op.call, g->kernel);
  op.call.cover = g->cover;
  op.call.row = (int)(i * rows);
  add_argument(&op, q->a, 0);
  add_argument(&op, b, 0);
  if (q->sums >= 0)
    add_argument(&op, q->sums, band * s->accumulators);
  else
    add_argument(&op, q->c, is_staged(g) ? 0 : band * s->c_bytes8 / 8);
  if (q->scratch >= 0) add_argument(&op, q->scratch, 0);
  if (q->staging >= 0) add_argument(&op, q->staging, 0);
  if (next >= 0) add_argument(&op, q->b, 0);
  if (next >= 0) add_argument(&op, next, 0);
  xd_append(&core->ops, sizeof op, &op, &p->failed);
}

/* All sub-tiles of a step of K. */
static void add_products(const xd_gemm *g, const xd_gemm_shape *s, const core_ports *q, int b, int next, xd_core *core,
                         xd_program *p) {
  for (int i = 0; i < g->tile.rho; i++) {
    add_op(core, XD_ACQUIRE, q->a, 1, p);
    add_matmul(g, s, q, i, b, next, core, p);
    add_op(core, XD_RELEASE, q->a, 1, p);
  }
}

static void add_loop(xd_core *core, int parameter, xd_program *p) {
  const xd_op loop = {.kind = XD_LOOP, .parameter = parameter};
  xd_append(&core->ops, sizeof loop, &loop, &p->failed);
}

/* All steps of K, each with its own tile of B. */
static void add_steps(const xd_gemm *g, const xd_gemm_shape *s, const core_ports *q, xd_core *core, xd_program *p) {
  const xd_op step = call_of(g, "step", 1, 1, 1);
  add_loop(core, XD_GEMM_STEPS, p);
  add_op(core, XD_ACQUIRE, q->b, 1, p);
  if (g->kernel->switches) xd_append(&core->ops, sizeof step, &step, &p->failed);
  if (q->unpacked[0] >= 0) add_unpack(g, q, core, p);
  add_products(g, s, q, q->unpacked[0] >= 0 ? q->unpacked[0] : q->b, -1, core, p);
  if (q->unpacked[0] < 0) add_op(core, XD_RELEASE, q->b, 1, p);
  add_op(core, XD_END, 0, 0, p);
}

static void add_hiding_step(const xd_gemm *g, const xd_gemm_shape *s, const core_ports *q, int now, xd_core *core,
                            xd_program *p) {
  add_op(core, XD_ACQUIRE, q->b, 1, p);
  add_products(g, s, q, q->unpacked[now], q->unpacked[!now], core, p);
  add_op(core, XD_RELEASE, q->b, 1, p);
}

/* All steps of K: all but the last unpack the codes of the next one, so the two buffers change places. Loops of pairs
 * keep their places the same in each iteration. */
static void add_hiding_steps(const xd_gemm *g, const xd_gemm_shape *s, const core_ports *q, xd_core *core,
                             xd_program *p) {
  add_op(core, XD_ACQUIRE, q->b, 1, p);
  add_unpack(g, q, core, p);
  add_loop(core, XD_GEMM_STEPS, p);
  for (int now = 0; now < 2; now++) add_hiding_step(g, s, q, now, core, p);
  add_op(core, XD_END, 0, 0, p);
  add_loop(core, XD_GEMM_ODD, p);
  add_hiding_step(g, s, q, 0, core, p);
  add_products(g, s, q, q->unpacked[1], -1, core, p);
  add_op(core, XD_END, 0, 0, p);
  add_loop(core, XD_GEMM_EVEN, p);
  add_products(g, s, q, q->unpacked[0], -1, core, p);
  add_op(core, XD_END, 0, 0, p);
}

/* Makes C from the sums, if that is a separate pass. */
static void add_finish(const xd_gemm *g, const xd_gemm_shape *s, const core_ports *q, xd_core *core, xd_program *p) {
  const bool staged = is_staged(g);
  if (!s->accumulators && !staged) return;
  const char *function = staged            ? "round_bfp16"
                         : g->c == TW_BF16 ? "narrow_bf16"
                         : g->c == TW_I16  ? "narrow_i16"
                                           : "narrow_i8";
  xd_op op = call_of(g, function, g->tile.m, 1, g->tile.n);
  add_argument(&op, staged ? q->staging : q->sums, 0);
  add_argument(&op, q->c, 0);
  xd_append(&core->ops, sizeof op, &op, &p->failed);
}

/* The host opens the lock after it has written the sizes; the core takes it, which closes it for the next product. */
static void add_wait(xd_core *core, xd_program *p) {
  const xd_lock go = {.name = "go", .tile = core->tile};
  const xd_op take = {.kind = XD_TAKE_LOCK, .parameter = -1, .count = 1, .lock = XD_ADD(p, locks, &go)};
  xd_append(&core->ops, sizeof take, &take, &p->failed);
}

static void add_core(const xd_gemm *g, const xd_gemm_shape *s, const xd_gemm_fifos *f, xd_place t, xd_program *p) {
  const core_ports q = ports_of(g, s, f, t, p);
  const int64_t area = g->tile.m * g->tile.n;
  const bool c_first = q.sums < 0; /* the sums are in C */
  xd_core core = {.tile = t, .traced = t.column * g->rows + t.row - 2 < g->trace};
  add_op(&core, XD_LOOP, 0, -1, p);
  if (g->runtime_sizes) {
    add_wait(&core, p);
    add_loop(&core, XD_GEMM_TILES, p);
  }
  if (c_first) add_op(&core, XD_ACQUIRE, q.c, 1, p);
  add_zero(g, &core, c_first ? q.c : q.sums, c_first ? area * s->c_bytes8 / 8 : area * s->accumulators, p);
  if (q.staging >= 0) add_zero(g, &core, q.staging, area, p);
  (g->hide_unpacking ? add_hiding_steps : add_steps)(g, s, &q, &core, p);
  if (!c_first) add_op(&core, XD_ACQUIRE, q.c, 1, p);
  add_finish(g, s, &q, &core, p);
  add_op(&core, XD_RELEASE, q.c, 1, p);
  if (g->runtime_sizes) add_op(&core, XD_END, 0, 0, p);
  add_op(&core, XD_END, 0, 0, p);
  XD_ADD(p, cores, &core);
}

/* ---- all ---- */

static void add_operands(const xd_gemm *g, xd_program *p) {
  static const char *const name[] = {"A", "B", "C", "zeros"};
  const tw_type type[] = {g->kernel->a, g->kernel->b, g->c, g->kernel->b};
  int64_t bytes[XD_GEMM_OPERANDS];
  xd_gemm_bytes(g, bytes);
  for (int i = 0; i < XD_GEMM_OPERANDS; i++) {
    xd_buffer b = {.external = true, .bytes = bytes[i], .type = type[i]};
    snprintf(b.name, sizeof b.name, "%s", name[i]);
    XD_ADD(p, buffers, &b);
  }
}

/* Everything that determines FIFOs and programs of cores, except the numbers of tiles and steps. */
static bool same_configuration(const xd_gemm *g, const xd_gemm *h) {
  const xd_gemm_shape s = xd_gemm_shape_of(g), t = xd_gemm_shape_of(h);
  return g->kernel == h->kernel && xd_same_cover(g->cover, h->cover) && g->c == h->c &&
         !memcmp(&g->tile, &h->tile, sizeof g->tile) && g->rows == h->rows && g->columns == h->columns &&
         !memcmp(g->copies, h->copies, sizeof g->copies) && g->depth == h->depth && g->rounding == h->rounding &&
         g->b_transposed == h->b_transposed && g->shift == h->shift && g->trace == h->trace &&
         g->hide_unpacking == h->hide_unpacking && g->runtime_sizes && h->runtime_sizes && s.m == t.m && s.k == t.k &&
         s.n == t.n && s.slice == t.slice;
}

static tw_status check_all(const xd_config *c, size_t n, const xd_gemm g[], tw_error *error) {
  tw_status status = TW_OK;
  for (size_t i = 0; i < n && status == TW_OK; i++) {
    status = xd_gemm_check(c, &g[i], error);
    if (status == TW_OK && i && !same_configuration(&g[0], &g[i]))
      status = tw_fail(
          error, TW_USAGE,
          "m=%lld n=%lld k=%lld requires a different configuration than m=%lld n=%lld k=%lld; give one schedule with "
          "runtime_sizes, and sizes of at least a tile",
          (long long)g[i].m, (long long)g[i].n, (long long)g[i].k, (long long)g[0].m, (long long)g[0].n,
          (long long)g[0].k);
  }
  return status;
}

tw_status xd_gemm_program_of_all(const xd_config *c, size_t n, const xd_gemm g[], xd_program *p, tw_error *error) {
  xd_gemm_fifos f = {0};
  *p = (xd_program){0};
  tw_status status = check_all(c, n, g, error);
  if (status != TW_OK) return status;
  const xd_gemm_shape s = xd_gemm_shape_of(g);
  for (size_t i = 0; i < n; i++) add_operands(&g[i], p);
  xd_gemm_add_fifos(g, &s, &f, p);
  for (int column = 0; column < g->columns && !p->failed; column++)
    for (int row = 0; row < g->rows; row++) add_core(g, &s, &f, (xd_place){column, 2 + row}, p);
  status = xd_lower(c, p, error);
  if (status == TW_OK) {
    for (size_t i = 0; i < n; i++) xd_gemm_sequence(c, &g[i], &f, (int)i * XD_GEMM_OPERANDS, p);
    status = p->failed ? tw_no_memory(error, NULL) : xd_check(c, p, error);
  }
  if (status != TW_OK) xd_program_free(p);
  return status;
}

tw_status xd_gemm_program(const xd_config *c, const xd_gemm *g, xd_program *p, tw_error *error) {
  return xd_gemm_program_of_all(c, 1, g, p, error);
}
