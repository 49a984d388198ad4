/* error.c - fills a tw_error; names and groups of statuses. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

#undef tw_fail
#undef tw_no_memory

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
  return tw_fail(error, TW_NO_MEMORY, "out of memory%s%s", what ? " for " : "", what ? what : "");
}

static const struct {
  const char *name;
  tw_status group;
} STATUSES[] = {
    [TW_OK] = {"ok", TW_OK},
    [TW_FAILED] = {"failed", TW_FAILED},
    [TW_USAGE] = {"invalid argument", TW_USAGE},
    [TW_MISSING] = {"missing", TW_MISSING},
    [TW_INTERRUPTED] = {"interrupted", TW_INTERRUPTED},
    [TW_UNSUPPORTED] = {"unsupported", TW_USAGE},
    [TW_NO_MEMORY] = {"out of memory", TW_MISSING},
    [TW_NO_DEVICE] = {"no device", TW_MISSING},
    [TW_NO_COMPILER] = {"no compiler", TW_MISSING},
    [TW_DISK_FULL] = {"disk full", TW_MISSING},
};
enum { STATUSES_N = sizeof STATUSES / sizeof *STATUSES };

const char *tw_status_name(tw_status status) {
  return (unsigned)status < STATUSES_N ? STATUSES[status].name : "unknown status";
}

tw_status tw_status_group(tw_status status) {
  return (unsigned)status < STATUSES_N ? STATUSES[status].group : TW_FAILED;
}

bool tw_status_parse(const char *name, tw_status *out) {
  for (unsigned i = 0; i < STATUSES_N; i++)
    if (strcmp(name, STATUSES[i].name) == 0) return *out = (tw_status)i, true;
  return false;
}

tw_status tw_status_restate(tw_status status, tw_status from, tw_status to, tw_error *error) {
  if (status != from) return status;
  if (error) error->status = to;
  return to;
}
