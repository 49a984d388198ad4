/* machine_text.c - makes a machine file to start from: the text of the machine's own file, then the text of its
 * base's file, with a '#' before each line that gives a value. Keys of repeated sections need their name, which
 * stays. */
#include "target/machine_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/strings.h"

/* The key of a line "key = value"; its length is 0 for any other line. */
static size_t key_length(const char *line, size_t length) {
  size_t n = 0;
  while (n < length && (isalnum((unsigned char)line[n]) || line[n] == '_')) n++;
  size_t after = n;
  while (after < length && line[after] == ' ') after++;
  return n && after < length && line[after] == '=' ? n : 0;
}

static bool is_key(const char *line, size_t n, const char *key) { return n == strlen(key) && !memcmp(line, key, n); }

/* The length of the name in a line "[dma]". */
static size_t name_length(const char *line, size_t length) {
  const char *end = memchr(line, ']', length);
  return end ? (size_t)(end - line) + 1 : length;
}

/* The lines that this file has for that key of that section. NULL: none. */
static const char *own_line(const char *text, const char *section, size_t section_length, const char *key, size_t n,
                            size_t *length) {
  const char *here = "";
  size_t here_length = 0;
  for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
    const size_t all = strcspn(line, "\n");
    if (*line == '[') here = line, here_length = name_length(line, all);
    if (here_length == section_length && !memcmp(here, section, here_length) && key_length(line, all) == n &&
        !memcmp(line, key, n))
      return *length = all, line;
  }
  return NULL;
}

static const tw_machine_value *value_of(const tw_machine_value *value, size_t n, const char *line, size_t length) {
  for (size_t i = 0; i < n; i++)
    if (is_key(line, length, value[i].key)) return &value[i];
  return NULL;
}

static void add_lines(const tw_machine *m, const char *root, bool is_root, const tw_machine_value *value,
                      size_t n_values, tw_text *out) {
  const char *section = "";
  size_t section_length = 0;
  bool repeated = false;
  for (const char *line = root; *line; line += strcspn(line, "\n"), line += *line == '\n') {
    size_t length = strcspn(line, "\n");
    const size_t n = key_length(line, length);
    const char *shown = line;
    if (*line == '[') {
      section = line, section_length = name_length(line, length), repeated = false;
      for (size_t i = 1; i < m->kind->schema->n; i++) {
        const tw_config_section *s = &m->kind->schema->section[i];
        repeated |=
            s->stride && section_length == strlen(s->name) + 2 && !memcmp(line + 1, s->name, section_length - 2);
      }
    }
    if (n && !is_root && !repeated) {
      const char *own = own_line(m->text, section, section_length, line, n, &length);
      if (own)
        shown = own;
      else
        length = strcspn(line, "\n");
    }
    if (n && is_key(line, n, "base")) continue;
    if (n && m->target.traits.error <= 0 && (is_key(line, n, "error") || is_key(line, n, "error_of"))) continue;
    const tw_machine_value *given = n && !section_length ? value_of(value, n_values, line, n) : NULL;
    if (given) {
      tw_text_add(out, "%s = %-*s # %s\n", given->key, n < 24 ? (int)(24 - n) : 1, given->value, given->why);
      continue;
    }
    const bool names_section = repeated && is_key(line, n, "name");
    if (n && !names_section) tw_text_add_string(out, "#");
    tw_text_add_bytes(out, shown, length);
    tw_text_add_string(out, "\n");
  }
}

char *tw_machine_print_template(const tw_machine *m, const char *head, const tw_machine_value *value, size_t n) {
  tw_text out = {0};
  tw_text_add(
      &out,
      "# A machine of your own for tilewright: `tilewright targets FILE` checks this file, `-t FILE` uses it.\n"
      "# It is %s, except for the lines without a '#' before their key. Remove the '#' of a line to change its value.\n"
      "%sbase = %s\n\n",
      m->name, head, m->name);
  char *base = tw_config_base(m->text, NULL);
  char path[160] = "";
  if (base) snprintf(path, sizeof path, "%s%s.txt", m->kind->folder, base + strlen(m->kind->prefix));
  const tw_embedded *root = base ? tw_embedded_find(path) : NULL;
  add_lines(m, root ? (const char *)root->data : m->text, !root, value, n, &out);
  free(base);
  return tw_text_take(&out);
}
