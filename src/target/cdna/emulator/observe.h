/* observe.h - observers of a run: they see each executed instruction and the memory that it reaches, workgroup by
 * workgroup. Also a launch whose waves the caller schedules.
 *
 * An observer is called before an instruction executes, while all registers hold its inputs. Runs without one have no
 * overhead: the loop over instructions exists twice. Workgroups run on several threads, each workgroup on one thread.
 * The observer's state for a workgroup belongs in group->observed; sums over threads need the observer's own locks. A
 * launch with an observer gives the same results. */
#ifndef TW_CDNA_OBSERVE_H
#define TW_CDNA_OBSERVE_H

#include <string.h>

#include "target/cdna/emulator/emulator.h"

struct cdna_observer {
  void *context;
  /* Registers and LDS hold their initial values. False: stop, with the group's error filled in. NULL: none. */
  bool (*begin)(void *context, cdna_group *);
  /* wave->at is the dword of the instruction in the program. May call cdna_stop: then it is not executed. */
  void (*before)(void *context, cdna_wave *, const cdna_op *);
  /* The instruction was executed and did not stop the wave; wave->pc is the next address. NULL: none. */
  void (*after)(void *context, cdna_wave *, const cdna_op *);
  /* All waves that have not ended are at the barrier and go on. NULL: none. */
  void (*barrier)(void *context, cdna_group *);
  /* Also of a group that was stopped. NULL: none. */
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
  uint64_t lanes[CDNA_SPACES]; /* which lanes reach which memory */
  uint64_t dropped;            /* lanes that a buffer's range keeps from memory, in part or altogether */
  /* Only of the lanes above: global; in LDS and scratch bytes from the start of the workgroup's, the lane's. */
  uint64_t address[2][CDNA_LANES];
  uint32_t lds[CDNA_LANES];
} cdna_access;

/* All fields except the addresses are zero. */
static inline void cdna_access_begin(cdna_access *a) { memset(a, 0, offsetof(cdna_access, address)); }

/* For the next instruction. False: it does not access memory. */
bool cdna_access_of(const cdna_wave *, const cdna_op *, cdna_access *);
/* The classes' own. */
bool cdna_vmem_access(const cdna_wave *, const cdna_op *, cdna_access *);
bool cdna_lds_access(const cdna_wave *, const cdna_op *, cdna_access *);
bool cdna_smem_access(const cdna_wave *, const cdna_op *, cdna_access *);

/* ---- a launch that is moved wave by wave: run.c ---- */

typedef struct cdna_dispatch cdna_dispatch;

/* As cdna_run begins: checks the launch, adds code and arguments to memory. The launch and the object must stay. */
tw_status cdna_dispatch_open(const cdna_object *, const cdna_kernel *, const cdna_launch *, cdna_memory *,
                             cdna_dispatch **out, tw_error *);
void cdna_dispatch_close(cdna_dispatch *);
const cdna_program *cdna_dispatch_program(const cdna_dispatch *);
/* LDS of a workgroup; how many there are, and waves of one. */
uint32_t cdna_dispatch_lds(const cdna_dispatch *);
uint64_t cdna_dispatch_groups(const cdna_dispatch *);
int cdna_dispatch_waves(const cdna_dispatch *);
/* Address of the arguments. */
uint64_t cdna_dispatch_arguments(const cdna_dispatch *);

/* A workgroup's registers and LDS, that one workgroup after another may use; NULL without memory. Errors of its waves
 * go to the error. */
cdna_group *cdna_group_open(const cdna_dispatch *, tw_error *);
void cdna_group_close(cdna_group *);
/* All is as workgroup `id` begins. */
void cdna_group_start(const cdna_dispatch *, cdna_group *, uint64_t id);
/* Executes workgroup `id` alone, its waves in turn as in cdna_run. TW_FAILED if it stops or waits for other
 * workgroups. */
tw_status cdna_group_run(cdna_dispatch *, uint64_t id, const cdna_observer *, tw_error *);
/* The next instruction of the wave; NULL: the wave was stopped because there is none. */
const cdna_op *cdna_wave_next(cdna_wave *);
/* Executes it. A wave at a barrier waits until its state is CDNA_RUNNING again. */
void cdna_wave_step(cdna_wave *, const cdna_op *);

#endif
