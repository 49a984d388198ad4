/* atomics.c - see atomics.h. */
#include "target/cdna/time/atomics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/element.h"

/* The first byte of an access has its width, its other bytes CONTINUED. */
enum { CONTINUED = 255 };

bool cdna_atomics_note(uint8_t **marks, const cdna_allocation *a, uint64_t address, int bytes) {
  if (!*marks && !(*marks = calloc(a->size, 1))) return false;
  uint8_t *at = *marks + (address - a->address);
  memset(at, CONTINUED, (size_t)bytes);
  *at = (uint8_t)bytes;
  return true;
}

/* The number at a byte; its width in *bytes, 0: none begins here. */
static double number_at(const uint8_t *marks, const uint8_t *data, uint64_t at, const tw_operand *o, int *bytes) {
  double wide;
  float narrow;
  *bytes = 0;
  if (!marks[at]) return 0;
  if (o) {
    *bytes = tw_type_bits(o->type) / 8;
    if (at % (uint64_t)*bytes) *bytes = 0;
    return *bytes ? tw_element(o->type, data, (int64_t)at / *bytes) : 0;
  }
  if (marks[at] == CONTINUED) return 0;
  *bytes = marks[at];
  memcpy(&narrow, data + at, sizeof narrow);
  if (*bytes == 8) memcpy(&wide, data + at, sizeof wide);
  return *bytes == 8 ? wide : (double)narrow;
}

/* What rounding in another order may change, relative to the largest number: of integers nothing. Types of the
 * workspace are unknown. */
static double tolerance(const tw_operand *o) {
  if (!o || o->type == TW_F16 || o->type == TW_BF16) return 0x1p-3;
  return o->type == TW_F32 ? 0x1p-10 : 0;
}

bool cdna_atomics_agree(const uint8_t *marks, const cdna_allocation *a, const uint8_t *copy, const tw_operand *o) {
  double most = 0, off = 0;
  for (uint64_t at = 0; at < a->size; at++) {
    int bytes;
    const double now = number_at(marks, a->data, at, o, &bytes);
    if (!bytes) continue;
    const double then = number_at(marks, copy, at, o, &bytes);
    if (!memcmp(a->data + at, copy + at, (size_t)bytes)) {
      if (isfinite(now)) most = fmax(most, fabs(now));
      continue;
    }
    if (!isfinite(now) || !isfinite(then)) {
      if (o) return false;
      continue; /* counters, whose bits are no number */
    }
    most = fmax(most, fmax(fabs(now), fabs(then)));
    off = fmax(off, fabs(now - then));
  }
  return off <= tolerance(o) * most;
}
