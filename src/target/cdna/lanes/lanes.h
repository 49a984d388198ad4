/* lanes.h - the arithmetic of vector instructions, as functions on whole registers.
 *
 * A register is a row of 64 dwords, one a lane; a value of several dwords takes that many consecutive rows. The
 * functions are independent of waves, EXEC and encodings: emulator/valu.c resolves operands to rows, applies modifiers
 * and writes the active lanes. They are compiled once for each instruction set of the host (target.cmake) from the same
 * source, body.h, whose loops the compiler vectorizes.
 *
 * The result may share rows with a source: each iteration reads its lane before it writes it. */
#ifndef TW_CDNA_LANES_H
#define TW_CDNA_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/cdna/arch.h"

enum { CDNA_ROWS_MAX = 4 }; /* dwords of a vector ALU operand */

typedef struct cdna_lanes {
  uint32_t *d;
  const uint32_t *s[3];
  const uint32_t *upper[3]; /* the second dword of packed f32; in other operands it follows the first */
  const uint32_t *old;      /* previous rows of the destination, for instructions that keep a part of it */
  uint64_t in, out;         /* masks: carry or VCC in, comparison or carry out */
  uint32_t imm;             /* op_sel, bitop3's table: parameters of the function */
  uint32_t mode;            /* MODE */
  cdna_arch arch;
} cdna_lanes;

typedef void cdna_lane_function(cdna_lanes *);

/* Type of a function's result. */
typedef enum cdna_result { CDNA_D, CDNA_MASK, CDNA_D_AND_MASK } cdna_result;

typedef struct cdna_lane_entry {
  const char *name; /* mnemonic without suffix */
  cdna_lane_function *run;
  uint8_t result;
  uint8_t keeps; /* reads `old` */
} cdna_lane_entry;

/* Items of matrices in registers, one in each lane: `mask` at bit `shift` of its dword, continued in the next dword
 * if it is cut. */
typedef enum cdna_item_kind {
  CDNA_ITEM_TABLE, /* by their codes */
  CDNA_ITEM_SMALL, /* 8 bits or less, without infinities */
  CDNA_ITEM_F16,
  CDNA_ITEM_BF16,
  CDNA_ITEM_XF32,
  CDNA_ITEM_F32
} cdna_item_kind;
typedef struct cdna_items {
  const uint32_t *row; /* of the first item; `n` items follow each other in the dwords of this row and the next ones */
  int n, spacing;      /* bits from one item to the next */
  /* Item e of lanes 16 q to 16 q + 15 is written to 16 floats, from at[16 * q * n + e] on. */
  const uint16_t *at;
  uint32_t mask;
  cdna_item_kind kind;
  const float *table; /* the value of each code */
  /* CDNA_ITEM_SMALL: bits of an item and of its fraction; what is added to exponents; the smallest number; the codes
   * (code & nan_mask) == nan that are NaN */
  int bits, fraction;
  uint32_t rebias;
  float step;
  uint32_t nan_mask, nan;
} cdna_items;

/* A block of a matrix instruction: D = A B + C. A is [k][m] and B [k][n]. Rows of C and D are the bits of floats, and
 * begin `at` dwords from `c` and `d`: in registers, or in a matrix. They are equal or disjoint. */
typedef struct cdna_product {
  uint32_t *d;
  const uint32_t *c;
  const uint16_t *at;
  const float *a, *b;
  int m, n, k;
} cdna_product;

/* The same on CDNA3: emulator/fused.h. */
typedef struct cdna_fused {
  cdna_product of;
  const int32_t *a_exponent, *b_exponent; /* bits of each item */
  int group;
  bool halves; /* even and odd k are summed separately */
  int done;    /* number of rows that are already computed */
} cdna_fused;

enum { CDNA_NOT_WHOLE = 1000 };

/* How a modifier changes the dwords of a row: a part is moved to the lowest bits and extended, then bits are cleared
 * and flipped. */
typedef struct cdna_adjustment {
  int left, right; /* shifts: first `left`, then `right`, which extends the sign if `is_signed` */
  bool is_signed;
  uint32_t keep, flip;
} cdna_adjustment;

/* The functions of one instruction set, and operations of valu.c on rows. */
typedef struct cdna_lane_kit {
  const char *isa;
  const cdna_lane_entry *entry;
  size_t n;
  void (*broadcast)(uint32_t *row, uint32_t value);
  void (*adjust)(uint32_t *row, const uint32_t *from, const cdna_adjustment *);
  void (*expand)(uint32_t *row, uint64_t mask); /* all ones where the bit is set */
  uint64_t (*pack)(const uint32_t *row);        /* the sign bits */
  void (*blend)(uint32_t *d, const uint32_t *s, const uint32_t *mask, int rows);
  void (*unpack)(const cdna_items *, float *out);
  /* d[i][j] = fma(a[k][i], b[k][j], ... c[i][j]) for k = 0, 1, ... */
  void (*multiply)(const cdna_product *);
  /* The largest exponent of n items that all are multiples of its 2^-9 (lanes/fused.h); n is a multiple of 32. `least`: the
   * smallest exponent of their type. CDNA_NOT_WHOLE: they have more bits, or all are 0. */
  int (*whole_exponent)(const float *, int n, int least);
  /* As fuse for 16 or 32 rows and columns, while no bit of a product or of C is cut; returns the number of rows that are
   * done. `top`: the sum of whole_exponent of A and B. */
  int (*multiply_whole)(const cdna_product *, int group, int top);
  /* requires 16 or 32 rows and columns, exponents of products between -100 and 100, and a C that is near */
  void (*fuse)(const cdna_fused *);
  void (*exponents)(const float *, int n, int least, int32_t *e, int *low, int *high);
  bool (*are_near)(const uint32_t *, int n); /* 0, or between 2^-100 and 2^120 */
} cdna_lane_kit;

extern const cdna_lane_kit cdna_kit_portable, cdna_kit_avx2, cdna_kit_avx512;
/* The best set for this CPU; TILEWRIGHT_CDNA_ISA names a lower one. */
const cdna_lane_kit *cdna_kit(void);

#endif
