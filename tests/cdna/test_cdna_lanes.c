/* test_cdna_lanes.c - what vector instructions compute on 64 lanes: conversions of 16, 8, 6 and 4 bits exhaustively
 * against definitions in double, sums and products of binary16 against the exact value rounded once, integers against
 * plain C, and the same result from every set of functions. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#include "base/random.h"
#include "target/cdna/lanes/half.h"
#include "target/cdna/lanes/lanes.h"
#include "target/cdna/lanes/small.h"

enum { ROWS = 4 * CDNA_LANES };

static const cdna_lane_kit *kits[3];
static int n_kits;

static void find_kits(void) {
  static const char *const isa[] = {"portable", "avx2", "avx512"};
  for (int i = 0; i < 3; i++) {
    setenv("TILEWRIGHT_CDNA_ISA", isa[i], 1);
    const cdna_lane_kit *k = cdna_kit();
    if (!strcmp(k->isa, isa[i])) kits[n_kits++] = k;
  }
  unsetenv("TILEWRIGHT_CDNA_ISA");
}

static const cdna_lane_entry *find(const cdna_lane_kit *k, const char *name) {
  for (size_t i = 0; i < k->n; i++)
    if (!strcmp(k->entry[i].name, name)) return &k->entry[i];
  fail_msg("no function %s", name);
  return NULL;
}

static void run(const cdna_lane_kit *k, const char *name, cdna_arch arch, const uint32_t *a, const uint32_t *b,
                const uint32_t *c, uint32_t *d) {
  cdna_lanes x = {.d = d, .s = {a, b, c}, .arch = arch, .old = d};
  find(k, name)->run(&x);
}

/* The number nearest to v of those that a format of these many bits has: ties to the even code; no limit above. */
static double rounded(double v, int fraction, int smallest) {
  if (v == 0) return v;
  int e;
  (void)frexp(v, &e);
  if (e - 1 < smallest) e = smallest + 1;
  const double unit = ldexp(1, e - 1 - fraction);
  return nearbyint(v / unit) * unit;
}
static double half_value(uint32_t h) {
  const int e = (int)(h >> 10 & 31);
  const double m = (double)(h & 1023);
  const double v = e == 31 ? (m != 0 ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
  return h >> 15 ? -v : v;
}
static double half_of(double v) {
  const double r = rounded(v, 10, -14);
  return fabs(r) >= 65520 ? copysign(INFINITY, v) : r;
}
static bool same(double p, double q) { return (isnan(p) && isnan(q)) || (p == q && signbit(p) == signbit(q)); }

static void test_binary16_to_and_from_binary32(void **state) {
  tw_random r;
  tw_random_seed(&r, 1);
  for (uint32_t h = 0; h < 65536; h++) {
    assert_true(same((double)cdna_half_value(h), half_value(h)));
    if (!isnan(half_value(h))) assert_int_equal(cdna_half_bits(cdna_half_value(h)), h);
  }
  for (int i = 0; i < 400000; i++) {
    /* near the numbers of binary16, where rounding decides */
    const uint32_t near = tw_bits_of(cdna_half_value((uint32_t)tw_random_below(&r, 65536)));
    const float v = tw_float_of(i & 1 ? (uint32_t)tw_random_next(&r) : near + (uint32_t)tw_random_below(&r, 8193));
    if (isnan(v)) continue;
    if (!same(half_value(cdna_half_bits(v)), half_of((double)v)))
      fail_msg("%a becomes %04x", (double)v, cdna_half_bits(v));
    const double cut = half_value(cdna_half_bits_toward_zero(v));
    assert_true(fabs(cut) <= fabs((double)v) && (isinf(v) || fabs(cut) <= 65504));
    if (fabs((double)v) < 65504)
      assert_true(fabs((double)v) - fabs(cut) < fmax(ldexp(fabs((double)v), -10), ldexp(1, -24)));
  }
}

static void test_small_formats_are_exhaustive(void **state) {
  for (int s = 0; s < CDNA_SMALLS; s++) {
    const cdna_small_format f = cdna_small_of((cdna_small)s);
    double largest = 0;
    for (uint32_t code = 0; code < 1u << f.bits; code++) {
      const float v = cdna_small_value((cdna_small)s, code);
      if (!isfinite(v)) continue;
      largest = fmax(largest, (double)v);
      assert_int_equal(cdna_small_code((cdna_small)s, v, false), code);
      /* what lies between two neighbours goes to the nearer one, and from the middle to the even code */
      const uint32_t up = code + 1;
      if ((code & ((1u << (f.bits - 1)) - 1)) >= f.largest) continue;
      const float next = cdna_small_value((cdna_small)s, up), middle = 0.5f * (v + next);
      assert_int_equal(cdna_small_code((cdna_small)s, middle, false), code & 1 ? up : code);
      assert_int_equal(cdna_small_code((cdna_small)s, nextafterf(middle, next), false), up);
      assert_int_equal(cdna_small_code((cdna_small)s, nextafterf(middle, v), false), code);
    }
    static const double known[CDNA_SMALLS] = {240, 57344, 448, 57344, 7.5, 28, 6};
    assert_true(largest == known[s]);
    assert_int_equal(cdna_small_code((cdna_small)s, 1e9f, true), f.largest);
  }
  assert_int_equal(cdna_small_code(CDNA_FP8_FNUZ, 1e9f, false), 0x80);
  assert_int_equal(cdna_small_code(CDNA_FP8_FNUZ, -0.0f, false), 0);
  assert_int_equal(cdna_small_code(CDNA_FP8_OCP, -1e9f, false), 0xFF);
  assert_int_equal(cdna_small_code(CDNA_BF8_OCP, 1e9f, false), 0x7C);
  assert_int_equal(cdna_small_code(CDNA_FP4_MX, NAN, false) & 7, 7);
}

/* Items of matrices, at each place of a dword and across two: all codes of all formats. */
static void test_items_of_matrices_are_exhaustive(void **state) {
  for (int n = 0; n < n_kits; n++)
    for (int s = 0; s < CDNA_SMALLS; s++) {
      const int bits = cdna_small_of((cdna_small)s).bits;
      float table[256], out[8 * CDNA_LANES];
      uint16_t to[8 * CDNA_LANES];
      for (uint32_t code = 0; code < 1u << bits; code++) table[code] = cdna_small_value((cdna_small)s, code);
      cdna_items x = cdna_small_items((cdna_small)s, table);
      for (uint32_t code = 0; code < 1u << bits; code++)
        for (int at = 0; at < 32; at += bits) {
          uint32_t row[2 * CDNA_LANES];
          x.row = row;
          x.spacing = bits;
          x.n = 32 % bits ? at / bits + 1 : 32 / bits; /* whole dwords, which AVX-512 converts at once */
          x.at = to;
          for (int l = 0; l < CDNA_LANES; l++) {
            const uint64_t dwords = (uint64_t)code << at | ~((uint64_t)((1u << bits) - 1) << at);
            row[l] = (uint32_t)dwords;
            row[l + CDNA_LANES] = (uint32_t)(dwords >> 32);
            for (int e = 0; e < x.n; e++) to[l * x.n + e] = (uint16_t)((x.n - 1 - e) * CDNA_LANES + l);
          }
          kits[n]->unpack(&x, out);
          for (int l = 0; l < CDNA_LANES; l++)
            if (memcmp(&out[(x.n - 1 - at / bits) * CDNA_LANES + l], &table[code], sizeof *out) != 0)
              fail_msg("%s: format %d, code %u", kits[n]->isa, s, code);
        }
    }
}

static void test_fp8_of_each_machine(void **state) {
  uint32_t a[ROWS], b[ROWS], d[ROWS];
  for (int k = 0; k < n_kits; k++) {
    for (int l = 0; l < CDNA_LANES; l++) a[l] = tw_bits_of(1.0f), b[l] = tw_bits_of(-2.0f);
    run(kits[k], "v_cvt_pk_fp8_f32", CDNA3, a, b, b, d);
    assert_int_equal(d[5], 0xC840); /* 1.0 is 0x40 with the bias of 8 */
    run(kits[k], "v_cvt_pk_fp8_f32", CDNA4, a, b, b, d);
    assert_int_equal(d[5], 0xC038);
  }
}

static void test_binary16_arithmetic_rounds_once(void **state) {
  tw_random r;
  uint32_t a[ROWS], b[ROWS], c[ROWS], d[ROWS];
  for (int k = 0; k < n_kits; k++) {
    tw_random_seed(&r, 2);
    for (int i = 0; i < 600; i++) {
      for (int l = 0; l < CDNA_LANES; l++) {
        a[l] = (uint32_t)tw_random_below(&r, 65536), b[l] = (uint32_t)tw_random_below(&r, 65536);
        c[l] = (uint32_t)tw_random_below(&r, 65536);
      }
      run(kits[k], "v_add_f16", CDNA3, a, b, c, d);
      for (int l = 0; l < CDNA_LANES; l++)
        assert_true(same(half_value(d[l]), half_of(half_value(a[l]) + half_value(b[l]))) || isnan(half_value(a[l])) ||
                    isnan(half_value(b[l])) || isinf(half_value(a[l])) || isinf(half_value(b[l])));
      run(kits[k], "v_mul_f16", CDNA3, a, b, c, d);
      for (int l = 0; l < CDNA_LANES; l++) {
        const double exact = half_value(a[l]) * half_value(b[l]);
        assert_true(isnan(exact) || isinf(exact) || same(half_value(d[l]), half_of(exact)));
      }
      run(kits[k], "v_fma_f16", CDNA3, a, b, c, d);
      for (int l = 0; l < CDNA_LANES; l++) {
        /* 80 bits hold the sum of a product of 22 bits and of 11 bits unless they lie far apart: a long double has
         * 64 */
        const long double exact = (long double)half_value(a[l]) * half_value(b[l]) + (long double)half_value(c[l]);
        if (isnan((double)exact) || isinf((double)exact)) continue;
        if (!same(half_value(d[l] & 0xFFFF), half_of((double)exact)) && fabsl(exact - (long double)(double)exact) == 0)
          fail_msg("fma of %04x %04x %04x is %04x", a[l], b[l], c[l], d[l]);
      }
    }
  }
}

static void test_integers(void **state) {
  tw_random r;
  uint32_t a[ROWS], b[ROWS], c[ROWS], d[ROWS];
  for (int k = 0; k < n_kits; k++) {
    tw_random_seed(&r, 4);
    for (int i = 0; i < 50; i++) {
      for (int l = 0; l < ROWS; l++) {
        static const uint32_t special[] = {0, 1, 31, 32, 0x7FFFFFFF, 0x80000000u, 0xFFFFFFFFu, 0xFFFF};
        const bool plain = tw_random_below(&r, 3);
        a[l] = plain ? (uint32_t)tw_random_next(&r) : special[tw_random_below(&r, 8)];
        b[l] = plain ? (uint32_t)tw_random_next(&r) : special[tw_random_below(&r, 8)];
        c[l] = plain ? (uint32_t)tw_random_next(&r) : special[tw_random_below(&r, 8)];
      }
#define EXPECT(name_, ...)                                                                                             \
  run(kits[k], name_, CDNA3, a, b, c, d);                                                                              \
  for (int l = 0; l < CDNA_LANES; l++) {                                                                               \
    const uint32_t A = a[l], B = b[l], C = c[l];                                                                       \
    (void)A, (void)B, (void)C;                                                                                         \
    assert_int_equal(d[l], (uint32_t)(__VA_ARGS__));                                                                   \
  }
      EXPECT("v_add3_u32", (uint64_t)A + B + C)
      EXPECT("v_lshl_add_u32", (uint64_t)A * (1ull << B % 32) + C)
      EXPECT("v_mul_hi_u32", ((unsigned __int128)A * B) >> 32)
      EXPECT("v_mul_hi_i32", (uint64_t)((__int128)(int32_t)A * (int32_t)B >> 32))
      EXPECT("v_mad_i32_i24", (int64_t)((int32_t)(A << 8) / 256) * ((int32_t)(B << 8) / 256) + C)
      EXPECT("v_bfe_u32", C % 32 ? (uint64_t)A >> B % 32 & ((1ull << C % 32) - 1) : 0)
      EXPECT("v_bfe_i32", ({
               const uint32_t width = C % 32, offset = B % 32;
               int64_t v = width ? (int64_t)(int32_t)A >> offset & ((1ll << width) - 1) : 0;
               if (width && v >> (width - 1) & 1) v -= 1ll << width;
               v;
             }))
      EXPECT("v_alignbit_b32", ((unsigned __int128)A << 32 | B) >> C % 32)
      EXPECT("v_ashrrev_i32", (int64_t)(int32_t)B >> A % 32)
      EXPECT("v_med3_i32", ({
               int32_t v[3] = {(int32_t)A, (int32_t)B, (int32_t)C};
               for (int p = 0; p < 2; p++)
                 for (int q = 0; q < 2 - p; q++)
                   if (v[q] > v[q + 1]) {
                     const int32_t t = v[q];
                     v[q] = v[q + 1];
                     v[q + 1] = t;
                   }
               v[1];
             }))
      EXPECT("v_med3_u16", ({
               const uint16_t p = (uint16_t)A, q = (uint16_t)B, last = (uint16_t)C, most = p > q ? p : q;
               const uint16_t least = p > q ? q : p;
               last > most ? most : last < least ? least : last;
             }))
      EXPECT("v_min3_i16", ({
               const int16_t p = (int16_t)A, q = (int16_t)B, last = (int16_t)C, least = p < q ? p : q;
               (uint16_t)(last < least ? last : least);
             }))
#define PERMUTED                                                                                                       \
  ({                                                                                                                   \
    uint32_t v = 0;                                                                                                    \
    for (int n = 0; n < 4; n++) {                                                                                      \
      const uint32_t s = C >> 8 * n & 0xFF;                                                                            \
      const uint32_t byte = s < 4     ? B >> 8 * s                                                                     \
                            : s < 8   ? A >> 8 * (s - 4)                                                               \
                            : s < 10  ? (B >> (16 * (s - 8) + 15) & 1 ? 0xFF : 0)                                      \
                            : s < 12  ? (A >> (16 * (s - 10) + 15) & 1 ? 0xFF : 0)                                     \
                            : s == 12 ? 0                                                                              \
                                      : 0xFF;                                                                          \
      v |= (byte & 0xFF) << 8 * n;                                                                                     \
    }                                                                                                                  \
    v;                                                                                                                 \
  })
      EXPECT("v_perm_b32", PERMUTED)
      static const uint32_t selectors[] = {0x07060302, 0x05040100, 0x0C0C0D00, 0x0B0A0908, 0x0306FF0C, 0x00000008};
      for (size_t x = 0; x < sizeof selectors / sizeof *selectors; x++) { /* the same in all lanes */
        uint32_t kept[CDNA_LANES];
        memcpy(kept, c, sizeof kept);
        for (int l = 0; l < CDNA_LANES; l++) c[l] = selectors[x];
        EXPECT("v_perm_b32", PERMUTED)
        memcpy(c, kept, sizeof kept);
      }
#undef PERMUTED
      EXPECT("v_bfrev_b32", ({
               uint32_t v = 0;
               for (int n = 0; n < 32; n++) v |= (A >> n & 1) << (31 - n);
               v;
             }))
    }
  }
}

/* min and max of f32: a number beats NaN, -0 is below +0, and a signaling NaN comes out quiet. */
/* Saturating sums against wide arithmetic, bytes and halves one by one, over random operands and the ends of ranges. */
static int64_t within(int64_t v, int64_t least, int64_t most) { return v < least ? least : v > most ? most : v; }
static int compare_integers(const void *p, const void *q) { return *(const int *)p - *(const int *)q; }
static void test_what_is_rare(void **state) {
  static const uint32_t ends[] = {0, 1, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000u, 0xFFFFFFFFu};
  tw_random r;
  tw_random_seed(&r, 21);
  for (int n = 0; n < n_kits; n++)
    for (int round = 0; round < 40; round++) {
      uint32_t a[ROWS], b[ROWS], c[ROWS], d[ROWS] = {0};
      for (int l = 0; l < ROWS; l++) {
        a[l] = tw_random_below(&r, 3) ? (uint32_t)tw_random_next(&r) : ends[tw_random_below(&r, 8)];
        b[l] = tw_random_below(&r, 3) ? (uint32_t)tw_random_next(&r) : ends[tw_random_below(&r, 8)];
        c[l] = tw_random_below(&r, 3) ? (uint32_t)tw_random_next(&r) : ends[tw_random_below(&r, 8)];
      }
#define EACH(name_, ...)                                                                                               \
  run(kits[n], name_, CDNA4, a, b, c, d);                                                                              \
  for (int l = 0; l < CDNA_LANES; l++) {                                                                               \
    const int64_t p = (int32_t)a[l], q = (int32_t)b[l], s = (int32_t)c[l];                                             \
    const int p16 = (int16_t)a[l], q16 = (int16_t)b[l], s16 = (int16_t)c[l];                                           \
    (void)p, (void)q, (void)s, (void)p16, (void)q16, (void)s16;                                                        \
    const uint32_t right = (uint32_t)(__VA_ARGS__);                                                                    \
    if (d[l] != right) fail_msg("%s, %s: %x %x %x is %x, not %x", kits[n]->isa, name_, a[l], b[l], c[l], d[l], right); \
  }
      EACH("v_add_u32_clamp", within((int64_t)a[l] + b[l], 0, UINT32_MAX))
      EACH("v_subrev_u32_clamp", within((int64_t)b[l] - a[l], 0, UINT32_MAX))
      EACH("v_add_i32_clamp", within(p + q, INT32_MIN, INT32_MAX))
      EACH("v_sub_i32_clamp", within(p - q, INT32_MIN, INT32_MAX))
      EACH("v_sub_i16_clamp", within(p16 - q16, INT16_MIN, INT16_MAX) & 0xFFFF)
      EACH("v_add_i16", (a[l] + b[l]) & 0xFFFF)
      EACH("v_mad_i16", (p16 * q16 + s16) & 0xFFFF)
      EACH("v_med3_i16", ({
             int three[] = {p16, q16, s16};
             qsort(three, 3, sizeof *three, compare_integers);
             three[1] & 0xFFFF;
           }))
      EACH("v_max3_u16", ({
             int three[] = {p16 & 0xFFFF, q16 & 0xFFFF, s16 & 0xFFFF};
             qsort(three, 3, sizeof *three, compare_integers);
             three[2];
           }))
      EACH("v_lerp_u8", ({
             uint32_t sum = 0;
             for (int k = 3; k >= 0; k--)
               sum = sum << 8 | ((a[l] >> 8 * k & 255) + (b[l] >> 8 * k & 255) + (c[l] >> 8 * k & 1)) / 2;
             sum;
           }))
      EACH("v_msad_u8", ({
             uint32_t sum = c[l];
             for (int k = 0; k < 4; k++) {
               const int x = (int)(a[l] >> 8 * k & 255), y = (int)(b[l] >> 8 * k & 255);
               if (y) sum += (uint32_t)abs(x - y);
             }
             sum;
           }))
      EACH("v_ashr_pk_i8_i32", ({
             const int shift = (int)(c[l] & 31);
             ((uint32_t)within(p >> shift, -128, 127) & 255) | ((uint32_t)within(q >> shift, -128, 127) & 255) << 8;
           }))
      EACH("v_prng_b32", (a[l] << 1) ^ (a[l] >> 31) * 197)
#undef EACH
      run(kits[n], "v_div_fixup_f16", CDNA4, a, b, c, d);
      for (int l = 0; l < CDNA_LANES; l++) {
        const double den = half_value(b[l] & 0xFFFF), num = half_value(c[l] & 0xFFFF), right = num / den,
                     got = half_value(d[l]);
        if (isnan(right)                 ? !isnan(got)
            : isinf(right) || right == 0 ? memcmp(&right, &got, sizeof got) != 0
                                         : signbit(right) != signbit(got))
          fail_msg("%a / %a is %a", num, den, got);
      }
      run(kits[n], "v_ldexp_f16", CDNA4, a, b, c, d);
      for (int l = 0; l < CDNA_LANES; l++) {
        const double v = half_value(a[l] & 0xFFFF);
        const int e = (int16_t)b[l];
        const double right = isfinite(v) && v != 0 ? half_of(ldexp(v, e < -60 ? -60 : e > 60 ? 60 : e)) : v;
        if (isnan(right) ? !isnan(half_value(d[l])) : half_value(d[l]) != right) fail_msg("ldexp(%a, %d)", v, e);
      }
    }
}

static void test_minimum_and_maximum(void **state) {
  static const struct {
    uint32_t a, b, least, most;
  } cases[] = {
      {0x3F800000, 0x40000000, 0x3F800000, 0x40000000},
      {0x80000000, 0, 0x80000000, 0},
      {0, 0x80000000, 0x80000000, 0},
      {0x7FC00001, 0x3F800000, 0x3F800000, 0x3F800000},
      {0x3F800000, 0x7FC00001, 0x3F800000, 0x3F800000},
      {0x7F800001, 0x3F800000, 0x7FC00001, 0x7FC00001},
      {0xFF800000, 0x7F800000, 0xFF800000, 0x7F800000},
      {0xBF800000, 0xC0000000, 0xC0000000, 0xBF800000},
  };
  uint32_t a[ROWS], b[ROWS], d[ROWS];
  for (int k = 0; k < n_kits; k++)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      for (int l = 0; l < CDNA_LANES; l++) a[l] = cases[i].a, b[l] = cases[i].b;
      run(kits[k], "v_min_f32", CDNA3, a, b, b, d);
      assert_int_equal(d[63], cases[i].least);
      run(kits[k], "v_max_f32", CDNA3, a, b, b, d);
      assert_int_equal(d[0], cases[i].most);
    }
}

static void test_exponentials_are_rounded_well(void **state) {
  tw_random r;
  uint32_t a[ROWS], d[ROWS];
  for (int k = 0; k < n_kits; k++) {
    tw_random_seed(&r, 5);
    for (int i = 0; i < 200; i++) {
      for (int l = 0; l < CDNA_LANES; l++) a[l] = tw_bits_of((float)(tw_random_real(&r) * 277 - 150));
      run(kits[k], "v_exp_f32", CDNA3, a, a, a, d);
      for (int l = 0; l < CDNA_LANES; l++) {
        const double exact = exp2((double)tw_float_of(a[l]));
        assert_true(fabs((double)tw_float_of(d[l]) - exact) <= 0.51 * fmax(exact * 0x1p-23, 0x1p-149));
      }
    }
  }
}

/* A number of `bits` bits of fraction whose exponent is near `of`, among them zeros and, for C, subnormals. */
static uint32_t near(tw_random *r, int of, int spread, int bits) {
  const int e = of + (int)tw_random_between(r, -spread, spread);
  const uint32_t fraction = (uint32_t)tw_random_next(r) & 0x7FFFFFu & ~((1u << (23 - bits)) - 1);
  if (tw_random_below(r, 8) == 0) return (uint32_t)tw_random_below(r, 2) << 31;
  return (uint32_t)tw_random_below(r, 2) << 31 | (uint32_t)(e < -126 ? 0 : e + 127) << 23 | fraction;
}

/* Rows without a cut are those of the general loops. Returns their number. */
static int check_whole_rows(const cdna_lane_kit *kit, const cdna_product *of, int group, const int least[2],
                            const uint32_t *expected) {
  static uint32_t d[32 * 32];
  cdna_product p = *of;
  p.d = d;
  const int left = kit->whole_exponent(p.a, p.m * p.k, least[0]), right = kit->whole_exponent(p.b, p.n * p.k, least[1]);
  const bool whole = left != CDNA_NOT_WHOLE && right != CDNA_NOT_WHOLE;
  const int done = whole ? kit->multiply_whole(&p, group, left + right) : 0;
  assert_true(done >= 0 && done <= of->m);
  assert_memory_equal(d, expected, (size_t)(done * of->n) * sizeof *d);
  return done;
}

/* Sums of CDNA3's matrix units: the portable functions follow the published rules (test_cdna_mfma). */
static void test_sums_of_products_are_the_same_in_all_sets(void **state) {
  enum { TIMES = 400, SIZE = 32, DEPTH = 16 };
  static const int least[] = {-14, -126};
  static const struct {
    int size, depth, group, bits;
  } shapes[] = {{32, 8, 8, 7}, {16, 16, 8, 7}, {16, 4, 4, 7}, {32, 16, 16, 3}, {16, 8, 4, 10}};
  static float a[SIZE * DEPTH], b[SIZE * DEPTH];
  static int32_t ea[3][SIZE * DEPTH], eb[3][SIZE * DEPTH];
  static uint32_t c[SIZE * SIZE], d[3][SIZE * SIZE];
  uint16_t at[SIZE];
  int whole[3] = {0}, near_ones = 0;
  tw_random r;
  tw_random_seed(&r, 6);
  for (int turn = 0; turn < TIMES; turn++)
    for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++) {
      const int size = shapes[n].size, items = size * shapes[n].depth;
      const bool few = turn % 4 == 2; /* bits, so that nothing is cut before C is far above the products */
      const int spread = (int)tw_random_below(&r, few ? 3 : 14), of = (int)tw_random_between(&r, -13, 30);
      const int of_c = few ? of / 2 + (int)tw_random_between(&r, -8, 40) : (int)tw_random_between(&r, -140, 100);
      int low[3], high[3];
      for (int i = 0; i < items; i++) {
        a[i] = tw_float_of(near(&r, of, spread, shapes[n].bits));
        b[i] = tw_float_of(near(&r, -of / 2, spread, shapes[n].bits));
      }
      /* the largest sums, and a C that nearly cancels them */
      const bool extreme = turn % 8 == 5;
      const uint32_t ones = ((1u << shapes[n].bits) - 1) << (23 - shapes[n].bits);
      for (int i = 0; i < items && extreme; i++) {
        a[i] = tw_float_of((uint32_t)(of + 127) << 23 | ones);
        b[i] = tw_float_of((uint32_t)(127 - of / 2) << 23 | ones | (i % size % 2 ? 1u << 31 : 0));
      }
      for (int i = 0; i < size * size && extreme; i++) c[i] = near(&r, of - of / 2 + 6, 2, 23);
      for (int i = 0; i < size * size && !extreme; i++)
        c[i] = near(&r, turn & 1 ? of / 2 : of_c, few ? 3 : 12, few ? 14 : 23);
      for (int i = 0; i < size; i++) at[i] = (uint16_t)(i * size);
      const bool is_near = kits[0]->are_near(c, size * size);
      for (int k = 0; k < n_kits; k++) {
        kits[k]->exponents(a, items, least[0], ea[k], &low[k], &high[k]);
        kits[k]->exponents(b, items, least[1], eb[k], &low[k], &high[k]);
        const cdna_product product = {
            .d = d[k], .c = c, .at = at, .a = a, .b = b, .m = size, .n = size, .k = shapes[n].depth};
        kits[k]->fuse(&(cdna_fused){.of = product,
                                    .a_exponent = ea[k],
                                    .b_exponent = eb[k],
                                    .group = shapes[n].group,
                                    .halves = shapes[n].group == 16});
        assert_memory_equal(ea[k], ea[0], (size_t)items * sizeof **ea);
        assert_memory_equal(eb[k], eb[0], (size_t)items * sizeof **eb);
        assert_int_equal(low[k], low[0]);
        assert_int_equal(high[k], high[0]);
        assert_int_equal(kits[k]->are_near(c, size * size), is_near);
        if (is_near) assert_memory_equal(d[k], d[0], (size_t)(size * size) * sizeof **d);
        near_ones += is_near;
        whole[k] += check_whole_rows(kits[k], &product, shapes[n].group, least, d[0]);
      }
    }
  assert_in_range(near_ones, TIMES * n_kits * 3, TIMES * n_kits * 5 - 1);
  for (int k = 0; k < n_kits; k++)
    if (strcmp(kits[k]->isa, "portable") != 0) assert_in_range(whole[k], TIMES, TIMES / 4 * (2 * 32 + 3 * 16));
}

int main(void) {
  find_kits();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_binary16_to_and_from_binary32),
      cmocka_unit_test(test_small_formats_are_exhaustive),
      cmocka_unit_test(test_items_of_matrices_are_exhaustive),
      cmocka_unit_test(test_fp8_of_each_machine),
      cmocka_unit_test(test_binary16_arithmetic_rounds_once),
      cmocka_unit_test(test_integers),
      cmocka_unit_test(test_what_is_rare),
      cmocka_unit_test(test_minimum_and_maximum),
      cmocka_unit_test(test_exponentials_are_rounded_well),
      cmocka_unit_test(test_sums_of_products_are_the_same_in_all_sets),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
