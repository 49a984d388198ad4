/* 64 reads of LDS, lanes a stride apart, timed by a workgroup of one wave: as amd-shark-ai's docs/empirical-lds measured them.
 * WIDTH (4, 8 or 16 bytes) is defined by who compiles it. */
#define GLOBAL __attribute__((address_space(1)))
#define LOCAL __attribute__((address_space(3)))
#if WIDTH == 4
typedef unsigned type;
#elif WIDTH == 8
typedef unsigned type __attribute__((ext_vector_type(2)));
#else
typedef unsigned type __attribute__((ext_vector_type(4)));
#endif
enum { ITEMS = 63 * 128 / (WIDTH / 4) + 1 };
static LOCAL type array[ITEMS] __attribute__((loader_uninitialized));

#define READ4(n) type v##n##0 = array[at], v##n##1, v##n##2, v##n##3; KEEP; v##n##1 = array[at]; KEEP; v##n##2 = array[at]; \
  KEEP; v##n##3 = array[at]; KEEP;
#define SUM4(n) sum += v##n##0 + v##n##1 + v##n##2 + v##n##3;
#define KEEP __asm__ volatile("" ::: "memory")
#define ALL(X) X(a) X(b) X(c) X(d) X(e) X(f) X(g) X(h) X(i) X(j) X(k) X(l) X(m) X(n) X(o) X(p)

__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(64, 64))) void
lds_reads(GLOBAL unsigned long *elapsed, GLOBAL type *out, int stride) {
  const int lane = __builtin_amdgcn_workitem_id_x(), place = __builtin_amdgcn_workgroup_id_x() * 64 + lane;
  for (int i = lane; i < ITEMS; i += 64) array[i] = (type)1;
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  __builtin_amdgcn_s_barrier();
  const int at = lane * stride / WIDTH;
  type sum = 0;
  const unsigned long start = __builtin_readcyclecounter();
  ALL(READ4)
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  __builtin_amdgcn_s_barrier();
  const unsigned long stop = __builtin_readcyclecounter();
  elapsed[place] = stop - start;
  ALL(SUM4)
  out[place] = sum;
}
