/* runner.h - what tilewright-cuda-runner can be asked for: each is a process of its own. */
#ifndef TW_CUDA_RUNNER_RUNNER_H
#define TW_CUDA_RUNNER_RUNNER_H

/* One line for the driver, one for each device; or one line "missing ..." */
int cuda_list_devices(void);
/* argv: ARCHITECTURE SOURCE CUBIN options for NVRTC...; "version": the compiler that would be used. The compiler's log goes to
 * standard output. */
int cuda_compile(int argc, char **argv);
/* ceilings.c */
int cuda_measure_ceilings(int argc, char **argv);
/* protocol.h */
int cuda_evaluate(void);

#endif
