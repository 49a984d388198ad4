/* convert.c - reads, converts and writes tensors tile by tile, on several threads.
 *
 * A tile is a number of whole rows, or a part of a long row that ends where blocks and groups of both formats end. A
 * scale that a whole tensor or a long row shares needs an earlier pass over it. Each thread takes the next tile, and
 * losses are added in the order of the tiles: results do not depend on the number of threads. */
#include "tensors/convert.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/strings.h"
#include "tensors/output_file.h"
#include "tensors/plan.h"

enum {
  TILE_VALUES = 1 << 18, /* most values of a tile */
  TILE_BYTES = 1 << 21,  /* most bytes of its codes, of either format */
  TILE_SCALES = 1 << 20, /* most bytes of its scales: an f32 for each value, at worst */
  MOST_WORKERS = 8,      /* maximum number of threads, with 8 MiB of buffers each; files are seldom faster */
};

typedef struct tile {
  size_t row, column, rows, columns;
} tile;

typedef struct buffers { /* of a thread */
  float *x, *y;
  uint8_t *codes, *scales, *from_codes, *from_scales;
} buffers;

typedef struct work {
  const tensor_file *in;
  const output_file *out;
  const plan *plan;
  const convert_options *options;
  size_t workers;
  buffers buffers[MOST_WORKERS];
} work;

static void work_free(work *w) {
  for (size_t i = 0; i < w->workers; i++) {
    buffers *b = &w->buffers[i];
    free(b->x), free(b->y), free(b->codes), free(b->scales), free(b->from_codes), free(b->from_scales);
  }
}

static tw_status work_make(work *w, tw_error *error) {
  const int jobs = w->options->jobs > 0 ? w->options->jobs : tw_cores();
  w->workers = jobs < MOST_WORKERS ? (size_t)jobs : MOST_WORKERS;
  for (size_t i = 0; i < w->workers; i++) {
    buffers *b = &w->buffers[i];
    b->x = malloc(TILE_VALUES * sizeof *b->x);
    b->y = malloc(TILE_VALUES * sizeof *b->y);
    b->codes = malloc(TILE_BYTES);
    b->from_codes = malloc(TILE_BYTES);
    b->scales = malloc(TILE_SCALES);
    b->from_scales = malloc(TILE_SCALES);
    if (!b->x || !b->y || !b->codes || !b->scales || !b->from_codes || !b->from_scales)
      return tw_no_memory(error, "the conversion");
  }
  return TW_OK;
}

/* ---- tiles ---- */

/* The place of a tile in a plane. */
typedef struct span {
  uint64_t from;
  size_t bytes;
} span;

static size_t ceiling(size_t a, size_t b) { return a / b + (a % b != 0); }

static span codes_span(const tw_packing *p, size_t row_codes, const tile *t) {
  const tw_format *f = p->format;
  return (span){(uint64_t)t->row * row_codes + t->column / f->block * f->block_bytes,
                t->rows > 1 ? t->rows * row_codes : ceiling(t->columns, f->block) * f->block_bytes};
}

static span scales_span(const tw_packing *p, size_t row_scales, const tile *t) {
  if (p->format->scale == TW_SCALE_E8M0)
    return (span){(uint64_t)t->row * row_scales + t->column / p->format->block,
                  t->rows > 1 ? t->rows * row_scales : ceiling(t->columns, p->format->block)};
  if (p->format->scale != TW_SCALE_F32) return (span){0, 0};
  if (p->group == TW_GROUP_TENSOR) return (span){0, 4};
  if (p->group == TW_GROUP_ROW) return (span){(uint64_t)t->row * 4, t->rows * 4};
  size_t group = (size_t)p->group;
  return (span){(uint64_t)t->row * row_scales + t->column / group * 4,
                t->rows > 1 ? t->rows * row_scales : ceiling(t->columns, group) * 4};
}

static size_t unit_of(const tw_packing *p) {
  return p->format->scale == TW_SCALE_F32 && p->group > 0 ? (size_t)p->group : p->format->block;
}

static size_t common_multiple(size_t a, size_t b) {
  size_t x = a, y = b;
  while (y) {
    size_t rest = x % y;
    x = y;
    y = rest;
  }
  return a / x * b;
}

typedef struct tiling {
  size_t rows, columns; /* of the matrix */
  size_t tile_rows, tile_columns;
} tiling;

static tw_status tiling_of(const work *w, const plan_entry *e, size_t from_row_codes, tiling *t, tw_error *error) {
  size_t columns = e->from.columns, widest = e->size.row_codes > from_row_codes ? e->size.row_codes : from_row_codes;
  *t = (tiling){e->from.rows, columns, 1, columns};
  if (columns <= TILE_VALUES) {
    size_t by_values = TILE_VALUES / (columns ? columns : 1), by_bytes = TILE_BYTES / (widest ? widest : 1);
    t->tile_rows = by_values < by_bytes ? by_values : by_bytes;
    return TW_OK;
  }
  size_t unit = common_multiple(unit_of(&w->options->to), unit_of(&e->from.packing));
  t->tile_columns = TILE_VALUES / unit * unit;
  if (unit > TILE_VALUES)
    return tw_fail(error, TW_USAGE,
                   "'%s': tensor '%s' has groups that do not fit parts of %d values; use a smaller --group",
                   w->in->path, e->codes.name, TILE_VALUES);
  return TW_OK;
}

/* Advances to the next tile before row `until`; {0} is before the first tile of `row`. */
static bool next_tile(const tiling *t, size_t row, size_t until, tile *at) {
  if (at->rows == 0)
    *at = (tile){.row = row};
  else if (at->column + at->columns < t->columns)
    at->column += at->columns;
  else
    *at = (tile){.row = at->row + at->rows};
  if (at->row >= until || t->columns == 0) return false;
  at->rows = until - at->row < t->tile_rows ? until - at->row : t->tile_rows;
  at->columns = t->columns - at->column < t->tile_columns ? t->columns - at->column : t->tile_columns;
  return true;
}

/* ---- one tile ---- */

static tw_status read_tile(const work *w, const buffers *b, const source *s, const tw_packed_size *size, const tile *t,
                           tw_error *error) {
  size_t values = t->rows * t->columns;
  if (s->is_f64) {
    uint64_t from = ((uint64_t)t->row * s->columns + t->column) * sizeof(double);
    tw_status status = tensor_read(w->in, s->codes, from, b->from_codes, values * sizeof(double), error);
    for (size_t i = 0; status == TW_OK && i < values; i++) {
      double value;
      memcpy(&value, b->from_codes + i * sizeof value, sizeof value);
      b->x[i] = (float)value;
    }
    return status;
  }
  span codes = codes_span(&s->packing, size->row_codes, t), scales = scales_span(&s->packing, size->row_scales, t);
  tw_status status = tensor_read(w->in, s->codes, codes.from, b->from_codes, codes.bytes, error);
  if (status == TW_OK && scales.bytes)
    status = tensor_read(w->in, s->scales, scales.from, b->from_scales, scales.bytes, error);
  if (status != TW_OK) return status;
  return tw_format_decode(&s->packing, t->rows, t->columns, b->from_codes, b->from_scales, b->x, t->columns, error);
}

static tw_status write_tile(const work *w, const buffers *b, const plan_entry *e, const tw_packing *to, const tile *t,
                            statistics_part *part, tw_error *error) {
  const tensor *out_codes = &w->plan->out[e->codes_at], *out_scales = &w->plan->out[e->scales_at];
  span codes = codes_span(to, e->size.row_codes, t), scales = scales_span(to, e->size.row_scales, t);
  tw_status status = tw_format_encode(to, t->rows, t->columns, b->x, t->columns, b->codes, b->scales, error);
  if (status == TW_OK) status = tw_format_decode(to, t->rows, t->columns, b->codes, b->scales, b->y, t->columns, error);
  if (status != TW_OK) return status;
  statistics_measure(part, to, t->rows, t->columns, b->x, b->y, b->codes, b->scales);
  status = output_write(w->out, out_codes->offset + codes.from, b->codes, codes.bytes, error);
  if (status == TW_OK && scales.bytes)
    status = output_write(w->out, out_scales->offset + scales.from, b->scales, scales.bytes, error);
  return status;
}

static tw_status check_stopped(const work *w, tw_error *error) {
  if (!tw_is_set(w->options->stopped)) return TW_OK;
  return tw_fail(error, TW_INTERRUPTED, "stopped; nothing was written");
}

/* ---- one tensor ---- */

static tw_status find_magnitude(const work *w, const plan_entry *e, const tw_packed_size *from_size, const tiling *g,
                                size_t row, size_t until, tw_packing *to, tw_error *error) {
  tw_magnitude m = {0};
  tw_status status = TW_OK;
  for (tile t = {0}; status == TW_OK && next_tile(g, row, until, &t);) {
    status = check_stopped(w, error);
    if (status == TW_OK) status = read_tile(w, w->buffers, &e->from, from_size, &t, error);
    if (status == TW_OK) tw_magnitude_add(&m, w->buffers->x, t.rows * t.columns);
  }
  to->magnitude = tw_magnitude_of(&m, to);
  return status;
}

/* Rows in progress: the threads' next tile, and the losses of completed tiles. */
typedef struct rows_job {
  const work *w;
  const plan_entry *e;
  const tw_packed_size *from_size;
  const tiling *tiling;
  size_t row, until;
  const tw_packing *to;
  pthread_mutex_t lock; /* of what follows */
  pthread_cond_t turn;  /* `done` has changed */
  tile last;            /* taken */
  size_t taken, done;   /* tiles */
  statistics *s;
  tw_status status; /* status and *error of the first tile that failed */
  tw_error *error;
} rows_job;

static bool take_tile(rows_job *j, tile *t, size_t *number) {
  pthread_mutex_lock(&j->lock);
  *t = j->last;
  const bool taken = j->status == TW_OK && next_tile(j->tiling, j->row, j->until, t);
  if (taken) {
    j->last = *t;
    *number = j->taken++;
  }
  pthread_mutex_unlock(&j->lock);
  return taken;
}

/* Writes tiles in order: waits for earlier ones. */
static void put_tile(rows_job *j, size_t number, tw_status status, const tw_error *error, const statistics_part *part) {
  pthread_mutex_lock(&j->lock);
  while (j->done != number) pthread_cond_wait(&j->turn, &j->lock);
  if (j->status == TW_OK && status == TW_OK) statistics_add(j->s, part);
  if (j->status == TW_OK && status != TW_OK) {
    j->status = status;
    if (j->error) *j->error = *error;
  }
  j->done++;
  pthread_cond_broadcast(&j->turn);
  pthread_mutex_unlock(&j->lock);
}

static void convert_tiles(void *context, size_t worker) {
  rows_job *j = context;
  const buffers *b = &j->w->buffers[worker];
  size_t number;
  for (tile t; take_tile(j, &t, &number);) {
    tw_error error = {0};
    statistics_part part = {0};
    tw_status status = check_stopped(j->w, &error);
    if (status == TW_OK) status = read_tile(j->w, b, &j->e->from, j->from_size, &t, &error);
    if (status == TW_OK) status = write_tile(j->w, b, j->e, j->to, &t, &part, &error);
    put_tile(j, number, status, &error, &part);
  }
}

static tw_status convert_rows(const work *w, const plan_entry *e, const tw_packed_size *from_size, const tiling *g,
                              size_t row, size_t until, const tw_packing *to, statistics *s, tw_error *error) {
  rows_job j = {w, e, from_size, g, row, until, to, .s = s, .status = TW_OK, .error = error};
  const size_t tiles = ceiling(until - row, g->tile_rows) * ceiling(g->columns, g->tile_columns ? g->tile_columns : 1);
  const size_t workers = tiles < w->workers ? tiles : w->workers;
  pthread_mutex_init(&j.lock, NULL);
  pthread_cond_init(&j.turn, NULL);
  tw_parallel_for((int)workers, workers, convert_tiles, &j);
  pthread_cond_destroy(&j.turn);
  pthread_mutex_destroy(&j.lock);
  return j.status;
}

static tw_status convert_tensor(const work *w, const plan_entry *e, statistics *s, tw_error *error) {
  tw_packing to = w->options->to;
  tw_packed_size from_size;
  tiling g;
  tw_status status = tw_format_sizes(&e->from.packing, e->from.rows, e->from.columns, &from_size, error);
  if (status == TW_OK) status = tiling_of(w, e, from_size.row_codes * (e->from.is_f64 ? 2 : 1), &g, error);
  if (status != TW_OK) return status;
  bool shared = to.format->scale == TW_SCALE_F32;
  if (shared && to.group == TW_GROUP_ROW && g.tile_columns < g.columns) {
    for (size_t row = 0; status == TW_OK && row < g.rows; row++) {
      status = find_magnitude(w, e, &from_size, &g, row, row + 1, &to, error);
      if (status == TW_OK) status = convert_rows(w, e, &from_size, &g, row, row + 1, &to, s, error);
    }
    return status;
  }
  if (shared && to.group == TW_GROUP_TENSOR) status = find_magnitude(w, e, &from_size, &g, 0, g.rows, &to, error);
  return status == TW_OK ? convert_rows(w, e, &from_size, &g, 0, g.rows, &to, s, error) : status;
}

static tw_status copy_tensor(const work *w, const plan_entry *e, tw_error *error) {
  const tensor *from = e->from.codes, *to = &w->plan->out[e->codes_at];
  uint8_t *buffer = w->buffers->from_codes;
  tw_status status = TW_OK;
  for (uint64_t at = 0; status == TW_OK && at < from->bytes; at += TILE_BYTES) {
    size_t bytes = from->bytes - at < TILE_BYTES ? (size_t)(from->bytes - at) : TILE_BYTES;
    status = check_stopped(w, error);
    if (status == TW_OK) status = tensor_read(w->in, from, at, buffer, bytes, error);
    if (status == TW_OK) status = output_write(w->out, to->offset + at, buffer, bytes, error);
  }
  return status;
}

/* ---- the file ---- */

static bool describe(const plan_entry *e, converted *c) {
  const source *s = &e->from;
  c->name = strdup(e->codes.name);
  c->copied = !e->converts;
  c->rank = c->copied ? s->codes->rank : s->rank;
  memcpy(c->shape, c->copied ? s->codes->shape : s->shape, sizeof c->shape);
  shape_values(c->rank, c->shape, &c->values);
  c->bytes_in = s->codes->bytes + (s->scales ? s->scales->bytes : 0);
  c->bytes_out = e->codes.bytes + e->scales.bytes;
  snprintf(c->from, sizeof c->from, "%s",
           c->copied   ? s->codes->dtype_name
           : s->is_f64 ? "f64"
                       : s->packing.format->name);
  return c->name != NULL;
}

static tw_status convert_all(work *w, void (*done)(void *, const converted *), void *context, conversion *result,
                             tw_error *error) {
  tw_status status = work_make(w, error);
  for (size_t i = 0; status == TW_OK && i < w->plan->n; i++) {
    const plan_entry *e = &w->plan->entry[i];
    converted *c = &result->tensor[result->n];
    if (!describe(e, c)) return tw_no_memory(error, "the conversion");
    result->n++;
    status = e->converts ? convert_tensor(w, e, &c->statistics, error) : copy_tensor(w, e, error);
    if (status == TW_OK && done) done(context, c);
  }
  return status;
}

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), tail = strlen(end);
  return length > tail && strcmp(text + length - tail, end) == 0;
}

static tw_status write_file(work *w, plan *p, bool to_npy, const char *path, void (*done)(void *, const converted *),
                            void *context, conversion *result, tw_error *error) {
  size_t header_bytes;
  output_file out = {.fd = -1};
  char *header = to_npy ? npy_header(p->out, &header_bytes, &result->bytes_out)
                        : safetensors_header(p->out, p->n_out, p->metadata, &header_bytes, &result->bytes_out);
  result->tensor = tw_new(p->n + 1, sizeof *result->tensor);
  tw_status status = header && result->tensor ? TW_OK : tw_fail(error, TW_NO_MEMORY, "out of memory for '%s'", path);
  if (status == TW_OK) status = output_open(path, result->bytes_out, &out, error);
  if (status == TW_OK) status = output_write(&out, 0, header, header_bytes, error);
  w->out = &out; // cppcheck-suppress autoVariables ; until the end of this function
  if (status == TW_OK) status = convert_all(w, done, context, result, error);
  if (status == TW_OK)
    status = output_commit(&out, error);
  else
    output_abandon(&out);
  w->out = NULL;
  free(header);
  return status;
}

tw_status convert_file(const char *in_path, const char *out_path, const convert_options *options,
                       void (*done)(void *, const converted *), void *context, conversion *result, tw_error *error) {
  tensor_file in;
  plan p = {0};
  bool to_npy = ends_with(out_path, ".npy");
  *result = (conversion){0};
  if (!to_npy && !ends_with(out_path, ".safetensors"))
    return tw_fail(error, TW_USAGE, "unsupported output name '%s'; expected NAME.npy or NAME.safetensors", out_path);
  tw_status status = tw_packing_check(&options->to, error);
  if (status == TW_OK) status = tensor_file_open(in_path, &in, error);
  if (status != TW_OK) return status;
  work w = {.in = &in, .plan = &p, .options = options};
  result->bytes_in = in.size;
  status = plan_make(&in, options, to_npy, out_path, &p, error);
  if (status == TW_OK) status = write_file(&w, &p, to_npy, out_path, done, context, result, error);
  work_free(&w);
  plan_free(&p);
  tensor_file_close(&in);
  if (status != TW_OK) conversion_free(result);
  return status;
}

void conversion_free(conversion *c) {
  for (size_t i = 0; i < c->n; i++) free(c->tensor[i].name);
  free(c->tensor);
  *c = (conversion){0};
}
