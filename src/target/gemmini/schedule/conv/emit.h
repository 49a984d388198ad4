/* emit.h - shared by the parts of the emitter for conv2d. */
#ifndef TW_GEMMINI_CONV_EMIT_H
#define TW_GEMMINI_CONV_EMIT_H

#include "target/gemmini/schedule/conv/conv.h"
#include "target/gemmini/schedule/emit_slots.h"
#include "target/gemmini/schedule/writer.h"

typedef struct gm_conv_emitter {
  const gm_config *config;
  const gm_conv *v;
  const gm_conv_plan *plan;
  const gm_conv_layout *layout;
  gm_slot_names slots;
  gm_writer out;
} gm_conv_emitter;

/* Names of the variables of a place in the iteration space, for the step that computes and the step that loads. */
typedef struct gm_conv_place {
  const char *n, *y, *x, *k, *r,
      *c; /* image; row and column of the output; block of k; row of the kernel; block of c */
} gm_conv_place;

/* "MIN(4, 14 - y)": the size of a tile of `tile` at `place` of `length`; a constant if it never varies. */
void gm_conv_left_text(int tile, int length, const char *place, char *out, size_t size);
/* First row (column) of the convolution of the tile at `place` of the output. */
void gm_conv_first_text(const gm_conv *, const char *place, char *out, size_t size);
/* Rows of the convolution in the tile at `place`, columns. */
void gm_conv_rows_text(const gm_conv_emitter *, const char *place, char *out, size_t size);
void gm_conv_columns_text(const gm_conv_emitter *, const char *place, char *out, size_t size);

/* Channels of the tile (step) of `tile` blocks at `place`: "MIN(64, 100 - c * 16)". */
void gm_conv_channels_text(const gm_conv_emitter *, int tile, int length, const char *place, char *out, size_t size);
/* The number of channels if it never varies, as the rows of every chunk; otherwise 0. */
int gm_conv_fixed_channels(const gm_conv_emitter *, int tile, int length);
int gm_conv_fixed_rows(const gm_conv_emitter *);
/* Do all chunks have the same number of columns? */
bool gm_conv_fixed_columns(const gm_conv_emitter *);
/* Rows of a whole block of weights. */
int gm_conv_weights_high(const gm_conv_emitter *);
/* The beginning of the chunk of A in `slot`. */
void gm_conv_chunk_text(const gm_conv_layout *, const char *slot, char *out, size_t size);

/* moves: units of chunks of A and B, of the tile that is stored, of the bias. A move is set up (source, destination,
 * count) and then done unit by unit, all at once or among the pairs. */
void gm_conv_emit_load_variables(gm_conv_emitter *);
void gm_conv_emit_store_variables(gm_conv_emitter *);
void gm_conv_emit_set_loads(gm_conv_emitter *, const gm_conv_place *);
void gm_conv_emit_all_loads(gm_conv_emitter *);
void gm_conv_emit_first_loads(gm_conv_emitter *); /* all, in the order in which the first step needs them */
void gm_conv_emit_set_stores(gm_conv_emitter *);  /* for the complete tile */
void gm_conv_emit_all_stores(gm_conv_emitter *);
void gm_conv_emit_set_fill(gm_conv_emitter *, const char *buffer, const char *k);
void gm_conv_emit_all_fill(gm_conv_emitter *);
void gm_conv_emit_fill_unit(gm_conv_emitter *);
/* One unit, if any is left. Fills ahead are placed among the loads, or among the stores if loads are not spread. */
void gm_conv_emit_some_loads(gm_conv_emitter *);
void gm_conv_emit_some_stores(gm_conv_emitter *);

/* runs: the computation of one step, with loads and stores among the pairs. */
void gm_conv_emit_runs(gm_conv_emitter *);

/* hardware loop: the whole kernel. */
void gm_conv_emit_hardware_loop(gm_conv_emitter *);

#endif
