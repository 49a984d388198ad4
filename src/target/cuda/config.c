/* config.c - see config.h. A table of the keys says where each value goes and what it may be. */
#include "target/cuda/config.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/config.h"
#include "base/embedded.h"

#define TEXT(field)                                                                                                    \
  { #field, TW_CONFIG_TEXT, offsetof(cuda_config, field), 0, sizeof((cuda_config *)0)->field, 1, NULL, NULL }
#define NUMBER(field, low, high)                                                                                       \
  { #field, TW_CONFIG_INT64, offsetof(cuda_config, field), low, high, 1, NULL, NULL }
static const tw_config_key keys[] = {
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
enum { CONFIGS_MAX = 16 };

tw_status cuda_config_parse(const char *text, const char *origin, cuda_config *out, tw_error *error) {
  tw_config_record record = {.what = "GPU", .key = keys, .n = sizeof keys / sizeof keys[0], .out = out};
  *out = (cuda_config){0};
  return tw_config_read(text, origin, &record, error);
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

int cuda_config_architecture(const cuda_config *c) {
  int number = 0;
  return sscanf(c->architecture, "sm_%d", &number) == 1 ? number : 0;
}

double cuda_config_peak(const cuda_config *c, tw_type type) {
  const int64_t flops = type == TW_F16                       ? c->flops_f16
                        : type == TW_BF16                    ? c->flops_bf16
                        : type == TW_E4M3 || type == TW_E5M2 ? c->flops_e4m3
                        : type == TW_I8                      ? c->flops_i8
                                                             : c->flops_f32;
  return (double)flops * (double)c->multiprocessors * (double)c->clock_mhz * 1e6;
}
