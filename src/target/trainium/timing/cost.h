/* cost.h - the time of a single instruction: formulas over the number of elements, by engine, types and memories. */
#ifndef TW_TRAINIUM_COST_H
#define TW_TRAINIUM_COST_H

#include "base/blocks.h"
#include "target/trainium/config.h"
#include "target/trainium/program.h"
#include "target/trainium/timing/dma.h"

/* Where an operand is read after copies are removed: in `tensor`, with these bytes and partitions added. */
typedef struct trn_place {
  int tensor;
  int64_t offset;
  int partition;
} trn_place;

/* A program after the compiler stage. Unless stated otherwise, arrays have an element for each tensor or
 * instruction. */
typedef struct trn_compiled {
  const trn_program *program;
  tw_blocks memory; /* of the arrays, except the lists of tensors that reuse bytes */
  /* Operand k of instruction i is at place[first_operand[i] + k]. NULL: at its original place. */
  trn_place *place;
  size_t *first_operand;
  bool *is_removed;
  uint8_t *engines; /* bits of trn_engine: where the instruction may run */
  /* All instructions in the order in which dependencies are found. The members of a leader come after it; `members`
   * counts the leader, too. */
  int *order, *leader, *members;
  /* Tensors whose bytes a tensor takes over: reused[first_reused[t]] up to first_reused[t + 1]. NULL: none. */
  size_t *first_reused;
  int *reused;
  size_t n_reused, reused_capacity;
  size_t copies_removed, loads_removed;
  bool static_dma, software_arguments; /* see trn_compiler; software_arguments only if hardware descriptors exist */
  /* Engines are chosen for NeuronCore-v2: GpSimd gets nothing that does not name it, Scalar gets long reciprocals. */
  bool engines_of_v2;
  int look_ahead; /* TRN_WHOLE_PROGRAM: no bound */
} trn_compiled;

typedef struct trn_cost {
  double issue;      /* time until the engine takes its next instruction */
  double completion; /* after the start */
} trn_cost;

/* A multiplication or a transpose on the array, at the full clock. */
typedef struct trn_tensor_cost {
  double rows; /* time of the rows in all passes */
  int passes;
  bool is_32;
  double fill; /* share of the array's rows in use */
} trn_tensor_cost;

typedef enum trn_dma_kind { TRN_DMA_HARDWARE, TRN_DMA_SOFTWARE, TRN_DMA_STATIC } trn_dma_kind;

typedef struct trn_dma_cost {
  trn_dma_kind kind;
  double work[TRN_DMA_GROUPS]; /* sum over all engines of a group */
  double least;                /* work of the busiest engine */
  int64_t packet_bytes;
  int64_t read, written; /* bytes of HBM */
} trn_dma_cost;

/* For every engine except the Tensor engine's array, and every instruction except TRN_DMA. */
trn_cost trn_cost_of(const trn_config *, const trn_compiled *, const trn_instruction *, trn_engine);
trn_tensor_cost trn_cost_of_tensor(const trn_config *, const trn_instruction *);
trn_dma_cost trn_cost_of_dma(const trn_config *, const trn_compiled *, const trn_instruction *);

/* A bit for each engine that can execute the instruction. */
unsigned trn_legal_engines(const trn_compiled *, const trn_instruction *);
/* The number of the Scalar engine's table with this function; 0: every table has it. */
int trn_table_of(const char *function);

/* Of each contiguous run of a region. */
int64_t trn_run_bytes(const trn_region *);
/* For operand k of an instruction of the program. */
trn_place trn_place_of(const trn_compiled *, const trn_instruction *, int k);
const trn_tensor *trn_tensor_of(const trn_compiled *, const trn_instruction *, int k);

#endif
