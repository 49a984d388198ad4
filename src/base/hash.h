/* hash.h - SHA-256 (FIPS 180-4): names of cached objects by their content.
 *
 * A strong hash because the content is untrusted: two sources that share an artefact cannot be constructed. */
#ifndef TW_BASE_HASH_H
#define TW_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct tw_hash {
  uint32_t state[8];
  uint64_t length;   /* bytes so far */
  uint8_t block[64]; /* the incomplete block */
} tw_hash;

enum { TW_HASH_TEXT = 65 };

void tw_hash_start(tw_hash *);
void tw_hash_add(tw_hash *, const void *data, size_t length);
/* Adds the text and its final '\0', so that ("ab","c") and ("a","bc") differ. */
void tw_hash_add_string(tw_hash *, const char *text);
void tw_hash_finish(tw_hash *, uint8_t digest[32]);
/* Finishes into 64 lower-case hexadecimal digits. */
void tw_hash_finish_text(tw_hash *, char text[TW_HASH_TEXT]);

#endif
