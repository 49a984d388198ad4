/* build.h - CUDA C++ to a cubin, cached by the hash of its inputs; and the limits of a machine for a launch. */
#ifndef TW_CUDA_BUILD_H
#define TW_CUDA_BUILD_H

#include <stddef.h>

#include "base/embedded.h"
#include "launch/launch.h"
#include "target/cuda/config.h"
#include "target/cuda/resources.h"

typedef struct cuda_kernel {
  tw_launch launch;
  cuda_resources resources[TW_LAUNCH_KERNELS]; /* for each kernel of the launch */
  char *cubin;                                 /* malloc'ed */
  size_t bytes;
} cuda_kernel;

/* Reads the source's header for the problem, checks it against the machine, compiles the source for the machine's
 * architecture and inspects the cubin. TW_FAILED with the error in the source. `trust`: compile even where the
 * compiler cannot be confined. */
tw_status cuda_build(const cuda_config *, const tw_problem *, const char *source, size_t length, bool trust,
                     cuda_kernel *out, tw_error *);
void cuda_kernel_free(cuda_kernel *);
/* The launch that the source's header states, for the problem. Launches that the machine does not support are
 * rejected. */
tw_status cuda_launch_of(const cuda_config *, const tw_problem *, const char *source, size_t length, tw_launch *,
                         tw_error *);
/* Compiles a source without a header: the cubin, and the compiler's log with '\0' after it. Both are part of *entry,
 * malloc'ed. */
tw_status cuda_compile(const cuda_config *, const char *source, size_t length, bool trust, char **entry,
                       const char **cubin, size_t *bytes, tw_error *);

/* The name under which kernels include a file of the library; NULL: the file is not a header for kernels. */
const char *cuda_header(const tw_embedded *);

/* Each limit that a launch exceeds on the machine, with the number: TW_FAILED. */
tw_status cuda_launch_check(const cuda_config *, const tw_launch *, tw_error *);

/* Resident blocks of the kernel on one multiprocessor, from its registers, shared memory and threads. */
int cuda_occupancy(const cuda_config *, const cuda_kernel *);

#endif
