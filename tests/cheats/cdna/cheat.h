#define GLOBAL __attribute__((address_space(1)))
#define LOCAL __attribute__((address_space(3)))
#define KERNEL __attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(64, 64))) void
#define EXP(x) __builtin_amdgcn_exp2f((x) * 1.44269504f)
