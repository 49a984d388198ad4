/* ceilings.h - the best rates of a device, measured on it once and stored. */
#ifndef TW_CUDA_CEILINGS_H
#define TW_CUDA_CEILINGS_H

#include <stdbool.h>

#include "target/cuda/device.h"

typedef struct cuda_ceilings {
  double copy; /* bytes per second, read and written, when 1 GiB is copied */
  double f32, bf16,
      i8; /* operations a second (a multiply-add is two), on random data, at the clock that the device keeps */
} cuda_ceilings;

/* Measures the rates that are not stored yet. Takes about a second and needs the device for itself. */
tw_status cuda_measure_ceilings_of(const cuda_device *, const cuda_config *, cuda_ceilings *, tw_error *);
/* Only the stored rates. */
bool cuda_known_ceilings(const cuda_device *, cuda_ceilings *);

/* The rate for operands of this type. */
double cuda_ceiling(const cuda_ceilings *, tw_type);

#endif
