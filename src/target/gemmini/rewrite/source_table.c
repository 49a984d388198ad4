/* source_table.c - a stream without loops that are worth it: a table of its commands, and a loop that plays them.
 *
 * A line of the table is a run of products whose rows grow by the same amounts, or one other command; what lines of a
 * kind share (sizes, operand, bits of the address) is in a short array of kinds. 16 bytes a line: four lines are one
 * cache line, which the core waits for once. */
#include <stdlib.h>
#include <string.h>

#include "target/gemmini/rewrite/source_private.h"

enum { KINDS_MAX = 255, RUN_MAX = 255, ROWS = 4, GROWING = 3, PRODUCT = 128, LINES_OF_TEXT = 4 };

/* A product is a preload and the next compute: rows of B, C, A, D. For other commands `second` is empty. */
typedef struct command {
  int op; /* funct; of a product PRODUCT + that of its compute */
  gm_kind first, second;
  int64_t row[ROWS];
} command;

typedef struct line {
  int kind, n;
  int64_t row[ROWS], grow[GROWING];
} line;

typedef struct table {
  const gm_stream *stream;
  int n_kinds;
  command kind[KINDS_MAX];
  line line; /* the line that is being made; n == 0: none */
  size_t lines;
  bool uses[PRODUCT + 16]; /* by op */
  tw_text *text;
} table;

/* ---- lines ---- */

static void flush(table *t) {
  line *l = &t->line;
  if (!l->n) return;
  tw_text_add(t->text, "{%d,%d,{%lld,%lld,%lld,%lld},{%lld,%lld,%lld}},%s", l->kind, l->n, (long long)l->row[0],
              (long long)l->row[1], (long long)l->row[2], (long long)l->row[3], (long long)l->grow[0],
              (long long)l->grow[1], (long long)l->grow[2], ++t->lines % LINES_OF_TEXT ? " " : "\n  ");
  l->n = 0;
}

static int find_kind(table *t, const command *c) {
  for (int i = 0; i < t->n_kinds; i++) {
    const command *k = &t->kind[i];
    if (k->op == c->op && gm_same_kind(&k->first, &c->first) && gm_same_kind(&k->second, &c->second)) return i;
  }
  if (t->n_kinds == KINDS_MAX) return -1;
  t->kind[t->n_kinds] = *c;
  return t->n_kinds++;
}

/* Is the command the next one of the run? The second command of a run defines the growth of its rows. */
static bool continues(line *l, int kind, const command *c) {
  if (c->op < PRODUCT || l->n == 0 || l->n == RUN_MAX || l->kind != kind || c->row[3] != l->row[3]) return false;
  for (int i = 0; i < GROWING; i++) {
    int64_t step = c->row[i] - l->row[i];
    if (l->n > 1 && step != l->n * l->grow[i]) return false;
    if (step > INT16_MAX || step < INT16_MIN) return false;
  }
  for (int i = 0; l->n == 1 && i < GROWING; i++) l->grow[i] = c->row[i] - l->row[i];
  l->n++;
  return true;
}

static tw_status add(table *t, const command *c, tw_error *error) {
  int kind = find_kind(t, c);
  if (kind < 0) return tw_fail(error, TW_FAILED, "the program has more than %d kinds of commands", KINDS_MAX);
  t->uses[c->op] = true;
  if (continues(&t->line, kind, c)) return TW_OK;
  flush(t);
  t->line = (line){.kind = kind, .n = 1};
  memcpy(t->line.row, c->row, sizeof c->row);
  return TW_OK;
}

static const gm_event *next_event(const gm_stream *s, size_t i) {
  while (i < s->n && s->event[i].dead) i++;
  return i < s->n ? &s->event[i] : NULL;
}

/* The command at *i; a product takes two events. */
static tw_status read_command(const gm_stream *s, size_t *i, command *c, tw_error *error) {
  const gm_event *e = &s->event[*i], *next = next_event(s, *i + 1);
  int64_t value[GM_LOOP_VALUES];
  memset(c, 0, sizeof *c);
  c->op = e->funct;
  tw_status status = gm_split_command(s, e, &c->first, value, error);
  if (status != TW_OK) return status;
  memcpy(c->row, value, sizeof value);
  if (e->funct != GM_PRELOAD || !next || !gm_is_compute(next->funct)) {
    if (c->first.operand < 0) return TW_OK;
    c->row[2] = value[0] >> 16; /* an offset in memory takes two fields */
    c->row[0] = value[0] & 0xffff;
    return TW_OK;
  }
  c->op = PRODUCT + next->funct;
  *i = (size_t)(next - s->event);
  status = gm_split_command(s, next, &c->second, value, error);
  memcpy(c->row + 2, value, sizeof value);
  return status;
}

/* ---- the loop that plays them ---- */

static const char *op_name(int op) {
  switch (op) {
  case PRODUCT + GM_COMPUTE_PRELOADED: return "PRODUCTS";
  case PRODUCT + GM_COMPUTE_ACCUMULATED: return "PRODUCTS_SAME_WEIGHTS";
  case GM_MVIN: return "MVIN";
  case GM_MVIN2: return "MVIN2";
  case GM_MVIN3: return "MVIN3";
  case GM_MVOUT: return "MVOUT";
  case GM_PRELOAD: return "PRELOAD";
  case GM_COMPUTE_PRELOADED: return "COMPUTE_PRELOADED";
  case GM_COMPUTE_ACCUMULATED: return "COMPUTE_ACCUMULATED";
  case GM_CONFIG: return "CONFIG";
  case GM_FENCE: return "FENCE";
  default: return "FLUSH";
  }
}

static void write_case(tw_text *t, int op) {
  tw_text_add(t, "    case %s:\n", op_name(op));
  if (op >= PRODUCT) {
    tw_text_add(t,
                "      d = k->field[3] + s->row[3];\n"
                "      for (int n = s->n, db = s->grow[0], dc = s->grow[1], da = s->grow[2]; n; n--) {\n"
                "        preload(x, y, 0, 0, 0, 0);\n"
                "        %s(z, d, 0, 0, 0, 0);\n"
                "        x += db, y += dc, z += da;\n"
                "      }\n",
                op == PRODUCT + GM_COMPUTE_PRELOADED ? "compute_preloaded" : "compute_accumulated");
  } else if (gm_is_load(op) || op == GM_MVOUT) {
    tw_text_add(t, "      %s(x + ((uint64_t)s->row[2] << 16), y, 0, 0);\n",
                op == GM_MVOUT ? "mvout" : gm_load_name(op));
  } else if (op == GM_PRELOAD || gm_is_compute(op)) {
    tw_text_add(t, "      %s(x, y, 0, 0, 0, 0);\n",
                op == GM_PRELOAD             ? "preload"
                : op == GM_COMPUTE_PRELOADED ? "compute_preloaded"
                                             : "compute_accumulated");
  } else {
    tw_text_add_string(t, op == GM_CONFIG  ? "      GEMMINI_COMMAND(k_CONFIG, x, y);\n"
                          : op == GM_FENCE ? "      fence();\n"
                                           : "      gemmini_flush(0);\n");
  }
  tw_text_add_string(t, "      break;\n");
}

static void write_kind(const table *t, const command *c, tw_text *text) {
  tw_text_add(text, "    {%s, {", op_name(c->op));
  if (c->first.operand >= 0)
    tw_text_add(text, "(uint64_t)%s", t->stream->operand[c->first.operand].name);
  else
    tw_text_add(text, "0x%llx", (unsigned long long)c->first.fixed[0]);
  tw_text_add(text, ", 0x%llx, 0x%llx, 0x%llx}},\n", (unsigned long long)c->first.fixed[1],
              (unsigned long long)c->second.fixed[0], (unsigned long long)c->second.fixed[1]);
}

static void write_player(const table *t, tw_text *text) {
  tw_text_add_string(text, "  enum {");
  for (int op = 0, n = 0; op < PRODUCT + 16; op++)
    if (t->uses[op]) tw_text_add(text, "%s%s", n++ ? ", " : " ", op_name(op));
  tw_text_add_string(text, " };\n  const struct { int op; uint64_t field[4]; } kind[] = {\n");
  for (int i = 0; i < t->n_kinds; i++) write_kind(t, &t->kind[i], text);
  tw_text_add(text,
              "  };\n"
              "  for (const step_t *s = step; s != step + %zu; s++) {\n"
              "    const __typeof__(kind[0]) *k = &kind[s->kind];\n"
              "    uint64_t x = k->field[0] + s->row[0], y = k->field[1] + s->row[1], z = k->field[2] + s->row[2], d;\n"
              "    (void)z, (void)d;\n"
              "    switch (k->op) {\n",
              t->lines);
  for (int op = 0; op < PRODUCT + 16; op++)
    if (t->uses[op]) write_case(text, op);
  tw_text_add_string(text, "    }\n  }\n");
}

tw_status gm_write_table(const gm_stream *s, tw_text *before, tw_text *body, tw_error *error) {
  table *t = tw_new(1, sizeof *t);
  if (!t) return tw_no_memory(error, "the table of commands");
  t->stream = s;
  t->text = before;
  tw_text_add_string(before, "/* The commands: n products whose rows of B, C and A grow, or one other command. */\n"
                             "typedef struct { uint8_t kind, n; uint16_t row[4]; int16_t grow[3]; } step_t;\n"
                             "static const step_t step[] = {\n  ");
  tw_status status = TW_OK;
  for (size_t i = 0; i < s->n && status == TW_OK; i++) {
    command c;
    if (s->event[i].dead) continue;
    status = read_command(s, &i, &c, error);
    if (status == TW_OK) status = add(t, &c, error);
  }
  flush(t);
  tw_text_add_string(before, "\n};\n\n");
  if (status == TW_OK) write_player(t, body);
  free(t);
  return status;
}
