/* ops.h - the ops of this build, one per file of this folder. */
#ifndef TW_OP_OPS_H
#define TW_OP_OPS_H

#include "tilewright/op.h"

extern const tw_op tw_op_gemm;
extern const tw_op tw_op_conv2d;
extern const tw_op tw_op_mpc_forward;
extern const tw_op tw_op_mpc_backward;
extern const tw_op tw_op_conv3d;
extern const tw_op tw_op_attention;
extern const tw_op tw_op_softmax;
extern const tw_op tw_op_layernorm;
extern const tw_op tw_op_rotary;

#endif
