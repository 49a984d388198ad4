/* errors.c - see errors.h.
 *
 * Handlers have the names cblas_xerbla and xerbla_ (CBLAS, BLAS). A program replaces them by its own functions.
 * Handlers of a BLAS are not called, because Netlib's handlers end the process. */
#define _GNU_SOURCE
#include "blas/errors.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef void cblas_handler(int position, const char *routine, const char *format, ...);
typedef void fortran_handler(const char *routine, const int *position, size_t length);

static const void *object_of(const void *symbol) {
  Dl_info info;
  return symbol && dladdr(symbol, &info) ? info.dli_fbase : NULL;
}

/* The function of this name, if the program defines it and not a BLAS. */
static void *of_program(const char *name) {
  void *found = dlsym(RTLD_DEFAULT, name);
  const void *object = object_of(found);
  return object && object != object_of(dlsym(RTLD_DEFAULT, "dgemm_")) &&
                 object != object_of(dlsym(RTLD_DEFAULT, "cblas_dgemm"))
             ? found
             : NULL;
}

/* Netlib's convention: a row-major function becomes a column-major product and reports argument positions of that.
 * It sets this variable, if it exists, and handlers convert the positions back. */
static int netlib_position(int position) {
  return position == 4 ? 5 : position == 5 ? 4 : position == 9 ? 11 : position == 11 ? 9 : position;
}

void blas_error(const char *routine, bool row_major, int position, const char *argument, int value) {
  void *const handler = of_program("cblas_xerbla"), *const fortran = of_program("xerbla_");
  int *const by_rows = dlsym(RTLD_DEFAULT, "RowMajorStrg");
  if (handler) {
    const int before = by_rows ? *by_rows : 0;
    if (by_rows) *by_rows = row_major;
    if (by_rows && row_major && strcmp(routine, "cblas_sgemm") == 0) position = netlib_position(position);
    ((cblas_handler *)handler)(position, routine, "Illegal %s, %d\n", argument, value);
    if (by_rows) *by_rows = before;
  } else if (fortran) {
    ((fortran_handler *)fortran)(routine, &position, strlen(routine));
  } else {
    fprintf(stderr, " ** On entry to %s parameter number %2d (%s = %d) had an illegal value\n", routine, position,
            argument, value);
  }
}

void blas_fortran_error(const char *routine, int position) {
  void *const handler = of_program("xerbla_");
  if (handler)
    ((fortran_handler *)handler)(routine, &position, strlen(routine));
  else
    fprintf(stderr, " ** On entry to %s parameter number %2d had an illegal value\n", routine, position);
}
