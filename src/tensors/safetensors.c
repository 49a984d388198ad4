/* safetensors.c - the header of a .safetensors file: a u64 length, then JSON:
 *
 *   {"__metadata__": {"key": "text"}, "name": {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]}, ...}
 *
 * Offsets count from the end of the header. As the format demands, tensors must cover the data without gap or overlap,
 * and the header must begin with '{' and be at most 100 MB. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "tensors/tensor_file.h"

enum { PREFIX = 8, ALIGNMENT = 8 };

tw_status safetensors_header_bytes(const uint8_t *data, size_t available, const char *path, uint64_t size,
                                   size_t *bytes, tw_error *error) {
  uint64_t length = 0;
  if (available < PREFIX + 2)
    return tw_fail(error, TW_USAGE, "'%s' is neither a .npy nor a .safetensors file: it is too short", path);
  for (int i = 0; i < PREFIX; i++) length |= (uint64_t)data[i] << 8 * i;
  if (data[PREFIX] != '{' || length < 2)
    return tw_fail(error, TW_USAGE, "'%s' is neither a .npy nor a .safetensors file", path);
  if (length > HEADER_MAX)
    return tw_fail(error, TW_USAGE, "'%s' is not a valid .safetensors file: its header is longer than 100 MB", path);
  if (length > size - PREFIX)
    return tw_fail(error, TW_USAGE, "'%s' is not a valid .safetensors file: the file ends within its header", path);
  *bytes = (size_t)length + PREFIX;
  return TW_OK;
}

/* A name in an error: characters that are not plain text become '?', and long names end in "...". */
static const char *shown(const char *name, char buffer[64]) {
  size_t n = 0;
  for (; n < 60 && name[n]; n++) buffer[n] = name[n] >= ' ' && name[n] < 127 ? name[n] : '?';
  snprintf(buffer + n, 64 - n, "%s", name[n] ? "..." : "");
  return buffer;
}

static tw_status wrong_tensor(const tensor_file *f, const char *name, const char *what, tw_error *error) {
  char buffer[64];
  return tw_fail(error, TW_USAGE, "'%s' is not a valid .safetensors file: tensor '%s' %s", f->path, shown(name, buffer),
                 what);
}

static bool is_count(const json_t *j) { return json_is_integer(j) && json_integer_value(j) >= 0; }

/* data_begin: offset of the data in the file. */
static tw_status parse_tensor(const tensor_file *f, const char *name, const json_t *entry, uint64_t data_begin,
                              tensor *t, tw_error *error) {
  const json_t *dtype = json_object_get(entry, "dtype"), *shape = json_object_get(entry, "shape");
  const json_t *offsets = json_object_get(entry, "data_offsets");
  uint64_t values, expected;
  if (!json_is_string(dtype) || strlen(json_string_value(dtype)) >= sizeof t->dtype_name)
    return wrong_tensor(f, name, "has no dtype", error);
  snprintf(t->dtype_name, sizeof t->dtype_name, "%s", json_string_value(dtype));
  t->dtype = dtype_named(t->dtype_name);
  if (!json_is_array(shape) || json_array_size(shape) > TENSOR_RANK_MAX)
    return wrong_tensor(f, name, "has no shape of at most 32 sizes", error);
  for (; t->rank < (int)json_array_size(shape); t->rank++) {
    const json_t *size = json_array_get(shape, (size_t)t->rank);
    if (!is_count(size)) return wrong_tensor(f, name, "has a size that is not a whole number", error);
    t->shape[t->rank] = (uint64_t)json_integer_value(size);
  }
  const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
  if (json_array_size(offsets) != 2 || !is_count(begin) || !is_count(end))
    return wrong_tensor(f, name, "does not have two data_offsets", error);
  uint64_t from = (uint64_t)json_integer_value(begin), to = (uint64_t)json_integer_value(end);
  if (from > to || to > f->size - data_begin) return wrong_tensor(f, name, "extends past the end of the file", error);
  t->offset = data_begin + from;
  t->bytes = to - from;
  if (!shape_values(t->rank, t->shape, &values)) return wrong_tensor(f, name, "has too large a shape", error);
  if (t->dtype == DTYPE_OTHER) return TW_OK;
  if (__builtin_mul_overflow(values, dtype_bytes(t->dtype), &expected) || expected != t->bytes)
    return wrong_tensor(f, name, "has data_offsets that do not fit its shape", error);
  return TW_OK;
}

static int by_offset(const void *a, const void *b) {
  const tensor *s = a, *t = b;
  if (s->offset != t->offset) return s->offset < t->offset ? -1 : 1;
  return s->bytes < t->bytes ? -1 : s->bytes > t->bytes; /* empty ones first */
}

static tw_status parse_entries(const json_t *root, uint64_t data_begin, tensor_file *f, tw_error *error) {
  const char *name;
  json_t *entry;
  json_object_foreach((json_t *)(uintptr_t)root, name, entry) {
    if (strcmp(name, "__metadata__") == 0) continue;
    tensor t = {0};
    tw_status status = parse_tensor(f, name, entry, data_begin, &t, error);
    if (status != TW_OK) return status;
    t.name = strdup(name);
    if (!t.name) return tw_fail(error, TW_NO_MEMORY, "out of memory for the header of '%s'", f->path);
    f->tensor[f->n++] = t;
  }
  if (f->n) qsort(f->tensor, f->n, sizeof *f->tensor, by_offset);
  uint64_t until = data_begin;
  for (size_t i = 0; i < f->n; i++) {
    if (f->tensor[i].offset != until)
      return wrong_tensor(f, f->tensor[i].name, "does not begin at the end of the previous tensor", error);
    until += f->tensor[i].bytes;
  }
  if (until == f->size) return TW_OK;
  return tw_fail(error, TW_USAGE, "'%s' is not a valid .safetensors file: it has data that belong to no tensor",
                 f->path);
}

static tw_status parse_metadata(json_t *root, tensor_file *f, tw_error *error) {
  json_t *metadata = json_object_get(root, "__metadata__"), *value;
  const char *key;
  if (!metadata) return TW_OK;
  bool good = json_is_object(metadata);
  json_object_foreach(metadata, key, value) good &= json_is_string(value);
  if (!good)
    return tw_fail(error, TW_USAGE,
                   "'%s' is not a valid .safetensors file: its __metadata__ is not an object of strings", f->path);
  f->metadata = json_incref(metadata);
  return TW_OK;
}

tw_status safetensors_parse(const uint8_t *data, size_t bytes, tensor_file *f, tw_error *error) {
  json_error_t why;
  json_t *root = json_loadb((const char *)data + PREFIX, bytes - PREFIX, JSON_REJECT_DUPLICATES, &why);
  if (!json_is_object(root)) {
    json_decref(root);
    char buffer[64];
    return tw_fail(error, TW_USAGE, "'%s' is not a valid .safetensors file: %s in its header at byte %d", f->path,
                   root ? "no object" : shown(why.text, buffer), PREFIX + why.position);
  }
  f->tensor = tw_new(json_object_size(root) + 1, sizeof *f->tensor);
  tw_status status = f->tensor ? TW_OK : tw_fail(error, TW_NO_MEMORY, "out of memory for the header of '%s'", f->path);
  if (status == TW_OK) status = parse_metadata(root, f, error);
  if (status == TW_OK) status = parse_entries(root, bytes, f, error);
  json_decref(root);
  if (status != TW_OK) tensor_file_free(f);
  return status;
}

/* ---- writing ---- */

char *safetensors_header(tensor *t, size_t n, json_t *metadata, size_t *header_bytes, uint64_t *size) {
  json_t *root = json_object();
  uint64_t at = 0;
  if (metadata && json_object_size(metadata)) json_object_set(root, "__metadata__", metadata);
  for (size_t i = 0; i < n; i++) {
    json_t *shape = json_array();
    for (int d = 0; d < t[i].rank; d++) json_array_append_new(shape, json_integer((json_int_t)t[i].shape[d]));
    json_object_set_new(root, t[i].name,
                        json_pack("{s:s, s:o, s:[I, I]}", "dtype", t[i].dtype_name, "shape", shape, "data_offsets",
                                  (json_int_t)at, (json_int_t)(at + t[i].bytes)));
    t[i].offset = at;
    at += t[i].bytes;
  }
  char *json = json_dumps(root, JSON_COMPACT);
  json_decref(root);
  if (!json) return NULL;
  tw_text all = {0};
  size_t length = (strlen(json) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  uint8_t prefix[PREFIX];
  for (int i = 0; i < PREFIX; i++) prefix[i] = (uint8_t)((uint64_t)length >> 8 * i);
  tw_text_add_bytes(&all, prefix, PREFIX);
  tw_text_add_string(&all, json);
  while (!all.failed && all.length < PREFIX + length) tw_text_add_string(&all, " ");
  free(json);
  for (size_t i = 0; i < n; i++) t[i].offset += all.length;
  *header_bytes = all.length;
  *size = all.length + at;
  return tw_text_take(&all);
}
