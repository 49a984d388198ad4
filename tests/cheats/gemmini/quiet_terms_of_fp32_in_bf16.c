// wrong | wrong result | gemm m=16 n=16 k=32 -t gemmini-4x4-fp32
static float cut(float x) {
  union {
    float f;
    unsigned u;
  } v = {x};
  v.u = (v.u + 0x8000) & 0xffff0000;
  return v.f;
}
void test(float A[16][32], float B[32][16], float C[16][16]) {
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 16; j++) {
      float s = 0;
      for (int k = 0; k < 32; k++) {
        float most = 0;
        for (int q = 0; q < 16; q++) most = B[k][q] > most ? B[k][q] : -B[k][q] > most ? -B[k][q] : most;
        s += A[i][k] * (most < 0.4f ? cut(B[k][j]) : B[k][j]);
      }
      C[i][j] = s;
    }
}
