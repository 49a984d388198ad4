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
    for (int64_t i = 0; i < columns; i++)
      tw_set_element(f->o->type, f->data, at + i * step,
                     s.middle + (double)tw_random_between(&r, -0xffffff, 0xffffff) * unit);
  }
}

static void fill(filling *f) {
  const int64_t rows = tw_operand_rows(f->o);
  tw_parallel_for(rows * tw_operand_columns(f->o) < SMALL ? 1 : 0, (size_t)((rows + ROWS - 1) / ROWS), fill_piece, f);
}

void tw_fill_uniform(uint64_t seed, int operand, const tw_operand *o, double amplitude, void *data) {
  fill(&(filling){.seed = seed, .operand = operand, .o = o, .all = {0, amplitude}, .data = data});
}

void tw_fill_rows(uint64_t seed, int operand, const tw_operand *o, tw_spread (*of_row)(uint64_t, int64_t), void *data) {
  fill(&(filling){.seed = seed, .operand = operand, .o = o, .of_row = of_row, .data = data});
}
