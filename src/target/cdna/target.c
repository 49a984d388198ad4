/* target.c - see target.h. A kernel's source says in its header how it is launched (launch/launch.h). */
#include "target/cdna/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/random.h"
#include "base/strings.h"
#include "launch/launch.h"
#include "op/gemm_numerics.h"
#include "op/gemm_problem.h"
#include "op/operand.h"
#include "target/cdna/checks/checks.h"
#include "target/cdna/emulator/emulator.h"
#include "target/cdna/export.h"
#include "target/cdna/object/object.h"
#include "target/cdna/sample.h"
#include "target/cdna/tiles.h"
#include "target/cdna/time/report.h"
#include "target/cdna/toolchain.h"
#include "target/cdna/views/views.h"

struct tw_artefact {
  const cdna_machine *machine;
  cdna_object object;
  char *bytes;
  tw_launch launch;
  cdna_result_counts counts; /* for the last run */
  double whole;              /* workgroups of the launch for each that was executed */
  char coverage[200];        /* for the last check */
  tw_inspection *inspection; /* for checks; NULL: none */
  bool has_printed;          /* a user's kernel, in one of its launches */
  cdna_checker *checker;     /* while one runs */
  /* for each kernel, its counts during the check, and the initial workspace (NULL: as at the start of the launch); for
   * this case */
  cdna_watch watch[TW_LAUNCH_KERNELS];
  uint8_t *found[TW_LAUNCH_KERNELS];
  const tw_case *watched;
};

static tw_status available(const tw_target *t, tw_error *error) {
  (void)t;
  return cdna_toolchain_find(error);
}

static const char *compiler(void) { return "clang-22"; }

static char *describe(const tw_target *t) {
  const cdna_machine *m = cdna_machine_of(t);
  tw_text s = {0};
  tw_text_add(&s, "machine      %s: %s\n", cdna_processor(m->arch), m->products);
  tw_text_add(&s, "             %d XCDs, %d compute units of 4 SIMDs at %d MHz, waves of %d lanes\n", m->caches.xcds,
              m->caches.xcds * m->caches.cus, m->clock_mhz, CDNA_LANES);
  tw_text_add(&s, "memory       %d KiB LDS a compute unit, %d MiB L2 an XCD, %d MiB LLC, %.1f TB/s\n",
              m->lds_bytes >> 10, (int)(m->caches.l2_bytes >> 20), (int)(m->caches.llc_bytes >> 20), m->memory_tbs);
  tw_text_add(
      &s,
      "runs         code objects, wave by wave, to the bit; cost is modelled time (docs/reference/accuracy-cdna.md)\n");
  return tw_text_take(&s);
}

/* The op's first type suggests the types of its other operands: bf16 is summed in f32, integers in i32; floats of 8
 * bits and less give bf16. */
static tw_type usual_type(const char *key, tw_type first) {
  const bool integer = first == TW_I8 || first == TW_U8;
  if (!strcmp(key, "acc")) return integer ? TW_I32 : TW_F32;
  const bool narrow = tw_type_bits(first) <= 8;
  if (!strcmp(key, "c")) return integer ? TW_I32 : narrow ? TW_BF16 : first;
  return first == TW_U8 ? TW_I8 : first;
}

static tw_status settle(const tw_target *t, tw_problem *p, tw_error *error) {
  tw_status status = TW_OK;
  tw_type first = TW_TYPE_NONE;
  for (size_t i = 0; status == TW_OK && i < p->op->n_keys; i++) {
    const tw_key *k = &p->op->keys[i];
    if (k->kind != TW_KEY_TYPE) continue;
    if (p->value[i].i == TW_TYPE_NONE)
      status =
          tw_problem_set(p, k->name, tw_type_name(first == TW_TYPE_NONE ? TW_BF16 : usual_type(k->name, first)), error);
    if (first == TW_TYPE_NONE) first = (tw_type)p->value[i].i;
    if (status == TW_OK && !strcmp(k->name, "acc")) status = tw_gemm_wide_sums(t->name, (tw_type)p->value[i].i, error);
  }
  return status;
}

/* Bytes of the lines in front of a code object that say how it is launched. */
static size_t header_length(const char *source, size_t length) {
  size_t at = 0;
  while (length - at > 3 && !memcmp(source + at, "//:", 3)) {
    const char *end = memchr(source + at, '\n', length - at);
    if (!end) return at;
    at = (size_t)(end - source) + 1;
  }
  return at;
}

tw_status cdna_launch_of(const tw_target *t, const tw_problem *p, const char *source, size_t length, tw_launch *out,
                         tw_error *error) {
  const cdna_machine *m = cdna_machine_of(t);
  tw_scope *scope = tw_new(1, sizeof *scope);
  if (!scope) return tw_fail(error, TW_MISSING, "out of memory");
  tw_launch_scope(p, scope);
  tw_scope_set(scope, "gfx", cdna_arch_of(t) == CDNA3 ? 942 : 950);
  tw_scope_set(scope, "cus", m->caches.xcds * m->caches.cus);
  const tw_status status = tw_launch_read(source, length, p, scope, out, error);
  free(scope);
  return status;
}

static tw_status build(const tw_target *t, const tw_problem *p, const char *source, size_t length, bool trust,
                       tw_artefact **out, tw_error *error) {
  tw_artefact *a = tw_new(1, sizeof *a);
  size_t size = 0;
  bool clustered = false;
  tw_status status = a ? TW_OK : tw_fail(error, TW_MISSING, "out of memory");
  if (a) a->machine = cdna_machine_of(t);
  const size_t header = header_length(source, length);
  const bool is_object = cdna_object_is(source + header, length - header);
  if (status == TW_OK && is_object && !header)
    status = tw_fail(error, TW_USAGE,
                     "a code object does not describe its launch; give --kernel, --grid, --block and --arg, as in "
                     "--arg A,B,C,m,n,k");
  if (status == TW_OK) {
    char *lines = is_object ? strndup(source, header) : NULL;
    status = cdna_launch_of(t, p, lines ? lines : source, lines ? header : length, &a->launch, error);
    free(lines);
  }
  for (size_t i = 0; a && i < a->launch.n_kernels; i++)
    clustered |= a->launch.kernel[i].clustered | a->launch.kernel[i].overlaps;
  if (status == TW_OK && (a->launch.n_maps || clustered))
    status = tw_fail(error, TW_FAILED,
                     "%s has neither tensor maps, clusters nor overlap; remove these lines from the header", t->name);
  if (status == TW_OK && is_object) {
    size = length - header;
    a->bytes = tw_new(size, 1);
    status = a->bytes ? TW_OK : tw_fail(error, TW_MISSING, "out of memory");
    if (a->bytes) memcpy(a->bytes, source + header, size);
  } else if (status == TW_OK) {
    status = cdna_compile(cdna_arch_of(t), source, length, trust, &a->launch, &a->bytes, &size, error);
  }
  if (status == TW_OK)
    status = cdna_object_read(a->bytes, size, is_object ? "the code object" : "the compiled kernel", &a->object, error);
  if (status == TW_OK && a->object.arch != cdna_arch_of(t))
    status = tw_fail(error, TW_USAGE, "the code object is for %s; run it with -t %s", cdna_processor(a->object.arch),
                     cdna_machine_of_arch(a->object.arch)->name);
  if (status == TW_OK) {
    *out = a;
    return TW_OK;
  }
  if (a) {
    cdna_object_free(&a->object);
    free(a->bytes);
  }
  free(a);
  return status == TW_USAGE ? TW_FAILED : status;
}

/* ---- a launch of the case ---- */

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

/* How kernels run: one workgroup of theirs, or all; or they are timed, with the main kernel's spans. */
enum { ALL_GROUPS = -1 };
typedef struct manner {
  int64_t group;
  size_t first, end; /* range of kernels to run; end 0: all */
  bool adds;         /* to what kernels before have left */
  void *workspace;   /* as another run of the kernels before left it, or is to leave it for them */
  cdna_times *times;
  cdna_spans *spans;
  const tw_problem *problem;
  const tw_case *data; /* the timed kernel */
  double *packing;     /* seconds that do not count */
} manner;

/* ---- the timed work is the checked work ---- */

/* Operands of a launch's kernels in memory: the workspace, if there is one, then the operands. */
typedef struct case_memory {
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

/* Limit of instructions for a timed wave, relative to the longest checked one: beyond it the wave waits for absent
 * data. */
static uint64_t patience(uint64_t most) { return most ? 2 * most + 4096 : 0; }

/* Random places of the grid to time, drawn after the kernel is compiled and its inputs are drawn. */
static uint64_t place_seed(const tw_artefact *a, const tw_case *k, size_t kernel) {
  uint64_t h = k->seed ^ 0xcbf29ce484222325u;
  for (size_t i = 0; i < a->object.file_size; i++) h = (h ^ a->object.file[i]) * 0x100000001b3u;
  return (h ^ (uint64_t)kernel << 56) | 1;
}

static uint64_t groups_of(const tw_launch_kernel *l) {
  return (uint64_t)l->grid[0] * (uint64_t)l->grid[1] * (uint64_t)l->grid[2];
}

/* A launch of the whole grid begins: the work of single workgroups is recorded. */
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

static void forget(tw_artefact *a) {
  for (size_t i = 0; i < TW_LAUNCH_KERNELS; i++) {
    free(a->watch[i].work);
    free(a->found[i]);
    a->watch[i] = (cdna_watch){.work = NULL};
    a->found[i] = NULL;
  }
}

/* The workspace as a kernel finds it when results are checked: so it finds it when it is timed. */
static void keep_workspace(tw_artefact *a, size_t kernel, const void *workspace) {
  static const int64_t MOST = 1 << 30;
  if (!kernel || !workspace || a->launch.workspace > MOST) return;
  if (!a->found[kernel]) a->found[kernel] = tw_new((size_t)a->launch.workspace, 1);
  if (a->found[kernel]) memcpy(a->found[kernel], workspace, (size_t)a->launch.workspace);
}

/* A kernel before the main one that receives exactly one operand, block-scaled, and a place in the workspace. A model
 * packs weights once, and has an A of such a type as codes already. So it is not part of the cost. It cannot compute
 * any of the result: it reaches neither the other operand (map_received) nor data of other kernels (run_packing). */
static bool packs_only(const tw_artefact *a, const tw_launch_kernel *l, const tw_problem *p) {
  if (l >= tw_launch_main(&a->launch) || strcmp(p->op->name, "gemm") != 0) return false;
  const tw_gemm g = tw_gemm_of(p);
  const tw_type type[] = {g.a, g.b}; /* the first operands of a gemm */
  int64_t seen = -1;
  bool has_place = false;
  for (size_t i = 0; i < l->n_arguments; i++) {
    const tw_launch_argument *x = &l->argument[i];
    has_place |= x->kind == TW_LAUNCH_WORKSPACE;
    if (x->kind != TW_LAUNCH_OPERAND) continue;
    if (x->index > 1 || !tw_gemm_scaled(type[x->index]) || (seen >= 0 && seen != (int64_t)x->index)) return false;
    seen = (int64_t)x->index;
  }
  return seen >= 0 && has_place;
}

/* A kernel reaches the operands, and the workspace, that are among its arguments. */
static void map_received(const tw_launch_kernel *l, const case_memory *c, cdna_memory *memory) {
  for (size_t i = 0; i < memory->n; i++) memory->allocation[i].hidden = true;
  for (size_t i = 0; i < l->n_arguments; i++) {
    const tw_launch_argument *x = &l->argument[i];
    if (x->kind == TW_LAUNCH_OPERAND) memory->allocation[c->first_operand + (size_t)x->index].hidden = false;
    if (x->kind == TW_LAUNCH_WORKSPACE && c->first_operand) memory->allocation[0].hidden = false;
  }
}

/* Text that a kernel printed, beside the results; terminal control characters are removed. */
static void put_printed(tw_text *t) {
  for (size_t i = 0; i < t->length; i++) {
    const unsigned char c = (unsigned char)t->data[i];
    fputc(c < ' ' && c != '\n' && c != '\t' ? '?' : c == 127 ? '?' : c, stderr);
  }
  tw_text_free(t);
}

static tw_status run_kernel(tw_artefact *a, const tw_launch_kernel *l, const case_memory *of, const manner *how,
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
  if (how->group != ALL_GROUPS) launch.first = (uint64_t)how->group, launch.count = 1;
  set_shape(l, &launch);
  map_received(l, of, memory);
  const bool is_main = l == tw_launch_main(&a->launch);
  cdna_watch *watch = &a->watch[l - a->launch.kernel];
  if (status == TW_OK && how->times) {
    launch.limit = patience(watch->most);
    const cdna_time_options options = {.machine = a->machine,
                                       .spans = is_main ? how->spans : NULL,
                                       .judged = true,
                                       .seed = place_seed(a, how->data, (size_t)(l - a->launch.kernel)),
                                       .watch = how->data == a->watched ? watch : NULL,
                                       .results = of->first_operand,
                                       .end = of->first_operand + of->n_operands};
    cdna_times one;
    status = cdna_time(&a->object, kernel, &launch, memory, &options, &one, error);
    if (status == TW_OK && packs_only(a, l, how->problem))
      *how->packing += one.seconds;
    else if (status == TW_OK)
      cdna_times_add(how->times, &one, is_main);
    return status;
  }
  cdna_result_counts counts = {0};
  if (a->checker) launch.observer = cdna_checker_start(a->checker);
  double unit[CDNA_KINDS];
  cdna_work_units(&a->machine->rates, unit);
  if (how->group == ALL_GROUPS && status == TW_OK) watch_all(watch, groups_of(l));
  launch.work = how->group == ALL_GROUPS ? watch->work : NULL;
  launch.unit = unit;
  tw_text printed = {0};
  if (a->inspection && !a->has_printed) launch.printed = &printed;
  if (status == TW_OK) status = cdna_run(&a->object, kernel, &launch, memory, &counts, error);
  a->has_printed = a->has_printed || printed.length;
  put_printed(&printed);
  for (size_t i = 0; i < memory->n; i++) memory->allocation[i].undefined = false; /* the next may read it all */
  for (int i = 0; i < CDNA_KINDS; i++) watch->did[i] += (double)counts.did[i];
  watch->most = counts.most > watch->most ? counts.most : watch->most;
  watch->groups += (double)counts.workgroups;
  a->counts.instructions += counts.instructions;
  a->counts.waves += counts.waves;
  a->counts.workgroups += counts.workgroups;
  return status;
}

/* A packing kernel sees the workspace as at the start of the launch, without other kernels' data. Its changes are kept.
 */
static tw_status run_packing(tw_artefact *a, const tw_launch_kernel *l, const case_memory *of, const manner *how,
                             tw_error *error) {
  cdna_allocation *workspace = &of->memory->allocation[0];
  uint8_t *const kept = workspace->data, blank = a->launch.zeroed ? 0 : TW_POISON;
  workspace->data = tw_new(1, (size_t)workspace->size);
  if (!workspace->data) {
    workspace->data = kept;
    return tw_fail(error, TW_MISSING, "out of memory");
  }
  memset(workspace->data, blank, (size_t)workspace->size);
  const tw_status status = run_kernel(a, l, of, how, error);
  for (uint64_t i = 0; i < workspace->size; i++)
    if (workspace->data[i] != blank) kept[i] = workspace->data[i];
  free(workspace->data);
  workspace->data = kept;
  return status;
}

static tw_status run_case(tw_artefact *a, const tw_case *k, void *const buffer[], const manner *how, tw_error *error) {
  /* checked and timed at the same addresses, which are unknown before the case is drawn */
  cdna_memory memory = {.scatter = k->seed | 1};
  case_memory of = {.memory = &memory};
  const tw_launch *l = &a->launch;
  void *workspace = how->workspace ? how->workspace : l->workspace ? tw_new(1, (size_t)l->workspace) : NULL;
  tw_status status = l->workspace && !workspace ? tw_fail(error, TW_MISSING, "out of memory") : TW_OK;
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
    const bool packs = workspace && packs_only(a, &l->kernel[i], k->problem);
    if (how->group == ALL_GROUPS && !how->times) keep_workspace(a, i, workspace);
    if (how->times && k == a->watched && a->found[i]) memcpy(workspace, a->found[i], (size_t)l->workspace);
    status = (packs ? run_packing : run_kernel)(a, &l->kernel[i], &of, how, error);
  }
  if (workspace != how->workspace) free(workspace);
  return status;
}

/* An output as a timed run finds it. */
static void poison(const tw_operand *o, const void *given, void *to) { tw_blank_output(o, 0, given, to); }

static tw_status run_all(tw_artefact *a, const tw_case *k, tw_error *error) {
  void *actual[TW_OPERANDS_MAX] = {0};
  tw_status status = TW_OK;
  for (size_t i = 0; i < k->n_operands && status == TW_OK; i++) {
    actual[i] = aligned_alloc(64, (k->operand[i].bytes + 127) & ~(size_t)63);
    if (!actual[i])
      status = tw_fail(error, TW_MISSING, "out of memory");
    else if (k->operand[i].is_output)
      tw_blank_output(&k->operand[i], k->seed, k->buffer[i], actual[i]);
    else
      memcpy(actual[i], k->buffer[i], k->operand[i].bytes);
  }
  if (status == TW_OK) status = run_case(a, k, actual, &(manner){.group = ALL_GROUPS}, error);
  if (status == TW_USAGE) status = TW_FAILED;
  if (status == TW_OK && k->problem->op->operations(k->problem) > CDNA_SAMPLE_ABOVE) {
    tw_coverage seen;
    status = tw_case_check(k, actual, &(tw_effort){.threads = 1}, &seen, error);
    snprintf(a->coverage, sizeof a->coverage, "%.*s", (int)sizeof a->coverage - 1, seen.text);
  } else if (status == TW_OK) {
    status = k->problem->op->compare(k->problem, k->buffer, actual, error);
    snprintf(a->coverage, sizeof a->coverage, "every element");
  }
  for (size_t i = 0; i < k->n_operands; i++) free(actual[i]);
  return status;
}

/* ---- some workgroups ---- */

typedef struct sampled {
  tw_artefact *artefact;
  const tw_case *data;
  size_t first; /* the sampled kernel: earlier kernels have run */
  void *workspace;
} sampled;

static tw_status run_one(void *context, void *const buffer[], size_t kernel, uint64_t group, tw_error *error) {
  const sampled *s = context;
  const manner how = {
      .group = (int64_t)group, .first = s->first + kernel, .end = s->first + kernel + 1, .workspace = s->workspace};
  return run_case(s->artefact, s->data, buffer, &how, error);
}

/* Workgroup number `n` of a grid in which each chiplet has a range and workgroups go to chiplets in turn. */
static uint64_t in_ranges(const tw_artefact *a, uint64_t groups, uint64_t n) {
  const uint64_t chips = (uint64_t)a->machine->caches.xcds, each = groups / chips, more = groups % chips;
  const uint64_t chip = n < more * (each + 1) ? n / (each + 1) : more + (n - more * (each + 1)) / each;
  const uint64_t first = chip * each + (chip < more ? chip : more);
  return (n - first) * chips + chip;
}

/* A part of the launch: its share of each kernel from the main one on. */
static tw_status run_part(void *context, void *const buffer[], size_t unused, uint64_t part, tw_error *error) {
  const sampled *s = context;
  const tw_launch *l = &s->artefact->launch;
  tw_status status = TW_OK;
  (void)unused;
  for (size_t k = s->first; k < l->n_kernels && status == TW_OK; k++) {
    const uint64_t groups = groups_of(&l->kernel[k]), each = groups / (uint64_t)l->parts;
    for (uint64_t i = 0; i < each && status == TW_OK; i++) {
      const manner how = {.group = (int64_t)in_ranges(s->artefact, groups, part * each + i),
                          .first = k,
                          .end = k + 1,
                          .adds = true,
                          .workspace = s->workspace};
      status = run_case(s->artefact, s->data, buffer, &how, error);
    }
  }
  return status;
}

/* Are they of equal size, in each kernel? */
static bool has_parts(const tw_launch *l) {
  bool even = l->parts > 1;
  for (size_t k = l->main; k < l->n_kernels; k++) even = even && groups_of(&l->kernel[k]) % (uint64_t)l->parts == 0;
  return even;
}

/* Runs the kernels before the main one as a whole; of the operands only the inputs are kept. */
static tw_status prepare_workspace(const sampled *s, tw_error *error) {
  void *buffer[TW_OPERANDS_MAX] = {0};
  const tw_case *k = s->data;
  tw_status status = TW_OK;
  for (size_t i = 0; i < k->n_operands && status == TW_OK; i++) {
    buffer[i] = k->operand[i].is_output ? tw_new(1, (k->operand[i].bytes + 127) & ~(size_t)63) : k->buffer[i];
    if (!buffer[i]) status = tw_fail(error, TW_MISSING, "out of memory");
  }
  const manner how = {.group = ALL_GROUPS, .end = s->first, .workspace = s->workspace};
  if (status == TW_OK) status = run_case(s->artefact, k, buffer, &how, error);
  for (size_t i = 0; i < k->n_operands; i++)
    if (k->operand[i].is_output) free(buffer[i]);
  return status;
}

static tw_status sample_kernels(tw_artefact *a, const tw_case *k, tw_error *error) {
  const tw_launch *l = &a->launch;
  sampled s = {a, k, (size_t)(tw_launch_main(l) - l->kernel), NULL};
  uint64_t groups[TW_LAUNCH_KERNELS], all = 0;
  cdna_sampler sampler = {.kernels = l->n_kernels - s.first, .groups = groups, .run = run_one, .context = &s};
  for (size_t i = 0; i < sampler.kernels; i++) {
    all += groups[i] = groups_of(&l->kernel[s.first + i]);
    cdna_watch *w = &a->watch[s.first + i];
    free(w->work);
    *w = (cdna_watch){.whole = false};
  }
  if (has_parts(l)) {
    sampler.kernels = 1;
    sampler.of_parts = true;
    sampler.run = run_part;
    groups[0] = (uint64_t)l->parts;
  }
  if (l->workspace && !(s.workspace = tw_new(1, (size_t)l->workspace)))
    return tw_fail(error, TW_MISSING, "out of memory");
  tw_status status = s.first ? prepare_workspace(&s, error) : TW_OK;
  if (status == TW_OK) keep_workspace(a, s.first, s.workspace);
  a->counts = (cdna_result_counts){0}; /* data about the whole launch */
  if (status == TW_OK) status = cdna_sample_check(&sampler, k, a->coverage, sizeof a->coverage, error);
  if (a->counts.workgroups) a->whole = (double)all / (double)a->counts.workgroups;
  free(s.workspace);
  return status == TW_USAGE ? TW_FAILED : status;
}

/* A large problem whose workgroups share nothing but what kernels before the main one have left: some of them, each alone.
 * Where others read what some have written, which only shows as they run, the whole launch is executed. */
static tw_status check_some(tw_artefact *a, const tw_case *k, tw_error *error) {
  const tw_launch *l = &a->launch;
  const tw_problem *p = k->problem;
  a->counts = (cdna_result_counts){0};
  a->whole = 1;
  if (!cdna_sample_is_large(k) || !cdna_sample_possible(p) || (l->workspace && l->zeroed)) return run_all(a, k, error);
  const bool alone = l->n_kernels == 1 && !l->workspace;
  const bool begins = tw_launch_main(l) == l->kernel;
  if (!alone && l->workspace && begins) return run_all(a, k, error);
  tw_error dropped = {0};
  /* its parts may be no boxes, as in a loop over the grid: then all is executed, if that ends in minutes */
  const bool final = alone && p->op->operations(p) > CDNA_SAMPLE_ABOVE;
  const tw_status status = sample_kernels(a, k, final ? error : &dropped);
  if (final || status == TW_OK) return status;
  a->counts = (cdna_result_counts){0};
  a->whole = 1;
  return run_all(a, k, error);
}

static tw_status inspect(const tw_target *t, tw_artefact *a, tw_inspection *i, tw_error *error) {
  unsigned checks;
  (void)t;
  a->inspection = i;
  return cdna_checks_parse(i->checks, &checks, error);
}

static tw_status include(const tw_target *t, const char *folder, tw_error *error) {
  (void)t;
  return cdna_include(folder, error);
}

static tw_status check(const tw_target *t, tw_artefact *a, const tw_case *k, tw_error *error) {
  const cdna_kernel *kernel = NULL;
  tw_status status = a->inspection ? cdna_checker_new(a->inspection, &a->checker, error) : TW_OK;
  a->watched = k;
  forget(a);
  if (status == TW_OK) status = check_some(a, k, error);
  if (a->checker && cdna_object_kernel(&a->object, tw_launch_main(&a->launch)->name, &kernel, NULL) == TW_OK)
    cdna_checker_report(a->checker, &a->object, kernel, cdna_machine_of(t), a->inspection);
  cdna_checker_free(a->checker);
  a->checker = NULL;
  return status;
}

static void coverage(const tw_target *t, const tw_artefact *a, char *text, size_t size) {
  (void)t;
  snprintf(text, size, "%s", a->coverage);
}

static tw_status measure(const tw_target *t, tw_artefact *a, const tw_case *k, const char *trace, tw_measurement *out,
                         tw_error *error) {
  void *buffer[TW_OPERANDS_MAX] = {0};
  cdna_times times = {0};
  cdna_spans spans = {0};
  tw_status status = TW_OK;
  for (size_t i = 0; i < k->n_operands && status == TW_OK; i++) {
    const tw_operand *o = &k->operand[i];
    buffer[i] = o->is_output ? tw_new(1, (o->bytes + 127) & ~(size_t)63) : k->buffer[i];
    if (!buffer[i]) status = tw_fail(error, TW_MISSING, "out of memory");
    if (buffer[i] && o->is_output) poison(o, k->buffer[i], buffer[i]);
  }
  double packing = 0;
  const manner how = {.group = ALL_GROUPS,
                      .times = &times,
                      .spans = trace ? &spans : NULL,
                      .problem = k->problem,
                      .data = k,
                      .packing = &packing};
  if (status == TW_OK) status = run_case(a, k, buffer, &how, error);
  if (status == TW_OK && trace) status = cdna_write_trace(&spans, times.mhz, trace, error);
  /* the workgroups that were executed are taken to be alike */
  if (status == TW_OK) cdna_report(cdna_machine_of(t), &a->counts, a->whole, &times, k->problem, out);
  if (status == TW_OK && packing > 0 && out->n_counters < TW_COUNTERS_MAX)
    out->counter[out->n_counters++] =
        (tw_counter){"packing", "us", "of blocks with scales, by kernels before: not in the cost, as it is done once",
                     packing * 1e6};
  for (size_t i = 0; i < k->n_operands; i++)
    if (k->operand[i].is_output) free(buffer[i]);
  free(spans.at);
  return status == TW_USAGE ? TW_FAILED : status;
}

static void release(tw_artefact *a) {
  forget(a);
  cdna_object_free(&a->object);
  free(a->bytes);
  free(a);
}

/* ---- a launch by hand ---- */

enum { BLOCK_BYTES = 1 << 16 };

static tw_status raw_arguments(const tw_raw_launch *l, cdna_memory *memory, uint8_t *block, size_t *size,
                               tw_error *error) {
  size_t next = 0;
  *size = 0;
  for (size_t i = 0; i < l->n; i++) {
    const tw_raw_argument *a = &l->argument[i];
    uint64_t value = a->value;
    const size_t bytes = a->is_data ? 8 : a->bytes;
    if (a->is_data && !(value = cdna_memory_add(memory, a->data, a->bytes, a->writable, a->name)))
      return tw_fail(error, TW_USAGE, "more than %d buffers", CDNA_ALLOCATIONS_MAX - 3);
    if (a->is_data && a->undefined) cdna_memory_undefined(memory, 0, 0);
    const size_t at = a->at >= 0 ? (size_t)a->at : (next + bytes - 1) & ~(bytes - 1);
    if (at + bytes > BLOCK_BYTES) return tw_fail(error, TW_USAGE, "argument %zu is beyond byte %d", i, BLOCK_BYTES);
    memcpy(block + at, &value, bytes);
    next = at + bytes;
    if (next > *size) *size = next;
  }
  return TW_OK;
}

/* True if the kernel's metadata on its arguments and the given arguments agree in size, where the metadata has sizes.
 * Some programs name arguments that they do not read: `spare` bytes at the end may be left out. */
static tw_status check_arguments(const cdna_kernel *k, size_t size, size_t spare, tw_error *error) {
  size_t needed = 0;
  for (size_t i = 0; i < k->n_parameters; i++)
    if (strncmp(k->parameter[i].kind, "hidden_", 7) != 0 && k->parameter[i].offset + k->parameter[i].size > needed)
      needed = k->parameter[i].offset + k->parameter[i].size;
  if (size > k->kernarg_size && k->kernarg_size)
    return tw_fail(error, TW_USAGE, "%s needs %u bytes of arguments, but %zu were given", k->name, k->kernarg_size,
                   size);
  if (k->n_parameters && size + spare < needed)
    return tw_fail(error, TW_USAGE,
                   "%s needs %zu bytes of arguments, but %zu were given; give all with --arg, in order", k->name,
                   needed, size);
  return TW_OK;
}

static tw_status copy_writable(cdna_memory *m, tw_error *error) {
  for (size_t i = 0; i < m->n; i++) {
    cdna_allocation *a = &m->allocation[i];
    if (!a->writable) continue;
    uint8_t *copy = tw_new(1, a->size + 64);
    if (copy) memcpy(copy, a->data, a->size);
    a->data = copy;
    if (!copy) return tw_fail(error, TW_MISSING, "out of memory");
  }
  return TW_OK;
}
static void free_copies(cdna_memory *copies, const cdna_memory *of, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (copies->allocation[i].data != of->allocation[i].data) free(copies->allocation[i].data);
}

static tw_status launch_by_hand(const tw_target *t, const void *data, size_t size, tw_raw_launch *l,
                                tw_measurement *out, tw_error *error) {
  cdna_object object = {0};
  cdna_memory memory = {0};
  cdna_result_counts counts = {0};
  const cdna_kernel *kernel = NULL;
  char *compiled = NULL;
  uint8_t *block = tw_new(1, BLOCK_BYTES);
  cdna_times times = {0};
  const cdna_time_options options = {.jobs = l->jobs};
  cdna_launch launch = {.arguments = block, .lds = (uint32_t)l->shared, .jobs = l->jobs};
  tw_status status = block ? TW_OK : tw_fail(error, TW_MISSING, "out of memory");
  if (status == TW_OK && !cdna_object_is(data, size)) {
    status = cdna_compile(cdna_arch_of(t), data, size, l->trust, NULL, &compiled, &size, error);
    data = compiled;
  }
  if (status == TW_OK) status = cdna_object_read(data, size, "the code object", &object, error);
  if (status == TW_OK && object.arch != cdna_arch_of(t))
    status = tw_fail(error, TW_USAGE, "the code object is for %s; run it with -t %s", cdna_processor(object.arch),
                     cdna_machine_of_arch(object.arch)->name);
  if (status == TW_OK) status = cdna_object_kernel(&object, l->kernel, &kernel, error);
  if (status == TW_OK) status = raw_arguments(l, &memory, block, &launch.argument_bytes, error);
  if (status == TW_OK) status = check_arguments(kernel, launch.argument_bytes, compiled ? 0 : 16, error);
  memcpy(launch.grid, l->grid, sizeof launch.grid);
  memcpy(launch.block, l->block, sizeof launch.block);
  launch.unbounded = cdna_checks_ignore_bounds(l->inspection);
  const uint64_t groups = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
  if (l->groups && !(l->spread_groups && l->groups >= groups)) {
    launch.first = l->spread_groups ? 0 : l->first_group;
    launch.count = l->groups;
    launch.spread = l->spread_groups;
  }
  /* timed later, on copies of its outputs */
  cdna_memory copies = memory;
  const size_t copied = memory.n; /* a launch adds its own */
  if (status == TW_OK) status = copy_writable(&copies, error);
  cdna_checker *checker = NULL;
  if (status == TW_OK && l->inspection && !l->time_only) status = cdna_checker_new(l->inspection, &checker, error);
  if (checker) launch.observer = cdna_checker_start(checker);
  tw_text printed = {0};
  launch.printed = &printed;
  if (status == TW_OK && !l->time_only) status = cdna_run(&object, kernel, &launch, &memory, &counts, error);
  put_printed(&printed);
  if (status == TW_OK && launch.count)
    snprintf(l->note, sizeof l->note, "%llu of %llu workgroups were executed%s; the other results are missing",
             (unsigned long long)counts.workgroups, (unsigned long long)groups, launch.spread ? ", evenly spread" : "");
  if (checker) cdna_checker_report(checker, &object, kernel, cdna_machine_of(t), l->inspection);
  cdna_checker_free(checker);
  launch.observer = NULL;
  launch.limit = patience(counts.most);
  /* a launch whose workgroups wait for one another has its results, but no times */
  tw_error why = {0};
  tw_status timed = TW_OK;
  launch.count = 0;
  if (l->time_only) snprintf(l->note, sizeof l->note, "timed without execution, so without results");
  if (status == TW_OK && !counts.waited && !l->untimed)
    timed = cdna_time(&object, kernel, &launch, &copies, &options, &times, &why);
  free_copies(&copies, &memory, copied);
  if (counts.waited || strstr(why.text, CDNA_WAITS_FOR_OTHERS)) {
    snprintf(l->note, sizeof l->note,
             "executed, but not timed: its workgroups wait for one another, which is not modelled");
  } else if (status == TW_OK && timed != TW_OK) {
    *error = why;
    status = timed;
  } else if (status == TW_OK && !l->untimed) {
    const double whole = counts.workgroups ? (double)groups / (double)counts.workgroups : 1;
    cdna_report(cdna_machine_of(t), &counts, whole, &times, NULL, out);
  }
  cdna_object_free(&object);
  free(compiled);
  free(block);
  return status;
}

static const tw_launcher launcher = {.run = launch_by_hand};

/* ---- tile kernels ---- */

static tw_status steps(const tw_target *t, const tw_problem *p, const tw_schedule *schedule, tw_menu *out,
                       tw_error *error) {
  return cdna_tiles_steps(cdna_machine_of(t), p, schedule, out, error);
}
static tw_status emit(const tw_target *t, const tw_problem *p, const tw_schedule *schedule, char **source,
                      tw_error *error) {
  return cdna_tiles_emit(cdna_machine_of(t), p, schedule, source, error);
}
static tw_status predict(const tw_target *t, const tw_problem *p, const tw_schedule *schedule, double *cost,
                         tw_error *error) {
  return cdna_tiles_predict(cdna_machine_of(t), p, schedule, cost, error);
}

static const tw_language *family_language(const tw_target *t, const tw_problem *p, const tw_schedule *s) {
  return (void)t, (void)s, cdna_tiles_language_of(p);
}

static const tw_family families[] = {{.op = "*",
                                      .keys = "*",
                                      .settle = settle,
                                      .steps = steps,
                                      .emit = emit,
                                      .predict = predict,
                                      .bound = cdna_bound,
                                      .language = family_language}};

static void fill_target(const void *values, tw_target *out) {
  const cdna_machine *m = values;
  *out = (tw_target){
      .unit = "seconds",
      .traits = {.simulated = true,
                 .deterministic = true,
                 .measures_first = true, /* timing needs no result */
                 /* by a kernel that is known to be correct, with the same work in the timed run */
                 .measures_checked = 1,
                 .own_reference = true,
                 .reference_up_to = CDNA_SAMPLE_ABOVE,
                 .error = m->error,
                 .error_of = m->error_of,
                 .simulation_rate = 8e-4, /* so that a search at 8192 has some hundred candidates, of 2 s each */
                 .language = "C",
                 .source_name = "kernel.c",
                 .prompts = "cdna",
                 .compiler = compiler},
      .config = m,
      .n_families = sizeof families / sizeof *families,
      .family = families,
      .available = available,
      .describe = describe,
      .build = build,
      .inspect = inspect,
      .include = include,
      .check = check,
      .coverage = coverage,
      .measure = measure,
      .release = release,
      .exporter = &cdna_exporter,
      .launcher = &launcher,
      .machine_views = cdna_views,
      .language = cdna_tiles_language,
  };
}

tw_machine_list cdna_machine_list = {
    .kind = {.folder = "cdna/configs/", .prefix = "", .schema = &cdna_machine_schema, .fill = fill_target},
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

const tw_target *cdna_target_at(size_t index) { return tw_machines_at(&cdna_machine_list, index); }

const cdna_machine *cdna_machine_of_arch(cdna_arch arch) {
  const tw_target *t;
  size_t i = 0;
  while ((t = cdna_target_at(i)) && strcmp(t->name, arch == CDNA3 ? "cdna3" : "cdna4") != 0) i++;
  return cdna_machine_of(t); /* both files are in the program */
}
