/* errors.h - what happens when an argument is wrong: the program's own handler is called, or a line goes to standard
 * error; then the function returns and C is unchanged. */
#ifndef TW_BLAS_ERRORS_H
#define TW_BLAS_ERRORS_H

#include <stdbool.h>

/* From a function of CBLAS. `position` counts the arguments from 1, the layout being the first. */
void blas_error(const char *routine, bool row_major, int position, const char *argument, int value);
/* From a Fortran function, whose name has six characters. */
void blas_fortran_error(const char *routine, int position);

#endif
