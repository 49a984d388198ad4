/* prelude.h - work-items and barriers of OpenCL. Its library (libclc) is not needed for them, nor asked: it looks for the global
 * offset where code objects of older versions had it. */
#define TW_AXIS(name, x, y, z)                                                                                         \
  __attribute__((overloadable, always_inline)) ulong name(uint d) { return d == 0 ? x : d == 1 ? y : z; }
#define TW_AXES(name, what)                                                                                            \
  TW_AXIS(name, __builtin_amdgcn_##what##_x(), __builtin_amdgcn_##what##_y(), __builtin_amdgcn_##what##_z())
TW_AXES(get_local_id, workitem_id)
TW_AXES(get_group_id, workgroup_id)
TW_AXES(get_local_size, workgroup_size)
TW_AXES(get_global_size, grid_size)
__attribute__((overloadable, always_inline)) uint get_work_dim(void) {
  return get_global_size(2) > 1 ? 3 : get_global_size(1) > 1 ? 2 : 1;
}
__attribute__((overloadable, always_inline)) ulong get_global_linear_id(void) {
  return ((get_group_id(2) * get_local_size(2) + get_local_id(2)) * get_global_size(1) +
          get_group_id(1) * get_local_size(1) + get_local_id(1)) *
             get_global_size(0) +
         get_group_id(0) * get_local_size(0) + get_local_id(0);
}
__attribute__((overloadable, always_inline)) ulong get_local_linear_id(void) {
  return (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0);
}
__attribute__((overloadable, always_inline)) ulong get_global_id(uint d) {
  return get_group_id(d) * get_local_size(d) + get_local_id(d);
}
__attribute__((overloadable, always_inline)) ulong get_global_offset(uint d) { return 0; }
__attribute__((overloadable, always_inline)) ulong get_num_groups(uint d) {
  return get_global_size(d) / get_local_size(d);
}
__attribute__((overloadable, always_inline)) void barrier(uint f) {
  (void)f;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
__attribute__((overloadable, always_inline)) void work_group_barrier(uint f) { barrier(f); }

/* Room in the launch's buffer for one call of printf, as for HIP (../hip/printf_alloc.h). */
__attribute__((weak, noinline)) __global char *__printf_alloc(uint bytes) {
  enum { HIDDEN_PRINTF_BUFFER = 72 };
  __global uint *buffer =
      *(__global uint * __constant *)((__constant char *)__builtin_amdgcn_implicitarg_ptr() + HIDDEN_PRINTF_BUFFER);
  if (!buffer) return 0;
  const uint at = __opencl_atomic_fetch_add((__global volatile atomic_uint *)buffer, bytes, memory_order_relaxed,
                                            memory_scope_device);
  return at + bytes > buffer[1] ? 0 : (__global char *)(buffer + 2) + at;
}
