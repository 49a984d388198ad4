// Softmax of rows with register tiles: a wave has 16 rows.
// build/tilewright run examples/tiles/softmax_cdna.hip softmax rows=1000 cols=500 a=bf16 -t cdna4
//: kernel    softmax
//: let       WIDE = align(cols, 16), WAVES = 4
//: require   a == bf16 && log == 0 && cols % 4 == 0 && cols <= 512
//: grid      ceildiv(rows, WAVES * 16)
//: block     WAVES * 64
//: args      x, y, rows, cols
#include "tile.hpp"
using namespace tw;

TW_KERNEL(WAVES * 64, 1) softmax(const bf16 *x, bf16 *y, int rows, int cols) {
  const int own = (block_of_grid() * WAVES + group_of_block()) * 16;
  rt_bf<16, WIDE> in;
  rt_fl<16, WIDE> values;
  rt_fl<16, WIDE>::col_vec most, total;
  load(in, matrix_of<const bf16>{x, cols, rows, cols}, own, 0);
  copy(values, in);
  right_fill(values, values, cols, -infinity());
  row_max(most, values);
  sub_row(values, values, most);
  exp(values, values);
  row_sum(total, values);
  div_row(values, values, total);
  store(matrix_of<bf16>{y, cols, rows, cols}, values, own, 0);
}
