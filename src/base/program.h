/* program.h - finds the helper programs of tilewright, which do work in other processes, and its optional parts. */
#ifndef TW_BASE_PROGRAM_H
#define TW_BASE_PROGRAM_H

#include <stddef.h>

#include "base/status.h"

/* The path of "tilewright-NAME", malloc'ed: the environment variable, if it is set; else beside the running program or
 * the shared library, a folder up (in a build folder), or in libexec/tilewright. NULL if it is not found. */
char *tw_program_path(const char *name, const char *variable);

/* An optional part of the command is the module "tilewright-NAME.so" with one table of functions. The module calls
 * functions of the command, which shows them (cmake/modules.cmake). */
typedef struct tw_module {
  /* Version of tilewright for which the module was built: TILEWRIGHT_VERSION. */
  const char *version;
} tw_module;

typedef struct tw_part {
  const char *name;
  /* Environment variable with the path of another file. */
  const char *variable;
  /* Symbol of the table, which begins with a tw_module. */
  const char *table;
  /* Begins the message "... is part of ...". */
  const char *purpose;
} tw_part;

/* The table of a part. Loads the module if this process does not have the table yet; it stays loaded. TW_UNSUPPORTED in a
 * program with the library, which hides the functions. TW_MISSING: the file is missing, damaged, or of another version. */
tw_status tw_module_open(const tw_part *, const tw_module **out, tw_error *);

/* The path of the running program, for starting it again; `fallback` where the system does not tell. */
void tw_own_path(const char *fallback, char *path, size_t size);

/* The folder of the documentation (index.md, ...), malloc'ed: the installed one, or that of the tree in which the
 * program was built. NULL: neither exists. */
char *tw_documents_path(void);

#endif
