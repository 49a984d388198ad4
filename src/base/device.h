/* device.h - one measurement at a time on a device, for all processes of this machine. */
#ifndef TW_BASE_DEVICE_H
#define TW_BASE_DEVICE_H

#include <stdbool.h>

#include "tilewright/status.h"

/* `device` is a name: that of tw_traits.device, or of one GPU among several. NULL needs no lock: *out becomes -1.
 * Runs that are not timed share the lock. A thread that waits gets the lock before the present owner gets it again. */
tw_status tw_device_lock(const char *device, bool shared, const tw_stop *, int *out, tw_error *);
void tw_device_unlock(int lock);

/* Seconds that this thread has waited for its turn on a device since it began. A target that keeps its own queue adds
 * its waits: they say nothing about how long a trial takes. */
double tw_waited(void);
void tw_add_wait(double seconds);

#endif
