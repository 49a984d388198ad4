/* data.h - the contents of tensors and the arithmetic of instructions: element types, strided views, loops over them.
 *
 * Every element takes 4 bytes: floating-point types are stored as the float of the same value, integers as int32_t.
 * Elements that were never written are marked; a result is marked if an operand is. Engines compute in binary32 and
 * round when they write. */
#ifndef TW_TRAINIUM_MACHINE_DATA_H
#define TW_TRAINIUM_MACHINE_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/trainium/program.h"

typedef enum trn_type {
  TRN_F32,
  TRN_TF32,
  TRN_BF16,
  TRN_F16,
  TRN_E4M3,
  TRN_E5M2,
  TRN_I32,
  TRN_U32,
  TRN_I16,
  TRN_U16,
  TRN_I8,
  TRN_U8,
  TRN_BOOL,
  TRN_TYPES
} trn_type;

const char *trn_type_name(trn_type); /* the type's name in nki.language: "float32" */
int trn_type_bytes(trn_type);
bool trn_type_is_real(trn_type);
tw_type trn_type_to_tw(trn_type); /* the type of the same size and kind */
/* Rounds a value to the type: to nearest even; integers saturate. e4m3 ends at 240. */
double trn_round(trn_type, double);

typedef struct trn_array {
  int64_t n; /* elements */
  uint32_t *cell;
  /* for each element: 1: never written, 2: computed from such elements; NULL: everything was written */
  uint8_t *undefined;
  int line; /* of its definition */
  /* an array with elements that were never written, from which an element with mark 2 was computed; 0: none */
  int origin;
} trn_array;

/* Zeroed cells, all undefined unless `is_defined`. False without memory. */
bool trn_array_make(trn_array *, int64_t n, bool is_defined);
void trn_array_free(trn_array *);

enum { TRN_VIEW_DIMS = 10 };

/* A strided part of an array. The last dimension varies fastest. */
typedef struct trn_view {
  trn_array *array; /* NULL: the program is only timed */
  trn_type type;
  int n;
  int64_t size[TRN_VIEW_DIMS], stride[TRN_VIEW_DIMS], offset;
} trn_view;

int64_t trn_view_elements(const trn_view *);

/* Rows of n elements from `at` in steps; at most TRN_CHUNK are read or written at once by this folder. */
enum { TRN_CHUNK = 512 };
void trn_gather(const trn_view *, int64_t at, int64_t step, int64_t n, double *out);
void trn_scatter(const trn_view *, int64_t at, int64_t step, int64_t n, const double *in);
/* The mark of a result: undefined if it was computed from elements that were never written. */
uint8_t trn_mark_of(const trn_view *dst, const trn_view *src, int64_t at);

/* Operations of two operands, and of one, with their names in nki.language. */
// clang-format off
#define TRN_BINARY_OPS(X)                                                                                              \
  X(ADD, "add") X(SUBTRACT, "subtract") X(MULTIPLY, "multiply") X(DIVIDE, "divide") X(MAXIMUM, "maximum")              \
  X(MINIMUM, "minimum") X(POWER, "power") X(MODULO, "mod") X(EQUAL, "equal") X(NOT_EQUAL, "not_equal")                 \
  X(LESS, "less") X(LESS_EQUAL, "less_equal") X(GREATER, "greater") X(GREATER_EQUAL, "greater_equal")                  \
  X(LOGICAL_AND, "logical_and") X(LOGICAL_OR, "logical_or") X(LOGICAL_XOR, "logical_xor")                              \
  X(BITWISE_AND, "bitwise_and") X(BITWISE_OR, "bitwise_or") X(BITWISE_XOR, "bitwise_xor")                              \
  X(LEFT_SHIFT, "left_shift") X(RIGHT_SHIFT, "right_shift") X(ABS_MAX, "abs_max")
#define TRN_UNARY_OPS(X)                                                                                               \
  X(EXP, "exp") X(LOG, "log") X(SQRT, "sqrt") X(RSQRT, "rsqrt") X(SQUARE, "square") X(RECIP, "reciprocal")             \
  X(TANH, "tanh") X(SIGMOID, "sigmoid") X(SILU, "silu") X(GELU, "gelu") X(GELU_TANH, "gelu_apprx_tanh")                \
  X(RELU, "relu") X(SIN, "sin") X(COS, "cos") X(ABS, "abs") X(NEGATE, "negative") X(SIGN, "sign") X(ERF, "erf")        \
  X(SOFTPLUS, "softplus") X(MISH, "mish") X(ARCTAN, "arctan") X(FLOOR, "floor") X(CEIL, "ceil")                        \
  X(LOGICAL_NOT, "logical_not") X(INVERT, "invert") X(TRUNC, "trunc")
// clang-format on
#define TRN_ENTRY(op, name) TRN_##op,
/* bypass: the first operand */
typedef enum trn_binary { TRN_BINARY_OPS(TRN_ENTRY) TRN_BYPASS, TRN_BINARIES } trn_binary;
typedef enum trn_unary { TRN_IDENTITY, TRN_UNARY_OPS(TRN_ENTRY) TRN_UNARIES } trn_unary;

bool trn_binary_is_exact(trn_binary); /* true for operations on integers: bits, shifts, comparisons */
double trn_compute_binary(trn_binary, double, double);
double trn_compute_unary(trn_unary, double);
const char *trn_unary_name(trn_unary);

/* True if the destination's element at index `at` may be written. */
typedef bool trn_allowed(const void *context, const int64_t at[]);

/* One pass over views of the same shape (a source repeats where its size is 1 or its stride 0). `compute` gets one
 * row: n elements of each source, and writes n results. Elements that are not `allowed` (NULL: all are) stay
 * unchanged. */
typedef void trn_row(void *context, int64_t n, const double *const source[], double *out);
void trn_map(const trn_view *dst, size_t n_sources, const trn_view *const source[], trn_row *compute, void *context,
             trn_allowed *allowed, const void *mask);

/* Reduces the last `axes` dimensions of src, in order; dst has the other dimensions. With `adds` the results are
 * added to dst. */
void trn_reduce(const trn_view *dst, const trn_view *src, int axes, trn_binary op, bool is_negated);
/* dst[i] = (state op0 a[i]) op1 b[i] along the last dimension; the state starts with initial (one value a row). */
void trn_scan(const trn_view *dst, const trn_view *a, const trn_view *b, const trn_view *initial, double scalar,
              trn_binary op0, trn_binary op1);
/* dst [M][N] = stationary [K][M]^T moving [K][N], added to dst if `adds`; M and N may be several dimensions, of at most
 * TRN_CHUNK elements. False without memory. */
bool trn_multiply(const trn_view *dst, const trn_view *stationary, const trn_view *moving, bool adds);
/* dst [N][M] = src [M][N]; N may be several dimensions, of at most TRN_CHUNK elements. */
void trn_turn(const trn_view *dst, const trn_view *src);
/* Copies and converts elements; elements that are not `allowed` (NULL: all are) stay unchanged. */
void trn_copy(const trn_view *dst, const trn_view *src, trn_allowed *allowed, const void *mask);
void trn_fill(const trn_view *dst, double value);
/* One element of the view's array. */
double trn_get(const trn_view *, int64_t element);
void trn_set(const trn_view *dst, int64_t element, double value);

#endif
