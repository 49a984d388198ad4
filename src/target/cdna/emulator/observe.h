/* observe.h - observers of a run: they see each executed instruction and the memory that it reaches, workgroup by
 * workgroup. Also a launch whose waves the caller schedules.
 *
 * An observer is called before an instruction executes, while all registers hold its inputs. Runs without an
 * observer have no overhead, because the loop over instructions exists twice. Workgroups run on several threads,
 * each workgroup on one thread. The observer's state for a workgroup belongs in group->observed; sums over threads
 * need the observer's own locks. A launch with an observer gives the same results. */
#ifndef TW_CDNA_OBSERVE_H
#define TW_CDNA_OBSERVE_H

#include <string.h>

#include "target/cdna/emulator/emulator.h"

struct cdna_observer {
  void *context;
  /* Called when registers and LDS hold their initial values. False: stop, with the group's error filled in. NULL:
   * not called. */
  bool (*begin)(void *context, cdna_group *);
  /* wave->at is the dword of the instruction in the program. May call cdna_stop; then the instruction is not
   * executed. May set wave->more, at most to wave->room, if cdna_goes_on: as many instructions that follow are executed
   * without a call. */
  void (*before)(void *context, cdna_wave *, const cdna_op *);
  /* The instruction was executed and did not stop the wave; wave->pc is the next address. NULL: not called. */
  void (*after)(void *context, cdna_wave *, const cdna_op *);
  /* All waves that have not ended are at the barrier and will continue. NULL: not called. */
  void (*barrier)(void *context, cdna_group *);
  /* Also called for a group that was stopped. NULL: not called. */
  void (*end)(void *context, cdna_group *);
};

/* ---- the memory that an instruction reaches; access.c ---- */

typedef enum cdna_space { CDNA_IN_GLOBAL, CDNA_IN_LDS, CDNA_IN_SCRATCH, CDNA_SPACES } cdna_space;

typedef struct cdna_access {
  bool reads, writes;          /* both: an atomic */
  bool scalar;                 /* one address, in lane 0; `bytes` of it */
  bool to_lds;                 /* a load to LDS: it reads global memory, and `lds` is written lane by lane */
  uint8_t parts;               /* 2 with read2 and write2: address[1], too */
  uint8_t bytes;               /* bytes per lane, at each address */
  uint64_t lanes[CDNA_SPACES]; /* for each memory, the lanes that access it */
  uint64_t dropped;            /* lanes that a buffer's range check keeps from memory, partly or completely */
  /* Only for the lanes above: global addresses; for LDS and scratch, bytes from the start of the workgroup's or the
   * lane's memory. */
  uint64_t address[2][CDNA_LANES];
  uint32_t lds[CDNA_LANES];
} cdna_access;

/* Sets all fields to zero, except the addresses. */
static inline void cdna_access_begin(cdna_access *a) { memset(a, 0, offsetof(cdna_access, address)); }

/* The access of the next instruction. False: it does not access memory. */
bool cdna_access_of(const cdna_wave *, const cdna_op *, cdna_access *);
/* The classes' own. */
bool cdna_vmem_access(const cdna_wave *, const cdna_op *, cdna_access *);
bool cdna_lds_access(const cdna_wave *, const cdna_op *, cdna_access *);
bool cdna_smem_access(const cdna_wave *, const cdna_op *, cdna_access *);

/* ---- a launch that is moved wave by wave: run.c ---- */

typedef struct cdna_dispatch cdna_dispatch;

/* Begins like cdna_run: checks the launch, adds code and arguments to memory. Launch and object must outlive the
 * dispatch. */
tw_status cdna_dispatch_open(const cdna_object *, const cdna_kernel *, const cdna_launch *, cdna_memory *,
                             cdna_dispatch **out, tw_error *);
void cdna_dispatch_close(cdna_dispatch *);
const cdna_program *cdna_dispatch_program(const cdna_dispatch *);
/* LDS bytes of a workgroup; number of workgroups; waves of a workgroup. */
uint32_t cdna_dispatch_lds(const cdna_dispatch *);
uint64_t cdna_dispatch_groups(const cdna_dispatch *);
int cdna_dispatch_waves(const cdna_dispatch *);
/* Address of the arguments. */
uint64_t cdna_dispatch_arguments(const cdna_dispatch *);

/* Registers and LDS of a workgroup, which one workgroup after another may use. NULL without memory. Errors of its
 * waves are written to the error. */
cdna_group *cdna_group_open(const cdna_dispatch *, tw_error *);
void cdna_group_close(cdna_group *);
/* Sets the initial state of workgroup `id`. */
void cdna_group_start(const cdna_dispatch *, cdna_group *, uint64_t id);
/* Executes workgroup `id` alone, its waves in turn as in cdna_run. TW_FAILED if it stops or waits for other
 * workgroups. */
tw_status cdna_group_run(cdna_dispatch *, uint64_t id, const cdna_observer *, tw_error *);
/* The next instruction of the wave. NULL: the wave was stopped, because no instruction is there. */
const cdna_op *cdna_wave_next(cdna_wave *);
/* Executes it. A wave at a barrier waits until its state is CDNA_RUNNING again. */
void cdna_wave_step(cdna_wave *, const cdna_op *);

#endif
