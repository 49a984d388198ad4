/* json.h - helpers for Jansson: strings of any bytes, numbers that may not be finite. */
#ifndef TW_BASE_JSON_H
#define TW_BASE_JSON_H

#include <jansson.h>
#include <stdint.h>

/* A string; bytes beyond ASCII become '?' if the text is not UTF-8. */
json_t *tw_json_text(const char *);
/* null if it is not finite. */
json_t *tw_json_real(double);
/* 16 hexadecimal digits; a JSON number has 53 bits. */
json_t *tw_json_digits(uint64_t);

#endif
