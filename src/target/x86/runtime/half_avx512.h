/* half_avx512.h - the words of tiles on at most eight columns, in vectors of eight lanes. Included between the tiles of
 * whole vectors and these: from here on words have the new meaning. */
#ifndef TW_X86_HALF_H
#define TW_X86_HALF_H

#include "target/x86/runtime/words_avx512.h"

typedef __m256 half;
WORD half half_zero(void) { return _mm256_setzero_ps(); }
WORD half half_load(const void *p) { return _mm256_loadu_ps(p); }
WORD half half_load_part(const void *p, part which) { return _mm256_maskz_loadu_ps((__mmask8)which, p); }
WORD void half_store(void *p, half x) { _mm256_storeu_ps(p, x); }
WORD void half_store_part(void *p, part which, half x) { _mm256_mask_storeu_ps(p, (__mmask8)which, x); }
WORD half half_broadcast(const char *p) { return _mm256_set1_ps(*(const real_unit *)(const void *)p); }
WORD half half_multiply_add(half s, half a, half b) { return _mm256_fmadd_ps(a, b, s); }
WORD void half_store_across(char *c, int64_t stride, int64_t n, int rows, const char *beta, half s0, half s1, half s2,
                            half s3) {
  store_across(c, stride, n, rows, beta, _mm512_castps256_ps512(s0), _mm512_castps256_ps512(s1),
               _mm512_castps256_ps512(s2), _mm512_castps256_ps512(s3));
}

#define operand half
#define sums half
#define zero half_zero
#define load half_load
#define load_sums half_load
#define load_part half_load_part
#define store_sums half_store
#define store_part half_store_part
#define store_across half_store_across
#define broadcast half_broadcast
#define multiply_add half_multiply_add

#endif
