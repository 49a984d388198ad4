/* cache.h - built objects, kept by the hash of their inputs.
 *
 * In $XDG_CACHE_HOME/tilewright, else ~/.cache/tilewright. Entries appear whole (temporary file, rename) and carry a
 * hash of their content. A damaged entry counts as missing. The cache is optional: without a writable place, or on a
 * full disk, every look-up misses. Entries beyond TW_CACHE_BYTES are removed, least recently used first. */
#ifndef TW_BASE_CACHE_H
#define TW_BASE_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#define TW_CACHE_BYTES (1ull << 30)

/* A directory below the cache's, made if possible: malloc'ed, NULL if it cannot be made. */
char *tw_cache_directory(const char *name);

/* `key` names an entry within `kind`: letters, digits, '.' and '-' only. `data` is malloc'ed. */
bool tw_cache_get(const char *kind, const char *key, char **data, size_t *length);
void tw_cache_put(const char *kind, const char *key, const void *data, size_t length);

/* Removes entries of `kind`, least recently used first, until they take at most `limit` bytes together. tw_cache_put
 * does it occasionally. */
void tw_cache_trim(const char *kind, unsigned long long limit);

/* The size of one kind. */
typedef struct tw_cache_kind {
  char name[64];
  size_t entries;
  unsigned long long bytes;
} tw_cache_kind;
/* The kinds in order of name, at most `max`; returns how many. */
size_t tw_cache_kinds(tw_cache_kind out[], size_t max);

#endif
