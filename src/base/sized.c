/* sized.c - see sized.h. The size is the first member of each of these structs. */
#include "base/sized.h"

#include <stdlib.h>
#include <string.h>

#include "tilewright/extend/extend.h"

enum { SIZE_MOST = 1 << 20 }; /* a larger value is not a size but memory that was never set */

static size_t size_of(const void *given) {
  size_t size;
  memcpy(&size, given, sizeof size);
  return size;
}

static tw_status check_size(const char *type, const void *given, tw_error *error) {
  const size_t size = size_of(given);
  if (size > sizeof size && size <= SIZE_MOST) return TW_OK;
  return tw_fail(error, TW_USAGE, "%s.size is %zu: set it to sizeof(%s) before the call", type, size, type);
}

tw_status tw_sized_take(const char *type, const void *given, void *own, size_t own_size, tw_error *error) {
  const tw_status status = check_size(type, given, error);
  if (status != TW_OK) return status;
  const size_t size = size_of(given);
  const unsigned char *bytes = given;
  for (size_t i = own_size; i < size; i++)
    if (bytes[i])
      return tw_fail(error, TW_USAGE,
                     "%s has %zu bytes, but this library, " TILEWRIGHT_VERSION
                     ", knows only %zu; set the further bytes to 0, or use a library as new as the program's headers",
                     type, size, own_size);
  memset(own, 0, own_size);
  memcpy(own, given, size < own_size ? size : own_size);
  memcpy(own, &own_size, sizeof own_size);
  return TW_OK;
}

const void *tw_sized_keep(const void *given, const void *own, size_t own_size) {
  if (size_of(given) >= own_size) return given;
  void *copy = malloc(own_size);
  return copy ? memcpy(copy, own, own_size) : NULL;
}

tw_status tw_check_subject(const tw_target *t, const tw_problem *p, tw_error *error) {
  if (!t) return tw_fail(error, TW_USAGE, "the target is NULL; take one from tw_target_find");
  if (!p || !p->op) return tw_fail(error, TW_USAGE, "the problem has no operation; fill it with tw_problem_parse");
  return TW_OK;
}
