/* tile_mma_instructions.cuh - wgmma in C++, with A in registers and B in shared memory with the swizzle of 128 bytes. Products happen when they are issued or
 * when they are waited for. The PTX ISA defines which thread has what, and the descriptor of B. */
#pragma once
#include "tile_core.cuh"
#include "tile_warp_instructions.cuh"

namespace tw {

template <class Value> TW_FN void mma_settle(Value &) {}
TW_FN void mma_forget(float &x) { x = __uint_as_float(0xffffffffu); }
TW_FN void mma_begin() {}
TW_FN void mma_commit() {
  emulated::batches[emulated::current].push_back(std::move(emulated::batch[emulated::current]));
  emulated::batch[emulated::current].clear();
}

inline void perform(emulated::product_of_group &own) {
  emulated::together("wgmma", &own, [](void **all) {
    const auto *first = (emulated::product_of_group *)all[0];
    const unsigned at = (unsigned)(first->b & 0x3fff) << 4, step = (unsigned)(first->b >> 32 & 0x3fff) << 4;
    if (first->b >> 62 != 1) emulated::wrong("an operand of wgmma without the swizzle of 128 bytes, which is not emulated");
    double left[16][16];
    for (int t = 0; t < 32; t++)
      for (int j = 0; j < 4; j++)
        for (int e = 0; e < 2; e++) left[t / 4 + j % 2 * 8][j / 2 * 8 + t % 4 * 2 + e] = element(bf16{}, ((emulated::product_of_group *)all[t])->a[j], e);
    for (int t = 0; t < 32; t++)
      for (int i = 0; i < first->cols / 2; i++) {
        const auto *p = (emulated::product_of_group *)all[t];
        const unsigned col = (unsigned)(i / 4 * 8 + t % 4 * 2 + i % 2);
        double sum = p->more ? p->d[i] : 0;
        for (unsigned k = 0; k < 16; k++) {
          u16 x;
          const unsigned place = at + col / 8 * step + col % 8 * 128 + k * 2;
          memcpy(&x, emulated::shared(place ^ (place >> 7 & 7) << 4, 2), 2);
          sum += left[t / 4 + i / 2 % 2 * 8][k] * element(bf16{}, x, 0);
        }
        p->d[i] = (float)sum;
      }
  });
}
template <int Count> void mma_wait() {
  auto &batches = emulated::batches[emulated::current];
  while (batches.size() > Count) {
    for (auto &p : batches.front()) perform(p);
    batches.erase(batches.begin());
  }
}
template <class Type, int Cols, bool Tb> void mma_step(float (&d)[Cols / 2], const u32 (&a)[4], u64 b, int more) {
  static_assert(sizeof(Type) == 2 && !Tb, "other products are not emulated");
  emulated::product_of_group p{d, a, b, Cols, more};
  if (emulated::late) emulated::batch[emulated::current].push_back(p);
  else perform(p);
}

} // namespace tw
