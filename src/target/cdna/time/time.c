/* time.c - see time.h. Opens the launch; places.c, grid.c and compare.c do the rest. */
#include <stdlib.h>

#include "base/strings.h"
#include "target/cdna/isa/effects.h"
#include "target/cdna/time/timing.h"

static cdna_resources resources_of(const cdna_kernel *k, const cdna_launch *l, uint32_t lds) {
  const int all = cdna_kernel_vgprs(k), first = cdna_kernel_accum(k);
  return (cdna_resources){.vgprs = all < first ? all : first,
                          .agprs = cdna_kernel_agprs(k),
                          .lds_bytes = (int)lds,
                          .work_items = (int)(l->block[0] * l->block[1] * l->block[2])};
}

static void place_grid(cdna_timing *t, const cdna_machine *m, const cdna_dispatch *d) {
  t->machine = m;
  t->rates = &m->rates;
  t->dispatch = d;
  t->cus = t->machine->caches.cus;
  t->groups = cdna_dispatch_groups(d);
  t->of_xcd = (t->groups + (uint64_t)t->machine->caches.xcds - 1) / (uint64_t)t->machine->caches.xcds;
}

static int together_of(const cdna_timing *t) {
  return t->occupancy.workgroups < CDNA_TOGETHER_MAX ? t->occupancy.workgroups : CDNA_TOGETHER_MAX;
}

tw_status cdna_time(const cdna_object *o, const cdna_kernel *k, const cdna_launch *l, cdna_memory *memory,
                    const cdna_time_options *options, cdna_times *out, tw_error *error) {
  cdna_timing *t = tw_new(1, sizeof *t);
  cdna_dispatch *d = NULL;
  int jobs = options->jobs;
  if (!t) return tw_no_memory(error, NULL);
  tw_status status = cdna_dispatch_open(o, k, l, memory, &d, error);
  cdna_effects *effects = status == TW_OK ? cdna_program_effects(cdna_dispatch_program(d)) : NULL;
  if (status == TW_OK && !effects) status = tw_no_memory(error, NULL);
  if (status == TW_OK && !cdna_memory_hold(memory)) status = tw_no_memory(error, NULL);
  if (status == TW_OK) {
    place_grid(t, options->machine ? options->machine : cdna_machine_of_arch(o->arch), d);
    t->memory = memory;
    t->watch = options->watch && options->watch->groups > 0 ? options->watch : NULL;
    t->seed = options->seed;
    t->foreign = options->weights;
    t->by_order = cdna_dispatch_program(d)->has_atomics;
    cdna_work_units(t->rates, options->weights, t->unit);
    t->spans = options->spans;
    for (size_t i = 0; i < cdna_dispatch_program(d)->n; i++) t->has_matrix |= effects[i].mfma != NULL;
    /* the last arrival at a counter in memory may do more work; with one job this is always the same workgroup */
    if (cdna_dispatch_program(d)->has_atomics) jobs = 1;
    const cdna_resources resources = resources_of(k, l, cdna_dispatch_lds(d));
    status = cdna_occupancy_of(t->machine, &resources, &t->occupancy, error);
  }
  if (status == TW_OK) {
    t->together = together_of(t);
    t->setup = (cdna_cu_setup){.arch = o->arch,
                               .rates = t->rates,
                               .machine = t->machine,
                               .effects = effects,
                               .dispatch = d,
                               .memory = memory,
                               .arguments = cdna_dispatch_arguments(d),
                               .reuse = &t->reuse,
                               .modelled_clock = !options->judged,
                               .limit = l->limit};
    status = cdna_timing_find_reuse(t, d, jobs, error);
  }
  if (status == TW_OK) {
    status = cdna_timing_compare(t, d, options, jobs, out, error);
  }
  cdna_memory_let_go(memory);
  free(effects);
  if (d) cdna_dispatch_close(d);
  free(t);
  return status;
}
