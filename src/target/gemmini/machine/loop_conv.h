/* loop_conv.h - Gemmini's hardware convolution loop: seven configuration commands in, tiled commands out.
 *
 * A cycle-by-cycle model of the loop unroller after the core's queues (ucb-bar/gemmini at be2e9f2, May 2023:
 * LoopConv.scala, Pipeline.scala). Commands GM_LOOP_CONV_CONFIG_1 .. _6 fill the registers of a loop, GM_LOOP_CONV
 * starts it. Two loops are held at once (loop_common.h). A loop is one tile of a convolution: `batches` images of
 * `orows` x `ocols` pixels of `pochs` channels, from `krows` x `kcols` of the kernel and `kchs` input channels. Five
 * units walk it, each working for one loop at a time:
 *
 *   bias     config_ld and mvin3: the bias of each channel to every pixel of the accumulator; zeros if no_bias
 *   input    config_ld and mvin: rows of pixels into the bottom of the loop's half of the scratchpad, padding as zeros
 *   weights  config_ld and mvin2: into the top of that half
 *   execute  preload, compute for every channel block, row and column of the kernel and row of pixels; starts when all
 *   loads of its loop have been sent
 *   store    mvout of each row of pixels; with pooling one mvout for each image and channel block, between two
 *            config_st; starts when execute has ended
 *
 * Commands pass two registers on their way out of a unit (Pipeline, latency 2). At most one comes out per cycle: store
 * before execute before bias before weights before input. A unit is held back while as many of its kind's commands are
 * uncompleted as the reservation station has entries.
 *
 * For training, tensors are read and written transposed: `trans_input_3120` loads rows of images of one channel, and
 * execute strides over images (a config_ex of strides alone comes first); `trans_weight_1203` and `_0132`,
 * `trans_output_1203` are other orders in memory. `wrot180` reads the weights of a tap from its mirror image.
 * `input_dilated` inserts zeros between pixels: execute passes over products with zeros alone, in two cycles each.
 *
 * Rejected, with one line in `why`: parts that the configuration lacks, activations other than none and ReLU, an empty
 * tile. */
#ifndef TW_GEMMINI_LOOP_CONV_H
#define TW_GEMMINI_LOOP_CONV_H

#include "target/gemmini/machine/loop_common.h"

enum gm_conv_unit_id { GM_CONV_BIAS, GM_CONV_INPUT, GM_CONV_WEIGHTS, GM_CONV_EX, GM_CONV_ST };

/* The registers of one of the two loops. Names are the RTL's. */
typedef struct gm_conv_loop {
  uint16_t batch_size, in_dim, in_channels, out_channels, out_dim, pool_out_dim; /* sizes of the whole convolution */
  uint16_t stride, kernel_dim, kernel_dilation, pool_size, pool_stride;
  uint16_t pixels; /* columns of the kernel in a row of the array: max_pixels_per_row */
  uint16_t batches, porows, pocols, pochs, krows, kcols, kchs, orows, ocols; /* of the tile */
  uint16_t lpad, rpad, upad, dpad;                                           /* padding of the tile's input */
  uint16_t plpad, pupad;                                                     /* padding of its pooling windows */
  uint64_t bias, weights, input, output; /* addresses in memory; output 0: the tile stays in the accumulator */
  bool no_bias, no_pool;
  bool downsample; /* only every second row and column of the input is loaded */
  /* For training: gradients are convolutions with transposed tensors, rotated weights, and zeros between pixels. */
  bool wrot180, trans_output_1203, trans_weight_1203, trans_weight_0132, trans_input_3120, input_dilated;
  bool dw; /* one channel of a depthwise convolution */
  uint8_t activation;
  uint32_t input_start, weights_end; /* scratchpad rows */
} gm_conv_loop;

/* One unit: the loop for which it works (or last worked), and its next command. */
typedef struct gm_conv_unit {
  uint8_t state; /* 0: nothing left to send */
  uint8_t loop;
  bool valid[2]; /* the registers on the way out; [1] is at the output */
  bool new_weights;
  gm_command stage[2];
  int32_t b, row, col, channel; /* image, row and column of pixels, channel in (input) or out */
  uint16_t krow, kcol, kch;
  uint32_t start; /* accumulator row of the tile */
} gm_conv_unit;

typedef struct gm_loop_conv {
  gm_conv_loop loops[2];
  gm_conv_unit units[GM_LOOP_UNITS];
  gm_loop_pair pair;
  bool idle; /* the last step changed nothing */
  bool has_training, has_dw;
  int dim, input_bytes, acc_bytes;
  int columns, columns_acc; /* maximum of elements in a row of one mvin: of input, of accumulator elements */
} gm_loop_conv;

void gm_loop_conv_init(gm_loop_conv *, const gm_config *);

/* True while a loop is configured or running; the input queue is the caller's. */
static inline bool gm_loop_conv_busy(const gm_loop_conv *l) { return gm_loop_pair_busy(&l->pair); }

/* Is it one of the loop's own commands? */
static inline bool gm_is_loop_conv(uint8_t funct) { return funct >= GM_LOOP_CONV && funct <= GM_LOOP_CONV_CONFIG_6; }

/* One clock edge; arguments and results as in gm_loop_ws_step (loop_ws.h). */
bool gm_loop_conv_step(gm_loop_conv *, const gm_command *in, bool *take_in, bool out_ready, int ld_completed,
                       int ex_completed, int st_completed, gm_command *out, bool *from_loop, char why[256]);

/* As gm_loop_ws_waiting. */
static inline bool gm_loop_conv_waiting(const gm_loop_conv *l) { return l->idle; }

#endif
