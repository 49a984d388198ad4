/* registry.h - a list that only grows. Readers need no lock, and items stay in place. */
#ifndef TW_BASE_REGISTRY_H
#define TW_BASE_REGISTRY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "tilewright/status.h"

enum { TW_REGISTRY_MAX = 64 };

/* Static, and initialized with {.lock = PTHREAD_MUTEX_INITIALIZER}. */
typedef struct tw_registry {
  pthread_mutex_t lock; /* of writers */
  atomic_size_t n;
  const void *item[TW_REGISTRY_MAX]; /* written before n grows, and never again */
} tw_registry;

const void *tw_registry_at(tw_registry *, size_t index); /* NULL past the last */
/* TW_USAGE if the list is full, or if `known` finds an item of that name. No writer runs during `known`. `what`
 * names the kind of item in messages: "op". */
tw_status tw_registry_add(tw_registry *, const char *name, const void *item, const void *(*known)(const char *name),
                          const char *what, tw_error *);

#endif
