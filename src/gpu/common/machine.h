/* machine.h - the traits of a GPU that the kernels of src/gpu depend on.
 *
 * Kernels call the functions of docs/reference/tile-library.md; `header` implements them for the machine. A feature of some
 * machines is a trait here, with functions of its own in the header. It is never a fork of an op. */
#ifndef TW_TILE_MACHINE_H
#define TW_TILE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strings.h"
#include "op/gemm_problem.h"
#include "tilewright/status.h"
#include "tilewright/type.h"

/* How a shared tile is read. Rows have `row_bytes` bytes; `side` rows are read at a time, and a thread reads 16 bytes along a
 * row. `across`: a thread reads along a column. `values`: along a column in the order of P in attention, and with `rows_too`
 * also along rows. */
typedef struct tw_tile_access {
  int rows, row_bytes, side, element_bytes;
  bool across, values, rows_too;
} tw_tile_access;

enum { TW_TILE_SWIZZLE = 96 };

/* The computation of a hand-scheduled loop (gpu/amd/loop.h). */
typedef struct tw_tile_loop tw_tile_loop;
typedef struct tw_tile_back_loop tw_tile_back_loop;

/* The embedded folder of the device headers that all machines share (base/embedded.h). */
#define TW_TILE_RUNTIME "gpu/common/runtime/"

typedef struct tw_tile_machine {
  const char *header;      /* what a kernel includes: "tile.cuh" */
  const char *warp_header; /* of NVIDIA's kernels whose warps multiply by themselves */
  int processors;          /* multiprocessors, compute units */
  int64_t shared_bytes;    /* of a block, at most */
  int64_t l2_bytes;
  int registers;      /* of 32 bits, of a block */
  int block_threads;  /* at most */
  int warp_threads;   /* that take each instruction together */
  int group_threads;  /* threads that multiply together */
  int group_rows;     /* rows of the smallest product of a group */
  int columns;        /* of a product, at most; multiples of 16 */
  int panel_bytes;    /* of a row of a shared tile that are contiguous; also the least useful step along k */
  int copy_alignment; /* bytes: TMA requires pitches that are multiples; 0: no TMA */
  /* Blocks of a cluster at most; 1: the machine has no clusters. */
  int cluster_max;
  int blocks_together; /* of a cluster with distributed shared memory, at most */
  bool registers_move; /* from producer to consumer warpgroups (setmaxnreg) */
  bool few_rows;       /* warps multiply by themselves, with weights that become numbers in registers (gemm_skinny.h) */
  bool (*multiplies)(tw_type a, tw_type b); /* on its matrix units */

  /* For multistage kernels (gemm_multistage.h). */
  int (*product_bytes)(tw_type); /* of each operand that a thread gives to a product: 16 times a power of two */
  bool block_scales;             /* its products take a scale for each 32 elements */
  bool halved_float8;            /* its e4m3 and e5m2 are half of what the same codes are in OCP's formats */
  bool transposing_reads;        /* of shared tiles of 16-bit elements that are stored with k down their rows */
  int direct_bytes;              /* of a thread in a direct-to-LDS load; 0: no such loads */
  int chips;                     /* chiplets (XCDs); blocks are dealt to them round-robin */
  /* SIMDs of a compute unit. The waves of a workgroup are dealt to them and share the registers of a SIMD. */
  int simds;
  int simd_registers;
  /* The C++ type of the swizzle for this access, as text; "plain" where no swizzle is needed or known. */
  void (*swizzle)(const struct tw_tile_machine *, const tw_tile_access *, char text[TW_TILE_SWIZZLE]);
  /* Writes the hand-scheduled loop (gpu/amd/loop.h). Without a text: only checks that it can. NULL: the machine has none. */
  tw_status (*loop)(const struct tw_tile_machine *, const tw_tile_loop *, tw_text *, tw_error *);
  tw_status (*back_loop)(const struct tw_tile_machine *, const tw_tile_back_loop *, tw_text *, tw_error *);
  const void *with; /* the target's own */
} tw_tile_machine;

/* Bytes of shared memory for each of `blocks` blocks of a multiprocessor: the system takes 1,024 more for each of them. */
enum { TW_TILE_BLOCK_SYSTEM_BYTES = 1024 };
static inline int64_t tw_tile_shared_of_block(const tw_tile_machine *m, int blocks) {
  return (m->shared_bytes + TW_TILE_BLOCK_SYSTEM_BYTES) / blocks - TW_TILE_BLOCK_SYSTEM_BYTES;
}

/* Registers of a thread where this many threads share a multiprocessor; an instruction can name 255. */
enum { TW_TILE_THREAD_REGISTERS_MAX = 255 };
static inline int tw_tile_registers_of_thread(const tw_tile_machine *m, int threads) {
  const int registers = m->registers / threads;
  return registers < TW_TILE_THREAD_REGISTERS_MAX ? registers : TW_TILE_THREAD_REGISTERS_MAX;
}

/* The name of a type in the tile library: "float", "bf16". */
static inline const char *tw_tile_type_word(tw_type t) { return t == TW_F32 ? "float" : tw_type_name(t); }

/* The function of the tile library for an activation; NULL: none. */
static inline const char *tw_tile_act_word(tw_glu act) {
  static const char *const words[] = {
      [TW_GLU_SILU] = "silu", [TW_GLU_GELU_ERF] = "gelu_erf", [TW_GLU_GELU_TANH] = "gelu_tanh"};
  return words[act];
}

#endif
