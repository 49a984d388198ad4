/* What a schedule makes of a GEMM of tiles: the plan, its launch, and that the kernel compiles. */
#include "gpu/kernel_text.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "gpu/nvidia/gemm_skinny.h"
#include "gpu/nvidia/gemm_sliced_k.h"
#include "gpu/nvidia/gemm_swap_ab.h"
#include "gpu/nvidia/gemm_warp_specialized.h"
#include "op/gemm_problem.h"
#include "target/cuda/build.h"
#include "target/cuda/device.h"
#include "target/cuda/tiles.h"

static const cuda_config *config;
static tw_tile_machine machine;

/* The keys of a gemm. */
static tw_problem gemm_of(const char *keys) {
  char text[300];
  snprintf(text, sizeof text, "gemm %s", keys);
  return problem_of(text);
}

static const char *const schedules[] = {
    "tile m=128 n=256;cluster m=2",
    "tile m=128 n=256;epilogue_stages 2;rasterize n=4",
    "tile m=256 n=128;cluster n=2;epilogue_stages 2",
    "tile m=128 n=128 consumers=2 pingpong;stages 6",
    "tile m=64 n=256 consumers=2 pingpong;rasterize m=16",
    "tile m=192 n=128 consumers=3",
    "tile m=64 n=64;stages 8",
    "tile m=64 n=16 k=128",
    "tile m=64 n=64;split_k 4",
    "tile m=128 n=192 consumers=2;registers producer=24 consumer=240",
};

static const char *const problems[] = {
    "m=4096 n=4096 k=4096 a=bf16 b=bf16 c=bf16 acc=f32 b_transposed=1",
    "m=4096 n=4096 k=4096 a=bf16 b=bf16 c=bf16 acc=f32",
    "m=1000 n=1288 k=712 a=f16 b=f16 c=f16 acc=f32 a_transposed=1 bias=row relu=1 scale=0.5",
    "m=1000 n=1288 k=712 a=bf16 b=bf16 c=f32 acc=f32 a_transposed=1 b_transposed=1 bias=full",
    "m=37 n=53 k=61 a=bf16 b=bf16 c=bf16 acc=f32 b_transposed=1",
    "m=37 n=53 k=61 a=bf16 b=bf16 c=bf16 acc=f32 a_transposed=1 ldc=99",
    "m=512 n=512 k=512 a=i8 b=i8 c=i32 acc=i32 b_transposed=1",
    "m=512 n=512 k=512 a=i8 b=i8 c=i8 acc=i32 b_transposed=1 scale=0.01 relu=1 bias=row",
    "m=512 n=512 k=512 a=i8 b=i8 c=bf16 acc=i32 scale=0.01 bias=full",
    "m=512 n=512 k=512 a=i8 b=i8 c=i16 acc=i32 a_transposed=1 b_transposed=1",
    "m=512 n=512 k=512 a=e4m3 b=e4m3 c=bf16 acc=f32 b_transposed=1 arithmetic=fast_accum scales=row gelu=tanh",
    "m=512 n=512 k=512 a=e5m2 b=e5m2 c=f32 acc=f32 b_transposed=1 arithmetic=fast_accum scales=tensor bias=row",
    "m=512 n=512 k=512 a=f32 b=f32 c=f32 acc=f32 b_transposed=1 arithmetic=tf32 gelu=erf",
    "m=512 n=1000 k=512 a=bf16 b=bf16 c=bf16 acc=f32 b_transposed=1 bias=full d=c",
    "m=500 n=1024 k=512 a=f16 b=f16 c=f16 acc=f32 b_transposed=1 glu=gelu_tanh glu_pass=sums",
    "m=500 n=1024 k=512 a=bf16 b=bf16 c=bf16 acc=f32 glu=gelu_erf glu_pass=backward ldd=3072",
};

enum { SCHEDULES = sizeof schedules / sizeof *schedules, PROBLEMS = sizeof problems / sizeof *problems };

/* The source and its launch, or false if the schedule is not legal for the problem. */
static bool emitted(const tw_problem *p, const tw_schedule *s, char **source, tw_launch *launch) {
  tw_error error;
  if (tw_tile_emit(&tw_tile_gemm, &machine, p, s, source, &error) != TW_OK) return false;
  tw_scope scope = {0};
  tw_launch_scope(p, &scope);
  assert_true(tw_scope_set(&scope, "sms", machine.processors));
  if (tw_launch_read(*source, strlen(*source), p, &scope, launch, &error) != TW_OK)
    fail_msg("%s\n%s", error.text, *source);
  return true;
}

/* Barriers wait for the bytes of whole tiles: a box that copies more or fewer would hang the kernel. */
static void check_map(const tw_launch_map *m, int64_t tile_bytes, int64_t row_bytes, int parts) {
  const int64_t size = tw_type_bits(m->type) / 8,
                span = row_bytes < machine.panel_bytes ? row_bytes : machine.panel_bytes;
  assert_int_equal(m->box[0] * size, span);
  assert_int_equal(m->swizzle, span);
  assert_in_range(m->box[1], 1, 256);
  assert_int_equal(m->box[0] * m->box[1] * size * (row_bytes / span) * parts, tile_bytes);
  for (int i = 0; i < m->rank - 1; i++) assert_int_equal(m->strides[i] % 16, 0);
}

static void launches_fit_their_plans(void **state) {
  int legal = 0;
  for (int i = 0; i < PROBLEMS; i++)
    for (int j = 0; j < SCHEDULES; j++) {
      const tw_problem p = gemm_of(problems[i]);
      const tw_schedule s = schedule_of(schedules[j]);
      tw_tile_gemm_plan plan;
      tw_launch l;
      char *source;
      if (!emitted(&p, &s, &source, &l)) continue;
      assert_int_equal(tw_tile_plan_of(&tw_tile_gemm, &machine, &p, &s, &plan, NULL), TW_OK);
      legal++;
      const tw_gemm g = tw_gemm_of(&p);
      const int64_t size = tw_type_bits(g.a) / 8;
      int map = 0;
      assert_int_equal(l.kernel[0].shared, plan.shared_bytes);
      assert_true(l.kernel[0].shared <= machine.shared_bytes);
      assert_int_equal(l.kernel[0].block[0], (plan.groups + 1) * 128);
      assert_int_equal(l.kernel[0].grid[0] % (plan.cluster_m * plan.cluster_n * plan.split), 0);
      assert_true(plan.split > 1 || l.kernel[0].grid[0] <= machine.processors);
      assert_int_equal(l.n_maps, plan.copies_a + plan.copies_b + plan.copies_c);
      if (plan.copies_a)
        check_map(&l.map[map++], plan.m * plan.k * size, (plan.across_a ? plan.m : plan.k) * size, plan.cluster_n);
      if (plan.copies_b)
        check_map(&l.map[map++], plan.n * plan.k * size, (plan.across_b ? plan.n : plan.k) * size,
                  tw_gemm_gates(&g) ? 2 : plan.cluster_m); /* gates and the values that they gate */
      free(source);
    }
  assert_in_range(legal, PROBLEMS * SCHEDULES * 3 / 4, PROBLEMS * SCHEDULES);
}

static void a_new_tile_keeps_what_fits_any(void **state) {
  const tw_problem p = gemm_of("m=512 n=512 k=512 a=f32 b=f32 c=f32 acc=f32");
  const tw_schedule s =
      schedule_of("tile m=64 n=64;products 6;rasterize n=4;epilogue_stages 2;stages 2;split_k 2;tile m=128 n=128");
  tw_tile_gemm_plan plan;
  assert_int_equal(tw_tile_plan_of(&tw_tile_gemm, &machine, &p, &s, &plan, NULL), TW_OK);
  assert_true(plan.band_columns && plan.band == 4 && plan.staging == 2 && plan.products == 6);
  assert_true(plan.split == 1 && plan.stages > 2);
}

/* Every element of C belongs to one tile, whatever the band: place_of of tile_core.cuh, said again. */
static void bands_visit_every_tile_once(void **state) {
  for (int rows = 1; rows < 12; rows++)
    for (int cols = 1; cols < 12; cols++)
      for (int band = -9; band <= 9; band++) {
        if (!band) continue;
        char seen[12][12] = {{0}};
        const int width = abs(band), across = band > 0 ? cols : rows, along = band > 0 ? rows : cols;
        for (int t = 0; t < rows * cols; t++) {
          const int first = t / (width * across) * width, size = along - first < width ? along - first : width;
          const int in = t - first * across, a = first + in % size, b = in / size;
          const int row = band > 0 ? a : b, col = band > 0 ? b : a;
          assert_in_range(row, 0, rows - 1);
          assert_in_range(col, 0, cols - 1);
          assert_int_equal(seen[row][col]++, 0);
        }
      }
}

static void every_kernel_compiles(void **state) {
  tw_error error;
  if (cuda_need_compiler(&error) != TW_OK) {
    print_message("%s\n", error.text);
    skip();
  }
  for (int i = 0; i < PROBLEMS; i++)
    for (int j = 0; j < SCHEDULES; j++) {
      if ((i + j) % 5 && i) continue; /* a fifth of all pairs, so that this takes seconds */
      const tw_problem p = gemm_of(problems[i]);
      const tw_schedule s = schedule_of(schedules[j]);
      tw_launch l;
      cuda_kernel kernel;
      char *source;
      if (!emitted(&p, &s, &source, &l)) continue;
      if (cuda_build(config, &p, source, strlen(source), false, &kernel, &error) != TW_OK)
        fail_msg("%s; %s: %s\n%s", problems[i], schedules[j], error.text, source);
      const cuda_resources *r = &kernel.resources[0];
      if (r->spill_stores || r->spill_loads || r->wgmma_serialized || r->setmaxnreg_ignored)
        fail_msg("%s; %s: %d bytes spilled, products serialized: %d, registers stay: %d", problems[i], schedules[j],
                 r->spill_stores, r->wgmma_serialized, r->setmaxnreg_ignored);
      cuda_kernel_free(&kernel);
      free(source);
    }
}

/* Kernels with others before and behind them. */
static void sums_and_factors_in_parts_compile(void **state) {
  static const struct {
    const char *problem, *schedule;
    size_t kernels, main;
  } cases[] = {
      {"m=4096 n=4096 k=4096 a=f32 b=f32 c=f32 acc=f32", "tile m=128 n=192 consumers=2;products 3;promote k=256", 3, 2},
      {"m=100 n=72 k=1001 a=f32 b=f32 c=bf16 acc=f32 a_transposed=1 bias=row",
       "tile m=64 n=64;products 6;split_k_workspace 4", 4, 2},
      {"m=64 n=64 k=96 a=f32 b=f32 c=f32 acc=f32 b_transposed=1 arithmetic=bf16",
       "tile m=128 n=256;products 1;epilogue_stages 2", 3, 2},
      {"m=1000 n=1288 k=720 a=e4m3 b=e4m3 c=bf16 acc=f32 b_transposed=1 arithmetic=fast_accum scales=block",
       "tile m=128 n=128;epilogue_stages 2;stream_k", 2, 1},
      {"m=1000 n=1288 k=720 a=e4m3 b=e4m3 c=bf16 acc=f32 b_transposed=1 arithmetic=fast_accum scales=block",
       "tile m=256 n=128;split_k_workspace 2", 2, 0},
      {"m=16 n=512 k=4096 a=i8 b=i8 c=i8 acc=i32 scale=0.01 b_transposed=1", "tile m=64 n=64;split_k_workspace 5", 2,
       0},
      {"m=1001 n=1288 k=721 a=bf16 b=bf16 c=bf16 acc=f32 b_transposed=1", "tile m=128 n=128;repack;split_k_workspace 2",
       4, 2},
      {"m=1000 n=1288 k=720 a=e4m3 b=e4m3 c=bf16 acc=f32 a_transposed=1 arithmetic=fast_accum scales=block",
       "tile m=256 n=128;repack;cluster n=2", 3, 2},
  };
  tw_error error;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tw_problem p = gemm_of(cases[i].problem);
    const tw_schedule s = schedule_of(cases[i].schedule);
    tw_tile_gemm_plan plan;
    tw_launch l;
    cuda_kernel kernel;
    char *source;
    assert_true(emitted(&p, &s, &source, &l));
    assert_int_equal(tw_tile_plan_of(&tw_tile_gemm, &machine, &p, &s, &plan, NULL), TW_OK);
    assert_int_equal(l.n_kernels, cases[i].kernels);
    assert_int_equal(l.main, cases[i].main);
    assert_int_equal(tw_launch_main(&l)->shared, plan.shared_bytes);
    const int size = tw_type_bits(tw_tile_gemm_factor(&plan, tw_problem_type(&p, "a"))) / 8;
    check_map(&l.map[0], plan.m * plan.k * size, (plan.across_a ? plan.m : plan.k) * size, plan.cluster_n);
    if (cuda_need_compiler(&error) == TW_OK) {
      if (cuda_build(config, &p, source, strlen(source), false, &kernel, &error) != TW_OK)
        fail_msg("%s\n%s", error.text, source);
      const cuda_resources *r = &kernel.resources[l.main];
      assert_int_equal(r->spill_stores + r->wgmma_serialized + r->setmaxnreg_ignored, 0);
      cuda_kernel_free(&kernel);
    }
    free(source);
  }
}

/* Where there is a compiler. */
static void compiles_without_spills(const tw_problem *p, const char *source) {
  cuda_kernel kernel;
  tw_error error;
  if (cuda_need_compiler(&error) != TW_OK) return;
  if (cuda_build(config, p, source, strlen(source), false, &kernel, &error) != TW_OK)
    fail_msg("%s\n%s", error.text, source);
  assert_int_equal(kernel.resources[0].spill_stores + kernel.resources[0].spill_loads, 0);
  cuda_kernel_free(&kernel);
}

/* Products of few rows: the launch is the plan's, and nothing is spilled. */
static void kernels_of_few_rows_compile(void **state) {
  static const struct {
    const char *problem, *schedule;
    int64_t box;
  } cases[] = {
      {"m=16 n=4096 k=4096 a=bf16 b=i4 c=f32 acc=f32 packed=1 group=128", "skinny n=32 k=512 rows=32 warps=4;split_k 2",
       128},
      {"m=16 n=28672 k=8192 a=bf16 b=i4 c=bf16 acc=f32 packed=1 group=128", "skinny n=224 k=256 rows=32 warps=2", 128},
      {"m=9 n=4096 k=4096 a=bf16 b=ternary c=bf16 acc=f32 packed=1", "skinny n=64 k=512 rows=64 warps=4;split_k 2",
       128},
      {"m=21 n=300 k=1000 a=f16 b=f16 c=f32 acc=f32 b_transposed=1 relu=1",
       "skinny n=16 k=256 rows=16 warps=8;split_k 3", 64},
  };
  tw_error error;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tw_problem p = gemm_of(cases[i].problem);
    const tw_schedule s = schedule_of(cases[i].schedule);
    tw_tile_skinny_plan plan;
    tw_launch l;
    char *source;
    if (tw_tile_emit(&tw_tile_skinny, &machine, &p, &s, &source, &error) != TW_OK) fail_msg("%s", error.text);
    tw_scope scope = {0};
    tw_launch_scope(&p, &scope);
    assert_int_equal(tw_launch_read(source, strlen(source), &p, &scope, &l, &error), TW_OK);
    assert_int_equal(tw_tile_plan_of(&tw_tile_skinny, &machine, &p, &s, &plan, &error), TW_OK);
    const int64_t n = tw_problem_int(&p, "n");
    assert_int_equal(l.kernel[0].shared, plan.shared_bytes);
    assert_int_equal(l.kernel[0].block[0], plan.threads);
    assert_int_equal(l.kernel[0].grid[0], (n + plan.n - 1) / plan.n * plan.split);
    assert_int_equal(l.map[0].box[0] * l.map[0].box[1] * plan.k / 64, plan.few * plan.k);
    assert_int_equal(l.map[1].box[0], cases[i].box);
    assert_int_equal(l.map[1].box[1], plan.n);
    compiles_without_spills(&p, source);
    free(source);
  }
}

/* Warps with slices of k: likewise; blocks without work keep places where weights rest, and no more share a processor.
 * Each way to multiply once. */
static void kernels_of_slices_compile(void **state) {
  static const char *const cases[] = {
      "m=5 n=1000 k=2816 a=bf16 b=i4 group=128 c=bf16 acc=f32 packed=1 bias=row",
      "m=1 n=1000 k=2816 a=bf16 b=mxfp4 c=bf16 acc=f32 packed=1",
      "m=2 n=1000 k=2816 a=bf16 b=ternary c=f32 acc=f32 packed=1",
  };
  tw_error error;
  char *source;
  tw_launch l;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tw_problem p = gemm_of(cases[i]);
    const tw_schedule s = schedule_of(
        "sliced_k n=64 rows=32 warps=8;register_prefetch 4;blocks_per_sm 2;prefetch_weights 1;prefetch_delay 400");
    tw_tile_sliced_k_plan plan;
    if (tw_tile_emit(&tw_tile_sliced_k, &machine, &p, &s, &source, &error) != TW_OK) fail_msg("%s", error.text);
    assert_int_equal(cuda_launch_of(config, &p, source, strlen(source), &l, &error), TW_OK);
    assert_int_equal(tw_tile_plan_of(&tw_tile_sliced_k, &machine, &p, &s, &plan, &error), TW_OK);
    assert_int_equal(l.kernel[0].shared, plan.shared_bytes);
    assert_int_equal(l.kernel[0].block[0], 8 * 32);
    assert_int_equal(l.kernel[0].grid[0], config->multiprocessors); /* 16 have work */
    assert_true(l.kernel[0].overlaps && !l.kernel[0].clustered);
    assert_true(2 * (plan.shared_bytes + 1024) <= config->shared_multiprocessor &&
                3 * (plan.shared_bytes + 1024) > config->shared_multiprocessor);
    assert_true(strstr(source, "weights.begin();\n  griddepcontrol_wait();\n  weights.begin_a<true>(a, lda, k);") !=
                NULL);
    assert_true(strstr(source, "linger(400);") != NULL);
    compiles_without_spills(&p, source);
    free(source);
  }
  const tw_problem p = gemm_of(cases[0]);
  const tw_schedule again = schedule_of("sliced_k n=64;register_prefetch 2;blocks_per_sm 2;prefetch_weights "
                                        "1;prefetch_delay 400;sliced_k n=32 rows=32 warps=4");
  tw_tile_sliced_k_plan plan;
  assert_int_equal(tw_tile_plan_of(&tw_tile_sliced_k, &machine, &p, &again, &plan, &error), TW_OK);
  assert_true(plan.rest == 1 && plan.late == 400 && plan.blocks == 1 && plan.ahead == 4 && plan.n == 32);
  const tw_schedule plain = schedule_of("sliced_k n=64 rows=16 warps=4");
  if (tw_tile_emit(&tw_tile_sliced_k, &machine, &p, &plain, &source, &error) != TW_OK) fail_msg("%s", error.text);
  assert_int_equal(cuda_launch_of(config, &p, source, strlen(source), &l, &error), TW_OK);
  assert_int_equal(l.kernel[0].grid[0], 16);
  assert_true(strstr(source, "griddepcontrol_wait();\n  weights.begin_a<true>(a, lda, k);\n  weights.begin();") !=
              NULL);
  free(source);
}

/* Swap-AB: the launch is the plan's, and nothing is spilled or serialized. */
static void kernels_of_swap_ab_compile(void **state) {
  static const struct {
    const char *problem, *schedule;
  } cases[] = {
      {"m=32 n=8192 k=8192 a=bf16 b=i4 c=bf16 acc=f32 packed=1 group=128", "swap_ab n=64 k=512 consumers=2"},
      {"m=24 n=8192 k=8192 a=bf16 b=i4 c=bf16 acc=f32 packed=1 group=128", "swap_ab n=128 k=512 consumers=4"},
      {"m=8 n=8192 k=8192 a=bf16 b=mxfp4 c=f32 acc=f32 packed=1 bias=row", "swap_ab n=64 k=512 consumers=4"},
      {"m=9 n=1000 k=4104 a=bf16 b=ternary c=bf16 acc=f32 packed=1",
       "swap_ab n=64 k=512 consumers=2;prefetch_weights 1"},
      {"m=32 n=8192 k=8192 a=bf16 b=i4 c=bf16 acc=f32 packed=1 group=128 shuffle=mma",
       "swap_ab n=64 k=1024 consumers=2"},
      {"m=8 n=8192 k=8192 a=bf16 b=mxfp4 c=f32 acc=f32 packed=1 shuffle=mma", "swap_ab n=64 k=512 consumers=4"},
  };
  tw_error error;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tw_problem p = gemm_of(cases[i].problem);
    const tw_schedule s = schedule_of(cases[i].schedule);
    tw_tile_swap_ab_plan plan;
    tw_launch l;
    char *source;
    if (tw_tile_emit(&tw_tile_swap_ab, &machine, &p, &s, &source, &error) != TW_OK) fail_msg("%s", error.text);
    assert_int_equal(cuda_launch_of(config, &p, source, strlen(source), &l, &error), TW_OK);
    assert_int_equal(tw_tile_plan_of(&tw_tile_swap_ab, &machine, &p, &s, &plan, &error), TW_OK);
    assert_int_equal(l.kernel[0].shared, plan.shared_bytes);
    assert_int_equal(l.kernel[0].block[0], plan.threads);
    assert_int_equal(l.kernel[0].grid[0],
                     plan.rest ? config->multiprocessors : tw_problem_int(&p, "n") / plan.n * plan.split);
    if (!tw_gemm_of(&p).shuffle) assert_int_equal(l.map[1].box[1], plan.n);
    compiles_without_spills(&p, source);
    free(source);
  }
}

static void refused(const tw_tile_family *family, const char *problem, const char *schedule, const char *words) {
  const tw_problem p = gemm_of(problem);
  const tw_schedule s = schedule_of(schedule);
  tw_tile_any_plan plan;
  tw_error error;
  assert_int_equal(tw_tile_plan_of(family, &machine, &p, &s, &plan, &error), TW_USAGE);
  if (!strstr(error.text, words)) fail_msg("'%s' is not in: %s", words, error.text);
}

static void what_few_rows_cannot_be_is_refused(void **state) {
  const char *mx = "m=4 n=512 k=4096 a=bf16 b=mxfp4 c=bf16 acc=f32 packed=1";
  const char *i4 = "m=4 n=512 k=4096 a=bf16 b=i4 c=bf16 acc=f32 packed=1 group=96";
  const char *groups = "m=4 n=512 k=4608 a=bf16 b=i4 c=bf16 acc=f32 packed=1 group=384";
  refused(&tw_tile_swap_ab, mx, "swap_ab n=96", "multiple of 64, the rows of a product");
  refused(&tw_tile_swap_ab, mx, "swap_ab n=64 k=300", "multiple of the 256 weights");
  refused(&tw_tile_swap_ab, mx, "swap_ab n=128 k=512 consumers=3", "expected a multiple of 2");
  refused(&tw_tile_swap_ab, mx, "swap_ab n=64 k=256 consumers=4", "divides the 2 slices");
  refused(&tw_tile_swap_ab, mx, "swap_ab n=64 k=512;stages 20", "bytes of shared memory");
  refused(&tw_tile_swap_ab, mx, "swap_ab n=256 k=512 consumers=4;blocks_per_sm 3", "exceed a multiprocessor");
  refused(&tw_tile_swap_ab, mx, "swap_ab n=64;split_k 2;prefetch_weights 1", "no split_k");
  refused(&tw_tile_swap_ab, mx, "swap_ab n=64 k=1024;split_k 8", "exceeds the stages");
  const char *rows = "m=32 n=512 k=8192 a=bf16 b=i4 c=bf16 acc=f32 packed=1 group=128"; /* would spill */
  refused(&tw_tile_swap_ab, rows, "swap_ab n=64 k=512 consumers=2;blocks_per_sm 2", "exceed a multiprocessor");
  refused(&tw_tile_swap_ab, groups, "swap_ab n=64 k=512", "one must be a multiple of the other");
  refused(&tw_tile_swap_ab, i4, "swap_ab n=64", "multiples of 128");
  refused(&tw_tile_swap_ab, "m=4 n=512 k=2880 a=bf16 b=mxfp4 c=bf16 acc=f32 packed=1", "swap_ab n=64", "a row has 90");
  refused(&tw_tile_swap_ab, "m=4 n=512 k=4096 a=bf16 b=bf16 c=bf16 acc=f32 b_transposed=1", "swap_ab n=64",
          "packed weights");
  refused(&tw_tile_skinny, mx, "blocks_per_sm 2", "requires 'skinny n=64 k=256 rows=32 warps=4' before it");
  refused(&tw_tile_skinny, mx, "", "the first step of a tile kernel must be");
  refused(&tw_tile_skinny, mx, "skinny n=24", "multiples of 16");
  refused(&tw_tile_skinny, mx, "skinny n=64 k=300", "k=300; expected a multiple");
  refused(&tw_tile_skinny, mx, "skinny n=64 k=256 warps=3", "cannot share");
  refused(&tw_tile_skinny, mx, "skinny n=64;split_k 9", "at most 8");
  refused(&tw_tile_skinny, mx, "skinny n=64;stages 20;blocks_per_sm 2", "bytes of shared memory");
  refused(&tw_tile_skinny, mx, "skinny n=64 k=256 warps=8;blocks_per_sm 8", "exceed a multiprocessor");
  refused(&tw_tile_skinny, i4, "skinny n=64 k=512 rows=32", "multiple of the other");
  refused(&tw_tile_skinny, mx, "skinny n=64;hoist_zero_point", "'hoist_zero_point': unknown step");
  refused(&tw_tile_skinny, mx, "skinny n=64;split_k 2;prefetch_weights 1", "and no split_k");
  refused(&tw_tile_skinny, "m=4 n=512 k=4096 a=bf16 b=bf16 c=bf16 acc=f32 b_transposed=1",
          "skinny n=64 k=64;prefetch_weights 1", "requires packed=1");
  refused(&tw_tile_skinny, "m=33 n=512 k=4096 a=bf16 b=mxfp4 c=bf16 acc=f32 packed=1", "skinny n=64",
          "decode the weights once");
  refused(&tw_tile_skinny, "m=4 n=512 k=4096 a=f16 b=mxfp4 c=f16 acc=f32 packed=1", "skinny n=64",
          "a=bf16 and b=mxfp4");
  refused(&tw_tile_skinny, "m=4 n=512 k=4000 a=bf16 b=i4 c=bf16 acc=f32 packed=1 group=16", "skinny n=64",
          "multiples of 32");
  refused(&tw_tile_skinny, "m=4 n=512 k=4096 a=bf16 b=bf16 c=bf16 acc=f32", "skinny n=64", "stored n x k");
}

static void what_slices_cannot_be_is_refused(void **state) {
  const char *mx = "m=4 n=512 k=4096 a=bf16 b=mxfp4 c=bf16 acc=f32 packed=1";
  refused(&tw_tile_sliced_k, mx, "register_prefetch 2", "'sliced_k n=64 rows=16 warps=8' before it");
  refused(&tw_tile_sliced_k, mx, "sliced_k n=24", "multiples of 16");
  refused(&tw_tile_sliced_k, "m=4 n=512 k=4096 a=bf16 b=mxfp4 c=bf16 acc=f32 packed=1 shuffle=aiter", "sliced_k n=64",
          "is for AMD GPUs");
  refused(&tw_tile_sliced_k, "m=4 n=512 k=4096 a=bf16 b=mxfp4 c=bf16 acc=f32 packed=1 shuffle=mma", "sliced_k n=64",
          "reads rows of codes");
  refused(&tw_tile_sliced_k, mx, "sliced_k n=64;prefetch_delay 400", "'prefetch_weights 1' before it");
  refused(&tw_tile_sliced_k, mx, "sliced_k n=512 rows=32 warps=16", "exceed a multiprocessor");
  refused(&tw_tile_sliced_k, mx, "sliced_k n=64 rows=32 warps=16;register_prefetch 8", "bytes of shared memory");
  refused(&tw_tile_sliced_k, "m=4 n=512 k=896 a=bf16 b=mxfp4 c=bf16 acc=f32 packed=1", "sliced_k n=64 warps=8",
          "fewer slices");
  refused(&tw_tile_sliced_k, "m=4 n=512 k=2880 a=bf16 b=mxfp4 c=bf16 acc=f32 packed=1", "sliced_k n=64",
          "four scales of mxfp4");
  refused(&tw_tile_sliced_k, "m=4 n=512 k=4096 a=bf16 b=i4 c=bf16 acc=f32 packed=1 group=64", "sliced_k n=64",
          "multiples of 128");
  refused(&tw_tile_sliced_k, "m=4 n=512 k=4096 a=bf16 b=bf16 c=bf16 acc=f32 b_transposed=1", "sliced_k n=64",
          "requires packed weights");
}

/* Where a schedule begins, all structures are on the menu; behind a first step its own alone; packed weights have no
 * tiles. */
static void menus_offer_few_rows(void **state) {
  static const char *const problem[] = {"m=4 n=4096 k=4096 a=bf16 b=bf16 c=bf16 acc=f32 b_transposed=1",
                                        "m=4 n=4096 k=4096 a=bf16 b=mxfp4 c=bf16 acc=f32 packed=1"};
  for (int packed = 0; packed < 2; packed++)
    for (int begun = 0; begun < 2; begun++) {
      const tw_problem p = gemm_of(problem[packed]);
      const tw_schedule s = schedule_of(begun ? "skinny n=32 k=512 rows=32 warps=4" : "");
      tw_menu menu;
      size_t few = 0, slices = 0, tile = 0;
      assert_int_equal(cuda_tiles_steps(config, &p, &s, &menu, NULL), TW_OK);
      for (size_t i = 0; i < menu.n; i++) {
        tw_schedule next = s;
        double cost = 0;
        assert_int_equal(tw_schedule_add(&next, menu.item[i].step, NULL), TW_OK);
        assert_int_equal(cuda_tiles_predict(config, &p, &next, &cost, NULL), TW_OK);
        assert_true(cost > 0 && cost == menu.item[i].predicted_cost);
        if (i) assert_true(menu.item[i - 1].predicted_cost <= cost);
        few += strncmp(menu.item[i].step, "skinny", 6) == 0;
        slices += strncmp(menu.item[i].step, "sliced_k", 8) == 0;
        tile += strncmp(menu.item[i].step, "tile", 4) == 0;
      }
      assert_in_range(few, 20, 200);
      assert_true((tile > 0) == (!packed && !begun));
      assert_true((slices > 0) == (packed && !begun));
      tw_menu_free(&menu);
    }
}

/* Swap-AB with weights in units: from 9 rows on, with any type of weights, and equal shares of the columns. */
static void menus_offer_swap_ab(void **state) {
  static const struct {
    const char *problem;
    bool offered, share;
  } menus[] = {{"m=8 n=28672 k=8192 a=bf16 b=i4 c=bf16 acc=f32 packed=1 group=128 shuffle=mma", false, false},
               {"m=9 n=28672 k=8192 a=bf16 b=i4 c=bf16 acc=f32 packed=1 group=128 shuffle=mma", true, true},
               {"m=32 n=28672 k=8192 a=bf16 b=ternary c=bf16 acc=f32 packed=1 shuffle=mma", true, true},
               {"m=16 n=28672 k=8192 a=bf16 b=i4 c=bf16 acc=f32 packed=1 group=128", false, false},
               {"m=32 n=28672 k=8192 a=bf16 b=i4 c=bf16 acc=f32 packed=1 group=128", true, false}};
  for (size_t j = 0; j < sizeof menus / sizeof *menus; j++) {
    const tw_problem p = gemm_of(menus[j].problem);
    const tw_schedule s = {0};
    tw_menu menu;
    bool offered = false, share = false;
    assert_int_equal(cuda_tiles_steps(config, &p, &s, &menu, NULL), TW_OK);
    for (size_t i = 0; i < menu.n; i++) {
      offered |= strncmp(menu.item[i].step, "swap_ab", 7) == 0;
      share |= strncmp(menu.item[i].step, "swap_ab n=224", 13) == 0;
    }
    if (offered != menus[j].offered || share != menus[j].share) fail_msg("%s: %d %d", menus[j].problem, offered, share);
    tw_menu_free(&menu);
  }
}

static void the_example_compiles(void **state) {
  tw_error error;
  char *source;
  size_t length;
  cuda_kernel kernel;
  if (cuda_need_compiler(&error) != TW_OK) skip();
  assert_int_equal(tw_file_read(TW_TEST_DATA "/../../examples/tiles/gemm.cu", 1 << 20, &source, &length, &error),
                   TW_OK);
  const tw_problem p = gemm_of("m=1000 n=1000 k=1000 a=bf16 b=bf16 c=bf16 acc=f32 b_transposed=1");
  if (cuda_build(config, &p, source, length, false, &kernel, &error) != TW_OK) fail_msg("%s", error.text);
  assert_int_equal(kernel.resources[0].spill_stores + kernel.resources[0].wgmma_serialized, 0);
  cuda_kernel_free(&kernel);
  free(source);
}

static void what_cannot_be_is_refused(void **state) {
  const tw_tile_family *gemm = &tw_tile_gemm;
  const char *nt = problems[0], *nn = problems[1], *odd = problems[4];
  refused(gemm, nt, "stages 4", "'tile m=128 n=256 k=64 consumers=2' before it");
  refused(gemm, nt, "tile m=100 n=128", "multiple of 64 rows");
  refused(gemm, nt, "tile m=128 n=120", "multiple of 16");
  refused(gemm, nt, "tile m=128 n=256 k=48", "k=48");
  refused(gemm, nt, "tile m=256 n=256 consumers=2", "registers");
  refused(gemm, nt, "tile m=128 n=256;stages 8", "bytes of shared memory");
  refused(gemm, nt, "tile m=128 n=256;cluster m=2 n=2", "clusters of at most 2");
  refused(gemm, nt, "tile m=128 n=256;registers producer=240 consumer=240", "the producer at most");
  refused(gemm, nt, "tile m=128 n=128 consumers=1 pingpong", "two consumer warpgroups");
  refused(gemm, nt, "rasterize m=2", "before it");
  refused(gemm, nt, "tile m=128 n=256;stream_k;cluster m=2", "stream_k cannot be combined");
  refused(gemm, nt, "tile m=128 n=256;rasterize m=2 n=2", "not both");
  refused(gemm, nt, "tile m=128 n=128;split_k 9", "at most 8");
  refused(gemm, nt, "tile m=128 n=128;repack", "not a multiple of 16 bytes");
  refused(gemm, "m=512 n=512 k=512 a=e4m3 b=e4m3 c=bf16 acc=f32 arithmetic=fast_accum scales=block", "tile m=256 n=128",
          "A stored m x k and B stored n x k");
  refused(gemm, nt, "tile m=128 n=128;cluster m=2;split_k 2", "without cluster");
  refused(gemm, odd, "tile m=64 n=64;split_k 2", "exceeds the steps");
  refused(gemm, nn, "tile m=128 n=96", "stored k x n");
  refused(gemm, odd, "tile m=128 n=256;cluster m=2", "requires asynchronous copies");
  refused(gemm, "m=64 n=64 k=64 a=f32 b=f32 c=f32 acc=f32", "tile m=128 n=128;products 1", "arithmetic=bf16");
  refused(gemm, "m=64 n=64 k=64 a=f32 b=f32 c=f32 acc=f32", "tile m=128 n=128;products 2", "1, 3 or 6");
  refused(gemm, nt, "tile m=128 n=128;products 3", "requires f32");
  refused(gemm, nt, "tile m=128 n=128;split_k_workspace 2;split_k 2", "cannot be combined with split_k");
  refused(gemm, nt, "tile m=128 n=128;promote k=100", "a multiple of the tile's k=64");
  refused(gemm, "m=64 n=64 k=64 a=e4m3 b=e4m3 c=f32 acc=f32", "tile m=128 n=128", "arithmetic=fast_accum");
  refused(gemm, "m=64 n=64 k=64 a=bf16 b=f16 c=f32 acc=f32", "tile m=128 n=128", "the plain kernel");
  refused(gemm, "m=64 n=64 k=64 a=bf16 b=mxfp4 c=bf16 acc=f32", "tile m=64 n=64", "tile kernels support");
}

static double predict(const void *with, const void *plan) {
  const tw_tile_gemm_plan *p = plan;
  (void)with;
  return 1.0 / (p->m * p->n);
}

static void the_menu_offers_what_is_legal(void **state) {
  const tw_problem p = gemm_of(problems[0]);
  const tw_schedule s = schedule_of("tile m=128 n=128");
  tw_menu menu;
  assert_int_equal(tw_tile_steps(&tw_tile_gemm, &machine, &p, &s, predict, NULL, &menu, NULL), TW_OK);
  assert_in_range(menu.n, 40, 200);
  bool team = false, turns = false;
  for (size_t i = 0; i < menu.n; i++) {
    tw_schedule next = s;
    tw_tile_gemm_plan plan;
    assert_int_equal(tw_schedule_add(&next, menu.item[i].step, NULL), TW_OK);
    assert_int_equal(tw_tile_plan_of(&tw_tile_gemm, &machine, &p, &next, &plan, NULL), TW_OK);
    team |= strcmp(menu.item[i].step, "cluster m=2") == 0;
    turns |= strstr(menu.item[i].step, "pingpong") != NULL;
  }
  assert_true(team && turns);
  tw_menu_free(&menu);
}

int main(void) {
  config = cuda_config_find("h100-sxm");
  machine = cuda_tile_machine(config);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(launches_fit_their_plans),
      cmocka_unit_test(a_new_tile_keeps_what_fits_any),
      cmocka_unit_test(bands_visit_every_tile_once),
      cmocka_unit_test(what_cannot_be_is_refused),
      cmocka_unit_test(the_menu_offers_what_is_legal),
      cmocka_unit_test(every_kernel_compiles),
      cmocka_unit_test(the_example_compiles),
      cmocka_unit_test(sums_and_factors_in_parts_compile),
      cmocka_unit_test(kernels_of_few_rows_compile),
      cmocka_unit_test(kernels_of_slices_compile),
      cmocka_unit_test(kernels_of_swap_ab_compile),
      cmocka_unit_test(what_few_rows_cannot_be_is_refused),
      cmocka_unit_test(what_slices_cannot_be_is_refused),
      cmocka_unit_test(menus_offer_few_rows),
      cmocka_unit_test(menus_offer_swap_ab),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
