/* What compilers seldom emit, each instruction with what it left in memory: test_cdna_run has what is right. One wave. */
typedef __attribute__((address_space(1))) int memory_int;
#define T ((int)__builtin_amdgcn_workitem_id_x())
#define KERNEL(name_) __attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(64, 64))) void name_(memory_int *out)
static __attribute__((address_space(3))) int shared[256] __attribute__((loader_uninitialized));

/* out[0] += 5 (old: 7), wrapping increment of out[1], exchange of out[2] and out[3] where out[2] is 11. */
KERNEL(scalar_atomics) {
  int old;
  __asm__ volatile("s_mov_b32 s20, 5\n s_atomic_add s20, %1, 0x0 glc\n s_mov_b32 s21, 3\n s_atomic_inc s21, %1, 0x4\n"
                   "s_mov_b32 s22, 99\n s_mov_b32 s23, 11\n s_atomic_cmpswap s[22:23], %1, 0x8\n"
                   "s_waitcnt lgkmcnt(0)\n s_dcache_wb\n v_mov_b32 %0, s20"
                   : "=v"(old)
                   : "s"(out)
                   : "s20", "s21", "s22", "s23", "memory");
  out[64 + T] = old;
}
KERNEL(clamps) {
  int r[6];
  __asm__ volatile("v_add_u32_e64 %0, -1, %1 clamp" : "=v"(r[0]) : "v"(T));
  __asm__ volatile("v_sub_u32_e64 %0, %1, 10 clamp" : "=v"(r[1]) : "v"(T));
  __asm__ volatile("v_pk_sub_u16 %0, %1, %2 clamp" : "=v"(r[2]) : "v"(T | T << 16), "v"(0x00020003));
  __asm__ volatile("v_pk_add_i16 %0, %1, %2 clamp" : "=v"(r[3]) : "v"(T | T << 16), "v"(0x7ff07fff));
  __asm__ volatile("v_add_i32 %0, %1, %2 clamp" : "=v"(r[4]) : "v"(T), "v"(0x7ffffff0));
  __asm__ volatile("v_add_i32 %0, %1, %2" : "=v"(r[5]) : "v"(T), "v"(0x7ffffff0));
  for (int k = 0; k < 6; k++) out[64 * k + T] = r[k];
}
/* Lane t's cell holds t. */
KERNEL(lds) {
  int r[5];
  shared[T] = T;
  shared[T + 64] = 1000 + T;
  shared[128] = 40;
  __asm__ volatile("s_waitcnt lgkmcnt(0)\n s_mov_b32 m0, 0x02000000\n s_nop 1\n"
                   "ds_wrxchg2st64_rtn_b32 v[60:61], %5, %6, %7 offset1:1\n"
                   "ds_wrap_rtn_b32 %2, %8, %9, %10\n"
                   "ds_append %3\n s_waitcnt lgkmcnt(0)\n s_mov_b32 m0, 0\n s_nop 1\n ds_read_addtid_b32 %4 offset:4\n"
                   "s_waitcnt lgkmcnt(0)\n v_mov_b32 %0, v60\n v_mov_b32 %1, v61"
                   : "=&v"(r[0]), "=&v"(r[1]), "=&v"(r[2]), "=&v"(r[3]), "=&v"(r[4])
                   : "v"(4 * T), "v"(2 * T), "v"(3 * T), "v"(516 + 4 * T), "v"(10), "v"(90)
                   : "v60", "v61", "memory");
  for (int k = 0; k < 5; k++) out[64 * k + T] = r[k];
  out[320 + T] = shared[128];
}
/* Nobody is on at first, in a wave that another workgroup had left with lanes 0 to 7 on; literals of 32 bits for 64. */
KERNEL(nobody) {
  int r[4] = {1, 2, 3, 4};
  __asm__ volatile("s_mov_b64 s[20:21], exec\n s_mov_b64 exec, 0\n v_mov_b32 %0, 9\n s_mov_b64 exec, s[20:21]\n"
                   "s_mov_b64 s[22:23], 0xfffffff0\n v_mov_b32 %1, s23\n"
                   "s_ashr_i64 s[22:23], 0xfffffff0, 4\n v_mov_b32 %2, s23\n"
                   "s_mov_b64 exec, 0xff\n v_mov_b32 %3, 5\n s_mov_b64 exec, s[20:21]"
                   : "+v"(r[0]), "+v"(r[1]), "+v"(r[2]), "+v"(r[3])
                   :
                   : "s20", "s21", "s22", "s23", "scc");
  for (int k = 0; k < 4; k++) out[64 * k + T] = r[k];
}
/* MODE: halves that are rounded up, a NaN that a clamp keeps, skipped LDS; e4m3 of each machine; lanes rotated and reversed. */
KERNEL(modes) {
  int r[6], cell = 4 * T;
  shared[T] = T;
  __asm__ volatile("s_waitcnt lgkmcnt(0)\n s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 2), 1\n v_cvt_f16_f32 %0, %6\n"
                   "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 2), 0\n s_setreg_imm32_b32 hwreg(HW_REG_MODE, 8, 1), 0\n"
                   "v_max_f32 %1, %7, %7 clamp\n s_setreg_imm32_b32 hwreg(HW_REG_MODE, 8, 1), 1\n"
                   "s_mov_b32 s20, 1\n s_setvskip s20, 0\n ds_write_b32 %8, %6\n s_setvskip s20, 1\n"
                   "ds_read_b32 %2, %8\n v_cvt_f32_fp8 %3, 64\n ds_swizzle_b32 %4, %9 offset:swizzle(ROTATE,1,3)\n"
                   "ds_swizzle_b32 %5, %9 offset:swizzle(FFT,0)\n s_waitcnt lgkmcnt(0)"
                   : "=&v"(r[0]), "=&v"(r[1]), "=&v"(r[2]), "=&v"(r[3]), "=&v"(r[4]), "=&v"(r[5])
                   : "v"(1.0f + 0x1p-20f), "v"(__builtin_nanf("")), "v"(cell), "v"(T)
                   : "s20", "memory");
  for (int k = 0; k < 6; k++) out[64 * k + T] = r[k];
}
/* The first workgroup asks memory until the second, which begins after it, has answered. */
KERNEL(relay) {
  volatile memory_int *cell = out;
  if (__builtin_amdgcn_workgroup_id_x()) {
    cell[1] = 42;
    cell[0] = 7;
  } else {
    while (cell[0] != 7) {}
    out[64 + T] = cell[1];
  }
}
KERNEL(alone) {
  while (*(volatile memory_int *)out != 7) {}
}
/* The first wave asks LDS until the second, which runs after it, has answered. */
__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(128, 128))) void handshake(memory_int *out) {
  volatile __attribute__((address_space(3))) int *cell = shared;
  if (T >= 64) {
    cell[1] = 42;
    cell[0] = 7;
  } else {
    while (cell[0] != 7) {}
    out[T] = cell[1];
  }
}
/* 1 times a half that is a denormal (-2^-15 * 1.3...), with denormals of f32 flushed, of halves kept, and of halves flushed; an
 * f32 that is one. */
KERNEL(mixed) {
  float r[3];
  __asm__ volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0\n v_fma_mix_f32 %0, %3, 1.0, 0 op_sel_hi:[1,0,0]\n"
                   "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 6, 2), 0\n v_fma_mix_f32 %1, %3, 1.0, 0 op_sel_hi:[1,0,0]\n"
                   "v_fma_mix_f32 %2, %4, 1.0, 0\n s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 15"
                   : "=&v"(r[0]), "=&v"(r[1]), "=&v"(r[2])
                   : "v"(0x829c), "v"(0x00400000));
  for (int k = 0; k < 3; k++) out[64 * k + T] = __builtin_bit_cast(int, r[k]);
}
/* Each wave reads what the other wrote some instructions ago, and overwrites its own soon after: right where waves are level,
 * as on the machine, without any barrier but the first. */
__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(128, 128))) void level(memory_int *out) {
  int x, own = (int)&shared[T], other = (int)&shared[T ^ 64];
  __asm__ volatile("v_mov_b32 v60, %1\n s_mov_b32 s20, 3\n s_barrier\n"
                   "1: ds_write_b32 %2, v60\n s_waitcnt lgkmcnt(0)\n .rept 20\n v_add_u32 v61, v60, v60\n .endr\n"
                   "ds_read_b32 %0, %3\n s_waitcnt lgkmcnt(0)\n .rept 20\n v_add_u32 v61, v60, v60\n .endr\n"
                   "v_add_u32 v60, 0x80, v60\n s_sub_u32 s20, s20, 1\n s_cmp_lg_u32 s20, 0\n s_cbranch_scc1 1b\n"
                   "ds_write_b32 %2, v60\n s_waitcnt lgkmcnt(0)\n .rept 20\n v_add_u32 v61, v60, v60\n .endr\n"
                   "ds_read_b32 %0, %3\n s_waitcnt lgkmcnt(0)"
                   : "=&v"(x)
                   : "v"(T), "v"(own), "v"(other)
                   : "v60", "v61", "s20", "scc", "memory");
  out[T] = x;
}
