/* config.c - reads the machine from its text. Tables of the keys of each section say where each value goes and what
 * it may be. */
#include "target/xdna2/config.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/config.h"
#include "base/embedded.h"

static bool parse_type_or_none(const char *value, void *field, void *out) {
  (void)out;
  if (strcmp(value, "none") != 0) return tw_type_parse(value, field);
  *(tw_type *)field = TW_TYPE_NONE;
  return true;
}

static bool parse_way(const char *value, void *field, void *out) {
  (void)out;
  return xd_core_parse_way(value, field);
}

#define MACHINE(field, kind, low, high)                                                                                \
  { #field, TW_CONFIG_##kind, offsetof(xd_config, field), low, high, 1, NULL, NULL }
static const tw_config_key machine_keys[] = {
    MACHINE(name, TEXT, 0, sizeof((xd_config *)0)->name),
    MACHINE(summary, TEXT, 0, sizeof((xd_config *)0)->summary),
    MACHINE(error, REAL, 0, 1),
    MACHINE(error_of, TEXT, 0, sizeof((xd_config *)0)->error_of),
    MACHINE(rows, INT, 1, 64),
    MACHINE(columns, INT, 1, 64),
    MACHINE(clock_mhz, INT, 1, 10000),
    MACHINE(l1_bytes, INT, 1024, 1 << 24),
    MACHINE(stack_bytes, INT, 0, 1 << 24),
    MACHINE(l2_bytes, INT, 1024, 1 << 28),
    MACHINE(stream_bytes, INT, 1, 1024),
    MACHINE(ddr_mbs, INT, 1, 10000000),
    MACHINE(bfp16_paper_bytes, REAL, 1, 2),
    MACHINE(load_slots, INT, 1, 8),
    MACHINE(vmac_to_store, INT, 0, 100),
    MACHINE(store_latency, INT, 0, 100),
    MACHINE(paper_switch_cycles, INT, 0, 100000),
    MACHINE(switch_cycles, REAL, 0, 100000),
    MACHINE(step_cycles, REAL, 0, 100000),
    MACHINE(read_mbs, INT, 1, 10000000),
    MACHINE(launch_us, REAL, 0, 1e6),
};
#undef MACHINE

#define ARRAY(field, kind, low, high, count)                                                                           \
  { #field, TW_CONFIG_##kind, offsetof(xd_array, field), low, high, count, NULL, NULL }
static const tw_config_key array_keys[] = {
    ARRAY(dma_in, LIST, 0, 16, XD_TILE_KINDS),
    ARRAY(dma_out, LIST, 0, 16, XD_TILE_KINDS),
    ARRAY(descriptors, LIST, 1, 256, XD_TILE_KINDS),
    ARRAY(locks, LIST, 1, 256, XD_TILE_KINDS),
    ARRAY(dims, LIST, 1, 4, XD_TILE_KINDS),
    ARRAY(wrap_bits, LIST, 1, 30, XD_TILE_KINDS),
    ARRAY(step_bits, LIST, 1, 30, XD_TILE_KINDS),
    ARRAY(pad_bits, LIST, 1, 16, XD_PADS),
    ARRAY(word_bytes, INT, 1, 64, 1),
    ARRAY(lock_max, INT, 1, 1 << 20, 1),
    ARRAY(iterations, INT, 1, 1 << 20, 1),
    ARRAY(queue, INT, 1, 1024, 1),
    ARRAY(repeats, INT, 1, 1 << 20, 1),
    ARRAY(north, INT, 1, 64, 1),
    ARRAY(south, INT, 1, 64, 1),
    ARRAY(side, INT, 1, 64, 1),
    ARRAY(hop_cycles, INT, 0, 1000, 1),
    ARRAY(lock_cycles, INT, 0, 1000, 1),
    ARRAY(start_cycles, INT, 0, 1000, 1),
    ARRAY(descriptor_cycles, INT, 0, 1000, 1),
    ARRAY(chain_cycles, INT, 0, 1000, 1),
    ARRAY(memory_cycles, INT, 0, 1000, 1),
    ARRAY(shim_task_cycles, LIST, 0, 1000000, 2),
    ARRAY(shim_cold_cycles, LIST, 0, 1000000, 2),
    ARRAY(ddr_mbs, INT, 1, 10000000, 1),
    ARRAY(ddr_read_mbs, INT, 1, 10000000, 1),
    ARRAY(ddr_write_mbs, INT, 1, 10000000, 1),
    ARRAY(ddr_stream_mbs, INT, 1, 10000000, 1),
    ARRAY(ddr_contention, REAL, 1, 100, 1),
    ARRAY(ddr_block_bytes, INT, 4, 65536, 1),
    ARRAY(ddr_block_ns, REAL, 0, 1e6, 1),
    ARRAY(ddr_page_bytes, INT, 4, 1 << 30, 1),
    ARRAY(ddr_page_ns, REAL, 0, 1e6, 1),
    ARRAY(dispatch_us, REAL, 0, 1e6, 1),
};
#undef ARRAY

#define KERNEL(field, kind, low, high, count)                                                                          \
  { #field, TW_CONFIG_##kind, offsetof(xd_kernel, field), low, high, count, NULL, NULL }
static const tw_config_key kernel_keys[] = {
    KERNEL(name, TEXT, 0, sizeof((xd_kernel *)0)->name, 1),
    KERNEL(a, TYPE, 0, 0, 1),
    KERNEL(b, TYPE, 0, 0, 1),
    KERNEL(c, TYPE, 0, 0, 1),
    KERNEL(acc, TYPE, 0, 0, 1),
    KERNEL(vmac, PRODUCT, 1, 256, 3),
    KERNEL(vmac_issues, INT, 1, 16, 1),
    KERNEL(vmac_distance, INT, 1, 64, 1),
    KERNEL(cluster, PRODUCT, 1, 16, 2),
    KERNEL(copies, LIST, 1, 16, 3),
    KERNEL(scratch_a, BOOL, 0, 1, 1),
    {"scratch_b", TW_CONFIG_OTHER, offsetof(xd_kernel, scratch_b), 0, 0, 1, parse_type_or_none, "a type, or none"},
    KERNEL(staging, REAL, 0, 16, 1),
    KERNEL(load, INT, 1, 100, 1),
    KERNEL(acc_latency, INT, 0, 100, 1),
    KERNEL(acc_loads, INT, 0, 64, 1),
    KERNEL(acc_stores, INT, 0, 64, 1),
    KERNEL(cluster_cycles, REAL, 0, 100000, 1),
    KERNEL(vmac_cycles, REAL, 0, 1000, 1),
    {"way", TW_CONFIG_OTHER, offsetof(xd_kernel, way), 0, 0, 1, parse_way, "in-turn, unrolled or pipelined"},
    KERNEL(unroll, INT, 1, 64, 1),
    KERNEL(switches, BOOL, 0, 1, 1),
    KERNEL(scheduled, BOOL, 0, 1, 1),
};
#undef KERNEL
#define KEYS(table) .key = table, .n = sizeof table / sizeof table[0]

/* What is being read: the machine, its array, or one of its kernels. */
typedef struct reader {
  xd_config *config;
  tw_config_record record;
  bool is_like;    /* a kernel above, or another file, has given what is not seen */
  bool is_derived; /* from another machine's file */
  tw_config_place last;
} reader;

/* like = NAME, behind the name: all else is that kernel's unless it is given. */
static tw_status parse_like(reader *r, const char *name, tw_config_place at, tw_error *error) {
  const xd_config *c = r->config;
  xd_kernel *k = r->record.out;
  for (size_t i = 0; i < r->record.n; i++)
    if (r->record.seen[i] != !strcmp(r->record.key[i].name, "name"))
      return tw_fail(error, TW_USAGE, "%s:%d: like must follow the kernel's name", at.origin, at.line);
  for (size_t i = 0; i + 1 < c->n_kernels; i++) {
    if (strcmp(c->kernel[i].name, name) != 0) continue;
    char own[sizeof k->name];
    memcpy(own, k->name, sizeof own);
    *k = c->kernel[i];
    memcpy(k->name, own, sizeof own);
    r->is_like = true;
    return TW_OK;
  }
  return tw_fail(error, TW_USAGE, "%s:%d: like = %s: unknown kernel; expected one from above", at.origin, at.line,
                 name);
}

/* Every key of the section was there, and the kernel makes sense. */
static tw_status end_section(const reader *r, tw_config_place at, tw_error *error) {
  const tw_status status = r->is_like ? TW_OK : tw_config_complete(&r->record, at, error);
  if (status != TW_OK || r->record.key != kernel_keys) return status;
  const xd_kernel *k = r->record.out;
  if (k->cluster_cycles > 0 && k->vmac_cycles <= 0)
    return tw_fail(error, TW_USAGE, "%s:%d: kernel %s has cluster_cycles without vmac_cycles", at.origin, at.line,
                   k->name);
  if (k->vmac_cycles <= 0 && !k->acc_loads)
    return tw_fail(error, TW_USAGE, "%s:%d: kernel %s needs vmac_cycles or acc_loads", at.origin, at.line, k->name);
  return TW_OK;
}

/* like = NAME, first of all: another machine file, of which this one changes what it names. */
static tw_status parse_like_machine(reader *r, const char *name, tw_config_place at, tw_error *error) {
  char path[128];
  snprintf(path, sizeof path, "xdna2/configs/%s.txt", name);
  const tw_embedded *file = tw_embedded_find(path);
  for (size_t i = 0; i < r->record.n; i++)
    if (r->record.seen[i]) return tw_fail(error, TW_USAGE, "%s:%d: like must stand first", at.origin, at.line);
  if (!file) return tw_fail(error, TW_USAGE, "%s:%d: like = %s: unknown machine", at.origin, at.line, name);
  r->is_like = r->is_derived = true;
  return xd_config_parse((const char *)file->data, file->name, r->config, error);
}

static tw_status begin_array(reader *r, tw_config_place at, tw_error *error) {
  tw_status status = end_section(r, at, error);
  if (status != TW_OK) return status;
  if (r->record.key == array_keys || (r->config->array.word_bytes && !r->is_derived))
    return tw_fail(error, TW_USAGE, "%s:%d: a second [array]", at.origin, at.line);
  r->record = (tw_config_record){.what = "array", KEYS(array_keys), .out = &r->config->array};
  return TW_OK;
}

static tw_status begin_kernel(reader *r, tw_config_place at, tw_error *error) {
  xd_config *c = r->config;
  tw_status status = end_section(r, at, error);
  if (status != TW_OK) return status;
  if (c->n_kernels == XD_KERNELS_MAX)
    return tw_fail(error, TW_USAGE, "%s:%d: more than %d kernels", at.origin, at.line, XD_KERNELS_MAX);
  r->record = (tw_config_record){.what = "kernel", KEYS(kernel_keys), .out = &c->kernel[c->n_kernels++]};
  r->is_like = false;
  return TW_OK;
}

static tw_status parse_line(void *context, char *line, tw_config_place at, tw_error *error) {
  reader *r = context;
  const char *key = NULL;
  char *value = NULL;
  r->last = at;
  if (!strcmp(line, "[array]")) return begin_array(r, at, error);
  if (!strcmp(line, "[kernel]")) return begin_kernel(r, at, error);
  const tw_status status = tw_config_split(line, &key, &value, at, error);
  if (status != TW_OK) return status;
  if (r->record.key == machine_keys && !strcmp(key, "like")) return parse_like_machine(r, value, at, error);
  if (r->record.key == kernel_keys && !strcmp(key, "like")) return parse_like(r, value, at, error);
  return tw_config_set(&r->record, key, value, at, error);
}

static tw_status check(const xd_config *c, tw_config_place at, tw_error *error) {
  if (!c->array.word_bytes) return tw_fail(error, TW_USAGE, "%s: it has no section [array]", at.origin);
  if (!c->n_kernels) return tw_fail(error, TW_USAGE, "%s: it has no section [kernel]", at.origin);
  if (c->stack_bytes >= c->l1_bytes) return tw_fail(error, TW_USAGE, "%s: the stack takes all of L1", at.origin);
  for (size_t i = 0; i < c->n_kernels; i++)
    for (size_t j = 0; j < i; j++)
      if (!strcmp(c->kernel[i].name, c->kernel[j].name))
        return tw_fail(error, TW_USAGE, "%s: two kernels are called %s", at.origin, c->kernel[i].name);
  return TW_OK;
}

tw_status xd_config_parse(const char *text, const char *origin, xd_config *out, tw_error *error) {
  reader r = {.config = out, .record = {.what = "machine", KEYS(machine_keys), .out = out}, .last = {origin, 0}};
  *out = (xd_config){0};
  tw_status status = tw_config_lines(text, origin, parse_line, &r, error);
  if (status == TW_OK) status = end_section(&r, r.last, error);
  return status == TW_OK ? check(out, r.last, error) : status;
}
