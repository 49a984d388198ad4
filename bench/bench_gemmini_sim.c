/* How fast the Gemmini simulator is: simulated cycles a second of CPU time on one core, for six kernels that keep the array busy
 * (what a search found for the shapes of README's table), four that memory limits, and the start of a run; and how far that is
 * from the goals. An RTL simulation of the same system does about 0.04 million.
 *
 *   build/bench/bench_gemmini_sim [repeats [part of a line's name]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/embedded.h"
#include "target/gemmini/build.h"
#include "target/gemmini/run.h"
#include "target/gemmini/target.h"
#include "target/parse.h"

enum { GOAL_BUSY = 18, GOAL_MEMORY = 12 }; /* million cycles a second */

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fail(const tw_error *e) {
  fprintf(stderr, "bench_gemmini_sim: %s\n", e->text);
  return 1;
}

typedef struct program {
  const char *name, *shape[3], *steps; /* shape: m, n, k */
  int goal;                            /* 0: none */
} program;

static const program programs[] = {
    {"array busy: 512,512,512",
     {"m=512", "n=512", "k=512"},
     "pipeline m=64 n=64 k=64 loads=8 stores=8\nunroll 2 ikj\nspread stores=16\norder ji\ntile m=128 n=64 k=64\n",
     GOAL_BUSY},
    {"array busy: 12544,256,64",
     {"m=12544", "n=256", "k=64"},
     "pipeline m=32 n=256 k=64 loads=8 stores=8\nhold a=panel b=whole\nunroll 1 ijk\ntile m=32 n=128 k=64\ntaper\n"
     "loops jik\nspread loads=4 stores=4\n",
     GOAL_BUSY},
    {"array busy: 12544,64,256",
     {"m=12544", "n=64", "k=256"},
     "hold a=panel b=whole\npipeline m=64 n=64 k=64 loads=8 stores=8\nunroll 1 ijk\n",
     GOAL_BUSY},
    {"array busy: 3136,512,128, hardware loop",
     {"m=3136", "n=512", "k=128"},
     "hardware_loop m=64 n=128 k=128\n",
     GOAL_BUSY},
    {"array busy: 3136,128,512",
     {"m=3136", "n=128", "k=512"},
     "pipeline m=64 n=128 k=64 loads=16 stores=16\nunroll 1 ikj\nhold a=panel b=whole\ntaper\n",
     GOAL_BUSY},
    {"array busy: 784,1024,256",
     {"m=784", "n=1024", "k=256"},
     "pipeline m=112 n=64 k=64 loads=8 stores=8\nunroll 2 ijk\norder ji\nspread loads=4\nspread stores=16\n",
     GOAL_BUSY},
    {"waits for loads: 512,512,512, plainest", {"m=512", "n=512", "k=512"}, "", GOAL_MEMORY},
    {"loads beyond the L2: 64,64,8192",
     {"m=64", "n=64", "k=8192"},
     "pipeline m=64 n=64 k=64 loads=8 stores=8\n",
     GOAL_MEMORY},
    {"stores beyond the L2: 2048,512,32",
     {"m=2048", "n=512", "k=32"},
     "hold b=whole\npipeline m=64 n=64 k=32 loads=8 stores=8\nunroll 1 ijk\n",
     GOAL_MEMORY},
    {"stores beyond the L2: 8192,128,16",
     {"m=8192", "n=128", "k=16"},
     "hold b=whole\npipeline m=64 n=64 k=16 loads=8 stores=8\nunroll 1 ijk\n",
     GOAL_MEMORY},
    {"start: 1,1,1", {"m=1", "n=1", "k=1"}, "", 0},
};

static int run(const gm_config *c, const program *of, int repeats) {
  const char *words[] = {of->shape[0], of->shape[1], of->shape[2], "a=i8", "b=i8", "c=i8", "acc=i32"};
  tw_error e = {0};
  tw_problem p;
  tw_schedule schedule = {0};
  tw_case inputs;
  char *source, *elf;
  size_t size;
  gm_run_result r;
  const gm_run_options options = {0};
  const tw_target t = gm_target_of(c);
  if (tw_problem_parse_words(NULL, "gemm", sizeof words / sizeof *words, words, &p, &e) ||
      tw_schedule_parse(of->steps, &schedule, &e) || tw_target_emit(&t, &p, &schedule, &source, &e) ||
      gm_build(c, &p, source, strlen(source), false, &elf, &size, &e) || tw_case_make(&p, 1, 0, &inputs, &e))
    return fail(&e);
  double best = 1e9;
  for (int i = 0; i < repeats; i++) {
    double start = cpu_seconds();
    if (gm_run(c, elf, size, &inputs, &options, &r, &e)) return fail(&e);
    double taken = cpu_seconds() - start;
    if (taken < best) best = taken;
  }
  const double rate = (double)r.core.cycles / best / 1e6;
  printf("%-41s %9llu cycles %7.2f ms %6.1f million cycles/s", of->name, (unsigned long long)r.core.cycles, 1e3 * best,
         rate);
  if (of->goal) printf(", %.2f of the goal of %d", rate / of->goal, of->goal);
  printf("\n");
  tw_case_free(&inputs);
  free(source);
  free(elf);
  return 0;
}

int main(int argc, char *argv[]) {
  const int repeats = argc > 1 ? atoi(argv[1]) : 5;
  const char *only = argc > 2 ? argv[2] : "";
  tw_error e = {0};
  gm_config c;
  const tw_embedded *file = tw_embedded_find("gemmini/configs/gemmini-16x16-int8.txt");
  if (!file || gm_config_parse((const char *)file->data, file->name, &c, &e)) return fail(&e);
  int failed = 0;
  for (size_t i = 0; i < sizeof programs / sizeof *programs && !failed; i++)
    if (strstr(programs[i].name, only)) failed = run(&c, &programs[i], repeats);
  return failed;
}
