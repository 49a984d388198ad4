/* lds.h - the lanes of an LDS instruction that are served together (its phases), the banks, and the cost.
 *
 * A bank is 4 bytes wide; bank = address / 4 mod banks. Serving the lanes of one phase takes as many turns as the
 * busiest bank has different dwords to serve; equal dwords are broadcast. A phase without conflicts takes one turn.
 * The model counts turns, not clocks: the duration of a turn has not been published.
 *
 * Rules with `is_measured` were measured on the machine; other rules are derived from them, as their source states.
 * Users: the views of layouts, the emulator's counters. */
#ifndef TW_CDNA_LDS_H
#define TW_CDNA_LDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/cdna/arch.h"

enum { CDNA_PHASES_MAX = 8, CDNA_BANKS_MAX = 64, CDNA_BANK_BYTES = 4 };

typedef enum cdna_lds_kind {
  CDNA_LDS_READ,
  CDNA_LDS_WRITE,
  CDNA_LDS_ATOMIC, /* no broadcast: each lane has its own turn */
  CDNA_LDS_KINDS
} cdna_lds_kind;

typedef struct cdna_lds_rule {
  int banks, phases;
  uint64_t lanes[CDNA_PHASES_MAX]; /* lanes of each phase: bit l is lane l; together all 64 */
  bool is_measured;
  const char *source;
} cdna_lds_rule;

/* The rule for an access of 1, 2, 4, 8, 12 or 16 bytes per lane; NULL for other sizes. */
const cdna_lds_rule *cdna_lds_rule_of(cdna_arch, cdna_lds_kind, int bytes);

typedef struct cdna_lds_instruction {
  const char *name; /* "ds_read_b128" */
  cdna_lds_kind kind;
  int bytes;           /* bytes per lane and access */
  int accesses;        /* 2 for read2 and write2, in sequence */
  int transposed_bits; /* bits of an element that a transposing read moves between lanes; otherwise 0 */
  bool is_direct;      /* a load from memory to LDS: lane l writes at M0 + l * bytes, for any address */
  bool has[CDNA_ARCHES];
} cdna_lds_instruction;

/* Exact name; NULL if it is not an instruction with banks. */
const cdna_lds_instruction *cdna_lds_instruction_find(const char *name);

typedef struct cdna_lds_phase {
  uint64_t lanes;                 /* lanes that are active */
  int turns;                      /* 0 without active lanes */
  uint8_t dwords[CDNA_BANKS_MAX]; /* different ones, by bank */
} cdna_lds_phase;

typedef struct cdna_lds_count {
  int phases; /* with active lanes */
  int turns;  /* turns in all phases; turns - phases are lost to conflicts */
  int worst;  /* turns in the worst phase: an n-way conflict */
  cdna_lds_phase phase[CDNA_PHASES_MAX];
} cdna_lds_count;

/* One access of a wave: byte addresses by lane, for the lanes in `active`. */
void cdna_lds_count_access(const cdna_lds_rule *, cdna_lds_kind, int bytes, const uint32_t address[CDNA_LANES],
                           uint64_t active, cdna_lds_count *);

/* Transposing reads (ds_read_b64_tr_b16, ...): each lane loads `items` elements; within 16 lanes, item n of a lane is
 * loaded by another lane. The rule for 4 items is from HipKittens' figure 20 and the MXFP4 write-up; 8 and 16 items
 * follow the same rule. The inverse has the same form: see the test. */
typedef struct cdna_lds_source {
  int lane, item;
} cdna_lds_source;
static inline cdna_lds_source cdna_lds_transposed(int items, int lane, int n) {
  const int lanes_of_row = 16 / items;
  return (cdna_lds_source){(lane & ~15) + lanes_of_row * n + lane % 16 / items, lane % items};
}

#endif
