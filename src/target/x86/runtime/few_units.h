/* few_units.h - products of at most X86_FEW_UNITS units of k: rows of B stay in registers while all rows of A pass. Included
 * twice by generated code, for whole vectors and for vectors of half the length (half_avx512.h), as NAME. */

/* At most as many columns as the vector has lanes. */
WORD void NAME(int k, int64_t m, int64_t columns, const char *a, int64_t a_row, int64_t a_step, const char *b,
               int64_t b_row, char *c, int64_t c_pitch, int into, const float *alpha_beta) {
  const part which = first(columns);
  operand of_b[X86_FEW_UNITS];
  UNROLLED for (int p = 0; p < k; p++) of_b[p] = load_part(b + p * b_row, which);
  if (into & X86_SCALED) UNROLLED for (int p = 0; p < k; p++) of_b[p] *= alpha_beta[0];
  for (; m > 0; m--, a += a_row, c += c_pitch) {
    sums s = zero();
    UNROLLED for (int p = 0; p < k; p++) s = multiply_add(s, broadcast(a + p * a_step), of_b[p]);
    if (into & X86_ADD) s = multiply_add(s, broadcast((const char *)(alpha_beta + 1)), load_part(c, which));
    store_part(c, which, s);
  }
}
#undef NAME
