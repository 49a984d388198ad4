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

/* Allocates at least `bytes` bytes, of unspecified content; 0 bytes is a valid request. *out belongs to the caller and is released with
 * tw_memory_free, by any thread. From 1 MiB on it begins at a multiple of 2 MiB, is rounded up to whole such pages, and the system
 * is asked to back it with them (MADV_HUGEPAGE); where it has none, small pages serve. TW_NO_MEMORY, and *out is NULL, without memory. */
TW_API tw_status tw_memory_alloc(size_t bytes, void **out, tw_error *);
TW_API void tw_memory_free(void *); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
