/* device.c - see device.h. */
#include "target/cuda/device.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/process.h"
#include "base/program.h"

static const double LOOK_SECONDS = 60; /* the first use of a driver after boot takes seconds */

static cuda_here here;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- the runner's report ---- */

static void read_device(const char *line) {
  cuda_device d = {0};
  long long bytes;
  if (here.n_devices == CUDA_DEVICES_MAX ||
      sscanf(line, "device %d %d %d %d %d %d %lld %39s %95[^\n]", &d.ordinal, &d.capability, &d.multiprocessors,
             &d.clock_khz, &d.l2_bytes, &d.shared_block, &bytes, d.uuid, d.name) != 9)
    return;
  d.bytes = (uint64_t)bytes;
  here.device[here.n_devices++] = d;
}

static void look_for_devices(void) {
  const char *const argv[] = {here.runner, "devices", NULL};
  const tw_process_options o = {.argv = argv, .seconds = LOOK_SECONDS};
  tw_process_result r = {0};
  snprintf(here.no_devices, sizeof here.no_devices, "the NVIDIA driver did not answer within %.0f s", LOOK_SECONDS);
  if (tw_process_run(&o, &r, NULL) != TW_OK || r.exit_status != 0) {
    if (!r.timed_out) snprintf(here.no_devices, sizeof here.no_devices, "the NVIDIA driver failed");
    tw_process_result_free(&r);
    return;
  }
  char *rest = NULL;
  for (char *line = strtok_r(r.output, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    if (strncmp(line, "missing ", 8) == 0) snprintf(here.no_devices, sizeof here.no_devices, "%.250s", line + 8);
    sscanf(line, "driver %d", &here.driver);
    read_device(line);
  }
  if (here.n_devices) here.no_devices[0] = '\0';
  tw_process_result_free(&r);
}

static void look_for_nvrtc(void) {
  const char *const argv[] = {here.runner, "compile", "version", NULL};
  const tw_process_options o = {.argv = argv, .seconds = LOOK_SECONDS};
  tw_process_result r = {0};
  if (tw_process_run(&o, &r, NULL) == TW_OK && r.exit_status == 0 &&
      sscanf(r.output, "NVRTC %*s %399[^\n]", here.nvrtc) == 1)
    snprintf(here.compiler, sizeof here.compiler, "%.*s", (int)strcspn(r.output, "\n"), r.output);
  tw_process_result_free(&r);
}

/* ---- the toolkit ---- */

/* Finds the first "ROOT/NAME" that exists. */
static void find_in_toolkit(const char *name, char *out, size_t size) {
  const char *const roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda", "/usr"};
  for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
    if (!roots[i] || !*roots[i]) continue;
    snprintf(out, size, "%s/%s", roots[i], name);
    if (access(out, R_OK) == 0) return;
  }
  out[0] = '\0';
}

static void look_for_toolkit(void) {
  char header[400];
  find_in_toolkit("include/cuda_bf16.h", header, sizeof header);
  if (header[0]) snprintf(here.include, sizeof here.include, "%.*s", (int)(strrchr(header, '/') - header), header);
  if (here.compiler[0]) return;
  find_in_toolkit("bin/nvcc", here.nvcc, sizeof here.nvcc);
  if (!here.nvcc[0] && tw_process_find("nvcc")) snprintf(here.nvcc, sizeof here.nvcc, "nvcc");
  if (here.nvcc[0]) snprintf(here.compiler, sizeof here.compiler, "nvcc %s", here.nvcc);
}

static void find_devices(void) {
  char *runner = tw_program_path("cuda-runner", "TILEWRIGHT_CUDA_RUNNER");
  snprintf(here.no_devices, sizeof here.no_devices,
           "tilewright-cuda-runner is missing; install all of tilewright, or set TILEWRIGHT_CUDA_RUNNER to its path");
  if (runner && strlen(runner) < sizeof here.runner) {
    snprintf(here.runner, sizeof here.runner, "%s", runner);
    look_for_devices();
    look_for_nvrtc();
  }
  free(runner);
  look_for_toolkit();
}

const cuda_here *cuda_look(void) {
  pthread_once(&once, find_devices);
  return &here;
}

/* ---- which machine that is ---- */

/* A longer name is another product: an A10 is not an A100 or A10G, and an RTX 3090 is not an RTX 3090 Ti. */
bool cuda_is_named(const char *driver_name, const char *device) {
  static const char *const others[] = {" Ti", " D", " SUPER", " Laptop"};
  const char *found = strstr(driver_name, device);
  if (!found) return false;
  const char *rest = found + strlen(device);
  if (isalnum((unsigned char)*rest) || (found > driver_name && isalnum((unsigned char)found[-1]))) return false;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strncmp(rest, others[i], strlen(others[i])) == 0) return false;
  return true;
}

static const cuda_config *config_of(const cuda_device *d) {
  const cuda_config *c;
  for (size_t i = 0; (c = cuda_config_at(i)); i++)
    if (cuda_is_named(d->name, c->device)) return c;
  return NULL;
}

/* Does the description come from a user's file? Then the devices are the devices that the file names. */
static bool is_users(const cuda_config *c) {
  const cuda_config *known;
  for (size_t i = 0; (known = cuda_config_at(i)); i++)
    if (known == c) return false;
  return true;
}

size_t cuda_devices_of(const cuda_config *c, const cuda_device *out[CUDA_DEVICES_MAX]) {
  const cuda_here *h = cuda_look();
  size_t n = 0;
  for (size_t i = 0; i < h->n_devices; i++)
    if (!c || (is_users(c) ? cuda_is_named(h->device[i].name, c->device) : config_of(&h->device[i]) == c))
      out[n++] = &h->device[i];
  return n;
}

const cuda_config *cuda_config_here(void) {
  const cuda_here *h = cuda_look();
  const cuda_config *c = h->n_devices ? config_of(&h->device[0]) : NULL;
  return c ? c : cuda_config_find("h200");
}

tw_status cuda_need_compiler(tw_error *error) {
  if (cuda_look()->compiler[0]) return TW_OK;
  return tw_fail(error, TW_NO_DEVICE,
                 "no CUDA compiler; install libnvrtc (12 or 13) or nvcc (apt-get install nvidia-cuda-toolkit, or "
                 "NVIDIA's toolkit), or set CUDA_HOME to its folder");
}

tw_status cuda_need_device(const cuda_config *c, tw_error *error) {
  const cuda_device *device[CUDA_DEVICES_MAX];
  const cuda_here *h = cuda_look();
  if (cuda_devices_of(c, device)) return TW_OK;
  if (h->n_devices)
    return tw_fail(error, TW_NO_DEVICE, "no device here is '%s'; device 0 is '%s'", c->device, h->device[0].name);
  return tw_fail(error, TW_NO_DEVICE, "no device: %s", h->no_devices);
}
