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

/* A tile of A from (row, depth) on; *out moves past it. */
static void put_tile(const xd_gemm *g, const source *from, int64_t row, int64_t depth, uint8_t **out) {
  const int64_t m8 = g->tile.m / BLOCK, k8 = g->tile.k / BLOCK;
  for (int64_t i = 0; i < m8; i++)
    for (int64_t p = 0; p < k8; p++)
      put_block(g, from, row + i * BLOCK, depth + p * BLOCK, 0, *out + xd_bfp16_a_at(g->cover, i, p, k8) * PACKED);
  *out += m8 * k8 * PACKED;
}

void xd_pack_a(const xd_gemm *g, const float *a, uint8_t *out) {
  const xd_gemm_shape s = xd_gemm_shape_of(g);
  const source from = {a, g->m, g->k, g->k, 1};
  for (int64_t i = 0; i < s.tiles_m; i++)
    for (int first = 0; first < g->rows; first += s.a_parts)
      for (int64_t p = 0; p < s.steps; p++)
        for (int row = first; row < first + s.a_parts && row < g->rows; row++)
          for (int64_t q = 0; q < g->depth; q++)
            put_tile(g, &from, (i * g->rows + row) * g->tile.m, p * s.step + q * g->tile.k, &out);
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
  const int64_t tile = (int64_t)k8 * n8 * PACKED;
  for (int64_t j = 0; j < s.tiles_n * g->columns; j++)
    for (int64_t p = 0; p < s.steps * g->depth; p++, out += tile) {
      const xd_b_origin o = xd_b_origin_of(g, &s, j, p);
      for (int k = 0; k < k8; k++)
        for (int n = 0; n < n8; n++)
          put_block(g, &columns, o.column + (int64_t)n * BLOCK, o.depth + (int64_t)k * BLOCK, o.first,
                    out + xd_bfp16_b_at(g->cover, k, n, k8) * PACKED);
    }
}

/* A tile of C at (row, column). */
static void take_tile(const xd_gemm *g, const uint8_t *c, int64_t row, int64_t column, float *out) {
  const tw_packing packing = {.format = tw_format_at(TW_FORMAT_BFP16)};
  const int64_t m8 = g->tile.m / BLOCK, n8 = g->tile.n / BLOCK;
  for (int64_t i = 0; i < m8; i++)
    for (int64_t j = 0; j < n8; j++) {
      float block[BLOCK * BLOCK];
      const int64_t y = row + i * BLOCK, x = column + j * BLOCK;
      tw_format_decode(&packing, BLOCK, BLOCK, c + xd_bfp16_c_at(g->cover, i, j, n8) * PACKED, NULL, block, BLOCK,
                       NULL);
      for (int e = 0; e < BLOCK * BLOCK; e++)
        if (y + e / BLOCK < g->m && x + e % BLOCK < g->n) out[(y + e / BLOCK) * g->n + x + e % BLOCK] = block[e];
    }
}

void xd_unpack_c(const xd_gemm *g, const uint8_t *c, float *out) {
  const xd_gemm_shape s = xd_gemm_shape_of(g);
  const int64_t tile = g->tile.m * g->tile.n * 9 / BLOCK;
  for (int64_t i = 0; i < s.tiles_m; i++)
    for (int64_t j = 0; j < s.tiles_n * g->columns; j++)
      for (int row = 0; row < g->rows; row++, c += tile)
        take_tile(g, c, (i * g->rows + row) * g->tile.m, j * g->tile.n, out);
}
