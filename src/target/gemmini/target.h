/* target.h - the Gemmini targets, one for each configuration in configs/. */
#ifndef TW_GEMMINI_TARGET_H
#define TW_GEMMINI_TARGET_H

#include "tilewright/target.h"

/* By position; NULL past the last. Made once, at the first call from any thread. */
const tw_target *gm_target_at(size_t index);

#endif
