/* arena.h - memory that is freed all at once. */
#ifndef TW_TRAINIUM_NKI_ARENA_H
#define TW_TRAINIUM_NKI_ARENA_H

#include <stddef.h>

typedef struct nki_arena {
  struct nki_block *block;
  size_t used, size, total; /* of the current block; total: bytes of all blocks */
} nki_arena;

/* Zeroed and aligned for any type. NULL without memory. */
void *nki_arena_take(nki_arena *, size_t bytes);
/* A copy that ends with '\0'. */
char *nki_arena_text(nki_arena *, const char *text, size_t length);
void nki_arena_free(nki_arena *);

#endif
