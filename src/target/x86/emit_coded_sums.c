/* emit_coded_sums.c - the innermost part of functions on codes: codes become values, or look-ups in tables of A, which
 * are summed over a group of k.
 *
 *   for each step (8 elements of k):
 *     for each vector:  b_j = value(line, field)
 *     for each row i:   a = broadcast(A + i);  for each j: s_i_j = multiply_add_coded(s_i_j, a, b_j)
 *
 * Few rows leave few sums, whose additions would wait for one another: then each sum is split into `chains`, which
 * alternate over the rows of units. Codes are read once, in order, and later lines are prefetched meanwhile. */
#include "target/x86/emit_coded.h"

typedef x86_on_codes tile;

const char *const x86_form_names[X86_FORMS] = {"s2", "t3", "s4", "e2m1", "e2m3", "s8", "e4m3"};

/* Number of registers for a line. */
static int registers_of_line(const tile *x) { return x->by_bytes ? X86_UNIT : x86_form_registers(x->form); }

/* Loads the line of vector `j` at `at`, while others are fetched. `keep` stops the compiler from making the load an
 * operand of each field's shift: with one row, loads are the limit. */
static void emit_load_line(tw_text *t, const tile *x, int j, int at) {
  const int step = x->by_bytes ? 1 : x86_vector_bytes(x->s), first = j / x->s->vectors * registers_of_line(x);
  for (int r = 0; r < x86_form_registers(x->form); r++)
    tw_text_add(t, "      fetch(next); next += next_step; one_by_one(next);\n");
  if (x86_in_planes(x->s->arithmetic, x->form)) return;
  for (int r = 0; r < registers_of_line(x); r++) {
    tw_text_add(t, "      w%d = load_line(line + %d%s);", first + r, at + r * step,
                x86_panel_of(x, j, " + codes_apart"));
    tw_text_add(t, x->rows == 1 ? " keep(w%d);\n" : "\n", first + r);
  }
}

void x86_emit_values(tw_text *t, const tile *x, int u) {
  const int bytes = x86_vector_bytes(x->s), vectors = x->s->vectors;
  for (int j = 0; j < vectors; j++) {
    const int at = u * vectors + j, line_at = at / x->fields * x86_line_bytes(x);
    const x86_place place = x86_place_of(x->form, at % x->fields, vectors);
    if (at % x->fields == 0) emit_load_line(t, x, j, line_at);
    if (x86_in_planes(x->s->arithmetic, x->form))
      tw_text_add(t, "      b%d = planes_at(line + %d, t);\n", j, line_at + place.field * bytes / x->fields);
    else if (x->by_bytes)
      tw_text_add(t, "      b%d = value_%s(w%d, %d, t);\n", j, x86_form_names[x->form], place.field / 2,
                  place.field % 2);
    else if (x86_form_codes(x->form) > 1)
      tw_text_add(t, "      b%d = value_%s(w0, %d, %d, t);\n", j, x86_form_names[x->form], place.field, place.code);
    else
      tw_text_add(t, "      b%d = value_%s(w0%s, %d, t);\n", j, x86_form_names[x->form],
                  x86_form_registers(x->form) == 3 ? ", w1, w2" : "", place.field);
  }
}

/* Broadcasts unit `u` of row i of A. A rounded A is stored in runs of its rows. */
static void emit_broadcast(tw_text *t, const tile *x, int run, int u, int i) {
  const int at = x86_is_real(x->s) ? u * x->rows + i : i * run + u;
  tw_text_add(t, "      x = broadcast(a + %d);", X86_UNIT * at);
}

/* Within a run the next eight elements are adjacent; after a run follow the runs of other rows. */
static void emit_next_of_a(tw_text *t, const tile *x, int units, int run) {
  if (x86_is_real(x->s) || units == run)
    tw_text_add(t, "a += %d;", X86_UNIT * units * x->rows);
  else
    tw_text_add(t, "a += %d; if (++in_run %% %d == 0) a += %d;", X86_UNIT * units, run / units,
                X86_UNIT * run * (x->rows - 1));
}

/* A loop of `steps` steps per iteration; a rounded A is stored in runs of `run` units. */
static void emit_loop(tw_text *t, const tile *x, int steps, int run) {
  const int units = x->step * steps;
  tw_text_add(t, "    do {\n");
  for (int u = 0; u < units; u++) {
    x86_emit_values(t, x, u);
    for (int i = 0; i < x->rows; i++) {
      emit_broadcast(t, x, run, u, i);
      for (int j = 0; j < x->vectors; j++)
        tw_text_add(t, " s%d_%d_%d = multiply_add_coded(s%d_%d_%d, x, b%d);", i, j, u % x->chains, i, j, u % x->chains,
                    j);
      tw_text_add(t, "\n");
    }
  }
  tw_text_add(t, "      line += %d; ", steps * x->lines * x86_line_bytes(x));
  emit_next_of_a(t, x, units, run);
  tw_text_add(t, " one_by_one(line); one_by_one(a);\n    } while ((n -= %d) > 0);\n", units);
}

static void emit_beginning(tw_text *t, const tile *x, int i, int j, int chain) {
  const bool lifted = x->s->arithmetic == X86_U8S8;
  tw_text_add(t, " s%d_%d_%d = ", i, j, chain);
  if (chain == 0 && x->powers && lifted)
    tw_text_add(t, "add(start_at(start + %d), m%d)", i, j);
  else if (chain == 0 && x->powers)
    tw_text_add(t, "m%d", j);
  else if (chain == 0 && lifted)
    tw_text_add(t, "start_at(start + %d)", i);
  else
    tw_text_add(t, "zero()");
}

/* `keep` stops the compiler from seeing that some sums begin with equal values: it would merge them, and copy
 * registers in the loop. */
static void emit_start(tw_text *t, const tile *x, int chain) {
  for (int i = 0; i < x->rows; i++) {
    tw_text_add(t, "    sums");
    for (int j = 0; j < x->vectors; j++) {
      tw_text_add(t, j ? "," : "");
      emit_beginning(t, x, i, j, chain);
    }
    tw_text_add(t, ";");
    for (int j = 0; j < x->vectors; j++) tw_text_add(t, " keep(s%d_%d_%d);", i, j, chain);
    tw_text_add(t, "\n");
  }
  if (x->s->arithmetic == X86_U8S8 && chain == 0) tw_text_add(t, "    start += %d;\n", x->rows);
}

/* Chains except the first begin at zero, and are added to the first at the end. */
static void emit_chains_end(tw_text *t, const tile *x) {
  for (int chains = x->chains; chains > 1; chains /= 2)
    for (int c = 0; c < chains / 2; c++)
      for (int i = 0; i < x->rows; i++)
        for (int j = 0; j < x->vectors; j++)
          tw_text_add(t, "    s%d_%d_%d = add(s%d_%d_%d, s%d_%d_%d);\n", i, j, c, i, j, c, i, j, c + chains / 2);
}

/* Rows of A that are tables: each, in two registers, is used for all vectors of its units. */
static void emit_look_ups(tw_text *t, const tile *x, int steps) {
  const int vectors = x->s->vectors, fields = x->fields / x86_form_codes(x->form); /* fields of a container */
  const int tables = steps * x->step / X86_TABLE_UNITS;
  tw_text_add(t, "    do {\n");
  for (int p = 0; p < tables; p++) {
    const int chain = p % x->chains;
    for (int j = 0; j < x->vectors; j++) {
      const int at = p * vectors + j % vectors, field = at % fields;
      if (field == 0) emit_load_line(t, x, j, at / fields * x86_line_bytes(x));
      tw_text_add(t, "      b%d = at_bottom(w%d, %d);\n", j, j / vectors, x86_form_bits(x->form) * field);
    }
    for (int i = 0; i < x->rows; i++) {
      const int a = (p * x->rows + i) * X86_TABLE;
      tw_text_add(t, "      x = load(a + %d); keep(x); y = load(a + %d); keep(y);\n", a, a + X86_TABLE / 2);
      for (int j = 0; j < x->vectors; j++)
        tw_text_add(t, "      s%d_%d_%d = add_looked_up(s%d_%d_%d, b%d, x, y, one);\n", i, j, chain, i, j, chain, j);
    }
  }
  tw_text_add(t, "      line += %d; a += %d; one_by_one(line); one_by_one(a);\n    } while ((n -= %d) > 0);\n",
              steps * x->lines * x86_line_bytes(x), tables * x->rows * X86_TABLE, steps * x->step);
}

/* A loop of `steps` steps per iteration, of either kind. */
static void emit_steps(tw_text *t, const tile *x, int steps) {
  if (x->looks_up)
    emit_look_ups(t, x, steps);
  else
    emit_loop(t, x, steps, X86_BODY_MOST * x->step);
}

/* Runs of 32 elements; or, after `else`, of 8. */
static void emit_chains(tw_text *t, const tile *x) {
  const bool real = x86_is_real(x->s);
  for (int c = 1; c < x->chains; c++) emit_start(t, x, c);
  if (x->body > 1) {
    tw_text_add(t, "    if (n %% %d == 0%s) {\n", x->body * x->step, real ? "" : " && in_runs");
    emit_steps(t, x, x->body);
    tw_text_add(t, "    } else ");
  }
  tw_text_add(t, real ? "{\n" : "if (in_runs) {\n      int in_run = 0;\n");
  emit_steps(t, x, 1);
  if (!real) {
    tw_text_add(t, "    } else {\n");
    emit_loop(t, x, 1, x->step);
  }
  tw_text_add(t, "    }\n");
  emit_chains_end(t, x);
}

/* With a single step per group (bfp16) chains are useless: the group ends before additions would wait. */
void x86_emit_sums(tw_text *t, const tile *x) {
  emit_start(t, x, 0);
  const bool may_be_a_step = !x->looks_up && x86_is_real(x->s) && x->form == X86_S8 && x->chains > 1;
  if (may_be_a_step) {
    tile single = *x;
    single.chains = single.body = 1;
    tw_text_add(t, "    if (n == %d) {\n", x->step);
    emit_loop(t, &single, 1, x->step);
    tw_text_add(t, "    } else {\n");
  }
  emit_chains(t, x);
  if (may_be_a_step) tw_text_add(t, "    }\n");
}

void x86_emit_lines(tw_text *t, const tile *x) {
  if (x86_in_planes(x->s->arithmetic, x->form)) return;
  tw_text_add(t, "  codes w0");
  for (int r = 1; r < x->panels * registers_of_line(x); r++) tw_text_add(t, ", w%d", r);
  tw_text_add(t, ";\n");
}
