/* lds.c - waves of a workgroup that use the same bytes of LDS, one of them writing, without a barrier in between; and
 * writes that may not have ended when the barrier releases the readers.
 *
 * A barrier is the only order between waves. Between two barriers each cell records its writer and its readers. Before
 * a barrier a wave must wait for its writes (lgkmcnt) and for its loads to LDS (vmcnt); its own reads need the same.
 * Atomics do not race with each other. Waves that write equal values do not race, either. */
#include <stdio.h>
#include <string.h>

#include "target/cdna/checks/state.h"

static bool is_one(uint16_t waves) { return waves && !(waves & (waves - 1)); }

/* Has the write ended for a wave that reads? For its own write: by its waits. For other waves' writes: by the
 * barrier between them. */
static bool has_ended(const group_state *g, const lds_cell *c, int reader) {
  if (!is_one(c->was.writers) || c->was.written < g->first) return true;
  const int writer = __builtin_ctz(c->was.writers);
  const wait_state *s = &g->wave[writer].waits;
  if (writer == reader) return !c->was.write.direct || c->was.write.sequence <= s->vm_done;
  return c->was.write.sequence <= (c->was.write.direct ? s->vm_passed : s->lds_passed);
}

/* "wave 3 reads", "waves 0, 1 and 3 read". */
static void name_waves(uint16_t waves, const char *does, char text[80]) {
  int n = 0;
  const bool one = is_one(waves);
  n += snprintf(text, 80, one ? "wave" : "waves");
  for (unsigned left = waves; left; left &= left - 1) {
    const bool first = left == waves, last = !(left & (left - 1));
    n += snprintf(text + n, 80 - (size_t)n, "%s%d", first ? " " : last ? " and " : ", ", __builtin_ctz(left));
  }
  snprintf(text + n, 80 - (size_t)n, " %s%s", does, one ? "s" : "");
}

/* `does` and `did`: "read" or "write". */
static void report(cdna_wave *w, int lane, uint32_t address, const char *does, uint16_t others, const char *did,
                   size_t at) {
  char place[240], names[80];
  if (found_before(w, CDNA_CHECK_RACES, w->at)) return;
  place_name(w, at, place, sizeof place);
  name_waves(others, did, names);
  find_at(w, CDNA_CHECK_RACES, w->at, lane,
          "wave %d %ss LDS at %u, which %s in %s, without a barrier between the accesses", w->id, does, address, names,
          place);
}

/* Two waves that write the same value leave a defined result: kernels load values that all waves need in this way. */
static void doubt(cdna_wave *w, group_state *g, const lds_cell *c, uint32_t address, int lane) {
  if (g->n_doubtful == DOUBTFUL_MAX) return;
  doubtful *d = &g->doubtful[g->n_doubtful++];
  *d = (doubtful){.address = address,
                  .other_at = c->write_at,
                  .lane = (int16_t)lane,
                  .others = (uint16_t)(c->was.writers & ~(1u << w->id))};
  memcpy(&d->old, w->group->lds + address, 1u << g->checker->cell_shift);
  g->doubtful_wave = w;
  g->doubtful_at = w->at;
}

void lds_settle(cdna_group *group) {
  group_state *g = group->observed;
  const int n = g->n_doubtful;
  cdna_wave *w = g->doubtful_wave;
  g->n_doubtful = 0;
  for (int k = 0; k < n; k++) {
    const doubtful *d = &g->doubtful[k];
    const size_t at = w->at;
    if (!memcmp(&d->old, group->lds + d->address, 1u << g->checker->cell_shift)) continue;
    w->at = g->doubtful_at; /* a finding's place is the wave's current instruction */
    report(w, d->lane, d->address, "write", d->others, "write", d->other_at);
    w->at = at;
    return;
  }
}

static inline void record_read(lds_cell *c, uint32_t epoch, uint16_t mine, uint32_t at) {
  c->was.readers = (uint16_t)((c->was.read == epoch ? c->was.readers : 0) | mine);
  c->was.read = epoch;
  c->read_at = at;
}

/* Before it, `written` tells whether the cell was written in this epoch. */
static inline void record_write(lds_cell *c, uint32_t epoch, uint16_t mine, uint32_t at, uint32_t sequence, bool atomic,
                                bool direct) {
  const bool is_written = c->was.written == epoch;
  c->was.writers = (uint16_t)((is_written ? c->was.writers : 0) | mine);
  c->was.written = epoch;
  c->write_at = at;
  /* one store: parts of a dword, one by one, would wait for each other */
  c->was.write = (lds_write){sequence & 0x3FFFFFFF, direct, atomic && (!is_written || c->was.write.atomic)};
}

static bool touch(cdna_wave *w, const seen *x, group_state *g, lds_cell *c, uint32_t address, int lane, bool reads,
                  bool writes, uint32_t sequence) {
  const uint16_t mine = (uint16_t)(1u << w->id);
  const bool is_written = c->was.written == g->epoch, read = c->was.read == g->epoch, atomic = reads && writes;
  const uint16_t writers = is_written ? c->was.writers & (uint16_t)~mine : 0,
                 readers = read ? c->was.readers & (uint16_t)~mine : 0;
  const bool among_atomics = atomic && is_written && c->was.write.atomic; /* in any order */
  if (writers && !among_atomics && writes && !atomic && !readers) {
    doubt(w, g, c, address, lane);
  } else if (writers && !among_atomics) {
    report(w, lane, address, reads && !writes ? "read" : "write", writers, "write", c->write_at);
    return false;
  }
  if (writes && readers) {
    report(w, lane, address, "write", readers, "read", c->read_at);
    return false;
  }
  if (reads && !among_atomics && !has_ended(g, c, w->id)) {
    char place[240];
    if (found_before(w, CDNA_CHECK_RACES, w->at)) return false;
    place_name(w, c->write_at, place, sizeof place);
    find_at(w, CDNA_CHECK_RACES, w->at, lane, "reads LDS at %u, which wave %d writes in %s; s_waitcnt %s is missing%s",
            address, __builtin_ctz(c->was.writers), place, c->was.write.direct ? "vmcnt" : "lgkmcnt",
            is_written ? "" : " before the barrier");
    return false;
  }
  if (reads && !atomic) record_read(c, g->epoch, mine, (uint32_t)w->at);
  if (writes) record_write(c, g->epoch, mine, (uint32_t)w->at, sequence, atomic, x->access.to_lds);
  return true;
}

/* The usual cases, without a call: no wave has written the cell that is read; no other wave has used the cell that is
 * written. */
static inline bool is_quick_read(const group_state *g, lds_cell *c, int wave, uint32_t at) {
  if (c->was.written == g->epoch) return false;
  if (c->was.read == g->epoch && c->was.readers >> wave & 1) return true;
  if (!has_ended(g, c, wave)) return false;
  record_read(c, g->epoch, (uint16_t)(1u << wave), at);
  return true;
}
static inline bool is_quick_write(const group_state *g, lds_cell *c, int wave, uint32_t at, uint32_t sequence,
                                  bool direct) {
  const uint16_t mine = (uint16_t)(1u << wave);
  if ((c->was.written == g->epoch && c->was.writers & (uint16_t)~mine) ||
      (c->was.read == g->epoch && c->was.readers & (uint16_t)~mine))
    return false;
  record_write(c, g->epoch, mine, at, sequence, false, direct);
  return true;
}

/* The last quick access changed the history of a cell from `before` to `after`, and changes equal histories likewise. */
typedef struct lds_change {
  lds_history before, after;
} lds_change;
static inline bool is_same(const lds_history *a, const lds_history *b) {
  uint64_t x[2], y[2];
  memcpy(x, a, sizeof x);
  memcpy(y, b, sizeof y);
  return !((x[0] ^ y[0]) | (x[1] ^ y[1]));
}
_Static_assert(sizeof(lds_history) == 16, "is_same compares two words");

/* Only reads, the most frequent case. A lane that reads the same address as the previous lane needs no check. */
static void touch_reads(cdna_wave *w, const seen *x, uint64_t lanes) {
  group_state *g = w->group->observed;
  const int shift = g->checker->cell_shift, wave = w->id;
  const uint32_t bytes = x->access.bytes, here = (uint32_t)w->at;
  if (bytes > g->lds_bytes) return;
  const lds_history none = {.written = UINT32_MAX}; /* no epoch */
  lds_change known = {none, none};
  const uint32_t last_start = g->lds_bytes - bytes;
  for (int part = 0; part < x->access.parts; part++) {
    const uint64_t *address = x->access.address[part];
    uint64_t before = UINT64_MAX;
    for (uint64_t left = lanes; left; left &= left - 1) {
      const int l = __builtin_ctzll(left);
      const uint64_t at = address[l];
      if (at == before) continue;
      before = at;
      if (at > last_start) return; /* the emulator stops the run here */
      const lds_cell *const end = &g->cell[((uint32_t)at + bytes - 1) >> shift];
      for (lds_cell *c = &g->cell[(uint32_t)at >> shift]; c <= end; c++) {
        if (is_same(&c->was, &known.before)) {
          c->was = known.after;
          c->read_at = here;
          continue;
        }
        if (is_same(&c->was, &known.after)) continue; /* this wave has read it in this epoch */
        const lds_history was = c->was;
        if (is_quick_read(g, c, wave, here))
          known = (lds_change){is_same(&was, &c->was) ? none : was, c->was}; /* equal: the wave had read it */
        else if (!touch(w, x, g, c, (uint32_t)(c - g->cell) << shift, l, true, false, 0))
          return;
      }
    }
  }
}

/* Lanes of a store, of a load to LDS, or of an atomic, which also reads and never is quick. */
static void touch_writes(cdna_wave *w, const seen *x, uint64_t lanes, bool atomic, uint32_t sequence) {
  group_state *g = w->group->observed;
  const int shift = g->checker->cell_shift;
  const bool direct = x->access.to_lds;
  const uint32_t bytes = direct && x->access.bytes < 4 ? 4 : x->access.bytes, here = (uint32_t)w->at;
  lds_change known = {.before = {.written = UINT32_MAX}}; /* no epoch */
  for (int part = 0; part < x->access.parts; part++)
    for (uint64_t left = lanes; left; left &= left - 1) {
      const int l = __builtin_ctzll(left);
      const uint64_t at = direct ? x->access.lds[l] : x->access.address[part][l];
      if (at >= g->lds_bytes || bytes > g->lds_bytes - at) return; /* the emulator stops the run here */
      lds_cell *const end = &g->cell[((uint32_t)at + bytes - 1) >> shift];
      for (lds_cell *c = &g->cell[(uint32_t)at >> shift]; c <= end; c++) {
        if (is_same(&c->was, &known.before)) {
          c->was = known.after;
          c->write_at = here;
          continue;
        }
        const lds_history was = c->was;
        if (!atomic && is_quick_write(g, c, w->id, here, sequence, direct))
          known = (lds_change){was, c->was};
        else if (!touch(w, x, g, c, (uint32_t)(c - g->cell) << shift, l, atomic, true, sequence))
          return;
      }
    }
}

void lds_before(cdna_wave *w, const seen *x) {
  const wait_state *s = &state_of(w)->waits;
  const cdna_access *a = &x->access;
  const uint64_t lanes = a->lanes[CDNA_IN_LDS];
  if (a->to_lds)
    touch_writes(w, x, x->exec, false, s->vm);
  else if (lanes && !a->writes)
    touch_reads(w, x, lanes);
  else if (lanes)
    touch_writes(w, x, lanes, a->reads, s->lds);
}
