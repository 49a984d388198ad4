// Attention with register tiles: each of four waves has 32 queries; all go through the keys, 32 at a time.
// build/tilewright run examples/tiles/attention_cdna.hip attention b=1 hq=2 hkv=1 sq=200 sk=300 d=128 a=bf16 -t cdna4
//: kernel    attention
//: let       D = d, KEYS = 32, QUERIES = 32, WAVES = 4
//: require   a == bf16 && causal == 0 && (d == 64 || d == 128)
//: grid      ceildiv(sq, WAVES * QUERIES), hq, b
//: block     WAVES * 64
//: shared    2 * KEYS * D * 2
//: args      Q, K, V, O, LSE, hq, hkv, sq, sk, f32(scale)
#include "tile.hpp"
using namespace tw;
using keys = shared<bf16, KEYS, D>;

TW_KERNEL(WAVES * 64, 1)
attention(const bf16 *q, const bf16 *k, const bf16 *v, bf16 *o, float *lse, int hq, int hkv, int sq, int sk, float scale) {
  const int head = (int)__builtin_amdgcn_workgroup_id_y(), batch = (int)__builtin_amdgcn_workgroup_id_z();
  const int own = (block_of_grid() * WAVES + group_of_block()) * QUERIES;
  const i64 of_q = ((i64)batch * sq * hq + head) * D, of_k = ((i64)batch * sk * hkv + head / (hq / hkv)) * D;
  const float factor = (scale == 0 ? __builtin_sqrtf(1.f / D) : scale) * 1.44269504f;
  arena memory;
  const keys ks = memory.take<keys>(), vs = memory.take<keys>();
  copier_across<keys, WAVES> from_k(k + of_k, (i64)hkv * D, 0, D, sk), from_v(v + of_k, (i64)hkv * D, 0, D, sk);

  rt_bf<QUERIES, D> queries;
  rt_fl<QUERIES, D> sums;
  rt_fl<QUERIES, KEYS>::col_vec most, before, total, sum;
  load(queries, matrix_of<const bf16>{q + of_q, (i64)hq * D, sq, D}, own, 0);
  zero(sums);
  zero(total);
  neg_infty(most);
  for (int first = 0; first < sk; first += KEYS) {
    from_k.load(first);
    from_v.load(first);
    sync_block();
    from_k.lay(ks);
    from_v.lay(vs);
    sync_block();

    rt_bf<KEYS, D> right;
    rt_fl<QUERIES, KEYS> scores;
    load_shared(right, ks, 0, 0);
    zero(scores);
    mma_ABt(scores, queries, right, scores);
    mul(scores, scores, factor);
    right_fill(scores, scores, sk - first, -infinity());

    copy(before, most);
    row_max(most, scores, before);
    sub_row(scores, scores, most);
    exp2(scores, scores);
    sub(before, before, most);
    exp2(before, before); /* what earlier weights are worth now */
    row_sum(sum, scores);
    mul(total, total, before);
    add(total, total, sum);
    mul_row(sums, sums, before);

    rt_bf<QUERIES, KEYS> weights;
    rt_bf<KEYS, D, col_l> values;
    copy(weights, scores);
    load_shared(values, vs, 0, 0);
    mma_AB(sums, weights, values, sums);
  }
  div_row(sums, sums, total);
  store(matrix_of<bf16>{o + of_q, (i64)hq * D, sq, D}, sums, own, 0);
  for (int i = 0; i < QUERIES / 16; i++) {
    const int query = own + i * 16 + thread_of_group() % 16;
    if (thread_of_group() < 16 && query < sq)
      lse[((i64)batch * hq + head) * sq + query] = (most.value[i] + log2_fast(total.value[i])) * 0.69314718f;
  }
}
