/* smem.c - scalar memory: loads through the constant cache (s_load, s_buffer_load), stores, atomics, and s_memtime. */
#include <string.h>

#include "target/cdna/emulator/changes.h"
#include "target/cdna/emulator/observe.h"

/* flags */
enum { HAS_IMMEDIATE = 1, HAS_REGISTER = 2, BUFFER = 4, STORE = 8 };

static uint32_t offset_of(const cdna_wave *w, const cdna_op *op) {
  uint32_t offset = 0;
  if (op->flags & HAS_IMMEDIATE) offset += (uint32_t)op->imm;
  if (op->flags & HAS_REGISTER) offset += (uint32_t)cdna_read(w, &op->s[1]);
  return offset;
}

static uint64_t load_address(const cdna_wave *w, const cdna_op *op) {
  const int64_t immediate = op->flags & HAS_IMMEDIATE ? op->imm : 0;
  const uint64_t more = op->flags & HAS_REGISTER ? cdna_read(w, &op->s[1]) : 0;
  /* the two lowest bits of an address are ignored */
  return ((cdna_scalar64(w, op->s[0].code) & ~3ull) + (uint64_t)immediate + more) & 0xFFFFFFFFFFFCull;
}

static void load(cdna_wave *w, const cdna_op *op) {
  const uint8_t *from = cdna_reach(w, load_address(w, op), 4u * op->d_width, op->flags & STORE, 0);
  if (!from) return;
  if (op->flags & STORE)
    memcpy((uint8_t *)(uintptr_t)from, &w->s[op->d], 4u * op->d_width);
  else
    memcpy(&w->s[op->d], from, 4u * op->d_width);
}

/* A buffer access: bytes beyond num_records (times a stride, if set) read as 0 and are not written. */
static void buffer_load(cdna_wave *w, const cdna_op *op) {
  const bool write = op->flags & STORE;
  const uint32_t *v = &w->s[op->s[0].code];
  const uint64_t base = v[0] | (uint64_t)(v[1] & 0xFFFF) << 32;
  const uint32_t stride = v[1] >> 16 & 0x3FFF;
  const uint64_t size = stride ? (uint64_t)v[2] * stride : v[2];
  const uint64_t offset = offset_of(w, op) & ~3u;
  uint32_t loaded[16] = {0};
  for (int d = 0; d < op->d_width; d++) {
    if (offset + 4u * (uint64_t)d + 4 > size) continue;
    uint8_t *at = cdna_reach(w, (base & ~3ull) + offset + 4u * (uint64_t)d, 4, write, 0);
    if (!at) return;
    if (write)
      memcpy(at, &w->s[op->d + d], 4);
    else
      memcpy(&loaded[d], at, 4);
  }
  if (!write) memcpy(&w->s[op->d], loaded, 4u * op->d_width);
}

/* s_atomic_..., s_buffer_atomic_...: return the old value if GLC is set. */
typedef struct scalar_atomic {
  cdna_change *change;
  uint8_t bytes;
  bool returns;
} scalar_atomic;

static uint64_t atomic_address(const cdna_wave *w, const cdna_op *op) {
  const uint32_t *v = &w->s[op->s[0].code];
  if (!(op->flags & BUFFER)) return load_address(w, op);
  return ((v[0] | (uint64_t)(v[1] & 0xFFFF) << 32) & ~3ull) + (offset_of(w, op) & ~3u);
}

static void change_memory(cdna_wave *w, const cdna_op *op) {
  const scalar_atomic *a = op->more;
  const int dwords = a->bytes / 4;
  uint8_t *at = cdna_reach(w, atomic_address(w, op), a->bytes, true, 0);
  uint64_t old = 0, data = 0, second = 0;
  if (!at) return;
  memcpy(&old, at, a->bytes);
  memcpy(&data, &w->s[op->d], a->bytes);
  if (op->d_width > dwords) memcpy(&second, &w->s[op->d + dwords], a->bytes);
  const uint64_t new = a->change(old, data, second);
  memcpy(at, &new, a->bytes);
  if (a->returns) memcpy(&w->s[op->d], &old, a->bytes);
}

static bool lower_atomic(cdna_program *p, const cdna_code *c, cdna_op *op) {
  scalar_atomic *a = cdna_program_new(p, sizeof *a);
  const char *name = strstr(c->instruction->name, "_atomic_");
  if (!a || !(a->change = cdna_memory_change(name + 8, &a->bytes))) return false;
  a->returns = cdna_bits(c->bits, 16, 1);
  if (!strncmp(c->instruction->name, "s_buffer", 8)) op->flags |= BUFFER;
  op->more = a;
  op->run = change_memory;
  return true;
}

static void nothing(cdna_wave *w, const cdna_op *op) {
  (void)w;
  (void)op;
}
/* A clock that advances with the wave's instructions, equal in every run. */
static void time(cdna_wave *w, const cdna_op *op) {
  cdna_set_scalar64(w, op->d, w->clock ? w->clock : 4 * w->instructions);
}

bool cdna_smem_access(const cdna_wave *w, const cdna_op *op, cdna_access *out) {
  if (op->run == change_memory) {
    cdna_access_begin(out);
    out->reads = out->writes = out->scalar = true;
    out->parts = 1;
    out->bytes = ((const scalar_atomic *)op->more)->bytes;
    out->lanes[CDNA_IN_GLOBAL] = 1;
    out->address[0][0] = atomic_address(w, op);
    return true;
  }
  if (op->run != load && op->run != buffer_load) return false;
  const bool write = op->flags & STORE;
  cdna_access_begin(out);
  out->reads = !write;
  out->writes = write;
  out->scalar = true;
  out->parts = 1;
  out->bytes = (uint8_t)(4 * op->d_width);
  out->lanes[CDNA_IN_GLOBAL] = 1;
  const uint32_t *v = &w->s[op->s[0].code];
  out->address[0][0] = op->run == load ? load_address(w, op)
                                       : ((v[0] | (uint64_t)(v[1] & 0xFFFF) << 32) & ~3ull) + (offset_of(w, op) & ~3u);
  return true;
}

bool cdna_lower_smem(cdna_program *p, const cdna_code *c, cdna_op *op) {
  const cdna_instruction *i = c->instruction;
  if (i->encoding != CDNA_SMEM) return false;
  const cdna_operand_form *d = cdna_find_field(i, 'D'), *base = cdna_find_field(i, 'B');
  if (d) {
    op->d = (uint16_t)cdna_operand_code(c, d);
    op->d_width = d->width;
  }
  if (!strcmp(i->name, "s_memtime") || !strcmp(i->name, "s_memrealtime")) {
    op->run = time;
    return true;
  }
  if (!strncmp(i->name, "s_dcache", 8) || !strncmp(i->name, "s_atc_probe", 11)) {
    op->run = nothing;
    return true;
  }
  const bool atomic = strstr(i->name, "_atomic_");
  const bool buffer_store = !strncmp(i->name, "s_buffer_store_", 15);
  const bool buffer = buffer_store || !strncmp(i->name, "s_buffer_load_", 14),
             load_or_store = !strncmp(i->name, "s_load_", 7) || !strncmp(i->name, "s_store_", 8);
  if (!base || (!buffer && !load_or_store && !atomic)) return false;
  cdna_lower_source(p, c, base, &op->s[0]);
  if (op->d + op->d_width > CDNA_ZERO) return false;
  /* gfx9: IMM means an offset of 21 bits, SOFFSET_EN a register; with neither, a register takes the place of the
   * offset */
  const bool immediate = cdna_bits(c->bits, 17, 1), enabled = cdna_bits(c->bits, 14, 1);
  if (immediate) {
    op->flags |= HAS_IMMEDIATE;
    op->imm = (int32_t)(cdna_bits(c->bits, 32, 21) << 11) >> 11;
  }
  const int reg = enabled ? (int)cdna_bits(c->bits, 57, 7) : !immediate ? (int)cdna_bits(c->bits, 32, 7) : -1;
  if (reg >= 0) {
    op->flags |= HAS_REGISTER;
    op->s[1] = (cdna_source){.kind = CDNA_SCALAR, .width = 1, .code = (uint16_t)reg};
  }
  if (buffer_store || !strncmp(i->name, "s_store_", 8)) op->flags |= STORE;
  if (atomic) return lower_atomic(p, c, op);
  op->run = buffer ? buffer_load : load;
  return true;
}
