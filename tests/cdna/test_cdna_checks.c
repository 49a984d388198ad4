/* test_cdna_checks.c - each check finds the mistake of a kernel made for it (tests/data/cdna/checks.c), on the line
 * where it is, and nothing in the kernel beside it, nor in those that are honest. Skipped without clang-22. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#include "base/files.h"
#include <jansson.h>

#include "target/cdna/checks/checks.h"
#include "target/cdna/layout/pattern.h"
#include "target/cdna/toolchain.h"
#include "target/parse.h"

enum { GROUPS = 3, BLOCK = 128, ITEMS = GROUPS * BLOCK };

static char *object[CDNA_ARCHES];
static cdna_object code[CDNA_ARCHES];

static int compile(void **state) {
  char path[300], *source;
  size_t length, size;
  tw_error error = {0};
  snprintf(path, sizeof path, "%s/cdna/checks.c", TW_TEST_DATA);
  if (tw_file_read(path, 1 << 20, &source, &length, &error) != TW_OK) return 1;
  for (int arch = 0; arch < CDNA_ARCHES; arch++)
    if (cdna_compile((cdna_arch)arch, source, length, &(tw_evaluation){.trust = true}, NULL, &object[arch], &size,
                     &error) != TW_OK ||
        cdna_object_read(object[arch], size, "checks", &code[arch], &error) != TW_OK) {
      fprintf(stderr, "%s\n", error.text);
      return 1;
    }
  free(source);
  return 0;
}

static int release(void **state) {
  for (int arch = 0; arch < CDNA_ARCHES; arch++) {
    cdna_object_free(&code[arch]);
    free(object[arch]);
  }
  return 0;
}

/* An inspection with the texts of its findings, a line each. */
typedef struct seen {
  char *findings, *keys, *counted, *json;
  size_t n_errors;
} seen;

static seen seen_of(tw_inspection *i) {
  tw_text findings = {0}, keys = {0};
  seen out = {.counted = i->counted, .json = i->json};
  for (size_t f = 0; f < i->n_findings; f++) {
    tw_text_add(&findings, "%s\n", i->finding[f].text);
    tw_text_add(&keys, "%s\n", i->finding[f].key);
    out.n_errors += !i->finding[f].is_warning;
  }
  out.findings = tw_text_take(&findings);
  out.keys = tw_text_take(&keys);
  i->counted = i->json = NULL;
  tw_inspection_free(i);
  return out;
}

static void free_seen(seen *s) {
  free(s->findings);
  free(s->keys);
  free(s->counted);
  free(s->json);
}

/* Numbers of threads; or workgroup by workgroup, the last one first, with one checker or each with its own. */
enum { ONE_CHECKER = -1, OWN_CHECKERS = -2 };

static void run_apart(const cdna_kernel *k, const cdna_object *o, cdna_launch l, cdna_memory *m, cdna_checker *c,
                      const tw_inspection *i, bool own) {
  tw_error error = {0};
  for (l.first = GROUPS, l.count = 1; l.first-- > 0;) {
    cdna_checker *now = c;
    if (own) assert_int_equal(cdna_checker_new(i, &now, &error), TW_OK);
    l.observer = cdna_checker_start(now);
    if (cdna_run(o, k, &l, m, NULL, &error) != TW_OK) fail_msg("%s: %s", k->name, error.text);
    if (!own) continue;
    cdna_checker_start(now); /* frees the state of the run */
    cdna_checker_add(c, now);
    cdna_checker_free(now);
  }
}

/* The findings of a kernel, in words; with counts if there are no checks. */
static int in[ITEMS], out[ITEMS];
static seen run(int arch, const char *name, const char *checks, int jobs) {
  const cdna_kernel *k;
  cdna_memory m = {0};
  cdna_checker *c;
  tw_error error = {0};
  tw_inspection result = {.checks = checks, .counts = !strcmp(checks, "none")};
  assert_int_equal(cdna_object_kernel(&code[arch], name, &k, &error), TW_OK);
  const uint64_t to = cdna_memory_add(&m, out, sizeof out, true, "out");
  cdna_memory_undefined(&m, 0, 0);
  const uint64_t block[] = {to, cdna_memory_add(&m, in, sizeof in, false, "in")};
  assert_int_equal(cdna_checker_new(&result, &c, &error), TW_OK);
  const cdna_launch launch = {.grid = {GROUPS, 1, 1},
                              .block = {BLOCK, 1, 1},
                              .lds = 8192,
                              .arguments = block,
                              .argument_bytes = sizeof block,
                              .jobs = jobs > 0 ? jobs : 1,
                              .observer = c ? cdna_checker_start(c) : NULL};
  if (jobs < 0)
    run_apart(k, &code[arch], launch, &m, c, &result, jobs == OWN_CHECKERS);
  else if (cdna_run(&code[arch], k, &launch, &m, NULL, &error) != TW_OK)
    fail_msg("%s: %s", name, error.text);
  if (c) cdna_checker_report(c, &code[arch], k, cdna_machine_of_arch(arch), &result);
  cdna_checker_free(c);
  return seen_of(&result);
}

static seen findings_of(int arch, const char *name, const char *checks, int jobs) {
  for (int i = 0; i < ITEMS; i++) in[i] = i, out[i] = 0x5a5a5a5a;
  return run(arch, name, checks, jobs);
}

static const struct mistake {
  const char *kernel, *check, *words;
  int errors;
} mistakes[] = {
    {"register_stored", "uninitialized", "reads v60, which was never written; the stored value", 1},
    {"scalar_branch", "uninitialized", "reads s90, which was never written; the next instruction", 1},
    {"address", "uninitialized", "reads v60, which was never written; an address", 1},
    {"lds_read", "uninitialized", "reads LDS at", 1},
    {"memory_read", "uninitialized", "of out (1536 bytes), which was never written; the stored", 1},
    {"race", "races", "which wave 0 writes in ds_write_b32", 1},
    {"race_to_another", "races", "wave 1 writes LDS at 0, which wave 0 writes in ds_write_b32", 1},
    {"write_after_read", "races", "wave 0 writes LDS at 0, which wave 1 reads in ds_read_b32", 1},
    {"counter_read_early", "races", "which wave 1 writes in ds_max", 1},
    {"wide_sum_above", "uninitialized", "reads v61, which was never written", 1},
    {"write_not_waited", "races", "s_waitcnt lgkmcnt is missing before the barrier", 1},
    {"load_not_waited", "waits", "reads v60, which global_load_dword", 1},
    {"eighth_of_70", "waits", "reads v67, which global_load_dword", 1},
    {"scalar_not_waited", "waits", "reads s90, which s_load_dword", 1},
    {"direct_not_waited", "races", "s_waitcnt vmcnt is missing", 1},
    {"matrix_too_early", "hazards", "reads v79 10 wait states after v_mfma_f32_32x32x8_f16", 1},
    {"lane_too_early", "hazards", "reads s90 2 wait states after v_readfirstlane_b32", 1},
    {"transcendental_too_early", "hazards", "reads v60 0 wait states after v_exp_f32", 1},
    {"division_too_early", "hazards", "reads vcc 3 wait states after v_cmp_eq_u32", 1},
    {"misaligned", "alignment", "which is not a multiple of 4", 1},
    {"scalar_misaligned", "alignment", "the lowest bits are ignored", 1},
    {"divergent", "barriers", "a barrier in divergent code: 32 of the wave's 64 lanes are inactive here for the first",
     1},
    {"one_wave_at_a_barrier", "barriers", "wave 1 has ended after 0", 1},
    {"overlap", "overlaps", "than workgroup", 1},
    {"defect", "defects", "op_sel:[0,1,0]", 0},
};

static void expect(const seen *i, const struct mistake *m) {
  if (!i->findings || !strstr(i->findings, m->words) || strncmp(i->findings, m->check, strlen(m->check)) != 0)
    fail_msg("%s: expected %s: ... %s, found: %s", m->kernel, m->check, m->words, i->findings);
  /* on a line of the kernel, by one wave of one workgroup */
  assert_non_null(strstr(i->findings, "(kernel.c:"));
  assert_non_null(strstr(i->findings, "workgroup "));
  for (const char *line = i->findings; *line; line = strchr(line, '\n') + 1)
    if (strncmp(line, m->check, strlen(m->check)) != 0) fail_msg("%s: also found: %s", m->kernel, line);
  assert_int_equal(i->n_errors > 0, m->errors);
  /* what identifies it has neither workgroup nor values */
  char start[100];
  snprintf(start, sizeof start, "%s %s ", m->check, m->kernel);
  if (strncmp(i->keys, start, strlen(start)) != 0 || !strstr(i->keys, " kernel.c:") || strstr(i->keys, "workgroup"))
    fail_msg("%s", i->keys);
}

static void test_each_mistake_is_found_alone(void **state) {
  for (int arch = 0; arch < CDNA_ARCHES; arch++)
    for (size_t m = 0; m < sizeof mistakes / sizeof *mistakes; m++) {
      if (!strcmp(mistakes[m].check, "defects") && arch == CDNA3) continue;
      seen i = findings_of(arch, mistakes[m].kernel, "all", 1);
      expect(&i, &mistakes[m]);
      free_seen(&i);
      /* the same by its own check, on several threads; nothing by the others */
      seen alone = findings_of(arch, mistakes[m].kernel, mistakes[m].check, 2);
      expect(&alone, &mistakes[m]);
      free_seen(&alone);
      for (int c = 0; c < CDNA_CHECKS; c++) {
        if (!strcmp(cdna_check_name((cdna_check)c), mistakes[m].check)) continue;
        seen other = findings_of(arch, mistakes[m].kernel, cdna_check_name((cdna_check)c), 1);
        if (other.findings && *other.findings) fail_msg("%s: %s", mistakes[m].kernel, other.findings);
        free_seen(&other);
      }
    }
}

/* Also how often, and counts. */
static void test_findings_of_several_checkers_add_up(void **state) {
  static const char *const lists[] = {"all", "none"};
  for (size_t m = 0; m < sizeof mistakes / sizeof *mistakes; m++)
    for (int l = 0; l < 2; l++) {
      seen one = findings_of(CDNA4, mistakes[m].kernel, lists[l], ONE_CHECKER),
           own = findings_of(CDNA4, mistakes[m].kernel, lists[l], OWN_CHECKERS);
      const bool alone = strcmp(mistakes[m].check, "overlaps") != 0; /* else two workgroups in one run are needed */
      assert_true(l ? one.json != NULL : !alone || *one.findings);
      assert_string_equal(one.findings ? one.findings : "", own.findings ? own.findings : "");
      assert_string_equal(one.json ? one.json : "", own.json ? own.json : "");
      free_seen(&one);
      free_seen(&own);
    }
}

static void test_nothing_is_found_without_mistakes(void **state) {
  int n = 0;
  for (int arch = 0; arch < CDNA_ARCHES; arch++)
    for (size_t k = 0; k < code[arch].n_kernels; k++) {
      const char *name = code[arch].kernel[k].name;
      if (strncmp(name, "ok_", 3) != 0) continue;
      seen i = findings_of(arch, name, "all", 1);
      if (!i.findings || *i.findings) fail_msg("%s: %s", name, i.findings);
      free_seen(&i);
      n++;
    }
  assert_true(n > 25);
}

/* Kernels of the library's users, as the compiler makes them. */
static void test_honest_kernels_have_no_findings(void **state) {
  static const struct { const char *file, *a; } kernels[] = {{"gemm_f32_lds.c", "f32"}, {"gemm_bf16_mfma.c", "bf16"}};
  for (int m = 0; m < 4; m++) {
    const tw_target *t = tw_target_find(m & 1 ? "cdna4" : "cdna3");
    char path[300], *source, types[3][16];
    size_t length;
    tw_error error = {0};
    tw_problem p;
    tw_case inputs = {0};
    tw_artefact *artefact = NULL;
    tw_inspection i = {.checks = "all"};
    tw_evaluation e = {.trust = true, .inspection = &i};
    static const char keys[] = "abc";
    for (int k = 0; k < 3; k++) snprintf(types[k], sizeof types[k], "%c=%s", keys[k], k < 2 ? kernels[m / 2].a : "f32");
    const char *words[] = {"m=128", "n=128", "k=48", types[0], types[1], types[2]};
    snprintf(path, sizeof path, "%s/cdna/%s", TW_TEST_DATA, kernels[m / 2].file);
    if (m / 2) words[2] = "k=96";
    assert_int_equal(tw_file_read(path, 1 << 20, &source, &length, &error), TW_OK);
    tw_status status = tw_problem_parse_words(NULL, "gemm", 6, words, &p, &error);
    if (status == TW_OK) status = tw_target_supports(t, &p, &error);
    if (status == TW_OK) status = t->build(t, &p, source, length, &e, &artefact, &error);
    if (status == TW_OK) status = tw_target_case(t, &p, 7, 2, &inputs, &error);
    if (status == TW_OK) status = t->check(t, artefact, &inputs, &e, &error);
    if (status != TW_OK) fail_msg("%s: %s", kernels[m / 2].file, error.text);
    if (i.n_findings) fail_msg("%s: %s", kernels[m / 2].file, i.finding->text);
    tw_inspection_free(&i);
    tw_case_free(&inputs);
    t->release(artefact);
    free(source);
  }
}

/* ---- counts ---- */

/* A number of the only instruction of that name. */
static long long counted(const seen *i, const char *instruction, const char *key) {
  long long value = -1;
  size_t at;
  json_t *whole = json_loads(i->json, 0, NULL), *one;
  assert_non_null(whole);
  json_array_foreach(json_object_get(whole, "instructions"), at, one) {
    const char *text = json_string_value(json_object_get(one, "text"));
    if (!strncmp(text, instruction, strlen(instruction)) && strchr(" \0", text[strlen(instruction)]))
      value = json_integer_value(json_object_get(one, key));
  }
  json_decref(whole);
  return value;
}

/* Published swizzles, and none: a kernel that uses them has the conflicts that the rules of layout/lds.h predict. */
static void test_swizzles_as_a_kernel_uses_them(void **state) {
  static const struct {
    cdna_arch arch;
    int rows, columns;
    cdna_type type;
    const char *access, *swizzle;
    int worst;
  } rows[] = {
      {CDNA4, 16, 32, CDNA_BF16, "ds_read_b128:row16x32s8", "none", 2},
      {CDNA4, 16, 32, CDNA_BF16, "ds_read_b128:row16x32s8", "st_16x32", 1},
      {CDNA4, 16, 32, CDNA_BF16, "ds_read_b64_tr_b16:col16x32s8", "st_16x32", 1},
      {CDNA4, 32, 16, CDNA_BF16, "ds_read_b128:row32x16s8", "none", 2},
      {CDNA4, 32, 16, CDNA_BF16, "ds_read_b128:row32x16s8", "st_32x16", 1},
      {CDNA4, 32, 32, CDNA_BF16, "ds_read_b128:row32x32s8", "none", 4},
      {CDNA4, 32, 32, CDNA_BF16, "ds_read_b128:row32x32s8", "st_32x32", 1},
      {CDNA4, 32, 32, CDNA_BF16, "ds_read_b64_tr_b16:col32x16s8", "none", 2},
      {CDNA4, 32, 32, CDNA_BF16, "ds_read_b64_tr_b16:col32x16s8", "st_32x32", 1},
      {CDNA4, 16, 16, CDNA_BF16, "ds_write_b64:row16x16s4", "none", 4},
      {CDNA4, 16, 16, CDNA_BF16, "ds_write_b64:row16x16s4", "st_16x16_swizzled", 1},
      {CDNA4, 16, 128, CDNA_FP8, "ds_read_b128:row16x128s16", "none", 4},
      {CDNA4, 16, 128, CDNA_FP8, "ds_read_b128:row16x128s16", "st_16x128", 1},
      {CDNA3, 16, 16, CDNA_BF16, "ds_read_b64:row16x16s4", "none", 4},
      {CDNA3, 16, 16, CDNA_BF16, "ds_read_b64:row16x16s4", "cdna3_32", 1},
      {CDNA3, 16, 32, CDNA_BF16, "ds_read_b64:row16x32s4", "none", 8},
      {CDNA3, 16, 32, CDNA_BF16, "ds_read_b64:row16x32s4", "cdna3_64", 1},
      {CDNA3, 16, 64, CDNA_BF16, "ds_read_b64:row16x64s4", "none", 16},
      {CDNA3, 16, 64, CDNA_BF16, "ds_read_b64:row16x64s4", "cdna3_128", 1},
  };
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    const cdna_tile t = {rows[r].rows, rows[r].columns, rows[r].type,
                         rows[r].columns * cdna_type_bits(rows[r].type) / 8};
    cdna_pattern p;
    cdna_swizzle s;
    tw_error error;
    long long worst = 0;
    assert_int_equal(cdna_pattern_parse(rows[r].access, rows[r].arch, &t, &p, &error), TW_OK);
    assert_int_equal(cdna_swizzle_parse(rows[r].swizzle, &s, &error), TW_OK);
    for (size_t at = 0; at < p.n; at++) {
      uint32_t address[CDNA_LANES];
      cdna_lds_count predicted;
      cdna_pattern_addresses(&p, at, &t, &s, address);
      cdna_lds_count_access(p.rule, p.instruction->kind, p.instruction->bytes, address, ~0ull, &predicted);
      for (int l = 0; l < ITEMS; l++) in[l] = (int)address[l % CDNA_LANES];
      seen i = run(rows[r].arch, p.instruction->name, "none", 1);
      const int waves = GROUPS * BLOCK / CDNA_LANES;
      assert_int_equal(counted(&i, p.instruction->name, "executions"), waves);
      assert_int_equal(counted(&i, p.instruction->name, "lds_turns"), waves * predicted.turns);
      assert_int_equal(counted(&i, p.instruction->name, "lds_phases"), waves * predicted.phases);
      if (counted(&i, p.instruction->name, "lds_worst") > worst) worst = counted(&i, p.instruction->name, "lds_worst");
      free_seen(&i);
    }
    if (worst != rows[r].worst) fail_msg("%s, %s: %lld-way", rows[r].access, rows[r].swizzle, worst);
    cdna_pattern_free(&p);
  }
}

static void test_lanes_lines_and_resources_are_counted(void **state) {
  for (int arch = 0; arch < CDNA_ARCHES; arch++) {
    const int waves = ITEMS / CDNA_LANES;
    seen i = findings_of(arch, "lines", "none", 2);
    assert_non_null(strstr(i.json, "\"fidelity\":\"exact\""));
    assert_null(strstr(i.json, "\"undocumented\":1"));
    assert_int_equal(counted(&i, "global_load_dword", "lines"), 2 * waves);
    assert_int_equal(counted(&i, "global_load_dword", "least_lines"), 2 * waves);
    assert_int_equal(counted(&i, "global_load_dword", "bytes"), 256 * waves);
    assert_int_equal(counted(&i, "global_store_dword", "lines"), 4 * waves);
    assert_int_equal(counted(&i, "global_store_dword", "lanes"), 64 * waves);
    assert_non_null(strstr(i.counted, "64.0 of 64 in vector instructions"));
    assert_non_null(strstr(i.counted, "kernel.c:"));
    assert_non_null(strstr(i.counted, "workgroups a CU"));
    free_seen(&i);
    /* half of the lanes go through the branch */
    seen half = findings_of(arch, "divergent", "none", 1);
    assert_int_equal(counted(&half, "s_barrier", "executions"), waves);
    free_seen(&half);
    seen matrix = findings_of(arch, "ok_matrix", "none", 1);
    assert_int_equal(counted(&matrix, "v_mfma_f32_32x32x8_f16", "executions"), waves);
    assert_non_null(strstr(matrix.counted, "GFLOP in 48 passes"));
    free_seen(&matrix);
  }
}

static void test_code_is_shown_with_its_counts(void **state) {
  char *directory, *path, file[300], counts[300], *text;
  tw_error error = {0};
  const tw_target *t = tw_target_find("cdna4");
  seen i = findings_of(CDNA4, "lines", "none", 1);
  assert_int_equal(tw_directory_temporary(&directory, &error), TW_OK);
  path = tw_path_join(directory, "run.json");
  snprintf(counts, sizeof counts, "counts=%s", path);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fprintf(f, "{\"counts\": %s}", i.json);
  fclose(f);
  assert_int_equal(tw_view_show(t, "code", 1, (const char *[]){counts}, TW_VIEW_TEXT, &text, &error), TW_OK);
  assert_non_null(strstr(text, "kernel.c:"));
  assert_non_null(strstr(text, "           6   64.0                        24 ")); /* the store */
  free(text);
  assert_int_equal(tw_view_show(t, "code", 1, (const char *[]){counts}, TW_VIEW_SVG, &text, &error), TW_OK);
  const char *store = strstr(text, "           6   64.0                        24 ");
  assert_true(store && !strncmp(text, "<svg", 4) && !strcmp(strstr(text, "</svg>"), "</svg>\n"));
  while (store > text && *store != '\n') store--;
  while (store > text && store[-1] != '\n') store--;
  assert_non_null(strstr(store, "<rect")); /* its bar */
  assert_true(strstr(store, "<rect") < strchr(store, '\n'));
  free(text);
  snprintf(file, sizeof file, "file=%s/cdna/vadd.gfx950.co", TW_TEST_DATA);
  assert_int_equal(tw_view_show(t, "code", 1, (const char *[]){file}, TW_VIEW_TEXT, &text, &error), TW_OK);
  assert_non_null(strstr(text, "v_ashrrev_i32_e32 v1, 31, v0"));
  assert_non_null(strstr(text, "s_endpgm\n"));
  free(text);
  assert_int_equal(
      tw_view_show(tw_target_find("cdna3"), "code", 1, (const char *[]){file}, TW_VIEW_TEXT, &text, &error), TW_USAGE);
  assert_int_equal(tw_view_show(t, "code", 0, NULL, TW_VIEW_TEXT, &text, &error), TW_USAGE);
  free_seen(&i);
  tw_directory_remove(directory);
  free(directory);
  free(path);
}

/* The missing barrier comes first, then the value that was not there, whose address stops the kernel. */
static void test_what_comes_first_is_the_cause(void **state) {
  for (int arch = 0; arch < CDNA_ARCHES; arch++) {
    const cdna_kernel *k;
    cdna_memory m = {0};
    cdna_checker *c;
    tw_error error = {0};
    tw_inspection i = {.checks = "all"};
    for (int n = 0; n < ITEMS; n++) in[n] = n & 127;
    assert_int_equal(cdna_object_kernel(&code[arch], "late", &k, &error), TW_OK);
    const uint64_t to = cdna_memory_add(&m, out, sizeof out, true, "out");
    const uint64_t block[] = {to, cdna_memory_add(&m, in, sizeof in, false, "in")};
    assert_int_equal(cdna_checker_new(&i, &c, &error), TW_OK);
    const cdna_launch launch = {.grid = {1, 1, 1},
                                .block = {BLOCK, 1, 1},
                                .arguments = block,
                                .argument_bytes = sizeof block,
                                .observer = cdna_checker_start(c)};
    assert_int_equal(cdna_run(&code[arch], k, &launch, &m, NULL, &error), TW_FAILED);
    assert_non_null(strstr(error.text, "wave 0: lane 0 reads 4 bytes")); /* not what the other wave does then */
    cdna_checker_report(c, &code[arch], k, cdna_machine_of_arch(arch), &i);
    cdna_checker_free(c);
    seen found = seen_of(&i);
    const char *consequence = strstr(found.findings, "\nuninitialized: ds_read_b32");
    if (strncmp(found.findings, "races: ds_write_b32", 19) != 0 || !strstr(found.findings, "wave 1 writes LDS at ") ||
        !strstr(found.findings, "which wave 0 reads in ds_read_b32") || !consequence || strstr(consequence, "races"))
      fail_msg("%s", found.findings);
    free_seen(&found);
  }
}

/* Stopped where it reads too far; or, without that check, what lies there is 0 and what is written there is lost. */
static void test_bounds_are_a_check_as_others(void **state) {
  for (int arch = 0; arch < CDNA_ARCHES; arch++)
    for (int looked = 0; looked < 2; looked++) {
      const cdna_kernel *k;
      cdna_memory m = {0};
      tw_error error = {0};
      const tw_inspection i = {.checks = looked ? "bounds,races" : "races"};
      assert_int_equal(cdna_object_kernel(&code[arch], "too_far", &k, &error), TW_OK);
      memset(out, 0, sizeof out);
      const uint64_t to = cdna_memory_add(&m, out, sizeof out, true, "out");
      const uint64_t block[] = {to, cdna_memory_add(&m, in, sizeof in, false, "in")};
      const cdna_launch launch = {.grid = {GROUPS, 1, 1},
                                  .block = {BLOCK, 1, 1},
                                  .arguments = block,
                                  .argument_bytes = sizeof block,
                                  .unbounded = cdna_checks_ignore_bounds(&i)};
      const tw_status status = cdna_run(&code[arch], k, &launch, &m, NULL, &error);
      assert_int_equal(status, looked ? TW_FAILED : TW_OK);
      if (looked) assert_non_null(strstr(error.text, "of LDS at 60000"));
      for (int n = 0; n < GROUPS * BLOCK && !looked; n++) assert_int_equal(out[n], 7);
    }
  assert_false(cdna_checks_ignore_bounds(NULL));
}

static void test_lists_of_checks(void **state) {
  unsigned checks;
  tw_error error = {0};
  assert_int_equal(cdna_checks_parse("none", &checks, &error), TW_OK);
  assert_int_equal(checks, 0);
  assert_int_equal(cdna_checks_parse("all", &checks, &error), TW_OK);
  assert_int_equal(checks, (1u << CDNA_CHECKS) - 1);
  assert_int_equal(cdna_checks_parse("usual", &checks, &error), TW_OK);
  assert_int_equal(checks, ((1u << CDNA_CHECKS) - 1) | CDNA_CHECKS_LENIENT);
  assert_int_equal(cdna_checks_parse("waits,races", &checks, &error), TW_OK);
  assert_int_equal(checks, 1u << CDNA_CHECK_WAITS | 1u << CDNA_CHECK_RACES);
  assert_int_equal(cdna_checks_parse("waits,rices", &checks, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "unknown check 'rices'; expected bounds, uninitialized, races"));
}

int main(void) {
  if (cdna_toolchain_find(NULL) != TW_OK) {
    puts("skipped: clang-22 and ld.lld-22 are not here");
    return 77;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_mistake_is_found_alone),
      cmocka_unit_test(test_findings_of_several_checkers_add_up),
      cmocka_unit_test(test_nothing_is_found_without_mistakes),
      cmocka_unit_test(test_honest_kernels_have_no_findings),
      cmocka_unit_test(test_swizzles_as_a_kernel_uses_them),
      cmocka_unit_test(test_lanes_lines_and_resources_are_counted),
      cmocka_unit_test(test_code_is_shown_with_its_counts),
      cmocka_unit_test(test_what_comes_first_is_the_cause),
      cmocka_unit_test(test_bounds_are_a_check_as_others),
      cmocka_unit_test(test_lists_of_checks),
  };
  return cmocka_run_group_tests(tests, compile, release);
}
