/* test_cuda.c - NVIDIA GPUs: machines, compiling, resources, and on a device what runs there and what is caught.
 * Without a compiler or a device the tests that need one are skipped. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/files.h"
#include "subject.h"
#include "target/cuda/build.h"
#include "target/cuda/device.h"
#include "target/cuda/measure.h"
#include "tilewright/extend/extend.h"

static void need_compiler(void) {
  tw_error why = {0};
  if (cuda_need_compiler(&why) == TW_OK) return;
  print_message("%s\n", why.text);
  skip();
}

static const tw_target *device_target(void) {
  const tw_target *t = tw_target_find("cuda");
  tw_error why = {0};
  if (t->available(t, &why) != TW_OK) {
    print_message("%s\n", why.text);
    skip();
  }
  return t;
}

/* Of gemm where no op is named. */
static tw_problem problem_on(const tw_target *t, const char *text) {
  return problem_from(t, "%s%s", strcspn(text, " ") < strcspn(text, "=") ? "" : "gemm ", text);
}

/* ---- machines ---- */

static void machines_are_described(void **state) {
  static const char *const names[] = {"a100-sxm", "h100-sxm", "h200", "l40s"};
  for (size_t i = 0; i < 4; i++) {
    const cuda_config *c = cuda_config_find(names[i]);
    assert_non_null(c);
    char target[64];
    snprintf(target, sizeof target, "cuda-%s", names[i]);
    const tw_target *t = tw_target_find(target);
    assert_non_null(t);
    assert_ptr_equal(cuda_config_of(t), c);
    char *text = t->describe(t);
    assert_non_null(strstr(text, c->architecture));
    free(text);
  }
  /* data sheets, at their own clocks: 989.4 T at 1.83 GHz, 312 T, 362 T */
  assert_true(cuda_config_peak(cuda_config_find("h200"), TW_BF16) / 1.98 * 1.83 / 989.4e12 - 1 < 1e-3);
  assert_true(cuda_config_peak(cuda_config_find("a100-sxm"), TW_F16) / 312e12 - 1 < 2e-3);
  assert_true(cuda_config_peak(cuda_config_find("l40s"), TW_BF16) / 362e12 - 1 < 2e-2);
}

static void a_wrong_description_is_refused(void **state) {
  const struct {
    const char *text, *words;
  } cases[] = {
      {"name h", "x:1: expected \"key = value\""},
      {"name = a\nname = b", "x:2: name is given twice"},
      {"clock_mhz = fast", "clock_mhz = fast: not an integer"},
      {"speed = 3", "x:1: unknown key \"speed\""},
      {"name = a # all", "lacks the key summary"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cuda_config c;
    tw_error error = {0};
    assert_int_equal(cuda_config_parse(cases[i].text, "x", &c, &error), TW_USAGE);
    if (!strstr(error.text, cases[i].words)) fail_msg("%s: %s", cases[i].text, error.text);
  }
}

/* ---- resources ---- */

static void resources_are_read_from_the_log(void **state) {
  static const char log[] =
      "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count.\n"
      "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
      "insufficient "
      "register resources for the wgmma pipeline in the function 'k'\n"
      "ptxas info    : 20 bytes gmem\n"
      "ptxas info    : Compiling entry function 'other' for 'sm_90a'\n"
      "ptxas info    : Function properties for other\n"
      "    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 30 registers, used 0 barriers\n"
      "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
      "ptxas info    : Function properties for k\n"
      "ptxas         .     1520 bytes stack frame, 528 bytes spill stores, 320 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 2 barriers, 1520 bytes cumulative stack size, 1024 bytes smem\n"
      "ptxas info    : Function properties for kk\n"
      "    4 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n";
  cuda_resources r;
  assert_true(cuda_resources_read(log, "k", &r));
  assert_int_equal(r.registers, 255);
  assert_int_equal(r.stack, 1520);
  assert_int_equal(r.spill_stores, 528);
  assert_int_equal(r.spill_loads, 320);
  assert_int_equal(r.shared, 1024);
  assert_int_equal(r.barriers, 2);
  assert_true(r.wgmma_serialized && r.setmaxnreg_ignored);
  assert_true(cuda_resources_read(log, "other", &r));
  assert_int_equal(r.registers * 100 + r.stack, 3008);
  assert_false(cuda_resources_read(log, "third", &r));
}

static void occupancy_follows_the_scarcest_resource(void **state) {
  const cuda_config *c = cuda_config_find("h200");
  cuda_kernel k = {.launch = {.kernel = {{.block = {128, 1, 1}}}}, .resources = {{.registers = 32}}};
  assert_int_equal(cuda_occupancy(c, &k), 16); /* threads */
  k.resources[0].registers = 168;
  assert_int_equal(cuda_occupancy(c, &k), 3); /* registers: 168 x 128 = 21504 */
  k.launch.kernel[0].shared = 200 << 10;
  assert_int_equal(cuda_occupancy(c, &k), 1);
}

/* ---- compiling ---- */

static tw_status build(const char *target, const char *problem, const char *source, tw_error *error) {
  const tw_target *t = tw_target_find(target);
  const tw_problem p = problem_on(t, problem);
  tw_artefact *artefact = NULL;
  const tw_status status = t->build(t, &p, source, strlen(source), &(tw_evaluation){0}, &artefact, error);
  if (status == TW_OK) t->release(artefact);
  return status;
}

static char *file_of(const char *name) {
  char path[512], *text;
  tw_error error = {0};
  snprintf(path, sizeof path, "%s/cuda/%s", TW_TEST_DATA, name);
  if (tw_file_read(path, 1 << 20, &text, NULL, &error) != TW_OK) fail_msg("%s", error.text);
  return text;
}

static void every_machine_compiles_the_plainest_kernels(void **state) {
  static const char *const problems[] = {"softmax rows=10 cols=1001",
                                         "layernorm rows=10 cols=1001 dropout=0.1 residual=1 a=f16",
                                         "m=100 n=60 k=33",
                                         "m=64 n=64 k=64 a=f32 b=f32 c=f32 bias=row relu=1",
                                         "m=64 n=64 k=64 a=i8 b=i8 c=i8 acc=i32 bias=full",
                                         "m=100 n=60 k=200 a=e4m3 b=e4m3 scales=block",
                                         "m=64 n=64 k=64 a=f16 b=f16 c=f16 a_transposed=1 b_transposed=1 scale=0.5"};
  const cuda_config *c;
  need_compiler();
  for (size_t m = 0; (c = cuda_config_at(m)); m++)
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
      char name[64], *source = NULL;
      const tw_schedule plainest = {0};
      tw_error error = {0};
      snprintf(name, sizeof name, "cuda-%s", c->name);
      const tw_target *t = tw_target_find(name);
      const tw_problem p = problem_on(t, problems[i]);
      assert_int_equal(tw_target_emit(t, &p, &plainest, &source, &error), TW_OK);
      if (build(name, problems[i], source, &error) != TW_OK) fail_msg("%s: %s", name, error.text);
      free(source);
    }
}

static void kernels_by_hand_compile(void **state) {
  need_compiler();
  char *mma = file_of("gemm_mma.cu"), *maps = file_of("gemm_maps.cu");
  tw_error error = {0};
  if (build("cuda-l40s", "m=256 n=256 k=64", mma, &error) != TW_OK) fail_msg("%s", error.text);
  if (build("cuda-h200", "m=200 n=200 k=72 c=f32", maps, &error) != TW_OK) fail_msg("%s", error.text);
  assert_int_equal(build("cuda-h200", "m=200 n=200 k=71 c=f32 lda=71", maps, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "map ta: rows of its operand are 142 bytes apart"));
  assert_int_equal(build("cuda-a100-sxm", "m=200 n=200 k=72 c=f32", maps, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "a100-sxm has no clusters"));
  assert_int_equal(build("cuda-h200", "m=200 n=256 k=64", mma, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "require m % BM == 0 && n % BN == 0"));
  free(mma);
  free(maps);
}

#define HEADER "//: kernel k\n//: grid 1\n//: block 32\n"

static void what_does_not_compile_is_named(void **state) {
  const struct {
    const char *source, *words;
  } cases[] = {
      {HEADER "extern \"C\" __global__ void k(int *p) { p[0] = q; }\n",
       "kernel.cu(4): error: identifier \"q\" is undefined"},
      {HEADER "#include \"/etc/passwd\"\n", "/etc/passwd"},
      {HEADER "extern \"C\" __global__ void other(int *p) { p[0] = 1; }\n", "the source has no kernel 'k'"},
      {HEADER "__global__ void k(int *p) { p[0] = 1; }\n", "the source has no kernel 'k'"},
      {HEADER "__device__ int kept[2000];\nextern \"C\" __global__ void k(int *p) { kept[p[0]] += p[1]; }\n",
       "8000 bytes between launches in device variables such as 'kept'"},
      {"extern \"C\" __global__ void k(int *p) { p[0] = 1; }\n", "'//: kernel NAME' is missing"},
      {HEADER "//: shared 300000\nextern \"C\" __global__ void k(int *p) { p[0] = 1; }\n",
       "300000 bytes of shared memory; a block has 232448"},
      {HEADER "//: overlap\nextern \"C\" __global__ void k(int *p) { p[0] = 1; }\n",
       "begin it with griddepcontrol_wait()"},
      {"//: kernel k\n//: grid 1\n//: block 2048\nextern \"C\" __global__ void k(int *p) { p[0] = 1; }\n",
       "at most 1024 threads"},
      {HEADER "//: map t = A box(3, 8)\nextern \"C\" __global__ void k(int *p) { p[0] = 1; }\n",
       "the innermost extent of its box has 6 bytes; expected a multiple of 16"},
      {HEADER "//: map t = A box(64, 8) swizzle(64)\nextern \"C\" __global__ void k(int *p) { p[0] = 1; }\n",
       "the innermost extent of its box has 128 bytes, which exceeds swizzle(64)"},
  };
  need_compiler();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tw_error error = {0};
    assert_int_equal(build("cuda-h200", "m=64 n=64 k=64", cases[i].source, &error), TW_FAILED);
    if (!strstr(error.text, cases[i].words)) fail_msg("%s: %s", cases[i].source, error.text);
  }
}

static void without_a_device_a_kernel_is_compiled_and_no_more(void **state) {
  need_compiler();
  const tw_target *t = tw_target_find("cuda");
  if (t->available(t, NULL) == TW_OK) skip(); /* there is one */
  const tw_problem p = problem_on(t, "m=64 n=64 k=64");
  const tw_schedule plainest = {0};
  tw_artefact *artefact = NULL;
  char *source = NULL;
  tw_case data;
  tw_error error = {0};
  assert_int_equal(tw_target_emit(t, &p, &plainest, &source, &error), TW_OK);
  assert_int_equal(t->build(t, &p, source, strlen(source), &(tw_evaluation){0}, &artefact, &error), TW_OK);
  assert_int_equal(tw_target_case(t, &p, 1, 1, &data, &error), TW_OK);
  assert_int_equal(t->check(t, artefact, &data, &(tw_evaluation){0}, &error), TW_NO_DEVICE);
  assert_non_null(strstr(error.text, "the kernel compiles for sm_90a"));
  assert_non_null(strstr(error.text, "no device"));
  tw_case_free(&data);
  t->release(artefact);
  free(source);
}

/* ---- on a device ---- */

static tw_status run_on_device(const char *problem, const char *source, tw_measurement *m, tw_error *error) {
  const tw_target *t = device_target();
  const tw_problem p = problem_on(t, problem);
  tw_artefact *artefact = NULL;
  tw_case data = {0};
  tw_status status = t->build(t, &p, source, strlen(source), &(tw_evaluation){0}, &artefact, error);
  if (status != TW_OK) return status;
  assert_int_equal(tw_target_case(t, &p, 1, 4, &data, error), TW_OK);
  status = t->check(t, artefact, &data, &(tw_evaluation){0}, error);
  if (status == TW_OK) status = t->measure(t, artefact, &data, &(tw_evaluation){0}, m, error);
  tw_case_free(&data);
  t->release(artefact);
  return status;
}

static void kernels_run_and_are_measured(void **state) {
  const struct {
    const char *problem, *file;
  } cases[] = {{"m=100 n=60 k=33", NULL},
               {"m=65 n=70 k=64 a=f32 b=f32 c=f32 bias=row relu=1 ldc=80", NULL},
               {"m=64 n=64 k=64 a=i8 b=i8 c=i8 acc=i32 bias=full scale=0.01", NULL},
               {"m=64 n=96 k=64 a=f16 b=f16 c=f16 a_transposed=1 b_transposed=1 scale=0.5", NULL},
               {"m=256 n=384 k=96", "gemm_mma.cu"},
               {"m=200 n=200 k=72 c=f32 ldc=208", "gemm_maps.cu"}};
  int failed = 0;
  const tw_target *t = device_target();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tw_problem p = problem_on(t, cases[i].problem);
    const tw_schedule plainest = {0};
    tw_measurement m = {0};
    tw_error error = {0};
    char *source = cases[i].file ? file_of(cases[i].file) : NULL;
    if (!source) assert_int_equal(tw_target_emit(t, &p, &plainest, &source, &error), TW_OK);
    const tw_status status = run_on_device(cases[i].problem, source, &m, &error);
    if (status != TW_OK || m.cost < 1e-7 || m.cost > 1e-2) {
      print_message("%s: %g s %s\n", cases[i].problem, m.cost, error.text);
      failed++;
    }
    free(source);
  }
  assert_int_equal(failed, 0);
}

/* A product of small integers' worth of f32, right but for `body`, which comes first; `globals` before the kernel. */
static char *hostile(const char *globals, const char *before, const char *behind) {
  static const char format[] =
      "//: kernel k\n//: grid ceildiv(n, 16), ceildiv(m, 16)\n//: block 16, 16\n//: workspace 4096\n"
      "//: args A, B, C, workspace, m, n, k\n%s\n"
      "extern \"C\" __global__ void k(float *A, float *B, float *C, int *w, int m, int n, int k) {\n"
      "  const int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;\n  %s\n"
      "  if (i < m && j < n) {\n    float sum = 0;\n    for (int p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + "
      "j];\n"
      "    C[i * n + j] = sum;\n  }\n  %s\n}\n";
  char *text = malloc(sizeof format + strlen(globals) + strlen(before) + strlen(behind));
  sprintf(text, format, globals, before, behind);
  return text;
}

static void what_hostile_code_tries_is_caught(void **state) {
  const struct {
    const char *globals, *before, *behind, *words;
  } cases[] = {
      {"", "", "if (!i && !j) C[m * n] = 1;", "writes outside its operands: within 65536 bytes after C"},
      {"", "", "if (!i && !j) C[-1] = 1;", "writes outside its operands: within 65536 bytes before C"},
      {"", "", "if (!i && !j) w[1024] = 1;", "writes outside its operands: within 65536 bytes after its workspace"},
      {"", "", "if (!i && !j) C[(long long)1 << 40] = 1;", "memory that is not its own"},
      {"", "", "if (!i && !j) *(int *)((char *)C + 1) = 1;", "not aligned"},
      {"", "", "if (!i && !j) A[5] += 1;", "kernel changed its input"},
      {"", "", "if (!i && !j) asm volatile(\"trap;\");", "the kernel"},
      {"", "while (clock64()) w[0]++;", "", "did not end within"},
      {"", "if (i == 40 && j == 3) return;", "", "wrong result"},
      {"__device__ float kept[70 * 70];",
       "if (kept[i % 70 * 70 + j % 70]) { if (i < m && j < n) C[i * n + j] = kept[i * 70 + j]; return; }",
       "if (i < m && j < n) kept[i * 70 + j] = C[i * n + j];", "in device variables such as 'kept'"},
      /* a flag fits among the constants that are allowed: once set, nothing is computed any more */
      {"__device__ int seen = 1;", "if (seen > 1000) return;", "atomicAdd(&seen, 1);",
       "right on its first inputs and wrong on new inputs"},
      /* looks for the expected result around its operands: there is none */
      {"", "if (i < m && j < n) { C[i * n + j] = C[(i + m) * n + j]; return; }", "", "wrong result"},
  };
  int failed = 0;
  device_target();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *source = hostile(cases[i].globals, cases[i].before, cases[i].behind);
    tw_measurement m;
    tw_error error = {0};
    const tw_status status = run_on_device("m=70 n=70 k=70 a=f32 b=f32 c=f32", source, &m, &error);
    if (status != TW_FAILED || !strstr(error.text, cases[i].words)) {
      print_message("case %zu should end with '%s', but: %d %s\n", i, cases[i].words, status, error.text);
      failed++;
    }
    free(source);
  }
  assert_int_equal(failed, 0);

  /* Results of two sets of inputs fit among the constants that are allowed: they come back fast, known by their B,
   * until others come; and A is never the same again. */
  char *keeper = hostile("__device__ float kept[2][256], seen[2];",
                         "const int e = threadIdx.y * 16 + threadIdx.x;\n"
                         "  for (int s = 0; s < 2; s++) if (seen[s] == B[0]) { C[e] = kept[s][e]; return; }",
                         "__syncthreads();\n"
                         "  const int s = seen[0] != 0; kept[s][e] = C[e];\n  __syncthreads();\n"
                         "  if (!e && (!s || !seen[1])) seen[s] = B[0];");
  tw_measurement m;
  tw_error error = {0};
  assert_int_equal(run_on_device("m=16 n=16 k=60000 a=f32 b=f32 c=f32", keeper, &m, &error), TW_FAILED);
  if (!strstr(error.text, "keeps results between launches")) fail_msg("%s", error.text);
  free(keeper);

  /* and the device still works */
  char *honest = hostile("", "", "");
  if (run_on_device("m=70 n=70 k=70 a=f32 b=f32 c=f32", honest, &m, &error) != TW_OK) fail_msg("%s", error.text);
  free(honest);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(machines_are_described),
      cmocka_unit_test(a_wrong_description_is_refused),
      cmocka_unit_test(resources_are_read_from_the_log),
      cmocka_unit_test(occupancy_follows_the_scarcest_resource),
      cmocka_unit_test(every_machine_compiles_the_plainest_kernels),
      cmocka_unit_test(kernels_by_hand_compile),
      cmocka_unit_test(what_does_not_compile_is_named),
      cmocka_unit_test(without_a_device_a_kernel_is_compiled_and_no_more),
      cmocka_unit_test(kernels_run_and_are_measured),
      cmocka_unit_test(what_hostile_code_tries_is_caught),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
