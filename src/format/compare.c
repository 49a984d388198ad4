/* compare.c - see compare.h. */
#define COMPARE compare_vectors
#define COUNT count_vectors
#define COMPARE_WIDTH 4
#include "format/compare.h"

void compare_reference(const float *x, const float *y, const float *limit, size_t n, float *error,
                       format_errors *sums) {
  compare_vectors(x, y, limit, n, error, sums);
}

void count_reference(const float *error, size_t n, uint32_t *bin) { count_vectors(error, n, bin); }
