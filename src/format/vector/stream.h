/* stream.h - copies that bypass the caches, so that a large output is not read before it is written. */
#ifndef TW_FORMAT_VECTOR_STREAM_H
#define TW_FORMAT_VECTOR_STREAM_H

#include "format/vector/minifloat.h"

static void vector_stream(void *to, const void *from, size_t bytes) {
  enum { WIDTH = sizeof(vi) };
  uint8_t *t = to;
  const uint8_t *f = from;
  size_t head = (WIDTH - (uintptr_t)t % WIDTH) % WIDTH;
  if (head > bytes) head = bytes;
  memcpy(t, f, head);
  size_t i = head;
  for (; i + WIDTH <= bytes; i += WIDTH) v_stream(t + i, v_load(f + i));
  memcpy(t + i, f + i, bytes - i);
}

static void vector_fence(void) { _mm_sfence(); }

#endif
