/* in_place.c - see in_place.h. A product of 16 x 16 x 16 takes 0.1 us: so these loops are as short as possible. */
#include "target/x86/in_place.h"

#include "target/x86/plan.h"

/* The tiles for the next columns, their greatest number of rows, the columns, and their panels; 0: a part of one. */
typedef struct choice {
  x86_tile *const *tiles;
  int64_t most, columns, panels;
} choice;

/* Tiles on two panels are for many rows, whose A they read half as often, and for rows that they pass at once: fewer have
 * too few sums in a panel for the latency of a multiply-add, and on an Intel server 4 x 128 x 32 is 1.16 times as fast. Rows that share sets of L1 are read by low tiles. A vector of half the length
 * takes half the time on a core that executes a whole vector with two units of half its width (Zen 4). */
static choice choose(const x86_in_place *x, int64_t left) {
  enum { MANY = 17 };
  const x86_kernel *k = x->kernel;
  const bool turned = x->turned;
  if (left <= k->half_columns) return (choice){turned ? k->half_turned : k->half_stored, k->rows, k->half_columns, 0};
  if (left <= k->narrow_columns + k->half_columns)
    return (choice){turned ? k->narrow_turned : k->narrow_stored, k->rows, k->narrow_columns, 0};
  const bool fits = left > k->columns + k->narrow_columns;
  if (fits && (x->rows <= k->wide_rows || (x->rows >= MANY && !turned)))
    return (choice){turned ? k->wide_turned : k->wide_stored, k->wide_rows, 2 * k->columns, 2};
  if (turned) return (choice){k->turned, k->rows, k->columns, 1};
  return (choice){k->stored, x->rows >= MANY && !x86_rows_spread(x->a_pitch) ? k->wide_rows : k->rows, k->columns, 1};
}

void x86_run_in_place(const x86_in_place *x) {
  const int64_t a_row = x->turned ? X86_UNIT : x->a_pitch;
  const bool across = x->into & X86_ACROSS;
  const int64_t c_row = across ? X86_UNIT : x->c_pitch, c_column = across ? x->c_pitch : X86_UNIT;
  const char *b = x->b;
  char *c = x->c;
  for (int64_t left = x->columns, step; left > 0; left -= step) {
    const choice with = choose(x, left);
    const x86_strips s = x86_equal_strips(x->rows, with.most);
    step = with.columns;
    for (int taller = 0; taller < 2; taller++) {
      const int64_t n = taller ? s.taller : s.n - s.taller, first = taller ? 0 : s.taller * (s.low + 1);
      if (!n) continue;
      with.tiles[s.low + taller - 1](x->units, (const char *)x->a + first * a_row, x->a_pitch, b, x->b_row,
                                     c + first * c_row, x->c_pitch, x86_min(left, step), x->into, x->alpha_beta, 0, n);
    }
    b += with.panels ? with.panels * x->panel : step * X86_UNIT, c += step * c_column;
  }
}
