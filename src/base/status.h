/* status.h - groups of statuses: who has to act. */
#ifndef TW_BASE_STATUS_H
#define TW_BASE_STATUS_H

#include <stdbool.h>

#include "tilewright/status.h"

/* The exit statuses of the command distinguish no more than the group of a status:
 *
 *   TW_USAGE    the caller corrects the call        TW_USAGE, TW_UNSUPPORTED
 *   TW_MISSING  this computer lacks something       TW_MISSING, TW_NO_MEMORY, TW_NO_DEVICE, TW_NO_COMPILER, TW_DISK_FULL
 *
 * Every other status is its own group. */
tw_status tw_status_group(tw_status);

/* The status of that name (tw_status_name). False: there is none. */
bool tw_status_parse(const char *name, tw_status *out);

/* Replaces the status `from` with `to`, also in *error. Other statuses stay. */
tw_status tw_status_restate(tw_status, tw_status from, tw_status to, tw_error *);

#endif
