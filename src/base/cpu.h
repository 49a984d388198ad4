/* cpu.h - features of this CPU that several parts of the library need. */
#ifndef TW_BASE_CPU_H
#define TW_BASE_CPU_H

#include <stdbool.h>

/* True if the CPU has AVX2, FMA and F16C and the system saves their registers. Every kernel called avx2 is compiled
 * for the three. All CPUs since Haswell and Zen have them; hypervisors and emulators can leave out any of them. */
bool tw_cpu_has_avx2(void);

#endif
