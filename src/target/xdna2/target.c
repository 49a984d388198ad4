/* target.c - XDNA2 as a target: its description, its ops, the analytic model of a tile, and GEMM designs on the
 * simulated array.
 *
 * The source of a kernel is the text of a design (array/plan.h). Checking moves data, measuring does not. */
#include "target/xdna2/target.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "base/strings.h"
#include "op/ops.h"
#include "target/xdna2/aie/source.h"
#include "target/xdna2/array/execute.h"
#include "target/xdna2/array/floorplan.h"
#include "target/xdna2/array/plan.h"
#include "target/xdna2/core_design.h"
#include "target/xdna2/mlir/module.h"
#include "target/xdna2/mlir/sources.h"
#include "target/xdna2/rate.h"
#include "target/xdna2/views.h"

/* A design: from a schedule, or read from MLIR. */
struct tw_artefact {
  tw_problem problem;
  /* NULL for a design from a schedule. */
  const xd_mlir_reader *reader;
  xd_gemm gemm;
  xd_mlir_design design;
  xd_mlir_work work;
};

static const xd_config *config(const tw_target *t) { return t->config; }

static char *describe(const tw_target *t) {
  const xd_config *c = config(t);
  tw_text s = {0};
  tw_text_add(&s, "array        %d columns x %d compute tiles at %d MHz, a memory and a shim tile a column\n",
              c->columns, c->rows, c->clock_mhz);
  tw_text_add(&s, "L1           %d KiB a core, %d of it stack; streams of %d bytes a cycle\n", c->l1_bytes >> 10,
              c->stack_bytes, c->stream_bytes);
  tw_text_add(&s, "L2           %d KiB a memory tile\n", c->l2_bytes >> 10);
  tw_text_add(
      &s, "DDR          the shims read %.1f GB/s together, %.1f each; %.0f us of dispatch before the first transfer\n",
      c->array.ddr_read_mbs / 1000.0, c->array.ddr_stream_mbs / 1000.0, c->array.dispatch_us);
  for (size_t i = 0; i < c->n_kernels; i++) {
    const xd_kernel *k = &c->kernel[i];
    tw_text_add(&s, "%-12s %-26s  a=%s b=%s c=%s acc=%s, %dx%dx%d a cycle: %.2f Tflop/s\n", i ? "" : "kernels", k->name,
                tw_type_name(k->a), tw_type_name(k->b), tw_type_name(k->c), tw_type_name(k->acc), k->vmac[0],
                k->vmac[1], k->vmac[2], 2e-6 * xd_vmac_macs(k) * c->clock_mhz * c->rows * c->columns);
  }
  tw_text_add(&s,
              "model        `model gemm m=4096 n=2048 k=4096 'tile m=128 k=64 n=128 rho=4'` explains a core's tile; "
              "core_tflops=RATE sets the rate of a core\n");
  return tw_text_take(&s);
}

static const xd_kernel *kernel_of(const tw_target *t, const tw_problem *p) {
  return xd_find_kernel(config(t), NULL, tw_problem_type(p, "a"), tw_problem_type(p, "b"), tw_problem_type(p, "c"),
                        tw_problem_type(p, "acc"));
}

enum { KINDS = 4 };
static const char *const type_keys[KINDS] = {"a", "b", "c", "acc"};

static const tw_key type_options[] = {{.name = "config",
                                       .kind = TW_KEY_CHOICE,
                                       .fallback = "none",
                                       .choices = "none|1|2|3",
                                       .help = "types of a configuration of the ATB paper; replaces a, b, c and acc"}};

/* config=1 becomes its types. */
static tw_status fill_configuration(const tw_target *t, tw_problem *p, tw_error *error) {
  static const tw_type types[][KINDS] = {{TW_BF16, TW_BFP16, TW_BF16, TW_BF16},
                                         {TW_BFP16, TW_BFP16, TW_BFP16, TW_BFP16},
                                         {TW_BFP16, TW_BFP16, TW_BFP16, TW_BF16}};
  const int config = p->n_options ? (int)tw_problem_int(p, "config") : 0;
  tw_status status = TW_OK;
  for (int i = 0; config && i < KINDS && status == TW_OK; i++) {
    const tw_type given = tw_problem_type(p, type_keys[i]), type = types[config - 1][i];
    if (given != TW_TYPE_NONE && given != type)
      return tw_fail(error, TW_USAGE, "%s: config=%d has %s=%s, but %s=%s is given; leave one out", t->name, config,
                     type_keys[i], tw_type_name(type), type_keys[i], tw_type_name(given));
    status = tw_problem_set(p, type_keys[i], tw_type_name(type), error);
  }
  return status == TW_OK && config ? tw_problem_set(p, "config", "none", error) : status;
}

static bool is_long_real(tw_type t) { return t == TW_F32 || t == TW_F16; }

static tw_status fill_types(const tw_target *t, tw_problem *p, tw_error *error) {
  tw_status status = fill_configuration(t, p, error);
  if (status != TW_OK) return status;
  const xd_kernel *k = kernel_of(t, p);
  /* designs that others made have such kernels: `run` takes them */
  if (!k && xd_mlir_knows_types(tw_problem_type(p, "a"), tw_problem_type(p, "b"), tw_problem_type(p, "c")))
    return tw_problem_set(p, "acc", tw_problem_type(p, "a") == TW_BF16 ? "f32" : "i32", error);
  if (!k) {
    char asked[120] = "";
    for (int i = 0; i < KINDS; i++)
      if (tw_problem_type(p, type_keys[i]) != TW_TYPE_NONE)
        snprintf(asked + strlen(asked), sizeof asked - strlen(asked), " %s=%s", type_keys[i],
                 tw_type_name(tw_problem_type(p, type_keys[i])));
    const bool real = is_long_real(tw_problem_type(p, "a")) || is_long_real(tw_problem_type(p, "b"));
    return tw_fail(
        error, TW_USAGE, "%s: no kernel has the types%s%s; `tilewright targets %s` lists the kernels", t->name, asked,
        real ? ", as cores cannot multiply f16, nor f32 by other types; use a=f32 b=f32, or a=bf16 b=bf16 (c=f32)" : "",
        t->name);
  }
  const tw_type types[KINDS] = {k->a, k->b, k->c, k->acc};
  for (int i = 0; i < KINDS && status == TW_OK; i++)
    status = tw_problem_set(p, type_keys[i], tw_type_name(types[i]), error);
  return status;
}

/* Every operand moves once as fast as the simulated DDR carries it; all cores at their peak; the dispatch before. */
static tw_status bound(const tw_target *t, const tw_problem *p, tw_bound *out, tw_error *error) {
  const xd_config *c = config(t);
  const xd_kernel *kernel = kernel_of(t, p);
  (void)error;
  if (!kernel) kernel = xd_find_kernel(c, NULL, TW_I8, TW_I8, TW_I32, TW_I32); /* no core multiplies more in a cycle */
  tw_element_bytes e = xd_element_bytes(kernel);
  if (kernel->a != tw_problem_type(p, "a"))
    e = (tw_element_bytes){xd_type_bytes(tw_problem_type(p, "a")), xd_type_bytes(tw_problem_type(p, "b")),
                           xd_type_bytes(tw_problem_type(p, "c"))};
  const double m = (double)tw_problem_int(p, "m"), n = (double)tw_problem_int(p, "n"),
               k = (double)tw_problem_int(p, "k");
  const double macs = (double)xd_peak_macs(c, kernel) * c->clock_mhz * 1e6 * c->rows * c->columns;
  out->compute_cost = m * n * k / macs;
  const double reads = (e.a * m * k + e.b * k * n) / (c->array.ddr_read_mbs * 1e6),
               writes = e.c * m * n / (c->array.ddr_write_mbs * 1e6), dispatch = c->array.dispatch_us * 1e-6;
  out->memory_cost =
      fmax(fmax(reads, writes), (reads * c->array.ddr_read_mbs + writes * c->array.ddr_write_mbs) / c->array.ddr_mbs) +
      dispatch;
  out->compute_cost += dispatch;
  out->cost = fmax(out->compute_cost, out->memory_cost);
  out->least = 0.999 * out->cost;
  snprintf(out->limit, sizeof out->limit, "%s",
           out->compute_cost >= out->memory_cost ? "a multiply-accumulate of every core in every cycle"
                                                 : "each operand once at the bandwidth of DDR");
  return TW_OK;
}

static tw_status explain(const tw_target *t, const tw_problem *p, size_t n_words, const char *const words[],
                         tw_explanation *out, tw_error *error) {
  const xd_config *c = config(t);
  xd_design d;
  *out = (tw_explanation){0};
  if (tw_problem_real(p, "scale") != 1)
    return tw_fail(error, TW_USAGE, "%s: scale is not modelled; leave it out", t->name);
  tw_status status = xd_design_parse(c, p, n_words, words, &d, error);
  if (status != TW_OK) return status;
  const xd_rate r =
      xd_rate_of(c, &d, (double)tw_problem_int(p, "m"), (double)tw_problem_int(p, "n"), (double)tw_problem_int(p, "k"));
  snprintf(out->choice, sizeof out->choice, "tile %dx%dx%d, rho %d, kernel %s", (int)d.tile.m, (int)d.tile.k,
           (int)d.tile.n, (int)d.tile.rho, d.kernel->name);
  xd_design_buffers(c, &d, out);
  xd_explain_rate(c, &d, &r, out);
  return xd_explain_core(&d, out, error);
}

static tw_status draw(const tw_target *t, const tw_problem *p, size_t n_words, const char *const words[],
                      bool as_picture, char **out, tw_error *error) {
  xd_design d;
  xd_core_kernel k;
  tw_status status = xd_design_parse(config(t), p, n_words, words, &d, error);
  if (status != TW_OK) return status;
  if (!xd_core_of_design(&d, &k))
    return tw_fail(
        error, TW_USAGE,
        "kernel %s converts A in registers, which cannot be scheduled; choose another with kernel=", d.kernel->name);
  return as_picture ? xd_core_draw(&k, out, error) : xd_core_print(&k, out, error);
}

/* ---- designs ---- */

static tw_status steps(const tw_target *t, const tw_problem *p, const tw_schedule *s, tw_menu *out, tw_error *error) {
  return xd_plan_menu(config(t), p, s, out, error);
}

static tw_status emit(const tw_target *t, const tw_problem *p, const tw_schedule *s, char **source, tw_error *error) {
  xd_gemm g;
  const tw_status status = xd_plan_of(config(t), p, s, &g, error);
  if (status != TW_OK) return status;
  *source = xd_plan_print(&g);
  return *source ? TW_OK : tw_no_memory(error, NULL);
}

static tw_status sources(const tw_target *t, const tw_problem *p, const tw_schedule *s, const char *source,
                         tw_files *out, tw_error *error) {
  xd_gemm g;
  char *text;
  (void)source; /* the design is the schedule's */
  tw_status status = xd_plan_of(config(t), p, s, &g, error);
  if (status == TW_OK) status = xd_kernel_source(config(t), &g, &text, error);
  if (status != TW_OK) return status;
  *out = (tw_files){.n = 1, .file = {{.name = "kernel.cc", .text = text}}};
  status = xd_mlir_sources(config(t), p, &g, out, error);
  if (status != TW_OK) tw_files_free(out);
  return status;
}

static tw_status floorplan(const tw_target *t, const tw_problem *p, const tw_schedule *s, char **svg, tw_error *error) {
  xd_gemm g;
  xd_program program;
  tw_status status = xd_plan_of(config(t), p, s, &g, error);
  if (status == TW_OK) status = xd_gemm_program(config(t), &g, &program, error);
  if (status != TW_OK) return status;
  char *title = tw_problem_stated(p, t->name);
  *svg = title ? xd_floorplan(config(t), &program, title) : NULL;
  free(title);
  xd_program_free(&program);
  return *svg ? TW_OK : tw_no_memory(error, NULL);
}

static tw_status predict(const tw_target *t, const tw_problem *p, const tw_schedule *s, double *cost, tw_error *error) {
  xd_gemm g;
  const tw_status status = xd_plan_of(config(t), p, s, &g, error);
  if (status == TW_OK) *cost = xd_plan_predict(config(t), &g);
  return status;
}

/* A line with # is a comment in a schedule: of a design in other files nothing would be left. */
static tw_status refuse_includes(const char *source, tw_error *error) {
  int line = 1;
  for (const char *at = source; *at; at += strcspn(at, "\n"), at += *at == '\n', line++) {
    const char *word = at + strspn(at, " \t");
    if (*word == '#' && !strncmp(word + 1 + strspn(word + 1, " \t"), "include", 7))
      return tw_fail(error, TW_USAGE,
                     "line %d: #include is unsupported in designs and schedules; insert the file's text", line);
  }
  return TW_OK;
}

static tw_status build_schedule(const tw_target *t, const tw_problem *p, const char *source, tw_artefact *out,
                                tw_error *error) {
  tw_schedule s;
  xd_program program;
  tw_status status = refuse_includes(source, error);
  if (status == TW_OK) status = tw_schedule_parse(source, &s, error);
  if (status == TW_OK) status = xd_plan_of(config(t), p, &s, &out->gemm, error);
  if (status == TW_OK) status = xd_gemm_program(config(t), &out->gemm, &program, error);
  if (status == TW_OK) xd_program_free(&program);
  return status;
}

static tw_status build_design(const tw_target *t, const tw_problem *p, const char *source, tw_artefact *out,
                              tw_error *error) {
  xd_gemm g = {0};
  tw_status status = TW_OK;
  if (tw_problem_real(p, "scale") != 1) status = xd_plan_start(config(t), p, &g, error); /* its shift */
  const xd_mlir_options options = {.shift = g.shift};
  const xd_mlir_reader *reader;
  if (status == TW_OK) status = xd_mlir_open(&reader, error);
  if (status == TW_OK) status = reader->read(config(t), source, &options, &out->design, error);
  if (status != TW_OK) return status;
  out->reader = reader;
  status = reader->work_of(config(t), &out->design, p, &out->work, error);
  if (status != TW_OK) reader->free(&out->design);
  return status;
}

static tw_status build(const tw_target *t, const tw_problem *p, const char *source, size_t length, tw_evaluation *e,
                       tw_artefact **out, tw_error *error) {
  if (strlen(source) != length) return tw_fail(error, TW_FAILED, "the design holds a zero byte");
  tw_artefact *a = tw_new(1, sizeof *a);
  if (!a) return tw_no_memory(error, NULL);
  a->problem = *p;
  const tw_status status = (xd_mlir_is(source) ? build_design : build_schedule)(t, p, source, a, error);
  if (status == TW_OK) {
    e->least = a->reader ? 0 : xd_plan_least(config(t), &a->gemm);
    *out = a;
    return TW_OK;
  }
  free(a);
  return tw_status_group(status) == TW_USAGE ? TW_FAILED : status;
}

static tw_status check(const tw_target *t, tw_artefact *a, const tw_case *k, tw_evaluation *e, tw_error *error) {
  if (a->reader) {
    const tw_status status = a->reader->check(config(t), &a->design, &a->work, k, error);
    if (status == TW_OK) a->reader->coverage(&a->work, &a->problem, e->coverage, sizeof e->coverage);
    return status;
  }
  const tw_status status = xd_execute_check(config(t), &a->gemm, k, error);
  if (status == TW_OK) xd_execute_coverage(&a->gemm, &a->problem, e->coverage, sizeof e->coverage);
  return status;
}

static tw_status measure(const tw_target *t, tw_artefact *a, const tw_case *k, tw_evaluation *e, tw_measurement *out,
                         tw_error *error) {
  if (a->reader) return a->reader->measure(config(t), &a->design, &a->work, k, e->trace, out, error);
  return xd_execute_measure(config(t), &a->gemm, e->trace, out, error);
}

static void release(tw_artefact *a) {
  if (a->reader) a->reader->free(&a->design);
  free(a);
}

static tw_status launch(const tw_target *t, const void *data, size_t size, tw_raw_launch *l, tw_measurement *out,
                        tw_error *error) {
  if (strlen(data) != size) return tw_fail(error, TW_FAILED, "the design holds a zero byte");
  if (!xd_mlir_is(data))
    return tw_fail(
        error, TW_USAGE,
        "the file has no MLIR module, and a design text requires an op, as in `tilewright run FILE gemm m=64 ...`");
  const xd_mlir_reader *reader;
  const tw_status status = xd_mlir_open(&reader, error);
  return status == TW_OK ? reader->launch(config(t), data, l, out, error) : status;
}

/* ---- the tables ---- */

static const tw_language *language(size_t index) { return index ? NULL : &xd_plan_language; }

static const tw_language *family_language(const tw_target *t, const tw_problem *p, const tw_schedule *s) {
  (void)t, (void)p, (void)s;
  return &xd_plan_language;
}

static const tw_family families[] = {{.op = "gemm",
                                      .keys = "m n k b_transposed scale group a b c acc",
                                      .options = type_options,
                                      .n_options = sizeof type_options / sizeof *type_options,
                                      .settle = fill_types,
                                      .steps = steps,
                                      .emit = emit,
                                      .predict = predict,
                                      .bound = bound,
                                      .language = family_language}};
static const tw_launcher launcher = {.run = launch, .whole = true};
static const tw_explainer explainer = {.keys = xd_design_keys, .explain = explain, .draw = draw};
static const tw_exporter exporter = {.sources = sources, .floorplan = floorplan};

/* ---- the list ---- */

static void fill_target(const void *values, tw_target *out) {
  const xd_config *c = values;
  *out = (tw_target){
      .unit = "seconds",
      .traits = {.simulated = true,
                 .deterministic = true,
                 .measures_first = true, /* timing mode needs no data */
                 .own_reference = true,  /* large problems are checked in part */
                 .simulation_rate = 0.1, /* bench_xdna2_array: 4096^3 in timing mode runs at 0.085 to 0.13 */
                 .error = c->error,
                 .error_of = c->error_of,
                 .bounds_builds = true,
                 .language = "schedule or MLIR",
                 .source_name = "design.txt",
                 .prompts = "xdna2"},
      .config = c,
      .n_families = sizeof families / sizeof *families,
      .family = families,
      .available = tw_available_anywhere,
      .describe = describe,
      .build = build,
      .check = check,
      .measure = measure,
      .release = release,
      .explainer = &explainer,
      .exporter = &exporter,
      .machine_views = xd_views,
      .language = language,
      .launcher = &launcher,
  };
}

/* The cores have separate files in that folder: core/. */
tw_machine_list xd_machine_list = {
    .kind = {.folder = "xdna2/configs/", .prefix = "", .schema = &xd_config_schema, .fill = fill_target},
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

const tw_target *xd_target_at(size_t index) { return tw_machines_at(&xd_machine_list, index); }
