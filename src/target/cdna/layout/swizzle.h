/* swizzle.h - XOR swizzles of byte offsets within a tile of LDS: their text, their application, and the search for
 * them.
 *
 * A swizzle is a sum of terms, all of the original offset: o ^ (((o % 2^end) >> begin) << to) ^ .... Its text is
 * "1024:9:5+2048:10:4" (2^end:begin:to, HipKittens' own notation as numbers), "none" without terms. Since to < begin,
 * it is a bijection; pieces of 2^(least `to`) bytes stay whole. */
#ifndef TW_CDNA_SWIZZLE_H
#define TW_CDNA_SWIZZLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/cdna/layout/lds.h"
#include "tilewright/status.h"

enum { CDNA_SWIZZLE_TERMS = 4, CDNA_SWIZZLE_TEXT = 80 };

typedef struct cdna_swizzle {
  int n;
  struct {
    uint8_t end, begin, to; /* bits [begin, end) of the offset go to bits from `to` on */
  } term[CDNA_SWIZZLE_TERMS];
} cdna_swizzle;

static inline uint32_t cdna_swizzle_of(const cdna_swizzle *s, uint32_t offset) {
  uint32_t out = offset;
  for (int i = 0; i < s->n; i++) out ^= (offset & ((1u << s->term[i].end) - 1)) >> s->term[i].begin << s->term[i].to;
  return out;
}

/* A name of a published swizzle, "none", or terms. TW_USAGE with the reason. */
tw_status cdna_swizzle_parse(const char *text, cdna_swizzle *, tw_error *);
void cdna_swizzle_print(const cdna_swizzle *, char text[CDNA_SWIZZLE_TEXT]);
/* Bytes that a tile must be a multiple of for the swizzle to stay within it. */
uint32_t cdna_swizzle_span(const cdna_swizzle *);
/* Size of pieces that it keeps together; wider accesses would be split. */
uint32_t cdna_swizzle_piece(const cdna_swizzle *);

typedef struct cdna_published_swizzle {
  const char *name, *terms, *tile, *source;
} cdna_published_swizzle;
const cdna_published_swizzle *cdna_published_swizzle_at(size_t index); /* NULL past the last */

/* ---- the solver ---- */

/* The accesses of one wave that must be free of conflicts, without swizzle; owned by the caller. */
typedef struct cdna_wave_access {
  const cdna_lds_rule *rule;
  int bytes; /* bytes per lane; the addresses are multiples of it (12: of 16) */
  const uint32_t *address;
} cdna_wave_access;

typedef enum cdna_solution_kind {
  CDNA_SWIZZLE_FOUND,       /* found; no swizzle of fewer terms, or of as many terms with fewer bits, is sufficient */
  CDNA_SWIZZLE_IMPOSSIBLE,  /* no arrangement of pieces of the widest access is sufficient: `why` counts them */
  CDNA_SWIZZLE_NOT_LINEAR,  /* every XOR of address bits was refuted */
  CDNA_SWIZZLE_TOO_COMPLEX, /* an XOR of address bits exists, but none with up to 3 terms; `why` has it */
  CDNA_SWIZZLE_UNDECIDED    /* none with up to 3 terms; the remaining search was too large */
} cdna_solution_kind;

typedef struct cdna_solution {
  cdna_solution_kind kind;
  cdna_swizzle swizzle;
  int piece;      /* bytes that stay together */
  uint64_t tried; /* number of swizzles or spaces tried */
  char why[400];
} cdna_solution;

/* For tiles of `tile_bytes`. TW_USAGE for addresses that are not aligned to their access, and for tiles over 64 KiB. */
tw_status cdna_swizzle_solve(const cdna_wave_access *, size_t n, uint32_t tile_bytes, cdna_solution *, tw_error *);

#endif
