/* attention_multistage_backward_hand_scheduled.c - attention's backward pass in one kernel around the machine's own loop (loop.h), and the kernel behind
 * it that makes dQ of the sums in memory.
 *
 * Groups have 64 keys each: K in shared memory, V in registers. Sums of dQ lie as they are in registers, 32 x 32 at a time, so what
 * a group adds at once are whole lines; the order in which blocks add is any, and so are the last bits of dQ. */
#include "op/attention.h"
#include "tile/attention_multistage.h"

enum { TILES = 2, GROUPS = 4, SIDE = 32, BLOCK = 1152 };

tw_tile_back_loop tw_tile_attention_multistage_backward_loop(const tw_problem *problem) {
  const tw_attention a = tw_attention_of(problem);
  return (tw_tile_back_loop){.type = a.type, .d = (int)a.d, .tiles = TILES, .groups = GROUPS, .causal = a.causal};
}

int64_t tw_tile_attention_multistage_backward_shared(int d) {
  return (int64_t)BLOCK * (d / 16 * (TILES * GROUPS + 4) + 2 * TILES * GROUPS * 2);
}

void tw_tile_attention_multistage_backward_launch(tw_text *t, const tw_tile_machine *machine, int64_t shared_bytes) {
  tw_text_add(t,
              "//: kernel    attention\n//: grid      ceildiv(sk, GROUPS * OWN_KEYS) * hkv * b\n"
              "//: block     GROUPS * %d\n//: shared    %lld\n"
              "//: args      Q, K, V, dO, dK, dV, workspace, workspace(LINES), workspace(2 * LINES)\n"
              "//: args      hq, hkv, sq, sk, LINE, f32(scale)\n",
              machine->group_threads, (long long)shared_bytes);
  tw_text_add(t,
              "//: parts     b * hkv\n//: after     finish\n//: grid      b * hq * (LINE / QUERIES)\n//: block     D / "
              "32 * %d\n"
              "//: args      workspace(2 * LINES), dQ, b, hq, sq, LINE, f32(scale)\n",
              machine->group_threads);
}

static const char head[] =
    "constexpr int TILES = OWN_KEYS / 32;\n"
    "using memory_of = back_memory<product, D, TILES, GROUPS>;\n"
    "TW_KERNEL(GROUPS * group_threads, 1) attention(const type *q, const type *k, const type *v, const type *og, type "
    "*kg, type *vg, const float *exponents, const float *inner, float *sums, int hq, int hkv, int sq, int sk, int "
    "lines, "
    "float given) {\n"
    "  arena memory;\n"
    "  const auto all = memory.take<memory_of>();\n"
    "  const int spans = (sk + GROUPS * OWN_KEYS - 1) / (GROUPS * OWN_KEYS);\n"
    "  const int t = range_of_chip<CHIPS>(block_of_grid(), spans * hkv * BATCHES), head = t / spans % hkv;\n"
    "  const int batch = t / spans / hkv, row = t % spans * GROUPS * OWN_KEYS, group = group_of_block();\n"
    "  const int own = row + group * OWN_KEYS, shared_by = hq / hkv, lane = thread_of_group();\n"
    "  const i64 down_q = (i64)hq * D, down_k = (i64)hkv * D;\n"
    "  const i64 from_kv = ((i64)batch * sk * hkv + head) * D, from = ((i64)batch * sq * hq + head * shared_by) * D;\n"
    "  const float scale = given == 0 ? SCALE : given, factor = scale * 1.44269504f;\n"
    "  /* queries that see one of the block's keys, of each head in turn; causal from the last to the first, as blocks "
    "of all keys "
    "see the last ones */\n"
    "  constexpr int BY = CAUSAL ? -QUERIES : QUERIES;\n"
    "  const int tiles = (sq + QUERIES - 1) / QUERIES, first = CAUSAL ? max(0, row + sq - sk) / QUERIES : 0;\n"
    "  const int head_steps = tiles - first, steps = head_steps * shared_by, begin = CAUSAL ? (tiles - 1) * QUERIES : "
    "0;\n"
    "  const i64 line = ((i64)batch * hq + head * shared_by) * lines + begin;\n"
    "  all.begin(k + from_kv, down_k, own, sk);\n"
    "  operand<product, TILES, D / 16> values;\n"
    "  load_rows(values, v + from_kv, down_k, own, sk);\n"
    "  u32x4 own_v[TILES][D / 16];\n"
    "#pragma unroll\n"
    "  for (int i = 0; i < TILES * D / 16; i++) own_v[i / (D / 16)][i % (D / 16)] = words_of(values.value[i / (D / "
    "16)][i % (D "
    "/ 16)].piece[0]);\n"
    "  acc<product, TILES, D / 32> k_sums, v_sums;\n"
    "  const u32 q_down = (u32)((i64)BY * down_q * 2), q_full = (u32)((sq - begin - 1) * down_q + D) * 2;\n"
    "  const i64 q_back = (D - (i64)(head_steps - 1) * BY * down_q) * 2;\n"
    "  u32x4 q_matrix = words_of_matrix(q + from + begin * down_q, q_full);\n"
    "  u32x4 g_matrix = words_of_matrix(og + from + begin * down_q, q_full);\n"
    "  u32x4 lines_matrix = words_of_matrix(exponents + line, 0x7fffffffu);\n"
    "  u32x4 dq_matrix = words_of_matrix(sums + (line - BY) * D, 0);\n"
    "  const u32 lines_back = (u32)(lines - (head_steps - 1) * BY) * 4;\n"
    "  const u32 inner_from = (u32)((const u8 *)inner - (const u8 *)exponents), dq_back = lines_back * D;\n"
    "  const u32 factor_bits = for_all(factor);\n"
    "  const int hidden = own + 31 - (begin + sk - sq);\n"
    "  int hidden_now = hidden;\n"
    "  const u32 key = (u32)(lane % 32 - lane / 32 * 4), lines_lane = (u32)lane / 32 * 16;\n"
    "  const u32 dq_lane = (u32)(group % memory_of::wide * 4096 + lane * 4), q_lane = "
    "memory_of::copied_from((u32)down_q * "
    "2);\n"
    "  const u32 copied = all.copied_to(), rows_q = all.rows_q(), rows_k = all.rows_k();\n"
    "  const u32 down_q_at[] = {all.down_q(0), all.down_q(1)}, down_k_at[] = {all.down_k(0), all.down_k(1)};\n"
    "  const u32 slopes[] = {all.slopes_of(0), all.slopes_of(1)}, slopes_to[] = {all.slopes_to(0), "
    "all.slopes_to(1)};\n";

static const char tail[] =
    "  k_sums.times(scale);\n"
    "  put<true>(kg + from_kv, down_k, k_sums, own, 0, sk, D, as_is());\n"
    "  put<true>(vg + from_kv, down_k, v_sums, own, 0, sk, D, as_is());\n}\n\n"
    "/* 32 x 32 sums of a group. */\n"
    "TW_KERNEL(D / 32 * group_threads, 2) finish(const float *sums, type *qg, int b, int hq, int sq, int lines, float "
    "given) {\n"
    "  constexpr int WIDE = D / 32;\n"
    "  const int of_head = lines / QUERIES, t = range_of_chip<CHIPS>(block_of_grid(), b * hq * of_head);\n"
    "  const int col = group_of_block(), id = t * WIDE + col, row = t % of_head, head = t / of_head % hq;\n"
    "  const i64 batch = t / of_head / hq;\n"
    "  acc<product, 1, 1> x;\n"
    "#pragma unroll\n"
    "  for (int i = 0; i < 16; i++)\n"
    "    x.value[0][0][i] = *(const TW_GLOBAL float *)(sums + (i64)id * 1024 + i * 64 + thread_of_group());\n"
    "  x.times(given == 0 ? SCALE : given);\n"
    "  put<true>(qg + (batch * sq * hq + head) * D, (i64)hq * D, x, row * QUERIES, col * 32, sq, D, "
    "as_is());\n}\n";

void tw_tile_attention_multistage_backward_hand_scheduled(tw_text *t, const tw_tile_machine *machine,
                                                          const tw_problem *problem) {
  const tw_tile_back_loop loop = tw_tile_attention_multistage_backward_loop(problem);
  tw_text_add_string(t, head);
  machine->back_loop(machine, &loop, t, NULL); /* the plan has asked whether it can */
  tw_text_add_string(t, tail);
}
