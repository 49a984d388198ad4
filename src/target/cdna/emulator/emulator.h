/* emulator.h - executes a kernel: memory, waves, instructions in their decoded form, a launch.
 *
 * Code is decoded once, into one cdna_op a dword of it, with a function and operands that are resolved as far as they
 * can be. A wave's registers are rows of 64 dwords (lanes/lanes.h); scalars are in one array, indexed by the code of
 * their operand, so that VCC, M0 and EXEC are accessed like any SGPR. The waves of a workgroup run in turn on one
 * thread, from barrier to barrier; workgroups are distributed over threads. Kernels with global atomics run their
 * workgroups in sequence, so that results do not depend on the number of threads. A workgroup that polls memory for
 * another workgroup's value is suspended, and others begin.
 *
 *     decoding   program.c     isa/decode.c
 *     classes    salu.c  valu.c  narrow.c  cross.c  smem.c  vmem.c  lds.c  mfma.c  flow.c: each fills an op
 *                of its class
 *     run        run.c
 *     observing  observe.h  access.c */
#ifndef TW_CDNA_EMULATOR_H
#define TW_CDNA_EMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strings.h"
#include "target/cdna/isa/effects.h"
#include "target/cdna/isa/isa.h"
#include "target/cdna/lanes/lanes.h"
#include "target/cdna/object/object.h"
#include "tilewright/status.h"

/* ---- memory.c: the memory of global addresses ---- */

typedef struct cdna_held cdna_held; /* contents of pages before they were written */

typedef struct cdna_allocation {
  uint64_t address, size;
  uint8_t *data;
  const char *name; /* for messages */
  bool writable;
  /* The running kernel does not receive it as an argument, so every access is a fault. */
  bool hidden;
  /* Address in models of caches, independent of `scatter`. */
  uint64_t modelled;
  cdna_held *held;                    /* NULL: writes are not undone */
  bool undefined;                     /* its bytes are undefined before they are written, */
  uint64_t defined_at, defined_bytes; /* but for these */
} cdna_allocation;

enum { CDNA_ALLOCATIONS_MAX = 64 };

typedef struct cdna_memory {
  size_t n;
  cdna_allocation allocation[CDNA_ALLOCATIONS_MAX]; /* by ascending address, far apart */
  uint64_t next, next_modelled;
  /* Seed of random distances between allocations; 0: the usual distance. Set before the first is added. */
  uint64_t scatter;
} cdna_memory;

/* Adds the caller's bytes and returns their address; 0 if there are too many. */
uint64_t cdna_memory_add(cdna_memory *, void *data, uint64_t size, bool writable, const char *name);
/* The same byte's address for models of caches. */
uint64_t cdna_memory_modelled(const cdna_memory *, uint64_t address);
/* Declares the last added allocation undefined, except for some bytes: for checks of reads. */
void cdna_memory_undefined(cdna_memory *, uint64_t defined_at, uint64_t defined_bytes);
/* From now on, writes of kernels can be undone: a page is copied before its first write. False without memory. */
bool cdna_memory_hold(cdna_memory *);
/* Restores the contents of the time of the hold. Only while no kernel runs. */
void cdna_memory_restore(const cdna_memory *);
void cdna_memory_let_go(cdna_memory *);
/* The bytes that kernels have written to allocation `index` since the hold, for comparisons; NULL: none, or no
 * memory. */
uint8_t *cdna_memory_copy_written(const cdna_memory *, size_t index);
/* Compares these bytes with the current contents. `copy`: from cdna_memory_copy_written; NULL: nothing was written.
 * Bytes whose `skip` is set are not compared (skip NULL: all are). */
bool cdna_memory_is_written(const cdna_memory *, size_t index, const uint8_t *copy, const uint8_t *skip);
/* The same for data whose places depend on the order: the dwords are compared as a set. */
bool cdna_memory_is_permuted(const cdna_memory *, size_t index, const uint8_t *copy, const uint8_t *skip);
/* "16 bytes past the end of A (4096 bytes)". */
void cdna_memory_describe(const cdna_memory *, uint64_t address, char *text, size_t size);

/* ---- a decoded instruction ---- */

typedef struct cdna_wave cdna_wave;
typedef struct cdna_op cdna_op;
typedef void cdna_handler(cdna_wave *, const cdna_op *);

typedef enum cdna_source_kind { CDNA_NONE, CDNA_ROW, CDNA_SCALAR, CDNA_CONSTANT, CDNA_SPECIAL } cdna_source_kind;

typedef struct cdna_source {
  uint8_t kind, width; /* dwords */
  uint16_t code;       /* index of the row (0 to 511), or of the scalar */
  uint64_t value;      /* value of a constant, as wide as the operand */
  const uint32_t *row; /* value of a constant, in all lanes */
} cdna_source;

/* How an encoding modifies its operands; emulator/valu.c. */
typedef struct cdna_modifiers {
  uint8_t negate, absolute, sign_extend; /* bit s: for source s */
  uint8_t select[3];                     /* SDWA's selection of a source; 6 = all */
  uint8_t kinds[3];                      /* 16, 32, 64: type for negate and absolute; 0 = an integer */
  uint8_t clamp, output_scale;           /* output modifier; 0, 1 = *2, 2 = *4, 3 = /2 */
  uint8_t result_kind, result_select, result_unused;
  uint8_t low, high; /* op_sel, op_sel_hi */
  uint8_t negate_high;
  bool packed, mix, half_result; /* VOP3P on 16 bits; v_fma_mix; op_sel of a VOP3 */
  int8_t lane[64];               /* DPP: the lane to read, -1 for none */
  bool dpp, bound_control;
  bool plain_result; /* none of the modifiers changes the result */
  bool changes[3];   /* a source's part, sign or absolute value: `part` */
  cdna_adjustment part[3];
  uint8_t half_of_mix;  /* v_fma_mixlo 1, v_fma_mixhi 2 */
  uint64_t dpp_enabled; /* lanes of the rows and banks that are written */
} cdna_modifiers;

/* The kind of an instruction's work, by unit. */
typedef enum cdna_kind {
  CDNA_DOES_SCALAR, /* instructions */
  CDNA_DOES_VECTOR,
  CDNA_DOES_TRANSCENDENTAL,
  CDNA_DOES_MATRIX,   /* passes of 4 cycles */
  CDNA_DOES_LDS,      /* bytes of lanes */
  CDNA_DOES_LOAD,     /* bytes of lanes, of memory */
  CDNA_DOES_STORE,    /* and of atomics */
  CDNA_DOES_CONSTANT, /* bytes of scalar loads */
  CDNA_DOES_WAIT,     /* instructions: s_nop, s_waitcnt, barriers */
  CDNA_KINDS
} cdna_kind;

struct cdna_op {
  cdna_handler *run; /* cdna_stop_here for words that cannot be decoded or executed */
  const cdna_instruction *instruction;
  union {
    const cdna_lane_entry *lanes;
    const void *more;
  };
  const cdna_modifiers *modifiers; /* NULL: none */
  cdna_source s[4];
  uint16_t d;       /* row, or code of a scalar */
  uint16_t d_width; /* dwords */
  uint16_t sd;      /* code of the scalar result */
  uint8_t dwords;
  uint8_t bytes; /* bytes of a memory access, per lane */
  uint8_t kind;  /* kind of work, and its amount: in total, or per active lane */
  bool of_lanes;
  bool is_own; /* it reads and changes nothing but its wave, and does not end it */
  uint16_t amount;
  int32_t imm; /* offset, simm16, ... */
  uint32_t flags;
  const char *why; /* reason why it cannot be executed */
};

/* ---- program.c ---- */

typedef struct cdna_pool cdna_pool; /* constant rows and modifiers, freed together */

typedef struct cdna_program {
  const cdna_object *object;
  const cdna_kernel *kernel;
  const cdna_lane_kit *kit;
  uint64_t base; /* address of the object in memory */
  uint64_t code; /* start of its executable segment, relative to base */
  size_t n;      /* dwords of code */
  const uint32_t *word;
  /* One op for each dword, and one after the last; run is NULL if no instruction begins there when code is read from
   * its start. */
  cdna_op *op;
  cdna_pool *pool;
  bool has_atomics;
  /* VGPRs and AccVGPRs up to the highest that an instruction names, or all if M0 may choose them. A wave has only
   * these. */
  int rows[2];
} cdna_program;

tw_status cdna_program_make(const cdna_object *, const cdna_kernel *, uint64_t base, cdna_program *out, tw_error *);
void cdna_program_free(cdna_program *);
/* Effects of each instruction by its dword (zero where none begins): malloc'ed, NULL without memory. For observers of
 * an execution; the emulator does not use them. */
cdna_effects *cdna_program_effects(const cdna_program *);
/* Memory that lives as long as the program; NULL without memory. */
void *cdna_program_new(cdna_program *, size_t bytes);
/* A row (or rows) with the value in every lane. */
const uint32_t *cdna_program_row(cdna_program *, uint64_t value, int width);

/* Decodes an instruction of one class: fills the op; false: not an instruction of this class. */
typedef bool cdna_lowering(cdna_program *, const cdna_code *, cdna_op *);
cdna_lowering cdna_lower_salu, cdna_lower_flow, cdna_lower_valu, cdna_lower_smem, cdna_lower_vmem, cdna_lower_lds,
    cdna_lower_mfma, cdna_lower_cross, cdna_lower_narrow;

/* Tries all classes in order. An instruction without a function stops a wave that reaches it. */
void cdna_lower(cdna_program *, const cdna_code *, cdna_op *);
/* A program without code, for lowering single instructions; false without memory. */
bool cdna_program_open(cdna_program *);
/* Fills a source from an operand. */
void cdna_lower_source(cdna_program *, const cdna_code *, const cdna_operand_form *, cdna_source *);
/* Stops the wave: op->why. */
cdna_handler cdna_stop_here;

/* ---- a wave ---- */

typedef struct cdna_group cdna_group;

/* CDNA_YIELDED: the wave lets other waves of the group continue first; only if `in_turns` is set. */
typedef enum cdna_state { CDNA_RUNNING, CDNA_AT_BARRIER, CDNA_ENDED, CDNA_STOPPED, CDNA_YIELDED } cdna_state;

/* Rows beyond the last register, into which only a wide operand at the end reaches. */
enum { CDNA_SCALARS = 256, CDNA_ROWS = 512, CDNA_ROWS_BEYOND = 64, CDNA_ACCUMULATION = 256, CDNA_BROADCASTS = 8 };

/* MODE (register 1 of s_getreg): rounding of f32 and f64, denormals of both, ... and its value at the start. */
enum {
  CDNA_MODE_DENORMAL_32 = 1 << 5, /* f32 results may be denormal; next bit: f64 and f16 results */
  CDNA_MODE_DENORMAL = 1 << 7,
  CDNA_MODE_DX10_CLAMP = 1 << 8,
  CDNA_MODE_IEEE = 1 << 9,
  CDNA_MODE_GPR_INDEX = 1 << 27,
  CDNA_MODE_SKIP = 1 << 28
};

struct cdna_wave {
  uint32_t (*v)[CDNA_LANES]; /* VGPRs, then AccVGPRs */
  uint32_t s[CDNA_SCALARS];  /* by operand code */
  bool scc;
  uint32_t mode;
  uint32_t index_mode; /* gpr_idx: which operands M0 indexes */
  size_t pc;           /* dwords from the code's start */
  size_t at;           /* the running instruction */
  cdna_state state;
  uint64_t row_exec; /* EXEC for which `mask` was made */
  uint32_t mask[CDNA_LANES];
  uint64_t did[CDNA_KINDS];     /* its work */
  uint64_t instructions, clock; /* value of s_memtime if time is modelled; 0: it follows instructions */
  uint64_t ahead;               /* instructions by which it is ahead of its workgroup: run.c */
  uint64_t room, more;          /* instructions left of its turn; how many of them the handler may execute now: run.c */
  int priority, id;             /* in its workgroup */
  cdna_group *group;
  const cdna_program *program;
  const cdna_lane_kit *kit;
  const cdna_allocation *last; /* the allocation of the last access */
  uint8_t *scratch;            /* lane by lane */
  uint32_t scratch_bytes;
  uint32_t temporary[5][CDNA_ROWS_MAX * CDNA_LANES];
  /* Rows of scalars that were sources 0 to 2: the value in all lanes. */
  uint32_t broadcast[3][CDNA_BROADCASTS], broadcasts[3][CDNA_BROADCASTS][CDNA_LANES];
};

struct cdna_group {
  const cdna_program *program;
  cdna_memory *memory;
  uint8_t *lds;
  uint32_t lds_bytes;
  uint64_t id;          /* number in the grid, x fastest */
  uint32_t position[3]; /* in the grid */
  int n_waves;
  cdna_wave *wave;
  bool in_turns;       /* waiting waves yield to others */
  bool unbounded;      /* accesses out of bounds read 0, write nothing and do not stop the wave */
  uint8_t nowhere[64]; /* there */
  tw_error *error;
  void *observed; /* state of an observer (observe.h) */
  void *kept;     /* unpacked operands (mfma.c) */
  bool same;      /* at its last turn it waited in the same state */
};

static inline uint64_t cdna_scalar64(const cdna_wave *w, int code) {
  return w->s[code] | (uint64_t)w->s[code + 1] << 32;
}
static inline void cdna_set_scalar64(cdna_wave *w, int code, uint64_t value) {
  w->s[code] = (uint32_t)value;
  w->s[code + 1] = (uint32_t)(value >> 32);
}
static inline uint64_t cdna_exec(const cdna_wave *w) { return cdna_scalar64(w, CDNA_EXEC); }
uint64_t cdna_special(const cdna_wave *, int code); /* vccz, execz, scc, apertures */
static inline uint64_t cdna_read(const cdna_wave *w, const cdna_source *s) {
  if (s->kind == CDNA_CONSTANT) return s->value;
  if (s->kind == CDNA_SCALAR) return s->width == 2 ? cdna_scalar64(w, s->code) : w->s[s->code];
  return cdna_special(w, s->code);
}

/* Counts the work of an instruction that is about to execute. */
static inline void cdna_note_work(cdna_wave *w, const cdna_op *op) {
  const uint64_t amount = op->amount;
  w->did[op->kind] += op->of_lanes ? amount * (uint64_t)__builtin_popcountll(cdna_exec(w)) : amount;
}

/* In the error of an access beyond LDS, with its bytes. */
#define CDNA_HAS_LDS "the workgroup has %u bytes (--lds, or `//: shared` in the file, requests more)"

/* Ends the run with one line; the instruction's name, address and source line are added. */
void cdna_stop(cdna_wave *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Target of an access out of bounds if the wave is not stopped. */
static inline uint8_t *cdna_nowhere(cdna_wave *w) {
  for (size_t k = 0; k < sizeof w->group->nowhere; k++) w->group->nowhere[k] = 0;
  return w->group->nowhere;
}
/* The bytes at a global address. NULL: the wave was stopped. */
uint8_t *cdna_reach(cdna_wave *, uint64_t address, uint64_t bytes, bool write, int lane);
/* Will it also execute instructions that follow and have the same handler, as many as `more` says? */
bool cdna_goes_on(const cdna_wave *, const cdna_op *);
/* Row of EXEC as masks. */
const uint32_t *cdna_mask(cdna_wave *);
/* The rows of a source: its own, or its value in temporary[slot] or `broadcasts`; not to be written. */
const uint32_t *cdna_rows(cdna_wave *, const cdna_source *, int slot);

/* ---- run.c ---- */

typedef struct cdna_observer cdna_observer; /* observe.h */

typedef struct cdna_launch {
  uint32_t grid[3], block[3]; /* workgroups; work-items */
  uint32_t lds;               /* bytes in addition to the kernel's own */
  const void *arguments;      /* as many bytes as the kernel reads; hidden arguments are filled in */
  size_t argument_bytes;
  int jobs;
  uint64_t limit;                /* limit of instructions per wave; 0 = the usual one */
  const cdna_observer *observer; /* NULL: none */
  bool unbounded;                /* accesses out of bounds do not stop the run */
  /* Only `count` workgroups from `first` on, `stride` apart (0: one after the other); count 0: all. */
  uint64_t first, count, stride;
  bool spread;      /* `count` of them, evenly spread over the grid */
  tw_text *printed; /* receives text that the kernel prints; NULL: it is discarded */
  /* Receives the work of each workgroup of the grid, by kind; NULL: not kept. */
  float *work;
  const double *unit; /* CDNA_KINDS values */
} cdna_launch;

typedef struct cdna_result_counts {
  uint64_t instructions, waves, workgroups; /* executed */
  uint64_t most;                            /* instructions of the longest wave */
  uint64_t did[CDNA_KINDS];
  bool waited; /* some workgroups waited for workgroups with higher numbers */
} cdna_result_counts;

/* ---- prints.c ---- */

/* The calls of printf in a launch's buffer (bytes taken, bytes of room, calls) as text. */
void cdna_prints(const cdna_object *, const uint8_t *buffer, tw_text *out);

/* Runs a grid on `memory`, to which the object is added. TW_FAILED with one line if a wave stops. */
tw_status cdna_run(const cdna_object *, const cdna_kernel *, const cdna_launch *, cdna_memory *, cdna_result_counts *,
                   tw_error *);

#endif
