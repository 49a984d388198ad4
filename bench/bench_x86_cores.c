/* bench_x86_cores.c - what each core gives alone, and what all cores give together: the limits of a GEMM on all cores.
 *
 *   bench_x86_cores [threads [WORD]]        WORD: only kernels with it in their names
 *
 * For each kernel that the CPU has: multiplications on registers, then one tile of C whose A and B stay in L1 or L2. For memory:
 * reads of 6 to 128 MiB by each thread. Each line has the rate of one thread alone, and the mean, the least and the
 * most of all threads at once, each bound to a core of its own. Where "together" is far below "alone", cores share something:
 * a hyperthread, the power of the package, a cache, or another virtual machine. */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/pages.h"
#include "target/x86/cpu.h"
#include "target/x86/rates.h"
#include "target/x86/variant.h"

enum { THREADS_MAX = 256, ROUNDS = 2000, SHORT = 64 /* units of k */ };
static const double SECONDS = 0.03;

typedef struct work {
  const x86_kernel *kernel; /* NULL: reads */
  bool tile, wide, adds;    /* a tile, of two panels, that begins with the sums in C */
  int64_t units, pitch;     /* of k; 0: A is packed */
  size_t bytes;
} work;

static cpu_set_t allowed; /* before any thread is bound */

static void bind_to(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int i = 0, n = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET(i, &allowed) && n++ == core) CPU_SET(i, &one);
  sched_setaffinity(0, sizeof one, &one);
}

/* One tile of the kernel's full height again and again: operations in a second, in units of 1e9. B is a panel of it (two for a wide
 * tile), A a strip that is packed, or rows in place `pitch` bytes apart. */
static double tile_rate(const work *w, char *memory) {
  const x86_kernel *k = w->kernel;
  const int64_t rows = w->wide ? k->wide_rows : k->rows, panel = k->columns * X86_UNIT * w->units;
  const int64_t columns = w->wide ? 2 * k->columns : k->columns;
  x86_tile *const *tiles = w->wide ? w->pitch ? k->wide_direct : k->wide_packed : w->pitch ? k->direct : k->packed;
  char *c = memory, *b = c + 16384, *a = b + 2 * panel + 128 * X86_UNIT;
  const int group = x86_group(k->arithmetic);
  long calls = 0;
  double now;
  if (k->begin) k->begin();
  const double start = tw_now();
  do {
    for (int i = 0; i < 16; i++)
      tiles[rows - 1](w->units, a, w->pitch, b, panel, c, columns * X86_UNIT, columns, w->adds, b, 0, 1);
    calls += 16;
    now = tw_now();
  } while (now - start < SECONDS);
  if (k->end) k->end();
  return 2e-9 * (double)(calls * rows * columns * w->units * group) / (now - start);
}

static double spin_rate(const x86_kernel *k) {
  long calls = 0;
  double now;
  const double start = tw_now();
  do k->spin(ROUNDS), calls++, now = tw_now();
  while (now - start < SECONDS);
  return 1e-9 * k->operations_per_round * ROUNDS * (double)calls / (now - start);
}

static double read_rate(const char *memory, size_t bytes) {
  double read = 0, now;
  const double start = tw_now();
  do {
    x86_read_seconds(memory, bytes, 1);
    read += (double)bytes;
    now = tw_now();
  } while (now - start < SECONDS);
  return 1e-9 * read / (now - start);
}

static double rate_of(const work *w, char *memory) {
  if (!w->kernel) return read_rate(memory, w->bytes);
  return w->tile ? tile_rate(w, memory) : spin_rate(w->kernel);
}

static void line_of(const work *w, const char *what, const char *unit, int threads) {
  double rate[THREADS_MAX] = {0}, alone = 0, sum = 0, least = 1e300, most = 0;
  for (int count = 1; count <= threads; count += threads > 1 ? threads - 1 : 1) {
#pragma omp parallel num_threads(count)
    {
      const int id = omp_get_thread_num();
      bind_to(id);
      char *memory = tw_new_pages(w->bytes);
      memset(memory, 0, w->bytes);
#pragma omp barrier
      rate[id] = rate_of(w, memory);
      free(memory);
    }
    if (count == 1) alone = rate[0];
  }
  for (int i = 0; i < threads; i++) {
    sum += rate[i];
    least = rate[i] < least ? rate[i] : least;
    most = rate[i] > most ? rate[i] : most;
  }
  printf("%-52s %8.0f %8.0f %8.0f %8.0f  %s\n", what, alone, sum / threads, least, most, unit);
  fflush(stdout);
}

/* From L1, where the sums are soon written; from L1 as long as fits there; from L2; and with rows of A that share sets of L1. */
static void lines_of_tiles(const x86_kernel *k, int threads) {
  const x86_cpu *cpu = x86_this_cpu();
  const int64_t step = 16, unit = X86_UNIT * (k->rows + k->columns);
  const int64_t in_l1 = cpu->l1 * 3 / 4 / unit / step * step, in_l2 = cpu->l2 / 4 / unit / step * step;
  const struct {
    const char *what;
    bool wide, adds;
    int64_t units, pitch;
  } tiles[] = {{"packed, L1", false, false, SHORT, 0},
               {"packed, L1, adds to C", false, true, SHORT, 0},
               {"packed, L1", false, false, in_l1, 0},
               {"packed, L2", false, false, in_l2, 0},
               {"rows 8 KiB apart, L1", false, false, in_l1, 8192},
               {"rows 8 KiB apart, L2", false, false, in_l2, 8192},
               {"two panels, rows 8 KiB apart, L2", true, false, in_l2, 8192}};
  for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
    char what[128];
    if (tiles[i].wide && !k->wide_rows) continue;
    const work w = {.kernel = k,
                    .tile = true,
                    .wide = tiles[i].wide,
                    .adds = tiles[i].adds,
                    .units = tiles[i].units,
                    .pitch = tiles[i].pitch,
                    .bytes = (size_t)(65536 + 2 * in_l2 * unit + k->rows * 8192)};
    snprintf(what, sizeof what, "  %s, %d units of k", tiles[i].what, (int)tiles[i].units);
    line_of(&w, what, "GFLOP/s", threads);
  }
}

int main(int argc, char **argv) {
  static const size_t sizes[] = {6 << 20, 32 << 20, 128 << 20};
  const x86_cpu *cpu = x86_this_cpu();
  sched_getaffinity(0, sizeof allowed, &allowed);
  const int asked = argc > 1 ? atoi(argv[1]) : cpu->cores;
  const int threads = asked < 1 ? 1 : asked > THREADS_MAX ? THREADS_MAX : asked;
  printf("%s, %d cores, L1 %lld KiB, L2 %lld KiB, L3 %lld MiB\n%-52s %8s %8s %8s %8s\n", cpu->model, cpu->cores,
         (long long)cpu->l1 >> 10, (long long)cpu->l2 >> 10, (long long)cpu->l3 >> 20, "", "alone", "together", "least",
         "most");
  const x86_kernel *k;
  for (int i = 0; (k = x86_kernel_at(i)); i++) {
    char what[96];
    if (!cpu->has[k->isa] || k->isa < X86_AVX512 || (argc > 2 && !strstr(k->name, argv[2]))) continue;
    const work registers = {.kernel = k, .bytes = 65536};
    snprintf(what, sizeof what, "%s on registers", k->name);
    line_of(&registers, what, "GFLOP/s", threads);
    if (k->direct) lines_of_tiles(k, threads);
  }
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    char what[64];
    snprintf(what, sizeof what, "reads of %zu MiB", sizes[i] >> 20);
    line_of(&(work){.bytes = sizes[i]}, what, "GB/s", threads);
  }
  return 0;
}
