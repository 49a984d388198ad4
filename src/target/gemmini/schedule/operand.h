/* operand.h - the operands A and B of a kernel: the lifetime and place of their chunks in the scratchpad.
 *
 * Every kernel here runs tile by tile of its result, and for each tile step by step along the dimensions that are
 * summed over. A step uses one chunk of A and one chunk of B; a chunk is in a slot. A belongs to one of the two loops
 * over tiles, B to the other: an operand is held while the loop that does not index it runs.
 *
 * Rules and their reasons:
 *  - a slot must not be loaded before its last reader in program order: the reservation station sees program order
 *    only, so `prefetch` steps ahead need prefetch + 1 buffers (facts: order of commands);
 *  - a chunk never straddles two banks: reads and writes collide in banks;
 *  - everything fits the scratchpad. */
#ifndef TW_GEMMINI_OPERAND_H
#define TW_GEMMINI_OPERAND_H

#include <stddef.h>

#include "target/gemmini/config.h"

enum { GM_BANKS_MAX = 16 };

/* How long a chunk stays in the scratchpad. */
typedef enum gm_hold {
  GM_STREAM, /* one step */
  GM_PANEL,  /* all chunks of one outer tile: while the inner tile loop runs */
  GM_WHOLE   /* the whole operand, loaded once */
} gm_hold;

typedef struct gm_operand_plan { /* A or B */
  gm_hold hold;
  int buffers;            /* number of resident units: chunks (stream) or panels; 1 for whole */
  int n_banks;            /* 0: packed, A from row 0 and B right after it */
  int bank[GM_BANKS_MAX]; /* consecutive slots go to these banks in turn; an arithmetic progression */
  int width;              /* width of an mvin in blocks */
} gm_operand_plan;

typedef struct gm_operand_layout {
  int chunk_rows; /* scratchpad rows of a slot */
  int slots;
  int base;               /* row of slot 0 */
  int banks, bank_stride; /* slot s is at base + s % banks * bank_stride + s / banks * chunk_rows */
} gm_operand_layout;

/* An operand in its loops. */
typedef struct gm_operand {
  const gm_operand_plan *plan;
  gm_operand_layout *layout; /* chunk_rows is given */
  char name;                 /* 'A' or 'B' */
  bool outer;                /* the outer of the two loops over tiles indexes it */
  const char *outer_step;    /* the step that changes the order: "order ij" */
  int tiles;                 /* trip count of the loop that indexes it */
  int steps;                 /* steps along the summed dimensions, for each tile */
  int prefetch;              /* number of steps by which loads precede their use */
} gm_operand;

/* The word of the step: "panel". */
const char *gm_hold_name(gm_hold);
/* Blocks of the widest mvin into the scratchpad. */
int gm_widest_load(const gm_config *);
/* The rules of an operand. Fills both layouts; *bytes is their total size. */
tw_status gm_operands_place(const gm_config *, const gm_operand *a, const gm_operand *b, size_t *bytes, tw_error *);
/* Row of a slot. */
int gm_slot_row(const gm_operand_layout *, int slot);
/* The same in C: "slot % 2 * 8192 + slot / 2 * 512". */
void gm_slot_text(const gm_operand_layout *, const char *slot, char *out, size_t size);

static inline int gm_ceil_div(int64_t a, int64_t b) { return (int)((a + b - 1) / b); }
static inline int gm_min(int a, int b) { return a < b ? a : b; }
static inline int gm_max(int a, int b) { return a > b ? a : b; }

#endif
