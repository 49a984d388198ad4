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
  int64_t sbuf_bytes; /* of a partition, that a kernel can use */
  int64_t psum_bank_bytes;
  int psum_banks;
} trn_config_memory;

/* The array of processing elements (PE) on the Tensor engine. Rows are columns of the moving operand: one row of the array's
 * output takes `row_cycles_*` cycles. */
typedef struct trn_config_tensor {
  double ghz;
  double row_cycles_16;         /* element types of 16 bits and less */
  double row_cycles_32;         /* f32: all passes together */
  int passes_32;                /* multiplications that one f32 nc_matmul becomes */
  double transpose_cycles_32;   /* f32, by the identity */
  int rows_min;                 /* shorter moving operands take as long as this many rows */
  double issue_ns;              /* between two multiplications, beyond their rows */
  double load_interval_32_ns;   /* at least between two f32 multiplications: the next stationary operand loads */
  double load_ns;               /* stationary operand of 128 columns; hidden by the multiplication before */
  double done_ns, slow_done_ns; /* last row to completion, at the full and at the slow clock */
  double slow_rate;             /* clock before the ramp, of the full one; 1: no ramp */
  double window_ns;             /* the clock is decided at the end of each window */
  double window_phase_ns;       /* end of a window after the first DMA trigger */
  double up_use, down_use; /* use of the array in a window from which the clock goes up, and below which it goes down */
} trn_config_tensor;

/* Vector: cycles for each element of a partition. `2x` is f32 in SBUF, `4x` 16 bits in SBUF: the engine's fast modes. */
typedef struct trn_config_vector {
  double ghz, start_cycles, pointer_ns, done_ns;
  double copy_32, copy_16, widen, psum; /* copies and tensor_scalar */
  double tensor_tensor_32, tensor_tensor_16, tensor_tensor_psum;
  double reduce, reciprocal, scan, select, memset, bn_aggregate;
  double transpose_ns; /* 32 x 32 */
} trn_config_vector;

typedef struct trn_config_scalar {
  double ghz, cycles, sbuf_ns, psum_ns; /* issue = N * cycles + sbuf_ns or psum_ns, by the source */
  double pointer_ns;                    /* each operand that is one value a partition */
  double slow_cycles;                   /* silu, gelu and the like of PSUM */
  double accumulate_ns;                 /* reading the accumulator back */
  double done_ns;
  double table_ns; /* load of a set of functions */
} trn_config_scalar;

typedef struct trn_config_gpsimd {
  double ghz, start_cycles, cycles, done_ns;
} trn_config_gpsimd;

/* Semaphores: from the end of an instruction to the start of one that waits for it; another wait is an instruction. */
typedef struct trn_config_sync {
  double handoff_ns;
  double wait_tensor_ns, wait_vector_ns, wait_scalar_ns, wait_gpsimd_ns, wait_sync_ns;
} trn_config_sync;

typedef struct trn_config_dma {
  int engines;
  double packet_ns, engine_gbs; /* an engine is busy packet_ns + bytes / engine_gbs for each packet */
  double element_ns;    /* elements of 4 bytes and less that are not neighbours, instead of packet_ns; 0: as packets */
  int64_t packet_bytes; /* at most */
  int64_t merge_bytes;  /* software descriptors join neighbours in HBM up to this */
  double total_gbs;     /* of all engines */
  /* A trigger keeps its engine for issue_ns. From the trigger's start to the end of a transfer, beyond the time of the packets of a
   * DMA engine: of a write to HBM, a read in packets of up to small_bytes, another read. */
  double hardware_issue_ns, hardware_write_ns, hardware_read_ns, hardware_read_large_ns;
  int64_t small_bytes;
  /* Software descriptors: from the end of the waits to the trigger; between two triggers. */
  double software_prepare_ns, software_issue_ns, software_write_ns, software_read_ns;
  double static_issue_ns, static_first_ns; /* descriptors written before the launch */
  double notice_ns;                        /* last packet to the instruction that waits */
  bool hardware;                           /* engines start transfers by themselves */
} trn_config_dma;

typedef struct trn_config {
  char name[32], summary[128], error_of[128];
  double error;     /* mean relative error of times, against `error_of` */
  double launch_ns; /* beside the span from the first DMA trigger to the last instruction */
  trn_config_memory memory;
  trn_config_tensor tensor;
  trn_config_vector vector;
  trn_config_scalar scalar;
  trn_config_gpsimd gpsimd;
  trn_config_sync sync;
  trn_config_dma dma;
} trn_config;

extern const tw_config_schema trn_config_schema;
/* The machine file trainium/configs/NAME.txt of the library. */
tw_status trn_config_load(const char *name, trn_config *out, tw_error *);

#endif
