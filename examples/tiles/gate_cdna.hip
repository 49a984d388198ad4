// SiLU of the first half of each row times the second half, with register tiles: a wave has 16 rows and 64 columns.
// build/tilewright run examples/tiles/gate_cdna.hip gate rows=1000 cols=2000 a=bf16 -t cdna4
//: kernel    gate
//: let       WAVES = 4
//: require   a == bf16 && act == 0 && pass == 0 && cols % 4 == 0
//: grid      ceildiv(cols, 64), ceildiv(rows, WAVES * 16)
//: block     WAVES * 64
//: args      x, y, rows, cols
#include "tile.hpp"
using namespace tw;

TW_KERNEL(WAVES * 64, 1) gate(const bf16 *x, bf16 *y, int rows, int cols) {
  const int own = ((int)__builtin_amdgcn_workgroup_id_y() * WAVES + group_of_block()) * 16, col = block_of_grid() * 64;
  rt_bf<16, 64> in;
  rt_fl<16, 64> gates, ups, below;
  load(in, matrix_of<const bf16>{x, 2 * cols, rows, cols}, own, col);
  copy(gates, in);
  load(in, matrix_of<const bf16>{x + cols, 2 * cols, rows, cols}, own, col);
  copy(ups, in);
  mul(below, gates, -1);
  exp(below, below);
  add(below, below, 1);
  div(gates, gates, below);
  mul(ups, ups, gates);
  store(matrix_of<bf16>{y, cols, rows, cols}, ups, own, col);
}
