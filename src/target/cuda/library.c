/* library.c - tilewright/device.h on NVIDIA GPUs. Only here does the library load the driver into the caller's process:
 * the caller already has it, because it has device memory. Compilation stays in a separate process. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/strings.h"
#include "target/cuda/build.h"
#include "target/cuda/device.h"
#include "target/cuda/measure.h"
#include "target/cuda/pool.h"
#include "target/cuda/start.h"
#include "tilewright/device.h"
#include "tilewright/extend/target.h"

struct tw_device_plan {
  cuda_kernel kernel;
  CUmodule module;
  CUfunction function[TW_LAUNCH_KERNELS];
  size_t n_operands;
  tw_schedule schedule;
  bool ours; /* emitted from a schedule, so its launch lines can be trusted */
};

enum { INVALID_CONTEXT = 201 };

static cuda_driver driver;
static const char *missing;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load_driver(void) { missing = cuda_driver_open(&driver); }

static tw_status fail(CUresult result, const char *what, tw_error *error) {
  char text[200];
  if (result == INVALID_CONTEXT)
    return tw_fail(error, TW_NO_DEVICE,
                   "no device is current; first call cudaSetDevice and cudaFree(0), or cuCtxSetCurrent");
  cuda_driver_error(&driver, result, text, sizeof text);
  return tw_fail(error, TW_FAILED, "%s: %s", what, text);
}

/* The source in wisdom; otherwise the source of its schedule, or of the baseline. */
static tw_status source_of(const tw_target *t, const tw_problem *p, const tw_wisdom *wisdom, tw_device_plan *out,
                           char **source, tw_error *error) {
  const char *name = cuda_config_here()->name;
  char target[64];
  bool exact = false;
  out->ours = true;
  snprintf(target, sizeof target, "cuda-%s", name);
  const char *const names[] = {t->name, target};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const tw_wisdom_entry *e = tw_wisdom_find_source(wisdom, names[i], p);
    if (e) out->ours = false;
    if (e) return (*source = strdup(tw_wisdom_entry_source(e))) ? TW_OK : tw_no_memory(error, NULL);
    if (!(e = tw_wisdom_find(wisdom, names[i], p, &exact))) continue;
    const tw_schedule *schedule = tw_wisdom_entry_schedule(e);
    if (tw_target_emit(t, p, schedule, source, NULL) == TW_OK) {
      out->schedule = *schedule;
      return TW_OK;
    }
  }
  return tw_target_emit(t, p, &out->schedule, source, error);
}

static tw_status load(tw_device_plan *p, tw_error *error) {
  CUresult result = driver.cuModuleLoadData(&p->module, p->kernel.cubin);
  const tw_launch *l = &p->kernel.launch;
  if (!result && l->n_maps && !driver.cuTensorMapEncodeTiled)
    return tw_fail(error, TW_NO_DEVICE, "this driver is too old for tensor maps");
  for (size_t k = 0; !result && k < l->n_kernels; k++) {
    result = driver.cuModuleGetFunction(&p->function[k], p->module, l->kernel[k].name);
    if (!result) result = cuda_allow(&driver, &l->kernel[k], p->function[k]);
  }
  return result ? fail(result, "the driver cannot load the kernel", error) : TW_OK;
}

tw_status tw_device_plan_create(const tw_problem *problem, const tw_wisdom *wisdom, tw_device_plan **out,
                                tw_error *error) {
  const tw_target *t = tw_target_find("cuda");
  tw_operand operand[TW_OPERANDS_MAX];
  tw_problem p = *problem;
  char *source = NULL;
  *out = NULL;
  pthread_once(&once, load_driver);
  if (missing) return tw_fail(error, TW_NO_DEVICE, "%s", missing);
  tw_device_plan *plan = tw_new(1, sizeof *plan);
  tw_status status = plan ? cuda_need_device(NULL, error) : tw_no_memory(error, NULL);
  if (status == TW_OK) status = tw_target_settle(t, &p, error);
  if (status == TW_OK) status = tw_target_supports(t, &p, error);
  if (status == TW_OK) status = source_of(t, &p, wisdom, plan, &source, error);
  if (status == TW_OK) status = cuda_build(cuda_config_here(), &p, source, strlen(source), false, &plan->kernel, error);
  if (status == TW_OK) status = load(plan, error);
  if (status == TW_OK) plan->n_operands = p.op->operands(&p, operand);
  free(source);
  if (status == TW_OK)
    *out = plan;
  else
    tw_device_plan_destroy(plan);
  return status;
}

void tw_device_plan_destroy(tw_device_plan *p) {
  if (!p) return;
  if (p->module) driver.cuModuleUnload(p->module);
  cuda_kernel_free(&p->kernel);
  free(p);
}

size_t tw_device_plan_workspace(const tw_device_plan *p) { return p ? (size_t)p->kernel.launch.workspace : 0; }

size_t tw_device_plan_print(const tw_device_plan *p, char *buffer, size_t size) {
  return tw_schedule_print(&p->schedule, buffer, size);
}

tw_status tw_device_plan_launch(const tw_device_plan *p, void *const operands[], void *workspace, void *stream,
                                tw_error *error) {
  const tw_launch *l = &p->kernel.launch;
  const CUdeviceptr room = (CUdeviceptr)(uintptr_t)workspace;
  CUdeviceptr operand[TW_OPERANDS_MAX];
  CUresult result = 0;
  uint32_t map = 0;
  if (l->workspace && !workspace)
    return tw_fail(error, TW_USAGE, "this kernel needs a workspace of %lld bytes", (long long)l->workspace);
  for (size_t i = 0; i < p->n_operands; i++) {
    operand[i] = (CUdeviceptr)(uintptr_t)operands[i];
    if (!operand[i] || operand[i] % 16)
      return tw_fail(error, TW_USAGE, "operand %zu is not at a multiple of 16 bytes", i);
  }
  if (l->zeroed && l->workspace) result = driver.cuMemsetD8Async(room, 0, (size_t)l->workspace, stream);
  for (size_t k = 0; !result && k < l->n_kernels; k++) {
    cuda_arguments arguments;
    CUlaunchAttribute attribute[CUDA_ATTRIBUTES];
    result = cuda_make_arguments(&driver, l, k, operand, room, &arguments, &map);
    const CUlaunchConfig config = cuda_make_config(&l->kernel[k], stream, p->ours, attribute);
    if (!result) result = driver.cuLaunchKernelEx(&config, p->function[k], arguments.at, NULL);
  }
  return result ? fail(result, "the driver cannot launch the kernel", error) : TW_OK;
}

/* ---- plans that the library keeps ---- */

typedef struct kept_plan {
  struct kept_plan *next;
  tw_problem problem; /* as requested */
  CUcontext context;
  tw_device_plan *plan;
} kept_plan;

static kept_plan *kept;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool same_problem(const tw_problem *a, const tw_problem *b) {
  if (a->op != b->op) return false;
  for (size_t i = 0; i < a->op->n_keys; i++)
    if (a->value[i].i != b->value[i].i || a->value[i].r != b->value[i].r) return false;
  return true;
}

static tw_status keep_kernel(const tw_problem *problem, const tw_wisdom *wisdom, CUcontext context,
                             const tw_device_plan **out, tw_error *error) {
  kept_plan *k = tw_new(1, sizeof *k);
  if (!k) return tw_no_memory(error, NULL);
  const tw_status status = tw_device_plan_create(problem, wisdom, &k->plan, error);
  if (status != TW_OK) {
    free(k);
    return status;
  }
  k->problem = *problem;
  k->context = context;
  k->next = kept;
  kept = k;
  *out = k->plan;
  return TW_OK;
}

tw_status tw_device_run(const tw_problem *problem, const tw_wisdom *wisdom, void *const operands[], void *workspace,
                        void *stream, const tw_device_plan **plan, tw_error *error) {
  const tw_device_plan *found = NULL;
  CUcontext context = NULL;
  tw_status status = TW_OK;
  pthread_once(&once, load_driver);
  if (missing) return tw_fail(error, TW_NO_DEVICE, "%s", missing);
  const CUresult result = driver.cuCtxGetCurrent(&context);
  if (result) return fail(result, "the driver does not report the current context", error);
  pthread_mutex_lock(&lock);
  for (const kept_plan *k = kept; k && !found; k = k->next)
    if (k->context == context && same_problem(&k->problem, problem)) found = k->plan;
  if (!found) status = keep_kernel(problem, wisdom, context, &found, error);
  pthread_mutex_unlock(&lock);
  if (plan) *plan = found;
  return status == TW_OK && operands ? tw_device_plan_launch(found, operands, workspace, stream, error) : status;
}

void tw_device_forget(void) {
  pthread_mutex_lock(&lock);
  while (kept) {
    kept_plan *k = kept;
    kept = k->next;
    tw_device_plan_destroy(k->plan);
    free(k);
  }
  pthread_mutex_unlock(&lock);
}

/* ---- the device for measurements of the caller's own ---- */

/* What this thread has reserved, by index of cuda_look()->device. */
static _Thread_local cuda_lease reserved[CUDA_DEVICES_MAX];

/* The index of the current context's device. */
static tw_status current_device(size_t *index, tw_error *error) {
  CUdevice ordinal = 0;
  pthread_once(&once, load_driver);
  if (missing) return tw_fail(error, TW_NO_DEVICE, "%s", missing);
  const CUresult result = driver.cuCtxGetDevice(&ordinal);
  if (result) return fail(result, "the driver does not report the current device", error);
  const cuda_here *here = cuda_look();
  for (*index = 0; *index < here->n_devices; ++*index)
    if (here->device[*index].ordinal == ordinal) return TW_OK;
  return tw_fail(error, TW_NO_DEVICE, "device %d is unknown: %s", ordinal,
                 here->n_devices ? "it became visible later" : here->no_devices);
}

tw_status tw_device_reserve(tw_error *error) {
  size_t i;
  const tw_status status = current_device(&i, error);
  if (status != TW_OK) return status;
  if (reserved[i].device)
    return tw_fail(error, TW_USAGE, "this thread has reserved the device already; call tw_device_release first");
  return cuda_lease_take_device(&cuda_look()->device[i], tw_stop_of_thread(), &reserved[i], error);
}

void tw_device_release(void) {
  size_t i;
  if (current_device(&i, NULL) == TW_OK) cuda_lease_give_back(&reserved[i]);
}
