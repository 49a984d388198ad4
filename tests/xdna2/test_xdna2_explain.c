/* What the model says about tiles on XDNA2: buffers of each layout, and one clear line for each choice that cannot
 * be. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "subject.h"
#include "tilewright/extend/extend.h"

#define CONFIG1 "a=bf16 b=bfp16 c=bf16 acc=bf16"
#define PAPER "m=4096 n=2048 k=4096 " CONFIG1

enum { WORDS_MAX = 24 };

/* A semicolon ends a step, which has blanks. Blanks separate other words. Each word of `text` is ended by a '\0'. */
static size_t split(char *text, const char *words[WORDS_MAX]) {
  size_t n = 0;
  char *rest = text, *word;
  for (char *step; (step = strchr(rest, ';')); rest = step + 1) {
    *step = '\0';
    words[n++] = rest;
  }
  while ((word = strsep(&rest, " ")))
    if (*word) words[n++] = word;
  return n;
}

static tw_status explain(const char *problem, const char *choice, tw_explanation *out, tw_error *error) {
  const tw_target *t = tw_target_find("xdna2");
  char of_problem[300], of_choice[200];
  const char *choices[WORDS_MAX];
  tw_problem p;
  assert_non_null(t);
  snprintf(of_problem, sizeof of_problem, "gemm %s", problem);
  snprintf(of_choice, sizeof of_choice, "%s", choice);
  tw_status status = tw_problem_parse(NULL, of_problem, &p, error);
  if (status == TW_OK) status = tw_target_supports(t, &p, error);
  return status == TW_OK ? t->explainer->explain(t, &p, split(of_choice, choices), choices, out, error) : status;
}

static tw_explanation explained(const char *problem, const char *choice) {
  tw_explanation e = {0};
  tw_error error = {0};
  if (explain(problem, choice, &e, &error) != TW_OK) fail_msg("%s %s: %s", problem, choice, error.text);
  return e;
}

static void refused(const char *problem, const char *choice, const char *part) {
  tw_explanation e;
  tw_error error = {0};
  const tw_status status = explain(problem, choice, &e, &error);
  if (tw_status_group(status) != TW_USAGE || !strstr(error.text, part) || strchr(error.text, '\n'))
    fail_msg("%s %s: status %d, '%s' does not say '%s'", problem, choice, status, error.text, part);
}

static double buffer(const tw_explanation *e, const char *name) {
  for (size_t i = 0; i < e->n_buffers; i++)
    if (!strcmp(e->buffer[i].name, name)) return e->buffer[i].bytes;
  return 0;
}

static double quantity(const tw_explanation *e, const char *name) {
  for (size_t i = 0; i < e->n_quantities; i++)
    if (!strcmp(e->quantity[i].name, name)) return e->quantity[i].value;
  fail_msg("no %s", name);
  return 0;
}

static void buffers_have_the_layout_of_their_kernel(void **state) {
  const tw_explanation one = explained(PAPER, "tile=128x64x128 rho=4");
  assert_int_equal(buffer(&one, "a"), 2 * 32 * 64 * 2);
  assert_int_equal(buffer(&one, "b"), 2 * 64 * 128 / 8 * 9);
  assert_int_equal(buffer(&one, "c"), 128 * 128 * 2);
  assert_int_equal(buffer(&one, "a_scratch"), 32 * 64 / 8 * 9);
  assert_int_equal(one.memory[0].used, 61696); /* 60.25 KiB */
  assert_true(one.fits);
  const tw_explanation base = explained(PAPER, "tile=64x88x64 kernel=mlir-aie");
  assert_int_equal(buffer(&base, "a_scratch"), 0);
  assert_int_equal(buffer(&base, "c"), 2 * 64 * 64 * 2);
  const tw_explanation three = explained("m=4096 n=2048 k=4096 c=bfp16 acc=bf16", "tile=128x64x128 rho=4");
  assert_int_equal(buffer(&three, "c") + buffer(&three, "c_staging"), 128 * 128 / 8 * 17);
  const tw_explanation narrow = explained("m=512 n=512 k=512 a=i8 b=i4", "tile=64x64x64");
  assert_int_equal(buffer(&narrow, "b"), 2 * 64 * 64 / 2);
}

static void steps_of_a_schedule_say_what_keys_say(void **state) {
  const tw_explanation keys = explained(PAPER, "tile=128x64x128 rho=4 depth=4 unroll=2 kernel=atb"),
                       steps = explained(PAPER, "kernel atb;tile m=128 k=64 n=128 rho=4;depth 4;unroll 2;"),
                       more = explained(PAPER, "tile m=128 k=64 n=128 rho=4;buffers a=1 b=2 c=1;");
  assert_int_equal(keys.n_quantities, steps.n_quantities);
  for (size_t i = 0; i < keys.n_quantities; i++) assert_true(keys.quantity[i].value == steps.quantity[i].value);
  assert_int_equal(buffer(&steps, "l2_a"), 2 * 128 * 256 * 2); /* with the depth */
  assert_int_equal(buffer(&keys, "l2_a"), 2 * 128 * 256 * 2);
  assert_int_equal(buffer(&more, "a"), 32 * 64 * 2);
  const tw_explanation deep = explained(PAPER, "tile m=128 k=64 n=128 rho=4;depth 8;");
  assert_non_null(strstr(deep.misfit, "542720 of the 524288 bytes of l2; make the depth smaller"));
  refused(PAPER, "depth 4;", "the tile of a core is missing; give it as a step: 'tile m=128 k=64 n=128 rho=4'");
  refused(PAPER, "tile m=128 k=64 q=128;", "unexpected 'q'");
  refused(PAPER, "tile m=128 k=64 n=128 rho=4;cores rows=2 columns=8;", "the model is of all cores, rows=4 columns=8");
  refused(PAPER, "tile m=128 k=64 n=128 rho=4;layout rows;", "the model is of operands in tiles (found rows)");
  refused(PAPER, "tile m=128 k=64 n=128 rho=4;await_groups;", "the model has no waits between rows of tiles");
  refused(PAPER, "tile=128x64x128 depth=0", "depth=0: expected a whole number from 1 to 64");
}

static void tiles_that_do_not_fit_are_explained_with_what_would(void **state) {
  const tw_explanation wide = explained(PAPER, "tile=128x64x128");
  assert_int_equal(wide.memory[0].used, 91 * 1024); /* Table 2: "buffer if rho = 1" */
  assert_false(wide.fits);
  assert_non_null(strstr(wide.misfit, "93184 of the 64512 bytes of l1; rho=4 would fit"));
  const tw_explanation huge = explained(PAPER, "tile=512x512x512 rho=2");
  assert_non_null(strstr(huge.misfit, "make T_K, T_MC or T_N smaller"));
  assert_true(explained(PAPER, "tile=128x64x128 rho=4").misfit[0] == '\0');
}

static void rates_follow_the_roofline(void **state) {
  const tw_explanation e = explained(PAPER, "tile=128x64x128 rho=4 core_tflops=0.95");
  assert_true(fabs(quantity(&e, "intensity") - 409.6) < 1e-6);
  assert_true(fabs(quantity(&e, "memory_bound_tflops") - 26.624) < 1e-6);
  assert_true(fabs(quantity(&e, "compute_bound_tflops") - 30.4) < 1e-6);
  assert_true(quantity(&e, "predicted_tflops") < 26.624);
  assert_non_null(strstr(e.limit, "come from memory"));
  const tw_explanation slow = explained(PAPER, "tile=128x64x128 rho=4 core_tflops=0.3");
  assert_non_null(strstr(slow.limit, "cores compute"));
  assert_true(quantity(&slow, "predicted_tflops") < 9.6 && quantity(&slow, "predicted_tflops") > 9.2);
}

static void shapes_that_do_not_divide_are_padded(void **state) {
  const tw_explanation whole = explained(PAPER, "tile=128x64x128 rho=4"),
                       odd = explained("m=3585 n=1025 k=4033 " CONFIG1, "tile=128x64x128 rho=4");
  assert_true(quantity(&whole, "padded_share") == 0);
  assert_true(quantity(&odd, "seconds") == quantity(&whole, "seconds"));
  const double share = 1 - 3585.0 * 1025 * 4033 / (4096.0 * 2048 * 4096);
  assert_true(fabs(quantity(&odd, "padded_share") - share) < 1e-12);
}

static void deeper_tiles_and_less_asymmetry_make_cores_efficient(void **state) {
  double last = 0;
  for (int k = 8; k <= 128; k *= 2) {
    char choice[60];
    snprintf(choice, sizeof choice, "tile=128x%dx128 rho=4", k);
    const tw_explanation e = explained(PAPER, choice);
    assert_true(quantity(&e, "efficiency_core") > last);
    assert_true(quantity(&e, "efficiency_core") < quantity(&e, "efficiency_micro"));
    last = quantity(&e, "efficiency_core");
  }
  const tw_explanation four = explained(PAPER, "tile=128x64x128 rho=4"),
                       eight = explained(PAPER, "tile=128x64x128 rho=8");
  assert_true(quantity(&eight, "efficiency_core") < quantity(&four, "efficiency_core"));
}

/* The first of the published int8 kernels (docs/explain/xdna2-core.md) has a column-major B, which its cores
 * transpose. */
static void the_core_transposes_a_column_major_b(void **state) {
  const char *choice = "tile=64x232x64 way=in-turn";
  const tw_explanation by_rows = explained("m=64 n=64 k=232 a=i8 b=i8 c=i8", choice),
                       by_columns = explained("m=64 n=64 k=232 a=i8 b=i8 c=i8 b_transposed=1", choice),
                       packed = explained("m=64 n=64 k=256 a=i8 b=ternary c=i32 b_transposed=1", "tile=64x64x64"),
                       plain = explained("m=64 n=64 k=256 a=i8 b=ternary c=i32", "tile=64x64x64");
  assert_true(quantity(&by_columns, "core_cycles") == 2096);
  assert_true(quantity(&by_rows, "core_cycles") != 2096);
  assert_true(quantity(&packed, "core_cycles") == quantity(&plain, "core_cycles"));
}

static void bad_choices_get_one_line(void **state) {
  refused(PAPER, "", "the tile of a core is missing");
  refused(PAPER, "tile=128x64", "tile=128x64 must be three sizes");
  refused(PAPER, "tile=128x64x128x1", "must be three sizes");
  refused(PAPER, "tile=128x-64x128", "must be three sizes");
  refused(PAPER, "tile=0x64x128", "must be three sizes");
  refused(PAPER, "tile=99999999999999999999x64x128", "must be three sizes");
  refused(PAPER, "tile=", "must be three sizes");
  refused(PAPER, "tile=axbxc", "must be three sizes");
  refused(PAPER, "tile=100x64x128", "T_MC must be a multiple of 16");
  refused(PAPER, "tile=128x60x128", "T_K must be a multiple of 8");
  refused(PAPER, "tile=128x64x120", "T_N must be a multiple of 16");
  refused(PAPER, "tile=128x64x128 rho=3", "rho=3 does not divide T_MC=128");
  refused(PAPER, "tile=128x64x128 rho=16", "rho=16 does not divide T_MC=128 into sub-tiles of A of a multiple of 16");
  refused(PAPER, "tile=128x64x128 rho=0", "rho=0: expected a whole number from 1 to");
  refused(PAPER, "tile=128x64x128 rho=2.5", "rho=2.5: expected a whole number from 1 to");
  refused(PAPER, "tile=128x64x128 kernel=none", "expected atb, mlir-aie");
  refused(PAPER, "tile=128x64x128 kernel=int8", "unknown kernel=int8 for a=bf16");
  refused(PAPER, "tile=128x64x128 core_tflops=-1",
          "core_tflops=-1: expected a positive number; leave it out to use the model's rate");
  refused(PAPER, "tile=128x64x128 core_tflops=nan",
          "core_tflops=nan: expected a positive number; leave it out to use the model's rate");
}

static void bad_problems_get_one_line(void **state) {
  refused("m=64 n=64 k=64 a=f16", "tile=64x64x64", "no kernel has the types a=f16");
  refused("m=64 n=64 k=64 a=bf16 b=f32", "tile=64x64x64", "no kernel has the types a=bf16 b=f32");
  refused("m=64 n=64 k=64 a=bfp17", "tile=64x64x64", "not an element type");
  refused("m=0 n=64 k=64", "tile=64x64x64", "m=0 is out of range");
  refused("m=64 n=64 k=64 a_transposed=1", "tile=64x64x64", "a_transposed is not supported");
  refused("m=64 n=64 k=64 bias=row", "tile=64x64x64", "bias is not supported");
  refused("m=64 n=64 k=64 scale=2", "tile=64x64x64", "scale is not modelled");
  const tw_target *t = tw_target_find("xdna2");
  tw_problem p = problem_from(NULL, "conv2d n=1 h=8 w=8 c=8 k=8 r=3 s=3");
  tw_error error = {0};
  assert_int_equal(tw_target_supports(t, &p, &error), TW_UNSUPPORTED);
  assert_non_null(strstr(error.text, "op conv2d is unsupported"));
}

static void configurations_have_names(void **state) {
  static const char *const types[] = {"a=bf16 b=bfp16 c=bf16 acc=bf16", "a=bfp16 b=bfp16 c=bfp16 acc=bfp16",
                                      "a=bfp16 b=bfp16 c=bfp16 acc=bf16"};
  const tw_target *t = tw_target_find("xdna2");
  for (int i = 0; i < 3; i++) {
    char text[300], expected[300];
    tw_problem p = problem_from(t, "gemm m=64 n=64 k=64 config=%d", i + 1);
    tw_error error;
    tw_problem_print(&p, text, sizeof text);
    snprintf(expected, sizeof expected, "gemm m=64 n=64 k=64 %s", types[i]);
    assert_string_equal(text, expected);
    snprintf(text, sizeof text, "gemm m=64 n=64 k=64 config=%d b=i8", i + 1);
    assert_int_equal(tw_problem_parse(t, text, &p, &error), TW_OK);
    assert_int_equal(tw_target_supports(t, &p, &error), TW_UNSUPPORTED);
    assert_non_null(strstr(error.text, "has b=bfp16, but b=i8 is given; leave one out"));
  }
}

static void the_bound_is_below_every_prediction(void **state) {
  const tw_target *t = tw_target_find("xdna2");
  tw_problem p = problem_from(NULL, "gemm m=4096 n=2048 k=4096");
  tw_bound b;
  assert_int_equal(tw_target_bound(t, &p, &b, NULL), TW_OK);
  const double once = b.compute_cost, work = 2.0 * 4096 * 2048 * 4096 / 58.9824e12;
  assert_true(once > work && once < work + 200e-6); /* and the dispatch */
  assert_int_equal(tw_problem_set(&p, "k", "8192", NULL), TW_OK);
  assert_int_equal(tw_target_bound(t, &p, &b, NULL), TW_OK);
  assert_true(fabs(b.compute_cost - once - work) < 1e-12);
  assert_int_equal(tw_problem_set(&p, "k", "4096", NULL), TW_OK);
  assert_int_equal(tw_target_bound(t, &p, &b, NULL), TW_OK);
  assert_true(b.cost >= b.compute_cost && b.cost >= b.memory_cost);
  const tw_explanation e = explained(PAPER, "tile=128x64x128 rho=4");
  assert_true(quantity(&e, "seconds") > b.cost);
}

/* ---- the core's schedule ---- */

static void the_core_is_scheduled(void **state) {
  const tw_explanation as_published = explained(PAPER, "tile=128x64x128 rho=4"),
                       overlapped = explained(PAPER, "tile=128x64x128 rho=4 way=pipelined"),
                       in_turn = explained(PAPER, "tile=128x64x128 rho=4 way=in-turn"),
                       twice = explained(PAPER, "tile=128x64x128 rho=4 unroll=2");
  const double cycles = quantity(&as_published, "core_cycles");
  assert_true(cycles > 512); /* a call has 512 multiply-accumulates: 32 x 64 x 128 / 8^3 */
  assert_true(quantity(&overlapped, "core_cycles") < cycles && cycles < quantity(&in_turn, "core_cycles"));
  assert_true(quantity(&twice, "core_cycles") > cycles);
  assert_true(quantity(&overlapped, "core_cycles") == quantity(&as_published, "core_pipelined_cycles"));
  assert_true(fabs(quantity(&as_published, "core_efficiency") - 512 / cycles) < 1e-9);
  assert_true(quantity(&as_published, "core_prologue") + quantity(&as_published, "core_steady") +
                  quantity(&as_published, "core_epilogue") + quantity(&as_published, "core_convert_cycles") ==
              cycles);
  const tw_explanation converts_on_the_way = explained(PAPER, "tile=64x88x64 kernel=mlir-aie");
  for (size_t i = 0; i < converts_on_the_way.n_quantities; i++)
    assert_true(strncmp(converts_on_the_way.quantity[i].name, "core_", 5)); /* not scheduled */
  const tw_explanation narrow = explained(PAPER, "tile=128x64x128 rho=4 cluster=1x2");
  assert_true(quantity(&narrow, "core_cycles") > cycles); /* more loads for each multiply-accumulate */
  refused(PAPER, "tile=128x64x128 cluster=2",
          "cluster=2: expected rows x columns of accumulators, such as cluster=4x1");
  refused(PAPER, "tile=128x64x128 cluster=2x2x2",
          "cluster=2x2x2: expected rows x columns of accumulators, such as cluster=4x1");
  refused(PAPER, "tile=128x64x128 cluster=123456789x2", "expected rows x columns of accumulators, such as cluster=4x1");
  refused(PAPER, "tile=128x64x128 cluster=4x2", "a cluster of 4x2 needs 8 accumulators, but the core has 5");
  refused(PAPER, "tile=128x64x128 rho=8 cluster=4x1", "its rows must be a multiple of 32");
  refused(PAPER, "tile=128x64x128 way=sideways", "way=sideways: expected in-turn, unrolled or pipelined");
  refused(PAPER, "tile=128x64x128 way=unrolled", "way=unrolled requires the number of clusters in straight-line code");
  refused(PAPER, "tile=128x64x128 unroll=0", "unroll=0: expected a whole number from 1 to 64");
}

static char *drawn(const char *choice, bool as_picture, tw_status expected, tw_error *error) {
  const tw_target *t = tw_target_find("xdna2");
  char of_choice[200], *text = NULL;
  const char *choices[WORDS_MAX];
  const tw_problem p = problem_from(NULL, "gemm %s", PAPER);
  snprintf(of_choice, sizeof of_choice, "%s", choice);
  assert_int_equal(t->explainer->draw(t, &p, split(of_choice, choices), choices, as_picture, &text, error), expected);
  return text;
}

static int count(const char *text, const char *part) {
  int n = 0;
  while ((text = strstr(text, part))) n++, text += strlen(part);
  return n;
}

/* 32 multiply-accumulates of a cluster, 16 blocks of A and of B, 8 halves of accumulators in and out. */
static void the_schedule_is_shown(void **state) {
  tw_error error = {0};
  char *in_turn = drawn("tile=128x64x128 rho=4 way=in-turn", false, TW_OK, &error),
       *overlapped = drawn("tile=128x64x128 rho=4 way=pipelined", false, TW_OK, &error),
       *picture = drawn("tile=128x64x128 rho=4 way=in-turn", true, TW_OK, &error);
  const char *loop = strstr(overlapped, "the loop: 32 cycles");
  assert_int_equal(count(in_turn, "vmac.f C"), 32);
  assert_int_equal(count(in_turn, "vld.pop A"), 16);
  assert_int_equal(count(in_turn, "vld.pop B"), 16);
  assert_int_equal(count(in_turn, "vld.conv C"), 8);
  assert_int_equal(count(in_turn, "vst.conv C"), 8);
  assert_true(!strstr(in_turn, "the loop"));
  assert_non_null(loop);
  assert_int_equal(count(overlapped, "vmac.f C"), 64); /* one iteration, and the loop */
  assert_int_equal(count(loop, "vmac.f C"), 32);
  assert_true(count(loop, " -1") > 0);
  assert_int_equal(count(picture, "vmac.f C"), 32);
  assert_true(!strncmp(picture, "<svg ", 5) && !strcmp(picture + strlen(picture) - 7, "</svg>\n"));
  assert_int_equal(count(picture, "<rect"), count(picture, "</title></rect>") + 1); /* and the ground */
  free(in_turn);
  free(overlapped);
  free(picture);
  free(drawn("tile=64x88x64 kernel=mlir-aie", false, TW_USAGE, &error));
  assert_non_null(strstr(error.text, "kernel mlir-aie converts A in registers"));
}

/* ---- views ---- */

static char *viewed(const char *name, size_t n, const char *const words[], tw_view_form form) {
  char *text = NULL;
  tw_error error;
  if (tw_view_show(tw_target_find("xdna2"), name, n, words, form, &text, &error) != TW_OK) fail_msg("%s", error.text);
  return text;
}

static double member(const char *json, const char *name) {
  char key[60];
  snprintf(key, sizeof key, "\"%s\": ", name);
  const char *at = strstr(json, key);
  if (!at) fail_msg("no %s in %s", name, json);
  return strtod(at + strlen(key), NULL);
}

/* On the command line as in a file. */
static void a_step_may_be_one_word(void **state) {
  assert_int_equal(system(TW_COMMAND
                          " model gemm m=512 n=512 k=256 a=i8 b=i8 c=i32 'tile m=64 k=64 n=64' runtime_sizes "
                          "-t xdna2 >/dev/null 2>&1"),
                   0);
  assert_int_equal(system(TW_COMMAND " model gemm m=512 n=512 k=256 a=i8 b=i8 c=i32 'tile m=64 k=64 n=64' no_step "
                                     "-t xdna2 2>&1 | grep -q \"step 'no_step': unknown step\""),
                   0);
}

static void views_show_the_machine_and_what_the_model_says(void **state) {
  const char *const words[] = {"tile=128x64x96", "rho=2", "k=2048"};
  static const char *const as_step[] = {"tile m=128 k=64 n=96 rho=2", "k=2048"};
  const tw_explanation e = explained("m=4096 n=2048 k=2048 " CONFIG1, "tile=128x64x96 rho=2");
  char *json = viewed("roofline", 3, words, TW_VIEW_JSON), *svg = viewed("roofline", 3, words, TW_VIEW_SVG),
       *array = viewed("array", 0, NULL, TW_VIEW_SVG), *sizes = viewed("array", 0, NULL, TW_VIEW_JSON);
  char *same = viewed("roofline", 2, as_step, TW_VIEW_JSON);
  assert_string_equal(same, json); /* the old notation of a tile, and the step */
  free(same);
  assert_true(fabs(member(json, "intensity") / quantity(&e, "intensity") - 1) < 1e-6);
  assert_true(fabs(member(json, "compute_bound") / quantity(&e, "compute_bound_tflops") - 1) < 1e-6);
  assert_true(fabs(member(json, "memory_bound") / quantity(&e, "memory_bound_tflops") - 1) < 1e-6);
  assert_true(fabs(member(json, "predicted") / quantity(&e, "predicted_tflops") - 1) < 1e-6);
  assert_true(member(json, "bound") == fmin(member(json, "compute_bound"), member(json, "memory_bound")));
  assert_int_equal(count(svg, "<circle"), 1);
  assert_int_equal(count(svg, ">2</text>") + count(svg, ">32</text>") + count(svg, ">64</text>"),
                   3 + 1); /* 64 on both axes */
  assert_int_equal(count(array, ">core<"), 32);
  assert_int_equal(count(array, ">memory<") + count(array, ">shim<"), 16);
  assert_true(member(sizes, "l1") == 64 && member(sizes, "l2") == 512);
  static const char *const bad[][2] = {{"kernel=none", "kernel=none is unknown"},
                                       {"tile=12", "must be three sizes"},
                                       {"tile m=128 k=64 n=128 rho=3", "rho=3 does not divide"},
                                       {"tile m=128 k=64 n=128", "the tile does not fit"},
                                       {"rho=2", "rho=2 beside the step `tile`"},
                                       {"m=0", "m=0 is out of range"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char *text;
    tw_error error = {0};
    assert_int_equal(tw_view_show(tw_target_find("xdna2"), "roofline", 1, bad[i], TW_VIEW_TEXT, &text, &error),
                     TW_USAGE);
    if (!strstr(error.text, bad[i][1])) fail_msg("'%s' does not say '%s'", error.text, bad[i][1]);
  }
  free(json), free(svg), free(array), free(sizes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(buffers_have_the_layout_of_their_kernel),
      cmocka_unit_test(steps_of_a_schedule_say_what_keys_say),
      cmocka_unit_test(tiles_that_do_not_fit_are_explained_with_what_would),
      cmocka_unit_test(rates_follow_the_roofline),
      cmocka_unit_test(shapes_that_do_not_divide_are_padded),
      cmocka_unit_test(deeper_tiles_and_less_asymmetry_make_cores_efficient),
      cmocka_unit_test(the_core_transposes_a_column_major_b),
      cmocka_unit_test(bad_choices_get_one_line),
      cmocka_unit_test(bad_problems_get_one_line),
      cmocka_unit_test(configurations_have_names),
      cmocka_unit_test(the_bound_is_below_every_prediction),
      cmocka_unit_test(the_core_is_scheduled),
      cmocka_unit_test(the_schedule_is_shown),
      cmocka_unit_test(a_step_may_be_one_word),
      cmocka_unit_test(views_show_the_machine_and_what_the_model_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
