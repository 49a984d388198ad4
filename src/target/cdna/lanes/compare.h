/* compare.h - part of body.h: v_cmp and v_cmpx of every type. */

#define READ_U32(row_, l_) (row_)[l_]
#define READ_I32(row_, l_) i((row_)[l_])
#define READ_F32(row_, l_) f((row_)[l_])
#define READ_F16(row_, l_) h((row_)[l_])
#define READ_U16(row_, l_) (uint16_t)(row_)[l_]
#define READ_I16(row_, l_) (int16_t)(row_)[l_]
#define READ_I64(row_, l_) (int64_t) pair(row_, l_)

#define ORDERED(t_, type_, read_)                                                                                      \
  CMP(cmp_lt_##t_, type_, read_, A < B)                                                                                \
  CMP(cmp_eq_##t_, type_, read_, A == B)                                                                               \
  CMP(cmp_le_##t_, type_, read_, A <= B)                                                                               \
  CMP(cmp_gt_##t_, type_, read_, A > B)                                                                                \
  CMP(cmp_ge_##t_, type_, read_, A >= B)                                                                               \
  FUNCTION(cmp_f_##t_) { x->out = 0; }                                                                                 \
  FUNCTION(cmp_t_##t_) { x->out = ~0ull; }
#define INTEGERS(t_, type_, read_) ORDERED(t_, type_, read_) CMP(cmp_ne_##t_, type_, read_, A != B)
#define FLOATS(t_, type_, read_)                                                                                       \
  ORDERED(t_, type_, read_)                                                                                            \
  CMP(cmp_lg_##t_, type_, read_, A<B || A> B)                                                                          \
  CMP(cmp_o_##t_, type_, read_, A == A && B == B)                                                                      \
  CMP(cmp_u_##t_, type_, read_, A != A || B != B)                                                                      \
  CMP(cmp_nge_##t_, type_, read_, !(A >= B))                                                                           \
  CMP(cmp_nlg_##t_, type_, read_, !(A < B || A > B))                                                                   \
  CMP(cmp_ngt_##t_, type_, read_, !(A > B))                                                                            \
  CMP(cmp_nle_##t_, type_, read_, !(A <= B))                                                                           \
  CMP(cmp_neq_##t_, type_, read_, !(A == B))                                                                           \
  CMP(cmp_nlt_##t_, type_, read_, !(A < B))
FLOATS(f32, float, READ_F32)
FLOATS(f64, double, real)
FLOATS(f16, float, READ_F16)
INTEGERS(i32, int32_t, READ_I32)
INTEGERS(u32, uint32_t, READ_U32)
INTEGERS(i64, int64_t, READ_I64)
INTEGERS(u64, uint64_t, pair)
INTEGERS(i16, int16_t, READ_I16)
INTEGERS(u16, uint16_t, READ_U16)

/* The class of a value as one bit of ten: signaling NaN, quiet NaN, -inf, -normal, -subnormal, -0, +0, ... +inf. */
static inline uint32_t class_bit(bool negative, bool nan, bool quiet, bool inf, bool zero, bool subnormal) {
  const uint32_t positive = inf ? 9 : zero ? 6 : subnormal ? 7 : 8, other = inf ? 2 : zero ? 5 : subnormal ? 4 : 3;
  return 1u << (nan ? (quiet ? 1 : 0) : negative ? other : positive);
}
FUNCTION(cmp_class_f32) {
  const uint32_t *a = x->s[0], *b = x->s[1];
  uint32_t row[CDNA_LANES];
  LOOP {
    const uint32_t v = a[l] & 0x7FFFFFFFu;
    const uint32_t bit = class_bit(a[l] >> 31, v > 0x7F800000u, v & 0x400000u, v == 0x7F800000u, v == 0, v < 0x800000u);
    row[l] = b[l] & bit ? ~0u : 0u;
  }
  x->out = pack(row);
}
FUNCTION(cmp_class_f16) {
  const uint32_t *a = x->s[0], *b = x->s[1];
  uint32_t row[CDNA_LANES];
  LOOP {
    const uint32_t v = a[l] & 0x7FFFu;
    const uint32_t bit = class_bit(a[l] >> 15 & 1, v > 0x7C00u, v & 0x200u, v == 0x7C00u, v == 0, v < 0x400u);
    row[l] = b[l] & bit ? ~0u : 0u;
  }
  x->out = pack(row);
}
FUNCTION(cmp_class_f64) {
  const uint32_t *a = x->s[0], *b = x->s[1];
  uint32_t row[CDNA_LANES];
  for (int l = 0; l < CDNA_LANES; l++) {
    const uint64_t v = pair(a, l) & 0x7FFFFFFFFFFFFFFFu, inf = 0x7FF0000000000000u;
    const uint32_t bit = class_bit(a[l + CDNA_LANES] >> 31, v > inf, v >> 51 & 1, v == inf, v == 0, v < 1ull << 52);
    row[l] = b[l] & bit ? ~0u : 0u;
  }
  x->out = pack(row);
}

#define EC(name_) {"v_cmp_" #name_, cmp_##name_, CDNA_MASK, 0}, {"v_cmpx_" #name_, cmp_##name_, CDNA_MASK, 0},
#define EC_ORDERED(ty_) EC(lt_##ty_) EC(eq_##ty_) EC(le_##ty_) EC(gt_##ty_) EC(ge_##ty_) EC(f_##ty_)
#define EC_INTEGERS(ty_) EC_ORDERED(ty_) EC(ne_##ty_) EC(t_##ty_)
#define EC_FLOATS(ty_)                                                                                                 \
  EC_ORDERED(ty_){"v_cmp_tru_" #ty_, cmp_t_##ty_, CDNA_MASK, 0}, {"v_cmpx_tru_" #ty_, cmp_t_##ty_, CDNA_MASK, 0},      \
      EC(lg_##ty_) EC(o_##ty_) EC(u_##ty_) EC(nge_##ty_) EC(nlg_##ty_) EC(ngt_##ty_) EC(nle_##ty_) EC(neq_##ty_)       \
          EC(nlt_##ty_)
/* A list that clang-format never formats stably. */
/* clang-format off */
#define COMPARE_ENTRIES                                                                                                \
  EC_FLOATS(f32)                                                                                                       \
  EC_FLOATS(f64)                                                                                                       \
  EC_FLOATS(f16)                                                                                                       \
  EC_INTEGERS(i32)                                                                                                     \
  EC_INTEGERS(u32)                                                                                                     \
  EC_INTEGERS(i64) EC_INTEGERS(u64) EC_INTEGERS(i16) EC_INTEGERS(u16) EC(class_f32) EC(class_f16) EC(class_f64)
/* clang-format on */
