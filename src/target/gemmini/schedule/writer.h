/* writer.h - C source under construction. */
#ifndef TW_GEMMINI_WRITER_H
#define TW_GEMMINI_WRITER_H

#include <stdarg.h>

#include "base/strings.h"

typedef struct gm_writer {
  tw_text text;
  int depth; /* of indentation */
} gm_writer;

/* One line of C, indented. Lines that end in '{' or start with '}' change the indentation of later lines. */
void gm_write(gm_writer *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void gm_write_list(gm_writer *, const char *format, va_list) __attribute__((format(printf, 2, 0)));
/* A float constant of C. */
void gm_float_text(double value, char *out, size_t size);

#endif
