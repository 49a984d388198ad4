/* hazards.c - wait states that software must insert between two instructions, because the hardware does not.
 *
 * Each instruction takes one wait state, s_nop several; a matrix instruction also waits until the matrix unit has
 * finished the passes of the previous one; a taken branch costs eight more, because instructions must be fetched
 * (assumed). The machine is slower at other places, so a hazard found here may be hidden there by chance.
 *
 * Rules: LLVM 22, GCNHazardRecognizer.cpp (checkMAIHazards90A, checkMAIVALUHazards, checkVALUHazards, checkDPPHazards,
 * checkRWLaneHazards, checkDivFMasHazards, checkVMEMHazards, checkReadM0Hazards); the manuals of CDNA3 and CDNA4,
 * section 4.5, "Manually inserted wait states". Not checked are sequences in the inner loops of AMD's own hand-written
 * kernels (ROCm/aiter), which the hardware must handle: M0 set right before a load to LDS, a scalar that a vector
 * instruction has written read as a constant, and a second wait state before it is read as a mask. */
#include "target/cdna/checks/state.h"

enum { TAKEN = 8 };
enum { BY_VALU = 1, BY_TRANS = 2, BY_PART = 4, BY_DOT = 8, BY_XDL = 16, BY_F64 = 32 };

static bool is_vector(const cdna_effects *e) { return e->klass == CDNA_CLASS_VALU || e->klass == CDNA_CLASS_TRANS; }
static bool is_memory(const cdna_effects *e) { return e->klass == CDNA_CLASS_VMEM || e->klass == CDNA_CLASS_LDS; }

/* Instructions of the matrix unit proper ("XDL"): all except f32 and f64 products. */
static uint8_t kind_of(const cdna_mfma *m) { return m->c == CDNA_F64 ? BY_F64 : m->a == CDNA_F32 ? 0 : BY_XDL; }

static const char *const reasons[] = {"reads", "writes"};

/* The number of wait states between an instruction and now. */
static int since(const hazard_state *s, const written *x) { return (int)(s->time - x->time) - 1; }

static void report(cdna_wave *w, int code, const char *what, const written *by, int needed) {
  const hazard_state *s = &state_of(w)->hazards;
  char name[16], place[240];
  if (found_before(w, CDNA_CHECK_HAZARDS, w->at)) return;
  register_name(code, name);
  place_name(w, by->at, place, sizeof place);
  find_at(w, CDNA_CHECK_HAZARDS, w->at, -1, "%s %s %d wait states after %s; %d are required", what, name, since(s, by),
          place, needed);
}

static bool too_early(cdna_wave *w, int code, const char *what, const written *by, int needed) {
  const hazard_state *s = &state_of(w)->hazards;
  if (!by->time || since(s, by) >= needed) return false;
  report(w, code, what, by, needed);
  return true;
}

/* Required wait states after a matrix instruction until another kind of instruction reads or overwrites its result. */
static int after_matrix(cdna_arch arch, const written *by, bool memory, bool write) {
  const bool wide = arch == CDNA4 && by->passes == 16; /* f64 16x16x4 takes twice as long on CDNA4 */
  if (by->how & BY_F64) return by->passes == 4 ? (memory && !write ? 9 : 6) : wide ? 19 : memory && !write ? 18 : 11;
  if (by->how & BY_XDL) return by->passes + 3 + (arch == CDNA4 && by->passes != 2);
  return by->passes + 2;
}

/* Required wait states until another matrix instruction uses the result as A, B (or scales), or as C. */
static int matrix_to_factor(cdna_arch arch, const written *by) {
  if (by->how & BY_F64) return by->passes == 4 ? 6 : arch == CDNA4 && by->passes == 16 ? 19 : 11;
  return after_matrix(arch, by, false, false);
}
static int matrix_to_addend(cdna_arch arch, const written *by, const cdna_mfma *m, int first) {
  const uint8_t kind = kind_of(m);
  if (by->first == first) {
    if (kind & BY_F64 && by->how & BY_F64 && by->passes == 4 && m->m == 4) return 4;
    return by->passes == 2 ? 2 : 0;
  }
  if (by->how & BY_F64) return kind & BY_XDL ? 0 : by->passes == 4 ? 4 : arch == CDNA4 && by->passes == 16 ? 17 : 9;
  if (kind & BY_XDL && !(by->how & BY_XDL)) return 0;
  return by->how & BY_XDL ? by->passes + 1 + (arch == CDNA4 && by->passes != 2) : by->passes;
}

static bool read_vector(cdna_wave *w, const seen *x, const cdna_register_range *r) {
  const hazard_state *s = &state_of(w)->hazards;
  const cdna_effects *e = x->e;
  const cdna_arch arch = w->program->object->arch;
  const char *name = x->op->instruction->name, *reads = reasons[0];
  const bool readlane = e->flow == CDNA_FLOW_READ_LANE || e->flow == CDNA_FLOW_READ_FIRST,
             swap = e->traits & CDNA_SWAPS, dot = e->traits & CDNA_DOT;
  if (!(recent_in(&s->by_valu, r->first, r->n) | recent_in(&s->by_matrix, r->first, r->n))) return false;
  for (int k = 0; k < r->n; k++) {
    const int code = r->first + k, v = (code - CDNA_VGPRS) & 511;
    const written *m = &s->matrix[v], *a = &s->vector[v];
    if (m->time && s->time < s->matrix_until) {
      const bool addend = e->mfma && (r->role == '2' || r->role == 'D');
      const int needed = !e->mfma ? after_matrix(arch, m, is_memory(e), false)
                         : addend ? matrix_to_addend(arch, m, e->mfma, r->first)
                                  : matrix_to_factor(arch, m);
      if (too_early(w, code, reads, m, needed)) return true;
    }
    if (!a->time || since(s, a) >= 4) continue;
    if (e->mfma && !(a->how & BY_DOT) && too_early(w, code, reads, a, 2)) return true;
    if (e->is_dpp && too_early(w, code, reads, a, 2)) return true;
    if ((readlane || swap) && too_early(w, code, reads, a, 1)) return true;
    if (a->how & BY_TRANS && e->klass == CDNA_CLASS_VALU && too_early(w, code, reads, a, 1)) return true;
    if (a->how & BY_PART && is_vector(e) && too_early(w, code, reads, a, 1)) return true;
    if (a->how & BY_DOT && !(dot && r->role == '2') && (is_vector(e) || is_memory(e)) &&
        w->program->op[a->at].instruction->name != name && too_early(w, code, reads, a, 3))
      return true;
  }
  return false;
}

static bool write_vector(cdna_wave *w, const seen *x, const cdna_register_range *r) {
  const hazard_state *s = &state_of(w)->hazards;
  const cdna_effects *e = x->e;
  const cdna_arch arch = w->program->object->arch;
  if (e->mfma) return false;
  if (!(recent_in(&s->by_store, r->first, r->n) | recent_in(&s->by_matrix, r->first, r->n))) return false;
  for (int k = 0; k < r->n; k++) {
    const int code = r->first + k, v = (code - CDNA_VGPRS) & 511;
    if (s->time < s->matrix_until) {
      const written *m = &s->matrix[v], *c = &s->addend[v];
      if (m->time && too_early(w, code, reasons[1], m, after_matrix(arch, m, is_memory(e), true))) return true;
      if (c->time && too_early(w, code, "writes C of a matrix instruction,", c, c->passes == 2 ? 1 : c->passes - 1))
        return true;
    }
    if (is_vector(e) && s->data[v].time && too_early(w, code, "writes the data of a store,", &s->data[v], 2))
      return true;
  }
  return false;
}

static bool read_scalar(cdna_wave *w, const seen *x, const cdna_register_range *r) {
  const hazard_state *s = &state_of(w)->hazards;
  const cdna_effects *e = x->e;
  const bool lane = cdna_is_of_one_lane(e);
  if (r->first == CDNA_EXEC && !e->is_dpp && !lane) return false;
  if (!recent_in(&s->by_valu, r->first, r->n)) return false;
  for (int k = 0; k < r->n && r->first + k < CDNA_ZERO; k++) {
    const int code = r->first + k;
    const written *a = &s->scalar[code];
    const bool exec = code == CDNA_EXEC || code == CDNA_EXEC + 1;
    if (!a->time || since(s, a) >= 5) continue;
    int needed = 0;
    if (exec)
      needed = e->is_dpp ? 5 : lane ? 4 : 0;
    else if (e->klass == CDNA_CLASS_VMEM)
      needed = 5;
    else if (lane && r->role == '1')
      needed = 4;
    else if (e->traits & CDNA_READS_VCC && r->role == CDNA_IMPLIED && is_vector(e)) /* branches wait by themselves */
      needed = 4;
    else if (is_vector(e) && (r->role == 'C' || (r->role == '2' && r->n == 2)))
      needed = 1;
    if (too_early(w, code, reasons[0], a, needed)) return true;
  }
  return false;
}

/* Number of wait states for which an entry matters; the longest, for a matrix instruction's result, is 19. */
enum { VALU_SPAN = 8, MATRIX_SPAN = 32 };

static void remember_write(hazard_state *s, const cdna_effects *e, const cdna_register_range *t, written now) {
  const bool valu = is_vector(e), vector = t->first >= CDNA_VGPRS;
  const int n = t->first + t->n <= CDNA_REGISTER_CODES ? t->n : CDNA_REGISTER_CODES - t->first;
  if (n <= 0 || (!vector && t->first >= CDNA_ZERO)) return;
  const int v = (t->first - CDNA_VGPRS) & 511;
  const bool was_valu = recent_in(&s->by_valu, t->first, n), was_matrix = recent_in(&s->by_matrix, t->first, n);
  if (valu) add_recent(&s->by_valu, s->time, VALU_SPAN, t->first, n);
  if (e->mfma) add_recent(&s->by_matrix, s->time, MATRIX_SPAN, t->first, n);
  for (int k = 0; k < n && !vector && (valu || was_valu); k++)
    if (t->first + k < CDNA_ZERO)
      s->scalar[t->first + k] = valu ? (written){s->time, now.at, BY_VALU, 0, 0} : (written){0};
  if (!vector) return;
  now.first = t->first;
  for (int k = 0; k < n && (e->mfma || was_matrix); k++) s->matrix[(v + k) & 511] = e->mfma ? now : (written){0};
  now.how = (uint8_t)(BY_VALU | (e->klass == CDNA_CLASS_TRANS ? BY_TRANS : 0) | (e->selects_part ? BY_PART : 0) |
                      (e->traits & CDNA_DOT ? BY_DOT : 0));
  for (int k = 0; k < n && (valu || was_valu); k++) s->vector[(v + k) & 511] = valu ? now : (written){0};
}

static void remember(cdna_wave *w, const seen *x) {
  hazard_state *s = &state_of(w)->hazards;
  const cdna_effects *e = x->e;
  written now = {.time = s->time, .at = (uint32_t)w->at};
  if (e->mfma) {
    now.passes = e->passes;
    now.how = kind_of(e->mfma);
    s->matrix_free = s->time + e->passes;
    s->matrix_until = s->time + 24;
  }
  if (e->klass == CDNA_CLASS_TRANS || e->selects_part || e->traits & CDNA_DOT || e->access)
    s->others_until = s->time + 5;
  for (int r = 0; r < e->n_writes; r++) remember_write(s, e, &e->write[r], now);
  /* stores of more than 8 bytes read their data late; among buffer stores, only those without an offset register do */
  const bool buffer = x->op->instruction->encoding == CDNA_MUBUF || x->op->instruction->encoding == CDNA_MTBUF;
  const bool late = e->klass == CDNA_CLASS_VMEM && e->access == CDNA_STORE && e->bytes > 8 &&
                    !(buffer && x->op->s[3].kind == CDNA_SCALAR);
  const bool addend = e->mfma && now.how & BY_XDL && !cdna_mfma_is_sparse(e->mfma);
  for (int r = 0; r < e->n_reads && (late || addend); r++) {
    const cdna_register_range *t = &e->read[r];
    if (t->first < CDNA_VGPRS || t->role != (late ? 'W' : '2')) continue;
    add_recent(late ? &s->by_store : &s->by_matrix, s->time, late ? VALU_SPAN : MATRIX_SPAN, t->first, t->n);
    for (int k = 0; k < t->n; k++) (late ? s->data : s->addend)[(t->first + k - CDNA_VGPRS) & 511] = now;
  }
}

bool hazards_before_plain(cdna_wave *w, const cdna_op *op, const cdna_effects *e, size_t at) {
  hazard_state *s = &state_of(w)->hazards;
  const uint32_t time = s->time + (at != s->next ? TAKEN : 0);
  if (time < s->matrix_until || time < s->others_until) return false;
  const cdna_register_range *t = &e->write[0];
  const written now = {.time = time, .at = (uint32_t)at, .how = BY_VALU, .first = t->first};
  begin_recent(&s->by_valu, time, VALU_SPAN);
  s->by_valu.now.bit[e->word[0]] |= e->written;
  s->by_valu.all.bit[e->word[0]] |= e->written;
  for (int k = 0; k < t->n; k++) s->vector[t->first + k - CDNA_VGPRS] = now;
  s->time = time + e->wait_states;
  s->next = at + op->dwords;
  return true;
}

/* True if the instruction needs no wait states for vector registers. A vector instruction whose lanes are independent
 * needs them only after matrix instructions, and after the instructions that set `others_until`. */
static bool is_free_of_vector_hazards(const hazard_state *s, const cdna_effects *e) {
  return s->time >= s->matrix_until && s->time >= s->others_until && is_vector(e) && !e->is_dpp &&
         !cdna_is_of_one_lane(e) && !(e->traits & CDNA_SWAPS);
}

void hazards_before(cdna_wave *w, const seen *x) {
  hazard_state *s = &state_of(w)->hazards;
  const cdna_effects *e = x->e;
  if (w->at != s->next) s->time += TAKEN;
  if (e->mfma && s->time < s->matrix_free) s->time = s->matrix_free;
  const bool is_free = is_free_of_vector_hazards(s, e);
  bool found = false;
  for (int r = 0; r < e->n_reads && !found; r++)
    if (e->read[r].first < CDNA_VGPRS)
      found = read_scalar(w, x, &e->read[r]);
    else if (!is_free)
      found = read_vector(w, x, &e->read[r]);
  for (int r = 0; r < e->n_writes && !found && !is_free; r++)
    if (e->write[r].first >= CDNA_VGPRS) found = write_vector(w, x, &e->write[r]);
  remember(w, x);
  s->time += e->wait_states;
  s->next = w->at + x->op->dwords;
}
