/* undefined.c - values that were never written: in registers when a wave begins, in LDS, in scratch, in memory that is
 * output only.
 *
 * Only reading such a value is not an error: compilers copy and mask values that they do not use. So each byte of a
 * register has a mask of the lanes where it is undefined, each bit of a scalar one bit; instructions propagate these
 * masks. A finding is an undefined value that decides an address, a branch, EXEC or a stored value; its place is the
 * first read of the value. Moves, masks, shifts and packing are followed byte by byte, matrix instructions by rows
 * and columns; all other instructions make their result undefined in a lane where one of their sources is. */
#include <stdio.h>
#include <string.h>

#include "target/cdna/checks/state.h"
#include "target/cdna/layout/lds.h"

typedef uint64_t bytes4[4];

/* ---- the registers ---- */

static bool is_dirty(const undefined_state *u, int first, int n) {
  return first == CDNA_SCC ? u->scc : registers_in(&u->any, first, n) != 0;
}

static void mark(undefined_state *u, int code, bool dirty, uint8_t from) {
  const uint64_t bit = 1ull << (code & 63);
  u->any.bit[code >> 6] = dirty ? u->any.bit[code >> 6] | bit : u->any.bit[code >> 6] & ~bit;
  if (from) u->origin_of[code] = from;
}

static void set_bytes(undefined_state *u, int code, int which, const uint64_t und[4], uint64_t lanes, uint8_t from) {
  if (code < CDNA_VGPRS || code >= CDNA_REGISTER_CODES) return;
  uint64_t *v = u->vector[code - CDNA_VGPRS], all = 0, new = 0;
  for (int b = 0; b < 4; b++) {
    if (which >> b & 1) v[b] = (v[b] & ~lanes) | (und[b] & lanes);
    if (which >> b & 1) new |= und[b] & lanes;
    all |= v[b];
  }
  mark(u, code, all, new ? from : 0);
}

static void set_scalar(undefined_state *u, int code, uint32_t und, uint8_t from) {
  if (code == CDNA_SCC) u->scc = und, u->origin_of[code] = from;
  if (code >= CDNA_ZERO) return;
  u->scalar[code] = und;
  mark(u, code, und, und ? from : 0);
}

void undefined_begin(cdna_wave *w) {
  undefined_state *u = &state_of(w)->undefined;
  const cdna_kernel *k = w->program->kernel;
  const int given = cdna_kernel_sgprs(k) + (int)(k->rsrc2 >> 7 & 1) + (int)(k->rsrc2 >> 8 & 1) +
                    (int)(k->rsrc2 >> 9 & 1) + (int)(k->rsrc2 >> 10 & 1) + (int)(k->rsrc2 & 1);
  memset(u->vector, 0xFF, (size_t)w->program->rows[0] * sizeof u->vector[0]);
  memset(u->vector[CDNA_ACCUMULATION], 0xFF, (size_t)w->program->rows[1] * sizeof u->vector[0]);
  memset(u->vector[0], 0, sizeof u->vector[0]);
  memset(&u->any, 0, sizeof u->any);
  memset(u->any.bit + CDNA_VGPRS / 64, 0xFF, 512 / 8);
  mark(u, CDNA_VGPRS, false, 0);
  memset(u->scalar, 0, sizeof u->scalar);
  for (int code = 0; code < CDNA_ZERO; code++) {
    const bool known = code < given || (code >= CDNA_FLAT_SCRATCH && code < CDNA_VCC) ||
                       (code >= CDNA_TTMP && code < CDNA_M0) || code > CDNA_M0;
    if (!known) set_scalar(u, code, ~0u, 0);
  }
  memset(u->origin_of, 0, sizeof u->origin_of);
  u->scc = false;
  u->n_origins = 0;
  if (u->scratch) memset(u->scratch, 1, (size_t)w->scratch_bytes * CDNA_LANES);
}

/* ---- the source of a value ---- */

static uint8_t new_origin(cdna_wave *w, int lane, const char *what) {
  undefined_state *u = &state_of(w)->undefined;
  if (u->n_origins < ORIGINS - 1) u->n_origins++;
  origin *o = &u->origin[u->n_origins];
  snprintf(o->what, sizeof o->what, "%s", what);
  o->at = (uint32_t)w->at;
  o->lane = lane;
  return (uint8_t)u->n_origins;
}

static uint8_t origin_of(cdna_wave *w, int code, uint64_t lanes) {
  undefined_state *u = &state_of(w)->undefined;
  if (code >= CDNA_REGISTER_CODES) return 0;
  if (!u->origin_of[code]) {
    char text[100], name[16];
    register_name(code, name);
    snprintf(text, sizeof text, "reads %s, which was never written", name);
    u->origin_of[code] = new_origin(w, code >= CDNA_VGPRS && lanes ? __builtin_ctzll(lanes) : -1, text);
  }
  return u->origin_of[code];
}

static void report(cdna_wave *w, uint8_t from, int lane, const char *decides) {
  const undefined_state *u = &state_of(w)->undefined;
  const origin *o = &u->origin[from];
  char place[240];
  if (found_before(w, CDNA_CHECK_UNINITIALIZED, from ? o->at : w->at)) return;
  place_name(w, w->at, place, sizeof place);
  if (!from || o->at == w->at)
    find_at(w, CDNA_CHECK_UNINITIALIZED, w->at, lane, "%s; %s depends on it", from ? o->what : "an undefined value",
            decides);
  else
    find_at(w, CDNA_CHECK_UNINITIALIZED, o->at, o->lane, "%s; %s in %s depends on it", o->what, decides, place);
}

/* ---- sources of a vector instruction ---- */

typedef struct source {
  const cdna_register_range *r; /* registers; NULL: none, or a constant */
  bytes4 und[32];               /* undefined lanes of each byte of each register, after DPP and SDWA */
  uint64_t lanes;               /* lanes in which any byte that is read is undefined */
  bool is_constant;
  uint32_t value; /* bytes of a constant or scalar */
} source;

enum { SOURCE_REGISTERS = 32 };

static const cdna_register_range *range_of(const cdna_effects *e, char role) {
  for (int r = 0; r < e->n_reads; r++)
    if (e->read[r].role == role) return &e->read[r];
  return NULL;
}

static void through_dpp(const cdna_modifiers *m, bytes4 und, uint64_t exec) {
  for (int b = 0; b < 4; b++) {
    uint64_t moved = 0;
    for (int l = 0; l < CDNA_LANES; l++) {
      const int lane = m->lane[l];
      if (lane >= 0 && exec >> lane & 1 && und[b] >> lane & 1) moved |= 1ull << l;
    }
    und[b] = moved;
  }
}

static void through_sdwa(bytes4 und, int select, bool sign) {
  bytes4 out = {0};
  if (select == 6) return;
  const int width = select < 4 ? 1 : 2, first = select < 4 ? select : 2 * (select - 4);
  for (int b = 0; b < 4; b++) out[b] = b < width ? und[first + b] : sign ? und[first + width - 1] : 0;
  memcpy(und, out, sizeof out);
}

static void read_source(cdna_wave *w, const seen *x, int s, source *out) {
  const undefined_state *u = &state_of(w)->undefined;
  const cdna_source *operand = &x->op->s[s];
  const cdna_modifiers *m =
      x->op->instruction->encoding >= CDNA_VOP2 && x->op->instruction->encoding <= CDNA_VOP3P && !x->e->mfma
          ? x->op->modifiers
          : NULL;
  memset(out, 0, sizeof *out);
  out->r = range_of(x->e, (char)('0' + s));
  if (!out->r) {
    out->is_constant = operand->kind == CDNA_CONSTANT;
    out->value = (uint32_t)operand->value;
    return;
  }
  const int bytes = m && (m->dpp || x->e->is_sdwa) ? CDNA_ALL_BYTES : out->r->bytes;
  if (out->r->first < CDNA_ZERO) {
    out->is_constant = out->r->n == 1;
    out->value = w->s[out->r->first];
  }
  for (int k = 0; k < out->r->n && k < SOURCE_REGISTERS; k++) {
    const int code = out->r->first + k;
    if (code >= CDNA_REGISTER_CODES || !is_dirty(u, code, 1)) continue;
    if (code >= CDNA_VGPRS)
      memcpy(out->und[k], u->vector[code - CDNA_VGPRS], sizeof out->und[k]);
    else
      memset(out->und[k], 0xFF, sizeof out->und[k]);
    if (m && m->dpp && s == 0) through_dpp(m, out->und[k], cdna_exec(w));
    if (m && x->e->is_sdwa && s < 2) through_sdwa(out->und[k], m->select[s], m->sign_extend >> s & 1);
    for (int b = 0; b < 4; b++)
      if (bytes >> b & 1) out->lanes |= out->und[k][b];
  }
  if (out->r->first < CDNA_ZERO && out->lanes) out->is_constant = false;
}

static uint8_t first_origin(cdna_wave *w, const seen *x) {
  undefined_state *u = &state_of(w)->undefined;
  for (int r = 0; r < x->e->n_reads; r++)
    for (int k = 0; k < x->e->read[r].n; k++) {
      const int code = x->e->read[r].first + k;
      if (code == CDNA_SCC ? u->scc : is_dirty(u, code, 1)) {
        const uint64_t *v = code >= CDNA_VGPRS && code < CDNA_REGISTER_CODES ? u->vector[code - CDNA_VGPRS] : NULL;
        const uint64_t lanes = v ? (v[0] | v[1] | v[2] | v[3]) & x->exec : 0;
        if (!v || lanes) return origin_of(w, code, lanes);
      }
    }
  return 0;
}

/* ---- byte by byte ---- */

/* {high:low} >> bits, by bytes. */
static void shifted(const bytes4 low, const bytes4 high, int bits, bytes4 out) {
  for (int b = 0; b < 4; b++) {
    out[b] = 0;
    for (int edge = 0; edge < 2; edge++) {
      const int from = (8 * b + bits + (edge ? 7 : 0)) >> 3; /* rounded down: -16 bits is treated like 16 */
      if (from >= 0 && from < 4) out[b] |= low[from];
      if (from >= 4 && from < 8) out[b] |= high[from - 4];
    }
  }
}

static void masked(const source *value, const source *mask, bytes4 out) {
  for (int b = 0; b < 4; b++)
    out[b] = mask->is_constant && !(mask->value >> 8 * b & 0xFF) ? 0 : value->und[0][b] | mask->und[0][b];
}

static void permuted(const source *s, bytes4 out) {
  for (int b = 0; b < 4; b++) {
    const uint32_t from = s[2].value >> 8 * b & 0xFF;
    const int of = from >= 8 ? (from - 8 < 4 ? (int)(2 * (from - 8) + 1) : -1) : (int)from;
    out[b] = of < 0 ? 0 : of < 4 ? s[1].und[0][of] : s[0].und[0][of - 4];
  }
}

static void united(const bytes4 a, const bytes4 b, const bytes4 c, bytes4 out) {
  for (int k = 0; k < 4; k++) out[k] = a[k] | b[k] | c[k];
}

/* Undefined bits after AND or OR: bits that are undefined in both sources, or in one where the other source does not
 * mask them. */
static void both_masked(const source *a, const source *b, bytes4 out) {
  bytes4 other;
  masked(a, b, out);
  masked(b, a, other);
  for (int k = 0; k < 4; k++) out[k] &= other[k];
}

static bool chosen(const cdna_wave *w, const seen *x, const source *s, bytes4 out) {
  const cdna_source *mask = &x->op->s[3];
  if (mask->kind != CDNA_SCALAR) return false;
  const undefined_state *u = &state_of(w)->undefined;
  const uint64_t on = cdna_scalar64(w, mask->code),
                 und = u->scalar[mask->code] | (uint64_t)u->scalar[mask->code + 1] << 32;
  for (int b = 0; b < 4; b++) out[b] = und | (s[1].und[0][b] & on) | (s[0].und[0][b] & ~on);
  return true;
}

static void inserted(const source *s, bytes4 out) {
  for (int b = 0; b < 4; b++) {
    const uint32_t part = s[0].value >> 8 * b & 0xFF;
    out[b] = !s[0].is_constant ? s[0].und[0][b] | s[1].und[0][b] | s[2].und[0][b]
                               : (part ? s[1].und[0][b] : 0) | (part != 0xFF ? s[2].und[0][b] : 0);
  }
}

static void packed(const seen *x, const source *s, bytes4 out[2]) {
  const cdna_modifiers *m = x->op->modifiers;
  const bool words = x->op->d_width == 2;
  for (int n = 0; n < 3; n++) {
    const int low = m && m->low >> n & 1, high = m ? m->high >> n & 1 : 1;
    const bytes4 *v = s[n].und;
    if (words) {
      for (int half = 0; half < 2; half++) {
        const uint64_t *from = v[(half ? high : low) && s[n].r && s[n].r->n > 1];
        for (int b = 0; b < 4; b++) out[half][b] |= from[0] | from[1] | from[2] | from[3];
      }
    } else {
      out[0][0] |= v[0][2 * low] | v[0][2 * low + 1], out[0][2] |= v[0][2 * high] | v[0][2 * high + 1];
      out[0][1] = out[0][0], out[0][3] = out[0][2];
    }
  }
}

/* Follows some instructions more precisely than lane by lane. False: not one of these instructions. */
static bool follow_bytes(const cdna_wave *w, const seen *x, const source *s, bytes4 out[2]) {
  static const bytes4 zero;
  switch ((cdna_flow)x->e->flow) {
  case CDNA_FLOW_MOVE: memcpy(out, s[0].und, 2 * sizeof *out); return true;
  case CDNA_FLOW_CHOOSE: return chosen(w, x, s, out[0]);
  case CDNA_FLOW_AND: both_masked(&s[0], &s[1], out[0]); return true;
  case CDNA_FLOW_AND_OR:
    both_masked(&s[0], &s[1], out[0]);
    united(out[0], s[2].und[0], zero, out[0]);
    return true;
  case CDNA_FLOW_OR: united(s[0].und[0], s[1].und[0], s[2].und[0], out[0]); return true;
  case CDNA_FLOW_INSERT: inserted(s, out[0]); return true;
  case CDNA_FLOW_LEFT:
    if (s[0].is_constant) shifted(s[1].und[0], zero, -(int)(s[0].value & 31), out[0]);
    return s[0].is_constant;
  case CDNA_FLOW_RIGHT:
    if (s[0].is_constant) shifted(s[1].und[0], zero, (int)(s[0].value & 31), out[0]);
    return s[0].is_constant;
  case CDNA_FLOW_LEFT_OR:
    if (!s[1].is_constant) return false;
    shifted(s[0].und[0], zero, -(int)(s[1].value & 31), out[0]);
    united(out[0], s[2].und[0], zero, out[0]);
    return true;
  case CDNA_FLOW_ALIGN_BIT:
    if (s[2].is_constant) shifted(s[1].und[0], s[0].und[0], (int)(s[2].value & 31), out[0]);
    return s[2].is_constant;
  case CDNA_FLOW_ALIGN_BYTE:
    if (s[2].is_constant) shifted(s[1].und[0], s[0].und[0], 8 * (int)(s[2].value & 3), out[0]);
    return s[2].is_constant;
  case CDNA_FLOW_WIDE_SUM: {
    /* the low half of the sum depends on the low half of the addend alone */
    const uint64_t *addend = s[2].und[0], factors = s[0].lanes | s[1].lanes;
    for (int b = 0; b < 4; b++) {
      out[0][b] = factors | addend[0] | addend[1] | addend[2] | addend[3];
      out[1][b] = factors | s[2].lanes;
    }
    return true;
  }
  case CDNA_FLOW_PERMUTE:
    if (s[2].is_constant) permuted(s, out[0]);
    return s[2].is_constant;
  case CDNA_FLOW_PACK:
    out[0][0] = out[0][1] = s[0].lanes;
    out[0][2] = out[0][3] = s[1].lanes;
    return true;
  case CDNA_FLOW_PACKED: packed(x, s, out); return true;
  default: return false;
  }
}

/* ---- classes ---- */

static void define(undefined_state *u, const seen *x) {
  static const bytes4 zero;
  for (int r = 0; r < x->e->n_writes; r++) {
    const cdna_register_range *t = &x->e->write[r];
    if (!is_dirty(u, t->first, t->n)) continue;
    for (int k = 0; k < t->n; k++) {
      if (t->first >= CDNA_VGPRS)
        set_bytes(u, t->first + k, t->bytes, zero, x->exec, 0);
      else
        set_scalar(u, t->first + k, 0, 0);
    }
  }
}

static void set_mask(cdna_wave *w, int code, uint64_t und, uint8_t from) {
  undefined_state *u = &state_of(w)->undefined;
  set_scalar(u, code, (uint32_t)und, from);
  if (code + 1 < CDNA_ZERO) set_scalar(u, code + 1, (uint32_t)(und >> 32), from);
}

/* Rows of 16 or 32 lanes of D and of source 0 are exchanged. */
static void follow_row_swap(undefined_state *u, const seen *x, const source *from_s, int rows, uint8_t from) {
  const uint64_t even = rows == 16 ? 0x0000FFFF0000FFFFull : 0xFFFFFFFFull;
  bytes4 a, b, old;
  memcpy(old, u->vector[x->op->d], sizeof old);
  for (int k = 0; k < 4; k++) {
    a[k] = (old[k] & even) | (from_s->und[0][k] & even) << rows;
    b[k] = (from_s->und[0][k] & ~even) | (old[k] & ~even) >> rows;
  }
  set_bytes(u, CDNA_VGPRS + x->op->d, 15, a, ~0ull, from);
  set_bytes(u, CDNA_VGPRS + x->op->s[0].code, 15, b, ~0ull, from);
}

/* Whole lanes are exchanged. */
static bool follow_lanes(cdna_wave *w, const seen *x, const source *s, uint8_t from) {
  undefined_state *u = &state_of(w)->undefined;
  const int d = CDNA_VGPRS + x->op->d;
  switch ((cdna_flow)x->e->flow) {
  case CDNA_FLOW_READ_LANE:
  case CDNA_FLOW_READ_FIRST: {
    const int lane = x->e->flow == CDNA_FLOW_READ_LANE ? (int)(cdna_read(w, &x->op->s[1]) & 63)
                     : cdna_exec(w)                    ? __builtin_ctzll(cdna_exec(w))
                                                       : 0;
    set_scalar(u, x->op->d, s[0].lanes >> lane & 1 ? ~0u : 0, from);
    return true;
  }
  case CDNA_FLOW_WRITE_LANE: {
    const uint64_t bit = 1ull << (cdna_read(w, &x->op->s[1]) & 63);
    const bytes4 und = {s[0].lanes, s[0].lanes, s[0].lanes, s[0].lanes};
    set_bytes(u, d, 15, und, bit, from);
    return true;
  }
  case CDNA_FLOW_SWAP: {
    bytes4 old;
    memcpy(old, u->vector[x->op->d], sizeof old);
    set_bytes(u, d, 15, s[0].und[0], x->exec, from);
    set_bytes(u, CDNA_VGPRS + x->op->s[0].code, 15, old, x->exec, from);
    return true;
  }
  case CDNA_FLOW_SWAP_16: follow_row_swap(u, x, &s[0], 16, from); return true;
  case CDNA_FLOW_SWAP_32: follow_row_swap(u, x, &s[0], 32, from); return true;
  default: return false;
  }
}

static void follow_vector(cdna_wave *w, const seen *x) {
  undefined_state *u = &state_of(w)->undefined;
  const cdna_effects *e = x->e;
  const uint8_t from = first_origin(w, x);
  source s[3];
  uint64_t lanes = 0;
  for (int n = 0; n < 3; n++) {
    read_source(w, x, n, &s[n]);
    lanes |= s[n].lanes;
  }
  if (follow_lanes(w, x, s, from)) return;
  const cdna_register_range *old = range_of(e, 'D'), *mask = range_of(e, 'C');
  for (int k = 0; old && k < old->n; k++) {
    const uint64_t *v = u->vector[(old->first + k - CDNA_VGPRS) & 511];
    lanes |= v[0] | v[1] | v[2] | v[3];
  }
  if (mask) lanes |= u->scalar[mask->first] | (uint64_t)u->scalar[mask->first + 1] << 32;
  bytes4 out[2] = {{0}};
  const bool close = follow_bytes(w, x, s, out);
  lanes &= x->exec;
  for (int r = 0; r < e->n_writes; r++) {
    const cdna_register_range *t = &e->write[r];
    const bytes4 all = {lanes, lanes, lanes, lanes};
    if (t->first == CDNA_EXEC) {
      if (lanes) report(w, from, __builtin_ctzll(lanes), "EXEC");
    } else if (t->first < CDNA_ZERO) {
      set_mask(w, t->first, lanes, from);
    } else {
      for (int k = 0; k < t->n; k++) set_bytes(u, t->first + k, t->bytes, close && k < 2 ? out[k] : all, x->exec, from);
    }
  }
}

static uint64_t bit_at(const bytes4 *und, int lane, int bit, int bits) {
  uint64_t any = 0;
  for (int b = bit / 8; b <= (bit + bits - 1) / 8; b++) any |= und[b / 4][b % 4] >> lane & 1;
  return any;
}

/* Undefined rows of A and columns of B make rows and columns of D undefined; an undefined
 * item of C makes the same item of D undefined. */
static void follow_matrix(cdna_wave *w, const seen *x) {
  undefined_state *u = &state_of(w)->undefined;
  const cdna_mfma *m = x->e->mfma;
  const uint8_t from = first_origin(w, x);
  const uint32_t *word = &w->program->word[w->at + (x->op->dwords == 4 ? 2 : 0)];
  const bool formats = m->fields == CDNA_FIELDS_FORMATS;
  const cdna_type type[] = {formats ? (cdna_type)(CDNA_FP8 + (word[0] >> 8 & 7)) : m->a,
                            formats ? (cdna_type)(CDNA_FP8 + (word[1] >> 29 & 7)) : m->b};
  static const cdna_operand operand[] = {CDNA_A, CDNA_B, CDNA_C};
  bool row[16 * 32] = {0}, column[16 * 32] = {0}, everything = false;
  cdna_fragment c;
  for (int r = 0; r < x->e->n_reads; r++) /* scales, indices */
    if ((x->e->read[r].role == CDNA_SCALE || (cdna_mfma_is_sparse(m) && x->e->read[r].role == '2')) &&
        is_dirty(u, x->e->read[r].first, x->e->read[r].n))
      everything = true;
  source s[3];
  for (int n = 0; n < 3; n++) read_source(w, x, n, &s[n]);
  for (int side = 0; side < 2; side++) {
    cdna_fragment f;
    if (!s[side].lanes || !cdna_fragment_of(m, operand[side], type[side], &f)) continue;
    for (int l = 0; l < CDNA_LANES; l++)
      for (int item = 0; item < f.items && s[side].lanes >> l & 1; item++) {
        if (!bit_at(s[side].und, l, cdna_item_bit(&f, item), f.bits)) continue;
        const cdna_position at = cdna_fragment_position(&f, (cdna_slot){l, item});
        (side ? column : row)[at.block * 32 + (side ? at.column : at.row)] = true;
      }
  }
  const cdna_register_range *d = &x->e->write[0], *old = range_of(x->e, 'D');
  bytes4 out[32];
  memset(out, 0, sizeof out);
  if (!cdna_fragment_of(m, CDNA_C, m->c, &c)) return;
  for (int k = 0; k < d->n && k < 32; k++) {
    const uint64_t *v = old ? u->vector[(old->first + k - CDNA_VGPRS) & 511] : s[2].und[k];
    memcpy(out[k], everything ? (const bytes4){~0ull, ~0ull, ~0ull, ~0ull} : v, sizeof out[k]);
  }
  for (int l = 0; l < CDNA_LANES; l++)
    for (int item = 0; item < c.items; item++) {
      const cdna_position at = cdna_fragment_position(&c, (cdna_slot){l, item});
      if (!row[at.block * 32 + at.row] && !column[at.block * 32 + at.column]) continue;
      for (int b = item * c.bits / 8; b < (item + 1) * c.bits / 8 && b / 4 < 32; b++) out[b / 4][b % 4] |= 1ull << l;
    }
  for (int k = 0; k < d->n && k < 32; k++) set_bytes(u, d->first + k, 15, out[k], ~0ull, from);
}

/* ---- scalar instructions ---- */

static uint64_t scalar_und(const undefined_state *u, const cdna_source *s) {
  if (s->kind != CDNA_SCALAR) return 0;
  return s->width == 2 ? u->scalar[s->code] | (uint64_t)u->scalar[s->code + 1] << 32 : u->scalar[s->code];
}

/* Undefined bits of a result: each depends on the same bit of the sources. */
static uint64_t follow_bits(const cdna_wave *w, const undefined_state *u, const seen *x) {
  const cdna_source *s = x->op->s;
  const uint64_t ua = scalar_und(u, &s[0]), ub = scalar_und(u, &s[1]);
  const uint64_t a = s[0].kind ? cdna_read(w, &s[0]) : 0, b = s[1].kind ? cdna_read(w, &s[1]) : 0;
  switch ((cdna_flow)x->e->flow) {
  case CDNA_FLOW_MOVE: return ua;
  case CDNA_FLOW_AND: return (ua & ub) | (ua & b) | (ub & a);
  case CDNA_FLOW_AND_NOT: return (ua & ub) | (ua & ~b) | (ub & a);
  case CDNA_FLOW_OR: return (ua & ub) | (ua & ~b) | (ub & ~a);
  case CDNA_FLOW_OR_NOT: return (ua & ub) | (ua & b) | (ub & ~a);
  case CDNA_FLOW_XOR: return ua | ub;
  case CDNA_FLOW_CHOOSE: return u->scc ? ~0ull : w->scc ? ua : ub;
  default: return ~0ull;
  }
}

static void follow_scalar(cdna_wave *w, const seen *x) {
  undefined_state *u = &state_of(w)->undefined;
  const uint8_t from = first_origin(w, x);
  const cdna_source *s = x->op->s;
  if (x->e->klass == CDNA_CLASS_BRANCH) {
    const uint64_t vcc = u->scalar[CDNA_VCC] | (uint64_t)u->scalar[CDNA_VCC + 1] << 32;
    const bool decided = x->e->traits & CDNA_READS_VCC && cdna_scalar64(w, CDNA_VCC) & ~vcc;
    if (!decided) report(w, from, -1, "the next instruction");
    u->scc = x->e->traits & CDNA_READS_SCC ? false : u->scc;
    return;
  }
  const bool known = s[0].kind != CDNA_SPECIAL && s[1].kind != CDNA_SPECIAL;
  const uint64_t und = known ? follow_bits(w, u, x) : ~0ull;
  for (int r = 0; r < x->e->n_writes; r++) {
    const cdna_register_range *t = &x->e->write[r];
    const bool mask = t->first == CDNA_EXEC;
    if (mask && und) report(w, from, -1, "EXEC");
    for (int k = 0; k < t->n && !mask; k++)
      set_scalar(u, t->first + k, t->first == CDNA_SCC ? und != 0 : (uint32_t)(und >> 32 * (k & 1)), from);
  }
}

/* ---- memory ---- */

/* Is any of n bytes set? */
static inline bool is_any_set(const uint8_t *bytes, uint32_t n) {
  uint64_t a = 0, b = 0;
  if (n == 4) {
    memcpy(&a, bytes, 4);
  } else if (n == 8 || n == 16) {
    memcpy(&a, bytes, 8);
    memcpy(&b, bytes + n - 8, 8);
  } else {
    for (uint32_t k = 0; k < n; k++) a |= bytes[k];
  }
  return a | b;
}

/* Undefined bytes of the memory that lane l accesses: bit b of the result. */
static uint32_t memory_und(cdna_wave *w, const seen *x, int space, int part, int l) {
  const group_state *g = w->group->observed;
  const undefined_state *u = &state_of(w)->undefined;
  const uint64_t at = x->access.address[part][l];
  uint32_t und = 0;
  const uint8_t *bytes = NULL;
  if (space == CDNA_IN_LDS && at < g->lds_bytes && x->access.bytes <= g->lds_bytes - at) bytes = g->lds_undefined + at;
  if (space == CDNA_IN_SCRATCH && at < w->scratch_bytes && x->access.bytes <= w->scratch_bytes - at)
    bytes = u->scratch + (size_t)l * w->scratch_bytes + at;
  if (bytes) {
    const uint32_t n = x->access.bytes;
    if (!is_any_set(bytes, n)) return 0;
    for (uint32_t k = 0; k < n; k++) und |= (uint32_t)(bytes[k] != 0) << k;
  } else if (space == CDNA_IN_GLOBAL) {
    bool given;
    const _Atomic(uint32_t) *owner = owners_of(w, at, x->access.bytes, &given);
    for (uint32_t k = 0; owner && !given && k < x->access.bytes; k++)
      und |= (uint32_t)(!atomic_load_explicit(&owner[k], memory_order_relaxed)) << k;
  }
  return und;
}

static uint8_t memory_origin(cdna_wave *w, const seen *x, int space, int part, int l) {
  char text[260], where[200];
  if (space == CDNA_IN_GLOBAL)
    cdna_memory_describe(w->group->memory, x->access.address[part][l], where, sizeof where);
  else
    snprintf(where, sizeof where, "%s at %llu", space == CDNA_IN_LDS ? "LDS" : "scratch",
             (unsigned long long)x->access.address[part][l]);
  snprintf(text, sizeof text, "reads %s, which was never written", where);
  return new_origin(w, l, text);
}

/* Bytes out of bounds count as defined: the emulator stops the run there. */
static bool are_lds_bytes_defined(const group_state *g, const cdna_access *a) {
  for (int part = 0; part < a->parts; part++)
    for (uint64_t left = a->lanes[CDNA_IN_LDS]; left; left &= left - 1) {
      const uint64_t at = a->address[part][__builtin_ctzll(left)];
      if (at < g->lds_bytes && a->bytes <= g->lds_bytes - at && is_any_set(g->lds_undefined + at, a->bytes))
        return false;
    }
  return true;
}

/* The usual case: LDS without undefined bytes, or an input. */
static bool is_surely_defined(const cdna_wave *w, const seen *x) {
  const group_state *g = w->group->observed;
  const cdna_access *a = &x->access;
  const cdna_memory *m = w->group->memory;
  if (a->lanes[CDNA_IN_SCRATCH]) return false;
  if (a->lanes[CDNA_IN_LDS] && !g->lds_defined && !are_lds_bytes_defined(g, a)) return false;
  if (!a->lanes[CDNA_IN_GLOBAL]) return true;
  const uint64_t first = a->address[0][__builtin_ctzll(a->lanes[CDNA_IN_GLOBAL])];
  size_t i = 0;
  while (i < m->n && first - m->allocation[i].address >= m->allocation[i].size) i++;
  if (i == m->n || (g->checker->owner[i] && m->allocation[i].undefined)) return false;
  for (uint64_t left = a->lanes[CDNA_IN_GLOBAL]; left; left &= left - 1)
    if (a->address[0][__builtin_ctzll(left)] - m->allocation[i].address >= m->allocation[i].size) return false;
  return true;
}

/* Undefined lanes of the loaded bytes, as in a register: und[register][byte]. True if any byte is undefined. */
static bool fetch(cdna_wave *w, const seen *x, bytes4 und[8], uint8_t *from) {
  const int dwords = (x->access.bytes + 3) / 4;
  bool any = false;
  if (is_surely_defined(w, x)) return false;
  memset(und, 0, 8 * sizeof *und);
  for (int space = 0; space < CDNA_SPACES; space++)
    for (int part = 0; part < x->access.parts; part++)
      for (uint64_t left = x->access.lanes[space]; left; left &= left - 1) {
        const int l = __builtin_ctzll(left);
        const uint32_t bits = memory_und(w, x, space, part, l);
        if (!bits) continue;
        if (!any) *from = memory_origin(w, x, space, part, l);
        any = true;
        for (uint32_t b = 0; b < x->access.bytes; b++)
          if (bits >> b & 1) und[part * dwords + (int)b / 4][b % 4] |= 1ull << l;
      }
  return any;
}

static void transpose(const seen *x, bytes4 und[8]) {
  const cdna_lds_instruction *i = x->e->lds;
  if (!i || !i->transposed_bits) return;
  const int bits = i->transposed_bits, dwords = i->bytes / 4, items = bits == 6 ? 16 : 64 / bits, step = bits / 8;
  bytes4 out[8] = {{0}};
  for (int l = 0; l < CDNA_LANES; l++)
    for (int n = 0; n < items; n++) {
      if (bits < 8) { /* a byte holds items of several lanes: undefined in any of the 16 lanes */
        for (int k = 0; k < dwords; k++)
          for (int b = 0; b < 4; b++)
            if (und[k][b] >> (l & 48) & 0xFFFF) out[k][b] |= 1ull << l;
        continue;
      }
      const cdna_lds_source from = cdna_lds_transposed(items, l, n);
      for (int b = 0; b < step; b++) {
        const int at = from.item * step + b, to = n * step + b;
        if (und[at / 4][at % 4] >> from.lane & 1) out[to / 4][to % 4] |= 1ull << l;
      }
    }
  memcpy(und, out, sizeof out);
}

/* One or two bytes in a register: in the lower or upper half, with their extension. */
static void extend(const seen *x, bytes4 und) {
  if (x->access.bytes >= 4) return;
  const uint64_t sign = x->access.bytes == 1 ? und[0] : und[1];
  const bool is_signed = x->e->traits & CDNA_SIGNED;
  const bool high = x->e->n_writes && x->e->write[0].bytes == 12;
  if (x->access.bytes == 1) und[1] = is_signed ? sign : 0;
  und[2] = und[3] = is_signed ? sign : 0;
  if (high) und[2] = und[0], und[3] = und[1];
}

static inline void store_undefined(cdna_wave *w, const seen *x, int space, int part, int l, uint32_t und) {
  group_state *g = w->group->observed;
  undefined_state *u = &state_of(w)->undefined;
  const uint64_t at = x->access.to_lds ? x->access.lds[l] : x->access.address[part][l];
  const uint32_t n = x->access.to_lds && x->access.bytes < 4 ? 4 : x->access.bytes;
  uint8_t *bytes = NULL;
  if (space == CDNA_IN_LDS && at < g->lds_bytes && n <= g->lds_bytes - at) bytes = g->lds_undefined + at;
  if (space == CDNA_IN_SCRATCH && at < w->scratch_bytes && n <= w->scratch_bytes - at)
    bytes = u->scratch + (size_t)l * w->scratch_bytes + at;
  if (!bytes) return;
  switch (und ? 0 : n) {
  case 2: memset(bytes, 0, 2); break;
  case 4: memset(bytes, 0, 4); break;
  case 8: memset(bytes, 0, 8); break;
  case 16: memset(bytes, 0, 16); break;
  default:
    for (uint32_t b = 0; b < n; b++) bytes[b] = und >> b & 1;
  }
}

/* Undefined bytes of lane l's data of a store; bit b is byte b. */
static uint32_t data_und(const undefined_state *u, const seen *x, const cdna_register_range *r, int l) {
  const int first = r->bytes == 12 ? 2 : 0;
  uint32_t und = 0;
  for (uint32_t b = 0; b < x->access.bytes; b++) {
    const int at = (int)b + first, code = r->first + at / 4 - CDNA_VGPRS;
    if (code >= 0 && code < 512) und |= (uint32_t)(u->vector[code][at % 4] >> l & 1) << b;
  }
  return und;
}

static void store(cdna_wave *w, const seen *x) {
  undefined_state *u = &state_of(w)->undefined;
  group_state *g = w->group->observed;
  static const char data[] = "WX";
  for (int part = 0; part < x->access.parts && data[part]; part++) {
    const cdna_register_range *r = range_of(x->e, data[part]);
    if (!r) continue;
    const bool dirty = is_dirty(u, r->first, r->n);
    if (!dirty && x->access.lanes[CDNA_IN_LDS] && g->lds_defined && !x->access.lanes[CDNA_IN_SCRATCH]) continue;
    if (dirty && x->access.lanes[CDNA_IN_LDS]) g->lds_defined = false;
    for (int space = 0; space < CDNA_SPACES; space++)
      for (uint64_t left = x->access.lanes[space]; left; left &= left - 1) {
        const int l = __builtin_ctzll(left);
        const uint32_t und = dirty ? data_und(u, x, r, l) : 0;
        if (space != CDNA_IN_GLOBAL) {
          store_undefined(w, x, space, part, l, und);
        } else if (und) {
          report(w, origin_of(w, r->first + __builtin_ctz(und) / 4, 1ull << l), l, "the stored value");
          return;
        } else if (!dirty) {
          break;
        }
      }
  }
}

static bool load(cdna_wave *w, const seen *x) {
  undefined_state *u = &state_of(w)->undefined;
  bytes4 und[8];
  uint8_t from = 0;
  const bool any = fetch(w, x, und, &from);
  if (x->access.to_lds) {
    if (any) ((group_state *)w->group->observed)->lds_defined = false;
    for (uint64_t left = x->exec; left; left &= left - 1) {
      const int l = __builtin_ctzll(left);
      uint32_t bits = 0;
      for (uint32_t b = 0; any && b < x->access.bytes; b++) bits |= (uint32_t)(und[b / 4][b % 4] >> l & 1) << b;
      store_undefined(w, x, CDNA_IN_LDS, 0, l, bits);
    }
    return true;
  }
  if (!any || !x->e->n_writes) return false;
  const cdna_register_range *t = &x->e->write[0];
  if (x->access.scalar) {
    for (int k = 0; k < t->n && k < 8; k++)
      set_scalar(u, t->first + k, und[k][0] | und[k][1] | und[k][2] | und[k][3] ? ~0u : 0, from);
    return true;
  }
  transpose(x, und);
  extend(x, und[0]);
  for (int k = 0; k < t->n && k < 8; k++) set_bytes(u, t->first + k, t->bytes, und[k], x->exec, from);
  return true;
}

/* Lanes that are exchanged through the crossbar of LDS. */
static void follow_crossbar(cdna_wave *w, const seen *x) {
  undefined_state *u = &state_of(w)->undefined;
  const cdna_flow flow = (cdna_flow)x->e->flow;
  const cdna_register_range *a = range_of(x->e, 'A'), *d = range_of(x->e, 'W'), *t = &x->e->write[0];
  const uint8_t from = first_origin(w, x);
  bytes4 out = {0};
  if (!a || !x->e->n_writes) return;
  const uint64_t *address = u->vector[a->first - CDNA_VGPRS], *data = u->vector[(d ? d : a)->first - CDNA_VGPRS];
  const uint32_t *value = w->v[a->first - CDNA_VGPRS], o = (uint32_t)x->op->imm & 0xFFFF;
  for (uint64_t left = x->exec; left; left &= left - 1) {
    const int l = __builtin_ctzll(left);
    int lane = (int)((value[l] + o) >> 2 & 63), to = l;
    if (flow == CDNA_FLOW_PUSH) to = lane, lane = l;
    if (flow == CDNA_FLOW_SWIZZLE)
      lane = o >> 15 ? (l & ~3) | (int)(o >> 2 * (l & 3) & 3)
                     : (l & 32) | (((l & 31 & (int)(o & 31)) | (int)(o >> 5 & 31)) ^ (int)(o >> 10 & 31));
    const bool lost = d && (address[0] | address[1] | address[2] | address[3]) >> l & 1;
    for (int b = 0; b < 4; b++)
      if (lost || (x->exec >> lane & 1 && data[b] >> lane & 1)) out[b] |= 1ull << to;
  }
  set_bytes(u, t->first, 15, out, x->exec, from);
}

/* Checks addresses and their descriptors, and M0 of loads to LDS. */
static bool check_address(cdna_wave *w, const seen *x) {
  undefined_state *u = &state_of(w)->undefined;
  for (int r = 0; r < x->e->n_reads; r++) {
    const cdna_register_range *t = &x->e->read[r];
    const bool address =
        t->role == 'A' || t->role == 'B' || t->role == 'O' || (t->role == CDNA_IMPLIED && t->first == CDNA_M0);
    if (!address || !is_dirty(u, t->first, t->n)) continue;
    for (int k = 0; k < t->n; k++) {
      const int code = t->first + k;
      if (!is_dirty(u, code, 1)) continue;
      uint64_t lanes = x->exec;
      if (code >= CDNA_VGPRS) {
        const uint64_t *v = u->vector[code - CDNA_VGPRS];
        lanes &= v[0] | v[1] | v[2] | v[3];
      }
      if (!lanes) continue;
      report(w, origin_of(w, code, lanes), __builtin_ctzll(lanes), "an address");
      return false;
    }
  }
  return true;
}

static void follow_memory(cdna_wave *w, const seen *x, bool dirty) {
  undefined_state *u = &state_of(w)->undefined;
  const bool crossbar = x->e->klass == CDNA_CLASS_LDS && !x->e->access;
  if (crossbar) {
    define(u, x);
    if (dirty) follow_crossbar(w, x);
    return;
  }
  if (dirty && !check_address(w, x)) return;
  bool set = false;
  if (x->reaches && x->access.reads) set = load(w, x);
  if (!set) define(u, x);
  if (x->reaches && x->access.writes && !x->access.scalar) store(w, x);
}

void undefined_before(cdna_wave *w, const seen *x) {
  undefined_state *u = &state_of(w)->undefined;
  const cdna_effects *e = x->e;
  /* VALU instructions may write scalars, and inactive lanes */
  if (!x->exec && e->klass > CDNA_CLASS_TRANS && !e->mfma) return;
  bool dirty = false;
  for (int r = 0; r < e->n_reads && !dirty; r++) dirty = is_dirty(u, e->read[r].first, e->read[r].n);
  switch ((cdna_class)e->klass) {
  case CDNA_CLASS_SMEM:
  case CDNA_CLASS_LDS:
  case CDNA_CLASS_VMEM: follow_memory(w, x, dirty); return;
  default: break;
  }
  if (!dirty)
    define(u, x);
  else if (e->mfma)
    follow_matrix(w, x);
  else if (e->klass == CDNA_CLASS_VALU || e->klass == CDNA_CLASS_TRANS)
    follow_vector(w, x);
  else if (e->klass == CDNA_CLASS_SALU || e->klass == CDNA_CLASS_BRANCH)
    follow_scalar(w, x);
}
