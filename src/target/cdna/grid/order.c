/* order.c - see order.h; line numbers refer to algorithm 1. */
#include "target/cdna/grid/order.h"

/* Lines 3 to 12. */
static int renumber(int id, int blocks, int xcds, int chunk) {
  const int set = xcds * chunk, whole = blocks / set * set, xcd = id % xcds, local = id / xcds;
  if (whole == 0) { /* XCDs with one workgroup more come first */
    const int least = blocks / xcds, more = blocks % xcds;
    return xcd * least + (xcd < more ? xcd : more) + local;
  }
  if (id >= whole) return id;
  return local / chunk * set + xcd * chunk + local % chunk;
}

cdna_cell cdna_order_cell(const cdna_order *o, int rows, int columns, int xcds, int id) {
  if (!o->window) return (cdna_cell){id / columns, id % columns};
  const int number = renumber(id, rows * columns, xcds, o->chunk);
  const int of_window = o->window * columns, first = number / of_window * o->window, within = number % of_window;
  const int height = rows - first < o->window ? rows - first : o->window;
  return (cdna_cell){first + within % height, within / height};
}
