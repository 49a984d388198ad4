// wrong | compute read accumulator row 0x0, which was never written | gemm m=64 n=64 k=64 -t gemmini-16x16-int8
void test(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]) {
  config_st(64); config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, 0, 0);
  config_ld(64, 1.0f, 16, 0);
  for (int i = 0; i < 64; i += 16) for (int k = 0; k < 64; k += 16) mvin(&A[i][k], (i * 4 + k), 16, 16);
  for (int k = 0; k < 64; k += 16) for (int j = 0; j < 64; j += 16) mvin(&B[k][j], 4096 + k * 4 + j, 16, 16);
  for (int i = 0; i < 64; i += 16) for (int j = 0; j < 64; j += 16)
    for (int k = 0; k < 64; k += 16) { /* the first product must overwrite */
      preload(4096 + k * 4 + j, 0xc0000000u + i * 4 + j, 16, 16, 16, 16);
      compute_preloaded(i * 4 + k, ~0u, 16, 16, 16, 16);
    }
  for (int i = 0; i < 64; i += 16) for (int j = 0; j < 64; j += 16) mvout(&C[i][j], 0x80000000u + i * 4 + j, 16, 16);
  fence();
}
