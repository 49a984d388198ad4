/* module.h - the reader of MLIR-AIE designs, an optional part of the command (src/mlir_aie), as the target calls it. */
#ifndef TW_XDNA2_MLIR_MODULE_H
#define TW_XDNA2_MLIR_MODULE_H

#include "base/program.h"
#include "target/xdna2/array/gemm_array.h"
#include "target/xdna2/array/program.h"
#include "tilewright/extend/target.h"

/* Properties that kernel.cc fixes and the text lacks. */
typedef struct xd_mlir_options {
  tw_rounding rounding;
  int shift; /* for narrowing kernels */
  bool
      /* run without an op: cores may use locks and buffers without restrictions, and functions with a given time */
      raw;
  size_t n_values; /* values of the runtime sequence's numeric arguments */
  const int64_t *value;
} xd_mlir_options;

/* The line in the text of a subject that messages name by this label: a FIFO, a channel, a tile, a command. */
typedef struct xd_mlir_line {
  char label[64];
  int line;
} xd_mlir_line;

typedef struct xd_mlir_design {
  xd_program program; /* lowered and checked; external buffers are the arguments of the runtime sequence */
  char device[16];    /* npu2, npu1_4col, ... */
  bool runs;          /* the design has a runtime sequence */
  int devices;        /* number of other devices in the text, which are ignored */
  int skipped;        /* number of trace ops, which are not simulated */
  int placed;         /* number of tiles without coordinates in the text */
  int unknown;        /* number of calls of functions of which only the time is known */
  XD_LIST(xd_mlir_line) lines;
} xd_mlir_design;

/* The computation of a design, and the layout of its operands in DDR. */
typedef struct xd_mlir_work {
  bool packed; /* an operand is stored in tiles, as gemm_array.h describes for `gemm`; false: all are row-major */
  /* for designs with kernels of symbol.h: the choices from which it was made, recovered; kernel NULL for others */
  xd_gemm gemm;
  double peak; /* multiply-accumulates per cycle of a core */
  int step;    /* sums of bf16 are rounded to bf16 after this depth (kernel_blocked.h); 0: they are not rounded */
} xd_mlir_work;

/* Functions of mlir-aie's aie_kernels that designs may call besides the machine's kernels: names and types. */
typedef struct xd_mlir_function {
  const char *name;
  tw_type a, b, c;
} xd_mlir_function;
enum { XD_MLIR_FUNCTIONS = 4 };
extern const xd_mlir_function xd_mlir_functions[XD_MLIR_FUNCTIONS];

/* True if designs with these types can be read even if no kernel of the machine has them. */
bool xd_mlir_knows_types(tw_type a, tw_type b, tw_type c);

/* True if a text is MLIR (and not a schedule): its first word is `module` or begins with `aie`. */
bool xd_mlir_is(const char *text);

/* The functions of the module; src/mlir_aie/read.h and execute.h describe them. */
typedef struct xd_mlir_reader {
  tw_module module;
  tw_status (*read)(const xd_config *, const char *text, const xd_mlir_options *, xd_mlir_design *out, tw_error *);
  void (*free)(xd_mlir_design *);
  tw_status (*work_of)(const xd_config *, const xd_mlir_design *, const tw_problem *, xd_mlir_work *out, tw_error *);
  tw_status (*check)(const xd_config *, const xd_mlir_design *, const xd_mlir_work *, const tw_case *, tw_error *);
  void (*coverage)(const xd_mlir_work *, const tw_problem *, char *text, size_t size);
  tw_status (*measure)(const xd_config *, const xd_mlir_design *, const xd_mlir_work *, const tw_case *,
                       const char *trace, tw_measurement *, tw_error *);
  tw_status (*launch)(const xd_config *, const char *text, tw_raw_launch *, tw_measurement *, tw_error *);
} xd_mlir_reader;

tw_status xd_mlir_open(const xd_mlir_reader **out, tw_error *);

#endif
