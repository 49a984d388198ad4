/* conv.h - convolution of up to three dimensions as a matrix product: a row of A is the contents of a window, B the
 * weights, a row of C the channels of one place of the output. Conv2d and conv3d take exact values and survey from
 * it. */
#ifndef TW_OP_CONV_H
#define TW_OP_CONV_H

#include "op/gemm_values.h"

enum { TW_CONV_DIMS = 3 };

/* WINDOW_FIRST: weights[t][r][s][c][k]. CHANNELS_LAST: [k][t][r][s][c]. CHANNELS_FIRST: [k][c][t][r][s], as in
 * PyTorch. */
typedef enum tw_conv_layout { TW_CONV_WINDOW_FIRST, TW_CONV_CHANNELS_LAST, TW_CONV_CHANNELS_FIRST } tw_conv_layout;

/* Two-dimensional ones have depth 1. */
typedef struct tw_conv {
  int64_t n, c, k;
  int64_t in[TW_CONV_DIMS], window[TW_CONV_DIMS], out[TW_CONV_DIMS];
  int64_t stride, pad[TW_CONV_DIMS];
  bool images_first; /* images are stored as [n][c][d][h][w], else as [n][d][h][w][c]; likewise the output */
  tw_conv_layout layout;
  bool bias, relu;
  float scale;
  tw_type input, weights, output, acc;
  tw_arithmetic arithmetic;
} tw_conv;

/* Keys that both convolutions have (op/ops.h). */
#define TW_CONV_RESULT_KEYS                                                                                            \
  TW_CHOICE_KEY("bias", "none", "none|row", "bias: 1 x k"), TW_FLAG_KEY("relu", "replace negative results by 0"),      \
      TW_REAL_KEY("scale", "1", "factor on the accumulator")
#define TW_CONV_TYPE_KEYS(of_input_)                                                                                   \
  TW_CHOICE_KEY("arithmetic", "full", "full|tf32|bf16",                                                                \
                "full: products and sums in binary32; tf32, bf16: f32 input and weights may be rounded to this type"), \
      TW_TYPE_KEY("a", "", of_input_), TW_TYPE_KEY("b", "", "element type of the weights"),                            \
      TW_TYPE_KEY("out", "", "element type of the output"),                                                            \
      TW_TYPE_KEY("acc", "", "type of the accumulator and of the bias")

/* The arithmetic of choice n: full, tf32 or bf16. */
static inline tw_arithmetic tw_conv_arithmetic(int64_t n) { return n == 2 ? TW_ARITHMETIC_BF16 : (tw_arithmetic)n; }

/* Windows of `size` elements, `stride` apart, in `length` elements with `pad` more on both sides; 0 if none fits. */
static inline int64_t tw_conv_windows(int64_t length, int64_t pad, int64_t size, int64_t stride) {
  const int64_t room = length + 2 * pad - size;
  return room < 0 ? 0 : room / stride + 1;
}

/* Images as [n][dims...][c], stored as images_first says. dims are the last `rank` of three. */
tw_operand tw_conv_images(const char *name, tw_type, bool images_first, int rank, int64_t n, const int64_t dims[],
                          int64_t c);

/* The problems of conv2d (without its pooling) and conv3d. */
tw_conv tw_conv_of_conv2d(const tw_problem *);
tw_conv tw_conv_of_conv3d(const tw_problem *);

/* buffers: input, weights, [bias,] output. */
/* Fills input, weights and bias of real types; `o` are the operands. */
void tw_conv_inputs(const tw_conv *, uint64_t seed, const tw_operand o[], void *const buffers[]);
/* Sets half of an image and a filter to 0 where the seed asks for it (tw_zero_line). */
void tw_conv_zeros(const tw_conv *, uint64_t seed, const tw_operand o[], void *const buffers[]);
tw_status tw_conv_exact(const tw_conv *, void *const buffers[], size_t n, const tw_place[], double value[],
                        double bound[], int threads, tw_error *);
void tw_conv_exact_cost(const tw_conv *, double *element, double *row);
tw_status tw_conv_survey(const tw_conv *, const tw_operand *output, void *const buffers[], const tw_effort *,
                         tw_coverage *, tw_error *);

#endif
