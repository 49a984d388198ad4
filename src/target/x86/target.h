/* target.h - the CPU that the process runs on, as the target `x86`. */
#ifndef TW_X86_TARGET_H
#define TW_X86_TARGET_H

#include "tilewright/extend/target.h"

const tw_target *x86_target_at(size_t index); /* NULL after the first */

#endif
