/* words_gemm.c - gemm for an agent that writes source. */
#include "target/gemmini/schedule/family.h"

const tw_topic gm_gemm_topics[] = {
    {"kernel",
     "`void test(A[M][K], B[K][N], [D,] C[M][N])`: C = act(scale * (A B + D)), saturated; A or B may be given "
     "transposed, D is a row or all of C's size.\n"},
    {"menu",
     "tiling; loop order; which operand stays resident; double or triple buffering of A, B and the accumulator; "
     "bank placement; prefetch distance; overwriting instead of zero-filling; wider loads and stores; reusing "
     "preloaded weights; hoisting configurations and addresses; unrolling; spreading loads and stores among the "
     "computes; peeling the first and the last step along k; smaller tiles at the end; the hardware loop.\n"},
    {"example", "preload(b, c | (k ? 0x40000000 : 0), 16, 16, 16, 16); "
                "compute_preloaded(a, 0xffffffffu, 16, 16, 16, 16);\n"},
    {0}};
