/* threads.h - the number of threads of a call of the BLAS. */
#ifndef TW_BLAS_THREADS_H
#define TW_BLAS_THREADS_H

/* TILEWRIGHT_NUM_THREADS. Otherwise the number of cores that the process may use, limited by OMP_NUM_THREADS. Read
 * once. */
int blas_threads(void);

#endif
