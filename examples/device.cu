/* device.cu - C = A B in bf16 on an NVIDIA GPU with the library: one call looks up what searches found and launches it on a stream.
 *
 *   tilewright tune gemm m=4096 n=4096 k=4096 b_transposed=1 -t cuda          # once: its wisdom is what is used here
 *   nvcc device.cu $(pkg-config --cflags --libs tilewright) -o device */
#include <cuda_runtime.h>
#include <stdio.h>
#include <tilewright/device.h>

static int fail(const char *what) { return fprintf(stderr, "%s\n", what), 1; }

int main() {
  const size_t n = 4096, bytes = n * n * 2;
  void *operands[3], *workspace = nullptr; /* A, B, C */
  cudaStream_t stream;
  if (cudaStreamCreate(&stream) != cudaSuccess) return fail("no CUDA device");
  for (void *&x : operands)
    if (cudaMalloc(&x, bytes) != cudaSuccess || cudaMemsetAsync(x, 0, bytes, stream) != cudaSuccess) return fail("no memory");

  tw_error error;
  tw_problem problem;
  tw_wisdom wisdom;
  const tw_device_plan *plan;
  if (tw_problem_parse(nullptr, "gemm m=4096 n=4096 k=4096 b_transposed=1", &problem, &error) != TW_OK ||
      tw_wisdom_load(nullptr, &wisdom, &error) != TW_OK ||
      tw_device_run(&problem, &wisdom, nullptr, nullptr, nullptr, &plan, &error) != TW_OK) /* plans, launches nothing */
    return fail(error.text);
  if (tw_device_plan_workspace(plan) && cudaMalloc(&workspace, tw_device_plan_workspace(plan)) != cudaSuccess) return fail("no memory");

  for (int i = 0; i < 100; i++) /* starts the kernel and nothing else: also inside of a captured graph */
    if (tw_device_run(&problem, &wisdom, operands, workspace, stream, nullptr, &error) != TW_OK) return fail(error.text);
  if (cudaStreamSynchronize(stream) != cudaSuccess) return fail(cudaGetErrorString(cudaGetLastError()));

  char schedule[2000];
  tw_device_plan_print(plan, schedule, sizeof schedule);
  printf("%s", schedule);
  tw_device_forget();
  tw_wisdom_free(&wisdom);
  return 0;
}
