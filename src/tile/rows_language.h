/* rows_language.h - what the kernels of rows.h share: steps, the menu, and the text of a header. */
#ifndef TW_TILE_ROWS_LANGUAGE_H
#define TW_TILE_ROWS_LANGUAGE_H

#include "base/strings.h"
#include "tile/rows.h"

enum { TW_TILE_CHUNK = 16, TW_TILE_BLOCK_MAX = 1024 };

typedef struct tw_tile_rows_context {
  const tw_tile_machine *machine;
  const tw_problem *problem;
  tw_status (*settle)(const tw_tile_machine *, const tw_problem *, tw_tile_rows_plan *, tw_error *);
  double (*predict)(const void *, const tw_tile_rows_plan *);
  const void *predictor;
} tw_tile_rows_context;

extern const tw_language tw_tile_rotary_language, tw_tile_row_language;

/* Applies the steps and settles what they leave open. A schedule without steps is refused. */
tw_status tw_tile_rows_plan_of(const tw_language *, const tw_tile_rows_context *, const tw_schedule *,
                               tw_tile_rows_plan *, tw_error *);
tw_status tw_tile_rows_menu(const tw_language *, const tw_tile_rows_context *, const tw_schedule *, tw_menu *,
                            tw_error *);

int tw_tile_type_bytes(tw_type);

#endif
