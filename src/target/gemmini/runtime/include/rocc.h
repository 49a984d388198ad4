/* rocc.h - custom RISC-V instructions of a RoCC coprocessor, from C.
 *
 * A RoCC command is an R-type instruction with opcode custom-0..3. Its funct3 says which registers take part:
 * bit 2 xd (a result is written to rd), bit 1 xs1, bit 0 xs2 (rs1, rs2 are read). The compiler picks the
 * registers ("r"), nothing is clobbered: as far as it knows a command reads and writes no memory, so that the
 * instruction stream is the one that programs written for Gemmini's public macros have. */
#ifndef ROCC_H
#define ROCC_H

#define ROCC_TEXT_(x) #x
#define ROCC_TEXT(x) ROCC_TEXT_(x)

/* Opcodes by number: LLVM's assembler does not know the names. */
#define ROCC_OPCODE_0 0x0b
#define ROCC_OPCODE_1 0x2b
#define ROCC_OPCODE_2 0x5b
#define ROCC_OPCODE_3 0x7b
#define ROCC_OPCODE_(custom) ROCC_OPCODE_##custom
#define ROCC_OPCODE(custom) ROCC_OPCODE_(custom)

/* Commands without a result. */
#define ROCC_INSTRUCTION_0_R_R(custom, rs1, rs2, funct7) \
  { asm volatile(".insn r " ROCC_TEXT(ROCC_OPCODE(custom)) ", 3, " ROCC_TEXT(funct7) ", x0, %0, %1" : : "r"(rs1), "r"(rs2)); }

/* Commands that answer in rd. */
#define ROCC_INSTRUCTION_R_R_R(custom, rd, rs1, rs2, funct7) \
  { asm volatile(".insn r " ROCC_TEXT(ROCC_OPCODE(custom)) ", 7, " ROCC_TEXT(funct7) ", %0, %1, %2" \
                 : "=r"(rd) : "r"(rs1), "r"(rs2)); }

#define ROCC_INSTRUCTION(custom, rd, rs1, rs2, funct7) ROCC_INSTRUCTION_R_R_R(custom, rd, rs1, rs2, funct7)

#endif
