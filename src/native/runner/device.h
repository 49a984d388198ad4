/* device.h - drops the rights of a process that the driver of a device does not need after it has opened the device. */
#ifndef TW_NATIVE_RUNNER_DEVICE_H
#define TW_NATIVE_RUNNER_DEVICE_H

/* From now on, every thread of this process can use its memory, make threads, read what drivers read of the system,
 * use devices whose file names begin with one of `devices` ("/dev/nvidia"; ended by NULL), and use the socket
 * `channel`. It cannot write files, start programs, make sockets or send signals. Any other call fails with ENOSYS.
 * Returns NULL, or the unavailable mechanism. */
const char *tw_confine_device(const char *const devices[], int channel);

#endif
