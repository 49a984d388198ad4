/* tiles_amx.h - the tile of AMX: up to 32 rows of A by 32 columns of B, as two by two of the machine's tiles.
 *
 * A machine tile is 16 rows of 64 bytes. TDP* adds to each of 16 x 16 sums the products of 16 units of k: A's tile is 16
 * rows of 16 units, B's 16 units of k by 16 columns, which is half a panel as it is packed for vectors (kernel.h). Four
 * tiles are sums, two A, two B: each that is loaded is used twice, so 4 loads of 16 lines stand beside 4 multiplications
 * of 16 cycles (Intel, Optimization Reference Manual, chapter 20).
 *
 * The shapes of tiles are a state of the thread. `begin` sets them for 32 rows, which costs as much as several
 * multiplications; a strip of fewer rows sets its own and sets them back.
 *
 * Loads of tiles leave a third of the cycles to others, so what is fetched meanwhile is fetched once: not a line of `next`
 * for each of the panel, of which four may be the same, and of A nothing, whose rows below the hardware finds (measured at
 * 256 x 256 x 256: 1.04, 1.22 without the repeated lines, 1.71 TFLOP/s without those of A). C's rows for the strip below
 * are fetched, two for each step, if they lie far apart.
 *
 * Packed A (`transpose`): 16 units at a time, for each a row's 64 bytes after the other's; then what is left of k,
 * likewise. */
#ifndef TW_X86_TILES_AMX_H
#define TW_X86_TILES_AMX_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "target/x86/kernel.h"
#include "target/x86/runtime/words.h"

enum { SIDE = 16, TILE_LINE = 64, PANEL_ROW = 2 * TILE_LINE, TILE_ROWS = 2 * SIDE, TILE_COLUMNS = 2 * SIDE };
/* the machine's tiles: sums 0 1 / 2 3, A 4 / 5, B 6 7 */

typedef struct shapes {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} shapes;

static void set_shapes(int rows) {
  const int top = rows < SIDE ? rows : SIDE, bottom = rows - top;
  shapes s = {.palette = 1};
  for (int i = 0; i < 8; i++) {
    const bool low = i == 2 || i == 3 || i == 5;
    s.rows[i] = (uint8_t)(i >= 6 ? SIDE : low ? bottom : top);
    s.row_bytes[i] = s.rows[i] ? TILE_LINE : 0;
  }
  stays_in_memory(&s);
  _tile_loadconfig(&s);
}

static void begin(void) { set_shapes(TILE_ROWS); }
static void end(void) { _tile_release(); }

#if defined ARITHMETIC_BF16
#define multiply_tiles _tile_dpbf16ps
#elif defined ARITHMETIC_U8S8
#define multiply_tiles _tile_dpbusd
#else
#define multiply_tiles _tile_dpbssd
#endif

/* Rows of A pass L1 by: each line is used once for a panel, which stays in L1. Lines that are used twice, because rows
 * begin within them, do not. On an Intel server 1.03 times as fast at 256^3 and 1.08 at 384^3 of bf16, and without the
 * exception 0.97 at 112^3. */
#define load_a(tile, streams, a, stride)                                                                               \
  do {                                                                                                                 \
    if (streams)                                                                                                       \
      _tile_stream_loadd(tile, a, stride);                                                                             \
    else                                                                                                               \
      _tile_loadd(tile, a, stride);                                                                                    \
  } while (0)

/* 16 units of k. */
static inline __attribute__((always_inline)) void step(bool two, bool streams, const char *a, int64_t a_stride,
                                                       const char *b) {
  _tile_loadd(6, b, PANEL_ROW);
  load_a(4, streams, a, a_stride);
  _tile_loadd(7, b + TILE_LINE, PANEL_ROW);
  multiply_tiles(0, 4, 6);
  if (two) load_a(5, streams, a + SIDE * a_stride, a_stride);
  multiply_tiles(1, 4, 7);
  if (two) {
    multiply_tiles(2, 5, 6);
    multiply_tiles(3, 5, 7);
  }
}

/* Copies `columns` of 32 units of each row: columns at the right edge of C go through memory of our own. */
static inline __attribute__((always_inline)) void copy_part(int rows, int64_t columns, char *to, int64_t to_stride,
                                                            const char *from, int64_t from_stride) {
  const part left = first(columns), right = first(columns - SIDE);
  for (int i = 0; i < rows; i++, to += to_stride, from += from_stride) {
    _mm512_mask_storeu_epi32(to, left, _mm512_maskz_loadu_epi32(left, from));
    _mm512_mask_storeu_epi32(to + TILE_LINE, right, _mm512_maskz_loadu_epi32(right, from + TILE_LINE));
  }
}

/* Fewer than 16 units, followed by zeros. */
static inline __attribute__((always_inline)) void last_step(int rows, int64_t units, const char *a, int64_t a_stride,
                                                            const char *b) {
  _Alignas(TILE_LINE) char a_filled[TILE_ROWS * TILE_LINE], b_filled[SIDE * PANEL_ROW];
  const part some = first(units);
  for (int i = 0; i < rows; i++)
    _mm512_store_si512(a_filled + i * TILE_LINE, _mm512_maskz_loadu_epi32(some, a + i * a_stride));
  for (int i = 0; i < SIDE; i++)
    for (int at = 0; at < PANEL_ROW; at += TILE_LINE)
      _mm512_store_si512(b_filled + i * PANEL_ROW + at,
                         _mm512_maskz_loadu_epi32(i < units ? first(SIDE) : 0, b + i * PANEL_ROW + at));
  stays_in_memory(a_filled);
  stays_in_memory(b_filled);
  if (rows > SIDE)
    step(true, false, a_filled, TILE_LINE, b_filled);
  else
    step(false, false, a_filled, TILE_LINE, b_filled);
}

static inline __attribute__((always_inline)) void load_sums_of(bool two, const char *c, int64_t stride) {
  _tile_loadd(0, c, stride);
  _tile_loadd(1, c + TILE_LINE, stride);
  if (!two) return;
  _tile_loadd(2, c + SIDE * stride, stride);
  _tile_loadd(3, c + SIDE * stride + TILE_LINE, stride);
}

static inline __attribute__((always_inline)) void store_sums_of(bool two, char *c, int64_t stride) {
  _tile_stored(0, c, stride);
  _tile_stored(1, c + TILE_LINE, stride);
  if (!two) return;
  _tile_stored(2, c + SIDE * stride, stride);
  _tile_stored(3, c + SIDE * stride + TILE_LINE, stride);
}

/* Rows of C that lie within a page of each other the hardware finds by itself. */
enum { PAGE = 4096 };

/* A strip of the x86_tile of kernel.h, on `rows` rows, `strips` with those below; `two`: more than 16. Returns `next` as it
 * is then. */
static inline __attribute__((always_inline)) const char *
run_tile(bool two, int rows, bool in_place, int64_t units, const char *a, int64_t a_stride, const char *b, char *c,
         int64_t c_stride, int64_t columns, int into, const char *next, int64_t next_step, int64_t strips) {
  _Alignas(TILE_LINE) char edge[TILE_ROWS * PANEL_ROW];
  const bool whole = columns == TILE_COLUMNS;
  char *const to = whole ? c : edge;
  const int64_t to_stride = whole ? c_stride : PANEL_ROW;
#if defined ARITHMETIC_S8S8
  b += PANEL_ROW; /* what vectors begin their sums with: here A's sign is the instruction's business */
#endif
  if (rows < TILE_ROWS) set_shapes(rows);
  if (into == X86_SET) {
    _tile_zero(0);
    _tile_zero(1);
    if (two) {
      _tile_zero(2);
      _tile_zero(3);
    }
  } else {
    if (!whole) {
      copy_part(rows, columns, edge, PANEL_ROW, c, c_stride);
      stays_in_memory(edge);
    }
    load_sums_of(two, to, to_stride);
  }
  const bool streams = !in_place || a_stride % TILE_LINE == 0;
  const int64_t stride = in_place ? a_stride : TILE_LINE, advance = in_place ? TILE_LINE : (int64_t)rows * TILE_LINE;
  const char *below = c + rows * c_stride; /* a row of C */
  const char *const below_end = strips > 1 && c_stride >= PAGE ? below + rows * c_stride : below;
  for (; units >= SIDE; units -= SIDE, a += advance, b += SIDE * PANEL_ROW) {
    for (int64_t at = 0; at < 2 * SIDE * next_step; at += TILE_LINE, next += TILE_LINE) fetch_next(next);
    for (int i = 0; i < 2 && below < below_end; i++, below += c_stride)
      fetch_sums(below), fetch_sums(below + TILE_LINE);
    if (streams)
      step(two, true, a, stride, b);
    else
      step(two, false, a, stride, b);
  }
  if (units) last_step(rows, units, a, in_place ? a_stride : units * X86_UNIT, b);
  store_sums_of(two, to, to_stride);
  if (!whole) {
    stays_in_memory(edge);
    copy_part(rows, columns, c, c_stride, edge, PANEL_ROW);
  }
  if (rows < TILE_ROWS) set_shapes(TILE_ROWS);
  return next;
}

/* Packs a strip of A. */
static void transpose(void *to_start, const void *from_start, int64_t stride, int64_t rows, int64_t units) {
  char *to = to_start;
  const char *from = from_start;
  for (; units >= SIDE; units -= SIDE, from += TILE_LINE)
    for (int64_t i = 0; i < rows; i++, to += TILE_LINE) memcpy(to, from + i * stride, TILE_LINE);
  const size_t bytes = (size_t)units * X86_UNIT; /* what is left: often nothing */
  for (int64_t i = 0; bytes && i < rows; i++, to += bytes) memcpy(to, from + i * stride, bytes);
}

/* The peak: multiplications alone. */
static void spin(int64_t rounds) {
  begin();
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (; rounds; rounds--) {
    multiply_tiles(0, 4, 6);
    multiply_tiles(1, 4, 7);
    multiply_tiles(2, 5, 6);
    multiply_tiles(3, 5, 7);
  }
  end();
}

#endif
