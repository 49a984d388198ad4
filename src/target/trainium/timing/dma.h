/* dma.h - the DMA engines, their queues, and the queues' transfers. */
#ifndef TW_TRAINIUM_DMA_H
#define TW_TRAINIUM_DMA_H

#include <stdbool.h>
#include <stddef.h>

#include "target/trainium/program.h"

/* Groups of engines of equal size. The engines of a group work as one, because partitions of SBUF begin at multiples
 * of 32, and a quarter of the engines has the static descriptors of 32 partitions. */
enum { TRN_DMA_GROUPS = 4 };

typedef struct trn_transfer {
  int instruction;
  double first;                /* earliest time at which its first packet can move */
  double work[TRN_DMA_GROUPS]; /* remaining, sum over all engines of a group */
  double least;                /* its earliest possible end */
  double begin;                /* -1: no packet has moved */
  int open;                    /* groups with remaining work */
} trn_transfer;

/* Transfers that an engine has triggered, in order. Each group moves one transfer after another, and the groups may
 * be at different transfers: group g has completed the transfers before head[g]. */
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
/* Moves transfers until `limit`, or until one is complete: returns this transfer and its queue. NULL: none. */
const trn_transfer *trn_dma_move(trn_dma *, double limit, trn_engine *queue);
void trn_dma_free(trn_dma *);

#endif
