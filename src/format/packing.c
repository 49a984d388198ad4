/* packing.c - the options of each format, the sizes of its planes, and the places of scales. */
#include "format/internal.h"

static bool is_ternary(const tw_format *f) { return f->type == TW_TERNARY; }

static bool takes_rule(const tw_format *f, tw_scale_rule rule) {
  switch (rule) {
  case TW_RULE_DEFAULT: return true;
  case TW_RULE_FLOOR:
  case TW_RULE_EVEN:
  case TW_RULE_UP:
  case TW_RULE_CEIL: return f->scale == TW_SCALE_E8M0;
  case TW_RULE_ABSMAX: return is_ternary(f);
  case TW_RULE_ABSMEAN: return is_ternary(f) && f->scale == TW_SCALE_F32;
  default: return false;
  }
}

static tw_status check_group(const tw_packing *p, tw_error *error) {
  const tw_format *f = p->format;
  if (f->scale != TW_SCALE_F32) {
    if (p->group == TW_GROUP_ROW) return TW_OK;
    return tw_fail(error, TW_USAGE, "%s has fixed groups", f->name);
  }
  if (p->group == TW_GROUP_ROW || p->group == TW_GROUP_TENSOR) return TW_OK;
  if (is_ternary(f)) return tw_fail(error, TW_USAGE, "%s has one scale per row or tensor, not groups", f->name);
  if (p->group < 2 || p->group % 2)
    return tw_fail(error, TW_USAGE, "unsupported group of %lld values; expected an even number, row or tensor",
                   (long long)p->group);
  return TW_OK;
}

tw_status tw_packing_check(const tw_packing *p, tw_error *error) {
  if (!p || !p->format) return tw_fail(error, TW_USAGE, "the format is missing");
  const tw_format *f = p->format;
  if (!takes_rule(f, p->rule))
    return tw_fail(error, TW_USAGE, "%s has no scale rule '%s'; %s", f->name, tw_scale_rule_name(p->rule),
                   f->scale == TW_SCALE_E8M0        ? "expected floor, even, up or ceil"
                   : !is_ternary(f)                 ? "it has no scale rules"
                   : takes_rule(f, TW_RULE_ABSMEAN) ? "expected absmax or absmean"
                                                    : "expected absmax");
  if (p->rounding != TW_ROUND_EVEN && (p->rounding != TW_ROUND_FLOOR || f->id != TW_FORMAT_BFP16))
    return tw_fail(error, TW_USAGE, "%s rounds to nearest even only", f->name);
  if (p->overflow != TW_OVERFLOW_SATURATE &&
      (p->overflow != TW_OVERFLOW_SPECIAL || f->bits != 8 || f->scale != TW_SCALE_NONE))
    return tw_fail(error, TW_USAGE, "%s does not support overflow=special; leave it out", f->name);
  return check_group(p, error);
}

static size_t blocks_of(size_t columns, size_t block) { return columns / block + (columns % block != 0); }

/* Number of scales of a row; 0 for one scale per tensor. */
static size_t row_scales(const tw_packing *p, size_t columns) {
  switch (p->format->scale) {
  case TW_SCALE_E8M0: return blocks_of(columns, p->format->block);
  case TW_SCALE_F32:
    if (p->group == TW_GROUP_TENSOR) return 0;
    return p->group == TW_GROUP_ROW ? 1 : blocks_of(columns, (size_t)p->group);
  default: return 0;
  }
}

tw_status tw_format_sizes(const tw_packing *p, size_t rows, size_t columns, tw_packed_size *out, tw_error *error) {
  tw_status status = tw_packing_check(p, error);
  if (status != TW_OK) return status;
  size_t scale_bytes = p->format->scale == TW_SCALE_E8M0 ? 1 : 4;
  bool over = __builtin_mul_overflow(blocks_of(columns, p->format->block), p->format->block_bytes, &out->row_codes);
  over |= __builtin_mul_overflow(row_scales(p, columns), scale_bytes, &out->row_scales);
  over |= __builtin_mul_overflow(rows, out->row_codes, &out->codes);
  over |= __builtin_mul_overflow(rows, out->row_scales, &out->scales);
  if (over) return tw_fail(error, TW_USAGE, "%zu x %zu values of %s are too many", rows, columns, p->format->name);
  if (p->format->scale == TW_SCALE_F32 && p->group == TW_GROUP_TENSOR) out->scales = 4;
  return TW_OK;
}

static float scale_inside(const tw_format *f, const uint8_t *block) {
  if (f->id == TW_FORMAT_BFP16) {
    if (block[0] == 255) return tw_float_of(F32_NAN);
    return tw_e8m0_to_f32(block[0]);
  }
  return tw_f16_to_f32(load_u16(block + f->block_bytes - 2)); /* tq1_0, tq2_0 */
}

float format_scale_at(const tw_packing *p, const tw_packed_size *size, const void *codes, const void *scales,
                      size_t row, size_t column) {
  const uint8_t *row_of_scales = (const uint8_t *)scales + row * size->row_scales;
  switch (p->format->scale) {
  case TW_SCALE_E8M0: return tw_e8m0_to_f32(row_of_scales[column / p->format->block]);
  case TW_SCALE_F32: return load_f32(row_of_scales + 4 * (p->group > 0 ? column / (size_t)p->group : 0));
  case TW_SCALE_INSIDE:
    return scale_inside(p->format, (const uint8_t *)codes + row * size->row_codes +
                                       column / p->format->block * p->format->block_bytes);
  default: return 1;
  }
}

float tw_format_scale(const tw_packing *p, size_t rows, size_t columns, const void *codes, const void *scales,
                      size_t row, size_t column) {
  tw_packed_size size;
  if (tw_format_sizes(p, rows, columns, &size, NULL) != TW_OK || row >= rows || column >= columns)
    return tw_float_of(F32_NAN);
  return format_scale_at(p, &size, codes, scales, row, column);
}
