/* slots.h - places for loads and stores among the pairs of a nest of loops. */
#ifndef TW_GEMMINI_SLOTS_H
#define TW_GEMMINI_SLOTS_H

/* The place of loads (stores) with one every `spread` pairs: inside the straight code of the innermost loops (level =
 * number of loops), or at the end of iterations of the rolled loop at `level` (0 is the outermost); -1: nowhere. */
typedef struct gm_slots {
  int level, every;
  int pairs; /* from one to the next */
} gm_slots;

/* `trips` of each of `levels` loops, outermost first, of which the innermost `unrolled` are straight code. */
gm_slots gm_slots_find(const int *trips, int levels, int unrolled, int spread);

#endif
