/* tiles_amx.h - the tile of AMX: up to 32 rows of A by 32 columns of B, as two by two of the machine's tiles.
 *
 * A machine tile is 16 rows of 64 bytes. TDP* adds to each of 16 x 16 sums the products of 16 units of k: A's tile is 16
 * rows of 16 units, B's 16 units of k by 16 columns, which is half a panel as it is packed for vectors (kernel.h). Four
 * tiles are sums, two A, two B: each that is loaded is used twice, so there are 4 loads of 16 lines for 4 multiplications
 * of 16 cycles (Intel, Optimization Reference Manual, chapter 20).
 *
 * The shapes of tiles are a state of the thread. `begin` sets them for 32 rows, which costs as much as several
 * multiplications; a strip of fewer rows sets its own and sets them back.
 *
 * There are two orders. Panel by panel: one panel is multiplied by many strips. The panel stays in L1, and A bypasses L1.
 * Strip by strip (X86_BY_STRIPS): one strip is multiplied by many panels. The strip stays in L1, and B bypasses L1.
 *
 * Loads of tiles leave a third of the cycles to prefetches, so each line is prefetched once. A prefetch for each line of
 * the panel would fetch the same line of `next` up to four times. Rows of A are left to the hardware's prefetches.
 * Measured at 256 x 256 x 256: 1.04 TFLOP/s; without repeated lines 1.22; without prefetches of A, too, 1.71. The following
 * tile of C is prefetched, two rows for each step.
 *
 * Packed A: transpose_amx.h. */
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

#if defined ARITHMETIC_S8S8
enum { START = PANEL_ROW }; /* bytes of a panel before its units */
#else
enum { START = 0 };
#endif

#if defined ARITHMETIC_BF16
#define multiply_tiles _tile_dpbf16ps
#elif defined ARITHMETIC_U8S8
#define multiply_tiles _tile_dpbusd
#else
#define multiply_tiles _tile_dpbssd
#endif

/* The operand that bypasses L1. An A whose rows begin within lines does not, because a line is then used twice. On an
 * Intel server, bf16 with a bypass of A is 1.03 times as fast at 256^3 and 1.08 at 384^3; at 112^3, whose rows begin
 * within lines, 0.97. */
typedef enum bypass { NO_BYPASS, A_BYPASSES, B_BYPASSES } bypass;

#define load_tile(tile, bypasses, at, stride)                                                                          \
  do {                                                                                                                 \
    if (bypasses)                                                                                                      \
      _tile_stream_loadd(tile, at, stride);                                                                            \
    else                                                                                                               \
      _tile_loadd(tile, at, stride);                                                                                   \
  } while (0)

/* 16 units of k. Loads and multiplications alternate in groups of four: on cores of an Intel server that take twice as long
 * for each multiplication, 1.1 times as fast as with loads among the multiplications. */
static inline __attribute__((always_inline)) void step(bool two, bypass by, const char *a, int64_t a_stride,
                                                       const char *b) {
  load_tile(6, by == B_BYPASSES, b, PANEL_ROW);
  load_tile(4, by == A_BYPASSES, a, a_stride);
  load_tile(7, by == B_BYPASSES, b + TILE_LINE, PANEL_ROW);
  if (two) load_tile(5, by == A_BYPASSES, a + SIDE * a_stride, a_stride);
  multiply_tiles(0, 4, 6);
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
    step(true, NO_BYPASS, a_filled, TILE_LINE, b_filled);
  else
    step(false, NO_BYPASS, a_filled, TILE_LINE, b_filled);
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

/* The sums of a tile, for a C of bf16. Vector instructions round them while AMX multiplies the next tile. Tiles take turns
 * with two buffers. */
typedef struct waiting {
  char *buffer;  /* of the next tile */
  int64_t other; /* bytes from it to the other buffer */
  int rows;      /* not rounded yet */
  const char *from;
  char *to;
  int64_t to_stride, columns;
} waiting;

#if defined ARITHMETIC_BF16
enum { ROWS_OF_STEP = 4 }; /* of C, during 16 units of k */
static inline __attribute__((always_inline)) bool rounds_to(int into) { return into & X86_ROUND; }
static inline __attribute__((always_inline)) void round_row(waiting *w, part left, part right) {
  store_rounded_pair(w->to, left, right, load_sums(w->from), load_sums(w->from + TILE_LINE));
  w->from += PANEL_ROW, w->to += w->to_stride, w->rows--;
}
static inline __attribute__((always_inline)) void round_rows(waiting *w) {
  const part left = first(w->columns), right = first(w->columns - SIDE);
  if (w->rows < ROWS_OF_STEP) return;
  _Pragma("GCC unroll 4") for (int i = 0; i < ROWS_OF_STEP; i++) round_row(w, left, right);
}
static inline __attribute__((always_inline)) void round_rest(waiting *w) {
  const part left = first(w->columns), right = first(w->columns - SIDE);
  while (w->rows > 0) round_row(w, left, right);
}
#else
static inline bool rounds_to(int into) { return (void)into, false; }
static inline void round_rows(waiting *w) { (void)w; }
static inline void round_rest(waiting *w) { (void)w; }
#endif

/* Prefetches into L2 during a tile: in each step, `lines` from `next` on, `distance` apart, and rows of C from `c` on. The
 * following step continues after adjacent lines; if the lines are of several rows, with the next line of each row. */
typedef struct soon {
  const char *next, *c;
  int64_t lines, distance;
} soon;

/* A tile of `rows` rows; `two`: more than 16. Returns `next` as it is then. */
static inline __attribute__((always_inline)) const char *run_tile(bool two, int rows, bool in_place, bypass by,
                                                                  int64_t units, const char *a, int64_t a_stride,
                                                                  const char *b, char *c, int64_t c_stride,
                                                                  int64_t columns, int into, soon s, waiting *w) {
  char *const edge = w->buffer;
  const bool rounds = rounds_to(into), whole = columns >= TILE_COLUMNS && !rounds;
  char *const to = whole ? c : edge;
  const int64_t to_stride = whole ? c_stride : PANEL_ROW;
  b += START; /* what vectors begin their sums with: here A's sign is the instruction's business */
  if (into & X86_ADD) {
    if (!whole) {
      copy_part(rows, columns, edge, PANEL_ROW, c, c_stride);
      stays_in_memory(edge);
    }
    load_sums_of(two, to, to_stride);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    if (two) {
      _tile_zero(2);
      _tile_zero(3);
    }
  }
  const int64_t stride = in_place ? a_stride : TILE_LINE, advance = in_place ? TILE_LINE : (int64_t)rows * TILE_LINE;
  const char *const end_of_c = s.c ? s.c + rows * c_stride : s.c;
  for (; units >= SIDE; units -= SIDE, a += advance, b += SIDE * PANEL_ROW) {
    const char *line = s.next;
    for (int64_t i = 0; i < s.lines; i++, line += s.distance) fetch_next(line);
    s.next = s.distance == TILE_LINE ? line : s.next + TILE_LINE;
    for (int i = 0; i < 2 && s.c != end_of_c; i++, s.c += c_stride) {
      fetch_sums(s.c);
      if (!rounds) fetch_sums(s.c + TILE_LINE);
    }
    if (rounds) round_rows(w);
    step(two, by, a, stride, b);
  }
  if (units) last_step(rows, units, a, in_place ? a_stride : units * X86_UNIT, b);
  if (rounds) round_rest(w);
  store_sums_of(two, to, to_stride);
  if (rounds) {
    stays_in_memory(edge);
    w->rows = rows, w->from = edge, w->to = c, w->to_stride = c_stride, w->columns = columns;
    w->buffer += w->other, w->other = -w->other;
  } else if (!whole) {
    stays_in_memory(edge);
    copy_part(rows, columns, c, c_stride, edge, PANEL_ROW);
  }
  return s.next;
}

/* Multiplies one strip by all panels. Meanwhile each row of the following strip is prefetched once. */
static inline __attribute__((always_inline)) void run_panels(bool two, int rows, bool in_place, int64_t units,
                                                             const char *a, int64_t a_stride, const char *b, char *c,
                                                             int64_t c_stride, int64_t columns, int into,
                                                             const char *next, int64_t next_step, waiting *w) {
  const char *const c_of_next = into & X86_FETCH_C ? c + rows * c_stride : NULL;
  const int64_t distance = in_place && a_stride == units * X86_UNIT ? TILE_LINE : a_stride;
  const int row_of_c = rounds_to(into) ? TILE_LINE : PANEL_ROW;
  for (int64_t left = TILE_ROWS; columns > 0; columns -= TILE_COLUMNS, c += row_of_c) {
    const int64_t lines = next_step < left ? next_step : left;
    run_tile(two, rows, in_place, B_BYPASSES, units, a, a_stride, b, c, c_stride, columns, into,
             (soon){next, columns > TILE_COLUMNS ? c + row_of_c : c_of_next, lines, distance}, w);
    left -= lines, next += lines * a_stride;
    b += START + units * PANEL_ROW;
  }
}

static inline __attribute__((always_inline)) void run_strips(bool two, int rows, bool in_place, int64_t units,
                                                             const char *a, int64_t a_stride, const char *b, char *c,
                                                             int64_t c_stride, int64_t columns, int into,
                                                             const char *next, int64_t next_step, int64_t strips) {
  _Alignas(TILE_LINE) char buffers[2][TILE_ROWS * PANEL_ROW];
  waiting w = {.buffer = buffers[0], .other = sizeof buffers[0]};
  if (rows < TILE_ROWS) set_shapes(rows);
  if (into & X86_BY_STRIPS) {
    run_panels(two, rows, in_place, units, a, a_stride, b, c, c_stride, columns, into, next, next_step, &w);
  } else {
    const bool is_split = in_place && a_stride % TILE_LINE != 0;
    for (; strips > 0; strips--, a += rows * (in_place ? a_stride : units * X86_UNIT), c += rows * c_stride) {
      const soon s = {next, into & X86_FETCH_C ? c + rows * c_stride : NULL, 2 * SIDE * next_step / TILE_LINE,
                      TILE_LINE};
      if (is_split)
        next = run_tile(two, rows, in_place, NO_BYPASS, units, a, a_stride, b, c, c_stride, columns, into, s, &w);
      else
        next = run_tile(two, rows, in_place, A_BYPASSES, units, a, a_stride, b, c, c_stride, columns, into, s, &w);
    }
  }
  if (rounds_to(into)) round_rest(&w);
  if (rows < TILE_ROWS) set_shapes(TILE_ROWS);
}

/* The x86_tile of kernel.h for any number of rows, on packed strips and on rows in place. */
#define STRIPS(name, in_place)                                                                                         \
  static __attribute__((noinline, unused)) void name(                                                                  \
      int rows, int64_t units, const void *a, int64_t a_stride, const void *b, int64_t b_stride, void *c,              \
      int64_t c_stride, int64_t columns, int into, const void *next, int64_t next_step, int64_t strips) {              \
    (void)b_stride;                                                                                                    \
    if (rows > SIDE)                                                                                                   \
      run_strips(true, rows, in_place, units, a, a_stride, b, c, c_stride, columns, into, next, next_step, strips);    \
    else                                                                                                               \
      run_strips(false, rows, in_place, units, a, a_stride, b, c, c_stride, columns, into, next, next_step, strips);   \
  }
STRIPS(packed_strips, false)
STRIPS(direct_strips, true)

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
