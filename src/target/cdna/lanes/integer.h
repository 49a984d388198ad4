/* integer.h - part of body.h: integers, bits, moves. */

U1(mov_b32, A)
U1(not_b32, ~A)
U1(bfrev_b32, ({
     uint32_t r = A;
     r = (r >> 1 & 0x55555555u) | (r & 0x55555555u) << 1;
     r = (r >> 2 & 0x33333333u) | (r & 0x33333333u) << 2;
     r = (r >> 4 & 0x0F0F0F0Fu) | (r & 0x0F0F0F0Fu) << 4;
     r = (r >> 8 & 0x00FF00FFu) | (r & 0x00FF00FFu) << 8;
     r >> 16 | r << 16;
   }))
U1(ffbh_u32, A ? (uint32_t)__builtin_clz(A) : ~0u)
U1(ffbl_b32, A ? (uint32_t)__builtin_ctz(A) : ~0u)
U1(ffbh_i32, ({
     const uint32_t t = A ^ (uint32_t)(i(A) >> 31);
     t ? (uint32_t)__builtin_clz(t) : ~0u;
   }))
U1(sat_pk_u8_i16, ({
     const int32_t lo = (int16_t)A, hi = (int16_t)(A >> 16);
     const uint32_t p = lo < 0 ? 0 : lo > 255 ? 255 : (uint32_t)lo, q = hi < 0 ? 0 : hi > 255 ? 255 : (uint32_t)hi;
     p | q << 8;
   }))
FUNCTION(mov_b64) {
  ROWS1;
  LOOP set_pair(d, l, pair(a, l));
}
U2(add_u32, A + B)
U2(sub_u32, A - B)
U2(subrev_u32, B - A)
U2(and_b32, A &B)
U2(or_b32, A | B)
U2(xor_b32, A ^ B)
U2(xnor_b32, ~(A ^ B))
U2(lshlrev_b32, B << (A & 31))
U2(lshrrev_b32, B >> (A & 31))
U2(ashrrev_i32, i(B) >> (A & 31))
U2(min_i32, i(A) < i(B) ? A : B)
U2(max_i32, i(A) > i(B) ? A : B)
U2(min_u32, A < B ? A : B)
U2(max_u32, A > B ? A : B)
U2(mul_lo_u32, A *B)
U2(mul_hi_u32, (uint64_t)A *B >> 32)
U2(mul_hi_i32, (int64_t)i(A) * i(B) >> 32)
U2(mul_i32_i24, (i(A << 8) >> 8) * (int64_t)(i(B << 8) >> 8))
U2(mul_hi_i32_i24, (i(A << 8) >> 8) * (int64_t)(i(B << 8) >> 8) >> 32)
U2(mul_u32_u24, (A & 0xFFFFFF) * (B & 0xFFFFFF))
U2(mul_hi_u32_u24, (uint64_t)(A & 0xFFFFFF) * (B & 0xFFFFFF) >> 32)
U2(bfm_b32, ((1u << (A & 31)) - 1) << (B & 31))
U2(bcnt_u32_b32, (uint32_t)__builtin_popcount(A) + B)
U2(add_i32, A + B)
U2(sub_i32, A - B)
FUNCTION(mbcnt_lo_u32_b32) {
  ROWS2;
  LOOP d[l] = (uint32_t)__builtin_popcount(a[l] & (l >= 32 ? ~0u : (1u << l) - 1)) + b[l];
}
FUNCTION(mbcnt_hi_u32_b32) {
  ROWS2;
  LOOP d[l] = (uint32_t)__builtin_popcount(a[l] & (l < 32 ? 0u : (1u << (l - 32)) - 1)) + b[l];
}
U3(add3_u32, A + B + C)
U3(lshl_add_u32, (A << (B & 31)) + C)
U3(add_lshl_u32, (A + B) << (C & 31))
U3(lshl_or_b32, A << (B & 31) | C)
U3(and_or_b32, (A & B) | C)
U3(or3_b32, A | B | C)
U3(xad_u32, (A ^ B) + C)
U3(bfe_u32, A >> (B & 31) & ((1u << (C & 31)) - 1))
U3(bfe_i32, ({
     const uint32_t width = C & 31, offset = B & 31;
     width == 0             ? 0
     : width + offset >= 32 ? (uint32_t)(i(A) >> offset)
                            : (uint32_t)(i(A << (32 - offset - width)) >> (32 - width));
   }))
U3(bfi_b32, (A & B) | (~A & C))
U3(alignbit_b32, (uint32_t)(((uint64_t)A << 32 | B) >> (C & 31)))
U3(alignbyte_b32, (uint32_t)(((uint64_t)A << 32 | B) >> 8 * (C & 3)))
U3(mad_i32_i24, (uint32_t)((i(A << 8) >> 8) * (int64_t)(i(B << 8) >> 8)) + C)
U3(mad_u32_u24, (A & 0xFFFFFF) * (B & 0xFFFFFF) + C)
U3(min3_i32, ({
     const uint32_t t = i(A) < i(B) ? A : B;
     i(t) < i(C) ? t : C;
   }))
U3(max3_i32, ({
     const uint32_t t = i(A) > i(B) ? A : B;
     i(t) > i(C) ? t : C;
   }))
U3(min3_u32, ({
     const uint32_t t = A < B ? A : B;
     t < C ? t : C;
   }))
U3(max3_u32, ({
     const uint32_t t = A > B ? A : B;
     t > C ? t : C;
   }))
U3(med3_i32, ({
     const int32_t low = i(A) < i(B) ? i(A) : i(B), high = i(A) < i(B) ? i(B) : i(A);
     i(C)<low ? low : i(C)> high ? high : i(C);
   }))
U3(med3_u32, ({
     const uint32_t low = A < B ? A : B, high = A < B ? B : A;
     C<low ? low : C> high ? high : C;
   }))
/* The byte of {A, B} that a selector byte names: 0-3 from B, 4-7 from A, 8-11 signs of their odd bytes, 12 zero,
 * otherwise ones. */
static inline uint32_t permuted(uint64_t both, uint32_t selector) {
  const uint32_t sign_bit = 16 * (selector - 8) + 15;
  const uint32_t byte = (uint32_t)(both >> 8 * (selector & 7)) & 0xFF;
  const uint32_t sign = both >> (sign_bit & 63) & 1 ? 0xFF : 0;
  return selector < 8 ? byte : selector < 12 ? sign : selector == 12 ? 0 : 0xFF;
}
/* One selector for all lanes, without signs: each byte has one source and one shift. */
static void permute_alike(uint32_t *d, const uint32_t *a, const uint32_t *b, uint32_t selector) {
  const uint32_t *from[4];
  uint32_t down[4], keep[4], ones = 0;
  for (int n = 0; n < 4; n++) {
    const uint32_t s = selector >> 8 * n & 0xFF;
    from[n] = s < 4 ? b : a;
    down[n] = 8 * (s & 3);
    keep[n] = s < 8 ? 0xFF : 0;
    ones |= s > 12 ? 0xFFu << 8 * n : 0;
  }
  const uint32_t *p = from[0], *q = from[1], *r = from[2], *s = from[3];
  LOOP d[l] = ones | (p[l] >> down[0] & keep[0]) | (q[l] >> down[1] & keep[1]) << 8 |
              (r[l] >> down[2] & keep[2]) << 16 | (s[l] >> down[3] & keep[3]) << 24;
}
FUNCTION(perm_b32) {
  ROWS3;
  uint32_t differ = 0, signs = 0;
  for (int l = 0; l < CDNA_LANES; l++) differ |= c[l] ^ c[0];
  for (int n = 0; n < 4; n++) signs |= (c[0] >> 8 * n & 0xFC) == 8;
  if (!differ && !signs) {
    permute_alike(d, a, b, c[0]);
    return;
  }
  LOOP {
    const uint64_t both = (uint64_t)a[l] << 32 | b[l];
    const uint32_t C = c[l];
    d[l] = permuted(both, C & 0xFF) | permuted(both, C >> 8 & 0xFF) << 8 | permuted(both, C >> 16 & 0xFF) << 16 |
           permuted(both, C >> 24) << 24;
  }
}
static inline uint32_t byte_difference(uint32_t p, uint32_t q) { return p > q ? p - q : q - p; }
#define SAD_BYTES(A_, B_)                                                                                              \
  (byte_difference((A_)&0xFF, (B_)&0xFF) + byte_difference((A_) >> 8 & 0xFF, (B_) >> 8 & 0xFF) +                       \
   byte_difference((A_) >> 16 & 0xFF, (B_) >> 16 & 0xFF) + byte_difference((A_) >> 24, (B_) >> 24))
U3(sad_u8, SAD_BYTES(A, B) + C)
U3(sad_hi_u8, (SAD_BYTES(A, B) << 16) + C)
U3(sad_u16, byte_difference(A & 0xFFFF, B & 0xFFFF) + byte_difference(A >> 16, B >> 16) + C)
U3(sad_u32, byte_difference(A, B) + C)
FUNCTION(bitop3_b32) {
  ROWS3;
  const uint32_t t = x->imm;
  uint32_t on[8];
  for (int k = 0; k < 8; k++) on[k] = t >> k & 1 ? ~0u : 0u;
  LOOP {
    const uint32_t A = a[l], B = b[l], C = c[l];
    d[l] = (on[0] & ~A & ~B & ~C) | (on[1] & ~A & ~B & C) | (on[2] & ~A & B & ~C) | (on[3] & ~A & B & C) |
           (on[4] & A & ~B & ~C) | (on[5] & A & ~B & C) | (on[6] & A & B & ~C) | (on[7] & A & B & C);
  }
}

/* 64 bits */
FUNCTION(lshlrev_b64) {
  ROWS2;
  LOOP set_pair(d, l, pair(b, l) << (a[l] & 63));
}
FUNCTION(lshrrev_b64) {
  ROWS2;
  LOOP set_pair(d, l, pair(b, l) >> (a[l] & 63));
}
FUNCTION(ashrrev_i64) {
  ROWS2;
  LOOP set_pair(d, l, (uint64_t)((int64_t)pair(b, l) >> (a[l] & 63)));
}
FUNCTION(lshl_add_u64) {
  ROWS3;
  LOOP set_pair(d, l, (pair(a, l) << (b[l] & 7)) + pair(c, l));
}
FUNCTION(mad_u64_u32) {
  ROWS3;
  uint32_t carry[CDNA_LANES];
  LOOP {
    const uint64_t product = (uint64_t)a[l] * b[l], sum = product + pair(c, l);
    carry[l] = sum < product ? ~0u : 0u;
    set_pair(d, l, sum);
  }
  x->out = pack(carry);
}
FUNCTION(mad_i64_i32) {
  ROWS3;
  uint32_t carry[CDNA_LANES];
  LOOP {
    const int64_t product = (int64_t)i(a[l]) * i(b[l]), addend = (int64_t)pair(c, l);
    const uint64_t sum = (uint64_t)product + (uint64_t)addend;
    carry[l] = (uint32_t)((((uint64_t)product ^ sum) & ((uint64_t)addend ^ sum)) >> 32);
    set_pair(d, l, sum);
  }
  x->out = pack(carry);
}

/* Carries */
#define CARRY(name_, sum_, out_)                                                                                       \
  FUNCTION(name_) {                                                                                                    \
    ROWS2;                                                                                                             \
    uint32_t carry[CDNA_LANES], in[CDNA_LANES];                                                                        \
    expand(in, x->in);                                                                                                 \
    LOOP {                                                                                                             \
      const uint32_t A = a[l], B = b[l], K = in[l] & 1;                                                                \
      (void)K;                                                                                                         \
      const uint32_t R = (sum_);                                                                                       \
      carry[l] = (out_) ? ~0u : 0u;                                                                                    \
      d[l] = R;                                                                                                        \
    }                                                                                                                  \
    x->out = pack(carry);                                                                                              \
  }
CARRY(add_co_u32, A + B, R < A)
CARRY(sub_co_u32, A - B, A < B)
CARRY(subrev_co_u32, B - A, B < A)
CARRY(addc_co_u32, A + B + K, (uint64_t)A + B + K > 0xFFFFFFFFu)
CARRY(subb_co_u32, A - B - K, A < (uint64_t)B + K)
CARRY(subbrev_co_u32, B - A - K, B < (uint64_t)A + K)
FUNCTION(cndmask_b32) {
  ROWS2;
  uint32_t in[CDNA_LANES];
  expand(in, x->in);
  LOOP d[l] = (b[l] & in[l]) | (a[l] & ~in[l]);
}

/* 16 bits: the low half of the result, with zeros above; gfx9's functions (EK) keep the upper half. */
U2(add_u16, (A + B) & 0xFFFF)
U2(sub_u16, (A - B) & 0xFFFF)
U2(subrev_u16, (B - A) & 0xFFFF)
U2(mul_lo_u16, A *B & 0xFFFF)
U2(lshlrev_b16, B << (A & 15) & 0xFFFF)
U2(lshrrev_b16, (B & 0xFFFF) >> (A & 15))
U2(ashrrev_i16, ((int16_t)B >> (A & 15)) & 0xFFFF)
U2(max_u16, (A & 0xFFFF) > (B & 0xFFFF) ? A & 0xFFFF : B & 0xFFFF)
U2(min_u16, (A & 0xFFFF) < (B & 0xFFFF) ? A & 0xFFFF : B & 0xFFFF)
U2(max_i16, (int16_t)A > (int16_t)B ? A & 0xFFFF : B & 0xFFFF)
U2(min_i16, (int16_t)A < (int16_t)B ? A & 0xFFFF : B & 0xFFFF)
/* Minimum, maximum and median of three operands. */
#define OF3(name_, type_, choice_)                                                                                     \
  U3(name_, ({                                                                                                         \
       const type_ p = (type_)A, q = (type_)B, r = (type_)C;                                                           \
       (uint32_t)(uint16_t)(choice_);                                                                                  \
     }))
OF3(min3_i16, int16_t, p < q ? (r < p ? r : p) : (r < q ? r : q))
OF3(max3_i16, int16_t, p > q ? (r > p ? r : p) : (r > q ? r : q))
OF3(med3_i16, int16_t, p < q ? (r < p ? p : r > q ? q : r) : (r < q ? q : r > p ? p : r))
OF3(min3_u16, uint16_t, p < q ? (r < p ? r : p) : (r < q ? r : q))
OF3(max3_u16, uint16_t, p > q ? (r > p ? r : p) : (r > q ? r : q))
OF3(med3_u16, uint16_t, p < q ? (r < p ? p : r > q ? q : r) : (r < q ? q : r > p ? p : r))
U3(mad_legacy_u16, (A * B + C) & 0xFFFF)
U3(mad_u32_u16, (A & 0xFFFF) * (B & 0xFFFF) + C)
U3(mad_i32_i16, (uint32_t)((int16_t)A *(int16_t)B) + C)

/* Packed 16 bits: emulator/valu.c applies op_sel and places the halves of each source. */
#define PK2(name_, type_, ...)                                                                                         \
  U2(name_, ({                                                                                                         \
       uint32_t r = 0;                                                                                                 \
       for (int h = 0; h < 32; h += 16) {                                                                              \
         const type_ P = (type_)(A >> h), Q = (type_)(B >> h);                                                         \
         r |= ((uint32_t)(__VA_ARGS__)&0xFFFF) << h;                                                                   \
       }                                                                                                               \
       r;                                                                                                              \
     }))
PK2(pk_add_u16, uint16_t, P + Q)
PK2(pk_sub_u16, uint16_t, P - Q)
PK2(pk_add_i16, int16_t, P + Q)
PK2(pk_sub_i16, int16_t, P - Q)
PK2(pk_mul_lo_u16, uint16_t, (uint32_t)P *Q)
PK2(pk_lshlrev_b16, uint16_t, Q << (P & 15))
PK2(pk_lshrrev_b16, uint16_t, Q >> (P & 15))
PK2(pk_ashrrev_i16, int16_t, Q >> (P & 15))
PK2(pk_max_u16, uint16_t, P > Q ? P : Q)
PK2(pk_min_u16, uint16_t, P < Q ? P : Q)
PK2(pk_max_i16, int16_t, P > Q ? P : Q)
PK2(pk_min_i16, int16_t, P < Q ? P : Q)
U3(pk_mad_u16, ((A * B + C) & 0xFFFF) | ((A >> 16) * (B >> 16) + (C >> 16)) << 16)
U3(pk_mad_i16, ((A * B + C) & 0xFFFF) | ((A >> 16) * (B >> 16) + (C >> 16)) << 16)

/* Dot products */
U3(dot4_i32_i8, ({
     int32_t sum = i(C);
     for (int k = 0; k < 32; k += 8) sum = (int32_t)((uint32_t)sum + (uint32_t)((int8_t)(A >> k) * (int8_t)(B >> k)));
     sum;
   }))
U3(dot4_u32_u8, ({
     uint32_t sum = C;
     for (int k = 0; k < 32; k += 8) sum += (A >> k & 0xFF) * (B >> k & 0xFF);
     sum;
   }))
U3(dot8_u32_u4, ({
     uint32_t sum = C;
     for (int k = 0; k < 32; k += 4) sum += (A >> k & 15) * (B >> k & 15);
     sum;
   }))
U3(dot8_i32_i4, ({
     uint32_t sum = C;
     for (int k = 0; k < 32; k += 4) sum += (uint32_t)((i(A << (28 - k)) >> 28) * (i(B << (28 - k)) >> 28));
     sum;
   }))
U3(dot2_i32_i16, C + (uint32_t)((int16_t)A * (int16_t)B) + (uint32_t)((int16_t)(A >> 16) * (int16_t)(B >> 16)))
U3(dot2_u32_u16, C + (A & 0xFFFF) * (B & 0xFFFF) + (A >> 16) * (B >> 16))

/* A list that clang-format never formats stably. */
/* clang-format off */
#define INTEGER_ENTRIES                                                                                                \
  E(mov_b32)                                                                                                           \
  E(not_b32)                                                                                                           \
  E(bfrev_b32)                                                                                                         \
  E(ffbh_u32)                                                                                                          \
  E(ffbl_b32)                                                                                                          \
  E(ffbh_i32) E(sat_pk_u8_i16) E(mov_b64) E(add_u32) E(sub_u32) E(subrev_u32) E(and_b32) E(or_b32) E(xor_b32)          \
      E(xnor_b32) E(lshlrev_b32) E(lshrrev_b32) E(ashrrev_i32) E(min_i32) E(max_i32) E(min_u32) E(max_u32)             \
          E(mul_lo_u32) E(mul_hi_u32) E(mul_hi_i32) E(mul_i32_i24) E(mul_hi_i32_i24) E(mul_u32_u24) E(mul_hi_u32_u24)  \
              E(bfm_b32) E(bcnt_u32_b32) E(add_i32) E(sub_i32) E(mbcnt_lo_u32_b32) E(mbcnt_hi_u32_b32) E(add3_u32)     \
                  E(lshl_add_u32) E(add_lshl_u32) E(lshl_or_b32) E(and_or_b32) E(or3_b32) E(xad_u32) E(bfe_u32)        \
                      E(bfe_i32) E(bfi_b32) E(alignbit_b32) E(alignbyte_b32) E(mad_i32_i24) E(mad_u32_u24) E(min3_i32) \
                          E(max3_i32) E(min3_u32) E(max3_u32) E(med3_i32) E(med3_u32) E(min3_i16) E(max3_i16)          \
                          E(med3_i16) E(min3_u16) E(max3_u16) E(med3_u16) E(perm_b32) E(sad_u8)                        \
                              E(sad_hi_u8) E(sad_u16) E(sad_u32) E(bitop3_b32) E(lshlrev_b64) E(lshrrev_b64)           \
                                  E(ashrrev_i64) E(lshl_add_u64) EB(mad_u64_u32) EB(mad_i64_i32) EB(add_co_u32)        \
                                      EB(sub_co_u32) EB(subrev_co_u32) EB(addc_co_u32) EB(subb_co_u32)                 \
                                          EB(subbrev_co_u32) E(cndmask_b32) E(add_u16) E(sub_u16) E(subrev_u16)        \
                                              E(mul_lo_u16) E(lshlrev_b16) E(lshrrev_b16) E(ashrrev_i16) E(max_u16)    \
                                                  E(min_u16) E(max_i16) E(min_i16) E(mad_legacy_u16) E(mad_u32_u16)    \
                                                      E(mad_i32_i16) E(pk_add_u16) E(pk_sub_u16) E(pk_add_i16)         \
                                                          E(pk_sub_i16) E(pk_mul_lo_u16) E(pk_lshlrev_b16)             \
                                                              E(pk_lshrrev_b16) E(pk_ashrrev_i16) E(pk_max_u16)        \
                                                                  E(pk_min_u16) E(pk_max_i16) E(pk_min_i16)            \
                                                                      E(pk_mad_u16) E(pk_mad_i16) E(dot4_i32_i8)       \
                                                                          E(dot4_u32_u8) E(dot8_u32_u4) E(dot8_i32_i4) \
                                                                              E(dot2_i32_i16) E(dot2_u32_u16)
/* clang-format on */
