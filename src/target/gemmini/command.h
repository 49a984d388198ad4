/* command.h - Gemmini's instruction set: a RoCC command and what its fields mean.
 *
 * Encodings as documented in the README of ucb-bar/gemmini and GemminiISA.scala: custom-3 instructions whose
 * funct7 selects the command and whose two 64-bit operands hold the fields. Encoder (headers for candidate
 * programs, runtime/) and decoder (machine/) share this table of numbers. */
#ifndef TW_GEMMINI_COMMAND_H
#define TW_GEMMINI_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

enum gm_funct {
  GM_CONFIG = 0,
  GM_MVIN2 = 1,
  GM_MVIN = 2,
  GM_MVOUT = 3,
  GM_COMPUTE_PRELOADED = 4,
  GM_COMPUTE_ACCUMULATED = 5,
  GM_PRELOAD = 6,
  GM_FLUSH = 7,
  GM_LOOP_WS = 8,
  GM_LOOP_WS_BOUNDS = 9,
  GM_LOOP_WS_ADDRS_AB = 10,
  GM_LOOP_WS_ADDRS_DC = 11,
  GM_LOOP_WS_STRIDES_AB = 12,
  GM_LOOP_WS_STRIDES_DC = 13,
  GM_MVIN3 = 14,
  GM_LOOP_CONV = 15,
  GM_LOOP_CONV_CONFIG_1 = 16,
  GM_LOOP_CONV_CONFIG_2 = 17,
  GM_LOOP_CONV_CONFIG_3 = 18,
  GM_LOOP_CONV_CONFIG_4 = 19,
  GM_LOOP_CONV_CONFIG_5 = 20,
  GM_LOOP_CONV_CONFIG_6 = 21,
  GM_MVOUT_SPAD = 23,
  GM_COUNTER = 126,
};
enum gm_config_kind { GM_CONFIG_EX = 0, GM_CONFIG_LD = 1, GM_CONFIG_ST = 2, GM_CONFIG_BERT = 3 }; /* rs1[1:0] */

typedef struct gm_command {
  uint8_t funct;
  uint8_t spare_rows; /* last rows of a load that its hardware loop reads and never uses: they may be outside memory */
  uint32_t order;     /* number of the core's command, from 1 on; 0: made by a hardware loop */
  uint64_t rs1, rs2;
} gm_command;

/* Local addresses (LocalAddr.scala): bit 31 accumulator, 30 accumulate, 29 full-width read, 28..: norm command;
 * all ones = garbage (no address). */
#define GM_GARBAGE 0xffffffffu
static inline bool gm_is_garbage(uint32_t a) { return a == GM_GARBAGE; }
static inline bool gm_is_acc(uint32_t a) { return a >> 31; }
static inline bool gm_accumulates(uint32_t a) { return a >> 30 & 1; }
static inline bool gm_is_full_width(uint32_t a) { return a >> 29 & 1; }

/* The size fields of mvin, mvout, preload and compute: rs[63:48] rows, [47:32] columns, [31:0] local address. */
static inline uint32_t gm_local(uint64_t r) { return (uint32_t)r; }
static inline int gm_cols(uint64_t r) { return (int)(r >> 32 & 0xffff); }
static inline int gm_rows(uint64_t r) { return (int)(r >> 48 & 0xffff); }

#endif
