/* heap.h - a binary heap: the least time first, of equal times the least priority, then the least value. */
#ifndef TW_BASE_HEAP_H
#define TW_BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>

typedef struct tw_heap_entry {
  double at;
  int64_t priority;
  int32_t value;
} tw_heap_entry;

/* `entry` is the caller's memory, with room for all entries. */
typedef struct tw_heap {
  tw_heap_entry *entry;
  size_t n;
} tw_heap;

void tw_heap_push(tw_heap *, tw_heap_entry);
/* Removes the first entry of a heap that is not empty. */
tw_heap_entry tw_heap_pop(tw_heap *);

#endif
