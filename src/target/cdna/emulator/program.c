/* program.c - code in its decoded form: see emulator.h. */
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/strings.h"
#include "target/cdna/emulator/emulator.h"

/* ---- data with the program's lifetime ---- */

enum { CHUNK = 1 << 18, ROW_BUCKETS = 1024 };

typedef struct chunk {
  struct chunk *next;
  size_t used, size;
  _Alignas(64) uint8_t data[];
} chunk;

typedef struct constant {
  struct constant *next;
  uint64_t value;
  int width;
  _Alignas(64) uint32_t row[2 * CDNA_LANES];
} constant;

struct cdna_pool {
  chunk *first;
  constant *bucket[ROW_BUCKETS];
};

void *cdna_program_new(cdna_program *p, size_t bytes) {
  bytes = (bytes + 63) & ~(size_t)63;
  chunk *c = p->pool->first;
  if (!c || c->size - c->used < bytes) {
    const size_t size = bytes > CHUNK ? bytes : CHUNK;
    c = aligned_alloc(64, sizeof *c + size);
    if (!c) return NULL;
    *c = (chunk){.next = p->pool->first, .size = size};
    p->pool->first = c;
  }
  void *at = c->data + c->used;
  c->used += bytes;
  memset(at, 0, bytes);
  return at;
}

const uint32_t *cdna_program_row(cdna_program *p, uint64_t value, int width) {
  constant **bucket = &p->pool->bucket[(value * 0x9E3779B97F4A7C15ull >> 54) % ROW_BUCKETS];
  for (constant *c = *bucket; c; c = c->next)
    if (c->value == value && c->width == width) return c->row;
  constant *c = cdna_program_new(p, sizeof *c);
  if (!c) return NULL;
  *c = (constant){.next = *bucket, .value = value, .width = width};
  for (int l = 0; l < CDNA_LANES; l++) {
    c->row[l] = (uint32_t)value;
    c->row[l + CDNA_LANES] = (uint32_t)(value >> 32);
  }
  return (*bucket = c)->row;
}

/* ---- operands ---- */

/* The formats that an inline constant can have. */
typedef enum constant_type { WORD, HALF, FLOAT64 } constant_type;

static uint64_t float_constant(int code, constant_type type) {
  static const float value[] = {0.5f, -0.5f, 1, -1, 2, -2, 4, -4, 0.15915494f};
  static const uint16_t half[] = {0x3800, 0xB800, 0x3C00, 0xBC00, 0x4000, 0xC000, 0x4400, 0xC400, 0x3118};
  const int n = code - CDNA_FLOATS;
  if (type == HALF) return half[n];
  if (type == WORD) return tw_bits_of(value[n]);
  const double wide = n == 8 ? 0.15915494309189532 : (double)value[n];
  uint64_t bits;
  memcpy(&bits, &wide, sizeof bits);
  return bits;
}

/* Whether sources have 16 bits, so that 1.0 is a binary16: the last type in the name that is not an index decides. */
static constant_type type_of(const cdna_instruction *i, int width, char field) {
  if (width == 2) return strstr(i->name, "_f32") && i->encoding == CDNA_VOP3P ? WORD : FLOAT64;
  const size_t length = strlen(i->name);
  const char *last = length > 4 ? i->name + length - 4 : "";
  if (strstr(i->name, "fma_mix") || strstr(i->name, "mad_mix") || !strncmp(i->name, "v_sad_", 6)) return WORD;
  if (field == '2' && (!strcmp(i->name, "v_mad_u32_u16") || !strcmp(i->name, "v_mad_i32_i16"))) return WORD;
  return !strcmp(last, "_f16") || !strcmp(last, "_b16") || !strcmp(last, "_i16") || !strcmp(last, "_u16") ? HALF : WORD;
}

void cdna_lower_source(cdna_program *p, const cdna_code *c, const cdna_operand_form *o, cdna_source *out) {
  const int code = o->field == 'K' ? CDNA_LITERAL : cdna_operand_code(c, o);
  const cdna_instruction *i = c->instruction;
  *out = (cdna_source){.width = (uint8_t)cdna_operand_width(c, o), .code = (uint16_t)code};
  const bool wide = out->width == 2;
  if (code >= CDNA_VGPRS) {
    out->kind = CDNA_ROW;
    out->code = (uint16_t)(code - CDNA_VGPRS);
    return;
  }
  if (code < CDNA_ZERO) {
    out->kind = CDNA_SCALAR;
    return;
  }
  out->kind = CDNA_CONSTANT;
  if (code == CDNA_LITERAL) {
    const constant_type type = type_of(i, out->width, o->field);
    out->value = c->literal;
    if (wide && type == FLOAT64 && strstr(i->name, "f64"))
      out->value = (uint64_t)c->literal << 32;
    else if (wide && strstr(i->name,
                            "_i64")) /* only for signed integers; s_mov_b64 and similar instructions have zeros above */
      out->value = (uint64_t)(int64_t)(int32_t)c->literal;
  } else if (code <= CDNA_ZERO + 64) {
    out->value = (uint64_t)(code - CDNA_ZERO);
  } else if (code <= CDNA_ZERO + 80) {
    out->value = (uint64_t)(int64_t)(CDNA_ZERO + 64 - code);
    if (!wide) out->value &= 0xFFFFFFFFu;
  } else if (code >= CDNA_FLOATS && code <= CDNA_FLOATS + 8) {
    out->value = float_constant(code, type_of(i, out->width, o->field));
  } else {
    out->kind = CDNA_SPECIAL;
    return;
  }
  if (i->encoding >= CDNA_VOP2 && i->encoding <= CDNA_VOP3P) {
    uint64_t value = out->value;
    if (wide && i->encoding == CDNA_VOP3P) value |= value << 32; /* packed f32: in both */
    out->row = cdna_program_row(p, value, out->width > 2 ? 2 : out->width);
  }
}

/* ---- all of the code ---- */

static cdna_lowering *const classes[] = {cdna_lower_salu, cdna_lower_flow,   cdna_lower_cross,
                                         cdna_lower_mfma, cdna_lower_narrow, cdna_lower_valu,
                                         cdna_lower_smem, cdna_lower_vmem,   cdna_lower_lds};

/* Instructions that are intentionally not executed, by the beginning of the name. */
static const char *left_out(const char *name) {
  static const struct {
    const char *name, *why;
  } all[] = {
      {"s_cbranch_g_fork",
       "needs the stack of branches in SGPRs, which no compiler for this machine uses: branch by EXEC"},
      {"s_cbranch_i_fork",
       "needs the stack of branches in SGPRs, which no compiler for this machine uses: branch by EXEC"},
      {"s_cbranch_join",
       "needs the stack of branches in SGPRs, which no compiler for this machine uses: branch by EXEC"},
      {"s_rfe_", "returns from a trap handler: there is none"},
      {"s_sendmsghalt", "halts the wave; nothing can wake it up"},
      {"s_endpgm_ordered_ps_done", "ends a pixel shader: kernels end with s_endpgm"},
      {"s_scratch_",
       "addresses scratch by scalars in a way that AMD does not document: use scratch_load and scratch_store"},
      {"v_screen_partition", "serves graphics: kernels have no screen"},
      {"v_mfma_ld_scale", "loads scales for an MFMA that does not follow: write v_mfma_scale_"},
      {"ds_gws_", "needs global wave sync, which the driver gives to no kernel launched this way"},
  };
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    if (!strncmp(name, all[k].name, strlen(all[k].name))) return all[k].why;
  return "is not executed";
}

/* Instructions that decode and print, but have no meaning on this machine. */
static const char *impossible_operand(const cdna_code *c, const cdna_operand_form *o) {
  const int code = cdna_operand_code(c, o);
  const bool source = o->field >= '0' && o->field <= '2', result = o->field == 'D' || o->field == 'S';
  if (source && code == CDNA_LDS_DIRECT) return "reads LDS as an operand, which this machine cannot";
  if (source && o->holds == 'a' && code < CDNA_VGPRS) return "reads an AccVGPR, and a scalar is named";
  if (result && code >= CDNA_ZERO && code < CDNA_VGPRS) return "writes to a constant";
  if (code >= CDNA_VGPRS && code % CDNA_VGPRS + cdna_operand_width(c, o) > CDNA_VGPRS)
    return "names registers beyond the last";
  return (source || result) && code == CDNA_NULL ? "names null, which this machine lacks" : NULL;
}

void cdna_lower(cdna_program *p, const cdna_code *c, cdna_op *op) {
  op->instruction = c->instruction;
  op->dwords = c->dwords;
  for (int o = 0; o < c->instruction->n_operands && !op->why; o++)
    op->why = impossible_operand(c, &c->instruction->operand[o]);
  for (size_t k = 0; k < sizeof classes / sizeof *classes && !op->run && !op->why; k++)
    if (!classes[k](p, c, op)) op->run = NULL;
  if (!op->run) {
    op->run = cdna_stop_here;
    if (!op->why) op->why = left_out(c->instruction->name);
  }
  const char *name = c->instruction->name;
  if (strstr(name, "_atomic_") && strncmp(name, "ds_", 3) != 0) p->has_atomics = true;
}

bool cdna_program_open(cdna_program *p) {
  p->kit = cdna_kit();
  p->pool = tw_new(1, sizeof *p->pool);
  return p->pool;
}

/* The kind and amount of work. */
static void set_work(const cdna_effects *effects, cdna_op *op) {
  static const uint8_t kind[CDNA_CLASSES] = {[CDNA_CLASS_SALU] = CDNA_DOES_SCALAR,
                                             [CDNA_CLASS_BRANCH] = CDNA_DOES_SCALAR,
                                             [CDNA_CLASS_INTERNAL] = CDNA_DOES_WAIT,
                                             [CDNA_CLASS_BARRIER] = CDNA_DOES_WAIT,
                                             [CDNA_CLASS_SMEM] = CDNA_DOES_CONSTANT,
                                             [CDNA_CLASS_VALU] = CDNA_DOES_VECTOR,
                                             [CDNA_CLASS_TRANS] = CDNA_DOES_TRANSCENDENTAL,
                                             [CDNA_CLASS_MATRIX] = CDNA_DOES_MATRIX,
                                             [CDNA_CLASS_LDS] = CDNA_DOES_LDS,
                                             [CDNA_CLASS_VMEM] = CDNA_DOES_LOAD};
  const cdna_effects e = *effects;
  op->kind = kind[e.klass];
  op->amount = 1;
  op->is_own = op->run != cdna_stop_here &&
               (cdna_only_computes(&e) || (e.klass == CDNA_CLASS_BRANCH && strstr(op->instruction->name, "branch")));
  if (e.klass == CDNA_CLASS_VALU) op->amount = e.slots;
  if (e.klass == CDNA_CLASS_MATRIX && !e.mfma) op->kind = CDNA_DOES_VECTOR;
  if (e.klass == CDNA_CLASS_MATRIX && e.mfma) op->amount = e.passes;
  if (e.klass == CDNA_CLASS_SMEM && e.bytes) op->amount = e.bytes;
  if (e.klass == CDNA_CLASS_VMEM && e.access && e.access != CDNA_LOAD && e.access != CDNA_LOAD_TO_LDS)
    op->kind = CDNA_DOES_STORE;
  if (e.klass == CDNA_CLASS_LDS || e.klass == CDNA_CLASS_VMEM) {
    op->amount = (uint16_t)((e.bytes ? e.bytes : 4) * (e.accesses > 1 ? e.accesses : 1));
    op->of_lanes = true;
  }
}

static void note_rows(cdna_program *p, const cdna_effects *e, const cdna_instruction *i) {
  const cdna_register_range *const list[] = {e->read, e->write};
  const int n[] = {e->n_reads, e->n_writes};
  for (int side = 0; side < 2; side++)
    for (int r = 0; r < n[side]; r++) {
      const int first = list[side][r].first - CDNA_VGPRS, half = first >= CDNA_ACCUMULATION;
      const int end = first - half * CDNA_ACCUMULATION + list[side][r].n;
      if (first >= 0 && end > p->rows[half]) p->rows[half] = end;
    }
  /* s_set_gpr_idx_on and similar instructions; s_setreg, which can set the same mode */
  const bool sets_mode = i->encoding == CDNA_SOPK && e->traits & CDNA_KEEPS_D && !(e->traits & CDNA_WRITES_SCC);
  if (e->traits & CDNA_WRITES_M0 || sets_mode) p->rows[0] = CDNA_ACCUMULATION;
}

tw_status cdna_program_make(const cdna_object *o, const cdna_kernel *k, uint64_t base, cdna_program *out,
                            tw_error *error) {
  *out = (cdna_program){.object = o, .kernel = k, .base = base, .rows = {1, 0}};
  const cdna_segment *s = NULL;
  for (size_t i = 0; i < o->n_segments && !s; i++)
    if (o->segment[i].executable && k->entry - o->segment[i].address < o->segment[i].file_size) s = &o->segment[i];
  if (!s || (s->address & 3)) return tw_fail(error, TW_USAGE, "kernel %s does not begin in executable code", k->name);
  out->code = s->address;
  out->n = s->file_size / 4;
  uint32_t *word = tw_new(out->n, sizeof *word);
  out->op = tw_new(out->n + 1, sizeof *out->op);
  out->word = word;
  if (!cdna_program_open(out) || !word || !out->op) {
    cdna_program_free(out);
    return tw_no_memory(error, NULL);
  }
  memcpy(word, s->data, out->n * sizeof *word);
  /* decodes from the kernel's entry and from the start of the code, because data between kernels may look like code */
  const size_t starts[] = {0, (size_t)(k->entry - s->address) / 4};
  for (int n = 0; n < 2; n++) {
    for (size_t at = starts[n]; at < out->n;) {
      cdna_op *op = &out->op[at];
      if (op->run) break; /* met before */
      cdna_code c;
      op->why = cdna_decode(o->arch, out->word + at, out->n - at, &c);
      if (op->why) {
        op->run = cdna_stop_here;
        op->dwords = 1;
      } else {
        cdna_lower(out, &c, op);
        cdna_effects e;
        cdna_effects_of(o->arch, &c, &e);
        set_work(&e, op);
        note_rows(out, &e, c.instruction);
      }
      at += op->dwords;
      if (n == 1 && at == starts[0]) break;
    }
  }
  for (int half = 0; half < 2; half++) /* a range may reach beyond the last */
    if (out->rows[half] > CDNA_ACCUMULATION) out->rows[half] = CDNA_ACCUMULATION;
  return TW_OK;
}

cdna_effects *cdna_program_effects(const cdna_program *p) {
  cdna_effects *all = tw_new(p->n, sizeof *all);
  for (size_t at = 0; all && at < p->n; at++) {
    cdna_code c;
    if (p->op[at].instruction && !cdna_decode(p->object->arch, p->word + at, p->n - at, &c))
      cdna_effects_of(p->object->arch, &c, &all[at]);
  }
  return all;
}

void cdna_program_free(cdna_program *p) {
  for (chunk *c = p->pool ? p->pool->first : NULL; c;) {
    chunk *next = c->next;
    free(c);
    c = next;
  }
  free(p->pool);
  free(p->op);
  free((void *)(uintptr_t)p->word);
  *p = (cdna_program){0};
}
