/* inspect.c - what a source that nobody trusts may ask of the compiler and the assembler: they run with the user's rights.
 *
 * Includes are allowed by name, and so are the assembler's directives (those that GCC and Clang write for C). What
 * would need the full grammar of either to follow is refused. */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "target/x86/tune/build.h"

static bool is_white(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

/* ---- includes ---- */

static const char *const headers[] = {"<stdint.h>", "<stddef.h>",    "<stdbool.h>",   "<string.h>", "<stdlib.h>",
                                      "<math.h>",   "<immintrin.h>", "<x86intrin.h>", "<float.h>",  "<limits.h>",
                                      "<omp.h>",    "<stdio.h>",     "<inttypes.h>"};
static const char ours[] = "\"target/x86/";

static bool may_include(const char *p, size_t length) {
  while (length && is_white(p[length - 1])) length--;
  for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
    if (strlen(headers[i]) == length && memcmp(p, headers[i], length) == 0) return true;
  return length > sizeof ours && memcmp(p, ours, sizeof ours - 1) == 0 && !memmem(p, length, "..", 2) &&
         memchr(p + 1, '"', length - 1) == p + length - 1;
}

/* A logical line: no spliced ones are left. A comment before or in a directive is refused with it. */
static tw_status inspect_line(const char *line, size_t length, tw_error *error) {
  static const char *const readers[] = {"include", "include_next", "import", "embed"};
  const char *p = line, *end = line + length;
  while (p < end && is_white(*p)) p++;
  const bool commented = end - p >= 2 && p[0] == '/' && p[1] == '*' && memchr(p, '#', (size_t)(end - p));
  if (p < end && *p == '#')
    p++;
  else if (end - p >= 2 && p[0] == '%' && p[1] == ':')
    p += 2;
  else if (!commented)
    return TW_OK;
  while (p < end && is_white(*p)) p++;
  const char *word = p;
  while (p < end && (isalnum((unsigned char)*p) || *p == '_')) p++;
  const size_t n = (size_t)(p - word);
  bool reads = commented && memmem(line, length, "include", 7);
  for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
    if (strlen(readers[i]) == n && memcmp(word, readers[i], n) == 0) reads = true;
  if (word == p && p < end && *p == '/') reads = true; /* a comment before the directive's name */
  while (p < end && is_white(*p)) p++;
  if (!reads || may_include(p, (size_t)(end - p))) return TW_OK;
  return tw_fail(error, TW_FAILED, "kernel.c: error: this may not be included: %.*s",
                 (int)(end - p < 80 ? end - p : 80), p);
}

tw_status x86_inspect_source(const char *source, size_t length, tw_error *error) {
  if (memchr(source, '\0', length)) return tw_fail(error, TW_FAILED, "kernel.c: error: a zero byte in the source");
  char *spliced = calloc(length + 1, 1);
  size_t n = 0;
  if (!spliced) return tw_fail(error, TW_MISSING, "out of memory");
  for (size_t i = 0; i < length; i++) {
    size_t next = i + 1; /* GCC splices behind white space, too */
    while (source[i] == '\\' && next < length && is_white(source[next])) next++;
    if (source[i] == '\\' && next < length && source[next] == '\n')
      i = next;
    else
      spliced[n++] = source[i];
  }
  tw_status status = TW_OK;
  for (size_t start = 0; status == TW_OK && start < n;) {
    const char *end = memchr(spliced + start, '\n', n - start);
    const size_t line = end ? (size_t)(end - spliced) - start : n - start;
    status = inspect_line(spliced + start, line, error);
    start += line + 1;
  }
  free(spliced);
  return status;
}

/* ---- assembly ---- */

static const char *const directives[] = {
    "text",    "data",  "bss",   "section", "p2align", "align",       "balign",   "globl",    "global", "local",
    "comm",    "type",  "size",  "ident",   "file",    "loc",         "long",     "quad",     "byte",   "value",
    "short",   "word",  "zero",  "string",  "ascii",   "set",         "hidden",   "weak",     "octa",   "uleb128",
    "sleb128", "2byte", "4byte", "8byte",   "addrsig", "addrsig_sym", "internal", "protected"};

static tw_status inspect_directive(const char *p, const char *end, tw_error *error) {
  const char *word = ++p;
  while (p < end && (isalnum((unsigned char)*p) || *p == '_')) p++;
  const size_t n = (size_t)(p - word);
  if (n > 4 && memcmp(word, "cfi_", 4) == 0) return TW_OK;
  for (size_t i = 0; i < sizeof directives / sizeof *directives; i++)
    if (strlen(directives[i]) == n && memcmp(word, directives[i], n) == 0) return TW_OK;
  return tw_fail(error, TW_FAILED, "kernel.c: error: inline assembly: the directive .%.*s is not allowed",
                 (int)(n < 40 ? n : 40), word);
}

/* Labels, then a mnemonic or a directive. */
static tw_status inspect_statement(const char *p, const char *end, tw_error *error) {
  for (;;) {
    while (p < end && is_white(*p)) p++;
    const char *q = p;
    while (q < end && (isalnum((unsigned char)*q) || strchr("_.$", *q))) q++;
    const char *after = q;
    while (after < end && is_white(*after)) after++;
    if (q > p && after < end && *after == ':') {
      p = after + 1;
      continue;
    }
    return p < end && *p == '.' ? inspect_directive(p, end, error) : TW_OK;
  }
}

tw_status x86_inspect_assembly(const char *text, size_t length, tw_error *error) {
  const char *p = text, *end = text + length, *statement = text;
  bool comment = false;
  tw_status status = TW_OK;
  for (; status == TW_OK && p < end; p++) {
    if (comment) {
      if (*p != '\n') continue;
      comment = false;
      statement = p + 1;
    } else if (*p == '"') {
      for (p++; p < end && *p != '"' && *p != '\n'; p++) p += *p == '\\';
      if (p >= end || *p != '"')
        return tw_fail(error, TW_FAILED, "kernel.c: error: inline assembly: a string without end");
    } else if (*p == '\\' || *p == '\'' || *p == '`' || (*p == '/' && p + 1 < end && p[1] == '*')) {
      return tw_fail(error, TW_FAILED, "kernel.c: error: inline assembly: '%c' is not allowed outside of a string", *p);
    } else if (*p == '\n' || *p == ';' || *p == '#') {
      status = inspect_statement(statement, p, error);
      comment = *p == '#';
      statement = p + 1;
    }
  }
  return status == TW_OK ? inspect_statement(statement < end ? statement : end, end, error) : status;
}
