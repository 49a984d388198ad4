/* start.c - see start.h. */
#include "target/cuda/start.h"

#include <string.h>

int cuda_map_type(const tw_launch_map *m) {
  switch (m->type) {
  case TW_F32: return m->tf32 ? 11 : 7;
  case TW_F16: return 6;
  case TW_BF16: return 9;
  case TW_I32: return 3;
  case TW_I16: return 1;
  default: return 0; /* bytes */
  }
}

int cuda_log(int bytes, int first) {
  int n = 0;
  for (; bytes >= first; bytes /= 2) n++;
  return n;
}

static CUresult encode(const cuda_driver *d, const tw_launch_map *m, CUdeviceptr from, CUtensorMap *out) {
  uint64_t dims[TW_MAP_RANK], strides[TW_MAP_RANK - 1];
  unsigned box[TW_MAP_RANK], steps[TW_MAP_RANK];
  for (int i = 0; i < m->rank; i++) {
    dims[i] = (uint64_t)m->dims[i], box[i] = (unsigned)m->box[i], steps[i] = (unsigned)m->element_strides[i];
    if (i < m->rank - 1) strides[i] = (uint64_t)m->strides[i];
  }
  return d->cuTensorMapEncodeTiled(out, cuda_map_type(m), (unsigned)m->rank, (void *)(uintptr_t)from, dims, strides,
                                   box, steps, 0, cuda_log(m->swizzle, 32), cuda_log(m->l2, 64), m->nan);
}

CUresult cuda_make_arguments(const cuda_driver *d, const tw_launch *l, size_t kernel, const CUdeviceptr operand[],
                             CUdeviceptr workspace, cuda_arguments *out, uint32_t *map) {
  const tw_launch_kernel *k = &l->kernel[kernel];
  CUresult result = 0;
  for (size_t i = 0; !result && i < k->n_arguments; i++) {
    const tw_launch_argument *a = &k->argument[i];
    const int32_t small = (int32_t)a->integer;
    const float real = (float)a->real;
    const CUdeviceptr inside = workspace + (uint64_t)a->integer;
    void *at = out->at[i] = out->value[i];
    switch (a->kind) {
    case TW_LAUNCH_OPERAND: memcpy(at, &operand[a->index], sizeof operand[0]); break;
    case TW_LAUNCH_WORKSPACE: memcpy(at, &inside, sizeof inside); break;
    case TW_LAUNCH_MAP: {
      const tw_launch_map *m = &l->map[a->index];
      *map = (uint32_t)a->index;
      result =
          encode(d, m, m->operand == TW_LAUNCH_NO_OPERAND ? workspace + (uint64_t)m->offset : operand[m->operand], at);
      break;
    }
    case TW_LAUNCH_I32: memcpy(at, &small, sizeof small); break;
    case TW_LAUNCH_I64: memcpy(at, &a->integer, sizeof a->integer); break;
    case TW_LAUNCH_F32: memcpy(at, &real, sizeof real); break;
    case TW_LAUNCH_F64: memcpy(at, &a->real, sizeof a->real); break;
    }
  }
  return result;
}

CUlaunchConfig cuda_make_config(const tw_launch_kernel *k, CUstream stream, bool early,
                                CUlaunchAttribute attribute[CUDA_ATTRIBUTES]) {
  CUlaunchConfig c = {.shared_bytes = (unsigned)k->shared, .stream = stream, .attributes = attribute};
  CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
  for (int d = 0; d < 3; d++) {
    c.grid[d] = (unsigned)k->grid[d];
    c.block[d] = (unsigned)k->block[d];
    cluster.value.cluster[d] = (unsigned)k->cluster[d];
  }
  if (k->clustered) attribute[c.n_attributes++] = cluster;
  if (early && k->overlaps)
    attribute[c.n_attributes++] =
        (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_SERIALIZATION, .value = {.programmatic = 1}};
  return c;
}

CUresult cuda_allow(const cuda_driver *d, const tw_launch_kernel *k, CUfunction f) {
  CUresult result = k->shared ? d->cuFuncSetAttribute(f, CU_FUNCTION_DYNAMIC_SHARED, (int)k->shared) : 0;
  if (!result && k->cluster[0] * k->cluster[1] * k->cluster[2] > 8)
    result = d->cuFuncSetAttribute(f, CU_FUNCTION_ANY_CLUSTER, 1);
  return result;
}
