/* machine_name.h - names of machines from files, "my@1a2b3c4d": the digits are made of all values (tilewright/machine.h). */
#ifndef TW_BASE_MACHINE_NAME_H
#define TW_BASE_MACHINE_NAME_H

#include <stdbool.h>
#include <string.h>

/* Do both names mean the same machine? Equal names, or equal digits: a file that was renamed. */
static inline bool tw_same_machine(const char *a, const char *b) {
  const char *own = strchr(a, '@'), *other = strchr(b, '@');
  return strcmp(own && other ? own : a, own && other ? other : b) == 0;
}

#endif
