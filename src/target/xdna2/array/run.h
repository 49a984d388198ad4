/* run.h - simulates an array program, event by event.
 *
 * Events are beginnings and ends: of a descriptor's work, of a stretch of a stream during which all its ends can move,
 * of a kernel call, of a lock operation. Two modes have the same events at the same times: with data, where every byte
 * moves and every kernel computes, and without data.
 *
 * - A stretch begins when source and sinks have their locks, at stream_bytes a cycle, and ends when one of them reaches
 *   the end of its descriptor. The latency of a circuit (hops, memory) delays the arrival at a sink.
 * - Streams of shims share DDR: reads, writes, and both together have a bandwidth, divided evenly among active streams;
 *   a run uses whole bursts.
 * - Cores run their programs; the cost function gives the time of calls. docs/explain/xdna2-array.md lists effects that
 *   are not modelled. */
#ifndef TW_XDNA2_ARRAY_RUN_H
#define TW_XDNA2_ARRAY_RUN_H

#include "target/xdna2/array/program.h"

/* Cycles of kernel calls: from the analytic model (cost.h) or from a scheduler of the core. */
typedef struct xd_cost {
  double (*cycles)(const void *context, const xd_call *);
  const void *context;
} xd_cost;

/* An activity from `from` to `to` (cycles) in a lane: xd_core_lane, xd_channel_lane. */
typedef void xd_on_span(void *context, const char *lane, const char *name, double from, double to);

typedef struct xd_run_options {
  bool timing_only;
  xd_cost cost;
  void *const *external; /* if data are computed: bytes of the external buffers, in their order, word-aligned */
  xd_on_span *span;      /* may be NULL */
  void *span_context;
} xd_run_options;

typedef struct xd_run_result {
  double cycles;                                /* cycles until the sequence has ended */
  double call_cycles;                           /* all cores: time in kernel calls */
  double wait_input_cycles, wait_output_cycles; /* waiting for objects to consume, for room to produce */
  double read_bytes, written_bytes;             /* of DDR */
  double ddr_busy_cycles;                       /* cycles in which any shim moved data */
  uint64_t events, calls;
} xd_run_result;

/* TW_FAILED with one line if the program deadlocks (with the waiting parts), uses an object that it does not hold,
 * overflows a lock or a task queue, or restarts a descriptor in use. The program must have passed xd_check. */
tw_status xd_run(const xd_config *, const xd_program *, const xd_run_options *, xd_run_result *, tw_error *);

#endif
