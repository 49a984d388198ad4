/* gemm_numerics.h - the numerics of a gemm as data: the legal combinations of types, the storage of each operand, the
 * roundings, and the resulting error bound of an element of C. The op's comparison, a machine's own checks and
 * benchmarks all use it. */
#ifndef TW_OP_GEMM_NUMERICS_H
#define TW_OP_GEMM_NUMERICS_H

#include <math.h>

#include "op/gemm_problem.h"

/* TW_UNSUPPORTED with what goes together, if these types do not. */
tw_status tw_gemm_check_types(const tw_gemm *, tw_error *);

/* acc=i8 and acc=i16: sums are kept in C's type, rounded and saturated on the way, up to once for every 8 of k. */
bool tw_gemm_narrow_sums(const tw_gemm *);
/* TW_UNSUPPORTED with narrower sums: for a machine that sums in 32 bits. */
tw_status tw_gemm_wide_sums(const char *machine, tw_type acc, tw_error *);

typedef struct tw_gemm_numerics {
  /* Operands are arrays of these types. Types with shared scales are f32 there, narrow integers i8, with values of the
   * type itself: along k, for B in each column separately, for A in each row. */
  tw_type a, b, c, d;
  bool exact;       /* integers in all steps */
  double narrow;    /* sums are kept in C's type of 8 or 16 bits, which holds numbers below this; 0: they are not */
  bool real;        /* sums of real numbers; else of integers, exact until they are scaled */
  double step;      /* each step of a sum, relative to the magnitudes that are summed */
  double weights;   /* relative error bound of elements of B */
  double a_step;    /* rounding of A on its way in: half a step, relative to the largest magnitude that shares it */
  double of_blocks; /* error bound of sums and results in blocks, and of A for them, relative to the largest sum */
  double factors;   /* relative error bound of a product where A and B are cut */
  double cut;       /* error bound of a sum in 14 bits, relative to the largest */
  double chain; /* error bound of a matrix unit that cuts its sums to 24 bits, relative to the norm of the products */
  double unit;  /* rounding unit of C, if it is coarser than the sum's */
  double least;
} tw_gemm_numerics;

tw_gemm_numerics tw_gemm_numerics_of(const tw_gemm *);

/* The inputs of the bound of one element of C. */
typedef struct tw_gemm_sizes {
  double products;    /* the sum of |a||b|, or the product of the norms, which is no less */
  double row, column; /* Euclidean norms of the row of A and the column of B */
  double norm;        /* norm of the products, or more: tw_gemm_norm */
  double largest;     /* magnitude in the row of A */
  double weights;     /* the sum of |b|; 0: not known */
  double bias;
  double value; /* the right one */
  double terms; /* upper bound of the number of nonzero products; 0: not known, k is used */
  bool whole;   /* A and B are small whole numbers: tw_gemm_is_small */
} tw_gemm_sizes;

/* For one element: adds the product of a and b; `row`, `column` and `norm` are squares until it is finished. */
static inline void tw_gemm_sizes_add(tw_gemm_sizes *s, double a, double b) {
  const double product = a * b;
  s->row += a * a;
  s->column += b * b;
  s->products += fabs(product);
  s->terms += product != 0;
  s->norm += product * product;
  s->weights += fabs(b);
  s->largest = fmax(s->largest, fabs(a));
}
static inline void tw_gemm_sizes_finish(tw_gemm_sizes *s) {
  s->row = sqrt(s->row);
  s->column = sqrt(s->column);
  s->norm = sqrt(s->norm);
}

/* Whole numbers up to 7: sums of their products below 2^24 are exact in any order. */
static inline bool tw_gemm_is_small(double x) { return fabs(x) <= 7 && x == nearbyint(x); }
/* Has the problem whole inputs (inputs.h)? */
bool tw_gemm_has_whole(const tw_gemm *);
/* Does it have inputs of which few are not 0? */
bool tw_gemm_has_few(const tw_gemm *);

/* Do its inputs have terms of different sizes (tw_scale_terms)? Only where roundings are relative to products, not
 * to the largest element. */
bool tw_gemm_has_terms(const tw_gemm *);

/* No less than the Euclidean norm of the products, from the sums of the fourth powers of both factors (Cauchy). */
static inline double tw_gemm_norm(double fourth_a, double fourth_b) { return sqrt(sqrt(fourth_a * fourth_b)); }

/* Error bound of a sum of `count` numbers scale * (sum + bias) before they are stored, each with a weight of at most 1
 * and a random sign; sizes: in the mean square. */
double tw_gemm_signed_off(const tw_gemm *, const tw_gemm_numerics *, const tw_gemm_sizes *, double count);
/* Error bound of an element of C of a real type before it is stored. */
double tw_gemm_off(const tw_gemm *, const tw_gemm_numerics *, const tw_gemm_sizes *);
/* Error bound of an element of C. `stored`: it is compared with the right value rounded to C's type. */
double tw_gemm_tolerance(const tw_gemm *, const tw_gemm_numerics *, const tw_gemm_sizes *, bool stored);
/* For an element with glu, from its two exact sums and their error bounds. */
double tw_gemm_glu_tolerance(const tw_gemm *, const tw_gemm_numerics *, double gate, double up, double gate_off,
                             double up_off);
/* For a real element that is rounded once, from its value and the error bound before that. */
double tw_gemm_real_tolerance(const tw_gemm_numerics *, double value, double off);
/* The activation of a gate, its slope, and the error bound of one of both in results of type `c`. */
double tw_gemm_act(tw_glu, double gate);
double tw_gemm_act_slope(tw_glu, double gate);
double tw_gemm_act_error(tw_type c, double gate, double function);

#endif
