/* LDS phases, banks and swizzles: table 5, conflicts that were counted on the machine, every published swizzle, and the
 * solver against a search of its own and the paper's counter-example. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/random.h"
#include "target/cdna/layout/pattern.h"

static cdna_tile tile_of(int rows, int columns, cdna_type type) {
  return (cdna_tile){rows, columns, type, columns * cdna_type_bits(type) / 8};
}

static cdna_pattern pattern(const char *text, cdna_arch arch, const cdna_tile *t) {
  cdna_pattern p;
  tw_error error;
  if (cdna_pattern_parse(text, arch, t, &p, &error) != TW_OK) fail_msg("%s: %s", text, error.text);
  return p;
}

static cdna_swizzle swizzle(const char *text) {
  cdna_swizzle s;
  tw_error error;
  if (cdna_swizzle_parse(text, &s, &error) != TW_OK) fail_msg("%s: %s", text, error.text);
  return s;
}

/* Of the worst phase of all instructions that move the tile. */
static int worst(const char *access, cdna_arch arch, const cdna_tile *t, const char *how) {
  cdna_pattern p = pattern(access, arch, t);
  const cdna_swizzle s = swizzle(how);
  int ways = 0;
  for (size_t i = 0; i < p.n; i++) {
    uint32_t address[CDNA_LANES];
    cdna_lds_count count;
    cdna_pattern_addresses(&p, i, t, &s, address);
    cdna_lds_count_access(p.rule, p.instruction->kind, p.instruction->bytes, address, ~0ull, &count);
    if (count.worst > ways) ways = count.worst;
  }
  cdna_pattern_free(&p);
  return ways;
}

/* ---- rules ---- */

static void every_rule_serves_each_lane_once(void **state) {
  static const int sizes[] = {1, 2, 4, 8, 12, 16};
  for (int arch = 0; arch < CDNA_ARCHES; arch++)
    for (int kind = 0; kind < CDNA_LDS_KINDS; kind++)
      for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const cdna_lds_rule *r = cdna_lds_rule_of((cdna_arch)arch, (cdna_lds_kind)kind, sizes[s]);
        uint64_t all = 0;
        for (int p = 0; p < r->phases; p++) {
          assert_true((all & r->lanes[p]) == 0);
          all |= r->lanes[p];
          /* a phase never asks for more than its banks hold */
          assert_true(__builtin_popcountll(r->lanes[p]) * sizes[s] <= r->banks * CDNA_BANK_BYTES);
        }
        assert_true(all == ~0ull);
      }
  assert_null(cdna_lds_rule_of(CDNA4, CDNA_LDS_READ, 3));
}

/* tests/data/cdna/table5-phases.csv: HipKittens, table 5. */
static void table_5_is_reproduced(void **state) {
  char *text, *rest = NULL;
  assert_int_equal(tw_file_read(TW_TEST_DATA "/cdna/table5-phases.csv", 1 << 16, &text, NULL, NULL), TW_OK);
  int rows = 0, phases = 0;
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    char name[32], lanes[64];
    int banks, phase;
    if (sscanf(line, "%31[^,],%d,%d,%63[^\n]", name, &banks, &phase, lanes) != 4) continue;
    const cdna_lds_instruction *i = cdna_lds_instruction_find(name);
    const cdna_lds_rule *r = cdna_lds_rule_of(CDNA4, i->kind, i->bytes);
    uint64_t expected = 0;
    char *more = NULL;
    for (char *run = strtok_r(lanes, " ", &more); run; run = strtok_r(NULL, " ", &more)) {
      int first, last;
      assert_int_equal(sscanf(run, "%d-%d", &first, &last), 2);
      for (int lane = first; lane <= last; lane++) expected |= 1ull << lane;
    }
    assert_int_equal(r->banks, banks);
    assert_true(r->is_measured);
    if (r->lanes[phase] != expected) fail_msg("%s phase %d", name, phase);
    if (phase == 0) phases += r->phases;
    rows++;
  }
  assert_int_equal(rows, 18);
  assert_int_equal(phases, rows);
  free(text);
}

/* amd-shark-ai, docs/empirical-lds/cdna3info.md: rocprof's conflicts of 64 reads on MI300X, by bytes between lanes. */
static void conflicts_are_those_that_were_counted_on_mi300x(void **state) {
  static const struct {
    const char *name;
    int bytes, conflicts[8];
  } rows[] = {{"ds_read_b32", 4, {0, 128, 384, 896, 1920, 3968, 3968, 3968}},
              {"ds_read_b64", 8, {0, 256, 768, 1792, 3840, 3840, 3840, -1}},
              {"ds_read_b128", 16, {0, 512, 1536, 3584, 3584, 3584, -1, -1}}};
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    const cdna_lds_rule *rule = cdna_lds_rule_of(CDNA3, CDNA_LDS_READ, rows[r].bytes);
    for (int i = 0; i < 8 && rows[r].conflicts[i] >= 0; i++) {
      uint32_t address[CDNA_LANES];
      cdna_lds_count count;
      for (int lane = 0; lane < CDNA_LANES; lane++) address[lane] = (uint32_t)((rows[r].bytes << i) * lane);
      cdna_lds_count_access(rule, CDNA_LDS_READ, rows[r].bytes, address, ~0ull, &count);
      assert_int_equal(64 * (count.turns - count.phases), rows[r].conflicts[i]);
    }
  }
}

static void equal_dwords_are_broadcast_but_not_to_atomics(void **state) {
  uint32_t address[CDNA_LANES];
  cdna_lds_count count;
  for (int lane = 0; lane < CDNA_LANES; lane++) address[lane] = 128; /* all one dword */
  const cdna_lds_rule *read = cdna_lds_rule_of(CDNA3, CDNA_LDS_READ, 4);
  cdna_lds_count_access(read, CDNA_LDS_READ, 4, address, ~0ull, &count);
  assert_int_equal(count.turns, 2);
  cdna_lds_count_access(read, CDNA_LDS_ATOMIC, 4, address, ~0ull, &count);
  assert_int_equal(count.turns, 64);
  for (int lane = 0; lane < CDNA_LANES; lane++) address[lane] = 128u + (uint32_t)(lane & 1); /* two bytes of it */
  cdna_lds_count_access(read, CDNA_LDS_READ, 1, address, ~0ull, &count);
  assert_int_equal(count.turns, 2);
  cdna_lds_count_access(read, CDNA_LDS_READ, 4, address, 0xf, &count); /* no lane of the second phase */
  assert_int_equal(count.phases, 1);
  assert_int_equal(count.phase[1].turns, 0);
  cdna_lds_count_access(read, CDNA_LDS_READ, 4, address, 0, &count);
  assert_int_equal(count.turns, 0);
}

/* HipKittens, figure 20: in a 16x32 column layout, lane 4 fetches the second row's first elements, and lane 0 gets
 * rows 0 to 3 of column 0. */
static void transposing_reads_exchange_elements_within_16_lanes(void **state) {
  for (int items = 4; items <= 16; items *= 2)
    for (int lane = 0; lane < CDNA_LANES; lane++)
      for (int n = 0; n < items; n++) {
        /* an area of `items` rows of 16 elements, 16 lanes fetching `items` of them each in order */
        const cdna_lds_source s = cdna_lds_transposed(items, lane, n);
        const int element = (s.lane & 15) * items + s.item;
        assert_int_equal(s.lane & ~15, lane & ~15);
        assert_int_equal(element / 16, n);         /* row n .. */
        assert_int_equal(element % 16, lane & 15); /* .. of the lane's own column */
      }
  const cdna_tile t = tile_of(16, 32, CDNA_BF16);
  cdna_pattern p = pattern("ds_read_b64_tr_b16:col16x32s8", CDNA4, &t);
  assert_int_equal(p.n, 2);
  assert_int_equal(p.address[0][0], 0);
  assert_int_equal(p.address[0][3], 3 * 8);
  assert_int_equal(p.address[0][4], 64); /* the second row */
  assert_int_equal(p.address[0][16], 32);
  assert_int_equal(p.address[0][32], 8 * 64); /* k = 8 */
  assert_int_equal(p.address[1][0], 4 * 64);
  cdna_pattern_free(&p);
}

/* ---- patterns ---- */

static void patterns_of_operands_and_of_hipkittens_agree(void **state) {
  static const struct {
    const char *a, *b;
    int rows, columns;
    cdna_type type;
  } rows[] = {
      {"ds_read_b128:row16x32s8", "ds_read_b128:a.v_mfma_f32_16x16x32_bf16", 16, 32, CDNA_BF16},
      {"ds_read_b128:row32x16s8", "ds_read_b128:a.v_mfma_f32_32x32x16_bf16", 32, 16, CDNA_BF16},
      {"ds_read_b64:row16x16s4", "ds_read_b64:a.v_mfma_f32_16x16x16_f16", 16, 16, CDNA_F16},
      {"ds_read_b128:row16x128s16", "ds_read_b128:a.v_mfma_f32_16x16x128_f8f6f4", 16, 128, CDNA_FP8},
      {"ds_read_b64_tr_b16:col16x32s8", "ds_read_b64_tr_b16:b.v_mfma_f32_32x32x16_bf16", 16, 32, CDNA_BF16},
      {"ds_read_b64_tr_b8:col128x16s16", "ds_read_b64_tr_b8:b.v_mfma_f32_16x16x128_f8f6f4", 128, 16, CDNA_FP8},
      {"ds_read_b96_tr_b6:col128x16s32", "ds_read_b96_tr_b6:b.v_mfma_f32_16x16x128_f8f6f4", 128, 16, CDNA_FP6},
  };
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    const cdna_tile t = tile_of(rows[r].rows, rows[r].columns, rows[r].type);
    cdna_pattern a = pattern(rows[r].a, CDNA4, &t), b = pattern(rows[r].b, CDNA4, &t);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.address, b.address, a.n * sizeof *a.address);
    assert_true(a.in_tile);
    cdna_pattern_free(&a);
    cdna_pattern_free(&b);
  }
}

static void patterns_that_do_not_fit_are_refused(void **state) {
  static const struct {
    const char *text, *why;
  } rows[] = {{"ds_read_b128", "INSTRUCTION:LAYOUT"},
              {"ds_read_b256:linear", "not an LDS instruction"},
              {"ds_read_b128:row16x32", "row16x32s8"},
              {"ds_read_b128:row16x24s8", "evenly"},
              {"ds_read_b128:diag", "expected row16x32s8"},
              {"ds_read_b128:col16x32s8", "are not adjacent"},
              {"ds_read_b64_tr_b16:row16x32s8", "transposing reads require a layout that runs along columns"},
              {"ds_read_b64_tr_b8:col16x32s8", "transposes elements of 8 bits"},
              {"ds_read_b128:a.v_mfma_f32_16x16x16_f16", "is not a multiple of the instruction's 16 bytes"},
              {"ds_read_b128:a.v_mfma_f32_16x16x9_f16", "unknown matrix instruction"},
              {"ds_write_b128:c.v_mfma_f32_16x16x16_f16", "elements have 32 bits"},
              {"ds_read_b64:row32x32s4", "must be multiples of one another"},
              {"global_load_lds_dwordx4:row16x32s8", "linear"}};
  const cdna_tile t = tile_of(16, 32, CDNA_BF16), odd = tile_of(16, 48, CDNA_BF16);
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    cdna_pattern p;
    tw_error error = {0};
    assert_int_equal(cdna_pattern_parse(rows[r].text, CDNA4, strstr(rows[r].text, "32x32") ? &odd : &t, &p, &error),
                     TW_USAGE);
    if (!strstr(error.text, rows[r].why)) fail_msg("%s: %s", rows[r].text, error.text);
  }
  cdna_pattern p;
  tw_error error = {0};
  assert_int_equal(cdna_pattern_parse("ds_read_b64_tr_b16:col16x16s4", CDNA3, &t, &p, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "this machine has no"));
}

/* ---- swizzles ---- */

/* What the papers say of each: conflicts without, none with. */
static void published_swizzles_do_what_they_are_for(void **state) {
  static const struct {
    cdna_arch arch;
    int rows, columns;
    cdna_type type;
    const char *access, *swizzle;
    int without, with;
  } rows[] = {
      {CDNA4, 16, 32, CDNA_BF16, "ds_read_b128:row16x32s8", "st_16x32", 2, 1}, /* figure 4 */
      {CDNA4, 16, 32, CDNA_BF16, "ds_read_b64_tr_b16:col16x32s8", "st_16x32", 1, 1},
      {CDNA4, 32, 16, CDNA_BF16, "ds_read_b128:row32x16s8", "st_32x16", 2, 1},
      {CDNA4, 32, 32, CDNA_BF16, "ds_read_b128:row32x32s8", "st_32x32", 4, 1},
      {CDNA4, 32, 32, CDNA_BF16, "ds_read_b128:row16x32s8", "st_32x32", 2, 1},
      {CDNA4, 32, 32, CDNA_BF16, "ds_read_b64_tr_b16:col16x32s8", "st_32x32", 1, 1},
      {CDNA4, 32, 32, CDNA_BF16, "ds_read_b64_tr_b16:col32x16s8", "st_32x32", 2, 1},
      {CDNA4, 16, 16, CDNA_BF16, "ds_write_b64:row16x16s4", "st_16x16_swizzled", 4, 1}, /* appendix D.1 */
      {CDNA4, 16, 128, CDNA_FP8, "ds_read_b128:row16x128s16", "st_16x128", 4, 1},
      {CDNA3, 16, 16, CDNA_BF16, "ds_read_b64:row16x16s4", "cdna3_32", 4, 1},
      {CDNA3, 16, 32, CDNA_BF16, "ds_read_b64:row16x32s4", "cdna3_64", 8, 1},
      {CDNA3, 16, 64, CDNA_BF16, "ds_read_b64:row16x64s4", "cdna3_128", 16, 1},
  };
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    const cdna_tile t = tile_of(rows[r].rows, rows[r].columns, rows[r].type);
    const int without = worst(rows[r].access, rows[r].arch, &t, "none"),
              with = worst(rows[r].access, rows[r].arch, &t, rows[r].swizzle);
    if (without != rows[r].without || with != rows[r].with)
      fail_msg("%dx%d %s: %d-way, with %s %d-way", t.rows, t.columns, rows[r].access, without, rows[r].swizzle, with);
  }
}

static void swizzles_are_bijections_and_print_as_they_are_read(void **state) {
  const cdna_published_swizzle *p;
  for (size_t i = 0; (p = cdna_published_swizzle_at(i)); i++) {
    const cdna_swizzle s = swizzle(p->name);
    char text[CDNA_SWIZZLE_TEXT];
    uint8_t hit[4096] = {0};
    cdna_swizzle_print(&s, text);
    assert_string_equal(text, p->terms);
    for (uint32_t o = 0; o < sizeof hit; o++) {
      assert_true(cdna_swizzle_of(&s, o) < sizeof hit);
      assert_int_equal(hit[cdna_swizzle_of(&s, o)]++, 0);
    }
  }
  const cdna_swizzle hk = swizzle("st_32x32");
  for (uint32_t o = 0; o < 2048; o++)
    assert_int_equal(cdna_swizzle_of(&hk, o), o ^ (((o % 1024) >> 9) << 5) ^ (((o % 2048) >> 10) << 4));
  static const char *const bad[] = {"st_9x9",   "1024:9",   "1000:9:5",  "1024:10:5",
                                    "1024:5:9", "1024:9:1", "1024:9:5x", "64:5:4+128:6:4+256:7:4+512:8:4+1024:9:4",
                                    ""};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    cdna_swizzle s;
    tw_error error;
    assert_int_equal(cdna_swizzle_parse(bad[i], &s, &error), TW_USAGE);
  }
}

/* ---- the solver ---- */

enum { ACCESSES = 64 };

typedef struct question {
  size_t n;
  cdna_wave_access access[ACCESSES];
  cdna_pattern pattern[4];
  size_t n_patterns;
} question;

static cdna_solution solve(cdna_arch arch, const cdna_tile *t, size_t n, const char *const texts[]) {
  question q = {0};
  cdna_solution s;
  tw_error error;
  for (; q.n_patterns < n; q.n_patterns++) {
    cdna_pattern *p = &q.pattern[q.n_patterns];
    *p = pattern(texts[q.n_patterns], arch, t);
    for (size_t i = 0; i < p->n; i++)
      q.access[q.n++] = (cdna_wave_access){p->rule, p->instruction->bytes, p->address[i]};
  }
  if (cdna_swizzle_solve(q.access, q.n, cdna_tile_bytes(t), &s, &error) != TW_OK) fail_msg("%s", error.text);
  for (size_t i = 0; i < n; i++) cdna_pattern_free(&q.pattern[i]);
  if (s.kind == CDNA_SWIZZLE_FOUND) { /* what it finds is free of conflicts, as counted */
    char text[CDNA_SWIZZLE_TEXT];
    cdna_swizzle_print(&s.swizzle, text);
    for (size_t i = 0; i < n; i++) assert_int_equal(worst(texts[i], arch, t, text), 1);
  }
  return s;
}

static void expect_found(cdna_arch arch, const cdna_tile *t, size_t n, const char *const texts[], const char *terms) {
  char text[CDNA_SWIZZLE_TEXT];
  const cdna_solution s = solve(arch, t, n, texts);
  if (s.kind != CDNA_SWIZZLE_FOUND) fail_msg("%s: %s", texts[0], s.why);
  cdna_swizzle_print(&s.swizzle, text);
  if (strcmp(text, terms) != 0) fail_msg("%s: found %s instead of %s", texts[0], text, terms);
}

static void the_solver_finds_the_published_swizzles(void **state) {
  const cdna_tile a = tile_of(16, 32, CDNA_BF16), b = tile_of(32, 16, CDNA_BF16), c = tile_of(16, 16, CDNA_BF16),
                  d = tile_of(16, 128, CDNA_FP8), e = tile_of(32, 32, CDNA_BF16);
  expect_found(CDNA4, &a, 1, (const char *[]){"ds_read_b64_tr_b16:col16x32s8"}, "none");
  /* one bit, as HipKittens; which one of several is the solver's order */
  const cdna_solution one =
      solve(CDNA4, &a, 2, (const char *[]){"ds_read_b128:row16x32s8", "ds_read_b64_tr_b16:col16x32s8"});
  assert_int_equal(one.kind, CDNA_SWIZZLE_FOUND);
  assert_int_equal(one.swizzle.n, 1);
  assert_int_equal(one.swizzle.term[0].end - one.swizzle.term[0].begin, 1);
  assert_int_equal(solve(CDNA4, &b, 1, (const char *[]){"ds_read_b128:row32x16s8"}).swizzle.n, 1);
  expect_found(CDNA4, &c, 1, (const char *[]){"ds_write_b64:row16x16s4"}, "512:7:3");
  const cdna_solution bytes = solve(CDNA4, &d, 1, (const char *[]){"ds_read_b128:row16x128s16"});
  assert_int_equal(bytes.swizzle.n, 1); /* two bits: HipKittens moves three */
  assert_int_equal(bytes.swizzle.term[0].end - bytes.swizzle.term[0].begin, 2);
  const cdna_solution all = solve(CDNA4, &e, 4,
                                  (const char *[]){"ds_read_b128:row32x32s8", "ds_read_b128:row16x32s8",
                                                   "ds_read_b64_tr_b16:col16x32s8", "ds_read_b64_tr_b16:col32x16s8"});
  assert_int_equal(all.kind, CDNA_SWIZZLE_FOUND);
}

/* HipKittens, appendix D.1: writing a 16x16 tile by ds_write_b64 and reading 16x32 by ds_read_b128 want different ones.
 * */
static void the_counter_example_has_no_swizzle(void **state) {
  const cdna_tile t = tile_of(16, 16, CDNA_BF16);
  cdna_pattern write = pattern("ds_write_b64:row16x16s4", CDNA4, &t);
  const cdna_tile wide = tile_of(16, 32, CDNA_BF16);
  cdna_pattern read = pattern("ds_read_b128:row16x32s8", CDNA4, &wide);
  const cdna_wave_access both[] = {{write.rule, 8, write.address[0]}, {read.rule, 16, read.address[0]}};
  cdna_solution s;
  assert_int_equal(cdna_swizzle_solve(both, 2, 1024, &s, NULL), TW_OK);
  assert_int_equal(s.kind, CDNA_SWIZZLE_IMPOSSIBLE);
  assert_int_equal(s.piece, 16);
  assert_non_null(strstr(s.why, "16 of them"));
  assert_int_equal(cdna_swizzle_solve(both, 1, 1024, &s, NULL), TW_OK); /* each alone has one */
  assert_int_equal(s.kind, CDNA_SWIZZLE_FOUND);
  assert_int_equal(cdna_swizzle_solve(both + 1, 1, 1024, &s, NULL), TW_OK);
  assert_int_equal(s.kind, CDNA_SWIZZLE_FOUND);
  cdna_pattern_free(&write);
  cdna_pattern_free(&read);
}

/* All matrices: bank = low bits of the piece's index, plus any XOR of the others into any of them. */
static bool brute_force(const cdna_wave_access *access, size_t n, int piece_bits, int bank_bits, int offset_bits) {
  const int k = bank_bits - piece_bits, all = offset_bits - piece_bits;
  for (uint64_t code = 0; code < 1ull << (k * all); code++) {
    bool is_free = true;
    for (size_t a = 0; a < n && is_free; a++)
      for (int p = 0; p < access[a].rule->phases && is_free; p++) {
        uint32_t owner[CDNA_BANKS_MAX];
        memset(owner, 0xff, sizeof owner);
        for (int lane = 0; lane < CDNA_LANES && is_free; lane++) {
          if (!(access[a].rule->lanes[p] >> lane & 1)) continue;
          const uint32_t piece = access[a].address[lane] >> piece_bits;
          int bank = 0;
          for (int row = 0; row < k; row++)
            bank |= __builtin_parityll(code >> (row * all) & ((1u << all) - 1) & piece) << row;
          is_free = owner[bank] == UINT32_MAX || owner[bank] == piece;
          owner[bank] = piece;
        }
      }
    if (is_free) return true;
  }
  return false;
}

/* Random pieces of 16 bytes in a tile of 512: 3 bank bits of 32 banks, 5 bits of offset, so that 2^15 maps can be
 * tried. */
static void the_solver_decides_as_trying_all_linear_maps_does(void **state) {
  tw_random random;
  tw_random_seed(&random, 7);
  int found = 0, refuted = 0;
  for (int trial = 0; trial < 60; trial++) {
    uint32_t address[3][CDNA_LANES];
    cdna_wave_access access[3];
    const size_t n = 1 + (size_t)(trial % 3);
    for (size_t a = 0; a < n; a++) {
      access[a] = (cdna_wave_access){cdna_lds_rule_of(CDNA3, CDNA_LDS_READ, 16), 16, address[a]};
      for (int lane = 0; lane < CDNA_LANES; lane++)
        address[a][lane] = 16 * (uint32_t)(tw_random_next(&random) % 32 & (lane & 16 ? 31 : lane & 4 ? 0x1b : 0x1f));
      for (int lane = 0; lane < CDNA_LANES; lane++) /* few distinct ones, or none would be free */
        if (tw_random_next(&random) % 8) address[a][lane] = address[a][lane & 0x24];
    }
    cdna_solution s;
    assert_int_equal(cdna_swizzle_solve(access, n, 512, &s, NULL), TW_OK);
    const bool exists = brute_force(access, n, 4, 7, 9);
    if (exists != (s.kind == CDNA_SWIZZLE_FOUND || s.kind == CDNA_SWIZZLE_TOO_COMPLEX))
      fail_msg("trial %d: %d, but %s", trial, exists, s.why);
    found += exists;
    refuted += !exists;
  }
  assert_true(found >= 10);
  assert_true(refuted >= 10);
}

static void addresses_that_cannot_be_swizzled_are_refused(void **state) {
  uint32_t address[CDNA_LANES] = {0};
  cdna_wave_access a = {cdna_lds_rule_of(CDNA4, CDNA_LDS_READ, 12), 12, address};
  cdna_solution s;
  tw_error error;
  address[5] = 12; /* packed 12-byte pieces: appendix F of the paper gives up on them, too */
  assert_int_equal(cdna_swizzle_solve(&a, 1, 1024, &s, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "a swizzle would split them"));
  address[5] = 16;
  assert_int_equal(cdna_swizzle_solve(&a, 1, 1024, &s, &error), TW_OK);
  address[5] = 2048;
  assert_int_equal(cdna_swizzle_solve(&a, 1, 1024, &s, &error), TW_USAGE);
  assert_int_equal(cdna_swizzle_solve(&a, 1, 1 << 20, &s, &error), TW_USAGE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_rule_serves_each_lane_once),
      cmocka_unit_test(table_5_is_reproduced),
      cmocka_unit_test(conflicts_are_those_that_were_counted_on_mi300x),
      cmocka_unit_test(equal_dwords_are_broadcast_but_not_to_atomics),
      cmocka_unit_test(transposing_reads_exchange_elements_within_16_lanes),
      cmocka_unit_test(patterns_of_operands_and_of_hipkittens_agree),
      cmocka_unit_test(patterns_that_do_not_fit_are_refused),
      cmocka_unit_test(published_swizzles_do_what_they_are_for),
      cmocka_unit_test(swizzles_are_bijections_and_print_as_they_are_read),
      cmocka_unit_test(the_solver_finds_the_published_swizzles),
      cmocka_unit_test(the_counter_example_has_no_swizzle),
      cmocka_unit_test(the_solver_decides_as_trying_all_linear_maps_does),
      cmocka_unit_test(addresses_that_cannot_be_swizzled_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
