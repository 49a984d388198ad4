/* device.c - a lock file for each device, in the lock folder that all users of the machine share. */
#include "base/device.h"

#include <stdio.h>
#include <unistd.h>

#include "base/lock.h"

tw_status tw_device_lock(const char *device, bool shared, const tw_stop *stop, int *out, tw_error *error) {
  char path[256];
  *out = -1;
  if (!device) return TW_OK;
  int length = snprintf(path, sizeof path, "%s/tilewright-", access("/run/lock", W_OK) == 0 ? "/run/lock" : "/tmp");
  for (const char *c = device; *c && length + 6 < (int)sizeof path; c++) /* "gpu:0" is not a folder name */
    path[length++] = *c == '/' || *c == ':' ? '-' : *c;
  snprintf(path + length, sizeof path - (size_t)length, ".lock");
  return tw_lock_file(path, shared, stop, out, error);
}

void tw_device_unlock(int lock) { tw_unlock_file(lock); }
