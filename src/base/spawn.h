/* spawn.h - starts a program as a child that inherits only what it is given.
 *
 * The child gets its own session and process group, default signals, and only the listed descriptors. It dies with the
 * thread that started it, however that ends: the death signal is set before the program runs, and an earlier death of
 * the parent is noticed. The parent's memory is not copied (vfork). */
#ifndef TW_BASE_SPAWN_H
#define TW_BASE_SPAWN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/confine.h"

enum { TW_SPAWN_FILES = 8, TW_SPAWN_LIMITS = 8 };

typedef struct tw_spawn {
  const char *path;               /* path of the program: not looked up */
  const char *const *argv;        /* ended by NULL */
  const char *const *environment; /* ended by NULL; NULL: the parent's */
  const char *directory;          /* NULL: the parent's */
  int file[TW_SPAWN_FILES];       /* descriptors of the parent, which become 0, 1, ... of the child */
  int n_files;
  struct {
    int resource; /* RLIMIT_...; an existing lower limit is kept */
    uint64_t most;
  } limit[TW_SPAWN_LIMITS];
  int n_limits;
  const tw_confinement *confinement; /* NULL: none */
} tw_spawn;

/* Returns 0 and *pid, or the errno of the step that failed. */
int tw_spawn_program(const tw_spawn *, pid_t *pid);

#endif
