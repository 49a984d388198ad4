/* main.c - times the kernel once, with cold caches, and checks every element that it made. */
#include "include/gemmini_testutils.h"

#include "gemmini_short.h"
#include "problem.h"

#include "kernel.c"

/* A word of each line: the op's inputs have just been made by the core. */
static void gm_read(const volatile char *data, unsigned long bytes) {
  for (unsigned long i = 0; i < bytes; i += 64) (void)data[i];
}

/* What must be the same bits: integers, what was given, and what lies between rows. */
static long gm_first_difference(const gm_output *o) {
  for (unsigned long i = 0; i < o->bytes; i++)
    if (((const uint8_t *)o->got)[i] != ((const uint8_t *)o->expected)[i]) return (long)(i / o->element_bytes);
  return -1;
}

/* Real numbers: pairs of the right value and how far the result may be off; a value that is NaN is not looked at. */
static long gm_first_far(const gm_output *o) {
  const double *pair = o->expected;
  for (unsigned long i = 0; i < o->bytes / 4; i++) {
    const double off = (double)((const float *)o->got)[i] - pair[2 * i], most = pair[2 * i + 1];
    if (pair[2 * i] == pair[2 * i] && !(off <= most && -off <= most)) return (long)i;
  }
  return -1;
}

int main(void) {
  gemmini_flush(0);
  GM_MAKE_CACHED();
  gemmini_fence();
  const uint64_t start = read_cycles();
  GM_CALL_KERNEL();
  gemmini_fence();
  const uint64_t cycles = read_cycles() - start;
  printf("cycles: %lu\n", (unsigned long)cycles);
  for (unsigned long i = 0; i < sizeof gm_outputs / sizeof *gm_outputs; i++) {
    const gm_output *o = &gm_outputs[i];
    const long wrong = o->real ? gm_first_far(o) : gm_first_difference(o);
    if (wrong < 0) continue;
    printf("WRONG: element %lu of %s, counted in memory\n", (unsigned long)wrong, o->name);
    exit(1);
  }
  printf("right: every element\n");
  exit(0);
}
