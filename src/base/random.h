/* random.h - reproducible random numbers: the same on every machine, for ever.
 *
 * xoshiro256** (D. Blackman, S. Vigna, "Scrambled linear pseudorandom number generators", 2021), its state
 * filled by splitmix64 (G. Steele et al., 2014) as its authors advise. */
#ifndef TW_BASE_RANDOM_H
#define TW_BASE_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tw_random {
  uint64_t s[4];
} tw_random;

/* Spreads the bits of x: the finalizer of splitmix64, a bijection. */
static inline uint64_t tw_random_mix(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

void tw_random_seed(tw_random *, uint64_t seed);
/* A separate stream for each (seed, stream): work that is split over threads stays reproducible. */
void tw_random_seed_stream(tw_random *, uint64_t seed, uint64_t stream);
/* An unpredictable number of 63 bits, from the system: for seeds. */
uint64_t tw_random_system(void);
static inline uint64_t tw_random_rotated(uint64_t x, int n) { return x << n | x >> (64 - n); }
static inline uint64_t tw_random_next(tw_random *r) {
  uint64_t *s = r->s, result = tw_random_rotated(s[1] * 5, 7) * 9, t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = tw_random_rotated(s[3], 45);
  return result;
}
uint64_t tw_random_below(tw_random *, uint64_t n);                       /* 0..n-1 without bias; n >= 1 */
int64_t tw_random_between(tw_random *, int64_t low, int64_t high);       /* both included */
double tw_random_real(tw_random *);                                      /* [0, 1), 53 bits */
void tw_random_shuffle(tw_random *, void *items, size_t n, size_t size); /* size <= 256 */

/* A seed with this bit requests whole inputs, if the op has them: small whole numbers other than 0. Sums of their
 * products are exact in any order, so every result must be exact. Seeds of the system and of users do not have this
 * bit. */
#define TW_SEED_WHOLE (UINT64_C(1) << 63)
/* With TW_SEED_WHOLE: requests inputs with few nonzero elements, in which every bit matters, if the op has them. */
#define TW_SEED_FEW (UINT64_C(1) << 62)
#define TW_SEED_KIND (TW_SEED_WHOLE | TW_SEED_FEW)
/* Has the seed exactly these of both bits? */
static inline bool tw_seed_is(uint64_t seed, uint64_t bits) { return (seed & TW_SEED_KIND) == bits; }

#endif
