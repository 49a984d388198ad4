/* run.c - a launch: initial registers, waves in turn, workgroups on threads. See emulator.h.
 *
 * Initial state: LLVM's "User Guide for AMDGPU Backend", "Initial Kernel Execution State". */
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/strings.h"
#include "target/cdna/emulator/observe.h"

/* Limit of instructions per wave, far above any kernel's. With an observer, each takes about five times as long. */
static const uint64_t LIMIT = 1ull << 28, WATCHED_LIMIT = 1ull << 24;
enum { PRINTS = 4 << 20 }; /* bytes that a launch can print */
enum { BLOCK_MAX = 1024, LDS_CDNA3 = 65536, LDS_CDNA4 = 163840, SCRATCH_MAX = 1 << 20 };

/* ---- stopping ---- */

void cdna_stop(cdna_wave *w, const char *format, ...) {
  if (w->state == CDNA_STOPPED) return;
  w->state = CDNA_STOPPED;
  char text[600], place[300];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  const cdna_program *p = w->program;
  const uint64_t address = p->code + 4 * w->at;
  cdna_object_place(p->object, address, place, sizeof place);
  const cdna_instruction *i = w->at < p->n ? p->op[w->at].instruction : NULL;
  const cdna_group *g = w->group;
  tw_fail(g->error, TW_FAILED, "%s at 0x%" PRIx64 " (%s), workgroup %u,%u,%u wave %d: %s", i ? i->name : "the code",
          address, place, g->position[0], g->position[1], g->position[2], w->id, text);
}

void cdna_stop_here(cdna_wave *w, const cdna_op *op) {
  if (op->instruction)
    cdna_stop(w, "this instruction %s", op->why);
  else
    cdna_stop(w, "0x%08" PRIx32 " is %s", w->program->word[w->at],
              op->why ? op->why : "not where an instruction begins");
}

/* ---- one workgroup ---- */

typedef struct cdna_dispatch {
  const cdna_launch *launch;
  cdna_program own;
  const cdna_program *program; /* own */
  cdna_memory *memory;
  size_t caller_n; /* the caller's number of allocations and next address, before ours are added */
  uint64_t caller_next, caller_modelled;
  uint64_t arguments, dispatch; /* addresses */
  uint8_t *argument_bytes, *image, packet[64];
  uint8_t *prints; /* printf's buffer; NULL: nothing is printed */
  size_t argument_size;
  uint64_t n; /* workgroups */
  uint32_t lds;
  int waves; /* of a workgroup */
  uint64_t limit;
  int jobs;
  atomic_uint_fast64_t next, failed;       /* next workgroup to start; the first one that failed */
  atomic_uint_fast64_t instructions, most; /* for all waves; for one */
  atomic_uint_fast64_t did[CDNA_KINDS];
  atomic_bool waited;
  tw_error error;
  atomic_flag lock;
} grid;

enum {
  PROPERTY_BUFFER = 1,
  PROPERTY_DISPATCH = 2,
  PROPERTY_QUEUE = 4,
  PROPERTY_KERNARG = 8,
  PROPERTY_ID = 16,
  PROPERTY_SCRATCH = 32,
  PROPERTY_SIZE = 64
};

/* Sets user SGPRs in the order of the properties, then the SGPRs that the hardware adds. */
static void set_scalars(const grid *g, const cdna_group *group, cdna_wave *w) {
  const cdna_kernel *k = g->program->kernel;
  int s = 0;
  if (k->properties & PROPERTY_BUFFER) s += 4;
  if (k->properties & PROPERTY_DISPATCH) cdna_set_scalar64(w, s, g->dispatch), s += 2;
  if (k->properties & PROPERTY_QUEUE) s += 2;
  if (k->properties & PROPERTY_KERNARG) cdna_set_scalar64(w, s, g->arguments), s += 2;
  if (k->properties & PROPERTY_ID) s += 2;
  if (k->properties & PROPERTY_SCRATCH) s += 2;
  if (k->properties & PROPERTY_SIZE) w->s[s++] = k->scratch;
  const int preloaded = k->preload & 127, first = k->preload >> 7;
  for (int n = 0; n < preloaded && s < 16; n++, s++) {
    const size_t at = 4u * (size_t)(first + n);
    if (at + 4 <= g->argument_size) memcpy(&w->s[s], g->argument_bytes + at, 4);
  }
  s = cdna_kernel_sgprs(k);
  for (int axis = 0; axis < 3; axis++)
    if (k->rsrc2 >> (7 + axis) & 1) w->s[s++] = group->position[axis];
  if (k->rsrc2 >> 10 & 1) s++;
}

/* Initial contents of vector registers, LDS and scratch: NaN, -1. On the machine they are leftovers of other
 * kernels. */
enum { LEFT_OVER = 0xFF };

static void start_wave(const grid *g, cdna_group *group, cdna_wave *w, int id) {
  const cdna_kernel *k = g->program->kernel;
  const uint32_t *block = g->launch->block;
  uint32_t(*v)[CDNA_LANES] = w->v;
  uint8_t *scratch = w->scratch;
  memset(w->s, 0, sizeof w->s);
  memset(v, LEFT_OVER, (size_t)g->program->rows[0] * sizeof *v);
  memset(v + CDNA_ACCUMULATION, LEFT_OVER, (size_t)g->program->rows[1] * sizeof *v);
  if (scratch) memset(scratch, LEFT_OVER, (size_t)w->scratch_bytes * CDNA_LANES);
  w->scc = false;
  w->mode = (k->rsrc1 >> 12 & 0xFF) | (k->rsrc1 >> 21 & 1) << 8 | (k->rsrc1 >> 23 & 1) << 9 |
            (k->rsrc1 >> 26 & 1) << 23; /* FP16_OVFL */
  w->index_mode = 0;
  w->state = CDNA_RUNNING;
  w->instructions = w->ahead = w->more = 0;
  memset(w->did, 0, sizeof w->did);
  w->clock = 0;
  w->priority = 0;
  w->id = id;
  w->group = group;
  w->last = NULL;
  w->pc = (size_t)(k->entry - g->program->code) / 4;
  if (k->preload & 127) w->pc += 64; /* hardware that preloads arguments skips the 256 bytes that load them */
  const uint32_t threads = block[0] * block[1] * block[2], first = (uint32_t)id * CDNA_LANES;
  uint64_t exec = 0;
  for (uint32_t l = 0; l < CDNA_LANES; l++) {
    const uint32_t t = first + l;
    if (t >= threads) break;
    exec |= 1ull << l;
    v[0][l] = t % block[0] | (t / block[0] % block[1]) << 10 | (t / block[0] / block[1]) << 20;
  }
  set_scalars(g, group, w);
  cdna_set_scalar64(w, CDNA_EXEC, exec);
  w->kit->expand(w->mask, exec);
  w->row_exec = exec;
}

/* The op that the wave executes next, with pc after it; NULL: the wave is stopped. */
static inline const cdna_op *fetch(cdna_wave *w, const cdna_op *ops, size_t n) {
  const size_t at = w->pc;
  w->at = at;
  if (at >= n) {
    cdna_stop(w, "the wave runs past the end of the code");
    return NULL;
  }
  const cdna_op *op = &ops[at];
  if (op->run) return op;
  cdna_stop(w, "the wave jumps into the middle of an instruction");
  return NULL;
}

/* Runs until the wave waits, ends, stops, or has executed `most` instructions; then it is still CDNA_RUNNING. `level`:
 * also until it meets an instruction, after the first, that other waves may notice. */
static inline __attribute__((always_inline)) void run_until(const grid *g, cdna_wave *w, uint64_t most, bool level,
                                                            const cdna_observer *seen) {
  const cdna_op *ops = g->program->op;
  const size_t n = g->program->n;
  const uint64_t limit = g->limit, began = w->instructions;
  const uint64_t turn = limit - began > most ? began + most : limit;
  while (w->state == CDNA_RUNNING && w->instructions < turn) {
    if (level && w->pc < n && !ops[w->pc].is_own && w->instructions != began) break;
    const cdna_op *op = fetch(w, ops, n);
    if (!op) break;
    w->pc = w->at + op->dwords;
    w->instructions++;
    cdna_note_work(w, op);
    w->room = turn - w->instructions;
    w->more = seen ? 0 : w->room;
    if (seen) seen->before(seen->context, w, op);
    if (w->state == CDNA_STOPPED) break;
    op->run(w, op);
    if (seen && seen->after && w->state != CDNA_STOPPED) seen->after(seen->context, w, op);
  }
  w->more = 0;
  if (level && w->instructions != began) w->ahead = w->instructions - began - 1;
  if (w->state == CDNA_RUNNING && w->instructions >= limit)
    cdna_stop(w, "the wave has executed %" PRIu64 " instructions and did not end; it may be in an infinite loop%s",
              limit, limit == WATCHED_LIMIT ? " (with --checks none the limit is 2^28)" : "");
}
/* Observed or not: a loop for each. */
static void run_wave(const grid *g, cdna_wave *w, uint64_t most, bool level, const cdna_observer *seen) {
  if (seen)
    run_until(g, w, most, level, seen);
  else
    run_until(g, w, most, level, NULL);
}

void cdna_group_start(const cdna_dispatch *g, cdna_group *group, uint64_t id) {
  const uint32_t *size = g->launch->grid;
  group->id = id;
  group->position[0] = (uint32_t)(id % size[0]);
  group->position[1] = (uint32_t)(id / size[0] % size[1]);
  group->position[2] = (uint32_t)(id / size[0] / size[1]);
  if (group->lds_bytes) memset(group->lds, LEFT_OVER, group->lds_bytes);
  for (int i = 0; i < group->n_waves; i++) start_wave(g, group, &group->wave[i], i);
}

/* ---- waiting for other workgroups ---- */

/* A pass lets each wave run until it yields. Waves that poll memory return to the same place with the same
 * registers; from then on only other workgroups can change them. After each WATCH passes, WINDOW passes are checked
 * for this; lanes are compared only if scalars are equal. Polls that count, or read a clock, are recognized by their
 * duration. */
enum { WATCH = 1024, WINDOW = 16, LONG = 1 << 18 };
/* Limit of waiting workgroups on one thread. A machine has about 300 CUs for 8 or more waves on each of 4 SIMDs. */
enum { WAVES_RESIDENT = 4096 };
typedef enum outcome { ENDED, STOPPED, WAITS } outcome;

static uint64_t mix(uint64_t h, const void *data, size_t bytes) {
  for (size_t i = 0; i + 8 <= bytes; i += 8) {
    uint64_t v;
    memcpy(&v, (const char *)data + i, 8);
    h = (h ^ v) * 0x9E3779B97F4A7C15ull;
    h ^= h >> 29;
  }
  return h;
}
static uint64_t scalars_of(const cdna_group *group) {
  uint64_t h = 0;
  for (int i = 0; i < group->n_waves; i++) {
    const cdna_wave *w = &group->wave[i];
    const uint64_t place[] = {w->pc, (uint64_t)w->state, (uint64_t)w->scc << 32 | w->mode};
    h = mix(mix(h, place, sizeof place), w->s, sizeof w->s);
  }
  return h;
}
static uint64_t lanes_of(const grid *g, const cdna_group *group) {
  uint64_t h = 0;
  for (int i = 0; i < group->n_waves; i++) {
    const cdna_wave *w = &group->wave[i];
    if (w->state == CDNA_ENDED) continue;
    h = mix(h, w->v, (size_t)g->program->rows[0] * sizeof *w->v);
    h = mix(h, w->v + CDNA_ACCUMULATION, (size_t)g->program->rows[1] * sizeof *w->v);
  }
  return mix(h, group->lds, group->lds_bytes & ~7u);
}

/* Instructions per turn. Waves that share LDS advance together, as on the machine, where all issue at about the same
 * rate: some kernels assume that a wave has read LDS long before another one overwrites it. So each turn is one
 * instruction. What a wave does alone it may do before its turn: it is then `ahead`, and has fewer turns. Other waves
 * meet only in memory. */
enum { TURN = 1 << 14 };
static bool is_level(const cdna_group *group) { return group->lds_bytes && group->n_waves > 1; }

/* Turns in which all running waves are ahead are skipped. Returns their number. */
static uint64_t skip_turns(cdna_group *group) {
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < group->n_waves && least; i++)
    if (group->wave[i].state == CDNA_RUNNING && group->wave[i].ahead < least) least = group->wave[i].ahead;
  if (least == UINT64_MAX) return 0;
  for (int i = 0; i < group->n_waves && least; i++)
    if (group->wave[i].state == CDNA_RUNNING) group->wave[i].ahead -= least;
  return least;
}

/* A wave has stopped. The cause may be another wave, which has not yet written data that this one should have waited
 * for. */
static void look_on(const grid *g, cdna_group *group, const cdna_observer *seen) {
  const tw_error first = *group->error;
  for (int i = 0; i < group->n_waves; i++) {
    cdna_wave *w = &group->wave[i];
    const uint64_t end = w->instructions + TURN;
    while ((w->state == CDNA_RUNNING || w->state == CDNA_YIELDED) && w->instructions < end) {
      w->state = CDNA_RUNNING;
      run_wave(g, w, end - w->instructions, false, seen);
    }
  }
  *group->error = first;
}

/* Runs waves in turn, from barrier to barrier. Turns in which no wave waited form one pass, of up to TURN
 * instructions. */
static outcome run_waves(grid *g, cdna_group *group, const cdna_observer *seen) {
  const bool level = is_level(group);
  uint64_t scalars = 0, lanes = 0, executed = 0, unseen = TURN; /* instructions since the last look at the clock */
  group->same = false;
  for (uint32_t pass = 1;;) {
    int waiting = 0, ended = 0;
    bool yielded = false;
    const uint64_t turn = level ? 1 + skip_turns(group) : TURN;
    if ((unseen += turn) >= TURN) {
      unseen = 0;
      if (tw_is_stop_asked()) {
        cdna_stop(group->wave, "interrupted");
        return STOPPED;
      }
    }
    for (int i = 0; i < group->n_waves; i++) {
      cdna_wave *w = &group->wave[i];
      if (w->state == CDNA_YIELDED) w->state = CDNA_RUNNING;
      if (w->ahead)
        w->ahead--;
      else
        run_wave(g, w, TURN, level, seen);
      if (w->state == CDNA_STOPPED) {
        if (seen && group->lds_bytes) look_on(g, group, seen);
        return STOPPED;
      }
      yielded |= w->state == CDNA_YIELDED;
      waiting += w->state == CDNA_AT_BARRIER;
      ended += w->state == CDNA_ENDED;
    }
    if (ended == group->n_waves) return ENDED;
    if (waiting + ended != group->n_waves) {
      executed += turn;
      if (!yielded && executed < TURN) continue;
      executed = 0;
      if (pass % WATCH == 0) {
        scalars = scalars_of(group);
        lanes = 0;
      } else if (pass > WATCH && pass % WATCH <= WINDOW && scalars_of(group) == scalars) {
        const uint64_t now = lanes_of(g, group);
        group->same = now == lanes;
        if (group->same) return WAITS;
        lanes = now;
      }
      if (pass++ > LONG) return WAITS;
      continue;
    }
    /* waves that have ended no longer count at a barrier */
    if (seen && seen->barrier) seen->barrier(seen->context, group);
    for (int i = 0; i < group->n_waves; i++)
      if (group->wave[i].state == CDNA_AT_BARRIER) group->wave[i].state = CDNA_RUNNING;
    pass++;
  }
}

static const cdna_observer *observer_of(const grid *g) { return g->launch->observer; }

static void fail(grid *g, uint64_t id, const tw_error *error) {
  while (atomic_flag_test_and_set(&g->lock)) {}
  if (id < g->failed) {
    g->failed = id;
    g->error = *error;
  }
  atomic_flag_clear(&g->lock);
}

static void free_group(cdna_group *group) {
  for (int i = 0; group->wave && i < group->n_waves; i++) {
    free(group->wave[i].v);
    free(group->wave[i].scratch);
  }
  free(group->wave);
  free(group->lds);
  free(group->kept);
}

static bool make_group(const grid *g, cdna_group *group, tw_error *error) {
  *group = (cdna_group){.program = g->program,
                        .memory = g->memory,
                        .lds_bytes = g->lds,
                        .n_waves = g->waves,
                        .unbounded = g->launch->unbounded,
                        .error = error};
  group->lds = aligned_alloc(64, (g->lds + 127u) & ~63u);
  group->wave = aligned_alloc(64, (size_t)g->waves * ((sizeof *group->wave + 63) & ~(size_t)63));
  if (!group->lds || !group->wave) return false;
  memset(group->wave, 0, (size_t)g->waves * sizeof *group->wave);
  for (int i = 0; i < g->waves; i++) {
    cdna_wave *w = &group->wave[i];
    w->program = g->program;
    w->kit = g->program->kit;
    w->v = aligned_alloc(64, (CDNA_ROWS + CDNA_ROWS_BEYOND) * sizeof *w->v);
    w->scratch_bytes = g->program->kernel->scratch;
    if (g->program->kernel->dynamic_stack) w->scratch_bytes += 16384;
    w->scratch = w->scratch_bytes ? malloc((size_t)w->scratch_bytes * CDNA_LANES) : NULL;
    if (!w->v || (w->scratch_bytes && !w->scratch)) return false;
    memset(w->v, 0, (CDNA_ROWS + CDNA_ROWS_BEYOND) * sizeof *w->v);
  }
  return true;
}

/* ---- one thread ---- */

/* The workgroups that a thread has begun: one after another, or several at once if some wait for others. */
typedef struct resident {
  cdna_group **group;
  size_t n, most;
  cdna_group *spare;
  tw_error error; /* for any of their waves */
} resident;

/* It has ended or was stopped, with the thread's error, or (WAITS) its result is no longer needed. */
static void end_group(grid *g, resident *r, size_t at, outcome o) {
  cdna_group *group = r->group[at];
  const cdna_observer *seen = observer_of(g);
  if (seen && seen->end) seen->end(seen->context, group);
  uint64_t sum = 0, most = 0, did[CDNA_KINDS] = {0};
  for (int i = 0; i < group->n_waves; i++) {
    const uint64_t n = group->wave[i].instructions;
    sum += n;
    most = n > most ? n : most;
    for (int k = 0; k < CDNA_KINDS; k++) did[k] += group->wave[i].did[k];
  }
  double work = 0;
  for (int k = 0; k < CDNA_KINDS && o == ENDED; k++) {
    atomic_fetch_add(&g->did[k], did[k]);
    if (g->launch->work) work += g->launch->unit[k] * (double)did[k];
  }
  if (o == ENDED && g->launch->work) g->launch->work[group->id] = (float)work;
  if (o == ENDED) atomic_fetch_add(&g->instructions, sum);
  for (uint64_t was = g->most; was < most && !atomic_compare_exchange_weak(&g->most, &was, most);) {}
  if (o == STOPPED) fail(g, group->id, &r->error);
  r->group[at] = r->group[--r->n];
  if (r->spare) cdna_group_close(r->spare);
  r->spare = group;
}

/* Begins the next workgroup of the launch. False: it did not begin. */
static bool admit(grid *g, resident *r, uint64_t id) {
  cdna_group *group = r->spare ? r->spare : cdna_group_open(g, &r->error);
  r->spare = NULL;
  if (!group) {
    tw_fail(&r->error, TW_NO_MEMORY, "out of memory for a workgroup's registers");
    fail(g, 0, &r->error);
    return false;
  }
  r->group[r->n++] = group;
  cdna_group_start(g, group, id);
  group->in_turns = true;
  group->same = false;
  const cdna_observer *seen = observer_of(g);
  if (!seen || !seen->begin || seen->begin(seen->context, group)) return true;
  end_group(g, r, r->n - 1, STOPPED);
  return false;
}

/* Lets a workgroup continue. True: it waits, in the same state as at its last turn. */
static bool go_on(grid *g, resident *r, size_t at) {
  cdna_group *group = r->group[at];
  const bool same = group->same;
  const uint64_t before = same ? scalars_of(group) : 0;
  const outcome o = run_waves(g, group, observer_of(g));
  if (o == WAITS && group->same) g->waited = true; /* without this flag, waves may just be long */
  if (o == WAITS) return same && group->same && scalars_of(group) == before;
  end_group(g, r, at, o);
  return false;
}

/* No other workgroup is left that could end the wait. */
static void give_up(grid *g, resident *r) {
  size_t first = 0;
  for (size_t k = 1; k < r->n; k++)
    if (r->group[k]->id < r->group[first]->id) first = k;
  cdna_wave *w = r->group[first]->wave, *last = w + r->group[first]->n_waves - 1;
  while ((w->state == CDNA_ENDED || w->state == CDNA_AT_BARRIER) && w < last) w++;
  cdna_stop(w, "the wave repeats a loop, and no other workgroup is left to end it: an infinite loop");
  end_group(g, r, first, STOPPED);
}

static uint64_t stride_of(const cdna_launch *l) { return l->stride ? l->stride : 1; }

/* The workgroup of a turn. `turn` counts from `first` on. */
static uint64_t group_of_turn(const cdna_launch *l, uint64_t groups, uint64_t turn) {
  return l->spread ? turn * groups / l->count : l->first + (turn - l->first) * stride_of(l);
}

/* Takes workgroups in order until none is left, or an earlier one than the next has failed. */
static void work(void *context, size_t index) {
  grid *g = context;
  const size_t most = WAVES_RESIDENT / (size_t)g->waves;
  resident r = {.most = most, .group = tw_new(most, sizeof(cdna_group *))};
  const uint64_t end = g->launch->count ? g->launch->first + g->launch->count : g->n;
  bool more = r.group != NULL;
  (void)index;
  while (more || r.n) {
    bool stuck = false;
    if (more && r.n < r.most) {
      const uint64_t turn = atomic_fetch_add(&g->next, 1), id = group_of_turn(g->launch, g->n, turn);
      more = turn < end && id <= g->failed;
      if (more && admit(g, &r, id)) go_on(g, &r, r.n - 1);
    } else {
      stuck = true;
      for (size_t k = r.n; k-- > 0;) stuck = go_on(g, &r, k) && stuck;
      if (stuck && g->jobs == 1) give_up(g, &r);
    }
    if (g->failed == UINT64_MAX) continue;
    /* workgroups after the failed one are not needed, and workgroups before it may wait for it */
    for (size_t k = r.n; k-- > 0;)
      if (r.group[k]->id > g->failed || stuck) end_group(g, &r, k, WAITS);
  }
  if (!r.group) {
    tw_fail(&r.error, TW_NO_MEMORY, "out of memory for a launch");
    fail(g, 0, &r.error);
  }
  if (r.spare) cdna_group_close(r.spare);
  free(r.group);
}

/* ---- the launch ---- */

static tw_status check_launch(const cdna_object *o, const cdna_kernel *k, const cdna_launch *l, uint32_t *lds,
                              tw_error *error) {
  uint64_t groups = 1, threads = 1;
  for (int axis = 0; axis < 3; axis++) {
    if (!l->grid[axis] || !l->block[axis])
      return tw_fail(error, TW_USAGE, "%s: grid and block must be at least 1 in each direction", k->name);
    groups = groups > UINT32_MAX ? groups : groups * l->grid[axis];
    threads = threads > UINT32_MAX ? threads : threads * l->block[axis];
  }
  if (groups > INT32_MAX)
    return tw_fail(error, TW_USAGE, "%s: %u x %u x %u workgroups are too many; at most 2^31 - 1 are supported", k->name,
                   l->grid[0], l->grid[1], l->grid[2]);
  const uint32_t most = k->block_max ? k->block_max : BLOCK_MAX;
  if (threads > most)
    return tw_fail(error, TW_USAGE,
                   "%s: the block has %" PRIu64 " work-items, but the kernel was compiled for at most %u", k->name,
                   threads, most);
  const uint32_t limit = o->arch == CDNA3 ? LDS_CDNA3 : LDS_CDNA4;
  if (k->lds > limit || l->lds > limit - k->lds)
    return tw_fail(error, TW_USAGE, "%s: the launch needs %" PRIu64 " bytes of LDS, but a workgroup has at most %u",
                   k->name, (uint64_t)k->lds + l->lds, limit);
  if (k->scratch > SCRATCH_MAX)
    return tw_fail(error, TW_USAGE, "%s: the kernel needs %u bytes of scratch per lane; at most %d are supported",
                   k->name, k->scratch, SCRATCH_MAX);
  *lds = k->lds + l->lds;
  return TW_OK;
}

/* Fills hidden arguments (code object V5) at the places in the metadata. */
static void set_hidden(const cdna_kernel *k, const cdna_launch *l, uint64_t prints, uint8_t *block, size_t size) {
  for (size_t n = 0; n < k->n_parameters; n++) {
    const cdna_parameter *p = &k->parameter[n];
    uint64_t value = 0;
    static const char axis_name[] = "xyz";
    if (strncmp(p->kind, "hidden_", 7) || p->size > 8 || p->offset > size || p->size > size - p->offset) continue;
    for (int axis = 0; axis < 3; axis++) {
      char name[CDNA_VALUE_KIND];
      snprintf(name, sizeof name, "hidden_block_count_%c", axis_name[axis]);
      if (!strcmp(p->kind, name)) value = l->grid[axis];
      snprintf(name, sizeof name, "hidden_group_size_%c", axis_name[axis]);
      if (!strcmp(p->kind, name)) value = l->block[axis];
    }
    if (!strcmp(p->kind, "hidden_grid_dims"))
      value = l->grid[2] * l->block[2] > 1 ? 3 : l->grid[1] * l->block[1] > 1 ? 2 : 1;
    if (!strcmp(p->kind, "hidden_private_base")) value = 2u << 16;
    if (!strcmp(p->kind, "hidden_shared_base")) value = 1u << 16;
    if (!strcmp(p->kind, "hidden_dynamic_lds_size")) value = l->lds;
    if (!strcmp(p->kind, "hidden_printf_buffer")) value = prints;
    memcpy(block + p->offset, &value, p->size);
  }
}

static bool does_print(const cdna_object *o, const cdna_kernel *k) {
  for (size_t n = 0; n < k->n_parameters && o->n_prints; n++)
    if (!strcmp(k->parameter[n].kind, "hidden_printf_buffer")) return true;
  return false;
}

/* The packet to which the dispatch pointer points (HSA's hsa_kernel_dispatch_packet_t). */
static void set_packet(const grid *g, uint8_t packet[64]) {
  const cdna_launch *l = g->launch;
  const uint16_t dims = 3;
  memcpy(packet + 2, &dims, 2);
  for (int axis = 0; axis < 3; axis++) {
    const uint16_t block = (uint16_t)l->block[axis];
    const uint32_t items = l->grid[axis] * l->block[axis];
    memcpy(packet + 4 + 2 * axis, &block, 2);
    memcpy(packet + 12 + 4 * axis, &items, 4);
  }
  memcpy(packet + 28, &g->lds, 4);
  memcpy(packet + 40, &g->arguments, 8);
}

tw_status cdna_dispatch_open(const cdna_object *o, const cdna_kernel *k, const cdna_launch *l, cdna_memory *memory,
                             cdna_dispatch **out, tw_error *error) {
  uint32_t lds = 0;
  tw_status status = check_launch(o, k, l, &lds, error);
  if (status != TW_OK) return status;
  grid *g = tw_new(1, sizeof *g);
  if (!g) return tw_no_memory(error, NULL);
  g->launch = l;
  g->memory = memory;
  g->caller_n = memory->n;
  g->caller_next = memory->next;
  g->caller_modelled = memory->next_modelled;
  g->lds = lds;
  g->limit = l->limit ? l->limit : l->observer ? WATCHED_LIMIT : LIMIT;
  g->failed = UINT64_MAX;
  atomic_flag_clear(&g->lock);
  g->image = tw_new(1, o->size + 64);
  g->argument_size = k->kernarg_size > l->argument_bytes ? k->kernarg_size : l->argument_bytes;
  g->argument_bytes = tw_new(1, g->argument_size + 64);
  const bool prints = does_print(o, k);
  const uint32_t header[2] = {0, PRINTS};
  if (prints && (g->prints = tw_new(1, sizeof header + PRINTS))) memcpy(g->prints, header, sizeof header);
  if (!g->image || !g->argument_bytes || (prints && !g->prints)) status = tw_no_memory(error, NULL);
  if (status == TW_OK) {
    memcpy(g->argument_bytes, l->arguments, l->argument_bytes);
    const uint64_t printed =
        prints ? cdna_memory_add(memory, g->prints, sizeof header + PRINTS, true, "printf's buffer") : 0;
    set_hidden(k, l, printed, g->argument_bytes, g->argument_size);
    const uint64_t base = cdna_memory_add(memory, g->image, o->size, true, "the code object");
    g->arguments = cdna_memory_add(memory, g->argument_bytes, g->argument_size + 64, false, "the arguments");
    g->dispatch = cdna_memory_add(memory, g->packet, sizeof g->packet, false, "the dispatch packet");
    if (!base || !g->arguments || !g->dispatch || (prints && !printed))
      status = tw_fail(error, TW_USAGE, "more than %d buffers", CDNA_ALLOCATIONS_MAX - 4);
    set_packet(g, g->packet);
    cdna_object_load(o, base, g->image);
    if (status == TW_OK) status = cdna_program_make(o, k, base, &g->own, error);
  }
  g->program = &g->own;
  g->n = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
  g->waves = (int)((l->block[0] * l->block[1] * l->block[2] + CDNA_LANES - 1) / CDNA_LANES);
  if (status == TW_OK)
    *out = g;
  else
    cdna_dispatch_close(g);
  return status;
}

void cdna_dispatch_close(cdna_dispatch *g) {
  /* its allocations are removed, so a later kernel cannot reach them */
  g->memory->n = g->caller_n;
  g->memory->next = g->caller_next;
  g->memory->next_modelled = g->caller_modelled;
  cdna_program_free(&g->own);
  free(g->image);
  free(g->argument_bytes);
  free(g->prints);
  free(g);
}

const cdna_program *cdna_dispatch_program(const cdna_dispatch *g) { return g->program; }
uint32_t cdna_dispatch_lds(const cdna_dispatch *g) { return g->lds; }
uint64_t cdna_dispatch_groups(const cdna_dispatch *g) { return g->n; }
int cdna_dispatch_waves(const cdna_dispatch *g) { return g->waves; }
uint64_t cdna_dispatch_arguments(const cdna_dispatch *g) { return g->arguments; }

cdna_group *cdna_group_open(const cdna_dispatch *g, tw_error *error) {
  cdna_group *group = tw_new(1, sizeof *group);
  if (group && make_group(g, group, error)) return group;
  if (group) cdna_group_close(group);
  return NULL;
}

void cdna_group_close(cdna_group *group) {
  free_group(group);
  free(group);
}

const cdna_op *cdna_wave_next(cdna_wave *w) { return fetch(w, w->program->op, w->program->n); }

void cdna_wave_step(cdna_wave *w, const cdna_op *op) {
  w->pc = w->at + op->dwords;
  w->instructions++;
  cdna_note_work(w, op);
  op->run(w, op);
}

tw_status cdna_group_run(cdna_dispatch *g, uint64_t id, const cdna_observer *seen, tw_error *error) {
  tw_error inside = {0};
  cdna_group *group = cdna_group_open(g, &inside);
  if (!group) return tw_no_memory(error, "a workgroup's registers");
  cdna_group_start(g, group, id);
  group->in_turns = true;
  const outcome o = !seen || !seen->begin || seen->begin(seen->context, group) ? run_waves(g, group, seen) : STOPPED;
  if (seen && seen->end) seen->end(seen->context, group);
  cdna_group_close(group);
  if (o == WAITS) return tw_fail(error, TW_FAILED, "the workgroup waits for others");
  if (o == STOPPED && error) *error = inside;
  return o == ENDED ? TW_OK : TW_FAILED;
}

tw_status cdna_run(const cdna_object *o, const cdna_kernel *k, const cdna_launch *l, cdna_memory *memory,
                   cdna_result_counts *counts, tw_error *error) {
  grid *g = NULL;
  tw_status status = cdna_dispatch_open(o, k, l, memory, &g, error);
  if (status != TW_OK) return status;
  const int jobs = g->program->has_atomics ? 1 : l->jobs ? l->jobs : tw_cores();
  const uint64_t n = l->count ? l->count : g->n;
  g->next = l->count ? l->first : 0;
  if (l->count && (l->first >= g->n || l->count - 1 > (g->n - 1 - l->first) / stride_of(l))) {
    tw_fail(error, TW_USAGE, "workgroups %" PRIu64 " to %" PRIu64 " exceed the grid of %" PRIu64 "; numbers begin at 0",
            l->first, l->first + (l->count - 1) * stride_of(l), g->n);
    cdna_dispatch_close(g);
    return TW_USAGE;
  }
  g->jobs = n < (uint64_t)jobs ? (int)n : jobs;
  tw_parallel_for(g->jobs, (size_t)g->jobs, work, g);
  if (g->failed != UINT64_MAX) {
    if (error) *error = g->error;
    status = g->error.status;
  }
  if (g->prints && l->printed) cdna_prints(o, g->prints, l->printed);
  if (counts) {
    *counts = (cdna_result_counts){.instructions = g->instructions,
                                   .waves = n * (uint64_t)g->waves,
                                   .workgroups = n,
                                   .most = g->most,
                                   .waited = g->waited};
    for (int i = 0; i < CDNA_KINDS; i++) counts->did[i] = g->did[i];
  }
  cdna_dispatch_close(g);
  return status;
}
