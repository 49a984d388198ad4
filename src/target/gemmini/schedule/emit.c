/* emit.c - plan -> C source of the kernel.
 *
 * The source is meant to be read: a comment with the schedule, then the loop structure of plan.h, specialized by the
 * plan. It uses only the short command macros (mvin2, preload, ...) of the machine. */
#include <stdio.h>

#include "target/gemmini/schedule/emit.h"
#include "target/gemmini/schedule/emit_turn.h"
#include "target/gemmini/schedule/family.h"

/* Rows of the tile at `place`: "gm_min(8, 49 - i)" or a constant. */
static void rows_text(const gm_emitter *e, const gm_place *p, char *out, size_t size) {
  const gm_plan *plan = e->plan;
  const int tile = plan->tile_m, blocks = e->g->mb;
  char last[64] = "";
  if (!plan->outer_is_i && e->layout->tiles_n > 1)
    snprintf(last, sizeof last, "%s + %d >= %d && ", p->j, plan->tile_n, e->g->nb);
  if (plan->taper)
    snprintf(out, size, "%s%d - %s < %d ? (%d - %s + 1) / 2 : MIN(%d, %d - %s)", last, blocks, p->i, 2 * tile,
             blocks + 0, p->i, tile, blocks, p->i);
  else if (blocks % tile)
    snprintf(out, size, "MIN(%d, %d - %s)", tile, blocks, p->i);
  else
    snprintf(out, size, "%d", tile);
}

const char *gm_depth_text(const gm_emitter *e, const gm_place *p, char out[48]) {
  const int first = gm_first_depth(e->plan, e->g), tile = e->plan->tile_k;
  if (e->g->kb % tile == 0)
    snprintf(out, 48, "%d", tile);
  else if (first == tile)
    snprintf(out, 48, "MIN(%d, %d - %s)", tile, e->g->kb, p->k);
  else
    snprintf(out, 48, "(%s ? %d : %d)", p->k, tile, first);
  return out;
}

static void comment(gm_emitter *e, const tw_problem *problem, const tw_schedule *schedule) {
  char text[512];
  gm_write_schedule(&e->out, e->config, problem, schedule);
  tw_text_add(&e->out.text, " * %s.\n", gm_plan_print(e->config, e->plan, text, sizeof text));
  if (!e->plan->levers.hardware_loop) {
    const int bank = gm_spad_bank_rows(e->config);
    tw_text_add(
        &e->out.text,
        " * Scratchpad: A in %d slot%s of %d rows from row %d (bank %d), B in %d of %d from row %d (bank %d).\n",
        e->layout->a.slots, e->layout->a.slots == 1 ? "" : "s", e->layout->a.chunk_rows, e->layout->a.base,
        e->layout->a.base / bank, e->layout->b.slots, e->layout->b.chunk_rows, e->layout->b.base,
        e->layout->b.base / bank);
    tw_text_add(&e->out.text,
                " * i, j, k count blocks of %d x %d: ii, jj, kk inside the tile that starts at i, j, k;\n"
                " * li, lj, lk is the step whose operands are loaded next. */\n",
                e->config->dim, e->config->dim);
  } else {
    tw_text_add(&e->out.text, " * i, j, k count blocks of %d x %d. */\n", e->config->dim, e->config->dim);
  }
  tw_text_add(&e->out.text, "#undef MIN\n#define MIN(x, y) ((x) < (y) ? (x) : (y))\n");
}

static void signature(gm_emitter *e) {
  const gm_gemm *g = e->g;
  char d[64] = "";
  if (g->bias != TW_GEMM_BIAS_NONE)
    snprintf(d, sizeof d, "%s D[%ld][%ld], ", g->acc_type, g->bias == TW_GEMM_BIAS_ROW ? 1L : (long)g->m, (long)g->ldd);
  LINE("void test(%s A[%ld][%ld], %s B%s[%ld][%ld], %s%s C[%ld][%ld]) {", g->input_type,
       (long)(g->a_transposed ? g->k : g->m), (long)g->lda, g->input_type, g->turns_b ? "_stored" : "",
       (long)(g->b_transposed || g->turns_b ? g->n : g->k), (long)(g->turns_b ? g->ldb_stored : g->ldb), d,
       g->output_type, (long)g->m, (long)g->ldc);
}

static void config_loads_and_stores(gm_emitter *e) {
  const gm_gemm *g = e->g;
  const int d = e->config->dim;
  LINE("config_ld(%ld, 1.0f, %d, 2);", (long)g->ldb * g->input_bytes, d);
  LINE("config_ld(%ld, 1.0f, %d, 1);", (long)g->lda * g->input_bytes, d);
  if (!e->plan->levers.overwrite)
    LINE("config_ld(%ld, 1.0f, %d, 0);", g->bias == TW_GEMM_BIAS_FULL ? (long)g->ldd * g->acc_bytes : 0L, d);
  gm_write_config_st(&e->out, (long)g->ldc * g->output_bytes, g->relu, g->scale);
}

static void config_execute(gm_emitter *e) {
  LINE("config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, %s, %s);", e->g->a_transposed ? "true" : "false",
       e->g->b_transposed ? "true" : "false");
}

/* Places of the step that computes, of the step for which operands are loaded, and of the tile that is filled. */
static const gm_place here = {"i", "j", "k", "rows"}, ahead = {"li", "lj", "lk", "lrows"},
                      filled = {"fi", "fj", "", "frows"};

/* On to the next tile, in the order of the tile loops. */
static void advance_tile(gm_emitter *e, const gm_place *p) {
  const gm_plan *plan = e->plan;
  const bool one_column = e->layout->tiles_n == 1;
  char rows[256];
  rows_text(e, p, rows, sizeof rows);
  if (!plan->outer_is_i) {
    LINE("if ((%s += %s) >= %d) {", p->i, p->rows, e->g->mb);
    LINE("%s = 0;", p->i);
    LINE("%s += %d;", p->j, plan->tile_n);
    LINE("}");
    LINE("%s = %s;", p->rows, rows);
    return;
  }
  if (!one_column) {
    LINE("if ((%s += %d) >= %d) {", p->j, plan->tile_n, e->g->nb);
    LINE("%s = 0;", p->j);
  }
  LINE("%s += %s;", p->i, p->rows);
  LINE("%s = %s;", p->rows, rows);
  if (!one_column) LINE("}");
}

/* Advances to the next step for which operands are loaded, in the order of the computing loops. */
static void advance(gm_emitter *e) {
  char depth[48];
  if (gm_one_tile(e->layout)) {
    LINE("lk += %s;", gm_depth_text(e, &ahead, depth));
    return;
  }
  if (e->layout->tiles_k == 1) {
    advance_tile(e, &ahead);
    return;
  }
  LINE("if ((lk += %s) >= %d) {", gm_depth_text(e, &ahead, depth), e->g->kb);
  LINE("lk = 0;");
  advance_tile(e, &ahead);
  LINE("}");
}

/* Is there a step (or a tile, if the place has no k) here? */
static void more_text(const gm_emitter *e, const gm_place *p, char *out, size_t size) {
  const bool i = e->plan->outer_is_i;
  if (gm_one_tile(e->layout) && *p->k)
    snprintf(out, size, "%s < %d", p->k, e->g->kb);
  else
    snprintf(out, size, "%s < %d", i ? p->i : p->j, i ? e->g->mb : e->g->nb);
}

/* Prepares the loads of the step ahead, and advances. */
static void next_loads(gm_emitter *e, const char *when) {
  char more[32];
  more_text(e, &ahead, more, sizeof more);
  LINE("if (%s) { /* loads %s */", more, when);
  gm_emit_set_loads(e, &ahead);
  advance(e);
  LINE("}");
}

/* The second step's loads are prepared before the first step's are issued: a line of code that the core fetches beside
 * loads takes three times as long as without. */
static void quick_prologue(gm_emitter *e) {
  gm_emit_set_loads(e, &ahead); /* the first step's: counted here, issued by first_loads */
  gm_emit_no_loads(e);
  advance(e);
  next_loads(e, "for the second step");
}

static void first_loads(gm_emitter *e) {
  static const char *const kept[] = {"b_from", "b_to", "a_from", "a_to", "a_left"};
  char rows[256], height[260];
  rows_text(e, &(gm_place){.i = "0", .j = "0"}, rows, sizeof rows);
  snprintf(height, sizeof height, "(%s)", rows);
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) LINE("KEEP(%s);", kept[i]);
  LINE("{ /* the operands of the first step, a row of A before B */");
  gm_emit_first_loads(e, &(gm_place){"0", "0", "0", height});
  LINE("}");
}

static void prologue(gm_emitter *e) {
  char rows[256], more[32];
  rows_text(e, &ahead, rows, sizeof rows);
  more_text(e, &ahead, more, sizeof more);
  LINE("int li = 0, lj = 0, lk = 0;");
  LINE("int lrows = %s;", rows);
  if (e->plan->quick_start) {
    quick_prologue(e);
    return;
  }
  LINE("/* the operands of the first step%s */", e->plan->levers.prefetch > 1 ? "s" : "");
  if (e->plan->levers.prefetch > 1)
    LINE("for (int step = 0; step < %d && %s; step++) {", e->plan->levers.prefetch, more);
  gm_emit_set_loads(e, &ahead);
  gm_emit_all_loads(e);
  advance(e);
  if (e->plan->levers.prefetch > 1) LINE("}");
}

/* Fills ahead: first the first tile, then always the next one. */
static void first_fill(gm_emitter *e) {
  char rows[256];
  rows_text(e, &filled, rows, sizeof rows);
  LINE("int fi = 0, fj = 0;");
  LINE("int frows = %s;", rows);
  gm_emit_set_fill(e, &filled, "c_at");
  gm_emit_all_fills(e);
  advance_tile(e, &filled);
}

static void next_fill(gm_emitter *e) {
  char more[32], to[32];
  more_text(e, &filled, more, sizeof more);
  snprintf(to, sizeof to, "c_at ^ %d", e->layout->c_stride);
  LINE("if (%s) { /* what the next tile is filled with */", more);
  gm_emit_set_fill(e, &filled, to);
  advance_tile(e, &filled);
  LINE("}");
}

/* One step along k: its loads (or a later step's), its pairs. */
static void step(gm_emitter *e) {
  const gm_plan *p = e->plan;
  if (p->levers.prefetch == 0) {
    gm_emit_set_loads(e, &here);
    gm_emit_all_loads(e);
  } else {
    if (!p->quick_start) next_loads(e, p->levers.prefetch == 1 ? "for the next step" : "for the step after the next");
    if (p->levers.spread_loads == 0) gm_emit_all_loads(e);
  }
  if (p->levers.early_stores) {
    const bool last = e->layout->tiles_k == 1;
    if (!last) LINE("if (k + %d >= %d) { /* rows are complete after this step's pairs */", p->tile_k, e->g->kb);
    gm_emit_set_stores(e);
    if (!last) LINE("}");
  }
  e->addresses->operands(e);
  gm_emit_pairs(e);
  gm_next_slots(&e->out, &e->slots);
  if (p->levers.prefetch > 0 && p->levers.spread_loads > 0 && !gm_all_have_slots(e)) gm_emit_all_loads(e);
  if (p->quick_start) next_loads(e, "during the next step");
}

static void steps(gm_emitter *e) {
  const gm_plan *p = e->plan;
  if (e->layout->tiles_k == 1) {
    if (p->levers.prefetch == 0) LINE("const int k = 0;");
    step(e);
    return;
  }
  char depth[48];
  LINE("for (int k = 0, depth; k < %d; k += depth) {", e->g->kb);
  LINE("depth = %s;", gm_depth_text(e, &here, depth));
  step(e);
  LINE("}");
}

static void tile(gm_emitter *e) {
  const gm_plan *p = e->plan;
  if (!p->levers.hoist[GM_CONFIGS]) config_loads_and_stores(e);
  if (gm_fills_ahead(&p->levers)) {
    next_fill(e);
  } else if (!p->levers.overwrite) {
    gm_emit_set_fill(e, &here, "c_at");
    gm_emit_all_fills(e);
  }
  gm_tile_slots(&e->out, &e->slots);
  steps(e);
  if (p->levers.spread_stores > 0) gm_emit_all_stores(e); /* stores that had no slot among the pairs */
  if (gm_fills_ahead(&p->levers)) gm_emit_all_fills(e);
  if (!p->levers.early_stores) gm_emit_set_stores(e);
  if (p->levers.spread_stores == 0) gm_emit_all_stores(e);
  if (p->levers.c_buffers > 1) LINE("c_at ^= %d; /* the other accumulator buffer */", e->layout->c_stride);
}

static bool one_row_of_tiles(const gm_emitter *e) { return gm_plan_tile_rows(e->plan, e->g->mb, true) == e->g->mb; }

static void i_loop(gm_emitter *e, void (*body)(gm_emitter *)) {
  char rows[256];
  rows_text(e, &here, rows, sizeof rows);
  if (!e->plan->outer_is_i && gm_has_panels(&e->slots, 'a')) LINE("a_panel = 0;");
  if (one_row_of_tiles(e)) {
    LINE("const int i = 0, rows = %d;", e->g->mb);
    body(e);
    return;
  }
  LINE("for (int i = 0, rows; i < %d; i += rows) {", e->g->mb);
  LINE("rows = %s;", rows);
  body(e);
  gm_next_panel(&e->out, &e->slots, 'a');
  LINE("}");
}

static void j_loop(gm_emitter *e, void (*body)(gm_emitter *)) {
  if (e->plan->outer_is_i && gm_has_panels(&e->slots, 'b')) LINE("b_panel = 0;");
  if (e->layout->tiles_n == 1) {
    LINE("const int j = 0;");
    body(e);
    return;
  }
  LINE("for (int j = 0; j < %d; j += %d) {", e->g->nb, e->plan->tile_n);
  body(e);
  gm_next_panel(&e->out, &e->slots, 'b');
  LINE("}");
}

static void inner_i(gm_emitter *e) { i_loop(e, tile); }
static void inner_j(gm_emitter *e) { j_loop(e, tile); }

static void software(gm_emitter *e) {
  const gm_plan *p = e->plan;
  if (p->levers.hoist[GM_CONFIGS]) config_loads_and_stores(e);
  gm_emit_move_variables(e);
  if (!p->levers.hoist[GM_CONFIGS]) config_loads_and_stores(e);
  if (p->levers.prefetch > 0) prologue(e);
  config_execute(e);
  gm_declare_slots(&e->out, &e->slots);
  LINE("uint64_t c_at = 0x80000000;");
  if (e->addresses->begin) e->addresses->begin(e);
  if (gm_fills_ahead(&p->levers)) first_fill(e);
  if (p->quick_start) first_loads(e);
  if (p->outer_is_i)
    i_loop(e, inner_j);
  else
    j_loop(e, inner_i);
  if (p->levers.spread_stores > 0 && !p->levers.early_stores) gm_emit_all_stores(e);
}

tw_status gm_gemm_emit(const tw_target *target, const tw_problem *problem, const tw_schedule *schedule, char **source,
                       tw_error *error) {
  const gm_config *config = gm_config_of(target);
  gm_gemm gemm;
  gm_plan plan;
  gm_layout layout;
  tw_status status = gm_gemm_from(config, problem, &gemm, error);
  if (status == TW_OK) status = gm_plan_from(config, &gemm, schedule, &plan, &layout, error);
  if (status != TW_OK) return status;
  gm_emitter e = {.config = config,
                  .g = &gemm,
                  .plan = &plan,
                  .layout = &layout,
                  .slots = {&plan.levers, &layout.a, &layout.b, layout.tiles_k},
                  .addresses = plan.levers.hoist[GM_ADDRESSES] ? &gm_hoisted : &gm_combined,
                  .unready = "0"};
  comment(&e, problem, schedule);
  if (!plan.levers.hardware_loop) tw_text_add(&e.out.text, "#define NONE 0xffffffffu /* no address */\n");
  if (!plan.levers.hardware_loop && e.addresses->constants) e.addresses->constants(&e);
  signature(&e);
  if (gemm.turns_b)
    gm_emit_turn(&e.out, config,
                 &(gm_turn){.type = gemm.input_type,
                            .stored = "B_stored",
                            .turned = "B",
                            .rows = (long)gemm.n,
                            .columns = (long)gemm.k,
                            .stored_pitch = (long)gemm.ldb_stored,
                            .turned_pitch = (long)gemm.ldb});
  if (plan.levers.hardware_loop)
    gm_emit_hardware_loop(&e);
  else
    software(&e);
  gm_write(&e.out, "fence();");
  gm_write(&e.out, "}");
  *source = tw_text_take(&e.out.text);
  return *source ? TW_OK : tw_no_memory(error, "the kernel's source");
}
