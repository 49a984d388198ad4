/* passes.c - functions that pass once over a buffer: clearing, narrowing, rounding to bfp16, unpacking weights. The
 * functions are in kernels/zero.cc.in and similar files. */
#include <string.h>

#include "target/xdna2/aie/writer.h"
#include "target/xdna2/array/kernel.h"
#include "target/xdna2/array/symbol.h"

enum { AREA = 64, VECTOR = 64 };

static tw_status write_filled(const xd_call *c, const char *file, tw_slots *s, tw_text *t, tw_error *error) {
  tw_slots_text(s, "name", xd_symbol_of(c).text);
  const tw_status status = tw_template_add(t, file, s, error);
  tw_slots_free(s);
  return status;
}

tw_status xd_write_zero(const xd_call *c, tw_text *t, tw_error *error) {
  tw_slots s = {0};
  tw_slots_number(&s, "bytes", c->n);
  tw_slots_number_or_empty(&s, "vectors", c->n / VECTOR);
  tw_slots_number_or_empty(&s, "words", c->n % VECTOR / 4);
  return write_filled(c, "xdna2/kernels/zero.cc.in", &s, t, error);
}

tw_status xd_write_narrow(const xd_call *c, tw_text *t, tw_error *error) {
  tw_slots s = {0};
  const char *name = c->function->name;
  const bool real = !strcmp(name, "narrow_bf16");
  tw_slots_text(&s, "type", real ? "bfloat16" : !strcmp(name, "narrow_i8") ? "int8" : "int16");
  tw_slots_text(&s, "sum", real ? "float" : "int32");
  tw_slots_text(&s, "accumulator", real ? "accfloat" : "acc32");
  tw_slots_flag(&s, "shifts", !real);
  tw_slots_number(&s, "shift", c->shift);
  tw_slots_text(&s, "rounding", xd_rounding_name(c));
  tw_slots_number(&s, "vectors", c->m * c->n / AREA);
  return write_filled(c, "xdna2/kernels/narrow.cc.in", &s, t, error);
}

tw_status xd_write_round(const xd_call *c, tw_text *t, tw_error *error) {
  const int blocks = c->m * c->n / AREA;
  tw_slots s = {0};
  tw_slots_number(&s, "blocks", blocks);
  tw_slots_number(&s, "half", blocks / 2);
  tw_slots_number(&s, "tail", c->m * c->n / 8);
  tw_slots_text(&s, "rounding", xd_rounding_name(c));
  return write_filled(c, "xdna2/kernels/round.cc.in", &s, t, error);
}

static tw_status write_scaled(const xd_call *c, tw_text *t, tw_error *error) {
  enum { SIDE = 8, PACKED = 72 };
  tw_slots s = {0};
  tw_slots_text(&s, "rounding", xd_rounding_name(c));
  tw_slots_number(&s, "codes", c->k * c->n / 2);
  tw_slots_number(&s, "wide", c->n / SIDE);
  tw_slots_number(&s, "pairs", c->k / XD_SCALE_DEPTH);
  tw_slots_number(&s, "columns", c->cover.columns);
  tw_slots_number(&s, "deep_columns", c->k / SIDE * c->cover.columns);
  tw_slots_number(&s, "next", PACKED * c->cover.columns);
  return write_filled(c, "xdna2/kernels/scaled.cc.in", &s, t, error);
}

tw_status xd_write_unpack(const xd_call *c, tw_text *t, tw_error *error) {
  if (!strcmp(c->function->name, "unpack_i4_bfp16")) return write_scaled(c, t, error);
  enum { BLOCK = 8, DEEP = 32 };
  const int row = c->n / BLOCK * AREA;
  tw_slots s = {0};
  tw_slots_flag(&s, "to_i4", !strcmp(c->function->name, "unpack_i4"));
  tw_slots_number(&s, "codes", XD_UNPACK_CODES);
  tw_slots_number(&s, "vectors", c->k * c->n / XD_UNPACK_CODES);
  tw_slots_number(&s, "bands", c->k / DEEP);
  tw_slots_number(&s, "blocks", c->n / BLOCK);
  tw_slots_number(&s, "row", row);
  tw_slots_number(&s, "two_rows", 2 * row);
  tw_slots_number(&s, "three_rows", 3 * row);
  return write_filled(c, "xdna2/kernels/unpack.cc.in", &s, t, error);
}
