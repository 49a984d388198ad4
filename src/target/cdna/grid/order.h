/* order.h - which workgroup computes which tile of C: row by row, or HipKittens' order for chiplets (algorithm 1).
 *
 * The dispatcher hands workgroups to the XCDs in turn, so workgroup w runs on XCD w % xcds. The algorithm renumbers
 * them so that runs of `chunk` consecutive numbers are on one XCD, and then walks C in windows of `window` rows of
 * tiles, down the rows of a window first. As printed, it does not renumber the workgroups after the last whole set of
 * xcds * chunk, and without a whole set it does nothing. In that case we give each XCD one contiguous range, as figure
 * 18b of the paper shows for chunk 542 of 4332 workgroups. */
#ifndef TW_CDNA_ORDER_H
#define TW_CDNA_ORDER_H

#include <stdbool.h>

typedef struct cdna_order {
  int window, chunk; /* both 0: row by row */
} cdna_order;

typedef struct cdna_cell {
  int row, column; /* numbers of tiles of C */
} cdna_cell;

/* The tile of workgroup `id` of a grid of rows x columns; a bijection. */
cdna_cell cdna_order_cell(const cdna_order *, int rows, int columns, int xcds, int id);

#endif
