/* words_portable.h - the words of generated kernels in plain C with the compiler's vectors of 4 lanes, for any machine.
 * See words_avx512.h. */
#ifndef TW_X86_WORDS_H
#define TW_X86_WORDS_H

#include <stdint.h>
#include <string.h>

#if defined __x86_64__
#define REGISTER "x"
#else
#define REGISTER "m"
#endif
#include "target/x86/runtime/words.h"

enum { PORTABLE_LANES = 4 };
typedef int64_t part; /* how many lanes */
typedef int32_t ints __attribute__((vector_size(16)));
typedef float reals __attribute__((vector_size(16)));

WORD void fetch_sums(const void *p) { __builtin_prefetch(p, 1, 3); } /* to be written */
WORD part first(int64_t n) { return n > PORTABLE_LANES ? PORTABLE_LANES : n < 0 ? 0 : n; }

#if defined ARITHMETIC_F32
typedef reals sums, operand;
WORD sums multiply_add(sums s, operand a, operand b) { return s + a * b; }
WORD operand broadcast(const void *p) {
  float x;
  memcpy(&x, p, sizeof x);
  return (operand){x, x, x, x};
}
#else
typedef ints sums, operand;
/* A unit of two int16: the low and the high half of 32 bits. */
WORD sums multiply_add(sums s, operand a, operand b) {
  return s + ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16);
}
WORD operand broadcast(const void *p) {
  int32_t x;
  memcpy(&x, p, sizeof x);
  return (operand){x, x, x, x};
}
#endif

WORD sums zero(void) { return (sums){0}; }
WORD sums add(sums x, sums y) { return x + y; }
WORD operand load(const void *p) {
  operand x;
  memcpy(&x, p, sizeof x);
  return x;
}
WORD sums load_sums(const void *p) {
  sums x;
  memcpy(&x, p, sizeof x);
  return x;
}
WORD void store_sums(void *p, sums x) { memcpy(p, &x, sizeof x); }
WORD sums load_part(const void *p, part which) {
  sums x = {0};
  memcpy(&x, p, (size_t)which * 4);
  return x;
}
WORD void store_part(void *p, part which, sums x) { memcpy(p, &x, (size_t)which * 4); }

/* A zero that the compiler knows nothing about. */
WORD operand nothing(void) {
  operand x = {0};
  __asm__ volatile("" : "+m"(x));
  return x;
}

#endif
