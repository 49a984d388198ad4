/* program.h - a kernel as a NeuronCore executes it: one list of instructions with the exact regions that they touch.
 *
 * The reader (nki/) writes a program while it executes a kernel. The timing model (timing/) orders its instructions on
 * engines and queues and gives each a start and an end. A trace of a real machine can be read into the same form, with the
 * dependencies that its semaphores made.
 *
 * A tensor is a buffer in one memory. In SBUF and PSUM it has partitions; a partition holds `bytes` bytes of it. In HBM it
 * has one "partition" of all its bytes. */
#ifndef TW_TRAINIUM_PROGRAM_H
#define TW_TRAINIUM_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tilewright/status.h"
#include "tilewright/type.h"

typedef enum trn_memory { TRN_HBM, TRN_SBUF, TRN_PSUM, TRN_MEMORIES } trn_memory;

/* In-order sequencers. TRN_SYNC only starts DMA transfers. */
typedef enum trn_engine {
  TRN_TENSOR,
  TRN_VECTOR,
  TRN_SCALAR,
  TRN_GPSIMD,
  TRN_SYNC,
  TRN_ENGINES,
  TRN_ENGINE_ANY = TRN_ENGINES /* the compiler chooses */
} trn_engine;

/* Operands, the destination first. Each opcode has the name that reports give it. */
// clang-format off
#define TRN_OPCODE_LIST(X)                                                                                             \
  X(MATMUL, "nc_matmul") /* stationary, moving; a load of the stationary operand and a multiplication */               \
  X(PE_TRANSPOSE, "nc_transpose") /* src; on the Tensor engine */                                                      \
  X(TRANSPOSE, "transpose") /* src; blocks of 32 x 32 on the Vector engine */                                          \
  X(ACTIVATION, "activation") /* src; function(src * scale + bias) */                                                  \
  X(COPY, "tensor_copy") /* src; with a cast */                                                                        \
  X(TENSOR_TENSOR, "tensor_tensor") /* a, b */                                                                         \
  X(TENSOR_SCALAR, "tensor_scalar") /* src; one or two operations with scalars or one value a partition */             \
  X(SCALAR_TENSOR_TENSOR, "scalar_tensor_tensor") /* a, b: (a op0 scalar) op1 b */                                     \
  X(REDUCE, "tensor_reduce") /* src; along the free dimensions */                                                      \
  X(SCAN, "tensor_tensor_scan") /* a, b: s = (s op0 a) op1 b along the free dimension */                               \
  X(ACCUMULATOR_READ, "accumulator_read") /* src: reads the sum that an activation accumulated */                      \
  X(SELECT, "select") /* src, predicate */                                                                             \
  X(GATHER, "gather") /* src, index */                                                                                 \
  X(DMA, "dma") /* src; either in HBM or SBUF */                                                                       \
  X(RECIPROCAL, "reciprocal") X(MEMSET, "memset") X(IOTA, "iota") X(AFFINE_SELECT, "affine_select")                    \
  X(BN_STATS, "bn_stats") X(BN_AGGREGATE, "bn_aggr") X(MAX8, "max8")
// clang-format on
#define TRN_OPCODE(opcode, name) TRN_##opcode,
typedef enum trn_opcode { TRN_OPCODE_LIST(TRN_OPCODE) TRN_OPCODES } trn_opcode;

enum { TRN_DIMS_MAX = 6, TRN_OPERANDS_MAX = 5 };

/* The part of a tensor that an instruction reads or writes. The free pattern is in bytes from the start of the tensor's
 * part of a partition; the last dimension varies fastest. */
typedef struct trn_region {
  int tensor;               /* index in trn_program.tensor */
  bool is_written, is_read; /* both: accumulation */
  bool is_pointer; /* one value per partition in addition to the data: a scale, a bias, an operand of tensor_scalar */
  tw_type type;
  int first_partition, partitions, partition_step;
  int64_t offset;
  int n_dims;
  int64_t size[TRN_DIMS_MAX];
  int64_t stride[TRN_DIMS_MAX]; /* bytes; 0: repeats */
} trn_region;

typedef struct trn_instruction {
  trn_opcode opcode;
  trn_engine engine;
  int line;  /* line of the source; 0: none */
  int scope; /* index in trn_program.scope of the innermost iteration of a parallel loop; 0: none */
  int block; /* number of the nl.no_reorder around it; 0: none */
  /* elements of each partition that the instruction steps over; for a matmul, columns of the moving operand */
  int64_t elements;
  int partitions; /* at most 128; for a matmul, rows of the stationary operand */
  int columns;    /* for a matmul, columns of the stationary operand; else 0 */
  int passes;     /* passes over the data: 2 if the engine goes over them twice, as for an accumulating activation */
  /* for an activation: static text such as "exp"; NULL: none. Another set of functions needs a table load */
  const char *function;
  bool is_transpose, is_software_dma; /* is_software_dma: descriptors are written by GpSimd */
  bool is_spill;                      /* moves a tensor that does not fit; it was added after loops were merged */
  bool is_spread;                     /* a copy of a broadcast row, which is not in the source */
  bool is_first, is_last;             /* first or last of a group that accumulates in PSUM */
  int n_operands;
  trn_region operand[TRN_OPERANDS_MAX]; /* outputs first */
  /* Instructions that must complete first, in trn_program.wait, if a trace lists them. first_wait -1: dependencies
   * follow from the regions. */
  int first_wait, n_waits;
} trn_instruction;

typedef struct trn_tensor {
  trn_memory memory;
  tw_type type;
  int partitions;
  int64_t bytes;    /* of each partition */
  int64_t address;  /* address in the partition; -1: the compiler chooses */
  int line;         /* line of its definition; 0: none */
  bool is_argument; /* an operand of the kernel, in HBM before it starts */
  char name[32];
} trn_tensor;

/* An iteration of a loop whose iterations may run in any order. */
typedef struct trn_scope {
  int parent; /* index in trn_program.scope; 0: none */
  int loop;   /* one number for all iterations of a run of a loop */
  int iteration, line;
} trn_scope;

typedef struct trn_program {
  trn_instruction *instruction;
  size_t n_instructions, instruction_capacity;
  trn_tensor *tensor;
  size_t n_tensors, tensor_capacity;
  int *wait;
  size_t n_waits, wait_capacity;
  trn_scope *scope; /* the first entry is the kernel outside of such loops */
  size_t n_scopes, scope_capacity;
  bool is_older;    /* dialect: its compiler fuses loops and moves tensors that do not fit (timing/spill.c) */
  bool keeps_loops; /* @nki.compiler.skip_middle_end_transformations: loops stay as in the newer dialect */
} trn_program;

/* Room for one more than n elements of `size` bytes; false without memory. */
bool trn_room(void **array, size_t n, size_t *capacity, size_t size);
int64_t trn_element_bytes(tw_type);
int64_t trn_region_elements(const trn_region *); /* of each partition */
void trn_program_free(trn_program *);
/* Each returns the index, or -1 without memory. */
int trn_program_add_tensor(trn_program *, const trn_tensor *);
int trn_program_add(trn_program *, const trn_instruction *);
int trn_program_add_scope(trn_program *, const trn_scope *);

const char *trn_opcode_name(trn_opcode);
const char *trn_engine_name(trn_engine);
const char *trn_memory_name(trn_memory);

#endif
