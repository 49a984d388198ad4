/* case.c - a launch of a case: see artefact.h. The timed work equals the checked work: same addresses, same
 * workspace. */
#include <stdlib.h>
#include <string.h>

#include "target/cdna/artefact.h"

enum { ARGUMENT_BYTES = TW_LAUNCH_ARGUMENTS * 8 };

static tw_status add_argument(const tw_launch_argument *a, const uint64_t operand[], uint64_t workspace, uint8_t *block,
                              size_t *size, tw_error *error) {
  uint64_t value = 0;
  size_t bytes = 8;
  float narrow;
  switch (a->kind) {
  case TW_LAUNCH_OPERAND: value = operand[a->index]; break;
  case TW_LAUNCH_WORKSPACE: value = workspace + (uint64_t)a->integer; break;
  case TW_LAUNCH_I64: memcpy(&value, &a->integer, 8); break;
  case TW_LAUNCH_F64: memcpy(&value, &a->real, 8); break;
  case TW_LAUNCH_I32:
    if (a->integer != (int32_t)a->integer)
      return tw_fail(error, TW_FAILED, "argument %lld does not fit 32 bits; write i64(...)", (long long)a->integer);
    value = (uint32_t)a->integer;
    bytes = 4;
    break;
  case TW_LAUNCH_F32:
    narrow = (float)a->real;
    memcpy(&value, &narrow, 4);
    bytes = 4;
    break;
  default: return tw_fail(error, TW_FAILED, "tensor maps are unsupported as arguments");
  }
  *size = (*size + bytes - 1) & ~(bytes - 1);
  memcpy(block + *size, &value, bytes);
  *size += bytes;
  return TW_OK;
}

/* Operands of a launch's kernels in memory: the workspace, if there is one, then the operands. */
typedef struct case_memory {
  const tw_case *data;
  cdna_memory *memory;
  uint64_t operand[TW_OPERANDS_MAX], workspace; /* addresses */
  size_t first_operand, n_operands;             /* in memory */
} case_memory;

static void set_shape(const tw_launch_kernel *l, cdna_launch *out) {
  for (int axis = 0; axis < 3; axis++) {
    out->grid[axis] = l->grid[axis] > 0 && l->grid[axis] <= INT32_MAX ? (uint32_t)l->grid[axis] : 0;
    out->block[axis] = l->block[axis] > 0 && l->block[axis] <= INT32_MAX ? (uint32_t)l->block[axis] : 0;
  }
}

/* Seed of the random places of the grid to time, drawn after the kernel is compiled and its inputs are drawn. */
static uint64_t place_seed(const tw_artefact *a, const tw_case *k, size_t kernel) {
  uint64_t h = k->seed ^ 0xcbf29ce484222325u;
  for (size_t i = 0; i < a->object.file_size; i++) h = (h ^ a->object.file[i]) * 0x100000001b3u;
  return (h ^ (uint64_t)kernel << 56) | 1;
}

/* Begins a launch of the whole grid and records the work of single workgroups. */
static void watch_all(cdna_watch *w, uint64_t groups) {
  enum { GROUPS_MOST = 1 << 22 };
  float *work = w->work;
  if (groups > w->room) {
    free(work);
    work = groups <= GROUPS_MOST ? tw_new((size_t)groups, sizeof *work) : NULL;
    w->room = work ? (size_t)groups : 0;
  }
  *w = (cdna_watch){.whole = true, .work = work, .room = w->room};
}

void cdna_artefact_forget(tw_artefact *a) {
  for (size_t i = 0; i < TW_LAUNCH_KERNELS; i++) {
    free(a->watch[i].work);
    a->watch[i] = (cdna_watch){.work = NULL};
    for (size_t j = 0; j < CDNA_KEPT; j++) free(a->found[i][j]);
    memset(a->found[i], 0, sizeof a->found[i]);
  }
}

static void keep_bytes(uint8_t **copy, const void *bytes, size_t n) {
  static const size_t MOST = 1 << 30;
  if (n > MOST) return;
  if (!*copy) *copy = tw_new(n, 1);
  if (*copy) memcpy(*copy, bytes, n);
}

void cdna_keep_workspace(tw_artefact *a, size_t kernel, const void *workspace) {
  if (kernel && workspace) keep_bytes(&a->found[kernel][0], workspace, (size_t)a->launch.workspace);
}

static void keep_outputs(tw_artefact *a, size_t kernel, const tw_case *k, void *const buffer[]) {
  for (size_t i = 0; kernel && i < k->n_operands; i++)
    if (k->operand[i].is_output) keep_bytes(&a->found[kernel][1 + i], buffer[i], k->operand[i].bytes);
}

static void find_memory_as_checked(const tw_artefact *a, size_t kernel, const tw_case *k, void *workspace,
                                   void *const buffer[]) {
  uint8_t *const *found = a->found[kernel];
  if (found[0] && workspace) memcpy(workspace, found[0], (size_t)a->launch.workspace);
  for (size_t i = 0; i < k->n_operands; i++)
    if (found[1 + i]) memcpy(buffer[i], found[1 + i], k->operand[i].bytes);
}

/* A kernel reaches only the operands and the workspace among its arguments. */
static void map_received(const tw_launch_kernel *l, const case_memory *c, cdna_memory *memory) {
  for (size_t i = 0; i < memory->n; i++) memory->allocation[i].hidden = true;
  for (size_t i = 0; i < l->n_arguments; i++) {
    const tw_launch_argument *x = &l->argument[i];
    if (x->kind == TW_LAUNCH_OPERAND) memory->allocation[c->first_operand + (size_t)x->index].hidden = false;
    if (x->kind == TW_LAUNCH_WORKSPACE && c->first_operand) memory->allocation[0].hidden = false;
  }
}

/* Workgroups go to the XCDs in turn. Several workgroups of a run count as equal. */
static void note_sample(const cdna_machine *m, const cdna_left *left, cdna_watch *w) {
  struct cdna_sampled *s = &w->sampled[left->group % m->caches.xcds];
  double work = 0;
  for (int k = 0; k < CDNA_KINDS; k++) work += left->unit[k] * (double)left->counts.did[k];
  s->n += (double)left->counts.workgroups;
  s->work += work;
  s->squares += work * work / (double)left->counts.workgroups;
}

void cdna_case_take(tw_artefact *a, cdna_left *left) {
  const cdna_result_counts *counts = &left->counts;
  cdna_watch *watch = &a->watch[left->kernel];
  for (int i = 0; i < CDNA_KINDS; i++) watch->did[i] += (double)counts->did[i];
  if (left->group != CDNA_ALL_GROUPS) note_sample(a->machine, left, watch);
  watch->most = counts->most > watch->most ? counts->most : watch->most;
  watch->groups += (double)counts->workgroups;
  a->counts.instructions += counts->instructions;
  a->counts.waves += counts->waves;
  a->counts.workgroups += counts->workgroups;
  if (left->checker) cdna_checker_add(a->checker, left->checker);
  if (a->has_printed) return;
  a->has_printed = left->printed.length;
  cdna_put_printed(&left->printed);
}

static tw_status run_kernel(tw_artefact *a, const tw_launch_kernel *l, const case_memory *of, const cdna_manner *how,
                            tw_error *error) {
  cdna_memory *const memory = of->memory;
  const cdna_kernel *kernel = NULL;
  uint8_t block[ARGUMENT_BYTES] = {0};
  size_t size = 0;
  tw_status status = cdna_object_kernel(&a->object, l->name, &kernel, error);
  for (size_t i = 0; i < l->n_arguments && status == TW_OK; i++)
    status = add_argument(&l->argument[i], of->operand, of->workspace, block, &size, error);
  cdna_launch launch = {.lds = (uint32_t)l->shared, .arguments = block, .argument_bytes = size};
  launch.unbounded = cdna_checks_ignore_bounds(a->inspection);
  if (how->group != CDNA_ALL_GROUPS) {
    launch.first = (uint64_t)how->group;
    launch.count = how->count ? how->count : 1;
    launch.stride = (uint64_t)a->machine->caches.xcds;
    launch.jobs = 1;
  }
  set_shape(l, &launch);
  map_received(l, of, memory);
  const bool is_main = l == tw_launch_main(&a->launch);
  const size_t number = (size_t)(l - a->launch.kernel);
  const uint64_t weights = a->trust ? 0 : place_seed(a, of->data, number);
  cdna_watch *watch = &a->watch[number];
  if (status == TW_OK && how->times) {
    launch.limit = cdna_patience(watch->most);
    const cdna_time_options options = {.machine = a->machine,
                                       .spans = is_main ? how->spans : NULL,
                                       .judged = true,
                                       .inspect = !a->trust && !a->inspection,
                                       .seed = place_seed(a, how->data, number),
                                       .weights = weights,
                                       .watch = how->data == a->watched ? watch : NULL,
                                       .results = of->first_operand,
                                       .end = of->first_operand + of->n_operands,
                                       .operand = of->data->operand};
    cdna_times one;
    status = cdna_time(&a->object, kernel, &launch, memory, &options, &one, error);
    if (status == TW_OK) cdna_times_add(how->times, &one, is_main);
    return status;
  }
  cdna_left own = {.checker = NULL}, *left = how->left ? how->left : &own;
  cdna_checker *checker = how->left ? left->checker : a->checker;
  left->kernel = number;
  left->group = how->group;
  if (checker) launch.observer = cdna_checker_start(checker);
  cdna_work_units(&a->machine->rates, weights, left->unit);
  if (how->group == CDNA_ALL_GROUPS && status == TW_OK) watch_all(watch, cdna_groups_of(l));
  launch.work = how->group == CDNA_ALL_GROUPS ? watch->work : NULL;
  launch.unit = left->unit;
  if (a->inspection && !a->has_printed) launch.printed = &left->printed;
  if (status == TW_OK) status = cdna_run(&a->object, kernel, &launch, memory, &left->counts, error);
  /* the next kernel may read all of it */
  for (size_t i = 0; i < memory->n; i++) memory->allocation[i].undefined = false;
  if (!how->left) cdna_case_take(a, left);
  return status;
}

tw_status cdna_case_run(tw_artefact *a, const tw_case *k, void *const buffer[], const cdna_manner *how,
                        tw_error *error) {
  /* checking and timing use the same addresses, which are unknown before the case is drawn */
  cdna_memory memory = {.scatter = k->seed | 1};
  case_memory of = {.data = k, .memory = &memory};
  const tw_launch *l = &a->launch;
  void *workspace = how->workspace ? how->workspace : l->workspace ? tw_new(1, (size_t)l->workspace) : NULL;
  tw_status status = l->workspace && !workspace ? tw_no_memory(error, NULL) : TW_OK;
  if (workspace) {
    if (!how->first && !l->zeroed) memset(workspace, TW_POISON, (size_t)l->workspace);
    of.workspace =
        cdna_memory_add(&memory, workspace, (uint64_t)l->workspace, !how->first || how->adds, "the workspace");
    if (!how->first && !l->zeroed) cdna_memory_undefined(&memory, 0, 0);
    of.first_operand = 1;
  }
  of.n_operands = k->n_operands;
  for (size_t i = 0; i < k->n_operands; i++) {
    const tw_operand *o = &k->operand[i];
    of.operand[i] = cdna_memory_add(&memory, buffer[i], o->bytes, o->is_output, o->name);
    if (o->is_output) cdna_memory_undefined(&memory, o->given_at, o->given_bytes);
  }
  for (size_t i = how->first; i < (how->end ? how->end : l->n_kernels) && status == TW_OK; i++) {
    if (how->group == CDNA_ALL_GROUPS && !how->times) {
      cdna_keep_workspace(a, i, workspace);
      keep_outputs(a, i, k, buffer);
    }
    if (how->times && k == a->watched) find_memory_as_checked(a, i, k, workspace, buffer);
    status = run_kernel(a, &l->kernel[i], &of, how, error);
  }
  if (workspace != how->workspace) free(workspace);
  return status;
}
