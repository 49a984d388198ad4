/* writer.h - what the files of the writer share. */
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
} xd_writer;

/* Notes the first failure, with what cannot be written. */
void xd_write_fail(xd_writer *, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct xd_memref {
  char text[64]; /* memref<4096xi8> */
} xd_memref;
/* Bytes of an element as written: of bfp16 and of bytes, 1. */
int64_t xd_write_element_bytes(tw_type);
xd_memref xd_write_memref(int64_t bytes, tw_type);

/* "%tile_0_2" of a place. */
typedef struct xd_tile_name {
  char text[32];
} xd_tile_name;
xd_tile_name xd_write_tile(xd_place);

/* write_core.c: function declarations; own buffers and programs of all cores. */
void xd_write_functions(xd_writer *);
void xd_write_cores(xd_writer *);
/* write_sequence.c */
void xd_write_sequence(xd_writer *);

#endif
