/* gemm_sequence.c - the tasks that move a GEMM's operands between DDR and the memory tiles.
 *
 * A group is one row of macro-tiles. It is a part of a row where tiles need separate tasks (the last one overlaps its
 * neighbour, the last step of K is moved back). The tasks of two groups are in flight: group n begins when the C of
 * group n - 2 has been written, so that the descriptors of n - 2 (the same half of the shim's table) are free.
 *
 * With `await_groups`, all tasks in flight end before the next ones begin: of the first four groups, then of two each.
 * So do mlir-aie's designs in IRON: whole_array.py finishes a task group after each pair of rows but the first. */
#include <string.h>

#include "target/xdna2/array/gemm_array.h"

enum { HALF = 8, IN_FLIGHT = 2, FIRST_IN_FLIGHT = 4 /* with await_groups */ };

typedef struct writer {
  const xd_gemm *g;
  const xd_gemm_fifos *f;
  xd_gemm_shape s;
  xd_program *p;
  bool short_k; /* the last step of K overlaps the previous one, B is not packed */
  int first_buffer;
  int64_t groups; /* begun so far */
  int in_flight;  /* groups not awaited yet */
  int next_id[8]; /* for each column's shim, from first_id on */
  int first_id;   /* of the half of the table that the group may use */
} writer;

static void add_task(writer *w, int channel, int buffer, const xd_pattern *pattern, int64_t iterations, int64_t stride,
                     int64_t repeat, bool token) {
  const int column = w->p->channels.at[channel].tile.column;
  const xd_descriptor d = {.channel = channel,
                           .id = w->first_id + w->next_id[column]++,
                           .buffer = w->first_buffer + buffer,
                           .pattern = *pattern,
                           .iterations = iterations,
                           .iteration_stride = stride,
                           .acquire.lock = -1,
                           .release.lock = -1,
                           .next = -1};
  const xd_command start = {.kind = XD_START,
                            .channel = channel,
                            .descriptor = XD_ADD(w->p, descriptors, &d),
                            .repeat = (int)repeat,
                            .token = token};
  XD_ADD(w->p, sequence, &start);
}

static int64_t start_of(int64_t index, int64_t size, int64_t whole) {
  if (whole < size) return 0;
  return (index + 1) * size <= whole ? index * size : whole - size;
}

/* ---- operands ---- */

static bool in_rows(const xd_gemm *g, tw_type type) { return g->in_rows && type == TW_BFP16; }

/* Tiles one after the other, in parts: `rows` rows of `run` bytes each, `pitch` apart. */
static xd_pattern parts(int64_t at, int64_t run, int64_t rows, int64_t pitch, int64_t tiles) {
  return (xd_pattern){at, 3, {{run, 1, 0, 0}, {rows, pitch, 0, 0}, {tiles, run, 0, 0}}};
}

/* Rows of one column's part of A, for `count` macro-tiles in turn, each of which reads them again. */
static void move_a(writer *w, int64_t i, int64_t count) {
  const xd_gemm *g = w->g;
  const int64_t row_bytes = g->k * w->s.a_bytes8 / 8, step = w->s.step * w->s.a_bytes8 / 8,
                run = row_bytes < step ? row_bytes : step;
  for (int a = 0; a < w->s.a_columns; a++) {
    const xd_fifo *f = &w->p->fifos.at[w->f->a_in[a]];
    const int64_t tile = g->tile.m * step, rows = w->s.m < g->tile.m ? w->s.m : f->bytes / step,
                  first = (int64_t)a * w->s.a_parts;
    if (g->kernel->a == TW_BFP16) { /* packed in the order in which it is read */
      const int64_t bytes = w->s.steps * tile, at = (i * g->rows + first) * bytes, part = step / g->depth;
      const xd_pattern packed = g->in_rows ? parts(at, part, f->bytes / step, w->s.steps * step, w->s.steps * g->depth)
                                           : xd_linear(at, f->bytes / tile * bytes);
      add_task(w, f->source, XD_GEMM_A, &packed, 1, 0, count, false);
      continue;
    }
    const int64_t at = (start_of(i, w->s.macro_m, g->m) + first * g->tile.m) * row_bytes;
    const int64_t whole = g->k / w->s.step;
    const xd_pattern steps = {at, 3, {{run, 1, 0, 0}, {rows, row_bytes, 0, 0}, {whole, run, 0, 0}}},
                     last = {at + row_bytes - run, 2, {{run, 1, 0, 0}, {rows, row_bytes, 0, 0}}};
    if (whole) add_task(w, f->source, XD_GEMM_A, &steps, 1, 0, count, false);
    if (whole < w->s.steps) add_task(w, f->source, XD_GEMM_A, &last, 1, 0, count, false);
  }
}

/* For a column-major B, columns from `first` on, `depth` of K from `at` on: slice by slice. */
static xd_pattern slices(const writer *w, int64_t first, int64_t at, int64_t depth) {
  const int64_t e = w->s.b_bytes8 / 8, slice = w->s.slice * e, column = w->g->k * e;
  return (xd_pattern){
      first * column + at * e, 3, {{slice, 1, 0, 0}, {w->s.n, column, 0, 0}, {depth / w->s.slice, slice, 0, 0}}};
}

/* Columns of B of `count` macro-tiles from tile j on. */
static void move_b(writer *w, int64_t j, int64_t count) {
  const xd_gemm *g = w->g;
  const int64_t run = w->s.n * w->s.b_bytes8 / 8, row_bytes = g->n * w->s.b_bytes8 / 8;
  const int64_t tile = g->tile.k * g->tile.n * w->s.b_bytes8 / 8, steps = w->s.steps * g->depth;
  for (int c = 0; c < g->columns; c++) {
    const int channel = w->p->fifos.at[w->f->b_in[c]].source;
    if (w->s.packed_b) {
      const int64_t at = (j * g->columns + c) * steps * tile, part = tile / g->tile.n;
      const xd_pattern packed =
          in_rows(g, g->kernel->b) ? parts(at, part, g->tile.n, steps * part, steps) : xd_linear(at, steps * tile);
      add_task(w, channel, XD_GEMM_B, &packed, count, g->columns * steps * tile, count, false);
      continue;
    }
    const int64_t first = start_of(j, w->s.macro_n, g->n) + c * g->tile.n, at = first * w->s.b_bytes8 / 8;
    const int64_t whole = g->k / w->s.step * w->s.step, rest = g->k - whole;
    if (xd_gemm_turns_b(g) && !rest) {
      const int64_t column = g->k * w->s.b_bytes8 / 8, part = w->s.step * w->s.b_bytes8 / 8;
      const xd_pattern columns = {
          first * column, 3, {{part, 1, 0, 0}, {w->s.n, column, 0, 0}, {w->s.steps, part, 0, 0}}};
      add_task(w, channel, XD_GEMM_B, &columns, count, g->columns * g->tile.n * column, count, false);
      continue;
    }
    const xd_pattern rows = w->s.slice ? slices(w, first, 0, whole)
                                       : (xd_pattern){at, 2, {{run, 1, 0, 0}, {whole, row_bytes, 0, 0}}},
                     zeros = xd_linear(0, (w->s.step - rest) * run),
                     last = w->s.slice
                                ? slices(w, first, whole, rest)
                                : (xd_pattern){at + whole * row_bytes, 2, {{run, 1, 0, 0}, {rest, row_bytes, 0, 0}}};
    if (whole)
      add_task(w, channel, XD_GEMM_B, &rows, count, g->columns * run, count, false); /* count: 1 with a slice */
    if (!rest) continue;
    if (whole) add_task(w, channel, XD_GEMM_ZEROS, &zeros, 1, 0, 1, false);
    add_task(w, channel, XD_GEMM_B, &last, 1, 0, 1, false);
    if (!whole) add_task(w, channel, XD_GEMM_ZEROS, &zeros, 1, 0, 1, false); /* A is not moved back */
  }
}

static void move_c(writer *w, int64_t i, int64_t j, int64_t count) {
  const xd_gemm *g = w->g;
  const int64_t run = w->s.n * w->s.c_bytes8 / 8, row_bytes = g->n * w->s.c_bytes8 / 8;
  const int64_t tile = g->tile.m * g->tile.n * w->s.c_bytes8 / 8, most = w->s.macro_m;
  for (int c = 0; c < g->columns; c++) {
    const int channel = w->p->fifos.at[w->f->c_out[c]].sink[0];
    if (g->c == TW_BFP16) { /* tiles of a macro-tile's column are consecutive */
      const int64_t pitch = w->s.tiles_n * g->columns * run;
      const xd_pattern packed =
          g->in_rows ? parts(i * most * pitch + (j * g->columns + c) * run, run, most, pitch, 1)
                     : xd_linear(((i * w->s.tiles_n + j) * g->columns + c) * g->rows * tile, g->rows * tile);
      add_task(w, channel, XD_GEMM_C, &packed, count, g->columns * (g->in_rows ? run : g->rows * tile), count, true);
      continue;
    }
    const xd_pattern rows = {start_of(i, w->s.macro_m, g->m) * row_bytes +
                                 (start_of(j, w->s.macro_n, g->n) + c * g->tile.n) * w->s.c_bytes8 / 8,
                             2,
                             {{run, 1, 0, 0}, {g->m < most ? g->m : most, row_bytes, 0, 0}}};
    add_task(w, channel, XD_GEMM_C, &rows, count, g->columns * run, count, true);
  }
}

/* ---- groups ---- */

static void await_group(writer *w) {
  for (int c = 0; c < w->g->columns; c++) {
    const xd_command await = {.kind = XD_AWAIT, .channel = w->p->fifos.at[w->f->c_out[c]].sink[0]};
    XD_ADD(w->p, sequence, &await);
  }
  w->in_flight--;
}

/* Frees descriptors for the next group. */
static void make_room(writer *w) {
  const bool all = w->g->await_groups;
  if (w->in_flight < (all && w->groups <= FIRST_IN_FLIGHT ? FIRST_IN_FLIGHT : IN_FLIGHT)) {
    if (all) return; /* the group takes the next descriptors */
  } else {
    do await_group(w);
    while (all && w->in_flight);
  }
  w->first_id = all ? 0 : (int)(w->groups % IN_FLIGHT) * HALF;
  memset(w->next_id, 0, sizeof w->next_id);
}

static void add_group(writer *w, int64_t i, int64_t j, int64_t count) {
  make_room(w);
  move_c(w, i, j, count);
  move_a(w, i, count);
  move_b(w, j, count);
  w->groups++;
  w->in_flight++;
}

/* How many macro-tiles from j on one group can take. */
static int64_t group_size(const xd_config *c, const writer *w, int64_t j) {
  const bool packed = w->g->c == TW_BFP16, packed_b = w->s.packed_b;
  const int64_t stride = w->s.steps * w->s.step * w->s.macro_n * w->s.b_bytes8 / 8; /* for B packed or column-major */
  if (w->short_k ||
      ((packed_b || xd_gemm_turns_b(w->g)) && stride / c->array.word_bytes > (int64_t)1 << c->array.step_bits[XD_SHIM]))
    return 1;
  int64_t end = w->s.tiles_n;
  if (!packed && w->g->n % w->s.macro_n && j + 1 < end) end--; /* the last one is moved back */
  return end - j < c->array.iterations ? end - j : c->array.iterations;
}

/* The core's buffer of that name. */
static int buffer_of(const xd_program *p, xd_place tile, const char *name) {
  for (size_t i = 0; i < p->buffers.n; i++)
    if (!p->buffers.at[i].external && xd_same_place(p->buffers.at[i].tile, tile) &&
        !strcmp(p->buffers.at[i].name, name))
      return (int)i;
  return -1;
}

static void set_size(writer *w, size_t core, int parameter, int64_t value) {
  const int buffer = w->g->runtime_sizes ? buffer_of(w->p, w->p->cores.at[core].tile, "sizes") : -1;
  const xd_command set = {.kind = XD_SET,
                          .core = (int)core,
                          .parameter = parameter,
                          .buffer = buffer + 1,
                          .element = parameter,
                          .value = value};
  XD_ADD(w->p, sequence, &set);
}

static void set_sizes(writer *w) {
  const int64_t steps = w->s.steps * w->g->depth;
  const bool hides = w->g->hide_unpacking;
  for (size_t core = 0; core < w->p->cores.n; core++) {
    set_size(w, core, XD_GEMM_STEPS, hides ? (steps - 1) / 2 : steps);
    if (hides) set_size(w, core, XD_GEMM_ODD, (steps - 1) % 2);
    if (hides) set_size(w, core, XD_GEMM_EVEN, steps % 2);
    if (w->g->runtime_sizes) set_size(w, core, XD_GEMM_TILES, w->s.tiles_m * w->s.tiles_n);
  }
  for (size_t i = 0; i < w->p->locks.n && w->g->runtime_sizes; i++) {
    const xd_command open = {.kind = XD_SET_LOCK, .lock = (int)i, .value = 1};
    if (!strcmp(w->p->locks.at[i].name, "go")) XD_ADD(w->p, sequence, &open);
  }
}

void xd_gemm_sequence(const xd_config *c, const xd_gemm *g, const xd_gemm_fifos *f, int first_buffer, xd_program *p) {
  writer w = {.g = g, .f = f, .s = xd_gemm_shape_of(g), .p = p, .first_buffer = first_buffer};
  w.short_k = g->k % w.s.step && g->kernel->a != TW_BFP16;
  set_sizes(&w);
  for (int64_t i = 0; i < w.s.tiles_m; i++)
    for (int64_t j = 0, count; j < w.s.tiles_n; j += count) add_group(&w, i, j, count = group_size(c, &w, j));
  while (w.in_flight) await_group(&w);
}
