/* program.h - where the programs are that belong to tilewright: it starts them to have work done in another process. */
#ifndef TW_BASE_PROGRAM_H
#define TW_BASE_PROGRAM_H

/* The path of "tilewright-NAME", malloc'ed: what the environment variable says, if it is set; else beside the running
 * program or the shared library, a folder up (in a build folder), or in libexec/tilewright. NULL if it is not there. */
char *tw_program_path(const char *name, const char *variable);

/* The folder of the documents (cli.md, ...), malloc'ed: of what was installed, or of the tree in which the program was built.
 * NULL: neither is there. */
char *tw_documents_path(void);

#endif
