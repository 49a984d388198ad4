/* toolchain.h - compilers, assemblers and linkers: found, identified by their files, run on untrusted text.
 *
 * A tool chain is a few programs that a machine's folder names as data (tw_toolchain_kind). A tool that is given a
 * candidate's text runs confined (base/confine.h): it reads and runs the tool chain's own folders and what the loader
 * of its programs needs, writes below its own temporary folder, and nothing else; it has no network, no capabilities,
 * no descriptors but its output, an environment of PATH, TMPDIR and LC_ALL, and limits on processor time, memory and
 * sizes. So nothing depends on reading the candidate's text: `.incbin`, #include of any file, options of the assembler
 * end in an error of the tool. Its output is inspected before it is linked (object.h).
 *
 * It can still learn whether a path exists.
 *
 *   tw_toolchain_open      once per build: cheap, the folders of a tool chain are asked for once a process
 *   tw_tool_run_confined   each tool
 *   tw_object_check        what it made */
#ifndef TW_TOOLCHAIN_H
#define TW_TOOLCHAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/hash.h"
#include "tilewright/status.h"

enum { TW_TOOLS_MAX = 6 };

typedef struct tw_toolchain_kind {
  const char *title;                 /* "the RISC-V compiler" */
  const char *remedy;                /* how to get it if it is missing: "apt-get install gcc-riscv64-unknown-elf" */
  const char *program[TW_TOOLS_MAX]; /* names to find in PATH, or paths; ended by NULL */
  bool driver;                       /* program[0] is a driver of GCC or clang: -print-search-dirs says what it needs */
  const char *const *read;           /* further folders that the tools read, ended by NULL: "/usr/include"; or NULL */
} tw_toolchain_kind;

typedef struct tw_toolchain {
  char identity[TW_HASH_TEXT]; /* changes with any of the programs' files: for keys of caches */
  const struct tw_tools *tools;
} tw_toolchain;

/* Finds the programs: TW_NO_COMPILER with the remedy. A plain value: nothing to close. Any thread. */
tw_status tw_toolchain_open(const tw_toolchain_kind *, tw_toolchain *out, tw_error *);
/* Is its driver clang? Then options differ here and there. */
bool tw_toolchain_is_clang(const tw_toolchain *);

typedef struct tw_tool_run {
  size_t program;          /* index */
  const char *const *argv; /* argv[0] is replaced by the program's path; ended by NULL */
  const char *directory;   /* a separate folder, in which it runs, writes and has its temporary files */
  const char *const *read; /* further paths that it may read, ended by NULL; or NULL */
  const char *what;        /* "compiling the kernel": for messages */
  bool trust;              /* run it even if the system cannot confine */
  double seconds;          /* limit of processor time; 0: 60 */
  double wall_seconds;     /* limit of wall-clock time; 0: ten times `seconds`, at least a minute */
  size_t memory, file;     /* limits in bytes of memory, and of any file that it writes; 0: 4 GiB, 128 MiB */
  char **output;           /* its standard output and error, malloc'ed; NULL: not wanted */
} tw_tool_run;

/* A driver is told to make no code that the linker would compile again, and to quote no lines of source in messages.
 * TW_FAILED with at most eight lines of the tool's own errors, printable, or if it used up its processor time.
 * TW_MISSING without disk space, or if the system cannot confine it and `trust` is not set. TW_MISSING also if the
 * tool was killed before it had used its processor time, because a busy computer says nothing about the text. */
tw_status tw_tool_run_confined(const tw_toolchain *, const tw_tool_run *, tw_error *);

/* Files of a tool's folder. Writing does not wait for the disk: they are not needed after a crash. */
tw_status tw_tool_write(const char *directory, const char *name, const void *data, size_t length, tw_error *);
tw_status tw_tool_read(const char *directory, const char *name, char **data, size_t *length, tw_error *);

#endif
