/* arena.h - what the library and the confined process share: two files in memory.
 *
 * `orders` is written by the library and read by the process, which has it open for reading alone: what to compute, and the
 * inputs. `results` is written by the process: outputs, and what it says of itself, which the library believes only where
 * it does the kernel harm. An array takes whole pages; the page behind it cannot be touched, and the array ends where that
 * page begins, up to the alignment: whoever reads or writes behind it faults.
 *
 * The process is stopped (SIGSTOP) whenever it waits: nothing of it runs while the library looks at results, changes inputs
 * or reads its clock. It goes on with SIGCONT. */
#ifndef TW_X86_ARENA_H
#define TW_X86_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "tilewright/gemm.h"

enum {
  ARENA_PAGE = 4096,
  ARENA_ALIGNMENT = 64,
  ARENA_SETS_MAX = 1024,
  ARENA_ORDERS = 3, /* descriptors of the process */
  ARENA_RESULTS = 4,
  ARENA_KERNEL = 5,
};
#define ARENA_VERSION 1u
#define ARENA_KERNEL_NAME "/tilewright-kernel.so" /* what the process opens as the kernel: there is no such file */

/* An array, as bytes of a file; `sets` of them, `stride` bytes apart. */
typedef struct arena_array {
  uint64_t at, bytes, stride; /* at: where the first begins, not its page */
  uint32_t sets;
} arena_array;

typedef enum arena_command { ARENA_RUN, ARENA_QUIT } arena_command;

typedef struct arena_orders {
  uint32_t version, size; /* of this struct: both sides are of one build */
  uint64_t orders_bytes, results_bytes;
  tw_gemm_spec spec;
  uint64_t memory;  /* bytes of address space beyond the arena */
  uint64_t seconds; /* of processor time */
  arena_array a, b, bias, c;
  uint32_t copies; /* of packed weights, used in turn */
  /* What changes between stops: */
  arena_command command;
  uint32_t run_sets; /* of ARENA_RUN: the first so many */
} arena_orders;

typedef enum arena_stage { ARENA_STARTING, ARENA_LOADING, ARENA_PACKING, ARENA_READY } arena_stage;

typedef struct arena_results {
  uint32_t stage;
  uint32_t refused;         /* this system call, plus 1; 0: none */
  uint32_t signal;          /* that ended it; 0: none */
  uint64_t address;         /* that a fault was about */
  uint64_t inputs, outputs; /* where it has mapped the arena */
  char message[400];        /* why it cannot run; "": it can */
} arena_results;

/* Bytes of pages for an array of so many bytes, with the page behind it. */
static inline uint64_t arena_stride(uint64_t bytes) {
  return (bytes + ARENA_PAGE - 1) / ARENA_PAGE * ARENA_PAGE + ARENA_PAGE;
}

/* Where in its pages an array begins, so that it ends close to the page behind it. */
static inline uint64_t arena_slack(uint64_t bytes) {
  const uint64_t room = arena_stride(bytes) - ARENA_PAGE - bytes;
  return room / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
}

#endif
