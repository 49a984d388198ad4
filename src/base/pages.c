/* pages.c - see pages.h. */
#include "base/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

void *tw_new_pages(size_t bytes) {
  const size_t whole = (bytes + TW_LARGE_PAGE - 1) / TW_LARGE_PAGE * TW_LARGE_PAGE;
  void *p = aligned_alloc(TW_LARGE_PAGE, whole);
  if (p) tw_wish_large_pages(p, whole);
  return p;
}

void tw_wish_large_pages(void *array, size_t bytes) {
  const uintptr_t from = ((uintptr_t)array + TW_LARGE_PAGE - 1) / TW_LARGE_PAGE * TW_LARGE_PAGE,
                  end = ((uintptr_t)array + bytes) / TW_LARGE_PAGE * TW_LARGE_PAGE;
  if (from < end) madvise((void *)from, end - from, MADV_HUGEPAGE);
}
