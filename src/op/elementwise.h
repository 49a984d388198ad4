/* elementwise.h - the fields of a problem of op `elementwise` that targets read. */
#ifndef TW_OP_ELEMENTWISE_H
#define TW_OP_ELEMENTWISE_H

#include "tilewright/extend/op.h"

/* In the order of the key's choices. */
typedef enum tw_elementwise {
  TW_RELU,
  TW_LEAKY_RELU,
  TW_ELU,
  TW_SELU,
  TW_SIGMOID,
  TW_HARD_SIGMOID,
  TW_TANH,
  TW_HARD_TANH,
  TW_SILU,
  TW_GELU_ERF_OF,
  TW_GELU_TANH_OF,
  TW_SOFTPLUS,
  TW_SOFTSIGN,
  TW_SCALE,
  TW_ELEMENTWISE_FUNCTIONS
} tw_elementwise;

tw_elementwise tw_elementwise_function(const tw_problem *);
const char *tw_elementwise_name(tw_elementwise);

#define TW_SELU_ALPHA 1.6732632423543772
#define TW_SELU_SCALE 1.0507009873554805

#endif
