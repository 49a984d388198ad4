/* tile_rows.cuh - words for kernels that go through rows: reductions over threads, results in parts. */
#pragma once
#include "tile_core.cuh"

namespace tw {

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

/* Eight floats that copies round to tf32. */
template <int Parts> TW_FN void store_parts(tf32 *to, i64, float (&value)[8]) {
  static_assert(Parts == 1, "tf32 has no parts");
#pragma unroll
  for (int half = 0; half < 2; half++) {
    vec16 v;
#pragma unroll
    for (int i = 0; i < 4; i++) v.word[i] = bits_of(value[4 * half + i]);
    store16(to + 4 * half, v);
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

}  // namespace tw
