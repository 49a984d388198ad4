/* reduce.h - the fields of a problem of op `reduce` that targets read. */
#ifndef TW_OP_REDUCE_H
#define TW_OP_REDUCE_H

#include "tilewright/extend/op.h"

/* How terms become one result, and what a term is, with their names in problems. */
#define TW_REDUCE_LIST(F)                                                                                              \
  F(TW_REDUCE_SUM, "sum")                                                                                              \
  F(TW_REDUCE_MEAN, "mean")                                                                                            \
  F(TW_REDUCE_NORM, "norm")                                                                                            \
  F(TW_REDUCE_MAX, "max")                                                                                              \
  F(TW_REDUCE_MIN, "min")                                                                                              \
  F(TW_REDUCE_ARGMAX, "argmax")                                                                                        \
  F(TW_REDUCE_ARGMIN, "argmin")
#define TW_REDUCE_OF_LIST(F)                                                                                           \
  F(TW_REDUCE_OF_X, "x")                                                                                               \
  F(TW_REDUCE_OF_ABS, "abs")                                                                                           \
  F(TW_REDUCE_OF_SQUARE, "square")                                                                                     \
  F(TW_REDUCE_OF_SQUARED_DIFFERENCE, "squared_difference")                                                             \
  F(TW_REDUCE_OF_SMOOTH_L1, "smooth_l1")                                                                               \
  F(TW_REDUCE_OF_HINGE, "hinge")

#define F(name, text) name,
typedef enum tw_reduce_function { TW_REDUCE_LIST(F) TW_REDUCE_FUNCTIONS } tw_reduce_function;
typedef enum tw_reduce_term { TW_REDUCE_OF_LIST(F) TW_REDUCE_TERMS } tw_reduce_term;
#undef F

typedef struct tw_reduce {
  int64_t outer, n, inner;
  tw_reduce_function function;
  tw_reduce_term term;
  tw_type type;
  bool shared; /* z has outer=1 */
} tw_reduce;

tw_reduce tw_reduce_of(const tw_problem *);
const char *tw_reduce_term_name(tw_reduce_term);

/* Is the result a place in 0..n - 1? */
static inline bool tw_reduce_finds(const tw_reduce *r) { return r->function >= TW_REDUCE_ARGMAX; }
/* Is the result one of the elements, or its place? */
static inline bool tw_reduce_chooses(const tw_reduce *r) { return r->function >= TW_REDUCE_MAX; }
/* Is the second operand z used? */
static inline bool tw_reduce_has_pairs(const tw_reduce *r) { return r->term >= TW_REDUCE_OF_SQUARED_DIFFERENCE; }

#endif
