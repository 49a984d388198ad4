/* global.c - addresses that are not aligned, and workgroups that write the same bytes of memory.
 *
 * Alignment: scalar loads ignore the two lowest bits of their addresses; atomics fault; other accesses need the mode
 * that the Linux driver sets for all processes, and are no finding at multiples of 4. At other addresses they are a
 * finding only if requested by name or by "all", because compilers rely on that mode, too (two hidden 16-bit arguments
 * in one load). Overlaps: workgroups run in any order, so bytes that two workgroups write have an arbitrary final
 * value. Equal values and atomics are no finding. */
#include "target/cdna/checks/state.h"

_Atomic(uint32_t) *owners_of(cdna_wave *w, uint64_t address, uint64_t bytes, bool *given) {
  group_state *g = w->group->observed;
  const cdna_memory *m = w->group->memory;
  for (size_t i = 0; i < m->n; i++) {
    const cdna_allocation *a = &m->allocation[i];
    if (address - a->address >= a->size) continue;
    *given = !a->undefined;
    return bytes <= a->size - (address - a->address) && g->checker->owner[i]
               ? g->checker->owner[i] + (address - a->address)
               : NULL;
  }
  return NULL;
}

/* ---- alignment ---- */

/* A power of 2. */
static uint32_t unit_of(const seen *x) {
  const uint32_t bytes = x->access.bytes;
  return x->access.reads && x->access.writes ? bytes : bytes < 4 ? bytes : 4;
}

static void check_address(cdna_wave *w, const seen *x, uint64_t address, int lane, uint32_t unit, const char *where) {
  if (address % unit == 0) return;
  find_at(w, CDNA_CHECK_ALIGNMENT, w->at, lane, "%u bytes %s at 0x%llx, which is not a multiple of %u%s",
          x->access.bytes, where, (unsigned long long)address, unit,
          x->access.scalar                      ? ": the lowest bits are ignored"
          : x->access.reads && x->access.writes ? ": an atomic faults"
                                                : "");
}

/* The address of a scalar load in its registers, before low bits are cut off. */
static void look_scalar(cdna_wave *w, const seen *x) {
  const cdna_source *base = &x->op->s[0], *more = &x->op->s[1];
  const uint64_t sum =
      cdna_scalar64(w, base->code) + (uint64_t)(int64_t)x->op->imm + (more->kind == CDNA_SCALAR ? w->s[more->code] : 0);
  check_address(w, x, sum, -1, 4, "of memory");
}

static bool all_aligned(const uint64_t address[CDNA_LANES], uint32_t unit) {
  uint64_t any = 0;
  for (int l = 0; l < CDNA_LANES; l++) any |= address[l];
  return !(any & (unit - 1));
}

void alignment_before(cdna_wave *w, const seen *x) {
  const cdna_access *a = &x->access;
  static const char *const where[CDNA_SPACES] = {"of memory", "of LDS", "of scratch"};
  const bool quiet = ((group_state *)w->group->observed)->checker->checks & CDNA_CHECKS_LENIENT;
  if (a->scalar) {
    if (x->e->traits & CDNA_PLAIN_ADDRESS) look_scalar(w, x);
    return;
  }
  for (int space = 0; space < CDNA_SPACES; space++) {
    const uint32_t unit = unit_of(x);
    if (!a->lanes[space] || unit == 1 || (quiet && !(a->reads && a->writes))) continue;
    for (int part = 0; part < a->parts; part++) {
      if (a->lanes[space] == ~0ull && all_aligned(a->address[part], unit)) continue;
      for (uint64_t left = a->lanes[space]; left; left &= left - 1) {
        const int l = __builtin_ctzll(left);
        if (!(a->address[part][l] & (unit - 1))) continue;
        check_address(w, x, a->address[part][l], l, unit, where[space]);
        return;
      }
    }
  }
  if (a->to_lds && x->exec && a->lds[__builtin_ctzll(x->exec)] % 4)
    check_address(w, x, a->lds[__builtin_ctzll(x->exec)], __builtin_ctzll(x->exec), 4, "of LDS");
}

/* ---- writes ---- */

static bool overlap(cdna_wave *w, const seen *x, int lane, const _Atomic(uint32_t) *owner, const uint8_t *old,
                    uint64_t address) {
  const uint32_t mine = (uint32_t)w->group->id + 1;
  const int row = x->op->s[1].code, shift = x->e->traits & CDNA_UPPER_HALF ? 2 : 0;
  for (uint32_t b = 0; b < x->access.bytes; b++) {
    const uint32_t other = atomic_load_explicit(&owner[b], memory_order_relaxed);
    if (!other || other == mine || other >= OWNER_SHARED) continue;
    const uint8_t new = (uint8_t)(w->v[row + (int)b / 4][lane] >> 8 * (b % 4 + (uint32_t)shift));
    if (new == old[b]) continue;
    char where[200];
    if (found_before(w, CDNA_CHECK_OVERLAPS, w->at)) return true;
    cdna_memory_describe(w->group->memory, address + b, where, sizeof where);
    find_at(w, CDNA_CHECK_OVERLAPS, w->at, lane, "writes to %s another value than workgroup %u wrote", where,
            other - 1);
    return true;
  }
  return false;
}

void global_before(cdna_wave *w, const seen *x) {
  const cdna_access *a = &x->access;
  const group_state *g = w->group->observed;
  if (!a->writes || !a->lanes[CDNA_IN_GLOBAL] || a->scalar) return;
  const uint32_t mark = a->reads ? OWNER_SHARED : (uint32_t)w->group->id + 1;
  bool quiet = a->reads || !checks_for(g->checker, CDNA_CHECK_OVERLAPS);
  for (uint64_t left = a->lanes[CDNA_IN_GLOBAL]; left; left &= left - 1) {
    const int l = __builtin_ctzll(left);
    bool given;
    _Atomic(uint32_t) *owner = owners_of(w, a->address[0][l], a->bytes, &given);
    if (!owner) continue;
    if (!quiet) {
      /* this lookup does not stop the run: the bytes exist, because owners exist */
      const uint8_t *old = cdna_reach(w, a->address[0][l], a->bytes, true, l);
      if (old) quiet = overlap(w, x, l, owner, old, a->address[0][l]);
    }
    for (uint32_t b = 0; b < a->bytes; b++) atomic_store_explicit(&owner[b], mark, memory_order_relaxed);
  }
}
