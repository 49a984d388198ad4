/* variant.c - instruction sets and arithmetics by name, and the names of kernels. */
#include "target/x86/variant.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  int lanes, registers;
} isas[X86_ISAS] = {
    [X86_PORTABLE] = {"portable", 4, 16},
    [X86_AVX2] = {"avx2", 8, 16},
    [X86_AVXVNNI] = {"avxvnni", 8, 16},
    [X86_AVX512] = {"avx512", 16, 32},
    [X86_AVX512VNNI] = {"avx512vnni", 16, 32},
    [X86_AVX512BF16] = {"avx512bf16", 16, 32},
    [X86_AMX] = {"amx", 16, 32},
};

static const struct {
  const char *name;
  int group;
} arithmetics[X86_ARITHMETICS] = {[X86_F32] = {"f32", 1},
                                  [X86_BF16] = {"bf16", 2},
                                  [X86_S16] = {"s16", 2},
                                  [X86_U8S8] = {"u8s8", 4},
                                  [X86_S8S8] = {"s8s8", 4}};

const char *x86_isa_name(x86_isa isa) { return isas[isa].name; }
const char *x86_arithmetic_name(x86_arithmetic a) { return arithmetics[a].name; }
int x86_isa_lanes(x86_isa isa) { return isas[isa].lanes; }
int x86_isa_registers(x86_isa isa) { return isas[isa].registers; }
int x86_k_step(x86_isa isa) { return isa == X86_AMX ? 16 : 1; }
int x86_group(x86_arithmetic a) { return arithmetics[a].group; }

int x86_lift(x86_arithmetic arithmetic, x86_form form) {
  static const int lift[X86_FORMS] = {[X86_S2] = 1, [X86_S4] = 8, [X86_E2M1] = 12, [X86_S8] = 128};
  return arithmetic == X86_U8S8 ? lift[form] : 0;
}

/* Registers besides the sums: vectors of B, one of A, a line, tables, a mask. Two strips of 8 rows make the highest
 * decode shape. */
enum { OTHER_REGISTERS = 6, CODED_ROWS_MOST = 8 };

int x86_coded_rows(const x86_variant *s) {
  const bool integers =
      s->arithmetic == X86_S16 || s->arithmetic == X86_U8S8; /* totals in registers also for large products */
  const int rows = (x86_isa_registers(s->isa) - OTHER_REGISTERS) / s->vectors / (integers ? 2 : 1);
  if (s->isa == X86_AMX) return 0;
  const int most = s->rows < CODED_ROWS_MOST ? s->rows : CODED_ROWS_MOST;
  return rows < 1 ? 1 : rows < most ? rows : most;
}

int x86_narrow_vectors(const x86_variant *s) { return s->isa == X86_AMX ? 0 : s->vectors / 2; }

int x86_wide_rows(const x86_variant *s) {
  enum { LEAST = 4 /* lower tiles load more than they multiply */, OTHERS = 2 /* A; what some arithmetics need */ };
  const int vectors = 2 * s->vectors, rows = (x86_isa_registers(s->isa) - vectors - OTHERS) / vectors;
  if (s->isa == X86_AMX || rows < LEAST || vectors * x86_isa_lanes(s->isa) > X86_COLUMNS_MAX) return 0;
  return rows < s->rows ? rows : s->rows;
}

bool x86_totals_in_memory(const x86_variant *s, int rows) {
  return 2 * rows * s->vectors > x86_isa_registers(s->isa) - OTHER_REGISTERS;
}

int x86_vectors_of_line(x86_arithmetic arithmetic, x86_form form) {
  const int container = 8 * X86_UNIT / x86_group(arithmetic);
  return container * x86_form_registers(form) / x86_form_bits(form) * x86_form_codes(form);
}

bool x86_in_planes(x86_arithmetic arithmetic, x86_form form) {
  return form == X86_S8 && (arithmetic == X86_F32 || arithmetic == X86_BF16);
}

bool x86_in_eighths(x86_arithmetic arithmetic, x86_form form) { return form == X86_E4M3 && arithmetic == X86_BF16; }

bool x86_in_halves(x86_arithmetic arithmetic, x86_form form, int lanes) {
  return arithmetic == X86_F32 && x86_form_bits(form) == 4 && lanes == 8;
}

x86_place x86_place_of(x86_form form, int t, int vectors) {
  const int codes = x86_form_codes(form), unit = t / vectors, vector = t % vectors;
  return (x86_place){.field = unit / codes * vectors + vector, .code = unit % codes};
}

int x86_coded_step(const x86_variant *s, x86_form form) {
  if (form == X86_T3) return x86_vectors_of_line(s->arithmetic, form) / s->vectors;
  return X86_EIGHT / x86_group(s->arithmetic);
}

bool x86_has_form(const x86_variant *s, x86_form form) {
  const bool real = s->arithmetic == X86_F32 || s->arithmetic == X86_BF16;
  const int vectors = x86_vectors_of_line(s->arithmetic, form);
  if (form >= X86_FORMS || (s->forms_left_out >> form & 1) || s->arithmetic == X86_S8S8) return false;
  if (s->isa == X86_AMX && !real) return false;
  if (form == X86_S8 && s->arithmetic == X86_U8S8 && s->isa < X86_AVXVNNI) return false; /* vpmaddubsw saturates */
  if (form == X86_E2M3 && (!real || s->isa < X86_AVX512)) return false;
  const bool triples = s->arithmetic == X86_F32 && s->isa >= X86_AVX512 &&
                       x86_vectors_of_line(X86_F32, X86_T3) % (x86_form_codes(X86_T3) * s->vectors) == 0;
  if ((form == X86_T3 && !triples) || (form == X86_S2 && triples)) return false; /* each type in its smallest form */
  return (real || form != X86_E4M3) && x86_coded_step(s, form) * s->vectors % vectors == 0 &&
         (vectors % s->vectors == 0 || s->vectors % vectors == 0);
}

bool x86_has_powers(const x86_variant *s, x86_form form) {
  const bool integers = s->arithmetic == X86_S16 || s->arithmetic == X86_U8S8;
  return x86_has_form(s, form) && integers && s->isa >= X86_AVX2 && (form == X86_E2M1 || form == X86_S8);
}

bool x86_has_expansion(const x86_variant *s, x86_form form) {
  if (s->arithmetic == X86_U8S8) return form == X86_E2M1 && x86_has_form(s, form) && x86_has_form(s, X86_S8);
  return s->arithmetic != X86_S16 && x86_has_form(s, form);
}

bool x86_isa_parse(const char *name, x86_isa *out) {
  for (int i = 0; i < X86_ISAS; i++)
    if (strcmp(name, isas[i].name) == 0) return *out = (x86_isa)i, true;
  return false;
}

bool x86_arithmetic_parse(const char *name, x86_arithmetic *out) {
  for (int i = 0; i < X86_ARITHMETICS; i++)
    if (strcmp(name, arithmetics[i].name) == 0) return *out = (x86_arithmetic)i, true;
  return false;
}

char *x86_kernel_name(const x86_variant *s, char buffer[X86_NAME]) {
  snprintf(buffer, X86_NAME, "%s-gemm-%dx%d-%s", arithmetics[s->arithmetic].name, s->rows,
           s->vectors * isas[s->isa].lanes, isas[s->isa].name);
  return buffer;
}

char *x86_kernel_symbol(const x86_variant *s, char buffer[X86_NAME]) {
  x86_kernel_name(s, buffer);
  for (char *p = buffer; *p; p++)
    if (*p == '-') *p = '_';
  return buffer;
}
