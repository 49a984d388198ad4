/* tile_rows.hpp - words for kernels that go through rows: reductions over threads. */
#pragma once
#include "tile_core.hpp"

namespace tw {

template <int Control> TW_FN float moved(float x) {
  return float_of((u32)__builtin_amdgcn_update_dpp(0, (int)bits_of(x), Control, 15, 15, false));
}
TW_FN float of_lane(float x, int lane) { return float_of((u32)__builtin_amdgcn_readlane((int)bits_of(x), lane)); }

/* Reduction over 16 neighbouring lanes; all get the result. Lanes are exchanged within 2, 4, 8 and 16. */
template <class Reduce> TW_FN float over_16(float x) {
  x = Reduce::of(x, moved<0xB1>(x));  /* quad_perm:[1,0,3,2] */
  x = Reduce::of(x, moved<0x4E>(x));  /* quad_perm:[2,3,0,1] */
  x = Reduce::of(x, moved<0x141>(x)); /* row_half_mirror */
  return Reduce::of(x, moved<0x140>(x)); /* row_mirror */
}

/* Over `Lanes` neighbours, 4, 8 or 16; all get it. */
template <class Reduce, int Lanes> TW_FN float over_lanes(float x) {
  static_assert(Lanes == 4 || Lanes == 8 || Lanes == 16, "a part of a row of lanes, or a row");
  if constexpr (Lanes == 16) return over_16<Reduce>(x);
  x = Reduce::of(x, moved<0xB1>(x));
  x = Reduce::of(x, moved<0x4E>(x));
  return Lanes == 4 ? x : Reduce::of(x, moved<0x141>(x));
}

/* Over the 64 threads of a wave; all get it. */
template <class Reduce> TW_FN float over_warp(float x) {
  x = over_16<Reduce>(x);
  return Reduce::of(Reduce::of(of_lane(x, 0), of_lane(x, 16)), Reduce::of(of_lane(x, 32), of_lane(x, 48)));
}
/* Over `Warps` neighbouring waves; all of the block's threads call. `scratch` holds a float for each wave and is not
 * written again before a sync. */
template <class Reduce, int Warps, class Scratch> TW_FN float over_warps(float x, Scratch scratch) {
  x = over_warp<Reduce>(x);
  if constexpr (Warps > 1) {
    const int warp = group_of_block();
    if (thread_of_group() == 0) scratch[warp] = x;
    sync_block();
    x = scratch[warp / Warps * Warps];
#pragma unroll
    for (int i = 1; i < Warps; i++) x = Reduce::of(x, scratch[warp / Warps * Warps + i]);
  }
  return x;
}

}  // namespace tw
