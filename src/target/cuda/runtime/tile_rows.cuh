/* tile_rows.cuh - words for kernels that go through rows: chunks of 16 bytes, what is in them, reductions, random bits. */
#pragma once
#include "tile_core.cuh"

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

/* Eight floats as a sum of bf16 (f16): parts of 16 bytes each, `apart` elements from each other, rounded one after the other. */
template <int Parts, class Type> TW_FN void store_parts(Type *to, i64 apart, float (&value)[8]) {
#pragma unroll
  for (int p = 0; p < Parts; p++) {
    vec16 v;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      v.word[i] = tw::packed<Type>::of(value[2 * i], value[2 * i + 1]);
      value[2 * i] -= low<Type>(v.word[i]);
      value[2 * i + 1] -= high<Type>(v.word[i]);
    }
    store16(to + p * apart, v);
  }
}

/* Over the 32 threads of a warp; all get it. */
template <class Reduce> TW_FN float over_warp(float x) {
#pragma unroll
  for (int d = 16; d; d /= 2) x = Reduce::of(x, __shfl_xor_sync(0xffffffffu, x, d));
  return x;
}
/* Over `Warps` neighbouring warps; all of the block's threads call. `scratch` holds a float for each warp and is not
 * written again before a sync. */
template <class Reduce, int Warps> TW_FN float over_warps(float x, float *scratch) {
  x = over_warp<Reduce>(x);
  if constexpr (Warps > 1) {
    const int warp = (int)threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) scratch[warp] = x;
    __syncthreads();
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
