/* lock.h - a lock between processes and between threads: on an open file, so it ends with the process that holds it. */
#ifndef TW_BASE_LOCK_H
#define TW_BASE_LOCK_H

#include <stdbool.h>

#include "tilewright/status.h"

/* Waits until `stop` says otherwise (NULL: for ever). The file is made if it is not there, and stays: one that is removed
 * lets two hold "the" lock. A shared lock keeps out exclusive ones alone. *out is to be closed. TW_INTERRUPTED when it
 * was stopped, TW_MISSING or TW_USAGE if the file cannot be opened. */
tw_status tw_lock_file(const char *path, bool shared, const tw_stop *, int *out, tw_error *);
void tw_unlock_file(int fd);

#endif
