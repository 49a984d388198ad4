/* registers.c - register allocation: each part of a value has its place from the cycle behind its write to its last read.
 *
 * In a loop these lives are arcs on a circle of II cycles. A life longer than II needs several registers in turn: the
 * loop is unrolled by modulo variable expansion (M. Lam, 1988), and the arcs of all copies are coloured on the larger
 * circle. Colouring circular arcs is greedy from a cut: several cuts are tried, and more copies than needed. Nothing is
 * spilled. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/xdna2/core/schedule.h"

typedef struct life {
  int from, to; /* cycles, both included; of iteration 0. from > to: never */
} life;

enum { REGISTERS_MAX = 64, PARTS_MAX = 8, UNITS_MAX = REGISTERS_MAX * 4, COPIES_MORE = 2 };

typedef struct allocator {
  const xc_graph *g;
  xc_schedule *s;
  const life *life;                /* by value and part */
  int circle;                      /* cycles */
  unsigned char *busy;             /* by cycle and part of a register, of one file */
  int registers, constants, parts; /* of that file; parts of one register */
} allocator;

static void lengthen(life *l, unsigned parts, int from, int to) {
  for (int part = 0; parts >> part; part++) {
    if (!(parts >> part & 1)) continue;
    if (from < l[part].from) l[part].from = from;
    if (to > l[part].to) l[part].to = to;
  }
}

static life *find_lives(const xc_graph *g, const xc_schedule *s) {
  life *lives = tw_new((size_t)g->n_values * PARTS_MAX, sizeof *lives);
  for (int i = 0; lives && i < g->n_values * PARTS_MAX; i++) lives[i] = (life){INT_MAX, INT_MIN};
  for (int i = 0; lives && i < g->n_nodes; i++) {
    const xc_node *n = &g->node[i];
    const int arrives = s->cycle[i] + xc_write_at(g, n) + 1; /* a result that nobody reads arrives, too */
    if (n->write.value >= 0) lengthen(&lives[n->write.value * PARTS_MAX], n->write.parts, arrives, arrives);
    for (int r = 0; r < n->n_reads; r++) { /* by a bypass it may be read before it arrives */
      const int read = s->cycle[i] + xc_read_at(g, n, r);
      lengthen(&lives[n->read[r].value * PARTS_MAX], n->read[r].parts, read, read);
    }
  }
  return lives;
}

static int wrapped(const allocator *a, int cycle) { return (cycle % a->circle + a->circle) % a->circle; }

/* Are all parts of an instance free in the registers from `reg` on? With `take` they no longer are. */
static bool fits(allocator *a, int instance, int reg, bool take) {
  const int value = instance / a->s->copies, shift = instance % a->s->copies * a->s->ii;
  for (int part = 0; part < a->g->value[value].width * a->parts; part++) {
    const life *l = &a->life[value * PARTS_MAX + part];
    if (l->from <= l->to && l->to - l->from + 1 > a->circle) return false;
    for (int c = l->from; c <= l->to; c++) {
      unsigned char *unit = &a->busy[wrapped(a, c + shift) * UNITS_MAX + reg * a->parts + part];
      if (*unit && !take) return false;
      *unit = *unit || take;
    }
  }
  return true;
}

/* The register of an instance of a value, the lowest that fits; -1 if none does. */
static int colour(allocator *a, int instance) {
  const xc_value *v = &a->g->value[instance / a->s->copies];
  for (int reg = 0; reg + v->width <= a->registers - a->constants; reg += v->width)
    if ((v->pin < 0 || v->pin == reg) && fits(a, instance, reg, false)) {
      fits(a, instance, reg, true);
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

/* Pinned values first, then pairs, then by their start behind the cut. */
static long rank(const allocator *a, int instance, int cut) {
  const int value = instance / a->s->copies, copy = instance % a->s->copies;
  const xc_value *v = &a->g->value[value];
  const long behind = wrapped(a, begins(a, value) + copy * a->s->ii - cut);
  return (v->pin >= 0 ? 0 : v->width > 1 ? 1L : 2L) * (a->circle + 1L) + behind;
}

typedef struct ranked {
  long rank;
  int instance;
} ranked;

static int compare(const void *x, const void *y) {
  const ranked *a = x, *b = y;
  if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
  return a->instance - b->instance;
}

/* All values of a file, cut at a cycle; returns the registers used, -1 if they do not do. */
static int colour_file(allocator *a, xc_file file, int cut, ranked *list) {
  int n = 0, used = 0;
  for (int v = 0; v < a->g->n_values; v++)
    for (int copy = 0; a->g->value[v].file == file && copy < a->s->copies; copy++) {
      const int instance = v * a->s->copies + copy;
      list[n++] = (ranked){rank(a, instance, cut), instance};
    }
  qsort(list, (size_t)n, sizeof *list, compare);
  memset(a->busy, 0, (size_t)a->circle * UNITS_MAX);
  for (int i = 0; i < n; i++) {
    const int reg = colour(a, list[i].instance), width = a->g->value[list[i].instance / a->s->copies].width;
    if (reg < 0) return -1;
    a->s->reg[list[i].instance] = reg;
    if (reg + width > used) used = reg + width;
  }
  return used + a->constants;
}

/* Tries cuts spread over the circle. */
static bool colour_with_cuts(allocator *a, xc_file file, ranked *list) {
  enum { CUTS = 64 };
  const int step = a->circle > CUTS ? a->circle / CUTS : 1;
  a->registers = file == XC_VECTOR ? a->g->machine->vectors : a->g->machine->accumulators;
  a->constants = a->g->constants[file];
  a->parts = file == XC_VECTOR ? 1 : a->g->machine->accumulator_parts;
  for (int cut = 0; cut < a->circle; cut += step)
    if ((a->s->used[file] = colour_file(a, file, cut, list)) >= 0) return true;
  return false;
}

static const char *const file_names[XC_FILES] = {"vector registers", "accumulators"};

/* With a given number of copies. On failure `lacking` is the file that is too small. */
static tw_status try_copies(const xc_graph *g, xc_schedule *s, const life *lives, int copies, int *lacking) {
  allocator a = {.g = g, .s = s, .life = lives};
  const size_t instances = (size_t)g->n_values * (size_t)copies;
  tw_status status = TW_OK;
  s->copies = copies;
  a.circle = s->ii ? s->ii * copies : s->length + 2 * REGISTERS_MAX; /* straight-line: results arrive behind the end */
  free(s->reg);
  s->reg = tw_new(instances, sizeof *s->reg);
  a.busy = tw_new((size_t)a.circle, UNITS_MAX);
  ranked *list = tw_new(instances, sizeof *list);
  if (!s->reg || !a.busy || !list) status = TW_MISSING;
  for (int file = 0; file < XC_FILES && status == TW_OK; file++) {
    if (colour_with_cuts(&a, (xc_file)file, list)) continue;
    *lacking = file;
    status = TW_USAGE;
  }
  free(a.busy);
  free(list);
  return status;
}

tw_status xc_allocate(const xc_graph *g, xc_schedule *s, tw_error *error) {
  life *lives = find_lives(g, s);
  int least = 1, lacking = 0;
  tw_status status = lives ? TW_USAGE : TW_MISSING;
  for (int i = 0; lives && s->ii && i < g->n_values * PARTS_MAX; i++) {
    if (lives[i].from > lives[i].to) continue;
    const int needed = (lives[i].to - lives[i].from + s->ii) / s->ii;
    if (needed > least) least = needed;
  }
  for (int copies = least; status == TW_USAGE && copies <= (s->ii ? least + COPIES_MORE : 1); copies++)
    status = try_copies(g, s, lives, copies, &lacking);
  free(lives);
  if (status == TW_MISSING) return tw_fail(error, status, "out of memory");
  if (status == TW_USAGE)
    return tw_fail(error, status, "values do not fit into the %d %s; nothing is spilled",
                   lacking == XC_VECTOR ? g->machine->vectors : g->machine->accumulators, file_names[lacking]);
  return TW_OK;
}
