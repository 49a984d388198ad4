/* walk.c - see walk.h. The position in the stream is a number in the mixed radix of the dims' padded sizes. */
#include "target/xdna2/array/walk.h"

#include <string.h>

typedef struct walker {
  const xd_pattern *p;
  int64_t index[XD_DIMS]; /* padded: the first steps of a dim are its `before` */
  int64_t base;
} walker;

static int64_t padded(const xd_dim *d) { return d->before + d->size + d->after; }

static walker start(const xd_pattern *p, int64_t shift, int64_t from) {
  walker w = {.p = p, .base = p->offset + shift};
  for (int d = 0; d < p->n_dims; d++) {
    w.index[d] = from % padded(&p->dim[d]);
    from /= padded(&p->dim[d]);
  }
  return w;
}

/* The next piece: at most n bytes that are all zeros (*zero) or consecutive from *address on. */
static int64_t piece(walker *w, int64_t n, int64_t *address, bool *zero) {
  const xd_pattern *p = w->p;
  const xd_dim *run = &p->dim[0];
  *address = w->base + w->index[0] - run->before;
  *zero = w->index[0] < run->before || w->index[0] >= run->before + run->size;
  for (int d = 1; d < p->n_dims; d++) {
    const int64_t i = w->index[d] - p->dim[d].before;
    *address += i * p->dim[d].stride;
    *zero |= i < 0 || i >= p->dim[d].size;
  }
  int64_t end = padded(run);
  if (!*zero) end = run->before + run->size;
  if (w->index[0] < run->before) end = run->before;
  if (n > end - w->index[0]) n = end - w->index[0];
  w->index[0] += n;
  for (int d = 0; d + 1 < p->n_dims && w->index[d] == padded(&p->dim[d]); d++) {
    w->index[d] = 0;
    w->index[d + 1]++;
  }
  return n;
}

void xd_walk_read(const xd_pattern *p, int64_t shift, const uint8_t *memory, int64_t from, int64_t n, uint8_t *stream) {
  walker w = start(p, shift, from);
  while (n > 0) {
    int64_t address;
    bool zero;
    const int64_t bytes = piece(&w, n, &address, &zero);
    if (zero)
      memset(stream, 0, (size_t)bytes);
    else
      memcpy(stream, memory + address, (size_t)bytes);
    stream += bytes;
    n -= bytes;
  }
}

void xd_walk_write(const xd_pattern *p, int64_t shift, uint8_t *memory, int64_t from, int64_t n,
                   const uint8_t *stream) {
  walker w = start(p, shift, from);
  while (n > 0) {
    int64_t address;
    bool zero;
    const int64_t bytes = piece(&w, n, &address, &zero);
    if (!zero) memcpy(memory + address, stream, (size_t)bytes);
    stream += bytes;
    n -= bytes;
  }
}
