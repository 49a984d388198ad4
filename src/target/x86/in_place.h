/* in_place.h - products whose tiles read A and B in place, or B as packed panels. They need no plan. */
#ifndef TW_X86_IN_PLACE_H
#define TW_X86_IN_PLACE_H

#include "target/x86/kernel.h"

/* C = or += A B. Distances are in bytes. The kernel has tiles on B in place. */
typedef struct x86_in_place {
  const x86_kernel *kernel;
  const void *a, *b;
  void *c;
  int64_t a_pitch;      /* from row to row of A as stored */
  int64_t b_row, panel; /* from row to row of B, from panel to panel */
  int64_t c_pitch;      /* from row to row of C, or across from column to column */
  int64_t rows, columns, units;
  bool turned;         /* A is stored by columns */
  int into;            /* flags: x86_into */
  float alpha_beta[2]; /* used with X86_SCALED, X86_ADD */
} x86_in_place;

void x86_run_in_place(const x86_in_place *);

#endif
