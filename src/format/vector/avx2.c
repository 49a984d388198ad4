/* vector/avx2.c - the vector kernels in the vocabulary of lanes_avx2.h. CMake compiles it for that instruction set. */
#include "format/vector/lanes_avx2.h"

#include "format/vector/bfp.h"
#include "format/vector/floats.h"
#include "format/vector/integer.h"
#include "format/vector/mx.h"
#include "format/vector/stream.h"
#include "format/vector/ternary.h"

#define COMPARE vector_compare
#define COUNT vector_count
#define COMPARE_WIDTH 8
#include "format/compare.h"

#include "format/vector/table.h"

const format_kernels format_avx2 = VECTOR_KERNELS("avx2");
