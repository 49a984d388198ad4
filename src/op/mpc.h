/* mpc.h - a pass of TinyMPC's primal update as a plain struct, for mpc.c, its tests and the targets. */
#ifndef TW_OP_MPC_H
#define TW_OP_MPC_H

#include <stdbool.h>
#include <stdint.h>

#include "tilewright/extend/op.h"

typedef struct tw_mpc {
  bool forward;
  int64_t horizon, states, inputs;
  int64_t steps; /* steps of the recurrence: horizon forward, horizon - 1 backward */
} tw_mpc;

/* Operands by position, as a kernel's C parameters. */
enum { TW_MPC_ADYN, TW_MPC_BDYN, TW_MPC_KINF, TW_MPC_X, TW_MPC_D, TW_MPC_U };
enum {
  TW_MPC_BACK_BDYN,
  TW_MPC_BACK_QUU,
  TW_MPC_BACK_KINF,
  TW_MPC_BACK_AMBKT,
  TW_MPC_BACK_P,
  TW_MPC_BACK_D,
  TW_MPC_BACK_R,
  TW_MPC_BACK_Q
};

tw_mpc tw_mpc_of(const tw_problem *);

#endif
