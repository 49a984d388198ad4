/* run.c - see run.h. The program sees its operands as memory regions of their exact sizes: inputs that it cannot
 * write, outputs that hold the poison byte. */
#include "target/gemmini/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "op/operand.h"
#include "target/gemmini/harness.h"

/* A program that takes longer than this is in an endless loop: 64 times the time of the array and the memory port,
 * plus a start-up time. */
static uint64_t cycle_limit(const gm_config *c, const tw_case *k) {
  const tw_op *op = k->problem->op;
  return 20000000 + (uint64_t)(64 * (op->operations(k->problem) / (c->dim * c->dim) + op->bytes(k->problem)));
}

static tw_status copy_operands(const rv64_memory *memory, const tw_case *k, void *place_of[TW_OPERANDS_MAX],
                               tw_error *error) {
  for (size_t i = 0; i < k->n_operands; i++) {
    const tw_operand *o = &k->operand[i];
    rv64_region *r = rv64_region_named(memory, o->name);
    if (!r || r->size != o->bytes)
      return tw_fail(error, TW_FAILED, "the program has no array %s of %zu bytes", o->name, o->bytes);
    if (o->is_output) {
      tw_blank_output(o, k->seed, k->buffer[i], r->host);
    } else {
      memcpy(r->host, k->buffer[i], o->bytes);
    }
    place_of[i] = r->host;
  }
  return TW_OK;
}

static rv64_options core_options(const gm_config *c, const gm_run_options *options, uint64_t max_cycles) {
  return (rv64_options){.icache_bytes = c->icache_bytes,
                        .icache_ways = c->icache_ways,
                        .dcache_bytes = c->dcache_bytes,
                        .dcache_ways = c->dcache_ways,
                        .max_cycles = max_cycles,
                        .harness = GM_HARNESS_SECTION,
                        .from_first_count = options->from_first_count,
                        .interrupt = options->interrupt};
}

/* For seeds of TW_SEED_KIND, the program runs twice and the second run counts. Static memory is as the first run
 * left it, and the stack holds TW_POISON. A kernel that is right only once, or relies on zeros in memory, is then
 * wrong. */
static tw_status run_before(const gm_config *c, rv64_memory *memory, const tw_case *k, const gm_run_options *options,
                            void *actual[TW_OPERANDS_MAX], tw_error *error) {
  rv64_region *stack = rv64_region_named(memory, "stack");
  rv64_result result;
  tw_error ignored;
  gm_machine *machine = gm_machine_new(c, memory, error);
  if (!machine) return TW_NO_MEMORY;
  const uint64_t limit = options->max_cycles ? options->max_cycles : cycle_limit(c, k);
  if (options->any_order) gm_machine_allow_any_order(machine);
  gm_machine_limit(machine, limit);
  const rv64_ports ports = gm_machine_ports(machine);
  const rv64_options core = core_options(c, options, limit);
  if (rv64_run(memory, &ports, &core, &result, &ignored) == TW_OK)
    gm_machine_finish(machine, result.start_cycle,
                      result.start_cycle + result.cycles); /* the second run reports errors */
  gm_machine_free(machine);
  if (stack) memset(stack->host, TW_POISON, stack->size);
  return copy_operands(memory, k, actual, error);
}

/* A wrong result often comes from a row that no command has filled. */
static tw_status name_unwritten(const gm_unwritten *u, tw_status status, tw_error *error) {
  if (status != TW_FAILED || !u->command || !error) return status;
  const tw_error why = *error;
  return tw_fail(error, status, "%s; %s read %s row 0x%x, which was never written", why.text, u->command,
                 u->acc ? "accumulator" : "scratchpad", u->row);
}

static tw_status verdict(const tw_case *k, const gm_run_result *run, void *const actual[], tw_error *error) {
  const rv64_result *r = &run->core;
  if (r->stop == RV64_INTERRUPTED) return tw_fail(error, TW_INTERRUPTED, "interrupted");
  if (r->stop != RV64_EXITED) return tw_fail(error, TW_FAILED, "%s", r->why);
  const tw_status status = k->problem->op->compare(k->problem, k->buffer, actual, error);
  return name_unwritten(&run->memory.unwritten, status, error);
}

bool gm_relies_on_timing(const tw_error *e) { return strstr(e->text, " before a fence") != NULL; }

tw_status gm_run(const gm_config *c, const void *elf, size_t size, const tw_case *k, const gm_run_options *options,
                 gm_run_result *out, tw_error *error) {
  memset(out, 0, sizeof *out);
  rv64_memory memory;
  void *actual[TW_OPERANDS_MAX];
  tw_status status = rv64_memory_load(elf, size, "kernel", &memory, error);
  if (status != TW_OK) return status;
  gm_machine *machine = NULL;
  FILE *trace = NULL;
  status = copy_operands(&memory, k, actual, error);
  if (status == TW_OK && tw_seed_is(k->seed, TW_SEED_KIND)) status = run_before(c, &memory, k, options, actual, error);
  if (status != TW_OK) goto done;
  if (!(machine = gm_machine_new(c, &memory, error))) {
    status = TW_NO_MEMORY;
    goto done;
  }
  if (options->trace) {
    trace = fopen(options->trace, "w");
    if (!trace) {
      status = tw_fail(error, TW_USAGE, "%s: %s", options->trace, strerror(errno));
      goto done;
    }
    gm_machine_trace(machine, trace);
  }
  if (options->any_order) gm_machine_allow_any_order(machine);
  const uint64_t max_cycles = options->max_cycles ? options->max_cycles : cycle_limit(c, k);
  gm_machine_limit(machine, max_cycles);
  if (options->listener) gm_machine_listen(machine, options->listener);
  const rv64_ports ports = gm_machine_ports(machine);
  const rv64_options core = core_options(c, options, max_cycles);
  status = rv64_run(&memory, &ports, &core, &out->core, error);
  if (status == TW_OK) {
    out->counters = gm_machine_finish(machine, out->core.start_cycle, out->core.start_cycle + out->core.cycles);
    out->memory = gm_machine_memory_use(machine);
    status = verdict(k, out, actual, error);
  }
  if (trace && (fflush(trace) || ferror(trace)) && status == TW_OK)
    status = tw_fail(error, TW_MISSING, "%s: %s", options->trace, strerror(errno));
done:
  if (trace) fclose(trace);
  gm_machine_free(machine);
  rv64_memory_free(&memory);
  return status;
}
