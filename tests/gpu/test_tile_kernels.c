/* Kernels of tiles beside gemm: attention, rotary, layernorm, softmax, gate and elementwise compile, start as they must, and refuse
 * the rest. */
#include "gpu/kernel_text.h"
#include "test.h"

#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/pool.h"
#include "target/cuda/build.h"
#include "target/cuda/device.h"
#include "target/cuda/plain.h"
#include "target/cuda/tiles.h"
#include "tilewright/extend/extend.h"

static const cuda_config *config;

typedef struct kernel_case {
  const char *problem, *schedule;
} kernel_case;

static const kernel_case cases[] = {
    {"attention b=2 hq=4 hkv=2 sq=700 sk=900 d=128 causal=1 a=bf16", "tile keys=128 consumers=2;pingpong"},
    {"attention b=16 hq=16 hkv=16 sq=2048 sk=2048 d=128 a=f16 scale=0.5",
     "tile keys=176 consumers=2;pingpong;stages 2"},
    {"attention b=1 hq=8 hkv=1 sq=1 sk=77 d=128 a=bf16", "tile keys=80 consumers=3;pingpong"},
    {"attention b=4 hq=64 hkv=8 sq=4096 sk=4096 d=64 causal=1 a=bf16", "tile keys=128 consumers=3;pingpong"},
    {"attention b=4 hq=4 hkv=4 sq=100 sk=100 d=64 a=f16", "tile keys=64 consumers=1;stages 3"},
    {"attention b=2 hq=8 hkv=2 sq=700 sk=900 d=96 causal=1 window=300 a=bf16",
     "tile keys=128 consumers=2;pingpong;persistent"},
    {"attention b=1 hq=4 hkv=4 sq=300 sk=300 d=256 softcap=30 a=f16", "tile keys=64 consumers=2"},
    {"attention b=4 hq=64 hkv=8 sq=4096 sk=4096 d=128 causal=1 pass=backward a=bf16", "tile queries=64 consumers=2"},
    {"attention b=2 hq=4 hkv=4 sq=77 sk=1000 d=64 pass=backward scale=0.5 a=f16",
     "tile queries=128 consumers=2;stages 2"},
    {"rotary b=2 h=6 s=333 d=128 a=bf16", "heads 2"},
    {"rotary b=2 h=6 s=333 d=64 interleaved=1 a=f16", "heads 1;threads 128"},
    {"rotary b=2 h=6 s=333 d=96 interleaved=1 a=f32", "heads 3;streaming"},
    {"layernorm rows=32768 cols=2048 dropout=0.1 residual=1 a=bf16", "row warps=4"},
    {"layernorm rows=333 cols=1000 dropout=0.3 norm=rms a=f32", "row warps=2;block rows=2"},
    {"layernorm rows=333 cols=520 residual=1 a=f16", "row warps=1;block rows=8;streaming"},
    {"layernorm rows=4 cols=64 inner=262144 norm=rms affine=0 a=f32", "row warps=8"},
    {"layernorm rows=32 cols=128 inner=3136 a=bf16", "row warps=16"},
    {"layernorm rows=32 cols=512 inner=3136 norm=rms a=bf16", "row warps=16;block rows=1"},
    {"layernorm rows=32 cols=384 inner=3136 norm=rms a=f32", "row warps=32"},
    {"conv2d n=256 c=3 h=224 w=224 k=96 r=11 s=11 stride=4 pad=2 bias=row weight_layout=kcrs image_layout=nchw a=f32 "
     "b=f32 out=f32 "
     "acc=f32",
     "tile x=8 y=8 n=96;products 3;promote k=256"},
    {"conv3d n=2 c=3 d=9 h=20 w=33 k=24 t=3 r=3 s=3 pad=1 relu=1 weight_layout=kctrs image_layout=ncdhw a=f32 b=f32 "
     "out=f32 acc=f32",
     "tile x=32 y=2 n=32 consumers=2;fold 2;products 6"},
    {"conv2d n=2 c=70 h=40 w=33 k=100 r=5 s=7 stride=2 scale=0.5 weight_layout=krsc a=f16 b=f16 out=f32 acc=f32",
     "tile x=16 y=4 n=64 consumers=3;stages 3"},
    {"conv2d n=8 c=64 h=512 w=256 k=128 r=5 s=7 weight_layout=kcrs image_layout=nchw a=f32 b=f32 out=f32 acc=f32 "
     "arithmetic=tf32",
     "tile x=8 y=8 n=128 consumers=2"},
    {"conv3d n=2 c=3 d=9 h=20 w=33 k=24 t=3 r=3 s=3 a=f32 b=f32 out=f32 acc=f32 arithmetic=tf32",
     "tile x=32 y=2 n=32;fold 1"},
    {"softmax rows=333 cols=1000 a=bf16", "row warps=1"},
    {"softmax rows=4096 cols=32768 a=f32", "row warps=32"},
    {"gate rows=8192 cols=14336 pass=backward a=bf16", "chunks 2;threads 128"},
    {"gate rows=333 cols=100 act=gelu_erf a=f32", "chunks 1;streaming"},
    {"elementwise rows=4096 cols=32768 f=elu alpha=0.5 a=f32", "chunks 2;threads 128"},
    {"elementwise rows=333 cols=1000 f=softplus a=bf16", "chunks 1;streaming"},
    {"elementwise rows=333 cols=1000 f=divide a=f16", "chunks 2"},
    {"rotary b=2 h=6 s=333 d=128 ldx=1280 a=bf16", "heads 2"},
    {"cumsum rows=4096 cols=4095 reverse=1 a=f32", "chunks 4"},
    {"cumsum rows=4096 cols=4096 masked=1 a=f32", "chunks 2"},
    {"softmax rows=4096 cols=4096 log=1 a=bf16", "row warps=4"},
    {"pool n=64 h=512 w=512 r=4 s=4 pad=1 a=f32", "outputs 4"},
    {"pool n=64 w=65536 s=8 pad=4 dilation=3 a=f32", "vectors 4"},
    {"pool n=64 h=512 w=512 r=2 s=9 pad=1 f=mean a=bf16", "vectors 2;threads 128"},
    {"pool n=64 d=64 h=64 w=64 t=3 r=3 s=3 stride=2 pad=1 f=mean a=bf16", "threads 128"},
    {"reduce outer=4 n=4096 inner=4095 f=argmax a=f32", "loads 8"},
    {"reduce outer=64 n=1048576 f=mean of=smooth_l1 a=bf16", "split 8;loads 8"},
    {"reduce outer=4096 n=32768 f=mean of=hinge shared=1 a=f32", "lanes 8;loads 8"},
    {"attention b=5 hq=4 hkv=2 sq=300 sk=300 d=96 causal=1 window=70 tokens=700 a=bf16",
     "tile keys=128 consumers=2;pingpong;persistent"},
    {"attention b=5 hq=4 hkv=2 sq=300 sk=300 d=128 tokens=700 a=f16", "tile keys=176 consumers=2"},
};
enum { CASES = sizeof cases / sizeof *cases };

static void read_launch(const char *source, const tw_problem *p, tw_launch *l) {
  tw_scope scope = {0};
  tw_error error = {0};
  tw_launch_scope(p, &scope);
  assert_true(tw_scope_set(&scope, "sms", config->multiprocessors));
  if (tw_launch_read(source, strlen(source), p, &scope, l, &error) != TW_OK) fail_msg("%s\n%s", error.text, source);
}

/* Every element has a thread, and what barriers are told to expect is what the boxes of the maps bring. */
static void launches_cover_their_problems(void **state) {
  for (int i = 0; i < CASES; i++) {
    const tw_problem p = problem_of(cases[i].problem);
    const tw_schedule s = schedule_of(cases[i].schedule);
    tw_error error = {0};
    tw_launch l;
    char *source;
    double cost = 0;
    if (cuda_tiles_emit(config, &p, &s, &source, &error) != TW_OK) fail_msg("%s", error.text);
    read_launch(source, &p, &l);
    assert_int_equal(cuda_launch_check(config, &l, &error), TW_OK);
    const int64_t threads = l.kernel[0].grid[0] * l.kernel[0].block[0];
    const bool attention = strcmp(p.op->name, "attention") == 0;
    if (attention && tw_problem_int(&p, "pass") == 1) {
      const tw_launch_kernel *k = tw_launch_main(&l);
      assert_int_equal(l.n_kernels, 3);
      assert_true(k->grid[0] * (k->block[0] / 128 - 1) * 64 >=
                  tw_problem_int(&p, "b") * tw_problem_int(&p, "hkv") * tw_problem_int(&p, "sk"));
      assert_true(l.workspace >= 4 * tw_problem_int(&p, "b") * tw_problem_int(&p, "hq") * tw_problem_int(&p, "sq") *
                                     (tw_problem_int(&p, "d") + 2));
    } else if (attention) {
      const int64_t d = tw_problem_int(&p, "d"), groups = l.kernel[0].block[0] / 128 - 1;
      assert_int_equal(l.n_maps, 4);
      assert_int_equal(l.map[0].box[2], 64 * groups);
      assert_int_equal(l.map[1].box[2], l.map[2].box[2]);
      for (int m = 0; m < 4; m++) {
        assert_int_equal(l.map[m].rank, tw_problem_int(&p, "tokens") ? 3 : 4);
        assert_int_equal(l.map[m].box[0] * 2, 128);
        assert_int_equal(l.map[m].dims[0], d);
        assert_in_range(l.map[m].box[2], 8, 256);
      }
      assert_true(l.kernel[0].grid[0] * groups * 64 >=
                  tw_problem_int(&p, "b") * tw_problem_int(&p, "hq") * tw_problem_int(&p, "sq"));
    } else if (strncmp(p.op->name, "conv", 4) == 0) { /* copies of a stage are whole boxes of 64 places */
      const tw_launch_map *a = &l.map[0], *b = &l.map[1];
      assert_int_equal(l.n_kernels, 3);
      assert_int_equal(a->box[1] * a->box[2], 64);
      assert_int_equal(a->box[0], b->box[0]);
      assert_int_equal(a->dims[0] % a->box[0], 0);
      assert_int_equal(b->dims[0] % a->dims[0], 0);
      assert_int_equal(a->swizzle, a->box[0] * tw_type_bits(a->type) / 8);
      assert_true(l.workspace >= a->strides[3] * a->dims[4] + b->strides[1] * b->dims[2]);
    } else if (strcmp(p.op->name, "rotary") == 0) {
      assert_true(threads * 2 * 16 * 3 >= (int64_t)p.op->bytes(&p) / 2 / 2); /* at most three heads a thread here */
    } else if (strcmp(p.op->name, "gate") == 0) {
      const bool backward = tw_problem_int(&p, "pass") == 1;
      const int chunks = strstr(cases[i].schedule, "chunks 2") ? 2 : 1;
      assert_true(threads * 16 * chunks * (backward ? 5 : 3) >= (int64_t)p.op->bytes(&p));
    } else if (strcmp(p.op->name, "elementwise") == 0) {
      assert_true(threads * 16 * (strstr(cases[i].schedule, "chunks 2") ? 2 : 1) >= (int64_t)p.op->bytes(&p) / 2);
    } else if (strcmp(p.op->name, "pool") == 0) {
      const tw_pool of = tw_pool_of(&p);
      const int each = strstr(cases[i].schedule, "vectors") ? 16 : 4;
      assert_true(threads * each >= of.n * of.out[0] * of.out[1] * of.out[2]);
    } else if (strcmp(p.op->name, "reduce") == 0) { /* a thread for each line, or a lane */
      assert_true(threads >= tw_problem_int(&p, "outer") * tw_problem_int(&p, "inner") / 8);
    } else {
      assert_true(threads >= tw_problem_int(&p, "rows") * 32);
    }
    assert_int_equal(cuda_tiles_predict(config, &p, &s, &cost, &error), TW_OK);
    assert_true(cost > 1e-7 && cost < 1);
    free(source);
  }
}

static void every_kernel_compiles(void **state) {
  tw_error error = {0};
  if (cuda_need_compiler(&error) != TW_OK) {
    print_message("%s\n", error.text);
    skip();
  }
  for (int i = 0; i < CASES; i++) {
    const tw_problem p = problem_of(cases[i].problem);
    const tw_schedule s = schedule_of(cases[i].schedule);
    cuda_kernel kernel;
    char *source;
    assert_int_equal(cuda_tiles_emit(config, &p, &s, &source, &error), TW_OK);
    if (cuda_build(config, &p, source, strlen(source), false, &kernel, &error) != TW_OK)
      fail_msg("%s; %s: %s\n%s", cases[i].problem, cases[i].schedule, error.text, source);
    const cuda_resources *r = &kernel.resources[kernel.launch.main];
    if (r->spill_stores || r->wgmma_serialized || r->setmaxnreg_ignored)
      fail_msg("%s; %s: %d bytes spilled, products serialized: %d", cases[i].problem, cases[i].schedule,
               r->spill_stores, r->wgmma_serialized);
    cuda_kernel_free(&kernel);
    free(source);
  }
}

static void refused(const char *problem, const char *schedule, const char *words) {
  const tw_problem p = problem_of(problem);
  const tw_schedule s = schedule_of(schedule);
  tw_error error = {0};
  char *source;
  assert_int_equal(tw_status_group(cuda_tiles_emit(config, &p, &s, &source, &error)), TW_USAGE);
  if (!strstr(error.text, words)) fail_msg("'%s' is not in: %s", words, error.text);
}

static void what_cannot_be_is_refused(void **state) {
  const char *attention = cases[0].problem, *backward = cases[7].problem, *rotary = cases[9].problem,
             *norm = cases[12].problem;
  refused(attention, "pingpong", "before it");
  refused(attention, "tile keys=100", "multiple of 16");
  refused(attention, "tile keys=256 consumers=2", "registers");
  refused(attention, "tile keys=128 consumers=2;stages 4", "bytes of shared memory");
  refused(attention, "tile keys=128 consumers=1;pingpong", "two consumer warpgroups");
  refused("attention b=1 hq=1 hkv=1 sq=64 sk=64 d=64 pass=backward a=bf16", "tile queries=64 consumers=1;stages 1",
          "unsupported stages 1; a tile of queries is released after the next one has arrived");
  refused("attention b=1 hq=1 hkv=1 sq=64 sk=64 d=96 pass=backward a=bf16", "tile queries=64", "d=32, 64 or 128");
  refused("attention b=1 hq=1 hkv=1 sq=64 sk=64 d=64 causal=1 window=9 pass=backward a=bf16", "tile queries=64",
          "kernels of pass=backward do not support window=9");
  refused("attention b=1 hq=1 hkv=1 sq=64 sk=64 d=64 page=24 a=bf16", "tile keys=64", "unsupported page=24");
  refused("attention b=1 hq=8 hkv=1 sq=9 sk=64 d=64 a=bf16", "decode keys=32 warps=4", "sq * hq / hkv up to 64");
  refused("attention b=1 hq=8 hkv=1 sq=1 sk=64 d=64 a=bf16", "decode keys=40 warps=4", "multiple of 16");
  refused("attention b=1 hq=1 hkv=1 sq=64 sk=64 d=40 a=bf16", "tile keys=64", "d a multiple of 16 up to 256");
  refused(backward, "tile keys=128", "keys=128");
  refused(backward, "stages 2", "before it");
  refused(backward, "tile queries=128 consumers=2", "64 x 64 elements of dQ");
  refused(backward, "tile queries=64 consumers=2;stages 5", "bytes of shared memory");
  refused(rotary, "heads 4", "must divide");
  refused("rotary b=1 h=1 s=1 d=10 a=bf16", "heads 1", "16 bytes");
  refused("rotary b=1 h=1 s=2 d=16 ldx=20 a=bf16", "heads 1", "unsupported ldx=20");
  refused("softmax rows=1 cols=4096 a=bf16", "row warps=1", "exceed its registers");
  refused(norm, "row warps=32;block rows=2", "1024 threads");
  refused("conv2d n=1 c=3 h=9 w=9 k=8 r=3 s=3 a=f32 b=f32 out=f32 acc=f32", "tile x=8 y=8 n=32;products 2",
          "1, 3 or 6");
  refused("conv2d n=1 c=3 h=9 w=9 k=8 r=3 s=3 a=f16 b=f16 out=f32 acc=f32", "tile x=8 y=4 n=32", "must be 64");
  refused("conv2d n=1 c=3 h=9 w=9 k=8 r=3 s=3 a=f16 b=f16 out=f32 acc=f32", "tile x=8 y=8 n=32;products 3",
          "requires f32");
  refused("conv2d n=1 c=3 h=9 w=9 k=8 r=3 s=3 pool=2 a=f16 b=f16 out=f32 acc=f32", "tile x=8 y=8 n=32", "pooling");
  refused("softmax rows=1 cols=3 a=f32", "row warps=1", "16 bytes");
  refused("layernorm rows=4 cols=4096 affine=0 a=bf16", "row warps=4", "do not support affine=0");
  refused("layernorm rows=4 cols=64 quantize=e4m3 a=f32", "split_row blocks=2", "does not support quantize");
  refused("layernorm rows=4 cols=64 inner=4 a=f32", "split_row blocks=2", "does not support inner");
  refused("layernorm rows=4 cols=64 inner=4 a=f32", "row warps=2", "128 elements per thread exceed its registers");
  refused("layernorm rows=4 cols=128 inner=8 a=bf16", "row warps=16;block rows=2", "exceed the registers of a block");
  refused("layernorm rows=4 cols=545 inner=8 a=f32", "row warps=16", "exceed the registers of a block");
  refused("layernorm rows=4 cols=4100 span=82 a=f32", "split_row blocks=2", "unsupported span=82");
  refused("pool n=1 h=8 w=8 r=3 s=3 a=f32", "outputs 8", "only 6 rows");
  refused("pool n=1 h=8 w=8 r=3 s=3 a=f32", "vectors 1;outputs 2", "leave out 'outputs'");
  refused("pool n=1 h=8 w=8 r=3 s=3 stride=2 a=f32", "vectors 1", "requires stride=1");
  refused("pool n=1 h=8 w=9 r=3 s=3 a=f32", "vectors 1", "multiple of 4");
  refused("pool n=1 w=800 s=64 dilation=2 a=f32", "vectors 1", "too wide for the 128 elements");
  refused("pool n=1 h=99 w=99 r=30 s=30 a=f32", "outputs 4", "too many elements");
  refused("reduce outer=1 n=64 a=f32", "lanes 3", "power of 2");
  refused("reduce outer=1 n=64 a=f32", "threads 96", "power of 2");
  refused("reduce outer=1 n=64 a=f32", "split 17", "only 16 pieces");
  refused("gemm m=64 n=64 k=256 a=bf16 b=mxfp4 c=bf16 packed=1 b_transposed=1", "tile m=64 n=64",
          "(found m=64); for more");
  refused("mpc_forward states=4 inputs=2 horizon=10 type=f32", "tile keys=128", "no tile kernels");
}

/* A search begins with the empty schedule: it has a kernel, and steps that lead on. */
static void every_op_has_a_plainest_kernel(void **state) {
  const tw_target *t = tw_target_find("cuda-h100-sxm"), *old = tw_target_find("cuda-a100-sxm");
  const tw_schedule none = {0};
  for (int i = 0; i < CASES; i++) {
    const tw_problem p = problem_of(cases[i].problem);
    tw_error error = {0};
    tw_menu menu;
    char *source;
    if (tw_target_emit(t, &p, &none, &source, &error) != TW_OK) fail_msg("%s: %s", cases[i].problem, error.text);
    free(source);
    assert_int_equal(cuda_tiles_steps(config, &p, &none, &menu, &error), TW_OK);
    assert_true(menu.n > 0);
    tw_menu_free(&menu);
    const bool plain = cuda_has_plain_rows(&p) || strcmp(p.op->name, "rotary") == 0 ||
                       strcmp(p.op->name, "gate") == 0 || strcmp(p.op->name, "elementwise") == 0 ||
                       strcmp(p.op->name, "reduce") == 0 || strcmp(p.op->name, "cumsum") == 0 ||
                       strcmp(p.op->name, "pool") == 0 || strcmp(p.op->name, "attention") == 0;
    assert_int_equal(tw_target_emit(old, &p, &none, &source, &error), plain ? TW_OK : TW_UNSUPPORTED);
    if (plain)
      free(source);
    else
      assert_non_null(strstr(error.text, "no tile kernels on a100-sxm"));
  }
}

static void menus_offer_what_is_legal(void **state) {
  for (int i = 0; i < CASES; i += 4) {
    const tw_problem p = problem_of(cases[i].problem);
    const tw_schedule s = schedule_of(cases[i].schedule);
    tw_error error = {0};
    tw_menu menu;
    assert_int_equal(cuda_tiles_steps(config, &p, &s, &menu, &error), TW_OK);
    assert_true(menu.n > 0);
    for (size_t j = 0; j < menu.n; j++) {
      tw_schedule next = s;
      char *source;
      assert_int_equal(tw_schedule_add(&next, menu.item[j].step, NULL), TW_OK);
      if (cuda_tiles_emit(config, &p, &next, &source, &error) != TW_OK)
        fail_msg("%s: %s", menu.item[j].step, error.text);
      free(source);
    }
    tw_menu_free(&menu);
  }
}

/* Three products of bf16 parts are outside the bound of f32 in short sums, so menus do not offer them there. */
static void short_sums_are_not_offered_three_products(void **state) {
  static const struct {
    const char *problem, *schedule;
    bool offered;
  } of[] = {{"conv3d n=2 c=3 d=9 h=20 w=33 k=24 t=3 r=3 s=3 a=f32 b=f32 out=f32 acc=f32", "tile x=8 y=8 n=32", false},
            {"conv3d n=2 c=3 d=9 h=20 w=33 k=24 t=3 r=3 s=3 a=f32 b=f32 out=f32 acc=f32 arithmetic=tf32",
             "tile x=8 y=8 n=32", true},
            {"conv2d n=2 c=128 h=20 w=33 k=24 r=3 s=3 a=f32 b=f32 out=f32 acc=f32", "tile x=8 y=8 n=32", true},
            {"gemm m=512 n=512 k=512 a=f32 b=f32 c=f32 acc=f32", "tile m=128 n=128", false},
            {"gemm m=512 n=512 k=2048 a=f32 b=f32 c=f32 acc=f32", "tile m=128 n=128;products 6", true}};
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    const tw_problem p = problem_of(of[i].problem);
    const tw_schedule s = schedule_of(of[i].schedule);
    tw_menu menu;
    bool offered = false;
    assert_int_equal(cuda_tiles_steps(config, &p, &s, &menu, NULL), TW_OK);
    for (size_t j = 0; j < menu.n; j++) offered |= strcmp(menu.item[j].step, "products 3") == 0;
    assert_int_equal(offered, of[i].offered);
    tw_menu_free(&menu);
  }
}

int main(void) {
  config = cuda_config_find("h100-sxm");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(launches_cover_their_problems),  cmocka_unit_test(what_cannot_be_is_refused),
      cmocka_unit_test(every_op_has_a_plainest_kernel), cmocka_unit_test(menus_offer_what_is_legal),
      cmocka_unit_test(every_kernel_compiles),          cmocka_unit_test(short_sums_are_not_offered_three_products),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
