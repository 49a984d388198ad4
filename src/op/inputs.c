/* inputs.c - see inputs.h. */
#include "op/inputs.h"

#include "base/parallel.h"
#include "base/random.h"
#include "op/element.h"

enum { ROWS = 256, SMALL = 1 << 16 }; /* rows of a piece of work; elements that are not worth threads */

typedef struct filling {
  uint64_t seed;
  int operand;
  const tw_operand *o;
  tw_spread all, (*of_row)(uint64_t seed, int64_t row); /* of_row NULL: all */
  bool signs;                                           /* a random sign on top */
  void *data;
} filling;

static void fill_piece(void *context, size_t index) {
  const filling *f = context;
  const int64_t rows = tw_operand_rows(f->o), columns = tw_operand_columns(f->o), step = f->o->stride[f->o->rank - 1];
  for (int64_t row = (int64_t)index * ROWS; row < rows && row < ((int64_t)index + 1) * ROWS; row++) {
    const tw_spread s = f->of_row ? f->of_row(f->seed, row) : f->all;
    const double unit = s.amplitude * 0x1p-24;
    const int64_t at = tw_operand_row_at(f->o, row);
    tw_random r;
    tw_random_seed_stream(&r, f->seed, (uint64_t)(f->operand + 8) << 32 | (uint64_t)row);
    for (int64_t i = 0; i < columns; i++) {
      const double value = s.middle + (double)tw_random_between(&r, -0xffffff, 0xffffff) * unit;
      tw_set_element(f->o->type, f->data, at + i * step, f->signs && tw_random_below(&r, 2) ? -value : value);
    }
  }
}

static void fill(filling *f) {
  const int64_t rows = tw_operand_rows(f->o);
  tw_parallel_for(rows * tw_operand_columns(f->o) < SMALL ? 1 : 0, (size_t)((rows + ROWS - 1) / ROWS), fill_piece, f);
}

/* ---- lines ---- */

typedef enum manner { UNIFORM, UPPER, BINADES, FEW, MANNERS } manner;

typedef struct lines {
  uint64_t seed;
  int operand;
  const tw_operand *o;
  tw_lines lines;
  bool wide;
  manner most; /* half of all lines, besides their share of the others */
  void *data;
} lines;

typedef struct line {
  manner is;
  double unit;
} line;

/* A few bits for each line, in a few instructions: columns ask for theirs in every row. splitmix64's function. */
static line line_of(const lines *l, int64_t index) {
  uint64_t x = (l->seed ^ (uint64_t)l->operand << 56) + (uint64_t)(index + 1) * UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  x ^= x >> 31;
  const double part = (double)((x >> 5 & 0xff) + 0x100) / 0x200;
  return (line){.is = x & 1 ? l->most : (manner)(x >> 1 & 3),
                .unit = 0x1p-24 * part / (double)(l->wide ? 1 << (x >> 3 & 3) : 1)};
}

static double draw(tw_random *r, line l) {
  const uint64_t x = tw_random_next(r), low = x >> 32 & 0xffffff, upper = low | 0x800000;
  const double size = l.is == UNIFORM   ? (double)low
                      : l.is == UPPER   ? (double)upper
                      : l.is == BINADES ? (double)upper / (double)(1 << (x >> 20 & 3))
                                        : (double)upper / (x >> 20 & 3 ? 4 : 1);
  return (x >> 63 ? -l.unit : l.unit) * size;
}

static void fill_line_piece(void *context, size_t index) {
  const lines *l = context;
  const int64_t rows = tw_operand_rows(l->o), columns = tw_operand_columns(l->o), step = l->o->stride[l->o->rank - 1];
  for (int64_t row = (int64_t)index * ROWS; row < rows && row < ((int64_t)index + 1) * ROWS; row++) {
    const int64_t at = tw_operand_row_at(l->o, row);
    line own = line_of(l, row);
    tw_random r;
    tw_random_seed_stream(&r, l->seed, (uint64_t)(l->operand + 8) << 32 | (uint64_t)row);
    for (int64_t i = 0; i < columns; i++) {
      if (l->lines == TW_LINES_COLUMNS) own = line_of(l, i);
      tw_set_element(l->o->type, l->data, at + i * step, draw(&r, own));
    }
  }
}

void tw_fill_lines(uint64_t seed, int operand, const tw_operand *o, tw_lines along, bool wide, void *data) {
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)(operand + 24) << 32);
  lines l = {.seed = seed, .operand = operand, .o = o, .lines = along, .wide = wide, .data = data};
  l.most = (manner)tw_random_below(&r, MANNERS);
  const int64_t rows = tw_operand_rows(o);
  tw_parallel_for(rows * tw_operand_columns(o) < SMALL ? 1 : 0, (size_t)((rows + ROWS - 1) / ROWS), fill_line_piece,
                  &l);
}

/* ---- all alike, or row by row ---- */

void tw_fill_uniform(uint64_t seed, int operand, const tw_operand *o, double amplitude, void *data) {
  fill(&(filling){.seed = seed, .operand = operand, .o = o, .all = {0, amplitude}, .data = data});
}

void tw_fill_factors(uint64_t seed, int operand, const tw_operand *o, void *data) {
  fill(&(filling){.seed = seed, .operand = operand, .o = o, .all = {1, 0.75}, .signs = true, .data = data});
}

void tw_fill_rows(uint64_t seed, int operand, const tw_operand *o, tw_spread (*of_row)(uint64_t, int64_t), void *data) {
  fill(&(filling){.seed = seed, .operand = operand, .o = o, .of_row = of_row, .data = data});
}
