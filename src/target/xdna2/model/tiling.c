/* tiling.c - equation 2 of the ATB paper: intensity of tiled GEMM. */
#include "target/xdna2/model/tiling.h"

#include <math.h>

tw_tile tw_level_tile(const tw_level levels[], size_t n, const tw_tile *inner) {
  tw_tile t = *inner;
  for (size_t i = 0; i < n; i++) {
    t.m *= levels[i].rows;
    t.n *= levels[i].columns;
    t.rho = levels[i].rho;
  }
  return t;
}

double tw_intensity_at(const tw_level levels[], size_t n, const tw_tile *inner, const tw_element_bytes *e,
                       double depth) {
  const tw_tile t = tw_level_tile(levels, n, inner);
  return 2 / (e->a / (double)t.n + e->b / (double)t.m + e->c / depth);
}

static double round_up(double size, int64_t unit) { return ceil(size / (double)unit) * (double)unit; }

tw_traffic tw_gemm_traffic(const tw_tile *t, const tw_element_bytes *e, double m, double n, double k) {
  m = round_up(m, t->m);
  n = round_up(n, t->n);
  k = round_up(k, t->k);
  return (tw_traffic){
      .a = e->a * m * k * (n / (double)t->n), .b = e->b * k * n * (m / (double)t->m), .c = e->c * m * n};
}
