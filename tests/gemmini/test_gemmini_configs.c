/* test_gemmini_configs.c - kernels for machines of the generator's parameter space: one at the end of a random walk
 * through the menus, and the plainest of every fourth, are built, executed and compared with the reference. The public
 * header of the default machine makes the machine that is part of the program. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/random.h"
#include "base/strings.h"
#include "configurations.h"
#include "tilewright/extend/target.h"
#include "tilewright/machine.h"

enum { STEPS = 6 };

static const tw_target *target_of(const configuration *c) {
  char text[1000], name[64];
  const tw_target *t = NULL;
  tw_error error = {0};
  snprintf(text, sizeof text, "base = %s\n%s", base_of(c), c->lines);
  snprintf(name, sizeof name, "%s@00000000", c->name);
  if (tw_machine_read(text, name, c->name, &t, &error) == TW_OK) return t;
  const char *is = strstr(error.text, "make it "); /* the name that the values make */
  if (!is) fail_msg("%s", error.text);
  snprintf(name, sizeof name, "%.*s", (int)strcspn(is + 8, ","), is + 8);
  return tw_target_find(name);
}

static bool read_problem(const tw_target *t, const char *text, tw_problem *p) {
  return tw_problem_parse(t, text, p, NULL) == TW_OK && tw_target_supports(t, p, NULL) == TW_OK;
}

/* Cycles of a schedule whose kernel is right; ends the test where it is not. */
static double run_schedule(const tw_target *t, const tw_problem *p, const tw_schedule *s, uint64_t seed) {
  char *source = NULL, steps[2000] = "";
  tw_artefact *a = NULL;
  tw_case k = {0};
  tw_measurement m = {0};
  tw_error error = {0};
  for (size_t i = 0; i < s->n; i++) snprintf(steps + strlen(steps), sizeof steps - strlen(steps), "%s; ", s->step[i]);
  if (tw_target_emit(t, p, s, &source, &error) != TW_OK) fail_msg("%s: %s: %s", t->name, steps, error.text);
  if (t->build(t, p, source, strlen(source), &(tw_evaluation){.trust = true}, &a, &error) != TW_OK ||
      tw_target_case(t, p, seed, 1, &k, &error) != TW_OK || t->check(t, a, &k, &(tw_evaluation){0}, &error) != TW_OK ||
      t->measure(t, a, &k, &(tw_evaluation){0}, &m, &error) != TW_OK)
    fail_msg("%s: %s: %s: %s", t->name, p->op->name, steps, error.text);
  t->release(a);
  tw_case_free(&k);
  free(source);
  return m.cycles;
}

static void random_walk(const tw_target *t, const tw_problem *p, tw_random *r, tw_schedule *s) {
  for (int step = 0; step < STEPS; step++) {
    tw_menu menu = {0};
    tw_error error = {0};
    if (tw_target_steps(t, p, s, &menu, &error) != TW_OK) fail_msg("%s: %s", t->name, error.text);
    const bool more = menu.n > 0;
    if (more) tw_schedule_add(s, menu.item[tw_random_below(r, menu.n)].step, NULL);
    tw_menu_free(&menu);
    if (!more) return;
  }
}

static bool compiler_is_missing(void) {
  const tw_target *t = tw_target_find("gemmini-16x16-int8");
  tw_error error = {0};
  if (t->available(t, &error) == TW_OK) return false;
  print_message("skipped: %s\n", error.text);
  return true;
}

static void kernels_of_all_configurations_are_right(void **state) {
  static const char *const integer[] = {"gemm m=40 n=72 k=100 bias=row relu=1",
                                        "gemm m=40 n=72 k=100",
                                        "gemm m=33 n=20 k=64 c=i32 bias=full",
                                        "conv2d n=1 h=9 w=9 c=8 k=24 r=3 s=3 pad=1 relu=1",
                                        "conv2d n=1 h=8 w=8 c=3 k=16 r=3 s=3 pad=1 pool=2 pool_stride=2",
                                        "conv2d n=1 h=7 w=7 c=20 k=17 r=1 s=1 stride=2 out=i32"};
  static const char *const real[] = {"gemm m=10 n=14 k=9 c=f32 bias=row",
                                     "conv2d n=1 h=7 w=7 c=5 k=9 r=3 s=3 pad=1 relu=1",
                                     "mpc_forward horizon=3 states=12 inputs=4",
                                     "mpc_backward horizon=2 states=6 inputs=3",
                                     "gemm m=33 n=20 k=24 relu=1",
                                     "mpc_forward horizon=2 states=5 inputs=2"};
  size_t kernels = 0, walks = 0;
  if (compiler_is_missing()) skip();
  for (size_t i = 0; i < CONFIGURATIONS; i++) {
    const tw_target *t = target_of(&configurations[i]);
    const char *const *problem = configurations[i].real ? real : integer;
    size_t done = 0;
    for (size_t j = 0; j < 6 && !done; j++) { /* a problem that the machine has the parts for */
      tw_problem p;
      tw_random r;
      tw_schedule s = {0};
      tw_random_seed(&r, 100 * i + j);
      if (!read_problem(t, problem[(i + j) % 6], &p)) continue;
      if (i % 4 == 0) run_schedule(t, &p, &s, i + 1);
      random_walk(t, &p, &r, &s);
      run_schedule(t, &p, &s, i + 2);
      walks += s.n > 0;
      kernels++, done++;
    }
  }
  assert_true(kernels >= CONFIGURATIONS - 4 && walks >= CONFIGURATIONS - 8);
}

/* The passes of TinyMPC on arrays larger than 4 x 4: an identity matrix of the array's size, rows longer than a packet of the DMA, and more
 * products in flight. */
static void tinympc_is_right_on_larger_arrays(void **state) {
  static const configuration larger[] = {{"mpc-16", true, "dim = 16\n"},
                                         {"mpc-32", true, "dim = 32\nspad_bytes = 1048576\n"},
                                         {"mpc-64", true, "dim = 64\nspad_bytes = 1048576\n"}};
  static const char *const steps[] = {"fuse", "hoist", "merge", "keep_resident", "unfence"};
  if (compiler_is_missing()) skip();
  for (size_t i = 0; i < sizeof larger / sizeof *larger; i++) {
    const tw_target *t = target_of(&larger[i]);
    tw_problem p;
    tw_schedule s = {0};
    assert_true(read_problem(
        t, i == 1 ? "mpc_forward horizon=3 states=40 inputs=8" : "mpc_backward horizon=3 states=12 inputs=4", &p));
    for (size_t j = 0; j < sizeof steps / sizeof *steps; j++)
      assert_int_equal(tw_schedule_add(&s, steps[j], NULL), TW_OK);
    run_schedule(t, &p, &s, 3);
  }
}

/* ---- gemmini_params.h ---- */

static const char header[] =
    "#ifndef GEMMINI_PARAMS_H\n#define GEMMINI_PARAMS_H\n#define XCUSTOM_ACC 3\n#define DIM 16\n"
    "#define ADDR_LEN 32\n#define BANK_NUM 4\n#define BANK_ROWS 4096\n#define ACC_ROWS 1024\n"
    "#define MAX_BYTES 64\n#define MAX_BLOCK_LEN (MAX_BYTES/(DIM*1))\ntypedef int8_t elem_t;\n"
    "typedef int32_t acc_t;\n#define HAS_MVIN_SCALE\ntypedef float scale_t;\n"
    "#define ACC_READ_SMALL_WIDTH\n#define ACC_READ_FULL_WIDTH\n"
    "#define HAS_FIRST_LAYER_OPTIMIZATIONS\n#endif\n";

/* The machine file of a header with one text in the place of another; NULL: the error is in *error. */
static char *file_of_header(const char *from, const char *to, tw_error *error) {
  char *directory = NULL, *text = NULL;
  tw_text t = {0};
  const char *at = from ? strstr(header, from) : header;
  assert_non_null(at);
  tw_text_add_bytes(&t, header, (size_t)(at - header));
  tw_text_add(&t, "%s%s", to ? to : "", at + (from ? strlen(from) : 0));
  char *changed = tw_text_take(&t);
  assert_int_equal(tw_directory_temporary(&directory, NULL), TW_OK);
  char *path = tw_path_join(directory, "gemmini_params.h");
  assert_int_equal(tw_file_write(path, changed, strlen(changed), NULL), TW_OK);
  tw_machine_from(path, &text, error);
  tw_directory_remove(directory);
  free(directory);
  free(path);
  free(changed);
  return text;
}

static const tw_target *target_of_file(const char *text) {
  const tw_target *t = NULL;
  tw_error error = {0};
  if (tw_machine_read(text, "chipyard@00000000", "chipyard", &t, &error) == TW_OK) return t;
  const char *is = strstr(error.text, "make it ");
  if (!is) fail_msg("%s\n%s", error.text, text);
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(is + 8, ","), is + 8);
  return tw_target_find(name);
}

static void the_default_header_makes_the_default_machine(void **state) {
  tw_error error = {0};
  char *text = file_of_header(NULL, NULL, &error);
  if (!text) fail_msg("%s", error.text);
  assert_non_null(strstr(text, "\ndim = 16 "));
  assert_non_null(strstr(text, "\n#rs_load = 8 ")); /* not in the header */
  assert_non_null(strstr(text, "Times depend on them"));
  const tw_target *own = target_of_file(text), *t = tw_target_find("gemmini-16x16-int8");
  char *changes = tw_machine_changes(own);
  assert_string_equal(changes, "base = gemmini-16x16-int8\n");
  assert_true(own->traits.error == t->traits.error);
  free(changes);
  free(text);
  if (compiler_is_missing()) return;
  tw_problem p, q;
  assert_true(read_problem(t, "gemm m=96 n=80 k=64", &p) && read_problem(own, "gemm m=96 n=80 k=64", &q));
  tw_schedule s = {0};
  tw_random r;
  tw_random_seed(&r, 5);
  random_walk(t, &p, &r, &s);
  assert_true(run_schedule(t, &p, &s, 1) == run_schedule(own, &q, &s, 1));
}

static void other_headers_say_what_they_say(void **state) {
  tw_error error = {0};
  char *text = file_of_header("#define DIM 16", "#define DIM 8", &error);
  const tw_target *t = target_of_file(text);
  char *changes = tw_machine_changes(t);
  assert_string_equal(changes, "base = gemmini-16x16-int8\ndim = 8\nspad_bytes = 131072\nacc_bytes = 32768\n");
  assert_true(t->traits.error == 0);
  free(changes);
  free(text);
  text = file_of_header("#define ACC_READ_SMALL_WIDTH\n#define ACC_READ_FULL_WIDTH\n", "",
                        &error); /* an earlier generator */
  changes = tw_machine_changes(target_of_file(text));
  assert_string_equal(changes, "base = gemmini-16x16-int8\n");
  free(changes);
  free(text);
  text = file_of_header("int8_t elem_t;\ntypedef int32_t acc_t;",
                        "uint16_t elem_t;\ntypedef float acc_t;\n#define ELEM_T_EXP_BITS 8\n#define ELEM_T_SIG_BITS 8",
                        &error);
  assert_non_null(text);
  assert_non_null(strstr(text, "issue 401"));
  changes = tw_machine_changes(target_of_file(text));
  assert_non_null(strstr(changes, "input_type = bf16\nspad_bytes = 524288\n"));
  free(changes);
  free(text);
  static const struct {
    const char *from, *to, *says;
  } wrong[] = {
      {"#define DIM 16\n", "", "the line \"#define DIM\" is missing; give the gemmini_params.h that Chipyard wrote"},
      {"#define BANK_NUM 4", "#define BANK_NUM four", "BANK_NUM is \"four\""},
      {"int8_t elem_t", "int16_t elem_t", "elem_t is int16_t"},
      {"int8_t elem_t;\ntypedef int32_t acc_t;", "uint16_t elem_t;\ntypedef float acc_t;",
       "8 and 8 (bf16) or 5 and 11 (f16)"},
      {"int8_t elem_t;\ntypedef int32_t acc_t;\n#define HAS_MVIN_SCALE\ntypedef float scale_t;",
       "uint16_t elem_t;\ntypedef float acc_t;\n#define ELEM_T_EXP_BITS 5\n#define ELEM_T_SIG_BITS 11\n#define "
       "HAS_MVIN_SCALE\n"
       "typedef uint16_t scale_t;",
       "scale_t is uint16_t"},
      {"#define HAS_MVIN_SCALE", "#define HAS_NORMALIZATIONS", "HAS_NORMALIZATIONS is unsupported"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_null(file_of_header(wrong[i].from, wrong[i].to, &error));
    if (!strstr(error.text, wrong[i].says)) fail_msg("\"%s\" does not say \"%s\"", error.text, wrong[i].says);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_of_all_configurations_are_right),
      cmocka_unit_test(tinympc_is_right_on_larger_arrays),
      cmocka_unit_test(the_default_header_makes_the_default_machine),
      cmocka_unit_test(other_headers_say_what_they_say),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
