/* variant.h - one of many kernels as a struct: the data that the emitter and the loops around its kernels need. */
#ifndef TW_X86_VARIANT_H
#define TW_X86_VARIANT_H

#include "target/x86/kernel.h"

typedef struct x86_variant {
  x86_isa isa;
  x86_arithmetic arithmetic;
  int rows, vectors;       /* register tile: rows of A x vectors of B */
  int unroll;              /* steps of k in the body of the innermost loop */
  int prefetch;            /* bytes ahead at which packed A is prefetched into L1; 0 = left to the hardware */
  int chains;              /* parts of each sum of tiles on codes: 1, 2, 4, ...; 0: chosen by the program */
  unsigned forms_left_out; /* bit f: no functions on codes of form f */
  /* bit r - 1: no function for r rows */
  unsigned packed_left_out, direct_left_out, wide_packed_left_out, wide_direct_left_out, coded_left_out;
  bool narrow_left_out; /* no functions for the beginning of a panel */
  bool stored_left_out; /* no functions on B in place */
} x86_variant;

/* How a kernel of the library was generated; false for other kernels. In a generated file (generate/generate.c). */
bool x86_variant_of(const x86_kernel *, x86_variant *out);

const char *x86_isa_name(x86_isa);               /* "avx512" */
const char *x86_arithmetic_name(x86_arithmetic); /* "f32" */
int x86_isa_lanes(x86_isa);                      /* units in a vector */
int x86_isa_registers(x86_isa);                  /* vector registers */
int x86_k_step(x86_isa);                         /* units of k that a tile processes at once */
int x86_group(x86_arithmetic);                   /* elements of k in a unit */
int x86_lift(x86_arithmetic, x86_form);          /* offset that makes a code's integer unsigned; else 0 */

/* Rows of the highest tile on two panels at once: its sums and the vectors of both panels fill the registers. 0:
 * none. */
int x86_wide_rows(const x86_variant *);

/* Vectors of a narrow tile, on the beginning of a panel; 0: no narrow tile. */
int x86_narrow_vectors(const x86_variant *);

/* Tiles on codes hold sums of a group beside the totals of all groups; higher ones keep the totals in memory. */
int x86_coded_rows(const x86_variant *); /* rows of the highest; 0: none (AMX) */
bool x86_totals_in_memory(const x86_variant *, int rows);
int x86_vectors_of_line(x86_arithmetic, x86_form); /* vectors of the panel in a line of codes */
/* Units that a tile processes at once: 8 elements, the shortest group; for X86_T3, which has no groups, a line. */
int x86_coded_step(const x86_variant *, x86_form);
enum { X86_BODY_MOST = 4 }; /* steps in the body of a loop of a tile on codes: at least its chains */
/* True if 8-bit codes are stored in planes or eighths instead of fields (kernel.h). */
bool x86_in_planes(x86_arithmetic, x86_form);
bool x86_in_eighths(x86_arithmetic, x86_form);
bool x86_in_halves(x86_arithmetic, x86_form, int lanes); /* in halves? */
/* The place of the t-th vector of a line, with `vectors` per unit: the field of its containers, and the number of its
 * code there. */
typedef struct x86_place {
  int field, code;
} x86_place;
x86_place x86_place_of(x86_form, int t, int vectors);
/* True if tiles on such codes exist. Lines must hold whole rows of units, or rows whole lines, and a step whole
 * lines. */
bool x86_has_form(const x86_variant *, x86_form);
/* True if such tiles exist whose initial sums include scales that are powers of two (kernel.h). */
/* True if whole panels can be expanded: to real units; or to 8-bit integers, for codes that are looked up. */
bool x86_has_expansion(const x86_variant *, x86_form);
bool x86_has_powers(const x86_variant *, x86_form);

bool x86_isa_parse(const char *name, x86_isa *out);
bool x86_arithmetic_parse(const char *name, x86_arithmetic *out);

enum { X86_NAME = 64 };
char *x86_kernel_name(const x86_variant *, char buffer[X86_NAME]); /* "f32-gemm-14x32-avx512"; returns buffer */
/* the kernel's name in C: "f32_gemm_14x32_avx512" */
char *x86_kernel_symbol(const x86_variant *, char buffer[X86_NAME]);

#endif
