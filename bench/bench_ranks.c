/* bench_ranks.c - how many ranks one rank 0 keeps busy.
 *
 *   bench_ranks [TARGET FILE]...      FILE: seconds of evaluations of that target, one on each line
 *
 * 1. The processor time of rank 0 for a trial: this program's own pool and backend for ranks, with 2,560 trials and ranks of which one
 *    answers whenever all have a trial. It grows with the ranks, since each has a thread.
 * 2. The processor time of rank 0 for a candidate of a search (menus, texts, duplicates, journal): tw_search with an evaluator that
 *    answers at once, --beam 64 --plans 20 --kernels 2 --samples 320.
 *    The part of one thread does not shrink with the cores of rank 0's computer: at most what the searching thread takes beside 63 others.
 * 3. From both, and FILE's times drawn at random: the share of time that ranks evaluate, in a simulation of iterations. Rank 0 does one
 *    thing at a time: it prepares all candidates of an iteration, then sends to idle ranks and takes answers. An answer is seen after half
 *    a millisecond, as ranks and rank 0 look each millisecond. No memory, network or file system is modelled. */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/files.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/strings.h"
#include "evaluate/pool.h"
#include "evaluate/ranks.h"
#include "evaluate/text.h"
#include "search/result.h"
#include "tilewright/extend/extend.h"

enum {
  RANKS_MAX = 1000,
  TRIALS = 2560,
  DEFAULT_TRIALS = 32,
  CANDIDATES = 320,
  CORES = 64,
  TIMES_MAX = 100000,
  ITERATIONS = 4
};
static const double LATENCY = 0.5e-3;
static const int sizes[] = {16, 64, 128, 256, 512, 1000};
enum { SIZES = sizeof sizes / sizeof *sizes };

static double processor_seconds(void) {
  struct rusage r;
  getrusage(RUSAGE_SELF, &r);
  return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + 1e-6 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

static double thread_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what) {
  fprintf(stderr, "bench_ranks: %s\n", what);
  exit(1);
}

/* ---- ranks that answer as soon as no rank is idle ---- */

static struct {
  pthread_mutex_t lock;
  int ranks, hello;
  int from[RANKS_MAX + 1], n, taken; /* answers that wait, and that were taken */
  char *answer;
} mail = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool send_to(int to, const char *bytes, size_t length) {
  (void)bytes;
  if (!length) return true;
  pthread_mutex_lock(&mail.lock);
  mail.from[mail.n++] = to; /* a rank has one trial at most */
  pthread_mutex_unlock(&mail.lock);
  return true;
}

static char *receive(int *from) {
  if (mail.hello < mail.ranks) {
    *from = ++mail.hello;
    return strdup("host\nabout");
  }
  pthread_mutex_lock(&mail.lock);
  const int busy = mail.ranks < TRIALS - mail.taken ? mail.ranks : TRIALS - mail.taken;
  *from = mail.n && mail.n >= busy ? mail.from[--mail.n] : 0;
  mail.taken += *from != 0;
  pthread_mutex_unlock(&mail.lock);
  return *from ? strdup(mail.answer) : NULL;
}

static void ignore_job(void *context, tw_job *job) { (void)context, (void)job; }
static void ignore_tick(void *context) { (void)context; }

static void set_outcome(tw_outcome *out, double cost) {
  *out = (tw_outcome){.verdict = TW_CORRECT};
  out->measured.cost = out->measured.cycles = cost;
  out->measured.utilization = 0.1;
  snprintf(out->coverage, sizeof out->coverage, "every element");
}

/* Processor seconds of rank 0 for each of TRIALS trials. */
static double seconds_per_trial(int ranks) {
  const tw_target *t = tw_target_find("gemmini-16x16-int8");
  tw_problem p;
  tw_bound bound;
  tw_error error;
  if (tw_problem_parse(t, "gemm m=512 n=512 k=512", &p, &error) != TW_OK ||
      tw_target_supports(t, &p, &error) != TW_OK || tw_target_bound(t, &p, &bound, &error) != TW_OK)
    fail(error.text);
  char *source = malloc(8000);
  memset(source, 'x', 8000);
  tw_outcome outcome;
  set_outcome(&outcome, 2 * bound.cost);
  mail.ranks = ranks, mail.hello = mail.n = mail.taken = 0, mail.answer = tw_outcome_print(&outcome);
  tw_ranks fake = {.rank = 0, .size = ranks + 1, .send = send_to, .receive = receive};
  tw_backend *b = NULL;
  size_t slots = 0;
  char *notes = NULL;
  if (tw_backend_ranks(&fake, "about", &b, &slots, &notes, &error) != TW_OK) fail(error.text);
  static tw_job job[TRIALS];
  static tw_job *all[TRIALS];
  for (int i = 0; i < TRIALS; i++) {
    job[i] = (tw_job){.trial = {.target = t, .problem = &p, .source = source, .length = 8000, .seed = 1}};
    all[i] = &job[i];
  }
  const tw_pool pool = {
      .backend = b, .bound = &bound, .jobs = (int)slots, .deadline = HUGE_VAL, .done = ignore_job, .tick = ignore_tick};
  const double before = processor_seconds();
  tw_pool_run(&pool, all, TRIALS);
  const double used = processor_seconds() - before;
  for (int i = 0; i < TRIALS; i++)
    if (job[i].outcome.verdict != TW_CORRECT) fail("a trial has no outcome");
  b->close(b);
  free(mail.answer);
  free(notes);
  free(source);
  return used / TRIALS;
}

/* ---- a search whose evaluator answers at once ---- */

static void answer_at_once(tw_backend *b, size_t slot, const tw_trial *trial, const tw_case *data,
                           const tw_bound *bound, const volatile int *interrupt, tw_outcome *out) {
  (void)b, (void)slot, (void)data, (void)interrupt;
  tw_hash h;
  char digest[TW_HASH_TEXT];
  tw_hash_start(&h);
  tw_hash_add(&h, trial->source, trial->length);
  tw_hash_finish_text(&h, digest);
  static int answered; /* later kernels are better, so that the search goes on */
  const double luck = (double)(strtoul(digest + 8, NULL, 16) % 10000) / 10000;
  set_outcome(out, bound->cost * (1.1 + luck + 1 / (1 + 0.01 * answered++)));
}

static const char *problem_of(const tw_target *t) {
  return strncmp(t->name, "cdna", 4) == 0 || strncmp(t->name, "cuda", 4) == 0
             ? "gemm m=4096 n=4096 k=4096 a=bf16 b=bf16 c=bf16"
         : strcmp(t->name, "x86") == 0 ? "gemm m=1024 n=1024 k=1024 a=f32 b=f32 c=f32 threads=1"
                                       : "gemm m=512 n=1024 k=512";
}

typedef struct work {
  double one_thread, all; /* processor seconds of rank 0 for a candidate; plans are made by several threads */
} work;

static work work_per_candidate(const tw_target *t, int *samples) {
  tw_problem p;
  tw_error error;
  char *directory = NULL;
  if (tw_problem_parse(t, problem_of(t), &p, &error) != TW_OK || tw_target_supports(t, &p, &error) != TW_OK ||
      tw_directory_temporary(&directory, &error) != TW_OK)
    fail(error.text);
  char *journal = tw_path_join(directory, "journal.sqlite");
  tw_backend instant = {.name = "instant", .is_own = true, .is_elsewhere = true, .evaluate = answer_at_once};
  tw_search_options o = {.size = sizeof o,
                         .beam = 64,
                         .plans = 20,
                         .kernels = 2,
                         .iterations = 12,
                         .samples = CANDIDATES,
                         .jobs = CORES,
                         .inputs = 1,
                         .dropout = -1,
                         .journal = journal,
                         .backend = &instant};
  tw_search_result r = {0};
  const double before = processor_seconds(), own = thread_seconds();
  if (tw_search_into(t, &p, &o, &r, &error) != TW_OK) fail(error.text);
  const work used = {.one_thread = (thread_seconds() - own) / r.samples,
                     .all = (processor_seconds() - before) / r.samples};
  *samples = r.samples;
  tw_search_result_clear(&r);
  tw_directory_remove(directory);
  free(directory);
  free(journal);
  return used;
}

/* ---- the simulation ---- */

static double times[TIMES_MAX];
static size_t n_times;

static void read_times(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file) {
    perror(path);
    exit(1);
  }
  for (n_times = 0; n_times < TIMES_MAX && fscanf(file, "%lf", &times[n_times]) == 1;) n_times++;
  fclose(file);
  if (!n_times) fail("a file of evaluation times has no number");
}

/* Share of time that `ranks` ranks evaluate in iterations of `candidates`. *bottleneck: share in which rank 0 works while a rank is idle
 * and a candidate waits, or before the first is sent. */
static double busy_share(int ranks, int candidates, double per_trial, double per_candidate, double *bottleneck) {
  static double end[RANKS_MAX]; /* HUGE_VAL: idle */
  double clock = 0, evaluated = 0, blocked = 0;
  tw_random random;
  tw_random_seed(&random, 36);
  for (int iteration = 0; iteration < ITERATIONS; iteration++) {
    clock += candidates * per_candidate, blocked += candidates * per_candidate;
    for (int i = 0; i < ranks; i++) end[i] = HUGE_VAL;
    int sent = 0, idle = ranks, ended = 0;
    while (ended < candidates) {
      if (sent < candidates && idle) { /* half of a trial's work is sending */
        int i = 0;
        while (end[i] != HUGE_VAL) i++;
        const double takes = times[tw_random_below(&random, n_times)];
        clock += per_trial / 2, blocked += per_trial / 2;
        end[i] = clock + LATENCY + takes;
        evaluated += takes;
        sent++, idle--;
        continue;
      }
      int first = 0;
      for (int i = 1; i < ranks; i++)
        if (end[i] < end[first]) first = i;
      if (end[first] + LATENCY > clock) clock = end[first] + LATENCY;
      clock += per_trial / 2;
      end[first] = HUGE_VAL;
      ended++, idle++;
    }
  }
  *bottleneck = blocked / clock;
  return evaluated / ranks / clock;
}

static void print_target(const char *name, const char *path, const double per_trial[SIZES]) {
  const tw_target *t = tw_target_find(name);
  int samples = 0;
  double mean = 0;
  if (!t) fail("unknown target; `tilewright targets` lists them");
  read_times(path);
  for (size_t i = 0; i < n_times; i++) mean += times[i] / (double)n_times;
  const work w = work_per_candidate(t, &samples);
  const double many = w.one_thread + (w.all - w.one_thread) / CORES;
  printf("\n%s: %zu evaluations, mean %.3g s; rank 0, for each of %d candidates: %.0f us, of which %.0f us on one "
         "thread\n",
         name, n_times, mean, samples, 1e6 * w.all, 1e6 * w.one_thread);
  printf("| ranks | busy, %d candidates, 1 core at rank 0 | busy, %d cores | rank 0 limits | busy, defaults: %d, %d "
         "cores |\n",
         TRIALS, CORES, DEFAULT_TRIALS, CORES);
  for (int i = 0; i < SIZES; i++) {
    double limit, other;
    const double one = busy_share(sizes[i], TRIALS, per_trial[i], w.all, &other);
    const double large = busy_share(sizes[i], TRIALS, per_trial[i], many, &limit);
    const double small = busy_share(sizes[i], DEFAULT_TRIALS, per_trial[i], many, &other);
    printf("| %d | %.1f%% | %.1f%% | %.1f%% | %.1f%% |\n", sizes[i], 100 * one, 100 * large, 100 * limit, 100 * small);
  }
  fflush(stdout);
}

int main(int argc, char **argv) {
  double per_trial[SIZES];
  printf("rank 0, processor time for a trial:");
  for (int i = 0; i < SIZES; i++) {
    per_trial[i] = seconds_per_trial(sizes[i]);
    printf(" %d ranks %.0f us%s", sizes[i], 1e6 * per_trial[i], i + 1 < SIZES ? "," : "\n");
    fflush(stdout);
  }
  for (int i = 1; i + 1 < argc; i += 2) print_target(argv[i], argv[i + 1], per_trial);
  return 0;
}
