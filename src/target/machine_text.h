/* machine_text.h - a machine file to start from. */
#ifndef TW_TARGET_MACHINE_TEXT_H
#define TW_TARGET_MACHINE_TEXT_H

#include "target/machines.h"

/* The text of a machine that is part of the program, with its comments, as a file of which every line is commented out. Malloc'ed;
 * NULL without memory. */
char *tw_machine_print_template(const tw_machine *);

#endif
