// does not build | thread-local | gemm m=64 n=64 k=64 -t gemmini-16x16-int8
__thread int x = 1;
void test(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]) {
  x++;
  config_st(64); config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, 0, 0);
  config_ld(64, 1.0f, 16, 0);
  static const uint32_t acc = 1u << 31;
  for (int i = 0; i < 64; i += 16) for (int k = 0; k < 64; k += 16) mvin(&A[i][k], (i * 4 + k), 16, 16);
  for (int k = 0; k < 64; k += 16) for (int j = 0; j < 64; j += 16) mvin(&B[k][j], 4096 + k * 4 + j, 16, 16);
  for (int i = 0; i < 64; i += 16) for (int j = 0; j < 64; j += 16)
    for (int k = 0; k < 64; k += 16) {
      preload(4096 + k * 4 + j, (acc | (k ? 1u << 30 : 0)) + i * 4 + j, 16, 16, 16, 16);
      compute_preloaded(i * 4 + k, ~0u, 16, 16, 16, 16);
    }
  for (int i = 0; i < 64; i += 16) for (int j = 0; j < 64; j += 16) mvout(&C[i][j], acc + i * 4 + j, 16, 16);
  fence();
}
