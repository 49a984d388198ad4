// Layer norm of rows with register tiles: a wave has 16 rows.
// build/tilewright run examples/tiles/layernorm_cdna.hip layernorm rows=1000 cols=512 a=bf16 -t cdna4
//: kernel    layernorm
//: let       COLS = cols, WAVES = 4
//: require   a == bf16 && cols % 16 == 0 && cols <= 512
//: grid      ceildiv(rows, WAVES * 16)
//: block     WAVES * 64
//: args      x, weight, bias, y, rows, f32(eps)
#include "tile.hpp"
using namespace tw;
using tile = rt_fl<16, COLS>;

/* A vector of all columns, as a tile whose rows are alike. */
TW_FN void load_row(tile::row_vec &to, const bf16 *from) {
  rt_bf<16, COLS> rows;
  load(rows, matrix_of<const bf16>{from, 0, 16, COLS}, 0, 0);
  tile wide;
  copy(wide, rows);
  col_max(to, wide);
}
TW_KERNEL(WAVES * 64, 1)
layernorm(const bf16 *x, const bf16 *weight, const bf16 *bias, bf16 *y, int rows, float eps) {
  const int own = (block_of_grid() * WAVES + group_of_block()) * 16;
  rt_bf<16, COLS> in;
  tile values, squares;
  tile::col_vec mean, spread;
  tile::row_vec factor, addend;
  load(in, matrix_of<const bf16>{x, COLS, rows, COLS}, own, 0);
  copy(values, in);
  row_sum(mean, values);
  mul(mean, mean, 1.f / COLS);
  sub_row(values, values, mean);
  mul(squares, values, values);
  row_sum(spread, squares);
  mul(spread, spread, 1.f / COLS);
  add(spread, spread, eps);
  rsqrt(spread, spread);
  mul_row(values, values, spread);
  load_row(factor, weight);
  load_row(addend, bias);
  mul_col(values, values, factor);
  add_col(values, values, addend);
  store(matrix_of<bf16>{y, COLS, rows, COLS}, values, own, 0);
}
