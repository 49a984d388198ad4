/* target.c - Gemmini as a target: one struct of functions, filled once per configuration.
 *
 * Checking and measuring are one run of the program on the simulated machine; an artefact remembers its run. */
#include "target/gemmini/target.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/strings.h"
#include "op/conv2d.h"
#include "target/gemmini/build.h"
#include "target/gemmini/config.h"
#include "target/gemmini/prompt.h"
#include "target/gemmini/rewrite/rewrite.h"
#include "target/gemmini/run.h"
#include "target/gemmini/schedule/schedule.h"

struct tw_artefact {
  char *elf;
  size_t size;
  const tw_case *ran_on; /* the case of the run below; NULL = not yet */
  tw_status verdict;
  tw_error error;
  gm_run_result run;
};

static const gm_config *config(const tw_target *t) { return t->config; }

static tw_status available(const tw_target *t, tw_error *error) { return gm_build_available(config(t), error); }

static char *describe(const tw_target *t) {
  const gm_config *c = config(t);
  const char *type = tw_type_name(c->input_type), *acc = tw_type_name(c->acc_type);
  tw_text s = {0};
  tw_text_add(&s, "%s\n", c->summary);
  tw_text_add(&s, "host         in-order RV64GC core (Rocket), %d KiB + %d KiB L1\n", c->icache_bytes >> 10,
              c->dcache_bytes >> 10);
  tw_text_add(&s, "array        %d x %d, %s x %s -> %s, peak %d multiply-accumulates a cycle\n", c->dim, c->dim, type,
              type, acc, c->dim * c->dim);
  tw_text_add(&s, "scratchpad   %d KiB in %d single-ported banks of %d rows of %d bytes\n", c->spad_bytes >> 10,
              c->spad_banks, gm_spad_bank_rows(c), c->dim * gm_input_bytes(c));
  tw_text_add(&s, "accumulator  %d KiB in %d banks of %d rows of %d bytes\n", c->acc_bytes >> 10, c->acc_banks,
              gm_acc_bank_rows(c), c->dim * gm_acc_bytes(c));
  tw_text_add(&s, "commands     reservation station of %d load, %d execute, %d store entries; in-order allocation\n",
              c->rs_load, c->rs_execute, c->rs_store);
  tw_text_add(&s, "DMA          %d bytes a cycle, packets of up to %d bytes, %d reads and %d writes in flight\n",
              c->dma_bus_bits / 8, c->dma_max_bytes, c->max_in_flight_reads, c->max_in_flight_writes);
  tw_text_add(&s, "L2           %d KiB, %d ways, cold; %d bytes a cycle from a %d MiB last-level cache\n",
              c->l2_bytes >> 10, c->l2_ways, c->port_bytes, c->llc_bytes >> 20);
  return tw_text_take(&s);
}

/* Fills in one type, or checks that it is one of the machine's. */
static tw_status settle(tw_problem *p, const char *key, tw_type first, tw_type second, const char *target,
                        tw_error *error) {
  if (tw_problem_type(p, key) == TW_TYPE_NONE) return tw_problem_set(p, key, tw_type_name(first), error);
  tw_type t = tw_problem_type(p, key);
  if (t == first || t == second) return TW_OK;
  return tw_fail(error, TW_USAGE, "%s: %s=%s is not a type of this machine; use %s=%s%s%s", target, key,
                 tw_type_name(t), key, tw_type_name(first), second == first ? "" : " or ",
                 second == first ? "" : tw_type_name(second));
}

/* The ops that the machine runs, and the key of each for the type of its output. */
static const struct { const char *op, *output_key; } ops[] = {{"gemm", "c"}, {"conv2d", "out"}};

/* What the store unit can do on the way out (StoreController.scala, GemminiISA.scala: widths of the fields). */
static tw_status check_conv2d(const gm_config *c, const tw_problem *p, const char *target, tw_error *error) {
  const tw_conv2d v = tw_conv2d_of(p);
  if (v.output == c->acc_type && v.output != c->input_type && (v.relu || v.pool))
    return tw_fail(error, TW_USAGE, "%s: out=%s leaves the accumulator as it is: relu and pool need out=%s", target,
                   tw_type_name(v.output), tw_type_name(c->input_type));
  if (v.pool > 3 || v.pool_stride > 3)
    return tw_fail(error, TW_USAGE, "%s: the store unit pools windows of at most 3 x 3, at most 3 apart", target);
  if (v.pool_pad && !v.relu)
    return tw_fail(error, TW_USAGE,
                   "%s: the store unit pads pooling windows with zeros, which would win over negative results: "
                   "use relu=1 or pool_pad=0",
                   target);
  if (v.pool && v.out_w > 255)
    return tw_fail(error, TW_USAGE, "%s: the store unit pools to at most 255 columns, not %d", target, (int)v.out_w);
  return TW_OK;
}

static tw_status settle_types(const tw_target *t, tw_problem *p, tw_error *error) {
  const gm_config *c = config(t);
  const char *name = p->op->name;
  size_t op = 0, n_ops = sizeof ops / sizeof *ops;
  if (!strcmp(name, "mpc_forward") || !strcmp(name, "mpc_backward")) {
    if (c->input_type != TW_F32)
      return tw_fail(error, TW_USAGE, "%s: %s needs floating point; use -t gemmini-4x4-fp32", t->name, name);
    return settle(p, "type", TW_F32, TW_F32, t->name, error);
  }
  if (!strcmp(name, "conv2d") && c->input_type != TW_I8)
    return tw_fail(error, TW_USAGE, "%s: conv2d is of int8 here; use -t gemmini-16x16-int8", t->name);
  while (op < n_ops && strcmp(name, ops[op].op)) op++;
  if (op == n_ops)
    return tw_fail(error, TW_USAGE, "%s: op %s is not supported; supported: gemm, conv2d, mpc_forward, mpc_backward",
                   t->name, name);
  tw_status status;
  if (!strcmp(name, "gemm") && tw_problem_int(p, "threads"))
    return tw_fail(error, TW_USAGE, "%s: threads=%d: this machine has one core; leave threads out", t->name,
                   (int)tw_problem_int(p, "threads"));
  if ((status = settle(p, "a", c->input_type, c->input_type, t->name, error)) ||
      (status = settle(p, "b", c->input_type, c->input_type, t->name, error)) ||
      (status = settle(p, "acc", c->acc_type, c->acc_type, t->name, error)))
    return status;
  return settle(p, ops[op].output_key, c->input_type, c->acc_type, t->name, error);
}

static tw_status supports(const tw_target *t, tw_problem *p, tw_error *error) {
  const gm_config *c = config(t);
  tw_status status = settle_types(t, p, error);
  if (status == TW_OK) status = p->op->validate(p, error);
  if (status != TW_OK) return status;
  if (!strcmp(p->op->name, "conv2d") && (status = check_conv2d(c, p, t->name, error)) != TW_OK) return status;
  tw_operand operand[TW_OPERANDS_MAX];
  size_t n = p->op->operands(p, operand), bytes = 0;
  for (size_t i = 0; i < n; i++) bytes += operand[i].bytes;
  const size_t limit = RV64_MEMORY_LIMIT - (64 << 20); /* what code, data and stack need is far below the rest */
  if (bytes > limit)
    return tw_fail(error, TW_USAGE, "%s: the operands need %zu MiB; the simulated machine has room for %zu MiB",
                   t->name, bytes >> 20, limit >> 20);
  return TW_OK;
}

static tw_status steps(const tw_target *t, const tw_problem *p, const tw_schedule *s, tw_menu *out, tw_error *error) {
  return gm_steps(config(t), p, s, out, error);
}

static tw_status emit(const tw_target *t, const tw_problem *p, const tw_schedule *s, char **source, tw_error *error) {
  return gm_emit(config(t), p, s, source, error);
}

static tw_status predict(const tw_target *t, const tw_problem *p, const tw_schedule *s, double *cost, tw_error *error) {
  return gm_predict(config(t), p, s, cost, error);
}

static tw_status bound(const tw_target *t, const tw_problem *p, tw_bound *out, tw_error *error) {
  return gm_bound(config(t), p, out, error);
}

static tw_status build(const tw_target *t, const tw_problem *p, const char *source, size_t length, tw_artefact **out,
                       tw_error *error) {
  tw_artefact *a = calloc(1, sizeof *a);
  if (!a) return tw_fail(error, TW_MISSING, "out of memory");
  tw_status status = gm_build(config(t), p, source, length, &a->elf, &a->size, error);
  if (status != TW_OK) {
    free(a);
    return status;
  }
  *out = a;
  return TW_OK;
}

static void release(tw_artefact *a) {
  if (!a) return;
  free(a->elf);
  free(a);
}

static void execute(const tw_target *t, tw_artefact *a, const tw_case *k, const char *trace) {
  const gm_run_options options = {.trace = trace};
  a->error = (tw_error){0};
  a->verdict = gm_run(config(t), a->elf, a->size, k, &options, &a->run, &a->error);
  a->ran_on = k;
}

static tw_status check(const tw_target *t, tw_artefact *a, const tw_case *k, tw_error *error) {
  execute(t, a, k, NULL);
  if (a->verdict != TW_OK && error) *error = a->error;
  return a->verdict;
}

static void count(tw_measurement *m, const char *name, const char *unit, const char *help, double value) {
  m->counter[m->n_counters++] = (tw_counter){name, unit, help, value};
}

static void fill_measurement(const gm_config *c, const tw_case *k, const gm_run_result *r, tw_measurement *m) {
  const gm_counters *n = &r->counters;
  memset(m, 0, sizeof *m);
  m->cost = m->cycles = (double)r->core.cycles;
  m->instructions = (double)r->core.instructions;
  m->utilization = k->problem->op->operations(k->problem) / (c->dim * c->dim) / m->cycles;
  count(m, "array_busy", "cycles", "rows of a matrix product enter the array", (double)n->array_busy);
  count(m, "array_preload", "cycles", "weights enter the array with no product beside them", (double)n->array_preload);
  count(m, "bank_conflict", "cycles",
        "an operand waits for its scratchpad bank: operands in one bank, or a load writes it",
        (double)n->bank_conflict);
  count(m, "wait_load", "cycles", "the array waits for a load", (double)n->wait_load);
  count(m, "wait_store", "cycles", "the array waits for a store, or a full store queue blocks the commands behind it",
        (double)n->wait_store);
  count(m, "wait_load_queue", "cycles", "a full load queue blocks the commands behind it", (double)n->wait_load_queue);
  count(m, "wait_config", "cycles", "the array drains before a config_ex", (double)n->wait_config);
  count(m, "wait_cpu", "cycles", "the core has not issued the next command", (double)n->wait_cpu);
  count(m, "drain", "cycles", "a fence waits for the last loads and stores", (double)n->drain);
  count(m, "commands", "commands", "accelerator commands", (double)n->commands);
  count(m, "loads", "commands", "mvin", (double)n->loads);
  count(m, "computes", "commands", "compute", (double)n->computes);
  count(m, "stores", "commands", "mvout", (double)n->stores);
  count(m, "configs", "commands", "config", (double)n->configs);
  count(m, "load_bytes", "bytes", "loaded by mvin", (double)n->load_bytes);
  count(m, "store_bytes", "bytes", "stored by mvout", (double)n->store_bytes);
  count(m, "l2_fills", "lines", "L2 misses", (double)n->l2_fills);
  count(m, "icache_misses", "lines", "instruction cache misses", (double)r->core.instruction_cache_misses);
  count(m, "branch_mispredicts", "branches", "mispredicted branches", (double)r->core.branch_mispredicts);
  m->n_memories = 2;
  m->memory[0] =
      (tw_memory_use){"scratchpad", r->memory.spad_rows * (size_t)(c->dim * gm_input_bytes(c)), (size_t)c->spad_bytes};
  m->memory[1] =
      (tw_memory_use){"accumulator", r->memory.acc_rows * (size_t)(c->dim * gm_acc_bytes(c)), (size_t)c->acc_bytes};
}

static tw_status measure(const tw_target *t, tw_artefact *a, const tw_case *k, const char *trace, tw_measurement *out,
                         tw_error *error) {
  if (a->ran_on != k || trace) execute(t, a, k, trace);
  if (a->verdict != TW_OK) {
    if (error) *error = a->error;
    return a->verdict;
  }
  fill_measurement(config(t), k, &a->run, out);
  return TW_OK;
}

static tw_status study(const tw_target *t, const tw_problem *p, const char *source, size_t length, uint64_t seed,
                       int jobs, const tw_stop *stop, tw_program **out, tw_error *error) {
  return gm_study(config(t), p, source, length, seed, jobs, stop, out, error);
}

/* ---- the list ---- */

enum { TARGETS_MAX = 8 };
static struct {
  gm_config config[TARGETS_MAX];
  tw_target target[TARGETS_MAX];
  size_t n;
} list;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_list(void) {
  static const char prefix[] = "gemmini/configs/";
  const tw_embedded *file;
  for (size_t i = 0; (file = tw_embedded_at(i)) && list.n < TARGETS_MAX; i++) {
    gm_config *c = &list.config[list.n];
    if (strncmp(file->name, prefix, sizeof prefix - 1) ||
        gm_config_parse((const char *)file->data, file->name, c, NULL) != TW_OK)
      continue;
    list.target[list.n++] = (tw_target){
        .name = c->name,
        .summary = c->summary,
        .unit = "cycles",
        .traits = {.simulated = true,
                   .deterministic = true,
                   .simulation_rate = 25e6, /* bench_gemmini_sim: 21 to 29 million cycles a second */
                   .language = "C",
                   .source_name = "kernel.c"},
        .config = c,
        .available = available,
        .describe = describe,
        .supports = supports,
        .steps = steps,
        .emit = emit,
        .predict = predict,
        .build = build,
        .check = check,
        .measure = measure,
        .release = release,
        .bound = bound,
        .prompt = gm_prompt,
        .study = study,
        .diagnose = gm_diagnose_program,
        .rewrites = gm_rewrites,
        .rewrite = gm_rewrite,
        .forget = gm_forget,
    };
  }
}

const tw_target *gm_target_at(size_t index) {
  pthread_once(&once, fill_list);
  return index < list.n ? &list.target[index] : NULL;
}
