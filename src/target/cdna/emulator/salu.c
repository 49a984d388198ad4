/* salu.c - scalar instructions that compute: SOP1, SOP2, SOPC, SOPK. Semantics: the ISA documents, "Scalar ALU". */
#include <string.h>

#include "target/cdna/emulator/emulator.h"

#define A32 ((uint32_t)cdna_read(w, &op->s[0]))
#define B32 ((uint32_t)cdna_read(w, &op->s[1]))
#define A64 (cdna_read(w, &op->s[0]))
#define B64 (cdna_read(w, &op->s[1]))
#define SET32(v_) (w->s[op->d] = (uint32_t)(v_))
#define SET64(v_) cdna_set_scalar64(w, op->d, (v_))
#define D32 (w->s[op->d])

#define OP(name_) static void name_(cdna_wave *w, const cdna_op *op)
/* Two sources A and B, a result R; `scc_` may use them. */
#define S2(name_, r_, scc_)                                                                                            \
  OP(s_##name_) {                                                                                                      \
    const uint32_t A = A32, B = B32;                                                                                   \
    const uint32_t R = (uint32_t)(r_);                                                                                 \
    (void)A, (void)B;                                                                                                  \
    w->scc = (scc_);                                                                                                   \
    SET32(R);                                                                                                          \
  }
#define S2Q(name_, r_)                                                                                                 \
  OP(s_##name_) {                                                                                                      \
    const uint32_t A = A32, B = B32;                                                                                   \
    SET32(r_);                                                                                                         \
  }
#define L2(name_, r_)                                                                                                  \
  OP(s_##name_) {                                                                                                      \
    const uint64_t A = A64, B = B64;                                                                                   \
    const uint64_t R = (r_);                                                                                           \
    w->scc = R != 0;                                                                                                   \
    SET64(R);                                                                                                          \
  }
#define SI(v_) ((int32_t)(v_))

S2(add_u32, A + B, R < A)
S2(sub_u32, A - B, A < B)
S2(add_i32, A + B, ((A ^ R) & (B ^ R)) >> 31)
S2(sub_i32, A - B, ((A ^ B) & (A ^ R)) >> 31)
OP(s_addc_u32) {
  const uint64_t r = (uint64_t)A32 + B32 + w->scc;
  w->scc = r >> 32;
  SET32(r);
}
OP(s_subb_u32) {
  const uint64_t a = A32, b = (uint64_t)B32 + w->scc;
  w->scc = b > a;
  SET32(a - b);
}
S2(min_i32, SI(A) < SI(B) ? A : B, SI(A) < SI(B))
S2(min_u32, A < B ? A : B, A < B)
S2(max_i32, SI(A) > SI(B) ? A : B, SI(A) >= SI(B))
S2(max_u32, A > B ? A : B, A >= B)
S2(and_b32, A &B, R != 0)
S2(or_b32, A | B, R != 0)
S2(xor_b32, A ^ B, R != 0)
S2(andn2_b32, A & ~B, R != 0)
S2(orn2_b32, A | ~B, R != 0)
S2(nand_b32, ~(A &B), R != 0)
S2(nor_b32, ~(A | B), R != 0)
S2(xnor_b32, ~(A ^ B), R != 0)
L2(and_b64, A &B)
L2(or_b64, A | B)
L2(xor_b64, A ^ B)
L2(andn2_b64, A & ~B)
L2(orn2_b64, A | ~B)
L2(nand_b64, ~(A &B))
L2(nor_b64, ~(A | B))
L2(xnor_b64, ~(A ^ B))
S2(lshl_b32, A << (B & 31), R != 0)
S2(lshr_b32, A >> (B & 31), R != 0)
S2(ashr_i32, SI(A) >> (B & 31), R != 0)
L2(lshl_b64, A << (B & 63))
L2(lshr_b64, A >> (B & 63))
L2(ashr_i64, (uint64_t)((int64_t)A >> (B & 63)))
S2Q(bfm_b32, ((1u << (A & 31)) - 1) << (B & 31))
OP(s_bfm_b64) { SET64(((1ull << (A64 & 63)) - 1) << (B64 & 63)); }
S2Q(mul_i32, A *B)
S2Q(mul_hi_u32, (uint64_t)A *B >> 32)
S2Q(mul_hi_i32, (uint64_t)((int64_t)SI(A) * SI(B)) >> 32)
static uint64_t field(uint64_t a, uint32_t offset, uint32_t width, int bits, bool is_signed) {
  if (!width || offset >= (uint32_t)bits) {
    if (!width) return 0;
    return is_signed && a >> (bits - 1) & 1 ? ~0ull : 0;
  }
  if (bits == 32 && is_signed) a = (uint64_t)(int64_t)(int32_t)a;
  const uint64_t shifted = is_signed ? (uint64_t)((int64_t)a >> offset) : a >> offset;
  if (width >= (uint32_t)bits - offset) return shifted;
  const uint64_t cut = shifted & ((1ull << width) - 1);
  return is_signed && cut >> (width - 1) & 1 ? cut | ~0ull << width : cut;
}
S2(bfe_u32, field(A, B & 31, B >> 16 & 0x7F, 32, false), R != 0)
S2(bfe_i32, field(A, B & 31, B >> 16 & 0x7F, 32, true), R != 0)
OP(s_bfe_u64) {
  const uint32_t b = B32;
  const uint64_t r = field(A64, b & 63, b >> 16 & 0x7F, 64, false);
  w->scc = r != 0;
  SET64(r);
}
OP(s_bfe_i64) {
  const uint32_t b = B32;
  const uint64_t r = field(A64, b & 63, b >> 16 & 0x7F, 64, true);
  w->scc = r != 0;
  SET64(r);
}
S2(absdiff_i32, SI(A) > SI(B) ? A - B : B - A, R != 0)
S2(lshl1_add_u32, (A << 1) + B, ((uint64_t)A << 1) + B > 0xFFFFFFFFu)
S2(lshl2_add_u32, (A << 2) + B, ((uint64_t)A << 2) + B > 0xFFFFFFFFu)
S2(lshl3_add_u32, (A << 3) + B, ((uint64_t)A << 3) + B > 0xFFFFFFFFu)
S2(lshl4_add_u32, (A << 4) + B, ((uint64_t)A << 4) + B > 0xFFFFFFFFu)
S2Q(pack_ll_b32_b16, (A & 0xFFFF) | B << 16)
S2Q(pack_lh_b32_b16, (A & 0xFFFF) | (B & 0xFFFF0000u))
S2Q(pack_hh_b32_b16, A >> 16 | (B & 0xFFFF0000u))
S2Q(cselect_b32, w->scc ? A : B)
OP(s_cselect_b64) { SET64(w->scc ? A64 : B64); }

/* SOP1 */
OP(s_mov_b32) { SET32(A32); }
OP(s_mov_b64) { SET64(A64); }
OP(s_cmov_b32) {
  if (w->scc) SET32(A32);
}
OP(s_cmov_b64) {
  if (w->scc) SET64(A64);
}
#define S1(name_, r_, scc_)                                                                                            \
  OP(s_##name_) {                                                                                                      \
    const uint32_t A = A32;                                                                                            \
    const uint32_t R = (uint32_t)(r_);                                                                                 \
    w->scc = (scc_);                                                                                                   \
    SET32(R);                                                                                                          \
  }
#define S1Q(name_, r_)                                                                                                 \
  OP(s_##name_) {                                                                                                      \
    const uint64_t A = A64;                                                                                            \
    SET32(r_);                                                                                                         \
  }
S1(not_b32, ~A, R != 0)
OP(s_not_b64) {
  const uint64_t r = ~A64;
  w->scc = r != 0;
  SET64(r);
}
static uint64_t whole_quads(uint64_t a) {
  uint64_t r = 0;
  for (int q = 0; q < 64; q += 4) r |= (a >> q & 15 ? 15ull : 0) << q;
  return r;
}
S1(wqm_b32, whole_quads(A), R != 0)
OP(s_wqm_b64) {
  const uint64_t r = whole_quads(A64);
  w->scc = r != 0;
  SET64(r);
}
static uint64_t quads(uint64_t a) {
  uint64_t r = 0;
  for (int q = 0; q < 16; q++) r |= (uint64_t)((a >> 4 * q & 15) != 0) << q;
  return r;
}
S1(quadmask_b32, quads(A), R != 0)
OP(s_quadmask_b64) {
  const uint64_t r = quads(A64);
  w->scc = r != 0;
  SET64(r);
}
static uint64_t reversed(uint64_t a, int bits) {
  uint64_t r = 0;
  for (int b = 0; b < bits; b++) r |= (a >> b & 1) << (bits - 1 - b);
  return r;
}
S1Q(brev_b32, reversed(A, 32))
OP(s_brev_b64) { SET64(reversed(A64, 64)); }
S1(bcnt0_i32_b32, 32 - __builtin_popcount(A), R != 0)
S1(bcnt1_i32_b32, __builtin_popcount(A), R != 0)
OP(s_bcnt0_i32_b64) {
  const uint32_t r = 64 - (uint32_t)__builtin_popcountll(A64);
  w->scc = r != 0;
  SET32(r);
}
OP(s_bcnt1_i32_b64) {
  const uint32_t r = (uint32_t)__builtin_popcountll(A64);
  w->scc = r != 0;
  SET32(r);
}
S1Q(ff0_i32_b32, (uint32_t)~A ? __builtin_ctz((uint32_t)~A) : -1)
S1Q(ff0_i32_b64, ~A ? __builtin_ctzll(~A) : -1)
S1Q(ff1_i32_b32, A ? __builtin_ctz((uint32_t)A) : -1)
S1Q(ff1_i32_b64, A ? __builtin_ctzll(A) : -1)
S1Q(flbit_i32_b32, A ? __builtin_clz((uint32_t)A) : -1)
S1Q(flbit_i32_b64, A ? __builtin_clzll(A) : -1)
static int leading_signs(uint64_t a, int bits) {
  const uint64_t sign = a >> (bits - 1) & 1;
  for (int n = 1; n < bits; n++)
    if ((a >> (bits - 1 - n) & 1) != sign) return n;
  return -1;
}
S1Q(flbit_i32, leading_signs(A, 32))
S1Q(flbit_i32_i64, leading_signs(A, 64))
S1Q(sext_i32_i8, (int8_t)A)
S1Q(sext_i32_i16, (int16_t)A)
OP(s_bitset0_b32) { D32 &= ~(1u << (A32 & 31)); }
OP(s_bitset1_b32) { D32 |= 1u << (A32 & 31); }
OP(s_bitset0_b64) { SET64(cdna_scalar64(w, op->d) & ~(1ull << (A32 & 63))); }
OP(s_bitset1_b64) { SET64(cdna_scalar64(w, op->d) | 1ull << (A32 & 63)); }
OP(s_bitreplicate_b64_b32) {
  const uint32_t a = A32;
  uint64_t r = 0;
  for (int b = 0; b < 32; b++) r |= (uint64_t)(a >> b & 1 ? 3 : 0) << 2 * b;
  SET64(r);
}
S1(abs_i32, SI(A) < 0 ? 0u - A : A, R != 0)
#define SAVEEXEC(name_, r_)                                                                                            \
  OP(s_##name_) {                                                                                                      \
    const uint64_t A = A64, E = cdna_exec(w);                                                                          \
    const uint64_t R = (r_);                                                                                           \
    SET64(E);                                                                                                          \
    cdna_set_scalar64(w, CDNA_EXEC, R);                                                                                \
    w->scc = R != 0;                                                                                                   \
  }
SAVEEXEC(and_saveexec_b64, A &E)
SAVEEXEC(or_saveexec_b64, A | E)
SAVEEXEC(xor_saveexec_b64, A ^ E)
SAVEEXEC(andn2_saveexec_b64, A & ~E)
SAVEEXEC(orn2_saveexec_b64, A | ~E)
SAVEEXEC(nand_saveexec_b64, ~(A &E))
SAVEEXEC(nor_saveexec_b64, ~(A | E))
SAVEEXEC(xnor_saveexec_b64, ~(A ^ E))
SAVEEXEC(andn1_saveexec_b64, ~A &E)
SAVEEXEC(orn1_saveexec_b64, ~A | E)
#define WREXEC(name_, r_)                                                                                              \
  OP(s_##name_) {                                                                                                      \
    const uint64_t A = A64, E = cdna_exec(w);                                                                          \
    const uint64_t R = (r_);                                                                                           \
    SET64(R);                                                                                                          \
    cdna_set_scalar64(w, CDNA_EXEC, R);                                                                                \
    w->scc = R != 0;                                                                                                   \
  }
WREXEC(andn1_wrexec_b64, ~A &E)
WREXEC(andn2_wrexec_b64, A & ~E)
static bool indexed_scalar(cdna_wave *w, int code, int width) {
  if (code >= 0 && code + width <= CDNA_SGPRS) return true;
  cdna_stop(w, "M0 = %u selects register s%d", w->s[CDNA_M0], code);
  return false;
}
OP(s_movrels_b32) {
  const int from = op->s[0].code + (int)w->s[CDNA_M0];
  if (indexed_scalar(w, from, 1)) SET32(w->s[from]);
}
OP(s_movrels_b64) {
  const int from = op->s[0].code + (int)w->s[CDNA_M0];
  if (indexed_scalar(w, from, 2)) SET64(cdna_scalar64(w, from));
}
OP(s_movreld_b32) {
  const int to = op->d + (int)w->s[CDNA_M0];
  if (indexed_scalar(w, to, 1)) w->s[to] = A32;
}
OP(s_movreld_b64) {
  const int to = op->d + (int)w->s[CDNA_M0];
  if (indexed_scalar(w, to, 2)) cdna_set_scalar64(w, to, A64);
}

/* SOPC, and SOPK's comparisons with a constant */
#define COMPARE(name_, expression_)                                                                                    \
  OP(s_##name_) {                                                                                                      \
    const uint64_t A = A64, B = B64;                                                                                   \
    w->scc = (expression_);                                                                                            \
  }
COMPARE(cmp_eq_i32, (uint32_t)A == (uint32_t)B)
COMPARE(cmp_lg_i32, (uint32_t)A != (uint32_t)B)
COMPARE(cmp_gt_i32, SI(A) > SI(B))
COMPARE(cmp_ge_i32, SI(A) >= SI(B))
COMPARE(cmp_lt_i32, SI(A) < SI(B))
COMPARE(cmp_le_i32, SI(A) <= SI(B))
COMPARE(cmp_gt_u32, (uint32_t)A > (uint32_t)B)
COMPARE(cmp_ge_u32, (uint32_t)A >= (uint32_t)B)
COMPARE(cmp_lt_u32, (uint32_t)A < (uint32_t)B)
COMPARE(cmp_le_u32, (uint32_t)A <= (uint32_t)B)
COMPARE(cmp_eq_u64, A == B)
COMPARE(cmp_lg_u64, A != B)
COMPARE(bitcmp0_b32, !(A >> (B & 31) & 1))
COMPARE(bitcmp1_b32, A >> (B & 31) & 1)
COMPARE(bitcmp0_b64, !(A >> (B & 63) & 1))
COMPARE(bitcmp1_b64, A >> (B & 63) & 1)
#define COMPARE_K(name_, type_, relation_)                                                                             \
  OP(s_##name_) { w->scc = (type_)D32 relation_(type_) op->imm; }
COMPARE_K(cmpk_eq_i32, int32_t, ==)
COMPARE_K(cmpk_lg_i32, int32_t, !=)
COMPARE_K(cmpk_gt_i32, int32_t, >)
COMPARE_K(cmpk_ge_i32, int32_t, >=)
COMPARE_K(cmpk_lt_i32, int32_t, <)
COMPARE_K(cmpk_le_i32, int32_t, <=)
#define COMPARE_KU(name_, relation_)                                                                                   \
  OP(s_##name_) { w->scc = D32 relation_(uint32_t)(uint16_t) op->imm; }
COMPARE_KU(cmpk_eq_u32, ==)
COMPARE_KU(cmpk_lg_u32, !=)
COMPARE_KU(cmpk_gt_u32, >)
COMPARE_KU(cmpk_ge_u32, >=)
COMPARE_KU(cmpk_lt_u32, <)
COMPARE_KU(cmpk_le_u32, <=)
OP(s_movk_i32) { SET32(op->imm); }
OP(s_cmovk_i32) {
  if (w->scc) SET32(op->imm);
}
OP(s_addk_i32) {
  const uint32_t a = D32, b = (uint32_t)op->imm, r = a + b;
  w->scc = ((a ^ r) & (b ^ r)) >> 31;
  SET32(r);
}
OP(s_mulk_i32) { SET32(D32 * (uint32_t)op->imm); }

static const struct entry {
  const char *name;
  cdna_handler *run;
} entries[] = {
#define X(name_)                                                                                                       \
  { "s_" #name_, s_##name_ }
    X(add_u32),
    X(sub_u32),
    X(add_i32),
    X(sub_i32),
    X(addc_u32),
    X(subb_u32),
    X(min_i32),
    X(min_u32),
    X(max_i32),
    X(max_u32),
    X(and_b32),
    X(or_b32),
    X(xor_b32),
    X(andn2_b32),
    X(orn2_b32),
    X(nand_b32),
    X(nor_b32),
    X(xnor_b32),
    X(and_b64),
    X(or_b64),
    X(xor_b64),
    X(andn2_b64),
    X(orn2_b64),
    X(nand_b64),
    X(nor_b64),
    X(xnor_b64),
    X(lshl_b32),
    X(lshr_b32),
    X(ashr_i32),
    X(lshl_b64),
    X(lshr_b64),
    X(ashr_i64),
    X(bfm_b32),
    X(bfm_b64),
    X(mul_i32),
    X(mul_hi_u32),
    X(mul_hi_i32),
    X(bfe_u32),
    X(bfe_i32),
    X(bfe_u64),
    X(bfe_i64),
    X(absdiff_i32),
    X(lshl1_add_u32),
    X(lshl2_add_u32),
    X(lshl3_add_u32),
    X(lshl4_add_u32),
    X(pack_ll_b32_b16),
    X(pack_lh_b32_b16),
    X(pack_hh_b32_b16),
    X(cselect_b32),
    X(cselect_b64),
    X(mov_b32),
    X(mov_b64),
    X(cmov_b32),
    X(cmov_b64),
    X(not_b32),
    X(not_b64),
    X(wqm_b32),
    X(wqm_b64),
    X(quadmask_b32),
    X(quadmask_b64),
    X(brev_b32),
    X(brev_b64),
    X(bcnt0_i32_b32),
    X(bcnt1_i32_b32),
    X(bcnt0_i32_b64),
    X(bcnt1_i32_b64),
    X(ff0_i32_b32),
    X(ff0_i32_b64),
    X(ff1_i32_b32),
    X(ff1_i32_b64),
    X(flbit_i32_b32),
    X(flbit_i32_b64),
    X(flbit_i32),
    X(flbit_i32_i64),
    X(sext_i32_i8),
    X(sext_i32_i16),
    X(bitset0_b32),
    X(bitset1_b32),
    X(bitset0_b64),
    X(bitset1_b64),
    X(bitreplicate_b64_b32),
    X(abs_i32),
    X(and_saveexec_b64),
    X(or_saveexec_b64),
    X(xor_saveexec_b64),
    X(andn2_saveexec_b64),
    X(orn2_saveexec_b64),
    X(nand_saveexec_b64),
    X(nor_saveexec_b64),
    X(xnor_saveexec_b64),
    X(andn1_saveexec_b64),
    X(orn1_saveexec_b64),
    X(andn1_wrexec_b64),
    X(andn2_wrexec_b64),
    X(movrels_b32),
    X(movrels_b64),
    X(movreld_b32),
    X(movreld_b64),
    X(cmp_eq_i32),
    X(cmp_lg_i32),
    X(cmp_gt_i32),
    X(cmp_ge_i32),
    X(cmp_lt_i32),
    X(cmp_le_i32),
    {"s_cmp_eq_u32", s_cmp_eq_i32},
    {"s_cmp_lg_u32", s_cmp_lg_i32},
    X(cmp_gt_u32),
    X(cmp_ge_u32),
    X(cmp_lt_u32),
    X(cmp_le_u32),
    X(cmp_eq_u64),
    X(cmp_lg_u64),
    X(bitcmp0_b32),
    X(bitcmp1_b32),
    X(bitcmp0_b64),
    X(bitcmp1_b64),
    X(cmpk_eq_i32),
    X(cmpk_lg_i32),
    X(cmpk_gt_i32),
    X(cmpk_ge_i32),
    X(cmpk_lt_i32),
    X(cmpk_le_i32),
    X(cmpk_eq_u32),
    X(cmpk_lg_u32),
    X(cmpk_gt_u32),
    X(cmpk_ge_u32),
    X(cmpk_lt_u32),
    X(cmpk_le_u32),
    X(movk_i32),
    X(cmovk_i32),
    X(addk_i32),
    X(mulk_i32),
#undef X
};

bool cdna_lower_salu(cdna_program *p, const cdna_code *c, cdna_op *op) {
  const cdna_instruction *i = c->instruction;
  if (i->encoding > CDNA_SOPC) return false;
  for (size_t e = 0; e < sizeof entries / sizeof *entries; e++)
    if (!strcmp(entries[e].name, i->name)) op->run = entries[e].run;
  if (!op->run) return false;
  const cdna_operand_form *d = cdna_find_field(i, 'D');
  if (d) op->d = (uint16_t)cdna_operand_code(c, d);
  for (int n = 0; n < 2; n++) {
    const cdna_operand_form *s = cdna_find_field(i, (char)('0' + n));
    if (s) cdna_lower_source(p, c, s, &op->s[n]);
  }
  op->imm = (int16_t)c->bits; /* for SOPK */
  return true;
}
