/* cu.h - one compute unit, cycle by cycle: the workgroups that share it, executed by the emulator in the order in which
 * their instructions issue.
 *
 * The model, all of it (numbers: rates.h):
 *   - Each SIMD is served once a slot. Waves are asked by priority, then by age; each may issue its next instruction,
 *     in order, if its registers are there, its s_waitcnt holds and its unit has room. In a slot a SIMD issues one
 *     instruction of each kind: scalar, vector or matrix, LDS, vector memory, scalar memory; s_nop, s_waitcnt and
 *     their like go beside these.
 *   - Vector instructions take a slot, transcendental ones more. A matrix instruction takes its passes of 4 cycles on
 *     its SIMD's matrix unit, while vector instructions go on. A result is C of the next matrix instruction after its
 *     passes, anything else some passes later.
 *   - LDS serves one instruction after the other: as many cycles as the phases and banks of its addresses take turns,
 *     as sending 64 addresses takes, and as its data takes through the port that two SIMDs share (half of the LDS's
 *     width).
 *   - Vector memory: 64 addresses, then lines of L1 (LRU, exact for these workgroups), one after the other. What misses
 *     takes this CU's share of the L2's bandwidth, and where it misses L2, of the LLC's and memory's; hits beyond L1
 *     are dealt out evenly by the rates of reuse.h, but that lines this CU asks again are in L2. Stores take their
 *     bytes, in requests of l2_write at least; L2 writes back, so each byte takes the LLC once. Loads to LDS take write
 *     cycles of LDS when they arrive.
 *   - Counters fall in order. A wave ends when its last access has.
 *   - Not modelled: instruction fetch, translation of addresses, channels of L2, refresh, contention of scalar caches.
 *
 * Matrix instructions are executed only if they are asked to be (time.h): of most kernels no address and no branch depends on
 * their results. */
#ifndef TW_CDNA_CU_H
#define TW_CDNA_CU_H

#include "target/cdna/emulator/observe.h"
#include "target/cdna/machine.h"
#include "target/cdna/time/rates.h"

/* What a wave waits for. */
typedef enum cdna_stall {
  CDNA_WAITS_ISSUE,    /* others of its SIMD issue */
  CDNA_WAITS_MATRIX,   /* the matrix unit is busy */
  CDNA_WAITS_RESULT,   /* registers of a matrix instruction */
  CDNA_WAITS_REGISTER, /* other registers; s_nop, s_sleep, branches */
  CDNA_WAITS_VM,       /* vmcnt */
  CDNA_WAITS_LGKM,     /* lgkmcnt */
  CDNA_WAITS_BARRIER,
  CDNA_WAITS_LDS,  /* the LDS's queue */
  CDNA_WAITS_VMEM, /* vector memory's queue */
  CDNA_WAITS
} cdna_stall;
const char *cdna_stall_name(cdna_stall);

/* What is kept busy. */
typedef enum cdna_unit {
  CDNA_MATRIX,
  CDNA_VECTOR,
  CDNA_SCALAR_UNIT,
  CDNA_LDS,
  CDNA_L1,
  CDNA_L2,
  CDNA_LLC,
  CDNA_MEMORY,
  CDNA_UNITS
} cdna_unit;
const char *cdna_unit_name(cdna_unit);

/* Where lines beyond L1 are found: parts of those of one buffer (a place in cdna_memory). */
typedef struct cdna_reuse {
  double l2[CDNA_ALLOCATIONS_MAX], llc[CDNA_ALLOCATIONS_MAX]; /* llc: of what L2 misses */
  double asked[CDNA_ALLOCATIONS_MAX];                         /* lines, to weigh them */
} cdna_reuse;

/* This CU's share of what it shares, bytes a cycle; and latencies, in cycles. */
typedef struct cdna_share {
  double l2, llc, memory;
  double l1_cycles, l2_cycles, llc_cycles, memory_cycles, arguments_cycles;
} cdna_share;

/* A piece of time of a unit, for timelines. */
typedef struct cdna_span {
  uint8_t simd, wave; /* wave: its slot of the SIMD */
  uint8_t kind;       /* a cdna_unit, or CDNA_UNITS + a cdna_stall of a wave */
  const char *name;
  int64_t from, to;
} cdna_span;
typedef struct cdna_spans {
  size_t n, room;
  cdna_span *at;
} cdna_spans;

/* What a workgroup does, whatever the order of its waves: how many instructions, and which with which addresses, as a sum of
 * what each is mixed to. */
typedef struct cdna_work {
  uint64_t instructions, sum, did[CDNA_KINDS];
} cdna_work;
/* The instruction that is about to execute. */
void cdna_work_add(cdna_work *, const cdna_wave *, const cdna_op *);

enum { CDNA_TOGETHER_MAX = 32 }; /* workgroups of a CU */

typedef struct cdna_cu_result {
  int64_t cycles;           /* from the first issue to the end of the last store */
  double busy[CDNA_UNITS];  /* cycles; of matrix and vector units: of the four together, a quarter each */
  double stall[CDNA_WAITS]; /* cycles of waves */
  double wave_cycles;       /* of waves, from start to end */
  double instructions, matrix_flops, bytes[CDNA_UNITS];
  double turns, phases;              /* of LDS: conflicts are the difference */
  double did[CDNA_KINDS];            /* work by kind, of all */
  cdna_work work[CDNA_TOGETHER_MAX]; /* of each workgroup, where it is looked at */
} cdna_cu_result;

typedef struct cdna_cu_setup {
  cdna_arch arch;
  const cdna_rates *rates;
  const cdna_machine *machine;
  const cdna_effects *effects; /* of the program */
  const cdna_dispatch *dispatch;
  cdna_memory *memory;
  uint64_t arguments; /* address */
  const cdna_reuse *reuse;
  cdna_share share;
  const uint64_t *group; /* that run on this CU, in order; `together` at a time */
  int n_groups, together;
  cdna_spans *spans; /* NULL: none */
  bool execute_matrix;
  /* s_memtime reads the modelled time. Otherwise it reads what it reads when results are checked. */
  bool modelled_clock;
  uint64_t limit; /* instructions of a wave; 0: none */
  bool look;      /* at what workgroups do: `work` */
} cdna_cu_setup;

tw_status cdna_cu_run(const cdna_cu_setup *, cdna_cu_result *, tw_error *);

#endif
