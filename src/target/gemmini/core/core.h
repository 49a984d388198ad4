/* core.h - the state of a run, and its timing model: Rocket's pipeline as a few clocks.
 *
 * The model keeps one clock, the cycle at which the next instruction can leave decode (ID), and for every register the
 * earliest cycle at which a reader can leave decode. An instruction that leaves ID at cycle t is in EX at t+1, MEM at
 * t+2, WB at t+3. All figures are from rocket-chip of March 2023 (commit 399ef9e0, src/main/scala; "Core" =
 * rocket/RocketCore.scala), in the configuration WithNBigCores of subsystem/Configs.scala: mulUnroll = 8 with early
 * out, divider with early out, branch target buffer of 28 entries, history table of 512, return stack of 6, blocking 16
 * KiB L1 caches (nMSHRs = 0).
 *
 * Not modelled, each worth a cycle or less per event in compiled code: the replay of a memory access immediately after
 * the first store to a clean line; drains of the store buffer forced by three stores in a row. */
#ifndef TW_GEMMINI_RV64_CORE_H
#define TW_GEMMINI_RV64_CORE_H

#include "target/gemmini/core/cycles.h"
#include "target/gemmini/core/decode.h"
#include "target/gemmini/core/rv64.h"

enum {
  LINE_SHIFT = 6, /* 64-byte lines, CacheBlockBytes */
  STAGES_TO_WRITE_BACK = 3,
  /* From the issue of a mispredicted branch to the issue of the right instruction. The branch is resolved in MEM
   * (t+2). That cycle is s0 of the new fetch, whose s2 is in ID: Core 607-612, Frontend 107-150. */
  MISPREDICT_REFETCH = 4,
  /* Likewise after an event in WB: writes of CSRs, replays of memory accesses and commands: Core 750-760, 935-940. */
  REPLAY_REFETCH = 5,
};

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Cycles after the writer issued, until a reader can issue. */
enum {
  LOAD_READY = 2,        /* lw, ld: bypassed from the cache's data in MEM (fastLoadWord): Core 322-330, 861-868 */
  NARROW_LOAD_READY = 3, /* lb, lh, sc: Core 600, mem_reg_slow_bypass */
  FLOAT_LOAD_READY = 4,  /* written after WB: FPU.scala, load_wb */
  CSR_READY = 3,
  LINK_READY = 2, /* when the link register of jalr is ready: Core 857 */
};

/* ---- L1 caches ------------------------------------------------------------------------------------------- */

typedef enum rv64_line { LINE_CLEAN, LINE_DIRTY, LINE_READ_ONLY } rv64_line;
typedef struct rv64_cache {
  uint64_t *tag;  /* [set][way]: line number + 1; 0 = invalid */
  uint8_t *state; /* [set][way]: a rv64_line */
  uint64_t set_mask;
  unsigned ways;
  uint16_t lfsr;      /* RandomReplacement: util/Replacement.scala */
  uint64_t last_line; /* the line of the last hit + 1, and its state */
  uint8_t *last_state;
  uint64_t misses;
} rv64_cache;

/* ---- Frontend -------------------------------------------------------------------------------------------- */

enum { HISTORY_ENTRIES = 512, TARGET_ENTRIES = 28, RETURN_ENTRIES = 6, FETCH_QUEUE = 5, KNOWN_LINES = 8 };
enum { PACKETS_SHIFT = LINE_SHIFT - 2 };

typedef enum rv64_jump_kind { JUMP_BRANCH, JUMP_PLAIN, JUMP_CALL, JUMP_RETURN } rv64_jump_kind;

/* an entry of the branch target buffer: one for each packet, found by the packet's address */
typedef struct rv64_target {
  uint64_t packet; /* 0 = invalid */
  uint64_t target;
  uint8_t half; /* place in the packet of the jump's last half-word */
  uint8_t kind; /* rv64_jump_kind */
  uint8_t twin; /* another entry for the same packet + 1, if one existed when this one was written */
} rv64_target;

typedef struct rv64_predictor {   /* BTB.scala */
  uint8_t taken[HISTORY_ENTRIES]; /* one-bit counters */
  uint8_t history;                /* 8 outcomes, the latest in bit 7 */
  uint8_t history_before;         /* its last move */
  uint64_t moved;                 /* cycle in which the history last moved, 0 = long ago */
  rv64_target entry[TARGET_ENTRIES];
  /* Pseudo-LRU with a bit for each node of the tree. For each entry: the nodes above it, and their values after it
   * is used. */
  uint32_t older;
  uint32_t path[TARGET_ENTRIES], path_older[TARGET_ENTRIES];
  uint64_t returns[RETURN_ENTRIES];
  unsigned return_top, return_count;
  /* top of the return stack before the last move, 0 = none; cycle of that move in s2 */
  uint64_t return_before, returns_moved;
} rv64_predictor;

typedef struct rv64_frontend { /* Frontend.scala; a packet is an aligned word of 4 bytes, numbered by address / 4 */
  uint64_t packet;             /* the last one fetched */
  uint64_t available;          /* cycle at which decode can use it */
  uint64_t lines[KNOWN_LINES]; /* numbers + 1 of some lines that are in the I-cache, found by their low bits */
  uint64_t entered_late;       /* the last packet if it was entered at its second half */
  bool entered_free;           /* the half above went into the instruction buffer together with the jump */
  bool lost;                   /* fetch assumes that it is on a wrong path, until the core redirects it */
  /* [0, 8): when decode took the last packets, a ring indexed by `count`: the cycle in which the first instruction
   * that ends in a packet leaves (IBuf.scala 42). Entries above receive unused writes while `later` is 8. */
  uint64_t dequeued[16];
  unsigned later;
  uint64_t certain; /* this packet and the previous packet are not fetched speculatively */
  unsigned count;
} rv64_frontend;

/* ---- The core -------------------------------------------------------------------------------------------- */

typedef struct rv64_store {
  uint64_t word;
  uint8_t mask;
  uint64_t time;
} rv64_store; /* a store in the buffer */

enum { N_HINTS = 8 };

typedef struct rv64_core {
  uint64_t x[33], x_ready[33]; /* [RV64_SINK] receives writes to x0 */
  uint64_t f[32], f_ready[32];
  unsigned fflags, frm;
  uint64_t reservation; /* doubleword reserved by lr: its address + 1; 0 = none */

  const rv64_memory *memory;
  const rv64_region *hint[N_HINTS];
  rv64_insn *code; /* one slot for each halfword from code_base */
  uint64_t code_base, code_size;

  rv64_frontend fetch;
  rv64_predictor predictor;
  rv64_cache icache, dcache;

  rv64_store store[2];     /* the last two stores, the latest first */
  uint64_t last_memory;    /* issue of the last memory access */
  uint64_t last_command;   /* issue of the last coprocessor command */
  bool unfenced;           /* a command was issued after the last fence */
  uint64_t divider_free;   /* the unit has written its result and can take the next operation */
  uint8_t divider_rd;      /* destination register of its result */
  bool divider_waits;      /* the time of the result may still change: instructions in WB at that time may delay it */
  uint64_t float_free;     /* cycle at which a running fdiv or fsqrt lets the next floating-point instruction pass */
  uint64_t float_done;     /* when the last floating-point result is written */
  uint64_t float_write[8]; /* cycles at which results are written, indexed by the low bits of the cycle */

  uint64_t start_cycle, start_instructions;
  bool started;
  bool counted; /* the cycle counter was read after the first mark */
  uint64_t mispredicts;

  const rv64_ports *ports;
  const rv64_options *options;
  uint64_t checkpoint; /* next cycle at which limits and the interrupt are checked */
  size_t console_length;
  rv64_result *result;
} rv64_core;

/* fault.c: each function writes result->why and returns RV64_FAULT. */
rv64_stop rv64_fault(rv64_core *, uint64_t pc, const char *format, ...) __attribute__((format(printf, 3, 4)));
rv64_stop rv64_fault_access(rv64_core *, uint64_t pc, uint64_t address, unsigned size, unsigned rights);
rv64_stop rv64_fault_jump(rv64_core *, uint64_t pc, uint64_t target);
void rv64_console_put(rv64_result *, size_t *length, unsigned char c);

/* multiply.c: cycles from issue to the use of the result; arithmetic of RV64M. */
unsigned rv64_multiply_latency(uint64_t multiplier, bool high, bool word);
unsigned rv64_divide_latency(uint64_t dividend, uint64_t divisor, bool is_signed, bool remainder);

/* frontend.c */
void rv64_decode_slot(rv64_core *, rv64_insn *, uint64_t pc);
uint64_t rv64_fetch_line(rv64_core *, uint64_t pc, uint64_t line, uint64_t s2, uint64_t issue);
void rv64_forget_lines(rv64_core *);
uint64_t rv64_fetch_again(rv64_core *, uint64_t pc, uint64_t issue);
void rv64_waits_again(rv64_core *, uint64_t pc, uint64_t issue);
bool rv64_loses_targets(rv64_core *, uint64_t pc, uint64_t before, uint64_t packet);
void rv64_run_ahead(rv64_core *, uint64_t pc, uint64_t packet, uint64_t s2, uint64_t issue);
void rv64_predictor_make(rv64_predictor *);
int rv64_target_replace(const rv64_predictor *);
void rv64_target_train(rv64_core *, int entry, uint64_t branch, rv64_jump_kind, uint64_t target);
int rv64_target_merge(rv64_predictor *, int entry, rv64_target *merged);

/* cache.c */
tw_status rv64_cache_make(rv64_cache *, const char *name, int bytes, int ways, tw_error *);
void rv64_cache_clear(rv64_cache *);
void rv64_cache_free(rv64_cache *);
bool rv64_cache_find(rv64_cache *, uint64_t line); /* also remembers the line as the last one */
/* Takes the place of a random line; *victim is that line's number + 1 if it was dirty, else 0. */
void rv64_cache_fill(rv64_cache *, uint64_t line, uint64_t *victim);
uint64_t rv64_data_miss(rv64_core *, uint64_t pc, uint64_t line, uint64_t issue, rv64_miss why);
/* A store to the line of the last hit, while that line is not dirty. */
uint64_t rv64_first_store(rv64_core *, uint64_t pc, uint64_t line, uint64_t issue);
/* Removes from the data cache the lines that the L2 took until that cycle. */
void rv64_lose_lines(rv64_core *, uint64_t cycle);
/* The same, before an access that may issue in that cycle. Returns the cycle in which it issues. */
uint64_t rv64_wait_for_probes(rv64_core *, uint64_t issue);

/* atomic.c: lr, sc and the read-modify-writes; false if the access faults. */
bool rv64_atomic(rv64_core *, const rv64_insn *, uint64_t pc, uint64_t *issue);

/* coprocessor.c: false with a fault described. */
bool rv64_command(rv64_core *, const rv64_insn *, uint64_t pc, uint64_t *issue);
bool rv64_fence(rv64_core *, uint64_t pc, uint64_t *issue);

/* float.c: one floating-point instruction other than loads and stores. Returns false if its rounding mode is
 * reserved. */
bool rv64_float(rv64_core *, const rv64_insn *, uint64_t pc, uint64_t *issue);

/* csr.c: executes one CSR instruction. Returns a stop or RV64_CONTINUE. *refetch: later instructions are fetched
 * again. */
enum { RV64_CONTINUE = -1 };
int rv64_csr(rv64_core *, const rv64_insn *, uint64_t pc, uint64_t *issue, uint64_t instructions, bool *refetch);
/* Ends the measured part of the run. */
void rv64_finish(rv64_core *, uint64_t cycle, uint64_t instructions);

static inline bool rv64_is_code(const rv64_core *core, uint64_t pc) { return pc - core->code_base < core->code_size; }

#endif
