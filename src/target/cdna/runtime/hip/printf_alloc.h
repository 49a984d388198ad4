/* printf_alloc.h - room in the launch's buffer for one call of printf, which clang (-mprintf-kind=buffered) writes there and the
 * emulator prints: bytes taken, bytes there are, then what the calls left. NULL if there is no room, or no buffer. */
#pragma once
extern "C" __attribute__((device, weak, noinline)) __attribute__((address_space(1))) char *
__printf_alloc(unsigned bytes) {
  typedef __attribute__((address_space(1))) unsigned *header;
  enum { HIDDEN_PRINTF_BUFFER = 72 };
  const header buffer = *(const __attribute__((address_space(4)))
                          header *)((const __attribute__((address_space(4))) char *)__builtin_amdgcn_implicitarg_ptr() +
                                    HIDDEN_PRINTF_BUFFER);
  if (!buffer) return nullptr;
  const unsigned at = __hip_atomic_fetch_add(buffer, bytes, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  if (at + bytes > buffer[1]) return nullptr;
  return (__attribute__((address_space(1))) char *)(buffer + 2) + at;
}
