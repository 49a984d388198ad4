/* read.c - the module and its device: tiles, functions, buffers; the other ops are in separate files. */
#include "mlir_aie/read.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlir_aie/reader.h"
#include "target/xdna2/array/lower.h"
#include "target/xdna2/array/scalar.h"

void xd_mlir_free(xd_mlir_design *d) {
  xd_program_free(&d->program);
  free(d->lines.at);
  *d = (xd_mlir_design){0};
}

/* %name = arith.constant 4 : index */
void xd_read_constant(xd_reader *r, xd_slice result) {
  if (xd_read_at_kind(r, XD_TOKEN_REAL)) {
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)(r->token.length < 63 ? r->token.length : 63), r->token.at);
    const xd_value v = {.name = result, .kind = XD_REAL_VALUE, .number = xd_scalar_of_real(strtod(text, NULL))};
    xd_read_next(r);
    xd_read_expect(r, ':');
    xd_read_type(r);
    xd_define(r, v);
    return;
  }
  if (xd_read_at_word(r, "true") || xd_read_at_word(r, "false")) {
    const xd_value v = {.name = result, .kind = XD_NUMBER_VALUE, .number = xd_read_at_word(r, "true")};
    xd_read_next(r);
    xd_define(r, v);
    return;
  }
  const int64_t number = xd_read_number(r, INT64_MIN, INT64_MAX);
  if (xd_read_take(r, ':')) xd_read_type(r);
  xd_define(r, (xd_value){.name = result, .kind = XD_NUMBER_VALUE, .number = number});
}

/* ---- ops of a device ---- */

void xd_define_tile(xd_reader *r, xd_slice name, xd_place t, int line) {
  char label[32];
  if (xd_going(r) && (t.column >= r->columns || t.row >= r->config->rows + 2))
    xd_read_fail(r, line, "unknown tile (%d, %d): %s has columns 0 to %d and rows 0 to %d", t.column, t.row,
                 r->design->device, r->columns - 1, r->config->rows + 1);
  snprintf(label, sizeof label, "(%d,%d)", t.column, t.row);
  xd_note_line(r, label, line);
  xd_define(r, (xd_value){.name = name, .kind = XD_TILE_VALUE, .place = t});
}

void xd_read_tile_attributes(xd_reader *r, const char *op) {
  xd_attributes a;
  xd_read_attributes(r, &a);
  xd_attribute_text(r, &a, "allocation_scheme");
  xd_attribute_ignore(&a, "controller_id"); /* for packets of the control network */
  xd_attributes_end(r, &a, op);
}

static void read_tile(xd_reader *r, xd_slice result) {
  const int line = r->token.line;
  xd_place t;
  xd_read_expect(r, '(');
  t.column = (int)xd_read_number(r, 0, 1 << 20);
  xd_read_expect(r, ',');
  t.row = (int)xd_read_number(r, 0, 1 << 20);
  xd_read_expect(r, ')');
  xd_read_tile_attributes(r, "aie.tile");
  xd_define_tile(r, result, t, line);
}

/* func.func private @name(types) [-> ()] [attributes {link_with = "file.o"}] */
static void read_declaration(xd_reader *r) {
  const int line = r->token.line;
  xd_declaration d = {.object_file = {"", 0}};
  xd_attributes a;
  if (!xd_read_take_word(r, "private")) xd_read_fail(r, line, "unsupported body of func.func; expected a declaration");
  d.name = xd_read_symbol(r);
  xd_read_expect(r, '(');
  while (xd_going(r) && !xd_read_at(r, ')')) {
    if (d.n == XD_MLIR_ARGUMENTS) xd_read_fail(r, line, "a function with more than %d arguments", XD_MLIR_ARGUMENTS);
    if (xd_read_at_kind(r, XD_TOKEN_VALUE)) { /* some texts have a name here */
      xd_read_next(r);
      xd_read_expect(r, ':');
    }
    const xd_shape s = xd_read_type(r);
    if (xd_going(r)) d.argument[d.n++] = s;
    if (!xd_read_take(r, ',')) break;
  }
  xd_read_expect(r, ')');
  if (xd_read_at_kind(r, XD_TOKEN_ARROW)) {
    xd_read_next(r);
    const bool listed = xd_read_take(r, '(');
    d.gives = !listed || !xd_read_at(r, ')');
    if (d.gives) xd_read_type(r);
    if (listed) xd_read_expect(r, ')');
  }
  if (xd_read_take_word(r, "attributes")) {
    xd_read_attributes(r, &a);
    d.object_file = xd_attribute_text(r, &a, "link_with");
    xd_attribute_text(r, &a, "link_with_mode");
    xd_attribute_ignore(&a, "llvm.bareptr");
    xd_attributes_end(r, &a, "func.func");
  }
  xd_append(&r->declarations, sizeof d, &d, &r->failed);
}

/* The writer calls the buffers of a tile NAME_COLUMN_ROW; within a tile NAME is enough. */
void xd_name_local(xd_slice value, xd_place t, char name[XD_NAME]) {
  char tail[32];
  snprintf(name, XD_NAME, "%.*s", (int)(value.length < XD_NAME ? value.length : XD_NAME - 1), value.at);
  snprintf(tail, sizeof tail, "_%d_%d", t.column, t.row);
  const size_t length = strlen(name), cut = strlen(tail);
  if (length > cut && !strcmp(name + length - cut, tail)) name[length - cut] = '\0';
}

/* %name = aie.buffer(%tile) {sym_name = "name"} : memref<..> */
void xd_read_buffer(xd_reader *r, xd_slice result) {
  const int line = r->token.line;
  xd_buffer b = {.bytes = 0};
  xd_value value = {.name = result, .kind = XD_BUFFER_VALUE, .index = -1};
  xd_attributes a;
  xd_read_expect(r, '(');
  const xd_value *tile = xd_value_named(r, xd_read_value_name(r), line);
  if (tile && (tile->kind != XD_TILE_VALUE || xd_kind_of(tile->place) == XD_SHIM))
    xd_read_fail(r, line, "%%%s is not a tile with memory", xd_read_excerpt(tile->name).text);
  if (tile) b.tile = value.place = tile->place;
  xd_read_expect(r, ')');
  xd_read_attributes(r, &a);
  const xd_slice symbol = xd_attribute_text(r, &a, "sym_name");
  xd_attribute_true(r, &a, "use_write_rtp");
  b.placed = xd_attribute_number(r, &a, "address", -1) + 1;
  xd_attribute_number(r, &a, "mem_bank", 0);
  xd_attributes_end(r, &a, "aie.buffer");
  xd_read_expect(r, ':');
  value.shape = xd_read_type(r);
  if (xd_going(r) && !value.shape.is_memref) xd_read_fail(r, line, "a buffer's type must be a memref");
  if (xd_going(r) && xd_read_take(r, '=')) b.initial = xd_read_dense(r, &value.shape);
  if (!xd_going(r)) {
    free(b.initial);
    return;
  }
  xd_name_local(result, b.tile, b.name);
  b.bytes = value.shape.bytes;
  b.type = xd_shape_type(&value.shape);
  xd_note_line(r, b.name, line);
  if (xd_kind_of(b.tile) == XD_COMPUTE) {
    value.index = xd_own_port(&r->design->program, b.tile, b.name, b.bytes);
    value.number = (int64_t)r->design->program.buffers.n - 1;
    if (!r->design->program.failed) r->design->program.buffers.at[value.number] = b;
  } else {
    value.number = XD_ADD(&r->design->program, buffers, &b);
  }
  const xd_port_note none = {0};
  while (r->ports.n < r->design->program.ports.n && !r->failed) xd_append(&r->ports, sizeof none, &none, &r->failed);
  const xd_symbol_note note = {symbol.length ? symbol : result, (int)value.number};
  xd_append(&r->symbols, sizeof note, &note, &r->failed);
  xd_define(r, value);
}

/* memref.global "public" @name : memref<..>: left by object FIFOs when mlir-aie lowers them */
static void skip_global(xd_reader *r) {
  if (xd_read_at_kind(r, XD_TOKEN_STRING)) xd_read_next(r);
  xd_read_take_word(r, "constant");
  xd_read_symbol(r);
  xd_read_expect(r, ':');
  const xd_shape shape = xd_read_type(r);
  if (xd_read_take(r, '='))
    free(xd_read_dense(r, &shape)); /* constants that are written by register writes, which are rejected */
}

/* aie.trace @name(%tile) { ... }: which core it is of; the simulation records all of them. */
static void read_trace(xd_reader *r) {
  xd_read_next(r);
  if (xd_read_at_kind(r, XD_TOKEN_SYMBOL)) xd_read_symbol(r);
  if (xd_read_take(r, '(')) {
    const xd_value *tile = xd_value_named(r, xd_read_value_name(r), r->token.line);
    for (size_t i = 0; tile && i < r->design->program.cores.n; i++)
      if (tile->kind == XD_TILE_VALUE && xd_same_place(r->design->program.cores.at[i].tile, tile->place))
        r->design->program.cores.at[i].traced = true;
  }
  while (xd_going(r) && !xd_read_at(r, '{') && !xd_read_at_kind(r, XD_TOKEN_END)) xd_read_next(r);
  xd_skip_region(r);
  r->design->skipped++;
}

/* Reads an op of the explicit form; false: it is not one of these ops. */
static bool read_explicit(xd_reader *r) {
  const int line = r->token.line;
  if (xd_read_take_word(r, "aie.flow"))
    xd_read_flow(r);
  else if (xd_read_take_word(r, "aie.mem"))
    xd_read_dma(r, XD_COMPUTE);
  else if (xd_read_take_word(r, "aie.memtile_dma"))
    xd_read_dma(r, XD_MEMORY);
  else
    return false;
  r->explicit_line = line;
  return true;
}

static void read_op(xd_reader *r) {
  const int line = r->token.line;
  xd_slice op;
  const xd_slice result = xd_read_result(r, &op);
  if (read_explicit(r)) return;
  if (xd_read_take_word(r, "aie.tile"))
    read_tile(r, result);
  else if (xd_read_take_word(r, "aie.logical_tile"))
    xd_read_logical_tile(r, result);
  else if (xd_read_take_word(r, "func.func"))
    read_declaration(r);
  else if (xd_read_take_word(r, "aie.objectfifo"))
    xd_read_fifo(r);
  else if (xd_read_take_word(r, "aie.objectfifo.link"))
    xd_read_link(r);
  else if (xd_read_take_word(r, "aie.buffer"))
    xd_read_buffer(r, result);
  else if (xd_read_take_word(r, "aie.core"))
    xd_read_core(r, result);
  else if (xd_read_take_word(r, "aie.runtime_sequence") || xd_read_take_word(r, "aiex.runtime_sequence"))
    xd_read_sequence(r);
  else if (xd_read_take_word(r, "aie.shim_dma_allocation"))
    xd_read_allocation(r);
  else if (xd_read_take_word(r, "aie.lock"))
    xd_read_lock(r, result);
  else if (xd_read_at_word(r, "aie.trace") || xd_read_at_word(r, "aie.trace.config"))
    read_trace(r);
  else if (xd_read_take_word(r, "aie.packet_flow"))
    xd_read_packet_flow(r);
  else if (xd_read_take_word(r, "memref.global"))
    skip_global(r);
  else if (xd_read_take_word(r, "arith.constant"))
    xd_read_constant(r, result);
  else if (!xd_read_take_word(r, "aie.end"))
    xd_read_fail(r, line, "unsupported operation '%s' in a device", xd_read_excerpt(op).text);
}

/* ---- the device ---- */

/* npu1: 4 columns; npu2: all columns of the machine; npuN_Mcol: M columns. */
static void set_device(xd_reader *r, xd_slice name, int line) {
  const int all = xd_slice_is((xd_slice){name.at, name.length < 4 ? name.length : 4}, "npu1") ? 4 : r->config->columns;
  const bool is_npu = name.length >= 4 && !memcmp(name.at, "npu", 3) && (name.at[3] == '1' || name.at[3] == '2');
  if (xd_slice_is(name, "npu")) { /* the name of npu1 when it was the only one */
    r->is_aie2 = true;
    r->columns = 4;
    snprintf(r->design->device, sizeof r->design->device, "npu1");
    return;
  }
  r->is_aie2 = is_npu && name.at[3] == '1';
  r->columns = all;
  snprintf(r->design->device, sizeof r->design->device, "%.*s", (int)(name.length < 15 ? name.length : 15), name.at);
  if (is_npu && name.length == 4) return;
  if (is_npu && name.length == 9 && name.at[4] == '_' && isdigit((unsigned char)name.at[5]) &&
      !memcmp(name.at + 6, "col", 3)) {
    r->columns = name.at[5] - '0';
    if (r->columns >= 1 && r->columns <= all) return;
  }
  xd_read_fail(r, line, "unsupported device '%s'; expected npu1, npu2 or npuN_Mcol", xd_read_excerpt(name).text);
}

static void read_device(xd_reader *r) {
  xd_read_expect_word(r, "aie.device");
  xd_read_expect(r, '(');
  const xd_slice name = {r->token.at, r->token.length};
  if (xd_read_at_kind(r, XD_TOKEN_WORD))
    set_device(r, name, r->token.line);
  else
    xd_read_fail(r, r->token.line, "expected a device's name");
  xd_read_next(r);
  xd_read_expect(r, ')');
  if (xd_read_at_kind(r, XD_TOKEN_SYMBOL)) xd_read_symbol(r);
  xd_read_expect(r, '{');
  xd_place_tiles(r);
  while (xd_going(r) && !xd_read_at(r, '}')) {
    if (xd_read_at_kind(r, XD_TOKEN_END))
      xd_read_fail(r, r->token.line, "the text ends within the device: } is missing");
    read_op(r);
  }
  xd_read_expect(r, '}');
  xd_attributes a;
  xd_read_attributes(r, &a); /* its name */
}

static void read_module(xd_reader *r) {
  xd_read_next(r);
  const bool is_module = xd_read_take_word(r, "module");
  if (is_module && xd_read_at_kind(r, XD_TOKEN_SYMBOL)) xd_read_symbol(r);
  if (is_module) xd_read_expect(r, '{');
  read_device(r);
  while (xd_read_at_word(r, "aie.device") && r->design->runs && r->options.raw) { /* the first one runs */
    while (xd_going(r) && !xd_read_at(r, '{')) xd_read_next(r);
    xd_skip_region(r);
    r->design->devices++;
  }
  if (xd_read_at_word(r, "aie.device")) xd_read_fail(r, r->token.line, "unsupported second device; expected one");
  if (is_module) xd_read_expect(r, '}');
  if (xd_going(r) && !xd_read_at_kind(r, XD_TOKEN_END))
    xd_read_fail(r, r->token.line, "unexpected text after the end of the module: \"%s\"",
                 xd_read_excerpt((xd_slice){r->token.at, r->token.length}).text);
}

tw_status xd_mlir_read(const xd_config *c, const char *text, const xd_mlir_options *options, xd_mlir_design *out,
                       tw_error *error) {
  *out = (xd_mlir_design){0};
  xd_reader r = {.config = c, .options = *options, .design = out, .lexer = {text, 1}, .error = error};
  xd_read_hints(&r, text);
  out->program.raw = options->raw;
  read_module(&r);
  xd_read_finish(&r);
  if (r.failed && r.status == TW_OK) r.status = tw_no_memory(error, NULL);
  free(r.values.at);
  free(r.declarations.at);
  free(r.logical.at);
  free(r.fifos.at);
  free(r.tasks.at);
  free(r.configured.at);
  free(r.ports.at);
  free(r.allocations.at);
  free(r.parameters.at);
  free(r.symbols.at);
  free(r.ops.at);
  free(r.hints.at);
  free(r.register_bds.at);
  free(r.lock_numbers.at);
  free(r.descriptor_lines.at);
  if (r.status != TW_OK) xd_mlir_free(out);
  return r.status;
}
