/* target.c - the CPU that the process runs on, as a target. */
#include "target/x86/target.h"

#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "op/gemm_numerics.h"
#include "op/gemm_problem.h"
#include "target/x86/bench.h"
#include "target/x86/cpu.h"
#include "target/x86/tune/build.h"
#include "target/x86/tune/inner_loop.h"
#include "target/x86/tune/known.h"
#include "target/x86/tune/measure.h"
#include "target/x86/tune/tuning.h"
#include "target/x86/variant.h"

static tw_status available(const tw_target *t, tw_error *error) {
  (void)t;
  (void)error;
  return TW_OK; /* the portable kernels run on every CPU */
}

static const char *compiler(void) {
  const char *own = getenv("TILEWRIGHT_CC");
  return own && *own ? own : "cc";
}

/* The limits on cores, and the kinds of cores. */
static void add_limits(tw_text *s, const tw_core_limits *l) {
  if (l->allowed < l->online || (l->quota > 0 && l->quota < l->allowed)) {
    tw_text_add(s, " (of %d", l->online);
    if (l->allowed < l->online) tw_text_add(s, "; the process may run on %d", l->allowed);
    if (l->quota > 0) tw_text_add(s, "; its control group grants the time of %g", l->quota);
    tw_text_add(s, ")");
  }
  if (l->performance) tw_text_add(s, ", %d fast and %d efficient", l->performance, l->efficient);
}

static char *describe(const tw_target *t) {
  (void)t;
  const x86_cpu *cpu = x86_this_cpu();
  tw_text s = {0};
  tw_text_add(&s, "%s, %d core%s", cpu->model, cpu->cores, cpu->cores == 1 ? "" : "s");
  add_limits(&s, &cpu->limits);
  tw_text_add(&s, ", %d NUMA node%s\n", cpu->numa_nodes, cpu->numa_nodes == 1 ? "" : "s");
  tw_text_add(&s, "caches       %d KiB L1 data, %d KiB L2, %d KiB L3\nsets        ", (int)(cpu->l1 >> 10),
              (int)(cpu->l2 >> 10), (int)(cpu->l3 >> 10));
  for (int i = 0; i < X86_ISAS; i++)
    if (cpu->has[i]) tw_text_add(&s, " %s", x86_isa_name((x86_isa)i));
  tw_text_add(&s, "\nkernels     ");
  for (size_t i = 0; tw_gemm_kernel_at(i); i++) tw_text_add(&s, " %s", tw_gemm_kernel_at(i));
  tw_text_add(&s, "\n");
  return tw_text_take(&s);
}

static tw_status fill_type(tw_problem *p, const char *key, tw_type type, tw_error *error) {
  return tw_problem_type(p, key) == TW_TYPE_NONE ? tw_problem_set(p, key, tw_type_name(type), error) : TW_OK;
}

static bool is_integer(tw_type type) { return type == TW_I8 || type == TW_U8; }

static tw_status fill_types(const tw_target *t, tw_problem *p, tw_error *error) {
  (void)t;
  tw_status status = fill_type(p, "a", TW_F32, error);
  const tw_type a = tw_problem_type(p, "a");
  if (status == TW_OK) status = fill_type(p, "b", is_integer(a) ? TW_I8 : a, error);
  if (status == TW_OK) status = fill_type(p, "c", is_integer(a) ? TW_I32 : TW_F32, error);
  return status == TW_OK ? fill_type(p, "acc", is_integer(a) ? TW_I32 : TW_F32, error) : status;
}

static tw_status check(const tw_target *t, const tw_problem *p, tw_error *error) {
  const tw_gemm g = tw_gemm_of(p);
  tw_status sums = tw_gemm_wide_sums(t->name, g.acc, error);
  if (sums != TW_OK) return sums;
  if (is_integer(g.a) && g.bias != TW_GEMM_BIAS_NONE)
    return tw_fail(error, TW_USAGE, "%s: a bias of acc=i32 is not supported; the library's bias is f32", t->name);
  if (g.bias == TW_GEMM_BIAS_FULL)
    return tw_fail(error, TW_USAGE, "%s: bias=full is not supported; use bias=row", t->name);
  if (g.bias != TW_GEMM_BIAS_NONE && g.scale != 1.0f)
    return tw_fail(error, TW_USAGE,
                   "%s: scale and bias together are not supported; the library scales the sums without the bias",
                   t->name);
  const tw_gemm_spec spec = x86_spec_of(p);
  tw_gemm_plan *plan;
  const tw_status status = tw_gemm_plan_create(&spec, &plan, error);
  if (status == TW_OK) tw_gemm_plan_destroy(plan);
  return status;
}

static const tw_key options[] = {
    {.name = "threads", .kind = TW_KEY_INT, .fallback = "0", .max = 1024, .help = "number of threads; 0 = all cores"}};

static const tw_language *family_language(const tw_target *t, const tw_problem *p, const tw_schedule *s) {
  (void)t, (void)p, (void)s;
  return &x86_language;
}

static const tw_family families[] = {
    {.op = "gemm",
     .keys = "m n k a_transposed b_transposed bias relu scale lda ldb ldc ldd group a_rounding a b c acc",
     .options = options,
     .n_options = sizeof options / sizeof *options,
     .settle = fill_types,
     .check = check,
     .steps = x86_steps,
     .emit = x86_emit,
     .predict = x86_predict,
     .baseline = x86_baseline,
     .bound = x86_bound,
     .language = family_language}};
static const tw_library library = {.bench = x86_bench, .learn = x86_learn};

static const tw_language *language(size_t index) { return index ? NULL : &x86_language; }

enum { INNER_LOOP_LINES = 80 };

static tw_status inner_loop(const tw_target *t, const tw_problem *p, const char *source, size_t length, bool trust,
                            char **text, tw_error *error) {
  (void)t, (void)p;
  char *assembly = NULL;
  *text = NULL;
  const tw_status status = x86_assembly(source, length, trust, &assembly, error);
  if (status == TW_OK) *text = x86_inner_loop_text(assembly, INNER_LOOP_LINES);
  free(assembly);
  return status;
}

static const tw_target x86 = {
    .name = "x86",
    .summary = "the CPU of this machine: kernels in C with AVX2, AVX-512, BF16, VNNI and AMX, run natively",
    .unit = "seconds",
    .traits = {.own_reference = true,
               .reference_up_to = X86_REFERENCE_UP_TO,
               .language = "C",
               .source_name = "kernel.c",
               .device = "cpu",
               .prompts = "x86",
               .compiler = compiler},
    .n_families = sizeof families / sizeof *families,
    .family = families,
    .available = available,
    .describe = describe,
    .build = x86_artefact,
    .check = x86_check,
    .measure = x86_measure,
    .release = x86_release,
    .library = &library,
    .language = language,
    .inner_loop = inner_loop,
};

const tw_target *x86_target_at(size_t index) { return index == 0 ? &x86 : NULL; }
