/* source_line.h - the source line of an instruction of a simulated machine. */
#ifndef TW_TOOLCHAIN_SOURCE_LINE_H
#define TW_TOOLCHAIN_SOURCE_LINE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "FILE:LINE" of the instruction at `address`, without folders. False if the program has no such data. Names are as
 * in the file, with any characters. */
bool tw_source_line(Elf *, uint64_t address, char *text, size_t size);

#endif
