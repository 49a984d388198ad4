/* export.c - see export.h. The driver is export/driver.template.py; data are NumPy's files. */
#include "target/trainium/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/template.h"
#include "export/npy.h"
#include "target/trainium/config.h"
#include "target/trainium/kernels/kind.h"

/* Data of larger problems are not written: the driver draws its own inputs then. */
static const double operations_most = 2e9, bytes_most = 64 << 20;

static const char *const data_names[] = {"operand0.npy", "operand1.npy", "operand2.npy", "operand3.npy",
                                         "operand4.npy", "operand5.npy", "operand6.npy", "operand7.npy"};
enum { DATA_MAX = sizeof data_names / sizeof *data_names };

static tw_status add_data(const tw_problem *p, tw_files *out, tw_error *error) {
  tw_case k;
  tw_status status = tw_case_make(p, 1, 1, &k, error);
  if (status != TW_OK) return status;
  for (size_t i = 0; i < k.n_operands && status == TW_OK; i++) {
    out->file[out->n].name = data_names[i];
    out->file[out->n].text = tw_npy_of(&k.operand[i], k.buffer[i], &out->file[out->n].size);
    status = out->file[out->n++].text ? TW_OK : tw_no_memory(error, "an operand's file");
  }
  tw_case_free(&k);
  return status;
}

static tw_status sources(const tw_target *t, const tw_problem *p, const tw_schedule *schedule, const char *source,
                         tw_files *out, tw_error *error) {
  tw_operand operand[TW_OPERANDS_MAX];
  const size_t n = p->op->operands(p, operand);
  const trn_config *c = t->config;
  double bytes = 0;
  bool small_types = false;
  tw_slots slots = {0};
  tw_text lines = {0}, text = {0};
  (void)schedule, (void)source;
  *out = (tw_files){0};
  for (size_t i = 0; i < n; i++) bytes += (double)operand[i].bytes;
  const bool has_data = n <= DATA_MAX && bytes <= bytes_most && p->op->operations(p) <= operations_most;
  for (size_t i = 0; i < n; i++) {
    char shape[120], file[40];
    tw_npy_shape(&operand[i], shape, sizeof shape);
    snprintf(file, sizeof file, has_data ? "\"%s\"" : "None", data_names[i < DATA_MAX ? i : 0]);
    tw_text_add(&lines, "    (\"%s\", \"%s\", %s, %s, %s),\n", operand[i].name, trn_type_name_of(operand[i].type),
                shape, operand[i].is_output ? "True" : "False", file);
    small_types |= tw_type_bits(operand[i].type) < 32;
  }
  char *problem = tw_problem_text(p);
  tw_slots_text(&slots, "problem", problem);
  free(problem);
  tw_slots_text(&slots, "target", c->name);
  tw_slots_format(&slots, "instance", "%s.*", c->name);
  tw_slots_take(&slots, "operands", &lines);
  tw_slots_text(&slots, "tolerance", small_types ? "2e-2" : "1e-3");
  for (size_t i = 0; i < p->op->n_keys; i++) {
    char number[32];
    if (strcmp(p->op->keys[i].name, "eps") != 0) continue;
    tw_slots_format(&slots, "scalars", "eps=%s", tw_print_real(tw_problem_real(p, "eps"), number));
  }
  if (slots.n < 6) tw_slots_text(&slots, "scalars", "");
  tw_status status = tw_template_add(&text, "trainium/export/driver.template.py", &slots, error);
  tw_slots_free(&slots);
  if (status == TW_OK) {
    out->file[0].name = "driver.py";
    out->file[0].text = tw_text_take(&text);
    out->n = 1;
    status = out->file[0].text ? TW_OK : tw_no_memory(error, "a driver");
  }
  if (status == TW_OK && has_data) status = add_data(p, out, error);
  if (status != TW_OK) tw_files_free(out);
  tw_text_free(&text);
  return status;
}

const tw_exporter trn_exporter = {.sources = sources};
