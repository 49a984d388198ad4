/* statistics.c - see statistics.h. Values are processed in chunks, each with the limit that its scale sets; sums are
 * in double. */
#include "tensors/statistics.h"

#include <math.h>
#include <string.h>

#include "format/internal.h"

enum { CHUNK = COUNT_MOST }; /* number of values whose 4 arrays fit into a first-level cache */

typedef struct counting {
  const format_kernels *kernels;
  uint32_t bin[ERROR_BINS];
  float limit[CHUNK], error[CHUNK];
} counting;

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

/* A scale that was rounded may be slightly too small; the value from which it was computed is not clipped. */
static double scale_error(const tw_format *f) {
  return f->type == TW_TERNARY && f->scale == TW_SCALE_INSIDE ? 0x1p-10 /* f16 */ : 0x1p-20;
}

static void fill_limits(const tw_packing *p, const tw_packed_size *size, size_t row, size_t columns, size_t from,
                        size_t n, const void *codes, const void *scales, float limit[CHUNK]) {
  const double largest = p->format->max * (1 + scale_error(p->format));
  if (p->format->scale == TW_SCALE_NONE) { /* formats without scales have one limit, which earlier chunks have set */
    if (row || from) return;
    for (size_t i = 0; i < CHUNK; i++) limit[i] = (float)largest;
    return;
  }
  for (size_t c = 0, run; c < n; c += run) {
    run = run_length(p, columns, from + c);
    if (run > n - c) run = n - c;
    const float most = (float)(largest * (double)format_scale_at(p, size, codes, scales, row, from + c));
    for (size_t i = c; i < c + run; i++) limit[i] = most;
  }
}

static void drain(statistics_part *part) {
  statistics *s = &part->counts;
  for (int lane = 0; lane < COMPARE_LANES; lane++) {
    s->clipped += (uint64_t)-part->sums.clipped[lane];
    s->exact += (uint64_t)-part->sums.exact[lane];
    s->non_finite += (uint64_t)-part->sums.faults[lane];
    part->sums.clipped[lane] = part->sums.exact[lane] = part->sums.faults[lane] = 0;
  }
}

static void add_chunk(counting *c, const float *x, const float *y, size_t n, statistics_part *part) {
  const size_t whole = n / COMPARE_LANES * COMPARE_LANES, rest = n - whole;
  c->kernels->compare(x, y, c->limit, whole, c->error, &part->sums);
  drain(part);
  if (rest) { /* padded with zeros, which are converted exactly */
    float x_rest[COMPARE_LANES] = {0}, y_rest[COMPARE_LANES] = {0}, limits[COMPARE_LANES] = {0}, errors[COMPARE_LANES];
    memcpy(x_rest, x + whole, rest * sizeof *x);
    memcpy(y_rest, y + whole, rest * sizeof *y);
    memcpy(limits, c->limit + whole, rest * sizeof *limits);
    c->kernels->compare(x_rest, y_rest, limits, COMPARE_LANES, errors, &part->sums);
    memcpy(c->error + whole, errors, rest * sizeof *errors);
    drain(part);
    part->counts.exact -= COMPARE_LANES - rest;
  }
  c->kernels->count(c->error, n, c->bin);
}

void statistics_measure(statistics_part *part, const tw_packing *p, size_t rows, size_t columns, const float *x,
                        const float *y, const void *codes, const void *scales) {
  counting c = {.kernels = format_kernels_chosen()};
  statistics *s = &part->counts;
  tw_packed_size size;
  *part = (statistics_part){0};
  if (tw_format_sizes(p, rows, columns, &size, NULL) != TW_OK) return; /* such a matrix cannot have been encoded */
  s->values = (uint64_t)rows * columns;
  for (size_t r = 0; r < rows; r++) {
    for (size_t from = 0, n; from < columns; from += n) {
      n = columns - from < CHUNK ? columns - from : CHUNK;
      fill_limits(p, &size, r, columns, from, n, codes, scales, c.limit);
      add_chunk(&c, x + r * columns + from, y + r * columns + from, n, part);
    }
  }
  for (int bin = 0; bin < ERROR_BINS; bin++) s->bin[bin] = c.bin[bin];
  s->bin[0] -= s->exact + s->non_finite; /* errors of 0 were counted in bin 0 */
}

void statistics_add(statistics *s, const statistics_part *part) {
  s->values += part->counts.values;
  s->non_finite += part->counts.non_finite;
  s->clipped += part->counts.clipped;
  s->exact += part->counts.exact;
  for (int bin = 0; bin < ERROR_BINS; bin++) s->bin[bin] += part->counts.bin[bin];
  for (int lane = 0; lane < COMPARE_LANES; lane++) {
    s->sum_error2 += part->sums.error2[lane];
    s->sum_value2 += part->sums.value2[lane];
    s->max_error = fmax(s->max_error, (double)part->sums.max_error[lane]);
    s->max_value = fmax(s->max_value, (double)part->sums.max_value[lane]);
  }
}
