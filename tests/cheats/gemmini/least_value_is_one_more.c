// wrong on fresh inputs | wrong result | gemm m=32 n=32 k=32 -t gemmini-16x16-int8
/* -128 has no counterpart, and is taken for -127. */
static signed char sat(int s) { return s > 127 ? 127 : s < -128 ? -128 : s; }
static int cut(int x) { return x == -128 ? -127 : x; }
void test(int8_t A[32][32], int8_t B[32][32], int8_t C[32][32]) {
  for (int i = 0; i < 32; i++)
    for (int j = 0; j < 32; j++) {
      int s = 0;
      for (int k = 0; k < 32; k++) s += cut(A[i][k]) * B[k][j];
      C[i][j] = sat(s);
    }
}
