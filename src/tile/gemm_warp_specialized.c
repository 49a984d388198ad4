/* gemm_warp_specialized.c - writes a GEMM kernel of tiles; gemm_warp_specialized.h has its structure.
 *
 * A block is one group that copies and `groups` that multiply. Barriers `full[s]` say that stage s holds tiles of A and B,
 * `empty[s]` that all that read it are done: each group of each block of the team arrives once. Blocks are as many as the
 * machine has processors and go through tiles in the order of `band`.
 *
 * Groups that take turns wait at most one round of the ring ahead: a parity tells two rounds apart, not three. So `turn[g]`
 * lets group g begin when the one before has seen the last of its stages. */
#include "tile/gemm_warp_specialized.h"

#include <stdio.h>

#include "base/strings.h"
#include "op/gemm_problem.h"
#include "tile/gemm_epilogue.h"

typedef struct writer {
  const tw_tile_machine *machine;
  tw_gemm g, result; /* result: without scales that sums are multiplied by before it */
  tw_tile_gemm_plan p;
  tw_text text;
} writer;

/* Of A and B in shared tiles: f32 is multiplied as tf32, or in parts of bf16. */
static const char *factor_word(const writer *w, tw_type a) {
  const tw_type t = tw_tile_gemm_factor(&w->p, a);
  return t == TW_F32 ? "tf32" : tw_type_name(t);
}

static bool moves(const tw_tile_gemm_plan *p) { return p->moved_a || p->moved_b; }

/* Of an operand in the workspace. */
static const char *rows_there(bool turned) { return turned ? "columns" : "rows"; }
static const char *columns_there(bool turned) { return turned ? "rows" : "columns"; }

/* An operand in the workspace, in rows along k of a pitch that copies of tiles can take, and what brings it there. */
static void write_moved(writer *w, char name, bool turned, const char *at) {
  const int each = 16 * 8 / tw_type_bits(w->g.a);
  if (turned)
    tw_text_add(&w->text, "//: before    turned\n//: grid      ceildiv(%c.rows, 64) * ceildiv(%c.columns, 64)\n", name,
                name);
  else
    tw_text_add(&w->text, "//: before    aligned\n//: grid      ceildiv(%c.rows * (PITCH_%c / %d), 256)\n", name, name,
                each);
  tw_text_add(&w->text, "//: block     256\n//: args      %c, workspace(%s), %c.rows, %c.columns, %c.pitch, PITCH_%c\n",
              name, at, name, name, name, name);
}

/* Where parts of A and B, or copies of them, lie in the workspace, with what makes them; then partial sums. */
static void write_parts(writer *w) {
  const tw_tile_parts x = tw_tile_parts_of(w->p.products);
  tw_text *t = &w->text;
  const int size = tw_type_bits(w->g.a) / 8;
  if (moves(&w->p)) {
    const bool of_a = w->p.turned_a, of_b = w->p.turned_b;
    tw_text_add(t, "//: let       PITCH_A = align(A.%s, %d), PITCH_B = align(B.%s, %d)\n", columns_there(of_a),
                16 / size, columns_there(of_b), 16 / size);
    tw_text_add(t, "//: let       B_AT = %d * align(A.%s * PITCH_A * %d, 128)\n", w->p.moved_a, rows_there(of_a), size);
    tw_text_add(t, "//: let       SUMS_AT = B_AT + %d * align(B.%s * PITCH_B * %d, 128)\n", w->p.moved_b,
                rows_there(of_b), size);
  }
  if (x.planes)
    tw_text_add(t,
                "//: let       PRODUCTS = %d, PLANES = %d, A_PLANES = %d, B_PLANES = %d\n"
                "//: let       PITCH_A = align(A.columns, 8), PITCH_B = align(B.columns, 8)\n"
                "//: let       PLANE_A = A.rows * PITCH_A * 2, PLANE_B = B.rows * PITCH_B * 2\n"
                "//: let       B_AT = PLANES * PLANE_A, SUMS_AT = align(B_AT + PLANES * PLANE_B, 16)\n",
                w->p.products, x.planes, x.a, x.b);
  else if (w->p.parts > 1 && !moves(&w->p))
    tw_text_add(t, "//: let       SUMS_AT = 0\n");
  if (moves(&w->p) || x.planes || w->p.parts > 1)
    tw_text_add(t, "//: workspace SUMS_AT%s\n", w->p.parts > 1 ? " + 4 * PARTS * m * n" : "");
  if (w->p.moved_a) write_moved(w, 'A', w->p.turned_a, "0");
  if (w->p.moved_b) write_moved(w, 'B', w->p.turned_b, "B_AT");
  if (!x.planes) return;
  tw_text_add(t, "//: before    split\n//: grid      ceildiv(A.rows * (PITCH_A / 8), 256)\n//: block     256\n"
                 "//: args      A, workspace, A.rows, A.columns, A.pitch, PITCH_A\n"
                 "//: before    split\n//: grid      ceildiv(B.rows * (PITCH_B / 8), 256)\n//: block     256\n"
                 "//: args      B, workspace(B_AT), B.rows, B.columns, B.pitch, PITCH_B\n");
}

static void write_map(writer *w, char name, bool across, int along, const char *rows, const char *team) {
  const tw_tile_gemm_plan *p = &w->p;
  const int size = tw_type_bits(tw_tile_gemm_factor(p, w->g.a)) / 8, panel = w->machine->panel_bytes;
  const int bytes = along * size < panel ? along * size : panel;
  const char *of = across ? "BK" : rows;
  if (p->products)
    tw_text_add(
        &w->text,
        "//: map       %c = workspace(bf16, %s) dims(%c.columns, %c.rows, PLANES) pitch(PITCH_%c * 2, PLANE_%c) "
        "box(%d, %s, 1) swizzle(%d) l2(256)\n",
        name, name == 'a' ? "0" : "B_AT", name - 32, name - 32, name - 32, name - 32, bytes / size, of, bytes);
  else if (name == 'a' ? p->moved_a : p->moved_b) {
    const bool turned = name == 'a' ? p->turned_a : p->turned_b;
    tw_text_add(&w->text,
                "//: map       %c = workspace(%s, %s) dims(%c.%s, %c.%s) pitch(PITCH_%c * %d) box(%d, %s / %s) "
                "swizzle(%d) l2(256)%s\n",
                name, tw_type_name(w->g.a), name == 'a' ? "0" : "B_AT", name - 32, columns_there(turned), name - 32,
                rows_there(turned), name - 32, size, bytes / size, of, team, bytes,
                w->g.a == TW_F32 ? " as(tf32)" : "");
  } else
    tw_text_add(&w->text, "//: map       %c = %c box(%d, %s / %s) swizzle(%d) l2(256)%s\n", name, name - 32,
                bytes / size, of, team, bytes, w->g.a == TW_F32 ? " as(tf32)" : "");
}

static void write_launch(writer *w) {
  const tw_gemm *g = &w->g;
  const tw_tile_gemm_plan *p = &w->p;
  tw_text *t = &w->text;
  const int size_c = tw_type_bits(g->c) / 8;
  if (p->parts > 1) tw_text_add(t, "//: let       PARTS = %d\n", p->parts);
  write_parts(w);
  if (p->even)
    tw_text_add(
        t,
        "//: let       FLAGS = align(sms * %d, 64)\n//: workspace FLAGS * 4 + sms * %d\n"
        "//: before    clear\n//: grid      1\n//: block     256\n//: overlap\n//: args      workspace, FLAGS\n",
        p->groups, p->m * p->n * 4);
  tw_text_add(t,
              "//: kernel    gemm\n//: let       BM = %d, BN = %d, BK = %d, GROUPS = %d, STAGES = %d, STAGING = %d\n",
              p->m, p->n, p->k, p->groups, p->stages, p->staging);
  tw_text_add(t, "//: let       TEAM_M = %d, TEAM_N = %d, TEAM = TEAM_M * TEAM_N\n", p->team_m, p->team_n);
  if (p->split > 1)
    tw_text_add(t, "//: let       SPLIT = %d\n//: grid      ceildiv(m, BM) * ceildiv(n, BN) * SPLIT\n", p->split);
  else if (p->parts > 1)
    tw_text_add(t, "//: grid      ceildiv(m, BM) * ceildiv(n, BN) * PARTS\n");
  else if (p->even)
    tw_text_add(t, "//: grid      min(sms, ceildiv(m, BM) * ceildiv(n, BN) * ceildiv(k, BK))\n");
  else
    tw_text_add(t, "//: grid      min(sms / TEAM, ceildiv(m, BM * TEAM_M) * ceildiv(n, BN * TEAM_N)) * TEAM\n");
  tw_text_add(t, "//: block     (GROUPS + 1) * %d\n", w->machine->group_threads);
  tw_text_add(t, "//: overlap\n");
  if (p->team_m * p->team_n > 1) tw_text_add(t, "//: cluster   TEAM\n");
  if (p->split > 1) tw_text_add(t, "//: cluster   SPLIT\n");
  tw_text_add(t, "//: shared    %lld\n", (long long)p->shared_bytes);
  if (p->promote) tw_text_add(t, "//: let       TOGETHER = %d\n", p->promote / p->k * (p->products ? p->products : 1));
  if (p->copies_a) write_map(w, 'a', p->across_a, p->across_a ? p->m : p->k, "BM", "TEAM_N");
  if (p->copies_b) write_map(w, 'b', p->across_b, p->across_b ? p->n : p->k, "BN", "TEAM_M");
  if (p->copies_c) tw_text_add(t, "//: map       c = C box(%d, 64) swizzle(%d) l2(256)\n", p->width, p->width * size_c);
  tw_text_add(t, "//: args      %s, %s, %s, m, n, k", p->copies_a ? "a" : "A", p->copies_b ? "b" : "B",
              p->copies_c    ? "c"
              : p->parts > 1 ? "workspace(SUMS_AT)"
                             : "C");
  if (!p->copies_a) tw_text_add(t, ", lda");
  if (!p->copies_b) tw_text_add(t, ", ldb");
  if (!p->copies_c) tw_text_add(t, ", ldc");
  if (p->even) tw_text_add(t, ", workspace(FLAGS * 4), workspace");
  tw_tile_result_arguments(t, &w->g);
  tw_text_add(t, "\n");
  if (p->parts == 1) return;
  tw_text_add(t, "//: after     add_parts\n//: grid      ceildiv(m * n, 256)\n//: block     256\n"
                 "//: args      workspace(SUMS_AT), C, m, n, ldc");
  tw_tile_result_arguments(t, &w->g);
  tw_text_add(t, "\n");
}

static const char *sum_word(const tw_gemm *g) { return g->acc == TW_I32 ? "int" : "float"; }

static void write_parameters(writer *w) {
  const tw_gemm *g = &w->g;
  const tw_tile_gemm_plan *p = &w->p;
  tw_text *t = &w->text;
  if (p->copies_a)
    tw_text_add(t, "TW_TENSOR a, ");
  else
    tw_text_add(t, "const %s *a, ", factor_word(w, g->a));
  if (p->copies_b)
    tw_text_add(t, "TW_TENSOR b, ");
  else
    tw_text_add(t, "const %s *b, ", factor_word(w, g->b));
  if (p->copies_c)
    tw_text_add(t, "TW_TENSOR c, ");
  else
    tw_text_add(t, "%s *c, ", p->parts > 1 ? sum_word(g) : tw_tile_type_word(g->c));
  tw_text_add(t, "int m, int n, int k%s%s%s", p->copies_a ? "" : ", int lda", p->copies_b ? "" : ", int ldb",
              p->copies_c ? "" : ", int ldc");
  if (p->even) tw_text_add(t, ", u32 *left, u32 *flags");
  tw_tile_result_parameters(t, &w->g);
}

/* Is what threads copy on its way when they go on? Then those that multiply make it seen. */
static bool in_pieces(const tw_tile_gemm_plan *p) { return p->piece_a || p->piece_b; }

/* Does a block begin in the midst of a tile's k? */
static bool shares_steps(const tw_tile_gemm_plan *p) { return p->split > 1 || p->parts > 1 || p->even; }

/* What the copying group does for one operand of one stage. `down` is the pitch of memory, `parts` the blocks that share. */
static void write_copy(writer *w, char name, bool asynchronous, bool across, bool transposed, const char *rows,
                       const char *first, int parts, const char *part, const char *ranks) {
  tw_text *t = &w->text;
  const char *along = w->p.products ? "step / PRODUCTS * BK" : shares_steps(&w->p) ? "(begin + s) * BK" : "s * BK";
  char where[64];
  snprintf(where, sizeof where, "%s, %s", across ? along : first, across ? first : along);
  if (asynchronous && parts > 1)
    tw_text_add(t, "          copy_team<%d>(%cs[at.slot], %c, %s, full[at.slot], %s, %s);\n", parts, name, name, where,
                part, ranks);
  else if (w->p.products)
    tw_text_add(
        t, "          copy_plane(%cs[at.slot], %c, %c_PLANES >> 4 * (step %% PRODUCTS) & 15, %s, full[at.slot]);\n",
        name, name, name - 32, where);
  else if (asynchronous)
    tw_text_add(t, "          copy(%cs[at.slot], %c, %s, full[at.slot]);\n", name, name, where);
  else if (name == 'a' ? w->p.piece_a : w->p.piece_b)
    tw_text_add(t, "        copy_pieces<%d>(%cs[at.slot], %c, ld%c, %s, %s);\n",
                name == 'a' ? w->p.piece_a : w->p.piece_b, name, name, name, where,
                across ? (name == 'a' ? "k, m" : "k, n") : (name == 'a' ? "m, k" : "n, k"));
  else if (across)
    tw_text_add(t, "        copy_by_group(%cs[at.slot], %c, ld%c, 1, %s, k, %s);\n", name, name, name, where, rows);
  else
    tw_text_add(t, "        copy_by_group(%cs[at.slot], %c, %s, %s, %s, k);\n", name, name,
                transposed ? (name == 'a' ? "1, lda" : "1, ldb") : (name == 'a' ? "lda, 1" : "ldb, 1"), where, rows);
}

/* Blocks that share a tile's k have one tile, but where all steps are shared evenly. */
static const char *tiles_loop(const tw_tile_gemm_plan *p) {
  if (p->even) return "for (even_shares share(tiles, whole); share.next();)";
  return p->split > 1 || p->parts > 1 ? "if (const int t = first; true)" : "for (int t = first; t < tiles; t += step)";
}

/* Of blocks, of A's rows and one of B, by all that copy. */
static void write_staged_scales(writer *w) {
  tw_text_add(&w->text,
              "        const int blocks = (k + 127) / 128, block = %ss;\n"
              "        for (int i = thread_of_block(); i < BM; i += group_threads)\n"
              "          copy_number(scales[at.slot], i, SA + (%s), row + i < m);\n"
              "        if (thread_of_block() == 0)\n"
              "          copy_number(scales[at.slot], BM, SB + (%s), col < n);\n"
              "        full[at.slot].arrive_behind_copies();\n",
              shares_steps(&w->p) ? "begin + " : "",
              w->g.a_transposed ? "(i64)block * m + row + i" : "(i64)(row + i) * blocks + block",
              w->g.b_transposed ? "col / 128 * blocks + block" : "block * ((n + 127) / 128) + col / 128");
}

static void write_copies(writer *w) {
  const tw_gemm *g = &w->g;
  const tw_tile_gemm_plan *p = &w->p;
  tw_text *t = &w->text;
  const bool threads = !p->copies_a || !p->copies_b || p->scales_staged, any = p->copies_a || p->copies_b;
  tw_text_add(t, "  if (group == 0) { /* copies */\n");
  if (p->registers_copy) tw_text_add(t, "    give_registers<%d>();\n", p->registers_copy);
  tw_text_add(t, "    ring<STAGES> at;\n    %s%s {\n", threads ? "" : "if (thread_of_block() == 0)\n      ",
              tiles_loop(p));
  const char *in = threads ? "" : "  ";
  if (p->even) tw_text_add(t, "%s      const int t = share.tile, begin = share.begin, steps = share.steps;\n", in);
  tw_text_add(t, "%s      const place p = place_of<%d>(t, rows, cols);\n", in, p->band_columns ? -p->band : p->band);
  tw_text_add(t, "%s      const int row = (p.row * TEAM_M + team_row) * BM, col = (p.col * TEAM_N + team_col) * BN;\n",
              in);
  tw_text_add(t,
              "%s      for (int s = 0; s < steps; s++, at.next()) {\n%s        empty[at.slot].wait(at.parity ^ 1);\n",
              in, in);
  if (any) {
    if (threads) tw_text_add(t, "        if (thread_of_block() == 0) {\n");
    tw_text_add(t, "          full[at.slot].expect(%s%s%s);\n", p->copies_a ? "a_tile::bytes" : "",
                p->copies_a && p->copies_b ? " + " : "", p->copies_b ? "b_tile::bytes" : "");
    if (p->products) tw_text_add(t, "          const int step = %ss;\n", shares_steps(p) ? "begin + " : "");
    if (p->copies_a) write_copy(w, 'a', true, p->across_a, false, "m", "row", p->team_n, "team_col", "row_of_team");
    if (p->copies_b) write_copy(w, 'b', true, p->across_b, false, "n", "col", p->team_m, "team_row", "column_of_team");
    if (threads) tw_text_add(t, "        }\n");
  }
  if (!p->copies_a) write_copy(w, 'a', false, p->across_a, g->a_transposed, "m", "row", 1, "", "");
  if (!p->copies_b) write_copy(w, 'b', false, p->across_b, !g->b_transposed, "n", "col", 1, "", "");
  if (p->scales_staged)
    write_staged_scales(w);
  else if (in_pieces(p))
    tw_text_add_string(t, "        full[at.slot].arrive_behind_copies();\n");
  else if (threads)
    tw_text_add(t, "        written();\n        full[at.slot].arrive();\n");
  tw_text_add(t, "%s      }\n%s    }\n", in, in);
}

/* Steps of a tile: one batch of products stays under way while the stage before is given back. */
static void write_steps(writer *w, const char *product, const char *release) {
  const tw_tile_gemm_plan *p = &w->p;
  tw_text *t = &w->text;
  const char *in = p->promote ? "  " : "", *into = p->promote ? "some" : "sums";
  const char *begin = p->promote ? "first_step" : "0";
  tw_text_add(t, "      int before = 0;\n");
  if (p->promote)
    tw_text_add(t, "      clear(sums);\n      for (int s = 0; s < steps;) {\n"
                   "        const int first_step = s, end = min(s + TOGETHER, steps);\n"
                   "#pragma unroll 1\n        for (; s < end; s++, at.next()) {\n");
  else
    tw_text_add(t, "#pragma unroll 1\n      for (int s = 0; s < steps; s++, at.next()) {\n");
  tw_text_add(t, "%s        full[at.slot].wait(at.parity);\n", in);
  if (in_pieces(p)) tw_text_add(t, "%s        written();\n", in);
  if (p->turns) tw_text_add(t, "        if (s == steps - 1 && thread == 0) turn[(worker + 1) %% GROUPS].arrive();\n");
  tw_text_add(
      t,
      "%s        mma_begin();\n%s        mma_%s(%s, as[at.slot], bs[at.slot], s > %s%s);\n%s        mma_commit();\n"
      "%s        if (s > %s) {\n%s          mma_wait<1>();\n%s          %s\n%s        }\n"
      "%s        before = at.slot;\n%s      }\n",
      in, in, product, into, begin, p->turns ? "" : ", worker * ROWS", in, in, begin, in, in, release, in, in, in);
  tw_text_add(t, "%s      mma_wait<0>();\n%s      mma_settle(%s);\n%s      %s\n", in, in, into, in, release);
  if (p->promote) tw_text_add(t, "        add(sums, some);\n      }\n");
}

/* Each step has factors of its own: while the products of one are scaled and added, those of the next are under way in
 * sums of their own. */
static void write_block_steps(writer *w, const char *product, const char *release) {
  const tw_tile_gemm_plan *p = &w->p;
  tw_text *t = &w->text;
  tw_text_add(t,
              "      const int blocks = (k + 127) / 128;\n"
              "      const auto factors_of = [&](int s) {\n        const int block = %ss;\n"
              "        const float of_b = SB[%s];\n"
              "        return row_factors<ROWS>([&](int i) { return row + i < m ? SA[%s] * of_b : 0.f; });\n      };\n",
              shares_steps(p) ? "begin + " : "",
              w->g.b_transposed ? "col / 128 * blocks + block" : "block * ((n + 127) / 128) + col / 128",
              w->g.a_transposed ? "(i64)block * m + row + i" : "(i64)(row + i) * blocks + block");
  tw_text_add(t,
              "      ring<STAGES> done = at; /* with products under way */\n"
              "      const auto multiply = [&](decltype(sums) &to) {\n        full[at.slot].wait(at.parity);\n%s"
              "        mma_forget(to);\n        mma_begin();\n"
              "        mma_%s(to, as[at.slot], bs[at.slot], false, worker * ROWS);\n        mma_commit();\n"
              "        at.next();\n      };\n"
              "      const auto take = [&](decltype(sums) &from, const row_factors<ROWS> &factors) {\n        "
              "mma_settle(from);\n"
              "        const int before = done.slot;\n        %s\n        done.next();\n"
              "        add(sums, from, factors);\n      };\n",
              in_pieces(p) ? "        written();\n" : "", product, release);
  tw_text_add_string(
      t, "      clear(sums);\n      int s = 0;\n      auto even = factors_of(0);\n      multiply(some);\n"
         "#pragma unroll 1\n      for (; s + 2 < steps; s += 2) {\n        const auto odd = factors_of(s + 1);\n"
         "        multiply(others);\n        mma_wait<1>();\n        take(some, even);\n"
         "        even = factors_of(s + 2);\n        multiply(some);\n        mma_wait<1>();\n"
         "        take(others, odd);\n      }\n"
         "      if (s + 1 < steps) {\n        const auto odd = factors_of(s + 1);\n        multiply(others);\n"
         "        mma_wait<1>();\n        take(some, even);\n        mma_wait<0>();\n        take(others, odd);\n"
         "      } else {\n        mma_wait<0>();\n        take(some, even);\n      }\n");
}

/* The same of groups with more rows than registers have room for twice: those of one product at a time, while other groups'
 * products are under way. Scales are read before: the stage is given back when its last product is done. */
static void write_staged_steps(writer *w, const char *product, const char *release) {
  tw_text_add(
      &w->text,
      "      clear(sums);\n#pragma unroll 1\n      for (int s = 0; s < steps; s++, at.next()) {\n"
      "        const int before = at.slot;\n"
      "        full[before].wait(at.parity);\n        const float of_b = scales[before].number(BM);\n"
      "        const row_factors<ROWS> factors(\n"
      "            [&](int i) { return scales[before].number(worker * ROWS + i) * of_b; });\n"
      "#pragma unroll\n        for (int q = 0; q < ROWS / 64; q++) {\n          mma_begin();\n"
      "          mma_%s(some, as[before], bs[before], false, worker * ROWS + 64 * q);\n          mma_commit();\n"
      "          mma_wait<0>();\n          mma_settle(some);\n"
      "          if (q == ROWS / 64 - 1) {\n            %s\n          }\n"
      "          add(sums, q, some, factors);\n        }\n      }\n",
      product, release);
}

static void write_products(writer *w) {
  const tw_tile_gemm_plan *p = &w->p;
  tw_text *t = &w->text;
  const bool team = p->team_m * p->team_n > 1;
  tw_text_add(t, "  } else { /* multiply */\n");
  if (p->registers_multiply) tw_text_add(t, "    take_registers<%d>();\n", p->registers_multiply);
  tw_text_add(t,
              "    const int worker = group - 1, thread = thread_of_group();\n"
              "    ring<STAGES> at;\n    acc<ROWS, BN, mma_sum<%s>::type> sums;\n",
              factor_word(w, w->g.a));
  if (p->scales_staged)
    tw_text_add_string(t, "    acc<64, BN> some; /* of a step */\n");
  else if (p->promote)
    tw_text_add(t, "    acc<ROWS, BN, mma_sum<%s>::type> some%s\n", factor_word(w, w->g.a),
                w->g.scales == TW_GEMM_SCALES_BLOCK ? ", others; /* of a step each */" : "; /* of TOGETHER steps */");
  if (p->even)
    tw_text_add(t, "    const left_sums<acc<ROWS, BN, mma_sum<%s>::type>, GROUPS> remains{left, flags};\n",
                factor_word(w, w->g.a));
  if (p->turns)
    tw_text_add(t, "    int number = 0;\n    for (int t = first; t < tiles; t += step, number++) {\n"
                   "      if (number %% GROUPS != worker) {\n        at.skip(steps);\n        continue;\n      }\n");
  else
    tw_text_add(t, "    %s {\n", tiles_loop(p));
  if (p->even) tw_text_add(t, "      const int t = share.tile, begin = share.begin, steps = share.steps;\n");
  tw_text_add(t, "      const place p = place_of<%d>(t, rows, cols);\n", p->band_columns ? -p->band : p->band);
  tw_text_add(t, "      const int row = (p.row * TEAM_M + team_row) * BM%s, col = (p.col * TEAM_N + team_col) * BN;\n",
              p->turns ? "" : " + worker * ROWS");
  if (p->turns) tw_text_add(t, "      turn[worker].wait((number / GROUPS & 1) ^ (worker == 0));\n");
  const bool scaled = w->result.scales != w->g.scales;
  if (scaled) /* on their way while products are made */
    tw_text_add_string(
        t, "      const row_factors<ROWS> by_row([&](int i) { return row + i < m ? SA[row + i] : 0.f; });\n"
           "      const column_factors<BN> by_column([&](int j) { return col + j < n ? SB[col + j] : 0.f; });\n");
  static const char *const product[2][2] = {{"abt", "ab"}, {"atbt", "atb"}};
  const char *release =
      team ? "if (thread < TEAM) empty[before].arrive_at(thread);" : "if (thread == 0) empty[before].arrive();";
  if (p->scales_staged)
    write_staged_steps(w, product[p->across_a][p->across_b], release);
  else if (w->g.scales == TW_GEMM_SCALES_BLOCK)
    write_block_steps(w, product[p->across_a][p->across_b], release);
  else
    write_steps(w, product[p->across_a][p->across_b], release);
  if (p->even)
    tw_text_add(t, "      if (begin > 0)\n        remains.leave(sums, worker);\n      else if (steps < whole)\n"
                   "        remains.add(sums, share, steps, worker);\n      if (begin > 0) continue;\n");
  if (p->split > 1)
    tw_text_add(
        t,
        "      if (rank != 0) {\n        parts.send(sums, rank - 1, worker, 0);\n        all.arrive_after_writes(0);\n"
        "      } else {\n      all.wait_for_writes(0);\n      parts.add(sums, worker);\n");
  if (p->parts > 1) {
    tw_text_add(t, "#pragma unroll\n      for (int q = 0; q < ROWS / 64; q++)\n"
                   "        put(c + (i64)rank * m * n, n, sums.value[q], row + 64 * q, col, m, n, as_is());\n    }\n");
    return;
  }
  if (scaled) tw_text_add_string(t, "      scale_sums(sums, by_row, by_column);\n");
  tw_text_add(t, "#pragma unroll\n      for (int q = 0; q < ROWS / 64; q++) {\n"
                 "        const result finish{row + 64 * q, col, m, n");
  tw_tile_result_names(t, &w->result);
  if (p->copies_c)
    tw_text_add(t,
                "};\n#pragma unroll\n"
                "        for (int j = 0; j < BN / c_tile::cols; j++) {\n"
                "          const c_tile out = cs[worker * STAGING + (q * (BN / c_tile::cols) + j) %% STAGING];\n"
                "          if (thread == 0) store_wait_read<STAGING - 1>();\n"
                "          sync(1 + worker, group_threads);\n"
                "          lay(out, sums.value[q], j * c_tile::cols, finish);\n"
                "          written();\n"
                "          sync(1 + worker, group_threads);\n"
                "          if (thread == 0) {\n"
                "            store(c, row + q * 64, col + j * c_tile::cols, out);\n"
                "            store_commit();\n"
                "          }\n"
                "        }\n      }\n%s    }\n    if (thread == 0) store_wait<0>();\n",
                p->split > 1 ? "      }\n" : "");
  else
    tw_text_add(t, "};\n        put(c, ldc, sums.value[q], row + 64 * q, col, m, n, finish);\n      }\n%s    }\n",
                p->split > 1 ? "      }\n" : "");
}

/* What makes parts of f32, and what adds the sums of blocks. */
static void write_others(writer *w) {
  const tw_tile_gemm_plan *p = &w->p;
  tw_text *t = &w->text;
  if (p->even)
    tw_text_add_string(t, "TW_KERNEL(256, 1) clear(u32 *flags, int count) {\n  earlier_ended();\n  next_may_begin();\n"
                          "  for (int i = thread_of_block(); i < count; i += 256) flags[i] = 0;\n}\n\n");
  if ((p->moved_a && !p->turned_a) || (p->moved_b && !p->turned_b))
    tw_text_add(t,
                "TW_KERNEL(256, 4) aligned(const %s *from, %s *to, int rows, int cols, int pitch, int to_pitch) {\n"
                "  constexpr int each = 16 / (int)sizeof(*from);\n"
                "  const i64 id = (i64)block_of_grid() * 256 + thread_of_block(), row = id / (to_pitch / each);\n"
                "  const int col = (int)(id %% (to_pitch / each)) * each;\n  if (row >= rows) return;\n"
                "  union {\n    %s element[each];\n    vec16 all;\n  } v;\n"
                "#pragma unroll\n  for (int i = 0; i < 4; i++) v.all.word[i] = 0;\n"
                "#pragma unroll\n  for (int i = 0; i < each; i++)\n"
                "    if (col + i < cols) v.element[i] = from[row * pitch + col + i];\n"
                "  store16(to + row * to_pitch + col, v.all);\n}\n\n",
                tw_tile_type_word(w->g.a), tw_tile_type_word(w->g.a), tw_tile_type_word(w->g.a));
  if (p->turned_a || p->turned_b)
    tw_text_add(
        t,
        "TW_KERNEL(256, 2) turned(const %s *from, %s *to, int rows, int cols, int pitch, int to_pitch) {\n"
        "  __shared__ %s tile[64][65];\n"
        "  const int across = (cols + 63) / 64, x = thread_of_block() %% 64, y = thread_of_block() / 64;\n"
        "  const int row = block_of_grid() / across * 64, col = block_of_grid() %% across * 64;\n"
        "#pragma unroll\n  for (int i = y; i < 64; i += 4)\n"
        "    if (row + i < rows && col + x < cols) tile[i][x] = from[(i64)(row + i) * pitch + col + x];\n"
        "  sync_block();\n"
        "#pragma unroll\n  for (int i = y; i < 64; i += 4)\n"
        "    if (col + i < cols && row + x < rows) to[(i64)(col + i) * to_pitch + row + x] = tile[x][i];\n}\n\n",
        tw_tile_type_word(w->g.a), tw_tile_type_word(w->g.a), tw_tile_type_word(w->g.a));
  if (p->products)
    tw_text_add_string(
        t, "TW_KERNEL(256, 4) split(const float *from, bf16 *to, int rows, int cols, int pitch, int to_pitch) {\n"
           "  const i64 id = (i64)block_of_grid() * 256 + thread_of_block();\n"
           "  const int chunks = to_pitch / 8, col = (int)(id % chunks) * 8;\n"
           "  const i64 row = id / chunks;\n"
           "  if (row >= rows) return;\n"
           "  const float *at = from + row * pitch + col;\n"
           "  float value[8];\n"
           "  if (pitch % 4 == 0 && col + 8 <= cols) {\n"
           "    const vec16 x = load16_once(at), y = load16_once(at + 4);\n"
           "#pragma unroll\n"
           "    for (int i = 0; i < 8; i++) value[i] = float_of(i < 4 ? x.word[i] : y.word[i - 4]);\n"
           "  } else {\n"
           "#pragma unroll\n"
           "    for (int i = 0; i < 8; i++) value[i] = col + i < cols ? at[i] : 0;\n"
           "  }\n"
           "  store_parts<PLANES>(to + row * to_pitch + col, (i64)rows * to_pitch, value);\n"
           "}\n\n");
  if (p->parts == 1) return;
  tw_text_add(t, "TW_KERNEL(256, 4) add_parts(const %s *from, %s *c, int m, int n, int ldc", sum_word(&w->g),
              tw_tile_type_word(w->g.c));
  tw_tile_result_parameters(t, &w->g);
  tw_text_add(t,
              ") {\n  const i64 id = (i64)block_of_grid() * 256 + thread_of_block();\n"
              "  if (id >= (i64)m * n) return;\n  const int row = (int)(id / n), col = (int)(id %% n);\n"
              "  %s sum = 0;\n#pragma unroll 8\n  for (int i = 0; i < PARTS; i++) sum += from[(i64)i * m * n + id];\n"
              "  const result finish{row, col, m, n",
              sum_word(&w->g));
  tw_tile_result_names(t, &w->g);
  tw_text_add(t, "};\n  set(c[(i64)row * ldc + col], finish(sum, 0, 0));\n}\n\n");
}

static void write_tiled(writer *w) {
  const tw_gemm *g = &w->g;
  const tw_tile_gemm_plan *p = &w->p;
  tw_text *t = &w->text;
  const bool team = p->team_m * p->team_n > 1, shares = p->split > 1 || p->parts > 1;
  const char *products = p->products ? " * PRODUCTS" : "";
  write_launch(w);
  tw_text_add(t, "#include \"%s\"\nusing namespace tw;\n\n", w->machine->header);
  tw_text_add(t, "using a_tile = shared<%s, %s>;\n", factor_word(w, g->a), p->across_a ? "BK, BM" : "BM, BK");
  tw_text_add(t, "using b_tile = shared<%s, %s>;\n", factor_word(w, g->b), p->across_b ? "BK, BN" : "BN, BK");
  if (p->copies_c) tw_text_add(t, "using c_tile = shared<%s, 64, %d>;\n", tw_tile_type_word(g->c), p->width);
  tw_text_add(t, "constexpr int ROWS = %s; /* of C, of a group */\n\n", p->turns ? "BM" : "BM / GROUPS");
  tw_tile_result_write(t, &w->result);
  write_others(w);
  tw_text_add(t, "TW_KERNEL((GROUPS + 1) * group_threads, 1) gemm(");
  write_parameters(w);
  tw_text_add(t, ") {\n  arena memory;\n  const auto as = memory.take<many<a_tile, STAGES>>();\n"
                 "  const auto bs = memory.take<many<b_tile, STAGES>>();\n");
  if (p->copies_c) tw_text_add(t, "  const auto cs = memory.take<many<c_tile, GROUPS * STAGING>>();\n");
  if (p->scales_staged) /* of A's rows, then B's */
    tw_text_add_string(t, "  const auto scales = memory.take<many<line<BM / 256 * 256 + 256>, STAGES>>();\n");
  tw_text_add(t, "  const auto full = memory.take<barriers<STAGES>>(), empty = memory.take<barriers<STAGES>>();\n");
  if (p->split > 1)
    tw_text_add(t,
                "  const auto all = memory.take<barrier>(); /* parts of sums are there */\n"
                "  const auto parts = memory.take<partials<acc<ROWS, BN, mma_sum<%s>::type>, GROUPS, SPLIT - 1>>();\n",
                factor_word(w, g->a));
  if (p->turns) tw_text_add(t, "  const auto turn = memory.take<barriers<GROUPS>>();\n");
  const int arrivals = (p->copies_a || p->copies_b ? 1 : 0) +
                       (p->copies_a && p->copies_b && !p->scales_staged ? 0 : w->machine->group_threads);
  tw_text_add(t, "  const int group = group_of_block();\n  if (thread_of_block() == 0) {\n");
  if (p->copies_a) tw_text_add(t, "    prefetch(a);\n");
  if (p->copies_b) tw_text_add(t, "    prefetch(b);\n");
  if (p->copies_c) tw_text_add(t, "    prefetch(c);\n");
  tw_text_add(t,
              "    for (int i = 0; i < STAGES; i++) {\n      full[i].init(%d);\n      empty[i].init(%sTEAM);\n    }\n",
              arrivals, p->turns ? "" : "GROUPS * ");
  if (p->turns) tw_text_add(t, "    for (int i = 0; i < GROUPS; i++) turn[i].init(1);\n");
  if (p->split > 1) tw_text_add(t, "    all.init((SPLIT - 1) * GROUPS * group_threads);\n");
  tw_text_add(t, "    barriers_ready();\n  }\n  %s();\n  earlier_ended();\n  next_may_begin();\n",
              team || p->split > 1 ? "sync_team" : "sync_block");
  tw_text_add(t, "  const int rank = %s, team_row = %s, team_col = %s;\n",
              team || p->split > 1 ? "rank_of_team()"
              : p->parts > 1       ? "block_of_grid() % PARTS"
                                   : "0",
              shares ? "0" : "rank % TEAM_M", shares ? "0" : "rank / TEAM_M");
  if (p->team_n > 1) {
    tw_text_add(t, "  const u16 row_of_team = (u16)(");
    for (int i = 0; i < p->team_n; i++) tw_text_add(t, "%s1 << %d", i ? " | " : "", i * p->team_m);
    tw_text_add(t, ") << team_row; /* blocks that share A */\n");
  }
  if (p->team_m > 1)
    tw_text_add(t, "  const u16 column_of_team = (u16)(%d << team_col * TEAM_M); /* blocks that share B */\n",
                (1 << p->team_m) - 1);
  tw_text_add(
      t, "  const int rows = (m + BM * TEAM_M - 1) / (BM * TEAM_M), cols = (n + BN * TEAM_N - 1) / (BN * TEAM_N);\n");
  if (shares)
    tw_text_add(
        t,
        "  const int whole = (k + BK - 1) / BK%s, begin = (int)((i64)whole * rank / %s); /* this block's part */\n"
        "  const int steps = (int)((i64)whole * (rank + 1) / %s) - begin, first = block_of_grid() / %s;\n\n",
        products, p->split > 1 ? "SPLIT" : "PARTS", p->split > 1 ? "SPLIT" : "PARTS", p->split > 1 ? "SPLIT" : "PARTS");
  else if (p->even)
    tw_text_add(t, "  const int tiles = rows * cols, whole = (k + BK - 1) / BK;\n\n");
  else
    tw_text_add(t,
                "  const int tiles = rows * cols, steps = (k + BK - 1) / BK%s;\n"
                "  const int first = block_of_grid() / TEAM, step = blocks_of_grid() / TEAM;\n\n",
                products);
  write_copies(w);
  write_products(w);
  tw_text_add(t, "  }\n");
  if (team || p->split > 1) tw_text_add(t, "  sync_team(); /* nobody leaves while others write to it */\n");
  tw_text_add(t, "}\n");
}

tw_status tw_tile_gemm_write(const tw_tile_machine *machine, const tw_problem *problem, const void *plan, tw_text *out,
                             tw_error *error) {
  (void)error;
  writer w = {.machine = machine, .g = tw_gemm_of(problem), .p = *(const tw_tile_gemm_plan *)plan};
  w.result = w.g;
  if (w.p.scales_early) w.result.scales = TW_GEMM_SCALES_NONE;
  write_tiled(&w);
  *out = w.text;
  return TW_OK;
}
