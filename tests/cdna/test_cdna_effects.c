/* test_cdna_effects.c - registers that an instruction reads and writes against those in its text, for random encodings
 * of every opcode; what the text does not say (direction, implied registers, counters, wait states) for known words. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#include "base/random.h"
#include "target/cdna/isa/effects.h"
#include "target/cdna/isa/fidelity.h"

typedef struct registers {
  bool in[CDNA_REGISTER_CODES];
} registers;

static void add_range(registers *r, int first, int n) {
  for (int k = 0; k < n; k++)
    if (first + k < CDNA_REGISTER_CODES) r->in[first + k] = true;
}

/* All registers that a text names. */
static void registers_of_text(const char *text, registers *r) {
  static const struct {
    const char *name;
    int first, n;
  } named[] = {{"flat_scratch_lo", 102, 1},
               {"flat_scratch_hi", 103, 1},
               {"flat_scratch", 102, 2},
               {"xnack_mask_lo", 104, 1},
               {"xnack_mask_hi", 105, 1},
               {"xnack_mask", 104, 2},
               {"vcc_lo", 106, 1},
               {"vcc_hi", 107, 1},
               {"vcc", 106, 2},
               {"m0", 124, 1},
               {"exec_lo", 126, 1},
               {"exec_hi", 127, 1},
               {"exec", 126, 2},
               {"src_scc", 253, 1},
               {"src_vccz", 106, 2},
               {"src_execz", 126, 2}};
  static const struct {
    const char *kind;
    int base;
  } kinds[] = {{"ttmp", 108}, {"v", 256}, {"a", 512}, {"s", 0}};
  const char *p = strchr(text, ' ');
  while (p && *p) {
    if (!isalpha((unsigned char)*p)) {
      p++;
      continue;
    }
    size_t length = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
      if (strlen(named[i].name) == length && !strncmp(p, named[i].name, length)) {
        add_range(r, named[i].first, named[i].n);
        p += length;
        length = 0;
        break;
      }
    for (size_t i = 0; length && i < sizeof kinds / sizeof *kinds; i++) {
      const size_t k = strlen(kinds[i].kind);
      int first, last, used = 0;
      if (strncmp(p, kinds[i].kind, k) != 0) continue;
      if (sscanf(p + k, "[%d:%d]%n", &first, &last, &used) == 2 && used) {
        add_range(r, kinds[i].base + first, last - first + 1);
        length = k + (size_t)used;
        break;
      }
      if (isdigit((unsigned char)p[k]) && strspn(p + k, "0123456789") == length - k) {
        add_range(r, kinds[i].base + atoi(p + k), 1);
        break;
      }
    }
    p += length;
  }
}

static void registers_of_effects(const cdna_effects *e, registers *r) {
  for (int n = 0; n < e->n_reads; n++)
    if (e->read[n].role != CDNA_IMPLIED) add_range(r, e->read[n].first, e->read[n].n);
  for (int n = 0; n < e->n_writes; n++)
    if (e->write[n].role != CDNA_IMPLIED) add_range(r, e->write[n].first, e->write[n].n);
}

/* A random encoding of a row: its fixed bits from `zero` and the encoding's, all else random. */
static bool random_code(const cdna_instruction *i, cdna_arch arch, tw_random *r, cdna_code *c) {
  static const uint32_t fixed[CDNA_ENCODINGS] = {[CDNA_SOP2] = 2u << 30,
                                                 [CDNA_SOPK] = 0xBu << 28,
                                                 [CDNA_SOP1] = 0x17Du << 23,
                                                 [CDNA_SOPC] = 0x17Eu << 23,
                                                 [CDNA_SOPP] = 0x17Fu << 23,
                                                 [CDNA_SMEM] = 0x30u << 26,
                                                 [CDNA_VOP2] = 0,
                                                 [CDNA_VOP1] = 0x3Fu << 25,
                                                 [CDNA_VOPC] = 0x3Eu << 25,
                                                 [CDNA_VOP3] = 0x34u << 26,
                                                 [CDNA_VOP3P] = 0x1A7u << 23,
                                                 [CDNA_DS] = 0x36u << 26,
                                                 [CDNA_FLAT] = 0x37u << 26,
                                                 [CDNA_SCRATCH] = 0x37u << 26 | 1u << 14,
                                                 [CDNA_GLOBAL] = 0x37u << 26 | 2u << 14,
                                                 [CDNA_MUBUF] = 0x38u << 26,
                                                 [CDNA_MTBUF] = 0x3Au << 26};
  static const uint8_t low[CDNA_ENCODINGS] = {23, 23, 8, 16, 16, 18, 25, 9, 17, 16, 16, 17, 18, 18, 18, 18, 15};
  static const uint8_t width[CDNA_ENCODINGS] = {7, 5, 8, 7, 7, 8, 6, 8, 8, 10, 7, 8, 7, 7, 7, 7, 4};
  static const uint32_t marks[CDNA_ENCODINGS] = {3u << 30,
                                                 0xFu << 28,
                                                 0x1FFu << 23,
                                                 0x1FFu << 23,
                                                 0x1FFu << 23,
                                                 0x3Fu << 26,
                                                 1u << 31,
                                                 0x7Fu << 25,
                                                 0x7Fu << 25,
                                                 0x3Fu << 26,
                                                 0x1FFu << 23,
                                                 0x3Fu << 26,
                                                 0x3Fu << 26 | 3u << 14,
                                                 0x3Fu << 26 | 3u << 14,
                                                 0x3Fu << 26 | 3u << 14,
                                                 0x3Fu << 26,
                                                 0x3Fu << 26};
  const int e = i->encoding;
  const uint32_t opcode = ((1u << width[e]) - 1) << low[e];
  for (int attempt = 0; attempt < 40; attempt++) {
    uint64_t bits = tw_random_next(r) & ~i->zero;
    bits &= ~(uint64_t)(opcode | marks[e]);
    bits |= fixed[e] | (uint64_t)i->opcode << low[e];
    const uint32_t word[4] = {(uint32_t)bits, (uint32_t)(bits >> 32), (uint32_t)tw_random_next(r), 0};
    if (!cdna_decode(arch, word, 4, c) && c->instruction == i) return true;
  }
  return false;
}

static void test_registers_are_those_of_the_text(void **state) {
  size_t n;
  const cdna_instruction *all = cdna_instructions(&n);
  tw_random r;
  int compared = 0;
  tw_random_seed(&r, 5);
  for (size_t i = 0; i < n; i++)
    for (int arch = 0; arch < CDNA_ARCHES; arch++)
      for (int k = 0; k < 12; k++) {
        cdna_code c;
        if (!(all[i].arches >> arch & 1) || !random_code(&all[i], (cdna_arch)arch, &r, &c)) continue;
        const cdna_operand_form *d = cdna_find_field(&all[i], 'D');
        const int to = d ? cdna_operand_code(&c, d) : 0;
        if (to >= CDNA_ZERO && to < CDNA_VGPRS) continue; /* a result in a constant, which is decoded and is none */
        cdna_effects e;
        registers text = {0}, effects = {0};
        tw_text t = {0};
        cdna_print(&c, &t);
        char *line = tw_text_take(&t);
        cdna_effects_of((cdna_arch)arch, &c, &e);
        registers_of_text(line, &text);
        registers_of_effects(&e, &effects);
        for (int code = 0; code < CDNA_REGISTER_CODES; code++)
          /* of a wide operand that begins in a register with a name, the text has the first alone */
          if (text.in[code] != effects.in[code] && (text.in[code] || code < CDNA_SGPRS || code >= CDNA_VGPRS))
            fail_msg("%s: register %d is in the %s alone", line, code, text.in[code] ? "text" : "effects");
        compared++;
        free(line);
      }
  assert_true(compared > 20000);
}

static cdna_effects of(cdna_arch arch, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  cdna_code code;
  cdna_effects e;
  const uint32_t word[] = {a, b, c, d};
  assert_null(cdna_decode(arch, word, 4, &code));
  cdna_effects_of(arch, &code, &e);
  return e;
}

static bool has(const cdna_register_range *list, int n, int first, int width, int bytes) {
  for (int k = 0; k < n; k++)
    if (list[k].first == first && list[k].n == width && list[k].bytes == bytes) return true;
  return false;
}
#define READS(e_, first_, width_, bytes_) assert_true(has((e_).read, (e_).n_reads, first_, width_, bytes_))
#define WRITES(e_, first_, width_, bytes_) assert_true(has((e_).write, (e_).n_writes, first_, width_, bytes_))

/* Words are llvm-mc's. */
static void test_what_the_text_does_not_say(void **state) {
  cdna_effects e = of(CDNA4, 0x80000201, 0, 0, 0); /* s_add_u32 s0, s1, s2 */
  assert_int_equal(e.klass, CDNA_CLASS_SALU);
  assert_int_equal(e.n_reads, 2);
  WRITES(e, 0, 1, 15);
  WRITES(e, CDNA_SCC, 1, 15);
  e = of(CDNA4, 0x85000201, 0, 0, 0); /* s_cselect_b32 s0, s1, s2 */
  READS(e, CDNA_SCC, 1, 15);
  assert_int_equal(e.n_writes, 1);
  e = of(CDNA4, 0xbe84206a, 0, 0, 0); /* s_and_saveexec_b64 s[4:5], vcc */
  READS(e, CDNA_VCC, 2, 15);
  READS(e, CDNA_EXEC, 2, 15);
  WRITES(e, CDNA_EXEC, 2, 15);
  WRITES(e, 4, 2, 15);
  WRITES(e, CDNA_SCC, 1, 15);
  e = of(CDNA4, 0xb1030007, 0, 0, 0); /* s_cmpk_eq_i32 s3, 0x7 */
  READS(e, 3, 1, 15);
  assert_int_equal(e.n_writes, 1);
  e = of(CDNA4, 0xbf8c4374, 0, 0, 0); /* s_waitcnt vmcnt(20) lgkmcnt(3) */
  assert_int_equal(e.klass, CDNA_CLASS_INTERNAL);
  assert_int_equal(e.wait_vm, 20);
  assert_int_equal(e.wait_lgkm, 3);
  e = of(CDNA4, 0xbf800007, 0, 0, 0); /* s_nop 7 */
  assert_int_equal(e.wait_states, 8);
  assert_int_equal(e.wait_vm, CDNA_VM_MOST);
  e = of(CDNA4, 0xc00a0200, 0x10, 0, 0); /* s_load_dwordx4 s[8:11], s[0:1], 0x10 */
  assert_int_equal(e.counters, CDNA_COUNTS_LGKM);
  assert_int_equal(e.bytes, 16);
  READS(e, 0, 2, 15);
  WRITES(e, 8, 4, 15);
  e = of(CDNA4, 0x76020702, 0, 0, 0); /* v_fmac_f32_e32 v1, v2, v3 */
  READS(e, 257, 1, 15);
  READS(e, CDNA_EXEC, 2, 15);
  WRITES(e, 257, 1, 15);
  e = of(CDNA4, 0x00020702, 0, 0, 0); /* v_cndmask_b32_e32 v1, v2, v3, vcc */
  READS(e, CDNA_VCC, 2, 15);
  assert_int_equal(e.n_writes, 1);
  e = of(CDNA4, 0x38020702, 0, 0, 0); /* v_addc_co_u32_e32 v1, vcc, v2, v3, vcc */
  READS(e, CDNA_VCC, 2, 15);
  WRITES(e, CDNA_VCC, 2, 15);
  e = of(CDNA4, 0x7c820501, 0, 0, 0); /* v_cmp_lt_f32_e32 vcc, v1, v2 */
  WRITES(e, CDNA_VCC, 2, 15);
  assert_int_equal(e.n_writes, 1);
  e = of(CDNA4, 0xd0510002, 0x00020501, 0, 0); /* v_cmpx_lt_f32_e64 s[2:3], v1, v2 */
  WRITES(e, 2, 2, 15);
  WRITES(e, CDNA_EXEC, 2, 15);
  e = of(CDNA4, 0x7e024102, 0, 0, 0); /* v_exp_f32_e32 v1, v2 */
  assert_int_equal(e.klass, CDNA_CLASS_TRANS);
  e = of(CDNA4, 0xd2890001, 0x00000702, 0, 0); /* v_readlane_b32 s1, v2, s3 */
  WRITES(e, 1, 1, 15);
  READS(e, 3, 1, 15);
  assert_false(e.reads_exec);
  e = of(CDNA4, 0xd3e08000, 0x04020902, 0, 0); /* v_mfma_f32_32x32x8_bf16 a[0:15], v[2:3], v[4:5], a[0:15] */
  assert_int_equal(e.klass, CDNA_CLASS_MATRIX);
  assert_int_equal(e.passes, 8);
  assert_false(e.reads_exec);
  READS(e, 512, 16, 15);
  WRITES(e, 512, 16, 15);
  e = of(CDNA4, 0xd3e2000a, 0x040e0902, 0, 0); /* v_smfmac_f32_16x16x32_f16 v[10:13], v[2:3], v[4:7], v3 */
  READS(e, 266, 4, 15);
  READS(e, 259, 1, 15);
  e = of(CDNA4, 0xd8ee0100, 0x00000009, 0, 0); /* ds_read2_b64 v[0:3], v9 offset1:1 */
  assert_int_equal(e.access, CDNA_LOAD);
  assert_int_equal(e.bytes, 8);
  assert_int_equal(e.accesses, 2);
  e = of(CDNA4, 0xd83e0000, 0x00000201, 0, 0); /* ds_write_b16 v1, v2 */
  READS(e, 258, 1, 3);
  assert_int_equal(e.n_writes, 0);
  e = of(CDNA4, 0xe05d1000, 0x03020001, 0, 0); /* buffer_load_dwordx4 v1, s[8:11], s3 offen lds */
  assert_int_equal(e.access, CDNA_LOAD_TO_LDS);
  assert_int_equal(e.counters, CDNA_COUNTS_VM);
  READS(e, 257, 1, 15);
  READS(e, CDNA_M0, 1, 15);
  assert_int_equal(e.n_writes, 0);
  e = of(CDNA4, 0xdc948000, 0x057f0006, 0, 0); /* global_load_short_d16_hi v5, v[6:7], off */
  WRITES(e, 261, 1, 12);
  e = of(CDNA4, 0xdd358000, 0x017f0402, 0, 0); /* global_atomic_add_f32 v1, v[2:3], v4, off sc0 */
  assert_int_equal(e.access, CDNA_ATOMIC);
  assert_true(e.returns);
  WRITES(e, 257, 1, 15);
  e = of(CDNA4, 0xdc780000, 0x00000400, 0, 0); /* flat_store_dwordx3 v[0:1], v[4:6] */
  assert_int_equal(e.counters, CDNA_COUNTS_VM | CDNA_COUNTS_LGKM);
  READS(e, 260, 3, 15);
  e = of(CDNA4, 0x7e02b302, 0, 0, 0); /* v_permlane16_swap_b32_e32 v1, v2 */
  READS(e, 257, 1, 15);
  WRITES(e, 257, 1, 15);
  WRITES(e, 258, 1, 15);
  /* v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:7], v[8:15], v[0:3], v20, v21 op_sel:[1,0,0] op_sel_hi:[0,0,0]
   * cbsz:4 */
  e = of(CDNA4, 0xd3ac0800, 0x00022b14, 0xd3ad0c00, 0x04021104);
  READS(e, 276, 1, 2);
  READS(e, 277, 1, 1);
  READS(e, 260, 4, 15);
  READS(e, 264, 8, 15);
  assert_int_equal(e.passes, 8);
  e = of(CDNA4, 0x7e0202f9, 0x00051202, 0,
         0); /* v_mov_b32_sdwa v1, v2 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 */
  READS(e, 258, 1, 12);
  WRITES(e, 257, 1, 4);
  assert_true(e.selects_part);
}

/* One of each reason on docs/explain/cdna-emulator.md, and instructions without one. */
static void test_instructions_say_how_sure_their_results_are(void **state) {
  static const struct {
    cdna_arch arch;
    uint32_t word[2];
    cdna_fidelity fidelity;
    const char *why;
  } rows[] = {
      {CDNA4, {0x68020701, 0}, CDNA_EXACT, NULL},                       /* v_add_u32_e32 v1, v1, v3 */
      {CDNA3, {0xd3c00000, 0x04020902}, CDNA_EXACT, NULL},              /* v_mfma_f32_32x32x1_2b_f32, no CBSZ */
      {CDNA3, {0xd3c00100, 0x04020902}, CDNA_IS_ASSUMED, "CBSZ"},       /* cbsz:1 */
      {CDNA4, {0xd3c00000, 0x04020902}, CDNA_UNDOCUMENTED, "order"},    /* the same on CDNA4 */
      {CDNA4, {0x7e024102, 0}, CDNA_UNDOCUMENTED, "1 ulp"},             /* v_exp_f32_e32 v1, v2 */
      {CDNA3, {0xc0900000, 0}, CDNA_UNDOCUMENTED, "clock"},             /* s_memtime s[0:1] */
      {CDNA4, {0xd9c40000, 0x02000001}, CDNA_IS_ASSUMED, "transposed"}, /* ds_read_b64_tr_b8 v[2:3], v1 */
      {CDNA4, {0xd9c60000, 0x02000001}, CDNA_EXACT, NULL},              /* ds_read_b64_tr_b16 */
      {CDNA3, {0xe0000000, 0x80000100}, CDNA_IS_ASSUMED, "typed"},      /* buffer_load_format_x v1, off, s[0:3], s0 */
  };
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    cdna_code c;
    const char *why = "nothing";
    assert_null(cdna_decode(rows[r].arch, rows[r].word, 2, &c));
    const cdna_fidelity f = cdna_fidelity_of(rows[r].arch, &c, &why);
    if (f != rows[r].fidelity) fail_msg("%s is %s", c.instruction->name, cdna_fidelity_name(f));
    if (rows[r].why ? !why || !strstr(why, rows[r].why) : why != NULL) fail_msg("%s: %s", c.instruction->name, why);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_registers_are_those_of_the_text),
      cmocka_unit_test(test_what_the_text_does_not_say),
      cmocka_unit_test(test_instructions_say_how_sure_their_results_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
