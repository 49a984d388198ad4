/* rates.h - the time of instructions and memory accesses: values of a machine file (machine.h). */
#ifndef TW_CDNA_RATES_H
#define TW_CDNA_RATES_H

typedef struct cdna_rates {
  double matrix_mhz, matrix_use, power_exponent, vector_power; /* the clock under load */
  int slot, valu_latency, valu_to_matrix, valu_to_scalar, transcendental, branch, matrix_to_vector, barrier, wave_start;
  int lds_read, lds_write, lds_addresses, lds_latency, lds_queue;
  int addresses, l1_bandwidth, l1_bytes, l1_line, l1_ways, l2_write, vmem_queue, burst;
  int code_bytes, code_line, code_lines; /* the instruction cache; lines that a wave buffers */
  double l1_ns, l2_gbs, l2_ns, llc_gbs, llc_ns, memory_use, memory_ns, arguments_ns, code_ns, launch_us;
} cdna_rates;

/* The clock at the use of matrix and vector units, weighted by power; 1: matrix units work all the time. */
double cdna_clock_mhz(const cdna_rates *, double peak_mhz, double use);

#endif
