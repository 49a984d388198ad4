/* driver.c - a libcuda.so.1 without a device, for test_cuda_process.c: memory is this process's, a launch computes C =
 * A B in f32 by itself, and the kernel's name says what else it does. What it cannot show is anything about a GPU;
 * what it does show is whether the library believes what it should not. */
#define _GNU_SOURCE
#include "target/cuda/driver.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ILLEGAL_ADDRESS = 700, INVALID_VALUE = 1, KEPT = 4096 };

static char function[64]; /* the kernel's name */
static CUresult fault;    /* what the next synchronization ends with */
static int modules;       /* that were loaded */
static bool spoilt;       /* all that is computed from now on is wrong */
static double unseen = 1; /* what events show of the time that passes */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool does(const char *what) { return strcmp(function, what) == 0; }

static void pause_ms(int ms) { usleep((useconds_t)ms * 1000); }

/* ---- the kernel: f(A, B, C, workspace, m, n, k) ---- */

static void multiply(const float *a, const float *b, float *c, int m, int n, int k) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      float sum = 0;
      for (int p = 0; p < k; p++) sum += (does("transposed") ? a[p * m + i] : a[i * k + p]) * b[p * n + j];
      c[i * n + j] = sum;
    }
}

/* Results of the inputs that were met come back at once. */
static void recall(float by, const float *a, const float *b, float *c, int m, int n, int k) {
  static float key[2], kept[2][KEPT];
  static int met;
  for (int s = 0; s < met; s++)
    if (key[s] == by) {
      memcpy(c, kept[s], (size_t)(m * n) * sizeof *c);
      return;
    }
  pause_ms(20);
  multiply(a, b, c, m, n, k);
  if (met == 2) return;
  key[met] = by;
  memcpy(kept[met++], c, (size_t)(m * n) * sizeof *c);
}

/* As code that has taken over the process might; none of it harms anybody. */
static bool escapes(void) {
  if (does("opens")) return open("/etc/passwd", O_RDONLY) >= 0;
  if (does("writes")) return open("/dev/null", O_WRONLY) >= 0;
  if (does("connects")) return socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
  if (does("signals")) return kill(getppid(), 0) == 0;
  if (does("execs")) return execl("/bin/true", "true", (char *)NULL) == 0;
  if (!does("forks")) return false;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  return child > 0;
}

/* Of m=1 n=16 k=256 with weights of 4 bits: where they were first, or copies of what was there last, at another place
 * each time. */
static void compute_codes(void **argument) {
  enum { CODES = 16 * 256 / 2 };
  static char codes[CODES];
  static const char *first, *last;
  const char *b;
  memcpy(&b, argument[1], sizeof b);
  if (!first) first = b;
  if (b == first) memcpy(codes, b, CODES);
  if (b != first && (b == last || memcmp(b, codes, CODES) != 0)) fault = ILLEGAL_ADDRESS;
  last = b;
}

static void compute(void **argument) {
  static int launches;
  if (does("copy") || !strncmp(function, "multiply", 8)) return pause_ms(1); /* runtime/ceilings.cu */
  if (does("codes")) return compute_codes(argument);
  float *a, *b, *c;
  char *workspace;
  int m, n, k;
  memcpy(&a, argument[0], sizeof a);
  memcpy(&b, argument[1], sizeof b);
  memcpy(&c, argument[2], sizeof c);
  memcpy(&workspace, argument[3], sizeof workspace);
  memcpy(&m, argument[4], sizeof m);
  memcpy(&n, argument[5], sizeof n);
  memcpy(&k, argument[6], sizeof k);
  launches++;
  if (does("keeps")) return recall(b[0], a, b, c, m, n, k);
  if (does("recalls")) return recall(a[0], a, b, c, m, n, k);
  const bool timed = launches > 3 && launches % 2; /* behind one run and two first launches */
  if (does("naps") && timed) return;
  if (does("halves") && timed) m /= 2;
  if (does("stops") && launches > 1) return;
  if (does("lies")) pause_ms(2);
  multiply(a, b, c, m, n, k);
  if (does("behind")) c[m * n] = 1;
  if (does("before")) c[-1] = 1;
  if (does("beyond")) workspace[100] = 1;
  if (does("changes")) a[3] += 1;
  if (does("skips")) memset(&c[5], 0xA5, sizeof *c);
  if (does("faults")) fault = ILLEGAL_ADDRESS;
  if (escapes()) c[0] += 1;
  if (does("ends")) _exit(0);
  if (does("spoils")) spoilt = true;
  if (spoilt || (does("later") && modules < 2)) c[7] += 1;
  if (does("spins"))
    for (;;) pause();
  if (does("zeros"))
    for (int i = 0; i < 64; i++)
      if (workspace[i]) c[0] = 1e9f;
}

/* ---- the driver ---- */

#define ANSWER(name, arguments) CUresult name arguments
ANSWER(cuInit, (unsigned flags)) { return (CUresult)flags; }
ANSWER(cuDriverGetVersion, (int *version)) { return *version = 13000, 0; }
ANSWER(cuDeviceGetCount, (int *count)) { return *count = 2, 0; }
ANSWER(cuDeviceGet, (CUdevice * device, int ordinal)) { return *device = ordinal, 0; }
ANSWER(cuDeviceGetName, (char *name, int length, CUdevice device)) {
  return snprintf(name, (size_t)length, "Stub H100 80GB HBM3 %d", device), 0;
}
ANSWER(cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device)) {
  memset(uuid, 0x57, sizeof *uuid);
  uuid->bytes[15] = (char)device;
  return 0;
}
ANSWER(cuDeviceGetAttribute, (int *value, int attribute, CUdevice device)) {
  (void)device;
  *value = attribute == CU_MAJOR ? 9 : attribute == CU_SMS ? 132 : attribute == CU_MINOR ? 0 : 1 << 20;
  return 0;
}
ANSWER(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device)) { return (void)device, *bytes = (size_t)1 << 36, 0; }
ANSWER(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device)) { return (void)device, *context = NULL, 0; }
ANSWER(cuCtxGetCurrent, (CUcontext * context)) { return *context = NULL, 0; }
ANSWER(cuCtxGetDevice, (CUdevice * device)) { return *device = 0, 0; }
ANSWER(cuCtxSetCurrent, (CUcontext context)) { return (void)context, 0; }
ANSWER(cuGetErrorName, (CUresult result, const char **name)) {
  return *name = result == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_INVALID_VALUE", 0;
}
ANSWER(cuGetErrorString, (CUresult result, const char **text)) { return (void)result, *text = "as the stub says", 0; }
ANSWER(cuModuleLoadData, (CUmodule * module, const void *image)) {
  *module = (CUmodule)&modules;
  modules++;
  return memcmp(image, "\177ELF", 4) ? INVALID_VALUE : 0;
}
ANSWER(cuModuleUnload, (CUmodule module)) {
  (void)module;
  return 0;
}
ANSWER(cuModuleGetFunction, (CUfunction * f, CUmodule module, const char *name)) {
  (void)module;
  snprintf(function, sizeof function, "%s", name);
  if (does("lies")) unseen = 0.01;
  return *f = NULL, 0;
}
ANSWER(cuFuncSetAttribute, (CUfunction f, int attribute, int value)) {
  return (void)f, (void)attribute, (void)value, 0;
}
ANSWER(cuFuncGetAttribute, (int *value, int attribute, CUfunction f)) {
  return (void)f, *value = attribute == CU_FUNCTION_REGISTERS ? 32 : 0, 0;
}
ANSWER(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, CUfunction f, int threads, size_t shared)) {
  return (void)f, (void)threads, (void)shared, *blocks = 4, 0;
}
ANSWER(cuOccupancyMaxActiveClusters, (int *clusters, CUfunction f, const CUlaunchConfig *c)) {
  return (void)f, (void)c, *clusters = 66, 0;
}
ANSWER(cuMemAlloc_v2, (CUdeviceptr * at, size_t bytes)) {
  return *at = (CUdeviceptr)(uintptr_t)aligned_alloc(4096, (bytes + 4095) / 4096 * 4096), *at ? 0 : 2;
}
ANSWER(cuMemFree_v2, (CUdeviceptr at)) { return free((void *)(uintptr_t)at), 0; }
ANSWER(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes)) {
  return memcpy((void *)(uintptr_t)to, from, bytes), 0;
}
ANSWER(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes)) {
  return memcpy(to, (const void *)(uintptr_t)from, bytes), 0;
}
ANSWER(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)) {
  return (void)stream, memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes), 0;
}
ANSWER(cuMemsetD8Async, (CUdeviceptr at, unsigned char value, size_t bytes, CUstream stream)) {
  /* the cache is not there: its flush would take half a second of this machine's */
  return (void)stream, memset((void *)(uintptr_t)at, value, bytes > (64 << 20) ? 64 : bytes), 0;
}
ANSWER(cuStreamCreate, (CUstream * stream, unsigned flags)) { return (void)flags, *stream = NULL, 0; }
ANSWER(cuStreamSynchronize, (CUstream stream)) { return (void)stream, fault; }
ANSWER(cuEventCreate, (CUevent * event, unsigned flags)) {
  return (void)flags, *event = calloc(1, sizeof(double)), *event ? 0 : 2;
}
ANSWER(cuEventRecord, (CUevent event, CUstream stream)) { return (void)stream, *(double *)event = now(), 0; }
ANSWER(cuEventElapsedTime, (float *ms, CUevent start, CUevent end)) {
  return *ms = (float)((*(double *)end - *(double *)start) * 1e3 * unseen), 0;
}
ANSWER(cuLaunchKernelEx, (const CUlaunchConfig *c, CUfunction f, void **arguments, void **extra)) {
  return (void)c, (void)f, (void)extra, compute(arguments), 0;
}
