/* effects.c - see effects.h. Most effects follow from the table of operands. Effects that the text of an instruction
 * does not show are listed here by name. */
#include "target/cdna/isa/effects.h"

#include <string.h>

#include "target/cdna/layout/lds.h"

const char *cdna_class_name(cdna_class c) {
  static const char *const name[CDNA_CLASSES] = {"SALU", "branch", "internal", "barrier", "SMEM",
                                                 "VALU", "trans",  "MFMA",     "LDS",     "VMEM"};
  return name[c];
}

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }
static bool ends(const char *text, const char *with) {
  const size_t n = strlen(text), m = strlen(with);
  return n >= m && !strcmp(text + n - m, with);
}
static bool any_begins(const char *text, const char *const list[], size_t n) {
  for (size_t i = 0; i < n; i++)
    if (begins(text, list[i])) return true;
  return false;
}
#define BEGINS_ANY(text_, ...)                                                                                         \
  any_begins(text_, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

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

static bool writes_scc(const char *name) {
  if (BEGINS_ANY(name, "s_cmp_", "s_cmpk_", "s_bitcmp")) return true;
  if (strstr(name, "saveexec") || strstr(name, "wrexec")) return true;
  return BEGINS_ANY(name, "s_add_", "s_sub_", "s_addc_", "s_subb_", "s_min_", "s_max_", "s_and_", "s_or_", "s_xor_",
                    "s_andn2_", "s_orn2_", "s_nand_", "s_nor_", "s_xnor_", "s_lshl", "s_lshr_", "s_ashr_", "s_bfe_",
                    "s_absdiff", "s_not_", "s_wqm_", "s_bcnt", "s_quadmask", "s_abs_", "s_addk_");
}

static cdna_class scalar_class(const char *name) {
  if (!strcmp(name, "s_barrier")) return CDNA_CLASS_BARRIER;
  if (BEGINS_ANY(name, "s_branch", "s_cbranch", "s_endpgm", "s_setpc", "s_swappc", "s_call", "s_rfe", "s_trap"))
    return CDNA_CLASS_BRANCH;
  return CDNA_CLASS_SALU;
}

static void scalar_effects(const cdna_code *c, cdna_effects *e) {
  const cdna_instruction *i = c->instruction;
  const char *name = i->name;
  e->klass = (uint8_t)scalar_class(name);
  const bool d_is_source = BEGINS_ANY(name, "s_cmpk_", "s_setreg", "s_cbranch_i_fork"),
             d_is_both = BEGINS_ANY(name, "s_addk", "s_mulk", "s_cmov", "s_bitset");
  for (int n = 0; n < i->n_operands; n++) {
    const cdna_operand_form *o = &i->operand[n];
    const int code = cdna_operand_code(c, o), width = o->width;
    if (o->field == 'D') {
      if (d_is_source || d_is_both) reads(e, code, width, CDNA_ALL_BYTES, 'D');
      if (!d_is_source) writes(e, code, width, CDNA_ALL_BYTES, 'D');
    } else if (o->field == '0' || o->field == '1') {
      reads(e, code, width, CDNA_ALL_BYTES, o->field);
    }
  }
  if (writes_scc(name)) writes(e, CDNA_SCC, 1, CDNA_ALL_BYTES, CDNA_IMPLIED);
  if (BEGINS_ANY(name, "s_addc", "s_subb", "s_cselect", "s_cmov", "s_cbranch_scc"))
    reads(e, CDNA_SCC, 1, CDNA_ALL_BYTES, CDNA_IMPLIED);
  if (strstr(name, "saveexec") || strstr(name, "wrexec")) {
    reads(e, CDNA_EXEC, 2, CDNA_ALL_BYTES, CDNA_IMPLIED);
    writes(e, CDNA_EXEC, 2, CDNA_ALL_BYTES, CDNA_IMPLIED);
  }
  if (begins(name, "s_cbranch_vcc")) reads(e, CDNA_VCC, 2, CDNA_ALL_BYTES, CDNA_IMPLIED);
  if (begins(name, "s_cbranch_exec")) reads(e, CDNA_EXEC, 2, CDNA_ALL_BYTES, CDNA_IMPLIED);
  if (BEGINS_ANY(name, "s_movrel", "s_sendmsg")) reads(e, CDNA_M0, 1, CDNA_ALL_BYTES, CDNA_IMPLIED);
  if (BEGINS_ANY(name, "s_set_gpr_idx_on", "s_set_gpr_idx_idx", "s_set_gpr_idx_mode"))
    writes(e, CDNA_M0, 1, CDNA_ALL_BYTES, CDNA_IMPLIED);
}

/* SOPP that the sequencer executes itself. */
static void sequencer_effects(const cdna_code *c, cdna_effects *e) {
  const uint32_t imm = (uint32_t)c->bits & 0xFFFF;
  const char *name = c->instruction->name;
  if (e->klass == CDNA_CLASS_SALU) e->klass = CDNA_CLASS_INTERNAL;
  if (!strcmp(name, "s_nop")) e->wait_states = (uint8_t)((imm & 15) + 1);
  if (!strcmp(name, "s_waitcnt")) {
    e->wait_vm = (uint8_t)((imm & 15) | (imm >> 14 & 3) << 4);
    e->wait_lgkm = (uint8_t)(imm >> 8 & 15);
  }
}

static void smem_effects(const cdna_code *c, cdna_effects *e) {
  const cdna_instruction *i = c->instruction;
  const cdna_operand_form *d = cdna_find_field(i, 'D'), *base = cdna_find_field(i, 'B');
  const bool store = strstr(i->name, "_store_"), atomic = strstr(i->name, "_atomic_");
  const bool immediate = cdna_bits(c->bits, 17, 1), enabled = cdna_bits(c->bits, 14, 1);
  e->klass = CDNA_CLASS_SMEM;
  e->counters = CDNA_COUNTS_LGKM;
  e->space = CDNA_SPACE_SCALAR;
  if (base) reads(e, cdna_operand_code(c, base), base->width, CDNA_ALL_BYTES, 'B');
  if (base && (enabled || !immediate))
    reads(e, (int)(enabled ? cdna_bits(c->bits, 57, 7) : cdna_bits(c->bits, 32, 7)), 1, CDNA_ALL_BYTES, 'O');
  if (!d) return;
  const int code = cdna_operand_code(c, d);
  if (base) e->access = store ? CDNA_STORE : atomic ? CDNA_ATOMIC : CDNA_LOAD, e->bytes = (uint8_t)(4 * d->width);
  e->accesses = 1;
  e->returns = atomic && cdna_bits(c->bits, 16, 1);
  if (store || atomic) reads(e, code, d->width, CDNA_ALL_BYTES, 'D');
  if (!store && (!atomic || e->returns)) writes(e, code, d->width, CDNA_ALL_BYTES, 'D');
}

/* ---- vector instructions ---- */

static bool is_trans(const char *name) {
  return BEGINS_ANY(name, "v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_");
}

/* Bytes that a selection of SDWA names. */
static int selected_bytes(uint32_t select) {
  return select < 4 ? 1 << select : select < 6 ? 3 << 2 * (select - 4) : CDNA_ALL_BYTES;
}

static int half_bytes(bool high) { return high ? 12 : 3; }

/* Does source s use 16 bits of its register (the other half may hold anything)? */
static bool source_is_half(const cdna_code *c, int s) {
  const char *name = c->instruction->name;
  if (BEGINS_ANY(name, "v_mad_u32_u16", "v_mad_i32_i16")) return s < 2;
  if (BEGINS_ANY(name, "v_sat_pk", "v_cvt_scalef32", "v_dot", "v_pk_fmac")) return false;
  return cdna_takes_halves(c->instruction) || begins(name, "v_cvt_f32_bf16") || begins(name, "v_cvt_pk_f32_");
}

static int source_bytes(const cdna_code *c, int s) {
  const cdna_instruction *i = c->instruction;
  const char *name = i->name;
  if (c->variant == CDNA_SDWA && s < 2) return selected_bytes(c->extra >> (16 + 8 * s) & 7);
  if (begins(name, "v_cvt_f32_ubyte")) return 1 << (name[15] - '0');
  if (i->encoding == CDNA_VOP3P) {
    const bool low = cdna_bits(c->bits, 11 + s, 1), high = cdna_bits(c->bits, s < 2 ? 59 + s : 14, 1);
    if (strstr(name, "_mix")) return high ? half_bytes(low) : CDNA_ALL_BYTES;
    const bool halves = begins(name, "v_pk_") && !ends(name, "_f32") && !ends(name, "_b32");
    return halves ? half_bytes(low) | half_bytes(high) : CDNA_ALL_BYTES;
  }
  const bool has_select = i->encoding == CDNA_VOP3 && (i->shown >> (11 + s) & 1);
  if (source_is_half(c, s)) return half_bytes(has_select && cdna_bits(c->bits, 11 + s, 1));
  if (BEGINS_ANY(name, "v_cvt_f32_fp8", "v_cvt_f32_bf8")) return 1;
  return CDNA_ALL_BYTES;
}

static int result_bytes(const cdna_code *c) {
  const cdna_instruction *i = c->instruction;
  const char *name = i->name;
  if (c->variant == CDNA_SDWA && i->encoding != CDNA_VOPC)
    return (c->extra >> 11 & 3) == 2 ? selected_bytes(c->extra >> 8 & 7) : CDNA_ALL_BYTES;
  if (!strncmp(name, "v_fma_mixlo", 11)) return half_bytes(false);
  if (!strncmp(name, "v_fma_mixhi", 11)) return half_bytes(true);
  if (i->encoding != CDNA_VOP3) return CDNA_ALL_BYTES;
  const uint32_t select = cdna_bits(c->bits, 11, 4);
  if (BEGINS_ANY(name, "v_cvt_sr_fp8", "v_cvt_sr_bf8", "v_cvt_scalef32_sr_fp8", "v_cvt_scalef32_sr_bf8",
                 "v_cvt_scalef32_pk_fp4", "v_cvt_scalef32_sr_pk_fp4"))
    return 1 << (select >> 2);
  if (BEGINS_ANY(name, "v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32", "v_cvt_scalef32_pk_fp8", "v_cvt_scalef32_pk_bf8",
                 "v_cvt_scalef32_f16_", "v_cvt_sr_f16", "v_cvt_sr_bf16", "v_fma_f16", "v_mad_f16", "v_mad_u16",
                 "v_mad_i16", "v_div_fixup_f16"))
    return half_bytes(select >> 3);
  return i->shown >> 14 & 1 && select >> 3 ? half_bytes(true) : CDNA_ALL_BYTES;
}

static void matrix_effects(cdna_arch arch, const cdna_code *c, cdna_effects *e) {
  cdna_type a = e->mfma->a, b = e->mfma->b;
  e->klass = CDNA_CLASS_MATRIX;
  e->reads_exec = false;
  if (e->mfma->fields == CDNA_FIELDS_FORMATS) {
    a = (cdna_type)(CDNA_FP8 + cdna_bits(c->bits, 8, 3) % 5);
    b = (cdna_type)(CDNA_FP8 + cdna_bits(c->bits, 61, 3) % 5);
  }
  e->passes = (uint8_t)cdna_mfma_passes(e->mfma, arch, a, b);
  if (cdna_mfma_is_sparse(e->mfma)) { /* D is C as well */
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
  const char *name = i->name;
  const bool swap = begins(name, "v_swap") || strstr(name, "_swap_b32");
  const bool accumulates = BEGINS_ANY(name, "v_fmac", "v_mac", "v_dot2c", "v_dot4c", "v_dot8c", "v_pk_fmac");
  bool met_vcc = false;
  e->klass = is_trans(name) ? CDNA_CLASS_TRANS : CDNA_CLASS_VALU;
  e->is_dpp = c->variant == CDNA_DPP;
  e->is_sdwa = c->variant == CDNA_SDWA;
  e->reads_exec = !BEGINS_ANY(name, "v_readlane", "v_writelane", "v_nop", "v_clrexcp");
  e->mfma = i->encoding == CDNA_VOP3P ? cdna_mfma_find(name) : NULL;
  for (int n = 0; n < i->n_operands; n++) {
    const cdna_operand_form *o = &i->operand[n];
    const int code = cdna_operand_code(c, o), width = cdna_operand_width(c, o);
    switch (o->field) {
    case 'D': {
      const int bytes = result_bytes(c);
      /* as LLVM counts: a part that is not the lowest; of these conversions each */
      const bool upper = !(bytes & 1) && !begins(name, "v_fma_mixhi");
      e->selects_part = (e->is_sdwa && (c->extra >> 8 & 7) != 6) || upper || begins(name, "v_cvt_scalef32_sr_pk_fp4");
      writes(e, code, width, bytes, 'D');
      if (swap || accumulates) reads(e, code, width, CDNA_ALL_BYTES, 'D');
      break;
    }
    case 'S': writes(e, code, width, CDNA_ALL_BYTES, 'S'); break;
    case 'C':
      if (i->encoding == CDNA_VOPC || (i->n_operands > 3 && !met_vcc && !begins(name, "v_cndmask")))
        writes(e, code, width, CDNA_ALL_BYTES, 'C');
      else
        reads(e, code, width, CDNA_ALL_BYTES, 'C');
      met_vcc = true;
      break;
    case '0':
    case '1':
    case '2':
      reads(e, code, width, source_bytes(c, o->field - '0'), o->field);
      if (swap) writes(e, code, width, CDNA_ALL_BYTES, '0');
      break;
    default: break;
    }
  }
  if (begins(name, "v_cmpx")) writes(e, CDNA_EXEC, 2, CDNA_ALL_BYTES, CDNA_IMPLIED);
  if (begins(name, "v_div_fmas")) reads(e, CDNA_VCC, 2, CDNA_ALL_BYTES, CDNA_IMPLIED);
  if (e->mfma) matrix_effects(arch, c, e);
  if (e->reads_exec) reads(e, CDNA_EXEC, 2, CDNA_ALL_BYTES, CDNA_IMPLIED);
}

/* ---- memory ---- */

static int bytes_of(const char *name) {
  static const struct {
    const char *part;
    uint8_t bytes;
  } sizes[] = {{"dwordx4", 16}, {"dwordx3", 12}, {"dwordx2", 8}, {"dword", 4}, {"byte", 1}, {"short", 2}, {"_x2", 8},
               {"_f64", 8},     {"_b128", 16},   {"_b96", 12},   {"_b64", 8},  {"_u64", 8}, {"_i64", 8},  {"_b16", 2},
               {"_u16", 2},     {"_i16", 2},     {"_b8", 1},     {"_u8", 1},   {"_i8", 1}};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    if (strstr(name, sizes[s].part)) return sizes[s].bytes;
  return 4;
}

static int loaded_bytes(const char *name) { return strstr(name, "_d16") ? half_bytes(strstr(name, "_d16_hi")) : 15; }

static void lds_effects(const cdna_code *c, cdna_effects *e) {
  const cdna_instruction *i = c->instruction;
  const cdna_lds_instruction *known = cdna_lds_instruction_find(i->name);
  const cdna_operand_form *d = cdna_find_field(i, 'D');
  e->klass = CDNA_CLASS_LDS;
  e->counters = CDNA_COUNTS_LGKM;
  e->space = CDNA_SPACE_LDS;
  e->reads_exec = true;
  if (!strcmp(i->name, "ds_nop")) {
    e->counters = 0;
    return;
  }
  if (known) {
    e->access = known->kind == CDNA_LDS_READ ? CDNA_LOAD : CDNA_STORE;
    e->bytes = (uint8_t)known->bytes;
    e->accesses = (uint8_t)known->accesses;
  } else if (!strstr(i->name, "permute") && !strstr(i->name, "swizzle") && !begins(i->name, "ds_gws")) {
    e->access = !strstr(i->name, "addtid") ? CDNA_ATOMIC : d ? CDNA_LOAD : CDNA_STORE;
    e->bytes = (uint8_t)bytes_of(i->name);
    e->accesses = strstr(i->name, "xchg2") ? 2 : 1;
    e->returns = e->access == CDNA_ATOMIC && d;
  }
  static const char fields[] = "AWX";
  for (int n = 0; n < 3; n++) {
    const cdna_operand_form *s = cdna_find_field(i, fields[n]);
    const bool high = strstr(i->name, "_d16_hi");
    const int part = fields[n] == 'W' && e->access == CDNA_STORE ? (1 << (e->bytes < 4 ? e->bytes : 4)) - 1 : 15;
    if (s) reads(e, cdna_operand_code(c, s), s->width, high ? part << 2 : part, fields[n]);
  }
  if (d) writes(e, cdna_operand_code(c, d), d->width, loaded_bytes(i->name), 'D');
  if (BEGINS_ANY(i->name, "ds_append", "ds_consume") || strstr(i->name, "addtid"))
    reads(e, CDNA_M0, 1, CDNA_ALL_BYTES, CDNA_IMPLIED);
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
  if (w)
    reads(e, cdna_operand_code(c, w), w->width,
          e->bytes < 4 ? ((1 << e->bytes) - 1) << (strstr(i->name, "_d16_hi") ? 2 : 0) : CDNA_ALL_BYTES, 'W');
  if (d && e->access != CDNA_ATOMIC) writes(e, cdna_operand_code(c, d), d->width, loaded_bytes(i->name), 'D');
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
  const int code = cdna_operand_code(c, w), small = ((1 << (e->bytes < 4 ? e->bytes : 4)) - 1);
  e->returns = e->access == CDNA_ATOMIC && cdna_bits(c->bits, 14, 1);
  if (e->access == CDNA_LOAD) writes(e, code, w->width, loaded_bytes(i->name), 'W');
  if (e->access != CDNA_LOAD) reads(e, code, w->width, strstr(i->name, "_d16_hi") ? small << 2 : small, 'W');
  if (e->returns) writes(e, code, e->bytes / 4, CDNA_ALL_BYTES, 'W');
}

static void vmem_effects(const cdna_code *c, cdna_effects *e) {
  const cdna_instruction *i = c->instruction;
  const bool buffer = i->encoding == CDNA_MUBUF || i->encoding == CDNA_MTBUF;
  e->klass = CDNA_CLASS_VMEM;
  e->counters = i->encoding == CDNA_FLAT ? CDNA_COUNTS_VM | CDNA_COUNTS_LGKM : CDNA_COUNTS_VM;
  e->space = i->encoding == CDNA_FLAT      ? CDNA_SPACE_FLAT
             : i->encoding == CDNA_SCRATCH ? CDNA_SPACE_SCRATCH
                                           : CDNA_SPACE_GLOBAL;
  if (BEGINS_ANY(i->name, "buffer_wb", "buffer_inv")) return;
  e->reads_exec = true;
  e->accesses = 1;
  e->bytes = (uint8_t)bytes_of(i->name);
  if (strstr(i->name, "_format_")) { /* registers only: the bytes in memory depend on the format */
    const cdna_operand_form *w = cdna_find_field(i, 'W');
    e->bytes = (uint8_t)(4 * (w ? w->width : 1));
  }
  const bool to_lds = strstr(i->name, "_lds_") || (i->encoding == CDNA_MUBUF && cdna_bits(c->bits, 16, 1));
  e->access = to_lds                        ? CDNA_LOAD_TO_LDS
              : strstr(i->name, "_atomic_") ? CDNA_ATOMIC
              : strstr(i->name, "_store_")  ? CDNA_STORE
                                            : CDNA_LOAD;
  if (buffer)
    buffer_operands(c, e);
  else
    flat_operands(c, e);
  if (to_lds) reads(e, CDNA_M0, 1, CDNA_ALL_BYTES, CDNA_IMPLIED);
  reads(e, CDNA_EXEC, 2, CDNA_ALL_BYTES, CDNA_IMPLIED);
}

void cdna_effects_of(cdna_arch arch, const cdna_code *c, cdna_effects *e) {
  *e = (cdna_effects){.wait_vm = CDNA_VM_MOST, .wait_lgkm = CDNA_LGKM_MOST, .wait_states = 1};
  switch (c->instruction->encoding) {
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
}
