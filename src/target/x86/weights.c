/* weights.c - weights with scales on their way into packed B.
 *
 * Whatever the format's own layout is, an element is (value of a code) * scale. Packing decodes each column with src/format,
 * divides by the scale, and keeps the code in 2, 4 or 8 bits: integers in two's complement, minifloats as sign and magnitude.
 * Panels hold them in the order that runtime/expand.h says. A column that holds a NaN, or a code without a finite value,
 * gets NaN for the scale of that group. */
#include "target/x86/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/x86/choose.h"

/* How the values of a type are kept. bias: of the minifloat's exponent; step: of the integers. */
static const struct kept {
  tw_type type;
  int bits, width, mantissa, bias;
  float step;
  uint8_t (*encode)(float);
} kept[];

static uint8_t encode_e4m3(float x) { return tw_f32_to_e4m3(x, TW_OVERFLOW_SATURATE); }

static const struct kept kept[] = {
    {TW_MXFP4, 4, 4, 1, 1, 1, tw_f32_to_e2m1},
    {TW_MXFP6, 8, 6, 3, 1, 1, tw_f32_to_e2m3},
    {TW_MXFP8, 8, 8, 3, 7, 1, encode_e4m3},
    {TW_BFP16, 8, 8, -1, 0, 0x1p-6f, NULL},
    {TW_I8, 8, 8, -1, 0, 1, NULL},
    {TW_I4, 4, 4, -1, 0, 1, NULL},
    {TW_TERNARY, 2, 2, -1, 0, 1, NULL},
};

static const struct kept *kept_of(tw_type type) {
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    if (kept[i].type == type) return &kept[i];
  return NULL;
}

tw_status x86_settle_weights(tw_gemm_planned *p, tw_error *error) {
  const tw_gemm_spec *s = &p->spec;
  const struct kept *w = kept_of(s->b);
  const int64_t elements = x86_kernel_group(p->kernel);
  p->packing = (tw_packing){.format = tw_format_of_type(s->b), .group = s->group};
  if (p->packing.format->scale != TW_SCALE_F32) {
    if (s->group && s->group != (int64_t)p->packing.format->block)
      return tw_fail(error, TW_USAGE, "tw_gemm_plan: group=%d: b=%s has a scale for every %zu elements", s->group,
                     tw_type_name(s->b), p->packing.format->block);
    p->packing.group = 0;
  }
  const bool whole_rows = p->packing.format->scale == TW_SCALE_F32 && s->group == TW_GROUP_ROW;
  const int64_t group = p->packing.format->scale == TW_SCALE_F32 ? s->group : (int64_t)p->packing.format->block;
  if (!whole_rows && group % 8)
    return tw_fail(error, TW_USAGE, "tw_gemm_plan: group=%d is not a multiple of 8", (int)group);
  p->codes = (x86_codes){.bits = w->bits,
                         .width = w->width,
                         .mantissa = w->mantissa,
                         .scale_bytes = p->packing.format->scale == TW_SCALE_F32 ? 4 : 1,
                         .factor = w->mantissa < 0 ? w->step : ldexpf(1, 127 - w->bias),
                         .group_units = whole_rows ? INT64_C(1) << 40 : group / elements};
  return tw_packing_check(&p->packing, error);
}

static size_t round_up(size_t bytes) { return (bytes + X86_LINE - 1) / X86_LINE * X86_LINE; }

size_t x86_codes_bytes(const tw_gemm_planned *p, int64_t units) {
  const size_t elements = (size_t)(units * p->kernel->columns * x86_kernel_group(p->kernel));
  return round_up(elements * (size_t)p->codes.bits / 8);
}

static int64_t groups_of(const tw_gemm_planned *p, int64_t units) { return x86_ceil_div(units, p->codes.group_units); }

size_t x86_scales_bytes(const tw_gemm_planned *p, int64_t units) {
  return round_up((size_t)(groups_of(p, units) * p->kernel->columns * p->codes.scale_bytes));
}

/* ---- packing ---- */

typedef struct column {
  float *value;         /* k decoded elements */
  char *codes, *scales; /* planes of one row */
  tw_packed_size size;
} column;

static unsigned code_of(const struct kept *w, float value, float scale) {
  const float x = scale == 0 ? 0 : value / scale;
  if (w->encode) return w->encode(x);
  return (unsigned)(int)rintf(x / w->step) & ((1u << w->bits) - 1);
}

/* Writes the field of element e of a panel. */
static void put_field(char *lines, int64_t e, int bits, unsigned code) {
  const int64_t in_line = 512 / bits, line = e / in_line, t = e % in_line / 32, w = e % 32;
  uint16_t word;
  char *at = lines + line * X86_LINE + w * (int64_t)sizeof word;
  memcpy(&word, at, sizeof word);
  word = (uint16_t)(word | code << (t * bits));
  memcpy(at, &word, sizeof word);
}

static void put_scale(const tw_gemm_planned *p, char *scales, int64_t at, float scale) {
  if (p->codes.scale_bytes == 4) {
    memcpy(scales + at * 4, &scale, sizeof scale);
    return;
  }
  ((uint8_t *)scales)[at] = isnan(scale) ? 255 : scale == 0 ? 0 : (uint8_t)(ilogbf(scale) + 127);
}

/* One column of one block. */
static void pack_block(const tw_gemm_planned *p, const column *c, int64_t block, int64_t j, char *panel) {
  const struct kept *w = kept_of(p->spec.b);
  const int64_t elements = x86_kernel_group(p->kernel), columns = p->kernel->columns;
  const int64_t units = x86_block_units(p, block), first = block * p->layout.block * elements;
  const int64_t n = x86_min(units * elements, p->spec.k - first);
  char *scales = panel + x86_codes_bytes(p, units);
  for (int64_t g = 0; g < groups_of(p, units); g++) {
    const int64_t from = g * p->codes.group_units * elements, to = x86_min(n, from + p->codes.group_units * elements);
    if (from >= n) break;
    float scale = tw_format_scale(&p->packing, 1, (size_t)p->spec.k, c->codes, c->scales, 0, (size_t)(first + from));
    for (int64_t q = from; q < to; q++) {
      if (!isfinite(c->value[first + q])) scale = NAN;
    }
    for (int64_t q = from; q < to && !isnan(scale); q++)
      put_field(panel, ((q / elements) * columns + j) * elements + q % elements, w->bits,
                code_of(w, c->value[first + q], scale));
    put_scale(p, scales, g * columns + j, scale);
  }
}

tw_status x86_pack_weights(const tw_gemm_planned *p, const float *b, const void *codes, const void *scales,
                           char *packed, tw_error *error) {
  const tw_gemm_spec *s = &p->spec;
  column c = {0};
  tw_status status = tw_format_sizes(&p->packing, 1, (size_t)s->k, &c.size, error);
  if (status != TW_OK) return status;
  c.value = tw_new((size_t)s->k, sizeof *c.value);
  char *own = tw_new(c.size.codes + c.size.scales + 1, 1);
  if (!c.value || !own) status = tw_fail(error, TW_MISSING, "tw_gemm_pack: out of memory");
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
    for (int64_t block = 0; status == TW_OK && block < p->blocks; block++)
      pack_block(p, &c, block, j % p->kernel->columns, packed + x86_panel_at(p, block, j / p->kernel->columns));
  }
  free(c.value);
  free(own);
  return status;
}
