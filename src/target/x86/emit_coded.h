/* emit_coded.h - shared by the two parts of the emitter for functions on codes. */
#ifndef TW_X86_EMIT_CODED_H
#define TW_X86_EMIT_CODED_H

#include "target/x86/emit.h"

/* The input of the emitter for a function on codes. */
typedef struct x86_on_codes {
  const x86_variant *s;
  x86_form form;
  int panels, vectors;                   /* panels that are processed at once, one or two, and their vectors in total */
  int rows, chains, step, lines, fields; /* units and lines (of a panel) of a step; vectors of a line */
  int body;                              /* steps in the body of the larger loop, which processes multiples of them */
  bool looks_up;                         /* A consists of tables (kernel.h) */
  bool powers;                           /* scales are powers of two that are part of the initial sums (kernel.h) */
  bool by_bytes;                         /* the fields of each byte of a container have separate loads */
} x86_on_codes;

static inline bool x86_is_real(const x86_variant *s) { return s->arithmetic == X86_F32 || s->arithmetic == X86_BF16; }
static inline int x86_vector_bytes(const x86_variant *s) { return X86_UNIT * x86_isa_lanes(s->isa); }
static inline int x86_line_bytes(const x86_on_codes *x) { return x86_vector_bytes(x->s) * x86_form_registers(x->form); }
/* The offset of vector `j`'s data from the first panel's data, as a C expression: "" or " + NAME". */
static inline const char *x86_panel_of(const x86_on_codes *x, int j, const char *apart) {
  return j < x->s->vectors ? "" : apart;
}
extern const char *const x86_form_names[X86_FORMS]; /* "s2" */

/* Declares the registers for lines. */
void x86_emit_lines(tw_text *, const x86_on_codes *);
/* Computes the vectors of B for the unit `u` of a step; loads a line before the first of its fields is used. */
void x86_emit_values(tw_text *, const x86_on_codes *, int u);
/* The sums of a group, from their initial values, over its `n` units: chain 0 holds the final sums. */
void x86_emit_sums(tw_text *, const x86_on_codes *);

#endif
