/* cu.c - see cu.h. */
#include "target/cdna/time/cu.h"

#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/strings.h"
#include "target/cdna/grid/lru.h"
#include "target/cdna/grid/sets.h"
#include "target/cdna/isa/effects.h"
#include "target/cdna/layout/lds.h"
#include "target/cdna/time/time.h"

enum {
  SPANS_MAX = 200000,
  SIMDS = 4,
  SLOTS = 8,
  COUNTED = 64,
  PENDING = 256,
  SCALAR_LINES = 256,
  BROUGHT_WAYS = 16,
  SCRATCH_LINES = 4 * CDNA_LANES
};
static const int64_t NEVER = INT64_MAX / 4;

const char *cdna_stall_name(cdna_stall s) {
  static const char *const name[] = {"issue",   "matrix unit", "matrix result", "register or branch", "vmcnt",
                                     "lgkmcnt", "barrier",     "LDS queue",     "memory queue",       "instructions"};
  return (unsigned)s < CDNA_WAITS ? name[s] : "";
}
const char *cdna_unit_name(cdna_unit u) {
  static const char *const name[] = {"matrix units", "vector units", "scalar unit", "LDS", "L1", "L2", "LLC", "memory"};
  return (unsigned)u < CDNA_UNITS ? name[u] : "";
}

/* Times at which a counter falls, in order: the last COUNTED of them. */
typedef struct counted {
  int64_t done[COUNTED], last;
  uint32_t n;
} counted;

typedef struct group group;
typedef struct wave {
  cdna_wave *wave; /* NULL: the slot is free */
  group *group;
  int64_t started, ready; /* ready: the earliest issue after the last instruction */
  int64_t own;            /* the earliest issue by registers and counters of the next instruction */
  cdna_stall why;         /* the input that decides `own` */
  const cdna_op *op;      /* the next instruction; NULL: not known yet */
  const cdna_effects *effects;
  int64_t arrived; /* cycle of arrival at a barrier; NEVER: not at one */
  uint64_t age;
  counted vm, lgkm;
  uint64_t code_from, code_to; /* lines of code in its buffer, or requested for it */
  /* `there`: the cycle from which a register can be read. `summed`: from which a matrix instruction can read it as C, or a
   * vector instruction can read it if it is scalar. */
  int64_t there[CDNA_REGISTER_CODES];
  int64_t summed[CDNA_REGISTER_CODES];
  uint8_t by_matrix[CDNA_REGISTER_CODES];
} wave;

struct group {
  cdna_group *registers;                 /* NULL: free */
  int waiting, alive, first_simd, index; /* index: in the list of this CU's workgroups */
  int64_t latest;                        /* end of its last access */
};

/* The SIMDs' turns at a unit that they share. */
typedef struct rotation {
  int last;         /* the SIMD that used it last */
  bool asks[SIMDS]; /* has been refused since */
} rotation;

typedef struct cu {
  const cdna_cu_setup *s;
  cdna_cu_result *out;
  tw_error *error;
  wave *wave; /* [SIMDS * SLOTS] */
  group group[SLOTS * SIMDS];
  int next_group, n_alive;
  uint64_t ages;
  int64_t at[SIMDS]; /* next slot */
  int64_t matrix_free[SIMDS], vector_free[SIMDS];
  int64_t lds_free, port_free[SIMDS / 2], vmem_free;
  rotation lds_turns, vmem_turns;
  double l1_out, l2_free, llc_free, memory_free;
  struct {
    int64_t at;
    int cycles;
  } pending[PENDING]; /* writes of LDS that arrive from memory */
  uint32_t pending_from, pending_to;
  int shift; /* an address to its line */
  cdna_sets l1;
  int64_t *there;   /* when each line of L1 arrives, in the order of its tags */
  int64_t *arrived; /* the last misses of L1, as many as it has lines: when each arrives */
  uint64_t misses;
  cdna_sets brought; /* lines that this CU recently requested from L2: its share of L2's */
  uint64_t scalar_line[SCALAR_LINES];
  double missed_l2[CDNA_ALLOCATIONS_MAX], missed_llc[CDNA_ALLOCATIONS_MAX]; /* fractions of misses carried over */
  double missed_scratch;
  cdna_lru code;       /* the instruction cache, by number of line */
  int64_t *code_there; /* for each line of the program: when it last arrives; NULL: the kernel fits the cache */
  int64_t end;
  bool failed;
} cu;

static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static int ceil_div(int a, int b) { return (a + b - 1) / b; }

static void span(cu *c, int simd, int slot, int kind, const char *name, int64_t from, int64_t to) {
  cdna_spans *s = c->s->spans;
  if (!s || to <= from || s->n >= SPANS_MAX) return;
  if (s->n == s->room) {
    const size_t room = s->room ? 2 * s->room : 4096;
    cdna_span *grown = tw_resize(s->at, room, sizeof *grown);
    if (!grown) return;
    s->at = grown;
    s->room = room;
  }
  s->at[s->n++] = (cdna_span){(uint8_t)simd, (uint8_t)slot, (uint8_t)kind, name, from, to};
}

/* ---- counters ---- */

static void count(counted *k, int64_t done) {
  k->last = max64(k->last, done);
  k->done[k->n++ % COUNTED] = k->last;
}
/* The time at which at most `left` of them are outstanding. */
static int64_t counted_down(const counted *k, int left) {
  if (k->n <= (uint32_t)left) return 0;
  return k->done[(k->n - 1 - (uint32_t)left) % COUNTED];
}

/* ---- memory ---- */

static int allocation_of(const cu *c, uint64_t address) {
  const cdna_memory *m = c->s->memory;
  for (size_t i = 0; i < m->n; i++)
    if (address - m->allocation[i].modelled < m->allocation[i].size) return (int)i;
  return -1;
}

/* Transfers a line through a shared resource, of which this CU has `rate` bytes per cycle on average. Unused share
 * can be used later, but at most that of the last `burst` cycles. Returns the time when the transfer ends. */
static double serve(double *is_free, double from, double bytes, double rate, double burst) {
  const double begin = *is_free > from - burst ? *is_free : from - burst;
  *is_free = begin + bytes / rate;
  return *is_free > from ? *is_free : from;
}

/* True if L2 has the line because this CU requested it earlier and has lost it from L1. */
static bool was_brought(cu *c, uint64_t address) {
  const uint64_t line = address >> c->shift;
  return cdna_sets_touch(&c->brought, line % c->brought.sets, line);
}

/* Where scratch of waves begins: no buffer has such an address. */
static const uint64_t SCRATCH = 1ull << 60;

/* The time when a line requested from L2 at `at` arrives, or when `written` bytes of it are stored. Misses are
 * distributed so that each buffer has its rates. L2 keeps written data until the line is evicted, so each byte is
 * forwarded once, for any number of stores to the line. */
static int64_t beyond_l1(cu *c, uint64_t address, int64_t at, int written) {
  const cdna_share *h = &c->s->share;
  const bool is_write = written > 0;
  const int whole = c->s->rates->l1_line, a = allocation_of(c, address);
  const int bytes = is_write ? ceil_div(written, c->s->rates->l2_write) * c->s->rates->l2_write : whole;
  const double l2_hits = a < 0 ? 1 : c->s->reuse->l2[a], llc_hits = a < 0 ? 1 : c->s->reuse->llc[a];
  const double burst = c->s->rates->burst;
  /* L1's data line by line; L2's at the CU's share of the bandwidth */
  double through = serve(&c->l1_out, (double)at, bytes, c->s->rates->l1_bandwidth, 0), latency = h->l2_cycles;
  const double l2 = serve(&c->l2_free, (double)at, bytes, h->l2, burst);
  if (l2 > through) through = l2;
  c->out->busy[CDNA_L2] += bytes / h->l2;
  c->out->bytes[CDNA_L2] += bytes;
  double none = 0, *owed_l2 = a < 0 ? &none : &c->missed_l2[a], *owed_llc = a < 0 ? &none : &c->missed_llc[a];
  if (address >= SCRATCH) { /* in this CU's share of L2, or in LLC */
    owed_l2 = &c->missed_scratch;
    if (!was_brought(c, address)) *owed_l2 += is_write ? (double)written / whole : 1;
  } else if (is_write)
    *owed_l2 += (double)written / whole;
  else if (!was_brought(c, address)) /* rates hold for lines that are requested once */
    *owed_l2 += 1 - l2_hits;
  if (*owed_l2 >= 1) {
    *owed_l2 -= 1;
    const double llc = serve(&c->llc_free, (double)at, whole, h->llc, burst);
    if (llc > through) through = llc;
    c->out->busy[CDNA_LLC] += whole / h->llc;
    c->out->bytes[CDNA_LLC] += whole;
    *owed_llc += 1 - llc_hits;
    if (!is_write) latency = h->llc_cycles; /* a store has ended when L2 has it */
    if (*owed_llc >= 1) {
      *owed_llc -= 1;
      const double memory = serve(&c->memory_free, (double)at, whole, h->memory, burst);
      if (memory > through) through = memory;
      c->out->busy[CDNA_MEMORY] += whole / h->memory;
      c->out->bytes[CDNA_MEMORY] += whole;
      if (!is_write) latency = h->memory_cycles;
    }
  }
  return (int64_t)(through + latency);
}

/* The time at which the line is in L1. It then is the newest of its set. A miss occupies a line of L1 from its request
 * on, so L1 has at most as many misses in flight as lines. */
static int64_t through_l1(cu *c, uint64_t address, int64_t at) {
  const uint64_t line = address >> c->shift;
  const size_t set = line % c->l1.sets;
  int64_t *there = c->there + set * (size_t)c->l1.ways;
  int newer = cdna_sets_newer(&c->l1, set, line);
  int64_t arrives;
  if (newer < c->l1.ways) {
    arrives = there[newer];
  } else {
    int64_t *oldest = &c->arrived[c->misses++ % cdna_sets_lines(&c->l1)];
    arrives = *oldest = beyond_l1(c, address, max64(at, *oldest), 0);
    newer--;
  }
  memmove(there + 1, there, (size_t)newer * sizeof *there);
  there[0] = arrives;
  return max64(arrives, at + (int64_t)c->s->share.l1_cycles);
}

/* The place of a line in a list, to which it is added if it is new. */
static int place_of_line(uint64_t at, uint64_t line_at[], int bytes[], int *n) {
  int i = *n - 1;
  while (i >= 0 && line_at[i] != at) i--;
  if (i >= 0) return i;
  line_at[*n] = at;
  bytes[*n] = 0;
  return (*n)++;
}

/* The different lines of an access, at most two per lane, and the bytes of each; bytes shared by two lanes count
 * twice. */
static int lines_of(const cu *c, const cdna_access *a, uint64_t lanes, uint64_t line_at[2 * CDNA_LANES],
                    int bytes[2 * CDNA_LANES]) {
  const uint64_t size = 1ull << c->shift;
  int n = 0;
  for (uint64_t left = lanes; left; left &= left - 1) {
    const int l = __builtin_ctzll(left);
    const uint64_t first = a->address[0][l] >> c->shift, last = (a->address[0][l] + a->bytes - 1) >> c->shift;
    for (uint64_t at = first; at <= last; at++) {
      const int i = place_of_line(at, line_at, bytes, &n);
      const uint64_t from = a->address[0][l] > at * size ? a->address[0][l] : at * size;
      const uint64_t end = a->address[0][l] + a->bytes;
      bytes[i] += (int)((end < (at + 1) * size ? end : (at + 1) * size) - from);
    }
  }
  for (int i = 0; i < n; i++) {
    line_at[i] <<= c->shift;
    if (bytes[i] > (int)size) bytes[i] = (int)size;
  }
  return n;
}

/* Dwords of a wave's 64 lanes are interleaved. */
static uint64_t scratch_of(const cu *c, const wave *w) {
  const uint64_t bytes = (uint64_t)w->wave->scratch_bytes * CDNA_LANES, slot = (uint64_t)(w - c->wave);
  return SCRATCH + slot * (((bytes >> c->shift) + 1) << c->shift);
}

/* The different lines of scratch that an access reaches, and the bytes of each. */
static int scratch_lines_of(const cu *c, const wave *w, const cdna_access *a, uint64_t line_at[SCRATCH_LINES],
                            int bytes[SCRATCH_LINES]) {
  const uint64_t base = scratch_of(c, w);
  int n = 0;
  for (int d = 0; d < ceil_div(a->bytes, 4); d++)
    for (uint64_t left = a->lanes[CDNA_IN_SCRATCH]; left; left &= left - 1) {
      const uint64_t l = (uint64_t)__builtin_ctzll(left), dword = a->address[0][l] / 4 + (uint64_t)d;
      const uint64_t at = (base + (dword * CDNA_LANES + l) * 4) >> c->shift << c->shift;
      const int i = place_of_line(at, line_at, bytes, &n);
      bytes[i] += a->bytes < 4 ? a->bytes : 4;
    }
  return n;
}

/* LDS stores the data that have arrived from memory until `at`. */
static void take_pending(cu *c, int64_t at) {
  while (c->pending_from != c->pending_to && c->pending[c->pending_from % PENDING].at <= at) {
    const int64_t from = c->pending[c->pending_from % PENDING].at;
    const int cycles = c->pending[c->pending_from++ % PENDING].cycles;
    span(c, 0, 0, CDNA_LDS, "from memory", max64(c->lds_free, from), max64(c->lds_free, from) + cycles);
    c->lds_free = max64(c->lds_free, from) + cycles;
    c->out->busy[CDNA_LDS] += cycles;
  }
}

static int64_t vmem(cu *c, wave *w, int simd, int64_t at) {
  const cdna_rates *r = c->s->rates;
  cdna_access a;
  if (!cdna_access_of(w->wave, w->op, &a)) return at; /* buffer_inv and similar instructions */
  const uint64_t lanes = a.lanes[CDNA_IN_GLOBAL], private = a.lanes[CDNA_IN_SCRATCH];
  uint64_t line_at[2 * CDNA_LANES + SCRATCH_LINES];
  int bytes[2 * CDNA_LANES + SCRATCH_LINES];
  const int of_memory = lines_of(c, &a, lanes, line_at, bytes);
  for (int i = 0; i < of_memory; i++) line_at[i] = cdna_memory_modelled(c->s->memory, line_at[i]);
  const int n = of_memory + scratch_lines_of(c, w, &a, line_at + of_memory, bytes + of_memory);
  const int active = __builtin_popcountll(lanes | private);
  const int data = active * a.bytes;
  int cycles = ceil_div(active ? active : 1, r->addresses);
  if (n > cycles) cycles = n;
  if (ceil_div(data, r->l1_bandwidth) > cycles) cycles = ceil_div(data, r->l1_bandwidth);
  const int64_t begin = max64(at, c->vmem_free);
  c->vmem_free = begin + cycles;
  c->out->busy[CDNA_L1] += cycles;
  c->out->bytes[CDNA_L1] += data;
  span(c, simd, 0, CDNA_L1,
       a.to_lds              ? "load to LDS"
       : a.reads && a.writes ? "atomic"
       : a.writes            ? "store"
                             : "load",
       begin, begin + cycles);
  int64_t done = begin + cycles + (int64_t)c->s->share.l1_cycles;
  for (int i = 0; i < n; i++) {
    const int64_t asked = begin + (int64_t)i * cycles / n;
    const int64_t there =
        a.writes ? beyond_l1(c, line_at[i], asked, a.reads ? 0 : bytes[i]) : through_l1(c, line_at[i], asked);
    done = max64(done, there);
  }
  if (a.to_lds && c->pending_to - c->pending_from < PENDING) {
    /* kept in order of arrival */
    uint32_t i = c->pending_to++;
    for (; i != c->pending_from && c->pending[(i - 1) % PENDING].at > done; i--)
      c->pending[i % PENDING] = c->pending[(i - 1) % PENDING];
    c->pending[i % PENDING].at = done;
    c->pending[i % PENDING].cycles = ceil_div(data, r->lds_write);
    done += ceil_div(data, r->lds_write);
  }
  return done;
}

static int64_t lds(cu *c, wave *w, int simd, int64_t at) {
  const cdna_rates *r = c->s->rates;
  cdna_access a;
  int cycles, moved;
  const bool has_lanes = cdna_access_of(w->wave, w->op, &a);
  if (has_lanes) {
    const cdna_lds_kind kind = a.reads && a.writes ? CDNA_LDS_ATOMIC : a.writes ? CDNA_LDS_WRITE : CDNA_LDS_READ;
    const cdna_lds_rule *rule = cdna_lds_rule_of(c->s->arch, kind == CDNA_LDS_ATOMIC ? CDNA_LDS_WRITE : kind, a.bytes);
    const uint64_t lanes = a.lanes[CDNA_IN_LDS];
    int turns = 0;
    for (int p = 0; rule && p < a.parts; p++) {
      uint32_t address[CDNA_LANES];
      cdna_lds_count counts;
      for (int l = 0; l < CDNA_LANES; l++) address[l] = (uint32_t)a.address[p][l];
      cdna_lds_count_access(rule, kind, a.bytes, address, lanes, &counts);
      turns += counts.turns;
      c->out->turns += counts.turns;
      c->out->phases += counts.phases;
    }
    const int active = __builtin_popcountll(lanes);
    moved = active * a.bytes * a.parts;
    cycles = turns > ceil_div(active, r->lds_addresses) ? turns : ceil_div(active, r->lds_addresses);
  } else { /* lanes are moved through the crossbar: each moves a dword, as a write and a read */
    moved = 4 * CDNA_LANES;
    cycles = CDNA_LANES / r->lds_addresses;
  }
  const int width = (has_lanes && a.writes ? r->lds_write : r->lds_read) / 2, port = ceil_div(moved, width);
  take_pending(c, max64(at, c->lds_free));
  const int64_t begin = max64(at, max64(c->lds_free, c->port_free[simd / 2]));
  c->lds_free = begin + cycles;
  c->port_free[simd / 2] = begin + (port > cycles ? port : cycles);
  c->out->busy[CDNA_LDS] += cycles;
  c->out->bytes[CDNA_LDS] += moved;
  span(c, simd, 0, CDNA_LDS, !has_lanes ? "permutation" : a.writes ? "LDS write" : "LDS read", begin, begin + cycles);
  return begin + (port > cycles ? port : cycles) + r->lds_latency;
}

static int64_t smem(cu *c, wave *w, int64_t at) {
  cdna_access a;
  if (!cdna_access_of(w->wave, w->op, &a)) return at + (int64_t)c->s->share.l1_cycles;
  const uint64_t first = a.address[0][0] >> 6, last = (a.address[0][0] + a.bytes - 1) >> 6; /* lines of 64 bytes */
  int64_t done = at + (int64_t)c->s->share.l1_cycles;
  for (uint64_t l = first; l <= last; l++) {
    const uint64_t line_at = cdna_memory_modelled(c->s->memory, l << 6);
    uint64_t *kept = &c->scalar_line[(line_at >> 6) % SCALAR_LINES];
    if (*kept == line_at + 1) continue;
    *kept = line_at + 1;
    const bool is_argument = (l << 6) - (c->s->arguments & ~63ull) < 4096;
    done = max64(done, is_argument ? at + (int64_t)c->s->share.arguments_cycles : beyond_l1(c, line_at, at, 0));
  }
  return done;
}

/* ---- code ---- */

/* From the kernel's entry to that of the next kernel of the object. */
static uint64_t code_bytes(const cdna_program *p) {
  uint64_t end = p->code + 4 * p->n;
  for (size_t i = 0; i < p->object->n_kernels; i++) {
    const uint64_t entry = p->object->kernel[i].entry;
    if (entry > p->kernel->entry && entry < end) end = entry;
  }
  return end - p->kernel->entry;
}

/* A kernel that fits the cache waits for code in the first round of its grid alone, which is not modelled. */
static bool open_code(cu *c) {
  const cdna_rates *r = c->s->rates;
  const cdna_program *p = cdna_dispatch_program(c->s->dispatch);
  if (code_bytes(p) <= (uint64_t)r->code_bytes) return true;
  c->code_there = tw_new(4 * p->n / (size_t)r->code_line + 1 + (size_t)r->code_lines, sizeof *c->code_there);
  return c->code_there && cdna_lru_open(&c->code, r->code_bytes, r->code_line);
}

/* The time at which the wave has its next instruction. When it leaves a line, it requests the next line that it does not
 * yet buffer. */
static int64_t code_there(cu *c, wave *w) {
  if (!c->code_there) return 0;
  const uint64_t dwords = (uint64_t)c->s->rates->code_line / 4, from = w->wave->at / dwords,
                 to = from + (uint64_t)c->s->rates->code_lines;
  const uint64_t last = (w->wave->at + (uint64_t)w->op->dwords - 1) / dwords;
  int64_t there = 0;
  for (uint64_t l = from; l < to; l++) {
    if ((l < w->code_from || l >= w->code_to) && !cdna_lru_touch(&c->code, l, c->s->rates->code_line))
      c->code_there[l] = w->ready + (int64_t)c->s->share.code_cycles;
    if (l <= last) there = max64(there, c->code_there[l]);
  }
  w->code_from = from;
  w->code_to = to;
  return there;
}

/* ---- work ---- */

static uint64_t mixed(uint64_t v) {
  v = (v ^ v >> 31) * UINT64_C(0x9E3779B97F4A7C15);
  v = (v ^ v >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
  return v ^ v >> 32;
}

/* Relative to its allocation, because addresses of code and arguments differ between runs. */
static uint64_t place_of(const cdna_wave *w, uint64_t address) {
  const cdna_memory *m = w->group->memory;
  for (size_t i = 0; i < m->n; i++) {
    const cdna_allocation *a = &m->allocation[i];
    if (address - a->address < a->size) return address - a->address + ((uint64_t)(uintptr_t)a->name << 20);
  }
  return address;
}

void cdna_work_add(cdna_work *work, const cdna_wave *w, const cdna_op *op) {
  cdna_access a;
  uint64_t sum = mixed(w->at + 1);
  work->instructions++;
  work->did[op->kind] += op->of_lanes ? op->amount * (uint64_t)__builtin_popcountll(cdna_exec(w)) : op->amount;
  const bool reaches = cdna_access_of(w, op, &a);
  for (int space = 0; reaches && space < CDNA_SPACES; space++)
    for (uint64_t left = a.lanes[space]; left; left &= left - 1) {
      const int l = __builtin_ctzll(left);
      for (int p = 0; p < (a.parts ? a.parts : 1); p++) {
        const uint64_t at = space == CDNA_IN_GLOBAL ? place_of(w, a.address[p][l]) : a.address[p][l];
        sum = mixed(sum ^ (at + ((uint64_t)l << 56) + ((uint64_t)space << 62)));
      }
    }
  work->sum += sum;
}

/* ---- workgroups ---- */

static void fetch(cu *c, wave *w);

/* The wave can continue: its SIMD considers it from its next slot on. */
static void wake(cu *c, const wave *w) {
  const int simd = (int)(w - c->wave) / SLOTS, slot = c->s->rates->slot;
  const int64_t at = max64(w->ready, w->own), first = at + ((simd - at) % slot + slot) % slot;
  if (first < c->at[simd]) c->at[simd] = first;
}

/* Starts the next workgroup; its waves are distributed to the SIMDs in turn. */
static bool start_group(cu *c, int64_t at) {
  const cdna_cu_setup *s = c->s;
  if (c->next_group >= s->n_groups) return true;
  const int first = c->next_group % s->together, waves = cdna_dispatch_waves(s->dispatch);
  int slot = -1;
  for (int i = 0; i < s->together && slot < 0; i++)
    if (!c->group[(first + i) % s->together].alive) slot = (first + i) % s->together;
  if (slot < 0) return true;
  group *g = &c->group[slot];
  if (!g->registers && !(g->registers = cdna_group_open(s->dispatch, c->error))) return false;
  g->index = c->next_group;
  cdna_group_start(s->dispatch, g->registers, s->group[c->next_group++]);
  g->alive = waves;
  g->waiting = 0;
  g->latest = at;
  c->n_alive += waves;
  for (int i = 0; i < waves; i++) {
    wave *w = NULL;
    for (int turn = 0; turn < SIMDS && !w; turn++)
      for (int k = 0; k < SLOTS && !w; k++) {
        wave *t = &c->wave[((slot * waves + i + turn) % SIMDS) * SLOTS + k];
        if (!t->wave) w = t;
      }
    if (!w) return false; /* occupancy never exceeds the slots */
    *w = (wave){.wave = &g->registers->wave[i], .group = g, .started = at, .ready = at, .arrived = NEVER};
    w->age = c->ages++;
    fetch(c, w);
    wake(c, w);
  }
  return true;
}

static void end_wave(cu *c, wave *w, int64_t at) {
  group *g = w->group;
  const int64_t end = max64(at, max64(w->vm.last, w->lgkm.last));
  c->out->wave_cycles += (double)(end - w->started);
  c->out->stall[CDNA_WAITS_VM] += (double)(end - at);
  for (int k = 0; k < CDNA_KINDS; k++) c->out->did[k] += (double)w->wave->did[k];
  g->latest = max64(g->latest, end);
  c->end = max64(c->end, end);
  w->wave = NULL;
  c->n_alive--;
  if (--g->alive == 0 && !start_group(c, g->latest + c->s->rates->wave_start)) c->failed = true;
}

/* Waiting waves continue if all have arrived. */
static void pass_barrier(cu *c, group *g, int64_t at) {
  if (!g->waiting || g->waiting < g->alive) return;
  for (int i = 0; i < SIMDS * SLOTS; i++) {
    wave *w = &c->wave[i];
    if (!w->wave || w->group != g || w->arrived == NEVER) continue;
    const int64_t go = at + c->s->rates->barrier;
    span(c, i / SLOTS, i % SLOTS, CDNA_UNITS + CDNA_WAITS_BARRIER, "barrier", w->arrived, go);
    c->out->stall[CDNA_WAITS_BARRIER] += (double)(go - w->arrived);
    w->arrived = NEVER;
    w->wave->state = CDNA_RUNNING;
    w->ready = go;
    fetch(c, w);
    wake(c, w);
  }
  g->waiting = 0;
}

/* ---- instructions ---- */

/* Finds the next instruction of a wave, and the time when its inputs are ready. */
static void fetch(cu *c, wave *w) {
  if (c->s->limit && w->wave->instructions > c->s->limit) {
    cdna_stop(w->wave, "the wave does not end in the timed run: " CDNA_WAITS_FOR_OTHERS);
    c->failed = true;
    return;
  }
  w->op = cdna_wave_next(w->wave);
  if (!w->op || w->op->run == cdna_stop_here) {
    if (w->op) cdna_wave_step(w->wave, w->op); /* says why */
    c->failed = true;
    return;
  }
  const cdna_effects *e = w->effects = &c->s->effects[w->wave->at];
  int64_t own = 0;
  w->why = CDNA_WAITS_ISSUE;
  for (int i = 0; i < e->n_reads + e->n_writes; i++) {
    const cdna_register_range *range = i < e->n_reads ? &e->read[i] : &e->write[i - e->n_reads];
    if (range->first >= CDNA_REGISTER_CODES) continue;
    /* a result that is overwritten without being read must be complete, too, unless it is an accumulating sum */
    const bool sum = e->mfma && (i >= e->n_reads || range->role == '2');
    const bool forwarded = range->first < CDNA_VGPRS && e->klass >= CDNA_CLASS_VALU && e->klass <= CDNA_CLASS_MATRIX;
    const int64_t *there = sum || forwarded ? w->summed : w->there;
    const int n = range->first + range->n > CDNA_REGISTER_CODES ? CDNA_REGISTER_CODES - range->first : range->n;
    for (int k = 0; k < n; k++)
      if (there[range->first + k] > own) {
        own = there[range->first + k];
        w->why = w->by_matrix[range->first + k] ? CDNA_WAITS_RESULT : CDNA_WAITS_REGISTER;
      }
  }
  if (e->wait_vm < CDNA_VM_MOST && counted_down(&w->vm, e->wait_vm) > own) {
    own = counted_down(&w->vm, e->wait_vm);
    w->why = CDNA_WAITS_VM;
  }
  if (e->wait_lgkm < CDNA_LGKM_MOST && counted_down(&w->lgkm, e->wait_lgkm) > own) {
    own = counted_down(&w->lgkm, e->wait_lgkm);
    w->why = CDNA_WAITS_LGKM;
  }
  const int64_t there = code_there(c, w);
  if (there > own) {
    own = there;
    w->why = CDNA_WAITS_CODE;
  }
  w->own = own;
}

/* Kinds of instruction; a SIMD issues one of each per slot. */
typedef enum port { VECTOR_PORT, SCALAR_PORT, LDS_PORT, VMEM_PORT, SMEM_PORT, NO_PORT } port;
static port port_of(const cdna_effects *e) {
  switch (e->klass) {
  case CDNA_CLASS_SALU:
  case CDNA_CLASS_BRANCH: return SCALAR_PORT;
  case CDNA_CLASS_VALU:
  case CDNA_CLASS_TRANS:
  case CDNA_CLASS_MATRIX: return VECTOR_PORT;
  case CDNA_CLASS_LDS: return LDS_PORT;
  case CDNA_CLASS_VMEM: return VMEM_PORT;
  case CDNA_CLASS_SMEM: return SMEM_PORT;
  default: return NO_PORT;
  }
}

/* The time at which the unit accepts the instruction, and the cause of the wait until then. */
static int64_t unit_free(const cu *c, const wave *w, int simd, cdna_stall *why) {
  const cdna_effects *e = w->effects;
  *why = CDNA_WAITS_ISSUE;
  switch (e->klass) {
  case CDNA_CLASS_MATRIX:
    if (e->mfma && c->matrix_free[simd] > c->vector_free[simd]) {
      *why = CDNA_WAITS_MATRIX;
      return c->matrix_free[simd];
    }
    return c->vector_free[simd];
  case CDNA_CLASS_VALU:
  case CDNA_CLASS_TRANS: return c->vector_free[simd];
  case CDNA_CLASS_LDS: *why = CDNA_WAITS_LDS; return c->lds_free - c->s->rates->lds_queue;
  case CDNA_CLASS_VMEM: *why = CDNA_WAITS_VMEM; return c->vmem_free - c->s->rates->vmem_queue;
  default: return 0;
  }
}

static void set_results(wave *w, int64_t sums, int64_t others, bool is_matrix) {
  const cdna_effects *e = w->effects;
  for (int i = 0; i < e->n_writes; i++)
    for (int k = 0; k < e->write[i].n && e->write[i].first + k < CDNA_REGISTER_CODES; k++) {
      w->there[e->write[i].first + k] = others;
      w->summed[e->write[i].first + k] = sums;
      w->by_matrix[e->write[i].first + k] = is_matrix;
    }
}

/* Scalar registers that a vector instruction writes: other vector instructions may read them at once. */
static void set_scalars(const cdna_rates *r, wave *w, int64_t at) {
  const cdna_effects *e = w->effects;
  for (int i = 0; i < e->n_writes; i++)
    for (int k = 0; k < e->write[i].n && e->write[i].first + k < CDNA_VGPRS; k++) {
      w->there[e->write[i].first + k] = at + r->valu_to_scalar;
      w->summed[e->write[i].first + k] = at + r->valu_latency;
    }
}

static void issue(cu *c, wave *w, int simd, int64_t at) {
  const cdna_rates *r = c->s->rates;
  const cdna_effects *e = w->effects;
  const cdna_op *op = w->op;
  const int slot = (int)(w - c->wave) % SLOTS;
  bool execute = true;
  int64_t next = at + r->slot;
  c->out->instructions++;
  if (c->s->look) cdna_work_add(&c->out->work[w->group->index], w->wave, op);
  switch (e->klass) {
  case CDNA_CLASS_MATRIX:
    c->vector_free[simd] = at + r->slot;
    c->out->busy[CDNA_VECTOR] += r->slot / 4.0;
    if (e->mfma) {
      const int64_t busy = 4ll * e->passes;
      c->matrix_free[simd] = at + busy;
      c->out->busy[CDNA_MATRIX] += (double)busy / 4;
      c->out->matrix_flops += 2.0 * (double)cdna_mfma_macs(e->mfma);
      set_results(w, at + busy, at + busy + 4ll * r->matrix_to_vector, true);
      span(c, simd, slot, CDNA_MATRIX, "matrix", at, at + busy);
      execute = c->s->execute_matrix;
    } else {
      set_results(w, at + r->valu_to_matrix, at + r->valu_latency, false);
    }
    break;
  case CDNA_CLASS_VALU:
  case CDNA_CLASS_TRANS: {
    const int busy = e->klass == CDNA_CLASS_TRANS ? r->transcendental : r->slot * e->slots;
    c->vector_free[simd] = at + busy;
    c->out->busy[CDNA_VECTOR] += busy / 4.0;
    c->out->vector_alone += busy / 4.0;
    set_results(w, at + busy - r->slot + r->valu_to_matrix, at + busy - r->slot + r->valu_latency, false);
    set_scalars(r, w, at);
    span(c, simd, slot, CDNA_VECTOR, e->klass == CDNA_CLASS_TRANS ? "transcendental" : "vector", at, at + busy);
    break;
  }
  case CDNA_CLASS_LDS: {
    const int64_t done = lds(c, w, simd, at);
    count(&w->lgkm, done);
    set_results(w, done, done, false);
    break;
  }
  case CDNA_CLASS_VMEM: {
    const int64_t done = vmem(c, w, simd, at);
    set_results(w, done, done, false); /* a kernel that does not wait for its data gains nothing */
    if (e->counters & CDNA_COUNTS_VM) count(&w->vm, done);
    if (e->counters & CDNA_COUNTS_LGKM) count(&w->lgkm, done);
    break;
  }
  case CDNA_CLASS_SMEM:
    count(&w->lgkm, smem(c, w, at));
    if (c->s->modelled_clock) w->wave->clock = (uint64_t)at + 1;
    break;
  case CDNA_CLASS_SALU: c->out->busy[CDNA_SCALAR_UNIT] += r->slot / 4.0; break;
  default:
    if (e->wait_states > 1) next = at + (int64_t)r->slot * e->wait_states;
    if (!strcmp(op->instruction->name, "s_sleep")) next = at + 64 * (op->imm & 127);
    break;
  }
  if (execute) {
    cdna_wave_step(w->wave, op);
  } else {
    cdna_note_work(w->wave, op);
    w->wave->pc = w->wave->at + op->dwords;
    w->wave->instructions++;
  }
  if (e->klass == CDNA_CLASS_BRANCH && w->wave->pc != w->wave->at + op->dwords) next = at + r->branch;
  w->ready = next;
  switch (w->wave->state) {
  case CDNA_YIELDED: /* not here: this decides which waves continue */
  case CDNA_RUNNING: fetch(c, w); break;
  case CDNA_STOPPED: c->failed = true; break;
  case CDNA_AT_BARRIER:
    w->arrived = at;
    w->op = NULL;
    w->group->waiting++;
    pass_barrier(c, w->group, at);
    break;
  case CDNA_ENDED: {
    group *g = w->group;
    end_wave(c, w, at);
    if (g->alive) pass_barrier(c, g, at);
    break;
  }
  }
}

/* Records the causes of the wave's wait. */
static void note(cu *c, wave *w, int simd, int64_t at, cdna_stall unit) {
  const int slot = (int)(w - c->wave) % SLOTS;
  const int64_t own = max64(w->own, w->ready);
  if (own > w->ready) {
    c->out->stall[w->why] += (double)(own - w->ready);
    span(c, simd, slot, CDNA_UNITS + (int)w->why, cdna_stall_name(w->why), w->ready, own);
  }
  if (at > own) c->out->stall[unit] += (double)(at - own);
}

static rotation *turns_at(cu *c, port p) {
  return p == LDS_PORT ? &c->lds_turns : p == VMEM_PORT ? &c->vmem_turns : NULL;
}

/* SIMDs use a shared unit in turn: a SIMD that was refused comes before SIMDs that have used it since. */
static bool is_its_turn(const rotation *t, int simd) {
  for (int s = (t->last + 1) % SIMDS; s != simd; s = (s + 1) % SIMDS)
    if (t->asks[s]) return false;
  return true;
}

/* One slot of a SIMD; returns the time of the next slot to simulate. */
static int64_t serve_simd(cu *c, int simd, int64_t at) {
  wave *const waves = &c->wave[simd * SLOTS];
  bool taken[NO_PORT] = {false};
  uint32_t asked = 0;
  int64_t next = NEVER;
  for (;;) {
    wave *best = NULL;
    for (int i = 0; i < SLOTS; i++) {
      wave *w = &waves[i];
      if (!w->wave || !w->op || asked >> i & 1) continue;
      const int64_t own = max64(w->own, w->ready);
      if (own > at) {
        if (own < next) next = own;
        continue;
      }
      if (!best || w->wave->priority > best->wave->priority ||
          (w->wave->priority == best->wave->priority && w->age < best->age))
        best = w;
    }
    if (!best) break;
    asked |= 1u << (best - waves);
    cdna_stall why;
    const port p = port_of(best->effects);
    rotation *t = turns_at(c, p);
    const int64_t is_free = unit_free(c, best, simd, &why);
    if (is_free > at || (p != NO_PORT && taken[p]) || (t && !is_its_turn(t, simd))) {
      const int64_t again = is_free > at ? is_free : at + 1;
      if (again < next) next = again;
      if (t && !taken[p]) t->asks[simd] = true;
      continue;
    }
    if (p != NO_PORT) taken[p] = true;
    if (t) {
      t->last = simd;
      t->asks[simd] = false;
    }
    note(c, best, simd, at, why);
    best->age = c->ages++; /* the wave that has just issued is considered last */
    issue(c, best, simd, at);
    if (c->failed) return NEVER;
    if (best->wave && best->op && max64(best->own, best->ready) < next) next = max64(best->own, best->ready);
  }
  if (next == NEVER) return NEVER;
  const int64_t slot = c->s->rates->slot, slots = next > at ? (next - at + slot - 1) / slot : 1;
  return at + slots * slot;
}

static bool open_cu(cu *c) {
  const cdna_rates *r = c->s->rates;
  c->shift = __builtin_ctz((unsigned)r->l1_line);
  c->l1 = (cdna_sets){.sets = (size_t)(r->l1_bytes / r->l1_line / r->l1_ways), .ways = r->l1_ways};
  c->l1.tag = tw_new(cdna_sets_lines(&c->l1), sizeof *c->l1.tag);
  c->there = tw_new(cdna_sets_lines(&c->l1), sizeof *c->there);
  c->arrived = tw_new(cdna_sets_lines(&c->l1), sizeof *c->arrived);
  c->wave = tw_new(SIMDS * SLOTS, sizeof *c->wave);
  const cdna_cache_machine *m = &c->s->machine->caches;
  c->brought = (cdna_sets){.sets = (size_t)(m->l2_bytes / m->cus / r->l1_line / BROUGHT_WAYS), .ways = BROUGHT_WAYS};
  c->brought.tag = tw_new(cdna_sets_lines(&c->brought), sizeof *c->brought.tag);
  for (int i = 0; i < SIMDS; i++) c->at[i] = i;
  return c->l1.tag && c->there && c->arrived && c->wave && c->brought.tag && open_code(c);
}

enum { TURNS_BETWEEN_LOOKS = 1 << 12 };

tw_status cdna_cu_run(const cdna_cu_setup *s, cdna_cu_result *out, tw_error *error) {
  cu *c = tw_new(1, sizeof *c);
  tw_error inside = {0};
  *out = (cdna_cu_result){0};
  if (c) *c = (cu){.s = s, .out = out, .error = &inside};
  bool ok = c && open_cu(c);
  for (int i = 0; i < s->together && ok; i++) ok = start_group(c, 0);
  bool stopped = false;
  for (uint32_t turn = 1; ok && c->n_alive && !c->failed && !stopped; turn++) {
    int simd = 0;
    for (int i = 1; i < SIMDS; i++)
      if (c->at[i] < c->at[simd]) simd = i;
    const int64_t at = c->at[simd];
    if (at >= NEVER) break; /* all waves wait for each other */
    c->at[simd] = NEVER;
    const int64_t next = serve_simd(c, simd, at);
    if (next < c->at[simd]) c->at[simd] = next; /* its own instruction may have woken its waves */
    stopped = turn % TURNS_BETWEEN_LOOKS == 0 && tw_is_stop_asked();
  }
  tw_status status = TW_OK;
  if (!c || !ok)
    status = inside.status != TW_OK ? TW_FAILED : tw_no_memory(error, "a compute unit");
  else if (c->failed)
    status = TW_FAILED;
  else if (stopped)
    status = tw_fail(error, TW_INTERRUPTED, "interrupted");
  else if (c->n_alive)
    status = tw_fail(error, TW_FAILED, "waves wait at a barrier that other waves never reach");
  if (status == TW_FAILED && inside.status != TW_OK && error) *error = inside;
  if (c) {
    take_pending(c, NEVER);
    out->cycles = c->end;
    for (int i = 0; i < SLOTS * SIMDS; i++)
      if (c->group[i].registers) cdna_group_close(c->group[i].registers);
    cdna_lru_close(&c->code);
    free(c->code_there);
    free(c->arrived);
    free(c->there);
    free(c->l1.tag);
    free(c->brought.tag);
    free(c->wave);
  }
  free(c);
  return status;
}
