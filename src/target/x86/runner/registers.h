/* registers.h - calls of a kernel after which the registers are compared that a function must keep. */
#ifndef TW_X86_REGISTERS_H
#define TW_X86_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

enum { X86_ARGUMENTS = 10 };
typedef void x86_function(void);

/* Calls the function with integers and addresses as arguments; it may take fewer. False if rbx, rbp, rsp or r12 to r15
 * are not as before. For one thread of the process. On other processors always true. */
bool x86_call_keeps_registers(x86_function *, const uintptr_t arguments[X86_ARGUMENTS]);

#endif
