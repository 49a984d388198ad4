/* layout.c - the view `layout`: the places of a matrix instruction's operand elements. By lane (text), by element
 * (picture), or both (data); or one place with lane= and item=, or row= and column=. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/cdna/views/views.h"

enum { MFMA, OPERAND, TYPE, CBSZ, ABID, BLGP, LANE, ITEM, BLOCK, ROW, COLUMN };
const tw_view_key cdna_layout_keys[] = {
    {"mfma", "", "the instruction, such as v_mfma_f32_16x16x32_bf16 [default: list all]"},
    {"operand", "a", "a, b, c, index (sparse instructions), scale_a or scale_b"},
    {"type", "fp8", "element type of A and B in f8f6f4 instructions: fp8, bf8, fp6, bf6, fp4"},
    {"cbsz", "0", "broadcast of A"},
    {"abid", "0", "the broadcast block, or the set of sparse indices"},
    {"blgp", "0", "permutation of B's lanes"},
    {"lane", "", "print the element of this lane"},
    {"item", "0", "item of the lane"},
    {"block", "0", "block of the element"},
    {"row", "", "print the lane of this row"},
    {"column", "0", "column of the element"},
    {0},
};

/* An operand, with the fields that select the lane to read. */
typedef struct asked {
  const cdna_mfma *mfma;
  cdna_operand operand;
  cdna_type type;
  cdna_fragment fragment;
  int64_t cbsz, abid, blgp;
  cdna_arch arch;
} asked;

static int lane_read(const asked *a, int lane) {
  if (a->operand == CDNA_A && a->mfma->fields == CDNA_FIELDS_BROADCAST)
    return cdna_lane_of_a(a->mfma, lane, (int)a->cbsz, (int)a->abid);
  if (a->operand == CDNA_B && (a->mfma->fields == CDNA_FIELDS_BROADCAST || a->mfma->fields == CDNA_FIELDS_BLGP))
    return cdna_lane_of_b(lane, (int)a->blgp);
  return lane;
}

/* The bit of a lane's registers at which an item begins. */
static int bit_of(const asked *a, int item) {
  const int base = a->operand == CDNA_INDEX ? cdna_index_bit(a->mfma, (int)a->cbsz, (int)a->abid) : 0;
  return base + cdna_item_bit(&a->fragment, item);
}

static tw_status find(const tw_target *t, const char *const value[], asked *a, tw_error *error) {
  static const char *const operands[CDNA_OPERANDS] = {"a", "b", "c", "index", "scale_a", "scale_b"};
  *a = (asked){.mfma = cdna_mfma_find(value[MFMA]), .arch = cdna_arch_of(t), .operand = CDNA_OPERANDS};
  if (!a->mfma || !a->mfma->passes[a->arch])
    return tw_fail(error, TW_USAGE,
                   "%s has no matrix instruction '%s'; `view layout` without "
                   "mfma= lists them",
                   t->name, value[MFMA]);
  for (int i = 0; i < CDNA_OPERANDS; i++)
    if (!strcmp(value[OPERAND], operands[i])) a->operand = (cdna_operand)i;
  tw_status status = cdna_value_type("type", value[TYPE], &a->type, error);
  if (status == TW_OK) status = cdna_value_int("cbsz", value[CBSZ], 0, 4, &a->cbsz, error);
  if (status == TW_OK) status = cdna_value_int("abid", value[ABID], 0, 15, &a->abid, error);
  if (status == TW_OK) status = cdna_value_int("blgp", value[BLGP], 0, 7, &a->blgp, error);
  if (status != TW_OK) return status;
  if (a->operand == CDNA_OPERANDS || !cdna_fragment_of(a->mfma, a->operand, a->type, &a->fragment))
    return tw_fail(error, TW_USAGE, "%s has no operand %s of that type", a->mfma->name, value[OPERAND]);
  if (a->mfma->fields == CDNA_FIELDS_BROADCAST && !cdna_broadcast_is_defined(a->mfma, (int)a->cbsz, (int)a->abid))
    return tw_fail(error, TW_USAGE,
                   "cbsz=%s abid=%s: 2^cbsz is at most the instruction's %d "
                   "blocks, abid below 2^cbsz",
                   value[CBSZ], value[ABID], a->mfma->blocks);
  return TW_OK;
}

/* ---- the list ---- */

static void list(const tw_target *t, tw_view_form form, tw_text *s) {
  const cdna_arch arch = cdna_arch_of(t);
  const cdna_mfma *i;
  const char *between = "";
  if (form == TW_VIEW_JSON)
    tw_text_add_string(s, "{\"instructions\": [");
  else
    tw_text_add(s, "%-34s %3s %3s %3s %6s %6s   macs/cycle/CU\n", "instruction", "m", "n", "k", "blocks", "passes");
  for (size_t at = 0; (i = cdna_mfma_at(at)); at++) {
    const double rate = i->passes[arch] ? (double)cdna_mfma_macs(i) / i->passes[arch] : 0;
    if (!i->passes[arch]) continue;
    if (form == TW_VIEW_JSON)
      tw_text_add(s,
                  "%s{\"name\": \"%s\", \"m\": %d, \"n\": %d, \"k\": %d, "
                  "\"blocks\": %d, \"passes\": %d, \"macs\": %.0f}",
                  between, i->name, i->m, i->n, i->k, i->blocks, i->passes[arch], (double)cdna_mfma_macs(i));
    else
      tw_text_add(s, "%-34s %3d %3d %3d %6d %6d   %.0f\n", i->name, i->m, i->n, i->k, i->blocks, i->passes[arch], rate);
    between = ", ";
  }
  if (form == TW_VIEW_JSON) tw_text_add_string(s, "]}");
}

/* ---- text ---- */

static void describe(const asked *a, char *out, size_t size) {
  const cdna_fragment *f = &a->fragment;
  snprintf(out, size, "%s of %s: %d x %d%s, %d %s of %d bits a lane in %d register%s", cdna_operand_name(a->operand),
           a->mfma->name, f->rows, f->columns, f->blocks > 1 ? " in blocks" : "", f->items,
           f->items == 1 ? "item" : "items", f->bits, f->registers, f->registers == 1 ? "" : "s");
}

/* "[3][8..11]" or, with blocks, "2:[3][8]": items `first` to `last` of a lane, if only one index varies. */
static void print_run(const asked *a, int lane, int first, int last, tw_text *s) {
  const cdna_position p = cdna_fragment_position(&a->fragment, (cdna_slot){lane, first}),
                      q = cdna_fragment_position(&a->fragment, (cdna_slot){lane, last});
  char cell[48], rows[16], columns[16], block[8] = "";
  snprintf(rows, sizeof rows, p.row == q.row ? "%d" : "%d..%d", p.row, q.row);
  snprintf(columns, sizeof columns, p.column == q.column ? "%d" : "%d..%d", p.column, q.column);
  if (a->fragment.blocks > 1) snprintf(block, sizeof block, "%d:", p.block);
  snprintf(cell, sizeof cell, "%s[%s][%s]", block, rows, columns);
  tw_text_add(s, " %-15s", cell);
}

static void print_lanes(const asked *a, tw_text *s) {
  const cdna_fragment *f = &a->fragment;
  const int step = f->bits >= 32 || f->bits == 6 || f->bits == 2 || f->items == 1 ? 1 : 32 / f->bits;
  const int of_column = f->bits == 6 || f->bits == 2 ? f->items : step; /* items that go into a column of the table */
  char line[160];
  describe(a, line, sizeof line);
  tw_text_add(s, "%s\nitems are [row][column]\n\nlane%s", line,
              lane_read(a, 17) != 17 || lane_read(a, 40) != 40 ? " reads" : "");
  for (int item = 0; item < f->items; item += of_column) tw_text_add(s, " v%-14d", bit_of(a, item) / 32);
  for (int lane = 0; lane < CDNA_LANES; lane++) {
    tw_text_add(s, "\n%4d", lane);
    const int from = lane_read(a, lane);
    if (lane_read(a, 17) != 17 || lane_read(a, 40) != 40) tw_text_add(s, " %5d", from);
    for (int item = 0; item < f->items; item += of_column) print_run(a, from, item, item + of_column - 1, s);
  }
  tw_text_add_string(s, "\n");
}

/* ---- one place ---- */

static void tell(const asked *a, cdna_position p, cdna_slot at, tw_view_form form, tw_text *s) {
  const int bit = bit_of(a, at.item), reads = lane_read(a, at.lane);
  if (form == TW_VIEW_JSON) {
    tw_text_add(s,
                "{\"block\": %d, \"row\": %d, \"column\": %d, \"lane\": %d, "
                "\"reads\": %d, \"item\": %d, \"register\": %d, "
                "\"bit\": %d, \"bits\": %d}",
                p.block, p.row, p.column, at.lane, reads, at.item, bit / 32, bit % 32, a->fragment.bits);
    return;
  }
  tw_text_add(s, "%s[%d][%d]", cdna_operand_name(a->operand), p.row, p.column);
  if (a->fragment.blocks > 1) tw_text_add(s, " of block %d", p.block);
  tw_text_add(s, ": lane %d, item %d: register v%d, bits %d to %d", at.lane, at.item, bit / 32, bit % 32,
              bit % 32 + a->fragment.bits - 1);
  if (reads != at.lane) tw_text_add(s, "; lane %d is read in its place", reads);
  tw_text_add_string(s, "\n");
}

static tw_status ask(const asked *a, const char *const value[], tw_view_form form, tw_text *s, tw_error *error) {
  const cdna_fragment *f = &a->fragment;
  int64_t x, y, block;
  tw_status status;
  if (*value[LANE]) {
    status = cdna_value_int("lane", value[LANE], 0, CDNA_LANES - 1, &x, error);
    if (status == TW_OK) status = cdna_value_int("item", value[ITEM], 0, f->items - 1, &y, error);
    if (status != TW_OK) return status;
    const cdna_slot at = {(int)x, (int)y};
    tell(a, cdna_fragment_position(f, at), at, form, s);
    return TW_OK;
  }
  status = cdna_value_int("row", value[ROW], 0, f->rows - 1, &x, error);
  if (status == TW_OK) status = cdna_value_int("column", value[COLUMN], 0, f->columns - 1, &y, error);
  if (status == TW_OK) status = cdna_value_int("block", value[BLOCK], 0, f->blocks - 1, &block, error);
  if (status != TW_OK) return status;
  const cdna_position p = {(int)block, (int)x, (int)y};
  tell(a, p, cdna_fragment_slot(f, p), form, s);
  return TW_OK;
}

/* ---- picture and data ---- */

/* Blocks are drawn side by side, four in a row. Cells have the colour of their 16 lanes; lane 0's cells are grey. */
static void draw(const asked *a, tw_text *s) {
  const cdna_fragment *f = &a->fragment;
  const bool is_wide = f->columns > 32, is_labelled = !is_wide && f->rows <= 32;
  const int cell = is_labelled ? 24 : 10, high = is_labelled ? 16 : 10, across = f->blocks < 4 ? f->blocks : 4;
  const int width = f->columns * cell + 12, height = f->rows * high + 12;
  char title[160];
  describe(a, title, sizeof title);
  cdna_svg_open(s, 2 * CDNA_SVG_LEFT + (across * width > 420 ? across * width : 420),
                CDNA_SVG_TOP + (f->blocks + across - 1) / across * height + 8, title,
                is_labelled ? "lane.item; a colour for each 16 lanes; grey: what lane 0 holds"
                            : "a colour for each 16 lanes; grey: what lane 0 holds");
  for (int kind = 0; kind < 5; kind++) { /* lanes of 16, and apart from them lane 0 */
    cdna_svg_path(s, kind < 4 ? cdna_colour[kind] : "#000", kind < 4 ? ".35" : ".45");
    for (int i = 0; i < f->blocks * f->rows * f->columns; i++) {
      const cdna_position p = {i / f->columns / f->rows, i / f->columns % f->rows, i % f->columns};
      const int lane = lane_read(a, cdna_fragment_slot(f, p).lane);
      if ((lane ? lane / 16 : 4) == kind)
        cdna_svg_box(s, CDNA_SVG_LEFT + p.block % across * width + p.column * cell,
                     CDNA_SVG_TOP + p.block / across * height + p.row * high, cell - 1, high - 1);
    }
    cdna_svg_path_close(s);
  }
  for (int i = 0; is_labelled && i < f->blocks * f->rows * f->columns; i++) {
    const cdna_position p = {i / f->columns / f->rows, i / f->columns % f->rows, i % f->columns};
    const cdna_slot at = cdna_fragment_slot(f, p);
    tw_text_add(s, "<text x=\"%d\" y=\"%d\">%d.%d</text>\n",
                CDNA_SVG_LEFT + p.block % across * width + p.column * cell + cell / 2,
                CDNA_SVG_TOP + p.block / across * height + p.row * high + 11, lane_read(a, at.lane), at.item);
  }
  cdna_svg_close(s);
}

static void print_data(const asked *a, tw_text *s) {
  const cdna_fragment *f = &a->fragment;
  tw_text_add(s,
              "{\"instruction\": \"%s\", \"operand\": \"%s\", \"blocks\": %d, "
              "\"rows\": %d, \"columns\": %d, \"bits\": %d, "
              "\"items\": %d, \"registers\": %d,\n \"fields\": [\"block\", "
              "\"row\", \"column\", \"lane\", \"item\", "
              "\"register\", \"bit\"],\n \"elements\": [",
              a->mfma->name, cdna_operand_name(a->operand), f->blocks, f->rows, f->columns, f->bits, f->items,
              f->registers);
  for (int block = 0; block < f->blocks; block++)
    for (int row = 0; row < f->rows; row++)
      for (int column = 0; column < f->columns; column++) {
        const cdna_slot at = cdna_fragment_slot(f, (cdna_position){block, row, column});
        const int bit = bit_of(a, at.item);
        tw_text_add(s, "%s[%d,%d,%d,%d,%d,%d,%d]", block + row + column ? "," : "", block, row, column,
                    lane_read(a, at.lane), at.item, bit / 32, bit % 32);
      }
  tw_text_add_string(s, "]}");
}

tw_status cdna_show_layout(const tw_target *t, const char *const value[], tw_view_form form, char **out,
                           tw_error *error) {
  asked a;
  tw_text s = {0};
  tw_status status = TW_OK;
  if (!*value[MFMA]) {
    if (form == TW_VIEW_SVG) return tw_fail(error, TW_USAGE, "name the matrix instruction to draw: mfma=");
    list(t, form, &s);
    return tw_text_finish(&s, out, error);
  }
  status = find(t, value, &a, error);
  if (status != TW_OK) return status;
  if (form == TW_VIEW_SVG)
    draw(&a, &s);
  else if (*value[LANE] || *value[ROW])
    status = ask(&a, value, form, &s, error);
  else
    (form == TW_VIEW_JSON ? print_data : print_lanes)(&a, &s);
  if (status == TW_OK) return tw_text_finish(&s, out, error);
  tw_text_free(&s);
  return status;
}
