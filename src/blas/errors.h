/* errors.h - handles wrong arguments: calls the program's own handler, or prints a line to standard error. Then the
 * function returns, and C is unchanged. */
#ifndef TW_BLAS_ERRORS_H
#define TW_BLAS_ERRORS_H

#include <stdbool.h>

/* For functions of CBLAS. `position` counts the arguments from 1; the layout is the first. */
void blas_error(const char *routine, bool row_major, int position, const char *argument, int value);
/* From a Fortran function, whose name has six characters. */
void blas_fortran_error(const char *routine, int position);

#endif
