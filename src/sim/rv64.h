/* rv64.h - an RV64GC core with the timing of a Rocket: in order, single issue, cold L1 caches.
 *
 * The core is the driver of a simulation: it runs ahead of the rest of the machine and tells it, through the
 * ports below, the cycle at which something leaves the core (a coprocessor command, a fence, a cache refill);
 * the machine advances itself to that cycle and answers with the cycle at which the core may go on. */
#ifndef TW_SIM_RV64_H
#define TW_SIM_RV64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tilewright/status.h"

typedef struct rv64 rv64;

typedef enum rv64_access { RV64_READ = 1, RV64_WRITE = 2, RV64_EXECUTE = 4 } rv64_access;

/* A stretch of the address space. Anything outside all regions, or against a region's rights, faults. */
typedef struct rv64_region {
  const char *name;   /* for messages: "stack", "A", "text" */
  uint64_t base, size;
  unsigned rights;    /* rv64_access bits; of the program and of the coprocessor's DMA alike */
  uint8_t *host;      /* size bytes, owned by the memory */
} rv64_region;

/* A program image in its memory: loaded from an ELF file, its operand arrays found by symbol. */
typedef struct rv64_memory {
  size_t n_regions;
  rv64_region *region;
  uint64_t entry;     /* address of _start */
  uint64_t stack_top;
  void *symbols;      /* private: symbol and line tables */
} rv64_memory;

/* What leaves the core. Every function gets the cycle at which it happens and returns the cycle at which the
 * core may go on (>= cycle). */
typedef struct rv64_ports {
  void *context;
  /* A custom-0..3 instruction, operands read. *rd is written back if the instruction has xd set. Returns
   * UINT64_MAX after describing a fault in *why (a line without file or place; the core adds those). */
  uint64_t (*command)(void *context, uint64_t cycle, uint32_t instruction, uint64_t rs1, uint64_t rs2,
                      uint64_t *rd, char why[256]);
  /* The fence instruction: everything before it has left the coprocessor. UINT64_MAX as above. */
  uint64_t (*fence)(void *context, uint64_t cycle, char why[256]);
  /* An L1 miss: `line` is the address of a 64-byte line; returns when its first word is there. */
  uint64_t (*refill)(void *context, uint64_t cycle, uint64_t line, bool is_instruction);
  /* A dirty line leaves the L1. The core does not wait. */
  void (*writeback)(void *context, uint64_t cycle, uint64_t line);
} rv64_ports;

typedef enum rv64_stop { RV64_EXITED, RV64_FAULT, RV64_CYCLE_LIMIT, RV64_INTERRUPTED } rv64_stop;

typedef struct rv64_result {
  rv64_stop stop;
  uint64_t cycles, instructions; /* between the two marks; whole run if it never reached them */
  uint64_t start_cycle;          /* absolute cycle of the first mark */
  uint64_t pc;                   /* where it stopped */
  char why[512];                 /* of a fault: one line with file:line of the source */
  char console[4096];            /* what the program printed, unprintable bytes escaped, cut with a note */
  uint64_t instruction_cache_misses, data_cache_misses, branch_mispredicts;
} rv64_result;

#endif
