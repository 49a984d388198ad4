//: kernel    gemm
//: require   m % 16 == 0 && n % 16 == 0 && k % 16 == 0
//: grid      n / 16, m / 16
//: block     256
//: args      A, B, C, n, k
/* A workgroup computes 16 x 16 of C; tiles of A and B go through LDS. */
#define LDS static __attribute__((address_space(3), loader_uninitialized))

__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(256, 256))) void gemm(const float *a, const float *b,
                                                                                float *c, int n, int k) {
  LDS float as[16][16], bs[16][16];
  const int x = __builtin_amdgcn_workitem_id_x() % 16, y = __builtin_amdgcn_workitem_id_x() / 16;
  const int row = __builtin_amdgcn_workgroup_id_y() * 16 + y, col = __builtin_amdgcn_workgroup_id_x() * 16 + x;
  float sum = 0;
  for (int at = 0; at < k; at += 16) {
    as[y][x] = a[row * k + at + x];
    bs[y][x] = b[(at + y) * n + col];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier(); /* both tiles are there */
    for (int i = 0; i < 16; i++) sum += as[y][i] * bs[i][x];
    __builtin_amdgcn_s_barrier(); /* nobody reads them any more */
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  }
  c[row * n + col] = sum;
}
