/* plan.c - see plan.h. */
#include "tensors/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

static tw_status no_memory(const tensor_file *in, tw_error *error) {
  return tw_fail(error, TW_NO_MEMORY, "out of memory for the tensors of '%s'", in->path);
}

/* A malloc'ed text: prefix, name, suffix. */
static char *joined(const char *prefix, const char *name, const char *suffix) {
  tw_text text = {0};
  tw_text_add(&text, "%s%s%s", prefix, name, suffix);
  return tw_text_take(&text);
}

/* ---- reading ---- */

/* Rows and columns of a shape whose product is known to fit. */
static void matrix_of(source *s) {
  uint64_t values = 0;
  shape_values(s->rank, s->shape, &values);
  s->columns = s->rank ? (size_t)s->shape[s->rank - 1] : 1;
  s->rows = values ? (size_t)(values / s->columns) : 0;
  if (!values) s->columns = 0;
}

/* The formats whose codes safetensors has a dtype for. */
static const tw_format_id format_of[DTYPE_COUNT] = {
    [DTYPE_F32] = TW_FORMAT_F32,   [DTYPE_F16] = TW_FORMAT_F16,   [DTYPE_BF16] = TW_FORMAT_BF16,
    [DTYPE_E4M3] = TW_FORMAT_E4M3, [DTYPE_E5M2] = TW_FORMAT_E5M2, [DTYPE_E4M3FNUZ] = TW_FORMAT_E4M3FNUZ,
    [DTYPE_I8] = TW_FORMAT_I8};

static bool plain_source(const tensor *t, source *s) {
  if (t->dtype < DTYPE_F64 || t->dtype > DTYPE_E4M3FNUZ) return false;
  *s = (source){.codes = t, .is_f64 = t->dtype == DTYPE_F64, .rank = t->rank};
  s->packing.format = tw_format_at(format_of[s->is_f64 ? DTYPE_F32 : t->dtype]);
  memcpy(s->shape, t->shape, sizeof s->shape);
  matrix_of(s);
  return true;
}

/* The packing that the metadata names for a tensor; NULL if it names none. */
static const char *packing_text(const tensor_file *in, const char *name) {
  char *key = joined("tilewright.", name, "");
  const char *text = key ? json_string_value(json_object_get(in->metadata, key)) : NULL;
  free(key);
  return text;
}

static tw_status packed_source(const tensor_file *in, const tensor *t, const char *text, source *s, tw_error *error) {
  tw_packed_size size;
  uint64_t values;
  *s = (source){.codes = t};
  if (!packing_parse(text, &s->packing, &s->rank, s->shape) || !shape_values(s->rank, s->shape, &values))
    return tw_fail(error, TW_USAGE, "'%s': unknown metadata of tensor '%s'", in->path, t->name);
  matrix_of(s);
  tw_status status = tw_format_sizes(&s->packing, s->rows, s->columns, &size, error);
  if (status != TW_OK) return status;
  if (size.codes != t->bytes)
    return tw_fail(error, TW_USAGE, "'%s': the size of tensor '%s' differs from its metadata", in->path, t->name);
  if (!size.scales) return TW_OK;
  char *name = joined("", t->name, ".scales");
  s->scales = name ? tensor_named(in, name) : NULL;
  free(name);
  if (!s->scales || s->scales->bytes != size.scales)
    return tw_fail(error, TW_USAGE, "'%s': tensor '%s.scales' is missing or has the wrong size", in->path, t->name);
  return TW_OK;
}

/* Does t hold the scales of another tensor? */
static bool is_scales(const tensor_file *in, const tensor *t) {
  size_t length = strlen(t->name), tail = strlen(".scales");
  if (length <= tail || strcmp(t->name + length - tail, ".scales") != 0) return false;
  char *owner = strdup(t->name);
  if (owner) owner[length - tail] = '\0';
  bool yes = owner && tensor_named(in, owner) && packing_text(in, owner);
  free(owner);
  return yes;
}

/* ---- writing ---- */

/* Does safetensors have a dtype for the format's codes? Sets it. */
static bool native_dtype(const tw_format *f, tensor *t) {
  tensor_dtype type = DTYPE_F32;
  while (type < DTYPE_COUNT && format_of[type] != f->id) type++; /* F32, which is 0, comes first */
  tensor_set_dtype(t, type < DTYPE_COUNT ? type : DTYPE_U8);
  return type < DTYPE_COUNT;
}

/* The tensor's dimensions, with the last one replaced by `last`. */
static void set_shape(const source *s, uint64_t last, tensor *t) {
  t->rank = s->rank ? s->rank : 1;
  memcpy(t->shape, s->shape, sizeof t->shape);
  t->shape[t->rank - 1] = last;
}

static tw_status plan_scales(const tensor_file *in, const tw_packing *to, plan_entry *e, tw_error *error) {
  const char *name = e->from.codes->name;
  if (!e->size.scales) return TW_OK;
  e->scales.name = joined("", name, ".scales");
  if (!e->scales.name) return no_memory(in, error);
  const tensor *other = tensor_named(in, e->scales.name);
  if (other && other != e->from.scales)
    return tw_fail(error, TW_USAGE, "'%s' already has a tensor '%s', the name for the scales of '%s'; rename it",
                   in->path, e->scales.name, name);
  bool bytes = to->format->scale == TW_SCALE_E8M0;
  tensor_set_dtype(&e->scales, bytes ? DTYPE_U8 : DTYPE_F32);
  e->scales.bytes = e->size.scales;
  set_shape(&e->from, e->size.row_scales / (bytes ? 1 : 4), &e->scales);
  if (to->group == TW_GROUP_TENSOR) e->scales.rank = 1, e->scales.shape[0] = 1;
  return TW_OK;
}

static tw_status plan_metadata(const tensor_file *in, const tw_packing *to, const plan_entry *e, plan *p,
                               tw_error *error) {
  char *key = joined("tilewright.", e->codes.name, ""), *text = packing_print(to, e->from.rank, e->from.shape);
  bool plain = to->format->scale == TW_SCALE_NONE; /* dtype and shape describe it completely */
  int failed = !key || !text;
  if (!failed && plain) json_object_del(p->metadata, key);
  if (!failed && !plain) failed = json_object_set_new(p->metadata, key, json_string(text));
  free(key);
  free(text);
  return failed ? no_memory(in, error) : TW_OK;
}

static tw_status plan_conversion(const tensor_file *in, const tw_packing *to, plan_entry *e, plan *p, tw_error *error) {
  tw_status status = tw_format_sizes(to, e->from.rows, e->from.columns, &e->size, error);
  if (status != TW_OK) return status;
  e->converts = true;
  e->codes.bytes = e->size.codes;
  if (native_dtype(to->format, &e->codes)) {
    e->codes.rank = e->from.rank;
    memcpy(e->codes.shape, e->from.shape, sizeof e->codes.shape);
  } else {
    set_shape(&e->from, e->size.row_codes, &e->codes);
  }
  status = plan_scales(in, to, e, error);
  return status == TW_OK ? plan_metadata(in, to, e, p, error) : status;
}

static tw_status plan_tensor(const tensor_file *in, const convert_options *o, const tensor *t, plan *p,
                             tw_error *error) {
  plan_entry *e = &p->entry[p->n++];
  const char *text = packing_text(in, t->name);
  tw_status status = text ? packed_source(in, t, text, &e->from, error) : TW_OK;
  if (status != TW_OK) return status;
  bool converts = text || (plain_source(t, &e->from) && (o->all || in->is_npy || t->rank >= 2));
  e->codes.name = strdup(t->name);
  if (!e->codes.name) return no_memory(in, error);
  if (converts) return plan_conversion(in, &o->to, e, p, error);
  e->from = (source){.codes = t};
  char *name = e->codes.name;
  e->codes = *t;
  e->codes.name = name;
  return TW_OK;
}

/* Orders wide numbers first, so that all are at multiples of their size. */
static void order_output(plan *p) {
  static const size_t widths[] = {8, 4, 2, 1, 0};
  for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
    for (size_t i = 0; i < p->n; i++) {
      plan_entry *e = &p->entry[i];
      if (dtype_bytes(e->codes.dtype) == widths[w]) p->out[e->codes_at = p->n_out++] = e->codes;
      if (e->scales.name && dtype_bytes(e->scales.dtype) == widths[w]) p->out[e->scales_at = p->n_out++] = e->scales;
    }
  }
}

static tw_status check_npy(const tensor_file *in, const convert_options *o, const plan *p, const char *out,
                           tw_error *error) {
  tw_format_id id = o->to.format->id;
  if (id != TW_FORMAT_F32 && id != TW_FORMAT_F16)
    return tw_fail(error, TW_USAGE, "'%s': a .npy file holds f32 or f16, not %s; name the output .safetensors", out,
                   o->to.format->name);
  if (p->n == 1) return TW_OK;
  return tw_fail(error, TW_USAGE,
                 "'%s': a .npy file holds one array, '%s' has %zu tensors; name the output .safetensors", out, in->path,
                 p->n);
}

tw_status plan_make(const tensor_file *in, const convert_options *o, bool to_npy, const char *out, plan *p,
                    tw_error *error) {
  size_t converts = 0;
  *p = (plan){.entry = tw_new(in->n + 1, sizeof *p->entry), .out = tw_new(2 * in->n + 1, sizeof *p->out)};
  p->metadata = in->metadata ? json_copy(in->metadata) : json_object();
  tw_status status = p->entry && p->out && p->metadata ? TW_OK : no_memory(in, error);
  for (size_t i = 0; status == TW_OK && i < in->n; i++) {
    if (is_scales(in, &in->tensor[i])) continue;
    status = plan_tensor(in, o, &in->tensor[i], p, error);
    converts += status == TW_OK && p->entry[p->n - 1].converts;
  }
  if (status == TW_OK && converts == 0)
    status = tw_fail(error, TW_USAGE, "'%s' has nothing to convert: no floating-point tensor%s", in->path,
                     o->all || in->is_npy ? "" : " of two or more dimensions (--all converts all tensors)");
  if (status == TW_OK && to_npy) status = check_npy(in, o, p, out, error);
  if (status == TW_OK)
    order_output(p);
  else
    plan_free(p);
  return status;
}

void plan_free(plan *p) {
  for (size_t i = 0; p->entry && i < p->n; i++) {
    free(p->entry[i].codes.name);
    free(p->entry[i].scales.name);
  }
  free(p->entry);
  free(p->out);
  json_decref(p->metadata);
  *p = (plan){0};
}
