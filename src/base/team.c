/* team.c - see team.h.
 *
 * A call is one number, which the caller writes and idle helpers poll: its serial number, and its members. Each helper
 * has a seat, in a line of its own. A helper joins by changing its seat from an earlier call to this one, and the caller
 * closes seats whose helpers have not joined in the same way. So no two helpers write the same line: on 16 cores of an
 * Intel server each such write takes 50 to 100 ns.
 *
 * Idle helpers poll for a while and then sleep. The caller wakes two helpers, and each of these two more. Waking takes
 * longer than a small product, so a helper that was woken too late polls again for a while and is ready for the next
 * call. */
#define _GNU_SOURCE
#include "base/team.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/parallel.h"

enum { LOOKS = 20000 /* half a millisecond */, LOOKS_OF_CALLER = 1000, TEAM_LINE = 64 };

/* States of a seat: twice the number of the last call in it, and 1 while its helper is at work. */
typedef struct seat {
  _Alignas(TEAM_LINE) atomic_ullong state;
  _Alignas(TEAM_LINE) atomic_uint asleep; /* the helper waits until this is 0; every core may keep a copy of the line */
} seat;

static struct {
  atomic_flag taken; /* a call has the team */
  int started;       /* threads; only the call that has the team counts them */
  atomic_int begun;  /* threads that have begun to poll */
  tw_team_begin *begin;
  unsigned long long serial;
  _Alignas(TEAM_LINE) atomic_ullong call; /* its number, times CALL, plus its members */
  tw_team_work *work;                     /* written before `call` */
  void *context;
  _Alignas(TEAM_LINE) atomic_int sleepers;
  seat seats[TW_TEAM_MOST];
} team = {.taken = ATOMIC_FLAG_INIT};

enum { CALL = 1 << 16 };
static int members_of(unsigned long long call) { return (int)(call % CALL); }

static void futex(atomic_uint *word, int operation, unsigned value) {
  syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

/* ---- helpers ---- */

/* May helper `number` join `call`, as far as `state` says? A helper that slept since it read `call` may find its seat closed
 * by a later call. */
static bool is_open(unsigned long long call, unsigned long long state, int number) {
  return number < members_of(call) && state / 2 < call / CALL;
}

/* Either this helper sees the call, or the caller sees the sleeper. */
static void sleep_until_woken(int number) {
  seat *s = &team.seats[number];
  atomic_store(&s->asleep, 1);
  atomic_fetch_add(&team.sleepers, 1);
  while (atomic_load(&s->asleep) && !is_open(atomic_load(&team.call), atomic_load(&s->state), number))
    futex(&s->asleep, FUTEX_WAIT, 1);
  atomic_fetch_sub(&team.sleepers, 1);
  atomic_store(&s->asleep, 0);
}

/* The two members that member `number` must wake; only if some helper sleeps are their lines read. */
static void wake_next(int number, int members) {
  if (!atomic_load(&team.sleepers)) return;
  for (int i = 2 * number + 1; i <= 2 * number + 2 && i < members; i++)
    if (atomic_load(&team.seats[i].asleep) && atomic_exchange(&team.seats[i].asleep, 0))
      futex(&team.seats[i].asleep, FUTEX_WAKE, 1);
}

/* Several threads may have been woken on one core. A thread that only polls lets working threads run. */
static void look_again(int looks) {
  enum { LOOKS_BETWEEN_YIELDS = 256 };
  if (looks % LOOKS_BETWEEN_YIELDS == LOOKS_BETWEEN_YIELDS - 1)
    sched_yield();
  else
    tw_relax();
}

static bool join(int number, unsigned long long call) {
  atomic_ullong *state = &team.seats[number].state;
  unsigned long long before = atomic_load_explicit(state, memory_order_relaxed);
  return is_open(call, before, number) && atomic_compare_exchange_strong(state, &before, call / CALL * 2 + 1);
}

static void *serve(void *context) {
  const int number = (int)(intptr_t)context;
  if (team.begin) team.begin(number);
  atomic_fetch_add(&team.begun, 1);
  for (int looks = 0;; looks++) {
    const unsigned long long call = atomic_load_explicit(&team.call, memory_order_acquire);
    if (join(number, call)) {
      wake_next(number, members_of(call));
      team.work(team.context, number);
      atomic_store_explicit(&team.seats[number].state, call / CALL * 2, memory_order_release);
      looks = 0;
    } else if (looks < LOOKS) {
      look_again(looks);
    } else {
      sleep_until_woken(number);
      looks = 0;
    }
  }
  return NULL;
}

/* Signals are for the program's own threads. Helper threads block all signals but a fault's signal, which the
 * faulting thread gets. */
static void start_threads(int wanted) {
  static const int own[] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGTRAP};
  sigset_t all, before;
  pthread_attr_t attributes;
  if (team.started >= wanted) return;
  sigfillset(&all);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&all, own[i]);
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  while (team.started < wanted &&
         pthread_create(&thread, &attributes, serve, (void *)(intptr_t)(team.started + 1)) == 0)
    team.started++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  for (int looks = 0; atomic_load(&team.begun) < team.started;) tw_look_again(&looks, LOOKS_OF_CALLER);
}

/* ---- fork ---- */

/* After fork, the threads do not exist, nor perhaps the one that had the team: its call must not be joined. */
static void in_child(void) {
  atomic_flag_clear(&team.taken);
  atomic_store(&team.call, 0);
  atomic_store(&team.sleepers, 0);
  atomic_store(&team.begun, 0);
  team.started = 0;
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

/* ---- calls ---- */

/* The work of members whose helpers have not joined; then helpers finish theirs. Returns their number. */
static int finish(unsigned long long serial, int members) {
  int joined = members - 1;
  for (int i = 1; i < members; i++) {
    unsigned long long state = atomic_load_explicit(&team.seats[i].state, memory_order_acquire);
    if (state / 2 != serial && atomic_compare_exchange_strong(&team.seats[i].state, &state, serial * 2)) {
      team.work(team.context, i);
      joined--;
    }
  }
  for (int i = 1, looks = 0; i < members; i++)
    while (atomic_load_explicit(&team.seats[i].state, memory_order_acquire) % 2) tw_look_again(&looks, LOOKS_OF_CALLER);
  return joined;
}

void tw_team_begin_with(tw_team_begin *begin) { team.begin = begin; }

int tw_team_run(int members, tw_team_work *work, void *context) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (members < 1 || members > TW_TEAM_MOST || atomic_flag_test_and_set(&team.taken)) return -1;
  pthread_once(&once, watch_forks);
  start_threads(members - 1);
  int joined = -1;
  if (team.started >= members - 1) {
    team.work = work, team.context = context;
    atomic_store(&team.call, ++team.serial * CALL + (unsigned)members);
    wake_next(0, members);
    work(context, 0);
    joined = finish(team.serial, members);
  }
  atomic_flag_clear(&team.taken);
  return joined;
}
