/* object.c - objects, their garbage collection, sequences, and the operations of every value. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/trainium/nki/value.h"

enum { COLLECT_MIN = 32 << 20, DEPTH_MAX = 200 };

/* ---- failing ---- */

_Noreturn void nki_fail(nki_run *r, const char *format, ...) {
  char text[1200];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  for (char *c = text; (c = strchr(c, '\n'));) *c = ' '; /* of a string in the source */
  nki_stop(r, TW_FAILED, text);
}

_Noreturn void nki_stop(nki_run *r, tw_status status, const char *why) {
  r->status = tw_fail(r->error, status, "line %d: %s", r->line, why);
  longjmp(*r->fail, 1);
}

_Noreturn void nki_out_of_memory(nki_run *r) { nki_stop(r, TW_NO_MEMORY, "out of memory"); }

/* ---- memory ---- */

void nki_keep(nki_run *r, nki_value v) {
  if (v.type < NKI_V_STRING || v.type == NKI_V_PAR_DIM) return;
  if (!trn_room((void **)&r->temporary, r->n_temporaries, &r->temporary_capacity, sizeof *r->temporary))
    nki_out_of_memory(r);
  r->temporary[r->n_temporaries++] = v;
}

void nki_charge(nki_run *r, nki_object *o, size_t bytes) {
  o->bytes += bytes;
  r->bytes += bytes;
  if (r->bytes > r->bytes_max) nki_collect(r);
  if (r->bytes > r->bytes_max)
    nki_fail(r, "the kernel's tensors need more than %zu MiB of the host", r->bytes_max >> 20);
}

void *nki_new(nki_run *r, nki_type type, size_t bytes) {
  nki_object *o = calloc(1, bytes);
  if (!o) nki_out_of_memory(r);
  o->type = type;
  o->next = r->objects;
  r->objects = o;
  nki_keep(r, nki_of(o));
  nki_charge(r, o, bytes);
  return o; /* NOLINT(clang-analyzer-unix.Malloc): nki_keep protects it from collection */
}

static void destroy(nki_run *r, nki_object *o) {
  r->bytes -= o->bytes;
  switch (o->type) {
  case NKI_V_TUPLE:
  case NKI_V_LIST:
  case NKI_V_DICT: free(((nki_sequence *)o)->item); break;
  case NKI_V_FUNCTION: free(((nki_function *)o)->fallback); break;
  case NKI_V_FRAME:
    free(((nki_frame *)o)->symbol);
    free(((nki_frame *)o)->value);
    break;
  case NKI_V_TENSOR:
    trn_array_free(&((nki_tensor *)o)->array);
    free(((nki_tensor *)o)->block_is_zero_pending);
    free(((nki_tensor *)o)->accumulates);
    break;
  default: break;
  }
  free(o);
}

/* Marked objects wait in a list until their parts are marked: kernels can chain more objects than a stack has room for. */
static void mark_object(nki_run *r, nki_object *o) {
  if (!o || o->is_marked) return;
  o->is_marked = true;
  o->waiting = r->waiting;
  r->waiting = o;
}

static void mark(nki_run *r, nki_value v) {
  if (v.type >= NKI_V_STRING && v.type != NKI_V_PAR_DIM) mark_object(r, v.as.o);
}

static void mark_parts(nki_run *r, nki_object *o) {
  switch (o->type) {
  case NKI_V_TUPLE:
  case NKI_V_LIST:
  case NKI_V_DICT: {
    const nki_sequence *s = (nki_sequence *)o;
    for (size_t i = 0; i < s->n; i++) mark(r, s->item[i]);
    break;
  }
  case NKI_V_SLICE:
    mark(r, ((nki_slice *)o)->start);
    mark(r, ((nki_slice *)o)->stop);
    mark(r, ((nki_slice *)o)->step);
    break;
  case NKI_V_FUNCTION: {
    nki_function *f = (nki_function *)o;
    mark_object(r, (nki_object *)f->closure);
    for (size_t i = 0; f->fallback && i < f->node->n_items; i++) mark(r, f->fallback[i]);
    break;
  }
  case NKI_V_METHOD: mark(r, ((nki_method *)o)->self); break;
  case NKI_V_VIEW: mark_object(r, (nki_object *)((nki_view *)o)->tensor); break;
  case NKI_V_TENSOR: mark_object(r, (nki_object *)((nki_tensor *)o)->spread); break;
  case NKI_V_FRAME: {
    nki_frame *f = (nki_frame *)o;
    mark_object(r, (nki_object *)f->closure);
    mark_object(r, (nki_object *)f->caller);
    for (int i = 0; i < f->slots; i++)
      if (f->symbol[i]) mark(r, f->value[i]);
    break;
  }
  default: break;
  }
}

void nki_collect(nki_run *r) {
  mark_object(r, (nki_object *)r->frame);
  mark_object(r, (nki_object *)r->globals);
  mark(r, r->returned);
  mark_object(r, (nki_object *)r->product.tile);
  mark_object(r, (nki_object *)r->product.stationary);
  mark_object(r, (nki_object *)r->product.moving);
  for (size_t i = 0; i < r->n_temporaries; i++) mark(r, r->temporary[i]);
  while (r->waiting) {
    nki_object *o = r->waiting;
    r->waiting = o->waiting;
    mark_parts(r, o);
  }
  for (nki_object **at = &r->objects; *at;) {
    nki_object *o = *at;
    if (o->is_marked) {
      o->is_marked = false;
      at = &o->next;
    } else {
      *at = o->next;
      destroy(r, o);
    }
  }
  r->collect_at = 2 * r->bytes > COLLECT_MIN ? 2 * r->bytes : COLLECT_MIN;
}

void nki_free_objects(nki_run *r) {
  while (r->objects) {
    nki_object *next = r->objects->next;
    destroy(r, r->objects);
    r->objects = next;
  }
  free(r->temporary);
  r->temporary = NULL;
}

/* ---- making values ---- */

nki_value nki_of(void *object) { return (nki_value){.type = ((nki_object *)object)->type, .as.o = object}; }
nki_value nki_int(int64_t i) { return (nki_value){.type = NKI_V_INT, .as.i = i}; }
nki_value nki_real(double x) { return (nki_value){.type = NKI_V_REAL, .as.r = x}; }
nki_value nki_bool(bool b) { return (nki_value){.type = NKI_V_BOOL, .as.i = b}; }
nki_value nki_none(void) { return (nki_value){.type = NKI_V_NONE}; }

nki_value nki_text(nki_run *r, const char *text, size_t length) {
  nki_string *s = nki_new(r, NKI_V_STRING, sizeof *s + length + 1);
  memcpy(s->text, text, length);
  s->length = length;
  return nki_of(s);
}

void nki_append(nki_run *r, nki_sequence *s, nki_value v) {
  if (nki_is_sequence(v) || v.type == NKI_V_DICT) {
    const int depth = nki_items(v)->depth + 1;
    if (depth > DEPTH_MAX) nki_fail(r, "sequences are nested more than %d deep", DEPTH_MAX);
    if (depth > s->depth) s->depth = depth;
  }
  if (s->n == s->capacity) {
    const size_t more = s->capacity ? 2 * s->capacity : 4;
    nki_value *moved = tw_resize(s->item, more, sizeof *moved);
    if (!moved) nki_out_of_memory(r);
    s->item = moved;
    nki_charge(r, &s->object, (more - s->capacity) * sizeof *moved);
    s->capacity = more;
  }
  s->item[s->n++] = v;
}

nki_value nki_sequence_of(nki_run *r, nki_type type, size_t n, const nki_value *items) {
  nki_sequence *s = nki_new(r, type, sizeof *s);
  for (size_t i = 0; i < n; i++) nki_append(r, s, items[i]);
  return nki_of(s);
}

/* ---- asking values ---- */

nki_value nki_item(nki_run *r, nki_value v, size_t i) {
  if (nki_is_sequence(v)) {
    if (i < nki_items(v)->n) return nki_items(v)->item[i];
  } else if (v.type == NKI_V_DICT) {
    if (2 * i < nki_items(v)->n) return nki_items(v)->item[2 * i];
  } else if (v.type == NKI_V_RANGE) {
    const nki_range *range = (nki_range *)v.as.o;
    int64_t x;
    if (!__builtin_mul_overflow((int64_t)i, range->step, &x) && !__builtin_add_overflow(x, range->start, &x) &&
        (range->step > 0 ? x < range->stop : x > range->stop))
      return nki_int(x);
  } else if (v.type == NKI_V_STRING) {
    if (i < ((const nki_string *)v.as.o)->length) return nki_text(r, nki_string_of(v) + i, 1);
  } else {
    nki_fail(r, "unsupported iteration over %s; expected a range, tuple or list", nki_type_name(v));
  }
  return (nki_value){.type = NKI_V_MISSING};
}

bool nki_is_sequence(nki_value v) { return v.type == NKI_V_TUPLE || v.type == NKI_V_LIST; }
bool nki_is_number(nki_value v) { return v.type == NKI_V_INT || v.type == NKI_V_BOOL || v.type == NKI_V_REAL; }

const char *nki_type_name(nki_value v) {
#define NAME(type, name) name,
  static const char *const names[] = {NKI_TYPES(NAME)};
  return names[v.type];
}

bool nki_truth(nki_run *r, nki_value v) {
  switch (v.type) {
  case NKI_V_NONE: return false;
  case NKI_V_BOOL:
  case NKI_V_INT: return v.as.i != 0;
  case NKI_V_REAL: return v.as.r != 0;
  case NKI_V_STRING: return ((const nki_string *)v.as.o)->length != 0;
  case NKI_V_TUPLE:
  case NKI_V_LIST:
  case NKI_V_DICT: return nki_items(v)->n != 0;
  case NKI_V_VIEW:
    nki_fail(r, "unsupported condition on a tensor's values; expected values that are known before the kernel runs");
  case NKI_V_INDEX:
  case NKI_V_MASK: nki_fail(r, "unsupported condition on %s; expected an int or bool", nki_type_name(v));
  default: return true;
  }
}

static bool are_equal(nki_run *r, nki_value a, nki_value b, int depth) {
  if (nki_is_number(a) && nki_is_number(b)) {
    if (a.type == NKI_V_REAL || b.type == NKI_V_REAL)
      return (a.type == NKI_V_REAL ? a.as.r : (double)a.as.i) == (b.type == NKI_V_REAL ? b.as.r : (double)b.as.i);
    return a.as.i == b.as.i;
  }
  if (nki_is_sequence(a) && nki_is_sequence(b)) {
    const nki_sequence *x = nki_items(a), *y = nki_items(b);
    if (depth == DEPTH_MAX) nki_fail(r, "sequences are nested more than %d deep", DEPTH_MAX);
    if (x->n != y->n) return false;
    for (size_t i = 0; i < x->n; i++) {
      nki_count_step(r);
      if (!are_equal(r, x->item[i], y->item[i], depth + 1)) return false;
    }
    return true;
  }
  if (a.type != b.type) return false;
  if (a.type == NKI_V_STRING) return strcmp(nki_string_of(a), nki_string_of(b)) == 0;
  if (a.type == NKI_V_BUILTIN) return a.as.builtin == b.as.builtin;
  return a.type < NKI_V_STRING || a.type == NKI_V_PAR_DIM ? a.type == NKI_V_NONE || a.as.i == b.as.i : a.as.o == b.as.o;
}

bool nki_equal(nki_run *r, nki_value a, nki_value b) { return are_equal(r, a, b, 0); }

double nki_number(nki_run *r, nki_value v, const char *what) {
  if (v.type == NKI_V_REAL) return v.as.r;
  if (v.type != NKI_V_INT && v.type != NKI_V_BOOL)
    nki_fail(r, "unsupported value of '%s': %s; expected a number", what, nki_type_name(v));
  return (double)v.as.i;
}

int64_t nki_integer(nki_run *r, nki_value v, const char *what) {
  if (v.type == NKI_V_REAL && v.as.r == (double)(int64_t)v.as.r) return (int64_t)v.as.r;
  if (v.type != NKI_V_INT && v.type != NKI_V_BOOL && v.type != NKI_V_PAR_DIM)
    nki_fail(r, "unsupported value of '%s': %s; expected an int", what, nki_type_name(v));
  return v.as.i;
}

/* For messages and str(). */
void nki_print(nki_value v, char *text, size_t size) {
  char number[32];
  switch (v.type) {
  case NKI_V_INT:
  case NKI_V_PAR_DIM: snprintf(text, size, "%" PRId64, v.as.i); break;
  case NKI_V_BOOL: snprintf(text, size, "%s", v.as.i ? "True" : "False"); break;
  case NKI_V_REAL: snprintf(text, size, "%s", tw_print_real(v.as.r, number)); break;
  case NKI_V_STRING: snprintf(text, size, "%s", nki_string_of(v)); break;
  case NKI_V_DTYPE: snprintf(text, size, "%s", trn_type_name((trn_type)v.as.i)); break;
  case NKI_V_BUILTIN: snprintf(text, size, "%s", v.as.builtin->name); break;
  case NKI_V_TUPLE:
  case NKI_V_LIST: {
    const nki_sequence *s = nki_items(v);
    size_t n = (size_t)snprintf(text, size, "(");
    for (size_t i = 0; i < s->n && n + 1 < size; i++) {
      if (i) n += (size_t)snprintf(text + n, size - n, ", ");
      if (n + 1 >= size) break;
      nki_print(s->item[i], text + n, size - n);
      n += strlen(text + n);
    }
    if (n + 1 < size) snprintf(text + n, size - n, ")");
    break;
  }
  default: snprintf(text, size, "%s", nki_type_name(v));
  }
}
