/* rates.h - measured peak rates of the machine: multiply-adds on registers, reads from memory. */
#ifndef TW_X86_RATES_H
#define TW_X86_RATES_H

#include <stddef.h>

#include "target/x86/plan.h"

/* Operations a second (a multiply-add is two) of the kernel's instruction on `threads` threads: the best of a few
 * runs. */
double x86_peak(const x86_kernel *, int threads);

/* The highest rate of `threads` threads of this machine for the types of a planned product, with any kernel: the
 * rate of the fastest multiply-add instruction for them. If the library looks up sums of three products in tables,
 * one look-up and one addition replace three multiply-adds: the rate is 1.5 times as high. `limit` (static text)
 * names the case. */
double x86_peak_of(const tw_gemm_plan *, int threads, const char **limit);

/* Bytes a second that `threads` threads read from memory, each from its own part of 256 MiB, 64 bytes at a time. 0
 * without the memory for it. */
double x86_read_bandwidth(int threads);

/* Seconds that `threads` threads take to read `bytes` at `memory`, each its own part, a multiple of 256 bytes. */
double x86_read_seconds(const void *memory, size_t bytes, int threads);

/* The time in seconds of a clock for `threads` threads; for one thread its processor time, which excludes other
 * processes on the machine. */
double x86_now_of(int threads);

#endif
