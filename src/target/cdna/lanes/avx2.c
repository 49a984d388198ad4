/* avx2.c - the lane functions, compiled for avx2 (target.cmake). */
#define KIT cdna_kit_avx2
#define KIT_NAME "avx2"
#include "target/cdna/lanes/body.h"
