/* test_cdna_run.c - kernels in C for gfx942 and gfx950, from source to a checked result: vector instructions, LDS,
 * barriers, matrix instructions. Skipped without clang-22. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#include "base/files.h"
#include "base/random.h"
#include "target/cdna/emulator/emulator.h"
#include "target/cdna/toolchain.h"
#include "target/parse.h"
#include "tilewright/extend/target.h"

static const char *const machines[] = {"cdna3", "cdna4"};

static tw_status run(const char *machine, const char *file, size_t n, const char *const words[], tw_error *error) {
  const tw_target *t = tw_target_find(machine);
  tw_problem p;
  tw_case inputs = {0};
  tw_artefact *artefact = NULL;
  tw_measurement measured = {0};
  char path[300], *source = NULL;
  size_t length = 0;
  snprintf(path, sizeof path, "%s/cdna/%s", TW_TEST_DATA, file);
  assert_non_null(t);
  assert_int_equal(tw_file_read(path, 1 << 20, &source, &length, error), TW_OK);
  tw_status status = tw_problem_parse_words(NULL, "gemm", n, words, &p, error);
  if (status == TW_OK) status = tw_target_supports(t, &p, error);
  if (status == TW_OK) status = t->build(t, &p, source, length, &(tw_evaluation){.trust = true}, &artefact, error);
  if (status == TW_OK) status = tw_target_case(t, &p, 7, 2, &inputs, error);
  if (status == TW_OK) status = t->check(t, artefact, &inputs, &(tw_evaluation){0}, error);
  if (status == TW_OK) status = t->measure(t, artefact, &inputs, &(tw_evaluation){0}, &measured, error);
  if (status == TW_OK) assert_true(measured.cost > 0);
  tw_case_free(&inputs);
  if (artefact) t->release(artefact);
  free(source);
  return status;
}

/* What a kernel of one workgroup prints; its arguments are an output of 256 bytes and what follows it. */
static void expect_print(const void *object, size_t size, const char *kernel, int pointers, uint32_t lanes,
                         const char *expected) {
  cdna_object o;
  const cdna_kernel *k;
  tw_error error = {0};
  cdna_memory memory = {0};
  tw_text printed = {0};
  uint8_t out[256];
  uint64_t arguments[8] = {0};
  if (cdna_object_read(object, size, "it", &o, &error) != TW_OK) fail_msg("%s", error.text);
  if (cdna_object_kernel(&o, kernel, &k, &error) != TW_OK) fail_msg("%s", error.text);
  for (int i = 0; i < pointers; i++) arguments[i] = i ? arguments[0] : cdna_memory_add(&memory, out, 256, true, "out");
  const cdna_launch l = {.grid = {1, 1, 1},
                         .block = {lanes, 1, 1},
                         .arguments = arguments,
                         .argument_bytes = (size_t)pointers * 8,
                         .printed = &printed};
  if (cdna_run(&o, k, &l, &memory, NULL, &error) != TW_OK) fail_msg("%s", error.text);
  assert_string_equal(printed.data, expected);
  tw_text_free(&printed);
  cdna_object_free(&o);
}

static void expect_ok(const char *machine, const char *file, size_t n, const char *const words[]) {
  tw_error error = {0};
  if (run(machine, file, n, words, &error) != TW_OK) fail_msg("%s, %s: %s", machine, file, error.text);
}

/* With each set of lane functions: what the CPU lacks falls back to the best it has. */
static void test_f32_through_lds(void **state) {
  static const char *const words[] = {"m=128", "n=64", "k=80", "a=f32", "b=f32", "c=f32"};
  static const char *const isa[] = {"avx512", "avx2", "portable"};
  for (int m = 0; m < 2; m++)
    for (int i = 0; i < (m ? 1 : 3); i++) {
      setenv("TILEWRIGHT_CDNA_ISA", isa[i], 1);
      expect_ok(machines[m], "gemm_f32_lds.c", 6, words);
    }
  unsetenv("TILEWRIGHT_CDNA_ISA");
}

static void test_bf16_with_the_matrix_unit(void **state) {
  static const char *const words[] = {"m=128", "n=256", "k=96", "a=bf16", "b=bf16", "c=f32"};
  for (int m = 0; m < 2; m++) expect_ok(machines[m], "gemm_bf16_mfma.c", 6, words);
}

/* OpenCL C without its library; a whole file of HIP, whose kernel C++ gives a longer name; and a code object behind the
 * lines that say how it is launched. */
static void test_other_languages_and_code_objects(void **state) {
  static const char *const words[] = {"m=4", "n=64", "k=70", "a=f32", "b=f32", "c=f32"};
  char path[300], *source, *object;
  size_t length, size;
  tw_error error = {0};
  tw_artefact *artefact = NULL;
  tw_problem p;
  tw_case inputs = {0};
  expect_ok(machines[0], "gemm.cl", 6, words);
  expect_ok(machines[1], "gemm.hip", 6, words);
  snprintf(path, sizeof path, "%s/cdna/gemm.cl", TW_TEST_DATA);
  assert_int_equal(tw_file_read(path, 1 << 20, &source, &length, &error), TW_OK);
  assert_int_equal(cdna_compile(CDNA4, source, length, &(tw_evaluation){.trust = true}, NULL, &object, &size, &error),
                   TW_OK);
  expect_print(object, size, "mm", 3, 64, "column 0: 0.0 1,-2,3,0|   cl|100%\ncolumn 1: 0.5 1,-2,3,1|   cl|100%\n");
  const size_t header = (size_t)(strstr(source, "__kernel") - source);
  char *both = malloc(header + size);
  assert_non_null(both);
  memcpy(both, source, header);
  memcpy(both + header, object, size);
  assert_int_equal(tw_problem_parse_words(NULL, "gemm", 6, words, &p, &error), TW_OK);
  const tw_target *t = tw_target_find("cdna4");
  assert_int_equal(tw_target_supports(t, &p, &error), TW_OK);
  if (t->build(t, &p, both, header + size, &(tw_evaluation){0}, &artefact, &error) != TW_OK) fail_msg("%s", error.text);
  assert_int_equal(tw_target_case(t, &p, 7, 2, &inputs, &error), TW_OK);
  if (t->check(t, artefact, &inputs, &(tw_evaluation){0}, &error) != TW_OK) fail_msg("%s", error.text);
  tw_case_free(&inputs);
  t->release(artefact);
  assert_int_equal(t->build(t, &p, object, size, &(tw_evaluation){0}, &artefact, &error), TW_FAILED);
  assert_non_null(
      strstr(error.text, "a code object does not describe its launch; give --kernel, --grid, --block and --arg, as"));
  const tw_target *other = tw_target_find("cdna3");
  assert_int_equal(other->build(other, &p, both, header + size, &(tw_evaluation){0}, &artefact, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "run it with -t cdna4"));
  free(both);
  free(object);
  free(source);
}

static void test_a_kernel_that_reads_too_far_is_stopped(void **state) {
  static const char *const words[] = {"m=64", "n=64", "k=24", "a=f32", "b=f32", "c=f32"};
  tw_error error = {0};
  /* the last step of k goes past A: the header's `require` is what would have refused it */
  assert_int_equal(run("cdna3", "gemm_f32_reads_too_far.c", 6, words, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "past the end of "));
  assert_non_null(strstr(error.text, "kernel.c:"));
}

static void test_an_access_beyond_lds_names_its_options(void **state) {
  static const char source[] = "__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(64, 64))) void k(void) {\n"
                               "  *(volatile __attribute__((address_space(3))) int *)64 = 1;\n}\n";
  char *object = NULL;
  size_t size = 0;
  cdna_object o;
  const cdna_kernel *k;
  cdna_memory memory = {0};
  tw_error error = {0};
  const tw_evaluation how = {.trust = true};
  if (cdna_compile(CDNA4, source, sizeof source - 1, &how, NULL, &object, &size, &error) != TW_OK ||
      cdna_object_read(object, size, "it", &o, &error) != TW_OK || cdna_object_kernel(&o, NULL, &k, &error) != TW_OK)
    fail_msg("%s", error.text);
  cdna_launch l = {.grid = {1, 1, 1}, .block = {64, 1, 1}, .lds = 68, .arguments = ""};
  assert_int_equal(cdna_run(&o, k, &l, &memory, NULL, &error), TW_OK);
  l.lds = 64;
  assert_int_equal(cdna_run(&o, k, &l, &memory, NULL, &error), TW_FAILED);
  if (!strstr(error.text, "the workgroup has 64 bytes (--lds, or `//: shared`")) fail_msg("%s", error.text);
  cdna_object_free(&o);
  free(object);
}

/* A pointer that AITER's metadata declares as a number and "pad". Two numbers with other names are not one argument. */
static void test_padding_belongs_to_the_argument_before_it(void **state) {
  static const char source[] =
      ".amdgcn_target \"amdgcn-amd-amdhsa--gfx950\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n  s_endpgm\n"
      ".rodata\n.p2align 6\n.amdhsa_kernel k\n  .amdhsa_next_free_vgpr 1\n  .amdhsa_next_free_sgpr 8\n"
      "  .amdhsa_accum_offset 4\n  .amdhsa_kernarg_size 16\n.end_amdhsa_kernel\n.amdgpu_metadata\n---\n"
      "amdhsa.version: [1, 2]\namdhsa.kernels:\n"
      "  - {.name: k, .symbol: k.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 4, .group_segment_fixed_size: "
      "0,\n"
      "     .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 8, .vgpr_count: 1,\n"
      "     .max_flat_workgroup_size: 64, .args: [\n"
      "     {.name: p, .offset: 0, .size: 4, .value_kind: by_value}, {.name: pad, .offset: 4, .size: 4, .value_kind: "
      "by_value},\n"
      "     {.name: n, .offset: 8, .size: 4, .value_kind: by_value}, {.name: m, .offset: 12, .size: 4, .value_kind: "
      "by_value}]}\n"
      ".end_amdgpu_metadata\n";
  const tw_target *t = tw_target_find("cdna4");
  tw_raw_argument a[] = {{.bytes = 8, .at = 0}, {.bytes = 4, .at = 8}, {.bytes = 4, .at = 12}};
  tw_raw_launch l = {.grid = {1, 1, 1}, .block = {64, 1, 1}, .n = 3, .argument = a, .untimed = true};
  tw_measurement m = {0};
  tw_error error = {0};
  if (t->launcher->run(t, source, sizeof source - 1, &l, &m, &error) != TW_OK) fail_msg("%s", error.text);
  a[1].bytes = 8;
  l.n = 2;
  assert_int_equal(t->launcher->run(t, source, sizeof source - 1, &l, &m, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "argument 1 of k has 8 bytes at byte 8"));
}

/* Every quotient of f64 and f32 is the host's, to the bit, whatever its operands; NaN is any NaN. */
static void test_quotients_are_rounded_correctly(void **state) {
  enum { N = 2048 };
  static double a[N], b[N], c[N];
  static float d[N], e[N], f[N];
  static const double special[] = {0, -0.0, 1, INFINITY, -INFINITY, 5e-324, 1e-310, 1.7e308, 3, -7.5, NAN};
  static const float narrow[] = {0, -0.0f, 1, INFINITY, -INFINITY, 1e-45f, 1e-40f, 3e38f, 3, -7.5f, NAN};
  char path[300], *source, *object;
  size_t length, size;
  tw_error error = {0};
  tw_random r;
  tw_random_seed(&r, 11);
  for (int i = 0; i < N; i++) {
    uint64_t bits[2] = {tw_random_next(&r), tw_random_next(&r)};
    memcpy(&a[i], &bits[0], 8), memcpy(&b[i], &bits[1], 8);
    memcpy(&d[i], &bits[0], 4), memcpy(&e[i], &bits[1], 4);
    if (!tw_random_below(&r, 4)) a[i] = special[tw_random_below(&r, 11)], d[i] = narrow[tw_random_below(&r, 11)];
    if (!tw_random_below(&r, 4)) b[i] = special[tw_random_below(&r, 11)], e[i] = narrow[tw_random_below(&r, 11)];
  }
  snprintf(path, sizeof path, "%s/cdna/divide.c", TW_TEST_DATA);
  assert_int_equal(tw_file_read(path, 1 << 20, &source, &length, &error), TW_OK);
  for (int arch = 0; arch < CDNA_ARCHES; arch++) {
    cdna_object o;
    const cdna_kernel *k;
    cdna_memory m = {0};
    if (cdna_compile((cdna_arch)arch, source, length, &(tw_evaluation){.trust = true}, NULL, &object, &size, &error) !=
        TW_OK)
      fail_msg("%s", error.text);
    assert_int_equal(cdna_object_read(object, size, "divide", &o, &error), TW_OK);
    assert_int_equal(cdna_object_kernel(&o, "divide", &k, &error), TW_OK);
    const uint64_t block[] = {
        cdna_memory_add(&m, a, sizeof a, false, "a"), cdna_memory_add(&m, b, sizeof b, false, "b"),
        cdna_memory_add(&m, c, sizeof c, true, "c"),  cdna_memory_add(&m, d, sizeof d, false, "d"),
        cdna_memory_add(&m, e, sizeof e, false, "e"), cdna_memory_add(&m, f, sizeof f, true, "f")};
    const cdna_launch launch = {
        .grid = {N / 64, 1, 1}, .block = {64, 1, 1}, .arguments = block, .argument_bytes = sizeof block, .jobs = 2};
    if (cdna_run(&o, k, &launch, &m, NULL, &error) != TW_OK) fail_msg("%s", error.text);
    for (int i = 0; i < N; i++) {
      const double wide = a[i] / b[i];
      const float small = d[i] / e[i];
      if (isnan(wide) ? !isnan(c[i]) : memcmp(&wide, &c[i], 8) != 0) fail_msg("%a / %a is %a", a[i], b[i], c[i]);
      if (isnan(small) ? !isnan(f[i]) : memcmp(&small, &f[i], 4) != 0)
        fail_msg("%a / %a is %a", (double)d[i], (double)e[i], (double)f[i]);
    }
    cdna_object_free(&o);
    free(object);
  }
  free(source);
}

static void run_rare(int arch, const char *object, size_t size, const char *name, int *out, size_t bytes) {
  cdna_object o;
  const cdna_kernel *k;
  cdna_memory m = {0};
  tw_error error = {0};
  assert_int_equal(cdna_object_read(object, size, "rare", &o, &error), TW_OK);
  assert_int_equal(o.arch, arch);
  assert_int_equal(cdna_object_kernel(&o, name, &k, &error), TW_OK);
  const uint64_t block[] = {cdna_memory_add(&m, out, bytes, true, "out")};
  const bool two = !strcmp(name, "nobody") || !strcmp(name, "relay");
  cdna_result_counts counts = {0};
  const cdna_launch launch = {.grid = {two ? 2 : 1, 1, 1},
                              .block = {strcmp(name, "handshake") && strcmp(name, "level") ? 64 : 128, 1, 1},
                              .arguments = block,
                              .argument_bytes = sizeof block,
                              .jobs = 1};
  if (!strcmp(name, "alone")) {
    assert_int_equal(cdna_run(&o, k, &launch, &m, NULL, &error), TW_FAILED);
    assert_non_null(
        strstr(error.text, "the wave repeats a loop, and no other workgroup is left to end it: an infinite loop"));
  } else if (cdna_run(&o, k, &launch, &m, &counts, &error) != TW_OK) {
    fail_msg("%s: %s", name, error.text);
  } else {
    assert_int_equal(counts.waited, !strcmp(name, "relay"));
  }
  cdna_object_free(&o);
}

static void test_what_compilers_seldom_emit(void **state) {
  char path[300], *source, *object;
  size_t length, size;
  tw_error error = {0};
  snprintf(path, sizeof path, "%s/cdna/rare.c", TW_TEST_DATA);
  assert_int_equal(tw_file_read(path, 1 << 20, &source, &length, &error), TW_OK);
  for (int arch = 0; arch < CDNA_ARCHES; arch++) {
    if (cdna_compile((cdna_arch)arch, source, length, &(tw_evaluation){.trust = true}, NULL, &object, &size, &error) !=
        TW_OK)
      fail_msg("%s", error.text);
    int out[64 * 6] = {7, 3, 11};
    run_rare(arch, object, size, "scalar_atomics", out, sizeof out);
    assert_int_equal(out[0], 12);
    assert_int_equal(out[1], 0); /* 3 is as far as it goes */
    assert_int_equal(out[2], 99);
    assert_int_equal(out[64], 7);
    run_rare(arch, object, size, "handshake", out, sizeof out);
    for (int t = 0; t < 64; t++) assert_int_equal(out[t], 42);
    out[0] = 0;
    run_rare(arch, object, size, "relay", out, sizeof out);
    for (int t = 0; t < 64; t++) assert_int_equal(out[64 + t], 42);
    out[0] = 0;
    run_rare(arch, object, size, "alone", out, sizeof out);
    run_rare(arch, object, size, "nobody", out, sizeof out);
    for (int t = 0; t < 64; t++) {
      assert_int_equal(out[t], 1);
      assert_int_equal(out[64 + t], 0);   /* bits are not extended by a sign */
      assert_int_equal(out[128 + t], -1); /* a signed integer is */
      assert_int_equal(out[192 + t], t < 8 ? 5 : 4);
    }
    run_rare(arch, object, size, "clamps", out, sizeof out);
    for (int t = 0; t < 64; t++) {
      const int low = t < 3 ? 0 : t - 3, high = t < 2 ? 0 : t - 2;
      assert_int_equal((uint32_t)out[t], UINT32_MAX);
      assert_int_equal(out[64 + t], t < 10 ? 0 : t - 10);
      assert_int_equal(out[128 + t], low | high << 16);
      assert_int_equal(out[192 + t], 0x7FFF | (0x7FF0 + t > 0x7FFF ? 0x7FFF : 0x7FF0 + t) << 16);
      assert_int_equal(out[256 + t], t < 16 ? 0x7FFFFFF0 + t : INT32_MAX);
      assert_int_equal((uint32_t)out[320 + t], 0x7FFFFFF0u + (uint32_t)t);
    }
    run_rare(arch, object, size, "modes", out, sizeof out);
    for (int t = 0; t < 64; t++) {
      const int bits = t & 31, reversed = (bits & 1) << 4 | (bits & 2) << 2 | (bits & 4) | (bits & 8) >> 2 | bits >> 4;
      assert_int_equal(out[t], 0x3C01);
      assert_true((out[64 + t] & 0x7FFFFFFF) > 0x7F800000);
      assert_int_equal(out[128 + t], t);
      assert_int_equal(out[192 + t], arch == CDNA3 ? 0x3F800000 : 0x40000000); /* 0x40 is 1 of FNUZ, 2 of OCP */
      assert_int_equal(out[256 + t], (t & 32) | ((bits - 3) & 31));
      assert_int_equal(out[320 + t], (t & 32) | reversed);
    }
    run_rare(arch, object, size, "mixed", out, sizeof out);
    for (int t = 0; t < 64; t++) {
      assert_int_equal((uint32_t)out[t], 0xb8270000);
      assert_int_equal(out[64 + t], 0);  /* by the mode of halves: -0 + 0 */
      assert_int_equal(out[128 + t], 0); /* an f32, by the mode of f32 */
    }
    run_rare(arch, object, size, "level", out, sizeof out);
    for (int t = 0; t < 128; t++) assert_int_equal(out[t], (t ^ 64) + 3 * 128);
    run_rare(arch, object, size, "lds", out, sizeof out);
    for (int t = 0; t < 64; t++) {
      assert_int_equal(out[t], t); /* exchanged for 2t and 3t */
      assert_int_equal(out[64 + t], 1000 + t);
      assert_int_equal(out[192 + t], 40);
      assert_int_equal(out[256 + t], t < 63 ? 2 * (t + 1) : 0);
      assert_int_equal(out[320 + t], 104);
    }
    free(object);
  }
  free(source);
}

/* A launch without an op: some workgroups of the grid, results without times, times without results. */
static void test_parts_of_a_launch(void **state) {
  enum { GROUPS = 50 };
  static const char source[] = "#include <hip/hip_runtime.h>\n__global__ void k(int *out) { out[blockIdx.x] = 7; }\n";
  static const struct {
    uint64_t first, groups;
    bool spread, untimed, time_only;
    int made, step; /* results, and their distance */
  } parts[] = {{0, 0, false, false, false, GROUPS, 1},
               {0, 5, true, false, false, 5, 10},
               {45, 5, false, true, false, 5, 1},
               {0, 0, false, false, true, 0, 1},
               {0, 99, true, true, false, GROUPS, 1}};
  const tw_target *t = tw_target_find("cdna4");
  for (size_t n = 0; n < sizeof parts / sizeof *parts; n++) {
    int out[GROUPS] = {0}, made = 0;
    tw_error error = {0};
    tw_measurement m = {0};
    tw_raw_argument a = {.data = out, .bytes = sizeof out, .is_data = true, .writable = true, .at = -1, .name = "out"};
    tw_raw_launch l = {.grid = {GROUPS, 1, 1},
                       .block = {64, 1, 1},
                       .n = 1,
                       .argument = &a,
                       .first_group = parts[n].first,
                       .groups = parts[n].groups,
                       .spread_groups = parts[n].spread,
                       .untimed = parts[n].untimed,
                       .time_only = parts[n].time_only};
    if (t->launcher->run(t, source, sizeof source - 1, &l, &m, &error) != TW_OK) fail_msg("%s", error.text);
    for (int g = 0; g < GROUPS; g++) {
      made += out[g] == 7;
      if (out[g]) assert_int_equal((g - (int)parts[n].first) % parts[n].step, 0);
    }
    assert_int_equal(made, parts[n].made);
    assert_int_equal(m.cost > 0, !parts[n].untimed);
    assert_int_equal(*l.note != '\0', made < GROUPS); /* what is missing is said */
  }
}

/* Launch bounds limit the block, and give the compiler the registers of few threads. */
static void test_launch_bounds_count(void **state) {
  static const char source[] =
      "#include <hip/hip_runtime.h>\n__global__ __launch_bounds__(128, 1) void k(int *out) { out[0] = 7; }\n";
  int out = 0;
  tw_error error = {0};
  tw_measurement m = {0};
  tw_raw_argument a = {.data = &out, .bytes = sizeof out, .is_data = true, .writable = true, .at = -1, .name = "out"};
  tw_raw_launch l = {.grid = {1, 1, 1}, .block = {128, 1, 1}, .n = 1, .argument = &a, .untimed = true};
  const tw_target *t = tw_target_find("cdna4");
  if (t->launcher->run(t, source, sizeof source - 1, &l, &m, &error) != TW_OK) fail_msg("%s", error.text);
  assert_int_equal(out, 7);
  l.block[0] = 192;
  assert_int_equal(t->launcher->run(t, source, sizeof source - 1, &l, &m, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "compiled for at most 128"));
}

/* A source in the form of HipKittens' kernels: its binding to Python, which is all that instantiates the kernel, comes from the
 * file itself; the argument is a structure. Codes of e2m3 and e3m2 by AMD's definition of the types. */
static void test_a_kernel_with_a_binding_to_python(void **state) {
  static const char source[] =
      "#include <hip/amd_detail/amd_hip_runtime.h>\n#include <hip/amd_detail/hip_ldg.h>\n#include <hip/hip_fp6.h>\n"
      "#include <pybind11/pybind11.h>\n"
      "template <class T> concept narrow = sizeof(T) <= 4;\n"
      "template <narrow T> struct globals { T *out; const float *in; int n; hipStream_t stream; };\n"
      "template <narrow T> __global__ void k(const globals<T> g) {\n"
      "  const int i = threadIdx.x;\n"
      "  if (i >= g.n) return;\n"
      "  g.out[2 * i] = __hip_fp6_e2m3(g.in[i]).__x | __hip_fp6_e3m2(g.in[i]).__x << 8;\n"
      "  const float2 pair = __hip_fp6x2_e3m2(make_float2(g.in[i], -g.in[i]));\n"
      "  g.out[2 * i + 1] = (T)(16 * (float)__hip_fp6_e2m3(g.in[i]) + 1000 * pair.x - 1000000 * pair.y);\n"
      "}\n"
      "template <class T> void dispatch(globals<T> g) { k<T><<<1, 64, 0, g.stream>>>(g); }\n"
      "template <auto F, class G> void bind(auto m, auto name, auto G::*...) {\n"
      "  m.def(name, [](pybind11::object a) { G g{a.cast<int *>()}; F(g); });\n"
      "}\n"
      "PYBIND11_MODULE(tk_kernel, m) {\n"
      "  m.doc() = \"a module\";\n"
      "  bind<dispatch<int>>(m, \"dispatch\", &globals<int>::out, &globals<int>::in);\n"
      "}\n";
  enum { N = 9 };
  static const struct {
    float x;
    int e2m3, e3m2;     /* codes */
    float narrow, wide; /* values of e2m3 and of e3m2 */
  } expected[N] = {{1.0f, 0x08, 0x0C, 1.0f, 1.0f},     {-0.125f, 0x21, 0x22, -0.125f, -0.125f},
                   {6.75f, 0x1E, 0x17, 7.0f, 7.0f}, /* 6.5 and 7: to the even code */
                   {100.0f, 0x1F, 0x1F, 7.5f, 28.0f},  {1.9375f, 0x10, 0x10, 2.0f, 2.0f},
                   {0.03125f, 0x00, 0x00, 0.0f, 0.0f}, {NAN, 0x1F, 0x1F, 7.5f, 28.0f},
                   {-NAN, 0x3F, 0x3F, -7.5f, -28.0f},  {-INFINITY, 0x3F, 0x3F, -7.5f, -28.0f}};
  int out[2 * N] = {0};
  float in[N];
  tw_error error = {0};
  tw_measurement m = {0};
  tw_raw_argument a[] = {{.data = out, .bytes = sizeof out, .is_data = true, .writable = true, .at = -1, .name = "out"},
                         {.data = in, .bytes = sizeof in, .is_data = true, .at = -1, .name = "in"},
                         {.value = N, .bytes = 8, .at = -1, .name = "n"},
                         {.value = 0, .bytes = 8, .at = -1, .name = "stream"}};
  tw_raw_launch l = {.grid = {1, 1, 1}, .block = {64, 1, 1}, .n = 4, .argument = a, .untimed = true};
  const tw_target *t = tw_target_find("cdna4");
  for (int i = 0; i < N; i++) in[i] = expected[i].x;
  if (t->launcher->run(t, source, sizeof source - 1, &l, &m, &error) != TW_OK) fail_msg("%s", error.text);
  for (int i = 0; i < N; i++) {
    assert_int_equal(out[2 * i], expected[i].e2m3 | expected[i].e3m2 << 8);
    assert_int_equal(out[2 * i + 1], (int)(16 * expected[i].narrow + 1001000 * expected[i].wide));
  }
}

/* An instruction of HIP's header is on the line that asks for it. */
static void test_lines_are_the_users(void **state) {
  static const char source[] = "#include <hip_bf16.h>\n__global__ void k(int *out) {\n  __shared__ int c;\n"
                               "  c = 0;\n  __syncthreads();\n  atomicAdd(&c, 1);\n  __syncthreads();\n"
                               "  out[threadIdx.x] = c + (int)__bfloat162float(__float2bfloat16(2.5f * c));\n}\n";
  tw_error error = {0};
  char *object = NULL, place[200];
  size_t size, barriers = 0, atomics = 0;
  cdna_object o;
  if (cdna_compile(CDNA4, source, sizeof source - 1, &(tw_evaluation){0}, NULL, &object, &size, &error) != TW_OK)
    fail_msg("%s", error.text);
  assert_int_equal(cdna_object_read(object, size, "lines", &o, &error), TW_OK);
  const cdna_segment *s = o.segment;
  while (!s->executable) s++;
  for (size_t at = 0; at < s->file_size / 4;) {
    cdna_code c;
    uint32_t word[4] = {0};
    const size_t left = s->file_size / 4 - at;
    memcpy(word, s->data + 4 * at, 4 * (left < 4 ? left : 4));
    if (cdna_decode(CDNA4, word, left < 4 ? left : 4, &c)) break;
    cdna_object_place(&o, s->address + 4 * at, place, sizeof place);
    if (strstr(place, "hip_")) fail_msg("%s at %s", c.instruction->name, place);
    const bool barrier = !strcmp(c.instruction->name, "s_barrier"), atomic = !strcmp(c.instruction->name, "ds_add_u32");
    if (barrier && !strstr(place, barriers ? "kernel.hip:7" : "kernel.hip:5")) fail_msg("%s", place);
    if (atomic && !strstr(place, "kernel.hip:6")) fail_msg("%s", place);
    barriers += barrier;
    atomics += atomic;
    at += (size_t)c.dwords;
    if (!strcmp(c.instruction->name, "s_endpgm")) break;
  }
  assert_int_equal(barriers, 2);
  assert_int_equal(atomics, 1);
  cdna_object_free(&o);
  free(object);
}

/* Headers of the user's own folders, and of no other; what printf of HIP prints, and pointers that are relocated. */
static void test_headers_come_from_the_users_folders(void **state) {
  static const char source[] =
      "#include \"mine.h\"\n#include \"also.h\"\n__device__ int up(int x) { return x + 1; }\n__device__ int down(int "
      "x) { return x - 1; }\n"
      "__device__ int (*const way[2])(int) = {up, down};\nextern \"C\" __global__ void k(int *out) { out[threadIdx.x] "
      "= MINE + ALSO;\n"
      "printf(\"%d %5.2f|%s|%-*c|%lld %hhx\\n\", threadIdx.x - 1, 0.5f * threadIdx.x, \"text\", 3, 'a', 1ll << 40, "
      "300);\n"
      "if (threadIdx.x) printf(out[0] == 7 ? \"seven %u\\n\" : \"\", threadIdx.x);\n"
      "printf(\"%d\\n\", way[threadIdx.x](5)); }\n",
                    away[] = "#include \"/etc/hostname\"\nextern \"C\" __global__ void k(int *out) { out[0] = 1; }\n";
  tw_error error = {0};
  char *folder = NULL, *second = NULL, *object = NULL, path[4096 + 8];
  size_t size;
  const char *folders[2];
  tw_evaluation own = {.headers = {.folder = folders}};
  assert_int_equal(cdna_compile(CDNA4, source, sizeof source - 1, &own, NULL, &object, &size, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "mine.h"));
  assert_int_equal(tw_directory_temporary(&folder, &error), TW_OK);
  snprintf(path, sizeof path, "%s/mine.h", folder);
  own.headers.n = 1;
  folders[0] = path; /* does not exist; then it is a file */
  assert_int_equal(cdna_compile(CDNA4, source, sizeof source - 1, &own, NULL, &object, &size, &error), TW_USAGE);
  assert_int_equal(tw_file_write(path, "#define MINE 4\n", 15, &error), TW_OK);
  assert_int_equal(cdna_compile(CDNA4, source, sizeof source - 1, &own, NULL, &object, &size, &error), TW_USAGE);
  folders[0] = folder;
  assert_int_equal(cdna_compile(CDNA4, source, sizeof source - 1, &own, NULL, &object, &size, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "also.h"));
  assert_int_equal(tw_directory_temporary(&second, &error), TW_OK);
  snprintf(path, sizeof path, "%s/also.h", second);
  assert_int_equal(tw_file_write(path, "#define ALSO 3\n", 15, &error), TW_OK);
  folders[own.headers.n++] = second;
  if (cdna_compile(CDNA4, source, sizeof source - 1, &own, NULL, &object, &size, &error) != TW_OK)
    fail_msg("%s", error.text);
  expect_print(object, size, "k", 1, 2,
               "-1  0.00|text|a  |1099511627776 2c\n0  0.50|text|a  |1099511627776 2c\nseven 1\n6\n4\n");
  assert_int_equal(cdna_compile(CDNA4, away, sizeof away - 1, &own, NULL, &(char *){NULL}, &size, &error), TW_FAILED);
  free(object);
  tw_directory_remove(folder);
  tw_directory_remove(second);
  free(folder);
  free(second);
}

static const char defined_source[] =
    "#ifndef N\n#error no N\n#endif\n#ifdef FLAG\nenum { ONE = FLAG };\n#else\nenum { ONE = 0 };\n#endif\n"
    "extern \"C\" __global__ void k(int *out) { printf(\"%d %d %s\\n\", N, ONE, NAME); }\n";

/* Each set of macros is another kernel: none is taken from the cache for another set. */
static void test_macros_of_the_user_are_defined(void **state) {
  static const char *const macros[][3] = {{"N=twice(3)", "twice(x)=(2 * (x))", "NAME=\"a b\""},
                                          {"N=(4-2)", "FLAG", "NAME=\"=\""}};
  static const char *const printed[] = {"6 0 a b\n", "2 1 =\n"};
  tw_error error = {0};
  size_t size;
  for (size_t i = 0; i < 2; i++) {
    const tw_evaluation own = {.headers = {.n_macros = 3, .macro = macros[i]}};
    char *object = NULL;
    if (cdna_compile(CDNA4, defined_source, sizeof defined_source - 1, &own, NULL, &object, &size, &error) != TW_OK)
      fail_msg("%s", error.text);
    expect_print(object, size, "k", 1, 1, printed[i]);
    free(object);
  }
}

static void expect_rejected(const char *source, const char *macro, const tw_launch *l, const char *words) {
  const tw_evaluation own = {.headers = {.n_macros = 1, .macro = &macro}};
  tw_error error = {0};
  size_t size;
  assert_int_equal(cdna_compile(CDNA4, source, strlen(source), &own, l, &(char *){NULL}, &size, &error), TW_USAGE);
  if (!strstr(error.text, words)) fail_msg("'%s' does not say '%s'", error.text, words);
}

static void test_macros_without_effect_or_meaning_are_rejected(void **state) {
  static const tw_launch launch = {.n_lets = 1, .let = {{.name = "N", .value = 3}}};
  expect_rejected(defined_source, "N=4", &launch, "the header defines N in a `//: let` line");
  expect_rejected(defined_source, "2N=4", NULL, "'2N=4' is not a macro; expected NAME, NAME=VALUE or");
  expect_rejected(defined_source, "=4", NULL, "'=4' is not a macro");
  expect_rejected(defined_source, "N+1=4", NULL, "'N+1=4' is not a macro");
  expect_rejected(defined_source, "N(x)=x", &launch, "the header defines N");
  expect_rejected(".amdgcn_target \"amdgcn\"\n", "N=4", NULL, "macro N=4: assembly has no macros");
}

int main(void) {
  if (cdna_toolchain_find(NULL) != TW_OK) {
    puts("skipped: clang-22 and ld.lld-22 are not here");
    return 77;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_f32_through_lds),
      cmocka_unit_test(test_bf16_with_the_matrix_unit),
      cmocka_unit_test(test_quotients_are_rounded_correctly),
      cmocka_unit_test(test_what_compilers_seldom_emit),
      cmocka_unit_test(test_other_languages_and_code_objects),
      cmocka_unit_test(test_a_kernel_that_reads_too_far_is_stopped),
      cmocka_unit_test(test_an_access_beyond_lds_names_its_options),
      cmocka_unit_test(test_padding_belongs_to_the_argument_before_it),
      cmocka_unit_test(test_a_kernel_with_a_binding_to_python),
      cmocka_unit_test(test_lines_are_the_users),
      cmocka_unit_test(test_parts_of_a_launch),
      cmocka_unit_test(test_launch_bounds_count),
      cmocka_unit_test(test_macros_of_the_user_are_defined),
      cmocka_unit_test(test_macros_without_effect_or_meaning_are_rejected),
      cmocka_unit_test(test_headers_come_from_the_users_folders), /* the last: the folders stay set */
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
