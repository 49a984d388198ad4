/* target.h - the Gemmini targets, one for each configuration in configs/. */
#ifndef TW_GEMMINI_TARGET_H
#define TW_GEMMINI_TARGET_H

#include "target/gemmini/config.h"
#include "target/machines.h"
#include "tilewright/extend/target.h"

extern tw_machine_list gm_machine_list;
/* By position; NULL past the last. */
const tw_target *gm_target_at(size_t index);
/* The target of a configuration, which must outlive it. */
tw_target gm_target_of(const gm_config *);

#endif
