/* config.c - see config.h. A table of the keys has the field and the range of each value. */
#include "target/cuda/config.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

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

static const tw_config_section sections[] = {{TW_CONFIG_KEYS(keys)}};
const tw_config_schema cuda_config_schema = {
    .what = "GPU", .section = sections, .n = 1, .bytes = sizeof(cuda_config), .words = "name summary device"};

tw_status cuda_config_parse(const char *text, const char *origin, cuda_config *out, tw_error *error) {
  return tw_config_read(&cuda_config_schema, text, origin, NULL, out, NULL, error);
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
