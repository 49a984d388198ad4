/* program.h - an array program: the complete configuration of an XDNA2 array, as data.
 *
 * Two layers. The lower one has the hardware's parts: buffers, locks, DMA channels with buffer descriptors, routes
 * through the stream switches, a program for each core, and the runtime sequence by which the host starts tasks of
 * channels. The upper one has object FIFOs and links, which xd_lower (lower.h) turns into the lower one. A program may
 * use either or both.
 *
 * References are indices in the program's lists; -1 is none. Sizes, offsets and strides are bytes. A program is built
 * by appending (XD_ADD), checked by check.h, run by run.h, drawn by floorplan.h. */
#ifndef TW_XDNA2_ARRAY_PROGRAM_H
#define TW_XDNA2_ARRAY_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/xdna2/config.h"
#include "tilewright/format.h"
#include "tilewright/status.h"
#include "tilewright/type.h"

#define XD_LIST(type)                                                                                                  \
  struct {                                                                                                             \
    size_t n, room;                                                                                                    \
    type *at; /* NOLINT(bugprone-macro-parentheses): a declaration */                                                  \
  }

enum { XD_NAME = 40, XD_DIMS = 4, XD_ARGUMENTS = 8, XD_BROADCAST = 40, XD_LOOPS = 8, XD_PARAMETERS = 8 };

/* A tile: row 0 is the shim, row 1 the memory tile, rows from 2 compute. */
typedef struct xd_place {
  int column, row;
} xd_place;
static inline xd_tile_kind xd_kind_of(xd_place t) { return t.row == 0 ? XD_SHIM : t.row == 1 ? XD_MEMORY : XD_COMPUTE; }
static inline bool xd_same_place(xd_place a, xd_place b) { return a.column == b.column && a.row == b.row; }

/* ---- hardware ---- */

/* In a tile's memory; or, `external`, an array in DDR, which shim descriptors address. */
typedef struct xd_buffer {
  char name[XD_NAME];
  xd_place tile; /* external buffer: none */
  int64_t bytes;
  int64_t placed; /* its address in the tile's memory, plus 1; 0: the compiler chooses it */
  bool external;
  int argument;     /* external buffer of a design from a file: its place among the sequence's arguments */
  tw_type type;     /* type of its elements, for source text; TW_TYPE_NONE: bytes */
  uint8_t *initial; /* initial contents; owned, NULL: undefined */
} xd_buffer;

/* Counting: acquire waits until value >= n and subtracts n, release adds n. */
typedef struct xd_lock {
  char name[XD_NAME];
  xd_place tile;
  int initial;
} xd_lock;

/* One loop of a descriptor's addresses. Before the first and after the last of its steps, `before` and `after` steps of
 * zeros go into the stream instead (memory tiles, MM2S). */
typedef struct xd_dim {
  int64_t size, stride;
  int before, after;
} xd_dim;

/* How one transfer walks memory: dim[0] is a run of size bytes (its stride is 1), dim[1] repeats it, and so on
 * outwards. */
typedef struct xd_pattern {
  int64_t offset;
  int n_dims; /* at least 1 */
  xd_dim dim[XD_DIMS];
} xd_pattern;

typedef struct xd_lock_use {
  int lock; /* -1: none */
  int count;
} xd_lock_use;

/* A buffer descriptor: acquire, move, release, go on to `next`. */
typedef struct xd_descriptor {
  int channel; /* the descriptor's channel */
  int id;      /* number in the tile's table; xd_number_descriptors replaces -1 */
  int buffer;
  xd_pattern pattern;
  int64_t iterations,
      iteration_stride; /* each execution is displaced by another stride, `iterations` times; 1: never displaced */
  xd_lock_use acquire, release;
  int next;   /* -1: the task ends after this descriptor */
  int packet; /* number of the packets that it sends, plus 1; 0: a plain stream */
} xd_descriptor;

typedef enum xd_direction { XD_S2MM, XD_MM2S } xd_direction; /* stream to memory, memory to stream */

typedef struct xd_channel {
  xd_place tile;
  xd_direction direction;
  int id;    /* number among the tile's channels of this direction */
  int start; /* descriptor with which it starts without a task; -1: tasks come from the sequence */
  int again; /* how often the chain is repeated, if it ends */
} xd_channel;

/* A circuit through the switches: one MM2S channel to one or more S2MM channels. A step is a link between two
 * neighbouring tiles that the circuit takes; xd_route fills them in. */
typedef struct xd_step {
  xd_place from, to;
} xd_step;

/* For packets: `packet` is their number + 1. Several such routes may share a source, whose descriptors choose the
 * route, or a sink, which receives one packet (a descriptor's bytes) at a time. */
typedef struct xd_route {
  int packet;
  int source, n_sinks, sink[XD_BROADCAST];
  int hops[XD_BROADCAST]; /* links between source and each sink */
  int first_step, n_steps;
} xd_route;

/* A core's view of a set of buffers that are used in turn: the end of a FIFO, or a buffer of the core. */
typedef struct xd_port {
  char name[XD_NAME];
  xd_place tile;
  int first_buffer, n_buffers;  /* consecutive */
  xd_lock_use acquire, release; /* per object; none: the core always holds this buffer */
  int fifo;                     /* FIFO of this end; -1 */
  bool is_producer;
} xd_port;

/* A kernel: a function on buffers in L1. kernel.h has the table. */
typedef struct xd_function xd_function;

typedef struct xd_call {
  const xd_function *function;
  int m, k, n;            /* the sub-problem, in elements */
  int row, rows;          /* if the whole of C is passed: the first row there, and the number of rows of C */
  tw_rounding rounding;   /* for all conversions */
  int shift;              /* for narrowing stores */
  const xd_kernel *micro; /* the micro-kernel that determines its cost; NULL: none */
  xd_cover cover;         /* the cover with which it computes the tile */
  int block[3];           /* for blocked kernels (kernel_blocked.h): r, s, t */
  int macs;               /* multiply-accumulates per cycle of a kernel without `micro` */
  double cycles;          /* cycles given by the user; 0: none */
  bool traced;            /* its source marks where it begins and ends */
} xd_call;
static inline void xd_set_micro(xd_call *c, const xd_kernel *micro) {
  c->micro = micro;
  for (int i = 0; i < 3; i++) c->block[i] = micro->vmac[i];
}

/* Scalar code of a core works on registers: an integer holds its value, a real number the bits of a double. */
typedef enum xd_scalar_kind {
  XD_SCALAR_COPY,  /* to = a, converted to the type */
  XD_SCALAR_LOAD,  /* to = element a of argument 0 */
  XD_SCALAR_STORE, /* element a of argument 0 = b */
  XD_SCALAR_ADD,
  XD_SCALAR_SUBTRACT,
  XD_SCALAR_MULTIPLY,
  XD_SCALAR_DIVIDE,
  XD_SCALAR_REMAINDER,
  XD_SCALAR_AND,
  XD_SCALAR_OR,
  XD_SCALAR_XOR,
  XD_SCALAR_LEFT,
  XD_SCALAR_RIGHT,
  XD_SCALAR_LEAST,
  XD_SCALAR_MOST,
  XD_SCALAR_COMPARE,   /* to = the result of comparing a with b, as `compare` says */
  XD_SCALAR_SELECT,    /* to = a ? b : c */
  XD_SCALAR_TO_REAL,   /* for an integer */
  XD_SCALAR_TO_INTEGER /* for a real number */
} xd_scalar_kind;
typedef enum xd_compare { XD_EQ, XD_NE, XD_LT, XD_LE, XD_GT, XD_GE } xd_compare;

/* An operand of an operation: a register of the core, or, with `at` below 0, this value. */
typedef struct xd_source {
  int at;
  int64_t value;
} xd_source;

typedef struct xd_scalar {
  xd_scalar_kind kind;
  xd_compare compare;
  int to; /* register */
  xd_source from[3];
  tw_type type; /* type of the stored, loaded or computed value: i8, i16, i32, bf16, f32 */
  bool is_unsigned;
  int cycles;
} xd_scalar;

/* AWAIT_LOCK and ADD_TO_LOCK use a barrier, which is a lock that guards no buffers and that the host sets. TAKE_LOCK
 * is for designs whose cores use locks without restrictions. IF continues after its ELSE (or END_IF) if its register
 * holds 0. */
typedef enum xd_op_kind {
  XD_LOOP,
  XD_END,
  XD_IF,
  XD_ELSE,
  XD_END_IF,
  XD_SCALAR,
  XD_ACQUIRE,
  XD_RELEASE,
  XD_CALL,
  XD_AWAIT_LOCK, /* waits until the lock holds `count`, and does not change it */
  XD_ADD_TO_LOCK,
  XD_TAKE_LOCK /* waits until the lock holds `count`, and subtracts it */
} xd_op_kind;
enum { XD_COUNTED = -2 }; /* iterations of a loop whose bounds are registers */

/* One step of a core's program. */
typedef struct xd_op {
  xd_op_kind kind;
  int64_t count; /* LOOP: iterations, -1 for ever. ACQUIRE, RELEASE: objects. For a lock: its value, or the addend */
  int lock;      /* AWAIT_LOCK, ADD_TO_LOCK, TAKE_LOCK */
  int parameter; /* LOOP: if not -1, the iterations are this run-time parameter of the core */
  int port;      /* ACQUIRE, RELEASE */
  xd_call call;
  bool turns;       /* LOOP: scalar.to counts from from[0] in steps of from[2]; XD_COUNTED: up to from[1] */
  xd_scalar scalar; /* SCALAR; IF: from[0] */
  int n_arguments;
  struct {
    int port, element; /* index of a held object, 0 is the oldest */
    int64_t offset;
    /* If `choices`, the number of the port's buffers, is not 0, the register `chosen` has the number of the buffer. */
    int choices, chosen;
  } argument[XD_ARGUMENTS];
} xd_op;

typedef struct xd_core {
  xd_place tile;
  /* Bytes of its stack, at address 0 of the tile's memory; 0: the machine's. */
  int64_t stack;
  int registers;
  bool traced; /* the NPU records it */
  XD_LIST(xd_op) ops;
} xd_core;

/* The host's program, in order. START puts a task into a channel's queue; AWAIT continues when a task of the channel
 * that was started with a token has ended, and takes the token; SET writes a run-time parameter; SET_LOCK sets a lock,
 * whatever its value. */
typedef enum xd_command_kind { XD_START, XD_AWAIT, XD_SET, XD_SET_LOCK } xd_command_kind;
typedef struct xd_command {
  xd_command_kind kind;
  int channel, descriptor, repeat; /* START: how often the descriptor (chain) runs */
  bool token;
  int core, parameter; /* SET: index of the core's parameter; -1: not a loop's */
  int buffer;          /* SET: a word of this buffer is written, from 0 on, plus 1; 0: none */
  int64_t element;
  int lock;      /* SET_LOCK */
  int64_t value; /* for both */
} xd_command;

/* ---- object FIFOs ---- */

/* dims: the order in which the DMA of a memory tile or core accesses the object (as in xd_pattern); n_dims = 0:
 * linear. */
typedef struct xd_fifo_end {
  xd_place tile;
  int depth; /* buffers; at a shim: 0 */
  int n_dims;
  xd_dim dim[XD_DIMS];
} xd_fifo_end;

/* From one producer to one or (broadcast) more consumers. At a core an end is a port; at a memory tile every end is in
 * a link; at a shim the sequence moves the data. */
typedef struct xd_fifo {
  char name[XD_NAME];
  int64_t bytes; /* bytes of an object */
  xd_fifo_end producer, consumer[XD_BROADCAST];
  int n_consumers;
  bool shared;      /* between neighbouring cores: one set of buffers in the producer's tile, which both use; no DMA */
  int n_initial;    /* objects that it holds initially */
  uint8_t *initial; /* owned */
  int source, sink[XD_BROADCAST]; /* channels, filled in by xd_lower */
  tw_type type;                   /* type of its elements, for source text; TW_TYPE_NONE: bytes */
} xd_fifo;

/* Within a memory tile: objects of one side are at these offsets in objects of the other side. 1 -> n splits, n -> 1
 * joins, 1 -> 1 forwards. The buffers are as large as on the side with one FIFO (with two, the larger or else the
 * incoming), and as many as the depth of that end. If the outgoing one of two pads, they are the incoming one's. A part
 * may be a multiple of the other side's object: then it passes as several. */
typedef struct xd_link {
  int n_in, in[XD_DIMS * 2], n_out, out[XD_DIMS * 2];
  int64_t offset[XD_DIMS * 2]; /* offsets, for the side with several FIFOs */
} xd_link;

typedef struct xd_program {
  XD_LIST(xd_buffer) buffers;
  XD_LIST(xd_lock) locks;
  XD_LIST(xd_descriptor) descriptors;
  XD_LIST(xd_channel) channels;
  XD_LIST(xd_route) routes;
  XD_LIST(xd_step) steps;
  XD_LIST(xd_port) ports;
  XD_LIST(xd_core) cores;
  XD_LIST(xd_command) sequence;
  XD_LIST(xd_fifo) fifos;
  XD_LIST(xd_link) links;
  bool raw;    /* its cores use locks and buffers without restrictions: ownership is not checked */
  bool failed; /* memory ran out while appending; the program is incomplete */
} xd_program;

void xd_program_free(xd_program *);

/* Appends a copy of *item, returns its index; -1, and program->failed, without memory. */
#define XD_ADD(program, list, item) xd_append(&(program)->list, sizeof *(program)->list.at, (item), &(program)->failed)
int xd_append(void *list, size_t size, const void *item, bool *failed);

/* "memory (3,1)", "core (0,2)"; "memory (3,1) S2MM 2" */
typedef struct xd_label {
  char text[64];
} xd_label;
xd_label xd_place_label(xd_place);
xd_label xd_channel_label(const xd_channel *);
/* Shorter, for the lanes of a timeline: "core3.2", "mem3 in 2" (S2MM), "shim0 out 1" (MM2S). */
xd_label xd_core_lane(xd_place);
xd_label xd_channel_lane(const xd_channel *);

static inline xd_pattern xd_linear(int64_t offset, int64_t bytes) {
  return (xd_pattern){.offset = offset, .n_dims = 1, .dim = {{bytes, 1, 0, 0}}};
}
/* True if the walk of an end adds zeros: its objects in the stream are then larger than in memory. */
bool xd_end_pads(const xd_fifo_end *);
/* Bytes in the stream of one execution, zeros included. */
int64_t xd_pattern_bytes(const xd_pattern *);
/* First byte and one past the last byte in memory that one execution touches. */
void xd_pattern_span(const xd_pattern *, int64_t *first, int64_t *end);

#endif
