/* pack.c - see pack.h. Each block is gathered as f32 and encoded by the format library. */
#include "target/xdna2/array/pack.h"

#include <string.h>

#include "target/xdna2/array/kernel_bfp.h"

enum { BLOCK = 8, PACKED = 72 };

/* Element (row, column) of a matrix, or of its transpose; 0 outside. */
typedef struct source {
  const float *x;
  int64_t rows, columns, row_step, step;
} source;

/* Where a tile is in memory: runs of bytes, `pitch` apart. */
typedef struct place {
  uint8_t *at;
  int64_t run, pitch;
} place;

static void copy_block(const place *t, int64_t at, uint8_t *block, bool to_tile) {
  for (int64_t done = 0, n; done < PACKED; done += n, at += n) {
    const int64_t left = t->run - at % t->run;
    uint8_t *in_tile = t->at + at / t->run * t->pitch + at % t->run;
    n = left < PACKED - done ? left : PACKED - done;
    memcpy(to_tile ? in_tile : block + done, to_tile ? block + done : in_tile, (size_t)n);
  }
}

/* The place of tile number `index`, or of the tile at (row, column) of a matrix with rows of `width` elements. */
static place place_of(const xd_gemm *g, uint8_t *base, int64_t index, int64_t height, int64_t tile_width, int64_t row,
                      int64_t column, int64_t width) {
  const int64_t run = tile_width * 9 / BLOCK, tile = height * run;
  if (!g->in_rows) return (place){base + index * tile, tile, tile};
  const int64_t pitch = width * 9 / BLOCK;
  return (place){base + row * pitch + column * 9 / BLOCK, run, pitch};
}

static void put_block(const xd_gemm *g, const source *s, int64_t row, int64_t column, int64_t first_column,
                      const place *to, int64_t at) {
  const tw_packing packing = {.format = tw_format_at(TW_FORMAT_BFP16), .rounding = g->rounding};
  float block[BLOCK * BLOCK];
  for (int i = 0; i < BLOCK; i++)
    for (int j = 0; j < BLOCK; j++) {
      const int64_t r = row + i, c = column + j;
      const bool inside = r < s->rows && c >= first_column && c < s->columns;
      block[i * BLOCK + j] = inside ? s->x[r * s->row_step + c * s->step] : 0;
    }
  uint8_t packed[PACKED];
  tw_format_encode(&packing, BLOCK, BLOCK, block, BLOCK, packed, NULL, NULL);
  copy_block(to, at, packed, true);
}

/* A tile of A from (row, depth) on. */
static void put_tile(const xd_gemm *g, const source *from, int64_t row, int64_t depth, const place *to) {
  const int64_t m8 = g->tile.m / BLOCK, k8 = g->tile.k / BLOCK;
  for (int64_t i = 0; i < m8; i++)
    for (int64_t p = 0; p < k8; p++)
      put_block(g, from, row + i * BLOCK, depth + p * BLOCK, 0, to, xd_bfp16_a_at(g->cover, i, p, k8) * PACKED);
}

void xd_pack_a(const xd_gemm *g, const float *a, uint8_t *out) {
  const xd_gemm_shape s = xd_gemm_shape_of(g);
  const source from = {a, g->m, g->k, g->k, 1};
  int64_t index = 0;
  for (int64_t i = 0; i < s.tiles_m; i++)
    for (int first = 0; first < g->rows; first += s.a_parts)
      for (int64_t p = 0; p < s.steps; p++)
        for (int row = first; row < first + s.a_parts && row < g->rows; row++)
          for (int64_t q = 0; q < g->depth; q++) {
            const int64_t at = (i * g->rows + row) * g->tile.m, depth = p * s.step + q * g->tile.k;
            const place to = place_of(g, out, index++, g->tile.m, g->tile.k, at, depth, s.steps * s.step);
            put_tile(g, &from, at, depth, &to);
          }
}

/* A and C row-major: their last step of K and their last macro-tile are moved back. */
xd_b_origin xd_b_origin_of(const xd_gemm *g, const xd_gemm_shape *s, int64_t j, int64_t p) {
  const int64_t macro = j / g->columns, last = (s->steps - 1) * s->step;
  xd_b_origin o = {j * g->tile.n, p * g->tile.k, 0};
  if (g->c != TW_BFP16 && macro && (macro + 1) * s->macro_n > g->n)
    o.column = g->n - s->macro_n + j % g->columns * g->tile.n;
  if (g->kernel->a != TW_BFP16 && last && last + s->step > g->k && o.depth >= last) {
    o.depth -= last + s->step - g->k;
    o.first = last;
  }
  return o;
}

void xd_pack_b(const xd_gemm *g, const float *b, uint8_t *out) {
  const xd_gemm_shape s = xd_gemm_shape_of(g);
  const source columns = {b, g->n, g->k, g->b_transposed ? g->k : 1, g->b_transposed ? 1 : g->n}; /* of B */
  const int k8 = (int)(g->tile.k / BLOCK), n8 = (int)(g->tile.n / BLOCK);
  const int64_t steps = s.steps * g->depth;
  for (int64_t j = 0; j < s.tiles_n * g->columns; j++)
    for (int64_t p = 0; p < steps; p++) {
      const xd_b_origin o = xd_b_origin_of(g, &s, j, p);
      const place to =
          place_of(g, out, j * steps + p, g->tile.n, g->tile.k, j * g->tile.n, p * g->tile.k, steps * g->tile.k);
      for (int k = 0; k < k8; k++)
        for (int n = 0; n < n8; n++)
          put_block(g, &columns, o.column + (int64_t)n * BLOCK, o.depth + (int64_t)k * BLOCK, o.first, &to,
                    xd_bfp16_b_at(g->cover, k, n, k8) * PACKED);
    }
}

/* A tile of C at (row, column). */
static void take_tile(const xd_gemm *g, const place *from, int64_t row, int64_t column, float *out) {
  const tw_packing packing = {.format = tw_format_at(TW_FORMAT_BFP16)};
  const int64_t m8 = g->tile.m / BLOCK, n8 = g->tile.n / BLOCK;
  for (int64_t i = 0; i < m8; i++)
    for (int64_t j = 0; j < n8; j++) {
      float block[BLOCK * BLOCK];
      const int64_t y = row + i * BLOCK, x = column + j * BLOCK;
      uint8_t packed[PACKED];
      copy_block(from, xd_bfp16_c_at(g->cover, i, j, n8) * PACKED, packed, false);
      tw_format_decode(&packing, BLOCK, BLOCK, packed, NULL, block, BLOCK, NULL);
      for (int e = 0; e < BLOCK * BLOCK; e++)
        if (y + e / BLOCK < g->m && x + e % BLOCK < g->n) out[(y + e / BLOCK) * g->n + x + e % BLOCK] = block[e];
    }
}

void xd_unpack_c(const xd_gemm *g, const uint8_t *c, float *out) {
  const xd_gemm_shape s = xd_gemm_shape_of(g);
  int64_t index = 0;
  for (int64_t i = 0; i < s.tiles_m; i++)
    for (int64_t j = 0; j < s.tiles_n * g->columns; j++)
      for (int row = 0; row < g->rows; row++) {
        const int64_t at = (i * g->rows + row) * g->tile.m;
        const place from = place_of(g, (uint8_t *)(uintptr_t)c, index++, g->tile.m, g->tile.n, at, j * g->tile.n,
                                    s.tiles_n * s.macro_n);
        take_tile(g, &from, at, j * g->tile.n, out);
      }
}
