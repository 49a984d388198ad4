/* config.h - one Gemmini configuration: what a text file in configs/ says.
 *
 * The defaults of the field names follow the generator's own (ucb-bar/gemmini, GemminiConfigs.scala). Units are
 * in the names; capacities are bytes. Everything that differs between two generated machines is here, so that
 * no other file asks "which configuration is this?". */
#ifndef TW_GEMMINI_CONFIG_H
#define TW_GEMMINI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/config_file.h"
#include "tilewright/status.h"
#include "tilewright/type.h"

typedef enum gm_dataflow { GM_BOTH_DATAFLOWS, GM_WEIGHT_STATIONARY_ONLY, GM_OUTPUT_STATIONARY_ONLY } gm_dataflow;

typedef struct gm_config {
  char name[64], summary[160];
  double error; /* error of its cycles: see tw_traits */
  char error_of[160];

  /* the array and its memories */
  int dim;                    /* PEs in a row and in a column; rows of a tile, elements of a row */
  tw_type input_type;         /* TW_I8, TW_F32, TW_BF16 or TW_F16; element of scratchpad, A, B */
  tw_type acc_type;           /* TW_I32 or TW_F32; element of the accumulator, D */
  int spad_bytes, spad_banks; /* capacity of all banks together; a row is dim input elements */
  int acc_bytes, acc_banks;   /* likewise; a row is dim accumulator elements */
  int mesh_output_bits;       /* width of a partial sum between PEs (spatialArrayOutputType); 32 in floating point */
  int tile_rows;              /* PEs of a tile in each direction, without registers between them (tileRows) */
  gm_dataflow dataflow;
  /* Parts that the generator may leave out. A program that uses an absent part ends with a message. */
  bool has_mvin_scale;       /* mvin multiplies input-typed data by its scale (mvin_scale_args) */
  bool has_relu;             /* has_nonlinear_activations */
  bool has_max_pool;         /* of mvout */
  bool has_pixel_repeats;    /* of mvin (has_first_layer_optimizations) */
  bool has_loop_matmul;      /* the hardware loop gemmini_loop_ws */
  bool has_loop_conv;        /* the hardware loop gemmini_loop_conv_ws */
  bool has_training_convs;   /* its flags for training: transposed tensors, rotated weights, dilated inputs */
  bool has_dw_convs;         /* its flag for depthwise convolutions */
  bool ex_read_from_acc;     /* a compute may read operands from the accumulator */
  bool ex_write_to_spad;     /* a compute may write results to the scratchpad */
  bool ex_adds_d;            /* weight-stationary computes add a D (not hardcode_d_to_garbage_addr) */
  bool acc_read_full_width;  /* mvout can write accumulator elements without conversion */
  bool acc_read_small_width; /* mvout can write accumulator elements as input elements */
  bool mvin_scales_acc;      /* mvin multiplies accumulator-typed data by its scale too (mvin_scale_acc_args) */

  /* command path (ReservationStation.scala, Controller.scala) */
  int rs_load, rs_execute, rs_store;          /* reservation-station entries */
  int queue_load, queue_execute, queue_store; /* commands queued in each controller */
  int max_block_cols; /* widest mvin/mvout, elements; derived: max(dim, dma_max_bytes / input bytes) */

  /* DMA and bus */
  int dma_bus_bits;                              /* beat of the system bus */
  int dma_max_bytes;                             /* largest packet */
  int max_in_flight_reads, max_in_flight_writes; /* memory requests */
  int tlb_entries;

  /* pipeline depths, cycles */
  int spad_read_delay, mesh_output_delay, tile_latency, acc_latency;
  int mvin_scale_latency, acc_scale_latency;

  /* memory at the bus */
  int l2_bytes, l2_ways, l2_banks, l2_latency; /* latency: a request leaves the DMA -> first beat is back, hit */
  int l2_misses;                               /* miss registers */
  int l2_fill_latency;                         /* added if the L2 lacks the line, beyond llc_hit or llc_miss */
  int port_bytes;                              /* width of the memory port: bytes a cycle */
  int l2_write_interval;                       /* least cycles between two lines written to the memory */
  int llc_bytes, llc_hit, llc_miss;            /* latency of the memory port, cycles */
  int icache_bytes, icache_ways, dcache_bytes, dcache_ways;
} gm_config;

/* The C type of an element, as in the generator's header; 16-bit floats have the type of their bits. NULL: no
 * machine has elements of this type. */
const char *gm_c_type(tw_type);

/* Derived, used everywhere. */
static inline int gm_input_bytes(const gm_config *c) { return tw_type_bits(c->input_type) / 8; }
static inline int gm_acc_bytes(const gm_config *c) { return tw_type_bits(c->acc_type) / 8; }
static inline int gm_spad_rows(const gm_config *c) { return c->spad_bytes / (c->dim * gm_input_bytes(c)); }
static inline int gm_acc_rows(const gm_config *c) { return c->acc_bytes / (c->dim * gm_acc_bytes(c)); }
static inline int gm_spad_bank_rows(const gm_config *c) { return gm_spad_rows(c) / c->spad_banks; }
static inline int gm_acc_bank_rows(const gm_config *c) { return gm_acc_rows(c) / c->acc_banks; }

/* Parses the text of a configuration: one "key = value" a line, every key exactly once, '#' starts a comment.
 * Keys are the fields' names. Errors (TW_USAGE) name `origin` and the line. */
extern const tw_config_schema gm_config_schema;
tw_status gm_config_parse(const char *text, const char *origin, gm_config *out, tw_error *);

#endif
