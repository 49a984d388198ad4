/* banks.c - the view `banks`: the cost of an access to a tile in LDS, phase by phase. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "target/cdna/views/views.h"

enum { TILE, TYPE, PAD, ACCESS, SWIZZLE, STEP, PHASE };
const tw_view_key cdna_banks_keys[] = {
    {"tile", "16x32", "rows x columns in LDS"},
    {"type", "bf16", "element type"},
    {"pad", "0", "bytes after each row"},
    {"access", NULL,
     "INSTRUCTION:LAYOUT, such as ds_read_b128:row16x32s8; layouts: row.., "
     "col.., a.MFMA, linear, stride64"},
    {"swizzle", "none",
     "terms such as 1024:9:5+2048:10:4, or a published one: st_16x32, "
     "st_32x32, ..."},
    {"step", "0", "number of the instruction to draw"},
    {"phase", "0", "number of the phase to draw"},
    {0},
};

void cdna_count_pattern(const cdna_pattern *p, const cdna_tile *t, const cdna_swizzle *s, int *worst, int *turns,
                        int *phases) {
  *worst = *turns = *phases = 0;
  for (size_t i = 0; i < p->n; i++) {
    uint32_t address[CDNA_LANES];
    cdna_lds_count c;
    cdna_pattern_addresses(p, i, t, s, address);
    cdna_lds_count_access(p->rule, p->instruction->kind, p->instruction->bytes, address, ~0ull, &c);
    if (c.worst > *worst) *worst = c.worst;
    *turns += c.turns * p->instruction->accesses;
    *phases += c.phases * p->instruction->accesses;
  }
}

/* "0-3, 12-15, 20-27" */
static void print_lanes(uint64_t lanes, char *out, size_t size) {
  size_t length = 0;
  *out = '\0';
  for (int lane = 0; lane < CDNA_LANES && length < size; lane++) {
    if (!(lanes >> lane & 1)) continue;
    int last = lane;
    while (last < CDNA_LANES - 1 && lanes >> (last + 1) & 1) last++;
    length +=
        (size_t)snprintf(out + length, size - length, last > lane ? "%s%d-%d" : "%s%d", length ? ", " : "", lane, last);
    lane = last;
  }
}

/* ---- text and data ---- */

static void count_step(const cdna_pattern *p, size_t at, const cdna_tile *t, const cdna_swizzle *s, cdna_lds_count *c) {
  uint32_t address[CDNA_LANES];
  cdna_pattern_addresses(p, at, t, s, address);
  cdna_lds_count_access(p->rule, p->instruction->kind, p->instruction->bytes, address, ~0ull, c);
}

static void print_text(const cdna_pattern *p, const cdna_tile *t, const cdna_swizzle *s, tw_text *out) {
  char swizzle[CDNA_SWIZZLE_TEXT], lanes[160];
  int worst, turns, phases;
  cdna_swizzle_print(s, swizzle);
  cdna_count_pattern(p, t, s, &worst, &turns, &phases);
  tw_text_add(out, "%s of a %dx%d tile of %s, %d bytes a row, swizzle %s\n", p->text, t->rows, t->columns,
              cdna_type_name(t->type), t->pitch, swizzle);
  tw_text_add(out, "%d banks of 4 bytes, %d phases: %s%s\n\n", p->rule->banks, p->rule->phases,
              p->rule->is_measured ? "" : "not measured, ", p->rule->source);
  for (size_t i = 0; i < p->n; i++) {
    cdna_lds_count c;
    count_step(p, i, t, s, &c);
    if (i >= 4) continue; /* the rest of the tile repeats these */
    if (p->n > 1) tw_text_add(out, "instruction %zu\n", i);
    for (int phase = 0; phase < p->rule->phases; phase++) {
      int busy = 0;
      for (int bank = 0; bank < p->rule->banks; bank++) busy += c.phase[phase].dwords[bank] > 0;
      print_lanes(c.phase[phase].lanes, lanes, sizeof lanes);
      tw_text_add(out, "  phase %d  %2d turn%s  %2d banks  lanes %s\n", phase, c.phase[phase].turns,
                  c.phase[phase].turns == 1 ? " " : "s", busy, lanes);
    }
  }
  if (p->n > 4) tw_text_add(out, "and %zu instructions more\n", p->n - 4);
  if (worst <= 1)
    tw_text_add(out, "\nno conflicts: %d turns\n", turns);
  else
    tw_text_add(out, "\n%d-way conflicts: %d turns instead of %d (in a turn, each bank serves one address)\n", worst,
                turns, phases);
}

static void print_data(const cdna_pattern *p, const cdna_tile *t, const cdna_swizzle *s, tw_text *out) {
  int worst, turns, phases;
  cdna_count_pattern(p, t, s, &worst, &turns, &phases);
  tw_text_add(out,
              "{\"access\": \"%s\", \"banks\": %d, \"measured\": %s, "
              "\"source\": \"%s\", \"ways\": %d, \"turns\": %d, "
              "\"least_turns\": %d, \"instructions\": [",
              p->text, p->rule->banks, p->rule->is_measured ? "true" : "false", p->rule->source, worst, turns, phases);
  for (size_t i = 0; i < p->n; i++) {
    cdna_lds_count c;
    uint32_t address[CDNA_LANES];
    count_step(p, i, t, s, &c);
    cdna_pattern_addresses(p, i, t, s, address);
    tw_text_add(out, "%s{\"addresses\": [", i ? "," : "");
    for (int lane = 0; lane < CDNA_LANES; lane++) tw_text_add(out, "%s%" PRIu32, lane ? "," : "", address[lane]);
    tw_text_add_string(out, "], \"phases\": [");
    for (int phase = 0; phase < p->rule->phases; phase++) {
      tw_text_add(out, "%s{\"turns\": %d, \"lanes\": [", phase ? "," : "", c.phase[phase].turns);
      const char *between = "";
      for (int lane = 0; lane < CDNA_LANES; lane++)
        if (c.phase[phase].lanes >> lane & 1) {
          tw_text_add(out, "%s%d", between, lane);
          between = ",";
        }
      tw_text_add_string(out, "], \"dwords\": [");
      for (int bank = 0; bank < p->rule->banks; bank++)
        tw_text_add(out, "%s%d", bank ? "," : "", c.phase[phase].dwords[bank]);
      tw_text_add_string(out, "]}");
    }
    tw_text_add_string(out, "]}");
  }
  tw_text_add_string(out, "]}");
}

/* ---- picture ---- */

enum { CELL_W = 22, CELL_H = 14, ROWS_MAX = 128 };

/* Rows of memory to draw: the rows of the tile, or of all banks without a tile. */
static int row_bytes(const cdna_pattern *p, const cdna_tile *t) {
  return p->in_tile ? t->pitch : p->rule->banks * CDNA_BANK_BYTES;
}

static int n_rows(const cdna_pattern *p, const cdna_tile *t) {
  uint32_t last = 0;
  for (size_t i = 0; i < p->n; i++)
    for (int lane = 0; lane < CDNA_LANES; lane++)
      if (p->address[i][lane] > last) last = p->address[i][lane];
  const int rows =
      p->in_tile ? t->rows : (int)((last + (uint32_t)p->instruction->bytes - 1) / (uint32_t)row_bytes(p, t)) + 1;
  return rows < ROWS_MAX ? rows : ROWS_MAX;
}

static int n_cells(const cdna_pattern *p, const cdna_tile *t) {
  return (row_bytes(p, t) + CDNA_BANK_BYTES - 1) / CDNA_BANK_BYTES;
}

int cdna_banks_width(const cdna_pattern *p, const cdna_tile *t) { return n_cells(p, t) * CELL_W; }
int cdna_banks_height(const cdna_pattern *p, const cdna_tile *t) { return n_rows(p, t) * CELL_H; }

static int bank_of(const cdna_pattern *p, const cdna_swizzle *s, int bytes, int row, int cell) {
  const uint32_t offset = (uint32_t)(row * bytes + cell * CDNA_BANK_BYTES);
  return (int)(cdna_swizzle_of(s, offset) / CDNA_BANK_BYTES % (uint32_t)p->rule->banks);
}

/* The cells of the tile as the kernel sees it, each with the bank where the
 * swizzle puts it. */
void cdna_draw_banks(tw_text *out, const cdna_pattern *p, size_t at, int phase, const cdna_tile *t,
                     const cdna_swizzle *s, int left, int top) {
  cdna_lds_count c;
  count_step(p, at, t, s, &c);
  const int bytes = row_bytes(p, t), cells = n_cells(p, t), rows = n_rows(p, t);
  char *asked = tw_new((size_t)(cells * rows) + 1, 1);
  for (int lane = 0; asked && lane < CDNA_LANES; lane++)
    for (int byte = 0; c.phase[phase].lanes >> lane & 1 && byte < p->instruction->bytes; byte++) {
      const int offset = (int)p->address[at][lane] + byte, row = offset / bytes;
      if (row < rows) asked[row * cells + offset % bytes / CDNA_BANK_BYTES] = 1;
    }
  static const char *const fills[] = {"#f4f4f4", "#88bb88", "#ee6677"}; /* not accessed; once; more than once */
  for (int kind = 0; asked && kind < 3; kind++) {
    bool is_open = false;
    for (int row = 0; row < rows; row++)
      for (int i = 0; i < cells; i++) {
        const int turns = c.phase[phase].dwords[bank_of(p, s, bytes, row, i)];
        if ((!asked[row * cells + i] ? 0 : turns > 1 ? 2 : 1) != kind) continue;
        if (!is_open) cdna_svg_path(out, fills[kind], "1");
        is_open = true;
        cdna_svg_box(out, left + i * CELL_W, top + row * CELL_H, CELL_W - 1, CELL_H - 1);
      }
    if (is_open) cdna_svg_path_close(out);
  }
  for (int row = 0; row < rows; row++)
    for (int i = 0; i < cells; i++)
      tw_text_add(out, "<text x=\"%d\" y=\"%d\">%d</text>\n", left + i * CELL_W + CELL_W / 2, top + row * CELL_H + 10,
                  bank_of(p, s, bytes, row, i));
  free(asked);
}

static void draw(const cdna_pattern *p, size_t at, int phase, const cdna_tile *t, const cdna_swizzle *s, tw_text *out) {
  char title[280], subtitle[240], swizzle[CDNA_SWIZZLE_TEXT];
  int worst, turns, phases;
  cdna_swizzle_print(s, swizzle);
  cdna_count_pattern(p, t, s, &worst, &turns, &phases);
  snprintf(title, sizeof title, "%s, swizzle %s: %d turns, %d without conflicts", p->text, swizzle, turns, phases);
  snprintf(subtitle, sizeof subtitle,
           "banks of a %dx%d tile of %s; filled: asked for in phase %d of "
           "instruction %zu; red: by more than one dword",
           t->rows, t->columns, cdna_type_name(t->type), phase, at);
  const int width = cdna_banks_width(p, t);
  cdna_svg_open(out, 2 * CDNA_SVG_LEFT + (width > 520 ? width : 520), CDNA_SVG_TOP + cdna_banks_height(p, t) + 12,
                title, subtitle);
  cdna_draw_banks(out, p, at, phase, t, s, CDNA_SVG_LEFT, CDNA_SVG_TOP);
  cdna_svg_close(out);
}

tw_status cdna_show_banks(const tw_target *target, const char *const value[], tw_view_form form, char **out,
                          tw_error *error) {
  cdna_tile t;
  cdna_swizzle s = {0};
  cdna_pattern p = {0};
  tw_text text = {0};
  int64_t step = 0, phase = 0;
  tw_status status = cdna_value_tile(&value[TILE], &t, error);
  if (status == TW_OK) status = cdna_swizzle_parse(value[SWIZZLE], &s, error);
  if (status == TW_OK && cdna_tile_bytes(&t) % cdna_swizzle_span(&s))
    status = tw_fail(error, TW_USAGE, "swizzle=%s does not fit a tile of %u bytes; expected a multiple of %u",
                     value[SWIZZLE], cdna_tile_bytes(&t), cdna_swizzle_span(&s));
  if (status == TW_OK) status = cdna_pattern_parse(value[ACCESS], cdna_arch_of(target), &t, &p, error);
  if (status == TW_OK && cdna_swizzle_piece(&s) < (uint32_t)p.instruction->bytes)
    status = tw_fail(error, TW_USAGE, "swizzle=%s moves pieces of %u bytes and would split the %d bytes of %s",
                     value[SWIZZLE], cdna_swizzle_piece(&s), p.instruction->bytes, p.instruction->name);
  if (status == TW_OK) status = cdna_value_int("step", value[STEP], 0, (int64_t)p.n - 1, &step, error);
  if (status == TW_OK) status = cdna_value_int("phase", value[PHASE], 0, p.rule->phases - 1, &phase, error);
  if (status == TW_OK) {
    if (form == TW_VIEW_SVG)
      draw(&p, (size_t)step, (int)phase, &t, &s, &text);
    else
      (form == TW_VIEW_JSON ? print_data : print_text)(&p, &t, &s, &text);
    status = tw_text_finish(&text, out, error);
  }
  cdna_pattern_free(&p);
  return status;
}
