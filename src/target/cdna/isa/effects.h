/* effects.h - the effects of an instruction that are known without running it: the registers that it reads and writes,
 * the counters that it raises or waits for, the unit that executes it, its access to memory.
 *
 * Registers are named by operand codes: 0 to 127 scalars (VCC, M0 and EXEC among them), CDNA_SCC, from 256 VGPRs, from
 * 512 AccVGPRs. Unknown here: registers that M0 chooses (gpr_idx, s_movrel), and the memory that addresses reach.
 *
 * Sources: the instruction set manuals of CDNA3 and CDNA4, chapters 4 (counters, wait states), 5 to 11 (classes). */
#ifndef TW_CDNA_EFFECTS_H
#define TW_CDNA_EFFECTS_H

#include "target/cdna/isa/isa.h"
#include "target/cdna/layout/lds.h"
#include "target/cdna/layout/mfma.h"

const char *cdna_class_name(cdna_class); /* "SALU", ... */

enum { CDNA_ALL_BYTES = 15, CDNA_IMPLIED = 'i', CDNA_SCALE = 's', CDNA_REGISTER_CODES = 768 };

typedef struct cdna_register_range {
  uint16_t first; /* code of the first register; n of them */
  uint8_t n;
  uint8_t bytes; /* for each register: bit b is byte b */
  char role;     /* the operand's field (isa.h); CDNA_IMPLIED: not in the text; CDNA_SCALE: scale of a scaled MFMA */
} cdna_register_range;

enum { CDNA_READS_MAX = 8, CDNA_WRITES_MAX = 4, CDNA_WORDS = 4 };

typedef enum cdna_address_space {
  CDNA_SPACE_GLOBAL,
  CDNA_SPACE_FLAT, /* global, LDS or scratch: the address decides */
  CDNA_SPACE_SCRATCH,
  CDNA_SPACE_LDS,
  CDNA_SPACE_SCALAR /* global, through the scalar cache */
} cdna_address_space;

/* Counters that an instruction raises and s_waitcnt waits for, and their saturation: the hardware issues no
 * operation beyond this number. Loads and stores of one counter end in order, except scalar loads. */
enum { CDNA_COUNTS_VM = 1, CDNA_COUNTS_LGKM = 2, CDNA_VM_MOST = 63, CDNA_LGKM_MOST = 15 };

typedef struct cdna_effects {
  uint8_t klass, flow; /* cdna_class, cdna_flow */
  uint32_t traits;     /* cdna_trait */
  uint8_t n_reads, n_writes;
  cdna_register_range read[CDNA_READS_MAX], write[CDNA_WRITES_MAX];
  bool reads_exec; /* inactive lanes are neither read nor written */
  bool is_dpp, is_sdwa;
  bool selects_part; /* writes a part of its destination, by SDWA or op_sel */
  uint8_t counters;
  uint8_t wait_vm, wait_lgkm;      /* operands of s_waitcnt; CDNA_VM_MOST and CDNA_LGKM_MOST: no wait */
  uint8_t wait_states;             /* 1; s_nop has more */
  const cdna_mfma *mfma;           /* class MATRIX, except moves to and from AccVGPRs */
  const cdna_lds_instruction *lds; /* its bank rule; NULL: none */
  uint8_t passes;                  /* passes of 4 cycles, until the matrix unit accepts the next */
  uint8_t slots;                   /* of the vector unit; of a transcendental instruction, a machine file has them */
  /* memory */
  uint8_t access, space;
  uint8_t bytes;    /* bytes per lane (or of a scalar load) and access */
  uint8_t accesses; /* 2 of read2 and write2 */
  bool returns;     /* an atomic that returns the old value */
  /* Of instructions that only compute: all their registers but SCC, as bits of words of 64 codes. n_words 0: others, and
   * instructions with more words. */
  uint8_t n_words, word[CDNA_WORDS];
  uint64_t bits[CDNA_WORDS];
  /* A vector instruction that works lane by lane on VGPRs and needs wait states after few kinds of instruction only. Its
   * first word has the destination, `written` its bits. */
  bool is_plain;
  uint64_t written;
} cdna_effects;

void cdna_effects_of(cdna_arch, const cdna_code *, cdna_effects *out);

/* Scalar, vector and matrix instructions: they read and write nothing but registers. */
static inline bool cdna_only_computes(const cdna_effects *e) {
  return e->klass == CDNA_CLASS_SALU || (e->klass >= CDNA_CLASS_VALU && e->klass <= CDNA_CLASS_MATRIX);
}
/* v_readlane, v_readfirstlane, v_writelane. */
static inline bool cdna_is_of_one_lane(const cdna_effects *e) {
  return e->flow == CDNA_FLOW_READ_LANE || e->flow == CDNA_FLOW_READ_FIRST || e->flow == CDNA_FLOW_WRITE_LANE;
}

#endif
