/* body.h - the lane functions, compiled once for each instruction set of the host: the file that includes this defines
 * KIT, the name of its table.
 *
 * Semantics: "AMD Instinct MI300 Instruction Set Architecture" and that of CDNA4, chapter "Instructions". If these
 * do not specify NaN, it follows IEEE 754-2008: a NaN result is quiet. */
#include <math.h>
#include <string.h>

#include "target/cdna/lanes/half.h"
#include "target/cdna/lanes/lanes.h"
#include "target/cdna/lanes/small.h"

/* Iterations are independent, even if rows coincide. */
#ifdef __clang__
#define INDEPENDENT /* the loop checks itself; its own pragma warns where it cannot vectorize */
#define UNROLLED _Pragma("unroll")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#define UNROLLED _Pragma("GCC unroll 16") /* completely: no such loop has more turns */
#endif
#define LOOP INDEPENDENT for (int l = 0; l < CDNA_LANES; l++)

#define FUNCTION(name_) static void name_(cdna_lanes *x)
#define ROWS1                                                                                                          \
  uint32_t *d = x->d;                                                                                                  \
  const uint32_t *a = x->s[0]
#define ROWS2                                                                                                          \
  ROWS1;                                                                                                               \
  const uint32_t *b = x->s[1]
#define ROWS3                                                                                                          \
  ROWS2;                                                                                                               \
  const uint32_t *c = x->s[2]

static inline uint64_t pair(const uint32_t *row, int l) { return row[l] | (uint64_t)row[l + CDNA_LANES] << 32; }
static inline void set_pair(uint32_t *row, int l, uint64_t value) {
  row[l] = (uint32_t)value;
  row[l + CDNA_LANES] = (uint32_t)(value >> 32);
}
static inline double real(const uint32_t *row, int l) {
  const uint64_t bits = pair(row, l);
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}
static inline void set_real(uint32_t *row, int l, double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  set_pair(row, l, bits);
}
static inline float f(uint32_t bits) { return tw_float_of(bits); }
static inline uint32_t u(float v) { return tw_bits_of(v); }
static inline int32_t i(uint32_t v) { return (int32_t)v; }

/* One, two, three sources of 32 bits A, B, C; the result's bits. */
#define U1(name_, ...)                                                                                                 \
  FUNCTION(name_) {                                                                                                    \
    ROWS1;                                                                                                             \
    LOOP {                                                                                                             \
      const uint32_t A = a[l];                                                                                         \
      d[l] = (uint32_t)(__VA_ARGS__);                                                                                  \
    }                                                                                                                  \
  }
#define U2(name_, ...)                                                                                                 \
  FUNCTION(name_) {                                                                                                    \
    ROWS2;                                                                                                             \
    LOOP {                                                                                                             \
      const uint32_t A = a[l], B = b[l];                                                                               \
      d[l] = (uint32_t)(__VA_ARGS__);                                                                                  \
    }                                                                                                                  \
  }
#define U3(name_, ...)                                                                                                 \
  FUNCTION(name_) {                                                                                                    \
    ROWS3;                                                                                                             \
    LOOP {                                                                                                             \
      const uint32_t A = a[l], B = b[l], C = c[l];                                                                     \
      d[l] = (uint32_t)(__VA_ARGS__);                                                                                  \
    }                                                                                                                  \
  }
/* The same of binary32. */
#define F1(name_, ...)                                                                                                 \
  FUNCTION(name_) {                                                                                                    \
    ROWS1;                                                                                                             \
    LOOP {                                                                                                             \
      const float A = f(a[l]);                                                                                         \
      d[l] = u(__VA_ARGS__);                                                                                           \
    }                                                                                                                  \
  }
#define F2(name_, ...)                                                                                                 \
  FUNCTION(name_) {                                                                                                    \
    ROWS2;                                                                                                             \
    LOOP {                                                                                                             \
      const float A = f(a[l]), B = f(b[l]);                                                                            \
      d[l] = u(__VA_ARGS__);                                                                                           \
    }                                                                                                                  \
  }
#define F3(name_, ...)                                                                                                 \
  FUNCTION(name_) {                                                                                                    \
    ROWS3;                                                                                                             \
    LOOP {                                                                                                             \
      const float A = f(a[l]), B = f(b[l]), C = f(c[l]);                                                               \
      d[l] = u(__VA_ARGS__);                                                                                           \
    }                                                                                                                  \
  }
/* For binary64. */
#define D1(name_, ...)                                                                                                 \
  FUNCTION(name_) {                                                                                                    \
    ROWS1;                                                                                                             \
    LOOP {                                                                                                             \
      const double A = real(a, l);                                                                                     \
      set_real(d, l, __VA_ARGS__);                                                                                     \
    }                                                                                                                  \
  }
#define D2(name_, ...)                                                                                                 \
  FUNCTION(name_) {                                                                                                    \
    ROWS2;                                                                                                             \
    LOOP {                                                                                                             \
      const double A = real(a, l), B = real(b, l);                                                                     \
      set_real(d, l, __VA_ARGS__);                                                                                     \
    }                                                                                                                  \
  }
#define D3(name_, ...)                                                                                                 \
  FUNCTION(name_) {                                                                                                    \
    ROWS3;                                                                                                             \
    LOOP {                                                                                                             \
      const double A = real(a, l), B = real(b, l), C = real(c, l);                                                     \
      set_real(d, l, __VA_ARGS__);                                                                                     \
    }                                                                                                                  \
  }
/* Comparisons: a mask. */
#define CMP(name_, type_, read_, ...)                                                                                  \
  FUNCTION(name_) {                                                                                                    \
    uint32_t row[CDNA_LANES];                                                                                          \
    const uint32_t *a = x->s[0], *b = x->s[1];                                                                         \
    LOOP {                                                                                                             \
      const type_ A = read_(a, l), B = read_(b, l);                                                                    \
      row[l] = (__VA_ARGS__) ? ~0u : 0u;                                                                               \
    }                                                                                                                  \
    x->out = pack(row);                                                                                                \
  }

/* ---- rows ---- */

static void broadcast(uint32_t *row, uint32_t value) { LOOP row[l] = value; }

static void adjust(uint32_t *row, const uint32_t *from, const cdna_adjustment *how) {
  const cdna_adjustment a = *how;
  if (a.is_signed)
    LOOP row[l] = ((uint32_t)(i(from[l] << a.left) >> a.right) & a.keep) ^ a.flip;
  else
    LOOP row[l] = ((from[l] << a.left >> a.right) & a.keep) ^ a.flip;
}

static void expand(uint32_t *row, uint64_t mask) {
  const uint32_t half[2] = {(uint32_t)mask, (uint32_t)(mask >> 32)};
  for (int h = 0; h < 2; h++)
    for (int l = 0; l < 32; l++) row[32 * h + l] = half[h] & 1u << l ? ~0u : 0u;
}

#ifdef __AVX512F__
#include <immintrin.h>
static uint64_t pack(const uint32_t *row) {
  uint64_t mask = 0;
  for (int n = 0; n < 4; n++) mask |= (uint64_t)_mm512_movepi32_mask(_mm512_loadu_si512(row + 16 * n)) << 16 * n;
  return mask;
}
#elif defined(__AVX2__)
#include <immintrin.h>
static uint64_t pack(const uint32_t *row) {
  uint64_t mask = 0;
  for (int n = 0; n < 8; n++)
    mask |= (uint64_t)(uint32_t)_mm256_movemask_ps(_mm256_loadu_ps((const float *)(const void *)(row + 8 * n)))
            << 8 * n;
  return mask;
}
#else
static uint64_t pack(const uint32_t *row) {
  uint64_t mask = 0;
  for (int l = 0; l < CDNA_LANES; l++) mask |= (uint64_t)(row[l] >> 31) << l;
  return mask;
}
#endif

static void blend(uint32_t *d, const uint32_t *s, const uint32_t *mask, int rows) {
  for (int r = 0; r < rows; r++)
    LOOP d[r * CDNA_LANES + l] = (s[r * CDNA_LANES + l] & mask[l]) | (d[r * CDNA_LANES + l] & ~mask[l]);
}

/* As cdna_small_value. Subnormals are converted from integers: f32 subnormals would slow down the host. */
static inline float small_item(const cdna_items *x, uint32_t code) {
  const uint32_t sign = code >> (x->bits - 1) << 31, magnitude = code & ((1u << (x->bits - 1)) - 1);
  const uint32_t normal = (magnitude << (23 - x->fraction)) + x->rebias, few = u((float)(int32_t)magnitude * x->step);
  const uint32_t value = sign | (magnitude >> x->fraction ? normal : few);
  return f((code & x->nan_mask) == x->nan ? 0x7FC00000u : value);
}

/* The codes of item e in 16 lanes: at bit `shift` of a row, perhaps continued in the next. */
typedef struct item_place {
  const uint32_t *low, *high;
  int shift;
  bool is_cut;
} item_place;
static inline item_place place_of(const cdna_items *x, int e) {
  const int bit = e * x->spacing, shift = bit % 32;
  const uint32_t *row = x->row + bit / 32 * CDNA_LANES;
  return (item_place){row, row + CDNA_LANES, shift, shift && x->mask << shift >> shift != x->mask};
}
static inline uint32_t item_code(const cdna_items *x, const item_place *p, int l) {
  return (p->low[l] >> p->shift | (uint32_t)((uint64_t)p->high[l] << (32 - p->shift))) & x->mask;
}

/* Items of 4 and 6 bits are looked up by their magnitude: at most 32 values. */
#ifdef __AVX512F__
static inline void unpack_few(const cdna_items *x, const item_place *p, float *out) {
  const __m512 low = _mm512_loadu_ps(x->table), high = _mm512_loadu_ps(x->table + (x->bits == 6 ? 16 : 0));
  __m512i code = _mm512_srl_epi32(_mm512_loadu_si512(p->low), _mm_cvtsi32_si128(p->shift));
  if (p->is_cut)
    code = _mm512_or_si512(code, _mm512_sll_epi32(_mm512_loadu_si512(p->high), _mm_cvtsi32_si128(32 - p->shift)));
  const __m512 value = x->bits == 4 ? _mm512_permutexvar_ps(code, low) : _mm512_permutex2var_ps(low, code, high);
  const __m512i signs =
      _mm512_and_si512(_mm512_sll_epi32(code, _mm_cvtsi32_si128(32 - x->bits)), _mm512_set1_epi32(INT32_MIN));
  _mm512_storeu_ps(out, _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(value), signs)));
}

/* Converts 32 codes of 8 bits, one in each word, to the upper halves of floats. Numbers below the smallest normal one are
 * looked up. */
static inline __m512i halves_of_codes(const cdna_items *x, __m512i code, __m512i few) {
  const __m512i size = _mm512_and_si512(code, _mm512_set1_epi16(0x7F));
  __m512i value = _mm512_add_epi16(_mm512_sll_epi16(size, _mm_cvtsi32_si128(7 - x->fraction)),
                                   _mm512_set1_epi16((short)(x->rebias >> 16)));
  value = _mm512_mask_permutexvar_epi16(
      value, _mm512_cmplt_epu16_mask(size, _mm512_set1_epi16((short)(1 << x->fraction))), size, few);
  value = _mm512_or_si512(value, _mm512_and_si512(_mm512_slli_epi16(code, 8), _mm512_set1_epi16(INT16_MIN)));
  const __mmask32 is_nan = _mm512_cmpeq_epi16_mask(_mm512_and_si512(code, _mm512_set1_epi16((short)x->nan_mask)),
                                                   _mm512_set1_epi16((short)x->nan));
  return _mm512_mask_mov_epi16(value, is_nan, _mm512_set1_epi16(0x7FC0));
}
static void unpack_bytes(const cdna_items *x, float *restrict out) {
  const __m512i bytes = _mm512_set1_epi16(0xFF), upper = _mm512_set1_epi32(-65536);
  const __m512i few =
      _mm512_castsi256_si512(_mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_loadu_si512(x->table), 16)));
  for (int e = 0; e < x->n; e += 4)
    for (int lane = 0; lane < CDNA_LANES; lane += 16) {
      const uint16_t *at = x->at + lane * x->n + e;
      const __m512i word = _mm512_loadu_si512(x->row + e / 4 * CDNA_LANES + lane);
      const __m512i even = halves_of_codes(x, _mm512_and_si512(word, bytes), few);
      const __m512i odd = halves_of_codes(x, _mm512_srli_epi16(word, 8), few);
      _mm512_storeu_si512(out + at[0], _mm512_slli_epi32(even, 16));
      _mm512_storeu_si512(out + at[1], _mm512_slli_epi32(odd, 16));
      _mm512_storeu_si512(out + at[2], _mm512_and_si512(even, upper));
      _mm512_storeu_si512(out + at[3], _mm512_and_si512(odd, upper));
    }
}
#endif

#define LOOP16 INDEPENDENT for (int l = 0; l < 16; l++)
static inline __attribute__((always_inline)) void unpack16(const cdna_items *x, cdna_item_kind kind,
                                                           const item_place *p, float *restrict out) {
  const uint32_t *low = p->low;
  const int shift = p->shift;
  switch (kind) {
  case CDNA_ITEM_TABLE:
    if (p->is_cut)
      LOOP16 out[l] = x->table[item_code(x, p, l)];
    else
      LOOP16 out[l] = x->table[low[l] >> shift & x->mask];
    break;
  case CDNA_ITEM_SMALL:
#ifdef __AVX512F__
    if (x->bits <= 6) {
      unpack_few(x, p, out);
      break;
    }
#endif
    if (p->is_cut)
      LOOP16 out[l] = small_item(x, item_code(x, p, l));
    else
      LOOP16 out[l] = small_item(x, low[l] >> shift & x->mask);
    break;
  case CDNA_ITEM_F16: LOOP16 out[l] = cdna_half_value(low[l] >> shift & 0xFFFF); break;
  case CDNA_ITEM_BF16: LOOP16 out[l] = f(low[l] >> shift << 16); break;
  case CDNA_ITEM_XF32: LOOP16 out[l] = f(low[l] & ~0x1FFFu); break;
  case CDNA_ITEM_F32: memcpy(out, low, 16 * sizeof *out); break;
  }
}
static inline __attribute__((always_inline)) void unpack_kind(const cdna_items *items, cdna_item_kind kind,
                                                              float *restrict out) {
  const cdna_items x = *items;
  for (int e = 0; e < x.n; e++) {
    const item_place first = place_of(&x, e);
    for (int lane = 0; lane < CDNA_LANES; lane += 16) {
      const item_place p = {first.low + lane, first.high + lane, first.shift, first.is_cut};
      unpack16(&x, kind, &p, out + x.at[lane * x.n + e]);
    }
  }
}

static void unpack(const cdna_items *x, float *restrict out) {
#ifdef __AVX512F__
  if (x->kind == CDNA_ITEM_SMALL && x->bits == 8 && x->n % 4 == 0) {
    unpack_bytes(x, out);
    return;
  }
#endif
  switch (x->kind) { /* a loop for each */
  case CDNA_ITEM_TABLE: unpack_kind(x, CDNA_ITEM_TABLE, out); break;
  case CDNA_ITEM_SMALL: unpack_kind(x, CDNA_ITEM_SMALL, out); break;
  case CDNA_ITEM_F16: unpack_kind(x, CDNA_ITEM_F16, out); break;
  case CDNA_ITEM_BF16: unpack_kind(x, CDNA_ITEM_BF16, out); break;
  case CDNA_ITEM_XF32: unpack_kind(x, CDNA_ITEM_XF32, out); break;
  case CDNA_ITEM_F32: unpack_kind(x, CDNA_ITEM_F32, out); break;
  }
}

/* A vector of columns. Several sums are added at once, so that they do not wait for each other. */
#if defined(__AVX512F__)
typedef __m512 packed;
#define PACKED(name_) _mm512_##name_
#define ANY(v_) (_mm512_test_epi32_mask((__m512i)(v_), (__m512i)(v_)) != 0)
#elif defined(__AVX2__)
typedef __m256 packed;
#define PACKED(name_) _mm256_##name_
#define ANY(v_) (!_mm256_testz_si256((__m256i)(v_), (__m256i)(v_)))
#endif
#ifdef PACKED
enum { SUMS_AT_ONCE = 8, PACKED_COLUMNS = sizeof(packed) / 4 };
#define EACH_SUM UNROLLED for (int s = 0; s < SUMS_AT_ONCE; s++)
/* Sums of rows from `row` on, and of a constant number of columns. The vector types alias any other. Loops over sums are
 * unrolled, so that sums stay in registers. */
static inline __attribute__((always_inline)) void load_sums(const cdna_product *x, int row, int columns,
                                                            packed sum[SUMS_AT_ONCE]) {
  const int across = columns / PACKED_COLUMNS;
  EACH_SUM sum[s] = PACKED(loadu_ps)((const void *)(x->c + x->at[row + s / across] + s % across * PACKED_COLUMNS));
}
static inline __attribute__((always_inline)) void store_sums(const cdna_product *x, int row, int columns,
                                                             const packed sum[SUMS_AT_ONCE]) {
  const int across = columns / PACKED_COLUMNS;
  EACH_SUM PACKED(storeu_ps)((void *)(x->d + x->at[row + s / across] + s % across * PACKED_COLUMNS), sum[s]);
}
/* Adds products first .. last - 1. */
static inline __attribute__((always_inline)) void add_products(const cdna_product *x, int row, int columns, int first,
                                                               int last, packed sum[SUMS_AT_ONCE]) {
  const int across = columns / PACKED_COLUMNS;
  const float *a = x->a + row;
  for (int k = first; k < last; k++) {
    packed right[4];
    UNROLLED for (int n = 0; n < across; n++) right[n] = PACKED(loadu_ps)(x->b + k * columns + n * PACKED_COLUMNS);
    EACH_SUM sum[s] = PACKED(fmadd_ps)(PACKED(set1_ps)(a[k * x->m + s / across]), right[s % across], sum[s]);
  }
}
static inline __attribute__((always_inline)) void multiply_columns(const cdna_product *x, int columns) {
  packed sum[SUMS_AT_ONCE];
  for (int row = 0; row < x->m; row += SUMS_AT_ONCE * PACKED_COLUMNS / columns) {
    load_sums(x, row, columns, sum);
    add_products(x, row, columns, 0, x->k, sum);
    store_sums(x, row, columns, sum);
  }
}
#endif

static void multiply(const cdna_product *x) {
#ifdef PACKED
  if (x->m % SUMS_AT_ONCE == 0 && x->n == 16) {
    multiply_columns(x, 16);
    return;
  }
  if (x->m % SUMS_AT_ONCE == 0 && x->n == 32) {
    multiply_columns(x, 32);
    return;
  }
#endif
  for (int r = 0; r < x->m; r++)
    for (int j = 0; j < x->n; j++) {
      float sum = f(x->c[x->at[r] + j]);
      for (int k = 0; k < x->k; k++) sum = fmaf(x->a[k * x->m + r], x->b[k * x->n + j], sum);
      x->d[x->at[r] + j] = u(sum);
    }
}

#include "target/cdna/lanes/integer.h"

#include "target/cdna/lanes/float.h"

#include "target/cdna/lanes/convert.h"

#include "target/cdna/lanes/compare.h"

#include "target/cdna/lanes/scaled.h"

#include "target/cdna/lanes/rare.h"

#include "target/cdna/lanes/fused.h"

#define E(name_) {"v_" #name_, name_, CDNA_D, 0},
#define EM(name_) {"v_" #name_, name_, CDNA_MASK, 0},
#define EB(name_) {"v_" #name_, name_, CDNA_D_AND_MASK, 0},
#define EK(name_) {"v_" #name_, name_, CDNA_D, 1},
static const cdna_lane_entry entries[] = {
    INTEGER_ENTRIES FLOAT_ENTRIES FLOAT_ENTRIES_WIDE CONVERT_ENTRIES COMPARE_ENTRIES SCALED_ENTRIES RARE_ENTRIES};

const cdna_lane_kit KIT = {.isa = KIT_NAME,
                           .entry = entries,
                           .n = sizeof entries / sizeof *entries,
                           .broadcast = broadcast,
                           .adjust = adjust,
                           .expand = expand,
                           .pack = pack,
                           .blend = blend,
                           .unpack = unpack,
                           .multiply = multiply,
                           .whole_exponent = whole_exponent,
                           .multiply_whole = multiply_whole,
                           .fuse = fuse,
                           .exponents = exponents,
                           .are_near = are_near};
