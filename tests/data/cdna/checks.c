/* Kernels with one mistake each, and beside each (ok_...) the same without it: test_cdna_checks. A workgroup has 128
 * work-items: two waves. */
typedef __attribute__((address_space(1))) int memory_int;
#define KERNEL(name_)                                                                                                  \
  __attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(128, 128))) void name_(memory_int *out,                    \
                                                                                   const memory_int *in)
#define LDS(name_, n_) static __attribute__((address_space(3))) int name_[n_] __attribute__((loader_uninitialized))
#define T ((int)__builtin_amdgcn_workitem_id_x())
#define G ((int)__builtin_amdgcn_workgroup_id_x())
#define I (128 * G + T)

static void barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

/* ---- LDS: each work-item's address is given ---- */

#define BANKS(name_, ...)                                                                                              \
  KERNEL(name_) {                                                                                                      \
    const int a = in[T];                                                                                               \
    __asm__ volatile("v_mov_b32 v60, 0\n v_mov_b32 v61, 0\n" __VA_ARGS__ "\n s_waitcnt lgkmcnt(0)"                     \
                     :                                                                                                 \
                     : "v"(a)                                                                                          \
                     : "v60", "v61", "v62", "v63");                                                                    \
    out[I] = a;                                                                                                        \
  }
BANKS(ds_read_b64, "ds_read_b64 v[62:63], %0")
BANKS(ds_read_b128, "ds_read_b128 v[60:63], %0")
BANKS(ds_write_b64, "ds_write_b64 %0, v[60:61]")
#ifdef __gfx950__
BANKS(ds_read_b64_tr_b16, "ds_read_b64_tr_b16 v[62:63], %0")
#endif
/* Two lines of memory for a wave's reads of 4 bytes, 64 for its writes, 128 bytes apart. */
KERNEL(lines) {
  out[32 * (T & 3)] = in[T];
}

/* ---- uninitialized ---- */

KERNEL(register_stored) {
  int x;
  __asm__ volatile("v_add_u32 %0, v60, v60" : "=v"(x) : : "v60");
  out[I] = x;
}
KERNEL(ok_register_stored) {
  int x;
  __asm__ volatile("v_mov_b32 v60, 7\n v_add_u32 %0, v60, v60" : "=v"(x) : : "v60");
  out[I] = x;
}
/* What is undefined in v60 does not reach the result: masked, shifted out, not chosen. */
KERNEL(ok_register_masked) {
  int x, y, z;
  __asm__ volatile("v_and_b32 %0, 0, v60" : "=v"(x) : : "v60");
  __asm__ volatile("v_perm_b32 %0, v60, %1, %2" : "=v"(y) : "v"(T), "s"(0x03020100) : "v60");
  __asm__ volatile("s_mov_b64 vcc, 0\n s_nop 1\n v_cndmask_b32 %0, %1, v60, vcc" : "=v"(z) : "v"(T) : "v60", "vcc");
  out[I] = x + y + z;
}
/* The lower half of a sum of 64 bits does not know the upper half of the addend. */
KERNEL(ok_wide_sum) {
  int x;
  __asm__ volatile("v_mov_b32 v60, 3\n v_mad_u64_u32 v[60:61], s[90:91], %1, %1, v[60:61]\n v_mov_b32 %0, v60"
                   : "=v"(x)
                   : "v"(T)
                   : "v60", "v61", "s90", "s91");
  out[I] = x;
}
KERNEL(wide_sum_above) {
  int x;
  __asm__ volatile("v_mov_b32 v60, 3\n v_mad_u64_u32 v[60:61], s[90:91], %1, %1, v[60:61]\n v_mov_b32 %0, v61"
                   : "=v"(x)
                   : "v"(T)
                   : "v60", "v61", "s90", "s91");
  out[I] = x;
}
KERNEL(scalar_branch) {
  int x = in[I];
  __asm__ volatile("s_cmp_eq_u32 s90, 1\n s_cbranch_scc1 1f\n v_mov_b32 %0, 1\n1:" : "+v"(x) : : "s90", "scc");
  out[I] = x;
}
KERNEL(address) {
  __asm__ volatile("v_and_b32 v61, 12, v60\n ds_read_b32 v61, v61\n s_waitcnt lgkmcnt(0)" : : : "v60", "v61");
  out[I] = in[I];
}
LDS(never, 128);
KERNEL(lds_read) { out[I] = never[T]; }
KERNEL(ok_lds_read) {
  never[T] = in[I];
  barrier();
  out[I] = never[127 - T];
}
KERNEL(memory_read) {
  out[I] = out[I] + 1;
}
KERNEL(ok_memory_read) {
  out[I] = in[I];
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
  out[I] = ((volatile memory_int *)out)[I] + 1;
}

/* ---- races ---- */

LDS(shared, 256);
KERNEL(race) {
  shared[T] = in[I];
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  out[I] = shared[T & 63];
}
KERNEL(ok_race) {
  shared[T] = in[I];
  barrier();
  out[I] = shared[127 - T];
}
/* Both waves write the same value to the same place: no doubt about what is there. */
KERNEL(ok_race_to_the_same) {
  shared[T & 63] = 5 * (T & 63);
  barrier();
  out[I] = shared[T & 63];
}
KERNEL(race_to_another) {
  shared[T & 63] = T;
  barrier();
  out[I] = shared[T & 63];
}
/* The barrier is there, but the wave does not wait for its write. */
KERNEL(write_not_waited) {
  const int a = 4 * T, b = 4 * (127 - T);
  int x;
  __asm__ volatile("ds_write_b32 %1, %2\n s_barrier\n ds_read_b32 %0, %3\n s_waitcnt lgkmcnt(0)"
                   : "=&v"(x)
                   : "v"(a), "v"(in[I]), "v"(b)
                   : "memory");
  out[I] = x;
}
KERNEL(ok_write_waited) {
  const int a = 4 * T, b = 4 * (127 - T);
  int x;
  __asm__ volatile("ds_write_b32 %1, %2\n s_waitcnt lgkmcnt(0)\n s_barrier\n ds_read_b32 %0, %3\n s_waitcnt lgkmcnt(0)"
                   : "=&v"(x)
                   : "v"(a), "v"(in[I]), "v"(b)
                   : "memory");
  out[I] = x;
}
/* A wave overwrites what the other has read, with nothing to keep it from doing so before. */
KERNEL(write_after_read) {
  shared[T] = in[I];
  barrier();
  const int x = shared[127 - T];
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  shared[T] = x + 1;
  barrier();
  out[I] = shared[T];
}
KERNEL(ok_write_after_read) {
  shared[T] = in[I];
  barrier();
  const int x = shared[127 - T];
  barrier();
  shared[T] = x + 1;
  barrier();
  out[I] = shared[T];
}
/* Counters: atomics of several waves, and of several kinds, between barriers. */
LDS(counter, 20);
#define COUNT(name_, of_, with_)                                                                                       \
  __scoped_atomic_fetch_##name_(&counter[of_], with_, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP)
#define COUNTERS(barrier_, read_)                                                                                      \
  if (T < 20) counter[T] = 0;                                                                                          \
  barrier();                                                                                                           \
  const int before = COUNT(add, 16, 1);                                                                                \
  COUNT(add, in[I] & 15, 1);                                                                                           \
  COUNT(max, 16, 3);                                                                                                   \
  COUNT(or, 17, T);                                                                                                    \
  barrier_;                                                                                                            \
  out[I] = read_ + (before < 0);
KERNEL(ok_counters) { COUNTERS(barrier(), counter[T & 15] + counter[16] + counter[17]) }
KERNEL(counter_read_early) {
  COUNTERS(__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"), counter[16])
}
/* One wave is late: the other reads what is not there yet, and goes where it says. */
KERNEL(late) {
  if (T >= 64)
    for (int i = 0; i < 100; i++) __builtin_amdgcn_s_sleep(1);
  shared[T] = in[T];
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  out[I] = in[shared[127 - T]];
}
/* Bytes of one dword by two waves. */
LDS(bytes, 64);
KERNEL(ok_bytes) {
  __attribute__((address_space(3))) char *b = (__attribute__((address_space(3))) char *)bytes;
  b[2 * (T & 63) + (T >> 6)] = (char)T;
  barrier();
  out[I] = b[T];
}

/* ---- waits ---- */

KERNEL(load_not_waited) {
  int x;
  __asm__ volatile("global_load_dword v60, %1, off\n v_mov_b32 %0, v60\n s_waitcnt vmcnt(0)"
                   : "=&v"(x)
                   : "v"(in + I)
                   : "v60");
  out[I] = x;
}
KERNEL(ok_load_waited) {
  int x;
  __asm__ volatile("global_load_dword v60, %1, off\n s_waitcnt vmcnt(0)\n v_mov_b32 %0, v60"
                   : "=&v"(x)
                   : "v"(in + I)
                   : "v60");
  out[I] = x;
}
/* 70 loads: the counter holds 63, so seven have ended when the last one has been issued. */
#define LOADS(wait_, use_)                                                                                             \
  int x;                                                                                                               \
  __asm__ volatile(".set r, 60\n .rept 70\n global_load_dword v[r], %1, off\n .set r, r + 1\n .endr\n" wait_           \
                   "v_mov_b32 %0, " use_ "\n s_waitcnt vmcnt(0)"                                                       \
                   : "=&v"(x)                                                                                          \
                   : "v"(in + I)                                                                                       \
                   : "v60", "v66", "v67", "v129");                                                                     \
  out[I] = x;
KERNEL(eighth_of_70) { LOADS("", "v67") }
KERNEL(ok_seventh_of_70) { LOADS("", "v66") }
KERNEL(ok_eighth_of_70) { LOADS("s_waitcnt vmcnt(62)\n", "v67") }
/* Scalar loads end in any order. */
#define SCALARS(wait_)                                                                                                 \
  int x;                                                                                                               \
  __asm__ volatile("s_load_dword s90, %1, 0x0\n s_load_dword s91, %1, 0x4\n s_waitcnt lgkmcnt(" wait_ ")\n"            \
                   "v_mov_b32 %0, s90\n s_waitcnt lgkmcnt(0)"                                                          \
                   : "=&v"(x)                                                                                          \
                   : "s"(in)                                                                                           \
                   : "s90", "s91");                                                                                    \
  out[I] = x;
KERNEL(scalar_not_waited) { SCALARS("1") }
KERNEL(ok_scalar_waited) { SCALARS("0") }
/* A load that goes to LDS raises vmcnt. */
#define DIRECT(wait_)                                                                                                  \
  int x;                                                                                                               \
  __asm__ volatile("s_mov_b32 m0, %3\n s_nop 0\n global_load_lds_dword %1, off\n" wait_                                \
                   "\n ds_read_b32 %0, %2\n s_waitcnt vmcnt(0) lgkmcnt(0)"                                             \
                   : "=&v"(x)                                                                                          \
                   : "v"(in + I), "v"(4 * T), "s"(256 * __builtin_amdgcn_readfirstlane(T >> 6))                        \
                   : "memory");                                                                                  \
  out[I] = x;
KERNEL(direct_not_waited) { DIRECT("") }
KERNEL(ok_direct_waited) { DIRECT("s_waitcnt vmcnt(0)") }

/* ---- hazards ---- */

#define MATRIX(states_)                                                                                                \
  int x;                                                                                                               \
  __asm__ volatile("v_mov_b32 v60, 0\n v_mov_b32 v61, 0\n s_nop 1\n"                                                   \
                   "v_mfma_f32_32x32x8_f16 v[64:79], v[60:61], v[60:61], 0\n" states_ "\n v_mov_b32 %0, v79"           \
                   : "=v"(x)                                                                                           \
                   :                                                                                                   \
                   : "v60", "v61", "v64", "v79");                                                                      \
  out[I] = x;
KERNEL(matrix_too_early) { MATRIX("s_nop 9") }
KERNEL(ok_matrix) { MATRIX("s_nop 11") }
#define LANE(states_)                                                                                                  \
  int x;                                                                                                               \
  __asm__ volatile("v_mov_b32 v60, 3\n v_readfirstlane_b32 s90, v60\n" states_ "\n v_readlane_b32 s91, v60, s90\n"     \
                   "s_nop 4\n v_mov_b32 %0, s91"                                                                       \
                   : "=v"(x)                                                                                           \
                   :                                                                                                   \
                   : "v60", "s90", "s91");                                                                             \
  out[I] = x;
KERNEL(lane_too_early) { LANE("s_nop 1") }
KERNEL(transcendental_too_early) {
  int x;
  __asm__ volatile("v_exp_f32 v60, %1\n v_mov_b32 %0, v60" : "=v"(x) : "v"(T) : "v60");
  out[I] = x;
}
KERNEL(ok_transcendental) {
  int x;
  __asm__ volatile("v_exp_f32 v60, %1\n s_nop 0\n v_mov_b32 %0, v60" : "=v"(x) : "v"(T) : "v60");
  out[I] = x;
}
/* The sum of a division reads VCC late; a branch waits by itself. */
#define AFTER_COMPARE(states_)                                                                                         \
  int x;                                                                                                               \
  __asm__ volatile("v_mov_b32 v60, 1.0\n v_cmp_eq_u32 vcc, %1, %1\n" states_                                           \
                   "v_div_fmas_f32 v60, v60, v60, v60\n v_mov_b32 %0, v60"                                             \
                   : "=v"(x)                                                                                           \
                   : "v"(T)                                                                                            \
                   : "v60", "vcc");                                                                                    \
  out[I] = x;
KERNEL(division_too_early) { AFTER_COMPARE("s_nop 2\n") }
KERNEL(ok_division) { AFTER_COMPARE("s_nop 3\n") }
KERNEL(ok_branch_on_vcc) { AFTER_COMPARE("s_cbranch_vccz 0\n s_nop 2\n") }

/* ---- alignment, barriers, overlaps, defects ---- */

KERNEL(misaligned) {
  int x;
  __asm__ volatile("global_load_dword %0, %1, off offset:2\n s_waitcnt vmcnt(0)" : "=&v"(x) : "v"(in + T));
  out[I] = x;
}
KERNEL(scalar_misaligned) {
  int x;
  const __attribute__((address_space(1))) char *p = (const __attribute__((address_space(1))) char *)in + 2;
  __asm__ volatile("s_load_dword s90, %1, 0x0\n s_waitcnt lgkmcnt(0)\n v_mov_b32 %0, s90" : "=&v"(x) : "s"(p) : "s90");
  out[I] = x;
}
KERNEL(divergent) {
  int x = in[I];
  if (T & 1) {
    __builtin_amdgcn_s_barrier();
    x++;
  }
  out[I] = x;
}
KERNEL(one_wave_at_a_barrier) {
  const int x = in[I];
  if (__builtin_amdgcn_readfirstlane(T) < 64) __builtin_amdgcn_s_barrier();
  out[I] = x;
}
KERNEL(overlap) { out[T] = G; }
KERNEL(ok_overlap) { out[T] = T; }
KERNEL(ok_atomic) { __scoped_atomic_fetch_add(out + T, G, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE); }
KERNEL(defect) {
  int x;
  __asm__ volatile("v_mov_b32 v60, 0\n v_mov_b32 v61, 0\n v_pk_fma_f32 v[60:61], v[60:61], v[60:61], v[60:61] "
                   "op_sel:[0,1,0]\n v_mov_b32 %0, v60"
                   : "=v"(x)
                   :
                   : "v60", "v61");
  out[I] = x;
}

/* ---- bounds: not among the kernels with findings, since it is stopped ---- */

LDS(small, 4);
KERNEL(too_far) {
  int x;
  small[T & 3] = T;
  __asm__ volatile("ds_read_b32 %0, %1\n s_waitcnt lgkmcnt(0)" : "=v"(x) : "v"(4 * T + 60000) : "memory");
  out[1 << 20 | I] = 9;
  out[I] = in[1 << 20 | I] + x + 7;
}
