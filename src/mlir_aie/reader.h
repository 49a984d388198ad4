/* reader.h - shared by the files of the reader: the state, the grammar's pieces, the definitions so far.
 *
 * The first failure ends the reading: every function returns at once when r->status is set, and loops call `going`. */
#ifndef TW_MLIR_AIE_READER_H
#define TW_MLIR_AIE_READER_H

#include "mlir_aie/read.h"
#include "mlir_aie/token.h"

/* ---- definitions ---- */

enum { XD_SHAPE_DIMS = 8, XD_MLIR_ARGUMENTS = 16, XD_MLIR_ATTRIBUTES = 48 };

/* A part of the text: a name. */
typedef struct xd_slice {
  const char *at;
  size_t length;
} xd_slice;

/* memref<2x3xi8>; of an i32 argument: no dims, element "i32". */
typedef struct xd_shape {
  bool is_memref;
  int n;
  int64_t dim[XD_SHAPE_DIMS];
  char element[16]; /* i8, bf16, v8bfp16ebs8 */
  int64_t element_bits, elements, bytes;
} xd_shape;

typedef enum xd_value_kind {
  XD_TILE_VALUE,     /* place */
  XD_NUMBER_VALUE,   /* number */
  XD_REAL_VALUE,     /* number: its bits, as a register has them */
  XD_TURN_VALUE,     /* for a loop: its iterations; index: register, first: the loop's operation */
  XD_SCALAR_VALUE,   /* index: register */
  XD_VIEW_VALUE,     /* index: port; number: objects; first: of the oldest, counted from the core's start */
  XD_OBJECT_VALUE,   /* index: port; first: the object */
  XD_BUFFER_VALUE,   /* index: port of the core's own, -1 in a memory tile; number: the buffer; place. With choices:
                        one of N consecutive buffers, the first of which is described; first: register */
  XD_LOCK_VALUE,     /* index: lock; place */
  XD_ARGUMENT_VALUE, /* index: external buffer */
  XD_TASK_VALUE,     /* index: in the reader's tasks */
  XD_LOADED_VALUE,   /* for a buffer that the host may write: index: the buffer; number: the element; first: register */
  XD_OTHER_VALUE     /* a core: nothing uses it */
} xd_value_kind;

typedef struct xd_value {
  xd_slice name;
  xd_value_kind kind;
  xd_place place;
  int64_t number, first;
  int index, choices;
  xd_shape shape;
} xd_value;

typedef struct xd_declaration {
  xd_slice name, object_file; /* object_file: of link_with; may be empty */
  int n;
  xd_shape argument[XD_MLIR_ARGUMENTS];
  bool gives; /* a result, a scalar */
} xd_declaration;

/* Properties of a function from the text's //: lines, or the command line (hints.c). */
typedef struct xd_hint {
  xd_slice name, what; /* what: gemm,..., or another function's name; empty: nothing */
  double cycles;       /* 0: not given */
} xd_hint;

/* For each FIFO of the program, by its index. */
typedef struct xd_fifo_note {
  xd_slice name;
  int line;
  bool listed; /* depths are given as a list: they are used unchanged */
  int links;   /* that contains it */
  xd_shape object;
  int most[1 + XD_BROADCAST], most_line[1 + XD_BROADCAST]; /* objects acquired at once: producer, consumers */
} xd_fifo_note;

/* A task, an await or a parameter of the runtime sequence, until channels have numbers. */
typedef struct xd_pending {
  xd_command_kind kind;
  int line, fifo, id; /* id: -1, not given */
  xd_slice metadata;  /* if fifo is -1: an allocation's name; empty: `channel` is set */
  xd_channel channel;
  int buffer;
  xd_pattern pattern;
  int64_t iterations, stride, repeat;
  int packet;
  bool of_register;         /* pushed into a queue by its register: on an unused channel it belongs to a trace */
  bool token, always_token; /* true if it gives a token whenever it writes DDR */
  int64_t element, value;   /* SET: the buffer that `metadata` names; SET_LOCK: value */
  int lock;                 /* SET_LOCK */
} xd_pending;

/* A word of a core's memory that gives the iterations of a loop: a run-time parameter. */
typedef struct xd_parameter {
  int buffer, core, number, line; /* number: index among the core's parameters */
  int64_t element;
  bool is_set;
} xd_parameter;

/* sym_name of a buffer. */
typedef struct xd_symbol_note {
  xd_slice name;
  int buffer;
} xd_symbol_note;

typedef struct xd_port_note {
  int held, line; /* number of held objects; line of the last acquire */
  int64_t released;
} xd_port_note;

/* aie.shim_dma_allocation: a name of a shim's channel. */
typedef struct xd_allocation {
  xd_slice name;
  xd_channel channel;
} xd_allocation;

/* For an operation of a core in the explicit form: its line, and the lock that it uses (-1: none). */
typedef struct xd_op_note {
  size_t core, op;
  int lock, line;
} xd_op_note;

/* A descriptor of a shim that the sequence writes field by field (registers.c). */
typedef struct xd_register_bd {
  int column, id, argument, line;
  int64_t words, offset, size[2], stride[3], iterations, iteration_stride;
} xd_register_bd;

/* aie.logical_tile: a tile whose coordinates may be missing in the text (-1 before place.c). */
typedef struct xd_logical_tile {
  xd_slice name;
  xd_tile_kind kind;
  xd_place place;
} xd_logical_tile;

typedef struct xd_reader {
  const xd_config *config;
  xd_mlir_options options;
  xd_mlir_design *design;
  xd_lexer lexer;
  xd_token token; /* the next one */
  tw_error *error;
  tw_status status;
  bool failed; /* a list could not grow */
  XD_LIST(xd_hint) hints;
  XD_LIST(xd_register_bd) register_bds;
  bool is_aie2; /* the device is npu1: other shapes of matrix instructions */
  int columns;  /* of the device */
  int op_line;  /* start of the current op */
  XD_LIST(xd_value) values;
  XD_LIST(xd_declaration) declarations;
  XD_LIST(xd_logical_tile) logical;
  XD_LIST(xd_fifo_note) fifos;
  /* tasks in the order of the sequence; tasks that are configured and not yet started */
  XD_LIST(xd_pending) tasks, configured;
  XD_LIST(xd_port_note) ports; /* a note for each port of the program */
  XD_LIST(xd_allocation) allocations;
  XD_LIST(xd_parameter) parameters;
  XD_LIST(xd_symbol_note) symbols;
  XD_LIST(xd_op_note) ops;       /* notes in the order of the text */
  XD_LIST(int) lock_numbers;     /* numbers of the program's locks; -1: not given */
  XD_LIST(int) descriptor_lines; /* line of each of the program's descriptors, in the explicit form */
  int explicit_line;             /* first line with locks, flows or programs of channels; 0: none */
} xd_reader;

static inline bool xd_going(const xd_reader *r) { return r->status == TW_OK; }

/* ---- grammar.c ---- */

/* "line N: ..." */
void xd_read_fail(xd_reader *, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
void xd_read_next(xd_reader *);
bool xd_read_at(const xd_reader *, char mark); /* true if the next token is this mark, this word, or of this kind */
bool xd_read_at_word(const xd_reader *, const char *word);
bool xd_read_at_kind(const xd_reader *, xd_token_kind);
bool xd_read_take(xd_reader *, char mark); /* takes the token if it is this one */
bool xd_read_take_word(xd_reader *, const char *word);
void xd_read_expect(xd_reader *, char mark);
void xd_read_expect_word(xd_reader *, const char *word);
xd_slice xd_read_symbol(xd_reader *);
xd_slice xd_read_value_name(xd_reader *);
xd_slice xd_read_label(xd_reader *); /* ^name */
/* The result's name of an op, empty if it has none; *op is the op's name, which is next. */
xd_slice xd_read_result(xd_reader *, xd_slice *op);
int64_t xd_read_number(xd_reader *, int64_t least, int64_t most);
/* Text for a message: up to 60 characters. */
typedef struct xd_excerpt {
  char text[64];
} xd_excerpt;
xd_excerpt xd_read_excerpt(xd_slice);
bool xd_slice_is(xd_slice, const char *);
bool xd_slice_same(xd_slice, xd_slice);

/* type.c */
xd_shape xd_read_type(xd_reader *);                              /* a memref or an integer type */
uint8_t *xd_read_dense(xd_reader *, const xd_shape *);           /* dense.c: after =, the bytes of an initial value */
xd_shape xd_read_wrapped_type(xd_reader *, const char *wrapper); /* !wrapper<memref<..>> */
bool xd_shape_same(const xd_shape *, const xd_shape *);
/* Reads a type that the text repeats; fails if it differs. */
void xd_expect_shape(xd_reader *, const xd_shape *has, const xd_shape *should, int line);
tw_type xd_shape_type(const xd_shape *); /* type of its elements; TW_TYPE_NONE: bytes */

/* attribute.c */
typedef struct xd_attribute {
  xd_slice name, text; /* the content of a string, a symbol or a word (true, false) */
  xd_token_kind kind;
  int64_t number;
  int line;
  bool used;
  xd_lexer opaque; /* #dialect.name<...>: the text after the # */
} xd_attribute;
typedef struct xd_attributes {
  int n;
  xd_attribute at[XD_MLIR_ATTRIBUTES];
} xd_attributes;
/* Reads {name = value, ...} if it is there. */
void xd_read_attributes(xd_reader *, xd_attributes *);
int64_t xd_attribute_number(xd_reader *, xd_attributes *, const char *name, int64_t otherwise);
bool xd_attribute_true(xd_reader *, xd_attributes *, const char *name);
/* true if the attribute is there and is false */
bool xd_attribute_false(xd_reader *, xd_attributes *, const char *name);
xd_slice xd_attribute_text(xd_reader *, xd_attributes *, const char *name);
/* Reads name = #aie.packet_info<pkt_type = 0, pkt_id = N>: N + 1; 0 if it is missing. */
int xd_attribute_packet(xd_reader *, xd_attributes *, const char *name);
int xd_read_packet_info(xd_reader *); /* reads from after its < to its > */
void xd_attribute_ignore(xd_attributes *, const char *name);
/* Rejects attributes that were not used. */
void xd_attributes_end(xd_reader *, xd_attributes *, const char *op);
/* [<size = 4, stride = 8>, ...], the outermost first. */
typedef struct xd_dims {
  int n;
  int64_t size[XD_DIMS + 1], stride[XD_DIMS + 1]; /* in elements, as in the text */
  int before[XD_DIMS + 1], after[XD_DIMS + 1];    /* zeros */
} xd_dims;
xd_dims xd_read_dims(xd_reader *);
/* [<const_pad_before = 1, const_pad_after = 0>, ...]: one for each dimension. */
void xd_read_padding(xd_reader *, xd_dims *);
/* As above for an attribute: name = #aie<bd_pad_layout_array[...]>; nothing if it is missing. */
void xd_attribute_padding(xd_reader *, xd_attributes *, const char *name, xd_dims *);
/* The innermost first, in bytes; a run of one element is added if the innermost dimension is not contiguous. Returns
 * their number. */
int xd_dims_in_bytes(xd_reader *, const xd_dims *, int64_t element, int line, xd_dim out[XD_DIMS]);

/* ---- definitions ---- */
void xd_define(xd_reader *, xd_value);
const xd_value *xd_value_named(xd_reader *, xd_slice, int line); /* NULL, with a failure noted, if it is missing */
int xd_fifo_named(xd_reader *, xd_slice, int line);              /* -1, and failed */
const xd_declaration *xd_declaration_named(xd_reader *, xd_slice, int line);

/* ---- ops; `result` may be empty ---- */
void xd_read_constant(xd_reader *, xd_slice result);                 /* read.c: after arith.constant */
void xd_read_fifo(xd_reader *);                                      /* fifo.c: after aie.objectfifo */
void xd_read_link(xd_reader *);                                      /* after aie.objectfifo.link */
void xd_read_core(xd_reader *, xd_slice result);                     /* core.c: after aie.core */
void xd_read_sequence(xd_reader *);                                  /* sequence.c: after runtime_sequence */
void xd_define_tile(xd_reader *, xd_slice name, xd_place, int line); /* read.c: fails outside of the device */
void xd_read_tile_attributes(xd_reader *, const char *op);
void xd_place_tiles(xd_reader *);                        /* place.c: logical tiles of the text from the next token on */
void xd_read_logical_tile(xd_reader *, xd_slice result); /* after aie.logical_tile */
xd_place xd_read_tile_name(xd_reader *);                 /* explicit.c: of a tile that is defined above */
void xd_read_buffer(xd_reader *, xd_slice result);       /* read.c: after aie.buffer */
void xd_skip_region(xd_reader *);                        /* grammar.c: skips from { to its } */
void xd_read_lock(xd_reader *, xd_slice result);         /* after aie.lock */
void xd_read_flow(xd_reader *);                          /* after aie.flow */
void xd_read_packet_flow(xd_reader *);                   /* after aie.packet_flow */
void xd_read_allocation(xd_reader *);                    /* after aie.shim_dma_allocation */
void xd_read_dma(xd_reader *, xd_tile_kind);             /* program.c: after aie.mem, aie.memtile_dma */
typedef struct xd_lock_action {
  xd_lock_use use;
  bool releases, equal; /* equal: Acquire, which waits for exactly this value */
  int line;
} xd_lock_action;
xd_lock_action xd_read_use_lock(xd_reader *, xd_place); /* called after aie.use_lock, in a program of that tile */
/* The name within a tile: without the writer's suffix _COLUMN_ROW. */
void xd_name_local(xd_slice, xd_place, char name[XD_NAME]);
/* call.c: a call of a declared function, on objects and numbers; false, and failed, if it is unknown. */
typedef struct xd_call_arguments {
  int n;
  xd_value at[XD_MLIR_ARGUMENTS];
} xd_call_arguments;
bool xd_read_kernel(xd_reader *, const xd_declaration *, const xd_call_arguments *, int line, xd_op *out);
/* descriptor.c */
enum { XD_SIZES = 4 };
int64_t xd_read_index(xd_reader *, int64_t least); /* a number or a constant */
/* [a, b, c, d] of numbers or constants, the outermost first: how many. */
int xd_read_list(xd_reader *, int64_t least, int64_t most, int64_t out[XD_SIZES]);
typedef struct xd_bd {
  const xd_value *of; /* an argument of the sequence or a buffer; NULL after a failure */
  int64_t offset, length, size[XD_SIZES], stride[XD_SIZES]; /* in elements; sizes left out are 1 */
  int before[XD_SIZES], after[XD_SIZES];                    /* zeros around each dimension; `length` counts them */
  int id, next_id;                                          /* -1: not given */
  int packet;                                               /* number + 1; 0: none */
  int line;
} xd_bd;
/* After aie.dma_bd. */
xd_bd xd_read_bd(xd_reader *, xd_value_kind of);
/* The lower n dimensions. */
xd_pattern xd_bd_pattern(xd_reader *, const xd_bd *, int n);

/* registers.c: after the names of the ops */
void xd_read_writebd(xd_reader *, int line);
void xd_read_address_patch(xd_reader *, int line);
void xd_read_write32(xd_reader *, int line);

/* hints.c */
typedef struct xd_product_hint {
  char in[16], out[16]; /* types; empty: as the arguments */
  int block[3];         /* 0: row-major */
} xd_product_hint;
void xd_read_hints(xd_reader *, const char *text);
const xd_hint *xd_hint_of(const xd_reader *, xd_slice name);                     /* NULL: none */
bool xd_hint_product(xd_reader *, const xd_hint *, int line, xd_product_hint *); /* false: it is no gemm */

/* finish.c: depths, lowering, tasks, checks */
void xd_read_finish(xd_reader *);
/* barrier.c: locks that the sequence sets and that guard no buffer. Other locks of cores are rejected in designs
 * with object FIFOs. */
void xd_read_barriers(xd_reader *);
/* ports.c: in the explicit form, the buffers that a core holds at each point; then, in both forms, the cost of a
 * step of K. */
void xd_read_ports(xd_reader *);
void xd_read_steps(xd_reader *);
/* The number of the channel, which is created if it does not exist. */
int xd_read_channel(xd_reader *, xd_place, xd_direction, int id);
/* S2MM or MM2S. */
xd_direction xd_read_direction(xd_reader *);
/* locate.c */
void xd_note_line(xd_reader *, const char *label, int line);

#endif
