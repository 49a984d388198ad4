/* sized.h - structs of the public API that carry their size (status.h): programs compiled with an older or a newer header. */
#ifndef TW_BASE_SIZED_H
#define TW_BASE_SIZED_H

#include <stddef.h>

#include "tilewright/status.h"

/* A copy of what the program gave, `own_size` bytes: what its struct lacks is 0. `type` names the struct. */
tw_status tw_sized_take(const char *type, const void *given, void *own, size_t own_size, tw_error *);
/* Is what the program wants filled of a size that can be? */
tw_status tw_sized_check(const char *type, const void *given, tw_error *);
/* Fills it: as much as it has room for; 0 in what the library does not know. Its size stays. */
void tw_sized_give(const void *own, size_t own_size, void *given);
/* `given` itself, or, if it is smaller than the library's struct, a malloc'ed copy of `own`, which tw_sized_take made of it: for
 * tables that stay where they are. NULL without memory. */
const void *tw_sized_keep(const void *given, const void *own, size_t own_size);

#endif
