/* op.h - how an operation is defined, for authors of operations and targets. problem.h is for users.
 *
 * An op (`gemm`, `conv2d`, ...) has a table of keys (sizes, types, epilogue); a problem is an op with a value
 * for each key. From a problem the op derives its operands (shapes, layouts), random inputs, the reference
 * result, and its cost in operations and bytes. Ops know nothing of targets. */
#ifndef TILEWRIGHT_EXTEND_OP_H
#define TILEWRIGHT_EXTEND_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tilewright/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Outputs are filled with this byte before every run. It is NaN in every floating-point type, so adding to an unwritten output
 * gives NaN. The bytes between rows (pitch) must be unchanged after the run. */
#define TW_POISON 0xFF

enum { TW_OPERANDS_MAX = 16, TW_RANK_MAX = 5 };

/* An array that a kernel reads or writes. Element [i][j]... is i * stride[0] + j * stride[1] + ... elements after its
 * begin. Strides are at least 1, and elements do not overlap. The bytes between elements are not written. */
typedef struct tw_operand {
  /* The operand's name in C: "A". */
  const char *name;
  tw_type type;
  int rank;
  int64_t dims[TW_RANK_MAX];
  /* Number of elements from one index of a dimension to the next. */
  int64_t stride[TW_RANK_MAX];
  bool is_output;
  /* The bytes of an output that are also an input, not poisoned; usually none. */
  size_t given_at, given_bytes;
  /* Bytes of the whole array, including gaps between elements. */
  size_t bytes;
} tw_operand;

/* A row-major operand without gaps, an input. Lists of dimensions as {2, 3, 4}. */
TW_API tw_operand tw_operand_dense(const char *name, tw_type, int rank, const int64_t dims[]);
/* As tw_operand_dense, with gaps after each row (the last dimension): rows begin `pitch` elements apart. rank >= 2. */
TW_API tw_operand tw_operand_pitched(const char *name, tw_type, int rank, const int64_t dims[], int64_t pitch);

/* An element of an output. A row is one line of the last dimension; rows are counted in the order of the other dimensions. */
typedef struct tw_place {
  int64_t row, column;
} tw_place;

/* The part of a result that a check covered. */
typedef struct tw_coverage {
  /* Number of elements of all outputs; number that were compared with their exact value. */
  double elements, exact;
  /* The op's test of all other elements, in words; "" if none was made. */
  char survey[120];
  /* The coverage in words: "every element", or "sampled: 65536 of 268435456 elements, ...". */
  char text[320];
} tw_coverage;

/* The effort of a check. */
typedef struct tw_effort {
  /* Multiply-adds that the host may spend; 0: 1e10, some seconds on two cores. */
  double budget;
  /* Seed of the random choice of elements; 0: an unpredictable seed from the system. */
  uint64_t seed;
  /* Number of threads; 0: all cores. */
  int threads;
} tw_effort;

struct tw_op {
  /* sizeof(tw_op) in the program that adds the op: see status.h. */
  size_t size;
  const char *name, *summary;
  /* True: a simulated machine starts with the inputs in its caches, because its core has just made them. False: cold caches. */
  bool inputs_cached;
  const tw_key *keys;
  size_t n_keys;
  /* Checks between keys (each key alone is already checked), after the target has filled types in. */
  tw_status (*validate)(const tw_problem *, tw_error *);
  /* Fills `out`, returns the number of operands, in the order of the kernel's C parameters. */
  size_t (*operands)(const tw_problem *, tw_operand out[TW_OPERANDS_MAX]);
  /* Fills the input buffers; outputs are left alone. Same seed, same bytes, on every machine. */
  void (*inputs)(const tw_problem *, uint64_t seed, void *const buffers[]);
  /* Computes the outputs from the inputs. It is slow and obvious, and defines the right result. `threads` >= 1. */
  void (*reference)(const tw_problem *, void *const buffers[], int threads);
  /* Compares the outputs in `actual` with the reference's outputs in `expected`; both have the inputs. The error
   * names the first wrong element. */
  tw_status (*compare)(const tw_problem *, void *const expected[], void *const actual[], tw_error *);
  /* Multiply-accumulates (each is two operations). */
  double (*operations)(const tw_problem *);
  /* The least memory traffic: every operand once. */
  double (*bytes)(const tw_problem *);
  /* Computes exact values of n elements of output `operand` in double, before rounding to its type. `bound` gets the allowed
   * error of each, which depends on the inputs only. Places ascend by row, then column. NULL: only `reference` computes
   * outputs, all at once. */
  tw_status (*exact)(const tw_problem *, void *const buffers[], size_t operand, size_t n, const tw_place[],
                     double value[], double bound[], int threads, tw_error *);
  /* The cost of `exact` in multiply-adds of the host, for one element and for a row of elements. */
  void (*exact_cost)(const tw_problem *, size_t operand, double *element, double *row);
  /* A test of all elements of the outputs that is cheaper than `exact` for all. `buffers` has the inputs and the
   * kernel's outputs. TW_FAILED if an output is wrong. Otherwise coverage.survey describes the test, or stays empty
   * if this problem has no such test. NULL: no problem of the op has one. */
  tw_status (*survey)(const tw_problem *, void *const buffers[], const tw_effort *, tw_coverage *, tw_error *);
};

/* Adds an op of your own to the list, for all threads. It must stay where it is until the process ends. TW_USAGE if the
 * name is taken or a function is missing. If the struct is smaller than the library's, the list has a copy of it. */
TW_API tw_status tw_op_register(const tw_op *, tw_error *);

/* A problem with inputs and expected outputs: made once, then read by any number of threads. */
typedef struct tw_case {
  /* Must outlive the case. */
  const tw_problem *problem;
  uint64_t seed;
  size_t n_operands;
  tw_operand operand[TW_OPERANDS_MAX];
  /* Filled inputs, and outputs that the reference computed; 64-byte aligned. */
  void *buffer[TW_OPERANDS_MAX];
  /* True if outputs are computed; otherwise they are poisoned. */
  bool has_expected;
} tw_case;
TW_API tw_status tw_case_make(const tw_problem *, uint64_t seed, int threads, tw_case *out, tw_error *);
/* As tw_case_make, without expected outputs: outputs stay poisoned. */
TW_API tw_status tw_case_make_inputs(const tw_problem *, uint64_t seed, tw_case *out, tw_error *);
TW_API void tw_case_free(tw_case *);
/* Checks a kernel's outputs without expected outputs (tw_case_make_inputs), for outputs of any size and ops with
 * `exact`. If the budget allows it, every element is compared with its exact value. Otherwise a random sample of each
 * output is compared, every element must be written and finite, and the op's survey runs. Call it after the kernel
 * has run, because this call draws the sample. */
TW_API tw_status tw_case_check(const tw_case *, void *const actual[], const tw_effort *, tw_coverage *out, tw_error *);

#ifdef __cplusplus
}
#endif
#endif
