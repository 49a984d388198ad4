/* numerics.h - rounding errors of a result: the parts of every op's tolerance.
 *
 * Units follow Higham, Accuracy and Stability of Numerical Algorithms. Rounding to nearest in a type with p bits of
 * significand has an error of at most u = 2^-p of the value. The error is at most `least` if the result is subnormal or
 * flushed to zero. */
#ifndef TW_OP_NUMERICS_H
#define TW_OP_NUMERICS_H

#include <math.h>
#include <stdbool.h>

#include "tilewright/type.h"

bool tw_is_real(tw_type);      /* f32, f16 or bf16: a plain floating-point type of operands */
bool tw_is_float8(tw_type);    /* e4m3 or e5m2 of OCP */
bool tw_is_float6(tw_type);    /* e2m3 or e3m2 */
bool tw_is_mx(tw_type);        /* mxfp4, mxfp6 or mxfp8 */
double tw_unit(tw_type);       /* u of a floating-point type; 0 of integers */
double tw_least_real(tw_type); /* maximum error from flushing to zero or rounding of subnormals */

/* u of arithmetic in binary32; of a sum on a matrix unit, which may cut instead of round, twice as much. */
#define TW_U32 0x1p-24
#define TW_CUT32 0x1p-23

/* Rounding `value`, which is off by `off` already, to a type. */
static inline double tw_store_error(tw_type type, double value, double off) {
  return off + tw_unit(type) * (fabs(value) + off) + tw_least_real(type);
}

/* The error of a sum of n terms in any order is at most this many u of the sum of their magnitudes: n, the classical
 * bound, or 8 sqrt(n) with probability above 1 - 1e-13 (Higham and Mary, A new approach to probabilistic rounding error
 * analysis, 2019, lambda = 8). */
static inline double tw_sum_steps(double n) { return fmin(n, 8 * sqrt(n)); }

/* As above for terms with random signs, where that bound is smaller: at most this many u of the Euclidean norm of the
 * terms. Every partial sum is then a walk of random steps. Consider a chain of n additions whose order does not depend
 * on the signs. The sum of the squared partial sums is below q n |terms|^2 except with a probability of about e^(-pi^2
 * q / 8) (the integral of W^2 over a Brownian path: Cameron and Martin, 1944). Errors that are uniform in +-u of the
 * partial sums add to more than t u sqrt(n q / 3) |terms| with probability e^(-t^2 / 2). Together they exceed x u
 * sqrt(n) |terms| with probability of about e^(-pi sqrt(3) x / 2). Trees and blocks have smaller errors. */
#define TW_WALK 12 /* e^-32.6 = 7e-15 */
static inline double tw_walk_steps(double n) { return TW_WALK * sqrt(n); }

/* n independent errors of at most e_i with a mean of 0 add to at most this (Hoeffding, the same probability), given the
 * sum of e_i and the sum of their squares. */
static inline double tw_random_sum(double sum, double sum_of_squares) { return fmin(sum, 8 * sqrt(sum_of_squares)); }

#endif
