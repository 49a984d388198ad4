/* design.c - words into a design, and a design into buffers.
 *
 * L1 (a core): the copies of A's sub-tile, of B's tile and of C's; a scratch for A converted to B's type where the
 * kernel has one; B unpacked likewise; staging of C. L2 (a memory tile, one a column): symmetric tiles, A of `depth`
 * steps of K, in two copies each (section 3.2 of the ATB paper): A of one row of cores in every other column (4 rows, 8
 * columns), B of the column, C of all cores of the column. */
#include "target/xdna2/design.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/strings.h"
#include "target/xdna2/array/plan.h"
#include "tilewright/format.h"

const char *const xd_design_keys[] = {"tile",   "rho",     "kernel", "core_tflops", "way",
                                      "unroll", "cluster", "depth",  NULL};

double xd_type_bytes(tw_type type) {
  const tw_format *f = tw_format_of_type(type);
  return f ? (double)f->block_bytes / (double)f->block : tw_type_bits(type) / 8.0;
}

tw_element_bytes xd_element_bytes(const xd_kernel *k) {
  const double scale = xd_scaled_weights(k) ? 2.0 / XD_SCALE_DEPTH : 0;
  return (tw_element_bytes){xd_type_bytes(k->a), xd_type_bytes(k->b) + scale, xd_type_bytes(k->c)};
}

static double paper_bytes(const xd_config *c, tw_type type) {
  return type == TW_BFP16 ? c->bfp16_paper_bytes : xd_type_bytes(type);
}

tw_element_bytes xd_paper_bytes(const xd_config *c, const xd_kernel *k) {
  return (tw_element_bytes){paper_bytes(c, k->a), paper_bytes(c, k->b), paper_bytes(c, k->c)};
}

static bool matches(tw_type asked, tw_type has) { return asked == TW_TYPE_NONE || asked == has; }

const xd_kernel *xd_find_kernel(const xd_config *machine, const char *name, tw_type a, tw_type b, tw_type c,
                                tw_type acc) {
  for (size_t i = 0; i < machine->n_kernels; i++) {
    const xd_kernel *k = &machine->kernel[i];
    if ((!name || !strcmp(name, k->name)) && matches(a, k->a) && matches(b, k->b) && matches(c, k->c) &&
        matches(acc, k->acc))
      return k;
  }
  return NULL;
}

double xd_peak_macs(const xd_config *c, const xd_kernel *k) {
  double most = 0;
  for (size_t i = 0; i < c->n_kernels; i++)
    if (xd_find_kernel(c, c->kernel[i].name, k->a, k->b, k->c, k->acc) && xd_vmac_macs(&c->kernel[i]) > most)
      most = xd_vmac_macs(&c->kernel[i]);
  return most;
}

/* ---- words ---- */

/* The value of `key` among the words, or NULL. */
static const char *word_of(const char *key, size_t n, const char *const words[]) {
  size_t length = strlen(key);
  for (size_t i = 0; i < n; i++)
    if (!strncmp(words[i], key, length) && words[i][length] == '=') return words[i] + length + 1;
  return NULL;
}

enum { TILE_LIMIT = 1 << 16 }; /* far beyond L1; keeps products in range */

static tw_status parse_tile(const char *text, tw_tile *out, tw_error *error) {
  int64_t *const size[] = {&out->m, &out->k, &out->n};
  char copy[64], *rest = copy, *word;
  int i = 0;
  if (!text)
    return tw_fail(error, TW_USAGE, "the tile of a core is missing; give it as a step: 'tile m=128 k=64 n=128 rho=4'");
  snprintf(copy, sizeof copy, "%s", text);
  bool good = strlen(text) < sizeof copy;
  while (good && (word = strsep(&rest, "x"))) {
    good = i < 3 && tw_parse_int(word, size[i]) && *size[i] >= 1 && *size[i] <= TILE_LIMIT;
    i++;
  }
  if (good && i == 3) return TW_OK;
  return tw_fail(error, TW_USAGE,
                 "tile=%.60s must be three sizes from 1 to %d, T_MC x T_K x T_N, as in tile=128x64x128", text,
                 TILE_LIMIT);
}

static tw_status find_kernel(const xd_config *c, const tw_problem *p, const char *name, const xd_kernel **out,
                             tw_error *error) {
  const tw_type a = tw_problem_type(p, "a"), b = tw_problem_type(p, "b"), cc = tw_problem_type(p, "c"),
                acc = tw_problem_type(p, "acc");
  char names[300] = "";
  if ((*out = xd_find_kernel(c, name, a, b, cc, acc))) return TW_OK;
  if (!name) /* a design from a file may have such types, which no kernel of the machine file has */
    return tw_fail(error, TW_USAGE,
                   "no kernel has the types a=%s b=%s c=%s acc=%s, so it has no model; `tilewright targets %s` "
                   "lists the kernels",
                   tw_type_name(a), tw_type_name(b), tw_type_name(cc), tw_type_name(acc), c->name);
  for (size_t i = 0; i < c->n_kernels; i++) {
    const xd_kernel *k = &c->kernel[i];
    if (xd_find_kernel(c, k->name, a, b, cc, acc))
      snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? ", " : "", k->name);
  }
  return tw_fail(error, TW_USAGE, "unknown kernel=%s for a=%s b=%s c=%s acc=%s; expected %s", name, tw_type_name(a),
                 tw_type_name(b), tw_type_name(cc), tw_type_name(acc), names);
}

static tw_status check_tile(const xd_kernel *k, const tw_tile *t, tw_error *error) {
  const struct {
    const char *name;
    int64_t size, unit;
  } side[] = {{"T_MC", t->m, xd_unit_m(k)}, {"T_K", t->k, xd_unit_k(k)}, {"T_N", t->n, xd_unit_n(k)}};
  for (int i = 0; i < 3; i++) {
    if (side[i].size % side[i].unit)
      return tw_fail(error, TW_USAGE,
                     "tile=%" PRId64 "x%" PRId64 "x%" PRId64 ": %s must be a multiple of %" PRId64
                     ", the block of kernel %s",
                     t->m, t->k, t->n, side[i].name, side[i].unit, k->name);
  }
  if (t->m % t->rho || t->m / t->rho % xd_unit_m(k))
    return tw_fail(error, TW_USAGE,
                   "rho=%" PRId64 " does not divide T_MC=%" PRId64 " into sub-tiles of A of a multiple of %d rows",
                   t->rho, t->m, xd_unit_m(k));
  return TW_OK;
}

enum { UNROLL_MAX = 64, CLUSTER_MAX = 32, DEPTH_MAX = 64 };

static tw_status parse_cluster(const char *text, xd_design *out, tw_error *error) {
  const size_t rows = text ? strcspn(text, "x") : 0;
  char first[8] = "";
  int64_t size[2];
  if (!text) return TW_OK;
  if (rows < sizeof first) memcpy(first, text, rows);
  if (text[rows] != 'x' || !tw_parse_int(first, &size[0]) || !tw_parse_int(text + rows + 1, &size[1]) || size[0] < 1 ||
      size[1] < 1 || size[0] > CLUSTER_MAX || size[1] > CLUSTER_MAX)
    return tw_fail(error, TW_USAGE, "cluster=%.40s: expected rows x columns of accumulators, such as cluster=4x1",
                   text);
  out->cluster[0] = (int)size[0];
  out->cluster[1] = (int)size[1];
  return TW_OK;
}

static tw_status parse_way(const char *way, const char *unroll, xd_design *out, tw_error *error) {
  int64_t number = 0;
  if (way && !(out->way_given = xd_core_parse_way(way, &out->way)))
    return tw_fail(error, TW_USAGE, "way=%.40s: expected in-turn, unrolled or pipelined", way);
  if (unroll && (!tw_parse_int(unroll, &number) || number < 1 || number > UNROLL_MAX))
    return tw_fail(error, TW_USAGE, "unroll=%.40s: expected a whole number from 1 to %d", unroll, UNROLL_MAX);
  if (number) out->unroll = (int)number;
  if (out->way_given && out->way == XD_CORE_UNROLLED && !out->unroll)
    return tw_fail(error, TW_USAGE,
                   "way=unrolled requires the number of clusters in straight-line code; add the step 'unroll 4'");
  return TW_OK;
}

/* The model always has all cores, and operands in tiles: other choices of these steps would have no effect. */
static tw_status check_modelled(const xd_config *c, const xd_gemm *start, const xd_gemm *g, tw_error *error) {
  const bool changed = g->rows != start->rows || g->columns != start->columns;
  if (changed && (g->rows != c->rows || g->columns != c->columns))
    return tw_fail(
        error, TW_USAGE,
        "cores: the model is of all cores, rows=%d columns=%d (found rows=%d columns=%d); leave the step out", c->rows,
        c->columns, g->rows, g->columns);
  if (g->in_rows)
    return tw_fail(error, TW_USAGE, "layout: the model is of operands in tiles (found rows); leave out the step");
  if (g->hide_unpacking)
    return tw_fail(error, TW_USAGE, "hide_unpacking: the model unpacks before it multiplies; leave out the step");
  if (g->await_groups)
    return tw_fail(error, TW_USAGE, "await_groups: the model has no waits between rows of tiles; leave out the step");
  return TW_OK;
}

/* A plan of the same problem, and the changes of the steps. Its tile counts only if a step gives one. */
static tw_status apply_steps(const xd_config *c, const tw_problem *p, size_t n, const char *const words[],
                             xd_design *out, tw_error *error) {
  tw_schedule s = {0};
  xd_gemm g = {0};
  bool has_tile = false;
  tw_status status = TW_OK;
  for (size_t i = 0; i < n && status == TW_OK; i++) {
    if (!tw_word_is_step(words[i])) continue;
    status = tw_schedule_add(&s, words[i], error);
    has_tile |= tw_step_is(&xd_plan_language.verb[0], words[i]);
  }
  if (!s.n || status != TW_OK) return status;
  status = xd_plan_start(c, p, &g, error);
  const xd_gemm start = g;
  if (status == TW_OK) status = tw_steps_apply(&xd_plan_language, c, &s, &g, NULL, error);
  if (status == TW_OK) status = check_modelled(c, &start, &g, error);
  if (status != TW_OK) return status;
  if (has_tile) out->tile = g.tile;
  out->kernel = g.kernel;
  out->depth = g.depth;
  memcpy(out->copies, g.copies, sizeof out->copies);
  if (xd_same_cover(g.cover, xd_cover_of(g.kernel))) return TW_OK;
  out->cluster[0] = g.cover.rows;
  out->cluster[1] = g.cover.columns;
  out->unroll = g.cover.unroll;
  out->way_given = true;
  out->way = g.cover.unroll > 1 ? XD_CORE_UNROLLED : XD_CORE_IN_TURN;
  return TW_OK;
}

tw_status xd_design_parse(const xd_config *c, const tw_problem *p, size_t n, const char *const words[], xd_design *out,
                          tw_error *error) {
  const char *rho = word_of("rho", n, words), *rate = word_of("core_tflops", n, words);
  const char *tile = word_of("tile", n, words), *depth = word_of("depth", n, words),
             *name = word_of("kernel", n, words);
  *out = (xd_design){.tile.rho = 1, .depth = 1, .b_transposed = tw_problem_int(p, "b_transposed")};
  tw_status status = apply_steps(c, p, n, words, out, error);
  if (status == TW_OK && (tile || !out->tile.m)) status = parse_tile(tile, &out->tile, error);
  if (status != TW_OK) return status;
  int64_t number = out->depth;
  if (depth && (!tw_parse_int(depth, &number) || number < 1 || number > DEPTH_MAX))
    return tw_fail(error, TW_USAGE, "depth=%.40s: expected a whole number from 1 to %d", depth, DEPTH_MAX);
  out->depth = (int)number;
  if (rho && (!tw_parse_int(rho, &out->tile.rho) || out->tile.rho < 1 || out->tile.rho > TILE_LIMIT))
    return tw_fail(error, TW_USAGE, "rho=%.40s: expected a whole number from 1 to %d", rho, TILE_LIMIT);
  if (rate && (!tw_parse_real(rate, &out->core_tflops) || out->core_tflops <= 0))
    return tw_fail(error, TW_USAGE,
                   "core_tflops=%.40s: expected a positive number; leave it out to use the model's rate", rate);
  status = parse_way(word_of("way", n, words), word_of("unroll", n, words), out, error);
  if (status == TW_OK) status = parse_cluster(word_of("cluster", n, words), out, error);
  if (status != TW_OK) return status;
  if (name || !out->kernel) status = find_kernel(c, p, name, &out->kernel, error);
  return status == TW_OK ? check_tile(out->kernel, &out->tile, error) : status;
}

/* ---- buffers ---- */

enum { L1, L2 };
enum { L2_COPIES = 2 }; /* two copies, for ping-pong at each hand-over between levels */

static void add(tw_explanation *e, const char *name, size_t memory, int copies, int64_t rows, int64_t columns,
                double bytes, const char *type) {
  tw_buffer_use *b = &e->buffer[e->n_buffers++];
  *b = (tw_buffer_use){.name = name, .memory = memory};
  b->bytes = copies * (double)rows * (double)columns * bytes;
  snprintf(b->what, sizeof b->what, "%d x %" PRId64 "x%" PRId64 " %s", copies, rows, columns, type);
  e->memory[memory].used += (size_t)b->bytes;
}

static int copies_of(const xd_design *d, int i) { return d->copies[i] ? d->copies[i] : d->kernel->copies[i]; }

static void add_l1(const xd_design *d, tw_explanation *e) {
  const xd_kernel *k = d->kernel;
  const tw_tile *t = &d->tile;
  const tw_element_bytes bytes = xd_element_bytes(k);
  add(e, "a", L1, copies_of(d, 0), t->m / t->rho, t->k, bytes.a, tw_type_name(k->a));
  add(e, "b", L1, copies_of(d, 1), t->k, t->n, bytes.b, tw_type_name(k->b));
  add(e, "c", L1, copies_of(d, 2), t->m, t->n, bytes.c, tw_type_name(k->c));
  if (k->scratch_a)
    add(e, "a_scratch", L1, 1, t->m / t->rho, t->k, xd_type_bytes(xd_multiplied_b(k)),
        tw_type_name(xd_multiplied_b(k)));
  if (k->scratch_b != TW_TYPE_NONE)
    add(e, "b_unpacked", L1, 1, t->k, t->n, xd_type_bytes(k->scratch_b), tw_type_name(k->scratch_b));
  if (k->staging > 0) add(e, "c_staging", L1, 1, t->m, t->n, k->staging, "staging");
}

static void add_l2(const xd_config *c, const xd_design *d, tw_explanation *e) {
  const xd_kernel *k = d->kernel;
  const tw_tile *t = &d->tile;
  const tw_element_bytes bytes = xd_element_bytes(k);
  add(e, "l2_a", L2, L2_COPIES, t->m, (d->depth ? d->depth : 1) * t->k, bytes.a, tw_type_name(k->a));
  add(e, "l2_b", L2, L2_COPIES, t->k, t->n, bytes.b, tw_type_name(k->b));
  add(e, "l2_c", L2, L2_COPIES, c->rows * t->m, t->n, bytes.c, tw_type_name(k->c));
}

double xd_l1_bytes(const xd_design *d) {
  tw_explanation e = {0};
  double sum = 0;
  add_l1(d, &e);
  for (size_t i = 0; i < e.n_buffers; i++) sum += e.buffer[i].bytes;
  return sum;
}

/* L1 without the stack. */
static double l1_capacity(const xd_config *c) { return c->l1_bytes - c->stack_bytes; }

/* The least rho with which L1 holds the tiles; 0 if none does. */
static int64_t fitting_rho(const xd_config *c, const xd_design *d) {
  xd_design other = *d;
  const int64_t most = d->tile.m / xd_unit_m(d->kernel);
  for (int64_t rho = d->tile.rho + 1; rho <= most; rho++) {
    other.tile.rho = rho;
    if (check_tile(d->kernel, &other.tile, NULL) == TW_OK && xd_l1_bytes(&other) <= l1_capacity(c)) return rho;
  }
  return 0;
}

static void say_misfit(const xd_config *c, const xd_design *d, tw_explanation *e) {
  const tw_memory_use *full = e->memory[L1].used > e->memory[L1].size ? &e->memory[L1] : &e->memory[L2];
  const int64_t rho = full == &e->memory[L1] ? fitting_rho(c, d) : 0;
  char mend[60] = "make T_K, T_MC or T_N smaller";
  if (full == &e->memory[L2] && d->depth > 1) snprintf(mend, sizeof mend, "make the depth smaller");
  if (rho) snprintf(mend, sizeof mend, "rho=%" PRId64 " would fit", rho);
  snprintf(e->misfit, sizeof e->misfit, "the tile does not fit: its buffers need %zu of the %zu bytes of %s; %s",
           full->used, full->size, full->name, mend);
}

void xd_design_buffers(const xd_config *c, const xd_design *d, tw_explanation *e) {
  e->n_memories = 2;
  e->memory[L1] = (tw_memory_use){"l1", 0, (size_t)l1_capacity(c)};
  e->memory[L2] = (tw_memory_use){"l2", 0, (size_t)c->l2_bytes};
  add_l1(d, e);
  add_l2(c, d, e);
  e->fits = e->memory[L1].used <= e->memory[L1].size && e->memory[L2].used <= e->memory[L2].size;
  if (!e->fits) say_misfit(c, d, e);
}
