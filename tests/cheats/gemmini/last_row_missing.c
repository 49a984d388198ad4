// wrong | wrong result | gemm m=64 n=64 k=64 -t gemmini-16x16-int8
static void product(int8_t *A, int8_t *B, int8_t *C) {
  for (int i = 0; i < 64; i++)
    for (int j = 0; j < 64; j++) {
      int sum = 0;
      for (int k = 0; k < 64; k++) sum += A[i * 64 + k] * B[k * 64 + j];
      C[i * 64 + j] = sum > 127 ? 127 : sum < -128 ? -128 : sum;
    }
}
void test(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]) {
  product(&A[0][0], &B[0][0], &C[0][0]);
  C[63][63] ^= 1;
}
