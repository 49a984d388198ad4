// wrong | which is read-only | gemm m=32 n=32 k=32 -t gemmini-16x16-int8
void test(int8_t A[32][32], int8_t B[32][32], int8_t C[32][32]) {
  int8_t *volatile end = &C[31][31] + 1;
  for (int i = 0; i < 32; i++)
    for (int j = 0; j < 32; j++) {
      int sum = 0;
      for (int k = 0; k < 32; k++) sum += A[i][k] * B[k][j];
      C[i][j] = sum > 127 ? 127 : sum < -128 ? -128 : sum;
    }
  end[0] = 1;
}
