/* source.c - writes a command stream as a C function; see source.h.
 *
 * The size fields of a local address are added to it, so that each operand is one sum that the compiler can step from
 * iteration to iteration, instead of fields that it would put together anew for every command. */
#include "target/gemmini/rewrite/source.h"

#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/gemmini/rewrite/loops.h"

/* A limit for the compiler's sake. Much of what fits no loop runs once, at the start or the end; where it runs often, code
 * beyond the instruction cache (about 1,400 commands of three instructions) shows in the measurement. */
enum { COMMANDS_MAX = 6000 };

/* What equal kinds of commands share; the rest are values. */
typedef struct kind {
  uint8_t funct;
  int8_t operand;    /* of the memory address; -1 = none */
  bool local[2];     /* rs1, rs2 are local addresses with a row number as value */
  uint64_t fixed[2]; /* what does not vary of rs1, rs2 */
} kind;

static void split_local(const gm_config *c, uint64_t field, int i, kind *k, int64_t *value) {
  uint32_t local = gm_local(field);
  k->fixed[i] = field;
  if (gm_is_garbage(local)) return;
  uint32_t mask = (uint32_t)((gm_is_acc(local) ? gm_acc_rows(c) : gm_spad_rows(c)) - 1);
  k->local[i] = true;
  k->fixed[i] = field & ~(uint64_t)mask;
  value[i] = local & mask;
}

static tw_status split(const gm_stream *s, const gm_event *e, kind *k, int64_t value[GM_LOOP_VALUES], tw_error *error) {
  memset(k, 0, sizeof *k);
  k->funct = e->funct;
  k->operand = -1;
  value[0] = value[1] = 0;
  if (gm_is_load(e->funct) || e->funct == GM_MVOUT) {
    uint64_t offset = 0;
    if (e->rs1 && (k->operand = (int8_t)gm_stream_operand(s, e->rs1, 1, &offset)) < 0)
      return tw_fail(error, TW_FAILED, "the program moves memory that is no operand's");
    value[0] = (int64_t)offset;
    split_local(s->config, e->rs2, 1, k, value);
  } else if (e->funct == GM_PRELOAD || gm_is_compute(e->funct)) {
    split_local(s->config, e->rs1, 0, k, value);
    split_local(s->config, e->rs2, 1, k, value);
  } else {
    k->fixed[0] = e->rs1;
    k->fixed[1] = e->rs2;
  }
  return TW_OK;
}

/* ---- writing ---- */

enum { DEPTH_MAX = 12 };
typedef struct writer {
  const gm_stream *stream;
  const gm_loops *loops;
  tw_text text;
  int depth;
  const int64_t *delta[DEPTH_MAX]; /* of the loops around, at the values of the element that is written */
  uint32_t count[DEPTH_MAX];
} writer;

static void indent(writer *w) { tw_text_add(&w->text, "%*s", 2 * (w->depth + 1), ""); }

/* "64 + 4096 * i0 + 16 * i1"; `leads` if nothing stands before it. */
static void add_sum(writer *w, int64_t first, size_t value, bool leads) {
  bool grows = false;
  for (int d = 0; d < w->depth; d++) grows |= w->delta[d][value] > 0;
  if (leads ? first || !grows : first) tw_text_add(&w->text, "%s%lld", leads ? "" : " + ", (long long)first);
  leads = leads && !first && grows;
  for (int d = 0; d < w->depth; d++) {
    int64_t step = w->delta[d][value];
    if (!step) continue;
    if (leads)
      tw_text_add(&w->text, "%s%lld * i%d", step < 0 ? "-" : "", (long long)(step < 0 ? -step : step), d);
    else
      tw_text_add(&w->text, " %c %lld * i%d", step < 0 ? '-' : '+', (long long)(step < 0 ? -step : step), d);
    leads = false;
  }
}

static void add_local(writer *w, const kind *k, int i, const int64_t *value) {
  uint64_t field = k->fixed[i];
  if (!k->local[i]) {
    tw_text_add(&w->text, "BLOCK(GARBAGE_ADDR, %d, %d)", gm_cols(field), gm_rows(field));
    return;
  }
  uint32_t bits = gm_local(field);
  tw_text_add_string(&w->text, "BLOCK(");
  if (bits == 0x80000000u)
    tw_text_add_string(&w->text, "ACC");
  else if (bits == 0xc0000000u)
    tw_text_add_string(&w->text, "ACC_ADD");
  else if (bits)
    tw_text_add(&w->text, "0x%x", bits);
  add_sum(w, value[i], (size_t)i, !bits);
  tw_text_add(&w->text, ", %d, %d)", gm_cols(field), gm_rows(field));
}

static void add_config(writer *w, const kind *k) {
  static const char *const names[] = {"config_ex", "config_ld", "config_st", "config_norm"};
  tw_text_add(&w->text, "GEMMINI_COMMAND(k_CONFIG, 0x%llx, 0x%llx); /* %s", (unsigned long long)k->fixed[0],
              (unsigned long long)k->fixed[1], names[k->fixed[0] & 3]);
  if ((k->fixed[0] & 3) == GM_CONFIG_LD)
    tw_text_add(&w->text, ": mvin%s, stride %llu",
                (k->fixed[0] >> 3 & 3) == 0   ? ""
                : (k->fixed[0] >> 3 & 3) == 1 ? "2"
                                              : "3",
                (unsigned long long)k->fixed[1]);
  if ((k->fixed[0] & 3) == GM_CONFIG_ST) tw_text_add(&w->text, ": stride %u", (uint32_t)k->fixed[1]);
  tw_text_add_string(&w->text, " */\n");
}

static void write_leaf(writer *w, const kind *k, const int64_t *value) {
  static const char *const names[] = {
      [GM_MVIN] = "mvin", [GM_MVIN2] = "mvin2", [GM_MVIN3] = "mvin3", [GM_MVOUT] = "mvout"};
  indent(w);
  if (k->funct == GM_FENCE) {
    tw_text_add_string(&w->text, "fence();\n");
  } else if (k->funct == GM_CONFIG) {
    add_config(w, k);
  } else if (k->funct == GM_FLUSH) {
    tw_text_add(&w->text, "gemmini_flush(%llu);\n", (unsigned long long)k->fixed[0]);
  } else if (gm_is_load(k->funct) || k->funct == GM_MVOUT) {
    tw_text_add(&w->text, "%s(", names[k->funct]);
    if (k->operand >= 0) {
      tw_text_add(&w->text, "(uint64_t)%s", w->stream->operand[k->operand].name);
      add_sum(w, value[0], 0, false);
    } else
      tw_text_add_string(&w->text, "0");
    tw_text_add_string(&w->text, ", ");
    add_local(w, k, 1, value);
    tw_text_add_string(&w->text, ", 0, 0);\n");
  } else {
    tw_text_add(&w->text, "%s(",
                k->funct == GM_PRELOAD             ? "preload"
                : k->funct == GM_COMPUTE_PRELOADED ? "compute_preloaded"
                                                   : "compute_accumulated");
    add_local(w, k, 0, value);
    tw_text_add_string(&w->text, ", ");
    add_local(w, k, 1, value);
    tw_text_add_string(&w->text, ", 0, 0, 0, 0);\n");
  }
}

static void write_element(writer *w, gm_element e, const int64_t *value) {
  const gm_shape *s = &w->loops->shape[e.shape];
  if (!e.count) {
    write_leaf(w, s->leaf, value);
    return;
  }
  if (w->depth == DEPTH_MAX) {
    w->text.failed = true;
    return;
  }
  indent(w);
  tw_text_add(&w->text, "for (uint64_t i%d = 0; i%d < %u; i%d++) {\n", w->depth, w->depth, e.count, w->depth);
  const int64_t *outer[DEPTH_MAX];
  memcpy(outer, w->delta, sizeof outer);
  w->delta[w->depth] = s->delta;
  w->depth++;
  for (uint32_t b = 0; b < s->n_body; b++) {
    uint32_t n = w->loops->shape[s->body[b].shape].n_values;
    write_element(w, s->body[b], value);
    value += n;
    for (int d = 0; d < w->depth; d++) w->delta[d] += n;
  }
  w->depth--;
  memcpy(w->delta, outer, sizeof outer);
  indent(w);
  tw_text_add_string(&w->text, "}\n");
}

static const char *c_type(tw_type t) { return t == TW_I8 ? "int8_t" : t == TW_I32 ? "int32_t" : "float"; }

static void write_head(writer *w, const char *note) {
  const gm_stream *s = w->stream;
  tw_text_add(
      &w->text,
      "/* %s */\n"
      "#define ACC 0x80000000ull     /* a row of the accumulator */\n"
      "#define ACC_ADD 0xc0000000ull /* the same, to add to */\n"
      "/* Rows and columns of a block ride above its address. */\n"
      "#define BLOCK(row, cols, rows) (((uint64_t)(rows) << 48 | (uint64_t)(cols) << 32) + (row))\n\nvoid test(",
      note);
  for (size_t i = 0; i < s->n_operands; i++) {
    const tw_operand *o = &s->operand[i];
    tw_text_add(&w->text, "%s%s %s", i ? ", " : "", c_type(o->type), o->name);
    for (int d = 0; d + 1 < o->rank; d++) tw_text_add(&w->text, "[%lld]", (long long)o->dims[d]);
    tw_text_add(&w->text, "[%lld]", (long long)o->pitch);
  }
  tw_text_add_string(&w->text, ") {\n");
}

static tw_status collect(const gm_stream *s, kind *kinds, gm_loops *l, tw_error *error) {
  tw_status status = TW_OK;
  size_t n = s->n; /* the harness's own fence is the last */
  for (size_t i = 0; status == TW_OK && i < n; i++) {
    int64_t value[GM_LOOP_VALUES];
    if (s->event[i].dead) continue;
    status = split(s, &s->event[i], &kinds[i], value, error);
    if (status == TW_OK) status = gm_loops_add(l, &kinds[i], sizeof kinds[i], value, error);
  }
  return status;
}

tw_status gm_stream_source(const gm_stream *s, const char *note, char **source, tw_error *error) {
  gm_loops l = {.stop = s->stop};
  kind *kinds = tw_new(s->n + 1, sizeof *kinds);
  tw_status status = kinds ? collect(s, kinds, &l, error) : tw_fail(error, TW_MISSING, "no memory for the program");
  if (status == TW_OK) status = gm_loops_fold(&l, error);
  if (status == TW_OK && gm_loops_weight(&l) > COMMANDS_MAX)
    status = tw_fail(error, TW_FAILED, "%zu of the program's %zu commands fit no loop: too much code",
                     gm_loops_weight(&l), s->n);
  if (status == TW_OK) {
    writer w = {.stream = s, .loops = &l};
    write_head(&w, note);
    for (size_t i = 0; i < l.n; i++) write_element(&w, l.element[i], l.value + l.at[i]);
    tw_text_add_string(&w.text, "}\n");
    *source = tw_text_take(&w.text);
    if (!*source) status = tw_fail(error, TW_MISSING, "no memory for the program, or its loops are nested too deeply");
  }
  gm_loops_free(&l);
  free(kinds);
  return status;
}
