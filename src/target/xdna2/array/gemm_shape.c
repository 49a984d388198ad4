/* gemm_shape.c - consequences of the choices of a GEMM: sizes, memory, and rejected combinations. */
#include <inttypes.h>

#include "base/integers.h"
#include "target/xdna2/array/cost.h"
#include "target/xdna2/array/gemm_array.h"

static int64_t bytes8(tw_type t) { return t == TW_BFP16 ? 9 : tw_type_bits(t); }

xd_gemm xd_gemm_default(const xd_config *c, const xd_kernel *kernel, const tw_tile *tile, int64_t m, int64_t n,
                        int64_t k) {
  return (xd_gemm){.kernel = kernel,
                   .cover = xd_cover_of(kernel),
                   .c = kernel->c,
                   .m = m,
                   .n = n,
                   .k = k,
                   .tile = *tile,
                   .rows = c->rows,
                   .columns = c->columns,
                   .copies = {kernel->copies[0], kernel->copies[1], kernel->copies[2]},
                   .depth = 1};
}

static bool is_integer(const xd_gemm *g) { return g->kernel->a == TW_I8 || g->kernel->a == TW_I16; }

int64_t xd_gemm_staging(const xd_gemm *g) {
  return g->kernel->c == TW_BFP16 && g->kernel->acc == TW_BF16 ? g->tile.m * g->tile.n : 0;
}

int64_t xd_gemm_scratch(const xd_gemm *g) {
  const int64_t a = g->tile.m / g->tile.rho * g->tile.k;
  return g->kernel->scratch_a ? a * bytes8(xd_multiplied_b(g->kernel)) / 8 : 0;
}

int64_t xd_gemm_unpacked(const xd_gemm *g) {
  return g->kernel->scratch_b == TW_TYPE_NONE ? 0 : g->tile.k * g->tile.n * bytes8(g->kernel->scratch_b) / 8;
}

xd_gemm_shape xd_gemm_shape_of(const xd_gemm *g) {
  xd_gemm_shape s = {.a_bytes8 = bytes8(g->kernel->a), .b_bytes8 = bytes8(g->kernel->b), .c_bytes8 = bytes8(g->c)};
  if (xd_scaled_weights(g->kernel)) s.b_bytes8 += 8 * 2 / XD_SCALE_DEPTH;
  s.packed_b = g->kernel->b == TW_BFP16 || g->kernel->b == TW_I4 || g->kernel->b == TW_TERNARY;
  s.macro_m = g->rows * g->tile.m;
  s.macro_n = g->columns * g->tile.n;
  s.step = g->depth * g->tile.k;
  s.tiles_m = tw_ceil_div(g->m, s.macro_m);
  s.tiles_n = tw_ceil_div(g->n, s.macro_n);
  s.steps = tw_ceil_div(g->k, s.step);
  s.a_parts = g->columns < g->rows ? (int)tw_ceil_div(g->rows, g->columns) : 1;
  s.a_columns = (int)tw_ceil_div(g->rows, s.a_parts);
  s.m = g->m < g->tile.m ? g->m : g->tile.m;
  s.k = g->k < g->tile.k ? g->k : g->tile.k;
  s.n = g->n < g->tile.n ? g->n : g->tile.n;
  s.small_a = g->kernel->a != TW_BFP16 && (s.m < g->tile.m || s.k < g->tile.k);
  s.small_b = !s.packed_b && s.n < g->tile.n;
  s.small_c = g->c != TW_BFP16 && (s.m < g->tile.m || s.n < g->tile.n);
  s.slice = xd_gemm_turns_b(g) && g->k % s.step ? tw_common_divisor(g->tile.k, g->k) : 0;
  s.accumulators = xd_wide_sums(g->kernel) && s.c_bytes8 < 32 ? 4 : 0;
  return s;
}

int xd_gemm_a_column(const xd_gemm *g, int row) {
  const xd_gemm_shape s = xd_gemm_shape_of(g);
  return s.a_parts > 1 ? row / s.a_parts : row * g->columns / g->rows;
}

void xd_gemm_bytes(const xd_gemm *g, int64_t bytes[XD_GEMM_OPERANDS]) {
  const xd_gemm_shape s = xd_gemm_shape_of(g);
  const bool packed_a = g->kernel->a == TW_BFP16, packed_b = s.packed_b, packed_c = g->c == TW_BFP16;
  const int64_t m = s.tiles_m * s.macro_m, n = s.tiles_n * s.macro_n, k = s.steps * s.step; /* of packed operands */
  bytes[XD_GEMM_A] = (packed_a ? m * k : g->m * g->k) * s.a_bytes8 / 8;
  bytes[XD_GEMM_B] = (packed_b ? k * n : g->k * g->n) * s.b_bytes8 / 8;
  bytes[XD_GEMM_C] = (packed_c ? m * n : g->m * g->n) * s.c_bytes8 / 8;
  bytes[XD_GEMM_ZEROS] = !packed_b && k != g->k ? (k - g->k) * g->tile.n * s.b_bytes8 / 8 : 0;
}

/* ---- memory ---- */

int64_t xd_gemm_l1_bytes(const xd_gemm *g) {
  const xd_gemm_shape s = xd_gemm_shape_of(g);
  const int64_t a = g->tile.m / g->tile.rho * g->tile.k, area = g->tile.m * g->tile.n;
  return g->copies[0] * a * s.a_bytes8 / 8 + g->copies[1] * g->tile.k * g->tile.n * s.b_bytes8 / 8 +
         g->copies[2] * area * s.c_bytes8 / 8 + area * s.accumulators + xd_gemm_scratch(g) + xd_gemm_staging(g) +
         xd_gemm_unpacked(g) * (g->hide_unpacking ? 2 : 1) + (g->runtime_sizes ? 4 * xd_gemm_parameters(g) : 0);
}

int64_t xd_gemm_l2_bytes(const xd_gemm *g) {
  const xd_gemm_shape s = xd_gemm_shape_of(g);
  return XD_GEMM_L2_COPIES *
         (s.a_parts * g->tile.m * s.step * s.a_bytes8 +
          (xd_gemm_turns_b(g) ? s.step : g->tile.k) * g->tile.n * s.b_bytes8 +
          g->rows * g->tile.m * g->tile.n * s.c_bytes8) /
         8;
}

/* ---- rejected combinations ---- */

enum { STAGED_UNIT = 512 }; /* elements, so that data after an eighth of them are aligned for vectors */

static tw_status check_tile(const xd_gemm *g, tw_error *error) {
  const xd_kernel *k = g->kernel;
  const tw_tile *t = &g->tile;
  if (t->rho < 1 || t->m < 1 || t->m % t->rho || t->m / t->rho % xd_gemm_unit_m(g) || t->k < 1 || t->k % xd_unit_k(k) ||
      t->n < 1 || t->n % xd_gemm_unit_n(g))
    return tw_fail(error, TW_USAGE,
                   "tile %" PRId64 "x%" PRId64 "x%" PRId64 ", rho %" PRId64
                   ": kernel %s needs multiples of %dx%dx%d, also of each of rho sub-tiles",
                   t->m, t->k, t->n, t->rho, k->name, xd_gemm_unit_m(g), xd_unit_k(k), xd_gemm_unit_n(g));
  if (xd_gemm_staging(g) && (t->m * t->n % STAGED_UNIT || t->m * t->n / 128 % (g->cover.rows * g->cover.columns)))
    return tw_fail(error, TW_USAGE,
                   "tile %" PRId64 "x%" PRId64 "x%" PRId64
                   ": kernel %s stores half of its sums in whole clusters of %dx%d; "
                   "tiles must be a multiple of %d elements and of two clusters",
                   t->m, t->k, t->n, k->name, g->cover.rows, g->cover.columns, STAGED_UNIT);
  return xd_cover_check(k, xd_gemm_cover(g), t->m / t->rho, t->k, t->n, error);
}

static tw_status check_hiding(const xd_gemm *g, tw_error *error) {
  const int64_t vectors = g->tile.k * g->tile.n / XD_UNPACK_CODES;
  if (!g->hide_unpacking) return TW_OK;
  if (g->kernel->b != TW_TERNARY || g->kernel->scratch_b == TW_TYPE_NONE)
    return tw_fail(error, TW_USAGE,
                   "hide_unpacking: kernel %s has no buffer of unpacked codes; use kernel ternary-int8 or ternary-int4",
                   g->kernel->name);
  if (vectors % g->tile.rho)
    return tw_fail(error, TW_USAGE,
                   "hide_unpacking: %" PRId64 " vectors of %d codes in a tile of B are not a multiple of rho=%" PRId64,
                   vectors, XD_UNPACK_CODES, g->tile.rho);
  return TW_OK;
}

/* Less than a macro-tile: one row or column of cores computes it, one step of K. */
static tw_status check_sizes(const xd_gemm *g, const xd_gemm_shape *s, tw_error *error) {
  const bool packed_a = g->kernel->a == TW_BFP16, packed_c = g->c == TW_BFP16;
  const struct {
    const char *name;
    int64_t size, least;
    bool fine;
    const char *mend;
  } side[] = {
      {"m", g->m, s->macro_m, packed_a || (g->rows == 1 && g->tile.rho == 1),
       "make tiles smaller, or use one row of cores and rho=1"},
      {"n", g->n, s->macro_n, packed_c || g->columns == 1, "make tiles smaller, or use one column of cores"},
      {"k", g->k, s->step, packed_a || (is_integer(g) && g->depth == 1),
       is_integer(g) ? "make tiles or the depth smaller" : "make tiles or the depth smaller, or add zeros to A and B"},
  };
  for (int i = 0; i < 3; i++)
    if (side[i].size < side[i].least && !side[i].fine)
      return tw_fail(error, TW_USAGE,
                     "%s=%" PRId64 " is less than the %" PRId64 " that the array computes at a time; %s", side[i].name,
                     side[i].size, side[i].least, side[i].mend);
  return TW_OK;
}

tw_status xd_gemm_check(const xd_config *c, const xd_gemm *g, tw_error *error) {
  const int most = c->rows > 8 || c->columns > 8 ? 8 : c->columns;
  tw_status status = check_hiding(g, error);
  if (status == TW_OK) status = check_tile(g, error);
  if (status != TW_OK) return status;
  if (g->rows < 1 || g->rows > c->rows || g->columns < 1 || g->columns > most || g->depth < 1)
    return tw_fail(error, TW_USAGE, "%d rows of %d columns, depth %d: the array has %d rows and %d columns", g->rows,
                   g->columns, g->depth, c->rows, c->columns);
  const xd_gemm_shape s = xd_gemm_shape_of(g);
  const struct {
    const char *name;
    int64_t bytes;
  } row[] = {{"k", g->k * s.a_bytes8}, {"n", g->n * s.b_bytes8}, {"n", g->n * s.c_bytes8}};
  const bool turned = xd_gemm_turns_b(g);
  const bool packed[] = {g->kernel->a == TW_BFP16, s.packed_b || turned, g->c == TW_BFP16};
  for (int i = 0; i < 3; i++)
    if (!packed[i] && row[i].bytes / 8 % c->array.word_bytes)
      return tw_fail(error, TW_USAGE, "%s: a row of %" PRId64 " bytes is not a multiple of the DMA's words of %d bytes",
                     row[i].name, row[i].bytes / 8, c->array.word_bytes);
  const int64_t least = 8 * (int64_t)c->array.word_bytes; /* elements in whole words: blocks have 9 bytes */
  if (g->trace > g->rows * g->columns)
    return tw_fail(error, TW_USAGE, "trace %d: the design has %d cores", g->trace, g->rows * g->columns);
  if (xd_scaled_weights(g->kernel) && g->group && (g->group % XD_SCALE_DEPTH || g->k % XD_SCALE_DEPTH))
    return tw_fail(error, TW_USAGE,
                   "k=%" PRId64 ", group=%" PRId64 ": both must be multiples of %d, which share a scale on the core",
                   g->k, g->group, XD_SCALE_DEPTH);
  if (g->in_rows && g->kernel->b != TW_BFP16)
    return tw_fail(error, TW_USAGE, "layout rows is for bfp16 operands; kernel %s has none", g->kernel->name);
  if (g->in_rows && (g->tile.k % least || g->tile.n % least))
    return tw_fail(error, TW_USAGE,
                   "layout rows: parts of %" PRId64 " and %" PRId64
                   " elements of bfp16 are no whole words; make k and n of the tile multiples of %" PRId64,
                   g->tile.k, g->tile.n, least);
  if (g->await_groups && g->kernel->a != TW_BFP16 && g->k % s.step)
    return tw_fail(error, TW_USAGE,
                   "await_groups: k=%" PRId64 " requires too many descriptors; make it a multiple of %" PRId64, g->k,
                   s.step);
  if (g->in_rows && packed[0] && s.a_parts > 1 && g->depth > 1)
    return tw_fail(error, TW_USAGE, "layout rows with fewer columns than rows requires depth 1 (found %d)", g->depth);
  return check_sizes(g, &s, error);
}
