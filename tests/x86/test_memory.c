/* test_memory.c - memory for large operands: aligned, in large pages where the system has them, and refused when there
 * is none. */
#include "test.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tilewright/extend/extend.h"

enum { PAGE = 2 << 20 };

/* Without it AddressSanitizer ends the process for a request that no system can serve. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

static void *get(size_t bytes) {
  void *p = NULL;
  tw_error error = {0};
  if (tw_memory_alloc(bytes, &p, &error) != TW_OK) fail_msg("%s", error.text);
  return p;
}

static void every_size_is_aligned_and_can_be_written(void **state) {
  static const size_t sizes[] = {0,        1,        63,   64,       65,          4096, PAGE / 2 - 1,
                                 PAGE / 2, PAGE - 1, PAGE, PAGE + 1, 9 * PAGE + 5};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    void *p = get(sizes[i]);
    assert_int_equal((uintptr_t)p % TW_MEMORY_ALIGNMENT, 0);
    if (sizes[i] >= PAGE / 2) assert_int_equal((uintptr_t)p % PAGE, 0);
    memset(p, 0xa5, sizes[i]); /* the sanitizer guards what is behind it */
    tw_memory_free(p);
  }
  assert_true(TW_MEMORY_ALIGNMENT % TW_GEMM_ALIGNMENT == 0);
}

static void what_cannot_be_had_is_refused(void **state) {
  static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - PAGE, SIZE_MAX - PAGE + 1, SIZE_MAX / 2};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    void *p = &p;
    tw_error error = {0};
    assert_int_equal(tw_memory_alloc(sizes[i], &p, &error), TW_NO_MEMORY);
    assert_null(p);
    assert_non_null(strstr(error.text, "no memory for"));
    assert_int_equal(tw_memory_alloc(sizes[i], &p, NULL), TW_NO_MEMORY);
  }
  tw_error error = {0};
  assert_int_equal(tw_no_memory(&error, "a test"), TW_NO_MEMORY);
  assert_string_equal(error.text, "out of memory for a test");
  assert_int_equal(tw_no_memory(&error, NULL), TW_NO_MEMORY);
  assert_string_equal(error.text, "out of memory");
  tw_memory_free(NULL);
}

/* Does the mapping with this address ask for large pages? */
static bool is_advised(const void *p) {
  FILE *f = fopen("/proc/self/smaps", "r");
  char line[512];
  bool is_here = false, advised = false;
  uintptr_t from, to;
  while (f && fgets(line, sizeof line, f)) {
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
      is_here = from <= (uintptr_t)p && (uintptr_t)p < to;
    if (is_here && !strncmp(line, "VmFlags:", 8)) advised = strstr(line, " hg");
  }
  if (f) fclose(f);
  return advised;
}

static void large_memory_asks_for_large_pages(void **state) {
  if (access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK) != 0) skip();
  char *p = get(8 * PAGE);
  assert_true(is_advised(p));
  assert_true(is_advised(p + 8 * PAGE - 1));
  tw_memory_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_size_is_aligned_and_can_be_written),
      cmocka_unit_test(what_cannot_be_had_is_refused),
      cmocka_unit_test(large_memory_asks_for_large_pages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
