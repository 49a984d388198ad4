/* config.c - reads the machine from its text. Tables of the keys of each section say where each value goes and what
 * it may be. */
#include "target/xdna2/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

typedef enum kind { TEXT, TYPE, TYPE_OR_NONE, INTEGER, REAL, BOOLEAN, PRODUCT, LIST, WAY } kind;

typedef struct key {
  const char *name;
  size_t offset;
  double low, high; /* of each number; of TEXT: high is the size of the field */
  kind kind;
  int count; /* numbers of a PRODUCT (8x8x8) and of a LIST (2 2 1) */
} key;

#define MACHINE(field, kind, low, high)                                                                                \
  { #field, offsetof(xd_config, field), low, high, kind, 1 }
static const key machine_keys[] = {
    {"name", offsetof(xd_config, name), 0, sizeof((xd_config *)0)->name, TEXT, 1},
    {"summary", offsetof(xd_config, summary), 0, sizeof((xd_config *)0)->summary, TEXT, 1},
    MACHINE(rows, INTEGER, 1, 64),
    MACHINE(columns, INTEGER, 1, 64),
    MACHINE(clock_mhz, INTEGER, 1, 10000),
    MACHINE(l1_bytes, INTEGER, 1024, 1 << 24),
    MACHINE(stack_bytes, INTEGER, 0, 1 << 24),
    MACHINE(l2_bytes, INTEGER, 1024, 1 << 28),
    MACHINE(stream_bytes, INTEGER, 1, 1024),
    MACHINE(ddr_mbs, INTEGER, 1, 10000000),
    MACHINE(bfp16_paper_bytes, REAL, 1, 2),
    MACHINE(load_slots, INTEGER, 1, 8),
    MACHINE(vmac_to_store, INTEGER, 0, 100),
    MACHINE(store_latency, INTEGER, 0, 100),
    MACHINE(paper_switch_cycles, INTEGER, 0, 100000),
    MACHINE(switch_cycles, REAL, 0, 100000),
    MACHINE(step_cycles, REAL, 0, 100000),
    MACHINE(read_mbs, INTEGER, 1, 10000000),
    MACHINE(launch_us, REAL, 0, 1e6),
};
#undef MACHINE

#define ARRAY(field, kind, low, high, count)                                                                           \
  { #field, offsetof(xd_array, field), low, high, kind, count }
static const key array_keys[] = {
    ARRAY(dma_in, LIST, 0, 16, XD_TILE_KINDS),
    ARRAY(dma_out, LIST, 0, 16, XD_TILE_KINDS),
    ARRAY(descriptors, LIST, 1, 256, XD_TILE_KINDS),
    ARRAY(locks, LIST, 1, 256, XD_TILE_KINDS),
    ARRAY(dims, LIST, 1, 4, XD_TILE_KINDS),
    ARRAY(wrap_bits, LIST, 1, 30, XD_TILE_KINDS),
    ARRAY(step_bits, LIST, 1, 30, XD_TILE_KINDS),
    ARRAY(pad_bits, LIST, 1, 16, XD_PADS),
    ARRAY(word_bytes, INTEGER, 1, 64, 1),
    ARRAY(lock_max, INTEGER, 1, 1 << 20, 1),
    ARRAY(iterations, INTEGER, 1, 1 << 20, 1),
    ARRAY(queue, INTEGER, 1, 1024, 1),
    ARRAY(repeats, INTEGER, 1, 1 << 20, 1),
    ARRAY(north, INTEGER, 1, 64, 1),
    ARRAY(south, INTEGER, 1, 64, 1),
    ARRAY(side, INTEGER, 1, 64, 1),
    ARRAY(hop_cycles, INTEGER, 0, 1000, 1),
    ARRAY(lock_cycles, INTEGER, 0, 1000, 1),
    ARRAY(start_cycles, INTEGER, 0, 1000, 1),
    ARRAY(descriptor_cycles, INTEGER, 0, 1000, 1),
    ARRAY(chain_cycles, INTEGER, 0, 1000, 1),
    ARRAY(memory_cycles, INTEGER, 0, 1000, 1),
    ARRAY(shim_task_cycles, LIST, 0, 1000000, 2),
    ARRAY(shim_cold_cycles, LIST, 0, 1000000, 2),
    ARRAY(ddr_mbs, INTEGER, 1, 10000000, 1),
    ARRAY(ddr_read_mbs, INTEGER, 1, 10000000, 1),
    ARRAY(ddr_write_mbs, INTEGER, 1, 10000000, 1),
    ARRAY(ddr_burst_bytes, INTEGER, 1, 65536, 1),
    ARRAY(dispatch_us, REAL, 0, 1e6, 1),
};
#undef ARRAY

#define KERNEL(field, kind, low, high, count)                                                                          \
  { #field, offsetof(xd_kernel, field), low, high, kind, count }
static const key kernel_keys[] = {
    {"name", offsetof(xd_kernel, name), 0, sizeof((xd_kernel *)0)->name, TEXT, 1},
    KERNEL(a, TYPE, 0, 0, 1),
    KERNEL(b, TYPE, 0, 0, 1),
    KERNEL(c, TYPE, 0, 0, 1),
    KERNEL(acc, TYPE, 0, 0, 1),
    KERNEL(vmac, PRODUCT, 1, 256, 3),
    KERNEL(vmac_distance, INTEGER, 1, 64, 1),
    KERNEL(cluster, PRODUCT, 1, 16, 2),
    KERNEL(copies, LIST, 1, 16, 3),
    KERNEL(scratch_a, BOOLEAN, 0, 1, 1),
    KERNEL(scratch_b, TYPE_OR_NONE, 0, 0, 1),
    KERNEL(staging, REAL, 0, 16, 1),
    KERNEL(load, INTEGER, 1, 100, 1),
    KERNEL(acc_latency, INTEGER, 0, 100, 1),
    KERNEL(acc_loads, INTEGER, 0, 64, 1),
    KERNEL(acc_stores, INTEGER, 0, 64, 1),
    KERNEL(cluster_cycles, REAL, 0, 100000, 1),
    KERNEL(vmac_cycles, REAL, 0, 1000, 1),
    KERNEL(way, WAY, 0, 0, 1),
    KERNEL(unroll, INTEGER, 1, 64, 1),
    KERNEL(scheduled, BOOLEAN, 0, 1, 1),
};
#undef KERNEL
enum {
  MACHINE_KEYS = sizeof machine_keys / sizeof *machine_keys,
  ARRAY_KEYS = sizeof array_keys / sizeof *array_keys,
  KERNEL_KEYS = sizeof kernel_keys / sizeof *kernel_keys,
  KEYS_MAX = 32
};
_Static_assert((int)MACHINE_KEYS <= KEYS_MAX && (int)ARRAY_KEYS <= KEYS_MAX && (int)KERNEL_KEYS <= KEYS_MAX,
               "a section has more keys than KEYS_MAX");

/* What is being read: the machine, its array, or one of its kernels. */
typedef struct section {
  const char *what; /* "machine", "array" or "kernel" */
  const key *keys;
  size_t n;
  void *out;
  bool seen[KEYS_MAX];
  bool is_like; /* a kernel above has given what is not seen */
} section;

typedef struct place {
  const char *origin;
  int line;
} place;

static tw_status parse_number(const key *k, const char *text, double *out, place at, tw_error *error) {
  int64_t integer = 0;
  bool is_real = k->kind == REAL;
  if (is_real ? !tw_parse_real(text, out) : !tw_parse_int(text, &integer))
    return tw_fail(error, TW_USAGE, "%s:%d: %s = %s: not %s", at.origin, at.line, k->name, text,
                   is_real ? "a number" : "an integer");
  if (!is_real) *out = (double)integer;
  if (*out < k->low || *out > k->high)
    return tw_fail(error, TW_USAGE, "%s:%d: %s = %s: must be from %g to %g", at.origin, at.line, k->name, text, k->low,
                   k->high);
  return TW_OK;
}

/* "8x8x8" or "2 2 1" into ints. */
static tw_status parse_numbers(const key *k, char *value, int *out, place at, tw_error *error) {
  const char *separator = k->kind == PRODUCT ? "x" : " ";
  char *rest = value;
  for (int i = 0; i < k->count; i++) {
    double number;
    char *word = strtok_r(i ? NULL : value, separator, &rest);
    if (!word)
      return tw_fail(error, TW_USAGE, "%s:%d: %s needs %d numbers, as in %s", at.origin, at.line, k->name, k->count,
                     k->kind == PRODUCT ? "8x8x8" : "2 2 1");
    tw_status status = parse_number(k, word, &number, at, error);
    if (status != TW_OK) return status;
    out[i] = (int)number;
  }
  if (*rest)
    return tw_fail(error, TW_USAGE, "%s:%d: %s has more than %d numbers", at.origin, at.line, k->name, k->count);
  return TW_OK;
}

static tw_status parse_value(const key *k, char *value, void *record, place at, tw_error *error) {
  void *field = (char *)record + k->offset;
  double number = 0;
  tw_status status;
  switch (k->kind) {
  case TEXT:
    if ((double)strlen(value) >= k->high)
      return tw_fail(error, TW_USAGE, "%s:%d: %s: longer than %.0f characters", at.origin, at.line, k->name,
                     k->high - 1);
    strcpy(field, value);
    return TW_OK;
  case TYPE:
  case TYPE_OR_NONE:
    if (k->kind == TYPE_OR_NONE && !strcmp(value, "none")) {
      *(tw_type *)field = TW_TYPE_NONE;
      return TW_OK;
    }
    if (!tw_type_parse(value, field))
      return tw_fail(error, TW_USAGE, "%s:%d: %s = %s: not a type", at.origin, at.line, k->name, value);
    return TW_OK;
  case WAY:
    if (!xd_core_parse_way(value, field))
      return tw_fail(error, TW_USAGE, "%s:%d: %s = %s: not in-turn, unrolled or pipelined", at.origin, at.line, k->name,
                     value);
    return TW_OK;
  case PRODUCT:
  case LIST: return parse_numbers(k, value, field, at, error);
  default: break;
  }
  status = parse_number(k, value, &number, at, error);
  if (status != TW_OK) return status;
  if (k->kind == REAL)
    *(double *)field = number;
  else if (k->kind == BOOLEAN)
    *(bool *)field = number != 0;
  else
    *(int *)field = (int)number;
  return TW_OK;
}

/* like = NAME, behind the name: all else is that kernel's unless it is given. */
static tw_status parse_like(const xd_config *c, const char *name, section *s, place at, tw_error *error) {
  xd_kernel *k = s->out;
  for (size_t i = 0; i < s->n; i++)
    if (s->seen[i] != !strcmp(s->keys[i].name, "name"))
      return tw_fail(error, TW_USAGE, "%s:%d: like must stand behind the kernel's name", at.origin, at.line);
  for (size_t i = 0; i + 1 < c->n_kernels; i++) {
    if (strcmp(c->kernel[i].name, name) != 0) continue;
    char own[sizeof k->name];
    memcpy(own, k->name, sizeof own);
    *k = c->kernel[i];
    memcpy(k->name, own, sizeof own);
    s->is_like = true;
    return TW_OK;
  }
  return tw_fail(error, TW_USAGE, "%s:%d: like = %s: there is no such kernel above", at.origin, at.line, name);
}

static tw_status parse_pair(const xd_config *c, char *line, section *s, place at, tw_error *error) {
  char *equals = strchr(line, '=');
  if (!equals)
    return tw_fail(error, TW_USAGE, "%s:%d: expected \"key = value\", \"[array]\" or \"[kernel]\"", at.origin, at.line);
  *equals = '\0';
  const char *name = tw_strip(line);
  char *value = tw_strip(equals + 1);
  if (s->keys == kernel_keys && !strcmp(name, "like")) return parse_like(c, value, s, at, error);
  for (size_t i = 0; i < s->n; i++) {
    if (strcmp(name, s->keys[i].name)) continue;
    if (s->seen[i]) return tw_fail(error, TW_USAGE, "%s:%d: %s is given twice", at.origin, at.line, name);
    if (!*value) return tw_fail(error, TW_USAGE, "%s:%d: %s has no value", at.origin, at.line, name);
    s->seen[i] = true;
    return parse_value(&s->keys[i], value, s->out, at, error);
  }
  return tw_fail(error, TW_USAGE, "%s:%d: unknown key \"%s\" of a %s", at.origin, at.line, name, s->what);
}

/* Every key of the section was there, and the kernel makes sense. */
static tw_status end_section(const section *s, place at, tw_error *error) {
  for (size_t i = 0; i < s->n; i++)
    if (!s->seen[i] && !s->is_like)
      return tw_fail(error, TW_USAGE, "%s:%d: the %s above lacks the key %s", at.origin, at.line, s->what,
                     s->keys[i].name);
  if (s->keys != kernel_keys) return TW_OK;
  const xd_kernel *k = s->out;
  if (k->cluster_cycles > 0 && k->vmac_cycles <= 0)
    return tw_fail(error, TW_USAGE, "%s:%d: kernel %s has cluster_cycles without vmac_cycles", at.origin, at.line,
                   k->name);
  if (k->vmac_cycles <= 0 && !k->acc_loads)
    return tw_fail(error, TW_USAGE, "%s:%d: kernel %s needs vmac_cycles or acc_loads", at.origin, at.line, k->name);
  return TW_OK;
}

static tw_status begin_array(xd_config *c, section *s, place at, tw_error *error) {
  tw_status status = end_section(s, at, error);
  if (status != TW_OK) return status;
  if (c->array.word_bytes) return tw_fail(error, TW_USAGE, "%s:%d: a second [array]", at.origin, at.line);
  *s = (section){.what = "array", .keys = array_keys, .n = ARRAY_KEYS, .out = &c->array};
  return TW_OK;
}

static tw_status begin_kernel(xd_config *c, section *s, place at, tw_error *error) {
  tw_status status = end_section(s, at, error);
  if (status != TW_OK) return status;
  if (c->n_kernels == XD_KERNELS_MAX)
    return tw_fail(error, TW_USAGE, "%s:%d: more than %d kernels", at.origin, at.line, XD_KERNELS_MAX);
  *s = (section){.what = "kernel", .keys = kernel_keys, .n = KERNEL_KEYS, .out = &c->kernel[c->n_kernels++]};
  return TW_OK;
}

static tw_status check(const xd_config *c, place at, tw_error *error) {
  if (!c->array.word_bytes) return tw_fail(error, TW_USAGE, "%s: there is no [array]", at.origin);
  if (!c->n_kernels) return tw_fail(error, TW_USAGE, "%s: there is no [kernel]", at.origin);
  if (c->stack_bytes >= c->l1_bytes) return tw_fail(error, TW_USAGE, "%s: the stack takes all of L1", at.origin);
  for (size_t i = 0; i < c->n_kernels; i++)
    for (size_t j = 0; j < i; j++)
      if (!strcmp(c->kernel[i].name, c->kernel[j].name))
        return tw_fail(error, TW_USAGE, "%s: two kernels are called %s", at.origin, c->kernel[i].name);
  return TW_OK;
}

tw_status xd_config_parse(const char *text, const char *origin, xd_config *out, tw_error *error) {
  char *copy = strdup(text);
  if (!copy) return tw_fail(error, TW_MISSING, "%s: no memory", origin);
  *out = (xd_config){0};
  section s = {.what = "machine", .keys = machine_keys, .n = MACHINE_KEYS, .out = out};
  tw_status status = TW_OK;
  place at = {origin, 0};
  for (char *line = copy, *next; line && status == TW_OK; line = next) {
    at.line++;
    next = strchr(line, '\n');
    if (next) *next++ = '\0';
    line = tw_strip(line);
    if (!strcmp(line, "[array]"))
      status = begin_array(out, &s, at, error);
    else if (!strcmp(line, "[kernel]"))
      status = begin_kernel(out, &s, at, error);
    else if (*line)
      status = parse_pair(out, line, &s, at, error);
  }
  free(copy);
  if (status == TW_OK) status = end_section(&s, at, error);
  return status == TW_OK ? check(out, at, error) : status;
}
