/* words_avx2.h - the words of generated kernels in AVX2 with FMA (and AVX-VNNI): 8 lanes. See words_avx512.h. */
#ifndef TW_X86_WORDS_H
#define TW_X86_WORDS_H

#include <immintrin.h>
#include <stdint.h>

#define REGISTER "x"
#include "target/x86/runtime/words.h"

typedef __m256i part;

WORD void fetch_sums(const void *p) { __builtin_prefetch(p, 1, 3); } /* to be written */

/* The first n lanes: none for n <= 0, all for n >= 8. */
WORD part first(int64_t n) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n > 8 ? 8 : n < 0 ? 0 : n)), lane);
}

#if defined ARITHMETIC_F32
typedef __m256 sums, operand;
WORD sums zero(void) { return _mm256_setzero_ps(); }
WORD sums add(sums x, sums y) { return _mm256_add_ps(x, y); }
WORD sums load_sums(const void *p) { return _mm256_loadu_ps(p); }
WORD void store_sums(void *p, sums x) { _mm256_storeu_ps(p, x); }
WORD sums load_part(const void *p, part which) { return _mm256_maskload_ps(p, which); }
WORD void store_part(void *p, part which, sums x) { _mm256_maskstore_ps(p, which, x); }
WORD operand load(const void *p) { return _mm256_loadu_ps(p); }
WORD operand broadcast(const char *p) { return _mm256_broadcast_ss((const void *)p); }
WORD sums multiply_add(sums s, operand a, operand b) { return _mm256_fmadd_ps(a, b, s); }
#else
typedef int32_t sums __attribute__((vector_size(32))); /* see words_avx512.h */
typedef __m256i operand;
WORD sums zero(void) { return (sums){0}; }
WORD sums add(sums x, sums y) { return (sums)_mm256_add_epi32((__m256i)x, (__m256i)y); }
WORD sums load_sums(const void *p) { return (sums)_mm256_loadu_si256(p); }
WORD void store_sums(void *p, sums x) { _mm256_storeu_si256(p, (__m256i)x); }
WORD sums load_part(const void *p, part which) { return (sums)_mm256_maskload_epi32(p, which); }
WORD void store_part(void *p, part which, sums x) { _mm256_maskstore_epi32(p, which, (__m256i)x); }
WORD operand load(const void *p) { return _mm256_loadu_si256(p); }
#if defined ARITHMETIC_S8S8
WORD operand broadcast(const char *p) { /* moved up by 128 */
  return _mm256_xor_si256(_mm256_set1_epi32(*(const unit *)(const void *)p), _mm256_set1_epi8((char)0x80));
}
#else
WORD operand broadcast(const char *p) { return _mm256_set1_epi32(*(const unit *)(const void *)p); }
#endif
#if defined ARITHMETIC_S16
WORD sums multiply_add(sums s, operand a, operand b) { return add(s, (sums)_mm256_madd_epi16(a, b)); }
#elif !defined __AVXVNNI__
/* Without vpdpbusd: even and odd bytes by themselves, as 16 bits, so that nothing saturates. Codes, whose products are
 * small, have a faster word (codes_avx2.h). */
WORD sums multiply_add(sums s, operand a, operand b) {
  const __m256i even =
      _mm256_madd_epi16(_mm256_and_si256(a, _mm256_set1_epi16(0xff)), _mm256_srai_epi16(_mm256_slli_epi16(b, 8), 8));
  const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(a, 8), _mm256_srai_epi16(b, 8));
  return add(add(s, (sums)even), (sums)odd);
}
#else
WORD sums multiply_add(sums s, operand a, operand b) { return (sums)_mm256_dpbusd_avx_epi32((__m256i)s, a, b); }
#endif
#endif

/* A zero that the compiler knows nothing about. */
WORD operand nothing(void) {
  operand x = {0};
  keep(x);
  return x;
}

#endif
