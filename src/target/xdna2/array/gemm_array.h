/* gemm_array.h - the whole-array GEMM as an array program, from a few choices.
 *
 * Each core accumulates a T_MC x T_N tile of C over all of K in L1; `rows` x `columns` cores make a macro-tile. A is
 * broadcast along rows of cores, in sub-tiles of T_MC / rho rows (asymmetric tile buffering); B along columns; the C
 * tiles of a column are joined in its memory tile and drained. Operands in DDR:
 *
 *   i8    A m x k, B k x n, C m x n, row-major; B n x k if it is transposed
 *   bf16  A m x k and C m x n, row-major
 *   bfp16, and B of i4 and ternary, in tiles as pack.h lays them: blocks of 9 bytes and codes of 2 bits cannot be
 *         rearranged by DMA, and weights are packed once
 *
 * Sizes that do not divide: the last macro-tile of a row or column of them is moved back so that it ends with the
 * matrix (overlapping elements are computed twice, with equal bits). The last step of K is moved back, too, and B is
 * zero where it overlaps: those rows of B come from a page of zeros in DDR (or are packed as zeros). So m >= rows T_MC,
 * n >= columns T_N, k >= the depth of A in L2.
 *
 * A column-major B arrives in runs of a step of K, like A. Where the last step is moved back, zeros and the remainder
 * of each column would have to alternate. Then B arrives in slices of all columns, whose depth divides both k and T_K,
 * and zeros are slices from the page.
 *
 * Smaller problems are computed by one row of cores (m, rho 1), one column (n), one step of K (k, integers only): DMA
 * fills the tiles in memory tiles in part, and stores the valid part of C. The rest of A keeps its old contents, which
 * affect only rows of C that are not stored, or meet rows of B that are zero.
 *
 * With run-time sizes, each core waits for the host before each product, then reads two words: steps of K and tiles of
 * C. FIFOs, kernels and core programs do not depend on the sizes then, only the sequence does. */
#ifndef TW_XDNA2_ARRAY_GEMM_ARRAY_H
#define TW_XDNA2_ARRAY_GEMM_ARRAY_H

#include "target/xdna2/array/program.h"
#include "target/xdna2/design.h"

typedef struct xd_gemm {
  const xd_kernel *kernel;
  xd_cover cover; /* columns of the tile by the kernel */
  tw_type c;      /* type of the result; the kernel determines it */
  int64_t m, n, k;
  tw_tile tile;
  int rows, columns;    /* number of cores */
  int copies[3];        /* copies of A, B and C in L1 */
  int depth;            /* steps of K that a tile of A in L2 holds: longer runs in DDR */
  tw_rounding rounding; /* for conversions */
  bool b_transposed;    /* B is n x k (column-major) in DDR */
  int shift;            /* shift from sums in i32 to results in i8 and i16 */
  int trace;            /* cores that the emitted design records, columns first; the simulated design has none of it */
  int64_t group;        /* of scaled weights: elements along k that share a scale; 0: all of a column */
  bool in_rows;         /* bfp16 operands are rows of the matrix in DDR, each tile a part of many (pack.h) */
  bool await_groups;    /* tasks of the shims do not overlap with the previous ones: gemm_sequence.c */
  bool hide_unpacking;  /* the next tile of B is unpacked beside products, into a second buffer: gemm.c */
  bool runtime_sizes;   /* cores read the numbers of their tiles and of steps of K: one configuration for many sizes */
} xd_gemm;

/* The design if nothing else is chosen: all rows and columns, the kernel's cover and copies, a depth of 1. */
xd_gemm xd_gemm_default(const xd_config *, const xd_kernel *, const tw_tile *, int64_t m, int64_t n, int64_t k);

/* B is read by DMA in column-major order: cores transpose its blocks. A packed B is transposed when it is packed. */
static inline bool xd_gemm_turns_b(const xd_gemm *g) { return g->b_transposed && xd_reads_elements(g->kernel); }
/* The kernel's own cover; smaller if it also transposes blocks of bf16, which needs two more registers. */
static inline xd_cover xd_gemm_own_cover(const xd_gemm *g) {
  xd_cover cover = xd_cover_of(g->kernel);
  if (xd_gemm_turns_b(g) && g->kernel->b == TW_BF16 && g->kernel->vmac_issues > 1) cover.rows = 1;
  return cover;
}
/* Sums have C's type of 8 or 16 bits: they are rounded and saturated after each step of K. */
static inline bool xd_gemm_narrow_sums(const xd_gemm *g) { return g->kernel->acc == TW_I8 || g->kernel->acc == TW_I16; }
/* True if the kernel multiplies bfp16, to which A and B are rounded; otherwise it multiplies the elements
 * themselves. */
static inline bool xd_gemm_multiplies_blocks(const xd_gemm *g) {
  return xd_multiplied_b(g->kernel) == TW_BFP16 ||
         (g->kernel->b == TW_BF16 && g->kernel->acc == TW_BF16 && g->kernel->vmac_issues == 1);
}
/* True if the kernel has special rounding of sums: results are compared bit by bit with reference.h. */
static inline bool xd_gemm_has_bits(const xd_gemm *g) {
  return g->kernel->a == TW_BF16 || g->kernel->a == TW_BFP16 || xd_gemm_narrow_sums(g);
}
/* Vectors of codes of the next tile of B that each sub-tile of A unpacks beside its products; 0: none. */
static inline int xd_gemm_beside(const xd_gemm *g) {
  return g->hide_unpacking ? (int)(g->tile.k * g->tile.n / XD_UNPACK_CODES / g->tile.rho) : 0;
}
/* The kernel's cover, with the transposition of B if the kernel does that, and with what it unpacks. */
static inline xd_cover xd_gemm_cover(const xd_gemm *g) {
  return (xd_cover){g->cover.rows, g->cover.columns, g->cover.unroll, xd_gemm_turns_b(g), xd_gemm_beside(g)};
}
/* Tiles are multiples of these units: rows of a sub-tile of A, columns of B. */
static inline int xd_gemm_unit_m(const xd_gemm *g) { return g->kernel->vmac[0] * g->cover.rows; }
static inline int xd_gemm_unit_n(const xd_gemm *g) { return g->kernel->vmac[2] * g->cover.columns; }

/* External buffers in order: A, B, C, and the page of zeros. Bytes of each; the page is 0 bytes if it is not needed. */
enum { XD_GEMM_A, XD_GEMM_B, XD_GEMM_C, XD_GEMM_ZEROS, XD_GEMM_OPERANDS };
void xd_gemm_bytes(const xd_gemm *, int64_t bytes[XD_GEMM_OPERANDS]);

/* The program, lowered and checked. TW_USAGE: sizes that do not fit or divide. */
tw_status xd_gemm_program(const xd_config *, const xd_gemm *, xd_program *out, tw_error *);
/* One program for n products with run-time sizes, in turn: the array is configured once. Each has its own external
 * buffers. TW_USAGE: a product needs another configuration than the first. */
tw_status xd_gemm_program_of_all(const xd_config *, size_t n, const xd_gemm[], xd_program *out, tw_error *);

/* TW_USAGE if the choices contradict each other or the sizes. xd_check finds out whether the program's buffers fit. */
tw_status xd_gemm_check(const xd_config *, const xd_gemm *, tw_error *);
/* Bytes of all buffers of a core, and of the fullest memory tile. */
enum { XD_GEMM_L2_COPIES = 2 };
int64_t xd_gemm_l1_bytes(const xd_gemm *);
int64_t xd_gemm_l2_bytes(const xd_gemm *);

/* The simulator's function (kernel.h) for a sub-tile with that kernel; turns_b: as xd_gemm_turns_b says. */
const char *xd_gemm_function(const xd_kernel *, bool turns_b);
/* The one that also unpacks codes of the next tile of B. */
const char *xd_gemm_hiding_function(const xd_kernel *);

/* ---- for the files of the generator ---- */

/* Consequences of the choices. */
typedef struct xd_gemm_shape {
  int64_t a_bytes8, b_bytes8, c_bytes8; /* of eight elements */
  int64_t macro_m, macro_n, step;       /* macro-tile of the array; step of K in L2 */
  /* numbers of macro-tiles and of steps of K in L2; the last may overlap with the previous one */
  int64_t tiles_m, tiles_n, steps;
  bool packed_b;                  /* B has the layout of pack.h */
  int64_t slice;                  /* depth of the slices of a column-major B; 0: whole steps */
  int64_t m, k, n;                /* sizes of the tile of a core: less than T_MC, T_K, T_N in small problems */
  bool small_a, small_b, small_c; /* the operand has fewer elements than such a tile */
  /* number of columns that hold A; number of rows of cores that each of them serves (the last may serve fewer) */
  int a_columns, a_parts;
  int accumulators; /* bytes per element of a separate buffer of sums; 0: sums are in C */
} xd_gemm_shape;
xd_gemm_shape xd_gemm_shape_of(const xd_gemm *);
int xd_gemm_a_column(const xd_gemm *, int row); /* column whose memory tile holds A of this row of cores */
int64_t xd_gemm_staging(const xd_gemm *);       /* bytes of a buffer beside C for sums of 2 bytes; 0: not needed */
/* bytes of a sub-tile of A in the multiplier's form; 0: A already has this form */
int64_t xd_gemm_scratch(const xd_gemm *);
/* bytes of a tile of B in the multiplier's form; 0: B already has this form */
int64_t xd_gemm_unpacked(const xd_gemm *);

/* FIFOs of the generator, by index in the program. */
typedef struct xd_gemm_fifos {
  int a_in[8], a[8];     /* index: column that holds A; row of cores */
  int b_in[8], b[8];     /* by column */
  int c[8][8], c_out[8]; /* index: column and row; column */
} xd_gemm_fifos;

/* gemm_fifos.c */
void xd_gemm_add_fifos(const xd_gemm *, const xd_gemm_shape *, xd_gemm_fifos *, xd_program *);

/* Parameters of a core: steps of K in L1; tiles of C, with run-time sizes. Hidden unpacking: STEPS counts pairs of all
 * steps but the last, ODD is 1 if one is left, and EVEN if none is. */
enum { XD_GEMM_STEPS, XD_GEMM_TILES, XD_GEMM_ODD, XD_GEMM_EVEN };
static inline int xd_gemm_parameters(const xd_gemm *g) { return g->hide_unpacking ? 4 : 2; }

/* gemm_sequence.c: the tasks of the shims, and the parameters of each core. The operands are external buffers from
 * `first_buffer` on. */
void xd_gemm_sequence(const xd_config *, const xd_gemm *, const xd_gemm_fifos *, int first_buffer, xd_program *);

#endif
