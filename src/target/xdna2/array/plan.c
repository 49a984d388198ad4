/* plan.c - see plan.h. */
#include "target/xdna2/array/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

/* ---- the start ---- */

enum { START = 32 }; /* sides of a plain tile, where the sizes reach */

/* The largest multiple of `unit` of which `count` fit into `size`, at most `most`; `unit` if not even one does. */
static int64_t tile_side(int64_t size, int64_t count, int64_t unit, int64_t most) {
  const int64_t side = size / count / unit * unit;
  return side < unit ? unit : side > most ? most : side;
}

/* The largest multiple of `unit` up to `most` that divides `size`; `most` if there is none. */
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
    return tw_fail(error, TW_USAGE,
                   "scale=%g: cores narrow by shifts; scale must be a power of two from 2^-30 to 1, with c=i8 or c=i16",
                   scale);
  g->shift = 1 - exponent;
  return TW_OK;
}

tw_status xd_plan_start(const xd_config *c, const tw_problem *p, xd_gemm *out, tw_error *error) {
  const xd_kernel *k = xd_find_kernel(c, NULL, tw_problem_type(p, "a"), tw_problem_type(p, "b"),
                                      tw_problem_type(p, "c"), tw_problem_type(p, "acc"));
  const int64_t m = tw_problem_int(p, "m"), n = tw_problem_int(p, "n"), depth = tw_problem_int(p, "k");
  if (!k)
    return tw_fail(error, TW_USAGE,
                   "no kernel has these types; only designs that were read (`tilewright run FILE.mlir`) may have them");
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
  if (xd_gemm_turns_b(out)) out->tile.k = dividing_side(depth, xd_unit_k(k), out->tile.k);
  return settle_shift(p, out, error);
}

/* ---- steps ---- */

enum { CLUSTER_MOST = 32, UNROLL_MOST = 64 }; /* far beyond what registers and program memory hold */

/* The words "key=value" of a step after its verb, each at most once, into `value`; missing ones stay. */
static tw_status read_words(const char *step, size_t n, const char *const key[], int64_t *const value[],
                            tw_error *error) {
  char copy[TW_STEP_MAX], *rest = copy, *word;
  snprintf(copy, sizeof copy, "%s", step);
  strsep(&rest, " ");
  while ((word = strsep(&rest, " "))) {
    char *number = strchr(word, '=');
    size_t i = 0;
    if (number) *number++ = '\0';
    while (i < n && strcmp(word, key[i])) i++;
    if (i == n || !number || !tw_parse_int(number, value[i]) || *value[i] < 1 || *value[i] > 1 << 20)
      return tw_fail(error, TW_USAGE, "step \"%s\": \"%s\" is no size of it", step, word);
  }
  return TW_OK;
}

static tw_status step_tile(const xd_config *c, const char *step, xd_gemm *g, tw_error *error) {
  static const char *const key[] = {"m", "k", "n", "rho"};
  (void)c;
  g->tile.rho = 1;
  return read_words(step, 4, key, (int64_t *const[]){&g->tile.m, &g->tile.k, &g->tile.n, &g->tile.rho}, error);
}

static tw_status step_cores(const xd_config *c, const char *step, xd_gemm *g, tw_error *error) {
  static const char *const key[] = {"rows", "columns"};
  int64_t rows = g->rows, columns = g->columns;
  (void)c;
  const tw_status status = read_words(step, 2, key, (int64_t *const[]){&rows, &columns}, error);
  g->rows = (int)rows;
  g->columns = (int)columns;
  return status;
}

static tw_status step_buffers(const xd_config *c, const char *step, xd_gemm *g, tw_error *error) {
  static const char *const key[] = {"a", "b", "c"};
  int64_t copies[] = {g->copies[0], g->copies[1], g->copies[2]};
  (void)c;
  const tw_status status = read_words(step, 3, key, (int64_t *const[]){&copies[0], &copies[1], &copies[2]}, error);
  for (int i = 0; i < 3; i++) {
    g->copies[i] = (int)copies[i];
    if (status == TW_OK && copies[i] > 4) return tw_fail(error, TW_USAGE, "step \"%s\": more than 4 copies", step);
  }
  return status;
}

static tw_status step_depth(const xd_config *c, const char *step, xd_gemm *g, tw_error *error) {
  int64_t depth;
  (void)c;
  if (!tw_parse_int(step + strlen("depth "), &depth) || depth < 1 || depth > 64)
    return tw_fail(error, TW_USAGE, "step \"%s\": the depth is from 1 to 64", step);
  g->depth = (int)depth;
  return TW_OK;
}

static tw_status step_kernel(const xd_config *c, const char *step, xd_gemm *g, tw_error *error) {
  const xd_kernel *k = g->kernel, *other = xd_find_kernel(c, step + strlen("kernel "), k->a, k->b, k->c, k->acc);
  if (!other) return tw_fail(error, TW_USAGE, "step \"%s\": there is no such kernel of these types", step);
  g->kernel = other;
  g->cover = xd_cover_of(other);
  return TW_OK;
}

static tw_status step_cluster(const xd_config *c, const char *step, xd_gemm *g, tw_error *error) {
  static const char *const key[] = {"rows", "columns"};
  int64_t rows = g->cover.rows, columns = g->cover.columns;
  (void)c;
  const tw_status status = read_words(step, 2, key, (int64_t *const[]){&rows, &columns}, error);
  if (status == TW_OK && rows * columns > CLUSTER_MOST)
    return tw_fail(error, TW_USAGE, "step \"%s\": a cluster has at most %d accumulators", step, CLUSTER_MOST);
  g->cover.rows = (int)rows;
  g->cover.columns = (int)columns;
  return status;
}

static tw_status step_unroll(const xd_config *c, const char *step, xd_gemm *g, tw_error *error) {
  int64_t clusters;
  (void)c;
  if (!tw_parse_int(step + strlen("unroll "), &clusters) || clusters < 1 || clusters > UNROLL_MOST)
    return tw_fail(error, TW_USAGE, "step \"%s\": from 1 to %d clusters are unrolled", step, UNROLL_MOST);
  g->cover.unroll = (int)clusters;
  return TW_OK;
}

static const struct {
  const char *verb;
  tw_status (*apply)(const xd_config *, const char *step, xd_gemm *, tw_error *);
} verbs[] = {{"tile", step_tile},     {"cores", step_cores},     {"buffers", step_buffers}, {"depth", step_depth},
             {"kernel", step_kernel}, {"cluster", step_cluster}, {"unroll", step_unroll}};

static tw_status apply(const xd_config *c, const char *step, xd_gemm *g, tw_error *error) {
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
    const size_t length = strlen(verbs[i].verb);
    if (strncmp(step, verbs[i].verb, length) || step[length] != ' ') continue;
    return verbs[i].apply(c, step, g, error);
  }
  return tw_fail(error, TW_USAGE,
                 "unknown step \"%s\"; there are tile, cores, buffers, depth, kernel, cluster and unroll", step);
}

tw_status xd_plan_step(const xd_config *c, const char *step, xd_gemm *g, tw_error *error) {
  const tw_status status = apply(c, step, g, error);
  return status == TW_OK ? xd_gemm_check(c, g, error) : status;
}

static tw_status check_fit(const xd_config *c, const xd_gemm *g, tw_error *error) {
  const int64_t l1 = xd_gemm_l1_bytes(g), l2 = xd_gemm_l2_bytes(g);
  if (l1 + c->stack_bytes > c->l1_bytes)
    return tw_fail(error, TW_USAGE, "buffers of a core take %" PRId64 " bytes and its stack %d, but L1 has %d", l1,
                   c->stack_bytes, c->l1_bytes);
  if (l2 > c->l2_bytes)
    return tw_fail(error, TW_USAGE, "buffers of a memory tile take %" PRId64 " bytes, but it has %d", l2, c->l2_bytes);
  return TW_OK;
}

/* Steps that follow may mend what one alone would break, so the choices are checked when all are made. */
tw_status xd_plan_of(const xd_config *c, const tw_problem *p, const tw_schedule *s, xd_gemm *out, tw_error *error) {
  tw_status status = xd_plan_start(c, p, out, error);
  for (size_t i = 0; i < s->n && status == TW_OK; i++) status = apply(c, s->step[i], out, error);
  if (status == TW_OK) status = xd_gemm_check(c, out, error);
  return status == TW_OK ? check_fit(c, out, error) : status;
}

/* ---- text ---- */

char *xd_plan_print(const xd_gemm *g) {
  tw_text t = {0};
  tw_text_add(&t, "# a GEMM on the XDNA2 array: docs/xdna2-array.md says what the lines mean\n");
  tw_text_add(&t, "kernel %s\n", g->kernel->name);
  tw_text_add(&t, "cluster rows=%d columns=%d\n", g->cover.rows, g->cover.columns);
  tw_text_add(&t, "unroll %d\n", g->cover.unroll);
  tw_text_add(&t, "cores rows=%d columns=%d\n", g->rows, g->columns);
  tw_text_add(&t, "tile m=%" PRId64 " k=%" PRId64 " n=%" PRId64 " rho=%" PRId64 "\n", g->tile.m, g->tile.k, g->tile.n,
              g->tile.rho);
  tw_text_add(&t, "buffers a=%d b=%d c=%d\n", g->copies[0], g->copies[1], g->copies[2]);
  tw_text_add(&t, "depth %d\n", g->depth);
  return tw_text_take(&t);
}
