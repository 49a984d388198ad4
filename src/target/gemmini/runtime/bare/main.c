/* main.c - times the kernel once, with cold caches, and checks every element that it made. */
#include "include/gemmini_testutils.h"

#include "gemmini_short.h"
#include "problem.h"

#include "kernel.c"

/* A word of each line: the op's inputs have just been made by the core. */
static void gm_read(const volatile char *data, unsigned long bytes) {
  for (unsigned long i = 0; i < bytes; i += 64) (void)data[i];
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
  for (unsigned long i = 0; i < sizeof tw_operands / sizeof *tw_operands; i++) {
    if (!tw_operands[i].is_output) continue;
    const long wrong = tw_first_wrong(&tw_operands[i], gm_places[i].expected, (const unsigned char *)gm_places[i].got);
    if (wrong < 0) continue;
    printf("WRONG: element %lu of %s, counted in memory\n", (unsigned long)wrong, tw_operands[i].name);
    exit(1);
  }
  printf("right: every element\n");
  exit(0);
}
