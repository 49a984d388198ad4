/* target.c - NVIDIA GPUs as targets. See target.h. */
#include "target/cuda/target.h"

#include <pthread.h>
#include <string.h>

#include "base/strings.h"
#include "op/gemm_numerics.h"
#include "target/cuda/ceilings.h"
#include "target/cuda/device.h"
#include "target/cuda/export.h"
#include "target/cuda/measure.h"
#include "target/cuda/plain.h"
#include "target/cuda/tiles.h"

const cuda_config *cuda_config_of(const tw_target *t) { return t->config ? t->config : cuda_config_here(); }

static tw_status available(const tw_target *t, tw_error *error) {
  tw_error compiler = {0}, device = {0};
  const tw_status a = cuda_need_compiler(&compiler), b = cuda_need_device(t->config, &device);
  if (a == TW_OK && b == TW_OK) return TW_OK;
  return tw_fail(error, a != TW_OK ? a : b, "%.600s%s%.600s", compiler.text, a != TW_OK && b != TW_OK ? "; " : "",
                 device.text);
}

static char *describe(const tw_target *t) {
  const cuda_here *here = cuda_look();
  const cuda_config *c = cuda_config_of(t);
  static const tw_type types[] = {TW_F32, TW_F16, TW_BF16, TW_E4M3, TW_I8};
  tw_text s = {0};
  if (!here->n_devices)
    tw_text_add(&s, "devices      none: %s; the numbers below are the data sheet's of %s\n", here->no_devices, c->name);
  tw_text_add(&s, "machine      %s: %s\n", c->name, c->summary);
  tw_text_add(&s, "             %d multiprocessors at %d MHz, %d threads and %d registers each; code for %s\n",
              (int)c->multiprocessors, (int)c->clock_mhz, (int)c->threads, (int)c->registers, c->architecture);
  tw_text_add(&s, "memory       %d KiB shared memory a block, %d MiB L2, %d GB/s\n", (int)(c->shared_block >> 10),
              (int)(c->l2_bytes >> 20), (int)c->memory_gbs);
  tw_text_add(&s, "peak        ");
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (cuda_config_peak(c, types[i]) > 0)
      tw_text_add(&s, " %s %.0f", tw_type_name(types[i]), cuda_config_peak(c, types[i]) * 1e-12);
  tw_text_add(&s, " Tflop/s\ncompiler     %s\n", here->compiler[0] ? here->compiler : "none");
  for (size_t i = 0; i < here->n_devices; i++)
    tw_text_add(&s, "%-12s %d: %s, %d multiprocessors, %.0f GB, driver for CUDA %d.%d\n", i ? "" : "devices",
                here->device[i].ordinal, here->device[i].name, here->device[i].multiprocessors,
                (double)here->device[i].bytes * 1e-9, here->driver / 1000, here->driver % 1000 / 10);
  const cuda_device *device[CUDA_DEVICES_MAX];
  cuda_ceilings top;
  if (cuda_devices_of(c, device) && cuda_known_ceilings(device[0], &top))
    tw_text_add(&s, "measured     copies %.0f GB/s; multiplies f32 %.1f, bf16 %.0f, i8 %.0f Tflop/s\n", top.copy * 1e-9,
                top.f32 * 1e-12, top.bf16 * 1e-12, top.i8 * 1e-12);
  return tw_text_take(&s);
}

/* bf16 if no type is given, summed in f32; integers are summed in i32; products of 8-bit floats are bf16. */
static tw_type usual_type(const char *key, tw_type a) {
  const bool integer = a == TW_I8 || a == TW_U8;
  if (strcmp(key, "acc") == 0) return integer ? TW_I32 : TW_F32;
  if (strcmp(key, "c") == 0) return integer ? TW_I32 : a == TW_E4M3 || a == TW_E5M2 ? TW_BF16 : a;
  return a == TW_U8 ? TW_I8 : a;
}

/* The op's first type determines the default types of its other operands. */
static tw_status fill_types(const tw_target *t, tw_problem *p, tw_error *error) {
  const bool has_bf16 = cuda_config_of(t)->flops_bf16 > 0;
  tw_status status = TW_OK;
  tw_type a = TW_TYPE_NONE;
  for (size_t i = 0; status == TW_OK && i < p->op->n_keys; i++) {
    const tw_key *k = &p->op->keys[i];
    if (k->kind != TW_KEY_TYPE) continue;
    if (p->value[i].i == TW_TYPE_NONE) {
      const tw_type usual = a == TW_TYPE_NONE ? TW_BF16 : usual_type(k->name, a);
      status = tw_problem_set(p, k->name, tw_type_name(usual == TW_BF16 && !has_bf16 ? TW_F16 : usual), error);
    }
    if (status == TW_OK && p->value[i].i == TW_BF16 && !has_bf16)
      return tw_fail(error, TW_UNSUPPORTED, "%s: bf16 is unsupported on %s; choose f16 or f32", t->name,
                     cuda_config_of(t)->architecture);
    if (a == TW_TYPE_NONE) a = (tw_type)p->value[i].i;
    if (status == TW_OK && !strcmp(k->name, "acc")) status = tw_gemm_wide_sums(t->name, (tw_type)p->value[i].i, error);
  }
  return status;
}

static tw_status emit(const tw_target *t, const tw_problem *p, const tw_schedule *schedule, char **source,
                      tw_error *error) {
  const cuda_config *c = cuda_config_of(t);
  if (schedule->n) return cuda_tiles_emit(c, p, schedule, source, error);
  if (cuda_has_plain(p)) return cuda_plain(p, source, error);
  tw_schedule plainest;
  tw_status status = cuda_tiles_plainest(c, p, &plainest, error);
  if (status != TW_OK && cuda_has_plain_rows(p)) return cuda_plain_rows(p, source, error);
  if (status == TW_OK) status = cuda_tiles_emit(c, p, &plainest, source, error);
  return status;
}

static tw_status steps(const tw_target *t, const tw_problem *p, const tw_schedule *schedule, tw_menu *out,
                       tw_error *error) {
  return cuda_tiles_steps(cuda_config_of(t), p, schedule, out, error);
}

/* The baseline kernel has no cost model. */
static tw_status predict(const tw_target *t, const tw_problem *p, const tw_schedule *schedule, double *cost,
                         tw_error *error) {
  if (schedule->n) return cuda_tiles_predict(cuda_config_of(t), p, schedule, cost, error);
  return tw_fail(error, TW_MISSING, "%s: no prediction for the baseline kernel: it has no cost model", t->name);
}

static const tw_language *family_language(const tw_target *t, const tw_problem *p, const tw_schedule *s) {
  return cuda_tiles_language_of(cuda_config_of(t), p, s);
}

#define SCHEDULES                                                                                                      \
  .settle = fill_types, .steps = steps, .emit = emit, .predict = predict, .bound = cuda_bound,                         \
  .language = family_language
static const tw_family families[] = {
    {.op = "gemm",
     .keys = "m n k a_transposed b_transposed bias relu gelu glu glu_pass rotary head heads positions scale lda ldb "
             "ldc ldd group packed shuffle a_rounding scales arithmetic a b c acc d",
     SCHEDULES},
    {.op = "*", .keys = "*", SCHEDULES}, /* a kernel's source may compute any op */
};

static void fill_target(const void *values, tw_target *out) {
  *out = (tw_target){.unit = "seconds",
                     .traits = {.measures_first = true,
                                .own_reference = true,
                                .language = "CUDA C++",
                                .source_name = "kernel.cu",
                                .prompts = "cuda"},
                     .config = values,
                     .n_families = sizeof families / sizeof *families,
                     .family = families,
                     .available = available,
                     .describe = describe,
                     .build = cuda_artefact,
                     .check = cuda_check,
                     .measure = cuda_measure,
                     .release = cuda_release,
                     .exporter = &cuda_exporter,
                     .language = cuda_tiles_language};
}

tw_machine_list cuda_machine_list = {
    .kind = {.folder = "cuda/configs/", .prefix = "cuda-", .schema = &cuda_config_schema, .fill = fill_target},
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

const cuda_config *cuda_config_at(size_t index) {
  const tw_target *t = tw_machines_at(&cuda_machine_list, index);
  return t ? t->config : NULL;
}

const cuda_config *cuda_config_find(const char *name) {
  const cuda_config *c;
  for (size_t i = 0; (c = cuda_config_at(i)); i++)
    if (strcmp(c->name, name) == 0) return c;
  return NULL;
}

/* The first GPU of this computer. */
static tw_target here;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_here(void) {
  fill_target(NULL, &here);
  here.name = "cuda";
  here.summary = "the NVIDIA GPU of this machine: kernels in CUDA C++, run natively";
}

const tw_target *cuda_target_at(size_t index) {
  pthread_once(&once, fill_here);
  return index ? tw_machines_at(&cuda_machine_list, index - 1) : &here;
}
