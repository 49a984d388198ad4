/* machine.h - a machine, as described by a text file in configs/: sizes for layouts, grids and occupancy, and rates
 * for the times of kernels. The file has the source of each number. */
#ifndef TW_CDNA_MACHINE_H
#define TW_CDNA_MACHINE_H

#include "base/config_file.h"
#include "target/cdna/arch.h"
#include "target/cdna/grid/caches.h"
#include "target/cdna/time/rates.h"
#include "tilewright/extend/target.h"

typedef struct cdna_machine {
  char name[32], summary[160];
  char product[32], products[64]; /* "MI355X"; all of them */
  double error;                   /* relative error of modelled times: tw_traits */
  char error_of[160];
  cdna_arch arch;
  int clock_mhz;
  int simds;         /* per CU */
  int waves;         /* per SIMD, at most */
  int registers;     /* per SIMD and lane: VGPRs and AGPRs together; of 32 bits */
  int register_step; /* a wave gets a multiple of this number */
  int register_most; /* at most this number: half of them VGPRs, half AGPRs */
  int lds_bytes, lds_step;
  int barriers;     /* per CU: each workgroup of several waves uses one */
  int work_items;   /* per workgroup, at most */
  int scalars_most; /* SGPRs of a wave */
  double memory_tbs;
  cdna_cache_machine caches;
  cdna_rates rates;
} cdna_machine;

extern const tw_config_schema cdna_machine_schema;
const char *cdna_processor(cdna_arch); /* "gfx950" */
/* The machine whose name is the architecture: cdna3 or cdna4. */
const cdna_machine *cdna_machine_of_arch(cdna_arch);
/* The rate in bytes per second at which operands of `bytes` bytes pass once: the LLC's if it holds them all,
 * otherwise memory's. */
double cdna_stream_rate(const cdna_machine *, double bytes);

/* ---- occupancy.c ---- */

/* The resources that a kernel requests; registers as in its descriptor (VGPRs, AGPRs), 0 for none. */
typedef struct cdna_resources {
  int vgprs, agprs;
  int lds_bytes;
  int work_items; /* per workgroup */
} cdna_resources;

typedef struct cdna_occupancy {
  int registers;                                   /* registers allocated to a wave */
  int lds_bytes;                                   /* LDS allocated to a workgroup */
  int waves_of_workgroup;                          /* of 64 lanes */
  int by_registers, by_lds, by_waves, by_barriers; /* workgroups of a CU that each resource would allow */
  /* waves per CU; waves of the fullest SIMD: waves / simds, rounded up */
  int workgroups, waves;
  int waves_of_simd;
  const char *limit; /* name of the limiting resource */
} cdna_occupancy;

tw_status cdna_occupancy_of(const cdna_machine *, const cdna_resources *, cdna_occupancy *, tw_error *);

/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): callers have a target */
static inline const cdna_machine *cdna_machine_of(const tw_target *t) { return t->config; }
static inline cdna_arch cdna_arch_of(const tw_target *t) { return cdna_machine_of(t)->arch; }

#endif
