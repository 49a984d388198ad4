/* target.h - AMD's XDNA2 NPU, one target for each configuration in configs/. */
#ifndef TW_XDNA2_TARGET_H
#define TW_XDNA2_TARGET_H

#include "tilewright/target.h"

/* By position; NULL past the last. Made once, at the first call from any thread. */
const tw_target *xd_target_at(size_t index);

#endif
