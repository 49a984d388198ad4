/* mfma.c - matrix instructions: registers to matrices by the maps of layout/mfma.h, products in order of k, and back.
 *
 * Order of summation: each element is C, plus the products of ascending k, each product and sum rounded once (f32). Where
 * all are small integers nothing is rounded. */
#include <string.h>

#include "target/cdna/emulator/emulator.h"
#include "target/cdna/lanes/half.h"
#include "target/cdna/layout/mfma.h"

enum { ITEMS_MAX = 2048 };

/* Where item n (lane * items + item) of an operand lies in its matrix: A [block][k][row], B [block][k][column], C
 * [block][row][column]. */
typedef struct matrix_map {
  int items;
  uint16_t at[ITEMS_MAX];
} matrix_map;

typedef struct matrix_plan {
  const cdna_mfma *mfma;
  matrix_map a, b, c;
} matrix_plan;

static float item_value(cdna_type type, uint32_t bits) {
  switch (type) {
  case CDNA_F16: return cdna_half_value(bits);
  case CDNA_BF16: return cdna_bf16_value(bits);
  default: return tw_float_of(bits);
  }
}

static int32_t item_integer(uint32_t bits) { return (int8_t)bits; }

static uint32_t item_bits(uint32_t (*row)[CDNA_LANES], int lane, int item, int bits) {
  const int at = item * bits;
  const uint32_t word = row[at / 32][lane] >> at % 32;
  return bits == 32 ? word : word & ((1u << bits) - 1);
}

static void run_float(cdna_wave *w, const cdna_op *op) {
  const matrix_plan *p = op->more;
  const cdna_mfma *m = p->mfma;
  float a[ITEMS_MAX], b[ITEMS_MAX], c[ITEMS_MAX];
  uint32_t(*ra)[CDNA_LANES] = &w->v[op->s[0].code], (*rb)[CDNA_LANES] = &w->v[op->s[1].code];
  const int bits = cdna_type_bits(m->a), outer = m->n;
  for (int l = 0; l < CDNA_LANES; l++) {
    for (int e = 0; e < p->a.items; e++) a[p->a.at[l * p->a.items + e]] = item_value(m->a, item_bits(ra, l, e, bits));
    for (int e = 0; e < p->b.items; e++) b[p->b.at[l * p->b.items + e]] = item_value(m->b, item_bits(rb, l, e, bits));
  }
  if (op->s[2].kind == CDNA_ROW) {
    for (int r = 0; r < p->c.items; r++)
      for (int l = 0; l < CDNA_LANES; l++) c[p->c.at[l * p->c.items + r]] = tw_float_of(w->v[op->s[2].code + r][l]);
  } else {
    const float value = tw_float_of((uint32_t)cdna_read(w, &op->s[2]));
    for (int e = 0; e < m->m * m->n * m->blocks; e++) c[e] = value;
  }
  for (int block = 0; block < m->blocks; block++)
    w->kit->multiply(c + block * m->m * outer, a + block * m->m * m->k, b + block * m->k * outer, m->m, outer, m->k);
  for (int r = 0; r < p->c.items; r++)
    for (int l = 0; l < CDNA_LANES; l++) w->v[op->d + r][l] = tw_bits_of(c[p->c.at[l * p->c.items + r]]);
}

static void run_integer(cdna_wave *w, const cdna_op *op) {
  const matrix_plan *p = op->more;
  const cdna_mfma *m = p->mfma;
  int32_t a[ITEMS_MAX], b[ITEMS_MAX];
  uint32_t c[ITEMS_MAX];
  uint32_t(*ra)[CDNA_LANES] = &w->v[op->s[0].code], (*rb)[CDNA_LANES] = &w->v[op->s[1].code];
  for (int l = 0; l < CDNA_LANES; l++) {
    for (int e = 0; e < p->a.items; e++) a[p->a.at[l * p->a.items + e]] = item_integer(item_bits(ra, l, e, 8));
    for (int e = 0; e < p->b.items; e++) b[p->b.at[l * p->b.items + e]] = item_integer(item_bits(rb, l, e, 8));
  }
  const uint32_t value = op->s[2].kind == CDNA_ROW ? 0 : (uint32_t)cdna_read(w, &op->s[2]);
  for (int r = 0; r < p->c.items; r++)
    for (int l = 0; l < CDNA_LANES; l++)
      c[p->c.at[l * p->c.items + r]] = op->s[2].kind == CDNA_ROW ? w->v[op->s[2].code + r][l] : value;
  for (int block = 0; block < m->blocks; block++)
    for (int k = 0; k < m->k; k++)
      for (int i = 0; i < m->m; i++)
        for (int j = 0; j < m->n; j++)
          c[(block * m->m + i) * m->n + j] +=
              (uint32_t)(a[(block * m->k + k) * m->m + i] * b[(block * m->k + k) * m->n + j]);
  for (int r = 0; r < p->c.items; r++)
    for (int l = 0; l < CDNA_LANES; l++) w->v[op->d + r][l] = c[p->c.at[l * p->c.items + r]];
}

static bool map_of(const cdna_mfma *m, cdna_operand operand, matrix_map *out) {
  cdna_fragment f;
  if (!cdna_fragment_of(m, operand, CDNA_TYPES, &f) || f.items * CDNA_LANES > ITEMS_MAX) return false;
  out->items = f.items;
  for (int l = 0; l < CDNA_LANES; l++)
    for (int e = 0; e < f.items; e++) {
      const cdna_position at = cdna_fragment_position(&f, (cdna_slot){l, e});
      const int index = operand == CDNA_A   ? (at.block * m->k + at.column) * m->m + at.row
                        : operand == CDNA_B ? (at.block * m->k + at.row) * m->n + at.column
                                            : (at.block * m->m + at.row) * m->n + at.column;
      out->at[l * f.items + e] = (uint16_t)index;
    }
  return true;
}

bool cdna_lower_mfma(cdna_program *p, const cdna_code *c, cdna_op *op) {
  const cdna_instruction *i = c->instruction;
  const cdna_mfma *m = i->encoding == CDNA_VOP3P ? cdna_mfma_find(i->name) : NULL;
  if (!m || cdna_mfma_is_sparse(m) || c->variant != CDNA_PLAIN) return false;
  const bool real = m->c == CDNA_F32 && (m->a == CDNA_F32 || m->a == CDNA_F16 || m->a == CDNA_BF16) && m->a == m->b;
  const bool integer = m->c == CDNA_I32 && m->a == CDNA_I8 && m->b == CDNA_I8;
  if (!real && !integer) return false;
  if (cdna_bits(c->bits, 8, 3) || cdna_bits(c->bits, 11, 4) || cdna_bits(c->bits, 61, 3)) {
    op->why = "has CBSZ, ABID or BLGP, which are not executed yet";
    return false;
  }
  matrix_plan *plan = cdna_program_new(p, sizeof *plan);
  if (!plan || !map_of(m, CDNA_A, &plan->a) || !map_of(m, CDNA_B, &plan->b) || !map_of(m, CDNA_C, &plan->c))
    return false;
  plan->mfma = m;
  op->more = plan;
  for (int n = 0; n < 3; n++) cdna_lower_source(p, c, cdna_find_field(i, (char)('0' + n)), &op->s[n]);
  if (op->s[0].kind != CDNA_ROW || op->s[1].kind != CDNA_ROW) return false;
  const cdna_operand_form *d = cdna_find_field(i, 'D');
  op->d = (uint16_t)(cdna_operand_code(c, d) - CDNA_VGPRS);
  op->d_width = d->width;
  op->run = real ? run_float : run_integer;
  return true;
}
