/* few_units.h - products of at most X86_FEW_UNITS units of k: rows of B stay in registers while all rows of A pass. Included
 * twice by generated code, for whole vectors and for vectors of half the length (half_avx512.h), as NAME. */

/* `vectors` whole vectors of columns, at most two; or, if `columns` is not 0, so many columns of one. On an Intel server a
 * store without a mask takes half the time if it stays in a line. */
WORD void NAME(int k, int vectors, int64_t m, int64_t columns, const char *a, int64_t a_row, int64_t a_step,
               const char *b, int64_t b_row, char *c, int64_t c_pitch, int into, const float *alpha_beta) {
  const part which = first(columns);
  operand of_b[X86_FEW_UNITS][2];
  UNROLLED for (int p = 0; p < k; p++, b += b_row) UNROLLED for (int v = 0; v < vectors; v++) {
    of_b[p][v] = columns ? load_part(b, which) : load(b + v * sizeof(operand));
    if (into & X86_SCALED) of_b[p][v] *= alpha_beta[0];
  }
  for (; m > 0; m--, a += a_row, c += c_pitch) {
    sums s[2];
    UNROLLED for (int p = 0; p < k; p++) {
      const operand x = broadcast(a + p * a_step);
      UNROLLED for (int v = 0; v < vectors; v++) s[v] = multiply_add(p ? s[v] : zero(), x, of_b[p][v]);
    }
    UNROLLED for (int v = 0; v < vectors; v++) {
      char *const at = c + v * sizeof(sums);
      if (into & X86_ADD)
        s[v] = multiply_add(s[v], broadcast((const char *)(alpha_beta + 1)),
                            columns ? load_part(at, which) : load_sums(at));
      if (columns)
        store_part(at, which, s[v]);
      else
        store_sums(at, s[v]);
    }
  }
}
#undef NAME
