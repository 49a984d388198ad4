/* core_reader.h - what core.c and loop.c share: a core's program while it is read. */
#ifndef TW_MLIR_AIE_CORE_READER_H
#define TW_MLIR_AIE_CORE_READER_H

#include "mlir_aie/reader.h"

/* A loop that is open. */
typedef struct core_loop {
  size_t op;     /* XD_LOOP */
  size_t values; /* number of names before the loop */
  size_t n_ports;
  xd_port_note *before; /* state of each port before the loop; owned */
  int64_t outside;      /* busy then */
  int line;
  xd_slice header; /* for branches: the block to which the loop returns; otherwise empty */
} core_loop;

typedef struct core_reader {
  xd_reader *r;
  xd_core core;
  int loops; /* that are open */
  core_loop loop[XD_LOOPS];
  int64_t busy; /* total iterations of loops that do not wait; iterations within the innermost open loop */
  bool back;    /* the text has branched back to the innermost loop, with this step: */
  int64_t step;
  bool endless;  /* an endless loop of branches was read */
  int yields_to; /* register for the value of scf.yield; -1: none */
} core_reader;

/* core.c */
void xd_core_add(core_reader *, const xd_op *);
void xd_core_note(core_reader *, int lock, int line); /* line of the next operation, for ports.c */
/* Sets which object or buffer argument i of the operation is; its port is set. */
void xd_core_take(core_reader *, const xd_value *, xd_op *, int i, int line);
void xd_core_read_op(core_reader *);
void xd_core_read_region(core_reader *); /* { ... } */
/* choose.c: after scf.index_switch */
void xd_core_read_switch(core_reader *, xd_slice result, int line);
/* scalar.c */
int xd_core_register(core_reader *); /* a new one */
xd_source xd_core_source(core_reader *, const xd_value *, int line);
void xd_core_copy(core_reader *, xd_source from, int to);
void xd_core_read_load(core_reader *, xd_slice result, int line); /* after memref.load */
void xd_core_read_store(core_reader *, int line);                 /* after memref.store */
void xd_core_read_if(core_reader *, xd_slice result, int line);   /* after scf.if */
void xd_core_read_yield(core_reader *, int line);                 /* after scf.yield */
/* At an operation of arith; false, and nothing read, if it is not a known one. */
bool xd_core_read_scalar(core_reader *, xd_slice op, xd_slice result, int line);
/* loop.c */
void xd_core_read_for(core_reader *, xd_slice result, int line); /* after scf.for */
void xd_core_read_affine_for(core_reader *, int line);           /* after affine.for */
void xd_core_read_branch(core_reader *, int line);               /* after cf.br */

#endif
