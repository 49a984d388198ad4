/* launch.h - the launch of a GPU kernel: described in a comment of its source, evaluated for one problem.
 *
 * The comment has lines that begin with //: (docs/reference/kernel-header.md is the manual):
 *
 *   //: kernel    gemm_tiled                         the extern "C" function
 *   //: before    split                              another one that is started first; `after`: later
 *   //: let       BM = 128, BN = 128                 numbers by name, for the lines below and the source
 *   //: require   k % 64 == 0                        else the source is refused for the problem
 *   //: grid      ceildiv(n, BN), ceildiv(m, BM)     blocks: x, y, z
 *   //: block     256                                threads of a block: x, y, z
 *   //: cluster   2                                  blocks of a cluster: x, y, z
 *   //: overlap                                      may begin before the previous kernel has ended
 *   //: shared    4 * (BM + BN) * 64 * 2             bytes of dynamic shared memory
 *   //: workspace 4 * m * n zeroed                   bytes; poisoned or, on demand, zeroed before every launch
 *   //: map       tma = A box(64, BM) swizzle(128)   a tensor map over an operand, or over a part of the workspace
 *   //: args      A, B, C, m, i64(n), f32(scale)     parameters; without: the operands in the op's order
 *   //: compile   preload_arguments=16               options of the target's compiler, for all kernels of the source
 *
 * The lines after a `before`, `kernel` or `after`, up to the next of these, give its grid, block, cluster, shared
 * memory and arguments. Kernels are started in the order of their lines, each after the previous one has ended.
 *
 * Expressions (expression.h) may use the keys of the op, names of types (`a == bf16`), names of the target (`sms`), and
 * A.bytes, A.pitch, A.bits, A.rows, A.columns, A.dim0, A.stride0 ... of each operand. lda = 0 (dense) has the value of
 * A's pitch. The target checks the limits of the machine. */
#ifndef TW_LAUNCH_LAUNCH_H
#define TW_LAUNCH_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/expression.h"
#include "tilewright/extend/op.h"

enum { TW_LAUNCH_LETS = 48, TW_LAUNCH_ARGUMENTS = 48, TW_LAUNCH_MAPS = 12, TW_LAUNCH_NAME = 64, TW_MAP_RANK = 5 };
enum { TW_LAUNCH_OPTIONS = 4, TW_LAUNCH_KERNELS = 4, TW_LAUNCH_NO_OPERAND = -1 };

typedef enum tw_launch_kind {
  TW_LAUNCH_OPERAND,   /* pointer to operand `index` */
  TW_LAUNCH_MAP,       /* tensor map `index`, by value */
  TW_LAUNCH_WORKSPACE, /* pointer, `integer` bytes into it */
  TW_LAUNCH_I32,
  TW_LAUNCH_I64,
  TW_LAUNCH_F32,
  TW_LAUNCH_F64
} tw_launch_kind;

typedef struct tw_launch_argument {
  tw_launch_kind kind;
  int index;
  int64_t integer;
  double real;
} tw_launch_argument;

/* In the form of CUDA's cuTensorMapEncodeTiled: dimensions innermost first, strides in bytes from the second on. */
typedef struct tw_launch_map {
  char name[TW_LAUNCH_NAME];
  int operand; /* TW_LAUNCH_NO_OPERAND: the workspace, from byte `offset` on */
  int64_t offset;
  tw_type type; /* element type */
  bool tf32;    /* f32 is rounded to tf32 by the copy */
  int rank;
  int64_t dims[TW_MAP_RANK], strides[TW_MAP_RANK - 1], box[TW_MAP_RANK], element_strides[TW_MAP_RANK];
  int swizzle, l2; /* bytes; 0 = none */
  bool nan;        /* elements outside of the operand read as NaN instead of 0 */
} tw_launch_map;

typedef struct tw_launch_kernel {
  char name[TW_LAUNCH_NAME];
  int64_t grid[3], block[3], cluster[3]; /* cluster: 1, 1, 1 without clusters */
  bool clustered, overlaps;
  int64_t shared; /* bytes */
  size_t n_arguments;
  tw_launch_argument argument[TW_LAUNCH_ARGUMENTS];
} tw_launch_kernel;

/* An option of the compiler, by the target's name for it. */
typedef struct tw_launch_option {
  char name[TW_LAUNCH_NAME];
  int64_t value; /* 1 for an option without a number */
} tw_launch_option;

typedef struct tw_launch {
  size_t n_options;
  tw_launch_option option[TW_LAUNCH_OPTIONS];
  size_t n_lets;
  struct {
    char name[TW_SCOPE_NAME];
    int64_t value;
  } let[TW_LAUNCH_LETS];
  int64_t workspace; /* bytes */
  bool zeroed;
  int64_t parts; /* 0: unknown */
  size_t n_maps;
  tw_launch_map map[TW_LAUNCH_MAPS];
  size_t n_kernels, main; /* main: the number of the kernel of the line `kernel` */
  tw_launch_kernel kernel[TW_LAUNCH_KERNELS];
} tw_launch;

static inline const tw_launch_kernel *tw_launch_main(const tw_launch *l) { return &l->kernel[l->main]; }

/* The names of a problem. A target adds its own names before it reads a header. */
void tw_launch_scope(const tw_problem *, tw_scope *out);

/* Reads the header of a source. TW_FAILED with the wrong line: the error is the kernel's. On return the scope also has
 * the names of the header's `let` lines. */
tw_status tw_launch_read(const char *source, size_t length, const tw_problem *, tw_scope *, tw_launch *out, tw_error *);

#endif
