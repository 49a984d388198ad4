/* l2.h - the memory system at the cores' and the accelerator's ports: an inclusive L2, one memory port, an LLC.
 *
 * Timing only; data lives in rv64_memory. It follows the clock edges of the TileLink inclusive cache (files of
 * chipsalliance/rocket-chip-inclusive-cache, design/craft/inclusivecache/src), with
 *   - miss registers (MSHR.scala, Scheduler.scala): every request uses one, hits too, or queues after the register that
 *     has its set; one register per cycle is scheduled, round robin, when all its resources are free; it is held until
 *     its line's last beat is there and the release of what it replaced is acknowledged;
 *   - the directory (Directory.scala): the victim is a random way, whether or not another one is invalid; one port,
 *     that reads for a request or writes what a queue of one holds: of a release, and of a register that ends and
 *     changes it;
 *   - the banked store (BankedStore.scala): eight banks of 8 bytes, side by side in a line, that serve in this order
 *     the eviction's reads (SourceC), the refill's writes (SinkD), and the response channel's writes and reads
 *     (SourceD);
 *   - the response channel (SourceD.scala): four stages, one beat a cycle; the answer to a miss that asks for the
 *     line's start follows the line beat by beat as it comes;
 *   - the way in: a TLBuffer of two beats for the DMA's reader and its writer each, one after their crossbar, one where
 *     the DMA leaves the tile, and another where the core does (gemmini Scratchpad.scala 200-202; rocket-chip
 *     HasTiles.scala); the system bus, on which DMA and core take turns (Arbiter.scala); a buffer of one beat that one
 *     passes in no time when it is empty (Parameters.scala, flowAD);
 *   - the way to the memory (rocket-chip CacheCork.scala): evictions go before fetches; permissions for lines that are
 *     written whole and releases of clean lines are answered at once, but their answers wait for a gap between lines;
 *     it has numbers for eight lines and permissions that the L2 has not acknowledged.
 *
 *   - probes (MSHR.scala, SourceB.scala; rocket-chip DCache.scala): the L2 holds what the core's data cache holds. A
 *     victim is taken from there first; so is a line that the DMA writes; of one that it reads the core keeps a copy
 *     that it may only read. What the core has written comes with the answer. */
#ifndef TW_GEMMINI_L2_H
#define TW_GEMMINI_L2_H

#include <stdbool.h>
#include <stdint.h>

#include "target/gemmini/core/cycles.h"
#include "tilewright/status.h"

typedef struct l2_parameters {
  int line_bytes, beat_bytes; /* 64, 16 */
  int port_bytes;             /* bandwidth of the memory port: bytes per cycle */
  int bytes, ways;            /* capacity */
  /* cycles from the request's departure at its client until it may be accepted: three buffers and the rest of the
   * way */
  int request_latency;
  int answer_latency; /* cycles from a beat's departure at the response channel until it is at the client */
  int answer_buffer;  /* beats that fit between the two */
  int misses;         /* miss registers for reads and writes */
  int fill_latency;   /* cycles from scheduling a fetch until the first beat comes back, for a line in the LLC */
  int llc_bytes, llc_miss_extra; /* capacity; additional cycles if the LLC lacks the line */
  int write_interval;            /* least cycles between two lines written to the memory */
  int write_latency;             /* cycles from writing a line's last beat until the acknowledgement is back */
} l2_parameters;

enum l2_client { L2_READER, L2_WRITER, L2_CORE, L2_CLIENTS }; /* the DMA's reader and writer, the core */
enum l2_kind { L2_READ, L2_WRITE, L2_REFILL, L2_WRITEBACK };

typedef struct l2_request {
  uint64_t from;    /* first cycle in which it may leave its client's own buffer */
  uint64_t address; /* aligned to bytes */
  uint32_t cookie;  /* the client's */
  uint8_t kind, bytes;
  bool partial; /* the put writes only a part of its bytes, so old data is read */
} l2_request;

typedef struct l2_response {
  uint64_t ready; /* cycle of its first beat at the earliest */
  uint32_t cookie;
  uint8_t kind, beats;
  uint8_t interval; /* cycles between its beats */
} l2_response;

/* A beat on its way in. It may leave its present buffer from request.from on. May also be all beats of a put
 * together. */
typedef struct l2_beat_in {
  l2_request request;
  bool first, last, all;
} l2_beat_in;

/* A TLBuffer with two entries. An entry that arrives in one cycle may leave in the next. The DMA's last buffer also
 * holds requests that meet no obstacle, from the cycle in which they leave their client. */
enum { L2_BUFFER = 8 };
typedef struct l2_buffer {
  l2_beat_in at[L2_BUFFER];
  unsigned first, count;
} l2_buffer;

enum {
  L2_QUEUE = 64,

  L2_PENDING = 64,
  L2_MISSES_MAX = 16,
  L2_SECONDARY = 28,
  L2_PUT_BEATS = 40,
  L2_MESSAGES = 32,
  L2_ANSWERS = 8,
  L2_PROBES =
      /* probes that the core has not seen: each line of a data cache of 256 lines may be lost, and before that its
       * write permission */
  512,
  L2_PROBES_SENT = 3, /* probes after the one that the data cache handles: SourceB's, and a buffer of two */
  L2_REQUEST_TO_ANSWER =
      4 /* minimum cycles from when it may move on its way in: two until it may be scheduled, two stages */
};

/* Bits for the state of a line in the core's data cache: a copy, the permission to write it, modified data. Also
 * used for what the core requests. */
enum { L2_HELD = 1, L2_HELD_TO_WRITE = 2, L2_HELD_DIRTY = 4 };
/* cookies of refills; L2_RIGHT_ALONE: the core has the line's data */
enum { L2_OF_INSTRUCTIONS = 1, L2_TO_WRITE = 2, L2_RIGHT_ALONE = 4 };

/* A line that the L2 takes from the core's data cache, or that the core may only read from now on. */
typedef struct l2_probe {
  uint64_t from, line; /* cycle from which this holds; line address / line size */
  bool stays;
} l2_probe;

typedef struct l2_register {
  l2_request request;
  uint64_t line, victim; /* victim: line + 1, 0 = none */
  uint32_t set;
  bool victim_is_dirty;
  uint8_t way, held;  /* way of its line; state in the core's data cache of the line that is taken from there */
  int8_t first, last; /* requests queued after it; -1 = none */
} l2_register;

/* A bit for each register, in a word's lowest sixteen. */
typedef uint32_t l2_registers;
/* Requests to the scheduler: for each kind of request, sixteen bits with one bit for each register. A register makes
 * one request of a kind. */
typedef uint64_t l2_wants;
enum l2_want { L2_RELEASE, L2_FETCH, L2_ANSWER, L2_END };

/* A message on its way back from the memory side. */
typedef struct l2_message {
  uint64_t from; /* the first cycle in which it may be taken */
  uint8_t of;    /* its miss register */
} l2_message;
typedef struct l2_messages {
  uint64_t from;       /* `from` of the first message; UINT64_MAX: no message */
  uint32_t first, end; /* counted without wrapping */
  l2_message at[L2_MESSAGES];
} l2_messages;

/* A beat in a stage of the response channel, 0 = none. It is one word, because it moves in every cycle. */
typedef uint32_t l2_beat;
enum {
  L2_BEAT_WRITES = 0xffff,   /* banks, a bit each */
  L2_BEAT = 1 << 16,         /* there is one */
  L2_BEAT_FIRST = 1 << 17,   /* of its answer */
  L2_BEAT_LEAVES = 1 << 18,  /* goes to the client, and has not left yet */
  L2_BEAT_ANSWER_SHIFT = 28, /* its answer's number */
};

typedef struct l2_cache {
  l2_parameters p;
  /* derived from the parameters; sizes are powers of two */
  uint64_t line_bytes, sets, llc_sets;
  int line_shift, beat_shift, bank_shift, llc_set_shift;
  unsigned line_beats; /* at the port */
  int beat_banks;      /* banks that a client's beat uses */
  uint32_t banks;      /* a bit each */
  uint64_t *tag;       /* [set * ways + way]: (line + 1) << 1 | dirty, 0 = invalid */
  uint32_t *llc_tag;   /* [set * ways + way]: line / sets + 1, 0 = invalid; a set is one of the host's cache lines */
  uint8_t *llc_filled; /* ways of a set that hold a line: the first ones */
  uint8_t *held;       /* [set * ways + way]: state of that line in the core's data cache, now or earlier */
  uint64_t llc_random;
  uint16_t lfsr;
  struct {
    l2_request request[L2_QUEUE];
    int head, count;
  } queue[L2_CLIENTS];
  l2_buffer writer, dma, port; /* buffers: of the writer, after the DMA's crossbar, at the DMA's exit from the tile */
  l2_beat_in before;           /* the buffer of channel A, after the system bus */
  bool waits_before;           /* there is one */
  enum l2_client last_dma, last_in; /* client that passed the crossbar or the bus last */
  bool dma_locked, port_locked;     /* the crossbar or bus is in the middle of a put of several beats */
  uint64_t left_at[2];  /* cycle of the last edge in which a beat left the buffer of the reader, and of the writer */
  uint64_t in_next;     /* next cycle in which any of these buffers may move */
  uint64_t at, next;    /* cycle of the last edge that was made; cycle of the next edge that changes anything */
  uint64_t accept_next; /* the core's puts occupy channel A until this cycle */
  bool refused;         /* the next request waits until a register is free */
  int put_beats;        /* beats in the put buffer */
  l2_register of[L2_MISSES_MAX];
  l2_registers valid;
  l2_wants want, can;    /* can: the requests for which there is room; for a release this also depends on the time */
  l2_registers granted;  /* registers whose grant has arrived and whose acknowledgement was scheduled */
  l2_registers answered; /* registers whose answer was scheduled */
  l2_registers has_line; /* registers whose line's last beat has arrived, or that requested no line */
  /* registers whose victim's release is answered, or that have no victim. For a hit: the line is back from the core */
  l2_registers victim_is_gone;
  l2_registers acknowledges; /* registers whose line the core has acknowledged, or whose line does not go to the core */
  l2_registers from_start;   /* registers whose request begins at the start of the line */
  l2_registers whole;        /* registers whose request writes the whole line */
  l2_registers writes_directory; /* when it ends */
  /* registers for which the directory was read in this cycle; sixteen bits above: in the previous cycle */
  l2_registers fresh;
  l2_registers to_probe; /* registers that must take a line from the core's data cache and have not requested it yet */
  l2_registers turn;     /* registers above the one that was scheduled last */
  uint64_t *sets_busy;   /* a bit for each set that a register uses */
  uint64_t probe_at[L2_PROBES_SENT]; /* cycles at which the data cache turned, or will turn, to the last probes */
  uint64_t probe_next;               /* earliest cycle at which it may turn to another probe */
  uint64_t probing_from;             /* the data cache has handled probes since this cycle */
  uint32_t probes_sent;
  l2_messages probed, probe_ends; /* its answers to probes; the last beats of these answers */
  l2_messages core_has;           /* its acknowledgements of requested lines */
  uint64_t core_next;             /* first cycle with any of these messages */
  l2_probe probe[L2_PROBES];      /* probes to tell the core */
  uint32_t first_probe, end_probe;
  uint64_t directory_written; /* cycle in which the directory writes, or wrote, the entry of its queue */
  l2_request secondary[L2_SECONDARY];
  int8_t secondary_next[L2_SECONDARY];
  uint32_t secondary_free;
  /* response channel */
  /* banks taken by other parts in the cycle `at`, a bit each; sixteen bits above: bank 0 in that cycle only */
  uint32_t taken_banks;
  bool answering, answer_read; /* the newest answer is in stage 1; its beat there needs no bank, or has been read */
  uint8_t newest;
  uint32_t reads, writes;                /* banks that its next beat reads, and writes */
  l2_beat beat, first_beat, later_beats; /* a beat; the parts that are equal in all beats of the answer */
  int beats_left;
  l2_response answer[1 << (32 - L2_BEAT_ANSWER_SHIFT)]; /* by number; has an entry also for a beat that is none */
  l2_beat stage[3];                                     /* stages 2 to 4 */
  int undelivered;                                      /* beats between the channel and the client */
  int taken; /* beats that the client took in that cycle, still to be subtracted */
  uint64_t taken_at;
  l2_response pending[L2_PENDING];
  uint32_t pending_first, pending_end;
  uint64_t answer_from; /* first cycle from which the next answer may be taken; UINT64_MAX: no answer */
  /* towards the memory */
  uint64_t evict_start; /* cycle in which the eviction's first beat is or was read */
  /* the put occupies channel A to the memory, from its arrival until its last beat has gone */
  uint64_t put_from, put_end;
  uint64_t release_from; /* cycle from which another release may be scheduled */
  uint64_t write_next;   /* cycle from which the memory accepts another line */
  l2_messages fetches;
  /* back */
  l2_messages lines, permitted;    /* grants: lines, permissions to write */
  l2_messages acknowledged, clean; /* releases: answers to writes, to releases of clean lines */
  l2_messages numbers;             /* numbers of grants, on their way back to the cork */
  int numbered;                    /* grants whose number has not come back */
  uint64_t written_from;           /* lower bound for the cycle of the next answer to a write */
  uint64_t port_next;              /* cycle of the memory's next beat of a line */
  bool filling;                    /* a line comes in */
  uint8_t fill_of;                 /* for that register */
  uint64_t fill_last;              /* cycle of the last beat of this line, or of the previous line */
  uint64_t outer_next;             /* next cycle in which any of the outer messages may move */
  uint64_t hits, fills, llc_misses, writebacks;
} l2_cache;

tw_status l2_init(l2_cache *, const l2_parameters *, tw_error *);
void l2_free(l2_cache *);
/* The LLC holds these bytes from the start; later ranges push out earlier ones when it is full. */
void l2_warm_llc(l2_cache *, uint64_t address, uint64_t bytes);

/* True if, after the edge of that cycle, only requests that have not arrived yet are on their way in. Then the DMA's
 * next request meets no obstacle. If this is true before the edges up to that cycle were made, these edges do not
 * change it. */
static inline bool l2_is_clear(const l2_cache *c, uint64_t cycle) {
  return !(c->writer.count | c->dma.count | (unsigned)(c->queue[L2_READER].count | c->queue[L2_CORE].count) |
           c->waits_before) &&
         c->port.count < L2_BUFFER && (!c->port.count || c->port.at[c->port.first].request.from > cycle);
}
/* As l2_send for the reader, or all beats of a put at once, if l2_is_clear. */
void l2_send_clear(l2_cache *, uint64_t cycle, enum l2_kind, uint64_t address, int bytes, bool partial,
                   uint32_t cookie);
static inline bool l2_reader_is_full(const l2_cache *c) { return c->queue[L2_READER].count >= 2; }
static inline bool l2_writer_is_full(const l2_cache *c) { return c->writer.count >= 2; }
/* Is there room for a request of the reader in `cycle`? All edges before that cycle must have been made, unless
 * there was room before them. */
static inline bool l2_read_has_room(const l2_cache *c, uint64_t cycle) {
  return c->queue[L2_READER].count + (c->left_at[L2_READER] == cycle) < 2;
}
/* A request of the reader or of the core, whose first beat leaves it in `cycle`; `bytes` is a power of two, the address
 * aligned to it. */
void l2_send(l2_cache *, enum l2_client, uint64_t cycle, enum l2_kind, uint64_t address, int bytes, uint32_t cookie);
/* Is there room for a beat of the writer in `cycle`? Conditions as for the reader. */
static inline bool l2_put_has_room(const l2_cache *c, uint64_t cycle) {
  return c->writer.count + (c->left_at[L2_WRITER] == cycle) < 2;
}
/* A beat of a put leaves the writer in `cycle`; partial: not all of its bytes are written. */
void l2_put(l2_cache *, uint64_t cycle, uint64_t address, int bytes, bool partial, bool first, bool last);
/* If the DMA's buffers are full: no beat leaves them before the edge of this cycle. */
uint64_t l2_next_room(const l2_cache *);
/* Makes all edges up to and including that of `cycle`. */
void l2_make_edges(l2_cache *, uint64_t cycle);
/* The same; returns false if none of these edges changes anything. */
static inline bool l2_run(l2_cache *c, uint64_t cycle) {
  const bool any = c->next <= cycle;
  if (any) l2_make_edges(c, cycle);
  return any;
}
/* With the edges made so far, no other answer will be in flight before the edge of this cycle. UINT64_MAX: none
 * before another request. The client receives an answer answer_latency cycles later, so the edges may lag the clock
 * by that many cycles. */
uint64_t l2_next_answer(const l2_cache *);
/* The same for requests sent since then. */
static inline uint64_t l2_next_new_answer(const l2_cache *c) { return c->in_next + L2_REQUEST_TO_ANSWER; }
/* The next answer, or NULL; it may be taken from its cycle `ready` on. */
static inline const l2_response *l2_next(const l2_cache *c) {
  return c->pending_first != c->pending_end ? &c->pending[c->pending_first % L2_PENDING] : 0;
}
/* Takes the answer; its service begins in that cycle. */
void l2_pop(l2_cache *, uint64_t cycle);
/* A line that the core's data cache lost until that cycle, or may only read from then on (*stays): its number + 1; 0
 * = no further line. Makes edges up to that cycle if necessary. */
uint64_t l2_take_probe(l2_cache *, uint64_t cycle, bool *stays);
/* After l2_take_probe: the cycle from which the known probes leave the core's data cache free; 0 if it is free in
 * `cycle`. */
static inline uint64_t l2_probes_until(const l2_cache *c, uint64_t cycle) {
  return ((c->probing_from <= cycle) & (cycle < c->probe_next)) ? c->probe_next : 0;
}
/* The core writes a line for which its data cache has the permission. Makes edges up to that of `cycle` if
 * necessary. */
void l2_note_write(l2_cache *, uint64_t cycle, uint64_t address);

#endif
