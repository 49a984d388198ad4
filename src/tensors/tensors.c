/* tensors.c - see tensors.h: the public API over tensor_file.h, plan.h's reading of metadata, and output_file.h. */
#include "tilewright/tensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "tensors/convert.h"
#include "tensors/output_file.h"
#include "tensors/tensor_file.h"

_Static_assert((int)TW_TENSOR_RANK_MAX == (int)TENSOR_RANK_MAX, "one limit");

struct tw_tensors {
  tensor_file file;
  char *path;
};

tw_status tw_tensors_open(const char *path, tw_tensors **out, tw_error *error) {
  tw_tensors *t = calloc(1, sizeof *t);
  if (t) t->path = strdup(path);
  tw_status status = t && t->path ? tensor_file_open(t->path, &t->file, error) : tw_no_memory(error, NULL);
  if (status == TW_OK) {
    *out = t;
    return TW_OK;
  }
  if (t) free(t->path);
  free(t);
  return status;
}

void tw_tensors_close(tw_tensors *t) {
  if (!t) return;
  tensor_file_close(&t->file);
  free(t->path);
  free(t);
}

bool tw_tensors_at(const tw_tensors *t, size_t index, tw_tensor *out) {
  if (index >= t->file.n) return false;
  const tensor *x = &t->file.tensor[index];
  *out = (tw_tensor){.name = t->file.is_npy ? "" : x->name, .dtype = x->dtype_name, .rank = x->rank, .bytes = x->bytes};
  memcpy(out->shape, x->shape, sizeof out->shape);
  return true;
}

/* The name of a .npy file's array is "". */
static const tensor *named(const tw_tensors *t, const char *name) {
  if (t->file.is_npy) return *name ? NULL : t->file.tensor;
  return tensor_named(&t->file, name);
}

bool tw_tensors_find(const tw_tensors *t, const char *name, tw_tensor *out) {
  const tensor *x = named(t, name);
  return x && tw_tensors_at(t, (size_t)(x - t->file.tensor), out);
}

tw_status tw_tensors_read(const tw_tensors *t, const char *name, uint64_t from, void *to, size_t bytes,
                          tw_error *error) {
  const tensor *x = named(t, name);
  if (!x) return tw_fail(error, TW_USAGE, "'%s' has no tensor '%s'", t->path, name);
  if (from > x->bytes || bytes > x->bytes - from)
    return tw_fail(error, TW_USAGE, "tensor '%s' of '%s' has %llu bytes; the %zu bytes from %llu on exceed it", name,
                   t->path, (unsigned long long)x->bytes, bytes, (unsigned long long)from);
  return tensor_read(&t->file, x, from, to, bytes, error);
}

bool tw_tensors_packing(const tw_tensors *t, const char *name, tw_packing *packing, size_t *rows, size_t *columns,
                        tw_packed_size *size) {
  tw_text key = {0};
  uint64_t shape[TENSOR_RANK_MAX], values;
  int rank;
  tw_text_add(&key, "tilewright.%s", name);
  char *text = tw_text_take(&key);
  const char *words = text ? json_string_value(json_object_get(t->file.metadata, text)) : NULL;
  free(text);
  const tensor *codes = named(t, name);
  if (!words || !codes || !packing_parse(words, packing, &rank, shape) || !shape_values(rank, shape, &values))
    return false;
  *columns = rank ? (size_t)shape[rank - 1] : 1;
  *rows = *columns ? (size_t)values / *columns : 0;
  return tw_format_sizes(packing, *rows, *columns, size, NULL) == TW_OK && size->codes == codes->bytes;
}

/* ---- writing ---- */

static tw_status take_tensor(const tw_tensor *from, bool npy, tensor *to, tw_error *error) {
  uint64_t values = 0;
  *to =
      (tensor){.name = (char *)from->name, .dtype = dtype_named(from->dtype), .rank = from->rank, .bytes = from->bytes};
  if (from->rank < 0 || from->rank > TENSOR_RANK_MAX)
    return tw_fail(error, TW_USAGE, "tensor '%s' has %d dimensions; up to %d can be written", from->name, from->rank,
                   TENSOR_RANK_MAX);
  memcpy(to->shape, from->shape, sizeof to->shape);
  if (!to->dtype || (npy && !npy_has(to->dtype)))
    return tw_fail(error, TW_USAGE, "unsupported dtype in a %s file: '%s'", npy ? ".npy" : ".safetensors", from->dtype);
  if (!shape_values(to->rank, to->shape, &values) || values * dtype_bytes(to->dtype) != from->bytes)
    return tw_fail(error, TW_USAGE, "the size of tensor '%s' differs from its dtype and shape", from->name);
  tw_append_cut(to->dtype_name, sizeof to->dtype_name, from->dtype);
  return TW_OK;
}

static tw_status write_all(const char *path, tensor *t, size_t n, bool npy, const void *const data[], tw_error *error) {
  size_t header_bytes = 0;
  uint64_t size = 0;
  output_file file = {.fd = -1};
  char *header = npy ? npy_header(t, &header_bytes, &size) : safetensors_header(t, n, NULL, &header_bytes, &size);
  tw_status status = header ? output_open(path, size, &file, error) : tw_no_memory(error, NULL);
  if (status == TW_OK) status = output_write(&file, 0, header, header_bytes, error);
  for (size_t i = 0; i < n && status == TW_OK; i++)
    status = output_write(&file, t[i].offset, data[i], (size_t)t[i].bytes, error);
  free(header);
  if (status == TW_OK) return output_commit(&file, error);
  output_abandon(&file);
  return status;
}

tw_status tw_tensors_write(const char *path, size_t n, const tw_tensor from[], const void *const data[],
                           tw_error *error) {
  const bool npy = tw_ends_with(path, ".npy");
  if (!npy && !tw_ends_with(path, ".safetensors"))
    return tw_fail(error, TW_USAGE, "unsupported file name '%s'; expected NAME.npy or NAME.safetensors", path);
  if (npy && n != 1)
    return tw_fail(error, TW_USAGE, "a .npy file holds one array (%zu were given); use .safetensors", n);
  tensor *t = tw_new(n, sizeof *t);
  tw_status status = t || !n ? TW_OK : tw_no_memory(error, NULL);
  for (size_t i = 0; i < n && status == TW_OK; i++) {
    status = take_tensor(&from[i], npy, &t[i], error);
    for (size_t j = 0; j < i && status == TW_OK; j++)
      if (strcmp(from[i].name, from[j].name) == 0)
        status = tw_fail(error, TW_USAGE, "two tensors are called '%s'", from[i].name);
  }
  if (status == TW_OK) status = write_all(path, t, n, npy, data, error);
  free(t);
  return status;
}
