/* verdict.c - see verdict.h. Error numbers follow cuda.h. */
#include "target/cuda/verdict.h"

#include <stdio.h>
#include <string.h>

static const struct {
  int error;
  const char *what;
} faults[] = {
    {700, "the kernel reads or writes memory that is not its own"},
    {701, "the kernel needs more registers or shared memory than a block can have"},
    {714, "the kernel's stack overflows or is damaged"},
    {715, "the kernel executes an illegal instruction"},
    {716, "the kernel accesses memory at an address that is not aligned"},
    {717, "the kernel uses an address of the wrong memory"},
    {718, "the kernel jumps to where no code is"},
    {719, "the kernel stops with a fault (a trap, or memory that is not its own)"},
    {710, "the kernel's assert() fails"},
    {702, "the kernel did not end within the system's own limit"},
};

/* Makes a text printable and one line: device code may have written it. */
static void clean(const char *from, size_t size, char *to) {
  size_t i = 0;
  for (; i + 1 < size && from[i]; i++) to[i] = from[i] < ' ' || from[i] > '~' ? '?' : from[i];
  to[i] = '\0';
}

tw_status cuda_verdict(const tw_launch *l, const cuda_reply *r, tw_error *error) {
  char message[sizeof r->message];
  clean(r->message, sizeof r->message, message);
  switch ((cuda_stage)r->stage) {
  case CUDA_STARTING: return tw_fail(error, TW_NO_DEVICE, "the device cannot be used: %s", message);
  case CUDA_LOADING: return tw_fail(error, TW_FAILED, "the driver cannot load the kernel: %s", message);
  case CUDA_MAPPING:
    return tw_fail(error, TW_FAILED, "the driver cannot make the tensor map '%s': %s",
                   r->index < l->n_maps ? l->map[r->index].name : "?", message);
  case CUDA_LAUNCHING: return tw_fail(error, TW_FAILED, "the driver cannot launch the kernel: %s", message);
  case CUDA_RUNNING: break;
  }
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
    if (faults[i].error == r->error) return tw_fail(error, TW_FAILED, "%s (%s)", faults[i].what, message);
  return tw_fail(error, TW_FAILED, "the kernel fails: %s", message);
}

tw_status cuda_verdict_late(double limit, cuda_stage stage, tw_error *error) {
  if (stage == CUDA_STARTING)
    return tw_fail(error, TW_NO_DEVICE, "the device did not accept kernel and inputs within %.0f s", limit);
  return tw_fail(error, TW_FAILED, "the kernel did not end within %.0f s", limit);
}

tw_status cuda_verdict_stopped(cuda_stage stage, tw_error *error) {
  return tw_fail(error, TW_INTERRUPTED, "interrupted while the device %s",
                 stage == CUDA_STARTING ? "accepts kernel and inputs" : "runs the kernel");
}

tw_status cuda_verdict_gone(cuda_stage stage, tw_error *error) {
  if (stage == CUDA_STARTING)
    return tw_fail(error, TW_MISSING,
                   "tilewright-cuda-runner ended before the kernel was loaded; is it from the same version?");
  return tw_fail(error, TW_FAILED, "the kernel ended the process that ran it");
}
