/* config.c - see config.h. A table of the keys says where each value goes and what it may be. */
#include "target/cuda/config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/strings.h"

typedef struct key {
  const char *name;
  size_t offset;
  size_t text;       /* size of the field; 0: a number */
  int64_t low, high; /* of a number */
} key;

#define TEXT(field)                                                                                                    \
  { #field, offsetof(cuda_config, field), sizeof((cuda_config *)0)->field, 0, 0 }
#define NUMBER(field, low, high)                                                                                       \
  { #field, offsetof(cuda_config, field), 0, low, high }
static const key keys[] = {
    TEXT(name),
    TEXT(summary),
    TEXT(device),
    TEXT(architecture),
    NUMBER(multiprocessors, 1, 1024),
    NUMBER(clock_mhz, 100, 10000),
    NUMBER(shared_block, 16384, 1 << 20),
    NUMBER(shared_multiprocessor, 16384, 1 << 20),
    NUMBER(registers, 1024, 1 << 20),
    NUMBER(threads, 512, 4096),
    NUMBER(cluster, 1, 64),
    NUMBER(l2_bytes, 1 << 20, (int64_t)1 << 32),
    NUMBER(memory_gbs, 10, 100000),
    NUMBER(flops_f32, 0, 1 << 20),
    NUMBER(flops_tf32, 0, 1 << 20),
    NUMBER(flops_f16, 0, 1 << 20),
    NUMBER(flops_bf16, 0, 1 << 20),
    NUMBER(flops_e4m3, 0, 1 << 20),
    NUMBER(flops_i8, 0, 1 << 20),
};
#undef TEXT
#undef NUMBER
enum { KEYS = sizeof keys / sizeof *keys, LINE = 400, CONFIGS_MAX = 16 };

static tw_status set(cuda_config *c, const key *k, const char *value, tw_error *error) {
  char *field = (char *)c + k->offset;
  int64_t number;
  if (k->text) {
    if (!*value || strlen(value) >= k->text)
      return tw_fail(error, TW_USAGE, "%s has 1 to %zu characters", k->name, k->text - 1);
    memcpy(field, value, strlen(value) + 1);
    return TW_OK;
  }
  if (!tw_parse_int(value, &number) || number < k->low || number > k->high)
    return tw_fail(error, TW_USAGE, "%s is a number from %lld to %lld", k->name, (long long)k->low, (long long)k->high);
  memcpy(field, &number, sizeof number);
  return TW_OK;
}

static tw_status read_line(char *line, bool seen[KEYS], cuda_config *c, tw_error *error) {
  char *equals = strchr(line, '=');
  if (!equals) return tw_fail(error, TW_USAGE, "'key = value' is expected");
  *equals = '\0';
  const char *name = tw_strip(line), *value = tw_strip(equals + 1);
  for (size_t i = 0; i < KEYS; i++) {
    if (strcmp(keys[i].name, name) != 0) continue;
    if (seen[i]) return tw_fail(error, TW_USAGE, "%s is there twice", name);
    seen[i] = true;
    return set(c, &keys[i], value, error);
  }
  return tw_fail(error, TW_USAGE, "there is no key '%s'", name);
}

tw_status cuda_config_parse(const char *text, const char *origin, cuda_config *out, tw_error *error) {
  bool seen[KEYS] = {false};
  int number = 1;
  *out = (cuda_config){0};
  for (const char *at = text; *at; number++) {
    char line[LINE];
    tw_error why = {0};
    const size_t length = strcspn(at, "\n");
    if (length >= sizeof line) return tw_fail(error, TW_USAGE, "%s:%d: the line is too long", origin, number);
    memcpy(line, at, length);
    line[length] = '\0';
    char *content = tw_strip(line);
    if (*content && read_line(content, seen, out, &why) != TW_OK)
      return tw_fail(error, TW_USAGE, "%s:%d: %.300s", origin, number, why.text);
    at += length + (at[length] == '\n');
  }
  for (size_t i = 0; i < KEYS; i++)
    if (!seen[i]) return tw_fail(error, TW_USAGE, "%s: %s is missing", origin, keys[i].name);
  return TW_OK;
}

/* ---- the embedded ones ---- */

static cuda_config known[CONFIGS_MAX];
static size_t n_known;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void parse_all(void) {
  static const char folder[] = "cuda/configs/";
  const tw_embedded *e;
  for (size_t i = 0; (e = tw_embedded_at(i)); i++)
    if (strncmp(e->name, folder, strlen(folder)) == 0 && n_known < CONFIGS_MAX &&
        cuda_config_parse((const char *)e->data, e->name, &known[n_known], NULL) == TW_OK)
      n_known++;
}

const cuda_config *cuda_config_at(size_t index) {
  pthread_once(&once, parse_all);
  return index < n_known ? &known[index] : NULL;
}

const cuda_config *cuda_config_find(const char *name) {
  const cuda_config *c;
  for (size_t i = 0; (c = cuda_config_at(i)); i++)
    if (strcmp(c->name, name) == 0) return c;
  return NULL;
}

double cuda_config_peak(const cuda_config *c, tw_type type) {
  const int64_t flops = type == TW_F16                       ? c->flops_f16
                        : type == TW_BF16                    ? c->flops_bf16
                        : type == TW_E4M3 || type == TW_E5M2 ? c->flops_e4m3
                        : type == TW_I8                      ? c->flops_i8
                                                             : c->flops_f32;
  return (double)flops * (double)c->multiprocessors * (double)c->clock_mhz * 1e6;
}
