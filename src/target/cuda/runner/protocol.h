/* protocol.h - the protocol between the library and the process that runs a kernel on a device.
 *
 * Files, made by the library and inherited:
 *   CUDA_ORDERS    read only: cuda_orders, followed by the cubin
 *   CUDA_RESULTS   cuda_results, then room for a copy of every operand with its guards
 *   CUDA_CHANNEL   a socket: the library sends cuda_command, the process answers each with cuda_reply. The first reply
 *   comes without a command, when the driver is ready, which takes time but no device. Then the library writes the
 *   number of its device into the orders, and sends CUDA_BEGIN
 *   CUDA_SETS + i  read only: the i-th set of inputs, all operands consecutively
 *
 * They contain no expected results: with some drivers (HMM, Grace) device code reaches all memory of its process.
 * For the same reason every statement of the process about itself is checked from outside (measure.c). */
#ifndef TW_CUDA_RUNNER_PROTOCOL_H
#define TW_CUDA_RUNNER_PROTOCOL_H

#include <stdint.h>

#include "launch/launch.h"

#define CUDA_CONFINE "TILEWRIGHT_CUDA_CONFINE" /* environment: "0" leaves the process its rights */

enum {
  CUDA_PROTOCOL = 5,
  CUDA_IDLE_SECONDS = 60,
  CUDA_ORDERS = 3,
  CUDA_RESULTS,
  CUDA_CHANNEL,
  CUDA_SETS,
  CUDA_SETS_MAX = 4,
  CUDA_LAUNCHES_MAX = 512, /* of one command */
  CUDA_TIMED_MAX = 208,    /* of one CUDA_TIME */
  CUDA_CHAINED = 64,       /* launches in a round of CUDA_CHAIN */
  CUDA_COPIES_MAX = 24,    /* most sets that such launches use in turn */
  CUDA_PIECES = 16,        /* pieces of the outputs that each timed launch keeps */
  CUDA_PIECE_BYTES = 64,   /* at most */
  CUDA_GUARD = 1 << 16,    /* bytes of TW_POISON before and after each operand, and after the workspace */
  CUDA_RESULTS_PAGE = 1 << 16
};

typedef struct cuda_array {
  uint64_t bytes;
  uint64_t at_set;     /* offset in the file of a set */
  uint64_t at_results; /* offset of the guard before the operand, in CUDA_RESULTS */
  uint64_t given_at, given_bytes;
  int32_t is_output;
} cuda_array;

typedef struct cuda_orders {
  uint32_t protocol, size;
  int32_t device;
  /* the process serves several kernels, and ends with its channel or after CUDA_IDLE_SECONDS without work */
  int32_t keeps;
  uint32_t n_operands, n_sets;
  cuda_array operand[TW_OPERANDS_MAX];
  tw_launch launch;
  uint64_t guard_at_results; /* place of the guard after the workspace, in CUDA_RESULTS */
  uint64_t flush_bytes;      /* bytes written between timed launches to flush the cache; 0 = none */
  uint64_t cubin_at, cubin_bytes;
} cuda_orders;

typedef enum cuda_work {
  CUDA_RUN = 1, /* once, on set[0] */
  /* n launches, the i-th on set[i], rotated by turn[i]: new inputs, outputs and guards poisoned, cache flushed before
   * each; pieces of the outputs are kept from each, all outputs with their guards from launch `whole` */
  CUDA_TIME,
  CUDA_IDLE,  /* as CUDA_TIME, but nothing is launched */
  CUDA_BATCH, /* n consecutive launches, with nothing in between */
  /* n rounds of CUDA_CHAINED launches, as in a program whose inputs except the first stay in memory: each launch
   * uses other copies of them, more than half of flush_bytes in total, and a kernel may begin before the previous
   * kernel has ended */
  CUDA_CHAIN,
  CUDA_FETCH, /* operands and guards to CUDA_RESULTS: set[0] is a cuda_fetched */
  /* loads the kernel of the orders in the place of the previous kernel, and copies inputs before the first */
  CUDA_BEGIN
} cuda_work;

typedef enum cuda_fetched {
  CUDA_OUTPUTS,  /* unchanged */
  CUDA_OPERANDS, /* inputs, too */
  CUDA_WHOLE     /* outputs as launch `whole` left them */
} cuda_fetched;

/* What to do with the pieces and their inputs. The kernel cannot read this memory. */
typedef struct cuda_command {
  uint32_t work, n;
  uint8_t set[CUDA_LAUNCHES_MAX];
  uint32_t whole, n_pieces;
  struct {
    uint32_t operand, bytes;
  } piece[CUDA_PIECES];
  uint64_t turn[CUDA_TIMED_MAX]; /* launch i: the first operand begins with this byte of its set, and wraps around */
  uint64_t at[CUDA_TIMED_MAX][CUDA_PIECES]; /* bytes from the begin of the operand */
} cuda_command;

typedef enum cuda_stage {
  CUDA_STARTING, /* no driver or no memory: not the kernel's fault */
  CUDA_LOADING,  /* the module and its function */
  CUDA_MAPPING,  /* tensor map `index` */
  CUDA_LAUNCHING,
  CUDA_RUNNING
} cuda_stage;

typedef struct cuda_reply {
  int32_t error; /* CUresult; 0 = done */
  uint32_t stage, index;
  char message[240];
  float total_ms; /* CUDA_TIME, _IDLE, _BATCH: from before the first launch until after the last */
  int32_t registers, local, shared_static; /* in the reply to CUDA_BEGIN, like the following fields */
  int32_t blocks, clusters;                /* resident blocks of a multiprocessor; resident clusters of the device */
  int32_t pageable;                        /* device code can read all memory of its process */
} cuda_reply;

typedef struct cuda_results {
  float ms[CUDA_LAUNCHES_MAX]; /* CUDA_TIME: of each launch; CUDA_CHAIN: of each round */
  char piece[CUDA_TIMED_MAX][CUDA_PIECES][CUDA_PIECE_BYTES];
} cuda_results;

#endif
