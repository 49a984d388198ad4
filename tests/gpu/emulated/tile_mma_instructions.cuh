/* tile_mma_instructions.cuh - wgmma and stmatrix in C++, for bf16 in shared memory with the swizzle of 128 bytes. Products happen when they are issued or
 * when they are waited for. The PTX ISA defines which thread has what, and the descriptor of B. */
#pragma once
#include "tile_core.cuh"
#include "tile_warp_instructions.cuh"

namespace tw {

template <class Value> TW_FN void mma_settle(Value &) {}
TW_FN void mma_forget(float &x) { x = __uint_as_float(0xffffffffu); }
TW_FN void mma_begin() {}
TW_FN void mma_commit() { emulated::commit_products(); }

/* Element (line, k) of an operand with k along its rows, or (`turned`) across them. The swizzle exchanges pieces of 16 bytes. */
inline double element_at(unsigned long long descriptor, bool turned, unsigned line, unsigned k) {
  const auto field = [&](int from) { return (unsigned)(descriptor >> from & 0x3fff) << 4; };
  const unsigned place = turned ? field(0) + line / 64 * field(16) + k / 8 * field(32) + k % 8 * 128 + line % 64 * 2
                                : field(0) + line / 8 * field(32) + line % 8 * 128 + k * 2;
  u16 x;
  memcpy(&x, emulated::shared(place ^ (place >> 7 & 7) << 4, 2), 2);
  return element(bf16{}, x, 0);
}
inline void perform(emulated::product_of_group &own) {
  emulated::together("wgmma", &own, [](void **all) {
    const auto *first = (emulated::product_of_group *)all[0];
    if (first->b >> 62 != 1) emulated::wrong("an operand of wgmma without the swizzle of 128 bytes, which is not emulated");
    static double left[16][16], right[256][16];
    for (int t = 0; first->a && t < 32; t++)
      for (int j = 0; j < 4; j++)
        for (int e = 0; e < 2; e++) left[t / 4 + j % 2 * 8][j / 2 * 8 + t % 4 * 2 + e] = element(bf16{}, ((emulated::product_of_group *)all[t])->a[j], e);
    const unsigned row = (unsigned)emulated::current % 128 / 32 * 16; /* of the warp */
    for (unsigned i = 0; !first->a && i < 256; i++) left[i / 16][i % 16] = element_at(first->at_a, false, row + i / 16, i % 16);
    for (unsigned i = 0; i < (unsigned)first->cols * 16; i++) right[i / 16][i % 16] = element_at(first->b, first->turned, i / 16, i % 16);
    for (int t = 0; t < 32; t++)
      for (int i = 0; i < first->cols / 2; i++) {
        const auto *p = (emulated::product_of_group *)all[t];
        double sum = p->more ? p->d[i] : 0;
        for (int k = 0; k < 16; k++) sum += left[t / 4 + i / 2 % 2 * 8][k] * right[i / 4 * 8 + t % 4 * 2 + i % 2][k];
        p->d[i] = (float)sum;
      }
  });
}
/* A warpgroup multiplies together: no warp has its results before all four have. */
template <int Count> void mma_wait() {
  const int group = 16 + emulated::current / 128;
  emulated::sync_named(group, 128);
  emulated::wait_products(Count);
  emulated::sync_named(group, 128);
}
template <class Type, int Cols, bool Tb> void mma_step(float (&d)[Cols / 2], const u32 (&a)[4], u64 b, int more) {
  static_assert(sizeof(Type) == 2, "other products are not emulated");
  emulated::issue_product({d, a, 0, b, Cols, more, Tb, perform});
}
template <class Type, int Cols, bool Ta, bool Tb> void mma_step(float (&d)[Cols / 2], u64 a, u64 b, int more) {
  static_assert(sizeof(Type) == 2 && !Ta, "other products are not emulated");
  emulated::issue_product({d, nullptr, a, b, Cols, more, Tb, perform});
}

struct matrices_stored {
  u32 at, word[4];
};
inline void store_matrices(u32 at, u32 w0, u32 w1, u32 w2, u32 w3) {
  matrices_stored own{at, {w0, w1, w2, w3}};
  emulated::together("stmatrix", &own, [](void **all) {
    for (int t = 0; t < 32; t++)
      for (int m = 0; m < 4; m++)
        memcpy(emulated::shared(((matrices_stored *)all[8 * m + t / 4])->at, 16) + t % 4 * 4, &((matrices_stored *)all[t])->word[m], 4);
  });
}

} // namespace tw
