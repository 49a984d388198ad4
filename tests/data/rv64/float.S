# Every rounded or compared floating-point instruction on every triple of A, in the rounding mode of A's last
# word; result and flags to C. Singles are NaN-boxed in the low half of a doubleword.
  .macro each op:vararg
  la a0, A
  la a1, A_end
1:
  fld fa0, 0(a0)
  fld fa1, 8(a0)
  fld fa2, 16(a0)
  ld t0, 0(a0)
  fsflags zero
  \op
  frflags t2
  fsd fa3, 0(a2)
  sd t1, 8(a2)
  sd t2, 16(a2)
  fmv.d.x fa3, zero
  li t1, 0
  addi a0, a0, 24
  addi a2, a2, 24
  bne a0, a1, 1b
  .endm

  .globl main
main:
  la a2, C
  la a0, ROUNDING
  ld a0, 0(a0)
  fsrm a0
  fmv.d.x fa3, zero
  li t1, 0
  .irp f, s, d
  each fadd.\f fa3, fa0, fa1
  each fsub.\f fa3, fa0, fa1
  each fmul.\f fa3, fa0, fa1
  each fdiv.\f fa3, fa0, fa1
  each fsqrt.\f fa3, fa0
  each fmadd.\f fa3, fa0, fa1, fa2
  each fmsub.\f fa3, fa0, fa1, fa2
  each fnmadd.\f fa3, fa0, fa1, fa2
  each fnmsub.\f fa3, fa0, fa1, fa2
  each fmin.\f fa3, fa0, fa1
  each fmax.\f fa3, fa0, fa1
  each fsgnj.\f fa3, fa0, fa1
  each fsgnjn.\f fa3, fa0, fa1
  each fsgnjx.\f fa3, fa0, fa1
  each feq.\f t1, fa0, fa1
  each flt.\f t1, fa0, fa1
  each fle.\f t1, fa0, fa1
  each fclass.\f t1, fa0
  each fcvt.w.\f t1, fa0
  each fcvt.wu.\f t1, fa0
  each fcvt.l.\f t1, fa0
  each fcvt.lu.\f t1, fa0
  each fcvt.\f\().w fa3, t0
  each fcvt.\f\().wu fa3, t0
  each fcvt.\f\().l fa3, t0
  each fcvt.\f\().lu fa3, t0
  .endr
  each fcvt.s.d fa3, fa0
  each fcvt.d.s fa3, fa0
  each fmv.x.w t1, fa0
  each fmv.x.d t1, fa0
  each fmv.w.x fa3, t0
  each fmv.d.x fa3, t0
  li a0, 0
  ret

  .section .operand.A, "aw", @nobits
  .globl A
A:
  .skip 24 * TRIPLES
A_end:
  .section .operand.ROUNDING, "aw", @nobits
ROUNDING:
  .skip 8
  .section .operand.out.C, "aw", @nobits
C:
  .skip 24 * TRIPLES * 58
