/* pack.c - renames rows and moves loads and stores; see pack.h.
 *
 *   read the stream: values (what one load brings), products (preload + compute), windows (what is between two bursts
 *   of stores), groups of windows
 *     -> which loads bring the same and may be one
 *     -> rows for each value over its life
 *     -> places for loads and stores among the products
 *     -> the new stream */
#include "target/gemmini/rewrite/pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

enum {
  DEFAULT_GROUP = 32, /* products: 512 cycles, several times a load's latency */
  FIRST_LEAD = 8,     /* products by which a load of the first group precedes its use: what the station holds */
  SETTLE = 10,        /* products after a swap of banks until the old one is no longer read */
  NEVER_KEPT = -1,
};

typedef struct value { /* what one load brings into the scratchpad */
  gm_event load;
  int state;          /* of load registers, in the new numbering */
  uint32_t row, rows; /* as the program has it: first row, length with gaps */
  size_t before;      /* the product before which it stood */
  size_t first, last; /* products that use it; first > last: none */
  size_t same;        /* 1 + the earlier value with the same content; 0: none */
  size_t leader;      /* the value whose load serves it */
  bool weights;
  uint32_t new_row;
} value;

typedef struct operand_use {
  size_t value; /* 1 + ...; 0: none, or no scratchpad rows */
  uint32_t offset;
} operand_use;

typedef struct product {
  gm_event preload, compute;
  operand_use b, a, d;
  size_t window, group;
} product;

typedef struct transfer { /* a store, or a load into the accumulator */
  gm_event event;
  size_t before, window;
} transfer;

typedef struct pack {
  gm_stream *stream;
  const gm_config *config;
  gm_pack_options options;
  size_t n_values, n_products, n_transfers;
  value *value;
  product *product;
  transfer *transfer;
  size_t n_windows, n_groups;
  size_t *window_start, *group_start; /* products; one more than there are */
  bool *cut;                          /* by window: it begins here */
  uint32_t acc_first, acc_rows;       /* of the widest window */
  uint32_t *window_acc;               /* first accumulator row of each window */
  gm_event config_event[5];           /* execute, store, three loads */
  bool has_config[5];
  const char *why;
  size_t where;
} pack;

static bool refuse(pack *p, size_t where, const char *why) {
  p->why = why;
  p->where = where + 1;
  return false;
}

/* ---- reading ---- */

typedef struct reader {
  gm_decoder decoder;
  size_t *writer;     /* by row of the scratchpad: 1 + the value there */
  size_t *acc_window; /* by row of the accumulator: 1 + the window that wrote it */
  int state[3];       /* of each load register in the new numbering; -1 = not set */
  bool stored;        /* since the latest product */
  bool preloaded;
} reader;

static bool read_config(pack *p, reader *r, const gm_event *e, size_t i) {
  unsigned which = e->rs1 & 3, id = e->rs1 >> 3 & 3;
  gm_event plain = *e;
  if (which != GM_CONFIG_LD) {
    int slot = which == GM_CONFIG_EX ? 0 : 1;
    gm_event *known = &p->config_event[slot];
    if (p->has_config[slot] && (known->rs1 != e->rs1 || known->rs2 != e->rs2))
      return refuse(p, i, "the array or the store unit is configured in two ways");
    *known = plain;
    return p->has_config[slot] = true;
  }
  plain.rs1 &= ~(3ull << 3);
  for (int s = 0; s < 3; s++) {
    gm_event *known = &p->config_event[2 + s];
    if (p->has_config[2 + s] && (known->rs1 != plain.rs1 || known->rs2 != plain.rs2)) continue;
    *known = plain;
    r->state[id] = s;
    return p->has_config[2 + s] = true;
  }
  return refuse(p, i, "loads are configured in more than three ways");
}

static void use(pack *p, size_t v, size_t product_index, bool weights) {
  value *x = &p->value[v];
  if (x->first > x->last) x->first = product_index, x->weights = weights;
  x->weights &= weights;
  x->last = product_index;
}

/* The value that an operand lies in. False if it is none, or several. */
static bool read_operand(pack *p, reader *r, const gm_touch *t, operand_use *u, bool weights) {
  if (t->first >= (uint32_t)gm_spad_rows(p->config)) return true; /* of the accumulator */
  size_t v = r->writer[t->first];
  for (uint32_t k = 0; k < t->rows; k++)
    if (r->writer[t->first + k * t->stride] != v) return false;
  if (!v) return false;
  *u = (operand_use){v, t->first - p->value[v - 1].row};
  use(p, v - 1, p->n_products, weights);
  return true;
}

static void begin_window(pack *p, reader *r) {
  if (!r->stored) return;
  r->stored = false;
  p->cut[++p->n_windows] = true;
  p->window_start[p->n_windows] = p->n_products;
}

/* A read of accumulator rows: windows from the one that wrote them on are one. */
static void join_windows(pack *p, reader *r, const gm_touch *t) {
  uint32_t spad = (uint32_t)gm_spad_rows(p->config);
  for (uint32_t k = 0; t->first >= spad && k < t->rows; k++) {
    size_t from = r->acc_window[t->first - spad + k * t->stride];
    for (size_t w = from; from && w <= p->n_windows; w++)
      if (w > from - 1) p->cut[w] = false;
  }
}

static void write_acc(pack *p, reader *r, const gm_touch *t) {
  uint32_t spad = (uint32_t)gm_spad_rows(p->config);
  for (uint32_t k = 0; k < t->rows; k++) r->acc_window[t->first - spad + k * t->stride] = p->n_windows + 1;
}

static bool read_load(pack *p, reader *r, const gm_event *e, const gm_access *a, size_t i) {
  uint64_t offset;
  int state = r->state[gm_load_state(e->funct)];
  if (state < 0) return refuse(p, i, "a load before its configuration");
  gm_event load = *e;
  load.funct = state == 0 ? GM_MVIN : state == 1 ? GM_MVIN2 : GM_MVIN3;
  if (e->rs1) {
    int o = gm_stream_operand(p->stream, e->rs1, 1, &offset);
    if (o < 0 || p->stream->operand[o].is_output) return refuse(p, i, "a load of something that is no input");
  }
  if (gm_is_acc(gm_local(e->rs2))) {
    begin_window(p, r);
    for (int t = 0; t < a->n_writes; t++) {
      if (a->accumulates) join_windows(p, r, &a->write[t]);
      write_acc(p, r, &a->write[t]);
    }
    p->transfer[p->n_transfers++] = (transfer){load, p->n_products, p->n_windows};
    return true;
  }
  value *v = &p->value[p->n_values];
  const gm_touch *last = &a->write[a->n_writes - 1];
  *v = (value){.load = load, .state = state, .row = a->write[0].first, .before = p->n_products, .first = 1};
  v->rows = last->first + last->rows - v->row;
  v->leader = p->n_values++;
  for (int t = 0; t < a->n_writes; t++)
    for (uint32_t k = 0; k < a->write[t].rows; k++) r->writer[a->write[t].first + k] = p->n_values;
  return true;
}

static bool read_compute(pack *p, reader *r, const gm_event *e, const gm_access *a, size_t i) {
  product *x = &p->product[p->n_products];
  bool has_a = !gm_is_garbage(gm_local(e->rs1));
  if (!r->preloaded) return refuse(p, i, "a compute without a preload");
  x->compute = *e;
  for (int t = 0; t < a->n_reads; t++)
    if (!read_operand(p, r, &a->read[t], has_a && t == 0 ? &x->a : &x->d, false))
      return refuse(p, i, "an operand that no single load has brought");
  if (a->n_writes && a->write[0].first < (uint32_t)gm_spad_rows(p->config))
    return refuse(p, i, "a result that goes to the scratchpad");
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

static bool read_event(pack *p, reader *r, size_t i) {
  const gm_event *e = &p->stream->event[i];
  gm_access a;
  const char *why;
  if (!gm_decode_access(&r->decoder, e, &a, &why)) return refuse(p, i, why);
  switch (e->funct) {
  case GM_CONFIG:
    return r->preloaded ? refuse(p, i, "a configuration between preload and compute") : read_config(p, r, e, i);
  case GM_PRELOAD:
    p->product[p->n_products] = (product){.preload = *e};
    r->preloaded = true;
    return !a.n_reads || read_operand(p, r, &a.read[0], &p->product[p->n_products].b, true) ||
           refuse(p, i, "weights that no single load has brought");
  case GM_COMPUTE_PRELOADED:
  case GM_COMPUTE_ACCUMULATED: return read_compute(p, r, e, &a, i);
  case GM_MVOUT:
    for (int t = 0; t < a.n_reads; t++) {
      if (a.read[t].first < (uint32_t)gm_spad_rows(p->config)) return refuse(p, i, "a store from the scratchpad");
      join_windows(p, r, &a.read[t]);
    }
    p->transfer[p->n_transfers++] = (transfer){*e, p->n_products, p->n_windows};
    r->stored = true;
    return true;
  case GM_FENCE: return i + 1 == p->stream->n || refuse(p, i, "a fence that something needs");
  case GM_FLUSH: return true;
  default: return read_load(p, r, e, &a, i);
  }
}

/* Numbers the windows that are left after joining. */
static void compress_windows(pack *p) {
  size_t n = 0, *number = p->window_acc ? tw_new(p->n_windows + 1, sizeof *number) : NULL;
  if (!number) return;
  for (size_t w = 0; w <= p->n_windows; w++) {
    if (w && p->cut[w]) n++;
    number[w] = n;
    if (!w || p->cut[w]) p->window_start[n] = p->window_start[w];
  }
  for (size_t i = 0; i < p->n_products; i++) p->product[i].window = number[p->product[i].window];
  for (size_t i = 0; i < p->n_transfers; i++) p->transfer[i].window = number[p->transfer[i].window];
  p->n_windows = n + 1;
  p->window_start[p->n_windows] = p->n_products;
  free(number);
}

static void measure_acc(pack *p) {
  const gm_config *c = p->config;
  uint32_t *first = p->window_acc, *end = tw_new(p->n_windows, sizeof *end), spad = (uint32_t)gm_spad_rows(c);
  if (!end) return;
  for (size_t w = 0; w < p->n_windows; w++) first[w] = UINT32_MAX;
  for (size_t i = 0; i < p->n_products + p->n_transfers; i++) {
    bool is_product = i < p->n_products;
    const transfer *t = is_product ? NULL : &p->transfer[i - p->n_products];
    size_t w = is_product ? p->product[i].window : t->window;
    uint64_t block = is_product ? p->product[i].preload.rs2 : t->event.rs2;
    if (gm_is_garbage(gm_local(block)) || !gm_is_acc(gm_local(block))) continue;
    uint32_t at = gm_unified(c, gm_local(block)) - spad, blocks = (uint32_t)((gm_cols(block) + c->dim - 1) / c->dim);
    uint32_t rows = is_product ? (uint32_t)gm_rows(block) : (blocks - 1) * (uint32_t)c->dim + (uint32_t)gm_rows(block);
    if (at < first[w]) first[w] = at;
    if (at + rows > end[w]) end[w] = at + rows;
  }
  for (size_t w = 0; w < p->n_windows; w++)
    if (end[w] && end[w] - first[w] > p->acc_rows) p->acc_rows = end[w] - first[w];
  free(end);
}

/* Groups of whole windows; a long window is several. */
static void make_groups(pack *p) {
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

static bool read_all(pack *p) {
  reader r = {.decoder = {.config = p->config}, .state = {-1, -1, -1}};
  r.writer = tw_new((size_t)gm_spad_rows(p->config), sizeof *r.writer);
  r.acc_window = tw_new((size_t)gm_acc_rows(p->config), sizeof *r.acc_window);
  bool ok = r.writer && r.acc_window ? true : refuse(p, 0, "no memory");
  for (size_t i = 0; ok && i < p->stream->n; i++)
    if (!p->stream->event[i].dead) ok = read_event(p, &r, i);
  if (ok && (r.preloaded || !p->n_products)) ok = refuse(p, p->stream->n, "no products, or a preload without one");
  free(r.writer);
  free(r.acc_window);
  if (!ok) return false;
  compress_windows(p);
  measure_acc(p);
  make_groups(p);
  return true;
}

/* ---- values that are the same ---- */

static uint64_t content_hash(const value *v) {
  uint64_t h =
      (v->load.rs1 * 0x9e3779b97f4a7c15ull) ^ ((v->load.rs2 >> 32) * 0xc2b2ae3d27d4eb4full) ^ (uint64_t)v->state;
  return h ^ h >> 29;
}

static bool same_content(const value *x, const value *y) {
  return x->load.rs1 == y->load.rs1 && x->load.rs2 >> 32 == y->load.rs2 >> 32 && x->state == y->state &&
         x->weights == y->weights;
}

/* Links each value to the one before it with the same content. */
static bool link_same(pack *p) {
  size_t size = 16;
  while (size < 2 * p->n_values) size *= 2;
  size_t *table = tw_new(size, sizeof *table);
  if (!table) return refuse(p, 0, "no memory");
  for (size_t i = 0; i < p->n_values; i++) {
    value *v = &p->value[i];
    if (v->first > v->last) continue;
    size_t at = content_hash(v) & (size - 1);
    while (table[at] && !same_content(&p->value[table[at] - 1], v)) at = (at + 1) & (size - 1);
    v->same = table[at];
    table[at] = i + 1;
  }
  free(table);
  return true;
}

static size_t group_of(const pack *p, size_t product_index) { return p->product[product_index].group; }

/* Values follow their twin if no more than `patience` groups lie between. Extends the twin's life. */
static void choose_leaders(pack *p, int patience, size_t *last) {
  for (size_t i = 0; i < p->n_values; i++) {
    value *v = &p->value[i];
    v->leader = i;
    last[i] = v->last;
    if (v->first > v->last || !v->same || patience == NEVER_KEPT) continue;
    size_t leader = p->value[v->same - 1].leader;
    if (last[leader] < v->first && group_of(p, v->first) - group_of(p, last[leader]) > (size_t)patience) continue;
    v->leader = leader;
    if (v->last > last[leader]) last[leader] = v->last;
  }
}

/* ---- rows ---- */

typedef struct rows {
  const pack *p;
  uint32_t *busy_until;            /* by row: 1 + the group in which it is last used; 0 = free */
  size_t generation[2], latest[2]; /* by class: how many groups brought something, the latest of them + 1 */
} rows;

static bool find_rows(const rows *r, uint32_t bank, uint32_t length, size_t from, uint32_t *row) {
  uint32_t bank_rows = (uint32_t)gm_spad_bank_rows(r->p->config), run = 0;
  for (uint32_t k = 0; k < bank_rows; k++) {
    run = r->busy_until[bank * bank_rows + k] <= from ? run + 1 : 0;
    if (run < length) continue;
    *row = bank * bank_rows + k + 1 - length;
    return true;
  }
  return false;
}

static bool give_rows(rows *r, value *v, size_t from, size_t until) {
  const gm_config *c = r->p->config;
  uint32_t half = (uint32_t)(c->spad_banks > 1 ? c->spad_banks / 2 : 1), class = v->weights;
  uint32_t base = class && c->spad_banks > 1 ? half : 0;
  if (r->latest[class] != from + 1) r->latest[class] = from + 1, r->generation[class]++;
  for (uint32_t k = 0; k < half; k++) {
    uint32_t bank = base + (uint32_t)((r->generation[class] + k) % half);
    if (!find_rows(r, bank, v->rows, from, &v->new_row)) continue;
    for (uint32_t i = 0; i < v->rows; i++) r->busy_until[v->new_row + i] = (uint32_t)until + 1;
    return true;
  }
  return false;
}

static size_t load_group(const pack *p, const value *v) {
  size_t g = group_of(p, v->first);
  if (p->options.prefetch) return g ? g - 1 : g;
  return v->before < v->first ? group_of(p, v->before) : g;
}

/* Leaders in the order of their loads are those in the order of first use. */
static int by_first_use(const void *x, const void *y) {
  const value *a = *(value *const *)x, *b = *(value *const *)y;
  return a->first != b->first ? (a->first > b->first) - (a->first < b->first) : (a > b) - (a < b);
}

static bool place_all(pack *p, value **order, size_t n, const size_t *last) {
  rows r = {.p = p, .busy_until = tw_new((size_t)gm_spad_rows(p->config), sizeof *r.busy_until)};
  bool ok = r.busy_until != NULL;
  for (size_t i = 0; ok && i < n; i++)
    ok = give_rows(&r, order[i], load_group(p, order[i]), group_of(p, last[order[i] - p->value]));
  free(r.busy_until);
  return ok;
}

static size_t list_leaders(pack *p, value **order) {
  size_t n = 0;
  for (size_t i = 0; i < p->n_values; i++)
    if (p->value[i].leader == i && p->value[i].first <= p->value[i].last) order[n++] = &p->value[i];
  qsort(order, n, sizeof *order, by_first_use);
  return n;
}

/* As much as there is room for is kept. */
static bool give_all_rows(pack *p, value **order, size_t *n) {
  static const int patience[] = {1 << 30, 256, 128, 64, 32, 16, 8, 4, 2, 1, 0, NEVER_KEPT};
  size_t *last = tw_new(p->n_values + 1, sizeof *last);
  bool ok = false;
  for (size_t k = p->options.keep ? 0 : sizeof patience / sizeof *patience - 1;
       last && !ok && k < sizeof patience / sizeof *patience; k++) {
    choose_leaders(p, patience[k], last);
    *n = list_leaders(p, order);
    ok = place_all(p, order, *n, last);
  }
  free(last);
  return ok || refuse(p, 0, "the scratchpad has no room for its operands in banks of their own");
}

/* ---- the new stream ---- */

typedef struct output {
  gm_event *event;
  size_t n;
} output;

static void put(output *o, gm_event e) {
  e.gap = GM_COMMAND_GAP;
  e.dead = false;
  o->event[o->n++] = e;
}

typedef struct item { /* something that stands before a product */
  size_t before, order;
  gm_event event;
} item;

static int by_place(const void *x, const void *y) {
  const item *a = x, *b = y;
  return a->before != b->before ? (a->before > b->before) - (a->before < b->before)
                                : (a->order > b->order) - (a->order < b->order);
}

static gm_event moved_load(const value *v) {
  gm_event e = v->load;
  e.rs2 = (e.rs2 & ~0xffffffffull) | v->new_row;
  return e;
}

/* Loads of a group ahead, evenly among the products between the swap of banks and the end. */
static size_t spread_load(const pack *p, size_t group, size_t k, size_t n) {
  size_t from = p->group_start[group], length = p->group_start[group + 1] - from;
  size_t settle = length > 4 * SETTLE ? SETTLE : length / 4;
  return from + settle + k * (length - 2 * settle) / n;
}

static size_t add_loads(pack *p, value **order, size_t n, item *out) {
  size_t count = 0;
  for (size_t i = 0; i < n;) {
    size_t group = group_of(p, order[i]->first), end = i;
    while (end < n && group_of(p, order[end]->first) == group) end++;
    for (size_t k = 0; i + k < end; k++) {
      const value *v = order[i + k];
      size_t at = v->first > FIRST_LEAD ? v->first - FIRST_LEAD : 0;
      if (!p->options.prefetch)
        at = v->before;
      else if (group)
        at = spread_load(p, group - 1, k, end - i);
      out[count] = (item){at, count, moved_load(v)};
      count++;
    }
    i = end;
  }
  return count;
}

static uint64_t moved_acc(const pack *p, uint64_t block, size_t window) {
  const gm_config *c = p->config;
  uint32_t local = gm_local(block), bank = (uint32_t)gm_acc_bank_rows(c), spad = (uint32_t)gm_spad_rows(c);
  if (!p->options.spread || gm_is_garbage(local) || !gm_is_acc(local)) return block;
  uint32_t slots = (uint32_t)c->acc_banks, at = gm_unified(c, local) - spad;
  uint32_t moved = at - p->window_acc[window] + (uint32_t)(window % slots) * bank;
  return (block & ~(uint64_t)(gm_acc_rows(c) - 1)) | moved;
}

/* Stores of a window among the products of the next one; the last window's at the end. */
static size_t add_transfers(pack *p, size_t count, item *out) {
  for (size_t i = 0; i < p->n_transfers;) {
    size_t window = p->transfer[i].window, end = i, stores = 0, k = 0;
    for (; end < p->n_transfers && p->transfer[end].window == window; end++)
      stores += p->transfer[end].event.funct == GM_MVOUT;
    for (; i < end; i++) {
      const transfer *t = &p->transfer[i];
      gm_event e = t->event;
      size_t at = t->before;
      e.rs2 = moved_acc(p, e.rs2, window);
      if (p->options.spread && e.funct == GM_MVOUT && window + 1 < p->n_windows) {
        size_t from = p->window_start[window + 1], length = p->window_start[window + 2] - from;
        size_t lead = length > 8 ? 2 : 0;
        at = from + lead + k++ * (length - lead) / stores;
      }
      out[count] = (item){at, count, e};
      count++;
    }
  }
  return count;
}

static void put_product(const pack *p, output *o, const product *x) {
  gm_event preload = x->preload, compute = x->compute;
  const operand_use *use_of[] = {&x->b, &x->a, &x->d};
  uint64_t *field[] = {&preload.rs1, &compute.rs1, &compute.rs2};
  for (int i = 0; i < 3; i++) {
    if (!use_of[i]->value) continue;
    const value *v = &p->value[p->value[use_of[i]->value - 1].leader];
    *field[i] = (*field[i] & ~0xffffffffull) | (v->new_row + use_of[i]->offset);
  }
  preload.rs2 = moved_acc(p, preload.rs2, x->window);
  put(o, preload);
  put(o, compute);
}

static void put_configs(const pack *p, output *o) {
  for (int i = 0; i < 5; i++) {
    if (!p->has_config[i]) continue;
    gm_event e = p->config_event[i];
    if (i >= 2) e.rs1 |= (uint64_t)(i - 2) << 3;
    put(o, e);
  }
}

static bool write_all(pack *p, value **order, size_t n_loads) {
  item *items = tw_new(n_loads + p->n_transfers + 1, sizeof *items);
  output o = {.event = tw_new(n_loads + p->n_transfers + 2 * p->n_products + 8, sizeof *o.event)};
  if (!items || !o.event) {
    free(items), free(o.event);
    return refuse(p, 0, "no memory");
  }
  size_t n = add_loads(p, order, n_loads, items), next = 0;
  n = add_transfers(p, n, items);
  qsort(items, n, sizeof *items, by_place);
  put_configs(p, &o);
  for (size_t i = 0; i <= p->n_products; i++) {
    for (; next < n && items[next].before <= i; next++) put(&o, items[next].event);
    if (i < p->n_products) put_product(p, &o, &p->product[i]);
  }
  put(&o, (gm_event){.funct = GM_FENCE});
  free(items);
  free(p->stream->event);
  p->stream->event = o.event;
  p->stream->n = o.n;
  return true;
}

static bool rename_and_move(pack *p) {
  value **order = tw_new(p->n_values + 1, sizeof *order);
  size_t n = 0;
  bool ok = order ? true : refuse(p, 0, "no memory");
  if (ok && p->options.spread && (p->acc_rows > (uint32_t)gm_acc_bank_rows(p->config) || p->n_windows < 2))
    ok = refuse(p, 0, "a window's results do not fit one bank of the accumulator");
  ok = ok && link_same(p) && give_all_rows(p, order, &n) && write_all(p, order, n);
  free(order);
  return ok;
}

tw_status gm_pack(gm_stream *s, const gm_pack_options *options, tw_error *error) {
  pack p = {.stream = s, .config = s->config, .options = *options};
  p.value = tw_new(s->n + 1, sizeof *p.value);
  p.product = tw_new(s->n + 1, sizeof *p.product);
  p.transfer = tw_new(s->n + 1, sizeof *p.transfer);
  p.window_start = tw_new(s->n + 3, sizeof *p.window_start);
  p.group_start = tw_new(s->n + 3, sizeof *p.group_start);
  p.cut = tw_new(s->n + 3, sizeof *p.cut);
  p.window_acc = tw_new(s->n + 3, sizeof *p.window_acc);
  bool room = p.value && p.product && p.transfer && p.window_start && p.group_start && p.cut && p.window_acc;
  bool ok = room && read_all(&p) && rename_and_move(&p);
  tw_status status = TW_OK;
  if (!room) status = tw_fail(error, TW_MISSING, "no memory for the analysis");
  if (room && !ok) status = tw_fail(error, TW_FAILED, "command %zu: %s", p.where, p.why);
  free(p.value), free(p.product), free(p.transfer);
  free(p.window_start), free(p.group_start), free(p.cut), free(p.window_acc);
  return status;
}
