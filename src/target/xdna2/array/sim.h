/* sim.h - the state of a simulation, for the files of this folder: run.c (host, whole), dma.c (channels, circuits),
 * ddr.c (bandwidth), core.c, lock.c, blame.c (deadlocks). Times are cycles of the core clock. */
#ifndef TW_XDNA2_ARRAY_SIM_H
#define TW_XDNA2_ARRAY_SIM_H

#include "target/xdna2/array/events.h"
#include "target/xdna2/array/kernel.h"
#include "target/xdna2/array/run.h"

/* ---- events ---- */

typedef enum event_kind { EV_CHANNEL, EV_SEGMENT, EV_SINK, EV_DDR, EV_CORE } event_kind;

enum { EVENT_KINDS = 8 };

/* For an event: `agent` is owner * EVENT_KINDS + kind, owner: channel, route, core; `what`: SINK: which; DDR:
 * version. */
typedef tw_event event;

static inline event_kind kind_of_event(const event *e) { return (event_kind)(e->agent % EVENT_KINDS); }
static inline int who_of_event(const event *e) { return e->agent / EVENT_KINDS; }

static inline void queue_add(tw_events *q, double at, event_kind kind, int who, int what) {
  tw_events_add(q, at, who * EVENT_KINDS + (int)kind, what);
}

/* ---- state ---- */

typedef enum channel_phase { IDLE, STARTING, BLOCKED, READY, MOVING, FINISHING } channel_phase;

typedef struct task {
  int descriptor, repeat;
  bool token;
} task;

enum { QUEUE_MAX = 32 };

typedef struct channel_state {
  channel_phase phase;
  int route, sink; /* sink: index in the route, -1 for the source */
  bool packets;    /* it is on routes of packets, which begin and end with a descriptor of the source */
  int engaged;     /* for a sink: the route of its current packet, + 1; 0: none */
  task waiting[QUEUE_MAX], now;
  int n_waiting, first_waiting;
  bool running, warm;  /* a task is running; there was an earlier one */
  int descriptor;      /* current */
  int64_t done, bytes; /* bytes in the stream of its execution */
  double ready_at, begun_at;
  int64_t tokens; /* tokens of ended tasks, not yet taken */
} channel_state;

typedef struct route_state {
  bool moving, is_read, is_write; /* DDR at its source, at a sink */
  int64_t segment;                /* bytes in flight */
  double begin;
  /* for a DDR flow */
  double left, rate, request; /* bytes, bytes a cycle, cycles of requests for each byte */
  bool flowing;
} route_state;

/* Agents wait for locks: channels first, then cores. */
typedef struct lock_state {
  int value;
  int first_waiting; /* agent, -1 */
} lock_state;

typedef struct core_state {
  size_t at;            /* next operation */
  const double *cycles; /* for each operation that is a call: index in sim.call_cycles */
  int loops;
  struct {
    size_t start;
    int64_t left;
  } loop[XD_LOOPS];
  int64_t *registers; /* for scalar code */
  double ahead;       /* cycles spent since the event that runs now */
  double waits_since;
  int waits_for_parameter; /* -1: no */
  bool ended;
  bool is_set[XD_PARAMETERS];
  int64_t parameter[XD_PARAMETERS];
} core_state;

typedef struct port_state {
  int oldest, held; /* first held buffer (index in the port), how many */
} port_state;

typedef struct sim {
  const xd_config *config;
  const xd_program *program;
  const xd_run_options *options;
  xd_run_result *result;
  tw_error *error;
  tw_status status; /* time of the first failure */
  double now;
  tw_events queue;
  channel_state *channel;
  route_state *route;
  lock_state *lock;
  core_state *core;
  port_state *port;
  double *call_cycles; /* counts for the operations of all cores, core by core */
  int64_t *iteration;  /* for each descriptor: executions so far */
  int64_t *bytes;      /* for each descriptor: bytes of one execution, in the stream */
  double *request;     /* for each descriptor: cycles of requests to DDR per byte */
  int *holder;         /* for each number in each tile's table: the descriptor written there last, -1 */
  int *in_use;         /* for each descriptor: the number of running or queued tasks that use it */
  int *next_waiting;   /* for each agent: the next agent that waits for the same lock */
  int *wanted; /* for each agent: the amount that it will subtract; -1 - v: it waits until the lock has the value v */
  int *waits_for;   /* for each agent: the lock that it waits for, -1 */
  uint8_t **memory; /* for each buffer; NULL without data */
  uint8_t *stream;  /* bytes of one segment */
  int64_t stream_room;
  int n_flows, flow[256]; /* routes that move from or to DDR */
  double flows_at;
  int ddr_version;
  size_t command; /* index of the sequence's next command */
} sim;

static inline int agent_of_core(const sim *s, int core) { return (int)s->program->channels.n + core; }

/* Remembers the first failure. */
#define SIM_FAIL(s, ...)                                                                                               \
  do {                                                                                                                 \
    if ((s)->status == TW_OK) (s)->status = tw_fail((s)->error, TW_FAILED, __VA_ARGS__);                               \
  } while (0)

/* ---- lock.c ---- */
bool lock_take(sim *, int agent, xd_lock_use); /* false: the agent waits; agent_granted is called when it is served */
/* as lock_take, but waits until the lock has this value, and does not change it */
bool lock_await(sim *, int agent, int lock, int value);
void lock_give(sim *, xd_lock_use);
void lock_set(sim *, int lock, int value);

/* ---- dma.c ---- */
void channel_begin(sim *, int channel);   /* begins at the lock of its next descriptor */
void channel_granted(sim *, int channel); /* has its lock */
void channel_start_task(sim *, int channel, const task *);
void route_segment_end(sim *, int route);
void route_sink_end(sim *, int route, int sink);

/* ---- ddr.c ---- */
void ddr_add(sim *, int route); /* the route's segment begins to move */
void ddr_event(sim *, int version);

/* ---- core.c ---- */
void core_run(sim *, int core); /* runs a core until it waits, calls a kernel or ends */
void core_granted(sim *, int core);

/* ---- run.c ---- */
void host_run(sim *); /* runs commands of the sequence until one has to wait */

/* ---- blame.c ---- */
void blame(sim *); /* fails with the chain of waits */

#endif
