/* program.h - finds the helper programs of tilewright, which do work in other processes. */
#ifndef TW_BASE_PROGRAM_H
#define TW_BASE_PROGRAM_H

#include <stddef.h>

/* The path of "tilewright-NAME", malloc'ed: the environment variable, if it is set; else beside the running program or
 * the shared library, a folder up (in a build folder), or in libexec/tilewright. NULL if it is not found. */
char *tw_program_path(const char *name, const char *variable);

/* The path of the running program, for starting it again; `fallback` where the system does not tell. */
void tw_own_path(const char *fallback, char *path, size_t size);

/* The folder of the documentation (index.md, ...), malloc'ed: the installed one, or that of the tree in which the
 * program was built. NULL: neither exists. */
char *tw_documents_path(void);

#endif
