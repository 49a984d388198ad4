/* interleave.h - packs panels of B, and strips of a transposed A, without conversion. Plain C that a compiler vectorizes; compiled
 * once for each kernel, which says how wide its panels are (PANEL_COLUMNS). */
#ifndef TW_X86_INTERLEAVE_H
#define TW_X86_INTERLEAVE_H

#include <stdint.h>
#include <string.h>

#include "target/x86/runtime/quad.h"

/* Unit `j` of the rows of a unit's elements, the first of which is at `from`. */
#if defined ARITHMETIC_F32
typedef float stored_element, packed_unit;
enum { ELEMENTS = 1 };
static inline packed_unit unit_of(const stored_element *from, int64_t stride, int64_t j) {
  return (void)stride, from[j];
}
static inline packed_unit times(packed_unit x, float scale) { return x * scale; }
#elif defined ARITHMETIC_BF16
typedef uint16_t stored_element;
typedef uint32_t packed_unit;
enum { ELEMENTS = 2 };
static inline packed_unit unit_of(const stored_element *from, int64_t stride, int64_t j) {
  return from[j] | (uint32_t)from[stride + j] << 16;
}
static inline packed_unit times(packed_unit x, float scale) { return (void)scale, x; }
#else /* of 8 bits; s16, whose elements must be converted, does not ask */
typedef uint8_t stored_element;
typedef uint32_t packed_unit;
enum { ELEMENTS = 4 };
static inline packed_unit unit_of(const stored_element *from, int64_t stride, int64_t j) {
  return from[j] | (uint32_t)from[stride + j] << 8 | (uint32_t)from[2 * stride + j] << 16 |
         (uint32_t)from[3 * stride + j] << 24;
}
static inline packed_unit times(packed_unit x, float scale) { return (void)scale, x; }
#endif

static inline __attribute__((always_inline)) void interleave_rows(packed_unit *restrict to,
                                                                  const stored_element *restrict from, int64_t stride,
                                                                  int64_t width, int64_t pitch, int64_t units,
                                                                  float scale) {
  for (int64_t p = 0; p < units; p++, to += pitch, from += ELEMENTS * stride)
    for (int64_t j = 0; j < width; j++) to[j] = times(unit_of(from, stride, j), scale);
}

/* to[p * pitch + j] = unit p of column j, in units, for `width` <= pitch columns; element (q, j) of the source is at
 * q * stride + j * (bytes of an element). Real elements of 32 bits are multiplied by `scale`. Columns after `width` are
 * not touched. Where the compiler knows the width, that of a panel or a strip, a row becomes a few whole vectors. */
SHARED void interleave(void *to, const void *from, int64_t stride, int64_t width, int64_t pitch, int64_t units,
                       float scale) {
#define STRIP(rows)                                                                                                    \
  case rows: interleave_rows(to, from, stride, rows, rows, units, 1); return;
  stride /= (int64_t)sizeof(stored_element);
  if (width == PANEL_COLUMNS && pitch == width) {
    if (scale == 1)
      interleave_rows(to, from, stride, PANEL_COLUMNS, PANEL_COLUMNS, units, 1);
    else
      interleave_rows(to, from, stride, PANEL_COLUMNS, PANEL_COLUMNS, units, scale);
    return;
  }
  if (pitch == width && scale == 1) switch (width) {
      STRIP(1)
      STRIP(2)
      STRIP(3)
      STRIP(4)
      STRIP(5)
      STRIP(6)
      STRIP(7)
      STRIP(8)
      STRIP(9)
      STRIP(10)
      STRIP(11)
      STRIP(12)
      STRIP(13)
      STRIP(14)
    default: break;
    }
  interleave_rows(to, from, stride, width, pitch, units, scale);
#undef STRIP
}

/* to[p * pitch + j] = unit p of row j, for `width` <= pitch rows of `units` units, `stride` bytes apart: B that is stored
 * transposed. The last four rows and units may be done twice rather than one by one. */
SHARED void gather(void *to_start, const void *from_start, int64_t stride, int64_t width, int64_t pitch, int64_t units,
                   float scale) {
  enum { UNIT = 4, STEP = 4 };
  char *to = to_start;
  const char *from = from_start;
  if (units == 2 && width >= STEP) {
    for (int64_t row = 0; row < width; row += STEP) {
      const int64_t j = row + STEP <= width ? row : width - STEP;
      transpose_4x2(to + j * UNIT, pitch * UNIT, from + j * stride, stride);
    }
  } else if (units < STEP) {
    for (int64_t p = 0; p < units; p++)
      for (int64_t j = 0; j < width; j++) memcpy(to + (p * pitch + j) * UNIT, from + j * stride + p * UNIT, UNIT);
  } else if (width < STEP) {
    for (int64_t j = 0; j < width; j++)
      for (int64_t p = 0; p < units; p++) memcpy(to + (p * pitch + j) * UNIT, from + j * stride + p * UNIT, UNIT);
  } else {
    for (int64_t at = 0; at < units; at += STEP)
      for (int64_t row = 0; row < width; row += STEP) {
        const int64_t p = at + STEP <= units ? at : units - STEP, j = row + STEP <= width ? row : width - STEP;
        transpose_4x4(to + (p * pitch + j) * UNIT, pitch * UNIT, from + j * stride + p * UNIT, stride);
      }
  }
#if defined ARITHMETIC_F32
  if (scale == 1) return;
  float *value = to_start;
  for (int64_t p = 0; p < units; p++)
    for (int64_t j = 0; j < width; j++) value[p * pitch + j] *= scale;
#else
  (void)scale;
#endif
}

#endif
