/* writer.h - shared by the files of the writer. */
#ifndef TW_XDNA2_MLIR_WRITER_H
#define TW_XDNA2_MLIR_WRITER_H

#include "base/strings.h"
#include "target/xdna2/mlir/write.h"

typedef struct xd_writer {
  const xd_config *config;
  const xd_program *program;
  tw_text text;
  tw_error *error;
  tw_status status; /* the first failure; nothing is written after it */
  bool explicit;    /* the explicit form, with descriptors and locks instead of object FIFOs */
} xd_writer;

/* Notes the first failure, with the feature that cannot be written. */
void xd_write_fail(xd_writer *, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct xd_memref {
  char text[64]; /* memref<4096xi8> */
} xd_memref;
/* Bytes of an element as written: 1 for bfp16 and bytes. */
int64_t xd_write_element_bytes(tw_type);
xd_memref xd_write_memref(int64_t bytes, tw_type);

/* "%tile_0_2" of a place. */
typedef struct xd_tile_name {
  char text[32];
} xd_tile_name;
xd_tile_name xd_write_tile(xd_place);

/* "%a_0_1_2_3": something called a_0_1 in tile (2, 3). */
typedef struct xd_local_name {
  char text[XD_NAME + 24];
} xd_local_name;
xd_local_name xd_write_local(const char *name, xd_place);

/* write_functions.c: declarations; the types of a port's objects and of a call's arguments. */
void xd_write_functions(xd_writer *);
xd_memref xd_write_port_type(const xd_writer *, int port);
void xd_write_signature(const xd_writer *, const xd_op *, tw_text *);
/* write_core.c: own buffers and programs of all cores. */
void xd_write_cores(xd_writer *);
/* write_dma.c, of the explicit form: buffers, locks and circuits; the programs of DMA channels. */
void xd_write_memories(xd_writer *);
void xd_write_channels(xd_writer *);
/* The name of a shim's channel in the runtime sequence: "shim_3_in_0" (S2MM), "shim_3_out_1". */
xd_local_name xd_write_allocation(const xd_channel *);
/* write_sequence.c */
void xd_write_sequence(xd_writer *);

#endif
