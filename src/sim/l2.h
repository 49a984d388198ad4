/* l2.h - the memory system behind the cores' and the accelerator's ports: an inclusive L2, one memory port, an LLC.
 *
 * Timing only; data lives in rv64_memory. Modelled after the TileLink inclusive cache (files of
 * chipsalliance/rocket-chip-inclusive-cache):
 *   - Requests wait in a queue for each client; one a cycle is accepted, the clients in turn, if a miss register
 *     (MSHR) is free; hits hold one for a few cycles (Scheduler.scala).
 *   - A miss holds its register until the last beat of its line has come through the memory port; a put that covers
 *     its line needs no fetch (MSHR.scala, `block`), a smaller one to a missing line fetches it first.
 *   - Every answer, and the data of every put, passes the data pipeline (SourceD.scala) in turn, one beat a cycle.
 *     The answer to a miss that asks for the line's start follows the line beat by beat as it arrives
 *     ("wormhole"), and holds the pipeline meanwhile; any other waits for the last beat.
 *
 * Assumptions: a random victim (Directory.scala uses an LFSR; ours is another one, with a fixed seed);
 * write-backs of dirty victims leave by the port's own write channel and cost nothing. */
#ifndef TW_SIM_L2_H
#define TW_SIM_L2_H

#include <stdbool.h>
#include <stdint.h>

#include "tilewright/status.h"

typedef struct l2_parameters {
  int line_bytes, beat_bytes;    /* 64, 16 */
  int port_bytes;                /* of the memory port: bytes a cycle */
  int bytes, ways;               /* capacity */
  int request_latency;           /* a request leaves its client -> it may be accepted */
  int hit_latency;               /* accepted -> the first beat of the answer is at the client */
  int misses;                    /* miss registers */
  int fill_latency;              /* accepted -> the line's first beat comes from the LLC, beyond hit_latency */
  int llc_bytes, llc_miss_extra; /* capacity; cycles more when the line is not in the LLC */
  double line_interval;          /* least cycles between two lines at the port */
} l2_parameters;

enum l2_client { L2_DMA, L2_CORE, L2_CLIENTS };
enum l2_kind { L2_READ, L2_WRITE, L2_REFILL, L2_WRITEBACK };

typedef struct l2_request {
  uint64_t eligible; /* cycle from which it may be accepted */
  uint64_t address;  /* aligned to bytes */
  uint32_t cookie;   /* the client's */
  uint8_t kind, bytes;
  bool whole_line_put;
} l2_request;

typedef struct l2_response {
  uint64_t ready; /* cycle of its first beat at the earliest */
  uint32_t cookie;
  uint8_t kind, beats;
  uint8_t interval; /* cycles between its beats */
} l2_response;

enum { L2_QUEUE = 64, L2_PENDING_MAX = 64, L2_MISSES_MAX = 32 };

typedef struct l2_cache {
  l2_parameters p;
  int sets;
  uint64_t *tag; /* [set * ways + way]: line + 1, 0 = invalid */
  int llc_sets;
  uint64_t *llc_tag;
  uint64_t random;
  struct {
    l2_request request[L2_QUEUE];
    int head, count;
  } queue[L2_CLIENTS];
  int last_client;
  uint64_t accept_next; /* a put of several beats keeps channel A that long */
  double port_next;     /* memory port: the next cycle that is free */
  struct {
    uint64_t line, free_at, data_first, data_last;
  } miss[L2_MISSES_MAX];
  int n_pending;
  l2_response pending[L2_PENDING_MAX]; /* ascending by ready */
  uint64_t hits, fills, llc_misses;
} l2_cache;

tw_status l2_init(l2_cache *, const l2_parameters *, tw_error *);
void l2_free(l2_cache *);
/* The LLC holds these bytes from the start; later ranges push out earlier ones when it is full. */
void l2_warm_llc(l2_cache *, uint64_t address, uint64_t bytes);

/* Room for another request of this client? */
static inline bool l2_has_room(const l2_cache *c, enum l2_client client) { return c->queue[client].count < L2_QUEUE; }
/* Anything waiting for acceptance or an answer? */
static inline bool l2_busy(const l2_cache *c) {
  return c->n_pending || c->queue[L2_DMA].count || c->queue[L2_CORE].count;
}
/* A request whose first beat leaves the client in `cycle`; `bytes` is a power of two, the address aligned to it. */
void l2_send(l2_cache *, enum l2_client, uint64_t cycle, enum l2_kind, uint64_t address, int bytes, bool whole_line_put,
             uint32_t cookie);
/* One cycle of channel A. */
void l2_step(l2_cache *, uint64_t cycle);
/* The next answer if it may be served in `cycle`, else NULL; l2_pop when its service begins. */
static inline const l2_response *l2_head(const l2_cache *c, uint64_t cycle) {
  return c->n_pending && c->pending[0].ready <= cycle ? &c->pending[0] : 0;
}
void l2_pop(l2_cache *);

#endif
