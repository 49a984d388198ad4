/* target.c - Trainium as a target: NKI source is read, executed, checked and timed.
 *
 * Executing a kernel makes its program (nki/kernel.h); the timing model runs the program (timing/timing.h). Checking
 * computes data, measuring does not need it. */
#include "target/trainium/target.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "base/random.h"
#include "base/strings.h"
#include "op/exact.h"
#include "op/least.h"
#include "op/ops.h"
#include "target/trainium/kernels/kind.h"
#include "target/trainium/nki/kernel.h"
#include "target/trainium/rewrite/rewrite.h"
#include "target/trainium/timing/hazards.h"

/* Results of a problem with more multiply-adds are compared at a random sample. */
static const double sample_above = 1e9;
/* Multiply-adds of the host for a case's sample: they take about as long as executing the kernel. */
static const double check_budget = 5e8;

struct tw_artefact {
  char *source;
  nki_module module;
  trn_program program; /* program of the first run */
  bool has_program;
  char coverage[320];
};

static double peak_macs(const trn_config *c) { /* Multiply-adds of 16-bit types per second. */
  return (double)c->memory.partitions * c->memory.partitions * c->tensor.ghz * 1e9 / c->tensor.row_cycles_16;
}

static double hbm_rate(const trn_config *c) { /* bytes a second */
  return 1e9 * fmin(c->dma.total_gbs, c->dma.engines * c->dma.engine_gbs);
}

static char *describe(const tw_target *t) {
  const trn_config *c = t->config;
  tw_text s = {0};
  tw_text_add(&s, "SBUF         %d partitions of %lld KiB\n", c->memory.partitions,
              (long long)(c->memory.sbuf_bytes >> 10));
  tw_text_add(&s, "PSUM         %d banks of %lld bytes a partition\n", c->memory.psum_banks,
              (long long)c->memory.psum_bank_bytes);
  tw_text_add(&s, "Tensor       %d x %d at %.1f GHz: %.0f Tflop/s in 16-bit types\n", c->memory.partitions,
              c->memory.partitions, c->tensor.ghz, 2e-12 * peak_macs(c));
  tw_text_add(&s, "Vector       %.2f GHz, Scalar %.1f GHz, GpSimd %.1f GHz\n", c->vector.ghz, c->scalar.ghz,
              c->gpsimd.ghz);
  tw_text_add(&s, "HBM          %.0f GB/s by %d DMA engines\n", 1e-9 * hbm_rate(c), c->dma.engines);
  tw_text_add(&s, "launch       %.1f us\n", 1e-3 * c->launch_ns);
  return tw_text_take(&s);
}

static tw_status settle_problem(const tw_target *t, tw_problem *p, tw_error *error) {
  (void)t;
  tw_type first = TW_TYPE_NONE;
  for (size_t i = 0; i < p->op->n_keys; i++) {
    const tw_key *k = &p->op->keys[i];
    if (k->kind != TW_KEY_TYPE) continue;
    if (p->value[i].i == TW_TYPE_NONE) {
      const tw_type usual = strcmp(k->name, "acc") == 0 || first == TW_TYPE_NONE ? TW_F32 : first;
      const tw_status status = tw_problem_set(p, k->name, tw_type_name(usual), error);
      if (status != TW_OK) return status;
    }
    if (first == TW_TYPE_NONE) first = (tw_type)p->value[i].i;
  }
  return TW_OK;
}

/* The larger of two times: moving each operand once at the rate of the DMA engines; all processing elements busy.
 * The launch comes before. A DMA engine reads and writes at the same time: a copy takes the longer of the two, and so
 * may parts of other kernels. */
static tw_status bound(const tw_target *t, const tw_problem *p, tw_bound *out, tw_error *error) {
  const trn_config *c = t->config;
  const tw_least work = tw_least_work(p, tw_problem_int(p, "outputs") == 1);
  const double launch = 1e-9 * c->launch_ns, compute = work.operations / peak_macs(c),
               together = fmax(work.read, work.written) / hbm_rate(c);
  (void)error;
  out->compute_cost = launch + compute;
  out->memory_cost = launch + (tw_is_copy(p) ? together : (work.read + work.written) / hbm_rate(c));
  out->cost = fmax(out->compute_cost, out->memory_cost);
  /* some operations of an op run on other engines than the Tensor engine */
  out->least = launch + fmax(0.5 * compute, 0.95 * together);
  snprintf(out->limit, sizeof out->limit, "%s",
           out->compute_cost >= out->memory_cost ? "every processing element in every cycle"
                                                 : "each operand once at the rate of the DMA engines");
  return TW_OK;
}

/* ---- the model of the compiler ---- */

enum { COPIES = 1, LOADS, ENGINES, MERGING, ARGUMENTS, ORDER, ALL }; /* choices of `without` */

static const tw_key options[] = {
    TW_CHOICE_KEY("without", "nothing", "nothing|copies|loads|engines|merging|arguments|order|all",
                  "part of the compiler model to switch off"),
    TW_CHOICE_KEY("dialect", "nki2", "nki2|nki1",
                  "of emitted kernels: nki, with destinations first, or neuronxcc.nki (SDK 2.26)"),
    TW_CHOICE_KEY("descriptors", "dynamic", "dynamic|static",
                  "DMA descriptors: written during the run, or before it (--disable-dge)"),
    /* the last one, only of ops that may have several */
    TW_CHOICE_KEY("outputs", "all", "all|first",
                  "outputs that the kernel returns and that are compared: all of the op, or the first alone")};

trn_compiler trn_compiler_of(const tw_problem *p) {
  const int64_t off = tw_problem_int(p, "without");
  const bool all = off == ALL;
  trn_compiler c = trn_compiler_usual;
  c.remove_copies = !all && off != COPIES;
  c.remove_loads = !all && off != LOADS;
  c.choose_engines = !all && off != ENGINES;
  c.merge_iterations = !all && off != MERGING;
  c.software_arguments = !all && off != ARGUMENTS;
  if (all || off == ORDER) c.schedule_program = false, c.look_ahead = 1;
  c.static_dma = tw_problem_int(p, "descriptors");
  return c;
}

/* ---- kernels ---- */

static void release(tw_artefact *a) {
  if (a->has_program) trn_program_free(&a->program);
  nki_module_free(&a->module);
  free(a->source);
  free(a);
}

static tw_status build(const tw_target *t, const tw_problem *p, const char *source, size_t length, tw_evaluation *e,
                       tw_artefact **out, tw_error *error) {
  (void)t, (void)p, (void)e; /* kernels are interpreted here, never run by the host's Python */
  if (strlen(source) != length) return tw_fail(error, TW_FAILED, "the source holds a zero byte");
  tw_artefact *a = tw_new(1, sizeof *a);
  if (!a) return tw_no_memory(error, NULL);
  a->source = strdup(source);
  const tw_status status = a->source ? nki_parse(source, length, &a->module, error) : tw_no_memory(error, NULL);
  if (status == TW_OK)
    *out = a;
  else
    release(a);
  return status;
}

/* An output that this problem does not ask for: outputs=first. */
static bool is_left_out(const tw_case *k, size_t operand) {
  bool is_first = true;
  for (size_t i = 0; i < operand; i++) is_first = is_first && !k->operand[i].is_output;
  return k->operand[operand].is_output && !is_first && tw_problem_int(k->problem, "outputs") == 1;
}

/* buffer: NULL for times only. needed: marks instructions of a->program that must be computed; NULL: all are. */
static tw_status execute(const tw_target *t, tw_artefact *a, const tw_case *k, void *const buffer[],
                         const uint8_t *needed, tw_error *error) {
  tw_operand operand[TW_OPERANDS_MAX];
  void *data[TW_OPERANDS_MAX];
  nki_request request = {.operand = operand, .buffer = buffer ? data : NULL, .needed = needed};
  if (needed) request.n_needed = a->program.n_instructions;
  for (size_t i = 0; i < k->n_operands; i++) {
    if (is_left_out(k, i)) continue;
    if (buffer) data[request.n_operands] = buffer[i];
    operand[request.n_operands++] = k->operand[i];
  }
  for (size_t i = 0; i < k->problem->op->n_keys && request.n_scalars + 2 <= NKI_SCALARS_MAX; i++) {
    const tw_key *key = &k->problem->op->keys[i];
    if (key->kind != TW_KEY_REAL) continue;
    const double value = tw_problem_real(k->problem, key->name);
    request.scalar[request.n_scalars++] = (nki_scalar_argument){key->name, value};
    if (!strcmp(key->name, "eps")) request.scalar[request.n_scalars++] = (nki_scalar_argument){"epsilon", value};
  }
  trn_program program;
  const tw_status status = nki_execute(t->config, &a->module, a->source, &request, &program, error);
  if (status != TW_OK) return status;
  trn_program_free(&a->program);
  a->program = program;
  a->has_program = true;
  return TW_OK;
}

tw_status trn_program_of(const tw_target *t, const char *source, const tw_case *k, trn_program *out, tw_error *error) {
  tw_artefact *a = NULL;
  tw_status status = build(t, k->problem, source, strlen(source), &(tw_evaluation){.trust = true}, &a, error);
  if (status != TW_OK || !a) return status;
  status = execute(t, a, k, NULL, NULL, error);
  if (status == TW_OK) {
    *out = a->program;
    a->has_program = false;
  }
  release(a);
  return status;
}

static bool is_sampled(const tw_problem *p) { return p->op->exact && p->op->operations(p) > sample_above; }

static tw_status compare(tw_artefact *a, const tw_case *k, void *const actual[], const uint8_t *needed,
                         tw_error *error) {
  char *text = a->coverage;
  tw_coverage seen = {.text = "every element"};
  size_t compared, computed = 0, all = a->program.n_instructions;
  tw_status status;
  if (needed) {
    for (size_t i = 0; i < all; i++) computed += needed[i];
    status = tw_compare_written(k, actual, tw_random_system(), 1, &compared, error);
    snprintf(text, sizeof a->coverage,
             "sampled: %zu elements, from the %zu of %zu instructions that %d random parts of each output need",
             compared, computed, all, TRN_SLICE_PARTS);
    return status;
  }
  status = is_sampled(k->problem)
               ? tw_case_check(k, actual, &(tw_effort){.budget = check_budget, .threads = 1}, &seen, error)
               : k->problem->op->compare(k->problem, k->buffer, actual, error);
  snprintf(text, sizeof a->coverage, "%.*s", (int)sizeof a->coverage - 1, seen.text);
  return status;
}

/* needed: as in `execute`. */
static tw_status execute_and_compare(const tw_target *t, tw_artefact *a, const tw_case *k, const uint8_t *needed,
                                     tw_error *error) {
  void *actual[TW_OPERANDS_MAX] = {0};
  tw_case asked = *k; /* an output that is left out is not compared: it is like an input */
  tw_status status = TW_OK;
  for (size_t i = 0; i < k->n_operands && status == TW_OK; i++) {
    tw_operand *o = &asked.operand[i];
    if (is_left_out(k, i)) o->is_output = false;
    actual[i] =
        o->is_output ? aligned_alloc(64, (o->bytes + 127) & ~(size_t)63) : k->buffer[i]; /* inputs cannot be written */
    if (!actual[i]) status = tw_no_memory(error, NULL);
    if (status == TW_OK && o->is_output) tw_wish_large_pages(actual[i], o->bytes);
    if (status == TW_OK && o->is_output)
      tw_blank_output(o, needed ? 0 : k->seed, k->buffer[i], actual[i]); /* buffer of seed 0: only poison */
  }
  if (status == TW_OK) status = execute(t, a, k, actual, needed, error);
  if (status == TW_OK) status = trn_check_races(&a->program, error);
  if (status == TW_OK) status = compare(a, &asked, actual, needed, error);
  for (size_t i = 0; i < k->n_operands; i++) {
    const size_t n = strlen(a->coverage);
    if (asked.operand[i].is_output) free(actual[i]);
    if (status == TW_OK && is_left_out(k, i))
      snprintf(a->coverage + n, sizeof a->coverage - n, " (%s was not compared)", k->operand[i].name);
  }
  return status;
}

static tw_status check_part(const tw_target *t, tw_artefact *a, const tw_case *k, tw_error *error) {
  uint8_t *needed = NULL;
  tw_status status = a->has_program ? TW_OK : execute(t, a, k, NULL, NULL, error);
  if (status == TW_OK) status = trn_slice(&a->program, tw_random_system(), &needed, error);
  if (status == TW_OK) status = execute_and_compare(t, a, k, needed, error);
  free(needed);
  return status;
}

static tw_status check(const tw_target *t, tw_artefact *a, const tw_case *k, tw_evaluation *e, tw_error *error) {
  tw_status status = e->in_part && is_sampled(k->problem) ? check_part(t, a, k, error) : TW_MISSING;
  if (status == TW_MISSING) /* the slice failed: compare in full; an output that was not written fails as well */
    status = execute_and_compare(t, a, k, NULL, error);
  snprintf(e->coverage, sizeof e->coverage, "%s", a->coverage);
  return status;
}

static tw_status measure(const tw_target *t, tw_artefact *a, const tw_case *k, tw_evaluation *e, tw_measurement *out,
                         tw_error *error) {
  trn_timing timing;
  tw_status status = a->has_program ? TW_OK : execute(t, a, k, NULL, NULL, error);
  const trn_compiler compiler = trn_compiler_of(k->problem);
  if (status == TW_OK) status = trn_time(t->config, &a->program, &compiler, &timing, error);
  if (status != TW_OK) return status;
  trn_report(t->config, &a->program, &timing, out);
  out->utilization = k->problem->op->operations(k->problem) / peak_macs(t->config) / out->seconds;
  if (e->trace) status = trn_report_trace(&a->program, &timing, e->trace, error);
  trn_timing_free(&timing);
  return status;
}

/* ---- schedules ---- */

static const tw_language *language(size_t index) { return index < TRN_KINDS ? trn_kinds[index]->language : NULL; }

/* Ops from source, after the kinds; "*" is any further op, which may have several outputs. */
static const char *const from_source[] = {"conv3d", "gate", "elementwise", "reduce", "*"};
static tw_family families[TRN_KINDS + sizeof from_source / sizeof *from_source];

static bool may_have_several_outputs(const char *op) {
  return !strcmp(op, "attention") || !strcmp(op, "layernorm") || !strcmp(op, "*");
}

static void fill_families(void) {
  for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
    tw_family *f = &families[i];
    *f = (tw_family){.keys = "*", .options = options, .settle = settle_problem, .bound = bound};
    f->op = i < TRN_KINDS ? trn_kinds[i]->op : from_source[i - TRN_KINDS];
    f->n_options = sizeof options / sizeof *options - !may_have_several_outputs(f->op);
    if (i >= TRN_KINDS) continue;
    if (trn_kinds[i]->keys) f->keys = trn_kinds[i]->keys;
    f->steps = trn_kind_steps;
    f->emit = trn_kind_emit;
    f->predict = trn_kind_predict;
    f->language = trn_kind_language;
  }
}

/* ---- the list ---- */

static void fill_target(const void *values, tw_target *out) {
  const trn_config *c = values;
  if (!families[0].op) fill_families(); /* under the list's lock */
  *out = (tw_target){.size = sizeof(tw_target),
                     .unit = "seconds",
                     .traits = {.simulated = true,
                                .deterministic = true,
                                .measures_first = true, /* times need no data */
                                .checks_part = true,
                                .own_reference = true,
                                .reference_up_to = sample_above,
                                .error = c->error,
                                .error_of = c->error_of,
                                .language = "NKI",
                                .line_comment = "#",
                                .prompts = "trainium",
                                .source_name = "kernel.py"},
                     .config = c,
                     .n_families = sizeof families / sizeof *families,
                     .family = families,
                     .available = tw_available_anywhere,
                     .describe = describe,
                     .build = build,
                     .check = check,
                     .measure = measure,
                     .release = release,
                     .rewriter = &trn_rewriter,
                     .exporter = &trn_exporter,
                     .language = language};
}

tw_machine_list trn_machine_list = {
    .kind = {.folder = "trainium/configs/", .prefix = "", .schema = &trn_config_schema, .fill = fill_target},
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

const tw_target *trn_target_at(size_t index) { return tw_machines_at(&trn_machine_list, index); }

tw_status trn_config_load(const char *name, trn_config *out, tw_error *error) {
  const tw_target *t;
  for (size_t i = 0; (t = trn_target_at(i)); i++) {
    if (strcmp(t->name, name) != 0) continue;
    *out = *(const trn_config *)t->config;
    return TW_OK;
  }
  return tw_fail(error, TW_USAGE, "%s: unknown machine", name);
}
