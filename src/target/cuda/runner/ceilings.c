/* ceilings.c - peak rates of the device, by the kernels of runtime/ceilings.cu: for target/cuda/ceilings.c.
 *
 * argv: ORDINAL CUBIN MULTIPROCESSORS OPERATIONS (of one step of a block of multiply_bf16). Prints "copy BYTES", "f32
 * OPERATIONS", "bf16 ...", "i8 ...": per second, the median of launches of some milliseconds each, submitted
 * consecutively for a fifth of a second, so that clocks are stable. */
#include "target/cuda/runner/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/cuda/driver.h"

enum { LAUNCHES = 41, THREADS = 256, SHARED = 49152, DATA_WORDS = SHARED / 4, COPY_BLOCKS = 8 };
static const uint64_t COPIED = (uint64_t)1 << 30;

typedef struct bench {
  cuda_driver cuda;
  CUmodule module;
  CUstream stream;
  CUevent event[LAUNCHES + 1];
} bench;

/* Ends the process: the library says that the device could not be measured. */
static void need(const bench *b, CUresult result) {
  char text[256];
  if (!result) return;
  cuda_driver_error(&b->cuda, result, text, sizeof text);
  printf("missing %s\n", text);
  exit(1);
}

static int by_value(const void *x, const void *y) {
  const float a = *(const float *)x, b = *(const float *)y;
  return (a > b) - (a < b);
}

/* Seconds of a launch. */
static double time_kernel(bench *b, const char *name, unsigned blocks, unsigned shared, void **arguments) {
  CUfunction f;
  CUlaunchConfig c = {.grid = {blocks, 1, 1}, .block = {THREADS, 1, 1}, .shared_bytes = shared, .stream = b->stream};
  float ms[LAUNCHES];
  need(b, b->cuda.cuModuleGetFunction(&f, b->module, name));
  if (shared) need(b, b->cuda.cuFuncSetAttribute(f, CU_FUNCTION_DYNAMIC_SHARED, (int)shared));
  for (int i = 0; i < LAUNCHES; i++) {
    need(b, b->cuda.cuEventRecord(b->event[i], b->stream));
    need(b, b->cuda.cuLaunchKernelEx(&c, f, arguments, NULL));
  }
  need(b, b->cuda.cuEventRecord(b->event[LAUNCHES], b->stream));
  need(b, b->cuda.cuStreamSynchronize(b->stream));
  for (int i = 0; i < LAUNCHES; i++) need(b, b->cuda.cuEventElapsedTime(&ms[i], b->event[i], b->event[i + 1]));
  qsort(ms + LAUNCHES / 2, LAUNCHES - LAUNCHES / 2, sizeof *ms, by_value); /* the first half warms up */
  return ms[LAUNCHES / 2 + LAUNCHES / 4] * 1e-3;
}

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  enum { LIMIT = 1 << 22 };
  char *data = file ? calloc(LIMIT, 1) : NULL;
  if (data && fread(data, 1, LIMIT, file) == 0) data[0] = '\0';
  if (file) fclose(file);
  return data;
}

/* Words of two bf16 in (-1, -1/2] and [1/2, 1) each. */
static void fill_words(uint32_t *word) {
  uint64_t state = 88172645463325252u; /* xorshift64, G. Marsaglia 2003 */
  for (int i = 0; i < DATA_WORDS; i++) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    word[i] = ((uint32_t)(state >> 16) & 0x807f807fu) | 0x3f003f00u;
  }
}

int cuda_measure_ceilings(int argc, char **argv) {
  static bench b;
  static uint32_t data[DATA_WORDS];
  CUdevice device;
  CUcontext context;
  CUdeviceptr from, to, operands;
  if (argc != 4) return 2;
  const unsigned processors = (unsigned)atoi(argv[2]);
  const double product = atof(argv[3]); /* operations of a step of one block, of bf16; of i8 twice as many */
  const char *missing = cuda_driver_open(&b.cuda);
  char *cubin = read_file(argv[1]);
  if (missing || !cubin) return printf("missing %s\n", missing ? missing : "the cubin"), 1;
  need(&b, b.cuda.cuDeviceGet(&device, atoi(argv[0])));
  need(&b, b.cuda.cuDevicePrimaryCtxRetain(&context, device));
  need(&b, b.cuda.cuCtxSetCurrent(context));
  need(&b, b.cuda.cuStreamCreate(&b.stream, CU_STREAM_NON_BLOCKING));
  for (int i = 0; i <= LAUNCHES; i++) need(&b, b.cuda.cuEventCreate(&b.event[i], CU_EVENT_DEFAULT));
  need(&b, b.cuda.cuModuleLoadData(&b.module, cubin));
  need(&b, b.cuda.cuMemAlloc_v2(&from, COPIED));
  need(&b, b.cuda.cuMemAlloc_v2(&to, COPIED));
  need(&b, b.cuda.cuMemAlloc_v2(&operands, SHARED));
  fill_words(data);
  need(&b, b.cuda.cuMemcpyHtoD_v2(operands, data, SHARED));
  need(&b, b.cuda.cuMemsetD8Async(from, 0x5a, COPIED, b.stream));

  uint64_t words = COPIED / 16;
  printf("copy %.6g\n",
         2.0 * (double)COPIED / time_kernel(&b, "copy", processors * COPY_BLOCKS, 0, (void *[]){&from, &to, &words}));
  int steps = 1 << 15;
  double operations = 2.0 * 16 * THREADS * steps * processors * 8; /* 8 blocks on each */
  printf("f32 %.6g\n",
         operations / time_kernel(&b, "multiply_f32", processors * 8, 0, (void *[]){&operands, &to, &steps}));
  steps = 1 << 13;
  const unsigned blocks = processors * (product > 1e6 ? 1 : 4); /* mma.sync: four on each; wgmma: one fills it */
  operations = product * steps * blocks;
  printf("bf16 %.6g\n",
         operations / time_kernel(&b, "multiply_bf16", blocks, SHARED, (void *[]){&operands, &to, &steps}));
  printf("i8 %.6g\n",
         2 * operations / time_kernel(&b, "multiply_i8", blocks, SHARED, (void *[]){&operands, &to, &steps}));
  return 0;
}
