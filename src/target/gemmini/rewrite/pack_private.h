/* pack_private.h - the parts of a packing: pack_read.c takes the stream apart, pack_place.c gives rows, pack_write.c
 * makes the new stream. */
#ifndef TW_GEMMINI_REWRITE_PACK_PRIVATE_H
#define TW_GEMMINI_REWRITE_PACK_PRIVATE_H

#include "target/gemmini/rewrite/pack.h"

/* The data that one load brings into the scratchpad. Loads that an operand needs together are one value: the first of
 * them represents all, `next` leads to further loads, which have no separate uses. */
typedef struct gm_value {
  gm_event load;
  size_t config;      /* configuration of the load */
  size_t joined;      /* 1 + the value that it is part of; 0: none */
  size_t next, tail;  /* 1 + the next load of this value, 0: none; the last of them */
  uint32_t row, rows; /* in the program: first row, length with gaps */
  size_t before;      /* the product that followed the load in the program */
  size_t first, last; /* products that use it; first > last: none */
  size_t same;        /* 1 + the earlier value with the same content; 0: none */
  size_t leader;      /* the value whose load serves it */
  bool weights;
  uint32_t new_row;
} gm_value;

typedef struct gm_use {
  size_t value; /* 1 + the value; 0: none, or not in the scratchpad */
  uint32_t row; /* as the program has it */
} gm_use;

typedef struct gm_product { /* a preload and its compute */
  gm_event preload, compute;
  gm_use preloaded, first, second; /* operands: of the preload, of the compute */
  size_t config;                   /* config_ex */
  size_t window, group;
} gm_product;

typedef struct gm_transfer { /* a store, or a load into the accumulator */
  gm_event event;
  size_t config, before, window;
} gm_transfer;

typedef struct gm_pack_state {
  gm_stream *stream;
  const gm_config *config;
  gm_pack_options options;
  size_t n_values, n_products, n_transfers;
  gm_value *value;
  gm_product *product;
  gm_transfer *transfer;
  size_t n_windows, n_groups;
  size_t *window_start, *group_start; /* products; one more than there are */
  bool *cut;                          /* by window: it begins here */
  uint32_t *window_acc, *window_end;  /* accumulator rows of each window: the first, one past the last */
  uint32_t acc_rows;                  /* rows of the widest window */
  size_t n_setups;
  gm_event *setup; /* the different configurations; for loads, without the number of the load */
  const char *why;
  size_t where;
} gm_pack_state;

static inline bool gm_pack_refuse(gm_pack_state *p, size_t where, const char *why) {
  p->why = why;
  p->where = where + 1;
  return false;
}
/* The value that value i is part of. Shortens the path for later calls. */
static inline size_t gm_whole_value(const gm_pack_state *p, size_t i) {
  for (gm_value *v = p->value; v[i].joined; i = v[i].joined - 1)
    if (v[v[i].joined - 1].joined) v[i].joined = v[v[i].joined - 1].joined;
  return i;
}
static inline size_t gm_group_of(const gm_pack_state *p, size_t product) { return p->product[product].group; }

/* Each returns false on failure, with the reason in p->why. */
bool gm_pack_read(gm_pack_state *);
/* The remaining loads go to `order`, in the order of their first use. */
bool gm_pack_place(gm_pack_state *, gm_value **order, size_t *n);
bool gm_pack_write(gm_pack_state *, gm_value **order, size_t n);

#endif
