/* sample.c - see sample.h. */
#include "op/sample.h"

#include <math.h>
#include <stdlib.h>

#include "base/strings.h"

int64_t tw_limited(double x, int64_t least, int64_t most) {
  return x < (double)least ? least : x > (double)most ? most : (int64_t)x;
}

static int64_t part(int64_t size, int64_t i, int64_t n) { return (int64_t)((__int128)size * i / n); }

int64_t tw_sample_part(tw_random *r, int64_t size, int64_t i, int64_t n) {
  return tw_random_between(r, part(size, i, n), part(size, i + 1, n) - 1);
}

int tw_place_order(const void *a, const void *b) {
  const tw_place *x = a, *y = b;
  if (x->row != y->row) return x->row < y->row ? -1 : 1;
  return x->column < y->column ? -1 : x->column > y->column;
}

tw_place *tw_sample_elements(tw_random *r, int64_t rows, int64_t columns, double wanted, size_t *n) {
  const double side = sqrt((double)rows * (double)columns / wanted);
  const int64_t down = tw_limited((double)rows / side, 1, rows), across = tw_limited(wanted / (double)down, 1, columns);
  tw_place *place = tw_new((size_t)(down * across), sizeof *place);
  *n = 0;
  if (!place) return NULL;
  for (int64_t i = 0; i < down; i++)
    for (int64_t j = 0; j < across; j++)
      place[(*n)++] = (tw_place){tw_sample_part(r, rows, i, down), tw_sample_part(r, columns, j, across)};
  qsort(place, *n, sizeof *place, tw_place_order);
  return place;
}
