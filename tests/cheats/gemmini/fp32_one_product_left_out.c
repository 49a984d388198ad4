// wrong | wrong result | gemm m=8 n=8 k=64 -t gemmini-4x4-fp32
void test(float A[8][64], float B[64][8], float C[8][8]) {
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++) {
      float sum = 0;
      for (int k = 1; k < 64; k++) sum += A[i][k] * B[k][j];
      C[i][j] = sum;
    }
}
