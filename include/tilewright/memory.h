/* memory.h - memory for large operands: packed weights, matrices. They are read faster in pages of 2 MiB than in small pages.
 *
 *   void *packed;
 *   if (tw_memory_alloc(tw_gemm_packed_bytes(plan), &packed, &error) != TW_OK) ...
 *   ...
 *   tw_memory_free(packed); */
#ifndef TILEWRIGHT_MEMORY_H
#define TILEWRIGHT_MEMORY_H

#include <stddef.h>

#include "tilewright/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every address that tw_memory_alloc returns is a multiple of it. */
enum { TW_MEMORY_ALIGNMENT = 64 };

/* Allocates at least `bytes` bytes of unspecified content; 0 bytes is a valid request. The caller owns *out and releases it with
 * tw_memory_free, from any thread. From 1 MiB on, memory begins at a multiple of 2 MiB and is rounded up to whole pages of 2
 * MiB. The system is asked for such pages (MADV_HUGEPAGE); it may use small pages. TW_NO_MEMORY: out of memory, *out is NULL. */
TW_API tw_status tw_memory_alloc(size_t bytes, void **out, tw_error *);
TW_API void tw_memory_free(void *); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
