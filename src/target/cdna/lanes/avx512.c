/* avx512.c - the lane functions, compiled for avx512 (target.cmake). */
#define KIT cdna_kit_avx512
#define KIT_NAME "avx512"
#include "target/cdna/lanes/body.h"
