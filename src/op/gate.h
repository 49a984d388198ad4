/* gate.h - the fields of a problem of op `gate` that targets read. */
#ifndef TW_OP_GATE_H
#define TW_OP_GATE_H

#include "op/gemm_problem.h"
#include "tilewright/extend/op.h"

/* SILU, GELU_ERF or GELU_TANH. */
tw_glu tw_gate_act(const tw_problem *);
bool tw_gate_is_backward(const tw_problem *);

#endif
