/* bench_ranks.c - how many ranks one rank 0 keeps busy.
 *
 *   taskset -c 0 bench_ranks [TARGET PROBLEM FILE]...      FILE: seconds of evaluations of that problem, one on each line
 *   taskset -c 0 bench_ranks --work TARGET PROBLEM         the second part alone
 *
 * 1. The processor time of rank 0 for a trial: this program's own pool and backend for ranks, with 2,560 trials and ranks of which one
 *    answers whenever all have a trial. The searching thread and the one that receives are serial; each rank has a thread besides.
 * 2. The processor time of rank 0 for a candidate of a search (menus, texts, duplicates, journal): tw_search with an evaluator that
 *    answers at once, --beam 64 --plans 20 --kernels 2, and with the defaults. On one core, so that the time of an agent's call is known
 *    for each parent; an agent's call is divided among cores, up to its number of requests or orders. All else is serial.
 * 3. From both, and FILE's times drawn at random: the share of time that ranks evaluate, in a simulation of iterations like the largest of
 *    part 2; with the options of wide searches its parents are repeated until they have 2,560 evaluations, and twice as
 *    many, as --beam 128 would make. `--exhaustive` is one iteration, of at most 10,240 kernels. Rank 0 makes kernels for a few parents at a time, as src/search/propose.c does, and ranks evaluate meanwhile. An answer is
 *    seen after half a millisecond, as ranks and rank 0 look each millisecond. No memory, network or file system is modelled. */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cores.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/strings.h"
#include "evaluate/pool.h"
#include "evaluate/ranks.h"
#include "evaluate/text.h"
#include "search/state.h"
#include "tilewright/extend/extend.h"

enum {
  RANKS_MAX = 1000,
  TRIALS = 2560,
  KERNELS_MAX = 10240,
  CORES = 64,
  TIMES_MAX = 100000,
  ITERATIONS = 4,
  PARENTS_MAX = 64,
  ROUNDS_MAX = 400,
  ITERATIONS_WATCHED = 4, /* 1 parent, up to 40, and PARENTS_MAX; the last one makes nothing */
};
static const double LATENCY = 0.5e-3;
static const int sizes[] = {16, 64, 128, 256, 512, 1000};
enum { SIZES = sizeof sizes / sizeof *sizes };

static double seconds_of(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static double processor_seconds(void) { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }
static double thread_seconds(void) { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

static void fail(const char *what) {
  fprintf(stderr, "bench_ranks: %s\n", what);
  exit(1);
}

/* ---- ranks that answer as soon as no rank is idle ---- */

static struct {
  pthread_mutex_t lock;
  int ranks, hello;
  int from[RANKS_MAX + 1], n, taken; /* answers that wait, and that were taken */
  double receiver;                   /* processor seconds of the thread that receives */
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
  mail.receiver = thread_seconds();
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

/* Processor seconds of rank 0 for a trial. */
typedef struct trial_work {
  double search, receive; /* of the two serial threads */
  double ranks;           /* of all threads of ranks */
} trial_work;

static trial_work work_per_trial(int ranks) {
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
  const double before = processor_seconds(), before_here = thread_seconds();
  tw_pool_run(&pool, all, TRIALS);
  const double used = processor_seconds() - before, here = thread_seconds() - before_here;
  for (int i = 0; i < TRIALS; i++)
    if (job[i].outcome.verdict != TW_CORRECT) fail("a trial has no outcome");
  b->close(b);
  free(mail.answer);
  free(notes);
  free(source);
  return (trial_work){here / TRIALS, mail.receiver / TRIALS, (used - here - mail.receiver) / TRIALS};
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

/* A call of the agent on one core. */
typedef struct call {
  size_t n;
  double seconds;
} call;

/* The kernels for one parent. */
typedef struct parent_work {
  const void *request;
  size_t n_rounds;
  call round[ROUNDS_MAX];
  double serial; /* seconds of the searching thread outside of the agent */
} parent_work;

/* An iteration. */
typedef struct work {
  call plan;
  size_t n_parents;
  parent_work parent[PARENTS_MAX];
  double serial; /* before the first parent */
  int samples;
} work;

static struct {
  tw_agent *inner;
  work now, largest;
  double left_agent; /* thread_seconds */
  int iteration;
  int samples, done; /* at the beginning of the iteration; so far */
} watched;

/* All candidates of the iteration before have ended. */
static void end_iteration(void) {
  watched.now.samples = watched.done - watched.samples;
  watched.samples = watched.done;
  if (watched.now.n_parents && watched.now.samples >= watched.largest.samples) watched.largest = watched.now;
}

static void watch_plan(tw_agent *agent, size_t n, const tw_request *const request[], tw_proposal proposal[]) {
  (void)agent;
  const double before = thread_seconds();
  end_iteration();
  if (++watched.iteration == ITERATIONS_WATCHED) { /* enough is known: no plans end the search */
    for (size_t i = 0; i < n; i++) proposal[i].n = 0;
    return;
  }
  watched.now = (work){.serial = before - watched.left_agent};
  watched.inner->plan(watched.inner, n, request, proposal);
  watched.left_agent = thread_seconds();
  watched.now.plan = (call){n, watched.left_agent - before};
}

/* On one core the orders of a call are for one parent. */
static void watch_implement(tw_agent *agent, size_t n, const tw_order order[], tw_kernel kernel[]) {
  (void)agent;
  work *w = &watched.now;
  const double before = thread_seconds();
  if (!w->n_parents || w->parent[w->n_parents - 1].request != order[0].request) {
    if (w->n_parents == PARENTS_MAX) fail("too many parents");
    w->parent[w->n_parents++].request = order[0].request;
  }
  parent_work *p = &w->parent[w->n_parents - 1];
  p->serial += before - watched.left_agent;
  watched.inner->implement(watched.inner, n, order, kernel);
  const double made = thread_seconds();
  /* The search computes digests on several threads, too: their time is found here and taken from the serial time. */
  for (size_t i = 0; i < n; i++) {
    if (kernel[i].source) tw_target_source_digest(order[i].request->target, kernel[i].source);
    tw_schedule_digest(&kernel[i].schedule);
  }
  watched.left_agent = thread_seconds();
  p->serial -= watched.left_agent - made;
  if (p->n_rounds == ROUNDS_MAX) fail("too many rounds");
  p->round[p->n_rounds++] = (call){n, watched.left_agent - before};
}

static void watch_free_plan(tw_agent_plan *plan) { watched.inner->free_plan(plan); }

static void watch_progress(void *context, const tw_progress *p) {
  (void)context;
  watched.done = p->done;
}

/* Searches the problem with `rules` and an evaluator that answers at once. The agent's calls are watched in *agent, unless
 * it is NULL. Returns the seconds of this thread; *samples: the number of evaluations. */
static double search_at_once(const tw_target *t, const char *problem, tw_search_options o, tw_agent *agent,
                             int *samples) {
  tw_problem p;
  tw_error error;
  char *directory = NULL;
  tw_member member = {.share = 1};
  if (tw_problem_parse(t, problem, &p, &error) != TW_OK || tw_target_supports(t, &p, &error) != TW_OK ||
      tw_agent_open("rules", t, NULL, &member, &error) != TW_OK || tw_directory_temporary(&directory, &error) != TW_OK)
    fail(error.text);
  tw_agent *const rules = member.agent;
  if (agent) {
    *agent = *rules;
    agent->plan = watch_plan, agent->implement = watch_implement, agent->free_plan = watch_free_plan;
    watched.inner = rules;
    member.agent = agent;
  }
  char *journal = tw_path_join(directory, "journal.sqlite");
  tw_backend instant = {.name = "instant", .is_own = true, .is_elsewhere = true, .evaluate = answer_at_once};
  o.size = sizeof o;
  o.jobs = 1;
  o.inputs = 1;
  o.dropout = -1;
  o.journal = journal;
  o.backend = &instant;
  const tw_search_subject subject = {.target = t, .problem = &p, .n_members = 1, .member = &member};
  tw_search_result r = {0};
  const double before = thread_seconds();
  if (tw_search_by(&subject, &o, &r, &error) != TW_OK) fail(error.text);
  const double used = thread_seconds() - before;
  *samples = r.samples;
  rules->close(rules, NULL);
  tw_search_result_clear(&r);
  tw_directory_remove(directory);
  free(directory);
  free(journal);
  return used;
}

/* The largest iteration of a search. `wide`: --beam 64 --plans 20 --kernels 2; else the defaults. */
static const work *work_of_search(const tw_target *t, const char *problem, bool wide) {
  tw_agent watching;
  int samples;
  memset(&watched, 0, sizeof watched);
  search_at_once(t, problem,
                 (tw_search_options){.beam = wide ? PARENTS_MAX : 0,
                                     .plans = wide ? 20 : 0,
                                     .kernels = wide ? 2 : 0,
                                     .iterations = ITERATIONS_WATCHED,
                                     .progress = watch_progress},
                 &watching, &samples);
  return &watched.largest;
}

/* ---- a search of all kernels ---- */

/* `tune --exhaustive`: what the searching thread does. */
typedef struct exhaustive_work {
  int kernels;
  double parents;  /* menus for each kernel */
  double parallel; /* seconds for each kernel in menus, texts and digests, which are divided among cores */
  double serial;   /* seconds for each kernel in all else */
} exhaustive_work;

/* The family whose work is timed. */
static struct {
  const tw_family *family;
  double made, digests; /* seconds in menus and texts; in digests that this program computes besides */
  size_t menus;
} timed;

static tw_status time_steps(const tw_target *t, const tw_problem *p, const tw_schedule *s, tw_menu *out,
                            tw_error *error) {
  const double before = thread_seconds();
  const tw_status status = timed.family->steps(t, p, s, out, error);
  timed.made += thread_seconds() - before;
  timed.menus++;
  return status;
}

static tw_status time_emit(const tw_target *t, const tw_problem *p, const tw_schedule *s, char **source,
                           tw_error *error) {
  const double before = thread_seconds();
  const tw_status status = timed.family->emit(t, p, s, source, error);
  const double made = thread_seconds();
  if (status == TW_OK) tw_target_source_digest(t, *source);
  tw_schedule_digest(s);
  timed.made += made - before;
  timed.digests += thread_seconds() - made;
  return status;
}

/* At most `most` kernels; fewer if the menu leads to fewer. */
static exhaustive_work work_of_all(const tw_target *t, const char *problem, int most) {
  tw_problem p;
  tw_error error;
  if (tw_problem_parse(t, problem, &p, &error) != TW_OK) fail(error.text);
  memset(&timed, 0, sizeof timed);
  timed.family = tw_family_of(t, p.op);
  tw_family family = *timed.family;
  family.steps = time_steps, family.emit = time_emit;
  tw_target watching = *t;
  watching.n_families = 1, watching.family = &family;
  int n;
  const double used =
      search_at_once(&watching, problem, (tw_search_options){.exhaustive = true, .samples = most}, NULL, &n);
  return (exhaustive_work){n, (double)timed.menus / n, (timed.made + timed.digests) / n,
                           (used - timed.made - 2 * timed.digests) / n};
}

static void print_work(const char *name, const work *w) {
  double agent = w->plan.seconds, serial = w->serial;
  size_t orders = 0, first = 0, rounds = 0;
  for (size_t i = 0; i < w->n_parents; i++) {
    serial += w->parent[i].serial;
    rounds += w->parent[i].n_rounds;
    for (size_t k = 0; k < w->parent[i].n_rounds; k++) {
      orders += w->parent[i].round[k].n;
      agent += w->parent[i].round[k].seconds;
    }
    first += w->parent[i].round[0].n;
  }
  printf("%s: an iteration of %zu parents has %zu orders (%zu at first; %zu calls) and %d evaluations; rank 0, for "
         "each evaluation: %.0f us "
         "in agents and digests, %.0f us serial\n",
         name, w->n_parents, orders, first, rounds, w->samples, 1e6 * agent / w->samples, 1e6 * serial / w->samples);
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

/* The times at which the n trials of an iteration are handed over, in seconds after its beginning, with `cores` cores.
 * Parents are repeated until they have n trials. Returns the time of the last trial. */
static double hand_over_times(const void *of, int n, int cores, double per_trial, double at[]) {
  const work *w = of;
  const double rate = (double)w->samples / (double)w->n_parents;
  double clock = w->serial + w->plan.seconds / (double)(w->plan.n < (size_t)cores ? w->plan.n : (size_t)cores);
  double made = 0;
  int sent = 0;
  for (size_t from = 0, to; sent < n; from = to) {
    size_t orders = 0, rounds = 0;
    for (to = from; to < from + w->n_parents && orders < TW_ORDERS_PER_THREAD * (size_t)cores; to++) {
      const parent_work *p = &w->parent[to % w->n_parents];
      orders += p->round[0].n;
      if (p->n_rounds > rounds) rounds = p->n_rounds;
    }
    for (size_t k = 0; k < rounds; k++) {
      call all = {0};
      for (size_t i = from; i < to; i++) {
        const parent_work *p = &w->parent[i % w->n_parents];
        if (k >= p->n_rounds) continue;
        all.n += p->round[k].n;
        all.seconds += p->round[k].seconds;
      }
      const size_t turns = (all.n + (size_t)cores - 1) / (size_t)cores; /* of equal orders */
      clock += all.seconds / (double)all.n * (double)turns;
    }
    for (size_t i = from; i < to; i++) {
      made += rate;
      clock += w->parent[i % w->n_parents].serial;
      for (; sent < n && sent < made - 1e-9; sent++) {
        clock += per_trial;
        at[sent] = clock;
      }
    }
  }
  return clock;
}

/* The same for a search of all kernels: src/search/exhaustive.c follows the menus of some kernels for each core at a
 * time. */
static double hand_over_times_of_all(const void *of, int n, int cores, double per_trial, double at[]) {
  const exhaustive_work *w = of;
  double clock = 0, made = 1;
  for (int sent = 0, followed = 0; sent < n;) {
    const double left = fmax(1, made - followed);
    const int most = TW_PARENTS_PER_THREAD * cores, parents = left < most ? (int)left : most,
              turns = (parents + cores - 1) / cores;
    clock += turns * w->parallel / w->parents;
    followed += parents;
    for (made += parents / w->parents; sent < n && sent < made; sent++) {
      clock += w->serial + per_trial;
      at[sent] = clock;
    }
  }
  return clock;
}

/* Share of time that `ranks` ranks evaluate in `iterations` of candidates that are handed over at the times `at`, the
 * last one at `made`. *starved: share of the ranks' time before a trial for which it waited. */
static double busy_share(int ranks, int iterations, int candidates, const double at[], double made,
                         const trial_work *trial, double *starved, double *per_second) {
  static double idle_from[RANKS_MAX], answered[RANKS_MAX]; /* answered HUGE_VAL: idle */
  double clock = 0, evaluated = 0, waited = 0, receiver = 0;
  tw_random random;
  tw_random_seed(&random, 36);
  for (int iteration = 0; iteration < iterations; iteration++) {
    int sent = 0, ended = 0;
    for (int i = 0; i < ranks; i++) idle_from[i] = clock, answered[i] = HUGE_VAL;
    double end = clock + made;
    while (ended < candidates) {
      int idle = -1, first = -1; /* idle for the longest; the first to answer */
      for (int i = 0; i < ranks; i++)
        if (answered[i] == HUGE_VAL)
          idle = idle < 0 || idle_from[i] < idle_from[idle] ? i : idle;
        else
          first = first < 0 || answered[i] < answered[first] ? i : first;
      const double ready = sent < candidates ? clock + at[sent] : HUGE_VAL;
      const double start = idle < 0 ? HUGE_VAL : fmax(ready, idle_from[idle]);
      if (start < (first < 0 ? HUGE_VAL : answered[first])) {
        const double takes = times[tw_random_below(&random, n_times)];
        waited += start - idle_from[idle];
        answered[idle] = start + trial->ranks + LATENCY + takes + LATENCY;
        evaluated += takes;
        sent++;
      } else {
        receiver = fmax(answered[first], receiver) + trial->receive;
        idle_from[first] = receiver;
        answered[first] = HUGE_VAL;
        end = fmax(end, receiver);
        ended++;
      }
    }
    clock = end;
  }
  *starved = waited / ranks / clock;
  *per_second = iterations * candidates / clock;
  return evaluated / ranks / clock;
}

/* When the trials of an iteration are handed over (hand_over_times), with this number of cores at rank 0. */
typedef double hand_over(const void *of, int candidates, int cores, double per_trial, double at[]);

/* The busy share for each number of ranks, with 64 cores at rank 0 and with one. */
static void print_table(hand_over *times_of, const void *of, int iterations, int candidates, double mean,
                        const trial_work per_trial[SIZES]) {
  static const int cores[2] = {1, CORES};
  static double at[KERNELS_MAX];
  printf("%d evaluations in an iteration; %zu times, mean %.3g s\n| ranks | busy, %d cores at rank 0 | wait for rank "
         "0 | evaluations/s | busy, 1 core |\n",
         candidates, n_times, mean, CORES);
  for (int i = 0; i < SIZES; i++) {
    double starved, rate, busy[2];
    for (int k = 0; k < 2; k++) {
      const double made = times_of(of, candidates, cores[k], per_trial[i].search, at);
      busy[k] = busy_share(sizes[i], iterations, candidates, at, made, &per_trial[i], &starved, &rate);
    }
    printf("| %d | %.1f%% | %.1f%% | %.4g | %.1f%% |\n", sizes[i], 100 * busy[1], 100 * starved, rate, 100 * busy[0]);
  }
}

/* Iterations of a beam search; `candidates` 0: as many as this problem has. */
static void print_search(const tw_target *t, const char *problem, bool wide, int candidates, double mean,
                         const trial_work per_trial[SIZES]) {
  const work *w = work_of_search(t, problem, wide);
  printf("\n%s, %s, ", wide ? "--beam 64 --plans 20 --kernels 2" : "defaults", problem);
  print_work(t->name, w);
  if (mean > 0) print_table(hand_over_times, w, ITERATIONS, candidates ? candidates : w->samples, mean, per_trial);
}

static void print_all(const tw_target *t, const char *problem, int most, double mean,
                      const trial_work per_trial[SIZES]) {
  const exhaustive_work w = work_of_all(t, problem, most);
  printf("\n--exhaustive --samples %d, %s, %s: %d kernels, %.2f menus for each; rank 0, for each: %.0f us in menus, "
         "texts and digests, %.0f us serial\n",
         most, problem, t->name, w.kernels, w.parents, 1e6 * w.parallel, 1e6 * w.serial);
  if (mean > 0) print_table(hand_over_times_of_all, &w, 1, w.kernels, mean, per_trial);
}

static void print_target(const char *name, const char *problem, const char *path, const trial_work per_trial[SIZES]) {
  const tw_target *t = tw_target_find(name);
  double mean = 0;
  if (!t) fail("unknown target; `tilewright targets` lists them");
  if (path) read_times(path);
  for (size_t i = 0; i < n_times; i++) mean += times[i] / (double)n_times;
  print_search(t, problem, true, TRIALS, mean, per_trial);
  if (path) print_search(t, problem, true, 2 * TRIALS, mean, per_trial);
  print_all(t, problem, KERNELS_MAX, mean, per_trial);
  print_search(t, problem, false, 0, mean, per_trial);
  fflush(stdout);
}

int main(int argc, char **argv) {
  trial_work per_trial[SIZES] = {0};
  if (argc == 4 && !strcmp(argv[1], "--work")) {
    print_target(argv[2], argv[3], NULL, per_trial);
    return 0;
  }
  if (tw_cores() != 1) fail("needs one core; start it with `taskset -c 0`");
  printf("rank 0, us for a trial, searching + receiving + threads of ranks:");
  for (int i = 0; i < SIZES; i++) {
    per_trial[i] = work_per_trial(sizes[i]);
    printf(" %d ranks %.0f + %.0f + %.0f%s", sizes[i], 1e6 * per_trial[i].search, 1e6 * per_trial[i].receive,
           1e6 * per_trial[i].ranks, i + 1 < SIZES ? "," : "\n");
    fflush(stdout);
  }
  for (int i = 1; i + 2 < argc; i += 3) print_target(argv[i], argv[i + 1], argv[i + 2], per_trial);
  return 0;
}
