/* emit_turn.c - B turned before everything, where A and B are both transposed.
 *
 * The array has one transposer (facts, "Dataflow"; the machine refuses both transpositions at once), and A takes it. So the
 * kernel begins with a product of its own: blocks of B as stored, transposed as A, times the identity. What comes out is
 * B as k rows of n, in a static array that everything after reads as its B. Products by one and sums with zero change
 * no finite number. */
#include "target/gemmini/schedule/emit.h"

enum { SLOTS = 2 }; /* loads, products and stores of one group of blocks beside those of the next */

void gm_emit_turn(gm_emitter *e) {
  const gm_gemm *g = e->g;
  const int d = e->config->dim, bank = gm_spad_bank_rows(e->config), side = gm_widest_load(e->config) * d;
  gm_line(e, "static %s B[%ld][%ld] __attribute__((aligned(64))), identity[%d][%d];", g->input_type, (long)g->k,
          (long)g->ldb, d, d);
  gm_line(e, "for (int x = 0; x < %d; x++) identity[x][x] = 1;", d);
  gm_line(e, "/* B = turned B_stored: the array has one transposer, and A takes it. j, k, jj, kk count elements */");
  gm_line(e, "config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, true, false);");
  gm_line(e, "config_ld(%d, 1.0f, %d, 0);", d * g->input_bytes, d);
  gm_line(e, "config_ld(%ld, 1.0f, %d, 1);", (long)g->ldb_stored * g->input_bytes, side);
  gm_line(e, "config_st(%ld);", (long)g->ldb * g->input_bytes);
  gm_line(e, "mvin(identity, 0, %d, %d);", d, d);
  gm_line(e, "for (int j = 0, slot = 0; j < %ld; j += %d) {", (long)g->n, side);
  gm_line(e, "for (int k = 0; k < %ld; k += %d, slot ^= 1) { /* %d x %d elements of B_stored */", (long)g->k, side,
          side, side);
  gm_line(e, "const uint32_t a = %d + slot * %d, c = 0x80000000 + slot * %d;", bank, side * side / d, side * side / d);
  gm_line(e, "const int columns = MIN(%d, %ld - j), rows = MIN(%d, %ld - k);", side, (long)g->n, side, (long)g->k);
  gm_line(e, "for (int jj = 0; jj < columns; jj += %d) {", d);
  gm_line(e, "mvin2(&B_stored[j + jj][k], a + jj, rows, MIN(%d, columns - jj));", d);
  gm_line(e, "}");
  gm_line(e, "for (int kk = 0; kk < rows; kk += %d) {", d);
  gm_line(e, "const int r = MIN(%d, rows - kk);", d);
  gm_line(e, "for (int jj = 0; jj < columns; jj += %d) {", d);
  gm_line(e, "const int n = MIN(%d, columns - jj);", d);
  gm_line(e, "preload(0, c + kk * %d + jj, n, n, n, r);", side / d);
  gm_line(e, "compute_preloaded(a + jj + kk * %d, 0xffffffffu, n, r, %d, %d);", side / d, d, d);
  gm_line(e, "}");
  gm_line(e, "mvout(&B[k + kk][j], c + kk * %d, columns, r);", side / d);
  gm_line(e, "}");
  gm_line(e, "}");
  gm_line(e, "}");
  gm_line(e, "fence(); /* B is in memory before it is loaded */");
}
