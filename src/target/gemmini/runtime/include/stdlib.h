/* stdlib.h - for candidate programs. There is no heap: scratch memory is a static array. */
#ifndef _STDLIB_H
#define _STDLIB_H

#include <stddef.h>

#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 0x7fffffff

void exit(int status) __attribute__((noreturn));
void abort(void) __attribute__((noreturn));
int abs(int value);
long labs(long value);
long long llabs(long long value);
int rand(void);
void srand(unsigned seed);

#endif
