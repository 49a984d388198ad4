/* machine.h - what a GPU offers to the kernels of src/tile: the traits that their structure depends on.
 *
 * The kernels are written in the words of docs/reference/tile-library.md; `header` implements them for the machine. What only some machines
 * have is a trait here, with its own words in the header, and never a fork of an op. */
#ifndef TW_TILE_MACHINE_H
#define TW_TILE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strings.h"
#include "tile/loop.h"
#include "tilewright/status.h"
#include "tilewright/type.h"

/* What a shared tile is read by: rows of `row_bytes` bytes, `side` of them at a time, 16 bytes of a thread along a row; or,
 * `across`, along a column; or, `values`, along a column in the order in which the weights of attention lie, and, with
 * `rows_too`, along its rows as well. */
typedef struct tw_tile_access {
  int rows, row_bytes, side, element_bytes;
  bool across, values, rows_too;
} tw_tile_access;

enum { TW_TILE_SWIZZLE = 96 };

/* Where the words that all machines share lie among the files in the library (base/embedded.h); a machine's headers include
 * them as files beside them. */
#define TW_TILE_RUNTIME "tile/runtime/"

typedef struct tw_tile_machine {
  const char *header;   /* what a kernel includes: "tile.cuh" */
  int processors;       /* multiprocessors, compute units */
  int64_t shared_bytes; /* of a block, at most */
  int64_t l2_bytes;
  int registers;       /* of 32 bits, of a block */
  int block_threads;   /* at most */
  int warp_threads;    /* that take each instruction together */
  int group_threads;   /* threads that multiply together */
  int group_rows;      /* rows of the smallest product of a group */
  int columns;         /* of a product, at most; multiples of 16 */
  int panel_bytes;     /* of a row of a shared tile that lie together; also the least that pays along k */
  int copy_alignment;  /* bytes: of pitches that asynchronous copies of tiles can take; 0: there are no such copies */
  int team;            /* blocks that can copy to each other, at most; 1: none */
  int blocks_together; /* of a cluster, at most: they can write to each other */
  bool registers_move; /* from groups that copy to groups that multiply */
  bool few_rows;       /* warps multiply by themselves, with weights that become numbers in registers (gemm_skinny.h) */
  bool (*multiplies)(tw_type a, tw_type b); /* on its matrix units */

  /* Of machines whose groups are alike (gemm_multistage.h). */
  int (*product_bytes)(tw_type); /* of a thread that a product takes from each operand: 16 times a power of two */
  bool block_scales;             /* its products take a scale for each 32 elements */
  bool halved_float8;            /* its e4m3 and e5m2 are half of what the same codes are in OCP's formats */
  bool transposing_reads;        /* of shared tiles of 16-bit elements that are stored with k down their rows */
  int direct_bytes;              /* of a thread that a copy moves to shared memory past the registers; 0: none */
  int chips;                     /* chiplets that blocks are dealt to in turn */
  int simds; /* of a processor: groups of a block are dealt to them, and share the registers of a thread there */
  int simd_registers;
  /* The type that swizzles such a tile, as text; "plain" where none is needed or known. */
  void (*swizzle)(const struct tw_tile_machine *, const tw_tile_access *, char text[TW_TILE_SWIZZLE]);
  /* The innermost loop, written by the machine itself (loop.h); no text: only whether it could. NULL: it has none. */
  tw_status (*loop)(const struct tw_tile_machine *, const tw_tile_loop *, tw_text *, tw_error *);
  tw_status (*back_loop)(const struct tw_tile_machine *, const tw_tile_back_loop *, tw_text *, tw_error *);
  const void *with; /* the target's own */
} tw_tile_machine;

/* As the vocabulary has it: "float", "bf16". */
static inline const char *tw_tile_type_word(tw_type t) { return t == TW_F32 ? "float" : tw_type_name(t); }

#endif
