/* gemmini.h - Gemmini's commands as C macros, by the usual names.
 *
 * Encodings: README of ucb-bar/gemmini ("ISA") and src/main/scala/gemmini/GemminiISA.scala of May 2023. All
 * commands are custom-3 instructions; funct7 selects the command, two 64-bit operands hold the fields. Local
 * addresses count rows: bit 31 accumulator, bit 30 accumulate (writes), bit 29 full width (reads), all ones none.
 * Strides of config_ld and config_st are bytes, those of the hardware loop elements.
 *
 * Each macro issues exactly one command (the hardware loops six and seven) and may stand with or without a semicolon. */
#ifndef GEMMINI_H
#define GEMMINI_H

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "gemmini_params.h"
#include "rocc.h"

/* funct7 */
#define k_CONFIG 0
#define k_MVIN2 1
#define k_MVIN 2
#define k_MVOUT 3
#define k_COMPUTE_PRELOADED 4
#define k_COMPUTE_ACCUMULATE 5
#define k_PRELOAD 6
#define k_FLUSH 7
#define k_LOOP_WS 8
#define k_LOOP_WS_CONFIG_BOUNDS 9
#define k_LOOP_WS_CONFIG_ADDRS_AB 10
#define k_LOOP_WS_CONFIG_ADDRS_DC 11
#define k_LOOP_WS_CONFIG_STRIDES_AB 12
#define k_LOOP_WS_CONFIG_STRIDES_DC 13
#define k_MVIN3 14
#define k_LOOP_CONV_WS 15
#define k_LOOP_CONV_WS_CONFIG_1 16
#define k_LOOP_CONV_WS_CONFIG_2 17
#define k_LOOP_CONV_WS_CONFIG_3 18
#define k_LOOP_CONV_WS_CONFIG_4 19
#define k_LOOP_CONV_WS_CONFIG_5 20
#define k_LOOP_CONV_WS_CONFIG_6 21
#define k_COUNTER 126

/* what a config command configures: rs1[1:0] */
#define CONFIG_EX 0
#define CONFIG_LD 1
#define CONFIG_ST 2
#define CONFIG_BERT 3

#define GARBAGE_ADDR ((uint32_t)-1)

#define OUTPUT_STATIONARY 0
#define WEIGHT_STATIONARY 1

#define NO_ACTIVATION 0
#define RELU 1
#define LAYERNORM 2
#define IGELU 3
#define SOFTMAX 4

#define ROCC_INSTRUCTION_RS1_RS2(custom, rs1, rs2, funct7) ROCC_INSTRUCTION_0_R_R(custom, rs1, rs2, funct7)
#define GEMMINI_COMMAND(funct7, rs1, rs2) ROCC_INSTRUCTION_0_R_R(XCUSTOM_ACC, rs1, rs2, funct7)

/* A value at a bit position of an operand. */
#define GEMMINI_FIELD(value, low) ((uint64_t)(value) << (low))
/* A block in scratchpad or accumulator: address [31:0], columns [47:32], rows [63:48]. */
#define GEMMINI_BLOCK(address, cols, rows) \
  (GEMMINI_FIELD(rows, ADDR_LEN + 16) | GEMMINI_FIELD(cols, ADDR_LEN) | (uint64_t)(address))

/* ---- Scale factors travel as their bits ------------------------------------------------------------------- */

static inline acc_scale_t_bits acc_scale_t_to_acc_scale_t_bits(acc_scale_t scale) {
  union { acc_scale_t value; acc_scale_t_bits bits; } u = {.value = scale};
  return u.bits;
}
static inline acc_scale_t acc_scale_t_bits_to_acc_scale_t(acc_scale_t_bits bits) {
  union { acc_scale_t_bits bits; acc_scale_t value; } u = {.bits = bits};
  return u.value;
}
#ifdef HAS_MVIN_SCALE
static inline scale_t_bits scale_t_to_scale_t_bits(scale_t scale) {
  union { scale_t value; scale_t_bits bits; } u = {.value = scale};
  return u.bits;
}
static inline scale_t scale_t_bits_to_scale_t(scale_t_bits bits) {
  union { scale_t_bits bits; scale_t value; } u = {.bits = bits};
  return u.value;
}
#else
#define scale_t_to_scale_t_bits(scale) 0
#endif

/* ---- Moving data ------------------------------------------------------------------------------------------ */

/* Memory to scratchpad or accumulator; memory address 0 writes zeros. */
#define gemmini_extended_mvin(dram, local, cols, rows) GEMMINI_COMMAND(k_MVIN, dram, GEMMINI_BLOCK(local, cols, rows))
#define gemmini_extended_mvin2(dram, local, cols, rows) GEMMINI_COMMAND(k_MVIN2, dram, GEMMINI_BLOCK(local, cols, rows))
#define gemmini_extended_mvin3(dram, local, cols, rows) GEMMINI_COMMAND(k_MVIN3, dram, GEMMINI_BLOCK(local, cols, rows))
#define gemmini_mvin(dram, local) gemmini_extended_mvin(dram, local, DIM, DIM)
#define gemmini_mvin2(dram, local) gemmini_extended_mvin2(dram, local, DIM, DIM)
#define gemmini_mvin3(dram, local) gemmini_extended_mvin3(dram, local, DIM, DIM)
/* `blocks` tiles side by side. */
#define gemmini_block_mvin(dram, local, blocks) gemmini_extended_mvin(dram, local, (blocks) * DIM, DIM)
#define gemmini_block_mvin2(dram, local, blocks) gemmini_extended_mvin2(dram, local, (blocks) * DIM, DIM)
#define gemmini_block_mvin3(dram, local, blocks) gemmini_extended_mvin3(dram, local, (blocks) * DIM, DIM)

/* Scratchpad or accumulator to memory. */
#define gemmini_extended_mvout(dram, local, cols, rows) GEMMINI_COMMAND(k_MVOUT, dram, GEMMINI_BLOCK(local, cols, rows))
#define gemmini_mvout(dram, local) gemmini_extended_mvout(dram, local, DIM, DIM)

/* ---- Computing -------------------------------------------------------------------------------------------- */

/* Weight-stationary: BD are the weights B (none: keep the old ones), C is where the next compute's result goes.
 * Output-stationary: BD is the bias D. */
#define gemmini_extended_preload(BD, C, BD_cols, BD_rows, C_cols, C_rows) \
  GEMMINI_COMMAND(k_PRELOAD, GEMMINI_BLOCK(BD, BD_cols, BD_rows), GEMMINI_BLOCK(C, C_cols, C_rows))
#define gemmini_preload(BD, C) gemmini_extended_preload(BD, C, DIM, DIM, DIM, DIM)
#define gemmini_preload_zeros(C) gemmini_preload(GARBAGE_ADDR, C)

/* preloaded: with what the preload before it brought; accumulated: with what the array already holds. */
#define gemmini_extended_compute_preloaded(A, BD, A_cols, A_rows, BD_cols, BD_rows) \
  GEMMINI_COMMAND(k_COMPUTE_PRELOADED, GEMMINI_BLOCK(A, A_cols, A_rows), GEMMINI_BLOCK(BD, BD_cols, BD_rows))
#define gemmini_extended_compute_accumulated(A, BD, A_cols, A_rows, BD_cols, BD_rows) \
  GEMMINI_COMMAND(k_COMPUTE_ACCUMULATE, GEMMINI_BLOCK(A, A_cols, A_rows), GEMMINI_BLOCK(BD, BD_cols, BD_rows))
#define gemmini_compute_preloaded(A, BD) gemmini_extended_compute_preloaded(A, BD, DIM, DIM, DIM, DIM)
#define gemmini_compute_accumulated(A, BD) gemmini_extended_compute_accumulated(A, BD, DIM, DIM, DIM, DIM)

/* ---- Configuration ---------------------------------------------------------------------------------------- */

/* rs1: [63:32] accumulator scale, [31:16] A stride in rows, [9] B transposed, [8] A transposed, [7] strides only,
 * [4:3] activation, [2] dataflow. rs2: [63:48] C stride in rows, [31:0] shift. */
#define gemmini_extended3_config_ex(dataflow, act, shift, scale, C_stride, A_stride, A_transpose, B_transpose, \
                                    set_only_strides) \
  GEMMINI_COMMAND(k_CONFIG, \
                  GEMMINI_FIELD(acc_scale_t_to_acc_scale_t_bits((acc_scale_t)(scale)), 32) | \
                      GEMMINI_FIELD(A_stride, 16) | ((B_transpose) << 9) | ((A_transpose) << 8) | \
                      ((set_only_strides) << 7) | ((act) << 3) | ((dataflow) << 2) | CONFIG_EX, \
                  GEMMINI_FIELD(C_stride, 48) | (shift))
#define gemmini_extended2_config_ex(dataflow, act, shift, A_stride, A_transpose, B_transpose) \
  gemmini_extended3_config_ex(dataflow, act, shift, ACC_SCALE_IDENTITY, 1, A_stride, A_transpose, B_transpose, false)
#define gemmini_extended_config_ex(dataflow, act, shift, A_stride, A_transpose, B_transpose) \
  gemmini_extended2_config_ex(dataflow, act, shift, A_stride, A_transpose, B_transpose)
#define gemmini_config_ex(dataflow, act, shift) gemmini_extended_config_ex(dataflow, act, shift, 1, 0, 0)

/* rs1: [63:32] scale, [31:16] rows between the tiles of a wide mvin, [15:8] pixel repeats, [4:3] which mvin,
 * [2] data for the accumulator comes as input elements. rs2: stride. */
#define gemmini_extended5_config_ld(stride, scale, shrunk, block_stride, pixel_repeats, id) \
  GEMMINI_COMMAND(k_CONFIG, \
                  GEMMINI_FIELD(scale_t_to_scale_t_bits(scale), 32) | GEMMINI_FIELD(block_stride, 16) | \
                      GEMMINI_FIELD(pixel_repeats, 8) | ((id) << 3) | ((shrunk) << 2) | CONFIG_LD, \
                  stride)
#define gemmini_extended4_config_ld(stride, scale, shrunk, block_stride, id) \
  gemmini_extended5_config_ld(stride, scale, shrunk, block_stride, 1, id)
#define gemmini_extended3_config_ld(stride, scale, shrunk, id) gemmini_extended4_config_ld(stride, scale, shrunk, DIM, id)
#define gemmini_extended2_config_ld(stride, scale, shrunk) gemmini_extended3_config_ld(stride, scale, shrunk, 0)
#define gemmini_extended_config_ld(stride, scale) gemmini_extended2_config_ld(stride, scale, false)
#define gemmini_config_ld(stride) gemmini_extended_config_ld(stride, MVIN_SCALE_IDENTITY)

/* rs1: [63:56] ocols, [55:48] orows, [47:40] pocols, [39:32] porows, [31:24] pool_out_dim, [11:10] left and [9:8]
 * upper padding, [7:6] pool size, [5:4] pool stride (0: no pooling), [3:2] activation.
 * rs2: [63:32] accumulator scale, [31:0] stride. */
#define gemmini_extended2_config_st(stride, act, scale, pool_stride, pool_size, pool_out_dim, porows, pocols, orows, \
                                    ocols, upad, lpad) \
  GEMMINI_COMMAND(k_CONFIG, \
                  GEMMINI_FIELD(ocols, 56) | GEMMINI_FIELD(orows, 48) | GEMMINI_FIELD(pocols, 40) | \
                      GEMMINI_FIELD(porows, 32) | GEMMINI_FIELD(pool_out_dim, 24) | GEMMINI_FIELD(lpad, 10) | \
                      GEMMINI_FIELD(upad, 8) | GEMMINI_FIELD(pool_size, 6) | GEMMINI_FIELD(pool_stride, 4) | \
                      GEMMINI_FIELD(act, 2) | CONFIG_ST, \
                  GEMMINI_FIELD(acc_scale_t_to_acc_scale_t_bits((acc_scale_t)(scale)), 32) | (uint32_t)(stride))
#define gemmini_extended_config_st(stride, act, scale) \
  gemmini_extended2_config_st(stride, act, scale, 0, 0, 0, 0, 0, 0, 0, 0, 0)
#define gemmini_config_st(stride) gemmini_extended_config_st(stride, NO_ACTIVATION, ACC_SCALE_IDENTITY)

/* Constants of the normalizing activations, on machines that have them. */
#define gemmini_config_norm(q_const, q_const_type, set_stats_id_only, act_msb, stat_id, igelu_qb, igelu_qc) \
  GEMMINI_COMMAND(k_CONFIG, \
                  GEMMINI_FIELD((uint32_t)(q_const), 32) | (((q_const_type) & 1) << 18) | \
                      (((set_stats_id_only) & 1) << 17) | (((act_msb) & 1) << 16) | GEMMINI_FIELD(stat_id, 8) | \
                      CONFIG_BERT, \
                  GEMMINI_FIELD((uint32_t)(igelu_qc), 32) | (uint64_t)(uint32_t)(igelu_qb))

/* Empties the TLBs; skip = 1 gives up the translations that are waiting. */
#define gemmini_flush(skip) GEMMINI_COMMAND(k_FLUSH, skip, 0)
/* Waits until everything issued before has left the accelerator, writes to memory included. */
#define gemmini_fence() asm volatile("fence")

/* Access to the performance counters. */
#define gemmini_counter_access(rd, config_register) \
  { uint32_t unused_; ROCC_INSTRUCTION_R_R_R(XCUSTOM_ACC, rd, config_register, unused_, k_COUNTER) }

/* ---- The hardware matmul loop ------------------------------------------------------------------------------ */

/* C (+)= A B + D on I x J x K tiles; pad_* elements are missing in the last tile of each dimension. D or C NULL: no
 * bias, no mvout; A or B NULL: it lies in the scratchpad already. a_spad_id, b_spad_id: the half of the scratchpad that A
 * begins in and B ends in, 1 or 2; 0: loops take turns. is_resadd is refused. */
#define gemmini_loop_ws(I, J, K, pad_I, pad_J, pad_K, A, B, D, C, A_stride, B_stride, D_stride, C_stride, A_transpose, \
                        B_transpose, full_C, low_D, ex_accumulate, act, a_spad_id, b_spad_id, is_resadd) \
  { \
    GEMMINI_COMMAND(k_LOOP_WS_CONFIG_BOUNDS, \
                    GEMMINI_FIELD(pad_K, 32) | GEMMINI_FIELD(pad_J, 16) | GEMMINI_FIELD(pad_I, 0), \
                    GEMMINI_FIELD(K, 32) | GEMMINI_FIELD(J, 16) | GEMMINI_FIELD(I, 0)) \
    GEMMINI_COMMAND(k_LOOP_WS_CONFIG_ADDRS_AB, A, B) \
    GEMMINI_COMMAND(k_LOOP_WS_CONFIG_ADDRS_DC, D, C) \
    GEMMINI_COMMAND(k_LOOP_WS_CONFIG_STRIDES_AB, A_stride, B_stride) \
    GEMMINI_COMMAND(k_LOOP_WS_CONFIG_STRIDES_DC, D_stride, C_stride) \
    GEMMINI_COMMAND(k_LOOP_WS, \
                    GEMMINI_FIELD(a_spad_id, 18) | GEMMINI_FIELD(b_spad_id, 16) | GEMMINI_FIELD(act, 8) | \
                        ((low_D) << 2) | ((full_C) << 1) | (ex_accumulate), \
                    ((is_resadd) << 2) | ((B_transpose) << 1) | (A_transpose)) \
  }

/* ---- The hardware convolution loop ------------------------------------------------------------------------- */

/* Four fields of 16 bits, the first in the highest bits. */
#define GEMMINI_QUARTERS(a, b, c, d) \
  (GEMMINI_FIELD(a, 48) | GEMMINI_FIELD(b, 32) | GEMMINI_FIELD(c, 16) | GEMMINI_FIELD(d, 0))

/* One tile of a convolution of square images: batches images of orows x ocols pixels (porows x pocols after pooling)
 * of pochs channels, from krows x kcols of the kernel and kchs input channels; lpad, rpad, upad, dpad of its input and
 * plpad, prpad, pupad, pdpad of its pooling windows lie outside the image. bias NULL: results are added to those of
 * the loop before; output NULL: they stay for the next. */
#define gemmini_loop_conv_ws(batch_size, in_dim, in_channels, out_channels, out_dim, pool_out_dim, stride, padding, \
                             kernel_dim, kernel_dilation, pool_size, pool_stride, pool_padding, batches, porows, \
                             pocols, pochs, krows, kcols, kchs, lpad, rpad, upad, dpad, plpad, prpad, pupad, pdpad, \
                             orows, ocols, weights, output, bias, input, no_bias, no_pool, downsample, wrot180, \
                             input_dilated, activation, trans_output_1203, trans_weight_1203, trans_weight_0132, \
                             trans_input_3120, max_pixels_per_row, dw) \
  { \
    GEMMINI_COMMAND(k_LOOP_CONV_WS_CONFIG_1, GEMMINI_QUARTERS(out_channels, in_channels, in_dim, batch_size), \
                    GEMMINI_QUARTERS(padding, stride, pool_out_dim, out_dim)) \
    GEMMINI_COMMAND(k_LOOP_CONV_WS_CONFIG_2, GEMMINI_QUARTERS(kernel_dim, pool_size, pool_stride, pool_padding), \
                    GEMMINI_QUARTERS(batches, porows, pocols, pochs)) \
    GEMMINI_COMMAND(k_LOOP_CONV_WS_CONFIG_3, GEMMINI_QUARTERS(krows, kcols, kchs, lpad), \
                    GEMMINI_QUARTERS(rpad, upad, dpad, plpad)) \
    GEMMINI_COMMAND(k_LOOP_CONV_WS_CONFIG_4, GEMMINI_QUARTERS(orows, prpad, pupad, pdpad), \
                    GEMMINI_QUARTERS(0, 0, kernel_dilation, ocols)) \
    GEMMINI_COMMAND(k_LOOP_CONV_WS_CONFIG_5, weights, output) \
    GEMMINI_COMMAND(k_LOOP_CONV_WS_CONFIG_6, bias, input) \
    GEMMINI_COMMAND(k_LOOP_CONV_WS, \
                    GEMMINI_FIELD(max_pixels_per_row, 8) | GEMMINI_FIELD(dw, 6) | \
                        GEMMINI_FIELD(trans_input_3120, 5) | GEMMINI_FIELD(trans_weight_0132, 4) | \
                        GEMMINI_FIELD(trans_weight_1203, 3) | GEMMINI_FIELD(trans_output_1203, 2) | \
                        GEMMINI_FIELD(wrot180, 1) | GEMMINI_FIELD(no_bias, 0), \
                    GEMMINI_FIELD(activation, 3) | GEMMINI_FIELD(input_dilated, 2) | GEMMINI_FIELD(downsample, 1) | \
                        GEMMINI_FIELD(no_pool, 0)) \
  }

#include "gemmini_matmul.h"

#include "gemmini_conv.h"

#endif
