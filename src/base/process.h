/* process.h - runs a program (a compiler) without a shell, with limits, from any thread. */
#ifndef TW_BASE_PROCESS_H
#define TW_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/confine.h"
#include "tilewright/status.h"

typedef struct tw_process_options {
  const char *const *argv; /* ended by NULL; argv[0] is looked up in PATH unless it has a '/' */
  const char *directory;   /* folder to run in; NULL: the caller's */
  const void *input;       /* fed to standard input; NULL = /dev/null */
  size_t input_length;
  size_t output_limit; /* bytes kept of standard output and error together; 0 = 64 KiB. The rest is read and dropped. */
  bool errors_apart;   /* standard error goes to `errors`, which has a separate limit of the same size */
  void (*hear_errors)(void *hearer, const char *line); /* receives each complete line of `errors`; NULL: none */
  void *hearer;
  double seconds;                    /* after this time its process group is killed; 0 = 60 */
  double cpu_seconds;                /* limit of processor time of each program of the group; 0 = as `seconds` */
  size_t memory_limit;               /* bytes of address space; 0 = none */
  size_t file_limit;                 /* bytes of any file that it writes; 0 = none */
  const char *const *environment;    /* ended by NULL; NULL: the environment of this process */
  const tw_confinement *confinement; /* NULL: none */
  const volatile int *interrupt;     /* when it becomes non-zero the group is killed; NULL = never */
  const tw_stop *stop;               /* likewise, when tw_is_stopped returns true; NULL = never */
} tw_process_options;

typedef struct tw_process_result {
  int exit_status; /* 0..255; -1 if a signal ended it */
  int signal;      /* signal that ended it; 0 if none */
  bool timed_out, interrupted, truncated;
  char *output; /* malloc'ed, followed by '\0': standard output and error in their order */
  size_t length;
  char *errors; /* likewise, with errors_apart; else NULL */
  double seconds;
  double cpu_seconds; /* seconds of processor time of the process and of the programs that it started and waited for */
} tw_process_result;

/* TW_OK if the program ran, whatever its exit status. TW_MISSING if it could not be started (no such program),
 * with the name in the error. */
tw_status tw_process_run(const tw_process_options *, tw_process_result *out, tw_error *);
void tw_process_result_free(tw_process_result *);

/* The file that `program` names in PATH (itself, if it has a '/'); false if there is none. */
enum { TW_PROGRAM_PATH = 4096 };
bool tw_process_path(const char *program, char path[TW_PROGRAM_PATH]);
/* Is there an executable of this name in PATH? */
bool tw_process_find(const char *program);

#endif
