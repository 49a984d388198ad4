/* object.h - looks through the object that a candidate became, before a linker or loader sees it.
 *
 * The check is a list of allowed names and kinds. So an object has no code that the linker compiles again (.gnu.lto_*),
 * and none that runs while the object is loaded (constructors, indirect functions). It has no section of the harness or
 * the linker script, and no symbol of the harness, defined or used. */
#ifndef TW_TOOLCHAIN_OBJECT_H
#define TW_TOOLCHAIN_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tilewright/status.h"

typedef struct tw_object_rules {
  int machine;                /* EM_RISCV, EM_X86_64, ...; 64 bits, little-endian */
  const char *const *section; /* names that are allowed, ended by NULL; NAME allows NAME.anything, too */
  const char *const
      *reserved; /* names of the harness, ended by NULL; one that ends in '*' matches all names with that beginning */
  size_t data_bytes, zero_bytes; /* maximum size of all sections in the file, and of zeros beyond it */
  bool threads;                  /* thread-local variables are allowed */
  bool groups;                   /* groups of sections are allowed, as C++ has for its templates */
  int section_of_machine;        /* a reserved index that symbols may name as their section; 0: none */
} tw_object_rules;

/* The sections of C that have nothing to do with any machine, for lists of `section`. */
#define TW_OBJECT_SECTIONS_OF_C                                                                                        \
  ".text", ".rodata", ".data", ".bss", ".comment", ".note.GNU-stack", ".eh_frame", ".symtab", ".strtab", ".shstrtab",  \
      ".debug_abbrev", ".debug_aranges", ".debug_info", ".debug_line", ".debug_line_str", ".debug_str",                \
      ".debug_frame", ".debug_ranges", ".debug_rnglists", ".debug_loclists", ".debug_addr", ".debug_str_offsets"

/* TW_FAILED with one line that names the rejected part. */
tw_status tw_object_check(const void *object, size_t size, const tw_object_rules *, tw_error *);

#endif
