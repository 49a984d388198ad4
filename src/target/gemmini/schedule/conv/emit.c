/* emit.c - plan -> C source of a kernel for conv2d.
 *
 * The source is meant to be read: a comment with the schedule, then the loop structure of conv.h, specialized by the
 * plan. It uses only the short command macros (mvin2, preload, ...) of the machine. */
#include "target/gemmini/schedule/conv/emit.h"

#include <stdio.h>
#include <string.h>

#include "target/gemmini/schedule/emit_turn.h"
#include "target/gemmini/schedule/family.h"

static const gm_conv_place here = {"n", "y", "x", "k", "r", "c"};
static const gm_conv_place ahead = {"ln", "ly", "lx", "lk", "lr", "lc"};

/* ---- head of the source ---- */

static void comment(gm_conv_emitter *e, const tw_problem *problem, const tw_schedule *schedule) {
  const gm_conv_layout *l = e->layout;
  const int bank = gm_spad_bank_rows(e->config);
  tw_text *t = &e->out.text;
  char text[512];
  gm_write_schedule(&e->out, e->config, problem, schedule);
  const char *end = e->plan->levers.hardware_loop ? ". */" : ".";
  tw_text_add(t, " * %s%s\n", gm_conv_print(e->config, e->plan, text, sizeof text), end);
  if (e->plan->levers.hardware_loop) return;
  tw_text_add(
      t,
      " * A, pixels of the input: %d slot%s of %d x %d pixels x %d blocks from row %d (bank %d); a pixel is a row for "
      "each\n"
      " * block of channels. B, weights: %d slot%s of %d blocks from row %d (bank %d). C: %d rows of pixels in blocks "
      "of up\n"
      " * to %d. n, y, x count images, rows and columns of the output; k and c blocks of %d channels; r rows of the\n"
      " * kernel; rr, ss, cc, kk are inside the step; ln to lc is the step whose operands are loaded next. */\n",
      l->a.slots, l->a.slots == 1 ? "" : "s", l->chunk_h, l->chunk_w, e->plan->tile_c, l->a.base, l->a.base / bank,
      l->b.slots, l->b.slots == 1 ? "" : "s", l->b.chunk_rows / e->config->dim, l->b.base, l->b.base / bank, l->rows,
      l->block, e->config->dim);
}

static void constants(gm_conv_emitter *e) {
  if (e->plan->levers.hardware_loop && !e->plan->turn) return;
  const int d = e->config->dim;
  tw_text *t = &e->out.text;
  tw_text_add(
      t,
      "#undef MIN\n#define MIN(x, y) ((x) < (y) ? (x) : (y))\n#undef MAX\n#define MAX(x, y) ((x) > (y) ? (x) : (y))\n"
      "#define NONE 0xffffffffu /* no address */\n"
      "/* Operands carry their size: rows << 48 | columns << 32 | address. */\n"
      "#define BLOCK(rows) ((uint64_t)(rows) << 48 | (uint64_t)%d << 32)\n"
      "/* A value that the compiler takes as it is: it adds to it, and does not make a constant of every sum. */\n"
      "#define KEEP(x) asm volatile(\"\" : \"+r\"(x))\n",
      d);
  const int packed = e->plan->pack, rest = e->v->s % packed;
  if (rest)
    tw_text_add(
        t, "#define CUT_S ((uint64_t)%d << 48) /* rows that the block of the last columns of the kernel lacks */\n",
        (packed - rest) * e->v->c);
  if (packed == 1 && e->v->c % d)
    tw_text_add(t, "#define CUT_C ((uint64_t)%d << 48) /* rows that the last block of c lacks */\n", d - e->v->c % d);
  if (e->v->k % d)
    tw_text_add(t, "#define CUT_K ((uint64_t)%d << 32) /* columns that the last block of k lacks */\n",
                d - e->v->k % d);
}

static void signature(gm_conv_emitter *e) {
  const gm_conv *v = e->v;
  const tw_conv2d *o = &v->of;
  char weights[128], bias[64] = "";
  const long n = o->n, h = o->h, w = o->w, c = o->c, k = o->k, r = o->r, s = o->s;
  if (v->transposed || e->plan->turn)
    snprintf(weights, sizeof weights, "%s weights%s[%ld][%ld][%ld][%ld]", v->input_type, e->plan->turn ? "_stored" : "",
             k, r, s, c);
  else
    snprintf(weights, sizeof weights, "%s weights[%ld][%ld][%ld][%ld]", v->input_type, r, s, c, k);
  if (v->bias) snprintf(bias, sizeof bias, "%s bias[1][%ld], ", v->acc_type, k);
  LINE("void test(%s input[%ld][%ld][%ld][%ld], %s, %s%s output[%ld][%ld][%ld][%ld]) {", v->input_type, n, h, w, c,
       weights, bias, v->output_type, n, (long)o->out_h, (long)o->out_w, k);
}

static void turn_weights(gm_conv_emitter *e) {
  const gm_conv *v = e->v;
  const long products = (long)v->r * v->s * v->c;
  gm_emit_turn(&e->out, e->config,
               &(gm_turn){.type = v->input_type,
                          .stored = "weights_stored",
                          .turned = "weights",
                          .rows = v->k,
                          .columns = products,
                          .stored_pitch = products,
                          .turned_pitch = v->k});
}

static void config_loads_and_stores(gm_conv_emitter *e) {
  const gm_conv *v = e->v;
  const long weights = v->transposed ? (long)v->r * v->s * v->c : v->k;
  LINE("config_ld(%ld, 1.0f, %d, 2); /* weights */", weights * v->input_bytes, e->config->dim);
  const long pixel = (long)v->c * e->layout->dx * v->input_bytes;
  if (e->plan->pack > 1)
    LINE("gemmini_extended5_config_ld(%ld, 1.0f, false, %d, %d, 1); /* pixels, each in %d rows */", pixel,
         e->layout->a_channels, e->plan->pack, e->plan->pack);
  else
    LINE("config_ld(%ld, 1.0f, %d, 1); /* pixels */", pixel, e->layout->a_channels);
  if (!e->plan->levers.overwrite)
    LINE("config_ld(0, 1.0f, %d, 0); /* %s */", e->config->dim, v->bias ? "bias" : "zeros");
  if (!v->pool) /* otherwise emitted with the sizes of each tile */
    gm_write_config_st(&e->out, (long)v->k * v->output_bytes, v->relu, v->scale);
}

/* ---- loops ---- */

/* The loops, outermost first: over tiles, then over the steps of a tile. */
typedef struct axis {
  char name;
  int step, end;
} axis;
enum { AXES = 6 };

static void axes_of(const gm_conv_emitter *e, axis out[AXES]) {
  const gm_conv *v = e->v;
  const gm_conv_plan *p = e->plan;
  const axis n = {'n', p->tile_n, v->n}, y = {'y', p->tile_p, v->out_h}, x = {'x', p->tile_q, v->out_w};
  const axis k = {'k', p->tile_k, v->kb}, r = {'r', p->tile_r, v->r}, c = {'c', p->tile_c, v->cb};
  const axis pk[AXES] = {n, y, x, k, r, c}, kp[AXES] = {k, n, y, x, r, c};
  memcpy(out, p->pixels_outer ? pk : kp, sizeof pk);
}

static bool loops_of(const axis *a) { return a->end > a->step; }

/* The outermost loop that runs more than once, or NULL. */
static const axis *outermost(const axis a[AXES]) {
  for (int i = 0; i < AXES; i++)
    if (loops_of(&a[i])) return &a[i];
  return NULL;
}

/* Advances to the next step for which operands are loaded, in the order of the computing loops. */
static void advance(gm_conv_emitter *e) {
  axis a[AXES];
  axes_of(e, a);
  const axis *last = outermost(a);
  int depth = 0;
  for (int i = AXES - 1; i >= 0; i--) {
    if (!loops_of(&a[i])) continue;
    if (&a[i] == last) {
      LINE("l%c += %d;", a[i].name, a[i].step);
      break;
    }
    LINE("if ((l%c += %d) >= %d) {", a[i].name, a[i].step, a[i].end);
    LINE("l%c = 0;", a[i].name);
    depth++;
  }
  while (depth-- > 0) LINE("}");
}

/* Is there a step after the one that was loaded last? */
static bool more_text(const gm_conv_emitter *e, char *out, size_t size) {
  axis a[AXES];
  axes_of(e, a);
  const axis *last = outermost(a);
  if (last) snprintf(out, size, "l%c < %d", last->name, last->end);
  return last != NULL;
}

static void prologue(gm_conv_emitter *e) {
  char more[32];
  const bool any = more_text(e, more, sizeof more), loop = any && e->plan->levers.prefetch > 1;
  LINE("int ln = 0, ly = 0, lx = 0, lk = 0, lr = 0, lc = 0;");
  LINE("/* the operands of the first step%s */", loop ? "s" : "");
  if (loop) LINE("for (int step = 0; step < %d && %s; step++) {", e->plan->levers.prefetch, more);
  gm_conv_emit_set_loads(e, &ahead);
  gm_conv_emit_first_loads(e);
  if (any) advance(e);
  if (loop) LINE("}");
}

/* ---- one step, one tile ---- */

static void operands(gm_conv_emitter *e) {
  const gm_conv_layout *l = e->layout;
  char a[128], b[128];
  gm_conv_chunk_text(l, "a_slot", a, sizeof a);
  gm_slot_text(&l->b, "b_slot", b, sizeof b);
  LINE("uint64_t a_at = BLOCK(%d) + %s;", l->block, a);
  LINE("uint64_t b_at = BLOCK(%d) + %s;", gm_conv_weights_high(e), b);
  if (gm_conv_steps_each(l) > 1 && e->plan->levers.overwrite)
    LINE("const int step = %s;", l->chunks_r == 1 ? "c" : l->chunks_c == 1 ? "r" : "r + c");
}

static void step(gm_conv_emitter *e) {
  const gm_conv_plan *p = e->plan;
  char more[32];
  const bool any = more_text(e, more, sizeof more);
  if (p->levers.prefetch == 0) {
    gm_conv_emit_set_loads(e, &here);
    gm_conv_emit_all_loads(e);
  } else if (any) {
    LINE("if (%s) { /* loads for %s */", more, p->levers.prefetch == 1 ? "the next step" : "the step after the next");
    gm_conv_emit_set_loads(e, &ahead);
    advance(e);
    LINE("}");
    if (p->levers.spread_loads == 0) gm_conv_emit_all_loads(e);
  }
  operands(e);
  gm_conv_emit_runs(e);
  gm_next_slots(&e->out, &e->slots);
  if (p->levers.prefetch > 0 && p->levers.spread_loads > 0 && any) gm_conv_emit_all_loads(e);
}

/* The block of k of the tile after this one, and whether there is one. */
static void next_k_text(const gm_conv_emitter *e, char *k, size_t size) {
  const gm_conv_plan *p = e->plan;
  const gm_conv_layout *l = e->layout;
  const gm_conv *v = e->v;
  if (l->tiles_k == 1) {
    snprintf(k, size, "0");
    return;
  }
  if (p->pixels_outer) {
    snprintf(k, size, "k + %d < %d ? k + %d : 0", p->tile_k, v->kb, p->tile_k);
    return;
  }
  char last[160] = "1";
  size_t n = 0;
  const axis pixels[] = {{'n', p->tile_n, v->n}, {'y', p->tile_p, v->out_h}, {'x', p->tile_q, v->out_w}};
  for (int i = 0; i < 3; i++)
    if (loops_of(&pixels[i]))
      n += (size_t)snprintf(last + n, sizeof last - n, "%s%c + %d >= %d", n ? " && " : "", pixels[i].name,
                            pixels[i].step, pixels[i].end);
  snprintf(k, size, "%s ? MIN(k + %d, %d) : k", last, p->tile_k, (v->kb - 1) / p->tile_k * p->tile_k);
}

static void open_loop(gm_conv_emitter *e, const axis *a) {
  if (loops_of(a))
    LINE("for (int %c = 0; %c < %d; %c += %d) {", a->name, a->name, a->end, a->name, a->step);
  else
    LINE("const int %c = 0;", a->name);
}

static void close_loop(gm_conv_emitter *e, const axis *a) {
  if (loops_of(a)) LINE("}");
}

static void tile(gm_conv_emitter *e) {
  const gm_conv_plan *p = e->plan;
  char text[256];
  axis a[AXES];
  axes_of(e, a);
  if (!p->levers.hoist[GM_CONFIGS]) config_loads_and_stores(e);
  gm_conv_rows_text(e, "y", text, sizeof text);
  LINE("const int rows = %s;", text);
  gm_conv_columns_text(e, "x", text, sizeof text);
  if (e->v->pool || e->layout->tiles_x > 1) LINE("const int columns = %s;", text);
  if (gm_fills_ahead(&p->levers)) {
    next_k_text(e, text, sizeof text);
    LINE("const int next_k = %s;", text);
    gm_conv_emit_set_fill(e, "c_at ^ C_OTHER", "next_k");
  } else if (!p->levers.overwrite) {
    gm_conv_emit_set_fill(e, "c_at", "k");
    gm_conv_emit_all_fill(e);
  }
  gm_tile_slots(&e->out, &e->slots);
  open_loop(e, &a[4]);
  open_loop(e, &a[5]);
  step(e);
  close_loop(e, &a[5]);
  close_loop(e, &a[4]);
  if (p->levers.spread_stores > 0) gm_conv_emit_all_stores(e); /* stores of the previous tile that had no slot */
  if (gm_fills_ahead(&p->levers)) gm_conv_emit_all_fill(e);
  gm_conv_emit_set_stores(e);
  if (p->levers.spread_stores == 0) gm_conv_emit_all_stores(e);
  if (p->levers.c_buffers > 1) LINE("c_at ^= C_OTHER;");
}

/* The loops over the tiles that index A (n, y, x) or B (k). */
static void tile_loops(gm_conv_emitter *e, bool pixels, void (*body)(gm_conv_emitter *)) {
  const gm_conv *v = e->v;
  const gm_conv_plan *p = e->plan;
  const axis over[] = {{'n', p->tile_n, v->n}, {'y', p->tile_p, v->out_h}, {'x', p->tile_q, v->out_w}};
  const axis k = {'k', p->tile_k, v->kb};
  const char name = pixels ? 'a' : 'b';
  const bool inner = pixels != p->pixels_outer;
  if (inner && gm_has_panels(&e->slots, name)) LINE("%c_panel = 0;", name);
  for (int i = 0; i < (pixels ? 3 : 1); i++) open_loop(e, pixels ? &over[i] : &k);
  body(e);
  gm_next_panel(&e->out, &e->slots, name);
  for (int i = (pixels ? 2 : 0); i >= 0; i--) close_loop(e, pixels ? &over[i] : &k);
}

static void inner_loops(gm_conv_emitter *e) { tile_loops(e, !e->plan->pixels_outer, tile); }

static void software_pipeline(gm_conv_emitter *e) {
  const gm_conv_plan *p = e->plan;
  config_loads_and_stores(e);
  LINE("/* what is still to be moved: where from, where to, how much */");
  gm_conv_emit_load_variables(e);
  gm_conv_emit_store_variables(e);
  if (p->levers.prefetch > 0) prologue(e);
  LINE("config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, %d, false, %s);", e->layout->a_stride,
       e->v->transposed ? "true" : "false");
  gm_declare_slots(&e->out, &e->slots);
  LINE("uint64_t c_at = 0x80000000;");
  if (p->levers.c_buffers > 1)
    LINE("const uint64_t C_OTHER = %d; /* the two accumulator buffers differ in it */", e->layout->c_stride);
  if (gm_fills_ahead(&p->levers)) {
    LINE("/* the bias of the first tile */");
    gm_conv_emit_set_fill(e, "c_at", "0");
    gm_conv_emit_all_fill(e);
  }
  tile_loops(e, p->pixels_outer, inner_loops);
  if (p->levers.spread_stores > 0) gm_conv_emit_all_stores(e);
}

tw_status gm_conv2d_emit(const tw_target *target, const tw_problem *problem, const tw_schedule *schedule, char **source,
                         tw_error *error) {
  const gm_config *config = gm_config_of(target);
  gm_conv v;
  gm_conv_plan plan;
  gm_conv_layout layout;
  tw_status status = gm_conv_from(config, problem, &v, error);
  if (status == TW_OK) status = gm_conv_replay(config, &v, schedule, &plan, &layout, error);
  if (status != TW_OK) return status;
  v = gm_conv_turned(&v, &plan);
  gm_conv_emitter e = {.config = config,
                       .v = &v,
                       .plan = &plan,
                       .layout = &layout,
                       .slots = {&plan.levers, &layout.a, &layout.b, gm_conv_steps_each(&layout)}};
  comment(&e, problem, schedule);
  constants(&e);
  signature(&e);
  if (plan.turn) turn_weights(&e);
  (plan.levers.hardware_loop ? gm_conv_emit_hardware_loop : software_pipeline)(&e);
  gm_write(&e.out, "fence();");
  gm_write(&e.out, "}");
  *source = tw_text_take(&e.out.text);
  return *source ? TW_OK : tw_no_memory(error, "the kernel's source");
}
