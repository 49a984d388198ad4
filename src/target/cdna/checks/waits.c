/* waits.c - registers that a load has not filled yet when they are read or written.
 *
 * Vector memory operations end in the order of their issue, LDS operations too, scalar loads in any. The counters
 * hold at most 63 and 15. The hardware issues no operation beyond these numbers in flight, so older operations have
 * ended (effects.h). A FLAT operation raises both counters; here only the counter of the memory that its addresses
 * reach is used. */
#include "target/cdna/checks/state.h"

static uint32_t less(uint32_t a, uint32_t b) { return a > b ? a - b : 0; }

static void wait_for(wait_state *s, const cdna_effects *e) {
  if (e->wait_vm < CDNA_VM_MOST && less(s->vm, e->wait_vm) > s->vm_done) s->vm_done = s->vm - e->wait_vm;
  if (e->wait_lgkm < CDNA_LGKM_MOST && less(s->lds, e->wait_lgkm) > s->lds_done) s->lds_done = s->lds - e->wait_lgkm;
  if (!e->wait_lgkm) s->scalar_done = s->scalar;
}

static void report(cdna_wave *w, int code, const char *uses, const char *counter, uint32_t behind) {
  const wait_state *s = &state_of(w)->waits;
  char name[16], place[240];
  if (!checks_for(((group_state *)w->group->observed)->checker, CDNA_CHECK_WAITS)) return;
  if (found_before(w, CDNA_CHECK_WAITS, w->at)) return;
  register_name(code, name);
  place_name(w, s->at_of[code], place, sizeof place);
  find_at(w, CDNA_CHECK_WAITS, w->at, -1, "%s %s, which %s may not have filled; s_waitcnt %s(%u) is missing", uses,
          name, place, counter, behind);
}

/* Is an operation in flight that writes the register? */
static bool check_code(cdna_wave *w, const wait_state *s, int code, const char *uses, unsigned but) {
  if (!(but & CDNA_COUNTS_VM) && s->vm_of[code] > s->vm_done)
    report(w, code, uses, "vmcnt", s->vm - s->vm_of[code]);
  else if (!(but & CDNA_COUNTS_LGKM) && s->lds_of[code] > s->lds_done)
    report(w, code, uses, "lgkmcnt", s->lds - s->lds_of[code]);
  else if (code < CDNA_ZERO && s->scalar_of[code] > s->scalar_done)
    report(w, code, uses, "lgkmcnt", 0);
  else
    return false;
  return true;
}

static bool check_range(cdna_wave *w, wait_state *s, const cdna_register_range *r, const char *uses, unsigned but) {
  for (uint64_t left = registers_in(&s->in_flight, r->first, r->n); left; left &= left - 1) {
    const int code = r->first + __builtin_ctzll(left);
    if (check_code(w, s, code, uses, but)) return true;
    const bool scalar = code < CDNA_ZERO && s->scalar_of[code] > s->scalar_done;
    if (s->vm_of[code] <= s->vm_done && s->lds_of[code] <= s->lds_done && !scalar)
      s->in_flight.bit[code >> 6] &= ~(1ull << (code & 63));
  }
  return false;
}

void waits_before(cdna_wave *w, const seen *x) {
  wait_state *s = &state_of(w)->waits;
  const cdna_effects *e = x->e;
  const bool vm = e->counters & CDNA_COUNTS_VM, scalar = e->klass == CDNA_CLASS_SMEM;
  const bool lds = e->klass == CDNA_CLASS_LDS
                       ? e->counters != 0
                       : e->space == CDNA_SPACE_FLAT && x->reaches && x->access.lanes[CDNA_IN_LDS];
  if (s->vm > s->vm_done || s->lds > s->lds_done || s->scalar > s->scalar_done) {
    bool found = false;
    for (int r = 0; r < e->n_reads && !found && x->exec; r++) found = check_range(w, s, &e->read[r], "reads", 0);
    /* later writes with the same counter complete later */
    const unsigned but = (vm ? CDNA_COUNTS_VM : 0u) | (lds ? CDNA_COUNTS_LGKM : 0u);
    for (int r = 0; r < e->n_writes && !found && x->exec; r++) found = check_range(w, s, &e->write[r], "writes", but);
  }
  if (e->klass == CDNA_CLASS_INTERNAL) wait_for(s, e);
  if (vm && ++s->vm - s->vm_done > CDNA_VM_MOST) s->vm_done = s->vm - CDNA_VM_MOST;
  if (lds && ++s->lds - s->lds_done > CDNA_LGKM_MOST) s->lds_done = s->lds - CDNA_LGKM_MOST;
  if (scalar) s->scalar++;
  if (!vm && !lds && !scalar) return;
  for (int r = 0; r < e->n_writes && x->exec; r++) {
    add_registers(&s->in_flight, e->write[r].first, e->write[r].n);
    for (int k = 0; k < e->write[r].n && e->write[r].first + k < CDNA_REGISTER_CODES; k++) {
      const int code = e->write[r].first + k;
      s->at_of[code] = (uint32_t)w->at;
      if (vm) s->vm_of[code] = s->vm;
      if (lds) s->lds_of[code] = s->lds;
      if (scalar && code < CDNA_ZERO) s->scalar_of[code] = s->scalar;
    }
  }
}
