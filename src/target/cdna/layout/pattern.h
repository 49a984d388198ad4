/* pattern.h - the addresses of an LDS instruction that moves a register tile from or to a tile in LDS.
 *
 * Its text is INSTRUCTION:LAYOUT, where LAYOUT states how lanes hold the elements (r, c) of a register tile:
 *   row16x32s8        HipKittens' row layout: lane l has row l % 16 and runs of 8 columns; the runs of a row go to
 *                     lanes l, l + 16, l + 32, l + 48, then to l's next items
 *   col16x32s8        its transpose: lane l has column l % 32 and runs of 8 rows
 *   a.INSTRUCTION     operand A, B or C of a matrix instruction (mfma.h): a.v_mfma_f32_16x16x32_bf16
 *   linear            no tile: lane l at l times the access's size, as direct loads write
 *   stride64          no tile: lane l at 64 l
 * The tile in LDS is row-major, with `pitch` bytes between rows. A smaller register tile moves over the whole tile; a
 * larger one spans several tiles, which are stored consecutively, row of tiles by row of tiles. */
#ifndef TW_CDNA_PATTERN_H
#define TW_CDNA_PATTERN_H

#include "target/cdna/layout/lds.h"
#include "target/cdna/layout/mfma.h"
#include "target/cdna/layout/swizzle.h"

typedef struct cdna_tile {
  int rows, columns; /* elements */
  cdna_type type;
  int pitch; /* bytes from row to row */
} cdna_tile;

static inline uint32_t cdna_tile_bytes(const cdna_tile *t) { return (uint32_t)(t->rows * t->pitch); }

typedef struct cdna_pattern {
  const cdna_lds_instruction *instruction;
  const cdna_lds_rule *rule;
  char text[96];
  size_t n;                        /* number of instructions with which a wave moves the tile */
  uint32_t (*address)[CDNA_LANES]; /* [n], bytes, without swizzle */
  bool in_tile;                    /* all addresses are within one tile */
} cdna_pattern;

/* TW_USAGE with the reason: an unknown instruction, lane items that are not adjacent, ... */
tw_status cdna_pattern_parse(const char *text, cdna_arch, const cdna_tile *, cdna_pattern *, tw_error *);
void cdna_pattern_free(cdna_pattern *);
/* The addresses of one of its instructions with swizzled tiles: the offset within the tile is swizzled. */
void cdna_pattern_addresses(const cdna_pattern *, size_t at, const cdna_tile *, const cdna_swizzle *,
                            uint32_t out[CDNA_LANES]);

#endif
