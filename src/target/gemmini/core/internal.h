/* internal.h - declarations of a program image, shared by the files of the core. */
#ifndef TW_GEMMINI_RV64_INTERNAL_H
#define TW_GEMMINI_RV64_INTERNAL_H

#include <libelf.h>

#include "target/gemmini/core/rv64.h"

typedef struct rv64_image {
  char *name;     /* for messages */
  uint8_t *bytes; /* the file */
  size_t size;
  Elf *elf; /* over `bytes` */
} rv64_image;

/* Names in the file are untrusted: characters that would break a one-line message become '?'. */
void rv64_make_printable(char *text);

#endif
