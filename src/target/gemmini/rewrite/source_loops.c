/* source_loops.c - a stream as nested loops of the runtime's short macros. */
#include <string.h>

#include "target/gemmini/rewrite/source_private.h"

tw_status gm_find_loops(const gm_stream *s, gm_kind *kinds, gm_loops *l, tw_error *error) {
  tw_status status = TW_OK;
  for (size_t i = 0; status == TW_OK && i < s->n; i++) {
    int64_t value[GM_LOOP_VALUES];
    if (s->event[i].dead) continue;
    status = gm_split_command(s, &s->event[i], &kinds[i], value, error);
    if (status == TW_OK) status = gm_loops_add(l, &kinds[i], sizeof kinds[i], value, error);
  }
  return status == TW_OK ? gm_loops_fold(l, error) : status;
}

enum { DEPTH_MAX = 12 };
typedef struct writer {
  const gm_stream *stream;
  const gm_loops *loops;
  tw_text *text;
  int depth;
  const int64_t *delta[DEPTH_MAX]; /* increments of the enclosing loops, at the values of the element that is written */
  uint32_t count[DEPTH_MAX];
} writer;

static void indent(writer *w) { tw_text_add(w->text, "%*s", 2 * (w->depth + 1), ""); }

/* "64 + 4096 * i0 + 16 * i1"; `leads` if nothing stands before it. */
static void add_sum(writer *w, int64_t first, size_t value, bool leads) {
  bool grows = false;
  for (int d = 0; d < w->depth; d++) grows |= w->delta[d][value] > 0;
  if (leads ? first || !grows : first) tw_text_add(w->text, "%s%lld", leads ? "" : " + ", (long long)first);
  leads = leads && !first && grows;
  for (int d = 0; d < w->depth; d++) {
    int64_t step = w->delta[d][value];
    if (!step) continue;
    if (leads)
      tw_text_add(w->text, "%s%lld * i%d", step < 0 ? "-" : "", (long long)(step < 0 ? -step : step), d);
    else
      tw_text_add(w->text, " %c %lld * i%d", step < 0 ? '-' : '+', (long long)(step < 0 ? -step : step), d);
    leads = false;
  }
}

static void add_local(writer *w, const gm_kind *k, int i, const int64_t *value) {
  uint64_t field = k->fixed[i];
  if (!k->local[i]) {
    tw_text_add(w->text, "BLOCK(GARBAGE_ADDR, %d, %d)", gm_cols(field), gm_rows(field));
    return;
  }
  uint32_t bits = gm_local(field);
  tw_text_add_string(w->text, "BLOCK(");
  if (bits == 0x80000000u)
    tw_text_add_string(w->text, "ACC");
  else if (bits == 0xc0000000u)
    tw_text_add_string(w->text, "ACC_ADD");
  else if (bits)
    tw_text_add(w->text, "0x%x", bits);
  add_sum(w, value[i], (size_t)i, !bits);
  tw_text_add(w->text, ", %d, %d)", gm_cols(field), gm_rows(field));
}

static void add_config(writer *w, const gm_kind *k) {
  static const char *const names[] = {"config_ex", "config_ld", "config_st", "config_norm"};
  tw_text_add(w->text, "GEMMINI_COMMAND(k_CONFIG, 0x%llx, 0x%llx); /* %s", (unsigned long long)k->fixed[0],
              (unsigned long long)k->fixed[1], names[k->fixed[0] & 3]);
  if ((k->fixed[0] & 3) == GM_CONFIG_LD)
    tw_text_add(w->text, ": mvin%s, stride %llu",
                (k->fixed[0] >> 3 & 3) == 0   ? ""
                : (k->fixed[0] >> 3 & 3) == 1 ? "2"
                                              : "3",
                (unsigned long long)k->fixed[1]);
  if ((k->fixed[0] & 3) == GM_CONFIG_ST) tw_text_add(w->text, ": stride %u", (uint32_t)k->fixed[1]);
  tw_text_add_string(w->text, " */\n");
}

static void write_leaf(writer *w, const gm_kind *k, const int64_t *value) {
  indent(w);
  if (k->funct == GM_FENCE) {
    tw_text_add_string(w->text, "fence();\n");
  } else if (k->funct == GM_CONFIG) {
    add_config(w, k);
  } else if (k->funct == GM_FLUSH) {
    tw_text_add(w->text, "gemmini_flush(%llu);\n", (unsigned long long)k->fixed[0]);
  } else if (gm_is_load(k->funct) || k->funct == GM_MVOUT) {
    tw_text_add(w->text, "%s(", k->funct == GM_MVOUT ? "mvout" : gm_load_name(k->funct));
    if (k->operand >= 0) {
      tw_text_add(w->text, "(uint64_t)%s", w->stream->operand[k->operand].name);
      add_sum(w, value[0], 0, false);
    } else
      tw_text_add_string(w->text, "0");
    tw_text_add_string(w->text, ", ");
    add_local(w, k, 1, value);
    tw_text_add_string(w->text, ", 0, 0);\n");
  } else {
    tw_text_add(w->text, "%s(",
                k->funct == GM_PRELOAD             ? "preload"
                : k->funct == GM_COMPUTE_PRELOADED ? "compute_preloaded"
                                                   : "compute_accumulated");
    add_local(w, k, 0, value);
    tw_text_add_string(w->text, ", ");
    add_local(w, k, 1, value);
    tw_text_add_string(w->text, ", 0, 0, 0, 0);\n");
  }
}

static void write_element(writer *w, gm_element e, const int64_t *value) {
  const gm_shape *s = &w->loops->shape[e.shape];
  if (!e.count) {
    write_leaf(w, s->leaf, value);
    return;
  }
  if (w->depth == DEPTH_MAX) {
    w->text->failed = true;
    return;
  }
  indent(w);
  tw_text_add(w->text, "for (uint64_t i%d = 0; i%d < %u; i%d++) {\n", w->depth, w->depth, e.count, w->depth);
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
  tw_text_add_string(w->text, "}\n");
}

void gm_write_loops(const gm_stream *s, const gm_loops *l, tw_text *text) {
  writer w = {.stream = s, .loops = l, .text = text};
  for (size_t i = 0; i < l->n; i++) write_element(&w, l->element[i], l->value + l->at[i]);
}
