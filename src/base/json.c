/* json.c - see json.h. */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *tw_json_text(const char *text) {
  json_t *string = json_string(text);
  if (string) return string;
  char *copy = strdup(text);
  for (char *p = copy; p && *p; p++)
    if ((unsigned char)*p >= 0x80) *p = '?';
  string = copy ? json_string(copy) : NULL;
  free(copy);
  return string;
}

json_t *tw_json_real(double x) { return isfinite(x) ? json_real(x) : json_null(); }

json_t *tw_json_digits(uint64_t x) {
  char text[17];
  snprintf(text, sizeof text, "%016" PRIx64, x);
  return json_string(text);
}
