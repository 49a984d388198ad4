/* test_cdna_isa.c - the decoder and printer of gfx942 and gfx950 against llvm-mc-22: of each opcode of each encoding random
 * operands and modifiers, and words at random. Skipped without llvm-mc-22. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#include "base/process.h"
#include "base/random.h"
#include "base/strings.h"
#include "target/cdna/isa/isa.h"

enum { SEPARATOR = 0x5a, SHOWN = 20 };

typedef struct words {
  uint32_t word[4];
  int n;
} words;

/* First bits and place of the opcode of each encoding. */
static const struct {
  uint64_t prefix;
  int low, dwords;
} form[CDNA_ENCODINGS] = {
    [CDNA_SOP2] = {2ull << 30, 23, 1},
    [CDNA_SOPK] = {0xBull << 28, 23, 1},
    [CDNA_SOP1] = {0x17Dull << 23, 8, 1},
    [CDNA_SOPC] = {0x17Eull << 23, 16, 1},
    [CDNA_SOPP] = {0x17Full << 23, 16, 1},
    [CDNA_SMEM] = {0x30ull << 26, 18, 2},
    [CDNA_VOP2] = {0, 25, 1},
    [CDNA_VOP1] = {0x3Full << 25, 9, 1},
    [CDNA_VOPC] = {0x3Eull << 25, 17, 1},
    [CDNA_VOP3] = {0x34ull << 26, 16, 2},
    [CDNA_VOP3P] = {0x1A7ull << 23, 16, 2},
    [CDNA_DS] = {0x36ull << 26, 17, 2},
    [CDNA_FLAT] = {0x37ull << 26, 18, 2},
    [CDNA_SCRATCH] = {0x37ull << 26 | 1 << 14, 18, 2},
    [CDNA_GLOBAL] = {0x37ull << 26 | 2 << 14, 18, 2},
    [CDNA_MUBUF] = {0x38ull << 26, 18, 2},
    [CDNA_MTBUF] = {0x3Aull << 26, 15, 2},
};
static const int opcode_bits[CDNA_ENCODINGS] = {7, 5, 8, 7, 7, 8, 6, 8, 8, 10, 7, 8, 7, 7, 7, 7, 4};

static words random_encoding(const cdna_instruction *i, int k, tw_random *r) {
  const uint64_t opcode = ((1ull << opcode_bits[i->encoding]) - 1) << form[i->encoding].low;
  uint64_t fixed = opcode;
  switch (i->encoding) {
  case CDNA_VOP2: fixed |= 1ull << 31; break;
  case CDNA_SOP2: fixed |= 3ull << 30; break;
  case CDNA_SOPK: fixed |= 15ull << 28; break;
  case CDNA_VOP1:
  case CDNA_VOPC: fixed |= 0x7Full << 25; break;
  case CDNA_SOP1:
  case CDNA_SOPC:
  case CDNA_SOPP:
  case CDNA_VOP3P: fixed |= 0x1FFull << 23; break;
  default: fixed |= 0x3Full << 26; break;
  }
  if (i->encoding == CDNA_FLAT || i->encoding == CDNA_SCRATCH || i->encoding == CDNA_GLOBAL) fixed |= 3 << 14;
  uint64_t bits = tw_random_next(r);
  if (tw_random_below(r, 2)) bits &= tw_random_next(r) | (uint64_t)tw_random_next(r) << 32; /* modifiers are rarer */
  bits = (bits & ~fixed & ~i->zero) | form[i->encoding].prefix | (uint64_t)i->opcode << form[i->encoding].low;
  /* every third with DPP, every third with SDWA, where there may be such */
  const bool narrow = i->encoding >= CDNA_VOP2 && i->encoding <= CDNA_VOPC && cdna_find_field(i, '0');
  if (narrow && k % 3 == 1 && i->forms & CDNA_FORM_DPP) bits = (bits & ~0x1FFull) | CDNA_CODE_DPP;
  if (narrow && k % 3 == 2 && i->forms & CDNA_FORM_SDWA) bits = (bits & ~0x1FFull) | CDNA_CODE_SDWA;
  words w = {.n = form[i->encoding].dwords};
  w.word[0] = (uint32_t)bits;
  w.word[1] = w.n == 2 ? (uint32_t)(bits >> 32) : (uint32_t)tw_random_next(r);
  w.word[2] = (uint32_t)tw_random_next(r);
  return w;
}

/* What is left out: a literal in VOP3, on which llvm-mc crashes; src_lds_direct (254), which it prints and these machines lack;
 * scalar results of VOP3 beyond the registers; a scale without its MFMA; SDWA with signs that its operation does not take. */
static bool is_left_out(const cdna_instruction *i, words *w) {
  const uint32_t s = w->word[1];
  if (w->word[0] >> 26 == 0x34) {
    for (int n = 0; n < 3; n++)
      if ((s >> 9 * n & 0x1FF) == 255 || (s >> 9 * n & 0x1FF) == 254) return true;
    if (i->operand[0].field == 'D' && i->operand[0].holds != 'v' && (w->word[0] & 0xFF) >= 128) return true;
    return i->encoding == CDNA_VOP3P && i->opcode == 0x2C;
  }
  if (i->encoding >= CDNA_VOP2 && i->encoding <= CDNA_VOPC) {
    if ((w->word[0] & 0x1FF) == 249)
      w->word[1] &= i->encoding == CDNA_VOPC ? 0x86868FFFu : i->encoding == CDNA_VOP2 ? 0x86860FFFu : 0x00860FFFu;
    return (w->word[0] & 0x1FF) == 254;
  }
  return i->encoding <= CDNA_SOPC && ((w->word[0] & 0xFF) == 254 || (w->word[0] >> 8 & 0xFF) == 254);
}

static void add_line(tw_text *t, const uint32_t *word, int n) {
  tw_text_add_string(t, "[");
  for (int i = 0; i < 4 * n; i++) tw_text_add(t, "%s0x%02x", i ? "," : "", word[i / 4] >> 8 * (i % 4) & 0xFF);
  tw_text_add_string(t, "]\n");
}

/* Texts of n encodings as llvm-mc prints them; "" where it knows none. False if it crashed on one of them. */
static bool ask_at_once(cdna_arch arch, size_t n, const words *w, char **texts) {
  /* without its warnings, which would come between */
  static const char *const command[] = {"exec llvm-mc-22 --disassemble -triple=amdgcn -mcpu=gfx942 2>/dev/null",
                                        "exec llvm-mc-22 --disassemble -triple=amdgcn -mcpu=gfx950 2>/dev/null"};
  const char *const argv[] = {"sh", "-c", command[arch], NULL};
  const uint32_t separator = 0xBF920000u | SEPARATOR;
  tw_text t = {0};
  for (size_t i = 0; i < n; i++) {
    add_line(&t, w[i].word, w[i].n);
    add_line(&t, &separator, 1);
  }
  tw_process_result r;
  tw_error error = {0};
  const tw_process_options run = {
      .argv = argv, .input = t.data, .input_length = t.length, .output_limit = 256u << 20, .seconds = 120};
  if (tw_process_run(&run, &r, &error) != TW_OK) fail_msg("%s", error.text);
  char *rest = r.output, *line;
  size_t at = 0;
  int lines = 0;
  while ((line = strsep(&rest, "\n")) && at < n) {
    if (line[0] != '\t' || line[1] == '.') continue;
    if (!strcmp(line, "\ts_trap 0x5a")) {
      if (!texts[at] || lines != 1) free(texts[at]), texts[at] = strdup("");
      at++;
      lines = 0;
    } else if (!lines++) {
      char *comment = strstr(line, " // ");
      if (comment) *comment = '\0';
      texts[at] = strdup(line + 1);
      size_t length = strlen(texts[at]);
      while (length && texts[at][length - 1] == ' ') texts[at][--length] = '\0';
    }
  }
  tw_process_result_free(&r);
  tw_text_free(&t);
  for (size_t i = 0; at != n && i < n; i++) free(texts[i]), texts[i] = NULL;
  return at == n;
}

/* NULL for an encoding on which it crashes. */
static void ask_llvm(cdna_arch arch, size_t n, const words *w, char **texts) {
  if (n <= 1024 && (ask_at_once(arch, n, w, texts) || n <= 1)) return;
  ask_llvm(arch, n / 2, w, texts);
  ask_llvm(arch, n - n / 2, w + n / 2, texts + n / 2);
}

static size_t compare(cdna_arch arch, size_t n, words *w, size_t *known) {
  size_t wrong = 0;
  for (size_t i = 0; i < n; i++) {
    cdna_code c;
    if (!cdna_decode(arch, w[i].word, 4, &c)) w[i].n = c.dwords;
  }
  char **expected = calloc(n + 1, sizeof *expected);
  ask_llvm(arch, n, w, expected);
  for (size_t i = 0; i < n; i++) {
    if (!expected[i]) continue;
    tw_text t = {0};
    cdna_code c;
    const char *why = cdna_decode(arch, w[i].word, (size_t)w[i].n, &c);
    if (!why) cdna_print(&c, &t);
    const char *ours = why ? "" : t.data;
    /* what llvm-mc refuses, or prints with a remark in a comment, has no text to compare with */
    const bool clean = expected[i][0] && !strstr(expected[i], "/*");
    *known += clean;
    if (clean && strcmp(ours, expected[i]) && wrong++ < SHOWN)
      print_message("%s %08x %08x: ours '%s', llvm '%s'\n", arch == CDNA3 ? "gfx942" : "gfx950", w[i].word[0],
                    w[i].n > 1 ? w[i].word[1] : 0, ours, expected[i]);
    free(expected[i]);
    tw_text_free(&t);
  }
  free(expected);
  return wrong;
}

static void test_every_opcode_prints_as_llvm_has_it(void **state) {
#ifdef __SANITIZE_ADDRESS__ /* most of the time is llvm-mc's */
  enum { EACH = 3 };
#else
  enum { EACH = 12 };
#endif
  size_t n, wrong = 0, known = 0;
  const cdna_instruction *table = cdna_instructions(&n);
  tw_random r;
  (void)state;
  tw_random_seed(&r, 42);
  for (int arch = 0; arch < CDNA_ARCHES; arch++) {
    words *w = calloc(n * EACH, sizeof *w);
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
      for (int k = 0; k < EACH && table[i].arches >> arch & 1; k++) {
        w[count] = random_encoding(&table[i], k, &r);
        if (!is_left_out(&table[i], &w[count])) count++;
      }
    wrong += compare((cdna_arch)arch, count, w, &known);
    free(w);
  }
  print_message("%zu of %zu wrong\n", wrong, known);
  assert_int_equal(wrong, 0);
}

int main(void) {
  if (!tw_process_find("llvm-mc-22")) {
    puts("skipped: llvm-mc-22 is not here");
    return 77;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_opcode_prints_as_llvm_has_it)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
