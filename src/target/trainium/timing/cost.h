/* cost.h - how long one instruction takes by itself: laws over the number of elements, by engine, types and memories. */
#ifndef TW_TRAINIUM_COST_H
#define TW_TRAINIUM_COST_H

#include "target/trainium/config.h"
#include "target/trainium/program.h"
#include "target/trainium/timing/dma.h"

/* The place of an operand's data after copies are removed: in `tensor`, this number of bytes and partitions further. */
typedef struct trn_place {
  int tensor;
  int64_t offset;
  int partition;
} trn_place;

/* A program as the compiler stage leaves it. Unless stated otherwise, arrays have an element for each tensor or
 * instruction. */
typedef struct trn_compiled {
  const trn_program *program;
  /* For operand k of instruction i: place[first_operand[i] + k]. NULL: as the program says. */
  trn_place *place;
  size_t *first_operand;
  bool *is_removed;
  uint8_t *engines; /* bits of trn_engine: where the instruction may run */
  /* All instructions in the order in which dependencies are found. An instruction that is part of another, its leader, comes
   * after it; `members` of a leader counts itself. */
  int *order, *leader, *members;
  /* Tensors whose bytes a tensor takes over: reused[first_reused[t]] up to first_reused[t + 1]. NULL: none. */
  size_t *first_reused;
  int *reused;
  size_t n_reused, reused_capacity;
  size_t copies_removed, loads_removed;
  bool static_dma, software_arguments; /* as in trn_compiler; the latter where hardware descriptors exist */
  int look_ahead;
} trn_compiled;

typedef struct trn_cost {
  double issue;      /* until the engine takes its next instruction */
  double completion; /* after the start */
} trn_cost;

/* A multiplication or a transpose on the array, at the full clock. */
typedef struct trn_tensor_cost {
  double rows; /* of all passes together */
  int passes;
  bool is_32;
  double fill; /* part of the array's rows in use */
} trn_tensor_cost;

typedef enum trn_dma_kind { TRN_DMA_HARDWARE, TRN_DMA_SOFTWARE, TRN_DMA_STATIC } trn_dma_kind;

typedef struct trn_dma_cost {
  trn_dma_kind kind;
  double work[TRN_DMA_GROUPS]; /* of all engines of a group together */
  double least;                /* of the busiest engine alone */
  int64_t packet_bytes;
  int64_t read, written; /* bytes of HBM */
} trn_dma_cost;

/* Every engine but the array of the Tensor engine, and every instruction but TRN_DMA. */
trn_cost trn_cost_of(const trn_config *, const trn_compiled *, const trn_instruction *, trn_engine);
trn_tensor_cost trn_cost_of_tensor(const trn_config *, const trn_compiled *, const trn_instruction *);
trn_dma_cost trn_cost_of_dma(const trn_config *, const trn_compiled *, const trn_instruction *);

/* Bits of the engines that can execute it. */
unsigned trn_legal_engines(const trn_compiled *, const trn_instruction *);
/* Tables of functions on the Scalar engine: the number of the one with this function; 0: it is in each. */
int trn_table_of(const char *function);

/* For operand k of an instruction of the program. */
trn_place trn_place_of(const trn_compiled *, const trn_instruction *, int k);
const trn_tensor *trn_tensor_of(const trn_compiled *, const trn_instruction *, int k);

#endif
