/* functional.h - the effect of every Gemmini command on the architectural state, bit for bit, without time.
 *
 * The state is the scratchpad, the accumulator, the configuration registers and the contents of the array (preloaded
 * weights or output-stationary partial sums). The timing model decides when a command happens and applies it here once,
 * as a whole: loads and stores when they issue, execute commands in program order. The hardware loops (funct 8..13 and
 * 15..21) are unrolled by the timing model into the commands below.
 *
 * Every function that takes a command returns true, or false with one line in `why`: a fault (an address outside the
 * memory) or something that the machine, or this model, does not support. After false the state is unspecified and the
 * simulation is over. Nothing is silently ignored.
 *
 * Semantics follow the RTL (ucb-bar/gemmini at be2e9f2); functional.c names the file and line of each rule. */
#ifndef TW_GEMMINI_FUNCTIONAL_H
#define TW_GEMMINI_FUNCTIONAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/gemmini/command.h"
#include "target/gemmini/config.h"
#include "target/gemmini/core/rv64.h"

enum gm_activation { GM_NO_ACTIVATION = 0, GM_RELU = 1, GM_LAYERNORM = 2, GM_IGELU = 3 };

/* The registers that the configuration commands set. */
typedef struct gm_load_registers {
  bool configured; /* the RTL's registers have no reset value: an mvin before its config_ld is rejected */
  uint64_t stride; /* bytes between rows in memory; 0 repeats the first row */
  float scale;
  bool shrink;       /* loads into the accumulator take input-typed data */
  int block_stride;  /* rows between the DIM-wide blocks of one mvin */
  int pixel_repeats; /* a loaded row is repeated in this number of local rows, each shifted right by one pixel */
} gm_load_registers;

typedef struct gm_execute_registers {
  bool configured;
  bool weight_stationary;
  enum gm_activation activation; /* saturation of results in the scratchpad, scale of operands from the accumulator */
  bool a_transposed, b_transposed;
  int a_stride, c_stride; /* rows between consecutive rows of A and of C */
  int in_shift;           /* rounding right shift of output-stationary results */
  float acc_scale;        /* for operands read from the accumulator */
} gm_execute_registers;

typedef struct gm_store_registers {
  bool configured;
  uint64_t stride; /* bytes between rows in memory */
  enum gm_activation activation;
  float acc_scale;
  int pool_stride, pool_size;                     /* pool_stride 0: no pooling */
  int pool_out_dim, pool_out_rows, pool_out_cols; /* pool_out_dim, porows, pocols */
  int out_rows, out_cols;                         /* orows, ocols */
  int upper_pad, left_pad;
} gm_store_registers;

typedef struct gm_registers {
  gm_load_registers load[3]; /* mvin, mvin2, mvin3 */
  gm_execute_registers execute;
  gm_store_registers store;
} gm_registers;

typedef struct gm_arch gm_arch;

/* Both arguments must outlive the gm_arch. NULL without memory. */
gm_arch *gm_arch_new(const gm_config *, const rv64_memory *);
/* From now on, reading data of a pending store is a fault, until rv64_writes_done (a fence). */
void gm_arch_keep_order(gm_arch *, bool);
/* The core's next command is at pc. Returns its order. */
uint32_t gm_arch_issue(gm_arch *, uint64_t pc);
void gm_arch_core_reads(gm_arch *, uint64_t pc, uint64_t address, unsigned bytes);
void gm_arch_fence(gm_arch *);
/* Counts loads whose block stride is below their rows. Their result is correct if they are one block wide, but the
 * RTL asserts against them (LoadController.scala), and an RTL simulation ends there. */
uint64_t gm_arch_short_strides(const gm_arch *);
void gm_arch_free(gm_arch *);

bool gm_arch_config(gm_arch *, const gm_command *, char why[256]); /* config_ex, _ld, _st; norm is refused */
bool gm_arch_load(gm_arch *, const gm_command *, char why[256]);   /* mvin, mvin2, mvin3 */
/* Announces an mvin or mvout, so that the host can prefetch its rows. */
void gm_arch_expect(const gm_arch *, const gm_command *);
bool gm_arch_store(gm_arch *, const gm_command *, char why[256]); /* mvout, pooling included */
bool gm_arch_preload(gm_arch *, const gm_command *, char why[256]);
bool gm_arch_compute(gm_arch *, const gm_command *, char why[256]); /* compute_preloaded or _accumulated, by funct */

/* Calls the function above that command->funct selects; flush does nothing; loops and counters are rejected. */
bool gm_arch_apply(gm_arch *, const gm_command *, char why[256]);

const gm_registers *gm_arch_registers(const gm_arch *);

/* Applies one configuration command to *registers, without a gm_arch: for the hazard checks at allocation. */
bool gm_registers_apply(gm_registers *, const gm_config *, const gm_command *, char why[256]);

/* A read of a row that was never written. */
typedef struct gm_unwritten {
  const char *command; /* the command that read it; NULL: none did */
  bool acc;            /* a row of the accumulator, not of the scratchpad */
  uint32_t row;
} gm_unwritten;

/* Use of the memories by the program: rows ever written, and one past the highest of them. */
typedef struct gm_memory_use {
  size_t spad_rows, spad_end, acc_rows, acc_end;
  gm_unwritten unwritten; /* the first one */
} gm_memory_use;
gm_memory_use gm_arch_memory_use(const gm_arch *);

/* One row of the scratchpad or of the accumulator, for tests and traces; NULL if it does not exist. */
const void *gm_arch_spad_row(const gm_arch *, size_t row);
const void *gm_arch_acc_row(const gm_arch *, size_t row);

#endif
