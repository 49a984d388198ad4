/* gemm_multistage.c - writes a GEMM kernel of tiles whose groups are alike; gemm_multistage.h has its structure.
 *
 * Step s multiplies the tiles of stage s % STAGES while those of step s + STAGES - 1 arrive. One barrier a step does for both
 * that the tiles are there, as each group waits for its own copies before it, and that nobody reads the stage any more that
 * is written behind it. Copies beyond the last step read nothing; so a wait counts the same copies in every step. */
#include "tile/gemm_multistage.h"

#include <stdio.h>

#include "base/strings.h"
#include "tile/gemm_epilogue.h"

typedef struct writer {
  const tw_tile_machine *machine;
  tw_gemm g;
  tw_tile_multistage_plan p;
  tw_text text;
} writer;

static bool direct(const writer *w, char name) { return (name == 'a' ? w->p.way_a : w->p.way_b) == TW_TILE_DIRECT; }
static bool held(const writer *w, char name) { return (name == 'a' ? w->p.way_a : w->p.way_b) == TW_TILE_REGISTERS; }
static bool copies(const writer *w, char name) { return (name == 'a' ? w->p.way_a : w->p.way_b) != TW_TILE_ELEMENTS; }

static bool by_blocks(const writer *w) { return w->g.scales == TW_GEMM_SCALES_BLOCK; }
static bool across(const writer *w, char name) { return name == 'a' ? w->p.across_a : w->p.across_b; }

/* Groups of a block, and those that copy. */
static const char *threads_of(const writer *w) { return w->p.producers ? "(GROUPS + PRODUCERS)" : "GROUPS"; }
static const char *copying(const writer *w) { return w->p.producers ? "PRODUCERS" : "GROUPS"; }

/* The first column of a step. */
static const char *first_step(const writer *w, const char *step) {
  if (w->p.split > 1) return *step == 's' ? "(begin + s) * BK" : "(begin + s + STAGES - 1) * BK";
  return *step == 's' ? "s * BK" : "(s + STAGES - 1) * BK";
}

static void write_launch(writer *w) {
  const tw_tile_multistage_plan *p = &w->p;
  tw_text *t = &w->text;
  tw_text_add(t, "//: kernel    gemm\n//: let       BM = %d, BN = %d, BK = %d, STAGES = %d\n", p->m, p->n, p->k,
              p->stages);
  tw_text_add(t, "//: let       GROUPS_M = %d, GROUPS_N = %d, GROUPS = GROUPS_M * GROUPS_N\n", p->groups_m,
              p->groups_n);
  if (!p->tail) tw_text_add(t, "//: require   k %% BK == 0\n");
  if (p->producers) tw_text_add(t, "//: let       PRODUCERS = %d\n", p->producers);
  if (p->held) tw_text_add(t, "//: let       HELD = %d\n", p->held);
  if (p->split > 1) tw_text_add(t, "//: let       SPLIT = %d\n//: workspace SPLIT * m * n * 4\n", p->split);
  tw_text_add(t, "//: grid      ceildiv(m, BM) * ceildiv(n, BN)%s\n//: block     %s * %d\n//: shared    %lld\n",
              p->split > 1 ? " * SPLIT" : "", threads_of(w), w->machine->group_threads, (long long)p->shared_bytes);
  tw_text_add(t, "//: args      A, B, %s, m, n, k, lda, ldb, %s", p->split > 1 ? "workspace" : "C",
              p->split > 1 ? "n" : "ldc");
  if (p->split == 1) tw_tile_result_arguments(t, &w->g);
  if (p->split > 1) {
    tw_text_add(t, by_blocks(w) ? ", SA, SB\n" : "\n");
    tw_tile_parts_launch(t, &w->g, 0);
  }
  tw_text_add(t, "\n");
}

static void write_tile_type(writer *w, char name, int rows) {
  char swizzle[TW_TILE_SWIZZLE] = "plain";
  const tw_type type = name == 'a' ? w->g.a : w->g.b;
  const bool halves = w->p.turns;
  const char *side = name == 'a' ? halves ? "BM / 2" : "BM" : halves ? "BN / 2" : "BN";
  const int size = tw_type_bits(type) / 8;
  const tw_tile_access access = {.rows = across(w, name) ? w->p.k : rows,
                                 .row_bytes = (across(w, name) ? rows : w->p.k) * size,
                                 .side = w->p.side,
                                 .element_bytes = size,
                                 .across = across(w, name)};
  if (!w->p.straight) w->machine->swizzle(w->machine, &access, swizzle);
  tw_text_add(&w->text, "using %c_tile = shared<%s, %s, %s, %s>;\n", name, tw_tile_type_word(type),
              across(w, name) ? "BK" : side, across(w, name) ? side : "BK", swizzle);
}

/* `half`: of the two halves of a tile that have copiers of their own, or "". */
static void write_copier(writer *w, char name, const char *half, const char *first) {
  const char *have = name == 'a' ? "m" : "n", *tail = w->p.tail ? "true" : "false";
  if (copies(w, name) && across(w, name))
    tw_text_add(&w->text, "  copier_across<%c_tile, %s> from_%c%s(%c, ld%c, %s, %s, k%s);\n", name, copying(w), name,
                half, name, name, first, have, w->p.producers ? ", GROUPS" : "");
  else if (copies(w, name))
    tw_text_add(&w->text, "  copier<%c_tile, %s, %s> from_%c%s(%c, ld%c, %s, %s, k%s);\n", name, copying(w), tail, name,
                half, name, name, first, have, w->p.producers ? ", GROUPS" : "");
}

/* An operand that is copied element by element, all at once. */
static void write_elements(writer *w, char name, const char *in, const char *stage, const char *at) {
  const bool is_a = name == 'a', right = is_a ? !w->g.a_transposed : w->g.b_transposed;
  tw_text_add(&w->text, "%scopy_by_groups<GROUPS>(%cs[%s], %c, %s%s%s, %s, %s, %s, k);\n", in, name, stage, name,
              right ? "ld" : "1, ld", is_a ? "a" : "b", right ? ", 1" : "", is_a ? "row" : "col", at, is_a ? "m" : "n");
}

/* Begins to fill a stage with the tiles from column `at` on. */
static void write_begin(writer *w, const char *in, const char *stage, const char *at) {
  for (int name = 'a'; name <= 'b'; name++) {
    if (direct(w, name)) tw_text_add(&w->text, "%sfrom_%c.copy(%cs[%s], %s);\n", in, name, name, stage, at);
    if (held(w, name)) tw_text_add(&w->text, "%sfrom_%c.load(%s);\n", in, name, at);
  }
}

/* What is not on its way by itself. */
static void write_end(writer *w, const char *in, const char *stage, const char *at) {
  for (int name = 'a'; name <= 'b'; name++) {
    if (held(w, name)) tw_text_add(&w->text, "%sfrom_%c.lay(%cs[%s]);\n", in, name, name, stage);
    if (!copies(w, name)) write_elements(w, name, in, stage, at);
  }
}

static void write_wait(writer *w, const char *in, int stages_under_way) {
  const bool a = direct(w, 'a'), b = direct(w, 'b');
  if (!a && !b) return;
  if (stages_under_way == 0)
    tw_text_add(&w->text, "%scopies_wait<0>();\n", in);
  else
    tw_text_add(&w->text, "%scopies_wait<%d * (%s%s%s%s%s%s%s)>();\n", in, stages_under_way,
                a ? "copies_of<a_tile, " : "", a ? copying(w) : "", a ? ">" : "", a && b ? " + " : "",
                b ? "copies_of<b_tile, " : "", b ? copying(w) : "", b ? ">" : "");
}

static void write_products(writer *w) {
  const char *steps = by_blocks(w) ? "BLOCK" : "1", *times = by_blocks(w) ? " * BLOCK" : "";
  tw_text_add(&w->text,
              "#pragma unroll\n    for (int q = 0; q < BK / product::deep / %s; q++) {\n"
              "      operand<product, ROWS / product::side, %s> left;\n"
              "      operand<product, COLS / product::side, %s> right;\n"
              "      load%s(left, as[slot], own_row, q%s);\n      load%s(right, bs[slot], own_col, q%s);\n",
              steps, steps, steps, w->p.across_a ? "_across" : "", times, w->p.across_b ? "_across" : "", times);
  tw_text_add(&w->text, by_blocks(w)
                            ? "      mma_abt_scaled(sums, left, right, scales.a[q][0], scales.b[q][0]);\n    }\n"
                            : "      mma_abt(sums, left, right);\n    }\n");
  if (w->p.interleave)
    tw_text_add(&w->text,
                "    spread<BK / product::deep * ROWS / product::side, 1 + COLS / ROWS, COLS / product::side, "
                "copies_of<a_tile, GROUPS> + copies_of<b_tile, GROUPS>>();\n");
}

/* Scales of blocks of k, of the group's part of C or of its halves: they are loaded a step before they are used, and before
 * that step's copies, as what is waited for is waited for in order. */
static void write_scales(writer *w) {
  const tw_gemm *g = &w->g;
  const bool halves = w->p.turns;
  tw_text_add(&w->text,
              "  constexpr int HALVES = %d;\n  const int blocks = (k%s + 127) / 128, across = (n + 127) / 128;\n"
              "  struct {\n    row_scales<product, ROWS / HALVES / product::side> a[BK / 128][HALVES];\n"
              "    float b[BK / 128][HALVES];\n  } scales, later;\n"
              "  const auto scales_of = [&](int s) {\n#pragma unroll\n    for (int q = 0; q < BK / 128; q++)\n"
              "#pragma unroll\n      for (int h = 0; h < HALVES; h++) {\n"
              "        const int block = (%ss) * (BK / 128) + q, last = (col + h * (BN / 2) + own_col) / 128;\n"
              "        later.a[q][h].load(SA, row + h * (BM / 2) + own_row, m, %s, blocks, block);\n"
              "        later.b[q][h] = by_lanes(SB, blocks * across, %s);\n      }\n  };\n"
              "  scales_of(0);\n  scales = later;\n",
              halves ? 2 : 1, w->p.split > 1 ? "_all" : "", w->p.split > 1 ? "begin + " : "",
              g->a_transposed ? "1, m" : "blocks, 1",
              g->b_transposed ? "last * blocks + block" : "block * across + last");
}

static void write_next(writer *w) {
  tw_text_add(&w->text,
              "    slot = slot + 1 == STAGES ? 0 : slot + 1;\n    next = next + 1 == STAGES ? 0 : next + 1;\n");
}

/* ---- turns ----
 *
 * HipKittens' ping-pong: groups of the second half are a turn behind, so they read and copy while those of the first multiply.
 * Each group has a part of all four quarters of the block's tile of C, one or two of them a turn. A half tile is copied for the
 * step after the next as soon as all have read it: those behind have waited for their reads of it before those ahead begin
 * the copy, in the turn after the next by their products, in the next by a wait at the end of their turn. */

typedef struct turn {
  const char *reads;  /* halves, in order: "b0 a0" */
  const char *copies; /* halves that are copied meanwhile; those of the next step are marked: "a1+" */
  const char *left;   /* reads that may be under way when it ends; NULL: any */
  int first, n;       /* quarters that it multiplies: 0 1 of A's half 0, 2 3 of its half 1 */
} turn;

static void write_half_read(writer *w, char name, char half) {
  const bool is_a = name == 'a';
  tw_text_add(&w->text, "    load%s(%s, %cs[2 * slot + %c], own_%s, 0);\n", across(w, name) ? "_across" : "",
              is_a          ? "left"
              : half == '0' ? "right[0]"
                            : "right[1]",
              name, half, is_a ? "row" : "col");
}

static void write_half_copy(writer *w, char name, char half, bool is_next) {
  tw_text_add(&w->text, "    from_%c%c.copy(%cs[2 * %s + %c], (%ss + %d) * BK);\n", name, half, name,
              is_next ? "(slot ^ 1)" : "slot", half, w->p.split > 1 ? "begin + " : "", is_next ? 1 : 2);
}

static void write_turn(writer *w, const turn *u, bool is_last) {
  tw_text *t = &w->text;
  for (const char *c = u->reads; *c; c += 2) write_half_read(w, c[0], c[1]);
  for (const char *c = u->copies; *c; c += c[2] == '+' ? 3 : 2) write_half_copy(w, c[0], c[1], c[2] == '+');
  if (u->left) tw_text_add(t, "    reads_wait<%s>();\n", u->left);
  if (is_last) tw_text_add(t, "    copies_wait<2 * copies_of<b_tile, GROUPS> + copies_of<a_tile, GROUPS>>();\n");
  tw_text_add(t, "    end_turn();\n    priority<1>();\n");
  for (int i = u->first; i < u->first + u->n; i++)
    if (by_blocks(w))
      tw_text_add(t, "    mma_abt_scaled(sums[%d][%d], left, right[%d], scales.a[0][%d], scales.b[0][%d]);\n", i / 2,
                  i % 2, i % 2, i / 2, i % 2);
    else
      tw_text_add(t, "    mma_abt(sums[%d][%d], left, right[%d]);\n", i / 2, i % 2, i % 2);
  tw_text_add(t, "    priority<0>();\n    end_turn();\n");
}

static void write_turns(writer *w) {
  static const turn four[] = {{"b0a0", "a1+", "reads_of<decltype(left)>", 0, 1},
                              {"b1", "b0", NULL, 1, 1},
                              {"a1", "a0", NULL, 2, 1},
                              {"", "b1", NULL, 3, 1}};
  static const turn two[] = {{"b0b1a0", "a1+", "0", 0, 2}, {"a1", "b0a0b1", NULL, 2, 2}};
  const turn *turns = w->p.turns == 4 ? four : two;
  tw_text *t = &w->text;
  const char *begin = w->p.split > 1 ? "(begin + s)" : "s";
  tw_text_add(
      t,
      "  for (int s = 0; s < 2; s++) {\n    from_b0.copy(bs[2 * s], %s * BK);\n    from_a0.copy(as[2 * s], %s * BK);\n"
      "    from_b1.copy(bs[2 * s + 1], %s * BK);\n    if (s == 0) from_a1.copy(as[1], %s * BK);\n  }\n",
      begin, begin, begin, begin);
  tw_text_add(t, "  copies_wait<2 * copies_of<b_tile, GROUPS> + copies_of<a_tile, GROUPS>>();\n"
                 "  const bool behind = group >= GROUPS / 2;\n  end_turn();\n  if (behind) end_turn();\n"
                 "  operand<product, ROWS / 2 / product::side, BK / product::deep> left;\n"
                 "  operand<product, COLS / 2 / product::side, BK / product::deep> right[2];\n"
                 "  for (int s = 0; s < steps; s++) {\n    const int slot = s %% 2;\n");
  if (by_blocks(w)) tw_text_add(t, "    scales_of(s + 1);\n");
  for (int i = 0; i < w->p.turns; i++) write_turn(w, &turns[i], i == w->p.turns - 1);
  if (by_blocks(w)) tw_text_add(t, "    scales = later;\n");
  tw_text_add(t, "  }\n  if (!behind) end_turn();\n");
}

/* ---- reads ahead ----
 *
 * While operands of some products multiply those of the next are read; of the last products of a step, the first of the next
 * step, behind the barrier: so the one wait for LDS that nothing hides is that of the very first. What a stage held has been
 * read then by all, and copies for the step that takes its place begin. */
static void write_ahead(writer *w) {
  tw_text *t = &w->text;
  tw_text_add(t, "  for (int s = 0; s < STAGES; s++) {\n");
  write_begin(w, "    ", "s", first_step(w, "s"));
  tw_text_add(t, "  }\n");
  write_wait(w, "  ", w->p.stages - 1);
  const char *left = w->p.across_a ? "_across" : "", *right = w->p.across_b ? "_across" : "";
  tw_text_add(t, "  sync_block();\n"
                 "  constexpr int DEPTH = BK / product::deep, M = ROWS / product::side, N = COLS / product::side;\n");
  tw_text_add(t, "  constexpr int READS_A = M * %s, READS = READS_A + N * %s;\n",
              w->p.across_a ? "2" : "product::parts", w->p.across_b ? "2" : "product::parts");
  tw_text_add(t,
              "  constexpr int COPIES_A = copies_of<a_tile, GROUPS>, COPIES = COPIES_A + copies_of<b_tile, GROUPS>;\n"
              "  operand<product, M, 1> left[2];\n  operand<product, N, 1> right[2];\n"
              "  load%s(left[0], as[0], own_row, 0);\n  load%s(right[0], bs[0], own_col, 0);\n"
              "  int slot = 0, next = 1;\n  for (int s = 0; s < steps; s++) {\n"
              "    const int after = %s * BK;\n"
              "    repeat<DEPTH>([&](auto q) __attribute__((always_inline)) {\n"
              "      constexpr int here = q.value %% 2, to = 1 - here, depth = (q.value + 1) %% DEPTH;\n"
              "      const int from = depth ? slot : next;\n"
              "      const auto read = [&](auto i) __attribute__((always_inline)) {\n"
              "        if constexpr (i.value < READS_A)\n"
              "          load%s_piece<i.value>(left[to], as[from], own_row, depth);\n        else\n"
              "          load%s_piece<i.value - READS_A>(right[to], bs[from], own_col, depth);\n      };\n"
              "      const auto read_or_copy = [&](auto x) __attribute__((always_inline)) {\n"
              "        constexpr int i = in_turn<READS, COPIES>(x.value);\n"
              "        if constexpr (i < READS)\n          read(known<i>{});\n"
              "        else if constexpr (i < READS + COPIES_A)\n"
              "          from_a.copy_piece(as[slot], after, i - READS);\n        else\n"
              "          from_b.copy_piece(bs[slot], after, i - READS - COPIES_A);\n      };\n"
              "      if constexpr (depth == 0) {\n",
              left, right, w->p.split > 1 ? "(begin + s + STAGES)" : "(s + STAGES)", left, right);
  write_wait(w, "        ", w->p.stages - 2);
  tw_text_add(t, "        sync_block();\n"
                 "        mma_abt_beside<READS + COPIES>(sums, left[here], right[here], read_or_copy);\n"
                 "      } else {\n        mma_abt_beside<READS>(sums, left[here], right[here], read);\n      }\n"
                 "    });\n"
                 "    slot = slot + 1 == STAGES ? 0 : slot + 1;\n    next = next + 1 == STAGES ? 0 : next + 1;\n  }\n");
}

/* ---- producers ----
 *
 * Groups behind the others copy: they wait for their copies of a stage, and all meet. */
static void write_producers(writer *w) {
  tw_text *t = &w->text;
  tw_text_add(t, "  if (group >= GROUPS) {\n    int next = STAGES - 1;\n    for (int s = 0; s < STAGES - 1; s++) {\n");
  write_begin(w, "      ", "s", first_step(w, "s"));
  tw_text_add(t, "    }\n    for (int s = 0; s < steps; s++) {\n");
  write_wait(w, "      ", w->p.stages - 2);
  tw_text_add(t, "      sync_block();\n");
  write_begin(w, "      ", "next", first_step(w, "(s + STAGES - 1)"));
  tw_text_add(t, "      next = next + 1 == STAGES ? 0 : next + 1;\n    }\n    return;\n  }\n"
                 "  int slot = 0;\n  for (int s = 0; s < steps; s++) {\n    sync_block();\n");
  write_products(w);
  tw_text_add(t, "    slot = slot + 1 == STAGES ? 0 : slot + 1;\n  }\n");
}

/* ---- held in registers ----
 *
 * HELD steps are on their way; where k has no more, all of it is from the start. */
static void write_held(writer *w) {
  const bool all = (w->g.k + w->p.k - 1) / w->p.k <= (int64_t)w->p.held * w->p.split;
  const char *at = w->p.split > 1 ? "begin + " : "";
  tw_text *t = &w->text;
  tw_text_add(
      t,
      "  constexpr int DEPTH = BK / product::deep;\n"
      "  const rows_of<%s> of_a(a, lda, row + own_row, ROWS, m, k), of_b(b, ldb, col + own_col, COLS, n, k);\n"
      "  operand<product, ROWS / product::side, DEPTH> left[HELD];\n"
      "  operand<product, COLS / product::side, DEPTH> right[HELD];\n#pragma unroll\n"
      "  for (int i = 0; i < HELD; i++) {\n    of_a.load(left[i], (%si) * BK);\n    of_b.load(right[i], (%si) * BK);\n"
      "  }\n",
      w->p.tail || w->p.split > 1 ? "true" : "false", at, at);
  if (all)
    tw_text_add(t, "#pragma unroll\n  for (int i = 0; i < HELD; i++) mma_abt(sums, left[i], right[i]);\n");
  else
    tw_text_add(t,
                "  for (int s = 0; s < steps; s += HELD)\n#pragma unroll\n    for (int i = 0; i < HELD; i++) {\n"
                "      mma_abt(sums, left[i], right[i]);\n      of_a.load(left[i], (%ss + HELD + i) * BK);\n"
                "      of_b.load(right[i], (%ss + HELD + i) * BK);\n    }\n",
                at, at);
}

/* ---- the machine's own loop ---- */

void tw_tile_loop_operand_write(const tw_tile_machine *machine, const tw_tile_loop *loop, char name, bool split,
                                tw_text *t) {
  const bool is_across = loop->operand[name == 'b'].across;
  const int pieces = tw_tile_loop_pieces(loop, name == 'b', machine->group_threads);
  const char *begin = split ? "begin * BK" : "0", *last = split ? "(begin + steps - 1) * BK" : "(steps - 1) * BK";
  tw_text_add(t, "  u32x4 %c_matrix = from_%c.words(%s);\n", name, name, begin);
  if (is_across) {
    tw_text_add(t,
                "  const u32 %c_step = from_%c.step(), %c_full = from_%c.bytes_of(%c_tile::rows), %c_last = "
                "from_%c.bytes_of(k - %s);\n",
                name, name, name, name, name, name, name, last);
    tw_text_add(t, "  u32 %c_lane[from_%c.each];\n#pragma unroll\n", name, name);
    tw_text_add(t, "  for (int i = 0; i < from_%c.each; i++) %c_lane[i] = from_%c.lane_offset(i);\n", name, name, name);
  } else {
    tw_text_add(t, "  static_assert(decltype(from_%c)::regular, \"its copies lie alike\");\n", name);
    tw_text_add(t, "  const u32 %c_lane[] = {from_%c.offset[0]}, %c_down = from_%c.down_each();\n", name, name, name,
                name);
    if (loop->tail) tw_text_add(t, "  const u32 %c_past = from_%c.past(%s);\n", name, name, last);
  }
  tw_text_add(t, "  const u32 %c_read[] = {", name);
  for (int i = 0; i < pieces; i++)
    tw_text_add(t, "%sread_address%s<product>(%cs[0], own_%s, %d)", i ? ", " : "", is_across ? "_across" : "", name,
                name == 'a' ? "row" : "col", i);
  tw_text_add(t, "};\n");
}

static void write_pinned(writer *w) {
  const tw_tile_loop loop = tw_tile_multistage_loop(&w->g, &w->p);
  tw_text *t = &w->text;
  tw_text_add(t, "  const u32 copied = (u32)(__UINTPTR_TYPE__)as.at + (u32)group * 1024;\n");
  if (loop.laid) tw_text_add(t, "  const u32 laid = copied + (u32)thread_of_group() * 16u;\n");
  tw_tile_loop_operand_write(w->machine, &loop, 'a', w->p.split > 1, t);
  tw_tile_loop_operand_write(w->machine, &loop, 'b', w->p.split > 1, t);
  w->machine->loop(w->machine, &loop, t, NULL); /* the plan has asked whether it can */
}

static void write_loop(writer *w) {
  const tw_tile_multistage_plan *p = &w->p;
  tw_text *t = &w->text;
  if (p->pinned) {
    write_pinned(w);
    return;
  }
  if (p->turns || p->ahead || p->producers || p->held) {
    (p->turns ? write_turns : p->ahead ? write_ahead : p->held ? write_held : write_producers)(w);
    return;
  }
  const bool ahead = p->stages > 1;
  const char *scales = by_blocks(w) ? "    scales_of(s + 1);\n" : "";
  if (ahead) {
    tw_text_add(t, "  for (int s = 0; s < STAGES - 1; s++) {\n");
    write_begin(w, "    ", "s", first_step(w, "s"));
    write_end(w, "    ", "s", first_step(w, "s"));
    tw_text_add(t, "  }\n  int slot = 0, next = STAGES - 1;\n");
  } else {
    tw_text_add(t, "  constexpr int slot = 0;\n");
  }
  tw_text_add(t, "  for (int s = 0; s < steps; s++) {\n");
  if (ahead) {
    write_wait(w, "    ", p->stages - 2);
    tw_text_add(t, "    sync_block();\n%s", scales);
    write_begin(w, "    ", "next", first_step(w, "(s + STAGES - 1)"));
    write_products(w);
    write_end(w, "    ", "next", first_step(w, "(s + STAGES - 1)"));
    write_next(w);
  } else {
    tw_text_add(t, "%s", scales);
    write_begin(w, "    ", "0", first_step(w, "s"));
    write_end(w, "    ", "0", first_step(w, "s"));
    write_wait(w, "    ", 0);
    tw_text_add(t, "    sync_block();\n");
    write_products(w);
    tw_text_add(t, "    sync_block();\n");
  }
  if (by_blocks(w)) tw_text_add(t, "    scales = later;\n");
  tw_text_add(t, "  }\n");
}

static void write_kernel(writer *w) {
  tw_text *t = &w->text;
  const bool split = w->p.split > 1;
  const char *out = !split ? tw_tile_type_word(w->g.c) : w->g.acc == TW_I32 ? "int" : "float";
  tw_text_add(t,
              "TW_KERNEL(%s * group_threads, 1) gemm(const %s *a, const %s *b, %s *c, int m, int n, int k, int "
              "lda, int ldb, int ldc",
              threads_of(w), tw_tile_type_word(w->g.a), tw_tile_type_word(w->g.b), out);
  if (!split) tw_tile_result_parameters(t, &w->g);
  if (split && by_blocks(w)) tw_text_add(t, ", const float *SA, const float *SB");
  tw_text_add(t, ") {\n");
  if (!w->p.held)
    tw_text_add(t,
                "  arena memory;\n  const auto as = memory.take<many<a_tile, STAGES%s>>();\n"
                "  const auto bs = memory.take<many<b_tile, STAGES%s>>();\n",
                w->p.turns ? " * 2" : "", w->p.turns ? " * 2" : "");
  if (split) /* a part of k: as if the operands ended with it */
    tw_text_add(
        t,
        "  const int part = block_of_grid() %% SPLIT, whole = (k + BK - 1) / BK, begin = whole * part / SPLIT;\n"
        "  const int steps = whole * (part + 1) / SPLIT - begin;\n%s  k = min(k, (begin + steps) * BK);\n"
        "  c += (i64)part * m * n;\n",
        by_blocks(w) ? "  const int k_all = k;\n" : "");
  tw_text_add(
      t, "  const place p = place_of_chips<%d, %d, %d>(block_of_grid()%s, (m + BM - 1) / BM, (n + BN - 1) / BN);\n",
      w->p.window, w->p.chunk, w->machine->chips, split ? " / SPLIT" : "");
  tw_text_add(t,
              "  const int row = p.row * BM, col = p.col * BN%s;\n"
              "  const int group = group_of_block(), own_row = group / GROUPS_N * %s, own_col = group %% "
              "GROUPS_N * %s;\n",
              split ? "" : ", steps = (k + BK - 1) / BK", w->p.turns ? "(ROWS / 2)" : "ROWS",
              w->p.turns ? "(COLS / 2)" : "COLS");
  if (w->p.turns) {
    write_copier(w, 'a', "0", "row");
    write_copier(w, 'a', "1", "row + BM / 2");
    write_copier(w, 'b', "0", "col");
    write_copier(w, 'b', "1", "col + BN / 2");
    tw_text_add(t, "  acc<product, ROWS / 2 / product::side, COLS / 2 / product::side> sums[2][2];\n#pragma unroll\n"
                   "  for (int i = 0; i < 4; i++) sums[i / 2][i %% 2].clear();\n");
  } else {
    if (!w->p.held) write_copier(w, 'a', "", "row");
    if (!w->p.held) write_copier(w, 'b', "", "col");
    tw_text_add(t, "  acc<product, ROWS / product::side, COLS / product::side> sums;\n%s",
                w->p.pinned ? "" : "  sums.clear();\n");
  }
  if (by_blocks(w)) write_scales(w);
  write_loop(w);
  if (w->machine->halved_float8 && (w->g.a == TW_E4M3 || w->g.a == TW_E5M2))
    tw_text_add(t, "  sums.times(4.f); /* of operands that are half as large each (FNUZ) */\n");
  const char *whole = w->p.whole ? "true" : "false";
  if (w->p.turns)
    tw_text_add(t,
                "#pragma unroll\n  for (int i = 0; i < 4; i++) {\n"
                "    const int down = row + i / 2 * (BM / 2) + own_row, across = col + i %% 2 * (BN / 2) + own_col;\n");
  if (!split) {
    tw_text_add(t, w->p.turns ? "    const result finish{down, across, m, n"
                              : "  const result finish{row + own_row, col + own_col, m, n");
    tw_tile_result_names(t, &w->g);
    tw_text_add(t, "};\n");
  }
  if (w->p.turns)
    tw_text_add(t, "    put<%s>(c, ldc, sums[i / 2][i %% 2], down, across, m, n, %s);\n  }\n}\n", whole,
                split ? "as_is()" : "finish");
  else
    tw_text_add(t, "  put<%s>(c, ldc, sums, row + own_row, col + own_col, m, n, %s);\n}\n", whole,
                split ? "as_is()" : "finish");
}

tw_status tw_tile_multistage_write(const tw_tile_machine *machine, const tw_problem *problem, const void *plan,
                                   tw_text *out, tw_error *error) {
  (void)error;
  writer w = {.machine = machine, .g = tw_gemm_of(problem), .p = *(const tw_tile_multistage_plan *)plan};
  tw_text *t = &w.text;
  write_launch(&w);
  tw_text_add(t, "#include \"%s\"\nusing namespace tw;\n\nusing product = mma<%s, %d, %s>;\n", machine->header,
              tw_tile_type_word(w.g.a), w.p.side, tw_tile_type_word(w.g.b));
  if (!w.p.held) {
    write_tile_type(&w, 'a', w.p.turns ? w.p.m / 2 : w.p.m);
    write_tile_type(&w, 'b', w.p.turns ? w.p.n / 2 : w.p.n);
  }
  tw_text_add(t, "constexpr int ROWS = BM / GROUPS_M, COLS = BN / GROUPS_N; /* of C, of a group */\n%s\n",
              by_blocks(&w) ? "constexpr int BLOCK = 128 / product::deep; /* products that share scales */\n" : "");
  tw_tile_result_write(t, &w.g);
  write_kernel(&w);
  if (w.p.split > 1) tw_tile_parts_write(&w.text, &w.g);
  *out = w.text;
  return TW_OK;
}
