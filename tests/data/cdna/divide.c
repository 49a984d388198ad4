/* Quotients as the compiler builds them: scaled, refined, scaled back, fixed up. */
#define GLOBAL __attribute__((address_space(1)))
__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(64, 64))) void
divide(GLOBAL const double *a, GLOBAL const double *b, GLOBAL double *c, GLOBAL const float *d, GLOBAL const float *e,
       GLOBAL float *f) {
  const int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  c[i] = a[i] / b[i];
  f[i] = d[i] / e[i];
}
