/* embedded.c - looks files up in the table that cmake/embed.cmake makes. */
#include "base/embedded.h"

#include <string.h>

#include "base/embedded_table.h"

const tw_embedded *tw_embedded_at(size_t index) { return index < tw_embedded_count ? &tw_embedded_table[index] : NULL; }

/* The table is in order of name. */
const tw_embedded *tw_embedded_find(const char *name) {
  size_t low = 0, high = tw_embedded_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const int order = strcmp(tw_embedded_table[middle].name, name);
    if (order == 0) return &tw_embedded_table[middle];
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return NULL;
}

const char *tw_embedded_below(const tw_embedded *e, const char *folder) {
  const size_t length = strlen(folder);
  return strncmp(e->name, folder, length) == 0 ? e->name + length : NULL;
}
