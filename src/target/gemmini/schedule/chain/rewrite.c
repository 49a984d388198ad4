/* rewrite.c - rewrites of chains that do not depend on the computed function: move loads out of loops, drop unused
 * values, remove needless fences. */
#include <stdlib.h>
#include <string.h>

#include "target/gemmini/schedule/chain/chain.h"

/* ---- the list as a tree ---- */

int gm_chain_behind(const gm_chain *c, int at) {
  int depth = 0;
  do {
    if (c->command[at].kind == GM_DO) depth++;
    if (c->command[at].kind == GM_END) depth--;
    at++;
  } while (depth);
  return at;
}

bool gm_chain_insert(gm_chain *c, int at, const gm_chain_command *x) {
  if (c->n == c->capacity) {
    int capacity = 2 * c->capacity + 8;
    gm_chain_command *more = realloc(c->command, (size_t)capacity * sizeof *more);
    if (!more) return false;
    c->command = more;
    c->capacity = capacity;
  }
  memmove(c->command + at + 1, c->command + at, (size_t)(c->n - at) * sizeof *c->command);
  c->command[at] = *x;
  c->n++;
  return true;
}

static void erase(gm_chain *c, int at) {
  memmove(c->command + at, c->command + at + 1, (size_t)(c->n - at - 1) * sizeof *c->command);
  c->n--;
}

/* Lists the places of a command's operands. */
static int places(gm_chain_command *x, gm_affine *out[5]) {
  int n = 0;
  out[n++] = &x->a.at, out[n++] = &x->b.at, out[n++] = &x->memory.at, out[n++] = &x->x.at, out[n++] = &x->y.at;
  return n;
}

/* Removes the outermost loop: its index is `value` now, and the other loops are one level further out. */
static void leave_outermost(gm_chain_command *x, int value) {
  gm_affine *place[5];
  for (int i = places(x, place) - 1; i >= 0; i--) {
    place[i]->base += place[i]->step[0] * value;
    memmove(place[i]->step, place[i]->step + 1, (GM_CHAIN_DEPTH - 1) * sizeof *place[i]->step);
    place[i]->step[GM_CHAIN_DEPTH - 1] = 0;
  }
}

/* ---- loads out of loops ---- */

typedef struct interval {
  int low, high; /* half-open; empty if high <= low */
} interval;

/* All values of `at` in the enclosing loops, whose trip counts are given. */
static interval reach(const gm_affine *at, const int trip[GM_CHAIN_DEPTH], int length) {
  interval r = {at->base, at->base + length};
  for (int l = 0; l < GM_CHAIN_DEPTH; l++) {
    int span = at->step[l] * (trip[l] - 1);
    if (span < 0)
      r.low += span;
    else
      r.high += span;
  }
  return r;
}

static bool meet(interval x, interval y) { return x.low < y.high && y.low < x.high; }

/* Scratchpad rows that a load writes: whole blocks of columns, block_stride apart. */
static int load_rows(const gm_chain_command *x, int dim) {
  int blocks = (x->a.cols + dim - 1) / dim;
  return (blocks - 1) * x->block_stride + x->a.rows;
}

/* Does another command in [from, to) write the rows of the load, or does any command of the chain write its source? */
static bool is_disturbed(const gm_chain *c, int from, int to, int load, const int load_trip[GM_CHAIN_DEPTH]) {
  const gm_chain_command *x = &c->command[load];
  interval rows = reach(&x->a.at, load_trip, load_rows(x, c->dim));
  int trip[GM_CHAIN_DEPTH], depth = 0;
  for (int l = 0; l < GM_CHAIN_DEPTH; l++) trip[l] = 1;
  for (int i = 0; i < c->n; i++) {
    const gm_chain_command *y = &c->command[i];
    if (y->kind == GM_DO) trip[depth++] = y->trip;
    if (y->kind == GM_END) trip[--depth] = 1;
    bool writes_memory = y->kind == GM_STORE || y->kind == GM_NEGATE || y->kind == GM_ADD;
    if (writes_memory && y->memory.array == x->memory.array) return true;
    if (i < from || i >= to || i == load) continue;
    if (y->kind == GM_LOAD && y->a.space == x->a.space && meet(rows, reach(&y->a.at, trip, load_rows(y, c->dim))))
      return true;
    if (y->kind == GM_BEFORE && y->b.space == GM_SPAD && meet(rows, reach(&y->b.at, trip, y->b.rows))) return true;
  }
  return false;
}

/* May the node [at, end) of the loop that begins at `loop` move before the loop? */
static bool is_invariant(const gm_chain *c, int loop, int at, int end) {
  int trip[GM_CHAIN_DEPTH], depth = 1;
  for (int l = 0; l < GM_CHAIN_DEPTH; l++) trip[l] = 1;
  trip[0] = c->command[loop].trip;
  for (int i = at; i < end; i++) {
    const gm_chain_command *x = &c->command[i];
    if (x->kind == GM_DO) {
      trip[depth++] = x->trip;
    } else if (x->kind == GM_END) {
      trip[--depth] = 1;
    } else if (x->kind != GM_LOAD || x->a.at.step[0] || x->memory.at.step[0] ||
               is_disturbed(c, loop, gm_chain_behind(c, loop), i, trip)) {
      return false;
    }
  }
  return true;
}

/* Moves the node [at, end) to `to`, before the loop there. */
static void move_out(gm_chain *c, int to, int at, int end) {
  for (int i = 0; i < end - at; i++) {
    gm_chain_command x = c->command[at + i];
    leave_outermost(&x, 0);
    memmove(c->command + to + i + 1, c->command + to + i, (size_t)(at - to) * sizeof *c->command);
    c->command[to + i] = x;
  }
}

bool gm_chain_hoist(gm_chain *c) {
  for (int loop = 0; loop < c->n; loop = gm_chain_behind(c, loop)) {
    if (c->command[loop].kind != GM_DO) continue;
    bool first = true;
    for (int at = loop + 1; c->command[at].kind != GM_END;) {
      int end = gm_chain_behind(c, at);
      if (c->command[at].kind == GM_OPERATOR || !is_invariant(c, loop, at, end)) {
        at = end;
        continue;
      }
      if (first) {
        const gm_chain_command mark = {.kind = GM_OPERATOR, .name = "what every step needs"};
        if (!gm_chain_insert(c, loop, &mark)) return false;
        loop++, at++, end++;
        first = false;
      }
      move_out(c, loop, at, end);
      loop += end - at;
      at = end;
    }
  }
  return true;
}

/* ---- commands that no output needs ---- */

typedef struct instance {
  int at, index[GM_CHAIN_DEPTH];
} instance;

typedef struct life {
  const gm_chain *chain;
  instance *run; /* every command in issue order */
  int n, capacity;
  bool *spad, *acc;
  int spad_rows, acc_rows;
  bool *memory[GM_CHAIN_ARRAYS];
  bool state; /* a later compute needs weights or sums in the array */
  bool failed;
} life;

static bool record(void *context, const gm_chain_command *x, int at, const int index[GM_CHAIN_DEPTH]) {
  life *l = context;
  (void)x;
  if (l->n == l->capacity) {
    int capacity = l->capacity ? 2 * l->capacity : 1024;
    instance *more = realloc(l->run, (size_t)capacity * sizeof *more);
    if (!more) {
      l->failed = true;
      return false;
    }
    l->run = more;
    l->capacity = capacity;
  }
  l->run[l->n].at = at;
  memcpy(l->run[l->n].index, index, sizeof l->run->index);
  l->n++;
  return true;
}

static bool *rows_of(life *l, gm_space space) { return space == GM_SPAD ? l->spad : l->acc; }

static void set_rows(life *l, const gm_rows *r, int at, int rows, bool value) {
  for (int i = 0; r->space != GM_NOWHERE && i < rows; i++) rows_of(l, r->space)[at + i] = value;
}

static bool any_row(life *l, const gm_rows *r, int at, int rows) {
  for (int i = 0; r->space != GM_NOWHERE && i < rows; i++)
    if (rows_of(l, r->space)[at + i]) return true;
  return false;
}

static int stored_rows(const gm_rows *r) { return r->transposed ? r->cols : r->rows; }

static void set_memory(life *l, const gm_memory *m, const int *index, bool value) {
  int at = gm_affine_value(&m->at, index);
  for (int r = 0; r < m->rows; r++)
    for (int k = 0; k < m->cols; k++) l->memory[m->array][at + r * m->stride + k] = value;
}

static bool any_memory(life *l, const gm_memory *m, const int *index) {
  int at = gm_affine_value(&m->at, index);
  for (int r = 0; r < m->rows; r++)
    for (int k = 0; k < m->cols; k++)
      if (l->memory[m->array][at + r * m->stride + k]) return true;
  return false;
}

static bool load_lives(life *l, const gm_chain_command *x, const int *index) {
  int at = gm_affine_value(&x->a.at, index), dim = l->chain->dim, blocks = (x->a.cols + dim - 1) / dim;
  bool lives = false;
  for (int k = 0; k < blocks; k++) lives |= any_row(l, &x->a, at + k * x->block_stride, x->a.rows);
  if (!lives) return false;
  for (int k = 0; k < blocks; k++) set_rows(l, &x->a, at + k * x->block_stride, x->a.rows, false);
  set_memory(l, &x->memory, index, true);
  return true;
}

/* A preload and its compute are kept or removed together. */
static bool pair_lives(life *l, const gm_chain_command *before, const gm_chain_command *multiply, const int *index) {
  int c = gm_affine_value(&before->b.at, index);
  bool lives = any_row(l, &before->b, c, before->b.rows) || l->state;
  if (!lives) return false;
  if (before->b.space != GM_ACC_ADD) set_rows(l, &before->b, c, before->b.rows, false);
  l->state = multiply->accumulated;
  const gm_rows *read[3] = {&before->a, &multiply->a, &multiply->b};
  for (int i = 0; i < 3; i++) set_rows(l, read[i], gm_affine_value(&read[i]->at, index), stored_rows(read[i]), true);
  return true;
}

static bool lives(life *l, int i) {
  const gm_chain_command *x = &l->chain->command[l->run[i].at];
  const int *index = l->run[i].index;
  switch (x->kind) {
  case GM_STORE:
    if (!any_memory(l, &x->memory, index)) return false;
    set_memory(l, &x->memory, index, false);
    set_rows(l, &x->a, gm_affine_value(&x->a.at, index), x->a.rows, true);
    return true;
  case GM_NEGATE:
  case GM_ADD:
    if (!any_memory(l, &x->memory, index)) return false;
    set_memory(l, &x->memory, index, false);
    set_memory(l, &x->x, index, true);
    if (x->kind == GM_ADD) set_memory(l, &x->y, index, true);
    return true;
  case GM_LOAD: return load_lives(l, x, index);
  default: return true;
  }
}

/* For every command: is it ever needed, and is it needed in the last iteration of the outermost enclosing loop? */
typedef struct need {
  bool ever, last;
} need;

static void note(const life *l, need *needs, const int *trip, int i) {
  const instance *now = &l->run[i];
  needs[now->at].ever = true;
  if (now->index[0] == trip[now->at] - 1) needs[now->at].last = true;
}

static bool find_needs(life *l, need *needs, const int *outputs, int n_outputs) {
  /* trip count of the outermost enclosing loop, 1 without a loop */
  int *trip = calloc((size_t)l->chain->n, sizeof *trip);
  if (!trip) return false;
  for (int o = 0; o < n_outputs; o++)
    memset(l->memory[outputs[o]], 1, (size_t)l->chain->array[outputs[o]].length * sizeof(bool));
  for (int at = 0, end; at < l->chain->n; at = end) {
    end = gm_chain_behind(l->chain, at);
    for (int i = at; i < end; i++) trip[i] = l->chain->command[at].kind == GM_DO ? l->chain->command[at].trip : 1;
  }
  for (int i = l->n - 1; i >= 0; i--) {
    const gm_chain_command *x = &l->chain->command[l->run[i].at];
    if (x->kind == GM_MULTIPLY) {
      bool live = pair_lives(l, &l->chain->command[l->run[i - 1].at], x, l->run[i].index);
      if (live) note(l, needs, trip, i);
      i--;
      if (live) note(l, needs, trip, i);
    } else if (lives(l, i)) {
      note(l, needs, trip, i);
    }
  }
  free(trip);
  return true;
}

static bool is_structure(gm_chain_kind k) { return k == GM_DO || k == GM_END || k == GM_OPERATOR || k == GM_FENCE; }

/* The chain without unneeded commands. If the last iteration of a loop needs fewer commands than earlier iterations,
 * the loop loses that iteration. */
static bool rebuild(gm_chain *c, const need *needs) {
  gm_chain out = *c;
  out.command = NULL;
  out.n = out.capacity = 0;
  for (int at = 0, end; at < c->n; at = end) {
    end = gm_chain_behind(c, at);
    const int trip = c->command[at].kind == GM_DO ? c->command[at].trip : 1;
    bool splits = false;
    for (int i = at; i < end; i++)
      splits |= trip > 1 && needs[i].ever && !needs[i].last && !is_structure(c->command[i].kind);
    for (int i = at; i < end; i++) {
      if (!needs[i].ever && !is_structure(c->command[i].kind)) continue;
      if (!gm_chain_insert(&out, out.n, &c->command[i])) return false;
      if (splits && i == at) out.command[out.n - 1].trip--;
    }
    for (int i = at + 1; splits && i < end - 1; i++) {
      if (!needs[i].last && !is_structure(c->command[i].kind)) continue;
      gm_chain_command x = c->command[i];
      leave_outermost(&x, trip - 1);
      if (!gm_chain_insert(&out, out.n, &x)) return false;
    }
  }
  gm_chain_free(c);
  *c = out;
  return true;
}

/* Removes empty loops, and fences that follow a fence. */
static void tidy(gm_chain *c) {
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i + 1 < c->n; i++) {
      bool empty = c->command[i].kind == GM_DO && c->command[i + 1].kind == GM_END;
      bool idle = c->command[i].kind == GM_FENCE && c->command[i + 1].kind == GM_FENCE;
      if (empty || idle) {
        erase(c, i + 1);
        if (empty) erase(c, i);
        changed = true;
      }
    }
  }
}

static bool make_life(const gm_chain *c, life *l) {
  *l = (life){.chain = c, .spad_rows = 1 << 17, .acc_rows = 1 << 17};
  l->spad = calloc((size_t)l->spad_rows, sizeof *l->spad);
  l->acc = calloc((size_t)l->acc_rows, sizeof *l->acc);
  bool ok = l->spad && l->acc;
  for (int i = 0; i < c->n_arrays; i++) ok &= (l->memory[i] = calloc((size_t)c->array[i].length, sizeof(bool))) != NULL;
  return ok && gm_chain_walk(c, record, l) && !l->failed;
}

static void free_life(life *l) {
  free(l->run);
  free(l->spad);
  free(l->acc);
  for (int i = 0; i < GM_CHAIN_ARRAYS; i++) free(l->memory[i]);
}

bool gm_chain_drop_dead(gm_chain *c, const int *outputs, int n_outputs) {
  life l;
  need *needs = calloc((size_t)c->n + 1, sizeof *needs);
  bool ok = needs && make_life(c, &l) && find_needs(&l, needs, outputs, n_outputs) && rebuild(c, needs);
  if (needs) free_life(&l);
  free(needs);
  if (ok) tidy(c);
  return ok;
}

/* ---- fences ---- */

/* Is this a config_ex without changes before the next preload? */
static bool set_again(const gm_chain *c, int at, gm_chain_command *out) {
  while (at < c->n && c->command[at].kind != GM_BEFORE) at++;
  if (at == c->n) return false;
  *out = (gm_chain_command){.kind = GM_SET_EX,
                            .scale = 1,
                            .output_stationary = c->command[at].output_stationary,
                            .a_transposed = c->command[at].a_transposed};
  return true;
}

bool gm_chain_drop_fences(const gm_config *config, gm_chain *c, bool drain) {
  for (int i = 0; i < c->n;) {
    if (c->command[i].kind != GM_FENCE) {
      i++;
      continue;
    }
    tw_error reason;
    const gm_chain_command fence = c->command[i];
    gm_chain_command again;
    erase(c, i);
    if (gm_chain_check(config, c, &reason) == TW_OK) continue;
    const bool drains = drain && set_again(c, i, &again);
    if (!gm_chain_insert(c, i, drains ? &again : &fence)) return false;
    if (drains && gm_chain_check(config, c, &reason) != TW_OK) c->command[i] = fence;
    i++;
  }
  return true;
}
