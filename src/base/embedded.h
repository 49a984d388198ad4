/* embedded.h - files that are part of the program, so that it needs none of its data at run time.
 *
 * The table is made at build time by cmake/embed.cmake from configs/, runtime/ and kernels/ of each src/target/<name>,
 * and from others that CMakeLists.txt names. */
#ifndef TW_BASE_EMBEDDED_H
#define TW_BASE_EMBEDDED_H

#include <stddef.h>

typedef struct tw_embedded {
  const char *name;          /* path below src/target, or src: "gemmini/configs/gemmini-16x16-int8.txt" */
  const unsigned char *data; /* size bytes, followed by a '\0' */
  size_t size;
} tw_embedded;

const tw_embedded *tw_embedded_find(const char *name); /* NULL if there is none */
const tw_embedded *tw_embedded_at(size_t index);       /* in order of name; NULL past the last */
/* Its path below a folder, "cuda/runtime/"; NULL: it is elsewhere. */
const char *tw_embedded_below(const tw_embedded *, const char *folder);

#endif
