/* target.c - Gemmini as a target: one struct of functions, filled once per configuration.
 *
 * Checking and measuring are one run of the program on the simulated machine; an artefact remembers its run. */
#include "target/gemmini/target.h"

#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/count.h"
#include "target/gemmini/build.h"
#include "target/gemmini/config.h"
#include "target/gemmini/export.h"
#include "target/gemmini/rewrite/rewrite.h"
#include "target/gemmini/run.h"
#include "target/gemmini/schedule/family.h"

struct tw_artefact {
  char *elf;
  size_t size;
  const tw_case *ran_on; /* the case of its last run; NULL = did not run yet */
  tw_status verdict;
  tw_error error;
  gm_run_result run;
};

static tw_status available(const tw_target *t, tw_error *error) { return gm_build_available(gm_config_of(t), error); }

static const char *compiler(void) { return "riscv64-unknown-elf-gcc"; }

static char *describe(const tw_target *t) {
  const gm_config *c = gm_config_of(t);
  const char *type = tw_type_name(c->input_type), *acc = tw_type_name(c->acc_type);
  tw_text s = {0};
  tw_text_add(&s, "host         in-order RV64GC core (Rocket), %d KiB + %d KiB L1\n", c->icache_bytes >> 10,
              c->dcache_bytes >> 10);
  tw_text_add(&s, "array        %d x %d, %s x %s -> %s, peak %d multiply-accumulates a cycle\n", c->dim, c->dim, type,
              type, acc, c->dim * c->dim);
  tw_text_add(&s, "scratchpad   %d KiB in %d single-ported banks of %d rows of %d bytes\n", c->spad_bytes >> 10,
              c->spad_banks, gm_spad_bank_rows(c), c->dim * gm_input_bytes(c));
  tw_text_add(&s, "accumulator  %d KiB in %d bank%s of %d rows of %d bytes\n", c->acc_bytes >> 10, c->acc_banks,
              c->acc_banks == 1 ? "" : "s", gm_acc_bank_rows(c), c->dim * gm_acc_bytes(c));
  tw_text_add(&s, "commands     reservation station of %d load, %d execute, %d store entries; in-order allocation\n",
              c->rs_load, c->rs_execute, c->rs_store);
  tw_text_add(&s, "DMA          %d bytes a cycle, packets of up to %d bytes, %d reads and %d writes in flight\n",
              c->dma_bus_bits / 8, c->dma_max_bytes, c->max_in_flight_reads, c->max_in_flight_writes);
  tw_text_add(&s, "L2           %d KiB, %d ways, cold; %d bytes a cycle from a %d MiB last-level cache\n",
              c->l2_bytes >> 10, c->l2_ways, c->port_bytes, c->llc_bytes >> 20);
  return tw_text_take(&s);
}

static tw_status build(const tw_target *t, const tw_problem *p, const char *source, size_t length, tw_evaluation *e,
                       tw_artefact **out, tw_error *error) {
  tw_artefact *a = calloc(1, sizeof *a);
  if (!a) return tw_no_memory(error, NULL);
  tw_status status = gm_build(gm_config_of(t), p, source, length, e->trust, &a->elf, &a->size, error);
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
  a->verdict = gm_run(gm_config_of(t), a->elf, a->size, k, &options, &a->run, &a->error);
  a->ran_on = k;
}

/* A program whose loads overtake stores may be right on this machine; some published programs are. It is rejected,
 * because its result depends on timing, but its cycles are reported. */
static void report_cycles(const tw_target *t, const tw_artefact *a, const tw_case *k, tw_error *error) {
  const gm_run_options options = {.any_order = true};
  gm_run_result run;
  tw_error other = {0};
  char more[300];
  const tw_status status = gm_run(gm_config_of(t), a->elf, a->size, k, &options, &run, &other);
  if (status != TW_OK && run.core.stop != RV64_EXITED) return;
  snprintf(more, sizeof more, "; it depends on timing: as simulated it takes %llu cycles and its result is %s",
           (unsigned long long)run.core.cycles, status == TW_OK ? "right" : "wrong");
  tw_append_cut(error->text, sizeof error->text, more);
}

static tw_status check(const tw_target *t, tw_artefact *a, const tw_case *k, tw_evaluation *e, tw_error *error) {
  (void)e;
  execute(t, a, k, NULL);
  if (a->verdict == TW_FAILED && gm_relies_on_timing(&a->error)) report_cycles(t, a, k, &a->error);
  if (a->verdict != TW_OK && error) *error = a->error;
  return a->verdict;
}

static void fill_measurement(const gm_config *c, const tw_case *k, const gm_run_result *r, tw_measurement *m) {
  const gm_counters *n = &r->counters;
  memset(m, 0, sizeof *m);
  m->cost = m->cycles = (double)r->core.cycles;
  m->instructions = (double)r->core.instructions;
  m->utilization = k->problem->op->operations(k->problem) / (c->dim * c->dim) / m->cycles;
  tw_count(m, "array_busy", "cycles", "rows of a matrix product enter the array without a bank conflict",
           (double)n->array_busy);
  tw_count(m, "array_preload", "cycles", "weights enter the array without rows of a product", (double)n->array_preload);
  tw_count(m, "bank_conflict", "cycles", "an operand waits for its scratchpad bank: another operand or a load uses it",
           (double)n->bank_conflict);
  tw_count(m, "wait_load", "cycles", "the array waits for a load", (double)n->wait_load);
  tw_count(m, "wait_store", "cycles", "the array waits for a store, or a full store queue blocks the commands after it",
           (double)n->wait_store);
  tw_count(m, "wait_load_queue", "cycles", "a full load queue blocks the commands after it",
           (double)n->wait_load_queue);
  tw_count(m, "wait_config", "cycles", "the array drains before a config_ex", (double)n->wait_config);
  tw_count(m, "wait_cpu", "cycles", "the core has not yet issued the next command", (double)n->wait_cpu);
  tw_count(m, "drain", "cycles", "a fence waits for the last loads and stores", (double)n->drain);
  tw_count(m, "commands", "commands", "accelerator commands", (double)n->commands);
  tw_count(m, "loads", "commands", "mvin commands", (double)n->loads);
  tw_count(m, "computes", "commands", "compute commands", (double)n->computes);
  tw_count(m, "stores", "commands", "mvout commands", (double)n->stores);
  tw_count(m, "configs", "commands", "config commands", (double)n->configs);
  tw_count(m, "load_bytes", "bytes", "bytes that mvin loads", (double)n->load_bytes);
  tw_count(m, "store_bytes", "bytes", "bytes that mvout stores", (double)n->store_bytes);
  tw_count(m, "l2_fills", "lines", "L2 misses", (double)n->l2_fills);
  tw_count(m, "icache_misses", "lines", "instruction cache misses", (double)r->core.instruction_cache_misses);
  tw_count(m, "branch_mispredicts", "branches", "mispredicted branches", (double)r->core.branch_mispredicts);
  if (n->short_strides)
    tw_count(m, "block_stride_below_rows", "commands",
             "mvin with a block stride in config_ld below its rows: an RTL simulation ends with the assertion "
             "'block_stride >= rows'; use a stride of at least the rows",
             (double)n->short_strides);
  m->n_memories = 2;
  m->memory[0] =
      (tw_memory_use){"scratchpad", r->memory.spad_rows * (size_t)(c->dim * gm_input_bytes(c)), (size_t)c->spad_bytes};
  m->memory[1] =
      (tw_memory_use){"accumulator", r->memory.acc_rows * (size_t)(c->dim * gm_acc_bytes(c)), (size_t)c->acc_bytes};
}

static tw_status measure(const tw_target *t, tw_artefact *a, const tw_case *k, tw_evaluation *e, tw_measurement *out,
                         tw_error *error) {
  if (a->ran_on != k || e->trace) execute(t, a, k, e->trace);
  if (a->verdict != TW_OK) {
    if (error) *error = a->error;
    return a->verdict;
  }
  fill_measurement(gm_config_of(t), k, &a->run, out);
  return TW_OK;
}

/* ---- the list ---- */

static const tw_rewriter rewriter = {
    .study = gm_study,
    .diagnose = gm_diagnose_program,
    .rewrites = gm_rewrites,
    .rewrite = gm_rewrite,
    .forget = gm_forget,
};

static const tw_exporter exporter = {.sources = gm_export};

static void fill_target(const void *values, tw_target *out) {
  const gm_config *c = values;
  *out = (tw_target){
      .unit = "cycles",
      .traits = {.simulated = true,
                 .deterministic = true,
                 .simulation_rate = 15e6, /* bench_gemmini_sim: 6 to 21 million cycles a second */
                 .error = c->error,
                 .error_of = c->error_of,
                 .language = "C",
                 .source_name = "kernel.c",
                 .prompts = "gemmini",
                 .compiler = compiler},
      .config = c,
      .n_families = GM_FAMILIES,
      .family = gm_families,
      .available = available,
      .describe = describe,
      .build = build,
      .check = check,
      .measure = measure,
      .release = release,
      .exporter = &exporter,
      .rewriter = &rewriter,
      .language = gm_language,
  };
}

tw_target gm_target_of(const gm_config *c) {
  tw_target t;
  fill_target(c, &t);
  t.name = c->name;
  t.summary = c->summary;
  return t;
}

tw_machine_list gm_machine_list = {
    .kind = {.folder = "gemmini/configs/", .prefix = "", .schema = &gm_config_schema, .fill = fill_target},
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

const tw_target *gm_target_at(size_t index) { return tw_machines_at(&gm_machine_list, index); }
