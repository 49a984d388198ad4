/* loop.h - the innermost loop of a GEMM as assembly: with its order of instructions (schedule.c) and its registers
 * (allocate.c), written as one statement of inline assembly (emit.c). src/gpu/amd/loop.h defines its computation.
 *
 * Time is counted in ticks, TICKS to a matrix instruction; a step of k takes `period` of them. Every tile of k has the
 * same life, one period after the previous tile, counted from the time when its stage is ready:
 *
 *   0                 a barrier: each wave has waited for its own copies of the tile
 *   reads             its pieces are read to registers, evenly, in the order in which they are needed
 *   freed             a barrier: all waves have read it; copies of the tile `stages` later begin, evenly
 *   begin ...         its products, in order, for one period
 *
 * Where copies pass through registers, each waits for its load of the previous period, stores it to LDS, and loads the
 * same part of the next tile into the free register.
 *
 * With `blocks`, sums of a tile are no operands of the next one. Products of two fragments of C take turns, all depths
 * one after the other. While the next two are multiplied, they are scaled and added to the sums. Both are vector
 * registers then, and operands are accumulation registers.
 *
 * So the loop's body is the order of all these operations in one period. It is repeated until stages and registers
 * return to their first places.
 *
 * Invariants, by construction: a product waits until its operands are read (the counter falls in order, so the number
 * of later reads is what may be left); a stage is read after a barrier that follows the wait for its copies, and
 * overwritten after a barrier that follows the wait for its reads; a register is not read into before its last product
 * was issued; m0 is written at least one instruction before the copy that uses it; sums are not used before the last
 * product's passes are over. The emulator's checks verify the same rules. */
#ifndef TW_CDNA_LOOP_H
#define TW_CDNA_LOOP_H

#include "base/strings.h"
#include "gpu/amd/loop.h"
#include "target/cdna/arch.h"
#include "tilewright/status.h"

enum {
  CDNA_LOOP_TICKS = 16,
  CDNA_LOOP_FRAGMENTS = 96, /* operands of a tile: rows or columns of a matrix instruction, at a depth */
  CDNA_LOOP_TURNS = 8,
  CDNA_LOOP_OPS = 512
};

/* A matrix instruction. */
typedef struct cdna_loop_product {
  const char *name, *formats; /* modifiers after its operands */
  int words, sums, cycles;    /* registers of an operand; registers of sums */
  bool fixes;                 /* copies convert OCP's codes to FNUZ */
  int halves;                 /* number of its instructions; each computes this part of the words */
} cdna_loop_product;

typedef enum cdna_loop_kind {
  CDNA_LOOP_READY, /* wait and barrier */
  CDNA_LOOP_READ,
  CDNA_LOOP_FREED, /* wait and barrier */
  CDNA_LOOP_PLACE, /* sets m0 for the next copy */
  CDNA_LOOP_FIX,   /* converts a loaded word for the multiplication: gfx942's 8-bit formats */
  CDNA_LOOP_COPY,
  CDNA_LOOP_ADVANCE, /* advances to the next tile */
  CDNA_LOOP_FACTORS  /* multiplies scales, loads the next tile's scales */
} cdna_loop_kind;

typedef struct cdna_loop_op {
  cdna_loop_kind kind;
  int time;     /* ticks since the beginning of the tile's life */
  int operand;  /* 0 A, 1 B; PLACE, COPY, ADVANCE: 2 scales */
  int fragment; /* READ: the fragment; FIX: also the word */
  int part;     /* word of its 16 bytes; PLACE, COPY: number of the copy */
} cdna_loop_op;

typedef struct cdna_loop_fragment {
  int operand, row, depth;
  bool scales;               /* the scales of the whole operand, treated like a fragment that every product uses */
  int first_use, last_use;   /* first and last product of the tile that uses it */
  int first_read, last_read; /* in the order of reads */
  int read_at;               /* tick of its first read */
} cdna_loop_fragment;

typedef struct cdna_loop {
  const tw_tile_loop *of;
  cdna_loop_product product;
  int parts[2]; /* reads of a fragment */
  int products, period, begin;
  int n_fragments, n_reads, n_copies, copies[3]; /* for A, B, scales */
  int scales[2];                                 /* their fragments, of A and B */
  cdna_loop_fragment fragment[CDNA_LOOP_FRAGMENTS];
  int n_ops;
  cdna_loop_op op[CDNA_LOOP_OPS]; /* by time */
  /* allocate.c */
  int turns; /* periods in the body */
  int place[CDNA_LOOP_FRAGMENTS][CDNA_LOOP_TURNS], places;
} cdna_loop;

/* The fragments and sums of product i of a tile, and its depth. */
typedef struct cdna_loop_use {
  int a, b, row, col, depth;
} cdna_loop_use;
cdna_loop_use cdna_loop_use_of(const cdna_loop *, int product);
/* The reads of a fragment. */
int cdna_loop_reads_of(const cdna_loop *, const cdna_loop_fragment *);

tw_status cdna_loop_schedule(cdna_arch, const tw_tile_loop *, cdna_loop *, tw_error *);
/* Registers of fragments: `places`, each for one fragment at a time. */
tw_status cdna_loop_allocate(cdna_loop *, tw_error *);
/* An instruction, as a line of the statement. */
__attribute__((format(printf, 2, 3))) void cdna_loop_line(tw_text *, const char *format, ...);
/* Schedules, allocates and writes the loop. The statement is added to the text unless that is NULL. */
tw_status cdna_loop_emit(cdna_arch, const tw_tile_loop *, tw_text *, tw_error *);

/* As above for attention's backward pass (back.c). */
tw_status cdna_loop_back(cdna_arch, const tw_tile_back_loop *, tw_text *, tw_error *);

#endif
