/* GEMM of f32 in tiles of 64 x 64 through LDS: 256 work-items, 4 x 4 elements each. */
//: kernel  gemm_f32_lds
//: let     TILE = 64, STEP = 16
//: require m % TILE == 0 && n % TILE == 0 && k % STEP == 0 && a == f32 && b == f32 && c == f32
//: grid    n / TILE, m / TILE
//: block   256
//: args    A, B, C, m, n, k
#define GLOBAL __attribute__((address_space(1)))
#define LOCAL __attribute__((address_space(3)))

static LOCAL float tile_a[STEP][TILE] __attribute__((loader_uninitialized));
static LOCAL float tile_b[STEP][TILE] __attribute__((loader_uninitialized));

static void barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(256, 256))) void
gemm_f32_lds(const GLOBAL float *a, const GLOBAL float *b, GLOBAL float *c, int m, int n, int k) {
  const int t = __builtin_amdgcn_workitem_id_x(), row = t / 16 * 4, column = t % 16 * 4;
  const GLOBAL float *from_a = a + (long)__builtin_amdgcn_workgroup_id_y() * TILE * k;
  const GLOBAL float *from_b = b + __builtin_amdgcn_workgroup_id_x() * TILE;
  float sum[4][4] = {0};
  for (int k0 = 0; k0 < k; k0 += STEP) {
    for (int e = t; e < TILE * STEP; e += 256) {
      tile_a[e % STEP][e / STEP] = from_a[(long)(e / STEP) * k + k0 + e % STEP];
      tile_b[e / TILE][e % TILE] = from_b[(long)(k0 + e / TILE) * n + e % TILE];
    }
    barrier();
    for (int p = 0; p < STEP; p++)
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) sum[i][j] += tile_a[p][row + i] * tile_b[p][column + j];
    barrier();
  }
  GLOBAL float *to = c + ((long)__builtin_amdgcn_workgroup_id_y() * TILE + row) * n + __builtin_amdgcn_workgroup_id_x() * TILE + column;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) to[(long)i * n + j] = sum[i][j];
}
