#define GLOBAL __attribute__((address_space(1)))
#define LOCAL __attribute__((address_space(3)))
#define KERNEL __attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(64, 64))) void
#define HELPER static
#define BLOCK __builtin_amdgcn_workgroup_id_x()
#define THREAD __builtin_amdgcn_workitem_id_x()
#define EXP(x) __builtin_amdgcn_exp2f((x)*1.44269504f)
#define LOG(x) (__builtin_amdgcn_logf(x) * 0.69314718f)
#define SQRT __builtin_sqrtf
#define FABS __builtin_fabsf
#define FLOOR __builtin_floorf
#define AS_FLOAT(x) __builtin_bit_cast(float, x)
#define AS_INT(x) __builtin_bit_cast(int, x)
