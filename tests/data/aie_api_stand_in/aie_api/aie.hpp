/* aie.hpp - a functional stand-in of the AIE API: see README.md in the folder above. */
#ifndef TW_TESTS_AIE_API_STAND_IN
#define TW_TESTS_AIE_API_STAND_IN

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

/* Types that the compilers for AIE2P have built in. */
using int8 = std::int8_t;
using uint8 = std::uint8_t;
using int16 = std::int16_t;
using int32 = std::int32_t;
struct int4 {}; /* two in a byte, the even one in the low nibble */
struct bfloat16 {
  std::uint16_t bits;
};
struct bfp16ebs8 {
  std::uint8_t byte; /* eight values are an exponent and eight mantissas: nine of them */
};
struct acc32 {
  using type = std::int32_t;
};
struct acc64 {
  using type = std::int64_t;
};
struct accfloat {};

/* Marks for the trace unit. */
inline void event0() {}
inline void event1() {}

namespace aie {

/* ---- modes of the core ---- */

enum class rounding_mode { floor, conv_even };
enum class saturation_mode { none, saturate };
namespace stand_in {
inline rounding_mode rounding = rounding_mode::floor; /* as a core starts */
inline saturation_mode saturation = saturation_mode::none;

inline double rounded(double x) { return rounding == rounding_mode::floor ? std::floor(x) : std::nearbyint(x); }

inline float from_bf16(bfloat16 x) {
  const std::uint32_t bits = std::uint32_t(x.bits) << 16;
  float y;
  std::memcpy(&y, &bits, sizeof y);
  return y;
}

/* The neighbours of x among bf16, then the nearer or the lower one. */
inline bfloat16 to_bf16(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  bfloat16 inner = {std::uint16_t(bits >> 16)}; /* towards zero */
  const std::uint32_t rest = bits & 0xFFFF;
  bool outwards;
  if (rounding == rounding_mode::floor)
    outwards = rest && std::signbit(x);
  else
    outwards = rest > 0x8000 || (rest == 0x8000 && (inner.bits & 1));
  if (outwards) inner.bits++;
  return inner;
}

template <typename P> void must_be_aligned(const P *p, unsigned bytes) {
  const unsigned unit = bytes < 64 ? bytes : 64;
  if (reinterpret_cast<std::uintptr_t>(p) % unit == 0) return;
  std::fprintf(stderr, "a vector at %p, which %u does not divide\n", static_cast<const void *>(p), unit);
  std::abort();
}
}  // namespace stand_in

inline void set_rounding(rounding_mode m) { stand_in::rounding = m; }
inline void set_saturation(saturation_mode m) { stand_in::saturation = m; }

/* ---- vectors ---- */

template <typename T, unsigned N> struct vector {
  static constexpr unsigned bytes = std::is_same_v<T, int4> ? N / 2 : N * unsigned(sizeof(T));
  alignas(64) std::uint8_t raw[bytes];

  auto get(unsigned i) const {
    if constexpr (std::is_same_v<T, int4>) {
      const int nibble = raw[i / 2] >> i % 2 * 4 & 15;
      return nibble < 8 ? nibble : nibble - 16;
    } else {
      T x;
      std::memcpy(&x, raw + i * sizeof(T), sizeof x);
      return x;
    }
  }
  void set(T x, unsigned i) { std::memcpy(raw + i * sizeof(T), &x, sizeof x); }

  template <typename U> auto cast_to() const {
    constexpr unsigned count = std::is_same_v<U, int4> ? 2 * bytes : bytes / unsigned(sizeof(U));
    vector<U, count> to;
    static_assert(to.bytes == bytes);
    std::memcpy(to.raw, raw, bytes);
    return to;
  }
};

template <unsigned N, typename T> vector<T, N> load_v(const T *p) {
  vector<T, N> v;
  stand_in::must_be_aligned(p, v.bytes);
  std::memcpy(v.raw, p, v.bytes);
  return v;
}

template <typename T, unsigned N> void store_v(T *p, const vector<T, N> &v) {
  stand_in::must_be_aligned(p, v.bytes);
  std::memcpy(p, v.raw, v.bytes);
}

template <typename T, unsigned N> vector<T, N> broadcast(T x) {
  vector<T, N> v;
  for (unsigned i = 0; i < N; i++) v.set(x, i);
  return v;
}
template <typename T, unsigned N> vector<T, N> zeros() { return broadcast<T, N>(T()); }

template <typename T, unsigned N> vector<T, N> bit_and(const vector<T, N> &a, const vector<T, N> &b) {
  vector<T, N> v;
  for (unsigned i = 0; i < N; i++) v.set(T(a.get(i) & b.get(i)), i);
  return v;
}
template <typename T, unsigned N> vector<T, N> sub(const vector<T, N> &a, const vector<T, N> &b) {
  vector<T, N> v;
  for (unsigned i = 0; i < N; i++) v.set(T(a.get(i) - b.get(i)), i);
  return v;
}

/* A matrix of rows x columns in a vector, row-major. */
template <typename T, unsigned N> vector<T, N> transpose(const vector<T, N> &v, unsigned rows, unsigned columns) {
  vector<T, N> out;
  for (unsigned i = 0; i < rows; i++)
    for (unsigned j = 0; j < columns; j++) out.set(v.get(i * columns + j), j * rows + i);
  return out;
}

template <typename T, unsigned N> vector<T, 2 * N> concat(const vector<T, N> &a, const vector<T, N> &b) {
  vector<T, 2 * N> v;
  std::memcpy(v.raw, a.raw, a.bytes);
  std::memcpy(v.raw + a.bytes, b.raw, b.bytes);
  return v;
}

/* Twice as wide, with the sign. */
template <unsigned N> vector<int8, N> unpack(const vector<int4, N> &a) {
  vector<int8, N> v;
  for (unsigned i = 0; i < N; i++) v.set(int8(a.get(i)), i);
  return v;
}
template <unsigned N> vector<int16, N> unpack(const vector<int8, N> &a) {
  vector<int16, N> v;
  for (unsigned i = 0; i < N; i++) v.set(a.get(i), i);
  return v;
}

/* An integer divided by 2^shift. */
template <typename T, unsigned N> vector<T, N> to_float(const vector<int16, N> &a, int shift) {
  vector<T, N> v;
  for (unsigned i = 0; i < N; i++) v.set(stand_in::to_bf16(float(std::ldexp(double(a.get(i)), -shift))), i);
  return v;
}

template <typename T, unsigned N> struct block_vector {
  static_assert(std::is_same_v<T, bfp16ebs8>);
  static constexpr unsigned bytes = N / 8 * 9;
  std::uint8_t raw[bytes];
};

/* ---- streams of block vectors ---- */

template <typename T, unsigned N> class block_vector_input_buffer_stream {
  const std::uint8_t *at;

 public:
  explicit block_vector_input_buffer_stream(const T *p) : at(reinterpret_cast<const std::uint8_t *>(p)) {}
  block_vector<T, N> pop() {
    block_vector<T, N> v;
    std::memcpy(v.raw, at, sizeof v.raw);
    at += sizeof v.raw;
    return v;
  }
};

template <typename T, unsigned N> class block_vector_output_buffer_stream {
  std::uint8_t *at;

 public:
  explicit block_vector_output_buffer_stream(T *p) : at(reinterpret_cast<std::uint8_t *>(p)) {}
  block_vector_output_buffer_stream &operator<<(const block_vector<T, N> &v) {
    std::memcpy(at, v.raw, sizeof v.raw);
    at += sizeof v.raw;
    return *this;
  }
};

/* ---- accumulators ---- */

template <typename Tag, unsigned N> struct accum {
  typename Tag::type x[N];

  accum() = default;
  template <typename T> explicit accum(const vector<T, N> &v) {
    for (unsigned i = 0; i < N; i++) x[i] = v.get(i);
  }
  /* Shift, round, saturate. */
  template <typename T> vector<T, N> to_vector(int shift = 0) const {
    vector<T, N> v;
    for (unsigned i = 0; i < N; i++) {
      double y = stand_in::rounded(std::ldexp(double(x[i]), -shift));
      if (stand_in::saturation == saturation_mode::saturate)
        y = std::fmax(double(std::numeric_limits<T>::min()), std::fmin(double(std::numeric_limits<T>::max()), y));
      v.set(T(std::int64_t(y)), i);
    }
    return v;
  }
};

template <unsigned N> struct accum<accfloat, N> {
  float x[N];

  accum() = default;
  explicit accum(const vector<bfloat16, N> &v) {
    for (unsigned i = 0; i < N; i++) x[i] = stand_in::from_bf16(v.get(i));
  }
  explicit accum(const vector<float, N> &v) {
    for (unsigned i = 0; i < N; i++) x[i] = v.get(i);
  }
  explicit accum(const block_vector<bfp16ebs8, N> &v) {
    for (unsigned i = 0; i < N; i++) {
      const std::uint8_t *block = v.raw + i / 8 * 9;
      x[i] = float(std::ldexp(double(int8(block[1 + i % 8])), block[0] - 133));
    }
  }
  template <typename T> auto to_vector() const {
    if constexpr (std::is_same_v<T, bfp16ebs8>) {
      return blocks();
    } else if constexpr (std::is_same_v<T, float>) {
      vector<float, N> v;
      for (unsigned i = 0; i < N; i++) v.set(x[i], i);
      return v;
    } else {
      vector<bfloat16, N> v;
      for (unsigned i = 0; i < N; i++) v.set(stand_in::to_bf16(x[i]), i);
      return v;
    }
  }

 private:
  /* The largest exponent is that of the block. */
  block_vector<bfp16ebs8, N> blocks() const {
    block_vector<bfp16ebs8, N> v;
    for (unsigned b = 0; b < N / 8; b++) {
      unsigned most = 0;
      for (unsigned i = 0; i < 8; i++) {
        std::uint32_t bits;
        std::memcpy(&bits, &x[8 * b + i], sizeof bits);
        const unsigned exponent = bits >> 23 & 255;
        if (exponent > most) most = exponent;
      }
      v.raw[9 * b] = std::uint8_t(most);
      for (unsigned i = 0; i < 8; i++) {
        const double m = stand_in::rounded(std::ldexp(double(x[8 * b + i]), 133 - int(most)));
        v.raw[9 * b + 1 + i] = std::uint8_t(int8(m > 127 ? 127 : m));
      }
    }
    return v;
  }
};

template <unsigned N> accum<accfloat, N> mul(const vector<bfloat16, N> &a, const vector<bfloat16, N> &b) {
  accum<accfloat, N> c;
  for (unsigned i = 0; i < N; i++) c.x[i] = stand_in::from_bf16(a.get(i)) * stand_in::from_bf16(b.get(i));
  return c;
}

/* ---- products of blocks: C (M x N) += A (M x K) B (K x N) ---- */

template <unsigned M, unsigned K, unsigned N, typename A, typename B> class mmul {
  using Tag = std::conditional_t<sizeof(A) == 2, acc64, acc32>;
  accum<Tag, M * N> c;

 public:
  mmul(const vector<int32, M * N> &v) : c(v) {}
  template <typename T> mmul(const vector<T, M * N> &v, int shift) {
    for (unsigned i = 0; i < M * N; i++) c.x[i] = typename Tag::type(std::uint64_t(int(v.get(i))) << shift);
  }
  void mac(const vector<A, M * K> &a, const vector<B, K * N> &b) {
    for (unsigned i = 0; i < M; i++)
      for (unsigned j = 0; j < N; j++) {
        std::uint64_t sum = std::uint64_t(c.x[i * N + j]);
        for (unsigned k = 0; k < K; k++) sum += std::uint64_t(int(a.get(i * K + k)) * int(b.get(k * N + j)));
        c.x[i * N + j] = typename Tag::type(sum);
      }
  }
  template <typename T> vector<T, M * N> to_vector(int shift = 0) const { return c.template to_vector<T>(shift); }
  const accum<Tag, M * N> &to_accum() const { return c; }
};

/* B is transposed: a row of it is a column of the product's. */
template <> class mmul<8, 8, 8, bfp16ebs8, bfp16ebs8> {
  accum<accfloat, 64> c;

 public:
  mmul(const accum<accfloat, 64> &v) : c(v) {}
  void mac(const block_vector<bfp16ebs8, 64> &a, const block_vector<bfp16ebs8, 64> &b) {
    for (unsigned i = 0; i < 8; i++)
      for (unsigned j = 0; j < 8; j++) {
        const std::uint8_t *row = a.raw + 9 * i, *column = b.raw + 9 * j;
        double sum = 0; /* 18 bits: exact */
        for (unsigned k = 1; k <= 8; k++) sum += int8(row[k]) * int8(column[k]);
        c.x[8 * i + j] += float(std::ldexp(sum, row[0] + column[0] - 2 * 133));
      }
  }
  template <typename T> auto to_vector() const { return c.template to_vector<T>(); }
  const accum<accfloat, 64> &to_accum() const { return c; }
};

/* Elements of bf16: products are exact in f32, and are added one by one. */
template <> class mmul<4, 8, 8, bfloat16, bfloat16> {
  accum<accfloat, 32> c;

 public:
  template <typename T> mmul(const vector<T, 32> &v) : c(v) {}
  void mac(const vector<bfloat16, 32> &a, const vector<bfloat16, 64> &b) {
    for (unsigned i = 0; i < 4; i++)
      for (unsigned j = 0; j < 8; j++)
        for (unsigned k = 0; k < 8; k++)
          c.x[8 * i + j] += stand_in::from_bf16(a.get(8 * i + k)) * stand_in::from_bf16(b.get(8 * k + j));
  }
  template <typename T> auto to_vector() const { return c.template to_vector<T>(); }
};

/* Each float is three parts of bf16; nine products of parts are added one by one, the smallest first. */
template <> class mmul<4, 8, 4, float, float> {
  accum<accfloat, 16> c;

  static void split(float x, float part[3]) {
    for (unsigned i = 0; i < 3; i++) {
      part[i] = stand_in::from_bf16(stand_in::to_bf16(x));
      x -= part[i];
    }
  }

 public:
  mmul(const vector<float, 16> &v) : c(v) {}
  void mac(const vector<float, 32> &a, const vector<float, 32> &b) {
    for (unsigned i = 0; i < 4; i++)
      for (unsigned j = 0; j < 4; j++)
        for (unsigned k = 0; k < 8; k++) {
          float x[3], y[3];
          split(a.get(8 * i + k), x);
          split(b.get(4 * k + j), y);
          static constexpr unsigned order[9][2] = {{2, 2}, {2, 1}, {1, 2}, {2, 0}, {1, 1},
                                                   {0, 2}, {1, 0}, {0, 1}, {0, 0}};
          for (const auto &o : order) c.x[4 * i + j] += x[o[0]] * y[o[1]];
        }
  }
  template <typename T> auto to_vector() const { return c.template to_vector<T>(); }
};

#ifdef AIE_API_EMULATE_BFLOAT16_MMUL_WITH_BFP16
template <> class mmul<8, 8, 8, bfloat16, bfloat16> {
  mmul<8, 8, 8, bfp16ebs8, bfp16ebs8> blocks;

 public:
  mmul(const vector<bfloat16, 64> &v) : blocks(accum<accfloat, 64>(v)) {}
  void mac(const vector<bfloat16, 64> &a, const vector<bfloat16, 64> &b) {
    const accum<accfloat, 64> wide_a(a), wide_b(transpose(b, 8, 8));
    blocks.mac(wide_a.to_vector<bfp16ebs8>(), wide_b.to_vector<bfp16ebs8>());
  }
  template <typename T> auto to_vector() const { return blocks.template to_vector<T>(); }
};
#endif

}  // namespace aie

#endif
