/* bench_rv64.c - simulated instructions a second of the RV64 core, on kernels that stress its parts.
 *
 *   bench_rv64 [FILE.elf]    a program of your own instead (until it ends) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/files.h"
#include "base/process.h"
#include "target/gemmini/core/rv64.h"

// clang-format off
static const char start[] = "__attribute__((noipa)) long run(void);\nvoid _start(void) { run(); __asm__ volatile(\"csrw 0x8c3, zero\"); for (;;) ; }\n";

static const struct { const char *name, *source; } kernels[] = {
  { "integer loop", "long run(void) { long a = 0, b = 1; for (long i = 0; i < 30000000; i++) { long c = a + b; a = b; b = c ^ (a >> 3); } return a; }" },
  { "bytes in memory", "char m[8192]; long run(void) { for (int r = 0; r < 4000; r++) for (int i = 0; i < 8192; i++) m[i] += i * r; return m[5]; }" },
  { "branches", "long run(void) { unsigned long s = 88172645463325252u; long n = 0; for (long i = 0; i < 8000000; i++) {"
                " s ^= s << 13; s ^= s >> 7; s ^= s << 17; if (s & 1) n += i; else n ^= i; } return n; }" },
  { "calls", "__attribute__((noinline)) long f(long n) { return n < 2 ? n : f(n - 1) + f(n - 2); } long run(void) { return f(32); }" },
  { "floating point", "volatile double o; long run(void) { double x = 1; for (long i = 0; i < 5000000; i++) x = x * 0.999 + 0.5; o = x; return 0; }" },
};
// clang-format on

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* other work on this machine does not count */
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t refill(void *context, uint64_t cycle, uint64_t line, rv64_miss why) {
  (void)context, (void)line, (void)why;
  return cycle + 30;
}

static int measure(const char *name, const char *path) {
  static const rv64_ports ports = {.refill = refill};
  rv64_memory memory;
  rv64_result result;
  tw_error error;
  double before = now();
  char *data;
  size_t size;
  if (tw_file_read(path, RV64_MEMORY_LIMIT, &data, &size, &error) ||
      rv64_memory_load(data, size, path, &memory, &error))
    return fprintf(stderr, "%s\n", error.text), 1;
  free(data);
  double loaded = now();
  tw_status status = rv64_run(&memory, &ports, NULL, &result, &error);
  double seconds = now() - loaded;
  if (status) return fprintf(stderr, "%s\n", error.text), 1;
  printf("%-16s %7.1f million instructions/s  %5.3f instructions/cycle  load %.2f ms  %s\n", name,
         (double)result.instructions / seconds * 1e-6, (double)result.instructions / (double)result.cycles,
         (loaded - before) * 1e3, result.why);
  rv64_memory_free(&memory);
  return 0;
}

static int measure_source(const char *directory, const char *name, const char *source) {
  tw_error error;
  tw_process_result result;
  char *elf = tw_path_join(directory, "kernel.elf"), *c = tw_path_join(directory, "kernel.c");
  char text[2048];
  int n = snprintf(text, sizeof text, "%s%s\n", start, source);
  const char *const argv[] = {"riscv64-unknown-elf-gcc",
                              "-O2",
                              "-march=rv64gc",
                              "-mabi=lp64d",
                              "-mcmodel=medany",
                              "-nostdlib",
                              "-nostartfiles",
                              "-ffreestanding",
                              "-Wl,-Ttext=0x80000000,--no-warn-rwx-segments,--no-relax",
                              c,
                              "-o",
                              elf,
                              NULL};
  tw_process_options options = {.argv = argv};
  int failed = 1;
  if (tw_file_write(c, text, (size_t)n, &error) || tw_process_run(&options, &result, &error)) {
    fprintf(stderr, "%s\n", error.text);
  } else {
    if (result.exit_status)
      fprintf(stderr, "%s", result.output);
    else
      failed = measure(name, elf);
    tw_process_result_free(&result);
  }
  free(elf);
  free(c);
  return failed;
}

int main(int argc, char **argv) {
  if (argc > 1) return measure(argv[1], argv[1]);
  char *directory;
  tw_error error;
  if (tw_directory_temporary(&directory, &error)) return fprintf(stderr, "%s\n", error.text), 1;
  int failed = 0;
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    failed |= measure_source(directory, kernels[i].name, kernels[i].source);
  tw_directory_remove(directory);
  free(directory);
  return failed;
}
