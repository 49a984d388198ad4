/* weights.c - packs weights with scales into packed B.
 *
 * For any layout of the format, an element is (value of a code) * scale. Packing decodes each column with src/format,
 * divides by the scale, and keeps the code in 2, 4 or 8 bits, in lines (kernel.h). A column that holds a NaN, or a code
 * without a finite value, gets NaN for the scale of that group, and zeros. */
#include "target/x86/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/x86/choose.h"
#include "target/x86/variant.h"

/* The forms in which values of a type are kept, the smallest first: as integers times `step`, or as results of
 * `encode`. Values of mxfp6 (e2m3) are multiples of 1/8 up to 7.5: 7-bit integers if its own codes have no tiles. */
static const struct kept {
  tw_type type;
  x86_form form;
  float step;
  uint8_t (*encode)(float);
} kept[];

static uint8_t encode_e4m3(float x) { return tw_f32_to_e4m3(x, TW_OVERFLOW_SATURATE); }

static const struct kept kept[] = {
    {TW_MXFP4, X86_E2M1, 1, tw_f32_to_e2m1},
    {TW_MXFP6, X86_E2M3, 1, tw_f32_to_e2m3},
    {TW_MXFP6, X86_S8, 0x1p-3f, NULL},
    {TW_MXFP8, X86_E4M3, 1, encode_e4m3},
    {TW_BFP16, X86_S8, 0x1p-6f, NULL},
    {TW_I8, X86_S8, 1, NULL},
    {TW_I4, X86_S4, 1, NULL},
    {TW_TERNARY, X86_T3, 1, NULL}, /* for scales that belong to whole columns */
    {TW_TERNARY, X86_S2, 1, NULL},
};

static const struct kept *kept_of(tw_type type, unsigned forms) {
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    if (kept[i].type == type && forms >> kept[i].form & 1) return &kept[i];
  return NULL;
}

x86_form x86_form_of(tw_type type, unsigned forms) {
  const struct kept *w = kept_of(type, forms);
  return w ? w->form : X86_FORMS;
}

unsigned x86_forms_of_kernel(const x86_kernel *k) {
  unsigned forms = 0;
  for (int f = 0; f < X86_FORMS; f++) forms |= (unsigned)(k->coded[f] || k->expand[f]) << f;
  return forms;
}

unsigned x86_forms_of_schedule(const x86_variant *s) {
  unsigned forms = 0;
  for (int f = 0; f < X86_FORMS; f++) forms |= (unsigned)x86_has_form(s, (x86_form)f) << f;
  return forms;
}

unsigned x86_forms_of_type(tw_type type) {
  unsigned forms = 0;
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) forms |= (unsigned)(kept[i].type == type) << kept[i].form;
  return forms;
}

static const struct kept *kept_by(const tw_gemm_plan *p) { return kept_of(p->spec.b, x86_forms_of_kernel(p->kernel)); }

static x86_codes codes_of(const x86_kernel *k, const struct kept *w) {
  const int lanes = x86_isa_lanes(k->isa);
  const x86_variant s = {.isa = k->isa, .arithmetic = k->arithmetic, .rows = k->rows, .vectors = k->columns / lanes};
  const bool doubled = w->form == (x86_sums_are_integers(k) ? X86_E2M1 : X86_S2);
  return (x86_codes){.form = w->form,
                     .bits = x86_form_bits(w->form),
                     .lift = x86_lift(k->arithmetic, w->form),
                     .factor = doubled ? w->step / 2 : w->step,
                     .fields = x86_vectors_of_line(k->arithmetic, w->form),
                     .vector = X86_UNIT * lanes,
                     .line = X86_UNIT * lanes * x86_form_registers(w->form),
                     .step = x86_coded_step(&s, w->form)};
}

tw_status x86_settle_weights(tw_gemm_plan *p, tw_error *error) {
  const tw_gemm_spec *s = &p->spec;
  const int64_t elements = x86_kernel_group(p->kernel);
  p->packing = (tw_packing){.format = tw_format_of_type(s->b), .group = s->group};
  const bool free_groups = p->packing.format->scale == TW_SCALE_F32;
  if (!free_groups) {
    if (s->group && s->group != (int64_t)p->packing.format->block)
      return tw_fail(error, TW_USAGE,
                     "tw_gemm_plan_create: group=%d is unsupported with b=%s, which has a scale for every %zu elements",
                     s->group, tw_type_name(s->b), p->packing.format->block);
    p->packing.group = 0;
  }
  const bool whole_rows = free_groups && s->group == TW_GROUP_ROW;
  const int64_t group = free_groups ? s->group : (int64_t)p->packing.format->block;
  if (!whole_rows && group % 8)
    return tw_fail(error, TW_USAGE, "tw_gemm_plan_create: group=%d is not a multiple of 8", (int)group);
  p->codes = codes_of(p->kernel, kept_by(p));
  p->codes.scale_bytes = free_groups ? 4 : 1;
  p->codes.group_units = whole_rows ? INT64_C(1) << 40 : group / elements;
  return tw_packing_check(&p->packing, error);
}

static size_t round_up(size_t bytes) { return (bytes + X86_LINE - 1) / X86_LINE * X86_LINE; }

int64_t x86_filled(const tw_gemm_plan *p, int64_t units) {
  return p->has_codes ? x86_ceil_div(units, p->codes.step) * p->codes.step : units;
}

int64_t x86_groups(const tw_gemm_plan *p, int64_t units) {
  return x86_scales_are_shared(p) ? 1 : x86_ceil_div(units, p->codes.group_units);
}

bool x86_scales_are_shared(const tw_gemm_plan *p) { return p->has_codes && p->codes.group_units >= p->units; }

size_t x86_codes_bytes(const tw_gemm_plan *p, int64_t units) {
  const int64_t vectors = x86_filled(p, units) * p->kernel->columns * X86_UNIT / p->codes.vector;
  return round_up((size_t)(vectors / p->codes.fields * p->codes.line));
}

size_t x86_scales_bytes(const tw_gemm_plan *p, int64_t units) {
  return round_up((size_t)(x86_groups(p, units) * p->kernel->columns * p->codes.scale_bytes));
}

/* ---- packing ---- */

typedef struct column {
  float *value;         /* k decoded elements */
  char *codes, *scales; /* codes and scales of one row */
  tw_packed_size size;
  float scale; /* scale of the whole column, if blocks share one */
} column;

static unsigned code_of(const tw_gemm_plan *p, const struct kept *w, float value, float scale) {
  const float x = scale == 0 || isnan(scale) ? 0 : value / scale;
  const x86_codes *c = &p->codes;
  if (w->encode) return w->encode(x);
  if (w->form == X86_T3) return x < 0 ? 2 : x > 0;
  if (w->form == X86_S2 && !x86_sums_are_integers(p->kernel)) return x < 0 ? 3 : x > 0;
  return (unsigned)((int)rintf(x / w->step) + c->lift) & ((1u << c->bits) - 1);
}

static void put_bits(char *line, int64_t word, unsigned bits) {
  uint16_t x;
  memcpy(&x, line + 2 * word, sizeof x);
  x = (uint16_t)(x | bits);
  memcpy(line + 2 * word, &x, sizeof x);
}

/* Code `slot` of a 16-bit container of a line of 6-bit codes; a register has `words` of them. */
static void put_six_bits(char *line, int64_t word, int64_t words, int64_t slot, unsigned code) {
  if (slot < 6) {
    put_bits(line, slot / 2 * words + word, code << slot % 2 * 6);
    return;
  }
  put_bits(line, (slot - 6) * words + word, (code & 15) << 12);
  put_bits(line, 2 * words + word, code >> 4 << (12 + 2 * (slot - 6)));
}

/* Writes the code of element q of the unit of column j, `unit` units from the panel's start. */
static void put_code(const tw_gemm_plan *p, char *lines, int64_t unit, int64_t j, int64_t q, unsigned code) {
  const x86_codes *c = &p->codes;
  const int64_t group = x86_kernel_group(p->kernel), lanes = c->vector / X86_UNIT, container = X86_UNIT / group;
  const int64_t vector = (unit * p->kernel->columns + j) / lanes;
  const x86_place place = x86_place_of(c->form, (int)(vector % c->fields), (int)(p->kernel->columns / lanes));
  const int64_t field = place.field;
  char *line = lines + vector / c->fields * c->line;
  if (x86_in_planes(p->kernel->arithmetic, c->form)) {
    line[(field * group + q) * lanes + j % lanes] = (char)code;
    return;
  }
  const int64_t at_lane = j % lanes * group + q;
  if (x86_form_bits(c->form) == 6) {
    const int64_t halves = container / 2; /* f32: the fields of one of two vectors */
    put_six_bits(line, at_lane * halves + field % halves, c->vector / 2, field / halves, code);
    return;
  }
  if (x86_in_halves(p->kernel->arithmetic, c->form, (int)lanes)) {
    char *at = line + j % lanes / 4 * 16 + field / 2 % 2 * 8 + j % lanes % 4 * 2 + field % 2;
    *at = (char)((unsigned char)*at | code << field / 4 * 4);
    return;
  }
  if (x86_in_eighths(p->kernel->arithmetic, c->form)) {
    line[at_lane / 8 * 16 + field * 8 + at_lane % 8] = (char)code;
    return;
  }
  for (int i = 0; i < place.code; i++) code *= 3;
  char *at = line + at_lane * container;
  uint32_t word = 0;
  memcpy(&word, at, (size_t)container);
  word += code << (field * c->bits); /* a bit operation into zeros, or next to other codes of the field */
  memcpy(at, &word, (size_t)container);
}

/* True if tiles for powers of two cannot use this scale. */
static bool put_scale(const tw_gemm_plan *p, char *scales, int64_t at, float scale) {
  if (p->codes.scale_bytes == 4) {
    memcpy(scales + at * 4, &scale, sizeof scale);
    return false;
  }
  const uint8_t e = isnan(scale) ? 255 : scale == 0 ? 0 : (uint8_t)(ilogbf(scale) + 127);
  ((uint8_t *)scales)[at] = e;
  return e > X86_POWER_MOST;
}

/* The scale of elements [from, to). */
static float scale_of(const tw_gemm_plan *p, const column *c, int64_t from, int64_t to) {
  for (int64_t q = from; q < to; q++)
    if (!isfinite(c->value[q])) return NAN;
  return tw_format_scale(&p->packing, 1, (size_t)p->spec.k, c->codes, c->scales, 0, (size_t)from);
}

/* Packs one column of one block; true if it has large scales. */
static bool pack_block(const tw_gemm_plan *p, const column *c, int64_t block, int64_t j, char *panel, char *scales) {
  const struct kept *w = kept_by(p);
  const int64_t elements = x86_kernel_group(p->kernel), columns = p->kernel->columns;
  const int64_t units = x86_block_units(p, block), first = block * p->layout.block * elements;
  const int64_t n = x86_min(units * elements, p->spec.k - first);
  bool large = false;
  for (int64_t g = 0; g < x86_groups(p, units); g++) {
    const int64_t from = g * p->codes.group_units * elements, to = x86_min(n, from + p->codes.group_units * elements);
    if (from >= n) break;
    const float scale = x86_scales_are_shared(p) ? c->scale : scale_of(p, c, first + from, first + to);
    for (int64_t q = from; q < to; q++)
      put_code(p, panel, q / elements, j, q % elements, code_of(p, w, c->value[first + q], scale));
    large |= put_scale(p, scales, g * columns + j, scale);
  }
  return large;
}

tw_status x86_pack_weights(const tw_gemm_plan *p, const float *b, const void *codes, const void *scales, char *packed,
                           tw_error *error) {
  const tw_gemm_spec *s = &p->spec;
  column c = {0};
  tw_status status = tw_format_sizes(&p->packing, 1, (size_t)s->k, &c.size, error);
  if (status != TW_OK) return status;
  c.value = tw_new((size_t)s->k, sizeof *c.value);
  char *own = tw_new(c.size.codes + c.size.scales + 1, 1);
  if (!c.value || !own) status = tw_fail(error, TW_NO_MEMORY, "tw_gemm_pack: out of memory");
  for (int64_t j = 0; status == TW_OK && j < s->n; j++) {
    c.codes = own, c.scales = own + c.size.codes;
    if (codes) {
      c.codes = (char *)codes + (size_t)j * c.size.codes;
      c.scales = (char *)scales + (size_t)j * c.size.scales;
    } else {
      for (int64_t q = 0; q < s->k; q++) c.value[q] = b[s->b_transposed ? j * s->ldb + q : q * s->ldb + j];
      status = tw_format_encode(&p->packing, 1, (size_t)s->k, c.value, (size_t)s->k, c.codes, c.scales, error);
    }
    if (status == TW_OK)
      status = tw_format_decode(&p->packing, 1, (size_t)s->k, c.codes, c.scales, c.value, (size_t)s->k, error);
    if (status == TW_OK && x86_scales_are_shared(p)) c.scale = scale_of(p, &c, 0, s->k);
    for (int64_t block = 0; status == TW_OK && block < p->blocks; block++)
      if (pack_block(p, &c, block, j % p->kernel->columns, packed + x86_panel_at(p, block, j / p->kernel->columns),
                     packed + x86_scales_at(p, block, j / p->kernel->columns)))
        packed[X86_LARGE_SCALES] = 1;
  }
  free(c.value);
  free(own);
  return status;
}
