/* narrow.c - conversions with stochastic rounding, and of 32 items at once:
 * v_cvt_[scalef32_][sr_][pk32_|2xpk16_|pk_]TO_FROM.
 *
 * Items are packed from the lowest bit up; for 2xpk16 they alternate between the two sources. Random numbers of further
 * items follow from the first by v_prng_b32. Where one byte or half of the result is written, op_sel selects it, and
 * the rest is kept. */
#include <string.h>

#include "target/cdna/emulator/emulator.h"
#include "target/cdna/lanes/half.h"
#include "target/cdna/lanes/small.h"

typedef enum item_type { F32, F16, BF16, SMALL } item_type;

typedef struct item_format {
  item_type type;
  cdna_small small;
  int bits;
} item_format;

typedef struct conversion {
  item_format to, from;
  int items;
  bool scaled, stochastic, interleaved;
  int8_t random, scale;       /* sources; -1: none */
  uint8_t first_bit, written; /* the result: its position and its bits */
  bool kept;                  /* the other bits of the dword stay */
  bool negate, absolute;
} conversion;

static uint32_t dword_of(const cdna_wave *w, const cdna_source *s, int dword, int l) {
  return s->kind == CDNA_ROW ? w->v[s->code + dword][l] : (uint32_t)cdna_read(w, s);
}

static uint32_t bits_at(const uint32_t *word, int at, int bits) {
  uint64_t v = word[at / 32];
  if (at % 32 + bits > 32) v |= (uint64_t)word[at / 32 + 1] << 32;
  return (uint32_t)(v >> at % 32 & ((1ull << bits) - 1));
}

static void set_bits(uint32_t *word, int at, int bits, uint32_t value) {
  for (int b = 0; b < bits; b++)
    word[(at + b) / 32] = (word[(at + b) / 32] & ~(1u << (at + b) % 32)) | (value >> b & 1u) << (at + b) % 32;
}

static float value_of(const item_format *f, uint32_t bits) {
  switch (f->type) {
  case F32: return tw_float_of(bits);
  case F16: return cdna_half_value(bits);
  case BF16: return cdna_bf16_value(bits);
  default: return cdna_small_value(f->small, bits);
  }
}

/* For binary16 and bf16 with a random number. */
static uint32_t half_stochastic(float v, uint32_t random, bool saturate) {
  if (v != v || isinf(v)) return cdna_half_bits(v);
  const double code = cdna_stochastic(fabsf(v), 10, -14, random);
  const uint32_t sign = tw_bits_of(v) >> 16 & 0x8000u;
  return sign | (code < 0x7C00 ? (uint32_t)code : saturate ? 0x7BFFu : 0x7C00u);
}
static uint32_t bf16_stochastic(float v, uint32_t random) {
  return v != v || isinf(v) ? cdna_bf16_bits(v) : (tw_bits_of(v) + (random >> 16)) >> 16;
}

static uint32_t code_of(const conversion *c, float v, uint32_t random, bool saturate) {
  switch (c->to.type) {
  case F32: return tw_bits_of(v);
  case F16: return c->stochastic ? half_stochastic(v, random, saturate) : cdna_half_bits(v);
  case BF16: return c->stochastic ? bf16_stochastic(v, random) : cdna_bf16_bits(v);
  default:
    return c->stochastic ? cdna_small_stochastic(c->to.small, v, random, saturate)
                         : cdna_small_code(c->to.small, v, saturate);
  }
}

static void run_conversion(cdna_wave *w, const cdna_op *op) {
  const conversion *c = op->more;
  const bool saturate = w->mode >> 23 & 1; /* FP16_OVFL */
  if (w->mode & CDNA_MODE_SKIP) return;
  for (uint64_t left = cdna_exec(w); left; left &= left - 1) {
    const int l = __builtin_ctzll(left);
    uint32_t source[2][33] = {{0}}, result[33] = {0};
    for (int s = 0; s < (c->interleaved ? 2 : 1); s++)
      for (int d = 0; d < op->s[s].width; d++) source[s][d] = dword_of(w, &op->s[s], d, l);
    uint32_t random = c->random >= 0 ? dword_of(w, &op->s[c->random], 0, l) : 0;
    const uint32_t scale = c->scale >= 0 ? dword_of(w, &op->s[c->scale], 0, l) : 0;
    for (int n = 0; n < c->items; n++) {
      const int item = c->interleaved ? n / 2 : n;
      float v = value_of(&c->from, bits_at(source[c->interleaved && n % 2], item * c->from.bits, c->from.bits));
      if (c->absolute) v = fabsf(v);
      if (c->negate) v = -v;
      if (c->scaled) v = c->from.type == SMALL ? v * cdna_scale_of(scale) : cdna_divided(v, scale);
      set_bits(result, n * c->to.bits, c->to.bits, code_of(c, v, random, saturate));
      random = cdna_next_random(random);
    }
    if (c->kept) {
      uint32_t *d = &w->v[op->d][l];
      set_bits(d, c->first_bit, c->written, result[0]);
    } else {
      for (int d = 0; d < op->d_width; d++) w->v[op->d + d][l] = result[d];
    }
  }
}

/* "fp8_f32": two formats; the second is the text after the first. */
static bool read_format(const char **name, cdna_arch arch, item_format *out) {
  static const struct {
    const char *name;
    item_format format;
  } formats[] = {{"f32", {F32, 0, 32}},
                 {"f16", {F16, 0, 16}},
                 {"bf16", {BF16, 0, 16}},
                 {"fp6", {SMALL, CDNA_FP6_MX, 6}},
                 {"bf6", {SMALL, CDNA_BF6_MX, 6}},
                 {"fp4", {SMALL, CDNA_FP4_MX, 4}},
                 {"fp8", {SMALL, CDNA_FP8_OCP, 8}},
                 {"bf8", {SMALL, CDNA_BF8_OCP, 8}}};
  for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
    const size_t length = strlen(formats[f].name);
    if (strncmp(*name, formats[f].name, length) || ((*name)[length] && (*name)[length] != '_')) continue;
    *out = formats[f].format;
    if (arch == CDNA3 && out->bits == 8) out->small = out->small == CDNA_FP8_OCP ? CDNA_FP8_FNUZ : CDNA_BF8_FNUZ;
    *name += length + ((*name)[length] == '_');
    return true;
  }
  return false;
}

static bool skip(const char **name, const char *prefix) {
  const size_t length = strlen(prefix);
  if (strncmp(*name, prefix, length) != 0) return false;
  *name += length;
  return true;
}

bool cdna_lower_narrow(cdna_program *p, const cdna_code *code, cdna_op *op) {
  const cdna_instruction *i = code->instruction;
  const char *name = i->name;
  if (i->encoding != CDNA_VOP3 || !skip(&name, "v_cvt_")) return false;
  conversion *c = cdna_program_new(p, sizeof *c);
  if (!c) return false;
  c->scaled = skip(&name, "scalef32_");
  c->stochastic = skip(&name, "sr_");
  c->interleaved = skip(&name, "2xpk16_");
  c->items = c->interleaved || skip(&name, "pk32_") ? 32 : skip(&name, "pk_") ? 2 : 1;
  if (!c->stochastic && c->items != 32) return false; /* valu.c's */
  if (!read_format(&name, p->object->arch, &c->to) || !read_format(&name, p->object->arch, &c->from)) return false;
  const int values = 1 + c->interleaved;
  c->random = (int8_t)(c->stochastic ? values : -1);
  c->scale = (int8_t)(c->scaled ? values + c->stochastic : -1);
  for (int n = 0; n < 3; n++) {
    const cdna_operand_form *s = cdna_find_field(i, (char)('0' + n));
    if (s) cdna_lower_source(p, code, s, &op->s[n]);
  }
  const cdna_operand_form *d = cdna_find_field(i, 'D');
  op->d = (uint16_t)(cdna_operand_code(code, d) - CDNA_VGPRS);
  op->d_width = d->width;
  c->written = (uint8_t)(c->items * c->to.bits);
  c->kept = c->items < 32;
  const uint32_t select = cdna_bits(code->bits, 11, 4);
  c->first_bit = (uint8_t)(c->written == 16 ? select >> 3 << 4 : select >> 2 << 3);
  c->absolute = cdna_bits(code->bits & i->shown, 8, 1);
  c->negate = cdna_bits(code->bits & i->shown, 61, 1);
  op->more = c;
  op->run = run_conversion;
  return true;
}
