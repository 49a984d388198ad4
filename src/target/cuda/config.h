/* config.h - a GPU as described by a text file in configs/, which has the source of each number. */
#ifndef TW_CUDA_CONFIG_H
#define TW_CUDA_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "base/config_file.h"
#include "tilewright/status.h"
#include "tilewright/type.h"

typedef struct cuda_config {
  char name[32], summary[120];
  char device[48];       /* part of the name that the driver reports */
  char architecture[16]; /* "sm_90a" */
  int64_t multiprocessors, clock_mhz, shared_block, shared_multiprocessor, registers, threads, cluster, l2_bytes;
  int64_t memory_gbs;
  int64_t flops_f32, flops_tf32, flops_f16, flops_bf16, flops_e4m3, flops_i8; /* per multiprocessor and cycle */
} cuda_config;

extern const tw_config_schema cuda_config_schema;
/* Parses "key = value" lines; '#' starts a comment; each key once. Errors (TW_USAGE) name `origin` and the line. */
tw_status cuda_config_parse(const char *text, const char *origin, cuda_config *out, tw_error *);

/* The description at `index` in the program; NULL if `index` is too large. Always valid. Implemented in target.c. */
const cuda_config *cuda_config_at(size_t index);
const cuda_config *cuda_config_find(const char *name);

/* The number in the architecture's name: 80 for "sm_80", 90 for "sm_90a". */
int cuda_config_architecture(const cuda_config *);

/* Operations per second of all multiprocessors with operands of that type (f32: without tensor cores); 0:
 * unsupported. */
double cuda_config_peak(const cuda_config *, tw_type);

#endif
