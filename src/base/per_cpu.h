/* per_cpu.h - loops over numbers, compiled for several instruction sets: the largest that this CPU has is called.
 *
 *     static TW_ALWAYS_INLINE void scale_in(double x[], int64_t n) { for (int64_t i = 0; i < n; i++) x[i] *= 2; }
 *     TW_PER_CPU(scale, (double x[], int64_t n), (x, n))
 *
 * defines scale(x, n). Sums may round differently on different CPUs; a loop whose bits must be equal needs care
 * (product.h). */
#ifndef TW_BASE_PER_CPU_H
#define TW_BASE_PER_CPU_H

#define TW_ALWAYS_INLINE inline __attribute__((always_inline))

#if defined __x86_64__
#define TW_PER_CPU(name, parameters, arguments)                                                                        \
  __attribute__((target("avx2,fma"))) static void name##_avx2 parameters { name##_in arguments; }                      \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) static void name##_avx512 parameters {                 \
    name##_in arguments;                                                                                               \
  }                                                                                                                    \
  static void name parameters {                                                                                        \
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&                                    \
        __builtin_cpu_supports("avx512vl"))                                                                            \
      name##_avx512 arguments;                                                                                         \
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))                                          \
      name##_avx2 arguments;                                                                                           \
    else                                                                                                               \
      name##_in arguments;                                                                                             \
  }
#else
#define TW_PER_CPU(name, parameters, arguments)                                                                        \
  static void name parameters { name##_in arguments; }
#endif

#endif
