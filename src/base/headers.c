/* headers.c - see headers.h. */
#include "base/headers.h"

#include "base/files.h"
#include "base/status.h"

tw_status tw_headers_check(const tw_headers *headers, tw_error *error) {
  if (headers->n > TW_HEADERS_MAX)
    return tw_fail(error, TW_USAGE, "%zu folders of headers; at most %d are supported", headers->n, TW_HEADERS_MAX);
  for (size_t i = 0; i < headers->n; i++)
    if (!tw_directory_is_readable(headers->folder[i]))
      return tw_fail(error, TW_USAGE, "%s: not a readable folder of headers", headers->folder[i]);
  return TW_OK;
}
