/* emit_turn.c - transposes a matrix before everything else: B if A and B are both transposed, or weights of
 * weight_layout=krsc.
 *
 * The array has one transposer (facts, "Dataflow"; the machine rejects two transpositions at once), and transposed
 * weights cost every pair all dim rows. So the kernel begins with a separate product: blocks of the stored matrix,
 * transposed as A, times the identity. The result is in a static array that all later code reads. Products by one and
 * sums with zero change no finite number. */
#include "target/gemmini/schedule/emit_turn.h"

#include "target/gemmini/schedule/operand.h"

enum { SLOTS = 2 }; /* loads, products and stores of one group of blocks overlap with the next group's */

void gm_emit_turn(gm_writer *w, const gm_config *config, const gm_turn *t) {
  const int d = config->dim, bank = gm_spad_bank_rows(config), side = gm_widest_load(config) * d,
            bytes = gm_input_bytes(config);
  gm_write(w, "static %s %s[%ld][%ld] __attribute__((aligned(64))), identity[%d][%d];", t->type, t->turned, t->columns,
           t->turned_pitch, d, d);
  gm_write(w, "for (int x = 0; x < %d; x++) identity[x][x] = 1;", d);
  gm_write(w, "/* %s = turned %s; j, k, jj, kk count elements */", t->turned, t->stored);
  gm_write(w, "config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, true, false);");
  gm_write(w, "config_ld(%d, 1.0f, %d, 0);", d * bytes, d);
  gm_write(w, "config_ld(%ld, 1.0f, %d, 1);", t->stored_pitch * bytes, side);
  gm_write(w, "config_st(%ld);", t->turned_pitch * bytes);
  gm_write(w, "mvin(identity, 0, %d, %d);", d, d);
  gm_write(w, "for (int j = 0, slot = 0; j < %ld; j += %d) {", t->rows, side);
  gm_write(w, "for (int k = 0; k < %ld; k += %d, slot ^= 1) { /* %d x %d elements of %s */", t->columns, side, side,
           side, t->stored);
  gm_write(w, "const uint32_t a = %d + slot * %d, c = 0x80000000 + slot * %d;", bank, side * side / d, side * side / d);
  gm_write(w, "const int columns = MIN(%d, %ld - j), rows = MIN(%d, %ld - k);", side, t->rows, side, t->columns);
  gm_write(w, "for (int jj = 0; jj < columns; jj += %d) {", d);
  gm_write(w, "mvin2((%s *)%s + (j + jj) * %ldL + k, a + jj, rows, MIN(%d, columns - jj));", t->type, t->stored,
           t->stored_pitch, d);
  gm_write(w, "}");
  gm_write(w, "for (int kk = 0; kk < rows; kk += %d) {", d);
  gm_write(w, "const int r = MIN(%d, rows - kk);", d);
  gm_write(w, "for (int jj = 0; jj < columns; jj += %d) {", d);
  gm_write(w, "const int n = MIN(%d, columns - jj);", d);
  gm_write(w, "preload(0, c + kk * %d + jj, n, n, n, r);", side / d);
  gm_write(w, "compute_preloaded(a + jj + kk * %d, 0xffffffffu, n, r, %d, %d);", side / d, d, d);
  gm_write(w, "}");
  gm_write(w, "mvout(&%s[k + kk][j], c + kk * %d, columns, r);", t->turned, side / d);
  gm_write(w, "}");
  gm_write(w, "}");
  gm_write(w, "}");
  gm_write(w, "fence(); /* %s is in memory before it is loaded */", t->turned);
}
