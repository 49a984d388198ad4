# Every integer instruction on every pair of operands of A; results to C, instruction by instruction.
  .macro each op:vararg
  la a0, A
  la a1, A_end
1:
  ld t0, 0(a0)
  ld t1, 8(a0)
  \op
  sd t2, 0(a2)
  addi a0, a0, 16
  addi a2, a2, 8
  bne a0, a1, 1b
  .endm
  .macro register op
  each \op t2, t0, t1
  .endm
  .macro immediate op, value
  each \op t2, t0, \value
  .endm

  .globl main
main:
  la a2, C
  register add
  register sub
  register sll
  register slt
  register sltu
  register xor
  register srl
  register sra
  register or
  register and
  register addw
  register subw
  register sllw
  register srlw
  register sraw
  register mul
  register mulh
  register mulhsu
  register mulhu
  register mulw
  register div
  register divu
  register rem
  register remu
  register divw
  register divuw
  register remw
  register remuw
  immediate addi, -2048
  immediate slti, -1
  immediate sltiu, -1
  immediate xori, -1
  immediate ori, 0x555
  immediate andi, -256
  immediate slli, 63
  immediate srli, 63
  immediate srai, 63
  immediate addiw, 2047
  immediate slliw, 31
  immediate srliw, 31
  immediate sraiw, 31
  each lui t2, 0x80000
  li a0, 0
  ret

  .section .operand.A, "aw", @nobits
  .globl A
A:
  .skip 16 * PAIRS
A_end:
  .section .operand.out.C, "aw", @nobits
  .globl C
C:
  .skip 8 * PAIRS * 42
