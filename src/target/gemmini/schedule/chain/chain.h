/* chain.h - chains of small matrix-vector products on Gemmini: the intermediate form that schedules rewrite.
 *
 *   tw_schedule --replay--> gm_chain_plan --build--> gm_chain --rewrite--> gm_chain --check--> legal or not
 *                                                                             |  \--model--> predicted cycles
 *                                                                             \----emit----> C source
 *
 * A chain is a list of the accelerator's commands and of the core's element-wise work, with loops, in program order.
 * Every operand names the data that it reads or writes: rows of the scratchpad or the accumulator, elements of an array
 * in memory; places are affine in the indices of the loops around the command. So dependences can be computed: the
 * rewrites (rewrite.c) ask for them, and check.c decides of a whole program whether the machine keeps every one.
 *
 * The machine's arrays are 4 x 4: a vector of n elements is blocks of 4. As a column it is the array's weights, 4 rows
 * of one element; as a row it is one row of A, and up to 4 vectors pass the array at once. */
#ifndef TW_GEMMINI_CHAIN_H
#define TW_GEMMINI_CHAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "op/mpc.h"
#include "target/gemmini/config.h"
#include "tilewright/extend/target.h"
#include "tilewright/extend/verb.h"

/* ---- the form ---- */

enum { GM_CHAIN_DEPTH = 6, GM_CHAIN_ARRAYS = 20 };

/* base + sum over the enclosing loops of step[level] * index[level]; level 0 is the outermost. */
typedef struct gm_affine {
  int base, step[GM_CHAIN_DEPTH];
} gm_affine;

typedef enum gm_space { GM_NOWHERE, GM_SPAD, GM_ACC, GM_ACC_ADD } gm_space;

/* Rows of a local memory from `at` on. */
typedef struct gm_rows {
  gm_space space; /* GM_ACC_ADD: the accumulator adds written data to its contents */
  gm_affine at;
  int rows, cols; /* as the array reads them, after a transposition */
  bool transposed;
} gm_rows;

/* Elements of an array in memory: `rows` pieces of `cols` elements, `stride` elements apart. */
typedef struct gm_memory {
  int array;
  gm_affine at;
  int rows, cols, stride;
} gm_memory;

typedef enum gm_chain_kind {
  GM_DO,       /* opens a loop of `trip` iterations */
  GM_END,      /* closes it */
  GM_OPERATOR, /* an operator of the plain program begins here; not a command */
  GM_FENCE,
  GM_SET_EX, /* config_ex, config_ld, config_st */
  GM_SET_LD,
  GM_SET_ST,
  GM_LOAD,     /* a <- memory, times scale */
  GM_STORE,    /* memory <- a */
  GM_BEFORE,   /* preload: a = weights (output-stationary: D), b = C */
  GM_MULTIPLY, /* compute: a = A, b = D (output-stationary: B) */
  GM_NEGATE,   /* the core: out = -x */
  GM_ADD       /* the core: out = x + y */
} gm_chain_kind;

typedef struct gm_chain_command {
  gm_chain_kind kind;
  int trip;
  const char *name; /* name of a loop's index, or of an operator (for messages) */
  /* configuration that LOAD, STORE, BEFORE and MULTIPLY need, and that SET_* set */
  int id, stride, block_stride; /* number of the mvin; bytes from row to row in memory; rows from block to block */
  double scale;
  bool output_stationary, a_transposed;
  bool accumulated; /* MULTIPLY: uses the weights or sums that the array already holds */
  gm_rows a, b;
  gm_memory memory, x, y; /* x and y are read by the core, `memory` written */
} gm_chain_command;

typedef struct gm_chain_array {
  const char *name;
  int length, given_at, given; /* number of elements; first given element and number of given elements */
  bool parameter, constant;    /* a parameter of the kernel; the identity matrix */
  bool code;                   /* the kernel's own instructions, after the instructions in flight at its start */
} gm_chain_array;

typedef struct gm_chain {
  gm_chain_command *command;
  int n, capacity;
  gm_chain_array array[GM_CHAIN_ARRAYS];
  int n_arrays;
  int dim;
  int identity; /* array, or -1 */
  bool failed;  /* out of memory */
} gm_chain;

void gm_chain_free(gm_chain *);

/* Calls `visit` for every command in the order in which the core issues them; stops when it returns false. `at` is the
 * position in chain->command, index has the indices of the loops around it. */
typedef bool gm_chain_visit(void *context, const gm_chain_command *, int at, const int index[GM_CHAIN_DEPTH]);
bool gm_chain_walk(const gm_chain *, gm_chain_visit *, void *context);
int gm_affine_value(const gm_affine *, const int index[GM_CHAIN_DEPTH]);

/* ---- plans ---- */

typedef struct gm_chain_plan {
  bool fuse;   /* element-wise work is done by loads (scale), computes (D) and the accumulator */
  bool hoist;  /* loads that every step repeats are issued once */
  bool merge;  /* configuration is set only where it changes */
  bool fences; /* fences are dropped if no dependence needs them */
  bool drain;  /* fences become a config_ex, which waits only for the array, where that is enough */
  bool dead;   /* values that no result needs are not computed */
  bool banks;  /* the operands of a compute are in different banks */
  bool keep;   /* vectors stay in the scratchpad from step to step */
  bool close;  /* forward: x[i+1] = (Adyn - Bdyn Kinf) x[i] - Bdyn d[i], with the product of matrices computed once */
  bool os;     /* sums over blocks stay in the array (output-stationary) */
  bool rows;   /* vectors as rows, sums in the array, results of 4 steps at once */
  bool premultiply; /* backward: W = Bdyn Quu_inv' once, so that d[t] = p[t+1] W + r[t] Quu_inv' is one sum */
  int ahead;        /* binary logarithm of the steps of the recurrence that one product spans */
  int unroll;       /* loops over blocks: 1 the innermost are unrolled, 2 all are */
  /* loads bring the kernel's own code into the L2 ahead of the core: this many before the operands' loads */
  int code;
} gm_chain_plan;

enum { GM_CODE_LOADS_MOST = 16 };

/* The problem in this machine's terms. */
typedef struct gm_chain_problem {
  tw_mpc mpc;
  int dim, n, m, horizon;
  int widest; /* elements of the widest mvin */
} gm_chain_problem;

extern const tw_language gm_chain_language; /* its functions take a gm_chain_problem */
tw_status gm_chain_problem_from(const gm_config *, const tw_problem *, gm_chain_problem *, tw_error *);
/* Replays a schedule; *out is the rewritten, checked program. Every prefix must be legal. */
tw_status gm_chain_from(const gm_config *, const tw_problem *, const tw_schedule *, gm_chain_plan *, gm_chain *out,
                        tw_error *);
/* Builds, rewrites and checks the program of a plan. */
tw_status gm_chain_make(const gm_config *, const gm_chain_problem *, const gm_chain_plan *, gm_chain *out, tw_error *);

/* ---- building (build.c) ---- */

enum { GM_CHAIN_BANKS = 8 };

typedef struct gm_builder {
  gm_chain *chain;
  const gm_config *config;
  gm_chain_problem p;
  gm_chain_plan plan;
  int depth;                /* of loops open */
  int used[GM_CHAIN_BANKS]; /* scratchpad rows in use in each bank */
  int acc_used;
  bool full;                            /* did not fit */
  bool output_stationary, a_transposed; /* state for the following computes */
} gm_builder;

static inline int gm_rounded(const gm_builder *b, int length) { return (length + b->p.dim - 1) / b->p.dim * b->p.dim; }

/* Index of a block (or a step) along a dimension: a constant, or the index of a loop. */
typedef struct gm_block {
  int base, level; /* level < 0: no loop */
  int sign;        /* sign of the loop's index: 1, or -1 for steps that run backwards */
  int size;        /* elements in the block */
} gm_block;

/* Runs over the blocks of `length` elements; uniform runs of blocks become loops. PEEL_*: the first or last block is
 * separate. Vectors of several steps are blocks, too: gm_next with another unit. */
enum { GM_PEEL_FIRST = 1, GM_PEEL_LAST = 2, GM_ROLLED = 4 /* contains no loop */, GM_INNER = 8 /* no loop in it */ };
typedef struct gm_each {
  gm_builder *b;
  const char *name;
  int length, unit, flags, next; /* next block */
  bool open, first, last;
  gm_block block;
} gm_each;
gm_each gm_each_block(gm_builder *, const char *name, int length, int flags);
/* Steps 0 .. trip - 1 of a loop that is never unrolled; one step is no loop. */
gm_block gm_begin_steps(gm_builder *, const char *name, int trip, int first, int sign);
void gm_end_steps(gm_builder *, gm_block);
bool gm_next(gm_each *);

gm_affine gm_at(int base);
/* place + per * block */
gm_affine gm_plus(gm_affine place, gm_block, int per);

/* Allocates rows in `bank` (in any bank, if the plan has no banks). */
int gm_take_rows(gm_builder *, int bank, int rows);
int gm_take_acc(gm_builder *, int rows);
int gm_chain_local(gm_builder *, const char *name, int length);
int gm_chain_identity(gm_builder *);
/* Adds loads of the kernel's own code: the next lines before the operands' loads, the rest after them and before the
 * first product. The core fetches one line at a time, each from beyond the L2. The DMA fetches many at once, and its
 * lines are then in the L2. The data in the scratchpad are not used. */
void gm_load_code(gm_builder *);

gm_rows gm_spad(gm_affine at, int rows, int cols);
gm_rows gm_nowhere(void);

void gm_operator(gm_builder *, const char *name);
void gm_fence(gm_builder *);
/* Loads a rectangle of an array to rows. If it is wider than a block, consecutive blocks are `block_stride` rows
 * apart. */
void gm_load(gm_builder *, int array, gm_affine from, int stride, double scale, gm_affine to, int rows, int cols,
             int block_stride);
void gm_store(gm_builder *, gm_rows from, int array, gm_affine to, int stride);
void gm_before(gm_builder *, gm_rows a, gm_rows c);
void gm_multiply(gm_builder *, bool accumulated, gm_rows a, gm_rows d);
void gm_negate(gm_builder *, gm_memory x, gm_memory out);
void gm_add(gm_builder *, gm_memory x, gm_memory y, gm_memory out);
gm_memory gm_elements(int array, gm_affine at, int length);

/* A matrix in the scratchpad, in memory order: block (i, k) is at base + (i * across + k) * dim. */
typedef struct gm_matrix {
  int base, rows, cols, across;
} gm_matrix;
gm_matrix gm_take_matrix(gm_builder *, int bank, int rows, int cols);
void gm_load_matrix(gm_builder *, gm_matrix, int array, double scale);
/* Block (i, k) of it, or of its transpose, as A or B of a compute. */
gm_rows gm_matrix_block(const gm_builder *, gm_matrix, gm_block i, gm_block k);
gm_rows gm_transposed_block(const gm_builder *, gm_matrix, gm_block i, gm_block k);

/* to = from', by products with the identity. The scratchpad holds one block of it (weight-stationary, A transposed). */
void gm_transpose(gm_builder *, gm_matrix from, gm_matrix to, int identity);

/* A vector as a column: block k at base + k * dim. */
void gm_load_column(gm_builder *, int array, gm_affine from, double scale, gm_affine to, int length);
/* As above for whole blocks, several with one load. Rows of an mvin may be one element apart, so row r of block k
 * begins with element 4 k + r. Its other columns hold the next elements and are not read. */
void gm_load_window(gm_builder *, int array, gm_affine from, double scale, gm_affine to, int length);
void gm_store_column(gm_builder *, gm_space, gm_affine from, int length, int array, gm_affine to);

/* out = op(M) x + start; vectors are columns. */
typedef struct gm_product {
  gm_matrix matrix;
  bool transposed;
  gm_affine x; /* scratchpad rows of x */
  /* space of out; GM_ACC_ADD adds to the accumulator. In the scratchpad, D carries the sums from product to product. */
  gm_space space;
  gm_affine out;
  bool has_start;
  gm_affine start; /* D of the first product */
  gm_affine sums;  /* scratchpad rows for incomplete sums */
} gm_product;
/* out = op(M) x + op(M') x' + ... + start, with the sums in the array (output-stationary). rows, space, out and
 * start are taken from the first product. */
void gm_sum_columns(gm_builder *, const gm_product *, int n);
/* Several products of the same x. */
void gm_multiply_columns(gm_builder *, const gm_product *, int n);

/* column.c, kept.c, row.c */
void gm_chain_plain(gm_builder *);
void gm_chain_fused(gm_builder *);
void gm_chain_kept(gm_builder *);
void gm_chain_rows(gm_builder *);

/* ---- rewriting, checking, costs ---- */

/* Position after the node that begins at `at`: a command, or a loop with its body. */
int gm_chain_behind(const gm_chain *, int at);
/* Inserts a command at a position; false without memory. */
bool gm_chain_insert(gm_chain *, int at, const gm_chain_command *);
/* Moves loads out of loops that change neither the source nor the destination of the load. */
bool gm_chain_hoist(gm_chain *);
/* Splits the last iteration off the outermost loop and drops values that no output needs. */
bool gm_chain_drop_dead(gm_chain *, const int *outputs, int n_outputs);
/* Drops every fence without which the program still passes the check. With `drain`, a config_ex replaces each
 * remaining fence if the program then still passes. A config_ex waits for the products, and the core issues commands
 * meanwhile. */
bool gm_chain_drop_fences(const gm_config *, gm_chain *, bool drain);
/* Inserts configuration: for every operator all that it needs, or (merged) only changes. */
bool gm_chain_configure(gm_chain *, bool merged);

/* Does the machine keep every dependence? If not, the error names it. */
tw_status gm_chain_check(const gm_config *, const gm_chain *, tw_error *);

/* Cycles of a row on its way through the array (gm_execute_init in machine/execute.c). */
int gm_chain_through(const gm_config *);
/* C source of a program; schedule and plan are named at its head. */
tw_status gm_chain_source(const gm_config *, const tw_problem *, const tw_schedule *, const gm_chain_plan *,
                          const gm_chain *, char **source, tw_error *);
double gm_chain_cycles(const gm_config *, const gm_chain *);
char *gm_chain_plan_print(const gm_chain_plan *, char *buffer, size_t size);

#endif
