/* flow.c - branches, barriers, waiting, modes: SOPP, and the scalar instructions that read or set PC, MODE and M0's
 * uses. */
#include <string.h>

#include "target/cdna/emulator/emulator.h"

#define OP(name_) static void name_(cdna_wave *w, const cdna_op *op)

static void branch(cdna_wave *w, const cdna_op *op) { w->pc = w->at + 1 + (size_t)(int64_t)op->imm; }

OP(s_nop) {
  (void)w;
  (void)op;
}
OP(s_endpgm) {
  (void)op;
  w->state = CDNA_ENDED;
}
OP(s_branch) { branch(w, op); }
OP(s_cbranch_scc0) {
  if (!w->scc) branch(w, op);
}
OP(s_cbranch_scc1) {
  if (w->scc) branch(w, op);
}
OP(s_cbranch_vccz) {
  if (!cdna_scalar64(w, CDNA_VCC)) branch(w, op);
}
OP(s_cbranch_vccnz) {
  if (cdna_scalar64(w, CDNA_VCC)) branch(w, op);
}
OP(s_cbranch_execz) {
  if (!cdna_exec(w)) branch(w, op);
}
OP(s_cbranch_execnz) {
  if (cdna_exec(w)) branch(w, op);
}
OP(s_barrier) {
  (void)op;
  if (w->group->n_waves > 1) w->state = CDNA_AT_BARRIER;
}
/* A wave that waits for memory or sleeps runs after all other waves, so that no wave gets far ahead, as on the
 * machine. */
static void let_others(cdna_wave *w) {
  if (w->group->in_turns) w->state = CDNA_YIELDED;
}
OP(s_waitcnt) {
  enum { VMCNT_MOST = 63, LGKMCNT_MOST = 15 };
  if ((op->imm & 15) + (op->imm >> 14 & 3) * 16 < VMCNT_MOST || (op->imm >> 8 & 15) < LGKMCNT_MOST) let_others(w);
}
OP(s_sleep) {
  (void)op;
  let_others(w);
}
OP(s_setprio) { w->priority = op->imm & 3; }
OP(s_trap) {
  cdna_stop(w, "traps (%d): a check in the kernel failed, or the compiler inserted a trap here", op->imm & 0xFF);
}
OP(s_sethalt) {
  if (op->imm & 1) cdna_stop(w, "halts the wave; nothing can wake it up");
}

static void jump(cdna_wave *w, uint64_t address) {
  const cdna_program *p = w->program;
  const uint64_t offset = address - p->base - p->code;
  if (offset & 3 || offset / 4 >= p->n) {
    cdna_stop(w, "jumps to 0x%llx, which is outside of the code", (unsigned long long)address);
    return;
  }
  w->pc = (size_t)(offset / 4);
}
static uint64_t address_of(const cdna_wave *w, size_t pc) { return w->program->base + w->program->code + 4 * pc; }

OP(s_getpc_b64) { cdna_set_scalar64(w, op->d, address_of(w, w->pc)); }
OP(s_setpc_b64) { jump(w, cdna_read(w, &op->s[0])); }
OP(s_swappc_b64) {
  const uint64_t to = cdna_read(w, &op->s[0]);
  cdna_set_scalar64(w, op->d, address_of(w, w->pc));
  jump(w, to);
}
OP(s_call_b64) {
  cdna_set_scalar64(w, op->d, address_of(w, w->pc));
  branch(w, op);
}

/* s_getreg, s_setreg: simm16 = register, offset << 6, (width - 1) << 11. */
enum {
  REGISTER_MODE = 1,
  REGISTER_STATUS = 2,
  REGISTER_TRAPSTS = 3,
  REGISTER_HW_ID = 4,
  REGISTER_GPR_ALLOC = 5,
  REGISTER_LDS_ALLOC = 6,
  REGISTER_SH_MEM_BASES = 15,
  REGISTER_XCC_ID = 20
};

/* The place of the wave, as workgroups are distributed to the 8 XCDs and there to the CUs of 4 engines: wave 3:0,
 * SIMD 5:4, CU 11:8, engine 15:13. A machine gives a wave any slot, and a workgroup any CU of its XCD. If addresses
 * are random, slots and CUs are, too, so that a kernel whose result depends on them is wrong. */
static uint32_t hardware_id(const cdna_wave *w) {
  const uint64_t seed = w->group->memory->scatter;
  const uint32_t any = seed ? (uint32_t)((seed ^ w->group->id) * 0x9E3779B97F4A7C15ull >> 40) : 0;
  const uint32_t cu = (uint32_t)((w->group->id / 8 + any) % 32), wave = (uint32_t)w->id;
  return ((wave / 4 + any / 32) & 15) | (wave & 3) << 4 | cu / 4 << 8 | (cu & 3) << 13;
}

static bool hardware_register(cdna_wave *w, int id, uint32_t *value) {
  switch (id) {
  case REGISTER_MODE: *value = w->mode; return true;
  case REGISTER_STATUS:
    *value = (uint32_t)w->scc | (uint32_t)!cdna_exec(w) << 9 | (uint32_t)!cdna_scalar64(w, CDNA_VCC) << 10 | 1u << 16;
    return true;
  case REGISTER_TRAPSTS: *value = 0; return true;
  case REGISTER_HW_ID: *value = hardware_id(w); return true;
  case REGISTER_GPR_ALLOC: *value = (w->program->kernel->rsrc1 & 63) << 8; return true;
  case REGISTER_LDS_ALLOC: *value = (w->group->lds_bytes + 511) / 512 << 12; return true; /* from 0 on, in 512 bytes */
  case REGISTER_SH_MEM_BASES: *value = 1u << 16 | 2; return true; /* apertures: shared, private */
  case REGISTER_XCC_ID:
    *value = (uint32_t)(w->group->id % 8);
    return true; /* workgroups are distributed to the 8 XCDs in turn */
  default: return false;
  }
}
static uint32_t field_mask(int imm) {
  const int width = (imm >> 11 & 31) + 1;
  return width == 32 ? ~0u : (1u << width) - 1;
}
OP(s_getreg_b32) {
  uint32_t value;
  if (hardware_register(w, op->imm & 63, &value))
    w->s[op->d] = value >> (op->imm >> 6 & 31) & field_mask(op->imm);
  else
    cdna_stop(w,
              "reads hardware register %d, which is not modelled; modelled are MODE, STATUS, TRAPSTS, HW_ID, "
              "GPR_ALLOC, LDS_ALLOC, SH_MEM_BASES and XCC_ID",
              op->imm & 63);
}
static void set_register(cdna_wave *w, const cdna_op *op, uint32_t value) {
  const int offset = op->imm >> 6 & 31;
  const uint32_t mask = field_mask(op->imm) << offset;
  if ((op->imm & 63) == REGISTER_MODE)
    w->mode = (w->mode & ~mask) | (value << offset & mask);
  else if ((op->imm & 63) != REGISTER_TRAPSTS)
    cdna_stop(w, "writes hardware register %d, which is not modelled; only MODE is", op->imm & 63);
}
OP(s_setreg_b32) { set_register(w, op, w->s[op->d]); }
OP(s_setreg_imm32_b32) { set_register(w, op, (uint32_t)op->s[0].value); }

OP(s_setvskip) {
  const uint64_t on = cdna_read(w, &op->s[0]) >> (cdna_read(w, &op->s[1]) & 31) & 1;
  w->mode = (w->mode & ~(uint32_t)CDNA_MODE_SKIP) | (on ? CDNA_MODE_SKIP : 0);
}
OP(s_set_gpr_idx_on) {
  w->mode |= CDNA_MODE_GPR_INDEX;
  w->index_mode = (uint32_t)op->imm >> 8 & 15;
  w->s[CDNA_M0] = (w->s[CDNA_M0] & ~0xF0FFu) | ((uint32_t)cdna_read(w, &op->s[0]) & 0xFF) | w->index_mode << 12;
}
OP(s_set_gpr_idx_off) {
  (void)op;
  w->mode &= ~(uint32_t)CDNA_MODE_GPR_INDEX;
}
OP(s_set_gpr_idx_mode) {
  w->index_mode = (uint32_t)op->imm & 15;
  w->s[CDNA_M0] = (w->s[CDNA_M0] & ~0xF000u) | w->index_mode << 12;
}
OP(s_set_gpr_idx_idx) { w->s[CDNA_M0] = (w->s[CDNA_M0] & ~0xFFu) | ((uint32_t)cdna_read(w, &op->s[0]) & 0xFF); }

static const struct entry {
  const char *name;
  cdna_handler *run;
} entries[] = {
#define X(name_)                                                                                                       \
  { #name_, name_ }
    X(s_nop),
    X(s_endpgm),
    X(s_branch),
    X(s_cbranch_scc0),
    X(s_cbranch_scc1),
    X(s_cbranch_vccz),
    X(s_cbranch_vccnz),
    X(s_cbranch_execz),
    X(s_cbranch_execnz),
    X(s_barrier),
    X(s_setprio),
    X(s_trap),
    X(s_sethalt),
    X(s_getpc_b64),
    X(s_setpc_b64),
    X(s_swappc_b64),
    X(s_call_b64),
    X(s_getreg_b32),
    X(s_setreg_b32),
    X(s_setreg_imm32_b32),
    X(s_setvskip),
    X(s_set_gpr_idx_on),
    X(s_set_gpr_idx_off),
    X(s_set_gpr_idx_mode),
    X(s_set_gpr_idx_idx),
    {"s_endpgm_saved", s_endpgm},
    {"s_waitcnt", s_waitcnt},
    {"s_sleep", s_sleep},
    {"s_icache_inv", s_nop},
    {"s_wakeup", s_nop},
    {"s_sendmsg", s_nop},
    {"s_ttracedata", s_nop},
    {"s_incperflevel", s_nop},
    {"s_decperflevel", s_nop},
    {"s_inst_prefetch", s_nop},
    {"s_setkill", s_nop},
    {"s_cbranch_cdbgsys", s_nop},
    {"s_cbranch_cdbguser", s_nop},
    {"s_cbranch_cdbgsys_or_user", s_nop},
    {"s_cbranch_cdbgsys_and_user", s_nop},
    {"s_setprio_inc_wg", s_nop},
#undef X
};

bool cdna_lower_flow(cdna_program *p, const cdna_code *c, cdna_op *op) {
  const cdna_instruction *i = c->instruction;
  if (i->encoding > CDNA_SOPP) return false;
  for (size_t e = 0; e < sizeof entries / sizeof *entries; e++)
    if (!strcmp(entries[e].name, i->name)) op->run = entries[e].run;
  if (!op->run) return false;
  const cdna_operand_form *d = cdna_find_field(i, 'D'), *literal = cdna_find_field(i, 'K');
  if (d) op->d = (uint16_t)cdna_operand_code(c, d);
  for (int n = 0; n < 2; n++) {
    const cdna_operand_form *s = cdna_find_field(i, (char)('0' + n));
    if (s) cdna_lower_source(p, c, s, &op->s[n]);
  }
  if (literal) cdna_lower_source(p, c, literal, &op->s[0]);
  op->imm = (int16_t)c->bits;
  return true;
}
