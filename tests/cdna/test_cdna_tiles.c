/* Kernels of tiles for gfx942 and gfx950: emitted from schedules, compiled, executed, and compared with the op, for
 * round and odd shapes. Skipped without clang-22. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/kernel_text.h"
#include "test.h"

#include "base/files.h"
#include "base/json.h"
#include "target/cdna/object/object.h"
#include "target/cdna/tiles.h"
#include "target/cdna/toolchain.h"
#include "tilewright/extend/target.h"

typedef struct sample {
  const char *machine, *problem, *schedule; /* steps with ';' between them */
} sample;

/* `without`: the first such instruction behind the head of a pinned loop is left out; NULL: none. */
static tw_status run_seen(const sample *x, const char *without, tw_inspection *seen, tw_measurement *measured,
                          tw_error *error) {
  const tw_target *t = tw_target_find(x->machine);
  const tw_schedule s = schedule_of(x->schedule);
  tw_problem p;
  tw_case inputs = {0};
  tw_artefact *artefact = NULL;
  char *source = NULL;
  assert_non_null(t);
  tw_status status = tw_problem_parse(NULL, x->problem, &p, error);
  if (status == TW_OK) status = tw_target_supports(t, &p, error);
  if (status == TW_OK) status = tw_target_emit(t, &p, &s, &source, error);
  if (status == TW_OK && without) {
    char *head = strstr(source, "tw_loop%=:"), *cut = head ? strstr(head, without) : NULL;
    assert_non_null(cut);
    memset(cut, ' ', strcspn(cut, "\\"));
  }
  tw_evaluation e = {.trust = true, .inspection = seen};
  if (status == TW_OK) status = t->build(t, &p, source, strlen(source), &e, &artefact, error);
  if (status == TW_OK) status = tw_target_case(t, &p, 7, 2, &inputs, error);
  if (status == TW_OK) status = t->check(t, artefact, &inputs, &e, error);
  if (status == TW_OK) status = t->measure(t, artefact, &inputs, &e, measured, error);
  tw_case_free(&inputs);
  if (artefact) t->release(artefact);
  free(source);
  return status;
}

static tw_status run(const sample *x, tw_measurement *measured, tw_error *error) {
  return run_seen(x, NULL, NULL, measured, error);
}

static void expect_right(size_t n, const sample *all) {
  for (size_t i = 0; i < n; i++) {
    tw_error error = {0};
    tw_measurement m = {0};
    if (run(&all[i], &m, &error) != TW_OK)
      fail_msg("%s, %s, '%s': %s", all[i].machine, all[i].problem, all[i].schedule, error.text);
    assert_true(m.cost > 0);
  }
}
#define EXPECT_RIGHT(ALL) expect_right(sizeof(ALL) / sizeof *(ALL), ALL)

static void gemms_are_right(void **state) {
  static const sample all[] = {
      {"cdna4", "gemm m=128 n=256 k=128 b_transposed=1 c=f32", "tile m=128 n=256 k=64;waves m=2 n=4;stages 2"},
      {"cdna4", "gemm m=130 n=100 k=200 b_transposed=1 bias=row relu=1 scale=0.5",
       "tile m=128 n=64 k=64;mfma 32;stages 3;rasterize window=2 chunk=1"},
      {"cdna4", "gemm m=65 n=67 k=77 a=f16 c=f32", "tile m=64 n=128 k=64;stages 2"},
      {"cdna4", "gemm m=70 n=64 k=136 b_transposed=1 a=i8 c=i8 scale=0.01",
       "tile m=64 n=64 k=128;stages 2;copy registers"},
      {"cdna4", "gemm m=64 n=64 k=64 a_transposed=1 ldc=99 bias=full", ""},
      {"cdna4", "gemm m=66 n=50 k=144 b_transposed=1 a=e5m2 b=e4m3 scales=row",
       "tile m=64 n=64 k=128;mfma 32;stages 2"},
      {"cdna4", "gemm m=140 n=130 k=304 a=e4m3 b=e5m2 b_transposed=1 scales=block",
       "tile m=128 n=128 k=128;waves m=2 n=4;stages 2;pingpong 4"},
      {"cdna4", "gemm m=40 n=64 k=80 a=f32 b=f32 b_transposed=1", "tile m=64 n=64 k=32;stages 2"},
      {"cdna4", "gemm m=104 n=136 k=90", "tile m=128 n=128 k=64;mfma 32;stages 2;no_swizzle"},
      {"cdna4", "gemm m=104 n=72 k=138 a_transposed=1", "tile m=128 n=64 k=64;stages 2;copy registers;split_k 2"},
      {"cdna4", "gemm m=128 n=128 k=192 b_transposed=1", "tile m=128 n=128 k=64;pingpong 4"},
      {"cdna4", "gemm m=70 n=60 k=200 b_transposed=1", "tile m=64 n=64 k=64;waves m=1 n=2;producers 2;stages 3"},
      {"cdna4", "gemm m=40 n=50 k=328 b_transposed=1 bias=row", "tile m=32 n=64 k=64;keep_in_registers 3"},
      {"cdna4", "gemm m=64 n=96 k=160 a=f16", "tile m=128 n=128 k=64;waves m=4 n=2;stages 2;pingpong 2"},
      {"cdna4", "gemm m=128 n=128 k=256 b_transposed=1", "tile m=128 n=128 k=64;stages 2;interleave"},
      {"cdna4", "gemm m=136 n=96 k=328 a_transposed=1", "tile m=128 n=64 k=64;stages 2;register_prefetch;split_k 2"},
      {"cdna4", "gemm m=70 n=52 k=328 bias=row", "tile m=32 n=64 k=64;split_k_waves 4"},
      {"cdna4", "gemm m=17 n=132 k=520 a=f16 c=f32 relu=1",
       "tile m=16 n=128 k=64;split_k_waves 3;keep_in_registers 1;waves m=1 n=2"},
      {"cdna4", "gemm m=40 n=50 k=528 b_transposed=1 a=i8 c=i8 scale=0.01",
       "tile m=32 n=64 k=64;split_k 2;split_k_waves 2;rasterize window=2 chunk=1"},
      {"cdna4", "gemm m=20 n=72 k=200 ldc=75 bias=full", "tile m=16 n=64 k=64;keep_in_registers 2;waves m=1 n=1"},
      {"cdna3", "gemm m=40 n=50 k=328 b_transposed=1 a=f16", "tile m=32 n=32 k=64;split_k_waves 4;mfma 32"},
      {"cdna3", "gemm m=40 n=68 k=200", "tile m=32 n=64 k=32;split_k_waves 2"},
      {"cdna3", "gemm m=130 n=130 k=200 b_transposed=1 bias=row", "tile m=128 n=128 k=32;pingpong 2"},
      {"cdna3", "gemm m=70 n=130 k=304 a=e4m3 b=e5m2 b_transposed=1 scales=block",
       "tile m=128 n=128 k=128;pingpong 2;waves m=4 n=2;split_k 2"},
      {"cdna3", "gemm m=40 n=32 k=256 a=e4m3 b=e4m3 b_transposed=1 c=f32", "tile m=32 n=32 k=64;split_k_waves 4"},
      {"cdna3", "gemm m=40 n=32 k=200 a=i8 c=i8 scale=0.01", "tile m=64 n=64 k=64;stages 2;split_k 2"},
      {"cdna3", "gemm m=100 n=90 k=72 b_transposed=1 a=f16", "tile m=64 n=64 k=64;waves m=1 n=4;no_swizzle"},
      {"cdna3", "gemm m=33 n=50 k=300 a=e4m3 b=e5m2 scales=block a_transposed=1",
       "tile m=64 n=64 k=128;mfma 32;split_k 2"},
      {"cdna3", "gemm m=70 n=130 k=304 a=e4m3fnuz b=e4m3fnuz b_transposed=1 scales=block",
       "tile m=128 n=128 k=128;pingpong 2;waves m=4 n=2;split_k 2"},
      {"cdna3", "gemm m=33 n=50 k=300 a=e4m3fnuz b=e4m3fnuz scales=row a_transposed=1 c=f32",
       "tile m=64 n=64 k=128;mfma 32;stages 2"},
      {"cdna3", "gemm m=64 n=48 k=144 a=e4m3fnuz b=e4m3fnuz b_transposed=1 c=f32",
       "tile m=32 n=32 k=64;keep_in_registers 2"},
      {"cdna3", "gemm m=64 n=48 k=144 a=e5m2 b=e4m3 b_transposed=1 c=f32",
       "tile m=32 n=32 k=64;keep_in_registers 2;split_k 2"},
  };
  EXPECT_RIGHT(all);
}

/* All ways of 6-bit operands to LDS and to registers; both types in any mixture. */
static void operands_of_6_bits_are_right(void **state) {
  static const sample all[] = {
      {"cdna4", "gemm m=70 n=67 k=256 a=e2m3 b_transposed=1 c=f32 bias=row relu=1", ""},
      {"cdna4", "gemm m=130 n=100 k=384 a=e3m2 b=e2m3 b_transposed=1 lda=448", "tile m=128 n=128 k=128;stages 2"},
      {"cdna4", "gemm m=100 n=130 k=384 a=e2m3 b=e3m2 b_transposed=1 ldb=512 c=f32",
       "tile m=128 n=128 k=128;stages 3;mfma 32;split_k 2"},
      {"cdna4", "gemm m=130 n=100 k=256 a=e3m2 b_transposed=1", "tile m=128 n=128 k=128;stages 2;loads x4_b128"},
      {"cdna4", "gemm m=130 n=100 k=256 a=e2m3 b_transposed=1", "tile m=128 n=128 k=128;stages 2;loads x4_b96;mfma 32"},
      {"cdna4", "gemm m=130 n=300 k=384 a=e2m3 b_transposed=1 lda=448",
       "tile m=256 n=256 k=128;pingpong 2;loads x3_b96"},
      {"cdna4", "gemm m=130 n=100 k=256 a=e2m3 b=e3m2 b_transposed=1",
       "tile m=128 n=128 k=128;producers 4;loads x1_b64"},
  };
  EXPECT_RIGHT(all);
}

/* Loops in assembly of our own: right for any shape, none of the machine's rules broken; and what is left out of them
 * is found, so rules are looked at. */
static void pinned_loops_keep_the_rules(void **state) {
  static const sample all[] = {
      /* the first one is broken below */
      {"cdna4", "gemm m=130 n=100 k=328 b_transposed=1 bias=row", "tile m=128 n=128 k=64;stages 3;hand_scheduled"},
      {"cdna4", "gemm m=120 n=136 k=203 a_transposed=1 a=f16", "tile m=128 n=128 k=64;mfma 32;stages 4;hand_scheduled"},
      {"cdna4", "gemm m=120 n=136 k=528 b_transposed=1 a=e4m3 b=e5m2",
       "tile m=128 n=128 k=128;waves m=1 n=4;stages 2;split_k 2;hand_scheduled"},
      {"cdna3", "gemm m=130 n=100 k=400 b_transposed=1 a=e4m3 b=e5m2", "tile m=128 n=128 k=64;mfma 32;hand_scheduled"},
      {"cdna3", "gemm m=130 n=100 k=400 b_transposed=1 a=e4m3fnuz b=e4m3fnuz scales=tensor",
       "tile m=128 n=128 k=64;mfma 32;hand_scheduled"},
      {"cdna4", "gemm m=120 n=136 k=300 a=mxfp4 b=mxfp4 a_transposed=1 b_transposed=1",
       "tile m=128 n=256;hand_scheduled;split_k 2"},
      {"cdna4", "gemm m=130 n=100 k=264 a=bf16 b=mxfp8 quantize=mxfp8 scale_rule=up bias=row",
       "hand_scheduled;mfma 32"},
      {"cdna4", "gemm m=130 n=100 k=384 a=e3m2 b=e2m3 b_transposed=1 lda=448",
       "tile m=128 n=128 k=128;stages 3;split_k 2;hand_scheduled"},
      {"cdna4", "gemm m=130 n=100 k=512 a=e2m3 b=e3m2 b_transposed=1", "tile m=256 n=128 k=128;mfma 32;hand_scheduled"},
      /* scales of blocks: without conversion, with it and an odd number of steps in each part, and with one instruction
       * for a product */
      {"cdna3", "gemm m=130 n=100 k=400 b_transposed=1 a=e4m3fnuz b=e4m3fnuz scales=block bias=row",
       "tile m=128 n=128 k=128;mfma 32;hand_scheduled"},
      {"cdna3", "gemm m=100 n=257 k=720 b_transposed=1 a=e5m2 b=e4m3 scales=block c=f32",
       "tile m=128 n=128 k=128;waves m=1 n=4;hand_scheduled;split_k 2"},
      {"cdna4", "gemm m=300 n=130 k=128 b_transposed=1 a=e4m3 b=e5m2 scales=block",
       "tile m=128 n=128 k=128;mfma 32;copy registers;hand_scheduled"},
      /* clang alone would leave out a wait before its barrier */
      {"cdna3", "gemm m=128 n=128 k=512 b_transposed=1 a=e4m3 b=e4m3 scales=block",
       "tile m=128 n=128 k=128;stages 2;waves m=2 n=4"},
  };
  static const char *const left_out[] = {"s_barrier", "s_waitcnt vmcnt", "s_waitcnt lgkmcnt"};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    tw_inspection seen = {.checks = "all"};
    tw_error error = {0};
    tw_measurement m = {0};
    if (run_seen(&all[i], NULL, &seen, &m, &error) != TW_OK)
      fail_msg("%s, '%s': %s", all[i].problem, all[i].schedule, error.text);
    if (seen.n_findings) fail_msg("%s, '%s': %s", all[i].problem, all[i].schedule, seen.finding->text);
    tw_inspection_free(&seen);
  }
  for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
    tw_inspection seen = {.checks = "all"};
    tw_measurement m = {0};
    run_seen(&all[0], left_out[i], &seen, &m, NULL);
    if (!seen.n_findings) fail_msg("without %s nothing is found", left_out[i]);
    tw_inspection_free(&seen);
  }
}

/* A code is changed in two halves (loop/emit.c), which no turn of the loop may part. */
static void codes_are_changed_whole(void **state) {
  static const char *const schedules[] = {
      "tile m=256 n=256 k=64;mfma 32;hand_scheduled", "tile m=256 n=256 k=64;hand_scheduled",
      "tile m=128 n=128 k=64;mfma 32;hand_scheduled", "tile m=128 n=128 k=64;hand_scheduled"};
  const tw_target *t = tw_target_find("cdna3");
  tw_problem p;
  assert_int_equal(tw_problem_parse(NULL, "gemm m=256 n=256 k=1024 b_transposed=1 a=e4m3 b=e5m2", &p, NULL), TW_OK);
  assert_int_equal(tw_target_supports(t, &p, NULL), TW_OK);
  for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) {
    const tw_schedule s = schedule_of(schedules[i]);
    char *source = NULL, *rest;
    int begun = 0, ended = 0;
    assert_int_equal(tw_target_emit(t, &p, &s, &source, NULL), TW_OK);
    char *line = strtok_r(strstr(source, "tw_loop%=:"), "\n", &rest);
    for (; line && !strstr(line, "s_cbranch_scc0 tw_loop"); line = strtok_r(NULL, "\n", &rest)) {
      begun += strstr(line, "v_or_b32 v") && strstr(line, ", s");
      ended += strstr(line, "v_bfi_b32") != NULL;
    }
    assert_non_null(line);
    assert_true(begun > 0);
    assert_int_equal(begun, ended);
    free(source);
  }
}

/* Quantized by each rule of scales, to the bit. */
/* A short kernel waits for its arguments (arguments_ns of the machine, 0.417 us) unless they are preloaded. */
static void preloaded_arguments_take_no_time(void **state) {
  const char *const problem = "gemm m=4 n=96 k=512 a=bf16 b=mxfp4 quantize=mxfp4 b_transposed=1";
  const sample all[] = {{"cdna4", problem, "register_prefetch 2"},
                        {"cdna4", problem, "register_prefetch 2;preload_arguments"}};
  tw_measurement m[2] = {0};
  tw_error error = {0};
  for (int i = 0; i < 2; i++)
    if (run(&all[i], &m[i], &error) != TW_OK) fail_msg("%s", error.text);
  assert_true(m[0].cost - m[1].cost > 0.3e-6 && m[0].cost - m[1].cost < 0.5e-6);
}

static void block_scaled_gemms_are_right(void **state) {
  static const sample all[] = {
      {"cdna4", "gemm m=4 n=96 k=512 a=bf16 b=mxfp4 quantize=mxfp4 scale_rule=even b_transposed=1", ""},
      {"cdna4", "gemm m=37 n=70 k=712 a=bf16 b=mxfp6 quantize=mxfp6 scale_rule=up c=f32 bias=row relu=1",
       "tile m=32 n=128;waves 4;register_prefetch 3;rasterize window=2 chunk=1"},
      {"cdna4", "gemm m=17 n=70 k=520 a=f16 b=mxfp4 quantize=mxfp8 scale_rule=ceil c=f32", "tile m=16 n=32;split_k 2"},
      {"cdna4", "gemm m=17 n=70 k=520 a=f16 b=mxfp4 quantize=mxfp8 c=bf16 lda=528 ldc=72",
       "tile m=16 n=32;split_k 2;fixed_shape;preload_arguments"},
      {"cdna4", "gemm m=37 n=70 k=712 a=bf16 b=mxfp4 quantize=mxfp4 scale=0.5 bias=full ldc=80",
       "tile m=32 n=64;waves 2;register_prefetch 2;fixed_shape;sums_in_vgprs;nontemporal_stores"},
      /* codes and scales are given, in either order */
      {"cdna4", "gemm m=17 n=96 k=768 a=bf16 b=mxfp4 quantize=mxfp4 packed=1 shuffle=aiter",
       "tile m=16 n=64;waves 2;register_prefetch 2;prioritize_loads"},
      {"cdna4", "gemm m=17 n=70 k=768 a=f16 b=mxfp6 quantize=mxfp6 packed=1 bias=row",
       "tile m=16 n=64;split_k 2;preload_arguments;fixed_shape"},
      {"cdna4", "gemm m=70 n=96 k=512 a=mxfp4 b=mxfp4 packed=1 shuffle=aiter",
       "tile m=64 n=64;waves 2;prioritize_loads"},
      {"cdna4", "gemm m=70 n=90 k=512 a=mxfp8 b=mxfp4 packed=1", "tile m=32 n=64;register_prefetch 2"},
      {"cdna4", "gemm m=70 n=224 k=1280 a=mxfp4 b=mxfp4 packed=1 shuffle=aiter",
       "tile m=64 n=128;waves 4;share_a;register_prefetch 2"},
      {"cdna4", "gemm m=70 n=90 k=768 a=mxfp8 b=mxfp6 packed=1", "tile m=32 n=96;waves 3;share_a"},
      {"cdna4", "gemm m=70 n=90 k=520 a=mxfp6 b=mxfp4", "tile m=32 n=64;waves 2;share_a;split_k 2"},
      {"cdna4", "gemm m=130 n=200 k=512 a=mxfp4 b=mxfp4 packed=1", "tile m=128 n=128;hand_scheduled;split_k 2"},
      {"cdna4", "gemm m=130 n=200 k=512 a=bf16 b=mxfp8 quantize=mxfp8 packed=1", "hand_scheduled;mfma 32"},
      {"cdna4", "gemm m=290 n=416 k=768 a=mxfp4 b=mxfp4 packed=1 shuffle=aiter", "hand_scheduled;preload_arguments"},
      {"cdna4", "gemm m=290 n=160 k=1280 a=mxfp4 b=mxfp4 packed=1 shuffle=aiter",
       "tile m=128 n=128;hand_scheduled;stages 3;split_k 2;fixed_shape"},
      {"cdna4", "gemm m=290 n=416 k=768 a=mxfp4 b=mxfp4 packed=1 shuffle=aiter", "hand_scheduled;mfma 32"},
      {"cdna4", "gemm m=130 n=160 k=512 a=mxfp4 b=mxfp4 packed=1 shuffle=aiter c=bf16 ldc=164",
       "tile m=128 n=256;hand_scheduled;mfma 32"},
      {"cdna4", "gemm m=130 n=288 k=768 a=bf16 b=mxfp4 quantize=mxfp4 packed=1 shuffle=aiter",
       "tile m=128 n=256;hand_scheduled"},
      {"cdna4", "gemm m=200 n=272 k=512 a=mxfp4 b=mxfp4",
       "tile m=128 n=128;hand_scheduled;split_k 2;fixed_shape;preload_arguments"},
      {"cdna4", "gemm m=37 n=64 k=771 a=mxfp6 b=mxfp8 a_transposed=1",
       "tile m=32 n=64;waves 2;register_prefetch 2;split_k 2"},
  };
  EXPECT_RIGHT(all);
}

static void attention_is_right(void **state) {
  static const sample all[] = {
      {"cdna4", "attention b=1 hq=2 hkv=1 sq=48 sk=130 d=64",
       "tile queries=32 keys=64;waves 2;mfma 32;overlap_softmax"},
      {"cdna4", "attention b=2 hq=2 hkv=2 sq=70 sk=100 d=128 causal=1 a=f16",
       "tile queries=32 keys=64;waves 2;stages 3;pingpong"},
      {"cdna3", "attention b=1 hq=2 hkv=1 sq=37 sk=90 d=128 causal=1",
       "tile queries=32 keys=32;waves 2;stages 2;mfma 32"},
      {"cdna4", "attention pass=backward b=1 hq=2 hkv=1 sq=50 sk=70 d=128 causal=1",
       "tile keys=32 queries=32;dq queries=32 keys=32;waves 2;mfma 32;overlap_softmax"},
      {"cdna4", "attention pass=backward b=2 hq=1 hkv=1 sq=33 sk=18 d=64 a=f16", ""},
      {"cdna4", "attention pass=backward b=1 hq=2 hkv=1 sq=70 sk=300 d=128 causal=1", "hand_scheduled"},
      {"cdna4", "attention pass=backward b=2 hq=2 hkv=2 sq=40 sk=30 d=64 a=f16", "hand_scheduled"},
      {"cdna4", "attention pass=backward b=1 hq=1 hkv=1 sq=70 sk=321 d=128 a=f16", "hand_scheduled"},
      {"cdna3", "attention pass=backward b=1 hq=2 hkv=1 sq=20 sk=37 d=64 causal=1",
       "tile keys=16 queries=32;dq queries=16 keys=64;waves 2;stages 2"},
      {"cdna3", "attention b=1 hq=2 hkv=1 sq=150 sk=190 d=64 causal=1 a=f16",
       "tile queries=16 keys=64;waves 4;stages 3;pingpong"},
      /* rows of LDS whose bytes are no power of two, one product along d, many registers */
      {"cdna4", "attention b=1 hq=2 hkv=1 sq=50 sk=70 d=32 causal=1",
       "tile queries=32 keys=64;waves 2;stages 3;pingpong;mfma 32"},
      {"cdna4", "attention b=1 hq=1 hkv=1 sq=33 sk=90 d=96 a=f16",
       "tile queries=32 keys=32;waves 2;mfma 32;overlap_softmax"},
      {"cdna4", "attention b=1 hq=1 hkv=1 sq=33 sk=90 d=192", "tile queries=16 keys=64;waves 4;overlap_softmax"},
      {"cdna3", "attention b=1 hq=1 hkv=1 sq=33 sk=90 d=160 causal=1", "tile queries=16 keys=32;waves 2"},
      {"cdna3", "attention b=1 hq=1 hkv=1 sq=33 sk=70 d=256", "tile queries=32 keys=32;waves 2;mfma 32"},
      {"cdna4", "attention pass=backward b=1 hq=2 hkv=1 sq=33 sk=70 d=32 causal=1",
       "tile keys=16 queries=32;overlap_softmax;waves 2"},
      {"cdna4", "attention pass=backward b=1 hq=1 hkv=1 sq=33 sk=70 d=96 a=f16",
       "tile keys=32 queries=32;dq queries=32 keys=32;mfma 32;waves 2;stages 2"},
      {"cdna3", "attention pass=backward b=1 hq=1 hkv=1 sq=33 sk=50 d=192 causal=1", "tile keys=16 queries=32;waves 2"},
      /* eight waves */
      {"cdna4", "attention pass=backward b=1 hq=2 hkv=1 sq=50 sk=150 d=128 causal=1",
       "tile keys=16 queries=32;dq queries=16 keys=32;overlap_softmax;waves 8"},
      {"cdna4", "attention pass=backward b=1 hq=2 hkv=1 sq=70 sk=300 d=128 causal=1 a=f16", "hand_scheduled;waves 8"},
      {"cdna4", "attention pass=backward b=2 hq=2 hkv=2 sq=130 sk=257 d=128",
       "tile keys=32 queries=32;waves 8;hand_scheduled"},
      {"cdna4", "attention pass=backward b=1 hq=1 hkv=1 sq=40 sk=30 d=64", "waves 8;hand_scheduled"},
      {"cdna4", "attention pass=backward b=1 hq=1 hkv=1 sq=33 sk=50 d=256",
       "tile keys=16 queries=32;dq queries=16 keys=32;overlap_softmax;waves 4"},
  };
  EXPECT_RIGHT(all);
}

static void rows_are_right(void **state) {
  static const sample all[] = {
      {"cdna4", "layernorm rows=5 cols=1032 dropout=0.25 residual=1", "row warps=2"},
      {"cdna3", "layernorm rows=3 cols=2048 norm=rms a=f32", "row warps=4;block rows=1;streaming"},
      {"cdna4", "layernorm rows=3 cols=1032 norm=rms quantize=e4m3 a=bf16", "row warps=2"},
      {"cdna4", "layernorm rows=2 cols=70 inner=84 a=bf16", "row warps=16;block rows=1"},
      {"cdna3", "layernorm rows=2 cols=33 inner=75 norm=l2 affine=0 a=f16", "row warps=4;streaming"},
      {"cdna4", "softmax rows=7 cols=520 a=f16", ""},
      {"cdna3", "softmax rows=4 cols=4096", "row warps=4;block rows=2"},
      {"cdna4", "rotary b=2 h=4 s=5 d=64", "heads 2;threads 128"},
      {"cdna3", "rotary b=1 h=3 s=7 d=128 interleaved=1 a=f32", ""},
      {"cdna4", "gate rows=5 cols=264 act=gelu_tanh pass=backward", "chunks 2;threads 64"},
      {"cdna3", "gate rows=3 cols=100 act=gelu_erf pass=backward a=f32", "streaming"},
      {"cdna3", "softmax rows=3 cols=1032 log=1 a=bf16", "row warps=2"},
      {"cdna3", "elementwise rows=3 cols=40 f=relu a=f32", ""},
      {"cdna4", "elementwise rows=4 cols=48 f=leaky_relu alpha=0.01 a=bf16", "chunks 2;threads 64"},
      {"cdna3", "elementwise rows=5 cols=56 f=elu alpha=0.5 a=f16", "streaming"},
      {"cdna4", "elementwise rows=6 cols=64 f=selu a=f32", ""},
      {"cdna3", "elementwise rows=3 cols=72 f=sigmoid a=bf16", "chunks 2;threads 64"},
      {"cdna4", "elementwise rows=4 cols=80 f=hard_sigmoid a=f16", "streaming"},
      {"cdna3", "elementwise rows=5 cols=88 f=tanh a=f32", ""},
      {"cdna4", "elementwise rows=6 cols=96 f=hard_tanh alpha=2 beta=-1 a=bf16", "chunks 2;threads 64"},
      {"cdna3", "elementwise rows=3 cols=104 f=silu a=f16", "streaming"},
      {"cdna4", "elementwise rows=4 cols=112 f=gelu_erf a=f32", ""},
      {"cdna3", "elementwise rows=5 cols=120 f=gelu_tanh a=bf16", "chunks 2;threads 64"},
      {"cdna4", "elementwise rows=6 cols=128 f=softplus alpha=2 a=f16", "streaming"},
      {"cdna3", "elementwise rows=3 cols=136 f=softsign a=f32", ""},
      {"cdna4", "elementwise rows=4 cols=144 f=scale alpha=-3.5 a=bf16", "chunks 2;threads 64"},
      {"cdna4", "elementwise rows=5 cols=104 f=tanh a=f32", ""},
      {"cdna4", "elementwise rows=5 cols=104 f=selu a=f32", ""},
      {"cdna4", "elementwise rows=5 cols=104 f=softplus a=f32", ""},
      {"cdna4", "elementwise rows=5 cols=104 f=gelu_tanh a=f32", ""},
      {"cdna4", "elementwise rows=5 cols=104 f=sigmoid a=f32", ""},
  };
  EXPECT_RIGHT(all);
}

/* Checks the kernel of a sampled problem. `scale`: of the last kernel, which writes dQ. */
static tw_status check_parts(const char *scale, char *coverage, tw_error *error) {
  const tw_target *t = tw_target_find("cdna4");
  const tw_schedule s = schedule_of("hand_scheduled");
  tw_problem p;
  tw_case inputs = {0};
  tw_artefact *artefact = NULL;
  tw_text changed = {0};
  char *source = NULL;
  assert_int_equal(tw_problem_parse(NULL, "attention pass=backward b=16 hq=2 hkv=1 sq=256 sk=768 d=128", &p, error),
                   TW_OK);
  assert_int_equal(tw_target_supports(t, &p, error), TW_OK);
  assert_int_equal(tw_target_emit(t, &p, &s, &source, error), TW_OK);
  const char *last = strstr(strstr(source, "finish"), "f32(scale)");
  assert_non_null(last);
  tw_text_add(&changed, "%.*s%s%s", (int)(last - source), source, scale, last + strlen("f32(scale)"));
  tw_evaluation e = {.trust = true};
  tw_status status = t->build(t, &p, changed.data, changed.length, &e, &artefact, error);
  if (status == TW_OK) status = tw_target_case(t, &p, 7, 2, &inputs, error);
  if (status == TW_OK) status = t->check(t, artefact, &inputs, &e, error);
  snprintf(coverage, sizeof e.coverage, "%s", e.coverage);
  tw_case_free(&inputs);
  if (artefact) t->release(artefact);
  tw_text_free(&changed);
  free(source);
  return status;
}

static void parts_of_a_launch_are_sampled(void **state) {
  char coverage[sizeof((tw_evaluation *)0)->coverage] = "";
  tw_error error = {0};
  if (check_parts("f32(scale)", coverage, &error) != TW_OK) fail_msg("%s", error.text);
  assert_non_null(strstr(coverage, "of 16 parts"));
  assert_int_equal(check_parts("f32(scale + scale)", coverage, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "dQ"));
}

/* launch.json names what the source's header says. */
static void launch_is_described(const char *text) {
  json_t *all = json_loads(text, 0, NULL);
  const char *first = NULL, *second = NULL, *operand = NULL;
  int grid, threads, lds, workspace, k, offset;
  assert_non_null(all);
  assert_int_equal(json_unpack(all, "{s:i, s:[{s:s, s:[i,*], s:[i,*], s:i, s:[{s:s}, *]}, {s:s, s:[{s:i}, *]}]}",
                               "workspace_bytes", &workspace, "kernels", "name", &first, "workgroups", &grid,
                               "work_items", &threads, "lds_bytes", &lds, "arguments", "operand", &operand, "name",
                               &second, "arguments", "workspace", &offset),
                   0);
  assert_string_equal(first, "gemm");
  assert_string_equal(second, "add_parts");
  assert_string_equal(operand, "A");
  assert_int_equal(workspace, 2 * 100 * 60 * 4);
  assert_int_equal(offset, 0);
  assert_true(grid == 4 && threads == 256 && lds == 16384);
  const json_t *arguments = json_object_get(json_array_get(json_object_get(all, "kernels"), 0), "arguments");
  assert_int_equal(json_unpack(json_array_get(arguments, 5), "{s:i}", "i32", &k), 0);
  assert_int_equal(k, 200);
  json_decref(all);
}

/* kernel.co is a code object for the machine, with both kernels. */
static void object_is_loaded(const char *data, size_t size) {
  cdna_object object;
  const cdna_kernel *kernel;
  tw_error error = {0};
  if (cdna_object_read(data, size, "kernel.co", &object, &error) != TW_OK) fail_msg("%s", error.text);
  assert_int_equal(object.arch, CDNA4);
  assert_int_equal(cdna_object_kernel(&object, "gemm", &kernel, &error), TW_OK);
  assert_int_equal(cdna_object_kernel(&object, "add_parts", &kernel, &error), TW_OK);
  cdna_object_free(&object);
}

/* What goes to a machine with the GPU: device code that compiles by the command of its README, a program, the
 * launch. */
static void exported_files_are_complete(void **state) {
  const tw_target *t = tw_target_find("cdna4");
  const tw_schedule s = schedule_of("tile m=64 n=64 k=64;split_k 2");
  char *source = NULL, *directory = NULL, command[600];
  tw_problem p;
  tw_files files;
  tw_error error = {0};
  assert_int_equal(tw_problem_parse(NULL, "gemm m=100 n=60 k=200", &p, &error), TW_OK);
  assert_int_equal(tw_target_supports(t, &p, &error), TW_OK);
  assert_int_equal(tw_target_emit(t, &p, &s, &source, &error), TW_OK);
  assert_int_equal(t->exporter->sources(t, &p, &s, source, &files, &error), TW_OK);
  assert_int_equal(files.n, 6);
  assert_string_equal(files.file[0].name, "kernel.hip");
  assert_non_null(strstr(files.file[1].text, "hipModuleLaunchKernel(f, 4, 1, 1, 256, 1, 1, 16384"));
  assert_non_null(strstr(files.file[1].text, "hipModuleGetFunction(&f, module, \"add_parts\")"));
  assert_non_null(strstr(files.file[2].text, "| `gemm` | 4 x 1 x 1 | 256 | 16384 |"));
  launch_is_described(files.file[3].text);
  object_is_loaded(files.file[5].text, files.file[5].size);
  assert_int_equal(tw_directory_temporary(&directory, &error), TW_OK);
  snprintf(command, sizeof command, "%s/kernel.hip", directory);
  assert_int_equal(tw_file_write(command, files.file[0].text, strlen(files.file[0].text), &error), TW_OK);
  snprintf(command, sizeof command,
           "cd %s && clang-22 -x c++ -std=gnu++17 --target=amdgcn-amd-amdhsa -mcpu=gfx950 -O1 -nogpulib -ffreestanding "
           "-nostdinc kernel.hip -o kernel.co",
           directory);
  assert_int_equal(system(command), 0);
  tw_directory_remove(directory);
  tw_files_free(&files);
  free(directory);
  free(source);
}

/* A schedule that the machine or the problem cannot have says so. */
static void what_is_not_possible_is_refused(void **state) {
  static const struct {
    sample x;
    const char *says;
  } all[] = {
      {{"cdna4", "gemm m=512 n=512 k=512 b_transposed=1", "tile m=256 n=256 k=128;stages 2"}, "bytes of shared memory"},
      {{"cdna4", "gemm m=512 n=512 k=512 b_transposed=1", "tile m=512 n=512 k=16"}, "expected a multiple of 32"},
      {{"cdna4", "gemm m=512 n=512 k=512 b_transposed=1", "tile m=256 n=512 k=32;waves m=1 n=2"}, "registers"},
      {{"cdna3", "gemm m=512 n=512 k=512 b_transposed=1", "tile m=100 n=64"}, "does not divide into"},
      {{"cdna4", "gemm m=512 n=512 k=512 a=bf16 b=f16", ""}, "both f32, bf16"},
      {{"cdna4", "gemm m=64 n=64 k=256 a=e4m3 b=e4m3 b_transposed=1 scales=block",
        "tile m=128 n=128 k=128;copy registers;hand_scheduled"},
       "two or more matrix instructions along k (found 1)"},
      {{"cdna4", "gemm m=64 n=64 k=256 a=e4m3 b=e4m3 scales=block", "tile m=64 n=192 k=128;waves m=1 n=2"},
       "share a scale"},
      {{"cdna4", "attention pass=backward b=1 hq=1 hkv=1 sq=64 sk=64 d=128", "tile keys=128 queries=64"}, "registers"},
      {{"cdna3", "attention b=1 hq=1 hkv=1 sq=64 sk=64 d=128", "tile queries=32 keys=64;overlap_softmax"},
       "direct-to-LDS loads"},
      {{"cdna3", "attention pass=backward b=1 hq=1 hkv=1 sq=64 sk=64 d=64", "hand_scheduled"}, "requires gfx950"},
      {{"cdna4", "attention pass=backward b=1 hq=1 hkv=1 sq=64 sk=64 d=64", "hand_scheduled;overlap_softmax"},
       "and excludes overlap_softmax"},
      {{"cdna4", "attention pass=backward b=1 hq=1 hkv=1 sq=64 sk=64 d=64", "hand_scheduled;waves 8"},
       "requires d=128 (found d=64)"},
      {{"cdna4", "attention pass=backward b=1 hq=1 hkv=1 sq=64 sk=64 d=128", "hand_scheduled;waves 2"},
       "requires waves 4 or 8"},
      {{"cdna4", "attention pass=backward b=1 hq=1 hkv=1 sq=64 sk=64 d=128",
        "tile keys=64 queries=32;hand_scheduled;waves 8"},
       "hand_scheduled with waves 8 requires tile keys=32 queries=32 (found keys=64 queries=32)"},
      {{"cdna4", "attention pass=backward b=1 hq=1 hkv=1 sq=64 sk=64 d=128", "tile keys=16 queries=64;hand_scheduled"},
       "hand_scheduled with waves 4 requires tile keys=64 queries=32 (found keys=16 queries=64)"},
      {{"cdna4", "attention b=1 hq=1 hkv=1 sq=64 sk=64 d=80", ""}, "d a multiple of 32 up to 256"},
      {{"cdna4", "attention pass=backward b=1 hq=1 hkv=1 sq=64 sk=64 d=256", "hand_scheduled"},
       "supports d=64 and 128"},
      {{"cdna4", "gemm m=512 n=512 k=512", "mfma 24"}, "16 or 32"},
      {{"cdna4", "gemm m=512 n=512 k=512", "tile m=128 n=128 k=64;pingpong 4;waves m=2 n=2"},
       "pingpong requires 8 waves"},
      {{"cdna3", "gemm m=512 n=512 k=512 b_transposed=1", "tile m=128 n=128 k=32;pingpong 4"}, "write pingpong 2"},
      {{"cdna3", "gemm m=512 n=512 k=512 b_transposed=1", "tile m=64 n=64 k=64;stages 2;register_prefetch"},
       "direct-to-LDS loads"},
      {{"cdna3", "gemm m=16 n=64 k=512 a=bf16 b=mxfp4 quantize=mxfp4", ""}, "requires gfx950"},
      {{"cdna3", "gemm m=512 n=512 k=512 a=f32 b=f32 b_transposed=1", "tile m=128 n=128 k=16;hand_scheduled"},
       "expected bf16"},
      {{"cdna4", "gemm m=512 n=512 k=512 a=i8", "tile m=128 n=128 k=128;stages 2;hand_scheduled"},
       "require b_transposed=1"},
      {{"cdna4", "gemm m=512 n=512 k=512 b_transposed=1", "tile m=64 n=64 k=64;stages 2;hand_scheduled"},
       "too few to hide"},
      {{"cdna4", "gemm m=512 n=512 k=512 b_transposed=1",
        "tile m=128 n=128 k=64;stages 2;hand_scheduled;register_prefetch"},
       "cannot be combined with interleave"},
      {{"cdna4", "gemm m=512 n=512 k=512", "tile m=64 n=64 k=64;keep_in_registers 4"}, "requires b_transposed=1"},
      {{"cdna4", "gemm m=512 n=512 k=512 b_transposed=1", "tile m=64 n=64 k=64;keep_in_registers 9"},
       "exceeds the steps"},
      {{"cdna4", "gemm m=512 n=512 k=192", "tile m=64 n=64 k=64;split_k_waves 4"}, "4 parts of k=192 exceed"},
      {{"cdna4", "gemm m=512 n=512 k=512", "tile m=64 n=64 k=64;split_k_waves 4;stages 2;interleave"},
       "cannot be combined with another loop order"},
      {{"cdna3", "gemm m=512 n=512 k=512 b_transposed=1", "tile m=64 n=64 k=64;producers 4"}, "direct-to-LDS loads"},
      {{"cdna3", "gemm m=64 n=64 k=128 a=e2m3 b_transposed=1", ""}, "on gfx950 e2m3 and e3m2"},
      {{"cdna4", "gemm m=64 n=64 k=128 a=e2m3", ""}, "requires rows along k"},
      {{"cdna4", "gemm m=64 n=64 k=192 a=e2m3 b_transposed=1", ""}, "k a multiple of 128"},
      {{"cdna4", "gemm m=64 n=64 k=128 a=e2m3 b_transposed=1", "tile m=128 n=128 k=128;pingpong 4"}, "and pingpong 4"},
      {{"cdna4", "gemm m=64 n=64 k=512 a=e2m3 b_transposed=1", "tile m=256 n=256 k=128;loads x3_b96;hand_scheduled"},
       "supports loads x4_b64 alone"},
      {{"cdna4", "gemm m=64 n=64 k=512", "tile m=128 n=128 k=64;loads x3_b96"}, "requires a and b of e2m3 or e3m2"},
      {{"cdna4", "gemm m=16 n=64 k=512 a=bf16 b=mxfp6", ""}, "quantize="},
      {{"cdna4", "gemm m=16 n=64 k=480 a=mxfp4 b=mxfp4 packed=1", ""}, "multiple of 256 (found n=64 k=480)"},
      {{"cdna4", "gemm m=16 n=48 k=512 a=mxfp4 b=mxfp4 packed=1 shuffle=aiter", ""}, "and n of 32"},
      {{"cdna4", "gemm m=16 n=96 k=512 a=mxfp4 b=mxfp4 packed=1 shuffle=aiter", "hand_scheduled;waves 2"},
       "requires waves 4"},
      {{"cdna4", "gemm m=16 n=96 k=512 a=mxfp4 b=mxfp4", "split_k 2;nontemporal_stores"}, "excludes split_k"},
      {{"cdna3", "gemm m=16 n=64 k=512 a=mxfp4 b=mxfp4 packed=1", ""}, "requires gfx950"},
      {{"cdna4", "gemm m=32 n=64 k=512 a=mxfp4 b=mxfp4 packed=1", "share_a"}, "at least 2 waves (found 1 waves)"},
      {{"cuda-h200", "gemm m=16 n=64 k=512 a=bf16 b=mxfp4 packed=1 shuffle=aiter", ""},
       "shuffle=aiter is for AMD GPUs"},
      {{"cuda-h200", "gemm m=8 n=64 k=264 group=264 a=bf16 b=i4 packed=1", ""}, "unsupported k=264"},
      {{"cdna4", "gemm m=512 n=512 k=512 a=mxfp6 b=mxfp4", "tile m=128 n=128;hand_scheduled"},
       "both operands as mxfp4"},
      {{"cdna4", "gemm m=512 n=512 k=512 a=mxfp4 b=mxfp4", "tile m=64 n=128;hand_scheduled"}, "multiples of 128 rows"},
      {{"cdna4", "gemm m=16 n=64 k=512 a=bf16 b=mxfp4 quantize=mxfp4", "register_prefetch 3"},
       "use a smaller register_prefetch or split_k"},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    tw_error error = {0};
    tw_measurement m;
    assert_int_not_equal(run(&all[i].x, &m, &error), TW_OK);
    if (!strstr(error.text, all[i].says)) fail_msg("'%s' says: %s", all[i].x.schedule, error.text);
  }
}

/* The menu offers what then works: each step alone makes a kernel, and the model has a price for it. */
static void menus_are_legal(void **state) {
  static const char *const machines[] = {"cdna3", "cdna4"};
  for (size_t i = 0; i < 2; i++) {
    const tw_target *t = tw_target_find(machines[i]);
    tw_problem p;
    tw_menu menu = {0};
    const tw_schedule none = {0};
    assert_int_equal(tw_problem_parse(NULL, "gemm m=512 n=512 k=512 b_transposed=1", &p, NULL), TW_OK);
    assert_int_equal(tw_target_supports(t, &p, NULL), TW_OK);
    assert_int_equal(tw_target_steps(t, &p, &none, &menu, NULL), TW_OK);
    assert_true(menu.n > 20);
    for (size_t j = 0; j < menu.n; j++) {
      tw_schedule s = {0};
      tw_error error = {0};
      char *source = NULL;
      double cost = 0;
      assert_int_equal(tw_schedule_add(&s, menu.item[j].step, &error), TW_OK);
      if (tw_target_emit(t, &p, &s, &source, &error) != TW_OK) fail_msg("%s: %s", menu.item[j].step, error.text);
      assert_int_equal(tw_target_predict(t, &p, &s, &cost, &error), TW_OK);
      assert_true(cost > 0 && cost < 1);
      free(source);
    }
    tw_menu_free(&menu);
  }
}

/* A cost model knows each limit of the bound: no schedule is predicted below it, and small problems take microseconds. */
static void predictions_respect_the_bound(void **state) {
  static const char *const problem[] = {"gemm m=4096 n=4096 k=64 a=i8 b=i8",
                                        "gemm m=1 n=4096 k=4096 a=bf16 b=bf16",
                                        "softmax rows=8192 cols=4096 a=bf16",
                                        "gate rows=8192 cols=14336 a=bf16",
                                        "attention b=1 hq=32 hkv=32 sq=64 sk=8192 d=128 a=bf16",
                                        "rotary b=1 h=2 s=32 d=64",
                                        "layernorm rows=16 cols=256 a=f32"};
  enum { LARGE = 5, ALL = sizeof problem / sizeof *problem };
  const tw_target *t = tw_target_find("cdna4");
  for (size_t i = 0; i < ALL; i++) {
    tw_problem p;
    tw_schedule baseline;
    tw_bound bound;
    tw_menu menu = {0};
    double cost = 0;
    tw_error error = {0};
    assert_int_equal(tw_problem_parse(t, problem[i], &p, &error), TW_OK);
    assert_int_equal(tw_target_supports(t, &p, &error), TW_OK);
    assert_int_equal(tw_target_baseline(t, &p, &baseline, &error), TW_OK);
    assert_int_equal(tw_target_bound(t, &p, &bound, &error), TW_OK);
    assert_int_equal(tw_target_predict(t, &p, &baseline, &cost, &error), TW_OK);
    assert_int_equal(tw_target_steps(t, &p, &baseline, &menu, &error), TW_OK);
    if (cost < bound.cost * (1 - 1e-9)) fail_msg("%s: %g is predicted, the bound is %g", problem[i], cost, bound.cost);
    if (i >= LARGE && cost > 1e-5) fail_msg("%s: %g is predicted", problem[i], cost);
    for (size_t k = 0; k < menu.n; k++)
      if (menu.item[k].predicted_cost > 0 && menu.item[k].predicted_cost < bound.cost * (1 - 1e-9))
        fail_msg("%s: %s: %g is predicted, the bound is %g", problem[i], menu.item[k].step, menu.item[k].predicted_cost,
                 bound.cost);
    tw_menu_free(&menu);
  }
}

int main(void) {
  tw_error error;
  if (cdna_toolchain_find(&error) != TW_OK) {
    fprintf(stderr, "skipped: %s\n", error.text);
    return 77;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(gemms_are_right),
                                     cmocka_unit_test(operands_of_6_bits_are_right),
                                     cmocka_unit_test(pinned_loops_keep_the_rules),
                                     cmocka_unit_test(codes_are_changed_whole),
                                     cmocka_unit_test(rows_are_right),
                                     cmocka_unit_test(attention_is_right),
                                     cmocka_unit_test(parts_of_a_launch_are_sampled),
                                     cmocka_unit_test(block_scaled_gemms_are_right),
                                     cmocka_unit_test(preloaded_arguments_take_no_time),
                                     cmocka_unit_test(exported_files_are_complete),
                                     cmocka_unit_test(what_is_not_possible_is_refused),
                                     cmocka_unit_test(menus_are_legal),
                                     cmocka_unit_test(predictions_respect_the_bound)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
