/* utf8.c - see internal.h. */
#include <stdint.h>
#include <string.h>

#include "base/strings.h"
#include "chat/internal.h"

/* The length of the valid sequence at `s` (RFC 3629: no surrogates, no overlong forms, up to U+10FFFF); 0 if there is
 * none. */
static size_t sequence(const uint8_t *s, size_t left) {
  static const struct form {
    uint8_t first, last, second_first, second_last;
    size_t length;
  } forms[] = {
      {0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
      {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
      {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
  };
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
    const struct form *f = &forms[i];
    if (s[0] < f->first || s[0] > f->last || f->length > left) continue;
    if (f->length > 1 && (s[1] < f->second_first || s[1] > f->second_last)) return 0;
    for (size_t k = 2; k < f->length; k++)
      if ((s[k] & 0xc0) != 0x80) return 0;
    return f->length;
  }
  return 0;
}

char *tw_utf8_clean(const char *text, size_t length) {
  tw_text t = {0};
  const uint8_t *s = (const uint8_t *)text;
  size_t begun = 0, i = 0;
  while (i < length) {
    size_t n = sequence(s + i, length - i);
    if (n == 0) {
      tw_text_add_bytes(&t, text + begun, i - begun);
      tw_text_add_string(&t, "\xef\xbf\xbd");
      begun = i + 1;
    }
    i += n ? n : 1;
  }
  tw_text_add_bytes(&t, text + begun, length - begun);
  return tw_text_take(&t);
}
