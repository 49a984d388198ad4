/* grid.c - the view `grid`: the XCD of each tile of C, and the resulting hit rates in L2 and LLC. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/cdna/views/views.h"

enum { M, N, K, TILE, TYPE, WINDOW, CHUNK, SEARCH };
const tw_view_key cdna_grid_keys[] = {
    {"m", NULL, "rows of C"},
    {"n", NULL, "columns of C"},
    {"k", NULL, "inner dimension"},
    {"tile", "256x256x64", "tile of a workgroup: m x n x step along k"},
    {"type", "bf16", "element type of A and B"},
    {"window", "0", "rows of tiles in a band (HipKittens' W); 0: row by row"},
    {"chunk", "0", "consecutive workgroups on one XCD (HipKittens' C); 0: no remap"},
    {"search", "0", "1: find the best window and chunk"},
    {0},
};

typedef struct question {
  cdna_grid grid;
  cdna_order order;
  cdna_hits hits;
  cdna_grid_choice best[CDNA_GRID_CHOICES];
  int n_best, tried;
} question;

static tw_status parse(const char *const value[], question *q, int64_t *search, tw_error *error) {
  static const int64_t most = 1 << 24;
  int tile[3];
  int64_t window = 0, chunk = 0;
  cdna_type type;
  tw_status status = cdna_value_int("m", value[M], 1, most, &q->grid.m, error);
  if (status == TW_OK) status = cdna_value_int("n", value[N], 1, most, &q->grid.n, error);
  if (status == TW_OK) status = cdna_value_int("k", value[K], 1, most, &q->grid.k, error);
  if (status == TW_OK) status = cdna_value_sizes("tile", value[TILE], 3, tile, error);
  if (status == TW_OK) status = cdna_value_type("type", value[TYPE], &type, error);
  if (status == TW_OK) status = cdna_value_int("window", value[WINDOW], 0, 1 << 18, &window, error);
  if (status == TW_OK) status = cdna_value_int("chunk", value[CHUNK], 0, 1 << 18, &chunk, error);
  if (status == TW_OK) status = cdna_value_int("search", value[SEARCH], 0, 1, search, error);
  if (status != TW_OK) return status;
  q->grid.tile_m = tile[0];
  q->grid.tile_n = tile[1];
  q->grid.tile_k = tile[2];
  q->grid.bits = cdna_type_bits(type);
  q->order = (cdna_order){(int)window, (int)chunk};
  return TW_OK;
}

static void print_order(cdna_order o, char *out, size_t size) {
  snprintf(out, size, o.window ? "window %d chunk %d" : "row by row", o.window, o.chunk);
}

static void print_row(cdna_order o, const cdna_hits *h, tw_text *out) {
  char order[48];
  print_order(o, order, sizeof order);
  tw_text_add(out, "  %-24s %6.1f%% %6.1f%% %8.1f %12.2f %12.2f\n", order, 100 * h->l2, 100 * h->llc, h->bandwidth_tbs,
              h->llc_bytes * 1e-9, h->memory_bytes * 1e-9);
}

static void print_text(const question *q, const cdna_machine *m, tw_text *out) {
  const int rows = cdna_grid_rows(&q->grid), columns = cdna_grid_columns(&q->grid);
  tw_text_add(out,
              "%d x %d tiles of %dx%d, K-steps of %d, on %s: %d XCDs of %d "
              "CUs, %d at once\n\n",
              rows, columns, q->grid.tile_m, q->grid.tile_n, q->grid.tile_k, m->product, m->caches.xcds, m->caches.cus,
              m->caches.xcds * m->caches.cus);
  tw_text_add_string(out, "  order                         L2     LLC     TB/s "
                          " GB from LLC  GB from HBM\n");
  print_row(q->order, &q->hits, out);
  if (q->n_best) tw_text_add(out, "\nthe best of %d orders\n", q->tried);
  for (int i = 0; i < q->n_best; i++) print_row(q->best[i].order, &q->best[i].hits, out);
  tw_text_add_string(
      out, "\nL2: hit rate in a model of the caches (docs/explain/cdna-layouts-and-banks.md lists its assumptions).\n"
           "LLC: hit rate of the accesses that miss L2.\n"
           "TB/s: bandwidth by equation 1 of the HipKittens paper.\n"
           "GB: bytes of a launch.\n");
}

static void data_row(cdna_order o, const cdna_hits *h, tw_text *out) {
  tw_text_add(out,
              "{\"window\": %d, \"chunk\": %d, \"l2\": %.6f, \"llc\": %.6f, "
              "\"bandwidth_tbs\": %.4f, \"llc_bytes\": %.0f, "
              "\"memory_bytes\": %.0f}",
              o.window, o.chunk, h->l2, h->llc, h->bandwidth_tbs, h->llc_bytes, h->memory_bytes);
}

static void print_data(const question *q, const cdna_machine *m, tw_text *out) {
  const int rows = cdna_grid_rows(&q->grid), columns = cdna_grid_columns(&q->grid);
  tw_text_add(out, "{\"rows\": %d, \"columns\": %d, \"order\": ", rows, columns);
  data_row(q->order, &q->hits, out);
  tw_text_add(out, ", \"tried\": %d, \"best\": [", q->tried);
  for (int i = 0; i < q->n_best; i++) {
    if (i) tw_text_add_string(out, ", ");
    data_row(q->best[i].order, &q->best[i].hits, out);
  }
  tw_text_add_string(out, "], \"workgroups\": [");
  for (int id = 0; id < rows * columns; id++) {
    const cdna_cell c = cdna_order_cell(&q->order, rows, columns, m->caches.xcds, id);
    tw_text_add(out, "%s[%d,%d]", id ? "," : "", c.row, c.column);
  }
  tw_text_add_string(out, "]}");
}

/* Tiles of C in the colours of their XCDs. The tiles that run first, one on each CU, are filled. Adjacent tiles of a
 * row share one box. */
static tw_status draw(const question *q, const cdna_machine *m, tw_text *out, tw_error *error) {
  const int rows = cdna_grid_rows(&q->grid), columns = cdna_grid_columns(&q->grid), xcds = m->caches.xcds;
  const int at_once = xcds * m->caches.cus, most = rows > columns ? rows : columns;
  const int cell = most > 200 ? 3 : most > 100 ? 5 : most > 50 ? 8 : 12;
  char title[160], order[48];
  tw_text subtitle = {0};
  int *id_of = tw_new((size_t)(rows * columns), sizeof *id_of);
  if (!id_of) return tw_no_memory(error, NULL);
  for (int id = 0; id < rows * columns; id++) {
    const cdna_cell c = cdna_order_cell(&q->order, rows, columns, xcds, id);
    id_of[c.row * columns + c.column] = id;
  }
  print_order(q->order, order, sizeof order);
  snprintf(title, sizeof title, "%d x %d tiles, %s: L2 %.0f%%, LLC %.0f%%", rows, columns, order, 100 * q->hits.l2,
           100 * q->hits.llc);
  tw_text_add(&subtitle, "rows and columns of C; full colour: the %d workgroups that run first; XCD", at_once);
  for (int xcd = 0; xcd < xcds; xcd++)
    tw_text_add(&subtitle, " <tspan font-weight=\"bold\" fill=\"%s\">%d</tspan>", cdna_colour[xcd % 8], xcd);
  char *under = tw_text_take(&subtitle);
  const int width = columns * cell > 450 ? columns * cell : 450;
  cdna_svg_open(out, 2 * CDNA_SVG_LEFT + width, CDNA_SVG_TOP + rows * cell + 12, title, under ? under : "");
  free(under);
  for (int kind = 0; kind < 2 * xcds; kind++) {
    cdna_svg_path(out, cdna_colour[kind / 2 % 8], kind % 2 ? ".3" : "1");
    for (int row = 0; row < rows; row++)
      for (int column = 0, next; column < columns; column = next) {
        for (next = column; next < columns; next++) {
          const int id = id_of[row * columns + next];
          if (id % xcds != kind / 2 || (id >= at_once) != kind % 2) break;
        }
        if (next == column)
          next++;
        else
          cdna_svg_box(out, CDNA_SVG_LEFT + column * cell, CDNA_SVG_TOP + row * cell, (next - column) * cell - 1,
                       cell - 1);
      }
    cdna_svg_path_close(out);
  }
  cdna_svg_close(out);
  free(id_of);
  return TW_OK;
}

tw_status cdna_show_grid(const tw_target *t, const char *const value[], tw_view_form form, char **out,
                         tw_error *error) {
  const cdna_machine *m = cdna_machine_of(t);
  question q = {.n_best = 0};
  tw_text text = {0};
  int64_t search = 0;
  tw_status status = parse(value, &q, &search, error);
  if (status == TW_OK && search) {
    status = cdna_grid_search(&m->caches, &q.grid, 0, q.best, &q.n_best, &q.tried, error);
    if (status == TW_OK && !q.order.window) q.order = q.best[0].order;
  }
  if (status == TW_OK) status = cdna_grid_hits(&m->caches, &q.grid, &q.order, 0, 1, &q.hits, error);
  if (status != TW_OK) return status;
  if (form == TW_VIEW_SVG)
    status = draw(&q, m, &text, error);
  else
    (form == TW_VIEW_JSON ? print_data : print_text)(&q, m, &text);
  return status == TW_OK ? tw_text_finish(&text, out, error) : status;
}
