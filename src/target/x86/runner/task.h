/* task.h - the input of tilewright-x86-runner, besides the operands (A, B, [D,] C). */
#ifndef TW_X86_TASK_H
#define TW_X86_TASK_H

#include <stdint.h>

#include "native/arena.h"
#include "target/x86/cpu.h"
#include "tilewright/gemm.h"

typedef struct x86_task {
  tw_gemm_spec spec;
  uint32_t copies; /* number of sets with different weights */
  x86_cpu cpu;     /* of this machine, which takes some ten milliseconds to find */
  uint32_t dirty;  /* stacks are filled with TW_POISON before each call: for checks, not for timing */
} x86_task;

_Static_assert(sizeof(x86_task) <= TW_ARENA_TASK, "a task is part of the orders");

#endif
