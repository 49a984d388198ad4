/* target.h - cdna3 (gfx942) and cdna4 (gfx950) as targets: kernels in C or assembly are compiled to code objects, and
 * executed wave by wave. */
#ifndef TW_CDNA_TARGET_H
#define TW_CDNA_TARGET_H

#include "target/machines.h"
#include "tilewright/extend/target.h"

extern tw_machine_list cdna_machine_list;
const tw_target *cdna_target_at(size_t index); /* NULL past the last */

#endif
