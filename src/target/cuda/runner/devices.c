/* devices.c - the devices that the driver reports, for target/cuda/device.c: a separate process, because a driver may
 * hang, and keeps threads and memory once it is loaded.
 *
 *   driver 13000
 *   device 0 90 132 1980000 52428800 232448 85017690112 UUID NVIDIA H100 80GB HBM3      (device.c reads it) */
#include "target/cuda/runner/runner.h"

#include <stdio.h>

#include "target/cuda/driver.h"

static int attribute(const cuda_driver *cuda, int which, CUdevice device) {
  int value = 0;
  cuda->cuDeviceGetAttribute(&value, which, device);
  return value;
}

static void print_device(const cuda_driver *cuda, int ordinal) {
  CUdevice d;
  CUuuid uuid = {{0}};
  char name[128] = "";
  size_t bytes = 0;
  if (cuda->cuDeviceGet(&d, ordinal)) return;
  cuda->cuDeviceGetName(name, sizeof name, d);
  cuda->cuDeviceTotalMem_v2(&bytes, d);
  cuda->cuDeviceGetUuid_v2(&uuid, d);
  printf("device %d %d %d %d %d %d %zu ", ordinal, 10 * attribute(cuda, CU_MAJOR, d) + attribute(cuda, CU_MINOR, d),
         attribute(cuda, CU_SMS, d), attribute(cuda, CU_CLOCK_KHZ, d), attribute(cuda, CU_L2_BYTES, d),
         attribute(cuda, CU_SHARED_OPTIN, d), bytes);
  for (int i = 0; i < 16; i++) printf("%02x", (unsigned char)uuid.bytes[i]);
  printf(" %s\n", name);
}

int cuda_list_devices(void) {
  cuda_driver cuda;
  int version = 0, count = 0;
  const char *missing = cuda_driver_open(&cuda);
  if (!missing && (cuda.cuDriverGetVersion(&version) || cuda.cuDeviceGetCount(&count) || !count))
    missing = "the NVIDIA driver shows no device";
  if (missing) return printf("missing %s\n", missing), 0;
  printf("driver %d\n", version);
  for (int i = 0; i < count; i++) print_device(&cuda, i);
  return 0;
}
