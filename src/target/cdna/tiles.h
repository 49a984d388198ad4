/* tiles.h - tile kernels (src/gpu) for CDNA: which ops have one, their schedules, and their model. */
#ifndef TW_CDNA_TILES_H
#define TW_CDNA_TILES_H

#include "gpu/common/machine.h"
#include "target/cdna/machine.h"
#include "tilewright/extend/menu.h"
#include "tilewright/extend/op.h"

/* The machine's description for the kernels of src/gpu. */
tw_tile_machine cdna_tile_machine(const cdna_machine *);

/* As in tw_family; TW_USAGE for ops without tile kernels. */
tw_status cdna_tiles_emit(const cdna_machine *, const tw_problem *, const tw_schedule *, char **source, tw_error *);
tw_status cdna_tiles_steps(const cdna_machine *, const tw_problem *, const tw_schedule *, tw_menu *out, tw_error *);
/* The steps for the op; NULL if it has none. */
const tw_language *cdna_tiles_language_of(const tw_problem *);
tw_status cdna_tiles_predict(const cdna_machine *, const tw_problem *, const tw_schedule *, double *cost, tw_error *);

/* The language of each kind of kernel, by position; NULL past the last. */
const tw_language *cdna_tiles_language(size_t index);

#endif
