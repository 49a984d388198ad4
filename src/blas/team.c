/* team.c - see team.h.
 *
 * `door` counts the threads that may still join the present call, and the threads in it. It is one number, so that a
 * thread joins or finds the door closed. Idle threads poll the door for a while and then sleep. The caller that
 * opens it wakes two threads, and these wake others. Waking takes longer than a small product, so a thread that was
 * woken too late polls again for a while and is ready for the next call. */
#define _GNU_SOURCE
#include "blas/team.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/parallel.h"
#include "blas/buffer.h"

enum { MEMBERS_MOST = 256, LOOKS = 20000 /* half a millisecond */, LOOKS_OF_CALLER = 1000, INSIDE = 1 << 16 };

static struct {
  atomic_flag taken; /* a call has the team */
  atomic_uint door;  /* free seats, plus INSIDE times the members inside */
  blas_work *work;   /* written before the door opens */
  void *context;
  int started; /* threads; only the call that has the team counts them */
  atomic_int sleepers;
  atomic_uint openings; /* while threads sleep: the condition that they wait for */
} team = {.taken = ATOMIC_FLAG_INIT};

static void futex(int operation, unsigned value) {
  syscall(SYS_futex, &team.openings, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static unsigned seats(unsigned door) { return door % INSIDE; }

/* Either this thread sees the open door, or the caller sees this sleeper. */
static void sleep_until_opened(void) {
  const unsigned seen = atomic_load(&team.openings);
  atomic_fetch_add(&team.sleepers, 1);
  if (!seats(atomic_load(&team.door))) futex(FUTEX_WAIT, seen);
  atomic_fetch_sub(&team.sleepers, 1);
}

/* A system call for each thread takes microseconds, so a woken thread wakes two more while seats are free. */
enum { WOKEN_AT_ONCE = 2 };
static void wake_sleepers(void) {
  if (!atomic_load(&team.sleepers)) return;
  atomic_fetch_add(&team.openings, 1);
  futex(FUTEX_WAKE, WOKEN_AT_ONCE);
}

/* The number of a member; 0: the door is closed. */
static int join(void) {
  unsigned door = atomic_load(&team.door);
  while (seats(door))
    if (atomic_compare_exchange_weak(&team.door, &door, door - 1 + INSIDE)) return (int)seats(door);
  return 0;
}

static _Thread_local int thread_number;
int blas_team_thread(void) { return thread_number; }

/* Several threads may have been woken on one core. A thread that only polls lets working threads run. */
static void look_again(int looks) {
  enum { LOOKS_BETWEEN_YIELDS = 32 };
  if (looks % LOOKS_BETWEEN_YIELDS == LOOKS_BETWEEN_YIELDS - 1)
    sched_yield();
  else
    tw_relax();
}

static void *serve(void *number) {
  thread_number = (int)(intptr_t)number;
  for (int looks = 0;; looks++) {
    const int member = join();
    if (member) {
      team.work(team.context, member);
      atomic_fetch_sub(&team.door, INSIDE);
      looks = 0;
    } else if (looks < LOOKS) {
      look_again(looks);
    } else {
      sleep_until_opened();
      if (seats(atomic_load(&team.door)) > 1) wake_sleepers(); /* one of the seats is this thread's */
      looks = 0;
    }
  }
  return NULL;
}

/* Helper threads block all signals, which are for the program's own threads. */
static void start_threads(int wanted) {
  sigset_t all, before;
  pthread_attr_t attributes;
  if (team.started >= wanted) return;
  sigfillset(&all);
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  while (team.started < wanted &&
         pthread_create(&thread, &attributes, serve, (void *)(intptr_t)(team.started + 1)) == 0)
    team.started++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
}

/* Closes the door; members that are inside finish. */
static void close_door(void) {
  unsigned door = atomic_load(&team.door);
  while (!atomic_compare_exchange_weak(&team.door, &door, door - seats(door))) {}
  for (int looks = 0; atomic_load(&team.door);) tw_look_again(&looks, LOOKS_OF_CALLER);
}

/* ---- fork ---- */

static void before_fork(void) { blas_buffers_lock(); }
static void in_parent(void) { blas_buffers_unlock(); }

/* After fork, the threads do not exist, nor perhaps the one that had the team. */
static void in_child(void) {
  atomic_flag_clear(&team.taken);
  atomic_store(&team.door, 0);
  atomic_store(&team.sleepers, 0);
  team.started = 0;
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
  wake_sleepers();
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
  if (threads) return;
  /* OpenMP may have bound this thread to a core, which helper threads would share. */
  const int cores = tw_cores(), wanted = number_in("OMP_NUM_THREADS");
  threads = wanted && wanted < cores ? wanted : cores < MEMBERS_MOST ? cores : MEMBERS_MOST;
}

int blas_threads(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, ask);
  return threads;
}
