/* arena.h - the memory that the library and a confined process share: two files in memory.
 *
 * The library writes `orders`: the task and the inputs. The process has it open read-only. The process writes
 * `results`: outputs, and reports on itself. The library uses these reports only against the kernel. An array has whole
 * pages and ends, up to the alignment, at a page that cannot be accessed: reads and writes beyond the array fault.
 *
 * The process is stopped (SIGSTOP) whenever it waits. It does not run while the library reads results, changes inputs
 * or reads its clock. SIGCONT continues it. */
#ifndef TW_NATIVE_ARENA_H
#define TW_NATIVE_ARENA_H

#include "tilewright/extend/op.h"

enum {
  TW_ARENA_PAGE = 4096,
  TW_ARENA_ALIGNMENT = 64,
  TW_ARENA_SETS_MAX = 1024,
  TW_ARENA_NAME = 16,
  TW_ARENA_TASK = 512,
  TW_ARENA_ORDERS = 3, /* descriptors of the process */
  TW_ARENA_RESULTS = 4,
  TW_ARENA_KERNEL = 5,
};
#define TW_ARENA_VERSION 2u
/* the name by which the process opens the kernel: no such file exists */
#define TW_ARENA_KERNEL_NAME "/tilewright-kernel.so"

/* An operand of the op: the offset of its elements, and `sets` copies at a distance of `pitch` bytes. */
typedef struct tw_arena_array {
  char name[TW_ARENA_NAME];
  tw_type type;
  int32_t rank;
  int64_t dims[TW_RANK_MAX], stride[TW_RANK_MAX];
  uint64_t at, bytes, pitch; /* at: offset of the first array in its file, not of its page */
  uint32_t sets;
  bool is_output; /* outputs are in `results`, inputs in `orders` */
} tw_arena_array;

typedef enum tw_arena_command { TW_ARENA_RUN, TW_ARENA_PREPARE, TW_ARENA_QUIT } tw_arena_command;

/* The first page of `orders`. */
typedef struct tw_arena_orders {
  uint32_t version, size; /* size of this struct: both sides must come from one build */
  uint64_t orders_bytes, results_bytes;
  uint64_t memory;  /* bytes of address space */
  uint64_t seconds; /* of processor time */
  int32_t threads;
  uint32_t n_operands;
  tw_arena_array operand[TW_OPERANDS_MAX];                        /* in the order of the op */
  _Alignas(TW_ARENA_ALIGNMENT) unsigned char task[TW_ARENA_TASK]; /* a struct of the machine's own */
  /* fields that change between stops */
  tw_arena_command command;
  uint32_t run_sets; /* RUN: number of sets to compute; PREPARE: number of the set */
} tw_arena_orders;

_Static_assert(sizeof(tw_arena_orders) <= TW_ARENA_PAGE, "orders are one page");

typedef enum tw_arena_stage { TW_ARENA_STARTING, TW_ARENA_LOADING, TW_ARENA_PREPARING, TW_ARENA_READY } tw_arena_stage;

enum { TW_ARENA_READS_CLOCK = 1 << 20 }; /* far above any system call */

/* The first page of `results`. */
typedef struct tw_arena_results {
  uint32_t stage;
  uint32_t refused;         /* the rejected system call, plus 1; 0: none; or TW_ARENA_READS_CLOCK */
  uint32_t signal;          /* signal that ended the process; 0: none */
  uint64_t address;         /* address of a fault */
  uint64_t inputs, outputs; /* addresses of the arena in the process */
  char message[400];        /* reason why it cannot run; "": it can */
} tw_arena_results;

/* The size in bytes of the pages of an array, including the page after it. */
static inline uint64_t tw_arena_pitch(uint64_t bytes) {
  return (bytes + TW_ARENA_PAGE - 1) / TW_ARENA_PAGE * TW_ARENA_PAGE + TW_ARENA_PAGE;
}

/* The offset of an array in its pages; it ends close to the page after it. */
static inline uint64_t tw_arena_slack(uint64_t bytes) {
  const uint64_t room = tw_arena_pitch(bytes) - TW_ARENA_PAGE - bytes;
  return room / TW_ARENA_ALIGNMENT * TW_ARENA_ALIGNMENT;
}

#endif
