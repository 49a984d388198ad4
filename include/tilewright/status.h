/* status.h - how every tilewright call ends.
 *
 * A call that can fail returns a tw_status and, on failure, writes one line a user can act on into the
 * caller's tw_error (which may be NULL). The values are the exit statuses of the command. */
#ifndef TILEWRIGHT_STATUS_H
#define TILEWRIGHT_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef enum tw_status {
  TW_OK = 0,            /* done */
  TW_FAILED = 1,        /* the kernel is wrong, does not compile, faults or does not end */
  TW_USAGE = 2,         /* unknown name, bad value, unreadable or malformed file: the caller's to repair */
  TW_MISSING = 3,       /* something needed is not here: compiler, file of the installation, memory, disk room */
  TW_INTERRUPTED = 130, /* stopped by the user (128 + SIGINT); results so far are valid */
} tw_status;

typedef struct tw_error {
  tw_status status;
  char text[2000]; /* one line: what is wrong, what was found, what to do; a compiler's message may add lines */
} tw_error;

/* Fills *error (if not NULL) and returns status, so that callers write `return tw_fail(...)`. */
tw_status tw_fail(tw_error *error, tw_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* TW_MISSING: "out of memory for WHAT"; `what` may be NULL. */
tw_status tw_no_memory(tw_error *error, const char *what);
#ifdef __clang_analyzer__ /* it cannot see that the status comes back */
#define tw_fail(error, status, ...) ((void)tw_fail(error, status, __VA_ARGS__), (status))
#endif

/* Structs that grow from one release to the next begin with `size_t size`: sizeof of the struct, as the program is compiled.
 *
 *   const tw_gemm_spec spec = {.size = sizeof spec, .m = 4, .n = 5, .k = 6};     in C++: = {}; spec.size = sizeof spec; ...
 *
 * The library reads and writes no more than that. Members that a program's struct does not have yet count as 0; one that is
 * larger than the library's is taken if what the library does not know is 0. Anything else, 0 too, is TW_USAGE with one line. */

/* A time limit for long operations. */
typedef struct tw_stop {
  double deadline; /* seconds of CLOCK_MONOTONIC; 0 = none */
  const volatile int
      *interrupt; /* stop when it becomes non-zero, set by a signal or (atomically) by a thread; NULL = never */
} tw_stop;

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
