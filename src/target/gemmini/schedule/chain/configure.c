/* configure.c - configuration of chains: all of it for every operator, or, merged, only changes. */
#include <string.h>

#include "target/gemmini/schedule/chain/chain.h"

/* The setting of an mvin; `known` false: unknown. */
typedef struct setting {
  bool known;
  int stride, block_stride;
  double scale;
} setting;

typedef struct settings {
  setting ld[3], st, ex; /* ex: stride = output_stationary | a_transposed << 1 */
  int turn;              /* the mvin to set next if none is free */
} settings;

static setting wanted(const gm_chain_command *x) {
  if (x->kind == GM_BEFORE || x->kind == GM_MULTIPLY)
    return (setting){true, x->output_stationary | x->a_transposed << 1, 0, 1};
  return (setting){true, x->stride, x->kind == GM_LOAD ? x->block_stride : 0, x->scale};
}

static bool same(const setting *x, const setting *y) {
  return x->known == y->known &&
         (!x->known || (x->stride == y->stride && x->block_stride == y->block_stride && x->scale == y->scale));
}

static gm_chain_command set(gm_chain_kind kind, int id, setting s) {
  return (gm_chain_command){.kind = kind,
                            .id = id,
                            .stride = s.stride,
                            .block_stride = s.block_stride,
                            .scale = s.scale,
                            .output_stationary = kind == GM_SET_EX && s.stride & 1,
                            .a_transposed = kind == GM_SET_EX && s.stride >> 1};
}

/* Different settings of loads in [at, end), at most 4. */
static int load_settings(const gm_chain *c, int at, int end, setting out[4]) {
  int n = 0;
  for (int i = at; i < end && n < 4; i++) {
    if (c->command[i].kind != GM_LOAD) continue;
    setting s = wanted(&c->command[i]);
    int k = 0;
    while (k < n && !same(&out[k], &s)) k++;
    if (k == n) out[n++] = s;
  }
  return n;
}

static int find_load(const settings *now, const setting *s) {
  for (int id = 0; id < 3; id++)
    if (same(&now->ld[id], s)) return id;
  return -1;
}

/* Chooses one of the other two settings, or an unused one: the mvin whose next use from `at` on, up to `end`, is
 * last. */
static int victim(const gm_chain *c, const settings *now, int at, int end) {
  int best = 0, furthest = -1;
  for (int id = 0; id < 3; id++) {
    int next = at;
    if (!now->ld[id].known) return id;
    for (; next < end; next++) {
      setting s = wanted(&c->command[next]);
      if (c->command[next].kind == GM_LOAD && same(&s, &now->ld[id])) break;
    }
    if (next > furthest) furthest = next, best = id;
  }
  return best;
}

/* Inserts the configuration that the command at *at needs. */
static bool set_for(gm_chain *c, settings *now, int *at, int *end) {
  gm_chain_command *x = &c->command[*at];
  setting s = wanted(x);
  setting *current;
  gm_chain_kind kind;
  int id = 0;
  if (x->kind == GM_LOAD) {
    id = find_load(now, &s);
    if (id < 0) id = victim(c, now, *at, *end);
    current = &now->ld[id];
    kind = GM_SET_LD;
    x->id = id;
  } else if (x->kind == GM_STORE) {
    current = &now->st;
    kind = GM_SET_ST;
  } else if (x->kind == GM_BEFORE) {
    current = &now->ex;
    kind = GM_SET_EX;
  } else {
    return true;
  }
  if (same(current, &s)) return true;
  const gm_chain_command command = set(kind, id, s);
  if (!gm_chain_insert(c, *at, &command)) return false;
  *current = s;
  ++*at, ++*end;
  return true;
}

/* The one setting of all stores (computes) in [at, end); known is false if there are several or none. */
static setting only(const gm_chain *c, int at, int end, gm_chain_kind kind) {
  setting found = {0};
  for (int i = at; i < end; i++) {
    if (c->command[i].kind != kind) continue;
    setting s = wanted(&c->command[i]);
    if (found.known && !same(&found, &s)) return (setting){0};
    found = s;
  }
  return found;
}

/* Before a loop: sets all that the loop needs. Values that change inside the loop are set inside, and are unknown at
 * its head. */
static bool set_for_loop(gm_chain *c, settings *now, int *at, int *end) {
  setting load[4];
  int n = load_settings(c, *at, *end, load);
  bool needed[3] = {false};
  for (int i = 0; i < n && n <= 3; i++) {
    int id = find_load(now, &load[i]);
    if (id >= 0) needed[id] = true;
  }
  for (int i = 0; i < n && n <= 3; i++) {
    if (find_load(now, &load[i]) >= 0) continue;
    int id = 0;
    while (needed[id]) id++;
    needed[id] = true;
    const gm_chain_command command = set(GM_SET_LD, id, load[i]);
    if (!gm_chain_insert(c, *at, &command)) return false;
    now->ld[id] = load[i];
    ++*at, ++*end;
  }
  if (n > 3)
    for (int id = 0; id < 3; id++) now->ld[id].known = false;
  setting store = only(c, *at, *end, GM_STORE), compute = only(c, *at, *end, GM_BEFORE);
  const struct {
    gm_chain_kind user, setter;
    setting s, *current;
  } other[2] = {{GM_STORE, GM_SET_ST, store, &now->st}, {GM_BEFORE, GM_SET_EX, compute, &now->ex}};
  for (int i = 0; i < 2; i++) {
    bool used = false;
    for (int k = *at; k < *end; k++) used |= c->command[k].kind == other[i].user;
    if (!used) continue;
    if (!other[i].s.known) {
      other[i].current->known = false;
    } else if (!same(&other[i].s, other[i].current)) {
      const gm_chain_command command = set(other[i].setter, 0, other[i].s);
      if (!gm_chain_insert(c, *at, &command)) return false;
      *other[i].current = other[i].s;
      ++*at, ++*end;
    }
  }
  return true;
}

/* [at, *end): sets what changes. A loop's body begins with the configuration that holds at its head in every
 * iteration. */
static bool configure_changes(gm_chain *c, int at, int *end, settings *now) {
  while (at < *end) {
    if (c->command[at].kind != GM_DO) {
      if (!set_for(c, now, &at, end)) return false;
      at++;
      continue;
    }
    int stop = gm_chain_behind(c, at), before = stop;
    if (!set_for_loop(c, now, &at, &stop)) return false;
    *end += stop - before;
    before = stop - 1;
    int inner = before;
    if (!configure_changes(c, at + 1, &inner, now)) return false;
    *end += inner - before;
    at = inner + 1;
  }
  return true;
}

/* After every mark of an operator: sets all that it needs, even if it is already set. */
static bool configure_operators(gm_chain *c) {
  for (int at = 0; at < c->n; at++) {
    if (c->command[at].kind != GM_OPERATOR) continue;
    int end = at + 1, depth = 0, front = at + 1;
    for (; end < c->n && c->command[end].kind != GM_OPERATOR && depth >= 0; end++)
      depth += (c->command[end].kind == GM_DO) - (c->command[end].kind == GM_END);
    settings now;
    memset(&now, 0, sizeof now);
    setting load[4], store = only(c, front, end, GM_STORE), compute = only(c, front, end, GM_BEFORE);
    int n = load_settings(c, front, end, load);
    const gm_chain_command sets[2] = {set(GM_SET_EX, 0, compute), set(GM_SET_ST, 0, store)};
    if (compute.known && !gm_chain_insert(c, front++, &sets[0])) return false;
    if (store.known && !gm_chain_insert(c, front++, &sets[1])) return false;
    end += compute.known + store.known;
    now.ex = compute, now.st = store;
    for (int i = 0; i < n && n <= 3; i++) {
      const gm_chain_command command = set(GM_SET_LD, i, load[i]);
      if (!gm_chain_insert(c, front++, &command)) return false;
      now.ld[i] = load[i];
      end++;
    }
    if (!configure_changes(c, front, &end, &now)) return false;
    at = front - 1;
  }
  return true;
}

bool gm_chain_configure(gm_chain *c, bool merged) {
  if (!merged && !configure_operators(c)) return false;
  if (!merged) return true;
  settings now;
  memset(&now, 0, sizeof now);
  int end = c->n;
  return configure_changes(c, 0, &end, &now);
}
