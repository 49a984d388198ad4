/* registers.c - see registers.h. */
#include "target/x86/runner/registers.h"

#ifdef __x86_64__
/* A caller in C saves the registers that it uses itself, so what a kernel destroys is visible only to its direct
 * caller. The stack pointer is kept in memory, because no register is certain after the call. */
#define KEPT(step)                                                                                                     \
  step("rbx", "0x5a11") step("rbp", "0x5a22") step("r12", "0x5a33") step("r13", "0x5a44") step("r14", "0x5a55")        \
      step("r15", "0x5a66")
#define SAVE(name, value) "push %" name "\n\t"
#define FILL(name, value) "mov $" value ", %" name "\n\t"
#define COMPARE(name, value) "xor $" value ", %" name "\n\tor %" name ", %rax\n\t"
uint64_t x86_changes_of_registers(x86_function *, const uintptr_t *);
uintptr_t x86_stack_of_call;
__asm__(".text\n"
        ".globl x86_changes_of_registers\n"
        ".hidden x86_changes_of_registers\n"
        ".type x86_changes_of_registers, @function\n"
        "x86_changes_of_registers:\n\t" /* six registers and the return address: 8 bytes more align the stack */
        KEPT(SAVE) "sub $8, %rsp\n\t"
                   "mov %rsp, x86_stack_of_call(%rip)\n\t"
                   "mov %rdi, %r10\n\t"
                   "mov %rsi, %r11\n\t"
                   "push 72(%r11)\n\t"
                   "push 64(%r11)\n\t"
                   "push 56(%r11)\n\t"
                   "push 48(%r11)\n\t"
                   "mov (%r11), %rdi\n\t"
                   "mov 8(%r11), %rsi\n\t"
                   "mov 16(%r11), %rdx\n\t"
                   "mov 24(%r11), %rcx\n\t"
                   "mov 32(%r11), %r8\n\t"
                   "mov 40(%r11), %r9\n\t" KEPT(
                       FILL) "call *%r10\n\t"
                             "lea 32(%rsp), %rax\n\t"
                             "mov x86_stack_of_call(%rip), %rsp\n\t"
                             "xor %rsp, %rax\n\t" KEPT(
                                 COMPARE) "add $8, %rsp\n\t"
                                          "pop %r15\n\t"
                                          "pop %r14\n\t"
                                          "pop %r13\n\t"
                                          "pop %r12\n\t"
                                          "pop %rbp\n\t"
                                          "pop %rbx\n\t"
                                          "ret\n"
                                          ".size x86_changes_of_registers, . - x86_changes_of_registers\n");

bool x86_call_keeps_registers(x86_function *f, const uintptr_t arguments[X86_ARGUMENTS]) {
  return x86_changes_of_registers(f, arguments) == 0;
}
#else
typedef uintptr_t word;
typedef void words(word, word, word, word, word, word, word, word, word, word);
bool x86_call_keeps_registers(x86_function *f, const uintptr_t a[X86_ARGUMENTS]) {
  ((words *)f)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9]);
  return true;
}
#endif
