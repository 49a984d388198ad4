/* ranks.c - see ranks.h.
 *
 * Rank 0 has one thread that receives, gives each answer to the slot that waits for it, and wakes only that slot. If
 * 256 slots asked MPI themselves, or were all woken, rank 0 would be busy with that (bench_ranks). A rank has at
 * most one trial at a time, so that nothing waits in a queue while another rank is idle.
 *
 * A message of length 0 is the end. If a rank dies, MPI ends the job: the journal has every verdict that arrived, and
 * the same command continues the search. */
#define _GNU_SOURCE
#include "evaluate/ranks.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/program.h"
#include "base/strings.h"
#include "evaluate/plausible.h"
#include "evaluate/text.h"

enum { SHORT_MS = 1, LONG_MS = 10 };
static const double HELLO_SECONDS = 120;

static int number_in(const char *variable) {
  int64_t n;
  const char *text = getenv(variable);
  return text && tw_parse_int(text, &n) && n > 0 && n < 1000000 ? (int)n : 0;
}

static const char *launcher_mpi(void) {
  if (getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMIX_RANK")) return "openmpi";
  if (getenv("PMI_RANK") || getenv("PMI_FD") || getenv("PMI_PORT")) return "mpich";
  return NULL;
}

int tw_ranks_started(void) {
  static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
  int most = 1;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (number_in(sizes[i]) > most) most = number_in(sizes[i]);
  return most;
}

tw_status tw_ranks_open(tw_ranks **out, tw_error *error) {
  const int started = tw_ranks_started();
  const char *mpi = launcher_mpi();
  *out = NULL;
  if (started == 1) return TW_OK;
  if (!mpi)
    return tw_fail(
        error, TW_USAGE,
        "srun started %d processes that are not connected; add --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH), or "
        "start one process",
        started);
  char name[40];
  snprintf(name, sizeof name, "mpi-%s.so", mpi);
  char *path = tw_program_path(name, "TILEWRIGHT_MPI");
  if (!path)
    return tw_fail(error, TW_MISSING,
                   "%d processes of %s, but this build lacks tilewright-%s; install %s and build again", started, mpi,
                   name, strcmp(mpi, "mpich") ? "libopenmpi-dev" : "libmpich-dev");
  void *module = dlopen(path, RTLD_NOW | RTLD_GLOBAL); /* Open MPI's own modules look for its symbols */
  tw_mpi_open *open = NULL;
  if (module) *(void **)&open = dlsym(module, "tilewright_mpi_open");
  tw_ranks *r = tw_new(1, sizeof *r);
  tw_status status = TW_OK;
  if (!open)
    status = tw_fail(error, TW_MISSING, "cannot load %s: %s", path, dlerror());
  else if (!r)
    status = tw_no_memory(error, "MPI");
  else if (open(r) != 0)
    status = tw_fail(error, TW_MISSING, "%s cannot connect the %d processes; start them with the mpirun of this MPI",
                     mpi, started);
  else if (r->size < 2)
    status = tw_fail(error, TW_USAGE,
                     "the %d processes are not connected by %s; start them with the mpirun of this MPI", started, mpi);
  free(path);
  if (status == TW_OK)
    *out = r;
  else
    free(r);
  return status;
}

void tw_ranks_close(tw_ranks *r) {
  if (!r) return;
  for (int i = 1; r->rank == 0 && i < r->size; i++) r->send(i, "", 0);
  r->close();
  free(r);
}

/* ---- ranks beyond 0 ---- */

/* The next message. The longer nothing arrives, the longer it sleeps between checks. */
static char *wait_for(tw_ranks *r, int *from) {
  for (int waited = 0;; waited++) {
    char *text = r->receive(from);
    if (text) return text;
    poll(NULL, 0, waited < 200 ? SHORT_MS : LONG_MS);
  }
}

void tw_ranks_serve(tw_ranks *r, const char *about, char *(*answer)(void *context, const char *trial), void *context) {
  tw_text hello = {0};
  char host[64] = "";
  int from;
  gethostname(host, sizeof host - 1);
  tw_text_add(&hello, "%s\n%s", host, about);
  r->send(0, hello.data ? hello.data : "", hello.length);
  tw_text_free(&hello);
  for (char *text; (text = wait_for(r, &from)) && *text; free(text)) {
    char *reply = answer(context, text);
    r->send(0, reply ? reply : "?", reply ? strlen(reply) : 1);
    free(reply);
  }
}

/* ---- rank 0 ---- */

typedef struct slot {
  int rank;
  char host[64];
  bool waits;   /* a trial was sent, and its answer has not arrived */
  char *answer; /* answer for the last trial */
  pthread_cond_t changed;
} slot;

typedef struct crew {
  tw_ranks *ranks;
  pthread_t receiver;
  pthread_mutex_t lock; /* guards the members below */
  bool over;
  const volatile int *interrupt; /* interrupt flag of the latest trial; the receiver checks it for all slots */
  size_t n;
  slot slot[];
} crew;

static slot *slot_of(crew *c, int rank) {
  for (size_t i = 0; i < c->n; i++)
    if (c->slot[i].rank == rank) return &c->slot[i];
  return NULL;
}

static void wake_if_interrupted(crew *c) {
  if (!tw_is_set(c->interrupt)) return;
  for (size_t i = 0; i < c->n; i++) pthread_cond_signal(&c->slot[i].changed);
}

static void *receive_all(void *context) {
  crew *c = context;
  for (bool over = false; !over;) {
    int from;
    char *text = c->ranks->receive(&from);
    pthread_mutex_lock(&c->lock);
    slot *s = text ? slot_of(c, from) : NULL;
    if (s) {
      free(s->answer);
      s->answer = text;
      s->waits = false;
      pthread_cond_signal(&s->changed);
    } else {
      free(text);
    }
    wake_if_interrupted(c);
    over = c->over;
    pthread_mutex_unlock(&c->lock);
    if (!text) poll(NULL, 0, SHORT_MS);
  }
  return NULL;
}

/* The answer, malloc'ed; NULL if the search is interrupted. A rank may still owe the answer to an earlier question,
 * whose wait was interrupted: it is received first. */
static char *ask(crew *c, slot *s, const char *question, const volatile int *interrupt) {
  char *answer = NULL;
  bool sent = false;
  pthread_mutex_lock(&c->lock);
  c->interrupt = interrupt;
  while (!tw_is_set(interrupt) && !answer) {
    if (!s->waits && !sent) {
      free(s->answer);
      s->answer = NULL;
      s->waits = sent = true;
      pthread_mutex_unlock(&c->lock);
      c->ranks->send(s->rank, question, strlen(question));
      pthread_mutex_lock(&c->lock);
    } else if (!s->waits && sent) {
      answer = s->answer;
      s->answer = NULL;
    } else {
      pthread_cond_wait(&s->changed, &c->lock); /* the receiver wakes it for an answer or an interrupt */
    }
  }
  pthread_mutex_unlock(&c->lock);
  return answer;
}

static void evaluate(tw_backend *b, size_t number, const tw_trial *trial, const tw_case *data, const tw_bound *bound,
                     const volatile int *interrupt, tw_outcome *out) {
  (void)data;
  crew *c = b->own;
  slot *s = &c->slot[number % c->n];
  char *question = tw_trial_print(trial), *answer = question ? ask(c, s, question, interrupt) : NULL;
  tw_error why = {0};
  if (!question)
    tw_outcome_fail(out, TW_UNAVAILABLE, TW_NO_MEMORY, "no memory for a trial");
  else if (!answer)
    tw_outcome_fail(out, TW_SKIPPED, TW_INTERRUPTED, "interrupted");
  else if (tw_outcome_read(answer, out, &why) != TW_OK || tw_plausible_outcome(trial, bound, out, &why) != TW_OK)
    tw_outcome_fail(out, TW_UNAVAILABLE, TW_MISSING, "rank %d on %s: %s", s->rank, s->host, why.text);
  snprintf(out->place, sizeof out->place, "rank %d on %.40s", s->rank, s->host);
  free(question);
  free(answer);
}

static void close_crew(tw_backend *b) {
  crew *c = b->own;
  pthread_mutex_lock(&c->lock);
  c->over = true;
  pthread_mutex_unlock(&c->lock);
  pthread_join(c->receiver, NULL);
  for (size_t i = 0; i < c->n; i++) {
    free(c->slot[i].answer);
    pthread_cond_destroy(&c->slot[i].changed);
  }
  pthread_mutex_destroy(&c->lock);
  free(c);
  free(b);
}

/* Every rank sends its identity. */
static tw_status greet(crew *c, const char *about, tw_text *notes, tw_error *error) {
  const double until = tw_now() + HELLO_SECONDS;
  for (int heard = 1; heard < c->ranks->size;) {
    int from;
    char *text = c->ranks->receive(&from);
    if (!text && tw_now() > until)
      return tw_fail(error, TW_MISSING, "only %d of %d ranks answered within %g s", heard, c->ranks->size,
                     HELLO_SECONDS);
    if (!text) {
      poll(NULL, 0, SHORT_MS);
      continue;
    }
    heard++;
    const size_t host = strcspn(text, "\n");
    if (text[host] && !strcmp(text + host + 1, about)) {
      slot *s = &c->slot[c->n++];
      s->rank = from;
      snprintf(s->host, sizeof s->host, "%.*s", (int)host, text);
    } else {
      tw_text_add(
          notes,
          "rank %d on %.*s is left out: it is another machine, compiler or version, and costs of different machines do "
          "not mix\n",
          from, (int)host, text);
    }
    free(text);
  }
  return c->n ? TW_OK
              : tw_fail(error, TW_USAGE,
                        "no rank runs on the same kind of machine as rank 0; start ranks on computers of one kind");
}

static bool is_away(const crew *c) {
  char here[sizeof c->slot[0].host] = "";
  gethostname(here, sizeof here - 1);
  for (size_t i = 0; i < c->n; i++)
    if (!strcmp(c->slot[i].host, here)) return false;
  return true;
}

static int by_rank(const void *a, const void *b) { return ((const slot *)a)->rank - ((const slot *)b)->rank; }

tw_status tw_backend_ranks(tw_ranks *ranks, const char *about, tw_backend **out, size_t *slots, char **notes,
                           tw_error *error) {
  tw_backend *b = tw_new(1, sizeof *b);
  crew *c = calloc(1, sizeof *c + (size_t)ranks->size * sizeof c->slot[0]);
  tw_text text = {0};
  tw_status status = b && c ? TW_OK : tw_no_memory(error, "the ranks");
  if (status == TW_OK) {
    c->ranks = ranks;
    pthread_mutex_init(&c->lock, NULL);
    status = greet(c, about, &text, error);
  }
  if (status == TW_OK) {
    qsort(c->slot, c->n, sizeof c->slot[0], by_rank);
    for (size_t i = 0; i < c->n; i++) pthread_cond_init(&c->slot[i].changed, NULL);
    if (pthread_create(&c->receiver, NULL, receive_all, c) != 0)
      status = tw_fail(error, TW_MISSING, "cannot start threads for the ranks");
  }
  *notes = tw_text_take(&text);
  if (status != TW_OK) {
    free(b);
    free(c);
    return status;
  }
  *b = (tw_backend){.name = "ranks",
                    .is_own = true,
                    .is_away = is_away(c),
                    .is_elsewhere = true,
                    .own = c,
                    .evaluate = evaluate,
                    .close = close_crew};
  *slots = c->n;
  *out = b;
  return TW_OK;
}
