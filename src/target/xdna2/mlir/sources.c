/* sources.c - see sources.h. Commands and flags follow mlir-aie's own examples
 * (programming_examples/basic/matrix_multiplication/makefile-common, python/utils/xrt.py) and of its page on aiecc. */
#include "target/xdna2/mlir/sources.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "export/export.h"
#include "target/xdna2/array/execute.h"
#include "target/xdna2/mlir/module.h"
#include "target/xdna2/mlir/write.h"

static const char *layout_of(const xd_gemm *g, tw_type t) {
  switch (t) {
  case TW_BFP16:
    return g->in_rows ? "bfp16, in rows of parts of tiles (pack.h of tilewright)"
                      : "bfp16, in tiles of 8x8 blocks (pack.h of tilewright)";
  case TW_I4:
  case TW_TERNARY: return "packed codes, in tiles (pack.h of tilewright)";
  default: return "row-major";
  }
}

/* C's element type in NumPy; "": C is packed. */
static const char *numpy_type(tw_type t) {
  switch (t) {
  case TW_I8: return "int8";
  case TW_I16: return "int16";
  case TW_I32: return "int32";
  case TW_F32: return "float32";
  case TW_BF16: return "bf16";
  default: return "";
  }
}

/* Inputs as stored in DDR, and their expected results. */
static tw_status draw(const tw_problem *p, const xd_gemm *g, tw_export *e, tw_error *error) {
  int64_t bytes[XD_GEMM_OPERANDS];
  void *device[XD_GEMM_OPERANDS] = {NULL};
  tw_status status = tw_export_draw(p, true, e, error);
  if (status != TW_OK) return status;
  xd_gemm_bytes(g, bytes);
  for (int i = XD_GEMM_A; i <= XD_GEMM_B; i++)
    if (!(device[i] = tw_new((size_t)bytes[i], 1))) status = tw_no_memory(error, NULL);
  if (status == TW_OK) status = xd_operands_to_device(g, e->data.operand, e->data.buffer, device, error);
  if (status == TW_OK) {
    for (size_t i = XD_GEMM_A; i <= XD_GEMM_B; i++) tw_export_give(e, i, device[i], (size_t)bytes[i]);
    if (*numpy_type(g->c)) status = tw_export_expect(e, e->data.n_operands - 1, false, error);
  }
  for (int i = 0; i < XD_GEMM_OPERANDS; i++) free(device[i]);
  return status;
}

static const struct {
  const char *name, *from;
} texts[] = {{"README.md", "xdna2/export/README.md"},
             {"run.py", "xdna2/export/run.py"},
             {"gemm.cpp", "xdna2/export/gemm.cpp"},
             {"CMakeLists.txt", "xdna2/export/CMakeLists.txt"},
             {"overlay.py", "xdna2/export/overlay.py"}}; /* the last for traced designs alone */

static char *arguments_of(const xd_gemm *g, const int64_t bytes[XD_GEMM_OPERANDS]) {
  const tw_type type[] = {g->kernel->a, g->kernel->b, g->c};
  tw_text t = {0};
  for (int i = 0; i < 3; i++)
    tw_text_add(&t, "- %c: %" PRId64 " bytes, %s, %s\n", "ABC"[i], bytes[i], tw_type_name(type[i]),
                layout_of(g, type[i]));
  if (bytes[XD_GEMM_ZEROS]) tw_text_add(&t, "- a page of %" PRId64 " bytes of zeros\n", bytes[XD_GEMM_ZEROS]);
  if (g->trace) tw_text_add(&t, "- a buffer of %d bytes for the trace\n", XD_TRACE_BYTES);
  return tw_text_take(&t);
}

/* The text that is equal for designs with equal arrays: the kernel's source, and everything before the sequence
 * except the comment with the sizes. */
static void configuration_of(const char *design, const char *kernel, char id[TW_HASH_TEXT]) {
  const char *begin = strstr(design, "module {"), *end = strstr(design, "    aie.runtime_sequence");
  tw_hash h;
  tw_hash_start(&h);
  tw_hash_add_string(&h, kernel);
  tw_hash_add(&h, begin, (size_t)(end - begin));
  tw_hash_finish_text(&h, id);
}

/* The description of a size that gemm.cpp reads: its problem, its array, and where its operands are. */
static void add_layout(const xd_gemm *g, const tw_export *e, const char *design, const char *kernel, tw_text *t) {
  const tw_exported *c = &e->in_file[e->data.n_operands - 1];
  int64_t bytes[XD_GEMM_OPERANDS];
  char id[TW_HASH_TEXT];
  xd_gemm_bytes(g, bytes);
  configuration_of(design, kernel, id);
  tw_text_add(t, "problem %s\nconfiguration %.16s\noperations %.17g\n", e->problem, id,
              2.0 * (double)g->m * (double)g->n * (double)g->k);
  for (int i = 0; i < XD_GEMM_OPERANDS; i++)
    if (bytes[i]) tw_text_add(t, "size %" PRId64 "\n", bytes[i]);
  if (g->trace) tw_text_add(t, "size %d\n", XD_TRACE_BYTES);
  tw_text_add(t, "given %zu %zu\n", e->in_file[XD_GEMM_A].given_at, e->in_file[XD_GEMM_B].given_at);
  if (*numpy_type(g->c))
    tw_text_add(t, "type %c %d\nexpected %zu %zu\n", tw_export_letter(g->c), tw_type_bits(g->c) / 8, c->expected_at,
                c->places);
}

/* README.md, run.py, gemm.cpp with CMakeLists.txt and layout.txt, and operands.bin. */
static tw_status add_texts(const xd_config *config, const xd_gemm *g, tw_export *e, const char *design,
                           const char *object, tw_files *files, tw_error *error) {
  int64_t bytes[XD_GEMM_OPERANDS];
  char operations[32], given[64], sizes[128], expected[32], places[32], traced[32];
  const char *machine = config->name;
  char clock[16];
  const tw_exported *c = &e->in_file[e->data.n_operands - 1];
  xd_gemm_bytes(g, bytes);
  snprintf(clock, sizeof clock, "%d", config->clock_mhz);
  snprintf(operations, sizeof operations, "%.17g", 2.0 * (double)g->m * (double)g->n * (double)g->k);
  snprintf(given, sizeof given, "%zu, %zu", e->in_file[XD_GEMM_A].given_at, e->in_file[XD_GEMM_B].given_at);
  snprintf(sizes, sizeof sizes, "%" PRId64 ", %" PRId64 ", %" PRId64, bytes[0], bytes[1], bytes[2]);
  if (bytes[XD_GEMM_ZEROS])
    snprintf(sizes + strlen(sizes), sizeof sizes - strlen(sizes), ", %" PRId64, bytes[XD_GEMM_ZEROS]);
  if (g->trace) snprintf(sizes + strlen(sizes), sizeof sizes - strlen(sizes), ", %d", XD_TRACE_BYTES);
  snprintf(traced, sizeof traced, "%d", g->trace ? XD_TRACE_BYTES : 0);
  snprintf(expected, sizeof expected, "%zu", c->expected_at);
  snprintf(places, sizeof places, "%zu", c->places);
  char *arguments = arguments_of(g, bytes);
  tw_text check = {0}, layout = {0}, sized = {0}, trace = {0};
  tw_export_embed(&check, "export/runtime/check.h");
  const char *const to_machine[][2] = {{"MACHINE", machine}};
  if (g->trace) tw_export_fill(&trace, "xdna2/export/trace.md", e, 1, to_machine);
  if (g->runtime_sizes) tw_export_fill(&sized, "xdna2/export/sizes.md", e, 1, to_machine);
  const char *const words[][2] = {{"MACHINE", machine},
                                  {"FORM", strstr(design, "aie.objectfifo")
                                               ? "in MLIR-AIE's object-FIFO form"
                                               : "as buffers, locks, flows and descriptors of MLIR-AIE (its object "
                                                 "FIFOs have no words for this design)"},
                                  {"COMPARED", *numpy_type(g->c) ? e->checked : "nothing: C is packed"},
                                  {"OBJECT", object},
                                  {"ARGUMENTS", arguments ? arguments : ""},
                                  {"OPERATIONS", operations},
                                  {"SIZES", sizes},
                                  {"GIVEN", given},
                                  {"TYPE", numpy_type(g->c)},
                                  {"CHECK", check.data ? check.data : ""},
                                  {"SIZED", sized.data ? sized.data : ""},
                                  {"EXPECTED", expected},
                                  {"TRACED", traced},
                                  {"CLOCK", clock},
                                  {"TRACE", trace.data ? trace.data : ""},
                                  {"PLACES", places}};
  const size_t n = sizeof words / sizeof *words;
  tw_status status = TW_OK;
  const size_t all = sizeof texts / sizeof *texts;
  for (size_t i = 0; i < all - !g->trace && status == TW_OK; i++) {
    tw_text filled = {0};
    tw_export_fill(&filled, texts[i].from, e, n, words);
    status = tw_export_add(files, texts[i].name, &filled, error);
  }
  add_layout(g, e, design, files->file[0].text, &layout); /* kernel.cc comes first */
  if (status == TW_OK) status = tw_export_add(files, "layout.txt", &layout, error);
  if (status == TW_OK) status = tw_export_add_operands(files, e, error);
  free(arguments);
  tw_text_free(&check);
  tw_text_free(&layout);
  tw_text_free(&sized);
  tw_text_free(&trace);
  return status;
}

/* The design cannot be expressed in MLIR-AIE. */
static tw_status add_refusal(const char *problem, const char *why, tw_files *files, tw_error *error) {
  tw_text t = {0};
  tw_text_add(&t, "# %s\n\nThere is no design.mlir: %s. `design.txt` is the design as tilewright runs it.\n", problem,
              why);
  return tw_export_add(files, "README.md", &t, error);
}

/* ---- all ---- */

/* Checks that the written text is the simulated design: when read back, it must write the same text. Only the command
 * can read it; for programs with the library, tests read every kind of design. */
static tw_status read_back(const xd_config *c, const xd_gemm *g, const char *problem, const char *text,
                           tw_error *error) {
  const xd_mlir_options options = {.rounding = g->rounding, .shift = g->shift};
  xd_mlir_design d;
  char *again = NULL;
  const xd_mlir_reader *reader;
  tw_status status = xd_mlir_open(&reader, error);
  if (status != TW_OK) return status == TW_UNSUPPORTED ? TW_OK : status;
  status = reader->read(c, text, &options, &d, error);
  if (status != TW_OK) return status;
  status = xd_mlir_write(c, &d.program, problem, &again, error);
  if (status == TW_OK && strcmp(text, again) != 0)
    status = tw_fail(error, TW_FAILED, "design.mlir does not read back as it was written");
  free(again);
  reader->free(&d);
  return status;
}

static tw_status add_design(const tw_problem *p, const xd_config *machine, const xd_gemm *g, char *design,
                            const char *object, tw_files *files, tw_error *error) {
  tw_export e = {0};
  tw_text text = {0};
  tw_text_add_string(&text, design);
  tw_status status = tw_export_add(files, "design.mlir", &text, error);
  if (status == TW_OK) status = draw(p, g, &e, error);
  if (status == TW_OK) status = add_texts(machine, g, &e, design, object, files, error);
  tw_export_free(&e);
  return status;
}

tw_status xd_mlir_sources(const xd_config *c, const tw_problem *p, const xd_gemm *g, tw_files *files, tw_error *error) {
  xd_program program;
  tw_error why = {0};
  char problem[400], *design = NULL;
  tw_status status = xd_gemm_program(c, g, &program, error);
  if (status != TW_OK) return status;
  tw_problem_print(p, problem, sizeof problem);
  const tw_status written = xd_mlir_write(c, &program, problem, &design, &why);
  if (written == TW_OK) status = read_back(c, g, problem, design, error);
  if (status == TW_OK && written == TW_OK)
    status = add_design(p, c, g, design, xd_mlir_object(&program).text, files, error);
  else if (status == TW_OK && written == TW_USAGE)
    status = add_refusal(problem, why.text, files, error);
  else if (status == TW_OK)
    status = tw_no_memory(error, NULL);
  xd_program_free(&program);
  free(design);
  return status;
}
