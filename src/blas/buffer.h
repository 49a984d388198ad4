/* buffer.h - memory of calls, which is kept for the next ones: packed operands, and the workspaces of threads. */
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

/* Around fork: no other thread is amid taking or returning one. */
void blas_buffers_lock(void);
void blas_buffers_unlock(void);

#endif
