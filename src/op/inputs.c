/* inputs.c - see inputs.h. */
#include "op/inputs.h"

#include <math.h>
#include <stdlib.h>

#include "base/integers.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/strings.h"
#include "op/element.h"

/* rows of a piece of work; elements that are not worth threads; elements that are converted together */
enum { ROWS = 32, SMALL = 1 << 16, PART = 256 };

typedef struct filling {
  uint64_t seed;
  int operand;
  const tw_operand *o;
  tw_row_spread all, (*of_row)(uint64_t seed, int64_t row); /* of_row NULL: all */
  bool signs;                                               /* a random sign on top */
  void *data;
} filling;

static void fill_piece(void *context, size_t index) {
  const filling *f = context;
  const int64_t rows = tw_operand_rows(f->o), columns = tw_operand_columns(f->o), step = f->o->stride[f->o->rank - 1];
  for (int64_t row = (int64_t)index * ROWS; row < rows && row < ((int64_t)index + 1) * ROWS; row++) {
    const tw_row_spread s = f->of_row ? f->of_row(f->seed, row) : f->all;
    const double unit = s.amplitude * 0x1p-24;
    const int64_t at = tw_operand_row_at(f->o, row);
    tw_random r;
    tw_random_seed_stream(&r, f->seed, (uint64_t)(f->operand + 8) << 32 | (uint64_t)row);
    for (int64_t first = 0; first < columns; first += PART) {
      const int64_t n = columns - first < PART ? columns - first : PART;
      double x[PART];
      for (int64_t i = 0; i < n; i++) {
        const double value = s.middle + (double)tw_random_between(&r, -0xffffff, 0xffffff) * unit;
        x[i] = f->signs && tw_random_below(&r, 2) ? -value : value;
      }
      tw_set_element_row(f->o->type, f->data, at + first * step, step, n, x);
    }
  }
}

static void fill_values(filling *f) {
  const int64_t rows = tw_operand_rows(f->o);
  tw_parallel_for(rows * tw_operand_columns(f->o) < SMALL ? 1 : 0, (size_t)tw_ceil_div(rows, ROWS), fill_piece, f);
}

/* ---- small beside others ---- */

/* A few bits for each line, in a few instructions, as splitmix64 makes them. */
static uint64_t bits_of(uint64_t seed, int operand, int64_t index) {
  return tw_random_mix((seed ^ (uint64_t)operand << 56) + (uint64_t)(index + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

enum { TERMS = 40, BLOCKS = 48, FAR_LINES = 56, FINE = 8, COARSE = 256, RUN = 32 }; /* streams of bits_of; sizes */

/* Is `at` in the run of its part of n? Runs are aligned to their own size, and never fill a part. */
static bool in_run(uint64_t seed, int stream, int64_t at, int64_t n) {
  const int64_t first = at / COARSE * COARSE, size = n - first < COARSE ? n - first : COARSE;
  const uint64_t x = bits_of(seed, stream, at / COARSE);
  int64_t run = RUN << x % 3;
  while (run > RUN && size / run < 2) run /= 2;
  const int64_t runs = size / run;
  return runs >= 2 && (at - first) / run == (int64_t)((x >> 8) % (uint64_t)runs);
}

int tw_term_exponent(uint64_t seed, int64_t p, int64_t n) {
  const int64_t group = p / FINE, left = n - group * FINE, size = left < FINE ? left : FINE;
  const uint64_t x = bits_of(seed, TERMS, group), all = bits_of(seed, TERMS + 1, 0);
  int exponent = 0;
  if (n < 2) return 0;
  if (p % FINE == (int64_t)((x >> 8) % (uint64_t)size))
    exponent = ((uint64_t)group ^ all) & 1 ? 2 + (int)(x & 1) : -2 - (int)(x & 1);
  if (in_run(seed, TERMS + 2, p, n)) exponent += (bits_of(seed, TERMS + 3, p / COARSE) ^ all >> 1) & 1 ? 2 : -2;
  return exponent;
}

typedef struct scaling {
  const tw_terms *terms;
  const tw_operand *o;
  void *data;
  const double *factor; /* of each term; NULL: computed each time */
} scaling;

static double factor_of(const tw_terms *t, int64_t term) {
  enum { FAR = 24 };
  const bool up = (bits_of(t->seed, FAR_LINES + t->inverse, term / 2) ^ (uint64_t)term) & 1;
  const int exponent = t->far ? (up ? FAR : -FAR) : tw_term_exponent(t->seed, term, t->n);
  return ldexp(1, t->inverse ? -exponent : exponent);
}

static void scale_row(const scaling *s, int64_t row, int64_t columns, int64_t step) {
  const tw_terms *t = s->terms;
  const int64_t at = tw_operand_row_at(s->o, row), term = t->run ? row / t->run % t->n : 0;
  /* the factor of all elements of the row; 0: each element has its own */
  const double shared = !t->run ? 0 : s->factor ? s->factor[term] : factor_of(t, term);
  double x[PART];
  for (int64_t first = 0; first < columns && shared != 1; first += PART) {
    const int64_t n = columns - first < PART ? columns - first : PART;
    tw_element_row(s->o->type, s->data, at + first * step, step, n, x);
    for (int64_t i = 0; i < n; i++)
      x[i] *= t->run ? shared : s->factor ? s->factor[first + i] : factor_of(t, first + i);
    tw_set_element_row(s->o->type, s->data, at + first * step, step, n, x);
  }
}

static void scale_piece(void *context, size_t index) {
  const scaling *s = context;
  const int64_t rows = tw_operand_rows(s->o), columns = tw_operand_columns(s->o), step = s->o->stride[s->o->rank - 1];
  for (int64_t row = (int64_t)index * ROWS; row < rows && row < ((int64_t)index + 1) * ROWS; row++)
    scale_row(s, row, columns, step);
}

void tw_scale_terms(const tw_terms *t, const tw_operand *o, void *data) {
  const int64_t rows = tw_operand_rows(o);
  double *factor = tw_new((size_t)t->n, sizeof *factor);
  for (int64_t i = 0; factor && i < t->n; i++) factor[i] = factor_of(t, i);
  scaling s = {t, o, data, factor};
  tw_parallel_for(rows * tw_operand_columns(o) < SMALL ? 1 : 0, (size_t)tw_ceil_div(rows, ROWS), scale_piece, &s);
  free(factor);
}

/* A run of lines that is small beside other lines. */
static double block_factor(uint64_t seed, int operand, int64_t line, int64_t lines) {
  return in_run(seed, BLOCKS + operand, line, lines) ? 0x1p-3 : 1;
}

/* ---- lines ---- */

typedef enum manner { UNIFORM, UPPER, BINADES, FEW, MANNERS } manner;

typedef struct lines {
  uint64_t seed;
  int operand;
  const tw_operand *o;
  tw_lines lines;
  bool wide;
  manner most; /* half of all lines have this manner; the other half have one of the four at random */
  void *data;
  const struct line *column; /* for each column; NULL: computed again for each element */
} lines;

typedef struct line {
  manner is;
  double unit;
} line;

static line line_of(const lines *l, int64_t index) {
  const int64_t n_lines = l->lines == TW_LINES_ROWS ? tw_operand_rows(l->o) : tw_operand_columns(l->o);
  const uint64_t x = bits_of(l->seed, l->operand, index);
  const double part = (double)((x >> 5 & 0xff) + 0x100) / 0x200;
  return (line){.is = x & 1 ? l->most : (manner)(x >> 1 & 3),
                .unit = 0x1p-24 * part *
                        (l->wide ? block_factor(l->seed, l->operand, index, n_lines) / (1 << (x >> 3 & 3)) : 1)};
}

static double element_of(uint64_t x, line l) {
  static const double part[MANNERS][4] = {[UNIFORM] = {1, 1, 1, 1},
                                          [UPPER] = {1, 1, 1, 1},
                                          [BINADES] = {1, 0.5, 0.25, 0.125},
                                          [FEW] = {1, 0.25, 0.25, 0.25}};
  const int64_t size = (int64_t)((x >> 32 & 0xffffff) | (l.is == UNIFORM ? 0 : 0x800000));
  return (x >> 63 ? -l.unit : l.unit) * ((double)size * part[l.is][x >> 20 & 3]);
}

static void fill_line_piece(void *context, size_t index) {
  const lines *l = context;
  const int64_t rows = tw_operand_rows(l->o), columns = tw_operand_columns(l->o), step = l->o->stride[l->o->rank - 1];
  for (int64_t row = (int64_t)index * ROWS; row < rows && row < ((int64_t)index + 1) * ROWS; row++) {
    const int64_t at = tw_operand_row_at(l->o, row);
    line own = line_of(l, row);
    tw_random r;
    tw_random_seed_stream(&r, l->seed, (uint64_t)(l->operand + 8) << 32 | (uint64_t)row);
    for (int64_t first = 0; first < columns; first += PART) {
      const int64_t n = columns - first < PART ? columns - first : PART;
      double x[PART];
      for (int64_t i = 0; i < n; i++) {
        if (l->lines == TW_LINES_COLUMNS) own = l->column ? l->column[first + i] : line_of(l, first + i);
        x[i] = element_of(tw_random_next(&r), own);
      }
      tw_set_element_row(l->o->type, l->data, at + first * step, step, n, x);
    }
  }
}

void tw_fill_lines(uint64_t seed, int operand, const tw_operand *o, tw_lines along, bool wide, void *data) {
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)(operand + 24) << 32);
  lines l = {.seed = seed, .operand = operand, .o = o, .lines = along, .wide = wide, .data = data};
  l.most = (manner)tw_random_below(&r, MANNERS);
  const int64_t rows = tw_operand_rows(o), columns = tw_operand_columns(o);
  line *column = along == TW_LINES_COLUMNS ? tw_new((size_t)columns, sizeof *column) : NULL;
  for (int64_t i = 0; column && i < columns; i++) column[i] = line_of(&l, i);
  l.column = column;
  tw_parallel_for(rows * tw_operand_columns(o) < SMALL ? 1 : 0, (size_t)tw_ceil_div(rows, ROWS), fill_line_piece, &l);
  free(column);
}

/* ---- all alike, or row by row ---- */

void tw_fill_uniform(uint64_t seed, int operand, const tw_operand *o, double amplitude, void *data) {
  fill_values(&(filling){.seed = seed, .operand = operand, .o = o, .all = {0, amplitude}, .data = data});
}

void tw_fill_factors(uint64_t seed, int operand, const tw_operand *o, void *data) {
  fill_values(&(filling){.seed = seed, .operand = operand, .o = o, .all = {1, 0.75}, .signs = true, .data = data});
}

void tw_fill_rows(uint64_t seed, int operand, const tw_operand *o, tw_row_spread (*of_row)(uint64_t, int64_t),
                  void *data) {
  fill_values(&(filling){.seed = seed, .operand = operand, .o = o, .of_row = of_row, .data = data});
}

void tw_fill_outliers(uint64_t seed, int one_in, const tw_operand *o, double (*outlier)(double, tw_random *),
                      void *data) {
  enum { STREAM = 1 << 30 }; /* other random numbers than for the spread of a row */
  const int64_t rows = tw_operand_rows(o), columns = tw_operand_columns(o), step = o->stride[o->rank - 1];
  for (int64_t row = 0; row < rows; row++) {
    tw_random r;
    tw_random_seed_stream(&r, seed, (uint64_t)row + STREAM);
    if (tw_random_below(&r, (uint64_t)one_in)) continue;
    const int64_t at = tw_operand_row_at(o, row) + (int64_t)tw_random_below(&r, (uint64_t)columns) * step;
    tw_set_element(o->type, data, at, outlier(tw_element(o->type, data, at), &r));
  }
}

tw_row_spread tw_spread_by_row(uint64_t seed, int64_t row) {
  return (tw_row_spread){.amplitude = 1. / (1 << (bits_of(seed, 39, row) & 7))};
}

tw_row_spread tw_spread_to_bends(uint64_t seed, int64_t row) {
  return (tw_row_spread){.amplitude = 8 * tw_spread_by_row(seed, row).amplitude};
}

/* ---- zeros ---- */

int64_t tw_zero_line(uint64_t seed, int operand, int64_t n) {
  enum { ZEROS = 80 };
  return tw_seed_is(seed, TW_SEED_KIND) && n > 1 ? (int64_t)(bits_of(seed, ZEROS, operand) % (uint64_t)n) : -1;
}

void tw_zero_row(const tw_operand *o, int64_t row, void *data) {
  const int64_t columns = tw_operand_columns(o), step = o->stride[o->rank - 1];
  for (int64_t i = 0; row >= 0 && i < columns; i++)
    tw_set_element(o->type, data, tw_operand_row_at(o, row) + i * step, 0);
}

void tw_zero_column(const tw_operand *o, int64_t column, void *data) {
  const int64_t rows = tw_operand_rows(o), step = o->stride[o->rank - 1];
  for (int64_t row = 0; column >= 0 && row < rows; row++)
    tw_set_element(o->type, data, tw_operand_row_at(o, row) + column * step, 0);
}

void tw_zero_a_row(uint64_t seed, int operand, const tw_operand *o, void *data) {
  tw_zero_row(o, tw_zero_line(seed, operand, tw_operand_rows(o)), data);
}
