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
/* 64 words into scalar registers, from any address */
#define LOAD_CONSTANTS(from)                                                                                           \
  __asm__ volatile(                                                                                                    \
      "s_load_dwordx16 s[36:51], %0, 0\n s_load_dwordx16 s[52:67], %0, 64\n"                                           \
      "s_load_dwordx16 s[68:83], %0, 128\n s_load_dwordx16 s[84:99], %0, 192\n s_waitcnt lgkmcnt(0)" ::"s"(from)       \
      : "s36", "s37", "s38", "s39", "s40", "s41", "s42", "s43", "s44", "s45", "s46", "s47", "s48", "s49", "s50",       \
        "s51", "s52", "s53", "s54", "s55", "s56", "s57", "s58", "s59", "s60", "s61", "s62", "s63", "s64", "s65",       \
        "s66", "s67", "s68", "s69", "s70", "s71", "s72", "s73", "s74", "s75", "s76", "s77", "s78", "s79", "s80",       \
        "s81", "s82", "s83", "s84", "s85", "s86", "s87", "s88", "s89", "s90", "s91", "s92", "s93", "s94", "s95",       \
        "s96", "s97", "s98", "s99")
