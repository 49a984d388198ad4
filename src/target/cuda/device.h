/* device.h - the NVIDIA devices, driver and compiler of this computer. A separate process looks them up, once. */
#ifndef TW_CUDA_DEVICE_H
#define TW_CUDA_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "target/cuda/config.h"

enum { CUDA_DEVICES_MAX = 16 };

typedef struct cuda_device {
  int ordinal;
  int capability; /* 90 = 9.0 */
  int multiprocessors, clock_khz, l2_bytes, shared_block;
  uint64_t bytes;
  char uuid[40], name[96];
} cuda_device;

typedef struct cuda_here {
  char runner[512];     /* path of tilewright-cuda-runner; "" = not found */
  char compiler[480];   /* "NVRTC 13.0 /usr/...", "nvcc /usr/..."; "" = none */
  char nvrtc[400];      /* path of the library; "" = not found */
  char nvcc[400];       /* path of nvcc if NVRTC is missing; otherwise "" */
  char include[400];    /* the folder of CUDA's own headers; "" = not found */
  char no_devices[300]; /* the reason why no device was found; "" = a device was found */
  int driver;           /* 13000 = CUDA 13.0 */
  size_t n_devices;
  cuda_device device[CUDA_DEVICES_MAX];
} cuda_here;

const cuda_here *cuda_look(void); /* valid for ever */

/* The devices that a machine's description matches; NULL matches all devices. Returns their number. */
size_t cuda_devices_of(const cuda_config *, const cuda_device *out[CUDA_DEVICES_MAX]);
/* The description of the first device of this computer. Without a device or a description of it, the H200's. */
const cuda_config *cuda_config_here(void);
/* Does the driver's name of a device mean this product? */
bool cuda_is_named(const char *driver_name, const char *device);

/* TW_NO_DEVICE with what to install. */
tw_status cuda_need_compiler(tw_error *);
tw_status cuda_need_device(const cuda_config *, tw_error *);

#endif
