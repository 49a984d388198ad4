/* team.c - see team.h.
 *
 * `door` says how many more threads may join the call at hand, and how many are in it: one number, so that a thread joins or finds
 * the door closed. Idle threads look at the door for a while and then sleep; who opens it wakes them. */
#define _GNU_SOURCE
#include "blas/team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "blas/buffer.h"
#include "target/x86/cpu.h"

enum { MEMBERS_MOST = 256, LOOKS = 4000 /* some 100 us */, LOOKS_OF_CALLER = 1000, INSIDE = 1 << 16 };

static struct {
  atomic_flag taken; /* a call has the team */
  atomic_uint door;  /* seats that are left, and INSIDE times the members inside */
  blas_work *work;   /* written before the door opens */
  void *context;
  int started;         /* threads; only who has the team counts them */
  atomic_int sleepers; /* changed under the lock */
  pthread_mutex_t lock;
  pthread_cond_t opened;
} team = {.taken = ATOMIC_FLAG_INIT, .lock = PTHREAD_MUTEX_INITIALIZER, .opened = PTHREAD_COND_INITIALIZER};

static unsigned seats(unsigned door) { return door % INSIDE; }

static void sleep_until_open(void) {
  pthread_mutex_lock(&team.lock);
  atomic_fetch_add(&team.sleepers, 1);
  while (!seats(atomic_load(&team.door))) pthread_cond_wait(&team.opened, &team.lock);
  atomic_fetch_sub(&team.sleepers, 1);
  pthread_mutex_unlock(&team.lock);
}

/* The number of a member; 0: the door is closed. */
static int join(void) {
  unsigned door = atomic_load(&team.door);
  while (seats(door))
    if (atomic_compare_exchange_weak(&team.door, &door, door - 1 + INSIDE)) return (int)seats(door);
  return 0;
}

static void *serve(void *unused) {
  (void)unused;
  for (int looks = 0;; looks++) {
    const int member = join();
    if (member) {
      team.work(team.context, member);
      atomic_fetch_sub(&team.door, INSIDE);
      looks = 0;
    } else if (looks < LOOKS) {
      blas_relax();
    } else {
      sleep_until_open();
      looks = 0;
    }
  }
  return NULL;
}

/* Signals are for the program's own threads. */
static void start_threads(int wanted) {
  sigset_t all, before;
  pthread_attr_t attributes;
  if (team.started >= wanted) return;
  sigfillset(&all);
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  while (team.started < wanted && pthread_create(&thread, &attributes, serve, NULL) == 0) team.started++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
}

/* The door closes; members that are inside finish. */
static void close_door(void) {
  unsigned door = atomic_load(&team.door);
  while (!atomic_compare_exchange_weak(&team.door, &door, door - seats(door))) {}
  for (int looks = 0; atomic_load(&team.door); looks++)
    if (looks < LOOKS_OF_CALLER)
      blas_relax();
    else
      sched_yield();
}

/* ---- fork ---- */

static void before_fork(void) { blas_buffers_lock(); }
static void in_parent(void) { blas_buffers_unlock(); }

/* The threads are gone, and so may be the one that had the team or the lock. */
static void in_child(void) {
  atomic_flag_clear(&team.taken);
  atomic_store(&team.door, 0);
  atomic_store(&team.sleepers, 0);
  team.started = 0;
  pthread_mutex_init(&team.lock, NULL);
  pthread_cond_init(&team.opened, NULL);
  blas_buffers_unlock();
}

static void watch_forks(void) { pthread_atfork(before_fork, in_parent, in_child); }

/* ---- calls ---- */

void blas_team_run(int members, blas_work *work, void *context) {
  if (members > MEMBERS_MOST) members = MEMBERS_MOST;
  if (members <= 1 || atomic_flag_test_and_set(&team.taken)) {
    work(context, 0);
    return;
  }
  start_threads(members - 1);
  team.work = work, team.context = context;
  atomic_store(&team.door, (unsigned)(members - 1));
  if (atomic_load(&team.sleepers)) {
    pthread_mutex_lock(&team.lock);
    pthread_cond_broadcast(&team.opened);
    pthread_mutex_unlock(&team.lock);
  }
  work(context, 0);
  close_door();
  atomic_flag_clear(&team.taken);
}

static int number_in(const char *name) {
  const char *text = getenv(name);
  const long n = text ? strtol(text, NULL, 10) : 0; /* OMP_NUM_THREADS may be a list: one number for each level */
  return n < 1 ? 0 : n > MEMBERS_MOST ? MEMBERS_MOST : (int)n;
}

static int threads;
static void ask(void) {
  watch_forks();
  threads = number_in("TILEWRIGHT_NUM_THREADS");
  if (!threads) threads = number_in("OMP_NUM_THREADS");
  if (!threads) threads = x86_this_cpu()->cores;
  if (threads > MEMBERS_MOST) threads = MEMBERS_MOST;
}

int blas_threads(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, ask);
  return threads;
}
