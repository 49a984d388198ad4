/* vector/avx512.c - the vector kernels in the vocabulary of lanes_avx512.h. CMake compiles it for that instruction
 * set. */
#include "format/vector/lanes_avx512.h"

#include "format/vector/bfp.h"
#include "format/vector/floats.h"
#include "format/vector/integer.h"
#include "format/vector/mx.h"
#include "format/vector/stream.h"
#include "format/vector/ternary.h"

#define COMPARE vector_compare
#define COUNT vector_count
#define COMPARE_WIDTH 16
#include "format/compare.h"

#include "format/vector/table.h"

const format_kernels format_avx512 = VECTOR_KERNELS("avx512");
