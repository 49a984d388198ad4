/* export.c - see export.h. */
#include "export/export.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/parallel.h"
#include "op/numerics.h"
#include "op/operand.h"
#include "op/sample.h"

enum { SEED = 1 }; /* comparisons have ended, so inputs are no longer secret */
enum { ALIGNMENT = 64, REPEAT_BYTES = 8 << 20, INPUT_BYTES = 64 << 20, SAME_BYTES = 8 << 20, PLACES = 1 << 14 };
static const double REFERENCE = 1e9, EXACT = 1e9; /* multiply-adds that take no noticeable time */

/* ---- inputs ---- */

static size_t element_bytes(const tw_operand *o) {
  const size_t bits = (size_t)tw_type_bits(o->type);
  return bits < 8 ? 1 : bits / 8;
}

static bool is_dense(const tw_operand *o) {
  return (size_t)tw_operand_rows(o) * (size_t)tw_operand_columns(o) * element_bytes(o) == o->bytes;
}

static bool is_prime(size_t n) {
  for (size_t i = 2; i * i <= n; i++)
    if (n % i == 0) return false;
  return true;
}

/* Large inputs repeat after a prime number of elements, so that no two rows or tiles are equal. */
static void repeat(tw_export *e) {
  size_t all = 0;
  for (size_t i = 0; i < e->data.n_operands; i++) all += e->data.operand[i].is_output ? 0 : e->data.operand[i].bytes;
  for (size_t i = 0; i < e->data.n_operands && all > INPUT_BYTES; i++) {
    const tw_operand *o = &e->data.operand[i];
    if (o->is_output || o->bytes <= REPEAT_BYTES || !is_dense(o)) continue;
    size_t period = REPEAT_BYTES / element_bytes(o);
    while (!is_prime(period)) period--;
    period *= element_bytes(o);
    e->in_file[i].given_bytes = period;
    char *data = e->data.buffer[i];
    for (size_t at = period; at < o->bytes; at += period)
      memcpy(data + at, data, o->bytes - at < period ? o->bytes - at : period);
  }
}

static bool gives(const tw_operand *o) { return !o->is_output || o->given_bytes; }

/* Must every byte of the output be the same? Then the reference computes it. */
static bool same(const tw_export *e, size_t i, bool whole) {
  const tw_operand *o = &e->data.operand[i];
  const tw_problem *p = e->data.problem;
  if (!p->op->exact) return tw_unit(o->type) == 0;
  return tw_unit(o->type) == 0 && (whole || (p->op->operations(p) <= REFERENCE && o->bytes <= SAME_BYTES));
}

tw_status tw_export_draw(const tw_problem *p, bool whole, tw_export *e, tw_error *error) {
  *e = (tw_export){0};
  tw_problem_print(p, e->problem, sizeof e->problem);
  snprintf(e->checked, sizeof e->checked, "every element");
  const tw_status status = tw_case_make_inputs(p, SEED, &e->data, error);
  if (status == TW_OK && !whole) repeat(e);
  return status;
}

static size_t append(tw_text *file, const void *data, size_t bytes) {
  static const char zeros[ALIGNMENT];
  tw_text_add_bytes(file, zeros, (ALIGNMENT - file->length % ALIGNMENT) % ALIGNMENT);
  const size_t at = file->length;
  tw_text_add_bytes(file, data, bytes);
  return at;
}

void tw_export_give(tw_export *e, size_t i, const void *data, size_t bytes) {
  e->in_file[i].given_at = append(&e->file, data, bytes);
  e->in_file[i].given_bytes = bytes;
}

/* ---- expected results ---- */

typedef struct values {
  size_t n;
  tw_place *place;
  double *value, *bound;
} values;

static tw_status exact_values(const tw_case *k, size_t output, values *v, tw_error *error) {
  return k->problem->op->exact(k->problem, k->buffer, output, v->n, v->place, v->value, v->bound, tw_cores(), error);
}

static int64_t index_of(const tw_operand *o, tw_place place) {
  return tw_operand_row_at(o, place.row) + place.column * o->stride[o->rank - 1];
}

/* The largest error of an f32 element that the op's comparison accepts, for ops without bounds. It is found by
 * bisection; infinite if the element is not compared. `result` holds the reference's outputs, also on return. */
static double allowed(const tw_case *k, void *const result[], float *element) {
  const float right = *element;
  double within = 0, beyond = fabs((double)right) + 1;
  for (int i = 0; i < 64 && !isinf(within); i++) {
    const double off = i ? (within + beyond) / 2 : beyond;
    *element = (float)((double)right + off);
    const bool fine = k->problem->op->compare(k->problem, k->buffer, result, NULL) == TW_OK;
    if (fine && !i)
      within = INFINITY;
    else
      *(fine ? &within : &beyond) = off;
  }
  *element = right;
  return within;
}

static tw_status values_by_trying(const tw_case *k, size_t output, values *v, tw_error *error) {
  const tw_operand *o = &k->operand[output];
  float *copy = malloc(o->bytes);
  if (!copy) return tw_no_memory(error, "operands.bin");
  memcpy(copy, k->buffer[output], o->bytes);
  void *result[TW_OPERANDS_MAX];
  memcpy(result, k->buffer, sizeof result);
  result[output] = copy;
  for (size_t i = 0; i < v->n; i++) {
    float *element = &copy[index_of(o, v->place[i])];
    v->value[i] = (double)*element;
    v->bound[i] = allowed(k, result, element);
  }
  free(copy);
  return TW_OK;
}

static tw_place *all_places(int64_t rows, int64_t columns, size_t *n) {
  tw_place *place = tw_new((size_t)(rows * columns), sizeof *place);
  *n = 0;
  for (int64_t row = 0; place && row < rows; row++)
    for (int64_t column = 0; column < columns; column++) place[(*n)++] = (tw_place){row, column};
  return place;
}

static tw_place *choose_places(tw_export *e, size_t i, bool whole, size_t *n) {
  const tw_problem *p = e->data.problem;
  const tw_operand *o = &e->data.operand[i];
  const int64_t rows = tw_operand_rows(o), columns = tw_operand_columns(o);
  const double all = (double)rows * (double)columns;
  double element = 0, row = 0;
  if (p->op->exact) p->op->exact_cost(p, i, &element, &row);
  if (whole || (all <= PLACES && row * (double)rows <= EXACT)) return all_places(rows, columns, n);
  tw_random random;
  tw_random_seed(&random, SEED);
  tw_place *place = tw_sample_elements(&random, rows, columns, fmin(PLACES, fmax(EXACT / element, 64)), n);
  snprintf(e->checked, sizeof e->checked, "%zu of %.0f elements of %s, one from each of as many blocks", *n, all,
           o->name);
  return place;
}

/* Writes a triple (position, value, bound) for each element with a finite bound. */
static void add_values(tw_export *e, size_t i, const values *v) {
  for (size_t j = 0; j < v->n; j++) {
    const double triple[] = {(double)index_of(&e->data.operand[i], v->place[j]), v->value[j], v->bound[j]};
    if (!isfinite(triple[1]) || !isfinite(triple[2])) continue;
    if (!e->in_file[i].places++) e->in_file[i].expected_at = append(&e->file, NULL, 0);
    tw_text_add_bytes(&e->file, triple, sizeof triple);
  }
}

tw_status tw_export_expect(tw_export *e, size_t i, bool whole, tw_error *error) {
  const tw_problem *p = e->data.problem;
  if (!e->has_outputs && (same(e, i, whole) || !p->op->exact)) {
    p->op->reference(p, e->data.buffer, tw_cores());
    e->has_outputs = true;
  }
  if (same(e, i, whole)) {
    e->in_file[i].expected_at = append(&e->file, e->data.buffer[i], e->data.operand[i].bytes);
    return TW_OK;
  }
  values v = {.place = choose_places(e, i, whole, &v.n)};
  v.value = tw_new(v.n, sizeof *v.value);
  v.bound = tw_new(v.n, sizeof *v.bound);
  tw_status status = v.place && v.value && v.bound ? TW_OK : tw_no_memory(error, "operands.bin");
  if (status == TW_OK) status = (e->data.problem->op->exact ? exact_values : values_by_trying)(&e->data, i, &v, error);
  if (status == TW_OK) add_values(e, i, &v);
  if (status == TW_OK && !e->in_file[i].places)
    status = tw_fail(error, TW_USAGE, "%s: no element of %s has an error bound, so it cannot be exported with a check",
                     e->problem, e->data.operand[i].name);
  free(v.place);
  free(v.value);
  free(v.bound);
  return status;
}

tw_status tw_export_make(const tw_problem *p, bool whole, tw_export *e, tw_error *error) {
  tw_status status = tw_export_draw(p, whole, e, error);
  for (size_t i = 0; i < e->data.n_operands && status == TW_OK; i++) {
    const tw_operand *o = &e->data.operand[i];
    if (gives(o))
      tw_export_give(e, i, e->data.buffer[i], e->in_file[i].given_bytes ? e->in_file[i].given_bytes : o->bytes);
  }
  for (size_t i = 0; i < e->data.n_operands && status == TW_OK; i++)
    if (e->data.operand[i].is_output) status = tw_export_expect(e, i, whole, error);
  if (status != TW_OK) tw_export_free(e);
  return status;
}

void tw_export_free(tw_export *e) {
  tw_case_free(&e->data);
  tw_text_free(&e->file);
}

/* ---- texts ---- */

char tw_export_letter(tw_type type) {
  switch (type) {
  case TW_F32: return 'f';
  case TW_F16: return 'h';
  case TW_BF16: return 'b';
  case TW_I32: return 'i';
  case TW_I16: return 's';
  case TW_I8: return 'c';
  default: return '-';
  }
}

void tw_export_table(const tw_export *e, tw_text *t) {
  tw_text_add_string(t, "static const tw_checked tw_operands[] = {\n");
  for (size_t i = 0; i < e->data.n_operands; i++) {
    const tw_operand *o = &e->data.operand[i];
    const tw_exported *x = &e->in_file[i];
    tw_text_add(t, "  {\"%s\", '%c', %d, %d, %zu, %zu, %zu, %zu, %zu, %zu},\n", o->name, tw_export_letter(o->type),
                o->is_output, is_dense(o), element_bytes(o), o->bytes, x->given_at, x->given_bytes, x->expected_at,
                x->places);
  }
  tw_text_add_string(t, "};\n");
}

static void list_operands(const tw_export *e, tw_text *t) {
  for (size_t i = 0; i < e->data.n_operands; i++) {
    const tw_operand *o = &e->data.operand[i];
    tw_text_add(t, "%s- %s: ", i ? "\n" : "", o->name);
    for (int d = 0; d < o->rank; d++) tw_text_add(t, "%s%lld", d ? " x " : "", (long long)o->dims[d]);
    tw_text_add(t, " of %s, %zu bytes%s", tw_type_name(o->type), o->bytes, o->is_output ? ", written" : "");
    if (e->in_file[i].given_bytes && e->in_file[i].given_bytes < o->bytes)
      tw_text_add(t, "; in `operands.bin` the first %zu, which repeat", e->in_file[i].given_bytes);
  }
}

/* Part of every build. */
void tw_export_embed(tw_text *t, const char *embedded) {
  tw_text_add_string(t, (const char *)tw_embedded_find(embedded)->data);
}

static bool fill_key(tw_text *t, const char *key, size_t length, const tw_export *e, size_t n,
                     const char *const pair[][2]) {
  const char *const own[][2] = {{"PROBLEM", e->problem}, {"CHECKED", e->checked}};
  for (size_t i = 0; i < n + sizeof own / sizeof *own; i++) {
    const char *const *p = i < n ? pair[i] : own[i - n];
    if (strlen(p[0]) != length || strncmp(p[0], key, length) != 0) continue;
    tw_text_add_string(t, p[1]);
    return true;
  }
  const bool operands = length == strlen("OPERANDS") && strncmp(key, "OPERANDS", length) == 0;
  if (operands) list_operands(e, t);
  return operands;
}

void tw_export_fill(tw_text *t, const char *embedded, const tw_export *e, size_t n, const char *const pair[][2]) {
  const char *text = (const char *)tw_embedded_find(embedded)->data, *at, *end;
  while ((at = strchr(text, '@')) && (end = strchr(at + 1, '@'))) {
    tw_text_add_bytes(t, text, (size_t)(at - text));
    const bool known = fill_key(t, at + 1, (size_t)(end - at - 1), e, n, pair);
    if (!known) tw_text_add_string(t, "@");
    text = known ? end + 1 : at + 1;
  }
  tw_text_add_string(t, text);
}

tw_status tw_export_add(tw_files *files, const char *name, tw_text *text, tw_error *error) {
  files->file[files->n].name = name;
  files->file[files->n].size = 0;
  files->file[files->n].text = tw_text_take(text);
  return files->file[files->n++].text ? TW_OK : tw_fail(error, TW_NO_MEMORY, "out of memory while writing %s", name);
}

tw_status tw_export_add_operands(tw_files *files, tw_export *e, tw_error *error) {
  const size_t size = e->file.length;
  const tw_status status = tw_export_add(files, "operands.bin", &e->file, error);
  files->file[files->n - 1].size = size;
  return status;
}
