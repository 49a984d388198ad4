/* checks.c - see checks.h: lists of findings, the begin and end of a workgroup, barriers and defects. */
#include "target/cdna/checks/checks.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/cdna/checks/state.h"

static const char *const names[CDNA_CHECKS] = {"bounds",    "uninitialized", "races",    "waits",  "hazards",
                                               "alignment", "barriers",      "overlaps", "defects"};
const char *cdna_check_name(cdna_check c) { return names[c]; }

tw_status cdna_checks_parse(const char *text, unsigned *out, tw_error *error) {
  char copy[200], *rest = copy, *word;
  *out = 0;
  if (!strcmp(text, "none")) return TW_OK;
  if (!strcmp(text, "all") || !strcmp(text, "usual")) {
    *out = ((1u << CDNA_CHECKS) - 1) | (*text == 'u' ? CDNA_CHECKS_LENIENT : 0u);
    return TW_OK;
  }
  snprintf(copy, sizeof copy, "%s", text);
  while ((word = strsep(&rest, ","))) {
    int c = 0;
    while (c < CDNA_CHECKS && strcmp(names[c], word) != 0) c++;
    if (c == CDNA_CHECKS)
      return tw_fail(error, TW_USAGE,
                     "--checks %s: unknown check '%s'; expected bounds, uninitialized, races, waits, hazards, "
                     "alignment, barriers, overlaps, defects, all or none",
                     text, word);
    *out |= 1u << c;
  }
  return TW_OK;
}

bool cdna_checks_ignore_bounds(const tw_inspection *i) {
  unsigned checks;
  return i && i->checks && cdna_checks_parse(i->checks, &checks, NULL) == TW_OK && !(checks >> CDNA_CHECK_BOUNDS & 1);
}

/* ---- findings ---- */

static void lock(cdna_checker *c) {
  while (atomic_flag_test_and_set(&c->lock)) {}
}
static void unlock(cdna_checker *c) { atomic_flag_clear(&c->lock); }

/* The entry for an instruction and check: the first occurrence in the workgroup with the lowest number. */
static cdna_finding *place_for(cdna_checker *c, cdna_check check, size_t at) {
  for (size_t i = 0; i < c->n; i++)
    if (c->finding[i].check == check && c->finding[i].at == at) return &c->finding[i];
  if (c->n == c->room) {
    const size_t room = c->room ? 2 * c->room : 16;
    cdna_finding *more = realloc(c->finding, room * sizeof *more);
    if (!more) {
      c->out_of_memory = true;
      return NULL;
    }
    c->finding = more;
    c->room = room;
  }
  c->finding[c->n] = (cdna_finding){.check = check, .at = at, .group = UINT64_MAX};
  return &c->finding[c->n++];
}

bool found_before(cdna_wave *w, cdna_check check, size_t at) {
  cdna_checker *c = ((group_state *)w->group->observed)->checker;
  bool met = false;
  lock(c);
  for (size_t i = 0; i < c->n && !met; i++)
    if (c->finding[i].check == check && c->finding[i].at == at && c->finding[i].group <= w->group->id) {
      c->finding[i].times++;
      met = true;
    }
  unlock(c);
  return met;
}

void find_at(cdna_wave *w, cdna_check check, size_t at, int lane, const char *format, ...) {
  group_state *g = w->group->observed;
  lock(g->checker);
  cdna_finding *f = place_for(g->checker, check, at);
  if (f) {
    f->times++;
    if (w->group->id < f->group) {
      f->group = w->group->id;
      memcpy(f->position, w->group->position, sizeof f->position);
      f->wave = w->id;
      f->lane = lane;
      va_list list;
      va_start(list, format);
      vsnprintf(f->text, sizeof f->text, format, list);
      va_end(list);
    }
  }
  unlock(g->checker);
}

void register_name(int code, char text[16]) {
  const char *name = code == CDNA_VCC        ? "vcc"
                     : code == CDNA_VCC + 1  ? "vcc_hi"
                     : code == CDNA_M0       ? "m0"
                     : code == CDNA_EXEC     ? "exec"
                     : code == CDNA_EXEC + 1 ? "exec_hi"
                     : code == CDNA_SCC      ? "scc"
                                             : NULL;
  if (name)
    snprintf(text, 16, "%s", name);
  else
    snprintf(text, 16, "%c%d", code >= 512 ? 'a' : code >= 256 ? 'v' : 's', code & 255);
}

void place_name(const cdna_wave *w, size_t at, char *text, size_t size) {
  const cdna_program *p = w->program;
  char place[160];
  cdna_object_place(p->object, p->code + 4 * at, place, sizeof place);
  snprintf(text, size, "%s (%s)", p->op[at].instruction ? p->op[at].instruction->name : "an instruction", place);
}

/* "races: ds_read_b32 at 0x1a4 (kernel.c:12), workgroup 0,0,0 wave 1 lane 3: ..."; the key: "races KERNEL ds_read_b32
 * kernel.c:12". */
static tw_check_finding describe(const cdna_finding *f, const cdna_object *o, const cdna_kernel *k) {
  const char *instruction = "an instruction";
  char place[200]; /* FILE:LINE, or SYMBOL+OFFSET */
  tw_text text = {0}, key = {0};
  uint64_t code = 0;
  cdna_code c;
  for (size_t i = 0; i < o->n_segments; i++) {
    const cdna_segment *s = &o->segment[i];
    if (!s->executable || k->entry - s->address >= s->file_size || 4 * f->at >= s->file_size) continue;
    uint32_t word[4] = {0};
    const size_t left = s->file_size / 4 - f->at;
    code = s->address;
    memcpy(word, s->data + 4 * f->at, 4 * (left < 4 ? left : 4));
    if (!cdna_decode(o->arch, word, left < 4 ? left : 4, &c)) instruction = c.instruction->name;
  }
  const uint64_t address = code + 4 * f->at;
  cdna_object_place(o, address, place, sizeof place);
  tw_text_add(&text, "%s: %s at 0x%" PRIx64 " (%s), workgroup %u,%u,%u wave %d", names[f->check], instruction, address,
              place, f->position[0], f->position[1], f->position[2], f->wave);
  if (f->lane >= 0) tw_text_add(&text, " lane %d", f->lane);
  tw_text_add(&text, ": %s", f->text);
  if (f->times > 1) tw_text_add(&text, " (%" PRIu64 " times)", f->times);
  tw_text_add(&key, "%s %s %s %s", names[f->check], k->name, instruction, place);
  return (tw_check_finding){.text = tw_text_take(&text), .key = tw_text_take(&key), .at = address};
}

/* A missing barrier or wait is listed before its consequence: values that have not arrived. */
static bool is_cause(cdna_check c) {
  return c == CDNA_CHECK_BARRIERS || c == CDNA_CHECK_RACES || c == CDNA_CHECK_WAITS;
}

static int by_cause(const void *a, const void *b) {
  const cdna_finding *x = a, *y = b;
  if (is_cause(x->check) != is_cause(y->check)) return is_cause(x->check) ? -1 : 1;
  if (x->at != y->at) return x->at < y->at ? -1 : 1;
  return (int)x->check - (int)y->check;
}

size_t cdna_checker_findings(const cdna_checker *c, const cdna_finding **out) {
  if (c->n) qsort(c->finding, c->n, sizeof *c->finding, by_cause);
  *out = c->finding;
  return c->n;
}

static bool is_warning(const cdna_checker *c, cdna_check check) {
  return check == CDNA_CHECK_DEFECTS || (check == CDNA_CHECK_HAZARDS && c->checks & CDNA_CHECKS_LENIENT);
}

/* ---- a workgroup ---- */

static void free_state(group_state *g) {
  free(g->count);
  for (int i = 0; g->wave && i < g->n_waves; i++) free(g->wave[i].undefined.scratch);
  free(g->wave);
  free(g->cell);
  free(g->lds_undefined);
  free(g);
}

static void forget_program(cdna_checker *c) {
  while (c->idle) {
    group_state *g = c->idle;
    c->idle = g->next;
    free_state(g);
  }
  for (int i = 0; i < OWNERS_MAX; i++) {
    free(c->owner[i]);
    c->owner[i] = NULL;
  }
  free(c->effects);
  c->effects = NULL;
  c->program = NULL;
}

/* Counts continue over kernels with the same code. */
static bool count_code(cdna_checker *c, size_t n) {
  if (!c->counts || c->n_count == n) return true;
  free(c->count);
  c->n_count = n;
  c->count = calloc(n, sizeof *c->count);
  return c->count != NULL;
}

static bool meet_program(cdna_checker *c, const cdna_group *group) {
  forget_program(c);
  c->program = group->program;
  c->effects = cdna_program_effects(group->program);
  if (!c->effects || !count_code(c, group->program->n)) return false;
  c->lds = group->lds_bytes;
  c->work_items = 0;
  for (int i = 0; i < group->n_waves; i++) c->work_items += __builtin_popcountll(cdna_exec(&group->wave[i]));
  c->cell_shift = 2;
  for (size_t i = 0; i < group->program->n; i++) {
    const cdna_effects *e = &c->effects[i];
    if (e->access && e->bytes < 1 << c->cell_shift && (e->space == CDNA_SPACE_LDS || e->space == CDNA_SPACE_FLAT))
      c->cell_shift = e->bytes / 2; /* 1 or 2 bytes */
  }
  const cdna_memory *m = group->memory;
  for (size_t i = 0; i < m->n; i++) {
    const cdna_allocation *a = &m->allocation[i];
    if (!a->writable || (!checks_for(c, CDNA_CHECK_OVERLAPS) && !checks_for(c, CDNA_CHECK_UNINITIALIZED))) continue;
    c->owner[i] = calloc(a->size + 1, sizeof *c->owner[i]);
    if (!c->owner[i]) return false;
    if (!a->undefined) continue; /* all bytes are given: owners need no mark, which would take memory */
    const uint64_t from = a->defined_at, to = from + a->defined_bytes;
    for (uint64_t b = from; b < to && b < a->size; b++) atomic_init(&c->owner[i][b], OWNER_GIVEN);
  }
  return true;
}

static group_state *new_state(cdna_checker *c, const cdna_group *group) {
  group_state *g = calloc(1, sizeof *g);
  if (!g) return NULL;
  const size_t cells = (group->lds_bytes + (1u << c->cell_shift) - 1) >> c->cell_shift;
  g->checker = c;
  g->lds_bytes = group->lds_bytes;
  g->n_waves = group->n_waves;
  g->cell = calloc(cells + 1, sizeof *g->cell);
  g->lds_undefined = calloc(group->lds_bytes + 1, 1);
  g->wave = calloc((size_t)g->n_waves, sizeof *g->wave);
  if (c->counts) g->count = calloc(c->n_count, sizeof *g->count);
  bool ok = g->cell && g->lds_undefined && g->wave && (g->count || !c->counts);
  for (int i = 0; ok && i < g->n_waves; i++) {
    const size_t bytes = (size_t)group->wave[i].scratch_bytes * CDNA_LANES;
    if (bytes) ok = (g->wave[i].undefined.scratch = malloc(bytes));
  }
  if (ok) return g;
  free_state(g);
  return NULL;
}

/* Times and numbers continue from the previous wave, whose operations ended long ago. So its entries need not be
 * cleared. */
static void begin_wave(cdna_wave *w, wave_state *s) {
  enum { FULL = 1 << 29, LONG_AGO = 1000 };
  wait_state *t = &s->waits;
  if (t->vm > FULL || t->lds > FULL || t->scalar > FULL) memset(t, 0, sizeof *t);
  if (s->hazards.time > FULL) memset(&s->hazards, 0, sizeof s->hazards);
  t->vm_done = t->vm_at_barrier = t->vm_passed = t->vm;
  t->lds_done = t->lds_at_barrier = t->lds_passed = t->lds;
  t->scalar_done = t->scalar;
  s->hazards.time += LONG_AGO;
  s->hazards.matrix_free = s->hazards.matrix_until = 0;
  s->hazards.next = 0;
  s->first_exec = cdna_exec(w);
  s->barriers = 0;
}

static bool begin_group(void *context, cdna_group *group) {
  cdna_checker *c = context;
  lock(c);
  bool ok = c->program == group->program || meet_program(c, group);
  group_state *g = ok ? c->idle : NULL;
  if (g) c->idle = g->next;
  unlock(c);
  if (ok && !g) g = new_state(c, group);
  if (!g) {
    tw_fail(group->error, TW_NO_MEMORY, "out of memory for checks: run with --checks none");
    return false;
  }
  g->group = group;
  g->first = ++g->epoch;
  group->observed = g;
  if (checks_for(c, CDNA_CHECK_UNINITIALIZED)) memset(g->lds_undefined, 1, g->lds_bytes);
  g->lds_defined = false;
  for (int i = 0; i < g->n_waves; i++) {
    begin_wave(&group->wave[i], &g->wave[i]);
    if (checks_for(c, CDNA_CHECK_UNINITIALIZED)) undefined_begin(&group->wave[i]);
  }
  return true;
}

/* All waves of a workgroup must arrive at barriers equally often. AMD's rules do not define waiting for a wave that
 * ended earlier, and a wave that passes one more barrier does so by chance. */
static void compare_barriers(cdna_group *group, const group_state *g) {
  int most = 0, least = 0;
  for (int i = 0; i < g->n_waves; i++) {
    if (group->wave[i].state != CDNA_ENDED) return;
    if (g->wave[i].barriers > g->wave[most].barriers) most = i;
    if (g->wave[i].barriers < g->wave[least].barriers) least = i;
  }
  if (g->wave[most].barriers == g->wave[least].barriers) return;
  find_at(&group->wave[most], CDNA_CHECK_BARRIERS, g->wave[most].last_barrier, -1,
          "the wave is at a barrier for the %u. time, and wave %d has ended after %u barriers", g->wave[most].barriers,
          least, g->wave[least].barriers);
}

static void end_group(void *context, cdna_group *group) {
  cdna_checker *c = context;
  group_state *g = group->observed;
  if (!g) return;
  if (g->n_doubtful) lds_settle(group);
  if (checks_for(c, CDNA_CHECK_BARRIERS)) compare_barriers(group, g);
  group->observed = NULL;
  lock(c);
  for (size_t i = 0; g->count && i < c->n_count; i++)
    if (g->count[i].executions) {
      cdna_count_add(&c->count[i], &g->count[i]);
      g->count[i] = (cdna_count){0};
    }
  g->next = c->idle;
  c->idle = g;
  unlock(c);
}

/* All waves left the barrier, so accesses before it precede accesses after it. */
static void pass_barrier(void *context, cdna_group *group) {
  group_state *g = group->observed;
  const cdna_checker *c = context;
  if (g->n_doubtful) lds_settle(group);
  if (checks_for(c, CDNA_CHECK_UNINITIALIZED) && !g->lds_defined)
    g->lds_defined = !memchr(g->lds_undefined, 1, g->lds_bytes);
  g->epoch++;
  for (int i = 0; i < g->n_waves; i++) {
    wait_state *s = &g->wave[i].waits;
    const bool ended = group->wave[i].state == CDNA_ENDED;
    s->vm_passed = ended ? s->vm : s->vm_at_barrier;
    s->lds_passed = ended ? s->lds : s->lds_at_barrier;
  }
}

/* ---- an instruction ---- */

static void barrier_before(cdna_wave *w, const cdna_checker *c) {
  wave_state *s = state_of(w);
  s->barriers++;
  s->last_barrier = (uint32_t)w->at;
  s->waits.vm_at_barrier = s->waits.vm_done;
  s->waits.lds_at_barrier = s->waits.lds_done;
  const uint64_t off = s->first_exec & ~cdna_exec(w);
  if (off && checks_for(c, CDNA_CHECK_BARRIERS))
    find_at(w, CDNA_CHECK_BARRIERS, w->at, __builtin_ctzll(off),
            "a barrier in divergent code: %d of the wave's %d lanes are inactive here for the first time",
            __builtin_popcountll(off), __builtin_popcountll(s->first_exec));
}

/* Most instructions that compute have defined registers, into which nothing is being loaded: then checks of undefined
 * values and of waits have nothing to find and to record. */
static bool is_quiet(const cdna_wave *w, const cdna_effects *e) {
  const wave_state *s = state_of(w);
  const wait_state *t = &s->waits;
  const bool flying = t->vm > t->vm_done || t->lds > t->lds_done || t->scalar > t->scalar_done;
  uint64_t bits = s->undefined.scc;
  for (int i = 0; i < e->n_words; i++)
    bits |= (s->undefined.any.bit[e->word[i]] | (flying ? t->in_flight.bit[e->word[i]] : 0)) & e->bits[i];
  return e->n_words && !bits;
}

/* True: no other check is needed. */
static bool pass_plain(const cdna_checker *c, cdna_wave *w, const cdna_op *op, size_t at) {
  const cdna_effects *e = &c->effects[at];
  return e->is_plain && is_quiet(w, e) && (!checks_for(c, CDNA_CHECK_HAZARDS) || hazards_before_plain(w, op, e, at));
}

/* Plain instructions that follow need no call each: none of them changes what the next one is checked against, except
 * the times of writes. */
static void pass_more(const cdna_checker *c, cdna_wave *w, const cdna_op *op) {
  size_t at = w->at + op->dwords;
  if (!cdna_goes_on(w, op)) return;
  for (const cdna_op *next = op + op->dwords; w->more < w->room && next->run == op->run; next += next->dwords) {
    if (!pass_plain(c, w, next, at)) return;
    at += next->dwords;
    w->more++;
  }
}

static void before(void *context, cdna_wave *w, const cdna_op *op) {
  const cdna_checker *c = context;
  if (((group_state *)w->group->observed)->n_doubtful) lds_settle(w->group);
  if (!op->instruction) return;
  seen x;
  x.op = op;
  x.e = &c->effects[w->at];
  if (!c->counts && pass_plain(c, w, op, w->at)) {
    pass_more(c, w, op);
    return;
  }
  const bool hazards = checks_for(c, CDNA_CHECK_HAZARDS);
  if (!c->counts && is_quiet(w, x.e) && !(x.e->traits & CDNA_SUSPECT)) {
    if (hazards) hazards_before(w, &x);
    return;
  }
  x.exec = x.e->reads_exec ? cdna_exec(w) : ~0ull;
  if (w->mode & CDNA_MODE_SKIP && x.e->klass >= CDNA_CLASS_VALU) x.exec = 0;
  x.reaches = x.e->access && cdna_access_of(w, op, &x.access);
  if (c->counts) {
    const group_state *g = w->group->observed;
    cdna_count_instruction(w, op, x.e->klass >= CDNA_CLASS_VALU, x.exec, x.reaches ? &x.access : NULL,
                           &g->count[w->at]);
  }
  if (checks_for(c, CDNA_CHECK_UNINITIALIZED)) undefined_before(w, &x);
  if (checks_for(c, CDNA_CHECK_WAITS) || checks_for(c, CDNA_CHECK_RACES)) waits_before(w, &x);
  if (hazards) hazards_before(w, &x);
  if (x.reaches) {
    if (checks_for(c, CDNA_CHECK_ALIGNMENT)) alignment_before(w, &x);
    if (checks_for(c, CDNA_CHECK_RACES)) lds_before(w, &x);
    if (checks_for(c, CDNA_CHECK_OVERLAPS) || checks_for(c, CDNA_CHECK_UNINITIALIZED)) global_before(w, &x);
  }
  if (x.e->klass == CDNA_CLASS_BARRIER) barrier_before(w, c);
  if (x.e->traits & CDNA_SUSPECT && checks_for(c, CDNA_CHECK_DEFECTS))
    find_at(w, CDNA_CHECK_DEFECTS, w->at, -1,
            "gfx950 is suspected to skip the low half of v_pk_fma_f32 with op_sel:[0,1,0] in rare cases (ROCm/rocMLIR "
            "2459); use another form");
}

tw_status cdna_checker_new(const tw_inspection *i, cdna_checker **out, tw_error *error) {
  unsigned checks;
  const tw_status status = cdna_checks_parse(i->checks, &checks, error);
  *out = NULL;
  if (status != TW_OK || (!(checks & ~(1u << CDNA_CHECK_BOUNDS)) && !i->counts)) return status;
  cdna_checker *c = calloc(1, sizeof *c);
  if (!c) return tw_no_memory(error, NULL);
  c->checks = checks;
  c->counts = i->counts;
  atomic_flag_clear(&c->lock);
  c->observer =
      (cdna_observer){.context = c, .begin = begin_group, .before = before, .barrier = pass_barrier, .end = end_group};
  *out = c;
  return TW_OK;
}

/* Did a run on other inputs find it at the same instruction? */
static bool is_listed(const tw_inspection *i, const tw_check_finding *f) {
  for (size_t k = 0; f->key && k < i->n_findings; k++)
    if (i->finding[k].at == f->at && !strcmp(i->finding[k].key, f->key)) return true;
  return false;
}

void cdna_checker_report(cdna_checker *c, const cdna_object *o, const cdna_kernel *k, const cdna_machine *m,
                         tw_inspection *i) {
  if (c->count) cdna_counts_report(c->count, c->n_count, o, k, m, c->work_items, (int)c->lds, i);
  const cdna_finding *f;
  const size_t n = cdna_checker_findings(c, &f);
  for (size_t at = 0; at < n; at++) {
    tw_check_finding one = describe(&f[at], o, k);
    one.is_warning = is_warning(c, f[at].check);
    if (!is_listed(i, &one)) {
      tw_inspection_add(i, one);
    } else {
      free(one.text);
      free(one.key);
    }
  }
  c->n = 0;
}

void cdna_checker_add(cdna_checker *c, const cdna_checker *other) {
  for (size_t i = 0; i < other->n; i++) {
    const cdna_finding *f = &other->finding[i];
    cdna_finding *to = place_for(c, f->check, f->at);
    if (!to) return;
    const uint64_t times = to->times + f->times;
    if (f->group < to->group) *to = *f;
    to->times = times;
  }
  if (other->work_items) c->work_items = other->work_items, c->lds = other->lds;
  if (!other->count || !count_code(c, other->n_count)) return;
  for (size_t i = 0; i < c->n_count; i++) cdna_count_add(&c->count[i], &other->count[i]);
}

void cdna_checker_free(cdna_checker *c) {
  if (!c) return;
  forget_program(c);
  free(c->count);
  free(c->finding);
  free(c);
}

const cdna_observer *cdna_checker_start(cdna_checker *c) {
  forget_program(c);
  return &c->observer;
}
