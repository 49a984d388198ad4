/* emit_coded.c - tile functions on codes, and the expansion of a panel of codes, from a schedule.
 *
 *   for each panel:
 *     for each group of k:
 *       s_i_j = the group's sums (emit_coded_sums.c)
 *       total_i_j += s_i_j * scale_j */
#include "target/x86/emit_coded.h"

#include <stdio.h>

typedef x86_on_codes tile;

/* Enough sums to keep two multiply-adds per cycle busy, which take 4 cycles each, or 6 (vdpbf16ps on Zen 5); registers
 * allow less with 16. Splitting sums further costs additions at the end of each group: it pays where groups are long,
 * as with ternary weights, or where additions are few beside the multiply-adds. */
enum { SUMS_WANTED = 8, SUMS_WANTED_MORE = 16, SUMS_WANTED_16 = 4, OTHER_REGISTERS = 6 };

static const char *const form_in_c[X86_FORMS] = {"X86_S2",   "X86_T3", "X86_S4",  "X86_E2M1",
                                                 "X86_E2M3", "X86_S8", "X86_E4M3"};

/* Most groups are a multiple of 32 elements. These use larger bodies where chains need them, and in integer tiles,
 * whose A is stored in such runs. Compilers put copies of all sums between loop iterations, which then matter less. */
enum { BODY_MOST = X86_BODY_MOST, ROWS_WORTH_A_BODY = 3 };

/* One row of f32 on 4-bit codes is bound by vector instructions: 23 per line, of which 7 are shifts. Loads at offsets
 * of one, two and three bytes save four of them: load units are free, even for loads that cross two lines. After the
 * last line they read scales. */
static bool finds_bytes(const x86_variant *s, x86_form form, int rows) {
  return rows == 1 && s->arithmetic == X86_F32 && s->isa >= X86_AVX512 && x86_form_bits(form) == 4;
}

static tile tile_of(const x86_variant *s, x86_form form, int rows) {
  tile t = {.s = s, .form = form, .panels = 1, .vectors = s->vectors, .rows = rows, .chains = 1};
  t.step = x86_coded_step(s, form);
  t.fields = x86_vectors_of_line(s->arithmetic, form);
  t.lines = t.step * s->vectors / t.fields;
  const bool more = form == X86_S2 || rows > 1;
  const int wanted = x86_isa_registers(s->isa) <= 16 ? SUMS_WANTED_16 : more ? SUMS_WANTED_MORE : SUMS_WANTED;
  const int sums = s->chains ? x86_isa_registers(s->isa) - OTHER_REGISTERS : wanted;
  const int most = s->chains ? s->chains : BODY_MOST * t.step;
  while (2 * t.chains * rows * s->vectors <= sums && 2 * t.chains <= most) t.chains *= 2;
  t.body = (t.chains + t.step - 1) / t.step;
  if (!x86_is_real(s)) t.body = rows >= ROWS_WORTH_A_BODY || t.body > 1 ? BODY_MOST : 1;
  t.by_bytes = finds_bytes(s, form, rows);
  return t;
}

/* Two panels at once use each loaded table twice as often, and need half as many ends of groups. */
static tile looking_up(const x86_variant *s, int rows) {
  tile t = tile_of(s, X86_T3, rows);
  t.looks_up = true, t.panels = 2, t.vectors = 2 * s->vectors, t.body = rows == 1 ? BODY_MOST : 1;
  for (t.chains = 1; 2 * t.chains * rows * t.vectors <= SUMS_WANTED;) t.chains *= 2;
  return t;
}

/* Bytes of a scale, as a C expression: only 8-bit weights have both kinds. */
static const char *scale_bytes(x86_form form) {
  return form == X86_S8 ? "o->scale_bytes" : form == X86_S4 || form == X86_S2 || form == X86_T3 ? "4" : "1";
}

/* Columns of one panel; of all panels that are processed at once. */
static int columns_of_panel(const tile *x) { return x->s->vectors * x86_isa_lanes(x->s->isa); }
static int columns_of(const tile *x) { return x->vectors * x86_isa_lanes(x->s->isa); }

/* The offset of the scales of vector `j` from `scale`, as a C expression. */
typedef struct scale_at {
  char c[64];
} scale_at;

static scale_at scale_of(const tile *x, int j) {
  scale_at at;
  snprintf(at.c, sizeof at.c, "%d * %s%s", j % x->s->vectors * x86_isa_lanes(x->s->isa), scale_bytes(x->form),
           x86_panel_of(x, j, " + scales_apart"));
  return at;
}
static void emit_total(tw_text *t, const tile *x, int i, int j, bool scaled) {
  char total[32], add[160];
  if (x86_totals_in_memory(x->s, x->rows))
    snprintf(total, sizeof total, "totals[%d]", i * x->vectors + j);
  else
    snprintf(total, sizeof total, "total%d_%d", i, j);
  if (x->powers)
    snprintf(add, sizeof add, "scaled_add(%s, without(s%d_%d_0, m%d), one_real(a_scale + %d))", total, i, j, j, i);
  else if (scaled)
    snprintf(add, sizeof add, "scaled_add(%s, scaled(real(s%d_%d_0), one_real(a_scale + %d)), f%d)", total, i, j, i, j);
  else
    snprintf(add, sizeof add, "scaled_add(%s, real(s%d_%d_0), f%d)", total, i, j, j);
  tw_text_add(t, "      %s = %s;\n", total, add);
}

static void emit_scales(tw_text *t, const tile *x) {
  for (int j = 0; j < x->vectors; j++)
    tw_text_add(t, "    const reals f%d = scales_at(scale + %s, %s, o->factor);\n", j, scale_of(x, j).c,
                scale_bytes(x->form));
}

/* Multiplies the group's sums by their scale and adds them to the totals. */
static void emit_group_end(tw_text *t, const tile *x) {
  const int lanes = x86_isa_lanes(x->s->isa), columns = columns_of_panel(x);
  for (int j = 0; j < x->vectors; j++) tw_text_add(t, "    fetch(scale + o->scales_ahead + %s);\n", scale_of(x, j).c);
  if (x->powers) {
    tw_text_add(t, "    scale += left > o->group_units ? %d : 0;\n", columns);
    for (int j = 0; j < x->vectors; j++)
      tw_text_add(t, "    sums n%d = magic_at(scale + %d); keep(n%d);\n", j, j * lanes, j);
  } else {
    emit_scales(t, x);
    tw_text_add(t, "    scale += %d * %s;\n", columns, scale_bytes(x->form));
  }
  if (x86_is_real(x->s)) {
    for (int i = 0; i < x->rows; i++)
      for (int j = 0; j < x->vectors; j++) emit_total(t, x, i, j, false);
    return;
  }
  if (!x->powers) tw_text_add(t, "    if (a_scale) {\n");
  for (int i = 0; i < x->rows; i++)
    for (int j = 0; j < x->vectors; j++) emit_total(t, x, i, j, true);
  tw_text_add(t, "      a_scale += %d;\n", x->rows);
  if (x->powers) return;
  tw_text_add(t, "    } else {\n");
  for (int i = 0; i < x->rows; i++)
    for (int j = 0; j < x->vectors; j++) emit_total(t, x, i, j, false);
  tw_text_add(t, "    }\n");
}

static void emit_strip_end(tw_text *t, const tile *x) {
  const int lanes = x86_isa_lanes(x->s->isa);
  for (int j = 0; j < x->vectors; j++) tw_text_add(t, "  const part part%d = first(columns - %d);\n", j, j * lanes);
  if (!x86_is_real(x->s)) {
    for (int i = 0; x->powers && i < x->rows; i++)
      for (int j = 0; j < x->vectors; j++)
        tw_text_add(t, "  total%d_%d = scaled(total%d_%d, one_real(&o->factor));\n", i, j, i, j);
    tw_text_add(t, "  if (row_scale) {\n");
    for (int i = 0; i < x->rows; i++)
      for (int j = 0; j < x->vectors; j++)
        tw_text_add(t, "    total%d_%d = scaled(total%d_%d, one_real(row_scale + %d));\n", i, j, i, j, i);
    tw_text_add(t, "    row_scale += %d;\n  }\n", x->rows);
  }
  tw_text_add(t, "  if (o->accumulate) {\n");
  for (int i = 0; i < x->rows; i++)
    for (int j = 0; j < x->vectors; j++)
      tw_text_add(t,
                  "    total%d_%d = add_reals(total%d_%d, reals_of(load_part(c + %d * o->c_stride + %d, part%d)));\n",
                  i, j, i, j, i, j * x86_vector_bytes(x->s), j);
  tw_text_add(t, "  }\n");
  for (int i = 0; i < x->rows; i++)
    for (int j = 0; j < x->vectors; j++)
      tw_text_add(t, "  store_part(c + %d * o->c_stride + %d, part%d, bits_of(total%d_%d));\n", i,
                  j * x86_vector_bytes(x->s), j, i, j);
}

/* Prefetches the values that the final totals are added to: they are far away, and many are needed at once. */
static void emit_fetch_sums(tw_text *t, const tile *x) {
  tw_text_add(t, "  if (o->accumulate) {\n");
  for (int i = 0; i < x->rows; i++)
    for (int at = 0; at < x->vectors * x86_vector_bytes(x->s); at += X86_LINE)
      tw_text_add(t, "    fetch_sums(c + %d * o->c_stride + %d);\n", i, at);
  tw_text_add(t, "  }\n");
}

static void emit_strip(tw_text *t, const tile *x) {
  tw_text_add(t, "  const char *line = codes_start, *scale = scales_start;\n");
  x86_emit_lines(t, x);
  tw_text_add(t, "  operand x");
  if (x->looks_up) tw_text_add(t, ", y;\n  codes ");
  for (int j = 0; j < x->vectors; j++) tw_text_add(t, "%sb%d", j || !x->looks_up ? ", " : "", j);
  tw_text_add(t, ";\n");
  emit_fetch_sums(t, x);
  const bool in_memory = !x->looks_up && x86_totals_in_memory(x->s, x->rows);
  if (in_memory) {
    tw_text_add(t, "  reals totals[%d];\n  for (int i = 0; i < %d; i++) totals[i] = no_reals();\n",
                x->rows * x->vectors, x->rows * x->vectors);
    tw_text_add(t, "  stays_in_memory(totals);\n");
  }
  for (int i = 0; !in_memory && i < x->rows; i++) {
    tw_text_add(t, "  reals");
    for (int j = 0; j < x->vectors; j++) tw_text_add(t, "%s total%d_%d = no_reals()", j ? "," : "", i, j);
    tw_text_add(t, ";\n");
  }
  for (int j = 0; x->powers && j < x->vectors; j++)
    tw_text_add(t, "  sums m%d = magic_at(scale + %d);\n", j, j * x86_isa_lanes(x->s->isa));
  if (x->looks_up) { /* a single group */
    tw_text_add(t, "  {\n    int64_t n = o->units;\n");
  } else {
    tw_text_add(t, "  for (int64_t left = o->units, n; left > 0; left -= o->group_units) {\n");
    tw_text_add(t, "    n = left < o->group_units ? left : o->group_units;\n");
  }
  x86_emit_sums(t, x);
  emit_group_end(t, x);
  for (int j = 0; x->powers && j < x->vectors; j++) tw_text_add(t, "    m%d = n%d;\n", j, j);
  tw_text_add(t, in_memory ? "    stays_in_memory(totals);\n  }\n" : "  }\n");
  for (int i = 0; in_memory && i < x->rows; i++)
    for (int j = 0; j < x->vectors; j++) tw_text_add(t, "  reals total%d_%d = totals[%d];\n", i, j, i * x->vectors + j);
  emit_strip_end(t, x);
  tw_text_add(t, "  c += %d * o->c_stride;\n", x->rows);
}

/* For each panel, for each strip of A. */
static void emit_tile(tw_text *t, const tile *x) {
  tw_text_add(t, "static void %s_", x86_form_names[x->form]);
  tw_text_add(t, "%s%d", x->powers ? "powers_" : "", x->rows);
  tw_text_add(t, "(const x86_coded *o) {\n");
  tw_text_add(t, "  const char *codes_start = o->codes, *scales_start = o->scales, *next = o->next;\n");
  tw_text_add(t, "  char *c_start = o->c;\n  const int64_t next_step = o->next_step;\n");
  tw_text_add(t, "  const tables t = tables_%s();\n  (void)t;\n", x86_form_names[x->form]);
  if (x->looks_up) tw_text_add(t, "  const operand one = ones();\n");
  tw_text_add(t, "  for (int64_t columns = o->columns; columns > 0; columns -= %d) {\n", columns_of(x));
  if (x->panels > 1) { /* an odd last panel is computed twice */
    tw_text_add(t, "  const int64_t codes_apart = columns > %d ? o->codes_stride : 0;\n", columns_of_panel(x));
    tw_text_add(t, "  const int64_t scales_apart = columns > %d ? o->scales_stride : 0;\n", columns_of_panel(x));
  }
  tw_text_add(t, "  const char *a = o->a;\n  char *c = c_start;\n");
  if (!x86_is_real(x->s)) {
    tw_text_add(t, "  const float *a_scale = o->a_scales, *row_scale = o->row_scales;\n");
    tw_text_add(t, "  const char *a_start = o->a;\n");
    tw_text_add(t, "  const bool in_runs = o->a_run == %d;\n", X86_UNIT * x->step * BODY_MOST);
  }
  if (x->s->arithmetic == X86_U8S8) tw_text_add(t, "  const int32_t *start = o->start;\n");
  tw_text_add(t, "  for (int64_t strips = o->strips; strips > 0; strips--) {\n");
  if (!x86_is_real(x->s)) tw_text_add(t, "  a = a_start; a_start += o->a_strip;\n");
  emit_strip(t, x);
  tw_text_add(t, "  }\n  codes_start += %d * o->codes_stride; scales_start += %d * o->scales_stride;", x->panels,
              x->panels);
  tw_text_add(t, " c_start += %d;\n  }\n}\n\n", x->vectors * x86_vector_bytes(x->s));
}

static void emit_expand(tw_text *t, const x86_variant *s, x86_form form) {
  tile x = tile_of(s, form, 1);
  x.by_bytes = false;
  tw_text_add(t, "static void expand_%s(const x86_coded *o, void *panel) {\n", x86_form_names[form]);
  tw_text_add(t, "  const char *line = o->codes, *scale = o->scales, *next = o->next;\n  char *to = panel;\n");
  tw_text_add(t, "  const int64_t next_step = o->next_step;\n  const tables t = tables_%s();\n", x86_form_names[form]);
  x86_emit_lines(t, &x);
  tw_text_add(t, "  operand b0");
  for (int j = 1; j < s->vectors; j++) tw_text_add(t, ", b%d", j);
  tw_text_add(t,
              ";\n  (void)t; (void)scale;\n  for (int64_t left = o->units, n; left > 0; left -= o->group_units) {\n");
  tw_text_add(t, "    n = left < o->group_units ? left : o->group_units;\n");
  if (x86_is_real(s)) {
    emit_scales(t, &x);
    tw_text_add(t, "    scale += %d * %s;\n", s->vectors * x86_isa_lanes(s->isa), scale_bytes(form));
  }
  tw_text_add(t, "    for (; n > 0; n -= %d) {\n", x.step);
  for (int u = 0; u < x.step; u++) {
    x86_emit_values(t, &x, u);
    for (int j = 0; j < s->vectors; j++) {
      const int at = x86_vector_bytes(s) * (u * s->vectors + j);
      if (x86_is_real(s))
        tw_text_add(t, "      store_value(to + %d, b%d, f%d);\n", at, j, j);
      else
        tw_text_add(t, "      store_codes(to + %d, b%d);\n", at, j);
    }
  }
  tw_text_add(t, "      line += %d; to += %d;\n    }\n  }\n}\n\n", x.lines * x86_line_bytes(&x),
              x.step * s->vectors * x86_vector_bytes(s));
}

/* The tiles of a form on any number of rows, and their table. */
static void emit_tiles(tw_text *t, const x86_variant *s, x86_form form, bool powers) {
  char name[32];
  const int most = x86_coded_rows(s), rows = form == X86_T3 && most > X86_TABLES_ROWS ? X86_TABLES_ROWS : most;
  for (int r = 1; r <= rows; r++) {
    tile x = form == X86_T3 ? looking_up(s, r) : tile_of(s, form, r);
    x.powers = powers;
    if (!x86_left_out(s->coded_left_out, r)) emit_tile(t, &x);
  }
  snprintf(name, sizeof name, "%s%s", x86_form_names[form], powers ? "_powers" : "");
  x86_emit_table(t, "x86_coded_tile", name, rows, s->coded_left_out);
}

void x86_emit_coded(const x86_variant *s, tw_text *t) {
  for (x86_form f = X86_S2; f < X86_FORMS; f++) {
    if (!x86_has_form(s, f)) continue;
    if (x86_coded_rows(s)) emit_tiles(t, s, f, false); /* none of AMX */
    if (x86_has_powers(s, f)) emit_tiles(t, s, f, true);
    if (x86_has_expansion(s, f)) emit_expand(t, s, f);
  }
}

void x86_emit_coded_fields(const x86_variant *s, tw_text *t) {
  tw_text_add(t, "    .coded_rows = %d,\n", x86_coded_rows(s));
  for (x86_form f = X86_S2; f < X86_FORMS; f++) {
    if (!x86_has_form(s, f)) continue;
    tw_text_add(t, "   ");
    if (x86_coded_rows(s)) tw_text_add(t, " .coded[%s] = %s_tiles,", form_in_c[f], x86_form_names[f]);
    if (x86_has_powers(s, f)) tw_text_add(t, " .powers[%s] = %s_powers_tiles,", form_in_c[f], x86_form_names[f]);
    if (f == X86_T3) tw_text_add(t, " .tabulate = tabulate,");
    if (x86_has_expansion(s, f)) tw_text_add(t, " .expand[%s] = expand_%s,", form_in_c[f], x86_form_names[f]);
    tw_text_add(t, "\n");
  }
}
