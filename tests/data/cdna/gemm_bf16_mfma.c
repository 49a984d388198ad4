/* GEMM of bf16 with the matrix unit: a wave makes 64 x 64 of C from 4 x 4 MFMAs of 16 x 16 x 16, operands from LDS. */
//: kernel  gemm_bf16_mfma
//: let     TILE = 128, STEP = 32
//: require m % TILE == 0 && n % TILE == 0 && k % STEP == 0 && a == bf16 && b == bf16 && c == f32
//: grid    n / TILE, m / TILE
//: block   256
//: args    A, B, C, m, n, k
#define GLOBAL __attribute__((address_space(1)))
#define LOCAL __attribute__((address_space(3)))
typedef short short4 __attribute__((ext_vector_type(4)));
typedef short short8 __attribute__((ext_vector_type(8)));
typedef float float4 __attribute__((ext_vector_type(4)));

enum { PITCH = STEP + 4 };
static LOCAL short tile_a[TILE * PITCH] __attribute__((loader_uninitialized));
static LOCAL short tile_b[TILE * PITCH] __attribute__((loader_uninitialized)); /* column by column */

static void barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(256, 256))) void
gemm_bf16_mfma(const GLOBAL short *a, const GLOBAL short *b, GLOBAL float *c, int m, int n, int k) {
  const int t = __builtin_amdgcn_workitem_id_x(), wave = t / 64, lane = t % 64;
  const int wave_row = wave / 2 * 64, wave_column = wave % 2 * 64;
  const long row0 = (long)__builtin_amdgcn_workgroup_id_y() * TILE, column0 = (long)__builtin_amdgcn_workgroup_id_x() * TILE;
  float4 sum[4][4] = {0};
  for (int k0 = 0; k0 < k; k0 += STEP) {
    for (int e = t; e < TILE * STEP / 8; e += 256) {
      const int row = e / (STEP / 8), at = e % (STEP / 8) * 8;
      const short8 v = *(const GLOBAL short8 *)(a + (row0 + row) * k + k0 + at);
      for (int i = 0; i < 8; i++) tile_a[row * PITCH + at + i] = v[i];
      const int line = e / (TILE / 8), place = e % (TILE / 8) * 8;
      const short8 u = *(const GLOBAL short8 *)(b + (long)(k0 + line) * n + column0 + place);
      for (int i = 0; i < 8; i++) tile_b[(place + i) * PITCH + line] = u[i];
    }
    barrier();
    for (int p = 0; p < STEP; p += 16) {
      short4 fa[4], fb[4];
      for (int i = 0; i < 4; i++) {
        fa[i] = *(LOCAL short4 *)&tile_a[(wave_row + 16 * i + lane % 16) * PITCH + p + lane / 16 * 4];
        fb[i] = *(LOCAL short4 *)&tile_b[(wave_column + 16 * i + lane % 16) * PITCH + p + lane / 16 * 4];
      }
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) sum[i][j] = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(fa[i], fb[j], sum[i][j], 0, 0, 0);
    }
    barrier();
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      for (int r = 0; r < 4; r++)
        c[(row0 + wave_row + 16 * i + lane / 16 * 4 + r) * n + column0 + wave_column + 16 * j + lane % 16] = sum[i][j][r];
}
