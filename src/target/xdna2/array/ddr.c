/* ddr.c - streams from and to DDR share its bandwidth. Rates rise together until a stream is at its own limit or a
 * resource is used up (max-min fairness), and hold until a stream joins or leaves. The resources are bytes read, bytes
 * written, both together, and requests. Each run of a descriptor makes a request for every block of DDR that it
 * touches, and for a row that it opens; long runs hide this cost, short ones do not. A write of a part of a burst reads
 * the burst first. Reads and writes share the requests: a bank of DDR and its bus serve one at a time.
 *
 * Streams disturb each other before a limit is reached: n of them, each of which could move s alone, get
 *   n s / (1 + (n s / limit)^p)^(1/p)
 * of it (p: ddr_contention). */
#include <math.h>
#include <stdlib.h>

#include "base/integers.h"
#include "target/xdna2/array/ddr.h"
#include "target/xdna2/array/sim.h"

#define BYTES_DONE 1e-6 /* tolerance for rounding */

static double per_cycle(const sim *s, int mbs) { return (double)mbs / s->config->clock_mhz; }

/* ---- requests ---- */

/* The loops of a descriptor outside its runs: its dimensions, and its iteration. */
typedef struct steps {
  int64_t run; /* consecutive bytes, over as many dimensions as are contiguous */
  int n;
  int64_t stride[XD_DIMS + 1];
} steps;

static steps steps_of(const xd_descriptor *d) {
  const xd_pattern *p = &d->pattern;
  steps s = {.run = p->dim[0].size};
  for (int i = 1; i <= p->n_dims; i++) {
    const int64_t size = i < p->n_dims ? p->dim[i].size : d->iterations,
                  stride = i < p->n_dims ? p->dim[i].stride : d->iteration_stride;
    if (size == 1) continue;
    if (!s.n && stride == s.run)
      s.run *= size;
    else
      s.stride[s.n++] = llabs(stride);
  }
  return s;
}

/* The average number of blocks that a run touches, if it begins at any multiple of `unit` in a block. */
static double blocks_of(int64_t run, int64_t unit, int64_t block) {
  int64_t sum = 0;
  for (int64_t at = 0; at < block; at += unit) sum += (at + run + block - 1) / block;
  return (double)sum * (double)unit / (double)block;
}

/* The average number of bursts of which such a run covers only a part: those at its ends that are not aligned. */
static double parts_of(int64_t run, int64_t unit, int64_t burst) {
  int64_t sum = 0, n = 0;
  for (int64_t at = 0; at < burst; at += unit, n++) {
    const int64_t end = at + run;
    sum += end < burst ? 1 : (at > 0) + (end % burst > 0);
  }
  return (double)sum / (double)n;
}

double xd_ddr_run_ns(const xd_array *a, int64_t run, int64_t unit, int64_t stride, int together, bool writes) {
  const int64_t aligned = tw_common_divisor(unit, a->ddr_block_bytes);
  const double pages = (double)(stride > run ? stride : run) / a->ddr_page_bytes;
  const double turned = fmax(fmin(pages, 1), (double)run / a->ddr_page_bytes);
  const double whole = blocks_of(run, aligned, a->ddr_block_bytes), row = turned / together * a->ddr_page_ns,
               parts = writes ? parts_of(run, tw_common_divisor(unit, a->ddr_burst_bytes), a->ddr_burst_bytes) : 0,
               blocks = whole + parts * a->ddr_burst_bytes / a->ddr_block_bytes;
  return blocks * a->ddr_block_ns + fmax(0, row - (blocks - 1) * a->ddr_block_ns);
}

/* The number of shims whose descriptors read or write next to this descriptor's runs: all of them use the same open
 * row of DDR. */
static int beside(const xd_program *p, int at, const steps *s) {
  enum { NEAR = 64 }; /* commands of one group are at most this far apart */
  const xd_descriptor *d = &p->descriptors.at[at];
  const int n = (int)p->descriptors.n;
  uint64_t columns = 0;
  for (int i = at > NEAR ? at - NEAR : 0; i < n && i <= at + NEAR; i++) {
    const xd_descriptor *o = &p->descriptors.at[i];
    const int64_t apart = llabs(o->pattern.offset - d->pattern.offset);
    const steps other = steps_of(o);
    const bool alike = o->buffer == d->buffer && other.run == s->run && other.n && other.stride[0] == s->stride[0];
    if (i == at || (alike && apart > 0 && apart % s->run == 0 && apart < s->stride[0]))
      columns |= (uint64_t)1 << p->channels.at[o->channel].tile.column;
  }
  int count = 0;
  for (; columns; columns &= columns - 1) count++;
  return count;
}

double xd_ddr_descriptor_ns(const xd_array *a, const xd_program *p, int at) {
  const xd_descriptor *d = &p->descriptors.at[at];
  const steps s = steps_of(d);
  int64_t unit = d->pattern.offset;
  for (int i = 0; i < s.n; i++) unit = tw_common_divisor(unit, s.stride[i]);
  const int64_t stride = s.n ? s.stride[0] : s.run;
  return xd_ddr_run_ns(a, s.run, unit ? unit : a->ddr_block_bytes, stride, s.n ? beside(p, at, &s) : 1,
                       p->channels.at[d->channel].direction == XD_S2MM) /
         (double)s.run;
}

/* ---- rates ---- */

typedef struct pool {
  double left, rise; /* remaining capacity; the increase in use by all open flows for each byte per cycle */
} pool;
enum { READS, WRITES, BOTH, REQUESTS, POOLS };

/* Use of a resource for each byte. */
static double weight(const route_state *r, int which) {
  if (which == REQUESTS) return r->request;
  return which == BOTH || (which == READS) == r->is_read;
}

static double with_contention(const sim *s, double alone, double limit) {
  const double p = s->config->array.ddr_contention;
  return alone > 0 ? alone / pow(1 + pow(alone / limit, p), 1 / p) : limit;
}

static void make_pools(const sim *s, double stream, pool pools[POOLS]) {
  const xd_array *a = &s->config->array;
  const int mbs[] = {a->ddr_read_mbs, a->ddr_write_mbs, a->ddr_mbs};
  for (int p = 0; p < POOLS; p++) {
    pools[p] = (pool){1, 0};
    for (int i = 0; i < s->n_flows; i++) pools[p].rise += weight(&s->route[s->flow[i]], p);
    if (p < REQUESTS) pools[p].left = with_contention(s, stream * pools[p].rise, per_cycle(s, mbs[p]));
  }
}

static void share(sim *s) {
  const double stream = fmin(per_cycle(s, s->config->array.ddr_stream_mbs), s->config->stream_bytes);
  pool pools[POOLS];
  bool open[256];
  int left = s->n_flows;
  make_pools(s, stream, pools);
  for (int i = 0; i < s->n_flows; i++) {
    open[i] = true;
    s->route[s->flow[i]].rate = 0;
  }
  while (left) {
    double rise = INFINITY; /* added to the rate of every open flow */
    for (int p = 0; p < POOLS; p++)
      if (pools[p].rise > 1e-12) rise = fmin(rise, fmax(pools[p].left, 0) / pools[p].rise);
    for (int i = 0; i < s->n_flows; i++)
      if (open[i]) rise = fmin(rise, stream - s->route[s->flow[i]].rate);
    for (int i = 0; i < s->n_flows; i++)
      if (open[i]) s->route[s->flow[i]].rate += rise;
    for (int p = 0; p < POOLS; p++) pools[p].left -= rise * pools[p].rise;
    for (int i = 0; i < s->n_flows; i++) {
      const route_state *r = &s->route[s->flow[i]];
      bool full = stream - r->rate < 1e-9;
      for (int p = 0; p < POOLS; p++) full |= weight(r, p) > 0 && pools[p].left < 1e-9;
      if (!open[i] || !full) continue;
      open[i] = false;
      left--;
      for (int p = 0; p < POOLS; p++) pools[p].rise -= weight(r, p);
    }
  }
}

static void advance(sim *s) {
  const double passed = s->now - s->flows_at;
  for (int i = 0; i < s->n_flows; i++) s->route[s->flow[i]].left -= passed * s->route[s->flow[i]].rate;
  if (s->n_flows) s->result->ddr_busy_cycles += passed;
  s->flows_at = s->now;
}

/* Computes the rates of the active flows, and queues an event for the first that ends. */
static void queue_next_arrival(sim *s) {
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
  const xd_route *ends = &s->program->routes.at[route];
  r->left = (double)r->segment;
  r->request = s->request[s->channel[r->is_read ? ends->source : ends->sink[0]].descriptor];
  s->flow[s->n_flows++] = route;
  queue_next_arrival(s);
}

void ddr_event(sim *s, int version) {
  int done[256], n_done = 0, kept = 0;
  if (version != s->ddr_version) return; /* the flows have changed since */
  advance(s);
  for (int i = 0; i < s->n_flows; i++) {
    if (s->route[s->flow[i]].left <= BYTES_DONE)
      done[n_done++] = s->flow[i];
    else
      s->flow[kept++] = s->flow[i];
  }
  s->n_flows = kept;
  for (int i = 0; i < n_done; i++) route_segment_end(s, done[i]);
  queue_next_arrival(s);
}
