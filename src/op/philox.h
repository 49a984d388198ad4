/* philox.h - the counter-based generator Philox4x32-10 (J. Salmon et al., "Parallel random numbers: as easy as 1, 2,
 * 3", SC 2011): four words of 32 bits for a counter of four words and a key of two. The host draws a device's numbers
 * again from the same counters, in any order. */
#ifndef TW_OP_PHILOX_H
#define TW_OP_PHILOX_H

#include <stdint.h>

typedef struct tw_philox {
  uint32_t word[4];
} tw_philox;

static inline tw_philox tw_philox4x32(tw_philox counter, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; round++) {
    const uint64_t a = (uint64_t)0xD2511F53u * counter.word[0], b = (uint64_t)0xCD9E8D57u * counter.word[2];
    counter = (tw_philox){{(uint32_t)(b >> 32) ^ counter.word[1] ^ key0, (uint32_t)b,
                           (uint32_t)(a >> 32) ^ counter.word[3] ^ key1, (uint32_t)a}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

#endif
