/* verdict.h - one line about a kernel's process that did not answer, or about the driver's error. */
#ifndef TW_CUDA_VERDICT_H
#define TW_CUDA_VERDICT_H

#include "launch/launch.h"
#include "target/cuda/runner/protocol.h"

tw_status cuda_verdict(const tw_launch *, const cuda_reply *, tw_error *);
tw_status cuda_verdict_late(double limit, cuda_stage, tw_error *);
tw_status cuda_verdict_stopped(cuda_stage, tw_error *);
tw_status cuda_verdict_gone(cuda_stage, tw_error *);

#endif
