/* machine_text.h - a machine file to start from. */
#ifndef TW_TARGET_MACHINE_TEXT_H
#define TW_TARGET_MACHINE_TEXT_H

#include "target/machines.h"

/* A value that a file gives, with the reason. */
typedef struct tw_machine_value {
  const char *key, *value, *why;
} tw_machine_value;

/* The text of a built-in machine, with its comments, as a file in which every line is commented out except the keys in
 * `value` (may be NULL), which are keys of the first section. `head` is a separate comment, in whole lines. Malloc'ed;
 * NULL without memory. */
char *tw_machine_print_template(const tw_machine *, const char *head, const tw_machine_value *value, size_t n);

#endif
