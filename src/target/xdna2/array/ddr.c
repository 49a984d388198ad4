/* ddr.c - streams from and to DDR share its bandwidth: rates rise together until a stream is at its own limit or reads,
 * writes or both together are at theirs (max-min fairness), and hold until a stream joins or leaves. */
#include <math.h>

#include "target/xdna2/array/sim.h"

#define BYTES_DONE 1e-6 /* of rounding */

static double per_cycle(const sim *s, int mbs) { return (double)mbs / s->config->clock_mhz; }

/* How much each flow takes of DDR: whole bursts for each run of its descriptor. */
static double factor_of(const sim *s, int route) {
  const xd_route *r = &s->program->routes.at[route];
  const int channel = s->route[route].is_read ? r->source : r->sink[0];
  const xd_descriptor *d = &s->program->descriptors.at[s->channel[channel].descriptor];
  const double run = (double)d->pattern.dim[0].size, burst = s->config->array.ddr_burst_bytes;
  return ceil(run / burst) * burst / run;
}

typedef struct pool {
  double left;
  int open; /* flows that still rise in it */
} pool;
enum { READS, WRITES, BOTH, POOLS };

static bool in_pool(const route_state *r, int which) { return which == BOTH || (which == READS) == r->is_read; }

static void share(sim *s) {
  const xd_array *a = &s->config->array;
  pool pools[POOLS] = {
      {per_cycle(s, a->ddr_read_mbs), 0}, {per_cycle(s, a->ddr_write_mbs), 0}, {per_cycle(s, a->ddr_mbs), 0}};
  bool open[256];
  int left = s->n_flows;
  for (int i = 0; i < s->n_flows; i++) {
    open[i] = true;
    s->route[s->flow[i]].rate = 0;
    for (int p = 0; p < POOLS; p++) pools[p].open += in_pool(&s->route[s->flow[i]], p);
  }
  while (left) {
    double rise = INFINITY; /* of the DDR bandwidth of every open flow */
    for (int p = 0; p < POOLS; p++)
      if (pools[p].open) rise = fmin(rise, pools[p].left / pools[p].open);
    for (int i = 0; i < s->n_flows; i++) {
      const route_state *r = &s->route[s->flow[i]];
      if (open[i]) rise = fmin(rise, (s->config->stream_bytes - r->rate) * r->factor);
    }
    for (int i = 0; i < s->n_flows; i++)
      if (open[i]) s->route[s->flow[i]].rate += rise / s->route[s->flow[i]].factor;
    for (int p = 0; p < POOLS; p++) pools[p].left -= rise * pools[p].open;
    for (int i = 0; i < s->n_flows; i++) {
      const route_state *r = &s->route[s->flow[i]];
      bool full = s->config->stream_bytes - r->rate < 1e-9;
      for (int p = 0; p < POOLS; p++) full |= in_pool(r, p) && pools[p].left < 1e-9;
      if (!open[i] || !full) continue;
      open[i] = false;
      left--;
      for (int p = 0; p < POOLS; p++) pools[p].open -= in_pool(r, p);
    }
  }
}

static void advance(sim *s) {
  const double passed = s->now - s->flows_at;
  for (int i = 0; i < s->n_flows; i++) s->route[s->flow[i]].left -= passed * s->route[s->flow[i]].rate;
  if (s->n_flows) s->result->ddr_busy_cycles += passed;
  s->flows_at = s->now;
}

/* Rates for those who move now, and an event when the first of them is done. */
static void settle(sim *s) {
  double next = INFINITY;
  if (!s->n_flows) return;
  share(s);
  for (int i = 0; i < s->n_flows; i++) {
    const route_state *r = &s->route[s->flow[i]];
    next = fmin(next, fmax(r->left, 0) / r->rate);
  }
  queue_add(&s->queue, s->now + next, EV_DDR, 0, ++s->ddr_version);
}

void ddr_add(sim *s, int route) {
  advance(s);
  route_state *r = &s->route[route];
  r->left = (double)r->segment;
  r->factor = factor_of(s, route);
  s->flow[s->n_flows++] = route;
  settle(s);
}

void ddr_event(sim *s, int version) {
  int done[256], n_done = 0, kept = 0;
  if (version != s->ddr_version) return; /* others came or went since */
  advance(s);
  for (int i = 0; i < s->n_flows; i++) {
    if (s->route[s->flow[i]].left <= BYTES_DONE)
      done[n_done++] = s->flow[i];
    else
      s->flow[kept++] = s->flow[i];
  }
  s->n_flows = kept;
  for (int i = 0; i < n_done; i++) route_segment_end(s, done[i]);
  settle(s);
}
