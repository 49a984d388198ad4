/* export.c - see export.h. Commands of the README are those of the READMEs and scripts of ucb-bar/gemmini,
 * gemmini-rocc-tests (bareMetalC/Makefile) and libgemmini, and of FireSim's page on workloads. */
#include "target/gemmini/export.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/parallel.h"
#include "base/strings.h"
#include "op/operand.h"
#include "target/gemmini/harness.h"
#include "target/gemmini/schedule/family.h"
#include "target/gemmini/target.h"

enum { SEED = 1 }; /* of the operands: the program checks a kernel that has been judged */

/* ---- the right values of real outputs, and how far a result may be off ---- */

/* What the op's comparison lets an element be off, where the op tells no bounds: found by trying. `result` holds the
 * reference's outputs, also on return. */
static double allowed(const tw_case *k, void *const result[], float *element) {
  const float right = *element;
  double within = 0, beyond = fabs((double)right) + 1;
  for (int i = 0; i < 64; i++) {
    const double off = i ? (within + beyond) / 2 : beyond;
    *element = (float)((double)right + off);
    const bool fine = k->problem->op->compare(k->problem, k->buffer, result, NULL) == TW_OK;
    if (fine && !i) {
      within = INFINITY; /* nobody looks at it */
      break;
    }
    *(fine ? &within : &beyond) = off;
  }
  *element = right;
  return within;
}

static tw_status bounds_by_trying(const tw_case *k, size_t output, double *pair, tw_error *error) {
  const tw_operand *o = &k->operand[output];
  float *copy = malloc(o->bytes);
  if (!copy) return tw_fail(error, TW_MISSING, "out of memory");
  memcpy(copy, k->buffer[output], o->bytes);
  void *result[TW_OPERANDS_MAX];
  memcpy(result, k->buffer, sizeof result);
  result[output] = copy;
  const int64_t rows = tw_operand_rows(o), columns = tw_operand_columns(o);
  for (int64_t row = 0; row < rows; row++)
    for (int64_t column = 0; column < columns; column++) {
      const int64_t at = tw_operand_row_at(o, row) + column * o->stride[o->rank - 1];
      const double most = allowed(k, result, &copy[at]);
      pair[2 * at] = isinf(most) ? NAN : (double)copy[at];
      pair[2 * at + 1] = most;
    }
  free(copy);
  return TW_OK;
}

static tw_status bounds_of_op(const tw_case *k, size_t output, double *pair, tw_error *error) {
  const tw_operand *o = &k->operand[output];
  const int64_t rows = tw_operand_rows(o), columns = tw_operand_columns(o);
  tw_place *place = tw_new((size_t)columns, sizeof *place);
  double *value = tw_new((size_t)columns, 2 * sizeof *value), *bound = value ? value + columns : NULL;
  tw_status status = place && value ? TW_OK : tw_fail(error, TW_MISSING, "out of memory");
  for (int64_t row = 0; row < rows && status == TW_OK; row++) {
    for (int64_t column = 0; column < columns; column++) place[column] = (tw_place){row, column};
    status = k->problem->op->exact(k->problem, k->buffer, output, (size_t)columns, place, value, bound, 1, error);
    for (int64_t column = 0; column < columns && status == TW_OK; column++) {
      const int64_t at = tw_operand_row_at(o, row) + column * o->stride[o->rank - 1];
      pair[2 * at] = value[column];
      pair[2 * at + 1] = bound[column];
    }
  }
  free(place);
  free(value);
  return status;
}

/* Pairs of doubles, one for each float of the operand; NaN where nothing is compared. */
static tw_status add_bounds(tw_text *data, const tw_case *k, size_t output, tw_error *error) {
  const tw_operand *o = &k->operand[output];
  const size_t n = 2 * (o->bytes / sizeof(float));
  double *pair = tw_new(n, sizeof *pair);
  if (!pair) return tw_fail(error, TW_MISSING, "out of memory");
  for (size_t i = 0; i < n; i++) pair[i] = NAN;
  const tw_status status = (k->problem->op->exact ? bounds_of_op : bounds_by_trying)(k, output, pair, error);
  tw_text_add_bytes(data, pair, n * sizeof *pair);
  free(pair);
  return status;
}

/* ---- operands.S and operands.bin ---- */

typedef struct files_text {
  tw_text places, data, problem, readme; /* operands.S, operands.bin, problem.h, README.md */
  size_t at;                             /* bytes in `data` */
} files_text;

/* The next `bytes` of the data, by a name. */
static void place(files_text *f, const char *name, size_t operand, int alignment, size_t bytes) {
  tw_text_add(&f->places, "  .balign %d\n  .globl %s%zu\n%s%zu: .incbin \"operands.bin\", %zu, %zu\n", alignment, name,
              operand, name, operand, f->at, bytes);
  f->at += bytes;
}

static tw_status place_output(files_text *f, const tw_case *k, size_t i, void *const initial[], tw_error *error) {
  const tw_operand *o = &k->operand[i];
  const bool real = o->type == TW_F32;
  tw_status status = TW_OK;
  tw_text_add_string(&f->places, "  .data\n");
  if (o->given_bytes) {
    tw_text_add_bytes(&f->data, initial[i], o->bytes);
    place(f, "gm_operand_", i, 64, o->bytes);
  } else {
    tw_text_add(&f->places, "  .balign 64\n  .globl gm_operand_%zu\ngm_operand_%zu: .fill %zu, 1, %d\n", i, i, o->bytes,
                TW_POISON);
  }
  if (real)
    status = add_bounds(&f->data, k, i, error);
  else
    tw_text_add_bytes(&f->data, k->buffer[i], o->bytes);
  tw_text_add_string(&f->places, "  .section .rodata\n");
  place(f, "gm_expected_", i, 64, real ? o->bytes / sizeof(float) * 2 * sizeof(double) : o->bytes);
  return status;
}

/* As the simulated machine places them: inputs, then outputs; the first at the begin of a page. */
static tw_status write_operands(files_text *f, const tw_case *k, tw_error *error) {
  tw_case initial = {0};
  tw_status status = TW_OK;
  bool given = false; /* does an output hold inputs, which the reference has written over? */
  for (size_t i = 0; i < k->n_operands; i++) given |= k->operand[i].given_bytes > 0;
  if (given) status = tw_case_make_inputs(k->problem, k->seed, &initial, error);
  if (status != TW_OK) return status;
  tw_text_add_string(&f->places, "/* operands.S - the operands' places. */\n  .data\n");
  for (size_t i = 0; i < k->n_operands; i++)
    if (!k->operand[i].is_output) {
      tw_text_add_bytes(&f->data, k->buffer[i], k->operand[i].bytes);
      place(f, "gm_operand_", i, i == 0 ? 4096 : 64, k->operand[i].bytes);
    }
  for (size_t i = 0; i < k->n_operands && status == TW_OK; i++)
    if (k->operand[i].is_output) status = place_output(f, k, i, initial.buffer, error);
  tw_case_free(&initial);
  return status;
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

static void write_outputs(tw_text *t, const tw_case *k, const gm_entry *e) {
  tw_text_add_string(t, "\ntypedef struct gm_output {\n  const char *name;\n  const void *got, *expected;\n"
                        "  unsigned long bytes, element_bytes;\n  bool real;\n} gm_output;\n");
  for (size_t i = 0; i < k->n_operands; i++)
    if (k->operand[i].is_output) tw_text_add(t, "extern const char gm_expected_%zu[];\n", i);
  tw_text_add_string(t, "static const gm_output gm_outputs[] = {\n");
  for (size_t i = 0; i < k->n_operands; i++) {
    const tw_operand *o = &k->operand[i];
    if (!o->is_output) continue;
    tw_text_add(t, "  {\"%s\", ", o->name);
    add_name(t, k, e, i);
    tw_text_add(t, ", gm_expected_%zu, %zu, %d, %s},\n", i, o->bytes, o->type == TW_I8 ? 1 : 4,
                o->type == TW_F32 ? "true" : "false");
  }
  tw_text_add_string(t, "};\n\n#endif\n");
}

static tw_status write_problem(tw_text *t, const gm_config *c, const tw_case *k, const gm_entry *e, const char *problem,
                               tw_error *error) {
  tw_text_add(t, "/* problem.h - %s. Made by tilewright. */\n#ifndef PROBLEM_H\n#define PROBLEM_H\n\n", problem);
  write_machine(t, c);
  const tw_status status = gm_harness_declarations(t, k->problem, e, error);
  write_cached(t, k, e);
  write_call(t, k, e);
  write_outputs(t, k, e);
  return status;
}

/* ---- all ---- */

/* Part of every build. */
static const char *embedded(const char *name) { return (const char *)tw_embedded_find(name)->data; }

/* The text with the problem and the machine filled in. */
static void write_readme(tw_text *t, const char *text, const char *problem, const char *machine) {
  const char *at;
  while ((at = strchr(text, '@'))) {
    const bool is_problem = !strncmp(at, "@PROBLEM@", 9), is_machine = !strncmp(at, "@MACHINE@", 9);
    tw_text_add_bytes(t, text, (size_t)(at - text) + (is_problem || is_machine ? 0 : 1));
    if (is_problem || is_machine) tw_text_add_string(t, is_problem ? problem : machine);
    text = at + (is_problem || is_machine ? 9 : 1);
  }
  tw_text_add_string(t, text);
}

/* Takes the text. */
static tw_status add_file(tw_files *files, const char *name, tw_text *text, size_t size, tw_error *error) {
  files->file[files->n].name = name;
  files->file[files->n].size = size;
  files->file[files->n].text = tw_text_take(text);
  return files->file[files->n++].text ? TW_OK : tw_fail(error, TW_MISSING, "out of memory while writing %s", name);
}

static tw_status add_copy(tw_files *files, const char *name, const char *from, tw_error *error) {
  tw_text copy = {0};
  tw_text_add_string(&copy, embedded(from));
  return add_file(files, name, &copy, 0, error);
}

static tw_status add_all(const tw_target *t, const tw_case *k, const gm_entry *e, tw_files *out, tw_error *error) {
  files_text f = {0};
  char problem[512];
  tw_problem_print(k->problem, problem, sizeof problem);
  tw_status status = write_operands(&f, k, error);
  if (status == TW_OK) status = write_problem(&f.problem, gm_config_of(t), k, e, problem, error);
  if (status == TW_OK) {
    write_readme(&f.readme, embedded("gemmini/runtime/bare/README.md"), problem, t->name);
    status = add_file(out, "README.md", &f.readme, 0, error);
  }
  if (status == TW_OK) status = add_file(out, "problem.h", &f.problem, 0, error);
  if (status == TW_OK) status = add_file(out, "operands.S", &f.places, 0, error);
  if (status == TW_OK) status = add_file(out, "operands.bin", &f.data, f.at, error);
  if (status == TW_OK) status = add_copy(out, "main.c", "gemmini/runtime/bare/main.c", error);
  if (status == TW_OK) status = add_copy(out, "gemmini_short.h", "gemmini/runtime/include/gemmini_short.h", error);
  tw_text_free(&f.places);
  tw_text_free(&f.data);
  tw_text_free(&f.problem);
  tw_text_free(&f.readme);
  if (status != TW_OK) tw_files_free(out);
  return status;
}

tw_status gm_export(const tw_target *t, const tw_problem *p, const tw_schedule *s, const char *source, tw_files *out,
                    tw_error *error) {
  gm_entry entry;
  tw_case k = {0};
  (void)s; /* the source has it all */
  tw_status status = gm_kernel_inspect(source, strlen(source), &entry, error);
  if (status == TW_OK) status = tw_case_make(p, SEED, tw_cores(), &k, error);
  if (status == TW_OK) status = add_all(t, &k, &entry, out, error);
  tw_case_free(&k);
  return status;
}
