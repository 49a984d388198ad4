/* bench_x86_rivals.c - the x86 target against other libraries, in one run with interleaved repeats.
 *
 *   bench_x86_rivals [kinds=...] [shapes=...] [threads=...] [rounds=5] [slice=0.05] [seconds=0] [out=DIR] [again] [report]
 *
 * Every library is a program of its own (bench/rivals/). For each case all of them pack the same weights, their results are
 * compared with the exact one, and then they take turns, a slice of time each, for some rounds in changing order: what slows
 * the machine hits all. Results go to DIR/results.csv as they come, and a run that was cut off (seconds=) goes on there;
 * at the end the table, DIR/table.txt and DIR/chart.svg show all that the file holds. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "bench/rivals/link.h"
#include "bench/rivals/report.h"
#include "bench/rivals/results.h"
#include "op/compare.h"
#include "op/gemm_problem.h"
#include "target/parse.h"
#include "target/x86/cpu.h"
#include "target/x86/rates.h"
#include "tilewright/extend/target.h"

enum { ROUNDS_MAX = 64, ROUNDS_LEAST = 3, CHECKED = 200, PEAKS_MAX = 16, PATH = 4096 };
static const double CASE_SECONDS = 12; /* then a case ends, if it had ROUNDS_LEAST rounds */
static const double PATIENCE = 300;    /* seconds until a silent program counts as dead */
static const long PAUSE = 10000000;    /* ns between turns: idle threads of the last one stop spinning */

typedef struct options {
  bench_choice choice;
  int rounds;
  double slice, seconds;
  char directory[PATH];
  bool again, report; /* measure what is there already, too; measure nothing */
} options;

/* ---- inputs, and what is right ---- */

typedef struct inputs {
  bench_case of; /* .kind NULL: none yet */
  tw_problem problem;
  tw_operand operand[TW_OPERANDS_MAX];
  int file;
  char path[64];
  char *data;
  size_t bytes, b_at, c_at;
} inputs;

static void drop_inputs(inputs *in) {
  if (in->of.kind) {
    munmap(in->data, in->bytes);
    close(in->file);
  }
  *in = (inputs){0};
}

/* Cases of the same sizes and types share them. */
static bool make_inputs(inputs *in, const bench_case *c) {
  char text[256], *word[16], *rest = NULL;
  size_t n = 0;
  if (in->of.kind == c->kind && in->of.m == c->m && in->of.n == c->n && in->of.k == c->k) return true;
  drop_inputs(in);
  bench_problem(c, text, sizeof text);
  for (char *p = strtok_r(text, " ", &rest); p && n < 16; p = strtok_r(NULL, " ", &rest)) word[n++] = p;
  tw_error error;
  if (tw_problem_parse_words(tw_target_find("x86"), "gemm", n, (const char *const *)word, &in->problem, &error) !=
          TW_OK ||
      tw_problem_set(&in->problem, "acc", strchr(c->kind->name, '*') || c->kind->arithmetic != X86_U8S8 ? "f32" : "i32",
                     &error) != TW_OK) {
    fprintf(stderr, "bench_x86_rivals: %s\n", error.text);
    return false;
  }
  in->problem.op->operands(&in->problem, in->operand);
  in->b_at = (in->operand[0].bytes + 63) / 64 * 64;
  in->c_at = in->b_at + (in->operand[1].bytes + 63) / 64 * 64;
  in->bytes = in->c_at + (size_t)(c->m * c->n) * sizeof(float); /* results of any type are given as f32 */
  in->file = memfd_create("inputs", MFD_CLOEXEC);
  if (in->file < 0 || ftruncate(in->file, (off_t)in->bytes) != 0) return false;
  in->data = mmap(NULL, in->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, in->file, 0);
  if (in->data == MAP_FAILED) return false;
  snprintf(in->path, sizeof in->path, "/proc/%d/fd/%d", (int)getpid(), in->file);
  void *buffer[] = {in->data, in->data + in->b_at, in->data + in->c_at};
  in->problem.op->inputs(&in->problem, 1, buffer);
  in->of = *c;
  return true;
}

/* The error of C at some places, in double, over the size of the result there. */
static double error_of(const inputs *in) {
  const tw_operand *o = in->operand;
  const tw_gemm g = tw_gemm_of(&in->problem);
  const float *c = (const float *)(const void *)(in->data + in->c_at);
  double off = 0, size = 0;
  tw_random r;
  tw_random_seed(&r, 1);
  for (int i = 0; i < CHECKED; i++) {
    const int64_t row = tw_random_between(&r, 0, g.m - 1), column = tw_random_between(&r, 0, g.n - 1);
    double sum = 0;
    for (int64_t p = 0; p < g.k; p++)
      sum += tw_operand_element(&o[0], in->data, row, p) * tw_operand_element(&o[1], in->data + in->b_at, p, column);
    const double d = (double)c[row * g.n + column] - sum;
    off += d * d;
    size += sum * sum;
  }
  return sqrt(off / size);
}

/* What is let pass: integers within the rounding to f32 that the check makes; sums of binary32; A of 8 bits, quantized
 * on the fly, and weights that a library can only hold rounded to types of its own. */
static double tolerance(const bench_case *c, const char *library) {
  const bool scaled = strchr(c->kind->name, '*') != NULL;
  if (c->kind->arithmetic == X86_U8S8 && !scaled) return 1e-7;
  if (scaled && strcmp(library, "tilewright") != 0) return 0.15;
  return c->kind->arithmetic == X86_F32 ? 1e-5 : 1e-2;
}

/* ---- one case ---- */

typedef struct turn {
  rival_link *link;
  double best[ROUNDS_MAX], median[ROUNDS_MAX];
  bench_result result;
  bool lost; /* died while it was timed */
} turn;

static void pause_shortly(void) { nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL); }

static bool open_case(rival_link *link, const inputs *in, const bench_case *c, turn *out) {
  char answer[ANSWER], problem[256];
  int at = 0;
  size_t weight_bytes;
  bench_problem(c, problem, sizeof problem);
  if (!rival_begin(link, answer)) return false;
  if (!rival_ask(link, PATIENCE, answer, "case %s %s", in->path, problem) ||
      sscanf(answer, "ready %zu %n", &weight_bytes, &at) != 1 || !at)
    return false;
  *out = (turn){.link = link};
  snprintf(out->result.library, sizeof out->result.library, "%.40s", link->name);
  snprintf(out->result.how, sizeof out->result.how, "%.60s", answer + at);
  for (char *p = out->result.how; *p; p++)
    if (*p == ',') *p = ';';
  out->result.c = *c;
  out->result.weight_bytes = (double)weight_bytes;
  memset(in->data + in->c_at, 0xff, in->bytes - in->c_at); /* NaN */
  if (!rival_ask(link, PATIENCE, answer, "check")) return false;
  out->result.error = error_of(in);
  if (out->result.error <= tolerance(c, link->name)) return true;
  fprintf(stderr, "bench_x86_rivals: %s is wrong by %.3g on %s: left out\n", link->name, out->result.error, problem);
  rival_ask(link, PATIENCE, answer, "end");
  return false;
}

static void time_turn(turn *t, int round, double slice) {
  char answer[ANSWER];
  if (t->lost) return;
  pause_shortly();
  if (!rival_ask(t->link, PATIENCE, answer, "run %g", slice) ||
      sscanf(answer, "time %lf %lf", &t->best[round], &t->median[round]) != 2)
    t->lost = true;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median_of(const double *value, int n) {
  double copy[ROUNDS_MAX];
  memcpy(copy, value, (size_t)n * sizeof *copy);
  qsort(copy, (size_t)n, sizeof *copy, by_value);
  return copy[n / 2];
}

static void settle(turn *t, const turn *own, int rounds) {
  double ratio[ROUNDS_MAX];
  t->result.seconds = t->best[0];
  for (int r = 0; r < rounds; r++) {
    if (t->best[r] < t->result.seconds) t->result.seconds = t->best[r];
    ratio[r] = t->best[r] / own->best[r];
  }
  t->result.median = median_of(t->median, rounds);
  t->result.paired = own->lost ? 0 : median_of(ratio, rounds);
}

static double peak_of(x86_arithmetic arithmetic, int threads) {
  static struct {
    int threads;
    double best[X86_ARITHMETICS];
  } known[PEAKS_MAX];
  int at = 0;
  while (at < PEAKS_MAX - 1 && known[at].threads && known[at].threads != threads) at++;
  if (known[at].threads != threads) memset(&known[at], 0, sizeof known[at]); /* the last one is used again */
  known[at].threads = threads;
  double *best = &known[at].best[arithmetic];
  const x86_kernel *k;
  for (int i = 0; (k = x86_kernel_at(i)); i++)
    if (k->arithmetic == arithmetic && x86_this_cpu()->has[k->isa]) *best = fmax(*best, x86_peak(k, threads));
  return *best;
}

static int run_rounds(turn *t, size_t n, const bench_case *c, const options *o, double *bandwidth) {
  const double start = tw_now();
  int round = 0;
  for (; round < o->rounds && (round < ROUNDS_LEAST || tw_now() - start < CASE_SECONDS); round++) {
    if (bench_is_decode(c)) {
      pause_shortly();
      *bandwidth = fmax(*bandwidth, x86_read_bandwidth(c->threads));
    }
    for (size_t i = 0; i < n; i++) time_turn(&t[(i + (size_t)round) % n], round, o->slice);
  }
  return round;
}

static void tell(const bench_case *c, const turn *t, size_t n) {
  fprintf(stderr, "  %-14s %6" PRId64 "x%" PRId64 "x%" PRId64 " %d thread%s:", c->kind->name, c->m, c->n, c->k,
          c->threads, c->threads > 1 ? "s" : "");
  for (size_t i = 0; i < n; i++)
    if (!t[i].lost) fprintf(stderr, " %s %.1f", t[i].result.library, bench_operations(c) / t[i].result.seconds * 1e-9);
  fprintf(stderr, "\n");
}

static bool measure(rival_link *link, size_t n_links, inputs *in, const bench_case *c, const options *o,
                    const char *file, bench_results *all) {
  static turn t[RIVALS_MAX];
  bench_result done[RIVALS_MAX];
  size_t n = 0, n_done = 0;
  double bandwidth = 0;
  char answer[ANSWER];
  if (!make_inputs(in, c)) return false;
  for (size_t i = 0; i < n_links; i++) n += open_case(&link[i], in, c, &t[n]);
  const double peak = peak_of(c->kind->arithmetic, c->threads);
  const int rounds = run_rounds(t, n, c, o, &bandwidth);
  for (size_t i = 0; i < n; i++) {
    rival_ask(t[i].link, PATIENCE, answer, "end");
    settle(&t[i], &t[0], rounds);
    t[i].result.peak = peak;
    t[i].result.bandwidth = bandwidth;
    if (!t[i].lost) done[n_done++] = t[i].result;
  }
  tell(c, t, n);
  for (size_t i = 0; i < n_done; i++) bench_results_add(all, &done[i]);
  return bench_results_append(file, done, n_done);
}

/* ---- the command ---- */

static int usage(const char *what) {
  fprintf(stderr,
          "bench_x86_rivals: %s\n"
          "usage: bench_x86_rivals [kinds=LIST] [shapes=LIST] [threads=LIST] [rounds=N] [slice=SECONDS] [seconds=N] "
          "[out=DIR] [again] "
          "[report]\n  kinds:",
          what);
  for (size_t i = 0; bench_kind_at(i); i++) fprintf(stderr, " %s", bench_kind_at(i)->name);
  fprintf(stderr, "\n  shapes: prefill, decode, small, all, or any MxNxK; threads: up to the cores\n");
  return 2;
}

static bool parse_option(options *o, const char *word) {
  const char *value = strchr(word, '=');
  const size_t length = value ? (size_t)(value - word) : strlen(word);
  value = value ? value + 1 : "";
#define IS(name) (length == strlen(name) && strncmp(word, name, length) == 0)
  if (IS("kinds"))
    o->choice.kinds = value;
  else if (IS("shapes"))
    o->choice.shapes = value;
  else if (IS("threads"))
    o->choice.threads = value;
  else if (IS("rounds"))
    o->rounds = atoi(value);
  else if (IS("slice"))
    o->slice = strtod(value, NULL);
  else if (IS("seconds"))
    o->seconds = strtod(value, NULL);
  else if (IS("out"))
    snprintf(o->directory, sizeof o->directory, "%s", value);
  else if (IS("again"))
    o->again = true;
  else if (IS("report"))
    o->report = true;
  else
    return false;
#undef IS
  return o->rounds >= 1 && o->rounds <= ROUNDS_MAX && o->slice > 0;
}

static void default_directory(char directory[PATH]) {
  const ssize_t length = readlink("/proc/self/exe", directory, PATH - 8);
  directory[length > 0 ? length : 0] = '\0';
  char *slash = strrchr(directory, '/');
  snprintf(slash ? slash : directory, 8, "/x86");
}

static void run_all(const options *o, const char *file, const bench_case *cases, size_t n, bench_results *all) {
  static rival_link link[RIVALS_MAX];
  static inputs in;
  static char log[PATH + 16];
  const double start = tw_now();
  snprintf(log, sizeof log, "%s/rivals.log", o->directory);
  const size_t n_links = rivals_find(link, log);
  size_t left = 0;
  for (size_t i = 0; i < n_links; i++) {
    char why[ANSWER];
    if (!rival_begin(&link[i], why)) fprintf(stderr, "bench_x86_rivals: without %s: %s\n", link[i].name, why);
  }
  for (size_t i = 0; i < n; i++) {
    if (!o->again && bench_results_have(all, &cases[i])) continue;
    if (o->seconds > 0 && tw_now() - start > o->seconds) {
      left++;
      continue;
    }
    fprintf(stderr, "[%zu/%zu]", i + 1, n);
    if (!measure(link, n_links, &in, &cases[i], o, file, all)) {
      fprintf(stderr, "bench_x86_rivals: no memory or no room in %s\n", file);
      break;
    }
  }
  if (left) fprintf(stderr, "bench_x86_rivals: %zu of %zu cases are left: run it again to go on\n", left, n);
  for (size_t i = 0; i < n_links; i++) rival_end(&link[i]);
  drop_inputs(&in);
}

int main(int argc, char *argv[]) {
  static options o = {.rounds = 5, .slice = 0.05};
  static bench_case cases[CASES_MAX];
  char file[PATH + 16], unknown[64] = "", what[128];
  bench_results all;
  default_directory(o.directory);
  for (int i = 1; i < argc; i++)
    if (!parse_option(&o, argv[i])) {
      snprintf(what, sizeof what, "what is '%.60s'?", argv[i]);
      return usage(what);
    }
  const size_t n = bench_cases(&o.choice, x86_this_cpu()->cores, cases, unknown);
  if (n == 0) {
    snprintf(what, sizeof what, "there is no '%s' to choose", unknown);
    return usage(what);
  }
  mkdir(o.directory, 0777);
  snprintf(file, sizeof file, "%s/results.csv", o.directory);
  if (!bench_results_read(file, &all)) return 3;
  if (!o.report) run_all(&o, file, cases, n, &all);
  const bool shown = bench_report(&all, o.directory);
  bench_results_free(&all);
  return shown ? 0 : 3;
}
