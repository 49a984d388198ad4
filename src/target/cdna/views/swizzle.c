/* swizzle.c - the view `swizzle`: the simplest XOR swizzle that makes a set of accesses free of conflicts, or a
 * proof that none exists. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/cdna/views/views.h"

enum { TILE, TYPE, PAD, ACCESS };
const tw_view_key cdna_swizzle_keys[] = {
    {"tile", "16x32", "rows x columns in LDS"},
    {"type", "bf16", "element type"},
    {"pad", "0", "bytes after each row"},
    {"access", NULL,
     "one or several, commas between: "
     "ds_read_b128:row16x32s8,ds_read_b64_tr_b16:col16x32s8"},
    {0},
};

enum { PATTERNS_MAX = 8 };

typedef struct question {
  cdna_tile tile;
  cdna_pattern pattern[PATTERNS_MAX];
  int n;
  cdna_wave_access *access;
  size_t n_access;
  cdna_solution solution;
} question;

static tw_status parse_patterns(const char *text, cdna_arch arch, question *q, tw_error *error) {
  char *words = strdup(text), *rest = NULL;
  tw_status status = words ? TW_OK : tw_no_memory(error, NULL);
  for (char *word = words ? strtok_r(words, ",", &rest) : NULL; word && status == TW_OK;
       word = strtok_r(NULL, ",", &rest)) {
    if (q->n == PATTERNS_MAX) {
      status = tw_fail(error, TW_USAGE, "access= supports at most %d accesses", PATTERNS_MAX);
      break;
    }
    status = cdna_pattern_parse(word, arch, &q->tile, &q->pattern[q->n], error);
    if (status != TW_OK) break;
    if (!q->pattern[q->n++].in_tile)
      status = tw_fail(error, TW_USAGE, "access '%s' exceeds the tile; give a tile that holds it", word);
  }
  free(words);
  if (status == TW_OK && !q->n) return tw_fail(error, TW_USAGE, "access= is empty");
  return status;
}

static tw_status solve(question *q, tw_error *error) {
  size_t n = 0;
  for (int i = 0; i < q->n; i++) n += q->pattern[i].n;
  q->access = tw_new(n, sizeof *q->access);
  if (!q->access) return tw_no_memory(error, NULL);
  for (int i = 0; i < q->n; i++)
    for (size_t at = 0; at < q->pattern[i].n; at++)
      q->access[q->n_access++] =
          (cdna_wave_access){q->pattern[i].rule, q->pattern[i].instruction->bytes, q->pattern[i].address[at]};
  return cdna_swizzle_solve(q->access, n, cdna_tile_bytes(&q->tile), &q->solution, error);
}

/* Conflicts of each pattern with a swizzle, 0 if it splits the access. False if the swizzle leaves the tile. */
static bool ways_of(const question *q, const cdna_swizzle *s, int ways[]) {
  if (cdna_tile_bytes(&q->tile) % cdna_swizzle_span(s)) return false;
  for (int i = 0; i < q->n; i++) {
    int turns, phases;
    cdna_count_pattern(&q->pattern[i], &q->tile, s, &ways[i], &turns, &phases);
    if (cdna_swizzle_piece(s) < (uint32_t)q->pattern[i].instruction->bytes) ways[i] = 0;
  }
  return true;
}

static void print_row(const question *q, const char *name, const cdna_swizzle *s, tw_text *out) {
  int ways[PATTERNS_MAX];
  char terms[CDNA_SWIZZLE_TEXT];
  if (!ways_of(q, s, ways)) return;
  cdna_swizzle_print(s, terms);
  tw_text_add(out, "  %-20s %-24s", name, terms);
  for (int i = 0; i < q->n; i++)
    if (ways[i])
      tw_text_add(out, " %7d-way", ways[i]);
    else
      tw_text_add(out, " %11s", "torn");
  tw_text_add_string(out, "\n");
}

static void print_text(const question *q, tw_text *out) {
  const cdna_published_swizzle *p;
  cdna_swizzle s = {0};
  char terms[CDNA_SWIZZLE_TEXT];
  tw_error ignored;
  tw_text_add(out, "a %dx%d tile of %s, %d bytes a row\n", q->tile.rows, q->tile.columns, cdna_type_name(q->tile.type),
              q->tile.pitch);
  for (int i = 0; i < q->n; i++)
    tw_text_add(out, "  %d. %s%s\n", i + 1, q->pattern[i].text,
                q->pattern[i].rule->is_measured ? "" : " (its phases are assumed, not measured)");
  cdna_swizzle_print(&q->solution.swizzle, terms);
  if (q->solution.kind == CDNA_SWIZZLE_FOUND)
    tw_text_add(out, "\nthe simplest without conflicts: %s (%" PRIu64 " tried; pieces of %d bytes stay whole)\n", terms,
                q->solution.tried, q->solution.piece);
  else
    tw_text_add(out, "\nnone found: %s\n", q->solution.why);
  tw_text_add_string(out, "\nconflicts of each access\n");
  print_row(q, "", &s, out);
  if (q->solution.kind == CDNA_SWIZZLE_FOUND && q->solution.swizzle.n) print_row(q, "found", &q->solution.swizzle, out);
  for (size_t i = 0; (p = cdna_published_swizzle_at(i)); i++)
    if (cdna_swizzle_parse(p->name, &s, &ignored) == TW_OK && s.n) print_row(q, p->name, &s, out);
}

static void print_data(const question *q, tw_text *out) {
  static const char *const kinds[] = {"found", "impossible", "not linear", "too complex", "undecided"};
  char terms[CDNA_SWIZZLE_TEXT];
  const bool found = q->solution.kind == CDNA_SWIZZLE_FOUND;
  cdna_swizzle_print(&q->solution.swizzle, terms);
  tw_text_add(out,
              "{\"answer\": \"%s\", \"swizzle\": %s%s%s, \"piece\": %d, "
              "\"tried\": %" PRIu64 ", \"why\": \"%s\", ",
              kinds[q->solution.kind], found ? "\"" : "", found ? terms : "null", found ? "\"" : "", q->solution.piece,
              q->solution.tried, q->solution.why);
  tw_text_add_string(out, "\"accesses\": [");
  for (int i = 0; i < q->n; i++) {
    int before = 0, after = 0, turns = 0, phases = 0;
    cdna_count_pattern(&q->pattern[i], &q->tile, &(cdna_swizzle){0}, &before, &turns, &phases);
    if (found) cdna_count_pattern(&q->pattern[i], &q->tile, &q->solution.swizzle, &after, &turns, &phases);
    tw_text_add(out, "%s{\"access\": \"%s\", \"ways_without\": %d, \"ways\": ", i ? ", " : "", q->pattern[i].text,
                before);
    tw_text_add(out, found ? "%d}" : "null}", after);
  }
  tw_text_add_string(out, "]}");
}

/* Before and after, side by side: the first phase of each access's first instruction, from top to bottom. */
static void draw(const question *q, tw_text *out) {
  const cdna_swizzle none = {0};
  const bool found = q->solution.kind == CDNA_SWIZZLE_FOUND;
  const int width = cdna_banks_width(&q->pattern[0], &q->tile), high = cdna_banks_height(&q->pattern[0], &q->tile);
  char title[160], terms[CDNA_SWIZZLE_TEXT];
  cdna_swizzle_print(&q->solution.swizzle, terms);
  snprintf(title, sizeof title,
           found ? "without swizzle, and with %s" : "no swizzle makes all of these accesses free of conflicts", terms);
  cdna_svg_open(out, 3 * CDNA_SVG_LEFT + 2 * (width > 270 ? width : 270), CDNA_SVG_TOP + q->n * (high + 28), title,
                "banks of the tile; filled: asked for in the first phase; red: "
                "by more than one dword");
  for (int i = 0; i < q->n; i++) {
    const int top = CDNA_SVG_TOP + i * (high + 28) + 16;
    tw_text_add(out,
                "<text x=\"%d\" y=\"%d\" text-anchor=\"start\" "
                "font-size=\"10\">%s</text>\n",
                CDNA_SVG_LEFT, top - 4, q->pattern[i].text);
    cdna_draw_banks(out, &q->pattern[i], 0, 0, &q->tile, &none, CDNA_SVG_LEFT, top);
    if (found)
      cdna_draw_banks(out, &q->pattern[i], 0, 0, &q->tile, &q->solution.swizzle, 2 * CDNA_SVG_LEFT + width, top);
  }
  cdna_svg_close(out);
}

tw_status cdna_show_swizzle(const tw_target *target, const char *const value[], tw_view_form form, char **out,
                            tw_error *error) {
  question q = {.n = 0};
  tw_text text = {0};
  tw_status status = cdna_value_tile(&value[TILE], &q.tile, error);
  if (status == TW_OK) status = parse_patterns(value[ACCESS], cdna_arch_of(target), &q, error);
  if (status == TW_OK) status = solve(&q, error);
  if (status == TW_OK) {
    if (form == TW_VIEW_SVG)
      draw(&q, &text);
    else
      (form == TW_VIEW_JSON ? print_data : print_text)(&q, &text);
    status = tw_text_finish(&text, out, error);
  }
  for (int i = 0; i < q.n; i++) cdna_pattern_free(&q.pattern[i]);
  free(q.access);
  return status;
}
