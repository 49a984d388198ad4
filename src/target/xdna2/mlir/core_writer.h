/* core_writer.h - what the files that write a core's program share. */
#ifndef TW_XDNA2_MLIR_CORE_WRITER_H
#define TW_XDNA2_MLIR_CORE_WRITER_H

#include "target/xdna2/mlir/writer.h"

typedef struct port_view {
  int view, first_object; /* numbers of the values */
  int held, released;     /* number of held objects; number released since the view was made */
  int oldest;             /* index of the oldest buffer that is held, or of the next one */
} port_view;

typedef struct core_writer {
  xd_writer *w;
  const xd_core *core;
  int index;        /* of the core */
  int depth, value; /* depth of loops; number of the next value */
  port_view *views; /* for each port of the program */
  int *values;      /* for each register the number of its value */
} core_writer;

void xd_write_indent(core_writer *); /* write_core.c */
/* write_scalar.c: an operation of scalar code; the buffer that a register chooses, as the number of a value. */
void xd_write_scalar(core_writer *, const xd_op *);
int xd_write_choice(core_writer *, int port, int chosen);

#endif
