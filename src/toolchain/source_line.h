/* source_line.h - where code of a simulated machine comes from. */
#ifndef TW_TOOLCHAIN_SOURCE_LINE_H
#define TW_TOOLCHAIN_SOURCE_LINE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "FILE:LINE" of the instruction at `address`, without folders; false where the program does not say. Names are as the
 * file has them, with whatever characters. */
bool tw_source_line(Elf *, uint64_t address, char *text, size_t size);

#endif
