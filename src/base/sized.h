/* sized.h - arguments of the public API: structs that carry their size (status.h), from programs compiled with an
 * older or a newer header; targets and problems. */
#ifndef TW_BASE_SIZED_H
#define TW_BASE_SIZED_H

#include <stddef.h>

#include "tilewright/target.h"

/* A copy of the program's struct, `own_size` bytes: fields that it lacks are 0. `type` names the struct. */
tw_status tw_sized_take(const char *type, const void *given, void *own, size_t own_size, tw_error *);
/* For tables that stay in place. Returns `given` itself. If `given` is smaller than the library's struct, returns a
 * malloc'ed copy of `own`, which tw_sized_take made from it. NULL without memory. */
const void *tw_sized_keep(const void *given, const void *own, size_t own_size);

/* TW_USAGE for a target that is NULL, and for a problem without an operation. */
tw_status tw_check_subject(const tw_target *, const tw_problem *, tw_error *);

#endif
