/* NKI kernels: what is read, what is computed, and the line of each error. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/files.h"
#include "base/parallel.h"
#include "base/strings.h"
#include "target/trainium/machine/data.h"
#include "target/trainium/nki/syntax.h"
#include "tilewright/extend/target.h"
#include "tilewright/run.h"

/* ---- running a source ---- */

typedef struct result {
  tw_status status;
  tw_measurement measured;
  tw_error error;
} result;

static result evaluate_on(const char *target, const char *source, const char *problem, bool checks) {
  result out = {0};
  tw_problem p;
  tw_case k;
  tw_artefact *a;
  const tw_target *t = tw_target_find(target);
  assert_non_null(t);
  if (tw_problem_parse(t, problem, &p, &out.error) != TW_OK || tw_target_supports(t, &p, &out.error) != TW_OK ||
      tw_target_case(t, &p, 7, 1, &k, &out.error) != TW_OK)
    fail_msg("%s: %s", problem, out.error.text);
  out.status = t->build(t, &p, source, strlen(source), &(tw_evaluation){0}, &a, &out.error);
  if (out.status == TW_OK) {
    if (checks) out.status = t->check(t, a, &k, &(tw_evaluation){0}, &out.error);
    if (out.status == TW_OK) out.status = t->measure(t, a, &k, &(tw_evaluation){0}, &out.measured, &out.error);
    t->release(a);
  }
  tw_case_free(&k);
  return out;
}

static result run_on(const char *target, const char *source, const char *problem) {
  return evaluate_on(target, source, problem, true);
}

static double counter(const result *r, const char *name) {
  for (size_t i = 0; i < r->measured.n_counters; i++)
    if (strcmp(r->measured.counter[i].name, name) == 0) return r->measured.counter[i].value;
  fail_msg("there is no counter %s", name);
  return 0;
}

static result expect_correct(const char *source, const char *problem) {
  const result r = run_on("trn2", source, problem);
  if (r.status != TW_OK) fail_msg("%s: %s", problem, r.error.text);
  return r;
}

/* A time depends on no data, so it needs no check. */
static result expect_timed(const char *source, const char *problem) {
  const result r = evaluate_on("trn2", source, problem, false);
  if (r.status != TW_OK) fail_msg("%s: %s", problem, r.error.text);
  return r;
}

static char *example(const char *name) {
  char path[600], *text;
  tw_error error;
  snprintf(path, sizeof path, "%s/../../examples/nki/%s", TW_TEST_DATA, name);
  if (tw_file_read(path, 1 << 20, &text, NULL, &error) != TW_OK) fail_msg("%s", error.text);
  return text;
}

/* ---- kernels ---- */

static void parts_of_the_compiler_are_switched_off(void **state) {
  static const struct {
    const char *part, *counter; /* that the part changes */
  } parts[] = {{"engines", "scalar_busy"}, {"merging", "device"}, {"order", "device"}, {"all", "device"}};
  char *source = example("attention.py"), problem[160];
  const char *usual = "attention b=1 hq=2 hkv=2 sq=512 sk=512 d=128 causal=1";
  const result with = expect_correct(source, usual);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    snprintf(problem, sizeof problem, "%s without=%s", usual, parts[i].part);
    const result r = expect_timed(source, problem);
    if (counter(&r, parts[i].counter) == counter(&with, parts[i].counter)) fail_msg("%s changes nothing", problem);
  }
  snprintf(problem, sizeof problem, "%s without=all", usual);
  assert_true(expect_timed(source, problem).measured.seconds > 1.5 * with.measured.seconds);
  snprintf(problem, sizeof problem, "%s descriptors=static", usual);
  assert_true(expect_timed(source, problem).measured.seconds != with.measured.seconds);
  free(source);
}

/* The block holds for functions that are called in it. */
static void a_block_without_reordering_is_read(void **state) {
  static const char kernel[] =
      "import nki\nimport nki.language as nl\nimport nki.isa as nisa\n"
      "def work(u, a, w, v):\n"
      "    nisa.activation(dst=u, op=nl.tanh, data=a)\n"
      "    for i in range(16):\n"
      "        nisa.activation(dst=w, op=nl.tanh, data=v)\n"
      "@nki.jit\n"
      "def kernel(a):\n"
      "    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)\n"
      "    x, u, v, w = [nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf) for i in range(4)]\n"
      "    nisa.memset(v, value=0)\n"
      "    nisa.dma_copy(dst=x, src=a)\n"
      "    %s\n"
      "        work(u, x, w, v)\n"
      "    nisa.dma_copy(dst=out, src=u)\n"
      "    return out\n";
  static const char problem[] = "elementwise f=tanh rows=128 cols=512";
  char source[1000];
  double seconds[2];
  for (int k = 0; k < 2; k++) {
    snprintf(source, sizeof source, kernel, k ? "with nl.no_reorder():" : "if True:");
    seconds[k] = expect_correct(source, problem).measured.seconds;
  }
  assert_true(seconds[1] > 1.1 * seconds[0]);
  static const char *const wrong[][2] = {
      {"with nl.no_reorder:", "line 14: unsupported 'with' of a function; expected nl.no_reorder()"},
      {"with nl.zeros((128, 4)) as x:", "line 14: unsupported 'with' of a tensor; expected nl.no_reorder()"},
      {"with nl.no_reorder(1):", "line 14: no_reorder takes 0 arguments (1 were given)"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    snprintf(source, sizeof source, kernel, wrong[i][0]);
    const result r = run_on("trn2", source, problem);
    assert_int_equal(r.status, TW_FAILED);
    assert_string_equal(r.error.text, wrong[i][1]);
  }
}

/* The accumulator's values are computed before the program has an instruction. */
static void an_activation_may_be_first(void **state) {
  static const char source[] = "import nki\nimport nki.language as nl\nimport nki.isa as nisa\n"
                               "@nki.jit\n"
                               "def kernel(a):\n"
                               "    u = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
                               "    t = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.sbuf)\n"
                               "    b = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
                               "    s = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
                               "    nisa.activation(dst=t, op=nl.exp, data=u, bias=b, reduce_op=nl.add, reduce_res=s)\n"
                               "    return a\n";
  const result r = run_on("trn2", source, "elementwise f=tanh rows=128 cols=512");
  assert_int_equal(r.status, TW_FAILED);
}

/* Where the result is narrower than the accumulator, the activation is computed twice; its row is broadcast once, by products. */
static void the_row_of_an_accumulated_activation_is_broadcast(void **state) {
  static const char source[] = "import nki\nimport nki.language as nl\nimport nki.isa as nisa\n"
                               "@nki.jit\n"
                               "def kernel(a):\n"
                               "    y = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)\n"
                               "    u = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
                               "    t = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.sbuf)\n"
                               "    s = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
                               "    nisa.dma_copy(dst=u, src=a)\n"
                               "    nisa.activation(dst=t, op=nl.exp, data=u[0:1, :].broadcast_to((128, 512)), "
                               "reduce_op=nl.add, reduce_res=s)\n"
                               "    nisa.activation(dst=u, op=nl.tanh, data=u)\n"
                               "    nisa.dma_copy(dst=y, src=u)\n"
                               "    return y\n";
  const result r = expect_correct(source, "elementwise f=tanh rows=128 cols=512");
  assert_true(counter(&r, "tensor_busy") > 0);
}

static void hostile_kernels_end_with_one_line(void **state) {
  static const char kernel[] = "import nki\nimport nki.language as nl\nimport nki.isa as nisa\n"
                               "class A:\n    pass\n"
                               "@nki.jit\n"
                               "def kernel(a):\n"
                               "    u = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
                               "    x, y, l, k = A(), [], [], []\n"
                               "%s\n"
                               "    return a\n";
  static const char *const bodies[][2] = {
      {"    for i in range(200000):\n        y = A()\n        y.a = x\n        x = y", "wrong result"},
      {"    for i in range(200000):\n        y = [0]\n        y[0] = l\n        l = y", "wrong result"},
      {"    l.append(l)\n    k.append(k)\n    x = l == k", "line 12: sequences are nested more than 200 deep"},
      {"    for i in range(150):\n        l = [l, l]\n        k = [k, k]\n    x = l == k", "does each loop end?"},
      {"    nisa.dma_copy(dst=u, src=a.ap([[2**62, 4], [2**62, 4]]))", "line 10: ap(): element "},
      {"    nisa.tensor_copy(dst=u, src=u.ap([[512, 2**62], [1, 512]]))", "line 10: dimension 0 has 4611"},
      {"    x = a.reshape((2**32, 2**32))", "line 10: dimension 1 has 4294967296 elements"},
      {"    x = a.reshape((-128, -512))", "line 10: dimension 0 has -128 elements"},
      {"    x = a.broadcast_to((2**40, 128, 512))", "line 10: dimension 1 has 128 elements"},
      {"    nisa.affine_select(dst=u, pattern=[[2**62, 512]], offset=2**62, channel_multiplier=-2**62, on_true_tile=u, "
       "on_false_value=0.0, cmp_op=nl.greater)",
       "line 10: an index expression is larger than 2147483647"}};
  char source[1000];
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    snprintf(source, sizeof source, kernel, bodies[i][0]);
    const result r = run_on("trn2", source, "elementwise f=tanh rows=128 cols=512");
    assert_int_equal(r.status, TW_FAILED);
    if (!strstr(r.error.text, bodies[i][1])) fail_msg("%s: %s", bodies[i][0], r.error.text);
  }
}

static void an_rms_norm_is_correct_and_timed(void **state) {
  char *source = example("rmsnorm.py");
  const result r = expect_correct(source, "layernorm rows=512 cols=4096 norm=rms eps=1e-6");
  /* each operand moves once, and the time is between the DMA engines' bound and twice that */
  assert_true(counter(&r, "hbm_read") == 4.0 * (512 * 4096 + 4096));
  assert_true(counter(&r, "hbm_written") == 4.0 * 512 * 4096);
  assert_true(r.measured.seconds > 46e-6 && r.measured.seconds < 92e-6);
  expect_correct(source, "layernorm rows=300 cols=70 norm=rms"); /* masks cut the last rows */
  const result other = run_on("trn1", source, "layernorm rows=512 cols=4096 norm=rms eps=1e-6");
  if (other.status != TW_OK) fail_msg("%s", other.error.text);
  assert_true(other.measured.seconds > r.measured.seconds);
  free(source);
}

/* NKI documentation: the decorator skips the transformations of the compiler that fuse loops. A published time of 100
 * such iterations of three transfers is 186 us. */
static void a_kernel_can_keep_its_loops(void **state) {
  static const char kernel[] =
      "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\nimport neuronxcc.nki.isa as nisa\n"
      "%s"
      "@nki.jit\n"
      "def kernel(x):\n"
      "    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
      "    for i in nl.affine_range(100):\n"
      "        t, u = [nl.ndarray((128, 2), dtype=x.dtype, buffer=nl.sbuf) for k in range(2)]\n"
      "        nisa.dma_copy(src=x[:, 2 * i:2 * i + 2], dst=t)\n"
      "        nisa.dma_copy(src=x[:, 2 * i:2 * i + 2], dst=u)\n"
      "        nisa.dma_copy(src=nl.tanh(nl.minimum(t, u)), dst=y[:, 2 * i:2 * i + 2])\n"
      "    return y\n";
  static const char problem[] = "elementwise f=tanh rows=128 cols=200";
  char source[1000];
  double seconds[2];
  for (int keeps = 0; keeps < 2; keeps++) {
    snprintf(source, sizeof source, kernel, keeps ? "@nki.compiler.skip_middle_end_transformations\n" : "");
    seconds[keeps] = expect_correct(source, problem).measured.seconds;
  }
  if (seconds[0] > 30e-6 || seconds[1] < 120e-6 || seconds[1] > 200e-6)
    fail_msg("%g us fused, %g us as in the source", 1e6 * seconds[0], 1e6 * seconds[1]);
}

/* Engines cannot read one partition for all: a row that a kernel does not broadcast is broadcast, too. */
static void a_row_takes_as_long_as_if_the_kernel_broadcast_it(void **state) {
  static const char words[] = ".broadcast_to((128, cols))", problem[] = "layernorm rows=256 cols=512 norm=rms";
  char *source = example("rmsnorm.py"), *at = strstr(source, words);
  assert_non_null(at);
  const result with = expect_correct(source, problem);
  memset(at, ' ', strlen(words));
  const result without = expect_correct(source, problem);
  assert_true(counter(&with, "tensor_busy") > 0 && without.measured.seconds == with.measured.seconds);
  free(source);
}

/* The Tensor engine has no integers: their rows are transferred. */
static void a_row_of_integers_is_broadcast(void **state) {
  static const char source[] =
      "@nki.jit\n"
      "def softmax(x):\n"
      "    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
      "    t = nl.softmax(nl.load(x), axis=1)\n"
      "    row = nl.full((1, 64), 3, dtype=nl.int32)\n"
      "    whole = nl.full((128, 64), -3, dtype=nl.int32)\n"
      "    p, f, one = nl.arange(128)[:, None], nl.arange(80)[None, :], nl.arange(1)[:, None]\n"
      "    sum = nl.add(whole[p, f], row[one, f], mask=f < 64)\n"
      "    nl.store(y, nl.add(t, sum[0:128, 0:64]))\n"
      "    return y\n";
  const result r = expect_correct(source, "softmax rows=128 cols=64");
  assert_true(counter(&r, "tensor_busy") == 0);
  char *unmasked = strdup(source);
  memcpy(strstr(unmasked, "f < 64"), "f < 80", 6);
  const result wrong = run_on("trn2", unmasked, "softmax rows=128 cols=64");
  assert_true(wrong.status == TW_FAILED && strstr(wrong.error.text, "line 8: index 79 of dimension 1 is outside"));
  free(unmasked);
}

static void a_gemm_of_the_newer_dialect_is_correct(void **state) {
  char *source = example("gemm.py");
  const result r = expect_correct(source, "gemm m=256 n=1024 k=384 a_transposed=1 a=bf16 b=bf16");
  assert_true(counter(&r, "tensor_busy") > 0);
  expect_correct(source, "gemm m=128 n=512 k=128 a_transposed=1");
  free(source);
}

static const char softmax[] = "import neuronxcc.nki as nki\n"
                              "import neuronxcc.nki.isa as nisa\n"
                              "import neuronxcc.nki.language as nl\n"
                              "import numpy as np\n"
                              "\n"
                              "def ceil_div(a, b):\n"
                              "    return (a + b - 1) // b\n"
                              "\n"
                              "@nki.jit\n"
                              "def softmax(x):\n"
                              "    rows, cols = x.shape\n"
                              "    y = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.shared_hbm)\n"
                              "    p, f = nl.mgrid[0:128, 0:cols]\n"
                              "    for i in nl.affine_range(ceil_div(rows, 128)):\n"
                              "        mask = (i * 128 + p < rows)\n"
                              "        t = nl.load(x[i * 128 + p, f], mask=mask)\n"
                              "        top = nisa.tensor_reduce(np.max, t, axis=(1,), negate=True)\n"
                              "        e = nisa.activation(np.exp, t, bias=top, scale=1.0, dtype=nl.float32)\n"
                              "        total = nisa.tensor_reduce(np.add, e, axis=1)\n"
                              "        share = nisa.reciprocal(total)\n"
                              "        out = nisa.tensor_scalar(e, np.multiply, share, dtype=x.dtype)\n"
                              "        nl.store(y[i * 128 + p, f], out, mask=mask)\n"
                              "    return y\n";

static void a_softmax_with_helpers_grids_and_masks_is_correct(void **state) {
  expect_correct(softmax, "softmax rows=200 cols=333");
  expect_correct(softmax, "softmax rows=128 cols=64 a=bf16");
}

static const char transposed_gemm[] =
    "@nki.jit\n"
    "def gemm(a, b, c):\n" /* writes into its last argument */
    "    m, k = a.shape\n"
    "    _, n = b.shape\n"
    "    for i in nl.affine_range(m // 128):\n"
    "        sum_ = nl.zeros((nl.par_dim(128), n), dtype=nl.float32, buffer=nl.psum)\n"
    "        for s in nl.affine_range(k // 128):\n"
    "            rows = nl.load(a[nl.ds(i * 128, 128), nl.ds(s * 128, 128)])\n"
    "            columns = nl.load(b[s * 128:(s + 1) * 128, :])\n"
    "            sum_ += nl.matmul(rows, columns)\n" /* through a transpose on the Tensor engine */
    "        nl.store(c[i * 128:(i + 1) * 128, :], value=sum_.astype(c.dtype))\n";

static void a_gemm_with_transposes_and_an_output_argument_is_correct(void **state) {
  const result r = expect_correct(transposed_gemm, "gemm m=256 n=512 k=256");
  assert_true(counter(&r, "instructions") == 2 * (2 * (2 + 1 + 1 + 1) + 2));
}

/* A product with a name accumulates as one without: tracing sees no difference. */
static void a_product_with_a_name_accumulates(void **state) {
  char source[2000];
  static const char kernel[] = "@nki.jit\n"
                               "def k(a, b):\n"
                               "    c = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)\n"
                               "    s = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.psum)\n"
                               "    for i in nl.affine_range(2):\n"
                               "        x = nl.load_transpose2d(a[:, i * 128:(i + 1) * 128])\n"
                               "        y = nl.load(b[i * 128:(i + 1) * 128, :])\n"
                               "%s"
                               "    nl.store(c, nl.copy(s))\n"
                               "    return c\n";
  snprintf(source, sizeof source, kernel, "        s += nisa.nc_matmul(x, y)\n");
  const result without = expect_correct(source, "gemm m=128 n=512 k=256");
  snprintf(source, sizeof source, kernel, "        p = nisa.nc_matmul(x, y)\n        s += p\n");
  const result with = expect_correct(source, "gemm m=128 n=512 k=256");
  assert_true(counter(&with, "instructions") == counter(&without, "instructions"));
}

static void directives_give_values_to_parameters(void **state) {
  char source[3000];
  const char *body = "@nki.jit\ndef other(x):\n    return x\n"
                     "@nki.jit\n"
                     "def scaled(x, factors):\n"
                     "    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
                     "    t = nl.load(x)\n"
                     "    for f in factors:\n"
                     "        t = t * f\n"
                     "    nl.store(y, nl.softmax(t, axis=1))\n"
                     "    return y\n";
  snprintf(source, sizeof source, "#: kernel = scaled\n#: factors = (2, 0.5)\n%s", body);
  expect_correct(source, "softmax rows=64 cols=32");
  snprintf(source, sizeof source, "#: factors = (2, 0.5)\n%s", body);
  const result r = run_on("trn2", source, "softmax rows=64 cols=32");
  if (r.status != TW_FAILED || !strstr(r.error.text, "2 kernels")) fail_msg("%s", r.error.text);
}

/* Directives name the op's inputs, whose shapes and layouts differ from those of a public kernel. */
static void directives_arrange_operands(void **state) {
  static const char kernel[] = "import neuronxcc.nki as nki\n" /* its names have other numbers than the directives' */
                               "import neuronxcc.nki.language as nl\n"
                               "@nki.jit\n"
                               "def k(x, rows):\n"
                               "    d, s = x.shape\n"
                               "    y = nl.ndarray((s, d), dtype=x.dtype, buffer=nl.shared_hbm)\n"
                               "    for i in nl.affine_range(rows // 128):\n"
                               "        t = nl.load(x[:, nl.ds(i * 128, 128)])\n"
                               "        nl.store(y[nl.ds(i * 128, 128), :], nl.transpose(t))\n"
                               "    return y\n";
  static const struct {
    const char *directive, *problem, *expected;
  } wrong[] = {{"#: x = x.transpose(1, 1)\n", "elementwise rows=256 cols=64 f=relu",
                "line 1: transpose: expected each of the 2 axes once"},
               {"#: x = X.transpose(1)\n", "elementwise rows=256 cols=64 f=relu",
                "line 1: unknown name 'X'; the op's inputs are x"},
               {"#: x = x.transpose(1)\n", "elementwise rows=256 cols=64 f=relu",
                "line 1: transpose: expected each of the 2 axes once"}};
  char source[2000];
  /* transposing what the host transposed gives the input: relu of it is wrong, a product with 1 is right */
  snprintf(source, sizeof source, "#: rows = 256\n#: x = x.reshape(4, 64, 64).reshape((256, -1)).transpose(1, 0)\n%s",
           kernel);
  expect_correct(source, "elementwise rows=256 cols=64 f=scale alpha=1");
  const result r = run_on("trn2", source, "elementwise rows=256 cols=64 f=relu");
  assert_non_null(strstr(r.error.text, "wrong result"));
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    snprintf(source, sizeof source, "%s#: rows = 256\n%s", wrong[i].directive, kernel);
    const result w = run_on("trn2", source, wrong[i].problem);
    if (!strstr(w.error.text, wrong[i].expected)) fail_msg("%s", w.error.text);
  }
}

/* [NKB] In profiles of a trn1, Scalar runs nl.copy of PSUM. In the older dialect, Vector or Scalar runs nisa.tensor_copy.
 * In the newer dialect, Scalar has no tensor_copy. */
static void copies_of_psum_have_their_engine_on_trn1(void **state) {
  static const struct {
    const char *import, *store, *copy;
    bool on_scalar, on_vector;
  } kernel[] = {
      {"neuronxcc.nki", "nl.store(y, s)", "s = nl.copy(p)", true, false},
      {"neuronxcc.nki", "nl.store(y, s)", "s = nisa.tensor_copy(p)", false, true},
      {"neuronxcc.nki", "nl.store(y, s)", "s = nisa.tensor_copy(p, engine=nisa.scalar_engine)", true, false},
      {"nki", "nisa.dma_copy(dst=y, src=s)", "nisa.tensor_copy(dst=s, src=p)", false, true},
  };
  for (size_t i = 0; i < sizeof kernel / sizeof *kernel; i++) {
    const bool is_newer = !strcmp(kernel[i].import, "nki");
    char source[2000];
    snprintf(source, sizeof source,
             "import %s as nki\nimport %s.isa as nisa\nimport %s.language as nl\n"
             "@nki.jit\n"
             "def k(a, b):\n"
             "    y = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)\n"
             "    s = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)\n"
             "%s"
             "    %s\n"
             "    %s\n"
             "    return y\n",
             kernel[i].import, kernel[i].import, kernel[i].import,
             is_newer ? "    p = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)\n"
                        "    l = nl.ndarray((128, 128), dtype=a.dtype, buffer=nl.sbuf)\n"
                        "    r = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)\n"
                        "    nisa.dma_copy(dst=l, src=a)\n    nisa.dma_copy(dst=r, src=b)\n"
                        "    nisa.nc_matmul(dst=p, stationary=l, moving=r)\n"
                      : "    p = nisa.nc_matmul(nl.load(a), nl.load(b))\n",
             kernel[i].copy, kernel[i].store);
    const result r = run_on("trn1", source, "gemm m=128 n=512 k=128 a_transposed=1");
    if (r.status != TW_OK) fail_msg("%s: %s", kernel[i].copy, r.error.text);
    if ((counter(&r, "scalar_busy") > 0) != kernel[i].on_scalar ||
        (counter(&r, "vector_busy") > 0) != kernel[i].on_vector)
      fail_msg("%s (%s): Vector %.3f, Scalar %.3f", kernel[i].copy, kernel[i].import, counter(&r, "vector_busy"),
               counter(&r, "scalar_busy"));
  }
}

static void causal_attention_is_correct(void **state) {
  char *source = example("attention.py");
  const result r = expect_correct(source, "attention b=1 hq=2 hkv=2 sq=256 sk=256 d=128 causal=1");
  assert_true(counter(&r, "tensor_busy") > 0 && counter(&r, "scalar_busy") > 0 && counter(&r, "gpsimd_busy") > 0);
  expect_correct(source, "attention b=2 hq=1 hkv=1 sq=128 sk=128 d=64 causal=1 a=bf16");
  free(source);
}

/* A transposing transfer of 2-byte elements has 90% of the rate of a copy; wider elements move one by one. */
static void a_transpose_by_dma_is_nearly_as_fast_as_a_copy(void **state) {
  static const char format[] = "#: x = x.reshape(2048, 128)\n"
                               "import nki.language as nl\n"
                               "import nki.isa as nisa\n"
                               "@nki.jit\n"
                               "def transpose(x):\n"
                               "    y = nl.ndarray((x.shape[1], x.shape[0]), dtype=x.dtype, buffer=nl.shared_hbm)\n"
                               "    t = nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.sbuf)\n"
                               "    nisa.dma_transpose(dst=t, src=x)\n"
                               "    nisa.dma_copy(dst=y, src=t)\n"
                               "    return y\n";
  const result narrow = expect_correct(format, "transpose rows=2048 cols=128 a=bf16"),
               wide = expect_correct(format, "transpose rows=2048 cols=128 a=f32");
  const double bytes = counter(&narrow, "hbm_read"), busy = counter(&narrow, "dma_busy");
  assert_true(bytes == 2048 * 128 * 2 && busy > 0 &&
              busy < 3 * bytes / 435e3); /* us, for a read and a write at 435 GB/s */
  assert_true(counter(&wide, "dma_busy") > 8 * busy);
}

/* A kernel without the second output is compared by outputs=first, and says so; nothing of the first is forgiven. */
static void an_output_may_be_left_out(void **state) {
  static const char format[] = "#: q = Q.reshape(%d, 128).transpose(1, 0)\n"
                               "#: k = K.reshape(%d, 128).transpose(1, 0)\n"
                               "#: v = V.reshape(%d, 128)\n"
                               "@nki.jit\n"
                               "def attention(q, k, v):\n"
                               "    o = nl.ndarray(v.shape, dtype=v.dtype, buffer=nl.shared_hbm)\n"
                               "    s = nl.matmul(nl.load(q), nl.load(k), transpose_x=True)\n"
                               "    p = nl.softmax(s, axis=1)\n"
                               "    nl.store(o, nl.matmul(p, nl.load(v)%s))\n"
                               "    return o\n";
  char source[1000];
  const char *problem = "attention b=1 hq=1 hkv=1 sq=128 sk=128 d=128 scale=1";
  char first[200];
  snprintf(source, sizeof source, format, 128, 128, 128, "");
  snprintf(first, sizeof first, "%s outputs=first", problem);
  expect_correct(source, first);
  result r = run_on("trn2", source, problem);
  if (r.status != TW_FAILED || !strstr(r.error.text, "returns nothing for 'LSE'; return each output of the op, or use"))
    fail_msg("%s", r.error.text);
  snprintf(source, sizeof source, format, 128, 128, 128, " * 1.01");
  r = run_on("trn2", source, first);
  if (r.status != TW_FAILED || !strstr(r.error.text, "wrong result: O[")) fail_msg("%s", r.error.text);
  snprintf(source, sizeof source, format, 128, 128, 128, ""); /* what is left out is no input */
  memcpy(strchr(source, 'Q'), "LSE   #", 7);
  r = run_on("trn2", source, first);
  if (r.status != TW_FAILED || !strstr(r.error.text, "unknown name 'LSE'; the op's inputs are Q K V"))
    fail_msg("%s", r.error.text);
}

/* The option is for ops that may have several outputs, here and in the reference of ops. */
static void ops_with_one_output_have_no_outputs_option(void **state) {
  static const char *const problems[] = {
      "gemm m=8 n=8 k=8",
      "conv2d n=2 h=6 w=6 c=4 k=4 r=3 s=3",
      "conv3d n=2 d=4 h=4 w=4 c=4 k=4 t=2 r=2 s=2",
      "mpc_forward horizon=8 states=6 inputs=6",
      "mpc_backward horizon=8 states=6 inputs=6",
      "attention b=2 hq=4 hkv=4 sq=16 sk=16 d=16",
      "layernorm rows=16 cols=16 residual=1",
      "rotary b=4 h=4 s=16 d=32",
      "softmax rows=16 cols=16",
      "cumsum rows=16 cols=30",
      "transpose b=4 rows=16 cols=16",
      "depthwise n=4 c=4 w=16 taps=3 pad=1",
      "mamba b=2 c=8 s=16 n=8",
      "gate rows=16 cols=8",
      "elementwise rows=16 cols=16 f=gelu_erf",
      "reduce outer=4 n=32 inner=8",
      "pool n=3 h=14 w=15 r=3 s=3",
  };
  const size_t n = sizeof problems / sizeof *problems;
  const tw_target *t = tw_target_find("trn2");
  assert_null(tw_op_at(n)); /* each op is in the list */
  for (size_t i = 0; i < n; i++) {
    char first[200];
    tw_problem p;
    tw_operand operand[TW_OPERANDS_MAX];
    tw_error error = {0};
    size_t outputs = 0;
    if (tw_problem_parse(t, problems[i], &p, &error) != TW_OK || tw_target_supports(t, &p, &error) != TW_OK)
      fail_msg("%s: %s", problems[i], error.text);
    for (size_t o = p.op->operands(&p, operand); o-- > 0;) outputs += operand[o].is_output;
    snprintf(first, sizeof first, "%s outputs=first", problems[i]);
    if ((tw_problem_parse(t, first, &p, &error) == TW_OK) != (outputs > 1))
      fail_msg("%s has %zu outputs: %s", problems[i], outputs, error.text);
  }
}

/* `use` is a condition that the kernel asserts. */
static void write_classes(char text[2400], const char *use) {
  snprintf(text, 2400,
           "from typing import NamedTuple\n"
           "class Shape(NamedTuple):\n"
           "    rows: int\n"
           "    cols: int = 64\n"
           "@dataclass(frozen=True)\n"
           "class Config:\n"
           "    tile: int = 128\n"
           "    scale = 2\n"
           "    def tiles(self, n): return n // self.tile\n"
           "    @property\n"
           "    def half(self): return self.tile // 2\n"
           "    @staticmethod\n"
           "    def next(x): return x + 1\n"
           "    @classmethod\n"
           "    def usual(of): return of()\n"
           "class Counter:\n"
           "    def __init__(self, first): self.n = first\n"
           "    def take(self):\n"
           "        self.n += 1\n"
           "        return self.n - 1\n"
           "class Kind(Flag):\n"
           "    A = 1\n"
           "class Mode(Enum):\n"
           "    FAST = 'f'\n"
           "    SLOW = 's'\n"
           "config = Config(tile=64)\n"
           "@nki.jit\n"
           "def softmax(x):\n"
           "    s, c = Shape(x.shape[0], cols=x.shape[1]), Counter(0)\n"
           "    assert isinstance(s, Shape) and not isinstance(s, Config) and s.cols == 64\n"
           "    assert config.half == 32 and config.next(3) == 4 == Config.next(3) and Config.scale == config.scale\n"
           "    assert %s\n"
           "    assert Mode.FAST is Mode.FAST != Mode.SLOW and Mode.SLOW.value == 's' and isinstance(Mode.FAST, Mode)\n"
           "    assert f'{Mode.FAST.name}' == 'FAST'\n"
           "    y = nl.ndarray((s.rows, s.cols), dtype=x.dtype, buffer=nl.shared_hbm)\n"
           "    for _ in range(config.tiles(s.rows)):\n"
           "        i = c.take() * config.tile\n"
           "        nl.store(y[i:i + 64, :], nl.softmax(nl.load(x[i:i + 64, :]), axis=1))\n"
           "    return y\n",
           use);
}

static void classes_make_objects(void **state) {
  static const struct {
    const char *use, *error;
  } wrong[] = {{"config.tail == 1", "line 32: an object has no attribute 'tail'"},
               {"Config.usual()", "line 32: unsupported decorator 'classmethod' of a method"},
               {"Shape()", "line 32: Shape: argument 'rows' is missing"},
               {"Shape(1, 2, 3)", "line 32: Shape takes 2 arguments (3 were given)"},
               {"Config(tiles=1)", "line 32: Config has no parameter 'tiles'"},
               {"Kind.A", "line 32: 'Kind' has no value here (line 21: unsupported base 'Flag' of class 'Kind'"},
               {"config + 1", "unsupported operator on an object and an int"},
               {"len(config)", "unsupported len() of an object"}};
  char source[2400];
  write_classes(source, "True");
  expect_correct(source, "softmax rows=256 cols=64");
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    write_classes(source, wrong[i].use);
    const result r = run_on("trn2", source, "softmax rows=256 cols=64");
    if (r.status != TW_FAILED || !strstr(r.error.text, wrong[i].error)) fail_msg("%s: %s", wrong[i].use, r.error.text);
  }
}

/* The less usual forms, in one softmax. */
static const char forms[] =
    "#: options = {'scale': 1.0, 'steps': [(0, 2), (2, 4)]}\n"
    "from neuronxcc.nki import *\n"
    "class Unused:\n"
    "    def method(self):\n"
    "        return {1, 2}\n"
    "host = np.random.rand(4) + 1j\n"
    "@nki.jit(mode='simulation')\n"
    "def softmax(x, options, *more, name: str = f'{1 + 1}x', **rest):\n"
    "    assert -60 << 2 == -240 and 0 << 99 == 0 and (-1) ** 10 ** 18 == 1 and (-2) ** 3 == -8, 'integers'\n"
    "    assert isinstance(more, tuple) and len(rest) == 0 and name.replace('2', 'ab') == 'abx', 'defaults'\n"
    "    (rows, cols), parts = x.shape, 4\n"
    "    if (width := cols // parts) * parts != cols: raise ValueError('columns')\n"
    "    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
    "    flat = nl.arange(cols)[None, :]\n"
    "    outer, inner = flat // cols, flat % cols\n"
    "    i = nl.mgrid[0:rows, 0:cols]\n"
    "    t = nl.load(x[i.p, inner + outer])[i.p < rows]\n"
    "    t = t.reshape((rows, parts, width))\n"
    "    tops = nl.max(t, axis=[2], keepdims=True)\n"
    "    top = nl.max(tops, axis=(1, 2))\n"
    "    e = nl.ndarray((rows, parts, width), dtype=nl.float32)\n"
    "    for first, last in options['steps']:\n"
    "        for p in range(first, last):\n"
    "            e[:, p, :] = nisa.activation(nl.exp, t[:, p], bias=-1 * top, scale=options.get('scale'))\n"
    "    else:\n"
    "        count = sum([last - first for first, last in options['steps'] if last > first])\n"
    "    assert count == parts\n"
    "    total = nisa.tensor_reduce(np.add, e, axis=[1, 2])\n"
    "    lanes = nisa.iota(nl.arange(rows)[:, None] * 0 + nl.arange(cols)[None, :], dtype=nl.int32)\n"
    "    zeros = nl.multiply(lanes, 0, dtype=nl.float32)\n"
    "    out = (e.reshape((rows, cols)) + zeros) / total\n"
    "    nl.store(y[...], out)\n"
    "    return y\n";

static void unusual_forms_are_read(void **state) {
  expect_correct(forms, "softmax rows=96 cols=64");
  const result r = run_on("trn2", forms, "softmax rows=96 cols=63");
  if (r.status != TW_FAILED || !strstr(r.error.text, "line 12: the kernel raises an error: columns"))
    fail_msg("%s", r.error.text);
}

static void constants_of_numpy_and_reductions_over_loops_are_right(void **state) {
  expect_correct("import numpy as np\n"
                 "def swap(n):\n"
                 "    m = np.zeros((n, n), dtype=np.float32)\n"
                 "    for i in range(n):\n"
                 "        m[i, n - 1 - i] = 1.0\n"
                 "    return m\n"
                 "@nki.jit\n"
                 "def k(x):\n"
                 "    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
                 "    turn = nl.load(nl.shared_constant(swap(128)))\n" /* the rows backwards and back */
                 "    eye = nl.load(nl.shared_constant(np.identity(128, dtype=np.float32)))\n"
                 "    one = np.dtype(np.float32).type(1)\n"
                 "    back = nl.copy(nisa.nc_matmul(eye, nisa.nc_matmul(turn, nl.load(x)), is_transpose=False))\n"
                 "    t = nl.copy(nisa.nc_matmul(turn, back))\n"
                 "    e = nl.ndarray((nl.par_dim(128), 64), dtype=nl.float32)\n"
                 "    top = nl.ndarray((nl.par_dim(128), 1), dtype=nl.float32)\n"
                 "    all = nl.ndarray((nl.par_dim(128), 1), dtype=nl.float32)\n"
                 "    for i in nl.affine_range(4):\n"
                 "        m = nisa.tensor_reduce(nl.max, t[:, i * 16:i * 16 + 16], axis=1)\n"
                 "        top[:, 0:1] = nl.loop_reduce(m, op=np.max, loop_indices=[i], dtype=np.float32)\n"
                 "    for i in nl.affine_range(2):\n"
                 "        for j in nl.affine_range(2):\n"
                 "            f = nl.exp(t[:, i * 32 + j * 16:i * 32 + j * 16 + 16] - top)\n"
                 "            e[:, i * 32 + j * 16:i * 32 + j * 16 + 16] = f * one\n"
                 "            s = nl.sum(f, axis=1, keepdims=True)\n"
                 "            all[:, 0:1] = nl.loop_reduce(s, op=np.add, loop_indices=[i, j])\n"
                 "    nl.store(y, e / all)\n"
                 "    return y\n",
                 "softmax rows=128 cols=64");
}

static void special_instructions_are_right(void **state) {
  expect_correct("@nki.jit\n"
                 "def k(x):\n"
                 "    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
                 "    t = nl.load(x)\n"
                 "    j = nl.arange(64)[None, :]\n"
                 "    p = nl.arange(128)[:, None]\n"
                 "    back = nisa.iota(63 - j + 0 * p, dtype=nl.int32)\n" /* the columns backwards and back */
                 "    once = nisa.nc_n_gather(data=t, indices=back)\n"
                 "    t2 = nl.ndarray((128, 64), dtype=nl.float32)\n"
                 "    t2[...] = nisa.nc_n_gather(data=once, indices=back)\n"
                 "    low = nisa.iota(j + 0 * p, dtype=nl.int32)\n"
                 "    first = nisa.tensor_scalar(low, op0=nl.less, operand0=32.0, dtype=nl.uint8)\n"
                 "    t3 = nl.ndarray((128, 64), dtype=nl.float32)\n"
                 "    nisa.tensor_copy_predicated(src=t2, dst=t3, predicate=first)\n"
                 "    nisa.tensor_copy_predicated(src=t, dst=t3, predicate=first, reverse_pred=True)\n"
                 "    top = nl.ndarray((128, 1), dtype=nl.float32)\n"
                 "    same = nisa.tensor_scalar_reduce(data=t3, op0=nl.multiply, operand0=1.0, reduce_op=nl.max,\n"
                 "                                     reduce_res=top)\n"
                 "    e = nl.exp(same - nisa.max8(src=same)[:, 0:1])\n"
                 "    zero = nl.where(first, e, 0.0)\n"
                 "    high = nl.where(nisa.tensor_scalar(first, op0=nl.less, operand0=1.0), e, 0.0)\n"
                 "    e[...] = nl.where(first, e, -1.0)\n" /* assigned to its own operand */
                 "    e[:, 32:64] = nl.add(e[:, 32:64], 1.0)\n"
                 "    e = nl.add(nl.maximum(zero, e), high)\n"
                 "    s = nisa.bn_aggr(nisa.bn_stats(e))\n" /* the mean of 64 is their sum / 64 */
                 "    nl.store(y, e / (s[:, 0:1] * 64.0) * nl.trunc(1.5 + 0 * top))\n"
                 "    return y\n",
                 "softmax rows=128 cols=64");
}

/* Rows go by DMA to partitions where no engine may begin, change places in each quadrant, and are stored in order. */
static void instructions_of_the_newer_dialect_are_right(void **state) {
  static const char source[] =
      "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"
      "@nki.jit\n"
      "def k(x, w, eps):\n"
      "    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
      "    rows, cols = x.shape\n"
      "    assert nl.tile_size.total_available_sbuf_size == 208 * 1024\n"
      "    t = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.sbuf, address=(0, 0))\n"
      "    for i in range(0, rows, 5):\n"
      "        n = min(5, rows - i)\n"
      "        nisa.dma_copy(dst=t[i:i + n, :], src=x.ap(pattern=[[cols, n], [1, cols]], offset=i * cols, "
      "dtype=x.dtype))\n"
      "    down, next = [31 - p for p in range(32)], [(p + 5) % 32 for p in range(32)]\n"
      "    turned = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.sbuf)\n"
      "    nisa.memset(dst=turned, value=0.0)\n"
      "    nisa.nc_stream_shuffle(dst=turned, src=t, shuffle_mask=[255] + next[1:32])\n"
      "    nisa.nc_stream_shuffle(dst=turned[0:32, :], src=t[0:32, :], shuffle_mask=[5] + [255 for p in range(31)])\n"
      "    nisa.nc_stream_shuffle(dst=turned[32:64, :], src=t[32:64, :], shuffle_mask=next)\n"
      "    nisa.nc_stream_shuffle(dst=turned, src=turned, shuffle_mask=down)\n"
      "    mean, s = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf), nl.ndarray((rows, cols), "
      "dtype=nl.float32, buffer=nl.sbuf)\n"
      "    nisa.tensor_tensor(dst=s, data1=turned, data2=turned, op=nl.multiply)\n"
      "    nisa.tensor_reduce(dst=mean, op=nl.add, data=s, axis=1)\n"
      "    nisa.tensor_scalar(dst=mean, data=mean, op0=nl.multiply, operand0=1.0 / cols, op1=nl.add, operand1=eps)\n"
      "    nisa.tensor_scalar(dst=mean, data=mean, op0=nl.rsqrt, operand0=0.0, engine=nisa.gpsimd_engine)\n"
      "    identity = nl.shared_identity_matrix(rows, dtype=nl.float32)\n"
      "    same = nl.ndarray((rows, cols), dtype=nl.float32, buffer=nl.psum)\n"
      "    nisa.nc_matmul(dst=same, stationary=identity, moving=turned)\n"
      "    wide, row = nl.ndarray((rows, cols), dtype=w.dtype, buffer=nl.sbuf), nl.ndarray((1, cols), dtype=w.dtype, "
      "buffer=nl.sbuf)\n"
      "    nisa.dma_copy(dst=row, src=w.reshape((1, cols)))\n"
      "    for q in range(rows // 32):\n"
      "        nisa.nc_stream_shuffle(dst=wide[32 * q:32 * q + 32, :], src=row, shuffle_mask=[0 for p in range(32)])\n"
      "    nisa.tensor_scalar(dst=t, data=same, op0=nl.multiply, operand0=mean)\n"
      "    nisa.tensor_tensor(dst=t, data1=t, data2=wide, op=nl.multiply)\n"
      "    for q in range(rows // 32):\n"
      "        for p in range(32):\n"
      "            row = q * 32 + (36 - p) % 32\n"
      "            nisa.dma_copy(dst=y[row:row + 1, :], src=t[q * 32 + p:q * 32 + p + 1, :])\n"
      "    return y\n";
  expect_correct(source, "layernorm rows=64 cols=48 norm=rms");
}

/* The accumulator of the Scalar engine: reset, add, and read. */
static void activations_add_up_in_the_accumulator(void **state) {
  expect_correct("@nki.jit\n"
                 "def k(x):\n"
                 "    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
                 "    t = nl.load(x)\n"
                 "    top = nisa.tensor_reduce(nl.max, t, axis=1, negate=True)\n"
                 "    e = nl.ndarray((128, 64), dtype=nl.float32)\n"
                 "    s = nl.ndarray((128, 1), dtype=nl.float32)\n"
                 "    r = nl.ndarray((128, 1), dtype=nl.float32)\n"
                 "    other = nisa.activation(np.exp, t, scale=0.0, reduce_op=nl.add, reduce_res=r,\n"
                 "                            reduce_cmd=nisa.reduce_cmd.reset_reduce)\n"
                 "    e[:, 0:32] = nisa.activation(np.exp, t[:, 0:32], bias=top, reduce_op=nl.add,\n"
                 "                                 reduce_cmd=nisa.reduce_cmd.reset_reduce)\n"
                 "    e[:, 32:64] = nisa.activation(np.exp, t[:, 32:64], bias=top, reduce_op=nl.add, reduce_res=s,\n"
                 "                                  reduce_cmd=nisa.reduce_cmd.reduce)\n"
                 "    nl.store(y, e / (s * (r / 64.0)))\n" /* r: 64 times exp(0) */
                 "    return y\n",
                 "softmax rows=128 cols=64");
}

/* ---- mistakes: each has its line ---- */

#define KERNEL "@nki.jit\ndef k(x):\n    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
#define NEWER "import nki.isa as nisa\n" KERNEL "    t = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)\n"
#define PRODUCT                                                                                                        \
  KERNEL "    t = nl.load(x)\n    s = nl.zeros((64, 64), dtype=nl.float32, buffer=nl.psum)\n"                          \
         "    p = nisa.nc_matmul(t, t)\n"
static const struct {
  const char *source, *expected;
} mistakes[] = {
    {"def k(x):\n    return x\n", "no kernel"},
    {"@nki.jit\ndef k(x)\n    return x\n", "line 2: expected ':'"},
    {"import neuronxcc.nki.isa as nisa\n" KERNEL "    nisa.tensor_copy(dst=x, src=x)\n    return y\n",
     "tensor_copy of neuronxcc.nki has no 'dst'; assign its result, or import nki"},
    {"import nki.isa as nisa\n" KERNEL "    y[0, 0] = nisa.tensor_copy(x)\n    return y\n",
     "tensor_copy of nki writes to 'dst', its first argument (one argument was given)"},
    {"import neuronxcc.nki as nki\nimport nki.isa as nisa\n" KERNEL "    nisa.dma_copy(dst=y, src=x)\n    return y\n",
     "imports two dialects of NKI, nki and neuronxcc.nki; import one"},
    {"@nki.jit\ndef k(x):\nreturn x\n", "line 3: expected an indented block"},
    {"x = (1,\n", "line 2: expected an expression (found the end of the line)"},
    {"x = 'abc\n", "line 1: the string has no end"},
    {"x = 5 $ 6\n", "line 1: unsupported character"},
    {"if True:\n    x = 1\n  y = 2\n", "line 3: the indentation matches no open block"},
    {KERNEL "    t = nl.load(x[64:192, :])\n    return y\n", "line 4: index 191"},
    {KERNEL "    t = nl.load(x[nl.arange(128)[:, None] + 1, nl.arange(64)[None, :]])\n    return y\n",
     "line 4: index 128"},
    {KERNEL "    nl.store(y, x)\n    return y\n", "line 4: 'value' is in HBM"},
    {KERNEL "    t = nl.load(x)\n    nl.store(y[0:64, :], t[64:128, :])\n    return y\n", "wrong result: y"},
    {KERNEL "    t = nl.ndarray((128, 64), dtype=nl.float32)\n    nl.store(y, t)\n    return y\n",
     "line 4: elements of this tensor are read before they are written; element 0 of 'y' comes from them"},
    {KERNEL "    t = nl.load(x)\n    u = t[1:33, :] + 1\n    return y\n",
     "line 5: an operand of 32 partitions starts at partition 1"},
    {KERNEL "    t = nl.ndarray((129, 4), dtype=nl.float32)\n    return y\n",
     "line 4: a tensor in SBUF has 129 partitions"},
    {KERNEL "    t = nl.ndarray((128, 60000), dtype=nl.float32)\n    return y\n",
     "line 4: a tensor needs 240000 bytes"},
    {KERNEL "    t = nl.load(x)\n    if t[0, 0] > 0:\n        pass\n    return y\n",
     "line 5: unsupported condition on a tensor's values"},
    {KERNEL "    while True:\n        pass\n    return y\n", "more than 20000000 statements"},
    {KERNEL "    while True:\n        t = nl.ndarray((128, 64), dtype=nl.float32)\n    return y\n",
     "line 5: the kernel makes more than 66560 tensors"},
    {KERNEL "    t = nl.load(x)\n    while True:\n        nisa.memset(t[0:1, 0:1], 0)\n    return y\n",
     "more than 133120 instructions"},
    {KERNEL "    t = []\n    while True:\n        t.append(nl.load(x))\n    return y\n",
     "line 6: the kernel's tensors need more than 514 MiB of the host"},
    {KERNEL "    t = nl.softplusplus(x)\n    return y\n", "line 4: unsupported name nki.language.softplusplus"},
    {KERNEL "    t = nl.load(x, msk=1)\n    return y\n", "line 4: load: unsupported argument 'msk'"},
    {KERNEL "    t = open('/etc/passwd')\n    return y\n", "line 4: unknown name 'open'"},
    {KERNEL "    import os\n    os.system('true')\n    return y\n", "line 5: unsupported module"},
    {KERNEL "    try:\n        pass\n    except ValueError:\n        pass\n    return y\n",
     "line 4: unsupported statement 'try'"},
    {KERNEL "    match x.shape[0]:\n        case 1:\n            pass\n    return y\n",
     "line 4: unsupported statement 'match'"},
    {KERNEL "    match = x.shape[0]\n    assert match == 1  # why\n    return y\n",
     "line 5: the kernel's assertion 'match == 1' fails"},
    {KERNEL "    assert x.shape[0] == 1, 'rows'\n    return y\n",
     "line 4: the kernel's assertion 'x.shape[0] == 1' fails: rows"},
    {KERNEL "    assert (\n        x.shape[0] == 1\n    ), 'rows'\n    return y\n",
     "the kernel's assertion 'x.shape[0] == 1' fails: rows"},
    {KERNEL "    assert (x.shape[0]) == 1\n    return y\n", "the kernel's assertion '(x.shape[0]) == 1' fails"},
    {PRODUCT "    s += p\n    s += p\n    return y\n", "line 8: the kernel reads a product again"},
    {PRODUCT "    p += nisa.nc_matmul(t, t)\n    s += p\n    return y\n",
     "line 8: an instruction reads two operands from PSUM"},
    {PRODUCT "    s += p[nl.arange(64)[:, None], 63 - nl.arange(64)[None, :]]\n    return y\n",
     "line 7: an instruction reads two operands from PSUM"},
    {PRODUCT "    s += p\n    u = nl.copy(p)\n    return y\n",
     "line 8: the kernel reads a product again after it was added to a tile; copy it to SBUF first"},
    {"@nki.jit\nasync def k(x):\n    return x\n", "line 2: unsupported 'async'; a kernel is a function of 'def'"},
    {"import neuronxcc.nki as nki\n" KERNEL "    t = x.ap(pattern=[[64, 128], [1, 64]])\n    return y\n",
     "line 5: tensors of neuronxcc.nki have no 'ap'; use slices, or import nki"},
    {KERNEL "    t = 1 // 0\n    return y\n", "line 4: division by zero"},
    {KERNEL "    t = -3 << 62\n    return y\n", "line 4: the result does not fit 64 bits"},
    {KERNEL "    t = 2 ** 100\n    return y\n", "line 4: the result does not fit 64 bits"},
    {KERNEL "    t = nl.load(x)\n    z = nisa.nc_matmul(t, t[:, 0:0])\n    return y\n", "line 5:"},
    {KERNEL "    def f(n):\n        return f(n + 1)\n    f(0)\n    return y\n", "calls are nested more than 100 deep"},
    {KERNEL "    t = []\n    for i in range(1000):\n        t = [t]\n    return y\n",
     "sequences are nested more than 200 deep"},
    {KERNEL "    return nl.load(x)\n", "the kernel returns a tile for 'y'"},
    {KERNEL "    i = nisa.iota(nl.arange(64)[None, :] + 0 * nl.arange(128)[:, None] + 1, dtype=nl.int32)\n"
            "    t = nisa.nc_n_gather(data=nl.load(x), indices=i)\n    return y\n",
     "line 5: nc_n_gather: index 64 is outside of data"},
    {KERNEL "    t = x // 2\n    return y\n",
     "line 4: unsupported operator on a tensor; if a parameter is a number, set it in a line"},
    {KERNEL "    t = nisa.nc_matmul_mx(x, x)\n    return y\n", "line 4: unsupported name nki.isa.nc_matmul_mx"},
    {KERNEL "    return 5\n", "the kernel returns an int for 'y'"},
    {KERNEL "    t = x.transpose(1, 0)\n    return y\n", "line 4: a tensor has no attribute 'transpose'"},
    {KERNEL "    p, f = nl.arange(128), nl.arange(32)\n    z = x.reshape((128, 2, 32))\n"
            "    t = nl.load(z[64 + p[:, None, None], 0, f[None, None, :]], mask=p[:, None] < 64)\n    return y\n",
     "has 128); the mask has fewer dimensions than the operand and applies to the last ones"},
    {"from helpers import f\n" KERNEL "    f(x)\n    return y\n",
     "line 5: 'f' is imported; other files are not read: copy it into this one"},
    {"import nki.isa as nisa\n" KERNEL "    t = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)\n"
     "    nisa.memset(t, 0.5)\n    nisa.dma_copy(dst=y, src=t)\n    return y\n",
     "wrong result: y[0][0] is 0.5"},
    {KERNEL "    a, b, c = x.shape\n    return y\n",
     "line 4: 2 values for 3 names: (128, 64); if this is the shape of an operand, a line '#: parameter = "},
    {KERNEL "    a, b = 'x\\ny\\n'\n    return y\n", "line 4: 4 values for 2 names: x y ; if"},
    {"@nki.jit\ndef k():\n    pass\n", "no parameter for operand 'x'"},
    {NEWER "    nisa.dma_copy(dst=t, src=x[nl.arange(128)[:, None], nl.arange(64)[None, :]])\n    return y\n",
     "line 6: nki has no nl.arange; use slices, or import neuronxcc.nki"},
    {NEWER "    nisa.dma_copy(dst=t, src=x, mask=1 < 2)\n    return y\n",
     "line 6: dma_copy of nki has no 'mask'; use slices, or import neuronxcc.nki"},
    {NEWER "    nisa.nc_stream_shuffle(dst=t, src=t, shuffle_mask=[32 for p in range(32)])\n    return y\n",
     "line 6: nc_stream_shuffle: shuffle_mask[0] is 32; src has 128 partitions"},
    {NEWER "    nisa.nc_stream_shuffle(dst=t, src=t, shuffle_mask=[0, 1])\n    return y\n",
     "line 6: nc_stream_shuffle: 'shuffle_mask' must be a list of 32 integers"},
    {NEWER "    many = t.ap(pattern=[[0, 256], [1, 64]])\n"
           "    nisa.nc_stream_shuffle(dst=many, src=many, shuffle_mask=[0 for p in range(32)])\n    return y\n",
     "line 7: nc_stream_shuffle: dst has 256 partitions; expected at most 128"},
    {NEWER "    nisa.tensor_scalar(dst=t, data=t, op0=nl.rsqrt, operand0=1.0)\n    return y\n",
     "line 6: unsupported value of 'op0': rsqrt; expected an operation of two operands"},
    {NEWER "    nisa.memset(dst=t[1:128, :], value=0.0)\n    return y\n",
     "line 6: an operand of 127 partitions starts at partition 1; expected 0"},
    {NEWER "    nisa.dma_copy(dst=t, src=x.ap(pattern=[[64, 128], [1, 64]], dtype=nl.bfloat16))\n    return y\n",
     "line 6: ap: unsupported dtype bfloat16 of a tensor of float32"},
};

/* Texts that make a deep tree without a bracket. */
static void long_chains_are_rejected(void **state) {
  static const struct {
    const char *begin, *link;
  } chains[] = {{"x", ".a"}, {"x", "[0]"}, {"x", "(1)"}, {"1", "+1"}, {"2", "**2"}, {"1", " and 1"}, {"1", " or 1"}};
  enum { LINKS = 200000 };
  for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
    tw_text text = {0};
    tw_text_add(&text, KERNEL "    t = %s", chains[i].begin);
    for (int k = 0; k < LINKS; k++) tw_text_add_string(&text, chains[i].link);
    tw_text_add_string(&text, "\n    return y\n");
    char *source = tw_text_take(&text);
    const result r = run_on("trn2", source, "softmax rows=128 cols=64");
    assert_non_null(strstr(r.error.text, "line 4: expressions or blocks are nested too deeply"));
    free(source);
  }
}

static void each_mistake_is_one_clear_line(void **state) {
  int wrong = 0;
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
    const result r = run_on("trn2", mistakes[i].source, "softmax rows=128 cols=64");
    if (r.status == TW_FAILED && strstr(r.error.text, mistakes[i].expected) && !strchr(r.error.text, '\n')) continue;
    wrong++;
    print_message("%s\nis '%s'; expected '%s'\n", mistakes[i].source, r.error.text, mistakes[i].expected);
  }
  assert_int_equal(wrong, 0);
}

static void an_interrupt_ends_a_kernel(void **state) {
  const tw_target *t = tw_target_find("trn2");
  char *source = example("rmsnorm.py");
  volatile int flag = 1;
  tw_problem p;
  tw_case k;
  tw_artefact *a;
  tw_error error;
  assert_int_equal(tw_problem_parse(t, "layernorm rows=128 cols=512 norm=rms eps=1e-6", &p, &error), TW_OK);
  assert_int_equal(tw_target_supports(t, &p, &error), TW_OK);
  assert_int_equal(tw_target_case(t, &p, 7, 1, &k, &error), TW_OK);
  assert_int_equal(t->build(t, &p, source, strlen(source), &(tw_evaluation){0}, &a, &error), TW_OK);
  const tw_stop stop = {.interrupt = &flag};
  tw_stop_by(&stop);
  assert_int_equal(t->check(t, a, &k, &(tw_evaluation){0}, &error), TW_INTERRUPTED);
  tw_stop_by(NULL);
  t->release(a);
  tw_case_free(&k);
  free(source);
}

static void a_trace_shows_memory_over_time(void **state) {
  const tw_target *t = tw_target_find("trn2");
  char *source = example("rmsnorm.py"), path[] = "/tmp/test_nki.XXXXXX", *text;
  tw_problem p;
  tw_case k;
  tw_artefact *a;
  tw_measurement m;
  tw_error error;
  assert_int_equal(tw_problem_parse(t, "layernorm rows=128 cols=512 norm=rms eps=1e-6", &p, &error), TW_OK);
  assert_int_equal(tw_target_supports(t, &p, &error), TW_OK);
  assert_int_equal(tw_target_case(t, &p, 7, 1, &k, &error), TW_OK);
  assert_int_equal(t->build(t, &p, source, strlen(source), &(tw_evaluation){0}, &a, &error), TW_OK);
  assert_int_not_equal(close(mkstemp(path)), -1);
  assert_int_equal(t->measure(t, a, &k, &(tw_evaluation){.trace = path}, &m, &error), TW_OK);
  assert_int_equal(tw_file_read(path, 1 << 20, &text, NULL, &error), TW_OK);
  unlink(path);
  double most = 0, last = -1;
  static const char name[] = "{\"name\":\"SBUF bytes of a partition\"";
  for (const char *at = text; (at = strstr(at, name)); at++) {
    last = strtod(strstr(at, "\"value\":") + 8, NULL);
    if (last > most) most = last;
  }
  assert_true(last == 0 && most == (double)m.memory[0].used && most >= 4 * 512);
  free(text);
  t->release(a);
  tw_case_free(&k);
  free(source);
}

static void deep_and_long_texts_are_rejected(void **state) {
  enum { N = 100000 };
  char *text = malloc(N + 10);
  nki_module m;
  tw_error error;
  memset(text, '(', N);
  text[N] = '\0';
  assert_int_equal(nki_parse(text, N, &m, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "nested too deeply"));
  memset(text, '-', N);
  assert_int_equal(nki_parse(text, N, &m, &error), TW_FAILED);
  memset(text, '#', N);
  assert_int_equal(nki_parse(text, N, &m, &error), TW_OK);
  nki_module_free(&m);
  free(text);
  char *large = calloc(1, NKI_SOURCE_MAX + 2);
  memset(large, '\n', NKI_SOURCE_MAX + 1);
  assert_int_equal(nki_parse(large, NKI_SOURCE_MAX + 1, &m, &error), TW_FAILED);
  free(large);
}

/* The Tensor engine sums in the order of the contraction and rounds each step; sizes are no multiples of vectors. */
static void products_have_the_bits_of_a_plain_loop(void **state) {
  static const int sizes[][3] = {{3, 5, 7}, {128, 128, 512}, {64, 6, 33}, {1, 1, 1}}; /* k, m, n */
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const int k = sizes[i][0], m = sizes[i][1], n = sizes[i][2];
    trn_array array[3];
    trn_array_make(&array[0], (int64_t)m * n, false);
    trn_array_make(&array[1], (int64_t)k * m, true);
    trn_array_make(&array[2], (int64_t)k * n, true);
    for (int a = 1; a < 3; a++)
      for (int64_t e = 0; e < array[a].n; e++) array[a].cell[e] = tw_bits_of((float)(e * 7919 % 1009) / 1009.0f - 0.4f);
    const trn_view dst = {.array = &array[0], .n = 2, .size = {m, n}, .stride = {n, 1}},
                   s = {.array = &array[1], .n = 2, .size = {k, m}, .stride = {m, 1}},
                   x = {.array = &array[2], .n = 2, .size = {k, n}, .stride = {n, 1}};
    for (int times = 1; times <= 2; times++) {
      assert_true(trn_multiply(&dst, &s, &x, times == 2));
      for (int r = 0; r < m; r++)
        for (int c = 0; c < n; c++) {
          float sum = 0;
          for (int j = 0; j < k; j++) {
            const volatile float product =
                tw_float_of(array[1].cell[j * m + r]) * tw_float_of(array[2].cell[j * n + c]);
            sum += product;
          }
          assert_int_equal(array[0].cell[r * n + c], tw_bits_of((float)(times * (double)sum)));
          assert_int_equal(array[0].undefined[r * n + c], 0);
        }
    }
    for (int a = 0; a < 3; a++) trn_array_free(&array[a]);
  }
}

/* A window of an image moves, as in a convolution, and sums go to every second column of a bank. */
static void free_dimensions_may_have_any_strides(void **state) {
  enum { K = 3, M = 2, H = 4, W = 5, ROW = 9, IMAGE = 60, BANK = 64 };
  trn_array array[3];
  trn_array_make(&array[0], (int64_t)M * BANK, false);
  trn_array_make(&array[1], (int64_t)K * M, true);
  trn_array_make(&array[2], (int64_t)K * IMAGE, true);
  for (int a = 1; a < 3; a++)
    for (int64_t e = 0; e < array[a].n; e++) array[a].cell[e] = tw_bits_of((float)(e % 7) - 2);
  const trn_view dst = {.array = &array[0], .n = 3, .size = {M, H, W}, .stride = {BANK, 2 * W, 2}, .offset = 1},
                 s = {.array = &array[1], .n = 2, .size = {K, M}, .stride = {M, 1}},
                 x = {.array = &array[2], .n = 3, .size = {K, H, W}, .stride = {IMAGE, ROW, 1}, .offset = 2},
                 turned = {.array = &array[0], .n = 2, .size = {H * W, K}, .stride = {K, 1}};
  assert_true(trn_multiply(&dst, &s, &x, false));
  assert_true(trn_multiply(&dst, &s, &x, true));
  for (int m = 0; m < M; m++)
    for (int i = 0; i < H * W; i++) {
      float sum = 0;
      for (int k = 0; k < K; k++)
        sum += tw_float_of(array[1].cell[k * M + m]) * tw_float_of(array[2].cell[k * IMAGE + 2 + i / W * ROW + i % W]);
      assert_int_equal(array[0].cell[m * BANK + 1 + 2 * i], tw_bits_of(2 * sum));
      assert_int_equal(array[0].undefined[m * BANK + 1 + 2 * i], 0);
      assert_int_equal(array[0].undefined[m * BANK + 2 * i], 1); /* between the sums */
    }
  trn_turn(&turned, &x);
  for (int k = 0; k < K; k++)
    for (int i = 0; i < H * W; i++)
      assert_int_equal(array[0].cell[i * K + k], array[2].cell[k * IMAGE + 2 + i / W * ROW + i % W]);
  for (int a = 0; a < 3; a++) trn_array_free(&array[a]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(parts_of_the_compiler_are_switched_off),
                                     cmocka_unit_test(an_rms_norm_is_correct_and_timed),
                                     cmocka_unit_test(a_row_takes_as_long_as_if_the_kernel_broadcast_it),
                                     cmocka_unit_test(a_row_of_integers_is_broadcast),
                                     cmocka_unit_test(a_gemm_of_the_newer_dialect_is_correct),
                                     cmocka_unit_test(a_softmax_with_helpers_grids_and_masks_is_correct),
                                     cmocka_unit_test(a_gemm_with_transposes_and_an_output_argument_is_correct),
                                     cmocka_unit_test(a_product_with_a_name_accumulates),
                                     cmocka_unit_test(directives_give_values_to_parameters),
                                     cmocka_unit_test(directives_arrange_operands),
                                     cmocka_unit_test(copies_of_psum_have_their_engine_on_trn1),
                                     cmocka_unit_test(causal_attention_is_correct),
                                     cmocka_unit_test(a_transpose_by_dma_is_nearly_as_fast_as_a_copy),
                                     cmocka_unit_test(an_output_may_be_left_out),
                                     cmocka_unit_test(ops_with_one_output_have_no_outputs_option),
                                     cmocka_unit_test(classes_make_objects),
                                     cmocka_unit_test(unusual_forms_are_read),
                                     cmocka_unit_test(special_instructions_are_right),
                                     cmocka_unit_test(instructions_of_the_newer_dialect_are_right),
                                     cmocka_unit_test(activations_add_up_in_the_accumulator),
                                     cmocka_unit_test(constants_of_numpy_and_reductions_over_loops_are_right),
                                     cmocka_unit_test(each_mistake_is_one_clear_line),
                                     cmocka_unit_test(a_kernel_can_keep_its_loops),
                                     cmocka_unit_test(long_chains_are_rejected),
                                     cmocka_unit_test(products_have_the_bits_of_a_plain_loop),
                                     cmocka_unit_test(free_dimensions_may_have_any_strides),
                                     cmocka_unit_test(an_interrupt_ends_a_kernel),
                                     cmocka_unit_test(a_trace_shows_memory_over_time),
                                     cmocka_unit_test(a_block_without_reordering_is_read),
                                     cmocka_unit_test(an_activation_may_be_first),
                                     cmocka_unit_test(the_row_of_an_accumulated_activation_is_broadcast),
                                     cmocka_unit_test(hostile_kernels_end_with_one_line),
                                     cmocka_unit_test(deep_and_long_texts_are_rejected)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
