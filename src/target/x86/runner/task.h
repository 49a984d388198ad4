/* task.h - what tilewright-x86-runner is told beside the operands (native/arena.h): A, B, [D,] C. */
#ifndef TW_X86_TASK_H
#define TW_X86_TASK_H

#include <stdint.h>

#include "tilewright/gemm.h"

typedef struct x86_task {
  tw_gemm_spec spec;
  uint32_t copies; /* of packed weights, used in turn */
} x86_task;

#endif
