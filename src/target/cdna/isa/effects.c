/* effects.c - see effects.h. Effects follow from the table's operands and columns, never from names. */
#include "target/cdna/isa/effects.h"

#include <pthread.h>

const char *cdna_class_name(cdna_class c) {
  static const char *const name[CDNA_CLASSES] = {"SALU", "branch", "internal", "barrier", "SMEM",
                                                 "VALU", "trans",  "MFMA",     "LDS",     "VMEM"};
  return name[c];
}

/* Properties of each row from other tables. */
static struct known {
  const cdna_mfma *mfma;
  const cdna_lds_instruction *lds;
  uint8_t slots;
} * known;
static const cdna_instruction *first_row;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Slots of the vector unit, by LLVM's model of gfx942 and gfx950 (SISchedule.td; `llvm-mca-22 -mtriple=amdgcn -mcpu=gfx950`):
 * WriteFloatCvt and WriteQuarterRate32 have 4, as transcendental instructions do; exchanges occupy the unit for 2.
 * v_mad_u64_u32, v_div_scale_f32 and additions with carry have one of the vector unit and one of the scalar unit there,
 * for the scalar register that they write; they count as 1. */
static uint8_t slots_of(const cdna_instruction *i) {
  static const char *const quarter_rate[] = {
      "v_cvt_f32_i32",    "v_cvt_f32_u32",     "v_cvt_u32_f32",     "v_cvt_i32_f32",    "v_cvt_f16_f32",
      "v_cvt_f32_f16",    "v_cvt_rpi_i32_f32", "v_cvt_flr_i32_f32", "v_cvt_off_f32_i4", "v_cvt_f32_fp8",
      "v_cvt_f32_bf8",    "v_cvt_pk_f32_fp8",  "v_cvt_pk_f32_bf8",  "v_cvt_f32_bf16",   "v_cvt_pk_fp8_f32",
      "v_cvt_pk_bf8_f32", "v_cvt_sr_fp8_f32",  "v_cvt_sr_bf8_f32",  "v_qsad_pk_u16_u8", "v_mqsad_u32_u8"};
  for (size_t n = 0; n < sizeof quarter_rate / sizeof *quarter_rate; n++)
    if (!strcmp(i->name, quarter_rate[n])) return 4;
  return i->traits & CDNA_SWAPS ? 2 : 1;
}

static void look_up_all(void) {
  static struct known all[CDNA_INSTRUCTIONS_MAX];
  size_t n;
  first_row = cdna_instructions(&n);
  for (size_t r = 0; r < n; r++) {
    if (first_row[r].klass == CDNA_CLASS_MATRIX) all[r].mfma = cdna_mfma_find(first_row[r].name);
    if (first_row[r].klass == CDNA_CLASS_LDS) all[r].lds = cdna_lds_instruction_find(first_row[r].name);
    all[r].slots = slots_of(&first_row[r]);
  }
  known = all;
}

static const struct known *known_of(const cdna_instruction *i) {
  pthread_once(&once, look_up_all);
  return &known[i - first_row];
}

static void add(cdna_register_range *list, uint8_t *n, int most, int first, int width, int bytes, char role) {
  const bool register_code =
      (first >= 0 && first < CDNA_ZERO && first != CDNA_NULL) || first == CDNA_SCC || first >= CDNA_VGPRS;
  if (!register_code || width < 1 || *n == most) return;
  list[(*n)++] = (cdna_register_range){(uint16_t)first, (uint8_t)width, (uint8_t)bytes, role};
}
static void reads(cdna_effects *e, int first, int width, int bytes, char role) {
  if (first == CDNA_VCCZ) first = CDNA_VCC, width = 2;
  if (first == CDNA_EXECZ) first = CDNA_EXEC, width = 2;
  if (first == CDNA_SCC) width = 1;
  add(e->read, &e->n_reads, CDNA_READS_MAX, first, width, bytes, role);
}
static void writes(cdna_effects *e, int first, int width, int bytes, char role) {
  add(e->write, &e->n_writes, CDNA_WRITES_MAX, first, width, bytes, role);
}

/* ---- scalar instructions ---- */

static void scalar_effects(const cdna_code *c, cdna_effects *e) {
  const cdna_instruction *i = c->instruction;
  const uint32_t traits = i->traits;
  for (int n = 0; n < i->n_operands; n++) {
    const cdna_operand_form *o = &i->operand[n];
    const int code = cdna_operand_code(c, o), width = o->width;
    if (o->field == 'D') {
      if (traits & (CDNA_READS_D | CDNA_KEEPS_D)) reads(e, code, width, CDNA_ALL_BYTES, 'D');
      if (!(traits & CDNA_KEEPS_D)) writes(e, code, width, CDNA_ALL_BYTES, 'D');
    } else if (o->field == '0' || o->field == '1') {
      reads(e, code, width, CDNA_ALL_BYTES, o->field);
    }
  }
  if (traits & CDNA_WRITES_SCC) writes(e, CDNA_SCC, 1, CDNA_ALL_BYTES, CDNA_IMPLIED);
  if (traits & CDNA_READS_SCC) reads(e, CDNA_SCC, 1, CDNA_ALL_BYTES, CDNA_IMPLIED);
  if (traits & CDNA_READS_EXEC) reads(e, CDNA_EXEC, 2, CDNA_ALL_BYTES, CDNA_IMPLIED);
  if (traits & CDNA_WRITES_EXEC) writes(e, CDNA_EXEC, 2, CDNA_ALL_BYTES, CDNA_IMPLIED);
  if (traits & CDNA_READS_VCC) reads(e, CDNA_VCC, 2, CDNA_ALL_BYTES, CDNA_IMPLIED);
  if (traits & CDNA_READS_M0) reads(e, CDNA_M0, 1, CDNA_ALL_BYTES, CDNA_IMPLIED);
  if (traits & CDNA_WRITES_M0) writes(e, CDNA_M0, 1, CDNA_ALL_BYTES, CDNA_IMPLIED);
}

/* SOPP instructions that the sequencer itself executes. */
static void sequencer_effects(const cdna_code *c, cdna_effects *e) {
  enum { NOP = 0, WAITCNT = 12 };
  const uint32_t imm = (uint32_t)c->bits & 0xFFFF;
  if (c->instruction->opcode == NOP) e->wait_states = (uint8_t)((imm & 15) + 1);
  if (c->instruction->opcode == WAITCNT) {
    e->wait_vm = (uint8_t)((imm & 15) | (imm >> 14 & 3) << 4);
    e->wait_lgkm = (uint8_t)(imm >> 8 & 15);
  }
}

static void smem_effects(const cdna_code *c, cdna_effects *e) {
  const cdna_instruction *i = c->instruction;
  const cdna_operand_form *d = cdna_find_field(i, 'D'), *base = cdna_find_field(i, 'B');
  const bool store = i->access == CDNA_STORE, atomic = i->access == CDNA_ATOMIC;
  const bool immediate = cdna_bits(c->bits, 17, 1), enabled = cdna_bits(c->bits, 14, 1);
  e->counters = CDNA_COUNTS_LGKM;
  e->space = CDNA_SPACE_SCALAR;
  if (base) reads(e, cdna_operand_code(c, base), base->width, CDNA_ALL_BYTES, 'B');
  if (base && (enabled || !immediate))
    reads(e, (int)(enabled ? cdna_bits(c->bits, 57, 7) : cdna_bits(c->bits, 32, 7)), 1, CDNA_ALL_BYTES, 'O');
  if (!d) return;
  const int code = cdna_operand_code(c, d);
  e->access = i->access;
  if (base) e->bytes = (uint8_t)(4 * d->width);
  e->accesses = 1;
  e->returns = atomic && cdna_bits(c->bits, 16, 1);
  if (store || atomic) reads(e, code, d->width, CDNA_ALL_BYTES, 'D');
  if (!store && (!atomic || e->returns)) writes(e, code, d->width, CDNA_ALL_BYTES, 'D');
}

/* ---- vector instructions ---- */

/* The bytes that an SDWA selection names. */
static int selected_bytes(uint32_t select) {
  return select < 4 ? 1 << select : select < 6 ? 3 << 2 * (select - 4) : CDNA_ALL_BYTES;
}

static int half_bytes(bool high) { return high ? 12 : 3; }

static int source_bytes(const cdna_code *c, int s) {
  const cdna_instruction *i = c->instruction;
  if (c->variant == CDNA_SDWA && s < 2) return selected_bytes(c->extra >> (16 + 8 * s) & 7);
  if (i->encoding == CDNA_VOP3P) {
    const bool low = cdna_bits(c->bits, 11 + s, 1), high = cdna_bits(c->bits, s < 2 ? 59 + s : 14, 1);
    if (i->traits & CDNA_MIX) return high ? half_bytes(low) : CDNA_ALL_BYTES;
    return i->traits & CDNA_HALVES ? half_bytes(low) | half_bytes(high) : CDNA_ALL_BYTES;
  }
  const bool has_select = i->encoding == CDNA_VOP3 && (i->shown >> (11 + s) & 1);
  if (i->traits & CDNA_HALVES || (i->traits & CDNA_HALF_FACTORS && s < 2))
    return half_bytes(has_select && cdna_bits(c->bits, 11 + s, 1));
  return i->bytes ? i->bytes : CDNA_ALL_BYTES;
}

static int result_bytes(const cdna_code *c) {
  const cdna_instruction *i = c->instruction;
  if (c->variant == CDNA_SDWA && i->encoding != CDNA_VOPC)
    return (c->extra >> 11 & 3) == 2 ? selected_bytes(c->extra >> 8 & 7) : CDNA_ALL_BYTES;
  if (i->traits & (CDNA_LOW_HALF | CDNA_UPPER_HALF)) return half_bytes(i->traits & CDNA_UPPER_HALF);
  if (i->encoding != CDNA_VOP3) return CDNA_ALL_BYTES;
  const uint32_t select = cdna_bits(c->bits, 11, 4);
  if (i->traits & CDNA_RESULT_BYTE) return 1 << (select >> 2);
  if (i->traits & CDNA_RESULT_HALF) return half_bytes(select >> 3);
  return i->shown >> 14 & 1 && select >> 3 ? half_bytes(true) : CDNA_ALL_BYTES;
}

static void matrix_effects(cdna_arch arch, const cdna_code *c, cdna_effects *e) {
  cdna_type a = e->mfma->a, b = e->mfma->b;
  e->reads_exec = false;
  if (e->mfma->fields == CDNA_FIELDS_FORMATS) {
    a = (cdna_type)(CDNA_FP8 + cdna_bits(c->bits, 8, 3) % 5);
    b = (cdna_type)(CDNA_FP8 + cdna_bits(c->bits, 61, 3) % 5);
  }
  e->passes = (uint8_t)cdna_mfma_passes(e->mfma, arch, a, b);
  if (cdna_mfma_is_sparse(e->mfma)) { /* D is also C */
    const cdna_operand_form *d = cdna_find_field(c->instruction, 'D');
    reads(e, cdna_operand_code(c, d), d->width, CDNA_ALL_BYTES, 'D');
  }
  if (c->variant != CDNA_SCALED) return;
  for (int side = 0; side < 2; side++) {
    const int code = (int)cdna_bits(c->prefix, 32 + 9 * side, 9);
    const int byte = (int)(cdna_bits(c->prefix, 11 + side, 1) + 2 * cdna_bits(c->prefix, 59 + side, 1));
    reads(e, code, 1, 1 << byte, CDNA_SCALE);
  }
}

static void vector_effects(cdna_arch arch, const cdna_code *c, cdna_effects *e) {
  const cdna_instruction *i = c->instruction;
  const uint32_t traits = i->traits;
  bool met_vcc = false;
  e->is_dpp = c->variant == CDNA_DPP;
  e->is_sdwa = c->variant == CDNA_SDWA;
  e->reads_exec = !(traits & CDNA_ALL_LANES);
  if (i->klass == CDNA_CLASS_MATRIX) e->mfma = known_of(i)->mfma;
  for (int n = 0; n < i->n_operands; n++) {
    const cdna_operand_form *o = &i->operand[n];
    const int code = cdna_operand_code(c, o), width = cdna_operand_width(c, o);
    switch (o->field) {
    case 'D': {
      const int bytes = result_bytes(c);
      /* as LLVM counts: a part other than the lowest, except for v_fma_mixhi */
      const bool upper = !(bytes & 1) && !(traits & CDNA_UPPER_HALF);
      e->selects_part = (e->is_sdwa && (c->extra >> 8 & 7) != 6) || upper || traits & CDNA_RESULT_PART;
      writes(e, code, width, bytes, 'D');
      if (traits & (CDNA_SWAPS | CDNA_READS_D)) reads(e, code, width, CDNA_ALL_BYTES, 'D');
      break;
    }
    case 'S': writes(e, code, width, CDNA_ALL_BYTES, 'S'); break;
    case 'C':
      if (i->encoding == CDNA_VOPC || (i->n_operands > 3 && !met_vcc && i->flow != CDNA_FLOW_CHOOSE))
        writes(e, code, width, CDNA_ALL_BYTES, 'C');
      else
        reads(e, code, width, CDNA_ALL_BYTES, 'C');
      met_vcc = true;
      break;
    case '0':
    case '1':
    case '2':
      reads(e, code, width, source_bytes(c, o->field - '0'), o->field);
      if (traits & CDNA_SWAPS) writes(e, code, width, CDNA_ALL_BYTES, '0');
      break;
    default: break;
    }
  }
  if (traits & CDNA_WRITES_EXEC) writes(e, CDNA_EXEC, 2, CDNA_ALL_BYTES, CDNA_IMPLIED);
  if (traits & CDNA_READS_VCC) reads(e, CDNA_VCC, 2, CDNA_ALL_BYTES, CDNA_IMPLIED);
  if (e->mfma) matrix_effects(arch, c, e);
  if (e->reads_exec) reads(e, CDNA_EXEC, 2, CDNA_ALL_BYTES, CDNA_IMPLIED);
}

/* ---- memory ---- */

static int loaded_bytes(const cdna_instruction *i) {
  return i->traits & (CDNA_LOW_HALF | CDNA_UPPER_HALF) ? half_bytes(i->traits & CDNA_UPPER_HALF) : CDNA_ALL_BYTES;
}

/* Bytes of a register that hold `bytes` of data to be stored. */
static int stored_bytes(const cdna_instruction *i, int bytes) {
  const int part = (1 << (bytes < 4 ? bytes : 4)) - 1;
  return i->traits & CDNA_UPPER_HALF ? part << 2 : part;
}

static void lds_effects(const cdna_code *c, cdna_effects *e) {
  const cdna_instruction *i = c->instruction;
  const cdna_operand_form *d = cdna_find_field(i, 'D');
  e->space = CDNA_SPACE_LDS;
  e->reads_exec = true;
  if (i->traits & CDNA_NOTHING) return;
  e->counters = CDNA_COUNTS_LGKM;
  e->lds = known_of(i)->lds;
  e->access = i->access;
  e->bytes = i->bytes;
  if (e->access) e->accesses = i->traits & CDNA_TWO ? 2 : 1;
  e->returns = e->access == CDNA_ATOMIC && d;
  static const char fields[] = "AWX";
  for (int n = 0; n < 3; n++) {
    const cdna_operand_form *s = cdna_find_field(i, fields[n]);
    const bool narrow = fields[n] == 'W' && e->access == CDNA_STORE;
    if (s) reads(e, cdna_operand_code(c, s), s->width, narrow ? stored_bytes(i, e->bytes) : CDNA_ALL_BYTES, fields[n]);
  }
  if (d) writes(e, cdna_operand_code(c, d), d->width, loaded_bytes(i), 'D');
  if (i->traits & CDNA_READS_M0) reads(e, CDNA_M0, 1, CDNA_ALL_BYTES, CDNA_IMPLIED);
  reads(e, CDNA_EXEC, 2, CDNA_ALL_BYTES, CDNA_IMPLIED);
}

static void flat_operands(const cdna_code *c, cdna_effects *e) {
  const cdna_instruction *i = c->instruction;
  const cdna_operand_form *w = cdna_find_field(i, 'W'), *d = cdna_find_field(i, 'D');
  const bool scratch = i->encoding == CDNA_SCRATCH;
  const int saddr = (int)cdna_bits(c->bits, 48, 7);
  const bool has_base = i->encoding != CDNA_FLAT && saddr != 0x7F;
  if (!scratch || cdna_bits(c->bits, 13, 1))
    reads(e, CDNA_VGPRS + (int)cdna_bits(c->bits, 32, 8), scratch || has_base ? 1 : 2, CDNA_ALL_BYTES, 'A');
  if (has_base) reads(e, scratch ? saddr : saddr & ~1, scratch ? 1 : 2, CDNA_ALL_BYTES, 'B');
  if (w) reads(e, cdna_operand_code(c, w), w->width, e->bytes < 4 ? stored_bytes(i, e->bytes) : CDNA_ALL_BYTES, 'W');
  if (d && e->access != CDNA_ATOMIC) writes(e, cdna_operand_code(c, d), d->width, loaded_bytes(i), 'D');
  e->returns = e->access == CDNA_ATOMIC && cdna_bits(c->bits, 16, 1);
  if (e->returns) {
    const int code = CDNA_VGPRS + (int)cdna_bits(c->bits, 56, 8) + (cdna_bits(c->bits, 55, 1) ? CDNA_VGPRS : 0);
    writes(e, code, e->bytes / 4, CDNA_ALL_BYTES, 'D');
  }
}

static void buffer_operands(const cdna_code *c, cdna_effects *e) {
  const cdna_instruction *i = c->instruction;
  const cdna_operand_form *w = cdna_find_field(i, 'W'), *b = cdna_find_field(i, 'B'), *o = cdna_find_field(i, 'O');
  const int parts = (int)(cdna_bits(c->bits, 12, 1) + cdna_bits(c->bits, 13, 1));
  if (parts) reads(e, CDNA_VGPRS + (int)cdna_bits(c->bits, 32, 8), parts, CDNA_ALL_BYTES, 'A');
  if (b) reads(e, cdna_operand_code(c, b), 4, CDNA_ALL_BYTES, 'B');
  if (o) reads(e, cdna_operand_code(c, o), 1, CDNA_ALL_BYTES, 'O');
  if (!w || e->access == CDNA_LOAD_TO_LDS) return;
  const int code = cdna_operand_code(c, w);
  e->returns = e->access == CDNA_ATOMIC && cdna_bits(c->bits, 14, 1);
  if (e->access == CDNA_LOAD) writes(e, code, w->width, loaded_bytes(i), 'W');
  if (e->access != CDNA_LOAD) reads(e, code, w->width, stored_bytes(i, e->bytes), 'W');
  if (e->returns) writes(e, code, e->bytes / 4, CDNA_ALL_BYTES, 'W');
}

static void vmem_effects(const cdna_code *c, cdna_effects *e) {
  const cdna_instruction *i = c->instruction;
  const bool buffer = i->encoding == CDNA_MUBUF || i->encoding == CDNA_MTBUF;
  e->counters = i->encoding == CDNA_FLAT ? CDNA_COUNTS_VM | CDNA_COUNTS_LGKM : CDNA_COUNTS_VM;
  e->space = i->encoding == CDNA_FLAT      ? CDNA_SPACE_FLAT
             : i->encoding == CDNA_SCRATCH ? CDNA_SPACE_SCRATCH
                                           : CDNA_SPACE_GLOBAL;
  if (!i->access) return; /* buffer_wbl2 and buffer_inv */
  e->reads_exec = true;
  e->accesses = 1;
  e->bytes = i->bytes;
  if (!e->bytes) { /* only registers: the bytes in memory depend on the format */
    const cdna_operand_form *w = cdna_find_field(i, 'W');
    e->bytes = (uint8_t)(4 * (w ? w->width : 1));
  }
  const bool to_lds = i->access == CDNA_LOAD_TO_LDS || (i->encoding == CDNA_MUBUF && cdna_bits(c->bits, 16, 1));
  e->access = to_lds ? CDNA_LOAD_TO_LDS : i->access;
  if (buffer)
    buffer_operands(c, e);
  else
    flat_operands(c, e);
  if (to_lds) reads(e, CDNA_M0, 1, CDNA_ALL_BYTES, CDNA_IMPLIED);
  reads(e, CDNA_EXEC, 2, CDNA_ALL_BYTES, CDNA_IMPLIED);
}

/* False: too many words. */
static bool add_words(cdna_effects *e, const cdna_register_range *r) {
  for (int code = r->first; code < r->first + r->n && r->first != CDNA_SCC; code++) {
    int k = 0;
    while (k < e->n_words && e->word[k] != code / 64) k++;
    if (k == CDNA_WORDS) return false;
    if (k == e->n_words) e->word[e->n_words++] = (uint8_t)(code / 64);
    e->bits[k] |= 1ull << code % 64;
  }
  return true;
}

static void find_words(cdna_effects *e) {
  bool fit = cdna_only_computes(e);
  for (int i = 0; i < e->n_writes && fit; i++) fit = add_words(e, &e->write[i]);
  for (int i = 0; i < e->n_reads && fit; i++) fit = add_words(e, &e->read[i]);
  if (!fit) e->n_words = 0;
}

/* The upper half of the second source for both results: ROCm/rocMLIR, pull request 2459. */
static bool is_suspect(cdna_arch arch, const cdna_code *c) {
  return arch == CDNA4 && c->instruction->traits & CDNA_SUSPECT && cdna_bits(c->bits, 11, 3) == 2 &&
         cdna_bits(c->bits, 59, 2) == 3 && cdna_bits(c->bits, 14, 1);
}

static bool is_plain(const cdna_effects *e) {
  const unsigned rare = CDNA_SWAPS | CDNA_DOT | CDNA_READS_VCC | CDNA_SUSPECT;
  bool masks = false;
  for (int i = 0; i < e->n_writes; i++) masks |= e->write[i].first < CDNA_VGPRS;
  for (int i = 0; i < e->n_reads; i++)
    masks |= e->read[i].first < CDNA_VGPRS && e->read[i].first != CDNA_EXEC && e->read[i].n == 2;
  return e->klass == CDNA_CLASS_VALU && !(e->traits & rare) && !e->is_dpp && !e->selects_part &&
         !cdna_is_of_one_lane(e) && !masks;
}

void cdna_effects_of(cdna_arch arch, const cdna_code *c, cdna_effects *e) {
  const cdna_instruction *i = c->instruction;
  *e = (cdna_effects){.klass = i->klass,
                      .flow = i->flow,
                      .traits = i->traits,
                      .slots = known_of(i)->slots,
                      .wait_vm = CDNA_VM_MOST,
                      .wait_lgkm = CDNA_LGKM_MOST,
                      .wait_states = 1};
  switch (i->encoding) {
  case CDNA_SOP2:
  case CDNA_SOPK:
  case CDNA_SOP1:
  case CDNA_SOPC: scalar_effects(c, e); break;
  case CDNA_SOPP:
    scalar_effects(c, e);
    sequencer_effects(c, e);
    break;
  case CDNA_SMEM: smem_effects(c, e); break;
  case CDNA_DS: lds_effects(c, e); break;
  case CDNA_FLAT:
  case CDNA_SCRATCH:
  case CDNA_GLOBAL:
  case CDNA_MUBUF:
  case CDNA_MTBUF: vmem_effects(c, e); break;
  default: vector_effects(arch, c, e); break;
  }
  if (!is_suspect(arch, c)) e->traits &= ~(unsigned)CDNA_SUSPECT;
  find_words(e);
  const int first = e->write[0].first, n = e->write[0].n;
  e->is_plain = e->n_words && is_plain(e) && e->n_writes == 1 && first % 64 + n <= 64;
  if (e->is_plain) e->written = ((1ull << n) - 1) << first % 64;
}
