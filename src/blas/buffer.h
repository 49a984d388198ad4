/* buffer.h - memory of calls that is kept for later calls: packed operands, and workspaces of threads. */
#ifndef TW_BLAS_BUFFER_H
#define TW_BLAS_BUFFER_H

#include <stddef.h>

typedef struct blas_buffer {
  void *memory; /* aligned to 64 bytes */
  size_t bytes; /* at least the requested size */
} blas_buffer;

/* .memory is NULL without memory. Some buffers are kept, other buffers are freed. */
blas_buffer blas_buffer_take(size_t bytes);
void blas_buffer_return(blas_buffer);

#endif
