/* pack.c - see pack.h. Block by block: gathered as f32, encoded by the format library. */
#include "target/xdna2/array/pack.h"

#include "target/xdna2/array/kernel_bfp.h"

enum { BLOCK = 8, PACKED = 72 };

/* Element (row, column) of a matrix, or of its transpose; 0 outside. */
typedef struct source {
  const float *x;
  int64_t rows, columns, row_step, step;
} source;

static void put_block(const xd_gemm *g, const source *s, int64_t row, int64_t column, int64_t first_column,
                      uint8_t *out) {
  const tw_packing packing = {.format = tw_format_at(TW_FORMAT_BFP16), .rounding = g->rounding};
  float block[BLOCK * BLOCK];
  for (int i = 0; i < BLOCK; i++)
    for (int j = 0; j < BLOCK; j++) {
      const int64_t r = row + i, c = column + j;
      const bool inside = r < s->rows && c >= first_column && c < s->columns;
      block[i * BLOCK + j] = inside ? s->x[r * s->row_step + c * s->step] : 0;
    }
  tw_format_encode(&packing, BLOCK, BLOCK, block, BLOCK, out, NULL, NULL);
}

void xd_pack_a(const xd_gemm *g, const float *a, uint8_t *out) {
  const xd_gemm_shape s = xd_gemm_shape_of(g);
  const source from = {a, g->m, g->k, g->k, 1};
  for (int64_t i = 0; i < s.tiles_m; i++)
    for (int first = 0; first < g->rows; first += s.a_parts)
      for (int64_t p = 0; p < s.steps; p++)
        for (int row = first; row < first + s.a_parts && row < g->rows; row++)
          for (int64_t q = 0; q < g->depth; q++)
            for (int64_t r = 0; r < g->tile.m; r += BLOCK)
              for (int64_t c = 0; c < g->tile.k; c += BLOCK, out += PACKED)
                put_block(g, &from, (i * g->rows + row) * g->tile.m + r, p * s.step + q * g->tile.k + c, 0, out);
}

/* A and C row-major: their last step of K and their last macro-tile are moved back. */
xd_b_origin xd_b_origin_of(const xd_gemm *g, const xd_gemm_shape *s, int64_t j, int64_t p) {
  const int64_t macro = j / g->columns, last = (s->steps - 1) * s->step;
  xd_b_origin o = {j * g->tile.n, p * g->tile.k, 0};
  if (g->c != TW_BFP16 && (macro + 1) * s->macro_n > g->n) o.column = g->n - s->macro_n + j % g->columns * g->tile.n;
  if (g->kernel->a != TW_BFP16 && last + s->step > g->k && o.depth >= last) {
    o.depth -= last + s->step - g->k;
    o.first = last;
  }
  return o;
}

void xd_pack_b(const xd_gemm *g, const float *b, uint8_t *out) {
  const xd_gemm_shape s = xd_gemm_shape_of(g);
  const source columns = {b, g->n, g->k, 1, g->n}; /* of B: rows of its transpose */
  const int k8 = (int)(g->tile.k / BLOCK), n8 = (int)(g->tile.n / BLOCK);
  const int64_t tile = (int64_t)k8 * n8 * PACKED;
  for (int64_t j = 0; j < s.tiles_n * g->columns; j++)
    for (int64_t p = 0; p < s.steps * g->depth; p++, out += tile) {
      const xd_b_origin o = xd_b_origin_of(g, &s, j, p);
      for (int k = 0; k < k8; k++)
        for (int n = 0; n < n8; n++)
          put_block(g, &columns, o.column + (int64_t)n * BLOCK, o.depth + (int64_t)k * BLOCK, o.first,
                    out + xd_bfp16_b_at(k, n, k8));
    }
}

void xd_unpack_c(const xd_gemm *g, const uint8_t *c, float *out) {
  const xd_gemm_shape s = xd_gemm_shape_of(g);
  const tw_packing packing = {.format = tw_format_at(TW_FORMAT_BFP16)};
  for (int64_t i = 0; i < s.tiles_m; i++)
    for (int64_t j = 0; j < s.tiles_n * g->columns; j++)
      for (int row = 0; row < g->rows; row++)
        for (int64_t r = 0; r < g->tile.m; r += BLOCK)
          for (int64_t t = 0; t < g->tile.n; t += BLOCK, c += PACKED) {
            float block[BLOCK * BLOCK];
            const int64_t y = (i * g->rows + row) * g->tile.m + r, x = j * g->tile.n + t;
            tw_format_decode(&packing, BLOCK, BLOCK, c, NULL, block, BLOCK, NULL);
            for (int e = 0; e < BLOCK * BLOCK; e++)
              if (y + e / BLOCK < g->m && x + e % BLOCK < g->n) out[(y + e / BLOCK) * g->n + x + e % BLOCK] = block[e];
          }
}
