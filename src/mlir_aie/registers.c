/* registers.c - register writes of a runtime sequence: descriptors of shims (aiex.npu.writebd, address_patch), their
 * task queues and words of buffers (write32). Addresses follow aie-rt (xaie2pgbl_params.h): in a shim, descriptor n
 * begins at 0x1D000 + 32 n, the queues of S2MM 0 and 1 and MM2S 0 and 1 are at 0x1D204 and every following 8 bytes.
 * Writes for events, timers and traces are ignored; other registers are rejected. */
#include <inttypes.h>
#include <string.h>

#include "mlir_aie/reader.h"

enum { DESCRIPTORS = 0x1D000, QUEUES = 0x1D204, DESCRIPTOR_BYTES = 0x20, COLUMN_BIT = 25, ROW_BIT = 20 };

/* True for registers of events, timers and traces of cores and memory tiles, and of the ports that they watch. */
static bool is_of_traces(int64_t address) {
  static const struct {
    int64_t from, to;
  } ranges[] = {{0x14000, 0x147FF}, {0x34000, 0x347FF}, {0x3FF00, 0x3FF07}, {0x94000, 0x947FF}, {0xB0F00, 0xB0F07}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    if (address >= ranges[i].from && address <= ranges[i].to) return true;
  return false;
}

/* ---- descriptors ---- */

static xd_register_bd *bd_of(xd_reader *r, int column, int id) {
  for (size_t i = 0; i < r->register_bds.n; i++)
    if (r->register_bds.at[i].column == column && r->register_bds.at[i].id == id) return &r->register_bds.at[i];
  const xd_register_bd added = {.column = column, .id = id, .argument = -1};
  const int at = xd_append(&r->register_bds, sizeof added, &added, &r->failed);
  return at < 0 ? NULL : &r->register_bds.at[at];
}

/* {bd_id, buffer_length, buffer_offset, column, row, d0_size, d0_stride, ...}: sizes in words, strides less one. */
void xd_read_writebd(xd_reader *r, int line) {
  xd_attributes a;
  xd_read_attributes(r, &a);
  const int64_t column = xd_attribute_number(r, &a, "column", 0), row = xd_attribute_number(r, &a, "row", 0),
                id = xd_attribute_number(r, &a, "bd_id", 0);
  if (xd_going(r) && (row || column < 0 || column >= r->columns || id < 0 || id > 15))
    xd_read_fail(r, line, "aiex.npu.writebd requires descriptors 0 to 15 of a shim");
  xd_register_bd *bd = xd_going(r) ? bd_of(r, (int)column, (int)id) : NULL;
  if (!bd) return;
  bd->line = line;
  bd->argument = (int)xd_attribute_number(r, &a, "ddr_id", -1);
  bd->words = xd_attribute_number(r, &a, "buffer_length", 0);
  bd->offset = xd_attribute_number(r, &a, "buffer_offset", 0);
  bd->size[0] = xd_attribute_number(r, &a, "d0_size", 0);
  bd->size[1] = xd_attribute_number(r, &a, "d1_size", 0);
  bd->stride[0] = xd_attribute_number(r, &a, "d0_stride", 0);
  bd->stride[1] = xd_attribute_number(r, &a, "d1_stride", 0);
  bd->stride[2] = xd_attribute_number(r, &a, "d2_stride", 0);
  bd->iterations = xd_attribute_number(r, &a, "iteration_size", 0);
  bd->iteration_stride = xd_attribute_number(r, &a, "iteration_stride", 0);
  if (xd_attribute_number(r, &a, "use_next_bd", 0)) xd_read_fail(r, line, "unsupported chain of aiex.npu.writebd");
}

/* [(%plus : i32)] {addr, arg_idx, arg_plus} */
void xd_read_address_patch(xd_reader *r, int line) {
  xd_attributes a;
  int64_t plus = 0;
  if (xd_read_take(r, '(')) {
    plus = xd_read_index(r, 0);
    if (xd_read_take(r, ':')) xd_read_type(r);
    xd_read_expect(r, ')');
  }
  xd_read_attributes(r, &a);
  const int64_t address = xd_attribute_number(r, &a, "addr", 0), argument = xd_attribute_number(r, &a, "arg_idx", 0);
  plus = xd_attribute_number(r, &a, "arg_plus", plus);
  const int64_t local = address & (((int64_t)1 << ROW_BIT) - 1), column = address >> COLUMN_BIT;
  if (xd_going(r) &&
      (local < DESCRIPTORS || local >= DESCRIPTORS + 16 * DESCRIPTOR_BYTES || column < 0 || column >= r->columns))
    xd_read_fail(r, line, "address 0x%" PRIx64 " is not a descriptor of a shim", address);
  xd_register_bd *bd = xd_going(r) ? bd_of(r, (int)column, (int)((local - DESCRIPTORS) / DESCRIPTOR_BYTES)) : NULL;
  if (!bd) return;
  bd->argument = (int)argument;
  bd->offset += plus;
}

/* ---- tasks ---- */

/* The external buffer that is this argument; -1: none. */
static int buffer_of(const xd_reader *r, int argument) {
  const xd_program *p = &r->design->program;
  for (size_t i = 0; i < p->buffers.n; i++)
    if (p->buffers.at[i].external && p->buffers.at[i].argument == argument) return (int)i;
  return -1;
}

/* A linear pattern, or the three dimensions in the fields. */
static xd_pattern pattern_of(const xd_register_bd *bd) {
  enum { WORD = 4 };
  xd_pattern p = xd_linear(bd->offset, bd->words * WORD);
  const int64_t row = bd->size[0], plane = bd->size[1];
  if (row < 1 || bd->words % row) return p;
  const bool packed = bd->stride[0] == 0;
  p.n_dims = 0;
  p.dim[p.n_dims++] = (xd_dim){packed ? row * WORD : WORD, 1, 0, 0};
  if (!packed) p.dim[p.n_dims++] = (xd_dim){row, (bd->stride[0] + 1) * WORD, 0, 0};
  const int64_t rows = bd->words / row;
  if (plane > 0 && rows % plane == 0) {
    p.dim[p.n_dims++] = (xd_dim){plane, (bd->stride[1] + 1) * WORD, 0, 0};
    if (rows / plane > 1 && p.n_dims < XD_DIMS)
      p.dim[p.n_dims++] = (xd_dim){rows / plane, (bd->stride[2] + 1) * WORD, 0, 0};
  } else if (rows > 1) {
    p.dim[p.n_dims++] = (xd_dim){rows, (bd->stride[1] + 1) * WORD, 0, 0};
  }
  return p;
}

/* Puts a descriptor's number, its repeats and whether it gives a token into a queue. */
static void push(xd_reader *r, int column, int64_t address, int64_t value, int line) {
  enum { WORD = 4 };
  const int queue = (int)(address - QUEUES) / 8, id = (int)(value & 15);
  const xd_register_bd *bd = bd_of(r, column, id);
  if (!bd) return;
  const int buffer = buffer_of(r, bd->argument);
  if (buffer < 0) { /* for a trace: an argument beyond the sequence's */
    r->design->skipped++;
    return;
  }
  if (!bd->words) xd_read_fail(r, line, "descriptor %d of the shim in column %d has not been written", id, column);
  const xd_pending t = {.kind = XD_START,
                        .line = line,
                        .fifo = -1,
                        .id = id,
                        .buffer = buffer,
                        .channel = {.tile = {column, 0}, .direction = queue < 2 ? XD_S2MM : XD_MM2S, .id = queue % 2},
                        .pattern = pattern_of(bd),
                        .iterations = bd->iterations > 0 ? bd->iterations + 1 : 1,
                        .stride = bd->iterations > 0 ? (bd->iteration_stride + 1) * WORD : 0,
                        .repeat = ((value >> 16) & 255) + 1,
                        .token = (value >> 31) & 1,
                        .of_register = true};
  xd_append(&r->tasks, sizeof t, &t, &r->failed);
}

/* {address, value, column, row}, or (%address, %value) {column, row} or {buffer = @name}: types */
void xd_read_write32(xd_reader *r, int line) {
  xd_attributes a;
  int64_t address = 0, value = 0;
  if (xd_read_take(r, '(')) {
    address = xd_read_index(r, 0);
    xd_read_expect(r, ',');
    const int at = r->token.line;
    const xd_value *v = xd_read_at_kind(r, XD_TOKEN_VALUE) ? xd_value_named(r, xd_read_value_name(r), at) : NULL;
    value = v ? v->number : xd_read_number(r, INT32_MIN, UINT32_MAX);
    xd_read_expect(r, ')');
  }
  xd_read_attributes(r, &a);
  address = xd_attribute_number(r, &a, "address", address);
  value = xd_attribute_number(r, &a, "value", value);
  const int64_t column = xd_attribute_number(r, &a, "column", address >> COLUMN_BIT),
                row = xd_attribute_number(r, &a, "row", (address >> ROW_BIT) & 31);
  const xd_slice buffer = xd_attribute_text(r, &a, "buffer");
  while (xd_read_take(r, ':') || xd_read_take(r, ',')) xd_read_type(r);
  const int64_t local = address & (((int64_t)1 << ROW_BIT) - 1);
  if (!xd_going(r)) return;
  if (buffer.length) { /* the address counts words of it */
    const xd_pending t = {
        .kind = XD_SET, .line = line, .fifo = -1, .metadata = buffer, .element = address, .value = value};
    xd_append(&r->tasks, sizeof t, &t, &r->failed);
  } else if (!row && local >= QUEUES && local < QUEUES + 32 && (local - QUEUES) % 8 == 0 && column >= 0 &&
             column < r->columns) {
    push(r, (int)column, local, value, line);
  } else if (is_of_traces(local)) {
    r->design->skipped++;
  } else {
    xd_read_fail(r, line,
                 "unsupported register 0x%" PRIx64 " of tile (%" PRId64 ", %" PRId64
                 "); expected the queue of a shim or a buffer",
                 local, column, row);
  }
}
