/* machine.c - the numbers of machine.h.
 *
 * Sources: AMD's data sheets and CDNA 3/CDNA 4 white papers (CUs, clocks, LDS, L2: 4 MB an XCD in 16 channels, 16-way,
 * lines of 128 bytes; LLC 256 MB); ROCm Compute Profiler's documentation (channels in turns of 256 bytes); LLVM's
 * AMDGPUUsage and its tables for gfx942 and gfx950 (registers, their step, LDS and its step, waves, workgroups).
 *
 * Bandwidths are those of equation 1 of HipKittens, which prints neither: "L2 bandwidth is roughly 3x higher than LLC
 * bandwidth". With 17.2 TB/s, AMD's peak of MI300X's LLC, in the place of L2, and a third of it for the LLC, the
 * paper's hit rates give the bandwidths that it prints within 2%: so that column is no prediction of ours. */
#include "target/cdna/machine.h"

#define L2 .l2_bytes = 4 << 20, .channels = 16, .interleave = 256, .line_bytes = 128, .ways = 16
#define EQUATION_1 .l2_tbs = 17.2, .llc_tbs = 17.2 / 3

const cdna_machine cdna_machines[CDNA_ARCHES] = {
    [CDNA3] = {.name = "cdna3",
               .product = "MI300X",
               .products = "MI300X, MI325X",
               .memory_tbs = 5.3,
               .processor = "gfx942",
               .clock_mhz = 2100,
               .simds = 4,
               .waves = 8,
               .registers = 512,
               .register_step = 8,
               .register_most = 512,
               .lds_bytes = 64 << 10,
               .lds_step = 512,
               .barriers = 16,
               .work_items = 1024,
               .scalars_most = 102,
               .caches = {.xcds = 8, .cus = 38, .llc_bytes = 256ll << 20, L2, EQUATION_1}},
    [CDNA4] = {.name = "cdna4",
               .product = "MI355X",
               .products = "MI350X, MI355X",
               .memory_tbs = 8.0,
               .processor = "gfx950",
               .clock_mhz = 2400,
               .simds = 4,
               .waves = 8,
               .registers = 512,
               .register_step = 8,
               .register_most = 512,
               .lds_bytes = 160 << 10,
               .lds_step = 1280,
               .barriers = 16,
               .work_items = 1024,
               .scalars_most = 102,
               .caches = {.xcds = 8, .cus = 32, .llc_bytes = 256ll << 20, L2, EQUATION_1}},
};
