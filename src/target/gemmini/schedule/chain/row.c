/* row.c - programs whose vectors are rows: a vector is a row of A, and blocks of the transposed matrix are B. Sums over
 * blocks stay in the array (output-stationary). A product goes directly to the scratchpad and is the next product's A.
 * Up to 4 vectors pass at once, which costs no more than one:
 *
 *   all that the recurrence only reads      V[t] = -d[t] Bdyn'  or  q[t] - r[t] Kinf       4 steps at once
 *   the recurrence                          x[t+1] = x[t] G + V[t]                         G = (Adyn - Bdyn Kinf)'
 *                                                                                           or AmBKt'
 *   all that nothing waits for              u[t] = -x[t] Kinf' - d[t], d[t] = (p[t+1] Bdyn + r[t]) Quu_inv'   4 at once
 *
 * `premultiply` computes W = Bdyn Quu_inv' once, so that d[t] = r[t] Quu_inv' + p[t+1] W is one sum: after the last vector
 * follows one latency of a sum, not two.
 *
 * Only the recurrence waits for itself. `ahead` lets it take s = 2 or 4 steps with one product: x[t+s] = x[t] G^s +
 * V_s[t], V_2s[t] = V_s[t] G^s + V_s[t+s] (cyclic reduction: R. Hockney, 1965; for recurrences P. Kogge, H. Stone,
 * 1973), where s vectors are known and pass together.
 *
 * A panel is vectors of all steps: block j of vector t is row base + j * pitch + t. The backward pass runs from the
 * last vector to the first; its panels are in the order of t, too. */
#include "target/gemmini/schedule/chain/chain.h"

typedef struct panel {
  gm_space space;
  int base, pitch, length; /* length of a vector */
} panel;

/* `count` vectors from row `at` on. */
typedef struct span {
  panel p;
  gm_affine at;
  int count;
} span;

static panel take_panel(gm_builder *b, int bank, int vectors, int length) {
  const int pitch = gm_rounded(b, vectors);
  return (panel){GM_SPAD, gm_take_rows(b, bank, pitch * gm_rounded(b, length) / b->p.dim), pitch, length};
}

static panel take_results(gm_builder *b, int vectors, int length) {
  const int pitch = gm_rounded(b, vectors);
  return (panel){GM_ACC, gm_take_acc(b, pitch * gm_rounded(b, length) / b->p.dim), pitch, length};
}

static span of(panel p, gm_affine at, int count) { return (span){p, at, count}; }

static gm_rows part(span s, gm_block j) {
  gm_affine at = gm_plus(s.at, j, s.p.pitch);
  at.base += s.p.base;
  gm_rows r = gm_spad(at, s.count, j.size);
  r.space = s.p.space;
  return r;
}

static void load_panel(gm_builder *b, panel p, int array, int first, int vectors, double scale) {
  for (gm_each t = gm_each_block(b, "t", vectors, GM_ROLLED); gm_next(&t);) {
    gm_affine to = gm_plus(gm_at(p.base + first), t.block, b->p.dim);
    gm_load(b, array, gm_plus(gm_at(first * p.length), t.block, b->p.dim * p.length), p.length, scale, to, t.block.size,
            p.length, p.pitch);
  }
}

static void store_span(gm_builder *b, span s, int array, gm_affine to) {
  for (gm_each j = gm_each_block(b, "j", s.p.length, 0); gm_next(&j);)
    gm_store(b, part(s, j.block), array, gm_plus(to, j.block, b->p.dim), s.p.length);
}

typedef struct term {
  span x;
  gm_matrix W;
} term;

/* out = x W + x' W' + ... + add, for all vectors of the spans. */
static void sum_rows(gm_builder *b, const term *t, int n, const span *add, span out) {
  for (gm_each j = gm_each_block(b, "j", t->W.cols, 0); gm_next(&j);)
    for (int p = 0; p < n; p++)
      for (gm_each k = gm_each_block(b, "k", t[p].W.rows, GM_INNER | GM_PEEL_FIRST | GM_PEEL_LAST); gm_next(&k);) {
        const bool first = p == 0 && k.first, last = p == n - 1 && k.last;
        gm_before(b, first && add ? part(*add, j.block) : gm_nowhere(), last ? part(out, j.block) : gm_nowhere());
        gm_multiply(b, !first, part(t[p].x, k.block), gm_matrix_block(b, t[p].W, k.block, j.block));
      }
}

static void multiply_rows(gm_builder *b, span x, gm_matrix W, const span *add, span out) {
  sum_rows(b, &(term){x, W}, 1, add, out);
}

/* to = x y */
static void multiply_matrices(gm_builder *b, gm_matrix x, gm_matrix y, gm_matrix to) {
  for (gm_each i = gm_each_block(b, "i", to.rows, 0); gm_next(&i);)
    for (gm_each j = gm_each_block(b, "j", to.cols, 0); gm_next(&j);)
      for (gm_each k = gm_each_block(b, "k", y.rows, GM_INNER | GM_PEEL_FIRST | GM_PEEL_LAST); gm_next(&k);) {
        gm_before(b, gm_nowhere(), k.last ? gm_matrix_block(b, to, i.block, j.block) : gm_nowhere());
        gm_multiply(b, !k.first, gm_matrix_block(b, x, i.block, k.block), gm_matrix_block(b, y, k.block, j.block));
      }
}

/* ---- the recurrence ----
 *
 * Vectors 0 .. count - 1 of a chain; chain index c is row c of the panel, or, backwards, row count - 1 - c +
 * first_row. */
typedef struct recurrence {
  panel x, v; /* v: the vector that is added for chain index c + 1 is in the row of its target (backward) or source */
  gm_matrix g;
  int count; /* vectors, the given one included */
  bool backward;
  int low; /* row of the last vector, backwards */
} recurrence;

/* The rows of chain indices c .. c + size - 1; c = base + per * block. */
static gm_affine chain_rows(const recurrence *r, int c, int size) {
  return gm_at(r->backward ? r->low + r->count - c - size : c);
}

static gm_affine moved(const recurrence *r, gm_affine at, gm_block t, int per) {
  return gm_plus(at, t, r->backward ? -per : per);
}

/* `size` vectors, from the vectors `s` positions before. c is the first target's chain index; loop t moves it by
 * `per`. */
static void advance(gm_builder *b, const recurrence *r, gm_matrix g, panel v, int s, int c, int size, gm_block t,
                    int per, gm_block i, int per_i) {
  gm_affine to = moved(r, moved(r, chain_rows(r, c, size), t, per), i, per_i);
  gm_affine from = to;
  from.base += r->backward ? s : -s;
  span add = of(v, r->backward ? to : from, size);
  multiply_rows(b, of(r->x, from, size), g, &add, of(r->x, to, size));
}

/* Results of complete vectors: chain indices c .. c + size - 1. */
typedef struct consumer {
  void (*make)(gm_builder *, const recurrence *, const void *context, gm_affine rows, int size);
  const void *context;
  /* W = x y is needed before the first call of make, if `premultiply` */
  gm_matrix x, y, W;
} consumer;

static void premultiply(gm_builder *b, const consumer *use) {
  if (!b->plan.premultiply) return;
  gm_operator(b, "Bdyn Quu_inv'");
  multiply_matrices(b, use->x, use->y, use->W);
}

static void consume(gm_builder *b, const recurrence *r, const consumer *use, int c, int size, gm_block t, int per) {
  use->make(b, r, use->context, moved(r, chain_rows(r, c, size), t, per), size);
}

static const gm_block no_loop = {.level = -1, .sign = 1};

/* All steps, one at a time, then all results, four at once. If the number of steps is not a multiple of four, code is
 * shorter than with results between steps, which need another loop for the remaining steps. W is computed while the
 * last vector leaves the array: the core has issued the steps by then, and fetches code in time. */
static void steps_then_results(gm_builder *b, const recurrence *r, const consumer *use) {
  gm_block t = gm_begin_steps(b, "t", r->count - 1, 0, 1);
  advance(b, r, r->g, r->v, 1, 1, 1, t, 1, no_loop, 0);
  gm_end_steps(b, t);
  gm_fence(b);
  premultiply(b, use);
  for (gm_each c = gm_each_block(b, "c", r->count, GM_ROLLED); gm_next(&c);) {
    gm_block whole = c.block;
    whole.base = 0;
    consume(b, r, use, c.block.base * b->p.dim, c.block.size, whole, b->p.dim);
  }
}

/* One step at a time. After every four steps, computes the results that depend on these vectors, except the last. */
static void step_by_step(gm_builder *b, const recurrence *r, const consumer *use) {
  premultiply(b, use);
  for (gm_each t = gm_each_block(b, "t", r->count - 1, GM_ROLLED); gm_next(&t);) {
    gm_block whole = t.block;
    whole.base = 0;
    int first = t.block.base * b->p.dim;
    gm_block i = gm_begin_steps(b, "i", t.block.size, 0, 1);
    advance(b, r, r->g, r->v, 1, first + 1, 1, whole, b->p.dim, i, 1);
    gm_end_steps(b, i);
    consume(b, r, use, first, t.block.size, whole, b->p.dim);
    if (!b->plan.fences) gm_fence(b);
  }
  consume(b, r, use, r->count - 1, 1, no_loop, 0);
}

/* As above, but the result that depends on a vector is computed immediately after the step from it: its products are
 * in the array while the next vector leaves. */
static void step_and_consume(gm_builder *b, const recurrence *r, const consumer *use) {
  gm_block t = gm_begin_steps(b, "t", r->count - 1, 0, 1);
  advance(b, r, r->g, r->v, 1, 1, 1, t, 1, no_loop, 0);
  consume(b, r, use, 0, 1, t, 1);
  if (!b->plan.fences) gm_fence(b);
  gm_end_steps(b, t);
  consume(b, r, use, r->count - 1, 1, no_loop, 0);
}

/* s steps with one product; s vectors at once. */
static void steps_at_once(gm_builder *b, const recurrence *r, gm_matrix g[], panel v[], const consumer *use) {
  int s = 1 << b->plan.ahead, level = 0;
  premultiply(b, use);
  for (int known = 1; known < s && known < r->count; known *= 2, level++) {
    int size = known < r->count - known ? known : r->count - known;
    advance(b, r, g[level], v[level], known, known, size, no_loop, 0, no_loop, 0);
    gm_fence(b); /* the next product reads these and earlier vectors as one block */
  }
  int left = r->count - s, blocks = left > 0 ? left / s : 0;
  if (blocks) {
    gm_block t = gm_begin_steps(b, "t", blocks, 0, 1);
    advance(b, r, g[level], v[level], s, s, s, t, s, no_loop, 0);
    consume(b, r, use, 0, s, t, s);
    gm_end_steps(b, t);
  }
  int done = blocks * s, rest = left > 0 ? left - done : 0;
  if (rest && b->plan.premultiply) gm_fence(b); /* reads a part of the last block that was written */
  if (rest) advance(b, r, g[level], v[level], s, done + s, rest, no_loop, 0, no_loop, 0);
  int last = r->count < s ? r->count : s;
  consume(b, r, use, done, last, no_loop, 0);
  if (rest) consume(b, r, use, done + s, rest, no_loop, 0);
}

/* Powers of G, and the terms added with them, are in different banks, both for the products that write them and for
 * the products that read them: A and D of V_2s are rows of V_s; A and B of G_2s are blocks of G_s. The recurrence
 * reads X in bank 0. */
static const int power_bank[3] = {1, 2, 3}, added_bank[3] = {2, 3, 1};

/* From G^s and V_s to G^2s and V_2s: V_2s[t] needs V_s[t] and V_s[t + s], and count - 2 s of them are used. */
static void double_steps(gm_builder *b, const recurrence *r, int s, const gm_matrix *g, const panel *v,
                         const gm_matrix *g2, const panel *v2) {
  multiply_matrices(b, *g, *g, *g2);
  gm_fence(b); /* rows of V_s are read in other blocks than they were written */
  for (gm_each t = gm_each_block(b, "t", r->count - 2 * s, GM_ROLLED); gm_next(&t);) {
    gm_affine at = gm_plus(gm_at(r->backward ? r->low : 0), t.block, b->p.dim), later = at;
    later.base += s;
    span add = of(*v, r->backward ? at : later, t.block.size);
    multiply_rows(b, of(*v, r->backward ? later : at, t.block.size), *g, &add, of(*v2, at, t.block.size));
  }
}

/* Do the products of one result fit into the time in which the array outputs a vector? Then they cost no time, and
 * the products of make_u become one product. */
static bool fits_behind_a_step(const gm_builder *b, const recurrence *r) {
  const int dim = b->p.dim, states = (b->p.n + dim - 1) / dim, inputs = (b->p.m + dim - 1) / dim;
  return !r->backward && states * inputs * dim <= gm_chain_through(b->config);
}

static void run(gm_builder *b, const recurrence *r, const consumer *use) {
  gm_matrix g[3] = {r->g, r->g, r->g};
  panel v[3] = {r->v, r->v, r->v};
  if (b->plan.ahead == 0) {
    const bool separate = b->plan.premultiply && (r->count - 1) % b->p.dim;
    (separate ? steps_then_results : fits_behind_a_step(b, r) ? step_and_consume : step_by_step)(b, r, use);
    return;
  }
  for (int s = 1, level = 0; level < 2 && s < 1 << b->plan.ahead && 2 * s < r->count; s *= 2, level++) {
    gm_operator(b, s == 1 ? "two steps at once" : "four steps at once");
    g[level + 1] = gm_take_matrix(b, power_bank[level + 1], r->g.rows, r->g.cols);
    v[level + 1] = take_panel(b, added_bank[level + 1], r->v.pitch, r->v.length);
    double_steps(b, r, s, &g[level], &v[level], &g[level + 1], &v[level + 1]);
  }
  gm_fence(b);
  gm_operator(b, "steps");
  steps_at_once(b, r, g, v, use);
}

/* ---- forward ---- */

typedef struct outputs {
  panel add, sums, out; /* D of the results; intermediate values (backward) */
  gm_matrix first, second;
  int array;
} outputs;

static void make_u(gm_builder *b, const recurrence *r, const void *context, gm_affine rows, int size) {
  const outputs *o = context;
  span add = of(o->add, rows, size), out = of(o->out, rows, size);
  multiply_rows(b, of(r->x, rows, size), o->first, &add, out);
  gm_affine to = {.base = rows.base * o->out.length};
  for (int l = 0; l < GM_CHAIN_DEPTH; l++) to.step[l] = rows.step[l] * o->out.length;
  store_span(b, out, o->array, to);
}

static void rows_forward(gm_builder *b) {
  int n = b->p.n, m = b->p.m, N = b->p.horizon, dim = b->p.dim;
  gm_matrix K = gm_take_matrix(b, 0, m, n), B = gm_take_matrix(b, 0, n, m), A = gm_take_matrix(b, 0, n, n);
  int identity = gm_take_rows(b, 1, dim);
  gm_matrix Bt = gm_take_matrix(b, 2, m, n), Kt = gm_take_matrix(b, 1, n, m), G = gm_take_matrix(b, 1, n, n);
  panel x = take_panel(b, 0, N, n), d = take_panel(b, 3, N, m), v = take_panel(b, 2, N, n), u = take_results(b, N, m);
  /* Loads follow immediately before their use: later loads, and their code, come after the products. */
  b->a_transposed = true;
  gm_operator(b, "-Kinf', Bdyn', (Adyn - Bdyn Kinf)'");
  gm_load(b, gm_chain_identity(b), gm_at(0), dim, 1, gm_at(identity), dim, dim, dim);
  gm_load_matrix(b, K, TW_MPC_KINF, -1);
  if (N > 1) {
    gm_load_matrix(b, B, TW_MPC_BDYN, 1);
    gm_load_matrix(b, A, TW_MPC_ADYN, 1);
    gm_transpose(b, B, Bt, identity);
    gm_transpose(b, A, G, identity);
    for (gm_each l = gm_each_block(b, "l", m, 0); gm_next(&l);)
      for (gm_each k = gm_each_block(b, "k", n, 0); gm_next(&k);)
        for (gm_each j = gm_each_block(b, "j", n, GM_INNER); gm_next(&j);) {
          gm_rows sum = gm_matrix_block(b, G, k.block, j.block);
          gm_before(b, gm_matrix_block(b, Bt, l.block, j.block), sum);
          gm_multiply(b, false, gm_transposed_block(b, K, k.block, l.block), sum);
        }
  }
  gm_transpose(b, K, Kt, identity);
  load_panel(b, d, TW_MPC_D, 0, N, -1);
  gm_load(b, TW_MPC_X, gm_at(0), n, 1, gm_at(x.base), 1, n, x.pitch);
  b->output_stationary = true;
  b->a_transposed = false;
  gm_operator(b, "-d Bdyn'");
  for (gm_each t = gm_each_block(b, "t", N - 1, GM_ROLLED); gm_next(&t);) {
    gm_affine at = gm_plus(gm_at(0), t.block, dim);
    multiply_rows(b, of(d, at, t.block.size), Bt, NULL, of(v, at, t.block.size));
  }
  gm_fence(b);
  gm_operator(b, "steps");
  const outputs o = {.add = d, .out = u, .first = Kt, .array = TW_MPC_U};
  recurrence r = {.x = x, .v = v, .g = G, .count = N};
  run(b, &r, &(consumer){.make = make_u, .context = &o});
}

/* ---- backward ---- */

/* d[t] = (p[t+1] Bdyn + r[t]) Quu_inv', for the rows t + 1 given. */
static void make_d(gm_builder *b, const recurrence *r, const void *context, gm_affine rows, int size) {
  const outputs *o = context;
  gm_affine before = rows;
  before.base--;
  span add = of(o->add, before, size), sums = of(o->sums, before, size), out = of(o->out, before, size);
  if (b->plan.premultiply) {
    const term t[2] = {{add, o->second}, {of(r->x, rows, size), o->first}};
    sum_rows(b, t, 2, NULL, out);
  } else {
    multiply_rows(b, of(r->x, rows, size), o->first, &add, sums);
    multiply_rows(b, sums, o->second, NULL, out);
  }
  gm_affine to = {.base = before.base * o->out.length};
  for (int l = 0; l < GM_CHAIN_DEPTH; l++) to.step[l] = before.step[l] * o->out.length;
  store_span(b, out, o->array, to);
}

static void rows_backward(gm_builder *b) {
  int n = b->p.n, m = b->p.m, N = b->p.horizon, dim = b->p.dim;
  gm_matrix M = gm_take_matrix(b, 0, n, n), Q = gm_take_matrix(b, 0, m, m),
            B = gm_take_matrix(b, b->plan.premultiply ? 2 : 1, n, m), Qt = gm_take_matrix(b, 1, m, m),
            K = gm_take_matrix(b, 1, m, n), G = gm_take_matrix(b, 1, n, n);
  int identity = gm_take_rows(b, 1, dim);
  panel p = take_panel(b, 0, N, n), r = take_panel(b, 3, N, m), q = take_panel(b, 3, N, n), v = take_panel(b, 2, N, n),
        sums = take_panel(b, 0, N, m), d = take_results(b, N, m);
  const gm_matrix W = b->plan.premultiply ? gm_take_matrix(b, 1, n, m) : B;
  b->a_transposed = true;
  gm_operator(b, "AmBKt', Quu_inv'");
  gm_load(b, gm_chain_identity(b), gm_at(0), dim, 1, gm_at(identity), dim, dim, dim);
  if (N > 2) {
    gm_load_matrix(b, M, TW_MPC_BACK_AMBKT, 1);
    gm_load_matrix(b, K, TW_MPC_BACK_KINF, -1);
    gm_transpose(b, M, G, identity);
  }
  gm_load_matrix(b, Q, TW_MPC_BACK_QUU, 1);
  gm_transpose(b, Q, Qt, identity);
  load_panel(b, r, TW_MPC_BACK_R, 0, N - 1, 1);
  if (N > 2) load_panel(b, q, TW_MPC_BACK_Q, 1, N - 2, 1);
  gm_load_matrix(b, B, TW_MPC_BACK_BDYN, 1);
  gm_load(b, TW_MPC_BACK_P, gm_at((N - 1) * n), n, 1, gm_at(p.base + N - 1), 1, n, p.pitch);
  b->a_transposed = false;
  b->output_stationary = true;
  if (N > 2) {
    gm_operator(b, "q - r Kinf");
    for (gm_each t = gm_each_block(b, "t", N - 2, GM_ROLLED); gm_next(&t);) { /* in the order in which they are used */
      t.block.sign = -1;
      gm_block from_last = t.block;
      from_last.base = -t.block.base;
      gm_affine at = gm_plus(gm_at(N - 1 - t.block.size), from_last, dim);
      span add = of(q, at, t.block.size);
      multiply_rows(b, of(r, at, t.block.size), K, &add, of(v, at, t.block.size));
    }
  }
  gm_fence(b);
  gm_operator(b, "steps");
  const outputs o = {.add = r, .sums = sums, .out = d, .first = W, .second = Qt, .array = TW_MPC_BACK_D};
  recurrence chain = {.x = p, .v = v, .g = G, .count = N - 1, .backward = true, .low = 1};
  run(b, &chain, &(consumer){.make = make_d, .context = &o, .x = B, .y = Qt, .W = W});
}

void gm_chain_rows(gm_builder *b) {
  if (b->p.mpc.forward)
    rows_forward(b);
  else
    rows_backward(b);
}
