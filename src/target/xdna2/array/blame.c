/* blame.c - explains a deadlock: reports the chain of waits, beginning at the host, until a part repeats (a cycle of
 * waits) or does not wait. */
#include <stdlib.h>

#include "base/strings.h"
#include "target/xdna2/array/sim.h"

/* The host is the last agent. */
static int host(const sim *s) { return (int)(s->program->channels.n + s->program->cores.n); }

static xd_label name_of(const sim *s, int agent) {
  const int channels = (int)s->program->channels.n;
  if (agent < channels) return xd_channel_label(&s->program->channels.at[agent]);
  if (agent < host(s)) return xd_place_label(s->program->cores.at[agent - channels].tile);
  return (xd_label){"the host"};
}

/* The part that could release the lock: a channel with such a descriptor, or a core with such a port; -1: none. */
static int releaser(const sim *s, int lock, int not ) {
  const xd_program *p = s->program;
  for (size_t i = 0; i < p->descriptors.n; i++)
    if (p->descriptors.at[i].release.lock == lock && p->descriptors.at[i].channel != not )
      return p->descriptors.at[i].channel;
  for (size_t c = 0; c < p->cores.n; c++)
    for (size_t i = 0; i < p->cores.at[c].ops.n; i++) {
      const xd_op *op = &p->cores.at[c].ops.at[i];
      if ((op->kind == XD_RELEASE && p->ports.at[op->port].release.lock == lock) ||
          (op->kind == XD_ADD_TO_LOCK && op->lock == lock))
        return agent_of_core(s, (int)c);
    }
  return -1;
}

static int blame_lock(const sim *s, int agent, tw_text *t) {
  const xd_lock *l = &s->program->locks.at[s->waits_for[agent]];
  const int next = releaser(s, s->waits_for[agent], agent), wanted = s->wanted[agent];
  tw_text_add(t, " waits for lock %s of %s (%d, needs %s%d)", l->name, xd_place_label(l->tile).text,
              s->lock[s->waits_for[agent]].value, wanted < 0 ? "exactly " : "", wanted < 0 ? -1 - wanted : wanted);
  if (next < 0)
    tw_text_add_string(t, ", which nobody releases");
  else
    tw_text_add(t, ", which %s releases", name_of(s, next).text);
  return next;
}

/* The channel has its lock, so another end of its circuit is late. */
static int blame_circuit(const sim *s, int channel, tw_text *t) {
  const xd_route *r = &s->program->routes.at[s->channel[channel].route];
  int late = s->channel[r->source].phase != READY ? r->source : -1;
  for (int i = 0; i < r->n_sinks && late < 0; i++)
    if (s->channel[r->sink[i]].phase != READY) late = r->sink[i];
  tw_text_add(t, " waits for %s", late < 0 ? "nobody" : name_of(s, late).text);
  return late;
}

static int blame_agent(const sim *s, int agent, tw_text *t) {
  const int channels = (int)s->program->channels.n;
  if (agent == host(s)) {
    const int channel = s->program->sequence.at[s->command].channel;
    tw_text_add(t, " awaits a task of %s", name_of(s, channel).text);
    return channel;
  }
  if (s->waits_for[agent] >= 0) return blame_lock(s, agent, t);
  if (agent >= channels) {
    const core_state *c = &s->core[agent - channels];
    if (c->waits_for_parameter >= 0)
      tw_text_add(t, " waits for its parameter %d, which the sequence has not set", c->waits_for_parameter);
    else
      tw_text_add(t, "%s", c->ended ? " has ended" : " does nothing");
    return -1;
  }
  if (s->channel[agent].phase == READY) return blame_circuit(s, agent, t);
  tw_text_add(t, "%s", s->channel[agent].warm ? " has no task left" : " was never started");
  return -1;
}

void blame(sim *s) {
  enum { LINKS = 24 };
  int chain[LINKS], n = 0, agent = host(s), repeated = -1;
  tw_text t = {0};
  while (agent >= 0 && n < LINKS && repeated < 0) {
    chain[n++] = agent;
    tw_text_add(&t, "%s%s", n > 1 ? "; " : "", name_of(s, agent).text);
    agent = blame_agent(s, agent, &t);
    for (int i = 0; i < n; i++)
      if (chain[i] == agent) repeated = i;
  }
  if (repeated >= 0) tw_text_add(&t, ": a cycle of %d", n - repeated);
  char *text = tw_text_take(&t);
  SIM_FAIL(s, "deadlock at cycle %.0f: %s", s->now, text ? text : "out of memory");
  free(text);
}
