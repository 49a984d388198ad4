/* registers.c - register allocation: each part of a value has its place from the cycle after its write to its last
 * read.
 *
 * In a loop these lives are arcs on a circle of II cycles. A life longer than II needs several alternating registers:
 * the loop is unrolled by modulo variable expansion (M. Lam, 1988), and the arcs of all copies are coloured on the
 * larger circle. Colouring circular arcs is greedy from a cut: several cuts are tried, and more copies than needed.
 * Spilling is not modelled. */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/xdna2/core/timetable.h"

typedef struct life {
  int from, to; /* first and last cycle, in iteration 0. from > to: never alive */
} life;

enum { REGISTERS_MAX = 64, PARTS_MAX = 8, COPIES_MORE = 2 };

typedef struct ranked {
  int class, behind; /* pinned values first, then pairs; then by their start after cycle 0 of the circle */
  int instance;      /* value * copies + copy */
} ranked;

typedef struct allocator {
  const xc_graph *g;
  xc_timetable *s;
  const life *life;                /* index: value and part */
  int circle;                      /* cycles */
  uint64_t *busy;                  /* index: cycle and part; a bit for each used register of one file */
  int registers, constants, parts; /* of the current file; parts: of one register */
  int n;
  ranked *list; /* all instances of that file, in order */
} allocator;

static void lengthen(life *l, unsigned parts, int from, int to) {
  for (int part = 0; parts >> part; part++) {
    if (!(parts >> part & 1)) continue;
    if (from < l[part].from) l[part].from = from;
    if (to > l[part].to) l[part].to = to;
  }
}

static life *find_lives(const xc_graph *g, const xc_timetable *s) {
  life *lives = tw_new((size_t)g->n_values * PARTS_MAX, sizeof *lives);
  for (int i = 0; lives && i < g->n_values * PARTS_MAX; i++) lives[i] = (life){INT_MAX, INT_MIN};
  for (int i = 0; lives && i < g->n_nodes; i++) {
    const xc_node *n = &g->node[i];
    const int arrives = s->cycle[i] + xc_write_at(g, n) + 1; /* the result arrives even if nothing uses it */
    if (n->write.value >= 0) lengthen(&lives[n->write.value * PARTS_MAX], n->write.parts, arrives, arrives);
    for (int r = 0; r < n->n_reads; r++) { /* with a bypass it may be read before it arrives */
      const int read = s->cycle[i] + xc_read_at(g, n, r);
      lengthen(&lives[n->read[r].value * PARTS_MAX], n->read[r].parts, read, read);
    }
  }
  return lives;
}

static int wrapped(const allocator *a, int cycle) { return (cycle % a->circle + a->circle) % a->circle; }
static int next_on(const allocator *a, int at) { return at + 1 < a->circle ? at + 1 : 0; }

/* The start of a part's life on the circle, `shift` cycles later; 0 if it is never alive. */
static int start_of(const allocator *a, const life *l, int shift) {
  return l->from <= l->to ? wrapped(a, l->from + shift) : 0;
}

/* A mask of the first registers with which all parts of an instance would be free; 0 if it lives longer than the
 * circle. */
static uint64_t free_for(const allocator *a, int instance) {
  const int value = instance / a->s->copies, shift = instance % a->s->copies * a->s->ii;
  uint64_t taken = 0;
  for (int part = 0; part < a->g->value[value].width * a->parts; part++) {
    const life *l = &a->life[value * PARTS_MAX + part];
    uint64_t busy = 0;
    if (l->from <= l->to && l->to - l->from + 1 > a->circle) return 0;
    for (int c = l->from, at = start_of(a, l, shift); c <= l->to; c++, at = next_on(a, at))
      busy |= a->busy[at * PARTS_MAX + part % a->parts];
    taken |= busy >> part / a->parts;
  }
  return ~taken;
}

static void take_register(allocator *a, int instance, int reg) {
  const int value = instance / a->s->copies, shift = instance % a->s->copies * a->s->ii;
  for (int part = 0; part < a->g->value[value].width * a->parts; part++) {
    const life *l = &a->life[value * PARTS_MAX + part];
    for (int c = l->from, at = start_of(a, l, shift); c <= l->to; c++, at = next_on(a, at))
      a->busy[at * PARTS_MAX + part % a->parts] |= (uint64_t)1 << (reg + part / a->parts);
  }
}

/* The register of an instance of a value, the lowest that fits; -1 if none does. */
static int colour(allocator *a, int instance) {
  const xc_value *v = &a->g->value[instance / a->s->copies];
  const uint64_t may_have = free_for(a, instance);
  for (int reg = 0; reg + v->width <= a->registers - a->constants; reg += v->width)
    if ((v->pin < 0 || v->pin == reg) && (may_have >> reg & 1)) {
      take_register(a, instance, reg);
      return reg;
    }
  return -1;
}

static int begins(const allocator *a, int value) {
  int first = INT_MAX;
  for (int part = 0; part < PARTS_MAX; part++)
    if (a->life[value * PARTS_MAX + part].from < first) first = a->life[value * PARTS_MAX + part].from;
  return first;
}

static int compare(const void *x, const void *y) {
  const ranked *a = x, *b = y;
  if (a->class != b->class) return a->class - b->class;
  return a->behind != b->behind ? a->behind - b->behind : a->instance - b->instance;
}

static void list_instances(allocator *a, xc_file file) {
  a->n = 0;
  for (int value = 0; value < a->g->n_values; value++)
    for (int copy = 0; a->g->value[value].file == file && copy < a->s->copies; copy++) {
      const xc_value *v = &a->g->value[value];
      a->list[a->n++] = (ranked){.class = v->pin >= 0    ? 0
                                          : v->width > 1 ? 1
                                                         : 2,
                                 .behind = wrapped(a, begins(a, value) + copy * a->s->ii),
                                 .instance = value * a->s->copies + copy};
    }
  qsort(a->list, (size_t)a->n, sizeof *a->list, compare);
}

/* True if no cycle has more living parts than the file has: otherwise no order of colouring can succeed. */
static bool may_suffice(allocator *a) {
  bool enough = true;
  memset(a->busy, 0, (size_t)a->circle * PARTS_MAX * sizeof *a->busy); /* here: counts */
  for (int i = 0; i < a->n && enough; i++) {
    const int value = a->list[i].instance / a->s->copies, shift = a->list[i].instance % a->s->copies * a->s->ii;
    for (int part = 0; part < a->g->value[value].width * a->parts; part++) {
      const life *l = &a->life[value * PARTS_MAX + part];
      for (int c = l->from, at = start_of(a, l, shift); c <= l->to; c++, at = next_on(a, at))
        enough &= ++a->busy[at * PARTS_MAX + part % a->parts] <= (uint64_t)(a->registers - a->constants);
    }
  }
  return enough;
}

static int colour_one(allocator *a, int instance, int *used) {
  const int reg = colour(a, instance), width = a->g->value[instance / a->s->copies].width;
  a->s->reg[instance] = reg;
  if (reg >= 0 && reg + width > *used) *used = reg + width;
  return reg;
}

/* Colours all values of a file, beginning at a cycle `cut`; returns the number of registers used, -1 if they do not
 * suffice. The instances of each class are coloured in circular order after the cut. */
static int colour_file(allocator *a, int cut) {
  int used = 0;
  memset(a->busy, 0, (size_t)a->circle * PARTS_MAX * sizeof *a->busy);
  for (int from = 0, to; from < a->n; from = to) {
    int first = from;
    for (to = from; to < a->n && a->list[to].class == a->list[from].class; to++) first += a->list[to].behind < cut;
    for (int i = first; i < to; i++)
      if (colour_one(a, a->list[i].instance, &used) < 0) return -1;
    for (int i = from; i < first; i++)
      if (colour_one(a, a->list[i].instance, &used) < 0) return -1;
  }
  return used + a->constants;
}

/* Tries several cuts, spread over the circle. */
static bool colour_with_cuts(allocator *a, xc_file file) {
  enum { CUTS = 64 };
  const int step = a->circle > CUTS ? a->circle / CUTS : 1;
  a->registers = file == XC_VECTOR ? a->g->machine->vectors : a->g->machine->accumulators;
  a->constants = a->g->constants[file];
  a->parts = file == XC_VECTOR ? 1 : a->g->machine->accumulator_parts;
  list_instances(a, file);
  if (!may_suffice(a)) return false;
  for (int cut = 0; cut < a->circle; cut += step)
    if ((a->s->used[file] = colour_file(a, cut)) >= 0) return true;
  return false;
}

static const char *const file_names[XC_FILES] = {"vector registers", "accumulators"};

/* With a given number of copies. On failure `lacking` is the file that is too small. */
static tw_status try_copies(const xc_graph *g, xc_timetable *s, const life *lives, int copies, int *lacking) {
  allocator a = {.g = g, .s = s, .life = lives};
  const size_t instances = (size_t)g->n_values * (size_t)copies;
  tw_status status = TW_OK;
  s->copies = copies;
  /* straight-line code: results may arrive after its end */
  a.circle = s->ii ? s->ii * copies : s->length + 2 * REGISTERS_MAX;
  free(s->reg);
  s->reg = tw_new(instances, sizeof *s->reg);
  a.busy = tw_new((size_t)a.circle, PARTS_MAX * sizeof *a.busy);
  a.list = tw_new(instances, sizeof *a.list);
  if (!s->reg || !a.busy || !a.list) status = TW_NO_MEMORY;
  for (int file = 0; file < XC_FILES && status == TW_OK; file++) {
    if (colour_with_cuts(&a, (xc_file)file)) continue;
    *lacking = file;
    status = TW_USAGE;
  }
  free(a.busy);
  free(a.list);
  return status;
}

tw_status xc_allocate(const xc_graph *g, xc_timetable *s, tw_error *error) {
  life *lives = find_lives(g, s);
  int least = 1, lacking = 0;
  tw_status status = lives ? TW_USAGE : TW_NO_MEMORY;
  for (int i = 0; lives && s->ii && i < g->n_values * PARTS_MAX; i++) {
    if (lives[i].from > lives[i].to) continue;
    const int needed = (lives[i].to - lives[i].from + s->ii) / s->ii;
    if (needed > least) least = needed;
  }
  for (int copies = least; status == TW_USAGE && copies <= (s->ii ? least + COPIES_MORE : 1); copies++)
    status = try_copies(g, s, lives, copies, &lacking);
  free(lives);
  if (status == TW_NO_MEMORY) return tw_fail(error, status, "out of memory");
  if (status == TW_USAGE)
    return tw_fail(error, status, "values do not fit the %d %s; spilling is not modelled",
                   lacking == XC_VECTOR ? g->machine->vectors : g->machine->accumulators, file_names[lacking]);
  return TW_OK;
}
