/* decode.c - RV64IMAFDC, Zicsr, Zifencei and the four custom opcodes, from their encodings.
 *
 * Source: the RISC-V unprivileged specification 20191213, chapters 2 to 16 and the tables of chapter 24. A
 * compressed instruction is first rewritten as the 32-bit one that it abbreviates (chapter 16). Encodings that
 * the specification reserves decode to OP_ILLEGAL. */
#include "target/gemmini/core/decode.h"

#include <stdbool.h>

#include "target/gemmini/core/softfloat.h"

static uint32_t field(uint32_t word, int high, int low) { return word >> low & ((2u << (high - low)) - 1); }
static int32_t sign_extend(uint32_t value, int bits) { return (int32_t)(value << (32 - bits)) >> (32 - bits); }

/* The 12-bit offset of S-type. */
static int32_t store_offset(uint32_t word) { return sign_extend(field(word, 31, 25) << 5 | field(word, 11, 7), 12); }

/* ---- Compressed instructions ----------------------------------------------------------------------------- */

enum { ZERO = 0, RA = 1, SP = 2 };
// clang-format off
enum opcode {
  LOAD = 0x03, LOAD_FP = 0x07, MISC_MEM = 0x0f, IMMEDIATE = 0x13, AUIPC = 0x17, IMMEDIATE_32 = 0x1b, STORE = 0x23,
  STORE_FP = 0x27, ATOMIC = 0x2f, REGISTER = 0x33, LUI = 0x37, REGISTER_32 = 0x3b, MADD = 0x43, MSUB = 0x47,
  NMSUB = 0x4b, NMADD = 0x4f, FLOAT = 0x53, BRANCH = 0x63, JALR = 0x67, JAL = 0x6f, SYSTEM = 0x73,
  CUSTOM_0 = 0x0b, CUSTOM_1 = 0x2b, CUSTOM_2 = 0x5b, CUSTOM_3 = 0x7b,
};
// clang-format on

static uint32_t r_type(uint32_t opcode, uint32_t funct3, uint32_t funct7, uint32_t rd, uint32_t rs1, uint32_t rs2) {
  return funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode;
}
static uint32_t i_type(uint32_t opcode, uint32_t funct3, uint32_t rd, uint32_t rs1, uint32_t imm) {
  return (imm & 0xfff) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode;
}
static uint32_t s_type(uint32_t opcode, uint32_t funct3, uint32_t rs1, uint32_t rs2, uint32_t imm) {
  return field(imm, 11, 5) << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | field(imm, 4, 0) << 7 | opcode;
}
static uint32_t b_type(uint32_t funct3, uint32_t rs1, uint32_t imm) {
  return field(imm, 12, 12) << 31 | field(imm, 10, 5) << 25 | rs1 << 15 | funct3 << 12 | field(imm, 4, 1) << 8 |
         field(imm, 11, 11) << 7 | BRANCH;
}
static uint32_t j_type(uint32_t rd, uint32_t imm) {
  return field(imm, 20, 20) << 31 | field(imm, 10, 1) << 21 | field(imm, 11, 11) << 20 | field(imm, 19, 12) << 12 |
         rd << 7 | JAL;
}

static uint32_t expand_quadrant_0(uint32_t c) {
  uint32_t rd = 8 + field(c, 4, 2), rs1 = 8 + field(c, 9, 7);
  uint32_t word_offset = field(c, 5, 5) << 6 | field(c, 12, 10) << 3 | field(c, 6, 6) << 2;
  uint32_t double_offset = field(c, 6, 5) << 6 | field(c, 12, 10) << 3;
  switch (field(c, 15, 13)) {
  case 0: {
    uint32_t imm = field(c, 10, 7) << 6 | field(c, 12, 11) << 4 | field(c, 5, 5) << 3 | field(c, 6, 6) << 2;
    return imm ? i_type(IMMEDIATE, 0, rd, SP, imm) : 0;
  }
  case 1: return i_type(LOAD_FP, 3, rd, rs1, double_offset);
  case 2: return i_type(LOAD, 2, rd, rs1, word_offset);
  case 3: return i_type(LOAD, 3, rd, rs1, double_offset);
  case 5: return s_type(STORE_FP, 3, rs1, rd, double_offset);
  case 6: return s_type(STORE, 2, rs1, rd, word_offset);
  case 7: return s_type(STORE, 3, rs1, rd, double_offset);
  default: return 0;
  }
}

static uint32_t expand_arithmetic(uint32_t c) { /* quadrant 1, funct3 100 */
  uint32_t rd = 8 + field(c, 9, 7), rs2 = 8 + field(c, 4, 2);
  uint32_t imm = field(c, 12, 12) << 5 | field(c, 6, 2);
  static const struct {
    uint8_t opcode, funct3, funct7;
  } table[8] = {
      {REGISTER, 0, 0x20}, {REGISTER, 4, 0},       {REGISTER, 6, 0},
      {REGISTER, 7, 0},    {REGISTER_32, 0, 0x20}, {REGISTER_32, 0, 0},
  };
  switch (field(c, 11, 10)) {
  case 0: return i_type(IMMEDIATE, 5, rd, rd, imm);
  case 1: return i_type(IMMEDIATE, 5, rd, rd, imm | 0x400);
  case 2: return i_type(IMMEDIATE, 7, rd, rd, (uint32_t)sign_extend(imm, 6));
  default: {
    uint32_t i = field(c, 12, 12) << 2 | field(c, 6, 5);
    return table[i].opcode ? r_type(table[i].opcode, table[i].funct3, table[i].funct7, rd, rd, rs2) : 0;
  }
  }
}

static uint32_t expand_quadrant_1(uint32_t c) {
  uint32_t rd = field(c, 11, 7), rs1 = 8 + field(c, 9, 7);
  uint32_t imm = (uint32_t)sign_extend(field(c, 12, 12) << 5 | field(c, 6, 2), 6);
  switch (field(c, 15, 13)) {
  case 0: return i_type(IMMEDIATE, 0, rd, rd, imm);
  case 1: return rd ? i_type(IMMEDIATE_32, 0, rd, rd, imm) : 0;
  case 2: return i_type(IMMEDIATE, 0, rd, ZERO, imm);
  case 3:
    if (!imm) return 0;
    if (rd != SP) return (imm & 0xfffff) << 12 | rd << 7 | LUI;
    imm = field(c, 12, 12) << 9 | field(c, 4, 3) << 7 | field(c, 5, 5) << 6 | field(c, 2, 2) << 5 | field(c, 6, 6) << 4;
    return i_type(IMMEDIATE, 0, SP, SP, (uint32_t)sign_extend(imm, 10));
  case 4: return expand_arithmetic(c);
  case 5:
    imm = field(c, 12, 12) << 11 | field(c, 8, 8) << 10 | field(c, 10, 9) << 8 | field(c, 6, 6) << 7 |
          field(c, 7, 7) << 6 | field(c, 2, 2) << 5 | field(c, 11, 11) << 4 | field(c, 5, 3) << 1;
    return j_type(ZERO, (uint32_t)sign_extend(imm, 12));
  default:
    imm =
        field(c, 12, 12) << 8 | field(c, 6, 5) << 6 | field(c, 2, 2) << 5 | field(c, 11, 10) << 3 | field(c, 4, 3) << 1;
    return b_type(field(c, 13, 13), rs1, (uint32_t)sign_extend(imm, 9));
  }
}

static uint32_t expand_quadrant_2(uint32_t c) {
  uint32_t rd = field(c, 11, 7), rs2 = field(c, 6, 2);
  uint32_t shift = field(c, 12, 12) << 5 | field(c, 6, 2);
  uint32_t word_load = field(c, 3, 2) << 6 | field(c, 12, 12) << 5 | field(c, 6, 4) << 2;
  uint32_t double_load = field(c, 4, 2) << 6 | field(c, 12, 12) << 5 | field(c, 6, 5) << 3;
  uint32_t word_store = field(c, 8, 7) << 6 | field(c, 12, 9) << 2;
  uint32_t double_store = field(c, 9, 7) << 6 | field(c, 12, 10) << 3;
  switch (field(c, 15, 13)) {
  case 0: return i_type(IMMEDIATE, 1, rd, rd, shift);
  case 1: return i_type(LOAD_FP, 3, rd, SP, double_load);
  case 2: return rd ? i_type(LOAD, 2, rd, SP, word_load) : 0;
  case 3: return rd ? i_type(LOAD, 3, rd, SP, double_load) : 0;
  case 4:
    if (!field(c, 12, 12)) {
      if (rs2) return r_type(REGISTER, 0, 0, rd, ZERO, rs2);
      return rd ? i_type(JALR, 0, ZERO, rd, 0) : 0;
    }
    if (rs2) return r_type(REGISTER, 0, 0, rd, rd, rs2);
    return rd ? i_type(JALR, 0, RA, rd, 0) : 0x00100073; /* ebreak */
  case 5: return s_type(STORE_FP, 3, SP, rs2, double_store);
  case 6: return s_type(STORE, 2, SP, rs2, word_store);
  default: return s_type(STORE, 3, SP, rs2, double_store);
  }
}

static uint32_t expand(uint32_t c) {
  switch (c & 3) {
  case 0: return expand_quadrant_0(c);
  case 1: return expand_quadrant_1(c);
  default: return expand_quadrant_2(c);
  }
}

/* ---- 32-bit instructions --------------------------------------------------------------------------------- */

static const uint8_t branches[8] = {OP_BEQ, OP_BNE, 0, 0, OP_BLT, OP_BGE, OP_BLTU, OP_BGEU};
static const uint8_t loads[8] = {OP_LB, OP_LH, OP_LW, OP_LD, OP_LBU, OP_LHU, OP_LWU, 0};
static const uint8_t stores[8] = {OP_SB, OP_SH, OP_SW, OP_SD};
static const uint8_t immediates[8] = {OP_ADDI, OP_SLLI, OP_SLTI, OP_SLTIU, OP_XORI, OP_SRLI, OP_ORI, OP_ANDI};
static const uint8_t registers[8] = {OP_ADD, OP_SLL, OP_SLT, OP_SLTU, OP_XOR, OP_SRL, OP_OR, OP_AND};
static const uint8_t words[8] = {OP_ADDW, OP_SLLW, 0, 0, 0, OP_SRLW, 0, 0};
static const uint8_t multiplies[8] = {OP_MUL, OP_MULH, OP_MULHSU, OP_MULHU, OP_DIV, OP_DIVU, OP_REM, OP_REMU};
static const uint8_t multiplies_w[8] = {OP_MULW, 0, 0, 0, OP_DIVW, OP_DIVUW, OP_REMW, OP_REMUW};
static const uint8_t csrs[8] = {0, OP_CSRRW, OP_CSRRS, OP_CSRRC, 0, OP_CSRRWI, OP_CSRRSI, OP_CSRRCI};

static uint8_t register_op(uint32_t funct3, uint32_t funct7, bool is_word) {
  switch (funct7) {
  case 0x00: return is_word ? words[funct3] : registers[funct3];
  case 0x01: return is_word ? multiplies_w[funct3] : multiplies[funct3];
  case 0x20:
    if (funct3 == 0) return is_word ? OP_SUBW : OP_SUB;
    return funct3 == 5 ? (is_word ? OP_SRAW : OP_SRA) : OP_ILLEGAL;
  default: return OP_ILLEGAL;
  }
}

static uint8_t immediate_op(rv64_insn *in, uint32_t word, uint32_t funct3) {
  if (funct3 != 1 && funct3 != 5) return immediates[funct3];
  uint32_t kind = field(word, 31, 26);
  in->imm = (int32_t)field(word, 25, 20);
  if (funct3 == 5 && kind == 0x10) return OP_SRAI;
  return kind ? OP_ILLEGAL : immediates[funct3];
}

static uint8_t immediate_word_op(rv64_insn *in, uint32_t word, uint32_t funct3) {
  uint32_t kind = field(word, 31, 25);
  if (funct3 == 0) return OP_ADDIW;
  in->imm = (int32_t)field(word, 24, 20);
  if (funct3 == 1 && kind == 0) return OP_SLLIW;
  if (funct3 == 5 && kind == 0) return OP_SRLIW;
  return funct3 == 5 && kind == 0x20 ? OP_SRAIW : OP_ILLEGAL;
}

static uint8_t atomic_op(rv64_insn *in, uint32_t word, uint32_t funct3) {
  if (funct3 != 2 && funct3 != 3) return OP_ILLEGAL;
  in->format = (uint8_t)funct3;
  switch (field(word, 31, 27)) {
  case 0x02: return in->rs2 ? OP_ILLEGAL : OP_LR;
  case 0x03: return OP_SC;
  case 0x01: return OP_AMOSWAP;
  case 0x00: return OP_AMOADD;
  case 0x04: return OP_AMOXOR;
  case 0x0c: return OP_AMOAND;
  case 0x08: return OP_AMOOR;
  case 0x10: return OP_AMOMIN;
  case 0x14: return OP_AMOMAX;
  case 0x18: return OP_AMOMINU;
  case 0x1c: return OP_AMOMAXU;
  default: return OP_ILLEGAL;
  }
}

static uint8_t system_op(rv64_insn *in, uint32_t word, uint32_t funct3) {
  if (word == 0x00000073) return OP_ECALL;
  if (word == 0x00100073) return OP_EBREAK;
  in->imm = (int32_t)field(word, 31, 20);
  return csrs[funct3];
}

static bool is_rounding(uint32_t rounding) { return rounding <= SF_RMM || rounding == 7; }

/* OP-FP. The format field was checked by the caller. */
static uint8_t float_op(const rv64_insn *in, uint32_t word, uint32_t funct3) {
  bool rounded = is_rounding(funct3);
  static const uint8_t signs[8] = {OP_FSGNJ, OP_FSGNJN, OP_FSGNJX};
  static const uint8_t extremes[8] = {OP_FMIN, OP_FMAX};
  static const uint8_t compares[8] = {OP_FLE, OP_FLT, OP_FEQ};
  switch (field(word, 31, 27)) {
  case 0x00: return rounded ? OP_FADD : OP_ILLEGAL;
  case 0x01: return rounded ? OP_FSUB : OP_ILLEGAL;
  case 0x02: return rounded ? OP_FMUL : OP_ILLEGAL;
  case 0x03: return rounded ? OP_FDIV : OP_ILLEGAL;
  case 0x0b: return rounded && !in->rs2 ? OP_FSQRT : OP_ILLEGAL;
  case 0x04: return signs[funct3];
  case 0x05: return extremes[funct3];
  case 0x14: return compares[funct3];
  case 0x08: return rounded && in->rs2 == (in->format ^ 1) ? OP_FCVT_F_F : OP_ILLEGAL;
  case 0x18: return rounded && in->rs2 < 4 ? OP_FCVT_X_F : OP_ILLEGAL;
  case 0x1a: return rounded && in->rs2 < 4 ? OP_FCVT_F_X : OP_ILLEGAL;
  case 0x1c:
    if (in->rs2) return OP_ILLEGAL;
    return funct3 == 0 ? OP_FMV_X_F : funct3 == 1 ? OP_FCLASS : OP_ILLEGAL;
  case 0x1e: return in->rs2 || funct3 ? OP_ILLEGAL : OP_FMV_F_X;
  default: return OP_ILLEGAL;
  }
}

static bool writes_float(uint8_t op) { return op >= OP_FLW && op <= OP_FMAX; }

rv64_insn rv64_decode(uint32_t word) {
  uint8_t length = (word & 3) == 3 ? 4 : 2;
  uint32_t raw = length == 4 ? word : word & 0xffff;
  if (length == 2) word = expand(raw);

  uint32_t funct3 = field(word, 14, 12), two_bits = field(word, 26, 25);
  rv64_insn in = {
      .length = length,
      .rd = (uint8_t)field(word, 11, 7),
      .rs1 = (uint8_t)field(word, 19, 15),
      .rs2 = (uint8_t)field(word, 24, 20),
      .rs3 = (uint8_t)field(word, 31, 27),
      .rounding = (uint8_t)funct3,
      .format = two_bits == 1 ? SF_D : SF_S,
      .imm = (int32_t)word >> 20,
  };
  uint8_t op = OP_ILLEGAL;
  switch (field(word, 6, 0)) {
  case LUI:
    op = OP_LUI;
    in.imm = (int32_t)(word & 0xfffff000);
    break;
  case AUIPC:
    op = OP_AUIPC;
    in.imm = (int32_t)(word & 0xfffff000);
    break;
  case JAL:
    op = OP_JAL;
    in.imm = sign_extend(field(word, 31, 31) << 20 | field(word, 19, 12) << 12 | field(word, 20, 20) << 11 |
                             field(word, 30, 21) << 1,
                         21);
    break;
  case JALR:
    if (!funct3) op = OP_JALR;
    break;
  case BRANCH:
    op = branches[funct3];
    in.imm = sign_extend(
        field(word, 31, 31) << 12 | field(word, 7, 7) << 11 | field(word, 30, 25) << 5 | field(word, 11, 8) << 1, 13);
    break;
  case LOAD: op = loads[funct3]; break;
  case STORE:
    op = stores[funct3];
    in.imm = store_offset(word);
    break;
  case LOAD_FP: op = funct3 == 2 ? OP_FLW : funct3 == 3 ? OP_FLD : OP_ILLEGAL; break;
  case STORE_FP:
    op = funct3 == 2 ? OP_FSW : funct3 == 3 ? OP_FSD : OP_ILLEGAL;
    in.imm = store_offset(word);
    break;
  case IMMEDIATE: op = immediate_op(&in, word, funct3); break;
  case IMMEDIATE_32: op = immediate_word_op(&in, word, funct3); break;
  case REGISTER: op = register_op(funct3, field(word, 31, 25), false); break;
  case REGISTER_32: op = register_op(funct3, field(word, 31, 25), true); break;
  case MISC_MEM: op = funct3 == 0 ? OP_FENCE : funct3 == 1 ? OP_FENCE_I : OP_ILLEGAL; break;
  case SYSTEM: op = system_op(&in, word, funct3); break;
  case ATOMIC: op = atomic_op(&in, word, funct3); break;
  case MADD:
    if (is_rounding(funct3)) op = OP_FMADD;
    break;
  case MSUB:
    if (is_rounding(funct3)) op = OP_FMSUB;
    break;
  case NMSUB:
    if (is_rounding(funct3)) op = OP_FNMSUB;
    break;
  case NMADD:
    if (is_rounding(funct3)) op = OP_FNMADD;
    break;
  case FLOAT: op = float_op(&in, word, funct3); break;
  case CUSTOM_0:
  case CUSTOM_1:
  case CUSTOM_2:
  case CUSTOM_3: op = OP_CUSTOM; break;
  default: break;
  }
  bool has_format = op >= OP_FMADD && op <= OP_FMV_X_F;
  if (has_format && two_bits > 1) op = OP_ILLEGAL;
  if (op == OP_ILLEGAL || op == OP_CUSTOM) in.imm = (int32_t)raw;
  if (!in.rd && !writes_float(op)) in.rd = RV64_SINK;
  in.op = op;
  return in;
}
