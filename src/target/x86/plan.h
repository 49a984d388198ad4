/* plan.h - a planned gemm: the kernel, the blocks around it, the layout of packed weights, the memory of execution. */
#ifndef TW_X86_PLAN_H
#define TW_X86_PLAN_H

#include <pthread.h>

#include "target/x86/kernel.h"
#include "tilewright/format.h"
#include "tilewright/gemm.h"

/* Packed B: a header of X86_HEADER bytes, then for each block of k the panels of the kernel's width, each [units of the
 * block][columns] units (s8s8: after a row of initial sums); or the panels' codes, then their scales, two streams that
 * are read sequentially (weights.h). Scales of whole columns, which all blocks share, are stored once, after the last
 * block. Columns beyond n and elements beyond k are zero. */
enum { X86_HEADER = 64, X86_THREADS_MOST = 1024 };

typedef struct x86_layout {
  uint32_t magic;
  uint16_t arithmetic, b_type;
  uint32_t form, vector; /* for weights with codes: x86_form, bytes of a register */
  int64_t columns;       /* width of a panel */
  int64_t n, k, group;
  int64_t block; /* units of k in a block; the last may have fewer */
} x86_layout;

/* The next field of the header: 1 if there is a scale of e8m0 above X86_POWER_MOST, NaN included. */
enum { X86_LARGE_SCALES = X86_HEADER - 1 };

/* How the kernel gets rows of A. */
typedef enum x86_a_mode {
  X86_A_IN_PLACE, /* read in place */
  X86_A_PACKED    /* converted if necessary, then packed strip by strip */
} x86_a_mode;

/* How the plan gets B. The order of additions is the same in the last two. */
typedef enum x86_b_mode {
  X86_B_PACKED,          /* packed in advance, for any m */
  X86_B_PACKED_FOR_ROWS, /* packed in advance for few rows, in short blocks of k: more columns fit L2 */
  X86_B_STORED           /* each part packs short blocks while it computes */
} x86_b_mode;

/* How codes of weights are stored in a panel, and their meaning (kernel.h). */
typedef struct x86_codes {
  x86_form form;
  int bits;            /* bits of a code */
  int lift;            /* added to a value before it is multiplied by A */
  int scale_bytes;     /* 1: e8m0; 4: f32 */
  float factor;        /* factor of every code's value */
  int64_t group_units; /* units of k that share a scale; larger than any block if all of them do */
  int fields;          /* vectors of the panel that a line holds */
  int vector;          /* bytes of a register */
  int line;            /* bytes of a line */
  int step;            /* units that a tile processes at once: blocks are filled to a multiple of them */
} x86_codes;

typedef struct x86_workspaces {
  pthread_mutex_t lock;
  pthread_cond_t returned;
  int n;
  uint64_t taken; /* bit i: workspace i is in use */
  char *memory;   /* n x threads x bytes_per_thread; the system provides pages at their first use */
} x86_workspaces;

struct tw_gemm_plan {
  tw_gemm_spec spec; /* defaults filled in; `kernel` is NULL */
  const x86_kernel *kernel;
  x86_layout layout;
  x86_a_mode a_mode;
  x86_output output;
  int64_t units, blocks; /* along k: units in total, blocks */
  int64_t a_stride;      /* bytes from row to row of A as stored */
  int64_t mc, nc;        /* rows and columns of a block of C */
  int rho;               /* the buffer of A is mc / rho rows */
  bool plain;            /* tiles store C: their sums, or (`rounds`) sums rounded to bf16 */
  bool rounds;           /* if plain: tiles round sums to bf16 */
  bool adds;             /* if plain: sums begin with C (beta = 1) */
  bool sums_in_c;        /* C holds the sums of all blocks of k except the last; otherwise the workspace does */
  bool has_codes;        /* B is kept as codes with scales */
  bool on_codes;         /* tiles read the codes: no panel is expanded to units */
  bool expands;          /* ... but panels of these codes are first converted to 8-bit codes (X86_S8) */
  x86_codes codes;       /* if so */
  bool looks_up;         /* A is packed as tables for the tiles */
  bool wide;             /* tiles use two panels at once; an odd last panel uses a narrow tile */
  bool short_blocks;     /* along k: B is packed only for this product, and few rows use it */
  bool packs_b;          /* B is given unpacked, and each part packs the blocks that it needs */
  bool reads_b;          /* if packs_b: tiles read B in place, unless its elements are scaled */
  bool turns_a;          /* if packs_b: tiles read columns of a transposed A in place */
  bool by_strips;        /* AMX: a strip of A stays in L1 while it is multiplied by all panels */
  bool near;             /* packed B and A of a block stay in L2: the next panel need not be fetched */
  int strip_rows;        /* rows of the largest tile on all panels, or on two if `wide` */
  int ahead;             /* prefetch distance in bytes of a single strip's codes */
  tw_packing packing;
  int parts_m, parts_n; /* C is divided into parts_m x parts_n parts */
  int threads;          /* threads that compute parts: a thread starts the next part when it is free */
  /* offsets in a thread's workspace, in bytes */
  size_t strip_at, rows_at, tile_at, sums_at, panel_at, row_at, row_scale_at, start_at, a_scale_at, b_at,
      bytes_per_thread;
  x86_workspaces *workspaces; /* a pointer, because the plan itself is constant */
};

static inline int64_t x86_ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
/* The first of `n` items that belong to part `index` of `count`. */
static inline int64_t x86_part_start(int64_t n, int index, int count) { return n * index / count; }
static inline int64_t x86_min(int64_t a, int64_t b) { return a < b ? a : b; }

/* How rows are divided into strips: of equal height if possible (the first `taller` have one row more). Where a
 * tile processes several units at once and absent rows cost as much as present ones: whole tiles and one for the
 * rest. */
typedef struct x86_strips {
  int64_t n, low, taller; /* the last may have fewer rows than `low` */
} x86_strips;

/* Do 14 or 32 rows of A in place fit the sets of L1 and L2 on which they are mapped? */
static inline bool x86_rows_spread(int64_t a_stride) {
  enum { SPREAD = 2048 };
  return a_stride % SPREAD != 0;
}

/* Tiles on one panel of a wide plan are higher, because a multiply-add needs eight sums to hide its latency: unless A
 * is packed in strips for wide tiles, or its rows share sets of L1. On 16 cores of an Intel server 1.03 to 1.12 times
 * as fast at 3136 x 128 x 1152, 2000 x 64 x 2000 and 1000 x 96 x 1000. */
static inline int x86_rows_of_tile(const tw_gemm_plan *p, bool two_panels) {
  const bool higher = p->wide && !two_panels && p->a_mode == X86_A_IN_PLACE && x86_rows_spread(p->a_stride);
  return higher ? p->kernel->rows : p->strip_rows;
}

/* Of equal height, if possible. */
static inline x86_strips x86_equal_strips(int64_t rows, int64_t most) {
  if (rows <= most) return (x86_strips){.n = 1, .low = rows}; /* divisions take time */
  const int64_t n = x86_ceil_div(rows, most);
  return (x86_strips){.n = n, .low = rows / n, .taller = rows % n};
}

static inline x86_strips x86_strips_of(const tw_gemm_plan *p, int64_t rows, int most) {
  if (p->kernel->step == 1) return x86_equal_strips(rows, most);
  return (x86_strips){.n = x86_ceil_div(rows, most), .low = most};
}

/* The first row of part `index` of parts_m. If strips are whole tiles, parts are whole tiles, too. */
static inline int64_t x86_part_row(const tw_gemm_plan *p, int index) {
  if (p->kernel->step == 1) return x86_part_start(p->spec.m, index, p->parts_m);
  return x86_min(x86_part_start(x86_ceil_div(p->spec.m, p->strip_rows), index, p->parts_m) * p->strip_rows, p->spec.m);
}

static inline int64_t x86_panels(const tw_gemm_plan *p) { return x86_ceil_div(p->spec.n, p->kernel->columns); }

/* Bytes from the start of packed B to panel `panel` of block `block` of k; to its scales. */
size_t x86_panel_at(const tw_gemm_plan *, int64_t block, int64_t panel);
size_t x86_scales_at(const tw_gemm_plan *, int64_t block, int64_t panel);
size_t x86_panel_bytes(const tw_gemm_plan *, int64_t units); /* bytes of units or codes */
int64_t x86_block_units(const tw_gemm_plan *, int64_t block);
/* Units filled up to whole lines of codes, if there are codes; groups of a block that share a scale. */
int64_t x86_filled(const tw_gemm_plan *, int64_t units);
int64_t x86_groups(const tw_gemm_plan *, int64_t units);
bool x86_scales_are_shared(const tw_gemm_plan *);          /* one for each column of B */
size_t x86_row_bytes(const tw_gemm_plan *, int64_t units); /* bytes of a packed row of A */
bool x86_quantizes(const tw_gemm_spec *);                  /* A is rounded to int8 */

#endif
