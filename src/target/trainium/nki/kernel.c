/* kernel.c - finds the kernel in a module, passes its arguments, and takes its results. */
#include "target/trainium/nki/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "op/element.h"
#include "op/operand.h"
#include "target/trainium/nki/value.h"

/* ---- directives: "#: name = value" ---- */

/* A module of the texts after "#:"; an empty one without directives. */
static tw_status read_directives(const char *source, nki_module *out, tw_error *error) {
  char *text = malloc(strlen(source) + 2), *to = text;
  bool any = false;
  *out = (nki_module){0};
  if (!text) return tw_no_memory(error, NULL);
  for (const char *line = source; *line;) {
    const size_t n = strcspn(line, "\n");
    if (n > 2 && line[0] == '#' && line[1] == ':') {
      const char *from = line + 2 + strspn(line + 2, " \t");
      const size_t length = (size_t)(line + n - from);
      memcpy(to, from, length);
      to += length;
      any = true;
    }
    *to++ = '\n'; /* lines keep their numbers */
    line += n + (line[n] == '\n');
  }
  *to = '\0';
  const tw_status status = any ? nki_parse(text, (size_t)(to - text), out, error) : TW_OK;
  free(text);
  return status;
}

static const nki_node *directive(const nki_module *d, const char *name) {
  for (size_t i = 0; i < d->n_body; i++) {
    const nki_node *n = d->body[i];
    if (n->kind == NKI_ASSIGN && n->n_items == 1 && n->item[0]->kind == NKI_NAME && strcmp(n->item[0]->text, name) == 0)
      return n->a;
  }
  return NULL;
}

/* ---- the kernel ---- */

/* Has the function a decorator of this name: @nki.jit, @nki.jit(...)? */
static bool is_decorated(const nki_node *n, const char *name) {
  for (size_t d = 0; d < n->n_other; d++) {
    const nki_node *x = n->other[d]->kind == NKI_CALL ? n->other[d]->a : n->other[d];
    if (x->text && strcmp(x->text, name) == 0) return true;
  }
  return false;
}

static bool is_kernel(const nki_node *n) {
  return is_decorated(n, "jit") || is_decorated(n, "benchmark") || is_decorated(n, "baremetal") ||
         is_decorated(n, "profile") || is_decorated(n, "trace");
}

static const nki_node *find_kernel(nki_run *r, const nki_module *d) {
  const nki_node *wanted = directive(d, "kernel"), *last = NULL, *usual = NULL, *async = NULL;
  const char *name = wanted ? wanted->text : NULL;
  int n = 0;
  for (size_t i = 0; i < r->module->n_body; i++) {
    const nki_node *x = r->module->body[i];
    if (x->kind == NKI_UNSUPPORTED && strcmp(x->text, "async") == 0) async = x;
    if (x->kind != NKI_DEF) continue;
    if (name && strcmp(x->text, name) == 0) return x;
    if (!is_kernel(x)) continue;
    n++;
    last = x;
    if (strcmp(x->text, "solution") == 0) usual = x;
  }
  r->line = async && !last ? async->line : 1;
  if (name) nki_fail(r, "the source has no function '%s'", name);
  if (!last && async) nki_fail(r, "unsupported 'async'; a kernel is a function of 'def'");
  if (!last) nki_fail(r, "the source has no kernel; expected a function with @nki.jit");
  if (usual) return usual;
  if (n > 1) nki_fail(r, "the source has %d kernels; name one in a line '#: kernel = %s'", n, last->text);
  return last;
}

/* ---- arguments ---- */

static trn_type type_of(nki_run *r, tw_type type) {
  static const trn_type known[TW_TYPE_COUNT] = {
      [TW_F32] = TRN_F32, [TW_F16] = TRN_F16, [TW_BF16] = TRN_BF16, [TW_E4M3] = TRN_E4M3, [TW_E5M2] = TRN_E5M2,
      [TW_I8] = TRN_I8,   [TW_U8] = TRN_U8,   [TW_I32] = TRN_I32,   [TW_I16] = TRN_I16};
  if (type != TW_F32 && !known[type]) nki_fail(r, "unsupported operand type %s", tw_type_name(type));
  return known[type];
}

/* The operand with its dimensions in the order of memory: images in NCHW are described as NHWC with strides. */
static tw_operand in_memory_order(const tw_operand *given) {
  tw_operand o = *given;
  for (int i = 1; i < o.rank; i++)
    for (int d = i; d > 0 && o.stride[d] > o.stride[d - 1]; d--) {
      const int64_t size = o.dims[d], stride = o.stride[d];
      o.dims[d] = o.dims[d - 1], o.stride[d] = o.stride[d - 1];
      o.dims[d - 1] = size, o.stride[d - 1] = stride;
    }
  return o;
}

/* Fills one row of a tensor's cells from an operand. */
static void fill_row(const tw_operand *o, const void *buffer, int64_t from, bool is_real, uint32_t *cell) {
  const int64_t step = o->stride[o->rank - 1], all = o->dims[o->rank - 1];
  double x[TRN_CHUNK];
  for (int64_t first = 0; first < all; first += TRN_CHUNK) {
    const int64_t n = all - first < TRN_CHUNK ? all - first : TRN_CHUNK;
    tw_element_row(o->type, buffer, from + first * step, step, n, x);
    for (int64_t i = 0; i < n; i++) cell[first + i] = is_real ? tw_bits_of((float)x[i]) : (uint32_t)(int32_t)x[i];
  }
}

static nki_view *argument(nki_run *r, trn_type type, int n, const int64_t size[], const char *name, bool is_defined) {
  nki_tensor *t = nki_tensor_new(r, TRN_HBM, type, n, size, -1, is_defined);
  trn_tensor *entry = &r->program->tensor[t->first];
  entry->is_argument = true;
  snprintf(entry->name, sizeof entry->name, "%s", name);
  return nki_view_whole(r, t, n, size, -1);
}

/* Makes an operand a tensor in HBM. */
static nki_value tensor_of(nki_run *r, const tw_operand *given, const void *buffer) {
  const tw_operand ordered = in_memory_order(given), *o = &ordered;
  nki_view *v = argument(r, type_of(r, o->type), o->rank, o->dims, o->name, !o->is_output);
  const nki_tensor *t = v->tensor;
  if (!r->computes || o->is_output) return nki_of(v);
  nki_data(r, v);
  for (int64_t row = 0; row < tw_operand_rows(o); row++)
    fill_row(o, buffer, tw_operand_row_at(o, row), trn_type_is_real(t->type),
             t->array.cell + row * o->dims[o->rank - 1]);
  return nki_of(v);
}

nki_value nki_operand_named(nki_run *r, const char *name) {
  const nki_request *q = r->request;
  char names[400] = "";
  for (size_t i = 0; i < q->n_operands; i++) {
    const size_t n = strlen(names);
    if (q->operand[i].is_output) continue;
    snprintf(names + n, sizeof names - n, " %s", q->operand[i].name);
    if (strcmp(names + n + 1, name) != 0) continue;
    r->named |= (uint64_t)1 << i;
    return tensor_of(r, &q->operand[i], q->buffer ? q->buffer[i] : NULL);
  }
  nki_fail(r, "unknown name '%s'; the op's inputs are%s", name, names);
}

nki_value nki_operand_transposed(nki_run *r, const nki_view *v, nki_value axes) {
  nki_view *turned = nki_view_copy(r, v);
  if (!r->in_directive || v->tensor->memory != TRN_HBM) nki_fail(r, "a tensor has no attribute 'transpose'");
  if (nki_axes(r, axes, v->n) != (1u << v->n) - 1 || nki_items(axes)->n != (size_t)v->n)
    nki_fail(r, "transpose: expected each of the %d axes once", v->n);
  for (int d = 0; d < v->n; d++) {
    const int64_t axis = nki_integer(r, nki_items(axes)->item[d], "axis"), from = axis < 0 ? axis + v->n : axis;
    turned->size[d] = v->size[from];
    turned->along_columns[d] = v->along_columns[from];
  }
  const trn_tensor given = r->program->tensor[v->tensor->first]; /* the array may move */
  nki_view *out = argument(r, v->type, v->n, turned->size, given.name, true);
  const trn_view to = nki_data(r, out), from = nki_data(r, turned);
  trn_copy(&to, &from, NULL, NULL);
  return nki_of(out);
}

/* The next operand that no parameter has. */
static size_t next_operand(const nki_run *r, size_t from, bool is_output) {
  const nki_request *q = r->request;
  while (from < q->n_operands && (q->operand[from].is_output != is_output || r->named >> from & 1)) from++;
  return from;
}

enum { PARAMETERS_MAX = 64, NAMED_MAX = 32 };

typedef struct call_plan {
  size_t n, n_named;
  nki_value argument[PARAMETERS_MAX], named[NAMED_MAX];
  const char *name[NAMED_MAX];       /* keywords for the kernel's **keywords */
  nki_value output[TW_OPERANDS_MAX]; /* outputs that the kernel writes into; MISSING: the kernel returns them */
} call_plan;

static nki_value value_of(nki_run *r, const nki_node *directive) {
  r->in_directive = true;
  const nki_value v = nki_evaluate(r, directive);
  r->in_directive = false;
  return v;
}

/* If the kernel takes any keyword, directives that name no parameter become keywords. */
static void plan_keywords(nki_run *r, const nki_function *f, const nki_module *d, call_plan *out) {
  bool takes_any = false;
  for (size_t i = 0; i < f->node->n_items; i++) takes_any = takes_any || f->node->item[i]->op == 'p';
  for (size_t i = 0; takes_any && i < d->n_body; i++) {
    const nki_node *n = d->body[i];
    if (n->kind != NKI_ASSIGN || n->n_items != 1 || n->item[0]->kind != NKI_NAME) continue;
    bool is_parameter = strcmp(n->item[0]->text, "kernel") == 0;
    for (size_t k = 0; k < f->node->n_items && !is_parameter; k++)
      is_parameter = f->node->item[k]->text && strcmp(f->node->item[k]->text, n->item[0]->text) == 0;
    if (is_parameter) continue;
    if (out->n_named == NAMED_MAX) nki_fail(r, "more than %d keywords for the kernel", NAMED_MAX);
    out->name[out->n_named] = n->item[0]->text;
    out->named[out->n_named++] = value_of(r, n->a);
  }
}

static void plan_call(nki_run *r, const nki_function *f, const nki_module *d, call_plan *out) {
  const nki_request *q = r->request;
  size_t next_in = 0, next_out = 0;
  for (size_t i = 0; i < f->node->n_items; i++) {
    const nki_node *p = f->node->item[i], *given = p->text ? directive(d, p->text) : NULL;
    nki_value v = {0};
    if (p->op == '/' || p->op == '*' || p->op == 'p') break;
    r->line = p->line;
    if (out->n == PARAMETERS_MAX) nki_fail(r, "the kernel has more than %d parameters", PARAMETERS_MAX);
    if (given) v = value_of(r, given);
    for (size_t s = 0; s < q->n_scalars && v.type == NKI_V_MISSING; s++)
      if (p->text && strcmp(q->scalar[s].name, p->text) == 0) v = nki_real(q->scalar[s].value);
    if (v.type == NKI_V_MISSING && !p->a && (next_in = next_operand(r, next_in, false)) < q->n_operands) {
      v = tensor_of(r, &q->operand[next_in], q->buffer ? q->buffer[next_in] : NULL);
      next_in++;
    }
    if (v.type == NKI_V_MISSING && p->a) v = f->fallback[i];
    if (v.type == NKI_V_MISSING && (next_out = next_operand(r, next_out, true)) < q->n_operands) {
      v = out->output[next_out] = tensor_of(r, &q->operand[next_out], NULL);
      next_out++;
    }
    if (v.type == NKI_V_MISSING)
      nki_fail(r, "parameter '%s' has no value; add a line '#: %s = ...' to the source", p->text, p->text);
    out->argument[out->n++] = v;
  }
  plan_keywords(r, f, d, out);
  next_in = next_operand(r, next_in, false);
  if (next_in < q->n_operands) nki_fail(r, "the kernel has no parameter for operand '%s'", q->operand[next_in].name);
}

/* ---- results ---- */

static void copy_out(nki_run *r, const tw_operand *given, nki_value v, void *buffer) {
  const tw_operand ordered = in_memory_order(given), *o = &ordered;
  if (v.type != NKI_V_VIEW || nki_view_of(v)->tensor->memory != TRN_HBM)
    nki_fail(r, "the kernel returns %s for '%s'; expected a tensor in HBM",
             v.type == NKI_V_VIEW ? "a tile" : nki_type_name(v), o->name);
  const nki_view *view = nki_view_of(v);
  int64_t wanted = 1, have = 1, dims[TRN_VIEW_DIMS];
  for (int d = 0; d < o->rank; d++) wanted *= dims[d] = o->dims[d];
  for (int d = 0; d < view->n; d++) have *= view->size[d];
  if (wanted != have)
    nki_fail(r, "the kernel returns %lld elements for '%s'; expected %lld", (long long)have, o->name,
             (long long)wanted);
  if (view->type != type_of(r, o->type))
    nki_fail(r, "the kernel returns %s for '%s'; expected %s", trn_type_name(view->type), o->name,
             trn_type_name(type_of(r, o->type)));
  const nki_tensor *t = view->tensor;
  if (!r->computes) return;
  r->skips = false;
  const trn_view data = nki_data(r, view);
  const nki_view *same = nki_reshape(r, view, o->rank, dims);
  int64_t at[TW_RANK_MAX] = {0};
  for (int64_t i = 0; i < wanted; i++) {
    int64_t to = 0, from = same->column;
    for (int d = 0; d < o->rank; d++) {
      to += at[d] * o->stride[d];
      from += at[d] * same->along_columns[d];
    }
    if (t->array.undefined && t->array.undefined[from] == 2) {
      r->line = t->array.origin;
      nki_fail(r, "elements of this tensor are read before they are written; element %lld of '%s' comes from them",
               (long long)i, o->name);
    }
    if (buffer && (!t->array.undefined || !t->array.undefined[from])) /* otherwise the poison stays */
      tw_set_element(o->type, buffer, to, trn_get(&data, from));
    for (int d = o->rank - 1; d >= 0 && ++at[d] == o->dims[d]; d--) at[d] = 0;
  }
}

/* Notes a result of the kernel, even if the caller has no operand for it. */
static void note_result(nki_run *r, nki_value v) {
  if (nki_is_sequence(v))
    for (size_t i = 0; i < nki_items(v)->n; i++) note_result(r, nki_items(v)->item[i]);
  else if (v.type == NKI_V_VIEW)
    r->program->tensor[nki_view_of(v)->tensor->first].is_argument |= nki_view_of(v)->tensor->memory == TRN_HBM;
}

static void take_results(nki_run *r, const call_plan *plan, nki_value returned) {
  const nki_request *q = r->request;
  note_result(r, returned);
  size_t next = 0, outputs = 0;
  for (size_t i = 0; i < q->n_operands; i++) {
    if (!q->operand[i].is_output) continue;
    nki_value v = plan->output[i];
    if (v.type == NKI_V_MISSING && nki_is_sequence(returned))
      v = next < nki_items(returned)->n ? nki_items(returned)->item[next++] : (nki_value){0};
    else if (v.type == NKI_V_MISSING && !next++)
      v = returned;
    if (v.type == NKI_V_MISSING || v.type == NKI_V_NONE)
      nki_fail(r, "the kernel returns nothing for '%s'; return each output of the op%s", q->operand[i].name,
               outputs ? ", or use outputs=first" : "");
    copy_out(r, &q->operand[i], v, q->buffer ? q->buffer[i] : NULL);
    outputs++;
  }
}

/* ---- the run ---- */

/* What a kernel may use grows with its operands, so that an endless loop fails soon. Published kernels use at most a
 * quarter. */
static void set_budgets(nki_run *r) {
  int64_t elements = 0;
  for (size_t i = 0; i < r->request->n_operands; i++)
    elements += tw_operand_rows(&r->request->operand[i]) * tw_operand_columns(&r->request->operand[i]);
  r->tensors_max = (1 << 16) + (elements < 1 << 26 ? elements : 1 << 26) / 16;
  r->bytes_max = (size_t)(512 << 20) + (size_t)(elements < 45 << 20 ? elements : 45 << 20) * 128;
}

static void run_kernel(nki_run *r, const nki_module *d) {
  call_plan plan = {0};
  nki_run_module(r);
  r->frame = r->globals;
  const nki_node *node = find_kernel(r, d);
  const nki_value *f = nki_lookup(r->globals, node->symbol);
  nki_function *called = f && f->type == NKI_V_FUNCTION ? (nki_function *)f->as.o : NULL;
  if (!called) nki_fail(r, "'%s' is not a function", node->text);
  r->program->keeps_loops = is_decorated(node, "skip_middle_end_transformations");
  plan_call(r, called, d, &plan);
  const nki_value out = nki_call_function(r, called, plan.n, plan.argument, plan.n_named, plan.name, plan.named);
  r->line = node->line;
  take_results(r, &plan, out);
}

tw_status nki_execute(const trn_config *config, const nki_module *module, const char *source,
                      const nki_request *request, trn_program *out, tw_error *error) {
  nki_module d;
  jmp_buf fail;
  *out = (trn_program){0};
  tw_status status = read_directives(source, &d, error);
  if (status != TW_OK) return status;
  nki_run *r = calloc(1, sizeof *r);
  if (!r) {
    nki_module_free(&d);
    return tw_no_memory(error, NULL);
  }
  *r = (nki_run){.config = config,
                 .module = module,
                 .program = out,
                 .request = request,
                 .computes = request->buffer != NULL,
                 .error = error,
                 .fail = &fail,
                 .collect_at = 32 << 20,
                 .status = TW_OK};
  set_budgets(r);
  if (setjmp(fail) == 0) {
    r->globals = r->frame = nki_frame_new(r, NULL);
    run_kernel(r, &d);
  }
  status = r->status;
  out->is_older = !r->is_newer;
  nki_free_objects(r);
  free(r);
  nki_module_free(&d);
  if (status != TW_OK) trn_program_free(out);
  return status;
}
