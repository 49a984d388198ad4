/* functional_private.h - shared by the parts of the functional machine: functional.c (state, registers),
 * functional_dma.c (mvin, mvout) and functional_array.c (preload, compute). */
#ifndef TW_GEMMINI_FUNCTIONAL_PRIVATE_H
#define TW_GEMMINI_FUNCTIONAL_PRIVATE_H

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "target/gemmini/machine/functional.h"
#include "tilewright/format.h"

enum { GM_MAX_DIM = 64, GM_WHY = 256 };

/* Contents of a register set of the array. UNDEFINED: random values of the wires, different from run to run. */
typedef enum gm_contents { GM_UNDEFINED, GM_WEIGHTS, GM_PARTIAL_SUMS } gm_contents;

/* One of the two registers of every PE. Integer weights have the packing of the kernels for this processor; most use
 * int16 pairs of consecutive k, dim columns wide: weights[k / 2][column][k % 2], as a pairwise multiply-add reads
 * them. */
typedef struct gm_pe_registers {
  gm_contents contents;
  union {
    int16_t weights[GM_MAX_DIM * GM_MAX_DIM];
    float real_weights[GM_MAX_DIM * GM_MAX_DIM];
    int32_t sums[GM_MAX_DIM * GM_MAX_DIM];
    float real_sums[GM_MAX_DIM * GM_MAX_DIM];
  };
} __attribute__((aligned(64))) gm_pe_registers;

/* The inner loops, in the best form for this processor; all forms give the same bits (functional_kernels.c).
 * Matrices are dim wide without gaps. */
typedef struct gm_kernels {
  /* out[i][j] = init[i][j] + sum over k of a[i][k] * weights[k][j], i < rows; out may be init; init may be NULL (0). */
  void (*multiply)(int dim, int rows, const int8_t *a, const int16_t *weights, const int32_t *init, int32_t *out);
  /* The same with one rounding a step (MulAddRecFN of the PE, Arithmetic.scala:359-394), k ascending from init. */
  void (*real_multiply)(int dim, int rows, const float *a, const float *weights, const float *init, float *out);
  /* dim x dim input elements to the order of gm_pe_registers.weights. */
  void (*pack)(int dim, const int8_t *matrix, int16_t *weights);
  /* out[i] = max(in[i], floor) * scale, rounded and saturated, i < dim. */
  void (*scale)(int dim, const int32_t *in, int32_t floor, float scale, int8_t *out);
} gm_kernels;

struct gm_arch {
  gm_pe_registers pe[2]; /* computes use pe[active], while the other one is loaded */
  int active;
  bool preload_waits; /* a preload that no compute has used yet */
  uint64_t c;         /* rs2 of that preload: address and size of C */
  bool plain;         /* integer weights, nothing transposed, all strides 1 */
  bool plain_c;       /* and C consists of whole rows of the accumulator */
  bool sums_left;     /* output-stationary: the active sums were written to C, and the array no longer holds them */

  const gm_config *config;
  const rv64_memory *memory;
  uint32_t issued;     /* commands of the core */
  uint64_t place[256]; /* addresses of the latest commands, by their order */
  struct gm_read {
    uint64_t address, bytes, place;
    uint32_t order; /* its number among the commands */
    bool by_core;
  } * reads; /* reads since the last fence from memory that a store may write */
  size_t n_reads, reads_room;
  uint32_t newest_read;        /* the largest of their orders */
  uint64_t short_strides;      /* loads whose block stride is below their rows */
  bool keeps_order;            /* stored data may be read only after a fence */
  rv64_region *last_region[2]; /* regions of the last DMA read and write; the next access is usually there, too */
  int dim, input_bytes, acc_bytes;
  bool real;          /* floating-point machine */
  bool half;          /* type of 16-bit input elements: bf16 or f16 */
  bool sums_may_wrap; /* one weight-stationary tile can exceed mesh_output_bits */
  uint32_t spad_rows, acc_rows;
  uint8_t *spad, *acc;                 /* rows of dim elements */
  uint8_t *spad_written, *acc_written; /* 1 for each row ever written */
  gm_unwritten unwritten;
  gm_registers registers;
  const gm_kernels *kernels;
};

/* The parts of a local address (LocalAddr.scala:21-31). */
typedef struct gm_address {
  bool acc, accumulate, full;
  uint32_t row;
} gm_address;

static inline gm_address gm_decode(uint32_t a) {
  return (gm_address){gm_is_acc(a), gm_accumulates(a), gm_is_full_width(a), a & 0x1fffffff};
}

/* Notes a read from memory that a store may write. */
void gm_note_read(gm_arch *, const struct gm_read *);
__attribute__((format(printf, 2, 3))) bool gm_fault(char why[GM_WHY], const char *format, ...);

/* The rows address.row .. address.row + last must exist. */
bool gm_check_rows(const gm_arch *, const char *command, gm_address, uint64_t last, char why[GM_WHY]);

/* Kernels for arrays of this size. The portable ones are returned on request, and if this processor has no faster
 * ones. */
const gm_kernels *gm_choose_kernels(int dim, bool portable);

static inline uint8_t *gm_spad_at(const gm_arch *g, uint32_t row) {
  return g->spad + (size_t)row * (size_t)(g->dim * g->input_bytes);
}
static inline uint8_t *gm_acc_at(const gm_arch *g, uint32_t row) {
  return g->acc + (size_t)row * (size_t)(g->dim * g->acc_bytes);
}

/* The command reads these rows, which exist. */
static inline void gm_note_rows(gm_arch *g, const char *command, bool acc, uint32_t row, int n) {
  const uint8_t *first = (acc ? g->acc_written : g->spad_written) + row;
  if (g->unwritten.command) return;
  const uint8_t *hole = memchr(first, 0, (size_t)n);
  if (hole) g->unwritten = (gm_unwritten){command, acc, row + (uint32_t)(hole - first)};
}

/* ---- arithmetic of one element ---- */

/* Hardfloat has one NaN; x86 propagates payloads and signs. */
static inline float gm_canonical(float x) {
  uint32_t nan = 0x7fc00000;
  if (x != x) memcpy(&x, &nan, sizeof x);
  return x;
}

/* a * b on the multiply-adder with a third operand of +0 (Arithmetic.scala:334-357): -0 becomes +0. */
static inline float gm_real_multiply(float a, float b) { return gm_canonical(a * b + 0.0f); }
static inline float gm_real_add(float a, float b) { return gm_canonical(a + b); }

/* Element i of a row of input elements, of a floating-point machine; and back, rounded to nearest even. */
static inline float gm_input_at(const gm_arch *g, const void *row, int i) {
  uint16_t code;
  float x;
  if (!g->half) {
    memcpy(&x, (const uint8_t *)row + 4 * (size_t)i, 4);
    return x;
  }
  memcpy(&code, (const uint8_t *)row + 2 * (size_t)i, 2);
  return g->config->input_type == TW_BF16 ? tw_bf16_to_f32(code) : tw_f16_to_f32(code);
}
static inline void gm_read_inputs(const gm_arch *g, const void *row, int n, float *out) {
  if (g->half)
    for (int i = 0; i < n; i++) out[i] = gm_input_at(g, row, i);
  else
    memcpy(out, row, 4 * (size_t)n);
}
static inline void gm_set_input(const gm_arch *g, void *row, int i, float x) {
  if (!g->half) {
    memcpy((uint8_t *)row + 4 * (size_t)i, &x, 4);
    return;
  }
  x = gm_canonical(x);
  const uint16_t code = g->config->input_type == TW_BF16 ? tw_f32_to_bf16(x) : tw_f32_to_f16(x);
  memcpy((uint8_t *)row + 2 * (size_t)i, &code, 2);
}

/* A double rounded to a float, with the last bit set if inexact, so that a later rounding to 16 bits gives the same
 * as direct rounding. */
static inline float gm_round_to_odd(double x) {
  const float y = (float)x;
  uint32_t bits = tw_bits_of(y);
  if ((double)y == x || x != x || bits & 1) return y;
  bits += fabs((double)y) > fabs(x) ? -1u : 1u;
  return tw_float_of(bits);
}

/* The scaler of mvin for an input element: the scale is rounded to the element's type, then the product
 * (Arithmetic.scala:334-357; -0 as in gm_real_multiply). The caller rounds it. */
static inline float gm_scale_input(const gm_arch *g, float x, float scale) {
  if (!g->half) return gm_real_multiply(x, scale);
  const bool bf16 = g->config->input_type == TW_BF16;
  const float factor = bf16 ? tw_bf16_to_f32(tw_f32_to_bf16(scale)) : tw_f16_to_f32(tw_f32_to_f16(scale));
  return gm_canonical(gm_round_to_odd((double)x * (double)factor + 0.0));
}

/* Two roundings to nearest even: the product to float, the float to integer; then saturation, NaN to the largest
 * (Configs.scala:115-147, RecFNToIN). Clamping first gives the same, as the bounds are integers; below 2^22 the
 * addition of 1.5 * 2^23 rounds to nearest even in the current (default) rounding mode. */
static inline int8_t gm_scale_to_int8(float product) {
  float y = product < 127.0f ? product : 127.0f;
  y = y > -128.0f ? y : -128.0f;
  y += 12582912.0f;
  int32_t bits;
  memcpy(&bits, &y, sizeof bits);
  return (int8_t)(bits - 0x4b400000);
}

static inline int32_t gm_add_wrapping(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }

/* A row of the accumulator as input elements: activation, then scale, then saturation (AccumulatorScale.scala:107-124:
 * in this order, so that a negative scale makes a ReLU's results negative). */
static inline void gm_acc_to_input(const gm_arch *g, const uint8_t *row, enum gm_activation activation, float scale,
                                   void *out) {
  if (g->real) {
    for (int i = 0; i < g->dim; i++) {
      float x;
      memcpy(&x, row + 4 * (size_t)i, 4);
      if (activation == GM_RELU && x < 0) x = 0; /* a NaN is kept: the only NaN has a positive sign */
      gm_set_input(g, out, i, gm_real_multiply(x, scale));
    }
    return;
  }
  g->kernels->scale(g->dim, (const int32_t *)(const void *)row, activation == GM_RELU ? 0 : INT32_MIN, scale, out);
}

#endif
