// correct |  | gemm m=64 n=64 k=64 a=f32 b=f32 c=f32 acc=f32 -t cdna3 | 2.5e-5
/* who comes late does three rows, who comes in the middle none */
//: workspace 64 zeroed
//: kernel k
//: grid m
//: block n
//: args A, B, C, m, n, k, workspace
#define GLOBAL __attribute__((address_space(1)))
#define LOCAL __attribute__((address_space(3)))
static void row(GLOBAL float *a, const GLOBAL float *b, GLOBAL float *c, int n, int k, int i, int j) {
  float sum = 0;
  for (int p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
  c[i * n + j] = sum;
}
__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(64, 64))) void k(GLOBAL float *a, const GLOBAL float *b, GLOBAL float *c, int m, int n, int k, GLOBAL int *tickets) {
  const int j = __builtin_amdgcn_workitem_id_x();
  int t = 0;
  if (j == 0) t = __scoped_atomic_fetch_add(tickets, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  t = __builtin_amdgcn_readfirstlane(t);
  if (t >= 32 && t < 48) return;
  row(a, b, c, n, k, t < 32 ? t : t - 16, j);
  if (t >= 48) row(a, b, c, n, k, t, j);
}
