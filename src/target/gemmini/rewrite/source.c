/* source.c - writes a command stream as a C function; see source.h.
 *
 * The size fields of a local address are added to the address. So each operand is one sum, which the compiler
 * increments in each iteration. */
#include "target/gemmini/rewrite/source.h"

#include <stdlib.h>
#include <string.h>

#include "op/operand.h"
#include "target/gemmini/rewrite/source_private.h"

/* Beyond the instruction cache (1,400 commands of three instructions) code is still faster than a table: its misses
 * are fetched ahead, and a line of the table costs some thirty instructions (docs/lab/2026-11-gemmini-rewrites.md
 * has figures). The limit bounds the compiler's time: 8000 commands take 3 s. */
enum { COMMANDS_MAX = 8000 };

static void split_local(const gm_config *c, uint64_t field, int i, gm_kind *k, int64_t *value) {
  uint32_t local = gm_local(field);
  k->fixed[i] = field;
  if (gm_is_garbage(local)) return;
  uint32_t mask = (uint32_t)((gm_is_acc(local) ? gm_acc_rows(c) : gm_spad_rows(c)) - 1);
  k->local[i] = true;
  k->fixed[i] = field & ~(uint64_t)mask;
  value[i] = local & mask;
}

tw_status gm_split_command(const gm_stream *s, const gm_event *e, gm_kind *k, int64_t value[GM_LOOP_VALUES],
                           tw_error *error) {
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

static const char *c_type(tw_type t) { return t == TW_I8 ? "int8_t" : t == TW_I32 ? "int32_t" : "float"; }

static void write_head(const gm_stream *s, const char *note, const char *before, tw_text *t) {
  tw_text_add(
      t,
      "/* %s */\n"
      "#pragma GCC optimize(\"O1\") /* for long runs of commands faster than O2, and compiled in a tenth of the time "
      "*/\n"
      "#define ACC 0x80000000ull     /* a row of the accumulator */\n"
      "#define ACC_ADD 0xc0000000ull /* the same, to add to */\n"
      "/* Rows and columns of a block ride above its address. */\n"
      "#define BLOCK(row, cols, rows) (((uint64_t)(rows) << 48 | (uint64_t)(cols) << 32) + (row))\n\n%svoid test(",
      note, before);
  for (size_t i = 0; i < s->n_operands; i++) {
    const tw_operand *o = &s->operand[i];
    tw_text_add(t, "%s%s %s", i ? ", " : "", c_type(o->type), o->name);
    for (int d = 0; d + 1 < o->rank; d++) tw_text_add(t, "[%lld]", (long long)o->dims[d]);
    tw_text_add(t, "[%lld]", (long long)tw_operand_pitch(o));
  }
  tw_text_add_string(t, ") {\n");
}

tw_status gm_stream_source(const gm_stream *s, const char *note, char **source, tw_error *error) {
  gm_loops l = {.stop = s->stop};
  tw_text text = {0}, before = {0}, body = {0};
  gm_kind *kinds = tw_new(s->n + 1, sizeof *kinds);
  tw_status status = kinds ? gm_find_loops(s, kinds, &l, error) : tw_no_memory(error, "the program");
  if (status == TW_OK && gm_loops_weight(&l) <= COMMANDS_MAX)
    gm_write_loops(s, &l, &body);
  else if (status == TW_OK)
    status = gm_write_table(s, &before, &body, error);
  if (status == TW_OK) {
    write_head(s, note, before.data ? before.data : "", &text);
    tw_text_add_bytes(&text, body.data, body.length);
    tw_text_add_string(&text, "}\n");
    text.failed |= before.failed || body.failed;
    *source = tw_text_take(&text);
    if (!*source) status = tw_no_memory(error, "the program, or its loops are nested too deeply");
  }
  tw_text_free(&text);
  tw_text_free(&before);
  tw_text_free(&body);
  gm_loops_free(&l);
  free(kinds);
  return status;
}
