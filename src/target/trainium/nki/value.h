/* value.h - values of a running kernel, and the run itself: shared by the files of this folder only.
 *
 * Values that need memory are objects. Objects are collected between statements: values that frames or unfinished
 * expressions can reach stay. Tiles that a kernel has dropped are freed that way.
 *
 * A function that fails does not return: nki_fail jumps to the end of the run. Only objects may be held across a call
 * that can fail. */
#ifndef TW_TRAINIUM_NKI_VALUE_H
#define TW_TRAINIUM_NKI_VALUE_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/trainium/config.h"
#include "target/trainium/machine/data.h"
#include "target/trainium/nki/kernel.h"
#include "target/trainium/nki/syntax.h"
#include "target/trainium/program.h"

typedef struct nki_run nki_run;
typedef struct nki_builtin nki_builtin;
typedef struct nki_object nki_object;

/* The kinds of values, as errors call them. `i`, `builtin`: the field of a nki_value that holds the value. */
// clang-format off
#define NKI_TYPES(X)                                                                                                   \
  X(MISSING, "nothing") /* an argument that was not given */                                                           \
  X(NONE, "None") X(BOOL, "a bool") X(INT, "an int") X(REAL, "a float") X(ELLIPSIS, "...")                             \
  X(DTYPE, "a dtype") /* i: a trn_type */ X(BUFFER, "a buffer") /* i: a trn_memory */                                  \
  X(MODULE, "a module") /* i: a nki_library */ X(ENGINE, "an engine") /* i: a trn_engine */                            \
  X(BUILTIN, "a function") /* builtin */ X(STRING, "a string") X(TUPLE, "a tuple") X(LIST, "a list") X(DICT, "a dict") \
  X(SLICE, "a slice") X(RANGE, "a range") X(FUNCTION, "a function") X(METHOD, "a method") X(PAR_DIM, "a par_dim") /* i */\
  X(INDEX, "an index tensor") X(MASK, "a mask") X(VIEW, "a tensor")                                                    \
  X(UNAVAILABLE, "unavailable") /* a name of the module whose evaluation failed; text: the reason */                   \
  X(FRAME, "an object") X(TENSOR, "a tensor")
// clang-format on
#define NKI_TYPE(type, name) NKI_V_##type,
typedef enum nki_type { NKI_TYPES(NKI_TYPE) NKI_V_TYPES } nki_type;

typedef struct nki_value {
  nki_type type;
  union {
    int64_t i;
    double r;
    nki_object *o;
    const nki_builtin *builtin;
  } as;
} nki_value;

struct nki_object {
  nki_object *next, *waiting; /* waiting: the next marked object whose parts are not marked yet */
  nki_type type;
  bool is_marked;
  size_t bytes;
};

typedef struct nki_string {
  nki_object object;
  size_t length;
  char text[];
} nki_string;

typedef struct nki_sequence { /* tuple, list; a dict has keys and values in turn */
  nki_object object;
  int depth; /* depth of nested sequences */
  size_t n, capacity;
  nki_value *item;
} nki_sequence;

typedef struct nki_slice {
  nki_object object;
  nki_value start, stop, step;
} nki_slice;

typedef struct nki_range {
  nki_object object;
  int64_t start, stop, step;
  bool is_parallel; /* affine_range */
} nki_range;

typedef struct nki_frame nki_frame;

typedef struct nki_function {
  nki_object object;
  const nki_node *node; /* NKI_DEF, NKI_LAMBDA or NKI_CLASS */
  nki_frame *closure;
  nki_value *fallback; /* default value of each parameter that has one */
} nki_function;

typedef struct nki_method {
  nki_object object;
  nki_value self;
  const nki_builtin *builtin;
  nki_function *function; /* of self's class, which keeps it; NULL: builtin */
} nki_method;

/* Variables by symbol: open addressing. */
struct nki_frame {
  nki_object object;
  nki_frame *closure, *caller;
  int n, slots;
  int *symbol; /* + 1; 0: free */
  nki_value *value;
};

/* An affine expression over the indices of a grid: what nl.arange and nl.mgrid make. */
typedef struct nki_index {
  nki_object object;
  int n;
  int64_t size[TRN_VIEW_DIMS], factor[TRN_VIEW_DIMS], offset;
} nki_index;

/* All of these expressions must be at least 0. */
enum { NKI_CONDITIONS_MAX = 12 };
typedef struct nki_mask {
  nki_object object;
  int n;
  nki_index condition[NKI_CONDITIONS_MAX];
} nki_mask;

/* A buffer. Its dimensions: blocks, then the partitions, then the free ones. HBM has no partitions. */
typedef struct nki_tensor {
  nki_object object;
  trn_memory memory;
  trn_type type;
  int first;                           /* index of the first block's trn_tensor in the program */
  int64_t blocks, partitions, columns; /* columns: elements of a partition in one block */
  trn_array array;                     /* [partition][block][column] */
  /* Blocks in PSUM that nl.zeros made and nothing has read: the first multiplication overwrites them. NULL: none. */
  bool *block_is_zero_pending;
  bool is_defined;   /* has values before anything writes it */
  bool is_host;      /* an array of NumPy: assigning to it makes no instruction */
  int64_t version;   /* counts writes */
  bool *accumulates; /* newer dialect: for each first column: was the last use a multiplication into it? */
  /* The tile of the last broadcast along partitions; the version and place of its source. */
  struct nki_view *spread;
  int64_t spread_version, spread_column, spread_partition;
  bool is_added; /* a product whose multiplication adds to another tile instead (nki_add_product) */
  int line;
} nki_tensor;

/* A part of a tensor, as an index selects it. An element of the view at i is in partition `partition` + sum i[d]
 * along_partitions[d] and in column `column` + sum i[d] along_columns[d]. */
typedef struct nki_view nki_view;
struct nki_view {
  nki_object object;
  nki_tensor *tensor;
  trn_type type;
  int n;
  int64_t size[TRN_VIEW_DIMS], along_partitions[TRN_VIEW_DIMS], along_columns[TRN_VIEW_DIMS];
  int64_t partition, column;
  /* Index expressions that must stay below a limit and not be negative: checked when the mask is known. */
  int n_limits;
  struct nki_limit {
    int64_t factor[TRN_VIEW_DIMS], offset, limit;
    int axis;
  } limit[TRN_VIEW_DIMS];
};

/* The owners of names, as errors call them. */
// clang-format off
#define NKI_LIBRARIES(X)                                                                                               \
  X(NKI, "nki") X(NL, "nki.language") X(NISA, "nki.isa") X(NUMPY, "numpy") X(MATH, "math") X(TILE_SIZE, "nl.tile_size")\
  X(REDUCE_CMD, "nki.isa.reduce_cmd") X(ENGINE, "nki.isa.engine")                                                      \
  X(MODE, "nki.isa") /* dge_mode, oob_mode, matmul_perf_mode */                                                        \
  X(LIMITS, "nl.fp32") X(VERSION, "nki.isa.nc_version") X(OTHER, "module")
// clang-format on
#define NKI_LIBRARY(library, name) NKI_LIB_##library,
typedef enum nki_library { NKI_LIBRARIES(NKI_LIBRARY) NKI_LIBRARY_COUNT } nki_library;
enum { NKI_REDUCE_IDLE, NKI_REDUCE_RESET, NKI_REDUCE_REDUCE, NKI_REDUCE_RESET_REDUCE };

/* Arguments of a call, bound to the parameters of a builtin. */
enum { NKI_ARGUMENTS_MAX = 24 };
typedef struct nki_arguments {
  nki_value at[NKI_ARGUMENTS_MAX];
  nki_view *into; /* the tensor that the result is assigned to, if known; NULL: a new tile */
  bool adds;      /* a multiplication adds to `into` */
  bool used_into; /* set by the builtin if it wrote to `into` */
} nki_arguments;

struct nki_builtin {
  nki_library library;
  const char *name;
  nki_value (*call)(nki_run *, const nki_builtin *, nki_arguments *);
  const char *parameters; /* names with blanks between; "dst" first: also callable without it */
  int code;               /* number of the operation: a trn_binary, or 100 + trn_unary; -1: none */
};
/* The function of a builtin. */
#define NKI_CALL(name)                                                                                                 \
  static nki_value name(__attribute__((unused)) nki_run *r, __attribute__((unused)) const nki_builtin *b,              \
                        __attribute__((unused)) nki_arguments *a)

/* The last multiplication: its tile (NULL if it has a mask, or wrote to a tile that was there before), its operands, and
 * the number of instructions after it. */
typedef struct nki_product {
  nki_view *tile, *stationary, *moving;
  size_t end;
} nki_product;

struct nki_run {
  const trn_config *config;
  const nki_module *module;
  trn_program *program;
  const nki_request *request;
  bool computes;     /* computes data, not only times */
  bool skips;        /* the data of the last instruction are not computed: no wanted result depends on them */
  bool is_newer;     /* the dialect with destinations first */
  bool in_directive; /* a line "#: name = value" is evaluated */
  uint64_t named;    /* operands that directives name: a bit for each */
  bool is_muted;     /* instructions are computed, but not added to the program */
  bool imports_older, imports_newer; /* the dialects that the file imports */
  int line;
  int scope, loops;  /* index of the current iteration in the program's list; number of loops so far */
  int block, blocks; /* number of the current nl.no_reorder, 0: none; of the last one that began */
  nki_frame *frame, *globals;
  nki_object *objects, *waiting;
  size_t bytes, collect_at, bytes_max; /* of objects: now, at the next collection, at most */
  int64_t tensors_max;                 /* also half the number of instructions */
  nki_value *temporary;
  size_t n_temporaries, temporary_capacity;
  int depth;
  int64_t steps;
  nki_value returned;
  nki_product product;
  double accumulator[128]; /* the Scalar engine's accumulator, one value per partition */
  unsigned stars;          /* libraries of which every name was imported: a bit for each */
  int flow;                /* after the last statement: 0, NKI_RETURN, NKI_BREAK or NKI_CONTINUE */
  tw_status status;
  tw_error *error;
  jmp_buf *fail;
};

/* A scalar operand: a number, or one value per partition. */
typedef struct nki_scalar {
  double value;
  nki_view *pointer;
} nki_scalar;

/* ---- failing ---- */
_Noreturn void nki_fail(nki_run *, const char *format, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void nki_stop(nki_run *, tw_status, const char *why);
_Noreturn void nki_out_of_memory(nki_run *);

/* ---- objects (object.c) ---- */
void *nki_new(nki_run *, nki_type, size_t bytes);       /* zeroed; kept until the statement ends */
void nki_keep(nki_run *, nki_value);                    /* keeps a value until the statement ends */
void nki_charge(nki_run *, nki_object *, size_t bytes); /* counts memory that an object holds in addition to itself */
void nki_collect(nki_run *);
void nki_free_objects(nki_run *);
nki_value nki_of(void *object);
nki_value nki_int(int64_t);
nki_value nki_real(double);
nki_value nki_bool(bool);
nki_value nki_none(void);
nki_value nki_text(nki_run *, const char *, size_t length);
nki_value nki_sequence_of(nki_run *, nki_type, size_t n, const nki_value *items);
void nki_append(nki_run *, nki_sequence *, nki_value);
static inline nki_sequence *nki_items(nki_value v) { return (nki_sequence *)v.as.o; }
static inline const char *nki_string_of(nki_value v) { return ((const nki_string *)v.as.o)->text; }
static inline nki_view *nki_view_of(nki_value v) { return (nki_view *)v.as.o; }
bool nki_is_sequence(nki_value);
const char *nki_type_name(nki_value);
bool nki_truth(nki_run *, nki_value);
/* The i-th item of an iterable value; MISSING after the last. */
nki_value nki_item(nki_run *, nki_value, size_t i);
static inline bool nki_next(nki_run *r, nki_value all, size_t *i, nki_value *item) {
  *item = nki_item(r, all, (*i)++);
  return item->type != NKI_V_MISSING;
}
bool nki_equal(nki_run *, nki_value, nki_value);
bool nki_is_number(nki_value); /* int, bool or real */
double nki_number(nki_run *, nki_value, const char *what);
int64_t nki_integer(nki_run *, nki_value, const char *what);
void nki_print(nki_value, char *text, size_t size);

/* ---- evaluation (evaluate.c) ---- */
nki_value nki_evaluate(nki_run *, const nki_node *);
void nki_count_step(nki_run *); /* fails after too many, or if the run is interrupted */
nki_value nki_invoke(nki_run *, nki_value callee, size_t n,
                     const nki_value *positional); /* positional arguments only */
void nki_run_module(nki_run *);
nki_value nki_call_function(nki_run *, nki_function *, size_t n, const nki_value *positional, size_t n_named,
                            const char *const name[], const nki_value *named);
nki_frame *nki_frame_new(nki_run *, nki_frame *closure);
const nki_value *nki_lookup(const nki_frame *, int symbol);
void nki_set(nki_run *, nki_frame *, int symbol, nki_value);

/* ---- operators (operators.c) ---- */
nki_value nki_binary(nki_run *, int op, nki_value, nki_value, nki_arguments *);
nki_value nki_compare(nki_run *, int op, nki_value, nki_value);
nki_value nki_unary(nki_run *, int op, nki_value);
int nki_operator_of(trn_binary); /* 0: none */
/* The common sizes of two index tensors; returns the number of dimensions. */
int nki_broadcast_dims(nki_run *, const nki_index *, const nki_index *, int64_t size[TRN_VIEW_DIMS]);

/* ---- indices (index.c) ---- */
nki_value nki_subscript(nki_run *, nki_value, nki_value index);
nki_view *nki_view_index(nki_run *, const nki_view *, nki_value index);
nki_index *nki_index_new(nki_run *, int n);
nki_index *nki_index_of(nki_run *, nki_value); /* accepts an int, too */
nki_mask *nki_mask_new(nki_run *);
nki_view *nki_view_whole(nki_run *, nki_tensor *, int n, const int64_t size[], int partition_axis);
nki_view *nki_view_copy(nki_run *, const nki_view *);
void nki_set_dim(nki_view *, int d, int64_t size, int64_t along_partitions, int64_t along_columns);
nki_value nki_sizes_of(nki_run *, const nki_view *); /* a tuple */
nki_view *nki_reshape(nki_run *, const nki_view *, int n, const int64_t size[]);
/* The elements at offset + sum i[d] step[d], in the order of the tensor's elements. In tiles, the first step is over
 * partitions. */
nki_view *nki_pattern(nki_run *, const nki_view *, const nki_index *);
/* Adds the dimensions of [[step, count], ...]. */
void nki_add_pattern(nki_run *, nki_value pattern, nki_index *);
nki_view *nki_turn(nki_run *, const nki_view *); /* the view with its two dimensions exchanged */
nki_view *nki_broadcast(nki_run *, const nki_view *, int n, const int64_t size[]);

/* ---- names (names.c) ---- */
extern const nki_builtin nki_python_builtins[], nki_methods[], nki_language_builtins[], nki_isa_builtins[],
    nki_math_builtins[], nki_array_builtins[], nki_special_builtins[]; /* ended by a NULL name */
const nki_builtin *nki_method_find(const char *name);
nki_value nki_library_attribute(nki_run *, nki_library, const char *name);
nki_value nki_python_name(nki_run *, const char *name); /* NKI_V_MISSING: no such name */
nki_library nki_library_of(const char *module);
void nki_bind(nki_run *, const nki_builtin *, size_t n, const nki_value *positional, size_t n_named, const int *symbol,
              const nki_value *named, nki_arguments *);
/* Arguments of handlers. */
bool nki_given(nki_value);                /* and not None */
trn_type nki_dtype(nki_run *, nki_value); /* fails if the value is no element type */
/* reads a shape of ints and par_dims */
int nki_shape(nki_run *, nki_value, int64_t size[TRN_VIEW_DIMS], int *partition_axis);
int nki_operation(nki_run *, nki_value, const char *what); /* code of a builtin */
trn_binary nki_binary_op(nki_run *, nki_value, const char *what);
trn_unary nki_unary_op(nki_run *, nki_value, const char *what);
unsigned nki_axes(nki_run *, nki_value, int n);
nki_scalar nki_scalar_of(nki_run *, nki_value, const char *what);
enum { NKI_ACTIVATION = 100 }; /* added to the code of a trn_unary */

/* ---- arrays of NumPy (array.c) ---- */
void nki_array_store(nki_run *, nki_view *into, nki_value);

/* ---- operands in directives (kernel.c) ---- */
nki_value nki_operand_named(nki_run *, const char *name);
/* The tensor that holds the operand with its axes in another order: the host stores it so, no instruction does. */
nki_value nki_operand_transposed(nki_run *, const nki_view *, nki_value axes);

/* ---- tensors and instructions (tile.c) ---- */
nki_tensor *nki_tensor_new(nki_run *, trn_memory, trn_type, int n, const int64_t size[], int partition_axis,
                           bool is_defined);
/* A new tile: partitions first. */
nki_view *nki_tile(nki_run *, trn_memory, trn_type, int n, const int64_t size[]);
/* A view of the tensor's elements; without an array if the last instruction is not computed. */
trn_view nki_data(nki_run *, const nki_view *);
/* The part of n dimensions that a mask selects: the bounds lo and hi of each, and conditions on more than one
 * dimension. */
typedef struct nki_bounds {
  int n;
  bool is_empty;
  int64_t lo[TRN_VIEW_DIMS], hi[TRN_VIEW_DIMS];
  nki_mask *rest; /* NULL: none */
  int mask_n;     /* dimensions of the mask, which apply to the last ones; 0: no mask */
} nki_bounds;
nki_bounds nki_bounds_of(nki_run *, nki_value mask, int n, const int64_t size[]);
/* The part of a view within the bounds of its leading dimensions; checks that indices stay in the tensor. */
nki_view *nki_cut(nki_run *, const nki_view *, const nki_bounds *);
/* Fails if an element within the bounds has an index outside of the tensor. */
void nki_check_limits(nki_run *, const nki_view *, const nki_bounds *);
/* a trn_allowed for the conditions on more than one dimension */
bool nki_allowed(const void *bounds, const int64_t at[]);
/* The view with partitions as its first dimension, and at least two dimensions. */
nki_view *nki_as_tile(nki_run *, const nki_view *);
trn_region nki_region(nki_run *, const nki_view *tile, bool is_read, bool is_written);
/* An instruction of these tiles, outputs first. */
void nki_emit(nki_run *, trn_instruction, size_t n_outputs, size_t n, nki_view *const operand[]);
void nki_emit_pass(nki_run *, trn_opcode, trn_engine, int64_t elements, size_t n, nki_view *const operand[]);
/* The instruction that was emitted last. */
static inline trn_instruction *nki_last(nki_run *r) { return &r->program->instruction[r->program->n_instructions - 1]; }
/* A value of the kernel as a tensor in SBUF or PSUM; fails with the name of the argument. */
nki_view *nki_operand(nki_run *, nki_value, const char *what);
/* A broadcast along partitions, as a tile that has all partitions. */
nki_view *nki_spread(nki_run *, nki_view *);
/* n columns of a tile of two dimensions, or all of another tile. */
nki_view *nki_columns(nki_run *, nki_view *, int64_t from, int64_t n);
/* Copies a value into a part of a tensor. */
void nki_store(nki_run *, nki_view *into, nki_value);

/* ---- memories that the engines can access (rules.c) ---- */
void nki_check_bits(nki_run *, trn_binary, trn_type);
void nki_check_rules(nki_run *, const trn_instruction *, size_t n_outputs, size_t n, nki_view *const operand[]);

/* ---- instructions (instructions.c): computed at once and added to the program; mask and into may be NULL ---- */
typedef struct nki_result { /* the destination of an instruction */
  nki_view *into;           /* NULL: a new tile */
  bool has_type;
  trn_type type; /* the element type of a new tile */
  nki_value mask;
  trn_engine engine;
  bool is_transpose; /* of a transfer */
} nki_result;
nki_result nki_result_of(nki_run *, nki_arguments *, nki_value dtype, nki_value mask, trn_engine);
/* The destination of an nki.isa call: `dst` if it is given, otherwise that of nki_result_of. */
nki_result nki_isa_result(nki_run *, nki_arguments *, nki_value dtype, nki_value mask, trn_engine);
/* a op b where one is a tensor. */
nki_value nki_arithmetic(nki_run *, trn_binary, nki_value a, nki_value b, nki_result);
int64_t nki_free_elements(const nki_view *); /* of each partition */
nki_view *nki_do_copy(nki_run *, nki_view *src, nki_result);
nki_view *nki_do_dma(nki_run *, nki_view *src, nki_result);
nki_view *nki_do_unary(nki_run *, trn_unary, nki_view *src, nki_scalar scale, const nki_scalar *bias, nki_result);
nki_view *nki_do_binary(nki_run *, trn_binary, nki_view *a, nki_view *b, nki_result);
nki_view *nki_do_scalar(nki_run *, nki_view *, trn_binary op0, nki_scalar, bool reverse0, trn_binary op1,
                        const nki_scalar *, bool reverse1, nki_result);
nki_view *nki_do_scalar_tensor(nki_run *, nki_view *a, trn_binary op0, nki_scalar, bool reverse0, trn_binary op1,
                               nki_view *b, bool reverse1, nki_result);
nki_view *nki_do_reduce(nki_run *, trn_binary, nki_view *src, unsigned axes, bool keeps_dims, bool is_negated,
                        nki_result);
nki_view *nki_do_matmul(nki_run *, nki_view *stationary, nki_view *moving, bool adds, nki_result);
/* Lets the last instruction add to `into` if it is the multiplication that made all of `product`; false: it is not. */
bool nki_add_product(nki_run *, nki_view *into, const nki_view *product);
nki_view *nki_do_transpose(nki_run *, nki_view *src, nki_result);
nki_view *nki_do_fill(nki_run *, double value, nki_view *into, nki_value mask, trn_engine);
nki_view *nki_do_scan(nki_run *, nki_view *a, nki_view *b, nki_scalar initial, trn_binary op0, trn_binary op1,
                      nki_result);
nki_view *nki_do_iota(nki_run *, const nki_index *, nki_result);
/* Newer dialect: a multiplication adds to the earlier sum if the last multiplication wrote all of it and nothing has
 * read it since. */
bool nki_accumulates(const nki_view *into);
void nki_note_matmul(nki_run *, const nki_view *into);
nki_value nki_do_predicated(nki_run *, const nki_builtin *, nki_arguments *); /* dst src predicate */
nki_value nki_do_range(nki_run *, const nki_builtin *, nki_arguments *);
nki_value nki_do_no_reorder(nki_run *, const nki_builtin *, nki_arguments *); /* for `with` */
extern const nki_builtin nki_no_reorder;                                      /* its result */
nki_view *nki_tile_of_block(nki_run *, nki_tensor *, int64_t block);          /* [partitions][columns] */
nki_view *nki_do_select(nki_run *, const nki_mask *, nki_view *on_true, double on_false, nki_result);

#endif
