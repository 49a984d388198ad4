/* link.h - the rivals' programs, and the words exchanged with them (docs/lab/2026-11-x86-libraries.md). */
#ifndef TW_BENCH_LINK_H
#define TW_BENCH_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

enum { RIVALS_MAX = 24, NAME_MAX_BYTES = 48, ANSWER = 512 };

typedef struct rival_link {
  char name[NAME_MAX_BYTES]; /* of the program, without "rival_" */
  char path[4096];
  const char *log;
  pid_t pid; /* 0: not running */
  FILE *to, *from;
} rival_link;

/* The programs rival_* beside this one, and those of the environment variable TILEWRIGHT_RIVALS (paths, ':' between).
 * "tilewright" is the first. Returns how many. What they print on standard error is appended to the file `log`. */
size_t rivals_find(rival_link out[RIVALS_MAX], const char *log);

/* Starts a program that is not running. Is it there for this machine? If not, *why says. */
bool rival_begin(rival_link *, char why[ANSWER]);
/* One line there, one line back within `seconds`; false if the program died or was silent: then it is ended. */
bool rival_ask(rival_link *, double seconds, char answer[ANSWER], const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void rival_end(rival_link *);

#endif
