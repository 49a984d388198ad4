/* start.S - entry of a candidate program on the simulated machine: machine mode, no virtual memory.
 *
 * The loader has set sp and zeroed .bss; what is left is gp, and the way out (src/sim/rv64.h: CSR 0x8c3). */
  .section .text.start, "ax", @progbits
  .globl _start
  .type _start, @function
_start:
  .option push
  .option norelax
  la gp, __global_pointer$
  .option pop
  call main
  .globl _exit
  .type _exit, @function
_exit:
  csrw 0x8c3, a0
1:
  j 1b
  .size _start, . - _start
