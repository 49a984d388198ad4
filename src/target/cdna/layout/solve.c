/* solve.c - the simplest swizzle without conflicts for a set of accesses, or a proof that none exists.
 *
 * Two lanes of a phase conflict when their dwords differ and fall into the same bank. A swizzle M is linear over GF(2)
 * and keeps pieces as wide as the widest access whole, so lanes i and j conflict exactly if two conditions hold. The
 * difference d = a_i ^ a_j has no bit between the access's width and the piece's: these bits choose among banks, too,
 * and M keeps them. And M d has no bit among the bank bits above the piece. So the problem is a set D of differences
 * that M must not map to zero there. (Accesses of 12 bytes are at multiples of 16 and are treated as 16 wide: their
 * first dwords collide when those accesses do.)
 *
 *   1. Counting. Lanes of a phase whose addresses agree below the piece, at more places than there are pieces in a row
 *      of all banks: they conflict however pieces are arranged. A proof for any arrangement, linear or not.
 *   2. Swizzles of 0, 1, 2, 3 terms, exhaustively, fewest moved bits first.
 *   3. Else every linear map: it is free of conflicts exactly if its kernel (the offsets that it maps to bank 0) has no
 *      element of D. All subspaces of the kernel's dimension that avoid D are enumerated, in echelon form. Rules with
 *      32 and with 64 banks need one kernel in the other: K64 avoids all of D, and K64 + <v> avoids what 32 banks
 * need. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/cdna/layout/swizzle.h"

enum { OFFSET_BITS = 16, TERMS_MAX = 3 };

/* Differences of addresses in units of the piece, for accesses with few (32) and many (64) banks; as lists and as
 * sets. */
typedef struct problem {
  int piece_bits, offset_bits; /* log2 of the piece's and the tile's bytes */
  int few_bits, many_bits;     /* bank bits above the piece */
  bool has_few, has_many;
  uint8_t *few, *many; /* [difference]: must not vanish */
  uint16_t *listed;    /* all differences, without repetition; .. */
  uint8_t *rows;       /* .. and the bank bits that must not all be zero */
  size_t n;
} problem;

static int log2_of(uint32_t value) { return value ? 31 - __builtin_clz(value) : 0; }
static int width_of(int bytes) { return bytes == 12 ? 16 : bytes < 4 ? 4 : bytes; }
static int bank_bits(const cdna_lds_rule *rule) { return log2_of((uint32_t)rule->banks * CDNA_BANK_BYTES); }

static uint32_t base_of(const cdna_wave_access *a, int lane) { return a->address[lane] & ~3u; }

/* ---- the problem ---- */

static tw_status check(const cdna_wave_access *access, size_t n, uint32_t tile_bytes, tw_error *error) {
  if (tile_bytes == 0 || tile_bytes > 1u << OFFSET_BITS)
    return tw_fail(error, TW_USAGE,
                   "the search for a swizzle supports tiles of up to 64 KiB; give one tile of the kernel");
  for (size_t i = 0; i < n; i++)
    for (int lane = 0; lane < CDNA_LANES; lane++) {
      const uint32_t address = base_of(&access[i], lane);
      if (address % (uint32_t)width_of(access[i].bytes))
        return tw_fail(
            error, TW_USAGE,
            "lane %d reads or writes %d bytes at offset %u, which is not a multiple of %d; a swizzle would split them",
            lane, access[i].bytes, address, width_of(access[i].bytes));
      if (address >= tile_bytes)
        return tw_fail(error, TW_USAGE, "lane %d has offset %u, which is outside of the tile of %u bytes", lane,
                       address, tile_bytes);
    }
  return TW_OK;
}

/* Step 1. */
static bool is_impossible(const cdna_wave_access *access, size_t n, int piece, cdna_solution *out) {
  for (size_t i = 0; i < n; i++) {
    const cdna_lds_rule *rule = access[i].rule;
    const int room = piece < rule->banks * CDNA_BANK_BYTES ? rule->banks * CDNA_BANK_BYTES / piece : 1;
    for (int p = 0; p < rule->phases; p++)
      for (uint64_t rest = rule->lanes[p]; rest; rest &= rest - 1) {
        const uint32_t within = base_of(&access[i], __builtin_ctzll(rest)) % (uint32_t)piece;
        uint32_t seen[CDNA_LANES];
        int places = 0;
        for (uint64_t others = rule->lanes[p]; others; others &= others - 1) {
          const uint32_t other = base_of(&access[i], __builtin_ctzll(others));
          bool is_new = other % (uint32_t)piece == within;
          for (int s = 0; is_new && s < places; s++) is_new = seen[s] != other;
          if (is_new) seen[places++] = other;
        }
        if (places <= room) continue;
        snprintf(out->why, sizeof out->why,
                 "pieces of %d bytes must stay whole for the widest access. Phase %d of access %zu needs %d of them at "
                 "byte %u of a piece, but all %d banks together hold only %d pieces. Any arrangement of pieces asks "
                 "some bank for %d dwords at once",
                 piece, p, i + 1, places, within, rule->banks, room, (places + room - 1) / room);
        return true;
      }
  }
  return false;
}

static void add_differences(problem *p, const cdna_wave_access *a) {
  const int width = width_of(a->bytes), piece = 1 << p->piece_bits;
  const int bits = bank_bits(a->rule) - p->piece_bits;
  for (int phase = 0; phase < a->rule->phases; phase++)
    for (uint64_t rest = a->rule->lanes[phase]; rest; rest &= rest - 1)
      for (uint64_t others = rest & (rest - 1); others; others &= others - 1) {
        const uint32_t d = base_of(a, __builtin_ctzll(rest)) ^ base_of(a, __builtin_ctzll(others));
        const bool is_apart = (d % (uint32_t)piece) / (uint32_t)width != 0; /* distinguished within the piece */
        if (d && !is_apart) (bits == p->few_bits ? p->few : p->many)[d >> p->piece_bits] = 1;
      }
}

static tw_status make_problem(const cdna_wave_access *access, size_t n, uint32_t tile_bytes, int piece, problem *p,
                              tw_error *error) {
  *p = (problem){.piece_bits = log2_of((uint32_t)piece),
                 .offset_bits = log2_of(tile_bytes) + ((tile_bytes & (tile_bytes - 1)) != 0)};
  const size_t all = (size_t)1 << (OFFSET_BITS - p->piece_bits);
  p->few_bits = 7 - p->piece_bits;
  p->many_bits = 8 - p->piece_bits;
  p->few = tw_new(all, 1);
  p->many = tw_new(all, 1);
  p->listed = tw_new(all, sizeof *p->listed);
  p->rows = tw_new(all, 1);
  if (!p->few || !p->many || !p->listed || !p->rows) return tw_no_memory(error, NULL);
  for (size_t i = 0; i < n; i++) {
    add_differences(p, &access[i]);
    *(bank_bits(access[i].rule) == 7 ? &p->has_few : &p->has_many) = true;
  }
  for (size_t d = 1; d < all; d++) {
    if (!p->few[d] && !p->many[d]) continue;
    p->listed[p->n] = (uint16_t)d;
    p->rows[p->n++] = (uint8_t)((1 << (p->few[d] ? p->few_bits : p->many_bits)) - 1);
  }
  p->few[0] = p->many[0] = 1; /* a vector of the space itself does not extend it */
  return TW_OK;
}

static void free_problem(problem *p) {
  free(p->few);
  free(p->many);
  free(p->listed);
  free(p->rows);
}

/* ---- step 2: few terms ---- */

static bool is_free(const problem *p, const cdna_swizzle *s) {
  for (size_t i = 0; i < p->n; i++) {
    const uint32_t moved = cdna_swizzle_of(s, (uint32_t)p->listed[i] << p->piece_bits) >> p->piece_bits;
    if (!(moved & p->rows[i])) return false;
  }
  return true;
}

/* Chooses the remaining terms in the order of (begin, to); their bits add up to `bits`. */
static bool choose(const problem *p, cdna_swizzle *s, int terms, int bits, uint32_t tile_bytes, cdna_solution *out) {
  if (terms == 0) {
    if (bits) return false;
    out->tried++;
    return tile_bytes % cdna_swizzle_span(s) == 0 && is_free(p, s);
  }
  const int top = p->has_many ? 8 : 7, last = s->n ? s->term[s->n - 1].begin * 16 + s->term[s->n - 1].to : -1;
  for (int begin = p->piece_bits + 1; begin < p->offset_bits; begin++)
    for (int to = p->piece_bits; to < begin && to < top; to++)
      for (int length = 1; length <= bits - (terms - 1) && begin + length <= p->offset_bits && to + length <= top;
           length++) {
        if (begin * 16 + to <= last || (terms == 1 && length != bits)) continue;
        s->term[s->n].begin = (uint8_t)begin;
        s->term[s->n].end = (uint8_t)(begin + length);
        s->term[s->n++].to = (uint8_t)to;
        if (choose(p, s, terms - 1, bits - length, tile_bytes, out)) return true;
        s->n--;
      }
  return false;
}

static bool find_terms(const problem *p, uint32_t tile_bytes, cdna_solution *out) {
  for (int terms = 0; terms <= TERMS_MAX; terms++)
    for (int bits = terms; bits <= terms * p->many_bits; bits++) {
      out->swizzle = (cdna_swizzle){0};
      if (choose(p, &out->swizzle, terms, bits, tile_bytes, out)) return true;
    }
  return false;
}

/* ---- step 3: every linear map ---- */

typedef struct space {
  int n, size; /* vectors of the basis; 2^n */
  uint16_t basis[OFFSET_BITS];
  uint16_t element[1 << 12]; /* [size] */
} space;

static bool avoids(const space *k, uint16_t v, const uint8_t *a, const uint8_t *b) {
  for (int i = 0; i < k->size; i++) {
    const uint16_t e = k->element[i] ^ v;
    if ((a && a[e]) || (b && b[e])) return false;
  }
  return true;
}

static void extend(space *k, uint16_t v) {
  for (int i = 0; i < k->size; i++) k->element[i + k->size] = k->element[i] ^ v;
  k->basis[k->n++] = v;
  k->size *= 2;
}

static void shrink(space *k) {
  k->n--;
  k->size /= 2;
}

enum answer { NO, YES, UNKNOWN };
static const uint64_t TRIED_MAX = 20000000; /* takes a second or two */

/* Is there a space of `dimension` that avoids `a` and `b` and, if `then` is given, is part of a space of one more
 * dimension that avoids `then`? Enumerated in reduced echelon form: leading bits rise, and no vector has the leading
 * bit of an earlier one. */
static enum answer find_space(space *k, int dimension, int bits, const uint8_t *a, const uint8_t *b,
                              const uint8_t *then, uint64_t *tried) {
  if (k->n == dimension) {
    bool is_extended = !then;
    for (uint32_t v = 1; v < 1u << bits && !is_extended; v++) is_extended = avoids(k, (uint16_t)v, then, NULL);
    return is_extended ? YES : NO;
  }
  uint32_t taken = 0;
  for (int i = 0; i < k->n; i++) taken |= 1u << log2_of(k->basis[i]);
  for (int lead = k->n ? log2_of(k->basis[k->n - 1]) + 1 : 0; lead <= bits - (dimension - k->n); lead++)
    for (uint32_t v = 1u << lead; v < 2u << lead; v++) {
      if (v & taken) continue;
      if (++*tried > TRIED_MAX) return UNKNOWN;
      if (!avoids(k, (uint16_t)v, a, b)) continue;
      extend(k, (uint16_t)v);
      const enum answer found = find_space(k, dimension, bits, a, b, then, tried);
      if (found != NO) return found;
      shrink(k);
    }
  return NO;
}

static void tell_linear(const problem *p, const space *k, enum answer found, uint64_t spaces, cdna_solution *out) {
  static const cdna_solution_kind kinds[] = {CDNA_SWIZZLE_NOT_LINEAR, CDNA_SWIZZLE_TOO_COMPLEX, CDNA_SWIZZLE_UNDECIDED};
  const int piece = 1 << p->piece_bits;
  size_t length = 0;
  out->kind = kinds[found];
  switch (found) {
  case NO:
    snprintf(out->why, sizeof out->why,
             "no swizzle of up to %d terms is free of conflicts, and no other linear map of offsets in pieces of %d "
             "bytes is: each has two lanes of a phase in its kernel (%" PRIu64 " vectors refuted)",
             TERMS_MAX, piece, spaces);
    break;
  case UNKNOWN:
    snprintf(out->why, sizeof out->why,
             "no swizzle of up to %d terms is free of conflicts; the search for another linear map was stopped after "
             "%" PRIu64 " vectors",
             TERMS_MAX, spaces);
    break;
  case YES:
    length = (size_t)snprintf(out->why, sizeof out->why,
                              "no swizzle of up to %d terms is free of conflicts, but another linear map is: of "
                              "offsets in pieces of %d bytes, only the XORs of the following go to bank 0:",
                              TERMS_MAX, piece);
    for (int i = 0; i < k->n && length < sizeof out->why; i++)
      length += (size_t)snprintf(out->why + length, sizeof out->why - length, " %u", k->basis[i]);
  }
}

static tw_status decide_linear(const problem *p, cdna_solution *out, tw_error *error) {
  const int bits = p->offset_bits - p->piece_bits, many = bits - p->many_bits, few = bits - p->few_bits;
  const uint64_t before = out->tried;
  space *k = tw_new(1, sizeof *k);
  if (!k) return tw_no_memory(error, NULL);
  k->size = 1; /* {0} */
  enum answer found = YES;
  out->tried = 0;
  if (p->has_many && many > 0)
    found = find_space(k, many, bits, p->many, p->few, p->has_few ? p->few : NULL, &out->tried);
  else if (p->has_few && few > 0)
    found = find_space(k, few, bits, p->few, NULL, NULL, &out->tried);
  tell_linear(p, k, found, out->tried, out);
  out->tried += before;
  free(k);
  return TW_OK;
}

tw_status cdna_swizzle_solve(const cdna_wave_access *access, size_t n, uint32_t tile_bytes, cdna_solution *out,
                             tw_error *error) {
  problem p;
  *out = (cdna_solution){.piece = CDNA_BANK_BYTES};
  tw_status status = check(access, n, tile_bytes, error);
  if (status != TW_OK) return status;
  for (size_t i = 0; i < n; i++)
    if (width_of(access[i].bytes) > out->piece) out->piece = width_of(access[i].bytes);
  if (is_impossible(access, n, out->piece, out)) {
    out->kind = CDNA_SWIZZLE_IMPOSSIBLE;
    return TW_OK;
  }
  status = make_problem(access, n, tile_bytes, out->piece, &p, error);
  if (status == TW_OK) {
    out->kind = CDNA_SWIZZLE_FOUND;
    if (!find_terms(&p, tile_bytes, out)) status = decide_linear(&p, out, error);
  }
  free_problem(&p);
  return status;
}
