/* gemm_numerics.c - see gemm_numerics.h. */
#include "op/gemm_numerics.h"

#include <math.h>

#include "base/strings.h"
#include "op/numerics.h"

/* ---- types ---- */

#define SET(type) (1u << (type))
enum {
  REAL = SET(TW_F32) | SET(TW_F16) | SET(TW_BF16),
  WEIGHTS = SET(TW_I8) | SET(TW_I4) | SET(TW_MXFP4) | SET(TW_MXFP6) | SET(TW_MXFP8) | SET(TW_BFP16) | SET(TW_TERNARY),
  MX = SET(TW_MXFP4) | SET(TW_MXFP6) | SET(TW_MXFP8),
  FLOAT8 = SET(TW_E4M3) | SET(TW_E5M2),
  FLOAT6 = SET(TW_E2M3) | SET(TW_E3M2),
  INTEGER = SET(TW_I8) | SET(TW_I16) | SET(TW_I32),
};

static const struct {
  unsigned a, b, c, acc; /* sets */
} known[] = {
    {REAL, REAL | WEIGHTS, REAL, SET(TW_F32)},
    {FLOAT8, FLOAT8, REAL, SET(TW_F32)},
    {SET(TW_E4M3FNUZ), SET(TW_E4M3FNUZ), REAL, SET(TW_F32)},
    {FLOAT6, FLOAT6, REAL, SET(TW_F32)},
    {MX, MX, REAL, SET(TW_F32)},
    {SET(TW_BF16) | SET(TW_BFP16), SET(TW_BFP16), REAL | SET(TW_BFP16), SET(TW_F32) | SET(TW_BF16) | SET(TW_BFP16)},
    {SET(TW_BF16), SET(TW_BF16) | SET(TW_I4), SET(TW_BF16), SET(TW_BF16)},
    {SET(TW_I8), SET(TW_I8), INTEGER | REAL, SET(TW_I32)},
    {SET(TW_I8), SET(TW_I8), SET(TW_I8), SET(TW_I8)},
    {SET(TW_I8), SET(TW_I8), SET(TW_I16), SET(TW_I16)},
    {SET(TW_I8), SET(TW_I4) | SET(TW_TERNARY), INTEGER, SET(TW_I32)},
    {SET(TW_U8), SET(TW_I8), SET(TW_I32) | REAL, SET(TW_I32)},
    {SET(TW_I16), SET(TW_I16), SET(TW_I32) | SET(TW_I16), SET(TW_I32)},
    {SET(TW_I16), SET(TW_I16), SET(TW_I16), SET(TW_I16)},
};

static bool has(unsigned set, tw_type t) { return t != TW_TYPE_NONE && set >> t & 1; }

static void add_set(tw_text *t, const char *before, unsigned set) {
  tw_text_add(t, "%s", before);
  bool more = false;
  for (int i = TW_TYPE_NONE + 1; i < TW_TYPE_COUNT; i++) {
    if (!has(set, (tw_type)i)) continue;
    tw_text_add(t, "%s%s", more ? "|" : "", tw_type_name((tw_type)i));
    more = true;
  }
}

/* "with a=i8 it knows b=i8 c=...", or which types A may have. */
static void add_choices(tw_text *t, tw_type a) {
  unsigned all = 0, rows = 0;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    all |= known[i].a;
    if (!has(known[i].a, a)) continue;
    if (!rows++) tw_text_add(t, "with a=%s it knows", tw_type_name(a));
    add_set(t, rows > 1 ? ", or b=" : " b=", known[i].b);
    add_set(t, " c=", known[i].c);
    add_set(t, " acc=", known[i].acc);
  }
  if (!rows) add_set(t, "it knows a=", all);
}

tw_status tw_gemm_check_types(const tw_gemm *g, tw_error *error) {
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (has(known[i].a, g->a) && has(known[i].b, g->b) && has(known[i].c, g->c) && has(known[i].acc, g->acc))
      return TW_OK;
  }
  tw_text choices = {0};
  add_choices(&choices, g->a);
  const tw_status status = tw_fail(error, TW_UNSUPPORTED, "gemm does not support a=%s b=%s c=%s acc=%s; %s",
                                   tw_type_name(g->a), tw_type_name(g->b), tw_type_name(g->c), tw_type_name(g->acc),
                                   choices.data ? choices.data : "out of memory");
  tw_text_free(&choices);
  return status;
}

bool tw_gemm_scaled(tw_type t) { return has(WEIGHTS, t); }

bool tw_gemm_narrow_sums(const tw_gemm *g) { return g->acc == TW_I8 || g->acc == TW_I16; }

tw_status tw_gemm_wide_sums(const char *machine, tw_type acc, tw_error *error) {
  if (acc != TW_I8 && acc != TW_I16 && acc != TW_BF16) return TW_OK;
  return tw_fail(error, TW_UNSUPPORTED, "%s does not support acc=%s; sums of %s", machine, tw_type_name(acc),
                 acc == TW_BF16 ? "real numbers require acc=f32" : "integers require acc=i32");
}

static bool real_a(const tw_gemm *g) {
  return has(REAL | FLOAT8 | FLOAT6 | MX | SET(TW_BFP16) | SET(TW_E4M3FNUZ), g->a);
}

bool tw_gemm_weights_only(const tw_gemm *g) { return real_a(g) && tw_gemm_scaled(g->b); }

/* ---- storage and rounding ---- */

static tw_type block_as_f32(tw_type t) { return has(MX | SET(TW_BFP16), t) ? TW_F32 : t; }

static tw_type stored_b(const tw_gemm *g) {
  if (tw_gemm_weights_only(g)) return TW_F32;
  return g->b == TW_I4 || g->b == TW_TERNARY ? TW_I8 : g->b;
}

/* With A of bf16 a machine may round code times scale to bf16. This is exact for scales that are powers of two. For
 * f32 scales the error is up to 2^-8, half of the last place of 8 bits. */
static double weights_off(const tw_gemm *g) {
  const bool f32_scales = g->b == TW_I8 || g->b == TW_I4 || g->b == TW_TERNARY;
  return tw_gemm_weights_only(g) && g->a == TW_BF16 && f32_scales ? 0x1p-8 : 0;
}

/* The error added by sums in bf16 or bfp16, and by blocks of C. A's elements are at most 1 (uniform inputs), so a
 * sum of them times a column of any length stays below 8 |b|_2 (Hoeffding). The same holds for roundings of A to
 * steps of 2^-7. Each of the k / 8 roundings of sums is off by half a unit of the largest of its block. */
static double blocks_off(const tw_gemm *g) {
  const double roundings = tw_sum_steps((double)g->k / 8);
  double off = 0;
  if (g->a == TW_BF16 && (g->acc == TW_BF16 || g->acc == TW_BFP16)) off += 0x1p-7;
  if ((g->b == TW_BF16 || g->b == TW_I4) && g->acc == TW_BF16) off += 0x1p-7; /* B is rounded likewise */
  if (g->acc == TW_BF16) off += roundings * 0x1p-9;
  if (g->acc == TW_BFP16) off += roundings * 0x1p-7;
  if (g->c == TW_BFP16) off += 0x1p-7;
  return off;
}

/* Matrix units add some products to a sum at once and cut the result instead of rounding it (Fasi, Higham, Mikaitis,
 * Pranesh, Numerical behavior of NVIDIA tensor cores, 2021: 8 products of 16 bits on Ampere, 4 of tf32): each of k / 8
 * steps takes half of the last place off a partial sum, in the mean, always towards 0: 0.72 units of 2^-24 over a
 * binade. The part that is cut has the sign of the products and is at most the walk of k roundings. The mean
 * magnitude of the partial sums of a walk is below 5 |products| but by a chance of e^-30 (numerics.h: q = 25). On an
 * H200 (mma.sync, f16 and bf16) the worst of 65,536 elements was off by 0.75 of u k / 8 |products| at k = 49,152, of
 * the 3.6 that are allowed. */
static double chain_off(const tw_gemm *g) {
  const bool cuts = g->a != TW_F32 || g->arithmetic != TW_ARITHMETIC_FULL;
  return cuts && real_a(g) ? 5 * 0.72 * TW_U32 * ceil((double)g->k / (g->a == TW_F32 ? 4 : 8)) : 0;
}

tw_gemm_numerics tw_gemm_numerics_of(const tw_gemm *g) {
  return (tw_gemm_numerics){
      .a = block_as_f32(g->a),
      .b = stored_b(g),
      .c = block_as_f32(g->c),
      .d = has(INTEGER, g->acc) ? TW_I32
           : has(REAL, g->d)    ? g->d
                                : TW_F32,
      .exact = has(INTEGER, g->c) && !tw_gemm_narrow_sums(g),
      .narrow = tw_gemm_narrow_sums(g) ? ldexp(1, tw_type_bits(g->c) - 1) : 0,
      .real = real_a(g),
      .step = g->a == TW_BF16 ? 2 * TW_U32 : TW_U32, /* products of bf16 may be rounded twice (vdpbf16ps) */
      .weights = weights_off(g),
      .a_step = g->a_rounding != TW_GEMM_A_EXACT ? 0.501 / 127 : 0,
      .of_blocks = blocks_off(g),
      .factors = g->arithmetic == TW_ARITHMETIC_TF32   ? 0x1p-9
                 : g->arithmetic == TW_ARITHMETIC_BF16 ? 0x1p-6
                                                       : 0,
      .cut = g->arithmetic == TW_ARITHMETIC_FAST8 ? tw_sum_steps((double)g->k / 32 + 1) * 0x1p-13 : 0,
      .chain = chain_off(g),
      .unit = g->c == TW_BF16 || g->c == TW_F16 ? tw_unit(g->c) : 0,
      .least = tw_least_real(g->c == TW_F16 ? TW_F16 : TW_F32),
  };
}

/* ---- tolerance ---- */

/* True for plain products of real types if sums stay far below 2^23 (no sum of 49 k comes near it) and no factor
 * needs more than 3 bits. */
bool tw_gemm_has_whole(const tw_gemm *g) {
  const unsigned holds = REAL | SET(TW_E4M3) | SET(TW_E4M3FNUZ) | FLOAT6;
  const bool plain = has(holds, g->a) && has(holds, g->b) && g->acc == TW_F32 && has(REAL, g->c);
  return plain && g->arithmetic == TW_ARITHMETIC_FULL && g->a_rounding == TW_GEMM_A_EXACT && !g->scales &&
         !g->quantize && !tw_gemm_pair_key(g) && g->bias == TW_GEMM_BIAS_NONE && g->scale == 1 && g->k <= 1 << 17;
}

bool tw_gemm_has_terms(const tw_gemm *g) {
  return has(REAL, g->a) && has(REAL, g->b) && g->acc == TW_F32 && has(REAL, g->c) &&
         g->arithmetic == TW_ARITHMETIC_FULL && g->a_rounding == TW_GEMM_A_EXACT && !g->scales && !g->quantize &&
         !g->packed;
}

/* A result of 16 bits would hide this effect. */
bool tw_gemm_has_few(const tw_gemm *g) {
  return tw_gemm_has_whole(g) && has(REAL, g->a) && has(REAL, g->b) && g->c == TW_F32 && g->k >= 64;
}

static double terms_of(const tw_gemm *g, const tw_gemm_sizes *s) {
  return s->terms > 0 ? fmin(s->terms, (double)g->k) : (double)g->k;
}

/* Matrix units add 8 or 4 products at once. With few terms, one. */
static double chain_of(const tw_gemm *g, const tw_gemm_numerics *n, const tw_gemm_sizes *s) {
  return n->chain * fmin(1, 8 * terms_of(g, s) / (double)g->k);
}

/* The error of rounding in the sum: the smaller of two bounds. One holds for any products; the other for products
 * with random signs, which all inputs have (gemm_inputs.c). Products that are 0 are added without rounding. */
static double rounding_off(const tw_gemm *g, const tw_gemm_numerics *n, const tw_gemm_sizes *s) {
  if (s->whole && tw_gemm_has_whole(g)) return 0;
  const double terms = terms_of(g, s);
  const double any = tw_sum_steps(terms) * n->step * (s->products + fabs(s->bias));
  const double walk = (tw_walk_steps(terms) * n->step + chain_of(g, n, s)) * hypot(s->norm, s->bias);
  return fmin(any, walk);
}

/* The same as a mean square over many elements, without the luck of a single element. A sum is a walk of k steps,
 * each with an error that is uniform in +-u of the partial sum. In the mean, the squares of the partial sums add up
 * to k / 2 times the square of the last one. Two thirds of the result are for the roundings of the products. For a
 * matrix unit that cuts, the partial sums are 0.71 of the norm in the mean square, instead of the factor 5 for one
 * element (chain_off). */
static double rounding_mean(const tw_gemm *g, const tw_gemm_numerics *n, const tw_gemm_sizes *s) {
  if (s->whole && tw_gemm_has_whole(g)) return 0;
  const double terms = terms_of(g, s);
  const double any = (sqrt(terms) + 1) * n->step * (s->products + fabs(s->bias));
  const double walk = (sqrt(terms / 6 + 2. / 3) * n->step + 0.71 / 5 * chain_of(g, n, s)) * hypot(s->norm, s->bias);
  return fmin(any, walk);
}

/* Errors other than rounding in the sum. Three units are for scale, bias and conversion. If A becomes int8, the error
 * of each element is at most half a step of (largest magnitude) / 127: in all by at most step / 2 times the sum of |b|,
 * which is at most sqrt(k) |b|_2, and, as Hoeffding's bound for independent errors, by at most 8 step / 2 |b|_2.
 *
 * tf32 cuts 13 bits (bf16 16): both factors of a product are off by up to 2^-10 (2^-7), always towards 0. So each
 * product is off by up to twice that fraction of itself, with the product's sign. Since signs are random, the sum is
 * off by at most 8 |products|_2 times that fraction (Hoeffding). Hopper's matrix unit for 8 bits keeps 14 bits in
 * sums of 32 products (DeepSeek-V3, 2024, section 3.3.2) and cuts lower bits. */
static double besides_off(const tw_gemm *g, const tw_gemm_numerics *n, const tw_gemm_sizes *s) {
  const double scale = fabs((double)g->scale);
  const double sum = g->gelu || !(scale > 0) ? s->products : fmin(s->products, fabs(s->value) / scale);
  double off = 3 * TW_U32 * (sum + fabs(s->bias)) + n->weights * fmin(s->products, 8 * s->norm);
  if (n->a_step > 0) {
    const double norms = fmin(sqrt((double)g->k), 8) * s->column;
    off += n->a_step * s->largest * (s->weights > 0 ? fmin(norms, s->weights) : norms);
  }
  off += n->factors * fmin(s->products, 8 * s->norm) + n->cut * 8 * s->largest * s->column;
  return off + n->of_blocks * 8 * s->column;
}

/* |computed - exact| for one element of a binary32 product with accumulation in any order that does not depend on the
 * values. Integers are exact until they are scaled. */
/* Error bound of scale * (sum + bias) before it is stored. */
static double sum_off(const tw_gemm *g, const tw_gemm_numerics *n, const tw_gemm_sizes *s) {
  if (n->exact) return 0;
  if (!n->real) return 4 * TW_U32 * fabs(s->value);
  return fabs((double)g->scale) * (rounding_off(g, n, s) + besides_off(g, n, s));
}

/* besides_off as a root mean square over many elements: each part without the safety factor of a single element.
 * Roundings to steps are uniform: 0.58 of their maximum. Roundings of weights are relative to a number in [1, 2): 0.41
 * of their maximum. Half of a cut acts on the sum itself, the other half at random. */
static double besides_mean(const tw_gemm *g, const tw_gemm_numerics *n, const tw_gemm_sizes *s) {
  const double scale = fabs((double)g->scale), size = s->largest * s->column;
  const double sum = g->gelu || !(scale > 0) ? s->products : fmin(s->products, fabs(s->value) / scale);
  double off = 3 * TW_U32 * (sum + fabs(s->bias)) + 0.41 * n->weights * fmin(s->products, s->norm);
  off += 0.58 * n->a_step * size + n->factors * fmin(s->products, s->norm) + n->cut * size;
  return off + n->of_blocks * s->column;
}

/* One safety factor: eight standard deviations (Hoeffding) of a sum with random signs, given the elements' errors.
 * With the same probability the norm of these errors is above its mean by a factor of at most 1 + 8 / sqrt(r). r is
 * the number of independent errors: the columns, or k if there are more columns than that. */
double tw_gemm_signed_off(const tw_gemm *g, const tw_gemm_numerics *n, const tw_gemm_sizes *s, double count) {
  if (n->exact) return 0;
  if (!n->real) return 8 * sqrt(count) * 4 * TW_U32 * fabs(s->value);
  const double above = fmin(8, 1 + 8 / sqrt(fmin(count, (double)g->k)));
  return fabs((double)g->scale) * 8 * sqrt(count) * above * (rounding_mean(g, n, s) + besides_mean(g, n, s));
}

/* GELU multiplies an error by at most 1.13. Its own error is 8 u of binary32. For results of 16 bits, tanh of GPUs
 * adds 2^-11 of its value, which counts for |x| up to 4. */
static double gelu_off(const tw_gemm *g, double value, double off) {
  const double size = fmax(fabs(value), 4);
  return 1.13 * off + size * (g->c == TW_F32 ? 8 * TW_U32 : 0x1p-12);
}

/* For act(gate) up: the slope of each act is below 1.13. Its own error: as in gelu_off, for the product. */
double tw_gemm_glu_tolerance(const tw_gemm *g, const tw_gemm_numerics *n, double gate, double up, double gate_off,
                             double up_off) {
  const double acted = tw_gemm_act(g->glu, gate), own = g->c == TW_F32 ? 32 * TW_U32 : 0x1p-12;
  const double off = 1.13 * gate_off * (fabs(up) + up_off) + fabs(acted) * up_off +
                     own * fmax(fabs(acted), g->glu == TW_GLU_SILU ? 0 : fmin(fabs(gate), 4)) * fabs(up);
  return tw_gemm_real_tolerance(n, acted * up, off);
}

double tw_gemm_real_tolerance(const tw_gemm_numerics *n, double value, double off) {
  return off + n->unit * (fabs(value) + off) + n->least;
}

/* Sums that are kept in 8 or 16 bits are rounded up to once for every 8 of k, each time by half a unit at most
 * (Hoeffding). This holds if no partial sum comes near the range. If one may (a walk, numerics.h), saturation can
 * give any result; then a target compares with its own definition. */
static double narrow_off(const tw_gemm *g, const tw_gemm_numerics *n, const tw_gemm_sizes *s) {
  const double reach = fabs((double)g->scale) * 12 * s->norm + fabs(s->value),
               roundings = tw_sum_steps((double)g->k / 8);
  return reach + roundings < n->narrow ? roundings / 2 + 1 : 2 * n->narrow;
}

double tw_gemm_off(const tw_gemm *g, const tw_gemm_numerics *n, const tw_gemm_sizes *s) {
  const double off = sum_off(g, n, s);
  return g->gelu ? gelu_off(g, s->value, off) : off;
}

/* A result of 16 bits has an error of half a unit of its own, or one unit more where the sum has an error. */
double tw_gemm_tolerance(const tw_gemm *g, const tw_gemm_numerics *n, const tw_gemm_sizes *s, bool stored) {
  if (n->exact) return 0;
  if (n->narrow > 0) return narrow_off(g, n, s);
  const double off = tw_gemm_off(g, n, s);
  const double blocks = fabs((double)g->scale) * n->of_blocks * 8 * s->column;
  return off + n->unit * (fabs(s->value) + off - blocks) * (stored ? 2 : 1) + n->least;
}
