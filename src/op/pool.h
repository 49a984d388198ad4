/* pool.h - the fields of a problem of op `pool` that targets read. */
#ifndef TW_OP_POOL_H
#define TW_OP_POOL_H

#include "tilewright/extend/op.h"

/* Sizes and windows along depth, height and width. A dimension whose window is 1 is not pooled: its step is 1, its padding 0. */
typedef struct tw_pool {
  int64_t n, size[3], window[3], out[3];
  int64_t stride[3], pad[3], dilation;
  bool mean;
  tw_type type;
} tw_pool;

tw_pool tw_pool_of(const tw_problem *);

#endif
