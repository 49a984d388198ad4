/* sequence.c - the runtime sequence: arguments are arrays in DDR, tasks move them. Two forms are taken:
 *
 *   aiex.npu.dma_memcpy_nd(%a[offsets][sizes][strides]) {id, metadata = @fifo, issue_token} : type, npu.dma_wait, npu.sync;
 *   %t = aiex.dma_configure_task_for @fifo { aie.dma_bd(...) aie.end } {repeat_count, issue_token}, dma_start_task,
 *     dma_await_task, dma_free_task.
 *
 * Of four sizes the first is how often the task runs; a first stride of 0 means that no run is displaced. Tasks that
 * write DDR always give a token (mlir-aie does so for dma_memcpy_nd). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "mlir_aie/reader.h"

static const int64_t MOST = (int64_t)1 << 28; /* keeps products and sums within 64 bits; fields are checked later */

/* ---- arguments ---- */

static void read_arguments(xd_reader *r) {
  xd_read_expect(r, '(');
  for (int i = 0; xd_going(r) && !xd_read_at(r, ')'); i++) {
    const int line = r->token.line;
    const xd_slice name = xd_read_value_name(r);
    xd_read_expect(r, ':');
    const xd_shape shape = xd_read_type(r);
    if (xd_going(r) && !shape.is_memref) {
      if ((size_t)i >= r->options.n_values)
        xd_read_fail(r, line,
                     "argument %d of the runtime sequence, %%%s, is a number: run the design without an op and give "
                     "its arguments, this one as --arg i32=N",
                     i, xd_read_excerpt(name).text);
      else
        xd_define(r, (xd_value){.name = name, .kind = XD_NUMBER_VALUE, .number = r->options.value[i]});
      if (!xd_read_take(r, ',')) break;
      continue;
    }
    xd_buffer b = {.external = true, .argument = i, .bytes = shape.bytes, .type = xd_shape_type(&shape)};
    snprintf(b.name, sizeof b.name, "%.*s", (int)(name.length < XD_NAME ? name.length : XD_NAME - 1), name.at);
    xd_define(r, (xd_value){.name = name,
                            .kind = XD_ARGUMENT_VALUE,
                            .index = XD_ADD(&r->design->program, buffers, &b),
                            .shape = shape});
    if (!xd_read_take(r, ',')) break;
  }
  xd_read_expect(r, ')');
}

static const xd_value *argument_named(xd_reader *r) {
  const int line = r->token.line;
  const xd_value *v = xd_value_named(r, xd_read_value_name(r), line);
  if (v && v->kind != XD_ARGUMENT_VALUE) {
    xd_read_fail(r, line, "%%%s is not an argument of the runtime sequence", xd_read_excerpt(v->name).text);
    return NULL;
  }
  return v;
}

/* ---- patterns ---- */

/* Rows without gaps are one run, which may be longer than a field of a dimension holds. */
static void join_rows(xd_pattern *p) {
  const bool whole = p->n_dims == 2 && p->dim[1].stride == p->dim[0].size && p->dim[0].size >= 4096;
  if (!whole) return;
  p->dim[0].size *= p->dim[1].size;
  p->n_dims = 1;
}

/* The lower three of four dimensions; the first is the number of repetitions. */
static void set_pattern(xd_reader *r, const xd_bd *d, xd_pending *t) {
  t->buffer = d->of->index;
  t->pattern = xd_bd_pattern(r, d, XD_SIZES - 1);
  join_rows(&t->pattern);
  t->iterations = d->stride[0] && d->size[0] > 1 ? d->size[0] : 1;
  t->stride = t->iterations > 1 ? d->stride[0] * (d->of->shape.element_bits / 8) : 0;
}

static void add_task(xd_reader *r, const xd_pending *t) { xd_append(&r->tasks, sizeof *t, t, &r->failed); }

/* The name of an object FIFO defined above, with an end at a shim; or of an allocation, which may be defined below. */
static void set_metadata(xd_reader *r, xd_slice name, int line, xd_pending *t) {
  t->fifo = -1;
  t->metadata = name;
  if (!name.length) xd_read_fail(r, line, "it names no object FIFO or allocation");
  for (size_t i = 0; i < r->fifos.n; i++)
    if (xd_slice_same(r->fifos.at[i].name, name)) t->fifo = (int)i;
  if (t->fifo < 0) return;
  const xd_fifo *f = &r->design->program.fifos.at[t->fifo];
  bool at_shim = xd_kind_of(f->producer.tile) == XD_SHIM;
  for (int i = 0; i < f->n_consumers; i++) at_shim = at_shim || xd_kind_of(f->consumer[i].tile) == XD_SHIM;
  if (!at_shim) xd_read_fail(r, line, "object FIFO @%s has no end at a shim", f->name);
}

/* ---- dma_memcpy_nd, dma_wait ---- */

static void read_memcpy(xd_reader *r, int line) {
  xd_pending t = {.kind = XD_START, .line = line, .id = -1};
  xd_bd d = {.size = {1, 1, 1, 1}, .line = line};
  int64_t offset[XD_SIZES] = {0};
  xd_attributes a;
  xd_read_expect(r, '(');
  for (int i = 0; i < 2 && xd_read_at_kind(r, XD_TOKEN_NUMBER); i++) { /* older texts: column and row first */
    xd_read_next(r);
    xd_read_expect(r, ',');
  }
  d.of = argument_named(r);
  const int n = xd_read_list(r, 0, (int64_t)1 << 36, offset), n_sizes = xd_read_list(r, 1, MOST, d.size),
            n_strides = xd_read_list(r, 0, MOST, d.stride);
  if (xd_going(r) && (n != XD_SIZES || n_sizes != XD_SIZES || n_strides != XD_SIZES))
    xd_read_fail(r, line, "dma_memcpy_nd needs four offsets, sizes and strides");
  if (xd_read_take(r, ',')) {
    xd_read_expect_word(r, "packet");
    xd_read_expect(r, '=');
    xd_read_expect(r, '<');
    t.packet = xd_read_packet_info(r);
  }
  xd_read_expect(r, ')');
  xd_read_attributes(r, &a);
  t.id = (int)xd_attribute_number(r, &a, "id", -1);
  set_metadata(r, xd_attribute_text(r, &a, "metadata"), line, &t);
  t.token = xd_attribute_true(r, &a, "issue_token");
  t.always_token = true;
  xd_attribute_number(r, &a, "burst_length", 0);
  xd_attributes_end(r, &a, "dma_memcpy_nd");
  xd_read_expect(r, ':');
  xd_read_type(r);
  if (!d.of || !xd_going(r)) return;
  for (int i = 0; i < XD_SIZES; i++)
    if (offset[i] && __builtin_add_overflow(d.offset, offset[i] * (i == XD_SIZES - 1 ? 1 : d.stride[i]), &d.offset))
      d.offset = MOST;
  t.repeat = d.size[0];
  set_pattern(r, &d, &t);
  add_task(r, &t);
}

static void read_wait(xd_reader *r, int line) {
  xd_attributes a;
  xd_read_attributes(r, &a);
  xd_pending t = {.kind = XD_AWAIT, .line = line};
  set_metadata(r, xd_attribute_text(r, &a, "symbol"), line, &t);
  xd_attributes_end(r, &a, "dma_wait");
  add_task(r, &t);
}

static void add_sync(xd_reader *r, const int64_t of[6], int line) {
  const int64_t column = of[0], direction = of[2];
  if (of[1] || of[4] != 1 || of[5] != 1 || direction < 0 || direction > 1 || column < 0 || column >= r->columns)
    xd_read_fail(r, line, "npu.sync supports one channel of one shim tile only");
  const xd_pending t = {
      .kind = XD_AWAIT,
      .line = line,
      .fifo = -1,
      .channel = {.tile = {(int)column, 0}, .direction = direction ? XD_MM2S : XD_S2MM, .id = (int)of[3]}};
  if (xd_going(r)) add_task(r, &t);
}

/* aiex.npu.sync {column, row, direction, channel, column_num = 1, row_num = 1}: waits for a token of that channel. */
static void read_sync(xd_reader *r, int line) {
  xd_attributes a;
  if (xd_read_take(r, '(')) { /* as operands: column, row, direction, channel, columns, rows */
    int64_t of[6] = {0};
    for (int i = 0; i < 6; i++) {
      if (i) xd_read_expect(r, ',');
      of[i] = xd_read_index(r, 0);
    }
    xd_read_expect(r, ')');
    while (xd_read_take(r, ':') || xd_read_take(r, ',')) xd_read_type(r);
    add_sync(r, of, line);
    return;
  }
  xd_read_attributes(r, &a);
  const int64_t column = xd_attribute_number(r, &a, "column", 0), row = xd_attribute_number(r, &a, "row", 0),
                direction = xd_attribute_number(r, &a, "direction", 0),
                channel = xd_attribute_number(r, &a, "channel", 0),
                columns = xd_attribute_number(r, &a, "column_num", 1), rows = xd_attribute_number(r, &a, "row_num", 1);
  xd_attributes_end(r, &a, "npu.sync");
  const int64_t of[6] = {column, row, direction, channel, columns, rows};
  add_sync(r, of, line);
}

/* ---- run-time parameters ---- */

/* aiex.npu.rtp_write(@buffer, element, value) [: i32]; older: (column, row, element, value) {buffer_sym_name =
 * "buffer"} */
static void read_parameter(xd_reader *r, int line) {
  xd_pending t = {.kind = XD_SET, .line = line, .fifo = -1};
  xd_attributes a;
  xd_read_expect(r, '(');
  const bool named = xd_read_at_kind(r, XD_TOKEN_SYMBOL) || xd_read_at_kind(r, XD_TOKEN_STRING);
  t.metadata = (xd_slice){r->token.at, r->token.length};
  if (named) xd_read_next(r);
  for (int i = 0; i < 2 && !named; i++) {
    if (i) xd_read_expect(r, ',');
    xd_read_number(r, 0, 63);
  }
  xd_read_expect(r, ',');
  t.element = xd_read_number(r, 0, INT32_MAX);
  xd_read_expect(r, ',');
  t.value = xd_read_index(r, 0);
  xd_read_expect(r, ')');
  xd_read_attributes(r, &a);
  if (!named) t.metadata = xd_attribute_text(r, &a, "buffer_sym_name");
  xd_attributes_end(r, &a, "rtp_write");
  if (xd_read_take(r, ':')) xd_read_type(r);
  if (xd_going(r) && t.value > INT32_MAX) xd_read_fail(r, line, "a run-time parameter has 32 bits");
  add_task(r, &t);
}

/* aiex.set_lock(%lock, value) */
static void read_set_lock(xd_reader *r, int line) {
  xd_pending t = {.kind = XD_SET_LOCK, .line = line, .fifo = -1};
  xd_read_expect(r, '(');
  const xd_value *v = xd_value_named(r, xd_read_value_name(r), line);
  if (v && v->kind != XD_LOCK_VALUE) xd_read_fail(r, line, "%%%s is not a lock", xd_read_excerpt(v->name).text);
  if (v) t.lock = v->index;
  xd_read_expect(r, ',');
  t.value = xd_read_index(r, 0);
  xd_read_expect(r, ')');
  if (xd_going(r)) add_task(r, &t);
}

/* ---- tasks ---- */

/* `named`: @fifo or @allocation; else (%tile, MM2S, 0). */
static void read_task(xd_reader *r, xd_slice result, bool named, int line) {
  xd_pending t = {.kind = XD_START, .line = line, .id = -1, .fifo = -1, .repeat = 1};
  xd_attributes a;
  if (named) {
    set_metadata(r, xd_read_symbol(r), line, &t);
  } else {
    xd_read_expect(r, '(');
    t.channel.tile = xd_read_tile_name(r);
    xd_read_expect(r, ',');
    t.channel.direction = xd_read_direction(r);
    xd_read_expect(r, ',');
    t.channel.id = (int)xd_read_number(r, 0, 15);
    xd_read_expect(r, ')');
    if (xd_going(r) && xd_kind_of(t.channel.tile) != XD_SHIM)
      xd_read_fail(r, line, "unsupported tasks of %s; expected tasks of a shim", xd_place_label(t.channel.tile).text);
  }
  xd_read_expect(r, '{');
  xd_read_expect_word(r, "aie.dma_bd");
  const xd_bd d = xd_read_bd(r, XD_ARGUMENT_VALUE);
  xd_read_expect_word(r, "aie.end");
  xd_read_expect(r, '}');
  xd_read_attributes(r, &a);
  t.repeat += xd_attribute_number(r, &a, "repeat_count", 0);
  t.token = xd_attribute_true(r, &a, "issue_token");
  xd_attributes_end(r, &a, "dma_configure_task_for");
  t.id = d.id;
  t.packet = d.packet;
  if (xd_going(r)) set_pattern(r, &d, &t);
  xd_define(r, (xd_value){.name = result, .kind = XD_TASK_VALUE, .index = (int)r->configured.n});
  xd_append(&r->configured, sizeof t, &t, &r->failed);
}

static xd_pending *task_named(xd_reader *r) {
  const int line = r->token.line;
  xd_read_expect(r, '(');
  const xd_value *v = xd_value_named(r, xd_read_value_name(r), line);
  xd_read_expect(r, ')');
  if (v && v->kind != XD_TASK_VALUE) xd_read_fail(r, line, "%%%s is not a task", xd_read_excerpt(v->name).text);
  return v && xd_going(r) && !r->failed ? &r->configured.at[v->index] : NULL;
}

static void read_start(xd_reader *r, int line) {
  xd_pending *t = task_named(r);
  if (!t) return;
  t->line = line;
  add_task(r, t);
}

static void read_await(xd_reader *r, int line) {
  const xd_pending *t = task_named(r);
  if (!t) return;
  if (!t->token) xd_read_fail(r, line, "the awaited task gives no token: issue_token = true is missing");
  const xd_pending await = {
      .kind = XD_AWAIT, .line = line, .fifo = t->fifo, .metadata = t->metadata, .channel = t->channel};
  add_task(r, &await);
}

/* ---- numbers and loops that are known here ---- */

static void skip_trace(xd_reader *r) {
  xd_attributes a;
  if (xd_read_at_kind(r, XD_TOKEN_SYMBOL)) xd_read_symbol(r);
  while (xd_read_at_kind(r, XD_TOKEN_WORD) && !memchr(r->token.at, '.', r->token.length)) { /* buffer_size = 8192 */
    xd_read_next(r);
    xd_read_expect(r, '=');
    xd_read_next(r);
  }
  xd_read_attributes(r, &a);
  r->design->skipped++;
}

static int64_t known_number(xd_reader *r) {
  const int line = r->token.line;
  const xd_value *v = xd_value_named(r, xd_read_value_name(r), line);
  if (v && v->kind != XD_NUMBER_VALUE)
    xd_read_fail(r, line, "%%%s is not a known number", xd_read_excerpt(v->name).text);
  return v && xd_going(r) ? v->number : 0;
}

/* %sum = arith.addi %a, %b : index, and similar ops, on numbers that are constants, arguments or loop counters. */
static bool read_arithmetic(xd_reader *r, xd_slice op, xd_slice result, int line) {
  static const char *const binary[] = {"arith.addi",  "arith.subi",  "arith.muli", "arith.divsi",
                                       "arith.divui", "arith.remsi", "arith.remui"};
  static const char *const casts[] = {"arith.index_cast", "arith.extsi", "arith.extui", "arith.trunci",
                                      "arith.index_castui"};
  int64_t out = 0;
  for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
    if (!xd_slice_is(op, casts[i])) continue;
    xd_read_next(r);
    out = known_number(r);
    xd_read_expect(r, ':');
    xd_read_type(r);
    xd_read_expect_word(r, "to");
    xd_read_type(r);
    xd_define(r, (xd_value){.name = result, .kind = XD_NUMBER_VALUE, .number = out});
    return true;
  }
  for (size_t i = 0; i < sizeof binary / sizeof *binary; i++) {
    if (!xd_slice_is(op, binary[i])) continue;
    xd_read_next(r);
    const int64_t a = known_number(r);
    xd_read_expect(r, ',');
    const int64_t b = known_number(r);
    xd_read_expect(r, ':');
    xd_read_type(r);
    bool fits = true;
    if (i < 3)
      fits = i == 0   ? !__builtin_add_overflow(a, b, &out)
             : i == 1 ? !__builtin_sub_overflow(a, b, &out)
                      : !__builtin_mul_overflow(a, b, &out);
    else if (b == 0 || b == -1)
      fits = false;
    else
      out = i < 5 ? a / b : a % b;
    if (xd_going(r) && !fits) xd_read_fail(r, line, "%s of %" PRId64 " and %" PRId64, binary[i], a, b);
    xd_define(r, (xd_value){.name = result, .kind = XD_NUMBER_VALUE, .number = out});
    return true;
  }
  return false;
}

/* %same = memref.assume_alignment %argument, 64 : memref<..>; older ones have no result */
static void read_alignment(xd_reader *r, xd_slice result) {
  const xd_value *v = argument_named(r);
  xd_read_expect(r, ',');
  xd_read_number(r, 1, INT32_MAX);
  xd_read_expect(r, ':');
  xd_read_type(r);
  if (!v || !xd_going(r) || !result.length) return;
  xd_value same = *v;
  same.name = result;
  xd_define(r, same);
}

static void read_op(xd_reader *);

/* scf.for %i = %from to %to step %step { ... }: its text is read once per iteration. */
static void read_for(xd_reader *r, int line) {
  enum { TURNS = 4096 };
  const xd_slice turn = xd_read_value_name(r);
  xd_read_expect(r, '=');
  const int64_t from = known_number(r);
  xd_read_expect_word(r, "to");
  const int64_t to = known_number(r);
  xd_read_expect_word(r, "step");
  const int64_t step = known_number(r);
  if (xd_read_at_word(r, "iter_args")) xd_read_fail(r, line, "unsupported iter_args of a loop of the sequence");
  if (xd_read_take(r, ':')) xd_read_type(r);
  if (xd_going(r) && (step < 1 || (to > from && (to - from - 1) / step >= TURNS)))
    xd_read_fail(r, line, "a loop of the sequence of more than %d iterations, or in steps of %" PRId64, TURNS, step);
  if (!xd_going(r)) return;
  const xd_lexer body = r->lexer;
  const xd_token first = r->token;
  if (to <= from) xd_skip_region(r);
  for (int64_t i = from; i < to && xd_going(r); i += step) {
    const size_t values = r->values.n;
    r->lexer = body;
    r->token = first;
    xd_define(r, (xd_value){.name = turn, .kind = XD_NUMBER_VALUE, .number = i});
    xd_read_expect(r, '{');
    while (xd_going(r) && !xd_read_at(r, '}') && !xd_read_at_kind(r, XD_TOKEN_END)) read_op(r);
    xd_read_expect(r, '}');
    r->values.n = values;
  }
}

/* ---- all ---- */

static void read_op(xd_reader *r) {
  const int line = r->token.line;
  xd_slice op;
  const xd_slice result = xd_read_result(r, &op);
  if (xd_read_take_word(r, "aiex.npu.dma_memcpy_nd"))
    read_memcpy(r, line);
  else if (xd_read_take_word(r, "aiex.npu.dma_wait"))
    read_wait(r, line);
  else if (xd_read_take_word(r, "aiex.npu.rtp_write"))
    read_parameter(r, line);
  else if (xd_read_take_word(r, "aiex.set_lock"))
    read_set_lock(r, line);
  else if (xd_read_take_word(r, "aiex.npu.sync"))
    read_sync(r, line);
  else if (xd_read_take_word(r, "aiex.dma_configure_task_for"))
    read_task(r, result, true, line);
  else if (xd_read_take_word(r, "aiex.dma_configure_task"))
    read_task(r, result, false, line);
  else if (xd_read_take_word(r, "aiex.npu.writebd"))
    xd_read_writebd(r, line);
  else if (xd_read_take_word(r, "aiex.npu.address_patch"))
    xd_read_address_patch(r, line);
  else if (xd_read_take_word(r, "aiex.npu.write32"))
    xd_read_write32(r, line);
  else if (xd_read_take_word(r, "aie.trace.host_config") || xd_read_take_word(r, "aie.trace.start_config"))
    skip_trace(r);
  else if (xd_read_take_word(r, "memref.assume_alignment"))
    read_alignment(r, result);
  else if (xd_read_take_word(r, "scf.for"))
    read_for(r, line);
  else if (read_arithmetic(r, op, result, line))
    return;
  else if (xd_read_take_word(r, "aiex.dma_start_task"))
    read_start(r, line);
  else if (xd_read_take_word(r, "aiex.dma_await_task"))
    read_await(r, line);
  else if (xd_read_take_word(r, "aiex.dma_free_task"))
    task_named(r);
  else if (xd_read_take_word(r, "arith.constant"))
    xd_read_constant(r, result);
  else if (!xd_read_take_word(r, "aie.end") && !xd_read_take_word(r, "scf.yield"))
    xd_read_fail(r, line, "unsupported operation '%s' in a runtime sequence", xd_read_excerpt(op).text);
}

void xd_read_sequence(xd_reader *r) {
  const int line = r->token.line;
  const size_t values = r->values.n;
  if (r->design->runs) xd_read_fail(r, line, "unsupported second runtime sequence; expected one");
  r->design->runs = true;
  if (xd_read_at_kind(r, XD_TOKEN_SYMBOL)) xd_read_symbol(r);
  read_arguments(r);
  xd_read_expect(r, '{');
  while (xd_going(r) && !xd_read_at(r, '}')) {
    if (xd_read_at_kind(r, XD_TOKEN_END)) xd_read_fail(r, r->token.line, "the text ends within the runtime sequence");
    read_op(r);
  }
  xd_read_expect(r, '}');
  r->values.n = values;
}
