/* worker.c - the program around one rival: reads cases, packs, runs, tells times. The protocol is in docs/lab/2026-11-x86-libraries.md.
 *
 * Decode shapes (m <= 16) take their weights from memory: packed copies of 256 MiB in all are used in turn, eight times the
 * last-level cache of the machine for which the goals were set. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/pages.h"
#include "bench/rivals/rival.h"
#include "op/element.h"
#include "target/parse.h"
#include "target/x86/rates.h"
#include "tilewright/extend/target.h"

enum { DECODE_ROWS = 16, LINE = 4096, WORDS = 24, CALLS_MAX = 1 << 20 };
static const size_t ROTATED_BYTES = (size_t)256 << 20;
static const double LEAST_BATCH = 50e-6; /* seconds: shorter calls are timed together */

typedef struct worker {
  tw_problem problem;
  rival_case job;
  rival_ready ready;
  bool open;
  char *inputs; /* the file of the case: A, B and room for C as f32 */
  size_t inputs_bytes, c_at;
  char *packed;
  size_t copies, next; /* of the weights; the one whose turn it is */
  void *c;
  long batch; /* calls that are timed together */
} worker;

/* ---- memory ---- */

static void close_case(worker *w) {
  if (w->open) rival_close();
  free(w->packed);
  free(w->c);
  if (w->inputs) munmap(w->inputs, w->inputs_bytes);
  *w = (worker){0};
}

static const char *map_inputs(worker *w, const char *path) {
  struct stat status;
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &status) != 0) return "cannot open the file of inputs";
  w->inputs_bytes = (size_t)status.st_size;
  void *p = mmap(NULL, w->inputs_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (p == MAP_FAILED) return "cannot map the file of inputs";
  w->inputs = p;
  return NULL;
}

/* ---- case ---- */

static const char *parse(worker *w, size_t n, const char *const words[]) {
  static tw_error error;
  if (tw_problem_parse_words(tw_target_find("x86"), "gemm", n, words, &w->problem, &error) != TW_OK) return error.text;
  const tw_op *op = w->problem.op;
  tw_operand operand[TW_OPERANDS_MAX];
  op->operands(&w->problem, operand);
  w->job.gemm = tw_gemm_of(&w->problem);
  w->job.problem = &w->problem;
  w->job.threads = (int)tw_problem_int(&w->problem, "threads");
  if (w->job.threads < 1) return "threads= must be given";
  const size_t a = (operand[0].bytes + 63) / 64 * 64, b = (operand[1].bytes + 63) / 64 * 64;
  w->c_at = a + b;
  if (w->inputs_bytes < w->c_at + operand[2].bytes) return "the file of inputs is too short";
  w->job.a = w->inputs;
  w->job.b = w->inputs + a;
  return NULL;
}

static const char *pack(worker *w) {
  const tw_gemm *g = &w->job.gemm;
  const size_t bytes = w->ready.weight_bytes;
  w->copies = g->m <= DECODE_ROWS ? ROTATED_BYTES / bytes + 1 : 1;
  w->packed = tw_new_pages(bytes * w->copies);
  w->c = tw_new_pages((size_t)(g->m * g->n) * 4);
  if (!w->packed || !w->c) return "out of memory";
  rival_pack(w->packed);
  for (size_t i = 1; i < w->copies; i++) memcpy(w->packed + i * bytes, w->packed, bytes);
  return NULL;
}

/* "FILE PROBLEM...": the words of the line behind "case". */
static void begin_case(worker *w, size_t n, const char *const words[]) {
  close_case(w);
  const char *why = n < 2 ? "a case is a file and a problem" : map_inputs(w, words[0]);
  if (!why) why = parse(w, n - 1, words + 1);
  if (!why) why = rival_open(&w->job, &w->ready);
  if (!why) {
    w->open = true;
    why = pack(w);
  }
  if (why) {
    printf("no %s\n", why);
    close_case(w);
    return;
  }
  w->batch = 1;
  printf("ready %zu %s\n", w->ready.weight_bytes, w->ready.what);
}

/* ---- run and check ---- */

static void run_once(worker *w) {
  rival_run(w->packed + w->next * w->ready.weight_bytes, w->c);
  if (++w->next == w->copies) w->next = 0;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* At least `seconds` of calls, at least one: the best and the median time of a call. */
static void run(worker *w, double seconds) {
  static double time[4096];
  size_t n = 0;
  const double start = tw_now();
  do {
    const double began = x86_now_of(w->job.threads);
    for (long i = 0; i < w->batch; i++) run_once(w);
    const double took = x86_now_of(w->job.threads) - began;
    if (took < LEAST_BATCH && w->batch < CALLS_MAX) {
      w->batch *= 2;
      n = 0;
      continue;
    }
    time[n++] = took / (double)w->batch;
  } while (n == 0 || (tw_now() - start < seconds && n < sizeof time / sizeof *time));
  qsort(time, n, sizeof *time, by_value);
  printf("time %.9g %.9g\n", time[0], time[n / 2]);
}

/* C goes into the file as f32. */
static void check(worker *w) {
  const tw_gemm *g = &w->job.gemm;
  const size_t elements = (size_t)(g->m * g->n);
  memset(w->c, TW_POISON, elements * 4);
  run_once(w);
  float *to = (float *)(void *)(w->inputs + w->c_at);
  for (size_t i = 0; i < elements; i++) to[i] = (float)tw_element(w->ready.output, w->c, (int64_t)i);
  printf("checked\n");
}

int main(void) {
  static worker w;
  char line[LINE];
  const char *why = rival_start();
  if (why)
    printf("absent %s\n", why);
  else
    printf("rival 1\n");
  fflush(stdout);
  if (why) return 0;
  while (fgets(line, sizeof line, stdin)) {
    const char *word[WORDS];
    size_t n = 0;
    for (char *rest = NULL, *p = strtok_r(line, " \n", &rest); p && n < WORDS; p = strtok_r(NULL, " \n", &rest))
      word[n++] = p;
    if (n == 0) continue;
    if (strcmp(word[0], "case") == 0)
      begin_case(&w, n - 1, word + 1);
    else if (strcmp(word[0], "run") == 0 && n == 2 && w.open)
      run(&w, strtod(word[1], NULL));
    else if (strcmp(word[0], "check") == 0 && w.open)
      check(&w);
    else if (strcmp(word[0], "end") == 0) {
      close_case(&w);
      printf("ended\n");
    } else
      printf("no such request here\n");
    fflush(stdout);
  }
  close_case(&w);
  return 0;
}
