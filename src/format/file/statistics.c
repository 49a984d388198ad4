/* statistics.c - see statistics.h. Sums are in double. */
#include "format/file/statistics.h"

#include <math.h>
#include <string.h>

static void add_value(statistics *s, float x, float y, float limit) {
  if (!isfinite(x) || !isfinite(y)) {
    s->non_finite++;
    return;
  }
  double error = fabs((double)x - (double)y), value = fabs((double)x);
  s->sum_error2 += error * error;
  s->sum_value2 += value * value;
  if (value > s->max_value) s->max_value = value;
  if (error > s->max_error) s->max_error = error;
  if (value > (double)limit && fabsf(y) < fabsf(x)) s->clipped++;
  if (error == 0) {
    s->exact++;
    return;
  }
  float rounded = (float)error;
  uint32_t bits;
  memcpy(&bits, &rounded, sizeof bits);
  s->bin[bits >> 23 & 255]++;
}

/* Values of a row, from `column` on, that share a scale. */
static size_t run_length(const tw_packing *p, size_t columns, size_t column) {
  size_t run = columns;
  if (p->format->scale == TW_SCALE_F32 && p->group > 0)
    run = (size_t)p->group;
  else if (p->format->scale == TW_SCALE_E8M0 || p->format->scale == TW_SCALE_INSIDE)
    run = p->format->block;
  run -= column % run;
  return run < columns - column ? run : columns - column;
}

/* Scales that were rounded themselves may be a little small: the value they were made from is not clipped. */
static double scale_error(const tw_format *f) {
  return f->type == TW_TERNARY && f->scale == TW_SCALE_INSIDE ? 0x1p-10 /* f16 */ : 0x1p-20;
}

void statistics_add(statistics *s, const tw_packing *p, size_t rows, size_t columns, const float *x, const float *y,
                    const void *codes, const void *scales) {
  s->values += (uint64_t)rows * columns;
  for (size_t r = 0; r < rows; r++) {
    for (size_t c = 0, run; c < columns; c += run) {
      run = run_length(p, columns, c);
      double limit = p->format->max * (double)tw_format_scale(p, rows, columns, codes, scales, r, c);
      limit *= 1 + scale_error(p->format);
      for (size_t i = 0; i < run; i++) add_value(s, x[r * columns + c + i], y[r * columns + c + i], (float)limit);
    }
  }
}

double statistics_rms(const statistics *s) {
  uint64_t counted = s->values - s->non_finite;
  return counted ? sqrt(s->sum_error2 / (double)counted) : 0;
}

double statistics_relative(const statistics *s) { return s->sum_value2 > 0 ? sqrt(s->sum_error2 / s->sum_value2) : 0; }
