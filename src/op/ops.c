/* ops.c - the list of ops. A new op is a file here and a line below. */
#include "op/ops.h"

#include <string.h>

static const tw_op *const ops[] = {
    &tw_op_gemm,      &tw_op_conv2d,    &tw_op_mpc_forward, &tw_op_mpc_backward,
    &tw_op_attention, &tw_op_layernorm, &tw_op_rotary,      &tw_op_softmax,
};

const tw_op *tw_op_at(size_t index) { return index < sizeof ops / sizeof *ops ? ops[index] : NULL; }

const tw_op *tw_op_find(const char *name) {
  const tw_op *op;
  for (size_t i = 0; (op = tw_op_at(i)); i++) {
    if (strcmp(op->name, name) == 0) return op;
  }
  return NULL;
}
