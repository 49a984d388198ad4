/* timing.h - when each instruction of a program runs.
 *
 * Two stages that can be judged apart:
 *   the compiler   gives tensors addresses, removes copies, chooses engines, and orders the instructions of each engine by
 *                  list scheduling, in the older dialect with a bounded look-ahead. Each part can be switched off.
 *   the machine    runs each engine's queue strictly in order, with issue intervals and completion times, hazards by
 *                  region, semaphores between engines, the clock ramp of the PE array, table loads, and DMA queues.
 * Times are nanoseconds. Every number comes from the machine file, which names its source. */
#ifndef TW_TRAINIUM_TIMING_H
#define TW_TRAINIUM_TIMING_H

#include "target/trainium/config.h"
#include "target/trainium/program.h"

enum { TRN_WHOLE_PROGRAM = 1 << 30 }; /* a look-ahead without bound */

typedef struct trn_compiler {
  /* Addresses by next fit in program order; tensors that reuse bytes wait for the last reader. */
  bool allocate;
  /* Readers of a plain copy read its source where the ISA allows that. */
  bool remove_copies;
  /* Loaded data is read again instead of loaded again, while SBUF has room. */
  bool remove_loads;
  /* Instructions of TRN_ENGINE_ANY go to the first free engine; otherwise to the first legal engine. */
  bool choose_engines;
  /* In the older dialect, small instructions of independent iterations of a loop are merged, as many as fit into memory. */
  bool merge_iterations;
  /* Transfers of the kernel's arguments have software descriptors, as with neuronx-cc, if the machine has hardware
   * descriptors for other transfers. */
  bool software_arguments;
  /* Descriptors of transfers are written before the launch: their engine only triggers them. */
  bool static_dma;
  /* Bytes are not reused at once, even if a program then does not fit. */
  bool always_rotate;
  /* In the newer dialect, an engine takes any ready instruction of the program, and tiles have a new place when a
   * transfer overwrites all of them. */
  bool schedule_program;
  /* Otherwise, an engine takes a ready instruction among this number of instructions; 1: program order. */
  int look_ahead;
} trn_compiler;
/* none: order and engines as in the program, for traces */
extern const trn_compiler trn_compiler_usual, trn_compiler_none;

/* The time of one instruction on an engine, or of one transfer's packets in a DMA queue. */
typedef struct trn_span {
  int instruction;
  int lane; /* trn_engine, or TRN_ENGINES + the engine of the DMA queue */
  double start, end;
} trn_span;

/* The first access of a tensor takes its bytes of each partition, the last access frees them. */
typedef struct trn_change {
  double at;
  trn_memory memory;
  int64_t bytes; /* negative: freed */
} trn_change;

typedef struct trn_timing {
  double total;                       /* from launch to the end of the last instruction: the cost */
  double device;                      /* from the first DMA trigger to the end of the last instruction */
  double busy[TRN_ENGINES], dma_busy; /* dma_busy: mean over the DMA engines */
  int64_t hbm_read, hbm_written;      /* bytes */
  int64_t most_used[TRN_MEMORIES];    /* most bytes of a partition in use at one time */
  size_t copies_removed, loads_removed, table_loads;
  /* The program with transfers of tensors that do not fit, and the bytes of these; empty if all fit. */
  trn_program spilled;
  int64_t spilled_bytes;
  size_t n_spans;
  trn_span *span;
  double *start, *end; /* for each instruction of the program, or of `spilled` */
  trn_change *change;  /* for SBUF and PSUM, in order of time */
  size_t n_changes;
} trn_timing;

/* TW_FAILED if tensors do not fit, with the line of the first that does not. */
tw_status trn_time(const trn_config *, const trn_program *, const trn_compiler *, trn_timing *out, tw_error *);
void trn_timing_free(trn_timing *);

#endif
