/* npy.c - see npy.h. */
#include "export/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tw_npy_shape(const tw_operand *o, char *text, size_t size) {
  int order[TW_RANK_MAX];
  size_t n = 0;
  for (int d = 0; d < o->rank; d++) order[d] = d;
  for (int i = 1; i < o->rank; i++)
    for (int d = i; d > 0 && o->stride[order[d]] > o->stride[order[d - 1]]; d--) {
      const int other = order[d];
      order[d] = order[d - 1];
      order[d - 1] = other;
    }
  n += (size_t)snprintf(text, size, "(");
  for (int d = 0; d < o->rank && n < size; d++)
    n += (size_t)snprintf(text + n, size - n, "%lld, ", (long long)o->dims[order[d]]);
  if (n < size) snprintf(text + n, size - n, ")");
}

char *tw_npy_of(const tw_operand *o, const void *data, size_t *size) {
  enum { HEADER = 128 };
  char shape[120], *out = malloc(HEADER + o->bytes);
  if (!out) return NULL;
  tw_npy_shape(o, shape, sizeof shape);
  const char *type = o->type == TW_BF16 ? "<u2" : o->type == TW_F16 ? "<f2" : o->type == TW_I32 ? "<i4" : "<f4";
  memset(out, ' ', HEADER);
  /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): the header ends with a newline */
  memcpy(out, "\x93NUMPY\x01\x00\x76\x00", 10);
  char header[HEADER];
  const int n = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': %s}", type, shape);
  memcpy(out + 10, header, (size_t)(n < HEADER - 11 ? n : HEADER - 11));
  out[HEADER - 1] = '\n';
  memcpy(out + HEADER, data, o->bytes);
  *size = HEADER + o->bytes;
  return out;
}
