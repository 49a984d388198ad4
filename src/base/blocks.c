/* blocks.c - see blocks.h. Blocks of 64 KiB, and larger blocks for larger objects. */
#include "base/blocks.h"

#include <stdlib.h>
#include <string.h>

struct tw_block {
  struct tw_block *next;
  max_align_t data[];
};

void *tw_blocks_take(tw_blocks *a, size_t bytes) {
  const size_t unit = sizeof(max_align_t), need = (bytes + unit - 1) / unit * unit;
  if (need < bytes) return NULL;
  if (need > a->size - a->used || !a->block) {
    const size_t size = need > 65536 ? need : 65536;
    struct tw_block *block = malloc(sizeof *block + size);
    if (!block) return NULL;
    block->next = a->block;
    a->block = block;
    a->size = size;
    a->used = 0;
    a->total += size;
  }
  void *out = (char *)a->block->data + a->used;
  a->used += need;
  return memset(out, 0, bytes);
}

char *tw_blocks_text(tw_blocks *a, const char *text, size_t length) {
  char *out = tw_blocks_take(a, length + 1);
  if (out) memcpy(out, text, length);
  return out;
}

void tw_blocks_free(tw_blocks *a) {
  while (a->block) {
    struct tw_block *next = a->block->next;
    free(a->block);
    a->block = next;
  }
  *a = (tw_blocks){0};
}
