/* cpu.h - features of this CPU that several parts of the library need. */
#ifndef TW_BASE_CPU_H
#define TW_BASE_CPU_H

#include <stdbool.h>

/* AVX2, FMA and F16C, and a system that keeps their registers: what every kernel called avx2 is compiled for. All CPUs
 * since Haswell and Zen have the three; hypervisors and emulators can leave out any of them. */
bool tw_cpu_has_avx2(void);

#endif
