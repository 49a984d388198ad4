/* target.h - the Gemmini targets, one for each configuration in configs/. */
#ifndef TW_GEMMINI_TARGET_H
#define TW_GEMMINI_TARGET_H

#include "target/gemmini/config.h"
#include "tilewright/target.h"

/* By position; NULL past the last. Made once, at the first call from any thread. */
const tw_target *gm_target_at(size_t index);
/* The target of a configuration, which must outlive it. */
tw_target gm_target_of(const gm_config *);

#endif
