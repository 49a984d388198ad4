/* dma.h - the DMA engines, their queues, and transfers in them. */
#ifndef TW_TRAINIUM_DMA_H
#define TW_TRAINIUM_DMA_H

#include <stdbool.h>
#include <stddef.h>

#include "target/trainium/program.h"

/* The engines in groups of equal size. Engines of a group work as one: partitions of SBUF begin at multiples of 32, for which a
 * quarter of the engines has the static descriptors. */
enum { TRN_DMA_GROUPS = 4 };

typedef struct trn_transfer {
  int instruction;
  double first;                /* when its first packet can move */
  double work[TRN_DMA_GROUPS]; /* left, of all engines of a group together */
  double least;                /* its end at the earliest */
  double begin;                /* -1: no packet has moved */
  int open;                    /* groups that have work left */
} trn_transfer;

/* Transfers that an engine has triggered, in order. Each group moves one after the other, so groups may be at different ones:
 * transfers before head[group] are complete. */
typedef struct trn_dma_queue {
  trn_transfer *transfer;
  size_t n, capacity, head[TRN_DMA_GROUPS];
} trn_dma_queue;

typedef struct trn_dma {
  trn_dma_queue queue[TRN_ENGINES];
  double now;
} trn_dma;

/* False without memory. */
bool trn_dma_start(trn_dma *, trn_engine, trn_transfer);
/* Lets transfers move up to `limit`, or until one is done: that one, and its queue. NULL: none. */
const trn_transfer *trn_dma_move(trn_dma *, double limit, trn_engine *queue);
void trn_dma_free(trn_dma *);

#endif
