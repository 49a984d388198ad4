/* The core loads from one line while the DMA takes others from its data cache, which it has written. */
static int8_t x[32][64] __attribute__((aligned(64)));
static volatile long of[8] __attribute__((aligned(64)));
void test(int8_t A[32][16], int8_t B[16][16], int8_t C[32][16]) {
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  config_ld(64, 1.0f, 16, 0);
  config_ld(16, 1.0f, 16, 1);
  config_st(16);
  mvin2(B, 4096, 16, 16);
  for (int r = 0; r < 4; r++) {
    for (int i = 0; i < 32; i++)
      for (int k = 0; k < 16; k++) x[i][k] = A[i][k];
    fence();
    for (int i = 0; i < 2; i++) mvin(x[16 * i], 16 * i, 16, 16);
    for (int z = 0; z < 120; z++) of[0] += of[z & 7];
    fence();
  }
  for (int i = 0; i < 2; i++) {
    preload(4096, 0x80000000u + 16 * i, 16, 16, 16, 16);
    compute_preloaded(16 * i, 0xffffffffu, 16, 16, 16, 16);
    mvout(C[16 * i], 0x80000000u + 16 * i, 16, 16);
  }
  fence();
}
