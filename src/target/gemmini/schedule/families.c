/* families.c - the ops that this machine runs, with their types and limits. */
#include "target/gemmini/core/rv64.h"
#include "target/gemmini/schedule/chain/chain.h"
#include "target/gemmini/schedule/conv/conv.h"
#include "target/gemmini/schedule/family.h"
#include "target/gemmini/schedule/plan.h"

/* ---- types ---- */

/* Fills in one type, or checks that it is one of the machine's. */
static tw_status fill_type(const tw_target *t, tw_problem *p, const char *key, tw_type first, tw_type second,
                           tw_error *error) {
  const tw_type type = tw_problem_type(p, key);
  if (type == TW_TYPE_NONE) return tw_problem_set(p, key, tw_type_name(first), error);
  if (type == first || type == second) return TW_OK;
  return tw_fail(error, TW_USAGE, "%s: %s=%s is not a type of this machine; use %s=%s%s%s", t->name, key,
                 tw_type_name(type), key, tw_type_name(first), second == first ? "" : " or ",
                 second == first ? "" : tw_type_name(second));
}

/* `output`: the key of the result's type. */
static tw_status fill_product_types(const tw_target *t, tw_problem *p, const char *output, tw_error *error) {
  const gm_config *c = gm_config_of(t);
  tw_status status = fill_type(t, p, "a", c->input_type, c->input_type, error);
  if (status == TW_OK) status = fill_type(t, p, "b", c->input_type, c->input_type, error);
  if (status == TW_OK) status = fill_type(t, p, "acc", c->acc_type, c->acc_type, error);
  return status == TW_OK ? fill_type(t, p, output, c->input_type, c->acc_type, error) : status;
}

static tw_status fill_gemm_types(const tw_target *t, tw_problem *p, tw_error *error) {
  return fill_product_types(t, p, "c", error);
}

static tw_status fill_conv2d_types(const tw_target *t, tw_problem *p, tw_error *error) {
  return fill_product_types(t, p, "out", error);
}

static tw_status fill_chain_types(const tw_target *t, tw_problem *p, tw_error *error) {
  if (gm_config_of(t)->input_type != TW_F32)
    return tw_fail(error, TW_USAGE, "%s: %s supports f32 only, as TinyMPC does; use -t gemmini-4x4-fp32", t->name,
                   p->op->name);
  return fill_type(t, p, "type", TW_F32, TW_F32, error);
}

/* ---- limits ---- */

static tw_status check_memory(const tw_target *t, const tw_problem *p, tw_error *error) {
  tw_operand operand[TW_OPERANDS_MAX];
  size_t n = p->op->operands(p, operand), bytes = 0;
  for (size_t i = 0; i < n; i++) bytes += operand[i].bytes;
  const size_t limit = RV64_MEMORY_LIMIT - (64 << 20); /* code, data and stack need far less than the reserved 64 MiB */
  if (bytes <= limit) return TW_OK;
  return tw_fail(error, TW_USAGE, "%s: the operands need %zu MiB; the simulated machine has room for %zu MiB", t->name,
                 bytes >> 20, limit >> 20);
}

/* Features that the generator left out of this machine. */
static tw_status check_parts(const tw_target *t, tw_type output, bool relu, tw_error *error) {
  const gm_config *c = gm_config_of(t);
  if (c->dataflow == GM_OUTPUT_STATIONARY_ONLY)
    return tw_fail(error, TW_USAGE,
                   "%s: kernels require the weight-stationary dataflow (found dataflow = os); run a kernel of your own",
                   t->name);
  if (relu && !c->has_relu) return tw_fail(error, TW_USAGE, "%s: relu is not in this machine (has_relu = 0)", t->name);
  const bool full = output == c->acc_type && output != c->input_type;
  if (full ? !c->acc_read_full_width : !c->acc_read_small_width)
    return tw_fail(error, TW_USAGE, "%s: results of type %s cannot leave the accumulator (acc_read_%s_width = 0)",
                   t->name, tw_type_name(output), full ? "full" : "small");
  return TW_OK;
}

static tw_status check_gemm(const tw_target *t, const tw_problem *p, tw_error *error) {
  gm_gemm g;
  tw_status status = check_parts(t, tw_problem_type(p, "c"), tw_problem_int(p, "relu"), error);
  if (status == TW_OK) status = gm_gemm_from(gm_config_of(t), p, &g, error);
  return status == TW_OK ? check_memory(t, p, error) : status;
}

static tw_status check_chain(const tw_target *t, const tw_problem *p, tw_error *error) {
  const tw_status status = check_parts(t, gm_config_of(t)->input_type, false, error);
  return status == TW_OK ? check_memory(t, p, error) : status;
}

static tw_status check_conv2d(const tw_target *t, const tw_problem *p, tw_error *error) {
  gm_conv v;
  tw_status status = gm_conv_from(gm_config_of(t), p, &v, error);
  if (status == TW_OK) status = check_parts(t, v.of.output, v.relu, error);
  return status == TW_OK ? check_memory(t, p, error) : status;
}

/* ---- the table ---- */

const tw_language *gm_language(size_t i) {
  static const tw_language *const all[] = {&gm_plan_language, &gm_conv_language, &gm_chain_language};
  return i < sizeof all / sizeof *all ? all[i] : NULL;
}

static const tw_language *gemm_language(const tw_target *t, const tw_problem *p, const tw_schedule *s) {
  (void)t, (void)p, (void)s;
  return &gm_plan_language;
}

static const tw_language *conv_language(const tw_target *t, const tw_problem *p, const tw_schedule *s) {
  (void)t, (void)p, (void)s;
  return &gm_conv_language;
}

static const tw_language *chain_language(const tw_target *t, const tw_problem *p, const tw_schedule *s) {
  (void)t, (void)p, (void)s;
  return &gm_chain_language;
}

#define CHAIN                                                                                                          \
  .keys = "horizon states inputs type", .settle = fill_chain_types, .check = check_chain, .steps = gm_chain_steps,     \
  .emit = gm_chain_emit, .predict = gm_chain_predict, .bound = gm_chain_bound, .language = chain_language

const tw_family gm_families[GM_FAMILIES] = {
    {.op = "gemm",
     .keys = "m n k a_transposed b_transposed bias relu scale lda ldb ldc ldd a b c acc",
     .settle = fill_gemm_types,
     .check = check_gemm,
     .steps = gm_gemm_steps,
     .emit = gm_gemm_emit,
     .predict = gm_gemm_predict,
     .bound = gm_gemm_bound,
     .language = gemm_language},
    {.op = "conv2d",
     .keys = "n h w c k r s stride pad pool pool_stride pool_pad bias relu scale weight_layout a b out acc",
     .settle = fill_conv2d_types,
     .check = check_conv2d,
     .steps = gm_conv2d_steps,
     .emit = gm_conv2d_emit,
     .predict = gm_conv2d_predict,
     .bound = gm_conv2d_bound,
     .language = conv_language},
    {.op = "mpc_forward", CHAIN},
    {.op = "mpc_backward", CHAIN},
};
