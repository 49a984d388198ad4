/* emit.c - tile functions from a schedule.
 *
 * A tile function holds rows x vectors sums in registers and walks k one unit at a time:
 *
 *   for each vector j:  b_j = load(B + j)
 *   for each row i:     a = broadcast(A + i);  for each j: s_i_j = multiply_add(s_i_j, a, b_j)
 *
 * The functions load, broadcast, multiply_add, ... are in runtime/words_*.h, one file for each instruction set. Each
 * kernel has a function for every number of rows up to its own, so that tails in m cost only their rows; tails in n are
 * masked when sums are loaded and stored. Every sum adds its products in the order of k, whatever the tile: results do
 * not depend on the distribution of rows to tiles or threads. */
#include "target/x86/emit.h"

#include <string.h>

/* Addresses of rows in place use one pointer for three rows, because x86 addresses can add a stride or twice a
 * stride at no cost. */
enum { ROWS_OF_POINTER = 3, LINES_AT_ONCE = 2 /* of C, prefetched together */ };

/* The variant of a tile function: rows in place or packed; one panel, two consecutive ones, or the beginning of one. */
typedef struct tile {
  const x86_variant *s;
  int rows, vectors; /* of sums */
  int vector;        /* bytes of a register */
  bool direct;
  bool stored; /* B is read in place, too: `b_stride` is the distance of its rows */
  bool masked; /* ... only its first columns */
  bool turned; /* A is stored by columns, `a_stride` apart, and read in place */
} tile;

static bool rounds(const x86_variant *s) { return s->arithmetic == X86_BF16; }

static tile tile_of(const x86_variant *s, int rows, bool direct, int vectors) {
  return (tile){.s = s, .rows = rows, .vectors = vectors, .vector = X86_UNIT * x86_isa_lanes(s->isa), .direct = direct};
}

static void emit_a(tw_text *t, const tile *k, int i, int u) {
  if (!k->direct) {
    tw_text_add(t, "broadcast(a + %d)", X86_UNIT * ((k->turned ? 0 : u * k->rows) + i));
    return;
  }
  int pointer = i / ROWS_OF_POINTER * ROWS_OF_POINTER, offset = i - pointer;
  tw_text_add(t, "broadcast(a%d + %d%s)", pointer, X86_UNIT * u,
              offset == 0   ? ""
              : offset == 1 ? " + a_stride"
                            : " + 2 * a_stride");
}

/* Vector j of a unit of the panel; the second panel begins `b_stride` bytes further. */
static void emit_b(tw_text *t, const tile *k, const char *word, int j, int u) {
  const int columns = k->s->vectors;
  if (k->stored) {
    tw_text_add(t, "%s(b + %d", k->masked ? "load_part" : word, k->vector * j);
    if (k->masked) tw_text_add(t, ", part%d", j);
    tw_text_add(t, ")");
    return;
  }
  tw_text_add(t, "%s(b + %d%s)", word, k->vector * (u * columns + j % columns), j < columns ? "" : " + b_stride");
}

static void emit_step(tw_text *t, const tile *k, int u) {
  for (int j = 0; j < k->vectors; j++) {
    tw_text_add(t, "    b%d = ", j);
    emit_b(t, k, "load", j, u);
    tw_text_add(t, ";\n");
  }
  if (k->stored)
    tw_text_add(t, "    b += b_stride; one_by_one(b);\n");
  else if (k->vectors > k->s->vectors) /* several strips share the prefetch: a line for each unit is enough */
    tw_text_add(t, "    fetch_next(next); next += %d * next_step; one_by_one(next);\n",
                k->vector * k->vectors / X86_LINE);
  else
    for (int line = 0; line < k->vector * k->s->vectors; line += X86_LINE)
      tw_text_add(t, "    fetch_next(next); next += next_step; one_by_one(next);\n");
  const int begin = X86_UNIT * k->rows * u, end = X86_UNIT * k->rows * (u + 1);
  for (int line = (begin + X86_LINE - 1) / X86_LINE * X86_LINE;
       k->s->prefetch && !k->direct && !k->turned && line < end; line += X86_LINE)
    tw_text_add(t, "    fetch(a + %d);\n", line + k->s->prefetch);
  for (int i = 0; i < k->rows; i++) {
    tw_text_add(t, "    x = ");
    emit_a(t, k, i, u);
    tw_text_add(t, ";");
    for (int j = 0; j < k->vectors; j++) tw_text_add(t, " s%d_%d = multiply_add(s%d_%d, x, b%d);", i, j, i, j, j);
    tw_text_add(t, "\n");
  }
  if (k->turned) tw_text_add(t, "    a += a_stride; one_by_one(a);\n");
}

static void emit_advance(tw_text *t, const tile *k, int steps) {
  tw_text_add(t, "   ");
  if (!k->stored) tw_text_add(t, " b += %d;", steps * k->s->vectors * k->vector);
  if (!k->direct && !k->turned) tw_text_add(t, " a += %d;", steps * k->rows * X86_UNIT);
  for (int i = 0; k->direct && i < k->rows; i += ROWS_OF_POINTER) tw_text_add(t, " a%d += %d;", i, steps * X86_UNIT);
  tw_text_add(t, "\n");
}

/* Prefetches two lines of C in each round of the loop: `soon` walks over half a row or a whole one, alternately by
 * `soon_step` and by what is left of `soon_two`. Before the last units both are 0. */
static void emit_fetch_c(tw_text *t, const tile *k) {
  for (int line = 0; line < k->vector * k->vectors && line < LINES_AT_ONCE * X86_LINE; line += X86_LINE)
    tw_text_add(t, "    fetch_sums(soon + %d);\n", line);
  tw_text_add(t, "    soon += soon_step; soon_step = soon_two - soon_step; one_by_one(soon);\n");
}

static void emit_loop(tw_text *t, const tile *k, int steps) {
  tw_text_add(t, "  for (; units >= %d; units -= %d) {\n", steps, steps);
  for (int u = 0; u < steps; u++) emit_step(t, k, u);
  emit_advance(t, k, steps);
  if (steps == k->s->unroll && !k->stored) emit_fetch_c(t, k);
  tw_text_add(t, "  }\n");
}

/* Rows of B in place whose last vectors would end after the matrix: its last row, or all rows if they are short. */
static void emit_last_rows(tw_text *t, const tile *k) {
  tile masked = *k;
  masked.masked = true;
  tw_text_add(t, "  for (int64_t edge = masked; edge > 0; edge--) {\n");
  emit_step(t, &masked, 0);
  emit_advance(t, &masked, 1);
  tw_text_add(t, "  }\n");
}

/* Stores sums row by row through a pointer that is advanced, since addresses computed in advance would take
 * registers. With `part`, under masks. */
static void emit_stores(tw_text *t, const tile *k, bool part) {
  for (int i = 0; i < k->rows; i++) {
    for (int j = 0; j < k->vectors; j++)
      if (part)
        tw_text_add(t, "    store_part(c + %d, part%d, s%d_%d);\n", j * k->vector, j, i, j);
      else
        tw_text_add(t, "    store_sums(c + %d, s%d_%d);\n", j * k->vector, i, j);
    tw_text_add(t, "    c += c_stride; one_by_one(c);\n");
  }
}

static void emit_accumulation(tw_text *t, const tile *k, bool part) {
  tw_text_add(t, "    if (into %s X86_ADD) {\n      const char *row = c;\n", k->stored ? "&" : "==");
  if (k->stored) tw_text_add(t, "      const operand beta = broadcast(next + %d);\n", X86_UNIT);
  for (int i = 0; i < k->rows; i++) {
    for (int j = 0; j < k->vectors; j++) {
      tw_text_add(t, k->stored ? "      s%d_%d = multiply_add(s%d_%d, beta, " : "      s%d_%d = add(s%d_%d, ", i, j, i,
                  j);
      if (part)
        tw_text_add(t, "load_part(row + %d, part%d));\n", j * k->vector, j);
      else
        tw_text_add(t, "load_sums(row + %d));\n", j * k->vector);
    }
    tw_text_add(t, "      row += c_stride; one_by_one(row);\n");
  }
  tw_text_add(t, "    }\n");
}

static void emit_scale(tw_text *t, const tile *k) {
  tw_text_add(t, "  if (into & X86_SCALED) {\n    const operand alpha = broadcast(next);\n");
  for (int i = 0; i < k->rows; i++)
    for (int j = 0; j < k->vectors; j++)
      tw_text_add(t, "    s%d_%d = multiply_add(zero(), s%d_%d, alpha);\n", i, j, i, j);
  tw_text_add(t, "  }\n");
}

/* Four rows at a time. */
static void emit_stores_across(tw_text *t, const tile *k) {
  enum { ACROSS = 4 };
  const int lanes = k->vector / X86_UNIT;
  for (int i = 0; i < k->rows; i += ACROSS)
    for (int j = 0; j < k->vectors; j++) {
      const int rows = k->rows - i < ACROSS ? k->rows - i : ACROSS;
      tw_text_add(t,
                  "    store_across(c + %d + %d * c_stride, c_stride, columns - %d, %d, into & X86_ADD ? next + %d : 0",
                  i * X86_UNIT, j * lanes, j * lanes, rows, X86_UNIT);
      for (int q = 0; q < ACROSS; q++) tw_text_add(t, q < rows ? ", s%d_%d" : ", zero()", i + q, j);
      tw_text_add(t, ");\n");
    }
  tw_text_add(t, "    c += %d;\n", k->rows * X86_UNIT);
}

/* The vectors' columns that exist. */
static void emit_parts(tw_text *t, const tile *k) {
  for (int j = 0; j < k->vectors; j++)
    tw_text_add(t, "    const part part%d = first(columns - %d);\n", j, j * k->vector / X86_UNIT);
}

/* Two vectors of sums become one vector of bf16. */
static void emit_rounded_stores(tw_text *t, const tile *k) {
  tw_text_add(t, "  if (into & X86_ROUND) {\n");
  emit_parts(t, k);
  for (int i = 0; i < k->rows; i++) {
    for (int j = 0; j < k->vectors; j += 2)
      if (j + 1 < k->vectors)
        tw_text_add(t, "    store_rounded_pair(c + %d, part%d, part%d, s%d_%d, s%d_%d);\n", j * k->vector / 2, j, j + 1,
                    i, j, i, j + 1);
      else
        tw_text_add(t, "    store_rounded(c + %d, part%d, s%d_%d);\n", j * k->vector / 2, j, i, j);
    tw_text_add(t, "    c += c_stride; one_by_one(c);\n");
  }
  tw_text_add(t, "  } else\n");
}

/* The code after the loops: stores complete sums, or at the right edge a part of them. Then `c` points to the next
 * strip. */
static void emit_end(tw_text *t, const tile *k) {
  const int lanes = k->vector / X86_UNIT;
  if (k->stored) {
    emit_scale(t, k);
    tw_text_add(t, "  if (into & X86_ACROSS) {\n");
    emit_stores_across(t, k);
    tw_text_add(t, "  } else\n");
  }
  if (rounds(k->s)) emit_rounded_stores(t, k);
  tw_text_add(t, "  if (columns == %d) {\n", k->vectors * lanes);
  emit_accumulation(t, k, false);
  emit_stores(t, k, false);
  tw_text_add(t, "  } else {\n");
  if (!k->stored) emit_parts(t, k);
  emit_accumulation(t, k, true);
  emit_stores(t, k, true);
  tw_text_add(t, "  }\n");
}

/* Sums begin with zero, or with the first row of the panel. */
static void emit_start(tw_text *t, const tile *k) {
  const bool from_panel = k->s->arithmetic == X86_S8S8;
  for (int i = 0; i < k->rows; i++) {
    tw_text_add(t, "  sums");
    for (int j = 0; j < k->vectors; j++) {
      tw_text_add(t, "%s s%d_%d = ", j ? "," : "", i, j);
      if (from_panel)
        emit_b(t, k, "load_sums", j, 0);
      else
        tw_text_add(t, "zero()");
    }
    tw_text_add(t, ";\n");
  }
  if (from_panel) tw_text_add(t, "  b += %d;\n", k->s->vectors * k->vector);
}

/* Begins the prefetches for the code after the last units: of C, and of the beginning of the next rows of A, which the
 * hardware cannot predict. */
static void emit_fetch_soon(tw_text *t, const tile *k) {
  enum { LINES_OF_A = 2 };
  const int row = k->vector * k->vectors, part = LINES_AT_ONCE * X86_LINE;
  if (row > part)
    tw_text_add(t, "      soon_step = %d, soon_two = c_stride;\n", part);
  else
    tw_text_add(t, "      soon_step = c_stride, soon_two = 2 * c_stride;\n");
  if (!k->direct) return;
  tw_text_add(t, "      const char *row = a_start + %d * a_stride;\n", k->rows);
  for (int i = 0; i < k->rows; i++) {
    for (int line = 0; line < LINES_OF_A; line++) tw_text_add(t, "      fetch(row + %d);\n", line * X86_LINE);
    tw_text_add(t, "      row += a_stride; one_by_one(row);\n");
  }
}

/* The loops over k; long ones are run in two parts. During the second part, the last TAIL units, data for the following
 * code are prefetched. Earlier prefetches would be evicted by the data that stream through L1 meanwhile; all at once they
 * would take the buffers in which lines of the panel arrive from L2 (docs/lab/2026-11-x86-all-cores-7.md). This part
 * takes 700 to 900 cycles, as long as a memory access. A product whose B is read in place is small: its data are in
 * caches. */
static void emit_loops(tw_text *t, const tile *k) {
  enum { TAIL = 64 };
  if (k->stored) {
    tw_text_add(t, "    int64_t units = all_units;\n");
    emit_loop(t, k, k->s->unroll);
    if (k->s->unroll > 1) emit_loop(t, k, 1);
    return;
  }
  tw_text_add(t,
              "    const char *soon = c;\n    int64_t soon_step = 0, soon_two = 0;\n"
              "    int64_t rest = all_units > %d ? %d + all_units %% %d : 0, units = all_units - rest;\n"
              "  for (;; units = rest, rest = 0) {\n    if (rest == 0) {\n",
              TAIL, TAIL, k->s->unroll);
  emit_fetch_soon(t, k);
  tw_text_add(t, "    }\n");
  emit_loop(t, k, k->s->unroll);
  if (k->s->unroll > 1) emit_loop(t, k, 1);
  tw_text_add(t, "    if (rest == 0) break;\n  }\n");
}

/* Processes strips one after another. The code around the loops over k is as short as possible, because a tile of 64
 * units takes at most 800 cycles. */
static void emit_tile(tw_text *t, const tile *k, const char *name) {
  tw_text_add(t, "static void %s_%d(int64_t all_units, const void *a_first, int64_t a_stride, const void *b_first, ",
              name, k->rows);
  tw_text_add(t, "int64_t b_stride, void *c_first,\n    int64_t c_stride, int64_t columns, int into, "
                 "const void *next_first, int64_t next_step, int64_t strips) {\n");
  tw_text_add(t, "  const char *a_start = a_first, *b_start = b_first, *next = next_first;\n  char *c = c_first;\n");
  if (k->stored) {
    emit_parts(t, k);
    tw_text_add(t,
                "  const int64_t over = %d - columns * X86_UNIT, masked = over <= 0 ? 0 : over <= b_stride ? 1 : "
                "all_units;\n  all_units -= masked;\n",
                k->vectors * k->vector);
  }
  tw_text_add(t, ""
                 "  for (; strips > 0; strips--) {\n  const char *b = b_start, *a = a_start;\n  operand x");
  for (int j = 0; j < k->vectors; j++) tw_text_add(t, ", b%d", j);
  tw_text_add(t, ";\n");
  for (int i = 0; k->direct && i < k->rows; i += ROWS_OF_POINTER)
    tw_text_add(t, "  const char *a%d = a + %d * a_stride;\n", i, i);
  emit_start(t, k);
  tw_text_add(t, "  (void)%s, (void)b_stride, (void)next, (void)next_step;\n", k->direct ? "a" : "a_stride");
  emit_loops(t, k);
  if (k->stored) emit_last_rows(t, k);
  emit_end(t, k);
  if (k->direct)
    tw_text_add(t, "  a_start += %d * a_stride;\n  }\n}\n\n", k->rows);
  else if (k->turned)
    tw_text_add(t, "  a_start += %d;\n  }\n}\n\n", k->rows * X86_UNIT);
  else
    tw_text_add(t, "  a_start = a;\n  }\n}\n\n");
}

static bool has_narrow(const x86_variant *s) { return x86_narrow_vectors(s) && !s->narrow_left_out; }
static bool has_stored(const x86_variant *s) {
  return x86_wide_rows(s) && s->arithmetic == X86_F32 && !s->stored_left_out;
}

/* A table of tile functions. */
typedef struct kind {
  const char *name;
  bool direct;
  int rows, vectors;
  unsigned left_out;
  bool stored;
} kind;

static void emit_kind(tw_text *t, const x86_variant *s, const kind *i, int vector) {
  for (int r = 1; r <= i->rows; r++) {
    tile k = tile_of(s, r, i->direct, i->vectors);
    k.vector = vector, k.stored = i->stored, k.turned = k.stored && !k.direct;
    if (!x86_left_out(i->left_out, r)) emit_tile(t, &k, i->name);
  }
  if (i->rows) x86_emit_table(t, "x86_tile", i->name, i->rows, i->left_out);
}

static void emit_tiles(tw_text *t, const x86_variant *s) {
  const int one = s->vectors, two = 2 * s->vectors, part = x86_narrow_vectors(s), narrow = has_narrow(s) ? s->rows : 0;
  const kind kinds[] = {{"packed", false, s->rows, one, s->packed_left_out, false},
                        {"direct", true, s->rows, one, s->direct_left_out, false},
                        {"wide_packed", false, x86_wide_rows(s), two, s->wide_packed_left_out, false},
                        {"wide_direct", true, x86_wide_rows(s), two, s->wide_direct_left_out, false},
                        {"narrow_packed", false, narrow, part, s->packed_left_out, false},
                        {"narrow_direct", true, narrow, part, s->direct_left_out, false},
                        {"stored", true, has_stored(s) ? s->rows : 0, one, 0, true},
                        {"wide_stored", true, has_stored(s) ? x86_wide_rows(s) : 0, two, 0, true},
                        {"narrow_stored", true, has_stored(s) ? s->rows : 0, part, 0, true},
                        {"turned", false, has_stored(s) ? s->rows : 0, one, 0, true},
                        {"wide_turned", false, has_stored(s) ? x86_wide_rows(s) : 0, two, 0, true},
                        {"narrow_turned", false, has_stored(s) ? s->rows : 0, part, 0, true}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    emit_kind(t, s, &kinds[i], X86_UNIT * x86_isa_lanes(s->isa));
}

/* After everything else: words change their meaning. */
static void emit_half_tiles(tw_text *t, const x86_variant *s) {
  const kind kinds[] = {{"half_stored", true, s->rows, 1, 0, true}, {"half_turned", false, s->rows, 1, 0, true}};
  tw_text_add(t, "#define NAME few_whole\n#include \"target/x86/runtime/few_units.h\"\n"
                 "#define NAME few_sums_whole\n#include \"target/x86/runtime/few_sums.h\"\n"
                 "#include \"target/x86/runtime/half_avx512.h\"\n"
                 "#define NAME few_half\n#include \"target/x86/runtime/few_units.h\"\n"
                 "#define NAME few_sums_half\n#include \"target/x86/runtime/few_sums.h\"\n\n");
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    emit_kind(t, s, &kinds[i], X86_UNIT * x86_isa_lanes(s->isa) / 2);
}

/* The beginning of an x86_few that has a case for each k, or for each m. */
static void emit_few(tw_text *t, const char *name, char by) {
  tw_text_add(t,
              "static void %s(int64_t m, int64_t n, int64_t k, const void *a, int64_t a_row, int64_t a_step, "
              "const void *b_start,\n    int64_t b_row, void *c_start, int64_t c_pitch, int into, "
              "const float *alpha_beta) {\n  const char *b = b_start;\n  char *c = c_start;\n  switch (%c) {\n",
              name, by);
}

static void emit_few_sums(tw_text *t, int lanes) {
  emit_few(t, "few_sums", 'm');
  for (int m = 1; m <= X86_FEW_SUMS_ROWS; m++)
    tw_text_add(t,
                "  case %d:\n    if (n > %d)\n      few_sums_whole(%d, n, k, a, a_row, a_step, b, b_row, c, c_pitch, "
                "into, alpha_beta);\n    else\n      few_sums_half(%d, n, k, a, a_row, a_step, b, b_row, c, c_pitch, "
                "into, alpha_beta);\n    break;\n",
                m, lanes / 2, m, m);
  tw_text_add(t, "  }\n}\n\n");
}

/* Products of few units of k: while at least `least` columns are left, pairs of whole vectors, a whole one, or a part. */
static void emit_few_units(tw_text *t, int lanes) {
  const struct {
    const char *name;
    int least, step, vectors;
    const char *columns;
  } parts[] = {{"few_whole", 2 * lanes, 2 * lanes, 2, "0"},
               {"few_whole", lanes, lanes, 1, "0"},
               {"few_whole", lanes / 2 + 1, lanes, 1, "n"},
               {"few_half", 1, lanes / 2, 1, "n"}};
  emit_few(t, "few_units", 'k');
  for (int k = 1; k <= X86_FEW_UNITS; k++) {
    tw_text_add(t, "  case %d:\n", k);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
      tw_text_add(t,
                  "    for (; n >= %d; n -= %d, b += %d, c += %d)\n"
                  "      %s(%d, %d, m, %s, a, a_row, a_step, b, b_row, c, c_pitch, into, alpha_beta);\n",
                  parts[i].least, parts[i].step, parts[i].step * X86_UNIT, parts[i].step * X86_UNIT, parts[i].name, k,
                  parts[i].vectors, parts[i].columns);
    tw_text_add(t, "    break;\n");
  }
  tw_text_add(t, "  }\n}\n\n");
}

bool x86_left_out(unsigned rows_left_out, int rows) { return rows_left_out >> (rows - 1) & 1; }

void x86_emit_table(tw_text *t, const char *type, const char *which, int rows, unsigned rows_left_out) {
  tw_text_add(t, "static %s *const %s_tiles[] = {", type, which);
  for (int r = 1; r <= rows; r++) {
    tw_text_add(t, r > 1 ? ", " : "");
    if (x86_left_out(rows_left_out, r))
      tw_text_add(t, "0");
    else
      tw_text_add(t, "%s_%d", which, r);
  }
  tw_text_add(t, "};\n\n");
}

/* The peak rate: the tile's number of independent chains of multiply-adds and nothing else. */
static void emit_spin(tw_text *t, const x86_variant *s) {
  int chains = s->rows * s->vectors;
  tw_text_add(t, "static void spin(int64_t rounds) {\n  sums ");
  for (int i = 0; i < chains; i++) tw_text_add(t, "%ss%d = zero()", i ? ", " : "", i);
  tw_text_add(t, ";\n  operand x = nothing();\n  for (; rounds; rounds--) {\n");
  const bool of_codes = s->arithmetic == X86_U8S8 && s->isa == X86_AVX2; /* the variant of the kernel */
  for (int i = 0; i < chains; i++)
    tw_text_add(t, "    keep(x);\n    s%d = multiply_add%s(s%d, x, x);\n", i, of_codes ? "_coded" : "", i);
  for (int i = 0; i < chains; i++) tw_text_add(t, "    keep(s%d);\n", i);
  tw_text_add(t, "  }\n}\n\n");
}

void x86_emit_kernel(const x86_variant *s, tw_text *t) {
  char name[X86_NAME], c[X86_NAME];
  static const char *const words[X86_ISAS] = {
      [X86_PORTABLE] = "portable", [X86_AVX2] = "avx2",         [X86_AVXVNNI] = "avx2", [X86_AVX512] = "avx512",
      [X86_AVX512VNNI] = "avx512", [X86_AVX512BF16] = "avx512", [X86_AMX] = "avx512"};
  static const char *const isa_in_c[X86_ISAS] = {"X86_PORTABLE",   "X86_AVX2",       "X86_AVXVNNI", "X86_AVX512",
                                                 "X86_AVX512VNNI", "X86_AVX512BF16", "X86_AMX"};
  static const char *const arithmetic_in_c[X86_ARITHMETICS] = {"X86_F32", "X86_BF16", "X86_S16", "X86_U8S8",
                                                               "X86_S8S8"};
  x86_kernel_name(s, name);
  x86_kernel_symbol(s, c);
  int lanes = x86_isa_lanes(s->isa), group = x86_group(s->arithmetic), step = x86_k_step(s->isa);
  tw_text_add(t, "#define ARITHMETIC_%s\n", arithmetic_in_c[s->arithmetic] + strlen("X86_"));
  tw_text_add(t, "#include \"target/x86/kernel.h\"\n#include \"target/x86/runtime/words_%s.h\"\n", words[s->isa]);
  const bool amx = s->isa == X86_AMX;
  const bool quantizes = !amx && (s->arithmetic == X86_S16 || s->arithmetic == X86_U8S8);
  tw_text_add(t, "\n" X86_SHARED_COMMENT "\n#include \"target/x86/runtime/transpose%s.h\"\n", amx ? "_amx" : "");
  tw_text_add(t, "#define PANEL_COLUMNS %d\n#include \"target/x86/runtime/interleave.h\"\n", s->vectors * lanes);
  tw_text_add(t, "#include \"target/x86/runtime/finish%s.h\"\n", rounds(s) ? "_bf16" : "");
  if (quantizes) tw_text_add(t, "#include \"target/x86/runtime/quantize.h\"\n");
  tw_text_add(t, "\n" X86_TILES_COMMENT "\n/* %s, made by src/target/x86/emit.c. */\n", name);
  tw_text_add(t, "#include \"target/x86/runtime/codes_%s.h\"\n", words[s->isa]);
  tw_text_add(t, "%s\n", has_stored(s) ? "#include \"target/x86/runtime/dots_avx512.h\"\n" : "");
  if (amx) {
    x86_emit_amx_tiles(s, t);
  } else {
    emit_tiles(t, s);
    emit_spin(t, s);
  }
  x86_emit_coded(s, t);
  if (has_stored(s)) {
    emit_half_tiles(t, s);
    emit_few_units(t, lanes);
    emit_few_sums(t, lanes);
  }
  tw_text_add(t, "extern const x86_kernel %s;\nconst x86_kernel %s = {\n", c, c);
  tw_text_add(t, "    .name = \"%s\", .isa = %s, .arithmetic = %s, .rows = %d, .columns = %d,\n", name,
              isa_in_c[s->isa], arithmetic_in_c[s->arithmetic], s->rows, s->vectors * lanes);
  tw_text_add(t, "    .packed = packed_tiles, .direct = direct_tiles, .operations_per_round = %d, .spin = spin,\n",
              2 * group * lanes * s->rows * s->vectors * step);
  tw_text_add(t, "    .step = %d,%s%s\n", step, amx ? " .begin = begin, .end = end," : "",
              rounds(s) ? " .rounds = true," : "");
  if (x86_wide_rows(s))
    tw_text_add(t, "    .wide_rows = %d, .wide_packed = wide_packed_tiles, .wide_direct = wide_direct_tiles,\n",
                x86_wide_rows(s));
  if (has_narrow(s))
    tw_text_add(
        t, "    .narrow_columns = %d, .narrow_packed = narrow_packed_tiles, .narrow_direct = narrow_direct_tiles,\n",
        x86_narrow_vectors(s) * lanes);
  if (has_stored(s))
    tw_text_add(
        t,
        "    .stored = stored_tiles, .wide_stored = wide_stored_tiles, .narrow_stored = narrow_stored_tiles,\n"
        "    .turned = turned_tiles, .wide_turned = wide_turned_tiles, .narrow_turned = narrow_turned_tiles,\n"
        "    .half_columns = %d, .half_stored = half_stored_tiles, .half_turned = half_turned_tiles, .dots = dots,\n"
        "    .few_units = few_units, .few_sums = few_sums,\n",
        lanes / 2);
  x86_emit_coded_fields(s, t);
  tw_text_add(t, "    .transpose = transpose, .interleave = interleave, .gather = gather, .finish = finish%s%s};\n",
              rounds(s) ? "_bf16" : "", quantizes ? ", .scales_of_rows = scales_of_rows, .quantize = quantize" : "");
}
