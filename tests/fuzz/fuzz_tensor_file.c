/* fuzz_tensor_file.c - any bytes as a .npy or .safetensors file: refused in one line, or tensors that lie inside it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tensors/tensor_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int is_one_line(const char *text) { return text[0] && !strchr(text, '\n'); }

static void check(const tensor_file *f) {
  for (size_t i = 0; i < f->n; i++) {
    const tensor *t = &f->tensor[i];
    uint64_t values;
    if (t->offset > f->size || t->bytes > f->size - t->offset) abort();
    if (!shape_values(t->rank, t->shape, &values)) abort();
    if (t->dtype != DTYPE_OTHER && values * dtype_bytes(t->dtype) != t->bytes) abort();
  }
}

static void parse(const uint8_t *data, size_t size, int npy) {
  tensor_file f = {.path = "fuzz", .fd = -1, .size = size};
  tw_error error = {0};
  size_t bytes = 0, first = size < 12 ? size : 12;
  uint8_t prefix[12] = {0};
  memcpy(prefix, data, first);
  tw_status status = (npy ? npy_header_bytes : safetensors_header_bytes)(prefix, first, f.path, size, &bytes, &error);
  if (status == TW_OK) {
    uint8_t *header = malloc(bytes); /* just the header: a read behind it shows */
    if (!header || bytes > size) abort();
    memcpy(header, data, bytes);
    status = (npy ? npy_parse : safetensors_parse)(header, bytes, &f, &error);
    free(header);
  }
  if (status == TW_OK)
    check(&f);
  else if (!is_one_line(error.text) || f.n)
    abort();
  tensor_file_free(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  parse(data, size, 1);
  parse(data, size, 0);
  return 0;
}
