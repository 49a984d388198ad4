/* emit_slots.h - the variables that number the slots of A and B (operand.h) in an emitted kernel: x_slot is the one that
 * a step reads, x_load the one that is loaded next, x_panel the first one of a tile. */
#ifndef TW_GEMMINI_EMIT_SLOTS_H
#define TW_GEMMINI_EMIT_SLOTS_H

#include "target/gemmini/schedule/levers.h"
#include "target/gemmini/schedule/writer.h"

typedef struct gm_slot_names {
  const gm_levers *levers;
  const gm_operand_layout *a, *b;
  int steps; /* of a tile */
} gm_slot_names;

void gm_declare_slots(gm_writer *, const gm_slot_names *); /* before all loops */
void gm_tile_slots(gm_writer *, const gm_slot_names *);    /* at the start of a tile */
void gm_next_slots(gm_writer *, const gm_slot_names *);    /* after a step */
void gm_next_load(gm_writer *, char name, int slots);
/* Does a tile's first slot change from tile to tile? */
bool gm_has_panels(const gm_slot_names *, char name);
void gm_next_panel(gm_writer *, const gm_slot_names *, char name);

#endif
