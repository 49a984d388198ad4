/* pages.h - memory in large pages, for arrays that are read from end to end: with small pages, translating addresses
 * would take longer than reading. */
#ifndef TW_BASE_PAGES_H
#define TW_BASE_PAGES_H

#include <stddef.h>

enum { TW_LARGE_PAGE = 2 << 20 }; /* bytes: of x86-64 and of arm64 with pages of 4 KiB */

/* Whole pages of TW_LARGE_PAGE, if the system has such pages; otherwise small pages with the same alignment. For
 * free(); NULL without memory. */
void *tw_new_pages(size_t bytes);
/* Asks for large pages where a whole one fits inside an array that was not written yet. Small arrays stay as they
 * are. */
void tw_wish_large_pages(void *array, size_t bytes);

#endif
