/* cu.h - one compute unit, cycle by cycle: the workgroups that share it, executed by the emulator in the order in which
 * their instructions issue.
 *
 * The complete model (numbers: rates.h):
 *   - Each SIMD has one slot at a time. Waves are considered by priority, then by age; each may issue its next
 *     instruction, in order, if its registers are ready, its s_waitcnt is satisfied and its unit has room. In a slot a
 *     SIMD issues one instruction of each kind: scalar, vector or matrix, LDS, vector memory, scalar memory; s_nop,
 *     s_waitcnt and similar instructions are issued in addition.
 *   - Vector instructions take a slot; transcendental ones, conversions and exchanges more (isa/effects.c). A matrix instruction takes its passes of 4 cycles on
 *     its SIMD's matrix unit, while vector instructions continue. Its result is available as C of the next matrix
 *     instruction after its passes, and for other uses some passes later.
 *   - SIMDs use LDS and vector memory in turn: a SIMD that was refused comes before SIMDs that have used the unit since.
 *   - A scalar or memory instruction waits valu_to_scalar for a scalar register that a vector instruction writes; another
 *     vector instruction does not.
 *   - LDS serves instructions in order. An LDS instruction takes the maximum of three times: the turns for the phases and banks of its addresses, the transfer of 64 addresses, and the transfer of its data through the port that two SIMDs share (half of the LDS's width).
 *   - Vector memory: 64 addresses, then lines of L1 (LRU, exact for these workgroups), one after the other. Each miss
 *     occupies a line of L1 until it arrives. While misses occupy all lines, the next miss waits. Misses use this CU's
 *     share of the L2's bandwidth, and L2's misses its share of the LLC's and memory's. Hits beyond L1 are distributed
 *     evenly by the rates of reuse.h; lines that this CU requests again hit L2. Stores use bandwidth for their bytes, in
 *     requests of at least l2_write; L2 writes back, so each byte uses the LLC once. Loads to LDS use write cycles of
 *     LDS when they arrive.
 *   - Scratch is memory of the wave's place on the CU, through L1 and this CU's share of L2; the LLC has the rest.
 *   - Counters fall in order. Registers of vector memory and LDS can be read when their data arrive. A wave ends when its last access ends.
 *   - Code of a kernel that exceeds the instruction cache: lines of an LRU cache. The other CU that shares the cache
 *     requests the same lines at the same time. A wave buffers code_lines lines, and requests the next line when it
 *     leaves a line. A miss takes code_ns.
 *   - Not modelled: translation of addresses, channels of L2, refresh, contention of scalar caches.
 *
 * Matrix instructions are executed only on request (time.h): in most kernels no address and no branch depends on their
 * results. */
#ifndef TW_CDNA_CU_H
#define TW_CDNA_CU_H

#include "target/cdna/emulator/observe.h"
#include "target/cdna/machine.h"
#include "target/cdna/time/rates.h"

/* Causes of a wave's waits. */
typedef enum cdna_stall {
  CDNA_WAITS_ISSUE,    /* other waves of its SIMD issue */
  CDNA_WAITS_MATRIX,   /* the matrix unit is busy */
  CDNA_WAITS_RESULT,   /* registers of a matrix instruction */
  CDNA_WAITS_REGISTER, /* other registers; s_nop, s_sleep, branches */
  CDNA_WAITS_VM,       /* vmcnt */
  CDNA_WAITS_LGKM,     /* lgkmcnt */
  CDNA_WAITS_BARRIER,
  CDNA_WAITS_LDS,  /* the LDS's queue */
  CDNA_WAITS_VMEM, /* vector memory's queue */
  CDNA_WAITS_CODE, /* the instruction cache */
  CDNA_WAITS
} cdna_stall;
const char *cdna_stall_name(cdna_stall);

/* Units that can be busy. */
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

/* Where lines beyond L1 are found: fractions for the lines of one buffer (a place in cdna_memory). */
typedef struct cdna_reuse {
  double l2[CDNA_ALLOCATIONS_MAX], llc[CDNA_ALLOCATIONS_MAX]; /* llc: fraction of L2's misses */
  double asked[CDNA_ALLOCATIONS_MAX];                         /* number of lines, as weights */
} cdna_reuse;

/* This CU's share of shared resources, in bytes per cycle; and latencies, in cycles. */
typedef struct cdna_share {
  double l2, llc, memory;
  double l1_cycles, l2_cycles, llc_cycles, memory_cycles, arguments_cycles, code_cycles;
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

/* The work of a workgroup, independent of the order of its waves: the number of instructions, and a sum of hashes
 * over the instructions and their addresses. */
typedef struct cdna_work {
  uint64_t instructions, sum, did[CDNA_KINDS];
} cdna_work;
/* Adds the instruction that is about to execute. */
void cdna_work_add(cdna_work *, const cdna_wave *, const cdna_op *);

enum { CDNA_TOGETHER_MAX = 32 }; /* workgroups of a CU */

typedef struct cdna_cu_result {
  int64_t cycles;           /* from the first issue to the end of the last store */
  double busy[CDNA_UNITS];  /* busy cycles; for matrix and vector units, a quarter of the cycles of all four */
  double vector_alone;      /* of vector units, without the issue of matrix instructions */
  double stall[CDNA_WAITS]; /* cycles of waves */
  double wave_cycles;       /* time of waves, from start to end */
  double instructions, matrix_flops, bytes[CDNA_UNITS];
  double turns, phases;              /* for LDS; the difference is due to conflicts */
  double did[CDNA_KINDS];            /* sum of the work of all workgroups, by kind */
  cdna_work work[CDNA_TOGETHER_MAX]; /* for each workgroup, if it is recorded */
} cdna_cu_result;

typedef struct cdna_cu_setup {
  cdna_arch arch;
  const cdna_rates *rates;
  const cdna_machine *machine;
  const cdna_effects *effects; /* the program */
  const cdna_dispatch *dispatch;
  cdna_memory *memory;
  uint64_t arguments; /* address */
  const cdna_reuse *reuse;
  cdna_share share;
  const uint64_t *group; /* workgroups that run on this CU, in order; `together` of them at a time */
  int n_groups, together;
  cdna_spans *spans; /* NULL: none */
  bool execute_matrix;
  /* True if s_memtime reads the modelled time. Otherwise it reads the same value as in the check of results. */
  bool modelled_clock;
  uint64_t limit; /* limit of a wave's instructions; 0: none */
  bool look;      /* records the work of workgroups in `work` */
} cdna_cu_setup;

tw_status cdna_cu_run(const cdna_cu_setup *, cdna_cu_result *, tw_error *);

#endif
