/* decode.h - one RV64GC instruction in the form that the interpreter runs. */
#ifndef TW_GEMMINI_RV64_DECODE_H
#define TW_GEMMINI_RV64_DECODE_H

#include <stdint.h>

// clang-format off
typedef enum rv64_op {
  OP_ILLEGAL,
  OP_OUTSIDE, /* no code here: a fetch fault */
  OP_LUI, OP_AUIPC, OP_JAL, OP_JALR,
  OP_BEQ, OP_BNE, OP_BLT, OP_BGE, OP_BLTU, OP_BGEU,
  OP_LB, OP_LH, OP_LW, OP_LD, OP_LBU, OP_LHU, OP_LWU,
  OP_SB, OP_SH, OP_SW, OP_SD,
  OP_ADDI, OP_SLTI, OP_SLTIU, OP_XORI, OP_ORI, OP_ANDI, OP_SLLI, OP_SRLI, OP_SRAI,
  OP_ADDIW, OP_SLLIW, OP_SRLIW, OP_SRAIW,
  OP_ADD, OP_SUB, OP_SLL, OP_SLT, OP_SLTU, OP_XOR, OP_SRL, OP_SRA, OP_OR, OP_AND,
  OP_ADDW, OP_SUBW, OP_SLLW, OP_SRLW, OP_SRAW,
  OP_MUL, OP_MULH, OP_MULHSU, OP_MULHU, OP_DIV, OP_DIVU, OP_REM, OP_REMU,
  OP_MULW, OP_DIVW, OP_DIVUW, OP_REMW, OP_REMUW,
  OP_FENCE, OP_FENCE_I, OP_ECALL, OP_EBREAK,
  OP_CSRRW, OP_CSRRS, OP_CSRRC, OP_CSRRWI, OP_CSRRSI, OP_CSRRCI, /* imm: the CSR; rs1: register or immediate */
  OP_LR, OP_SC, OP_AMOSWAP, OP_AMOADD, OP_AMOXOR, OP_AMOAND, OP_AMOOR, OP_AMOMIN, OP_AMOMAX, OP_AMOMINU, OP_AMOMAXU,
  OP_FSW, OP_FSD,
  OP_FLW, OP_FLD, /* from here to OP_FMAX: a floating-point register is written */
  OP_FMADD, OP_FMSUB, OP_FNMSUB, OP_FNMADD, OP_FADD, OP_FSUB, OP_FMUL, OP_FDIV, OP_FSQRT,
  OP_FCVT_F_F, /* to `format` from the other one */
  OP_FCVT_F_X, /* rs2, here and below: the encoding's 0 = w, 1 = wu, 2 = l, 3 = lu */
  OP_FMV_F_X,
  OP_FSGNJ, OP_FSGNJN, OP_FSGNJX, OP_FMIN, OP_FMAX,
  OP_FLE, OP_FLT, OP_FEQ, OP_FCLASS, OP_FCVT_X_F, OP_FMV_X_F, /* an integer register is written */
  OP_CUSTOM,  /* imm: the instruction */
  OP_COUNT,
} rv64_op;
// clang-format on

enum { RV64_SINK = 32 }; /* rd of integer instructions that write x0: a register that is never read */

typedef struct rv64_insn {
  uint8_t op;     /* rv64_op */
  uint8_t length; /* 2 or 4; 0 = not decoded yet */
  uint8_t rd, rs1, rs2, rs3;
  uint8_t rounding; /* rounding mode of floating-point instructions: 0..4, 7 = dynamic */
  uint8_t format;   /* sf_format; of atomics: log2 of the size */
  int32_t imm;      /* sign-extended immediate; for OP_ILLEGAL and OP_CUSTOM the encoding */
  /* Used by the core: the last known place of the packet that begins here in the branch target buffer; the number of
   * halfwords from here to the next jump + 1, 0 = not known yet. */
  uint8_t target_buffer, to_jump;
} rv64_insn;

/* `word` holds the instruction at its low end; a compressed one in the low 16 bits. */
rv64_insn rv64_decode(uint32_t word);

#endif
