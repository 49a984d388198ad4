/* arena.c - blocks of 64 KiB, larger ones for what does not fit. */
#include "target/trainium/nki/arena.h"

#include <stdlib.h>
#include <string.h>

struct nki_block {
  struct nki_block *next;
  max_align_t data[];
};

void *nki_arena_take(nki_arena *a, size_t bytes) {
  const size_t unit = sizeof(max_align_t), need = (bytes + unit - 1) / unit * unit;
  if (need < bytes) return NULL;
  if (need > a->size - a->used || !a->block) {
    const size_t size = need > 65536 ? need : 65536;
    struct nki_block *block = malloc(sizeof *block + size);
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

char *nki_arena_text(nki_arena *a, const char *text, size_t length) {
  char *out = nki_arena_take(a, length + 1);
  if (out) memcpy(out, text, length);
  return out;
}

void nki_arena_free(nki_arena *a) {
  while (a->block) {
    struct nki_block *next = a->block->next;
    free(a->block);
    a->block = next;
  }
  *a = (nki_arena){0};
}
