/* lds.c - the phase rules, the instructions with each rule, and the count of turns. */
#include "target/cdna/layout/lds.h"

#include <string.h>

/* Lanes of phases in order: all at once, halves, quarters, eighths; and the mixed groups of 8 and of 16 lanes that
 * reads of 16 bytes have, given for lanes 0 to 31 and repeated for 32 to 63. */
#define ALL                                                                                                            \
  1, { ~0ull }
#define HALVES                                                                                                         \
  2, { 0xffffffffull, 0xffffffffull << 32 }
#define QUARTERS                                                                                                       \
  4, { 0xffffull, 0xffffull << 16, 0xffffull << 32, 0xffffull << 48 }
#define EIGHTHS                                                                                                        \
  8, { 0xffull, 0xffull << 8, 0xffull << 16, 0xffull << 24, 0xffull << 32, 0xffull << 40, 0xffull << 48, 0xffull << 56 }
#define MIXED_16                                                                                                       \
  4, { 0x0ff0f00full, 0xf00f0ff0ull, 0x0ff0f00full << 32, 0xf00f0ff0ull << 32 }
#define MIXED_8                                                                                                        \
  8, {                                                                                                                 \
    0x00f0000full, 0x000f00f0ull, 0xf0000f00ull, 0x0f00f000ull, 0x00f0000full << 32, 0x000f00f0ull << 32,              \
        0xf0000f00ull << 32, 0x0f00f000ull << 32                                                                       \
  }

#define TABLE5 "HipKittens, table 5 (measured on MI355X)"
#define EMPIRICAL "amd-shark-ai, docs/empirical-lds (measured on MI300X and MI350X)"

enum { SIZES = 4 };
static int size_class(int bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 ? 0 : bytes == 8 ? 1 : bytes == 12 ? 2 : bytes == 16 ? 3 : -1;
}

static const cdna_lds_rule reads[CDNA_ARCHES][SIZES] = {
    [CDNA3] = {{32, HALVES, true, EMPIRICAL},
               {32, QUARTERS, true, EMPIRICAL},
               {32, MIXED_8, false, "assumed to be that of 16 bytes, as it is on MI355X"},
               {32, MIXED_8, true, EMPIRICAL "; Triton pull request 11365"}},
    [CDNA4] = {{64, ALL, true, EMPIRICAL},
               {64, HALVES, true, TABLE5},
               {32, MIXED_8, true, TABLE5},
               {64, MIXED_16, true, TABLE5 "; Triton pull request 11365"}},
};

/* CDNA4 doubles reads, not writes: table 5 has 32 banks and 16 lanes for ds_write_b64. */
static const cdna_lds_rule writes[CDNA_ARCHES][SIZES] = {
    [CDNA3] = {{32, HALVES, false, "assumed: 128 bytes a phase, lanes in order"},
               {32, QUARTERS, false, "assumed to be that of MI355X"},
               {32, EIGHTHS, false, "assumed to be that of 16 bytes"},
               {32, EIGHTHS, true, "AMD's CK documentation, LDS bank conflicts: lanes in eights"}},
    [CDNA4] = {{32, HALVES, false, "assumed: 128 bytes a phase, lanes in order, as ds_write_b64 has it"},
               {32, QUARTERS, true, TABLE5},
               {32, EIGHTHS, false, "assumed to be that of 16 bytes"},
               {32, EIGHTHS, true, "AMD's CK documentation, LDS bank conflicts: lanes in eights"}},
};

const cdna_lds_rule *cdna_lds_rule_of(cdna_arch arch, cdna_lds_kind kind, int bytes) {
  const int size = size_class(bytes);
  if (size < 0 || (unsigned)arch >= CDNA_ARCHES) return NULL;
  return kind == CDNA_LDS_READ ? &reads[arch][size] : &writes[arch][size];
}

/* ---- instructions ---- */

#define BOTH_ARCHES                                                                                                    \
  { [CDNA3] = true, [CDNA4] = true }
#define NEW                                                                                                            \
  { [CDNA4] = true }
#define READ(name, bytes, accesses)                                                                                    \
  { name, CDNA_LDS_READ, bytes, accesses, 0, false, BOTH_ARCHES }
#define WRITE(name, bytes, accesses)                                                                                   \
  { name, CDNA_LDS_WRITE, bytes, accesses, 0, false, BOTH_ARCHES }
#define TRANSPOSE(name, bytes, bits)                                                                                   \
  { name, CDNA_LDS_READ, bytes, 1, bits, false, NEW }
#define DIRECT(name, bytes, ...)                                                                                       \
  { name, CDNA_LDS_WRITE, bytes, 1, 0, true, __VA_ARGS__ }

static const cdna_lds_instruction instructions[] = {
    READ("ds_read_u8", 1, 1),
    READ("ds_read_i8", 1, 1),
    READ("ds_read_u16", 2, 1),
    READ("ds_read_i16", 2, 1),
    READ("ds_read_u8_d16", 1, 1),
    READ("ds_read_u8_d16_hi", 1, 1),
    READ("ds_read_i8_d16", 1, 1),
    READ("ds_read_i8_d16_hi", 1, 1),
    READ("ds_read_u16_d16", 2, 1),
    READ("ds_read_u16_d16_hi", 2, 1),
    READ("ds_read_b32", 4, 1),
    READ("ds_read_b64", 8, 1),
    READ("ds_read_b96", 12, 1),
    READ("ds_read_b128", 16, 1),
    READ("ds_read2_b32", 4, 2),
    READ("ds_read2st64_b32", 4, 2),
    READ("ds_read2_b64", 8, 2),
    READ("ds_read2st64_b64", 8, 2),
    WRITE("ds_write_b8", 1, 1),
    WRITE("ds_write_b8_d16_hi", 1, 1),
    WRITE("ds_write_b16", 2, 1),
    WRITE("ds_write_b16_d16_hi", 2, 1),
    WRITE("ds_write_b32", 4, 1),
    WRITE("ds_write_b64", 8, 1),
    WRITE("ds_write_b96", 12, 1),
    WRITE("ds_write_b128", 16, 1),
    WRITE("ds_write2_b32", 4, 2),
    WRITE("ds_write2st64_b32", 4, 2),
    WRITE("ds_write2_b64", 8, 2),
    WRITE("ds_write2st64_b64", 8, 2),
    TRANSPOSE("ds_read_b64_tr_b16", 8, 16),
    TRANSPOSE("ds_read_b64_tr_b8", 8, 8),
    TRANSPOSE("ds_read_b64_tr_b4", 8, 4),
    TRANSPOSE("ds_read_b96_tr_b6", 12, 6),
    DIRECT("global_load_lds_dword", 4, BOTH_ARCHES),
    DIRECT("global_load_lds_dwordx3", 12, NEW),
    DIRECT("global_load_lds_dwordx4", 16, NEW),
};

const cdna_lds_instruction *cdna_lds_instruction_find(const char *name) {
  for (size_t i = 0; i < sizeof instructions / sizeof *instructions; i++)
    if (!strcmp(instructions[i].name, name)) return &instructions[i];
  return NULL;
}

/* ---- counting ---- */

/* Dwords that a phase requests: a list for each bank. */
typedef struct demand {
  uint32_t dword[CDNA_LANES * 5]; /* bytes per lane: at most 16 bytes, which touch 5 banks where they are not aligned */
  int16_t next[CDNA_LANES * 5], head[CDNA_BANKS_MAX];
  int n;
} demand;

static void add(demand *d, uint32_t dword, int banks, bool is_merged, cdna_lds_phase *phase) {
  const int bank = (int)(dword % (uint32_t)banks);
  for (int i = d->head[bank]; is_merged && i >= 0; i = d->next[i])
    if (d->dword[i] == dword) return;
  d->dword[d->n] = dword;
  d->next[d->n] = d->head[bank];
  d->head[bank] = (int16_t)d->n++;
  if (++phase->dwords[bank] > phase->turns) phase->turns = phase->dwords[bank];
}

void cdna_lds_count_access(const cdna_lds_rule *rule, cdna_lds_kind kind, int bytes, const uint32_t address[CDNA_LANES],
                           uint64_t active, cdna_lds_count *out) {
  *out = (cdna_lds_count){0};
  for (int p = 0; p < rule->phases; p++) {
    cdna_lds_phase *phase = &out->phase[p];
    demand d = {.n = 0};
    memset(d.head, 0xff, sizeof d.head);
    phase->lanes = rule->lanes[p] & active;
    for (uint64_t rest = phase->lanes; rest; rest &= rest - 1) {
      const uint32_t first = address[__builtin_ctzll(rest)], last = first + (uint32_t)bytes - 1;
      for (uint32_t dword = first / CDNA_BANK_BYTES; dword <= last / CDNA_BANK_BYTES; dword++)
        add(&d, dword, rule->banks, kind != CDNA_LDS_ATOMIC, phase);
    }
    out->phases += phase->lanes != 0;
    out->turns += phase->turns;
    if (phase->turns > out->worst) out->worst = phase->turns;
  }
}
