/* lock.c - counting locks: those who wait are served in the order in which they came, as far as the value allows. */
#include "target/xdna2/array/sim.h"

bool lock_take(sim *s, int agent, xd_lock_use use) {
  lock_state *l = &s->lock[use.lock];
  if (l->value >= use.count) {
    l->value -= use.count;
    return true;
  }
  s->wanted[agent] = use.count;
  s->waits_for[agent] = use.lock;
  s->next_waiting[agent] = -1;
  int *link = &l->first_waiting;
  while (*link >= 0) link = &s->next_waiting[*link];
  *link = agent;
  return false;
}

static void grant(sim *s, int agent) {
  const int channels = (int)s->program->channels.n;
  s->waits_for[agent] = -1;
  if (agent < channels)
    channel_granted(s, agent);
  else
    core_granted(s, agent - channels);
}

void lock_give(sim *s, xd_lock_use use) {
  lock_state *l = &s->lock[use.lock];
  const xd_lock *lock = &s->program->locks.at[use.lock];
  l->value += use.count;
  for (int *link = &l->first_waiting; *link >= 0;) {
    const int agent = *link;
    if (l->value < s->wanted[agent]) {
      link = &s->next_waiting[agent];
      continue;
    }
    l->value -= s->wanted[agent];
    *link = s->next_waiting[agent];
    grant(s, agent);
    link = &l->first_waiting; /* whoever was served may have changed the list */
  }
  if (l->value > s->config->array.lock_max)
    SIM_FAIL(s, "lock %s of %s overflows: %d releases without an acquire", lock->name, xd_place_label(lock->tile).text,
             l->value);
}
