/* moved.c - see moved.h. */
#include "target/xdna2/mlir/moved.h"

static bool holds(int n, const int list[], int fifo) {
  for (int i = 0; i < n; i++)
    if (list[i] == fifo) return true;
  return false;
}

/* For a FIFO that is in the link. */
static int64_t moved_in_link(const xd_program *p, const xd_link *l, int fifo) {
  const xd_fifo_end *end = &p->fifos.at[l->out[0]].producer;
  if (l->n_in == 1 && l->n_out == 1 && xd_end_pads(end))
    return fifo == l->in[0] ? p->fifos.at[fifo].bytes : (int64_t)xd_mlir_walked(end, false);
  const bool joins = l->n_in > 1;
  const int n = joins ? l->n_in : l->n_out, *part = joins ? l->in : l->out;
  const int64_t whole = p->fifos.at[joins ? l->out[0] : l->in[0]].bytes;
  int64_t sum = 0, same = p->fifos.at[part[0]].bytes;
  for (int i = 0; i < n; i++) {
    sum += p->fifos.at[part[i]].bytes;
    if (p->fifos.at[part[i]].bytes != same) same = 0;
  }
  if (n == 1) return whole > sum ? whole : sum; /* the larger object of the two */
  if (sum < 1) return 0;
  return (holds(n, part, fifo) ? p->fifos.at[fifo].bytes : same) * (whole / sum);
}

int64_t xd_mlir_moved(const xd_program *p, int fifo, xd_place tile) {
  for (size_t i = 0; i < p->links.n; i++) {
    const xd_link *l = &p->links.at[i];
    if (xd_same_place(p->fifos.at[l->out[0]].producer.tile, tile) &&
        (holds(l->n_in, l->in, fifo) || holds(l->n_out, l->out, fifo)))
      return moved_in_link(p, l, fifo);
  }
  return p->fifos.at[fifo].bytes;
}

double xd_mlir_walked(const xd_fifo_end *e, bool zeros) {
  double bytes = e->n_dims > 0;
  for (int d = 0; d < e->n_dims; d++)
    bytes *= (double)(e->dim[d].size + (zeros ? e->dim[d].before + e->dim[d].after : 0));
  return bytes;
}
