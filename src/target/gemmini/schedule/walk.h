/* walk.h - the analytic model of a kernel's loops: consecutive steps on four clocks.
 *
 * A family gives the computation, loads and stores of each step, in cycles and commands; the walk computes when the
 * array, the load engine and the store engine are free. A step starts when its operands have arrived and its
 * accumulator buffer is stored. The model ranks plans, so it follows their differences and omits common costs.
 * Constants are from gemmini-facts.md ("facts"). */
#ifndef TW_GEMMINI_WALK_H
#define TW_GEMMINI_WALK_H

#include <stdbool.h>

#include "target/gemmini/schedule/levers.h"

/* facts, "Further effects" 7: cold streams load at 6.8 bytes a cycle where the port has 8. */
static const double cold_rate = 6.8;
/* facts, "Loads": a 64x16 mvin alone takes 97 cycles where 64 are its bytes. */
static const double load_latency = 33;
/* facts, "Stores": a 16-row mvout alone takes 64 to 87 cycles; compute -> mvout 139. */
static const double store_latency = 139;
/* facts, "Further effects" 3: a row written takes 0.8 to 1 cycle from the bank that is being read. */
static const double stolen = 0.9;
/* facts, "Stores": 16 mvouts concurrent with 64 computes that accumulate in their bank cost 1470 - 1097 cycles. */
static const double acc_conflict = (1470.0 - 1097.0) / (16 * 16);

typedef struct gm_walk_step {
  bool first, last;        /* of its tile */
  double pairs, cycles;    /* number of pairs; their cycles on the array or the core, whichever is slower */
  double a, b;             /* cycles of loads of A, of B */
  double a_units, b_units; /* units moved in one slot */
  double mvins;            /* mvins of both */
  double rows;             /* scratchpad rows that they write */
  double stolen;           /* rows of these that are written to a bank which is read in any case */
  double fill, fill_mvins; /* cycles and mvins for the tile, if nothing overwrites */
  double stores, store_units, store_commands, store_rows; /* for the tile: cycles, units, mvouts, accumulator rows */
} gm_walk_step;

typedef struct gm_walk {
  const gm_config *config;
  const gm_levers *levers;
  double load_pairs, store_pairs;     /* pairs between two slots; 0: no slots */
  long s, t;                          /* steps and tiles so far */
  double array, load, store;          /* cycle at which each is free */
  double begin[4], took[4], pairs[4]; /* recent steps, by number modulo 4: start, cycles, pairs */
  double stored[2];                   /* cycle at which a tile is stored, by tile modulo 2 */
} gm_walk;

enum { GM_LOADS_KNOWN = 4 };
/* Shares of the L2's lines: lines that hold data of the kernel, and lines that it wrote. */
typedef struct gm_lines {
  double valid, dirty;
  /* Loads and stores have few sizes: recent sizes in lines, and the share of the L2 that each replaces. */
  double lines[GM_LOADS_KNOWN], share[GM_LOADS_KNOWN];
  int next;
} gm_lines;
/* For bytes that are loaded cold: the cycles for the lines that they replace. */
double gm_cold_cycles(const gm_config *, gm_lines *, double bytes);
/* The stores of a tile, which alone take `pace` cycles. The lines that they replace cost additional cycles. The
 * stores also share the L2's response channel (one beat per cycle) with concurrent loads, including hits. */
double gm_tile_store_cycles(const gm_config *, gm_lines *, double pace, double written, int element_bytes,
                            double loaded);

/* fmax and fmin without their rules for NaN, which cost a call: the walks need most of their time for these. */
static inline double gm_larger(double a, double b) { return a > b ? a : b; }
static inline double gm_smaller(double a, double b) { return a < b ? a : b; }

void gm_walk_add(gm_walk *, const gm_walk_step *);
double gm_walk_end(const gm_walk *);

/* Cycles of mvins of `bytes`, in `rows` rows in memory order; each command moves `row_bytes` of a row. */
double gm_load_cycles(const gm_config *, bool cold, double bytes, double rows, double row_bytes);
/* Cycles of mvouts of `rows` rows of `columns` elements; each command moves `wide` elements. */
double gm_store_cycles(const gm_config *, double rows, int columns, int wide, int element_bytes);
/* Cycles to fill `rows` accumulator rows with zeros, or with a row of bias. */
double gm_fill_cycles(bool bias, double rows);
/* Cold code: cycles to fetch a number of instructions. */
double gm_code_cycles(double instructions);
/* Cycles of a configuration that waits until the array is empty. */
double gm_config_cycles(void);

#endif
