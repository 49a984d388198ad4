/* search.c - windows and chunks for a grid, each simulated, sorted by bandwidth.
 *
 * Windows: up to 16 rows of tiles. Chunks: the square of the window (HipKittens' default), the multiples of the window
 * closest to half, one and two times the CUs of an XCD (its concurrent workgroups), and one range for each XCD.
 * One set of SETS is simulated, because all of them take minutes for 100 orders. */
#include <stdlib.h>

#include "base/parallel.h"
#include "base/strings.h"
#include "base/watch.h"
#include "target/cdna/grid/caches.h"

enum { WINDOWS = 16, CANDIDATES_MAX = 256, SETS = 16 };

typedef struct work {
  const cdna_cache_machine *machine;
  const cdna_grid *grid;
  cdna_grid_choice at[CANDIDATES_MAX];
  tw_status status[CANDIDATES_MAX];
  int n;
  tw_watched watched;
} work;

static void propose(work *w, int window, int chunk) {
  for (int i = 0; i < w->n; i++)
    if (w->at[i].order.window == window && w->at[i].order.chunk == chunk) return;
  if (w->n < CANDIDATES_MAX) w->at[w->n++].order = (cdna_order){window, chunk};
}

static void propose_all(work *w) {
  const int rows = cdna_grid_rows(w->grid), blocks = rows * cdna_grid_columns(w->grid), cus = w->machine->cus;
  const int ranges = (blocks + w->machine->xcds - 1) / w->machine->xcds;
  propose(w, 0, 0);
  for (int window = 1; window <= WINDOWS && window <= rows; window++) {
    const int around[] = {cus / 2, cus, 2 * cus};
    if (window * window <= 2 * cus && window * window < ranges) propose(w, window, window * window);
    for (size_t i = 0; i < sizeof around / sizeof *around; i++)
      for (int chunk = around[i] / window * window; chunk <= around[i] + window - 1; chunk += window)
        if (chunk > 0 && chunk < ranges) propose(w, window, chunk);
    propose(w, window, ranges);
  }
}

static void evaluate(void *context, size_t i) {
  work *w = context;
  w->status[i] = cdna_grid_hits(w->machine, w->grid, &w->at[i].order, 0, SETS, &w->at[i].hits, NULL);
  tw_watched_step(&w->watched);
}

/* More bandwidth first, then the lower window and chunk, so that the result does not depend on the sort algorithm. */
static int compare(const void *left, const void *right) {
  const cdna_grid_choice *a = left, *b = right;
  if (a->hits.bandwidth_tbs != b->hits.bandwidth_tbs) return a->hits.bandwidth_tbs > b->hits.bandwidth_tbs ? -1 : 1;
  return a->order.window != b->order.window ? a->order.window - b->order.window : a->order.chunk - b->order.chunk;
}

tw_status cdna_grid_search(const cdna_cache_machine *m, const cdna_grid *g, int jobs,
                           cdna_grid_choice best[CDNA_GRID_CHOICES], int *n, int *tried, tw_error *error) {
  cdna_hits first;
  tw_status status = cdna_grid_hits(m, g, &(cdna_order){0}, 1, 1, &first, error); /* reports errors in the grid */
  if (status != TW_OK) return status;
  work *w = tw_new(1, sizeof *w);
  if (!w) return tw_no_memory(error, NULL);
  w->machine = m;
  w->grid = g;
  propose_all(w);
  w->watched = (tw_watched){.what = "orders", .all = (size_t)w->n};
  tw_parallel_for(jobs, (size_t)w->n, evaluate, w);
  for (int i = 0; i < w->n && status == TW_OK; i++)
    if (w->status[i] != TW_OK) status = tw_fail(error, w->status[i], "no memory for the caches");
  qsort(w->at, (size_t)w->n, sizeof *w->at, compare);
  *tried = w->n;
  *n = w->n < CDNA_GRID_CHOICES ? w->n : CDNA_GRID_CHOICES;
  for (int i = 0; i < *n; i++) best[i] = w->at[i];
  free(w);
  return status;
}
