/* changes.h - the new value that an atomic writes, for LDS, vector and scalar memory: a function of the old value, the
 * data, and a second value (a comparand or a mask). Each including file uses some of these functions. */
#ifndef TW_CDNA_CHANGES_H
#define TW_CDNA_CHANGES_H

#include <string.h>

#include "target/cdna/lanes/half.h"

typedef uint64_t cdna_change(uint64_t old, uint64_t data, uint64_t second);

#define CHANGE(name_, ...)                                                                                             \
  static inline uint64_t change_##name_(uint64_t old, uint64_t data, uint64_t second) {                                \
    (void)old, (void)data, (void)second;                                                                               \
    return (uint64_t)(__VA_ARGS__);                                                                                    \
  }
static inline float change_real32(uint64_t bits) { return tw_float_of((uint32_t)bits); }
static inline double change_real64(uint64_t bits) {
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}
static inline uint64_t change_bits64(double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}
static inline uint64_t change_half_sum(uint64_t a, uint64_t b) {
  return cdna_half_bits(cdna_half_value(a & 0xFFFF) + cdna_half_value(b & 0xFFFF));
}
static inline uint64_t change_bf16_sum(uint64_t a, uint64_t b) {
  return cdna_bf16_bits(cdna_bf16_value(a & 0xFFFF) + cdna_bf16_value(b & 0xFFFF));
}
CHANGE(add, old + data)
CHANGE(sub, old - data)
CHANGE(rsub, data - old)
CHANGE(inc32, (uint32_t)old >= (uint32_t)data ? 0 : old + 1)
CHANGE(inc64, old >= data ? 0 : old + 1)
CHANGE(dec32, (uint32_t)old == 0 || (uint32_t)old > (uint32_t)data ? data : old - 1)
CHANGE(dec64, old == 0 || old > data ? data : old - 1)
CHANGE(min_i32, (int32_t)old < (int32_t)data ? old : data)
CHANGE(max_i32, (int32_t)old > (int32_t)data ? old : data)
CHANGE(min_u32, (uint32_t)old < (uint32_t)data ? old : data)
CHANGE(max_u32, (uint32_t)old > (uint32_t)data ? old : data)
CHANGE(min_i64, (int64_t)old < (int64_t)data ? old : data)
CHANGE(max_i64, (int64_t)old > (int64_t)data ? old : data)
CHANGE(min_u64, old < data ? old : data)
CHANGE(max_u64, old > data ? old : data)
CHANGE(and, old &data)
CHANGE(or, old | data)
CHANGE(xor, old ^ data)
CHANGE(mskor, (old & ~data) | second)
CHANGE(swap, data)
/* in LDS the first value is the comparand, in memory the second */
CHANGE(cmpst32, (uint32_t)old == (uint32_t)data ? second : old)
CHANGE(cmpst64, old == data ? second : old)
CHANGE(cmpswap, old == second ? data : old)
CHANGE(wrap, old >= data ? old - data : old + second)
CHANGE(condxchg, (data >> 31 & 1 ? data & 0x7FFFFFFFu : old & 0xFFFFFFFFu) |
                     (data >> 63 ? data >> 32 & 0x7FFFFFFFu : old >> 32) << 32)
CHANGE(add_f32, tw_bits_of(change_real32(old) + change_real32(data)))
CHANGE(min_f32, change_real32(data) < change_real32(old) ? data : old)
CHANGE(max_f32, change_real32(data) > change_real32(old) ? data : old)
CHANGE(add_f64, change_bits64(change_real64(old) + change_real64(data)))
CHANGE(min_f64, change_real64(data) < change_real64(old) ? data : old)
CHANGE(max_f64, change_real64(data) > change_real64(old) ? data : old)
CHANGE(pk_add_f16, change_half_sum(old, data) | change_half_sum(old >> 16, data >> 16) << 16)
CHANGE(pk_add_bf16, change_bf16_sum(old, data) | change_bf16_sum(old >> 16, data >> 16) << 16)
#undef CHANGE

/* Looks up the name after "..._atomic_" of vector and scalar memory. NULL: unknown. */
cdna_change *cdna_memory_change(const char *name, uint8_t *bytes);

#endif
