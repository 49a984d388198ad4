/* npy.c - the header of a .npy file: magic, version, length, and a Python dictionary of three entries.
 *
 *   \x93NUMPY 1 0 <u16 length> {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } blanks \n  data
 *
 * Versions 2 and 3 have a u32 length. Only the Python syntax that NumPy writes is supported: strings without escapes,
 * True, False, tuples of whole numbers. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "tensors/tensor_file.h"

enum { PREFIX_1 = 10, PREFIX_2 = 12, ALIGNMENT = 64 };

static tw_status malformed(const char *path, const char *what, tw_error *error) {
  return tw_fail(error, TW_USAGE, "'%s' is not a valid .npy file: %s", path, what);
}

tw_status npy_header_bytes(const uint8_t *data, size_t available, const char *path, uint64_t size, size_t *bytes,
                           tw_error *error) {
  if (available < PREFIX_1) return malformed(path, "the file ends within its header", error);
  int version = data[6];
  if (version < 1 || version > 3) return malformed(path, "its version is not 1, 2 or 3", error);
  if (version > 1 && available < PREFIX_2) return malformed(path, "the file ends within its header", error);
  size_t length = data[8] | (size_t)data[9] << 8;
  if (version > 1) length |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
  if (length > NPY_HEADER_MAX) return malformed(path, "its header is longer than 1 MiB", error);
  *bytes = length + (version > 1 ? PREFIX_2 : PREFIX_1);
  return *bytes > size ? malformed(path, "the file ends within its header", error) : TW_OK;
}

/* ---- the dictionary ---- */

typedef struct reader {
  const char *at, *end;
} reader;

static void skip_blanks(reader *r) {
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t')) r->at++;
}

static bool skip(reader *r, char c) {
  skip_blanks(r);
  if (r->at == r->end || *r->at != c) return false;
  r->at++;
  return true;
}

static bool skip_word(reader *r, const char *word) {
  size_t length = strlen(word);
  skip_blanks(r);
  if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0) return false;
  r->at += length;
  return true;
}

static bool read_string(reader *r, char *to, size_t room) {
  char quote = skip(r, '\'') ? '\'' : '"';
  if (quote == '"' && !skip(r, '"')) return false;
  size_t n = 0;
  while (r->at < r->end && *r->at != quote && *r->at != '\\' && n + 1 < room) to[n++] = *r->at++;
  to[n] = '\0';
  return r->at < r->end && *r->at++ == quote;
}

static bool read_number(reader *r, uint64_t *out) {
  skip_blanks(r);
  const char *start = r->at;
  *out = 0;
  for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
    if (__builtin_mul_overflow(*out, UINT64_C(10), out) || __builtin_add_overflow(*out, (uint64_t)(*r->at - '0'), out))
      return false;
  }
  return r->at > start;
}

static bool read_shape(reader *r, tensor *t) {
  if (!skip(r, '(')) return false;
  while (!skip(r, ')')) {
    if (t->rank == TENSOR_RANK_MAX || !read_number(r, &t->shape[t->rank])) return false;
    t->rank++;
    if (skip(r, ',')) continue;
    return skip(r, ')') && t->rank > 1; /* (3) is a number, not a tuple */
  }
  return true;
}

static const struct {
  const char *descr;
  tensor_dtype type;
} dtypes[] = {
    {"<f8", DTYPE_F64}, {"<f4", DTYPE_F32}, {"<f2", DTYPE_F16}, {"<i8", DTYPE_I64},
    {"<i4", DTYPE_I32}, {"<i2", DTYPE_I16}, {"|i1", DTYPE_I8},  {"<u8", DTYPE_U64},
    {"<u4", DTYPE_U32}, {"<u2", DTYPE_U16}, {"|u1", DTYPE_U8},  {"|b1", DTYPE_BOOL},
};
enum { N_DTYPES = sizeof dtypes / sizeof *dtypes };

/* The error, or NULL. */
static const char *read_dictionary(reader *r, tensor *t) {
  char key[20], descr[20] = "";
  bool has_order = false, has_shape = false, fortran = false;
  if (!skip(r, '{')) return "its header is no dictionary";
  while (!skip(r, '}')) {
    if (!read_string(r, key, sizeof key) || !skip(r, ':')) return "its header is malformed";
    if (strcmp(key, "descr") == 0 && !*descr) {
      if (skip(r, '[')) return "it holds records; expected numbers";
      if (!read_string(r, descr, sizeof descr)) return "its 'descr' is malformed";
    } else if (strcmp(key, "fortran_order") == 0 && !has_order) {
      fortran = skip_word(r, "True");
      if (!fortran && !skip_word(r, "False")) return "its 'fortran_order' is neither True nor False";
      has_order = true;
    } else if (strcmp(key, "shape") == 0 && !has_shape) {
      if (!read_shape(r, t)) return "its 'shape' is no tuple of at most 32 whole numbers";
      has_shape = true;
    } else {
      return "its header has an unknown or repeated entry";
    }
    if (!skip(r, ',') && !(r->at < r->end && *r->at == '}')) return "its header is malformed";
  }
  skip_blanks(r);
  if (r->at < r->end) return "its header goes on after the dictionary";
  if (!*descr || !has_order || !has_shape) return "its header lacks 'descr', 'fortran_order' or 'shape'";
  if (fortran && t->rank > 1) return "it is in Fortran's order; save it with numpy.ascontiguousarray";
  if (*descr == '>') return "it is big-endian; save it with astype(a.dtype.newbyteorder('<'))";
  for (size_t i = 0; i < N_DTYPES; i++) {
    if (strcmp(dtypes[i].descr, descr) != 0) continue;
    tensor_set_dtype(t, dtypes[i].type);
    return NULL;
  }
  return "its type of numbers is not known here";
}

tw_status npy_parse(const uint8_t *data, size_t bytes, tensor_file *f, tw_error *error) {
  size_t prefix = data[6] > 1 ? PREFIX_2 : PREFIX_1;
  reader r = {(const char *)data + prefix, (const char *)data + bytes};
  uint64_t values, expected;
  tensor t = {.offset = bytes, .bytes = f->size - bytes};
  const char *wrong = read_dictionary(&r, &t);
  if (wrong) return malformed(f->path, wrong, error);
  if (!shape_values(t.rank, t.shape, &values) || __builtin_mul_overflow(values, dtype_bytes(t.dtype), &expected))
    return malformed(f->path, "its shape is too large", error);
  if (expected != t.bytes)
    return tw_fail(error, TW_USAGE,
                   "'%s' is not a valid .npy file: its shape needs %" PRIu64 " bytes of data, it has %" PRIu64, f->path,
                   expected, t.bytes);
  f->tensor = tw_new(1, sizeof *f->tensor);
  t.name = strdup("array");
  if (!f->tensor || !t.name) {
    free(t.name);
    return tw_fail(error, TW_NO_MEMORY, "out of memory for the header of '%s'", f->path);
  }
  f->tensor[0] = t;
  f->n = 1;
  return TW_OK;
}

/* ---- writing ---- */

bool npy_has(tensor_dtype type) {
  for (size_t i = 0; i < N_DTYPES; i++)
    if (dtypes[i].type == type) return true;
  return false;
}

char *npy_header(tensor *t, size_t *header_bytes, uint64_t *size) {
  tw_text dictionary = {0}, all = {0};
  const char *descr = "<f4";
  for (size_t i = 0; i < N_DTYPES; i++) {
    if (dtypes[i].type == t->dtype) descr = dtypes[i].descr;
  }
  tw_text_add(&dictionary, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
  for (int i = 0; i < t->rank; i++)
    tw_text_add(&dictionary, "%" PRIu64 "%s", t->shape[i], t->rank == 1 ? "," : i + 1 < t->rank ? ", " : "");
  tw_text_add(&dictionary, "), }");
  size_t padding = ALIGNMENT - (PREFIX_1 + dictionary.length + 1) % ALIGNMENT;
  size_t length = dictionary.length + padding % ALIGNMENT + 1;
  uint8_t prefix[PREFIX_1] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)length, (uint8_t)(length >> 8)};
  tw_text_add_bytes(&all, prefix, sizeof prefix);
  char *text = tw_text_take(&dictionary);
  tw_text_add(&all, "%s%*s\n", text ? text : "", (int)(padding % ALIGNMENT), "");
  if (!text) all.failed = true;
  free(text);
  *header_bytes = all.length;
  t->offset = all.length;
  *size = all.length + t->bytes;
  return tw_text_take(&all);
}
