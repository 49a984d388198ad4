/* l2.c - see l2.h. All times of a request are computed when it is accepted; only the shared data pipeline is left
 * to the caller's clock, because its back-pressure comes from the client. */
#include "sim/l2.h"

#include <stdlib.h>
#include <string.h>

tw_status l2_init(l2_cache *c, const l2_parameters *p, tw_error *error) {
  memset(c, 0, sizeof *c);
  c->p = *p;
  c->sets = p->bytes / (p->line_bytes * p->ways);
  c->llc_sets = p->llc_bytes / (p->line_bytes * 16);
  if (c->sets < 1 || c->llc_sets < 1 || p->misses < 1 || p->misses > L2_MISSES_MAX)
    return tw_fail(error, TW_USAGE, "L2: %d bytes in %d ways with %d miss registers make no cache", p->bytes, p->ways,
                   p->misses);
  c->tag = calloc((size_t)c->sets * p->ways, sizeof *c->tag);
  c->llc_tag = calloc((size_t)c->llc_sets * 16, sizeof *c->llc_tag);
  c->random = 0x9e3779b97f4a7c15u;
  if (!c->tag || !c->llc_tag) {
    l2_free(c);
    return tw_fail(error, TW_MISSING, "no memory for the simulated caches");
  }
  return TW_OK;
}

void l2_free(l2_cache *c) {
  free(c->tag);
  free(c->llc_tag);
  c->tag = c->llc_tag = NULL;
}

static uint64_t next_random(l2_cache *c) {
  c->random ^= c->random << 13;
  c->random ^= c->random >> 7;
  c->random ^= c->random << 17;
  return c->random;
}

/* Looks `line` up in a set-associative array; on a miss it takes the place of an invalid or a random way. */
static bool touch(l2_cache *c, uint64_t *set, int ways, uint64_t line) {
  int victim = -1;
  for (int w = 0; w < ways; w++) {
    if (set[w] == line + 1) return true;
    if (!set[w] && victim < 0) victim = w;
  }
  if (victim < 0) victim = (int)(next_random(c) % (unsigned)ways);
  set[victim] = line + 1;
  return false;
}

static bool touch_llc(l2_cache *c, uint64_t line) {
  return touch(c, c->llc_tag + line % (unsigned)c->llc_sets * 16, 16, line);
}

void l2_warm_llc(l2_cache *c, uint64_t address, uint64_t bytes) {
  if (!bytes) return;
  for (uint64_t line = address / c->p.line_bytes; line <= (address + bytes - 1) / c->p.line_bytes; line++)
    touch_llc(c, line);
}

static void insert(l2_cache *c, l2_response r) {
  int i = c->n_pending++;
  for (; i > 0 && c->pending[i - 1].ready > r.ready; i--) c->pending[i] = c->pending[i - 1];
  c->pending[i] = r;
}

void l2_pop(l2_cache *c) {
  c->n_pending--;
  memmove(c->pending, c->pending + 1, (size_t)c->n_pending * sizeof *c->pending);
}

void l2_send(l2_cache *c, enum l2_client client, uint64_t cycle, enum l2_kind kind, uint64_t address, int bytes,
             bool whole_line_put, uint32_t cookie) {
  int i = (c->queue[client].head + c->queue[client].count++) & (L2_QUEUE - 1);
  c->queue[client].request[i] = (l2_request){
      cycle + (unsigned)c->p.request_latency, address, cookie, (uint8_t)kind, (uint8_t)bytes, whole_line_put};
}

/* The registers are free again two cycles after the last beat (MSHR.scala: no_wait, then the schedule). */
enum { HIT_HOLDS = 4, RELEASE = 2 };

static void fetch(l2_cache *c, int m, uint64_t line, uint64_t cycle) {
  double start = c->port_next > (double)cycle ? c->port_next : (double)cycle;
  c->port_next = start + c->p.line_interval;
  c->fills++;
  uint64_t first = (uint64_t)start + (unsigned)c->p.fill_latency;
  if (!touch_llc(c, line)) {
    first += (unsigned)c->p.llc_miss_extra;
    c->llc_misses++;
  }
  c->miss[m].data_first = first + (unsigned)(c->p.beat_bytes / c->p.port_bytes - 1); /* a whole inner beat */
  c->miss[m].data_last = first + (unsigned)(c->p.line_bytes / c->p.port_bytes - 1);
  c->miss[m].free_at = c->miss[m].data_last + RELEASE;
}

static void accept(l2_cache *c, const l2_request *r, int m, uint64_t cycle) {
  uint64_t line = r->address / (unsigned)c->p.line_bytes;
  int beats = r->bytes > c->p.beat_bytes ? r->bytes / c->p.beat_bytes : 1;
  uint64_t data = cycle;
  int interval = 1;
  bool hit = touch(c, c->tag + line % (unsigned)c->sets * (unsigned)c->p.ways, c->p.ways, line);
  c->miss[m].line = line;
  c->miss[m].free_at = cycle + HIT_HOLDS;
  if (!hit && !r->whole_line_put) {
    fetch(c, m, line, cycle);
    bool from_start = r->address % (unsigned)c->p.line_bytes == 0;
    data = from_start ? c->miss[m].data_first : c->miss[m].data_last;
    if (from_start) interval = c->p.beat_bytes / c->p.port_bytes;
  } else {
    if (hit) c->hits++;
    for (int i = 0; i < c->p.misses; i++) /* a line that is still on its way: queued behind its miss */
      if (i != m && c->miss[i].line == line && c->miss[i].data_last > data && c->miss[i].free_at > cycle)
        data = c->miss[i].data_last;
    c->miss[m].data_last = 0;
  }
  c->accept_next = cycle + (r->kind == L2_WRITE || r->kind == L2_WRITEBACK ? (unsigned)beats : 1u);
  insert(c, (l2_response){data + (unsigned)c->p.hit_latency, r->cookie, r->kind, (uint8_t)beats, (uint8_t)interval});
}

void l2_step(l2_cache *c, uint64_t cycle) {
  if (cycle < c->accept_next || c->n_pending >= L2_PENDING_MAX) return;
  for (int k = 1; k <= L2_CLIENTS; k++) {
    int client = (c->last_client + k) % L2_CLIENTS;
    if (!c->queue[client].count || c->queue[client].request[c->queue[client].head].eligible > cycle) continue;
    int m = 0;
    uint64_t first_free = UINT64_MAX;
    for (; m < c->p.misses && c->miss[m].free_at > cycle; m++)
      if (c->miss[m].free_at < first_free) first_free = c->miss[m].free_at;
    if (m == c->p.misses) {
      c->accept_next = first_free;
      return;
    }
    accept(c, &c->queue[client].request[c->queue[client].head], m, cycle);
    c->queue[client].head = (c->queue[client].head + 1) & (L2_QUEUE - 1);
    c->queue[client].count--;
    c->last_client = client;
    return;
  }
}
