/* emit_turn.h - transposes a matrix before everything else, with the array's transposer. */
#ifndef TW_GEMMINI_EMIT_TURN_H
#define TW_GEMMINI_EMIT_TURN_H

#include "target/gemmini/config.h"
#include "target/gemmini/schedule/writer.h"

typedef struct gm_turn {
  const char *type, *stored, *turned; /* in C: the type of the elements; the parameter; the destination array */
  long rows, columns;                 /* rows and columns of the stored matrix */
  long stored_pitch, turned_pitch;    /* elements from row to row */
} gm_turn;

/* Declares the static array turned[columns][turned_pitch] and fills it. Ends with a fence; all configuration must be
 * repeated. */
void gm_emit_turn(gm_writer *, const gm_config *, const gm_turn *);

#endif
