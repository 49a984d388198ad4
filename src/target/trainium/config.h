/* config.h - the machine: the contents of a text file in configs/. The file names the source of each number. Times are
 * nanoseconds. */
#ifndef TW_TRAINIUM_CONFIG_H
#define TW_TRAINIUM_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config_file.h"
#include "tilewright/status.h"

/* Memories of one NeuronCore, and the parts of the machine that a user sees. */
typedef struct trn_config_memory {
  int partitions;
  int64_t sbuf_bytes; /* bytes of a partition that a kernel can use */
  int64_t psum_bank_bytes;
  int psum_banks;
} trn_config_memory;

/* The array of processing elements (PE) on the Tensor engine. Rows are columns of the moving operand: one row of the array's
 * output takes `row_cycles_*` cycles. */
typedef struct trn_config_tensor {
  double ghz;
  double row_cycles_16;       /* for element types of at most 16 bits */
  double row_cycles_32;       /* for f32, all passes together */
  int passes_32;              /* number of multiplications that one f32 nc_matmul takes */
  double transpose_cycles_32; /* for f32, by a product with the identity */
  int rows_min;               /* a moving operand with fewer rows takes as long as this many rows */
  double issue_ns;            /* time between two multiplications in addition to their rows */
  double load_interval_32_ns; /* minimum between two f32 multiplications, while the next stationary operand loads */
  double load_ns; /* load of a stationary operand of 128 columns, which overlaps with the previous multiplication */
  double done_ns, slow_done_ns; /* from the last row to completion, at the full and at the slow clock */
  double slow_rate;             /* slow clock divided by the full clock; 1: no ramp */
  double window_ns;             /* the clock is decided at the end of each window */
  double window_phase_ns;       /* end of one window after the first DMA trigger */
  double up_use, down_use; /* share of the array in use: the clock goes up from up_use on, and down below down_use */
} trn_config_tensor;

/* Vector: cycles for each element of a partition. The engine's fast modes are `2x`, f32 in SBUF, and `4x`, 16 bits
 * in SBUF. */
typedef struct trn_config_vector {
  double ghz, start_cycles, pointer_ns, done_ns;
  double copy_32, copy_16, widen, psum; /* copies and tensor_scalar */
  double tensor_tensor_32, tensor_tensor_16, tensor_tensor_psum;
  double reduce, reciprocal, scan, select, memset, bn_aggregate;
  double transpose_ns, transpose_across_ns; /* 32 x 32, inside a quadrant of partitions and to another one */
} trn_config_vector;

typedef struct trn_config_scalar {
  double ghz, cycles, sbuf_ns, psum_ns; /* issue = N * cycles + sbuf_ns or psum_ns, depending on the source's memory */
  double pointer_ns;                    /* for each operand that has one value per partition */
  double slow_cycles;                   /* for functions such as silu and gelu, with a source in PSUM */
  double accumulate_ns;                 /* time to read the accumulator */
  double done_ns;
  double table_ns; /* time to load a set of functions */
} trn_config_scalar;

typedef struct trn_config_gpsimd {
  double ghz, start_cycles, cycles, done_ns;
  bool shares_port; /* GpSimd and Vector cannot access SBUF at the same time */
} trn_config_gpsimd;

/* Semaphores: the time from the end of an instruction to the start of an instruction that waits for it. Each further
 * wait is an instruction. */
typedef struct trn_config_sync {
  double handoff_ns;
  double wait_tensor_ns, wait_vector_ns, wait_scalar_ns, wait_gpsimd_ns, wait_sync_ns;
} trn_config_sync;

typedef struct trn_config_dma {
  int engines;
  double packet_ns, engine_gbs; /* an engine is busy packet_ns + bytes / engine_gbs for each packet */
  double transpose_rate; /* dma_transpose of 2-byte elements, relative to the longest packets; 0: element by element */
  double element_ns;     /* for elements of at most 4 bytes that are not adjacent, instead of packet_ns; 0: packet_ns */
  int64_t packet_bytes;  /* at most */
  int64_t merge_bytes;   /* software descriptors join parts that are adjacent in HBM, up to this size */
  double total_gbs;      /* of all engines */
  /* A trigger occupies its engine for issue_ns. The other times are from the trigger's start to the end of the
   * transfer, without the packets of a DMA engine: of a write to HBM, of a read in packets of up to small_bytes, of
   * another read. */
  double hardware_issue_ns, hardware_write_ns, hardware_read_ns, hardware_read_large_ns;
  int64_t small_bytes;
  /* Software descriptors: time from the end of the waits to the trigger; time between two triggers. */
  double software_prepare_ns, software_issue_ns, software_write_ns, software_read_ns;
  double static_issue_ns, static_first_ns; /* for descriptors that are written before the launch */
  double notice_ns; /* from the last packet to the start of the instruction that waits for the transfer */
  bool hardware;    /* engines start transfers by themselves */
} trn_config_dma;

typedef struct trn_config {
  char name[32], summary[128], error_of[128];
  double error;     /* relative error of the predicted times: the mean or median that `error_of` names */
  double launch_ns; /* added to the time from the first DMA trigger to the last instruction */
  trn_config_memory memory;
  trn_config_tensor tensor;
  trn_config_vector vector;
  trn_config_scalar scalar;
  trn_config_gpsimd gpsimd;
  trn_config_sync sync;
  trn_config_dma dma;
} trn_config;

/* NeuronCore-v2. Its Scalar engine has no tensor_copy in the newer dialect. */
static inline bool trn_is_v2(const trn_config *c) { return c->gpsimd.shares_port; }

extern const tw_config_schema trn_config_schema;
/* A machine of the library (target.c). */
tw_status trn_config_load(const char *name, trn_config *out, tw_error *);

#endif
