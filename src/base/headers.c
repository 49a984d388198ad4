/* headers.c - see headers.h. */
#include "base/headers.h"

#include <string.h>

#include "base/files.h"
#include "base/status.h"

static bool is_macro(const char *text) {
  static const char *const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
  const size_t name = strspn(text, letters);
  return name && !strchr("0123456789", *text) && (!text[name] || strchr("=(", text[name]));
}

tw_status tw_headers_check(const tw_headers *headers, tw_error *error) {
  if (headers->n > TW_HEADERS_MAX)
    return tw_fail(error, TW_USAGE, "%zu folders of headers; at most %d are supported", headers->n, TW_HEADERS_MAX);
  for (size_t i = 0; i < headers->n; i++)
    if (!tw_directory_is_readable(headers->folder[i]))
      return tw_fail(error, TW_USAGE, "%s: not a readable folder of headers", headers->folder[i]);
  if (headers->n_macros > TW_MACROS_MAX)
    return tw_fail(error, TW_USAGE, "%zu macros; at most %d are supported", headers->n_macros, TW_MACROS_MAX);
  for (size_t i = 0; i < headers->n_macros; i++)
    if (!is_macro(headers->macro[i]))
      return tw_fail(error, TW_USAGE, "'%s' is not a macro; expected NAME, NAME=VALUE or NAME(PARAMETERS)=VALUE",
                     headers->macro[i]);
  return TW_OK;
}
