/* plan.c - see plan.h. */
#include "target/xdna2/array/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/strings.h"

/* ---- the start ---- */

enum { START = 32 }; /* sides of a plain tile, if the sizes are large enough */

/* The largest multiple of `unit`, at most `most`, of which `count` fit into `size`; `unit` if none does. */
static int64_t tile_side(int64_t size, int64_t count, int64_t unit, int64_t most) {
  const int64_t side = size / count / unit * unit;
  return side < unit ? unit : side > most ? most : side;
}

/* The largest multiple of `unit` up to `most` that divides `size`; `most` if none does. */
static int64_t dividing_side(int64_t size, int64_t unit, int64_t most) {
  for (int64_t side = most; side >= unit; side -= unit)
    if (size % side == 0) return side;
  return most;
}

/* Results of 8 and 16 bits are shifted: scale must be a power of two. */
static tw_status settle_shift(const tw_problem *p, xd_gemm *g, tw_error *error) {
  const double scale = tw_problem_real(p, "scale");
  int exponent;
  if (scale == 1) return TW_OK;
  if ((g->c != TW_I8 && g->c != TW_I16) || frexp(scale, &exponent) != 0.5 || exponent > 1 || exponent < -29)
    return tw_fail(
        error, TW_USAGE,
        "scale=%g is unsupported: cores narrow by shifts; expected a power of two from 2^-30 to 1, with c=i8 or c=i16",
        scale);
  g->shift = 1 - exponent;
  return TW_OK;
}

tw_status xd_plan_start(const xd_config *c, const tw_problem *p, xd_gemm *out, tw_error *error) {
  const xd_kernel *k = xd_find_kernel(c, NULL, tw_problem_type(p, "a"), tw_problem_type(p, "b"),
                                      tw_problem_type(p, "c"), tw_problem_type(p, "acc"));
  const int64_t m = tw_problem_int(p, "m"), n = tw_problem_int(p, "n"), depth = tw_problem_int(p, "k");
  if (!k)
    return tw_fail(
        error, TW_USAGE,
        "no kernel has these types; they are supported only for designs from a file (`tilewright run FILE.mlir`)");
  tw_tile tile = {.rho = 1};
  *out = xd_gemm_default(c, k, &tile, m, n, depth);
  while (out->rows > 1 && m < out->rows * xd_unit_m(k)) out->rows--;
  while (out->columns > 1 && n < out->columns * xd_unit_n(k)) out->columns--;
  const bool staged = k->staging > 0; /* whole clusters on both sides; operands are packed, so tiles may exceed them */
  out->tile = (tw_tile){.m = tile_side(m, out->rows, staged ? START : xd_unit_m(k), START),
                        .k = tile_side(depth, 1, xd_unit_k(k), START),
                        .n = tile_side(n, out->columns, staged ? START : xd_unit_n(k), START),
                        .rho = 1};
  out->b_transposed = tw_problem_int(p, "b_transposed");
  out->group = tw_problem_int(p, "group");
  out->cover = xd_gemm_own_cover(out);
  if (xd_gemm_turns_b(out)) out->tile.k = dividing_side(depth, xd_unit_k(k), out->tile.k);
  return settle_shift(p, out, error);
}

/* ---- steps ---- */

enum { TRACE_MOST = 16 }; /* of the 31 packet numbers of a switch, with room for others */
enum { SIDE_MOST = 1 << 20, COPIES_MOST = 4, DEPTH_MOST = 64 };
enum { CLUSTER_MOST = 32, UNROLL_MOST = 64 }; /* far above the limits of registers and program memory */

static tw_status then_symmetric(const void *config, void *design, unsigned given, tw_error *error) {
  enum { RHO = 1 << 3 };
  (void)config, (void)error;
  if (!(given & RHO)) ((xd_gemm *)design)->tile.rho = 1;
  return TW_OK;
}

static bool read_kernel(const void *config, const tw_argument *argument, const char *text, void *kernel) {
  const xd_kernel **at = kernel, *k = *at, *other = xd_find_kernel(config, text, k->a, k->b, k->c, k->acc);
  (void)argument;
  if (other) *at = other;
  return other;
}

static tw_status then_cover(const void *config, void *design, unsigned given, tw_error *error) {
  xd_gemm *g = design;
  (void)config, (void)given, (void)error;
  g->cover = xd_gemm_own_cover(g);
  return TW_OK;
}

static tw_status then_few(const void *config, void *design, unsigned given, tw_error *error) {
  const xd_cover *cover = &((xd_gemm *)design)->cover;
  (void)config, (void)given;
  if (cover->rows * cover->columns <= CLUSTER_MOST) return TW_OK;
  return tw_fail(error, TW_USAGE, "is too large; a cluster has at most %d accumulators", CLUSTER_MOST);
}

#define SIZE(name_, field_, most_) TW_NUMBER(name_, xd_gemm, field_, 1, most_)
static const tw_verb verbs[] = {
    {TW_VERB("tile", "tile m=128 k=64 n=128 rho=4",
             "Set the tile of a core; rho divides the height of the A buffer (asymmetric tile buffering).", 1,
             SIZE("m", tile.m, SIDE_MOST), SIZE("k", tile.k, SIDE_MOST), SIZE("n", tile.n, SIDE_MOST),
             SIZE("rho", tile.rho, SIDE_MOST)),
     .then = then_symmetric},
    {TW_VERB("cores", "cores rows=4 columns=8", "Set the rows and columns of cores.", 1, SIZE("rows", rows, SIDE_MOST),
             SIZE("columns", columns, SIDE_MOST))},
    {TW_VERB("buffers", "buffers a=2 b=2 c=1", "Set the number of buffers of A, B and C in each core.", 1,
             SIZE("a", copies[0], COPIES_MOST), SIZE("b", copies[1], COPIES_MOST), SIZE("c", copies[2], COPIES_MOST))},
    {TW_VERB("depth", "depth 4",
             "Set the number of k steps in an L2 tile of A; larger values give longer contiguous reads from DDR.", 1,
             SIZE("", depth, DEPTH_MOST))},
    {TW_VERB("kernel", "kernel NAME, one of the same types", "Choose the micro-kernel.", 1,
             TW_READ("", xd_gemm, kernel, read_kernel)),
     .then = then_cover},
    {TW_VERB("cluster", "cluster rows=2 columns=2",
             "Set the rows and columns of accumulators that the micro-kernel keeps in registers.", 1,
             SIZE("rows", cover.rows, SIDE_MOST), SIZE("columns", cover.columns, SIDE_MOST)),
     .then = then_few},
    {TW_VERB("unroll", "unroll 4", "Unroll the loop over clusters this many times.", 1,
             SIZE("", cover.unroll, UNROLL_MOST))},
    {TW_VERB("layout", "layout rows",
             "Set the order of bfp16 operands in DDR: 'tiles', or 'rows' of the matrix as in public designs.", 1,
             TW_CHOICE("", xd_gemm, in_rows, 0, "tiles|rows"))},
    {TW_VERB("trace", "trace 4", "Record this number of cores on the NPU, for export/overlay.py: kernels and stalls.",
             1, SIZE("", trace, TRACE_MOST))},
    {TW_FLAG("hide_unpacking",
             "Unpack the codes of the next tile of B beside the products, into a second buffer (ternary weights).",
             xd_gemm, hide_unpacking)},
    {TW_FLAG("await_groups",
             "Await rows of macro-tiles before the next ones begin (four, then two at a time), as public designs do.",
             xd_gemm, await_groups)},
    {TW_FLAG(
        "runtime_sizes",
        "Read the numbers of tiles and steps at run time, so that one configuration of the array serves all sizes.",
        xd_gemm, runtime_sizes)},
};
const tw_language xd_plan_language = {TW_LANGUAGE("gemm on XDNA2", verbs)};

tw_status xd_plan_fits(const xd_config *c, const xd_gemm *g, tw_error *error) {
  const int64_t l1 = xd_gemm_l1_bytes(g), l2 = xd_gemm_l2_bytes(g);
  if (l1 + c->stack_bytes > c->l1_bytes)
    return tw_fail(error, TW_USAGE, "buffers of a core need %" PRId64 " bytes and its stack %d, but L1 has %d", l1,
                   c->stack_bytes, c->l1_bytes);
  if (l2 > c->l2_bytes)
    return tw_fail(error, TW_USAGE, "buffers of a memory tile need %" PRId64 " bytes, but it has %d", l2, c->l2_bytes);
  return TW_OK;
}

tw_status xd_plan_of(const xd_config *c, const tw_problem *p, const tw_schedule *s, xd_gemm *out, tw_error *error) {
  tw_status status = xd_plan_start(c, p, out, error);
  if (status == TW_OK) status = tw_steps_apply(&xd_plan_language, c, s, out, NULL, error);
  if (status == TW_OK) status = xd_gemm_check(c, out, error);
  return status == TW_OK ? xd_plan_fits(c, out, error) : status;
}

/* ---- text ---- */

char *xd_plan_print(const xd_gemm *g) {
  tw_text t = {0};
  tw_text_add(&t, "# a GEMM on the XDNA2 array: docs/explain/xdna2-array.md says what the lines mean\n");
  tw_text_add(&t, "kernel %s\n", g->kernel->name);
  tw_text_add(&t, "cluster rows=%d columns=%d\n", g->cover.rows, g->cover.columns);
  tw_text_add(&t, "unroll %d\n", g->cover.unroll);
  tw_text_add(&t, "cores rows=%d columns=%d\n", g->rows, g->columns);
  tw_text_add(&t, "tile m=%" PRId64 " k=%" PRId64 " n=%" PRId64 " rho=%" PRId64 "\n", g->tile.m, g->tile.k, g->tile.n,
              g->tile.rho);
  tw_text_add(&t, "buffers a=%d b=%d c=%d\n", g->copies[0], g->copies[1], g->copies[2]);
  tw_text_add(&t, "depth %d\n", g->depth);
  if (g->in_rows) tw_text_add_string(&t, "layout rows\n");
  if (g->trace) tw_text_add(&t, "trace %d\n", g->trace);
  if (g->hide_unpacking) tw_text_add_string(&t, "hide_unpacking\n");
  if (g->await_groups) tw_text_add_string(&t, "await_groups\n");
  if (g->runtime_sizes) tw_text_add_string(&t, "runtime_sizes\n");
  return tw_text_take(&t);
}
