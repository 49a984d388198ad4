/* metadata.c - the note NT_AMDGPU_METADATA: MessagePack (github.com/msgpack/msgpack, spec.md), read without building a
 * tree: maps are walked, unused keys are skipped, and nesting is bounded. */
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/cdna/object/object.h"

enum { DEPTH_MAX = 16 };

typedef struct reader {
  const uint8_t *at, *end;
  bool bad;
} reader;

typedef enum item_kind { NIL, BOOL, INTEGER, TEXT, ARRAY, MAP, OTHER } item_kind;

typedef struct item {
  item_kind kind;
  /* value of an integer or bool; number of elements of an array, of pairs of a map, of bytes of a string */
  uint64_t value;
  const char *text;
} item;

static uint64_t read_integer(reader *r, int bytes) {
  if (r->end - r->at < bytes) {
    r->bad = true;
    return 0;
  }
  uint64_t value = 0;
  for (int i = 0; i < bytes; i++) value = value << 8 | *r->at++;
  return value;
}

static item take_text(reader *r, item_kind kind, uint64_t length) {
  item i = {kind, length, (const char *)r->at};
  if ((uint64_t)(r->end - r->at) < length)
    r->bad = true;
  else
    r->at += length;
  return i;
}

/* An array or map has at least one byte for each element, so a larger count is invalid. */
static item counted(reader *r, item_kind kind, uint64_t count) {
  if (count > (uint64_t)(r->end - r->at)) r->bad = true;
  return (item){kind, count, NULL};
}

static item next(reader *r) {
  const uint8_t b = (uint8_t)read_integer(r, 1);
  if (r->bad) return (item){NIL, 0, NULL};
  if (b <= 0x7F) return (item){INTEGER, b, NULL};
  if (b <= 0x8F) return counted(r, MAP, b & 15);
  if (b <= 0x9F) return counted(r, ARRAY, b & 15);
  if (b <= 0xBF) return take_text(r, TEXT, b & 31);
  if (b >= 0xE0) return (item){INTEGER, (uint64_t)(int64_t)(int8_t)b, NULL};
  switch (b) {
  case 0xC0: return (item){NIL, 0, NULL};
  case 0xC2:
  case 0xC3: return (item){BOOL, b & 1, NULL};
  case 0xC4:
  case 0xC5:
  case 0xC6: return take_text(r, OTHER, read_integer(r, 1 << (b - 0xC4)));
  case 0xC7:
  case 0xC8:
  case 0xC9: return take_text(r, OTHER, read_integer(r, 1 << (b - 0xC7)) + 1);
  case 0xCA: return (item){OTHER, read_integer(r, 4), NULL};
  case 0xCB: return (item){OTHER, read_integer(r, 8), NULL};
  case 0xCC:
  case 0xCD:
  case 0xCE:
  case 0xCF: return (item){INTEGER, read_integer(r, 1 << (b - 0xCC)), NULL};
  case 0xD0: return (item){INTEGER, (uint64_t)(int64_t)(int8_t)read_integer(r, 1), NULL};
  case 0xD1: return (item){INTEGER, (uint64_t)(int64_t)(int16_t)read_integer(r, 2), NULL};
  case 0xD2: return (item){INTEGER, (uint64_t)(int64_t)(int32_t)read_integer(r, 4), NULL};
  case 0xD3: return (item){INTEGER, read_integer(r, 8), NULL};
  case 0xD4:
  case 0xD5:
  case 0xD6:
  case 0xD7:
  case 0xD8: return take_text(r, OTHER, 1 + (1u << (b - 0xD4)));
  case 0xD9:
  case 0xDA:
  case 0xDB: return take_text(r, TEXT, read_integer(r, 1 << (b - 0xD9)));
  case 0xDC:
  case 0xDD: return counted(r, ARRAY, read_integer(r, 2 << (b - 0xDC)));
  case 0xDE:
  case 0xDF: return counted(r, MAP, read_integer(r, 2 << (b - 0xDE)));
  default: r->bad = true; return (item){NIL, 0, NULL};
  }
}

static void skip(reader *r, int depth) {
  if (depth > DEPTH_MAX) r->bad = true;
  const item i = r->bad ? (item){NIL, 0, NULL} : next(r);
  const uint64_t n = i.kind == MAP ? 2 * i.value : i.kind == ARRAY ? i.value : 0;
  for (uint64_t k = 0; k < n && !r->bad; k++) skip(r, depth + 1);
}

static bool is(item i, const char *text) {
  return i.kind == TEXT && i.value == strlen(text) && !memcmp(i.text, text, i.value);
}

/* The next item if it is of the kind. Otherwise skips it, and marks the note as invalid. */
static item expect(reader *r, item_kind kind) {
  const item i = next(r);
  if (i.kind != kind) r->bad = true;
  return i;
}

static void read_parameter(reader *r, cdna_parameter *p) {
  const item map = expect(r, MAP);
  for (uint64_t k = 0; k < map.value && !r->bad; k++) {
    const item key = next(r);
    if (is(key, ".offset"))
      p->offset = (uint32_t)expect(r, INTEGER).value;
    else if (is(key, ".size"))
      p->size = (uint32_t)expect(r, INTEGER).value;
    else if (is(key, ".name")) {
      const item name = expect(r, TEXT);
      p->name = name.text;
      p->name_length = r->bad ? 0 : (size_t)name.value;
    } else if (is(key, ".value_kind")) {
      const item kind = expect(r, TEXT);
      if (!r->bad && kind.value < CDNA_VALUE_KIND) memcpy(p->kind, kind.text, kind.value);
    } else
      skip(r, 0);
  }
}

static void read_parameters(reader *r, cdna_kernel *k) {
  const item list = expect(r, ARRAY);
  if (r->bad || list.value > CDNA_ARGUMENTS_MAX) {
    r->bad = true;
    return;
  }
  k->parameter = tw_new(list.value + 1, sizeof *k->parameter);
  if (!k->parameter) return;
  for (; k->n_parameters < list.value && !r->bad; k->n_parameters++) read_parameter(r, &k->parameter[k->n_parameters]);
}

static cdna_kernel *kernel_of_symbol(cdna_object *o, item symbol) {
  if (symbol.kind != TEXT || symbol.value < 4 || memcmp(symbol.text + symbol.value - 3, ".kd", 3)) return NULL;
  for (size_t i = 0; i < o->n_kernels; i++)
    if (strlen(o->kernel[i].name) == symbol.value - 3 && !memcmp(o->kernel[i].name, symbol.text, symbol.value - 3))
      return &o->kernel[i];
  return NULL;
}

static void read_kernel(reader *r, cdna_object *o) {
  cdna_kernel found = {0};
  item symbol = {NIL, 0, NULL};
  const item map = expect(r, MAP);
  for (uint64_t k = 0; k < map.value && !r->bad; k++) {
    const item key = next(r);
    if (is(key, ".symbol"))
      symbol = next(r);
    else if (is(key, ".args") && !found.parameter)
      read_parameters(r, &found);
    else if (is(key, ".max_flat_workgroup_size"))
      found.block_max = (uint32_t)expect(r, INTEGER).value;
    else if (is(key, ".uses_dynamic_stack"))
      found.dynamic_stack = expect(r, BOOL).value;
    else
      skip(r, 0);
  }
  cdna_kernel *k = r->bad ? NULL : kernel_of_symbol(o, symbol);
  if (!k || k->has_metadata) {
    free(found.parameter);
    return;
  }
  k->has_metadata = true;
  k->block_max = found.block_max;
  k->dynamic_stack = found.dynamic_stack;
  k->parameter = found.parameter;
  k->n_parameters = found.n_parameters;
}

static void read_prints(reader *r, cdna_object *o) {
  const item list = expect(r, ARRAY);
  if (o->print || r->bad || !(o->print = tw_new((size_t)list.value + 1, sizeof *o->print))) r->bad = true;
  for (uint64_t i = 0; i < list.value && !r->bad; i++) {
    const item text = expect(r, TEXT);
    if (!r->bad && (o->print[o->n_prints] = strndup(text.text, (size_t)text.value))) o->n_prints++;
  }
}

tw_status cdna_metadata_read(const uint8_t *note, size_t size, const char *name, cdna_object *o, tw_error *error) {
  reader r = {note, note + size, false};
  const item map = expect(&r, MAP);
  for (uint64_t k = 0; k < map.value && !r.bad; k++) {
    const item key = next(&r);
    if (is(key, "amdhsa.printf")) {
      read_prints(&r, o);
      continue;
    }
    if (!is(key, "amdhsa.kernels")) {
      skip(&r, 0);
      continue;
    }
    const item list = expect(&r, ARRAY);
    for (uint64_t i = 0; i < list.value && !r.bad; i++) read_kernel(&r, o);
  }
  if (r.bad)
    return tw_fail(error, TW_USAGE, "%s: the metadata note is damaged at its byte %zu", name, (size_t)(r.at - note));
  return TW_OK;
}
