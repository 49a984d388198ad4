/* test_op_inputs.c - inputs that tell: a result made of other operands, or with another key, is wrong.
 *
 * Inputs can be blind: a symmetric matrix hides a transposition, operands of one sign hide a lost sign, rows that
 * repeat hide a wrong row. For every op, a list of problems; for each operand, a list of changes; and the reference's
 * result for the changed operand must be rejected. The second test does the same with keys. */
#include "op_fixture.h"

#include <math.h>

#include "op/operand.h"
#include "tilewright/extend/target.h"

enum { SEEDS = 4 };

static const char *const problems[] = {
    "gemm m=16 n=16 k=16 a=f32 b=f32 c=f32 acc=f32",
    "gemm m=16 n=16 k=16 a=f32 b=f32 c=f32 acc=f32 bias=full relu=1 scale=0.5",
    "gemm m=8 n=24 k=40 a=bf16 b=bf16 c=bf16 acc=f32 bias=row gelu=erf a_transposed=1",
    "gemm m=16 n=16 k=16 a=f16 b=f16 c=f32 acc=f32 b_transposed=1 lda=20 ldb=24 ldc=18",
    "gemm m=16 n=16 k=16 a=bf16 b=bf16 c=bf16 acc=f32 b_transposed=1 glu=silu",
    "gemm m=16 n=16 k=16 a=bf16 b=bf16 c=bf16 acc=f32 rotary=halves head=8 heads=2 positions=8",
    "attention b=2 hq=4 hkv=2 sq=8 sk=9 d=16 causal=1 pitch=130 a=f32",
    "gemm m=16 n=16 k=16 a=bf16 b=bf16 c=bf16 acc=f32 bias=full d=c",
    "gemm m=16 n=16 k=16 a=i8 b=i8 c=i8 acc=i32 bias=row scale=0.01",
    "gemm m=16 n=16 k=16 a=i8 b=i8 c=i32 acc=i32 bias=full",
    "gemm m=16 n=16 k=16 a=i16 b=i16 c=i32 acc=i32",
    "gemm m=16 n=16 k=16 a=i16 b=i16 c=i16 acc=i32 scale=0.001953125",
    "gemm m=16 n=16 k=64 a=i8 b=i4 c=i32 acc=i32",
    "gemm m=16 n=16 k=16 a=e4m3 b=e4m3 c=bf16 acc=f32",
    "gemm m=256 n=256 k=256 a=e4m3 b=e4m3 c=bf16 acc=f32 scales=block",
    "gemm m=16 n=16 k=16 a=e5m2 b=e4m3 c=f32 acc=f32 scales=row",
    "gemm m=16 n=16 k=16 a=e4m3 b=e4m3 c=f32 acc=f32 scales=tensor",
    "gemm m=16 n=16 k=16 a=e4m3fnuz b=e4m3fnuz c=f32 acc=f32",
    "gemm m=256 n=256 k=256 a=e4m3fnuz b=e4m3fnuz c=bf16 acc=f32 scales=block",
    "gemm m=16 n=16 k=32 a=e2m3 b=e3m2 c=bf16 acc=f32 b_transposed=1",
    "gemm m=64 n=64 k=64 a=mxfp4 b=mxfp4 c=f32 acc=f32",
    "gemm m=64 n=64 k=64 a=bf16 b=mxfp8 c=f32 acc=f32 quantize=mxfp8 scale_rule=up",
    "gemm m=4 n=64 k=64 a=f32 b=i4 c=f32 acc=f32 group=32 packed=1",
    "gemm m=32 n=32 k=256 a=mxfp4 b=mxfp4 c=f32 acc=f32 packed=1",
    "gemm m=16 n=256 k=256 a=bf16 b=mxfp4 c=bf16 acc=f32 quantize=mxfp4 packed=1 shuffle=aiter",
    "gemm m=256 n=256 k=256 a=mxfp4 b=mxfp4 c=f32 acc=f32 packed=1 shuffle=aiter",
    "gemm m=16 n=256 k=256 a=bf16 b=i4 c=bf16 acc=f32 packed=1 shuffle=mma",
    "conv2d n=2 h=6 w=6 c=4 k=4 r=3 s=3 pad=1 a=f32 b=f32 out=f32 acc=f32 bias=row",
    "conv2d n=4 h=4 w=4 c=4 k=4 r=2 s=2 a=bf16 b=bf16 out=bf16 acc=f32 weight_layout=krsc",
    "conv2d n=2 h=7 w=7 c=8 k=8 r=3 s=3 pad=1 stride=2 a=i8 b=i8 out=i8 acc=i32 bias=row relu=1 scale=0.01",
    "conv2d n=2 h=9 w=9 c=4 k=4 r=3 s=3 pad=1 pool=3 pool_stride=2 pool_pad=1 a=i8 b=i8 out=i8 acc=i32 scale=0.02",
    "conv2d n=3 h=5 w=5 c=5 k=6 r=3 s=3 pad=1 a=f32 b=f32 out=f32 acc=f32 image_layout=nchw weight_layout=kcrs",
    "conv3d n=2 d=4 h=4 w=4 c=4 k=4 t=2 r=2 s=2 a=f32 b=f32 out=f32 acc=f32 bias=row",
    "conv3d n=2 d=4 h=4 w=4 c=3 k=3 t=3 r=3 s=3 pad=1 a=f16 b=f16 out=f16 acc=f32 image_layout=ncdhw "
    "weight_layout=kctrs",
    "mpc_forward horizon=8 states=6 inputs=6 type=f32",
    "mpc_backward horizon=8 states=6 inputs=6 type=f32",
    "mpc_backward horizon=4 states=4 inputs=1 type=f32",
    "attention b=2 hq=4 hkv=4 sq=16 sk=16 d=16 a=f32",
    "attention b=2 hq=4 hkv=2 sq=16 sk=32 d=16 a=bf16 causal=1",
    "attention b=2 hq=2 hkv=2 sq=16 sk=16 d=16 a=bf16 pass=backward",
    "attention b=2 hq=4 hkv=2 sq=16 sk=16 d=8 a=f32 pass=backward causal=1",
    "softmax rows=16 cols=16 a=f32",
    "softmax rows=8 cols=100 a=bf16",
    "gate rows=16 cols=8 a=f32",
    "gate rows=16 cols=8 act=gelu_erf pass=backward a=bf16",
    "elementwise rows=16 cols=16 f=gelu_erf a=f32",
    "elementwise rows=16 cols=8 f=leaky_relu alpha=0.1 a=bf16",
    "elementwise rows=16 cols=16 f=divide a=f32",
    "softmax rows=8 cols=100 log=1 a=bf16",
    "cumsum rows=16 cols=30 reverse=1 exclusive=1 a=f32",
    "pool n=3 h=14 w=15 r=3 s=3 stride=2 pad=1 a=f32",
    "pool n=6 w=40 s=5 pad=2 f=mean a=f32",
    "reduce outer=4 n=32 inner=8 a=f32",
    "reduce outer=8 n=64 f=mean of=smooth_l1 a=bf16",
    "reduce outer=4 n=16 inner=16 of=hinge shared=1 a=f32",
    "reduce outer=4 n=16 inner=16 f=argmax a=f16",
    "reduce outer=8 n=16 inner=4 f=min a=bf16",
    "layernorm rows=16 cols=16 a=f32",
    "layernorm rows=16 cols=64 groups=4 span=16 a=f32",
    "layernorm rows=16 cols=64 affine=0 a=bf16",
    "layernorm rows=4 cols=16 inner=5 a=f32",
    "layernorm rows=3 cols=24 inner=8 norm=rms affine=0 a=bf16",
    "layernorm rows=16 cols=32 norm=abs affine=0 a=f32",
    "layernorm rows=16 cols=32 norm=l2 affine=0 a=bf16",
    "layernorm rows=16 cols=64 a=bf16 residual=1 dropout=0.25",
    "layernorm rows=16 cols=32 a=f16 norm=rms residual=1",
    "rotary b=4 h=4 s=16 d=32 a=f32",
    "rotary b=2 h=8 s=16 d=16 a=bf16 interleaved=1",
    "rotary b=2 h=4 s=16 d=16 a=f32 transposed=1",
    "rotary b=2 h=4 s=16 d=16 a=f32 ldx=96",
    "cumsum rows=16 cols=16 a=f32",
    "cumsum rows=8 cols=100 a=bf16",
    "cumsum rows=16 cols=16 masked=1 a=f32",
    "transpose b=4 rows=16 cols=16 a=f32",
    "transpose rows=8 cols=24 a=bf16",
    "pool n=3 h=16 w=16 r=3 s=3 a=f32",
    "pool h=12 w=8 r=2 s=2 a=bf16",
    "depthwise n=4 c=4 w=16 taps=3 pad=1 a=f32",
    "depthwise n=2 c=8 w=16 taps=4 a=bf16",
    "mamba b=2 c=8 s=16 n=8 a=f32",
    "mamba c=8 s=32 n=4 a=bf16",
};

/* ---- changes of an operand ---- */

typedef enum change {
  ZERO,     /* every element is 0 */
  CONSTANT, /* ... is the first one */
  NEGATED,
  POSITIVE, /* signs are lost */
  HALVED,
  /* along dimension `d` */
  REVERSED,
  SWAPPED,  /* neighbours change places */
  REPEATED, /* every index is the first one */
  SHIFTED,
  SHORTER,   /* the last index is 0 */
  TRANSPOSED /* dimensions d and e, of the same length, change places */
} change;

static const char *const change_names[] = {"zero",    "constant", "negated", "positive", "halved",    "reversed",
                                           "swapped", "repeated", "shifted", "shorter",  "transposed"};

static int64_t element_at(const tw_operand *o, const int64_t index[]) {
  int64_t at = 0;
  for (int d = 0; d < o->rank; d++) at += index[d] * o->stride[d];
  return at;
}

/* The value that takes the place of the element at `index`. */
static double changed_value(const tw_operand *o, const void *from, change c, int d, int e, const int64_t index[]) {
  int64_t i[TW_RANK_MAX];
  memcpy(i, index, sizeof i);
  const int64_t length = o->dims[d];
  switch (c) {
  case ZERO: return 0;
  case CONSTANT: memset(i, 0, sizeof i); break;
  case NEGATED: return fmin(-tw_element(o->type, from, element_at(o, i)), o->type == TW_I8 ? 127 : INFINITY);
  case POSITIVE: return fmin(fabs(tw_element(o->type, from, element_at(o, i))), o->type == TW_I8 ? 127 : INFINITY);
  case HALVED: return tw_element(o->type, from, element_at(o, i)) / 2;
  case REVERSED: i[d] = length - 1 - i[d]; break;
  case SWAPPED: i[d] = (i[d] ^ 1) < length ? i[d] ^ 1 : i[d]; break;
  case REPEATED: i[d] = 0; break;
  case SHIFTED: i[d] = (i[d] + 1) % length; break;
  case SHORTER:
    if (i[d] == length - 1) return 0;
    break;
  case TRANSPOSED:
    i[d] = index[e];
    i[e] = index[d];
    break;
  }
  return tw_element(o->type, from, element_at(o, i));
}

/* *different: some element has another value. */
static void change_operand(const tw_operand *o, const void *from, change c, int d, int e, void *to, bool *different) {
  int64_t index[TW_RANK_MAX] = {0};
  *different = false;
  for (;;) {
    const int64_t at = element_at(o, index);
    tw_set_element(o->type, to, at, changed_value(o, from, c, d, e, index));
    if (tw_element(o->type, to, at) != tw_element(o->type, from, at)) *different = true;
    int k = o->rank - 1;
    while (k >= 0 && ++index[k] == o->dims[k]) index[k--] = 0;
    if (k < 0) return;
  }
}

/* ---- judging ---- */

/* Does the op accept the outputs of `made`, a problem like the case's, for the case's inputs? */
static bool is_accepted(const tw_case *c, const tw_problem *made, void *const inputs[]) {
  void *buffer[TW_OPERANDS_MAX], *actual[TW_OPERANDS_MAX];
  tw_error error = {0};
  for (size_t i = 0; i < c->n_operands; i++) {
    const tw_operand *o = &c->operand[i];
    buffer[i] = inputs[i];
    actual[i] = c->buffer[i];
    if (!o->is_output) continue;
    buffer[i] = actual[i] = malloc(o->bytes);
    assert_non_null(buffer[i]);
    memset(buffer[i], TW_POISON, o->bytes);
    memcpy((char *)buffer[i] + o->given_at, (char *)inputs[i] + o->given_at, o->given_bytes);
  }
  made->op->reference(made, buffer, 1);
  for (size_t i = 0; i < c->n_operands; i++)
    if (c->operand[i].given_bytes)
      memcpy((char *)actual[i] + c->operand[i].given_at, (char *)c->buffer[i] + c->operand[i].given_at,
             c->operand[i].given_bytes);
  const tw_status status = c->problem->op->compare(c->problem, c->buffer, actual, &error);
  for (size_t i = 0; i < c->n_operands; i++)
    if (c->operand[i].is_output) free(actual[i]);
  if (status != TW_OK && status != TW_FAILED) fail_msg("%s", error.text);
  return status == TW_OK;
}

/* Changes that leave the result as it is, by the equations. */
static const struct {
  const char *problem; /* how its text begins */
  const char *operand, *change, *why;
} harmless[] = {
    {"mpc_backward", "r", "shorter 0", "r[N-1] is not used"},
    {"mpc_backward", "q", "shorter 0", "q[N-1] is not used"},
    {"gemm", "SB", "positive", "scales of packed weights are magnitudes"},
    {"reduce outer=4 n=32", "x", "reversed 1", "a sum has no order"},
    {"reduce outer=4 n=32", "x", "swapped 1", "a sum has no order"},
    {"reduce outer=4 n=32", "x", "shifted 1", "a sum has no order"},
    {"reduce outer=8 n=16 inner=4 f=min", "x", "reversed 1", "a minimum has no order"},
    {"reduce outer=8 n=16 inner=4 f=min", "x", "swapped 1", "a minimum has no order"},
    {"reduce outer=8 n=16 inner=4 f=min", "x", "shifted 1", "a minimum has no order"},
    {"reduce outer=4 n=16 inner=16 f=argmax", "x", "halved", "the place stays"},
};

static bool is_harmless(const char *problem, const char *operand, const char *name) {
  for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
    if (strncmp(problem, harmless[i].problem, strlen(harmless[i].problem)) == 0 &&
        strcmp(operand, harmless[i].operand) == 0 && strcmp(name, harmless[i].change) == 0)
      return true;
  return false;
}

/* The cases of one problem, from different seeds. */
typedef struct cases {
  const char *text;
  tw_problem problem;
  tw_case of[SEEDS];
} cases;

static void make_cases(cases *c, const char *text) {
  c->text = text;
  c->problem = op_problem(text);
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    tw_error error;
    if (tw_case_make(&c->problem, seed + 1, 1, &c->of[seed], &error) != TW_OK) fail_msg("%s: %s", text, error.text);
  }
}

static void free_cases(cases *c) {
  for (int seed = 0; seed < SEEDS; seed++) tw_case_free(&c->of[seed]);
}

/* Every case must reject a change that has an effect. An operand of few elements may be the same after a change, but
 * not in all cases. */
static bool is_blind_to(const cases *c, size_t operand, const tw_operand *o, size_t given_at, change kind, int d,
                        int e) {
  int with_effect = 0, accepted = 0;
  for (int seed = 0; seed < SEEDS; seed++) {
    const tw_case *of = &c->of[seed];
    void *inputs[TW_OPERANDS_MAX];
    bool different;
    char *changed = malloc(of->operand[operand].bytes);
    assert_non_null(changed);
    memcpy(changed, of->buffer[operand], of->operand[operand].bytes);
    memcpy(inputs, of->buffer, sizeof inputs);
    inputs[operand] = changed;
    change_operand(o, (char *)of->buffer[operand] + given_at, kind, d, e, changed + given_at, &different);
    with_effect += different;
    accepted += different && is_accepted(of, of->problem, inputs);
    free(changed);
  }
  return !with_effect || accepted;
}

static int blind_changes(const cases *c, size_t operand) {
  tw_operand o = c->of[0].operand[operand];
  int blind = 0;
  size_t given_at = 0;
  if (o.is_output) { /* the part of it that is an input */
    assert_int_equal(o.type, TW_F32);
    given_at = o.given_at;
    o = tw_operand_dense(o.name, o.type, 1, (int64_t[]){(int64_t)(o.given_bytes / sizeof(float))});
  }
  for (change kind = ZERO; kind <= TRANSPOSED; kind++)
    for (int d = 0; d < (kind < REVERSED ? 1 : o.rank); d++)
      for (int e = d + 1; e < (kind == TRANSPOSED ? o.rank : d + 2); e++) {
        if (o.type == TW_U8 && (kind == NEGATED || kind == POSITIVE || kind == HALVED)) continue; /* codes */
        if (kind == CONSTANT && tw_operand_rows(&o) * tw_operand_columns(&o) == 1) continue;
        if (kind >= REVERSED && o.dims[d] < 2) continue;
        if (kind == TRANSPOSED && o.dims[d] != o.dims[e]) continue;
        char name[64];
        snprintf(name, sizeof name,
                 kind < REVERSED      ? "%s"
                 : kind == TRANSPOSED ? "%s %d %d"
                                      : "%s %d",
                 change_names[kind], d, e);
        if (is_harmless(c->text, o.name, name) || !is_blind_to(c, operand, &o, given_at, kind, d, e)) continue;
        print_message("%s: %s %s is not found\n", c->text, o.name, name);
        blind++;
      }
  return blind;
}

static void other_operands_give_wrong_results(void **state) {
  int blind = 0;
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i += (size_t)example_stride()) {
    cases c;
    make_cases(&c, problems[i]);
    assert_true(is_accepted(&c.of[0], &c.problem, c.of[0].buffer));
    for (size_t operand = 0; operand < c.of[0].n_operands; operand++)
      if (!c.of[0].operand[operand].is_output || c.of[0].operand[operand].given_bytes)
        blind += blind_changes(&c, operand);
    free_cases(&c);
  }
  assert_int_equal(blind, 0);
}

/* ---- changes of a key ---- */

static const struct {
  const char *problem, *key, *value;
} keys[] = {
    {"gemm m=16 n=16 k=16 a=f32 b=f32 c=f32 acc=f32 relu=1", "relu", "0"},
    {"gemm m=16 n=16 k=16 a=f32 b=f32 c=f32 acc=f32 gelu=erf", "gelu", "tanh"},
    {"gemm m=16 n=16 k=16 a=f32 b=f32 c=f32 acc=f32 gelu=erf", "gelu", "none"},
    {"gemm m=16 n=16 k=16 a=f32 b=f32 c=f32 acc=f32 scale=0.5", "scale", "0.501"},
    {"gemm m=16 n=16 k=16 a=f32 b=f32 c=f32 acc=f32 glu=silu", "glu", "gelu_erf"},
    {"gemm m=64 n=64 k=64 a=f32 b=f32 c=f32 acc=f32 glu=gelu_erf", "glu", "gelu_tanh"},
    {"gemm m=16 n=16 k=16 a=f32 b=f32 c=f32 acc=f32", "a_transposed", "1"},
    {"gemm m=16 n=16 k=16 a=bf16 b=bf16 c=bf16 acc=f32", "b_transposed", "1"},
    {"gemm m=32 n=32 k=64 a=i8 b=i8 c=i8 acc=i32 scale=0.01", "relu", "1"},
    {"gemm m=32 n=32 k=64 a=i8 b=i8 c=i8 acc=i32 scale=0.01", "scale", "0.0102"},
    {"gemm m=256 n=32 k=64 a=bf16 b=mxfp8 c=f32 acc=f32 quantize=mxfp8", "scale_rule", "even"},
    {"gemm m=16 n=64 k=64 a=bf16 b=mxfp8 c=f32 acc=f32 quantize=mxfp8", "scale_rule", "up"},
    {"gemm m=16 n=64 k=64 a=bf16 b=mxfp8 c=f32 acc=f32 quantize=mxfp8", "scale_rule", "ceil"},
    {"gemm m=16 n=64 k=64 a=bf16 b=mxfp4 c=f32 acc=f32 quantize=mxfp4 scale_rule=up", "scale_rule", "ceil"},
    {"gemm m=16 n=256 k=256 a=bf16 b=mxfp4 c=bf16 acc=f32 packed=1", "shuffle", "aiter"},
    {"gemm m=16 n=256 k=256 a=bf16 b=ternary c=bf16 acc=f32 packed=1", "shuffle", "mma"},
    {"conv2d n=4 h=4 w=4 c=4 k=4 r=3 s=3 pad=1 a=f32 b=f32 out=f32 acc=f32", "image_layout", "nchw"},
    {"conv2d n=2 h=6 w=6 c=3 k=3 r=3 s=3 pad=1 a=f32 b=f32 out=f32 acc=f32", "weight_layout", "krsc"},
    {"conv2d n=2 h=6 w=6 c=3 k=3 r=3 s=3 pad=1 a=f32 b=f32 out=f32 acc=f32", "weight_layout", "kcrs"},
    {"conv2d n=2 h=7 w=7 c=8 k=8 r=3 s=3 pad=1 a=i8 b=i8 out=i8 acc=i32 relu=1 scale=0.01", "relu", "0"},
    {"conv2d n=2 h=7 w=7 c=8 k=8 r=3 s=3 pad=1 a=i8 b=i8 out=i8 acc=i32 scale=0.01", "scale", "0.0102"},
    {"conv3d n=3 d=3 h=3 w=3 c=3 k=3 t=3 r=3 s=3 pad=1 a=f32 b=f32 out=f32 acc=f32", "image_layout", "ncdhw"},
    {"conv3d n=2 d=4 h=4 w=4 c=3 k=3 t=3 r=3 s=3 pad=1 a=f32 b=f32 out=f32 acc=f32", "weight_layout", "kctrs"},
    {"conv3d n=2 d=4 h=4 w=4 c=3 k=3 t=3 r=3 s=3 pad=1 a=f32 b=f32 out=f32 acc=f32 relu=1", "relu", "0"},
    {"attention b=2 hq=4 hkv=2 sq=16 sk=32 d=16 a=bf16 causal=1", "causal", "0"},
    {"attention b=2 hq=4 hkv=2 sq=16 sk=32 d=16 a=f32", "scale", "0.26"},
    {"attention b=2 hq=4 hkv=2 sq=16 sk=32 d=16 softcap=5 a=f32", "softcap", "5.1"},
    {"attention b=2 hq=4 hkv=2 sq=16 sk=32 d=16 softcap=50 a=bf16", "softcap", "0"},
    {"attention b=2 hq=4 hkv=2 sq=16 sk=32 d=16 a=bf16 causal=1 window=9", "window", "8"},
    {"attention b=2 hq=4 hkv=2 sq=16 sk=16 d=16 a=bf16 pass=backward causal=1", "causal", "0"},
    {"attention b=2 hq=4 hkv=2 sq=16 sk=16 d=16 a=f32 pass=backward", "scale", "0.26"},
    {"layernorm rows=16 cols=64 a=f32 dropout=0.25", "dropout", "0.26"},
    {"layernorm rows=16 cols=64 a=f32", "eps", "0.00002"},
    {"layernorm rows=16 cols=64 groups=2 span=16 a=f32", "eps", "0.00002"},
    {"layernorm rows=4 cols=64 inner=4 a=f32", "eps", "0.00002"},
    {"layernorm rows=16 cols=64 a=bf16 norm=rms", "eps", "0.00002"},
    {"layernorm rows=16 cols=64 a=bf16 norm=rms", "eps", "0.000001"},
    {"elementwise rows=16 cols=16 f=gelu_erf a=f32", "f", "gelu_tanh"},
    {"elementwise rows=16 cols=16 f=silu a=f32", "f", "gelu_erf"},
    {"elementwise rows=16 cols=16 f=elu a=f32", "f", "selu"},
    {"elementwise rows=16 cols=16 f=elu alpha=0.5 a=f32", "alpha", "0.501"},
    {"elementwise rows=16 cols=16 f=leaky_relu alpha=0.01 a=f32", "alpha", "0.0101"},
    {"elementwise rows=16 cols=16 f=softplus a=f32", "alpha", "1.01"},
    {"elementwise rows=16 cols=16 f=hard_tanh a=f32", "beta", "-1.01"},
    {"elementwise rows=16 cols=16 f=hard_tanh a=f32", "alpha", "1.01"},
    {"elementwise rows=16 cols=16 f=scale alpha=3 a=bf16", "alpha", "3.1"},
    {"pool n=4 h=15 w=15 r=3 s=3 stride=2 pad=1 a=f32", "f", "mean"},
    {"softmax rows=16 cols=64 a=f32", "log", "1"},
    {"cumsum rows=16 cols=64 a=f32", "reverse", "1"},
    {"cumsum rows=16 cols=64 a=bf16", "exclusive", "1"},
    {"reduce outer=4 n=32 inner=8 a=f32", "f", "mean"},
    {"reduce outer=4 n=32 inner=8 f=norm a=f32", "f", "sum"},
    {"reduce outer=4 n=32 inner=8 f=max a=f32", "f", "min"},
    {"reduce outer=4 n=32 inner=8 f=argmax a=f32", "f", "argmin"},
    {"reduce outer=4 n=32 inner=8 a=f32", "of", "abs"},
    {"reduce outer=4 n=32 inner=8 of=abs a=f32", "of", "square"},
    {"reduce outer=4 n=32 inner=8 of=smooth_l1 a=f32", "of", "squared_difference"},
    {"reduce outer=4 n=32 inner=8 of=hinge a=f32", "of", "smooth_l1"},
    {"rotary b=2 h=2 s=16 d=16 a=bf16", "interleaved", "1"},
    {"rotary b=2 h=16 s=16 d=16 a=bf16", "transposed", "1"},
};

static void other_keys_give_wrong_results(void **state) {
  int blind = 0;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    cases c;
    tw_error error;
    make_cases(&c, keys[i].problem);
    tw_problem other = c.problem;
    tw_operand o[TW_OPERANDS_MAX];
    if (tw_problem_set(&other, keys[i].key, keys[i].value, &error) != TW_OK ||
        other.op->validate(&other, &error) != TW_OK)
      fail_msg("%s %s=%s: %s", keys[i].problem, keys[i].key, keys[i].value, error.text);
    assert_int_equal(other.op->operands(&other, o), c.of[0].n_operands);
    int accepted = 0;
    for (int seed = 0; seed < SEEDS; seed++) accepted += is_accepted(&c.of[seed], &other, c.of[seed].buffer);
    if (accepted) print_message("%s: %s=%s is not found\n", keys[i].problem, keys[i].key, keys[i].value);
    blind += accepted > 0;
    free_cases(&c);
  }
  assert_int_equal(blind, 0);
}

/* ---- ties, saturation, padding, scores below 0 ---- */

typedef enum finish { HALF_AWAY, HALF_UP, TOWARDS_ZERO, WRAPPED, FINISHES } finish;

static int8_t finished(finish f, double scaled) {
  const double rounded = f == HALF_AWAY ? round(scaled) : f == HALF_UP ? floor(scaled + 0.5) : trunc(scaled);
  return f == WRAPPED ? (int8_t)(uint8_t)(int64_t)nearbyint(scaled) : (int8_t)fmax(-128, fmin(127, rounded));
}

/* Sums from the same problem with 32-bit results; a kernel's own step from there to 8 bits. */
static void roundings_of_int8_results_are_told_apart(void **state) {
  static const char *const narrow[] = {"gemm m=32 n=32 k=64 a=i8 b=i8 c=i8 acc=i32 scale=0.0625",
                                       "conv2d n=2 h=8 w=8 c=8 k=8 r=3 s=3 a=i8 b=i8 out=i8 acc=i32 scale=0.0625"};
  for (int i = 0; i < 2; i++) {
    cases c;
    make_cases(&c, narrow[i]);
    tw_problem wide = c.problem;
    tw_error error;
    assert_int_equal(tw_problem_set(&wide, i ? "out" : "c", "i32", &error), TW_OK);
    assert_int_equal(tw_problem_set(&wide, "scale", "1", &error), TW_OK);
    for (int seed = 0; seed < SEEDS; seed++) {
      const tw_case *of = &c.of[seed];
      const int64_t n = (int64_t)of->operand[2].bytes;
      int32_t *sum = malloc((size_t)n * sizeof *sum);
      int8_t *mine = malloc((size_t)n);
      assert_true(sum && mine);
      wide.op->reference(&wide, (void *[]){of->buffer[0], of->buffer[1], sum}, 1);
      for (finish f = HALF_AWAY; f < FINISHES; f++) {
        for (int64_t e = 0; e < n; e++) mine[e] = finished(f, (double)sum[e] * 0.0625);
        if (c.problem.op->compare(&c.problem, of->buffer, (void *[]){of->buffer[0], of->buffer[1], mine}, &error) ==
            TW_OK)
          fail_msg("%s, seed %d: rounding %d is not found", narrow[i], seed + 1, (int)f);
      }
      free(sum);
      free(mine);
    }
    free_cases(&c);
  }
}

/* A kernel that pads with 0 before max pooling: results at the border are at least 0. */
static void zeros_do_not_win_in_max_pooling(void **state) {
  cases c;
  make_cases(&c, "conv2d n=2 h=8 w=8 c=4 k=8 r=3 s=3 pad=1 pool=2 pool_stride=2 pool_pad=1 a=i8 b=i8 out=i8 acc=i32 "
                 "scale=0.02");
  for (int seed = 0; seed < SEEDS; seed++) {
    const tw_case *of = &c.of[seed];
    tw_operand o = of->operand[2];
    tw_error error;
    int8_t *mine = malloc(o.bytes);
    assert_non_null(mine);
    memcpy(mine, of->buffer[2], o.bytes);
    for (int64_t e = 0; e < (int64_t)o.bytes; e++) {
      const int64_t row = e / (o.dims[2] * o.dims[3]) % o.dims[1], column = e / o.dims[3] % o.dims[2];
      const bool border = row == 0 || column == 0 || row == o.dims[1] - 1 || column == o.dims[2] - 1;
      if (border && mine[e] < 0) mine[e] = 0;
    }
    assert_int_equal(
        c.problem.op->compare(&c.problem, of->buffer, (void *[]){of->buffer[0], of->buffer[1], mine}, &error),
        TW_FAILED);
    free(mine);
  }
  free_cases(&c);
}

/* A running maximum that begins at 0 loses rows whose elements are all so small that exp of them is 0 in binary32. */
static void maxima_that_begin_at_0_are_wrong(void **state) {
  cases c;
  make_cases(&c, "attention b=2 hq=4 hkv=4 sq=16 sk=16 d=16 a=bf16");
  for (int seed = 0; seed < SEEDS; seed++) {
    const tw_operand *o = &c.of[seed].operand[4];
    int lost = 0;
    for (int64_t row = 0; row < tw_operand_rows(o); row++)
      for (int64_t i = 0; i < tw_operand_columns(o); i++)
        lost += tw_operand_element(o, c.of[seed].buffer[4], row, i) < -105;
    assert_true(lost > 0);
  }
  free_cases(&c);
  make_cases(&c, "softmax rows=64 cols=16 a=f32");
  for (int seed = 0; seed < SEEDS; seed++) {
    const float *x = c.of[seed].buffer[0];
    int lost = 0;
    for (int row = 0; row < 64; row++) {
      float most = -INFINITY;
      for (int i = 0; i < 16; i++) most = fmaxf(most, x[row * 16 + i]);
      lost += most < -105;
    }
    assert_true(lost > 0);
  }
  free_cases(&c);
}

/* Exact values of single places, with gaps and in long rows, are those of the whole output. */
static void expect_exact_of_places(const char *text, const tw_case *c, size_t output) {
  const tw_operand *o = &c->operand[output];
  const int64_t columns = tw_operand_columns(o), all = tw_operand_rows(o) * columns;
  tw_place *place = malloc((size_t)all * sizeof *place);
  double *value = malloc(4 * (size_t)all * sizeof *value), *bound = value + all, *single = bound + all;
  assert_true(place && value);
  for (int step = 1; step <= 7; step += 6) {
    double *to = step == 1 ? value : single;
    size_t n = 0;
    for (int64_t i = 0; i < all; i++) /* with a step: one place, and two that are adjacent */
      if (step == 1 || i % step == 0 || i % step >= 5) place[n++] = (tw_place){i / columns, i % columns};
    assert_int_equal(c->problem->op->exact(c->problem, c->buffer, output, n, place, to,
                                           to + (step == 1 ? all : (int64_t)n), 2, NULL),
                     TW_OK);
    for (size_t i = 0; step > 1 && i < n; i++) {
      const int64_t at = place[i].row * columns + place[i].column;
      if (memcmp(&single[i], &value[at], sizeof *value) ||
          memcmp(&single[(int64_t)n + (int64_t)i], &bound[at], sizeof *bound))
        fail_msg("%s: %s[%d][%d] is %.17g alone and %.17g in its row", text, o->name, (int)place[i].row,
                 (int)place[i].column, single[i], value[at]);
    }
  }
  free(place);
  free(value);
}

static void exact_values_do_not_depend_on_other_places(void **state) {
  static const char *const longer[] = {"gate rows=3 cols=5000 pass=backward a=bf16",
                                       "elementwise rows=2 cols=9001 f=tanh a=f32"};
  enum { PROBLEMS = sizeof problems / sizeof *problems, LONGER = sizeof longer / sizeof *longer };
  int compared = 0;
  for (int i = 0; i < PROBLEMS + LONGER; i++) {
    const char *text = i < PROBLEMS ? problems[i] : longer[i - PROBLEMS];
    tw_problem p;
    tw_case c;
    tw_error error = {0};
    if (tw_problem_parse(NULL, text, &p, &error) != TW_OK || tw_case_make_inputs(&p, 5, &c, &error) != TW_OK)
      fail_msg("%s: %s", text, error.text);
    for (size_t o = 0; p.op->exact && o < c.n_operands; o++) {
      if (!c.operand[o].is_output) continue;
      expect_exact_of_places(text, &c, o);
      compared++;
    }
    tw_case_free(&c);
  }
  assert_true(compared > PROBLEMS / 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(other_operands_give_wrong_results),
                                     cmocka_unit_test(other_keys_give_wrong_results),
                                     cmocka_unit_test(roundings_of_int8_results_are_told_apart),
                                     cmocka_unit_test(zeros_do_not_win_in_max_pooling),
                                     cmocka_unit_test(maxima_that_begin_at_0_are_wrong),
                                     cmocka_unit_test(exact_values_do_not_depend_on_other_places)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
