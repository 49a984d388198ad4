/* config.h - the machine and its kernels, from a text file in configs/. The source of each number is there. */
#ifndef TW_XDNA2_CONFIG_H
#define TW_XDNA2_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/config_file.h"
#include "target/xdna2/core/core.h"
#include "target/xdna2/model/tiling.h"
#include "tilewright/status.h"
#include "tilewright/type.h"

/* A micro-kernel: its types, its vector multiply-accumulate (VMAC), its buffers in L1 and its speed. */
typedef struct xd_kernel {
  char name[32];
  tw_type a, b, c, acc;
  int vmac[3];       /* r x s x t: rows of A, depth, columns of B */
  int vmac_issues;   /* number of instructions for such a multiply-accumulate */
  int vmac_distance; /* cycles between two VMACs on one accumulator */
  int cluster[2];    /* accumulators side by side: rows, columns */
  int copies[3];     /* copies of the tiles of A, B and C */
  bool scratch_a;    /* the sub-tile of A is converted to the type of B into a separate buffer */
  tw_type scratch_b; /* B's tile is unpacked to this type into a separate buffer; NONE: B is multiplied as it is */
  double staging;    /* additional bytes for each element of C */
  int load;          /* cycles from a load of A or B to its VMAC */
  int acc_latency, acc_loads, acc_stores; /* cycles and instructions for one accumulator; acc_loads = 0: unknown */
  double cluster_cycles, vmac_cycles;     /* epsilon and II of equation 13; both 0: equations 5 to 10 */
  xd_core_way way;                        /* how clusters follow each other in the published source */
  int unroll;                             /* for XD_CORE_UNROLLED */
  bool switches; /* calls cost switch_cycles, and steps of K step_cycles: true for kernels with asymmetric tiles */
  bool
      /* the cost of calls comes from the core's scheduler, not from equation 13, or 5 to 10: the source closer to
       * measurements */
      scheduled;
} xd_kernel;

/* How a micro-kernel covers its tile: rows x columns of accumulators (a cluster), a number of clusters in straight-line
 * code, the depth unrolled in each; then a loop. */
typedef struct xd_cover {
  int rows, columns, unroll;
  bool turn_b; /* additionally, blocks of B are transposed after the load, for a column-major B */
  int beside;  /* vectors of codes of the next tile of B that a call unpacks beside its products */
} xd_cover;
static inline bool xd_same_cover(xd_cover a, xd_cover b) {
  return a.rows == b.rows && a.columns == b.columns && a.unroll == b.unroll && a.turn_b == b.turn_b &&
         a.beside == b.beside;
}

/* The cover of the published source. */
static inline xd_cover xd_cover_of(const xd_kernel *k) {
  return (xd_cover){k->cluster[0], k->cluster[1], k->way == XD_CORE_UNROLLED ? k->unroll : 1, false, 0};
}

enum { XD_KERNELS_MAX = 48 };

typedef enum xd_tile_kind { XD_SHIM, XD_MEMORY, XD_COMPUTE, XD_TILE_KINDS } xd_tile_kind;
enum { XD_PADS = 3 }; /* dimensions of a memory tile that can be padded */

/* Resources of the tiles and their timing: for the simulator in array/. Cycles are of the core clock. */
typedef struct xd_array {
  int dma_in[XD_TILE_KINDS], dma_out[XD_TILE_KINDS]; /* channels: stream to memory, memory to stream */
  int descriptors[XD_TILE_KINDS], locks[XD_TILE_KINDS], dims[XD_TILE_KINDS];
  int wrap_bits[XD_TILE_KINDS], step_bits[XD_TILE_KINDS]; /* bits of a dimension, in words */
  int pad_bits[XD_PADS]; /* zeros before and after a dimension of a memory tile, innermost first, in words */
  int word_bytes;
  int lock_max, iterations, queue, repeats; /* largest: lock value, iteration size, tasks in a queue, runs of a task */
  int north, south, side;                   /* links out of a switch: up, down, and to each side */
  int hop_cycles, lock_cycles, start_cycles, descriptor_cycles, chain_cycles, memory_cycles;
  int shim_task_cycles[2], shim_cold_cycles[2]; /* MM2S, S2MM: of a task, of a channel's first task */
  int ddr_mbs, ddr_read_mbs, ddr_write_mbs;     /* both directions together; each direction; of many streams */
  int ddr_stream_mbs;                           /* bandwidth of a single stream */
  double ddr_contention;                        /* how sharply the rates of streams bend at that limit: see ddr.c */
  int ddr_block_bytes, ddr_page_bytes, ddr_burst_bytes;
  double ddr_block_ns, ddr_page_ns; /* cost of requests: each block that a run touches, each change of page */
  double dispatch_us;               /* time until the sequence begins, and after it ends */
} xd_array;

typedef struct xd_config {
  char name[64], summary[160];
  double error; /* relative error of its seconds: tw_traits */
  char error_of[160];
  int rows, columns;                   /* compute tiles */
  int clock_mhz;                       /* of the cores */
  int l1_bytes, stack_bytes, l2_bytes; /* bytes of a compute tile, of its stack, of a memory tile */
  int stream_bytes;                    /* bytes per cycle of one stream into a core */
  int ddr_mbs;                         /* megabytes (10^6) a second: the paper's bandwidth */
  double bfp16_paper_bytes;            /* an element of bfp16 in the paper's intensities */
  int load_slots, vmac_to_store, store_latency;
  int paper_switch_cycles;           /* the paper's delta */
  double switch_cycles, step_cycles; /* fitted: for each of the rho kernels of a step of K, and for each step */
  int read_mbs;                      /* fitted: megabytes per second that the shims read */
  double launch_us;                  /* fitted: for a whole GEMM */
  xd_array array;
  size_t n_kernels;
  xd_kernel kernel[XD_KERNELS_MAX];
} xd_config;

/* Multiply-accumulates per cycle, of one instruction of the VMAC. */
static inline double xd_vmac_macs(const xd_kernel *k) {
  return (double)k->vmac[0] * k->vmac[1] * k->vmac[2] / k->vmac_issues;
}
enum { XD_UNPACK_CODES = 256 }; /* 2-bit codes that are unpacked together: one vector of 512 bits holds them */

/* B of 4 bits for A of bf16: codes in blocks of 8x8, and a scale of bf16 for each 16 codes along k (array/pack.h). */
enum { XD_SCALE_DEPTH = 16 };
static inline bool xd_scaled_weights(const xd_kernel *k) { return k->a == TW_BF16 && k->b == TW_I4; }

/* The type to which B is converted before it is multiplied. */
static inline tw_type xd_multiplied_b(const xd_kernel *k) { return k->scratch_b != TW_TYPE_NONE ? k->scratch_b : k->b; }
/* True if B is stored as plain elements, in rows or columns; otherwise it is packed in tiles. */
static inline bool xd_reads_elements(const xd_kernel *k) {
  return k->b == TW_I8 || k->b == TW_I16 || k->b == TW_BF16 || k->b == TW_F32;
}
/* True if sums have 32 bits: a narrower C is made from them after all of K. */
static inline bool xd_wide_sums(const xd_kernel *k) { return k->acc == TW_I32 || k->acc == TW_F32; }
/* Rows of A, depth (for codes: blocks in one vector of them) and columns of B of which tiles are multiples: a cluster
 * of accumulators. */
static inline int xd_unit_m(const xd_kernel *k) { return k->vmac[0] * k->cluster[0]; }
static inline int xd_unit_k(const xd_kernel *k) {
  return k->b == TW_TERNARY ? XD_UNPACK_CODES / k->vmac[2] : xd_scaled_weights(k) ? XD_SCALE_DEPTH : k->vmac[1];
}
static inline int xd_unit_n(const xd_kernel *k) { return k->vmac[2] * k->cluster[1]; }

extern const tw_config_schema xd_config_schema;
/* Parses the text of a configuration: one "key = value" a line, '#' starts a comment. First the machine's keys, then a
 * line "[array]" and its keys, then for each kernel a line "[kernel]" and its keys. Errors (TW_USAGE) name `origin` and
 * the line. */
tw_status xd_config_parse(const char *text, const char *origin, xd_config *out, tw_error *);

#endif
