/* driver.c - see driver.h. */
#include "target/cuda/driver.h"

#include <dlfcn.h>
#include <stdio.h>

const char *cuda_driver_open(cuda_driver *d) {
  static char why[300];
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return "libcuda.so.1 is missing; install the NVIDIA driver";
#define CUDA_LOOK_UP(name, arguments)                                                                                  \
  *(void **)&d->name = dlsym(library, #name);                                                                          \
  if (!d->name) return "the NVIDIA driver is too old: " #name " is missing";
  CUDA_FUNCTIONS(CUDA_LOOK_UP)
#undef CUDA_LOOK_UP
  *(void **)&d->cuTensorMapEncodeTiled = dlsym(library, "cuTensorMapEncodeTiled");
  const CUresult result = d->cuInit(0);
  if (!result) return NULL;
  char text[200];
  cuda_driver_error(d, result, text, sizeof text);
  snprintf(why, sizeof why, "the NVIDIA driver cannot be used: %s", text);
  return why;
}

void cuda_driver_error(const cuda_driver *d, CUresult result, char *out, size_t size) {
  const char *name = NULL, *text = NULL;
  d->cuGetErrorName(result, &name);
  d->cuGetErrorString(result, &text);
  snprintf(out, size, "%s%s%s", name ? name : "an error without a name", text ? ": " : "", text ? text : "");
}
