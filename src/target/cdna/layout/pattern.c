/* pattern.c - see pattern.h: reads the text, gets the items of each lane from the layout, and derives the address of
 * each access. That is the address of its first item, or, if an instruction transposes, of the first item that it
 * loads for other lanes. */
#include "target/cdna/layout/pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

/* How lanes hold a register tile. */
typedef struct layout {
  bool has_fragment;
  cdna_fragment fragment;
  bool is_column;
  int rows, columns, run; /* HipKittens': run = its stride */
  int items;              /* per lane */
} layout;

static cdna_position position_of(const layout *l, int lane, int item) {
  if (l->has_fragment) return cdna_fragment_position(&l->fragment, (cdna_slot){lane, item});
  const int across = l->is_column ? l->columns : l->rows;
  const int along = l->run * (lane / across) + item % l->run + l->run * (CDNA_LANES / across) * (item / l->run);
  return l->is_column ? (cdna_position){0, along, lane % across} : (cdna_position){0, lane % across, along};
}

/* ---- reading ---- */

static tw_status parse_runs(const char *text, layout *l, tw_error *error) {
  int length = 0;
  if (sscanf(text + 3, "%3dx%3ds%3d%n", &l->rows, &l->columns, &l->run, &length) != 3 || text[3 + length])
    return tw_fail(error, TW_USAGE, "layout '%s': expected rows, columns and run, as in row16x32s8", text);
  l->is_column = text[0] == 'c';
  const int across = l->is_column ? l->columns : l->rows, along = l->is_column ? l->rows : l->columns;
  if (across < 1 || CDNA_LANES % across || along < 1 || l->run < 1 || along % (l->run * (CDNA_LANES / across)))
    return tw_fail(error, TW_USAGE,
                   "layout '%s': 64 lanes do not divide %d %s evenly, with runs of %d along the other side's %d", text,
                   across, l->is_column ? "columns" : "rows", l->run, along);
  l->items = l->rows * l->columns / CDNA_LANES;
  return TW_OK;
}

static tw_status parse_operand(const char *text, cdna_arch arch, cdna_type type, layout *l, tw_error *error) {
  const cdna_mfma *i = cdna_mfma_find(text + 2);
  if (!i || !i->passes[arch])
    return tw_fail(error, TW_USAGE, "layout '%s': unknown matrix instruction '%s'; `layout` lists them", text,
                   text + 2);
  if (!cdna_fragment_of(i, (cdna_operand)(text[0] - 'a'), type, &l->fragment))
    return tw_fail(error, TW_USAGE, "layout '%s': %s does not support %s", text, i->name, cdna_type_name(type));
  if (l->fragment.bits != cdna_type_bits(type))
    return tw_fail(error, TW_USAGE, "layout '%s': its elements have %d bits, but elements of the tile (%s) have %d",
                   text, l->fragment.bits, cdna_type_name(type), cdna_type_bits(type));
  if (l->fragment.blocks > 1)
    return tw_fail(error, TW_USAGE, "layout '%s': unsupported instruction with several blocks; a tile holds one block",
                   text);
  l->has_fragment = true;
  l->rows = l->fragment.rows;
  l->columns = l->fragment.columns;
  l->items = l->fragment.items;
  return TW_OK;
}

static tw_status parse_layout(const char *text, cdna_arch arch, cdna_type type, layout *l, tw_error *error) {
  *l = (layout){0};
  if (!strncmp(text, "row", 3) || !strncmp(text, "col", 3)) return parse_runs(text, l, error);
  if (text[0] >= 'a' && text[0] <= 'c' && text[1] == '.') return parse_operand(text, arch, type, l, error);
  return tw_fail(
      error, TW_USAGE,
      "layout '%s': expected row16x32s8, col16x32s8, a.v_mfma_f32_16x16x32_bf16 (or b., c.), linear or stride64", text);
}

static tw_status find_instruction(const char *text, cdna_arch arch, cdna_pattern *out, const char **layout_text,
                                  tw_error *error) {
  char name[48];
  const size_t length = strcspn(text, ":");
  snprintf(name, sizeof name, "%.*s", (int)length, text);
  out->instruction = text[length] ? cdna_lds_instruction_find(name) : NULL;
  if (!text[length])
    return tw_fail(error, TW_USAGE, "access '%s': expected INSTRUCTION:LAYOUT, as in ds_read_b128:row16x32s8", text);
  if (!out->instruction)
    return tw_fail(error, TW_USAGE,
                   "'%s' is not an LDS instruction with banks; expected for instance ds_read_b128 or ds_write_b64",
                   name);
  if (!out->instruction->has[arch]) return tw_fail(error, TW_USAGE, "this machine has no %s", name);
  out->rule = cdna_lds_rule_of(arch, out->instruction->kind, out->instruction->bytes);
  *layout_text = text + length + 1;
  return TW_OK;
}

/* ---- addresses ---- */

/* The first bit of an element. Tiles that are next to each other in a register tile of `columns` are stored one
 * after the other. */
static int64_t bit_of(const cdna_tile *t, int columns, int row, int column) {
  const int64_t tiles_of_row = columns > t->columns ? columns / t->columns : 1;
  const int64_t tile = row / t->rows * tiles_of_row + column / t->columns;
  return 8 * (tile * cdna_tile_bytes(t) + (int64_t)(row % t->rows) * t->pitch) +
         (int64_t)(column % t->columns) * cdna_type_bits(t->type);
}

/* The address of the access of `lane` that begins with item `first` of its loaded items. */
static tw_status address_of(const cdna_pattern *p, const cdna_tile *t, const layout *l, int row0, int column0, int lane,
                            int first, int items, uint32_t *out, tw_error *error) {
  int64_t bit = -1;
  for (int n = 0; n < items; n++) {
    int owner = lane, item = first + n; /* the lane that needs the n-th item that this lane loads */
    if (p->instruction->transposed_bits) {
      const int lanes_of_row = 16 / items;
      owner = (lane & ~15) + lane % lanes_of_row * items + n;
      item = first + lane % 16 / lanes_of_row;
    }
    const cdna_position at = position_of(l, owner, item);
    const int64_t here = bit_of(t, l->columns, row0 + at.row, column0 + at.column);
    if (n == 0) bit = here;
    if (here != bit + (int64_t)n * cdna_type_bits(t->type))
      return tw_fail(error, TW_USAGE, "access '%s': lane %d's %d elements are not adjacent in a row-major tile: %s",
                     p->text, lane, items,
                     p->instruction->transposed_bits ? "transposing reads require a layout that runs along columns"
                                                     : "use a narrower or a transposing instruction");
  }
  if (bit % 8) return tw_fail(error, TW_USAGE, "access '%s': lane %d starts inside a byte", p->text, lane);
  *out = (uint32_t)(bit / 8);
  return TW_OK;
}

static tw_status fill_pattern(const cdna_tile *t, const layout *l, int items, cdna_pattern *p, tw_error *error) {
  for (int row0 = 0; row0 < (t->rows > l->rows ? t->rows : l->rows); row0 += l->rows)
    for (int column0 = 0; column0 < (t->columns > l->columns ? t->columns : l->columns); column0 += l->columns)
      for (int first = 0; first < l->items; first += items, p->n++)
        for (int lane = 0; lane < CDNA_LANES; lane++) {
          const tw_status status =
              address_of(p, t, l, row0, column0, lane, first, items, &p->address[p->n][lane], error);
          if (status != TW_OK) return status;
          p->in_tile &= p->address[p->n][lane] < cdna_tile_bytes(t);
        }
  return TW_OK;
}

static bool divides(int a, int b) { return a > b ? a % b == 0 : b % a == 0; }

static tw_status place_access(const cdna_tile *t, const char *text, cdna_arch arch, cdna_pattern *p, tw_error *error) {
  layout l;
  const int bits = p->instruction->transposed_bits, items = p->instruction->bytes * 8 / cdna_type_bits(t->type);
  tw_status status = parse_layout(text, arch, t->type, &l, error);
  if (status != TW_OK) return status;
  if (bits && bits != cdna_type_bits(t->type))
    return tw_fail(error, TW_USAGE,
                   "access '%s': the instruction transposes elements of %d bits, but elements of the tile (%s) have %d",
                   p->text, bits, cdna_type_name(t->type), cdna_type_bits(t->type));
  if (items < 1 || l.items % items || p->instruction->bytes * 8 % cdna_type_bits(t->type))
    return tw_fail(
        error, TW_USAGE,
        "access '%s': a lane holds %d elements of %d bits, which is not a multiple of the instruction's %d bytes",
        p->text, l.items, cdna_type_bits(t->type), p->instruction->bytes);
  if (!divides(l.rows, t->rows) || !divides(l.columns, t->columns))
    return tw_fail(error, TW_USAGE,
                   "access '%s': the register tile (%dx%d) and the tile (%dx%d) must be multiples of one another",
                   p->text, l.rows, l.columns, t->rows, t->columns);
  const int down = t->rows > l.rows ? t->rows / l.rows : 1,
            across = t->columns > l.columns ? t->columns / l.columns : 1;
  p->address = tw_new((size_t)(down * across * (l.items / items)), sizeof *p->address);
  if (!p->address) return tw_no_memory(error, NULL);
  return fill_pattern(t, &l, items, p, error);
}

/* Without a tile: lane l at `stride` times l. */
static tw_status stride(uint32_t bytes, cdna_pattern *p, tw_error *error) {
  p->address = tw_new(1, sizeof *p->address);
  if (!p->address) return tw_no_memory(error, NULL);
  p->n = 1;
  p->in_tile = false;
  for (int lane = 0; lane < CDNA_LANES; lane++) p->address[0][lane] = (uint32_t)lane * bytes;
  return TW_OK;
}

tw_status cdna_pattern_parse(const char *text, cdna_arch arch, const cdna_tile *t, cdna_pattern *out, tw_error *error) {
  const char *layout_text = "";
  unsigned bytes;
  int length = 0;
  *out = (cdna_pattern){.in_tile = true};
  snprintf(out->text, sizeof out->text, "%s", text);
  tw_status status = find_instruction(text, arch, out, &layout_text, error);
  if (status != TW_OK) return status;
  if (!strcmp(layout_text, "linear"))
    status = stride((uint32_t)out->instruction->bytes, out, error);
  else if (sscanf(layout_text, "stride%5u%n", &bytes, &length) == 1 && !layout_text[length])
    status = stride(bytes, out, error);
  else if (out->instruction->is_direct)
    status = tw_fail(error, TW_USAGE, "access '%s': direct loads write lanes at consecutive addresses; use %s:linear",
                     text, out->instruction->name);
  else
    status = place_access(t, layout_text, arch, out, error);
  if (status != TW_OK) cdna_pattern_free(out);
  return status;
}

void cdna_pattern_free(cdna_pattern *p) {
  free(p->address);
  p->address = NULL;
  p->n = 0;
}

void cdna_pattern_addresses(const cdna_pattern *p, size_t at, const cdna_tile *t, const cdna_swizzle *s,
                            uint32_t out[CDNA_LANES]) {
  const uint32_t tile = cdna_tile_bytes(t);
  for (int lane = 0; lane < CDNA_LANES; lane++) {
    const uint32_t address = p->address[at][lane];
    out[lane] = address / tile * tile + cdna_swizzle_of(s, address % tile);
  }
}
