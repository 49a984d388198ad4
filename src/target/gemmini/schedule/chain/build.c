/* build.c - puts chains together: loops over blocks, loads, stores, products of a matrix and a column. */
#include <stdlib.h>
#include <string.h>

#include "target/gemmini/schedule/chain/chain.h"

void gm_chain_free(gm_chain *c) {
  free(c->command);
  c->command = NULL;
  c->n = c->capacity = 0;
}

int gm_affine_value(const gm_affine *a, const int index[GM_CHAIN_DEPTH]) {
  int value = a->base;
  for (int l = 0; l < GM_CHAIN_DEPTH; l++) value += a->step[l] * index[l];
  return value;
}

bool gm_chain_walk(const gm_chain *c, gm_chain_visit *visit, void *context) {
  int index[GM_CHAIN_DEPTH] = {0}, begin[GM_CHAIN_DEPTH] = {0}, depth = 0;
  for (int i = 0; i < c->n; i++) {
    const gm_chain_command *x = &c->command[i];
    if (x->kind == GM_DO) {
      index[depth] = 0;
      begin[depth++] = i;
    } else if (x->kind == GM_END) {
      if (++index[depth - 1] < c->command[begin[depth - 1]].trip)
        i = begin[depth - 1];
      else
        index[--depth] = 0;
    } else if (!visit(context, x, i, index)) {
      return false;
    }
  }
  return true;
}

/* ---- commands ---- */

static gm_chain_command *append(gm_builder *b, gm_chain_kind kind) {
  gm_chain *c = b->chain;
  static gm_chain_command lost; /* never read */
  if (c->n == c->capacity) {
    int capacity = c->capacity ? 2 * c->capacity : 64;
    gm_chain_command *more = realloc(c->command, (size_t)capacity * sizeof *more);
    if (!more) {
      c->failed = true;
      return &lost;
    }
    c->command = more;
    c->capacity = capacity;
  }
  gm_chain_command *x = &c->command[c->n++];
  memset(x, 0, sizeof *x);
  x->kind = kind;
  x->output_stationary = b->output_stationary;
  x->a_transposed = b->a_transposed;
  x->scale = 1;
  return x;
}

void gm_operator(gm_builder *b, const char *name) { append(b, GM_OPERATOR)->name = name; }
void gm_fence(gm_builder *b) { append(b, GM_FENCE); }

void gm_load(gm_builder *b, int array, gm_affine from, int stride, double scale, gm_affine to, int rows, int cols,
             int block_stride) {
  for (int done = 0; done < cols; done += b->p.widest) {
    int now = cols - done < b->p.widest ? cols - done : b->p.widest;
    gm_chain_command *x = append(b, GM_LOAD);
    x->memory = (gm_memory){array, from, rows, now, stride};
    x->memory.at.base += done;
    x->a = gm_spad(to, rows, now);
    x->a.at.base += done / b->p.dim * block_stride;
    x->stride = stride * 4;
    x->block_stride = block_stride;
    x->scale = scale;
  }
}

void gm_store(gm_builder *b, gm_rows from, int array, gm_affine to, int stride) {
  gm_chain_command *x = append(b, GM_STORE);
  x->memory = (gm_memory){array, to, from.rows, from.cols, stride};
  x->a = from;
  x->stride = stride * 4;
}

void gm_before(gm_builder *b, gm_rows a, gm_rows c) {
  gm_chain_command *x = append(b, GM_BEFORE);
  x->a = a;
  x->b = c;
}

void gm_multiply(gm_builder *b, bool accumulated, gm_rows a, gm_rows d) {
  gm_chain_command *x = append(b, GM_MULTIPLY);
  x->accumulated = accumulated;
  x->a = a;
  x->b = d;
}

void gm_negate(gm_builder *b, gm_memory from, gm_memory out) {
  gm_chain_command *c = append(b, GM_NEGATE);
  c->x = from;
  c->memory = out;
}

void gm_add(gm_builder *b, gm_memory x, gm_memory y, gm_memory out) {
  gm_chain_command *c = append(b, GM_ADD);
  c->x = x;
  c->y = y;
  c->memory = out;
}

gm_memory gm_elements(int array, gm_affine at, int length) { return (gm_memory){array, at, 1, length, length}; }

/* ---- loops ---- */

static int open_loop(gm_builder *b, const char *name, int trip) {
  gm_chain_command *x = append(b, GM_DO);
  x->trip = trip;
  x->name = name;
  if (b->depth == GM_CHAIN_DEPTH - 1) b->chain->failed = true; /* no program has more nested loops */
  return b->depth < GM_CHAIN_DEPTH - 1 ? b->depth++ : b->depth;
}

static void close_loop(gm_builder *b) {
  append(b, GM_END);
  b->depth--;
}

gm_each gm_each_block(gm_builder *b, const char *name, int length, int flags) {
  return (gm_each){.b = b, .name = name, .length = length, .unit = b->p.dim, .flags = flags};
}

bool gm_next(gm_each *e) {
  int blocks = (e->length + e->unit - 1) / e->unit, from = e->next, to = from + 1;
  if (e->open) close_loop(e->b);
  e->open = false;
  if (from >= blocks) return false;
  int unroll = e->b->plan.unroll;
  bool unrolled = !(e->flags & GM_ROLLED) && (unroll == 2 || (unroll == 1 && e->flags & GM_INNER));
  bool alone = (from == 0 && e->flags & GM_PEEL_FIRST) || unrolled;
  int end = e->length / e->unit; /* whole blocks */
  if (e->flags & GM_PEEL_LAST && end == blocks) end--;
  if (!alone && end > to) to = end;
  e->next = to;
  e->first = from == 0;
  e->last = to == blocks;
  e->block = (gm_block){.base = from, .level = -1, .sign = 1};
  e->block.size = from + 1 == blocks ? e->length - from * e->unit : e->unit;
  if (to - from > 1) {
    e->open = true;
    e->block.level = open_loop(e->b, e->name, to - from);
  }
  return true;
}

gm_block gm_begin_steps(gm_builder *b, const char *name, int trip, int first, int sign) {
  gm_block t = {.base = first, .level = -1, .sign = sign, .size = 1};
  if (trip > 1) t.level = open_loop(b, name, trip);
  return t;
}

void gm_end_steps(gm_builder *b, gm_block t) {
  if (t.level >= 0) close_loop(b);
}

gm_affine gm_at(int base) { return (gm_affine){.base = base}; }

gm_affine gm_plus(gm_affine a, gm_block k, int per) {
  a.base += k.base * per;
  if (k.level >= 0) a.step[k.level] += k.sign * per;
  return a;
}

/* ---- places ---- */

int gm_take_rows(gm_builder *b, int bank, int rows) {
  int size = gm_spad_bank_rows(b->config), banks = b->config->spad_banks;
  if (!b->plan.banks) bank = 0;
  bank %= banks;
  int at = b->used[bank], room = b->plan.banks ? size : size * banks;
  b->used[bank] += (rows + b->p.dim - 1) / b->p.dim * b->p.dim;
  if (b->used[bank] > room) b->full = true;
  return bank * size + at;
}

int gm_take_acc(gm_builder *b, int rows) {
  int at = b->acc_used;
  b->acc_used += (rows + b->p.dim - 1) / b->p.dim * b->p.dim;
  if (b->acc_used > gm_acc_rows(b->config)) b->full = true;
  return at;
}

static int add_array(gm_builder *b, const char *name, int length, bool constant) {
  gm_chain *c = b->chain;
  if (c->n_arrays == GM_CHAIN_ARRAYS) {
    c->failed = true;
    return 0;
  }
  c->array[c->n_arrays] =
      (gm_chain_array){.name = name, .length = length, .given = constant ? length : 0, .constant = constant};
  return c->n_arrays++;
}

int gm_chain_local(gm_builder *b, const char *name, int length) { return add_array(b, name, length, false); }

int gm_chain_identity(gm_builder *b) {
  if (b->chain->identity < 0) b->chain->identity = add_array(b, "identity", b->p.dim * b->p.dim, true);
  return b->chain->identity;
}

enum { CODE_LINE_BYTES = 64, COMMAND_CODE_BYTES = 16 };

/* Loads [first, first + count) of the code, in front of command `at`. */
static void insert_code_loads(gm_builder *b, int at, int code, int rows, int first, int count) {
  const int dim = b->p.dim, line = CODE_LINE_BYTES / gm_input_bytes(b->config), per = dim * line;
  if (count <= 0) return;
  gm_chain_command load = {
      .kind = GM_LOAD,
      .stride = CODE_LINE_BYTES,
      .block_stride = dim,
      .scale = 1,
      .a = gm_spad(gm_at(rows), dim, 1),
      .memory = {.array = code, .at = {.base = first * per}, .rows = dim, .cols = 1, .stride = line}};
  const bool loop = count > 1;
  if (loop) load.memory.at.step[0] = per;
  const gm_chain_command command[] = {{.kind = GM_OPERATOR, .name = "the code of what follows"},
                                      {.kind = GM_DO, .trip = count, .name = "l"},
                                      load,
                                      {.kind = GM_END}};
  const int n = sizeof command / sizeof *command;
  for (int i = n - 1; i >= 0; i--) {
    if (!loop && (command[i].kind == GM_DO || command[i].kind == GM_END)) continue;
    if (!gm_chain_insert(b->chain, at, &command[i])) b->chain->failed = true;
  }
}

void gm_load_code(gm_builder *b) {
  gm_chain *c = b->chain;
  int commands = 0, dim = b->p.dim, line = CODE_LINE_BYTES / gm_input_bytes(b->config), first_product = 0, depth = 0;
  for (int i = 0; i < c->n; i++) commands += c->command[i].kind != GM_OPERATOR && c->command[i].kind != GM_FENCE;
  int lines = commands * COMMAND_CODE_BYTES / CODE_LINE_BYTES, loads = (lines + dim - 1) / dim;
  if (loads > GM_CODE_LOADS_MOST) loads = GM_CODE_LOADS_MOST;
  if (!loads) return;
  int code = add_array(b, "code", loads * dim * line, true), rows = gm_take_rows(b, 0, dim);
  if (c->failed) return;
  c->array[code].code = true;
  for (int i = 0; i < c->n && c->command[i].kind != GM_BEFORE;
       i++) { /* starts at the outermost loop, or at the product itself if it is in no loop */
    depth += (c->command[i].kind == GM_DO) - (c->command[i].kind == GM_END);
    if (!depth) first_product = i + 1;
  }
  const int first = loads < b->plan.code ? loads : b->plan.code;
  insert_code_loads(b, first_product, code, rows, first, loads - first);
  insert_code_loads(b, 0, code, rows, 0, first);
}

gm_rows gm_spad(gm_affine at, int rows, int cols) { return (gm_rows){GM_SPAD, at, rows, cols, false}; }
gm_rows gm_nowhere(void) { return (gm_rows){.space = GM_NOWHERE}; }

/* ---- matrices and columns ---- */

gm_matrix gm_take_matrix(gm_builder *b, int bank, int rows, int cols) {
  int across = gm_rounded(b, cols) / b->p.dim;
  return (gm_matrix){gm_take_rows(b, bank, gm_rounded(b, rows) * across), rows, cols, across};
}

void gm_load_matrix(gm_builder *b, gm_matrix m, int array, double scale) {
  int dim = b->p.dim;
  for (gm_each i = gm_each_block(b, "i", m.rows, 0); gm_next(&i);)
    gm_load(b, array, gm_plus(gm_at(0), i.block, dim * m.cols), m.cols, scale,
            gm_plus(gm_at(m.base), i.block, m.across * dim), i.block.size, m.cols, dim);
}

gm_rows gm_matrix_block(const gm_builder *b, gm_matrix m, gm_block i, gm_block k) {
  int dim = b->p.dim;
  return gm_spad(gm_plus(gm_plus(gm_at(m.base), i, m.across * dim), k, dim), i.size, k.size);
}

gm_rows gm_transposed_block(const gm_builder *b, gm_matrix m, gm_block i, gm_block k) {
  int dim = b->p.dim;
  gm_rows r = gm_spad(gm_plus(gm_plus(gm_at(m.base), k, m.across * dim), i, dim), i.size, k.size);
  r.transposed = true;
  return r;
}

void gm_load_column(gm_builder *b, int array, gm_affine from, double scale, gm_affine to, int length) {
  for (gm_each k = gm_each_block(b, "k", length, 0); gm_next(&k);)
    gm_load(b, array, gm_plus(from, k.block, b->p.dim), 1, scale, gm_plus(to, k.block, b->p.dim), k.block.size, 1,
            b->p.dim);
}

void gm_load_window(gm_builder *b, int array, gm_affine from, double scale, gm_affine to, int length) {
  const int dim = b->p.dim;
  gm_each w = gm_each_block(b, "w", length, GM_ROLLED);
  w.unit = b->p.widest;
  while (gm_next(&w))
    gm_load(b, array, gm_plus(from, w.block, b->p.widest), 1, scale, gm_plus(to, w.block, b->p.widest), dim,
            w.block.size - dim + 1, dim);
}

void gm_store_column(gm_builder *b, gm_space space, gm_affine from, int length, int array, gm_affine to) {
  for (gm_each k = gm_each_block(b, "k", length, 0); gm_next(&k);) {
    gm_rows rows = gm_spad(gm_plus(from, k.block, b->p.dim), k.block.size, 1);
    rows.space = space;
    gm_store(b, rows, array, gm_plus(to, k.block, b->p.dim), 1);
  }
}

/* Of op(M). */
static int rows_of(const gm_product *p) { return p->transposed ? p->matrix.cols : p->matrix.rows; }
static int cols_of(const gm_product *p) { return p->transposed ? p->matrix.rows : p->matrix.cols; }

static gm_rows block_of(const gm_builder *b, const gm_product *p, gm_block i, gm_block k) {
  return (p->transposed ? gm_transposed_block : gm_matrix_block)(b, p->matrix, i, k);
}

/* One block of x stays in the array as weights while the blocks of rows of all products pass. */
void gm_multiply_columns(gm_builder *b, const gm_product *product, int n) {
  int dim = b->p.dim, flags = GM_PEEL_FIRST;
  for (int p = 0; p < n; p++)
    if (product[p].space == GM_SPAD) flags |= GM_PEEL_LAST;
  for (gm_each k = gm_each_block(b, "k", cols_of(product), flags); gm_next(&k);)
    for (int which = 0; which < n; which++) {
      const gm_product *p = &product[which];
      for (gm_each i = gm_each_block(b, "j", rows_of(p), GM_INNER | (which ? 0 : GM_PEEL_FIRST)); gm_next(&i);) {
        bool loads = which == 0 && i.first;
        gm_rows weights = loads ? gm_spad(gm_plus(p->x, k.block, dim), k.block.size, 1) : gm_nowhere();
        gm_rows sums = gm_spad(gm_plus(p->sums, i.block, dim), i.block.size, 1), d = gm_nowhere();
        gm_rows out = gm_spad(gm_plus(p->out, i.block, dim), i.block.size, 1);
        out.space = p->space;
        if (p->space == GM_SPAD && !k.last) out = sums;
        if (k.first && p->has_start)
          d = gm_spad(gm_plus(p->start, i.block, dim), i.block.size, 1);
        else if (!k.first && p->space == GM_SPAD)
          d = sums;
        else if (!k.first)
          out.space = GM_ACC_ADD;
        gm_before(b, weights, out);
        gm_multiply(b, !loads, block_of(b, p, i.block, k.block), d);
      }
    }
}

void gm_sum_columns(gm_builder *b, const gm_product *term, int n) {
  int dim = b->p.dim;
  for (gm_each i = gm_each_block(b, "j", rows_of(term), 0); gm_next(&i);)
    for (int p = 0; p < n; p++)
      for (gm_each k = gm_each_block(b, "k", cols_of(&term[p]), GM_INNER | GM_PEEL_FIRST | GM_PEEL_LAST);
           gm_next(&k);) {
        bool first = p == 0 && k.first, last = p == n - 1 && k.last;
        gm_rows out = gm_spad(gm_plus(term->out, i.block, dim), i.block.size, 1), start = out;
        out.space = term->space;
        start.at = gm_plus(term->start, i.block, dim);
        gm_before(b, first && term->has_start ? start : gm_nowhere(), last ? out : gm_nowhere());
        gm_multiply(b, !first, block_of(b, &term[p], i.block, k.block),
                    gm_spad(gm_plus(term[p].x, k.block, dim), k.block.size, 1));
      }
}

void gm_transpose(gm_builder *b, gm_matrix from, gm_matrix to, int identity) {
  for (gm_each k = gm_each_block(b, "k", to.cols, 0); gm_next(&k);)
    for (gm_each i = gm_each_block(b, "j", to.rows, GM_INNER | GM_PEEL_FIRST); gm_next(&i);) {
      gm_rows one = gm_spad(gm_at(identity), k.block.size, k.block.size);
      gm_before(b, i.first ? one : gm_nowhere(), gm_matrix_block(b, to, i.block, k.block));
      gm_multiply(b, !i.first, gm_transposed_block(b, from, i.block, k.block), gm_nowhere());
    }
}
