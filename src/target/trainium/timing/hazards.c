/* hazards.c - edges between instructions.
 *
 * Each tensor that is written is cut into cells, which end wherever a run of any instruction begins or ends. If not
 * all instructions access the same partitions, each quadrant of 32 partitions has cells of its own. A cell knows its
 * last writer and the readers since. Cells are fixed before the walk over the program, so the cost of an access is
 * the number of its cells. */
#include "target/trainium/timing/hazards.h"

#include <stdlib.h>

enum {
  /* most runs of a region in SBUF or PSUM; a region with more is taken as all bytes from first to last */
  RUNS_MAX = 64,
  HBM_RUNS_MAX = 1 << 14, /* in HBM, where each row of a tile is a run */
  QUADRANTS = 4,
};

typedef struct run {
  int64_t first, end;
} run;

/* An access to a tensor; lists end with -1. */
typedef struct node {
  int instruction, next;
} node;

typedef struct cell {
  int writer;
  int readers; /* newest first */
} cell;

typedef struct track {
  int64_t *bound; /* sorted ends of runs */
  size_t n, capacity, sorted;
  cell *cell; /* for n - 1 intervals in each quadrant */
  int quadrants;
  unsigned partitions; /* bits of the quadrants of the first access */
  int last_write;      /* its place in the order; -1: not written yet */
  int accesses;        /* newest first; of tensors whose bytes others take over */
  bool is_reused, was_written;
  size_t first_inherited, n_inherited; /* last accesses of tensors whose bytes this tensor takes over */
} track;

typedef struct finder {
  const trn_compiled *c;
  trn_hazards *out;
  track *track;
  node *node;
  size_t n_nodes, node_capacity;
  int *inherited;
  size_t n_inherited, inherited_capacity;
  int *seen; /* instruction: 1 + its edge's number within the current instruction's edges */
  int *seen_by;
  run *run;
  int now;      /* place in the order */
  bool is_full; /* no memory */
} finder;

/* Runs of neighbouring bytes of a region in its tensor. */
static size_t runs_of(const trn_region *r, int64_t base, size_t at_most, run *out) {
  int64_t size[TRN_DIMS_MAX], stride[TRN_DIMS_MAX], bytes = trn_element_bytes(r->type), count = 1;
  int64_t low = base + r->offset, high = low;
  int n = 0;
  for (int i = r->n_dims - 1; i >= 0; i--) {
    if (r->size[i] <= 1 || r->stride[i] == 0) continue;
    if (n == 0 && r->stride[i] == bytes) {
      bytes *= r->size[i];
      continue;
    }
    size[n] = r->size[i];
    stride[n++] = r->stride[i];
    count *= r->size[i];
    *(r->stride[i] < 0 ? &low : &high) += (r->size[i] - 1) * r->stride[i];
  }
  if (count > (int64_t)at_most) {
    out[0] = (run){low, high + bytes};
    return 1;
  }
  for (int64_t k = 0; k < count; k++) {
    int64_t at = base + r->offset, left = k;
    for (int i = 0; i < n; i++) {
      at += left % size[i] * stride[i];
      left /= size[i];
    }
    out[k] = (run){at, at + bytes};
  }
  return (size_t)count;
}

static int compare_bounds(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void sort_bounds(track *t) {
  size_t n = 0;
  qsort(t->bound, t->n, sizeof *t->bound, compare_bounds);
  for (size_t i = 0; i < t->n; i++)
    if (n == 0 || t->bound[i] != t->bound[n - 1]) t->bound[n++] = t->bound[i];
  t->n = t->sorted = n;
}

static bool add_bound(track *t, int64_t at) {
  if (t->n >= 2 * t->sorted + 256) sort_bounds(t);
  if (!trn_room((void **)&t->bound, t->n, &t->capacity, sizeof *t->bound)) return false;
  t->bound[t->n++] = at;
  return true;
}

/* The interval that begins at this bound. */
static size_t interval_at(const track *t, int64_t at) {
  size_t low = 0, high = t->n;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (t->bound[middle] < at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static unsigned quadrants_of(const trn_region *r, int shift) {
  const int first = r->first_partition + shift;
  const int step = r->partition_step > 0 ? r->partition_step : 1;
  const int last = first + (r->partitions > 0 ? r->partitions - 1 : 0) * step;
  unsigned bits = 0;
  for (int q = 0; q < QUADRANTS; q++)
    if (first < 32 * (q + 1) && last >= 32 * q) bits |= 1u << q;
  return bits ? bits : 1;
}

typedef struct access {
  track *track;
  int64_t base;
  unsigned quadrants;
  size_t runs_max;
} access;

static access access_of(const finder *f, const trn_instruction *in, int k) {
  const trn_region *r = &in->operand[k];
  const trn_place p = trn_place_of(f->c, in, k);
  const bool is_hbm = f->c->program->tensor[p.tensor].memory == TRN_HBM;
  return (access){&f->track[p.tensor], p.offset, is_hbm ? 1 : quadrants_of(r, p.partition),
                  is_hbm ? HBM_RUNS_MAX : RUNS_MAX};
}

/* First walk: finds the written tensors and the ends of runs. */
static bool find_bounds(finder *f) {
  const trn_program *p = f->c->program;
  for (size_t at = 0; at < p->n_instructions; at++) {
    const int i = f->c->order[at];
    if (f->c->is_removed[i]) continue;
    for (int k = 0; k < p->instruction[i].n_operands; k++)
      if (p->instruction[i].operand[k].is_written) access_of(f, &p->instruction[i], k).track->last_write = (int)at;
  }
  for (size_t i = 0; i < p->n_instructions; i++) {
    const trn_instruction *in = &p->instruction[i];
    if (f->c->is_removed[i]) continue;
    for (int k = 0; k < in->n_operands; k++) {
      const access a = access_of(f, in, k);
      if (a.track->last_write < 0) continue;
      if (!a.track->quadrants) {
        a.track->quadrants = 1;
        a.track->partitions = a.quadrants;
      } else if (a.quadrants != a.track->partitions) {
        a.track->quadrants = QUADRANTS;
      }
      const size_t n = runs_of(&in->operand[k], a.base, a.runs_max, f->run);
      for (size_t j = 0; j < n; j++)
        if (!add_bound(a.track, f->run[j].first) || !add_bound(a.track, f->run[j].end)) return false;
    }
  }
  for (size_t t = 0; t < p->n_tensors; t++) {
    track *k = &f->track[t];
    if (k->n < 2) continue;
    sort_bounds(k);
    const size_t cells = (k->n - 1) * (size_t)k->quadrants;
    k->cell = malloc(cells * sizeof *k->cell); /* NOLINT(clang-analyzer-optin.portability.UnixAPI): cells > 0 */
    if (!k->cell) return false;
    for (size_t i = 0; i < cells; i++) k->cell[i] = (cell){-1, -1};
  }
  return true;
}

static void add_edge(finder *f, int to, int from, bool is_order) {
  trn_hazards *h = f->out;
  if (from < 0) return;
  from = f->c->leader[from];
  to = f->c->leader[to];
  if (from == to) return;
  if (f->seen_by[from] == to) {
    h->edge[h->first[to] + (size_t)f->seen[from]].is_order &= is_order;
    return;
  }
  if (!trn_room((void **)&h->edge, h->n, &h->capacity, sizeof *h->edge)) {
    f->is_full = true;
    return;
  }
  f->seen_by[from] = to;
  f->seen[from] = (int)(h->n - h->first[to]);
  h->edge[h->n++] = (trn_edge){from, is_order};
}

static int add_node(finder *f, int instruction, int next) {
  if (!trn_room((void **)&f->node, f->n_nodes, &f->node_capacity, sizeof *f->node)) {
    f->is_full = true;
    return next;
  }
  f->node[f->n_nodes] = (node){instruction, next};
  return (int)f->n_nodes++;
}

/* The first write to a tensor follows the last accesses of the tensors whose bytes it takes over. */
static void inherit(finder *f, int tensor) {
  track *t = &f->track[tensor];
  t->first_inherited = f->n_inherited;
  for (size_t k = f->c->first_reused[tensor]; k < f->c->first_reused[tensor + 1]; k++)
    for (int i = f->track[f->c->reused[k]].accesses; i >= 0 && !f->is_full; i = f->node[i].next) {
      f->is_full = !trn_room((void **)&f->inherited, f->n_inherited, &f->inherited_capacity, sizeof *f->inherited);
      if (!f->is_full) f->inherited[f->n_inherited++] = f->node[i].instruction;
    }
  t->n_inherited = f->n_inherited - t->first_inherited;
}

static void follow_operand(finder *f, int i, int operand) {
  const trn_instruction *in = &f->c->program->instruction[i];
  const trn_region *r = &in->operand[operand];
  const access a = access_of(f, in, operand);
  track *t = a.track;
  const int tensor = (int)(t - f->track);
  if (t->is_reused && !(t->accesses >= 0 && f->node[t->accesses].instruction == i))
    t->accesses = add_node(f, i, t->accesses);
  if (t->last_write < 0 || !t->cell) return;
  const bool accumulates = r->is_written && r->is_read && f->c->program->tensor[tensor].memory == TRN_PSUM;
  const bool keep_reader = !r->is_written && f->now < t->last_write;
  bool is_fresh = false;
  if (r->is_written && !t->was_written && f->c->first_reused) inherit(f, tensor);
  if (r->is_written) t->was_written = true;
  const size_t n = runs_of(r, a.base, a.runs_max, f->run);
  for (size_t j = 0; j < n; j++) {
    const size_t end = interval_at(t, f->run[j].end);
    for (size_t k = interval_at(t, f->run[j].first); k < end; k++)
      for (int q = 0; q < t->quadrants; q++) {
        if (t->quadrants > 1 && !(a.quadrants >> q & 1)) continue;
        cell *c = &t->cell[k * (size_t)t->quadrants + (size_t)q];
        if (c->writer < 0 && c->readers < 0) is_fresh = true;
        add_edge(f, i, c->writer, r->is_written && (!r->is_read || accumulates));
        if (r->is_written) {
          for (int reader = c->readers; reader >= 0; reader = f->node[reader].next)
            add_edge(f, i, f->node[reader].instruction, true);
          *c = (cell){i, -1};
        } else if (keep_reader && !(c->readers >= 0 && f->node[c->readers].instruction == i)) {
          c->readers = add_node(f, i, c->readers);
        }
      }
  }
  if (r->is_written && is_fresh)
    for (size_t k = 0; k < t->n_inherited; k++) add_edge(f, i, f->inherited[t->first_inherited + k], true);
}

static bool find_edges(finder *f) {
  const trn_program *p = f->c->program;
  trn_hazards *h = f->out;
  for (size_t at = 0; at < p->n_instructions; at++) {
    const int i = f->c->order[at];
    const trn_instruction *in = &p->instruction[i];
    f->now = (int)at;
    if (f->c->leader[i] == i) h->first[i] = h->end[i] = h->n;
    if (f->c->is_removed[i]) continue;
    if (in->first_wait >= 0) {
      for (int k = 0; k < in->n_waits; k++) add_edge(f, i, p->wait[in->first_wait + k], false);
    } else { /* reads come before writes: an instruction may write to the place that it reads */
      for (int k = 0; k < in->n_operands; k++)
        if (!in->operand[k].is_written) follow_operand(f, i, k);
      for (int k = 0; k < in->n_operands; k++)
        if (in->operand[k].is_written) follow_operand(f, i, k);
    }
    if (f->is_full) return false;
    h->end[f->c->leader[i]] = h->n;
  }
  return true;
}

/* The edges from their other ends. */
static bool find_successors(trn_hazards *h, size_t n) {
  h->first_successor = calloc(n + 2, sizeof *h->first_successor);
  h->successor = malloc((h->n + 1) * sizeof *h->successor);
  if (!h->first_successor || !h->successor) return false;
  for (size_t k = 0; k < h->n; k++) h->first_successor[h->edge[k].instruction + 2]++;
  for (size_t i = 0; i < n; i++) h->first_successor[i + 2] += h->first_successor[i + 1];
  for (size_t i = 0; i < n; i++)
    for (size_t k = h->first[i]; k < h->end[i]; k++)
      h->successor[h->first_successor[h->edge[k].instruction + 1]++] = (int)i;
  return true;
}

tw_status trn_find_hazards(const trn_compiled *c, trn_hazards *out, tw_error *error) {
  const trn_program *p = c->program;
  finder f = {.c = c, .out = out};
  *out = (trn_hazards){0};
  tw_blocks memory = {0};
  out->first = calloc(p->n_instructions + 1, sizeof *out->first);
  out->end = calloc(p->n_instructions + 1, sizeof *out->end);
  f.track = tw_blocks_take(&memory, (p->n_tensors + 1) * sizeof *f.track);
  f.seen = tw_blocks_take(&memory, (p->n_instructions + 1) * sizeof *f.seen);
  f.seen_by = tw_blocks_take(&memory, (p->n_instructions + 1) * sizeof *f.seen_by);
  f.run = tw_blocks_take(&memory, HBM_RUNS_MAX * sizeof *f.run);
  bool is_done = out->first && out->end && f.track && f.seen && f.seen_by && f.run;
  if (is_done) {
    for (size_t i = 0; i <= p->n_instructions; i++) f.seen_by[i] = -1;
    for (size_t t = 0; t < p->n_tensors; t++) f.track[t].last_write = f.track[t].accesses = -1;
    for (size_t k = 0; c->first_reused && k < c->n_reused; k++) f.track[c->reused[k]].is_reused = true;
    is_done = find_bounds(&f) && find_edges(&f) && find_successors(out, p->n_instructions);
  }
  for (size_t t = 0; f.track && t < p->n_tensors; t++) {
    free(f.track[t].bound);
    free(f.track[t].cell);
  }
  tw_blocks_free(&memory);
  free(f.node);
  free(f.inherited);
  if (is_done) return TW_OK;
  trn_hazards_free(out);
  return tw_no_memory(error, "the timing of a kernel");
}

bool trn_take_arrays(trn_compiled *c) {
  const size_t n = c->program->n_instructions;
  c->is_removed = tw_blocks_take(&c->memory, (n + 1) * sizeof *c->is_removed);
  c->engines = tw_blocks_take(&c->memory, (n + 1) * sizeof *c->engines);
  int *each = c->order = tw_blocks_take(&c->memory, 3 * (n + 1) * sizeof *each);
  if (!c->is_removed || !c->engines || !each) return false;
  c->leader = each + n + 1;
  c->members = c->leader + n + 1;
  trn_forget_groups(c);
  return true;
}

void trn_forget_groups(trn_compiled *c) {
  for (size_t i = 0; i < c->program->n_instructions; i++) {
    c->order[i] = c->leader[i] = (int)i;
    c->members[i] = 1;
  }
}

tw_status trn_find_program_hazards(const trn_program *p, trn_hazards *out, tw_error *error) {
  trn_compiled c = {.program = p};
  *out = (trn_hazards){0};
  const tw_status status = trn_take_arrays(&c) ? trn_find_hazards(&c, out, error) : tw_no_memory(error, NULL);
  tw_blocks_free(&c.memory);
  return status;
}

void trn_hazards_free(trn_hazards *h) {
  free(h->first);
  free(h->end);
  free(h->edge);
  free(h->first_successor);
  free(h->successor);
  *h = (trn_hazards){0};
}
