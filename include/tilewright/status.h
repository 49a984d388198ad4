/* status.h - how every tilewright call ends.
 *
 * A call that can fail returns a tw_status and, on failure, writes one line a user can act on into the
 * caller's tw_error (which may be NULL). Programs branch on the status:
 *
 *   status = tw_gemm_plan_create(&spec, &plan, &error);
 *   if (status == TW_UNSUPPORTED) ...call another library... */
#ifndef TILEWRIGHT_STATUS_H
#define TILEWRIGHT_STATUS_H

/* TW_API marks the functions of the library. TW_PRINTF: argument `at` is the printf format of the arguments from `first` on. */
#if defined(__GNUC__)
#define TW_API __attribute__((visibility("default")))
#define TW_PRINTF(at, first) __attribute__((format(printf, at, first)))
#else
#define TW_API
#define TW_PRINTF(at, first)
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tw_status {
  TW_OK,          /* done */
  TW_FAILED,      /* the kernel is wrong, does not compile, faults or does not end */
  TW_USAGE,       /* invalid argument: unknown name, bad value, unreadable or malformed file */
  TW_MISSING,     /* anything else is missing: a program, a server, a file of the installation */
  TW_INTERRUPTED, /* stopped by the user; results so far are valid */
  TW_UNSUPPORTED, /* an operation, type, shape or feature that the target, this CPU or this version does not have */
  TW_NO_MEMORY,   /* out of memory */
  TW_NO_DEVICE,   /* no such device, or it cannot be used: driver, permissions, context */
  TW_NO_COMPILER, /* a compiler is not installed, or does not work */
  TW_DISK_FULL,   /* no room for a file: disk, quota or limit on file sizes */
} tw_status;

/* "out of memory"; "unknown status" for other values. */
TW_API const char *tw_status_name(tw_status);

typedef struct tw_error {
  tw_status status;
  /* One line: what is wrong, what was found, what to do; a compiler's message may add lines. */
  char text[2000];
} tw_error;

/* Fills *error (if not NULL) and returns status, so that callers write `return tw_fail(...)`. */
TW_API tw_status tw_fail(tw_error *error, tw_status status, const char *format, ...) TW_PRINTF(3, 4);
/* TW_NO_MEMORY: "out of memory for WHAT"; `what` may be NULL. */
TW_API tw_status tw_no_memory(tw_error *error, const char *what);
#ifdef __clang_analyzer__ /* it cannot see that the status comes back */
#define tw_fail(error, status, ...) ((void)tw_fail(error, status, __VA_ARGS__), (status))
#define tw_no_memory(error, what) ((void)tw_no_memory(error, what), TW_NO_MEMORY)
#endif

/* Structs that grow from one release to the next begin with `size_t size`: sizeof of the struct, as the program is compiled.
 *
 *   const tw_gemm_spec spec = {.size = sizeof spec, .m = 4, .n = 5, .k = 6};     in C++: = {}; spec.size = sizeof spec; ...
 *
 * The library reads and writes only these bytes. Members that a smaller struct lacks count as 0. A larger struct is accepted if
 * the members that the library does not know are 0. Every other size, including 0, is TW_USAGE. */

/* A time limit for long operations. */
typedef struct tw_stop {
  /* Deadline in seconds of CLOCK_MONOTONIC; 0 = none. */
  double deadline;
  /* Stop when it becomes non-zero, set by a signal or (atomically) by a thread; NULL = never. */
  const volatile int *interrupt;
} tw_stop;

#ifdef __cplusplus
}
#endif
#endif
