/* machines.h - targets that files describe: those in src/target/NAME/configs, which are part of the program, and the
 * user's.
 *
 * A kind of machines has a schema of its files, and fills a target for what was read. The files in the program are
 * named like their machine, and may have a base as well. */
#ifndef TW_TARGET_MACHINES_H
#define TW_TARGET_MACHINES_H

#include <pthread.h>

#include "base/config_file.h"
#include "tilewright/extend/target.h"

typedef struct tw_machine_kind {
  const char *folder; /* folder of its files in the program: "gemmini/configs/" */
  const char *prefix; /* start of targets' names before the machine's name: "cuda-", or "" */
  const tw_config_schema *schema;
  /* Fills all but name and summary. The values outlive the target. traits.error and error_of come from the values;
   * NULL: unknown. */
  void (*fill)(const void *values, tw_target *out);
} tw_machine_kind;

typedef struct tw_machine {
  tw_target target;
  const tw_machine_kind *kind;
  void *values;          /* the struct that the schema fills */
  const char *text;      /* text of the embedded file; NULL: a user's machine */
  const tw_target *base; /* NULL: no base */
  char *name, *error_of;
} tw_machine;

/* The machines of a kind that are part of the program. Static, with .lock = PTHREAD_MUTEX_INITIALIZER. */
enum { TW_MACHINES_MAX = 24 };
typedef struct tw_machine_list {
  tw_machine_kind kind;
  pthread_mutex_t lock;
  bool is_filled;
  size_t n;
  tw_machine machine[TW_MACHINES_MAX];
} tw_machine_list;

/* By position, NULL past the last. The first call reads the files. A wrong file ends the program, because the
 * program itself is then broken. */
const tw_target *tw_machines_at(tw_machine_list *, size_t index);
/* The machine of one of the list's targets, or NULL. */
const tw_machine *tw_machines_find(tw_machine_list *, const tw_target *);

/* Makes a user's machine of a text with a base. `stem` is its name unless the text gives one. *problems as in
 * tw_config_read. */
tw_status tw_machine_make(const tw_machine *base, const char *text, const char *origin, const char *stem,
                          tw_machine **out, char **problems, tw_error *);
void tw_machine_free(tw_machine *);

/* `available` of a target that needs neither a device nor a compiler. */
static inline tw_status tw_available_anywhere(const tw_target *t, tw_error *error) {
  (void)t, (void)error;
  return TW_OK;
}

#endif
