/* assembly.c - see assembly.h.
 *
 * A statement of GNU as for RISC-V: labels, then a mnemonic or directive and its operands, ended by a newline or ';';
 * '#' begins a comment. Directives are allowed by name (those that GCC emits), never forbidden by name. What GCC
 * does not write and what would need the assembler's full grammar to follow is refused: backslashes, single
 * quotes and C comments outside of strings, assignments. GCC puts the place of inline assembly before it as a
 * comment: # 12 "kernel.c" 1. */
#define _GNU_SOURCE /* memmem */
#include "target/gemmini/assembly.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
  WORD_MAX = 64,
  FILE_BYTES_MAX = 64 << 20, /* data that the object file would hold */
  ALIGNMENT_MAX = 16,        /* log2 */
};

typedef struct scanner {
  const char *at, *end;
  const char *tag;
  int line; /* of the C source that the statement came from; 0 if unknown */
  bool in_code, in_bss;
  uint64_t file_bytes;
  tw_error *error;
} scanner;

typedef struct statement {
  char word[WORD_MAX]; /* mnemonic or directive */
  const char *operands, *end;
  const char *comment, *comment_end;
} statement;

static tw_status refuse(const scanner *s, const char *what, const char *word) {
  return tw_fail(s->error, TW_FAILED, "kernel.c:%d: error: inline assembly: %s%s", s->line, what, word);
}

static bool in_list(const char *word, const char *const list[]) {
  for (; *list; list++)
    if (!strcmp(word, *list)) return true;
  return false;
}

static bool starts_with(const char *text, const char *end, const char *prefix) {
  size_t n = strlen(prefix);
  return (size_t)(end - text) >= n && !memcmp(text, prefix, n);
}

static bool contains(const char *text, const char *end, const char *part) {
  return memmem(text, (size_t)(end - text), part, strlen(part)) != NULL;
}

/* ---- Statements ------------------------------------------------------------------------------------------- */

/* # 12 "kernel.c" 1 */
static void note_place(scanner *s, const char *comment, const char *end) {
  const char *p = comment + 1;
  if (p == end || *p != ' ') return;
  int line = 0;
  for (p++; p < end && isdigit((unsigned char)*p) && line < 100000000; p++) line = line * 10 + (*p - '0');
  if (line > 0 && p < end && *p == ' ' && contains(p, end, "\"kernel.c\"")) s->line = line;
}

/* Finds the end of the statement that begins at s->at, and moves behind it. */
static tw_status cut(scanner *s, statement *out) {
  const char *p = s->at;
  out->operands = p;
  out->comment = out->comment_end = NULL;
  for (; p < s->end && *p != '\n' && *p != ';' && *p != '#'; p++) {
    if (*p == '"') {
      for (p++; p < s->end && *p != '"'; p++) {
        if (*p == '\n') return refuse(s, "a string without end", "");
        if (*p == '\\') p++;
      }
      if (p >= s->end) return refuse(s, "a string without end", "");
    } else if (*p == '\\' || *p == '\'' || *p == '`') {
      return refuse(s, "not allowed outside of a string: ", *p == '\\' ? "\\" : *p == '`' ? "`" : "'");
    } else if (*p == '/' && p + 1 < s->end && (p[1] == '*' || p[1] == '/')) {
      return refuse(s, "only comments with # are allowed", "");
    }
  }
  out->end = p;
  if (p < s->end && *p == '#') {
    out->comment = p;
    while (p < s->end && *p != '\n') p++;
    out->comment_end = p;
  }
  s->at = p < s->end ? p + 1 : p;
  return TW_OK;
}

static bool is_symbol(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$'; }

static void skip_blanks(const char **p, const char *end) {
  while (*p < end && isspace((unsigned char)**p)) (*p)++;
}

/* Splits off labels and the first word. An empty word: nothing there. */
static tw_status split(const scanner *s, statement *t) {
  const char *p = t->operands;
  for (;;) {
    skip_blanks(&p, t->end);
    const char *start = p;
    while (p < t->end && is_symbol(*p)) p++;
    size_t n = (size_t)(p - start);
    t->word[0] = '\0';
    if (p == t->end && n == 0) return TW_OK;
    if (n == 0) return refuse(s, "a statement that begins with neither a name nor a directive", "");
    const char *after = p;
    skip_blanks(&after, t->end);
    if (after < t->end && *after == ':') {
      p = after + 1;
      continue;
    }
    if (after < t->end && *after == '=') return refuse(s, "assignments are not allowed", "");
    if (n >= WORD_MAX) return refuse(s, "a name that is too long", "");
    for (size_t i = 0; i < n; i++) t->word[i] = (char)tolower((unsigned char)start[i]);
    t->word[n] = '\0';
    t->operands = after;
    return TW_OK;
  }
}

/* ---- What statements may be ------------------------------------------------------------------------------- */

static uint64_t number_of(const char *p, const char *end) {
  uint64_t n = 0;
  skip_blanks(&p, end);
  for (; p < end && isdigit((unsigned char)*p) && n < UINT64_MAX / 16; p++) n = n * 10 + (uint64_t)(*p - '0');
  return n;
}

static void enter_section(scanner *s, const char *name, const char *end) {
  const char *flags = memchr(name, '"', (size_t)(end - name));
  const char *close = flags ? memchr(flags + 1, '"', (size_t)(end - flags - 1)) : NULL;
  s->in_code = starts_with(name, end, ".text") || starts_with(name, end, "\"") ||
               (close && memchr(flags, 'x', (size_t)(close - flags)));
  s->in_bss = starts_with(name, end, ".bss") || starts_with(name, end, ".sbss") || contains(name, end, "nobits");
}

/* Bytes that a data directive puts into the file, at most. */
static uint64_t data_bytes(const statement *t) {
  if (!strcmp(t->word, ".zero")) return number_of(t->operands, t->end);
  return (uint64_t)(t->end - t->operands) * 8;
}

static tw_status check_data(scanner *s, const statement *t) {
  if (s->in_code) return refuse(s, "data in the middle of code: ", t->word);
  if (!s->in_bss) s->file_bytes += data_bytes(t);
  if (s->file_bytes > FILE_BYTES_MAX)
    return tw_fail(s->error, TW_FAILED, "kernel.c: error: more than %d MiB of initialised data", FILE_BYTES_MAX >> 20);
  return TW_OK;
}

/* Only commands to a coprocessor may be spelled out: .insn r CUSTOM_3, ... */
static tw_status check_insn(const scanner *s, const statement *t) {
  const char *p = t->operands;
  if (p < t->end && (*p == 'r' || *p == 'R')) {
    p++;
    skip_blanks(&p, t->end);
    static const char *const opcode[] = {"CUSTOM_0", "CUSTOM_1", "CUSTOM_2", "CUSTOM_3", "0x0b",
                                         "0x2b",     "0x5b",     "0x7b",     "0xb",      NULL};
    for (const char *const *o = opcode; *o; o++)
      if (starts_with(p, t->end, *o) && !is_symbol(p[strlen(*o)])) return TW_OK;
  }
  return refuse(s, "only custom instructions (.insn r CUSTOM_3, ...) may be spelled out", "");
}

static tw_status check_directive(scanner *s, const statement *t) {
  static const char *const data[] = {".byte",  ".half", ".2byte", ".4byte", ".8byte",  ".short", ".word", ".long",
                                     ".dword", ".quad", ".ascii", ".asciz", ".string", ".zero",  NULL};
  static const char *const debugging[] = {".uleb128", ".sleb128", ".file", ".loc", ".ident", NULL};
  static const char *const harmless[] = {".globl", ".global", ".local",  ".weak",      ".hidden", ".type",
                                         ".size",  ".set",    ".option", ".attribute", ".comm",   NULL};
  if (in_list(t->word, data)) return check_data(s, t);
  if (in_list(t->word, debugging) || in_list(t->word, harmless) ||
      starts_with(t->word, t->word + strlen(t->word), ".cfi_"))
    return TW_OK;
  if (!strcmp(t->word, ".align") || !strcmp(t->word, ".p2align")) {
    if (number_of(t->operands, t->end) > ALIGNMENT_MAX)
      return tw_fail(s->error, TW_FAILED, "kernel.c: error: an alignment of more than %d bytes", 1 << ALIGNMENT_MAX);
    return TW_OK;
  }
  if (!strcmp(t->word, ".insn")) return check_insn(s, t);
  if (!strcmp(t->word, ".text") || !strcmp(t->word, ".data") || !strcmp(t->word, ".bss")) {
    enter_section(s, t->word, t->word + strlen(t->word));
    return TW_OK;
  }
  if (!strcmp(t->word, ".section")) {
    enter_section(s, t->operands, t->end);
    return TW_OK;
  }
  return refuse(s, "this directive is not allowed: ", t->word);
}

/* Reading counters is fine, writing registers is not. */
static tw_status check_instruction(const scanner *s, const statement *t) {
  if (strncmp(t->word, "csr", 3) != 0 || strcmp(t->word, "csrr") == 0) return TW_OK;
  if (t->comment && contains(t->comment, t->comment_end, s->tag)) return TW_OK;
  return refuse(s, "kernels may not write control registers: ", t->word);
}

tw_status gm_assembly_check(const char *text, size_t length, const char *tag, tw_error *error) {
  scanner s = {.at = text, .end = text + length, .tag = tag, .in_code = true, .error = error};
  while (s.at < s.end) {
    statement t = {0};
    tw_status status = cut(&s, &t);
    if (status != TW_OK) return status;
    if (t.comment) note_place(&s, t.comment, t.comment_end);
    status = split(&s, &t);
    if (status == TW_OK && t.word[0]) status = t.word[0] == '.' ? check_directive(&s, &t) : check_instruction(&s, &t);
    if (status != TW_OK) return status;
  }
  return TW_OK;
}
