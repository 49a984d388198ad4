/* export.c - see export.h. Commands of the README follow the READMEs and scripts of ucb-bar/gemmini, gemmini-rocc-tests
 * (bareMetalC/Makefile) and libgemmini, and FireSim's page on workloads. */
#include "target/gemmini/export.h"

#include <string.h>

#include "export/export.h"
#include "target/gemmini/harness.h"
#include "target/gemmini/schedule/family.h"
#include "target/gemmini/target.h"

/* ---- operands.S ---- */

static void write_array(tw_text *t, const char *name, size_t operand, int alignment, size_t at, size_t bytes) {
  tw_text_add(t, "  .balign %d\n  .globl %s%zu\n%s%zu: .incbin \"operands.bin\", %zu, %zu\n", alignment, name, operand,
              name, operand, at, bytes);
}

/* Places operands as on the simulated machine: inputs, then outputs; the first at the beginning of a page. */
static void write_places(tw_text *t, const tw_export *e) {
  const tw_case *k = &e->data;
  tw_text_add_string(t, "/* operands.S - the operands' places. */\n  .data\n");
  for (size_t i = 0; i < k->n_operands; i++)
    if (!k->operand[i].is_output)
      write_array(t, "gm_operand_", i, i == 0 ? 4096 : 64, e->in_file[i].given_at, k->operand[i].bytes);
  for (size_t i = 0; i < k->n_operands; i++) {
    const tw_exported *x = &e->in_file[i];
    const size_t bytes = k->operand[i].bytes;
    if (!k->operand[i].is_output) continue;
    tw_text_add_string(t, "  .data\n");
    if (x->given_bytes)
      write_array(t, "gm_operand_", i, 64, x->given_at, bytes);
    else
      tw_text_add(t, "  .balign 64\n  .globl gm_operand_%zu\ngm_operand_%zu: .fill %zu, 1, %d\n", i, i, bytes,
                  TW_POISON);
    tw_text_add_string(t, "  .section .rodata\n");
    write_array(t, "gm_expected_", i, 64, x->expected_at, x->places ? x->places * 3 * sizeof(double) : bytes);
  }
}

/* ---- problem.h ---- */

static void write_machine(tw_text *t, const gm_config *c) {
  tw_text_add(t,
              "#if DIM != %d || BANK_NUM != %d || BANK_ROWS != %d || ACC_ROWS != %d\n"
              "#error \"this kernel is for %s: gemmini_params.h is another machine's\"\n#endif\n",
              c->dim, c->spad_banks, gm_spad_bank_rows(c), gm_acc_rows(c), c->name);
}

/* The C name of operand i, as gm_harness_declarations declares it. */
static void add_name(tw_text *t, const tw_case *k, const gm_entry *e, size_t i) {
  tw_text_add(t, "%s%s", e->pasted ? "" : "gm_operand_", e->pasted ? e->parameter[i] : k->operand[i].name);
}

static void write_cached(tw_text *t, const tw_case *k, const gm_entry *e) {
  tw_text_add_string(t, "#define GM_MAKE_CACHED() do {");
  for (size_t i = 0; k->problem->op->inputs_cached && i < k->n_operands; i++) {
    const tw_operand *o = &k->operand[i];
    const size_t from = o->is_output ? o->given_at : 0, bytes = o->is_output ? o->given_bytes : o->bytes;
    if (!bytes) continue;
    tw_text_add_string(t, " gm_read((const char *)");
    add_name(t, k, e, i);
    tw_text_add(t, " + %zu, %zu);", from, bytes);
  }
  tw_text_add_string(t, " } while (0)\n");
}

static void write_call(tw_text *t, const tw_case *k, const gm_entry *e) {
  tw_text_add(t, "#define GM_CALL_KERNEL() %s(", e->name);
  for (size_t i = 0; i < k->n_operands; i++) {
    if (i) tw_text_add_string(t, ", ");
    add_name(t, k, e, i);
  }
  tw_text_add_string(t, ")\n");
}

/* The addresses of the operands of check.h's table; inputs have no expected values. */
static void write_outputs(tw_text *t, const tw_export *e, const gm_entry *entry) {
  const tw_case *k = &e->data;
  tw_export_table(e, t);
  for (size_t i = 0; i < k->n_operands; i++)
    if (k->operand[i].is_output) tw_text_add(t, "extern const unsigned char gm_expected_%zu[];\n", i);
  tw_text_add_string(
      t, "static const struct {\n  const void *got;\n  const unsigned char *expected;\n} gm_places[] = {\n");
  for (size_t i = 0; i < k->n_operands; i++) {
    tw_text_add_string(t, "  {");
    add_name(t, k, entry, i);
    if (k->operand[i].is_output)
      tw_text_add(t, ", gm_expected_%zu},\n", i);
    else
      tw_text_add_string(t, ", 0},\n");
  }
  tw_text_add_string(t, "};\n\n#endif\n");
}

static tw_status write_problem(tw_text *t, const gm_config *c, const tw_export *e, const gm_entry *entry,
                               tw_error *error) {
  tw_text_add(t, "/* problem.h - %s. Made by tilewright. */\n#ifndef PROBLEM_H\n#define PROBLEM_H\n\n", e->problem);
  write_machine(t, c);
  tw_export_embed(t, "export/runtime/check.h");
  const tw_status status = gm_harness_declarations(t, e->data.problem, entry, error);
  write_cached(t, &e->data, entry);
  write_call(t, &e->data, entry);
  write_outputs(t, e, entry);
  return status;
}

/* ---- all ---- */

static tw_status add_all(const tw_target *t, tw_export *e, const gm_entry *entry, tw_files *out, tw_error *error) {
  const char *const words[][2] = {{"MACHINE", t->name}};
  tw_text problem = {0}, places = {0}, readme = {0}, program = {0}, macros = {0};
  tw_status status = write_problem(&problem, gm_config_of(t), e, entry, error);
  write_places(&places, e);
  tw_export_fill(&readme, "gemmini/runtime/bare/README.md", e, 1, words);
  tw_export_embed(&program, "gemmini/runtime/bare/main.c");
  tw_export_embed(&macros, "gemmini/runtime/include/gemmini_short.h");
  if (status == TW_OK) status = tw_export_add(out, "README.md", &readme, error);
  if (status == TW_OK) status = tw_export_add(out, "problem.h", &problem, error);
  if (status == TW_OK) status = tw_export_add(out, "operands.S", &places, error);
  if (status == TW_OK) status = tw_export_add_operands(out, e, error);
  if (status == TW_OK) status = tw_export_add(out, "main.c", &program, error);
  if (status == TW_OK) status = tw_export_add(out, "gemmini_short.h", &macros, error);
  tw_text *const texts[] = {&problem, &places, &readme, &program, &macros};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) tw_text_free(texts[i]);
  if (status != TW_OK) tw_files_free(out);
  return status;
}

tw_status gm_export(const tw_target *t, const tw_problem *p, const tw_schedule *s, const char *source, tw_files *out,
                    tw_error *error) {
  gm_entry entry;
  tw_export e = {0};
  (void)s; /* the source contains everything */
  tw_status status = gm_kernel_inspect(source, strlen(source), &entry, error);
  if (status == TW_OK) status = tw_export_make(p, true, &e, error);
  if (status == TW_OK) status = add_all(t, &e, &entry, out, error);
  tw_export_free(&e);
  return status;
}
