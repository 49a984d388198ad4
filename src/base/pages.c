/* pages.c - see pages.h. */
#include "base/pages.h"

#include <stdlib.h>
#include <sys/mman.h>

void *tw_new_pages(size_t bytes) {
  const size_t whole = (bytes + TW_LARGE_PAGE - 1) / TW_LARGE_PAGE * TW_LARGE_PAGE;
  void *p = aligned_alloc(TW_LARGE_PAGE, whole);
  if (p) madvise(p, whole, MADV_HUGEPAGE); /* a wish */
  return p;
}
