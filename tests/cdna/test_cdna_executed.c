/* test_cdna_executed.c - which instructions the emulator executes: all but those that docs/explain/cdna-emulator.md
 * lists, with the reason that it gives; and single instructions that compilers seldom emit, each against a second way
 * of computing: typed buffers, stochastic rounding, conversions of 32 items, v_trig_preop_f64, saturating sums. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#include "base/bits.h"
#include "base/files.h"
#include "base/random.h"
#include "base/strings.h"
#include "target/cdna/emulator/emulator.h"
#include "target/cdna/lanes/small.h"

/* ---- which instructions are executed ----
 *
 * Each row of the table, in each of its forms, is lowered like code with register operands, so that the answer is the
 * emulator's own. */

/* An encoding of the row: its opcode, VGPRs as sources where possible, no modifiers. */
static uint64_t plain_bits(const cdna_instruction *i) {
  uint64_t bits = cdna_encoding_bits(i);
  if (i->encoding == CDNA_VOP3 || i->encoding == CDNA_VOP3P)
    for (int o = 0; o < i->n_operands; o++) {
      const cdna_operand_form *f = &i->operand[o];
      if (f->field >= '0' && f->field <= '2' && f->holds != 's' && f->holds != 'r')
        bits |= 256ull << (32 + 9 * (f->field - '0'));
    }
  if (i->encoding == CDNA_VOP3P && strstr(i->name, "v_accvgpr_write")) bits |= 256ull << 32;
  if (i->encoding == CDNA_VOP1 || i->encoding == CDNA_VOP2 || i->encoding == CDNA_VOPC)
    if (cdna_find_field(i, '0')) bits |= 256;
  return bits;
}

/* False: the row has no such form on this machine. */
static bool encode_form(cdna_arch arch, const cdna_instruction *i, cdna_variant form, cdna_code *out) {
  const uint64_t bits = plain_bits(i);
  uint32_t word[4] = {(uint32_t)bits, (uint32_t)(bits >> 32)};
  if (!(i->arches >> arch & 1)) return false;
  switch (form) {
  case CDNA_PLAIN: break;
  case CDNA_DPP: /* quad_perm:[0,1,2,3], all rows and banks */
    if (!(i->forms & CDNA_FORM_DPP)) return false;
    word[0] = (word[0] & ~0x1FFu) | CDNA_CODE_DPP;
    word[1] = 0xFF00E400u;
    break;
  case CDNA_SDWA: /* whole dwords */
    if (!(i->forms & CDNA_FORM_SDWA)) return false;
    word[0] = (word[0] & ~0x1FFu) | CDNA_CODE_SDWA;
    word[1] = i->encoding == CDNA_VOPC ? 0x06060000u : i->encoding == CDNA_VOP1 ? 0x00060600u : 0x06060600u;
    break;
  case CDNA_SCALED:
    if (arch != CDNA4 || !strstr(i->name, "_f8f6f4")) return false;
    word[2] = word[0] | 0x800, word[3] = word[1];
    word[0] = 0xD3AC0000u, word[1] = 0x18020100u;
    break;
  }
  return !cdna_decode(arch, word, 4, out);
}

/* True if the row is executed in this form. *exists: the machine has it; *why: the reason for stopping. */
static bool is_executed(cdna_arch arch, const cdna_instruction *i, cdna_variant form, bool *exists, const char **why) {
  const cdna_object object = {.arch = arch};
  cdna_program p = {.object = &object};
  cdna_code c;
  *why = NULL;
  *exists = encode_form(arch, i, form, &c) && cdna_program_open(&p);
  if (*exists) {
    cdna_op op = {0};
    cdna_lower(&p, &c, &op);
    if (op.run == cdna_stop_here) *why = op.why; /* static text */
  }
  cdna_program_free(&p);
  return *exists && !*why;
}

/* ---- one instruction on one wave ---- */

typedef struct bench {
  cdna_object object;
  cdna_program program;
  cdna_memory memory;
  cdna_group group;
  cdna_wave *wave;
  tw_error error;
  _Alignas(8) uint8_t bytes[4096];
  uint64_t address;
} bench;

static bench *open_bench(cdna_arch arch) {
  bench *b = calloc(1, sizeof *b);
  b->object.arch = arch;
  b->program.object = &b->object;
  assert_true(cdna_program_open(&b->program));
  b->wave = aligned_alloc(64, (sizeof *b->wave + 63) & ~(size_t)63);
  memset(b->wave, 0, sizeof *b->wave);
  b->wave->v = aligned_alloc(64, (CDNA_ROWS + CDNA_ROWS_BEYOND) * sizeof *b->wave->v);
  memset(b->wave->v, 0, (CDNA_ROWS + CDNA_ROWS_BEYOND) * sizeof *b->wave->v);
  b->wave->program = &b->program;
  b->wave->kit = b->program.kit;
  b->wave->mode = 0xF0 | CDNA_MODE_IEEE;
  b->wave->group = &b->group;
  b->group = (cdna_group){.program = &b->program, .memory = &b->memory, .error = &b->error, .n_waves = 1};
  b->address = cdna_memory_add(&b->memory, b->bytes, sizeof b->bytes, true, "bytes");
  cdna_set_scalar64(b->wave, CDNA_EXEC, ~0ull);
  return b;
}

static void close_bench(bench *b) {
  cdna_program_free(&b->program);
  free(b->wave->v);
  free(b->wave);
  free(b);
}

static uint64_t bits_of(const char *name, cdna_encoding encoding) {
  size_t n;
  const cdna_instruction *table = cdna_instructions(&n);
  for (size_t k = 0; k < n; k++)
    if (!strcmp(table[k].name, name) && table[k].encoding == encoding) return cdna_encoding_bits(&table[k]);
  fail_msg("no %s", name);
  return 0;
}

static void execute(bench *b, uint64_t bits) {
  const uint32_t word[2] = {(uint32_t)bits, (uint32_t)(bits >> 32)};
  cdna_code c;
  cdna_op op = {0};
  assert_null(cdna_decode(b->object.arch, word, 2, &c));
  cdna_lower(&b->program, &c, &op);
  if (op.why) fail_msg("%s: %s", c.instruction->name, op.why);
  op.run(b->wave, &op);
}

/* VOP3 with destination v[d] and sources v[s0], v[s1], v[s2]. */
static uint64_t vop3(const char *name, int d, int s0, int s1, int s2) {
  return bits_of(name, CDNA_VOP3) | (uint64_t)d | (uint64_t)(256 + s0) << 32 | (uint64_t)(256 + s1) << 41 |
         (uint64_t)(s2 < 0 ? 0 : 256 + s2) << 50;
}

/* ---- the list ---- */

/* "| `name` | machines | why |" in the document's table of what is not executed. */
static bool is_documented(const char *document, const char *name, const char *why) {
  char line[256];
  snprintf(line, sizeof line, "| `%s` | %s |", name, why);
  return strstr(document, line);
}

static void what_is_not_executed_is_documented(void **state) {
  char *document = NULL;
  size_t n, refused = 0, executed = 0, listed = 0;
  assert_int_equal(tw_file_read(TW_TEST_DATA "/../../docs/explain/cdna-emulator.md", 1 << 20, &document, NULL, NULL),
                   TW_OK);
  const cdna_instruction *table = cdna_instructions(&n);
  const char *names[64];
  for (size_t k = 0; k < n; k++)
    for (int form = CDNA_PLAIN; form <= CDNA_SCALED; form++)
      for (int arch = 0; arch < CDNA_ARCHES; arch++) {
        bool exists;
        const char *why;
        executed += is_executed((cdna_arch)arch, &table[k], (cdna_variant)form, &exists, &why);
        if (!exists || !why) continue;
        if (!is_documented(document, table[k].name, why))
          fail_msg("not in docs/explain/cdna-emulator.md: | `%s` | %s |", table[k].name, why);
        bool met = false;
        for (size_t m = 0; m < refused; m++) met |= !strcmp(names[m], table[k].name);
        if (met) continue;
        assert_true(refused < sizeof names / sizeof *names);
        names[refused++] = table[k].name;
      }
  /* and nothing is listed that is executed */
  const char *list = strstr(document, "| not executed | why |");
  assert_non_null(list);
  for (const char *at = list; *at && !(at[0] == '\n' && at[1] != '|'); at++) listed += !strncmp(at, "\n| `", 4);
  print_message("%zu forms of %zu rows are executed, %zu instructions are not\n", executed, n, refused);
  assert_true(executed > 3700);
  assert_int_equal(listed, refused);
  free(document);
}

/* ---- typed buffers ---- */

static const struct {
  int dfmt, components, bits[4];
} elements[] = {{1, 1, {8}},
                {2, 1, {16}},
                {3, 2, {8, 8}},
                {4, 1, {32}},
                {5, 2, {16, 16}},
                {6, 3, {11, 11, 10}},
                {7, 3, {10, 11, 11}},
                {8, 4, {2, 10, 10, 10}},
                {9, 4, {10, 10, 10, 2}},
                {10, 4, {8, 8, 8, 8}},
                {11, 2, {32, 32}},
                {12, 4, {16, 16, 16, 16}},
                {13, 3, {32, 32, 32}},
                {14, 4, {32, 32, 32, 32}}};

static uint32_t bit_by_bit(const uint8_t *from, int at, int n) {
  uint32_t v = 0;
  for (int k = n - 1; k >= 0; k--) v = v << 1 | (uint32_t)(from[(at + k) / 8] >> (at + k) % 8 & 1);
  return v;
}

/* Floating point of so many bits: binary32, binary16, or without a sign. */
static double real_of(uint32_t v, int bits) {
  const int fraction = bits == 32 ? 23 : bits == 16 ? 10 : bits - 5, exponent_bits = bits == 32 ? 8 : 5;
  const int e = (int)(v >> fraction & ((1u << exponent_bits) - 1)), bias = (1 << (exponent_bits - 1)) - 1;
  const double m = (double)(v & ((1u << fraction) - 1)), sign = bits >= 16 && v >> (bits - 1) ? -1 : 1;
  if (e == (1 << exponent_bits) - 1) return m != 0 ? NAN : sign * INFINITY;
  return sign * (e ? ldexp(m + ldexp(1, fraction), e - bias - fraction) : ldexp(m, 1 - bias - fraction));
}

static uint32_t expected_component(int nfmt, uint32_t v, int bits) {
  const double all = ldexp(1, bits) - 1, half = ldexp(1, bits - 1), number = (double)v - (v >= half ? 2 * half : 0);
  switch (nfmt) {
  case 0: return tw_bits_of((float)(v / all));
  case 1: return tw_bits_of((float)(number == -half ? -1 : number / (half - 1)));
  case 2: return tw_bits_of((float)v);
  case 3: return tw_bits_of((float)number);
  case 4: return v;
  case 5: return (uint32_t)(int32_t)number;
  default: return bits == 32 ? v : tw_bits_of((float)real_of(v, bits));
  }
}

/* A resource at s[8:11]; word 3 is the caller's. */
static void set_resource(bench *b, uint32_t records, uint32_t word3) {
  b->wave->s[8] = (uint32_t)b->address;
  b->wave->s[9] = (uint32_t)(b->address >> 32);
  b->wave->s[10] = records;
  b->wave->s[11] = word3;
}

enum { OFFEN = 1 << 12, DATA = 20 };
/* tbuffer_... v[20:], v0, s[8:11], 0 offen */
static uint64_t typed(const char *name, int dfmt, int nfmt) {
  return bits_of(name, CDNA_MTBUF) | OFFEN | (uint64_t)dfmt << 19 | (uint64_t)nfmt << 23 | (uint64_t)DATA << 40 |
         2ull << 48 | 128ull << 56;
}

static bool is_float_of(int nfmt, int e) {
  for (int c = 0; c < elements[e].components; c++)
    if (nfmt == 7 && elements[e].bits[c] < 10) return false;
  return true;
}

static void formats_are_loaded_and_stored(void **state) {
  bench *b = open_bench(CDNA3);
  tw_random r;
  int compared = 0;
  tw_random_seed(&r, 16);
  for (size_t e = 0; e < sizeof elements / sizeof *elements; e++)
    for (int nfmt = 0; nfmt < 8; nfmt++) {
      if (nfmt == 6 || !is_float_of(nfmt, (int)e)) continue;
      int size = 0;
      for (int c = 0; c < elements[e].components; c++) size += elements[e].bits[c];
      size /= 8;
      for (size_t k = 0; k < sizeof b->bytes; k++) b->bytes[k] = (uint8_t)(tw_random_next(&r) >> 13);
      memset(b->bytes, 0, 16), memset(b->bytes + 16, 0xFF, 16), memset(b->bytes + 32, 0x80, 16);
      for (int l = 0; l < CDNA_LANES; l++) b->wave->v[0][l] = (uint32_t)(16 * l);
      set_resource(b, 16 * 60 + (uint32_t)size, 0); /* the last lanes lie outside */
      execute(b, typed("tbuffer_load_format_xyzw", elements[e].dfmt, nfmt));
      for (int l = 0; l < CDNA_LANES; l++)
        for (int c = 0, at = 0; c < 4; at += elements[e].bits[c], c++) {
          const bool is_integer = nfmt == 4 || nfmt == 5;
          const uint32_t missing = c < 3 ? 0 : is_integer ? 1 : tw_bits_of(1.0f);
          const uint32_t got = b->wave->v[DATA + c][l];
          const uint32_t expected =
              l > 60 ? 0
              : c >= elements[e].components
                  ? missing
                  : expected_component(nfmt, bit_by_bit(b->bytes + 16 * l, at, elements[e].bits[c]),
                                       elements[e].bits[c]);
          const bool both_nan = isnan(tw_float_of(got)) && isnan(tw_float_of(expected)) && nfmt == 7;
          if (got != expected && !both_nan)
            fail_msg("dfmt %d nfmt %d component %d lane %d: %08x, not %08x", elements[e].dfmt, nfmt, c, l, got,
                     expected);
          compared++;
          if (c == 3) break;
        }
      /* and back: what was loaded, but NaN, and the two codes of -1 */
      uint8_t before[sizeof b->bytes];
      memcpy(before, b->bytes, sizeof before);
      execute(b, typed("tbuffer_store_format_xyzw", elements[e].dfmt, nfmt));
      for (int l = 0; l <= 60; l++)
        for (int c = 0, at = 0; c < elements[e].components; at += elements[e].bits[c], c++) {
          const int n = elements[e].bits[c];
          const uint32_t was = bit_by_bit(before + 16 * l, at, n), is = bit_by_bit(b->bytes + 16 * l, at, n);
          if (nfmt == 7 && isnan(real_of(was, n))) continue;
          if (nfmt == 1 && was == 1u << (n - 1)) continue;
          if ((nfmt == 2 || nfmt == 3 || nfmt < 2) && n == 32) continue; /* an f32 holds 24 bits of them */
          if (was != is)
            fail_msg("dfmt %d nfmt %d component %d: %x was stored for %x", elements[e].dfmt, nfmt, c, is, was);
        }
      for (size_t k = 16 * 61; k < sizeof before; k++) assert_int_equal(b->bytes[k], before[k]);
    }
  assert_true(compared > 15000);
  close_bench(b);
}

static void formats_clamp_select_and_halve(void **state) {
  bench *b = open_bench(CDNA4);
  set_resource(b, sizeof b->bytes, 0);
  for (int l = 0; l < CDNA_LANES; l++) b->wave->v[0][l] = (uint32_t)(16 * l);
  static const struct {
    int nfmt;
    uint32_t value, stored; /* as 8 bits */
  } ends[] = {{0, 0x3FC00000, 255} /* 1.5 */, {0, 0xBF800000, 0},    {0, 0x3F000000, 128},
              {1, 0x40000000, 127},           {1, 0xC0000000, 0x81}, {2, 0x43800000, 255},
              {3, 0xC3800000, 128},           {4, 300, 255},         {5, 200, 127},
              {5, 0xFFFFFF00, 128},           {0, 0x7FC00000, 0}};
  for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
    for (int l = 0; l < CDNA_LANES; l++) b->wave->v[DATA][l] = ends[k].value;
    execute(b, typed("tbuffer_store_format_x", 1, ends[k].nfmt));
    if (b->bytes[16] != ends[k].stored) fail_msg("case %zu: %u", k, b->bytes[16]);
  }
  /* MUBUF: format and order from the resource: 8_8_8_8 UINT, selected W, 1, 0, X */
  for (int k = 0; k < 4; k++) b->bytes[k] = (uint8_t)(10 + k);
  set_resource(b, sizeof b->bytes, 7 | 1 << 3 | 0 << 6 | 4 << 9 | 4 << 12 | 10 << 15);
  execute(b, bits_of("buffer_load_format_xyzw", CDNA_MUBUF) | OFFEN | (uint64_t)DATA << 40 | 2ull << 48 | 128ull << 56);
  assert_int_equal(b->wave->v[DATA][0], 13);
  assert_int_equal(b->wave->v[DATA + 1][0], 1);
  assert_int_equal(b->wave->v[DATA + 2][0], 0);
  assert_int_equal(b->wave->v[DATA + 3][0], 10);
  /* halves: floating point becomes binary16, integers lose their upper bits; the other half stays */
  set_resource(b, sizeof b->bytes, 0);
  const float pair[2] = {0.5f, -3};
  memcpy(b->bytes, pair, sizeof pair);
  execute(b, typed("tbuffer_load_format_d16_xy", 11, 7));
  assert_int_equal(b->wave->v[DATA][0], 0xC2003800);
  execute(b, typed("tbuffer_load_format_d16_x", 4, 4));
  assert_int_equal(b->wave->v[DATA][0], 0xC2000000);
  b->wave->v[DATA][1] = 0x44004000; /* 2 and 4 */
  execute(b, typed("tbuffer_store_format_d16_xy", 11, 7));
  float stored[2];
  memcpy(stored, b->bytes + 16, sizeof stored);
  assert_true(stored[0] == 2 && stored[1] == 4);
  set_resource(b, sizeof b->bytes, 4 | 7 << 12 | 4 << 15);
  execute(b, bits_of("buffer_load_format_d16_hi_x", CDNA_MUBUF) | OFFEN | (uint64_t)DATA << 40 | 2ull << 48 |
                 128ull << 56);
  assert_int_equal(b->wave->v[DATA][1], 0x40004000);
  /* stride and swizzle count where an index is given, not for offsets beyond the stride alone */
  set_resource(b, sizeof b->bytes, 4 | 7 << 12 | 4 << 15);
  b->wave->s[9] |= (4u | 0x8000u) << 16;
  for (int k = 0; k < 2; k++) {
    b->wave->v[0][1] = k ? 4 : 8; /* an offset of 8, or index 4: elements of 2 bytes of eight records lie together */
    memcpy(b->bytes + 8, (uint32_t[]){0xABCD0123}, 4);
    execute(b, bits_of("buffer_load_dword", CDNA_MUBUF) | (k ? OFFEN << 1 : OFFEN) | (uint64_t)DATA << 40 | 2ull << 48 |
                   128ull << 56);
    assert_int_equal(b->wave->v[DATA][1], 0xABCD0123);
  }
  b->wave->v[0][1] = 16;
  /* a resource that is switched off, and formats that are reserved */
  execute(b, typed("tbuffer_load_format_x", 0, 0));
  assert_int_equal(b->wave->v[DATA][1], 0);
  execute(b, typed("tbuffer_load_format_x", 15, 0));
  assert_int_equal(b->wave->state, CDNA_STOPPED);
  assert_non_null(strstr(b->error.text, "reserved"));
  close_bench(b);
}

/* ---- conversions ---- */

/* As the documents write it of values in the format's normal range: the random number's upper bits are added to the
 * fraction of the f32, then what the format lacks is cut off. */
static uint32_t sum_and_cut(uint32_t bits, uint32_t random, int fraction) {
  return ((bits & 0x7FFFFFFF) + (random >> (9 + fraction))) >> (23 - fraction) << (23 - fraction);
}

static void stochastic_rounding_adds_and_cuts(void **state) {
  static const struct {
    const char *name;
    cdna_small small;
    int fraction, least, most; /* exponents */
    bool scaled;
  } cases[] = {{"v_cvt_sr_fp8_f32", CDNA_FP8_OCP, 3, -6, 7, false},
               {"v_cvt_sr_bf8_f32", CDNA_BF8_OCP, 2, -14, 14, false},
               {"v_cvt_scalef32_sr_fp8_f32", CDNA_FP8_OCP, 3, -6, 7, true},
               {"v_cvt_scalef32_sr_bf8_f32", CDNA_BF8_OCP, 2, -14, 14, true}};
  bench *b = open_bench(CDNA4);
  tw_random r;
  tw_random_seed(&r, 5);
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
    for (int round = 0; round < 40; round++) {
      const int select = round % 4;
      for (int l = 0; l < CDNA_LANES; l++) {
        const int e = cases[k].least + (int)tw_random_below(&r, (uint64_t)(cases[k].most - cases[k].least));
        b->wave->v[1][l] = ((uint32_t)tw_random_next(&r) & 0x807FFFFF) | (uint32_t)(e + 127) << 23;
        b->wave->v[2][l] = round < 4 ? (l & 1 ? ~0u : 0) : (uint32_t)tw_random_next(&r);
        b->wave->v[3][l] = cases[k].scaled ? (uint32_t)(127 + 3) << 23 : 0;
        if (cases[k].scaled) b->wave->v[1][l] += 3u << 23; /* is divided by 8 */
        b->wave->v[4][l] = 0xA5A5A5A5;
      }
      execute(b, vop3(cases[k].name, 4, 1, 2, cases[k].scaled ? 3 : -1) | (uint64_t)select << 13);
      for (int l = 0; l < CDNA_LANES; l++) {
        const uint32_t value = b->wave->v[1][l] - (cases[k].scaled ? 3u << 23 : 0);
        const float expected =
            copysignf(tw_float_of(sum_and_cut(value, b->wave->v[2][l], cases[k].fraction)), tw_float_of(value));
        const uint32_t d = b->wave->v[4][l];
        const float got = cdna_small_value(cases[k].small, d >> 8 * select & 0xFF);
        if (got != expected) fail_msg("%s of %08x: %g, not %g", cases[k].name, value, (double)got, (double)expected);
        assert_int_equal(d & ~(0xFFu << 8 * select), 0xA5A5A5A5 & ~(0xFFu << 8 * select));
      }
    }
  /* f16 and bf16, upper half */
  for (int l = 0; l < CDNA_LANES; l++) {
    b->wave->v[1][l] = ((uint32_t)tw_random_next(&r) & 0x807FFFFF) | 130u << 23;
    b->wave->v[2][l] = (uint32_t)tw_random_next(&r);
    b->wave->v[4][l] = b->wave->v[5][l] = 0x11112222;
  }
  execute(b, vop3("v_cvt_sr_f16_f32", 4, 1, 2, -1) | 8ull << 11);
  execute(b, vop3("v_cvt_sr_bf16_f32", 5, 1, 2, -1) | 8ull << 11);
  for (int l = 0; l < CDNA_LANES; l++) {
    const uint32_t v = b->wave->v[1][l];
    assert_true(fabs(real_of(b->wave->v[4][l] >> 16, 16)) == (double)tw_float_of(sum_and_cut(v, b->wave->v[2][l], 10)));
    assert_int_equal(b->wave->v[5][l] & 0x7FFF0000, sum_and_cut(v, b->wave->v[2][l], 7));
    assert_int_equal(b->wave->v[4][l] & 0xFFFF, 0x2222);
  }
  close_bench(b);
}

static void thirty_two_items_at_once(void **state) {
  bench *b = open_bench(CDNA4);
  tw_random r;
  tw_random_seed(&r, 7);
  for (int l = 0; l < CDNA_LANES; l++) {
    for (int k = 0; k < 6; k++) b->wave->v[10 + k][l] = (uint32_t)tw_random_next(&r);
    b->wave->v[2][l] = (uint32_t)(127 + l % 5) << 23 | 0x1234; /* of a scale the exponent alone counts */
  }
  execute(b, vop3("v_cvt_scalef32_pk32_f32_fp6", 32, 10, 2, -1));
  execute(b, vop3("v_cvt_scalef32_pk32_f16_bf6", 64, 10, 2, -1));
  for (int l = 0; l < CDNA_LANES; l++)
    for (int n = 0; n < 32; n++) {
      uint32_t code = 0;
      for (int bit = 5; bit >= 0; bit--)
        code = code << 1 | (b->wave->v[10 + (6 * n + bit) / 32][l] >> (6 * n + bit) % 32 & 1);
      const double fp6 = ldexp((double)cdna_small_value(CDNA_FP6_MX, code), l % 5),
                   bf6 = ldexp((double)cdna_small_value(CDNA_BF6_MX, code), l % 5);
      assert_true((double)tw_float_of(b->wave->v[32 + n][l]) == fp6);
      assert_true(real_of(b->wave->v[64 + n / 2][l] >> 16 * (n % 2) & 0xFFFF, 16) == bf6);
    }
  /* back: all 32 from halves, and 16 and 16 of f32 in turn */
  execute(b, vop3("v_cvt_scalef32_pk32_bf6_f16", 100, 64, 2, -1));
  for (int l = 0; l < CDNA_LANES; l++)
    for (int k = 0; k < 16; k++) {
      b->wave->v[120 + k][l] = b->wave->v[32 + 2 * k][l];
      b->wave->v[140 + k][l] = b->wave->v[33 + 2 * k][l];
    }
  execute(b, vop3("v_cvt_scalef32_2xpk16_fp6_f32", 110, 120, 140, 2));
  for (int l = 0; l < CDNA_LANES; l++)
    for (int k = 0; k < 6; k++) {
      assert_int_equal(b->wave->v[100 + k][l], b->wave->v[10 + k][l]);
      assert_int_equal(b->wave->v[110 + k][l], b->wave->v[10 + k][l]);
    }
  /* stochastic: what the format holds is not moved by any random number; v_prng_b32 gives the next */
  for (int l = 0; l < CDNA_LANES; l++) b->wave->v[3][l] = (uint32_t)tw_random_next(&r);
  execute(b, vop3("v_cvt_scalef32_sr_pk32_fp6_f32", 110, 32, 3, 2));
  for (int l = 0; l < CDNA_LANES; l++)
    for (int k = 0; k < 6; k++) assert_int_equal(b->wave->v[110 + k][l], b->wave->v[10 + k][l]);
  for (int l = 0; l < CDNA_LANES; l++) {
    b->wave->v[1][l] = tw_bits_of(1.25f), b->wave->v[2][l] = tw_bits_of(2.5f); /* FP4 has 1, 1.5; 2, 3 */
    b->wave->v[4][l] = 127u << 23;
    b->wave->v[5][l] = 0;
  }
  execute(b, vop3("v_cvt_scalef32_sr_pk_fp4_f32", 5, 1, 3, 4));
  for (int l = 0; l < CDNA_LANES; l++) {
    const uint32_t first = b->wave->v[3][l], second = first << 1 ^ (first >> 31 ? 197 : 0);
    assert_int_equal(b->wave->v[5][l], (first >> 31 ? 3u : 2u) | (second >> 31 ? 5u : 4u) << 4);
  }
  close_bench(b);
}

static void two_by_pi_in_pieces(void **state) {
  bench *b = open_bench(CDNA3);
  for (int l = 0; l < CDNA_LANES; l++) {
    b->wave->v[2][l] = 0, b->wave->v[3][l] = 0x3FF00000; /* 1.0 */
    b->wave->v[4][l] = (uint32_t)l % 22;
  }
  execute(b, vop3("v_trig_preop_f64", 6, 2, 4, -1));
  long double sum = 0;
  double piece[3];
  for (int l = 2; l >= 0; l--) {
    const uint64_t bits = b->wave->v[6][l] | (uint64_t)b->wave->v[7][l] << 32;
    memcpy(&piece[l], &bits, sizeof bits);
    sum += (long double)piece[l];
  }
  assert_true(fabsl(sum - 0.6366197723675813430755350534900574L) < 1e-19L);
  assert_true(piece[0] < M_2_PI && M_2_PI - piece[0] < 0x1p-52);
  assert_true(piece[1] < 0x1p-53 && piece[2] < 0x1p-106);
  close_bench(b);
}

/* gpr_idx adds M0 to the number of a VGPR that v_writelane writes or v_readlane reads; VSKIP leaves them out. */
static void lanes_are_reached_through_gpr_idx(void **state) {
  bench *b = open_bench(CDNA3);
  b->wave->s[CDNA_M0] = 3;
  b->wave->mode |= CDNA_MODE_GPR_INDEX;
  b->wave->index_mode = 8;                                                              /* DST */
  execute(b, bits_of("v_writelane_b32", CDNA_VOP3) | 10 | 129ull << 32 | 133ull << 41); /* v10, 1, 5 */
  assert_int_equal(b->wave->v[13][5], 1);
  assert_int_equal(b->wave->v[10][5], 0);
  b->wave->index_mode = 1; /* SRC0 */
  execute(b, bits_of("v_readlane_b32", CDNA_VOP3) | 20 | (256ull + 10) << 32 | 133ull << 41);
  assert_int_equal(b->wave->s[20], 1);
  b->wave->mode |= CDNA_MODE_SKIP;
  execute(b, bits_of("v_writelane_b32", CDNA_VOP3) | 10 | 129ull << 32 | 133ull << 41);
  assert_int_equal(b->wave->v[10][5], 0);
  close_bench(b);
}

/* ---- saturating sums, against 64-bit (and 128-bit) arithmetic ---- */

static void integer_clamps_saturate(void **state) {
  bench *b = open_bench(CDNA3);
  tw_random r;
  tw_random_seed(&r, 9);
  for (int round = 0; round < 20; round++) {
    for (int l = 0; l < CDNA_LANES; l++)
      for (int k = 1; k < 5; k++) {
        const uint32_t v = (uint32_t)tw_random_next(&r);
        b->wave->v[k][l] = l % 4 == 0 ? v : l % 4 == 1 ? v | 0x7FFF0000 : l % 4 == 2 ? v | 0xF0000000 : v & 0xFF;
      }
    static const uint64_t CLAMP = 1ull << 15;
    execute(b, vop3("v_mad_u64_u32", 10, 1, 2, 3) | CLAMP | 20ull << 8);
    execute(b, vop3("v_mad_i64_i32", 12, 1, 2, 3) | CLAMP | 22ull << 8);
    execute(b, vop3("v_mad_i32_i16", 14, 1, 2, 3) | CLAMP);
    execute(b, vop3("v_add_co_u32", 15, 1, 2, -1) | CLAMP | 24ull << 8);
    execute(b, vop3("v_mul_u32_u24", 16, 1, 2, -1) | CLAMP);
    for (int l = 0; l < CDNA_LANES; l++) {
      const uint32_t A = b->wave->v[1][l], B = b->wave->v[2][l], C = b->wave->v[3][l];
      const uint64_t wide = C | (uint64_t)b->wave->v[4][l] << 32;
      const unsigned __int128 u = (unsigned __int128)A * B + wide;
      const __int128 s = (__int128)((int64_t)(int32_t)A * (int32_t)B) + (int64_t)wide;
      const int64_t h = (int64_t)((int16_t)A * (int16_t)B) + (int32_t)C;
      const uint64_t product = (uint64_t)(A & 0xFFFFFF) * (B & 0xFFFFFF);
      const uint64_t got_u = b->wave->v[10][l] | (uint64_t)b->wave->v[11][l] << 32,
                     got_s = b->wave->v[12][l] | (uint64_t)b->wave->v[13][l] << 32;
      assert_true(got_u == (u >> 64 ? UINT64_MAX : (uint64_t)u));
      assert_true((int64_t)got_s == (s > INT64_MAX ? INT64_MAX : s < INT64_MIN ? INT64_MIN : (int64_t)s));
      assert_true((int32_t)b->wave->v[14][l] == (h > INT32_MAX ? INT32_MAX : h < INT32_MIN ? INT32_MIN : h));
      assert_true(b->wave->v[15][l] == ((uint64_t)A + B > UINT32_MAX ? UINT32_MAX : A + B));
      assert_true((cdna_scalar64(b->wave, 24) >> l & 1) == ((uint64_t)A + B > UINT32_MAX));
      assert_true(b->wave->v[16][l] == (product > UINT32_MAX ? UINT32_MAX : product));
    }
  }
  close_bench(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_not_executed_is_documented),
      cmocka_unit_test(formats_are_loaded_and_stored),
      cmocka_unit_test(formats_clamp_select_and_halve),
      cmocka_unit_test(stochastic_rounding_adds_and_cuts),
      cmocka_unit_test(thirty_two_items_at_once),
      cmocka_unit_test(two_by_pi_in_pieces),
      cmocka_unit_test(integer_clamps_saturate),
      cmocka_unit_test(lanes_are_reached_through_gpr_idx),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
