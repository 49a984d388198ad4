/* lock.c - counting locks: waiters are served in their order of arrival, as long as the value suffices. */
#include "target/xdna2/array/sim.h"

static bool serves(const lock_state *l, int wanted) {
  return wanted < 0 ? l->value == -1 - wanted : l->value >= wanted;
}

static bool try_acquire(sim *s, int agent, int lock, int wanted) {
  lock_state *l = &s->lock[lock];
  if (serves(l, wanted)) {
    l->value -= wanted > 0 ? wanted : 0;
    return true;
  }
  s->wanted[agent] = wanted;
  s->waits_for[agent] = lock;
  s->next_waiting[agent] = -1;
  int *link = &l->first_waiting;
  while (*link >= 0) link = &s->next_waiting[*link];
  *link = agent;
  return false;
}

bool lock_take(sim *s, int agent, xd_lock_use use) { return try_acquire(s, agent, use.lock, use.count); }
bool lock_await(sim *s, int agent, int lock, int value) { return try_acquire(s, agent, lock, -1 - value); }

static void grant(sim *s, int agent) {
  const int channels = (int)s->program->channels.n;
  s->waits_for[agent] = -1;
  if (agent < channels)
    channel_granted(s, agent);
  else
    core_granted(s, agent - channels);
}

static void serve(sim *s, lock_state *l) {
  for (int *link = &l->first_waiting; *link >= 0;) {
    const int agent = *link, wanted = s->wanted[agent];
    if (!serves(l, wanted)) {
      link = &s->next_waiting[agent];
      continue;
    }
    l->value -= wanted > 0 ? wanted : 0;
    *link = s->next_waiting[agent];
    grant(s, agent);
    link = &l->first_waiting; /* a served waiter may have changed the list */
  }
}

void lock_give(sim *s, xd_lock_use use) {
  lock_state *l = &s->lock[use.lock];
  const xd_lock *lock = &s->program->locks.at[use.lock];
  l->value += use.count;
  serve(s, l);
  if (l->value > s->config->array.lock_max)
    SIM_FAIL(s, "lock %s of %s overflows: %d releases without an acquire", lock->name, xd_place_label(lock->tile).text,
             l->value);
}

void lock_set(sim *s, int lock, int value) {
  s->lock[lock].value = value;
  serve(s, &s->lock[lock]);
}
