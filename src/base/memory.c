/* memory.c - see memory.h. */
#include "tilewright/memory.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/pages.h"

/* A smaller array would waste more than half of a large page. */
enum { LARGE = TW_LARGE_PAGE / 2 };

static void *allocate(size_t bytes) {
  if (bytes > SIZE_MAX - TW_LARGE_PAGE) return NULL; /* rounding up would overflow */
  if (bytes >= LARGE) return tw_new_pages(bytes);
  const size_t lines = bytes / TW_MEMORY_ALIGNMENT + 1;
  return aligned_alloc(TW_MEMORY_ALIGNMENT, lines * TW_MEMORY_ALIGNMENT);
}

tw_status tw_memory_alloc(size_t bytes, void **out, tw_error *error) {
  *out = allocate(bytes);
  return *out ? TW_OK : tw_fail(error, TW_NO_MEMORY, "no memory for %zu bytes", bytes);
}

void tw_memory_free(void *memory) { free(memory); }
