/* pack_place.c - finds loads that bring the same data and can be one, and assigns rows to each value for its
 * lifetime. */
#include <stdlib.h>

#include "base/strings.h"
#include "target/gemmini/rewrite/pack_private.h"

enum { NEVER_KEPT = -1 };

/* ---- values that are the same ---- */

static uint64_t content_hash(const gm_value *v) {
  uint64_t h = (v->load.rs1 * 0x9e3779b97f4a7c15ull) ^ ((v->load.rs2 >> 32) * 0xc2b2ae3d27d4eb4full) ^ v->config;
  return h ^ h >> 29;
}

static bool same_content(const gm_value *x, const gm_value *y) {
  return x->load.rs1 == y->load.rs1 && x->load.rs2 >> 32 == y->load.rs2 >> 32 && x->config == y->config &&
         x->weights == y->weights;
}

/* Links each value to the previous one with the same content. */
static bool link_same(gm_pack_state *p) {
  size_t size = 16;
  while (size < 2 * p->n_values) size *= 2;
  size_t *table = tw_new(size, sizeof *table);
  if (!table) return gm_pack_refuse(p, 0, "no memory");
  for (size_t i = 0; i < p->n_values; i++) {
    gm_value *v = &p->value[i];
    if (v->first > v->last || v->next) continue; /* values of several loads are not searched for again */
    size_t at = content_hash(v) & (size - 1);
    while (table[at] && !same_content(&p->value[table[at] - 1], v)) at = (at + 1) & (size - 1);
    v->same = table[at];
    table[at] = i + 1;
  }
  free(table);
  return true;
}

/* A value uses the load of its twin if at most `patience` groups are between them. This extends the twin's life. */
static void choose_leaders(gm_pack_state *p, int patience, size_t *last) {
  for (size_t i = 0; i < p->n_values; i++) {
    gm_value *v = &p->value[i];
    v->leader = i;
    last[i] = v->last;
    if (v->first > v->last || !v->same || patience == NEVER_KEPT) continue;
    size_t leader = p->value[v->same - 1].leader;
    if (last[leader] < v->first && gm_group_of(p, v->first) - gm_group_of(p, last[leader]) > (size_t)patience) continue;
    v->leader = leader;
    if (v->last > last[leader]) last[leader] = v->last;
  }
}

/* ---- rows ---- */

typedef struct rows {
  const gm_pack_state *p;
  bool mixed;                      /* weights and activations may share banks */
  uint32_t *busy_until;            /* by row: 1 + the group in which it is last used; 0 = free */
  size_t generation[2], latest[2]; /* by class: number of groups with new values, the latest of them + 1 */
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

static bool give_rows(rows *r, gm_value *v, size_t from, size_t until) {
  const gm_config *c = r->p->config;
  uint32_t banks = (uint32_t)c->spad_banks, half = banks > 1 ? banks / 2 : 1, class = v->weights;
  uint32_t base = class && banks > 1 ? half : 0;
  if (r->latest[class] != from + 1) r->latest[class] = from + 1, r->generation[class]++;
  for (uint32_t k = 0; k < (r->mixed ? banks : half); k++) {
    uint32_t turn = (uint32_t)((r->generation[class] + k) % half), bank = k < half ? base + turn : half - base + turn;
    if (!find_rows(r, bank, v->rows, from, &v->new_row)) continue;
    for (uint32_t i = 0; i < v->rows; i++) r->busy_until[v->new_row + i] = (uint32_t)until + 1;
    return true;
  }
  return false;
}

static size_t load_group(const gm_pack_state *p, const gm_value *v) {
  size_t g = gm_group_of(p, v->first);
  if (p->options.prefetch) return g ? g - 1 : g;
  return v->before < v->first ? gm_group_of(p, v->before) : g;
}

/* Leaders in the order of their loads are also in the order of first use. */
static int by_first_use(const void *x, const void *y) {
  const gm_value *a = *(gm_value *const *)x, *b = *(gm_value *const *)y;
  return a->first != b->first ? (a->first > b->first) - (a->first < b->first) : (a > b) - (a < b);
}

static bool place_all(gm_pack_state *p, gm_value **order, size_t n, const size_t *last, bool mixed) {
  rows r = {.p = p, .mixed = mixed, .busy_until = tw_new((size_t)gm_spad_rows(p->config), sizeof *r.busy_until)};
  bool ok = r.busy_until != NULL;
  for (size_t i = 0; ok && i < n; i++)
    ok = give_rows(&r, order[i], load_group(p, order[i]), gm_group_of(p, last[order[i] - p->value]));
  free(r.busy_until);
  return ok;
}

static size_t list_leaders(gm_pack_state *p, gm_value **order) {
  size_t n = 0;
  for (size_t i = 0; i < p->n_values; i++)
    if (p->value[i].leader == i && p->value[i].first <= p->value[i].last) order[n++] = &p->value[i];
  qsort(order, n, sizeof *order, by_first_use);
  return n;
}

/* Keeps as many values as there is room for. If the operands cannot fit their halves of the banks, the halves may be
 * shared. */
static bool give_all_rows(gm_pack_state *p, gm_value **order, size_t *n) {
  static const int patience[] = {1 << 30, 256, 128, 64, 32, 16, 8, 4, 2, 1, 0, NEVER_KEPT};
  const size_t least = sizeof patience / sizeof *patience - 1;
  size_t *last = tw_new(p->n_values + 1, sizeof *last);
  bool ok = false;
  for (int mixed = 0; last && !ok && mixed < 2; mixed++)
    for (size_t k = p->options.keep ? 0 : least; !ok && k <= least; k++) {
      choose_leaders(p, patience[k], last);
      *n = list_leaders(p, order);
      ok = place_all(p, order, *n, last, mixed);
    }
  free(last);
  return ok || gm_pack_refuse(p, 0, "the scratchpad has no room for its operands");
}

bool gm_pack_place(gm_pack_state *p, gm_value **order, size_t *n) { return link_same(p) && give_all_rows(p, order, n); }
