/* loop_ws.c - Gemmini's hardware matmul loop, one clock edge at a time (see loop_ws.h).
 *
 * Source: ucb-bar/gemmini at be2e9f2, src/main/scala/gemmini/LoopMatmul.scala (line numbers below are of that file) and
 * WeightedArbiter.scala; with two additions of b6e24f0 (end of May 2023), which is in the version that the published
 * figures were measured on (25809f7): the ids of halves, and that A and B are not loaded from address 0. The third,
 * adding matrices (is_resadd), is not modelled. All decisions of a cycle use the registers before the edge.
 * gm_loop_ws_step ensures this: it reads first (the output, idle units, whether the head retires) and updates in an
 * order in which no update affects a later one. Two details of the RTL that look like mistakes are kept, because they
 * affect the command stream:
 *   - load B always moves full tiles of rows: its row padding is compared with itself and never applies (line 178);
 *   - execute compares load A's k, not load B's, before it compares load B's j (line 445).
 * Assumed: dimensions and rows are powers of two, as the generator requires (GemminiConfigs.scala). */
#include "target/gemmini/machine/loop_ws.h"

#include <stdio.h>
#include <string.h>

enum { LOADED = 1 << GM_LOOP_LD_A | 1 << GM_LOOP_LD_B | 1 << GM_LOOP_LD_D };

void gm_loop_ws_init(gm_loop_ws *l, const gm_config *c) {
  uint32_t spad_rows = (uint32_t)gm_spad_rows(c);
  memset(l, 0, sizeof *l);
  gm_loop_pair_init(&l->pair, c);
  l->dim = c->dim;
  l->input_bytes = gm_input_bytes(c);
  l->acc_bytes = gm_acc_bytes(c);
  l->blocks = gm_loop_blocks(c, l->input_bytes);
  l->blocks_acc = gm_loop_blocks(c, l->acc_bytes);
  for (uint32_t i = 0; i < 2; i++) {
    l->loops[i].a_start = i * (spad_rows / 2);
    l->loops[i].b_end = (i + 1) * (spad_rows / 2);
  }
  l->settled = true;
  l->next = -1;
}

/* ---- The commands of the units ---- */

/* Where a loop's A begins and its B ends: in its own half, or in the half that its id names. */
static uint32_t a_start(const gm_loop_ws *l, const gm_loop *p) {
  const uint32_t half = l->loops[1].a_start;
  return p->a_half ? (p->a_half - 1u) * half : p->a_start;
}

static uint32_t b_end(const gm_loop_ws *l, const gm_loop *p) {
  const uint32_t half = l->loops[1].a_start;
  return p->b_half ? p->b_half * half : p->b_end;
}

/* A rectangle of tiles that one mvin or mvout moves: its beginning, its width in tiles, and the layout of the
 * matrix. */
typedef struct move {
  uint8_t funct;
  uint64_t memory, stride; /* address of the matrix; stride in elements */
  int element_bytes;
  uint32_t row, col, max_row, max_col, blocks; /* tiles */
  uint32_t row_pad, col_pad;
  uint32_t local, flags; /* first row of the matrix in local memory; address bits 31..29 */
} move;

/* Tiles moved by one command at column `col`: a full command's width or the remainder of the matrix. */
static uint32_t blocks_at(uint32_t col, uint32_t width, uint32_t max_col) { return gm_min_u32(width, max_col - col); }

static gm_command move_command(const gm_loop_ws *l, const move *m) {
  uint32_t dim = (uint32_t)l->dim;
  uint64_t offset = (m->row * m->stride + m->col) * dim * (uint32_t)m->element_bytes;
  uint32_t rows = dim - (m->row == m->max_row - 1 ? m->row_pad : 0);
  uint32_t cols = m->blocks * dim - (m->col + m->blocks >= m->max_col ? m->col_pad : 0);
  uint32_t local = m->local + (m->row * m->max_col + m->col) * dim;
  return (gm_command){
      .funct = m->funct,
      .rs1 = m->memory + (uint32_t)offset, /* offsets are cut to 32 bits (castDramOffset) */
      .rs2 = gm_local_operand(rows, cols, (local & l->pair.row_mask) | m->flags),
  };
}

/* Steps `inner` by n, and `outer` by m when inner starts over. True when both are at 0 again. */
static bool advance2(uint16_t *inner, uint32_t n, uint32_t inner_end, uint16_t *outer, uint32_t m, uint32_t outer_end) {
  *inner = gm_advance(*inner, n, inner_end);
  if (*inner) return false;
  *outer = gm_advance(*outer, m, outer_end);
  return *outer == 0;
}

static gm_command load_a(gm_loop_ws *l) {
  gm_loop_unit *u = &l->units[GM_LOOP_LD_A];
  const gm_loop *p = &l->loops[u->loop];
  move m = {
      .funct = GM_MVIN, .memory = p->a, .stride = p->a_stride, .element_bytes = l->input_bytes, .local = a_start(l, p)};
  uint32_t width;
  if (p->a_transposed) {
    m.row = u->k, m.col = u->i, m.max_row = p->max_k, m.max_col = p->max_i, m.row_pad = p->pad_k, m.col_pad = p->pad_i;
  } else {
    m.row = u->i, m.col = u->k, m.max_row = p->max_i, m.max_col = p->max_k, m.row_pad = p->pad_i, m.col_pad = p->pad_k;
  }
  width = gm_min_u32(m.max_col, (uint32_t)l->blocks);
  m.blocks = blocks_at(m.col, width, m.max_col);
  gm_command c = move_command(l, &m);
  u->active = !advance2(&u->i, p->a_transposed ? width : 1, p->max_i, &u->k, p->a_transposed ? 1 : width, p->max_k);
  return c;
}

static gm_command load_b(gm_loop_ws *l) {
  gm_loop_unit *u = &l->units[GM_LOOP_LD_B];
  const gm_loop *p = &l->loops[u->loop];
  move m = {.funct = GM_MVIN2, .memory = p->b, .stride = p->b_stride, .element_bytes = l->input_bytes};
  uint32_t width;
  uint32_t row_pad;
  m.local = b_end(l, p) - (uint32_t)p->max_k * p->max_j * (uint32_t)l->dim;
  if (p->b_transposed) {
    m.row = u->j, m.col = u->k, m.max_row = p->max_j, m.max_col = p->max_k, m.col_pad = p->pad_k;
    row_pad = p->pad_j;
  } else {
    m.row = u->k, m.col = u->j, m.max_row = p->max_k, m.max_col = p->max_j, m.col_pad = p->pad_j;
    row_pad = p->pad_k;
  } /* m.row_pad stays 0: see the top of the file */
  width = gm_min_u32(m.max_col, (uint32_t)l->blocks);
  m.blocks = blocks_at(m.col, width, m.max_col);
  gm_command c = move_command(l, &m);
  c.spare_rows = (uint8_t)(m.row == m.max_row - 1 ? row_pad : 0);
  u->active = !advance2(&u->j, p->b_transposed ? 1 : width, p->max_j, &u->k, p->b_transposed ? width : 1, p->max_k);
  return c;
}

static gm_command load_d(gm_loop_ws *l) {
  gm_loop_unit *u = &l->units[GM_LOOP_LD_D];
  const gm_loop *p = &l->loops[u->loop];
  uint32_t width = gm_min_u32(p->max_j, (uint32_t)(p->low_d ? l->blocks : l->blocks_acc));
  move m = {.funct = GM_MVIN3,
            .memory = p->d,
            .stride = p->d_stride,
            .element_bytes = p->low_d ? l->input_bytes : l->acc_bytes,
            .row = u->i,
            .col = u->j,
            .max_row = p->max_i,
            .max_col = p->max_j,
            .blocks = blocks_at(u->j, width, p->max_j),
            .row_pad = p->pad_i,
            .col_pad = p->pad_j,
            .local = u->start,
            .flags = 1u << 31};
  gm_command c = move_command(l, &m);
  u->active = !advance2(&u->i, 1, p->max_i, &u->j, width, p->max_j);
  return c;
}

/* Tile columns of one mvout. Accumulator elements leave one tile at a time (line 525). */
static uint32_t store_width(const gm_loop_ws *l, const gm_loop *p) {
  return p->full_c ? 1 : gm_min_u32(p->max_j, (uint32_t)l->blocks);
}

static gm_command store_c(gm_loop_ws *l) {
  gm_loop_unit *u = &l->units[GM_LOOP_ST_C];
  const gm_loop *p = &l->loops[u->loop];
  uint32_t width = store_width(l, p);
  move m = {.funct = GM_MVOUT,
            .memory = p->c,
            .stride = p->c_stride,
            .element_bytes = p->full_c ? l->acc_bytes : l->input_bytes,
            .row = u->i,
            .col = u->j,
            .max_row = p->max_i,
            .max_col = p->max_j,
            .blocks = blocks_at(u->j, width, p->max_j),
            .row_pad = p->pad_i,
            .col_pad = p->pad_j,
            .local = u->start,
            .flags = 1u << 31 | (uint32_t)p->full_c << 29};
  gm_command c = move_command(l, &m);
  u->active = !advance2(&u->i, 1, p->max_i, &u->j, width, p->max_j);
  return c;
}

static gm_command preload(const gm_loop_ws *l, const gm_loop_unit *u, const gm_loop *p) {
  uint32_t dim = (uint32_t)l->dim;
  uint32_t tile = p->b_transposed ? (uint32_t)u->j * p->max_k + u->k : (uint32_t)u->k * p->max_j + u->j;
  uint32_t b = b_end(l, p) - (uint32_t)p->max_k * p->max_j * dim + tile * dim;
  uint32_t c = u->start + ((uint32_t)u->i * p->max_j + u->j) * dim;
  uint32_t i_size = dim - (u->i == p->max_i - 1 ? p->pad_i : 0);
  uint32_t j_size = dim - (u->j == p->max_j - 1 ? p->pad_j : 0);
  uint32_t k_size = dim - (u->k == p->max_k - 1 ? p->pad_k : 0);
  uint32_t accumulate = p->accumulate || u->k != 0;
  return (gm_command){
      .funct = GM_PRELOAD,
      .rs1 = gm_local_operand(k_size, j_size, u->i == 0 ? b & l->pair.row_mask : GM_GARBAGE),
      .rs2 = gm_local_operand(i_size, j_size, 1u << 31 | accumulate << 30 | (c & l->pair.row_mask)),
  };
}

static gm_command compute(const gm_loop_ws *l, const gm_loop_unit *u, const gm_loop *p) {
  uint32_t dim = (uint32_t)l->dim;
  uint32_t tile = p->a_transposed ? (uint32_t)u->k * p->max_i + u->i : (uint32_t)u->i * p->max_k + u->k;
  uint32_t i_size = dim - (u->i == p->max_i - 1 ? p->pad_i : 0);
  uint32_t k_size = dim - (u->k == p->max_k - 1 ? p->pad_k : 0);
  return (gm_command){
      .funct = u->i == 0 ? GM_COMPUTE_PRELOADED : GM_COMPUTE_ACCUMULATED,
      .rs1 = gm_local_operand(i_size, k_size, (a_start(l, p) + tile * dim) & l->pair.row_mask),
      .rs2 = gm_local_operand(dim, dim, GM_GARBAGE),
  };
}

static gm_command execute(gm_loop_ws *l) {
  gm_loop_unit *u = &l->units[GM_LOOP_EX];
  const gm_loop *p = &l->loops[u->loop];
  gm_command c;
  if (!u->compute) {
    u->compute = true;
    return preload(l, u, p);
  }
  c = compute(l, u, p);
  u->compute = false;
  if (advance2(&u->i, 1, p->max_i, &u->j, 1, p->max_j)) {
    u->k = gm_advance(u->k, 1, p->max_k);
    u->active = u->k != 0;
  }
  return c;
}

/* ---- permission to send ---- */

static bool passed(const gm_loop_unit *before, const gm_loop_unit *u) {
  return !before->active || before->loop != u->loop;
}

/* Have the loads of execute's next tile been sent (lines 444-447)? */
static bool operands_ahead(const gm_loop_ws *l) {
  const gm_loop_unit *x = &l->units[GM_LOOP_EX], *a = &l->units[GM_LOOP_LD_A], *b = &l->units[GM_LOOP_LD_B];
  return passed(&l->units[GM_LOOP_LD_D], x) && (passed(a, x) || a->k > x->k || (a->k == x->k && a->i > x->i)) &&
         (passed(b, x) || b->k > x->k || (a->k == x->k && b->j > x->j));
}

/* Have the last computes into store C's next tiles been sent (lines 610-614)? */
static bool results_ahead(const gm_loop_ws *l) {
  const gm_loop_unit *s = &l->units[GM_LOOP_ST_C], *x = &l->units[GM_LOOP_EX];
  const gm_loop *p = &l->loops[s->loop];
  uint32_t next_j = s->j + blocks_at(s->j, store_width(l, p), p->max_j);
  return passed(x, s) || (x->k == p->max_k - 1 && (x->j >= next_j || (x->j == next_j - 1 && x->i > s->i)));
}

/* Selects which load, A or B, may use the output. While they work for different loops: the head's. Otherwise B at
 * the beginning and whenever A is one k ahead, else A (WeightedArbiter.scala with weight 0). The other load may not
 * send, even if the selected one has no command. */
static int load_turn(const gm_loop_ws *l) {
  const gm_loop_unit *a = &l->units[GM_LOOP_LD_A], *b = &l->units[GM_LOOP_LD_B];
  if (a->loop != b->loop) return a->loop == l->pair.head ? GM_LOOP_LD_A : GM_LOOP_LD_B;
  if (!a->active) return GM_LOOP_LD_B;
  if (!b->active) return GM_LOOP_LD_A;
  return a->k > b->k || (b->k == 0 && b->j == 0) ? GM_LOOP_LD_B : GM_LOOP_LD_A;
}

static bool has_room(const gm_loop_ws *l, int kind) { return l->pair.used[kind] < l->pair.limit[kind]; }

/* The unit that sends a command in this cycle if the output is ready, or -1. */
static int sender(const gm_loop_ws *l) {
  const gm_loop_unit *u = l->units;
  if (u[GM_LOOP_ST_C].active && has_room(l, GM_LOOP_STORES) && l->loops[u[GM_LOOP_ST_C].loop].c && results_ahead(l))
    return GM_LOOP_ST_C;
  if (u[GM_LOOP_EX].active && has_room(l, GM_LOOP_EXECUTES) && operands_ahead(l)) return GM_LOOP_EX;
  if (!has_room(l, GM_LOOP_LOADS)) return -1;
  if (u[GM_LOOP_LD_D].active && l->loops[u[GM_LOOP_LD_D].loop].d) return GM_LOOP_LD_D;
  const int turn = load_turn(l);
  const gm_loop *p = &l->loops[u[turn].loop];
  return u[turn].active && (turn == GM_LOOP_LD_A ? p->a : p->b) ? turn : -1;
}

static gm_command send(gm_loop_ws *l, int unit) {
  switch (unit) {
  case GM_LOOP_ST_C: l->pair.used[GM_LOOP_STORES]++; return store_c(l);
  case GM_LOOP_EX: l->pair.used[GM_LOOP_EXECUTES]++; return execute(l);
  case GM_LOOP_LD_D: l->pair.used[GM_LOOP_LOADS]++; return load_d(l);
  case GM_LOOP_LD_A: l->pair.used[GM_LOOP_LOADS]++; return load_a(l);
  default: l->pair.used[GM_LOOP_LOADS]++; return load_b(l);
  }
}

/* ---- Loops and units ---- */

/* Notes the units that have finished their loop. */
static bool note_completed(gm_loop_ws *l) {
  bool changed = false;
  for (int i = 0; i < GM_LOOP_UNITS; i++)
    if (!l->units[i].active) changed |= gm_loop_note_idle(&l->pair, i, l->units[i].loop);
  return changed;
}

static bool start_unit(gm_loop_ws *l, int i, unsigned after) {
  int loop = gm_loop_start(&l->pair, i, after);
  if (loop < 0) return false;
  l->units[i] = (gm_loop_unit){.active = true, .loop = (uint8_t)loop};
  return true;
}

/* Likewise, for a unit that works in the accumulator. */
static bool start_unit_in_acc(gm_loop_ws *l, int i, unsigned after) {
  if (!start_unit(l, i, after)) return false;
  l->units[i].start = gm_loop_take_acc(&l->pair, i, l->loops[l->units[i].loop].c != 0);
  return true;
}

/* Starts units in `idle` that may start. Later units first: each depends on the starts before this cycle. */
static bool start_units(gm_loop_ws *l, unsigned idle) {
  bool changed = false;
  if (idle >> GM_LOOP_ST_C & 1) changed |= start_unit_in_acc(l, GM_LOOP_ST_C, 1 << GM_LOOP_EX);
  if (idle >> GM_LOOP_EX & 1) changed |= start_unit_in_acc(l, GM_LOOP_EX, LOADED);
  if (idle >> GM_LOOP_LD_D & 1) changed |= start_unit_in_acc(l, GM_LOOP_LD_D, 0);
  if (idle >> GM_LOOP_LD_B & 1) changed |= start_unit(l, GM_LOOP_LD_B, 0);
  if (idle >> GM_LOOP_LD_A & 1) changed |= start_unit(l, GM_LOOP_LD_A, 0);
  return changed;
}

/* A unit without a matrix becomes idle one cycle after it started. */
static bool skip_without_matrix(gm_loop_ws *l) {
  bool skipped = false;
  for (int i = 0; i < GM_LOOP_UNITS; i++) {
    gm_loop_unit *u = &l->units[i];
    const gm_loop *p = &l->loops[u->loop];
    const uint64_t matrix[GM_LOOP_UNITS] = {
        [GM_LOOP_LD_A] = p->a, [GM_LOOP_LD_B] = p->b, [GM_LOOP_LD_D] = p->d, [GM_LOOP_EX] = 1, [GM_LOOP_ST_C] = p->c};
    if (!u->active || matrix[i]) continue;
    u->active = false;
    skipped = true;
  }
  return skipped;
}

/* ---- Commands from the core ---- */

static bool is_loop_command(uint8_t funct) { return funct >= GM_LOOP_WS && funct <= GM_LOOP_WS_STRIDES_DC; }

/* Writes why the loop in `p` cannot be started by `c`; false if it can. */
static bool refuse(const gm_loop *p, const gm_command *c, char why[256]) {
  unsigned act = c->rs1 >> 8 & 0xff, b_id = c->rs1 >> 16 & 3;
  uint64_t a_id = c->rs1 >> 18;
  if (a_id > 2 || b_id > 2)
    snprintf(
        why, 256,
        "loop_ws: a_spad_id=%llu, b_spad_id=%u: expected half 1 or 2 of the scratchpad, or 0 for alternating loops",
        (unsigned long long)a_id, b_id);
  else if (c->rs2 >> 2 & 1)
    snprintf(why, 256, "loop_ws: is_resadd is not modelled; add with mvin into the accumulator");
  else if (act > 1)
    snprintf(why, 256, "loop_ws: activation %u (%s) is not modelled; use 0 (none) or 1 (ReLU)", act,
             act == 2   ? "layernorm"
             : act == 3 ? "i-GELU"
             : act == 4 ? "softmax"
                        : "unknown");
  else if ((c->rs2 & 3) == 3)
    snprintf(why, 256, "loop_ws: A and B cannot both be transposed; transpose one of them in memory");
  else if (!p->max_i || !p->max_j || !p->max_k)
    snprintf(why, 256,
             "loop_ws: bounds of I=%u, J=%u, K=%u tiles; each must be at least 1 (is LOOP_WS_CONFIG_BOUNDS missing?)",
             p->max_i, p->max_j, p->max_k);
  else
    return false;
  return true;
}

static void configure(gm_loop *p, const gm_command *c, int dim) {
  uint16_t pad_mask = (uint16_t)(dim - 1);
  switch (c->funct) {
  case GM_LOOP_WS_BOUNDS:
    p->max_i = (uint16_t)c->rs2, p->max_j = (uint16_t)(c->rs2 >> 16), p->max_k = (uint16_t)(c->rs2 >> 32);
    p->pad_i = (uint16_t)c->rs1 & pad_mask;
    p->pad_j = (uint16_t)(c->rs1 >> 16) & pad_mask;
    p->pad_k = (uint16_t)(c->rs1 >> 32) & pad_mask;
    break;
  case GM_LOOP_WS_ADDRS_AB: p->a = c->rs1, p->b = c->rs2; break;
  case GM_LOOP_WS_ADDRS_DC: p->d = c->rs1, p->c = c->rs2; break;
  case GM_LOOP_WS_STRIDES_AB: p->a_stride = c->rs1, p->b_stride = c->rs2; break;
  case GM_LOOP_WS_STRIDES_DC: p->d_stride = c->rs1, p->c_stride = c->rs2; break;
  default: /* GM_LOOP_WS */
    p->accumulate = c->rs1 & 1;
    p->full_c = c->rs1 >> 1 & 1;
    p->low_d = c->rs1 >> 2 & 1;
    p->b_half = c->rs1 >> 16 & 3;
    p->a_half = c->rs1 >> 18 & 3;
    p->a_transposed = c->rs2 & 1;
    p->b_transposed = c->rs2 >> 1 & 1;
  }
}

bool gm_loop_ws_step(gm_loop_ws *l, const gm_command *in, bool *take_in, bool out_ready, int ld_completed,
                     int ex_completed, int st_completed, gm_command *out, bool *from_loop, char why[256]) {
  gm_loop_pair *pair = &l->pair;
  int to_configure = gm_loop_to_configure(pair);
  bool busy = gm_loop_ws_busy(l), configures = in && is_loop_command(in->funct) && !pair->slot[to_configure].configured;
  bool changed = configures, sent = false;

  why[0] = 0;
  *take_in = false;
  if (configures && in->funct == GM_LOOP_WS && refuse(&l->loops[to_configure], in, why)) return false;
  if (ld_completed > pair->used[GM_LOOP_LOADS] || ex_completed > pair->used[GM_LOOP_EXECUTES] ||
      st_completed > pair->used[GM_LOOP_STORES]) {
    snprintf(why, 256, "loop_ws: more commands completed than the loop sent");
    return false;
  }
  if (busy) {
    const bool settled = l->settled; /* units and loops are unchanged */
    const bool retires = !settled && gm_loop_head_retires(pair);
    const int unit = !out_ready ? -1 : l->next < GM_LOOP_UNITS ? l->next : sender(l);
    unsigned idle = 0;
    if (!settled) {
      for (int i = 0; i < GM_LOOP_UNITS; i++) idle |= (unsigned)!l->units[i].active << i;
      changed |= note_completed(l);
      changed |= skip_without_matrix(l);
    }
    if ((sent = unit >= 0)) {
      *out = send(l, unit);
      *from_loop = true;
      changed |= !l->units[unit].active;
    }
    if (!settled) changed |= start_units(l, idle);
    changed |= retires;
    if (retires) gm_loop_retire_head(pair);
  } else if (in && !is_loop_command(in->funct) && out_ready) {
    *out = *in;
    *from_loop = false;
    *take_in = sent = changed = true;
  }
  if (configures) {
    configure(&l->loops[to_configure], in, l->dim);
    pair->slot[to_configure].configured = in->funct == GM_LOOP_WS;
    *take_in = true;
  }
  pair->used[GM_LOOP_LOADS] -= ld_completed;
  pair->used[GM_LOOP_EXECUTES] -= ex_completed;
  pair->used[GM_LOOP_STORES] -= st_completed;
  l->settled = !changed;
  l->next = gm_loop_ws_busy(l) ? sender(l) : -1;
  return sent;
}
