/* stdio.h - for candidate programs: what is printed becomes the run's console text. */
#ifndef _STDIO_H
#define _STDIO_H

#include <stdarg.h>
#include <stddef.h>

/* %d %i %u %x %X %p %c %s %f %e %g (the last three as %f) with flags "-0+ #", width, precision, h hh l ll z j t. */
int printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int vprintf(const char *format, va_list arguments);
int snprintf(char *buffer, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int vsnprintf(char *buffer, size_t size, const char *format, va_list arguments);
int puts(const char *text);
int putchar(int character);

#endif
