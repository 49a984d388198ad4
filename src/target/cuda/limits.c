/* limits.c - the limits of a machine for a launch, and the number of its blocks that one multiprocessor holds.
 *
 * CUDA C++ Programming Guide 13.0, chapter 20, and the notes of cuTensorMapEncodeTiled. The driver rejects such
 * launches with "invalid value"; here the error names the number. */
#include <inttypes.h>

#include "base/integers.h"
#include "target/cuda/build.h"

enum { BLOCK_THREADS = 1024, GRID_YZ = 65535, WARP = 32, BLOCKS_MAX = 32, REGISTER_UNIT = 256, SYSTEM_SHARED = 1024 };
enum { CLUSTER_MAX = 16 }; /* 8 blocks work on every machine; more need an attribute */

static tw_status check_map(const tw_launch_map *m, const cuda_config *c, tw_error *error) {
  const int64_t inner = m->box[0] * tw_type_bits(m->type) / 8;
  if (c->cluster == 1)
    return tw_fail(error, TW_FAILED, "map %s: %s has no tensor maps; they require sm_90", m->name, c->name);
  if (inner % 16)
    return tw_fail(error, TW_FAILED,
                   "map %s: the innermost extent of its box has %" PRId64 " bytes; expected a multiple of 16", m->name,
                   inner);
  if (m->swizzle && inner > m->swizzle)
    return tw_fail(error, TW_FAILED,
                   "map %s: the innermost extent of its box has %" PRId64 " bytes, which exceeds swizzle(%d)", m->name,
                   inner, m->swizzle);
  for (int d = 0; d < m->rank - 1; d++)
    if (m->strides[d] % 16)
      return tw_fail(error, TW_FAILED,
                     "map %s: rows of its operand are %" PRId64
                     " bytes apart (pitch); expected a multiple of 16, or copy without a map",
                     m->name, m->strides[d]);
  return TW_OK;
}

static tw_status check_kernel(const cuda_config *c, const tw_launch_kernel *l, tw_error *error) {
  const int64_t threads = l->block[0] * l->block[1] * l->block[2],
                blocks = l->cluster[0] * l->cluster[1] * l->cluster[2];
  if (l->block[0] > BLOCK_THREADS || l->block[1] > BLOCK_THREADS || l->block[2] > 64 || threads > BLOCK_THREADS)
    return tw_fail(error, TW_FAILED, "a block has at most %d threads (64 in z), not %" PRId64, BLOCK_THREADS, threads);
  for (int d = 1; d < 3; d++)
    if (l->grid[d] > GRID_YZ)
      return tw_fail(error, TW_FAILED, "a grid has at most %d blocks in y and z, not %" PRId64, GRID_YZ, l->grid[d]);
  if (blocks > 1 && c->cluster == 1)
    return tw_fail(error, TW_FAILED, "%s has no clusters; they require sm_90", c->name);
  if (blocks > CLUSTER_MAX)
    return tw_fail(error, TW_FAILED, "a cluster has at most %d blocks, not %" PRId64, CLUSTER_MAX, blocks);
  if (l->shared > c->shared_block)
    return tw_fail(error, TW_FAILED,
                   "the kernel needs %" PRId64 " bytes of shared memory; a block has %" PRId64 " on %s", l->shared,
                   c->shared_block, c->name);
  return TW_OK;
}

tw_status cuda_launch_check(const cuda_config *c, const tw_launch *l, tw_error *error) {
  if (l->n_options)
    return tw_fail(error, TW_FAILED, "%s has no option '%s' of 'compile' lines; remove it from the header", c->name,
                   l->option[0].name);
  for (size_t i = 0; i < l->n_kernels; i++) {
    const tw_status status = check_kernel(c, &l->kernel[i], error);
    if (status != TW_OK) return status;
  }
  for (size_t i = 0; i < l->n_maps; i++) {
    const tw_status status = check_map(&l->map[i], c, error);
    if (status != TW_OK) return status;
  }
  return TW_OK;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

int cuda_occupancy(const cuda_config *c, const cuda_kernel *k) {
  const tw_launch_kernel *l = tw_launch_main(&k->launch);
  const int64_t warps = (l->block[0] * l->block[1] * l->block[2] + WARP - 1) / WARP;
  const int64_t shared = k->resources[k->launch.main].shared + l->shared + SYSTEM_SHARED;
  const int64_t registers = tw_round_up((int64_t)k->resources[k->launch.main].registers * WARP, REGISTER_UNIT) * warps;
  int64_t blocks = least(BLOCKS_MAX, c->threads / (warps * WARP));
  blocks = least(blocks, c->shared_multiprocessor / shared);
  if (registers) blocks = least(blocks, c->registers / registers);
  return (int)blocks;
}
