/* test_format_dispatch.c - vectors run only where the CPU has all they are compiled for. The emulated CPUs of
 * CMakeLists.txt lack one set each, and say in TW_TEST_FORMAT_ISA what must run there. */
#include "test.h"

#include <stdlib.h>
#include <string.h>
#if defined __x86_64__
#include <cpuid.h>
#endif

#include "format/internal.h"

/* Intel's manual, volume 2, CPUID: FMA and F16C are leaf 1, ECX bits 12 and 29; AVX2 is leaf 7, EBX bit 5. */
static bool cpu_has_all_of_avx2(void) {
#if defined __x86_64__
  const unsigned fma_f16c = 1u << 12 | 1u << 29;
  unsigned a, b = 0, c = 0, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & fma_f16c) == fma_f16c && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
         b >> 5 & 1;
#else
  return false;
#endif
}

static void vectors_need_avx2_fma_and_f16c(void **state) {
  if (cpu_has_all_of_avx2()) return;
  assert_null(format_kernels_named("avx2"));
  assert_null(format_kernels_named("avx512"));
  assert_string_equal(tw_format_isa(), "reference");
}

static void what_the_emulated_cpu_has_runs(void **state) {
  const char *isa = getenv("TW_TEST_FORMAT_ISA");
  if (isa) assert_string_equal(tw_format_isa(), isa);
}

/* An illegal instruction would end the test. */
static void what_was_chosen_converts(void **state) {
  enum { N = 256 };
  float x[N], y[N];
  uint8_t codes[N * 4], scales[N * 4];
  for (int i = 0; i < N; i++) x[i] = (float)(i % 3 - 1);
  for (int id = 0; id < TW_FORMAT_COUNT; id++) {
    const tw_packing p = {.format = tw_format_at((tw_format_id)id)};
    assert_int_equal(tw_format_encode(&p, 1, N, x, N, codes, scales, NULL), TW_OK);
    assert_int_equal(tw_format_decode(&p, 1, N, codes, scales, y, N, NULL), TW_OK);
    for (int i = 0; i < N; i++) /* exact, but for the roundings of 1 / 127 and 1 / 7 */
      assert_true(p.format->id == TW_FORMAT_I8 || p.format->id == TW_FORMAT_I4
                      ? y[i] > x[i] - 1e-6f && y[i] < x[i] + 1e-6f
                      : y[i] == x[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(vectors_need_avx2_fma_and_f16c),
      cmocka_unit_test(what_the_emulated_cpu_has_runs),
      cmocka_unit_test(what_was_chosen_converts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
