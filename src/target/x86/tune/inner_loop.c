/* inner_loop.c - see inner_loop.h.
 *
 * A loop is the lines from a label to a jump to it. Compilers place the blocks of an inner loop together, so a loop
 * without another backward jump inside is innermost. */
#define _GNU_SOURCE
#include "target/x86/tune/inner_loop.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

typedef struct line {
  const char *text; /* without blanks in front */
  size_t length;
} line;

typedef struct loop {
  size_t first, last; /* lines: the label, the jump */
  size_t instructions, multiplications;
  size_t accesses;      /* instructions with an operand in memory */
  size_t loads, stores; /* of the stack */
} loop;

static bool begins(line l, const char *with) { return l.length >= strlen(with) && !memcmp(l.text, with, strlen(with)); }

static bool contains(line l, const char *part) { return memmem(l.text, l.length, part, strlen(part)) != NULL; }

static bool is_label(line l) { return l.length > 1 && l.text[l.length - 1] == ':'; }

static bool is_instruction(line l) { return l.length > 0 && *l.text != '.' && *l.text != '#' && !is_label(l); }

/* Products of vectors and tiles. */
static bool multiplies(line l) {
  static const char *const names[] = {"vfmadd", "vfnmadd", "vmulps", "mulps", "vdpbf16",
                                      "vpdp",   "vpmadd",  "pmadd",  "tdp"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (begins(l, names[i])) return true;
  return false;
}

/* A vector register that is read from the stack, or (`store`) written to it. */
static bool moves_stack(line l, bool store) {
  const char *vector = memchr(l.text, '%', l.length);
  if (*l.text != 'v' && !begins(l, "mova") && !begins(l, "movu")) return false;
  if (!vector || (!contains(l, "(%rsp") && !contains(l, "(%rbp"))) return false;
  return (l.text[l.length - 1] == ')') == store;
}

static size_t split(const char *text, line **out) {
  size_t n = 0;
  for (const char *c = text; *c; c++) n += *c == '\n';
  *out = tw_new(n + 2, sizeof **out);
  n = 0;
  for (const char *at = text; *out && *at; at += strcspn(at, "\n"), at += *at == '\n') {
    const size_t blanks = strspn(at, " \t");
    size_t length = strcspn(at + blanks, "\n");
    while (length && (at[blanks + length - 1] == ' ' || at[blanks + length - 1] == '\t')) length--;
    if (length) (*out)[n++] = (line){at + blanks, length};
  }
  return n;
}

/* The line of the label to which line `i` jumps, if it is an earlier one; else i. */
static size_t target_of(const line *all, size_t i) {
  const line l = all[i];
  if (*l.text != 'j') return i;
  const size_t name = strcspn(l.text, " \t"), blanks = name < l.length ? strspn(l.text + name, " \t") : 0;
  const line label = {l.text + name + blanks, name + blanks < l.length ? l.length - name - blanks : 0};
  for (size_t k = i; label.length && *label.text == '.' && k-- > 0;)
    if (all[k].length == label.length + 1 && is_label(all[k]) && !memcmp(all[k].text, label.text, label.length))
      return k;
  return i;
}

static loop count(const line *all, size_t first, size_t last) {
  loop l = {.first = first, .last = last};
  for (size_t i = first; i <= last; i++) {
    if (!is_instruction(all[i])) continue;
    l.instructions++;
    l.multiplications += multiplies(all[i]);
    l.accesses += memchr(all[i].text, '(', all[i].length) != NULL;
    l.loads += moves_stack(all[i], false);
    l.stores += moves_stack(all[i], true);
  }
  return l;
}

static loop find(const line *all, size_t n) {
  loop best = {0};
  size_t inner = 0; /* the first line after the last backward jump's label */
  for (size_t i = 0; i < n; i++) {
    const size_t first = target_of(all, i);
    if (first == i) continue;
    const bool innermost = first >= inner;
    if (first + 1 > inner) inner = first + 1;
    if (!innermost) continue;
    const loop l = count(all, first, i);
    if (l.accesses && l.multiplications > best.multiplications) best = l; /* else it measures the CPU's peak */
  }
  return best;
}

char *x86_inner_loop_text(const char *assembly, size_t lines_max) {
  line *all = NULL;
  const size_t n = split(assembly, &all);
  const loop l = all ? find(all, n) : (loop){0};
  tw_text t = {0};
  if (l.multiplications) {
    tw_text_add(&t, "%zu instructions, %zu of them multiplications", l.instructions, l.multiplications);
    if (l.loads + l.stores)
      tw_text_add(&t, "; registers do not suffice: %zu loads from the stack and %zu stores to it", l.loads, l.stores);
    else
      tw_text_add_string(&t, "; no register is spilled");
    tw_text_add_string(&t, "\n\n");
    size_t shown = 0;
    for (size_t i = l.first; i <= l.last && shown < lines_max; i++) {
      if (!is_instruction(all[i]) && !is_label(all[i])) continue;
      tw_text_add(&t, "%s%.*s\n", is_label(all[i]) ? "" : "  ", (int)all[i].length, all[i].text);
      shown += is_instruction(all[i]);
    }
    if (shown < l.instructions) tw_text_add(&t, "  (%zu more)\n", l.instructions - shown);
  }
  free(all);
  if (l.multiplications) return tw_text_take(&t);
  tw_text_free(&t);
  return NULL;
}
