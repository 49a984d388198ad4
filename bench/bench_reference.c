/* bench_reference.c - how fast the reference of gemm is, on one thread. */
#include <stdio.h>
#include <time.h>

#include "target/parse.h"
#include "tilewright/extend/op.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int measure(const char *m, const char *n, const char *k, const char *type) {
  const char *words[] = {m, n, k, "a=i8", "b=i8", "c=i8", "acc=i32"};
  tw_problem problem;
  tw_error error;
  tw_case c;
  if (tw_problem_parse_words(NULL, "gemm", 7, words, &problem, &error) != TW_OK)
    return fprintf(stderr, "%s\n", error.text), 1;
  for (int i = 0; type[0] == 'f' && i < 4; i++)
    if (tw_problem_set(&problem, (const char *[]){"a", "b", "c", "acc"}[i], "f32", &error) != TW_OK) return 1;
  double start = now();
  if (tw_case_make(&problem, 1, 1, &c, &error) != TW_OK) return fprintf(stderr, "%s\n", error.text), 1;
  double all = now() - start;
  start = now();
  problem.op->reference(&problem, c.buffer, 1);
  double seconds = now() - start;
  printf("reference gemm %s %s %s %s: %.1f ms, %.2f GMAC/s; inputs %.1f ms\n", m, n, k, type, seconds * 1e3,
         problem.op->operations(&problem) / seconds * 1e-9, (all - seconds) * 1e3);
  tw_case_free(&c);
  return 0;
}

int main(void) {
  return measure("m=12544", "n=64", "k=256", "i8") || measure("m=512", "n=512", "k=512", "i8") ||
         measure("m=2048", "n=2048", "k=2048", "i8") || measure("m=512", "n=512", "k=512", "f32");
}
