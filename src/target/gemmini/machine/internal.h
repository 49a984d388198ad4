/* internal.h - the clocked model's units and their registers.
 *
 * One function per unit makes one clock edge. Within a cycle the units run from the memories back to the core: array
 * outputs, DMA, execute, store, load, reservation station, front queues. Each reads its successor's state at the start
 * of the cycle where the RTL has a register, and after it where the RTL has a wire. Sources are files of
 * ucb-bar/gemmini at be2e9f2 (May 2023), src/main/scala/gemmini. */
#ifndef TW_GEMMINI_INTERNAL_H
#define TW_GEMMINI_INTERNAL_H

#include <string.h>

#include "base/trace.h"
#include "target/gemmini/l2/l2.h"
#include "target/gemmini/machine/loop_conv.h"
#include "target/gemmini/machine/loop_ws.h"
#include "target/gemmini/machine/machine.h"

enum { GM_LD, GM_EX, GM_ST, GM_QUEUES };
enum gm_origin { GM_BY_CORE, GM_BY_LOOP_WS, GM_BY_LOOP_CONV, GM_ORIGINS }; /* the origin of a command */

/* ---- reservation station (ReservationStation.scala) ---- */
enum { GM_BANKS = 32 };  /* banks of a memory: a bit mask holds them */
enum { GM_RS_MAX = 64 }; /* all entries together: a bit mask holds them */

typedef struct gm_range { /* rows of the scratchpad or, after all of those, of the accumulator */
  uint32_t start, rows;
} gm_range;

typedef struct gm_entry {
  gm_command command;
  gm_range a, b; /* opa, opb */
  bool a_is_destination, is_config;
  uint8_t queue, origin;
  uint64_t waits;      /* bit i: entry i, of another queue, must complete first */
  uint64_t dependents; /* bit i: entry i waits for this one */
  uint64_t issue_cycle;
} gm_entry;

typedef struct gm_station {
  gm_entry entry[GM_RS_MAX];
  int base[GM_QUEUES + 1];      /* entries of queue q: [base[q], base[q+1]) */
  uint64_t valid;               /* bit masks */
  uint64_t mask[GM_QUEUES + 1]; /* the last one: commands that pass by; no valid entry */
  struct {                      /* entries that have not been issued, in the order of issue (oldest first) */
    uint8_t entry[GM_RS_MAX];
    uint32_t first, end; /* counted without wrapping */
  } waiting[GM_QUEUES];
  uint32_t open;     /* queues, a bit each, whose next entry waits for no other */
  bool lone_preload; /* solitary_preload */
  /* configuration at allocation */
  uint32_t a_stride, c_stride, block_stride[3], pixels[3]; /* pixels: repeats minus one */
  bool a_transposed, pooling;
  int loop_completed[GM_ORIGINS][GM_QUEUES]; /* completed commands of loops that the loop unit was not told of yet */
} gm_station;

/* The next entry of the queue to be issued, NULL = none. */
static inline const gm_entry *gm_station_next(const gm_station *s, int queue) {
  const uint32_t first = s->waiting[queue].first;
  return first == s->waiting[queue].end ? NULL : &s->entry[s->waiting[queue].entry[first % GM_RS_MAX]];
}

/* ---- load controller and DMA reader (LoadController, Scratchpad, DMA, XactTracker, BeatMerger) ---- */
enum { GM_LOAD_QUEUE = 16, GM_TRACKERS = 40, GM_READ_ISSUE = 8, GM_XACTS = 64, GM_SCALE_RING = 3, GM_SETTLED = 64 };

typedef struct gm_mvin { /* in flight, by its tracker: the properties common to all its rows */
  bool valid;
  uint8_t entry;
  bool acc, wide, accumulate, unit_scale; /* wide: accumulator-width data */
  bool plain;                             /* a beat is a row of the scratchpad, unchanged */
  uint8_t pixels;                         /* pixel repeats minus one */
  uint16_t bytes, block_stride, repeats;  /* bytes: of a row */
  int bytes_left;
  /* cycle of the last row so far; cycle of the command's last row, GM_NEVER: not known yet */
  uint64_t last_write, returned;
} gm_mvin;

typedef struct gm_mvin_row { /* on its way to memory or to the zero writer */
  uint64_t address;
  uint32_t row; /* local row of the first block */
  uint8_t tracker;
} gm_mvin_row;

typedef struct gm_packet { /* XactTrackerEntry */
  uint32_t row;
  uint16_t shift, useful, length, row_offset; /* bytes: skipped, used, fetched, offset in the first local row */
  uint8_t tracker;
  bool plain; /* nothing but whole rows of a plain mvin */
} gm_packet;

typedef struct gm_row_write { /* a row of data on its way into a memory */
  bool valid, acc, last, accumulate, unit_scale, wide;
  uint8_t tracker, pixels; /* pixels: remaining writes in rows before this one */
  uint16_t bytes, repeats; /* bytes: to report when `last` */
  uint32_t row;
  uint64_t ready;
} gm_row_write;

/* A request for a packet. */
typedef struct gm_get {
  uint64_t address;
  uint8_t bytes, slot;
} gm_get;

typedef struct gm_loader {
  gm_get queued, translated; /* DMA.scala: tlb_q, translate_q */
  bool has_queued, has_translated;
  uint64_t translated_from; /* cycle in which the request is in the second register, if it gets there */
  uint64_t sent_at;         /* cycle in which the last request that was sent ahead leaves */
  bool stalled; /* the requests exchange places in every cycle, without other effects, until the L2 has room */
  uint64_t stalled_at;
  struct {
    gm_command command;
    uint8_t entry;
    uint64_t ready;
  } queue[GM_LOAD_QUEUE];
  int head, count;
  bool sending;
  bool zeros; /* the current transmission */
  int row, rows;
  gm_mvin_row next;
  uint64_t stride;
  gm_mvin tracker[GM_TRACKERS];
  int trackers, trackers_busy;
  uint64_t first_returned; /* the earliest of these cycles */
  bool last_sent;
  /* DMA reader */
  gm_mvin_row issue[GM_READ_ISSUE];
  int issue_head, issue_count, issue_depth;
  bool reading;
  gm_mvin_row read;
  int requested; /* bytes of the row already requested */
  gm_packet packet[GM_XACTS];
  uint64_t packets_free, freed; /* freed by the last beat in cycle freed_at; usable from the next cycle on */
  uint64_t freed_at, all_packets;
  /* answer being received */
  int serving, beats_left; /* the packet at the data port */
  uint8_t serving_interval;
  uint64_t next_beat; /* cycle from which the data port may deliver again */
  /* beat merger */
  bool merging;
  gm_packet merge;
  int beats_read, bytes_sent, bytes_sent_next; /* all in bytes */
  /* scaling, repeating, writing */
  bool flows; /* rows may be in later stages or in the beat merger */
  gm_row_write scale_in, acc_in, repeat_out;
  gm_row_write ring[GM_SCALE_RING];
  int ring_head, ring_count;
  uint64_t scale_free;
  /* Rows of answers that cannot be delayed. They are written in these cycles without passing the stages above. */
  uint64_t settled;                 /* these cycles since the last settling, as bits cycle % GM_SETTLED */
  uint64_t settled_last;            /* bits of a packet's last row; past cycles included */
  uint64_t settled_end;             /* one past the last such cycle */
  uint64_t settled_to[GM_BANKS];    /* by bank: its bits in settled; past cycles included */
  uint8_t settled_bank[GM_SETTLED]; /* owner of that bit */
  bool beat_is_row;                 /* of the scratchpad */
  /* zero writer */
  bool zero_busy;
  gm_mvin_row zero;
  int zero_column;
  gm_row_write zero_out;
} gm_loader;

/* ---- execute controller and mesh (ExecuteController, TransposePreloadUnroller, MeshWithDelays, Mesh) ---- */
enum { GM_EX_QUEUE = 16, GM_EX_RING = 32, GM_CONTROL_QUEUE = 8, GM_TAGS = 32, GM_ROWS = 1024 };

/* The controller's effect of a command. Where a transposed B is unrolled, the command itself may differ or be absent:
 * its entry defines the computation. */
typedef struct gm_ex_command {
  gm_command command;
  int entry;      /* -1: no command completes, and nothing is computed */
  uint64_t ready; /* the cycle from which the controller sees it */
} gm_ex_command;

typedef struct gm_tag {
  int entry; /* -1: nothing completes */
  bool garbage, acc, accumulate;
  uint32_t row, stride;
  uint8_t rows, id, written; /* written: rows of the result that are in their memory */
} gm_tag;

typedef struct gm_control { /* one cycle's worth of row reads on its way to the mesh */
  uint64_t data;            /* cycle at which the rows read are at the mesh */
  bool a, b, d, first;
  uint8_t total, id;
  uint8_t resume; /* rows of the matrix that were already fed in one stretch; 0 = none */
} gm_control;

/* Rows of one matrix that leave the array in successive cycles. */
typedef struct gm_outflow {
  uint64_t exit;          /* cycle of the first */
  uint16_t count, before; /* rows; rows of the same matrix in earlier stretches */
  uint8_t id;
  bool last; /* ends the matrix */
} gm_outflow;

/* GM_EX_STRETCH: the whole matrix is being fed, one row per cycle, without obstacles; its rows are already in `rows`. A
 * write to a bank that it reads changes it back to GM_EX_COMPUTE (gm_executor_disturb). */
enum gm_ex_state { GM_EX_WAIT, GM_EX_COMPUTE, GM_EX_STRETCH, GM_EX_FLUSH, GM_EX_FLUSHING };
enum gm_ex_action { GM_PRELOAD_ALONE, GM_COMPUTE_ALONE, GM_OVERLAP };

typedef struct gm_operand {
  bool feeds, garbage, padded; /* start_inputting; no address */
  uint32_t row;
  int step;  /* rows between rows: +stride, or -1 for the weights, which enter last row first */
  int rows;  /* real rows; the rest is zeros */
  int count; /* fire counter */
  int own;   /* number of results in flight that are younger than the data being read */
  bool started;
} gm_operand;

typedef struct gm_executor {
  gm_ex_command queue[GM_EX_RING]; /* from head on: the queue's, then the unroller's */
  int n_unroll, unroll_state;
  bool b_transposed;
  int head, count;
  enum gm_ex_state state;
  enum gm_ex_action action;
  gm_operand a, b, d; /* not set for a plain pair, see begin in execute.c */
  int total;
  uint64_t begun;                    /* the cycle in which feeding it was decided */
  gm_tag tag;                        /* tag of the matrix that is being fed */
  bool watched;                      /* results for the scratchpad are on their way */
  bool lockstep;                     /* A and the weights cannot delay each other */
  uint32_t a_bank, d_bank;           /* bits, if lockstep */
  uint64_t stretch_from, stretch_to; /* cycles of its first and last row */
  uint64_t stretch_in_array;         /* the first cycle in which the next matrix may reach the array */
  uint32_t stretch_banks;            /* that it reads */
  int resume;                        /* rows fed before a stretch was disturbed, until the next row is on its way */
  int id_fed;                        /* matmul_id of the matrix being fed */
  int firsts_on_way;                 /* matrices whose first row is still on its way to the array */
  int finished[2];                   /* pending_completed_rob_ids: entry, -1 = none */
  uint64_t finished_at;              /* the cycle in which they were set; they are visible from the next cycle on */
  int mesh_done;                     /* entry that the array or a config completes in this cycle, -1 = none */
  bool room_for_tag;                 /* at the start of the cycle */
  bool weight_stationary, a_transposed;
  bool plain, plain_pair; /* weights and untransposed A: two whole tiles in two banks, without D, are being fed */
  uint64_t whole;         /* the size of a whole tile, as in the commands */
  uint32_t a_stride, c_stride;
  gm_control control[GM_CONTROL_QUEUE];
  int control_head, control_count, control_depth;
  /* mesh */
  bool request, flush;
  int request_rows, fire_count;
  bool a_written, b_written, d_written;
  int id, ids;          /* matmul_id of the latest matrix, its modulus */
  int id_in_array;      /* ID of the matrix whose rows enter the array one by one */
  gm_tag tags[GM_TAGS]; /* in the order of their matrices */
  int tag_head, tag_count;
  int results_to_spad;       /* tags whose C is in the scratchpad */
  int tags_arrived, tag_max; /* tags whose matrix has reached the array: the RTL's tag queue */
  gm_outflow rows[GM_ROWS];
  int row_head, row_count;
  int latency;            /* a row's way through the array */
  uint64_t output_of;     /* the last cycle of gm_mesh_output + 1 */
  uint64_t output_at;     /* the next cycle in which it ends a matrix, if the station has to call it */
  uint64_t counted_to;    /* idle cycles are counted up to here */
  uint64_t *idle_counter; /* the counter of the array's wait since then; NULL = it was fed */
} gm_executor;

/* ---- store controller and DMA writer (StoreController, Scratchpad, AccumulatorScale, DMA) ---- */
enum { GM_STORE_QUEUE = 8, GM_STORE_RING = 64 };
/* Maximum number of cycles by which the departure of rows from the accumulator may be settled ahead: see place() in
 * front.c. Additions are unknown beyond the latency of a row through the array. */
enum { GM_STORE_AHEAD = 4 };

enum gm_store_kind { GM_ROW_OF_ACC, GM_ROW_OF_SPAD, GM_ROW_GARBAGE, GM_STORE_KINDS };
typedef struct gm_store_row { /* 64 bytes, as large as one of the host's cache lines */
  uint64_t address;
  uint32_t number; /* of its kind */
  uint16_t bytes;  /* bytes that the writer writes after the row's arrival; 0: other blocks must arrive first */
  uint8_t tracker, kind, bank;
  bool last;                                  /* of its command */
  uint64_t read, scaled, issued, ready, left; /* cycles in which the row moves on; the writer sees it from `ready` on */
} gm_store_row;

/* Address translation, which changes no address here but takes time (FrontendTLB.scala): reader and writer of the
 * DMA each have a register for their last page. For other pages it uses the shared TLB, which answers one request
 * per cycle. */
enum gm_dma { GM_DMA_WRITER, GM_DMA_READER };
enum { GM_PAGE_SHIFT = 12 };
typedef struct gm_tlb {
  struct {
    uint64_t page, asked; /* the register; the page requested from the TLB */
    uint64_t asks_at;     /* the TLB sees the request in this cycle */
    bool hit;             /* the last cycle's comparison with the register */
  } of[2];
  uint64_t decided_at; /* the cycle whose arbitration is known */
  enum gm_dma turn, last;
} gm_tlb;

typedef struct gm_put {
  uint64_t address;
  uint8_t bytes;
  bool partial;
} gm_put;
/* A beat of put i, encoded as a word: GM_BEAT if it exists; its place in the put; i from bit GM_BEAT_PUT on. */
enum { GM_BEAT = 1, GM_BEAT_FIRST = 2, GM_BEAT_LAST = 4, GM_BEAT_PUT = 3, GM_PUTS = 4 };

typedef struct gm_storer {
  struct {
    gm_command command;
    uint8_t entry;
    uint64_t ready;
  } queue[GM_STORE_QUEUE];
  int head, count, depth;
  bool sending;
  uint8_t tracker_now, kind;          /* of its rows */
  uint32_t local, line;               /* the next row in memory, the first row of its line */
  int rows_left, blocks_left, blocks; /* remaining lines; remaining blocks of this line; blocks of each line */
  uint16_t line_bytes;
  uint64_t stride, address;
  bool pooling;
  int window_row, window_column, out_row, out_column; /* if so */
  unsigned bank_shift;
  struct {
    bool valid;
    uint8_t entry;
    uint64_t returned; /* cycle in which its last row is read; GM_NEVER: not known yet */
  } tracker[GM_TRACKERS];
  int trackers, trackers_busy;
  uint64_t returns_at; /* the next cycle after one of these */
  bool trackers_done;
  uint64_t drop_at; /* cycle in which the command being sent leaves the queue; GM_NEVER: not known yet */
  /* Rows keep their order, so they have numbers, counted without wrapping. The number of rows that have moved on,
   * including cycles to come: */
  gm_store_row ring[GM_STORE_RING];
  uint32_t sent, read, scaled, issued, left;
  uint32_t scale_depth, issue_depth, ahead;
  uint64_t sent_at[2];           /* by row number, for rows that are not read yet */
  uint64_t started;              /* the command being sent */
  uint64_t send_from, read_from; /* no row is sent, and none is read, before this cycle */
  uint64_t read_next;            /* cycle in which to check whether the next row can be read */
  uint64_t known_from, known_to; /* gm_mesh_will_accumulate in these cycles */
  uint32_t known_banks;
  uint32_t of[GM_STORE_KINDS]; /* rows sent, by kind */
  uint32_t of_acc_issued, of_spad_left;
  uint64_t acc_issued[2]; /* by row number: the cycle of its issue */
  uint64_t spad_left[8];
  /* for the accumulator: cycle in which the row that was read last leaves norm; GM_NEVER: unknown */
  uint64_t output_free[GM_BANKS];
  /* writer */
  bool writing; /* from write_from on */
  uint64_t write_from, free_from;
  uint64_t write_address;
  int write_bytes;
  gm_put put[GM_PUTS];
  uint32_t puts;        /* number of puts so far; the last one belongs to the present row, if one has begun: */
  uint8_t beats_left;   /* of it */
  uint8_t beat;         /* its next beat, if there is one */
  int packet_bytes;     /* part of the row that is in it; 0 = none begun */
  uint64_t packet_done; /* cycle of the last beat of a row that has left completely; 0 = none */
  uint8_t queued, translated, shadow; /* beats: DMA.scala tlb_q, translate_q, shadow_retry_a */
  uint64_t beats_from;                /* beats do not move before this cycle */
  bool stalled;                       /* beats do not move until the L2 has room */
  int in_flight;
  uint64_t others_next; /* the next cycle in which anything but the writer may move */
} gm_storer;

/* ---- front queues ---- */
enum { GM_FRONT = 5, GM_FRONT_SLOTS = 16 }; /* router, raw, loop conv, loop matmul, unrolled: five two-entry queues */

typedef struct gm_front {
  struct {
    gm_command command;
    uint8_t origin, station_queue; /* GM_QUEUES: it passes by */
  } slot[GM_FRONT_SLOTS];          /* slots of the commands in the queues; each command keeps its slot */
  uint32_t free;                   /* bit per slot */
  int count, loops;                /* commands in all queues; how many of them are for a loop unit, or unknown */
  bool stepped; /* stepped cycle by cycle, because of the loop units; otherwise computed with the times below */
  /* State of the ends. The next command of the last queue and the first cycle in which it is visible; the cycle from
   * which the first queue has room for another command. GM_NEVER: none, or unknown so far. */
  uint64_t head_from, room;
  uint8_t head;
  /* By command number, for the last 2 * GM_FRONT commands: the arrival as there() counts it; the departure, one
   * cycle after the station accepted it. */
  uint64_t came[GM_FRONT_SLOTS], left[GM_FRONT_SLOTS];
  uint8_t slot_of[GM_FRONT_SLOTS];
  uint32_t oldest, next; /* numbers, counted without wrapping */
  /* if stepped: */
  struct {
    uint8_t slot[2], count;
  } queue[GM_FRONT]; /* oldest first */
  bool taken;        /* the station took the last queue's head in this cycle */
  uint32_t moved;    /* the queues that have changed in this cycle, a bit each */
} gm_front;

/* ---- event counters (CounterFile.scala): events.c ---- */
enum { GM_EVENT_COUNTERS = 8 }; /* Configs.scala: num_counter */

typedef struct gm_events {
  bool counts; /* the program has used a counter */
  bool is_frozen;
  struct {
    uint32_t count, snapshot;
    uint8_t event;
    bool external;
  } counter[GM_EVENT_COUNTERS];
  uint64_t now;  /* signals in the cycle of the last step, a bit for each event */
  uint64_t from; /* the first cycle after it */
} gm_events;

/* ---- the whole ---- */

/* For each unit, the cycle until which it sleeps. A unit that acted, or may act in the next cycle, wakes in the next
 * cycle. Other units can wake it earlier. */
enum gm_unit {
  GM_UNIT_ARRAY,
  GM_UNIT_L2,
  GM_UNIT_READ,
  GM_UNIT_EXECUTE,
  GM_UNIT_STORE,
  GM_UNIT_STATION,
  GM_UNIT_FRONT,
  GM_UNITS
};
#define GM_NEVER UINT64_MAX

struct gm_machine {
  gm_config config;
  const rv64_memory *memory;
  gm_arch *arch;
  l2_cache l2;
  gm_tlb tlb;
  uint64_t now;                          /* the cycle that the next step simulates */
  uint64_t wake[GM_UNITS];               /* the next cycle in which the unit does anything */
  int dim_shift, input_shift, acc_shift; /* log2 of elements in a row, bytes of a row */
  int beat_shift;                        /* log2 of the bytes of a beat */
  int input_bytes, acc_bytes;            /* of an element */
  int spad_bank_shift, acc_bank_shift;
  uint32_t spad_rows, acc_rows;
  /* shared wires of the current cycle */
  uint32_t spad_written, spad_read, acc_written, acc_accumulated; /* bit per bank */
  gm_front front;
  gm_loop_ws loop;
  gm_loop_conv conv;
  gm_station rs;
  gm_loader ld;
  gm_executor ex;
  gm_storer st;
  struct {
    uint64_t last_beat;
  } refill[2];  /* the line of the core's data, and of its instructions; last_beat 0: on its way */
  bool fencing; /* the core waits at a fence */
  gm_counters counters;
  uint64_t counted_from;
  gm_events events;
  rv64_answer answer;             /* answer to the last access of an event counter; cycle 0: none yet */
  uint64_t limit;                 /* the last cycle that may be simulated */
  bool loads_accumulate;          /* a load that adds to the accumulator has been in flight */
  uint64_t place;                 /* place of the next command */
  const rv64_region *last_loaded; /* by the core */
  bool loads_count;               /* the next load counts: a store may write the bytes that it reads */
  bool any_order;                 /* gm_machine_allow_any_order */
  gm_listener listener;           /* receives the core's commands; its functions may be NULL */
  tw_trace trace;
  char why[256]; /* non-empty: the program has failed */
};

static inline uint32_t gm_row_of(const gm_machine *m, uint32_t local) {
  return local & ((gm_is_acc(local) ? m->acc_rows : m->spad_rows) - 1);
}

/* The slot of the command that the last front queue shows to the station, -1 = none. */
static inline int gm_front_head(const gm_machine *m) { return m->front.head_from <= m->now ? m->front.head : -1; }
void gm_front_init(gm_machine *);
/* The station takes that command in this cycle. */
void gm_front_take(gm_machine *);
/* A command that the loop made for that queue of the station completes in this cycle, so the loop may make another
 * one. */
void gm_front_completed(gm_machine *, enum gm_origin loop, int queue);
/* A command enters the first queue, which must have room; it may move on in this cycle. */
void gm_front_push(gm_machine *, const gm_command *);

static inline bool gm_loops_busy(const gm_machine *m) {
  return gm_loop_ws_busy(&m->loop) || gm_loop_conv_busy(&m->conv);
}

static inline void gm_wake(gm_machine *m, enum gm_unit unit, uint64_t cycle) {
  const uint64_t before = m->wake[unit];
  m->wake[unit] = cycle < before ? cycle : before;
}

/* There is room for another command of that queue. */
static inline void gm_wake_issue(gm_machine *m, int queue) {
  if (m->rs.open >> queue & 1) gm_wake(m, GM_UNIT_STATION, m->now);
}

/* The L2 may lag the clock, as long as its answers, and room for a waiting request, are known in time. */
static inline unsigned gm_l2_lag(const gm_machine *m) { return (unsigned)m->l2.p.answer_latency - 1; }
static inline void gm_await_room(gm_machine *m) {
  const uint64_t in = l2_next_room(&m->l2);
  gm_wake(m, GM_UNIT_L2, in == GM_NEVER ? GM_NEVER : in + 1);
}
/* A request was sent to the L2. */
static inline void gm_wake_l2(gm_machine *m) {
  gm_wake(m, GM_UNIT_L2, l2_next_new_answer(&m->l2) + gm_l2_lag(m));
  if (m->ld.stalled | m->st.stalled) gm_await_room(m);
}
/* True if the client's address at the comparison is translated in this cycle. Updates its register: once per cycle. */
static inline bool gm_translated(gm_machine *m, enum gm_dma client, uint64_t cycle) {
  gm_tlb *t = &m->tlb;
  if (t->of[client].asks_at != cycle) return t->of[client].hit;
  if (t->decided_at != cycle) {
    t->decided_at = cycle;
    if (t->of[!client].asks_at != cycle)
      t->turn = client;
    else
      t->turn = (enum gm_dma) !t->last;
    t->last = t->turn;
  }
  return t->turn == client;
}
/* The client compares a page with its register. If the page differs and the request moves on, it asks the TLB.
 * Called at the end of the client's cycle. */
static inline void gm_compare_page(gm_machine *m, enum gm_dma client, uint64_t cycle, uint64_t address, bool moves) {
  gm_tlb *t = &m->tlb;
  const uint64_t page = address >> GM_PAGE_SHIFT;
  t->of[client].hit = page == t->of[client].page;
  if (t->of[client].asks_at == cycle && t->turn == client) t->of[client].page = t->of[client].asked;
  if (!moves || t->of[client].hit) return;
  t->of[client].asked = page;
  t->of[client].asks_at = cycle + 1;
}
/* The client's register has that address's page and keeps it while the client uses no other page. */
static inline bool gm_keeps_page(const gm_machine *m, enum gm_dma client, uint64_t address) {
  return (m->tlb.of[client].asks_at <= m->now) & (address >> GM_PAGE_SHIFT == m->tlb.of[client].page);
}
/* The client's register has the pages of both, and will keep them. */
static inline bool gm_same_page(const gm_machine *m, enum gm_dma client, uint64_t a, uint64_t b) {
  const uint64_t page = m->tlb.of[client].page;
  return m->tlb.of[client].hit & (m->tlb.of[client].asks_at <= m->now) &
         (((a >> GM_PAGE_SHIFT ^ page) | (b >> GM_PAGE_SHIFT ^ page)) == 0);
}
/* Called after the L2 has made edges. */
void gm_look_at_l2(gm_machine *);
/* Lets the L2 catch up with that cycle. */
static inline void gm_run_l2(gm_machine *m, uint64_t cycle) {
  if (l2_run(&m->l2, cycle)) gm_look_at_l2(m);
}
static inline bool gm_l2_is_clear(gm_machine *m) {
  if (l2_is_clear(&m->l2, m->now)) return true;
  gm_run_l2(m, m->now);
  return l2_is_clear(&m->l2, m->now);
}

/* units, one clock edge each; they set their own next waking */
void gm_array_step(gm_machine *);
void gm_read_step(gm_machine *); /* load controller, DMA reader, and the L2's ports */
void gm_execute_step(gm_machine *);
void gm_store_step(gm_machine *);
void gm_station_step(gm_machine *);
/* Before the units of a step, if the program uses event counters. */
void gm_events_step(gm_machine *);
/* A command has entered the station in this cycle. */
void gm_events_allocated(gm_machine *);
/* An access, with the station's entries at the start of the cycle. */
void gm_events_access(gm_machine *, uint64_t rs1, uint64_t valid_before);
/* Controller.scala: the station holds more than a lone preload. */
static inline bool gm_station_busy(const gm_machine *m) {
  const uint64_t held = m->rs.valid;
  return held && !(m->rs.lone_preload && !(held & (held - 1)));
}
/* ExecuteController.scala: it sees a command, or a matrix is in the array. */
bool gm_executor_busy(const gm_machine *, uint64_t cycle);
void gm_front_step(gm_machine *);

/* The scratchpad bank that a row settled in advance is written to in this cycle or a later one, as a bit. */
static inline uint32_t gm_settled_bank(const gm_machine *m, uint64_t cycle) {
  const gm_loader *l = &m->ld;
  const uint32_t there = (cycle < l->settled_end) & (uint32_t)(l->settled >> cycle % GM_SETTLED);
  return there << l->settled_bank[cycle % GM_SETTLED];
}
/* The first cycle in [from, to], none of them past, in which such a row is written to one of the banks. */
static inline uint64_t gm_next_settled(const gm_machine *m, uint32_t banks, uint64_t from, uint64_t to) {
  const gm_loader *l = &m->ld;
  to = earlier(to + 1, l->settled_end);
  if (from >= to) return GM_NEVER;
  uint64_t bits = 0;
  for (uint32_t rest = banks; rest; rest &= rest - 1) bits |= l->settled_to[__builtin_ctz(rest)];
  bits &= l->settled;
  const unsigned first = from % GM_SETTLED; /* its bit comes first */
  bits = bits >> first | bits << ((GM_SETTLED - first) % GM_SETTLED);
  const uint64_t cycle = from + (unsigned)(bits ? __builtin_ctzll(bits) : GM_SETTLED);
  return cycle < to ? cycle : GM_NEVER;
}

/* The accumulator banks, a bit each, to which the array adds in a later cycle, before the current input is through, and
 * in the cycles up to `until`, from its current contents. */
uint32_t gm_mesh_will_accumulate(const gm_machine *, uint64_t cycle, uint64_t *until);
void gm_mesh_output(gm_machine *); /* the array's writes and completions */
/* Call before reading the array's contents at the end of the cycle: lets results for the accumulator leave without a
 * separate step. */
static inline void gm_mesh_follow(gm_machine *m) {
  if (m->ex.output_at <= m->now) gm_array_step(m);
}
/* Call before reading the array's writes to the accumulator in this cycle. */
static inline void gm_mesh_look(gm_machine *m) {
  if (m->ex.output_of <= m->now) gm_mesh_output(m);
}

/* A scratchpad bank is written in this cycle. If a stretch reads that bank, its rows are fed one by one from here
 * on. */
void gm_executor_disturb(gm_machine *);
static inline void gm_write_bank(gm_machine *m, uint32_t bank) {
  m->spad_written |= bank;
  if (m->ex.stretch_banks & bank && m->ex.state == GM_EX_STRETCH && m->now <= m->ex.stretch_to) gm_executor_disturb(m);
}

void gm_execute_init(gm_machine *);
void gm_load_init(gm_machine *);
void gm_store_init(gm_machine *);
void gm_station_init(gm_machine *);

int gm_station_queue(const gm_command *);

/* The reservation station's side of the units. */
static inline bool gm_loader_accepts(const gm_machine *m) { return m->ld.count < m->config.queue_load; }
static inline bool gm_executor_accepts(const gm_machine *m) { return m->ex.n_unroll < 2; }
static inline bool gm_storer_accepts(const gm_machine *m) { return m->st.count < m->st.depth; }
void gm_loader_push(gm_machine *, const gm_command *, int entry);
void gm_executor_push(gm_machine *, const gm_command *, int entry);
void gm_storer_push(gm_machine *, const gm_command *, int entry);
/* A finished command that wants the completion port in this cycle, or -1; taken = it got it. */
static inline int gm_executor_finished(gm_machine *m) { /* results first (ExecuteController.scala:978-990) */
  gm_executor *x = &m->ex;
  if (x->mesh_done >= 0) return x->mesh_done;
  if (((x->finished[0] & x->finished[1]) < 0) | (x->finished_at >= m->now)) return -1;
  const int i = x->finished[0] < 0, done = x->finished[i];
  x->finished[i] = -1;
  return done;
}
int gm_loader_finished(gm_machine *);
uint64_t gm_loader_next_finished(const gm_machine *); /* the next cycle with one, this or later */
int gm_storer_finished(gm_machine *, bool take);

/* anything that keeps a fence waiting, beyond the reservation station */
bool gm_loader_busy(const gm_machine *);
bool gm_storer_busy(const gm_machine *);
void gm_executor_count_idle(gm_machine *); /* up to this cycle */
void gm_write_acknowledged(gm_machine *);
/* May the writer ask in this cycle or the next one whether the L2 is clear? */
static inline bool gm_writer_may_ask(const gm_machine *m) {
  const gm_storer *s = &m->st;
  return s->writing & (s->write_from <= m->now + 1) & (s->packet_done <= m->now + 1);
}
void gm_reader_catch_up(gm_machine *); /* including the reader's TLB requests up to this cycle */

void gm_trace_span(gm_machine *, const char *unit, const char *name, uint64_t from, uint64_t to);

#endif
