/* gemm_packed.c - see gemm_packed.h. */
#include "op/gemm_packed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/integers.h"
#include "base/strings.h"
#include "op/operand.h"

enum {
  TILE_ROWS = 16,
  TILE_BYTES = 16,
  PAIR_ROWS = 32,
  PAIR_BLOCKS = 8,
  PADDED_ROWS = 256,
  UNIT_BYTES = 512,
  NAN_SCALE = 0xff
};

bool tw_gemm_packs_a(const tw_gemm *g) { return g->packed && tw_is_mx(g->a); }

tw_status tw_gemm_packed_of(const tw_gemm *g, char operand, tw_gemm_packed *out, tw_error *error) {
  const bool is_a = operand == 'a';
  *out = (tw_gemm_packed){
      .rows = is_a ? g->m : g->n, .k = g->k, .codes = is_a ? TW_GEMM_SHUFFLE_NONE : g->shuffle, .scales = g->shuffle};
  tw_status status = TW_OK;
  if (is_a)
    out->packing = (tw_packing){.format = tw_format_of_type(g->a)};
  else
    status = tw_gemm_packing(g, &out->packing, error);
  if (status == TW_OK) status = tw_format_sizes(&out->packing, 1, (size_t)g->k, &out->row, error);
  return status;
}

/* ---- places ---- */

static int64_t blocks_of(const tw_gemm_packed *p) { return (int64_t)p->row.row_scales; }

static int64_t code_at(const tw_gemm_packed *p, int64_t row, int64_t byte) {
  const int64_t pitch = (int64_t)p->row.row_codes;
  if (p->codes == TW_GEMM_SHUFFLE_NONE) return row * pitch + byte;
  return row / TILE_ROWS * TILE_ROWS * pitch + byte / TILE_BYTES * (TILE_ROWS * TILE_BYTES) +
         row % TILE_ROWS * TILE_BYTES + byte % TILE_BYTES;
}

/* The first bit of a code of `bits` bits: among all codes with shuffle=mma, and in its row in the plain order. */
static int64_t register_bit(const tw_gemm_packed *p, int bits, int64_t row, int64_t k) {
  const int64_t unit = 256 / bits, tile = row / TILE_ROWS * (p->k / unit) + k / unit, j = k % unit / 16, h = k % 2;
  const int64_t i = row % TILE_ROWS / 8 + 2 * (k % 16 / 8), thread = 4 * (row % 8) + k % 8 / 2;
  const int64_t word = bits == 4 ? j : j / 4 * 2 + i / 2, bit = bits == 4 ? 4 * i : i % 2 * 8 + 6 - 2 * (j % 4);
  return tile * (UNIT_BYTES * 8) + thread * (TILE_BYTES * 8) + word * 32 + 16 * h + bit;
}
static int64_t line_bit(int bits, int64_t k) {
  return bits == 2 ? (k / 128 * 32 + k % 32) * 8 + 6 - 2 * (k % 128 / 32) : k * 4;
}

/* Copies the codes of a row from its line in the plain order to all codes, or (`to_line`) back. With shuffle=mma, `to`
 * must hold zeros. */
static void copy_codes(const tw_gemm_packed *p, int64_t row, bool to_line, const uint8_t *from, uint8_t *to) {
  const int bits = p->packing.format->bits;
  if (p->codes == TW_GEMM_SHUFFLE_MMA) {
    for (int64_t k = 0; k < p->k; k++) {
      const int64_t in_line = line_bit(bits, k), in_codes = register_bit(p, bits, row, k);
      const int64_t source = to_line ? in_codes : in_line, target = to_line ? in_line : in_codes;
      to[target / 8] |= (uint8_t)((from[source / 8] >> source % 8 & ((1 << bits) - 1)) << target % 8);
    }
    return;
  }
  for (int64_t byte = 0; byte < (int64_t)p->row.row_codes; byte++) {
    const int64_t at = code_at(p, row, byte);
    to[to_line ? byte : at] = from[to_line ? at : byte];
  }
}

/* In bytes; scales of formats other than MX are whole floats. */
static int64_t scale_at(const tw_gemm_packed *p, int64_t row, int64_t byte) {
  if (p->scales == TW_GEMM_SHUFFLE_MMA)
    return row / TILE_ROWS * TILE_ROWS * (int64_t)p->row.row_scales + byte / 4 * (TILE_ROWS * 4) + row % TILE_ROWS * 4 +
           byte % 4;
  if (p->scales == TW_GEMM_SHUFFLE_NONE) return row * (int64_t)p->row.row_scales + byte;
  const int64_t pair = row / PAIR_ROWS * (tw_round_up(blocks_of(p), PAIR_BLOCKS) / PAIR_BLOCKS) + byte / PAIR_BLOCKS;
  return pair * (PAIR_ROWS * PAIR_BLOCKS) + byte % 4 * 64 + row % 16 * 4 + byte % PAIR_BLOCKS / 4 * 2 +
         row % PAIR_ROWS / 16;
}

/* ---- operands ---- */

tw_operand tw_gemm_code_operand(const tw_gemm_packed *p, const char *name) {
  return tw_operand_dense(name, TW_U8, 2, (int64_t[]){p->rows, (int64_t)p->row.row_codes});
}

tw_operand tw_gemm_scale_operand(const tw_gemm_packed *p, const char *name) {
  const bool bytes = p->packing.format->scale == TW_SCALE_E8M0;
  if (p->scales == TW_GEMM_SHUFFLE_AITER)
    return tw_operand_dense(name, TW_U8, 2,
                            (int64_t[]){tw_round_up(p->rows, PADDED_ROWS), tw_round_up(blocks_of(p), PAIR_BLOCKS)});
  return tw_operand_dense(name, bytes ? TW_U8 : TW_F32, 2,
                          (int64_t[]){p->rows, (int64_t)p->row.row_scales / (bytes ? 1 : (int)sizeof(float))});
}

/* ---- contents ---- */

void tw_gemm_fill_planes(const tw_gemm_packed *p, const float *x, void *codes, void *scales) {
  const size_t row_codes = p->row.row_codes, row_scales = p->row.row_scales;
  uint8_t *line = tw_new(row_codes + row_scales + 1, 1), *to_scales = scales;
  if (p->scales == TW_GEMM_SHUFFLE_AITER)
    memset(scales, NAN_SCALE, (size_t)(tw_round_up(p->rows, PADDED_ROWS) * tw_round_up(blocks_of(p), PAIR_BLOCKS)));
  if (p->codes == TW_GEMM_SHUFFLE_MMA) memset(codes, 0, (size_t)p->rows * row_codes);
  for (int64_t i = 0; line && i < p->rows; i++) {
    tw_format_encode(&p->packing, 1, (size_t)p->k, x + i * p->k, (size_t)p->k, line, line + row_codes, NULL);
    copy_codes(p, i, false, line, codes);
    for (size_t j = 0; j < row_scales; j++) to_scales[scale_at(p, i, (int64_t)j)] = line[row_codes + j];
  }
  free(line);
}

/* Decodes to floats in the first half of `out`, then converts them to doubles, the last one first. */
void tw_gemm_unpack_row(const tw_gemm_packed *p, const void *codes, const void *scales, int64_t row, double *out) {
  const size_t row_codes = p->row.row_codes, row_scales = p->row.row_scales, k = (size_t)p->k;
  const uint8_t *from_codes = codes, *from_scales = scales;
  uint8_t *line = NULL;
  float *x = (void *)out;
  if (p->codes || p->scales) {
    line = tw_new(row_codes + row_scales + 1, 1);
    if (line) copy_codes(p, row, true, codes, line);
    for (size_t j = 0; line && j < row_scales; j++) line[row_codes + j] = from_scales[scale_at(p, row, (int64_t)j)];
    from_codes = line;
    from_scales = line ? line + row_codes : NULL;
  } else {
    from_codes += (size_t)row * row_codes;
    from_scales += (size_t)row * row_scales;
  }
  if (from_codes) tw_format_decode(&p->packing, 1, k, from_codes, from_scales, x, k, NULL);
  for (size_t i = k; i-- > 0;) {
    const float value = from_codes ? x[i] : NAN;
    out[i] = (double)value;
  }
  free(line);
}
