/* hosts.h - a pool of computers that are reached by ssh.
 *
 * The file has a line for each host: its name, then what differs from the defaults:
 *
 *   alpha
 *   user@beta    jobs=4 devices=0,1 seconds=300
 *   gamma        command=/opt/tilewright/bin/tilewright
 *
 * jobs: evaluations at a time [1]. devices: of GPUs, given to the jobs in turn (CUDA_VISIBLE_DEVICES,
 * ROCR_VISIBLE_DEVICES). seconds: limit of one evaluation [none]. command: tilewright there [tilewright]. '#' begins a
 * comment. */
#ifndef TW_EVALUATE_HOSTS_H
#define TW_EVALUATE_HOSTS_H

#include "evaluate/backend.h"

/* *slots: the jobs of all hosts. TW_USAGE with the line of the file that is wrong. What happens to hosts is told by
 * `tell`, from any thread, a line at a time without its end; it may be NULL. */
tw_status tw_backend_hosts(const char *path, void (*tell)(const char *line), tw_backend **out, size_t *slots,
                           tw_error *);

#endif
