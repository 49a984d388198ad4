/* blocks.h - memory that is freed all at once. */
#ifndef TW_BASE_BLOCKS_H
#define TW_BASE_BLOCKS_H

#include <stddef.h>

typedef struct tw_blocks {
  struct tw_block *block;
  size_t used, size, total; /* used, size: bytes of the current block; total: bytes of all blocks */
} tw_blocks;

/* Zeroed and aligned for any type. NULL without memory. */
void *tw_blocks_take(tw_blocks *, size_t bytes);
/* A copy that ends with '\0'. */
char *tw_blocks_text(tw_blocks *, const char *text, size_t length);
void tw_blocks_free(tw_blocks *);

#endif
