/* machine.h - the traits of a GPU that the kernels of src/gpu depend on.
 *
 * Kernels call the functions of docs/reference/tile-library.md; `header` implements them for the machine. A feature of some
 * machines is a trait here, with functions of its own in the header. It is never a fork of an op. */
#ifndef TW_TILE_MACHINE_H
#define TW_TILE_MACHINE_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/strings.h"
#include "op/gemm_problem.h"
#include "tilewright/status.h"
#include "tilewright/type.h"

/* How a shared tile is read. Rows have `row_bytes` bytes; `side` rows are read at a time, and a thread reads 16
 * bytes along a row. `across`: a thread reads along a column. `values`: along a column in the order of P in
 * attention, and with `rows_too` also along rows. */
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
  const char *header;      /* the header that kernels include: "tile.cuh" */
  const char *warp_header; /* header of NVIDIA's kernels in which single warps multiply */
  int processors;          /* multiprocessors, compute units */
  int64_t shared_bytes;    /* maximum of a block */
  int64_t l2_bytes;
  int registers;      /* 32-bit registers of a block */
  int block_threads;  /* at most */
  int warp_threads;   /* threads that execute each instruction together */
  int group_threads;  /* threads that multiply together */
  int group_rows;     /* rows of the smallest product of a group */
  int columns;        /* maximum columns of a product; multiples of 16 */
  int panel_bytes;    /* contiguous bytes in a row of a shared tile; also the smallest useful step along k */
  int copy_alignment; /* TMA requires pitches that are multiples of this number of bytes; 0: no TMA */
  /* Maximum number of blocks in a cluster; 1: the machine has no clusters. */
  int cluster_max;
  int blocks_together; /* maximum number of blocks in a cluster with distributed shared memory */
  bool registers_move; /* registers can move from producer to consumer warpgroups (setmaxnreg) */
  bool few_rows;       /* single warps multiply, with weights that are decoded in registers (gemm_skinny.h) */
  bool (*multiplies)(tw_type a, tw_type b); /* do its matrix units multiply these types? */

  /* For multistage kernels (gemm_multistage.h). */
  /* bytes of each operand that a thread supplies to a product */
  int (*product_bytes)(tw_type);
  bool block_scales;      /* its products take a scale for each 32 elements */
  bool halved_float8;     /* its e4m3 and e5m2 codes mean half of the value that they have in OCP's formats */
  bool transposing_reads; /* reads that transpose shared tiles of 16-bit elements with k down their rows */
  int direct_bytes;       /* bytes of a thread in a direct-to-LDS load; 0: no such loads */
  int chips;              /* chiplets (XCDs); blocks are dealt to them round-robin */
  /* SIMDs of a compute unit. The waves of a workgroup are dealt to them and share the registers of a SIMD. */
  int simds;
  int simd_registers;
  /* The C++ type of the swizzle for this access, as text; "plain" where no swizzle is needed or known. */
  void (*swizzle)(const struct tw_tile_machine *, const tw_tile_access *, char text[TW_TILE_SWIZZLE]);
  /* Writes the hand-scheduled loop (gpu/amd/loop.h). With a NULL text, only checks that this is possible. NULL: the
   * machine has no such loop. */
  tw_status (*loop)(const struct tw_tile_machine *, const tw_tile_loop *, tw_text *, tw_error *);
  tw_status (*back_loop)(const struct tw_tile_machine *, const tw_tile_back_loop *, tw_text *, tw_error *);
  const void *with; /* the target's own */
} tw_tile_machine;

/* A rule of a plan or problem: rejects it for this reason if the condition holds. Returns from the function, which has
 * a parameter `error`. Rules are evaluated in order: later ones rely on earlier ones. */
#define TW_REJECT_IF(condition, ...)                                                                                   \
  do {                                                                                                                 \
    if (condition) return tw_fail(error, TW_USAGE, __VA_ARGS__);                                                       \
  } while (0)

/* The rule that `stages` of a pipeline fit into a block's shared memory. */
#define TW_REJECT_STAGES(machine, stages, bytes)                                                                       \
  TW_REJECT_IF((bytes) > (machine)->shared_bytes,                                                                      \
               "%d stages need %" PRId64 " bytes of shared memory, which exceeds %" PRId64                             \
               "; use fewer stages or smaller tiles",                                                                  \
               stages, bytes, (machine)->shared_bytes)

/* Bytes of shared memory for each of `blocks` blocks on a multiprocessor. The system takes another 1,024 for each
 * block. */
enum { TW_TILE_BLOCK_SYSTEM_BYTES = 1024 };
static inline int64_t tw_tile_shared_of_block(const tw_tile_machine *m, int blocks) {
  return (m->shared_bytes + TW_TILE_BLOCK_SYSTEM_BYTES) / blocks - TW_TILE_BLOCK_SYSTEM_BYTES;
}

/* Registers of a thread if this many threads share a multiprocessor; an instruction can name 255. */
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
