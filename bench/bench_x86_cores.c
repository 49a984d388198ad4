/* bench_x86_cores.c - what each core gives alone, and what all cores give together: the limits of a GEMM on all cores.
 *
 *   bench_x86_cores [threads]
 *
 * For each kernel that the CPU has: multiplications on registers, then one tile of C whose A and B stay in L1. For memory:
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

enum { THREADS_MAX = 256, ROUNDS = 2000, UNITS = 64 };
static const double SECONDS = 0.03;

typedef struct work {
  const x86_kernel *kernel; /* NULL: reads */
  bool from_l1;
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

/* One tile of the kernel's full height: operations in a second, in units of 1e9. */
static double tile_rate(const x86_kernel *k, char *memory) {
  const int64_t rows = k->rows, columns = k->columns, line = UNITS * X86_UNIT;
  char *a = memory, *b = a + 16384, *c = b + 32768;
  const int group = x86_group(k->arithmetic);
  long calls = 0;
  double now;
  if (k->begin) k->begin();
  const double start = tw_now();
  do {
    for (int i = 0; i < 16; i++)
      k->direct[rows - 1](UNITS, a, line, b, 0, c, columns * X86_UNIT, columns, true, b, 0, 1);
    calls += 16;
    now = tw_now();
  } while (now - start < SECONDS);
  if (k->end) k->end();
  return 2e-9 * (double)(calls * rows * columns * UNITS * group) / (now - start);
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
  return w->from_l1 ? tile_rate(w->kernel, memory) : spin_rate(w->kernel);
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
  printf("%-44s %8.0f %8.0f %8.0f %8.0f  %s\n", what, alone, sum / threads, least, most, unit);
  fflush(stdout);
}

int main(int argc, char **argv) {
  static const size_t sizes[] = {6 << 20, 32 << 20, 128 << 20};
  const x86_cpu *cpu = x86_this_cpu();
  sched_getaffinity(0, sizeof allowed, &allowed);
  const int asked = argc > 1 ? atoi(argv[1]) : cpu->cores;
  const int threads = asked < 1 ? 1 : asked > THREADS_MAX ? THREADS_MAX : asked;
  printf("%s, %d cores, L1 %lld KiB, L2 %lld KiB, L3 %lld MiB\n%-44s %8s %8s %8s %8s\n", cpu->model, cpu->cores,
         (long long)cpu->l1 >> 10, (long long)cpu->l2 >> 10, (long long)cpu->l3 >> 20, "", "alone", "together", "least",
         "most");
  const x86_kernel *k;
  for (int i = 0; (k = x86_kernel_at(i)); i++) {
    char what[96];
    if (!cpu->has[k->isa] || k->isa < X86_AVX512) continue;
    const work registers = {.kernel = k, .bytes = 65536}, l1 = {.kernel = k, .from_l1 = true, .bytes = 65536};
    snprintf(what, sizeof what, "%s on registers", k->name);
    line_of(&registers, what, "GFLOP/s", threads);
    if (!k->direct) continue;
    snprintf(what, sizeof what, "%s, operands in L1", k->name);
    line_of(&l1, what, "GFLOP/s", threads);
  }
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    char what[64];
    snprintf(what, sizeof what, "reads of %zu MiB", sizes[i] >> 20);
    line_of(&(work){.bytes = sizes[i]}, what, "GB/s", threads);
  }
  return 0;
}
