/* random.c - xoshiro256** and splitmix64, from their papers (see random.h). */
#define _GNU_SOURCE /* getrandom */
#include "base/random.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <string.h>

static uint64_t splitmix64(uint64_t *state) { return tw_random_mix(*state += 0x9e3779b97f4a7c15u); }

void tw_random_seed(tw_random *r, uint64_t seed) {
  for (int i = 0; i < 4; i++) r->s[i] = splitmix64(&seed);
}

void tw_random_seed_stream(tw_random *r, uint64_t seed, uint64_t stream) {
  uint64_t mixed = splitmix64(&seed) ^ stream; /* mixed first: neighbouring seeds share no streams */
  tw_random_seed(r, splitmix64(&mixed));
}

/* D. Lemire, "Fast random integer generation in an interval", 2019: multiply, and reject the biased rest. */
uint64_t tw_random_below(tw_random *r, uint64_t n) {
  unsigned __int128 product = (unsigned __int128)tw_random_next(r) * n;
  if ((uint64_t)product < n) {
    uint64_t threshold = -n % n;
    while ((uint64_t)product < threshold) product = (unsigned __int128)tw_random_next(r) * n;
  }
  return (uint64_t)(product >> 64);
}

int64_t tw_random_between(tw_random *r, int64_t low, int64_t high) {
  uint64_t range = (uint64_t)high - (uint64_t)low + 1; /* 0: all 64-bit values */
  return (int64_t)((uint64_t)low + (range ? tw_random_below(r, range) : tw_random_next(r)));
}

double tw_random_real(tw_random *r) { return (double)(tw_random_next(r) >> 11) * 0x1p-53; }

void tw_random_shuffle(tw_random *r, void *items, size_t n, size_t size) {
  char *base = items, kept[256];
  if (size > sizeof kept) return;
  for (size_t i = n; i > 1; i--) {
    size_t j = (size_t)tw_random_below(r, i);
    if (j == i - 1) continue;
    memcpy(kept, base + j * size, size);
    memcpy(base + j * size, base + (i - 1) * size, size);
    memcpy(base + (i - 1) * size, kept, size);
  }
}

uint64_t tw_random_system(void) {
  uint64_t x = 0;
  struct timespec now;
  if (getrandom(&x, sizeof x, 0) == (ssize_t)sizeof x) return x >> 1;
  clock_gettime(CLOCK_MONOTONIC, &now); /* no such call: the remaining sources differ each time, too */
  return ((uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ (uint64_t)getpid() << 48) *
             UINT64_C(0x9e3779b97f4a7c15) >>
         1;
}
