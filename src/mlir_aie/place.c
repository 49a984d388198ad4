/* place.c - tiles without coordinates, aie.logical_tile, as IRON writes them since 2026: mlir-aie places them after the
 * design is written (aie-opt --aie-place-tiles). Results do not depend on the place, routes do, so the run says how many
 * tiles were placed here.
 *
 * The text is searched once, before it is read, because object FIFOs come after the tiles that they connect. Cores fill
 * one column after the other, as in mlir-aie. Other tiles come next to the mean column of the cores at the other end of
 * their FIFOs, directly or through one memory tile, where enough DMA channels are free. Two of them may share a tile. */
#include <stdio.h>
#include <stdlib.h>

#include "mlir_aie/reader.h"

enum { ENDS = 1 + XD_BROADCAST, COLUMNS = 64, ROWS = 8 };

/* The ends of an object FIFO, as indices of logical tiles; -1: a tile with coordinates. */
typedef struct connection {
  int n, end[ENDS];
} connection;

typedef struct placer {
  xd_reader *r;
  xd_lexer lexer;
  xd_token token;
  XD_LIST(connection) connections;
  int used[COLUMNS][ROWS][2]; /* channels of a tile: in, out; a core's tile has one if it is taken */
} placer;

/* ---- the text ---- */

static void step(placer *p) { p->token = xd_lex(&p->lexer); }
static bool is_mark(const placer *p, char mark) { return p->token.kind == XD_TOKEN_MARK && *p->token.at == mark; }
static bool is_over(const placer *p) { return p->token.kind == XD_TOKEN_END || p->token.kind == XD_TOKEN_BAD; }
static xd_slice text_of(const xd_token *t) { return (xd_slice){t->at, t->length}; }

static int logical_named(const placer *p, xd_slice name) {
  for (size_t i = 0; i < p->r->logical.n; i++)
    if (xd_slice_same(p->r->logical.at[i].name, name)) return (int)i;
  return -1;
}

/* A coordinate, or -1 for '?'. Coordinates outside of every device stay outside. */
static int find_coordinate(placer *p) {
  step(p);
  const bool given = p->token.kind == XD_TOKEN_NUMBER, fits = p->token.number >= 0 && p->token.number < COLUMNS;
  const int number = !given ? -1 : fits ? (int)p->token.number : COLUMNS - 1;
  step(p);
  return number;
}

/* <CoreTile>(?, ?) */
static void find_tile(placer *p, xd_slice name) {
  static const char *const kinds[XD_TILE_KINDS] = {"ShimNOCTile", "MemTile", "CoreTile"};
  xd_logical_tile t = {.name = name, .kind = XD_TILE_KINDS};
  step(p);
  step(p);
  for (int kind = 0; kind < XD_TILE_KINDS; kind++)
    if (xd_token_is(&p->token, kinds[kind])) t.kind = (xd_tile_kind)kind;
  step(p);
  step(p);
  if (t.kind == XD_TILE_KINDS || !is_mark(p, '(')) return;
  t.place.column = find_coordinate(p);
  t.place.row = find_coordinate(p);
  xd_append(&p->r->logical, sizeof t, &t, &p->r->failed);
}

/* A tile with coordinates: (0, 2). */
static void find_fixed_tile(placer *p) {
  step(p);
  const int column = find_coordinate(p), row = find_coordinate(p);
  if (column >= 0 && row >= 2 && row < ROWS) p->used[column][row][0] = 1;
}

/* @name(%producer ..., {%consumer ..., ...}, ...) */
static void find_fifo(placer *p) {
  connection c = {0};
  for (; !is_over(p) && !is_mark(p, ')'); step(p))
    if (p->token.kind == XD_TOKEN_VALUE && c.n < ENDS) c.end[c.n++] = logical_named(p, text_of(&p->token));
  xd_append(&p->connections, sizeof c, &c, &p->r->failed);
}

static void find_tiles(placer *p) {
  xd_slice name = {"", 0};
  for (; !is_over(p); step(p)) {
    if (p->token.kind == XD_TOKEN_VALUE) name = text_of(&p->token);
    if (p->token.kind != XD_TOKEN_WORD) continue;
    if (xd_token_is(&p->token, "aie.logical_tile"))
      find_tile(p, name);
    else if (xd_token_is(&p->token, "aie.tile"))
      find_fixed_tile(p);
    else if (xd_token_is(&p->token, "aie.objectfifo"))
      find_fifo(p);
  }
}

/* ---- the places ---- */

static bool is_placed(const xd_logical_tile *t) {
  return t->place.column >= 0 && t->place.row >= 0 && xd_kind_of(t->place) == t->kind;
}

/* The first free core's tile, one column after the other; false: none is free. */
static bool place_core(placer *p, xd_logical_tile *t) {
  const xd_place wanted = t->place;
  for (int column = 0; column < p->r->columns && column < COLUMNS; column++)
    for (int row = 2; row < p->r->config->rows + 2 && row < ROWS; row++) {
      if (p->used[column][row][0] || (wanted.column >= 0 && column != wanted.column) ||
          (wanted.row >= 0 && row != wanted.row))
        continue;
      t->place = (xd_place){.column = column, .row = row};
      p->used[column][row][0] = 1;
      return true;
    }
  return false;
}

/* Adds the columns of the cores at the other ends of a tile's FIFOs; through memory tiles, `deep`. */
static void add_columns(const placer *p, int tile, bool deep, int *sum, int *n) {
  for (size_t i = 0; i < p->connections.n; i++) {
    const connection *c = &p->connections.at[i];
    bool has = false;
    for (int e = 0; e < c->n; e++) has = has || c->end[e] == tile;
    for (int e = 0; e < c->n && has; e++) {
      if (c->end[e] < 0 || c->end[e] == tile) continue;
      const xd_logical_tile *other = &p->r->logical.at[c->end[e]];
      if (other->kind == XD_COMPUTE)
        *sum += other->place.column, ++*n;
      else if (deep && other->kind == XD_MEMORY)
        add_columns(p, c->end[e], false, sum, n);
    }
  }
}

/* DMA channels that its FIFOs need: one in for each that it consumes, one out for each that it produces. */
static void count_channels(const placer *p, int tile, int need[2]) {
  need[0] = need[1] = 0;
  for (size_t i = 0; i < p->connections.n; i++) {
    const connection *c = &p->connections.at[i];
    for (int e = 0; e < c->n; e++) need[e == 0] += c->end[e] == tile;
  }
}

static bool has_channels(const placer *p, xd_tile_kind kind, const int used[2], const int need[2]) {
  return used[0] + need[0] <= p->r->config->array.dma_in[kind] &&
         used[1] + need[1] <= p->r->config->array.dma_out[kind];
}

/* A shim's or memory tile in the column nearest to its cores that has enough channels; false: there is none. */
static bool place_other(placer *p, int tile) {
  xd_logical_tile *t = &p->r->logical.at[tile];
  int sum = 0, n = 0, best = -1, need[2];
  add_columns(p, tile, true, &sum, &n);
  const int wanted = n ? (sum + n / 2) / n : 0, row = (int)t->kind;
  count_channels(p, tile, need);
  for (int column = 0; column < p->r->columns && column < COLUMNS; column++) {
    if (t->place.column >= 0 && column != t->place.column) continue;
    if (!has_channels(p, t->kind, p->used[column][row], need)) continue;
    if (best < 0 || abs(column - wanted) < abs(best - wanted)) best = column;
  }
  if (best < 0 || (t->place.row >= 0 && t->place.row != row)) return false;
  t->place = (xd_place){.column = best, .row = row};
  for (int d = 0; d < 2; d++) p->used[best][row][d] += need[d];
  return true;
}

static void place_all(placer *p) {
  xd_reader *r = p->r;
  for (size_t i = 0; i < r->logical.n; i++) {
    const xd_logical_tile *t = &r->logical.at[i];
    if (t->kind == XD_COMPUTE && is_placed(t) && t->place.row < ROWS) p->used[t->place.column][t->place.row][0] = 1;
  }
  for (size_t i = 0; i < r->logical.n; i++)
    if (r->logical.at[i].kind == XD_COMPUTE && !is_placed(&r->logical.at[i]))
      r->design->placed += place_core(p, &r->logical.at[i]);
  for (size_t i = 0; i < r->logical.n; i++) {
    if (r->logical.at[i].kind == XD_COMPUTE) continue;
    const bool fixed = r->logical.at[i].place.column >= 0;
    if (place_other(p, (int)i)) r->design->placed += !fixed;
  }
}

void xd_place_tiles(xd_reader *r) {
  placer p = {.r = r, .lexer = r->lexer, .token = r->token};
  find_tiles(&p);
  if (r->logical.n) place_all(&p);
  free(p.connections.at);
}

/* COLUMN or ?; its value is known. */
static void read_coordinate(xd_reader *r) {
  if (!xd_read_take(r, '?')) xd_read_number(r, 0, 1 << 20);
}

void xd_read_logical_tile(xd_reader *r, xd_slice result) {
  const int line = r->token.line;
  const placer p = {.r = r};
  const int i = logical_named(&p, result);
  xd_read_expect(r, '<');
  if (i >= 0) xd_read_next(r); /* its kind, which is known */
  if (i < 0)
    xd_read_fail(r, line, "expected aie.logical_tile<CoreTile>, <MemTile> or <ShimNOCTile>(COLUMN or ?, ROW or ?)");
  xd_read_expect(r, '>');
  xd_read_expect(r, '(');
  read_coordinate(r);
  xd_read_expect(r, ',');
  read_coordinate(r);
  xd_read_expect(r, ')');
  xd_read_tile_attributes(r, "aie.logical_tile");
  if (!xd_going(r)) return;
  if (is_placed(&r->logical.at[i]))
    xd_define_tile(r, result, r->logical.at[i].place, line);
  else
    xd_read_fail(r, line,
                 "no place for %%%s: no tile of its kind with these coordinates is free and has enough DMA channels; "
                 "place it by hand, or with aie-opt --aie-place-tiles",
                 xd_read_excerpt(result).text);
}
