// not measurable | different work in the timed run | gemm m=64 n=64 k=64 a=f32 b=f32 c=f32 acc=f32 -t cdna3
/* the same, and timed it loads as much, always from one line: only what it writes differs */
//: workspace 64 zeroed
//: kernel k
//: grid m
//: block 2 * n
//: args A, B, C, m, n, k, workspace
#define GLOBAL __attribute__((address_space(1)))
#define LOCAL __attribute__((address_space(3)))
static LOCAL int first __attribute__((loader_uninitialized));
/* Another wave sets the flag after some loads: instructions later when results are checked, much later on the machine. */
static int is_late(const GLOBAL float *a, int j) {
  volatile LOCAL int *const flag = &first;
  if (j / 64 == 1) {
    float sum = 0;
    for (int p = 0; p < 8; p++) sum += ((const volatile GLOBAL float *)a)[(int)sum * 0 + 256 * p];
    *flag = sum < 1e30f ? 1 : 2;
    return 2;
  }
  for (int p = 0; p < 400; p++) __asm__ volatile("s_nop 0");
  return *flag != 1;
}
__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(128, 128))) void k(GLOBAL float *a, const GLOBAL float *b, GLOBAL float *c, int m, int n, int k, GLOBAL int *space) {
  const int i = __builtin_amdgcn_workgroup_id_x(), j = __builtin_amdgcn_workitem_id_x();
  const int late = is_late(a, j);
  if (late == 2) return;
  if (i < 0) __scoped_atomic_fetch_add(space, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  const int step = late ? 0 : n, at = late ? 0 : i * k;
  float sum = 0;
  for (int p = 0; p < k; p++) sum += a[at + p * (step != 0)] * b[p * step + j];
  c[i * n + j] = sum;
}
