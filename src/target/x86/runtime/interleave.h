/* interleave.h - packs panels of B, and strips of a transposed A, without conversion. Plain C that a compiler vectorizes; compiled
 * once for each kernel, which says how wide its panels are (PANEL_COLUMNS). */
#ifndef TW_X86_INTERLEAVE_H
#define TW_X86_INTERLEAVE_H

#include <stdint.h>
#include <string.h>

#include "target/x86/runtime/quad.h"

/* Rows whose width the compiler knows become loads and stores of whole vectors. */
#define INTERLEAVE_ROWS(width, convert)                                                                                \
  for (int64_t p = 0; p < units; p++, to += pitch, from += group * stride)                                             \
    for (int64_t j = 0; j < (width); j++) to[j] = convert;

/* to[p * pitch + j] = unit p of column j, in units, for `width` <= pitch columns; element (q, j) of the source lies at
 * q * stride + j * (bytes of an element). Real elements of 32 bits are multiplied by `scale`. Columns behind `width` are
 * not touched. */
static void interleave(void *to_start, const void *from_start, int64_t stride, int64_t width, int64_t pitch,
                       int64_t units, float scale) {
#if defined ARITHMETIC_F32
  enum { group = 1 };
  float *restrict to = to_start;
  const float *restrict from = from_start;
  stride /= (int64_t)sizeof *from;
  if (width == PANEL_COLUMNS && scale == 1) {
    INTERLEAVE_ROWS(PANEL_COLUMNS, from[j])
  } else if (width == PANEL_COLUMNS) {
    INTERLEAVE_ROWS(PANEL_COLUMNS, from[j] * scale)
  } else {
    INTERLEAVE_ROWS(width, from[j] * scale)
  }
#elif defined ARITHMETIC_BF16
  enum { group = 2 };
  uint32_t *restrict to = to_start;
  const uint16_t *restrict from = from_start;
  stride /= (int64_t)sizeof *from;
  (void)scale;
  if (width == PANEL_COLUMNS) {
    INTERLEAVE_ROWS(PANEL_COLUMNS, from[j] | (uint32_t)from[stride + j] << 16)
  } else {
    INTERLEAVE_ROWS(width, from[j] | (uint32_t)from[stride + j] << 16)
  }
#elif defined ARITHMETIC_U8S8 || defined ARITHMETIC_S8S8
  enum { group = 4 };
  uint32_t *restrict to = to_start;
  const uint8_t *restrict from = from_start;
  (void)scale;
  if (width == PANEL_COLUMNS) {
    INTERLEAVE_ROWS(PANEL_COLUMNS, from[j] | (uint32_t)from[stride + j] << 8 | (uint32_t)from[2 * stride + j] << 16 |
                                       (uint32_t)from[3 * stride + j] << 24)
  } else {
    INTERLEAVE_ROWS(width, from[j] | (uint32_t)from[stride + j] << 8 | (uint32_t)from[2 * stride + j] << 16 |
                               (uint32_t)from[3 * stride + j] << 24)
  }
#else /* s16: elements of 8 bits become 16 */
  (void)to_start, (void)from_start, (void)stride, (void)width, (void)pitch, (void)units, (void)scale;
#endif
}

#undef INTERLEAVE_ROWS

/* to[p * pitch + j] = unit p of row j, for `width` <= pitch rows of `units` units, `stride` bytes apart: B that is stored
 * transposed. */
static void gather(void *to_start, const void *from_start, int64_t stride, int64_t width, int64_t pitch, int64_t units,
                   float scale) {
  enum { UNIT = 4, STEP = 4 };
  char *to = to_start;
  const char *from = from_start;
  const int64_t whole_rows = width / STEP * STEP, whole_units = units / STEP * STEP;
  for (int64_t p = 0; p < whole_units; p += STEP)
    for (int64_t j = 0; j < whole_rows; j += STEP)
      transpose_4x4(to + (p * pitch + j) * UNIT, pitch * UNIT, from + j * stride + p * UNIT, stride);
  for (int64_t p = 0; p < units; p++)
    for (int64_t j = p < whole_units ? whole_rows : 0; j < width; j++)
      memcpy(to + (p * pitch + j) * UNIT, from + j * stride + p * UNIT, UNIT);
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
