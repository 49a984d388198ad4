/* tensor_file.c - opens and reads files of tensors; the first bytes of a file tell its kind. */
#define _GNU_SOURCE
#include "tensors/tensor_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
  const char *name;
  size_t bytes;
} dtypes[DTYPE_COUNT] = {
    [DTYPE_F64] = {"F64", 8},
    [DTYPE_F32] = {"F32", 4},
    [DTYPE_F16] = {"F16", 2},
    [DTYPE_BF16] = {"BF16", 2},
    [DTYPE_E4M3] = {"F8_E4M3", 1},
    [DTYPE_E5M2] = {"F8_E5M2", 1},
    [DTYPE_E4M3FNUZ] = {"F8_E4M3FNUZ", 1},
    [DTYPE_I64] = {"I64", 8},
    [DTYPE_I32] = {"I32", 4},
    [DTYPE_I16] = {"I16", 2},
    [DTYPE_I8] = {"I8", 1},
    [DTYPE_U64] = {"U64", 8},
    [DTYPE_U32] = {"U32", 4},
    [DTYPE_U16] = {"U16", 2},
    [DTYPE_U8] = {"U8", 1},
    [DTYPE_BOOL] = {"BOOL", 1},
};

size_t dtype_bytes(tensor_dtype type) { return dtypes[type].bytes; }

tensor_dtype dtype_named(const char *name) {
  for (int i = DTYPE_OTHER + 1; i < DTYPE_COUNT; i++)
    if (strcmp(dtypes[i].name, name) == 0) return (tensor_dtype)i;
  return DTYPE_OTHER;
}

void tensor_set_dtype(tensor *t, tensor_dtype type) {
  t->dtype = type;
  snprintf(t->dtype_name, sizeof t->dtype_name, "%s", dtypes[type].name);
}

bool shape_values(int rank, const uint64_t shape[], uint64_t *values) {
  bool has_zero = false, over = false;
  *values = 1;
  for (int i = 0; i < rank; i++) {
    has_zero |= shape[i] == 0;
    over |= __builtin_mul_overflow(*values, shape[i], values);
  }
  if (has_zero) *values = 0;
  return has_zero || !over;
}

static tw_status read_at(int fd, const char *path, uint64_t from, void *to, size_t bytes, tw_error *error) {
  for (uint8_t *p = to; bytes;) {
    ssize_t n = pread(fd, p, bytes, (off_t)from);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return tw_fail(error, TW_USAGE, "cannot read '%s': %s", path, strerror(errno));
    if (n == 0) return tw_fail(error, TW_USAGE, "'%s' became shorter while it was read", path);
    p += n;
    from += (uint64_t)n;
    bytes -= (size_t)n;
  }
  return TW_OK;
}

static bool is_npy(const uint8_t *data, size_t n) { return n >= 6 && memcmp(data, "\x93NUMPY", 6) == 0; }

static tw_status read_header(tensor_file *f, tw_error *error) {
  uint8_t first[12] = {0};
  size_t n = f->size < sizeof first ? (size_t)f->size : sizeof first, bytes = 0;
  tw_status status = read_at(f->fd, f->path, 0, first, n, error);
  if (status != TW_OK) return status;
  f->is_npy = is_npy(first, n);
  status = (f->is_npy ? npy_header_bytes : safetensors_header_bytes)(first, n, f->path, f->size, &bytes, error);
  if (status != TW_OK) return status;
  uint8_t *data = malloc(bytes + 1);
  if (!data) return tw_fail(error, TW_NO_MEMORY, "out of memory for the header of '%s'", f->path);
  status = read_at(f->fd, f->path, 0, data, bytes, error);
  if (status == TW_OK) status = (f->is_npy ? npy_parse : safetensors_parse)(data, bytes, f, error);
  free(data);
  return status;
}

tw_status tensor_file_open(const char *path, tensor_file *f, tw_error *error) {
  struct stat info;
  *f = (tensor_file){.path = path, .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (f->fd < 0) return tw_fail(error, TW_USAGE, "cannot read '%s': %s", path, strerror(errno));
  tw_status status = TW_OK;
  if (fstat(f->fd, &info) < 0 || !S_ISREG(info.st_mode))
    status = tw_fail(error, TW_USAGE, "'%s' is not a regular file; tensors are read by position", path);
  f->size = (uint64_t)info.st_size;
  if (status == TW_OK) status = read_header(f, error);
  if (status != TW_OK) tensor_file_close(f);
  return status;
}

void tensor_file_free(tensor_file *f) {
  for (size_t i = 0; i < f->n; i++) free(f->tensor[i].name);
  free(f->tensor);
  json_decref(f->metadata);
  f->tensor = NULL;
  f->metadata = NULL;
  f->n = 0;
}

void tensor_file_close(tensor_file *f) {
  tensor_file_free(f);
  if (f->fd >= 0) close(f->fd);
  f->fd = -1;
}

const tensor *tensor_named(const tensor_file *f, const char *name) {
  for (size_t i = 0; i < f->n; i++) {
    if (strcmp(f->tensor[i].name, name) == 0) return &f->tensor[i];
  }
  return NULL;
}

tw_status tensor_read(const tensor_file *f, const tensor *t, uint64_t from, void *to, size_t bytes, tw_error *error) {
  if (from > t->bytes || bytes > t->bytes - from)
    return tw_fail(error, TW_USAGE, "'%s': tensor '%s' is too short", f->path, t->name);
  return read_at(f->fd, f->path, t->offset + from, to, bytes, error);
}
