/* rates.c - see rates.h. */
#include "target/cdna/time/rates.h"

#include <math.h>

double cdna_clock_mhz(const cdna_rates *r, double peak_mhz, double use) {
  if (use <= 0) return peak_mhz;
  const double clock = r->matrix_mhz * pow(r->matrix_use / use, 1 / r->power_exponent);
  return clock < peak_mhz ? clock : peak_mhz;
}
