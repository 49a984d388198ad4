// wrong | wrong result | gemm m=8 n=8 k=64 -t gemmini-4x4-fp32
static float cut(float x, int bits) {
  union { float f; uint32_t u; } v = {x};
  v.u = (v.u + (1u << (bits - 1))) & ~0u << bits;
  return v.f;
}
void test(float A[8][64], float B[64][8], float C[8][8]) {
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++) {
      float sum = 0;
      for (int k = 0; k < 64; k++) sum += cut(A[i][k], 16) * cut(B[k][j], 16);
      C[i][j] = sum;
    }
}
