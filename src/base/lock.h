/* lock.h - a lock between processes and between threads. It is on an open file, so it ends with the process that
 * holds it. */
#ifndef TW_BASE_LOCK_H
#define TW_BASE_LOCK_H

#include <stdbool.h>

#include "tilewright/status.h"

/* Waits for the lock until `stop` ends the wait (NULL: for ever). The file is made if it is missing, and stays: if
 * it were removed, two processes could hold the lock. A shared lock excludes only exclusive ones. Close *out to
 * release. TW_INTERRUPTED if the wait was stopped, TW_DISK_FULL or TW_USAGE if the file cannot be opened. */
tw_status tw_lock_file(const char *path, bool shared, const tw_stop *, int *out, tw_error *);
void tw_unlock_file(int fd);

#endif
