/* slots.c - see slots.h. */
#include "target/gemmini/schedule/slots.h"

gm_slots gm_slots_find(const int *trips, int levels, int unrolled, int spread) {
  int pairs = 1, level = levels;
  for (; level > levels - unrolled; level--) pairs *= trips[level - 1];
  if (spread > 0 && unrolled > 0 && spread < pairs) return (gm_slots){levels, spread, spread};
  while (spread > 0 && --level >= 0) {
    int every = 1; /* a power of two, which costs no division */
    while (2 * every * pairs <= spread && 2 * every <= trips[level]) every *= 2;
    if (2 * every * pairs > spread || level == 0) return (gm_slots){level, every, every * pairs};
    pairs *= trips[level];
  }
  return (gm_slots){-1, 1, 0};
}
