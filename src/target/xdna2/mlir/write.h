/* write.h - an array program as MLIR-AIE source text, for the tool chain of the real machine (aiecc).
 *
 * The text is in object-FIFO form: what the program has above the lowering (FIFOs, links, cores, separate buffers), and
 * the runtime sequence as npu.dma_memcpy_nd and dma_wait. A program that this form cannot express (or one without
 * FIFOs) is in explicit form: buffers, locks, flows and the descriptors of each channel. It follows mlir-aie from
 * November 2025 on (aie.runtime_sequence), with the object file in the function declarations (mlir-aie #2922). read.h
 * reads it back.
 *
 * - Elements have the type of the FIFO or buffer; bfp16 and untyped data are bytes (memref<..xi8>).
 * - Kernels are the functions of symbol.h, in the object file NAME.o: the micro-kernel's name.
 * - A run-time parameter in a buffer is loaded from it and written by the sequence (npu.rtp_write). Another one, which
 *   the sequence sets once, is a constant.
 * - `step` is a cost of the simulator and not a function: it is not written, and the reader restores it. */
#ifndef TW_XDNA2_MLIR_WRITE_H
#define TW_XDNA2_MLIR_WRITE_H

#include "target/xdna2/array/program.h"

/* `program` is lowered and checked. `title` becomes a comment. The result is malloc'ed. TW_USAGE: a feature that the
 * text (or mlir-aie) cannot express. */
tw_status xd_mlir_write(const xd_config *, const xd_program *, const char *title, char **out, tw_error *);

/* The object file that the text links: "int8.o", or "int8_4x1x2.o" with clusters of 4x1, 2 unrolled. */
typedef struct xd_object_name {
  char text[64];
} xd_object_name;
xd_object_name xd_mlir_object(const xd_program *);

/* The host's buffer for what traced cores record. */
enum { XD_TRACE_BYTES = 1 << 20 };

#endif
