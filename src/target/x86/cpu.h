/* cpu.h - the machine that the process runs on: instruction sets from CPUID, caches from hwloc. */
#ifndef TW_X86_CPU_H
#define TW_X86_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cores.h"
#include "target/x86/kernel.h"

typedef struct x86_cpu {
  bool has[X86_ISAS]; /* the CPU has the set, and the process may use it */
  bool whole_vectors; /* a multiply-add of half a vector of AVX-512 takes as long as of a whole one: Intel's */
  bool slow_bf16;     /* vdpbf16ps does less work per cycle than vfmadd231ps, and the CPU has no AMX */
  int64_t l1, l2, l3; /* bytes of data cache that one core can use; l3 may be shared */
  int64_t l3_share;   /* share of l3 for one core, if all cores that share it, and that the process may use, are busy */
  int cores;          /* cores that the process may use: the default of `threads` */
  tw_core_limits limits;
  int numa_nodes;
  char model[64];
} x86_cpu;

/* Determined at the first call, then kept. */
const x86_cpu *x86_this_cpu(void);

/* Must be called before x86_this_cpu, which then returns a copy: what another process on this machine found. This
 * process still asks the system for the registers of AMX. */
void x86_cpu_is(const x86_cpu *);
/* Must be called before x86_this_cpu: from then on AMX counts as present if the CPU has the other instructions of
 * its kernels. For tests that emulate AMX. */
void x86_emulate_amx(void);

#endif
