/* code_values.h - the values of 4-bit codes as bf16, by code: what instruction sets look codes up in. */
#ifndef TW_X86_CODE_VALUES_H
#define TW_X86_CODE_VALUES_H

#include <stdint.h>

/* 0 to 7, then -8 to -1. */
static const uint16_t S4_AS_BF16[16] = {0x0000, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0, 0x40c0, 0x40e0,
                                        0xc100, 0xc0e0, 0xc0c0, 0xc0a0, 0xc080, 0xc040, 0xc000, 0xbf80};
/* 0, 0.5, 1, 1.5, 2, 3, 4, 6, then the same with a sign. */
static const uint16_t E2M1_AS_BF16[16] = {0x0000, 0x3f00, 0x3f80, 0x3fc0, 0x4000, 0x4040, 0x4080, 0x40c0,
                                          0x8000, 0xbf00, 0xbf80, 0xbfc0, 0xc000, 0xc040, 0xc080, 0xc0c0};

#endif
