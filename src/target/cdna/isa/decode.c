/* decode.c - decodes words to an instruction and its fields.
 *
 * Encodings: "AMD Instinct MI300 Instruction Set Architecture" and "AMD Instinct CDNA4 Instruction Set Architecture",
 * chapter "Microcode formats". */
#include <pthread.h>
#include <string.h>

#include "target/cdna/isa/isa.h"

static cdna_instruction table[] = {
/* NOLINTBEGIN(bugprone-macro-parentheses): fields, not expressions */
#define I(encoding_, opcode_, arches_, name_, operands_, forms_, zero_, shown_, class_, access_, bytes_, flow_,        \
          traits_)                                                                                                     \
  {.name = name_,                                                                                                      \
   .encoding = CDNA_##encoding_,                                                                                       \
   .opcode = opcode_,                                                                                                  \
   .arches = arches_,                                                                                                  \
   .forms = forms_,                                                                                                    \
   .zero = zero_,                                                                                                      \
   .shown = shown_,                                                                                                    \
   .klass = CDNA_CLASS_##class_,                                                                                       \
   .access = CDNA_##access_,                                                                                           \
   .bytes = bytes_,                                                                                                    \
   .flow = CDNA_FLOW_##flow_},
#include "target/cdna/isa/instructions.def"
#undef I
    /* NOLINTEND(bugprone-macro-parentheses) */
};
/* Columns that are parsed when the table is first used. */
static const struct {
  const char *operands, *traits;
} texts[] = {
#define I(encoding_, opcode_, arches_, name_, operands_, forms_, zero_, shown_, class_, access_, bytes_, flow_,        \
          traits_)                                                                                                     \
  {operands_, traits_},
#include "target/cdna/isa/instructions.def"
#undef I
};

enum { N_INSTRUCTIONS = sizeof table / sizeof *table, OPCODES_MAX = 1024 };
_Static_assert((int)N_INSTRUCTIONS <= (int)CDNA_INSTRUCTIONS_MAX, "");

/* Bits of the opcode and of the encoding: both are excluded from the mask of zeros. */
static const struct {
  uint8_t low, width; /* bits of the opcode */
  uint64_t fixed;
} layout[CDNA_ENCODINGS] = {
    [CDNA_SOP2] = {23, 7, 3ull << 30},
    [CDNA_SOPK] = {23, 5, 0xFull << 28},
    [CDNA_SOP1] = {8, 8, 0x1FFull << 23},
    [CDNA_SOPC] = {16, 7, 0x1FFull << 23},
    [CDNA_SOPP] = {16, 7, 0x1FFull << 23},
    [CDNA_SMEM] = {18, 8, 0x3Full << 26},
    [CDNA_VOP2] = {25, 6, 1ull << 31},
    [CDNA_VOP1] = {9, 8, 0x7Full << 25},
    [CDNA_VOPC] = {17, 8, 0x7Full << 25},
    [CDNA_VOP3] = {16, 10, 0x3Full << 26},
    [CDNA_VOP3P] = {16, 7, 0x1FFull << 23},
    [CDNA_DS] = {17, 8, 0x3Full << 26},
    [CDNA_FLAT] = {18, 7, 0x3Full << 26 | 3 << 14},
    [CDNA_SCRATCH] = {18, 7, 0x3Full << 26 | 3 << 14},
    [CDNA_GLOBAL] = {18, 7, 0x3Full << 26 | 3 << 14},
    [CDNA_MUBUF] = {18, 7, 0x3Full << 26},
    [CDNA_MTBUF] = {15, 4, 0x3Full << 26},
};

static uint16_t row_of[CDNA_ARCHES][CDNA_ENCODINGS][OPCODES_MAX]; /* index + 1 */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void read_operands(cdna_instruction *i, const char *text) {
  while (*text) {
    cdna_operand_form *o = &i->operand[i->n_operands++];
    o->field = *text++;
    o->holds = *text && *text != ' ' ? *text++ : 'm';
    while (*text >= '0' && *text <= '9') o->width = (uint8_t)(o->width * 10 + (*text++ - '0'));
    if (*text == ' ') text++;
  }
}

static uint32_t traits_of(const char *text) {
  static const char letters[] = "cCeEvmMdksahHlubrpxDSL2N!AU"; /* in the order of cdna_trait */
  uint32_t traits = 0;
  for (; *text; text++) traits |= 1u << (strchr(letters, *text) - letters);
  return traits;
}

static void fill_table(void) {
  for (size_t r = 0; r < N_INSTRUCTIONS; r++) {
    cdna_instruction *i = &table[r];
    read_operands(i, texts[r].operands);
    i->traits = traits_of(texts[r].traits);
    const uint64_t opcode = ((1ull << layout[i->encoding].width) - 1) << layout[i->encoding].low;
    i->zero &= ~(opcode | layout[i->encoding].fixed);
    for (int arch = 0; arch < CDNA_ARCHES; arch++)
      if (i->arches >> arch & 1) row_of[arch][i->encoding][i->opcode] = (uint16_t)(r + 1);
  }
}

const cdna_instruction *cdna_instructions(size_t *n) {
  pthread_once(&once, fill_table);
  *n = N_INSTRUCTIONS;
  return table;
}

static const cdna_instruction *find(cdna_arch arch, cdna_encoding encoding, uint32_t opcode) {
  pthread_once(&once, fill_table);
  const uint16_t row = row_of[arch][encoding][opcode];
  return row ? &table[row - 1] : NULL;
}

/* The encoding of a first dword; CDNA_ENCODINGS if none matches. */
static cdna_encoding encoding_of(uint32_t w) {
  if (!(w >> 31)) {
    const uint32_t op = w >> 25;
    return op == 0x3F ? CDNA_VOP1 : op == 0x3E ? CDNA_VOPC : CDNA_VOP2;
  }
  if (w >> 30 == 2) {
    switch (w >> 23) {
    case 0x17D: return CDNA_SOP1;
    case 0x17E: return CDNA_SOPC;
    case 0x17F: return CDNA_SOPP;
    default: return w >> 28 == 0xB ? CDNA_SOPK : CDNA_SOP2;
    }
  }
  static const cdna_encoding flat[] = {CDNA_FLAT, CDNA_SCRATCH, CDNA_GLOBAL, CDNA_ENCODINGS};
  switch (w >> 26) {
  case 0x30: return CDNA_SMEM;
  case 0x34: return w >> 23 == 0x1A7 ? CDNA_VOP3P : CDNA_VOP3;
  case 0x36: return CDNA_DS;
  case 0x37: return flat[w >> 14 & 3];
  case 0x38: return CDNA_MUBUF;
  case 0x3A: return CDNA_MTBUF;
  default: return CDNA_ENCODINGS;
  }
}

static bool is_wide(cdna_encoding e) { return e == CDNA_SMEM || e >= CDNA_VOP3; }

static const char unknown[] = "no instruction of this machine", cut[] = "cut off by the end of the code";

/* The bits (ABID) with which an MFMA uses the preceding scales. */
static const uint64_t ABID = 0x7800, TAKES_SCALES = 0x0800;

static bool decode_plain(cdna_arch arch, cdna_encoding e, cdna_code *c) {
  c->instruction = find(arch, e, cdna_bits(c->bits, layout[e].low, layout[e].width));
  const uint64_t anything = c->variant == CDNA_SCALED ? ABID : 0;
  return c->instruction && !(c->bits & c->instruction->zero & ~anything);
}

uint64_t cdna_encoding_bits(const cdna_instruction *i) {
  static const uint64_t first[CDNA_ENCODINGS] = {
      [CDNA_SOP2] = 2ull << 30,
      [CDNA_SOPK] = 0xBull << 28,
      [CDNA_SOP1] = 0x17Dull << 23,
      [CDNA_SOPC] = 0x17Eull << 23,
      [CDNA_SOPP] = 0x17Full << 23,
      [CDNA_SMEM] = 0x30ull << 26,
      [CDNA_VOP1] = 0x3Full << 25,
      [CDNA_VOPC] = 0x3Eull << 25,
      [CDNA_VOP3] = 0x34ull << 26,
      [CDNA_VOP3P] = 0x1A7ull << 23,
      [CDNA_DS] = 0x36ull << 26,
      [CDNA_FLAT] = 0x37ull << 26,
      [CDNA_SCRATCH] = 0x37ull << 26 | 1 << 14,
      [CDNA_GLOBAL] = 0x37ull << 26 | 2 << 14,
      [CDNA_MUBUF] = 0x38ull << 26,
      [CDNA_MTBUF] = 0x3Aull << 26,
  };
  return first[i->encoding] | (uint64_t)i->opcode << layout[i->encoding].low;
}

const cdna_operand_form *cdna_find_field(const cdna_instruction *i, char field) {
  for (int o = 0; o < i->n_operands; o++)
    if (i->operand[o].field == field) return &i->operand[o];
  return NULL;
}

static bool has_field(const cdna_instruction *i, char field) { return cdna_find_field(i, field) != NULL; }

/* Sources of SDWA and DPP: floating point has a sign and an absolute value; integers are sign-extended (SDWA) or
 * have no such bits (DPP). Sums of products ignore these bits. Results of integers have no multiplier. */
static bool is_real_source(const cdna_instruction *i, int source) {
  if (!strcmp(i->name, "v_cndmask_b32")) return true;
  if (strstr(i->name, "_class_") || !strncmp(i->name, "v_ldexp", 7)) return source == 0;
  return tw_ends_with(i->name, "_f16") || tw_ends_with(i->name, "_f32") || tw_ends_with(i->name, "_f64") ||
         tw_ends_with(i->name, "_bf16");
}
static bool has_dpp_signs(const cdna_instruction *i, uint32_t extra) {
  if (i->encoding == CDNA_VOP1 && extra >> 22 & 3) return false;
  if (!strncmp(i->name, "v_dot", 5) && strstr(i->name, "c_i32")) return true;
  for (int source = 0; source < (strncmp(i->name, "v_ldexp", 7) ? 2 : 1); source++)
    if (extra >> (20 + 2 * source) & 3 && !is_real_source(i, source)) return false;
  return true;
}
static bool has_real_result(const cdna_instruction *i) {
  static const char *const real[] = {"v_cvt_f16", "v_cvt_f32", "v_cvt_pk_f32", "v_cvt_off_f32"};
  for (size_t k = 0; k < sizeof real / sizeof *real; k++)
    if (!strncmp(i->name, real[k], strlen(real[k]))) return true;
  return strncmp(i->name, "v_cvt_", 6) != 0 && strncmp(i->name, "v_frexp_exp", 11) != 0 && is_real_source(i, 0);
}
static bool is_of_bytes(const cdna_instruction *i) {
  return tw_ends_with(i->name, "_fp8") || tw_ends_with(i->name, "_bf8");
}
static bool has_sdwa_signs(const cdna_instruction *i, uint32_t extra) {
  if (i->encoding == CDNA_VOP1 && (extra >> 24 || (extra >> 14 & 3 && !has_real_result(i)))) return false;
  if (i->encoding == CDNA_VOP1 && is_of_bytes(i) && (extra >> 8 & 7) != 6) return false; /* selects the whole result */
  if (i->encoding == CDNA_VOP2 && extra >> 14 & 3 && !is_real_source(i, 0)) return false;
  for (int source = 0; source < 2; source++) {
    const uint32_t signs = extra >> (19 + 8 * source) & 7;
    if (signs & (is_real_source(i, source) ? 1 : 6)) return false;
  }
  return true;
}

/* Decodes one dword, perhaps with a dword that follows. */
static const char *decode_narrow(cdna_arch arch, cdna_encoding e, const uint32_t word[], size_t n, cdna_code *c) {
  c->bits = word[0];
  if (!decode_plain(arch, e, c)) return unknown;
  const cdna_instruction *i = c->instruction;
  bool literal = has_field(i, 'K');
  if (e == CDNA_VOP1 || e == CDNA_VOP2 || e == CDNA_VOPC) {
    const uint32_t source = word[0] & 0x1FF;
    const bool nop = e == CDNA_VOP1 && !i->opcode && source == CDNA_CODE_DPP; /* v_nop, too, has a form with DPP */
    if (nop || (has_field(i, '0') && (source == CDNA_CODE_DPP || source == CDNA_CODE_SDWA))) {
      const bool dpp = source == CDNA_CODE_DPP;
      if (!nop && !(i->forms & (dpp ? CDNA_FORM_DPP : CDNA_FORM_SDWA))) return unknown;
      if (n < 2) return cut;
      c->variant = dpp ? CDNA_DPP : CDNA_SDWA;
      c->extra = word[1];
      c->dwords = 2;
      return (dpp ? has_dpp_signs(i, c->extra) : has_sdwa_signs(i, c->extra)) ? NULL : unknown;
    }
    literal = literal || (has_field(i, '0') && source == CDNA_LITERAL);
  } else {
    literal = literal || (has_field(i, '0') && (word[0] & 0xFF) == CDNA_LITERAL) ||
              (has_field(i, '1') && (word[0] >> 8 & 0xFF) == CDNA_LITERAL);
  }
  c->dwords = 1;
  if (!literal) return NULL;
  if (n < 2) return cut;
  c->has_literal = true;
  c->literal = word[1];
  c->dwords = 2;
  return NULL;
}

static bool has_operands(const cdna_code *c);

/* v_mfma_ld_scale: the scales for the MFMA in the next 64 bits (VOP3PX of CDNA4), if that MFMA takes scales. */
enum { LD_SCALE = 0x2C, F8F6F4_16 = 0x2D, F8F6F4_32 = 0x2E };

static bool decode_scaled(cdna_arch arch, const uint32_t word[], size_t n, cdna_code *out) {
  if (n < 4 || word[2] >> 23 != 0x1A7 || (word[2] & ABID) != TAKES_SCALES) return false;
  const uint32_t op = word[2] >> 16 & 127;
  if (op != F8F6F4_16 && op != F8F6F4_32) return false;
  *out = (cdna_code){.prefix = word[0] | (uint64_t)word[1] << 32,
                     .bits = word[2] | (uint64_t)word[3] << 32,
                     .dwords = 4,
                     .variant = CDNA_SCALED};
  return decode_plain(arch, CDNA_VOP3P, out) && has_operands(out);
}

static const char *decode(cdna_arch arch, const uint32_t word[], size_t n, cdna_code *out) {
  *out = (cdna_code){0};
  if (!n) return cut;
  const cdna_encoding e = encoding_of(word[0]);
  if (e == CDNA_ENCODINGS) return unknown;
  if (!is_wide(e)) return decode_narrow(arch, e, word, n, out);
  if (n < 2) return cut;
  if (arch == CDNA4 && e == CDNA_VOP3P && (word[0] >> 16 & 127) == LD_SCALE && decode_scaled(arch, word, n, out))
    return NULL;
  *out = (cdna_code){.bits = word[0] | (uint64_t)word[1] << 32, .dwords = 2};
  return decode_plain(arch, e, out) ? NULL : unknown;
}

const char *cdna_decode(cdna_arch arch, const uint32_t word[], size_t n, cdna_code *out) {
  const char *why = decode(arch, word, n, out);
  return why                 ? why
         : has_operands(out) ? NULL
                             : "no instruction of this machine: one of its operands stands for nothing";
}

/* ---- fields ---- */

static bool is_matrix(const cdna_instruction *i) {
  return i->encoding == CDNA_VOP3P && (!strncmp(i->name, "v_mfma_", 7) || !strncmp(i->name, "v_smfmac", 8)) &&
         strncmp(i->name, "v_mfma_ld", 9) != 0;
}
static bool is_mai(const cdna_instruction *i) {
  return is_matrix(i) || (i->encoding == CDNA_VOP3P && !strncmp(i->name, "v_accvgpr", 9));
}

static int accumulation(int code, bool is_accumulation) { return is_accumulation ? code + CDNA_VGPRS : code; }

static int vop3_code(const cdna_code *c, const cdna_operand_form *o) {
  const bool mai = is_mai(c->instruction);
  switch (o->field) {
  case 'D': {
    const int code = (int)cdna_bits(c->bits, 0, 8);
    if (o->holds != 'v' && o->holds != 'a') return code;
    return accumulation(CDNA_VGPRS + code, o->holds == 'a' || (mai && o->holds != 'a' && cdna_bits(c->bits, 15, 1) &&
                                                               strncmp(c->instruction->name, "v_accvgpr", 9) != 0));
  }
  case 'S': return (int)cdna_bits(c->bits, 8, 7);
  default: {
    const int index = o->field - '0';
    const int code = (int)cdna_bits(c->bits, 32 + 9 * index, 9);
    if (code < CDNA_VGPRS || !mai) return code;
    if (o->holds == 'a') return code + CDNA_VGPRS;
    if (index == 2) /* C; for smfmac the indices */
      return accumulation(code, strncmp(c->instruction->name, "v_smfmac", 8) != 0 && cdna_bits(c->bits, 15, 1));
    return accumulation(code, strncmp(c->instruction->name, "v_accvgpr", 9) != 0 && cdna_bits(c->bits, 59 + index, 1));
  }
  }
}

static int vop_code(const cdna_code *c, const cdna_operand_form *o) {
  const cdna_encoding e = c->instruction->encoding;
  const bool sdwa = c->variant == CDNA_SDWA;
  switch (o->field) {
  case 'D': {
    const int code = (int)cdna_bits(c->bits, 17, 8);
    return o->holds == 'v' ? CDNA_VGPRS + code : o->holds == 'a' ? 2 * CDNA_VGPRS + code : code;
  }
  case '0':
    if (o->holds == 'a') {
      const int code = (int)cdna_bits(c->bits, 0, 9);
      return accumulation(code, code >= CDNA_VGPRS);
    }
    if (sdwa) return (int)(c->extra & 0xFF) + (c->extra >> 23 & 1 ? 0 : CDNA_VGPRS);
    if (c->variant == CDNA_DPP) return (int)(c->extra & 0xFF) + CDNA_VGPRS;
    return (int)cdna_bits(c->bits, 0, 9);
  case '1':
    if (sdwa && c->extra >> 31) return (int)cdna_bits(c->bits, 9, 8);
    return CDNA_VGPRS + (int)cdna_bits(c->bits, 9, 8);
  case 'C':
    if (sdwa && e == CDNA_VOPC && c->extra >> 15 & 1) return (int)(c->extra >> 8 & 0x7F);
    return CDNA_VCC;
  default: return CDNA_LITERAL;
  }
}

static bool is_wave_sync(const cdna_instruction *i) { return !strncmp(i->name, "ds_gws_", 7); }

static int memory_code(const cdna_code *c, const cdna_operand_form *o) {
  const cdna_encoding e = c->instruction->encoding;
  const bool acc = e == CDNA_DS ? cdna_bits(c->bits, 25, 1) : cdna_bits(c->bits, 55, 1);
  const bool buffer = e == CDNA_MUBUF || e == CDNA_MTBUF;
  switch (o->field) {
  case 'A': /* an address, or for global wave sync the data */
    return accumulation(CDNA_VGPRS + (int)cdna_bits(c->bits, 32, 8),
                        acc && e == CDNA_DS && is_wave_sync(c->instruction));
  case 'W': return accumulation(CDNA_VGPRS + (int)cdna_bits(c->bits, 40, 8), acc);
  case 'X': return accumulation(CDNA_VGPRS + (int)cdna_bits(c->bits, 48, 8), acc);
  case 'D': return accumulation(CDNA_VGPRS + (int)cdna_bits(c->bits, 56, 8), acc);
  case 'B': return buffer ? 4 * (int)cdna_bits(c->bits, 48, 5) : -1;
  case 'O': return (int)cdna_bits(c->bits, 56, 8);
  default: return -1;
  }
}

static int field_code(const cdna_code *c, const cdna_operand_form *o) {
  switch (c->instruction->encoding) {
  case CDNA_SOP2:
  case CDNA_SOPK:
  case CDNA_SOP1:
  case CDNA_SOPC:
  case CDNA_SOPP:
    return o->field == 'D'   ? (int)cdna_bits(c->bits, 16, 7)
           : o->field == '0' ? (int)cdna_bits(c->bits, 0, 8)
           : o->field == '1' ? (int)cdna_bits(c->bits, 8, 8)
                             : CDNA_LITERAL;
  case CDNA_SMEM: return o->field == 'D' ? (int)cdna_bits(c->bits, 6, 7) : 2 * (int)cdna_bits(c->bits, 0, 6);
  case CDNA_VOP1:
  case CDNA_VOP2:
  case CDNA_VOPC: return vop_code(c, o);
  case CDNA_VOP3:
  case CDNA_VOP3P: return o->field == 'C' ? CDNA_VCC : vop3_code(c, o);
  default: return memory_code(c, o);
  }
}

bool cdna_takes_halves(const cdna_instruction *i) {
  const size_t length = strlen(i->name);
  const char *last = length > 4 ? i->name + length - 4 : "";
  if (i->encoding < CDNA_VOP2 || i->encoding > CDNA_VOP3P || strstr(i->name, "fma_mix") ||
      !strncmp(i->name, "v_sad_", 6))
    return false;
  return !strcmp(last, "_f16") || !strcmp(last, "_b16") || !strcmp(last, "_i16") || !strcmp(last, "_u16");
}

/* Scalar operands of two dwords begin at even numbers, and operands of four or more at multiples of four: lower bits
 * are ignored. */
int cdna_operand_code(const cdna_code *c, const cdna_operand_form *o) {
  const int code = field_code(c, o);
  if (code >= CDNA_ZERO || o->width < 2 || o->holds == 'v' || o->holds == 'a') return code;
  const bool named = (code >= CDNA_FLAT_SCRATCH && code < CDNA_TTMP) || code >= CDNA_M0;
  return named ? code : o->width == 2 ? code & ~1 : code & ~3;
}

/* Named constants. llvm-mc also prints them where they are not allowed; then the instruction is not executed. */
static bool is_named_constant(int code, int width) {
  return code == 230 || (code == 231 && width == 1) || (code >= CDNA_APERTURES && code < CDNA_APERTURES + 5) ||
         (code >= CDNA_VCCZ && code <= CDNA_SCC);
}

static bool is_scalars(int code, int width) {
  if (width < 2 || code == CDNA_NULL) return true;
  if (width > 2) return code + width <= CDNA_XNACK || (code >= CDNA_TTMP && code + width <= CDNA_TTMP + 16);
  return code != CDNA_M0 && !(code & 1);
}

/* Is the operand code valid, also for this number of dwords? */
static bool is_operand(const cdna_code *c, const cdna_operand_form *o) {
  const int code = cdna_operand_code(c, o);
  const bool narrow_form = !is_wide(c->instruction->encoding);
  if (code >= 2 * CDNA_VGPRS && code + cdna_operand_width(c, o) > 3 * CDNA_VGPRS) return false;
  /* llvm-mc accepts these forms; they are rejected when executed */
  if (is_matrix(c->instruction) && code < CDNA_VGPRS) {
    const bool sum = o->field == '2' && strncmp(c->instruction->name, "v_smfmac", 8) != 0;
    const bool number = code <= CDNA_ZERO + 80 || (code >= CDNA_FLOATS && code <= CDNA_FLOATS + 8);
    return code == CDNA_NULL || (sum ? number && (code >= CDNA_ZERO || is_scalars(code, o->width))
                                     : o->width <= 2 && is_named_constant(code, o->width));
  }
  if (o->holds == 'a' && !narrow_form) return true;
  if (o->holds == 'a' && o->field != 'D' && code < CDNA_VGPRS) return code == CDNA_NULL || is_named_constant(code, 1);
  if (code >= CDNA_VGPRS || code < 0) return true;
  if (code < CDNA_ZERO) return is_scalars(code, o->width);
  const cdna_encoding e = (cdna_encoding)c->instruction->encoding;
  if (o->field == 'D' && (e == CDNA_VOP3 || e == CDNA_VOP1)) return is_named_constant(code, o->width);
  if (o->holds == 'r' || o->field == 'D' || o->field == 'S' || o->field == 'B') return false;
  if (code > CDNA_ZERO + 80 && code < CDNA_FLOATS) return is_named_constant(code, o->width);
  if (code == CDNA_LDS_DIRECT)
    return c->instruction->encoding >= CDNA_VOP2 && o->width == 1; /* printed, but rejected when executed */
  if (code == CDNA_CODE_SDWA || code == CDNA_CODE_DPP) return false;
  return code != CDNA_LITERAL || (narrow_form && c->has_literal);
}

/* Floating-point atomics that cannot return AccVGPRs, or cannot return anything at system scope, as in llvm-mc. */
static bool returns_to(const cdna_instruction *i, uint64_t bits) {
  const bool atomic = (i->encoding == CDNA_GLOBAL || i->encoding == CDNA_FLAT) && strstr(i->name, "_atomic_");
  if (!atomic || !cdna_bits(bits, 55, 1) || !cdna_bits(bits, 16, 1)) return true;
  if (!strcmp(i->name, "global_atomic_add_f32") || !strcmp(i->name, "global_atomic_pk_add_f16")) return false;
  return !cdna_bits(bits, 25, 1) || !tw_ends_with(i->name, "_f64");
}

static bool has_operands(const cdna_code *c) {
  const cdna_instruction *i = c->instruction;
  /* data of loads to LDS bypass AccVGPRs */
  if (i->encoding == CDNA_MUBUF && cdna_bits(c->bits, 16, 1) && cdna_bits(c->bits, 55, 1)) return false;
  if (i->encoding == CDNA_DS && is_wave_sync(i) && cdna_bits(c->bits, 25, 1) && !cdna_bits(c->bits, 16, 1))
    return false;
  if (!returns_to(i, c->bits)) return false;
  const int base = (int)cdna_bits(c->bits, 48, 7); /* two registers, or none */
  if (i->encoding == CDNA_GLOBAL && ((base > CDNA_FLAT_SCRATCH && base < CDNA_TTMP && base & 1) || base == CDNA_M0))
    return false;
  for (int o = 0; o < i->n_operands; o++)
    if (i->operand[o].field != 'M' && i->operand[o].field != 'K' && i->operand[o].field != 'C' &&
        i->operand[o].field != 'Z' && !is_operand(c, &i->operand[o]))
      return false;
  return true;
}

int cdna_operand_width(const cdna_code *c, const cdna_operand_form *o) {
  if (c->instruction->encoding != CDNA_VOP3P || (o->field != '0' && o->field != '1') || o->width != 8 ||
      !strstr(c->instruction->name, "_f8f6f4"))
    return o->width;
  static const uint8_t width[8] = {8, 8, 6, 6, 4, 8, 8, 8};
  return width[o->field == '0' ? cdna_bits(c->bits, 8, 3) : cdna_bits(c->bits, 61, 3)];
}
