/* vadd.gfx942.co and vadd.gfx950.co are made from this:
 *
 *   clang-22 --target=amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -ffreestanding -O2 -Wl,-s -o vadd.gfx942.co vadd.c */
__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(256, 256))) void
vadd(const __attribute__((address_space(1))) float *a, const __attribute__((address_space(1))) float *b,
     __attribute__((address_space(1))) float *c, int n) {
  const int i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
  if (i < n) c[i] = a[i] + b[i];
}
