/* main.c - tilewright-cuda-runner: the only program of tilewright that loads CUDA's libraries. The library
 * (target/cuda) starts it, one process for each task. */
#include <string.h>

#include "target/cuda/runner/runner.h"

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "devices") == 0) return cuda_list_devices();
  if (argc >= 3 && strcmp(argv[1], "compile") == 0) return cuda_compile(argc - 2, argv + 2);
  if (argc > 2 && strcmp(argv[1], "ceilings") == 0) return cuda_measure_ceilings(argc - 2, argv + 2);
  if (argc == 2 && strcmp(argv[1], "evaluate") == 0) return cuda_evaluate();
  return 2;
}
