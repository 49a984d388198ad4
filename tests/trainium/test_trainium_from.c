/* A user's NKI kernel as the start of a search: changes of its text, the lines where time goes, and agents that edit
 * it. */
#define _GNU_SOURCE
#include "search_fixture.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search/result.h"
#include "target/trainium/rewrite/edits.h"
#include "target/trainium/rewrite/rewrite.h"
#include "tilewright/extend/target.h"
#include "tilewright/search.h"

static const char naive[] = "import neuronxcc.nki as nki\n"
                            "import neuronxcc.nki.isa as nisa\n"
                            "import neuronxcc.nki.language as nl\n"
                            "\n"
                            "@nki.jit\n"
                            "def gemm(a, b):\n"
                            "    k, m = a.shape\n"
                            "    _, n = b.shape\n"
                            "    TILE_N = 128\n"
                            "    c = nl.ndarray((m, n), dtype=a.dtype, buffer=nl.shared_hbm)\n"
                            "    for i in nl.affine_range(m // 128):\n"
                            "        for j in nl.affine_range(n // TILE_N):\n"
                            "            sums = nl.zeros((128, TILE_N), nl.float32, buffer=nl.psum)\n"
                            "            for s in nl.affine_range(k // 128):\n"
                            "                left = nl.load(a[s * 128:(s + 1) * 128, i * 128:(i + 1) * 128])\n"
                            "                right = nl.load(b[s * 128:(s + 1) * 128, j * TILE_N:(j + 1) * TILE_N])\n"
                            "                sums += nl.matmul(left, right, transpose_x=True)\n"
                            "            out = nisa.tensor_copy(sums, dtype=c.dtype, engine=nisa.scalar_engine)\n"
                            "            nl.store(c[i * 128:(i + 1) * 128, j * TILE_N:(j + 1) * TILE_N], value=out)\n"
                            "    return c\n";
static const char small[] = "gemm m=256 n=512 k=256 a=bf16 b=bf16 a_transposed=1";

static tw_problem problem_of(const tw_target *t, const char *text) {
  tw_problem p;
  tw_error error = {0};
  if (tw_problem_parse(t, text, &p, &error) != TW_OK || tw_target_supports(t, &p, &error) != TW_OK)
    fail_msg("%s", error.text);
  return p;
}

/* ---- changes of a text ---- */

static bool offers(const char *source, const char *step) {
  trn_edit edit[100];
  const size_t n = trn_edits_find(source, 100, edit);
  for (size_t i = 0; i < n; i++)
    if (!strcmp(edit[i].step, step)) return true;
  return false;
}

__attribute__((noinline)) static char *after(const char *source, const char *step) {
  char *out = NULL;
  tw_error error = {0};
  if (trn_edit_apply(source, step, &out, &error) != TW_OK) fail_msg("%s: %s", step, error.text);
  return out;
}

static void expect_after(const char *source, const char *step, const char *expected) {
  char *text;
  if (!offers(source, step)) fail_msg("'%s' is not offered", step);
  text = after(source, step);
  if (strcmp(text, expected) != 0) fail_msg("%s:\n%s", step, text);
  free(text);
}

static void each_change_does_what_its_step_says(void **state) {
  expect_after("N = 8 # rows\nx = N\n", "set N=16 line 1", "N = 16 # rows\nx = N\n");
  expect_after("N = 8\n", "set N=4 line 1", "N = 4\n");
  expect_after("nisa.tensor_copy(dst=t[(1, 2)],\n                 src=u)\n", "engine gpsimd line 1",
               "nisa.tensor_copy(dst=t[(1, 2)],\n                 src=u, engine=nisa.gpsimd_engine)\n");
  expect_after("x = nisa.tensor_tensor(a, b, op=nl.add, engine=nisa.vector_engine)\n", "engine gpsimd line 1",
               "x = nisa.tensor_tensor(a, b, op=nl.add, engine=nisa.gpsimd_engine)\n");
  expect_after("for i in range(2):\n  # rows\n  for j in range(3):\n    f(i, j)\ng()\n", "exchange loops line 1",
               "for j in range(3):\n  # rows\n  for i in range(2):\n    f(i, j)\ng()\n");
  expect_after("def f():\n  for i in range(2):\n    y = i\n    t = nl.load(x[:, 0])\n    g(y, t)\n", "hoist line 4",
               "def f():\n  t = nl.load(x[:, 0])\n  for i in range(2):\n    y = i\n    g(y, t)\n");
  expect_after(
      "def f():\n  for i in range(2):\n    t = nl.ndarray((128, 4))\n    nisa.dma_copy(dst=t, src=x)\n    g(t)\n",
      "hoist line 3",
      "def f():\n  t = nl.ndarray((128, 4))\n  nisa.dma_copy(dst=t, src=x)\n  for i in range(2):\n    g(t)\n");
}

static void changes_that_cannot_be_right_are_not_offered(void **state) {
  assert_false(offers("N = 1\n", "set N=0 line 1"));
  assert_false(offers("N = 8 + M\n", "set N=16 line 1"));
  assert_false(offers("for i in range(2):\n  for j in range(i):\n    f(j)\n", "exchange loops line 1"));
  assert_false(offers("for i in range(2):\n  y = 0\n  for j in range(3):\n    f(j)\n", "exchange loops line 1"));
  assert_false(offers("def f():\n  for i in range(2):\n    t = nl.load(x[i])\n", "hoist line 3"));
  assert_false(offers("def f():\n  for i in range(2):\n    y = g(i)\n    t = nl.load(x[y])\n", "hoist line 4"));
  assert_false(offers("def f():\n  for i in range(2):\n    t = nl.ndarray((4, i))\n    nisa.dma_copy(dst=t2, src=x)\n",
                      "hoist line 3"));
  static const char *const wrong[] = {
      "set M=4 line 1", "set N=4 line 2",        "set N=4 line 99", "engine vector line 1",
      "hoist line 1",   "exchange loops line 1", "anything",        ""};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    char *text;
    tw_error error = {0};
    assert_int_equal(trn_edit_apply("N = 8\n", wrong[i], &text, &error), TW_USAGE);
    assert_non_null(strstr(error.text, "unknown place in the source"));
  }
}

/* ---- a kernel ---- */

static void lines_are_ranked_by_what_they_cost(void **state) {
  const tw_target *t = tw_target_find("trn2");
  const tw_problem p = problem_of(t, small);
  tw_program *program;
  tw_diagnosis d;
  tw_error error = {0};
  if (t->rewriter->study(t, &p, naive, strlen(naive), false, 1, 1, NULL, &program, &error) != TW_OK)
    fail_msg("%s", error.text);
  assert_int_equal(t->rewriter->diagnose(program, 1, &d, &error), TW_OK);
  assert_true(d.n >= 2);
  for (size_t i = 0; i + 1 < d.n; i++) assert_true(d.finding[i].cost >= d.finding[i + 1].cost);
  bool loads = false;
  for (size_t i = 0; i < d.n; i++) loads |= !!strstr(d.finding[i].example, "nl.load");
  assert_true(loads);
  t->rewriter->forget(program);
  char *wrong = after(naive, "set TILE_N=256 line 9");
  memcpy(strstr(wrong, "sums += "), "sums -= ", 8); /* unsupported or wrong, never taken */
  assert_int_equal(t->rewriter->study(t, &p, wrong, strlen(wrong), false, 1, 1, NULL, &program, &error), TW_FAILED);
  free(wrong);
}

static void rewrites_alone_make_a_kernel_faster(void **state) {
  const tw_target *t = tw_target_find("trn2");
  const tw_problem p = problem_of(t, small);
  tw_search_options o = {.size = sizeof o, .jobs = 1, .inputs = 3};
  tw_search_result r = {0};
  tw_improvement how = {0};
  tw_error error = {0};
  if (tw_improve(t, &p, naive, strlen(naive), &o, true, &r, &how, &error) != TW_OK) fail_msg("%s", error.text);
  assert_true(r.n_rungs >= 2 && how.rewritten);
  assert_true(how.after.cost < 0.98 * r.rung[0].cost);
  assert_non_null(strstr(r.source, "TILE_N = 512"));
  tw_search_result_clear(&r);
}

/* The scripted agent answers a plan, then edits of which the first is wrong; it is told why and sends the right one. */
static void an_agent_edits_the_source(void **state) {
  static const char script[] =
      "exec:p=$(cat); case \"$p\" in "
      "*'Now you plan'*) printf 'OPTION: larger loads\\nWHY: fewer transfers\\nPLAN:\\n1. TILE_N = 512\\n';; "
      "*'What went wrong'*) printf '<<<<<<< SEARCH\\n    TILE_N = 640\\n=======\\n    TILE_N = 512\\n>>>>>>> "
      "REPLACE\\n';; "
      "*) printf '<<<<<<< SEARCH\\n    TILE_N = 128\\n=======\\n    TILE_N = 640\\n>>>>>>> REPLACE\\n';; esac";
  const tw_target *t = tw_target_find("trn2");
  const tw_problem p = problem_of(t, small);
  const tw_model_options model = {.size = sizeof model, .at_once = 1, .seconds = 20};
  const char *const agents[] = {script};
  const tw_search_options o = {.size = sizeof o,
                               .iterations = 1,
                               .plans = 1,
                               .kernels = 1,
                               .beam = 1,
                               .seed = 1,
                               .jobs = 1,
                               .agents = agents,
                               .n_agents = 1,
                               .model = &model,
                               .program = naive};
  tw_search_result r = {0};
  tw_error error = {0};
  if (tw_search_into(t, &p, &o, &r, &error) != TW_OK) fail_msg("%s", error.text);
  assert_int_equal(r.n_rungs, 2);
  assert_string_equal(r.rung[1].step, "larger loads");
  assert_non_null(strstr(r.source, "TILE_N = 512"));
  assert_true(r.rung[1].cost < 0.98 * r.rung[0].cost);
  tw_search_result_clear(&r);
}

/* ---- a real machine ---- */

static char *read_all(const char *command) {
  static char text[8000];
  FILE *f = popen(command, "r");
  assert_non_null(f);
  text[fread(text, 1, sizeof text - 1, f)] = '\0';
  pclose(f);
  return text;
}

/* The stand-ins for ssh and scp are scripts: scp copies, ssh looks at what was copied and answers with a latency, as
 * the driver does. */
static void a_runner_takes_latencies_of_another_computer(void **state) {
  char folder[] = "/tmp/trainium_runner_XXXXXX", command[4000];
  if (system("command -v python3 >/dev/null") != 0) skip();
  assert_non_null(mkdtemp(folder));
  snprintf(command, sizeof command,
           "cd %s && "
           "printf '#!/bin/sh\\nfor from; do test $# -gt 2 || break; shift; done; mkdir -p %s/there; cp -r \"$1\" "
           "%s/there/\"${2#*:}\"\\n' > scp && "
           "printf '#!/bin/sh\\nfor remote; do :; done; d=$(echo \"$remote\" | sed \"s/^cd //;s/ .*//\"); cd "
           "%s/there/$d || exit 1; test -s "
           "kernel.py || exit 1; "
           "python3 -m py_compile driver.py || exit 1; python3 -c \"import ast; "
           "ast.parse(open(\\\"kernel.py\\\").read())\" || exit 1; "
           "echo \"{\\\"p50_us\\\": 77.5, \\\"correct\\\": true}\"\\n' > ssh && chmod +x scp ssh",
           folder, folder, folder, folder);
  assert_int_equal(system(command), 0);
  snprintf(command, sizeof command,
           "cd %s && PATH=%s:$PATH %s tune cumsum rows=128 cols=256 -t trn2 --no-wisdom --samples 2 --jobs 1 "
           "--runner "
           "'python3 %s/../../examples/runners/trainium.py HOST' 2>&1",
           folder, folder, TW_COMMAND, TW_TEST_DATA);
  const char *said = read_all(command);
  if (!strstr(said, "77.5 us")) fail_msg("%s", said);
  if (!strstr(said, "not confirmed here")) fail_msg("%s", said);
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0);
}

static void a_driver_has_inputs_and_expected_outputs(void **state) {
  const tw_target *t = tw_target_find("trn2");
  const tw_problem p = problem_of(t, "layernorm rows=8 cols=4 norm=rms eps=0.5 a=bf16"),
                   large = problem_of(t, "gemm m=4096 n=4096 k=4096 a=bf16 b=bf16");
  const tw_schedule none = {0};
  tw_files files;
  tw_error error = {0};
  if (t->exporter->sources(t, &p, &none, "", &files, &error) != TW_OK) fail_msg("%s", error.text);
  assert_int_equal(files.n, 4); /* the driver, x, weight, y */
  assert_string_equal(files.file[0].name, "driver.py");
  assert_non_null(strstr(files.file[0].text, "(\"y\", \"bfloat16\", (8, 4, ), True, \"operand2.npy\")"));
  assert_non_null(strstr(files.file[0].text, "SCALARS = dict(eps=0.5)"));
  assert_int_equal(files.file[1].size, 128 + 8 * 4 * 2);
  assert_memory_equal(files.file[1].text, "\x93NUMPY\x01\x00\x76\x00{'descr': '<u2'", 25);
  tw_files_free(&files);
  if (t->exporter->sources(t, &large, &none, "", &files, &error) != TW_OK) fail_msg("%s", error.text);
  assert_int_equal(files.n, 1);
  assert_null(strstr(files.file[0].text, ".npy\""));
  tw_files_free(&files);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_change_does_what_its_step_says),
                                     cmocka_unit_test(changes_that_cannot_be_right_are_not_offered),
                                     cmocka_unit_test(lines_are_ranked_by_what_they_cost),
                                     cmocka_unit_test(rewrites_alone_make_a_kernel_faster),
                                     cmocka_unit_test(an_agent_edits_the_source),
                                     cmocka_unit_test(a_runner_takes_latencies_of_another_computer),
                                     cmocka_unit_test(a_driver_has_inputs_and_expected_outputs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
