/* test.h - cmocka with what it wants included before it. */
#ifndef TW_TEST_H
#define TW_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Tests that draw many examples draw fewer in the gate. TW_TEST_THOROUGH=1 ./dev check runs all. */
static inline bool is_thorough(void) { return getenv("TW_TEST_THOROUGH") != NULL; }

/* With sanitizers an example takes some five times as long. Of examples of one kind, which the optimized build tries
 * all, the gate then tries every fourth. */
static inline int example_stride(void) {
#ifdef __SANITIZE_ADDRESS__
  return is_thorough() ? 1 : 4;
#else
  return 1;
#endif
}

#if defined __SANITIZE_THREAD__
#define TW_TEST_THREADS
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define TW_TEST_THREADS
#endif
#endif

/* ThreadSanitizer looks for races, which differ little from example to example: every eighth of those that another build tries all. */
static inline int race_stride(void) {
#ifdef TW_TEST_THREADS
  return is_thorough() ? 1 : 8;
#else
  return 1;
#endif
}

#endif
