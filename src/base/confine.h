/* confine.h - restricts a process to the rights that its work needs: one mechanism, and profiles as data.
 *
 * A profile is a list of allowed system calls (seccomp) and of readable and writable paths (Landlock). Works for any
 * user, without namespaces; root loses its capabilities too. The confinement is permanent and inherited by children.
 * Profiles: src/toolchain/profile.c (compilers), src/native/runner/confine.c (kernels), device.c (drivers). */
#ifndef TW_BASE_CONFINE_H
#define TW_BASE_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tilewright/status.h"

/* A system call that is allowed. With tests, it is allowed only if each test holds. With several rules for one call,
 * one rule that holds suffices. */
enum { TW_CALL_TESTS = 2, TW_CALL_VALUES = 10 };
typedef struct tw_call_rule {
  int number;
  struct {
    uint8_t argument, n; /* n = 0: no test */
    bool upper;          /* of the argument's 64 bits, the upper 32 instead of the lower 32 */
    uint32_t mask;       /* 0: all bits. These 32 bits of the argument, masked, must be one of: */
    uint32_t value[TW_CALL_VALUES];
  } when[TW_CALL_TESTS];
} tw_call_rule;

/* The advice to madvise that allocators need, including allocators of sanitizers. No advice that takes pages from
 * files, poisons or merges pages, or asks about pages of other processes. For files that include <sys/mman.h> and
 * <sys/syscall.h>. */
#define TW_CALL_MADVISE                                                                                                \
  {                                                                                                                    \
    SYS_madvise, {                                                                                                     \
      {                                                                                                                \
        .argument = 2, .n = 9, .value = {                                                                              \
          MADV_NORMAL,                                                                                                 \
          MADV_DONTNEED,                                                                                               \
          MADV_FREE,                                                                                                   \
          MADV_HUGEPAGE,                                                                                               \
          MADV_NOHUGEPAGE,                                                                                             \
          MADV_WILLNEED,                                                                                               \
          MADV_DONTDUMP,                                                                                               \
          MADV_DODUMP,                                                                                                 \
          MADV_DONTFORK                                                                                                \
        }                                                                                                              \
      }                                                                                                                \
    }                                                                                                                  \
  }

/* The clocks of the system and of the caller (9 and 11 have names in <linux/time.h> only). Not the CPU clock of another
 * process, whose number is made from its pid. For files that include <time.h>. */
#define TW_CALL_OF_OWN_CLOCK(call)                                                                                     \
  {                                                                                                                    \
    call, {                                                                                                            \
      {                                                                                                                \
        .argument = 0, .n = 10, .value = {                                                                             \
          CLOCK_REALTIME,                                                                                              \
          CLOCK_MONOTONIC,                                                                                             \
          CLOCK_PROCESS_CPUTIME_ID,                                                                                    \
          CLOCK_THREAD_CPUTIME_ID,                                                                                     \
          CLOCK_MONOTONIC_RAW,                                                                                         \
          CLOCK_REALTIME_COARSE,                                                                                       \
          CLOCK_MONOTONIC_COARSE,                                                                                      \
          CLOCK_BOOTTIME,                                                                                              \
          9,                                                                                                           \
          11                                                                                                           \
        }                                                                                                              \
      }                                                                                                                \
    }                                                                                                                  \
  }

/* The processors that the caller may use, not the processors of another process. For files that include
 * <sys/syscall.h>. */
#define TW_CALL_SCHED_GETAFFINITY                                                                                      \
  {                                                                                                                    \
    SYS_sched_getaffinity, {                                                                                           \
      {                                                                                                                \
        .argument = 0, .n = 1, .value = { 0 }                                                                          \
      }                                                                                                                \
    }                                                                                                                  \
  }

typedef enum tw_refusal {
  TW_REFUSAL_ERROR, /* the call fails with ENOSYS */
  TW_REFUSAL_TRAP,  /* SIGSYS, whose handler answers or ends the process */
} tw_refusal;

typedef struct tw_profile {
  const char *who;  /* "the compiler": for messages */
  const int *plain; /* calls that are allowed with any arguments */
  size_t n_plain;
  const tw_call_rule *call;
  size_t n_calls;
  tw_refusal refusal;
  bool all_threads;    /* the filter binds the other threads of the process as well */
  bool paths_may_lack; /* works without Landlock if the system lacks it: no call of the profile opens a path */
} tw_profile;

typedef enum tw_path_right {
  TW_PATH_READ = 1,
  TW_PATH_EXECUTE = 2,
  TW_PATH_WRITE = 4,
  TW_PATH_DEVICE = 8 /* ioctl, which is refused for devices elsewhere from Landlock 5 on */
} tw_path_right;

/* A file, or a folder with all below it. One that does not exist is left out. */
typedef struct tw_path_rule {
  const char *path;
  unsigned rights; /* tw_path_right bits; WRITE of a folder: make, write and remove plain files and folders in it */
} tw_path_rule;

typedef struct tw_confinement tw_confinement;

/* The effective profile on this system. TW_MISSING if the system cannot confine. For tests, the environment variable
 * TILEWRIGHT_TEST_LACKS=landlock (or seccomp) makes any system look unable to confine. */
tw_status tw_confinement_make(const tw_profile *, const tw_path_rule *, size_t n_paths, tw_confinement **, tw_error *);
void tw_confinement_free(tw_confinement *); /* NULL is fine */

/* Confines the calling thread, or the process. Safe between vfork and exec: it takes no locks and allocates no
 * memory. Returns false with errno on failure; the caller must then end. */
bool tw_confine(const tw_confinement *);
/* A descriptor that tw_confine needs and closes; -1: none. */
int tw_confinement_file(const tw_confinement *);

/* Drops all capabilities. An exec cannot gain any, even as root. Part of tw_confine. */
bool tw_drop_capabilities(void);

/* Code that runs on a separate stack in memory that it shares with its parent, before an exec. */
#if defined __clang__
#define TW_UNINSTRUMENTED __attribute__((no_sanitize("address", "undefined", "thread")))
#else
#define TW_UNINSTRUMENTED __attribute__((no_sanitize_address, no_sanitize_undefined, no_sanitize_thread))
#endif

#endif
