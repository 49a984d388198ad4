/* target.h - AWS Trainium, one target for each machine file in configs/. */
#ifndef TW_TRAINIUM_TARGET_H
#define TW_TRAINIUM_TARGET_H

#include "tilewright/target.h"

/* By position; NULL past the last. Made once, at the first call from any thread. */
const tw_target *trn_target_at(size_t index);

#endif
