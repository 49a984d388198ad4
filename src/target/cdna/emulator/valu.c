/* valu.c - vector instructions of one wave: operands to rows, modifiers, the lane function, and the lanes that EXEC
 * lets be written. Modifiers (negation, DPP, SDWA, op_sel, clamp, ...) are rare; an op without modifiers takes a
 * shorter path. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/strings.h"
#include "target/cdna/emulator/emulator.h"
#include "target/cdna/lanes/half.h"

const uint32_t *cdna_mask(cdna_wave *w) {
  const uint64_t exec = cdna_exec(w);
  if (exec != w->row_exec) {
    w->kit->expand(w->mask, exec);
    w->row_exec = exec;
  }
  return w->mask;
}

uint64_t cdna_special(const cdna_wave *w, int code) {
  switch (code) {
  case CDNA_VCCZ: return !cdna_scalar64(w, CDNA_VCC);
  case CDNA_EXECZ: return !cdna_exec(w);
  case CDNA_SCC: return w->scc;
  case CDNA_APERTURES: return 1ull << 48; /* shared: base, limit; then private */
  case CDNA_APERTURES + 1: return (1ull << 48) + 0xFFFFFFFFu;
  case CDNA_APERTURES + 2: return 2ull << 48;
  case CDNA_APERTURES + 3: return (2ull << 48) + 0xFFFFFFFFu;
  default: return 0;
  }
}

/* A scalar's rows stay until another scalar needs their place. */
static const uint32_t *scalar_rows(cdna_wave *w, const cdna_source *s, int slot) {
  const int first = s->code % CDNA_BROADCASTS;
  for (int k = first; k < first + s->width; k++) {
    const uint32_t value = w->s[s->code + k - first];
    if (w->broadcast[slot][k] == value) continue;
    w->kit->broadcast(w->broadcasts[slot][k], value);
    w->broadcast[slot][k] = value;
  }
  return w->broadcasts[slot][first];
}

const uint32_t *cdna_rows(cdna_wave *w, const cdna_source *s, int slot) {
  if (s->kind == CDNA_ROW) return w->v[s->code];
  if (s->kind == CDNA_CONSTANT) return s->row;
  if (s->kind == CDNA_SCALAR && s->code % CDNA_BROADCASTS + s->width <= CDNA_BROADCASTS) return scalar_rows(w, s, slot);
  uint32_t *row = w->temporary[slot];
  const uint64_t value = cdna_read(w, s);
  w->kit->broadcast(row, (uint32_t)value);
  if (s->width == 2) w->kit->broadcast(row + CDNA_LANES, (uint32_t)(value >> 32));
  return row;
}

/* ---- modifiers ---- */

/* The part that SDWA or op_sel selects of source s, with its sign, absolute value and negation. */
static cdna_adjustment adjustment_of(const cdna_modifiers *m, int s) {
  const int select = m->half_result && m->low >> s & 1 ? 5 : m->select[s];
  const int bits = select < 4 ? 8 : select < 6 ? 16 : 32, from = select < 4 ? 8 * select : select == 5 ? 16 : 0;
  const uint32_t sign = m->kinds[s] == 16 ? 0x8000u : 0x80000000u;
  return (cdna_adjustment){.left = 32 - bits - from,
                           .right = 32 - bits,
                           .is_signed = m->sign_extend >> s & 1,
                           .keep = m->absolute >> s & 1 ? ~sign : ~0u,
                           .flip = m->negate >> s & 1 ? sign : 0};
}

/* VOP3P on 16 bits: low and high halves of the result read the halves that op_sel and op_sel_hi name. */
static void pack_halves(uint32_t *row, const cdna_modifiers *m, int s) {
  const int low = m->low >> s & 1 ? 16 : 0, high = m->high >> s & 1 ? 16 : 0;
  const uint32_t flip = (m->negate >> s & 1 ? 0x8000u : 0) | (m->negate_high >> s & 1 ? 0x80000000u : 0);
  for (int l = 0; l < CDNA_LANES; l++) row[l] = ((row[l] >> low & 0xFFFF) | (row[l] >> high & 0xFFFF) << 16) ^ flip;
}

/* Packed f32: the two dwords that op_sel and op_sel_hi name. */
static void choose_words(cdna_wave *w, const cdna_op *op, int s, const uint32_t *from, cdna_lanes *x) {
  const cdna_modifiers *m = op->modifiers;
  const uint32_t sign = 0x80000000u;
  uint32_t *row = w->temporary[s];
  x->s[s] = from + (m->low >> s & 1 ? CDNA_LANES : 0);
  x->upper[s] = from + (m->high >> s & 1 ? CDNA_LANES : 0);
  if (!((m->negate | m->negate_high) >> s & 1)) return;
  uint32_t low[CDNA_LANES]; /* `from` may be `row` */
  w->kit->adjust(low, x->s[s], &(cdna_adjustment){.keep = ~0u, .flip = m->negate >> s & 1 ? sign : 0});
  w->kit->adjust(row + CDNA_LANES, x->upper[s],
                 &(cdna_adjustment){.keep = ~0u, .flip = m->negate_high >> s & 1 ? sign : 0});
  memcpy(row, low, sizeof low);
  x->s[s] = row;
  x->upper[s] = row + CDNA_LANES;
}

/* v_fma_mix: an f32, or with op_sel_hi the half of an f16 that op_sel names; here neg_hi is the absolute value.
 * Denormals of a half are flushed by the mode of halves, not by that of f32. */
static void mix(uint32_t *row, const cdna_modifiers *m, uint32_t mode, int s) {
  enum { DENORMAL_INPUTS_16 = 1 << 6 };
  const bool half = m->high >> s & 1, flush = !(mode & DENORMAL_INPUTS_16);
  const int shift = m->low >> s & 1 ? 16 : 0;
  for (int l = 0; l < CDNA_LANES; l++) {
    uint32_t v = row[l];
    if (half) {
      const uint32_t h = v >> shift & 0xFFFF;
      v = tw_bits_of(cdna_half_value_kept(flush && !(h & 0x7C00) ? h & 0x8000 : h));
    }
    if (m->negate_high >> s & 1) v &= 0x7FFFFFFFu;
    if (m->negate >> s & 1) v ^= 0x80000000u;
    row[l] = v;
  }
}

static void move_lanes(const cdna_modifiers *m, uint64_t exec, const uint32_t *from, uint32_t *row) {
  uint32_t moved[CDNA_LANES]; /* `from` may be `row` */
  for (int l = 0; l < CDNA_LANES; l++) {
    const int lane = m->lane[l];
    const bool on = lane >= 0 && exec >> lane & 1;
    moved[l] = on ? from[lane] : 0;
  }
  memcpy(row, moved, sizeof moved);
}

/* Sets source s to its rows after modifiers. */
static void modify(cdna_wave *w, const cdna_op *op, int s, cdna_lanes *x) {
  const cdna_modifiers *m = op->modifiers;
  const cdna_source *source = &op->s[s];
  const uint32_t *from = cdna_rows(w, source, s);
  uint32_t *row = w->temporary[s];
  const int n = source->width < 1 ? 1 : source->width > CDNA_ROWS_MAX ? CDNA_ROWS_MAX : source->width;
  if (m->dpp && s == 0) {
    for (int r = 0; r < n; r++) move_lanes(m, cdna_exec(w), from + r * CDNA_LANES, row + r * CDNA_LANES);
    from = row;
  }
  x->s[s] = from;
  if (m->packed && !m->mix && source->width == 2) {
    choose_words(w, op, s, from, x);
    return;
  }
  if (!m->mix && !m->packed && !m->changes[s]) return;
  const int whole = m->mix || m->packed ? n : m->kinds[s] == 64; /* rows that are copied first */
  if (from != row && whole) memcpy(row, from, (size_t)whole * CDNA_LANES * sizeof *row);
  x->s[s] = row;
  if (m->mix)
    mix(row, m, w->mode, s);
  else if (m->packed)
    pack_halves(row, m, s);
  else
    w->kit->adjust(row + whole * CDNA_LANES, from + whole * CDNA_LANES, &m->part[s]);
}

/* Clamp and scale of a result. A scaled result is flushed: denormals and -0 become 0. A clamped NaN becomes 0 with
 * DX10_CLAMP, otherwise it stays. */
typedef struct finish {
  bool scale, clamp, zero_nan;
  double factor, least; /* normal number */
} finish;

static double finished(double v, const finish *f) {
  if (f->scale) {
    v *= f->factor;
    if (fabs(v) < f->least) v = 0;
  }
  if (!f->clamp || (v != v && !f->zero_nan)) return v;
  return v > 0 ? v < 1 ? v : 1 : 0;
}
static uint32_t finished16(uint32_t half, const finish *f) {
  return cdna_half_bits((float)finished((double)cdna_half_value(half & 0xFFFF), f));
}

static void finish_result(cdna_wave *w, const cdna_op *op, uint32_t *d) {
  static const double factor[] = {1, 2, 4, 0.5};
  const cdna_modifiers *m = op->modifiers;
  /* output scales are ignored if IEEE is on or results may be denormal */
  const bool denormal = w->mode & (m->result_kind == 32 ? CDNA_MODE_DENORMAL_32 : CDNA_MODE_DENORMAL);
  const finish f = {.scale = m->output_scale && !(w->mode & CDNA_MODE_IEEE) && !denormal,
                    .clamp = m->clamp,
                    .zero_nan = w->mode & CDNA_MODE_DX10_CLAMP,
                    .factor = factor[m->output_scale],
                    .least = m->result_kind == 16   ? 0x1p-14
                             : m->result_kind == 32 ? 0x1p-126
                                                    : 0x1p-1022};
  if (!f.scale && !f.clamp) {
  } else if (m->result_kind == 32) {
    for (int l = 0; l < CDNA_LANES * (op->d_width == 2 ? 2 : 1); l++)
      d[l] = tw_bits_of((float)finished((double)tw_float_of(d[l]), &f));
  } else if (m->result_kind == 16) {
    for (int l = 0; l < CDNA_LANES; l++)
      d[l] = finished16(d[l], &f) | (m->packed ? finished16(d[l] >> 16, &f) << 16 : d[l] & 0xFFFF0000u);
  } else if (m->result_kind == 64) {
    for (int l = 0; l < CDNA_LANES; l++) {
      uint64_t bits = d[l] | (uint64_t)d[l + CDNA_LANES] << 32;
      double v;
      memcpy(&v, &bits, sizeof v);
      v = finished(v, &f);
      memcpy(&bits, &v, sizeof v);
      d[l] = (uint32_t)bits;
      d[l + CDNA_LANES] = (uint32_t)(bits >> 32);
    }
  }
  const uint32_t *old = w->v[op->d];
  if (m->half_of_mix)
    for (int l = 0; l < CDNA_LANES; l++) {
      const uint32_t half = cdna_half_bits(tw_float_of(d[l]));
      d[l] = m->half_of_mix == 1 ? (old[l] & 0xFFFF0000u) | half : (old[l] & 0xFFFF) | half << 16;
    }
  if (m->half_result && m->low >> 3 & 1) /* op_sel of the result: writes its upper half */
    for (int l = 0; l < CDNA_LANES; l++) d[l] = (old[l] & 0xFFFF) | d[l] << 16;
  if (m->result_select < 6) {
    const int shift = m->result_select < 4 ? 8 * m->result_select : 16 * (m->result_select - 4);
    const uint32_t part = m->result_select < 4 ? 0xFF : 0xFFFF;
    for (int l = 0; l < CDNA_LANES; l++) {
      const uint32_t v = d[l] & part;
      const bool sign = m->result_unused == 1 && v > part / 2;
      const uint32_t rest = m->result_unused == 2 ? old[l] & ~(part << shift)
                            : sign                ? (uint32_t)(~(uint64_t)part << shift)
                                                  : 0;
      d[l] = v << shift | rest;
    }
  }
}

/* ---- execution ---- */

static void write_mask(cdna_wave *w, const cdna_op *op, uint64_t out, uint64_t on) {
  /* comparisons clear the bits of inactive lanes; so do carries */
  cdna_set_scalar64(w, op->sd, out & on);
}

/* flags */
enum { TO_EXEC = 1, READS_MASK = 2, KEEPS_HIGH = 4, REAL = 8, WIDE_MODE = 16, SHORT = 32 };

/* Prepares further inputs for functions that use more than the rows of their sources. */
static void prepare(cdna_wave *w, const cdna_op *op, cdna_lanes *x) {
  x->imm = (uint32_t)op->imm;
  x->mode = w->mode;
  x->arch = w->program->object->arch;
  if (op->flags & READS_MASK) x->in = cdna_read(w, &op->s[3]);
  if (op->lanes->keeps) x->old = w->v[op->d];
}

/* The usual sources, without a call. */
static inline const uint32_t *source_rows(cdna_wave *w, const cdna_op *op, int s) {
  const cdna_source *from = &op->s[s];
  return from->kind == CDNA_ROW ? w->v[from->code] : from->kind == CDNA_CONSTANT ? from->row : cdna_rows(w, from, s);
}

static inline void run_short(cdna_wave *w, const cdna_op *op, cdna_lanes *x) {
  for (int s = 0; s < 3; s++) {
    x->s[s] = source_rows(w, op, s);
    x->upper[s] = x->s[s] + CDNA_LANES;
  }
  x->imm = (uint32_t)op->imm;
  if (cdna_exec(w) == ~0ull) {
    x->d = w->v[op->d];
    op->lanes->run(x);
  } else {
    x->d = w->temporary[3];
    op->lanes->run(x);
    w->kit->blend(w->v[op->d], x->d, cdna_mask(w), op->d_width);
  }
}

/* Lanes that DPP writes: other lanes have nothing to read. */
static uint64_t dpp_lanes_of(const cdna_modifiers *m, uint64_t exec) {
  uint64_t valid = 0;
  for (int l = 0; l < CDNA_LANES && !m->bound_control; l++)
    if (m->lane[l] >= 0 && exec >> m->lane[l] & 1) valid |= 1ull << l;
  return exec & m->dpp_enabled & (m->bound_control ? ~0ull : valid);
}

/* Writes the lanes that are on. */
static void write_lanes(cdna_wave *w, const cdna_op *op, uint32_t *d, uint64_t on) {
  uint32_t own[CDNA_LANES];
  const uint32_t *mask = cdna_mask(w);
  if (op->modifiers) finish_result(w, op, d);
  if (op->flags & KEEPS_HIGH)
    for (int l = 0; l < CDNA_LANES; l++) d[l] = (w->v[op->d][l] & 0xFFFF0000u) | (d[l] & 0xFFFF);
  if (on != w->row_exec) w->kit->expand(own, on), mask = own;
  w->kit->blend(w->v[op->d], d, mask, op->d_width);
}

static void run_long(cdna_wave *w, const cdna_op *op) {
  cdna_lanes x = {.d = w->temporary[3]};
  uint64_t on = cdna_exec(w);
  const cdna_modifiers *m = op->modifiers;
  const cdna_result result = (cdna_result)op->lanes->result;
  for (int s = 0; s < 3; s++) {
    if (op->s[s].kind == CDNA_NONE) continue;
    if (m)
      modify(w, op, s, &x);
    else
      x.s[s] = source_rows(w, op, s), x.upper[s] = x.s[s] + CDNA_LANES;
  }
  prepare(w, op, &x);
  if (m && m->dpp) on = dpp_lanes_of(m, on);
  /* With more than two rows, rows that are written first may be sources of later ones. */
  const bool whole =
      on == ~0ull && !op->lanes->keeps && !(op->flags & KEEPS_HIGH) && op->d_width <= 2 && (!m || m->plain_result);
  if (whole) x.d = w->v[op->d];
  op->lanes->run(&x);
  if (!whole && result != CDNA_MASK) write_lanes(w, op, x.d, on);
  if (result == CDNA_D) return;
  write_mask(w, op, x.out, on);
  if (op->flags & TO_EXEC) cdna_set_scalar64(w, CDNA_EXEC, x.out & on);
}

/* MODE in the host's form: rounding, flush-to-zero and denormals-are-zero of MXCSR, for one instruction. */
#if defined(__x86_64__)
#include <xmmintrin.h>
static void run_in_mode(cdna_wave *w, const cdna_op *op) {
  const bool wide = op->flags & WIDE_MODE;
  const uint32_t round = w->mode >> (wide ? 2 : 0) & 3, denormals = w->mode >> (wide ? 6 : 4) & 3;
  static const unsigned rounding[] = {0x0000, 0x4000, 0x2000, 0x6000}; /* even, up, down, zero */
  const unsigned saved = _mm_getcsr();
  _mm_setcsr((saved & ~0xE040u) | rounding[round] | (denormals & 1 ? 0 : 0x0040) | (denormals & 2 ? 0 : 0x8000));
  run_long(w, op);
  _mm_setcsr(saved);
}
#else
static void run_in_mode(cdna_wave *w, const cdna_op *op) {
  cdna_stop(w, "%s needs a rounding or denormal mode that this host does not have", op->instruction->name);
}
#endif

enum { MODE_ROUNDING = 0xFF, MODE_DEFAULT = 0xF0 };

static void run_general(cdna_wave *w, const cdna_op *op) {
  if ((w->mode & MODE_ROUNDING) != MODE_DEFAULT && op->flags & REAL)
    run_in_mode(w, op);
  else
    run_long(w, op);
}

/* gpr_idx: M0 is added to the numbers of VGPRs. */
static void run_indexed(cdna_wave *w, const cdna_op *op) {
  cdna_op moved = *op;
  const uint32_t index = w->s[CDNA_M0] & 0xFF;
  for (int s = 0; s < 3; s++)
    if (op->s[s].kind == CDNA_ROW && w->index_mode >> s & 1) moved.s[s].code = (uint16_t)(op->s[s].code + index);
  if (w->index_mode & 8) moved.d = (uint16_t)(op->d + index);
  for (int s = 0; s < 3; s++)
    if (moved.s[s].kind == CDNA_ROW && moved.s[s].code + moved.s[s].width > CDNA_ACCUMULATION) {
      cdna_stop(w, "M0 = %u selects a register beyond v255", index);
      return;
    }
  if (moved.d + moved.d_width > CDNA_ACCUMULATION) {
    cdna_stop(w, "M0 = %u selects a register beyond v255", index);
    return;
  }
  run_general(w, &moved);
}

static void run_any(cdna_wave *w, const cdna_op *op) {
  if (w->mode & CDNA_MODE_SKIP) return;
  if (w->mode & CDNA_MODE_GPR_INDEX)
    run_indexed(w, op);
  else
    run_general(w, op);
}

static bool is_usual_mode(const cdna_wave *w) {
  return (w->mode & (MODE_ROUNDING | CDNA_MODE_SKIP | CDNA_MODE_GPR_INDEX)) == MODE_DEFAULT;
}

/* Also executes vector instructions that follow, as many as the wave may: none changes MODE. */
static void run_valu(cdna_wave *w, const cdna_op *op) {
  if (!is_usual_mode(w)) {
    run_any(w, op);
    return;
  }
  const cdna_op *const first = op, *next = op;
  const uint64_t more = w->more;
  cdna_lanes x = {.mode = w->mode, .arch = w->program->object->arch};
  uint64_t n = 0;
  for (;; n++) {
    op = next;
    if (op->flags & SHORT)
      run_short(w, op, &x);
    else
      run_long(w, op);
    next = op + op->dwords;
    if (n == more || next->run != run_valu) break;
    w->did[next->kind] += next->amount;
  }
  w->at += (size_t)(op - first);
  w->pc = w->at + op->dwords;
  w->instructions += n;
}

bool cdna_goes_on(const cdna_wave *w, const cdna_op *op) { return op->run == run_valu && is_usual_mode(w); }

/* ---- decoding ---- */

/* The type of source s, or of the result (s = -1): 16, 32, 64 or 0 for an integer. */
static uint8_t kind_of(const char *name, int s) {
  const char *type = NULL;
  const bool conversion = !strncmp(name, "v_cvt_", 6) || !strncmp(name, "v_frexp_exp", 11);
  const char *first = NULL;
  for (const char *p = name; (p = strstr(p, "_f")); p++)
    if (!strncmp(p, "_f16", 4) || !strncmp(p, "_f32", 4) || !strncmp(p, "_f64", 4)) {
      if (!first) first = p;
      type = p;
    }
  if (!strcmp(name, "v_cndmask_b32")) return 32;
  if (!type) return 0;
  if (conversion && s == -1)
    type = !strncmp(name, "v_cvt_f", 7) || !strncmp(name, "v_cvt_pk_f32", 12) || !strncmp(name, "v_cvt_off", 9) ? first
                                                                                                                : NULL;
  if (conversion && s >= 0 && !tw_ends_with(name, type)) return 0;
  if (!type) return 0;
  if (s == 1 && (!strncmp(name, "v_ldexp", 7) || strstr(name, "_class_"))) return 0;
  if (s == -1 && !strncmp(name, "v_fma_mixlo", 11)) return 16;
  return type[2] == '1' ? 16 : type[2] == '3' ? 32 : 64;
}

static const int8_t none = -1;

/* The lane that each lane reads. False: no such control. */
static bool dpp_lanes(uint32_t control, int8_t lane[CDNA_LANES]) {
  for (int l = 0; l < CDNA_LANES; l++) {
    const int row = l & ~15, in_row = l & 15;
    int from = none;
    const int n = (int)control & 15;
    if (control <= 0xFF)
      from = (l & ~3) | (int)(control >> 2 * (l & 3) & 3);
    else if (control >= 0x101 && control <= 0x10F)
      from = in_row + n <= 15 ? l + n : none;
    else if (control >= 0x111 && control <= 0x11F)
      from = in_row - n >= 0 ? l - n : none;
    else if (control >= 0x121 && control <= 0x12F)
      from = row | ((in_row - n) & 15);
    else if (control == 0x130)
      from = l < 63 ? l + 1 : none;
    else if (control == 0x134)
      from = (l + 1) & 63;
    else if (control == 0x138)
      from = l > 0 ? l - 1 : none;
    else if (control == 0x13C)
      from = (l - 1) & 63;
    else if (control == 0x140)
      from = row | (15 - in_row);
    else if (control == 0x141)
      from = (l & ~7) | (7 - (l & 7));
    else if (control == 0x142)
      from = row ? row - 1 : none;
    else if (control == 0x143)
      from = l >= 32 ? 31 : none;
    else if (control >= 0x150 && control <= 0x15F)
      from = row | n;
    else
      return false;
    lane[l] = (int8_t)from;
  }
  return true;
}

static bool lower_dpp(const cdna_code *c, cdna_op *op, cdna_modifiers *m) {
  const uint32_t x = c->extra;
  m->dpp = true;
  m->bound_control = x >> 19 & 1;
  m->negate = (uint8_t)((x >> 20 & 1) | (x >> 22 & 1) << 1);
  m->absolute = (uint8_t)((x >> 21 & 1) | (x >> 23 & 1) << 1);
  for (int l = 0; l < CDNA_LANES; l++)
    if (x >> (24 + l / 4 % 4) & 1 && x >> (28 + l / 16) & 1) m->dpp_enabled |= 1ull << l;
  if (dpp_lanes(x >> 8 & 0x1FF, m->lane)) return true;
  op->why = "has a DPP control that this machine does not have";
  return false;
}

static void lower_sdwa(const cdna_code *c, cdna_modifiers *m) {
  const uint32_t x = c->extra;
  m->select[0] = x >> 16 & 7;
  m->select[1] = x >> 24 & 7;
  m->sign_extend = (uint8_t)((x >> 19 & 1) | (x >> 27 & 1) << 1);
  m->negate = (uint8_t)((x >> 20 & 1) | (x >> 28 & 1) << 1);
  m->absolute = (uint8_t)((x >> 21 & 1) | (x >> 29 & 1) << 1);
  if (c->instruction->encoding == CDNA_VOPC) return;
  m->result_select = x >> 8 & 7;
  m->result_unused = x >> 11 & 3;
  m->clamp = x >> 13 & 1;
  m->output_scale = x >> 14 & 3;
}

/* VOP3: sets modifiers, if the table gives the bits a meaning. */
static bool lower_vop3(const cdna_code *c, cdna_op *op, cdna_modifiers *m) {
  const cdna_instruction *i = c->instruction;
  const uint64_t on = c->bits & i->shown;
  m->negate = cdna_bits(on, 61, 3);
  if (i->encoding == CDNA_VOP3P) {
    m->packed = true;
    m->low = cdna_bits(c->bits, 11, 3);
    m->high = (uint8_t)(cdna_bits(c->bits, 59, 2) | cdna_bits(c->bits, 14, 1) << 2);
    m->negate_high = cdna_bits(c->bits, 8, 3);
    m->clamp = cdna_bits(c->bits, 15, 1);
    if (strstr(i->name, "_mix")) {
      m->mix = true;
      return true;
    }
    if (!strncmp(i->name, "v_dot4", 6) || !strncmp(i->name, "v_dot8", 6)) m->packed = false;
    if (!strncmp(i->name, "v_dot2", 6)) m->high |= 0;
    if (!strcmp(i->name, "v_pk_mov_b32")) m->high = m->low & 2; /* op_sel names the half of each source that is moved */
    const bool plain = !m->low && m->high == 7 && !m->negate && !m->negate_high && !m->clamp;
    return m->packed && !plain &&
           !(m->high == 3 && !m->low && !m->negate && !m->negate_high && !m->clamp && i->n_operands == 3);
  }
  if (!strncmp(i->name, "v_bitop3", 8)) {
    /* the truth table in three pieces */
    op->imm = (int32_t)(cdna_bits(c->bits, 61, 3) | cdna_bits(c->bits, 8, 3) << 3 | cdna_bits(c->bits, 59, 2) << 6);
    m->negate = 0;
    m->low = cdna_bits(on, 11, 4);
    m->half_result = m->low != 0;
    return m->half_result;
  }
  m->low = cdna_bits(on, 11, 4);
  if (!strncmp(i->name, "v_cvt_scalef32", 14)) { /* instructions with their own meaning of op_sel */
    op->imm = m->low;
    m->low = 0;
  }
  if (!strncmp(i->name, "v_cvt_f32_fp8", 13) || !strncmp(i->name, "v_cvt_f32_bf8", 13)) {
    if (m->low) op->why = "selects a byte by op_sel, which is not executed yet";
  }
  m->half_result = m->low != 0;
  if (!cdna_find_field(i, 'S')) m->absolute = cdna_bits(on, 8, 3);
  m->clamp = cdna_bits(on, 15, 1);
  m->output_scale = cdna_bits(on, 59, 2);
  return m->negate || m->absolute || m->low || m->clamp || m->output_scale;
}

static const cdna_lane_entry *find_function(const cdna_lane_kit *kit, const char *name) {
  for (size_t e = 0; e < kit->n; e++)
    if (!strcmp(kit->entry[e].name, name)) return &kit->entry[e];
  return NULL;
}

/* Instructions whose name differs from the name of their function. */
static const char *function_name(const char *name) {
  static const char *const other[][2] = {
      {"v_madak_f32", "v_mad_f32"},         {"v_madmk_f32", "v_mad_f32"},      {"v_fma_mixlo_f16", "v_fma_mix_f32"},
      {"v_fma_mixhi_f16", "v_fma_mix_f32"}, {"v_fma_legacy_f16", "v_fma_f16"},
  };
  for (size_t k = 0; k < sizeof other / sizeof *other; k++)
    if (!strcmp(other[k][0], name)) return other[k][1];
  return name;
}

/* The clamp of an integer result: a separate function if the result can exceed its type; otherwise it has no effect. */
static void lower_integer_clamp(const cdna_program *p, const char *name, cdna_op *op) {
  char clamped[48];
  snprintf(clamped, sizeof clamped, "%s_clamp", function_name(name));
  const cdna_lane_entry *found = find_function(p->kit, clamped);
  if (found) op->lanes = found;
}

bool cdna_lower_valu(cdna_program *p, const cdna_code *c, cdna_op *op) {
  const cdna_instruction *i = c->instruction;
  if (i->encoding < CDNA_VOP2 || i->encoding > CDNA_VOP3P) return false;
  if (!strcmp(i->name, "v_nop")) {
    op->lanes = NULL;
    op->run = NULL;
    return false;
  }
  op->lanes = find_function(p->kit, function_name(i->name));
  if (!op->lanes) return false;
  const cdna_operand_form *d = cdna_find_field(i, 'D'), *carry = cdna_find_field(i, 'S');
  const cdna_operand_form *vcc = cdna_find_field(i, 'C');
  if (op->lanes->result == CDNA_MASK) {
    op->sd = (uint16_t)cdna_operand_code(c, d ? d : vcc);
    if (!strncmp(i->name, "v_cmpx", 6)) op->flags |= TO_EXEC;
  } else if (d) {
    const int code = cdna_operand_code(c, d);
    if (code < CDNA_VGPRS) return false;
    op->d = (uint16_t)(code - CDNA_VGPRS);
    op->d_width = d->width;
    op->sd = (uint16_t)(carry ? cdna_operand_code(c, carry) : CDNA_VCC);
  }
  int n = 0;
  bool addend_is_d = !strncmp(i->name, "v_fmac", 6) || !strcmp(i->name, "v_pk_fmac_f16") ||
                     !strncmp(i->name, "v_mac", 5) || strstr(i->name, "v_dot2c") || strstr(i->name, "v_dot4c") ||
                     strstr(i->name, "v_dot8c");
  for (int o = 0; o < i->n_operands; o++) {
    const cdna_operand_form *f = &i->operand[o];
    if (f->field == 'K') {
      cdna_lower_source(p, c, f, &op->s[n]);
      op->s[n].row = cdna_program_row(p, op->s[n].value, 1);
      n++;
    } else if (f->field >= '0' && f->field <= '2') {
      cdna_lower_source(p, c, f, &op->s[n++]);
    }
  }
  if (addend_is_d && n == 2) op->s[2] = (cdna_source){.kind = CDNA_ROW, .width = (uint8_t)op->d_width, .code = op->d};
  /* v_cndmask, v_addc_co, v_div_fmas: a mask in scalars */
  const bool reads = strstr(i->name, "cndmask") || strstr(i->name, "addc_co") || strstr(i->name, "subb_co") ||
                     strstr(i->name, "subbrev_co") || !strncmp(i->name, "v_div_fmas", 10);
  if (reads) {
    op->flags |= READS_MASK;
    op->s[3] = (cdna_source){.kind = CDNA_SCALAR, .width = 2, .code = CDNA_VCC};
    const cdna_operand_form *third = cdna_find_field(i, '2');
    if (third && strncmp(i->name, "v_div_fmas", 10) != 0) {
      op->s[3] = op->s[2];
      op->s[3].width = 2;
      op->s[2] = (cdna_source){0};
    }
  }
  cdna_modifiers m = {.select = {6, 6, 6}, .result_select = 6};
  for (int s = 0; s < 3; s++) m.kinds[s] = kind_of(i->name, s);
  m.result_kind = kind_of(i->name, -1);
  bool has_modifiers = false;
  if (c->variant == CDNA_DPP) {
    if (!lower_dpp(c, op, &m)) return false;
    has_modifiers = true;
  } else if (c->variant == CDNA_SDWA) {
    lower_sdwa(c, &m);
    has_modifiers = true;
  } else if (i->encoding >= CDNA_VOP3) {
    has_modifiers = lower_vop3(c, op, &m);
  }
  if (op->why) return false;
  if (m.clamp && !m.result_kind) lower_integer_clamp(p, i->name, op);
  if (!strncmp(i->name, "v_fma_mix", 9)) {
    /* lo and hi round to one half of the result and keep the other */
    m.half_of_mix = strstr(i->name, "mixlo") ? 1 : strstr(i->name, "mixhi") ? 2 : 0;
    if (m.half_of_mix) m.result_kind = 32;
    has_modifiers = true;
  }
  static const char *const keeping[] = {
      "v_fma_f16",  "v_fmac_f16",   "v_mad_f16",  "v_div_fixup_f16",  "v_mad_u16",        "v_cvt_pk_fp8_f32",
      "v_mad_i16",  "v_add_i16",    "v_sub_i16",  "v_cvt_pk_bf8_f32", "v_ashr_pk_i8_i32", "v_ashr_pk_u8_i32",
      "v_med3_f16", "v_med3_i16",   "v_med3_u16", "v_min3_i16",       "v_max3_i16",       "v_min3_u16",
      "v_max3_u16", "v_bitop3_b16", "v_mac_f16",  "v_madak_f16",      "v_madmk_f16"};
  for (size_t k = 0; k < sizeof keeping / sizeof *keeping; k++)
    if (!strcmp(i->name, keeping[k]) && !(m.low >> 3 & 1)) op->flags |= KEEPS_HIGH;
  m.plain_result =
      !m.clamp && !m.output_scale && !m.half_of_mix && !(m.half_result && m.low >> 3 & 1) && m.result_select >= 6;
  for (int s = 0; s < 3; s++) {
    const cdna_adjustment a = m.part[s] = adjustment_of(&m, s);
    m.changes[s] = a.left || a.right || ~a.keep || a.flip;
  }
  if (has_modifiers) {
    cdna_modifiers *kept = cdna_program_new(p, sizeof m);
    if (!kept) return false;
    *kept = m;
    op->modifiers = kept;
  }
  for (int s = n; s < 3; s++)
    if (op->s[s].kind == CDNA_NONE) op->s[s] = (cdna_source){.kind = CDNA_ROW};
  const bool is_plain = !has_modifiers && !op->flags;
  /* MODE's rounding matters: the setting for f64 and f16 if the operand is wide */
  if (strstr(i->name, "_f")) op->flags |= REAL;
  if (strstr(i->name, "f64") || strstr(i->name, "f16")) op->flags |= WIDE_MODE;
  if (is_plain && op->lanes->result == CDNA_D && !op->lanes->keeps) op->flags |= SHORT;
  op->run = run_valu;
  return true;
}
