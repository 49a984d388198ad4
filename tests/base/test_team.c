/* test_team.c - the team of threads: each member of each call works once, whichever thread does it, in calls of any size,
 * of several threads and of a child of fork. */
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/team.h"

enum { MEMBERS_MOST = 9, CALLS = 400 };

typedef struct call {
  atomic_int worked[MEMBERS_MOST];
  int result[MEMBERS_MOST]; /* written without synchronization: the end of a call must give it to the caller */
} call;

static void work(void *context, int member) {
  call *c = context;
  atomic_fetch_add(&c->worked[member], 1);
  c->result[member] += member + 1;
}

/* Makes a call; if another one has the team, its work alone. False: a member did not work exactly once. */
static bool runs_once(int members) {
  call c = {0};
  const int joined = tw_team_run(members, work, &c);
  if (joined < -1 || joined > members - 1) return false;
  for (int i = 0; joined < 0 && i < members; i++) work(&c, i);
  for (int i = 0; i < MEMBERS_MOST; i++)
    if (atomic_load(&c.worked[i]) != (i < members) || c.result[i] != (i < members ? i + 1 : 0)) return false;
  return true;
}

static bool every_call_runs_once(void) {
  for (int i = 0; i < CALLS; i++)
    if (!runs_once(1 + i * 7 % MEMBERS_MOST)) return false;
  return true;
}

static void members_work_once(void **state) {
  assert_true(every_call_runs_once());
  assert_int_equal(tw_team_run(TW_TEAM_MOST + 1, work, NULL), -1);
}

static void helpers_sleep_and_wake(void **state) {
  for (int i = 0; i < 4; i++) {
    usleep(20000);
    assert_true(runs_once(MEMBERS_MOST));
  }
}

static void *call_often(void *right) {
  *(bool *)right = every_call_runs_once();
  return NULL;
}

static void several_threads_call(void **state) {
  enum { CALLERS = 3 };
  pthread_t thread[CALLERS];
  bool right[CALLERS];
  for (int i = 0; i < CALLERS; i++) assert_int_equal(pthread_create(&thread[i], NULL, call_often, &right[i]), 0);
  for (int i = 0; i < CALLERS; i++) pthread_join(thread[i], NULL);
  for (int i = 0; i < CALLERS; i++) assert_true(right[i]);
}

/* ---- a helper whose core another thread has: a signal's handler keeps it between two calls ---- */

static atomic_int is_held, is_free;

static void hold(int signal) {
  (void)signal;
  atomic_store(&is_held, 1);
  while (!atomic_load(&is_free)) sched_yield();
  atomic_store(&is_held, 0);
}

static void wait_until(const atomic_int *value, int wanted) {
  while (atomic_load(value) != wanted) sched_yield();
}

typedef struct visit {
  atomic_int by_helper;
  pthread_t caller, helper;
} visit;

static void note_helper(void *context, int member) {
  visit *v = context;
  if (member != 1 || pthread_equal(pthread_self(), v->caller)) return;
  v->helper = pthread_self();
  atomic_store(&v->by_helper, 1);
}

static void no_call_waits_for_a_helper_that_does_not_come(void **state) {
  const struct sigaction handler = {.sa_handler = hold};
  struct sigaction before;
  visit v = {.caller = pthread_self()};
  while (!atomic_load(&v.by_helper)) assert_in_range(tw_team_run(2, note_helper, &v) + 1, 1, 2);
  assert_int_equal(sigaction(SIGTRAP, &handler, &before), 0); /* helpers block others */
  assert_int_equal(pthread_kill(v.helper, SIGTRAP), 0);
  wait_until(&is_held, 1);
  for (int i = 0; i < CALLS; i++) {
    call c = {0};
    assert_int_equal(tw_team_run(2, work, &c), 0);
    assert_int_equal(c.result[0] + c.result[1], 3);
  }
  assert_true(every_call_runs_once()); /* the others come, whom the held one cannot wake */
  atomic_store(&is_free, 1);
  wait_until(&is_held, 0);
  assert_true(every_call_runs_once());
  assert_int_equal(sigaction(SIGTRAP, &before, NULL), 0);
}

#if defined __SANITIZE_THREAD__
#define THREADS_SANITIZED /* ThreadSanitizer has no threads in children of fork */
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define THREADS_SANITIZED
#endif
#endif

static void a_child_of_fork_calls(void **state) {
#ifndef THREADS_SANITIZED
  int status = -1;
  assert_true(runs_once(MEMBERS_MOST));
  const pid_t child = fork();
  if (child == 0) _exit(every_call_runs_once() ? 0 : 1);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_true(runs_once(MEMBERS_MOST));
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(members_work_once),     cmocka_unit_test(helpers_sleep_and_wake),
      cmocka_unit_test(several_threads_call),  cmocka_unit_test(no_call_waits_for_a_helper_that_does_not_come),
      cmocka_unit_test(a_child_of_fork_calls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
