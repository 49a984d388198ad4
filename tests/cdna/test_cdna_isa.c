/* test_cdna_isa.c - the decoder and printer of gfx942 and gfx950 against llvm-mc-22: of each opcode of each encoding
 * random operands and modifiers, and words at random. Skipped without llvm-mc-22.
 *
 *     test_cdna_isa FOLDER...
 *
 * compares what lies there instead, folders within it, too: code objects (.co, .hsaco) instruction by instruction with
 * llvm-objdump-22, and LLVM's MC tests both ways: each line of a .s that llvm-mc-22 assembles for the machine, and each
 * line of bytes in a .txt. */
#define _GNU_SOURCE /* nftw */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#include <ftw.h>

#include "base/files.h"
#include "base/process.h"
#include "base/random.h"
#include "base/strings.h"
#include "target/cdna/isa/isa.h"
#include "target/cdna/object/object.h"

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

/* VOP3 with a literal, which these machines lack: llvm-mc prints what happens to follow, or crashes. */
static bool has_wide_literal(const words *w) {
  for (int n = 0; n < 3; n++)
    if (w->word[0] >> 26 == 0x34 && (w->word[1] >> 9 * n & 0x1FF) == CDNA_LITERAL) return true;
  return false;
}

/* What is left out: a literal in VOP3, on which llvm-mc crashes; src_lds_direct (254), which it prints and these
 * machines lack; SDWA with signs that its operation does not take. */
static bool is_left_out(const cdna_instruction *i, words *w) {
  if (has_wide_literal(w)) return true;
  if (w->word[0] >> 26 == 0x34) return false;
  if (i->encoding >= CDNA_VOP2 && i->encoding <= CDNA_VOPC) {
    if ((w->word[0] & 0x1FF) == 249)
      w->word[1] &= i->encoding == CDNA_VOPC ? 0xBEBE8FFFu : i->encoding == CDNA_VOP2 ? 0xBEBE0FFFu : 0x00BE0FFFu;
    return false;
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
  static const char *const command[] = {
      "LLVM_DISABLE_SYMBOLIZATION=1 exec llvm-mc-22 --disassemble -triple=amdgcn -mcpu=gfx942 2>/dev/null",
      "LLVM_DISABLE_SYMBOLIZATION=1 exec llvm-mc-22 --disassemble -triple=amdgcn -mcpu=gfx950 2>/dev/null"};
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

/* What is one long instruction of another machine may be two short ones of this. */
static void cut_to_one(cdna_arch arch, size_t n, words *w) {
  for (size_t i = 0; i < n; i++) {
    cdna_code c;
    if (!cdna_decode(arch, w[i].word, 4, &c)) w[i].n = c.dwords;
  }
}

static size_t compare(cdna_arch arch, size_t n, words *w, size_t *known) {
  size_t wrong = 0;
  char **expected = calloc(n + 1, sizeof *expected);
  cut_to_one(arch, n, w);
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
    if (!expected[i][0] && !why && getenv("SHOWREF"))
      print_message("REF %s %08x %08x: '%s'\n", arch == CDNA3 ? "gfx942" : "gfx950", w[i].word[0],
                    w[i].n > 1 ? w[i].word[1] : 0, ours);
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
  const int each = is_thorough() ? 12 : 3; /* nearly all of the time is llvm-mc's */
  size_t n, wrong = 0, known = 0;
  const cdna_instruction *table = cdna_instructions(&n);
  tw_random r;
  tw_random_seed(&r, 42);
  for (int arch = 0; arch < CDNA_ARCHES; arch++) {
    words *w = calloc(n * (size_t)each, sizeof *w);
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
      for (int k = 0; k < each && table[i].arches >> arch & 1; k++) {
        w[count] = random_encoding(&table[i], k, &r);
        if (!is_left_out(&table[i], &w[count])) count++;
      }
    wrong += compare((cdna_arch)arch, count, w, &known);
    free(w);
  }
  print_message("%zu of %zu wrong\n", wrong, known);
  assert_int_equal(wrong, 0);
}

/* ---- what lies in a folder ---- */

typedef struct tally {
  size_t files, objects, skipped, lines, wrong, undecoded;
} tally;
static tally sum;

static bool run_llvm(const char *const argv[], const void *input, size_t length, tw_process_result *r) {
  tw_error error = {0};
  const tw_process_options run = {.argv = argv,
                                  .input = input,
                                  .input_length = length,
                                  .output_limit = 1u << 30,
                                  .errors_apart = true,
                                  .seconds = 300};
  if (tw_process_run(&run, r, &error) == TW_OK) return true;
  printf("%s: %s\n", argv[0], error.text);
  return false;
}

static void report(const char *file, const words *w, const char *ours, const char *theirs) {
  if (sum.wrong++ < SHOWN) printf("%s: %08x %08x: ours '%s', llvm '%s'\n", file, w->word[0], w->word[1], ours, theirs);
}

/* "\ts_branch label_1F  // 000000001234: BF82001F <label_1F>": the text, and the words. */
static bool read_line(char *line, words *w, char **text) {
  char *comment = strstr(line, "// "), *end = comment;
  if (line[0] != '\t' || !comment || !(comment = strchr(comment, ':'))) return false;
  while (end > line && end[-1] == ' ') end--;
  *end = '\0';
  *text = line + 1;
  *w = (words){0};
  for (comment++; w->n < 4; w->n++) {
    char *next;
    const unsigned long v = strtoul(comment, &next, 16);
    if (next == comment) break;
    w->word[w->n] = (uint32_t)v;
    comment = next;
  }
  return w->n > 0;
}

/* A branch to a label: the number is the label's. */
static bool is_same(const char *ours, const char *theirs) {
  if (!strcmp(ours, theirs)) return true;
  const char *space = strrchr(theirs, ' '), *own = strrchr(ours, ' ');
  const bool branch =
      !strncmp(theirs, "s_branch", 8) || !strncmp(theirs, "s_cbranch", 9) || !strncmp(theirs, "s_call", 6);
  return branch && space && own && space - theirs == own - ours && !strncmp(ours, theirs, (size_t)(own - ours)) &&
         (space[1] < '0' || space[1] > '9');
}

static void compare_object(const char *path) {
  char *data = NULL;
  size_t size = 0;
  cdna_object o;
  tw_error error = {0};
  tw_process_result r;
  const char *const argv[] = {"llvm-objdump-22", "-d", path, NULL};
  if (tw_file_read(path, 1u << 30, &data, &size, &error) != TW_OK) return;
  if (cdna_object_read(data, size, path, &o, &error) != TW_OK) {
    printf("%s\n", error.text);
    sum.skipped++;
  } else if (run_llvm(argv, NULL, 0, &r)) {
    char *rest = r.output, *line, *text;
    sum.objects++;
    while ((line = strsep(&rest, "\n"))) {
      words w;
      cdna_code c;
      tw_text t = {0};
      if (!read_line(line, &w, &text)) continue;
      sum.lines++;
      const char *why = cdna_decode(o.arch, w.word, (size_t)w.n, &c);
      if (!why) cdna_print(&c, &t);
      if (why && !strncmp(text, ".long", 5))
        sum.undecoded++;
      else if (why || c.dwords != w.n || !is_same(t.data, text))
        report(path, &w, why ? why : t.data, text);
      tw_text_free(&t);
    }
    tw_process_result_free(&r);
    cdna_object_free(&o);
  }
  free(data);
}

/* "[0x01,0x02]" or "0x01,0x02 0x03": the bytes as words; n = 0 if the line holds something else. */
static words read_bytes(const char *text) {
  words w = {0};
  int n = 0;
  for (text += strspn(text, " [\t"); !strncmp(text, "0x", 2) && n < 16; n++) {
    char *end;
    const unsigned long v = strtoul(text, &end, 16);
    if (v > 0xFF) return (words){0};
    w.word[n / 4] |= (uint32_t)v << 8 * (n % 4);
    text = end + strspn(end, ", ");
  }
  w.n = n % 4 ? 0 : n / 4;
  return w;
}

static void compare_words(const char *file, cdna_arch arch, words *w, size_t n) {
  char **expected = calloc(n + 1, sizeof *expected);
  cut_to_one(arch, n, w);
  ask_llvm(arch, n, w, expected);
  for (size_t k = 0; k < n; k++) {
    cdna_code c;
    tw_text t = {0};
    if (!expected[k]) continue;
    const char *why = cdna_decode(arch, w[k].word, (size_t)w[k].n, &c);
    if (!why) cdna_print(&c, &t);
    sum.lines++;
    sum.undecoded += !expected[k][0];
    if (strstr(expected[k], "/*") ||
        (why && has_wide_literal(&w[k]))) /* llvm remarks that something is not as it should be */
      sum.lines--;
    else if (strcmp(why ? "" : t.data, expected[k]))
      report(file, &w[k], why ? why : t.data, expected[k]);
    free(expected[k]);
    tw_text_free(&t);
  }
  free(expected);
}

static void compare_disassembly(const char *path, cdna_arch arch) {
  char *text = NULL, *rest, *line;
  size_t n = 0, room = 0;
  words *all = NULL;
  if (tw_file_read(path, 1u << 30, &text, NULL, NULL) != TW_OK) return;
  for (rest = text; (line = strsep(&rest, "\n"));) {
    const words w = read_bytes(line);
    if (!w.n) continue;
    if (n == room) all = realloc(all, (room = 2 * room + 64) * sizeof *all);
    all[n++] = w;
  }
  compare_words(path, arch, all, n);
  free(all);
  free(text);
}

/* What llvm-mc assembles of the file, line by line. */
static void compare_assembly(const char *path, cdna_arch arch) {
  static const char *const cpu[] = {"-mcpu=gfx942", "-mcpu=gfx950"};
  const char *const argv[] = {"llvm-mc-22", "-triple=amdgcn", cpu[arch], "-show-encoding", path, NULL};
  tw_process_result r;
  size_t n = 0, room = 0;
  words *all = NULL;
  if (!run_llvm(argv, NULL, 0, &r)) return;
  char *rest = r.output, *line;
  while ((line = strsep(&rest, "\n"))) {
    const char *encoding = strstr(line, "encoding: ");
    const words w = encoding ? read_bytes(encoding + 10) : (words){0};
    if (!w.n) continue;
    if (n == room) all = realloc(all, (room = 2 * room + 64) * sizeof *all);
    all[n++] = w;
  }
  tw_process_result_free(&r);
  compare_words(path, arch, all, n);
  free(all);
}

static int visit(const char *path, const struct stat *s, int kind, struct FTW *where) {
  (void)s, (void)where;
  if (kind != FTW_F) return 0;
  const bool assembly = tw_ends_with(path, ".s"), bytes = tw_ends_with(path, ".txt");
  if (tw_ends_with(path, ".co") || tw_ends_with(path, ".hsaco")) compare_object(path);
  for (int arch = 0; arch < CDNA_ARCHES && (assembly || bytes); arch++)
    (assembly ? compare_assembly : compare_disassembly)(path, (cdna_arch)arch);
  sum.files += assembly || bytes;
  return 0;
}

int main(int argc, char **argv) {
  if (!tw_process_find("llvm-mc-22")) {
    puts("skipped: llvm-mc-22 is not here");
    return 77;
  }
  for (int k = 1; k < argc; k++)
    if (nftw(argv[k], visit, 32, FTW_PHYS)) printf("%s: not a folder that can be read\n", argv[k]);
  if (argc > 1) {
    printf("%zu code objects (%zu of other kinds left out), %zu files of MC tests: %zu instructions compared, %zu "
           "differ; %zu of "
           "them llvm does not decode either\n",
           sum.objects, sum.skipped, sum.files, sum.lines, sum.wrong, sum.undecoded);
    return sum.wrong || !sum.lines;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_opcode_prints_as_llvm_has_it)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
