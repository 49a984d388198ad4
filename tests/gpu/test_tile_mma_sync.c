/* Kernels of tiles for GPUs before Hopper: what a schedule makes of them, what is refused, and that they compile for
 * sm_80 to sm_120. Where the CUDA compiler is missing, clang makes PTX of them. */
#include "gpu/kernel_text.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/files.h"
#include "base/process.h"
#include "base/status.h"
#include "gpu/nvidia/gemm_mma_sync.h"
#include "target/cuda/build.h"
#include "target/cuda/device.h"
#include "target/cuda/tiles.h"
#include "tilewright/extend/extend.h"

static cuda_config a100, l40s, ga10x, blackwell, turing, hopper;

static cuda_config config_of(const char *name, const char *architecture) {
  cuda_config c = *cuda_config_find(name);
  snprintf(c.architecture, sizeof c.architecture, "%s", architecture);
  return c;
}

typedef struct kernel_case {
  const cuda_config *config;
  const char *problem, *schedule;
} kernel_case;

#define NT "gemm m=1000 n=1288 k=712 a=bf16 b=bf16 c=bf16 acc=f32 b_transposed=1"
#define NN "gemm m=1000 n=1288 k=712 a=f16 b=f16 c=f32 acc=f32 bias=row relu=1 scale=0.5"
static const kernel_case cases[] = {
    {&a100, NT, "tile m=128 n=256 k=32 warps_m=2 warps_n=4;stages 4;rasterize n=4"},
    {&a100, NN, "tile m=128 n=128 k=64;blocks_per_sm 2;split_k_workspace 3"},
    {&a100, "gemm m=37 n=53 k=61 a=bf16 b=bf16 c=bf16 acc=f32 a_transposed=1 ldc=99",
     "tile m=64 n=64 warps_m=1 warps_n=4"},
    {&a100, "gemm m=300 n=264 k=712 a=f32 b=f32 c=f32 acc=f32 arithmetic=tf32", "tile m=128 n=128"},
    {&a100, "gemm m=512 n=528 k=1040 a=i8 b=i8 c=i8 acc=i32 scale=0.01 bias=row", "tile m=64 n=128 k=128"},
    {&a100, "gemm m=512 n=528 k=1040 a=u8 b=i8 c=i32 acc=i32 b_transposed=1", "tile m=16 n=128 warps_m=1 warps_n=4"},
    {&ga10x, NT, "tile m=64 n=64 k=64"},
    {&l40s, "gemm m=512 n=528 k=1040 a=e4m3 b=e4m3 c=bf16 acc=f32 b_transposed=1 arithmetic=fast_accum scales=row",
     "tile m=128 n=128"},
    {&l40s, "gemm m=512 n=528 k=1040 a=e5m2 b=e4m3 c=f32 acc=f32 arithmetic=fast_accum scales=tensor gelu=erf",
     "tile m=64 n=128"},
    {&blackwell, NN, "tile m=128 n=64 k=64"},
    {&a100, "attention b=2 hq=4 hkv=2 sq=700 sk=900 d=128 causal=1 a=bf16",
     "tile queries=128 keys=64 warps=4;blocks_per_sm 2"},
    {&ga10x, "attention b=1 hq=8 hkv=1 sq=77 sk=777 d=64 a=f16", "tile queries=64 keys=32 warps=4;stages 3"},
    {&a100, "layernorm rows=16 cols=4194304 a=f32", "split_row blocks=64"},
    {&hopper, "softmax rows=4096 cols=393216 a=bf16", "split_row blocks=8;threads 512;chunks 8"},
    {&l40s, "attention b=2 hq=4 hkv=4 sq=300 sk=300 d=96 causal=1 a=bf16", "tile queries=64 keys=64 warps=4"},
    {&hopper, "attention b=2 hq=4 hkv=4 sq=300 sk=300 d=256 a=bf16", "tile queries=128 keys=32 warps=8"},
    {&a100, "attention b=2 hq=4 hkv=2 sq=700 sk=900 d=128 causal=1 pass=backward a=bf16", "tile queries=64 keys=128"},
    {&ga10x, "attention b=2 hq=4 hkv=2 sq=700 sk=900 d=64 pass=backward a=f16",
     "tile queries=32 keys=64;blocks_per_sm 2"},
    {&hopper, "attention b=1 hq=2 hkv=2 sq=70 sk=90 d=32 pass=backward a=f16", "tile queries=64 keys=64"},
    {&hopper, "attention b=4 hq=32 hkv=8 sq=1 sk=4096 d=128 softcap=50 lengths=1 page=16 a=bf16",
     "decode keys=32 warps=4;split_kv 8"},
    {&a100, "attention b=4 hq=8 hkv=8 sq=3 sk=4096 d=256 causal=1 window=1000 a=f16",
     "decode keys=16 warps=4;stages 2"},
    {&a100, "layernorm rows=1024 cols=65535 norm=abs affine=0 eps=0 a=f32", "split_row blocks=4;chunks 16"},
    {&hopper, "softmax rows=128 cols=393216 a=f32", "split_row blocks=8;threads 512;chunks 8;lag 16"},
    {&l40s, "pool n=64 w=65536 s=8 pad=4 dilation=3 a=f32", "outputs 1"},
    {&l40s, "attention b=2 hq=4 hkv=4 sq=300 sk=300 d=64 softcap=30 a=bf16", "tile queries=64 keys=64 warps=4"},
    {&hopper, "attention b=2 hq=32 hkv=8 sq=2048 sk=8192 d=128 causal=1 lengths=1 page=64 a=bf16",
     "tile queries=128 keys=64 warps=4;stages 1;blocks_per_sm 2"},
    {&a100, "softmax rows=1000 cols=4096 a=bf16", "row warps=4"},
    {&ga10x, "layernorm rows=1000 cols=4096 a=f16 norm=rms residual=1", "row warps=8"},
    {&l40s, "rotary b=2 h=32 s=512 d=128 a=bf16", "heads 2"},
};
enum { CASES = sizeof cases / sizeof *cases };

static void emit(const kernel_case *c, char **source, tw_launch *launch) {
  const tw_problem p = problem_of(c->problem);
  const tw_schedule s = schedule_of(c->schedule);
  tw_error error = {0};
  if (cuda_tiles_emit(c->config, &p, &s, source, &error) != TW_OK ||
      cuda_launch_of(c->config, &p, *source, strlen(*source), launch, &error) != TW_OK)
    fail_msg("%s; %s: %s", c->problem, c->schedule, error.text);
}

static void launches_fit_their_plans(void **state) {
  for (int i = 0; i < CASES; i++) {
    const tw_problem p = problem_of(cases[i].problem);
    const tw_schedule s = schedule_of(cases[i].schedule);
    tw_launch l;
    char *source;
    emit(&cases[i], &source, &l);
    assert_null(strstr(source, "wgmma"));
    assert_int_equal(l.n_maps, 0);
    if (strcmp(p.op->name, "gemm") == 0) {
      const tw_tile_machine machine = cuda_tile_machine(cases[i].config);
      tw_tile_gemm_mma_plan plan;
      assert_int_equal(tw_tile_plan_of(&tw_tile_gemm_mma_sync, &machine, &p, &s, &plan, NULL), TW_OK);
      const tw_launch_kernel *k = tw_launch_main(&l);
      const int64_t m = tw_problem_int(&p, "m"), n = tw_problem_int(&p, "n");
      assert_int_equal(k->shared, plan.shared_bytes);
      assert_true((k->shared + 1024) * plan.blocks <= cases[i].config->shared_multiprocessor);
      assert_int_equal(k->block[0], plan.warps_m * plan.warps_n * 32);
      assert_int_equal(k->grid[0], (m + plan.m - 1) / plan.m * ((n + plan.n - 1) / plan.n) * plan.parts);
      assert_int_equal(l.n_kernels, 1 + plan.moved_a + plan.moved_b + (plan.parts > 1));
    }
    free(source);
  }
}

/* The source as src/target/cuda/build.c gives it to the compiler. */
static void write_whole(const char *path, const tw_launch *l, const char *source) {
  tw_text t = {0};
  for (size_t i = 0; i < l->n_lets; i++) {
    const bool is_int = l->let[i].value >= INT32_MIN && l->let[i].value <= INT32_MAX;
    tw_text_add(&t, "enum : %s { %s = %lld };\n", is_int ? "int" : "long long", l->let[i].name,
                (long long)l->let[i].value);
  }
  tw_text_add(&t, "%s", source);
  char *text = tw_text_take(&t);
  assert_int_equal(tw_file_write(path, text, strlen(text), NULL), TW_OK);
  free(text);
}

static void write_headers(const char *directory) {
  const tw_embedded *e;
  for (size_t i = 0; (e = tw_embedded_at(i)); i++) {
    char path[512];
    if (!cuda_header(e)) continue;
    snprintf(path, sizeof path, "%s/%s", directory, cuda_header(e));
    assert_int_equal(tw_file_write(path, e->data, e->size, NULL), TW_OK);
  }
}

/* clang 14 knows sm_80 and sm_86. Its PTX keeps instructions as they are written: only types and C++ are checked. */
static void to_ptx(const kernel_case *c, const char *directory) {
  char path[512], architecture[32];
  tw_launch l;
  char *source;
  tw_error error = {0};
  emit(c, &source, &l);
  snprintf(path, sizeof path, "%s/kernel.cu", directory);
  write_whole(path, &l, source);
  snprintf(architecture, sizeof architecture, "--cuda-gpu-arch=%s", c->config->architecture);
  const char *const argv[] = {"clang",
                              "-x",
                              "cuda",
                              "--cuda-device-only",
                              architecture,
                              "-nocudainc",
                              "-nocudalib",
                              "-Xclang",
                              "-target-feature",
                              "-Xclang",
                              "+ptx75",
                              "-S",
                              "-O1",
                              "-std=c++17",
                              "-I.",
                              "-include",
                              TW_TEST_DATA "/cuda/clang.h",
                              "-o",
                              "kernel.ptx",
                              "kernel.cu",
                              NULL};
  const tw_process_options options = {.argv = argv, .directory = directory, .seconds = 120};
  tw_process_result result;
  assert_int_equal(tw_process_run(&options, &result, &error), TW_OK);
  if (result.exit_status) fail_msg("%s; %s: %s", c->problem, c->schedule, result.output);
  tw_process_result_free(&result);
  free(source);
}

static void every_kernel_compiles(void **state) {
  tw_error error = {0};
  char *directory;
  if (cuda_need_compiler(&error) == TW_OK) {
    for (int i = 0; i < CASES; i++) {
      const tw_problem p = problem_of(cases[i].problem);
      tw_launch l;
      cuda_kernel kernel;
      char *source;
      emit(&cases[i], &source, &l);
      if (cuda_build(cases[i].config, &p, source, strlen(source), false, &kernel, &error) != TW_OK)
        fail_msg("%s; %s: %s", cases[i].problem, cases[i].schedule, error.text);
      cuda_kernel_free(&kernel);
      free(source);
    }
    return;
  }
  print_message("%s\n", error.text);
  if (!tw_process_find("clang")) {
    print_message("clang is not installed either\n");
    skip();
  }
  assert_int_equal(tw_directory_temporary(&directory, &error), TW_OK);
  write_headers(directory);
  for (int i = 0; i < CASES; i++)
    if (cuda_config_architecture(cases[i].config) <= 86) to_ptx(&cases[i], directory);
  tw_directory_remove(directory);
  free(directory);
}

static void refused(const cuda_config *c, const char *problem, const char *schedule, const char *why) {
  const tw_problem p = problem_of(problem);
  const tw_schedule s = schedule_of(schedule);
  tw_error error = {0};
  char *source;
  assert_int_equal(tw_status_group(cuda_tiles_emit(c, &p, &s, &source, &error)), TW_USAGE);
  if (!strstr(error.text, why)) fail_msg("%s; %s: %s", problem, schedule, error.text);
}

static void what_cannot_be_is_refused(void **state) {
  refused(&a100, NT, "stages 4", "requires 'tile");
  refused(&a100, "gemm m=8 n=64 k=256 a=bf16 b=mxfp4 c=bf16 packed=1 b_transposed=1", "tile m=64 n=64",
          "packed weights require");
  refused(&a100, NT, "tile m=128 n=256;stages 4", "registers per thread");
  refused(&a100, NT, "tile m=128 n=128;blocks_per_sm 4", "registers per thread");
  refused(&a100, NT, "tile m=128 n=128 k=64;stages 4;blocks_per_sm 2", "fewer stages or smaller tiles");
  refused(&ga10x, NT, "tile m=128 n=128 k=64;stages 4", "fewer stages or smaller tiles");
  refused(&a100, NT, "tile m=128 n=128 k=48", "must be 64 or a multiple of 128");
  refused(&a100, NT, "tile m=100 n=128", "multiples of 16 for each warp");
  refused(&a100, NN, "tile m=128 n=96 warps_n=3", "cannot copy a tile of B");
  refused(&a100, NT, "tile m=128 n=128;split_k_workspace 30", "split_k_workspace 30 exceeds");
  refused(&a100, NT, "tile m=128 n=128;rasterize m=4 n=4", "m or n, not both");
  refused(&a100, NT, "tile m=128 n=128;cluster m=2", "cluster");
  refused(&a100, "gemm m=64 n=64 k=64 a=f32 b=f32 c=f32 acc=f32", "tile m=64 n=64", "arithmetic=tf32");
  refused(&a100, "gemm m=64 n=64 k=64 a=e4m3 b=e4m3 c=f32 acc=f32 arithmetic=fast_accum", "tile m=64 n=64",
          "from sm_89");
  refused(&l40s, "gemm m=64 n=64 k=64 a=e4m3 b=e4m3 c=f32 acc=f32", "tile m=64 n=64", "arithmetic=fast_accum");
#define ATTENTION "attention b=2 hq=4 hkv=4 sq=300 sk=300 d="
  refused(&a100, ATTENTION "72 a=bf16", "tile queries=64 keys=32", "d a multiple of 16 up to 256");
  refused(&a100, ATTENTION "128 a=bf16 pass=backward", "tile queries=64 keys=48", "which share");
  refused(&a100, ATTENTION "256 a=bf16 pass=backward", "tile queries=64 keys=128", "d=32, 64 or 128");
  refused(&ga10x, ATTENTION "128 a=bf16 pass=backward", "tile queries=64 keys=128", "fewer stages or smaller tiles");
  refused(&a100, ATTENTION "128 a=bf16 pass=backward", "tile queries=64 keys=128;blocks_per_sm 2",
          "registers per thread");
  refused(&a100, ATTENTION "128 a=bf16", "tile queries=128 keys=128", "registers per thread");
  refused(&a100, ATTENTION "128 a=bf16", "tile queries=96 keys=64", "16 queries for each warp");
  refused(&ga10x, ATTENTION "256 a=bf16", "tile queries=128 keys=32 warps=8;stages 4", "fewer stages or smaller tiles");
  refused(&hopper, ATTENTION "128 a=bf16", "tile queries=64 keys=32", "unexpected 'queries'");
  refused(&turing, NT, "tile m=128 n=128", "tile kernels require sm_80 or later");
}

static void menus_offer_what_is_legal(void **state) {
  for (int i = 0; i < CASES; i += 3) {
    const tw_problem p = problem_of(cases[i].problem);
    for (int begun = 0; begun <= 1; begun++) {
      const tw_schedule s = begun ? schedule_of(cases[i].schedule) : (tw_schedule){0};
      tw_error error = {0};
      tw_menu menu;
      assert_int_equal(cuda_tiles_steps(cases[i].config, &p, &s, &menu, &error), TW_OK);
      assert_true(menu.n > 0);
      for (size_t j = 0; j < menu.n; j++) {
        tw_schedule next = s;
        double cost = 0;
        assert_int_equal(tw_schedule_add(&next, menu.item[j].step, NULL), TW_OK);
        if (cuda_tiles_predict(cases[i].config, &p, &next, &cost, &error) != TW_OK)
          fail_msg("%s: %s", menu.item[j].step, error.text);
        assert_true(cost > 0 && cost < 1);
      }
      tw_menu_free(&menu);
    }
  }
}

int main(void) {
  a100 = config_of("a100-sxm", "sm_80"), l40s = config_of("l40s", "sm_89"), ga10x = config_of("l40s", "sm_86");
  blackwell = config_of("l40s", "sm_120"), turing = config_of("l40s", "sm_75");
  hopper = config_of("h200", "sm_90a");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(launches_fit_their_plans),
      cmocka_unit_test(what_cannot_be_is_refused),
      cmocka_unit_test(menus_offer_what_is_legal),
      cmocka_unit_test(every_kernel_compiles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
