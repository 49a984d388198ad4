/* heap.c - a binary heap. */
#include "base/heap.h"

#include <stdbool.h>

static bool is_before(const tw_heap_entry *a, const tw_heap_entry *b) {
  if (a->at != b->at) return a->at < b->at;
  return a->priority != b->priority ? a->priority < b->priority : a->value < b->value;
}

void tw_heap_push(tw_heap *h, tw_heap_entry x) {
  size_t i = h->n++;
  for (; i > 0 && is_before(&x, &h->entry[(i - 1) / 2]); i = (i - 1) / 2) h->entry[i] = h->entry[(i - 1) / 2];
  h->entry[i] = x;
}

tw_heap_entry tw_heap_pop(tw_heap *h) {
  const tw_heap_entry least = h->entry[0], x = h->entry[--h->n];
  size_t i = 0;
  for (size_t child; (child = 2 * i + 1) < h->n; i = child) {
    if (child + 1 < h->n && is_before(&h->entry[child + 1], &h->entry[child])) child++;
    if (!is_before(&h->entry[child], &x)) break;
    h->entry[i] = h->entry[child];
  }
  h->entry[i] = x;
  return least;
}
