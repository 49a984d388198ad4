/* test.h - cmocka with what it wants included before it. */
#ifndef TW_TEST_H
#define TW_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
