/* places.h - dwords between the registers of 64 lanes and the bytes at each lane's place, four lanes at a time: each
 * lane's dwords are one load or store, and a 4x4 transposition moves them to or from the rows of the registers. */
#ifndef TW_CDNA_PLACES_H
#define TW_CDNA_PLACES_H

#include <stdint.h>
#include <string.h>

#include "target/cdna/lanes/lanes.h"

/* Loops over active lanes l. */
#define EACH_LANE(exec_)                                                                                               \
  for (uint64_t left_ = (exec_); left_; left_ &= left_ - 1)                                                            \
    for (int l = __builtin_ctzll(left_), once_ = 1; once_; once_ = 0)

typedef uint32_t cdna_dwords4 __attribute__((vector_size(16)));
typedef uint64_t cdna_quads2 __attribute__((vector_size(16)));

/* Each lane's bytes: `base` and a distance, modulo 2^64. One of the arrays holds all distances. */
typedef struct cdna_places {
  uint8_t *base;
  const uint32_t *at;
  const uint64_t *far_at;
} cdna_places;

static inline uint8_t *cdna_place(const cdna_places *p, int lane) {
  return (uint8_t *)((uintptr_t)p->base + (p->at ? p->at[lane] : p->far_at[lane]));
}

/* n dwords; the rest is 0. Smaller copies to and from a vector would go through memory. */
static inline __attribute__((always_inline)) cdna_dwords4 cdna_load_dwords(const uint8_t *at, int n) {
  cdna_quads2 v = {0};
  uint64_t low;
  uint32_t high = 0;
  if (n == 4) {
    memcpy(&v, at, sizeof v);
    return (cdna_dwords4)v;
  }
  memcpy(&low, at, sizeof low);
  if (n == 3) memcpy(&high, at + 8, sizeof high);
  return (cdna_dwords4)(cdna_quads2){low, high};
}
static inline __attribute__((always_inline)) void cdna_store_dwords(uint8_t *at, cdna_dwords4 r, int n) {
  const cdna_quads2 v = (cdna_quads2)r;
  if (n == 4) {
    memcpy(at, &r, sizeof r);
    return;
  }
  memcpy(at, &(uint64_t){v[0]}, 8);
  if (n == 3) memcpy(at + 8, &(uint32_t){r[2]}, 4);
}

static inline void cdna_transpose(cdna_dwords4 r[4]) {
  const cdna_dwords4 a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5),
                     b = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5),
                     c = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7),
                     d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
  r[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
  r[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  r[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
  r[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

/* n is a constant: 1 to 4 dwords. */
static inline __attribute__((always_inline)) void cdna_load_places(const cdna_places *p, uint32_t (*d)[CDNA_LANES],
                                                                   int n) {
  for (int l = 0; l < CDNA_LANES; l += 4) {
    cdna_dwords4 r[4] = {{0}};
    for (int k = 0; k < 4 && n > 1; k++) r[k] = cdna_load_dwords(cdna_place(p, l + k), n);
    for (int k = 0; k < 4 && n == 1; k++) memcpy(&d[0][l + k], cdna_place(p, l + k), 4);
    if (n > 1) cdna_transpose(r);
    for (int k = 0; k < n && n > 1; k++) memcpy(&d[k][l], &r[k], sizeof r[k]);
  }
}

/* Lanes are stored in ascending order, each first to p[0]. */
static inline __attribute__((always_inline)) void
cdna_store_places(const cdna_places *p, uint32_t (*const data[])[CDNA_LANES], int places, int n) {
  for (int l = 0; l < CDNA_LANES; l += 4) {
    cdna_dwords4 r[2][4] = {{{0}}};
    for (int place = 0; place < places; place++) {
      for (int k = 0; k < n; k++) memcpy(&r[place][k], &data[place][k][l], sizeof r[place][k]);
      if (n > 1) cdna_transpose(r[place]);
    }
    for (int k = 0; k < 4; k++)
      for (int place = 0; place < places; place++)
        if (n == 1)
          memcpy(cdna_place(&p[place], l + k), &data[place][0][l + k], 4);
        else
          cdna_store_dwords(cdna_place(&p[place], l + k), r[place][k], n);
  }
}

#endif
