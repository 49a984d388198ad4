/* gemm_alike.c - writes a GEMM kernel of tiles whose groups are alike; gemm_alike.h has its structure.
 *
 * Step s multiplies the tiles of stage s % STAGES while those of step s + STAGES - 1 arrive. One barrier a step does for both
 * that the tiles are there, as each group waits for its own copies before it, and that nobody reads the stage any more that
 * is written behind it. Copies beyond the last step read nothing; so a wait counts the same copies in every step. */
#include "tile/gemm_alike.h"

#include <stdio.h>

#include "base/strings.h"
#include "tile/gemm_result.h"

typedef struct writer {
  const tw_tile_machine *machine;
  tw_gemm g;
  tw_tile_alike_plan p;
  tw_text text;
} writer;

static bool direct(const writer *w, char name) { return (name == 'a' ? w->p.way_a : w->p.way_b) == TW_TILE_DIRECT; }
static bool held(const writer *w, char name) { return (name == 'a' ? w->p.way_a : w->p.way_b) == TW_TILE_REGISTERS; }
static bool copies(const writer *w, char name) { return (name == 'a' ? w->p.way_a : w->p.way_b) != TW_TILE_ELEMENTS; }

static void write_launch(writer *w) {
  const tw_tile_alike_plan *p = &w->p;
  tw_text *t = &w->text;
  tw_text_add(t, "//: kernel    gemm\n//: let       BM = %d, BN = %d, BK = %d, STAGES = %d\n", p->m, p->n, p->k,
              p->stages);
  tw_text_add(t, "//: let       GROUPS_M = %d, GROUPS_N = %d, GROUPS = GROUPS_M * GROUPS_N\n", p->groups_m,
              p->groups_n);
  if (!p->tail) tw_text_add(t, "//: require   k %% BK == 0\n");
  tw_text_add(t, "//: grid      ceildiv(m, BM) * ceildiv(n, BN)\n//: block     GROUPS * %d\n//: shared    %lld\n",
              w->machine->group_threads, (long long)p->shared_bytes);
  tw_text_add(t, "//: args      A, B, C, m, n, k, lda, ldb, ldc");
  tw_tile_result_arguments(t, &w->g);
  tw_text_add(t, "\n");
}

static void write_tile_type(writer *w, char name, int rows) {
  char swizzle[TW_TILE_SWIZZLE] = "plain";
  const tw_type type = name == 'a' ? w->g.a : w->g.b;
  const tw_tile_access access = {.rows = rows,
                                 .row_bytes = w->p.k * tw_type_bits(type) / 8,
                                 .side = w->p.side,
                                 .element_bytes = tw_type_bits(type) / 8};
  if (!w->p.straight) w->machine->swizzle(w->machine, &access, swizzle);
  tw_text_add(&w->text, "using %c_tile = shared<%s, %s, BK, %s>;\n", name, tw_tile_type_word(type),
              name == 'a' ? "BM" : "BN", swizzle);
}

static void write_copier(writer *w, char name) {
  const bool is_a = name == 'a';
  if (copies(w, name))
    tw_text_add(&w->text, "  copier<%c_tile, GROUPS, %s> from_%c(%c, ld%c, %s, %s, k);\n", name,
                w->p.tail ? "true" : "false", name, name, name, is_a ? "row" : "col", is_a ? "m" : "n");
}

/* An operand that is copied element by element, all at once. */
static void write_elements(writer *w, char name, const char *in, const char *stage, const char *at) {
  const bool is_a = name == 'a', right = is_a ? !w->g.a_transposed : w->g.b_transposed;
  tw_text_add(&w->text, "%scopy_by_groups<GROUPS>(%cs[%s], %c, %s%s%s, %s, %s, %s, k);\n", in, name, stage, name,
              right ? "ld" : "1, ld", is_a ? "a" : "b", right ? ", 1" : "", is_a ? "row" : "col", at, is_a ? "m" : "n");
}

/* Begins to fill a stage with the tiles from column `at` on. */
static void write_begin(writer *w, const char *in, const char *stage, const char *at) {
  for (char name = 'a'; name <= 'b'; name++) {
    if (direct(w, name)) tw_text_add(&w->text, "%sfrom_%c.copy(%cs[%s], %s);\n", in, name, name, stage, at);
    if (held(w, name)) tw_text_add(&w->text, "%sfrom_%c.load(%s);\n", in, name, at);
  }
}

/* What is not on its way by itself. */
static void write_end(writer *w, const char *in, const char *stage, const char *at) {
  for (char name = 'a'; name <= 'b'; name++) {
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
    tw_text_add(&w->text, "%scopies_wait<%d * (%s%s%s)>();\n", in, stages_under_way,
                a ? "copier<a_tile, GROUPS, false>::each" : "", a && b ? " + " : "",
                b ? "copier<b_tile, GROUPS, false>::each" : "");
}

static void write_products(writer *w) {
  tw_text_add(&w->text, "#pragma unroll\n    for (int q = 0; q < BK / product::deep; q++) {\n"
                        "      operand<product, ROWS / product::side, 1> left;\n"
                        "      operand<product, COLS / product::side, 1> right;\n"
                        "      load(left, as[slot], own_row, q);\n      load(right, bs[slot], own_col, q);\n"
                        "      mma_abt(sums, left, right);\n    }\n");
}

/* Are copies all that fills a stage? Only then more than one stage can be under way. */
static void write_loop(writer *w) {
  const tw_tile_alike_plan *p = &w->p;
  tw_text *t = &w->text;
  const bool ahead = p->stages > 1;
  if (ahead) {
    tw_text_add(t, "  for (int s = 0; s < STAGES - 1; s++) {\n");
    write_begin(w, "    ", "s", "s * BK");
    write_end(w, "    ", "s", "s * BK");
    tw_text_add(t, "  }\n  int slot = 0, next = STAGES - 1;\n");
  } else {
    tw_text_add(t, "  constexpr int slot = 0;\n");
  }
  tw_text_add(t, "  for (int s = 0; s < steps; s++) {\n");
  if (ahead) {
    write_wait(w, "    ", p->stages - 2);
    tw_text_add(t, "    sync_block();\n");
    write_begin(w, "    ", "next", "(s + STAGES - 1) * BK");
    write_products(w);
    write_end(w, "    ", "next", "(s + STAGES - 1) * BK");
    tw_text_add(t, "    slot = slot + 1 == STAGES ? 0 : slot + 1;\n    next = next + 1 == STAGES ? 0 : next + 1;\n");
  } else {
    write_begin(w, "    ", "0", "s * BK");
    write_end(w, "    ", "0", "s * BK");
    write_wait(w, "    ", 0);
    tw_text_add(t, "    sync_block();\n");
    write_products(w);
    tw_text_add(t, "    sync_block();\n");
  }
  tw_text_add(t, "  }\n");
}

tw_status tw_tile_alike_emit(const tw_tile_machine *machine, const tw_problem *problem, const tw_schedule *schedule,
                             char **source, tw_error *error) {
  writer w = {.machine = machine, .g = tw_gemm_of(problem)};
  tw_text *t = &w.text;
  const tw_status status = tw_tile_alike_plan_of(machine, problem, schedule, &w.p, error);
  if (status != TW_OK) return status;
  write_launch(&w);
  tw_text_add(t, "#include \"%s\"\nusing namespace tw;\n\nusing product = mma<%s, %d>;\n", machine->header,
              tw_tile_type_word(w.g.a), w.p.side);
  write_tile_type(&w, 'a', w.p.m);
  write_tile_type(&w, 'b', w.p.n);
  tw_text_add(t, "constexpr int ROWS = BM / GROUPS_M, COLS = BN / GROUPS_N; /* of C, of a group */\n\n");
  tw_tile_result_write(t, &w.g);
  tw_text_add(t,
              "TW_KERNEL(GROUPS * group_threads, 1) gemm(const %s *a, const %s *b, %s *c, int m, int n, int k, int "
              "lda, int ldb, int ldc",
              tw_tile_type_word(w.g.a), tw_tile_type_word(w.g.b), tw_tile_type_word(w.g.c));
  tw_tile_result_parameters(t, &w.g);
  tw_text_add(t, ") {\n  arena memory;\n  const auto as = memory.take<many<a_tile, STAGES>>();\n"
                 "  const auto bs = memory.take<many<b_tile, STAGES>>();\n");
  tw_text_add(t,
              "  const place p = place_of_chips<%d, %d, %d>(block_of_grid(), (m + BM - 1) / BM, (n + BN - 1) / BN);\n",
              w.p.window, w.p.chunk, machine->chips);
  tw_text_add(
      t,
      "  const int row = p.row * BM, col = p.col * BN, steps = (k + BK - 1) / BK;\n"
      "  const int group = group_of_block(), own_row = group / GROUPS_N * ROWS, own_col = group %% GROUPS_N * COLS;\n");
  write_copier(&w, 'a');
  write_copier(&w, 'b');
  tw_text_add(t, "  acc<product, ROWS / product::side, COLS / product::side> sums;\n  sums.clear();\n");
  write_loop(&w);
  tw_text_add(t, "  const result finish{row + own_row, col + own_col, m, n");
  tw_tile_result_names(t, &w.g);
  tw_text_add(t, "};\n  put<%s>(c, ldc, sums, row + own_row, col + own_col, m, n, finish);\n}\n",
              w.p.whole ? "true" : "false");
  *source = tw_text_take(t);
  return *source ? TW_OK : tw_fail(error, TW_MISSING, "no memory for the source of a kernel");
}
