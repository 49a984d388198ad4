/* hip_runtime.h - the HIP runtime as host.cpp of an exported kernel calls it, on the host: device memory is memory, and the
 * kernel a product of rows of A and columns of B, of A_TYPE to C_TYPE, that is wrong as WRONG says. */
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int hipError_t, hipEvent_t;
typedef void *hipModule_t, *hipStream_t;
typedef const char *hipFunction_t;
enum { hipSuccess, hipMemcpyHostToDevice, hipMemcpyDeviceToHost };

static const char *hipGetErrorString(hipError_t) { return "?"; }
template <class T> static hipError_t hipMalloc(T **at, size_t n) { return *at = (T *)malloc(n), hipSuccess; }
static hipError_t hipMemcpy(void *to, const void *from, size_t n, int) { return memcpy(to, from, n), hipSuccess; }
static hipError_t hipMemsetAsync(void *at, int x, size_t n, hipStream_t) { return memset(at, x, n), hipSuccess; }
static hipError_t hipDeviceSynchronize() { return hipSuccess; }
static hipError_t hipEventCreate(hipEvent_t *) { return hipSuccess; }
static hipError_t hipEventRecord(hipEvent_t, hipStream_t) { return hipSuccess; }
static hipError_t hipEventSynchronize(hipEvent_t) { return hipSuccess; }
static hipError_t hipEventElapsedTime(float *ms, hipEvent_t, hipEvent_t) { return *ms = 20, hipSuccess; }
static hipError_t hipModuleLoad(hipModule_t *, const char *) { return hipSuccess; }
static hipError_t hipModuleGetFunction(hipFunction_t *f, hipModule_t, const char *name) {
  return *f = name, hipSuccess;
}

struct bf16 {
  uint16_t bits;
  operator float() const {
    const uint32_t wide = (uint32_t)bits << 16;
    float f;
    return memcpy(&f, &wide, 4), f;
  }
  void operator=(float f) {
    uint32_t wide;
    memcpy(&wide, &f, 4);
    bits = (uint16_t)((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
  }
};
static hipError_t hipModuleLaunchKernel(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                        unsigned, hipStream_t, void **arguments, void **) {
  A_TYPE *a = *(A_TYPE **)arguments[0], *b = *(A_TYPE **)arguments[1];
  C_TYPE *c = *(C_TYPE **)arguments[2];
  for (long i = 0; i < M; i++)
    for (long j = 0; j < N; j++) {
      SUM sum = 0;
      for (long p = 0; p < K; p++) sum += (SUM)a[i * K + p] * (SUM)b[p * N + j];
      if (WRONG == 1 && i == M - 1 && j == N - 1) continue;           // not written
      if (WRONG == 2 && i == M / 2 && j == N / 3) sum += sum / 8 + 1; // off
      c[i * N + j] = sum;
    }
  if (WRONG == 3) memset(a, 0, 1);
  return hipSuccess;
}
