/* config.c - reads a Gemmini configuration from its text and checks that such a machine can exist.
 *
 * One table says for every key where its value goes and what it may be; the checks that involve two keys follow
 * the generator's own requirements (GemminiConfigs.scala, LocalAddr.scala of ucb-bar/gemmini). */
#include "target/gemmini/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

typedef enum kind { TEXT, TYPE, INTEGER, POWER_OF_TWO, BOOLEAN } kind;

typedef struct key {
  const char *name;
  kind kind;
  size_t offset;
  int low, high; /* of integers; of TEXT: high is the size of the field */
} key;

#define KEY(field, kind, low, high)                                                                                    \
  { #field, kind, offsetof(gm_config, field), low, high }
static const key keys[] = {
    {"name", TEXT, offsetof(gm_config, name), 0, sizeof((gm_config *)0)->name},
    {"summary", TEXT, offsetof(gm_config, summary), 0, sizeof((gm_config *)0)->summary},
    KEY(dim, POWER_OF_TWO, 2, 64),
    KEY(input_type, TYPE, 0, 0),
    KEY(acc_type, TYPE, 0, 0),
    KEY(spad_bytes, POWER_OF_TWO, 1024, 1 << 26),
    KEY(spad_banks, POWER_OF_TWO, 1, 64),
    KEY(acc_bytes, POWER_OF_TWO, 1024, 1 << 26),
    KEY(acc_banks, POWER_OF_TWO, 1, 64),
    KEY(mesh_output_bits, INTEGER, 8, 32),
    KEY(mvin_scales_acc, BOOLEAN, 0, 1),
    KEY(rs_load, INTEGER, 1, 64),
    KEY(rs_execute, INTEGER, 1, 64),
    KEY(rs_store, INTEGER, 1, 64),
    KEY(queue_load, INTEGER, 1, 64),
    KEY(queue_execute, INTEGER, 3, 64), /* ExecuteController looks at three heads */
    KEY(queue_store, INTEGER, 1, 64),
    KEY(dma_bus_bits, POWER_OF_TWO, 64, 512),
    KEY(dma_max_bytes, POWER_OF_TWO, 16, 256),
    KEY(max_in_flight_reads, INTEGER, 1, 256),
    KEY(max_in_flight_writes, INTEGER, 1, 256),
    KEY(tlb_entries, INTEGER, 1, 1024),
    KEY(spad_read_delay, INTEGER, 0, 64),
    KEY(mesh_output_delay, INTEGER, 0, 64),
    KEY(tile_latency, INTEGER, 0, 64),
    KEY(acc_latency, INTEGER, 2, 64), /* AccumulatorMem requires at least 2 */
    KEY(mvin_scale_latency, INTEGER, 0, 64),
    KEY(acc_scale_latency, INTEGER, 1, 64),
    KEY(l2_bytes, POWER_OF_TWO, 4096, 1 << 30),
    KEY(l2_ways, POWER_OF_TWO, 1, 64),
    KEY(l2_banks, POWER_OF_TWO, 1, 64),
    KEY(l2_latency, INTEGER, 1, 1000),
    KEY(l2_misses, INTEGER, 1, 32),
    KEY(l2_fill_latency, INTEGER, 1, 10000),
    KEY(port_bytes, POWER_OF_TWO, 1, 16),
    KEY(l2_fill_centicycles, INTEGER, 100, 100000),
    KEY(llc_bytes, POWER_OF_TWO, 4096, 1 << 30),
    KEY(llc_hit, INTEGER, 1, 10000),
    KEY(llc_miss, INTEGER, 1, 10000),
    KEY(icache_bytes, POWER_OF_TWO, 1024, 1 << 24),
    KEY(icache_ways, POWER_OF_TWO, 1, 64),
    KEY(dcache_bytes, POWER_OF_TWO, 1024, 1 << 24),
    KEY(dcache_ways, POWER_OF_TWO, 1, 64),
};
#undef KEY
enum { KEY_COUNT = sizeof keys / sizeof keys[0] };

typedef struct place {
  const char *origin;
  int line;
} place;

static bool is_power_of_two(long value) { return value > 0 && (value & (value - 1)) == 0; }

static tw_status parse_integer(const key *k, const char *value, void *field, place at, tw_error *error) {
  char *end;
  errno = 0;
  long number = strtol(value, &end, 0);
  if (end == value || *end || errno)
    return tw_fail(error, TW_USAGE, "%s:%d: %s = %s: not an integer", at.origin, at.line, k->name, value);
  if (number < k->low || number > k->high)
    return tw_fail(error, TW_USAGE, "%s:%d: %s = %ld: must be from %d to %d", at.origin, at.line, k->name, number,
                   k->low, k->high);
  if (k->kind == POWER_OF_TWO && !is_power_of_two(number))
    return tw_fail(error, TW_USAGE, "%s:%d: %s = %ld: must be a power of two", at.origin, at.line, k->name, number);
  if (k->kind == BOOLEAN)
    *(bool *)field = number;
  else
    *(int *)field = (int)number;
  return TW_OK;
}

static tw_status parse_value(const key *k, const char *value, gm_config *out, place at, tw_error *error) {
  void *field = (char *)out + k->offset;
  switch (k->kind) {
  case TEXT:
    if (strlen(value) >= (size_t)k->high)
      return tw_fail(error, TW_USAGE, "%s:%d: %s: longer than %d characters", at.origin, at.line, k->name, k->high - 1);
    strcpy(field, value);
    return TW_OK;
  case TYPE:
    if (!tw_type_parse(value, field))
      return tw_fail(error, TW_USAGE, "%s:%d: %s = %s: not a type; use i8, i32 or f32", at.origin, at.line, k->name,
                     value);
    return TW_OK;
  default: return parse_integer(k, value, field, at, error);
  }
}

static tw_status parse_line(char *line, gm_config *out, bool seen[KEY_COUNT], place at, tw_error *error) {
  line = tw_strip(line);
  if (!*line) return TW_OK;
  char *equals = strchr(line, '=');
  if (!equals) return tw_fail(error, TW_USAGE, "%s:%d: expected \"key = value\"", at.origin, at.line);
  *equals = '\0';
  const char *name = tw_strip(line), *value = tw_strip(equals + 1);
  for (size_t i = 0; i < KEY_COUNT; i++) {
    if (strcmp(name, keys[i].name)) continue;
    if (seen[i]) return tw_fail(error, TW_USAGE, "%s:%d: %s is given twice", at.origin, at.line, name);
    if (!*value) return tw_fail(error, TW_USAGE, "%s:%d: %s has no value", at.origin, at.line, name);
    seen[i] = true;
    return parse_value(&keys[i], value, out, at, error);
  }
  return tw_fail(error, TW_USAGE, "%s:%d: unknown key \"%s\"", at.origin, at.line, name);
}

/* What no key shows alone. */
static tw_status check(const gm_config *c, const char *origin, tw_error *error) {
  bool integer = c->input_type == TW_I8 && c->acc_type == TW_I32;
  bool real = c->input_type == TW_F32 && c->acc_type == TW_F32;
  if (!integer && !real)
    return tw_fail(error, TW_USAGE, "%s: input_type and acc_type must be i8 and i32, or f32 and f32", origin);
  if (real && c->mesh_output_bits != 32)
    return tw_fail(error, TW_USAGE, "%s: mesh_output_bits must be 32 with f32", origin);
  if (gm_spad_rows(c) / c->spad_banks < c->dim)
    return tw_fail(error, TW_USAGE, "%s: a scratchpad bank holds fewer than dim = %d rows", origin, c->dim);
  if (gm_acc_rows(c) / c->acc_banks < c->dim)
    return tw_fail(error, TW_USAGE, "%s: an accumulator bank holds fewer than dim = %d rows", origin, c->dim);
  /* A local address has 6 bits of kind and one of garbage above the row (LocalAddr.scala:26-30). */
  if (gm_spad_rows(c) > 1 << 25 || gm_acc_rows(c) > 1 << 25)
    return tw_fail(error, TW_USAGE, "%s: more rows than a local address can name", origin);
  if (c->l2_bytes / 64 < c->l2_ways * c->l2_banks || c->icache_bytes / 64 < c->icache_ways ||
      c->dcache_bytes / 64 < c->dcache_ways)
    return tw_fail(error, TW_USAGE, "%s: a cache has fewer 64-byte lines than ways", origin);
  return TW_OK;
}

tw_status gm_config_parse(const char *text, const char *origin, gm_config *out, tw_error *error) {
  char *copy = strdup(text);
  if (!copy) return tw_fail(error, TW_MISSING, "%s: no memory", origin);
  *out = (gm_config){0};
  bool seen[KEY_COUNT] = {false};
  tw_status status = TW_OK;
  place at = {origin, 0};
  for (char *line = copy, *next; line && status == TW_OK; line = next) {
    at.line++;
    next = strchr(line, '\n');
    if (next) *next++ = '\0';
    status = parse_line(line, out, seen, at, error);
  }
  free(copy);
  if (status != TW_OK) return status;
  for (size_t i = 0; i < KEY_COUNT; i++)
    if (!seen[i]) return tw_fail(error, TW_USAGE, "%s: the key %s is missing", origin, keys[i].name);
  status = check(out, origin, error);
  if (status != TW_OK) return status;
  int wide = out->dma_max_bytes / gm_input_bytes(out);
  out->max_block_cols = wide > out->dim ? wide : out->dim;
  return TW_OK;
}
