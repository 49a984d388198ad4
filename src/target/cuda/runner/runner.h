/* runner.h - the tasks of tilewright-cuda-runner: a separate process for each. */
#ifndef TW_CUDA_RUNNER_RUNNER_H
#define TW_CUDA_RUNNER_RUNNER_H

/* Prints a line about the driver and a line about each device; or one line "missing ...". */
int cuda_list_devices(void);
/* argv: LIBRARY ARCHITECTURE SOURCE CUBIN and NVRTC's options. The compiler's log goes to standard output. With
 * "version" it prints NVRTC's version. */
int cuda_compile(int argc, char **argv);
/* ceilings.c */
int cuda_measure_ceilings(int argc, char **argv);
/* protocol.h */
int cuda_evaluate(void);

#endif
