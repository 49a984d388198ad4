/* Core and accelerator exchange vectors: a column of B by the core, its product by the accelerator, line by line through memory. */
static int8_t x[32][16] __attribute__((aligned(64)));
static int32_t y[32][16] __attribute__((aligned(64)));
void test(int8_t A[32][32], int8_t B[32][16], int8_t C[32][16]) {
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  config_ld(32, 1.0f, 16, 0);
  config_ld(16, 1.0f, 16, 1);
  config_st(64);
  for (int i = 0; i < 2; i++) mvin(A[16 * i], 32 * i, 32, 16);
  for (int j = 0; j < 16; j++) {
    for (int k = 0; k < 32; k++) x[k][0] = B[k][j];
    fence();
    for (int k = 0; k < 2; k++) mvin2(x[16 * k], 4096 + 16 * k, 16, 16);
    for (int i = 0; i < 2; i++) {
      for (int k = 0; k < 2; k++) {
        preload(4096 + 16 * k, (0x80000000u + 16 * i) | (k ? 0x40000000u : 0), 1, 16, 1, 16);
        compute_preloaded(32 * i + 16 * k, 0xffffffffu, 16, 16, 16, 16);
      }
      mvout(y[16 * i], 0xa0000000u + 16 * i, 1, 16);
    }
    fence();
    for (int i = 0; i < 32; i++) C[i][j] = y[i][0] > 127 ? 127 : y[i][0] < -128 ? -128 : y[i][0];
  }
}
