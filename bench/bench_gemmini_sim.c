/* How fast the Gemmini simulator is: simulated cycles a second of CPU time on one core, for a program that keeps the array
 * busy, two that memory limits (one waits for what it loads, one stores more than the L2 holds), and the start of a run; and
 * how far that is from the goals. An RTL simulation of the same system does about 0.04 million.
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

enum { GOAL_BUSY = 18, GOAL_MEMORY = 12 }; /* million cycles a second */

static const char *only; /* lines whose name holds this */

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fail(const tw_error *e) {
  fprintf(stderr, "bench_gemmini_sim: %s\n", e->text);
  return 1;
}

static int one(const gm_config *c, const char *name, const char *words[], size_t n, const char *steps, int goal,
               int repeats) {
  tw_error e = {0};
  tw_problem p;
  tw_schedule schedule = {0};
  tw_case inputs;
  char *source, *elf;
  size_t size;
  gm_run_result r;
  const gm_run_options options = {0};
  const tw_target t = gm_target_of(c);
  if (!strstr(name, only)) return 0;
  if (tw_problem_parse("gemm", n, words, &p, &e) || tw_schedule_parse(steps, &schedule, &e) ||
      tw_target_emit(&t, &p, &schedule, &source, &e) ||
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
  printf("%-44s %9llu cycles %7.2f ms %6.1f million cycles/s", name, (unsigned long long)r.core.cycles, 1e3 * best,
         rate);
  if (goal) printf(", %.2f of the goal of %d", rate / goal, goal);
  printf("\n");
  tw_case_free(&inputs);
  free(source);
  free(elf);
  return 0;
}

int main(int argc, char *argv[]) {
  const int repeats = argc > 1 ? atoi(argv[1]) : 5;
  only = argc > 2 ? argv[2] : "";
  tw_error e = {0};
  gm_config c;
  const tw_embedded *file = tw_embedded_find("gemmini/configs/gemmini-16x16-int8.txt");
  if (!file || gm_config_parse((const char *)file->data, file->name, &c, &e)) return fail(&e);
#define TYPES "a=i8", "b=i8", "c=i8", "acc=i32"
  const char *busy[] = {"m=12544", "n=64", "k=256", TYPES}, *plain[] = {"m=512", "n=512", "k=512", TYPES},
             *stores[] = {"m=8192", "n=128", "k=16", TYPES}, *tiny[] = {"m=1", "n=1", "k=1", TYPES};
  return one(&c, "array busy: 12544,64,256, pipelined", busy, 7,
             "hold a=panel b=whole\npipeline m=64 n=64 k=64 loads=8 stores=8\nunroll 1 ijk\n", GOAL_BUSY, repeats) ||
         one(&c, "array waiting: 512,512,512, plainest", plain, 7, "", GOAL_MEMORY, repeats) ||
         one(&c, "stores beyond the L2: 8192,128,16, pipelined", stores, 7,
             "hold b=whole\npipeline m=64 n=64 k=16 loads=8 stores=8\nunroll 1 ijk\n", GOAL_MEMORY, repeats) ||
         one(&c, "start: 1,1,1", tiny, 7, "", 0, repeats);
}
