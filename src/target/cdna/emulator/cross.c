/* cross.c - vector instructions that reach across lanes or between the register files. */
#include <string.h>

#include "target/cdna/emulator/emulator.h"

#define OP(name_) static void name_(cdna_wave *w, const cdna_op *op)

/* The first active lane; lane 0 if no lane is active. */
OP(v_readfirstlane_b32) {
  const uint64_t exec = cdna_exec(w);
  const int lane = exec ? __builtin_ctzll(exec) : 0;
  w->s[op->d] = op->s[0].kind == CDNA_ROW ? w->v[op->s[0].code][lane] : (uint32_t)cdna_read(w, &op->s[0]);
}
OP(v_readlane_b32) { w->s[op->d] = w->v[op->s[0].code][cdna_read(w, &op->s[1]) & 63]; }
OP(v_writelane_b32) { w->v[op->d][cdna_read(w, &op->s[1]) & 63] = (uint32_t)cdna_read(w, &op->s[0]); }

static void move(cdna_wave *w, const cdna_op *op) {
  const uint32_t *from = cdna_rows(w, &op->s[0], 0);
  if (cdna_exec(w) == ~0ull)
    memmove(w->v[op->d], from, sizeof w->v[0]);
  else
    w->kit->blend(w->v[op->d], from, cdna_mask(w), 1);
}
OP(v_accvgpr_read_b32) { move(w, op); }
OP(v_accvgpr_write_b32) { move(w, op); }
OP(v_swap_b32) {
  const uint64_t exec = cdna_exec(w);
  uint32_t *a = w->v[op->d], *b = w->v[op->s[0].code];
  for (int l = 0; l < CDNA_LANES; l++) {
    const uint32_t t = a[l];
    if (exec >> l & 1) a[l] = b[l], b[l] = t;
  }
}
/* Exchanges rows of 16 lanes, or halves of 32: the odd rows of vdst and the even rows of vsrc. */
static void swap_rows(cdna_wave *w, const cdna_op *op, int rows) {
  uint32_t *d = w->v[op->d], *s = w->v[op->s[0].code];
  for (int p = 0; p < CDNA_LANES; p += 2 * rows)
    for (int i = 0; i < rows; i++) {
      const uint32_t t = s[p + i];
      s[p + i] = d[p + rows + i];
      d[p + rows + i] = t;
    }
}
OP(v_permlane16_swap_b32) { swap_rows(w, op, 16); }
OP(v_permlane32_swap_b32) { swap_rows(w, op, 32); }
OP(v_nop) {
  (void)w;
  (void)op;
}

static const struct entry {
  const char *name;
  cdna_handler *run;
} entries[] = {
#define X(name_)                                                                                                       \
  { #name_, name_ }
    X(v_readfirstlane_b32),
    X(v_readlane_b32),
    X(v_writelane_b32),
    X(v_accvgpr_read_b32),
    X(v_accvgpr_write_b32),
    X(v_swap_b32),
    X(v_permlane16_swap_b32),
    X(v_permlane32_swap_b32),
    X(v_nop),
    {"v_accvgpr_mov_b32", v_accvgpr_read_b32},
    {"v_clrexcp", v_nop},
#undef X
};

/* VSKIP skips vector instructions, and gpr_idx adds M0 to the numbers of VGPRs, as in valu.c. */
static void run_cross(cdna_wave *w, const cdna_op *op) {
  const struct entry *e = op->more;
  if (!(w->mode & (CDNA_MODE_SKIP | CDNA_MODE_GPR_INDEX))) {
    e->run(w, op);
    return;
  }
  if (w->mode & CDNA_MODE_SKIP) return;
  cdna_op moved = *op;
  const uint32_t index = w->s[CDNA_M0] & 0xFF;
  const bool to_vector = cdna_find_field(op->instruction, 'D') && cdna_find_field(op->instruction, 'D')->holds == 'v';
  if (op->s[0].kind == CDNA_ROW && w->index_mode & 1) moved.s[0].code = (uint16_t)(op->s[0].code + index);
  if (to_vector && w->index_mode & 8) moved.d = (uint16_t)(op->d + index);
  const bool source_beyond = moved.s[0].kind == CDNA_ROW && moved.s[0].code >= CDNA_ACCUMULATION;
  if (index && (source_beyond || (to_vector && moved.d >= CDNA_ACCUMULATION)))
    cdna_stop(w, "M0 = %u selects a register beyond v255", index);
  else
    e->run(w, &moved);
}

bool cdna_lower_cross(cdna_program *p, const cdna_code *c, cdna_op *op) {
  const cdna_instruction *i = c->instruction;
  if (i->encoding < CDNA_VOP2 || i->encoding > CDNA_VOP3P ||
      (c->variant != CDNA_PLAIN && strcmp(i->name, "v_nop") != 0))
    return false;
  for (size_t e = 0; e < sizeof entries / sizeof *entries; e++)
    if (!strcmp(entries[e].name, i->name)) op->more = &entries[e];
  if (!op->more) return false;
  op->run = run_cross;
  const cdna_operand_form *d = cdna_find_field(i, 'D');
  if (d) {
    const int code = cdna_operand_code(c, d);
    op->d = (uint16_t)(code >= CDNA_VGPRS ? code - CDNA_VGPRS : code);
    op->d_width = 1;
  }
  for (int n = 0; n < 2; n++) {
    const cdna_operand_form *s = cdna_find_field(i, (char)('0' + n));
    if (s) cdna_lower_source(p, c, s, &op->s[n]);
  }
  if (!strcmp(i->name, "v_accvgpr_mov_b32")) op->d = (uint16_t)(op->d | CDNA_ACCUMULATION);
  if (!strcmp(i->name, "v_readlane_b32") && op->s[0].kind != CDNA_ROW) op->run = NULL;
  return op->run;
}
