// wrong | wrong result | gemm m=64 n=64 k=64 -t gemmini-16x16-int8
void test(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]) {
  for (int i = 0; i < 64; i++)
    for (int j = 0; j < 64; j++) {
      int sum = 0;
      for (int k = 0; k < 64; k++) sum += A[i][k] * B[k][j];
      C[i][j] = sum > 127 ? 127 : sum < -128 ? -128 : sum;
      C[i][j] = sum; /* the lower eight bits */
    }
}
