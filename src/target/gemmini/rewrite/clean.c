/* clean.c - removal of commands that do nothing; see clean.h. */
#include "target/gemmini/rewrite/clean.h"

#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

static void note(gm_change *c, size_t i) {
  if (!c->count++) c->first = i;
}

static tw_status refuse(size_t i, const char *why, tw_error *error) {
  return tw_fail(error, TW_FAILED, "command %zu is not analysed: %s", i + 1, why);
}

/* ---- configs ---- */

tw_status gm_remove_configs(gm_stream *s, gm_change *change, tw_error *error) {
  gm_decoder d = {.config = s->config};
  gm_access a;
  const char *why;
  *change = (gm_change){0};
  for (size_t i = 0; i < s->n; i++) {
    gm_event *e = &s->event[i];
    if (e->dead) continue;
    const gm_registers before = d.registers;
    if (!gm_decode_access(&d, e, &a, &why)) return refuse(i, why, error);
    if (e->funct != GM_CONFIG || !gm_same_registers(&before, &d.registers)) continue;
    e->dead = true;
    note(change, i);
  }
  return TW_OK;
}

/* ---- lines of memory that stores write ---- */

enum { LINE = 64 };

/* For each line of each output operand: 1 + the last command that stored to it, or loaded from it. */
typedef struct lines {
  const gm_stream *stream;
  size_t *stored[TW_OPERANDS_MAX], *loaded[TW_OPERANDS_MAX];
} lines;

static bool lines_open(lines *l, const gm_stream *s) {
  *l = (lines){.stream = s};
  for (size_t i = 0; i < s->n_operands; i++) {
    if (!s->operand[i].is_output) continue;
    l->stored[i] = calloc(s->operand[i].bytes / LINE + 1, sizeof(size_t));
    l->loaded[i] = calloc(s->operand[i].bytes / LINE + 1, sizeof(size_t));
    if (!l->stored[i] || !l->loaded[i]) return false;
  }
  return true;
}

static void lines_close(lines *l) {
  for (size_t i = 0; i < TW_OPERANDS_MAX; i++) {
    free(l->stored[i]);
    free(l->loaded[i]);
  }
}

/* Returns the latest mark on the lines that an access touches. Sets their marks to `mark` if that is not 0. False
 * for memory outside of operands, of which nothing is known. */
static bool touch_lines(lines *l, size_t *list[], const gm_access *a, size_t mark, size_t *latest) {
  for (int r = 0; r < gm_memory_rows(a); r++) {
    uint64_t offset;
    int o = gm_stream_operand(l->stream, gm_memory_row(a, r), a->row_bytes, &offset);
    if (o < 0) return false;
    if (!list[o]) continue;
    for (uint64_t n = offset / LINE; n <= (offset + a->row_bytes - 1) / LINE; n++) {
      if (list[o][n] > *latest) *latest = list[o][n];
      if (mark) list[o][n] = mark;
    }
  }
  return true;
}

/* ---- loads ---- */

static bool same_load(const gm_event *x, const gm_load_registers *with_x, const gm_event *y,
                      const gm_load_registers *with_y) {
  return x->rs1 == y->rs1 && x->rs2 == y->rs2 && gm_same_load_registers(with_x, with_y);
}

static void set_rows(size_t *writer, const gm_access *a, size_t value) {
  for (int t = 0; t < a->n_writes; t++)
    for (uint32_t r = 0; r < a->write[t].rows; r++) writer[a->write[t].first + r * a->write[t].stride] = value;
}

/* 1 + the command that last wrote all rows of the access; 0 if none. */
static size_t one_writer(const size_t *writer, const gm_access *a) {
  size_t w = a->n_writes ? writer[a->write[0].first] : 0;
  for (int t = 0; t < a->n_writes; t++)
    for (uint32_t r = 0; r < a->write[t].rows; r++)
      if (writer[a->write[t].first + r * a->write[t].stride] != w) return 0;
  return w;
}

tw_status gm_remove_loads(gm_stream *s, gm_change *change, tw_error *error) {
  gm_decoder d = {.config = s->config};
  gm_access a;
  const char *why;
  lines l;
  *change = (gm_change){0};
  size_t *writer = calloc(gm_unified_rows(s->config), sizeof *writer);
  gm_load_registers *with = tw_new(s->n + 1, sizeof *with); /* by command: for each load */
  bool room = lines_open(&l, s) && writer && with;
  tw_status status = room ? TW_OK : tw_no_memory(error, "the analysis");
  for (size_t i = 0; status == TW_OK && i < s->n; i++) {
    gm_event *e = &s->event[i];
    size_t stored = 0;
    if (e->dead) continue;
    if (!gm_decode_access(&d, e, &a, &why))
      status = refuse(i, why, error);
    else if (e->funct == GM_MVOUT && !touch_lines(&l, l.stored, &a, i + 1, &stored))
      status = refuse(i, "it stores to memory outside of the operands", error);
    else if (gm_is_load(e->funct)) {
      with[i] = d.registers.load[gm_load_state(e->funct)];
      if (!touch_lines(&l, l.stored, &a, 0, &stored)) {
        status = refuse(i, "it loads from memory outside of the operands", error);
        continue;
      }
      size_t w = a.accumulates ? 0 : one_writer(writer, &a);
      if (w && stored < w && gm_is_load(s->event[w - 1].funct) &&
          same_load(&s->event[w - 1], &with[w - 1], e, &with[i])) {
        e->dead = true;
        note(change, i);
        continue;
      }
    }
    if (status == TW_OK) set_rows(writer, &a, i + 1);
  }
  lines_close(&l);
  free(writer);
  free(with);
  return status;
}

/* ---- fences ---- */

/* Marks the lines of an access that have no mark since `kept`. Were lines of `other` marked since then? The earliest
 * such mark goes to *met. False for memory outside of operands. */
static bool meet(lines *l, size_t *own[], size_t *other[], const gm_access *a, size_t mark, size_t kept, size_t *met) {
  for (int r = 0; r < gm_memory_rows(a); r++) {
    uint64_t offset;
    int o = gm_stream_operand(l->stream, gm_memory_row(a, r), a->row_bytes, &offset);
    if (o < 0) return false;
    if (!own[o]) continue;
    for (uint64_t n = offset / LINE; n <= (offset + a->row_bytes - 1) / LINE; n++) {
      if (own[o][n] <= kept) own[o][n] = mark;
      if (other[o][n] > kept && (!*met || other[o][n] < *met)) *met = other[o][n];
    }
  }
  return true;
}

/* Removes each fence. Adds it again if a load before it and a store after it access the same memory, or the other
 * way round. Stores keep their order in any case. */
tw_status gm_remove_fences(gm_stream *s, gm_change *change, tw_error *error) {
  gm_decoder d = {.config = s->config};
  gm_access a;
  const char *why;
  lines l;
  *change = (gm_change){0};
  size_t kept = 0, latest = 0; /* fences: 1 + index */
  bool room = lines_open(&l, s), *removed = tw_new(s->n + 1, sizeof *removed);
  tw_status status = room && removed ? TW_OK : tw_no_memory(error, "the analysis");
  for (size_t i = 0; status == TW_OK && i < s->n; i++) {
    gm_event *e = &s->event[i];
    size_t met = 0;
    if (e->dead) continue;
    if (e->funct == GM_FENCE) {
      if (i + 1 == s->n) continue; /* the last one ends the program */
      latest = i + 1;
      e->dead = removed[i] = true;
      continue;
    }
    bool load = gm_is_load(e->funct), store = e->funct == GM_MVOUT;
    if (!gm_decode_access(&d, e, &a, &why))
      status = refuse(i, why, error);
    else if ((load && !meet(&l, l.loaded, l.stored, &a, i + 1, kept, &met)) ||
             (store && !meet(&l, l.stored, l.loaded, &a, i + 1, kept, &met)))
      status = refuse(i, "it uses memory outside of the operands", error);
    if (!met || latest < met) continue;
    s->event[latest - 1].dead = removed[latest - 1] = false;
    kept = latest;
    /* the fence comes later, so the accesses of this command are before it */
    if (load) meet(&l, l.loaded, l.stored, &a, i + 1, kept, &met);
    if (store) meet(&l, l.stored, l.loaded, &a, i + 1, kept, &met);
  }
  for (size_t i = 0; status == TW_OK && i < s->n; i++)
    if (removed[i]) note(change, i);
  lines_close(&l);
  free(removed);
  return status;
}

/* ---- zero-fills ---- */

typedef struct zeros {
  const gm_stream *stream;
  size_t *pending; /* by row: 1 + the load of zeros that is still unused */
  uint32_t *cols;  /* by row: number of these zero columns */
  bool *bad;       /* by command: this load of zeros must stay */
  bool changed;
} zeros;

static void mark_needed(zeros *z, const gm_touch *t) {
  for (uint32_t r = 0; r < t->rows; r++) {
    size_t *p = &z->pending[t->first + r * t->stride];
    if (*p && !z->bad[*p - 1]) z->bad[*p - 1] = z->changed = true;
    *p = 0;
  }
}

/* Does a product that adds to these rows add only to zeros, and to all of them? */
static bool all_pending(const zeros *z, const gm_touch *t) {
  for (uint32_t r = 0; r < t->rows; r++) {
    uint32_t row = t->first + r * t->stride;
    size_t p = z->pending[row];
    if (!p || z->bad[p - 1] || z->cols[row] != t->cols) return false;
  }
  return true;
}

static void clear(zeros *z, const gm_touch *t) {
  for (uint32_t r = 0; r < t->rows; r++) z->pending[t->first + r * t->stride] = 0;
}

/* A narrow load of zeros over a wider one leaves some zeros of the wider one. */
static void add_zeros(zeros *z, const gm_touch *t, size_t load) {
  for (uint32_t r = 0; r < t->rows; r++) {
    uint32_t row = t->first + r;
    if (z->pending[row] && z->cols[row] > t->cols) {
      const gm_touch wider = {row, 1, 1, z->cols[row]};
      mark_needed(z, &wider);
      continue;
    }
    z->pending[row] = load + 1;
    z->cols[row] = t->cols;
  }
}

/* One pass over the stream. With `apply`, computes that start from zeros are changed to overwrite. */
static tw_status follow_zeros(zeros *z, gm_stream *s, bool apply, tw_error *error) {
  gm_decoder d = {.config = s->config};
  gm_access a;
  const char *why;
  size_t preload = 0;
  memset(z->pending, 0, gm_unified_rows(s->config) * sizeof *z->pending);
  for (size_t i = 0; i < s->n; i++) {
    gm_event *e = &s->event[i];
    if (e->dead) continue;
    if (!gm_decode_access(&d, e, &a, &why)) return refuse(i, why, error);
    if (e->funct == GM_PRELOAD) preload = i;
    for (int t = 0; t < a.n_reads; t++) mark_needed(z, &a.read[t]);
    bool zero = gm_is_load(e->funct) && !e->rs1 && gm_is_acc(gm_local(e->rs2)) && !a.accumulates;
    if (zero) {
      for (int t = 0; t < a.n_writes; t++) add_zeros(z, &a.write[t], i);
    } else if (gm_is_compute(e->funct) && a.accumulates && a.n_writes && all_pending(z, &a.write[0])) {
      clear(z, &a.write[0]);
      if (apply) s->event[preload].rs2 &= ~(1ull << 30);
    } else {
      for (int t = 0; t < a.n_writes; t++) a.accumulates ? mark_needed(z, &a.write[t]) : clear(z, &a.write[t]);
    }
  }
  return TW_OK;
}

tw_status gm_remove_zero_fills(gm_stream *s, gm_change *change, tw_error *error) {
  const uint32_t rows = gm_unified_rows(s->config);
  zeros z = {.stream = s,
             .pending = tw_new(rows, sizeof *z.pending),
             .cols = tw_new(rows, sizeof *z.cols),
             .bad = tw_new(s->n + 1, sizeof *z.bad)};
  tw_status status = z.pending && z.cols && z.bad ? TW_OK : tw_no_memory(error, "the analysis");
  *change = (gm_change){0};
  do {
    z.changed = false;
    if (status == TW_OK) status = follow_zeros(&z, s, false, error);
  } while (status == TW_OK && z.changed);
  if (status == TW_OK) status = follow_zeros(&z, s, true, error);
  for (size_t i = 0; status == TW_OK && i < s->n; i++) {
    gm_event *e = &s->event[i];
    if (e->dead || z.bad[i] || !gm_is_load(e->funct) || e->rs1 || !gm_is_acc(gm_local(e->rs2)) ||
        gm_accumulates(gm_local(e->rs2)))
      continue;
    e->dead = true;
    note(change, i);
  }
  free(z.pending);
  free(z.cols);
  free(z.bad);
  return status;
}

/* ---- narrow moves ---- */

/* Does y continue x, which is `cols` columns wide so far? `apart`: rows from block to block; `bytes`: size of a
 * block in memory. */
static bool continues(const gm_stream *s, const gm_event *x, const gm_event *y, int apart, int bytes) {
  int dim = s->config->dim, cols = gm_cols(x->rs2), blocks = cols / dim;
  return x->funct == y->funct && gm_rows(x->rs2) == gm_rows(y->rs2) && gm_cols(y->rs2) == dim && cols % dim == 0 &&
         cols + dim <= s->config->max_block_cols && gm_local(y->rs2) == gm_local(x->rs2) + (uint32_t)(blocks * apart) &&
         y->rs1 == (x->rs1 ? x->rs1 + (uint64_t)(blocks * bytes) : 0);
}

static tw_status widen(gm_stream *s, bool stores, gm_change *change, tw_error *error) {
  gm_decoder d = {.config = s->config};
  gm_access a;
  const char *why;
  gm_event *before = NULL;
  const int bytes = s->config->dim * gm_input_bytes(s->config);
  *change = (gm_change){0};
  for (size_t i = 0; i < s->n; i++) {
    gm_event *e = &s->event[i];
    if (e->dead) continue;
    if (!gm_decode_access(&d, e, &a, &why)) return refuse(i, why, error);
    uint32_t local = gm_local(e->rs2);
    bool mine =
        stores ? e->funct == GM_MVOUT && !gm_pools(&d.registers.store) && !(gm_is_acc(local) && gm_is_full_width(local))
               : gm_is_load(e->funct) && (!gm_is_acc(local) || !e->rs1) &&
                     d.registers.load[gm_load_state(e->funct)].pixel_repeats <= 1;
    int apart = stores || !mine ? s->config->dim : d.registers.load[gm_load_state(e->funct)].block_stride;
    if (mine && before && apart >= gm_rows(e->rs2) && continues(s, before, e, apart, bytes)) {
      before->rs2 += (uint64_t)s->config->dim << 32;
      before->gap += e->gap / 4;
      e->dead = true;
      note(change, i);
    } else
      before = mine ? e : NULL;
  }
  return TW_OK;
}

tw_status gm_widen_loads(gm_stream *s, gm_change *change, tw_error *error) { return widen(s, false, change, error); }
tw_status gm_widen_stores(gm_stream *s, gm_change *change, tw_error *error) { return widen(s, true, change, error); }
