/* plan.h - a planned gemm: the kernel, the blocks around it, the layout of packed weights, the memory of execution. */
#ifndef TW_X86_PLAN_H
#define TW_X86_PLAN_H

#include <pthread.h>

#include "target/x86/kernel.h"
#include "tilewright/format.h"
#include "tilewright/gemm.h"

/* Packed B: a header of X86_HEADER bytes, then (has_offset) n_padded int32 that belong to the columns' sums, then for each
 * block of k the panels of the kernel's width, each [units of the block][columns] units, or codes and scales (weights.h).
 * Columns behind n and elements behind k are zero. */
enum { X86_HEADER = 64 };

typedef struct x86_layout {
  uint32_t magic;
  uint16_t arithmetic, b_type;
  int32_t columns, has_offset; /* width of a panel */
  int64_t n, k, group;
  int64_t block; /* units of k in a block; the last may have fewer */
} x86_layout;

/* How rows of A reach the kernel. */
typedef enum x86_a_mode {
  X86_A_IN_PLACE, /* read where they are */
  X86_A_PACKED    /* converted if need be, then packed strip by strip */
} x86_a_mode;

typedef struct x86_workspaces {
  pthread_mutex_t lock;
  pthread_cond_t returned;
  int n;
  uint64_t taken; /* bit i: workspace i is in use */
  char *memory;   /* n x threads x bytes_per_thread; pages are touched when they are first used */
} x86_workspaces;

struct tw_gemm_planned {
  tw_gemm_spec spec; /* defaults filled in; `kernel` is NULL */
  const x86_kernel *kernel;
  x86_layout layout;
  x86_a_mode a_mode;
  x86_output output;
  int64_t units, blocks; /* of k: units in all, blocks */
  int64_t a_stride;      /* bytes from row to row of A as stored */
  int64_t mc, nc;        /* rows and columns of a block of C */
  int rho;               /* the buffer of A is mc / rho rows */
  bool plain;            /* sums are C: nothing to finish */
  bool sums_in_c;        /* sums of all but the last block of k wait in C; otherwise in the workspace */
  bool expands;          /* B is kept as codes with scales */
  x86_codes codes;       /* if so */
  tw_packing packing;
  int threads_m, threads_n;
  /* of a thread's workspace, in bytes from its start */
  size_t strip_at, rows_at, tile_at, sums_at, panel_at, bytes_per_thread;
  x86_workspaces *workspaces; /* behind a pointer: the plan itself is constant */
};

static inline int64_t x86_ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t x86_min(int64_t a, int64_t b) { return a < b ? a : b; }

static inline int64_t x86_panels(const tw_gemm_planned *p) { return x86_ceil_div(p->spec.n, p->kernel->columns); }

/* Bytes from the start of packed B to the offsets, and to panel `panel` of block `block` of k. */
size_t x86_offsets_at(const tw_gemm_planned *);
size_t x86_panel_at(const tw_gemm_planned *, int64_t block, int64_t panel);
size_t x86_panel_bytes(const tw_gemm_planned *, int64_t units); /* of one panel of a block of so many units */
int64_t x86_block_units(const tw_gemm_planned *, int64_t block);

#endif
