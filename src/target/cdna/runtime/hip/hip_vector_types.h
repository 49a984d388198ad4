/* hip_vector_types.h - float4 and its kin: HIP_vector_type<T, n> with HIP's members, constructors and operators; dim3. */
#pragma once
#include "hip_words.h"

template <class T> struct tw_three {
  T at[3];
  TW_MEMBER constexpr T &operator[](unsigned i) { return at[i]; }
  TW_MEMBER constexpr const T &operator[](unsigned i) const { return at[i]; }
};
template <class T, unsigned n> struct HIP_vector_base;
#define TW_VECTOR_BASE(n, NATIVE, PARAMETERS, VALUES, ...)                                                             \
  template <class T> struct HIP_vector_base<T, n> {                                                                    \
    typedef T value_type;                                                                                              \
    typedef NATIVE;                                                                                                    \
    union {                                                                                                            \
      Native_vec_ data;                                                                                                \
      struct {                                                                                                         \
        T __VA_ARGS__;                                                                                                 \
      };                                                                                                               \
    };                                                                                                                 \
    HIP_vector_base() = default;                                                                                       \
    TW_MEMBER constexpr HIP_vector_base PARAMETERS : data VALUES {}                                                    \
  };
#define TW_LIST(...)                                                                                                   \
  { __VA_ARGS__ }
TW_VECTOR_BASE(1, T Native_vec_ __attribute__((ext_vector_type(1))), (T a), {a}, x)
TW_VECTOR_BASE(2, T Native_vec_ __attribute__((ext_vector_type(2))), (T a, T b), TW_LIST(a, b), x, y)
TW_VECTOR_BASE(3, tw_three<T> Native_vec_, (T a, T b, T c), TW_LIST({a, b, c}), x, y, z)
TW_VECTOR_BASE(4, T Native_vec_ __attribute__((ext_vector_type(4))), (T a, T b, T c, T d), TW_LIST(a, b, c, d), x, y, z,
               w)

template <bool B, class T = int> struct tw_if {};
template <class T> struct tw_if<true, T> { typedef T type; };
template <class From, class To> using tw_converts = typename tw_if<__is_convertible(From, To)>::type;

template <class T, unsigned n> struct HIP_vector_type : HIP_vector_base<T, n> {
  HIP_vector_type() = default;
  /* one number goes to all places */
  template <class U, tw_converts<U, T> = 0, unsigned m = n, typename tw_if<m == 1>::type = 0>
  TW_MEMBER constexpr HIP_vector_type(U a) : HIP_vector_base<T, n>((T)a) {}
  template <class U, tw_converts<U, T> = 0, unsigned m = n, typename tw_if<m == 2>::type = 0>
  TW_MEMBER constexpr HIP_vector_type(U a) : HIP_vector_base<T, n>((T)a, (T)a) {}
  template <class U, tw_converts<U, T> = 0, unsigned m = n, typename tw_if<m == 3>::type = 0>
  TW_MEMBER constexpr HIP_vector_type(U a) : HIP_vector_base<T, n>((T)a, (T)a, (T)a) {}
  template <class U, tw_converts<U, T> = 0, unsigned m = n, typename tw_if<m == 4>::type = 0>
  TW_MEMBER constexpr HIP_vector_type(U a) : HIP_vector_base<T, n>((T)a, (T)a, (T)a, (T)a) {}
  template <class... U, typename tw_if<(sizeof...(U) == n && n > 1)>::type = 0>
  TW_MEMBER constexpr HIP_vector_type(U... a) : HIP_vector_base<T, n>((T)a...) {}
  TW_MEMBER T &operator[](unsigned i) { return reinterpret_cast<T *>(this)[i]; }
  TW_MEMBER const T &operator[](unsigned i) const { return reinterpret_cast<const T *>(this)[i]; }
  TW_MEMBER HIP_vector_type &operator++() { return *this += (T)1; }
  TW_MEMBER HIP_vector_type &operator--() { return *this -= (T)1; }
  TW_MEMBER HIP_vector_type operator++(int) {
    const HIP_vector_type was = *this;
    *this += (T)1;
    return was;
  }
  TW_MEMBER HIP_vector_type operator--(int) {
    const HIP_vector_type was = *this;
    *this -= (T)1;
    return was;
  }
};
#define TW_VECTOR_OPERATOR(OP)                                                                                         \
  template <class T, unsigned n>                                                                                       \
  TW_MEMBER constexpr HIP_vector_type<T, n> &operator OP##=(HIP_vector_type<T, n> &a, HIP_vector_type<T, n> b) {       \
    for (unsigned i = 0; i < n; i++) a.data[i] = (T)(a.data[i] OP b.data[i]);                                          \
    return a;                                                                                                          \
  }                                                                                                                    \
  template <class T, unsigned n, class U, tw_converts<U, T> = 0>                                                       \
  TW_MEMBER constexpr HIP_vector_type<T, n> &operator OP##=(HIP_vector_type<T, n> &a, U b) {                           \
    return a OP## = HIP_vector_type<T, n>(b);                                                                          \
  }                                                                                                                    \
  template <class T, unsigned n>                                                                                       \
  TW_MEMBER constexpr HIP_vector_type<T, n> operator OP(HIP_vector_type<T, n> a, HIP_vector_type<T, n> b) {            \
    return a OP## = b;                                                                                                 \
  }                                                                                                                    \
  template <class T, unsigned n, class U, tw_converts<U, T> = 0>                                                       \
  TW_MEMBER constexpr HIP_vector_type<T, n> operator OP(HIP_vector_type<T, n> a, U b) {                                \
    return a OP## = HIP_vector_type<T, n>(b);                                                                          \
  }                                                                                                                    \
  template <class T, unsigned n, class U, tw_converts<U, T> = 0>                                                       \
  TW_MEMBER constexpr HIP_vector_type<T, n> operator OP(U a, HIP_vector_type<T, n> b) {                                \
    return HIP_vector_type<T, n>(a) OP b;                                                                              \
  }
/* clang-format off */
TW_VECTOR_OPERATOR(+) TW_VECTOR_OPERATOR(-) TW_VECTOR_OPERATOR(*) TW_VECTOR_OPERATOR(/) TW_VECTOR_OPERATOR(%)
TW_VECTOR_OPERATOR(&) TW_VECTOR_OPERATOR(|) TW_VECTOR_OPERATOR(^) TW_VECTOR_OPERATOR(<<) TW_VECTOR_OPERATOR(>>)
    /* clang-format on */
    template <class T, unsigned n>
    TW_MEMBER constexpr HIP_vector_type<T, n> operator-(HIP_vector_type<T, n> a) {
  for (unsigned i = 0; i < n; i++) a.data[i] = (T)-a.data[i];
  return a;
}
template <class T, unsigned n> TW_MEMBER constexpr HIP_vector_type<T, n> operator~(HIP_vector_type<T, n> a) {
  for (unsigned i = 0; i < n; i++) a.data[i] = (T)~a.data[i];
  return a;
}
template <class T, unsigned n> TW_MEMBER constexpr bool operator==(HIP_vector_type<T, n> a, HIP_vector_type<T, n> b) {
  for (unsigned i = 0; i < n; i++)
    if (a.data[i] != b.data[i]) return false;
  return true;
}
template <class T, unsigned n> TW_MEMBER constexpr bool operator!=(HIP_vector_type<T, n> a, HIP_vector_type<T, n> b) {
  return !(a == b);
}

#define TW_VECTORS(T, P)                                                                                               \
  typedef HIP_vector_type<T, 1> P##1;                                                                                  \
  typedef HIP_vector_type<T, 2> P##2;                                                                                  \
  typedef HIP_vector_type<T, 3> P##3;                                                                                  \
  typedef HIP_vector_type<T, 4> P##4;                                                                                  \
  TW_BOTH constexpr P##1 make_##P##1(T x) { return P##1(x); }                                                          \
  TW_BOTH constexpr P##2 make_##P##2(T x, T y) { return P##2(x, y); }                                                  \
  TW_BOTH constexpr P##3 make_##P##3(T x, T y, T z) { return P##3(x, y, z); }                                          \
  TW_BOTH constexpr P##4 make_##P##4(T x, T y, T z, T w) { return P##4(x, y, z, w); }
TW_VECTORS(char, char)
TW_VECTORS(unsigned char, uchar)
TW_VECTORS(short, short)
TW_VECTORS(unsigned short, ushort)
TW_VECTORS(int, int)
TW_VECTORS(unsigned, uint)
TW_VECTORS(long, long)
TW_VECTORS(unsigned long, ulong)
TW_VECTORS(long long, longlong)
TW_VECTORS(unsigned long long, ulonglong)
TW_VECTORS(float, float)
TW_VECTORS(double, double)

struct dim3 {
  unsigned x, y, z;
  constexpr TW_MEMBER dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
  constexpr TW_MEMBER dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr TW_MEMBER operator uint3() const { return make_uint3(x, y, z); }
};
