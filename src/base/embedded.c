/* embedded.c - looks files up in the table that cmake/embed.cmake makes. */
#include "base/embedded.h"

#include <string.h>

#include "base/embedded_table.h"

const tw_embedded *tw_embedded_at(size_t index) { return index < tw_embedded_count ? &tw_embedded_table[index] : NULL; }

const tw_embedded *tw_embedded_find(const char *name) {
  for (size_t i = 0; i < tw_embedded_count; i++) {
    if (strcmp(tw_embedded_table[i].name, name) == 0) return &tw_embedded_table[i];
  }
  return NULL;
}

const char *tw_embedded_below(const tw_embedded *e, const char *folder) {
  const size_t length = strlen(folder);
  return strncmp(e->name, folder, length) == 0 ? e->name + length : NULL;
}
