/* pack_write.c - places for loads and stores among the products, and the new stream. */
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/gemmini/rewrite/pack_private.h"

enum {
  FIRST_LEAD = 8, /* number of products between a load of the first group and its use: the capacity of the station */
  SETTLE = 10     /* products after a swap of banks until the old one is no longer read */
};

typedef struct output {
  const gm_pack_state *p;
  gm_event *event;
  size_t n;
  size_t execute, store, load[3]; /* 1 + the configuration in force */
  size_t used[3], uses;           /* when each was last used */
} output;

static void append_event(output *o, gm_event e) {
  e.gap = GM_COMMAND_GAP;
  e.dead = false;
  o->event[o->n++] = e;
}

static void set_up(output *o, size_t *in_force, size_t setup, uint64_t id) {
  if (*in_force == setup + 1) return;
  gm_event e = o->p->setup[setup];
  e.rs1 |= id << 3;
  append_event(o, e);
  *in_force = setup + 1;
}

/* A load takes the registers that hold its configuration, or else the least recently used ones. */
static void put_load(output *o, gm_event e, size_t setup) {
  int slot = 0;
  for (int i = 1; i < 3; i++)
    if (o->used[i] < o->used[slot]) slot = i;
  for (int i = 0; i < 3; i++)
    if (o->load[i] == setup + 1) slot = i;
  set_up(o, &o->load[slot], setup, (uint64_t)slot);
  o->used[slot] = ++o->uses;
  e.funct = slot == 0 ? GM_MVIN : slot == 1 ? GM_MVIN2 : GM_MVIN3;
  append_event(o, e);
}

static void put_transfer(output *o, const gm_event *e, size_t setup) {
  if (e->funct != GM_MVOUT) {
    put_load(o, *e, setup);
    return;
  }
  set_up(o, &o->store, setup, 0);
  append_event(o, *e);
}

typedef struct item { /* something before a product */
  size_t before, order, setup;
  gm_event event;
} item;

static int by_place(const void *x, const void *y) {
  const item *a = x, *b = y;
  return a->before != b->before ? (a->before > b->before) - (a->before < b->before)
                                : (a->order > b->order) - (a->order < b->order);
}

/* A load of the value `whole`. */
static gm_event moved_load(const gm_value *whole, const gm_value *v) {
  gm_event e = v->load;
  e.rs2 = (e.rs2 & ~0xffffffffull) | (whole->new_row + gm_local(e.rs2) - whole->row);
  return e;
}

/* Place k of n among `length` products: equally spaced, so that they form a loop. */
static size_t evenly(size_t k, size_t n, size_t length) { return n <= length ? k * (length / n) : k * length / n; }

/* Loads of a group ahead, evenly among the products between the swap of banks and the end. */
static size_t spread_load(const gm_pack_state *p, size_t group, size_t k, size_t n) {
  size_t from = p->group_start[group], length = p->group_start[group + 1] - from;
  size_t settle = length > 4 * SETTLE ? SETTLE : length / 4;
  return from + settle + evenly(k, n, length - 2 * settle);
}

static size_t add_loads(gm_pack_state *p, gm_value **order, size_t n, item *out) {
  size_t count = 0;
  for (size_t i = 0; i < n;) {
    size_t group = gm_group_of(p, order[i]->first), end = i;
    while (end < n && gm_group_of(p, order[end]->first) == group) end++;
    for (size_t k = 0; i + k < end; k++) {
      const gm_value *v = order[i + k];
      size_t at = v->first > FIRST_LEAD ? v->first - FIRST_LEAD : 0;
      if (p->options.prefetch && group) at = spread_load(p, group - 1, k, end - i);
      for (const gm_value *x = v; x; x = x->next ? &p->value[x->next - 1] : NULL) {
        out[count] = (item){p->options.prefetch ? at : x->before, count, x->config, moved_load(v, x)};
        count++;
      }
    }
    i = end;
  }
  return count;
}

static uint64_t moved_acc(const gm_pack_state *p, uint64_t block, size_t window) {
  const gm_config *c = p->config;
  uint32_t local = gm_local(block), bank = (uint32_t)gm_acc_bank_rows(c), spad = (uint32_t)gm_spad_rows(c);
  if (!p->options.spread || gm_is_garbage(local) || !gm_is_acc(local)) return block;
  uint32_t slots = (uint32_t)c->acc_banks, at = gm_unified(c, local) - spad;
  uint32_t moved = at - p->window_acc[window] + (uint32_t)(window % slots) * bank;
  return (block & ~(uint64_t)(gm_acc_rows(c) - 1)) | moved;
}

/* Stores of a window among the products of the next one; the last window's at the end. */
static size_t add_transfers(gm_pack_state *p, size_t count, item *out) {
  for (size_t i = 0; i < p->n_transfers;) {
    size_t window = p->transfer[i].window, end = i, stores = 0, k = 0;
    for (; end < p->n_transfers && p->transfer[end].window == window; end++)
      stores += p->transfer[end].event.funct == GM_MVOUT;
    for (; i < end; i++) {
      const gm_transfer *t = &p->transfer[i];
      gm_event e = t->event;
      size_t at = t->before;
      e.rs2 = moved_acc(p, e.rs2, window);
      if (p->options.spread && e.funct == GM_MVOUT && window + 1 < p->n_windows) {
        size_t from = p->window_start[window + 1], length = p->window_start[window + 2] - from;
        size_t lead = length > 8 ? 2 : 0;
        at = from + lead + evenly(k++, stores, length - lead);
      }
      out[count] = (item){at, count, t->config, e};
      count++;
    }
  }
  return count;
}

static void put_product(const gm_pack_state *p, output *o, const gm_product *x) {
  gm_event preload = x->preload, compute = x->compute;
  const gm_use *use_of[] = {&x->preloaded, &x->first, &x->second};
  uint64_t *field[] = {&preload.rs1, &compute.rs1, &compute.rs2};
  set_up(o, &o->execute, x->config, 0);
  for (int i = 0; i < 3; i++) {
    if (!use_of[i]->value) {
      *field[i] = moved_acc(p, *field[i], x->window);
      continue;
    }
    const gm_value *own = &p->value[gm_whole_value(p, use_of[i]->value - 1)], *v = &p->value[own->leader];
    *field[i] = (*field[i] & ~0xffffffffull) | (v->new_row + use_of[i]->row - own->row);
  }
  preload.rs2 = moved_acc(p, preload.rs2, x->window);
  append_event(o, preload);
  append_event(o, compute);
}

/* The first configuration of each register comes first, because inside later loops it would occur only once. */
static void put_first_configs(const gm_pack_state *p, output *o) {
  size_t loads = 0;
  for (size_t i = 0; i < p->n_setups; i++) {
    unsigned which = p->setup[i].rs1 & 3;
    if (which == GM_CONFIG_EX && !o->execute) set_up(o, &o->execute, i, 0);
    if (which == GM_CONFIG_ST && !o->store) set_up(o, &o->store, i, 0);
    if (which == GM_CONFIG_LD && loads < 3) set_up(o, &o->load[loads], i, loads), loads++;
  }
}

bool gm_pack_write(gm_pack_state *p, gm_value **order, size_t n_loads) {
  item *items = tw_new(p->n_values + p->n_transfers + 1, sizeof *items);
  /* each may need a separate configuration */
  output o = {.p = p, .event = tw_new(2 * (p->n_values + p->n_transfers) + 3 * p->n_products + 8, sizeof *o.event)};
  if (!items || !o.event) {
    free(items), free(o.event);
    return gm_pack_refuse(p, 0, "no memory");
  }
  size_t n = add_loads(p, order, n_loads, items), next = 0;
  n = add_transfers(p, n, items);
  qsort(items, n, sizeof *items, by_place);
  put_first_configs(p, &o);
  for (size_t i = 0; i <= p->n_products; i++) {
    for (; next < n && items[next].before <= i; next++) put_transfer(&o, &items[next].event, items[next].setup);
    if (i < p->n_products) put_product(p, &o, &p->product[i]);
  }
  append_event(&o, (gm_event){.funct = GM_FENCE});
  free(items);
  free(p->stream->event);
  p->stream->event = o.event;
  p->stream->n = o.n;
  return true;
}
