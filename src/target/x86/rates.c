/* rates.c - the peak and the bandwidth of the machine, measured with simple loops. */
#include "target/x86/rates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/pages.h"
#include "base/parallel.h"
#include "target/x86/choose.h"
#include "target/x86/cpu.h"

enum { ROUNDS = 20000, RUNS = 40, READS = 12 };
static const size_t READ_BYTES = (size_t)256 << 20; /* several times any last-level cache's share of a core */

/* The sum of each thread's best rate: a thread that the system suspends for a while does not lower the rate of other
 * threads. */
double x86_peak(const x86_kernel *k, int threads) {
  const tw_stop *stop = tw_stop_of_thread();
  double rate = 0;
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(+ : rate)
  for (int i = 0; i < threads; i++) {
    double best = 1e300;
    for (int run = 0; run < RUNS && !tw_is_stopped(stop); run++) {
      const double start = tw_now();
      k->spin(ROUNDS);
      const double seconds = tw_now() - start;
      if (seconds < best) best = seconds;
    }
    rate += k->operations_per_round * ROUNDS / best;
  }
  return rate;
}

double x86_peak_of(const tw_gemm_plan *p, int threads, const char **limit) {
  static const double LOOK_UPS = 1.5;
  const x86_kernel *k;
  double peak = 0;
  for (int i = 0; (k = x86_kernel_at(i)); i++)
    if (x86_computes(k, &p->spec)) peak = fmax(peak, x86_peak(k, threads));
  *limit = p->looks_up ? "table look-ups" : "multiply-adds";
  return p->looks_up ? LOOK_UPS * peak : peak;
}

/* Reads from four places at once, as kernels do from a panel that is several lines wide. */
#define READ_ALL(name, attributes)                                                                                     \
  attributes static uint64_t name(const char *from, size_t bytes) {                                                    \
    typedef uint64_t line __attribute__((vector_size(64)));                                                            \
    enum { STREAMS = 4 };                                                                                              \
    line sum[STREAMS] = {{0}};                                                                                         \
    const size_t part = bytes / STREAMS / sizeof(line) * sizeof(line);                                                 \
    for (size_t i = 0; i < part; i += sizeof(line))                                                                    \
      for (int s = 0; s < STREAMS; s++) sum[s] ^= *(const line *)(const void *)(from + (size_t)s * part + i);          \
    line all = sum[0] ^ sum[1] ^ sum[2] ^ sum[3];                                                                      \
    uint64_t x = 0;                                                                                                    \
    for (int i = 0; i < 8; i++) x ^= all[i];                                                                           \
    return x;                                                                                                          \
  }
READ_ALL(read_in_any_set, )
#if defined __x86_64__
READ_ALL(read_in_avx512, __attribute__((target("avx512f"))))
#else
#define read_in_avx512 read_in_any_set
#endif

double x86_now_of(int threads) {
  struct timespec t;
  if (threads > 1 || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) != 0) return tw_now();
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double x86_read_seconds(const void *memory, size_t bytes, int threads) {
  const size_t part = bytes / (size_t)threads / 256 * 256;
  uint64_t (*read_all)(const char *, size_t) = x86_this_cpu()->has[X86_AVX512] ? read_in_avx512 : read_in_any_set;
  uint64_t sum = 0;
  const double start = x86_now_of(threads);
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(^ : sum)
  for (int i = 0; i < threads; i++) sum ^= read_all((const char *)memory + (size_t)i * part, part);
  const double seconds = x86_now_of(threads) - start;
  __asm__ volatile("" : : "r"(sum)); /* it was needed */
  return seconds;
}

double x86_read_bandwidth(int threads) {
  char *memory = tw_new_pages(READ_BYTES);
  double best = 0;
  if (!memory) return 0;
  memset(memory, 1, READ_BYTES);
  for (int run = 0; run < READS && !tw_is_stop_asked(); run++) {
    const double rate = (double)READ_BYTES / x86_read_seconds(memory, READ_BYTES, threads);
    if (rate > best) best = rate;
  }
  free(memory);
  return best;
}
