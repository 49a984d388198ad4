/* elementwise.h - the fields of a problem of op `elementwise` that targets read. */
#ifndef TW_OP_ELEMENTWISE_H
#define TW_OP_ELEMENTWISE_H

#include "tilewright/extend/op.h"

/* The functions with their names in problems. */
#define TW_ELEMENTWISE_LIST(F)                                                                                         \
  F(TW_RELU, "relu")                                                                                                   \
  F(TW_LEAKY_RELU, "leaky_relu")                                                                                       \
  F(TW_ELU, "elu")                                                                                                     \
  F(TW_SELU, "selu")                                                                                                   \
  F(TW_SIGMOID, "sigmoid")                                                                                             \
  F(TW_HARD_SIGMOID, "hard_sigmoid")                                                                                   \
  F(TW_TANH, "tanh")                                                                                                   \
  F(TW_HARD_TANH, "hard_tanh")                                                                                         \
  F(TW_SILU, "silu")                                                                                                   \
  F(TW_GELU_ERF_OF, "gelu_erf")                                                                                        \
  F(TW_GELU_TANH_OF, "gelu_tanh")                                                                                      \
  F(TW_SOFTPLUS, "softplus")                                                                                           \
  F(TW_SOFTSIGN, "softsign")                                                                                           \
  F(TW_SCALE, "scale")                                                                                                 \
  F(TW_DIVIDE, "divide")

typedef enum tw_elementwise {
#define F(function, name) function,
  TW_ELEMENTWISE_LIST(F)
#undef F
      TW_ELEMENTWISE_FUNCTIONS
} tw_elementwise;

tw_elementwise tw_elementwise_function(const tw_problem *);
const char *tw_elementwise_name(tw_elementwise);

#define TW_SELU_ALPHA 1.6732632423543772
#define TW_SELU_SCALE 1.0507009873554805

#endif
