/* few_sums.h - products of at most X86_FEW_SUMS_ROWS rows and one vector of columns. Each sum has four vectors, so a
 * multiply-add seldom waits for another. Included twice by generated code, for whole vectors and for vectors of half the
 * length (half_avx512.h), as NAME. */

WORD void NAME(int rows, int64_t columns, int64_t k, const char *a, int64_t a_row, int64_t a_step, const char *b,
               int64_t b_row, char *c, int64_t c_pitch, int into, const float *alpha_beta) {
  enum { CHAINS = 4 };
  const part which = first(columns);
  sums s[X86_FEW_SUMS_ROWS][CHAINS];
  UNROLLED for (int i = 0; i < rows; i++) UNROLLED for (int u = 0; u < CHAINS; u++) s[i][u] = zero();
  for (; k >= CHAINS; k -= CHAINS, a += CHAINS * a_step) UNROLLED for (int u = 0; u < CHAINS; u++, b += b_row) {
      const operand of_b = load_part(b, which);
      UNROLLED for (int i = 0; i < rows; i++) s[i][u] =
          multiply_add(s[i][u], broadcast(a + i * a_row + u * a_step), of_b);
    }
  for (; k > 0; k--, a += a_step, b += b_row) {
    const operand of_b = load_part(b, which);
    UNROLLED for (int i = 0; i < rows; i++) s[i][0] = multiply_add(s[i][0], broadcast(a + i * a_row), of_b);
  }
  UNROLLED for (int i = 0; i < rows; i++, c += c_pitch) {
    sums x = (s[i][0] + s[i][1]) + (s[i][2] + s[i][3]);
    if (into & X86_SCALED) x *= alpha_beta[0];
    if (into & X86_ADD) x = multiply_add(x, broadcast((const char *)(alpha_beta + 1)), load_part(c, which));
    store_part(c, which, x);
  }
}
#undef NAME
