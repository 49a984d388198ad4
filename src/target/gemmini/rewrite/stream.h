/* stream.h - the accelerator's view of a program: its dynamic stream of commands.
 *
 * Captured on the simulated machine between the harness's marks. The stream represents the program if
 *   - it does not depend on the data: two runs on different inputs gave the same commands, and
 *   - the core contributes nothing else: the commands alone, applied to the architectural state, give the right outputs
 *     (no stores of the core, no results that pass through it).
 * A stream that fails either test is rejected: it cannot be rewritten safely. */
#ifndef TW_GEMMINI_REWRITE_STREAM_H
#define TW_GEMMINI_REWRITE_STREAM_H

#include "target/gemmini/command.h"
#include "target/gemmini/config.h"
#include "target/gemmini/core/rv64.h"
#include "target/gemmini/machine/functional.h"
#include "target/gemmini/run.h"
#include "tilewright/extend/op.h"

enum {
  GM_FENCE = 127, /* a funct that no command has: the core's fence */
  GM_COMMAND_GAP =
      4 /* cycles from command to command of a plain loop: two operands, the command, a share of the loop */
};

/* One command, or a fence. */
typedef struct gm_event {
  uint8_t funct;
  bool dead;    /* removed by a rewrite */
  uint32_t gap; /* cycles of the core since the previous command */
  uint64_t rs1, rs2;
} gm_event;

typedef struct gm_stream {
  const gm_config *config;
  const tw_problem *problem;
  char *elf; /* image of the captured program and its memory: commands contain addresses of this image */
  size_t elf_size;
  rv64_memory memory;
  size_t n_operands;
  tw_operand operand[TW_OPERANDS_MAX];
  uint64_t base[TW_OPERANDS_MAX];
  size_t n, room;
  gm_event *event;
  gm_run_result run;   /* of the capture */
  const tw_stop *stop; /* the caller's; may be NULL */
} gm_stream;

/* Builds `source`, runs it on the case and records its commands. TW_FAILED if the program is wrong. */
tw_status gm_stream_capture(const gm_config *, const tw_problem *, const char *source, size_t length, bool trust,
                            const tw_case *, const tw_stop *, gm_stream *out, tw_error *);
/* Runs the program on other data. TW_FAILED, with the first different command, if the stream depends on the data.
 * *wrong: the program itself fails on them. */
tw_status gm_stream_compare(const gm_stream *, const tw_case *other, bool *wrong, tw_error *);
/* Applies the commands alone to a fresh state: TW_FAILED if the outputs differ from the case's. */
tw_status gm_stream_replay(gm_stream *, const tw_case *, tw_error *);
/* Cycles of the stream on the machine, with commands offered at the core's own pace. UINT64_MAX if it fails or is
 * stopped. */
uint64_t gm_stream_cycles(const gm_stream *);
/* Copies the events and the memory that they write; the rest is shared with `from`, which must outlive the copy.
 * Only one thread may run a stream at a time; each thread runs a copy. */
tw_status gm_stream_copy(const gm_stream *from, gm_stream *out, tw_error *);
void gm_stream_free_copy(gm_stream *);
void gm_stream_free(gm_stream *);

/* Adds an event at the end. False without memory, or beyond 8 million. */
bool gm_stream_append(gm_stream *, const gm_event *);

/* The operand that [address, address + bytes) belongs to, or -1; *offset in it. */
int gm_stream_operand(const gm_stream *, uint64_t address, uint64_t bytes, uint64_t *offset);

/* ---- accesses of a command ------------------------------------------------------------------------------ */

/* Rows first, first + stride, ... of a local memory. Both memories have one numbering: the accumulator's rows follow
 * the scratchpad's. */
typedef struct gm_touch {
  uint32_t first, rows, stride;
  uint32_t cols; /* elements of each row, from the first on */
} gm_touch;

enum { GM_TOUCHES = 8 };
typedef struct gm_access {
  int n_reads, n_writes;
  gm_touch read[GM_TOUCHES], write[GM_TOUCHES];
  bool accumulates; /* the command reads the data that it writes */
  bool whole_rows;  /* writes all elements of its rows */
  uint64_t address; /* in memory; 0 = none */
  uint64_t row_bytes, stride;
  int memory_rows; /* stride bytes apart */
  uint64_t image_stride;
  int images; /* blocks of memory_rows, image_stride bytes apart: rows of pixels, for a store with pooling */
} gm_access;

/* The state for decoding: the configuration that earlier commands left. */
typedef struct gm_decoder {
  const gm_config *config;
  gm_registers registers;
  uint64_t c; /* rs2 of the latest preload */
} gm_decoder;

/* Accesses of one command, in program order. C is an access of the compute. Data that a preload brings into the
 * array (weights, or partial sums of output-stationary products) are an access of the preload. A store with pooling
 * reads all rows of its image, including rows in no window. False, with the reason, for unsupported commands:
 * hardware loops (expand.h). */
bool gm_decode_access(gm_decoder *, const gm_event *, gm_access *, const char **why);

/* Are they equal? Compared member by member, because the structures have padding. Scales that differ only in sign
 * are different. */
bool gm_same_load_registers(const gm_load_registers *, const gm_load_registers *);
bool gm_same_registers(const gm_registers *, const gm_registers *);

/* Row r of the memory that an access touches, r < gm_memory_rows. */
static inline int gm_memory_rows(const gm_access *a) { return a->memory_rows * (a->images ? a->images : 1); }
static inline uint64_t gm_memory_row(const gm_access *a, int r) {
  return a->address + (uint64_t)(r / a->memory_rows) * a->image_stride + (uint64_t)(r % a->memory_rows) * a->stride;
}
static inline bool gm_pools(const gm_store_registers *r) { return r->pool_size || r->pool_stride; }
/* Is this the stationary operand? That is B of the preload, or, output-stationary, the second operand of the
 * compute. */
static inline bool gm_is_weights(const gm_execute_registers *r, bool preload) {
  return r->weight_stationary == preload;
}

static inline bool gm_is_load(int funct) { return funct == GM_MVIN || funct == GM_MVIN2 || funct == GM_MVIN3; }
static inline int gm_load_state(int funct) { return funct == GM_MVIN ? 0 : funct == GM_MVIN2 ? 1 : 2; }
static inline bool gm_is_compute(int funct) { return funct == GM_COMPUTE_PRELOADED || funct == GM_COMPUTE_ACCUMULATED; }
static inline uint32_t gm_unified_rows(const gm_config *c) { return (uint32_t)(gm_spad_rows(c) + gm_acc_rows(c)); }
/* The unified row of a local address; bits outside of the row number are dropped. */
static inline uint32_t gm_unified(const gm_config *c, uint32_t local) {
  return gm_is_acc(local) ? (uint32_t)gm_spad_rows(c) + (local & (uint32_t)(gm_acc_rows(c) - 1))
                          : local & (uint32_t)(gm_spad_rows(c) - 1);
}

#endif
