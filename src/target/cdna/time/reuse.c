/* reuse.c - see reuse.h. */
#include "target/cdna/time/reuse.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/random.h"
#include "base/strings.h"
#include "target/cdna/grid/lru.h"
#include "target/cdna/grid/sets.h"
#include "target/cdna/isa/effects.h"

enum {
  PIECE = 64,          /* lines per turn */
  STEPS_MAX = 1 << 20, /* limit of instructions of a followed wave */
  TURN = 1024,         /* limit of instructions before other waves run */
  ROUNDS = 4,          /* rounds of concurrent workgroups to replay, for the LLC */
  BEGINNING = 1024,    /* number of lines in the beginning of a workgroup */
};

typedef struct stream {
  uint32_t asked, most; /* number of lines; beyond `most` it is no longer followed */
  uint32_t n, room, kept;
  uint64_t *line;        /* address / line, for the first `kept` lines */
  cdna_witness *witness; /* NULL: none */
} stream;

typedef struct search {
  const cdna_machine *machine;
  const cdna_rates *rates;
  const cdna_dispatch *dispatch;
  const cdna_effects *effects;
  int shift, n_streams;
  bool execute_matrix;
  stream *stream;  /* streams of accesses of the first workgroups in the grid */
  tw_error *error; /* error of each */
  atomic_int next;
} search;

/* ---- one workgroup, followed ---- */

static bool add_line(stream *s, uint64_t line) {
  s->asked++;
  if (s->n == s->kept) return true;
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

static bool note_access(const search *q, stream *s, const cdna_sets *l1, const cdna_memory *m, const cdna_access *a) {
  uint64_t last = UINT64_MAX;
  for (uint64_t left = a->lanes[CDNA_IN_GLOBAL]; left; left &= left - 1) {
    const uint64_t line = a->address[0][__builtin_ctzll(left)] >> q->shift;
    if (line == last) continue;
    last = line;
    const uint64_t known = cdna_memory_modelled(m, line << q->shift) >> q->shift;
    /* L2 itself performs atomic additions to memory */
    const bool asks = a->writes ? a->reads : !cdna_sets_touch(l1, known % l1->sets, known);
    if (asks && !add_line(s, known)) return false;
  }
  return true;
}

/* Follows the wave through its next access to memory, or to the barrier, to its end, until it has enough lines, or
 * for many instructions, because it may wait for others in a loop. */
static bool follow_wave(const search *q, stream *s, const cdna_sets *l1, cdna_wave *w) {
  const uint64_t most = w->instructions + TURN < STEPS_MAX ? w->instructions + TURN : STEPS_MAX;
  bool accessed = false;
  if (w->state == CDNA_YIELDED) w->state = CDNA_RUNNING;
  while (!accessed && w->state == CDNA_RUNNING && s->asked < s->most && w->instructions < most) {
    const cdna_op *op = cdna_wave_next(w);
    if (!op) return false;
    const cdna_effects *e = &q->effects[w->at];
    cdna_access a;
    if (e->klass == CDNA_CLASS_MATRIX && e->mfma && !q->execute_matrix) {
      w->pc = w->at + op->dwords;
      w->instructions++;
      continue;
    }
    if (e->klass == CDNA_CLASS_VMEM && cdna_access_of(w, op, &a)) {
      const int wave = (int)(w - w->group->wave);
      if (!note_access(q, s, l1, w->group->memory, &a)) return false;
      if (s->witness && wave < CDNA_WITNESS_WAVES) cdna_witness_note(s->witness, wave, &a, q->shift);
      accessed = true;
    }
    cdna_wave_step(w, op);
  }
  return w->state != CDNA_STOPPED;
}

enum { PASSES_BETWEEN_LOOKS = 64 };

/* Waves alternate after each access to memory. So a line that several of them read is requested once, as on a CU. */
static bool follow_group(const search *q, stream *s, const cdna_sets *l1, cdna_group *g) {
  for (uint32_t pass = 1; s->asked < s->most; pass++) {
    if (pass % PASSES_BETWEEN_LOOKS == 0 && tw_is_stop_asked()) return true;
    int waiting = 0, ended = 0, stuck = 0;
    for (int i = 0; i < g->n_waves; i++) {
      cdna_wave *w = &g->wave[i];
      if (!follow_wave(q, s, l1, w)) return false;
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

/* Follows workgroups one after another, on one thread. */
static void follow(void *context, size_t index) {
  search *q = context;
  const cdna_rates *r = q->rates;
  cdna_sets l1 = {.sets = (size_t)(r->l1_bytes / r->l1_line / r->l1_ways), .ways = r->l1_ways};
  tw_error error = {0};
  (void)index;
  l1.tag = tw_new(cdna_sets_lines(&l1), sizeof *l1.tag);
  cdna_group *g = cdna_group_open(q->dispatch, &error);
  for (int i; (i = atomic_fetch_add(&q->next, 1)) < q->n_streams;) {
    if (g && l1.tag) {
      memset(l1.tag, 0, cdna_sets_lines(&l1) * sizeof *l1.tag);
      cdna_group_start(q->dispatch, g, (uint64_t)i);
      if (follow_group(q, &q->stream[i], &l1, g)) continue;
    }
    if (error.status == TW_OK) tw_fail(&error, TW_NO_MEMORY, "out of memory for the reads of workgroups");
    q->error[i] = error;
  }
  if (g) cdna_group_close(g);
  free(l1.tag);
}

/* ---- replay ---- */

static uint64_t mixed(uint64_t v) {
  v = (v ^ v >> 31) * 0x9E3779B97F4A7C15ull;
  return v ^ v >> 29;
}

static int allocation_of(const cdna_memory *m, uint64_t address, int guess) {
  if (guess >= 0 && address - m->allocation[guess].modelled < m->allocation[guess].size) return guess;
  for (size_t i = 0; i < m->n; i++)
    if (address >= m->allocation[i].modelled - 4096 &&
        address - m->allocation[i].modelled < m->allocation[i].size + 4096)
      return (int)i;
  return -1;
}

/* Lines of buffers, for one way of counting. */
typedef struct counts {
  double asked[CDNA_ALLOCATIONS_MAX], l2_missed[CDNA_ALLOCATIONS_MAX], llc_missed[CDNA_ALLOCATIONS_MAX];
} counts;

/* Replays streams first .. last - 1 in step, the first `most` lines of each. `l2`: the sets of each XCD's, one XCD after
 * the other. `llc` NULL: not used. */
static void replay(const search *q, const cdna_memory *m, const cdna_sets *l2, cdna_lru *llc, int first, int last,
                   uint32_t most, counts *sum) {
  const int xcds = q->machine->caches.xcds, bytes = 1 << q->shift;
  const size_t sets = l2->sets / (size_t)xcds;
  for (uint32_t from = 0, more = 1; more && from < most; from += PIECE) {
    more = 0;
    for (int i = first; i < last; i++) {
      const stream *s = &q->stream[i];
      const uint32_t end = s->n < most ? s->n : most;
      int a = -1;
      for (uint32_t n = from; n < end && n < from + PIECE; n++) {
        a = allocation_of(m, s->line[n] << q->shift, a);
        if (a < 0) continue;
        sum->asked[a]++;
        if (cdna_sets_touch(l2, (size_t)(i % xcds) * sets + mixed(s->line[n]) % sets, s->line[n])) continue;
        sum->l2_missed[a]++;
        if (llc && !cdna_lru_touch(llc, s->line[n], bytes)) sum->llc_missed[a]++;
      }
      more |= end > from + PIECE;
    }
  }
}

/* LLC hits among L2's misses, from successive rounds of the grid. Only the beginning of each workgroup is used, with
 * an LLC that is smaller in proportion. A small grid is launched twice; for a larger one the first round only fills
 * the LLC. */
static bool replay_rounds(const search *q, const cdna_memory *m, const cdna_sets *l2, int resident, double part,
                          counts *out) {
  const cdna_cache_machine *c = &q->machine->caches;
  const int rounds = (q->n_streams + resident - 1) / resident;
  const bool is_whole = cdna_dispatch_groups(q->dispatch) <= (uint64_t)q->n_streams;
  cdna_lru llc;
  bool ok = cdna_lru_open(&llc, (int64_t)((double)c->llc_bytes * part), 1 << q->shift);
  for (int launch = 0; ok && launch < (is_whole ? 2 : 1); launch++) {
    if (launch) *out = (counts){0};
    for (int r = 0; r < rounds; r++) {
      counts unseen = {0}, *sum = !is_whole && r == 0 ? &unseen : out;
      const int last = (r + 1) * resident < q->n_streams ? (r + 1) * resident : q->n_streams;
      memset(l2->tag, 0, cdna_sets_lines(l2) * sizeof *l2->tag);
      replay(q, m, l2, &llc, r * resident, last, BEGINNING, sum);
    }
  }
  cdna_lru_close(&llc);
  return ok;
}

static bool find_rates(const search *q, const cdna_memory *m, int resident, uint32_t many, double part,
                       cdna_reuse *out) {
  const cdna_cache_machine *c = &q->machine->caches;
  /* L2 rates use many lines of few workgroups; LLC rates use few lines of many workgroups */
  counts *of = tw_new(2, sizeof *of);
  cdna_sets l2 = {.sets = (size_t)c->xcds * (size_t)(c->l2_bytes / c->line_bytes / c->ways), .ways = c->ways};
  uint64_t footprint = 0;
  l2.tag = tw_new(cdna_sets_lines(&l2), sizeof *l2.tag);
  bool ok = l2.tag && of;
  if (ok) replay(q, m, &l2, NULL, 0, resident < q->n_streams ? resident : q->n_streams, many, &of[0]);
  for (size_t a = 0; a < m->n && ok; a++)
    if (of[0].asked[a] > 0 || m->allocation[a].writable) footprint += m->allocation[a].size;
  const bool fits = footprint <= (uint64_t)c->llc_bytes;
  if (ok && !fits) ok = replay_rounds(q, m, &l2, resident, part, &of[1]);
  for (size_t a = 0; a < m->n && ok; a++) {
    out->asked[a] = of[0].asked[a];
    out->l2[a] = of[0].asked[a] > 0 ? 1 - of[0].l2_missed[a] / of[0].asked[a] : 0;
    out->llc[a] = fits ? 1 : of[1].l2_missed[a] > 0 ? 1 - of[1].llc_missed[a] / of[1].l2_missed[a] : 0;
  }
  free(l2.tag);
  free(of);
  return ok;
}

static int by_value(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static uint32_t different(const stream *s, uint32_t n) {
  uint64_t *line = tw_new(n ? n : 1, sizeof *line);
  uint32_t count = n > 0;
  if (!line) return n;
  memcpy(line, s->line, n * sizeof *line);
  qsort(line, n, sizeof *line, by_value);
  for (uint32_t i = 1; i < n; i++) count += line[i] != line[i - 1];
  free(line);
  return count;
}

/* The fraction of a workgroup's reads in its beginning. Different lines count: if two waves read one half each of a
 * line, it is requested twice when the first wave is far ahead. */
static double beginning_of(const stream *whole) {
  if (whole->n <= BEGINNING) return 1;
  return (double)different(whole, BEGINNING) / (double)different(whole, whole->n);
}

/* Half of the witnesses are from the first round, whose beginnings are the longest. */
static void choose_witnesses(search *q, uint64_t at_once, const cdna_reuse_watch *watch) {
  tw_random r;
  tw_random_seed_stream(&r, watch->seed, 0);
  for (int i = 0; i < CDNA_WITNESSES; i++) {
    const uint64_t id = tw_random_below(&r, i % 2 ? (uint64_t)q->n_streams : at_once);
    cdna_witness *s = &watch->witness[i];
    *s = (cdna_witness){.group = id};
    q->stream[id].witness = s; /* a workgroup that is drawn twice is compared once: the first witness has no accesses */
  }
}

tw_status cdna_reuse_find(const cdna_machine *m, const cdna_rates *r, const cdna_dispatch *d, const cdna_effects *e,
                          const cdna_memory *memory, int together, int jobs, const cdna_reuse_watch *watch,
                          cdna_reuse *out, tw_error *error) {
  const uint64_t resident = (uint64_t)m->caches.xcds * (uint64_t)m->caches.cus * (uint64_t)together;
  const uint64_t groups = cdna_dispatch_groups(d), n = groups < ROUNDS * resident ? groups : ROUNDS * resident;
  const uint64_t at_once = groups < resident ? groups : resident;
  /* eight times its L2 for an XCD; two or four times as much changes rates by one point */
  const uint64_t of_xcd = (at_once + (uint64_t)m->caches.xcds - 1) / (uint64_t)m->caches.xcds;
  const uint32_t many = (uint32_t)(8 * (uint64_t)m->caches.l2_bytes / (uint64_t)r->l1_line / of_xcd) + 64;
  search q = {.machine = m, .rates = r, .dispatch = d, .effects = e, .shift = __builtin_ctz((unsigned)r->l1_line)};
  q.n_streams = (int)n;
  q.execute_matrix = watch && watch->execute_matrix;
  q.stream = tw_new((size_t)n, sizeof *q.stream);
  q.error = tw_new((size_t)n, sizeof *q.error);
  *out = (cdna_reuse){0};
  tw_status status = TW_OK;
  if (!q.stream || !q.error) {
    status = tw_no_memory(error, "the reads of workgroups");
  } else {
    for (uint64_t i = 0; i < n; i++) q.stream[i].most = q.stream[i].kept = i < at_once ? many : BEGINNING;
    /* follows one workgroup to its end, to know the fraction of the beginnings */
    stream *whole = &q.stream[at_once / 2];
    whole->most = whole->kept = UINT32_MAX;
    if (watch) choose_witnesses(&q, at_once, watch);
    const size_t threads = (size_t)(jobs ? jobs : tw_cores());
    tw_parallel_for(jobs, n < threads ? (size_t)n : threads, follow, &q);
    for (uint64_t i = 0; i < n && status == TW_OK; i++)
      if (q.error[i].status != TW_OK) {
        if (error) *error = q.error[i];
        status = q.error[i].status;
      }
    const double part = status == TW_OK ? beginning_of(whole) : 0;
    if (status == TW_OK && !find_rates(&q, memory, (int)at_once, many, part, out))
      status = tw_no_memory(error, "the caches");
  }
  for (uint64_t i = 0; q.stream && i < n; i++) free(q.stream[i].line);
  free(q.stream);
  free(q.error);
  return status;
}
