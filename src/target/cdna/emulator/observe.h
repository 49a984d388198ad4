/* observe.h - a run as others see it: each executed instruction, with what it reaches in memory, workgroup by
 * workgroup; and a launch whose waves somebody else moves.
 *
 * An observer is asked before an instruction executes, while all registers hold its inputs. Runs without one do not pay
 * for it: the loop over instructions exists twice. Workgroups run on several threads, each from its begin to its end
 * on one of them: what an observer keeps of a workgroup belongs into group->observed, what it sums up over threads is
 * its own to protect. A launch with an observer gives the same results. */
#ifndef TW_CDNA_OBSERVE_H
#define TW_CDNA_OBSERVE_H

#include "target/cdna/emulator/emulator.h"

struct cdna_observer {
  void *context;
  /* Registers and LDS hold what the wave begins with. False: stop, with the group's error filled in. NULL: none. */
  bool (*begin)(void *context, cdna_group *);
  /* wave->at is the dword of the instruction in the program. May call cdna_stop: then it is not executed. */
  void (*before)(void *context, cdna_wave *, const cdna_op *);
  /* It has been executed, and has not stopped the wave; wave->pc is where it goes on. NULL: none. */
  void (*after)(void *context, cdna_wave *, const cdna_op *);
  /* All waves that have not ended are at the barrier and go on. NULL: none. */
  void (*barrier)(void *context, cdna_group *);
  /* Also of a group that was stopped. NULL: none. */
  void (*end)(void *context, cdna_group *);
};

/* ---- what an instruction reaches; access.c ---- */

typedef enum cdna_space { CDNA_IN_GLOBAL, CDNA_IN_LDS, CDNA_IN_SCRATCH, CDNA_SPACES } cdna_space;

typedef struct cdna_access {
  bool reads, writes;              /* both: an atomic */
  bool scalar;                     /* one address, in lane 0; `bytes` of it */
  bool to_lds;                     /* a load that goes to LDS: what it reads is global, lane by lane `lds` is written */
  uint8_t parts;                   /* 2 with read2 and write2: address[1], too */
  uint8_t bytes;                   /* of a lane, at each address */
  uint64_t lanes[CDNA_SPACES];     /* which lanes reach which memory */
  uint64_t dropped;                /* lanes that a buffer's range keeps from memory, in part or altogether */
  uint64_t address[2][CDNA_LANES]; /* global; in LDS and scratch: bytes from the start of the workgroup's, the lane's */
  uint32_t lds[CDNA_LANES];
} cdna_access;

/* Of the instruction that is about to execute. False: it does not reach memory. */
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
/* Executes workgroup `id` alone, in turns as cdna_run does. TW_FAILED if it stops or waits for others. */
tw_status cdna_group_run(cdna_dispatch *, uint64_t id, const cdna_observer *, tw_error *);
/* The instruction that the wave executes next; NULL: the wave has been stopped, since there is none. */
const cdna_op *cdna_wave_next(cdna_wave *);
/* Executes it. A wave at a barrier waits until its state is CDNA_RUNNING again. */
void cdna_wave_step(cdna_wave *, const cdna_op *);

#endif
