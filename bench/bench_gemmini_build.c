/* bench_gemmini_build.c - what it costs to build a candidate: each stage with each tool, on programs of the yardstick.
 *
 *   bench_gemmini_build [RUNS]   the best of RUNS (5) runs of each, in milliseconds of processor time
 *
 * The choice of compiler stands on this (docs/explain/compilers.md). Needs clang and lld for their columns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/embedded.h"
#include "base/files.h"
#include "base/process.h"
#include "base/strings.h"
#include "target/gemmini/build.h"
#include "target/gemmini/harness.h"
#include "target/gemmini/toolchain.h"
#include "target/parse.h"

#define CODE "-O2", "-ffast-math", "-fno-common", "-march=rv64gc", "-mabi=lp64d", "-mcmodel=medany", "-std=gnu99", "-g1"

static const struct {
  const char *name, *m, *n, *k;
} programs[] = {
    {"p01_naive_same_bank", "m=512", "n=128", "k=256"},
    {"p04_naive_unrolled", "m=512", "n=128", "k=256"},
    {"p07_double_ab_spread", "m=512", "n=128", "k=256"},
    {"p11_square_tile4_best", "m=256", "n=256", "k=256"},
    {"p20_b_resident", "m=768", "n=128", "k=128"},
    {"p29_small_64", "m=64", "n=64", "k=64"},
    {"p36_flat", "m=128", "n=128", "k=128"},
    {"p49_hw_square", "m=256", "n=256", "k=256"},
    {"p53_hw_auto", "m=384", "n=320", "k=192"},
    {"p55_b_resident_spread_st64", "m=768", "n=128", "k=128"},
};

typedef struct bench {
  int runs;
  char *directory;
  gm_toolchain tools;
  tw_error error;
} bench;

/* Processor time of this process and of those it waited for: on a busy machine the wall clock measures the others. */
static double now(void) {
  struct rusage self, children;
  getrusage(RUSAGE_SELF, &self);
  getrusage(RUSAGE_CHILDREN, &children);
  const struct timeval t[] = {self.ru_utime, self.ru_stime, children.ru_utime, children.ru_stime};
  double seconds = 0;
  for (int i = 0; i < 4; i++) seconds += (double)t[i].tv_sec + 1e-6 * (double)t[i].tv_usec;
  return seconds;
}

/* Milliseconds of the fastest run; 0 if the program is not there or fails. */
static double fastest(bench *b, const char *const *argv) {
  double best = 0;
  if (!tw_process_find(argv[0])) return 0;
  for (int i = 0; i < b->runs; i++) {
    tw_process_options options = {.argv = argv, .directory = b->directory};
    tw_process_result result;
    double before = now();
    if (tw_process_run(&options, &result, &b->error) != TW_OK) return 0;
    double seconds = now() - before;
    if (result.exit_status != 0) fprintf(stderr, "%s: %.300s\n", argv[0], result.output);
    bool failed = result.exit_status != 0;
    tw_process_result_free(&result);
    if (failed) return 0;
    if (i == 0 || seconds < best) best = seconds;
  }
  return best * 1e3;
}

static bool write_inputs(bench *b, const tw_problem *p, const char *source, size_t length) {
  gm_entry entry;
  char *program = NULL, *script = NULL;
  char *c = tw_path_join(b->directory, "kernel.c"), *ld = tw_path_join(b->directory, "program.ld");
  bool written = gm_kernel_inspect(source, length, &entry, &b->error) == TW_OK &&
                 gm_harness_program(p, source, length, &entry, &program, &b->error) == TW_OK &&
                 gm_harness_script(p, &script, &b->error) == TW_OK &&
                 tw_file_write(c, program, strlen(program), &b->error) == TW_OK &&
                 tw_file_write(ld, script, strlen(script), &b->error) == TW_OK;
  free(program);
  free(script);
  free(c);
  free(ld);
  return written;
}

/* gm_build from nothing, and again from the cache. */
static bool whole(bench *b, const tw_problem *p, const gm_config *config, const char *source, size_t length,
                  double milliseconds[2]) {
  for (int i = 0; i < b->runs; i++) {
    tw_text other = {0}; /* another comment, another program */
    tw_text_add_bytes(&other, source, length);
    tw_text_add(&other, "\n// %d %.9f\n", i, now());
    size_t n = other.length;
    char *text = tw_text_take(&other);
    for (int again = 0; again < 2; again++) {
      char *elf = NULL;
      size_t size;
      double before = now();
      if (!text || gm_build(config, p, text, n, false, &elf, &size, &b->error) != TW_OK) return false;
      double taken = (now() - before) * 1e3;
      if (i == 0 || taken < milliseconds[again]) milliseconds[again] = taken;
      free(elf);
    }
    free(text);
  }
  return true;
}

static bool measure(bench *b, const gm_config *config, size_t index) {
  char path[256], *source = NULL;
  size_t length;
  tw_problem p;
  const char *const words[] = {programs[index].m, programs[index].n, programs[index].k, "a=i8", "b=i8", "c=i8",
                               "acc=i32"};
  snprintf(path, sizeof path, "tests/data/gemmini/programs/%s.c", programs[index].name);
  if (tw_problem_parse_words(NULL, "gemm", 7, words, &p, &b->error) != TW_OK) return false;
  if (tw_file_read(path, 1 << 20, &source, &length, &b->error) != TW_OK) return false;
  bool done = write_inputs(b, &p, source, length);

  char *include = tw_path_join(b->tools.runtime, "include"), *start = tw_path_join(b->tools.runtime, "start.o");
  char *libc = tw_path_join(b->tools.runtime, "libc.o"), *libgcc = tw_path_join(b->tools.runtime, "libgcc.a");
  const char *const gcc[] = {
      "riscv64-unknown-elf-gcc", CODE, "-nostdinc", "-isystem", include, "-S", "kernel.c", "-o", "kernel.s", NULL};
  const char *const as[] = {
      "riscv64-unknown-elf-as", "-march=rv64gc", "-mabi=lp64d", "kernel.s", "-o", "kernel.o", NULL};
  const char *const ld[] = {"riscv64-unknown-elf-ld",
                            "-T",
                            "program.ld",
                            "--gc-sections",
                            "--no-warn-rwx-segments",
                            start,
                            "kernel.o",
                            libc,
                            libgcc,
                            "-o",
                            "program.elf",
                            NULL};
  const char *const lld[] = {"ld.lld", "-T",   "program.ld", "--gc-sections", start, "kernel.o",
                             libc,     libgcc, "-o",         "program2.elf",  NULL};
  const char *const clang[] = {"clang",     "--target=riscv64-unknown-elf",
                               CODE,        "-w",
                               "-nostdinc", "-isystem",
                               include,     "-S",
                               "kernel.c",  "-o",
                               "clang.s",   NULL};
  const char *const clang_object[] = {"clang",     "--target=riscv64-unknown-elf",
                                      CODE,        "-w",
                                      "-nostdinc", "-isystem",
                                      include,     "-c",
                                      "kernel.c",  "-o",
                                      "clang.o",   NULL};
  if (done) {
    double t[8];
    const char *const *const stage[] = {gcc, as, ld, lld, clang, clang_object};
    for (int i = 0; i < 6; i++) t[i] = fastest(b, stage[i]);
    done = whole(b, &p, config, source, length, t + 6);
    printf("%-28s", programs[index].name);
    for (int i = 0; i < 8; i++) printf(" %8.1f", t[i]);
    printf("\n");
    fflush(stdout);
  }
  free(include);
  free(start);
  free(libc);
  free(libgcc);
  free(source);
  return done;
}

int main(int argc, char **argv) {
  bench b = {.runs = argc > 1 ? atoi(argv[1]) : 5};
  gm_config config;
  const tw_embedded *file = tw_embedded_find("gemmini/configs/gemmini-16x16-int8.txt");
  if (b.runs < 1) b.runs = 1;
  /* a cache of its own: the user's would keep what is built here */
  bool ready = tw_directory_temporary(&b.directory, &b.error) == TW_OK && setenv("XDG_CACHE_HOME", b.directory, 1) == 0;
  ready = ready && file && gm_config_parse((const char *)file->data, file->name, &config, &b.error) == TW_OK &&
          gm_toolchain_open(&config, &b.tools, &b.error) == TW_OK && gm_toolchain_prepare(&b.tools, &b.error) == TW_OK;
  if (ready)
    printf("%-28s %8s %8s %8s %8s %8s %8s %8s %8s\n", "processor time, ms", "gcc -S", "as", "ld", "lld", "clang -S",
           "clang -c", "gm_build", "cached");
  for (size_t i = 0; ready && i < sizeof programs / sizeof *programs; i++) ready = measure(&b, &config, i);
  if (!ready) fprintf(stderr, "bench_gemmini_build: %s\n", b.error.text);
  if (b.directory) tw_directory_remove(b.directory);
  free(b.directory);
  gm_toolchain_close(&b.tools);
  return !ready;
}
