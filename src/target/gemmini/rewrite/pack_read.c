/* pack_read.c - the stream as values (data of one load), products, windows (commands between two bursts of stores) and
 * groups of windows. */
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/gemmini/rewrite/pack_private.h"

enum {
  DEFAULT_GROUP = 32, /* products: 512 cycles, several times a load's latency */
  SETUPS_MAX = 256    /* configurations that differ */
};

typedef struct reader {
  gm_decoder decoder;
  size_t *writer;                 /* by row of the scratchpad: 1 + the value in it */
  uint32_t *cols;                 /* by row of the scratchpad: number of columns of that value */
  size_t *acc_window;             /* by row of the accumulator: 1 + the window that wrote it */
  size_t execute, store, load[3]; /* 1 + the configuration in force; 0: none yet */
  bool stored;                    /* a store came after the latest product */
  bool preloaded;
} reader;

/* 1 + the number of a configuration; configurations with equal settings are one. 0 if there are too many. */
static size_t find_setup(gm_pack_state *p, const gm_event *e) {
  size_t i = 0;
  while (i < p->n_setups && (p->setup[i].rs1 != e->rs1 || p->setup[i].rs2 != e->rs2)) i++;
  if (i == SETUPS_MAX) return 0;
  if (i == p->n_setups) p->setup[p->n_setups++] = *e;
  return i + 1;
}

static bool read_config(gm_pack_state *p, reader *r, const gm_event *e) {
  static const uint64_t LOAD_ID = 3ull << 3, ONLY_STRIDES = 1ull << 7, A_STRIDE = 0xffffull << 16,
                        C_STRIDE = 0xffffull << 48;
  static const uint64_t KEEP_SCALE = 0xffffffffull << 32;
  unsigned which = e->rs1 & 3, id = e->rs1 >> 3 & 3;
  gm_event whole = *e; /* a configuration that sets all registers, independently of their state */
  if (which == GM_CONFIG_LD) {
    whole.rs1 &= ~LOAD_ID;
    return (r->load[id] = find_setup(p, &whole)) != 0;
  }
  if (which == GM_CONFIG_ST) {
    uint32_t scale;
    memcpy(&scale, &r->decoder.registers.store.acc_scale, sizeof scale);
    if (e->rs2 >> 32 == UINT32_MAX) whole.rs2 = (e->rs2 & ~KEEP_SCALE) | (uint64_t)scale << 32;
    return (r->store = find_setup(p, &whole)) != 0;
  }
  if (e->rs1 & ONLY_STRIDES && r->execute) {
    whole = p->setup[r->execute - 1];
    whole.rs1 = (whole.rs1 & ~A_STRIDE) | (e->rs1 & A_STRIDE);
    whole.rs2 = (whole.rs2 & ~C_STRIDE) | (e->rs2 & C_STRIDE);
  }
  return (r->execute = find_setup(p, &whole)) != 0;
}

static void use(gm_pack_state *p, size_t v, size_t product_index, bool weights) {
  gm_value *x = &p->value[v];
  if (x->first > x->last) x->first = product_index, x->weights = weights;
  x->weights &= weights;
  x->last = product_index;
}

/* The loads of y become loads of x, all in the order of the program. x begins before y. */
static void merge_loads(gm_pack_state *p, size_t x, size_t y) {
  gm_value *v = p->value;
  size_t at = x, more = y + 1, end = v[x].tail > v[y].tail ? v[x].tail : v[y].tail;
  if (v[x].tail < y) at = v[x].tail;
  while (more) {
    size_t next = v[at].next;
    if (!next || more < next) {
      v[at].next = more;
      more = next;
    }
    at = v[at].next - 1;
  }
  v[x].tail = end;
}

/* One operand spans both values. They keep their relative place and are loaded together. */
static size_t join_values(gm_pack_state *p, size_t i, size_t k) {
  i = gm_whole_value(p, i), k = gm_whole_value(p, k);
  if (i == k) return i;
  if (k < i) {
    size_t other = i;
    i = k, k = other;
  }
  gm_value *x = &p->value[i], *y = &p->value[k];
  uint32_t end = x->row + x->rows > y->row + y->rows ? x->row + x->rows : y->row + y->rows;
  merge_loads(p, i, k);
  y->joined = i + 1;
  if (y->row < x->row) x->row = y->row;
  x->rows = end - x->row;
  if (y->first <= y->last) {
    x->weights = y->weights && (x->first > x->last || x->weights);
    if (x->first > x->last || y->first < x->first) x->first = y->first;
    if (y->last > x->last) x->last = y->last;
    y->first = 1, y->last = 0;
  }
  return i;
}

/* The value that contains an operand. False if a part of it was never loaded. */
static bool read_operand(gm_pack_state *p, reader *r, const gm_touch *t, gm_use *u, bool weights) {
  if (t->first >= (uint32_t)gm_spad_rows(p->config)) return true; /* of the accumulator */
  size_t v = r->writer[t->first];
  for (uint32_t k = 0; k < t->rows; k++) {
    uint32_t row = t->first + k * t->stride;
    if (!r->writer[row] || r->cols[row] < t->cols) return false;
    v = 1 + join_values(p, v - 1, r->writer[row] - 1);
  }
  *u = (gm_use){v, t->first};
  use(p, v - 1, p->n_products, weights);
  return true;
}

static void begin_window(gm_pack_state *p, reader *r) {
  if (!r->stored) return;
  r->stored = false;
  p->cut[++p->n_windows] = true;
  p->window_start[p->n_windows] = p->n_products;
}

/* For a read of accumulator rows: joins all windows from the one that wrote them on. */
static void join_windows(gm_pack_state *p, reader *r, const gm_touch *t) {
  uint32_t spad = (uint32_t)gm_spad_rows(p->config);
  for (uint32_t k = 0; t->first >= spad && k < t->rows; k++) {
    size_t from = r->acc_window[t->first - spad + k * t->stride];
    for (size_t w = from; from && w <= p->n_windows; w++)
      if (w > from - 1) p->cut[w] = false;
  }
}

/* Rows of the accumulator that the current window uses. */
static void use_acc(gm_pack_state *p, const gm_touch *t) {
  uint32_t at = t->first - (uint32_t)gm_spad_rows(p->config), end = at + (t->rows - 1) * t->stride + 1;
  uint32_t *first = &p->window_acc[p->n_windows], *last = &p->window_end[p->n_windows];
  if (!*last || at < *first) *first = at;
  if (end > *last) *last = end;
}

static void write_acc(gm_pack_state *p, reader *r, const gm_touch *t) {
  uint32_t spad = (uint32_t)gm_spad_rows(p->config);
  use_acc(p, t);
  for (uint32_t k = 0; k < t->rows; k++) r->acc_window[t->first - spad + k * t->stride] = p->n_windows + 1;
}

static bool read_load(gm_pack_state *p, reader *r, const gm_event *e, const gm_access *a, size_t i) {
  uint64_t offset;
  size_t setup = r->load[gm_load_state(e->funct)];
  if (!setup--) return gm_pack_refuse(p, i, "a load before its configuration");
  if (e->rs1) {
    int o = gm_stream_operand(p->stream, e->rs1, 1, &offset);
    if (o < 0 || p->stream->operand[o].is_output)
      return gm_pack_refuse(p, i, "a load from memory that is not an input");
  }
  if (gm_is_acc(gm_local(e->rs2))) {
    begin_window(p, r);
    for (int t = 0; t < a->n_writes; t++) {
      if (a->accumulates) join_windows(p, r, &a->write[t]);
      write_acc(p, r, &a->write[t]);
    }
    p->transfer[p->n_transfers++] = (gm_transfer){*e, setup, p->n_products, p->n_windows};
    return true;
  }
  gm_value *v = &p->value[p->n_values];
  const gm_touch *last = &a->write[a->n_writes - 1];
  *v = (gm_value){.load = *e, .config = setup, .row = a->write[0].first, .before = p->n_products, .first = 1};
  v->rows = last->first + last->rows - v->row;
  v->leader = v->tail = p->n_values++;
  for (int t = 0; t < a->n_writes; t++)
    for (uint32_t k = 0; k < a->write[t].rows; k++) {
      r->writer[a->write[t].first + k] = p->n_values;
      r->cols[a->write[t].first + k] = a->write[t].cols;
    }
  return true;
}

static bool read_preload(gm_pack_state *p, reader *r, const gm_event *e, const gm_access *a, size_t i) {
  gm_product *x = &p->product[p->n_products];
  *x = (gm_product){.preload = *e};
  r->preloaded = true;
  if (!a->n_reads) return true;
  begin_window(p, r);
  join_windows(p, r, &a->read[0]);
  return read_operand(p, r, &a->read[0], &x->preloaded, gm_is_weights(&r->decoder.registers.execute, true)) ||
         gm_pack_refuse(p, i, "an operand of a preload that was not loaded completely");
}

static bool read_compute(gm_pack_state *p, reader *r, const gm_event *e, const gm_access *a, size_t i) {
  const bool second_is_weights = gm_is_weights(&r->decoder.registers.execute, false);
  gm_product *x = &p->product[p->n_products];
  bool has_first = !gm_is_garbage(gm_local(e->rs1)) && gm_rows(e->rs1) && gm_cols(e->rs1);
  if (!r->preloaded) return gm_pack_refuse(p, i, "a compute without a preload");
  if (!r->execute) return gm_pack_refuse(p, i, "a compute without a configuration");
  x->compute = *e;
  x->config = r->execute - 1;
  for (int t = 0; t < a->n_reads; t++) {
    bool is_first = has_first && t == 0;
    if (!read_operand(p, r, &a->read[t], is_first ? &x->first : &x->second, !is_first && second_is_weights))
      return gm_pack_refuse(p, i, "an operand that was not loaded completely");
  }
  if (a->n_writes && a->write[0].first < (uint32_t)gm_spad_rows(p->config))
    return gm_pack_refuse(p, i, "a result in the scratchpad");
  begin_window(p, r);
  x->window = p->n_windows;
  for (int t = 0; t < a->n_reads; t++) join_windows(p, r, &a->read[t]);
  if (a->n_writes) {
    if (a->accumulates) join_windows(p, r, &a->write[0]);
    write_acc(p, r, &a->write[0]);
  }
  r->preloaded = false;
  p->n_products++;
  return true;
}

static bool read_store(gm_pack_state *p, reader *r, const gm_event *e, const gm_access *a, size_t i) {
  if (!r->store) return gm_pack_refuse(p, i, "a store before its configuration");
  for (int t = 0; t < a->n_reads; t++) {
    if (a->read[t].first < (uint32_t)gm_spad_rows(p->config))
      return gm_pack_refuse(p, i, "a store from the scratchpad");
    join_windows(p, r, &a->read[t]);
    use_acc(p, &a->read[t]);
  }
  p->transfer[p->n_transfers++] = (gm_transfer){*e, r->store - 1, p->n_products, p->n_windows};
  r->stored = true;
  return true;
}

static bool read_event(gm_pack_state *p, reader *r, size_t i) {
  const gm_event *e = &p->stream->event[i];
  gm_access a;
  const char *why;
  if (!gm_decode_access(&r->decoder, e, &a, &why)) return gm_pack_refuse(p, i, why);
  switch (e->funct) {
  case GM_CONFIG:
    if (r->preloaded) return gm_pack_refuse(p, i, "a configuration between preload and compute");
    return read_config(p, r, e) || gm_pack_refuse(p, i, "one of more than 256 different configurations");
  case GM_PRELOAD: return read_preload(p, r, e, &a, i);
  case GM_COMPUTE_PRELOADED:
  case GM_COMPUTE_ACCUMULATED: return read_compute(p, r, e, &a, i);
  case GM_MVOUT: return read_store(p, r, e, &a, i);
  case GM_FENCE: return i + 1 == p->stream->n || gm_pack_refuse(p, i, "a fence that orders a dependence");
  case GM_FLUSH: return true;
  default: return read_load(p, r, e, &a, i);
  }
}

/* All loads of a value must precede its first use. Otherwise the value is split. */
static bool check_values(gm_pack_state *p) {
  for (size_t i = 0; i < p->n_values; i++) {
    const gm_value *v = &p->value[i];
    for (size_t k = v->joined ? 0 : v->next; k; k = p->value[k - 1].next)
      if (p->value[k - 1].before > v->first)
        return gm_pack_refuse(p, 0, "an operand of several loads, of which one comes between its uses");
  }
  return true;
}

/* The accumulator rows of window `from` equal the rows of `to`, or are added to them; from >= to. */
static void join_acc(gm_pack_state *p, size_t to, size_t from, bool add) {
  uint32_t first = p->window_acc[from], end = p->window_end[from];
  if (to != from) p->window_acc[from] = p->window_end[from] = 0;
  if (add && !end) return;
  bool known = add && p->window_end[to];
  p->window_acc[to] = known && p->window_acc[to] < first ? p->window_acc[to] : first;
  p->window_end[to] = known && p->window_end[to] > end ? p->window_end[to] : end;
}

/* Numbers the windows that are left after joining. */
static bool compress_windows(gm_pack_state *p) {
  size_t n = 0, *number = tw_new(p->n_windows + 1, sizeof *number);
  if (!number) return gm_pack_refuse(p, 0, "no memory");
  for (size_t w = 0; w <= p->n_windows; w++) {
    if (w && p->cut[w]) n++;
    number[w] = n;
    if (!w || p->cut[w]) p->window_start[n] = p->window_start[w];
    join_acc(p, n, w, w && !p->cut[w]);
  }
  for (size_t i = 0; i < p->n_products; i++) p->product[i].window = number[p->product[i].window];
  for (size_t i = 0; i < p->n_transfers; i++) p->transfer[i].window = number[p->transfer[i].window];
  p->n_windows = n + 1;
  p->window_start[p->n_windows] = p->n_products;
  free(number);
  for (size_t w = 0; w < p->n_windows; w++)
    if (p->window_end[w] - p->window_acc[w] > p->acc_rows) p->acc_rows = p->window_end[w] - p->window_acc[w];
  return true;
}

/* Groups consist of whole windows; a long window is split into several groups. */
static void make_groups(gm_pack_state *p) {
  size_t least = p->options.prefetch ? (size_t)p->options.prefetch : DEFAULT_GROUP, n = 0;
  for (size_t w = 0; w < p->n_windows;) {
    size_t from = p->window_start[w], to = from;
    while (w < p->n_windows && to - from < least) to = p->window_start[++w];
    size_t parts = (to - from) / (2 * least);
    if (parts < 1) parts = 1;
    for (size_t k = 0; k < parts; k++) p->group_start[n++] = from + (to - from) * k / parts;
  }
  p->n_groups = n;
  p->group_start[n] = p->n_products;
  for (size_t g = 0; g < n; g++)
    for (size_t i = p->group_start[g]; i < p->group_start[g + 1]; i++) p->product[i].group = g;
}

bool gm_pack_read(gm_pack_state *p) {
  reader r = {.decoder = {.config = p->config}};
  r.writer = tw_new((size_t)gm_spad_rows(p->config), sizeof *r.writer);
  r.cols = tw_new((size_t)gm_spad_rows(p->config), sizeof *r.cols);
  r.acc_window = tw_new((size_t)gm_acc_rows(p->config), sizeof *r.acc_window);
  bool ok = r.writer && r.cols && r.acc_window ? true : gm_pack_refuse(p, 0, "no memory");
  for (size_t i = 0; ok && i < p->stream->n; i++)
    if (!p->stream->event[i].dead) ok = read_event(p, &r, i);
  if (ok && (r.preloaded || !p->n_products))
    ok = gm_pack_refuse(p, p->stream->n, "no products, or a preload without one");
  free(r.writer);
  free(r.cols);
  free(r.acc_window);
  if (!ok || !check_values(p) || !compress_windows(p)) return false;
  make_groups(p);
  return true;
}
