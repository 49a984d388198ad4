/* bench_format.c - how fast the number formats are encoded and decoded on one core, out of cache, against what this
 * core's memory gives in the same minute.
 *
 * For each format and instruction set: GB/s of bytes read and written together, and the ratio to a bare move of the
 * same bytes: a loop that only reads as much and writes as much in the same proportion (the fastest of ordinary stores
 * and stores around the cache, with and without prefetching). Moves and conversions alternate, so that a change of the
 * machine's speed hits both; the best of all rounds counts. `bench_format [MiB of f32] [rounds] [format...]`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/pages.h"
#include "format/internal.h"

typedef struct buffers {
  size_t values;
  float *x;
  uint8_t *codes, *scales;
} buffers;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Pages of 2 MiB where the system has them: what is measured is memory, not page tables. */
static void *allocate(size_t bytes) {
  void *p = tw_new_pages(bytes);
  if (!p) exit(3);
  memset(p, 1, bytes);
  return p;
}

/* ---- the bare move ---- */

/* Reads `in` bytes and writes `out` bytes, a page at a time in proportion. */
#if defined __x86_64__
#include <immintrin.h>

typedef void store_line(uint8_t *, __m256i);

__attribute__((target("avx2"))) static inline void plain(uint8_t *p, __m256i v) {
  _mm256_storeu_si256((__m256i *)(void *)p, v);
}
__attribute__((target("avx2"))) static inline void around(uint8_t *p, __m256i v) {
  _mm256_stream_si256((__m256i *)(void *)p, v);
}

__attribute__((target("avx2"))) static inline __attribute__((always_inline)) void
move(store_line *store, bool prefetches, const uint8_t *from, size_t in, uint8_t *to, size_t out) {
  __m256i sum[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256()};
  size_t written = 0, rate = (size_t)((double)out / (double)in * 4096);
  for (size_t i = 0; i + 4096 <= in; i += 4096) {
    for (size_t k = i; k < i + 4096; k += 128) {
      if (prefetches) { /* as far as the formats do */
        _mm_prefetch((const char *)(uintptr_t)from + k + 16384, _MM_HINT_T0);
        _mm_prefetch((const char *)(uintptr_t)from + k + 16384 + 64, _MM_HINT_T0);
      }
      for (size_t l = 0; l < 4; l++)
        sum[l] = _mm256_add_epi64(sum[l], _mm256_loadu_si256((const __m256i *)(const void *)(from + k + 32 * l)));
    }
    for (size_t until = written + rate; written + 32 <= until && written + 32 <= out; written += 32)
      store(to + written, sum[0]);
  }
  volatile long long keep =
      _mm256_extract_epi64(_mm256_add_epi64(_mm256_add_epi64(sum[0], sum[1]), _mm256_add_epi64(sum[2], sum[3])), 0);
  (void)keep;
}

typedef void mover(const uint8_t *from, size_t in, uint8_t *to, size_t out);
#define MOVER(name, store, prefetches)                                                                                 \
  __attribute__((target("avx2"))) static void name(const uint8_t *from, size_t in, uint8_t *to, size_t out) {          \
    move(store, prefetches, from, in, to, out);                                                                        \
  }
MOVER(move_plain, plain, false)
MOVER(move_around, around, false)
MOVER(move_plain_ahead, plain, true)
MOVER(move_around_ahead, around, true)
static mover *const movers[] = {move_plain, move_around, move_plain_ahead, move_around_ahead};
#else
typedef void mover(const uint8_t *from, size_t in, uint8_t *to, size_t out);
static void move_plain(const uint8_t *from, size_t in, uint8_t *to, size_t out) {
  uint64_t sum = 0, word;
  for (size_t i = 0; i + 8 <= in; i += 8) memcpy(&word, from + i, 8), sum += word;
  memset(to, (int)sum, out);
}
static mover *const movers[] = {move_plain};
#endif

static double time_move(const uint8_t *from, size_t in, uint8_t *to, size_t out) {
  double best = 1e9;
  for (size_t i = 0; i < sizeof movers / sizeof *movers; i++) {
    double start = now();
    movers[i](from, in, to, out);
    double t = now() - start;
    if (t < best) best = t;
  }
  return best;
}

/* ---- one format ---- */

static double time_conversion(const format_kernels *k, const tw_packing *p, const buffers *b, bool back) {
  double start = now();
  tw_status status = back ? format_decode_with(k, p, b->values / 4096, 4096, b->codes, b->scales, b->x, 4096, NULL)
                          : format_encode_with(k, p, b->values / 4096, 4096, b->x, 4096, b->codes, b->scales, NULL);
  if (status != TW_OK) exit(1);
  return now() - start;
}

static void measure(const format_kernels *k, const tw_packing *p, const buffers *b, int rounds) {
  tw_packed_size size;
  tw_format_sizes(p, b->values / 4096, 4096, &size, NULL);
  double bytes = (double)(b->values * sizeof(float) + size.codes + size.scales);
  size_t packed = size.codes + size.scales, unpacked = b->values * sizeof(float);
  double best[2] = {1e9, 1e9}, bare[2] = {1e9, 1e9};
  for (int r = 0; r < rounds; r++) {
    for (int back = 0; back < 2; back++) {
      double t = time_conversion(k, p, b, back);
      if (t < best[back]) best[back] = t;
      t = back ? time_move(b->codes, packed, (uint8_t *)b->x, unpacked)
               : time_move((const uint8_t *)b->x, unpacked, b->codes, packed);
      if (t < bare[back]) bare[back] = t;
      if (back) { /* the move wrote over the numbers */
        for (size_t i = 0; i < b->values; i++) b->x[i] = (float)((int)(i * 2654435761u >> 8 & 0xFFFF) - 0x8000) * 1e-3f;
      } else if (time_conversion(k, p, b, 0) < 0) {
        exit(1); /* codes are needed again for decoding */
      }
    }
  }
  char name[40];
  snprintf(name, sizeof name, "%s%s", p->format->name, p->group == TW_GROUP_TENSOR ? "/tensor" : "");
  if (p->group > 0) snprintf(name, sizeof name, "%s/g%d", p->format->name, (int)p->group);
  printf("%-12s %-10s %8.1f %6.0f%% %10.1f %6.0f%%\n", name, k->isa, bytes / best[0] * 1e-9, 100 * bare[0] / best[0],
         bytes / best[1] * 1e-9, 100 * bare[1] / best[1]);
  fflush(stdout);
}

static bool wanted(const char *name, int argc, char *argv[]) {
  if (argc <= 3) return true;
  for (int i = 3; i < argc; i++) {
    if (strcmp(argv[i], name) == 0) return true;
  }
  return false;
}

int main(int argc, char *argv[]) {
  size_t mib = argc > 1 ? (size_t)atoi(argv[1]) : 128;
  int rounds = argc > 2 ? atoi(argv[2]) : 3;
  buffers b = {.values = mib << 18};
  b.x = allocate(b.values * sizeof *b.x);
  b.codes = allocate(b.values * 4);
  b.scales = allocate(b.values);
  for (size_t i = 0; i < b.values; i++) b.x[i] = (float)((int)(i * 2654435761u >> 8 & 0xFFFF) - 0x8000) * 1e-3f;
  double read = 1e9, write = 1e9, copy = 1e9, t;
  size_t bytes = b.values * sizeof *b.x;
  for (int r = 0; r < rounds; r++) {
    if ((t = time_move((uint8_t *)b.x, bytes, b.codes, 0)) < read) read = t;
    if ((t = time_move((uint8_t *)b.x, bytes, b.codes, bytes)) < copy) copy = t;
    if ((t = time_move((uint8_t *)b.x, bytes / 64, b.codes, bytes)) < write) write = t;
  }
  printf("%zu MiB of f32, best of %d; bare read %.1f GB/s, write %.1f GB/s, copy %.1f GB/s (both directions)\n\n", mib,
         rounds, (double)bytes / read * 1e-9, (double)bytes / write * 1e-9, 2 * (double)bytes / copy * 1e-9);
  printf("%-12s %-10s %8s %7s %10s %7s\n", "format", "path", "encode", "of bare", "decode", "of bare");
  static const char *const isas[] = {"avx512", "avx2"};
  for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
    const format_kernels *k = format_kernels_named(isas[i]);
    for (int id = TW_FORMAT_F16; k && id < TW_FORMAT_COUNT; id++) {
      tw_packing p = {.format = tw_format_at((tw_format_id)id)};
      if (!wanted(p.format->name, argc, argv)) continue;
      bool integer = id == TW_FORMAT_I8 || id == TW_FORMAT_I4;
      if (integer) p.group = 32;
      measure(k, &p, &b, rounds);
      if (integer) p.group = 128, measure(k, &p, &b, rounds);
      if (integer) p.group = TW_GROUP_ROW, measure(k, &p, &b, rounds);
    }
  }
  return 0;
}
