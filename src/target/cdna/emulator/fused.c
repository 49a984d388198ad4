/* fused.c - see fused.h. */
#include "target/cdna/emulator/fused.h"

#include <math.h>

#include "base/bits.h"

enum { ZERO_EXPONENT = -126, FAR = 100 };

int cdna_fused_group(cdna_arch arch, const cdna_mfma *m) {
  if (arch != CDNA3 || cdna_mfma_is_sparse(m)) return 0;
  switch (m->a) {
  case CDNA_F16:
  case CDNA_BF16: return m->k < 8 ? m->k : 8;
  case CDNA_FP8:
  case CDNA_BF8: return 16;
  case CDNA_XF32: return 4;
  default: return 0;
  }
}

/* Exponent of the smallest normal number. */
static int least_exponent(cdna_type type) {
  return type == CDNA_F16 ? -14 : type == CDNA_FP8 ? -7 : type == CDNA_BF8 ? -15 : -126;
}

static inline int exponent_of(float v, int least) {
  const int e = (int)(tw_bits_of(v) >> 23 & 0xFF) - 127;
  return v == 0 ? ZERO_EXPONENT : e < least ? least : e;
}

/* Cuts toward zero, or downward, to a number of bits below 2^exponent. */
static double cut(double v, int bits, int exponent) { return ldexp(trunc(ldexp(v, bits - exponent)), exponent - bits); }
static double floored(double v, int bits, int exponent) {
  return ldexp(floor(ldexp(v, bits - exponent)), exponent - bits);
}

typedef struct part {
  double sum;
  int exponent;
} part;

static part add_products(const cdna_fused *x, int i, int j, int first, int last, int step) {
  part p = {0, -100000};
  for (int k = first; k < last; k += step) {
    const int e = x->a_exponent[k * x->of.m + i] + x->b_exponent[k * x->of.n + j];
    p.exponent = e > p.exponent ? e : p.exponent;
  }
  for (int k = first; k < last; k += step)
    p.sum += cut((double)x->of.a[k * x->of.m + i] * x->of.b[k * x->of.n + j], 24, p.exponent);
  return p;
}

/* One element of one group, for any numbers. */
static float fuse_element(const cdna_fused *x, int i, int j, int first, float c) {
  const int last = first + x->group;
  if (isnan(c)) return c + c; /* quiet */
  double plain = 0;
  bool up = false, down = false;
  for (int k = first; k < last; k++) {
    const double product = (double)x->of.a[k * x->of.m + i] * x->of.b[k * x->of.n + j];
    plain += product;
    up |= product >= 0x1p128;
    down |= product <= -0x1p128;
  }
  plain += (double)c;
  if (!isfinite(plain)) return (float)plain;
  if (up || down) return up && down ? NAN : up ? INFINITY : -INFINITY;
  part p = add_products(x, i, j, first, last, x->halves ? 2 : 1);
  if (x->halves) {
    const part q = add_products(x, i, j, first + 1, last, 2);
    const int e = p.exponent > q.exponent ? p.exponent : q.exponent;
    p = (part){floored(p.sum, 24, e) + floored(q.sum, 24, e), e};
  }
  const int of_c = exponent_of(c, -126), e = p.exponent > of_c ? p.exponent : of_c;
  const double addend = x->halves && of_c < e - 25 ? 0 : floored((double)c, 24, e);
  return (float)(floored(p.sum, 31, e) + addend);
}

static int whole_of(const cdna_lane_kit *kit, cdna_factor *f, int n, cdna_type type) {
  if (!f->has_whole) f->whole = kit->whole_exponent(f->item, n, least_exponent(type));
  f->has_whole = true;
  return f->whole;
}

static void find_exponents(const cdna_lane_kit *kit, cdna_factor *f, int n, cdna_type type) {
  if (!f->has_exponents) kit->exponents(f->item, n, least_exponent(type), f->exponent, &f->low, &f->most);
  f->has_exponents = true;
}

/* Multiplies rows while their numbers have so few bits that nothing is cut. Returns the number of rows. */
static int multiply_whole(const cdna_lane_kit *kit, const cdna_mfma *m, const cdna_product *of, cdna_factor *a,
                          cdna_factor *b, int group) {
  if (m->n % 16) return 0;
  const int p = whole_of(kit, a, m->m * m->k, m->a);
  const int q = p == CDNA_NOT_WHOLE ? p : whole_of(kit, b, m->n * m->k, m->b);
  return q == CDNA_NOT_WHOLE ? 0 : kit->multiply_whole(of, group, p + q);
}

void cdna_fused_multiply(const cdna_lane_kit *kit, const cdna_mfma *m, const cdna_product *of, cdna_factor *a,
                         cdna_factor *b, int group) {
  const cdna_fused x = {.of = *of,
                        .a_exponent = a->exponent,
                        .b_exponent = b->exponent,
                        .group = group,
                        .halves = group == 16,
                        .done = multiply_whole(kit, m, of, a, b, group)};
  if (x.done == m->m) return;
  find_exponents(kit, a, m->m * m->k, m->a);
  find_exponents(kit, b, m->n * m->k, m->b);
  if (m->n % 16 == 0 && a->low + b->low > -FAR && a->most + b->most < FAR && a->most < 128 && b->most < 128 &&
      kit->are_near(of->c, m->blocks * m->m * m->n)) {
    kit->fuse(&x);
    return;
  }
  for (int i = x.done; i < m->m; i++)
    for (int j = 0; j < m->n; j++) {
      float c = tw_float_of(of->c[of->at[i] + j]);
      for (int first = 0; first < m->k; first += group) c = fuse_element(&x, i, j, first, c);
      of->d[of->at[i] + j] = tw_bits_of(c);
    }
}
