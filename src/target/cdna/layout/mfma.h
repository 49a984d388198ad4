/* mfma.h - the matrix instructions of gfx942 and gfx950, and the places of their operands in a wave's registers.
 *
 * Every operand is one `cdna_fragment`, a bijection with both directions:
 *
 *     (block, row, column) of the matrix  <->  (lane, item)
 *
 * The items of a lane are packed without gaps, little-endian, into its registers: item e of w bits begins at bit e * w,
 * which is in register e * w / 32 (6-bit items may cross into the next one).
 *
 * Source: "AMD Instinct CDNA4 Instruction Set Architecture", sections 7.1.4 (layouts), 7.1.5 (8 bits and less), 7.1.6
 * (broadcast), 7.2.1 (scales), 7.5 (sparse); the manual of CDNA3 agrees for its instructions. Differences to other
 * sources:
 *   - 32 bytes of a lane (8-bit f8f6f4, B of the widest sparse instructions) are two runs of k, not one; 24 bytes (6
 *     bits) are one, whatever the type of the other operand.
 *   - A with CBSZ: lane l reads lane l % S + S * ABID with S = 64 >> CBSZ, all blocks from one run of lanes. AMD's
 *     matrix instruction calculator broadcasts within groups of 2^CBSZ blocks instead; the two agree where 2^CBSZ is
 *     the number of blocks. */
#ifndef TW_CDNA_MFMA_H
#define TW_CDNA_MFMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/cdna/arch.h"

/* FP8 and BF8 are the FNUZ formats on gfx942, OCP's formats on gfx950. */
typedef enum cdna_type {
  CDNA_F64,
  CDNA_F32,
  CDNA_XF32, /* f32 where the multiplier uses 10 bits of fraction */
  CDNA_F16,
  CDNA_BF16,
  CDNA_I8,
  CDNA_I32,
  CDNA_FP8, /* these five types are in the order of the codes in CBSZ and BLGP */
  CDNA_BF8,
  CDNA_FP6,
  CDNA_BF6,
  CDNA_FP4,
  CDNA_F8F6F4, /* any of the five: CBSZ says which for A, BLGP for B */
  CDNA_TYPES
} cdna_type;

const char *cdna_type_name(cdna_type);
int cdna_type_bits(cdna_type); /* 0 for CDNA_F8F6F4 */

/* The meaning of the fields CBSZ, ABID and BLGP of the encoding for an instruction. */
typedef enum cdna_fields {
  CDNA_FIELDS_NONE,      /* ignored */
  CDNA_FIELDS_BLGP,      /* BLGP permutes lanes of B */
  CDNA_FIELDS_BROADCAST, /* BLGP permutes lanes of B, and CBSZ with ABID broadcasts lanes of A */
  CDNA_FIELDS_NEGATE,    /* BLGP bits 0, 1, 2 negate A, B, C (f64) */
  CDNA_FIELDS_INDEX,     /* CBSZ and ABID choose the set of sparse indices */
  CDNA_FIELDS_FORMATS,   /* CBSZ and BLGP are the formats of A and B */
} cdna_fields;

typedef struct cdna_mfma {
  const char *name; /* "v_mfma_f32_16x16x32_bf16" */
  uint8_t m, n, k;  /* of one block */
  uint8_t blocks;
  cdna_type a, b, c; /* c is also the type of the result */
  cdna_fields fields;
  /* Passes of 4 cycles until the next instruction can start, by architecture; 0: not on this architecture. For
   * f8f6f4: with an 8-bit operand; otherwise half as many. */
  uint8_t passes[CDNA_ARCHES];
} cdna_mfma;

/* By position; NULL past the last. */
const cdna_mfma *cdna_mfma_at(size_t index);
/* By exact name, for any architecture; "v_mfma_scale_..." finds the instruction that it scales. NULL if unknown. */
const cdna_mfma *cdna_mfma_find(const char *name);
static inline bool cdna_mfma_is_sparse(const cdna_mfma *i) { return i->fields == CDNA_FIELDS_INDEX; }
/* Multiply-accumulates, as if dense. */
static inline int64_t cdna_mfma_macs(const cdna_mfma *i) { return (int64_t)i->m * i->n * i->k * i->blocks; }
/* With these operand types (types of f8f6f4; any for others). 0: not on this architecture. */
int cdna_mfma_passes(const cdna_mfma *, cdna_arch, cdna_type a, cdna_type b);

typedef enum cdna_operand {
  CDNA_A,       /* rows i, columns k; of a sparse instruction the compressed K/2 */
  CDNA_B,       /* rows k, columns j */
  CDNA_C,       /* rows i, columns j; D has the same layout */
  CDNA_INDEX,   /* 2 bits for every item of a sparse A: which k of its group of four; rows and columns are A's */
  CDNA_SCALE_A, /* E8M0: rows i, columns k / 32 (f8f6f4); the byte of the register is chosen by OP_SEL */
  CDNA_SCALE_B, /* rows k / 32, columns j */
  CDNA_OPERANDS
} cdna_operand;

const char *cdna_operand_name(cdna_operand); /* "A", ... */

typedef struct cdna_fragment {
  int blocks, rows, columns;
  int bits;      /* bits of an item */
  int items;     /* per lane */
  int registers; /* 32 bits each */
  /* the map's parameters: fragment.c */
  bool is_output, k_is_row;
  int outer; /* inputs: M or N */
  int run;   /* inputs: consecutive k of a lane */
  int runs;  /* inputs: per lane */
  int height, lane_rows, lane_blocks, groups;
} cdna_fragment;

typedef struct cdna_slot {
  int lane, item;
} cdna_slot;
typedef struct cdna_position {
  int block, row, column;
} cdna_position;

/* The fragment of an operand; `type` is the type of A or B for instructions with several types (CDNA_F8F6F4), otherwise
 * ignored. False: the instruction has no such operand, or not of that type. */
bool cdna_fragment_of(const cdna_mfma *, cdna_operand, cdna_type type, cdna_fragment *);
cdna_slot cdna_fragment_slot(const cdna_fragment *, cdna_position);
cdna_position cdna_fragment_position(const cdna_fragment *, cdna_slot);
/* First bit of an item in its lane's registers. */
static inline int cdna_item_bit(const cdna_fragment *f, int item) { return item * f->bits; }

/* True if CBSZ and ABID name an existing block: groups of 2^CBSZ blocks, at most as many as the instruction has, all
 * use block ABID of their group. AMD's matrix instruction calculator works like this. The manuals use one run of lanes
 * for all groups instead; both agree where there is one group. */
bool cdna_broadcast_is_defined(const cdna_mfma *, int cbsz, int abid);
/* The lane that is read in place of `lane`. CBSZ and ABID must be defined, and BLGP below 8. */
int cdna_lane_of_a(const cdna_mfma *, int lane, int cbsz, int abid);
int cdna_lane_of_b(int lane, int blgp);

/* First bit, in the index register, of the indices that a sparse instruction uses: item e's 2 bits follow at 2 * e. */
int cdna_index_bit(const cdna_mfma *, int cbsz, int abid);

#endif
