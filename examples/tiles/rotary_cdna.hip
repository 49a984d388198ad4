// Rotary embedding with register tiles: a wave has 16 positions of one head.
// build/tilewright run examples/tiles/rotary_cdna.hip rotary b=2 h=3 s=200 d=128 a=bf16 -t cdna4
//: kernel    rotary
//: let       HALF = d / 2, WAVES = 4
//: require   a == bf16 && !interleaved && !transposed && d % 32 == 0 && d <= 256
//: grid      ceildiv(s, WAVES * 16), h, b
//: block     WAVES * 64
//: args      x, cos, sin, y, s, h
#include "tile.hpp"
using namespace tw;
using half = rt_fl<16, HALF>;

TW_FN void load_half(half &to, const bf16 *from, i64 ld, int s, int row) {
  rt_bf<16, HALF> in;
  load(in, matrix_of<const bf16>{from, ld, s, HALF}, row, 0);
  copy(to, in);
}
TW_KERNEL(WAVES * 64, 1) rotary(const bf16 *x, const bf16 *cos, const bf16 *sin, bf16 *y, int s, int h) {
  const int own = (block_of_grid() * WAVES + group_of_block()) * 16;
  const i64 ld = (i64)h * 2 * HALF;
  const i64 at = (i64)__builtin_amdgcn_workgroup_id_z() * s * ld + (i64)__builtin_amdgcn_workgroup_id_y() * 2 * HALF;
  half low, high, cosine, sine, first, second;
  load_half(low, x + at, ld, s, own);
  load_half(high, x + at + HALF, ld, s, own);
  load_half(cosine, cos, HALF, s, own);
  load_half(sine, sin, HALF, s, own);
  mul(first, low, cosine);
  mul(second, high, sine);
  sub(first, first, second);
  mul(high, high, cosine);
  mul(low, low, sine);
  add(high, high, low);
  store(matrix_of<bf16>{y + at, ld, s, HALF}, first, own, 0);
  store(matrix_of<bf16>{y + at + HALF, ld, s, HALF}, high, own, 0);
}
