/* export.c - see export.h. The driver is export/driver.template.py; data are files of NumPy's format (NEP 1), version 1.0. */
#include "target/trainium/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/template.h"
#include "target/trainium/config.h"

/* Data of larger problems are not written: the driver draws its own inputs then. */
static const double operations_most = 2e9, bytes_most = 64 << 20;

static const char *const data_names[] = {"operand0.npy", "operand1.npy", "operand2.npy", "operand3.npy",
                                         "operand4.npy", "operand5.npy", "operand6.npy", "operand7.npy"};
enum { DATA_MAX = sizeof data_names / sizeof *data_names };

static const char *python_type(tw_type type) {
  return type == TW_BF16 ? "bfloat16" : type == TW_F16 ? "float16" : type == TW_I32 ? "int32" : "float32";
}

/* The dimensions in the order of memory: "(512, 4096)". */
static void print_shape(const tw_operand *o, char *text, size_t size) {
  int order[TW_RANK_MAX];
  size_t n = 0;
  for (int d = 0; d < o->rank; d++) order[d] = d;
  for (int i = 1; i < o->rank; i++)
    for (int d = i; d > 0 && o->stride[order[d]] > o->stride[order[d - 1]]; d--) {
      const int other = order[d];
      order[d] = order[d - 1];
      order[d - 1] = other;
    }
  n += (size_t)snprintf(text, size, "(");
  for (int d = 0; d < o->rank && n < size; d++)
    n += (size_t)snprintf(text + n, size - n, "%lld, ", (long long)o->dims[order[d]]);
  if (n < size) snprintf(text + n, size - n, ")");
}

/* A header of 128 bytes, then the operand's own bytes; bfloat16 as 16-bit integers. */
static char *npy_of(const tw_operand *o, const void *data, size_t *size) {
  enum { HEADER = 128 };
  char shape[120], *out = malloc(HEADER + o->bytes);
  if (!out) return NULL;
  print_shape(o, shape, sizeof shape);
  const char *type = o->type == TW_BF16 ? "<u2" : o->type == TW_F16 ? "<f2" : o->type == TW_I32 ? "<i4" : "<f4";
  memset(out, ' ', HEADER);
  memcpy(out, "\x93NUMPY\x01\x00\x76\x00", 10);
  char header[HEADER];
  const int n = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': %s}", type, shape);
  memcpy(out + 10, header, (size_t)(n < HEADER - 11 ? n : HEADER - 11));
  out[HEADER - 1] = '\n';
  memcpy(out + HEADER, data, o->bytes);
  *size = HEADER + o->bytes;
  return out;
}

static tw_status add_data(const tw_problem *p, tw_files *out, tw_error *error) {
  tw_case k;
  tw_status status = tw_case_make(p, 1, 1, &k, error);
  if (status != TW_OK) return status;
  for (size_t i = 0; i < k.n_operands && status == TW_OK; i++) {
    out->file[out->n].name = data_names[i];
    out->file[out->n].text = npy_of(&k.operand[i], k.buffer[i], &out->file[out->n].size);
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
    print_shape(&operand[i], shape, sizeof shape);
    snprintf(file, sizeof file, has_data ? "\"%s\"" : "None", data_names[i < DATA_MAX ? i : 0]);
    tw_text_add(&lines, "    (\"%s\", \"%s\", %s, %s, %s),\n", operand[i].name, python_type(operand[i].type), shape,
                operand[i].is_output ? "True" : "False", file);
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
