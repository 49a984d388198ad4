/* launch.c - see launch.h. One function for each word of a header. */
#include "launch/launch.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

static const char PREFIX[] = "//:";
enum { LINE_MAX = 1024 };

typedef struct header {
  const tw_problem *problem;
  size_t n_operands;
  tw_operand operand[TW_OPERANDS_MAX];
  tw_scope *scope;
  tw_launch *out;
  tw_launch_kernel *now; /* the kernel that the lines describe */
  bool named[TW_LAUNCH_KERNELS], has_grid[TW_LAUNCH_KERNELS], has_block[TW_LAUNCH_KERNELS];
  bool has_arguments[TW_LAUNCH_KERNELS], has_main;
} header;

static size_t number_of(const header *h) { return (size_t)(h->now - h->out->kernel); }

/* ---- names ---- */

static void set_type_names(tw_scope *s) {
  for (int t = TW_TYPE_NONE + 1; t < TW_TYPE_COUNT; t++) tw_scope_set(s, tw_type_name((tw_type)t), t);
}

/* Elements from one row to the next. */
static int64_t pitch_of(const tw_operand *o) { return o->stride[o->rank > 1 ? o->rank - 2 : 0]; }

/* lda: the pitch of A, if the op has an operand of that name. */
static int64_t pitch_of_key(const char *key, const tw_operand *o, size_t n) {
  if (strncmp(key, "ld", 2) != 0 || !key[2] || key[3]) return 0;
  for (size_t i = 0; i < n; i++)
    if (o[i].name[0] == toupper((unsigned char)key[2]) && !o[i].name[1]) return pitch_of(&o[i]);
  return 0;
}

static void set_operand(tw_scope *s, const tw_operand *o) {
  const struct {
    const char *of;
    int64_t value;
  } known[] = {{"bytes", (int64_t)o->bytes},
               {"pitch", pitch_of(o)},
               {"bits", tw_type_bits(o->type)},
               {"columns", o->dims[o->rank - 1]}};
  char name[TW_SCOPE_NAME];
  int64_t rows = 1;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    snprintf(name, sizeof name, "%.20s.%s", o->name, known[i].of);
    tw_scope_set(s, name, known[i].value);
  }
  for (int d = 0; d < o->rank; d++) {
    snprintf(name, sizeof name, "%.20s.dim%d", o->name, d);
    tw_scope_set(s, name, o->dims[d]);
    snprintf(name, sizeof name, "%.20s.stride%d", o->name, d);
    tw_scope_set(s, name, o->stride[d]);
    if (d < o->rank - 1) rows *= o->dims[d];
  }
  snprintf(name, sizeof name, "%.20s.rows", o->name);
  tw_scope_set(s, name, rows);
}

void tw_launch_scope(const tw_problem *p, tw_scope *s) {
  tw_operand operand[TW_OPERANDS_MAX];
  const size_t n = p->op->operands(p, operand);
  set_type_names(s);
  for (size_t i = 0; i < p->op->n_keys; i++) {
    const tw_key *k = &p->op->keys[i];
    if (k->kind == TW_KEY_REAL) continue;
    const int64_t pitch = p->value[i].i ? 0 : pitch_of_key(k->name, operand, n);
    tw_scope_set(s, k->name, pitch ? pitch : p->value[i].i);
  }
  for (size_t i = 0; i < n; i++) set_operand(s, &operand[i]);
}

/* ---- reading ---- */

static const char *skip(const char *p) { return p + strspn(p, " \t"); }

static size_t word_length(const char *p) {
  size_t n = 0;
  while (isalnum((unsigned char)p[n]) || p[n] == '_') n++;
  return isdigit((unsigned char)*p) ? 0 : n;
}

static bool is_word(const char *p, size_t length, const char *word) {
  return strlen(word) == length && memcmp(p, word, length) == 0;
}

/* Does the line end here (a comma continues it)? *p moves to what follows. */
static tw_status separator(const char **p, bool *more, tw_error *error) {
  *p = skip(*p);
  *more = **p == ',';
  if (*more) *p = skip(*p + 1);
  return *more || !**p ? TW_OK : tw_fail(error, TW_USAGE, "expected a comma or the end of the line at '%.40s'", *p);
}

static tw_status read_name(const char **p, char *out, size_t size, const char *what, tw_error *error) {
  const size_t n = word_length(*p);
  if (!n || n >= size) return tw_fail(error, TW_USAGE, "expected %s at '%.40s'", what, *p);
  snprintf(out, size, "%.*s", (int)n, *p);
  *p = skip(*p + n);
  return TW_OK;
}

/* "1, 2, 3" with at most `most` numbers, each in [least, greatest], up to the closing ')' or the end of the line. */
static tw_status read_list(const char **p, const tw_scope *s, bool closed, int most, int64_t least, int64_t greatest,
                           int64_t *out, int *n, tw_error *error) {
  tw_status status = TW_OK;
  bool more = true;
  for (*n = 0; status == TW_OK && more; ++*n) {
    if (*n == most) return tw_fail(error, TW_USAGE, "expected at most %d numbers", most);
    status = tw_expression(*p, p, s, &out[*n], error);
    if (status != TW_OK) return status;
    if (out[*n] < least || out[*n] > greatest)
      return tw_fail(error, TW_USAGE, "%" PRId64 " is not in %" PRId64 "..%" PRId64, out[*n], least, greatest);
    if (closed && **p == ')') {
      *p = skip(*p + 1);
      more = false;
    } else if (closed && **p != ',') {
      return tw_fail(error, TW_USAGE, "expected ')' at '%.40s'", *p);
    } else {
      status = separator(p, &more, error);
    }
  }
  return status;
}

static tw_status read_bytes(const char **p, const header *h, int64_t *out, tw_error *error) {
  const tw_status status = tw_expression(*p, p, h->scope, out, error);
  if (status == TW_OK && *out < 0) return tw_fail(error, TW_USAGE, "%" PRId64 " bytes must be at least 0", *out);
  return status;
}

/* ---- words of a header ---- */

/* Later lines describe this kernel, and so do lines before the first name. */
static tw_status name_kernel(header *h, const char *p, tw_error *error) {
  tw_launch *o = h->out;
  if (h->named[0]) {
    if (o->n_kernels == TW_LAUNCH_KERNELS) return tw_fail(error, TW_USAGE, "more than %d kernels", TW_LAUNCH_KERNELS);
    h->now = &o->kernel[o->n_kernels++];
    *h->now = (tw_launch_kernel){.cluster = {1, 1, 1}};
  }
  h->named[number_of(h)] = true;
  const tw_status status = read_name(&p, h->now->name, sizeof h->now->name, "the name of a function", error);
  return status != TW_OK || !*p ? status : tw_fail(error, TW_USAGE, "expected one name (found more: '%.40s')", p);
}

static tw_status kernel_word(header *h, const char *p, tw_error *error) {
  if (h->has_main)
    return tw_fail(error, TW_USAGE, "expected one 'kernel' line; further kernels run 'before' or 'after' it");
  h->has_main = true;
  const tw_status status = name_kernel(h, p, error);
  h->out->main = number_of(h);
  return status;
}

static tw_status before_word(header *h, const char *p, tw_error *error) {
  if (h->has_main) return tw_fail(error, TW_USAGE, "'before' lines must precede 'kernel'");
  return name_kernel(h, p, error);
}

static tw_status after_word(header *h, const char *p, tw_error *error) {
  if (!h->has_main) return tw_fail(error, TW_USAGE, "'after' lines must follow 'kernel'");
  return name_kernel(h, p, error);
}

static tw_status let_word(header *h, const char *p, tw_error *error) {
  tw_launch *o = h->out;
  tw_status status = TW_OK;
  for (bool more = true; status == TW_OK && more;) {
    char name[TW_SCOPE_NAME];
    int64_t value;
    if (o->n_lets == TW_LAUNCH_LETS) return tw_fail(error, TW_USAGE, "more than %d lets", TW_LAUNCH_LETS);
    if ((status = read_name(&p, name, sizeof name, "a name", error)) != TW_OK) return status;
    if (*p != '=') return tw_fail(error, TW_USAGE, "expected '=' at '%.40s'", p);
    if (tw_scope_find(h->scope, name, strlen(name), &value))
      return tw_fail(error, TW_USAGE, "'%s' is reserved; choose another name", name);
    p = skip(p + 1);
    if ((status = tw_expression(p, &p, h->scope, &value, error)) != TW_OK) return status;
    if (!tw_scope_set(h->scope, name, value)) return tw_fail(error, TW_USAGE, "too many names");
    snprintf(o->let[o->n_lets].name, sizeof o->let[0].name, "%s", name);
    o->let[o->n_lets++].value = value;
    status = separator(&p, &more, error);
  }
  return status;
}

static tw_status require_word(header *h, const char *p, tw_error *error) {
  int64_t value;
  const tw_status status = tw_expression(p, NULL, h->scope, &value, error);
  if (status != TW_OK || value) return status;
  return tw_fail(error, TW_USAGE, "the problem does not meet this condition of the kernel");
}

static tw_status three(const header *h, const char *p, int64_t out[3], tw_error *error) {
  int n;
  out[0] = out[1] = out[2] = 1;
  return read_list(&p, h->scope, false, 3, 1, INT32_MAX, out, &n, error);
}

static tw_status grid_word(header *h, const char *p, tw_error *error) {
  h->has_grid[number_of(h)] = true;
  return three(h, p, h->now->grid, error);
}

static tw_status block_word(header *h, const char *p, tw_error *error) {
  h->has_block[number_of(h)] = true;
  return three(h, p, h->now->block, error);
}

static tw_status cluster_word(header *h, const char *p, tw_error *error) {
  const tw_status status = three(h, p, h->now->cluster, error);
  h->now->clustered = h->now->cluster[0] * h->now->cluster[1] * h->now->cluster[2] > 1;
  return status;
}

static tw_status overlap_word(header *h, const char *p, tw_error *error) {
  h->now->overlaps = true;
  return !*p ? TW_OK : tw_fail(error, TW_USAGE, "overlap has no arguments (found '%.40s')", p);
}

static tw_status shared_word(header *h, const char *p, tw_error *error) {
  const tw_status status = read_bytes(&p, h, &h->now->shared, error);
  return status != TW_OK || !*p ? status : tw_fail(error, TW_USAGE, "expected one number (found more: '%.40s')", p);
}

static tw_status workspace_word(header *h, const char *p, tw_error *error) {
  const tw_status status = read_bytes(&p, h, &h->out->workspace, error);
  if (status != TW_OK) return status;
  h->out->zeroed = strcmp(p, "zeroed") == 0;
  return h->out->zeroed || !*p ? TW_OK
                               : tw_fail(error, TW_USAGE, "expected 'zeroed' or the end of the line at '%.40s'", p);
}

static tw_status parts_word(header *h, const char *p, tw_error *error) {
  const tw_status status = read_bytes(&p, h, &h->out->parts, error);
  return status != TW_OK || !*p ? status : tw_fail(error, TW_USAGE, "expected one number (found more: '%.40s')", p);
}

static tw_status compile_word(header *h, const char *p, tw_error *error) {
  tw_launch *o = h->out;
  tw_status status = TW_OK;
  for (bool more = true; status == TW_OK && more;) {
    if (o->n_options == TW_LAUNCH_OPTIONS)
      return tw_fail(error, TW_USAGE, "expected at most %d options", TW_LAUNCH_OPTIONS);
    tw_launch_option *option = &o->option[o->n_options++];
    option->value = 1;
    status = read_name(&p, option->name, sizeof option->name, "the name of an option", error);
    if (status == TW_OK && *p == '=') status = tw_expression(skip(p + 1), &p, h->scope, &option->value, error);
    if (status == TW_OK) status = separator(&p, &more, error);
  }
  return status;
}

static tw_status close_cast(const char **p, tw_error *error) {
  if (**p != ')') return tw_fail(error, TW_USAGE, "expected ')' at '%.40s'", *p);
  *p = skip(*p + 1);
  return TW_OK;
}

static int find_operand(const header *h, const char *name, size_t length) {
  for (size_t i = 0; i < h->n_operands; i++)
    if (is_word(name, length, h->operand[i].name)) return (int)i;
  return -1;
}

static tw_status no_operand(const header *h, const char *name, size_t length, tw_error *error) {
  char all[200] = "";
  for (size_t i = 0; i < h->n_operands; i++)
    snprintf(all + strlen(all), sizeof all - strlen(all), "%s%.20s", i ? ", " : "", h->operand[i].name);
  return tw_fail(error, TW_USAGE, "%s has no operand '%.*s'; it has %s", h->problem->op->name, (int)length, name, all);
}

/* The whole operand in memory order: the dimension with the least stride is the innermost. */
static void map_operand(const tw_operand *o, tw_launch_map *m) {
  int order[TW_RANK_MAX];
  m->type = o->type;
  m->rank = o->rank;
  for (int d = 0; d < o->rank; d++) {
    int at = d;
    const int dim = o->rank - 1 - d;
    for (; at && o->stride[order[at - 1]] > o->stride[dim]; at--) order[at] = order[at - 1];
    order[at] = dim;
  }
  for (int d = 0; d < o->rank; d++) {
    m->dims[d] = o->dims[order[d]];
    if (d) m->strides[d - 1] = o->stride[order[d]] * tw_type_bits(o->type) / 8;
  }
}

/* workspace(bf16, 4096): elements of bf16 from byte 4096 on. */
static tw_status map_workspace(const header *h, tw_launch_map *m, const char **p, tw_error *error) {
  int64_t type = 0;
  if (**p != '(') return tw_fail(error, TW_USAGE, "expected workspace(TYPE, OFFSET) at '%.40s'", *p);
  *p = skip(*p + 1);
  const size_t length = word_length(*p);
  if (!length || !tw_scope_find(h->scope, *p, length, &type) || type <= TW_TYPE_NONE || type >= TW_TYPE_COUNT ||
      !is_word(*p, length, tw_type_name((tw_type)type)))
    return tw_fail(error, TW_USAGE, "expected a type at '%.40s'", *p);
  m->type = (tw_type)type;
  *p = skip(*p + length);
  if (**p != ',') return tw_fail(error, TW_USAGE, "expected ', OFFSET' at '%.40s'", *p);
  *p = skip(*p + 1);
  const tw_status status = read_bytes(p, h, &m->offset, error);
  return status == TW_OK ? close_cast(p, error) : status;
}

/* One property of a map: box(64, 128), swizzle(128), ... */
static tw_status property(header *h, tw_launch_map *m, const char **p, tw_error *error) {
  const char *name = *p;
  const size_t length = word_length(name);
  int n = 0;
  int64_t one = 0;
  tw_status status;
  *p = skip(*p + length);
  if (!length || **p != '(')
    return tw_fail(
        error, TW_USAGE,
        "expected box(...), dims(...), pitch(...), step(...), swizzle(...), l2(...), fill(...) or as(...) at '%.40s'",
        name);
  *p = skip(*p + 1);
#define IS(word) is_word(name, length, word)
  if (IS("as") || IS("fill")) {
    const char *value = *p;
    const size_t value_length = word_length(value);
    const bool tf32 = IS("as") && is_word(value, value_length, "tf32") && m->type == TW_F32;
    const bool nan = IS("fill") && is_word(value, value_length, "nan");
    *p = skip(*p + value_length);
    if (**p != ')' || !(tf32 || nan))
      return tw_fail(error, TW_USAGE,
                     "unknown map attribute '%.40s'; expected as(tf32) (f32 operands only) or fill(nan)", name);
    *p = skip(*p + 1);
    m->tf32 |= tf32;
    m->nan |= nan;
    return TW_OK;
  }
  if (IS("box")) return read_list(p, h->scope, true, TW_MAP_RANK, 1, 256, m->box, &n, error);
  if (IS("dims")) return read_list(p, h->scope, true, TW_MAP_RANK, 1, (int64_t)1 << 32, m->dims, &m->rank, error);
  if (IS("pitch"))
    return read_list(p, h->scope, true, TW_MAP_RANK - 1, 1, ((int64_t)1 << 40) - 1, m->strides, &n, error);
  if (IS("step")) return read_list(p, h->scope, true, TW_MAP_RANK, 1, 8, m->element_strides, &n, error);
  if (IS("swizzle") || IS("l2")) {
    const bool swizzle = IS("swizzle");
    status = read_list(p, h->scope, true, 1, 0, 256, &one, &n, error);
    if (status != TW_OK) return status;
    if (one && one != 64 && one != 128 && one != (swizzle ? 32 : 256))
      return tw_fail(error, TW_USAGE,
                     swizzle ? "expected swizzle(0), (32), (64) or (128)" : "expected l2(0), (64), (128) or (256)");
    *(swizzle ? &m->swizzle : &m->l2) = (int)one;
    return TW_OK;
  }
#undef IS
  return tw_fail(error, TW_USAGE,
                 "unknown map attribute '%.*s'; expected box, dims, pitch, step, swizzle, l2, fill or as", (int)length,
                 name);
}

static tw_status map_word(header *h, const char *p, tw_error *error) {
  tw_launch *o = h->out;
  tw_launch_map m = {0};
  if (o->n_maps == TW_LAUNCH_MAPS) return tw_fail(error, TW_USAGE, "more than %d maps", TW_LAUNCH_MAPS);
  tw_status status = read_name(&p, m.name, sizeof m.name, "the name of the map", error);
  if (status != TW_OK) return status;
  if (*p != '=') return tw_fail(error, TW_USAGE, "expected '=' at '%.40s'", p);
  p = skip(p + 1);
  const size_t length = word_length(p);
  const bool workspace = is_word(p, length, "workspace");
  m.operand = workspace ? TW_LAUNCH_NO_OPERAND : find_operand(h, p, length);
  if (m.operand < 0 && !workspace) return no_operand(h, p, length, error);
  if (find_operand(h, m.name, strlen(m.name)) >= 0)
    return tw_fail(error, TW_USAGE, "'%s' is an operand; choose another name for the map", m.name);
  p = skip(p + length);
  if (workspace)
    status = map_workspace(h, &m, &p, error);
  else
    map_operand(&h->operand[m.operand], &m);
  if (status != TW_OK) return status;
  for (int d = 0; d < TW_MAP_RANK; d++) m.element_strides[d] = 1;
  while (*p)
    if ((status = property(h, &m, &p, error)) != TW_OK) return status;
  if (!m.rank) return tw_fail(error, TW_USAGE, "a map of the workspace requires dims(...) and pitch(...)");
  for (int d = 0; d < m.rank; d++)
    if (!m.box[d]) return tw_fail(error, TW_USAGE, "box(...) requires %d extents, innermost first", m.rank);
  for (int d = 0; d < m.rank - 1; d++)
    if (!m.strides[d])
      return tw_fail(error, TW_USAGE, "pitch(...) requires %d numbers: the bytes between neighbours of each dimension",
                     m.rank - 1);
  if (m.rank < TW_MAP_RANK && m.box[m.rank])
    return tw_fail(error, TW_USAGE, "box(...) has more extents than the %d dimensions of '%s'", m.rank, m.name);
  o->map[o->n_maps++] = m;
  return TW_OK;
}

/* "i64(...)": is it that word with a parenthesis? */
static bool is_cast(const char *p, size_t length, const char *word, const char **inside) {
  const char *open = skip(p + length);
  if (!is_word(p, length, word) || *open != '(') return false;
  *inside = skip(open + 1);
  return true;
}

static tw_status real_value(const header *h, const char **p, double *out, tw_error *error) {
  const char *name = *p;
  const size_t length = word_length(name);
  for (size_t i = 0; length && i < h->problem->op->n_keys; i++) {
    if (!is_word(name, length, h->problem->op->keys[i].name)) continue;
    const bool real = h->problem->op->keys[i].kind == TW_KEY_REAL;
    *out = real ? h->problem->value[i].r : (double)h->problem->value[i].i;
    *p = skip(name + length);
    return TW_OK;
  }
  char *end;
  *out = strtod(name, &end);
  if (end == name) return tw_fail(error, TW_USAGE, "expected a key or a number at '%.40s'", name);
  *p = skip(end);
  return TW_OK;
}

static tw_status argument(const header *h, const char **p, tw_launch_argument *a, tw_error *error) {
  const char *name = *p;
  const size_t length = word_length(name);
  const bool alone = length && (!*skip(name + length) || *skip(name + length) == ',');
  tw_status status;
  *a = (tw_launch_argument){.kind = TW_LAUNCH_I32};
  if (is_cast(name, length, "f32", p) || is_cast(name, length, "f64", p)) {
    a->kind = name[1] == '3' ? TW_LAUNCH_F32 : TW_LAUNCH_F64;
    status = real_value(h, p, &a->real, error);
    return status == TW_OK ? close_cast(p, error) : status;
  }
  if (is_cast(name, length, "i32", p) || is_cast(name, length, "i64", p)) {
    if (name[1] == '6') a->kind = TW_LAUNCH_I64;
    status = tw_expression(*p, p, h->scope, &a->integer, error);
    if (status == TW_OK) status = close_cast(p, error);
  } else if (is_cast(name, length, "workspace", p)) {
    a->kind = TW_LAUNCH_WORKSPACE;
    status = read_bytes(p, h, &a->integer, error);
    return status == TW_OK ? close_cast(p, error) : status;
  } else if (alone && (a->index = find_operand(h, name, length)) >= 0) {
    a->kind = TW_LAUNCH_OPERAND;
    *p = skip(name + length);
    return TW_OK;
  } else if (alone && is_word(name, length, "workspace")) {
    a->kind = TW_LAUNCH_WORKSPACE;
    *p = skip(name + length);
    return TW_OK;
  } else {
    for (size_t i = 0; alone && i < h->out->n_maps; i++) {
      if (!is_word(name, length, h->out->map[i].name)) continue;
      *a = (tw_launch_argument){.kind = TW_LAUNCH_MAP, .index = (int)i};
      *p = skip(name + length);
      return TW_OK;
    }
    a->index = 0;
    status = tw_expression(*p, p, h->scope, &a->integer, error);
  }
  if (status == TW_OK && a->kind == TW_LAUNCH_I32 && (a->integer < INT32_MIN || a->integer > INT32_MAX))
    return tw_fail(error, TW_USAGE, "%" PRId64 " does not fit an int; write i64(...)", a->integer);
  return status;
}

static tw_status args_word(header *h, const char *p, tw_error *error) {
  tw_launch_kernel *o = h->now;
  tw_status status = TW_OK;
  h->has_arguments[number_of(h)] = true;
  for (bool more = *p != '\0'; status == TW_OK && more;) {
    if (o->n_arguments == TW_LAUNCH_ARGUMENTS)
      return tw_fail(error, TW_USAGE, "more than %d arguments", TW_LAUNCH_ARGUMENTS);
    status = argument(h, &p, &o->argument[o->n_arguments], error);
    if (status == TW_OK) status = separator(&p, &more, error);
    o->n_arguments++;
  }
  return status;
}

static const struct {
  const char *word;
  tw_status (*read)(header *, const char *, tw_error *);
} words[] = {
    {"kernel", kernel_word},   {"before", before_word},       {"after", after_word},    {"let", let_word},
    {"require", require_word}, {"grid", grid_word},           {"block", block_word},    {"cluster", cluster_word},
    {"shared", shared_word},   {"workspace", workspace_word}, {"parts", parts_word},    {"map", map_word},
    {"args", args_word},       {"overlap", overlap_word},     {"compile", compile_word}};
enum { WORDS = sizeof words / sizeof *words };

/* ---- the whole header ---- */

static tw_status read_line(header *h, const char *line, tw_error *error) {
  const size_t length = word_length(line);
  for (size_t i = 0; i < WORDS; i++)
    if (is_word(line, length, words[i].word)) return words[i].read(h, skip(line + length), error);
  return tw_fail(error, TW_USAGE,
                 "unknown word '%.*s' of a launch; expected kernel, before, after, let, require, grid, block, cluster, "
                 "overlap, shared, workspace, parts, map, args or compile",
                 length ? (int)length : 20, line);
}

/* Checks that everything named in the workspace is inside it. */
static tw_status check_offset(const tw_launch *o, int64_t offset, tw_error *error) {
  if (offset <= o->workspace) return TW_OK;
  return tw_fail(error, TW_FAILED, "byte %" PRId64 " is outside of the workspace of %" PRId64, offset, o->workspace);
}

static tw_status complete_kernel(header *h, size_t number, tw_error *error) {
  tw_launch_kernel *o = &h->out->kernel[number];
  const char *missing = !h->has_main            ? "kernel NAME"
                        : !h->has_grid[number]  ? "grid X, Y, Z"
                        : !h->has_block[number] ? "block X"
                                                : NULL;
  if (missing)
    return tw_fail(error, TW_FAILED,
                   "the launch of the kernel is unknown: the line '//: %s' is missing; add it to the source", missing);
  for (size_t i = 0; !h->has_arguments[number] && i < h->n_operands; i++)
    o->argument[o->n_arguments++] = (tw_launch_argument){.kind = TW_LAUNCH_OPERAND, .index = (int)i};
  for (size_t i = 0; i < o->n_arguments; i++)
    if (o->argument[i].kind == TW_LAUNCH_WORKSPACE) {
      const tw_status status = check_offset(h->out, o->argument[i].integer, error);
      if (status != TW_OK) return status;
    }
  for (int d = 0; d < 3; d++)
    if (o->grid[d] % o->cluster[d])
      return tw_fail(error, TW_FAILED, "a grid of %" PRId64 " blocks is not a multiple of clusters of %" PRId64,
                     o->grid[d], o->cluster[d]);
  return TW_OK;
}

static tw_status complete(header *h, tw_error *error) {
  tw_status status = TW_OK;
  for (size_t i = 0; status == TW_OK && i < h->out->n_kernels; i++) status = complete_kernel(h, i, error);
  for (size_t i = 0; status == TW_OK && i < h->out->n_maps; i++)
    if (h->out->map[i].operand == TW_LAUNCH_NO_OPERAND) status = check_offset(h->out, h->out->map[i].offset, error);
  return status;
}

tw_status tw_launch_read(const char *source, size_t length, const tw_problem *p, tw_scope *scope, tw_launch *out,
                         tw_error *error) {
  header h = {.problem = p, .scope = scope, .out = out};
  int number = 0;
  *out = (tw_launch){.n_kernels = 1, .kernel = {{.cluster = {1, 1, 1}}}};
  h.now = out->kernel;
  h.n_operands = p->op->operands(p, h.operand);
  for (const char *at = source, *end = source + length; at < end;) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    const size_t n = (size_t)((newline ? newline : end) - at);
    char line[LINE_MAX];
    tw_error why = {0};
    number++;
    if (n >= sizeof PREFIX - 1 && memcmp(at, PREFIX, sizeof PREFIX - 1) == 0) {
      if (n >= sizeof line)
        return tw_fail(error, TW_FAILED, "line %d: a line of a launch has at most %d characters", number, LINE_MAX - 1);
      snprintf(line, sizeof line, "%.*s", (int)(n - (sizeof PREFIX - 1)), at + sizeof PREFIX - 1);
      for (size_t i = strlen(line); i && strchr(" \t\r", line[i - 1]);) line[--i] = '\0';
      if (read_line(&h, skip(line), &why) != TW_OK)
        return tw_fail(error, TW_FAILED, "line %d, '//: %.300s': %.1200s", number, skip(line), why.text);
    }
    at += n + 1;
  }
  return complete(&h, error);
}
