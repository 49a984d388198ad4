/* reuse.c - see reuse.h. */
#include "target/cdna/time/reuse.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/strings.h"
#include "target/cdna/isa/effects.h"

enum { PIECE = 64, STEPS_MAX = 1 << 20 }; /* lines in turn; instructions of a wave that is followed */

typedef struct stream {
  uint32_t n, room;
  uint64_t *line; /* address / line */
} stream;

typedef struct search {
  const cdna_machine *machine;
  const cdna_rates *rates;
  const cdna_dispatch *dispatch;
  const cdna_effects *effects;
  int shift, n_streams;
  uint32_t lines_max; /* of a workgroup */
  stream *stream;
  tw_error *error; /* of each */
  atomic_int next;
} search;

/* ---- one workgroup, followed ---- */

typedef struct filter { /* its L1 */
  uint64_t *tag;
  int sets, ways;
} filter;

static bool in_l1(filter *f, uint64_t line) {
  uint64_t *way = f->tag + line % (uint64_t)f->sets * (uint64_t)f->ways;
  int i = 0;
  while (i < f->ways - 1 && way[i] != line + 1) i++;
  const bool hit = way[i] == line + 1;
  memmove(way + 1, way, (size_t)i * sizeof *way);
  way[0] = line + 1;
  return hit;
}

static bool add_line(stream *s, uint64_t line) {
  if (s->n == s->room) {
    const uint32_t room = s->room ? 2 * s->room : 4096;
    uint64_t *grown = tw_resize(s->line, room, sizeof *grown);
    if (!grown) return false;
    s->line = grown;
    s->room = room;
  }
  s->line[s->n++] = line;
  return true;
}

static bool note_access(const search *q, stream *s, filter *f, const cdna_access *a) {
  uint64_t last = UINT64_MAX;
  for (uint64_t left = a->lanes[CDNA_IN_GLOBAL]; left; left &= left - 1) {
    const uint64_t line = a->address[0][__builtin_ctzll(left)] >> q->shift;
    if (line == last) continue;
    last = line;
    if (!a->writes && !in_l1(f, line) && !add_line(s, line)) return false;
  }
  return true;
}

/* Until the barrier, its end, or enough lines. */
static bool follow_wave(const search *q, stream *s, filter *f, cdna_wave *w) {
  while (w->state == CDNA_RUNNING && s->n < q->lines_max && w->instructions < STEPS_MAX) {
    const cdna_op *op = cdna_wave_next(w);
    if (!op) return false;
    const cdna_effects *e = &q->effects[w->at];
    cdna_access a;
    if (e->klass == CDNA_CLASS_MATRIX && e->mfma) {
      w->pc = w->at + op->dwords;
      w->instructions++;
      continue;
    }
    if (e->klass == CDNA_CLASS_VMEM && cdna_access_of(w, op, &a) && !note_access(q, s, f, &a)) return false;
    cdna_wave_step(w, op);
  }
  return w->state != CDNA_STOPPED;
}

static bool follow_group(const search *q, stream *s, filter *f, cdna_group *g) {
  while (s->n < q->lines_max) {
    int waiting = 0, ended = 0, stuck = 0;
    for (int i = 0; i < g->n_waves; i++) {
      cdna_wave *w = &g->wave[i];
      if (!follow_wave(q, s, f, w)) return false;
      waiting += w->state == CDNA_AT_BARRIER;
      ended += w->state == CDNA_ENDED;
      stuck += w->instructions >= STEPS_MAX;
    }
    if (ended == g->n_waves || stuck) return true;
    if (waiting + ended != g->n_waves) continue;
    for (int i = 0; i < g->n_waves; i++)
      if (g->wave[i].state == CDNA_AT_BARRIER) g->wave[i].state = CDNA_RUNNING;
  }
  return true;
}

/* One thread: workgroups one after the other. */
static void follow(void *context, size_t index) {
  search *q = context;
  const cdna_rates *r = q->rates;
  filter f = {.ways = r->l1_ways, .sets = r->l1_bytes / r->l1_line / r->l1_ways};
  const size_t n = (size_t)f.ways * (size_t)f.sets;
  tw_error error = {0};
  (void)index;
  f.tag = tw_new(n, sizeof *f.tag);
  cdna_group *g = cdna_group_open(q->dispatch, &error);
  for (int i; (i = atomic_fetch_add(&q->next, 1)) < q->n_streams;) {
    if (g && f.tag) {
      memset(f.tag, 0, n * sizeof *f.tag);
      cdna_group_start(q->dispatch, g, (uint64_t)i);
      if (follow_group(q, &q->stream[i], &f, g)) continue;
    }
    if (error.status == TW_OK) tw_fail(&error, TW_MISSING, "out of memory for what workgroups read");
    q->error[i] = error;
  }
  if (g) cdna_group_close(g);
  free(f.tag);
}

/* ---- replay ---- */

static uint64_t mixed(uint64_t v) {
  v = (v ^ v >> 31) * 0x9E3779B97F4A7C15ull;
  return v ^ v >> 29;
}

typedef struct caches {
  uint64_t *tag; /* [xcd][set][way], the newest first */
  size_t sets;
  int ways;
  uint64_t *asked; /* lines that some XCD has asked the LLC for: a table with open addressing */
  uint64_t mask;
} caches;

static bool l2_has(caches *k, int xcd, uint64_t line) {
  uint64_t *way = k->tag + ((size_t)xcd * k->sets + mixed(line) % k->sets) * (size_t)k->ways;
  int i = 0;
  while (i < k->ways - 1 && way[i] != line + 1) i++;
  const bool hit = way[i] == line + 1;
  memmove(way + 1, way, (size_t)i * sizeof *way);
  way[0] = line + 1;
  return hit;
}

static bool llc_has(caches *k, uint64_t line) {
  for (uint64_t i = mixed(line) >> 7;; i++) {
    uint64_t *at = &k->asked[i & k->mask];
    if (*at == line + 1) return true;
    if (*at) continue;
    *at = line + 1;
    return false;
  }
}

static int allocation_of(const cdna_memory *m, uint64_t address, int guess) {
  if (guess >= 0 && address - m->allocation[guess].address < m->allocation[guess].size) return guess;
  for (size_t i = 0; i < m->n; i++)
    if (address >= m->allocation[i].address - 4096 && address - m->allocation[i].address < m->allocation[i].size + 4096)
      return (int)i;
  return -1;
}

static bool replay(const search *q, const cdna_memory *m, cdna_reuse *out) {
  const cdna_cache_machine *c = &q->machine->caches;
  uint64_t all = 0, footprint = 0;
  double missed_l2[CDNA_ALLOCATIONS_MAX] = {0}, missed_llc[CDNA_ALLOCATIONS_MAX] = {0};
  caches k = {.sets = (size_t)(c->l2_bytes / c->line_bytes / c->ways), .ways = c->ways, .mask = 1023};
  for (int i = 0; i < q->n_streams; i++) all += q->stream[i].n;
  while (k.mask < 2 * all) k.mask = 2 * k.mask + 1;
  k.tag = tw_new((size_t)c->xcds * k.sets * (size_t)k.ways, sizeof *k.tag);
  k.asked = tw_new(k.mask + 1, sizeof *k.asked);
  const bool ok = k.tag && k.asked;
  for (uint32_t from = 0, more = 1; ok && more; from += PIECE) {
    more = 0;
    for (int i = 0; i < q->n_streams; i++) {
      const stream *s = &q->stream[i];
      int a = -1;
      for (uint32_t n = from; n < s->n && n < from + PIECE; n++) {
        a = allocation_of(m, s->line[n] << q->shift, a);
        if (a < 0) continue;
        out->asked[a]++;
        if (l2_has(&k, i % c->xcds, s->line[n])) continue;
        missed_l2[a]++;
        missed_llc[a] += !llc_has(&k, s->line[n]);
      }
      more |= s->n > from + PIECE;
    }
  }
  for (size_t a = 0; a < m->n; a++) {
    if (out->asked[a] > 0 || m->allocation[a].writable) footprint += m->allocation[a].size;
  }
  for (size_t a = 0; a < m->n; a++) {
    out->l2[a] = out->asked[a] > 0 ? 1 - missed_l2[a] / out->asked[a] : 0;
    out->llc[a] = footprint <= (uint64_t)c->llc_bytes ? 1 : missed_l2[a] > 0 ? 1 - missed_llc[a] / missed_l2[a] : 0;
  }
  free(k.tag);
  free(k.asked);
  return ok;
}

tw_status cdna_reuse_find(const cdna_machine *m, const cdna_rates *r, const cdna_dispatch *d, const cdna_effects *e,
                          const cdna_memory *memory, int together, int jobs, cdna_reuse *out, tw_error *error) {
  const uint64_t resident = (uint64_t)m->caches.xcds * (uint64_t)m->caches.cus * (uint64_t)together;
  const uint64_t n = cdna_dispatch_groups(d) < resident ? cdna_dispatch_groups(d) : resident;
  search q = {.machine = m, .rates = r, .dispatch = d, .effects = e, .shift = __builtin_ctz((unsigned)r->l1_line)};
  q.n_streams = (int)n;
  /* of an XCD eight times its L2; twice as much, or four times, changes rates by a point */
  const uint64_t of_xcd = (n + (uint64_t)m->caches.xcds - 1) / (uint64_t)m->caches.xcds;
  q.lines_max = (uint32_t)(8 * (uint64_t)m->caches.l2_bytes / (uint64_t)r->l1_line / of_xcd) + 64;
  q.stream = tw_new((size_t)n, sizeof *q.stream);
  q.error = tw_new((size_t)n, sizeof *q.error);
  *out = (cdna_reuse){0};
  tw_status status = TW_OK;
  if (!q.stream || !q.error) {
    status = tw_fail(error, TW_MISSING, "out of memory for what workgroups read");
  } else {
    const size_t threads = (size_t)(jobs ? jobs : tw_cores());
    tw_parallel_for(jobs, n < threads ? (size_t)n : threads, follow, &q);
    for (uint64_t i = 0; i < n && status == TW_OK; i++)
      if (q.error[i].status != TW_OK) {
        if (error) *error = q.error[i];
        status = q.error[i].status;
      }
    if (status == TW_OK && !replay(&q, memory, out))
      status = tw_fail(error, TW_MISSING, "out of memory for the caches");
  }
  for (uint64_t i = 0; q.stream && i < n; i++) free(q.stream[i].line);
  free(q.stream);
  free(q.error);
  return status;
}
