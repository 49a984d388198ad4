/* export.c - see export.h. kernel.hip is the device code with the headers of the tile library. hipcc compiles it,
 * and so does clang without ROCm. host.cpp loads the compiled kernel through the HIP runtime's module API, launches
 * it for one problem as the source's header states, compares and times. README.md has the commands and describes the
 * launch. kernel.co is the code object that clang makes here, and launch.json describes the launch for programs. */
#include "target/cdna/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/status.h"
#include "export/export.h"
#include "target/cdna/machine.h"
#include "target/cdna/toolchain.h"

static void device_code(tw_text *t, const tw_export *e, const tw_launch *l, const char *processor, const char *source) {
  tw_text_add(t, "// %s on %s, made by tilewright\n", e->problem, processor);
  tw_export_lets(t, l);
  tw_export_source(t, source, cdna_header);
}

static void host_code(tw_text *t, const tw_export *e, const tw_launch *l, const char *processor) {
  tw_text_add(t,
              "// %s on %s, made by tilewright: loads kernel.co, compares what it computes, times it.\n"
              "#include <hip/hip_runtime.h>\n\nstatic hipModule_t module;\n\n",
              e->problem, processor);
  tw_export_operands(t, e, l);
  tw_text_add_string(t, "// Starts the kernels on the stream. Allocates nothing and waits for nothing.\n"
                        "static hipError_t tilewright_start(const tilewright_operands &o, void *workspace, "
                        "hipStream_t stream) {\n  hipError_t status = hipSuccess;\n");
  if (!l->workspace) tw_text_add_string(t, "  (void)workspace;\n");
  if (l->zeroed && l->workspace)
    tw_text_add_string(t, "  status = hipMemsetAsync(workspace, 0, tilewright_workspace, stream);\n");
  for (size_t i = 0; i < l->n_kernels; i++) {
    const tw_launch_kernel *k = &l->kernel[i];
    tw_text_add(t, "  if (status == hipSuccess) { // kernel %s\n", k->name);
    tw_export_arguments(t, e, l, k);
    tw_text_add(t,
                "    static hipFunction_t f;\n    if (!f) status = hipModuleGetFunction(&f, module, \"%s\");\n"
                "    if (status == hipSuccess)\n      status = hipModuleLaunchKernel(f, %" PRId64 ", %" PRId64
                ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
                ", stream, arguments, nullptr);\n  }\n",
                k->name, k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2], k->shared);
  }
  tw_text_add_string(t, "  return status;\n}\n\n");
  tw_export_program(t, e, "hip", "need(hipModuleLoad(&module, argc > 2 ? argv[2] : \"kernel.co\"))");
}

/* For README.md. */
static void launch_in_words(tw_text *t, const tw_export *e, const tw_launch *l) {
  if (l->workspace)
    tw_text_add(t, "A workspace of %" PRId64 " bytes%s.\n\n", l->workspace, l->zeroed ? ", zeros at every launch" : "");
  tw_text_add(t,
              "| kernel | grid (workgroups) | work-items | LDS bytes | arguments |\n| --- | --- | --- | --- | --- |\n");
  for (size_t i = 0; i < l->n_kernels; i++) {
    const tw_launch_kernel *k = &l->kernel[i];
    tw_text_add(t, "| `%s` | %" PRId64 " x %" PRId64 " x %" PRId64 " | %" PRId64 " | %" PRId64 " |", k->name,
                k->grid[0], k->grid[1], k->grid[2], k->block[0] * k->block[1] * k->block[2], k->shared);
    for (size_t j = 0; j < k->n_arguments; j++) {
      const tw_launch_argument *a = &k->argument[j];
      if (a->kind == TW_LAUNCH_OPERAND)
        tw_text_add(t, " %s", e->data.operand[a->index].name);
      else if (a->kind == TW_LAUNCH_WORKSPACE)
        tw_text_add(t, " workspace+%" PRId64, a->integer);
      else if (a->kind == TW_LAUNCH_F32 || a->kind == TW_LAUNCH_F64)
        tw_text_add(t, " %.9g", a->real);
      else
        tw_text_add(t, " %" PRId64, a->integer);
    }
    tw_text_add(t, " |\n");
  }
}

static json_t *argument_of(const tw_export *e, const tw_launch_argument *a) {
  const json_int_t integer = (json_int_t)a->integer;
  switch (a->kind) {
  case TW_LAUNCH_OPERAND: return json_pack("{s:s}", "operand", e->data.operand[a->index].name);
  case TW_LAUNCH_WORKSPACE: return json_pack("{s:I}", "workspace", integer);
  case TW_LAUNCH_I64: return json_pack("{s:I}", "i64", integer);
  case TW_LAUNCH_F32: return json_pack("{s:o}", "f32", tw_json_real(a->real));
  case TW_LAUNCH_F64: return json_pack("{s:o}", "f64", tw_json_real(a->real));
  default: return json_pack("{s:I}", "i32", integer);
  }
}

/* Describes the kernels in order for programs that load kernel.co; each starts after the previous one has ended. */
static tw_status launch_for_programs(const tw_export *e, const tw_launch *l, const char *processor, tw_text *out,
                                     tw_error *error) {
  json_t *kernels = json_array(), *operands = json_array();
  for (size_t i = 0; i < l->n_kernels; i++) {
    const tw_launch_kernel *k = &l->kernel[i];
    json_t *arguments = json_array();
    for (size_t j = 0; j < k->n_arguments; j++) json_array_append_new(arguments, argument_of(e, &k->argument[j]));
    json_array_append_new(kernels, json_pack("{s:s, s:[I,I,I], s:[I,I,I], s:I, s:o}", "name", k->name, "workgroups",
                                             (json_int_t)k->grid[0], (json_int_t)k->grid[1], (json_int_t)k->grid[2],
                                             "work_items", (json_int_t)k->block[0], (json_int_t)k->block[1],
                                             (json_int_t)k->block[2], "lds_bytes", (json_int_t)k->shared, "arguments",
                                             arguments));
  }
  for (size_t i = 0; i < e->data.n_operands; i++) {
    const tw_operand *o = &e->data.operand[i];
    json_array_append_new(operands, json_pack("{s:s, s:s, s:I, s:b}", "name", o->name, "type", tw_type_name(o->type),
                                              "bytes", (json_int_t)o->bytes, "written", o->is_output));
  }
  json_t *all = json_pack("{s:s, s:s, s:s, s:I, s:b, s:o, s:o}", "problem", e->problem, "processor", processor, "file",
                          "kernel.co", "workspace_bytes", (json_int_t)l->workspace, "workspace_zeroed", l->zeroed,
                          "operands", operands, "kernels", kernels);
  char *text = all ? json_dumps(all, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(all);
  if (!text) return tw_no_memory(error, NULL);
  tw_text_add_string(out, text);
  tw_text_add_string(out, "\n");
  free(text);
  return TW_OK;
}

/* Without a compiler kernel.co is missing; the README describes how to make it. */
static tw_status add_object(const tw_target *target, const tw_launch *l, const char *source, tw_files *out,
                            tw_error *error) {
  const cdna_arch arch = ((const cdna_machine *)target->config)->arch;
  char *object = NULL;
  size_t size = 0;
  const tw_status status = cdna_compile(arch, source, strlen(source), &(tw_evaluation){0}, l, &object, &size, error);
  if (tw_status_group(status) == TW_MISSING) return TW_OK;
  if (status != TW_OK) return status;
  out->file[out->n].name = "kernel.co";
  out->file[out->n].text = object;
  out->file[out->n++].size = size;
  return TW_OK;
}

/* The options of `compile` lines as arguments of either compiler. */
static void flags_of(const tw_launch *l, tw_text *out) {
  char flag[CDNA_FLAG];
  for (size_t i = 0; i < l->n_options; i++)
    if (cdna_compile_option(&l->option[i], flag, NULL) == TW_OK) tw_text_add(out, " -mllvm %s", flag);
}

static tw_status add_all(const tw_target *target, tw_export *e, const tw_launch *l, const char *source, tw_files *out,
                         tw_error *error) {
  const char *processor = cdna_processor(((const cdna_machine *)target->config)->arch);
  tw_text kernel = {0}, host = {0}, launch = {0}, readme = {0}, described = {0}, flags = {0};
  device_code(&kernel, e, l, processor, source);
  host_code(&host, e, l, processor);
  launch_in_words(&launch, e, l);
  char *words = tw_text_take(&launch);
  flags_of(l, &flags);
  const char *const pairs[][2] = {{"MACHINE", target->name},
                                  {"PROCESSOR", processor},
                                  {"FLAGS", flags.data ? flags.data : ""},
                                  {"LAUNCH", words ? words : ""}};
  tw_export_fill(&readme, "cdna/export/README.md", e, 4, pairs);
  free(words);
  tw_text_free(&flags);
  tw_status status = tw_export_add(out, "kernel.hip", &kernel, error);
  if (status == TW_OK) status = tw_export_add(out, "host.cpp", &host, error);
  if (status == TW_OK) status = tw_export_add(out, "README.md", &readme, error);
  if (status == TW_OK) status = launch_for_programs(e, l, processor, &described, error);
  if (status == TW_OK) status = tw_export_add(out, "launch.json", &described, error);
  if (status == TW_OK) status = tw_export_add_operands(out, e, error);
  if (status == TW_OK) status = add_object(target, l, source, out, error);
  tw_text_free(&kernel);
  tw_text_free(&host);
  tw_text_free(&readme);
  tw_text_free(&described);
  if (status != TW_OK) tw_files_free(out);
  return status;
}

static tw_status sources(const tw_target *target, const tw_problem *p, const tw_schedule *schedule, const char *source,
                         tw_files *out, tw_error *error) {
  (void)schedule;
  *out = (tw_files){0};
  tw_export e = {0};
  tw_launch *l = tw_new(1, sizeof *l);
  tw_status status = l ? cdna_launch_of(target, p, source, strlen(source), l, error) : tw_no_memory(error, NULL);
  if (status == TW_OK) status = tw_export_make(p, false, &e, error);
  if (status == TW_OK) status = add_all(target, &e, l, source, out, error);
  tw_export_free(&e);
  free(l);
  return status;
}

const tw_exporter cdna_exporter = {.sources = sources};
