/* machine.h - the AIE2P core as described in its text (configs/aie2p.core.txt): slots of a bundle, read and write
 * cycles of instructions, registers, FIFOs, banks. The source of each number is in that text. */
#ifndef TW_XDNA2_CORE_MACHINE_H
#define TW_XDNA2_CORE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

#include "tilewright/status.h"

/* Bypasses: a result reaches the reader one cycle early if both ends have the same bypass. XC_BYPASS_VEC ends at the
 * accumulator operand, XC_BYPASS_MV at the other operands. */
typedef enum xc_bypass { XC_BYPASS_NONE, XC_BYPASS_VEC, XC_BYPASS_MV } xc_bypass;

/* Cycles count from 1, the cycle of issue; 0: the instruction has no such access. */
typedef struct xc_instruction {
  char name[16];
  int n_slots, slot[4]; /* the slots in which it can issue, in order of preference */
  int operands;         /* vectors, and accumulators that are only read, are read */
  int accumulator;      /* the accumulator operand of a multiply-accumulate is read */
  int result;           /* written at the end of this cycle */
  int memory;           /* cycle of its access to a bank */
  int position;         /* cycle in which it changes its FIFO's state */
  xc_bypass bypass;
} xc_instruction;

enum { XC_SLOTS_MAX = 8, XC_INSTRUCTIONS_MAX = 48 };

typedef struct xc_machine {
  char name[32];
  int n_slots;
  char slot[XC_SLOTS_MAX][8];
  bool write_port[XC_SLOTS_MAX]; /* at most one vector result of this slot arrives in a cycle */
  int bundle_bytes, program_bytes, loop_bundles;
  int vectors, accumulators, accumulator_parts; /* parts: units in which loads and stores move an accumulator */
  int load_fifos, store_fifos, pops_per_fill, pushes_per_flush;
  int banks;
  int n_instructions;
  xc_instruction instruction[XC_INSTRUCTIONS_MAX];
} xc_machine;

/* Parses the text. Errors (TW_USAGE) name `origin` and the line. */
tw_status xc_machine_parse(const char *text, const char *origin, xc_machine *out, tw_error *);

/* The machine that is part of the program; parsed once, at the first call from any thread. */
const xc_machine *xc_machine_aie2p(void);

/* Index of an instruction; -1 if unknown. */
int xc_find_instruction(const xc_machine *, const char *name);

#endif
