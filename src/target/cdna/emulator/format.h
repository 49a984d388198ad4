/* format.h - the conversions of typed buffer instructions: data format (the components of an element) and number format
 * (the meaning of a component). */
#ifndef TW_CDNA_FORMAT_H
#define TW_CDNA_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cdna_format {
  uint8_t components, bytes; /* bytes of an element */
  uint8_t bits[4];           /* bits of each component, X first and lowest */
  uint8_t number;            /* NFMT */
} cdna_format;

/* Returns NULL, or the reason why the format does not exist. DFMT 0, which disables a resource, has no components. */
const char *cdna_format_of(uint32_t dfmt, uint32_t nfmt, cdna_format *out);
/* A component of the element as the register receives it: an f32, or an integer for UINT and SINT. Components that
 * the format lacks are 0, W is 1. */
uint32_t cdna_format_load(const cdna_format *, const uint8_t *element, int component);
/* The inverse. Components that the register list lacks are 0. */
void cdna_format_store(const cdna_format *, uint8_t *element, const uint32_t value[4]);
bool cdna_format_is_integer(const cdna_format *);

#endif
