/* print.c - prints instructions as llvm-objdump does. */
#include <inttypes.h>
#include <string.h>

#include "target/cdna/isa/isa.h"

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }
static bool ends(const char *text, const char *with) {
  const size_t n = strlen(text), m = strlen(with);
  return n >= m && !strcmp(text + n - m, with);
}

/* ---- registers and constants ---- */

static void print_range(tw_text *t, const char *kind, int first, int width) {
  if (width == 1)
    tw_text_add(t, "%s%d", kind, first);
  else
    tw_text_add(t, "%s[%d:%d]", kind, first, first + width - 1);
}

static void print_integer(tw_text *t, int64_t v) {
  if (v >= -16 && v <= 64)
    tw_text_add(t, "%" PRId64, v);
  else
    tw_text_add(t, "0x%" PRIx64, (uint64_t)v);
}

static const char *special_name(int code, int width) {
  static const char *const narrow[] = {[CDNA_FLAT_SCRATCH] = "flat_scratch_lo",
                                       "flat_scratch_hi",
                                       "xnack_mask_lo",
                                       "xnack_mask_hi",
                                       "vcc_lo",
                                       "vcc_hi",
                                       [CDNA_M0] = "m0",
                                       [CDNA_EXEC] = "exec_lo",
                                       "exec_hi"};
  static const char *const constants[] = {"src_shared_base", "src_shared_limit", "src_private_base",
                                          "src_private_limit", "src_pops_exiting_wave_id"};
  static const char *const floats[] = {"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"};
  if (width == 2) {
    if (code == CDNA_FLAT_SCRATCH) return "flat_scratch";
    if (code == CDNA_XNACK) return "xnack_mask";
    if (code == CDNA_VCC) return "vcc";
    if (code == CDNA_EXEC) return "exec";
  }
  if (code <= CDNA_EXEC + 1 && code >= CDNA_FLAT_SCRATCH && narrow[code]) return narrow[code];
  if (code >= CDNA_APERTURES && code < CDNA_APERTURES + 5) return constants[code - CDNA_APERTURES];
  if (code >= CDNA_FLOATS && code < CDNA_FLOATS + 8) return floats[code - CDNA_FLOATS];
  if (code == 125) return "null";
  if (code == 230) return "src_flat_scratch_base_lo";
  if (code == 231) return "src_flat_scratch_base_hi";
  if (code == CDNA_VCCZ) return "src_vccz";
  if (code == CDNA_EXECZ) return "src_execz";
  if (code == CDNA_SCC) return "src_scc";
  if (code == CDNA_LDS_DIRECT) return "src_lds_direct";
  return NULL;
}

/* 16-bit integers: a float constant is printed as its integer value. */
static bool takes_short_integers(const cdna_instruction *i) {
  return i->encoding >= CDNA_VOP2 && i->encoding <= CDNA_VOP3 &&
         (ends(i->name, "_u16") || ends(i->name, "_i16") || ends(i->name, "_b16")) && !begins(i->name, "v_dot") &&
         !begins(i->name, "v_sat_pk") && !begins(i->name, "v_sad_");
}

/* Bits of the constants 0.5 to -4.0 and 1/(2*pi), for each type of operand. */
static const char *const float_texts[] = {"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"};
static const uint32_t single[] = {0x3F000000, 0xBF000000, 0x3F800000, 0xBF800000, 0x40000000,
                                  0xC0000000, 0x40800000, 0xC0800000, 0x3E22F983};
static bool is_float_constant(uint32_t bits, const uint32_t constants[9]) {
  for (int k = 0; k < 9; k++)
    if (constants[k] == bits) return true;
  return false;
}
static bool is_small_integer(int32_t v) { return v >= -16 && v <= 64; }

/* A literal whose value is also an inline constant is marked, so that it assembles to the same encoding; for
 * binary64 the constant is printed. For operands of 16 bits only the lower bits count; unmarked literals print only
 * these. */
static void print_literal(tw_text *t, const cdna_code *c, int width) {
  static const uint32_t half[] = {0x3800, 0xB800, 0x3C00, 0xBC00, 0x4000, 0xC000, 0x4400, 0xC400, 0x3118},
                        brain[] = {0x3F00, 0xBF00, 0x3F80, 0xBF80, 0x4000, 0xC000, 0x4080, 0xC080, 0x3E22},
                        upper[] = {0x3FE00000, 0xBFE00000, 0x3FF00000, 0xBFF00000,
                                   0x40000000, 0xC0000000, 0x40100000, 0xC0100000};
  const cdna_instruction *i = c->instruction;
  const uint32_t v = c->literal;
  bool marked = is_small_integer((int32_t)v), lower = false;
  if (width == 2 && strstr(i->name, "f64")) {
    for (int k = 0; k < 8; k++)
      if (upper[k] == v) {
        tw_text_add_string(t, float_texts[k]);
        return;
      }
    if (!v) {
      tw_text_add_string(t, "0");
      return;
    }
    marked = false;
  } else if (width == 2) {
    marked = v <= 64;
  } else if (begins(i->name, "v_pk_") || begins(i->name, "v_dot2c_f32_f16")) {
    marked = marked || is_float_constant(v, half);
  } else if (begins(i->name, "v_dot2c_f32_bf16")) {
    marked = marked || is_float_constant(v, brain);
  } else if (begins(i->name, "v_cvt_f32_bf16")) {
    marked = is_small_integer((int16_t)v) || is_float_constant(v & 0xFFFF, brain);
  } else if (begins(i->name, "v_cvt_f16_u16") || begins(i->name, "v_cvt_f16_i16") || takes_short_integers(i)) {
    lower = !marked;
  } else if (cdna_takes_halves(i) && !begins(i->name, "v_sat_pk") && !begins(i->name, "v_dot2c_i32_i16")) {
    marked = is_small_integer((int16_t)v) || is_float_constant(v & 0xFFFF, half);
    lower = !marked;
  } else if (!begins(i->name, "v_sat_pk")) {
    marked = marked || is_float_constant(v, single);
  }
  tw_text_add(t, marked ? "lit(0x%" PRIx32 ")" : "0x%" PRIx32, lower ? v & 0xFFFF : v);
}

static void print_code(tw_text *t, const cdna_code *c, int code, int width) {
  if (code >= 2 * CDNA_VGPRS) {
    print_range(t, "a", code - 2 * CDNA_VGPRS, width);
  } else if (code >= CDNA_VGPRS) {
    print_range(t, "v", code - CDNA_VGPRS, width);
  } else if (code < CDNA_SGPRS) {
    print_range(t, "s", code, width);
  } else if (code >= CDNA_TTMP && code < CDNA_TTMP + 16) {
    print_range(t, "ttmp", code - CDNA_TTMP, width);
  } else if (code >= CDNA_ZERO && code <= CDNA_ZERO + 64) {
    tw_text_add(t, "%d", code - CDNA_ZERO);
  } else if (code > CDNA_ZERO + 64 && code <= CDNA_ZERO + 80) {
    tw_text_add(t, "%d", CDNA_ZERO + 64 - code);
  } else if (code == CDNA_LITERAL) {
    print_literal(t, c, width);
  } else if (code >= CDNA_FLOATS && code <= CDNA_FLOATS + 8 && takes_short_integers(c->instruction)) {
    static const uint16_t half[] = {0x3800, 0xB800, 0x3C00, 0xBC00, 0x4000, 0xC000, 0x4400, 0xC400, 0x3118};
    tw_text_add(t, "0x%x", half[code - CDNA_FLOATS]);
  } else if (code == CDNA_FLOATS + 8) {
    tw_text_add_string(t, width == 2 ? "0.15915494309189532" : "0.15915494");
  } else {
    const char *name = special_name(code, width);
    if (name)
      tw_text_add_string(t, name);
    else
      tw_text_add(t, "<%d>", code);
  }
}

/* ---- operands ---- */

static const char *const hardware_registers[] = {[1] = "HW_REG_MODE",
                                                 [2] = "HW_REG_STATUS",
                                                 [3] = "HW_REG_TRAPSTS",
                                                 [4] = "HW_REG_HW_ID",
                                                 [5] = "HW_REG_GPR_ALLOC",
                                                 [6] = "HW_REG_LDS_ALLOC",
                                                 [7] = "HW_REG_IB_STS",
                                                 [15] = "HW_REG_SH_MEM_BASES",
                                                 [16] = "HW_REG_TBA_LO",
                                                 [17] = "HW_REG_TBA_HI",
                                                 [18] = "HW_REG_TMA_LO",
                                                 [19] = "HW_REG_TMA_HI",
                                                 [20] = "HW_REG_XCC_ID",
                                                 [21] = "HW_REG_SQ_PERF_SNAPSHOT_DATA",
                                                 [22] = "HW_REG_SQ_PERF_SNAPSHOT_DATA1",
                                                 [23] = "HW_REG_SQ_PERF_SNAPSHOT_PC_LO",
                                                 [24] = "HW_REG_SQ_PERF_SNAPSHOT_PC_HI"};

static void print_hardware_register(tw_text *t, uint32_t imm) {
  const uint32_t id = imm & 63, offset = imm >> 6 & 31, width = (imm >> 11 & 31) + 1;
  const char *name = id < sizeof hardware_registers / sizeof *hardware_registers ? hardware_registers[id] : NULL;
  tw_text_add_string(t, "hwreg(");
  if (name)
    tw_text_add_string(t, name);
  else
    tw_text_add(t, "%u", id);
  if (offset || width != 32) tw_text_add(t, ", %u, %u", offset, width);
  tw_text_add_string(t, ")");
}

static void print_index_mode(tw_text *t, uint32_t bits) {
  static const char *const name[] = {"SRC0", "SRC1", "SRC2", "DST"};
  bool first = true;
  if (bits > 15) {
    tw_text_add(t, "0x%x", bits);
    return;
  }
  tw_text_add_string(t, "gpr_idx(");
  for (int b = 0; b < 4; b++) {
    if (!(bits >> b & 1)) continue;
    tw_text_add(t, "%s%s", first ? "" : ",", name[b]);
    first = false;
  }
  tw_text_add_string(t, ")");
}

static void print_waitcnt(tw_text *t, uint32_t imm) {
  const uint32_t vm = (imm & 15) | (imm >> 14 & 3) << 4, exp = imm >> 4 & 7, lgkm = imm >> 8 & 15;
  const bool all = vm == 63 && exp == 7 && lgkm == 15;
  bool first = true;
  if (all || vm != 63) tw_text_add(t, "%svmcnt(%u)", first ? "" : " ", vm), first = false;
  if (all || exp != 7) tw_text_add(t, "%sexpcnt(%u)", first ? "" : " ", exp), first = false;
  if (all || lgkm != 15) tw_text_add(t, "%slgkmcnt(%u)", first ? "" : " ", lgkm);
}

static void print_message(tw_text *t, uint32_t imm) {
  static const char *const messages[] = {
      [1] = "MSG_INTERRUPT", "MSG_GS",           "MSG_GS_DONE",         "MSG_SAVEWAVE",
      "MSG_STALL_WAVE_GEN",  "MSG_HALT_WAVES",   "MSG_ORDERED_PS_DONE", "MSG_EARLY_PRIM_DEALLOC",
      "MSG_GS_ALLOC_REQ",    "MSG_GET_DOORBELL", [15] = "MSG_SYSMSG"};
  static const char *const system[] = {
      [1] = "SYSMSG_OP_ECC_ERR_INTERRUPT", "SYSMSG_OP_REG_RD", [4] = "SYSMSG_OP_TTRACE_PC"};
  static const char *const gs[] = {"GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"};
  const uint32_t id = imm & 15, op = imm >> 4 & 7, stream = imm >> 8 & 3;
  const char *name = id < 16 ? messages[id] : NULL;
  const bool rest = imm & ~0x37Fu;
  if (name && (id == 2 || id == 3) && (op < 4) && (op || id == 3) && (op || !stream)) {
    tw_text_add(t, "sendmsg(%s, %s", name, gs[op]);
    if (op) tw_text_add(t, ", %u", stream);
    tw_text_add_string(t, ")");
  } else if (name && id == 15 && op <= 4 && system[op] && !stream) {
    tw_text_add(t, "sendmsg(%s, %s)", name, system[op]);
  } else if (name && id != 2 && id != 3 && id != 15 && !op && !stream) {
    tw_text_add(t, "sendmsg(%s)", name);
  } else if (!rest) {
    tw_text_add(t, "sendmsg(%u, %u, %u)", id, op, stream);
  } else {
    tw_text_add(t, "%u", imm & 0xFFFF);
  }
}

/* Immediates in words: SOPP, SOPK, and the few others. */
static void print_immediate(tw_text *t, const cdna_code *c) {
  const char *name = c->instruction->name;
  const uint32_t imm = (uint32_t)c->bits & 0xFFFF;
  if (c->instruction->encoding == CDNA_SOPC) {
    print_index_mode(t, (uint32_t)c->bits >> 8 & 0xFF);
  } else if (!strcmp(name, "s_waitcnt")) {
    print_waitcnt(t, imm);
  } else if (begins(name, "s_sendmsg")) {
    print_message(t, imm);
  } else if (!strcmp(name, "s_set_gpr_idx_mode")) {
    print_index_mode(t, imm);
  } else if (strstr(name, "branch") || begins(name, "s_call")) {
    tw_text_add(t, "%u", imm);
  } else if (strstr(name, "etreg")) {
    print_hardware_register(t, imm);
  } else if (begins(name, "s_setprio") || !strcmp(name, "s_nop") || !strcmp(name, "s_sleep") ||
             !strcmp(name, "s_sethalt") || begins(name, "s_incperf") || begins(name, "s_decperf") ||
             begins(name, "s_trap") || begins(name, "s_setkill")) {
    print_integer(t, imm);
  } else {
    tw_text_add(t, "0x%" PRIx32, imm);
  }
}

/* ---- modifiers ---- */

static void print_list(tw_text *t, const char *name, uint32_t bits, int n, uint32_t usual) {
  if (bits == usual) return;
  tw_text_add(t, " %s:[", name);
  for (int i = 0; i < n; i++) tw_text_add(t, "%s%u", i ? "," : "", bits >> i & 1);
  tw_text_add_string(t, "]");
}

static void print_output(tw_text *t, bool clamp, uint32_t scale) {
  static const char *const name[] = {"", " mul:2", " mul:4", " div:2"};
  if (clamp) tw_text_add_string(t, " clamp");
  tw_text_add_string(t, name[scale & 3]);
}

static void print_dpp(const cdna_code *c, tw_text *t) {
  const uint32_t x = c->extra, control = x >> 8 & 0x1FF;
  static const struct {
    uint32_t first, last;
    const char *name;
  } shifts[] = {
      {0x101, 0x10F, "row_shl"}, {0x111, 0x11F, "row_shr"}, {0x121, 0x12F, "row_ror"}, {0x150, 0x15F, "row_newbcast"}};
  static const struct {
    uint32_t control;
    const char *name;
  } plain[] = {{0x130, "wave_shl:1"}, {0x134, "wave_rol:1"},      {0x138, "wave_shr:1"},   {0x13C, "wave_ror:1"},
               {0x140, "row_mirror"}, {0x141, "row_half_mirror"}, {0x142, "row_bcast:15"}, {0x143, "row_bcast:31"}};
  if (control <= 0xFF) {
    tw_text_add(t, " quad_perm:[%u,%u,%u,%u]", control & 3, control >> 2 & 3, control >> 4 & 3, control >> 6 & 3);
  } else {
    bool found = false;
    for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++)
      if (control >= shifts[i].first && control <= shifts[i].last)
        tw_text_add(t, " %s:%u", shifts[i].name, control & 15), found = true;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
      if (control == plain[i].control) tw_text_add(t, " %s", plain[i].name), found = true;
    if (!found) tw_text_add_string(t, " /* Invalid dpp_ctrl value */");
  }
  tw_text_add(t, " row_mask:0x%x bank_mask:0x%x", x >> 28, x >> 24 & 15);
  if (x >> 19 & 1) tw_text_add_string(t, " bound_ctrl:1");
}

static void print_sdwa(const cdna_code *c, tw_text *t, int n_sources) {
  static const char *const part[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD", "<7>"};
  static const char *const unused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "UNUSED_PAD"};
  const uint32_t x = c->extra;
  const char *name = c->instruction->name;
  if (c->instruction->encoding != CDNA_VOPC) {
    print_output(t, x >> 13 & 1, x >> 14 & 3);
    if (!ends(name, "_fp8") && !ends(name, "_bf8"))
      tw_text_add(t, " dst_sel:%s dst_unused:%s", part[x >> 8 & 7], unused[x >> 11 & 3]);
  }
  tw_text_add(t, " src0_sel:%s", part[x >> 16 & 7]);
  if (n_sources > 1) tw_text_add(t, " src1_sel:%s", part[x >> 24 & 7]);
}

/* Prints the signs of a source: bit `s` of each mask. */
static void print_signed(tw_text *t, const cdna_code *c, const cdna_operand_form *o, int s, uint32_t negate,
                         uint32_t absolute, bool sign_extend) {
  const int code = cdna_operand_code(c, o), width = cdna_operand_width(c, o);
  const bool constant = (code >= CDNA_ZERO && code <= CDNA_ZERO + 80) ||
                        (code >= CDNA_FLOATS && code <= CDNA_FLOATS + 8) || code == CDNA_LITERAL;
  const bool minus = negate >> s & 1, bars = absolute >> s & 1;
  const bool words = minus && !bars && constant;
  if (sign_extend) tw_text_add_string(t, "sext(");
  if (minus) tw_text_add_string(t, words ? "neg(" : "-");
  if (bars) tw_text_add_string(t, "|");
  const bool wide_sum = s == 2 && (begins(c->instruction->name, "v_mad_u32_u16") ||
                                   begins(c->instruction->name, "v_mad_i32_i16")); /* 32-bit */
  if (wide_sum && code >= CDNA_FLOATS && code < CDNA_FLOATS + 8)
    tw_text_add_string(t, float_texts[code - CDNA_FLOATS]);
  else if (wide_sum && code == CDNA_FLOATS + 8)
    tw_text_add_string(t, "0.15915494");
  else
    print_code(t, c, code, width);
  if (bars) tw_text_add_string(t, "|");
  if (words) tw_text_add_string(t, ")");
  if (sign_extend) tw_text_add_string(t, ")");
}

typedef struct signs {
  uint32_t negate, absolute, sign_extend;
} signs;

static bool is_mfma(const char *name) {
  return (begins(name, "v_mfma") && !begins(name, "v_mfma_ld")) || begins(name, "v_smfmac");
}

static signs signs_of(const cdna_code *c) {
  const cdna_instruction *i = c->instruction;
  const uint32_t x = c->extra;
  /* sign bits of integers have no meaning */
  if (c->variant == CDNA_DPP && begins(i->name, "v_dot") && strstr(i->name, "c_i32_")) return (signs){0};
  if (c->variant == CDNA_DPP && begins(i->name, "v_ldexp")) return (signs){x >> 20 & 1, x >> 21 & 1, 0};
  if (c->variant == CDNA_DPP) return (signs){(x >> 20 & 1) | (x >> 22 & 1) << 1, (x >> 21 & 1) | (x >> 23 & 1) << 1, 0};
  if (c->variant == CDNA_SDWA && begins(i->name, "v_pk_")) return (signs){0};
  if (c->variant == CDNA_SDWA)
    return (signs){(x >> 20 & 1) | (x >> 28 & 1) << 1, (x >> 21 & 1) | (x >> 29 & 1) << 1,
                   (x >> 19 & 1) | (x >> 27 & 1) << 1};
  const uint64_t on = c->bits & i->shown;
  if (i->encoding == CDNA_VOP3 && !begins(i->name, "v_bitop3"))
    return (signs){cdna_bits(on, 61, 3), cdna_find_field(i, 'S') ? 0 : cdna_bits(on, 8, 3), 0};
  if (i->encoding == CDNA_VOP3P && strstr(i->name, "_mix"))
    return (signs){cdna_bits(c->bits, 61, 3), cdna_bits(c->bits, 8, 3), 0};
  return (signs){0};
}

/* ---- modifiers after the operands ---- */

static int sources_of(const cdna_instruction *i) {
  int n = 0;
  for (int o = 0; o < i->n_operands; o++) n += i->operand[o].field >= '0' && i->operand[o].field <= '2';
  return n;
}

static void print_vop3_tail(const cdna_code *c, tw_text *t) {
  const cdna_instruction *i = c->instruction;
  const uint64_t on = c->bits & i->shown;
  if (begins(i->name, "v_permlane")) { /* other encodings use these fields as op_sel */
    if (cdna_bits(on, 12, 1)) tw_text_add_string(t, " bound_ctrl:1");
    if (cdna_bits(on, 11, 1)) tw_text_add_string(t, " fi:1");
    return;
  }
  if (begins(i->name, "v_bitop3")) {
    const uint32_t table = cdna_bits(c->bits, 61, 3) | cdna_bits(c->bits, 8, 3) << 3 | cdna_bits(c->bits, 59, 2) << 6;
    if (table) {
      tw_text_add(t, table <= 10 ? " bitop3:%u" : " bitop3:0x%x", table);
    }
    if (ends(i->name, "b16")) print_list(t, "op_sel", cdna_bits(on, 11, 4), 4, 0);
    return;
  }
  /* op_sel has a bit for each source, and the last for the result */
  const uint32_t shown = cdna_bits(i->shown, 11, 4), select = cdna_bits(on, 11, 4);
  int n = sources_of(i);
  if (shown && select) {
    uint32_t bits = select & ((1u << n) - 1);
    const bool result = shown >> 3 & 1;
    const bool third = !result && n == 2 && shown >> 2 & 1;
    if (third) bits = select, n = 3;
    if (result) {
      const bool all = shown >> 2 & 1 && n < 3;
      bits = all ? select : bits | (select >> 3 & 1) << n;
      n = all ? 4 : n + 1;
    }
    print_list(t, "op_sel", bits, n, 0);
  }
  print_output(t, cdna_bits(on, 15, 1), cdna_bits(on, 59, 2));
}

static void print_vop3p_tail(const cdna_code *c, tw_text *t) {
  const cdna_instruction *i = c->instruction;
  const char *name = i->name;
  if (begins(name, "v_accvgpr")) return;
  if (is_mfma(name)) {
    const uint32_t cbsz = cdna_bits(c->bits, 8, 3), abid = cdna_bits(c->bits, 11, 4), blgp = cdna_bits(c->bits, 61, 3);
    if (c->variant == CDNA_SCALED) {
      /* for the two scales; the third place exists, but its bits have no meaning */
      print_list(t, "op_sel", cdna_bits(c->prefix, 11, 2), 3, 0);
      print_list(t, "op_sel_hi", cdna_bits(c->prefix, 59, 2), 3, 7);
    }
    if (cbsz) tw_text_add(t, " cbsz:%u", cbsz);
    if (abid && c->variant != CDNA_SCALED) tw_text_add(t, " abid:%u", abid);
    if (strstr(name, "f64"))
      print_list(t, "neg", blgp, 3, 0);
    else if (blgp)
      tw_text_add(t, " blgp:%u", blgp);
    return;
  }
  const int n = sources_of(i);
  const uint32_t mask = (1u << n) - 1, low = cdna_bits(c->bits, 11, 3) & mask;
  const uint32_t high = (cdna_bits(c->bits, 59, 2) | cdna_bits(c->bits, 14, 1) << 2) & mask;
  const bool mix = strstr(name, "_mix");
  /* types of at most one byte: op_sel has nothing to select */
  if (!begins(name, "v_dot4") && !begins(name, "v_dot8")) {
    print_list(t, "op_sel", low, n, 0);
    print_list(t, "op_sel_hi", high, n, mix ? 0 : mask);
  }
  if (!mix) {
    print_list(t, "neg_lo", cdna_bits(c->bits & i->shown, 61, 3) & mask, n, 0);
    print_list(t, "neg_hi", cdna_bits(c->bits & i->shown, 8, 3) & mask, n, 0);
  }
  print_output(t, cdna_bits(c->bits & i->shown, 15, 1), 0);
}

static void print_swizzle(tw_text *t, uint32_t o) {
  if (!o) return;
  tw_text_add_string(t, " offset:");
  const uint32_t and = o & 31, or = o >> 5 & 31, xor = o >> 10 & 31;
  if ((o & 0xFF00) == 0x8000) {
    tw_text_add(t, "swizzle(QUAD_PERM,%u,%u,%u,%u)", o & 3, o >> 2 & 3, o >> 4 & 3, o >> 6 & 3);
  } else if (o >= 0xE000) {
    tw_text_add(t, "swizzle(FFT,%u)", o & 31);
  } else if (o >= 0xC000) {
    tw_text_add(t, "swizzle(ROTATE,%u,%u)", o >> 10 & 1, o >> 5 & 31);
  } else if (o >> 15) {
    tw_text_add(t, "%u", o);
  } else if (and == 31 && ! or &&__builtin_popcount(xor) == 1) {
    tw_text_add(t, "swizzle(SWAP,%u)", xor);
  } else if (and == 31 && ! or &&xor&&!(xor&(xor+1))) {
    tw_text_add(t, "swizzle(REVERSE,%u)", xor+1);
  } else {
    const uint32_t group = 32 - and;
    if (group > 1 && group <= 32 && !(group & (group - 1)) && !xor&& or < group) {
      tw_text_add(t, "swizzle(BROADCAST,%u,%u)", group, or);
      return;
    }
    char text[6] = "";
    for (int b = 0; b < 5; b++) {
      const uint32_t bit = 16u >> b;
      const bool zero = (((0 & and) | or) ^ xor) & bit, one = (((bit & and) | or) ^ xor) & bit;
      text[b] = zero == one ? (zero ? '1' : '0') : one ? 'p' : 'i';
    }
    tw_text_add(t, "swizzle(BITMASK_PERM,\"%s\")", text);
  }
}

static void print_ds_tail(const cdna_code *c, tw_text *t) {
  const char *name = c->instruction->name;
  const uint32_t offset = (uint32_t)c->bits & 0xFFFF;
  const bool two = (strstr(name, "read2") || strstr(name, "write2") || strstr(name, "wrxchg2"));
  if (!strcmp(name, "ds_swizzle_b32")) {
    print_swizzle(t, offset);
  } else if (two) {
    if (offset & 0xFF) tw_text_add(t, " offset0:%u", offset & 0xFF);
    if (offset >> 8) tw_text_add(t, " offset1:%u", offset >> 8);
  } else if (offset) {
    tw_text_add(t, " offset:%u", offset);
  }
  if (cdna_bits(c->bits, 16, 1) && c->instruction->shown >> 16 & 1) tw_text_add_string(t, " gds");
}

static void print_cache(tw_text *t, bool sc0, bool nt, bool sc1) {
  if (sc0) tw_text_add_string(t, " sc0");
  if (nt) tw_text_add_string(t, " nt");
  if (sc1) tw_text_add_string(t, " sc1");
}

static void print_flat_tail(const cdna_code *c, tw_text *t) {
  const bool flat = c->instruction->encoding == CDNA_FLAT;
  const int32_t offset = (int32_t)(cdna_bits(c->bits, 0, 13) << 19) >> 19;
  if (flat && cdna_bits(c->bits, 0, 13)) tw_text_add(t, " offset:%u", cdna_bits(c->bits, 0, 13));
  if (!flat && offset) tw_text_add(t, " offset:%d", offset);
  print_cache(t, cdna_bits(c->bits, 16, 1), cdna_bits(c->bits, 17, 1), cdna_bits(c->bits, 25, 1));
}

static void print_format(tw_text *t, uint32_t dfmt, uint32_t nfmt) {
  static const char *const data[] = {"INVALID",     "8",        "16",          "8_8",        "32",      "16_16",
                                     "10_11_11",    "11_11_10", "10_10_10_2",  "2_10_10_10", "8_8_8_8", "32_32",
                                     "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15"};
  static const char *const number[] = {"UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "RESERVED_6", "FLOAT"};
  if (dfmt == 1 && nfmt == 0) return;
  tw_text_add_string(t, " format:[");
  if (dfmt != 1) tw_text_add(t, "BUF_DATA_FORMAT_%s%s", data[dfmt], nfmt ? "," : "");
  if (nfmt) tw_text_add(t, "BUF_NUM_FORMAT_%s", number[nfmt]);
  tw_text_add_string(t, "]");
}

static void print_buffer_tail(const cdna_code *c, tw_text *t) {
  const bool typed = c->instruction->encoding == CDNA_MTBUF;
  if (typed) print_format(t, cdna_bits(c->bits, 19, 4), cdna_bits(c->bits, 23, 3));
  if (!c->instruction->n_operands) {
    print_cache(t, cdna_bits(c->bits, 14, 1), false, cdna_bits(c->bits, 15, 1));
    return;
  }
  if (cdna_bits(c->bits, 13, 1)) tw_text_add_string(t, " idxen");
  if (cdna_bits(c->bits, 12, 1)) tw_text_add_string(t, " offen");
  const uint32_t offset = cdna_bits(c->bits, 0, 12);
  if (offset) tw_text_add(t, " offset:%u", offset);
  if (typed)
    print_cache(t, cdna_bits(c->bits, 14, 1), cdna_bits(c->bits, 54, 1), cdna_bits(c->bits, 53, 1));
  else
    print_cache(t, cdna_bits(c->bits, 14, 1), cdna_bits(c->bits, 17, 1), cdna_bits(c->bits, 15, 1));
  if (!typed && cdna_bits(c->bits, 16, 1)) tw_text_add_string(t, " lds");
}

static void print_smem_tail(const cdna_code *c, tw_text *t, bool first) {
  const cdna_instruction *i = c->instruction;
  if (!cdna_find_field(i, 'B')) return;
  const bool immediate = cdna_bits(c->bits, 17, 1), enabled = cdna_bits(c->bits, 14, 1);
  const int32_t offset = (int32_t)(cdna_bits(c->bits, 32, 21) << 11) >> 11;
  (void)first;
  tw_text_add_string(t, ", ");
  if (enabled) {
    print_code(t, c, (int)cdna_bits(c->bits, 57, 7), 1);
    if (immediate) {
      if (offset < 0)
        tw_text_add(t, " offset:-0x%x", -offset);
      else
        tw_text_add(t, " offset:0x%x", offset);
    }
  } else if (immediate) {
    tw_text_add(t, offset < 0 ? "-0x%x" : "0x%x", offset < 0 ? -offset : offset);
  } else {
    print_code(t, c, (int)cdna_bits(c->bits, 32, 7), 1);
  }
  if (cdna_bits(c->bits & i->shown, 16, 1)) tw_text_add_string(t, " glc");
}

/* ---- addresses of vector memory ---- */

static void print_flat_operands(const cdna_code *c, tw_text *t) {
  const cdna_instruction *i = c->instruction;
  const bool scratch = i->encoding == CDNA_SCRATCH, flat = i->encoding == CDNA_FLAT;
  const bool acc = cdna_bits(c->bits, 55, 1), atomic = strstr(i->name, "_atomic_");
  const int saddr = (int)cdna_bits(c->bits, 48, 7), vaddr = (int)cdna_bits(c->bits, 32, 8);
  const cdna_operand_form *d = cdna_find_field(i, 'D'), *w = cdna_find_field(i, 'W');
  const char *kind = acc ? "a" : "v", *comma = "";
  int width = d ? d->width : 0;
  if (atomic && cdna_bits(c->bits, 16, 1)) width = strstr(i->name, "cmpswap") ? w->width / 2 : w->width;
  if (width) {
    print_range(t, kind, (int)cdna_bits(c->bits, 56, 8), width);
    comma = ", ";
  }
  tw_text_add_string(t, comma);
  if (scratch && !cdna_bits(c->bits, 13, 1))
    tw_text_add_string(t, "off");
  else
    print_range(t, "v", vaddr, scratch || (!flat && saddr != 0x7F) ? 1 : 2);
  if (w) {
    tw_text_add_string(t, ", ");
    print_range(t, kind, (int)cdna_bits(c->bits, 40, 8), w->width);
  }
  if (flat) return;
  tw_text_add_string(t, ", ");
  if (saddr == 0x7F)
    tw_text_add_string(t, "off");
  else
    print_code(t, c,
               scratch || (saddr >= CDNA_FLAT_SCRATCH && saddr < CDNA_TTMP) || saddr >= CDNA_M0 ? saddr : saddr & ~1,
               scratch ? 1 : 2);
}

static void print_buffer_operands(const cdna_code *c, tw_text *t) {
  const cdna_instruction *i = c->instruction;
  const cdna_operand_form *w = cdna_find_field(i, 'W');
  const bool lds = i->encoding == CDNA_MUBUF && cdna_bits(c->bits, 16, 1);
  const int addresses = (int)(cdna_bits(c->bits, 13, 1) + cdna_bits(c->bits, 12, 1));
  if (!i->n_operands) return;
  if (w && !lds) {
    print_range(t, cdna_bits(c->bits, 55, 1) ? "a" : "v", (int)cdna_bits(c->bits, 40, 8), w->width);
    tw_text_add_string(t, ", ");
  }
  if (addresses)
    print_range(t, "v", (int)cdna_bits(c->bits, 32, 8), addresses);
  else
    tw_text_add_string(t, "off");
  tw_text_add_string(t, ", ");
  print_code(t, c, 4 * (int)cdna_bits(c->bits, 48, 5), 4);
  tw_text_add_string(t, ", ");
  print_code(t, c, (int)cdna_bits(c->bits, 56, 8), 1);
}

/* ---- an instruction ---- */

static void print_name(const cdna_code *c, tw_text *t) {
  const cdna_instruction *i = c->instruction;
  if (c->variant == CDNA_SCALED)
    tw_text_add(t, "v_mfma_scale_%s", i->name + strlen("v_mfma_"));
  else
    tw_text_add_string(t, i->name);
  if (c->variant == CDNA_DPP)
    tw_text_add_string(t, i->n_operands ? "_dpp" : "");
  else if (c->variant == CDNA_SDWA)
    tw_text_add_string(t, "_sdwa");
  else if (i->forms & CDNA_FORM_E64)
    tw_text_add_string(t, "_e64");
  else if (i->forms & CDNA_FORM_E32)
    tw_text_add_string(t, "_e32");
}

static void print_operands(const cdna_code *c, tw_text *t) {
  const cdna_instruction *i = c->instruction;
  const signs s = signs_of(c);
  bool first = true;
  bool immediate_done = false;
  for (int o = 0; o < i->n_operands; o++) {
    const cdna_operand_form *f = &i->operand[o];
    if (f->field == 'M' && (immediate_done || i->encoding == CDNA_SMEM)) {
      if (i->encoding == CDNA_SMEM && o == 0)
        tw_text_add_string(t, " "), print_integer(t, cdna_bits(c->bits, 6, 7)), first = false;
      continue;
    }
    tw_text_add_string(t, first ? " " : ", ");
    first = false;
    if (f->field == 'M') {
      print_immediate(t, c);
      immediate_done = true;
    } else if (f->field == 'K') {
      if (begins(i->name, "s_setreg")) {
        const int32_t v = (int32_t)c->literal;
        const char *real = NULL;
        for (int n = 0; n < 8; n++)
          if (single[n] == c->literal) real = float_texts[n];
        if (v >= -16 && v <= 64)
          tw_text_add(t, "%d", v);
        else if (real)
          tw_text_add_string(t, real);
        else
          tw_text_add(t, "0x%x", c->literal);
      } else {
        tw_text_add(t, "0x%" PRIx32, c->literal);
      }
    } else if (f->field >= '0' && f->field <= '2') {
      const int n = f->field - '0';
      print_signed(t, c, f, n, s.negate, s.absolute, s.sign_extend >> n & 1);
    } else {
      print_code(t, c, cdna_operand_code(c, f), cdna_operand_width(c, f));
    }
  }
  if (c->variant == CDNA_SCALED) {
    tw_text_add_string(t, ", ");
    print_code(t, c, (int)cdna_bits(c->prefix, 32, 9), 1);
    tw_text_add_string(t, ", ");
    print_code(t, c, (int)cdna_bits(c->prefix, 41, 9), 1);
  }
}

void cdna_print(const cdna_code *c, tw_text *t) {
  const cdna_instruction *i = c->instruction;
  print_name(c, t);
  switch (i->encoding) {
  case CDNA_FLAT:
  case CDNA_SCRATCH:
  case CDNA_GLOBAL:
    tw_text_add_string(t, " ");
    print_flat_operands(c, t);
    print_flat_tail(c, t);
    return;
  case CDNA_MUBUF:
  case CDNA_MTBUF:
    if (i->n_operands) tw_text_add_string(t, " ");
    print_buffer_operands(c, t);
    print_buffer_tail(c, t);
    return;
  default: print_operands(c, t);
  }
  if (!strcmp(i->name, "s_endpgm") && c->bits & 0xFFFF) tw_text_add(t, " %u", (uint32_t)c->bits & 0xFFFF);
  switch (i->encoding) {
  case CDNA_SMEM: print_smem_tail(c, t, false); break;
  case CDNA_DS: print_ds_tail(c, t); break;
  case CDNA_VOP3: print_vop3_tail(c, t); break;
  case CDNA_VOP3P: print_vop3p_tail(c, t); break;
  default:
    if (c->variant == CDNA_DPP) print_dpp(c, t);
    if (c->variant == CDNA_SDWA) print_sdwa(c, t, sources_of(i));
  }
}
