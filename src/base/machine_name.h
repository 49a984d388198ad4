/* machine_name.h - names of machines from files, "my@1a2b3c4d": the digits are a hash of all values
 * (tilewright/machine.h). */
#ifndef TW_BASE_MACHINE_NAME_H
#define TW_BASE_MACHINE_NAME_H

#include <stdbool.h>
#include <string.h>

/* The part of a name that stays when the file is renamed: "@1a2b3c4d". Without digits, the name. */
static inline const char *tw_machine_identity(const char *name) {
  const char *digits = strchr(name, '@');
  return digits ? digits : name;
}

/* Do both names mean the same machine? */
static inline bool tw_same_machine(const char *a, const char *b) {
  return strcmp(tw_machine_identity(a), tw_machine_identity(b)) == 0;
}

#endif
