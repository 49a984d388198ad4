/* tile_rows.hpp - words for kernels that go through rows: chunks of 16 bytes, what is in them, reductions, random bits. */
#pragma once
#include "tile_core.hpp"

namespace tw {

/* The elements of 16 bytes as floats, and back (to nearest, ties to even). */
template <class Type> struct chunk {
  static constexpr int count = 16 / (int)sizeof(Type);
  float value[count];
  TW_FN void unpack(vec16 v) {
#pragma unroll
    for (int i = 0; i < 4; i++)
      if constexpr (sizeof(Type) == 4)
        value[i] = float_of(v.word[i]);
      else {
        value[2 * i] = low<Type>(v.word[i]);
        value[2 * i + 1] = high<Type>(v.word[i]);
      }
  }
  TW_FN vec16 packed() const {
    vec16 v;
#pragma unroll
    for (int i = 0; i < 4; i++)
      if constexpr (sizeof(Type) == 4)
        v.word[i] = bits_of(value[i]);
      else
        v.word[i] = tw::packed<Type>::of(value[2 * i], value[2 * i + 1]);
    return v;
  }
};

template <int Control> TW_FN float moved(float x) {
  return float_of((u32)__builtin_amdgcn_update_dpp(0, (int)bits_of(x), Control, 15, 15, false));
}
TW_FN float of_lane(float x, int lane) { return float_of((u32)__builtin_amdgcn_readlane((int)bits_of(x), lane)); }

/* Over the 16 lanes that lie beside each other; all get it. Lanes change places within 2, 4, 8 and 16. */
template <class Reduce> TW_FN float over_16(float x) {
  x = Reduce::of(x, moved<0xB1>(x));  /* quad_perm:[1,0,3,2] */
  x = Reduce::of(x, moved<0x4E>(x));  /* quad_perm:[2,3,0,1] */
  x = Reduce::of(x, moved<0x141>(x)); /* row_half_mirror */
  return Reduce::of(x, moved<0x140>(x)); /* row_mirror */
}

/* Over `Lanes` neighbours, 8 or 16; all get it. */
template <class Reduce, int Lanes> TW_FN float over_lanes(float x) {
  static_assert(Lanes == 8 || Lanes == 16, "half a row of lanes, or a row");
  if constexpr (Lanes == 16) return over_16<Reduce>(x);
  x = Reduce::of(x, moved<0xB1>(x));
  x = Reduce::of(x, moved<0x4E>(x));
  return Reduce::of(x, moved<0x141>(x));
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

/* Philox4x32-10 (J. Salmon et al., SC 2011): four words for a counter and a key. */
struct philox {
  u32 word[4];
  TW_FN philox(u32 c0, u32 c1, u32 key0, u32 key1) : word{c0, c1, 0, 0} {
#pragma unroll
    for (int round = 0; round < 10; round++) {
      const u64 a = (u64)0xD2511F53u * word[0], b = (u64)0xCD9E8D57u * word[2];
      const u32 w0 = (u32)(b >> 32) ^ word[1] ^ key0, w2 = (u32)(a >> 32) ^ word[3] ^ key1;
      word[1] = (u32)b;
      word[3] = (u32)a;
      word[0] = w0;
      word[2] = w2;
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
  }
};

}  // namespace tw
