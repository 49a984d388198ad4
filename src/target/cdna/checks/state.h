/* state.h - the state of the checks while a workgroup runs; used only by the files of this folder. */
#ifndef TW_CDNA_CHECKS_STATE_H
#define TW_CDNA_CHECKS_STATE_H

#include <stdatomic.h>
#include <string.h>

#include "target/cdna/checks/checks.h"
#include "target/cdna/checks/counts.h"

/* An instruction, as the checks see it. */
typedef struct seen {
  const cdna_op *op;
  const cdna_effects *e;
  uint64_t exec; /* active lanes; all lanes for instructions that ignore EXEC */
  bool reaches;  /* accesses memory; `access` is filled in */
  cdna_access access;
} seen;

/* ---- sets of registers, by code: the checks skip ranges that have nothing young, in flight or undefined ---- */

typedef struct register_set {
  uint64_t bit[CDNA_REGISTER_CODES / 64 + 1]; /* one additional word, for ranges at the end */
} register_set;

/* Bits of n registers (at most 64), the first in bit 0. */
static inline uint64_t registers_in(const register_set *s, int first, int n) {
  const int word = first >> 6, shift = first & 63;
  uint64_t bits;
  if (n == 1) return s->bit[word] >> shift & 1;
  if (first + n > CDNA_REGISTER_CODES) n = CDNA_REGISTER_CODES - first;
  if (n <= 0) return 0;
  bits = s->bit[word] >> shift;
  if (shift + n > 64) bits |= s->bit[word + 1] << (64 - shift);
  return n < 64 ? bits & ((1ull << n) - 1) : bits;
}
static inline void add_registers(register_set *s, int first, int n) {
  const int word = first >> 6, shift = first & 63;
  if (first + n > CDNA_REGISTER_CODES) n = CDNA_REGISTER_CODES - first;
  if (n <= 0) return;
  const uint64_t all = n < 64 ? (1ull << n) - 1 : ~0ull;
  s->bit[word] |= all << shift;
  if (shift + n > 64) s->bit[word + 1] |= all >> (64 - shift);
}

/* Registers of the last `span` to 2 * span units of time, and perhaps some earlier ones. */
typedef struct recent_set {
  register_set now, all; /* all: includes the previous span */
  uint32_t since;        /* the time at which `now` begins */
} recent_set;

static inline void begin_recent(recent_set *s, uint32_t time, uint32_t span) {
  if (time - s->since < span) return;
  if (time - s->since < 2 * span)
    s->all = s->now;
  else
    memset(&s->all, 0, sizeof s->all);
  memset(&s->now, 0, sizeof s->now);
  s->since = time;
}
static inline void add_recent(recent_set *s, uint32_t time, uint32_t span, int first, int n) {
  begin_recent(s, time, span);
  add_registers(&s->now, first, n);
  add_registers(&s->all, first, n);
}
static inline uint64_t recent_in(const recent_set *s, int first, int n) { return registers_in(&s->all, first, n); }

/* ---- waits.c ---- */

/* Operations of each counter are numbered from 1 in order of issue; operations up to `done` have ended. Scalar loads
 * end in any order: all in flight have number `scalar`. */
typedef struct wait_state {
  uint32_t vm, vm_done, lds, lds_done, scalar, scalar_done;
  /* number of the last operation that writes the register */
  uint32_t vm_of[CDNA_REGISTER_CODES], lds_of[CDNA_REGISTER_CODES];
  uint32_t scalar_of[CDNA_ZERO];
  uint32_t at_of[CDNA_REGISTER_CODES];    /* its instruction */
  register_set in_flight;                 /* registers that an operation may still write */
  uint32_t vm_at_barrier, lds_at_barrier; /* number that had ended when the wave arrived at a barrier, */
  uint32_t vm_passed, lds_passed;         /* the same numbers at the last barrier that the wave passed */
} wait_state;

/* ---- hazards.c ---- */

typedef struct written {
  uint32_t time; /* time of issue, in wait states; 0: never, or long ago */
  uint32_t at;
  uint8_t how, passes;
  uint16_t first; /* register of the destination */
} written;

typedef struct hazard_state {
  uint32_t time, matrix_free;
  /* written by MFMA, by VALU; read as C, read as data of a store */
  written matrix[512], vector[512], addend[512], data[512];
  written scalar[CDNA_ZERO]; /* by VALU */
  /* registers with recent entries above (other registers need no check): of VALU, including scalars; of `data`; of
   * the matrix unit */
  recent_set by_valu, by_store, by_matrix;
  size_t next;           /* dword of the next instruction, if no branch is taken */
  uint32_t matrix_until; /* no matrix result is more recent than this */
  uint32_t others_until; /* nor, for plain instructions, anything else */
} hazard_state;

/* ---- undefined.c ---- */

enum { ORIGINS = 64 };
typedef struct origin {
  char what[264];
  uint32_t at;
  int lane;
} origin;

typedef struct undefined_state {
  register_set any;           /* registers with an undefined byte */
  uint64_t vector[512][4];    /* lanes whose byte is undefined */
  uint32_t scalar[CDNA_ZERO]; /* bits */
  bool scc;
  uint8_t origin_of[CDNA_REGISTER_CODES];
  int n_origins;
  origin origin[ORIGINS];
  uint8_t *scratch; /* for each byte: is it undefined? */
} undefined_state;

typedef struct wave_state {
  uint64_t first_exec;
  uint32_t barriers, last_barrier;
  wait_state waits;
  hazard_state hazards;
  undefined_state undefined;
} wave_state;

/* ---- lds.c ---- */

typedef struct lds_write {
  uint32_t sequence : 30; /* number of the write in its wave's counter */
  uint32_t direct : 1;    /* a load to LDS wrote it */
  uint32_t atomic : 1;    /* all writes of that epoch were atomics */
} lds_write;

/* State of a cell of LDS: a dword, or a half or byte if the kernel has accesses that narrow. Neighbouring cells usually
 * have the same history. */
typedef struct lds_history {
  uint32_t written, read;    /* epoch of the last write and read; epochs count workgroups and barriers */
  uint16_t writers, readers; /* waves of these epochs, a bit each */
  lds_write write;
} lds_history;
typedef struct lds_cell {
  lds_history was;
  uint32_t write_at, read_at;
} lds_cell;

/* A cell that two waves write without a barrier in between: a race, unless both values are equal. */
enum { DOUBTFUL_MAX = 256 };
typedef struct doubtful {
  uint32_t address, old; /* bytes of LDS, as many as in a cell */
  uint32_t other_at;
  uint16_t others; /* waves, a bit each */
  int16_t lane;
} doubtful;

typedef struct group_state {
  struct group_state *next;
  cdna_checker *checker;
  const cdna_group *group;
  uint32_t epoch, first; /* the current epoch, and the epoch in which the workgroup began */
  uint32_t lds_bytes;
  lds_cell *cell;
  uint8_t *lds_undefined; /* for each byte */
  bool lds_defined;       /* no byte is undefined, as found at a barrier */
  int n_waves;
  int n_doubtful; /* length of `doubtful`: the last executed instruction, of wave doubtful_wave */
  doubtful doubtful[DOUBTFUL_MAX];
  cdna_wave *doubtful_wave;
  size_t doubtful_at;
  wave_state *wave;
  cdna_count *count; /* for each dword of code; NULL: not counted */
} group_state;

/* For each byte of memory that a launch writes: 0 never written, else 1 + the workgroup that wrote it last, or
 * GIVEN, SHARED. */
enum { OWNERS_MAX = CDNA_ALLOCATIONS_MAX };
static const uint32_t OWNER_GIVEN = UINT32_MAX, OWNER_SHARED = UINT32_MAX - 1;

struct cdna_checker {
  unsigned checks;
  cdna_observer observer;
  atomic_flag lock;
  /* the running program */
  const cdna_program *program;
  cdna_effects *effects;
  int cell_shift; /* 2^this bytes of LDS are a cell: its narrowest access */
  _Atomic(uint32_t) *owner[OWNERS_MAX];
  group_state *idle;
  bool counts;
  size_t n_count; /* dwords of code */
  cdna_count *count;
  int work_items;
  uint32_t lds;
  size_t n, room;
  cdna_finding *finding;
  bool out_of_memory;
};

static inline bool checks_for(const cdna_checker *c, cdna_check check) { return c->checks >> check & 1; }
static inline wave_state *state_of(const cdna_wave *w) {
  const group_state *g = w->group->observed;
  return &g->wave[w->id];
}

/* Did this workgroup or an earlier one have the same finding at this instruction? Then it is only counted, without a
 * text. */
bool found_before(cdna_wave *, cdna_check, size_t at);
/* Adds a finding of this wave at the instruction; lane -1: no particular lane. */
void find_at(cdna_wave *, cdna_check, size_t at, int lane, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* "v5", "s[4:5]", "vcc", "a0". */
void register_name(int code, char text[16]);
/* "buffer_load_dword at kernel.c:12". */
void place_name(const cdna_wave *, size_t at, char *text, size_t size);

void waits_before(cdna_wave *, const seen *);
void hazards_before(cdna_wave *, const seen *);
/* The same for a plain instruction at this dword; false: nothing was done, because earlier instructions may matter. */
bool hazards_before_plain(cdna_wave *, const cdna_op *, const cdna_effects *, size_t at);
void undefined_begin(cdna_wave *);
void undefined_before(cdna_wave *, const seen *);
void lds_before(cdna_wave *, const seen *);
/* Call after the instruction: finds which of its doubtful writes have changed LDS. */
void lds_settle(cdna_group *);
void alignment_before(cdna_wave *, const seen *);
void global_before(cdna_wave *, const seen *);
/* Owners of the bytes at an address; NULL if none are recorded. `given`: all bytes of the allocation are defined. */
_Atomic(uint32_t) *owners_of(cdna_wave *, uint64_t address, uint64_t bytes, bool *given);

#endif
