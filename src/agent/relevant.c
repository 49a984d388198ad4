/* relevant.c - see relevant.h. A name counts if it is a part of a longer word or in other letters (MFMA), too: the names
 * of a machine may have prefixes, and an entry too many does less harm than a missing one. */
#define _GNU_SOURCE
#include "agent/relevant.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/strings.h"

enum { NAME_MOST = 80 };

static size_t name_length(const char *s) {
  size_t n = 0;
  while (isalnum((unsigned char)s[n]) || s[n] == '_') n++;
  return n;
}

/* "NAME(" or "a.b.NAME(" in the first column. */
static bool begins_entry(const char *line) {
  size_t n;
  while ((n = name_length(line)) > 0 && line[n] == '.') line += n + 1;
  return n > 0 && line[n] == '(';
}

/* "NAME(...)" alone: what it does comes below. */
static bool is_bare_head(const char *line) {
  size_t n = strcspn(line, "\n");
  while (n > 0 && strchr(" \t\r", line[n - 1])) n--;
  return begins_entry(line) && line[n - 1] == ')';
}

static const char *next_line(const char *line) {
  line += strcspn(line, "\n");
  return line + (*line == '\n');
}

/* Copies the first name in [at, end) that is in front of "(". Returns the place after it; NULL without one. */
static const char *next_name(const char *at, const char *end, char out[NAME_MOST]) {
  while (at < end) {
    const size_t n = name_length(at);
    if (n > 0 && n < NAME_MOST && at[n] == '(') {
      memcpy(out, at, n);
      out[n] = '\0';
      return at + n;
    }
    at += n ? n : 1;
  }
  return NULL;
}

static bool is_in_any(const char *name, size_t n, const char *const text[]) {
  for (size_t i = 0; i < n; i++)
    if (text[i] && strcasestr(text[i], name)) return true;
  return false;
}

/* The heads of an entry end where its indented lines begin. */
static bool is_needed(const char *entry, const char *heads_end, size_t n, const char *const text[]) {
  char name[NAME_MOST];
  for (const char *at = entry; (at = next_name(at, heads_end, name));)
    if (is_in_any(name, n, text)) return true;
  return false;
}

static void add_names(tw_text *out, const char *entry, const char *heads_end) {
  char name[NAME_MOST], last[NAME_MOST] = "";
  for (const char *at = entry; (at = next_name(at, heads_end, name)); memcpy(last, name, sizeof last))
    if (strcmp(name, last) != 0) tw_text_add(out, "%s%s", out->length ? ", " : "", name);
}

char *tw_relevant_entries(const char *description, size_t n, const char *const text[]) {
  tw_text out = {0}, left_out = {0};
  for (const char *line = description; *line;) {
    const char *end = next_line(line);
    if (!begins_entry(line)) {
      tw_text_add_bytes(&out, line, (size_t)(end - line));
      line = end;
      continue;
    }
    for (const char *head = line; is_bare_head(head) && begins_entry(end); end = next_line(end)) head = end;
    const char *heads_end = end;
    while (*end == ' ' || *end == '\t') end = next_line(end);
    if (is_needed(line, heads_end, n, text))
      tw_text_add_bytes(&out, line, (size_t)(end - line));
    else
      add_names(&left_out, line, heads_end);
    line = end;
  }
  if (left_out.length && out.length && out.data[out.length - 1] != '\n') tw_text_add_string(&out, "\n");
  if (left_out.length) tw_text_add(&out, "Also in the language, not described here: %s.\n", left_out.data);
  tw_text_free(&left_out);
  return tw_text_take(&out);
}
