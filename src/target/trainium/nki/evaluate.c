/* evaluate.c - runs statements and evaluates expressions, as Python does.
 *
 * Evaluation of the module itself never fails a run: names whose value cannot be computed here (a tensor of the
 * host's NumPy) become unavailable, and a kernel fails only if it uses one.
 *
 * A class is a function (NKI_CLASS) that makes objects. Its closure is the frame of its block: what it defines. An object
 * is a frame, too: its attributes, with the class's frame as closure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/strings.h"
#include "target/trainium/nki/value.h"

enum { CALLS_MAX = 100, STEPS_MAX = 20000000, LOCALS_MIN = 16 };

static void run_block(nki_run *, nki_node *const *body, size_t n);

/* ---- frames ---- */

nki_frame *nki_frame_new(nki_run *r, nki_frame *closure) {
  nki_frame *f = nki_new(r, NKI_V_FRAME, sizeof *f);
  f->closure = closure;
  f->slots = LOCALS_MIN;
  f->symbol = tw_new(LOCALS_MIN, sizeof *f->symbol);
  f->value = tw_new(LOCALS_MIN, sizeof *f->value);
  if (!f->symbol || !f->value) nki_out_of_memory(r);
  nki_charge(r, &f->object, LOCALS_MIN * (sizeof *f->symbol + sizeof *f->value));
  return f;
}

static int slot_of(const nki_frame *f, int symbol) {
  int at = (int)((unsigned)symbol * 2654435761u >> 8) & (f->slots - 1);
  while (f->symbol[at] && f->symbol[at] != symbol + 1) at = (at + 1) & (f->slots - 1);
  return at;
}

void nki_set(nki_run *r, nki_frame *f, int symbol, nki_value v) {
  if (2 * (f->n + 1) > f->slots) {
    nki_frame old = *f;
    int *symbols = tw_new((size_t)f->slots * 2, sizeof *symbols);
    nki_value *values = tw_new((size_t)f->slots * 2, sizeof *values);
    if (!symbols || !values) {
      free(symbols);
      free(values);
      nki_out_of_memory(r);
    }
    f->symbol = symbols;
    f->value = values;
    f->slots *= 2;
    for (int i = 0; i < old.slots; i++) {
      if (!old.symbol[i]) continue;
      const int at = slot_of(f, old.symbol[i] - 1);
      f->symbol[at] = old.symbol[i];
      f->value[at] = old.value[i];
    }
    free(old.symbol);
    free(old.value);
  }
  const int at = slot_of(f, symbol);
  if (!f->symbol[at]) f->n++;
  f->symbol[at] = symbol + 1;
  f->value[at] = v;
}

static const nki_value *member(const nki_frame *f, int symbol) {
  const int at = slot_of(f, symbol);
  return f->symbol[at] ? &f->value[at] : NULL;
}

const nki_value *nki_lookup(const nki_frame *f, int symbol) {
  const nki_value *v = NULL;
  for (; f && !v; f = f->closure) v = member(f, symbol);
  return v;
}

/* ---- names and attributes ---- */

static int symbol_of(nki_run *r, const char *text) {
  nki_module *m = (nki_module *)(uintptr_t)r->module; /* the module's table of symbols grows */
  const int symbol = nki_symbol(&m->symbols, &m->arena, text, strlen(text));
  if (symbol < 0) nki_out_of_memory(r);
  return symbol;
}

/* A directive's node has a number in another table of symbols. */
static int symbol_in(nki_run *r, const nki_node *n) { return r->in_directive ? symbol_of(r, n->text) : n->symbol; }

static nki_value name(nki_run *r, const nki_node *n) {
  const nki_value *known = nki_lookup(r->frame, symbol_in(r, n));
  if (known && known->type == NKI_V_UNAVAILABLE)
    nki_fail(r, "'%s' has no value here (%s)", n->text, ((const nki_string *)known->as.o)->text);
  if (known) return *known;
  const nki_value v = nki_python_name(r, n->text);
  if (v.type != NKI_V_MISSING) return v;
  if (r->in_directive) return nki_operand_named(r, n->text);
  nki_fail(r, "unknown name '%s'", n->text);
}

nki_value nki_sizes_of(nki_run *r, const nki_view *v) {
  nki_value size[TRN_VIEW_DIMS];
  for (int d = 0; d < v->n; d++) size[d] = nki_int(v->size[d]);
  return nki_sequence_of(r, NKI_V_TUPLE, (size_t)v->n, size);
}

static nki_value view_attribute(nki_run *r, nki_value self, const nki_node *n) {
  const nki_view *v = nki_view_of(self);
  if (strcmp(n->text, "shape") == 0) return nki_sizes_of(r, v);
  if (strcmp(n->text, "dtype") == 0) return (nki_value){.type = NKI_V_DTYPE, .as.i = v->type};
  if (strcmp(n->text, "ndim") == 0) return nki_int(v->n);
  if (strcmp(n->text, "itemsize") == 0) return nki_int(trn_type_bytes(v->type));
  if (strcmp(n->text, "buffer") == 0) return (nki_value){.type = NKI_V_BUFFER, .as.i = v->tensor->memory};
  return (nki_value){.type = NKI_V_MISSING};
}

/* nl.mgrid[...].p, .x, .y, .z: the index tensors by position. */
static nki_value grid_attribute(nki_value self, const char *text) {
  static const char names[] = "pxyzw";
  const char *at = strlen(text) == 1 ? strchr(names, *text) : NULL;
  if (!at || (size_t)(at - names) >= nki_items(self)->n) return (nki_value){.type = NKI_V_MISSING};
  return nki_items(self)->item[at - names];
}

static bool is_class(nki_value v) {
  return v.type == NKI_V_FUNCTION && ((nki_function *)v.as.o)->node->kind == NKI_CLASS;
}

static nki_value method_of(nki_run *r, nki_value self, nki_function *f, const nki_builtin *builtin) {
  nki_method *m = nki_new(r, NKI_V_METHOD, sizeof *m);
  m->self = self;
  m->function = f;
  m->builtin = builtin;
  return nki_of(m);
}

/* What a class defines, asked of the class or of an object: a method is bound to its object, a property evaluated. */
static nki_value bound(nki_run *r, nki_value self, nki_value v) {
  nki_function *f = v.type == NKI_V_FUNCTION && !is_class(v) ? (nki_function *)v.as.o : NULL;
  const char *how = f && f->node->n_other ? f->node->other[0]->text : NULL;
  const bool is_static = how && strcmp(how, "staticmethod") == 0, is_property = how && strcmp(how, "property") == 0;
  if (how && !is_static && !is_property)
    nki_fail(r, "unsupported decorator '%s' of a method; expected staticmethod or property", how);
  if (!f || is_static || self.type != NKI_V_FRAME) return v;
  if (is_property) return nki_call_function(r, f, 1, &self, 0, NULL, NULL);
  return method_of(r, self, f, NULL);
}

static nki_value object_attribute(nki_run *r, nki_value self, const nki_node *n) {
  const bool is_object = self.type == NKI_V_FRAME;
  const nki_frame *f = is_object ? (nki_frame *)self.as.o : ((nki_function *)self.as.o)->closure;
  const nki_value *v = member(f, symbol_in(r, n));
  if (v && is_object) return *v;
  if (is_object) v = member(f->closure, symbol_in(r, n));
  return v ? bound(r, self, *v) : (nki_value){.type = NKI_V_MISSING};
}

static nki_value attribute(nki_run *r, const nki_node *n) {
  const nki_value self = nki_evaluate(r, n->a);
  nki_value v = {.type = NKI_V_MISSING};
  if (self.type == NKI_V_FRAME || is_class(self)) v = object_attribute(r, self, n);
  if (self.type == NKI_V_MODULE) return nki_library_attribute(r, (nki_library)self.as.i, n->text);
  if (self.type == NKI_V_VIEW) v = view_attribute(r, self, n);
  if (self.type == NKI_V_TUPLE) v = grid_attribute(self, n->text);
  if (self.type == NKI_V_DTYPE && strcmp(n->text, "itemsize") == 0) v = nki_int(trn_type_bytes((trn_type)self.as.i));
  if (self.type == NKI_V_DTYPE && strcmp(n->text, "type") == 0) v = self;
  if (self.type == NKI_V_SLICE) {
    const nki_slice *s = (nki_slice *)self.as.o;
    if (strcmp(n->text, "start") == 0) v = s->start;
    if (strcmp(n->text, "stop") == 0) v = s->stop;
    if (strcmp(n->text, "step") == 0) v = s->step;
  }
  if (v.type != NKI_V_MISSING) return v;
  const nki_builtin *builtin = nki_method_find(n->text);
  if (!builtin) nki_fail(r, "%s has no attribute '%s'", nki_type_name(self), n->text);
  return method_of(r, self, NULL, builtin);
}

/* ---- calls ---- */

enum { POSITIONAL_MAX = 64, NAMED_MAX = 48 };

typedef struct given {
  size_t n, n_named;
  nki_value positional[POSITIONAL_MAX], named[NAMED_MAX];
  int symbol[NAMED_MAX];
} given;

static void add_positional(nki_run *r, given *g, nki_value v) {
  if (g->n == POSITIONAL_MAX) nki_fail(r, "the call has more than %d arguments", POSITIONAL_MAX);
  g->positional[g->n++] = v;
}

static void add_named(nki_run *r, given *g, int symbol, nki_value v) {
  if (g->n_named == NAMED_MAX) nki_fail(r, "the call has more than %d named arguments", NAMED_MAX);
  g->symbol[g->n_named] = symbol;
  g->named[g->n_named++] = v;
}

static void collect_arguments(nki_run *r, const nki_node *n, given *g) {
  for (size_t i = 0; i < n->n_items; i++) {
    const nki_node *item = n->item[i];
    if (item->kind == NKI_STAR) {
      const nki_value all = nki_evaluate(r, item->a);
      nki_value v;
      for (size_t k = 0; nki_next(r, all, &k, &v);) add_positional(r, g, v);
    } else if (item->kind == NKI_KEYWORD && item->text) {
      add_named(r, g, symbol_in(r, item), nki_evaluate(r, item->a));
    } else if (item->kind == NKI_KEYWORD) {
      const nki_value all = nki_evaluate(r, item->a);
      if (all.type != NKI_V_DICT) nki_fail(r, "unsupported '**' of %s; expected a dict", nki_type_name(all));
      for (size_t k = 0; k + 1 < nki_items(all)->n; k += 2) {
        if (nki_items(all)->item[k].type != NKI_V_STRING) nki_fail(r, "the names of '**' must be strings");
        add_named(r, g, symbol_of(r, nki_string_of(nki_items(all)->item[k])), nki_items(all)->item[k + 1]);
      }
    } else {
      add_positional(r, g, nki_evaluate(r, item));
    }
  }
}

/* Binds the arguments of a call to the parameters of a function, in its new frame. */
static void bind_parameters(nki_run *r, const nki_function *f, nki_frame *frame, const given *g) {
  const nki_node *n = f->node;
  const char *title = n->text ? n->text : "lambda";
  bool used[NAMED_MAX] = {false};
  size_t next = 0;
  bool only_named = false;
  for (size_t i = 0; i < n->n_items; i++) {
    const nki_node *p = n->item[i];
    only_named |= p->op == '/' || p->op == '*';
    if (p->op == '/') continue;
    if (p->op == '*') {
      const size_t rest = g->n > next ? g->n - next : 0;
      nki_set(r, frame, p->symbol, nki_sequence_of(r, NKI_V_TUPLE, rest, g->positional + next));
      next = g->n;
      continue;
    }
    if (p->op == 'p') {
      const nki_value rest = nki_sequence_of(r, NKI_V_DICT, 0, NULL);
      for (size_t k = 0; k < g->n_named; k++) {
        if (used[k]) continue;
        const char *text = r->module->symbols.text[g->symbol[k]];
        nki_append(r, nki_items(rest), nki_text(r, text, strlen(text)));
        nki_append(r, nki_items(rest), g->named[k]);
        used[k] = true;
      }
      nki_set(r, frame, p->symbol, rest);
      continue;
    }
    nki_value v = {.type = NKI_V_MISSING};
    if (!only_named && next < g->n) v = g->positional[next++];
    for (size_t k = 0; k < g->n_named; k++) {
      if (g->symbol[k] != p->symbol) continue;
      if (v.type != NKI_V_MISSING) nki_fail(r, "%s: argument '%s' is given twice", title, p->text);
      v = g->named[k];
      used[k] = true;
    }
    if (v.type == NKI_V_MISSING && f->fallback) v = f->fallback[i];
    if (v.type == NKI_V_MISSING) nki_fail(r, "%s: argument '%s' is missing", title, p->text);
    nki_set(r, frame, p->symbol, v);
  }
  if (next < g->n) nki_fail(r, "%s takes %zu arguments (%zu were given)", title, next, g->n);
  for (size_t k = 0; k < g->n_named; k++)
    if (!used[k]) nki_fail(r, "%s has no parameter '%s'", title, r->module->symbols.text[g->symbol[k]]);
}

static void add_self(nki_run *r, given *g, nki_value self) {
  add_positional(r, g, self);
  memmove(g->positional + 1, g->positional, (g->n - 1) * sizeof *g->positional);
  g->positional[0] = self;
}

static nki_value call_function(nki_run *r, nki_function *f, given *g);

static nki_value make_object(nki_run *r, const nki_function *class, given *g) {
  nki_frame *object = nki_frame_new(r, class->closure);
  const nki_value *first = member(class->closure, symbol_of(r, "__init__")), *last = first;
  if (!first) {
    bind_parameters(r, class, object, g);
    g->n = g->n_named = 0;
    last = member(class->closure, symbol_of(r, "__post_init__"));
  }
  add_self(r, g, nki_of(object));
  if (last && last->type == NKI_V_FUNCTION) call_function(r, (nki_function *)last->as.o, g);
  return nki_of(object);
}

static nki_value call_function(nki_run *r, nki_function *f, given *g) {
  if (f->node->kind == NKI_CLASS) return make_object(r, f, g);
  if (r->depth >= CALLS_MAX) nki_fail(r, "calls are nested more than %d deep", CALLS_MAX);
  nki_frame *frame = nki_frame_new(r, f->closure);
  const int line = r->line;
  bind_parameters(r, f, frame, g);
  frame->caller = r->frame;
  r->frame = frame;
  r->depth++;
  nki_value out = nki_none();
  if (f->node->kind == NKI_LAMBDA) {
    out = nki_evaluate(r, f->node->a);
  } else {
    run_block(r, f->node->body, f->node->n_body);
    if (r->flow == NKI_RETURN) out = r->returned;
    r->flow = 0;
    r->returned = nki_none();
  }
  r->depth--;
  r->frame = frame->caller;
  r->line = line;
  nki_keep(r, out);
  return out;
}

nki_value nki_call_function(nki_run *r, nki_function *f, size_t n, const nki_value *positional, size_t n_named,
                            const char *const name[], const nki_value *named) {
  given g = {0};
  for (size_t i = 0; i < n; i++) add_positional(r, &g, positional[i]);
  for (size_t i = 0; i < n_named; i++) add_named(r, &g, symbol_of(r, name[i]), named[i]);
  return call_function(r, f, &g);
}

static nki_value call_with(nki_run *r, nki_value callee, given *g, nki_view *into, bool adds, bool *used_into) {
  nki_arguments arguments = {.into = into, .adds = adds};
  if (callee.type == NKI_V_FUNCTION) return call_function(r, (nki_function *)callee.as.o, g);
  const nki_builtin *b = NULL;
  if (callee.type == NKI_V_BUILTIN) b = callee.as.builtin;
  if (callee.type == NKI_V_METHOD) {
    const nki_method *m = (nki_method *)callee.as.o;
    add_self(r, g, m->self);
    if (m->function) return call_function(r, m->function, g);
    b = m->builtin;
  }
  if (callee.type == NKI_V_DTYPE && g->n == 1) { /* np.float32(x), nl.int32(x) */
    const double x = trn_round((trn_type)callee.as.i, nki_number(r, g->positional[0], "value"));
    return trn_type_is_real((trn_type)callee.as.i) ? nki_real(x) : nki_int((int64_t)x);
  }
  if (!b) nki_fail(r, "%s cannot be called", nki_type_name(callee));
  if (!b->call) nki_fail(r, "unsupported call of %s; it is known as an operation only", b->name);
  nki_bind(r, b, g->n, g->positional, g->n_named, g->symbol, g->named, &arguments);
  const nki_value out = b->call(r, b, &arguments);
  *used_into = arguments.used_into;
  nki_keep(r, out);
  return out;
}

nki_value nki_invoke(nki_run *r, nki_value callee, size_t n, const nki_value *positional) {
  given g = {0};
  bool used = false;
  for (size_t i = 0; i < n; i++) add_positional(r, &g, positional[i]);
  return call_with(r, callee, &g, NULL, false, &used);
}

static nki_value call(nki_run *r, const nki_node *n, nki_view *into, bool adds, bool *used_into) {
  given g = {0};
  const nki_value callee = nki_evaluate(r, n->a);
  collect_arguments(r, n, &g);
  r->line = n->line;
  if (callee.type == NKI_V_MODULE)
    nki_fail(r, "'%s' is imported; other files are not read: copy it into this one", n->a->text ? n->a->text : "?");
  return call_with(r, callee, &g, into, adds, used_into);
}

/* ---- expressions ---- */

static void assign(nki_run *, const nki_node *target, nki_value);

void nki_count_step(nki_run *r) {
  const int64_t most = r->request->statements ? r->request->statements : STEPS_MAX;
  if (++r->steps > most) nki_fail(r, "the kernel runs more than %lld statements; does each loop end?", (long long)most);
  if ((r->steps & 1023) == 0 && r->request->stop && tw_is_stopped(r->request->stop)) {
    r->status = tw_fail(r->error, TW_INTERRUPTED, "interrupted");
    longjmp(*r->fail, 1);
  }
}

static void comprehend(nki_run *r, const nki_node *n, size_t loop, nki_sequence *out) {
  if (loop == n->n_items) {
    nki_append(r, out, nki_evaluate(r, n->a));
    return;
  }
  const nki_node *clause = n->item[loop];
  const nki_value all = nki_evaluate(r, clause->b);
  nki_value v;
  for (size_t i = 0; nki_next(r, all, &i, &v);) {
    bool holds = true;
    nki_count_step(r);
    assign(r, clause->a, v);
    for (size_t c = 0; c < clause->n_items && holds; c++) holds = nki_truth(r, nki_evaluate(r, clause->item[c]));
    if (holds) comprehend(r, n, loop + 1, out);
  }
}

/* The variables of a comprehension are local to it. */
static nki_value comprehension(nki_run *r, const nki_node *n) {
  const nki_value out = nki_sequence_of(r, NKI_V_LIST, 0, NULL);
  nki_frame *frame = nki_frame_new(r, r->frame);
  frame->caller = r->frame;
  r->frame = frame;
  comprehend(r, n, 0, nki_items(out));
  r->frame = frame->caller;
  return out;
}

static nki_value function(nki_run *r, const nki_node *n) {
  nki_function *f = nki_new(r, NKI_V_FUNCTION, sizeof *f);
  f->node = n;
  f->closure = r->frame;
  f->fallback = tw_new(n->n_items ? n->n_items : 1, sizeof *f->fallback);
  if (!f->fallback) nki_out_of_memory(r);
  for (size_t i = 0; i < n->n_items; i++)
    if (n->item[i]->a) f->fallback[i] = nki_evaluate(r, n->item[i]->a);
  return nki_of(f);
}

/* The values of an Enum become objects with a name and a value. */
static void make_members(nki_run *r, nki_frame *frame) {
  for (int i = 0; i < frame->slots; i++) {
    if (!frame->symbol[i] || frame->value[i].type == NKI_V_FUNCTION) continue;
    const char *name = r->module->symbols.text[frame->symbol[i] - 1];
    nki_frame *one = nki_frame_new(r, frame);
    nki_set(r, one, symbol_of(r, "name"), nki_text(r, name, strlen(name)));
    nki_set(r, one, symbol_of(r, "value"), frame->value[i]);
    frame->value[i] = nki_of(one);
  }
}

static nki_value class(nki_run *r, const nki_node *n) {
  nki_frame *frame = nki_frame_new(r, r->frame);
  bool is_enum = false;
  for (size_t i = 0; n->c && i < n->c->n_items; i++) {
    const char *base = n->c->item[i]->text ? n->c->item[i]->text : "expression";
    is_enum |= strcmp(base, "Enum") == 0;
    if (!is_enum && strcmp(base, "object") && strcmp(base, "NamedTuple") && strcmp(base, "NKIObject"))
      nki_fail(r, "unsupported base '%s' of class '%s'; expected none, NamedTuple or Enum", base, n->text);
  }
  frame->caller = r->frame;
  r->frame = frame;
  run_block(r, n->body, n->n_body);
  if (is_enum) make_members(r, frame);
  const nki_value out = function(r, n);
  r->frame = frame->caller;
  return out;
}

static nki_value items(nki_run *r, const nki_node *n, nki_type type) {
  const nki_value out = nki_sequence_of(r, type, 0, NULL);
  for (size_t i = 0; i < n->n_items; i++) {
    if (n->item[i]->kind != NKI_STAR) {
      nki_append(r, nki_items(out), nki_evaluate(r, n->item[i]));
      continue;
    }
    const nki_value all = nki_evaluate(r, n->item[i]->a);
    nki_value v;
    for (size_t k = 0; nki_next(r, all, &k, &v);) nki_append(r, nki_items(out), v);
  }
  return out;
}

static nki_value format(nki_run *r, const nki_node *n) {
  char text[1000];
  size_t length = 0;
  for (size_t i = 0; i < n->n_items && length + 1 < sizeof text; i++) {
    nki_print(nki_evaluate(r, n->item[i]), text + length, sizeof text - length);
    length += strlen(text + length);
  }
  return nki_text(r, text, length);
}

static nki_value slice(nki_run *r, const nki_node *n) {
  nki_slice *s = nki_new(r, NKI_V_SLICE, sizeof *s);
  s->start = n->a ? nki_evaluate(r, n->a) : nki_none();
  s->stop = n->b ? nki_evaluate(r, n->b) : nki_none();
  s->step = n->c ? nki_evaluate(r, n->c) : nki_none();
  return nki_of(s);
}

static nki_value comparison(nki_run *r, const nki_node *n) {
  nki_value left = nki_evaluate(r, n->item[0]), out = nki_bool(true);
  for (size_t i = 1; i < n->n_items; i++) {
    const nki_value right = nki_evaluate(r, n->item[i]);
    out = nki_compare(r, n->ops[i - 1], left, right);
    if (n->n_items > 2 && !nki_truth(r, out)) return out;
    left = right;
  }
  return out;
}

/* `into` is where the result may be written directly; `used` reports whether it was. */
static nki_value evaluate_into(nki_run *r, const nki_node *n, nki_view *into, bool adds, bool *used) {
  r->line = n->line;
  if (n->kind == NKI_CALL) return call(r, n, into, adds, used);
  if (n->kind == NKI_BINARY) {
    nki_arguments arguments = {.into = into};
    const nki_value a = nki_evaluate(r, n->a), b = nki_evaluate(r, n->b);
    r->line = n->line;
    const nki_value out = nki_binary(r, n->op, a, b, &arguments);
    *used = arguments.used_into;
    return out;
  }
  return nki_evaluate(r, n);
}

nki_value nki_evaluate(nki_run *r, const nki_node *n) {
  bool used = false;
  switch (n->kind) {
  case NKI_NAME: r->line = n->line; return name(r, n);
  case NKI_INTEGER: return nki_int(n->integer);
  case NKI_NUMBER: return nki_real(n->real);
  case NKI_STRING: return nki_text(r, n->text, n->length);
  case NKI_FORMAT: return format(r, n);
  case NKI_NONE: return nki_none();
  case NKI_TRUE: return nki_bool(true);
  case NKI_FALSE: return nki_bool(false);
  case NKI_ELLIPSIS: return (nki_value){.type = NKI_V_ELLIPSIS};
  case NKI_TUPLE: return items(r, n, NKI_V_TUPLE);
  case NKI_LIST: return items(r, n, NKI_V_LIST);
  case NKI_DICT: return items(r, n, NKI_V_DICT);
  case NKI_COMPREHENSION: return comprehension(r, n);
  case NKI_ATTRIBUTE: r->line = n->line; return attribute(r, n);
  case NKI_INDEX: {
    const nki_value of = nki_evaluate(r, n->a), index = nki_evaluate(r, n->b);
    r->line = n->line;
    return nki_subscript(r, of, index);
  }
  case NKI_SLICE: return slice(r, n);
  case NKI_CALL:
  case NKI_BINARY: return evaluate_into(r, n, NULL, false, &used);
  case NKI_UNARY: {
    const nki_value v = nki_evaluate(r, n->a);
    r->line = n->line;
    return nki_unary(r, n->op, v);
  }
  case NKI_COMPARE: return comparison(r, n);
  case NKI_AND:
  case NKI_OR: {
    const nki_value a = nki_evaluate(r, n->a);
    return nki_truth(r, a) == (n->kind == NKI_OR) ? a : nki_evaluate(r, n->b);
  }
  case NKI_NOT: return nki_bool(!nki_truth(r, nki_evaluate(r, n->a)));
  case NKI_CHOICE: return nki_evaluate(r, nki_truth(r, nki_evaluate(r, n->a)) ? n->b : n->c);
  case NKI_NAMED: {
    const nki_value v = nki_evaluate(r, n->a);
    nki_set(r, r->frame, n->symbol, v);
    return v;
  }
  case NKI_LAMBDA: return function(r, n);
  case NKI_UNSUPPORTED_VALUE: r->line = n->line; nki_fail(r, "unsupported %s", n->text);
  default: nki_fail(r, "unsupported expression");
  }
}

/* ---- statements ---- */

static void assign_items(nki_run *r, const nki_node *target, nki_value v) {
  size_t n = 0, star = target->n_items;
  while (n <= 100000 && nki_item(r, v, n).type != NKI_V_MISSING) n++;
  for (size_t i = 0; i < target->n_items; i++)
    if (target->item[i]->kind == NKI_STAR) star = i;
  const bool has_star = star < target->n_items;
  if (has_star ? n + 1 < target->n_items : n != target->n_items) {
    char text[200];
    nki_print(v, text, sizeof text);
    nki_fail(r,
             "%zu values for %zu names: %s; if this is the shape of an operand, a line '#: parameter = "
             "OPERAND.reshape(...)' gives it another",
             n, target->n_items, text);
  }
  for (size_t i = 0, at = 0; i < target->n_items; i++) {
    if (i != star) {
      assign(r, target->item[i], nki_item(r, v, at++));
      continue;
    }
    const nki_value rest = nki_sequence_of(r, NKI_V_LIST, 0, NULL);
    for (size_t k = 0; k < n + 1 - target->n_items; k++) nki_append(r, nki_items(rest), nki_item(r, v, at++));
    assign(r, target->item[i]->a, rest);
  }
}

static void set_item(nki_run *r, nki_value of, nki_value index, nki_value v) {
  if (of.type == NKI_V_DICT) {
    nki_sequence *d = nki_items(of);
    for (size_t i = 0; i + 1 < d->n; i += 2) {
      if (!nki_equal(r, d->item[i], index)) continue;
      d->item[i + 1] = v;
      return;
    }
    nki_append(r, d, index);
    nki_append(r, d, v);
  } else if (of.type == NKI_V_LIST) {
    nki_sequence *s = nki_items(of);
    int64_t i = nki_integer(r, index, "index");
    if (i < 0) i += (int64_t)s->n;
    if (i < 0 || i >= (int64_t)s->n) nki_fail(r, "index %lld of a list of %zu", (long long)i, s->n);
    s->item[i] = v;
  } else {
    nki_fail(r, "unsupported assignment to a part of %s", nki_type_name(of));
  }
}

static void assign(nki_run *r, const nki_node *target, nki_value v) {
  r->line = target->line;
  if (target->kind == NKI_NAME) {
    nki_set(r, r->frame, target->symbol, v);
  } else if (target->kind == NKI_TUPLE || target->kind == NKI_LIST) {
    assign_items(r, target, v);
  } else if (target->kind == NKI_INDEX) {
    const nki_value of = nki_evaluate(r, target->a), index = nki_evaluate(r, target->b);
    if (of.type == NKI_V_VIEW)
      nki_store(r, nki_view_index(r, nki_view_of(of), index), v);
    else
      set_item(r, of, index, v);
  } else {
    const nki_value of = nki_evaluate(r, target->a);
    if (of.type != NKI_V_FRAME) nki_fail(r, "unsupported assignment to an attribute of %s", nki_type_name(of));
    nki_set(r, (nki_frame *)of.as.o, target->symbol, v);
  }
}

/* `tensor[...] = value`: the instruction that computes the value may write it there directly. */
static void assignment(nki_run *r, const nki_node *n) {
  const nki_node *target = n->item[0];
  bool used = false;
  if (n->n_items == 1 && target->kind == NKI_INDEX) {
    const nki_value of = nki_evaluate(r, target->a);
    if (of.type == NKI_V_VIEW) {
      nki_view *into = nki_view_index(r, nki_view_of(of), nki_evaluate(r, target->b));
      const nki_value v = evaluate_into(r, n->a, into, false, &used);
      r->line = n->line;
      if (!used) nki_store(r, into, v);
      return;
    }
  }
  const nki_value v = nki_evaluate(r, n->a);
  for (size_t i = 0; i < n->n_items; i++) assign(r, n->item[i], v);
}

/* `x += y`: a tensor is changed in place; a multiplication accumulates in PSUM. */
static void augment(nki_run *r, const nki_node *n) {
  const nki_value old = nki_evaluate(r, n->a);
  bool used = false;
  if (old.type != NKI_V_VIEW) {
    const nki_value v = nki_evaluate(r, n->b);
    if (old.type == NKI_V_LIST && n->op == '+' && nki_is_sequence(v)) {
      for (size_t i = 0, count = nki_items(v)->n; i < count; i++) nki_append(r, nki_items(old), nki_items(v)->item[i]);
      return;
    }
    r->line = n->line;
    assign(r, n->a, nki_binary(r, n->op, old, v, NULL));
    return;
  }
  nki_view *view = nki_view_of(old);
  const bool adds = n->op == '+' && view->tensor->memory == TRN_PSUM;
  const nki_value v = adds ? evaluate_into(r, n->b, view, true, &used) : nki_evaluate(r, n->b);
  r->line = n->line;
  if (used || (adds && v.type == NKI_V_VIEW && nki_add_product(r, view, nki_view_of(v)))) return;
  nki_arguments arguments = {.into = view};
  nki_binary(r, n->op, old, v, &arguments);
}

static void loop(nki_run *r, const nki_node *n) {
  const nki_value all = n->kind == NKI_FOR ? nki_evaluate(r, n->b) : nki_none();
  const size_t kept = r->n_temporaries;
  const bool is_parallel = all.type == NKI_V_RANGE && ((nki_range *)all.as.o)->is_parallel;
  const int outer = r->scope, number = ++r->loops;
  for (size_t i = 0;; i++) {
    r->n_temporaries = kept;
    nki_count_step(r);
    if (n->kind == NKI_FOR) {
      const nki_value v = nki_item(r, all, i);
      if (v.type == NKI_V_MISSING) break;
      if (is_parallel) r->scope = trn_program_add_scope(r->program, &(trn_scope){outer, number, (int)i, n->line});
      if (r->scope < 0) nki_out_of_memory(r);
      assign(r, n->a, v);
    } else if (!nki_truth(r, nki_evaluate(r, n->a))) {
      break;
    }
    run_block(r, n->body, n->n_body);
    if (r->flow == NKI_CONTINUE) r->flow = 0;
    if (r->flow) break;
  }
  r->scope = outer;
  if (r->flow == NKI_BREAK)
    r->flow = 0;
  else if (!r->flow)
    run_block(r, n->other, n->n_other);
}

static void check_assertion(nki_run *r, const nki_node *n) {
  char text[400] = "";
  if (nki_truth(r, nki_evaluate(r, n->a))) return;
  if (n->b) nki_print(nki_evaluate(r, n->b), text, sizeof text);
  r->line = n->line;
  const char *condition = n->text; /* after lines that only open parentheses */
  while (condition[strspn(condition, "( ")] == '\n') condition = strchr(condition, '\n') + 1;
  condition += strspn(condition, " ");
  nki_fail(r, "the kernel's assertion '%.*s' fails%s%s", (int)strcspn(condition, "\n"), condition, *text ? ": " : "",
           text);
}

static bool begins_with_module(const char *path, const char *module) {
  const size_t n = strlen(module);
  return strncmp(path, module, n) == 0 && (path[n] == '.' || !path[n]);
}

static void import(nki_run *r, const nki_node *n) {
  for (size_t i = 0; i < n->n_items; i++) {
    const nki_node *alias = n->item[i];
    char path[300];
    snprintf(path, sizeof path, "%s%s%s", n->kind == NKI_FROM ? n->text : "", n->kind == NKI_FROM ? "." : "",
             alias->text);
    /* `import a.b` binds a; `import a.b as c` binds a.b */
    char top[200];
    snprintf(top, sizeof top, "%.*s", (int)strcspn(alias->text, "."), alias->text);
    const bool whole = n->kind == NKI_FROM || alias->b;
    nki_value v = {.type = NKI_V_MODULE, .as.i = nki_library_of(whole ? path : top)};
    if (begins_with_module(path, "nki")) r->is_newer = r->imports_newer = true;
    if (begins_with_module(path, "neuronxcc")) r->imports_older = true;
    if (n->kind == NKI_FROM && v.as.i == NKI_LIB_OTHER && nki_library_of(n->text) != NKI_LIB_OTHER)
      v = nki_library_attribute(r, nki_library_of(n->text), alias->text);
    nki_set(r, r->frame, alias->b ? alias->b->symbol : symbol_of(r, n->kind == NKI_FROM ? alias->text : top), v);
  }
  if (n->n_items || n->kind != NKI_FROM || nki_library_of(n->text) == NKI_LIB_OTHER) return;
  r->stars |= 1u << nki_library_of(n->text); /* names that are unknown elsewhere are looked up in this library */
}

/* nl.no_reorder holds for the functions that its block calls, too. */
static void with(nki_run *r, const nki_node *n) {
  const int outer = r->block;
  for (size_t i = 0; i < n->n_items; i++) {
    const nki_value v = nki_evaluate(r, n->item[i]);
    if (v.type != NKI_V_BUILTIN || v.as.builtin != &nki_no_reorder)
      nki_fail(r, "unsupported 'with' of %s; expected nl.no_reorder()", nki_type_name(v));
    if (!r->block) r->block = ++r->blocks;
  }
  run_block(r, n->body, n->n_body);
  r->block = outer;
}

static void run_statement(nki_run *r, const nki_node *n) {
  r->line = n->line;
  switch (n->kind) {
  case NKI_EXPRESSION: nki_evaluate(r, n->a); break;
  case NKI_ASSIGN: assignment(r, n); break;
  case NKI_AUGMENT: augment(r, n); break;
  case NKI_IF:
    if (nki_truth(r, nki_evaluate(r, n->a)))
      run_block(r, n->body, n->n_body);
    else
      run_block(r, n->other, n->n_other);
    break;
  case NKI_FOR:
  case NKI_WHILE: loop(r, n); break;
  case NKI_DEF: nki_set(r, r->frame, n->symbol, function(r, n)); break;
  case NKI_CLASS: nki_set(r, r->frame, n->symbol, class(r, n)); break;
  case NKI_RETURN:
    r->returned = n->a ? nki_evaluate(r, n->a) : nki_none();
    r->flow = NKI_RETURN;
    break;
  case NKI_ASSERT: check_assertion(r, n); break;
  case NKI_PASS: break;
  case NKI_BREAK:
  case NKI_CONTINUE: r->flow = (int)n->kind; break;
  case NKI_IMPORT:
  case NKI_FROM: import(r, n); break;
  case NKI_WITH: with(r, n); break;
  case NKI_RAISE: {
    char text[300] = "";
    if (n->a && n->a->kind == NKI_CALL && n->a->n_items) nki_print(nki_evaluate(r, n->a->item[0]), text, sizeof text);
    r->line = n->line;
    nki_fail(r, "the kernel raises an error%s%s", *text ? ": " : "", text);
  }
  case NKI_UNSUPPORTED: nki_fail(r, "unsupported statement '%s'", n->text);
  default: nki_fail(r, "unsupported statement");
  }
}

static void run_block(nki_run *r, nki_node *const *body, size_t n) {
  for (size_t i = 0; i < n && !r->flow; i++) {
    const size_t kept = r->n_temporaries;
    nki_count_step(r);
    run_statement(r, body[i]);
    r->n_temporaries = kept;
    if (r->bytes > r->collect_at) nki_collect(r);
  }
}

/* ---- the module ---- */

/* Marks the names that a statement would have set as unavailable, for this reason. */
static void make_unavailable(nki_run *r, const nki_node *target, nki_value why) {
  if (target->kind == NKI_NAME) nki_set(r, r->globals, target->symbol, why);
  for (size_t i = 0; (target->kind == NKI_TUPLE || target->kind == NKI_LIST) && i < target->n_items; i++)
    make_unavailable(r, target->item[i], why);
}

void nki_run_module(nki_run *r) {
  jmp_buf *outer = r->fail;
  tw_error *error = r->error;
  for (volatile size_t i = 0; i < r->module->n_body; i++) {
    const nki_node *n = r->module->body[i];
    tw_error why = {0};
    jmp_buf here;
    r->fail = &here;
    r->error = &why;
    if (setjmp(here) == 0) {
      run_statement(r, n);
    } else {
      r->frame = r->globals;
      r->depth = r->scope = r->block = 0;
      r->fail = outer;
      nki_value v = nki_text(r, why.text, strlen(why.text));
      v.as.o->type = v.type = NKI_V_UNAVAILABLE;
      if (n->kind == NKI_DEF || n->kind == NKI_CLASS) nki_set(r, r->globals, n->symbol, v);
      if (n->kind == NKI_ASSIGN)
        for (size_t k = 0; k < n->n_items; k++) make_unavailable(r, n->item[k], v);
    }
    r->flow = 0;
    r->n_temporaries = 0;
    r->status = TW_OK;
    r->fail = outer;
    r->error = error;
    if (r->program->n_instructions) /* module-level code must not compute on the machine */
      r->program->n_instructions = r->program->n_tensors = 0;
  }
  if (r->imports_newer && r->imports_older)
    nki_fail(r, "the file imports two dialects of NKI, nki and neuronxcc.nki; import one");
}
