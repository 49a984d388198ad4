/* target.h - NVIDIA GPUs as targets: `cuda` is this computer's device, `cuda-NAME` a machine of configs/. */
#ifndef TW_CUDA_TARGET_H
#define TW_CUDA_TARGET_H

#include "target/machines.h"
#include "tilewright/extend/target.h"

extern tw_machine_list cuda_machine_list;
const tw_target *cuda_target_at(size_t index); /* NULL past the last */

#endif
