/* Locks that the host sets: barriers, by which it holds cores back, and locks of DMA channels; and what cannot be. */
#include "xdna2_designs.h"
#include "xdna2_explicit_design.h"
#include "xdna2_refusals.h"

#define FOR_EVER "      scf.for %i = %zero to %ever step %one {\n"
#define PARAMETER                                                                                                      \
  "    %rtp = aie.buffer(%tile) {sym_name = \"rtp\", use_write_rtp = true} : memref<16xi32>\n"                         \
  "    %go = aie.lock(%tile) {init = 0 : i32, sym_name = \"go\"}\n"
#define SET "      aiex.npu.rtp_write(@rtp, 0, 2)\n      aiex.set_lock(%go, 1)\n"

/* As IRON writes it: the core waits for its barrier, reads how many steps there are, and computes. */
static char *with_barrier(void) {
  char *lock = replaced(one_core, "    %core = aie.core", PARAMETER "    %core = aie.core");
  char *wait = replaced(lock, FOR_EVER,
                        "      aie.use_lock(%go, Acquire, 1)\n"
                        "      %word = memref.load %rtp[%zero] : memref<16xi32>\n"
                        "      %steps = arith.index_cast %word : i32 to index\n" FOR_EVER);
  char *turned = replaced(wait, "scf.for %k = %zero to %two", "scf.for %k = %zero to %steps");
  char *text = replaced(turned, "      aiex.npu.dma_memcpy_nd(%C", SET "      aiex.npu.dma_memcpy_nd(%C");
  free(lock);
  free(wait);
  free(turned);
  return text;
}

static void barriers_hold_cores_back(void **state) {
  char *text = with_barrier();
  tw_error error;
  if (run_square(text, &error) != TW_OK) fail_msg("%s", error.text);
  /* or the core takes what the sequence sets */
  char *taken = replaced(text, "(%go, Acquire, 1)", "(%go, AcquireGreaterEqual, 1)");
  if (run_square(taken, &error) != TW_OK) fail_msg("%s", error.text);
  free(taken);
  /* it is still at 1 when the core comes back to it; a constant's name will do */
  char *twice = replaced(text, "        %c = aie.objectfifo.acquire",
                         "        aie.use_lock(%go, Acquire, %one)\n        %c = aie.objectfifo.acquire");
  if (run_square(twice, &error) != TW_OK) fail_msg("%s", error.text);
  /* the core counts on: 1 + 1 is what it waits for */
  char *counted =
      replaced(text, FOR_EVER, "      aie.use_lock(%go, Release, 1)\n      aie.use_lock(%go, Acquire, 2)\n" FOR_EVER);
  if (run_square(counted, &error) != TW_OK) fail_msg("%s", error.text);
  free(text);
  free(twice);
  free(counted);
}

static void barriers_that_never_open_are_deadlocks(void **state) {
  char *text = with_barrier(), *other = replaced(text, "aiex.set_lock(%go, 1)", "aiex.set_lock(%go, 2)");
  tw_error error;
  assert_int_equal(run_square(other, &error), TW_FAILED);
  if (!strstr(error.text, "deadlock") ||
      !strstr(error.text, "core (0,2) waits for lock go of core (0,2) (2, needs exactly 1), which nobody releases"))
    fail_msg("%s", error.text);
  free(text);
  free(other);
}

static void barriers_must_be_barriers(void **state) {
  static const refusal list[] = {
      {"      aiex.set_lock(%go, 1)\n", "",
       "lock go: Acquire (until the lock is equal) is supported only for barriers, which", "aie.use_lock(%go"},
      {"(%go, Acquire, 1)", "(%go, Acquire, 64)", "64 is out of range; expected 0 to 63", NULL},
      {"aiex.set_lock(%go, 1)", "aiex.set_lock(%go, 64)",
       "command 1 of the sequence sets lock go of core (0,2) to 64; expected 0 to 63", NULL},
      {"aiex.set_lock(%go, 1)", "aiex.set_lock(%rtp, 1)", "%rtp is not a lock", NULL},
      {"aie.lock(%tile)", "aie.lock(%mem)", "lock %go is in memory (0,1), not in core (0,2)", "aie.use_lock(%go"},
      {FOR_EVER,
       "      scf.for %w = %zero to %ever step %one {\n        aie.use_lock(%go, Acquire, 1)\n      }\n" FOR_EVER,
       "a loop of more than 67108864 iterations without an acquire", "scf.for %w"},
      {FOR_EVER, "      aie.use_lock(%x, Release, 1)\n" FOR_EVER, "%x is not defined above", "%x"},
  };
  char *text = with_barrier();
  for (size_t i = 0; i < COUNT(list); i++) expect_refusal(text, &list[i]);
  static const refusal own = {
      FOR_EVER, "      aie.use_lock(%go, Release, 1)\n" FOR_EVER,
      "lock go: in a design with object FIFOs, locks of cores must be barriers set by aiex.set_lock", NULL};
  char *lock = replaced(one_core, "    %core = aie.core", PARAMETER "    %core = aie.core");
  const refusal at = {own.part, own.by, own.message, "aie.use_lock(%go"};
  expect_refusal(lock, &at);
  free(lock);
  free(text);
}

/* The memory tile begins when the host opens the lock of its channel. */
static void channels_wait_for_the_host(void **state) {
  char *closed = replaced(explicit_core, "%la_free = aie.lock(%mem, 0) {init = 1 : i32}",
                          "%la_free = aie.lock(%mem, 0) {init = 0 : i32, sym_name = \"la_free\"}");
  char *text = replaced(closed, "      aiex.npu.dma_wait", "      aiex.set_lock(%la_free, 1)\n      aiex.npu.dma_wait");
  tw_error error;
  if (run_square(text, &error) != TW_OK) fail_msg("%s", error.text);
  assert_int_equal(run_square(closed, &error), TW_FAILED);
  if (!strstr(error.text, "deadlock") || !strstr(error.text, "waits for lock la_free of memory (0,1) (0, needs 1)"))
    fail_msg("%s", error.text);
  static const refusal list[] = {
      {"aiex.set_lock(%la_free, 1)", "aiex.set_lock(%la_free, 2)",
       "sets lock la_free to 2, but memory (0,1) S2MM 0 has 1 buffers to fill with it", NULL},
      {"%la_free, AcquireGreaterEqual, 1", "%la_free, Acquire, 1",
       "unsupported Acquire (until the lock is equal) of a DMA; expected AcquireGreaterEqual", NULL},
  };
  for (size_t i = 0; i < COUNT(list); i++) expect_refusal(text, &list[i]);
  free(closed);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(barriers_hold_cores_back),
      cmocka_unit_test(barriers_that_never_open_are_deadlocks),
      cmocka_unit_test(barriers_must_be_barriers),
      cmocka_unit_test(channels_wait_for_the_host),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
