/* slots.h - slots for loads and stores among the pairs of a loop nest. */
#ifndef TW_GEMMINI_SLOTS_H
#define TW_GEMMINI_SLOTS_H

/* The slot for loads (stores) with one every `spread` pairs. It is inside the straight code of the innermost loops
 * (level = number of loops), or at the end of iterations of the rolled loop at `level` (0 is the outermost). -1: no
 * slot. */
typedef struct gm_slots {
  int level, every;
  int pairs; /* pairs between two slots */
} gm_slots;

/* `trips` of each of `levels` loops, outermost first. The innermost `unrolled` loops are straight code. */
gm_slots gm_slots_find(const int *trips, int levels, int unrolled, int spread);

#endif
