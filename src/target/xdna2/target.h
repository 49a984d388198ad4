/* target.h - AMD's XDNA2 NPU, one target for each configuration in configs/. */
#ifndef TW_XDNA2_TARGET_H
#define TW_XDNA2_TARGET_H

#include "target/machines.h"
#include "tilewright/extend/target.h"

extern tw_machine_list xd_machine_list;
/* By position; NULL past the last. */
const tw_target *xd_target_at(size_t index);

#endif
