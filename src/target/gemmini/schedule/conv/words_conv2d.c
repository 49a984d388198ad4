/* words_conv2d.c - conv2d for an agent that writes source. */
#include "target/gemmini/schedule/family.h"

const tw_topic gm_conv2d_topics[] = {
    {"kernel",
     "`void test(input[n][h][w][c], weights[r][s][c][k], [bias[1][k],] output[n][p][q][k])`, layout=krsc: "
     "weights[k][r][s][c]. Result (p, q) sums input pixel (p stride + i - pad, q stride + j - pad) times "
     "weights[i][j] over all i, j and channels; pixels outside the image are 0; then bias, scale, saturation, "
     "ReLU, and the largest of each pooling window.\n"},
    {"menu",
     "tiles of output rows, columns and channels, steps of kernel rows and input channels; loop order; which of "
     "pixels and weights stays resident; double buffering of pixels, weights and the accumulator; bank "
     "placement; prefetch distance; overwriting instead of zero-filling, or filling during the tile before; "
     "wider loads and stores; the order of the blocks of weights, each of which stays in the array while all "
     "pixels pass; blocks of pixels of equal height; several columns of the kernel in one block where channels "
     "are few; unrolling; hoisting configurations; spreading loads and stores among the computes; the hardware "
     "loop. Keep the image as it is: pixels that a tap needs for neighbouring results are scratchpad rows "
     "config_ex's A_stride apart.\n"},
    {"example", "config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, stride, false, false);\n"
                "preload(weights_of_tap, results, 16, 16, 16, 16); "
                "compute_preloaded(first_pixel + row * row_of_chunk + column, 0xffffffffu, 16, 16, 16, 16);\n"
                "preload(0xffffffffu, results + 16, 16, 16, 16, 16); "
                "compute_accumulated(next_pixels, 0xffffffffu, 16, 16, 16, 16);\n"},
    {0}};
