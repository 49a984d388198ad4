/* machine.h - a machine as a text file in configs/ describes it: sizes that layouts, grids and occupancy are about, and rates that
 * kernels are timed with. Each number's source is in the file. */
#ifndef TW_CDNA_MACHINE_H
#define TW_CDNA_MACHINE_H

#include "base/config_file.h"
#include "target/cdna/arch.h"
#include "target/cdna/grid/caches.h"
#include "target/cdna/time/rates.h"

typedef struct cdna_machine {
  char name[32], summary[160];
  char product[32], products[64]; /* "MI355X"; all of them */
  double error;                   /* of modelled times: tw_traits */
  char error_of[160];
  cdna_arch arch;
  int clock_mhz;
  int simds;         /* of a CU */
  int waves;         /* of a SIMD, at most */
  int registers;     /* of a SIMD for one lane: VGPRs and AGPRs together; 32 bits */
  int register_step; /* a wave gets a multiple of so many, */
  int register_most; /* and at most so many: half of them VGPRs, half AGPRs */
  int lds_bytes, lds_step;
  int barriers;     /* of a CU: workgroups of several waves take one each */
  int work_items;   /* of a workgroup, at most */
  int scalars_most; /* SGPRs of a wave */
  double memory_tbs;
  cdna_cache_machine caches;
  cdna_rates rates;
} cdna_machine;

extern const tw_config_schema cdna_machine_schema;
const char *cdna_processor(cdna_arch); /* "gfx950" */
/* The machine that is named like the architecture: cdna3 or cdna4. */
const cdna_machine *cdna_machine_of_arch(cdna_arch);

/* ---- occupancy.c ---- */

/* What a kernel asks for; registers as in its descriptor (VGPRs, AGPRs), 0 for none. */
typedef struct cdna_resources {
  int vgprs, agprs;
  int lds_bytes;
  int work_items; /* of a workgroup */
} cdna_resources;

typedef struct cdna_occupancy {
  int registers;                                   /* that a wave is given */
  int lds_bytes;                                   /* that a workgroup is given */
  int waves_of_workgroup;                          /* of 64 lanes */
  int by_registers, by_lds, by_waves, by_barriers; /* workgroups of a CU that each would allow */
  int workgroups, waves;                           /* of a CU; waves of the fullest SIMD: waves / simds, rounded up */
  int waves_of_simd;
  const char *limit; /* what allows the fewest, in words */
} cdna_occupancy;

tw_status cdna_occupancy_of(const cdna_machine *, const cdna_resources *, cdna_occupancy *, tw_error *);

#endif
