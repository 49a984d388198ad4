/* error.c - fills a tw_error. */
#include <stdarg.h>
#include <stdio.h>

#include "tilewright/status.h"

#undef tw_fail

tw_status tw_fail(tw_error *error, tw_status status, const char *format, ...) {
  if (error) {
    va_list arguments;
    va_start(arguments, format);
    error->status = status;
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
  }
  return status;
}

tw_status tw_no_memory(tw_error *error, const char *what) {
  return tw_fail(error, TW_MISSING, "out of memory%s%s", what ? " for " : "", what ? what : "");
}
