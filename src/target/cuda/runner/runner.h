/* runner.h - the tasks of tilewright-cuda-runner: a separate process for each. */
#ifndef TW_CUDA_RUNNER_RUNNER_H
#define TW_CUDA_RUNNER_RUNNER_H

/* One line for the driver, one for each device; or one line "missing ..." */
int cuda_list_devices(void);
/* argv: LIBRARY ARCHITECTURE SOURCE CUBIN options for NVRTC...: the compiler's log goes to standard output. Or
 * "version": prints the version of NVRTC. */
int cuda_compile(int argc, char **argv);
/* ceilings.c */
int cuda_measure_ceilings(int argc, char **argv);
/* protocol.h */
int cuda_evaluate(void);

#endif
