// Gradients of attention with register tiles. First, each of four waves has 32 queries and goes through the keys: dQ, and the
// inner products of the rows of dO and O. Then each wave has 32 keys and goes through the queries of all heads that share them.
// build/tilewright run examples/tiles/attention_backward_cdna.hip attention pass=backward b=1 hq=2 hkv=1 sq=200 sk=300 d=128 a=bf16 -t cdna4
//: let       D = d, OWN = 32, SIDE = 32, WAVES = 4
//: require   a == bf16 && causal == 0 && (d == 64 || d == 128)
//: workspace 4 * b * hq * sq
//: before    queries
//: grid      ceildiv(sq, WAVES * OWN), hq, b
//: block     WAVES * 64
//: shared    2 * SIDE * D * 2
//: args      Q, K, V, O, dO, LSE, dQ, workspace, hq, hkv, sq, sk, f32(scale)
//: kernel    keys
//: grid      ceildiv(sk, WAVES * OWN), hkv, b
//: block     WAVES * 64
//: shared    2 * SIDE * D * 2
//: args      Q, K, V, dO, LSE, workspace, dK, dV, hq, hkv, sq, sk, f32(scale)
#include "tile.hpp"
using namespace tw;
using tile = shared<bf16, SIDE, D, xor_bits<11, 8, 5>>; /* neighbouring rows are in other banks */
using copies = copier_across<tile, WAVES>;
using scores_tile = rt_fl<OWN, SIDE>;
constexpr float LOG2_E = 1.44269504f;

TW_FN float scale_of(float given) { return given == 0 ? __builtin_sqrtf(1.f / D) : given; }
/* Numbers of queries from `first` on: of a tile's rows, and of its columns. There are `count`; 0 after them. */
TW_FN void read(scores_tile::col_vec &to, const float *from, int first, int count) {
  for (int i = 0; i < OWN / 16; i++) {
    const int query = first + i * 16 + thread_of_group() % 16;
    to.value[i] = query < count ? from[query] : 0;
  }
}
TW_FN void read(scores_tile::row_vec &to, const float *from, int first, int count) {
  for (int j = 0; j < SIDE / 16; j++)
    for (int e = 0; e < 4; e++) {
      const int query = first + j * 16 + thread_of_group() / 16 * 4 + e;
      to.value[j][e] = query < count ? from[query] : 0;
    }
}

TW_KERNEL(WAVES * 64, 1)
queries(const bf16 *q, const bf16 *k, const bf16 *v, const bf16 *o, const bf16 *og, const float *lse, bf16 *qg, float *inner,
        int hq, int hkv, int sq, int sk, float scale) {
  const int head = (int)__builtin_amdgcn_workgroup_id_y(), batch = (int)__builtin_amdgcn_workgroup_id_z();
  const int own = (block_of_grid() * WAVES + group_of_block()) * OWN;
  const i64 of_q = ((i64)batch * sq * hq + head) * D, of_k = ((i64)batch * sk * hkv + head / (hq / hkv)) * D;
  const i64 line = ((i64)batch * hq + head) * sq, ld = (i64)hq * D;
  arena memory;
  const tile ks = memory.take<tile>(), vs = memory.take<tile>();
  copies from_k(k + of_k, (i64)hkv * D, 0, D, sk), from_v(v + of_k, (i64)hkv * D, 0, D, sk);

  rt_bf<OWN, D> own_q, own_og, own_o;
  load(own_q, matrix_of<const bf16>{q + of_q, ld, sq, D}, own, 0);
  load(own_og, matrix_of<const bf16>{og + of_q, ld, sq, D}, own, 0);
  load(own_o, matrix_of<const bf16>{o + of_q, ld, sq, D}, own, 0);
  scores_tile::col_vec exponent, delta;
  read(exponent, lse + line, own, sq);
  mul(exponent, exponent, LOG2_E);
  rt_fl<OWN, D> products, other;
  copy(products, own_o);
  copy(other, own_og);
  mul(products, products, other);
  row_sum(delta, products);
  for (int i = 0; i < OWN / 16; i++) {
    const int query = own + i * 16 + thread_of_group() % 16;
    if (thread_of_group() < 16 && query < sq) inner[line + query] = delta.value[i];
  }

  rt_fl<OWN, D> sums;
  zero(sums);
  for (int first = 0; first < sk; first += SIDE) {
    from_k.load(first);
    from_v.load(first);
    sync_block();
    from_k.lay(ks);
    from_v.lay(vs);
    sync_block();

    rt_bf<SIDE, D> right;
    scores_tile weights, changes;
    zero(weights);
    zero(changes);
    load_shared(right, ks, 0, 0);
    mma_ABt(weights, own_q, right, weights);
    load_shared(right, vs, 0, 0);
    mma_ABt(changes, own_og, right, changes);

    mul(weights, weights, scale_of(scale) * LOG2_E);
    sub_row(weights, weights, exponent);
    right_fill(weights, weights, sk - first, -infinity());
    exp2(weights, weights);
    sub_row(changes, changes, delta);
    mul(changes, changes, weights);

    rt_bf<OWN, SIDE> rounded;
    rt_bf<SIDE, D, col_l> down;
    copy(rounded, changes);
    load_shared(down, ks, 0, 0);
    mma_AB(sums, rounded, down, sums);
  }
  mul(sums, sums, scale_of(scale));
  store(matrix_of<bf16>{qg + of_q, ld, sq, D}, sums, own, 0);
}

TW_KERNEL(WAVES * 64, 1)
keys(const bf16 *q, const bf16 *k, const bf16 *v, const bf16 *og, const float *lse, const float *inner, bf16 *kg, bf16 *vg, int hq,
     int hkv, int sq, int sk, float scale) {
  const int head = (int)__builtin_amdgcn_workgroup_id_y(), batch = (int)__builtin_amdgcn_workgroup_id_z();
  const int own = (block_of_grid() * WAVES + group_of_block()) * OWN, shared_by = hq / hkv;
  const i64 of_k = ((i64)batch * sk * hkv + head) * D, ld = (i64)hkv * D;
  arena memory;
  const tile qs = memory.take<tile>(), ogs = memory.take<tile>();

  rt_bf<OWN, D> own_k, own_v;
  rt_fl<OWN, D> k_sums, v_sums;
  load(own_k, matrix_of<const bf16>{k + of_k, ld, sk, D}, own, 0);
  load(own_v, matrix_of<const bf16>{v + of_k, ld, sk, D}, own, 0);
  zero(k_sums);
  zero(v_sums);
  for (int of = head * shared_by; of < (head + 1) * shared_by; of++) {
    const i64 of_q = ((i64)batch * sq * hq + of) * D, line = ((i64)batch * hq + of) * sq;
    copies from_q(q + of_q, (i64)hq * D, 0, D, sq), from_og(og + of_q, (i64)hq * D, 0, D, sq);
    for (int first = 0; first < sq; first += SIDE) {
      scores_tile::row_vec exponent, delta;
      from_q.load(first);
      from_og.load(first);
      read(exponent, lse + line, first, sq);
      read(delta, inner + line, first, sq);
      sync_block();
      from_q.lay(qs);
      from_og.lay(ogs);
      sync_block();

      /* Transposed: a row for each key. Queries after the last have rows of zeros, so they add nothing. */
      rt_bf<SIDE, D> right;
      scores_tile weights, changes;
      zero(weights);
      zero(changes);
      load_shared(right, qs, 0, 0);
      mma_ABt(weights, own_k, right, weights);
      load_shared(right, ogs, 0, 0);
      mma_ABt(changes, own_v, right, changes);

      mul(weights, weights, scale_of(scale) * LOG2_E);
      mul(exponent, exponent, LOG2_E);
      sub_col(weights, weights, exponent);
      exp2(weights, weights);
      sub_col(changes, changes, delta);
      mul(changes, changes, weights);

      rt_bf<OWN, SIDE> rounded;
      rt_bf<SIDE, D, col_l> down;
      copy(rounded, weights);
      load_shared(down, ogs, 0, 0);
      mma_AB(v_sums, rounded, down, v_sums);
      copy(rounded, changes);
      load_shared(down, qs, 0, 0);
      mma_AB(k_sums, rounded, down, k_sums);
    }
  }
  mul(k_sums, k_sums, scale_of(scale));
  store(matrix_of<bf16>{kg + of_k, ld, sk, D}, k_sums, own, 0);
  store(matrix_of<bf16>{vg + of_k, ld, sk, D}, v_sums, own, 0);
}
