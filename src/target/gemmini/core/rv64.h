/* rv64.h - an RV64GC core with the timing of a Rocket: in order, single issue, cold L1 caches.
 *
 * The core is the driver of a simulation: it runs ahead of the rest of the machine. The ports below receive the cycle
 * of each event that leaves the core (a coprocessor command, a fence, a cache refill); the machine advances itself to
 * that cycle and answers with the cycle at which the core may go on.
 *
 * A program is an ELF executable for bare metal in machine mode, without virtual memory. It starts at its entry
 * with sp = stack_top and everything else zero, and talks to the harness by writing CSRs (below). */
#ifndef TW_GEMMINI_RV64_H
#define TW_GEMMINI_RV64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tilewright/status.h"

/* ---- The program image ---------------------------------------------------------------------------------- */

typedef enum rv64_access { RV64_READ = 1, RV64_WRITE = 2, RV64_EXECUTE = 4 } rv64_access;

/* A stretch of the address space. Anything outside all regions, or against a region's rights, faults. */
typedef struct rv64_region {
  const char *name; /* for messages: "stack", "A", ".text" */
  uint64_t base, size;
  unsigned rights; /* rv64_access bits; for the program and for the coprocessor's DMA */
  uint8_t *host;   /* size bytes, owned by the memory; little-endian as the program sees them */
  /* For each byte: was the coprocessor told to write it since the last fence? The time of the write is not defined:
   * a reader before the fence may see old data. NULL: no such bytes; otherwise some in [from, to). */
  uint8_t *in_flight; /* 0, or the index in `writer` of the instruction */
  uint64_t from, to;
  /* addresses of the instructions that caused these writes, from [1] on; no entry equals the previous entry */
  uint64_t writer[256];
  uint8_t last_writer;
} rv64_region;

/* A program in its memory, regions sorted by address:
 *   - one region per allocated section, with the section's rights and exact size;
 *   - sections named .operand.NAME are the kernel's inputs: region NAME, read-only for the program and the DMA
 *     (the harness writes them through `host`); .operand.out.NAME are outputs: region NAME, read and write;
 *   - a stack of RV64_STACK_BYTES with unmapped space on both sides. */
typedef struct rv64_memory {
  size_t n_regions;
  rv64_region *region;
  uint64_t entry;     /* address of _start */
  uint64_t stack_top; /* initial sp, 16-byte aligned */
  void *image;        /* private: the ELF file, for symbols and lines */
} rv64_memory;

enum { RV64_STACK_BYTES = 1 << 20 };
#define RV64_MEMORY_LIMIT (1ull << 30) /* bytes of all regions together */

/* Loads an executable; the bytes are copied. A file that is no such executable, or needs more than
 * RV64_MEMORY_LIMIT, is refused with TW_USAGE and one line that starts with `name`. */
tw_status rv64_memory_load(const void *elf, size_t size, const char *name, rv64_memory *out, tw_error *);
void rv64_memory_free(rv64_memory *);
/* A second memory for another thread: writable regions are copied, everything else is shared with `from`, which must
 * outlive the fork. False without memory. */
bool rv64_memory_fork(const rv64_memory *from, rv64_memory *out);
void rv64_memory_free_fork(rv64_memory *);

/* The region with this name, or NULL. */
rv64_region *rv64_region_named(const rv64_memory *, const char *name);
/* The region that contains [address, address + length), or NULL. */
const rv64_region *rv64_region_find(const rv64_memory *, uint64_t address, uint64_t length);

/* Host pointer of [address, address + length) if it is in one region that grants all of `rights`, else NULL. *hint
 * (initially NULL, one per caller) remembers the last region, so that the usual call costs two compares. */
static inline uint8_t *rv64_memory_at(const rv64_memory *memory, const rv64_region **hint, uint64_t address,
                                      uint64_t length, unsigned rights) {
  const rv64_region *r = *hint;
  uint64_t offset = r ? address - r->base : 0;
  if (__builtin_expect(!r || offset >= r->size || length > r->size - offset, 0)) {
    r = rv64_region_find(memory, address, length);
    if (!r) return NULL;
    *hint = r;
    offset = address - r->base;
  }
  return (r->rights & rights) == rights ? r->host + offset : NULL;
}

/* Notes that bytes at `offset` are written by the coprocessor before the next fence, as the instruction at pc told it.
 * False without memory for it. */
bool rv64_write_in_flight(rv64_region *, uint64_t offset, uint64_t length, uint64_t pc);
/* The address of the instruction whose coprocessor command writes one of these bytes; 0 if no write is in flight. */
uint64_t rv64_writer_of(const rv64_region *, uint64_t offset, uint64_t length);
/* True if a write to one of these bytes is in flight. */
static inline bool rv64_is_in_flight(const rv64_region *r, uint64_t offset, uint64_t length) {
  if (__builtin_expect(!r->in_flight, 1) || offset >= r->to || offset + length <= r->from) return false;
  for (uint64_t i = 0; i < length; i++)
    if (r->in_flight[offset + i]) return true;
  return false;
}
/* A fence has passed: no write is in flight. */
void rv64_writes_done(const rv64_memory *);

/* An address in words: "byte 12 of A", "1 byte past the end of C (4096 bytes)", "no memory near". */
void rv64_describe_address(const rv64_memory *, uint64_t address, char *text, size_t size);
/* Why an access of `length` bytes is not allowed, without the name of the unit that made it: "4 bytes at 0x80001000,
 * 0 bytes past the end of C (4096 bytes)" or "... which is read-only". */
void rv64_describe_access(const rv64_memory *, uint64_t address, uint64_t length, unsigned rights, char *text,
                          size_t size);
/* Where an instruction comes from: "gemm.c:12", or the function and offset without line numbers. Opens the line
 * table on each call: for faults, not for loops. */
void rv64_describe_code(const rv64_memory *, uint64_t pc, char *text, size_t size);

/* ---- The core ------------------------------------------------------------------------------------------- */

/* RV64_RIGHT_MISS: the cache has the store's line, but only for reading. */
typedef enum rv64_miss { RV64_LOAD_MISS, RV64_STORE_MISS, RV64_RIGHT_MISS, RV64_FETCH_MISS } rv64_miss;

/* The result that a command returns to the core, and the cycle from which it is available; 0: at once. */
typedef struct rv64_answer {
  uint64_t value, cycle;
} rv64_answer;

/* Events that leave the core. Every function gets the cycle at which it happens and returns the cycle at which the core
 * may go on (>= cycle). Cycles of calls do not decrease. Only writeback and refill may lead or lag commands and fences
 * by a few cycles of pipeline. A NULL function means a machine that answers at once (command: illegal instruction). */
typedef struct rv64_ports {
  void *context;
  /* A custom-0..3 instruction, operands read, offered at write-back. Returns the cycle at which it was taken;
   * if later than `cycle`, the core replays it as Rocket does. The answer, {0, 0} before the call, is written back if
   * the instruction has xd set. Returns UINT64_MAX after describing a fault in *why (a line without file or place; the
   * core adds those). */
  uint64_t (*command)(void *context, uint64_t cycle, uint32_t instruction, uint64_t rs1, uint64_t rs2, rv64_answer *,
                      char why[256]);
  /* The next command, or load while commands are in flight, is at pc; a load reads those bytes. May be NULL. */
  void (*place)(void *context, uint64_t pc);
  void (*load)(void *context, uint64_t pc, uint64_t address, unsigned size);
  /* The fence instruction: everything before it has left the coprocessor. UINT64_MAX as above. */
  uint64_t (*fence)(void *context, uint64_t cycle, char why[256]);
  /* The core writes a line that the L1 data cache had fetched for a load. May be NULL. */
  void (*wrote)(void *context, uint64_t cycle, uint64_t line);
  /* An L1 miss, at the cycle of the request: `line` is the address of a 64-byte line; returns the cycle of the
   * last beat of data at the L1. */
  uint64_t (*refill)(void *context, uint64_t cycle, uint64_t line, rv64_miss why);
  /* A dirty line leaves the L1. The core does not wait. */
  void (*writeback)(void *context, uint64_t cycle, uint64_t line);
  /* The address of a line that the L1 data cache lost until that cycle. It was evicted because the L2 must contain
   * all L1 lines, or because another agent writes it. With *stays, the line may only be read from now on, because
   * another agent reads it. False: no further line. Called before an access while commands are in flight, at a
   * fence, and after a miss. May be NULL. */
  bool (*lost)(void *context, uint64_t cycle, uint64_t *line, bool *stays);
  /* Called after `lost`: the cycle from which the L1 data cache no longer handles such losses; 0 if it handles none
   * in `cycle`. */
  uint64_t (*loses_until)(void *context, uint64_t cycle);
} rv64_ports;

/* Harness CSRs, write-only; each costs what reading the cycle counter costs. */
enum {
  RV64_CSR_START = 0x8c0,   /* timing starts here */
  RV64_CSR_STOP = 0x8c1,    /* a fence; timing and the run end here */
  RV64_CSR_CONSOLE = 0x8c2, /* prints the character in the low 8 bits */
  RV64_CSR_EXIT = 0x8c3,    /* ends the run: 0 without a mark = done, anything else = failed */
};

typedef struct rv64_options {
  int icache_bytes, icache_ways; /* 64-byte lines; powers of two; 0 = 16384, 4 (rocket-chip's big core) */
  int dcache_bytes, dcache_ways;
  uint64_t max_cycles;       /* 0 = no limit; RV64_CYCLE_LIMIT beyond */
  uint64_t max_instructions; /* 0 = no limit; RV64_CYCLE_LIMIT beyond */
  const char *harness;   /* the only section whose code may write the CSRs that set marks or end the run; NULL: any */
  bool from_first_count; /* the first read of the cycle counter after the first mark moves that mark */
  const volatile int *interrupt; /* the run ends soon after *interrupt becomes nonzero; may be NULL */
} rv64_options;

typedef enum rv64_stop { RV64_EXITED, RV64_FAULT, RV64_CYCLE_LIMIT, RV64_INTERRUPTED } rv64_stop;

typedef struct rv64_result {
  rv64_stop stop;
  uint64_t cycles, instructions; /* between the two marks; whole run if it never reached the first */
  uint64_t start_cycle;          /* absolute cycle of the first mark; 0 if it was never reached */
  uint64_t pc;                   /* where it stopped */
  char why[512];                 /* if stop is not RV64_EXITED: one line with file:line of the source */
  char console[4096];            /* the program's output, with unprintable bytes escaped; if it was cut, with a note */
  /* counts of the whole run */
  uint64_t instruction_cache_misses, data_cache_misses, branch_mispredicts;
} rv64_result;

/* Runs the program from its entry until it stops. Returns TW_OK whenever there is a result, also for a program that
 * failed. Errors: TW_NO_MEMORY, and TW_USAGE for options that describe no cache. */
tw_status rv64_run(const rv64_memory *, const rv64_ports *, const rv64_options *, rv64_result *, tw_error *);

#endif
